"""Whether a score means the same in each group: cumulative differences to outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Bools, Floats, Integers
from skfair.groups import Groups, drop_weightless, resolve_groups
from skfair.metrics._distribution._gap import curve_blocks, largest_apart
from skfair.metrics._evaluate import never, specify
from skfair.metrics._inputs import Multigroup, labelled_scores, refuse_statistics
from skfair.metrics._pairs import PairGaps, compared_groups
from skfair.metrics._spec import Specification, register
from skfair.metrics._strata import Multistratum, largest_defined
from skfair.metrics._uncertainty._counts import Counts, deal
from skfair.metrics._undefined import warn_if_undefined
from skfair.statistics import GroupedCalibration, GroupedOutcomes
from skfair.statistics._grouped_scores import sort_scores

#: Numbers in one block of curves, which bounds memory.
_BLOCK = 2**18


class Steps(NamedTuple):
    """What rows add to the curve C of their group, in the order of their scores."""

    scores: Floats
    codes: NDArray[Any]
    #: Outcome minus score, as a share of the weight of the group.
    steps: Floats
    #: Weight of the group of each curve as a share of all.
    shares: Floats

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.shares)

    def curves(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield distinct scores, and the curves there, shape (n_curves, n_scores)."""
        parts = self.scores, self.codes, self.steps
        return curve_blocks(*parts, len(self.shares), _BLOCK)


class Curves(NamedTuple):
    """Curves C of all groups that are known, at distinct scores."""

    scores: Floats
    heights: Floats
    shares: Floats

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.shares)

    def curves(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield distinct scores, and the curves there, as `Steps` do."""
        yield self.scores, self.heights


class RowsByScore(NamedTuple):
    """Rows that are sorted by score once, and given other groups since."""

    order: Integers
    #: Scores, and outcomes minus scores, in the order of the scores.
    scores: Floats
    excess: Floats
    weights: NDArray[Any]

    @classmethod
    def of(
        cls, scores: Floats, positive: Bools, weights: NDArray[Any] | None
    ) -> RowsByScore:
        """Sort rows by their scores; without weights each weighs one."""
        order = np.argsort(scores, kind="stable")
        weights = np.ones(len(order), np.int64) if weights is None else weights
        excess = positive - scores
        return cls(order, scores[order], excess[order], weights[order])

    def statistic(self, groups: Groups) -> Steps:
        """Return the steps of the rows with these groups, without sorting scores."""
        codes, weights, n_groups = groups.codes, self.weights, len(groups.labels)
        codes = codes[self.order]
        scores, excess, kept = self.scores, self.excess, codes >= 0
        if not kept.all():
            scores, excess = scores[kept], excess[kept]
            codes, weights = codes[kept], weights[kept]
        totals = np.bincount(codes, weights, n_groups)
        steps = weights / totals[codes] * excess
        return Steps(scores, codes, steps, totals / totals.sum())

    def to_draw(self, groups: Groups, rows: Integers) -> RowsOfGroups:
        """Return some rows, which keep their groups when they are drawn."""
        n_groups, places = len(groups.labels), np.full(len(self.order), -1)
        places[rows] = np.arange(len(rows))
        places, codes = places[self.order], groups.codes[self.order].astype(np.intp)
        kept = np.flatnonzero(places >= 0)
        kept = kept[np.argsort(codes[kept], kind="stable")]
        scores, columns = np.unique(self.scores[kept], return_inverse=True)
        cells = codes[kept] * len(scores) + columns
        last = np.append(cells[1:] != cells[:-1], True)
        # Where a curve starts, and where it has a step.
        starts = np.arange(n_groups) * len(scores)
        changes = np.sort(np.concatenate([starts, cells[last]]))
        return RowsOfGroups(
            places=places[kept],
            codes=codes[kept],
            excess=self.excess[kept],
            weights=self.weights[kept],
            steps=np.cumsum(last) - last,
            starts=np.append(np.searchsorted(cells[last], starts), last.sum()),
            lengths=np.diff(changes, append=n_groups * len(scores)),
            scores=scores,
            drawn=np.arange(len(rows)),
        )


class RowsOfGroups(NamedTuple):
    """Rows in the order of their groups and scores, which are drawn many times.

    Rows with the same group and score are one step of the curve of the group.
    """

    #: Positions among all rows from which rows are drawn.
    places: Integers
    codes: Integers
    #: Outcomes minus scores.
    excess: Floats
    weights: NDArray[Any]
    #: Step of each row.
    steps: Integers
    #: First step of each group, and the end of the last one.
    starts: Integers
    #: How many scores each step, and the start of each curve, hold for.
    lengths: Integers
    #: Distinct scores.
    scores: Floats
    #: Rows that are drawn, at first all of them.
    drawn: Integers

    def take(self, rows: Integers) -> RowsOfGroups:
        """Rows at the given positions."""
        return self._replace(drawn=rows)

    def statistic(self, groups: Groups) -> Curves:
        """Return the curves of the rows that are drawn, whose groups are known."""
        times = np.bincount(self.drawn, minlength=len(self.places))
        weights = self.weights * times[self.places]
        totals = np.bincount(self.codes, weights, len(groups.labels))
        steps = weights / totals[self.codes] * self.excess
        sums = np.bincount(self.steps, steps)
        heights = np.zeros(len(self.lengths))
        for group, (first, end) in enumerate(pairwise(self.starts)):
            after = slice(first + group + 1, end + group + 1)
            np.cumsum(sums[first:end], out=heights[after])
        curves = np.repeat(heights, self.lengths).reshape(len(totals), -1)
        return Curves(self.scores, curves, totals / totals.sum())


class LabelledRows(NamedTuple):
    """Scores, true labels and groups of rows, in the order in which they were given."""

    scores: Floats
    positive: Bools
    codes: NDArray[Any]
    weights: Any  # None where each row counts once
    #: The true labels of each group.
    statistic: GroupedOutcomes


def labelled_rows(
    name: str,
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
) -> LabelledRows | None:
    """Check rows; None with a warning where groups cannot be compared."""
    refuse_statistics(y_score, "y_score")
    scores, positive = labelled_scores(y_true, y_score, pos_label)
    groups = resolve_groups(sensitive_features, n_samples=len(scores))
    statistic = GroupedOutcomes.from_outcomes(
        positive, sensitive_features=groups, sample_weight=sample_weight
    )
    if warn_if_undefined(name, statistic):
        return None
    rows, codes, weights, _ = drop_weightless(
        np.arange(len(scores)), groups, sample_weight
    )
    if len(rows) < len(scores):
        scores, positive = scores[rows], positive[rows]
    return LabelledRows(scores, positive, codes, weights, statistic)


def rows_by_score(rows: LabelledRows) -> Steps:
    """Sort rows by score; equal scores, groups and outcomes are one step."""
    totals = rows.statistic.totals
    # One sort by score, group and outcome, in as few bits as possible.
    small = np.int8 if len(totals) < 2**6 else np.intp
    cells: Any = 2 * rows.codes.astype(small) + rows.positive
    scores, cells, weights = sort_scores(
        rows.scores, cells, rows.weights, n_groups=2 * len(totals)
    )
    codes = cells >> 1
    steps: Any = weights / totals[codes] * ((cells & 1) - scores)
    return Steps(scores, codes, steps, totals / totals.sum())


def score_cells(y_score: Any, groups: Groups, n_alike: Any = 1) -> Integers:
    """Cells of rows with similar scores, as many as the root of their number.

    All groups count alike, so that cells are narrow where the scores of a small group
    are. Rows with equal scores are in one cell; rows without a group do not count.
    Each row may stand for several.
    """
    scores, codes = np.asarray(y_score, dtype=np.float64), groups.codes
    numbers = np.where(codes >= 0, n_alike, 0)
    sizes = np.bincount(np.maximum(codes, 0), numbers, max(len(groups.labels), 1))
    weights = numbers / np.maximum(sizes, 1)[codes]
    order = np.argsort(scores, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    below = sums[np.searchsorted(scores[order], scores)] / max(sums[-1], 1e-300)
    # More than the rounding of the sums.
    cells = np.floor(below * math.ceil(math.sqrt(numbers.sum())) + 1e-9)
    return np.asarray(cells.astype(np.intp))


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationCounts(Counts):
    """Numbers of rows of each group, by score, true label and weight.

    Cells of `counts` are pairs of a score, in their order, and a label, 0 and 1.
    """

    #: First score of each cell of similar scores, within which groups are permuted.
    starts: Integers

    @classmethod
    def of_scores(
        cls, counts: NDArray[np.int64], scores: Floats, weights: NDArray[Any]
    ) -> CalibrationCounts:
        """Find the cells of similar scores, and the statistic."""
        n_groups, n_scores = len(counts), len(scores)
        groups = Groups(
            np.repeat(np.arange(n_groups), n_scores), tuple(range(n_groups))
        )
        numbers = counts.reshape(n_groups * n_scores, -1).sum(axis=1)
        cells = score_cells(np.tile(scores, n_groups), groups, numbers)
        starts = np.flatnonzero(np.diff(cells[:n_scores], prepend=-1))
        empty = cls(None, counts, scores, weights, starts=starts)
        return empty.with_counts(counts)

    def with_counts(self, counts: NDArray[np.int64]) -> CalibrationCounts:
        """Return other numbers of rows, and the statistic of these."""
        assert self.scores is not None
        totals = (counts @ self.weights).reshape(len(counts), len(self.scores), 2)
        negative, positive = np.moveaxis(totals, 2, 0)
        steps = positive * (1 - self.scores) - negative * self.scores
        sizes = totals.sum(axis=(1, 2))
        at, codes = np.nonzero(totals.sum(axis=2).T)
        steps = steps[codes, at] / sizes[codes]
        statistic = Steps(self.scores[at], codes, steps, sizes / sizes.sum())
        return replace(self, statistic=statistic, counts=counts)

    def shuffled(
        self, within_labels: bool, generator: np.random.Generator
    ) -> CalibrationCounts:
        """Permute the groups among rows with similar scores."""
        parts = np.split(self.counts, 2 * self.starts[1:], axis=1)
        dealt = [deal(part, generator) for part in parts]
        return self.with_counts(np.concatenate(dealt, axis=1))


def pairs_of_curves(
    statistic: Steps | Curves,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
) -> PairGaps:
    """Largest differences of the curves C of all pairs, nan of groups without rows."""
    shares = statistic.shares
    first, second = compared_groups(len(shares), multigroup, among)
    groups = np.arange(len(shares)) if among is None else among

    def curves() -> Iterator[Floats]:
        for _, heights in statistic.curves():
            if multigroup == "pairwise":
                yield heights[groups]
            else:
                everyone = _mean(shares, heights)
                yield np.vstack([heights, everyone])

    values = largest_apart(curves(), multigroup)
    absent = shares == 0
    absent = absent[first] if second is None else absent[first] | absent[second]
    values[absent] = math.nan
    largest = None if among is None else largest_curve_gap(statistic, multigroup)[0]
    sizes = shares[np.newaxis]
    return PairGaps(first, second, values[np.newaxis], sizes, metric=largest)


def _rows_of_calibration(
    y_true: Any, y_score: Any, weights: Any, *, pos_label: Any = None
) -> RowsByScore:
    """Sort rows by their scores once, to be given groups many times."""
    return RowsByScore.of(*labelled_scores(y_true, y_score, pos_label), weights)


def _bounding_curves(statistic: GroupedCalibration) -> Iterator[tuple[Floats, Floats]]:
    """Yield curves below and above C of each group, as rows of two arrays.

    C is least if positive rows have the largest score of their cell and negative ones
    count from its least score on, each with the largest score of the cell.
    """
    hits, misses = statistic.positive, statistic.negative
    n_groups = statistic.n_groups
    parts: Any = (
        (hits.highs, hits.codes, hits.weights * (1 - hits.highs)),
        (misses.lows, misses.codes, -misses.weights * misses.highs),
        (hits.lows, hits.codes + n_groups, hits.weights * (1 - hits.lows)),
        (misses.highs, misses.codes + n_groups, -misses.weights * misses.lows),
    )
    scores, codes, steps = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(scores, kind="stable")
    totals, codes = np.tile(statistic.totals, 2), codes[order]
    both = Steps(scores[order], codes, steps[order] / totals[codes], totals)
    for _, curves in both.curves():
        yield curves[:n_groups], curves[n_groups:]


def _bound_gap(
    statistic: GroupedCalibration, *, multigroup: Multigroup = "pairwise"
) -> tuple[float, float]:
    """Bound `calibration_gap` of the rows of a statistic."""
    shares = (statistic.totals / statistic.totals.sum())[:, np.newaxis]
    lower = upper = 0.0
    for low, high in _bounding_curves(statistic):
        if multigroup == "pooled":
            # A group is part of everyone: its own curve is the same on both sides.
            own = shares * (high - low)
            above = low + own - (shares * high).sum(axis=0)
            below = (shares * low).sum(axis=0) + own - high
            least = np.maximum(above, below)
            above = high - own - (shares * low).sum(axis=0)
            below = (shares * high).sum(axis=0) - own - low
            most = np.maximum(above, below)
        else:
            least = low.max(axis=0) - high.min(axis=0)
            smallest, second = np.partition(low, 1, axis=0)[:2]
            most = high - np.where(low == smallest, second, smallest)
        lower = max(lower, float(least.max(initial=0)))
        upper = max(upper, float(most.max(initial=0)))
    return lower, upper


@specify(
    compares_errors=never,
    maximum=2.0,
    permuted_in=score_cells,
    bounds_by_label=_bound_gap,
    countable=_rows_of_calibration,
    pairs=pairs_of_curves,
)
def calibration_gap(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    pos_label: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
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
        whose C is the mean of those of the groups by weight. The second is smaller.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which multiply the terms and replace n_g by
        the total weight.

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
    skfair.inspection.CalibrationGapDisplay : Picture of the curves.
    permutation_test : Whether the groups are equally calibrated.
    sklearn.calibration.calibration_curve : Calibration by bins of scores.

    Notes
    -----
    Noise alone makes it positive. `permutation_test` permutes groups among rows with
    similar scores: all rows in the order of their scores, ties together, are cut into
    as many cells as the root of their number, in which all groups count alike, and
    groups are permuted within each. If
    the group tells nothing of the outcome beyond the score, rows of one cell are
    exchangeable but for what scores differ within it, which is of the order of one
    over the number of cells, so that the level is approximate. It is exact where scores
    within cells are equal. Groups may differ in their scores.
    `bootstrap_interval` gives an interval.

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
    given = y_true, y_score, sensitive_features, sample_weight, pos_label
    found = labelled_rows("calibration_gap", *given)
    if found is None:
        return math.nan
    return gap_of_steps(None, rows_by_score(found), multigroup=multigroup)


def gap_of_steps(
    y_true: None, y_score: Steps | Curves, *, multigroup: Multigroup = "pairwise"
) -> float:
    """Calibration gap of rows whose steps are known."""
    value, _, _ = largest_curve_gap(y_score, multigroup)
    return value


register(
    gap_of_steps,
    Specification(
        gap_of_steps,
        compares_errors=never,
        permuted_in=score_cells,
        combine=largest_defined,
        pairs=pairs_of_curves,
    ),
)


def largest_curve_gap(
    rows: Steps | Curves, multigroup: Multigroup = "pairwise"
) -> tuple[float, float, Floats]:
    """Largest difference of two curves, the first score with it, and all curves there.

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
    """Mean of the curves; sorted terms give the same sum in any order of groups."""
    return np.asarray(np.sort(shares[:, np.newaxis] * curves, axis=0).sum(axis=0))
