"""Resamples of rows, and what is read from the values of a metric on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import as_array, check_weights
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import (
    Codes,
    Groups,
    intersect,
    resolve_groups,
    resolve_strata,
    rows_by_code,
    with_labels,
)
from skfair.metrics._classes import split_classes
from skfair.metrics._spec import number_of, pick, specification_of
from skfair.metrics._strata import largest_defined, over_strata, split_strata
from skfair.metrics._uncertainty._counts import COUNTED, Counts
from skfair.metrics._undefined import ignore_undefined

Metric: TypeAlias = Callable[..., float]

#: Resamples that a process evaluates at once: one of several, and the only one.
_BLOCK, _BLOCK_ALONE = 8, 32
#: Values this close to the observed one count as equal: weighted sums round.
ROUNDING = 1e-12
#: Least share of resamples with a value that an interval needs.
ENOUGH = 0.5


class RowsOfStratum(NamedTuple):
    """Rows of one stratum, which are counted by the groups that it compares."""

    counted: Any
    #: Positions among all rows.
    rows: Integers
    #: Groups that are compared; None for all.
    labels: tuple[Any, ...] | None = None

    def statistic(self, groups: Groups) -> Any:
        """Return the statistic of these rows from the groups of all rows."""
        part = groups if len(self.rows) == len(groups) else groups[self.rows]
        if self.labels is not None and self.labels != groups.labels:
            part = with_labels(part, self.labels)
        return self.counted.statistic(part)


def compares_pairs_of(metric: Metric) -> bool:
    """Whether a metric is the largest comparison of two groups, or with everyone."""
    specification, options = specification_of(metric)
    mean = options.get("multistratum") == "weighted"
    return specification.pairs is not None and not mean


@dataclass(frozen=True, eq=False)
class Rows:
    """Arguments by row of a metric."""

    y_true: NDArray[Any] | None
    y_score: NDArray[Any]
    groups: Groups
    sample_weight: NDArray[Any] | None
    strata: Groups | None = None
    #: What counts the statistic of each stratum from the groups of the rows. Metrics
    #: read the statistics in place of the rows.
    in_place: tuple[Any, ...] = ()
    #: Names of the stratum and class of each of these.
    cells: tuple[dict[str, Any], ...] = ()

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

    def counted_for(self, metric: Metric) -> Rows:
        """Read what the metric needs of scores and labels once for all permutations.

        Rows are returned as they are for metrics that compare no pairs of groups.
        """
        specification, options = specification_of(metric)
        if not compares_pairs_of(metric) or specification.countable is None:
            return self
        in_place, cells = [], []
        for stratum, rows, labels in self._compared_in_strata():
            part = self.take(rows)
            weights = check_weights(part.sample_weight, len(rows))
            options_of_rows = pick(specification.countable, options)
            columns = split_classes(specification, options, part.y_true, part.y_score)
            for position, column in enumerate(columns):
                true = part.y_true if len(columns) == 1 else None
                counted = specification.countable(
                    true, column, weights, **options_of_rows
                )
                in_place.append(RowsOfStratum(counted, rows, labels))
                of_class = {"class": position} if len(columns) > 1 else {}
                cells.append(stratum | of_class)
        return replace(self, in_place=tuple(in_place), cells=tuple(cells))

    def _compared_in_strata(
        self,
    ) -> Iterator[tuple[dict[str, Any], Integers, tuple[Any, ...]]]:
        """Yield the name of each stratum, its rows, and the groups compared in it."""
        if self.strata is None:
            yield {}, self.that_count(), self.groups.labels
            return
        counts = np.zeros(len(self.y_score), dtype=bool)
        counts[self.that_count()] = True
        codes = np.where(counts, self.strata.codes, -1)
        found, _ = split_strata(
            self.groups,
            self.strata,
            self.sample_weight,
            n_samples=len(codes),
            leaves_groups_out=False,
        )
        parts = rows_by_code(codes, len(self.strata.labels))
        for stratum, rows in zip(found, parts, strict=True):
            if stratum.groups is not None:
                yield {"stratum": stratum.label}, rows, stratum.groups.labels

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


class Valued:
    """Reads the value of a metric off resamples."""

    def __init__(self, metric: Metric) -> None:
        specification, options = specification_of(metric)
        self.metric, self.of_many = metric, specification.of_many
        self.combine = specification.combine or largest_defined
        self.options = options

    def read(self, rows: Rows | Counts) -> Any:
        """Value of the rows, or their statistic where many are evaluated at once."""
        if self.of_many is not None and len(rows.statistics) == 1:
            return rows.statistics[0]
        if isinstance(rows, Rows) and not rows.in_place:
            return rows.evaluate_again(self.metric)
        values = [float(self.metric(None, one)) for one in rows.statistics]
        return float(self.combine(values, None))

    def join(self, numbers: list[Any]) -> Floats:
        """Values of several resamples."""
        if self.of_many is not None and not isinstance(numbers[0], float):
            return np.asarray(self.of_many(numbers, **self.options))
        return np.array(numbers)


def evaluate_each(
    metrics: Sequence[Metric],
    resamples: Iterable[Resample],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[], Any] = lambda: None,
) -> Floats:
    """Values of metrics on each resample, of shape (n_resamples, n_metrics)."""
    readers = [*map(Valued, metrics)]
    return np.column_stack(read_each(readers, resamples, n_jobs, verbose, tick))


def read_each(
    readers: Sequence[Any],
    resamples: Iterable[Resample],
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[], Any] = lambda: None,
) -> list[NDArray[Any]]:
    """Read numbers off each resample: an array for each reader, resamples first.

    A reader reads one resample, and joins what it has read of several. Resamples are
    drawn one after the other, and `tick` is called after each.
    """
    if effective_n_jobs(n_jobs) == 1 and not verbose:
        # A task of joblib takes as long as a metric of few rows.
        left = iter(resamples)
        task = partial(_read, readers=readers)
        results = iter(lambda: task(islice(left, _BLOCK_ALONE)), None)
    else:
        results = Parallel(n_jobs=n_jobs, verbose=verbose, return_as="generator")(
            delayed(_read)(block, readers) for block in _blocks(resamples)
        )
    blocks = []
    for arrays in results:
        blocks.append(arrays)
        for _ in arrays[0]:
            tick()
    return [np.concatenate(of_reader) for of_reader in zip(*blocks, strict=True)]


def _blocks(resamples: Iterable[Resample]) -> Iterator[list[Resample]]:
    """Yield some resamples at once: what they share is sent to a process once."""
    left = iter(resamples)
    while block := list(islice(left, _BLOCK)):
        yield block


def _read(
    resamples: Iterable[Resample], readers: Sequence[Any]
) -> list[NDArray[Any]] | None:
    """Read some resamples by each reader; None where there are none."""
    numbers: list[list[Any]] = [[] for _ in readers]
    for one in resamples:
        each = one if isinstance(one, list) else [one] * len(readers)
        for of_reader, reader, rows in zip(numbers, readers, each, strict=True):
            of_reader.append(reader.read(rows))
    if not numbers[0]:
        return None
    return [reader.join(each) for reader, each in zip(readers, numbers, strict=True)]


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


def exact_pvalue(observed: float, null: Floats, unit: float = 1.0) -> float:
    """Share of permutations with a value at least as large, the given groups included.

    Undefined values count as large. nan where the observed value is undefined. Values
    of numbers of the size `unit` round as these do.
    """
    if math.isnan(observed):
        return math.nan
    rounding = ROUNDING * max(abs(observed), unit) if math.isfinite(observed) else 0.0
    as_large = ~(null < observed - rounding)
    return float((1 + as_large.sum()) / (1 + len(null)))
