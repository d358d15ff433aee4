"""How often intervals cover the true disparity.

    python benchmarks/interval_coverage.py [--seeds 0 2000] [--groups 2 5 12]
        [--cells 0 48] [--metrics MADD ...]
    python benchmarks/interval_coverage.py --bootstrap [--seeds 0 200]
    python benchmarks/interval_coverage.py --numbers
    python benchmarks/interval_coverage.py --rates

Scores of one group are shifted against those of all others. A cell is a shape of the
scores, a shift, and numbers of rows; there are 48 for each number of groups, and
`--cells` picks some of them. There is one sample a seed. The truth is the metric of the
distributions themselves. MADD with automatic bandwidth is compared with the true mean
over the bandwidths that each pair of groups chose.

`--bootstrap` studies `bootstrap_interval` of two groups with continuous scores instead,
and `--numbers` predicted numbers of three shapes that are shifted or spread:
differences of means and of mean absolute errors, and the Wasserstein distance.
`--rates` studies differences of rates in 60 layouts, with ratios of sizes up to 1:400.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from skfair.metrics import (
    abcc,
    bootstrap_interval,
    confidence_interval,
    cvar_fairness,
    demographic_parity_difference,
    madd,
    max_gap,
    mcdp,
    mean_absolute_error_difference,
)
from skfair.metrics._madd import MADD
from skfair.metrics._madd_bins import N_BANDWIDTHS, gap_curves, stable_interval
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions

METRICS: dict[str, Callable[..., float]] = {
    "MCDP(0)": mcdp,
    "MCDP(.05)": partial(mcdp, epsilon=0.05),
    "MCDP(.1)": partial(mcdp, epsilon=0.1),
    "ABCC": abcc,
    "DeltaDP": demographic_parity_difference,
    "parity at .5": partial(demographic_parity_difference, threshold=0.5),
    "MADD 10": partial(madd, bandwidth=1 / 10),
    "MADD 100": partial(madd, bandwidth=1 / 100),
    "MADD": madd,
}
#: Metrics of the rates of groups, and numbers of rows.
OF_RATES: dict[str, Callable[..., float]] = {
    "pairs": demographic_parity_difference,
    "pooled": partial(demographic_parity_difference, multigroup="pooled"),
    "max-gap": max_gap,
    "CVaR .5": partial(cvar_fairness, alpha=0.5),
}
SIZES_OF_RATES = (
    (30, 30),
    (30, 12_000),
    (50, 500),
    (50, 20_000),
    (100, 1_000),
    (200, 20_000),
    (100, 100, 10_000),
    (50, 50, 500, 5_000, 5_000),
    (3_000, *[30] * 8),
    (200,) * 12,
)
#: Metrics of rows; the others take one statistic, which is collected once.
OF_ROWS = ("DeltaDP", "parity at .5")
SIZES = ((20, 200), (100, 300), (1000, 1000))
SHIFTS = (0.0, 0.1, 0.3, 1.5)
ROUNDING = 1e-9


class Shape(NamedTuple):
    """Distribution of scores, shifted, and what is done to the scores."""

    base: Callable[[float], Any]
    change: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray


SHAPES = {
    "continuous": Shape(lambda shift: stats.beta(2 + shift, 5)),
    # The gap is the same over many thresholds.
    "flat": Shape(lambda shift: stats.uniform(shift / 3, 0.5)),
    "five": Shape(
        lambda shift: stats.beta(2 + 2 * shift, 5), lambda x: np.round(4 * x) / 4
    ),
    # Much of the mass at 0 and at 1.
    "atoms": Shape(
        lambda shift: stats.beta(2 + 3 * shift, 5),
        lambda x: np.clip(2 * x - 0.3, 0, 1),
    ),
}
#: Shapes of predicted numbers, and what is done to those of the first group.
NUMBERS = {
    "normal": stats.norm(),
    "exponential": stats.expon(),
    "lognormal": stats.lognorm(1.0),
}
CHANGES = {"equal": (1, 0.0), "shifted": (1, 1.0), "three times": (3, 0.0)}
#: Metrics of true and predicted numbers.
OF_NUMBERS: dict[str, Callable[..., float]] = {
    "means": partial(demographic_parity_difference, scale="real"),
    "absolute errors": mean_absolute_error_difference,
    "Wasserstein": partial(abcc, scale="real"),
}
CELLS = list(product(SHAPES, SIZES, SHIFTS))


class Population(NamedTuple):
    """Two distributions, the true disparities, and MADD of 500, ..., 1 bins."""

    shape: Shape
    shift: float
    truths: dict[str, float]
    curve: NDArray[Any]

    @classmethod
    def of(cls, shape: Shape, shift: float) -> Population:
        """Find the truths by 100,000 quantiles of each distribution."""
        levels = (np.arange(100_000) + 0.5) / 100_000
        scores = [shape.change(shape.base(one).ppf(levels)) for one in (shift, 0)]
        statistic = CountTable.from_rows(
            None,
            np.concatenate(scores),
            sensitive_features=np.repeat([0, 1], len(levels)),
        )
        truths = {
            name: metric(None, statistic)
            for name, metric in METRICS.items()
            if name not in OF_ROWS
        }
        truths["DeltaDP"] = abs(scores[0].mean() - scores[1].mean())
        truths["parity at .5"] = abs(
            np.mean(scores[0] >= 0.5) - np.mean(scores[1] >= 0.5)
        )
        metric = MADD()
        distributions = metric.read_statistic(
            None, np.concatenate(scores), np.repeat([0, 1], len(levels))
        )
        ((_, _, curve),) = gap_curves(distributions, [(0, 1)], N_BANDWIDTHS)
        return cls(shape, shift, truths, curve)

    def draw(self, sizes: list[int], seed: int) -> NDArray[Any]:
        """Scores of rows, those of the shifted group first."""
        generator = np.random.default_rng(seed)
        parts = [
            self.shape.base(shift).rvs(size, random_state=generator)
            for shift, size in ((self.shift, sizes[0]), (0.0, sum(sizes[1:])))
        ]
        return self.shape.change(np.concatenate(parts))

    def truth(self, name: str, statistic: Distributions) -> float:
        """Return the true disparity that an interval of this sample is about."""
        if name != "MADD":
            return self.truths[name]
        # All groups but the first have the same distribution.
        pairs = [(0, other) for other in range(1, statistic.n_groups)]
        values = []
        for _, totals, curve in gap_curves(statistic, pairs, N_BANDWIDTHS):
            first, last, _ = stable_interval(curve, totals)
            values.append(self.curve[first : last + 1].mean())
        return max(values)


def study(
    cell: tuple[str, tuple[int, int], float],
    n_groups: int,
    names: list[str],
    seeds: range,
    interval: Callable[..., Any] = confidence_interval,
) -> pd.DataFrame:
    """Coverage and mean width of all metrics in one cell."""
    shape, sizes, shift = cell
    truth = Population.of(SHAPES[shape], shift)
    rows = [sizes[0], *[sizes[1]] * (n_groups - 1)]
    groups = np.repeat(np.arange(n_groups), rows)
    covered, width = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    for seed in seeds:
        scores = truth.draw(rows, seed)
        statistic = CountTable.from_rows(None, scores, sensitive_features=groups)
        for name in names:
            response, given = statistic, {}
            if name in OF_ROWS or interval is not confidence_interval:
                response, given = scores, {"sensitive_features": groups}
            ends = interval(METRICS[name], None, response, **given)
            distributions = MADD().read_statistic(None, scores, groups)
            value = truth.truth(name, distributions)
            covered[name] += ends.lower - ROUNDING <= value <= ends.upper + ROUNDING
            width[name] += (ends.upper - ends.lower) / len(seeds)
    keys = {"groups": n_groups, "shape": shape, "sizes": f"{sizes[0]}/{sizes[1]}"}
    return pd.DataFrame(
        {
            **keys,
            "shift": shift,
            "metric": name,
            "coverage": covered[name] / len(seeds),
            "width": width[name],
        }
        for name in names
    )


def study_bootstrap(seeds: range) -> None:
    """Print coverage of basic bootstrap intervals of continuous scores."""
    interval = partial(bootstrap_interval, n_resamples=199, random_state=0)
    names = ["MCDP(0)", "ABCC", "MADD 10"]
    cells = product(["continuous"], SIZES[1:], (0.0, 0.3, 1.5))
    table = pd.concat(study(cell, 2, names, seeds, interval) for cell in cells)
    print(table.pivot_table("coverage", ["metric", "shift"], "sizes").round(3))


def study_numbers(seeds: range) -> None:
    """Print coverage and mean width of intervals of numbers; true values are 0."""
    levels = (np.arange(1_000_000) + 0.5) / 1_000_000
    rows = []
    for (shape, law), sizes, how in product(NUMBERS.items(), SIZES, CHANGES):
        times, plus = CHANGES[how]
        everyone = law.ppf(levels)
        first = times * everyone + plus
        truths = {
            "means": abs(first.mean() - everyone.mean()),
            "absolute errors": abs(np.abs(first).mean() - np.abs(everyone).mean()),
            "Wasserstein": np.abs(np.sort(first) - everyone).mean(),
        }
        groups = np.repeat([0, 1], sizes)
        found = dict.fromkeys(truths, (0, 0.0))
        for seed in seeds:
            numbers = law.rvs(sum(sizes), random_state=seed)
            numbers[: sizes[0]] = times * numbers[: sizes[0]] + plus
            for name, truth in truths.items():
                one = confidence_interval(
                    OF_NUMBERS[name], 0 * numbers, numbers, sensitive_features=groups
                )
                covered = one.lower - ROUNDING <= truth <= one.upper + ROUNDING
                n_covered, width = found[name]
                found[name] = n_covered + covered, width + one.upper - one.lower
        cell = {"shape": shape, "sizes": f"{sizes[0]}/{sizes[1]}", "numbers": how}
        for name, (n_covered, width) in found.items():
            parts = {"coverage": n_covered / len(seeds), "width": width / len(seeds)}
            rows.append({**cell, "metric": name, **parts})
    table = pd.DataFrame(rows)
    print(table.round(3).to_string())
    print(table.pivot_table("coverage", ["metric", "shape"], "sizes", "min").round(3))


def study_rates(seeds: range) -> None:
    """Print how often intervals of rates are wrong; the first group may differ."""
    rows = []
    layouts = list(product(SIZES_OF_RATES, (0.05, 0.3), (0.0, 0.05, 0.2)))
    for (sizes, rate, gap), (name, metric) in product(layouts, OF_RATES.items()):
        counts = np.array(sizes)
        groups = np.tile(np.arange(len(counts)), 2)
        rates = np.full(len(counts), rate)
        rates[0] += gap
        rng = np.random.default_rng(0)
        drawn = rng.binomial(counts, rates, (len(seeds), len(counts)))
        samples = [
            CountTable.from_rows(
                None,
                np.repeat([0, 1], len(counts)),
                sensitive_features=groups,
                counts=np.append(counts - hits, hits),
            )
            for hits in (np.rint(counts * rates), *drawn)
        ]
        truth = metric(None, samples[0])
        found = [confidence_interval(metric, None, sample) for sample in samples[1:]]
        lower, upper = np.array([(each.lower, each.upper) for each in found]).T
        below = np.mean(lower > truth + ROUNDING)
        above = np.mean(upper < truth - ROUNDING)
        rows.append((name, sizes, rate, gap, below, above, 1 - below - above))
    columns = ["metric", "sizes", "rate", "gap", "below", "above", "coverage"]
    table = pd.DataFrame(rows, columns=columns)
    print(table.groupby("metric")[["below", "above"]].max().round(4))
    print(table.groupby("metric")["coverage"].min().round(4))
    print(table.sort_values("coverage").head(10).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 2000])
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 5, 12])
    parser.add_argument("--cells", type=int, nargs=2, default=[0, len(CELLS)])
    parser.add_argument("--metrics", nargs="+", default=list(METRICS), choices=METRICS)
    parser.add_argument("--bootstrap", action="store_true")
    parser.add_argument("--numbers", action="store_true", help="predicted numbers")
    parser.add_argument("--rates", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(*options.seeds)
    for chosen, part in (
        (options.bootstrap, study_bootstrap),
        (options.numbers, study_numbers),
        (options.rates, study_rates),
    ):
        if chosen:
            part(seeds)
            return
    cells = product(options.groups, CELLS[slice(*options.cells)])
    table = pd.concat(
        study(cell, n_groups, options.metrics, seeds) for n_groups, cell in cells
    )
    for by in ("groups", "shape", "sizes"):
        least = table.groupby(["metric", by])["coverage"].min().unstack()
        print(f"\nLeast coverage of nominal 95 %\n{least.round(3)}")
    bad = table[table["coverage"] < 0.94]
    print(f"\n{len(bad)} of {len(table)} cells below 94 %\n{bad.to_string()}")


if __name__ == "__main__":
    main()
