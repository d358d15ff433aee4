"""Which rows a monitor compares to find a change: those before and since many looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.special import chdtri

from skfair.metrics._confidence_interval import lower_bound, upper_bound
from skfair.metrics._madd import bins_of
from skfair.metrics._noise import Comparisons
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import sort_scores

#: A number of consecutive looks, and the statistic of their rows, or those of strata.
Block = tuple[int, Any]
#: Largest number of blocks of the same number of looks.
_OF_ONE_LENGTH = 4
#: Scores are rounded down to multiples of one over this number.
N_SCORES = 256
#: The sum of 1 / (n log(n)**2) over all n from 2 on is 2.1097.
_SUM_OF_SHARES = 2.11
#: Levels at which the bounds of two samples are compared.
_N_LEVELS = 24


def added(total: Any, batch: Any) -> Any:
    """Add up two statistics, or those of each stratum."""
    if not isinstance(batch, dict):
        return total + batch
    both = total.keys() & batch.keys()
    return total | batch | {label: total[label] + batch[label] for label in both}


def rounded(statistic: Any, n_scores: int) -> Any:
    """Round scores down to multiples of 1 / n_scores below 1.

    Statistics without scores are small as they are.
    """
    if isinstance(statistic, dict):
        return {label: rounded(one, n_scores) for label, one in statistic.items()}
    if not isinstance(statistic, GroupedScores):
        return statistic
    scores, codes, weights = sort_scores(
        bins_of(statistic.scores, n_scores) / n_scores,
        statistic.codes,
        statistic.weights,
        n_groups=statistic.n_groups,
    )
    return replace(statistic, scores=scores, codes=codes, weights=weights)


def with_look(blocks: Sequence[Block], batch: Any) -> list[Block]:
    """Add a look, and join the two oldest blocks of a length of which are too many."""
    found, length = [*blocks, (1, batch)], 1
    while True:
        alike = [i for i, (n_looks, _) in enumerate(found) if n_looks == length]
        if len(alike) <= _OF_ONE_LENGTH:
            return found
        i = alike[0]
        found[i : i + 2] = [(2 * length, added(found[i][1], found[i + 1][1]))]
        length *= 2


def splits_of(blocks: Sequence[Block]) -> list[tuple[int, Any, Any]]:
    """Return how many looks are before each block, and the rows before and since."""
    lengths, parts = zip(*blocks, strict=True)
    before = accumulate(parts, added)
    since = [*accumulate(parts[::-1], lambda late, early: added(early, late))][::-1]
    # The last sum is that of all blocks, which no block follows.
    return list(zip(accumulate(lengths), before, since[1:], strict=False))


def share_of_look(n_looks: int) -> float:
    """Share of the level that a look has; the shares of all looks add up to 1."""
    return 1 / (_SUM_OF_SHARES * (n_looks + 1) * math.log(n_looks + 1) ** 2)


def levels_of(tail: float) -> list[float]:
    """Levels from 1 down to the product of two p-values that has this p-value."""
    logarithms = -chdtri(4, tail) / 2 * np.linspace(0, 1, _N_LEVELS + 1)
    return [float(level) for level in np.exp(logarithms)]


def separation(one: Comparisons, other: Comparisons, tail: float) -> float:
    """Return how far apart the bounds of two independent samples are, or -inf.

    It is positive with at most the probability `tail` if the sample with the smaller
    value has a disparity of at least that of the other. By Fisher's method: of any
    disparity between them the product of both p-values is small enough. The p-values
    are those at which the disparity is one of the ends of a one-sided interval.
    """
    if math.isnan(one.value) or math.isnan(other.value):
        return -math.inf
    larger, smaller = (one, other) if one.value > other.value else (other, one)
    levels = levels_of(tail)
    found = math.inf
    # Bounds that overlap do so in the middle, as a rule.
    for i in sorted(range(_N_LEVELS), key=lambda i: abs(i - _N_LEVELS // 2)):
        low = lower_bound(larger, levels[i + 1])
        found = min(found, low - upper_bound(smaller, levels[_N_LEVELS - i]))
        if found <= 0:
            break
    return found
