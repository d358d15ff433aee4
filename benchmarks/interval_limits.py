"""Least mean width of any 95 % interval of MADD of 100 bins, beside ours.

    python benchmarks/interval_limits.py [--draws 3000] [--samples 20]

An interval of level 95 % tests every value that it may leave out, at a level of 5 %.
Where the best test, of Neyman and Pearson, cannot tell the distributions of a cell of
``benchmarks/interval_coverage.py`` from others with another disparity, no interval of
that level can leave the other disparity out. ``docs/evidence/intervals.md`` has
the proof. Our width is a mean over samples, that of the bootstrap over the first eight.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from interval_coverage import (
    METRICS,
    N_BOOTSTRAPPED,
    SHAPES,
    Population,
    bootstrapped_widths,
)
from numpy.typing import NDArray

from skfair.metrics import confidence_interval
from skfair.statistics import GroupedScores

NAME, N_BINS, LEVEL = "MADD 100", 100, 0.05
CASES = [
    (shape, sizes, shift)
    for shape in ("continuous", "flat", "atoms")
    for sizes in ((20, 200), (100, 300))
    for shift in (0.3, 1.5)
]
STRENGTHS = np.linspace(0.025, 1, 40)
#: Distributions of two groups over bins in pairs, of shape (2, n_pairs, 2).
Shares = NDArray[Any]


def shares_of(shape: str, shift: float) -> Shares:
    """Shares of the bins, of the shifted group and of the other."""
    levels = (np.arange(100_000) + 0.5) / 100_000
    counts = []
    for one in (shift, 0):
        scores = SHAPES[shape].change(SHAPES[shape].base(one).ppf(levels))
        bins = np.minimum(np.floor(scores * N_BINS), N_BINS - 1).astype(int)
        counts.append(np.bincount(bins, minlength=N_BINS) / len(levels))
    return np.reshape(counts, (2, -1, 2))


def larger(shares: Shares, sizes: tuple[int, int], strength: float) -> list[Shares]:
    """Move mass within each pair of bins, in opposite directions in both groups."""
    least = shares.min(axis=2, keepdims=True)
    ratio = np.array([1, sizes[0] / sizes[1]])[:, None, None]
    moved = strength * ratio * least * np.array([[[1, -1]], [[-1, 1]]])
    return [shares + moved, shares - moved]


def smaller(shares: Shares, sizes: tuple[int, int], strength: float) -> list[Shares]:
    """Move both groups towards their mixture."""
    everyone = (sizes[0] * shares[0] + sizes[1] * shares[1]) / sum(sizes)
    return [shares + strength * (everyone - shares)]


def logarithms(counts: NDArray[Any], truth: Shares, others: list[Shares]) -> Any:
    """Logarithm of the likelihood of others, mixed in each pair, over the truth's."""
    safe = np.where(truth > 0, truth, 1)
    with np.errstate(divide="ignore"):
        rates = [np.log(np.where(truth > 0, one / safe, 1)) for one in others]
    of_pairs = [
        np.where(counts > 0, counts * np.where(counts > 0, rate, 0), 0).sum(axis=(1, 3))
        for rate in rates
    ]
    return (np.logaddexp.reduce(of_pairs) - np.log(len(others))).sum(axis=1)


def draw(
    generator: np.random.Generator, sizes: tuple[int, int], shares: Any, n_draws: int
) -> NDArray[Any]:
    """Draw counts of both groups, shape (n_draws, 2, n_pairs, 2)."""
    of_groups = [
        generator.multinomial(n_rows, np.reshape(one, (*one.shape[:-2], -1)), n_draws)
        for n_rows, one in zip(sizes, np.moveaxis(shares, -3, 0), strict=True)
    ]
    return np.reshape(np.stack(of_groups, axis=1), (n_draws, *shares.shape[-3:]))


def not_rejected(
    truth: Shares,
    others: list[Shares],
    sizes: tuple[int, int],
    n_draws: int,
    generator: np.random.Generator,
) -> float:
    """Share of samples of the truth in which the best test does not reject others."""
    chosen = generator.integers(len(others), size=(n_draws, 1, truth.shape[1], 1))
    mixed = np.choose(chosen, [one[np.newaxis] for one in others])
    at_truth, at_others = (
        logarithms(draw(generator, sizes, shares, n_draws), truth, others)
        for shares in (truth, mixed)
    )
    return float(np.mean(at_truth >= np.quantile(at_others, LEVEL)))


def least_width(
    truth: Shares, sizes: tuple[int, int], n_draws: int, seed: int = 0
) -> float:
    """Lower bound of the mean width, from disparities above and below the true one."""
    generator = np.random.default_rng(seed)
    at_truth = np.abs(truth[0] - truth[1]).sum()
    total = 0.0
    changes: list[Callable[..., list[Shares]]] = [larger, smaller]
    for change in changes:
        distances, kept = [0.0], [1 - LEVEL]
        for strength in STRENGTHS:
            others = change(truth, sizes, strength)
            gaps = [np.abs(one[0] - one[1]).sum(axis=1) for one in others]
            moved = np.min(gaps, axis=0).sum() - at_truth
            moved = moved if change is larger else -moved
            distances.append(max(distances[-1], float(moved)))
            kept.append(not_rejected(truth, others, sizes, n_draws, generator))
            if kept[-1] < LEVEL:
                break
        # The share falls with the distance: each step counts with its lower end.
        least = np.minimum.accumulate(kept) - LEVEL
        total += float(np.diff(distances) @ np.maximum(least[1:], 0))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3000)
    parser.add_argument("--samples", type=int, default=20)
    options = parser.parse_args()
    for shape, sizes, shift in CASES:
        bound = least_width(shares_of(shape, shift), sizes, options.draws)
        population = Population.of(SHAPES[shape], shift)
        groups = np.repeat([0, 1], sizes)
        widths, rough = [], []
        for seed in range(options.samples):
            scores = population.draw(list(sizes), seed)
            statistic = GroupedScores.from_scores(scores, sensitive_features=groups)
            found = confidence_interval(METRICS[NAME], None, statistic)
            widths.append(found.upper - found.lower)
            if seed < N_BOOTSTRAPPED:
                rough.append(bootstrapped_widths([NAME], scores, groups, seed)[NAME])
        print(
            f"{shape:10s} {sizes} {shift}: MADD {population.truths[NAME]:.2f}, any "
            f"interval {bound:.2f}, ours {np.mean(widths):.2f}, bootstrap "
            f"{np.mean(rough):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
