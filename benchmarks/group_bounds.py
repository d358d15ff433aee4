"""Bounds of all groups at once, and flags: coverage, false discoveries and power.

    python benchmarks/group_bounds.py [--draws 200]    # about ten minutes

Samples of groups with known rates, in `cvar_fairness_report`. For each layout:

- the share of samples in which `simultaneous` bounds hold for all groups, of rates and
  of differences from all other rows, with their mean width, beside those of the
  bootstrap of the process over groups, standardised by the median absolute deviation,
  of Cherian and Candes (200 resamples);
- of the groups with an adjusted p-value of at most .05: the false discovery rate and
  the share of the worse groups that are found, with the two-sided test, with
  ``alternative="greater"``, with an epsilon, and with the p-values of their bootstrap.

Of 400 groups half as many samples are drawn. A tenth of the groups has a rate .12 above
what is tolerated. Without epsilon all others are alike; with epsilon .05 a fourth
exceeds all other rows by exactly this. Then the same of losses in [0, 1], of weighted
outcomes, and of groups that overlap.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import false_discovery_control, median_abs_deviation

from skfair.metrics import cvar_fairness_report

LEVEL, FDR, WORSE = 0.95, 0.05, 0.12


def sizes_of(layout: str, n_groups: int, rng: np.random.Generator) -> Any:
    """Numbers of rows: the same in all groups, or from 7 to 10,000."""
    if layout == "100 rows":
        return np.full(n_groups, 100)
    sizes = np.clip(rng.lognormal(4, 1.8, n_groups), 7, 10_000).astype(int)
    sizes[:2] = 7, 10_000
    return sizes if layout == "7 to 10,000 rows" else np.where(sizes < 10_000, 7, sizes)


def rates_of(sizes: Any, rate: float, epsilon: float, rng: np.random.Generator) -> Any:
    """Rates of the groups, whose mean by size is `rate` with an epsilon."""
    n_groups, shares = len(sizes), sizes / sizes.sum()
    order = rng.permutation(n_groups)
    worse, at = order[: n_groups // 10], order[n_groups // 10 : n_groups // 3]
    rates = np.full(n_groups, rate)
    rates[worse] = rate + epsilon + WORSE
    if epsilon:
        rates[at] = rate + epsilon * (1 - shares[at])
        rest = order[n_groups // 3 :]
        rates[rest] = max((rate - shares @ rates) / shares[rest].sum() + rate, 0)
    return np.minimum(rates, 1)


def of_others(values: Any) -> Any:
    """Sum over all groups but each one."""
    return values.sum() - values


def report(hits: Any, sizes: Any, **options: Any) -> pd.DataFrame:
    """Table of the groups, in their order."""
    n_groups = len(sizes)
    return cvar_fairness_report(
        None,
        np.tile([1, 0], n_groups),
        sensitive_features=np.repeat(np.arange(n_groups), 2),
        counts=np.column_stack([hits, sizes - hits]).ravel(),
        **options,
    ).sort_index()


class Bootstrap:
    """Numbers of rows of each group, and outcomes, in resamples of all rows."""

    def __init__(self, hits: Any, sizes: Any, rng: np.random.Generator) -> None:
        self.hits, self.sizes, self.n = hits, sizes, sizes.sum()
        cells = np.concatenate([hits, sizes - hits]) / self.n
        drawn = rng.multinomial(self.n, cells, size=200)
        self.drawn = drawn[:, : len(hits)]
        self.of_size = self.drawn + drawn[:, len(hits) :]
        self.mean = hits.sum() / self.n
        self.means = self.drawn.sum(axis=1, keepdims=True) / self.n

    def bounds(self) -> tuple[Any, Any]:
        """Bound the difference of each rate from the rate of all rows."""
        share = self.sizes / self.n
        excess = self.hits - self.sizes * self.mean
        drawn = self.drawn - self.of_size * self.means
        process = (drawn * share - excess * self.of_size / self.n) / self.n
        scale = median_abs_deviation(process, scale="normal")
        with np.errstate(divide="ignore", invalid="ignore"):
            standard = np.where(scale > 0, process / scale, 0)
        low = np.quantile(standard.min(axis=1), (1 - LEVEL) / 2)
        high = np.quantile(standard.max(axis=1), (1 + LEVEL) / 2)
        value, width = self.hits / self.sizes - self.mean, scale / share**2
        return value - high * width, value - low * width

    def pvalues(self, epsilon: float) -> Any:
        """Test whether rates exceed that of all rows by more than epsilon."""
        drawn = self.drawn - self.of_size * (self.means + epsilon)
        scale = median_abs_deviation(drawn, scale="normal")
        excess = self.hits - self.sizes * (self.mean + epsilon)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(scale > 0, ndtr(-excess / scale), 1.0)


def bounds(n_draws: int) -> None:
    """Print how often all bounds hold, and their widths."""
    print("groups, layout, rate; all rates hold, width; all differences hold, width; ")
    print("bootstrap: all differences from the overall rate hold, width")
    for n_groups in (10, 60, 400):
        for layout in ("100 rows", "7 to 10,000 rows", "7 rows, one 10,000"):
            for rate in (0.02, 0.3, 0.98):
                rng = np.random.default_rng(0)
                sizes, found = sizes_of(layout, n_groups, rng), []
                for _ in range(n_draws // (2 if n_groups == 400 else 1)):
                    spread = 0.3 * min(rate, 1 - rate)
                    rates = np.clip(rng.normal(rate, spread, n_groups), 0.001, 0.999)
                    hits = rng.binomial(sizes, rates)
                    table = report(hits, sizes, simultaneous=True)
                    others = of_others(sizes * rates) / of_others(sizes)
                    low, high = Bootstrap(hits, sizes, rng).bounds()
                    from_overall = rates - sizes @ rates / sizes.sum()
                    line: list[float] = []
                    for true, lower, upper in (
                        (rates, table["lower"], table["upper"]),
                        (
                            rates - others,
                            table["difference_lower"],
                            table["difference_upper"],
                        ),
                        (from_overall, low, high),
                    ):
                        held = bool(((lower <= true) & (true <= upper)).all())
                        width = np.clip(upper, -1, 1) - np.clip(lower, -1, 1)
                        line += [held, float(np.mean(width))]
                    found.append(line)
                means = ", ".join(f"{mean:.3f}" for mean in np.mean(found, axis=0))
                print(f"{n_groups}, {layout}, {rate}; {means}", flush=True)


def flags(n_draws: int) -> None:
    """Print false discovery rates and power."""
    print("\ngroups, layout, rate, epsilon; false discovery rate and power of each")
    for n_groups in (10, 60, 400):
        for layout in ("100 rows", "7 to 10,000 rows"):
            for rate in (0.03, 0.3, 0.8):
                for epsilon in (0.0, 0.05):
                    rng = np.random.default_rng(0)
                    sizes = sizes_of(layout, n_groups, rng)
                    rates = rates_of(sizes, rate, epsilon, rng)
                    others = of_others(sizes * rates) / of_others(sizes)
                    excess = rates - others
                    worse, fine = excess > epsilon + 0.05, excess <= epsilon + 1e-9
                    found: dict[str, list[Any]] = {}
                    for _ in range(n_draws // (2 if n_groups == 400 else 1)):
                        hits = rng.binomial(sizes, rates)
                        one_sided = {"alternative": "greater", "epsilon": epsilon}
                        pvalues = {"greater": report(hits, sizes, **one_sided)}
                        if not epsilon:
                            pvalues = {"two-sided": report(hits, sizes), **pvalues}
                        flagged = {
                            name: (table["adjusted_pvalue"] <= FDR)
                            & (table["difference"] > 0)
                            for name, table in pvalues.items()
                        }
                        drawn = Bootstrap(hits, sizes, rng).pvalues(epsilon)
                        flagged["bootstrap"] = false_discovery_control(drawn) <= FDR
                        for name, mask in flagged.items():
                            false = (mask & fine).sum() / max(mask.sum(), 1)
                            found.setdefault(name, []).append(
                                (false, mask[worse].mean())
                            )
                    text = "; ".join(
                        "{} {:.3f}, {:.3f}".format(name, *np.mean(values, axis=0))
                        for name, values in found.items()
                    )
                    print(
                        f"{n_groups}, {layout}, {rate}, {epsilon}; {text}", flush=True
                    )


def brier(rng: np.random.Generator, mean: Any) -> Any:
    """Squared errors of calibrated scores, beta(a, 1), whose mean is near `mean`."""
    scores = rng.beta(_first_shape(mean), 1)
    return (scores - (rng.random(len(scores)) < scores)) ** 2


def _first_shape(mean: Any) -> Any:
    """Shape a of beta(a, 1) scores with the mean a / (a + 1) / (a + 2) of s(1 - s)."""
    half = (3 * mean - 1) / (2 * mean)
    return np.sqrt(half**2 - 2) - half


#: What draws losses of a mean.
LOSSES = {
    "beta": lambda rng, mean: rng.beta(2 * mean, 2 * (1 - mean)),
    "Brier": brier,
    "0, or uniform": lambda rng, mean: (
        (rng.random(len(mean)) < 2 * mean) * rng.random(len(mean))
    ),
    "one half, or 1": lambda rng, mean: 0.5 + 0.5 * (rng.random(len(mean)) < mean / 10),
}


def numbers_and_weights(n_draws: int) -> None:
    """Print the same of losses in [0, 1], and of weighted outcomes."""
    print(
        "\nlosses and weights, 60 groups; all means hold, all differences hold; false"
    )
    print("discovery rate and power with epsilon 0")
    settings: list[tuple[str, Any, float]] = [(k, v, 0) for k, v in LOSSES.items()]
    settings += [(f"outcomes, weights {s}", _outcomes, s) for s in (0.5, 1.0)]
    for layout in ("100 rows", "7 to 10,000 rows"):
        for name, draw, spread in settings:
            rng = np.random.default_rng(0)
            sizes, found = sizes_of(layout, 60, rng), []
            sizes = np.minimum(sizes, 3000)
            group = np.repeat(np.arange(60), sizes)
            for _ in range(n_draws):
                means = np.full(60, 0.06)
                means[rng.permutation(60)[:6]] = 0.14
                numbers = draw(rng, means[group])
                weight = rng.lognormal(0, spread, len(group)) if spread else None
                true = 0.5 + means / 20 if name == "one half, or 1" else means
                table = cvar_fairness_report(
                    None,
                    None,
                    sensitive_features=group,
                    quality=numbers,
                    simultaneous=True,
                    alternative="greater",
                    sample_weight=weight,
                ).sort_index()
                others = of_others(sizes * true) / of_others(sizes)
                flagged = table["adjusted_pvalue"] <= FDR
                held = [
                    bool(table[end].le(value).all() and table[top].ge(value).all())
                    for end, top, value in (
                        ("lower", "upper", true),
                        ("difference_lower", "difference_upper", true - others),
                    )
                ]
                false = (flagged & (means < 0.1)).sum() / max(flagged.sum(), 1)
                found.append([*held, false, flagged[means > 0.1].mean()])
            text = ", ".join(f"{mean:.3f}" for mean in np.mean(found, axis=0))
            print(f"{name}, {layout}; {text}", flush=True)


def _outcomes(rng: np.random.Generator, mean: Any) -> Any:
    """Outcomes of a rate."""
    return (rng.random(len(mean)) < mean) * 1.0


def overlapping(n_draws: int) -> None:
    """Print the same of all intersections of three columns, each margin included.

    Bounds hold together with a level of 1 - .05 / 7 for each of the seven tables, and
    the p-values of all tables are adjusted together.
    """
    print("\noverlapping groups of 3 columns; all differences hold; false discovery")
    print("rate and power")
    levels, columns = (2, 4, 5), ("a", "b", "c")
    for n_rows in (1_000, 10_000):
        for epsilon in (0.0, 0.03):
            rng, found, n_groups = np.random.default_rng(0), [], 0
            for _ in range(n_draws):
                codes = [rng.choice(k, n_rows, p=_shares(k)) for k in levels]
                people = pd.DataFrame(dict(zip(columns, codes, strict=True)))
                rate = np.where((codes[0] == 1) & (codes[1] == 1), 0.35, 0.2)
                y_pred = (rng.random(n_rows) < rate).astype(int)
                tables, truth = [], []
                for size in (1, 2, 3):
                    for names in combinations(columns, size):
                        rows = {"sensitive_features": people[[*names]]}
                        options = {"epsilon": epsilon, "alternative": "greater"}
                        level = {"confidence_level": 1 - 0.05 / 7}
                        tables.append(
                            cvar_fairness_report(
                                None,
                                y_pred,
                                simultaneous=True,
                                **rows,
                                **options,
                                **level,
                            )
                            .sort_index()
                            .reset_index(drop=True)
                        )
                        sums = pd.Series(rate).groupby([people[n] for n in names])
                        sums = sums.agg(["sum", "size"])
                        rest = (rate.sum() - sums["sum"]) / (n_rows - sums["size"])
                        truth.append(sums["sum"] / sums["size"] - rest)
                table, true = pd.concat(tables), np.concatenate(truth)
                flagged = false_discovery_control(table["pvalue"]) <= FDR
                null, n_groups = true <= epsilon, len(true)
                low, high = table["difference_lower"], table["difference_upper"]
                found.append(
                    [
                        bool(((low <= true) & (true <= high)).all()),
                        (flagged & null).sum() / max(flagged.sum(), 1),
                        flagged[~null].mean(),
                    ]
                )
            text = ", ".join(f"{mean:.3f}" for mean in np.mean(found, axis=0))
            print(
                f"{n_rows} rows, {n_groups} groups, epsilon {epsilon}; {text}",
                flush=True,
            )


def _shares(n_levels: int) -> Any:
    """Shares of the levels of a column, each half of the one before."""
    shares = 0.5 ** np.arange(n_levels)
    return shares / shares.sum()


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    bounds(options.draws)
    flags(options.draws)
    numbers_and_weights(options.draws)
    overlapping(options.draws)


if __name__ == "__main__":
    main()
