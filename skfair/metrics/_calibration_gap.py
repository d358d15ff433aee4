"""Whether a score means the same in each group: cumulative differences to outcomes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair.metrics._inputs import Multigroup, labelled_scores, positive_rows
from skfair.metrics._metric import MetricOfPairs, evaluates
from skfair.metrics._pairs import (
    Located,
    PairGaps,
    compared_groups,
    curve_blocks,
    largest_of_rows,
    locate_largest,
    measure_apart,
)
from skfair.metrics._strata import Multistratum
from skfair.statistics._distributions import sort_scores

#: Numbers in one block of curves, which bounds memory.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Steps:
    """Outcome minus score of rows, in the order of their scores."""

    scores: Floats
    codes: NDArray[Any]
    #: Outcome minus score, as a share of the weight of the group.
    steps: Floats
    #: Weight of the group of each curve as a share of all.
    shares: Floats
    counts: Integers
    labels: tuple[Hashable, ...] = ()
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_rows(cls, rows: Rows) -> Steps:
        """Return the steps of checked rows, sorted by score.

        If rows are not sorted yet, rows of equal score, group and outcome are one step.
        """
        rows, is_ordered = rows.grouped(), rows.is_ordered
        codes, weights, n_groups = rows.groups.codes, rows.mass, rows.n_groups
        counts = np.bincount(codes, rows.n, n_groups).astype(np.intp)
        totals: Any = (
            counts if weights is None else np.bincount(codes, weights, n_groups)
        )
        scores, outcomes = rows.y_pred, rows.y_true
        if is_ordered:
            weights = np.ones(len(rows), np.int64) if weights is None else weights
        else:
            # One sort by score, group and outcome, in as few bits as possible.
            small = np.int8 if n_groups < 2**6 else np.intp
            cells: Any = 2 * codes.astype(small) + outcomes.astype(small)
            scores, cells, weights = sort_scores(
                scores, cells, weights, n_groups=2 * n_groups
            )
            codes, outcomes = cells >> 1, cells & 1
        steps: Any = weights / totals[codes] * (outcomes - scores)
        groups = rows.groups
        rest = groups.labels, groups.names, groups.min_group_size
        return cls(scores, codes, steps, totals / totals.sum(), counts, *rest)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.shares)

    def curves(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield distinct scores, and the curves there, shape (n_curves, n_scores)."""
        parts = self.scores, self.codes, self.steps
        return curve_blocks(*parts, len(self.shares), _BLOCK)


def _bounding_curves(cells: Rows) -> Iterator[tuple[Floats, Floats]]:
    """Yield the lowest and highest possible curve C of each group, as rows of arrays.

    C is lowest if positive rows have the largest score of their cell, and if negative
    rows have the largest score too, but are counted from the smallest score of their
    cell on.
    """
    n_groups, low, high = cells.n_groups, cells.low, cells.high
    assert low is not None
    assert high is not None
    positive, weights = cells.y_true == 1, cells.weights
    below, above = np.where(positive, high, low), np.where(positive, low, high)
    falls = np.where(positive, 1 - high, -high)
    rises = np.where(positive, 1 - low, -low)
    codes = cells.groups.codes.astype(np.intp)
    scores, codes = np.append(below, above), np.append(codes, codes + n_groups)
    steps = np.append(weights * falls, weights * rises)
    order = np.argsort(scores, kind="stable")
    totals, codes = np.tile(cells.totals, 2), codes[order]
    steps = steps[order] / totals[codes]
    both = scores[order], codes, steps
    for _, curves in curve_blocks(*both, 2 * n_groups, _BLOCK):
        yield curves[:n_groups], curves[n_groups:]


def bound_curve_gap(cells: Rows, multigroup: Multigroup) -> tuple[float, float]:
    """Bound `calibration_gap` of rows whose scores are known by bins only."""
    shares = (cells.totals / cells.totals.sum())[:, np.newaxis]
    lower = upper = 0.0
    for low, high in _bounding_curves(cells):
        if multigroup == "pooled":
            # A group is part of everyone: its own curve is the same on both sides.
            own = shares * (high - low)
            above = low + own - (shares * high).sum(axis=0)
            below = (shares * low).sum(axis=0) + own - high
            lower_gaps = np.maximum(above, below)
            above = high - own - (shares * low).sum(axis=0)
            below = (shares * high).sum(axis=0) - own - low
            most = np.maximum(above, below)
        else:
            lower_gaps = low.max(axis=0) - high.min(axis=0)
            smallest, second = np.partition(low, 1, axis=0)[:2]
            most = high - np.where(low == smallest, second, smallest)
        lower = max(lower, float(lower_gaps.max(initial=0)))
        upper = max(upper, float(most.max(initial=0)))
    return lower, upper


@dataclass(frozen=True, kw_only=True)
class CalibrationGap(MetricOfPairs):
    """Largest difference of the curves C of groups."""

    inputs = ("y_true", "y_score")
    exchangeable = "similar scores"
    maximum = 2.0
    has_range_from_bins = True

    pos_label: Hashable = None

    def check(self, rows: Rows) -> Rows:
        """Check scores and true labels; the positive label becomes 1, the other 0."""
        true = rows.y_true
        scores, positive = labelled_scores(true, rows.y_pred, self.pos_label)
        return replace(rows, y_true=positive.astype(np.float64), y_pred=scores)

    def collect(self, rows: Rows) -> Steps:
        """Collect the steps of the curves of the rows that count."""
        return Steps.from_rows(rows)

    def locate(self, statistic: Steps) -> Located:
        """Find the largest difference of two curves, and both curves there."""
        value, score, heights = largest_curve_gap(statistic, self.multigroup)
        overall = float(statistic.shares @ heights)
        located = locate_largest(heights, overall, self.multigroup)
        located = located._replace(value=value)
        if located.pair[0] == located.pair[1]:
            located = located._replace(pair=(0, 1), figures=(heights[0], heights[1]))
        if math.isnan(score):
            score = float(statistic.scores[0])
        return located._replace(score=score)

    def gaps(self, statistic: Steps) -> PairGaps:
        """Find the largest difference of each pair, nan of groups without rows."""
        shares, pairwise = statistic.shares, self.multigroup == "pairwise"
        first, second = compared_groups(len(shares), self.multigroup)

        def curves() -> Iterator[Floats]:
            for _, heights in statistic.curves():
                if pairwise:
                    yield heights
                else:
                    yield np.vstack([heights, _mean(shares, heights)])

        apart = (measure_apart(c, self.multigroup, largest_of_rows) for c in curves())
        values = reduce(np.maximum, apart)
        absent = shares == 0
        absent = absent[first] if second is None else absent[first] | absent[second]
        values[absent] = math.nan
        return PairGaps(first, second, values[np.newaxis], shares[np.newaxis])

    def check_bins(self, histogram: Rows) -> Rows:
        """Check the true labels of cells; the positive label becomes 1, the other 0."""
        if histogram.y_true is None:
            raise ValueError(
                "histogram must have true labels, as CountTable.from_rows(y_true, "
                "y_score, n_bins=...) has."
            )
        positive = positive_rows(histogram.y_true, "y_true", self.pos_label)
        return replace(histogram, y_true=positive)

    def range_from_bins(self, histogram: Rows) -> tuple[float, float]:
        """Bound the metric of rows whose scores and labels are known by bins."""
        return bound_curve_gap(histogram, self.multigroup)


@evaluates(CalibrationGap)
def calibration_gap(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    pos_label: Hashable = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest difference between groups in how far outcomes differ from scores.

    .. math::
        \\max_t |C_a(t) - C_b(t)|, \\quad
        C_g(t) = \\frac{1}{n_g} \\sum_{i \\in g, \\, s_i \\le t} (y_i - s_i)

    asks whether a score of .7 means the same in each group. C of a group rises where
    its outcomes are more frequent than its scores say, and falls where they are less
    frequent. There are no bins to choose, unlike in calibration curves by bin.

    It does not ask whether scores are true: groups whose scores are all too high in the
    same way have no gap if they have them equally often.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of two classes. Of three or more `values_by_class` compares each
        with the rest.
    y_score : array-like of shape (n_samples,)
        Probabilities of the positive class, in [0, 1].
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand for
        their intersection. Strata without two groups are left out, with a warning that
        names them.
    pos_label : int, float, bool or str, default=None
        The true label that counts as positive. None stands for 1 where the labels are 0
        and 1, or -1 and 1; others need it.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        whose C is the mean of those of the groups by weight. The pooled value is
        smaller.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which multiply the terms and replace n_g by
        the total weight.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    float in [0, 2]
        0 if the curves C are the same. nan with a warning where a group is absent or
        too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On scores outside [0, 1], labels that are missing or of more than two classes,
        lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    metric_bounds : Bounds of it where scores and labels are known by bins only.
    skfair.inspection.GroupCurveDisplay : Draws the curves.
    permutation_test : Whether the groups are equally calibrated.
    sklearn.calibration.calibration_curve : Calibration by bins of scores.

    Notes
    -----
    Noise alone makes the value positive. `permutation_test` permutes groups among rows
    with similar scores. All rows in the order of their scores, ties together, are cut
    into as many cells as the root of their number; all groups have the same weight in
    this cut. Groups are permuted within cells. If the group tells nothing of the
    outcome beyond the score, rows of one cell are exchangeable except for the
    differences of their scores. These are of the order of one over the number of cells,
    so that the level is approximate. It is exact where scores within cells are equal.
    Groups may differ in their scores. `bootstrap_interval` gives an interval.

    References
    ----------
    .. [1] Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu. "Metrics of Calibration for
       Probabilistic Predictions". Journal of Machine Learning Research 23, 2022.
    .. [2] Tygert. "Cumulative Deviation of a Subpopulation from the Full Population".
       Journal of Big Data 8, 2021.

    Examples
    --------
    >>> from skfair.metrics import calibration_gap
    >>> y_true = [0, 1, 0, 1, 0, 0, 1, 0]
    >>> y_score = [0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.75, 0.25]
    >>> calibration_gap(y_true, y_score, sensitive_features=list("aaaabbbb"))
    0.25
    """
    metric = CalibrationGap(
        pos_label=pos_label, multigroup=multigroup, multistratum=multistratum
    )
    return metric(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


def largest_curve_gap(
    rows: Steps, multigroup: Multigroup = "pairwise"
) -> tuple[float, float, Floats]:
    """Return the largest difference of two curves, and where it is.

    The score is nan where the difference is 0.
    """
    largest, score, heights = -1.0, math.nan, np.zeros(len(rows.shares))
    for scores, curves in rows.curves():
        if multigroup == "pooled":
            apart = np.abs(curves - _mean(rows.shares, curves)).max(axis=0)
        elif len(curves) == 2:
            apart = np.abs(curves[0] - curves[1])
        else:
            apart = np.ptp(curves, axis=0)
        if apart.max(initial=-1) > largest:
            at = int(apart.argmax())
            largest, score, heights = float(apart[at]), float(scores[at]), curves[:, at]
    return largest, score if largest > 0 else math.nan, heights


def _mean(shares: Floats, curves: Floats) -> Floats:
    """Return the mean of curves, with the same rounding for any order of groups."""
    return np.asarray(np.sort(shares[:, np.newaxis] * curves, axis=0).sum(axis=0))
