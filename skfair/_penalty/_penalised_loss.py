"""Log-loss plus a penalty on the gap between groups, and the penalty's gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from skfair._penalty._smooth_gap import (
    OBJECTIVES,
    Objective,
    SmoothGap,
    mean_over_strata,
    smooth_gap,
    smooth_gap_on_grid,
)
from skfair._training_rows import Array
from skfair._utils._arrays import quotients
from skfair._utils._validation import check_choice, check_real
from skfair.groups import rows_by_code

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


class Scale(NamedTuple):
    """Center and width of log-odds."""

    center: float = 0.0
    width: float = 1.0

    @classmethod
    def of(cls, log_odds: Array, weights: Array) -> Self:
        """Return the scale on which log-odds are as those of uniform scores."""
        if not weights.any():
            return cls()
        even = np.ptp(weights) == 0
        low, center, high = np.quantile(
            log_odds,
            [0.25, 0.5, 0.75],
            weights=None if even else weights,  # which takes a sort of all rows
            method="inverted_cdf",
        )
        # Quartiles of the logistic distribution lie log(3) from its median.
        return cls(float(center), float(high - low) / (2 * math.log(3)) or 1.0)


def clip_scores(scores: Array) -> Array:
    """Clip scores to the inside of (0, 1)."""
    return np.clip(scores, _MARGIN, 1 - _MARGIN)


@dataclass(frozen=True)
class PenalisedLoss:
    """Mean log-loss plus strength times the smooth gap between the groups' scores.

    Within strata it is the mean of their gaps, each of ``expit((log-odds - center) /
    width)`` with the stratum's `scales`.
    """

    strength: float
    temperature: float
    objective: Objective
    scales: tuple[Scale, ...] = (Scale(),)

    def for_labels(self, y: NDArray[Any], weights: Array) -> Self:
        """Return the loss whose strength suits the share of labels that are 1.

        The log-loss of rare positives is small, and so is what it loses as a gap is
        closed. The strength is multiplied by the variance of the labels over that of
        balanced ones.
        """
        share = float(np.average(y, weights=weights))
        return replace(self, strength=self.strength * 4 * share * (1 - share))

    def rescaled(
        self,
        log_odds: Array,
        weights: Array,
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
        scales = [Scale.of(log_odds[rows], weights[rows]) for rows in parts]
        return replace(self, scales=tuple(scales))

    def penalty_gradient(
        self,
        log_odds: Array,
        codes: NDArray[np.integer],
        weights: Array,
        strata: NDArray[np.integer] | None = None,
    ) -> Array:
        """Differentiate the penalty in the log-odds of each row.

        The derivative is divided by the row's share of the total weight.
        """
        gap = self.gap(log_odds, codes, weights, strata)
        return np.asarray(self.strength * weights.sum() * gap.gradient)

    def expected_gradient(
        self,
        log_odds: Array,
        probabilities: Array,
        weights: Array,
        strata: NDArray[np.integer] | None = None,
    ) -> Array:
        """Differentiate the penalty with soft group membership.

        `probabilities` of the groups have shape (n_groups, n_samples).
        """

        def gap_of(rescaled: Array, rows: Any) -> tuple[SmoothGap, Array]:
            return self._expected_gap(rescaled, probabilities[:, rows], weights[rows])

        gap = self._within_strata(log_odds, weights, strata, gap_of)
        return np.asarray(self.strength * weights.sum() * gap.gradient)

    def gap(
        self,
        log_odds: Array,
        codes: NDArray[np.integer],
        weights: Array,
        strata: NDArray[np.integer] | None,
    ) -> SmoothGap:
        """Gap of the rescaled scores, with the gradient of `_within_strata`."""

        def gap_of(rescaled: Array, rows: Any) -> tuple[SmoothGap, Array]:
            return self.gap_on_grid(rescaled, codes[rows], weights[rows])

        return self._within_strata(log_odds, weights, strata, gap_of)

    def _within_strata(
        self,
        log_odds: Array,
        weights: Array,
        strata: NDArray[np.integer] | None,
        gap_of: Callable[[Array, Any], tuple[SmoothGap, Array]],
    ) -> SmoothGap:
        """Mean of the gaps of rescaled scores, which `gap_of` takes by stratum.

        The gradient is that in the log-odds of each row, per unit of weight; the
        threshold is a score.
        """
        log_odds = np.clip(log_odds, -_MOST, _MOST)

        def rescaled_gap(rows: Any, stratum: int) -> SmoothGap:
            known = stratum < len(self.scales)
            center, width = self.scales[stratum] if known else Scale()
            rescaled = expit((log_odds[rows] - center) / width)
            gap, slopes = gap_of(rescaled, rows)
            threshold = float(expit(center + width * logit(gap.threshold)))
            gradient = slopes * rescaled * (1 - rescaled) / width
            return replace(gap, gradient=gradient, threshold=threshold)

        return mean_over_strata(strata, weights, rescaled_gap)

    def _expected_gap(
        self, scores: Array, probabilities: Array, weights: Array
    ) -> tuple[SmoothGap, Array]:
        """Compute the gap as `gap_on_grid` does, but with soft group membership."""
        below, above = self._places(scores)
        n_points = self._n_steps + 1
        totals = np.zeros((len(probabilities), n_points))
        for total, probability in zip(totals, probabilities, strict=True):
            members = weights * probability
            total += np.bincount(below, members, n_points)
            moved = np.bincount(below, members * above, n_points)
            total -= moved
            total[1:] += moved[:-1]
        gap = smooth_gap_on_grid(totals, *self._kind)
        slopes = quotients(gap.gradient, totals)
        steps = np.diff(slopes, append=0)
        expected = np.zeros(len(scores))
        for probability, slope, step in zip(probabilities, slopes, steps, strict=True):
            expected += probability * (slope[below] + above * step[below])
        return gap, expected

    def gap_on_grid(
        self, scores: Array, codes: NDArray[np.integer], weights: Array
    ) -> tuple[SmoothGap, Array]:
        """Soft maximum of the gap, and its derivative in each score per unit of weight.

        Unless rows are few beside the points of a grid, each row is split between the
        two points next to its score, and `SmoothGap.gradient` has an entry for each
        point.
        """
        n_groups = max(1, int(codes.max()) + 1)
        n_points = n_groups * (self._n_steps + 1)
        if 16 * len(scores) < n_points:  # fewer rows cost less than the grid
            gap = smooth_gap(scores, codes, weights, *self._kind)
            return gap, quotients(gap.gradient, weights)
        below, share_above = self._places(scores)
        weights = weights * (codes >= 0)
        left = np.maximum(codes, 0).astype(np.intp) * (self._n_steps + 1) + below
        totals = np.zeros(n_points)
        totals += np.bincount(left, weights * (1 - share_above), n_points)
        totals += np.bincount(left + 1, weights * share_above, n_points)
        gap = smooth_gap_on_grid(totals.reshape(n_groups, -1), *self._kind)
        slopes = quotients(gap.gradient.ravel(), totals)
        slopes = (1 - share_above) * slopes[left] + share_above * slopes[left + 1]
        return gap, np.where(weights > 0, slopes, 0.0)

    @property
    def _kind(self) -> tuple[float, Objective, float]:
        """Arguments of `smooth_gap` that are the same for all rows."""
        return self.temperature, self.objective, _SHARPNESS

    @property
    def _n_steps(self) -> int:
        """Number of intervals of the grid of scores."""
        n_steps = int(_INTERVALS_PER_TEMPERATURE * self.temperature)
        return min(max(_MIN_INTERVALS, n_steps), _MAX_INTERVALS)

    def _places(self, scores: Array) -> tuple[NDArray[np.intp], Array]:
        """Points of the grid below the scores, and shares of the points above."""
        place = scores * self._n_steps
        below = np.minimum(place.astype(np.intp), self._n_steps - 1)
        return below, place - below


def check_penalised_loss(model: Any) -> PenalisedLoss:
    """Check the parameters of a classifier that say what it penalises."""
    check_choice("objective", model.objective, OBJECTIVES)
    return PenalisedLoss(
        strength=check_real("strength", model.strength, 0, math.inf, closed="left"),
        temperature=check_real(
            "temperature", model.temperature, 0, math.inf, closed="neither"
        ),
        objective=model.objective,
    )
