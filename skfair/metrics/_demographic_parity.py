"""Demographic parity difference: of mean scores, or of decision rates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._text import shown
from skfair._utils._validation import (
    AnyScale,
    as_array,
    check_choice,
    check_real,
    check_scores,
    check_shape,
    check_y_true,
    scores_on,
)
from skfair.metrics._evaluate import never, specify
from skfair.metrics._inputs import (
    Multigroup,
    has_text,
    in_place_of_rows,
    largest_difference,
    positive_rows,
    refuse_statistics,
)
from skfair.metrics._pairs import (
    Located,
    PairGaps,
    differences,
    locate_largest,
    locate_outcomes,
    pairs_of_outcomes,
)
from skfair.metrics._spec import Countable
from skfair.metrics._strata import Multistratum, largest_defined
from skfair.metrics._undefined import value_or_nan
from skfair.statistics import GroupedOutcomes, GroupedScores


def difference_on_band(band: Any) -> tuple[float, float]:
    """Bound the difference of mean scores, which is the integral of that of CDFs."""
    lengths = np.diff(band.scores)
    low, high = (
        float(heights[:-1] / band.scale @ lengths) for heights in (band.low, band.high)
    )
    return max(0.0, low, -high), min(1.0, max(high, -low))


def pairs_of_means(
    statistic: GroupedOutcomes | GroupedScores,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
) -> PairGaps:
    """Gaps between the mean outcomes, or the mean scores, of groups."""
    if isinstance(statistic, GroupedOutcomes):
        return pairs_of_outcomes(statistic, multigroup=multigroup, among=among)
    means, everyone = _means_from_the_middle(statistic)
    sizes = statistic.counts[np.newaxis]
    return differences(means[np.newaxis], everyone, sizes, multigroup, among)


def locate_means(
    statistic: GroupedOutcomes | GroupedScores, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the largest difference of mean outcomes, or of mean scores.

    Two groups of scores are in the order of their labels.
    """
    if isinstance(statistic, GroupedOutcomes):
        return locate_outcomes(statistic, multigroup=multigroup)
    value = largest_difference(*_means_from_the_middle(statistic), multigroup)
    sums = np.bincount(
        statistic.codes, statistic.weights * statistic.scores, statistic.n_groups
    )
    means = sums / statistic.totals
    everyone = float(sums.sum() / statistic.totals.sum())
    found = locate_largest(value, means, everyone, multigroup)
    first, second = found.pair
    if second is None:
        return found
    first, second = sorted((first, second)) if first != second else (0, 1)
    return Located(value, (first, second), (float(means[first]), float(means[second])))


def _rows_of_parity(
    rows: Rows,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    scale: AnyScale = "probability",
) -> Countable:
    """Read decisions or scores, or sort numbers."""
    if compares_numbers(scale, threshold, pos_label):
        return rows_of_numbers(rows, scores_on(scale, rows.y_pred))
    outcomes = parity_outcomes(rows.y_pred, threshold, pos_label, scale)
    rows = replace(rows, y_true=None, y_pred=outcomes)
    return Countable(rows, GroupedOutcomes._from_rows)


@specify(
    statistic=GroupedOutcomes,
    on_band=lambda: difference_on_band,
    takes_classes=True,
    compares_errors=never,
    countable=_rows_of_parity,
    pairs=pairs_of_means,
    locate=locate_means,
)
def demographic_parity_difference(
    y_true: ArrayLike | None,
    y_score_or_pred: ArrayLike | GroupedOutcomes | GroupedScores,
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
        must be of the right length, and binary where `y_score_or_pred` is one column
        of probabilities or labels.
    y_score_or_pred : array-like of shape (n_samples,) or (n_samples, n_classes), or \
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
        decisions are compared. None compares means: of scores, or of 0/1 labels,
        whose mean is the selection rate.
    pos_label : int, float, bool or str, default=None
        The predicted label that counts as positive. None stands for 1 where labels
        are numbers; text labels need it.
    scale : {"probability", "real"}, default="probability"
        ``"real"`` is for predicted numbers, such as salaries: the value is the
        difference of their means in their unit, or with `threshold` of the shares of
        rows that reach it.
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
    check_choice("scale", scale, ("probability", "real"))
    values: Any = y_score_or_pred
    rows = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    of_numbers = compares_numbers(scale, threshold, pos_label)
    expected = GroupedScores if of_numbers else GroupedOutcomes
    statistic: Any
    if isinstance(values, expected):
        options = {"threshold": threshold, "pos_label": pos_label}
        statistic = in_place_of_rows(values, y_true=y_true, **options, **rows)
    else:
        refuse_statistics(values, "y_score_or_pred", expected)
        check_y_true(y_true, values, scale, "y_score_or_pred")
        if of_numbers:
            numbers = scores_on(scale, values, "y_score_or_pred")
            statistic = GroupedScores.from_scores(numbers, **rows, scale=scale)
        else:
            outcomes = parity_outcomes(values, threshold, pos_label, scale)
            statistic = GroupedOutcomes.from_outcomes(outcomes, **rows)
    name = "demographic_parity_difference"
    return value_or_nan(name, statistic, locate_means, multigroup=multigroup)


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
    return largest_difference(*_means_from_the_middle(y_score), multigroup)


def _means_from_the_middle(statistic: GroupedScores) -> tuple[Floats, float]:
    """Mean score of each group and of everyone, less the score in the middle.

    Sums of large numbers would lose what differs.
    """
    scores, weights = statistic.scores, statistic.weights
    moved = scores - scores[len(scores) // 2]
    sums = np.bincount(statistic.codes, weights * moved, statistic.n_groups)
    everyone = float(sums.sum() / statistic.totals.sum())
    return quotients(sums, statistic.totals, np.nan), everyone


def rows_of_numbers(rows: Rows, numbers: Floats) -> Countable:
    """Sort numbers of the rows once, to be counted by group many times."""
    rows = replace(rows, y_true=None, y_pred=numbers).ordered()
    return Countable(rows, GroupedScores._from_rows)


def parity_outcomes(
    values: Any,
    threshold: float | None,
    pos_label: Any,
    scale: AnyScale = "probability",
) -> Floats:
    """Turn scores or predicted labels into values in [0, 1]."""
    name = "y_score_or_pred"
    if threshold is not None:
        if pos_label is not None:
            raise ValueError(
                "pos_label must be None with a threshold of scores, got "
                f"{shown(pos_label)}."
            )
        threshold = check_real(
            "threshold", threshold, -math.inf, math.inf, alternative="None or "
        )
        given = as_array(values, name)
        if has_text(given):
            raise ValueError(
                f"threshold must be None where {name} holds labels such as "
                f"{given.tolist()[0]!r}, of which pos_label names the positive one, "
                f"got {threshold:g}."
            )
        return (scores_on(scale, values, name) >= threshold).astype(np.float64)
    given = as_array(values, name)
    check_shape(given, name)
    if pos_label is not None or has_text(given):
        return positive_rows(given, name, pos_label).astype(np.float64)
    signs = given.dtype.kind in "if" and bool(np.isin(given, (-1, 1)).all())
    hint = " Of labels pos_label=... names the positive one."
    return check_scores(given == 1 if signs else given, name, hint)
