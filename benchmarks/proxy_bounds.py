"""Bounds of disparities from proxies: speed, coverage, and the figures of Adult.

    python benchmarks/proxy_bounds.py speed
    python benchmarks/proxy_bounds.py coverage [--seeds 0 2000] [--cells 0 8]
        [--table coverage.csv]
    SKFAIR_DATA=path/to/tables python benchmarks/proxy_bounds.py adult

`speed` compares ten odds ratios of a million rows in 1,000 cells with `mcdp`.
`coverage` draws samples of 500 and 5,000 rows from four kinds of proxies. It counts
how often confidence bounds at level 0.95 contain the identified set, which is known
from 2,000 quantiles of each cell. Results are appended to `--table`, so that a study
can be run in parts, by cells or by seeds.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _timing import compare
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from skfair.datasets import fetch_adult
from skfair.metrics import mcdp, proxy_bounds

TEN = [1, 1.2, 1.5, 2, 2.5, 3, 4, 6, 10, np.inf]
RATIOS = [1.0, 2.0, np.inf]
SIZES, N_QUANTILES = (500, 5000), 2000


class Proxy(NamedTuple):
    """Shares of cells, probabilities in each, and parameters of beta scores."""

    shares: NDArray[Any]
    probabilities: NDArray[Any]
    first: NDArray[Any]

    def scores(self, cells: NDArray[Any], levels: NDArray[Any]) -> NDArray[Any]:
        """Quantiles of the scores of cells."""
        return stats.beta.ppf(levels, self.first[cells], 3)

    def identified(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Bounds of the population."""
        n_cells = len(self.shares)
        cells = np.repeat(np.arange(n_cells), N_QUANTILES)
        levels = np.tile((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES, n_cells)
        found = proxy_bounds(
            mcdp,
            None,
            self.scores(cells, levels),
            cells=cells,
            group_probabilities=dict(enumerate(self.probabilities)),
            odds_ratio=RATIOS,
            sample_weight=self.shares[cells],
        )
        return found.lower, found.upper

    def covers(self, n_rows: int, seed: int) -> pd.DataFrame:
        """Draw a sample, and tell whether its bounds contain the population's."""
        rng = np.random.default_rng(seed)
        cells = rng.choice(len(self.shares), n_rows, p=self.shares)
        scores = self.scores(cells, rng.uniform(size=n_rows))
        found = proxy_bounds(
            mcdp,
            None,
            scores,
            cells=cells,
            group_probabilities=dict(enumerate(self.probabilities)),
            odds_ratio=RATIOS,
            confidence_level=0.95,
            random_state=seed,
        )
        lower, upper = IDENTIFIED[self.name]
        inside = (found.lower_confidence <= lower) & (found.upper_confidence >= upper)
        width = found.upper_confidence - found.upper
        return pd.DataFrame({"odds_ratio": RATIOS, "covered": inside, "margin": width})

    @property
    def name(self) -> str:
        """Name of the proxy."""
        return next(name for name, proxy in PROXIES.items() if proxy is self)


def make_proxies() -> dict[str, Proxy]:
    """Make a strong proxy, a weak one, and many surnames."""
    q = np.linspace(0.05, 0.95, 30)
    names = np.arange(1, 31) ** -0.7
    return {
        "strong": Proxy(
            np.array([0.4, 0.2, 0.4]), np.array([0.05, 0.5, 0.95]), np.array([1, 2, 3])
        ),
        "weak": Proxy(
            np.full(8, 1 / 8), np.linspace(0.35, 0.5, 8), np.linspace(1.5, 2.5, 8)
        ),
        "small group": Proxy(
            np.array([0.9, 0.1]), np.array([0.0, 0.9]), np.array([2, 2])
        ),
        "surnames": Proxy(names / names.sum(), q[np.arange(30) * 7 % 30], 1 + 2 * q),
    }


PROXIES = make_proxies()
IDENTIFIED: dict[str, Any] = {}


def coverage(seeds: list[int], cells: list[int], path: Path) -> None:
    """Append samples of some cells of the grid to a table, and summarise all of it."""
    for name, n_rows in list(product(PROXIES, SIZES))[slice(*cells)]:
        proxy = PROXIES[name]
        IDENTIFIED[name] = proxy.identified()
        start = time.perf_counter()
        parts = [proxy.covers(n_rows, seed) for seed in range(*seeds)]
        part = pd.concat(parts).assign(proxy=name, n_rows=n_rows)
        part.to_csv(path, mode="a", header=not path.exists(), index=False)
        spent = time.perf_counter() - start
        print(f"{name}, {n_rows} rows: {spent:.0f} s", flush=True)
    table = pd.read_csv(path)
    by = ["proxy", "n_rows", "odds_ratio"]
    columns = {
        "samples": ("covered", "size"),
        "covered": ("covered", "mean"),
        "margin": ("margin", "mean"),
    }
    print(table.groupby(by).agg(**columns).round(3).to_string())


def speed() -> None:
    """Compare with the metric of groups that are given."""
    rng = np.random.default_rng(0)
    n = 10**6
    scores, cells = rng.uniform(size=n), rng.integers(0, 1000, n)
    groups = rng.integers(0, 2, n)
    q = dict(enumerate(rng.uniform(0.1, 0.9, 1000)))
    given = {"cells": cells, "group_probabilities": q}
    compare(
        "ten odds ratios of 10^6 rows in 1,000 cells / mcdp",
        lambda: proxy_bounds(mcdp, None, scores, odds_ratio=TEN, **given),
        lambda: mcdp(None, scores, sensitive_features=groups),
        repeats=5,
    )


def new_scores(X: pd.DataFrame, y: Any) -> NDArray[Any]:
    """Predict y by boosted trees that do not see the sex, for rows new to them."""
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=0
    )
    X = X.drop(columns="sex")
    return cross_val_predict(model, X, y, method="predict_proba", cv=5)[:, 1]


def adult() -> None:
    """Print the bounds of the page `docs/evidence/metrics.md`."""
    X, y = fetch_adult(return_X_y=True)
    scores, sex = new_scores(X, y == ">50K"), X["sex"].astype(str)
    print(f"true MCDP {mcdp(None, scores, sensitive_features=sex):.3f}")
    names = ["relationship", "marital-status", "occupation", "education"]
    proxies = X[names].astype(object).where(X[names].notna(), "(missing)")
    male = (sex == "Male").astype(float)
    for name in names:
        q = male.groupby(proxies[name]).mean().to_dict()
        show(name, scores, cells=proxies[name], group_probabilities=q)
    predicted = new_scores(X, male)
    show("predicted probability", scores, group_probabilities=predicted)


def show(name: str, scores: NDArray[Any], **given: Any) -> None:
    """Print the bounds of one proxy."""
    found = proxy_bounds(mcdp, None, scores, odds_ratio=[1, 1.5, 2, 4, np.inf], **given)
    print(f"{name}: explained from {found.tipping_odds_ratio(0):.3g} on")
    print(found.to_frame().round(3).to_string(index=False), flush=True)


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["speed", "coverage", "adult"])
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 2000])
    parser.add_argument("--cells", type=int, nargs=2, default=[0, 8])
    parser.add_argument("--table", type=Path, default=Path("proxy_coverage.csv"))
    given = parser.parse_args()
    if given.part == "coverage":
        coverage(given.seeds, given.cells, given.table)
    else:
        {"speed": speed, "adult": adult}[given.part]()


if __name__ == "__main__":
    main()
