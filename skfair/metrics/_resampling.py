"""Draws of rows, and what is read from the values of a metric on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._rows import Countable, Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import check_weights
from skfair._utils._warnings import rows_are_not_warned_of
from skfair.groups import Groups, with_labels, with_text_labels
from skfair.metrics._inputs import count_hits, ignore_undefined, in_place_of_rows
from skfair.metrics._spec import keywords_of, number_of, pick, specification_of
from skfair.metrics._strata import (
    largest_defined,
    over_strata,
    split_classes,
    split_strata,
)
from skfair.statistics import (
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)

Metric: TypeAlias = Callable[..., float]

#: Draws that a process evaluates at once: one of several, and the only one.
_BLOCK, _BLOCK_ALONE = 8, 32
#: Entries and groups of a table up to which the statistics of several draws are
#: computed together, since calls take longer than numbers.
_FEW_ENTRIES, _FEW_GROUPS = 2**12, 4
#: Values this close to the observed one count as equal: weighted sums round.
ROUNDING = 1e-12
#: Least share of resamples with a value that an interval needs.
ENOUGH = 0.5


def compares_pairs_of(metric: Metric) -> bool:
    """Whether a metric is the largest comparison of two groups, or with everyone."""
    specification, options = specification_of(metric)
    mean = options.get("multistratum") == "weighted"
    return specification.pairs is not None and not mean


def combine_of(metric: Metric) -> Any:
    """Return what combines the values of a metric in strata and classes."""
    return specification_of(metric)[0].combine or largest_defined


def evaluate(metric: Metric, rows: Rows) -> float:
    """Value of a metric on rows; the largest over strata."""
    groups = rows.groups
    if specification_of(metric)[0].statistic is None:
        groups = with_text_labels(groups)  # which a user's function can compare
    with rows_are_not_warned_of():
        value = over_strata(
            metric,
            rows.y_true,
            rows.y_pred,
            sensitive_features=groups,
            control_features=rows.strata,
            sample_weight=rows.weight,
        )
    return number_of(metric, value)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows, or a draw of them, and the statistics that a metric reads off them."""

    rows: Rows
    #: Rows of each stratum and class, as the metric reads them; without any, it reads
    #: the rows.
    parts: tuple[Countable, ...] = ()
    #: Names of the stratum and class of each of these.
    cells: tuple[dict[str, Any], ...] = ()
    #: The draws whose rows these are, each with groups of its own; none of one draw.
    draws: tuple[Drawn, ...] = ()

    @property
    def small(self) -> bool:
        """Whether several draws of these rows are evaluated together."""
        few = len(self.rows) < _FEW_ENTRIES and self.rows.n_groups <= _FEW_GROUPS
        of_rows = all(part.rows is not self.rows for part in self.parts)
        return few and of_rows and bool(self.parts)

    @classmethod
    def together(cls, draws: Sequence[Drawn]) -> Drawn:
        """Several draws of a small table as one."""
        first, n = draws[0], len(draws)
        if n == 1:
            return first
        rows = Rows.of_draws([draw.rows for draw in draws])
        parts = [part._replace(rows=part.rows.repeated(n)) for part in first.parts]
        return cls(rows, tuple(parts), first.cells, tuple(draws))

    @cached_property
    def statistics(self) -> list[Any]:
        """Statistics of all parts."""
        return [part.statistic(self.rows) for part in self.parts]

    def evaluate(self, metric: Metric, combine: Any = None) -> float:
        """Value of the metric; the largest over strata and classes.

        Who evaluates many draws looks up once what combines their values.
        """
        if not self.parts:
            return evaluate(metric, self.rows)
        values = [number_of(metric, metric(None, part)) for part in self.statistics]
        return float((combine or combine_of(metric))(values, None))

    def evaluate_again(self, metric: Metric, combine: Any = None) -> float:
        """Value of the metric, without a warning of strata left out.

        The first evaluation has warned of them.
        """
        if self.rows.strata is None:
            return self.evaluate(metric, combine)
        with ignore_undefined():
            return self.evaluate(metric, combine)

    def permuted(
        self, within: Sequence[Integers] | None, generator: np.random.Generator
    ) -> Drawn:
        """Permute the groups among the rows of each part."""
        return self._of(self.rows.permuted(generator, within))

    def resampled(self, generator: np.random.Generator) -> Drawn:
        """Draw rows of each group with replacement."""
        return self._of(self.rows.resampled(generator))

    def _of(self, rows: Rows) -> Drawn:
        """Return the same parts in a draw of the rows."""
        parts = self.parts
        if rows.n is not None:  # cells, which are the only part
            parts = tuple(
                part._replace(rows=rows) if part.rows is self.rows else part
                for part in parts
            )
        return Drawn(rows, parts, self.cells)

    def counted_for(self, metric: Metric) -> Drawn:
        """Read what the metric needs of scores and labels once for all permutations.

        Rows are returned as they are for metrics that compare no pairs of groups.
        """
        specification, options = specification_of(metric)
        if not compares_pairs_of(metric) or specification.countable is None:
            return self
        parts, cells = [], []
        for stratum, part in _compared_in_strata(self.rows):
            weights = check_weights(part.weight, len(part))
            part = replace(part, weight=weights, strata=None)
            columns = split_classes(specification, options, part.y_true, part.y_pred)
            for position, column in enumerate(columns):
                true = part.y_true if len(columns) == 1 else None
                of_class = replace(part, y_true=true, y_pred=column)
                taken = pick(specification.countable, options)
                parts.append(specification.countable(of_class, **taken))
                cells.append(
                    stratum | ({"class": position} if len(columns) > 1 else {})
                )
        return Drawn(self.rows, tuple(parts), tuple(cells))


def _compared_in_strata(rows: Rows) -> Iterator[tuple[dict[str, Any], Rows]]:
    """Yield the name of each stratum, and its rows with the groups compared in it."""
    if rows.strata is None:
        yield {}, rows[rows.that_count()]
        return
    strata, _ = split_strata(rows, leaves_groups_out=False)
    rows = rows[rows.that_count()]
    for stratum, (label, positions) in zip(strata, rows.by_stratum(), strict=True):
        if stratum.groups is not None:
            part = rows[positions]
            groups = with_labels(part.groups, stratum.groups.labels)
            yield {"stratum": label}, replace(part, groups=groups)


#: Statistics that take the place of rows.
_COUNTED = (GroupedScores, GroupedHistogram, GroupedConfusion, GroupedOutcomes)


def rows_or_counts(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    control_features: Any,
) -> Drawn:
    """Return the rows of a metric, or the cells of a statistic in their place."""
    if not isinstance(y_score, _COUNTED):
        arguments = y_true, y_score, sensitive_features, sample_weight, control_features
        return Drawn(Rows.from_arrays(*arguments))
    statistic = in_place_of_rows(
        y_score,
        y_true=y_true,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        control_features=control_features,
    )
    if isinstance(statistic, GroupedHistogram):
        statistic = statistic.at_edges()
    rows, count = _cells_of(statistic)
    rows = rows.counted()
    return Drawn(rows, (Countable(rows, count),))


def _cells_of(statistic: Any) -> tuple[Rows, Callable[[Rows], Any]]:
    """Cells of a statistic with the number of their rows, and what counts them."""
    labels, n_groups = statistic.labels, statistic.n_groups
    rest: tuple[Any, ...] = labels, statistic.names, statistic.min_group_size
    if isinstance(statistic, GroupedOutcomes):
        sizes, hits = count_hits(statistic)
        n, scores = np.concatenate([sizes - hits, hits]), np.repeat([0.0, 1], n_groups)
        groups = Groups(np.tile(np.arange(n_groups), 2), *rest)
        return Rows(groups, y_pred=scores, n=n), GroupedOutcomes._from_rows
    if not np.array_equal(statistic.totals, statistic.counts):
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, since "
            "single rows are drawn; pass the rows with their weights."
        )
    if isinstance(statistic, GroupedScores):
        groups = Groups(statistic.codes, *rest)
        n = statistic.weights.astype(np.int64)
        return Rows(groups, y_pred=statistic.scores, n=n), GroupedScores._from_rows
    codes, true, predicted = np.indices(statistic.matrices.shape).reshape(3, -1)
    n = statistic.matrices.ravel().astype(np.int64)
    groups = Groups(codes, *rest)
    rows = Rows(groups, None, true, predicted, n=n, classes=statistic.classes)
    return rows, GroupedConfusion._from_rows


#: A resample of the rows of all metrics, or of those of each metric.
Resample: TypeAlias = Drawn | list[Drawn]


class Together:
    """Evaluates a metric on draws of small tables, where its options allow it."""

    def __init__(self, metric: Metric) -> None:
        specification, options = specification_of(metric)
        self.evaluate, evaluated = None, specification.of_draws
        leaves_out = specification.leaves_groups_out
        self.largest = np.fmax.reduce if leaves_out else np.maximum.reduce
        if evaluated is not None and combine_of(metric) is largest_defined:
            read = keywords_of(specification.pairs or specification.function)
            unknown = read & options.keys() - keywords_of(evaluated) - {"multigroup"}
            if not unknown and options.get("multigroup", "pairwise") == "pairwise":
                self.evaluate = partial(evaluated, **pick(evaluated, options))

    def __call__(self, rows: Drawn) -> list[Floats] | None:
        """Gaps, or the value, of each draw and part; None if draws are read singly."""
        if self.evaluate is None or not rows.draws:
            return None
        each = [self.evaluate(part, len(rows.draws)) for part in rows.statistics]
        known = [gaps for gaps in each if gaps is not None]
        return known if len(known) == len(each) else None


class Valued:
    """Reads the value of a metric off draws."""

    def __init__(self, metric: Metric) -> None:
        self.metric, self.combine = metric, combine_of(metric)
        self.together = Together(metric)

    def read(self, rows: Drawn) -> Floats:
        """Value of each draw."""
        parts = self.together(rows)
        if parts is None:
            draws = rows.draws or (rows,)
            values = [draw.evaluate_again(self.metric, self.combine) for draw in draws]
            return np.array(values)
        largest = [self.together.largest(gaps, axis=1) for gaps in parts]
        return np.asarray(np.fmax.reduce(largest))


def evaluate_each(
    metrics: Sequence[Metric],
    resamples: Iterable[Resample],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[int], Any] = lambda n: None,
) -> Floats:
    """Values of metrics on each resample, of shape (n_resamples, n_metrics)."""
    readers = [*map(Valued, metrics)]
    return np.column_stack(read_each(readers, resamples, n_jobs, verbose, tick))


def read_each(
    readers: Sequence[Any],
    resamples: Iterable[Resample],
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[int], Any] = lambda n: None,
) -> list[NDArray[Any]]:
    """Read numbers off each resample: an array for each reader, resamples first.

    Resamples are drawn one after the other; `tick` is told of how many are read.
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
        tick(len(arrays[0]))
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
    for each in _tables(resamples, len(readers)):
        for of_reader, reader, rows in zip(numbers, readers, each, strict=True):
            of_reader.append(reader.read(rows))
    return [*map(np.concatenate, numbers)] if numbers[0] else None


def _tables(resamples: Iterable[Resample], n_readers: int) -> Iterator[list[Drawn]]:
    """Yield what each reader reads: one draw, or all draws of small tables."""
    left: Iterator[Any] = iter(resamples)
    for first in left:
        if isinstance(first, Drawn):
            rows = Drawn.together([first, *left]) if first.small else first
            yield [rows] * n_readers
        elif all(rows.small for rows in first):
            yield [*map(Drawn.together, zip(first, *left, strict=True))]
        else:
            yield first


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


def unit_of(metric: Metric, rows: Rows) -> float:
    """Size of the numbers whose unit a metric has; 1 where its values have none."""
    specification, options = specification_of(metric)
    if specification.largest(options) < math.inf:
        return 1.0
    return largest_size(rows.y_true, rows.y_pred)


def largest_size(*numbers: NDArray[Any] | None) -> float:
    """Size of the largest number of these arrays, 1 if all are 0."""
    sizes = [float(np.abs(x).max(initial=0)) for x in numbers if x is not None]
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
