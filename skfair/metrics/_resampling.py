"""Draws of rows, what is read off them, and bootstrap intervals of any metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._rows import Countable, Rows, read
from skfair._utils._arrays import Floats, Integers
from skfair._utils._results import Result
from skfair._utils._validation import check_integer, check_real, check_weights
from skfair._utils._warnings import rows_are_not_warned_of, warn_user
from skfair.groups import Groups, with_labels
from skfair.metrics._evaluate import (
    largest_defined,
    over_strata,
    split_classes,
    split_strata,
)
from skfair.metrics._inputs import count_hits, ignore_undefined, in_place_of_rows
from skfair.metrics._spec import (
    check_metric,
    number_of,
    pick,
    specification_of,
)
from skfair.statistics import (
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)

Metric: TypeAlias = Callable[..., float]

#: Draws that one of several processes evaluates at once.
_BLOCK = 8
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


def evaluate(metric: Metric, rows: Rows, groups_as_given: Any = None) -> float:
    """Value of a metric on rows; the largest over strata, see `over_strata`."""
    with rows_are_not_warned_of():
        value = over_strata(
            metric,
            rows.y_true,
            rows.y_pred,
            sensitive_features=rows.groups,
            control_features=rows.strata,
            sample_weight=rows.weight,
            groups_as_given=groups_as_given,
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

    @cached_property
    def statistics(self) -> list[Any]:
        """Statistics of all parts."""
        return [
            count(own if own is self.rows else own.drawn_as(self.rows))
            for own, count in self.parts
        ]

    def evaluate(
        self, metric: Metric, combine: Any = None, groups_as_given: Any = None
    ) -> float:
        """Value of the metric; the largest over strata and classes.

        Who evaluates many draws looks up once what combines their values.
        """
        if not self.parts:
            return evaluate(metric, self.rows, groups_as_given)
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
                (rows if own is self.rows else own, count) for own, count in parts
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

    def in_cells(self, within: list[Integers]) -> tuple[Drawn, list[Integers]]:
        """Count people of the only part who are alike within lists of positions.

        Returned with the positions of their cells, unless few people are alike, or the
        part has some of a list only: how many of each group it has is then random.
        """
        ((own, count),) = self.parts
        codes = np.full(len(self.rows), -1)
        for i, positions in enumerate(within):
            codes[positions] = i
        if own.position is not None:
            codes = codes[own.position]
        lists = Groups(codes, tuple(range(len(within))))
        n_own, n_all = lists.sizes(), np.array([*map(len, within)])
        whole = (n_own == n_all) | (n_own == 0)
        cells = replace(own, strata=lists).counted_if_few() if whole.all() else None
        if cells is None:
            return self, within
        parts = [positions for _, positions in cells.by_stratum() if len(positions)]
        cells = replace(cells, strata=None)
        return Drawn(cells, ((cells, count),), self.cells), parts


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
        arguments = y_true, y_score, sensitive_features, control_features, sample_weight
        return Drawn(read(*arguments, name="y_score"))
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
    return Drawn(rows, ((rows, count),))


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


#: Reads numbers off a draw.
Reader: TypeAlias = Callable[[Drawn], Floats]


def value_reader(metric: Metric) -> Reader:
    """Return what reads the value of a metric off draws."""
    combine = combine_of(metric)
    return lambda drawn: np.array(drawn.evaluate_again(metric, combine))


def evaluate_each(
    metrics: Sequence[Metric],
    resamples: Iterable[Resample],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[int], Any] = lambda n: None,
) -> Floats:
    """Values of metrics on each resample, of shape (n_resamples, n_metrics)."""
    readers = [*map(value_reader, metrics)]
    return np.column_stack(read_each(readers, resamples, n_jobs, verbose, tick))


def read_each(
    readers: Sequence[Reader],
    resamples: Iterable[Resample],
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[int], Any] = lambda n: None,
) -> list[NDArray[Any]]:
    """Read numbers off each resample: an array for each reader, resamples first.

    Resamples are drawn one after the other; `tick` is told of how many are read.
    """
    results: Any
    if effective_n_jobs(n_jobs) == 1 and not verbose:
        # A task of joblib takes as long as a metric of few rows.
        results = (_read([resample], readers) for resample in resamples)
    else:
        # What some resamples share is sent to a process once.
        left = iter(resamples)
        several = iter(lambda: list(islice(left, _BLOCK)), [])
        results = Parallel(n_jobs=n_jobs, verbose=verbose, return_as="generator")(
            delayed(_read)(block, readers) for block in several
        )
    numbers = []
    for block in results:
        numbers += block
        tick(len(block))
    return [np.array(of_reader) for of_reader in zip(*numbers, strict=True)]


def _read(
    resamples: Sequence[Resample], readers: Sequence[Reader]
) -> list[list[Floats]]:
    """Read each of some resamples by each reader."""
    return [
        [
            read(resample if isinstance(resample, Drawn) else resample[i])
            for i, read in enumerate(readers)
        ]
        for resample in resamples
    ]


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


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(Result):
    """Result of `bootstrap_interval`.

    Attributes
    ----------
    value : float
        The metric on the data as given.
    lower, upper : float
        Ends of the interval.
    confidence_level : float
    n_resamples : int
    distribution : ndarray of shape (n_resamples,)
        The metric on each resample, nan where it is undefined.
    """

    value: float
    lower: float
    upper: float
    confidence_level: float
    n_resamples: int
    distribution: Floats = field(repr=False)


def bootstrap_interval(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BootstrapResult:
    """Confidence interval of a disparity, by resampling rows within each group.

    With `control_features` they are drawn within each group of each stratum.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, sensitive_features=...)`` that returns a number of
        at least 0; with a keyword `sample_weight` if that is given. Use
        `functools.partial` to set its options. A function of your own gets an array of
        labels; labels of several columns are joined to a text.
    y_true : array-like of shape (n_samples,) or None
        True labels, passed to the metric.
    y_score : array-like of shape (n_samples,), or a statistic
        Scores or predicted labels, passed to the metric. Or a statistic of unweighted
        rows, `GroupedScores`, `GroupedHistogram`, `GroupedConfusion` or
        `GroupedOutcomes`; the other arguments by row are then None. See the notes.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Group of each row; several columns stand for their intersection. None with a
        statistic.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which the metric compares groups. Of a metric
        without this option the largest value over strata is taken.
    confidence_level : float in (0, 1), default=0.95
        Nominal probability that the interval covers the true value.
    n_resamples : int, default=999
        Number of resamples.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights; a row is drawn together with its weight.
    random_state : int, RandomState instance or None, default=None
        Seed of the resampling.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.

    Returns
    -------
    BootstrapResult
        With nan in place of numbers where the metric is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On a level outside (0, 1) or a number of resamples below 1, if a function of
        your own has a value for `sensitive_features` as given, but none for an array of
        labels, and as the metric does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As the metric does, and where it is undefined on some resamples.

    See Also
    --------
    confidence_interval : Interval that keeps its level, for metrics that it knows.
    permutation_test : Test of the hypothesis that there is no disparity.

    Notes
    -----
    Resamples on which the metric is undefined, because a group got no row of a true
    label, are left out and counted in a warning: the interval is one of resamples in
    which all groups can be compared. It is nan where they are more than half of all.

    Noise biases a disparity upwards, and resampling adds noise again, so that the
    quantiles of the resamples are too large. The basic interval reflects them at the
    observed value, which removes this bias once; the interval may therefore lie below
    the value itself. It is cut at 0 and at the largest value seen. It is approximate:
    near parity, and for MADD in small groups, it covers the true value less often
    than its nominal level (``benchmarks/interval_coverage.py`` measures how often).
    Use `permutation_test` there.

    Of a statistic, numbers of rows are drawn from the multinomial distribution that
    drawn rows give them, at a cost that depends on its distinct scores or bins, not on
    its rows. The scores of a `GroupedHistogram` count as rounded down to the edges of
    bins.

    References
    ----------
    .. [1] Davison, Hinkley. "Bootstrap Methods and their Application". Cambridge
       University Press, 1997. Section 5.2.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import bootstrap_interval, mcdp
    >>> y_true, y_score, group = make_biased_scores(400, random_state=0)
    >>> result = bootstrap_interval(
    ...     mcdp, y_true, y_score, sensitive_features=group, random_state=0
    ... )
    >>> result.value, round(result.lower, 3), round(result.upper, 3)
    (0.595, 0.515, 0.65)
    """
    check_metric(metric)
    n_resamples = check_integer("n_resamples", n_resamples, 1)
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    generator = check_seed(random_state)
    rows = rows_or_counts(
        y_true, y_score, sensitive_features, sample_weight, control_features
    )
    observed = rows.evaluate(metric, groups_as_given=sensitive_features)
    if math.isnan(observed):
        values = np.full(n_resamples, np.nan)
        low = high = math.nan
    else:
        draw = resamples(rows, generator)
        drawn_rows = (draw() for _ in range(n_resamples))
        with ignore_undefined():
            drawn = evaluate_each([metric], drawn_rows, n_jobs=n_jobs, verbose=verbose)
        values = drawn[:, 0]
        defined = defined_values(values)
        low, high = basic_interval(observed, defined, level)
        if np.isnan(values).any():
            _warn_of_undefined(values, left_out=len(defined) < len(values))
    return BootstrapResult(observed, low, high, level, n_resamples, values)


def resamples(rows: Drawn, generator: np.random.Generator) -> Callable[[], Drawn]:
    """Return what draws rows, or rows of a statistic, with replacement."""
    if rows.parts:
        return partial(rows.resampled, generator)
    # A resample of weight zero has no value.
    counting = rows.rows[rows.rows.that_count()]
    return lambda: Drawn(counting[counting.draw(generator)])


def resamples_of_all(rows: Sequence[Drawn], seed: Any) -> Callable[[], list[Drawn]]:
    """Return what draws, at each call, of each one what `resamples` draws.

    They are the rows of several metrics with the same groups and weights, or cells.
    """
    first = rows[0].rows
    if first.n is not None:
        draws = [resamples(part, check_seed(seed)) for part in rows]
        return lambda: [draw() for draw in draws]
    counting, generator = first[first.that_count()], check_seed(seed)

    def draw_all() -> list[Drawn]:
        assert counting.position is not None
        drawn = counting.position[counting.draw(generator)]
        resample = first.times(np.bincount(drawn, minlength=len(first)))
        return [replace(part, rows=resample) for part in rows]

    return draw_all


def _warn_of_undefined(values: Floats, *, left_out: bool) -> None:
    """Warn of resamples without a value, which are left out or make the ends nan."""
    end = "they are left out" if left_out else "too many for an interval, set to nan"
    warn_user(
        f"The metric is undefined on {np.isnan(values).sum()} of {len(values)} "
        f"resamples: {end}. A group may have few rows of a true label.",
        UndefinedMetricWarning,
    )
