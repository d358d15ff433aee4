"""minDCP: the smallest DCP that published frequencies allow.

With q[a, y] = pi[a, y] (1 - eta[a, y]) the confusion matrices leave the problem (each
can be completed from the mass that is not carried):

    1 - minDCP = max  sum_a w_a sum_y q[a, y]
    s.t.  sum_y q[a, y] alpha[y, z] <= phat[a, z],  0 <= q <= pi.

The baseline alpha is a channel from true to predicted classes, and q is the mass that
it carries. The search solves linear programs in turn from many starts.

Merging predicted classes can only lower minDCP. For one set against all others the
channel is one number x_y for each true class, and the smallest mass that a group loses
is a continuous knapsack problem: if the channel predicts the set more often than
published, mass is best removed from the largest x first; if less often, from the
largest 1 - x. The first loss increases with x and the second decreases, so that on a
box ``low <= x <= high`` a group loses at least the first at `low` and the second at
`high`. Branch and bound on these boxes needs no linear program. With two sets it is
exact; with three, a group loses at least the largest of the losses of the sets.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import block_diag, csc_array, hstack, kron, vstack
from sklearn.utils import check_random_state

from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._progress import Progress, check_verbose
from skfair._utils._results import TableResult
from skfair._utils._validation import check_integer, check_real
from skfair.metrics._dcp import (
    check_distributions,
    check_sum_tolerance,
    check_table,
    column_labels,
    first_labels,
    match_labels,
    row_labels,
    tabulate_disparities,
)
from skfair.metrics._dcp_search import (
    Clock,
    check_time_limit,
    explained_shares,
    halves,
    maximise,
    unexplained_shares,
)
from skfair.metrics._inputs import check_group_weights

#: Sizes of the sets of groups that are emphasised together.
_SET_SIZES = (2, 3)
#: Fits that emphasise such sets, for each start that is chosen from them.
_N_FITS = 11
#: Factor of the weight of a group that is emphasised.
_EMPHASIS = 20.0
#: Starts whose channels differ by less than this lead to the same result.
_LEAST_DISTANCE = 0.02
#: Half the width of the trust region, at first and when the search ends.
_FIRST_RADIUS, _LEAST_RADIUS = 0.2, 1e-5
_LEAST_GAIN = 1e-9
_MAX_STEPS = 200

_by_loss = attrgetter("loss")


class Carried(NamedTuple):
    """A channel from true to predicted classes, and the mass that it carries."""

    #: Share of the population that is not carried.
    loss: float
    #: Of shape (n_classes, n_classes).
    channel: Floats
    #: At most the frequency of each true class in each group, (n_groups, n_classes).
    mass: Floats


class ChannelSearch:
    """Search for the channel that carries the most people, from many starts.

    `true` and `predicted` are frequencies in each group, (n_groups, n_classes).
    """

    def __init__(
        self,
        weights: Floats,
        true: Floats,
        predicted: Floats,
        clock: Clock,
        progress: Progress,
    ) -> None:
        self.weights, self.true, self.predicted = weights, true, predicted
        self.clock, self.progress = clock, progress

    def best(
        self, n_starts: int, generator: np.random.RandomState
    ) -> tuple[Carried, int]:
        """Return the best channel from many starts, and the number of searches."""
        best, n_searches = self._constant(), 0
        if self.true.shape[1] == 2:
            # The search for the lower bound finds the best channel of two classes.
            return best, n_searches
        # The optimum fits most groups exactly and others not at all, so that channels
        # with the smallest absolute misfit, under varied weights of the groups, are
        # close to it.
        starts = []
        for size in _SET_SIZES:
            fits = self._fit_emphases(_set_emphases(self.weights, size, n_starts))
            starts += _remove_duplicates(fits)[:n_starts]
        # Random fits are all kept: those of the smallest loss would be too similar.
        # Squares make the factors of the weights differ by orders of magnitude.
        shape = -(-n_starts // 2), len(self.weights)
        random = self.weights * generator.exponential(size=shape) ** 2
        starts += self._fit_emphases(list(random))
        for start in starts:
            best = min(best, start, key=_by_loss)
            if self.clock.is_over():
                break
            n_searches += 1
            best = min(best, self._improve(start), key=_by_loss)
            self.progress.update(
                f"{n_searches} of {len(starts)} local searches, upper {best.loss:.6f}"
            )
        return best, n_searches

    def search_from(self, channel: Floats) -> Carried | None:
        """Search locally from a channel; None if the solver fails."""
        start = self.carry(channel)
        return None if start is None else self._improve(start)

    def _constant(self) -> Carried:
        """Return the channel that ignores the true class, which needs no solver."""
        mean = self.weights @ self.predicted
        carried = self.true * explained_shares(mean, self.predicted)[:, None]
        return self._add_loss(np.tile(mean, (self.true.shape[1], 1)), carried)

    def _add_loss(self, channel: Floats, carried: Floats) -> Carried:
        """Return a channel with the mass it carries, and the share not carried."""
        loss = float(self.weights @ (self.true - carried).sum(axis=1))
        return Carried(max(loss, 0.0), channel, carried)

    def _fit_emphases(self, emphases: list[Floats]) -> list[Carried]:
        """Fit a channel with each emphasis, and find the mass that it carries."""
        fits = []
        for emphasis in emphases:
            if self.clock.is_over():
                break
            channel = self._fit_published(emphasis)
            fit = None if channel is None else self.carry(channel)
            if fit is not None:
                fits.append(fit)
                self.progress.update(f"{len(fits)} of {len(emphases)} fits")
        return fits

    def _improve(self, start: Carried) -> Carried:
        """Improve the channel by linear programs within a trust region."""
        # Each program linearises the product of channel and mass; the channel that it
        # proposes is kept if it carries more, otherwise the region shrinks.
        best, radius = start, _FIRST_RADIUS
        for _ in range(_MAX_STEPS):
            if radius < _LEAST_RADIUS or self.clock.is_over():
                break
            proposed = self._linearised_step(best, radius)
            candidate = None if proposed is None else self.carry(proposed)
            gain = 0.0 if candidate is None else best.loss - candidate.loss
            if candidate is None or gain < _LEAST_GAIN:
                radius /= 4
                continue
            best = candidate
        return best

    def carry(self, channel: Floats) -> Carried | None:
        """Find the largest mass that a channel carries; None if the solver fails."""
        n_groups, n_classes = self.true.shape
        solved = maximise(
            np.repeat(self.weights, n_classes),
            kron(csc_array(np.eye(n_groups)), csc_array(channel.T), format="csc"),
            self.predicted.ravel(),
            np.zeros(self.true.size),
            self.true.ravel(),
            self.clock,
        )
        if solved is None:
            return None
        carried = np.clip(solved.x.reshape(self.true.shape), 0.0, self.true)
        # Rounding may have carried more than the predicted frequencies.
        arrives = carried @ channel
        ratios = np.ones_like(arrives)
        np.divide(self.predicted, arrives, out=ratios, where=arrives > self.predicted)
        carried = carried * ratios.min(axis=1, keepdims=True)
        return self._add_loss(channel, carried)

    def _fit_published(self, emphasis: Floats) -> Floats | None:
        """Find the channel with predictions closest to the published frequencies."""
        # Unknowns: the channel, and the absolute misfit of each group and prediction.
        n_classes = self.true.shape[1]
        predicts = kron(csc_array(self.true), csc_array(np.eye(n_classes)))
        misfit = csc_array(np.eye(self.true.size))
        n_unknowns = n_classes**2 + self.true.size
        solved = maximise(
            -np.repeat(emphasis, n_classes),
            vstack([hstack([predicts, -misfit]), hstack([-predicts, -misfit])]),
            np.append(self.predicted.ravel(), -self.predicted.ravel()),
            np.zeros(n_unknowns),
            np.full(n_unknowns, np.inf),
            self.clock,
            n_rows=n_classes,
        )
        return None if solved is None else _make_channel(solved.x[: n_classes**2])

    def _linearised_step(self, current: Carried, radius: float) -> Floats | None:
        """Return the channel within a radius that carries most, to first order."""
        # Unknowns: the change of the channel, and the mass of each group and class.
        n_groups, n_classes = self.true.shape
        channel = current.channel.ravel()
        changes = kron(csc_array(current.mass), csc_array(np.eye(n_classes)))
        masses = block_diag([csc_array(current.channel.T)] * n_groups)
        solved = maximise(
            np.repeat(self.weights, n_classes),
            csc_array(hstack([changes, masses])),
            self.predicted.ravel(),
            np.append(np.maximum(-radius, -channel), np.zeros(self.true.size)),
            np.append(np.minimum(radius, 1 - channel), self.true.ravel()),
            self.clock,
            n_rows=n_classes,
            row_sum=0.0,
        )
        return (
            None
            if solved is None
            else _make_channel(channel + solved.x[: len(channel)])
        )


def _set_emphases(weights: Floats, size: int, n_starts: int) -> list[Floats]:
    """Return weights of groups: as given, and with more weight on each of some sets."""
    size = min(size, len(weights))
    step = -(-comb(len(weights), size) // (_N_FITS * n_starts))
    emphases = [weights]
    for members in islice(combinations(range(len(weights)), size), 0, None, step):
        emphasis = weights.copy()
        emphasis[list(members)] *= _EMPHASIS
        emphases.append(emphasis)
    return emphases


def _remove_duplicates(fits: list[Carried]) -> list[Carried]:
    """Sort fits by increasing loss, and leave out near duplicates."""
    chosen: list[Carried] = []
    for fit in sorted(fits, key=_by_loss):
        distances = [np.abs(fit.channel - other.channel).max() for other in chosen]
        if not distances or min(distances) > _LEAST_DISTANCE:
            chosen.append(fit)
    return chosen


def _make_channel(entries: Floats) -> Floats:
    """Return a square matrix whose rows are non-negative and sum to one."""
    n_classes = round(len(entries) ** 0.5)
    channel = np.clip(entries, 0.0, None).reshape(n_classes, n_classes)
    return np.asarray(channel / channel.sum(axis=1, keepdims=True))


#: Boxes that are split at a time.
_SPLIT_AT_ONCE = 4096
#: Batches of each search in a round; after a round the better half continues.
_ROUNDS = (5, 9, 18, 36, 66)
#: Ways of merging into two sets that are refined to three.
_N_REFINED = 4
#: Ways of merging that are searched at most, those with the largest upper bounds.
_MAX_SEARCHES = 16


def knapsack(x: Floats, true: Floats, share: Floats) -> Floats:
    """Return the smallest mass that groups lose if a channel predicts a set too often.

    `x`, of shape (n_points, n_classes), is the probability of the set given each true
    class, and `share` its published frequency in each group. The result has shape
    (n_points, n_groups).
    """
    order = np.argsort(-x, axis=1)
    rates = np.take_along_axis(x, order, axis=1)
    excess = x @ true.T - share
    np.maximum(excess, 0.0, out=excess)
    loss = np.zeros_like(excess)
    for position in range(x.shape[1]):
        mass, rate = true.T[order[:, position]], rates[:, position, None]
        taken = np.minimum(excess, mass * rate)
        # No mass is left to take where the rate is zero.
        loss += np.divide(taken, rate, out=np.zeros_like(taken), where=rate > 0)
        excess -= taken
    return loss


class MergedSearch:
    """Branch and bound for one way of merging, many boxes at a time.

    `sets` is one set of predicted classes, the others being the second, or two disjoint
    sets, the others being the third.
    """

    def __init__(self, data: ChannelSearch, sets: Bools, channel: Floats) -> None:
        self.weights, self.true = data.weights, data.true
        self.sets = sets
        self.shares = sets @ data.predicted.T
        # A side of a box counts by the frequency of its true class when one is split.
        self.scale = self.weights @ self.true
        shape = 1, len(sets), self.true.shape[1]
        self.lows, self.highs = np.zeros(shape), np.ones(shape)
        self.bounds = np.zeros(1)
        self.lower, self.closed = 0.0, np.inf
        # The loss of a good channel bounds that of the merged problem.
        self.best = (channel @ sets.T).T
        at = self.best[None]
        self.upper = float(self._join(self._losses(at, at))[0])

    def _losses(self, lows: Floats, highs: Floats) -> list[Floats]:
        """Return lower bounds of the mass that each group loses, for each set."""
        low = [lows[:, i] for i in range(len(self.sets))]
        high = [highs[:, i] for i in range(len(self.sets))]
        share = list(self.shares)
        if len(self.sets) == 2:
            # The third set has the probability that remains.
            low.append(np.minimum(low[0] + low[1], 1.0))
            high.append(np.minimum(high[0] + high[1], 1.0))
            share.append(share[0] + share[1])
        return [
            np.maximum(knapsack(a, self.true, p), knapsack(1 - b, self.true, 1 - p))
            for a, b, p in zip(low, high, share, strict=True)
        ]

    def _join(self, losses: list[Floats]) -> Floats:
        """Return the loss of the population from the groups' losses for each set."""
        return np.asarray(np.maximum.reduce(losses) @ self.weights)

    def step(self, tol: float) -> None:
        """Split the boxes with the smallest bounds; close boxes within `tol`."""
        n_split = min(_SPLIT_AT_ONCE, len(self.bounds))
        chosen = np.argpartition(self.bounds, n_split - 1)[:n_split]
        rest = np.ones(len(self.bounds), bool)
        rest[chosen] = False
        lows, highs, bounds = self._split(chosen)
        self.lows = np.concatenate([self.lows[rest], lows])
        self.highs = np.concatenate([self.highs[rest], highs])
        self.bounds = np.concatenate([self.bounds[rest], bounds])
        open_ = self.bounds < self.upper - tol
        self.closed = float(self.bounds[~open_].min(initial=self.closed))
        self.lows, self.highs = self.lows[open_], self.highs[open_]
        self.bounds = self.bounds[open_]
        self.lower = float(self.bounds.min(initial=self.closed))

    def _split(self, chosen: Integers) -> tuple[Floats, Floats, Floats]:
        """Halve one side of each box; return corners and bounds of the halves."""
        lows, highs = self.lows[chosen], self.highs[chosen]
        middles = (lows + highs) / 2
        now, then = self._losses(lows, highs), self._losses(middles, middles)
        if len(self.sets) == 1:
            self._keep_best(middles, self._join(then))
            # At probabilities of 0 and 1 the loss can jump: try them themselves.
            points = np.where(lows == 0, 0.0, np.where(highs == 1, 1.0, middles))
            points = points[(points != middles).any(axis=(1, 2))]
            self._keep_best(points, self._join(self._losses(points, points)))
        promises = [
            self._join([*now[:i], then[i], *now[i + 1 :]])
            for i in range(len(self.sets))
        ]
        boxes, best = np.arange(len(chosen)), np.argmax(promises, axis=0)
        side = ((highs - lows)[boxes, best] * self.scale).argmax(axis=1)
        middle = middles[boxes, best, side]
        lows, highs = np.tile(lows, (2, 1, 1)), np.tile(highs, (2, 1, 1))
        highs[boxes, best, side] = middle
        lows[len(boxes) + boxes, best, side] = middle
        bounds = np.tile(self.bounds[chosen], 2)
        if len(self.sets) == 2:
            # Two disjoint sets share a probability of one.
            fits = (lows.sum(axis=1) <= 1 + 1e-12).all(axis=1)
            lows, highs, bounds = lows[fits], highs[fits], bounds[fits]
            highs = np.minimum(highs, 1 - lows[:, ::-1])
            highs = np.maximum(highs, lows)
        return lows, highs, np.maximum(bounds, self._join(self._losses(lows, highs)))

    def _keep_best(self, points: Floats, losses: Floats) -> None:
        """Remember the point of the smallest loss, if it is the smallest known."""
        if losses.min(initial=np.inf) < self.upper:
            self.upper = float(losses.min())
            self.best = points[losses.argmin()]

    @property
    def is_done(self) -> bool:
        """Return whether no box is open."""
        return not len(self.bounds)


def merged_lower_bound(
    data: ChannelSearch, best_carried: Carried, tol: float, clock: Clock
) -> tuple[float, Floats]:
    """Return the largest lower bound over merges of classes into 2 or 3 sets.

    The search ends when the bound is within `tol` of the loss of `best_carried`. Return
    also the best known channel between the two sets of the merge that gives the largest
    bound. For two classes this channel is optimal if the search was completed.
    """
    goal, channel, _ = best_carried
    if clock.is_over():
        return 0.0, channel
    pairs = [
        MergedSearch(data, inside[None], channel)
        for inside in halves(data.true.shape[1])
    ]
    # The upper bound of a search says how large its lower bound can become.
    pairs = sorted(pairs, key=lambda search: -search.upper)[:_MAX_SEARCHES]
    best = _advance(pairs, goal - tol, tol / 4, clock, data.progress)
    pairs = sorted(pairs, key=lambda search: -search.lower)
    refined = [
        MergedSearch(data, sets, channel)
        for search in pairs[:_N_REFINED]
        for sets in _refinements(search.sets[0])
    ]
    refined = sorted(refined, key=lambda search: -search.upper)[:_MAX_SEARCHES]
    if best < goal - tol:
        best = max(best, _advance(refined, goal - tol, tol / 4, clock, data.progress))
    return min(best, goal), _expand_channel(pairs[0], channel, data)


def _expand_channel(
    search: MergedSearch, channel: Floats, data: ChannelSearch
) -> Floats:
    """Expand the channel between two sets of classes to all classes.

    Within each set, predictions are divided among the classes as in `channel`.
    """
    (inside,), (share,) = search.sets, search.best
    expanded = np.zeros_like(channel)
    for members, mass in ((inside, share), (~inside, 1 - share)):
        # Where that channel never predicts the set, they are divided as the predictions
        # of all groups together.
        parts = np.where(members, channel, 0.0)
        parts[parts.sum(axis=1) == 0] = members * (data.weights @ data.predicted)
        parts[parts.sum(axis=1) == 0] = members
        expanded += mass[:, None] * parts / parts.sum(axis=1, keepdims=True)
    return expanded


def _advance(
    searches: list[MergedSearch],
    goal: float,
    tol: float,
    clock: Clock,
    progress: Progress,
) -> float:
    """Continue all searches, then the better half of the searches, and so on."""
    best = 0.0
    for n_steps in _ROUNDS:
        for search in searches:
            for _ in range(n_steps):
                if search.is_done or best >= goal or clock.is_over():
                    break
                search.step(tol)
                best = max(best, search.lower)
                progress.update(
                    f"{len(searches)} ways of merging classes, lower {best:.6f}"
                )
        waiting = [s for s in searches if not s.is_done and s.upper > best + tol]
        waiting.sort(key=lambda search: -search.lower)
        searches = waiting[: -(-len(waiting) // 2)]
    return best


def _refinements(inside: Bools) -> list[Bools]:
    """Return all ways of splitting one of two sets, each as two disjoint sets."""
    ways = []
    for whole in (inside, ~inside):
        members = np.flatnonzero(whole)
        for part in halves(len(members)) if len(members) > 1 else ():
            first = np.zeros_like(inside)
            first[members[part]] = True
            ways.append(np.stack([first, whole & ~first]))
    return ways


#: Share of the time limit that the search for the upper bound may take.
_SHARE_OF_SEARCH = 0.4
#: Share of the time that is left then that the lower bound may take.
_SHARE_OF_BOUND = 0.9
_MAX_VIOLATION = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class MinDCPResult(TableResult):
    """Interval of the smallest DCP that published frequencies allow.

    Attributes
    ----------
    lower, upper : float in [0, 1]
        No classifier with these frequencies has a DCP below `lower`; the one with the
        matrices `confusion` has a DCP of at most `upper`.
    optimal : bool
        Whether ``upper - lower`` is at most `tol`.
    n_starts : int
        Number of local searches that were made.
    message : str
        How the search ended.
    baseline : ndarray of shape (n_classes, n_classes)
        The common confusion matrix.
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
        A confusion matrix for each group that agrees with its frequencies.
    eta : ndarray of shape (n_groups, n_classes)
        Share of each group's people of each true class that the baseline does not
        explain; nan where there are none.
    weights : ndarray of shape (n_groups, n_classes)
        Share of the population in each group and true class.
    groups : tuple of length n_groups
        Group labels: those of the pandas objects given, else positions.
    classes : tuple of length n_classes
        Classes, likewise.

    See Also
    --------
    min_dcp_bounds : The function that returns it.
    """

    lower: float
    upper: float
    optimal: bool
    n_starts: int
    message: str
    baseline: Floats = field(repr=False)
    confusion: Floats = field(repr=False)
    eta: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    groups: tuple[Hashable, ...] = field(repr=False)
    classes: tuple[Hashable, ...] = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Table of who is treated differently, if the matrices are `confusion`.

        Other matrices with the same frequencies can attain the same bound. Their
        disparities have the same sum, `upper`, but can belong to other groups.

        Returns
        -------
        DataFrame
            One row for each group and true class, the largest disparity first, with
            the columns of `DCPResult.to_frame`.

        Examples
        --------
        >>> from skfair.metrics import min_dcp_bounds
        >>> result = min_dcp_bounds(
        ...     [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.3, 0.7]]
        ... )
        >>> result.to_frame()[["group", "class", "weight", "disparity"]].shape
        (4, 4)
        """
        return tabulate_disparities(self)


def min_dcp_bounds(
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    prediction_frequencies: ArrayLike,
    *,
    tol: float = 1e-4,
    time_limit: float | None = None,
    n_starts: int = 10,
    sum_tolerance: float = 1e-6,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> MinDCPResult:
    """Bound the smallest DCP of a classifier of which only frequencies are known.

    At least this share of the population is treated differently from a common
    baseline by every classifier with these frequencies of true and predicted classes.

    Parameters
    ----------
    group_weights : array-like of shape (n_groups,)
        Share of each group in the population, or its size. Groups of
        pandas objects are matched by the labels of rows, classes by those of columns.
    label_frequencies : array-like of shape (n_groups, n_classes)
        ``label_frequencies[a, y]`` is P(true class y | group a).
    prediction_frequencies : array-like of shape (n_groups, n_classes)
        ``prediction_frequencies[a, z]`` is P(prediction z | group a).
    tol : float in (0, 1), default=1e-4
        The search ends when ``upper - lower`` is at most this.
    time_limit : float, default=None
        Seconds after which the search ends, with a valid interval; about half of them
        are used for the upper bound. Without a limit all searches end after a fixed
        number of steps, and the result does not depend on the speed of the machine.
    n_starts : int, default=10
        Number of local searches for the upper bound from each of two kinds of start:
        fits with larger weights on sets of two groups, and on sets of three. Half as
        many more start from fits with random weights. For two classes the search for
        the lower bound makes them unnecessary.
    sum_tolerance : float in [0, 0.1], default=1e-6
        How much the sum of each group's frequencies may differ from one, for example
        ``0.005 * n_classes`` if they are rounded to two decimals. They are scaled to
        sum to one.
    random_state : int, RandomState instance or None, default=None
        Seed of the random weights.
    verbose : int, default=0
        Above 0, the standard error stream shows how far the searches are.

    Returns
    -------
    MinDCPResult

    Raises
    ------
    ValueError
        On shapes or labels that disagree, NaN, negative entries, a group whose
        frequencies do not sum to one within `sum_tolerance`, or parameters out of
        range.

    See Also
    --------
    dcp_bounds : With known confusion matrices.

    Notes
    -----
    Zero does not mean that the classifier is fair, only that these frequencies do not
    show it to be unfair. Errors of the frequencies, including rounding, change the
    result by about the same amount.

    The lower bound merges predicted classes into two or three sets. For two classes
    the bounds meet; for more the lower one is below the true value in general.

    References
    ----------
    .. [1] Sabato, Treister, Yom-Tov. "Disparate Conditional Prediction in Multiclass
       Classifiers". ICML 2025. Equation 12.

    Examples
    --------
    >>> from skfair.metrics import min_dcp_bounds
    >>> result = min_dcp_bounds(
    ...     [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.3, 0.7]]
    ... )
    >>> round(result.lower, 3), round(result.upper, 3), result.optimal
    (0.1, 0.1, True)
    """
    tol = check_real("tol", tol, 0, 1, closed="neither")
    n_starts = check_integer("n_starts", n_starts, 1)
    progress = Progress("min_dcp_bounds", check_verbose(verbose))
    weights, true, predicted, groups, classes = _frequencies(
        group_weights, label_frequencies, prediction_frequencies, sum_tolerance
    )
    clock = Clock(check_time_limit(time_limit))
    part = clock.part(_SHARE_OF_SEARCH)
    search = ChannelSearch(weights, true, predicted, part, progress)
    best, n_searches = search.best(n_starts, check_random_state(random_state))
    lower, merged = merged_lower_bound(search, best, tol, clock.part(_SHARE_OF_BOUND))
    if best.loss - lower > tol:
        n_searches += 1
        search.clock = clock
        best = min(best, search.search_from(merged) or best, key=_by_loss)
    confusion = _complete_matrices(best, search)
    violation = _largest_violation(confusion, search)
    if violation > _MAX_VIOLATION:
        raise RuntimeError(
            f"the confusion matrices found violate a constraint by {violation:.1e}, "
            f"expected at most {_MAX_VIOLATION:g}."
        )
    weights = weights[:, None] * true
    baseline = best.channel
    eta = unexplained_shares(baseline, confusion)
    upper = float((weights * eta).sum())
    lower = min(lower, upper)
    optimal = upper - lower <= tol
    message = f"the bounds differ by more than {tol:g} after {n_searches} searches"
    if optimal:
        message = f"optimal: the bounds differ by at most {tol:g}"
    result = MinDCPResult(
        lower=lower,
        upper=upper,
        optimal=optimal,
        n_starts=n_searches,
        message=message,
        baseline=baseline,
        confusion=confusion,
        eta=np.where(weights > 0, eta, np.nan),
        weights=weights,
        groups=groups,
        classes=classes,
    )
    progress.line(f"{result.lower:.6f} to {result.upper:.6f}, {n_searches} searches")
    return result


def _frequencies(
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    prediction_frequencies: ArrayLike,
    sum_tolerance: float,
) -> tuple[Any, ...]:
    """Check published frequencies; return them with labels of groups and classes."""
    sum_tolerance = check_sum_tolerance(sum_tolerance)
    tables = {
        "label_frequencies": label_frequencies,
        "prediction_frequencies": prediction_frequencies,
    }
    shape: tuple[int | str, ...] = "n_groups", "n_classes"
    arrays, rows, columns = {}, {}, {}
    for name, table in tables.items():
        arrays[name] = check_table(name, table, shape)
        shape = arrays[name].shape
        rows[name], columns[name] = row_labels(table), column_labels(table)
    rows["group_weights"] = row_labels(group_weights)
    n_groups, n_classes = arrays["label_frequencies"].shape
    groups, classes = first_labels(rows, n_groups), first_labels(columns, n_classes)
    if rows["group_weights"] is None or len(groups[1]) != n_groups:
        check_group_weights(group_weights, range(n_groups))
    for name, array in arrays.items():
        row = match_labels(name, rows[name], groups, "groups")
        column = match_labels(name, columns[name], classes, "classes")
        arrays[name] = array[row][:, column]
    if isinstance(group_weights, pd.Series):
        order = match_labels("group_weights", group_weights.index, groups, "groups")
        group_weights = group_weights.iloc[order]
    weights = check_group_weights(group_weights, groups[1])
    true, predicted = check_distributions(arrays, sum_tolerance, groups[1], classes[1])
    return weights, true, predicted, groups[1], classes[1]


def _complete_matrices(best: Carried, data: ChannelSearch) -> Floats:
    """Return the confusion matrices of a channel and the mass it carries.

    Mass that is not carried is divided in proportion to the true and the predicted
    frequencies that remain. A class without rows in a group gets the channel's row.
    """
    channel, carried = best.channel, best.mass
    left_true = data.true - carried
    left_predicted = np.maximum(data.predicted - carried @ channel, 0.0)
    totals = left_predicted.sum(axis=1)[:, None, None]
    joint = carried[:, :, None] * channel
    product = left_true[:, :, None] * left_predicted[:, None, :]
    joint += quotients(product, totals)
    confusion = np.tile(channel, (len(data.true), 1, 1))
    sums = joint.sum(axis=2, keepdims=True)
    np.divide(joint, sums, out=confusion, where=sums > 0)
    return confusion


def _largest_violation(confusion: Floats, data: ChannelSearch) -> float:
    """Return the largest amount by which confusion matrices violate a constraint."""
    predicted = np.einsum("ay,ayz->az", data.true, confusion)
    violations: list[Floats] = [
        np.abs(predicted - data.predicted),
        np.abs(confusion.sum(axis=2) - 1),
        np.maximum(-confusion, 0.0),
    ]
    return float(max(violation.max() for violation in violations))
