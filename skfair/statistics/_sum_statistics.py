"""Sum of many statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from skfair.statistics._json import JSONStatistic

Statistic = TypeVar("Statistic", bound=JSONStatistic)


def sum_statistics(statistics: Iterable[Statistic]) -> Statistic:
    """Add up many statistics of the same class.

    Adding batches of scores one by one sorts the growing sum again for each batch,
    which takes time quadratic in their number. Here sums of equally many batches are
    added to each other: every batch takes part in log2(n_statistics) additions.

    Parameters
    ----------
    statistics : iterable of statistics of the same class
        Statistics of `skfair.statistics`, such as `GroupedScores`. A generator is read
        one by one, so that batches need not be in memory together.

    Returns
    -------
    statistic
        That of the joined rows. Weights that are not whole numbers are added in
        another order than by `sum`, and may differ from it by rounding.

    Raises
    ------
    ValueError
        If there are no statistics.
    TypeError
        If they are of several classes, or no statistics.

    See Also
    --------
    GroupedScores : A statistic of scores.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> from skfair.statistics import GroupedScores, sum_statistics
    >>> days = [([0.2, 0.9], ["F", "M"]), ([0.4, 0.6], ["F", "M"])]
    >>> week = sum_statistics(
    ...     GroupedScores.from_scores(scores, sensitive_features=sex)
    ...     for scores, sex in days
    ... )
    >>> mcdp(None, week)
    1.0
    """
    waiting: list[tuple[int, Statistic]] = []  # sums of 2**k statistics, k decreasing
    for statistic in statistics:
        if not isinstance(statistic, JSONStatistic):
            raise TypeError(
                "statistics must be statistics of skfair.statistics, got a "
                f"{type(statistic).__name__}."
            )
        size, joined = 1, statistic
        while waiting and waiting[-1][0] == size:
            joined = _add(waiting.pop()[1], joined)
            size *= 2
        waiting.append((size, joined))
    if not waiting:
        raise ValueError("statistics is empty, expected at least one.")
    _, total = waiting.pop()
    while waiting:
        total = _add(waiting.pop()[1], total)
    return total


def _add(first: Statistic, second: Statistic) -> Statistic:
    """Sum of two statistics of the same class."""
    if type(first) is not type(second):
        raise TypeError(
            "statistics must be of one class, got a "
            f"{type(first).__name__} and a {type(second).__name__}."
        )
    return first + second  # type: ignore[operator, no-any-return]
