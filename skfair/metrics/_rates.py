"""Differences between groups of means, of rates and of error rates."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._text import shown
from skfair._utils._validation import (
    LARGEST_NUMBER,
    AnyScale,
    as_array,
    check_numbers,
    check_real,
    check_scores,
    check_shape,
    check_y_true,
    refuse_scores,
    scores_on,
)
from skfair._utils._warnings import warn_of_means
from skfair.groups import Groups
from skfair.metrics._bands import bound_largest
from skfair.metrics._inputs import Multigroup, has_text, positive_rows
from skfair.metrics._metric import MetricOfPairs, evaluates
from skfair.metrics._pairs import (
    NO_PAIR,
    Located,
    NumbersByCell,
    PairGaps,
    locate_in_cells,
    locate_outcomes,
    mean_outcomes,
    pairs_of_numbers,
)
from skfair.metrics._quantiles import (
    Comparisons,
    Method,
    Observed,
    compare_means,
    shares_of_groups,
)
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import lacks_labels
from skfair.statistics import CountTable
from skfair.statistics._distributions import Gap
from skfair.statistics._labels import (
    decode_labels,
    drop_absent_classes,
    encode_labels,
)


def bound_difference(smallest: Gap, largest: Gap) -> tuple[float, float]:
    """Bound the difference of mean scores by the integral of CDF bounds."""
    lengths = np.diff(smallest.scores)
    low, high = (
        float(gap.signed[:-1] / gap.scale @ lengths) for gap in (smallest, largest)
    )
    return max(0.0, low, -high), min(1.0, max(high, -low))


def mean_numbers(rows: Rows) -> tuple[NumbersByCell, float]:
    """Return the mean of each group, less the number of one row; and this number.

    Sums of large numbers would lose the digits in which the means differ.
    """
    middle = float(rows.y_pred[len(rows) // 2])
    moved = replace(rows, y_pred=rows.y_pred - middle)
    return mean_outcomes(moved), middle


def locate_means(rows: Rows, multigroup: Multigroup) -> Located:
    """Locate the largest difference of means of numbers.

    Two groups are in the order of their labels.
    """
    numbers, middle = mean_numbers(rows)
    _, located = locate_in_cells(numbers, multigroup)
    pair, (ours, theirs) = located.pair, (x + middle for x in located.figures)
    first, second = pair
    if first == second:  # where all means are equal
        pair = (0, 1)
    elif second is not None and first > second:
        pair, ours, theirs = (second, first), theirs, ours
    return Located(located.value, pair, (ours, theirs))


class DifferenceOfNumbers(MetricOfPairs):
    """Largest difference between numbers of groups, in each of several named cells."""

    @abstractmethod
    def numbers(self, statistic: Any) -> NumbersByCell:
        """Return the number of each group in each cell, with sizes and names."""

    def difference(self, ours: Floats, theirs: Any) -> Floats:
        """Return the difference of two numbers, whose size is the gap."""
        return np.asarray(ours - theirs)

    def gaps(self, statistic: Any) -> PairGaps:
        """Find the gaps of all pairs of groups."""
        return pairs_of_numbers(
            self.numbers,
            statistic,
            multigroup=self.multigroup,
            gap=self.difference,
        )


class DifferenceOfMeans(DifferenceOfNumbers):
    """Largest difference of means: of outcomes, which are rates, or of numbers.

    A subclass says in `check` what the outcomes or numbers of rows are.
    """

    has_noise_bounds = True

    @property
    def compares_numbers(self) -> bool:
        """Whether means of any finite numbers are compared, not of values in [0, 1]."""
        return False

    def numbers(self, statistic: Any) -> NumbersByCell:
        """Return the mean of each group in each cell, with sizes and names."""
        if self.compares_numbers:
            return mean_numbers(statistic)[0]
        return mean_outcomes(statistic)

    def locate(self, statistic: Any) -> Located:
        """Find the largest gap, between which groups it is, and where."""
        if self.compares_numbers:
            return locate_means(statistic, self.multigroup)
        return locate_outcomes(statistic, multigroup=self.multigroup)

    def observe(self, part: Rows) -> Observed:
        """Count checked rows, with the means of squares that the noise depends on."""
        observed = super().observe(part)
        rows = observed.statistic
        if self.compares_numbers or rows.y_pred.dtype.kind == "b":
            return observed  # squares of outcomes are the outcomes
        outside = rows.y_pred[(rows.y_pred < 0) | (rows.y_pred > 1)]
        if len(outside):
            raise ValueError(
                f"check of {self.name} must return numbers in [0, 1], for which its "
                f"bounds hold, got {outside[0]:g}. Divide them by their maximum, or "
                "set compares_numbers = True and maximum = math.inf."
            )
        squares = replace(rows, y_pred=rows.y_pred**2).means
        return observed._replace(squares=squares)

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of each difference of means."""
        rows, sizes, squares = observed
        if self.compares_numbers:
            squares = replace(rows, y_pred=rows.y_pred**2).means
        moments = rows.means, rows.means if squares is None else squares
        value, shares = self.value(rows), shares_of_groups(rows)
        return compare_means(value, moments, sizes, shares, self.multigroup, method)

    def condense(self, part: Rows) -> Rows:
        """Count checked rows in the cells that a monitor keeps and adds up.

        Values between 0 and 1 are summarised by the mean of each group.
        """
        rows = self.select(part).grouped()
        if np.isin(rows.y_pred, (0, 1)).all():
            return rows
        present = np.flatnonzero(rows.counts)
        groups = replace(rows.groups, codes=present.astype(rows.groups.codes.dtype))
        n, means = rows.counts[present].astype(np.int64), rows.means[present]
        return Rows(groups, y_pred=means, n=n)


@dataclass(frozen=True, kw_only=True)
class DemographicParity(DifferenceOfMeans):
    """Difference of mean scores, or of selection rates."""

    takes_classes = True
    has_range_from_bins = True
    choices = DifferenceOfMeans.choices | {"scale": ("probability", "real")}

    threshold: float | None = None
    pos_label: Hashable = None
    scale: Literal["probability", "real"] = "probability"

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        other = "a threshold of scores" if self.scale != "real" else "scale='real'"
        if self.pos_label is not None and (
            self.threshold is not None or self.scale == "real"
        ):
            raise ValueError(
                f"pos_label must be None with {other}, got {shown(self.pos_label)}."
            )
        if self.threshold is not None:
            ends = (-math.inf, math.inf) if self.scale == "real" else (0, 1)
            check_real("threshold", self.threshold, *ends, alternative="None or ")

    @property
    def compares_numbers(self) -> bool:
        """Whether means of numbers in a unit are compared."""
        return self.scale == "real" and self.threshold is None

    def check(self, rows: Rows) -> Rows:
        """Check scores or decisions, and return them as numbers."""
        check_y_true(rows.y_true, rows.y_pred, self.scale, "y_pred")
        if self.compares_numbers:
            numbers = scores_on(self.scale, rows.y_pred, "y_pred")
        else:
            options = self.threshold, self.pos_label, self.scale
            numbers = parity_outcomes(rows.y_pred, *options)
        return replace(rows, y_true=None, y_pred=numbers)

    @property
    def upper_limit(self) -> float:
        """Largest value; numbers in a unit have none."""
        return math.inf if self.compares_numbers else self.maximum

    def advise(self, rows: Rows) -> None:
        """Warn of means of numbers between 0 and 1, which are not rates."""
        decided = self.threshold is not None or self.pos_label is not None
        values = rows.y_pred
        means = values.ndim == 1 and values.dtype.kind not in "biu"
        if decided or self.scale == "real" or not means:
            return
        if not np.isin(values, (-1, 0, 1)).all():
            warn_of_means(self.name)

    def range_from_bins(self, histogram: Rows) -> tuple[float, float]:
        """Bound the difference of means of rows whose scores are known by bins."""
        for option in "threshold", "pos_label":
            if getattr(self, option) is not None:
                raise ValueError(
                    f"{option} must be left at its default: bounds of {self.name} do "
                    f"not know this option, got {getattr(self, option)!r}."
                )
        return bound_largest(histogram, self.multigroup, bound_difference)


@evaluates(DemographicParity)
def demographic_parity_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    threshold: float | None = None,
    pos_label: Hashable = None,
    scale: Literal["probability", "real"] = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
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
    y_pred : array-like of shape (n_samples,) or (n_samples, n_classes), or CountTable
        Scores in [0, 1], or predicted labels of two classes. Of three or more classes
        a column of probabilities for each, or of 1 where the class is predicted and 0
        elsewhere: the value is the largest over classes. Any finite numbers with
        ``scale="real"``. A `CountTable` takes the place of all rows; then the other
        arguments by row are None.
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
        The largest difference between two groups, or between a group and everyone, the
        group included. The pooled value is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = DemographicParity(
        threshold=threshold,
        pos_label=pos_label,
        scale=scale,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


def parity_outcomes(
    values: Any,
    threshold: float | None,
    pos_label: Hashable,
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


@dataclass(frozen=True, kw_only=True)
class EqualizedOdds(DifferenceOfNumbers):
    """Difference of P(prediction | true class)."""

    exchangeable = "same true label"
    has_noise_bounds = True

    pos_label: Hashable = None

    def check(self, rows: Rows) -> Rows:
        """Check both labels, and return their positions among the classes."""
        if self.pos_label is not None:
            for name in ("y_true", "y_pred"):
                values = getattr(rows, name)
                if values is not None:
                    positive_rows(values, name, self.pos_label)
        return encode_labels(rows)

    def select(self, rows: Rows) -> Rows:
        """Return the rows with the classes that occur among them."""
        return drop_absent_classes(rows)

    def why_undefined(self, statistic: Any) -> tuple[str, str]:
        """Say why groups cannot be compared, and how to mend it; "" if they can."""
        reason, advice = super().why_undefined(statistic)
        if reason:
            return reason, advice
        true = np.flatnonzero(statistic.label_counts.any(axis=0))
        classes = [statistic.classes[i] for i in true.tolist()]
        counts, smallest = statistic.label_counts[:, true], statistic.min_group_size
        return lacks_labels(statistic.labels, classes, counts, smallest)

    def rows_compared(self, statistic: Any, located: Located) -> tuple[Integers, str]:
        """Return how many rows of each group a gap comes from, and their label."""
        if located.cell is None:
            return super().rows_compared(statistic, located)
        true = located.cell[0]
        which = f" of the true label {statistic.classes[true]!r}"
        return statistic.label_counts[:, true], which

    def numbers(self, statistic: Any) -> NumbersByCell:
        """Return the rates of predictions, in a cell for each true and predicted class.

        The rates of two predicted classes add up to 1, so that only one of them is
        compared. Groups with too few rows of a true class, or without another group to
        compare with, are left out.
        """
        classes = statistic.classes
        true = np.flatnonzero(statistic.label_counts.any(axis=0))
        first = int(len(classes) == 2)
        comparable = comparable_cells(statistic)[:, true, np.newaxis]
        compared = statistic.matrices[:, true] * comparable
        rates = quotients(compared, compared.sum(axis=2, keepdims=True), np.nan)
        rates, pooled = rates[:, :, first:], compared.sum(axis=0)
        sums = pooled.sum(axis=1, keepdims=True)
        overall = quotients(pooled, sums, np.nan)[:, first:]
        sizes = statistic.label_counts[:, true].T.repeat(rates.shape[2], axis=0)
        cells = tuple(
            {"label": classes[i], "prediction": prediction}
            for i in true.tolist()
            for prediction in classes[first:]
        )
        by_group = rates.reshape(len(rates), -1).T
        return NumbersByCell(by_group, overall.ravel(), sizes, cells)

    def locate(self, statistic: Any) -> Located:
        """Find the largest difference of error rates in the cells with enough rows."""
        numbers = self.numbers(statistic)
        if not len(numbers.by_group):
            return Located(math.nan, NO_PAIR)
        cell, located = locate_in_cells(numbers, self.multigroup)
        if math.isnan(located.value):
            return Located(math.nan, NO_PAIR)
        true, predicted = (
            statistic.classes.index(c) for c in numbers.cells[cell].values()
        )
        sizes = statistic.matrices[:, true].sum(axis=1)
        first, second = located.pair
        overall = sizes[comparable_cells(statistic)[:, true]].sum()
        theirs = overall if second is None else sizes[second]
        return located._replace(cell=(true, predicted), sizes=(sizes[first], theirs))

    def observe(self, part: Rows) -> Observed:
        """Count checked rows, with the effective number of each group and class."""
        part = self.select(part)
        statistic = self.collect(part)
        if part.weight is None and part.cluster is None:
            return Observed(statistic, statistic.label_counts.astype(np.float64))
        codes, n_classes = part.groups.codes, len(part.classes)
        cells = np.where(codes < 0, -1, codes * np.intp(n_classes) + part.y_true)
        labels = tuple(range(part.n_groups * n_classes))
        sizes = part.replace_groups(Groups(cells, labels)).effective_sizes
        return Observed(statistic, sizes.reshape(-1, n_classes))

    def condense(self, part: Rows) -> Rows:
        """Count checked rows in the cells that a monitor keeps and adds up."""
        return decode_labels(part)

    def reopen(self, cells: Rows) -> Rows:
        """Turn cells that a monitor has kept into checked rows."""
        return encode_labels(cells)

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of the rates of each true and predicted class."""
        statistic, by_class, _ = observed
        value = self.value(statistic)
        true = statistic.matrices.sum(axis=(0, 2)) > 0
        matrices = statistic.matrices[:, true]
        totals = matrices.sum(axis=2, keepdims=True)
        # The rates of one of two predicted classes say all.
        rates = matrices[..., int(matrices.shape[2] == 2) :] / totals
        sizes, shares = by_class[:, true, None], totals / totals.sum(axis=0)
        moments = rates, rates
        return compare_means(value, moments, sizes, shares, self.multigroup, method)


@evaluates(EqualizedOdds)
def equalized_odds_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    pos_label: Hashable = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of P(prediction | true label).

    With two classes it is the larger of the differences of true and of false positive
    rates. Unlike `dcp` it does not say how many people are concerned: the rates of a
    rare class count as much as those of any other.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of any number of classes; None only beside a table.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels, or a table of true and predicted labels in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    pos_label : int, float, bool or str, default=None
        Label of the positive class, if there are two. The value does not depend on it:
        it is checked to be one of the labels, as other rates need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone, the
        group included. The pooled value is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = EqualizedOdds(
        pos_label=pos_label,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


class ComparableOdds(EqualizedOdds):
    """Difference of error rates, without the cells of too few rows."""

    name = "difference_of_comparable_odds"
    leaves_groups_out = True
    has_noise_bounds = False

    def why_undefined(self, statistic: Any) -> tuple[str, str]:
        """Say nothing: cells that cannot be compared are left out."""
        return "", ""


def comparable_cells(statistic: Any) -> Bools:
    """Return which groups can be compared with another group, for each true class."""
    enough = statistic.label_counts >= max(statistic.min_group_size, 1)
    return np.asarray(enough & (enough.sum(axis=0) > 1))


class MeanErrorDifference(DifferenceOfMeans):
    """Difference of the mean errors of predicted numbers."""

    maximum = math.inf

    @property
    def compares_numbers(self) -> bool:
        """Whether means of any finite numbers are compared: errors are."""
        return True

    def check(self, rows: Rows) -> Rows:
        """Check true and predicted numbers, and return the errors."""
        if rows.y_true is None:
            raise ValueError(
                "y_true must be the true values, one for each row, got None."
            )
        # Half of it, so that differences are numbers that can be added up, too.
        predicted, true = (
            check_numbers(values, name, LARGEST_NUMBER / 2)
            for values, name in ((rows.y_pred, "y_pred"), (rows.y_true, "y_true"))
        )
        return replace(rows, y_true=None, y_pred=self.error(predicted - true) + 0.0)

    def error(self, differences: Floats) -> Floats:
        """Return the error of each row, given its predicted less its true value."""
        return differences


@evaluates(MeanErrorDifference)
def mean_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
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
        The largest difference between two groups, or between a group and everyone, the
        group included. The pooled value is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
        On values that are not finite numbers, lengths that differ, or missing groups.

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
    metric = MeanErrorDifference(
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


class MeanAbsoluteErrorDifference(MeanErrorDifference):
    """Difference of the mean absolute errors of predicted numbers."""

    def error(self, differences: Floats) -> Floats:
        """Return the error of each row, given its predicted less its true value."""
        return np.abs(differences)


@evaluates(MeanAbsoluteErrorDifference)
def mean_absolute_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
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
        The largest difference between two groups, or between a group and everyone, the
        group included. The pooled value is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
        On values that are not finite numbers, lengths that differ, or missing groups.

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
    metric = MeanAbsoluteErrorDifference(
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


@dataclass(frozen=True, kw_only=True)
class DifferenceOfRates(DifferenceOfMeans):
    """Base of metrics: the largest difference between groups of a rate.

    A subclass says by `outcomes` which rows are hits, and which rows count. With the
    attribute ``exchangeable = "same true label"`` tests permute groups within true
    labels, as a rate of errors needs it.

    Parameters
    ----------
    pos_label : int, float, bool or str, default=None
        Label of the positive class. None stands for 1 where labels are numbers; text
        labels need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.

    See Also
    --------
    GapOfDistributions : Base of metrics of scores.
    true_positive_rate_difference : A metric of this kind.

    Examples
    --------
    >>> from skfair.metrics import DifferenceOfRates, confidence_interval
    >>> class FalseDiscoveryRateDifference(DifferenceOfRates):
    ...     def outcomes(self, y_true, y_pred):
    ...         return ~y_true, y_pred
    >>> metric = FalseDiscoveryRateDifference()
    >>> y_true, y_pred = [1, 0, 0, 1, 1, 0] * 50, [1, 1, 0, 1, 1, 0] * 50
    >>> sex = ["F", "F", "F", "M", "M", "M"] * 50
    >>> metric(y_true, y_pred, sensitive_features=sex)
    0.5
    >>> confidence_interval(metric, y_true, y_pred, sensitive_features=sex)
    ConfidenceInterval(value=0.5, lower=0.392, upper=0.602, confidence_level=0.95, \
method='band')
    """

    rows_counted = "of rows that count"
    #: Whether the rate depends on true labels.
    reads_y_true: ClassVar[bool] = True

    pos_label: Hashable = None

    @abstractmethod
    def outcomes(self, y_true: Bools, y_pred: Bools) -> tuple[Bools, Bools]:
        """Say which rows are hits, and which rows count.

        Parameters
        ----------
        y_true, y_pred : ndarray of bool of shape (n_samples,)
            Whether the true and the predicted label are the positive one.

        Returns
        -------
        hits, counting : ndarray of bool of shape (n_samples,)
        """

    def check(self, rows: Rows) -> Rows:
        """Check labels; return whether rows are hits, and in `y_true` if they count."""
        refuse_scores(rows.y_pred, "y_pred")
        if not self.reads_y_true:
            check_y_true(rows.y_true, rows.y_pred, name="y_pred")
            true = np.ones(len(rows), bool)
        elif rows.y_true is None:
            raise ValueError(f"y_true must be labels for {self.name}, got None.")
        else:
            true = positive_rows(rows.y_true, "y_true", self.pos_label)
        predicted = positive_rows(rows.y_pred, "y_pred", self.pos_label)
        hits, counting = self.outcomes(true, predicted)
        return replace(rows, y_true=counting, y_pred=hits)

    def select(self, rows: Rows) -> Rows:
        """Return the checked rows that count."""
        return rows if rows.y_true is None else replace(rows[rows.y_true], y_true=None)


class TruePositiveRateDifference(DifferenceOfRates):
    """Difference of the rates of positive decisions among the truly positive."""

    exchangeable = "same true label"
    rows_counted = "of truly positive rows"

    def outcomes(self, y_true: Bools, y_pred: Bools) -> tuple[Bools, Bools]:
        """Say which rows are hits, and which count."""
        return y_pred, y_true


@evaluates(TruePositiveRateDifference)
def true_positive_rate_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    pos_label: Hashable = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the true positive rate, or recall.

    0 is equal opportunity [1]_: of those who deserve the positive decision, each group
    has the same share that gets it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of two classes; None only beside a table.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels; or a table of true and predicted labels in place of all rows.
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
        The largest difference between two groups, or between a group and everyone, the
        group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = TruePositiveRateDifference(
        pos_label=pos_label,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


class FalsePositiveRateDifference(DifferenceOfRates):
    """Difference of the rates of positive decisions among the truly negative."""

    exchangeable = "same true label"
    rows_counted = "of truly negative rows"

    def outcomes(self, y_true: Bools, y_pred: Bools) -> tuple[Bools, Bools]:
        """Say which rows are hits, and which count."""
        return y_pred, ~y_true


@evaluates(FalsePositiveRateDifference)
def false_positive_rate_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    pos_label: Hashable = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the false positive rate.

    0 is predictive equality: of those who do not deserve the positive decision, each
    group has the same share that gets it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of two classes; None only beside a table.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels; or a table of true and predicted labels in place of all rows.
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
        The largest difference between two groups, or between a group and everyone, the
        group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = FalsePositiveRateDifference(
        pos_label=pos_label,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


class PredictiveValueDifference(DifferenceOfRates):
    """Difference of the shares of true positives among the positive decisions."""

    rows_counted = "of rows with the positive decision"

    def outcomes(self, y_true: Bools, y_pred: Bools) -> tuple[Bools, Bools]:
        """Say which rows are hits, and which count."""
        return y_true, y_pred


@evaluates(PredictiveValueDifference)
def predictive_value_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    pos_label: Hashable = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the positive predictive value, or precision.

    0 is predictive parity: of those who get the positive decision, each group has the
    same share that deserves it. With different base rates it cannot be 0 together with
    equal error rates, unless predictions are perfect [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of two classes; None only beside a table.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels; or a table of true and predicted labels in place of all rows.
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
        The largest difference between two groups, or between a group and everyone, the
        group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = PredictiveValueDifference(
        pos_label=pos_label,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


class ImpactRatioShortfall(DifferenceOfRates):
    """One minus the smallest ratio of selection rates."""

    rows_counted = ""
    reads_y_true = False
    has_noise_bounds = False

    def outcomes(self, y_true: Bools, y_pred: Bools) -> tuple[Bools, Bools]:
        """Say which rows are hits, and which count."""
        return y_pred, y_true

    def numbers(self, statistic: Any) -> NumbersByCell:
        """Return selection rates, undefined where nobody is selected."""
        rates = mean_outcomes(statistic)
        if statistic.sums.any():
            return rates
        return rates._replace(
            by_group=np.full_like(rates.by_group, np.nan),
            sizes=np.zeros_like(rates.sizes),
        )

    def difference(self, ours: Floats, theirs: Any) -> Floats:
        """Return one minus the ratio of the smaller rate to the larger one."""
        return quotients(np.abs(ours - theirs), np.maximum(ours, theirs))

    def why_undefined(self, statistic: Any) -> tuple[str, str]:
        """Say why groups cannot be compared, and how to mend it; "" if they can."""
        reason, advice = super().why_undefined(statistic)
        if reason or statistic.sums.any():
            return reason, advice
        return "nobody is selected", ""

    def locate(self, statistic: Any) -> Located:
        """Find the smallest ratio of selection rates; the value is one minus it."""
        rates, compared = statistic.means, statistic.means.max()
        if self.multigroup == "pooled":
            compared = statistic.sums.sum() / statistic.totals.sum()
        gaps = np.abs(rates - compared) / np.maximum(rates, compared)
        furthest = int(gaps.argmax())
        second = int(rates.argmax()) if self.multigroup == "pairwise" else None
        figures = float(rates[furthest]), float(compared)
        return Located(float(gaps[furthest]), (furthest, second), figures)


@evaluates(ImpactRatioShortfall)
def impact_ratio_shortfall(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    pos_label: Hashable = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """One minus the smallest ratio of the selection rates of two groups.

    0 is equal selection rates. The four-fifths rule of thumb asks for at most 0.2. The
    value is a disparity, smaller for fairer, so that scorers, tests and rules of choice
    take it; `impact_ratios` has the ratios of all groups with intervals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_pred : array-like of shape (n_samples,), or CountTable
        Decisions, labels of two classes; or a table in place of all rows.
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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = ImpactRatioShortfall(
        pos_label=pos_label,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )
