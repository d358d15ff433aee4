"""What newer peers are for, in the peer's environment.

    SKFAIR_DATA=<folder of the tables> python benchmarks/_peer_newer.py PEER
        TABLES SEEDS N_TRAIN

prints one JSON line for each measure; `peers.py` calls it.

MCGrad calibrates scores in all groups at once. It gets the plain model's scores of the
validation rows, with the group as its only feature or with all features, and isotonic
regression within each group gets the same; measured on test rows.

fairaudit bounds the error rates of many groups simultaneously, and flags groups that
differ from all rows at a false discovery rate. Of 20 groups with 100 rows each two have
a rate of .35, two of .05 and the others of .2, which is the rate of all rows.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from _tables import Rows, split_table
from fair_models import make_plain, positive
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from skfair.metrics import calibration_gap, cvar_fairness_report, group_metrics

N_SAMPLES = 200
#: Simultaneous level of the bounds, and the false discovery rate.
ALPHA = 0.1
RATES = np.array([0.35] * 2 + [0.05] * 2 + [0.2] * 16)
SIZE = 100
Measures = Iterator[tuple[str, str, str]]


def isotonic(validation: Rows, test: Rows, held_out: Any, scores: Any) -> Any:
    """Calibrate the scores of each group alone."""
    new = np.empty(len(scores))
    for group in np.unique(test.groups):
        own, others = validation.groups == group, test.groups == group
        curve = IsotonicRegression(out_of_bounds="clip")
        curve.fit(held_out[own], validation.y[own])
        new[others] = curve.predict(scores[others])
    return new


def multicalibrated(
    validation: Rows, test: Rows, held_out: Any, scores: Any, features: bool
) -> Any:
    """Calibrate scores by MCGrad."""
    from mcgrad.methods import MCGrad

    def table(rows: Rows, scores: Any) -> pd.DataFrame:
        # Columns of dummies have characters that LightGBM does not take as names.
        X = pd.DataFrame(rows.X.to_numpy()).add_prefix("x")
        return X.assign(group=rows.groups.astype(str), p=scores, label=rows.y)

    fitted, new = table(validation, held_out), table(test, scores)
    names: dict[str, Any] = {"categorical_feature_column_names": ["group"]}
    if features:
        names["numerical_feature_column_names"] = list(fitted.columns[:-3])
    model = MCGrad(lightgbm_params={"num_threads": 1, "verbose": -1})
    model.fit(fitted, "p", "label", **names)
    return model.predict(new, "p", **names)


def mcgrad(tables: str, seeds: str, n_train: str) -> Measures:
    """Calibration on test rows, means over tables and seeds."""
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for name in tables.split(","):
        for seed in map(int, seeds.split(",")):
            train, validation, test = split_table(name, seed)
            train, validation = (
                Rows(*(part[: int(n_train)] for part in rows))
                for rows in (train, validation)
            )
            start = time.process_time()
            plain = make_plain().fit(train.X, train.y)
            cost = time.process_time() - start
            held_out, scores = positive(plain, validation), positive(plain, test)
            given = validation, test, held_out, scores
            ways = {
                "plain": lambda scores=scores: scores,
                "isotonic": lambda given=given: isotonic(*given),
                "group": lambda given=given: multicalibrated(*given, False),
                "features": lambda given=given: multicalibrated(*given, True),
            }
            for way, calibrate in ways.items():
                start = time.process_time()
                new = np.clip(calibrate(), 1e-6, 1 - 1e-6)
                fits = (time.process_time() - start) / cost
                groups = {"sensitive_features": test.groups}
                gap = calibration_gap(test.y, new, **groups)
                found[way].append((gap, log_loss(test.y, new), fits))
    means = {way: np.mean(values, axis=0) for way, values in found.items()}
    names = "calibration gap", "log-loss"
    for column, measure in enumerate(names):
        value = {way: f"{each[column]:.4f}" for way, each in means.items()}
        yield (
            f"{measure} of scores, mean of {len(tables.split(','))} tables",
            f"{value['group']} by the group, {value['features']} by all features",
            f"{value['plain']} plain, {value['isotonic']} by isotonic regression "
            "in each group",
        )
    costs = {way: f"{np.median(np.array(found[way])[:, 2]):.1f}" for way in found}
    yield (
        "the same, plain fits beside that of the model",
        f"{costs['group']} by the group, {costs['features']} by all features",
        f"{costs['isotonic']} by isotonic regression",
    )


def peer_intervals(auditor: Any, dummies: Any) -> Any:
    """Bounds of the rate of each group, by fairaudit."""
    auditor.calibrate_groups(
        ALPHA, "interval", dummies, bootstrap_params={"student": "mad"}
    )
    return np.array(
        [auditor.query_group(group)[0][0] for group in range(dummies.shape[1])]
    )


def own_intervals(errors: Any, groups: Any) -> Any:
    """Bounds of the rate of each group, by Bonferroni's inequality."""
    level = 1 - ALPHA / len(RATES)
    table = group_metrics(
        ["selection_rate"],
        None,
        errors,
        sensitive_features=groups,
        confidence_level=level,
    ).to_frame()
    return table[["lower", "upper"]].to_numpy()


def fairaudit(tables: str, seeds: str, n_train: str) -> Measures:
    """Coverage, width, power and time in samples of one population."""
    from fairaudit.auditor import Auditor
    from fairaudit.metrics import Metric

    def errors_of(Z: Any, Y: Any, X: Any = None) -> Any:
        return (Z != Y).astype(float)

    def zero(Z: Any, Y: Any, X: Any = None) -> Any:
        return np.zeros(len(Y))

    groups = np.repeat(np.arange(len(RATES)), SIZE)
    dummies = groups[:, None] == np.arange(len(RATES))
    differs = ~np.isclose(RATES, RATES.mean())
    ways = ("fairaudit", "skfair")
    covered, widths, hits, false, times = ({way: [] for way in ways} for _ in range(5))
    flagged_two_sided = []
    for seed in range(N_SAMPLES):
        rng = np.random.default_rng(seed)
        errors = (rng.random(len(groups)) < RATES[groups]).astype(int)
        y = rng.integers(0, 2, len(groups))
        decisions = np.where(errors == 1, 1 - y, y)
        X, seconds = groups[:, None].astype(float), {}

        def audit(
            threshold: Any, X: Any = X, y: Any = y, decisions: Any = decisions
        ) -> Any:
            return Auditor(X, y, decisions, Metric("error", errors_of, threshold))

        start = time.process_time()
        bounds = {"fairaudit": peer_intervals(audit(zero), dummies)}
        auditor = audit(errors_of)
        flags = [
            auditor.flag_groups(dummies, k, ALPHA / 2)[0] for k in ("lower", "upper")
        ]
        found = {"fairaudit": flags[0] | flags[1]}
        seconds["fairaudit"] = time.process_time() - start
        flagged_two_sided.append(auditor.flag_groups(dummies, "interval", ALPHA)[0])
        start = time.process_time()
        bounds["skfair"] = own_intervals(errors, groups)
        report = cvar_fairness_report(None, errors, sensitive_features=groups)
        found["skfair"] = report.sort_index()["adjusted_pvalue"].to_numpy() <= ALPHA
        seconds["skfair"] = time.process_time() - start
        for way in ways:
            low, high = bounds[way].T
            covered[way].append(((low <= RATES) & (high >= RATES)).all())
            widths[way].append((high.clip(0, 1) - low.clip(0, 1)).mean())
            hits[way].append(found[way][differs].mean())
            wrong = found[way][~differs].sum()
            false[way].append(wrong / max(found[way].sum(), 1))
            times[way].append(seconds[way])
    beside = {"skfair": "by `group_metrics` at 99.5 % for each group"}
    tests = {"skfair": "by `cvar_fairness_report`"}
    for measure, values, by, scale, end in (
        (
            "simultaneous 90 % intervals cover the rates of all 20 groups",
            covered,
            beside,
            100,
            " %",
        ),
        ("their mean width", widths, beside, 1, ""),
        (
            "groups that differ are flagged, at a false discovery rate of 10 %",
            hits,
            tests,
            100,
            " %",
        ),
        ("false discoveries among the flagged", false, tests, 100, " %"),
        ("seconds for both", times, {"skfair": "by both"}, 1, ""),
    ):
        means = {way: f"{scale * np.mean(values[way]):.3g}{end}" for way in ways}
        yield measure, means["fairaudit"], f"{means['skfair']} {by['skfair']}"
    same = np.mean(np.array(flagged_two_sided)[:, ~differs])
    yield (
        "groups that do not differ and are flagged by its two-sided test",
        f"{100 * same:.3g} %",
        "-",
    )


PEERS = {"mcgrad": mcgrad, "fairaudit": fairaudit}


def main() -> None:
    """Print one line for each measure."""
    warnings.simplefilter("ignore")
    peer, *arguments = sys.argv[1:]
    for measure, value, beside in PEERS[peer](*arguments):
        line = {"peer": peer, "measure": measure, "value": value, "beside": beside}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
