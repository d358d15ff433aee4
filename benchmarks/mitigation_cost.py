"""Processor time of mitigators with default parameters, in fits of the plain model.

    SKFAIR_DATA=<folder of the tables> python benchmarks/mitigation_cost.py [repeats]

LightGBM of 80 trees with one thread, 15,000 training rows of Adult, sex not among the
features. Each fit is between two plain ones, whose mean it is divided by, so that a
drift of the machine's speed cancels; medians over repeats.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from _tables import split_table
from _timing import processor_seconds
from fair_models import make_plain
from sklearn.frozen import FrozenEstimator

from skfair.inprocessing import MCDPBoostingClassifier, MCDPReweighter
from skfair.postprocessing import MADDPostProcessor, UnawarePostProcessor

N_ROWS = 15_000
#: Plain fits that a mitigator is to cost at most, where one is stated.
TARGETS = {
    "MADDPostProcessor()": 5.5,
    "MADDPostProcessor(max_mcdp=0.1)": 5.5,
    "MCDPBoostingClassifier()": 4,
    "UnawarePostProcessor()": 12,
}


def mitigators(plain: Any) -> dict[str, Any]:
    frozen = FrozenEstimator(plain)
    return {
        "MADDPostProcessor()": MADDPostProcessor(make_plain()),
        "MADDPostProcessor(max_mcdp=0.1)": MADDPostProcessor(
            make_plain(), max_mcdp=0.1
        ),
        "MADDPostProcessor(frozen)": MADDPostProcessor(frozen),
        "MADDPostProcessor(frozen, max_mcdp=0.1)": MADDPostProcessor(
            frozen, max_mcdp=0.1
        ),
        "MCDPBoostingClassifier()": MCDPBoostingClassifier(
            make_plain(), random_state=0
        ),
        "UnawarePostProcessor()": UnawarePostProcessor(make_plain(), random_state=0),
        "MCDPReweighter()": MCDPReweighter(make_plain(), random_state=0),
    }


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    warnings.simplefilter("ignore")
    train = split_table("adult", 0).train
    X, y, groups = (part[:N_ROWS] for part in train)

    def plain() -> Any:
        return make_plain().fit(X, y)

    costs: dict[str, list[float]] = {}
    before = processor_seconds(plain, 2)
    for _ in range(n_repeats):
        for name, model in mitigators(plain()).items():
            cost = processor_seconds(
                lambda m=model: m.fit(X, y, sensitive_features=groups)
            )
            after = processor_seconds(plain)
            costs.setdefault(name, []).append(2 * cost / (before + after))
            before = after
    print(f"{len(y):,} rows, plain fit {before:.2f} s")
    for name, ratios in costs.items():
        target = TARGETS.get(name)
        verdict = ""
        if target is not None:
            verdict = "reached" if np.median(ratios) <= target else "MISSED"
            verdict = f"  <= {target:g}  {verdict}"
        print(
            f"{name:<42} {np.median(ratios):5.2f} plain fits "
            f"({min(ratios):.2f} to {max(ratios):.2f}){verdict}"
        )


if __name__ == "__main__":
    main()
