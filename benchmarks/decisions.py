"""Decisions: what they say of themselves, and beside peers.

    python benchmarks/decisions.py promises [FITS] [EVERY] [FIRST]
    python benchmarks/decisions.py few_values [FITS] [EVERY] [FIRST]
    SKFAIR_DATA=<folder of the tables> python benchmarks/decisions.py peers [SEEDS]

`promises` simulates 40 populations, and compares what `comparison_` states with the
truth in 100,000 new rows; EVERY and FIRST take a part of them. `few_values` does so in
40 whose only feature has 4 to 8 values, with a logistic regression of them or a tree
of so many leaves. No number of the mitigator was chosen on these populations.

`peers` are the linear program, and fairlearn's thresholds and reduction, on 60/40
splits. With the group each method gets the same plain model, fitted to half of the
training rows, and the other half; without it, all training rows. Accuracies are
compared at the same difference on test rows; between two rules it is that of a mixture
of both. The linear program is that of LinearPost (arXiv 2405.04025), solved by HiGHS.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from typing import Any, NamedTuple

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
from sklearn.tree import DecisionTreeClassifier

from skfair.metrics import dcp
from skfair.postprocessing import DecisionPostProcessor
from skfair.postprocessing._decision_rules import FEW_HELD_OUT_ROWS

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
    path = pd.DataFrame(model.path_).iloc[1:]
    stated = path["difference_error"] - path["mean_test_neg_difference"]
    # A rule is chosen where its limit, and this sum, are at most the difference asked.
    reached = np.minimum(np.maximum(path["limit"], stated) + 1e-9, 1)
    limits = sorted({1.0, *reached}, reverse=True)
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
    given, third = (
        {"sensitive_features": others},
        odds.comparison_.baseline["difference"] / 3,
    )
    for key, limit in (("DCP", third), ("plain DCP", 1.0)):
        decided = odds.with_difference(limit).predict(X_test)
        result[key] = dcp(y_test, decided, **given, method="local")
        result[f"accuracy, {key}"] = np.mean(decided == y_test)
    return result


#: Numbers of groups and rows, and how far groups differ in the populations of each.
SIZES = [(2, 1_000), (2, 4_000), (2, 20_000), (3, 2_000), (3, 10_000)]
SIZES += [(4, 6_000), (5, 3_000), (6, 15_000), (8, 20_000), (10, 4_000)]
SHIFTS = [0.3, 0.6, 0.15, 0.5, 0.0, 0.4, 0.6, 0.3, 0.5, 0.3]
KINDS = [
    (constraint, aware)
    for constraint in ("demographic_parity", "equalized_odds")
    for aware in (True, False)
]
#: Difference asked for.
LIMIT = 0.05


def draw(n: int, n_groups: int, shift: float, layout: int, seed: int) -> Any:
    """Draw rows of a population: groups differ in features, in noise and in labels."""
    fixed, rng = (
        np.random.default_rng([layout, *each]) for each in ((11,), (11, seed))
    )
    shares = fixed.dirichlet(np.full(n_groups, 6.0)) + 0.3 / n_groups
    means = shift * fixed.normal(size=(n_groups, 4)) * [1, 0.7, 0.5, 0]
    slopes = [1.2, 0.8, -0.6, 0] + 0.5 * shift * fixed.normal(size=(n_groups, 4))
    base = 0.5 * shift * fixed.normal(size=n_groups) - 0.3
    noise = fixed.uniform(0.7, 1.3, n_groups)
    groups = rng.choice(n_groups, n, p=shares / shares.sum())
    X = rng.normal(size=(n, 4)) * np.sqrt(noise[groups])[:, None] + means[groups]
    logits = (X * slopes[groups]).sum(axis=1) + base[groups]
    return X, (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int), groups


def draw_few(n: int, n_groups: int, n_values: int, layout: int, seed: int) -> Any:
    """Draw rows with one feature of few values; groups differ in values and labels."""
    fixed, rng = (
        np.random.default_rng([layout, *each]) for each in ((13,), (13, seed))
    )
    shares = fixed.dirichlet(np.full(n_groups, 6.0)) + 0.3 / n_groups
    chances = fixed.dirichlet(np.full(n_values, 2.0), n_groups).cumsum(axis=1)
    logits = 1.3 * fixed.normal(size=n_values) + 0.3 * fixed.normal(size=(n_groups, 1))
    groups = rng.choice(n_groups, n, p=shares / shares.sum())
    values = (rng.random(n)[:, None] > chances[groups, :-1]).sum(axis=1)
    y = rng.random(n) < 1 / (1 + np.exp(-logits[groups, values]))
    return np.eye(n_values)[values], y.astype(int), groups


class Population(NamedTuple):
    """Rows that are drawn, the sizes of samples, and what is asked of decisions."""

    layout: int
    draw: Any
    n_groups: int
    n_rows: int
    shape: Any
    constraint: str
    aware: bool
    model: Any
    limit: float


def compare_with_truth(population: Population, fits: int) -> list[dict[str, Any]]:
    """Stated and true differences, errors and warnings of fits to one population."""
    layout, draw, n_groups, n, shape, constraint, aware, model, limit = population
    results = []
    X_new, y_new, new = draw(100_000, n_groups, shape, layout, 10**6)
    for seed in range(fits):
        X, y, groups = draw(n, n_groups, shape, layout, seed)
        fair = DecisionPostProcessor(
            model, constraint=constraint, uses_group=aware, max_difference=limit
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fair.fit(X, y, sensitive_features=groups)
        said = fair.comparison_
        decided = fair.predict(X_new, sensitive_features=new)
        # What is left out, as it has too few rows, is not part of the statement.
        counts = np.zeros((n_groups, 2), int)
        np.add.at(counts, (groups, y), 1)
        if constraint == "demographic_parity":
            counts[:] = counts.sum(axis=1, keepdims=True)
        enough = counts[new, y_new] > FEW_HELD_OUT_ROWS
        true = measure(
            decided[enough], y_new[enough], new[enough], constraint != KINDS[0][0]
        )[0]
        results.append(
            {
                "layout": layout,
                "groups": n_groups,
                "rows": n,
                "constraint": constraint,
                "aware": aware,
                "shift": shape,
                "limit": limit,
                "stated": said.mitigated["difference"],
                "error": said.standard_error["difference"],
                "true": true,
                "warned": any("not shown" in str(each.message) for each in caught),
                "optimism": said.mitigated["accuracy"] - np.mean(decided == y_new),
                "accuracy": np.mean(decided == y_new),
            }
        )
    return results


def smooth_populations() -> list[Population]:
    """Return 40 populations with four features that have many values."""
    every = []
    for i, (n_groups, n) in enumerate(SIZES):
        for k, kind in enumerate(KINDS):
            model: Any = LogisticRegression()
            if i == 7:  # trees cost more
                model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
            shift = SHIFTS[(i + k) % 10]
            every.append(
                Population(10 * k + i, draw, n_groups, n, shift, *kind, model, LIMIT)
            )
    return every


def few_populations() -> list[Population]:
    """Return 40 populations whose scores have 4 to 8 values."""
    every = []
    for i, n in enumerate([800, 1_500, 2_500, 4_000, 8_000] * 2):
        for k, kind in enumerate(KINDS):
            n_groups, n_values = 2 + (i + k) % 3, 4 + (2 * i + k) % 5
            model: Any = LogisticRegression()
            if i >= 5:
                model = DecisionTreeClassifier(max_leaf_nodes=n_values, random_state=0)
            every.append(
                Population(
                    10 * k + i,
                    *(draw_few, n_groups, n, n_values, *kind, model, 2 * LIMIT),
                )
            )
    return every


def promises(fits: int = 20, every: int = 1, first: int = 0) -> None:
    """Print what `comparison_` states beside the truth, for each population and all."""
    print_promises(smooth_populations()[first::every], fits)


def few_values(fits: int = 20, every: int = 1, first: int = 0) -> None:
    """Print the same of scores that have few values."""
    print_promises(few_populations()[first::every], fits)


def print_promises(populations: list[Population], fits: int) -> None:
    """Print stated and true differences of each population, and of all."""
    rows = []
    for population in populations:
        rows += compare_with_truth(population, fits)
        own = pd.DataFrame(rows[-fits:])
        columns = ["stated", "true", "error", "warned"]
        print(*population, own[columns].mean().round(3).to_dict(), flush=True)
    summarize(pd.DataFrame(rows))


def summarize(table: pd.DataFrame) -> None:
    """Print how well the stated differences and the warnings say what is true."""
    table["bias"] = table["stated"] - table["true"]
    by = table.groupby("layout")
    bias, error, spread = by["bias"].mean(), by["error"].mean(), by["bias"].std()
    limit = table["limit"]
    missed, kept = table["true"] > 1.2 * limit, table["true"] <= limit
    above = table["true"] > table["stated"] + 2 * table["error"]
    print(f"populations {len(bias)}, fits {len(table)}")
    print(f"stated less true {bias.mean():+.4f}, se {bias.sem():.4f}")
    print(f"within one error in {(bias.abs() <= error).mean():.2f} of populations")
    pooled = np.sqrt((error**2).mean() / (spread**2).mean())
    print(f"error / sd of stated less true: {pooled:.2f}")
    print(f"true above stated + 2 errors: {above.mean():.3f}")
    print(f"warned of {missed.sum()} that miss: {table['warned'][missed].mean():.2f}")
    print(f"warned of {kept.sum()} that keep: {table['warned'][kept].mean():.2f}")
    print(f"true difference / limit: {(table['true'] / limit).mean():.2f}")
    print(f"stated accuracy less true: {table['optimism'].mean():+.4f}")
    print(f"true accuracy: {table['accuracy'].mean():.4f}")


def peers(seeds: int = 5) -> None:
    """Print gains of accuracy over the peers, and times."""
    warnings.simplefilter("ignore")
    names = ("adult", "bank", "nist race", "nist sex", "oulad", "diabetes")
    every = [(n, kind, s) for s in range(seeds) for n in names for kind in MODELS]
    table = pd.DataFrame([compare(*each) for each in every])
    print(table.groupby(["table", "model"], sort=False).mean().round(4).to_string())
    binary = table.groupby(table["table"].isin(["adult", "bank"]))
    print(binary[["gain", "gain on reduction"]].agg(["mean", "sem"]).round(4))


if __name__ == "__main__":
    commands = {"promises": promises, "few_values": few_values, "peers": peers}
    command = commands[sys.argv[1]]
    command(*map(int, sys.argv[2:]))
