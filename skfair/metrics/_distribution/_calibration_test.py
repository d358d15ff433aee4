"""Test of whether scores are calibrated in every group."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._results import NumbersResult
from skfair._utils._validation import check_integer
from skfair._utils._warnings import warns_if_reordered
from skfair.metrics._distribution._calibration_gap import labelled_rows
from skfair.metrics._uncertainty._drawn_labels import (
    blocks_of_draws,
    curve_ranges,
    in_deviations,
)
from skfair.metrics._uncertainty._resampling import check_seed, exact_pvalue


@dataclass(frozen=True, eq=False)
class CalibrationTestResult(NumbersResult):
    """Result of `calibration_test`.

    Attributes
    ----------
    value : float
        `calibration_error` of the data as given.
    pvalue : float in (0, 1]
        Share of the draws, the given labels among them, in which the largest error of a
        group, in standard deviations of its noise, is at least as large.
    null_mean : float
        Mean of the calibration error over the draws: what noise alone gives.
    group : hashable
        Group with the largest error in standard deviations of its noise; None where the
        test is undefined.
    n_draws : int
    """

    value: float
    pvalue: float
    null_mean: float
    group: Hashable
    n_draws: int


@warns_if_reordered
def calibration_test(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    n_draws: int = 999,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> CalibrationTestResult:
    """Test whether the scores are calibrated in every group.

    The hypothesis is that each row is positive with the probability that its score
    says, independently of all others. Labels are drawn by it, and the scores, groups
    and weights stay: then the given labels are one more draw, so that the p-value is
    exact at any sample size. A small one says that a score does not mean what it says
    in at least one group.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of two classes.
    y_score : array-like of shape (n_samples,)
        Probabilities of the positive class.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection, so that a
        column of strata beside that of groups tests each group of each stratum.
    pos_label : int, float, bool or str, default=None
        The true label that counts as positive. None stands for 1 where the labels are 0
        and 1, or -1 and 1; others need it.
    n_draws : int, default=999
        Number of draws; the p-value is at least 1 / (n_draws + 1).
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which must not depend on the labels given the
        scores and groups.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    CalibrationTestResult
        With nan in place of numbers where the metric is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If `n_draws` is not a positive integer, and as `calibration_error` does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As `calibration_error` does.

    See Also
    --------
    calibration_error : The value.
    permutation_test : Of `calibration_gap`, whether groups are equally calibrated.
    calibration_gap : Compares groups with each other.

    Notes
    -----
    The error of each group is counted in standard deviations of its mean outcome under
    the hypothesis, and the largest number is compared with those of the draws:
    otherwise the noise of the smallest group would hide all others. Of a group in which
    few positive rows are expected large errors are more frequent than of a normal
    variable. So the number is that at which a normal variable has the bound of
    Bennett's inequality, exp(-z**2 / 2) [1]_: error over standard deviation where the
    error is small beside the variance, less elsewhere.

    References
    ----------
    .. [1] Bennett. "Probability Inequalities for the Sum of Independent Random
       Variables". Journal of the American Statistical Association 57, 1962.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import calibration_test
    >>> y_true, y_score, group = make_biased_scores(400, random_state=0)
    >>> result = calibration_test(
    ...     y_true, y_score, sensitive_features=group, n_draws=99, random_state=0
    ... )
    >>> round(result.value, 3), round(result.null_mean, 3), result.pvalue
    (0.076, 0.059, 0.13)
    """
    n_draws = check_integer("n_draws", n_draws, 1)
    generator = check_seed(random_state)
    given = y_true, y_score, sensitive_features, sample_weight, pos_label
    rows = labelled_rows("calibration_error", *given)
    if rows is None:
        return CalibrationTestResult(math.nan, math.nan, math.nan, None, n_draws)
    order = np.lexsort((rows.scores, rows.codes))
    scores, positive = rows.scores[order], rows.positive[order]
    codes = rows.codes[order].astype(np.intp)
    statistic, weights = rows.statistic, np.ones(len(codes))
    if rows.weights is not None:
        weights = rows.weights[order].astype(np.float64)
    weights = weights / statistic.totals[codes]
    variances = np.bincount(codes, weights**2 * scores * (1 - scores))
    largest = np.maximum.reduceat(weights, np.flatnonzero(np.diff(codes, prepend=-1)))
    errors_of = curve_ranges(scores, codes, weights)
    null = np.concatenate(
        [
            errors_of(generator.random((size, len(scores))) < scores)
            for size in blocks_of_draws(n_draws, len(scores))
        ]
    )
    errors = errors_of(positive)
    found, drawn = (in_deviations(one, variances, largest) for one in (errors, null))
    return CalibrationTestResult(
        float(errors.max()),
        exact_pvalue(float(found.max()), drawn.max(axis=1)),
        float(null.max(axis=1).mean()),
        statistic.labels[int(found.argmax())],
        n_draws,
    )
