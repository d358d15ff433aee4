"""Weights of `reweighing_weights`, their powers, and fair up- and down-sampling.

    SKFAIR_DATA=<folder of the tables> python benchmarks/reweighing.py
        [--tables adult,bank] [--seeds 0,1,2]

Area and accuracy are those of `fair_models.py`, around one LightGBM of 80 trees, and
each method has four fits to 3,000 rows: powers of the weights, and four bounds t of
Zeng, Cheng and Dobriban (arXiv 2402.02817). They weigh a row of group a with label y by
1 - t_a for y = 1 and 1 + t_a for y = 0, where t_a is t over the share of a favoured
group and -t over that of another, so that the fit minimises the error plus t times the
difference of selection rates.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from _tables import TABLES, Rows, split_table
from fair_models import accuracy, area, make_plain, point, positive

from skfair.inprocessing import reweighing_weights

POWERS = (1, 2, 3, 4)
BOUNDS = (0.05, 0.1, 0.2, 0.3)


def sampled(train: Rows, bound: float) -> Any:
    """Weights of rows in place of fair up- and down-sampling of two groups."""
    weights = np.ones(len(train.y))
    for group in np.unique(train.groups):
        own = train.groups == group
        favoured = np.sign(train.y[own].mean() - train.y.mean())
        shift = np.clip(favoured * bound / own.mean(), -1, 1)
        weights[own] += np.where(train.y[own] == 1, -shift, shift)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for table in options.tables.split(","):
        for seed in map(int, options.seeds.split(",")):
            parts = split_table(table, seed)
            train, test = Rows(*(part[:3000] for part in parts.train)), parts.test

            def measure(weights: Any, train: Rows = train, test: Rows = test) -> Any:
                model = make_plain().fit(train.X, train.y, sample_weight=weights)
                return point(test, positive(model, test))

            plain = measure(None)
            weights = reweighing_weights(train.y, sensitive_features=train.groups)
            powers = [measure(weights**power) for power in POWERS]
            bounds = [measure(sampled(train, bound)) for bound in BOUNDS]
            methods = {"weights": powers[:1], "powers": powers, "sampling": bounds}
            for name, points in methods.items():
                found[name].append((area(plain, points), accuracy(plain, points)))
        n = len(options.seeds.split(","))
        means = {name: np.mean(each[-n:], axis=0) for name, each in found.items()}
        print(table, *(f"{k} {a:.3f} {b:+.4f}" for k, (a, b) in means.items()))
    for name, each in found.items():
        print(f"{name}: mean area {np.mean(each, axis=0)[0]:.3f}")
    gains = np.subtract(found["sampling"], found["powers"])[:, 0]
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    print(f"sampling less powers, area: {gains.mean():+.3f} +- {error:.3f}")


if __name__ == "__main__":
    main()
