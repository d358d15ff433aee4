"""Draws of rows, what is read off them, and bootstrap intervals of any metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_random_state

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._results import Result
from skfair._utils._text import listed
from skfair._utils._validation import check_integer, check_real
from skfair._utils._warnings import warn_user
from skfair.metrics._as_metric import as_metric
from skfair.metrics._inputs import FEW_ROWS
from skfair.metrics._metric import Metric
from skfair.metrics._sample import Sample
from skfair.statistics._cells import round_to_edges

#: Draws that one of several processes evaluates at once.
_BLOCK = 8
#: Values this close to the observed one count as equal: weighted sums round.
VALUE_ROUNDING = 1e-12
#: Least share of resamples with a value that an interval needs.
ENOUGH = 0.5


#: Reads numbers off a sample, or off rows.
Reader: TypeAlias = Callable[[Any], Any]


def value_of(sample: Sample) -> float:
    """Return the value of the metric of a sample."""
    return sample.value


def read_each(
    readers: Sequence[Reader],
    draws: Iterable[Sequence[Any]],
    n_jobs: int | None = None,
    verbose: int = 0,
    tick: Callable[[int], Any] = lambda n: None,
) -> list[NDArray[Any]]:
    """Read numbers off each draw; return an array for each reader, with draws as rows.

    A draw has a sample for each reader. Draws are made one after the other; `tick` is
    called with the number of draws that have been read.
    """
    results: Any
    if effective_n_jobs(n_jobs) == 1 and not verbose:
        # A task of joblib takes as long as a metric of few rows.
        results = (_read([draw], readers) for draw in draws)
    else:
        # What some draws share is sent to a process once.
        left = iter(draws)
        several = iter(lambda: list(islice(left, _BLOCK)), [])
        results = Parallel(n_jobs=n_jobs, verbose=verbose, return_as="generator")(
            delayed(_read)(block, readers) for block in several
        )
    numbers = []
    for block in results:
        numbers += block
        tick(len(block))
    return [np.array(values) for values in zip(*numbers, strict=True)]


def _read(draws: Sequence[Sequence[Any]], readers: Sequence[Reader]) -> list[list[Any]]:
    """Read a block of draws by each reader."""
    return [
        [read(sample) for read, sample in zip(readers, draw, strict=True)]
        for draw in draws
    ]


def check_seed(random_state: Any) -> np.random.Generator:
    """Return the fast generator seeded by scikit-learn's `random_state`."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def defined_values(values: Floats) -> Floats:
    """Leave out resamples without a value, unless they are too many for an interval."""
    defined = values[~np.isnan(values)]
    return defined if len(defined) >= ENOUGH * len(values) else values


def percentile_interval(values: Floats, confidence_level: float) -> tuple[float, float]:
    """Return quantiles of the values of resamples, leaving out undefined ones."""
    tails = (1 - confidence_level) / 2, (1 + confidence_level) / 2
    low, high = np.quantile(defined_values(values), tails)
    return float(low), float(high)


def basic_interval(
    observed: float, values: Floats, confidence_level: float
) -> tuple[float, float]:
    """Compute the basic bootstrap interval, cut at 0 and at the largest value seen.

    Both ends are nan if any value is nan.
    """
    if np.isnan(values).any():
        return math.nan, math.nan
    tail = (1 - confidence_level) / 2
    lower, upper = np.quantile(values, [tail, 1 - tail])
    largest = max(observed, float(values.max()))
    low = min(max(0.0, float(2 * observed - upper)), largest)
    return low, max(low, min(float(2 * observed - lower), largest))


def unit_of(metric: Metric, rows: Rows) -> float:
    """Return the largest absolute label or score; 1 for metrics of shares."""
    if metric.upper_limit < math.inf:
        return 1.0
    return largest_size(rows.y_true, rows.y_pred)


def largest_size(*numbers: NDArray[Any] | None) -> float:
    """Return the largest absolute number in these arrays, 1 if all are 0."""
    sizes = [float(np.abs(x).max(initial=0)) for x in numbers if x is not None]
    return max(sizes, default=0.0) or 1.0


def exact_pvalue(observed: float, null: Floats, unit: float = 1.0) -> float:
    """Return the share of permutations, the observed one included, that are as large.

    Undefined values count as large. The share is nan where the observed value is
    undefined. Values that differ only by the rounding of numbers of magnitude `unit`
    are equal.
    """
    if math.isnan(observed):
        return math.nan
    rounding = (
        VALUE_ROUNDING * max(abs(observed), unit) if math.isfinite(observed) else 0.0
    )
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
    metric: Any,
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **options: Any,
) -> BootstrapResult:
    """Confidence interval of a disparity, by resampling rows within each group.

    With `control_features` they are drawn within each group of each stratum.

    Parameters
    ----------
    metric : callable or str
        A metric of `skfair.metrics` or its name, or a function of your own,
        ``metric(y_true, y_score, sensitive_features=...)``, that returns a number of
        at least 0; with a keyword `sample_weight` if that is given. Your function gets
        an array of labels; labels of several columns are joined to a text.
    y_true : array-like of shape (n_samples,) or None
        True labels, passed to the metric.
    y_score : array-like of shape (n_samples,), or CountTable
        Scores or predicted labels, passed to the metric. Or a table of people
        without weights; the other arguments by row are then None. See the notes.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Group of each row; several columns stand for their intersection. None with a
        table.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which the metric compares groups. For a metric
        without this option, the largest value over strata is taken.
    confidence_level : float in (0, 1), default=0.95
        Nominal probability that the interval covers the true value.
    n_resamples : int, default=999
        Number of resamples.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights; a row is drawn together with its weight.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, where people have several: visits, loans, months. People are
        drawn with all their rows. All rows of a person must have the same group and
        stratum.
    random_state : int, RandomState instance or None, default=None
        Seed of the resampling.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``.

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
    UserWarning
        With `clusters`, of groups of fewer than 10 people, whose interval leaves out
        the true value far too often.

    See Also
    --------
    confidence_interval : Interval that keeps its level, for metrics that it knows.
    permutation_test : Test of the hypothesis that there is no disparity.

    Notes
    -----
    Resamples on which the metric is undefined, because a group got no row of a true
    label, are left out and counted in a warning: the interval is one of resamples in
    which all groups can be compared. Both ends are nan where more than half of all
    resamples are left out.

    Noise biases a disparity upwards, and resampling adds noise again, so that the
    quantiles of the resamples are too large. The basic interval reflects these
    quantiles at the observed value, which removes the bias once; the interval may
    therefore lie below the value itself. It is cut at 0 and at the largest value seen.
    It is approximate: near parity, and for MADD in small groups, it covers the true
    value less often than its nominal level (``benchmarks/interval_coverage.py``
    measures how often). Use `permutation_test` there. Groups of few people with many
    rows are the worst case: where groups at parity had 4, 10 or 20 people with 10 rows
    each, beside 100 others, a 95 % interval excluded 0 in .24, .11 or .08 of 300
    samples.

    For a table, the numbers of rows are drawn from the multinomial distribution that
    drawing rows would give. The cost depends on the number of distinct scores or bins,
    not of rows. Scores in bins count as rounded down to the edges of bins.

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
    ...     mcdp, y_true, y_score, sensitive_features=group,
    ...     n_resamples=199, random_state=0,
    ... )
    >>> result.value, round(result.lower, 3), round(result.upper, 3)
    (0.595, 0.52, 0.66)
    """
    metric = as_metric(metric, **options)
    n_resamples = check_integer("n_resamples", n_resamples, 1)
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    generator = check_seed(random_state)
    observed, sample = read_and_evaluate(
        metric,
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
        clusters=clusters,
    )
    _warn_of_few_people(sample.rows)
    return resample(
        sample,
        observed,
        confidence_level,
        n_resamples,
        generator=generator,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def resample(
    sample: Sample,
    observed: float,
    confidence_level: float,
    n_resamples: int,
    *,
    generator: np.random.Generator,
    **options: Any,
) -> BootstrapResult:
    """Compute the bootstrap interval of a metric whose value is given.

    `options` go to `read_each`.
    """
    values, low, high = np.full(n_resamples, np.nan), math.nan, math.nan
    if not math.isnan(observed):
        draws = ([sample.resampled(generator)] for _ in range(n_resamples))
        (values,) = read_each([value_of], draws, **options)
        defined = defined_values(values)
        low, high = basic_interval(observed, defined, confidence_level)
        if np.isnan(values).any():
            _warn_of_undefined(values, left_out=len(defined) < len(values))
    return BootstrapResult(
        value=observed,
        lower=low,
        upper=high,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        distribution=values,
    )


def read_and_evaluate(
    metric: Metric,
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: ArrayLike | None,
    **people: Any,
) -> tuple[float, Sample]:
    """Read rows; return the value of a metric, and the sample to draw from.

    `people` are the strata, weights, counts and clusters of rows.
    """
    takes_bins = metric.compares_distributions
    rows = metric.read(
        y_true, y_score, sensitive_features, **people, takes_bins=takes_bins
    )
    if rows.squares is not None:
        raise ValueError(
            f"{metric.inputs[1]} must be a table of people without sample weights, "
            "since single people are drawn; pass the rows with their weights."
        )
    if rows.n_bins:
        rows = round_to_edges(rows)
    value = metric.evaluate(rows, sensitive_features)
    return value, Sample.from_rows(metric, rows)


def _warn_of_few_people(rows: Rows) -> None:
    """Warn of groups of few people, who are drawn with all their rows."""
    if rows.cluster is None:
        return
    people = rows.people[rows.people.counted_positions()]
    small_groups = [
        f"{rows.labels[i]!r} has {n} people"
        + ("" if stratum is None else f" in stratum {stratum!r}")
        for stratum, positions in people.split_by_stratum()
        for i, n in enumerate(people[positions].counts.tolist())
        if 0 < n < FEW_ROWS
    ]
    if small_groups:
        warn_user(
            f"bootstrap_interval draws few people: {listed(small_groups)}. The "
            f"interval of fewer than {FEW_ROWS} people is too narrow, however many "
            "rows they have; "
            "permutation_test and confidence_interval keep their level.",
            UserWarning,
        )


def _warn_of_undefined(values: Floats, *, left_out: bool) -> None:
    """Warn of resamples without a value, which are left out or make the ends nan."""
    result = "they are left out"
    if not left_out:
        result = "too many for an interval, set to nan"
    warn_user(
        f"The metric is undefined on {np.isnan(values).sum()} of {len(values)} "
        f"resamples: {result}. A group may have few rows of a true label.",
        UndefinedMetricWarning,
    )
