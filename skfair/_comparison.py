"""Comparison of a mitigated model with the baseline, on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import kolmogi
from sklearn.metrics import r2_score

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._results import Result
from skfair._utils._text import rounded
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import count_codes, keep_labels
from skfair.metrics._mcdp import MCDP, sustained_gap
from skfair.metrics._pairs import (
    MAX_PAIRWISE,
    compared_groups,
    find_largest,
    gap_ceilings,
    largest_of_rows,
)
from skfair.statistics._distributions import Distributions, gap_between

#: A gap that is lower by more standard errors than this is a gain. Of 0, 0.5 and 1,
#: the first left worse models, and the last more good ones unused, on small data.
_GAIN_ERRORS = 0.5
#: Probability that groups of one distribution have a larger gap than `noise`.
_LEVEL = 0.05
#: Mean of Kolmogorov's distribution, that of scores of which no two are equal.
_MEAN_DISTANCE = math.sqrt(math.pi / 2) * math.log(2)
#: Share of the rows with one score from which on their ties count, and simulated noise.
_TIED_SHARE, _N_DRAWS = 0.02, 400
#: Most by which taking noise out makes the error of a gap larger: that of a gap next to
#: none grows by a third, those of others by as much as the gap falls.
_MOST_STRETCH = 1.5
#: Metrics as they are called in a sentence.
_IN_WORDS = {"mcdp": "MCDP(0)", "adjusted_mcdp": "adjusted MCDP(0)", "r2": "R2"}


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    r"""A mitigated model beside the baseline, on rows that neither was fitted to.

    The baseline is the same estimator without mitigation. ``print`` shows the table.

    Attributes
    ----------
    n_samples : int
        Number of rows with a weight.
    baseline, mitigated : dict
        Value of each metric of both models, by its name: ``"average_precision"`` of
        classifiers, ``"squared_error"`` and ``"r2"`` of regressors, and ``"mcdp"``,
        the largest MCDP(0) over pairs of groups. With `control_features` it is the mean
        over strata, by the weight of their rows, of those that have two groups. With
        more than two groups, ``"adjusted_mcdp"`` is the same, where the gap of a pair
        of groups is lowered by what its noise exceeds that of the pair with the
        smallest noise. So a group of a few rows, whose gap is mostly noise, does not
        hide those of the others. Of decisions they are ``"accuracy"`` (or
        ``"neg_cost"``), ``"dcp"`` if errors are compared, and ``"difference"``, that of
        the rates. Of `compare_models` they are ``"performance"`` and ``"disparity"``,
        as measured.
    standard_error : dict
        Standard error of the difference of both models, by metric.
    group_sizes : dict
        Number of those rows in each group that has any; with `control_features` of
        those that are in a stratum.

    Notes
    -----
    Numbers are nan where they are undefined: without positive rows, or with fewer than
    two groups. Standard errors are those of the infinitesimal jackknife, from the
    derivative of the difference in the weight of each row: both models are compared on
    the same rows, whose noise cancels in part. To the error of the gap half a row of
    each group is added, since a group of one row has no variance within.

    Gaps are estimates of those on many new rows. The noise of rows makes any gap
    larger. Of groups of one distribution with the sizes :math:`n_g` and :math:`n_h` the
    gap is :math:`\sqrt{\pi / 2} \, \log 2 \, \sqrt{1 / n_g + 1 / n_h}` in the mean, and
    less where a score has 2 % of the rows or more: that of a Brownian bridge at the
    scores. The square of that, for the pair with the smallest noise, is taken out of
    the square of a gap, down to 0. It is added instead to that of a map that was fitted
    to all folds but one, and measured on them in turn: what the map has learnt from
    noise cancels when the folds are put together, but not on new rows. Where
    `MADDPostProcessor` or `RepairedRegressor` find a band for `max_mcdp`, the gap is
    the one that they expect.

    References
    ----------
    .. [1] Efron. "The Jackknife, the Bootstrap and Other Resampling Plans". SIAM, 1982.
       Chapter 6 is on the infinitesimal jackknife.
    """

    n_samples: int
    baseline: dict[str, float] = field(repr=False)
    mitigated: dict[str, float] = field(repr=False)
    standard_error: dict[str, float] = field(repr=False)
    group_sizes: dict[Hashable, int] = field(repr=False)

    @property
    def difference(self) -> dict[str, float]:
        """Mitigated less baseline value of each metric."""
        before = self.baseline
        return {name: value - before[name] for name, value in self.mitigated.items()}

    @property
    def lacks_gain(self) -> bool:
        """Whether a gap is not lower by half a standard error or more.

        It is that in the last row of the table. Where the baseline has none, and
        nothing is changed, nothing is lacking.
        """
        gap = list(self.difference)[-1]
        gain = -self.difference[gap]
        if self.baseline[gap] == 0 and self.mitigated == self.baseline:
            return False
        return not (gain > 0 and gain >= _GAIN_ERRORS * self.standard_error[gap])

    def to_frame(self) -> pd.DataFrame:
        """Return the table of metrics.

        Returns
        -------
        DataFrame
            One row for each metric, with the columns ``baseline``, ``mitigated``,
            ``difference`` and ``standard_error``, that of the difference.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skfair.datasets import make_biased_classification
        >>> from skfair.postprocessing import MADDPostProcessor
        >>> X, y = make_biased_classification(
        ...     4000, score_shifts={"group": {"b": 1.0}}, random_state=0
        ... )
        >>> model = MADDPostProcessor(
        ...     LogisticRegression(), sensitive_features="group", drop_sensitive=True
        ... )
        >>> model.fit(X, y).comparison_.to_frame().round(2)
                           baseline  mitigated  difference  standard_error
        average_precision      0.90       0.92        0.02            0.00
        mcdp                   0.28       0.03       -0.24            0.01
        """
        columns = "baseline", "mitigated", "difference", "standard_error"
        return pd.DataFrame({name: getattr(self, name) for name in columns})

    def _table(self) -> pd.DataFrame:
        """Return the table as it is printed, with the error beside the difference."""
        table = self.to_frame()
        both = zip(table["difference"], table.pop("standard_error"), strict=True)
        known = (pair[:1] if math.isnan(pair[1]) else pair for pair in both)
        table["difference"] = [" ± ".join(rounded([*pair])) for pair in known]
        return table

    def describe(self) -> str:
        """Write all numbers of both models."""
        texts = []
        for name, value in self.mitigated.items():
            title = _IN_WORDS.get(name, name.replace("_", " "))
            before, error = self.baseline[name], self.standard_error[name]
            numbers = f"{value:.3g}, the baseline's {before:.3g}"
            noise = "unknown" if math.isnan(error) else f"{error:.2g}"
            texts.append(f"{title} is {numbers} (error of the difference {noise})")
        return "; ".join(reversed(texts))


def warn_of_comparison(
    mitigator: object, comparison: Comparison, remedy: str, problem: str = ""
) -> None:
    """Warn of a problem, such as a limit that is missed, or that no gain is shown.

    Parameters
    ----------
    mitigator : estimator
        The mitigator that is compared.
    comparison : Comparison
        Its figures.
    remedy : str
        Advice for the user, a sentence without its full stop.
    problem : str, default=""
        What is missed; if it is empty, there is a warning where rows show no gain.

    Warns
    -----
    MitigationWarning
    """
    if problem or comparison.lacks_gain:
        warn_user(
            f"{type(mitigator).__name__}, on {comparison.n_samples} held-out rows: "
            f"{problem or 'no gain is shown'}: {comparison.describe()}. {remedy}.",
            MitigationWarning,
        )


def limit_missed(rows: Rows, comparison: Comparison, max_mcdp: float) -> str:
    """Say that the mitigated gap is above a limit by more than noise, if it is."""
    noise = mean_mcdp(rows, adjusts=True)
    allowed = max_mcdp + float(noise.add_noise(noise.noise, -1))
    if not list(comparison.mitigated.values())[-1] > allowed:
        return ""
    return f"max_mcdp={max_mcdp:g} is missed by more than sampling noise"


def compare_classifiers(
    rows: Rows, baseline: ArrayLike, mitigated: ArrayLike, *, cross_fitted: bool = False
) -> Comparison:
    """Compare scores of a mitigated classifier with those of the baseline.

    Rows were used to fit neither. Those of no group or stratum (code -1) count in the
    average precision only. Noise of the rows is taken out of the gaps; it is added to
    the mitigated one if that is `cross_fitted`, by maps of all folds but that of a row.
    """
    rows, old, new = _weighted(rows, baseline, mitigated)
    y, weights = np.asarray(rows.y_true, float), rows.weights
    before, slopes_before = average_precision(y, old, weights)
    after, slopes = average_precision(y, new, weights)
    error = _error(after, slopes() - slopes_before(), weights)
    performance = {"average_precision": (before, after, error)}
    return state_figures(rows, performance | _gaps(rows, old, new, cross_fitted))


def compare_regressors(
    rows: Rows, baseline: ArrayLike, mitigated: ArrayLike, *, cross_fitted: bool = False
) -> Comparison:
    """Compare predictions of a mitigated regressor with those of the baseline.

    Rows of no group or stratum (code -1) count in the squared error only. All else is
    as in `compare_classifiers`.
    """
    rows, old, new = _weighted(rows, baseline, mitigated)
    y, weights = np.asarray(rows.y_true, float), rows.weights
    squares = np.array([(y - old) ** 2, (y - new) ** 2])
    before, after = np.average(squares, axis=1, weights=weights).tolist()
    change = (squares[1] - after) - (squares[0] - before)
    error = _error(after, change / weights.sum(), weights)
    variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    explained = r2(y, old, weights), r2(y, new, weights)
    performance = {
        "squared_error": (before, after, error),
        # The variance of the targets is the same for both models.
        "r2": (*explained, error / variance if variance else math.nan),
    }
    return state_figures(rows, performance | _gaps(rows, old, new, cross_fitted))


def _weighted(rows: Rows, *scores: ArrayLike) -> tuple[Any, ...]:
    """Keep the rows that have a weight, and their scores."""
    counts = rows.weights > 0
    return rows[counts], *(np.asarray(each, float)[counts] for each in scores)


def state_figures(
    rows: Rows, figures: dict[str, tuple[float, float, float]]
) -> Comparison:
    """Make the comparison of values before and after, and errors, by metric."""
    sizes = rows.groups.sizes()
    if rows.strata is not None:
        sizes = count_codes(rows.groups.codes[rows.strata.codes >= 0], rows.n_groups)
    before, after, errors = (
        {name: values[column] for name, values in figures.items()}
        for column in range(3)
    )
    present = np.flatnonzero(sizes)
    of_groups = {rows.labels[group]: int(sizes[group]) for group in present}
    return Comparison(len(rows), before, after, errors, of_groups)


def _gaps(
    rows: Rows, old: Floats, new: Floats, cross_fitted: bool
) -> dict[str, tuple[float, float, float]]:
    """Compute the gaps before and after, and the error of the difference."""
    sign = 1 if cross_fitted and not np.array_equal(old, new) else -1
    figures = {}
    for name in ("mcdp", "adjusted_mcdp")[: 1 + (rows.n_groups > 2)]:
        adjusts = name == "adjusted_mcdp"
        before = mean_mcdp(replace(rows, y_pred=old), adjusts).adjust_for_noise(-1)
        after = mean_mcdp(replace(rows, y_pred=new), adjusts).adjust_for_noise(sign)
        figures[name] = before.value, after.value, gap_error(before, after, rows)
    return figures


class Gap(NamedTuple):
    """MCDP(0), which may be adjusted for the sizes of groups.

    `slopes` computes its derivative in the weight of each row. `half_rows` is half a
    row as a share of each group that it compares, by stratum and group. `noise` is the
    gap that the pair of groups with the smallest noise exceeds by chance, `scale` the
    root of the sum of the inverse sizes of that pair, and `mean_noise` its mean gap
    where groups do not differ.
    """

    value: float
    slopes: Callable[[], Floats]
    half_rows: dict[tuple[int, int], float]
    noise: float
    scale: float
    mean_noise: float

    def adjust_for_noise(self, sign: int) -> Self:
        """Take the noise of the rows out (-1), or add it (1).

        A gap that falls by that changes by more with each row than before.
        """
        moved = float(self.add_noise(self.value, sign))
        stretch = min(
            max(self.value / moved, 1.0) if moved else math.inf, _MOST_STRETCH
        )
        return self._replace(value=moved, slopes=lambda: stretch * self.slopes())

    def add_noise(self, gaps: ArrayLike, signs: ArrayLike) -> Floats:
        """Add the mean square of noise to the squares of gaps, or subtract it."""
        moved = np.asarray(signs) * self.mean_noise**2
        return np.asarray(np.sqrt(np.clip(np.square(gaps) + moved, 0, 1)))


def gap_error(before: Gap, after: Gap, rows: Rows) -> float:
    """Find the standard error of the difference of two gaps of the same rows."""
    halves = {**before.half_rows, **after.half_rows}.values()
    error = _error(after.value, after.slopes() - before.slopes(), rows.weights)
    return math.hypot(error, *halves)


def exceeds_noise(rows: Rows) -> bool:
    """Return whether scores of two groups differ by more than noise."""
    gap = mean_mcdp(rows, adjusts=True)
    return gap.value > gap.noise


def r2(y: Floats, predicted: Floats, weights: Floats) -> float:
    """Return R2, nan of targets that are all equal."""
    if not np.ptp(y):
        return math.nan
    return float(r2_score(y, predicted, sample_weight=weights))


def _error(value: float, slopes: Floats, weights: Floats) -> float:
    """Return the standard error of a difference, by the infinitesimal jackknife.

    `slopes` are its derivatives in the weights of the rows.
    """
    return math.nan if math.isnan(value) else float(np.linalg.norm(weights * slopes))


def average_precision(
    y: Floats, scores: Floats, weights: Floats
) -> tuple[float, Callable[[], Floats]]:
    """Return the average precision and its slope in the weight of each row.

    The function computes the derivatives in the weights of the rows.
    """
    # Levels are the distinct scores from the largest on.
    order = np.argsort(-scores, kind="stable")
    level = np.empty(len(scores), dtype=np.intp)
    level[order] = np.append(0, np.cumsum(np.diff(scores[order]) < 0))[: len(scores)]
    total, positive = np.bincount(level, weights), np.bincount(level, weights * y)
    selected, hits = np.cumsum(total), np.cumsum(positive)
    if not len(y) or hits[-1] == 0:
        return math.nan, partial(np.zeros, len(y))
    precision = hits / selected
    value = float(positive @ precision / hits[-1])

    def slopes() -> Floats:
        # A row is selected at its own level and at all later ones: there its weight
        # adds to the rows selected, and if it is positive to the hits.
        per_hit = np.cumsum((positive / selected)[::-1])[::-1]
        per_row = np.cumsum((positive * precision / selected)[::-1])[::-1]
        by_row = y * (precision - value + per_hit)[level] - per_row[level]
        return np.asarray(by_row / hits[-1])

    return value, slopes


def mean_mcdp(rows: Rows, adjusts: bool = False) -> Gap:
    """Return the mean MCDP(0) of strata with two groups, by weight of rows.

    Rows with the code -1 are in no stratum. With `adjusts` the gap of a pair of groups
    is lowered by what its noise exceeds that of the pair with the smallest.
    """
    cells, n_groups = rows.stratum_group_codes, rows.n_groups
    n_strata = 1 if rows.strata is None else len(rows.strata.labels)
    sizes = np.bincount(cells[cells >= 0], minlength=n_strata * n_groups)
    sizes = sizes.reshape(n_strata, n_groups)
    compared = (sizes > 0).sum(axis=1) > 1
    if not compared.any():
        undefined = math.nan, math.nan, math.nan
        return Gap(math.nan, partial(np.zeros, len(rows)), {}, *undefined)
    n_tests = math.comb(int(sizes.any(axis=0).sum()), 2) * int(compared.sum())
    critical = float(kolmogi(_LEVEL / n_tests))
    weights, every = rows.weights, [own for _, own in rows.split_by_stratum()]
    parts = [every[stratum] for stratum in np.flatnonzero(compared)]
    total = sum(weights[own].sum() for own in parts)
    shares = [float(weights[own].sum() / total) for own in parts]
    gaps = [
        _largest_gap(
            rows if len(own) == len(rows) else rows[own], critical if adjusts else 0.0
        )
        for own in parts
    ]
    value, scale, mean_noise = np.dot(
        shares, [(gap.value, gap.scale, gap.mean_noise) for gap in gaps]
    ).tolist()

    def slopes() -> Floats:
        by_row = np.zeros(len(rows))
        for own, share, gap in zip(parts, shares, gaps, strict=True):
            by_row[own] = share * gap.slopes() + (gap.value - value) / total
        return by_row

    half_rows = {
        (stratum, group): share * half
        for stratum, (share, gap) in enumerate(zip(shares, gaps, strict=True))
        for (_, group), half in gap.half_rows.items()
    }
    noise = min(1.0, critical * scale)
    return Gap(value, slopes, half_rows, noise, scale, mean_noise)


def _largest_gap(rows: Rows, critical: float = 0.0) -> Gap:
    """Return the gap of the pair of groups that is largest when adjusted for sizes.

    The noise of a pair is `critical` times the square root of the sum of its inverse
    sizes. Of many groups the pairs are those of the largest ones, which have the
    smallest noise. The slopes are those of the gap at the threshold that attains it.
    """
    sizes = rows.groups.sizes()
    groups, present = keep_labels(rows.groups, sizes > 0), np.flatnonzero(sizes)
    statistic = Distributions.from_rows(replace(rows, groups=groups))
    codes, weights = groups.codes, rows.weights
    totals = np.bincount(codes, weights)
    inverse_sizes = np.bincount(codes, weights**2) / totals**2
    largest = np.sort(np.argsort(inverse_sizes, kind="stable")[:MAX_PAIRWISE])
    pairs = largest[np.array(compared_groups(len(largest), "pairwise"))]
    scales = np.sqrt(inverse_sizes[pairs].sum(axis=0))
    noises = critical * scales
    lower_by = noises - noises.min()
    ceilings = np.full(len(scales), np.inf)
    if len(scales) > 1:
        first, second = pairs
        ceilings = gap_ceilings(statistic, first, second, lambda _: largest_of_rows)
        ceilings -= lower_by

    def adjusted(i: int) -> float:
        return sustained_gap(gap_between(statistic, *pairs[:, i])) - float(lower_by[i])

    adjusted_gap, best = find_largest(ceilings, adjusted)
    pair = pairs[:, best].tolist()

    def slopes() -> Floats:
        gap = gap_between(statistic, *pair)
        best = int(np.abs(gap.signed).argmax())
        below, by_row = rows.y_pred <= gap.scores[best], np.zeros(len(rows))
        signs = (1, -1) if gap.signed[best] >= 0 else (-1, 1)
        for group, sign in zip(pair, signs, strict=True):
            own = codes == group
            share = weights[own] @ below[own] / totals[group]
            by_row[own] = sign * (below[own] - share) / totals[group]
        return by_row

    halves = {(0, int(present[g])): float(inverse_sizes[g]) / 2 for g in pair}
    value = adjusted_gap
    if critical == 0 and statistic.n_groups > MAX_PAIRWISE:
        value = MCDP().value(statistic)
    smallest = float(scales.min())
    mean_noise = smallest * _mean_distance(rows)
    return Gap(value, slopes, halves, critical * smallest, smallest, mean_noise)


def _mean_distance(rows: Rows) -> float:
    """Simulate the mean of the largest distance between a Brownian bridge and 0.

    It is the largest distance of empirical CDFs, as a multiple of `scale`, at the
    heights of scores in the CDF of all rows: of two scores it is less than half of what
    it is where all differ.
    """
    values, places = np.unique(rows.y_pred, return_inverse=True)
    shares = np.bincount(places, rows.weights, len(values)) / rows.weights.sum()
    if shares.max() < _TIED_SHARE:
        return _MEAN_DISTANCE
    # Scores with small shares are joined.
    heights = np.unique(np.append(np.round(np.cumsum(shares), 3), [0, 1]))
    draws = np.random.default_rng(0).standard_normal((_N_DRAWS, len(heights) - 1))
    motion = np.cumsum(draws * np.sqrt(np.diff(heights)), axis=1)
    bridge = motion - heights[1:] * motion[:, -1:]
    return float(np.abs(bridge).max(axis=1).mean())
