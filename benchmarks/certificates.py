"""How often `certify` is wrong where the true disparity is exactly `at_most`.

    python benchmarks/certificates.py [--samples 2000] [--layouts 0 60]
        [--metrics ABCC ...] [--table certificates.csv]

A layout is a tuple of group sizes, with scores that are nearly continuous, scores of
five values, log-normal weights, or three strata; the disparity is small, medium or
large, and that of one group, in one stratum. Scores have a known distribution on
finitely many values, of which each metric finds the true disparity. A certificate for
a limit is given if and only if the one-sided upper bound of level 95 % is at most the
limit, so that one bound decides a sample. At most 5 % of certificates may be false.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from skfair.metrics import (
    abcc,
    confidence_interval,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)
from skfair.metrics._madd import MADD
from skfair.metrics._madd_bins import N_BANDWIDTHS, gap_curves, stable_interval
from skfair.metrics._pairs import compared_pairs

#: Level of certificates, and the share of rounding in a bound.
LEVEL, ROUNDING = 0.05, 1e-9
#: Methods, and the sample of how many that each is tried on; the last two are proved.
METHODS = {"band": 1, "finite_sample": 10, "anytime": 10}
METRICS: dict[str, Callable[..., float]] = {
    "MCDP(0)": mcdp,
    "MCDP(0), pooled": partial(mcdp, multigroup="pooled"),
    "MCDP(.05)": partial(mcdp, epsilon=0.05),
    "ABCC": abcc,
    "MADD 10": partial(madd, bandwidth=1 / 10),
    "MADD 50": partial(madd, bandwidth=1 / 50),
    "MADD": madd,
    "mean score": demographic_parity_difference,
    "mean score, pooled": partial(demographic_parity_difference, multigroup="pooled"),
    "parity": partial(demographic_parity_difference, threshold=0.3),
    "equalized odds": equalized_odds_difference,
    "max-gap": max_gap,
    "CVaR .5": partial(cvar_fairness, alpha=0.5),
    "CVaR .9": partial(cvar_fairness, alpha=0.9),
}
OF_LABELS = ("equalized odds", "max-gap", "CVaR .5", "CVaR .9")

SIZES = (
    (3, 3),
    (3, 20),
    (3, 5000),
    (4, 10, 100),
    (5, 50),
    (5, 5000),
    (10, 10),
    (10, 1000),
    (15, 15),
    (15, 5000),
    (20, 200),
    (50, 50),
    (60,) * 6,
    (100, 300),
    (1000, 1000),
)
KINDS = ("smooth", "five", "weights", "strata")
LAYOUTS = list(product(SIZES, KINDS))
SHIFTS = (0.3, 1.5, 6.0)


class Population(NamedTuple):
    """Values of scores, and for each row of a sample the distribution over them."""

    values: NDArray[Any]
    groups: NDArray[Any]
    strata: NDArray[Any]
    shifted: NDArray[Any]
    #: CDFs of the scores of other rows, and of shifted ones.
    cdfs: NDArray[Any]

    @classmethod
    def of(cls, sizes: tuple[int, ...], kind: str, shift: float) -> Population:
        """Shift the first group, in the last stratum if there are several."""
        n_values, n_strata = (5 if kind == "five" else 500), 1 + 2 * (kind == "strata")
        edges = np.linspace(0, 1, n_values + 1)
        cdfs = np.array([stats.beta(2 + one, 5).cdf(edges[1:]) for one in (0, shift)])
        groups = np.tile(np.repeat(np.arange(len(sizes)), sizes), n_strata)
        strata = np.repeat(np.arange(n_strata), sum(sizes))
        shifted = ((groups == 0) & (strata == n_strata - 1)).astype(int)
        return cls((edges[1:] + edges[:-1]) / 2, groups, strata, shifted, cdfs)

    def draw(self, generator: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
        """Labels and scores; a score is the probability of the label 1."""
        uniform, scores = generator.random((2, len(self.groups)))
        for shifted in (0, 1):
            rows = self.shifted == shifted
            position = np.searchsorted(self.cdfs[shifted], scores[rows], side="right")
            scores[rows] = self.values[np.minimum(position, len(self.values) - 1)]
        return (uniform < scores).astype(int), scores

    def rows(self) -> dict[str, NDArray[Any]]:
        """Every group, stratum, value and label once, with weights of their numbers."""
        cells, first, counts = np.unique(
            np.stack([self.groups, self.strata]),
            axis=1,
            return_index=True,
            return_counts=True,
        )
        shares = np.diff(self.cdfs, prepend=0)
        mass = shares[self.shifted[first]] * counts[:, None]
        scores = np.tile(self.values, len(counts))
        codes = np.repeat(np.arange(len(counts)), len(self.values))
        twice = np.concatenate([codes, codes])
        return {
            "y_true": np.repeat([0, 1], len(codes)),
            "y_score": np.concatenate([scores, scores]),
            "sensitive_features": cells[0][twice],
            "control_features": cells[1][twice],
            "sample_weight": np.concatenate(
                [mass.ravel() * (1 - scores), mass.ravel() * scores]
            ),
        }


def responses(name: str, scores: NDArray[Any]) -> NDArray[Any]:
    """Decisions for metrics of labels, else the scores."""
    return (scores >= 0.3).astype(int) if name in OF_LABELS else scores


def truths(population: Population, names: list[str]) -> dict[str, float]:
    """Disparities of the distributions, strata as in the sample."""
    rows = population.rows()
    y_true, scores = rows.pop("y_true"), rows.pop("y_score")
    if not population.strata.any():
        del rows["control_features"]
    return {
        name: METRICS[name](y_true, responses(name, scores), **rows)
        for name in names
        if name != "MADD"
    }


class Bandwidths:
    """The true mean of MADD over the bandwidths that a sample chooses."""

    def __init__(self, population: Population, n_groups: int) -> None:
        rows = population.rows()
        columns = rows["y_score"], rows["sensitive_features"], rows["sample_weight"]
        statistic = MADD().read_statistic(None, *columns)
        self.pairs = compared_pairs(n_groups, "pairwise")
        curves = gap_curves(statistic, self.pairs, N_BANDWIDTHS)
        self.curves = {pair: curve for pair, _, curve in curves}

    def truth(self, scores: NDArray[Any], groups: NDArray[Any], weights: Any) -> float:
        """Return the largest over pairs of groups, each at its own bandwidths."""
        statistic = MADD().read_statistic(None, scores, groups, weights)
        values = []
        for pair, totals, curve in gap_curves(statistic, self.pairs, N_BANDWIDTHS):
            first, last, _ = stable_interval(curve, totals)
            values.append(self.curves[pair][first : last + 1].mean())
        return max(values)


def study(
    layout: tuple[tuple[int, ...], str], shift: float, names: list[str], n_samples: int
) -> pd.DataFrame:
    """Share of false certificates of all metrics and methods in one layout."""
    sizes, kind = layout
    population = Population.of(sizes, kind, shift)
    true = truths(population, names)
    # Automatic bandwidths take a hundred times as long as all others together.
    automatic = "MADD" in names and kind != "strata" and len(population.groups) < 500
    bandwidths = Bandwidths(population, len(sizes)) if automatic else None
    methods = ["band"] if kind == "weights" else list(METHODS)
    cases = [
        (name, method)
        for name, method in product(names, methods)
        if name != "MADD" or (automatic and method == "band")
        # The distribution of everyone changes with the weights of a sample.
        if "pooled" not in name or kind != "weights"
    ]
    wrong = dict.fromkeys(cases, 0)
    for seed in range(n_samples):
        generator = np.random.default_rng(seed)
        y_true, scores = population.draw(generator)
        weights = None
        if kind == "weights":
            weights = generator.lognormal(size=len(scores))
        if bandwidths is not None:
            true["MADD"] = bandwidths.truth(scores, population.groups, weights)
        rows = {
            "sensitive_features": population.groups,
            "control_features": population.strata if population.strata.any() else None,
            "sample_weight": weights,
            "confidence_level": 1 - 2 * LEVEL,
        }
        for name, method in cases:
            if seed % METHODS[method]:
                continue
            values = y_true, responses(name, scores)
            found = confidence_interval(METRICS[name], *values, method=method, **rows)
            wrong[name, method] += found.upper < true[name] - ROUNDING
    return pd.DataFrame(
        [
            {
                "sizes": "/".join(map(str, sizes)) if len(sizes) < 6 else "6 of 60",
                "kind": kind,
                "shift": shift,
                "metric": name,
                "method": method,
                "truth": true[name],
                "false": count / len(range(0, n_samples, METHODS[method])),
            }
            for (name, method), count in wrong.items()
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--layouts", type=int, nargs=2, default=[0, len(LAYOUTS)])
    parser.add_argument("--metrics", nargs="+", default=list(METRICS), choices=METRICS)
    parser.add_argument("--table", type=Path, help="CSV file for all shares")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = []
    for position in range(*options.layouts):
        start = time.process_time()
        layout, shift = LAYOUTS[position], SHIFTS[position % len(SHIFTS)]
        part = study(layout, shift, options.metrics, options.samples)
        parts.append(part)
        worst = part.loc[part["false"].idxmax()]
        print(
            f"{position} {layout} {shift}: largest share {worst['false']:.4f} "
            f"({worst['metric']}, {worst['method']}), "
            f"{time.process_time() - start:.0f} s",
            flush=True,
        )
    found = pd.concat(parts)
    if options.table is not None:
        found.to_csv(options.table, index=False)
    largest = found.groupby(["metric", "method"])["false"].max().unstack()
    print(f"\nLargest share of false certificates\n{largest.round(4)}")
    print(f"\n{(found['false'] > LEVEL).sum()} of {len(found)} are above {LEVEL}")
    print(found[found["false"] > LEVEL].to_string())


if __name__ == "__main__":
    main()
