"""The most mass that one channel carries from true to predicted frequencies.

With q[a, y] = pi[a, y] (1 - eta[a, y]) the confusion matrices leave the problem (each
can be completed by moving the mass that is left over):

    1 - minDCP = max  sum_a w_a sum_y q[a, y]
    s.t.  sum_y q[a, y] alpha[y, z] <= phat[a, z],  0 <= q <= pi,  alpha a channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, hstack, kron, vstack

from skfair.metrics._dcp._search._linear_program import Clock, maximise
from skfair.metrics._dcp._search._rows import Floats

_FIRST_RADIUS = 0.2
_LEAST_RADIUS = 1e-5
_LEAST_GAIN = 1e-9
_MAX_STEPS = 200


@dataclass(frozen=True, eq=False)
class Frequencies:
    """What is published of the groups that count.

    Attributes
    ----------
    weights : ndarray of shape (n_groups,)
    true, predicted : ndarray of shape (n_groups, n_classes)
    """

    weights: Floats
    true: Floats
    predicted: Floats


@dataclass(frozen=True, eq=False)
class Carried:
    """A channel, and what it carries.

    Attributes
    ----------
    loss : float
        Share of the population that it does not carry.
    channel : ndarray of shape (n_classes, n_classes)
    carried : ndarray of shape (n_groups, n_classes)
        Of each true label, at most its frequency.
    """

    loss: float
    channel: Floats
    carried: Floats


def carry(channel: Floats, data: Frequencies, clock: Clock) -> Carried | None:
    """Carry as much as one channel can: one small program for each group.

    Parameters
    ----------
    channel : ndarray of shape (n_classes, n_classes)
    data : Frequencies
    clock : Clock

    Returns
    -------
    Carried, or None if the solver fails
    """
    n_groups, n_classes = data.true.shape
    solved = maximise(
        np.repeat(data.weights, n_classes),
        kron(np.eye(n_groups), channel.T, format="csc"),
        data.predicted.ravel(),
        np.zeros(data.true.size),
        data.true.ravel(),
        clock,
    )
    if solved is None:
        return None
    carried = np.clip(solved.x.reshape(data.true.shape), 0.0, data.true)
    carried = _within(carried, channel, data.predicted)
    loss = float(data.weights @ (data.true - carried).sum(axis=1))
    return Carried(max(loss, 0.0), channel, carried)


def _within(carried: Floats, channel: Floats, predicted: Floats) -> Floats:
    """Shrink what rounding has let exceed the predicted frequencies."""
    arrives = carried @ channel
    ratios = np.ones_like(arrives)
    np.divide(predicted, arrives, out=ratios, where=arrives > predicted)
    return np.asarray(carried * ratios.min(axis=1, keepdims=True))


def fitted_channel(data: Frequencies, emphasis: Floats, clock: Clock) -> Floats | None:
    """Channel whose predictions are closest to those published, in absolute terms.

    Parameters
    ----------
    data : Frequencies
    emphasis : ndarray of shape (n_groups,)
        Weight of each group's misfit.
    clock : Clock

    Returns
    -------
    ndarray of shape (n_classes, n_classes), or None if the solver fails
    """
    n_groups, n_classes = data.true.shape
    # Unknowns: the channel by rows, then the misfit of each group and prediction.
    predicts = kron(csc_array(data.true), np.eye(n_classes))
    misfit = csc_array(np.eye(n_groups * n_classes))
    n_channel = n_classes**2
    solved = maximise(
        -np.append(np.zeros(n_channel), np.repeat(emphasis, n_classes)),
        vstack([hstack([predicts, -misfit]), hstack([-predicts, -misfit])]),
        np.append(data.predicted.ravel(), -data.predicted.ravel()),
        np.zeros(n_channel + data.true.size),
        np.full(n_channel + data.true.size, np.inf),
        clock,
        equal=(_row_sums(n_classes, data.true.size), np.ones(n_classes)),
    )
    if solved is None:
        return None
    return as_channel(solved.x[: n_classes**2].reshape(n_classes, n_classes))


def as_channel(values: Floats) -> Floats:
    """Clip rounding away, and scale rows to sum to one."""
    values = np.clip(values, 0.0, None)
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def improve(start: Carried, data: Frequencies, clock: Clock) -> Carried:
    """Successive linear programs within a trust region around the channel.

    Each program linearises the product of channel and mass carried; the channel that
    it proposes is kept if it carries more, and else the region shrinks.

    Parameters
    ----------
    start : Carried
    data : Frequencies
    clock : Clock

    Returns
    -------
    Carried
    """
    best, radius = start, _FIRST_RADIUS
    for _ in range(_MAX_STEPS):
        if radius < _LEAST_RADIUS or clock.is_over():
            break
        proposed = _step(best, data, radius, clock)
        moved = None if proposed is None else carry(proposed, data, clock)
        gain = 0.0 if moved is None else best.loss - moved.loss
        if moved is None or gain < _LEAST_GAIN:
            radius /= 4
            continue
        best = moved
        if gain < 1e-3 * best.loss:
            radius /= 2
    return best


def _row_sums(n_classes: int, n_others: int) -> Any:
    """Matrix of the sums of a channel's rows, among further unknowns."""
    sums = kron(np.eye(n_classes), np.ones((1, n_classes)))
    return hstack([sums, csc_array((n_classes, n_others))])


def _step(
    current: Carried, data: Frequencies, radius: float, clock: Clock
) -> Floats | None:
    n_groups, n_classes = data.true.shape
    channel = current.channel
    moves = kron(csc_array(current.carried), np.eye(n_classes))
    masses = block_diag([csc_array(channel.T)] * n_groups)
    low = np.maximum(-radius, -channel.ravel())
    high = np.minimum(radius, 1 - channel.ravel())
    solved = maximise(
        np.append(np.zeros(n_classes**2), np.repeat(data.weights, n_classes)),
        csc_array(hstack([moves, masses])),
        data.predicted.ravel(),
        np.append(low, np.zeros(data.true.size)),
        np.append(high, data.true.ravel()),
        clock,
        equal=(_row_sums(n_classes, data.true.size), np.zeros(n_classes)),
    )
    if solved is None:
        return None
    moved = solved.x[: n_classes**2].reshape(n_classes, n_classes)
    return as_channel(channel + moved)
