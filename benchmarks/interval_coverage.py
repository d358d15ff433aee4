"""How often intervals cover the true disparity, and how wide they are.

    python benchmarks/interval_coverage.py [--seeds 0 2000] [--groups 2 5 12]
        [--cells 0 48] [--metrics MADD ...] [--table coverage.csv] [--numbers]

Scores of one group are shifted against those of all others. A cell is a shape of the
scores, a shift, and numbers of rows; there are 48 for each number of groups, and
`--cells` picks some of them. There is one sample a seed. Results are appended to
`--table`, so that a study can be run in parts, by cells or by seeds; the summary is of
the whole table, with the parts of a cell joined.

The truth is the metric of the distributions themselves. MADD with automatic bandwidth
is compared with the true mean over the bandwidths that each pair of groups chose. Width
is the mean width over that of basic bootstrap intervals of the first samples, which
keep no level near parity; their coverage is not measured here.

`--numbers` studies predicted numbers instead, and two groups: differences of means and
of mean absolute errors, and the Wasserstein distance, of numbers of three shapes that
are shifted or spread.
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
    demographic_parity_difference,
    madd,
    mcdp,
    mean_absolute_error_difference,
)
from skfair.metrics._distribution._madd import (
    N_BANDWIDTHS,
    gap_curves,
    stable_interval,
)
from skfair.metrics._uncertainty import basic_interval
from skfair.statistics import GroupedScores

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
#: Metrics of rows; the others take one statistic, which is collected once.
OF_ROWS = ("DeltaDP", "parity at .5")
SIZES = ((20, 200), (100, 300), (1000, 1000))
SHIFTS = (0.0, 0.1, 0.3, 1.5)
#: Samples that are bootstrapped, shifts where they are, and resamples of each.
N_BOOTSTRAPPED, AWAY, N_RESAMPLES = 8, (0.3, 1.5), 199
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
        statistic = GroupedScores.from_scores(
            np.concatenate(scores), sensitive_features=np.repeat([0, 1], len(levels))
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
        (curve,) = gap_curves(statistic, [(0, 1)], N_BANDWIDTHS)
        return cls(shape, shift, truths, curve.values)

    def draw(self, sizes: list[int], seed: int) -> NDArray[Any]:
        """Scores of rows, those of the shifted group first."""
        generator = np.random.default_rng(seed)
        parts = [
            self.shape.base(shift).rvs(size, random_state=generator)
            for shift, size in ((self.shift, sizes[0]), (0.0, sum(sizes[1:])))
        ]
        return self.shape.change(np.concatenate(parts))

    def truth(self, name: str, statistic: GroupedScores) -> float:
        """Return the true disparity that an interval of this sample is about."""
        if name != "MADD":
            return self.truths[name]
        # All groups but the first have the same distribution.
        pairs = [(0, other) for other in range(1, statistic.n_groups)]
        values = []
        for curve in gap_curves(statistic, pairs, N_BANDWIDTHS):
            found = stable_interval(curve.values, curve.totals)
            values.append(self.curve[found.first : found.last + 1].mean())
        return max(values)


def arguments(
    name: str, scores: NDArray[Any], groups: NDArray[Any], statistic: GroupedScores
) -> dict[str, Any]:
    """Rows or the statistic, whichever the metric takes."""
    if name in OF_ROWS:
        return {"y_score": scores, "sensitive_features": groups}
    return {"y_score": statistic}


def evaluate(name: str, **rows: Any) -> float:
    """Return the metric of rows or of a statistic."""
    return METRICS[name](None, rows.pop("y_score"), **rows)


def bootstrapped_widths(
    names: list[str], scores: NDArray[Any], groups: NDArray[Any], seed: int
) -> dict[str, float]:
    """Widths of basic bootstrap intervals; all metrics share the resamples."""
    generator = np.random.default_rng(seed)
    sizes = np.bincount(groups)
    starts, lengths = (
        np.repeat(np.cumsum(sizes) - sizes, sizes),
        np.repeat(sizes, sizes),
    )
    values: dict[str, list[float]] = {name: [] for name in names}
    for resample in range(N_RESAMPLES + 1):
        drawn = (
            scores if resample == 0 else scores[starts + generator.integers(lengths)]
        )
        statistic = GroupedScores.from_scores(drawn, sensitive_features=groups)
        for name in names:
            rows = arguments(name, drawn, groups, statistic)
            values[name].append(evaluate(name, **rows))
    widths = {}
    for name, found in values.items():
        low, high = basic_interval(found[0], np.array(found[1:]), 0.95)
        widths[name] = high - low
    return widths


def study(
    cell: tuple[str, tuple[int, int], float],
    n_groups: int,
    names: list[str],
    seeds: range,
) -> pd.DataFrame:
    """Coverage, width and the bootstrap's width of all metrics in one cell."""
    shape, sizes, shift = cell
    truth = Population.of(SHAPES[shape], shift)
    rows = [sizes[0], *[sizes[1]] * (n_groups - 1)]
    groups = np.repeat(np.arange(n_groups), rows)
    covered, below = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    width, rough = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for seed in seeds:
        scores = truth.draw(rows, seed)
        statistic = GroupedScores.from_scores(scores, sensitive_features=groups)
        for name in names:
            found = confidence_interval(
                METRICS[name], None, **arguments(name, scores, groups, statistic)
            )
            value = truth.truth(name, statistic)
            below[name] += value < found.lower - ROUNDING
            covered[name] += found.lower - ROUNDING <= value <= found.upper + ROUNDING
            width[name] += (found.upper - found.lower) / len(seeds)
        if seed < N_BOOTSTRAPPED and shift in AWAY and n_groups == 2:
            for name, one in bootstrapped_widths(names, scores, groups, seed).items():
                rough[name] += one / N_BOOTSTRAPPED
    return pd.DataFrame(
        [
            {
                "groups": n_groups,
                "shape": shape,
                "sizes": f"{sizes[0]}/{sizes[1]}",
                "shift": shift,
                "metric": name,
                "samples": len(seeds),
                "coverage": covered[name] / len(seeds),
                "below": below[name] / len(seeds),
                "width": width[name],
                "bootstrap": rough[name] or np.nan,
            }
            for name in names
        ]
    )


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


def joined(found: pd.DataFrame) -> pd.DataFrame:
    """Join the parts of each cell, which differ in seeds."""
    keys = ["groups", "shape", "sizes", "shift", "metric"]
    means = ["coverage", "below", "width"]
    found[means] = found[means].mul(found["samples"], axis=0)
    cells = found.groupby(keys, sort=False)
    found = cells[["samples", *means]].sum().join(cells["bootstrap"].mean())
    found[means] = found[means].div(found["samples"], axis=0)
    return found.reset_index()


def summarise(found: pd.DataFrame) -> None:
    """Print the least coverage, widths, and the cells below 94 %."""
    for by in ("groups", "shape", "sizes"):
        least = found.groupby(["metric", by])["coverage"].min().unstack()
        print(f"\nLeast coverage of nominal 95 %\n{least.round(3)}")
    found = found.assign(ratio=found["width"] / found["bootstrap"])
    for shift in AWAY:
        away = found[found["shift"] == shift]
        ratios = away.groupby(["metric", "sizes"])["ratio"].agg(["mean", "max"])
        print(
            f"\nWidth over the bootstrap's, shift {shift}\n{ratios.unstack().round(2)}"
        )
    bad = found[found["coverage"] < 0.94]
    print(f"\n{len(bad)} of {len(found)} cells below 94 %\n{bad.to_string()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 2000])
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 5, 12])
    parser.add_argument("--cells", type=int, nargs=2, default=[0, len(CELLS)])
    parser.add_argument("--metrics", nargs="+", default=list(METRICS), choices=METRICS)
    parser.add_argument("--table", type=Path, help="CSV file to which rows are added")
    parser.add_argument("--numbers", action="store_true", help="predicted numbers")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.numbers:
        study_numbers(range(*options.seeds))
        return
    parts = []
    if options.table is not None and options.table.exists():
        parts.append(pd.read_csv(options.table))
    for n_groups in options.groups:
        for position in range(*options.cells):
            start = time.process_time()
            part = study(
                CELLS[position], n_groups, options.metrics, range(*options.seeds)
            )
            parts.append(part)
            if options.table is not None:
                header = not options.table.exists()
                part.to_csv(options.table, mode="a", header=header, index=False)
            print(
                f"{n_groups} groups, cell {position} {CELLS[position]}: least coverage "
                f"{part['coverage'].min():.3f}, {time.process_time() - start:.0f} s",
                flush=True,
            )
    summarise(joined(pd.concat(parts)))


if __name__ == "__main__":
    main()
