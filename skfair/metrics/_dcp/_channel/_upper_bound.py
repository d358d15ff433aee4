"""Upper bound of minDCP: the channel that carries the most mass, by local search.

With q[a, y] = pi[a, y] (1 - eta[a, y]) the confusion matrices leave the problem (each
can be completed from the mass that is not carried):

    1 - minDCP = max  sum_a w_a sum_y q[a, y]
    s.t.  sum_y q[a, y] alpha[y, z] <= phat[a, z],  0 <= q <= pi.

The baseline alpha is a channel from true to predicted classes, and q is the mass that
it carries. The search solves linear programs in turn from many starts.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from operator import attrgetter

import numpy as np
from scipy.sparse import block_diag, csc_array, hstack, kron, vstack

from skfair._utils._arrays import Floats
from skfair._utils._progress import Progress
from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._search._linear_program import maximise
from skfair.metrics._dcp._search._rows import explained_shares

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


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Weights of the groups, frequencies (n_groups, n_classes) in each, and labels."""

    weights: Floats
    true: Floats
    predicted: Floats
    groups: tuple[Hashable, ...] = ()
    classes: tuple[Hashable, ...] = ()


@dataclass(frozen=True, eq=False)
class Carried:
    """A channel (n_classes, n_classes) and the mass of each group that it carries."""

    loss: float  # share of the population that is not carried
    channel: Floats
    carried: Floats  # (n_groups, n_classes), at most the frequency of the true class


def best_channel(
    data: Frequencies,
    n_starts: int,
    generator: np.random.RandomState,
    clock: Clock,
    progress: Progress,
) -> tuple[Carried, int]:
    """Search from many starts; the best channel, and the number of searches."""
    best, n_searches = _constant_channel(data), 0
    if data.true.shape[1] == 2:
        # The search for the lower bound finds the best channel of two classes.
        return best, n_searches
    # The optimum fits most groups exactly and others not at all, so that channels with
    # the least absolute misfit, under varied weights of the groups, are close to it.
    starts = []
    for size in _SET_SIZES:
        fits = _fits(_set_emphases(data.weights, size, n_starts), data, clock, progress)
        starts += _distinct(fits)[:n_starts]
    # Random fits are all kept: those of the least loss would be too similar. Squares
    # make the factors of the weights differ by orders of magnitude.
    shape = -(-n_starts // 2), len(data.weights)
    random = data.weights * generator.exponential(size=shape) ** 2
    starts += _fits(list(random), data, clock, progress)
    for start in starts:
        best = min(best, start, key=_by_loss)
        if clock.is_over():
            break
        n_searches += 1
        best = min(best, _improve(start, data, clock), key=_by_loss)
        progress.update(
            f"{n_searches} of {len(starts)} local searches, upper {best.loss:.6f}"
        )
    return best, n_searches


def search_from(channel: Floats, data: Frequencies, clock: Clock) -> Carried | None:
    """Best channel of a local search from one; None if the solver fails."""
    start = carry(channel, data, clock)
    return None if start is None else _improve(start, data, clock)


def _constant_channel(data: Frequencies) -> Carried:
    """Channel that ignores the true class; it needs no solver."""
    mean = data.weights @ data.predicted
    carried = data.true * explained_shares(mean, data.predicted)[:, None]
    return _with_loss(np.tile(mean, (data.true.shape[1], 1)), carried, data)


def _with_loss(channel: Floats, carried: Floats, data: Frequencies) -> Carried:
    """Channel and mass with the share of the population that is not carried."""
    loss = float(data.weights @ (data.true - carried).sum(axis=1))
    return Carried(max(loss, 0.0), channel, carried)


def _set_emphases(weights: Floats, size: int, n_starts: int) -> list[Floats]:
    """Weights of all groups, and weights that emphasise sets of groups."""
    size = min(size, len(weights))
    step = -(-comb(len(weights), size) // (_N_FITS * n_starts))
    emphases = [weights]
    for members in islice(combinations(range(len(weights)), size), 0, None, step):
        emphasis = weights.copy()
        emphasis[list(members)] *= _EMPHASIS
        emphases.append(emphasis)
    return emphases


def _fits(
    emphases: list[Floats], data: Frequencies, clock: Clock, progress: Progress
) -> list[Carried]:
    """Channel fitted with each emphasis, and the mass that it carries."""
    fits = []
    for emphasis in emphases:
        if clock.is_over():
            break
        channel = _fitted_channel(data, emphasis, clock)
        fit = None if channel is None else carry(channel, data, clock)
        if fit is not None:
            fits.append(fit)
            progress.update(f"{len(fits)} of {len(emphases)} fits")
    return fits


def _distinct(fits: list[Carried]) -> list[Carried]:
    """Fits by increasing loss, without those close to one before them."""
    chosen: list[Carried] = []
    for fit in sorted(fits, key=_by_loss):
        distances = [np.abs(fit.channel - known.channel).max() for known in chosen]
        if not distances or min(distances) > _LEAST_DISTANCE:
            chosen.append(fit)
    return chosen


def _improve(start: Carried, data: Frequencies, clock: Clock) -> Carried:
    """Successive linear programs within a trust region around the channel."""
    # Each program linearises the product of channel and mass; the channel that it
    # proposes is kept if it carries more, otherwise the region shrinks.
    best, radius = start, _FIRST_RADIUS
    for _ in range(_MAX_STEPS):
        if radius < _LEAST_RADIUS or clock.is_over():
            break
        proposed = _linearised_step(best, data, radius, clock)
        moved = None if proposed is None else carry(proposed, data, clock)
        gain = 0.0 if moved is None else best.loss - moved.loss
        if moved is None or gain < _LEAST_GAIN:
            radius /= 4
            continue
        best = moved
        if gain < 1e-3 * best.loss:
            radius /= 2
    return best


def carry(channel: Floats, data: Frequencies, clock: Clock) -> Carried | None:
    """Carry as much as a channel can; None if the solver fails."""
    n_groups, n_classes = data.true.shape
    solved = maximise(
        np.repeat(data.weights, n_classes),
        kron(csc_array(np.eye(n_groups)), csc_array(channel.T), format="csc"),
        data.predicted.ravel(),
        np.zeros(data.true.size),
        data.true.ravel(),
        clock,
    )
    if solved is None:
        return None
    carried = np.clip(solved.x.reshape(data.true.shape), 0.0, data.true)
    # Rounding may have carried more than the predicted frequencies.
    arrives = carried @ channel
    ratios = np.ones_like(arrives)
    np.divide(data.predicted, arrives, out=ratios, where=arrives > data.predicted)
    carried = carried * ratios.min(axis=1, keepdims=True)
    return _with_loss(channel, carried, data)


def _fitted_channel(data: Frequencies, emphasis: Floats, clock: Clock) -> Floats | None:
    """Channel whose predictions differ least from the published ones."""
    # Unknowns: the channel, and the absolute misfit of each group and predicted class.
    n_classes = data.true.shape[1]
    predicts = kron(csc_array(data.true), csc_array(np.eye(n_classes)))
    misfit = csc_array(np.eye(data.true.size))
    n_unknowns = n_classes**2 + data.true.size
    solved = maximise(
        -np.repeat(emphasis, n_classes),
        vstack([hstack([predicts, -misfit]), hstack([-predicts, -misfit])]),
        np.append(data.predicted.ravel(), -data.predicted.ravel()),
        np.zeros(n_unknowns),
        np.full(n_unknowns, np.inf),
        clock,
        n_rows=n_classes,
    )
    return None if solved is None else _as_channel(solved.x[: n_classes**2])


def _linearised_step(
    current: Carried, data: Frequencies, radius: float, clock: Clock
) -> Floats | None:
    """Channel that carries the most to first order, within a radius."""
    # Unknowns: the change of the channel, and the mass of each group and true class.
    n_groups, n_classes = data.true.shape
    channel = current.channel.ravel()
    changes = kron(csc_array(current.carried), csc_array(np.eye(n_classes)))
    masses = block_diag([csc_array(current.channel.T)] * n_groups)
    solved = maximise(
        np.repeat(data.weights, n_classes),
        csc_array(hstack([changes, masses])),
        data.predicted.ravel(),
        np.append(np.maximum(-radius, -channel), np.zeros(data.true.size)),
        np.append(np.minimum(radius, 1 - channel), data.true.ravel()),
        clock,
        n_rows=n_classes,
        row_sum=0.0,
    )
    return None if solved is None else _as_channel(channel + solved.x[: len(channel)])


def _as_channel(entries: Floats) -> Floats:
    """Square matrix with non-negative rows that sum to one, rounding removed."""
    n_classes = round(len(entries) ** 0.5)
    channel = np.clip(entries, 0.0, None).reshape(n_classes, n_classes)
    return np.asarray(channel / channel.sum(axis=1, keepdims=True))
