"""Metrics of the gap between the score distributions of groups."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._validation import (
    AnyScale,
    Scale,
    check_y_true,
    scores_on,
)
from skfair.metrics._bands import bound_largest, bound_measure
from skfair.metrics._metric import MetricOfPairs
from skfair.metrics._pairs import (
    Located,
    MeasuredGaps,
    PairGaps,
    find_largest,
    largest_gap,
    measure_gaps,
    pairs_of_gaps,
)
from skfair.metrics._quantiles import (
    Comparisons,
    Method,
    Observed,
    Quantiles,
    bridge_quantiles,
    distribution_free_quantiles,
    shares_of_groups,
    sum_by_comparison,
)
from skfair.statistics._distributions import Distributions, Gap, pooled_ranks


@dataclass(frozen=True, kw_only=True)
class MetricOfScores(MetricOfPairs):
    """Base of metrics of the score distributions of groups."""

    inputs = ("y_true", "y_score")
    compares_distributions = True
    takes_classes = True
    #: Whether bounds of the noise that hold for all scores hold for ranks, too.
    bounds_ranks: ClassVar[bool] = False
    choices = MetricOfPairs.choices | {"scale": get_args(Scale)}

    scale: AnyScale = "probability"

    def check(self, rows: Rows) -> Rows:
        """Check scores, and the shape and classes of labels, which are not used."""
        check_y_true(rows.y_true, rows.y_pred, self.scale)
        return replace(rows, y_true=None, y_pred=scores_on(self.scale, rows.y_pred))

    def collect(self, rows: Rows) -> Distributions:
        """Collect the score distributions of the rows that count."""
        return Distributions.from_rows(rows)

    def rescale(self, statistic: Distributions) -> Distributions:
        """Return distributions on the metric's scale: of scores, or of their ranks."""
        return pooled_ranks(statistic) if self.scale == "rank" else statistic

    @property
    def upper_limit(self) -> float:
        """Largest value on the scale of the scores."""
        return math.inf if self.scale == "real" else self.maximum

    def check_method(self, method: Method) -> None:
        """Raise where the noise has no bounds by a method, with these options."""
        super().check_method(method)
        if self.scale == "rank" and method != "band" and not self.bounds_ranks:
            raise ValueError(
                f"scale must be 'probability' with method={method!r} for {self.name}, "
                "got 'rank': the ranks are data, too."
            )


class CurveOfScores(MetricOfScores):
    """Base of metrics whose value is a curve, an array of numbers."""

    takes_classes = False

    @abstractmethod
    def value(self, statistic: Distributions) -> tuple[Floats, Floats]:
        """Find the points of a curve, and its largest height over pairs at each."""

    def value_and_small_groups(self, statistic: Distributions) -> tuple[Any, str]:
        """Find the curve, which no two groups decide."""
        return self.value(statistic), ""


class GapOfDistributions(MetricOfScores):
    """Base of metrics: the largest measure of the gap between two groups' CDFs.

    A subclass says by `measure` how large a gap is; with options of its own it is a
    frozen dataclass. Intervals, certificates and monitors suppose that the measure is a
    norm of the absolute gap, such as its mean, its root mean square or its maximum:
    noise then moves it by no more than `maximum` times the largest noise of the CDFs.

    Parameters
    ----------
    scale : {"probability", "rank"}, default="probability"
        What scores are: probabilities, or numbers whose ranks among everyone count.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, 64 at most, or over groups compared with
        everyone.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.

    See Also
    --------
    DifferenceOfRates : Base of differences of rates.
    mcdp : A metric of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import GapOfDistributions, permutation_test
    >>> class RootMeanSquareGap(GapOfDistributions):
    ...     def measure(self, gap):
    ...         squares = gap.difference[:-1] ** 2
    ...         return float(np.sqrt(squares @ np.diff(gap.scores)))
    >>> metric = RootMeanSquareGap()
    >>> y_score, sex = [0.2, 0.4, 0.6, 0.8, 0.9], ["F", "F", "M", "M", "M"]
    >>> round(metric(None, y_score, sensitive_features=sex), 3)
    0.592
    >>> test = permutation_test(
    ...     metric, None, y_score, sensitive_features=sex, random_state=0
    ... )
    >>> round(test.pvalue, 3)
    0.094
    """

    has_noise_bounds = True
    has_loose_bounds = True
    has_range_from_bins = True
    bounds_ranks = True
    #: Makes, of scores, the measure of rows of gaps at these scores; None if pairs are
    #: measured one by one. It must not fall where a gap grows.
    measure_at: ClassVar[Any] = None

    @abstractmethod
    def measure(self, gap: Gap) -> float:
        """Measure a gap, which is larger for a larger disparity.

        Parameters
        ----------
        gap : Gap
            ``gap.difference[i]`` is the difference of the CDFs from ``gap.scores[i]``
            to the next score. The last one is 0.

        Returns
        -------
        float
        """

    def largest_pair(self, statistic: Distributions) -> Located:
        """Find the largest gap, and between which groups it is."""
        return largest_gap(
            statistic,
            measure=self.measure,
            multigroup=self.multigroup,
            measure_at=self.measure_at,
        )

    def locate(self, statistic: Distributions) -> Located:
        """Find the largest gap, between which groups it is, and where."""
        return self.largest_pair(statistic)

    def gaps(self, statistic: Distributions) -> PairGaps:
        """Find the gaps of all pairs of groups."""
        found = pairs_of_gaps(statistic, self.multigroup, self.measure, self.measure_at)
        if found.exact is None:
            return found
        # The metric itself is not a gap at some scores.
        defined = not np.isnan(found.values).any()
        return found._replace(metric=self.value(statistic) if defined else math.nan)

    def bound_gap(self, smallest: Gap, largest: Gap) -> tuple[float, float]:
        """Bound the measure of a gap between a smallest and a largest one."""
        return bound_measure(self.measure, smallest, largest)

    def range_from_bins(self, histogram: Rows) -> tuple[float, float]:
        """Return the smallest and largest value where scores are known by bins."""
        return bound_largest(histogram, self.multigroup, self.bound_gap)

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of each gap by the noise of CDFs.

        The measure is a seminorm: noise moves it by at most the measure of the noise
        itself. The latter is at most the largest value of the metric times the largest
        noise of the difference of two CDFs. Both bounds hold for ranks, too.
        """
        statistic, sizes, _ = observed
        shares = shares_of_groups(statistic)
        gaps = measure_gaps(statistic, self.multigroup, self.measure)
        free = distribution_free_quantiles(sizes, shares, self.multigroup, method)
        noise = free.of_cdf
        if method == "band":
            scale = np.sqrt(sum_by_comparison(1 / sizes, shares, self.multigroup))
            noise = bridge_quantiles(scale, sides=2)

        def moved(tail: float) -> Any:
            return self.upper_limit * noise(tail)

        return compare_gaps(gaps, moved, moved)


def compare_gaps(
    gaps: MeasuredGaps, to_upper_end: Quantiles, to_lower_end: Quantiles
) -> Comparisons:
    """Return the comparisons of gaps, with the distances to their ends."""

    def largest_end(offsets: Any) -> float:
        added = np.broadcast_to(offsets, len(gaps.pairs))
        ceilings = gaps.ceilings + added
        return find_largest(ceilings, lambda i: gaps.value_of(i) + float(added[i]))[0]

    return Comparisons(
        gaps.largest_with_position[0],
        len(gaps.pairs),
        lambda tail: largest_end(-to_lower_end(tail)),
        lambda tail: largest_end(to_upper_end(tail)),
    )
