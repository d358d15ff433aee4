"""Rows that a classifier is trained on, and rows held out from them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from skfair._mitigation import level_of_user, take_rows, within_strata
from skfair._utils._validation import check_real
from skfair.groups import Groups

Array: TypeAlias = NDArray[np.floating]
Positions: TypeAlias = NDArray[np.intp]
Labels: TypeAlias = tuple[Hashable, ...]

#: With fewer rows than this, those held out would be too few to compare classifiers.
MIN_ROWS = 200


class TrainingRows(NamedTuple):
    """Features, classes as 0 or 1, groups (-1 for none), weights, and strata.

    Gaps are those within strata; rows with the code -1 are in none. None is one stratum
    of all rows.
    """

    X: Any
    y: Array
    codes: NDArray[np.integer]
    weights: Array
    strata: NDArray[np.integer] | None = None

    def take(self, positions: Positions) -> TrainingRows:
        """Return the rows at some positions."""
        X, y, codes, weights, strata = self
        return TrainingRows(
            take_rows(X, positions),
            y[positions],
            codes[positions],
            weights[positions],
            None if strata is None else strata[positions],
        )

    @property
    def cells(self) -> NDArray[np.int64]:
        """Code of the stratum and the group of each row together, -1 for none."""
        codes = self.codes.astype(np.int64)
        if self.strata is None:
            return codes
        n_groups = int(codes.max(initial=0)) + 1
        cells = self.strata.astype(np.int64) * n_groups + codes
        return np.where((codes < 0) | (self.strata < 0), -1, cells)

    def most_groups(self, positions: Positions) -> int:
        """Count the groups of some rows, in the stratum that has the most."""
        cells = np.unique(self.cells[positions])
        n_groups = int(self.codes.max(initial=0)) + 1
        return int(np.bincount(cells[cells >= 0] // n_groups, minlength=1).max())


def training_rows(
    X: Any,
    positive: NDArray[np.bool_],
    groups: Groups | None,
    weights: NDArray[Any] | None,
    strata: Groups | None = None,
) -> tuple[TrainingRows, Labels, Labels]:
    """Return the rows, and the labels of their groups and strata.

    There must be two groups with weight in some stratum, or no groups at all.
    """
    weighted = np.ones(len(positive)) if weights is None else weights + 0.0
    if groups is None:
        codes: NDArray[np.integer] = np.full(len(positive), -1)
        return TrainingRows(X, positive + 0.0, codes, weighted), (), ()
    groups, strata = within_strata(groups, strata, weighted)
    rows = TrainingRows(X, positive + 0.0, groups.codes, weighted)
    if strata is None:
        return rows, groups.labels, ()
    return rows._replace(strata=strata.codes), groups.labels, strata.labels


def check_validation_fraction(model: Any, automatic: str = "") -> None:
    """Raise unless the share of rows held out is valid: a number if it stops early.

    `automatic` is a name for a share that depends on the rows, if there is one.
    """
    needed = getattr(model, "early_stopping", False)
    name, fraction = "validation_fraction", model.validation_fraction
    if fraction == automatic or (fraction is None and not needed):
        return
    others = [repr(automatic)] * bool(automatic) + ["None"] * (not needed)
    either = "".join(f"{other} or " for other in others)
    check_real(name, fraction, 0, 1, closed="neither", alternative=either)


def hold_out(
    rows: TrainingRows, validation_fraction: float, rng: np.random.RandomState
) -> tuple[Positions, Positions]:
    """Draw positions of rows with weight, those to train on and those to hold out.

    The draw is stratified by class, and also by group (within strata, if there are any)
    where each of these cells has two rows and each part has room for a row of every
    cell.
    """
    weighted = np.flatnonzero(rows.weights)
    y, cells = rows.y[weighted], rows.cells[weighted]
    n_samples = len(weighted)
    n_held_out = int(np.ceil(validation_fraction * n_samples))
    smaller_part = min(n_held_out, n_samples - n_held_out)
    for kinds in (2 * cells + y, y):
        _, sizes = np.unique(kinds, return_counts=True)
        if sizes.min() >= 2 and len(sizes) <= smaller_part:
            train, held_out = train_test_split(
                weighted, test_size=n_held_out, stratify=kinds, random_state=rng
            )
            return train, held_out
    raise ValueError(
        f"validation_fraction={validation_fraction!r} of {n_samples} rows leaves too "
        "few rows to train on or to hold out, expected at least two rows of each "
        "class, and at least one of each class in both parts."
    )


def hold_out_if_possible(
    rows: TrainingRows, validation_fraction: float, rng: np.random.RandomState
) -> tuple[Positions, Positions] | None:
    """Draw positions as `hold_out`, for a comparison with the plain classifier.

    None of fewer than 200 rows, and None, with a warning, if a part would not have two
    classes and two groups.
    """
    if np.count_nonzero(rows.weights) < MIN_ROWS:
        return None
    try:
        parts = hold_out(rows, validation_fraction, rng)
    except ValueError as error:
        problem = str(error).partition(",")[0]
    else:
        n_groups = min(rows.most_groups(part) for part in parts)
        if n_groups >= 2 or (rows.codes < 0).all():
            return parts
        problem = (
            f"validation_fraction={validation_fraction!r} leaves {n_groups} group to "
            "train on or to hold out"
        )
    warnings.warn(
        f"{problem}: no rows are held out, and no comparison is made with the plain "
        "classifier. Set validation_fraction=None if this is intended.",
        UserWarning,
        stacklevel=level_of_user(),
    )
    return None
