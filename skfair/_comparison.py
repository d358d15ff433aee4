"""Comparison of a mitigated model with the plain one, on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kolmogi
from sklearn.metrics import r2_score

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._results import Result
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import count_codes, keep_labels
from skfair.metrics._mcdp import MCDP, sustained_gap
from skfair.metrics._pairs import (
    MAX_PAIRWISE,
    bound_gaps,
    compared_groups,
    find_largest,
    largest_of_rows,
)
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import gap_between

#: Differences of more standard errors than this exceed noise: of two equally good
#: models, one seems better by more in 2.3 % of samples.
_N_ERRORS = 2.0
#: A gap that is lower by more standard errors than this is a gain. Of 0, 0.5 and 1,
#: the first left worse models, and the last more good ones unused, on small data.
_GAIN_ERRORS = 0.5
#: With fewer rows of the rarer class average precision cannot show what is lost, and
#: with as many in all the gap can.
_FEWEST_RARE, _FEWEST_ROWS = 10, 100
#: Probability that groups of one distribution have a larger gap than `noise`.
_LEVEL = 0.05
#: Square of the mean of Kolmogorov's distribution.
_MEAN_SQUARED = math.pi / 2 * math.log(2) ** 2
#: Most by which taking noise out makes the error of a gap larger: that of a gap next to
#: none grows by a third, those of others by as much as the gap falls.
_MOST_STRETCH = 1.5


class Noise(IntEnum):
    """Ways to treat the noise of rows in the squares of gaps of a comparison.

    It is taken out where the rows gave nothing to anything, and added where a map was
    fitted to all folds of the rows but that of each row.
    """

    TAKEN_OUT, KEPT, ADDED = -1, 0, 1


@dataclass(frozen=True, repr=False, kw_only=True)
class _BesidePlain(Result):
    """What both comparisons say of the gap, and of what is to be done about it."""

    #: What the models are.
    _model: ClassVar[str]
    mcdp: float
    plain_mcdp: float
    adjusted_mcdp: float
    plain_adjusted_mcdp: float
    mcdp_error: float
    noise: float
    max_mcdp: float | None
    n_samples: int
    group_sizes: dict[Hashable, int] = field(repr=False)

    #: How much worse the mitigated model predicts, and the standard error.
    _loss: ClassVar[Any]
    #: All numbers of both models, in words.
    _figures: ClassVar[Any]

    @property
    def _too_few(self) -> str:
        """Why the rows are too few to tell what is lost; empty if they are enough."""
        return ""

    @property
    def problems(self) -> list[str]:
        """What is worse than it should be by more than noise, one sentence for each."""
        loss, error = self._loss
        gap, plain = self.adjusted_mcdp, self.plain_adjusted_mcdp
        less_fair = gap - plain > _N_ERRORS * self.mcdp_error
        problems = []
        if less_fair or (loss > _N_ERRORS * error and gap >= plain):
            problems.append(self._figures)
        elif self._too_few:
            problems.append(f"no gain is shown, and {self._too_few}: {self._figures}")
        if self.max_mcdp is not None and gap > self.max_mcdp + self.noise:
            problems.append(
                f"MCDP(0) is {gap:.3f}, above the largest gap asked for, "
                f"{self.max_mcdp:g}, by more than sampling noise ({self.noise:.3f}); "
                f"the plain {self._model}'s is {plain:.3f}"
            )
        return problems

    @property
    def beyond_noise(self) -> bool:
        """Whether scores of two groups differ by more than noise in the plain model."""
        return self.plain_adjusted_mcdp > self.noise

    @property
    def shows_gain(self) -> bool:
        """Whether MCDP(0) is below the plain one by half a standard error or more.

        It is adjusted for the sizes of the groups. Where rows are too few to tell what
        is lost, a gain is a whole standard error.
        """
        gain = self.plain_adjusted_mcdp - self.adjusted_mcdp
        enough = gain > 0 and gain >= _GAIN_ERRORS * self.mcdp_error
        return enough and not self._too_few

    @property
    def _gaps(self) -> str:
        """Gaps of both models, in words."""
        gaps = f"MCDP(0) is {self.mcdp:.3f}, the plain {self._model}'s is "
        gaps += f"{self.plain_mcdp:.3f}"
        if self.plain_adjusted_mcdp != self.plain_mcdp:
            gaps += (
                f", adjusted for the sizes of the groups {self.adjusted_mcdp:.3f} and "
                f"{self.plain_adjusted_mcdp:.3f}"
            )
        return f"{gaps} (standard error of the difference {self.mcdp_error:.3f})"

    def warn(self, mitigator: object, remedy: str) -> None:
        """Warn the user of problems, or that no gain is shown.

        Models with the same figures are both as good.

        Parameters
        ----------
        mitigator : estimator
            What is compared.
        remedy : str
            What the user should change, a sentence without its full stop.

        Warns
        -----
        MitigationWarning
        """
        same = self.mcdp == self.plain_mcdp and self._loss[0] == 0
        problems = self.problems
        if not (problems or same or self.shows_gain):
            problems = [f"no gain is shown: {self._figures}"]
        if problems:
            warn_user(
                f"{type(mitigator).__name__}, on {self.n_samples} held-out rows: "
                f"{'; '.join(problems)}. {remedy}.",
                MitigationWarning,
            )


@dataclass(frozen=True, repr=False, kw_only=True)
class PlainComparison(_BesidePlain):
    """A mitigated classifier beside the plain one, on rows that neither was fitted to.

    Attributes
    ----------
    average_precision, plain_average_precision : float
        Average precision of the mitigated and of the plain classifier.
    average_precision_error : float
        Standard error of the difference of the two.
    mcdp, plain_mcdp : float
        MCDP(0) of the mitigated and of the plain classifier, the largest over pairs of
        groups. With `control_features` it is the mean over strata, by the weight of
        their rows, of those that have two groups.
    adjusted_mcdp, plain_adjusted_mcdp : float
        The same, where the gap of a pair of groups is lowered by what its noise exceeds
        that of the pair with the least noise. So a group of a few rows, whose gap is
        mostly noise, does not hide those of the others. With two groups it is MCDP(0).
    mcdp_error : float
        Standard error of the difference of the two adjusted gaps.
    noise : float
        The MCDP(0) that two groups exceed in at most 5 % of samples if their scores
        have the same distribution (for the pair with the least noise, and all pairs
        together).
    max_mcdp : float or None
        Largest gap that the mitigator was asked for, None if it was asked for none.
    n_samples : int
        Number of rows with a weight.
    n_rarer : int
        Number of those rows that are of the rarer class.
    group_sizes : dict
        Number of those rows in each group that has any; with `control_features` of
        those that are in a stratum.

    Notes
    -----
    Numbers are nan where they are undefined: without positive rows, or with fewer than
    two groups. Standard errors are those of the infinitesimal jackknife, from the
    derivative of the difference in the weight of each row: both classifiers are
    compared on the same rows, whose noise cancels in part. To the error of the gap half
    a row of each group is added, since a group of one row has no variance within.
    The noise is a quantile of Kolmogorov's distribution, with Bonferroni's correction,
    and over strata the mean of such quantiles.

    Gaps are estimates of those on many new rows. The noise of rows makes any gap
    larger. Of groups of one distribution with the sizes :math:`n_g` and :math:`n_h` the
    gap is :math:`\\sqrt{\\pi / 2} \\, \\log 2 \\, \\sqrt{1 / n_g + 1 / n_h}` in the
    mean. The square of that, for the pair with the least noise, is taken out of the
    square of a gap, down to 0. It is added instead to that of a map that was fitted to
    all folds but one, and measured on them in turn: what the map has learnt from noise
    cancels when the folds are put together, but not on new rows. Where
    `MADDPostProcessor` or `RepairedRegressor` find a band for `max_mcdp`, the gap is
    the one that they expect.

    References
    ----------
    .. [1] Efron. "The Jackknife, the Bootstrap and Other Resampling Plans". SIAM, 1982.
       Chapter 6 is on the infinitesimal jackknife.
    """

    _model = "classifier"

    average_precision: float
    plain_average_precision: float
    average_precision_error: float
    n_rarer: int

    @property
    def _too_few(self) -> str:
        """Why average precision may have been lost for a gap that may be noise.

        With fewer than ten rows of the rarer class a lower average precision is enough
        where the gap is above noise and not lower by a standard error.
        """
        few = self.n_rarer < _FEWEST_RARE and self.n_samples >= _FEWEST_ROWS
        least = max(self.noise, self.plain_adjusted_mcdp - self.mcdp_error)
        if not (few and self._loss[0] > 0 and self.adjusted_mcdp > least):
            return ""
        return (
            f"{self.n_rarer} rows of the rarer class are too few to tell what is lost"
        )

    @property
    def _loss(self) -> tuple[float, float]:
        """Loss of average precision, and its standard error."""
        loss = self.plain_average_precision - self.average_precision
        return loss, self.average_precision_error

    @property
    def _figures(self) -> str:
        """All numbers of both classifiers, in words."""
        return (
            f"{self._gaps}; average precision is {self.average_precision:.3f} and "
            f"{self.plain_average_precision:.3f} ({self.average_precision_error:.3f})"
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class RegressorComparison(_BesidePlain):
    """A mitigated regressor beside the plain one, on rows that neither was fitted to.

    Attributes
    ----------
    squared_error, plain_squared_error : float
        Mean squared error of the mitigated and of the plain regressor.
    squared_error_error : float
        Standard error of the difference of the two.
    r2, plain_r2 : float
        Share of the target's variance that each explains; nan if the target is
        constant.
    mcdp, plain_mcdp : float
        MCDP(0) of the predictions of both, the largest over pairs of groups; with
        `control_features` the mean over strata, as in `PlainComparison`. Those of
        `UnawareRegressor` are the gaps to expect on new rows, as there; those of
        `RepairedRegressor` are the MCDP(0) of the held-out rows.
    adjusted_mcdp, plain_adjusted_mcdp : float
        The same, where the gap of a pair of groups is lowered by what its noise exceeds
        that of the pair with the least noise. So a group of a few rows, whose gap is
        mostly noise, does not hide those of the others. With two groups it is MCDP(0).
    mcdp_error : float
        Standard error of the difference of the two adjusted gaps.
    noise : float
        The MCDP(0) that two groups exceed in at most 5 % of samples if their
        predictions have the same distribution (for the pair with the least noise, and
        all pairs together).
    max_mcdp : float or None
        Largest gap that the mitigator was asked for, None if it was asked for none.
    n_samples : int
        Number of rows with a weight.
    group_sizes : dict
        Number of those rows in each group that has any.
    """

    _model = "regressor"

    squared_error: float
    plain_squared_error: float
    squared_error_error: float
    r2: float
    plain_r2: float

    @property
    def _loss(self) -> tuple[float, float]:
        """Increase of the squared error, and its standard error."""
        loss = self.squared_error - self.plain_squared_error
        return loss, self.squared_error_error

    @property
    def _figures(self) -> str:
        """All numbers of both regressors, in words."""
        return (
            f"{self._gaps}; the squared error is {self.squared_error:.4g} and "
            f"{self.plain_squared_error:.4g} ({self.squared_error_error:.2g}), R2 is "
            f"{self.r2:.3f} and {self.plain_r2:.3f}"
        )


#: Comparison of a mitigated model with the plain one.
Comparison: TypeAlias = PlainComparison | RegressorComparison


def compare_with_plain(
    rows: Rows,
    plain_scores: ArrayLike,
    scores: ArrayLike,
    *,
    max_mcdp: float | None = None,
    noise: Noise = Noise.KEPT,
) -> PlainComparison:
    """Compare the scores of a mitigated classifier with those of the plain one.

    Rows were used to fit neither. Those of no group or stratum (code -1) count in the
    average precision only. `noise` is that of the mitigated gap. Unless it is kept, it
    is taken out of the plain one.
    """
    y, old, new, weights, gaps = _compare_gaps(
        rows, plain_scores, scores, max_mcdp, noise
    )
    plain_precision, plain_slopes = average_precision(y, old, weights)
    precision, slopes = average_precision(y, new, weights)
    return PlainComparison(
        average_precision=precision,
        plain_average_precision=plain_precision,
        average_precision_error=_error(precision, slopes() - plain_slopes(), weights),
        n_rarer=int(min(y.sum(), len(y) - y.sum())),
        **gaps,
    )


def compare_regressors(
    rows: Rows,
    plain_scores: ArrayLike,
    scores: ArrayLike,
    *,
    max_mcdp: float | None = None,
    noise: Noise = Noise.KEPT,
) -> RegressorComparison:
    """Compare the predictions of a mitigated regressor with those of the plain one.

    Rows were used to fit neither. Those of no group or stratum (code -1) count in the
    squared error only. `noise` is as in `compare_with_plain`.
    """
    y, old, new, weights, gaps = _compare_gaps(
        rows, plain_scores, scores, max_mcdp, noise
    )
    errors, plain_errors = (y - new) ** 2, (y - old) ** 2
    error, plain_error = (
        float(np.average(values, weights=weights)) for values in (errors, plain_errors)
    )
    slopes = (errors - error) / weights.sum() - (
        plain_errors - plain_error
    ) / weights.sum()
    return RegressorComparison(
        squared_error=error,
        plain_squared_error=plain_error,
        squared_error_error=_error(error, slopes, weights),
        r2=r2(y, new, weights),
        plain_r2=r2(y, old, weights),
        **gaps,
    )


def r2(y: Floats, predicted: Floats, weights: Floats) -> float:
    """R2, nan of targets that are all equal."""
    if not np.ptp(y):
        return math.nan
    return float(r2_score(y, predicted, sample_weight=weights))


def _compare_gaps(
    rows: Rows,
    plain_scores: ArrayLike,
    scores: ArrayLike,
    max_mcdp: Any,
    noise: Noise,
) -> tuple[Floats, Floats, Floats, Floats, dict[str, Any]]:
    """Return targets, plain and new scores, and weights of rows with weight, and gaps.

    The gaps are the fields of a comparison that do not depend on the target.
    """
    counts = rows.weights > 0
    old, new = (
        np.asarray(plain_scores, float)[counts],
        np.asarray(scores, float)[counts],
    )
    rows = rows[counts]
    y, weights = np.asarray(rows.y_true, float), rows.weights
    sizes = rows.groups.sizes()
    if rows.strata is not None:
        sizes = count_codes(rows.groups.codes[rows.strata.codes >= 0], rows.n_groups)
    plain_gap = mean_mcdp(replace(rows, y_pred=old))
    gap = mean_mcdp(replace(rows, y_pred=new))
    if noise is not Noise.KEPT:
        same = np.array_equal(old, new)
        gap = gap.move_to_new_rows(Noise.TAKEN_OUT if same else noise)
        plain_gap = plain_gap.move_to_new_rows(Noise.TAKEN_OUT)
    slopes = gap.slopes() - plain_gap.slopes()
    half_rows = {**plain_gap.half_rows, **gap.half_rows}.values()
    gaps = {
        "mcdp": gap.value,
        "plain_mcdp": plain_gap.value,
        "adjusted_mcdp": gap.adjusted,
        "plain_adjusted_mcdp": plain_gap.adjusted,
        "mcdp_error": math.hypot(_error(gap.value, slopes, weights), *half_rows),
        "noise": plain_gap.noise,
        "max_mcdp": max_mcdp,
        "n_samples": len(y),
        "group_sizes": {
            rows.labels[group]: int(sizes[group]) for group in np.flatnonzero(sizes)
        },
    }
    return y, old, new, weights, gaps


class _Gap(NamedTuple):
    """MCDP(0), and that adjusted for the sizes of groups.

    `slopes` computes the derivative of the adjusted gap in the weight of each row.
    `half_rows` is half a row as a share of each group that it compares, by stratum and
    group. `noise` is the gap that the pair of groups with the least noise exceeds by
    chance, and `scale` the root of the sum of the inverse sizes of that pair.
    """

    value: float
    adjusted: float
    slopes: Callable[[], Floats]
    half_rows: dict[tuple[int, int], float]
    noise: float
    scale: float

    def move_to_new_rows(self, noise: Noise) -> Self:
        """Take the noise of the rows out, or add it.

        A gap that falls by that changes by more with each row than before.
        """
        moved = self.add_noise([self.value, self.adjusted], noise)
        value, adjusted = moved.tolist()
        stretch = _MOST_STRETCH
        if adjusted:
            stretch = min(max(self.adjusted / adjusted, 1.0), _MOST_STRETCH)
        return self._replace(
            value=value,
            adjusted=adjusted,
            slopes=lambda: stretch * self.slopes(),
            noise=float(self.add_noise(self.noise, Noise.TAKEN_OUT)),
        )

    def add_noise(self, gaps: ArrayLike, signs: ArrayLike) -> Floats:
        """Move the squares of gaps by the square of what noise is in the mean."""
        moved = np.asarray(signs) * _MEAN_SQUARED * self.scale**2
        return np.asarray(np.sqrt(np.clip(np.square(gaps) + moved, 0, 1)))


def _error(value: float, slopes: Floats, weights: Floats) -> float:
    """Return the standard error of a difference, by the infinitesimal jackknife.

    `slopes` are its derivatives in the weights of the rows.
    """
    return math.nan if math.isnan(value) else float(np.linalg.norm(weights * slopes))


def average_precision(
    y: Floats, scores: Floats, weights: Floats
) -> tuple[float, Callable[[], Floats]]:
    """Average precision, the mean precision at the positive rows, and its slopes.

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


def mean_mcdp(rows: Rows) -> _Gap:
    """Mean MCDP(0) of the strata that have two groups, by the weight of their rows.

    Rows with the code -1 are in no stratum.
    """
    cells, n_groups = rows.cells, rows.n_groups
    n_strata = 1 if rows.strata is None else len(rows.strata.labels)
    sizes = np.bincount(cells[cells >= 0], minlength=n_strata * n_groups)
    sizes = sizes.reshape(n_strata, n_groups)
    compared = (sizes > 0).sum(axis=1) > 1
    if not compared.any():
        undefined = math.nan
        no_slopes = partial(np.zeros, len(rows))
        return _Gap(undefined, undefined, no_slopes, {}, undefined, undefined)
    n_tests = math.comb(int(sizes.any(axis=0).sum()), 2) * int(compared.sum())
    critical = float(kolmogi(_LEVEL / n_tests))
    weights = rows.weights
    parts = [
        own
        for (_, own), several in zip(rows.by_stratum(), compared, strict=True)
        if several
    ]
    total = sum(weights[own].sum() for own in parts)
    value, adjusted, scale, half_rows, gaps = 0.0, 0.0, 0.0, {}, []
    for stratum, own in zip(np.flatnonzero(compared).tolist(), parts, strict=True):
        gap = _largest_gap(rows if len(own) == len(rows) else rows[own], critical)
        share = float(weights[own].sum() / total)
        value += share * gap.value
        adjusted += share * gap.adjusted
        scale += share * gap.scale
        for (_, group), half in gap.half_rows.items():
            half_rows[stratum, group] = share * half
        gaps.append((own, share, gap))

    def slopes() -> Floats:
        by_row = np.zeros(len(rows))
        for own, share, gap in gaps:
            by_row[own] = share * gap.slopes() + (gap.adjusted - adjusted) / total
        return by_row

    noise = min(1.0, critical * scale)
    return _Gap(value, adjusted, slopes, half_rows, noise, scale)


def _largest_gap(rows: Rows, critical: float = 0.0) -> _Gap:
    """MCDP(0), and the gap of the pair that is largest when adjusted for sizes.

    The noise of a pair is `critical` times the square root of the sum of its inverse
    sizes. Of many groups the pairs are those of the largest ones, which have the least
    noise. The slopes are those of the gap at the threshold that attains it.
    """
    sizes = rows.groups.sizes()
    groups, present = keep_labels(rows.groups, sizes > 0), np.flatnonzero(sizes)
    statistic = replace(rows, groups=groups).statistic(GroupedScores)
    codes = groups.codes
    weights = rows.weights
    totals = np.bincount(codes, weights)
    inverse_sizes = np.bincount(codes, weights**2) / totals**2
    largest = np.sort(np.argsort(inverse_sizes, kind="stable")[:MAX_PAIRWISE])
    pairs = largest[np.array(compared_groups(len(largest), "pairwise"))]
    scales = np.sqrt(inverse_sizes[pairs].sum(axis=0))
    noises = critical * scales
    lower_by = noises - noises.min()
    bounds = np.full(len(scales), np.inf)
    if len(scales) > 1:
        first, second = pairs
        bounds = bound_gaps(statistic, first, second, lambda _: largest_of_rows)
        bounds -= lower_by

    def adjusted(i: int) -> float:
        return sustained_gap(gap_between(statistic, *pairs[:, i])) - float(lower_by[i])

    adjusted_gap, best = find_largest(bounds, adjusted)
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
    value = adjusted_gap if len(scales) == 1 else MCDP().value(statistic)
    least = float(scales.min())
    return _Gap(value, adjusted_gap, slopes, halves, critical * least, least)
