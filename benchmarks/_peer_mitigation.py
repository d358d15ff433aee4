"""Performance against disparity of a peer's mitigators, in the peer's environment.

    SKFAIR_DATA=<folder of the tables> python benchmarks/_peer_mitigation.py PEER
        TABLE SEED N_TRAIN [METHODS]

prints one JSON line for each method (whose name begins with one of METHODS, separated
by commas): its models on test rows, and its cost in plain fits. `peers.py` calls it;
tables, measures and the plain model are those of `fair_models.py`. Methods that choose
thresholds return decisions, no scores.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import fair_models
import numpy as np
from _tables import Rows, split_table
from fair_models import BOUNDS, Point, make_plain, point, positive

from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer

LEVELS = (0.25, 0.5, 0.75, 1.0)
NETWORK_STRENGTHS = (0.1, 0.3, 1.0, 3.0)
Models = Iterator[Point]


class Method(NamedTuple):
    """A mitigator; `aware` says whether it needs the group at prediction."""

    models: Callable[[Rows, Rows, Rows], Models]
    aware: bool = False


def decided(rows: Rows, decisions: Any) -> Point:
    """Measure decisions, which have no scores to be measured."""
    found = point(rows, np.asarray(decisions, float), np.asarray(decisions, float))
    return found._replace(average_precision=np.nan, mcdp=np.nan)


def unaware(train: Rows, validation: Rows, test: Rows) -> Models:
    from skfair.postprocessing import UnawarePostProcessor

    model = UnawarePostProcessor(make_plain(), random_state=0)
    model.fit(train.X, train.y, sensitive_features=train.groups)
    for strength in model.path_["strength"]:
        yield point(test, positive(model.with_strength(strength), test))


def repaired(train: Rows, validation: Rows, test: Rows, path: str) -> Models:
    plain = make_plain().fit(train.X, train.y)
    scores = positive(plain, validation)
    largest = mcdp(None, scores, sensitive_features=validation.groups)
    for level in LEVELS:
        amount = level if path == "repair_level" else (1 - level) * largest
        repairer = ScoreRepairer(**{path: amount})
        repairer.fit(scores, sensitive_features=validation.groups)
        new = repairer.transform(positive(plain, test), sensitive_features=test.groups)
        yield point(test, np.ravel(new))


def network(train: Rows, validation: Rows, test: Rows) -> Models:
    from skfair.inprocessing import DiffMCDPClassifier

    for strength in (0.0, *NETWORK_STRENGTHS):
        model = DiffMCDPClassifier(strength=strength, random_state=0)
        model.fit(train.X, train.y, sensitive_features=train.groups)
        yield point(test, positive(model, test))


def weighted(train: Rows, validation: Rows, test: Rows, powers: Any) -> Models:
    from skfair.inprocessing import reweighing_weights

    weights = reweighing_weights(train.y, sensitive_features=train.groups)
    for power in powers:
        model = make_plain().fit(train.X, train.y, sample_weight=weights**power)
        yield point(test, positive(model, test))


def decisions(train: Rows, validation: Rows, test: Rows, with_group: bool) -> Models:
    from sklearn.frozen import FrozenEstimator

    from skfair.postprocessing import DecisionPostProcessor

    rows, given, estimator = train, {}, make_plain()
    if with_group:
        estimator = FrozenEstimator(estimator.fit(train.X, train.y))
        rows, given = validation, {"sensitive_features": test.groups}
    model = DecisionPostProcessor(estimator, uses_group=with_group, random_state=0)
    model.fit(rows.X, rows.y, sensitive_features=rows.groups)
    for bound in BOUNDS:
        decided_on = model.with_difference(bound).predict(test.X, **given)
        yield decided(test, decided_on)


def linear_programs(
    train: Rows, validation: Rows, test: Rows, with_group: bool
) -> Models:
    """Solve LinearPost's problem, which has no package."""
    from decisions import linear_program

    plain = make_plain().fit(train.X, train.y)
    of_group = None if with_group else make_plain().fit(train.X, train.groups)

    def chances(rows: Rows) -> Any:
        if of_group is not None:
            return of_group.predict_proba(rows.X)
        return 1.0 * (rows.groups[:, None] == np.unique(train.groups))

    p, joint = plain.predict_proba(validation.X), chances(validation)
    new, ratios = plain.predict_proba(test.X), chances(test) / joint.mean(axis=0)
    for bound in BOUNDS:
        slopes = linear_program(p, joint, bound)
        yield decided(test, (new - ratios @ slopes).argmax(axis=1))


def thresholds_fairlearn(train: Rows, validation: Rows, test: Rows) -> Models:
    from fairlearn.postprocessing import ThresholdOptimizer

    plain = make_plain().fit(train.X, train.y)
    model = ThresholdOptimizer(
        estimator=plain, prefit=True, predict_method="predict_proba"
    )
    model.fit(validation.X, validation.y, sensitive_features=validation.groups)
    chosen = model._pmf_predict(test.X, sensitive_features=test.groups)
    yield decided(test, chosen[:, 1])


def uncorrelated(train: Rows, validation: Rows, test: Rows) -> Models:
    from fairlearn.preprocessing import CorrelationRemover

    def with_group(rows: Rows) -> Any:
        return np.column_stack([rows.groups == train.groups[0], rows.X]).astype(float)

    for level in LEVELS:
        remover = CorrelationRemover(sensitive_feature_ids=[0], alpha=level)
        X = remover.fit_transform(with_group(train))
        model = make_plain().fit(X, train.y)
        scores = model.predict_proba(remover.transform(with_group(test)))[:, 1]
        yield point(test, scores)


def reweighing(train: Rows, validation: Rows, test: Rows) -> Models:
    import pandas as pd
    from aif360.sklearn.preprocessing import Reweighing

    index = [np.arange(len(train.y)), train.groups]
    index = pd.MultiIndex.from_arrays(index, names=["row", "group"])
    X, y = train.X.set_axis(index), pd.Series(train.y, index=index)
    weights = Reweighing("group").fit_transform(X, y)[1]
    model = make_plain().fit(train.X, train.y, sample_weight=weights)
    yield point(test, positive(model, test))


def wasserstein(train: Rows, validation: Rows, test: Rows) -> Models:
    from equipy.fairness import FairWasserstein

    plain = make_plain().fit(train.X, train.y)
    repair = FairWasserstein()
    groups = np.asarray(validation.groups, str), np.asarray(test.groups, str)
    repair.fit(positive(plain, validation), groups[0])
    for level in LEVELS:
        new = repair.transform(positive(plain, test), groups[1], epsilon=1 - level)
        yield point(test, np.clip(new, 0, 1))


def thresholds_oxonfair(train: Rows, validation: Rows, test: Rows) -> Models:
    import oxonfair
    from oxonfair.utils import group_metrics

    def given(rows: Rows) -> dict[str, Any]:
        groups = np.asarray(rows.groups, str)
        return {"data": rows.X.to_numpy(), "target": rows.y, "groups": groups}

    plain = make_plain().fit(train.X.to_numpy(), train.y)
    model = oxonfair.FairPredictor(plain, given(validation))
    for bound in BOUNDS:
        model.fit(group_metrics.accuracy, group_metrics.demographic_parity, bound)
        yield decided(test, model.predict(given(test)))


def thresholds_error_parity(train: Rows, validation: Rows, test: Rows) -> Models:
    from error_parity import RelaxedThresholdOptimizer

    plain = make_plain().fit(train.X.to_numpy(), train.y)
    codes = {group: code for code, group in enumerate(np.unique(train.groups))}

    def coded(rows: Rows) -> Any:
        return np.array([codes[group] for group in rows.groups])

    for bound in BOUNDS:
        model = RelaxedThresholdOptimizer(
            predictor=lambda X: plain.predict_proba(X)[:, 1],
            constraint="demographic_parity",
            tolerance=bound,
        )
        model.fit(validation.X.to_numpy(), validation.y, group=coded(validation))
        yield decided(test, model(test.X.to_numpy(), group=coded(test)))


def filtered(train: Rows, validation: Rows, test: Rows) -> Models:
    from sklego.preprocessing import InformationFilter

    def with_group(rows: Rows) -> Any:
        return np.column_stack([rows.groups == train.groups[0], rows.X]).astype(float)

    for level in LEVELS:
        kept = InformationFilter([0], alpha=1 - level)
        X = kept.fit_transform(with_group(train))
        model = make_plain().fit(X, train.y)
        scores = model.predict_proba(kept.transform(with_group(test)))[:, 1]
        yield point(test, scores)


def fairret_norm(train: Rows, validation: Rows, test: Rows) -> Models:
    from _torch_baselines import train_network
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    loss = NormLoss(PositiveRate())
    for strength in (0.0, *NETWORK_STRENGTHS):
        scores = train_network(train, test, strength, loss)
        yield point(test, scores)


def adversary(train: Rows, validation: Rows, test: Rows) -> Models:
    from _torch_baselines import train_against_adversary

    for strength in NETWORK_STRENGTHS:
        yield point(test, train_against_adversary(train, test, strength))


def mixup(train: Rows, validation: Rows, test: Rows) -> Models:
    from _torch_baselines import mixup_gap, train_network

    for strength in NETWORK_STRENGTHS:
        yield point(test, train_network(train, test, strength, mixup_gap, mixed=True))


def _two_parts(models: Callable[[Rows, Rows], Models]) -> Method:
    return Method(lambda train, validation, test: models(train, test))


PEERS: dict[str, dict[str, Method]] = {
    "skfair": {
        "MCDPBoostingClassifier": _two_parts(fair_models.boosting),
        "UnawarePostProcessor": Method(unaware),
        "MCDPReweighter": _two_parts(fair_models.reweighter),
        "DiffMCDPClassifier": Method(network),
        "reweighing_weights": Method(partial(weighted, powers=[1])),
        "reweighing_weights, powers 1 to 4": Method(
            partial(weighted, powers=[1, 2, 3, 4])
        ),
        "DecisionPostProcessor": Method(partial(decisions, with_group=False)),
        "DecisionPostProcessor(uses_group=True)": Method(
            partial(decisions, with_group=True), aware=True
        ),
        **{
            f"ScoreRepairer({path})": Method(partial(repaired, path=path), aware=True)
            for path in ("max_mcdp", "repair_level")
        },
    },
    "fairlearn": {
        "ExponentiatedGradient": _two_parts(fair_models.expgrad),
        "GridSearch": _two_parts(fair_models.gridsearch),
        "CorrelationRemover": Method(uncorrelated, aware=True),
        "ThresholdOptimizer": Method(thresholds_fairlearn, aware=True),
    },
    "aif360": {"Reweighing": Method(reweighing)},
    "equipy": {"FairWasserstein": Method(wasserstein, aware=True)},
    "oxonfair": {"FairPredictor": Method(thresholds_oxonfair, aware=True)},
    "LinearPost": {
        "linear program": Method(partial(linear_programs, with_group=False)),
        "linear program with the group": Method(
            partial(linear_programs, with_group=True), aware=True
        ),
    },
    "error-parity": {
        "RelaxedThresholdOptimizer": Method(thresholds_error_parity, aware=True)
    },
    "scikit-lego": {"InformationFilter": Method(filtered, aware=True)},
    "fairret": {
        "NormLoss": Method(fairret_norm),
        "adversarial debiasing": Method(adversary),
        "FairMixup": Method(mixup),
    },
}


def main() -> None:
    peer, table, seed, n_train = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5])
    chosen = tuple(sys.argv[5].split(",")) if len(sys.argv) > 5 else ("",)
    warnings.simplefilter("ignore")
    parts = split_table(table, seed)
    train, validation = (
        Rows(*(part[:n_train] for part in rows))
        for rows in (parts.train, parts.validation)
    )
    test = parts.test
    make_plain().fit(train.X, train.y)  # what is imported late is not counted
    start = time.process_time()
    model = make_plain().fit(train.X, train.y)
    cost = time.process_time() - start
    plain = point(test, positive(model, test))
    for name, method in PEERS[peer].items():
        if not name.startswith(chosen):
            continue
        start = time.process_time()
        try:
            points = list(method.models(train, validation, test))
            error = None
        except Exception as caught:
            points, error = [], f"{type(caught).__name__}: {caught}"[:200]
        found = {
            "peer": peer,
            "method": name,
            "aware": method.aware,
            "table": table,
            "seed": seed,
            "rows": len(train.y),
            "plain": plain,
            "points": points,
            "fits": (time.process_time() - start) / cost,
            "error": error,
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
