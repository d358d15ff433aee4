"""Ways of repair beside one another: to a level or to a largest gap, calibrated or not.

    SKFAIR_DATA=<folder of the tables> python benchmarks/repair_paths.py [section ...]

Sections: paths, shared, small. Figures are means over seeds 0 to 4 (small: 0 to 9) with
standard errors, on test rows.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from _tables import TABLES, split_table
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer

#: Least probability in log-loss, for repaired scores of 0 and 1.
LEAST = 1e-6


def print_means(name: str, columns: list[str], found: list[list[float]]) -> None:
    values = np.array(found)
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    parts = [
        f"{column} {mean:.4f} +- {error:.4f}"
        for column, mean, error in zip(
            columns, values.mean(axis=0), errors, strict=True
        )
    ]
    print(f"{name:<22} {'; '.join(parts)}", flush=True)


def paths() -> None:
    print(
        "\nBoosting, 40/30/30, at most 15,000 training rows; repair of validation rows"
    )
    for table in TABLES:
        found = []
        for seed in range(5):
            found.append(compare_paths(table, seed))
        columns = ["plain AP", "plain MCDP"]
        for share in ("half", "quarter"):
            columns += [
                f"{share}: MCDP, level",
                "MCDP, gap",
                "AP share gained by the gap",
            ]
        columns += ["full: log-loss", "calibrated less", "AP changed", "MCDP changed"]
        print_means(table, columns, found)


def compare_paths(table: str, seed: int) -> list[float]:
    train, validation, test = split_table(table, seed, 15_000)
    model = HistGradientBoostingClassifier(random_state=seed).fit(train.X, train.y)
    held_out, scores = (
        model.predict_proba(rows.X)[:, 1] for rows in (validation, test)
    )
    groups = {"sensitive_features": validation.groups}

    def repaired(**options: Any) -> NDArray[np.float64]:
        repairer = ScoreRepairer(**options).fit(held_out, validation.y, **groups)
        return repairer.transform(scores, sensitive_features=test.groups)

    def gap(values: NDArray[np.float64]) -> float:
        return mcdp(None, values, sensitive_features=test.groups)

    def precision(values: NDArray[np.float64]) -> float:
        return float(average_precision_score(test.y, values))

    plain_gap = mcdp(None, held_out, **groups)
    found = [precision(scores), gap(scores)]
    for share in (0.5, 0.25):
        level, clipped = (
            repaired(repair_level=1 - share),
            repaired(max_gap=share * plain_gap),
        )
        found += [gap(level), gap(clipped)]
        found.append((precision(clipped) - precision(level)) / precision(scores))
    full, calibrated = repaired(), repaired(calibrate=True)
    loss, other = (
        log_loss(test.y, np.clip(values, LEAST, 1 - LEAST))
        for values in (full, calibrated)
    )
    changes = precision(calibrated) - precision(full), gap(calibrated) - gap(full)
    return [*found, loss, loss - other, *map(abs, changes)]


if __name__ == "__main__":
    sections = {part.__name__: part for part in (paths,)}
    for name in sys.argv[1:] or sections:
        sections[name]()
