"""The scores of each group: sorted, distinct, weighted and additive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._validation import (
    MAX_EXACT_SUM,
    AnyScale,
    check_weights,
    lie_in_unit_interval,
    scores_on,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import (
    Groups,
    drop_weightless,
    resolve_groups,
    sum_by_code,
)
from skfair.statistics._statistic import GroupedStatistic


@dataclass(frozen=True, eq=False, repr=False)
class GroupedScores(GroupedStatistic):
    """The empirical score distribution of every group.

    One entry per distinct pair of score and group, sorted by score. It is a
    sufficient statistic for every metric of score distributions, and additive:
    ``a + b`` is the statistic of the joined rows.

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
        Number of rows of each group, rows of weight zero excepted.
    totals : ndarray of shape (n_groups,)
        Total weight of each group.
    squares : ndarray of shape (n_groups,)
        Sum of the squared weights of the rows of each group.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of rows with which a group may be compared.

    See Also
    --------
    skfair.metrics.mcdp : One of the metrics that take this in place of scores.
    GroupedHistogram : Scores in bins, for any number of rows.
    sum_statistics : Sum of many statistics.

    Notes
    -----
    An entry takes 17 bytes (20 with more than 127 groups): at most 1.7 GB for 10^8
    distinct scores, and 1.7 MB for 10^8 rows that share 10^5 scores. Building it needs
    about three times as much for a moment.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> from skfair.statistics import GroupedScores
    >>> monday = GroupedScores.from_scores([0.2, 0.9], sensitive_features=["F", "M"])
    >>> tuesday = GroupedScores.from_scores([0.4, 0.6], sensitive_features=["F", "M"])
    >>> mcdp(None, monday + tuesday)
    1.0
    """

    _by_group = "counts", "totals", "squares"

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
    def from_scores(
        cls,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        scale: AnyScale = "probability",
        sample_weight: ArrayLike | None = None,
    ) -> GroupedScores:
        """Collect the scores of each group.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,)
            Scores in [0, 1], probabilities of the positive class as a rule; on other
            scales any finite numbers.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        scale : {"probability", "rank", "real"}, default="probability"
            ``"rank"`` and ``"real"`` are for scores that are no probabilities, of which
            metrics take ranks or the numbers: pass ``scale`` to them, too. The
            statistic keeps the scores themselves, so that statistics of batches can be
            added.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedScores

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On scores outside [0, 1], or that are not finite on another scale,
            wrong lengths, missing groups, negative weights, or a group whose rows all
            weigh zero.
        """
        warn_if_reordered(
            y_score=y_score,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        return cls._from_arrays(y_score, sensitive_features, sample_weight, scale)

    @classmethod
    def _from_arrays(
        cls,
        y_score: ArrayLike,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        scale: AnyScale,
    ) -> GroupedScores:
        """Collect scores of rows, of whose order no warning is due."""
        scores = scores_on(scale, y_score)
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        scores, codes, weights, counts = drop_weightless(scores, groups, sample_weight)
        totals = squares = counts.astype(np.int64)
        if weights is not None:
            totals = np.bincount(codes, weights, len(counts)).astype(weights.dtype)
            squares = _sums_of_squares(codes, weights, 1, len(counts))
        entries = sort_scores(scores, codes, weights, n_groups=len(counts))
        rest = groups.labels, groups.names, groups.min_group_size
        return cls(*entries, counts, totals, squares, *rest)

    @classmethod
    def from_counts(
        cls,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        n_rows: ArrayLike,
        total_weight: ArrayLike | None = None,
        scale: AnyScale = "probability",
    ) -> GroupedScores:
        """Collect scores that were counted already, in SQL for instance.

        `skfair.frames.grouped_scores` counts the rows of a table in this way. Counts
        passed as sample weights to `from_scores` would make each entry one row, and
        groups too small for `min_group_size`.

        Parameters
        ----------
        y_score : array-like of shape (n_entries,)
            Scores in [0, 1], on other scales any finite numbers; equal ones of a group
            are joined.
        sensitive_features : array-like of shape (n_entries,) or \
(n_entries, n_columns), or Groups
            Group of each entry; several columns stand for their intersection.
        n_rows : array-like of int of shape (n_entries,)
            How many rows have this score and group; entries of 0 rows are left out.
        total_weight : array-like of shape (n_entries,), default=None
            Sum of the sample weights of these rows; `n_rows` by default. The rows of an
            entry count as if they weighed the same.
        scale : {"probability", "rank", "real"}, default="probability"
            ``"rank"`` and ``"real"`` are for scores that are no probabilities, as in
            `from_scores`.

        Returns
        -------
        GroupedScores

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On scores outside [0, 1], or that are not finite on another scale, NaN,
            wrong lengths, missing groups, counts that
            are negative or no whole numbers, weights that are negative, or that are
            zero where there are rows.

        Examples
        --------
        >>> from skfair.statistics import GroupedScores
        >>> GroupedScores.from_counts(
        ...     [0.2, 0.9, 0.4], sensitive_features=["F", "F", "M"], n_rows=[7, 3, 5]
        ... )
        GroupedScores(3 entries; rows 'F': 10, 'M': 5)
        """
        scores = scores_on(scale, y_score)
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        rows = check_weights(n_rows, len(scores), "n_rows")
        if rows is None or rows.dtype.kind != "i":
            raise ValueError(
                "n_rows must be whole numbers that add up to less than 2**53, got "
                f"{n_rows!r}."
            )
        weights = rows
        if total_weight is not None:
            weights = check_weights(total_weight, len(scores), "total_weight")
            entry = int(((weights > 0) != (rows > 0)).argmax())
            if (weights[entry] > 0) != (rows[entry] > 0):
                raise ValueError(
                    f"total_weight is {weights[entry]} in entry {entry}, whose n_rows "
                    f"is {rows[entry]}: expected both to be positive, or both 0."
                )
        statistic = cls.from_scores(
            scores, sensitive_features=groups, sample_weight=weights, scale=scale
        )
        counts = sum_by_code(groups.codes, rows, len(groups.labels))
        kept = (groups.codes >= 0) & (rows > 0)
        n_groups = len(groups.labels)
        squares = _sums_of_squares(
            groups.codes[kept], weights[kept], rows[kept], n_groups
        )
        return replace(statistic, counts=counts.astype(np.intp), squares=squares)

    @classmethod
    def _from_rows(cls, rows: Rows) -> GroupedScores:
        """Collect checked scores; those that are in order are not sorted again."""
        rows = rows.grouped()
        scores, codes, weights = rows.y_pred, rows.groups.codes, rows.totals
        counts = np.bincount(codes, rows.n, rows.n_groups).astype(np.intp)
        totals = squares = counts.astype(np.int64)
        if rows.weight is not None:
            totals = np.bincount(codes, weights, rows.n_groups)
            totals = totals.astype(rows.weight.dtype)
            if rows.squares is None:
                n = 1 if rows.n is None else rows.n
                squares = _sums_of_squares(codes, rows.weight, n, rows.n_groups)
            else:
                squares = np.bincount(codes, rows.squares, rows.n_groups)
        if not rows.is_ordered:
            scores, codes, weights = sort_scores(
                scores, codes, weights, n_groups=rows.n_groups
            )
        elif rows.levels is None:
            weights = np.ones(len(codes), np.int64) if weights is None else weights
        else:
            keys = rows.levels * rows.n_groups + codes
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            weights = None if weights is None else weights[order]
            starts, weights = _join(keys[1:] != keys[:-1], weights, len(keys))
            entries = order if starts is None else order[starts]
            scores, codes = scores[entries], codes[entries]
        groups = rows.groups
        rest = groups.labels, groups.names, groups.min_group_size
        return cls(scores, codes, weights, counts, totals, squares, *rest)

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

    def of_group(self, group: int | None) -> tuple[Floats, NDArray[Any]]:
        """Distinct scores of one group, or of everyone, and their weights.

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
        """Cumulative distribution function of one group's scores, or of everyone's.

        Parameters
        ----------
        group : int or None
            Position in `labels` of a group that has rows; None is everyone.

        Returns
        -------
        scores : ndarray of shape (n_distinct,), increasing
        shares : ndarray of shape (n_distinct,)
            Share of the total weight at or below each score; the last is exactly 1.

        Examples
        --------
        >>> from skfair.statistics import GroupedScores
        >>> statistic = GroupedScores.from_scores(
        ...     [0.2, 0.9, 0.2, 0.4], sensitive_features=["F", "F", "M", "M"]
        ... )
        >>> scores, shares = statistic.cdf(None)
        >>> scores.tolist(), shares.tolist()
        ([0.2, 0.4, 0.9], [0.5, 0.75, 1.0])
        """
        scores, weights = self.of_group(group)
        total = self.totals.sum() if group is None else self.totals[group]
        shares = np.cumsum(weights) / total
        shares[-1] = 1  # without rounding
        return scores, shares

    def _share_below(self, group: int | None, score: float) -> float:
        """CDF of one group, or of everyone, at a score."""
        scores, shares = self.cdf(group)
        n_below = np.searchsorted(scores, score, side="right")
        return float(shares[n_below - 1]) if n_below else 0.0

    def _join_entries(self, other: GroupedScores) -> dict[str, Any]:
        """Sort the scores of both."""
        scores, codes, weights = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("scores", "codes", "weights")
        )
        entries = sort_scores(scores, codes, weights, n_groups=self.n_groups)
        return dict(zip(("scores", "codes", "weights"), entries, strict=True))

    def __repr__(self) -> str:
        n_entries = len(self.scores)
        return f"GroupedScores({n_entries} entries; rows {self._rows_by_group()})"

    @cached_property
    def _order(self) -> tuple[Integers, Integers]:
        """Entries of each group one after the other, and where each group starts."""
        sizes = np.bincount(self.codes, minlength=self.n_groups)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return np.argsort(self.codes, kind="stable"), starts

    @cached_property
    def _gaps(self) -> dict[tuple[int, int | None], Gap]:
        """Gaps that were asked for first: several metrics look at the same pairs."""
        return {}

    def _rows_of(self, group: int) -> Integers:
        """Positions of the entries of a group, by increasing score."""
        order, starts = self._order
        return order[starts[group] : starts[group + 1]]


def whole_if_exact(values: NDArray[Any]) -> NDArray[Any]:
    """Turn values into int64 if all are whole numbers that add up without rounding."""
    whole = values.dtype.kind in "iu" or np.array_equal(values, np.rint(values))
    exact = whole and values.sum() < MAX_EXACT_SUM
    return values.astype(np.int64 if exact else np.float64, copy=False)


def _sums_of_squares(
    codes: NDArray[np.integer], weights: NDArray[Any], n: Any, n_groups: int
) -> NDArray[Any]:
    """Sum the squared weights of the people of each group; `n` of an entry weigh equal.

    They are whole if all weights are, as far as floats count them exactly.
    """
    squares = quotients(np.square(weights, dtype=float), n)
    sums = np.bincount(codes, squares, n_groups)
    return whole_if_exact(sums) if weights.dtype.kind == "i" else sums


#: Products of two whole totals stay below this, so that they are exact in int64.
MAX_EXACT = 2**62
#: Gaps that a statistic keeps, and their least number of scores that is not kept.
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


def gap_between(statistic: GroupedScores, first: int, second: int | None) -> Gap:
    """CDF of one group minus the CDF of another, or of everyone (None)."""
    gaps = statistic._gaps
    gap = gaps.get((first, second)) or _subtract(statistic, first, second)
    if len(gaps) < _MAX_GAPS and len(gap.scores) < _MAX_KEPT:
        gaps[first, second] = gap
    return gap


def _subtract(statistic: GroupedScores, first: int, second: int | None) -> Gap:
    """Subtract the CDF of a group, or of everyone, from that of another group."""
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


def cdf_steps(statistic: GroupedScores) -> tuple[Floats, Floats]:
    """CDF of the group of each entry before and after it, in the order of entries."""
    order, starts = statistic._order
    sums = np.cumsum(statistic.weights[order])
    sums -= np.repeat(np.append(0, sums)[starts[:-1]], np.diff(starts))
    after = np.empty(len(order))
    after[order] = sums
    totals = statistic.totals[statistic.codes]
    after /= totals
    return after - statistic.weights / totals, after


def check_probabilities(statistic: GroupedScores, name: str, hint: str) -> None:
    """Raise if a statistic holds scores outside [0, 1]."""
    scores = statistic.scores
    if len(scores) and (scores[0] < 0 or scores[-1] > 1):
        raise ValueError(
            f"{name} must lie in [0, 1], got a statistic of scores from {scores[0]} to "
            f"{scores[-1]}.{hint}"
        )


def pooled_ranks(statistic: GroupedScores) -> GroupedScores:
    """Replace each score by its mid-rank among everyone, a number in (0, 1).

    It is the share of the total weight below the score, plus half of that at the score.
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


def ranked_scores(rows: Rows) -> GroupedScores:
    """Collect the mid-ranks of rows that have a group."""
    return pooled_ranks(rows.statistic(GroupedScores))


def mid_ranks(scores: Floats, weights: NDArray[Any] | None) -> Floats:
    """Mid-rank of each row in (0, 1), as metrics of ``scale="rank"`` take them."""
    everyone = Groups(np.zeros(len(scores), np.int8), (0,))
    rows = Rows(
        everyone, y_pred=scores, weight=weights, position=np.arange(len(scores))
    )
    rows = rows.ordered()
    ranks, of_rows = ranked_scores(rows).scores, np.empty(len(scores))
    of_rows[rows.position] = ranks if rows.levels is None else ranks[rows.levels]
    return of_rows


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
    """Integers in the order of the scores; None if some scores have no key.

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
    """Scores that have these keys."""
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
    """Where entries start (None: at every row) and how much each weighs.

    `new` says whether each row but the first differs from the one before.
    """
    if new.all():
        return None, np.ones(n_samples, np.int64) if weights is None else weights
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    if weights is None:
        return starts, np.diff(starts, append=n_samples)
    return starts, np.add.reduceat(weights, starts)
