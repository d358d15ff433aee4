"""Scores on rows that the scoring model was not trained on."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._mitigation import params_of_rows
from skfair._utils._columns import take_rows
from skfair.groups import Groups
from skfair.model_selection._dealing import deal_rows, splits_of


class HeldOut(NamedTuple):
    """A fitted classifier, and its scores on rows that it has not seen.

    Attributes
    ----------
    estimator : classifier
    rows : ndarray of shape (n_held_out,)
        Positions of the rows.
    scores : ndarray of shape (n_held_out,)
    """

    estimator: Any
    rows: NDArray[np.intp]
    scores: NDArray[np.float64]


def positive_scores(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Probability that a fitted binary classifier gives to its second class.

    Parameters
    ----------
    estimator : classifier
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If it was not fitted on two classes.
    """
    probabilities = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if probabilities.shape[1] != 2:
        raise ValueError(
            f"estimator gives probabilities of shape {probabilities.shape}, expected "
            "two columns: it must be fitted on rows of two classes."
        )
    # Sums of float32 probabilities can exceed 1 by rounding.
    return np.clip(probabilities[:, 1], 0, 1)


def balanced_folds(
    y: NDArray[Any], groups: Groups, n_folds: int, random_state: Any
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Folds whose rows of each group, and of each class in it, differ by one at most.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    groups : Groups of n_samples rows
    n_folds : int
    random_state : int, RandomState instance or None
        None deals out rows in their order.

    Yields
    ------
    train, test : ndarray of int
        Positions of rows, increasing.

    Raises
    ------
    ValueError
        If a class has fewer rows than there are folds.
    """
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < n_folds:
        raise ValueError(
            f"cv={n_folds} needs as many rows of each class, got {counts.min()} of "
            f"class {labels[counts.argmin()].item()!r}."
        )
    random = None if random_state is None else check_random_state(random_state)
    yield from splits_of(deal_rows(codes, groups.codes, n_folds, random), n_folds)


def make_splits(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    groups: Groups,
    random_state: Any,
    split_params: dict[str, Any],
) -> Iterable[tuple[Any, Any]]:
    """Balanced folds for an int, else what the splitter makes.

    Parameters
    ----------
    cv : int, cross-validation generator or iterable
    X : array-like of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    groups : Groups of n_samples rows
    random_state : int, RandomState instance or None
    split_params : dict
        Passed to the splitter.

    Returns
    -------
    iterable of (train, test)
    """
    if isinstance(cv, numbers.Integral):
        return balanced_folds(y, groups, int(cv), random_state)
    splitter = check_cv(cv, y, classifier=True)
    return splitter.split(X, y, **split_params)  # type: ignore[no-any-return]


def fit_all(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
    """Clone fitted on all rows; a frozen classifier as it is.

    Parameters
    ----------
    estimator : classifier
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    fit_params : dict

    Returns
    -------
    classifier
    """
    if isinstance(estimator, FrozenEstimator):
        return estimator
    return clone(estimator).fit(X, y, **fit_params)


def held_out_scores(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Iterable[tuple[Any, Any]],
    fit_params: dict[str, Any],
    n_jobs: int | None,
) -> list[HeldOut]:
    """Fit a clone on each training part, and score the rows left out.

    To a frozen classifier all rows are held out.

    Parameters
    ----------
    estimator : classifier
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    splits : iterable of (train, test)
    fit_params : dict
        Passed to `fit`; what has n_samples entries is split with the rows.
    n_jobs : int or None

    Returns
    -------
    list of HeldOut
    """
    if isinstance(estimator, FrozenEstimator):
        return [HeldOut(estimator, np.arange(len(y)), positive_scores(estimator, X))]
    parallel = Parallel(n_jobs=n_jobs)
    return list(
        parallel(
            delayed(_held_out)(clone(estimator), X, y, train, test, fit_params)
            for train, test in splits
        )
    )


def _held_out(
    estimator: Any, X: Any, y: Any, train: Any, test: Any, fit_params: dict[str, Any]
) -> HeldOut:
    positions = np.arange(len(y))
    train, test = positions[train], positions[test]
    params = params_of_rows(fit_params, train, len(y))
    estimator.fit(take_rows(X, train), y[train], **params)
    return HeldOut(estimator, test, positive_scores(estimator, take_rows(X, test)))
