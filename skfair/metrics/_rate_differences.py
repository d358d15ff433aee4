"""Differences of one rate of a confusion matrix, and the shortfall of selection."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair.metrics._evaluate import always, never, specify
from skfair.metrics._inputs import (
    Multigroup,
    Rate,
    in_place_of_rows,
    outcomes_of_rate,
    refuse_statistics,
)
from skfair.metrics._pairs import (
    Located,
    PairGaps,
    locate_outcomes,
    pairs_of_outcomes,
)
from skfair.metrics._spec import Countable
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import value_or_nan, warn_if_undefined, warn_undefined
from skfair.statistics import GroupedOutcomes


def rate_outcomes(
    y_true: Any, y_pred: Any, groups: Any, weights: Any, rate: Rate, pos_label: Any
) -> GroupedOutcomes:
    """Outcomes of a rate: the statistic given as `y_pred`, or that of the rows."""
    if isinstance(y_pred, GroupedOutcomes):
        rows = {"sensitive_features": groups, "sample_weight": weights}
        return in_place_of_rows(y_pred, y_true=y_true, pos_label=pos_label, **rows)
    if rate == "predictive_value" and y_true is None:
        raise ValueError("y_true must be labels for predictive values, got None.")
    refuse_statistics(y_pred, "y_pred", GroupedOutcomes)
    outcomes, mask = outcomes_of_rate(y_true, y_pred, rate, pos_label)
    return GroupedOutcomes.from_outcomes(
        outcomes, sensitive_features=groups, mask=mask, sample_weight=weights
    )


def _difference(
    title: str, statistic: GroupedOutcomes, multigroup: Multigroup
) -> float:
    """Largest difference of the rates, or nan with the reason."""
    return value_or_nan(title, statistic, locate_outcomes, multigroup=multigroup)


def _rows_of_rate(rows: Rows, *, rate: Rate, pos_label: Any = None) -> Countable:
    """Read the outcomes of a rate, of the rows that it is about."""
    outcomes, mask = outcomes_of_rate(rows.y_true, rows.y_pred, rate, pos_label)
    rows = replace(rows, y_true=None, y_pred=outcomes)
    return Countable(rows if mask is None else rows[mask], GroupedOutcomes._from_rows)


@specify(
    statistic=GroupedOutcomes,
    compares_errors=always,
    countable=partial(_rows_of_rate, rate="true_positive_rate"),
    pairs=pairs_of_outcomes,
    locate=locate_outcomes,
)
def true_positive_rate_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    pos_label: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the true positive rate, or recall.

    0 is equal opportunity [1]_: of those who deserve the positive decision, each group
    has the same share that gets it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of two classes; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels; or a statistic of the decisions on the rows that are truly
        positive, in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand
        for their intersection.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. None stands for 1 where labels are numbers; text
        labels need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        nan with a warning where a group has too few rows in the denominator.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On text labels without `pos_label`, labels of more than two classes, lengths
        that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    equalized_odds_difference : The larger of this and of false positive rates.
    group_metrics : The rates of the groups themselves.

    References
    ----------
    .. [1] Hardt, Price, Srebro. "Equality of Opportunity in Supervised Learning".
       NeurIPS 2016.

    Examples
    --------
    >>> from skfair.metrics import true_positive_rate_difference
    >>> y_true = [1, 1, 0, 1, 1, 0]
    >>> y_pred = [1, 0, 0, 1, 1, 1]
    >>> true_positive_rate_difference(
    ...     y_true, y_pred, sensitive_features=["F"] * 3 + ["M"] * 3
    ... )
    0.5
    """
    rows = (y_true, y_pred, sensitive_features, sample_weight)
    statistic = rate_outcomes(*rows, "true_positive_rate", pos_label)
    return _difference(
        "true_positive_rate_difference, of truly positive rows,", statistic, multigroup
    )


@specify(
    statistic=GroupedOutcomes,
    compares_errors=always,
    countable=partial(_rows_of_rate, rate="false_positive_rate"),
    pairs=pairs_of_outcomes,
    locate=locate_outcomes,
)
def false_positive_rate_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    pos_label: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the false positive rate.

    0 is predictive equality: of those who do not deserve the positive decision, each
    group has the same share that gets it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of two classes; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels; or a statistic of the decisions on the rows that are truly
        negative, in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand
        for their intersection.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. None stands for 1 where labels are numbers; text
        labels need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        nan with a warning where a group has too few rows in the denominator.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On text labels without `pos_label`, labels of more than two classes, lengths
        that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    equalized_odds_difference : The larger of this and of true positive rates.
    group_metrics : The rates of the groups themselves.

    Examples
    --------
    >>> from skfair.metrics import false_positive_rate_difference
    >>> y_true = [1, 0, 0, 1, 0, 0]
    >>> y_pred = [1, 0, 0, 1, 0, 1]
    >>> false_positive_rate_difference(
    ...     y_true, y_pred, sensitive_features=["F"] * 3 + ["M"] * 3
    ... )
    0.5
    """
    rows = (y_true, y_pred, sensitive_features, sample_weight)
    statistic = rate_outcomes(*rows, "false_positive_rate", pos_label)
    return _difference(
        "false_positive_rate_difference, of truly negative rows,", statistic, multigroup
    )


@specify(
    statistic=GroupedOutcomes,
    compares_errors=never,
    countable=partial(_rows_of_rate, rate="predictive_value"),
    pairs=pairs_of_outcomes,
    locate=locate_outcomes,
)
def predictive_value_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    pos_label: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the positive predictive value, or precision.

    0 is predictive parity: of those who get the positive decision, each group has the
    same share that deserves it. With different base rates it cannot be 0 together with
    equal error rates, unless predictions are perfect [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of two classes; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels; or a statistic of the true labels, 0 or 1, of the rows with
        the positive decision, in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand
        for their intersection.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. None stands for 1 where labels are numbers; text
        labels need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        nan with a warning where a group has too few rows in the denominator.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On text labels without `pos_label`, labels of more than two classes, lengths
        that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    group_metrics : The values of the groups themselves.

    Notes
    -----
    `permutation_test` permutes groups over all rows, which tests whether true and
    predicted labels together are independent of the group. Pass ``within=y_pred`` to
    test equal predictive values.

    References
    ----------
    .. [1] Chouldechova. "Fair Prediction with Disparate Impact". Big Data 5(2), 2017.

    Examples
    --------
    >>> from skfair.metrics import predictive_value_difference
    >>> y_true = [1, 0, 0, 1, 1, 0]
    >>> y_pred = [1, 1, 0, 1, 1, 0]
    >>> predictive_value_difference(
    ...     y_true, y_pred, sensitive_features=["F"] * 3 + ["M"] * 3
    ... )
    0.5
    """
    rows = (y_true, y_pred, sensitive_features, sample_weight)
    statistic = rate_outcomes(*rows, "predictive_value", pos_label)
    return _difference(
        "predictive_value_difference, of rows with the positive decision,",
        statistic,
        multigroup,
    )


def _shortfall(rates: Floats, others: Any) -> Floats:
    """One minus the ratio of the smaller rate to the larger one."""
    return quotients(np.abs(rates - others), np.maximum(rates, others))


def _pairs_of_ratios(
    statistic: GroupedOutcomes,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
) -> PairGaps:
    """Shortfalls of the ratios of rates; undefined where nobody is selected."""
    undefined = np.isnan(statistic.means) | (not statistic.sums.any())
    counts = np.where(undefined, 0, statistic.counts)
    statistic = replace(statistic, counts=counts)
    return pairs_of_outcomes(
        statistic, multigroup=multigroup, among=among, gap=_shortfall
    )


def locate_ratio(
    statistic: GroupedOutcomes, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the smallest ratio of selection rates, and one minus it."""
    rates, compared = statistic.means, statistic.means.max()
    if multigroup == "pooled":
        compared = statistic.sums.sum() / statistic.totals.sum()
    gaps = np.abs(rates - compared) / np.maximum(rates, compared)
    furthest = int(gaps.argmax())
    second = int(rates.argmax()) if multigroup == "pairwise" else None
    figures = float(rates[furthest]), float(compared)
    return Located(float(gaps[furthest]), (furthest, second), figures)


@specify(
    statistic=GroupedOutcomes,
    compares_errors=never,
    countable=partial(_rows_of_rate, rate="selection_rate"),
    pairs=_pairs_of_ratios,
    locate=locate_ratio,
)
def impact_ratio_shortfall(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    pos_label: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """One minus the smallest ratio of the selection rates of two groups.

    0 is equal selection rates. The four-fifths rule of thumb asks for at most 0.2. The
    value is a disparity, smaller for fairer, so that scorers, tests and rules of choice
    take it; `impact_ratios` has the ratios of all groups with intervals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Decisions, labels of two classes; or a statistic in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand
        for their intersection.
    pos_label : int, float, bool or str, default=None
        The decision that counts as positive. None stands for 1 where labels are
        numbers; text labels need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The smallest ratio of two groups, or of a group and everyone, the smaller rate
        over the larger one.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        nan with a warning where it is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On text labels without `pos_label`, labels of more than two classes, lengths
        that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared, or nobody is selected.

    See Also
    --------
    impact_ratios : Table of ratios to the highest rate.
    demographic_parity_difference : Difference of the rates, in place of ratios.

    Examples
    --------
    >>> from skfair.metrics import impact_ratio_shortfall
    >>> hired = [1, 1, 0, 0, 1, 0, 0, 0]
    >>> impact_ratio_shortfall(
    ...     None, hired, sensitive_features=["F"] * 4 + ["M"] * 4
    ... )
    0.5
    """
    rows = (y_true, y_pred, sensitive_features, sample_weight)
    statistic = rate_outcomes(*rows, "selection_rate", pos_label)
    if warn_if_undefined("impact_ratio_shortfall", statistic):
        return math.nan
    rates = statistic.means
    if not rates.any():
        warn_undefined("impact_ratio_shortfall", "nobody is selected")
        return math.nan
    return locate_ratio(statistic, multigroup=multigroup).value
