"""What skfair or a peer answers to input that users have, in the peer's environment.

    python benchmarks/_peer_behaviour.py PEER

prints one JSON line for each question; `peers.py` calls it. A number that is not the
answer is "warned" where a warning comes with it, else "wrong", whatever the
documentation says: nobody is told. "-" means that the question does not arise.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

#: What is said where a question does not arise.
LEFT_OUT = "-"
#: Warnings for users; others are for developers.
TELLING = (UserWarning, RuntimeWarning)


class Library(NamedTuple):
    """How a user of a library asks its questions; None where it has no such thing."""

    metric: Callable[[Any, Any], float]
    mitigator: Callable[[], Any] | None = None
    fit: Callable[[Any, Any, Any, Any], Any] | None = None
    predict: Callable[[Any, Any, Any], Any] | None = None  # needs the groups
    searched: Callable[[], Any] | None = None
    grid: dict[str, list[Any]] | None = None
    of_scores: bool = False


def _fit(model: Any, X: Any, y: Any, groups: Any) -> Any:
    return model.fit(X, y, sensitive_features=groups)


def _predict(model: Any, X: Any, groups: Any) -> Any:
    return model.predict(X, sensitive_features=groups)


def skfair() -> Library:
    from skfair.inprocessing import MCDPReweighter
    from skfair.metrics import demographic_parity_difference
    from skfair.postprocessing import MADDPostProcessor

    return Library(
        lambda decisions, groups: demographic_parity_difference(
            None, decisions, sensitive_features=groups
        ),
        lambda: MADDPostProcessor(LogisticRegression()),
        _fit,
        _predict,
        lambda: MCDPReweighter(LogisticRegression()),
        {"strength": [0.1, 0.5]},
    )


def fairlearn() -> Library:
    from fairlearn.metrics import demographic_parity_difference
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    return Library(
        lambda decisions, groups: demographic_parity_difference(
            decisions, decisions, sensitive_features=groups
        ),
        lambda: ThresholdOptimizer(
            estimator=LogisticRegression(), predict_method="predict_proba"
        ),
        _fit,
        _predict,
        lambda: ExponentiatedGradient(LogisticRegression(), DemographicParity()),
        {"eps": [0.02, 0.1]},
    )


def aif360() -> Library:
    from aif360.sklearn.metrics import statistical_parity_difference
    from aif360.sklearn.preprocessing import Reweighing, ReweighingMeta

    def fit(model: Any, X: Any, y: Any, groups: Any) -> Any:
        index = [np.arange(len(X)), np.asarray(groups)]
        index = pd.MultiIndex.from_arrays(index, names=["row", "group"])
        table = pd.DataFrame(np.asarray(X), index=index).rename(columns=str)
        return model.fit(table, pd.Series(np.asarray(y), index=index))

    return Library(
        lambda decisions, groups: abs(
            statistical_parity_difference(
                decisions, decisions, prot_attr=groups, priv_group=np.unique(groups)[0]
            )
        ),
        fit=fit,
        searched=lambda: ReweighingMeta(
            LogisticRegression(), reweigher=Reweighing("group")
        ),
        grid={"estimator__C": [0.1, 1.0]},
    )


def equipy() -> Library:
    from equipy.fairness import FairWasserstein
    from equipy.metrics import unfairness

    class Repaired:
        """A classifier and the repair of its scores, as the tutorial joins them."""

        def fit(self, X: Any, y: Any, groups: Any) -> Repaired:
            self.model = LogisticRegression().fit(X, y)
            self.repair = FairWasserstein()
            self.repair.fit(self.model.predict_proba(X)[:, 1], groups)
            return self

        def predict(self, X: Any, groups: Any) -> Any:
            scores = self.model.predict_proba(X)[:, 1]
            return self.repair.transform(scores, groups) > 0.5

    return Library(
        lambda decisions, groups: unfairness(
            np.asarray(decisions), pd.DataFrame({"group": groups})
        ),
        Repaired,
        lambda model, X, y, groups: model.fit(X, y, groups),
        lambda model, X, groups: model.predict(X, groups),
        of_scores=True,
    )


def oxonfair() -> Library:
    import oxonfair as library
    from oxonfair.utils import group_metrics

    class Thresholds:
        """A classifier and thresholds by group, as the tutorial joins them."""

        def fit(self, X: Any, y: Any, groups: Any) -> Thresholds:
            rows = {"data": np.asarray(X), "target": np.asarray(y), "groups": groups}
            model = LogisticRegression().fit(rows["data"], rows["target"])
            self.predictor = library.FairPredictor(model, rows)
            self.predictor.fit(
                group_metrics.accuracy, group_metrics.demographic_parity, 0.05
            )
            return self

        def predict(self, X: Any, groups: Any) -> Any:
            rows = {"data": np.asarray(X), "target": np.zeros(len(X)), "groups": groups}
            return self.predictor.predict(rows)

    return Library(
        lambda decisions, groups: group_metrics.demographic_parity(
            decisions, decisions, groups
        ).item(),
        Thresholds,
        lambda model, X, y, groups: model.fit(X, y, groups),
        lambda model, X, groups: model.predict(X, groups),
    )


def error_parity() -> Library:
    from error_parity import RelaxedThresholdOptimizer
    from error_parity.evaluation import evaluate_fairness

    class Thresholds:
        """A classifier and its thresholds by group, as the tutorial joins them."""

        def fit(self, X: Any, y: Any, groups: Any) -> Thresholds:
            model = LogisticRegression().fit(X, y)
            self.thresholds = RelaxedThresholdOptimizer(
                predictor=lambda X: model.predict_proba(X)[:, 1],
                constraint="demographic_parity",
                tolerance=0.05,
            ).fit(X, y, group=groups)
            return self

        def predict(self, X: Any, groups: Any) -> Any:
            return self.thresholds(X, group=groups)

    return Library(
        lambda decisions, groups: evaluate_fairness(
            np.zeros(len(groups), dtype=int) + (np.arange(len(groups)) % 2),
            np.asarray(decisions),
            np.asarray(groups),
        )["ppr_diff"],
        Thresholds,
        lambda model, X, y, groups: model.fit(X, y, groups),
        lambda model, X, groups: model.predict(X, groups),
    )


def maddlib() -> Library:
    from maddlib.evaluation import MADD

    return Library(
        lambda scores, groups: float(
            MADD(
                h=0.1,
                X_test=pd.DataFrame({"group": groups}),
                pred_proba=scores,
                sf="group",
            )
        ),
        of_scores=True,
    )


def scikit_lego() -> Library:
    from sklego.linear_model import DemographicParityClassifier
    from sklego.metrics import p_percent_score

    class Fixed(NamedTuple):
        decisions: Any

        def predict(self, X: Any) -> Any:
            return self.decisions

    return Library(
        lambda decisions, groups: p_percent_score("group")(
            Fixed(decisions), pd.DataFrame({"group": groups}), None
        ),
        fit=lambda model, X, y, groups: model.fit(X, y),
        searched=lambda: DemographicParityClassifier(
            sensitive_cols=[0], covariance_threshold=0.1
        ),
        grid={"estimator__C": [0.1, 1.0]},
    )


LIBRARIES: dict[str, Callable[[], Library]] = {
    "skfair": skfair,
    "fairlearn": fairlearn,
    "aif360": aif360,
    "equipy": equipy,
    "oxonfair": oxonfair,
    "error-parity": error_parity,
    "maddlib": maddlib,
    "scikit-lego": scikit_lego,
}


def judged(call: Callable[[], Any], right: Callable[[float], bool]) -> str:
    """Call, and say whether a number came out that is right."""
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            value = call()
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"
    if isinstance(value, str):
        return value
    value = np.ravel(value)[0]
    if math.isnan(value):
        return "nan"
    if right(value):
        return "right"
    told = [str(w.message) for w in seen if issubclass(w.category, TELLING)]
    return f"warned: {value:.3g}: {told[0]}" if told else f"wrong: {value:.3g}"


def never(value: float) -> bool:
    """Tell that no number is right."""
    return False


def questions(library: Library) -> Iterator[tuple[str, str]]:
    """Each question about a metric or a mitigator, and what came out.

    The library's own answer to the same rows without the difficulty is the right one.
    """
    generator = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 200)
    values = generator.beta(2, 3, 600) + 0.1 * groups
    if not library.of_scores:
        values = (values > 0.45) * 1
    two = groups < 2
    metric, pair, sides = library.metric, values[two], groups[two]
    answer = metric(pair, sides)

    def same(value: float) -> bool:
        return math.isclose(value, answer, abs_tol=1e-9)

    names = np.array(["a", "b"], dtype=object)[sides]
    yield "groups that are strings", judged(lambda: metric(pair, names), same)
    words = np.where(pair == 1, "yes", "no")
    yield (
        "labels that are strings",
        LEFT_OUT if library.of_scores else judged(lambda: metric(words, sides), same),
    )
    alone = sides == 0
    yield (
        "one group (a fold)",
        judged(lambda: metric(pair[alone], sides[alone]), never),
    )
    yield (
        "a third group",
        judged(lambda: metric(values, groups), lambda value: not same(value)),
    )
    # The index of one series has the labels of the other, as after a sort: rows of the
    # same label are of the same person.
    shuffled = generator.permutation(len(pair))
    by_label = metric(pair, sides[shuffled])
    yield (
        "index in another order",
        judged(
            lambda: metric(pd.Series(pair, shuffled), pd.Series(sides)),
            lambda value: math.isclose(value, by_label, abs_tol=1e-9),
        ),
    )
    missing = np.where(np.arange(len(sides)) % 3 > 0, sides, np.nan)
    yield "missing groups", judged(lambda: metric(pair, missing), never)
    yield (
        "three classes",
        LEFT_OUT
        if library.of_scores
        else judged(lambda: metric(np.arange(len(pair)) % 3, sides), never),
    )
    yield "unseen group", judged(lambda: unseen(library), never)
    yield "GridSearchCV", judged(lambda: search(library), bool)
    yield "check_estimator", judged(lambda: checks(library), bool)


def people() -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(0)
    groups = (generator.random(400) < 0.4) * 1
    X = generator.normal(size=(400, 3)) + groups[:, None] * [1, 0, 0]
    y = (X[:, 0] + generator.normal(size=400) > 0.3) * 1
    return X, y, groups


def unseen(library: Library) -> Any:
    """Predict for people of a group that was not in training."""
    if library.predict is None:
        return LEFT_OUT
    X, y, groups = people()
    model = library.fit(library.mitigator(), X, y, groups)
    return library.predict(model, X[:5], np.full(5, 2))


def search(library: Library) -> Any:
    """Search a parameter of the mitigator, the groups given to fit and no more."""
    if library.searched is None:
        return LEFT_OUT
    X, y, groups = people()
    found = GridSearchCV(library.searched(), library.grid, cv=3, scoring="accuracy")
    found = library.fit(found, X, y, groups)
    return bool(np.isfinite(found.cv_results_["mean_test_score"]).all())


def checks(library: Library) -> Any:
    """Count the checks of scikit-learn that the mitigator fails."""
    if library.searched is None:
        return LEFT_OUT
    results = check_estimator(library.searched(), on_fail=None)
    failed = sum(result["status"] == "failed" for result in results)
    passed = sum(result["status"] == "passed" for result in results)
    return f"fails {failed} of {failed + passed}" if failed else True


def main() -> None:
    peer = sys.argv[1]
    warnings.simplefilter("ignore")
    for question, outcome in questions(LIBRARIES[peer]()):
        line = {"peer": peer, "question": question, "outcome": outcome[:200]}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
