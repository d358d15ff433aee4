"""Arithmetic of the score distributions of groups: sorted scores and their CDFs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._validation import (
    MAX_EXACT_SUM,
    lie_in_unit_interval,
)
from skfair.groups import Groups


@dataclass(frozen=True, eq=False, repr=False)
class Distributions:
    """The empirical score distribution of every group.

    There is one entry for each distinct pair of score and group, sorted by score. All
    metrics of score distributions are computed from these entries.

    Attributes
    ----------
    scores : ndarray of shape (n_entries,)
        Scores, non-decreasing; a score that several groups share has one entry per
        group.
    codes : ndarray of shape (n_entries,)
        Position in `labels` of the group of each entry.
    weights : ndarray of shape (n_entries,)
        Total weight of the rows of each entry: int64 counts where every sample
        weight is a whole number, which keeps all sums exact, else float64.
    counts : ndarray of shape (n_groups,)
        Number of people of each group, without people of weight zero.
    totals : ndarray of shape (n_groups,)
        Total weight of each group.
    squares : ndarray of shape (n_groups,)
        Sum of the squared weights of the people of each group.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of people with which a group may be compared.
    """

    scores: Floats
    codes: NDArray[np.integer]
    weights: NDArray[Any]
    counts: Integers
    totals: NDArray[Any]
    squares: NDArray[Any]
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_rows(cls, rows: Rows) -> Distributions:
        """Collect checked scores; those that are in order are not sorted again."""
        rows = rows.grouped()
        scores, codes, weights = rows.y_pred, rows.groups.codes, rows.mass
        if not rows.is_ordered:
            scores, codes, weights = sort_scores(
                scores, codes, weights, n_groups=rows.n_groups
            )
        elif rows.score_positions is None:
            weights = np.ones(len(codes), np.int64) if weights is None else weights
        else:
            keys = rows.score_positions * rows.n_groups + codes
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            weights = None if weights is None else weights[order]
            starts, weights = _join(keys[1:] != keys[:-1], weights, len(keys))
            entries = order if starts is None else order[starts]
            scores, codes = scores[entries], codes[entries]
        return cls(
            scores=scores,
            codes=codes,
            weights=weights,
            counts=rows.counts,
            totals=rows.totals,
            squares=rows.group_squares,
            labels=rows.labels,
            names=rows.names,
            min_group_size=rows.min_group_size,
        )

    @property
    def n_groups(self) -> int:
        """Number of groups, absent ones included."""
        return len(self.labels)

    @property
    def effective_sizes(self) -> Floats:
        """Kish's effective number of rows of each group, of shape (n_groups,).

        The number of rows where all weigh the same; 0 without rows.
        """
        return quotients(np.square(self.totals, dtype=float), self.squares)

    @property
    def _effective_size(self) -> float:
        """Kish's effective number of rows of everyone."""
        return float(self.totals.sum()) ** 2 / float(self.squares.sum())

    def select_group(self, group: int | None) -> tuple[Floats, NDArray[Any]]:
        """Return the distinct scores of one group, or of everyone, and their weights.

        Parameters
        ----------
        group : int or None
            Position in `labels`; None is everyone.

        Returns
        -------
        scores : ndarray of shape (n_distinct,), increasing
        weights : ndarray of shape (n_distinct,)
        """
        if group is not None:
            rows = self._rows_of(group)
            return self.scores[rows], self.weights[rows]
        scores = self.scores
        starts, weights = _join(scores[1:] != scores[:-1], self.weights, len(scores))
        return scores if starts is None else scores[starts], weights

    def cdf(self, group: int | None) -> tuple[Floats, Floats]:
        """Return the CDF of one group's scores, or of everyone's.

        Parameters
        ----------
        group : int or None
            Position in `labels` of a group that has rows; None is everyone.

        Returns
        -------
        scores : ndarray of shape (n_distinct,), increasing
        shares : ndarray of shape (n_distinct,)
            Share of the total weight at or below each score; the last is exactly 1.
        """
        scores, weights = self.select_group(group)
        total = self.totals.sum() if group is None else self.totals[group]
        shares = np.cumsum(weights) / total
        shares[-1] = 1  # without rounding
        return scores, shares

    def _share_below(self, group: int | None, score: float) -> float:
        """Return the CDF of one group, or of everyone, at a score."""
        scores, shares = self.cdf(group)
        n_below = np.searchsorted(scores, score, side="right")
        return float(shares[n_below - 1]) if n_below else 0.0

    @cached_property
    def _order(self) -> tuple[Integers, Integers]:
        """Entries of each group one after the other, and where each group starts."""
        sizes = np.bincount(self.codes, minlength=self.n_groups)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return np.argsort(self.codes, kind="stable"), starts

    @cached_property
    def _gaps(self) -> dict[tuple[int, int | None], Gap]:
        """Gaps that were asked for first: several metrics need the same pairs."""
        return {}

    def _rows_of(self, group: int) -> Integers:
        """Return the positions of the entries of a group, by increasing score."""
        order, starts = self._order
        return order[starts[group] : starts[group + 1]]


def whole_if_exact(values: NDArray[Any]) -> NDArray[Any]:
    """Turn values into int64 if all are whole numbers that add up without rounding."""
    whole = values.dtype.kind in "iu" or np.array_equal(values, np.rint(values))
    exact = whole and values.sum() < MAX_EXACT_SUM
    return values.astype(np.int64 if exact else np.float64, copy=False)


#: Products of two whole totals stay below this, so that they are exact in int64.
MAX_EXACT = 2**62
#: Gaps that a statistic keeps at most, all with fewer scores than this.
_MAX_GAPS, _MAX_KEPT = 4, 2**16


class Gap(NamedTuple):
    """Difference of two CDFs: piece i is ``signed[i] / scale`` from ``scores[i]`` on.

    Below the first score both CDFs are 0; from the last on both are 1, and the gap
    is 0. Where all weights are whole numbers `signed` holds integers, free of
    rounding. `totals` are the total weights behind the two CDFs.
    """

    scores: Floats
    signed: NDArray[Any]
    scale: float
    totals: tuple[float, float]

    @property
    def difference(self) -> Floats:
        """Difference of the CDFs from each score to the next; the last is 0."""
        return np.asarray(self.signed / self.scale)


def gap_between(statistic: Distributions, first: int, second: int | None) -> Gap:
    """Return the CDF of one group minus the CDF of another, or of everyone (None)."""
    gaps = statistic._gaps
    gap = gaps.get((first, second)) or _subtract(statistic, first, second)
    if len(gaps) < _MAX_GAPS and len(gap.scores) < _MAX_KEPT:
        gaps[first, second] = gap
    return gap


def _subtract(statistic: Distributions, first: int, second: int | None) -> Gap:
    """Subtract the CDF of the second group, or of everyone, from the first group's."""
    scores, codes, weights = statistic.scores, statistic.codes, statistic.weights
    totals = statistic.totals
    ours = totals[first]
    theirs = totals.sum() if second is None else totals[second]
    if second is not None and len(statistic.labels) > 2:
        rows = np.concatenate([statistic._rows_of(first), statistic._rows_of(second)])
        rows.sort(kind="stable")
        scores, codes, weights = scores[rows], codes[rows], weights[rows]
    # An entry moves the gap by its weight times the step of its group.
    exact = weights.dtype.kind == "i" and float(ours) * float(theirs) < MAX_EXACT
    up, down = (theirs, ours) if exact else (1 / ours, 1 / theirs)
    scale = ours * theirs if exact else 1.0
    step = np.zeros(len(statistic.labels), dtype=np.int64 if exact else np.float64)
    step[slice(None) if second is None else second] = -down
    step[first] += up
    signed = step[codes]
    signed *= weights
    np.cumsum(signed, out=signed)
    if not exact:
        np.clip(signed, -1, 1, out=signed)
    signed[-1] = 0  # both CDFs end at 1, without rounding
    last = np.empty(len(scores), dtype=bool)
    np.not_equal(scores[1:], scores[:-1], out=last[:-1])
    last[-1] = True
    if not last.all():
        scores, signed = scores[last], signed[last]
    return Gap(scores, signed, float(scale), (float(ours), float(theirs)))


def cdf_steps(statistic: Distributions) -> tuple[Floats, Floats]:
    """Return each entry's group CDF just before and after the entry."""
    order, starts = statistic._order
    sums = np.cumsum(statistic.weights[order])
    sums -= np.repeat(np.append(0, sums)[starts[:-1]], np.diff(starts))
    after = np.empty(len(order))
    after[order] = sums
    totals = statistic.totals[statistic.codes]
    after /= totals
    return after - statistic.weights / totals, after


def pooled_ranks(statistic: Distributions) -> Distributions:
    """Replace each score by its mid-rank among everyone, a number in (0, 1).

    A mid-rank is the share of the total weight below the score, plus half of the share
    at the score.
    """
    scores, weights = statistic.scores, statistic.weights
    if not len(scores):
        return statistic
    below = np.zeros(len(weights) + 1, dtype=weights.dtype)
    np.cumsum(weights, out=below[1:])
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    if len(starts) < len(scores):
        lengths = np.diff(starts, append=len(scores))
        below = np.append(below[starts], below[-1])
        ranks = np.repeat(below[:-1] + below[1:], lengths) / (2 * below[-1])
    else:
        ranks = (below[:-1] + below[1:]) / (2 * below[-1])
    return replace(statistic, scores=ranks)


def ranked_scores(rows: Rows) -> Distributions:
    """Collect the mid-ranks of rows that have a group."""
    return pooled_ranks(Distributions.from_rows(rows))


def mid_ranks(scores: Floats, weights: NDArray[Any] | None) -> Floats:
    """Return mid-ranks of rows in (0, 1), as ``scale="rank"`` takes them."""
    one_group = Groups(np.zeros(len(scores), np.int8), (0,))
    rows = Rows(
        one_group, y_pred=scores, weight=weights, position=np.arange(len(scores))
    )
    rows = rows.ordered()
    ranks, row_ranks = ranked_scores(rows).scores, np.empty(len(scores))
    if rows.score_positions is not None:
        ranks = ranks[rows.score_positions]
    row_ranks[rows.position] = ranks
    return row_ranks


Entries = tuple[Floats, NDArray[np.integer], NDArray[Any]]
Keys = NDArray[np.uint64]

#: Keys of scores leave this many high bits of 64 unused.
_SPARE_BITS = 2
#: Half of all keys; scores of magnitude 2**-255 up to 2**257 have keys, and 0.
_MIDDLE = 2 ** (63 - _SPARE_BITS)
_LEAST_BITS = np.float64(2.0**-255).view(np.int64)


def sort_scores(
    scores: Floats,
    codes: NDArray[np.integer],
    weights: NDArray[Any] | None,
    *,
    n_groups: int,
) -> Entries:
    """Sort by score, then group, and add up the weights of equal pairs.

    Scores are finite, without negative zeros; weights None count every row once.
    """
    if n_groups <= 2**_SPARE_BITS:
        # Floats of at least 0 are ordered like their bit patterns.
        unit = lie_in_unit_interval(scores)
        bits = scores.view(np.uint64) if unit else _keys_of(scores)
        if bits is not None:
            keys, codes, weights = _sort_packed(bits, codes, weights)
            return keys.view(np.float64) if unit else _scores_of(keys), codes, weights
    order = np.lexsort((codes, scores))
    scores, codes = scores[order], codes[order]
    new = (scores[1:] != scores[:-1]) | (codes[1:] != codes[:-1])
    weights = None if weights is None else weights[order]
    starts, weights = _join(new, weights, len(scores))
    if starts is not None:
        scores, codes = scores[starts], codes[starts]
    return scores, codes, weights


def _keys_of(scores: Floats) -> Keys | None:
    """Return integers in the order of the scores, None where there are none.

    The bit pattern of a magnitude takes 61 bits where huge and tiny ones are left out.
    """
    magnitudes = np.abs(scores).view(np.int64)
    magnitudes -= _LEAST_BITS - 1
    magnitudes[scores == 0] = 0
    if magnitudes.min() < 0 or magnitudes.max() >= _MIDDLE:
        return None
    np.negative(magnitudes, out=magnitudes, where=scores < 0)
    magnitudes += _MIDDLE
    return magnitudes.view(np.uint64)


def _scores_of(keys: Keys) -> Floats:
    """Return the scores that have these keys."""
    signed = keys.view(np.int64) - _MIDDLE
    magnitudes = np.abs(signed)
    magnitudes += _LEAST_BITS - 1
    magnitudes[signed == 0] = 0
    return np.asarray(np.copysign(magnitudes.view(np.float64), signed))


def _sort_packed(
    keys: Keys, codes: NDArray[np.integer], weights: NDArray[Any] | None
) -> tuple[Keys, NDArray[np.integer], NDArray[Any]]:
    """Sort one integer per row that holds the key of its score and its group.

    The group fits below the key, so that one sort of integers replaces one of pairs.
    """
    keys = np.left_shift(keys, np.uint64(_SPARE_BITS))
    np.bitwise_or(keys, codes.astype(np.uint8), out=keys)
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys)
        keys, weights = keys[order], weights[order]
    starts, weights = _join(keys[1:] != keys[:-1], weights, len(keys))
    if starts is not None:
        keys = keys[starts]
    # The lowest byte of a little-endian key is its first.
    sorted_codes = keys.astype(np.uint8)
    sorted_codes &= 2**_SPARE_BITS - 1
    keys >>= np.uint64(_SPARE_BITS)
    return keys, sorted_codes, weights


def _join(
    new: Bools, weights: NDArray[Any] | None, n_samples: int
) -> tuple[Integers | None, NDArray[Any]]:
    """Find where runs of equal keys start, and sum their weights.

    `new` says whether each row but the first differs from the one before.
    """
    if new.all():
        return None, np.ones(n_samples, np.int64) if weights is None else weights
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    if weights is None:
        return starts, np.diff(starts, append=n_samples)
    return starts, np.add.reduceat(weights, starts)
