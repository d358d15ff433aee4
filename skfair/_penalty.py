"""The gap between groups as a penalty of the log-loss, and its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.spatial.distance import pdist
from scipy.special import expit

from skfair._utils._arrays import Floats, quotients
from skfair._utils._validation import check_choice, check_real
from skfair.groups import rows_by_code

Objective: TypeAlias = Literal["mcdp", "dp", "abcc"]
OBJECTIVES: tuple[Objective, ...] = ("mcdp", "dp", "abcc")

#: Least and largest number of intervals of the grid of thresholds.
_INTERVALS = (64, 1024)
#: Number of rows whose sigmoids are in memory at once.
_BLOCK_SIZE = 4096
#: Newton steps from the best threshold of the grid.
_NEWTON_STEPS = 6


@dataclass(frozen=True, eq=False)
class SmoothGap:
    """A differentiable gap between groups, and its gradient in the scores.

    `threshold` is where the CDFs differ most, nan for ``"dp"``. `pair` are the groups
    that differ most: first the one with the larger CDF at `threshold` (for ``"dp"``,
    with the smaller mean), (-1, -1) if fewer than two groups have weight.
    """

    value: float
    gradient: Floats
    threshold: float
    pair: tuple[int, int]


def smooth_gap(
    scores: Floats,
    codes: NDArray[np.integer],
    sample_weight: Floats | None,
    temperature: float,
    objective: Objective = "mcdp",
    sharpness: float = math.inf,
) -> SmoothGap:
    """Smooth gap between the score distributions of groups, 0 for fewer than two.

    Rows with the code -1 belong to no group. An infinite `sharpness` takes the maximum
    over thresholds for ``"mcdp"``, whose gradient can change abruptly. A finite one
    takes the soft maximum, ``log(mean_t(exp(sharpness * gap(t)))) / sharpness``. The
    soft maximum is less, and its gradient averages over thresholds.
    """
    # The smooth CDF of a group is F_g(t) = sum_i w_i sigmoid(temperature (t - s_i)) / W
    # over its rows i. F_g tends to the CDF as the temperature grows (theorem 3.5 of
    # Jin, Li, Feng, ICML 2024), while fewer scores have a gradient. At each threshold t
    # the largest difference over pairs of groups is the largest minus the smallest F_g.
    present = _groups_with_weight(codes, sample_weight)
    if len(present) < 2:
        return _no_gap(len(scores))
    rows = _Rows.from_arrays(scores, codes, sample_weight, present, temperature)
    if objective == "mcdp" and math.isinf(sharpness):
        return _restore_codes(_maximum(rows), present)
    return _restore_codes(_evaluate(rows, objective, sharpness), present)


def smooth_gap_on_grid(
    totals: Floats, temperature: float, objective: Objective, sharpness: float
) -> SmoothGap:
    """Smooth gap between groups whose scores are equally spaced from 0 to 1.

    `totals` is the weight of each group at each score, shape (n_groups, n_scores), and
    so is the gradient. For ``"mcdp"`` the `sharpness` of the soft maximum is finite.
    """
    present = np.flatnonzero(totals.any(axis=1))
    if len(present) < 2:
        return _no_gap(totals.shape)
    weights = totals[present]
    grid = _Grid(weights / weights.sum(axis=1, keepdims=True), temperature)
    gap = _restore_codes(_evaluate(grid, objective, sharpness), present)
    gradient = np.zeros(totals.shape)
    gradient[present] = gap.gradient
    return replace(gap, gradient=gradient)


def mean_over_strata(
    strata: NDArray[np.integer] | None,
    weights: Floats,
    stratum_gap: Callable[[Any, int], SmoothGap],
) -> SmoothGap:
    """Average the gaps of the strata with two groups, by their weight.

    `stratum_gap` takes the positions of a stratum's rows and its code; rows with the
    code -1 are in none, and without codes all rows are one stratum. Threshold and pair
    belong to the largest gap.
    """
    if strata is None:
        return stratum_gap(slice(None), 0)
    gaps = {
        stratum: (rows, stratum_gap(rows, stratum))
        for stratum, rows in enumerate(rows_by_code(strata))
        if len(rows)
    }
    compared = {s: part for s, part in gaps.items() if part[1].pair[0] >= 0}
    if not compared:
        return _no_gap(len(strata))
    gradient = np.zeros(len(strata))
    totals = {s: float(weights[rows].sum()) for s, (rows, _) in compared.items()}
    total, value = sum(totals.values()), 0.0
    for stratum, (rows, gap) in compared.items():
        share = totals[stratum] / total
        gradient[rows] = share * gap.gradient
        value += share * gap.value
    largest = max((gap for _, gap in compared.values()), key=lambda gap: gap.value)
    return replace(largest, value=value, gradient=gradient)


def threshold_grid(temperature: float) -> Floats:
    """Return thresholds from 0 to 1, closer together than sigmoids are wide."""
    low, high = _INTERVALS
    return np.linspace(0, 1, int(min(max(2 * temperature, low), high)) + 1)


def _groups_with_weight(
    codes: NDArray[np.integer], sample_weight: Floats | None
) -> NDArray[np.intp]:
    """Return the codes of the groups that have weight."""
    grouped = codes >= 0
    weights = None if sample_weight is None else sample_weight[grouped]
    return np.flatnonzero(np.bincount(codes[grouped], weights) > 0)


class _Rows(NamedTuple):
    """Scores, group codes without gaps (-1 for none), and shares of the group."""

    scores: Floats
    codes: NDArray[np.integer]
    shares: Floats
    temperature: float

    @classmethod
    def from_arrays(
        cls,
        scores: Floats,
        codes: NDArray[np.integer],
        sample_weight: Floats | None,
        present: NDArray[np.intp],
        temperature: float,
    ) -> Self:
        """Return rows whose codes number only the groups that are `present`."""
        grouped = codes >= 0
        weights = grouped.astype(np.float64)
        if sample_weight is not None:
            weights *= sample_weight
        totals = np.bincount(codes[grouped], weights[grouped])
        new_codes = np.full(len(totals) + 1, -1)  # the last entry is for the code -1
        new_codes[present] = np.arange(len(present))
        totals = np.append(np.where(totals > 0, totals, 1.0), 1.0)
        scores = np.asarray(scores, dtype=np.float64)
        return cls(scores, new_codes[codes], weights / totals[codes], temperature)

    def sigmoids(self, thresholds: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of rows with their sigmoids, shape (n_rows, n_thresholds)."""
        for start in range(0, len(self.scores), _BLOCK_SIZE):
            block = slice(start, start + _BLOCK_SIZE)
            distances = thresholds - self.scores[block, None]
            yield block, expit(self.temperature * distances)

    def cdfs(self) -> tuple[Floats, Floats]:
        """Return thresholds of the grid, and smooth CDFs, (n_groups, n_thresholds)."""
        thresholds = threshold_grid(self.temperature)
        n_groups = int(self.codes.max()) + 1
        total = np.zeros((n_groups, len(thresholds)))
        for block, below in self.sigmoids(thresholds):
            # Each row belongs to one group: a column with one entry.
            rows, columns = np.maximum(self.codes[block], 0), np.arange(len(below) + 1)
            members = csc_array(
                (self.shares[block], rows, columns), shape=(n_groups, len(below))
            )
            total += members @ below
        return thresholds, total

    def gradient(self, thresholds: Floats, slopes: Floats) -> Floats:
        """Return the gradient in the scores, from the slopes in the CDFs."""
        used = np.flatnonzero(slopes.any(axis=0))
        gradient = np.empty(len(self.scores))
        for block, below in self.sigmoids(thresholds[used]):
            density = below * (1 - below)
            by_row = slopes[:, used][self.codes[block]]
            total = np.einsum("ij,ij->i", density, by_row)
            gradient[block] = -self.temperature * self.shares[block] * total
        return gradient

    def means(self) -> Floats:
        """Return the mean score of each group."""
        grouped = self.codes >= 0
        weighted = (self.shares * self.scores)[grouped]
        return np.bincount(self.codes[grouped], weighted).astype(np.float64)

    def signed_shares(self, pair: tuple[int, int]) -> Floats:
        """Return shares in the pair's first group, minus those in the second."""
        signs = (self.codes == pair[0]).astype(np.float64) - (self.codes == pair[1])
        return np.asarray(signs * self.shares)


class _Grid(NamedTuple):
    """Shares of each group at equally spaced scores, shape (n_groups, n_scores).

    The methods are the same as of `_Rows`; gradients have the shape of the shares.
    """

    shares: Floats
    temperature: float

    def cdfs(self) -> tuple[Floats, Floats]:
        """Return thresholds of the grid, and smooth CDFs, (n_groups, n_thresholds)."""
        below, _ = _sigmoids_on_grid(self.temperature, self.shares.shape[1])
        return threshold_grid(self.temperature), self.shares @ below

    def gradient(self, thresholds: Floats, slopes: Floats) -> Floats:
        """Return the gradient in the scores, from the slopes at all thresholds."""
        _, density = _sigmoids_on_grid(self.temperature, self.shares.shape[1])
        return -self.temperature * self.shares * (slopes @ density.T)

    def means(self) -> Floats:
        """Return the mean score of each group."""
        return self.shares @ np.linspace(0, 1, self.shares.shape[1])

    def signed_shares(self, pair: tuple[int, int]) -> Floats:
        """Return shares in the pair's first group, minus those in the second."""
        signed = np.zeros_like(self.shares)
        signed[pair[0]], signed[pair[1]] = self.shares[pair[0]], -self.shares[pair[1]]
        return signed


@lru_cache(maxsize=1)
def _sigmoids_on_grid(temperature: float, n_scores: int) -> tuple[Floats, Floats]:
    """Return sigmoids of thresholds minus scores, and their slopes."""
    distances = threshold_grid(temperature) - np.linspace(0, 1, n_scores)[:, None]
    below = expit(temperature * distances)
    return below, below * (1 - below)


def _no_gap(shape: int | tuple[int, ...]) -> SmoothGap:
    """Return the gap of fewer than two groups, with a gradient of zeros."""
    return SmoothGap(0.0, np.zeros(shape), math.nan, (-1, -1))


def _restore_codes(gap: SmoothGap, codes: NDArray[np.intp]) -> SmoothGap:
    """Return the gap with the codes of its pair in place of positions in `codes`."""
    first, second = gap.pair
    return replace(gap, pair=(int(codes[first]), int(codes[second])))


def _evaluate(rows: _Rows | _Grid, objective: Objective, sharpness: float) -> SmoothGap:
    """Return the gap of an objective, for ``"mcdp"`` by the soft maximum."""
    if objective == "dp":
        return _mean_gap(rows)
    if objective == "abcc":
        return _area(rows)
    return _soft_maximum(rows, sharpness)


def _extremes(values: NDArray[Any]) -> tuple[int, int]:
    """Find the groups with the largest and the smallest value."""
    first, second = int(values.argmax()), int(values.argmin())
    return (first, second) if first != second else (0, 1)


def _mean_gap(rows: _Rows | _Grid) -> SmoothGap:
    """Return the difference of the largest and the smallest mean score."""
    means = rows.means()
    pair = _extremes(-means)
    return SmoothGap(float(np.ptp(means)), -rows.signed_shares(pair), math.nan, pair)


def _maximum(rows: _Rows) -> SmoothGap:
    """Return the largest gap over all thresholds, also between points of the grid."""
    thresholds, cdfs = rows.cdfs()
    best = int((cdfs.max(axis=0) - cdfs.min(axis=0)).argmax())
    pair = _extremes(cdfs[:, best])
    signed = rows.signed_shares(pair)
    threshold = _refine_threshold(rows, signed, float(thresholds[best]))
    # At the maximum the derivative in the threshold is 0, so the gradient at a fixed
    # threshold is the whole gradient (the envelope theorem).
    below = expit(rows.temperature * (threshold - rows.scores))
    gradient = -rows.temperature * signed * below * (1 - below)
    value = max(0.0, float(signed @ below))  # rounding may make it negative
    return SmoothGap(value, gradient, threshold, pair)


def _refine_threshold(rows: _Rows, signed: Floats, threshold: float) -> float:
    """Find the largest gap near a point of the grid, by Newton steps."""
    used = signed != 0
    scores, signed, temperature = rows.scores[used], signed[used], rows.temperature
    best, largest = threshold, -math.inf
    for _ in range(_NEWTON_STEPS):
        below = expit(temperature * (threshold - scores))
        gap, density = float(signed @ below), signed * below * (1 - below)
        if not gap > largest:
            break
        best, largest = threshold, gap
        slope = temperature * density.sum()
        curvature = temperature**2 * (density @ (1 - 2 * below))
        if curvature >= 0:
            break
        threshold = float(np.clip(threshold - slope / curvature, 0, 1))
    return best


def _soft_maximum(rows: _Rows | _Grid, sharpness: float) -> SmoothGap:
    """Return the soft maximum of the gap over the thresholds of the grid."""
    thresholds, cdfs = rows.cdfs()
    gaps = cdfs.max(axis=0) - cdfs.min(axis=0)
    exponents = sharpness * gaps
    log_total = exponents.max() + math.log(np.exp(exponents - exponents.max()).sum())
    weights = np.exp(exponents - log_total)
    columns = np.arange(len(gaps))
    slopes = np.zeros_like(cdfs)
    slopes[cdfs.argmax(axis=0), columns] += weights
    slopes[cdfs.argmin(axis=0), columns] -= weights
    value = max(0.0, float((log_total - math.log(len(gaps))) / sharpness))
    best = int(gaps.argmax())
    gradient = rows.gradient(thresholds, slopes)
    return SmoothGap(value, gradient, float(thresholds[best]), _extremes(cdfs[:, best]))


def _area(rows: _Rows | _Grid) -> SmoothGap:
    """Return the largest area between two CDFs, by the trapezoidal rule."""
    thresholds, cdfs = rows.cdfs()
    widths = np.full(len(thresholds), thresholds[1])
    widths[[0, -1]] /= 2
    firsts, seconds = np.triu_indices(len(cdfs), 1)
    areas = pdist(cdfs * widths, "cityblock")
    largest = int(areas.argmax())
    first, second = int(firsts[largest]), int(seconds[largest])
    signed = cdfs[first] - cdfs[second]
    best = int(np.abs(signed).argmax())
    slopes = np.zeros_like(cdfs)
    slopes[first] = widths * np.sign(signed)
    slopes[second] = -slopes[first]
    gradient = rows.gradient(thresholds, slopes)
    pair = (first, second) if signed[best] >= 0 else (second, first)
    return SmoothGap(float(areas[largest]), gradient, float(thresholds[best]), pair)


#: Distance of clipped scores from 0 and 1, where log-odds and weights are infinite.
_MARGIN = 1e-4
#: Log-odds of the largest clipped score.
_MOST = math.log((1 - _MARGIN) / _MARGIN)
#: Sharpness of the soft maximum over thresholds, see `smooth_gap`.
_SHARPNESS = 100.0
#: Intervals of the grid of scores: at least, for each unit of temperature, and at most.
#: The grid is much finer than the sigmoids are wide (or, at the most, than thresholds
#: are apart); the gap is exact to about a thousandth.
_MIN_INTERVALS, _INTERVALS_PER_TEMPERATURE, _MAX_INTERVALS = 500, 10, 5000


#: Center and width of log-odds.
Scale: TypeAlias = tuple[float, float]
#: Log-odds as they are.
_AS_THEY_ARE: Scale = (0.0, 1.0)


def scale_of(log_odds: Floats, weights: Floats) -> Scale:
    """Return the scale that gives log-odds the spread of uniform scores."""
    if not weights.any():
        return _AS_THEY_ARE
    even = np.ptp(weights) == 0
    low, center, high = np.quantile(
        log_odds,
        [0.25, 0.5, 0.75],
        weights=None if even else weights,  # which takes a sort of all rows
        method="inverted_cdf",
    )
    # Quartiles of the logistic distribution lie log(3) from its median.
    return float(center), float(high - low) / (2 * math.log(3)) or 1.0


def clip_scores(scores: Floats) -> Floats:
    """Clip scores to the inside of (0, 1)."""
    return np.clip(scores, _MARGIN, 1 - _MARGIN)


@dataclass(frozen=True)
class PenalisedLoss:
    """Mean log-loss plus strength times the smooth gap between the groups' scores.

    Within strata the gap is the mean of the strata's gaps, of the scores
    ``expit((log-odds - center) / width)`` with the stratum's `scales`.
    """

    strength: float
    temperature: float
    objective: Objective
    scales: tuple[Scale, ...] = (_AS_THEY_ARE,)

    def scale_to_labels(self, y: NDArray[Any], weights: Floats) -> Self:
        """Return the loss whose strength suits the share of labels that are 1.

        The log-loss of rare positives is small, and so is what it loses as a gap is
        closed. The strength is multiplied by the variance of the labels over the
        variance of balanced labels.
        """
        share = float(np.average(y, weights=weights))
        return replace(self, strength=self.strength * 4 * share * (1 - share))

    def rescaled(
        self,
        log_odds: Floats,
        weights: Floats,
        strata: NDArray[np.integer] | None = None,
    ) -> Self:
        """Return the loss with scales that make the scores of each stratum uniform.

        Scores crowd near 0 where the positive class is rare, and a smooth gap of them
        is too small. MCDP does not change under increasing maps, the other objectives
        do: they are left as they are.
        """
        if self.objective != "mcdp":
            return self
        log_odds = np.clip(log_odds, -_MOST, _MOST)
        parts = [slice(None)] if strata is None else rows_by_code(strata)
        scales = [scale_of(log_odds[rows], weights[rows]) for rows in parts]
        return replace(self, scales=tuple(scales))

    def gap(
        self,
        log_odds: Floats,
        groups: NDArray[Any],
        weights: Floats,
        strata: NDArray[np.integer] | None,
    ) -> SmoothGap:
        """Return the mean of the gaps of rescaled scores within strata.

        Groups are codes, or probabilities of shape (n_groups, n_samples). The gradient
        is in the log-odds of each row, per unit of weight.
        """
        log_odds = np.clip(log_odds, -_MOST, _MOST)
        find_gap = self.gap_on_grid if groups.ndim == 1 else self._expected_gap

        def rescaled_gap(rows: Any, stratum: int) -> SmoothGap:
            has_scale = stratum < len(self.scales)
            center, width = self.scales[stratum] if has_scale else _AS_THEY_ARE
            rescaled = expit((log_odds[rows] - center) / width)
            gap, slopes = find_gap(rescaled, groups[..., rows], weights[rows])
            gradient = slopes * rescaled * (1 - rescaled) / width
            return replace(gap, gradient=gradient)

        return mean_over_strata(strata, weights, rescaled_gap)

    def _expected_gap(
        self, scores: Floats, probabilities: Floats, weights: Floats
    ) -> tuple[SmoothGap, Floats]:
        """Compute the gap as `gap_on_grid` does, but with soft group membership."""
        below, above = self._places(scores)
        n_points = self._n_steps + 1
        totals = np.zeros((len(probabilities), n_points))
        for total, probability in zip(totals, probabilities, strict=True):
            members = weights * probability
            total += np.bincount(below, members, n_points)
            from_above = np.bincount(below, members * above, n_points)
            total -= from_above
            total[1:] += from_above[:-1]
        gap = smooth_gap_on_grid(totals, *self._options)
        slopes = quotients(gap.gradient, totals)
        steps = np.diff(slopes, append=0)
        expected = np.zeros(len(scores))
        for probability, slope, step in zip(probabilities, slopes, steps, strict=True):
            expected += probability * (slope[below] + above * step[below])
        return gap, expected

    def gap_on_grid(
        self, scores: Floats, codes: NDArray[np.integer], weights: Floats
    ) -> tuple[SmoothGap, Floats]:
        """Return the soft maximum of the gap, and its derivative in each score.

        Unless rows are few beside the points of a grid, each row is split between the
        two points next to its score, and `SmoothGap.gradient` has an entry for each
        point.
        """
        n_groups = max(1, int(codes.max()) + 1)
        n_points = n_groups * (self._n_steps + 1)
        if 16 * len(scores) < n_points:  # fewer rows cost less than the grid
            gap = smooth_gap(scores, codes, weights, *self._options)
            return gap, quotients(gap.gradient, weights)
        below, share_above = self._places(scores)
        weights = weights * (codes >= 0)
        left = np.maximum(codes, 0).astype(np.intp) * (self._n_steps + 1) + below
        totals = np.zeros(n_points)
        totals += np.bincount(left, weights * (1 - share_above), n_points)
        totals += np.bincount(left + 1, weights * share_above, n_points)
        gap = smooth_gap_on_grid(totals.reshape(n_groups, -1), *self._options)
        slopes = quotients(gap.gradient.ravel(), totals)
        slopes = (1 - share_above) * slopes[left] + share_above * slopes[left + 1]
        return gap, np.where(weights > 0, slopes, 0.0)

    @property
    def _options(self) -> tuple[float, Objective, float]:
        """Arguments of `smooth_gap` that are the same for all rows."""
        return self.temperature, self.objective, _SHARPNESS

    @property
    def _n_steps(self) -> int:
        """Number of intervals of the grid of scores."""
        n_steps = int(_INTERVALS_PER_TEMPERATURE * self.temperature)
        return min(max(_MIN_INTERVALS, n_steps), _MAX_INTERVALS)

    def _places(self, scores: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the grid points below the scores, and shares of those above."""
        place = scores * self._n_steps
        below = np.minimum(place.astype(np.intp), self._n_steps - 1)
        return below, place - below


def check_penalised_loss(
    strength: Any, temperature: Any, objective: Any
) -> PenalisedLoss:
    """Return the loss, or raise unless the parameters of its penalty are valid."""
    check_choice("objective", objective, OBJECTIVES)
    return PenalisedLoss(
        strength=check_real("strength", strength, 0, math.inf, closed="left"),
        temperature=check_real(
            "temperature", temperature, 0, math.inf, closed="neither"
        ),
        objective=objective,
    )
