"""Bootstrap interval of any fairness metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._arrays import Floats
from skfair._utils._results import Result
from skfair._utils._validation import check_integer, check_real
from skfair._utils._warnings import warn_user
from skfair.metrics._inputs import ignore_undefined
from skfair.metrics._resampling import (
    Drawn,
    basic_interval,
    check_seed,
    defined_values,
    evaluate_each,
    rows_or_counts,
)
from skfair.metrics._spec import check_metric


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
        `functools.partial` to set its options.
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
        On a level outside (0, 1) or a number of resamples below 1, and as the metric
        does.

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
    observed = rows.evaluate(metric)
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
        n = np.bincount(drawn, minlength=len(first))
        return [replace(part, rows=part.rows.times(n)) for part in rows]

    return draw_all


def _warn_of_undefined(values: Floats, *, left_out: bool) -> None:
    """Warn of resamples without a value, which are left out or make the ends nan."""
    end = "they are left out" if left_out else "too many for an interval, set to nan"
    warn_user(
        f"The metric is undefined on {np.isnan(values).sum()} of {len(values)} "
        f"resamples: {end}. A group may have few rows of a true label.",
        UndefinedMetricWarning,
    )
