"""Resamples of rows, and what is read from the values of a metric on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._types import Floats, Integers
from skfair._utils._validation import as_array, check_weights, scores_on
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import Codes, Groups, intersect, resolve_groups, resolve_strata
from skfair.metrics._spec import number_of, specification_of
from skfair.metrics._strata import largest_defined, over_strata
from skfair.metrics._uncertainty._counts import COUNTED, Counts
from skfair.metrics._undefined import ignore_undefined
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import SortedScores

Metric: TypeAlias = Callable[..., float]

#: Resamples that a process evaluates at once: one of several, and the only one.
_BLOCK, _BLOCK_ALONE = 8, 32
#: Values this close to the observed one count as equal: weighted sums round.
ROUNDING = 1e-12
#: Least share of resamples with a value that an interval needs.
ENOUGH = 0.5


@dataclass(frozen=True, eq=False)
class Rows:
    """Arguments by row of a metric."""

    y_true: NDArray[Any] | None
    y_score: NDArray[Any]
    groups: Groups
    sample_weight: NDArray[Any] | None
    strata: Groups | None = None
    #: For each stratum in which groups are compared, what makes the statistic of its
    #: rows from the groups. Metrics read the statistics in place of the rows.
    in_place: tuple[Any, ...] = ()

    @classmethod
    @warns_if_reordered
    def from_arrays(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        control_features: Any = None,
    ) -> Rows:
        """Convert the arguments once for all resamples."""
        scores = as_array(y_score, "y_score")
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        strata = None
        if control_features is not None:
            strata = resolve_strata(control_features, n_samples=len(scores))
        labels, weights = (
            None if values is None else as_array(values, name, len(scores))
            for name, values in (("y_true", y_true), ("sample_weight", sample_weight))
        )
        return cls(labels, scores, groups, weights, strata)

    def take(self, rows: Integers) -> Rows:
        """Rows at the given positions, without what is read in place of all rows."""
        return Rows(
            None if self.y_true is None else self.y_true[rows],
            self.y_score[rows],
            self.groups[rows],
            None if self.sample_weight is None else self.sample_weight[rows],
            None if self.strata is None else self.strata[rows],
        )

    def shuffled(
        self, parts: Sequence[Integers], generator: np.random.Generator
    ) -> Rows:
        """Permute the groups among the rows of each part."""
        codes = shuffled_codes(self.groups.codes, parts, generator)
        return replace(self, groups=replace(self.groups, codes=codes))

    def that_count(self) -> Integers:
        """Positions of rows that have a group, a stratum and a weight above zero."""
        counts = self.groups.codes >= 0
        if self.strata is not None:
            counts &= self.strata.codes >= 0
        if self.sample_weight is not None:
            counts &= self.sample_weight > 0
        return np.flatnonzero(counts)

    def sorted_for(self, metric: Metric) -> Rows:
        """Sort the scores once for a metric that needs nothing but their statistic."""
        specification, options = specification_of(metric)
        if specification.statistic is not GroupedScores or self.strata is not None:
            return self
        if self.y_score.ndim != 1:
            return self
        scores = scores_on(options.get("scale", "probability"), self.y_score)
        weights = check_weights(self.sample_weight, len(scores))
        by_score = SortedScores.of(scores, self.that_count(), weights)
        return replace(self, in_place=(by_score,))

    @cached_property
    def statistics(self) -> list[Any]:
        """Statistics that are read in place of the rows, one for each stratum."""
        return [one.statistic(self.groups) for one in self.in_place]

    def evaluate(self, metric: Metric) -> float:
        """Value of the metric on these rows; the largest over strata."""
        if self.in_place:
            values = [
                number_of(metric, metric(None, statistic))
                for statistic in self.statistics
            ]
            combine = specification_of(metric)[0].combine or largest_defined
            return float(combine(values, None))
        value = over_strata(
            metric,
            self.y_true,
            self.y_score,
            sensitive_features=self.groups,
            control_features=self.strata,
            sample_weight=self.sample_weight,
        )
        return number_of(metric, value)

    def evaluate_again(self, metric: Metric) -> float:
        """Value of the metric, without a warning of strata left out.

        The first evaluation has warned of them.
        """
        if self.strata is None:
            return self.evaluate(metric)
        with ignore_undefined():
            return self.evaluate(metric)

    def drawn_from(self) -> Groups:
        """Return the groups, or the groups of each stratum, of the rows."""
        if self.strata is None:
            return self.groups
        both = [(part.codes, part.labels) for part in (self.strata, self.groups)]
        codes, labels = intersect(both)
        return replace(self.groups, codes=codes, labels=labels)


def rows_or_counts(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    control_features: Any,
) -> Rows | Counts:
    """Return the rows of a metric, or the counts of a statistic in their place."""
    given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    given["control_features"] = control_features
    if isinstance(y_score, COUNTED):
        return Counts.of(y_score, y_true=y_true, **given)
    return Rows.from_arrays(y_true, y_score, **given)


#: A resample of the rows of all metrics, or of those of each metric.
Resample: TypeAlias = Rows | Counts | list[Rows | Counts]


def evaluate_each(
    metrics: Sequence[Metric],
    resamples: Iterable[Resample],
    observed: Sequence[float] | None = None,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[], Any] = lambda: None,
) -> Floats:
    """Values of metrics on each resample, of shape (n_resamples, n_metrics, 2).

    Resamples are drawn one after the other, and `tick` is called after each. The last
    axis has the value, and that of the metric that orders resamples whose value is the
    observed one, nan for others.
    """
    if effective_n_jobs(n_jobs) == 1 and not verbose:
        # A task of joblib takes as long as a metric of few rows.
        left = iter(resamples)
        task = partial(_evaluate, metrics=metrics, observed=observed)
        results = iter(lambda: task(islice(left, _BLOCK_ALONE)), [])
    else:
        results = Parallel(n_jobs=n_jobs, verbose=verbose, return_as="generator")(
            delayed(_evaluate)(block, metrics, observed) for block in _blocks(resamples)
        )
    found = []
    for values in results:
        found += values
        for _ in values:
            tick()
    return np.array(found).reshape(len(found), len(metrics), 2)


def _blocks(resamples: Iterable[Resample]) -> Iterator[list[Resample]]:
    """Yield some resamples at once: what they share is sent to a process once."""
    left = iter(resamples)
    while block := list(islice(left, _BLOCK)):
        yield block


def _evaluate(
    resamples: Iterable[Resample], metrics: Sequence[Metric], observed: Any
) -> list[list[tuple[float, float]]]:
    """Values of all metrics on each of some resamples."""
    known, values = [specification_of(metric) for metric in metrics], []
    statistics: list[list[Any]] = [[] for _ in metrics]
    for one in resamples:
        each = one if isinstance(one, list) else [one] * len(metrics)
        of_one = []
        for i, (rows, metric) in enumerate(zip(each, metrics, strict=True)):
            if known[i][0].of_many and len(rows.statistics) == 1:
                statistics[i] += rows.statistics  # evaluated below
                of_one.append((math.nan, math.nan))
            else:
                given = None if observed is None else observed[i]
                of_one.append(_value_or_tie(rows, metric, given))
        values.append(of_one)
    for i, of_metric in enumerate(statistics):
        specification, options = known[i]
        if of_metric and specification.of_many:
            found = specification.of_many(of_metric, **options)
            for of_one, value in zip(values, found, strict=True):
                of_one[i] = value, math.nan
    return values


def _value_or_tie(
    rows: Rows | Counts, metric: Metric, observed: float | None
) -> tuple[float, float]:
    """Value of a metric, and of the one that breaks ties if it is the observed one."""
    value, order = rows.evaluate_again(metric), math.nan
    ties = specification_of(metric)[0].ties
    if observed is not None and ties and abs(value - observed) <= ROUNDING:
        order = rows.evaluate_again(ties)
    return value, order


def check_seed(random_state: Any) -> np.random.Generator:
    """Fast generator seeded by scikit-learn's `random_state`."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def defined_values(values: Floats) -> Floats:
    """Leave out resamples without a value, unless they are too many for an interval."""
    defined = values[~np.isnan(values)]
    return defined if len(defined) >= ENOUGH * len(values) else values


def basic_interval(
    observed: float, values: Floats, confidence_level: float
) -> tuple[float, float]:
    """Compute the basic bootstrap interval, cut at 0 and at the largest value seen.

    It is nan where a value is.
    """
    if np.isnan(values).any():
        return math.nan, math.nan
    tail = (1 - confidence_level) / 2
    lower, upper = np.quantile(values, [tail, 1 - tail])
    largest = max(observed, float(values.max()))
    low = min(max(0.0, float(2 * observed - upper)), largest)
    return low, max(low, min(float(2 * observed - lower), largest))


def stratified_draws(
    groups: Groups, generator: np.random.Generator
) -> Callable[[], Integers]:
    """Draw as many rows of each group as it has, with replacement, at each call.

    Positions of rows are returned, those of the first group first.
    """
    order = np.argsort(groups.codes, kind="stable")
    sizes = groups.sizes()
    starts = np.cumsum(sizes) - sizes + np.count_nonzero(groups.codes < 0)
    lengths = np.repeat(sizes, sizes)
    offsets = np.repeat(starts, sizes)

    def draw() -> Integers:
        return order[offsets + generator.integers(lengths)]

    return draw


def shuffled_codes(
    codes: Codes,
    strata: Sequence[Integers],
    generator: np.random.Generator,
) -> Codes:
    """Codes permuted among the rows of each stratum; other rows keep theirs."""
    rows = np.concatenate([np.empty(0, np.intp), *strata])
    moved = codes[rows].astype(np.intp)  # NumPy shuffles small integers more slowly
    stop = 0
    for part in strata:
        start, stop = stop, stop + len(part)
        generator.shuffle(moved[start:stop])
    shuffled = codes.copy()
    shuffled[rows] = moved
    return shuffled


def count_smaller(values: Floats, observed: float) -> int:
    """Count permutations whose tie breaker is smaller than the observed one."""
    return int((values < observed - ROUNDING).sum())


def unit_of(metric: Metric, rows: Rows | Counts) -> float:
    """Size of the numbers whose unit a metric has; 1 where its values have none."""
    specification, options = specification_of(metric)
    if specification.largest(options) < math.inf:
        return 1.0
    if isinstance(rows, Counts):
        return largest_size(rows.scores)
    return largest_size(rows.y_true, rows.y_score)


def largest_size(*numbers: NDArray[Any] | None) -> float:
    """Size of the largest number of these arrays, 1 if all are 0."""
    sizes = [float(np.abs(one).max(initial=0)) for one in numbers if one is not None]
    return max(sizes, default=0.0) or 1.0


def exact_pvalue(
    observed: float, null: Floats, n_below: int = 0, unit: float = 1.0
) -> float:
    """Share of permutations with a value at least as large, the given groups included.

    `n_below` of those with an equal value count as smaller, undefined values as large.
    nan where the observed value is undefined. Values of numbers of the size `unit`
    round as these do.
    """
    if math.isnan(observed):
        return math.nan
    rounding = ROUNDING * max(abs(observed), unit) if math.isfinite(observed) else 0.0
    as_large = ~(null < observed - rounding)
    return float((1 + as_large.sum() - n_below) / (1 + len(null)))
