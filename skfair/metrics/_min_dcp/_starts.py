"""Local searches from many starts, the best channel kept."""

from __future__ import annotations

import numpy as np

from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._rows import Floats
from skfair.metrics._min_dcp._channel import (
    Carried,
    Frequencies,
    carry,
    fitted_channel,
    improve,
)

#: Fits that emphasise a pair of groups, for each of them that is followed.
_N_FITS = 8
#: Random fits that are followed for each systematic one.
_N_RANDOM = 2
#: How much a pair of groups is emphasised.
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
    systematic = _fits(_pair_emphases(data.weights, n_starts), data, clock)
    # Screening by the first loss would lose the variety that random fits are for.
    random = _fits(
        _random_emphases(data.weights, _N_RANDOM * n_starts, generator), data, clock
    )
    for start in [*_distinct(systematic)[:n_starts], *random]:
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


def _pair_emphases(weights: Floats, n_starts: int) -> list[Floats]:
    """All groups by weight, and pairs of groups above the others."""
    first, second = np.triu_indices(len(weights), 1)
    step = max(1, -(-len(first) // (_N_FITS * n_starts)))
    rows = np.arange(len(first[::step]))
    pairs = np.tile(weights, (len(rows), 1))
    pairs[rows, first[::step]] *= _EMPHASIS
    pairs[rows, second[::step]] *= _EMPHASIS
    return [weights, *pairs]


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
