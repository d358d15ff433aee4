"""Coverage and error of `explained_gap`, and what remains of the gap on Adult.

    python benchmarks/explained_gap.py coverage [--seeds 0 500] [--cases cells ...]
    SKFAIR_DATA=path/to/tables python benchmarks/explained_gap.py adult

`coverage` draws samples in which group and score depend on two columns, and the score
also on the group, by `direct`. The truth is that of two million people with the true
probabilities of the groups. It prints how often intervals at level 0.95 contain it, and
how far values are from it on average and at the 95 % quantile. `adult` prints what
remains of the gap between women and men in scores of boosted trees, with several sets
of columns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from proxy_bounds import new_scores
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skfair.datasets import fetch_adult
from skfair.inspection import explained_gap
from skfair.metrics import mcdp


class Case(NamedTuple):
    """A way to draw people, and to estimate the probabilities of groups."""

    n_rows: int
    direct: float
    n_values: int | None = None
    estimator: Any = None
    #: What is added to the log-odds of the second group.
    shift: float = 0.0


LOGISTIC = LogisticRegression()
CASES = {
    "cells": Case(2_000, 0.5, 4),
    "cells, little remains": Case(2_000, 0.1, 4),
    "cells, nothing remains": Case(2_000, 0.0, 4),
    "cells, small group": Case(1_500, 0.5, 4, None, -4.0),
    "cells, small group, nothing remains": Case(1_500, 0.0, 4, None, -4.0),
    "logistic, small group, nothing remains": Case(1_500, 0.0, None, LOGISTIC, -3.0),
    "logistic": Case(2_000, 0.5, None, LOGISTIC),
    "logistic, little remains": Case(2_000, 0.1, None, LOGISTIC),
    "logistic, nothing remains": Case(2_000, 0.0, None, LOGISTIC),
    "logistic, 10,000 rows": Case(10_000, 0.3, None, LOGISTIC),
    "boosted, 10,000 rows": Case(10_000, 0.3),
}


def draw(
    case: Case, n_rows: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Draw columns, groups, scores, and the true probabilities of group 1."""
    columns = rng.normal(size=(n_rows, 2))
    if case.n_values is not None:
        columns = np.clip(np.floor(columns) + case.n_values // 2, 0, case.n_values - 1)
    probability = expit(case.shift + 0.7 * columns[:, 0] - 0.4 * columns[:, 1])
    group = (rng.random(n_rows) < probability).astype(int)
    logit = 0.6 * columns[:, 0] + 0.3 * columns[:, 1] + case.direct * group
    return columns, group, expit(logit + rng.normal(size=n_rows)), probability


def truth(case: Case) -> tuple[float, float]:
    """Gap as it is, and what remains, of two million people."""
    _, group, score, probability = draw(case, 2_000_000, np.random.default_rng(12345))
    weights = np.where(group == 1, 1 - probability, probability)
    rows = {"sensitive_features": group}
    return mcdp(None, score, **rows), mcdp(None, score, **rows, sample_weight=weights)


def coverage(seeds: range, names: list[str]) -> None:
    """Print how often intervals contain the truth."""
    for name in names:
        case, start = CASES[name], time.process_time()
        total, remaining = truth(case)
        if case.direct == 0:
            remaining = 0.0
        true = {"remaining": remaining, "explained": total - remaining}
        found: list[dict[str, float]] = []
        for seed in seeds:
            columns, group, score, _ = draw(
                case, case.n_rows, np.random.default_rng(seed)
            )
            result = explained_gap(
                score,
                sensitive_features=group,
                explained_by=columns,
                estimator=case.estimator,
                random_state=seed,
            )
            row = result.table.iloc[0]
            line = {"total": float(result.lower <= total <= result.upper)}
            for one, value in true.items():
                line[one] = float(row[f"{one}_lower"] <= value <= row[f"{one}_upper"])
                line[f"error of {one}"] = row[one] - value
                line[f"width of {one}"] = row[f"{one}_upper"] - row[f"{one}_lower"]
            found.append(line)
        table = pd.DataFrame(found)
        errors = table[[f"error of {one}" for one in true]].abs().quantile(0.95)
        seconds = time.process_time() - start
        print(f"\n{name}: {len(seeds)} samples of {case.n_rows} rows, {seconds:.0f} s")
        print(f"truth: total {total:.3f}, remaining {remaining:.3f}")
        print(table.mean().round(4).to_string())
        print("95 % quantiles of errors:", errors.round(4).to_dict(), flush=True)


def adult() -> None:
    """Print what remains on Adult."""
    X, y = fetch_adult(return_X_y=True)
    scores = new_scores(X, y == ">50K")
    work = ["occupation", "workclass"]
    five = ["hours-per-week", *work, "education", "age"]
    sets = {
        "hours": ["hours-per-week"],
        "education": ["education"],
        "occupation and class of work": work,
        "hours, occupation, class, education, age": five,
        "marital status and relationship": ["marital-status", "relationship"],
        "everything": [name for name in X if name != "sex"],
    }
    for population in ("overlap", "Female"):
        for name, columns in sets.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                result = explained_gap(
                    scores,
                    sensitive_features=X["sex"],
                    explained_by=X[columns],
                    population=population,
                    random_state=0,
                )
            row = result.table.iloc[0]
            print(
                f"{population}, {name}: {result.value:.3f} in all, remaining "
                f"{row.remaining:.3f} ({row.remaining_lower:.3f} to "
                f"{row.remaining_upper:.3f}), without overlap {row.no_overlap:.3f}, "
                f"effective sizes {result.effective_sizes.iloc[0].round().to_dict()}",
                flush=True,
            )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=["coverage", "adult"])
    parser.add_argument("--seeds", nargs=2, type=int, default=[0, 500])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    chosen = parser.parse_args()
    if chosen.study == "adult":
        adult()
    else:
        coverage(range(*chosen.seeds), chosen.cases)


if __name__ == "__main__":
    main()
