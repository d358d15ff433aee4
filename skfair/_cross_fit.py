"""Fits to some of the rows, and what is made of the rows held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.parallel import Parallel, delayed

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair.groups import Groups

Array: TypeAlias = NDArray[np.floating]
#: Training and test rows, as positions or as masks.
Split: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


def units_of(weights: Floats) -> Floats:
    """Return the weight of one row: 1 where all weights are whole, else each its own.

    Weighted rows have the information of ``sum(weights)**2 / sum(weights * units)``
    rows of equal weight: a whole weight of two is two rows.
    """
    return weights if (weights % 1).any() else np.ones(len(weights))


def weights_in_rows(weights: Floats | None) -> Floats | None:
    """Scale weights so that they add up to the effective number of rows.

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
    done: Callable[[str], None] = lambda name: None,
    **parallel: Any,
) -> list[Any]:
    """Fit a clone to the training rows of each split, and use it on the others.

    Of each split, return what `held_out` returns for the fitted clone, the features of
    the rows left out, and the positions of these rows. `done` is called after each.
    Keywords are those of `Parallel`.
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
    results = []
    for result in Parallel(return_as="generator", **parallel)(jobs):
        results.append(result)
        done("fold")
    return results


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


def hold_out(
    rows: Rows,
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
    cells = rows.cells[weighted]
    y = rows.y_true[weighted]
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
