"""Time of mitigators with default parameters, in fits of the plain model.

    SKFAIR_DATA=<folder of the tables> python benchmarks/mitigation_cost.py [repeats]

Classifiers are LightGBM of 80 trees, with 15,000 training rows of Adult, sex not among
the features. Regressors are HistGradientBoostingRegressor(max_iter=80) with at most
6,000 training rows of the tables of `regression.py`; set OMP_NUM_THREADS=1 for them.
Each fit is between two plain ones, whose mean it is divided by, so that a drift of the
machine's speed cancels; medians over repeats, of processor time and of wall time.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _tables import split_table
from fair_models import make_plain
from regression import MAX_ROWS, load, numbers_of
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from skfair.inprocessing import MCDPBoostingClassifier, MCDPReweighter
from skfair.postprocessing import (
    DecisionPostProcessor,
    MADDPostProcessor,
    UnawarePostProcessor,
    UnawareRegressor,
)

N_ROWS = 15_000
#: Plain fits that a mitigator is to cost at most, where one is stated.
TARGETS = {
    "MADDPostProcessor()": 5.5,
    "MADDPostProcessor(max_mcdp=0.1)": 7,
    "MCDPBoostingClassifier()": 4,
    "UnawarePostProcessor()": 12,
    "DecisionPostProcessor(uses_group=True)": 6,
    "DecisionPostProcessor(equalized_odds)": 11,
    "MCDPReweighter()": 13,
    "UnawareRegressor()": 12,
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
        "DecisionPostProcessor(uses_group=True)": DecisionPostProcessor(
            make_plain(), uses_group=True
        ),
        "DecisionPostProcessor(equalized_odds)": DecisionPostProcessor(
            make_plain(), constraint="equalized_odds"
        ),
        "MCDPReweighter()": MCDPReweighter(make_plain(), random_state=0),
    }


def both_times(call: Callable[[], Any]) -> Any:
    """Processor time and wall time of a call."""
    starts = time.process_time(), time.perf_counter()
    call()
    return np.array([time.process_time(), time.perf_counter()]) - starts


def measure(
    plain: Callable[[], Any],
    models: Callable[[Any], dict[str, Any]],
    rows: tuple[Any, Any, Any],
    n_repeats: int,
) -> None:
    """Print what the fits of models cost in plain fits."""
    X, y, groups = rows
    plain()
    costs: dict[str, list[Any]] = {}
    before = both_times(plain)
    for _ in range(n_repeats):
        for name, model in models(plain()).items():
            cost = both_times(lambda m=model: m.fit(X, y, sensitive_features=groups))
            after = both_times(plain)
            costs.setdefault(name, []).append(2 * cost / (before + after))
            before = after
    print(f"{len(y):,} rows, plain fit {before[0]:.2f} s")
    for name, ratios in costs.items():
        (median, wall), target = np.median(ratios, axis=0), TARGETS.get(name)
        verdict = ""
        if target is not None:
            verdict = f"  <= {target:g}  {'reached' if median <= target else 'MISSED'}"
        least, most = np.min(ratios, axis=0)[0], np.max(ratios, axis=0)[0]
        print(
            f"{name:<42} {median:5.2f} plain fits ({least:.2f} to {most:.2f}), "
            f"wall time {wall:.2f}{verdict}",
            flush=True,
        )


def main() -> None:
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    warnings.simplefilter("ignore")
    X, y, groups = (part[:N_ROWS] for part in split_table("adult", 0).train)
    measure(lambda: make_plain().fit(X, y), mitigators, (X, y, groups), n_repeats)
    for name in ("law school", "crime", "income"):
        print(f"{name}: ", end="")
        measure_regressor(name, n_repeats)


def measure_regressor(name: str, n_repeats: int) -> None:
    """Print what UnawareRegressor costs on a table."""
    X, (y, groups) = load(name)
    given = numbers_of(X), y.to_numpy(float), groups
    parts = train_test_split(*given, test_size=0.4, random_state=0)[::2]
    X, y, groups = (part[:MAX_ROWS] for part in parts)
    boosting = HistGradientBoostingRegressor(max_iter=80, random_state=0)
    measure(
        lambda: boosting.fit(X, y),
        lambda plain: {"UnawareRegressor()": UnawareRegressor(plain)},
        (X, y, groups),
        n_repeats,
    )


if __name__ == "__main__":
    main()
