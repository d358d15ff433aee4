"""Map of scores by group, learnt from all rows or from the rows of a stratum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from skfair._utils._arrays import Floats
from skfair._utils._validation import ParameterError
from skfair.groups import Groups, recode, rows_by_code
from skfair.postprocessing._group_cdfs import GroupCDFs, Targets, interpolate, thin

#: Samples that are simulated for an expected gap.
_N_DRAWS = 300
#: Scores of one group, and their repaired values, between which the map is linear.
Knots: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class StratumMap:
    """Map that takes the CDF of each group to its target."""

    cdfs: GroupCDFs
    targets: Targets
    ties: Literal["mid", "random"]
    scale: Literal["probability", "real"]

    @cached_property
    def repaired_scores(self) -> tuple[Floats, ...]:
        """Repaired scores at the knots of each group's CDF; tied rows stay tied."""
        return tuple(
            self.cdfs.repair_at(self.targets, group, cdf.middle)
            for group, cdf in enumerate(self.cdfs.cdfs)
        )

    def repair(self, scores: Floats, groups: Groups, random_state: Any) -> Floats:
        """Repair the scores of rows whose group has a map; all other scores stay."""
        repaired = np.array(scores)
        if not self.targets.changes:
            return repaired
        labels, random = self.cdfs.labels, check_random_state(random_state)
        codes = recode(groups.codes, groups.labels, labels)
        for group, positions in enumerate(rows_by_code(codes, len(labels))):
            cdf = self.cdfs.cdfs[group]
            # Sorted look-ups spare cache misses, which cost more than the sort.
            positions = positions[np.argsort(scores[positions])]
            within = np.clip(scores[positions], cdf.scores[0], cdf.scores[-1])
            if self.ties == "random":
                draws = random.uniform(size=len(within))
                heights = cdf.evaluate_within(within, draws)
                values = self.cdfs.repair_at(self.targets, group, heights)
            else:
                values = interpolate(within, cdf.scores, self.repaired_scores[group])
            repaired[positions] = values + (scores[positions] - within)
        if self.scale == "probability":
            np.clip(repaired, 0, 1, out=repaired)
        return repaired

    def repaired_heights(self) -> Floats:
        """Return the CDFs of each group's repaired scores, at many scores."""
        if self.ties == "random":
            return self.cdfs.spread_and_repair(self.targets, self.cdfs.unsmoothed)
        points = thin(np.unique(np.concatenate(self.repaired_scores)))
        heights = []
        by_group = zip(
            self.cdfs.unsmoothed, self.cdfs.cdfs, self.repaired_scores, strict=True
        )
        for unsmoothed, cdf, repaired in by_group:
            places = np.searchsorted(repaired, points, "right")
            heights.append(np.append(0.0, unsmoothed.evaluate(cdf.scores))[places])
        return np.stack(heights)

    def repaired_gap(self) -> float:
        """Return MCDP(0) of the rows of the fit, after the repair."""
        return float(np.ptp(self.repaired_heights(), axis=0).max())

    def simulate_gap(self, n_new: Floats) -> float:
        """Return the mean MCDP(0) of simulated samples of new rows.

        Each group has a given number of new rows. The noise of the rows of the fit, and
        the noise of the new rows, are Brownian bridges.
        """
        heights = self.repaired_heights()
        steps = np.diff(heights, axis=1, prepend=0.0, append=1.0).clip(0)
        scale = np.sqrt(1 / self.cdfs.n_rows + 1 / n_new)
        random, gaps = np.random.default_rng(0), []
        for _ in range(_N_DRAWS):
            walk = np.cumsum(np.sqrt(steps) * random.standard_normal(steps.shape), 1)
            bridge = walk[:, :-1] - heights * walk[:, -1:]
            gaps.append(np.ptp(heights + scale[:, None] * bridge, axis=0).max())
        return float(min(1.0, np.mean(gaps)))

    def find_knots(self, tol: float) -> list[Knots]:
        """Return scores and repaired scores of each group, as few as `tol` allows."""
        if not self.targets.changes:
            ends = self.cdfs.pooled.scores[[0, -1]]
            return [(ends, ends)] * len(self.cdfs.labels)
        if self.ties == "random":
            raise ParameterError(
                "ties", "must be 'mid': 'random' draws repaired scores."
            )
        repaired_scores = self.repaired_scores
        if self.scale == "probability":
            repaired_scores = tuple(np.clip(part, 0, 1) for part in repaired_scores)
        return [
            thin_knots(cdf.scores, repaired, tol)
            for cdf, repaired in zip(self.cdfs.cdfs, repaired_scores, strict=True)
        ]


def thin_knots(scores: Floats, repaired: Floats, tol: float) -> Knots:
    """Leave out knots of an increasing map where this changes it by at most `tol`.

    At most ``2 / tol + 1`` pieces are left: any two neighbours rise by more than `tol`.
    """
    if not tol:
        return scores, repaired
    x, y = scores.tolist(), repaired.tolist()
    knots_left, start, last = [0], 0, len(x) - 1
    while start < last:
        # Slopes of the lines from the start that miss no knot so far by more than tol.
        smallest, largest = -math.inf, math.inf
        end = knot = start + 1
        while knot <= last and smallest <= largest:
            width, rise = x[knot] - x[start], y[knot] - y[start]
            if smallest <= rise / width <= largest:
                end = knot
            smallest = max(smallest, (rise - tol) / width)
            largest = min(largest, (rise + tol) / width)
            knot += 1
        knots_left.append(end)
        start = end
    return scores[knots_left], repaired[knots_left]
