"""Probabilities of groups and strata of rows, by classifiers fitted to other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skfair._training_rows import (
    Array,
    TrainingRows,
    params_of_rows,
    take_rows,
    weights_in_rows,
)
from skfair.groups import Groups
from skfair.inprocessing._boosters import (
    find_library,
    fit_plain,
)

#: Parameters of a classifier of the label that one of the groups does not share.
_ABOUT_LABELS = ("class_weight", "monotone_constraints", "base_score")
#: Trees of XGBoost where `n_estimators` is None.
_N_TREES = 100
#: What a row's own group adds to the probabilities: half the trees on half the rows
#: leave out some of what the features tell. More of it would close gaps of the training
#: rows only. On census 0.1 was better than 0 and 0.2, on OULAD 0.2 was better still.
_OWN_SHARE = 0.1
#: Probabilities are clipped to this before they are calibrated.
_LEAST = 1e-4


def group_probabilities(
    estimator: Any,
    rows: TrainingRows,
    codes: NDArray[np.integer],
    params: dict[str, Any],
    rng: np.random.RandomState,
) -> Array:
    """Probability of each group given X, by a fit to the other half of the rows.

    The groups are the codes from 0 on. The halves have equally many rows of each group.
    Rows without a group (code -1) have probabilities, too.
    """
    rows = replace(rows, sample_weight=weights_in_rows(rows.sample_weight))
    order = np.lexsort((rng.permutation(len(codes)), codes))
    halves = np.sort(order[::2]), np.sort(order[1::2])
    found = np.zeros((len(codes), int(codes.max()) + 1))
    for other, own in (halves, halves[::-1]):
        known = other[codes[other] >= 0]
        groups, labels = np.unique(codes[known], return_inverse=True)
        if len(groups) == 1:
            found[np.ix_(own, groups)] = 1
            continue
        model = fit_plain(
            _classifier_of_groups(estimator),
            replace(rows.take(known), y=labels),
            params_of_rows(params, known, len(codes)),
        )
        found[np.ix_(own, groups)] = model.predict_proba(take_rows(rows.X, own))
    return _calibrate(found, codes, rows.sample_weight)


def with_own_group(probabilities: Array, codes: NDArray[np.integer]) -> Array:
    """Mean of the probabilities and of the group itself, which counts a tenth.

    Those of strata, shape (n_samples, n_strata, n_groups), stay as they are; rows
    without a group (code -1) keep their probabilities.
    """
    *_, n_groups = probabilities.shape
    by_stratum = probabilities.reshape(len(codes), -1, n_groups)
    own = (codes[:, None] == np.arange(n_groups))[:, None]
    shares = np.where(codes < 0, 0.0, _OWN_SHARE)[:, None, None]
    known = by_stratum.sum(axis=2, keepdims=True) * own
    mixed = by_stratum + shares * (known - by_stratum)
    return np.asarray(mixed.reshape(probabilities.shape))


def joint_probabilities(
    probabilities_of: Callable[[NDArray[np.integer]], Array],
    groups: Groups,
    strata: Groups,
) -> Array:
    """Probability of each stratum and group together, for each row.

    `probabilities_of` takes one code for each row and predicts the probability of each
    code. The result has shape (n_samples, n_strata, n_groups); the sum of a row is less
    than 1 where rows may be in no stratum.
    """
    n_strata, n_groups = len(strata.labels), len(groups.labels)
    cells = strata.codes.astype(np.intp) * n_groups + groups.codes
    cells[groups.codes < 0] = -1
    cells[strata.codes < 0] = n_strata * n_groups
    present = np.unique(cells[cells >= 0])
    codes = np.where(cells < 0, -1, np.searchsorted(present, cells))
    found = np.zeros((len(cells), n_strata * n_groups + 1))
    found[:, present] = probabilities_of(codes)
    return found[:, :-1].reshape(-1, n_strata, n_groups)


def _classifier_of_groups(estimator: Any) -> Any:
    """Return a clone that predicts groups, with half the trees.

    Options that are about labels are left out. From half of the rows, fewer trees can
    learn what also holds for new rows.
    """
    params = estimator.get_params()
    n_trees = params["n_estimators"] or _N_TREES
    names = [name for name in _ABOUT_LABELS if name in params]
    if find_library(estimator) == "lightgbm":
        names.append("objective")  # XGBoost changes its own for several groups
    n_estimators = max(1, n_trees // 2)
    return clone(estimator).set_params(
        **dict.fromkeys(names), n_estimators=n_estimators
    )


def _calibrate(
    found: Array, codes: NDArray[np.integer], weights: Array | None
) -> Array:
    """Calibrate probabilities, so that their sum is the weight of each group."""
    known = codes >= 0
    log_found = np.log(np.clip(found, _LEAST, 1))
    given = None if weights is None else weights[known]
    calibration = LogisticRegression(max_iter=10_000)
    calibration.fit(log_found[known], codes[known], sample_weight=given)
    return np.asarray(calibration.predict_proba(log_found))
