"""Comparison of a mitigated model with the baseline, on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Self

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
from skfair.metrics._mcdp import MCDP
from skfair.metrics._pairs import (
    MAX_PAIRWISE,
    compared_groups,
    find_largest,
    gap_ceilings,
    largest_of_rows,
)
from skfair.metrics._windows import sustained_gap
from skfair.statistics._distributions import Distributions, gap_between

#: A gap that is lower by more standard errors than this is a gain. Of 0, 0.5 and 1,
#: the first left worse models, and the last more good ones unused, on small data.
_GAIN_ERRORS = 0.5
#: Probability that groups of one distribution have a larger gap than `noise`.
_LEVEL = 0.05
#: Mean of Kolmogorov's distribution, for scores of which no two are equal.
_MEAN_DISTANCE = math.sqrt(math.pi / 2) * math.log(2)
#: Share of the rows with one score from which on their ties count, and simulated noise.
_TIED_SHARE, _N_DRAWS = 0.02, 400
#: Most by which taking noise out makes the error of a gap larger: the error of a gap
#: near 0 grows by a third, the error of a larger gap by as much as the gap falls.
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
        hide the gaps of the others. Decisions have ``"accuracy"`` (or
        ``"neg_cost"``), ``"dcp"`` if errors are compared, and ``"difference"``, of
        the rates. `compare_models` has ``"performance"`` and ``"disparity"``, as
        measured.
    standard_error : dict
        Standard error of the difference of both models, by metric.
    group_sizes : dict
        Number of those rows in each group that has any; with `control_features` of
        those that are in a stratum.

    Notes
    -----
    Numbers are nan where they are undefined: without positive rows, or with fewer than
    two groups. Standard errors come from the infinitesimal jackknife, from the
    derivative of the difference in the weight of each row: both models are compared on
    the same rows, whose noise cancels in part. To the error of the gap half a row of
    each group is added, since a group of one row has no variance within.

    Gaps are estimates of those on many new rows. The noise of rows makes any gap
    larger. Two groups of one distribution with the sizes :math:`n_g` and :math:`n_h`
    have the gap :math:`\sqrt{\pi / 2} \, \log 2 \, \sqrt{1 / n_g + 1 / n_h}` in the
    mean, and a smaller one where a score has 2 % of the rows or more: there it is the
    largest distance of a Brownian bridge from 0 at the scores. The square of this mean,
    for the pair with the smallest noise, is taken out of the square of a gap, down to
    0. The square is added instead if the gap belongs to maps that were fitted to all
    folds but one, and measured on them in turn: what the maps have learnt from noise
    cancels when the folds are put together, but not on new rows. Where
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
        """Mitigated value minus baseline value of each metric."""
        before = self.baseline
        return {name: value - before[name] for name, value in self.mitigated.items()}

    @property
    def lacks_gain(self) -> bool:
        """Whether the gap is not lower by at least half a standard error.

        The gap is in the last row of the table. No gain is lacking if the baseline has
        no gap and the mitigated model changes nothing.
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
        """Return the table that is printed, with the error beside the difference."""
        table = self.to_frame()
        pairs = zip(table["difference"], table.pop("standard_error"), strict=True)
        # An error that is nan is left out.
        numbers = (pair[:1] if math.isnan(pair[1]) else pair for pair in pairs)
        table["difference"] = [" ± ".join(rounded([*row])) for row in numbers]
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
    """Say that the mitigated gap is above a limit by more than noise, or return ""."""
    gap = mean_mcdp(rows, adjusts=True)
    allowed = max_mcdp + float(gap.add_noise(gap.noise, -1))
    if not list(comparison.mitigated.values())[-1] > allowed:
        return ""
    return f"max_mcdp={max_mcdp:g} is missed by more than sampling noise"


def compare_classifiers(
    rows: Rows, baseline: ArrayLike, mitigated: ArrayLike, *, cross_fitted: bool = False
) -> Comparison:
    """Compare the scores of a mitigated classifier with those of the baseline.

    Neither model was fitted to the rows. Rows without a group or stratum (code -1)
    count only in the average precision. Noise of the rows is subtracted from the gaps.
    It is added to the mitigated gap if the scores are `cross_fitted`: by maps that were
    fitted to all folds but the row's own.
    """
    old, new = _with_scores(rows, baseline), _with_scores(rows, mitigated)
    y, weights = np.asarray(old.y_true, float), old.weights
    before, slopes_before = average_precision(y, old.y_pred, weights)
    after, slopes = average_precision(y, new.y_pred, weights)
    error = _jackknife_error(after, slopes() - slopes_before(), weights)
    performance = {"average_precision": Figure(before, after, error)}
    return state_figures(old, performance | _compare_gaps(old, new, cross_fitted))


def compare_regressors(
    rows: Rows, baseline: ArrayLike, mitigated: ArrayLike, *, cross_fitted: bool = False
) -> Comparison:
    """Compare the predictions of a mitigated regressor with those of the baseline.

    Rows without a group or stratum (code -1) count only in the squared error and R2.
    Everything else is as in `compare_classifiers`.
    """
    old, new = _with_scores(rows, baseline), _with_scores(rows, mitigated)
    y, weights = np.asarray(old.y_true, float), old.weights
    squares = np.array([(y - old.y_pred) ** 2, (y - new.y_pred) ** 2])
    before, after = np.average(squares, axis=1, weights=weights).tolist()
    change = (squares[1] - after) - (squares[0] - before)
    error = _jackknife_error(after, change / weights.sum(), weights)
    variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    r2_before, r2_after = r2(y, old.y_pred, weights), r2(y, new.y_pred, weights)
    r2_error = error / variance if variance else math.nan
    performance = {
        "squared_error": Figure(before, after, error),
        # The variance of the targets is the same for both models.
        "r2": Figure(r2_before, r2_after, r2_error),
    }
    return state_figures(old, performance | _compare_gaps(old, new, cross_fitted))


def _with_scores(rows: Rows, scores: ArrayLike) -> Rows:
    """Return the rows that have a weight, with given scores as their predictions."""
    return replace(rows, y_pred=np.asarray(scores, float))[rows.weights > 0]


class Figure(NamedTuple):
    """A metric of the baseline and of the mitigated model.

    `error` is the standard error of the difference.
    """

    baseline: float
    mitigated: float
    error: float


def state_figures(rows: Rows, figures: dict[str, Figure]) -> Comparison:
    """Make a comparison of the figures of both models, by the name of the metric."""
    sizes = rows.groups.sizes()
    if rows.strata is not None:
        sizes = count_codes(rows.groups.codes[rows.strata.codes >= 0], rows.n_groups)
    return Comparison(
        n_samples=len(rows),
        baseline={name: figure.baseline for name, figure in figures.items()},
        mitigated={name: figure.mitigated for name, figure in figures.items()},
        standard_error={name: figure.error for name, figure in figures.items()},
        group_sizes={
            rows.labels[group]: int(sizes[group]) for group in np.flatnonzero(sizes)
        },
    )


def _compare_gaps(old: Rows, new: Rows, cross_fitted: bool) -> dict[str, Figure]:
    """Compute the gaps of both models, and the standard error of their difference."""
    sign = 1 if cross_fitted and not np.array_equal(old.y_pred, new.y_pred) else -1
    figures = {}
    for name in ("mcdp", "adjusted_mcdp")[: 1 + (old.n_groups > 2)]:
        adjusts = name == "adjusted_mcdp"
        before = mean_mcdp(old, adjusts).adjust_for_noise(-1)
        after = mean_mcdp(new, adjusts).adjust_for_noise(sign)
        error = gap_error(before, after, old)
        figures[name] = Figure(before.value, after.value, error)
    return figures


class NoisyGap(NamedTuple):
    """MCDP(0), perhaps adjusted for the sizes of groups, and its noise.

    `slopes` computes the derivative of the gap in the weight of each row. `half_rows`
    has half a row as a share of its group, for each group that the gap compares, by
    stratum and group. The other numbers belong to the pair of groups with the smallest
    noise: `noise` is the gap that this pair rarely exceeds where groups do not differ,
    `mean_noise` its average gap in that case, and `scale` the root of the sum of the
    inverse sizes.
    """

    value: float
    slopes: Callable[[], Floats]
    half_rows: dict[tuple[int, int], float]
    noise: float
    scale: float
    mean_noise: float

    def adjust_for_noise(self, sign: int) -> Self:
        """Subtract the noise of the rows from the gap (-1), or add it (1).

        The slopes of a gap that is lowered become steeper in proportion, up to a limit.
        """
        adjusted = float(self.add_noise(self.value, sign))
        stretch = min(
            max(self.value / adjusted, 1.0) if adjusted else math.inf, _MOST_STRETCH
        )
        return self._replace(value=adjusted, slopes=lambda: stretch * self.slopes())

    def add_noise(self, gaps: ArrayLike, signs: ArrayLike) -> Floats:
        """Add the mean square of the noise to squares of gaps, or subtract it."""
        squares = np.square(gaps) + np.asarray(signs) * self.mean_noise**2
        return np.asarray(np.sqrt(np.clip(squares, 0, 1)))


def gap_error(before: NoisyGap, after: NoisyGap, rows: Rows) -> float:
    """Compute the standard error of the difference of two gaps on the same rows."""
    halves = {**before.half_rows, **after.half_rows}.values()
    slopes = after.slopes() - before.slopes()
    error = _jackknife_error(after.value, slopes, rows.weights)
    return math.hypot(error, *halves)


def exceeds_noise(rows: Rows) -> bool:
    """Return whether the scores of two groups differ by more than noise."""
    gap = mean_mcdp(rows, adjusts=True)
    return gap.value > gap.noise


def r2(y: Floats, predicted: Floats, weights: Floats) -> float:
    """Return R2, nan where all targets are equal."""
    if not np.ptp(y):
        return math.nan
    return float(r2_score(y, predicted, sample_weight=weights))


def _jackknife_error(value: float, slopes: Floats, weights: Floats) -> float:
    """Return the standard error of a difference by the infinitesimal jackknife.

    `slopes` are the derivatives of the difference in the weights of the rows. If the
    `value` of the difference is undefined, the error is nan.
    """
    return math.nan if math.isnan(value) else float(np.linalg.norm(weights * slopes))


def average_precision(
    y: Floats, scores: Floats, weights: Floats
) -> tuple[float, Callable[[], Floats]]:
    """Return the average precision, and a function that computes its slopes.

    The slopes are the derivatives of the average precision in the weights of the rows.
    """
    # Steps are the distinct scores from the largest on.
    order = np.argsort(-scores, kind="stable")
    step = np.empty(len(scores), dtype=np.intp)
    step[order] = np.append(0, np.cumsum(np.diff(scores[order]) < 0))[: len(scores)]
    total, positive = np.bincount(step, weights), np.bincount(step, weights * y)
    selected, hits = np.cumsum(total), np.cumsum(positive)
    if not len(y) or hits[-1] == 0:
        return math.nan, partial(np.zeros, len(y))
    precision = hits / selected
    value = float(positive @ precision / hits[-1])

    def slopes() -> Floats:
        # A row is selected at its step and at all later ones: there its weight adds to
        # the rows selected, and if it is positive to the hits.
        per_hit = np.cumsum((positive / selected)[::-1])[::-1]
        per_row = np.cumsum((positive * precision / selected)[::-1])[::-1]
        by_row = y * (precision - value + per_hit)[step] - per_row[step]
        return np.asarray(by_row / hits[-1])

    return value, slopes


def mean_mcdp(rows: Rows, adjusts: bool = False) -> NoisyGap:
    """Return the mean MCDP(0) over strata with two groups, by the weight of their rows.

    Rows with the code -1 are in no stratum. With `adjusts`, the noise of each pair of
    groups in excess of the smallest noise of a pair is subtracted from the gap of the
    pair.
    """
    cells, n_groups = rows.stratum_group_codes, rows.n_groups
    n_strata = 1 if rows.strata is None else len(rows.strata.labels)
    sizes = np.bincount(cells[cells >= 0], minlength=n_strata * n_groups)
    sizes = sizes.reshape(n_strata, n_groups)
    compared = (sizes > 0).sum(axis=1) > 1
    if not compared.any():
        return NoisyGap(
            math.nan,
            slopes=partial(np.zeros, len(rows)),
            half_rows={},
            noise=math.nan,
            scale=math.nan,
            mean_noise=math.nan,
        )
    n_tests = math.comb(int(sizes.any(axis=0).sum()), 2) * int(compared.sum())
    critical = float(kolmogi(_LEVEL / n_tests))
    strata = [positions for _, positions in rows.split_by_stratum()]
    strata = [strata[stratum] for stratum in np.flatnonzero(compared)]
    weights = rows.weights
    total = sum(weights[positions].sum() for positions in strata)
    shares = [float(weights[positions].sum() / total) for positions in strata]
    gaps = [
        _largest_gap(
            rows if len(positions) == len(rows) else rows[positions],
            critical if adjusts else 0.0,
        )
        for positions in strata
    ]
    value, scale, mean_noise = np.dot(
        shares, [(gap.value, gap.scale, gap.mean_noise) for gap in gaps]
    ).tolist()

    def slopes() -> Floats:
        by_row = np.zeros(len(rows))
        for positions, share, gap in zip(strata, shares, gaps, strict=True):
            by_row[positions] = share * gap.slopes() + (gap.value - value) / total
        return by_row

    half_rows = {
        (stratum, group): share * half
        for stratum, (share, gap) in enumerate(zip(shares, gaps, strict=True))
        for (_, group), half in gap.half_rows.items()
    }
    noise = min(1.0, critical * scale)
    return NoisyGap(value, slopes, half_rows, noise, scale, mean_noise)


def _largest_gap(rows: Rows, critical: float = 0.0) -> NoisyGap:
    """Return the gap of the pair of groups whose adjusted gap is largest.

    The noise of a pair is `critical` times the square root of the sum of its inverse
    sizes; the excess over the smallest noise of a pair is subtracted from its gap. If
    there are many groups, only pairs of the largest groups are compared, as their noise
    is smallest. The slopes are computed at the threshold of the largest difference.
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

    value, largest_pair = find_largest(ceilings, adjusted)
    pair = pairs[:, largest_pair].tolist()
    if critical == 0 and statistic.n_groups > MAX_PAIRWISE:
        value = MCDP().value(statistic)

    def slopes() -> Floats:
        gap = gap_between(statistic, *pair)
        best = int(np.abs(gap.signed).argmax())
        below, by_row = rows.y_pred <= gap.scores[best], np.zeros(len(rows))
        signs = (1, -1) if gap.signed[best] >= 0 else (-1, 1)
        for group, sign in zip(pair, signs, strict=True):
            in_group = codes == group
            share = weights[in_group] @ below[in_group] / totals[group]
            by_row[in_group] = sign * (below[in_group] - share) / totals[group]
        return by_row

    halves = {(0, int(present[g])): float(inverse_sizes[g]) / 2 for g in pair}
    smallest = float(scales.min())
    mean_noise = smallest * _mean_distance(rows)
    return NoisyGap(value, slopes, halves, critical * smallest, smallest, mean_noise)


def _mean_distance(rows: Rows) -> float:
    """Simulate the mean of the largest distance between a Brownian bridge and 0.

    The distance is taken at the heights of the scores in the CDF of all rows. The
    result times `scale` is the mean of the largest distance between the empirical CDFs
    of two groups that do not differ. With two distinct scores it is less than half of
    the result for scores that all differ.
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
