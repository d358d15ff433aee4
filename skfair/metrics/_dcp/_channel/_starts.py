"""Local searches from many starts, the best channel kept."""

from __future__ import annotations

from itertools import combinations, islice
from math import comb

import numpy as np

from skfair.metrics._dcp._channel._channel import (
    Carried,
    Frequencies,
    carry,
    fitted_channel,
    improve,
)
from skfair.metrics._dcp._search._linear_program import Clock
from skfair.metrics._dcp._search._rows import Floats

#: Groups that are emphasised together.
_SIZES = (2, 3)
#: Fits that emphasise such a set, for each of them that is followed.
_N_FITS = 11
#: How much they are emphasised.
_EMPHASIS = 20.0
#: Starts whose channels differ by less than this lead to the same place.
_LEAST_DISTANCE = 0.02


def best_channel(
    data: Frequencies,
    n_starts: int,
    generator: np.random.RandomState,
    clock: Clock,
) -> tuple[Carried, int]:
    """Search from channels that fit the groups best, emphasised in turn.

    The optimum fits most groups exactly and gives others up, so a fit of absolute
    misfits under varied emphasis comes close to it.

    Parameters
    ----------
    data : Frequencies
    n_starts : int
    generator : RandomState
    clock : Clock

    Returns
    -------
    best : Carried
    n_followed : int
    """
    best, n_followed = _mean_channel(data), 0
    starts = []
    for size in _SIZES:
        fits = _fits(_set_emphases(data.weights, size, n_starts), data, clock)
        starts += _distinct(fits)[:n_starts]
    # Screening by the first loss would lose the variety that random fits are for.
    random = _random_emphases(data.weights, -(-n_starts // 2), generator)
    starts += _fits(random, data, clock)
    for start in starts:
        best = min(best, start, key=lambda known: known.loss)
        if clock.is_over():
            break
        n_followed += 1
        found = improve(start, data, clock)
        best = min(best, found, key=lambda known: known.loss)
    return best, n_followed


def _fits(emphases: list[Floats], data: Frequencies, clock: Clock) -> list[Carried]:
    """Fit a channel under each emphasis, and see what it carries."""
    fits = []
    for emphasis in emphases:
        if clock.is_over():
            break
        channel = fitted_channel(data, emphasis, clock)
        fit = None if channel is None else carry(channel, data, clock)
        if fit is not None:
            fits.append(fit)
    return fits


def _set_emphases(weights: Floats, size: int, n_starts: int) -> list[Floats]:
    """All groups by weight, and sets of groups above the others."""
    n_fits = _N_FITS * n_starts
    size = min(size, len(weights))
    step = -(-comb(len(weights), size) // n_fits)
    sets = islice(combinations(range(len(weights)), size), 0, None, step)
    emphases = [weights]
    for members in sets:
        emphasis = weights.copy()
        emphasis[list(members)] *= _EMPHASIS
        emphases.append(emphasis)
    return emphases


def _random_emphases(
    weights: Floats, n_fits: int, generator: np.random.RandomState
) -> list[Floats]:
    """Random multiples of the weights."""
    # Squares spread the emphasis over orders of magnitude.
    factors = generator.exponential(size=(n_fits, len(weights))) ** 2
    return list(weights * factors)


def _distinct(fits: list[Carried]) -> list[Carried]:
    chosen: list[Carried] = []
    for fit in sorted(fits, key=lambda known: known.loss):
        distances = [np.abs(fit.channel - known.channel).max() for known in chosen]
        if not distances or min(distances) > _LEAST_DISTANCE:
            chosen.append(fit)
    return chosen


def _mean_channel(data: Frequencies) -> Carried:
    """Make a channel that ignores the true label, and needs no solver."""
    channel = np.tile(data.weights @ data.predicted, (data.true.shape[1], 1))
    mean = channel[0]
    ratios = np.full(data.predicted.shape, np.inf)
    np.divide(data.predicted, mean, out=ratios, where=mean > 0)
    carried = data.true * np.minimum(ratios.min(axis=1, keepdims=True), 1.0)
    loss = float(data.weights @ (data.true - carried).sum(axis=1))
    return Carried(loss, channel, carried)
