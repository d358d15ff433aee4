"""Decisions beside the linear program, and beside fairlearn's thresholds and reduction.

    SKFAIR_DATA=<folder of the tables> python benchmarks/decisions.py [SEEDS]

60/40 splits. With the group each method gets the same plain model, fitted to half of
the training rows, and the other half; without it, all training rows. Accuracies are
compared at the same difference on test rows; between two rules it is that of a mixture
of both. The linear program is that
of LinearPost (arXiv 2405.04025), solved by HiGHS.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from _tables import load_table, read_table
from lightgbm import LGBMClassifier
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.metrics import dcp
from skfair.postprocessing import DecisionPostProcessor

MODELS = {
    "trees": LGBMClassifier(n_estimators=60, num_leaves=15, n_jobs=1, verbose=-1),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
}
LIMITS = (0.2, 0.1, 0.05, 0.02)


def several(name: str) -> tuple[pd.DataFrame, Any, Any]:
    """Features, classes and groups of a table of several classes."""
    if name.startswith("nist"):
        table = read_table("nist_acs_2019_national.csv.gz", "NIST")
        table = table[(table["AGEP"] >= 18) & table["PINCP_DECILE"].notna()]
        y, races = table["PINCP_DECILE"].astype(int) // 2, {1: "white", 2: "black"}
        race = table["RAC1P"].map(races | {6: "asian"}).fillna("other")
        groups = race if name == "nist race" else table["SEX"]
        columns = ["MSP", "INDP_CAT", "PUMA", "OWN_RENT", "AGEP", "EDU", "NOC", "NPF"]
    elif name == "oulad":
        table = read_table("oulad_studentclick.csv.gz", "OULAD")
        y, groups = table["final_result"], table["gender"]
        columns = ["code_module", "region", "highest_education", "imd_band"]
        columns += ["age_band", "num_of_prev_attempts", "studied_credits", "sum_click"]
    else:
        table = read_table("diabetes_130_us_hospitals.csv.gz", "UCI")
        table = table.drop_duplicates("patient_nbr").iloc[:30_000]
        years = table["age"].str.extract(r"(\d+)", expand=False).astype(int)
        y, groups = table["readmitted"], np.digitize(years, [50, 70]).astype(str)
        columns = ["race", "gender", "insulin", "diabetesMed", "number_inpatient"]
        columns += ["time_in_hospital", "num_medications", "number_diagnoses"]
    numbers = [name for name in columns if table[name].nunique() > 25]
    X = table[numbers].apply(pd.to_numeric, errors="coerce").fillna(-1).astype(float)
    others = table[[name for name in columns if name not in numbers]].astype(str)
    X = pd.concat([X, pd.get_dummies(others, dtype=float)], axis=1)
    X.columns = [f"x{i}" for i in range(X.shape[1])]
    return X, np.unique(y, return_inverse=True)[1], np.asarray(groups).astype(str)


def measure(chances: Any, y: Any, groups: Any, errors: bool) -> tuple[float, float]:
    """Largest difference and accuracy of decisions, or of chances of each decision."""
    n_classes, largest = y.max() + 1, 0.0
    if chances.ndim == 1:
        chances = np.eye(n_classes)[chances]
    for chosen in [y == label for label in range(n_classes)] if errors else [y >= 0]:
        names = np.unique(groups[chosen])
        rates = [chances[chosen & (groups == name)].mean(axis=0) for name in names]
        largest = max(largest, np.ptp(rates, axis=0).max())
    return largest, float(chances[np.arange(len(y)), y].mean())


def at(points: list[tuple[float, float]], difference: float) -> float:
    """Accuracy where the rules, from the plain one on, first fall to a difference."""
    for (wide, before), (narrow, after) in itertools.pairwise(points):
        if narrow <= difference < wide:
            return after + (before - after) * (difference - narrow) / (wide - narrow)
    return float("nan")


def linear_program(p: Any, joint: Any, limit: float) -> Any:
    """Multipliers by group and decision of the least loss under demographic parity."""
    (n, k), ratios = p.shape, joint / joint.mean(axis=0) / len(p)
    noise = np.random.default_rng(0).uniform(-1e-4, 1e-4, p.shape)
    rates = sparse.hstack([sparse.kron(ratios.T, np.eye(k)), -_centres(joint, k)])
    ones = sparse.hstack(
        [sparse.kron(sparse.eye(n), np.ones((1, k))), np.zeros((n, k))]
    )
    cost = np.append((1 - p + noise).ravel() / n, np.zeros(k))
    bounds = np.full(2 * rates.shape[0], limit / 2)
    both = sparse.vstack([rates, -rates], format="csr")
    slopes = linprog(cost, both, bounds, ones.tocsr(), np.ones(n)).ineqlin.marginals
    above, below = slopes.reshape(2, -1, k)
    return below - above


def _centres(joint: Any, k: int) -> Any:
    """Columns of the rates that those of all groups are near."""
    return sparse.csr_matrix(np.tile(np.eye(k), (joint.shape[1], 1)))


def rules(model: Any, X: Any, y: Any, groups: Any, errors: bool, aware: bool) -> Any:
    """Measure each rule of the path on test rows."""
    given = {"sensitive_features": groups} if aware else {}
    path = model.path_.iloc[1:]
    reached = np.maximum(path["limit"], -path["mean_test_neg_difference"])
    # A rule is chosen where both are at most 95 % of the difference asked for.
    limits = sorted({1.0, *np.minimum(reached / 0.95 + 1e-9, 1)}, reverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decided = [model.with_difference(each).predict(X, **given) for each in limits]
    return [measure(each, y, groups, errors) for each in decided]


def gain_on_reduction(kind: str, *parts: Any) -> float:
    """Gain without the group, at half the plain difference or where the peer ends."""
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    (X, y, groups), (X_test, y_test, others) = parts[::2], parts[1::2]
    given, model = {"sensitive_features": groups}, MODELS[kind]
    weight = {"logistic": "logisticregression__sample_weight"}.get(kind)
    reduction = ExponentiatedGradient(
        model, EqualizedOdds(), sample_weight_name=weight or "sample_weight"
    ).fit(X, y, **given)
    fair = DecisionPostProcessor(model, constraint="equalized_odds").fit(X, y, **given)
    points = rules(fair, X_test, y_test, others, True, False)
    decided = clone(model).fit(X, y).predict(X_test), reduction._pmf_predict(X_test)
    ends = [measure(each, y_test, others, True) for each in decided]
    difference = max(ends[0][0] / 2, ends[1][0])
    return at(points, difference) - at(ends, difference)


def compare(name: str, kind: str, seed: int) -> dict[str, Any]:
    """Gains of accuracy over the peers, and times, of one split."""
    binary = name in ("adult", "bank")
    task = load_table(name) if binary else None
    X, y, groups = (task.X, task.y, task.groups) if task else several(name)
    parts = train_test_split(X, y, groups, test_size=0.4, random_state=seed)
    fit = train_test_split(*parts[::2], test_size=0.5, random_state=seed)
    (X_fit, X_own), (y_fit, y_own), (_, own) = fit[:2], fit[2:4], fit[4:]
    X_test, y_test, others = parts[1::2]
    plain, result = MODELS[kind].fit(X_fit, y_fit), {"table": name, "model": kind}
    fair = DecisionPostProcessor(FrozenEstimator(plain), uses_group=True)
    constraint = "equalized_odds" if binary else "demographic_parity"
    fair.set_params(constraint=constraint)
    start = time.process_time()
    fair.fit(X_own, y_own, sensitive_features=own)
    result["seconds"] = time.process_time() - start
    points = rules(fair, X_test, y_test, others, binary, True)
    if binary:
        from fairlearn.postprocessing import ThresholdOptimizer

        peer = ThresholdOptimizer(
            estimator=plain, constraints=constraint, prefit=True
        ).fit(X_own, y_own, sensitive_features=own)
        chances = peer._pmf_predict(X_test, sensitive_features=others)
        end, half = measure(chances, y_test, others, True), points[0][0] / 2
        result["gain"] = at(points, half) - at([points[0], end], half)
        result |= {"least": min(points)[0], "least of peer": end[0]}
        result["gain on reduction"] = gain_on_reduction(kind, *parts)
        return result
    p, names = plain.predict_proba(X_own), np.array(fair.groups_)
    gains, seconds = [], []
    for limit in LIMITS:
        start = time.process_time()
        slopes = linear_program(p, 1.0 * (own[:, None] == names), limit)
        seconds.append(time.process_time() - start)
        ratios = (others[:, None] == names) / (own[:, None] == names).mean(axis=0)
        decided = (plain.predict_proba(X_test) - ratios @ slopes).argmax(axis=1)
        difference, accuracy = measure(decided, y_test, others, False)
        gains.append(at(points, difference) - accuracy)
    result |= {"gain": np.nanmean(gains), "seconds of peer": np.mean(seconds)}
    odds = DecisionPostProcessor(MODELS[kind], constraint="equalized_odds")
    odds.fit(*parts[::2][:2], sensitive_features=parts[4])
    given, third = {"sensitive_features": others}, odds.comparison_.plain_difference / 3
    for key, limit in (("DCP", third), ("plain DCP", 1.0)):
        decided = odds.with_difference(limit).predict(X_test)
        result[key] = dcp(y_test, decided, **given, method="local")
        result[f"accuracy, {key}"] = np.mean(decided == y_test)
    return result


def main(seeds: int) -> None:
    warnings.simplefilter("ignore")
    names = ("adult", "bank", "nist race", "nist sex", "oulad", "diabetes")
    every = [(n, kind, s) for s in range(seeds) for n in names for kind in MODELS]
    table = pd.DataFrame([compare(*each) for each in every])
    print(table.groupby(["table", "model"], sort=False).mean().round(4).to_string())
    binary = table.groupby(table["table"].isin(["adult", "bank"]))
    print(binary[["gain", "gain on reduction"]].agg(["mean", "sem"]).round(4))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
