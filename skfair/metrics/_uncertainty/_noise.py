"""Disparities without most of what noise adds to them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair.metrics._spec import unwrapped
from skfair.metrics._uncertainty._resampling import Drawn, check_seed

#: Permutations that estimate the noise: they leave an error of about 4 % of it.
_N_PERMUTATIONS = 40
#: Pairs of groups that are corrected one by one.
_MAX_PAIRS = 45


def compares_pairs(metric: Callable[..., float]) -> bool:
    """Whether the value for several groups is the largest of all pairs of them.

    Of ranks it is not: they are among everyone, not among the rows of a pair.
    """
    option = inspect.signature(metric).parameters.get("multigroup")
    ranked = unwrapped(metric)[1].get("scale") == "rank"
    return option is not None and option.default == "pairwise" and not ranked


def subtract_noise(
    metric: Callable[..., float], rows: Rows, strata: list[Integers], *, by_pair: bool
) -> float:
    """Subtract the noise from a defined metric: of squares, for each pair of groups.

    The noise of a pair is the mean square over permutations of all groups. Of several
    pairs the largest is taken, whose noise is larger: by as much as the largest ratio
    to the noise of its pair is on average in permutations.
    """
    present = np.flatnonzero(rows.groups.sizes())
    pairs = list(combinations(present.tolist(), 2)) if by_pair else []
    if len(pairs) > _MAX_PAIRS or len(pairs) < 2:
        pairs = []
    generator = check_seed(0)
    drawn = [rows.permuted(generator, strata) for _ in range(_N_PERMUTATIONS)]
    null = np.array([_values(metric, one, pairs) for one in drawn]) ** 2
    null = null[~np.isnan(null).any(axis=1)]
    if not len(null):
        return math.nan
    noise = null.mean(axis=0)
    ratios = quotients(null, noise)
    squares = _values(metric, rows, pairs) ** 2 - ratios.max(axis=1).mean() * noise
    return math.sqrt(max(float(squares.max()), 0))


def _values(
    metric: Callable[..., float], rows: Rows, pairs: list[tuple[int, int]]
) -> Floats:
    """Value of each pair of groups, or, without pairs, of all groups."""
    if not pairs:
        return np.array([Drawn(rows).evaluate_again(metric)])
    codes, labels = rows.groups.codes, rows.groups.labels
    values = []
    for first, second in pairs:
        two = rows[np.flatnonzero((codes == first) | (codes == second))]
        groups = replace(
            two.groups,
            codes=(two.groups.codes == second).astype(np.int8),
            labels=(labels[first], labels[second]),
        )
        values.append(Drawn(replace(two, groups=groups)).evaluate_again(metric))
    return np.array(values)
