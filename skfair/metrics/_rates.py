"""Differences between groups of means, of rates and of error rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Countable, Rows
from skfair._utils._arrays import Bools, Floats, quotients
from skfair._utils._text import shown
from skfair._utils._validation import (
    LARGEST_NUMBER,
    AnyScale,
    as_array,
    check_choice,
    check_numbers,
    check_real,
    check_scores,
    check_shape,
    check_y_true,
    scores_on,
)
from skfair._utils._warnings import warn_of_means
from skfair.metrics._evaluate import (
    Metric,
    Multistratum,
    always,
    largest_defined,
    never,
    specify,
)
from skfair.metrics._inputs import (
    Multigroup,
    Rate,
    grouped_confusion,
    grouped_quality,
    has_text,
    in_place_of_rows,
    outcomes_of_rate,
    positive_rows,
    refuse_statistics,
    value_or_nan,
    warn_if_labels_are_few,
    warn_if_undefined,
    warn_undefined,
)
from skfair.metrics._pairs import (
    Located,
    Numbers,
    locate_in_cells,
    locate_outcomes,
    mean_outcomes,
    pairs_of_numbers,
    rows_of_scores,
)
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores
from skfair.statistics._grouped_confusion import encode_label_pairs
from skfair.statistics._grouped_scores import Gap
from skfair.statistics._statistic import GroupedStatistic


def difference_on_band(least: Gap, largest: Gap) -> tuple[float, float]:
    """Bound the difference of mean scores, which is the integral of that of CDFs."""
    lengths = np.diff(least.scores)
    low, high = (
        float(gap.signed[:-1] / gap.scale @ lengths) for gap in (least, largest)
    )
    return max(0.0, low, -high), min(1.0, max(high, -low))


def mean_numbers(statistic: GroupedOutcomes | GroupedScores) -> Numbers:
    """Mean outcomes of groups, or mean scores less the score in the middle.

    Sums of large numbers would lose what differs.
    """
    if isinstance(statistic, GroupedOutcomes):
        return mean_outcomes(statistic)
    moved = statistic.scores - statistic.scores[len(statistic.scores) // 2]
    sums = np.bincount(statistic.codes, statistic.weights * moved, statistic.n_groups)
    everyone = np.array([sums.sum() / statistic.totals.sum()])
    means = quotients(sums, statistic.totals, np.nan)[np.newaxis]
    return means, everyone, statistic.counts[np.newaxis], ({},)


pairs_of_means = partial(pairs_of_numbers, mean_numbers)


def locate_means(
    statistic: GroupedOutcomes | GroupedScores, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the largest difference of mean outcomes, or of mean scores.

    Two groups of scores are in the order of their labels.
    """
    if isinstance(statistic, GroupedOutcomes):
        return locate_outcomes(statistic, multigroup=multigroup)
    _, located = locate_in_cells(mean_numbers(statistic), multigroup)
    middle = float(statistic.scores[len(statistic.scores) // 2])
    pair, (ours, theirs) = located.pair, (x + middle for x in located.figures)
    first, second = pair
    if first == second:  # where all means are equal
        pair = (0, 1)
    elif second is not None and first > second:
        pair, ours, theirs = (second, first), theirs, ours
    return Located(located.value, pair, (ours, theirs))


def _rows_of_parity(
    rows: Rows,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    scale: AnyScale = "probability",
) -> Countable:
    """Read decisions or scores, or sort numbers."""
    if compares_numbers(scale, threshold, pos_label):
        return rows_of_scores(rows, scale=scale)
    outcomes = parity_outcomes(rows.y_pred, threshold, pos_label, scale)
    rows = replace(rows, y_true=None, y_pred=outcomes)
    return rows, GroupedOutcomes._from_rows


def read_parity(
    y_true: ArrayLike | None,
    y_pred: Any,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    scale: AnyScale = "probability",
) -> GroupedOutcomes | GroupedScores:
    """Numbers of each group, or their decisions or scores in [0, 1]."""
    check_choice("scale", scale, ("probability", "real"))
    rows = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    of_numbers = compares_numbers(scale, threshold, pos_label)
    expected: Any = GroupedScores if of_numbers else GroupedOutcomes
    statistic: GroupedOutcomes | GroupedScores
    if isinstance(y_pred, expected):
        statistic = in_place_of_rows(y_pred, y_true=y_true, **rows)
        return statistic
    refuse_statistics(y_pred, "y_pred", expected)
    check_y_true(y_true, y_pred, scale, "y_pred")
    if of_numbers:
        numbers = scores_on(scale, y_pred, "y_pred")
        return GroupedScores.from_scores(numbers, **rows, scale=scale)
    outcomes = parity_outcomes(y_pred, threshold, pos_label, scale)
    return GroupedOutcomes.from_outcomes(outcomes, **rows)


@specify(
    statistic=GroupedOutcomes,
    on_band=lambda: difference_on_band,
    takes_classes=True,
    compares_errors=never,
    read=read_parity,
    countable=_rows_of_parity,
    pairs=pairs_of_means,
    locate=locate_means,
)
def demographic_parity_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes | GroupedScores,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    threshold: float | None = None,
    pos_label: Any = None,
    scale: Literal["probability", "real"] = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the mean score or the selection rate.

    Known as DeltaDP: 0 says that groups have equal means, not that they have equal
    score distributions, which `mcdp`, `madd` and `abcc` compare. It needs no true
    labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored, so that the metric fits `sklearn.metrics.make_scorer`. If given it
        must be of the right length, and binary where `y_pred` is one column
        of probabilities or labels.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_classes), or \
GroupedOutcomes
        Scores in [0, 1], or predicted labels of two classes. Of three or more classes
        a column of probabilities for each, or of 1 where the class is predicted and 0
        elsewhere: the value is the largest over classes. Any finite numbers with
        ``scale="real"``. A statistic takes the place of all rows; then the other
        arguments by row are None. With ``scale="real"`` it is a `GroupedScores`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    threshold : float, default=None
        A score of at least this is a positive decision, and rates of positive
        decisions are compared. None compares means: of 0/1 labels, whose mean is the
        selection rate, or of scores, with a warning.
    pos_label : int, float, bool or str, default=None
        The predicted label that counts as positive. None stands for 1 where labels
        are numbers; text labels need it.
    scale : {"probability", "real"}, default="probability"
        ``"real"`` is for predicted numbers, such as salaries: the value is the
        difference of their means in their unit, or with `threshold` of the shares of
        rows that reach it. Probabilities are compared as numbers without a warning.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float
        In [0, 1], with ``scale="real"`` in the unit of the scores. 0 is equal means.
        nan with a warning where a group is absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On values outside [0, 1], text labels without `pos_label`, lengths that
        differ, or missing groups.

    Warns
    -----
    UserWarning
        If means of numbers between 0 and 1 are compared, which are not those of labels.
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    abcc : Average over all thresholds of the absolute difference.
    impact_ratios : Ratios of the rates, as tables.
    mean_error_difference : Compares the errors of predicted numbers.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Section 2.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_difference
    >>> y_score = [0.2, 0.4, 0.9, 0.7]
    >>> sex = ["F", "F", "M", "M"]
    >>> demographic_parity_difference(None, y_score, sensitive_features=sex)
    0.5
    >>> demographic_parity_difference(
    ...     None, y_score, sensitive_features=sex, threshold=0.3
    ... )
    0.5
    >>> salary = [31_000, 40_000, 36_000, 43_000]
    >>> demographic_parity_difference(
    ...     None, salary, sensitive_features=sex, scale="real"
    ... )
    4000.0
    """
    rows = y_true, y_pred, sensitive_features, sample_weight
    options = {"threshold": threshold, "pos_label": pos_label, "scale": scale}
    if isinstance(y_pred, GroupedStatistic):
        in_place_of_rows(y_pred, threshold=threshold, pos_label=pos_label)
    statistic = read_parity(*rows, **options)
    name = "demographic_parity_difference"
    value = value_or_nan(name, statistic, locate_means, multigroup=multigroup)
    if not math.isnan(value) and _are_scores(y_pred, **options):
        warn_of_means(name)
    return value


def _are_scores(y_pred: Any, *, threshold: Any, pos_label: Any, scale: str) -> bool:
    """Whether rows have numbers between 0 and 1, whose means are no rates."""
    decided = threshold is not None or pos_label is not None or scale == "real"
    if decided or isinstance(y_pred, GroupedStatistic):
        return False
    values = as_array(y_pred, "y_pred")
    return values.dtype.kind not in "biu" and not np.isin(values, (-1, 0, 1)).all()


def compares_numbers(scale: AnyScale, threshold: float | None, pos_label: Any) -> bool:
    """Whether means of numbers are compared, of which no label is positive."""
    if scale != "real" or threshold is not None:
        return False
    if pos_label is not None:
        raise ValueError(
            f"pos_label must be None with scale='real', got {shown(pos_label)}."
        )
    return True


@specify(
    statistic=GroupedScores,
    compares_errors=never,
    combine=largest_defined,
    pairs=pairs_of_means,
    locate=locate_means,
)
def difference_of_means(
    y_true: None, y_score: GroupedScores, *, multigroup: Multigroup = "pairwise"
) -> float:
    """Demographic parity difference of the scores of a statistic."""
    return locate_means(y_score, multigroup=multigroup).value


def parity_outcomes(
    values: Any,
    threshold: float | None,
    pos_label: Any,
    scale: AnyScale = "probability",
) -> Floats:
    """Turn scores or predicted labels into values in [0, 1]."""
    name = "y_pred"
    if threshold is not None:
        if pos_label is not None:
            raise ValueError(
                "pos_label must be None with a threshold of scores, got "
                f"{shown(pos_label)}."
            )
        ends = (0, 1) if scale == "probability" else (-math.inf, math.inf)
        threshold = check_real("threshold", threshold, *ends, alternative="None or ")
        array = as_array(values, name)
        if has_text(array):
            raise ValueError(
                f"threshold must be None where {name} holds labels such as "
                f"{array.tolist()[0]!r}, of which pos_label names the positive one, "
                f"got {threshold:g}."
            )
        return (scores_on(scale, values, name) >= threshold).astype(np.float64)
    array = as_array(values, name)
    check_shape(array, name)
    if pos_label is not None or has_text(array):
        return positive_rows(array, name, pos_label).astype(np.float64)
    signs = array.dtype.kind in "if" and bool(np.isin(array, (-1, 1)).all())
    hint = " Of labels pos_label=... names the positive one."
    return check_scores(array == 1 if signs else array, name, hint)


def _rows_of_pairs(rows: Rows) -> Countable:
    """Read true and predicted labels."""
    cells, classes = encode_label_pairs(rows.y_true, rows.y_pred)
    true, predicted = np.divmod(cells, len(classes))
    rows = replace(rows, y_true=true, y_pred=predicted, classes=classes)
    return rows, GroupedConfusion._from_rows


def error_rates(statistic: GroupedConfusion) -> Numbers:
    """P(prediction | true class) in a cell for each true and predicted class.

    Of two predicted classes the share of one determines that of the other. Groups with
    too few rows of a true class, or without another group, are not compared.
    """
    classes = statistic.classes
    true = np.flatnonzero(statistic.label_counts.any(axis=0))
    first = int(len(classes) == 2)
    comparable = comparable_cells(statistic)[:, true, np.newaxis]
    compared = statistic.matrices[:, true] * comparable
    rates = quotients(compared, compared.sum(axis=2, keepdims=True), np.nan)
    pooled = compared.sum(axis=0)
    everyone = quotients(pooled, pooled.sum(axis=1, keepdims=True), np.nan)[:, first:]
    n_shown = len(classes) - first
    sizes = statistic.label_counts[:, true].T.repeat(n_shown, axis=0)
    cells = tuple(
        {"label": classes[i], "prediction": prediction}
        for i in true.tolist()
        for prediction in classes[first:]
    )
    by_group = rates[:, :, first:].reshape(len(rates), -1).T
    return by_group, everyone.ravel(), sizes, cells


pairs_of_odds = partial(pairs_of_numbers, error_rates)


def locate_odds(
    statistic: GroupedConfusion, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the largest difference of error rates, of the cells of enough rows."""
    numbers = error_rates(statistic)
    if not len(numbers[0]):
        return Located(math.nan, (0, None))
    cell, located = locate_in_cells(numbers, multigroup)
    if math.isnan(located.value):
        return Located(math.nan, (0, None))
    true, predicted = (statistic.classes.index(c) for c in numbers[3][cell].values())
    sizes = statistic.matrices[:, true].sum(axis=1)
    first, second = located.pair
    everyone = sizes[comparable_cells(statistic)[:, true]].sum()
    theirs = everyone if second is None else sizes[second]
    return located._replace(cell=(true, predicted), sizes=(sizes[first], theirs))


@specify(
    statistic=GroupedConfusion,
    compares_errors=always,
    read=grouped_confusion,
    countable=_rows_of_pairs,
    pairs=pairs_of_odds,
    locate=locate_odds,
)
def equalized_odds_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedConfusion,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of P(prediction | true label).

    With two classes it is the larger of the differences of true and of false positive
    rates. Unlike `dcp` it does not say how many people are concerned: the rates of a
    rare class count as much as those of any other.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of any number of classes; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedConfusion
        Predicted labels, or a statistic in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 is equalized odds. nan with a warning where it is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On missing or continuous labels, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared, or a group has no row of a true
        label, or fewer than the `min_group_size` of its `Groups`. With the true labels
        as `control_features` such groups are left out among the rows of the label, with
        a warning, and the others compared.

    See Also
    --------
    dcp : The share of people whose predictions differ from a common baseline.
    true_positive_rate_difference : The gap of one of the rates.
    false_positive_rate_difference : The gap of the other.

    References
    ----------
    .. [1] Hardt, Price, Srebro. "Equality of Opportunity in Supervised Learning".
       NeurIPS 2016.
    .. [2] Putzel, Lee. "Blackbox Post-Processing for Multiclass Fairness". 2022. The
       term-by-term multiclass form.

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_difference
    >>> y_true = ["cat", "cat", "dog", "dog"] * 2
    >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
    >>> equalized_odds_difference(
    ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
    ... )
    0.5
    """
    statistic = grouped_confusion(y_true, y_pred, sensitive_features, sample_weight)
    name = "equalized_odds_difference"
    true = statistic.label_counts.sum(axis=0) > 0
    if warn_if_undefined(name, statistic) or warn_if_labels_are_few(
        name,
        statistic.labels,
        [c for c, is_true in zip(statistic.classes, true, strict=True) if is_true],
        statistic.label_counts[:, true],
        statistic.min_group_size,
    ):
        return math.nan
    return locate_odds(statistic, multigroup=multigroup).value


@specify(
    statistic=GroupedConfusion,
    compares_errors=always,
    combine=largest_defined,
    leaves_groups_out=True,
    pairs=pairs_of_odds,
    locate=locate_odds,
)
def difference_of_comparable_odds(
    y_true: None, y_pred: GroupedConfusion, *, multigroup: Multigroup = "pairwise"
) -> float:
    """Largest difference of error rates, without the cells of too few rows."""
    return locate_odds(y_pred, multigroup=multigroup).value


def comparable_cells(statistic: GroupedConfusion) -> Bools:
    """Whether each group has enough rows of each true class, and another group, too."""
    enough = statistic.label_counts >= max(statistic.min_group_size, 1)
    return np.asarray(enough & (enough.sum(axis=0) > 1))


def errors_of(y_true: Any, y_pred: Any) -> Floats:
    """Predicted minus true value of each row."""
    if y_true is None:
        raise ValueError("y_true must be the true values, one for each row, got None.")
    # Half of it, so that their difference is one of the numbers that can be added up.
    largest = LARGEST_NUMBER / 2
    predicted = check_numbers(y_pred, "y_pred", largest)
    true = as_array(y_true, "y_true", len(predicted))
    return predicted - check_numbers(true, "y_true", largest)


def read_errors(
    y_true: ArrayLike | None,
    y_pred: ArrayLike,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    *,
    change: Callable[[Floats], Floats] = np.asarray,
) -> GroupedScores:
    """Errors of each group, each of which is changed."""
    return GroupedScores.from_scores(
        change(errors_of(y_true, y_pred)),
        sensitive_features=sensitive_features,
        scale="real",
        sample_weight=sample_weight,
    )


def _rows_of_errors(
    rows: Rows, *, change: Callable[[Floats], Floats] = np.asarray
) -> Countable:
    """Sort the errors of rows, each of which is changed."""
    errors = change(errors_of(rows.y_true, rows.y_pred))
    return rows_of_scores(replace(rows, y_pred=errors), scale="real")


@specify(
    compares_errors=never,
    maximum=math.inf,
    read=read_errors,
    countable=_rows_of_errors,
    pairs=pairs_of_means,
    locate=locate_means,
)
def mean_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the mean error of predicted numbers.

    The error of a row is its predicted minus its true value, in the unit of the target.
    A group with a larger mean error than another is overestimated beside it. 0 says
    that errors are equal on average, not that they are equally large, which
    `mean_absolute_error_difference` compares.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True values, any finite numbers.
    y_pred : array-like of shape (n_samples,)
        Predicted values.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand for
        their intersection. Strata without two groups are left out, with a warning that
        names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float
        At least 0, in the unit of the target. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On values that are no finite numbers, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    demographic_parity_difference : Difference of the mean predictions.
    group_metrics : Any metric of scikit-learn by group.
    mean_absolute_error_difference : Compares the sizes of errors.

    Examples
    --------
    >>> from skfair.metrics import mean_error_difference
    >>> salary, predicted = [30, 40, 36, 44], [28, 37, 38, 45]
    >>> sex = ["F", "F", "M", "M"]
    >>> mean_error_difference(salary, predicted, sensitive_features=sex)
    4.0
    """
    statistic = read_errors(y_true, y_pred, sensitive_features, sample_weight)
    name = "mean_error_difference"
    return value_or_nan(name, statistic, locate_means, multigroup=multigroup)


@specify(
    compares_errors=never,
    maximum=math.inf,
    read=partial(read_errors, change=np.abs),
    countable=partial(_rows_of_errors, change=np.abs),
    pairs=pairs_of_means,
    locate=locate_means,
)
def mean_absolute_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the mean absolute error.

    0 says that predictions of all groups are equally exact on average. Groups may have
    errors of other signs, which `mean_error_difference` compares.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True values, any finite numbers.
    y_pred : array-like of shape (n_samples,)
        Predicted values.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand for
        their intersection. Strata without two groups are left out, with a warning that
        names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float
        At least 0, in the unit of the target. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On values that are no finite numbers, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mean_error_difference : Difference of the signed errors.

    Examples
    --------
    >>> from skfair.metrics import mean_absolute_error_difference
    >>> salary, predicted = [30, 40, 36, 44], [28, 37, 38, 45]
    >>> sex = ["F", "F", "M", "M"]
    >>> mean_absolute_error_difference(salary, predicted, sensitive_features=sex)
    1.0
    """
    rows = y_true, y_pred, sensitive_features, sample_weight
    statistic = read_errors(*rows, change=np.abs)
    name = "mean_absolute_error_difference"
    return value_or_nan(name, statistic, locate_means, multigroup=multigroup)


def _rows_of_rate(rows: Rows, *, rate: Rate, pos_label: Any = None) -> Countable:
    """Read the outcomes of a rate, of the rows that it is about."""
    outcomes, mask = outcomes_of_rate(rows.y_true, rows.y_pred, rate, pos_label)
    rows = replace(rows, y_true=None, y_pred=outcomes)
    return rows if mask is None else rows[mask], GroupedOutcomes._from_rows


def _specify_rate(
    rate: Rate, compares_errors: Callable[..., bool]
) -> Callable[[Metric], Metric]:
    """Make a metric of a function that returns the largest difference of a rate."""
    return specify(
        statistic=GroupedOutcomes,
        compares_errors=compares_errors,
        read=partial(grouped_quality, rate=rate),
        countable=partial(_rows_of_rate, rate=rate),
        pairs=partial(pairs_of_numbers, mean_outcomes),
        locate=locate_outcomes,
    )


@_specify_rate("true_positive_rate", always)
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
    statistic = grouped_quality(*rows, rate="true_positive_rate", pos_label=pos_label)
    name = "true_positive_rate_difference, of truly positive rows,"
    return value_or_nan(name, statistic, locate_outcomes, multigroup=multigroup)


@_specify_rate("false_positive_rate", always)
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
    statistic = grouped_quality(*rows, rate="false_positive_rate", pos_label=pos_label)
    name = "false_positive_rate_difference, of truly negative rows,"
    return value_or_nan(name, statistic, locate_outcomes, multigroup=multigroup)


@_specify_rate("predictive_value", never)
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
    statistic = grouped_quality(*rows, rate="predictive_value", pos_label=pos_label)
    name = "predictive_value_difference, of rows with the positive decision,"
    return value_or_nan(name, statistic, locate_outcomes, multigroup=multigroup)


def _shortfall(rates: Floats, others: Any) -> Floats:
    """One minus the ratio of the smaller rate to the larger one."""
    return quotients(np.abs(rates - others), np.maximum(rates, others))


def _selection_rates(statistic: GroupedOutcomes) -> Numbers:
    """Rates of selection, of which no ratio is defined where nobody is selected."""
    undefined = np.isnan(statistic.means) | (not statistic.sums.any())
    counts = np.where(undefined, 0, statistic.counts)
    return mean_outcomes(replace(statistic, counts=counts))


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
    pairs=partial(pairs_of_numbers, _selection_rates, gap=_shortfall),
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
    statistic = grouped_quality(*rows, rate="selection_rate", pos_label=pos_label)
    if warn_if_undefined("impact_ratio_shortfall", statistic):
        return math.nan
    rates = statistic.means
    if not rates.any():
        warn_undefined("impact_ratio_shortfall", "nobody is selected")
        return math.nan
    return locate_ratio(statistic, multigroup=multigroup).value
