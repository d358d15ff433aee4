"""The interval of bandwidths in which MADD is most stable."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Variances below this are rounding noise of the running sums, and count as zero.
_NO_VARIANCE = 1e-14


class StableInterval(NamedTuple):
    """Half-open range of positions in a list of bandwidths, and the values in it."""

    start: int
    stop: int
    mean: float
    std: float


def optimal_order(totals: tuple[float, float]) -> float:
    """Order of magnitude of the best bandwidth, h_sup in Theorem 2 of the paper.

    Parameters
    ----------
    totals : tuple of two numbers
        Group sizes.

    Returns
    -------
    float
    """
    first, second = np.sqrt(totals[0]), np.sqrt(totals[1])
    return float(((first + second) / (first * second)) ** (2 / 3))


def stable_interval(
    bandwidths: NDArray[np.float64],
    values: NDArray[np.float64],
    totals: tuple[float, float],
    *,
    min_points: int = 50,
    min_length: float = 0.45,
) -> StableInterval:
    """Algorithm 1 of the MADD paper, for all eligible intervals at once.

    Parameters
    ----------
    bandwidths : ndarray of shape (n_bandwidths,), increasing
    values : ndarray of shape (n_bandwidths,)
    totals : tuple of two numbers
        Group sizes.
    min_points : int, default=50
        Least number of values in an interval.
    min_length : float, default=0.45
        Least length of an interval, as a multiple of h_sup.

    Returns
    -------
    StableInterval
        The first of the intervals with the smallest standard deviation.

    Raises
    ------
    ValueError
        If no interval is eligible.
    """
    n_values = len(bandwidths)
    length = optimal_order(totals) * min_length
    starts = np.arange(max(n_values - min_points, 0))
    starts = starts[bandwidths[starts] <= bandwidths[-1] - length]
    if not len(starts):
        raise ValueError(
            f"no interval of {min_points} bandwidths and length {length:.3g} lies in "
            f"[{bandwidths[0]:.3g}, {bandwidths[-1]:.3g}]: the groups, of total weight "
            f"{totals[0]:.6g} and {totals[1]:.6g}, are too small for bandwidth='auto'."
        )
    first_stop = np.searchsorted(bandwidths, bandwidths[starts] + length) - 1
    first_stop = np.maximum(first_stop, starts + min_points)
    sums, squares = _running(values - values.mean())
    stops = np.arange(first_stop.min(), n_values)  # no interval ends before
    sizes = stops - starts[:, None]
    eligible = stops >= first_stop[:, None]
    sizes[~eligible] = 1
    variances: Any = (squares[stops] - squares[starts, None]) / sizes
    variances -= ((sums[stops] - sums[starts, None]) / sizes) ** 2
    variances[variances < _NO_VARIANCE] = 0
    variances[~eligible] = np.inf
    row, column = np.unravel_index(np.argmin(variances), variances.shape)
    stop = stops[column]
    inside = values[starts[row] : stop]
    return StableInterval(
        int(starts[row]), int(stop), float(inside.mean()), float(inside.std())
    )


def _running(values: NDArray[np.float64]) -> tuple[Any, Any]:
    """Sum the first 0, 1, ..., n values, and their squares."""
    return (
        np.concatenate([[0], np.cumsum(values)]),
        np.concatenate([[0], np.cumsum(values**2)]),
    )
