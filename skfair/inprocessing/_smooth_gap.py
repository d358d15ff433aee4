"""How far apart the groups' scores are, with a gradient: the one place of the gap."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.spatial.distance import pdist
from scipy.special import expit, logsumexp

Objective: TypeAlias = Literal["mcdp", "dp", "abcc"]
OBJECTIVES: tuple[Objective, ...] = ("mcdp", "dp", "abcc")

Array: TypeAlias = NDArray[np.floating]

#: Least and largest number of steps that thresholds from 0 to 1 are apart.
_STEPS = (64, 1024)
#: Rows whose sigmoids are in memory at once.
_ROWS_AT_ONCE = 4096
#: Newton steps from the best threshold of the grid to the best of all.
NEWTON_STEPS = 6


@dataclass(frozen=True, eq=False)
class SmoothGap:
    """A differentiable gap between groups.

    Attributes
    ----------
    value : float
        The gap, at least 0.
    gradient : ndarray of shape (n_samples,)
        Derivative of `value` in each score.
    threshold : float
        Where the CDFs are furthest apart; nan for ``"dp"`` and without a gap.
    pair : tuple of int
        The groups furthest apart, that with the lower scores at `threshold` (for
        ``"dp"``, on average) first; (-1, -1) if fewer than two are there.
    """

    value: float
    gradient: Array
    threshold: float
    pair: tuple[int, int]


def smooth_gap(
    scores: Array,
    codes: NDArray[np.integer],
    n_groups: int,
    sample_weight: Array | None = None,
    *,
    temperature: float,
    objective: Objective = "mcdp",
    sharpness: float = math.inf,
) -> SmoothGap:
    r"""Smooth gap between the score distributions of groups, and its gradient.

    Steps of a CDF are replaced by sigmoids,

    .. math::
        F_g(t) = \sum_{i \in g} w_i \, \sigma(\tau (t - s_i)) / W_g .

    ``"mcdp"`` is the largest :math:`|F_g(t) - F_h(t)|` over thresholds and pairs of
    groups, ``"abcc"`` the largest integral of it over pairs, and ``"dp"`` the largest
    difference of mean scores, which knows no temperature.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        In [0, 1].
    codes : ndarray of shape (n_samples,)
        Group of each row, from 0 to ``n_groups - 1``; -1 leaves a row out.
    n_groups : int
        Number of groups. Those without rows or weight are left out.
    sample_weight : ndarray of shape (n_samples,), default=None
        Non-negative weights.
    temperature : float
        :math:`\tau > 0`. The larger, the nearer to the gap of the CDFs themselves
        (theorem 3.5), and the fewer the scores that feel the gradient.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap.
    sharpness : float, default=inf
        Of the maximum over thresholds in ``"mcdp"``. inf is the maximum itself, whose
        place can jump. A finite :math:`\kappa` takes
        :math:`\log \mathrm{mean}_t \exp(\kappa \, \mathrm{gap}(t)) / \kappa` over a
        grid of thresholds: less than the maximum, with a gradient that averages those
        of all thresholds with weights proportional to
        :math:`\exp(\kappa \, \mathrm{gap}(t))`.

    Returns
    -------
    SmoothGap
        Value 0 and gradient 0 if fewer than two groups are there.

    Notes
    -----
    The thresholds are a grid of [0, 1]. For the maximum itself, Newton steps refine
    the best of them; there the derivative in the threshold is zero, so that the
    gradient at a fixed threshold is the whole gradient (the envelope theorem). At each
    threshold the largest difference over pairs is the largest minus the least
    :math:`F_g`.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Section 3.4.
    """
    scores = np.asarray(scores, dtype=np.float64)
    shares, present = _shares(codes, n_groups, sample_weight)
    if len(present) < 2:
        return SmoothGap(0.0, np.zeros(len(scores)), math.nan, (-1, -1))
    if objective == "dp":
        return _mean_gap(scores, codes, shares, present)
    thresholds = threshold_grid(temperature)
    cdfs = _cdfs(scores, codes, shares, n_groups, temperature, thresholds)[present]
    heights = cdfs.max(axis=0) - cdfs.min(axis=0)
    best = int(heights.argmax())
    if objective == "mcdp" and math.isinf(sharpness):
        pair = _widest(cdfs[:, best], present)
        signed = _signs(codes, pair) * shares
        best_threshold = _climb(scores, signed, temperature, thresholds[best])
        below = expit(temperature * (best_threshold - scores))
        gradient = -temperature * signed * below * (1 - below)
        value = max(0.0, float(signed @ below))  # rounding may fall below
        return SmoothGap(value, gradient, best_threshold, pair)
    if objective == "mcdp":
        value, slopes, (first, second) = _soft_maximum(cdfs, heights, sharpness)
    else:
        value, slopes, (first, second), best = _area(cdfs, thresholds)
    all_slopes = np.zeros((n_groups, len(thresholds)))
    all_slopes[present] = slopes
    gradient = _pull_back(scores, codes, shares, temperature, thresholds, all_slopes)
    pair = (int(present[first]), int(present[second]))
    return SmoothGap(value, gradient, float(thresholds[best]), pair)


def threshold_grid(temperature: float) -> Array:
    """Thresholds in [0, 1], closer than the sigmoids are wide where that is cheap.

    Parameters
    ----------
    temperature : float

    Returns
    -------
    ndarray of shape (n_thresholds,)
    """
    low, high = _STEPS
    return np.linspace(0, 1, int(min(max(2 * temperature, low), high)) + 1)


def _shares(
    codes: NDArray[np.integer], n_groups: int, sample_weight: Array | None
) -> tuple[Array, NDArray[np.intp]]:
    """Weight of each row within its group, and the groups that have weight."""
    counted = codes >= 0
    weights = counted.astype(np.float64)
    if sample_weight is not None:
        weights *= sample_weight
    totals = np.bincount(codes[counted], weights[counted], minlength=n_groups)
    present = np.flatnonzero(totals > 0)
    totals[totals <= 0] = 1.0
    return weights / totals[codes], present


def _mean_gap(
    scores: Array,
    codes: NDArray[np.integer],
    shares: Array,
    present: NDArray[np.intp],
) -> SmoothGap:
    counted = codes >= 0
    means = np.bincount(codes[counted], (shares * scores)[counted])[present]
    low, high = int(present[means.argmin()]), int(present[means.argmax()])
    if low == high:  # all means are equal
        low, high = int(present[0]), int(present[1])
    gradient = -_signs(codes, (low, high)) * shares
    return SmoothGap(float(np.ptp(means)), gradient, math.nan, (low, high))


def _signs(codes: NDArray[np.integer], pair: tuple[int, int]) -> Array:
    """One for rows of the pair's first group, minus one for those of its second."""
    signs: Array = (codes == pair[0]).astype(np.float64) - (codes == pair[1])
    return signs


def _widest(heights: Array, present: NDArray[np.intp]) -> tuple[int, int]:
    """Find the groups with the largest and the least CDF."""
    first, second = int(heights.argmax()), int(heights.argmin())
    if first == second:  # all are equal
        first, second = 0, 1
    return int(present[first]), int(present[second])


def _blocks(n_samples: int) -> Iterator[slice]:
    for start in range(0, n_samples, _ROWS_AT_ONCE):
        yield slice(start, start + _ROWS_AT_ONCE)


def _sigmoids(scores: Array, temperature: float, thresholds: Array) -> Array:
    return np.asarray(expit(temperature * (thresholds - scores[:, None])))


def _cdfs(
    scores: Array,
    codes: NDArray[np.integer],
    shares: Array,
    n_groups: int,
    temperature: float,
    thresholds: Array,
) -> Array:
    """Smooth CDF of each group at each threshold, (n_groups, n_thresholds)."""
    total = np.zeros((n_groups, len(thresholds)))
    for rows in _blocks(len(scores)):
        below = _sigmoids(scores[rows], temperature, thresholds)
        # Each row belongs to one group: a column with one entry.
        entries = shares[rows], np.maximum(codes[rows], 0), np.arange(len(below) + 1)
        total += csc_array(entries, shape=(n_groups, len(below))) @ below
    return total


def _pull_back(
    scores: Array,
    codes: NDArray[np.integer],
    shares: Array,
    temperature: float,
    thresholds: Array,
    slopes: Array,
) -> Array:
    """Gradient in the scores, from that in the CDFs."""
    used = np.flatnonzero(slopes.any(axis=0))
    gradient = np.empty(len(scores))
    for rows in _blocks(len(scores)):
        below = _sigmoids(scores[rows], temperature, thresholds[used])
        density = below * (1 - below)
        felt = np.einsum("ij,ij->i", density, slopes[:, used][codes[rows]])
        gradient[rows] = -temperature * shares[rows] * felt
    return gradient


def _climb(scores: Array, signed: Array, temperature: float, start: float) -> float:
    """Threshold of the highest gap near a point of the grid, by Newton steps."""
    rows = signed != 0
    scores, signed = scores[rows], signed[rows]
    best = threshold = float(start)
    highest = -math.inf
    for _ in range(NEWTON_STEPS):
        below = expit(temperature * (threshold - scores))
        height, density = float(signed @ below), signed * below * (1 - below)
        if not height > highest:
            break
        best, highest = threshold, height
        slope = temperature * density.sum()
        curvature = temperature**2 * (density @ (1 - 2 * below))
        if curvature >= 0:
            break
        threshold = float(np.clip(threshold - slope / curvature, 0, 1))
    return best


def _soft_maximum(
    cdfs: Array, heights: Array, sharpness: float
) -> tuple[float, Array, tuple[int, int]]:
    """Log-mean-exp of the heights, its slope in each CDF, and the widest pair."""
    exponents = sharpness * heights
    log_total = logsumexp(exponents)
    weights = np.exp(exponents - log_total)
    columns = np.arange(len(heights))
    slopes = np.zeros_like(cdfs)
    slopes[cdfs.argmax(axis=0), columns] += weights
    slopes[cdfs.argmin(axis=0), columns] -= weights
    value = (log_total - math.log(len(heights))) / sharpness
    best = int(heights.argmax())
    pair = _widest(cdfs[:, best], np.arange(len(cdfs)))
    return max(0.0, float(value)), slopes, pair


def _area(cdfs: Array, thresholds: Array) -> tuple[float, Array, tuple[int, int], int]:
    """Area between the two CDFs furthest apart, by the trapezoidal rule."""
    widths = np.full(len(thresholds), thresholds[1])
    widths[[0, -1]] /= 2
    firsts, seconds = np.triu_indices(len(cdfs), 1)
    areas = pdist(cdfs * widths, "cityblock")
    widest = int(areas.argmax())
    first, second = int(firsts[widest]), int(seconds[widest])
    signed = cdfs[first] - cdfs[second]
    best = int(np.abs(signed).argmax())
    slopes = np.zeros_like(cdfs)
    slopes[first] = widths * np.sign(signed)
    slopes[second] = -slopes[first]
    pair = (first, second) if signed[best] >= 0 else (second, first)
    return float(areas[widest]), slopes, pair, best
