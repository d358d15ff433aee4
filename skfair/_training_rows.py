"""Rows that mitigators are fitted to, parts held out from them, and cross-fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import check_real
from skfair._utils._warnings import warn_user
from skfair.groups import Groups

Array: TypeAlias = NDArray[np.floating]
#: Training and test rows, as positions or as masks.
Split: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

#: With fewer rows than this, those held out would be too few to compare classifiers.
MIN_ROWS = 200


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that a classifier or a repair is fitted to, or that are held out.

    `y` is 1 for the second class, else 0; of a regressor it is the target. Groups are
    compared within strata, or among all rows if that is None; rows with the code -1 are
    in no group or stratum. `X` are the features, `scores` the probabilities of the
    second class by a plain model, or what a regressor predicts; what is not needed of
    rows may be None.
    """

    X: Any
    y: Any
    groups: Groups
    sample_weight: NDArray[Any] | None = None
    strata: Groups | None = None
    scores: Any = None

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, chosen: NDArray[Any]) -> Self:
        """Return the rows at some positions, or where a mask is True."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        taken = {
            name: take_rows(value, chosen)
            for name, value in values.items()
            if value is not None
        }
        return replace(self, **taken)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row, 1 where none are given."""
        if self.sample_weight is None:
            return np.ones(len(self))
        return self.sample_weight.astype(np.float64)

    @property
    def codes(self) -> NDArray[np.integer]:
        """Code of the group of each row."""
        return self.groups.codes

    @property
    def stratum_codes(self) -> NDArray[np.integer] | None:
        """Code of the stratum of each row, None without strata."""
        return None if self.strata is None else self.strata.codes

    @property
    def cells(self) -> NDArray[np.int64]:
        """Code of the stratum and the group of each row together, -1 for none."""
        codes = self.codes.astype(np.int64)
        if self.strata is None:
            return codes
        cells = self.strata.codes.astype(np.int64) * len(self.groups.labels) + codes
        return np.where((codes < 0) | (self.strata.codes < 0), -1, cells)

    def most_groups(self) -> int:
        """Count the groups, in the stratum that has the most."""
        cells = np.unique(self.cells)
        strata = cells[cells >= 0] // max(1, len(self.groups.labels))
        return int(np.bincount(strata, minlength=1).max())


def units_of(weights: Floats) -> Floats:
    """Return the weight of one row: 1 where all weights are whole, else each its own.

    Weighted rows tell as much as ``sum(weights)**2 / sum(weights * units)`` rows of
    equal weight: a whole weight of two is two rows.
    """
    return weights if (weights % 1).any() else np.ones(len(weights))


def weights_in_rows(weights: Floats | None) -> Floats | None:
    """Scale weights so that they add up to the number of rows that tell as much.

    Whole weights stay as they are. A fit with a penalty of its own then does not depend
    on the unit of the weights.
    """
    if weights is None:
        return None
    floats = weights.astype(np.float64)
    return np.asarray(floats * (floats.sum() / (floats @ units_of(floats))))


def take_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Take rows by position from a list, array, sparse matrix, series or dataframe."""
    if isinstance(values, np.ndarray | Groups):
        return values[rows]
    if hasattr(values, "iloc"):  # narwhals rejects columns of the same name
        return values.iloc[rows]
    native = nw.from_native(
        values, eager_only=True, allow_series=True, pass_through=True
    )
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def params_of_rows(
    params: dict[str, Any], rows: Integers, n_samples: int
) -> dict[str, Any]:
    """Take some rows of the fit parameters that have one entry for each row."""
    return {
        name: take_rows(value, rows) if _is_by_row(value, n_samples) else value
        for name, value in params.items()
    }


def _is_by_row(value: Any, n_samples: int) -> bool:
    """Whether a fit parameter has one entry for each of n_samples rows."""
    if isinstance(value, (str, bytes, dict)):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n_samples
    return hasattr(value, "__len__") and len(value) == n_samples


def fit_to_rows(
    estimator: Any, X: Any, y: NDArray[Any], rows: Integers, fit_params: dict[str, Any]
) -> Any:
    """Fit an estimator to some rows."""
    params = params_of_rows(fit_params, rows, len(y))
    return estimator.fit(take_rows(X, rows), y[rows], **params)


def cross_fit(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splits: Iterable[Split],
    fit_params: dict[str, Any],
    held_out: Callable[[Any, Any, Integers], Any],
    **parallel: Any,
) -> list[Any]:
    """Fit a clone to the training rows of each split, and use it on the others.

    Of each split, return what `held_out` returns for the fitted clone, the features of
    the rows left out, and the positions of these rows. Keywords are those of
    `Parallel`.
    """
    splits = list(splits)
    if not splits:
        raise ValueError(
            "cv must have at least one split, got none. A generator of splits is "
            "empty after its first use: pass list(splits)."
        )
    positions = np.arange(len(y))  # splits may be masks
    jobs = (
        delayed(_fit_split)(
            clone(estimator),
            X,
            y,
            positions[train],
            positions[test],
            fit_params,
            held_out,
        )
        for train, test in splits
    )
    return list(Parallel(**parallel)(jobs))


def _fit_split(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    train: Integers,
    test: Integers,
    fit_params: dict[str, Any],
    held_out: Callable[[Any, Any, Integers], Any],
) -> Any:
    """Fit an estimator to the training rows, and use it on the test rows."""
    fitted = fit_to_rows(estimator, X, y, train, fit_params)
    return held_out(fitted, take_rows(X, test), test)


def check_validation_fraction(model: Any, automatic: str = "") -> None:
    """Raise unless `validation_fraction` is valid.

    A model that stops early needs a number. `automatic` is the value, if there is one,
    that leaves the share to the model.
    """
    needed = getattr(model, "early_stopping", False)
    name, fraction = "validation_fraction", model.validation_fraction
    if fraction == automatic or (fraction is None and not needed):
        return
    others = [repr(automatic)] * bool(automatic) + ["None"] * (not needed)
    either = "".join(f"{other} or " for other in others)
    check_real(name, fraction, 0, 1, closed="neither", alternative=either)


def hold_out(
    rows: TrainingRows,
    validation_fraction: float,
    rng: np.random.RandomState,
    name: str = "validation_fraction",
) -> tuple[Integers, Integers]:
    """Draw positions of rows with weight, those to train on and those to hold out.

    The draw is stratified by class, and also by group (within strata, if there are any)
    where each of these cells has two rows and each part has room for a row of every
    cell. Errors call the share by its `name`.
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
        f"{name}={validation_fraction!r} of {n_samples} rows leaves too "
        "few rows to train on or to hold out, expected at least two rows of each "
        "class, and at least one of each class in both parts."
    )


def hold_out_if_possible(
    rows: TrainingRows, validation_fraction: float, rng: np.random.RandomState
) -> tuple[Integers, Integers] | None:
    """Draw positions as `hold_out`, for a comparison with the plain classifier.

    Return None if there are fewer than 200 rows, and, with a warning, if a part would
    not have two classes and two groups.
    """
    if np.count_nonzero(rows.weights) < MIN_ROWS:
        return None
    try:
        parts = hold_out(rows, validation_fraction, rng)
    except ValueError as error:
        problem = str(error).partition(",")[0]
    else:
        bare = replace(rows, X=None)
        n_groups = min(bare.take(part).most_groups() for part in parts)
        if n_groups >= 2 or (rows.codes < 0).all():
            return parts
        problem = (
            f"validation_fraction={validation_fraction!r} leaves {n_groups} group to "
            "train on or to hold out"
        )
    warn_user(
        f"{problem}: no rows are held out, and no comparison is made with the plain "
        "classifier. Set validation_fraction=None if this is intended."
    )
    return None
