"""Sections of `repair.py` on five tables: paths of repair, shared scores, small groups.

Figures are means over seeds with standard errors, on test rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from _tables import TABLES, Rows, load_table, split_table
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer

#: Least probability in log-loss, for repaired scores of 0 and 1.
LEAST = 1e-6
#: Levels between which the average precision of a level is interpolated.
LEVELS = np.linspace(0, 1, 21)


def print_means(name: str, found: list[dict[str, float]]) -> None:
    parts = []
    for column in found[0]:
        values = np.array([row[column] for row in found])
        error = values.std(ddof=1) / np.sqrt(len(values))
        parts.append(f"{column} {values.mean():.4f} +- {error:.4f}")
    print(f"{name}: {'; '.join(parts)}", flush=True)


def paths() -> None:
    print(
        "\nA level or a largest gap; boosting, at most 15,000 training rows, repair of "
        "validation rows, seeds 0 to 4. Shares of the plain AP."
    )
    for table in TABLES:
        print_means(table, [compare_paths(table, seed) for seed in range(5)])


def compare_paths(table: str, seed: int) -> dict[str, float]:
    """Gain of clipping at half and a quarter of the plain gap, and of calibrating."""
    train, validation, test = split_table(table, seed, 15_000)
    model = HistGradientBoostingClassifier(random_state=seed).fit(train.X, train.y)
    held_out, scores = (
        model.predict_proba(rows.X)[:, 1] for rows in (validation, test)
    )
    groups = {"sensitive_features": validation.groups}

    def repaired(**options: Any) -> NDArray[np.float64]:
        repairer = ScoreRepairer(**options).fit(held_out, validation.y, **groups)
        return repairer.transform(scores, sensitive_features=test.groups)

    def measured(values: NDArray[np.float64]) -> NDArray[np.float64]:
        precision = average_precision_score(test.y, values)
        return np.array([precision, mcdp(None, values, sensitive_features=test.groups)])

    plain = measured(scores)
    found = {"plain AP": plain[0], "plain MCDP": plain[1]}
    levels = np.array([measured(repaired(repair_level=level)) for level in LEVELS])
    order = np.argsort(levels[:, 1])
    for name, share in (("half", 0.5), ("quarter", 0.25)):
        level = measured(repaired(repair_level=1 - share))
        gap = measured(repaired(max_mcdp=share * mcdp(None, held_out, **groups)))
        equal = np.interp(gap[1], levels[order, 1], levels[order, 0])
        found[f"{name}, lost by the level"] = (plain - level)[0] / plain[0]
        found[f"gained by the gap ({name})"] = (gap - level)[0] / plain[0]
        found[f"at equal test MCDP ({name})"] = (gap[0] - equal) / plain[0]
        found[f"MCDP, level ({name})"], found[f"MCDP, gap ({name})"] = level[1], gap[1]
    # Both paths end in the same order of rows, with other scores.
    full, mapped, mean = repaired(), repaired(calibrate=True), repaired(max_mcdp=0.0)
    losses = [
        log_loss(test.y, np.clip(v, LEAST, 1 - LEAST)) for v in (full, mapped, mean)
    ]
    right = [np.mean((v > 0.5) == test.y) for v in (full, mean)]
    found["calibration: log-loss lower by"] = losses[0] - losses[1]
    found["full repair by max_mcdp=0: log-loss lower by"] = losses[0] - losses[2]
    found["full repair by max_mcdp=0: accuracy higher by"] = right[1] - right[0]
    for name, other in (("calibration", mapped), ("max_mcdp=0", mean)):
        found[f"{name}: largest change of AP and MCDP"] = np.abs(
            measured(full) - measured(other)
        ).max()
    return found


def shared() -> None:
    print(
        "\nScores that rows share: defaults of MADDPostProcessor, 3,000 training rows"
    )
    models = {
        "15 neighbours": KNeighborsClassifier(15),
        "forest of 30": RandomForestClassifier(30, random_state=0),
        "full tree": DecisionTreeClassifier(random_state=0),
    }
    for table in ("census", "adult"):
        for name, model in models.items():
            rows = [repair_shared(table, model, seed) for seed in range(5)]
            print_means(f"{table}, {name}", rows)


def repair_shared(table: str, model: Any, seed: int) -> dict[str, float]:
    train, _, test = split_table(table, seed, 3000)
    found = {}
    plain = clone(model).fit(train.X, train.y).predict_proba(test.X)[:, 1]
    found["plain AP"] = average_precision_score(test.y, plain)
    found["plain MCDP"] = mcdp(None, plain, sensitive_features=test.groups)
    for name, options in {"": {}, ", random ties": {"ties": "random"}}.items():
        fair = MADDPostProcessor(model, random_state=seed, **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MitigationWarning)
            fair.fit(train.X, train.y, sensitive_features=train.groups)
        scores = fair.predict_proba(test.X, sensitive_features=test.groups)[:, 1]
        found[f"repaired AP{name}"] = average_precision_score(test.y, scores)
        found[f"MCDP{name}"] = mcdp(None, scores, sensitive_features=test.groups)
        found[f"warned{name}"] = float(len(caught) > 0)
        halved = found[f"MCDP{name}"] <= found["plain MCDP"] / 2
        found[f"halved or warned{name}"] = float(halved or len(caught) > 0)
    return found


def small() -> None:
    print(
        "\nTwenty training rows of a group of their own, like all others; seeds 0 to 9"
    )
    for table in ("census", "bank"):
        print_means(table, [repair_small(table, seed) for seed in range(10)])
    print("Twenty Black people of Adult, who differ, and 3,000 others; seeds 0 to 9")
    print_means("adult", [repair_differing(seed) for seed in range(10)])


def repair_differing(seed: int) -> dict[str, float]:
    """Full repair of people of Adult by race, which is no feature."""
    task = load_table("adult")
    rows = np.random.default_rng(seed).permutation(len(task.y))
    races = [name for name in task.X if str(name).startswith("race")]
    (column,) = (name for name in races if "Black" in str(name))
    black = task.X[column].to_numpy()[rows] == 1
    train = np.concatenate([rows[black][:20], rows[~black][:3000]])
    test = np.concatenate([rows[black][20:], rows[~black][3000:]])
    X = task.X.drop(columns=races)
    X[task.numeric] = StandardScaler().fit_transform(X[task.numeric])
    groups = np.where(task.X[column] == 1, "few", "others")
    return measure_few(
        Rows(X.iloc[train], task.y[train], groups[train]),
        Rows(X.iloc[test], task.y[test], groups[test]),
    )


def repair_small(table: str, seed: int) -> dict[str, float]:
    train, _, test = split_table(table, seed, 4000)
    generator = np.random.default_rng(seed)
    groups, new_groups = train.groups.copy(), test.groups.copy()
    groups[generator.choice(len(groups), 20, replace=False)] = "few"
    few = generator.random(len(new_groups)) < 0.2
    new_groups[few] = "few"
    return measure_few(train._replace(groups=groups), test._replace(groups=new_groups))


def measure_few(train: Rows, test: Rows) -> dict[str, float]:
    """MCDP of test rows, and log-loss of a small group, as plain and as repaired."""
    few = test.groups == "few"
    model = LogisticRegression(max_iter=500)
    scores = {"plain": model.fit(train.X, train.y).predict_proba(test.X)[:, 1]}
    for name, options in {"auto": {}, "full": {"repair_level": 1.0}}.items():
        fair = MADDPostProcessor(model, **options)
        fair.fit(train.X, train.y, sensitive_features=train.groups)
        found = fair.predict_proba(test.X, sensitive_features=test.groups)[:, 1]
        scores[name] = np.clip(found, LEAST, 1 - LEAST)
    measured = {}
    for name, values in scores.items():
        measured[f"{name} MCDP"] = mcdp(None, values, sensitive_features=test.groups)
        measured[f"{name} log-loss of the few"] = log_loss(test.y[few], values[few])
    return measured
