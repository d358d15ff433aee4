"""The calls of public functions whose results are recorded, by name.

The name of a call is what it measures, who asks, and how: ``mcdp/value/three groups``.
Calls of one metric and one consumer are a test together.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import golden_adapter as names
import numpy as np
import pandas as pd
from golden_data import columns, fractional, people, strata, whole, with_gaps
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import KFold, cross_validate

import skfair.metrics as metrics
from skfair.groups import encode_groups
from skfair.inspection import explained_gap

#: Draws of permutation tests and of the bootstrap.
N = 99
#: Permutations of a few tests, whose p-values say more.
MANY = 999
#: Resamples of metrics of groups, each of which calls scikit-learn.
FEW_DRAWS = 29


@dataclass(frozen=True)
class Call:
    """A call, run with a seed for what is drawn at random."""

    name: str
    run: Callable[[int], Any]
    needs: str = ""  # module without which it is left out
    tolerance: float = 0.0  # of searches that end within it

    @property
    def test(self):
        return "/".join(self.name.split("/")[:2])

    @property
    def is_possible(self):
        return not self.needs or importlib.util.find_spec(self.needs) is not None


CALLS: dict[str, Call] = {}


def add(name, run, **options):
    """Add a call; `run` takes the seed."""
    if name in CALLS:
        raise ValueError(f"two calls are named {name}")
    CALLS[name] = Call(name, run, **options)


# Metrics: the function, and what it reads of the rows.


def reading(y_true, y):
    def read(rows):
        return (getattr(rows, y_true) if y_true else None), getattr(rows, y)

    return read


SCORES = reading(None, "y_score")
LABELLED_SCORES = reading("y_true", "y_score")
DECISIONS = reading(None, "y_pred")
LABELS = reading("y_true", "y_pred")
NUMBERS = reading("number", "predicted")
PREDICTED = reading(None, "predicted")
CLASSES = reading("animal", "guess")

CALLABLE = "callable"  # stands for this rate:


def false_discovery(y_true, y_pred):
    return y_true == 0, y_pred == 1


#: Name -> function, what it reads, options.
METRICS = {
    "mcdp": (metrics.mcdp, SCORES, {}),
    "mcdp epsilon=.05": (metrics.mcdp, SCORES, {"epsilon": 0.05}),
    "mcdp epsilon=.5": (metrics.mcdp, SCORES, {"epsilon": 0.5}),
    "mcdp approximate": (
        metrics.mcdp,
        SCORES,
        {"epsilon": 0.03, "method": "approximate", "n_subdivisions": 8},
    ),
    "mcdp rank": (metrics.mcdp, PREDICTED, {"epsilon": 0.02, "scale": "rank"}),
    "madd bandwidth=.1": (metrics.madd, SCORES, {"bandwidth": 0.1}),
    "madd auto": (metrics.madd, SCORES, {}),
    "madd rank": (metrics.madd, PREDICTED, {"bandwidth": 0.125, "scale": "rank"}),
    "abcc": (metrics.abcc, SCORES, {}),
    "abcc rank": (metrics.abcc, PREDICTED, {"scale": "rank"}),
    "abcc real": (metrics.abcc, PREDICTED, {"scale": "real"}),
    "abroca": (metrics.abroca, LABELLED_SCORES, {}),
    "calibration_gap": (metrics.calibration_gap, LABELLED_SCORES, {}),
    "parity": (metrics.demographic_parity_difference, DECISIONS, {}),
    "parity threshold=.4": (
        metrics.demographic_parity_difference,
        SCORES,
        {"threshold": 0.4},
    ),
    "parity threshold=10 real": (
        metrics.demographic_parity_difference,
        PREDICTED,
        {"threshold": 10.0, "scale": "real"},
    ),
    "parity of means real": (
        metrics.demographic_parity_difference,
        PREDICTED,
        {"scale": "real"},
    ),
    "true_positive_rate": (metrics.true_positive_rate_difference, LABELS, {}),
    "false_positive_rate": (metrics.false_positive_rate_difference, LABELS, {}),
    "predictive_value": (metrics.predictive_value_difference, LABELS, {}),
    "equalized_odds": (metrics.equalized_odds_difference, LABELS, {}),
    "equalized_odds of classes": (metrics.equalized_odds_difference, CLASSES, {}),
    "impact_ratio_shortfall": (metrics.impact_ratio_shortfall, DECISIONS, {}),
    "mean_error": (metrics.mean_error_difference, NUMBERS, {}),
    "mean_absolute_error": (metrics.mean_absolute_error_difference, NUMBERS, {}),
    "max_gap": (metrics.max_gap, DECISIONS, {}),
    "max_gap error_rate": (metrics.max_gap, LABELS, {"quality": "error_rate"}),
    "max_gap true_positive_rate proportional": (
        metrics.max_gap,
        LABELS,
        {"quality": "true_positive_rate", "group_weights": "proportional"},
    ),
    "max_gap callable": (metrics.max_gap, LABELS, {"quality": false_discovery}),
    "cvar": (metrics.cvar_fairness, DECISIONS, {}),
    "cvar alpha=.3 accuracy": (
        metrics.cvar_fairness,
        LABELS,
        {"alpha": 0.3, "quality": "accuracy", "group_weights": "proportional"},
    ),
    "cvar whole groups": (
        metrics.cvar_fairness,
        DECISIONS,
        {"alpha": 0.4, "fractional": False},
    ),
    "dcp": (metrics.dcp, LABELS, {}),
    "dcp of classes": (metrics.dcp, CLASSES, {"method": "local"}),
}

#: One that each statistic serves, and some of rows alone.
FEW = ["mcdp", "parity", "equalized_odds", "max_gap", "calibration_gap", "mean_error"]
#: Metrics for which no interval is known.
WITHOUT_INTERVAL = (
    "abroca",
    "calibration_gap",
    "impact_ratio_shortfall",
    "dcp",
    "abcc real",
    "parity of means real",
)
#: Metrics of all groups together, which have no pairs.
OF_ALL = ("max_gap", "cvar", "dcp")
#: The search of DCP ends within this.
TOLERANCE = {"dcp": 2e-4, "dcp of classes": 2e-4}
#: One of each kind.
KINDS = [
    "mcdp",
    "madd bandwidth=.1",
    "abcc",
    "abroca",
    "calibration_gap",
    "parity",
    "parity threshold=.4",
    "parity of means real",
    "true_positive_rate",
    "predictive_value",
    "equalized_odds",
    "impact_ratio_shortfall",
    "mean_error",
    "max_gap",
    "cvar",
    "dcp",
]


def has_pairs(name):
    return not name.startswith(OF_ALL)


def given(rows):
    """Arguments by row that all functions take."""
    found = {"sensitive_features": rows.groups}
    if rows.strata is not None:
        found["control_features"] = rows.strata
    if rows.weights is not None:
        found["sample_weight"] = rows.weights
    return found


# Layouts of rows: groups, strata, weights, and options of metrics.


def two():
    return people(2)


def three():
    return people(3)


def with_whole(rows):
    return rows.but(weights=whole(rows))


def with_fractional(rows):
    return rows.but(weights=fractional(rows))


def with_strata(rows, n_strata):
    return rows.but(strata=strata(rows, n_strata))


def forty():
    return people(40, 1600)


POOLED = {"multigroup": "pooled"}
WEIGHTED = {"multistratum": "weighted"}
#: Name -> function that makes the rows, options of the metric.
LAYOUTS = {
    "two groups": (two, {}),
    "three groups": (three, {}),
    "three groups pooled": (three, POOLED),
    "two groups whole weights": (lambda: with_whole(two()), {}),
    "three groups fractional weights": (lambda: with_fractional(three()), {}),
    "three groups pooled fractional weights": (
        lambda: with_fractional(three()),
        POOLED,
    ),
    "three groups two strata": (lambda: with_strata(three(), 2), {}),
    "three groups two strata weighted": (lambda: with_strata(three(), 2), WEIGHTED),
    "three groups pooled two strata weighted whole weights": (
        lambda: with_whole(with_strata(three(), 2)),
        POOLED | WEIGHTED,
    ),
    "two groups many strata fractional weights": (
        lambda: with_fractional(with_strata(people(2, 600), 9)),
        {},
    ),
    "two groups many strata weighted fractional weights": (
        lambda: with_fractional(with_strata(people(2, 600), 9)),
        WEIGHTED,
    ),
    "forty groups": (forty, {}),
    "forty groups pooled whole weights": (lambda: with_whole(forty()), POOLED),
}


def levels(rows, *others):
    """Groups as a categorical with levels that nobody has."""
    return pd.Categorical(rows.groups, categories=[*np.unique(rows.groups), *others])


#: Name -> function from rows to sensitive_features.
KINDS_OF_GROUPS = {
    "ints": lambda rows: rows.codes * 10,
    "booleans": lambda rows: rows.codes == 1,
    "floats": lambda rows: rows.codes / 2,
    "two columns": columns,
    "two columns of an array": lambda rows: columns(rows).to_numpy(),
    "categorical": levels,
    "absent level": lambda rows: levels(rows, "nobody"),
    "missing": with_gaps,
    "missing left out": lambda rows: encode_groups(with_gaps(rows), missing="drop"),
    "missing as a group": lambda rows: encode_groups(with_gaps(rows), missing="group"),
    "bins": lambda rows: encode_groups(rows.predicted, bins=[5, 12]),
    "rare merged": lambda rows: encode_groups(
        columns(rows), rare="merge", min_group_size=35
    ),
    "rare left out": lambda rows: encode_groups(
        columns(rows), rare="drop", min_group_size=45
    ),
    "expected labels": lambda rows: encode_groups(
        rows.groups, labels=["g02", "g00", "g01"]
    ),
}


def call_value(name, rows, options):
    function, read, own = METRICS[name]
    return function(*read(rows), **given(rows), **own, **options)


def add_values():
    for name in METRICS:
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        for layout, (make, options) in LAYOUTS.items():
            if "multigroup" in options and not has_pairs(name):
                continue
            if name.startswith("dcp") and "forty" in layout:
                continue
            add(
                f"{name}/value/{layout}",
                lambda seed, name=name, make=make, options=options: call_value(
                    name, make(), options
                ),
                **search,
            )
    for name in FEW:
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        for kind, groups in KINDS_OF_GROUPS.items():
            add(
                f"{name}/groups/{kind}",
                lambda seed, name=name, groups=groups: call_value(
                    name, three().but(groups=groups(three())), {}
                ),
                **search,
            )


# Labels: other positive classes, texts, booleans.

YES_NO = np.array(["no", "yes"])


def text(rows):
    return rows.but(y_true=YES_NO[rows.y_true], y_pred=YES_NO[rows.y_pred])


def add_labels():
    for name in (
        "abroca",
        "calibration_gap",
        "parity",
        "true_positive_rate",
        "false_positive_rate",
        "predictive_value",
        "equalized_odds",
        "impact_ratio_shortfall",
        "max_gap",
        "max_gap error_rate",
        "cvar",
        "dcp",
    ):
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        kinds = {
            "text": (text, {}),
            "text pos_label": (text, {"pos_label": "yes"}),
            "text other pos_label": (text, {"pos_label": "no"}),
            "text unknown pos_label": (text, {"pos_label": "maybe"}),
            "pos_label=0": (lambda rows: rows, {"pos_label": 0}),
            "booleans": (
                lambda rows: rows.but(y_true=rows.y_true == 1, y_pred=rows.y_pred == 1),
                {},
            ),
            "-1 and 1": (
                lambda rows: rows.but(
                    y_true=2 * rows.y_true - 1, y_pred=2 * rows.y_pred - 1
                ),
                {},
            ),
            "1 and 2": (
                lambda rows: rows.but(y_true=rows.y_true + 1, y_pred=rows.y_pred + 1),
                {},
            ),
            "1 and 2 pos_label": (
                lambda rows: rows.but(y_true=rows.y_true + 1, y_pred=rows.y_pred + 1),
                {"pos_label": 2},
            ),
            "a column": (
                lambda rows: rows.but(
                    y_true=rows.y_true[:, None], y_pred=rows.y_pred[:, None]
                ),
                {},
            ),
            "three classes": (
                lambda rows: rows.but(y_true=rows.animal, y_pred=rows.guess),
                {},
            ),
        }
        for kind, (change, options) in kinds.items():
            add(
                f"{name}/labels/{kind}",
                lambda seed, name=name, change=change, options=options: call_value(
                    name, change(three()), options
                ),
                **search,
            )


# Scores of several classes.


def add_classes():
    three_classes = reading("animal", "shares")
    for name in (
        "mcdp",
        "mcdp epsilon=.05",
        "madd bandwidth=.1",
        "abcc",
        "calibration_gap",
        "abroca",
        "parity",
    ):
        function, _, own = METRICS[name]
        if name in ("calibration_gap", "abroca"):
            add(
                f"{name}/classes/refused",
                lambda seed, function=function, own=own: function(
                    *three_classes(three()), **given(three()), **own
                ),
            )
            continue
        layouts = {
            key: LAYOUTS[key]
            for key in (
                "two groups",
                "three groups pooled",
                "three groups fractional weights",
                "three groups two strata weighted",
            )
        }
        for layout, (make, options) in layouts.items():

            def value(seed, function=function, own=own, make=make, options=options):
                rows = make()
                return function(*three_classes(rows), **given(rows), **own, **options)

            add(f"{name}/classes/{layout}", value)

            def each(seed, function=function, own=own, make=make, options=options):
                rows = make()
                metric = names.with_options(function, **own, **options)
                return metrics.values_by_class(
                    metric, *three_classes(rows), **given(rows)
                )

            add(f"{name}/classes/each of {layout}", each)
        for consumer in (
            "permutation_test",
            "confidence_interval",
            "bootstrap_interval",
        ):

            def uncertain(seed, function=function, own=own, consumer=consumer):
                rows = three()
                metric = names.with_options(function, **own)
                return ask(consumer, metric, *three_classes(rows), seed, given(rows))

            add(f"{name}/classes/{consumer}", uncertain)


# Consumers.


def ask(consumer, metric, y_true, y, seed, rows, **options):
    """Ask a function of uncertainty."""
    function = getattr(metrics, consumer)
    if consumer == "permutation_test":
        options = {"n_permutations": N, "random_state": seed} | options
    if consumer == "bootstrap_interval":
        options = {"n_resamples": N, "random_state": seed} | options
    return function(metric, y_true, y, **rows, **options)


#: Name -> function, options.
CONSUMERS = {
    "confidence_interval": ("confidence_interval", {}),
    "confidence_interval finite_sample": (
        "confidence_interval",
        {"method": "finite_sample", "confidence_level": 0.9},
    ),
    "confidence_interval anytime": ("confidence_interval", {"method": "anytime"}),
    "certify": ("certify", {"at_most": 0.3}),
    "permutation_test": ("permutation_test", {}),
    "bootstrap_interval": ("bootstrap_interval", {}),
}
UNCERTAIN_LAYOUTS = (
    "two groups",
    "three groups pooled",
    "three groups fractional weights",
    "three groups two strata",
    "three groups two strata weighted",
)


def add_uncertainty():
    uncertain = [
        *KINDS,
        "mcdp epsilon=.05",
        "abcc real",
        "mcdp rank",
        "equalized_odds of classes",
    ]
    for name in uncertain:
        function, read, own = METRICS[name]
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        for consumer, (asked, extra) in CONSUMERS.items():
            for layout in UNCERTAIN_LAYOUTS:
                make, options = LAYOUTS[layout]
                if "multigroup" in options and not has_pairs(name):
                    continue
                if "weights" in layout and extra.get("method") and name != "mcdp":
                    continue
                is_refused = asked in ("confidence_interval", "certify") and (
                    name in WITHOUT_INTERVAL
                )
                if layout != "two groups" and (is_refused or name.startswith("dcp")):
                    continue
                if asked == "bootstrap_interval" and layout not in (
                    "three groups fractional weights",
                    "three groups two strata weighted",
                ):
                    continue

                def run(
                    seed,
                    function=function,
                    read=read,
                    own=own,
                    make=make,
                    options=options,
                    asked=asked,
                    extra=extra,
                ):
                    rows = make()
                    metric = names.with_options(function, **own, **options)
                    return ask(asked, metric, *read(rows), seed, given(rows), **extra)

                add(f"{name}/{consumer}/{layout}", run, **search)
    for name in ("mcdp", "parity", "equalized_odds", "max_gap"):
        function, read, own = METRICS[name]

        def many(seed, function=function, read=read, own=own):
            rows = with_strata(three(), 2)
            return ask(
                "permutation_test",
                names.with_options(function, **own),
                *read(rows),
                seed,
                given(rows),
                n_permutations=MANY,
            )

        add(f"{name}/permutation_test of many/three groups", many)
    for name in ("mcdp", "parity", "true_positive_rate"):
        function, read, own = METRICS[name]

        def within(seed, function=function, read=read, own=own):
            rows = three()
            return ask(
                "permutation_test",
                names.with_options(function, **own),
                *read(rows),
                seed,
                given(rows),
                within=rows.animal,
            )

        add(f"{name}/permutation_test/within", within)

        def everywhere(seed, function=function, read=read, own=own):
            rows = three()
            return ask(
                "permutation_test",
                names.with_options(function, **own),
                *read(rows),
                seed,
                given(rows),
                within=None,
            )

        add(f"{name}/permutation_test/within none", everywhere)


def add_strata():
    for name in KINDS:
        function, read, own = METRICS[name]
        for layout in (
            "three groups two strata",
            "two groups many strata fractional weights",
        ):
            make, _ = LAYOUTS[layout]

            def run(seed, function=function, read=read, own=own, make=make):
                rows = make()
                return metrics.values_by_stratum(
                    names.with_options(function, **own), *read(rows), **given(rows)
                )

            add(
                f"{name}/values_by_stratum/{layout}",
                run,
                tolerance=TOLERANCE.get(name, 0.0),
            )


# A metric of the user's own.


def own_gap(y_true, y_score, *, sensitive_features, sample_weight=None):
    """Compare medians of groups."""
    groups = np.asarray(sensitive_features)
    medians = [
        np.median(np.asarray(y_score)[groups == group]) for group in np.unique(groups)
    ]
    return max(medians) - min(medians)


def add_own():
    for consumer in ("permutation_test", "bootstrap_interval", "confidence_interval"):

        def run(seed, consumer=consumer):
            rows = three()
            return ask(consumer, own_gap, None, rows.y_score, seed, given(rows))

        add(f"own/{consumer}/three groups", run)

        def by_stratum(seed, consumer=consumer):
            rows = with_strata(three(), 2)
            return ask(consumer, own_gap, None, rows.y_score, seed, given(rows))

        add(f"own/{consumer}/two strata", by_stratum)

    def values(seed):
        rows = with_strata(three(), 2)
        return metrics.values_by_stratum(own_gap, None, rows.y_score, **given(rows))

    add("own/values_by_stratum/two strata", values)

    def test_within(seed):
        rows = three()
        return ask(
            "permutation_test",
            own_gap,
            rows.y_true,
            rows.y_score,
            seed,
            given(rows),
            within=rows.y_true,
        )

    add("own/permutation_test/within labels", test_within)

    def scored(seed):
        rows = three()
        scorer = metrics.make_fairness_scorer(
            own_gap, sensitive_features="group", response_method="predict_proba"
        )
        return scores_of(scorer, rows)

    add("own/scorer/three groups", scored)


# Scorers, of a classifier whose scores are a column of X.


class Given(ClassifierMixin, BaseEstimator):
    """Classifier whose scores and decisions are columns of X."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        if len(self.classes_) == 3:
            return X[["share 0", "share 1", "share 2"]].to_numpy()
        return np.stack([1 - X["score"], X["score"]], axis=1)

    def predict(self, X):
        if len(self.classes_) == 3:
            return X["guess"].to_numpy()
        return self.classes_[X["decision"].to_numpy()]


class GivenNumber(RegressorMixin, BaseEstimator):
    """Regressor whose prediction is a column of X."""

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X["number"].to_numpy()


def table_of(rows):
    table = pd.DataFrame(
        {
            "score": rows.y_score,
            "decision": rows.y_pred,
            "number": rows.predicted,
            "guess": rows.guess,
            "group": rows.groups,
            "part": columns(rows)["race"],
        }
    )
    for k in range(3):
        table[f"share {k}"] = rows.shares[:, k]
    table.index = np.arange(len(table))[::-1] + 7  # an index never matters
    return table


def scores_of(scorer, rows, model=None, y=None, **options):
    """Scores of three folds in turn."""
    y = rows.y_true if y is None else y
    found = cross_validate(
        model or Given(),
        table_of(rows),
        y,
        cv=KFold(3),
        scoring={"gap": scorer},
        error_score="raise",
        **options,
    )
    return found["test_gap"]


def add_scorers():
    by_name = {
        "abcc": {},
        "abroca": {},
        "calibration_gap": {},
        "cvar_fairness": {"alpha": 0.5},
        "dcp": {},
        "demographic_parity_difference": {},
        "equalized_odds_difference": {},
        "false_positive_rate_difference": {},
        "impact_ratio_shortfall": {},
        "madd": {"bandwidth": 0.125},
        "max_gap": {"quality": "error_rate"},
        "mcdp": {"epsilon": 0.05},
        "mean_absolute_error_difference": {},
        "mean_error_difference": {},
        "predictive_value_difference": {},
        "true_positive_rate_difference": {},
    }
    for name, options in by_name.items():
        is_error = "error_difference" in name
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        ways = {
            "column": {},
            "two columns": {"sensitive_features": ["group", "part"]},
            "true labels as strata": {"control_features": "y_true"},
            "a column as strata": {"control_features": "part"},
            "function": {"sensitive_features": lambda X: X["group"]},
        }
        if is_error:
            del ways["true labels as strata"]
        for way, extra in ways.items():

            def run(seed, name=name, options=options, extra=extra, is_error=is_error):
                rows = people(3, 450)
                scorer = metrics.get_fairness_scorer(
                    f"neg_{name}",
                    **({"sensitive_features": "group"} | extra),
                    **options,
                )
                if is_error:
                    return scores_of(scorer, rows, GivenNumber(), rows.number)
                return scores_of(scorer, rows)

            add(f"{name}/scorer/{way}", run, **search)

        def texts(seed, name=name, options=options):
            rows = people(3, 450)
            scorer = metrics.get_fairness_scorer(
                f"neg_{name}", sensitive_features="group", **options
            )
            return scores_of(scorer, rows, y=YES_NO[rows.y_true])

        if not is_error:
            add(f"{name}/scorer/text labels", texts, **search)

        def routed(seed, name=name, options=options, is_error=is_error):
            import sklearn

            rows = people(3, 450)
            scorer = metrics.get_fairness_scorer(f"neg_{name}", **options)
            model, y = (GivenNumber(), rows.number) if is_error else (Given(), None)
            with sklearn.config_context(enable_metadata_routing=True):
                return scores_of(
                    scorer, rows, model, y, params={"sensitive_features": rows.groups}
                )

        add(f"{name}/scorer/routed", routed, **search)

    def of_classes(seed, name):
        rows = people(3, 450)
        scorer = metrics.get_fairness_scorer(f"neg_{name}", sensitive_features="group")
        return scores_of(scorer, rows, y=rows.animal)

    for name in (
        "mcdp",
        "abcc",
        "madd",
        "equalized_odds_difference",
        "dcp",
        "abroca",
        "demographic_parity_difference",
    ):
        add(
            f"{name}/scorer/three classes",
            partial(of_classes, name=name),
            tolerance=TOLERANCE.get(name, 0.0),
        )

    def made(seed, function, **options):
        rows = people(3, 450)
        return scores_of(
            metrics.make_fairness_scorer(
                function, sensitive_features="group", **options
            ),
            rows,
        )

    add(
        "mcdp/scorer/made rank of scores",
        lambda seed: made(seed, metrics.mcdp, scale="rank"),
    )
    add(
        "parity/scorer/made threshold",
        lambda seed: made(seed, metrics.demographic_parity_difference, threshold=0.4),
    )
    add(
        "parity/scorer/made predict_proba",
        lambda seed: made(
            seed, metrics.demographic_parity_difference, response_method="predict_proba"
        ),
    )
    add(
        "mcdp/scorer/made pooled",
        lambda seed: made(seed, metrics.mcdp, multigroup="pooled"),
    )
    add(
        "mcdp/scorer/unknown column",
        lambda seed: scores_of(
            metrics.get_fairness_scorer("neg_mcdp", sensitive_features="nothing"),
            people(3, 450),
        ),
    )
    add(
        "mcdp/scorer/unknown option",
        lambda seed: metrics.get_fairness_scorer(
            "neg_mcdp", sensitive_features="group", nonsense=1
        ),
    )
    add(
        "mcdp/scorer/no groups",
        lambda seed: scores_of(metrics.get_fairness_scorer("neg_mcdp"), people(3, 450)),
    )
    add(
        "mcdp/scorer/unknown name", lambda seed: metrics.get_fairness_scorer("neg_mcpd")
    )
    add("mcdp/scorer/names", lambda seed: metrics.get_fairness_scorer_names())

    def group_scorer(seed, scoring):
        return scores_of(metrics.make_group_scorer(scoring), people(3, 450))

    for scoring in ("accuracy", "roc_auc", "f1"):
        add(f"group_scorer/scorer/{scoring}", partial(group_scorer, scoring=scoring))
    add("group_scorer/scorer/unknown", partial(group_scorer, scoring="acuracy"))


# Containers.


def series(values):
    return pd.Series(values, index=np.arange(len(values))[::-1] * 3)


def frame(values):
    return pd.DataFrame({"only": values}, index=np.arange(len(values))[::-1] * 3)


def polars(values):
    import polars

    return polars.Series(values.tolist())


def arrow(values):
    import pyarrow

    return pyarrow.array(values.tolist())


CONTAINERS = {
    "list": (lambda values: values.tolist(), ""),
    "tuple": (lambda values: tuple(values.tolist()), ""),
    "series": (series, ""),
    "frame": (frame, ""),
    "polars": (polars, "polars"),
    "arrow": (arrow, "pyarrow"),
    "objects": (lambda values: values.astype(object), ""),
    "float32": (
        lambda values: (
            values.astype(np.float32) if values.dtype.kind == "f" else values
        ),
        "",
    ),
}


def contained(rows, make):
    parts = [
        "y_true",
        "y_pred",
        "y_score",
        "number",
        "predicted",
        "groups",
        "strata",
        "weights",
    ]
    if make is frame:
        parts = ["groups", "strata"]  # what may have several columns
    return rows.but(**{part: make(getattr(rows, part)) for part in parts})


def add_containers():
    for name in FEW:
        _function, _read, _own = METRICS[name]
        for container, (make, needs) in CONTAINERS.items():

            def run(seed, name=name, make=make):
                rows = with_whole(with_strata(three(), 2))
                return call_value(name, contained(rows, make), {})

            add(
                f"{name}/containers/{container}",
                run,
                needs=needs,
                tolerance=TOLERANCE.get(name, 0.0),
            )
    for consumer in (
        "permutation_test",
        "bootstrap_interval",
        "confidence_interval",
        "group_metrics",
    ):
        for container, (make, needs) in CONTAINERS.items():

            def asked(seed, consumer=consumer, make=make):
                rows = contained(with_whole(with_strata(two(), 2)), make)
                if consumer == "group_metrics":
                    return metrics.group_metrics(
                        "recall_score", rows.y_true, rows.y_pred, **given(rows)
                    )
                return ask(
                    consumer, metrics.mcdp, None, rows.y_score, seed, given(rows)
                )

            add(f"{consumer}/containers/{container}", asked, needs=needs)


# Undefined cases.


def lonely(group=3, n_rows=120, seed=7):
    """Two large groups, and one of a few rows."""
    return people(sizes=(n_rows, n_rows - 20, group), seed=seed)


def without(rows, **parts):
    """Rows of the last group have one value only."""
    last = rows.codes == rows.codes.max()
    return rows.but(
        **{
            part: np.where(last, value, getattr(rows, part))
            for part, value in parts.items()
        }
    )


def absent_in_stratum():
    rows = with_strata(three(), 2)
    return rows.but(strata=np.where(rows.codes == 2, "s00", rows.strata))


def alone_in_stratum():
    rows = with_strata(three(), 2)
    return rows.but(
        strata=np.where((rows.codes == 2) & (rows.strata == "s01"), "s99", rows.strata)
    )


UNDEFINED = {
    "one group": lambda: three().take(three().codes == 0),
    "absent level": lambda: three().but(groups=levels(three(), "nobody")),
    "absent levels of two columns": lambda: three().but(
        groups=columns(three()).astype({"sex": pd.CategoricalDtype(["F", "M", "X"])})
    ),
    "group without weight": lambda: three().but(weights=(three().codes != 2) * 1.0),
    "no weight": lambda: three().but(weights=np.zeros(240)),
    "one group with weight": lambda: three().but(weights=(three().codes == 1) * 2.0),
    "below the least size": lambda: lonely().but(
        groups=encode_groups(lonely().groups, min_group_size=10)
    ),
    "group of three rows": lonely,
    "group of one row": lambda: lonely(1),
    "no positive label": lambda: without(three(), y_true=0),
    "no negative label": lambda: without(three(), y_true=1),
    "no positive decision": lambda: without(three(), y_pred=0),
    "no positive decision at all": lambda: three().but(y_pred=np.zeros(240, int)),
    "no positive label at all": lambda: three().but(y_true=np.zeros(240, int)),
    "in one stratum only": absent_in_stratum,
    "alone in a stratum": alone_in_stratum,
    "each alone in a stratum": lambda: three().but(strata=three().groups),
    "one row each": lambda: three().take(
        [0, int(np.argmax(three().codes != three().codes[0]))]
    ),
    "missing groups left out": lambda: three().but(
        groups=encode_groups(
            np.where(three().codes == 2, None, three().groups.astype(object)),
            missing="drop",
        )
    ),
    "no rows": lambda: three().take(slice(0, 0)),
}
FEW_UNDEFINED = (
    "one group",
    "absent level",
    "group without weight",
    "below the least size",
    "group of one row",
    "no positive label",
    "in one stratum only",
    "each alone in a stratum",
)


def add_undefined():
    for name in [*KINDS, "max_gap true_positive_rate proportional"]:
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        for case, make in UNDEFINED.items():
            add(
                f"{name}/undefined/{case}",
                lambda seed, name=name, make=make: call_value(name, make(), {}),
                **search,
            )
            if has_pairs(name) and case in FEW_UNDEFINED:
                add(
                    f"{name}/undefined/pooled {case}",
                    lambda seed, name=name, make=make: call_value(name, make(), POOLED),
                )
            if case in ("in one stratum only", "alone in a stratum"):
                add(
                    f"{name}/undefined/weighted {case}",
                    lambda seed, name=name, make=make: call_value(
                        name, make(), WEIGHTED
                    ),
                    **search,
                )
    for name in (
        "mcdp",
        "parity",
        "true_positive_rate",
        "equalized_odds",
        "max_gap",
        "calibration_gap",
    ):
        function, read, own = METRICS[name]
        for consumer in (
            "confidence_interval",
            "certify",
            "permutation_test",
            "bootstrap_interval",
        ):
            for case in FEW_UNDEFINED:

                def run(
                    seed,
                    function=function,
                    read=read,
                    own=own,
                    consumer=consumer,
                    make=UNDEFINED[case],
                ):
                    rows = make()
                    extra = {"at_most": 0.2} if consumer == "certify" else {}
                    return ask(
                        consumer,
                        names.with_options(function, **own),
                        *read(rows),
                        seed,
                        given(rows),
                        **extra,
                    )

                add(f"{name}/undefined {consumer}/{case}", run)


# Bad input.


def short(values):
    return values[:-1]


def changed(values, value):
    values = np.array(values, dtype=object if isinstance(value, str | None) else float)
    values[3] = value
    return values


BAD = {
    "short groups": lambda rows: (rows.but(groups=short(rows.groups)), {}),
    "short strata": lambda rows: (rows.but(strata=short(rows.groups)), {}),
    "short weights": lambda rows: (rows.but(weights=np.ones(239)), {}),
    "short y_true": lambda rows: (
        rows.but(y_true=short(rows.y_true), number=short(rows.number)),
        {},
    ),
    "no groups": lambda rows: (rows.but(groups=None), {}),
    "missing group": lambda rows: (rows.but(groups=changed(rows.groups, None)), {}),
    "missing stratum": lambda rows: (rows.but(strata=changed(rows.groups, None)), {}),
    "groups of three dimensions": lambda rows: (
        rows.but(groups=rows.codes.reshape(-1, 1, 1)),
        {},
    ),
    "nan": lambda rows: (nan_in(rows, np.nan), {}),
    "infinity": lambda rows: (nan_in(rows, np.inf), {}),
    "above one": lambda rows: (nan_in(rows, 1.5), {}),
    "above one by rounding": lambda rows: (nan_in(rows, 1 + 1e-12), {}),
    "below zero": lambda rows: (nan_in(rows, -0.5), {}),
    "text": lambda rows: (nan_in(rows, "a"), {}),
    "nan label": lambda rows: (
        rows.but(
            y_true=changed(rows.y_true, np.nan), number=changed(rows.number, np.nan)
        ),
        {},
    ),
    "negative weight": lambda rows: (rows.but(weights=changed(np.ones(240), -1)), {}),
    "nan weight": lambda rows: (rows.but(weights=changed(np.ones(240), np.nan)), {}),
    "infinite weight": lambda rows: (
        rows.but(weights=changed(np.ones(240), np.inf)),
        {},
    ),
    "text weight": lambda rows: (rows.but(weights=np.full(240, "a")), {}),
    "multigroup": lambda rows: (rows, {"multigroup": "pairs"}),
    "multistratum": lambda rows: (with_strata(rows, 2), {"multistratum": "mean"}),
    "multistratum without strata": lambda rows: (rows, {"multistratum": "mean"}),
    "scale": lambda rows: (rows, {"scale": "ranks"}),
    "unknown option": lambda rows: (rows, {"nonsense": 1}),
    "no y_true": lambda rows: (rows.but(y_true=None, number=None), {}),
    "y_true that cannot be hashed": lambda rows: (
        rows.but(y_true=[[0]] * 239 + [[0, 1]]),
        {},
    ),
}


def nan_in(rows, value):
    return rows.but(
        **{
            part: changed(getattr(rows, part), value)
            for part in ("y_score", "y_pred", "predicted")
        }
    )


def add_bad():
    for name in KINDS:
        for case, change in BAD.items():

            def run(seed, name=name, change=change):
                rows, options = change(three())
                return call_value(name, rows, options)

            add(f"{name}/bad/{case}", run, tolerance=TOLERANCE.get(name, 0.0))
    options = {
        "mcdp": {
            "epsilon": [-0.1, 1.5, "a", None, np.nan],
            "method": ["fast"],
            "n_subdivisions": [0, 1.5],
        },
        "madd": {"bandwidth": [0, -1, 2, "wide", None]},
        "max_gap": {
            "quality": ["speed"],
            "group_weights": ["equal", [1, 2], {"g00": 1}],
        },
        "cvar_fairness": {
            "alpha": [-0.1, 1, "a"],
            "group_weights": [[0, 0, 0], [1, -1, 1]],
            "fractional": ["no"],
        },
        "dcp": {"method": ["slow"], "tol": [0, 1], "time_limit": [-1]},
        "demographic_parity_difference": {
            "threshold": ["a", np.nan, 2.0],
            "pos_label": [7],
        },
        "madd_optimal_bandwidth": {
            "n_bandwidths": [0],
            "min_points": [0, 10_000],
            "min_length": [-1],
        },
        "madd_curve": {"n_bandwidths": [0, 2.5]},
        "impact_ratios": {
            "rate": ["hiring"],
            "min_share": [-0.1, 1],
            "confidence_level": [0, 1],
        },
        "worst_subgroup": {
            "quality": ["speed"],
            "min_group_size": [0],
            "n_subgroups": [0],
            "n_permutations": [-1],
        },
    }
    for name, values in options.items():
        read = (
            DECISIONS
            if name in ("max_gap", "cvar_fairness", "impact_ratios")
            else LABELS
            if name == "dcp"
            else SCORES
        )
        for option, bad in values.items():
            for value in bad:

                def run(seed, name=name, read=read, option=option, value=value):
                    rows = three()
                    return getattr(metrics, name)(
                        *read(rows), **given(rows), **{option: value}
                    )

                add(f"{name}/bad options/{option}={value}", run)
    uncertain = {
        "confidence_interval": [
            {"confidence_level": 0},
            {"confidence_level": 1},
            {"confidence_level": "a"},
            {"method": "bootstrap"},
            {"nonsense": 1},
        ],
        "certify": [
            {"at_most": -0.1},
            {"at_most": "a"},
            {"at_most": 0.1, "confidence_level": 2},
            {},
            {"at_most": 0.1, "method": "exact"},
        ],
        "permutation_test": [
            {"n_permutations": 0},
            {"n_permutations": 2.5},
            {"within": [0, 1]},
            {"within": "label"},
            {"random_state": "a"},
        ],
        "bootstrap_interval": [
            {"n_resamples": 0},
            {"confidence_level": 1},
            {"random_state": "a"},
            {"nonsense": 1},
        ],
    }
    for consumer, cases in uncertain.items():
        for options in cases:
            title = (
                ", ".join(f"{key}={value}" for key, value in options.items())
                or "nothing"
            )

            def run(seed, consumer=consumer, options=options):
                rows = three()
                return ask(
                    consumer,
                    metrics.mcdp,
                    None,
                    rows.y_score,
                    seed,
                    given(rows),
                    **options,
                )

            add(f"{consumer}/bad/{title}", run)
        for metric in (metrics.mcdp_curve, metrics.impact_ratios, max, "mcdp", None):

            def other(seed, consumer=consumer, metric=metric):
                rows = three()
                extra = {"at_most": 0.2} if consumer == "certify" else {}
                return ask(
                    consumer, metric, None, rows.y_score, seed, given(rows), **extra
                )

            add(f"{consumer}/bad/metric {getattr(metric, '__name__', metric)}", other)
        for title, change in BAD.items():
            if title in (
                "multigroup",
                "multistratum",
                "multistratum without strata",
                "scale",
                "unknown option",
                "no y_true",
                "short y_true",
                "nan label",
                "y_true that cannot be hashed",
            ):
                continue

            def bad(seed, consumer=consumer, change=change):
                rows, _ = change(three())
                extra = {"at_most": 0.2} if consumer == "certify" else {}
                return ask(
                    consumer,
                    metrics.mcdp,
                    None,
                    rows.y_score,
                    seed,
                    given(rows),
                    **extra,
                )

            add(f"{consumer}/bad/{title}", bad)


# Functions that return more than a number.


def add_others():
    for layout in (
        "two groups",
        "three groups pooled",
        "three groups fractional weights",
        "three groups two strata weighted",
        "three groups two strata",
    ):
        make, options = LAYOUTS[layout]
        for scale, read in (("probability", SCORES), ("rank", PREDICTED)):

            def curve(
                seed,
                make=make,
                options=options,
                scale=scale,
                read=read,
                function=metrics.mcdp_curve,
                extra=(),
            ):
                rows = make()
                return function(
                    *read(rows), **given(rows), scale=scale, **options, **dict(extra)
                )

            add(f"mcdp_curve/value/{layout} {scale}", curve)
            add(
                f"madd_curve/value/{layout} {scale}",
                partial(
                    curve, function=metrics.madd_curve, extra=(("n_bandwidths", 60),)
                ),
            )

            def best(seed, make=make, options=options, scale=scale, read=read):
                rows = make()
                pooled = {
                    key: value for key, value in options.items() if key == "multigroup"
                }
                return metrics.madd_optimal_bandwidth(
                    *read(rows),
                    **given(rows),
                    scale=scale,
                    n_bandwidths=120,
                    min_points=20,
                    **pooled,
                )

            add(f"madd_optimal_bandwidth/value/{layout} {scale}", best)

    groupings = {
        "three groups": lambda: three(),
        "whole weights": lambda: with_whole(three()),
        "fractional weights": lambda: with_fractional(three()),
        "forty groups": forty,
        "two columns": lambda: three().but(groups=columns(three())),
        "missing": lambda: three().but(groups=with_gaps(three())),
        "absent level": lambda: three().but(groups=levels(three(), "nobody")),
        "below the least size": UNDEFINED["below the least size"],
        "one group": UNDEFINED["one group"],
        "nobody selected": UNDEFINED["no positive decision at all"],
    }
    for title, make in groupings.items():
        for rate, read in (("selection", DECISIONS), ("scoring", PREDICTED)):
            for extra in ({}, {"min_share": 0.25, "confidence_level": 0.9}):
                suffix = " min_share" if extra else ""

                def ratios(seed, make=make, rate=rate, read=read, extra=extra):
                    rows = make()
                    return metrics.impact_ratios(
                        *read(rows), **given(rows), rate=rate, **extra
                    )

                add(f"impact_ratios/{rate}/{title}{suffix}", ratios)
        for function, extra in (
            ("cvar_fairness_report", {"alpha": 0.5}),
            ("top_groups", {"false_discovery_rate": 0.2}),
            ("rate_variance", {}),
        ):

            def table(seed, make=make, function=function, extra=extra):
                rows = make()
                if function == "rate_variance":
                    rows = rows.but(weights=None)
                return getattr(metrics, function)(
                    *DECISIONS(rows), **given(rows), **extra
                )

            add(f"{function}/value/{title}", table)

            def errors(seed, make=make, function=function, extra=extra):
                rows = make().but(weights=None)
                return getattr(metrics, function)(
                    *LABELS(rows), **given(rows), quality="true_positive_rate", **extra
                )

            add(f"{function}/value/true_positive_rate {title}", errors)

        def tests(seed, make=make, function="max_gap_test", extra=()):
            rows = make()
            return getattr(metrics, function)(
                *DECISIONS(rows),
                **given(rows),
                n_permutations=N,
                random_state=seed,
                **dict(extra),
            )

        add(f"max_gap_test/value/{title}", tests)
        add(
            f"cvar_fairness_test/value/{title}",
            partial(
                tests,
                function="cvar_fairness_test",
                extra=(("alpha", 0.5), ("epsilon", 0.05)),
            ),
        )
    for options in (
        {"group_weights": "proportional"},
        {"quality": "error_rate"},
        {"quality": false_discovery},
        {"group_weights": {"g00": 3, "g01": 1, "g02": 1}},
        {"group_weights": [0.5, 0.25, 0.25]},
    ):
        title = ", ".join(
            f"{key}={getattr(value, '__name__', value)}"
            for key, value in options.items()
        )
        for function, extra in (
            ("max_gap", {}),
            ("cvar_fairness", {"alpha": 0.4}),
            ("cvar_fairness_report", {"alpha": 0.4}),
            (
                "rate_variance",
                {"sampling": "random"} if False else {"bias_correction": True},
            ),
        ):
            add(
                f"{function}/options/{title}",
                lambda seed, function=function, extra=extra, options=options: getattr(
                    metrics, function
                )(*LABELS(three()), **given(three()), **extra, **options),
            )
        add(
            f"max_gap_test/options/{title}",
            lambda seed, options=options: metrics.max_gap_test(
                *LABELS(three()),
                **given(three()),
                n_permutations=N,
                random_state=seed,
                **options,
            ),
        )
        add(
            f"cvar_fairness_test/options/{title}",
            lambda seed, options=options: metrics.cvar_fairness_test(
                *LABELS(three()),
                **given(three()),
                alpha=0.3,
                epsilon=0.05,
                n_permutations=N,
                random_state=seed,
                **options,
            ),
        )

    # The worst subgroup.
    for quality, read in (
        ("mcdp", SCORES),
        ("selection_rate", DECISIONS),
        ("error_rate", LABELS),
        ("true_positive_rate", LABELS),
    ):
        for title, extra in (
            ("plain", {}),
            ("strata", {"control_features": strata(three(), 2)}),
            ("small", {"min_group_size": 20, "n_subgroups": 4}),
            ("no permutations", {"n_permutations": 0}),
        ):

            def worst(seed, quality=quality, read=read, extra=extra):
                rows = three()
                people_columns = columns(rows).assign(group=rows.groups)
                return metrics.worst_subgroup(
                    *read(rows),
                    sensitive_features=people_columns,
                    quality=quality,
                    **({"n_permutations": N, "random_state": seed} | extra),
                )

            add(f"worst_subgroup/{quality}/{title}", worst)

    # DCP from matrices and from frequencies.
    def matrices(seed, n_groups, n_classes, **options):
        random = np.random.RandomState(n_groups)
        confusion = (
            0.2
            + random.random_sample((n_groups, n_classes, n_classes))
            + 2 * np.eye(n_classes)
        )
        confusion /= confusion.sum(axis=2, keepdims=True)
        frequencies = 0.5 + random.random_sample((n_groups, n_classes))
        frequencies /= frequencies.sum(axis=1, keepdims=True)
        return metrics.dcp_bounds(
            confusion, np.arange(1, n_groups + 1), frequencies, **options
        )

    for n_groups, n_classes in ((2, 2), (3, 2), (3, 3), (5, 3)):
        add(
            f"dcp_bounds/value/{n_groups} groups {n_classes} classes",
            partial(matrices, n_groups=n_groups, n_classes=n_classes),
            tolerance=2e-4,
        )
        add(
            f"dcp_bounds/value/local {n_groups} groups {n_classes} classes",
            partial(matrices, n_groups=n_groups, n_classes=n_classes, method="local"),
            tolerance=2e-4,
        )

    def frequencies(seed, n_groups, n_classes):
        random = np.random.RandomState(n_groups)
        parts = 0.2 + random.random_sample((2, n_groups, n_classes))
        parts /= parts.sum(axis=2, keepdims=True)
        return metrics.min_dcp_bounds(
            np.arange(1, n_groups + 1), *parts, n_starts=2, random_state=0
        )

    for n_groups, n_classes in ((2, 2), (3, 2), (3, 3)):
        add(
            f"min_dcp_bounds/value/{n_groups} groups {n_classes} classes",
            partial(frequencies, n_groups=n_groups, n_classes=n_classes),
            tolerance=2e-4,
        )
    add(
        "dcp_bounds/bad/sums",
        lambda seed: metrics.dcp_bounds(
            [[[0.5, 0.4], [0, 1]]] * 2, [1, 1], [[0.5, 0.5]] * 2
        ),
    )
    add(
        "dcp_bounds/bad/shape",
        lambda seed: metrics.dcp_bounds(
            [[[1.0, 0.0], [0, 1]]] * 2, [1, 1, 1], [[0.5, 0.5]] * 2
        ),
    )
    add(
        "min_dcp_bounds/bad/sums",
        lambda seed: metrics.min_dcp_bounds([1, 1], [[0.5, 0.4]] * 2, [[0.5, 0.5]] * 2),
    )


def add_group_metrics():
    layouts = {
        "two groups": two,
        "fractional weights": lambda: with_fractional(three()),
        "two strata": lambda: with_strata(three(), 2),
        "two columns": lambda: three().but(groups=columns(three())),
        "absent level": lambda: three().but(groups=levels(three(), "nobody")),
        "no positive label": UNDEFINED["no positive label"],
        "group of three rows": lonely,
        "one group": UNDEFINED["one group"],
    }
    asked = {
        "recall_score": ("recall_score", ()),
        "selection_rate": ("selection_rate", ()),
        "rates": (
            [
                "true_positive_rate",
                "false_positive_rate",
                "predictive_value",
                "accuracy",
                "error_rate",
            ],
            (),
        ),
        "f1_score": ("f1_score", ("f1_score",)),
        "several": (
            ["accuracy_score", "roc_auc_score", "balanced_accuracy_score"],
            ("roc_auc_score", "balanced_accuracy_score"),
        ),
        "mean_absolute_error": ("mean_absolute_error", ("mean_absolute_error",)),
    }
    for title, (which, drawn) in asked.items():
        for layout, make in layouts.items():

            def run(seed, which=which, drawn=drawn, make=make):
                rows = make()
                result = metrics.group_metrics(
                    which,
                    rows.y_true,
                    rows.y_pred,
                    y_score=rows.y_score,
                    **given(rows),
                    n_resamples=FEW_DRAWS,
                    random_state=seed,
                )
                return names.group_tables(result, drawn, FEW_DRAWS)

            # Each resample calls scikit-learn for each group.
            if not drawn or layout in (
                "two strata",
                "fractional weights",
                "absent level",
            ):
                add(f"group_metrics/{title}/{layout}", run)

    def differences(seed, multigroup):
        rows = three()
        result = metrics.group_metrics(
            ["recall_score", "selection_rate"], rows.y_true, rows.y_pred, **given(rows)
        )
        return [
            result.difference(multigroup=multigroup),
            result.ratio(multigroup=multigroup),
        ]

    for multigroup in ("pairwise", "pooled", "other"):
        add(
            f"group_metrics/differences/{multigroup}",
            partial(differences, multigroup=multigroup),
        )

    def numbers(seed, which):
        rows = three()
        return metrics.group_metrics(
            which, rows.number, rows.predicted, **given(rows), confidence_level=None
        )

    for which in ("mean_squared_error", "r2_score", "neg_mean_absolute_error"):
        add(f"group_metrics/numbers/{which}", partial(numbers, which=which))
    add(
        "group_metrics/numbers/callable",
        lambda seed: metrics.group_metrics(
            {"share": lambda y_true, y_pred: float(np.mean(y_pred))},
            three().y_true,
            three().y_pred,
            **given(three()),
            confidence_level=None,
        ),
    )
    for title, options in {
        "text labels": {"rows": text},
        "text labels pos_label": {"rows": text, "pos_label": "yes"},
        "classes": {
            "rows": lambda rows: rows.but(y_true=rows.animal, y_pred=rows.guess)
        },
    }.items():

        def labelled(seed, options=options):
            options = dict(options)
            rows = options.pop("rows")(three())
            return metrics.group_metrics(
                ["accuracy_score", "recall_score"],
                rows.y_true,
                rows.y_pred,
                **given(rows),
                confidence_level=None,
                **options,
            )

        add(f"group_metrics/labels/{title}", labelled)
    for title, (which, change) in {
        "unknown": ("speed_score", lambda rows: rows),
        "nothing": ([], lambda rows: rows),
        "short y_pred": (
            "recall_score",
            lambda rows: rows.but(y_pred=short(rows.y_pred)),
        ),
        "short groups": (
            "recall_score",
            lambda rows: rows.but(groups=short(rows.groups)),
        ),
        "no y_true": ("recall_score", lambda rows: rows.but(y_true=None)),
        "missing group": (
            "recall_score",
            lambda rows: rows.but(groups=changed(rows.groups, None)),
        ),
        "negative weight": (
            "recall_score",
            lambda rows: rows.but(weights=changed(np.ones(240), -1)),
        ),
        "scores as decisions": (
            "recall_score",
            lambda rows: rows.but(y_pred=rows.y_score),
        ),
    }.items():
        add(
            f"group_metrics/bad/{title}",
            lambda seed, which=which, change=change: metrics.group_metrics(
                which,
                change(three()).y_true,
                change(three()).y_pred,
                **given(change(three())),
                n_resamples=9,
            ),
        )


# Statistics in place of rows.


def halves(rows):
    middle = len(rows.codes) // 2
    return [rows.take(slice(0, middle)), rows.take(slice(middle, None))]


STATISTICS = {
    "mcdp": lambda rows: names.count_scores(
        rows.y_score, rows.groups, weights=rows.weights
    ),
    "mcdp epsilon=.05": lambda rows: names.count_scores(
        rows.y_score, rows.groups, weights=rows.weights
    ),
    "mcdp rank": lambda rows: names.count_scores(
        rows.predicted, rows.groups, "rank", rows.weights
    ),
    "madd bandwidth=.1": lambda rows: names.count_scores(
        rows.y_score, rows.groups, weights=rows.weights
    ),
    "abcc": lambda rows: names.count_scores(
        rows.y_score, rows.groups, weights=rows.weights
    ),
    "abcc real": lambda rows: names.count_scores(
        rows.predicted, rows.groups, "real", rows.weights
    ),
    "parity": lambda rows: names.count_outcomes(
        rows.y_pred, rows.groups, weights=rows.weights
    ),
    "parity of means real": lambda rows: names.count_scores(
        rows.predicted, rows.groups, "real", rows.weights
    ),
    "impact_ratio_shortfall": lambda rows: names.count_outcomes(
        rows.y_pred, rows.groups, weights=rows.weights
    ),
    "true_positive_rate": lambda rows: names.count_outcomes(
        rows.y_pred, rows.groups, rows.y_true == 1, rows.weights
    ),
    "predictive_value": lambda rows: names.count_outcomes(
        rows.y_true, rows.groups, rows.y_pred == 1, rows.weights
    ),
    "max_gap": lambda rows: names.count_outcomes(
        rows.y_pred, rows.groups, weights=rows.weights
    ),
    "cvar": lambda rows: names.count_outcomes(
        rows.y_pred, rows.groups, weights=rows.weights
    ),
    "equalized_odds": lambda rows: names.count_confusion(
        rows.y_true, rows.y_pred, rows.groups, rows.weights
    ),
    "equalized_odds of classes": lambda rows: names.count_confusion(
        rows.animal, rows.guess, rows.groups, rows.weights
    ),
    "dcp": lambda rows: names.count_confusion(
        rows.y_true, rows.y_pred, rows.groups, rows.weights
    ),
}


def add_statistics():
    layouts = {
        "three groups": (three, {}),
        "pooled": (three, POOLED),
        "whole weights": (lambda: with_whole(three()), {}),
        "fractional weights": (lambda: with_fractional(three()), {}),
        "absent level": (lambda: three().but(groups=levels(three(), "nobody")), {}),
        "one group": (UNDEFINED["one group"], {}),
    }
    for name, count in STATISTICS.items():
        function, _, own = METRICS[name]
        search = {"tolerance": TOLERANCE.get(name, 0.0)}
        for layout, (make, options) in layouts.items():
            if options and not has_pairs(name):
                continue
            add(
                f"{name}/statistic/{layout}",
                lambda seed, function=function, own=own, count=count, make=make, options=options: (
                    function(None, count(make()), **own, **options)
                ),
                **search,
            )
        add(
            f"{name}/statistic/sum",
            lambda seed, function=function, own=own, count=count: function(
                None, names.add(count(half) for half in halves(three())), **own
            ),
            **search,
        )
        add(
            f"{name}/statistic/sum of days with other groups",
            lambda seed, function=function, own=own, count=count: function(
                None,
                count(three().take(three().codes < 2))
                + count(three().take(three().codes > 0)),
                **own,
            ),
            **search,
        )
        add(
            f"{name}/statistic/JSON",
            lambda seed, function=function, own=own, count=count: function(
                None, names.written(count(with_fractional(three()))), **own
            ),
            **search,
        )
        add(
            f"{name}/statistic/content",
            lambda seed, count=count: count(with_fractional(three())),
        )
        if name not in KINDS:
            continue
        add(
            f"{name}/statistic/with groups",
            lambda seed, function=function, own=own, count=count: function(
                None, count(three()), sensitive_features=three().groups, **own
            ),
            **search,
        )
        add(
            f"{name}/statistic/with weights",
            lambda seed, function=function, own=own, count=count: function(
                None, count(three()), sample_weight=np.ones(240), **own
            ),
            **search,
        )
        add(
            f"{name}/statistic/strata",
            lambda seed, function=function, own=own, count=count: function(
                None,
                {
                    label: count(three().take(strata(three(), 2) == label))
                    for label in ("s00", "s01")
                },
                **own,
            ),
            **search,
        )
        for consumer in CONSUMERS:
            if consumer == "bootstrap_interval" and name not in ("mcdp", "parity"):
                continue
            asked, extra = CONSUMERS[consumer]
            add(
                f"{name}/statistic {consumer}/three groups",
                lambda seed, function=function, own=own, count=count, asked=asked, extra=extra: (
                    ask(
                        asked,
                        names.with_options(function, **own),
                        None,
                        count(three()),
                        seed,
                        {},
                        **extra,
                    )
                ),
                **search,
            )
            if consumer in ("confidence_interval", "permutation_test"):
                add(
                    f"{name}/statistic {consumer}/weights",
                    lambda seed, function=function, own=own, count=count, asked=asked, extra=extra: (
                        ask(
                            asked,
                            names.with_options(function, **own),
                            None,
                            count(with_whole(three())),
                            seed,
                            {},
                            **extra,
                        )
                    ),
                    **search,
                )

    # Of another kind than the metric takes.
    wrong = {
        "scores": lambda: STATISTICS["mcdp"](three()),
        "ranks": lambda: STATISTICS["mcdp rank"](three()),
        "outcomes": lambda: STATISTICS["parity"](three()),
        "confusion": lambda: STATISTICS["equalized_odds"](three()),
        "bins": lambda: names.count_bins(three().y_score, three().groups, 64),
    }
    for name in (
        "mcdp",
        "abroca",
        "parity",
        "parity threshold=.4",
        "equalized_odds",
        "max_gap",
    ):
        function, _, own = METRICS[name]
        for kind, make in wrong.items():
            add(
                f"{name}/statistic of a kind/{kind}",
                lambda seed, function=function, own=own, make=make: function(
                    None, make(), **own
                ),
                tolerance=TOLERANCE.get(name, 0.0),
            )

    # Counts that an aggregate holds.
    def aggregate():
        rows = three()
        table = pd.DataFrame(
            {"score": rows.y_score, "group": rows.groups, "weight": whole(rows)}
        )
        return table.groupby(["score", "group"], as_index=False).agg(
            n=("weight", "size"), weight=("weight", "sum")
        )

    def counted(seed, function, weighted=False, consumer=None):
        table = aggregate()
        statistic = names.read_counts(
            table["score"],
            table["group"],
            table["n"],
            table["weight"] if weighted else None,
        )
        if consumer:
            return ask(consumer, function, None, statistic, seed, {})
        return function(None, statistic)

    for function in (metrics.mcdp, metrics.abcc, metrics.madd):
        add(f"{function.__name__}/counts/plain", partial(counted, function=function))
        add(
            f"{function.__name__}/counts/weights",
            partial(counted, function=function, weighted=True),
        )
        for consumer in ("confidence_interval", "permutation_test"):
            add(
                f"{function.__name__}/counts/{consumer}",
                partial(counted, function=function, consumer=consumer),
            )
    add(
        "mcdp/counts/cdf",
        lambda seed: [
            names.cumulative(STATISTICS["mcdp"](three()), group)
            for group in (None, 0, 2)
        ],
    )


def add_bins():
    """Add bounds of metrics of scores that are known by bins only."""
    cases = {
        "mcdp": (metrics.mcdp, {}),
        "mcdp epsilon=.05": (metrics.mcdp, {"epsilon": 0.05}),
        "mcdp pooled": (metrics.mcdp, POOLED),
        "abcc": (metrics.abcc, {}),
        "abcc pooled": (metrics.abcc, POOLED),
        "madd": (metrics.madd, {"bandwidth": 0.125}),
        "parity of means": (metrics.demographic_parity_difference, {}),
    }
    for title, (function, options) in cases.items():
        for n_bins in (16, 1024):
            add(
                f"metric_bounds/{title}/{n_bins} bins",
                lambda seed, function=function, options=options, n_bins=n_bins: (
                    metrics.metric_bounds(
                        function,
                        names.count_bins(three().fine, three().groups, n_bins),
                        **options,
                    )
                ),
            )
        add(
            f"metric_bounds/{title}/weights and coarser",
            lambda seed, function=function, options=options: metrics.metric_bounds(
                function,
                names.coarser(
                    names.count_bins(
                        three().fine, three().groups, 256, fractional(three())
                    ),
                    64,
                ),
                **options,
            ),
        )
        add(
            f"metric_bounds/{title}/sum and JSON",
            lambda seed, function=function, options=options: metrics.metric_bounds(
                function,
                names.written(
                    names.add(
                        names.count_bins(half.fine, half.groups, 64)
                        for half in halves(three())
                    )
                ),
                **options,
            ),
        )
        add(
            f"metric_bounds/{title}/absent level",
            lambda seed, function=function, options=options: metrics.metric_bounds(
                function,
                names.count_bins(three().fine, levels(three(), "nobody"), 64),
                **options,
            ),
        )
    for function in (metrics.mcdp, metrics.abcc):
        name = function.__name__
        add(
            f"{name}/bins/confidence_interval",
            lambda seed, function=function: metrics.confidence_interval(
                function, None, names.count_bins(three().fine, three().groups, 256)
            ),
        )
        add(
            f"{name}/bins/certify",
            lambda seed, function=function: metrics.certify(
                function,
                None,
                names.count_bins(three().fine, three().groups, 256),
                at_most=0.3,
            ),
        )
        add(
            f"{name}/bins/permutation_test",
            lambda seed, function=function: ask(
                "permutation_test",
                function,
                None,
                names.count_bins(three().fine, three().groups, 256),
                seed,
                {},
            ),
        )
        add(
            f"{name}/bins/at edges",
            lambda seed, function=function: function(
                None,
                names.at_edges(names.count_bins(three().fine, three().groups, 256)),
            ),
        )
    for title, options in {"plain": {}, "pooled": POOLED}.items():
        for n_bins in (16, 256):
            add(
                f"metric_bounds/calibration_gap/{title} {n_bins} bins",
                lambda seed, options=options, n_bins=n_bins: metrics.metric_bounds(
                    metrics.calibration_gap,
                    names.count_bins_by_label(
                        three().y_true, three().fine, three().groups, n_bins
                    ),
                    **options,
                ),
            )
    add(
        "metric_bounds/calibration_gap/weights",
        lambda seed: metrics.metric_bounds(
            metrics.calibration_gap,
            names.count_bins_by_label(
                three().y_true, three().fine, three().groups, 64, fractional(three())
            ),
        ),
    )
    add(
        "metric_bounds/calibration_gap/sum and JSON",
        lambda seed: metrics.metric_bounds(
            metrics.calibration_gap,
            names.written(
                names.add(
                    names.count_bins_by_label(half.y_true, half.fine, half.groups, 64)
                    for half in halves(three())
                )
            ),
        ),
    )
    add(
        "metric_bounds/bad/true_positive_rate",
        lambda seed: metrics.metric_bounds(
            metrics.true_positive_rate_difference,
            names.count_bins(three().fine, three().groups, 64),
        ),
    )
    add(
        "metric_bounds/bad/threshold",
        lambda seed: metrics.metric_bounds(
            metrics.demographic_parity_difference,
            names.count_bins(three().fine, three().groups, 64),
            threshold=0.25,
        ),
    )
    add(
        "metric_bounds/bad/scores",
        lambda seed: metrics.metric_bounds(metrics.mcdp, STATISTICS["mcdp"](three())),
    )
    add(
        "metric_bounds/bad/calibration of scores",
        lambda seed: metrics.metric_bounds(
            metrics.calibration_gap, names.count_bins(three().fine, three().groups, 16)
        ),
    )
    add(
        "metric_bounds/bad/unknown option",
        lambda seed: metrics.metric_bounds(
            metrics.mcdp, names.count_bins(three().fine, three().groups, 16), nonsense=1
        ),
    )
    add(
        "metric_bounds/bad/bins of no power",
        lambda seed: names.coarser(
            names.count_bins(three().fine, three().groups, 64), 48
        ),
    )
    add(
        "metric_bounds/bad/other bins",
        lambda seed: (
            names.count_bins(three().fine, three().groups, 16)
            + names.count_bins(three().fine, three().groups, 32)
        ),
    )
    add(
        "metric_bounds/bad/score above one",
        lambda seed: names.count_bins(three().fine + 1, three().groups, 16),
    )


# Statistics of columns, by engines.


def in_duckdb(table):
    import duckdb

    connection = duckdb.connect()
    connection.register("people", table)
    return connection.sql("SELECT * FROM people")


def in_polars(table):
    import polars

    return polars.DataFrame({name: table[name].tolist() for name in table})


def in_arrow(table):
    import pyarrow

    return pyarrow.table({name: table[name].tolist() for name in table})


ENGINES = {
    "pandas": (lambda table: table, ""),
    "polars": (in_polars, "polars"),
    "polars lazy": (lambda table: in_polars(table).lazy(), "polars"),
    "pyarrow": (in_arrow, "pyarrow"),
    "duckdb": (lambda table: in_duckdb(in_arrow(table)), "duckdb"),
}


def add_frames():
    def table(change=None):
        rows = three()
        found = pd.DataFrame(
            {
                "label": rows.y_true,
                "decision": rows.y_pred,
                "score": rows.y_score,
                "number": rows.predicted,
                "animal": rows.animal,
                "guess": rows.guess,
                "verdict": YES_NO[rows.y_pred],
                "group": rows.groups,
                "race": columns(rows)["race"],
                "w": whole(rows),
                "v": fractional(rows),
            },
            index=np.arange(240)[::-1],
        )
        return found.assign(**change(found)) if change else found

    counted = {
        "scores": (names.frame_scores, {"y_score": "score"}, metrics.mcdp),
        "ranks": (
            names.frame_scores,
            {"y_score": "number", "scale": "rank"},
            partial(metrics.mcdp, scale="rank"),
        ),
        "outcomes": (
            names.frame_outcomes,
            {"y_pred": "decision"},
            metrics.demographic_parity_difference,
        ),
        "text outcomes": (
            names.frame_outcomes,
            {"y_pred": "verdict", "pos_label": "yes"},
            metrics.demographic_parity_difference,
        ),
        "confusion": (
            names.frame_confusion,
            {"y_true": "animal", "y_pred": "guess"},
            metrics.equalized_odds_difference,
        ),
        "bins": (
            names.frame_bins,
            {"y_score": "score", "n_bins": 64},
            partial(metrics.metric_bounds, metrics.mcdp),
        ),
        "bins by label": (
            names.frame_bins_by_label,
            {"y_true": "label", "y_score": "score", "n_bins": 64},
            partial(metrics.metric_bounds, metrics.calibration_gap),
        ),
    }
    ways = {
        "one column": {"sensitive_features": "group"},
        "two columns": {"sensitive_features": ["group", "race"]},
        "whole weights": {"sensitive_features": "group", "sample_weight": "w"},
        "fractional weights": {"sensitive_features": "group", "sample_weight": "v"},
    }
    bad = {
        "missing group": lambda found: {"group": changed(found["group"], None)},
        "nan": lambda found: {
            "score": changed(found["score"], np.nan),
            "decision": changed(found["decision"], np.nan),
        },
        "negative weight": lambda found: {"w": -found["w"]},
        "above one": lambda found: {"score": found["score"] + 1},
    }
    for engine, (make, needs) in ENGINES.items():
        for kind, (count, options, metric) in counted.items():
            for way, extra in ways.items():

                def run(
                    seed,
                    make=make,
                    count=count,
                    options=options,
                    extra=extra,
                    metric=metric,
                ):
                    statistic = count(make(table()), **options, **extra)
                    if (
                        isinstance(metric, partial)
                        and metric.func is metrics.metric_bounds
                    ):
                        return [statistic, metric(statistic)]
                    return [statistic, metric(None, statistic)]

                add(f"frames {engine}/{kind}/{way}", run, needs=needs)
        for case, change in bad.items():
            kind = "outcomes" if case == "negative weight" else "scores"
            count, options, _ = counted[kind]

            def wrong(seed, make=make, count=count, options=options, change=change):
                return count(
                    make(table(change)),
                    sensitive_features="group",
                    sample_weight="w",
                    **options,
                )

            add(f"frames {engine}/bad/{case}", wrong, needs=needs)
        add(
            f"frames {engine}/bad/unknown column",
            lambda seed, make=make: names.frame_scores(
                make(table()), y_score="scores", sensitive_features="group"
            ),
            needs=needs,
        )
        add(
            f"frames {engine}/levels/absent level",
            lambda seed, make=make: metrics.mcdp(
                None,
                names.frame_scores(
                    table().assign(
                        group=pd.Categorical(
                            table()["group"], ["g00", "g01", "g02", "nobody"]
                        )
                    ),
                    y_score="score",
                    sensitive_features="group",
                ),
            ),
            needs=needs,
        ) if engine == "pandas" else None


# Monitors.


def add_monitors():
    watched = {
        "mcdp": {},
        "mcdp epsilon=.05": {},
        "madd bandwidth=.1": {},
        "abcc": {},
        "parity": {},
        "parity threshold=.4": {},
        "equalized_odds": {},
        "true_positive_rate": {},
        "predictive_value": {},
        "mean_error": {},
        "max_gap": {},
        "cvar": {},
        "impact_ratio_shortfall": {},
        "calibration_gap": {},
        "abroca": {},
        "dcp": {},
    }

    def batches(stratified=False):
        for day in range(3):
            rows = people(3, 300, seed=20 + day)
            yield with_strata(rows, 2) if stratified else rows

    def monitored(name, rows_of_days, options=None, **own_options):
        function, read, own = METRICS[name]
        monitor = names.monitor(
            names.with_options(function, **own, **(options or {})),
            **({"at_most": 0.1} | own_options),
        )
        for rows in rows_of_days:
            update(monitor, read, rows)
        return monitor

    def update(monitor, read, rows):
        more = {} if rows.strata is None else {"control_features": rows.strata}
        monitor.update(*read(rows), sensitive_features=rows.groups, **more)

    for name in watched:
        read = METRICS[name][1]
        if name in WITHOUT_INTERVAL:
            add(
                f"{name}/monitor/refused",
                lambda seed, name=name: monitored(name, batches()),
            )
            continue
        add(
            f"{name}/monitor/batches",
            lambda seed, name=name: monitored(name, batches()),
        )
        add(
            f"{name}/monitor/strata",
            lambda seed, name=name: monitored(name, batches(True)),
        )
        add(
            f"{name}/monitor/strata weighted",
            lambda seed, name=name: monitored(name, batches(True), WEIGHTED),
        )
        if has_pairs(name):
            add(
                f"{name}/monitor/pooled",
                lambda seed, name=name: monitored(
                    name, batches(), POOLED, confidence_level=0.8
                ),
            )

        def json(seed, name=name, read=read):
            days = list(batches())
            monitor = names.written(monitored(name, days[:2]))
            update(monitor, read, days[2])
            return monitor

        add(f"{name}/monitor/JSON", json)

        def merged(seed, name=name):
            days = list(batches())
            return names.merged(
                monitored(name, days[:1]),
                monitored(name, days[1:2]),
                monitored(name, days[2:]),
            )

        add(f"{name}/monitor/merged", merged)

        def late(seed, name=name):
            days = list(batches())
            return monitored(name, [days[0].take(days[0].codes < 2), days[1]])

        add(f"{name}/monitor/a group appears", late)

        def alone(seed, name=name):
            days = list(batches())
            return monitored(name, [days[0].take(days[0].codes < 1)])

        add(f"{name}/monitor/one group", alone)
        if name in STATISTICS:

            def statistics(seed, name=name):
                function, _, own = METRICS[name]
                monitor = names.monitor(
                    names.with_options(function, **own), at_most=0.1
                )
                for rows in batches():
                    monitor.update(None, STATISTICS[name](rows))
                return monitor

            add(f"{name}/monitor/statistics", statistics)

            def of_strata(seed, name=name):
                function, _, own = METRICS[name]
                monitor = names.monitor(
                    names.with_options(function, **own), at_most=0.1
                )
                for rows in batches(True):
                    monitor.update(
                        None,
                        {
                            label: STATISTICS[name](rows.take(rows.strata == label))
                            for label in ("s00", "s01")
                        },
                    )
                return monitor

            add(f"{name}/monitor/statistics of strata", of_strata)

    def change(seed):
        monitor = names.monitor(metrics.mcdp, at_most=0.2)
        for day in range(8):
            rows = people(2, 200, seed=50 + day)
            moved = np.where(
                (rows.codes == 1) & (day >= 4),
                np.minimum(rows.y_score + 0.3, 1),
                rows.y_score,
            )
            monitor.update(None, moved, sensitive_features=rows.groups)
        return monitor

    add("mcdp/monitor/change", change)
    bad = {
        "at_most": lambda: names.monitor(metrics.mcdp, at_most=-1),
        "confidence_level": lambda: names.monitor(metrics.mcdp, confidence_level=2),
        "metric": lambda: names.monitor(metrics.mcdp_curve),
        "own metric": lambda: names.monitor(own_gap),
        "no rows yet": lambda: names.looks(names.monitor(metrics.mcdp)),
        "weighted statistic": lambda: names.monitor(metrics.mcdp).update(
            None, STATISTICS["mcdp"](with_whole(three()))
        ),
        "wrong statistic": lambda: names.monitor(metrics.mcdp).update(
            None, STATISTICS["parity"](three())
        ),
        "short groups": lambda: names.monitor(metrics.mcdp).update(
            None, three().y_score, sensitive_features=short(three().groups)
        ),
        "no groups": lambda: names.monitor(metrics.mcdp).update(None, three().y_score),
        "merged with itself": lambda: (lambda monitor: names.merged(monitor, monitor))(
            monitored("mcdp", batches())
        ),
        "merged with another": lambda: names.merged(
            monitored("mcdp", batches()), monitored("abcc", batches())
        ),
        "strata in some batches": lambda: monitored(
            "mcdp", [three(), with_strata(three(), 2)]
        ),
        "JSON": lambda: type(names.monitor(metrics.mcdp)).from_dict({}),
    }
    for title, run in bad.items():
        add(f"monitor/bad/{title}", lambda seed, run=run: run())


# Bounds by proxies, and explained gaps.


def add_proxies():
    def districts(rows, n_cells=12):
        return np.array([f"d{k:02d}" for k in range(n_cells)])[
            (rows.fine * 997 % 1 * n_cells).astype(int)
        ]

    def bounds(seed, name, options=(), rows=None, **more):
        rows = people(2, 400)
        function, read, own = METRICS[name]
        cells = districts(rows)
        shares = {cell: 0.1 + 0.07 * k for k, cell in enumerate(np.unique(cells))}
        kind = more.pop("kind", "cells")
        if kind == "cells":
            more |= {"cells": cells, "group_probabilities": shares}
        elif kind == "rows":
            more |= {"group_probabilities": np.array([shares[cell] for cell in cells])}
        elif kind == "three groups":
            p = np.array([shares[cell] for cell in cells])
            more |= {
                "cells": cells,
                "group_probabilities": np.stack([p / 2, p / 2, 1 - p], axis=1),
            }
        elif kind == "some known":
            known = np.where(rows.fine * 991 % 1 < 0.3, rows.codes, None)
            more |= {
                "cells": cells,
                "group_probabilities": shares,
                "sensitive_features": known,
            }
        elif kind == "known alone":
            known = np.where(rows.fine * 991 % 1 < 0.5, rows.codes, None)
            more |= {"cells": cells, "sensitive_features": known, "missing": "bounds"}
        if more.pop("weighted", False):
            more["sample_weight"] = whole(rows)
        if more.pop("statistic", False):
            counted = rows.but(groups=cells)
            return metrics.proxy_bounds(
                names.with_options(function, **own, **dict(options)),
                None,
                STATISTICS[name](counted),
                group_probabilities=shares,
                odds_ratio=more.get("odds_ratio", np.inf),
            )
        return metrics.proxy_bounds(
            names.with_options(function, **own, **dict(options)),
            *read(rows),
            random_state=seed,
            **more,
        )

    for name in ("mcdp", "abcc", "parity threshold=.4", "parity", "equalized_odds"):
        for kind in ("cells", "rows", "three groups", "some known", "known alone"):
            add(
                f"{name}/proxy_bounds/{kind}",
                partial(bounds, name=name, kind=kind, odds_ratio=[1, 1.5, np.inf]),
            )
        add(
            f"{name}/proxy_bounds/weighted",
            partial(bounds, name=name, weighted=True, odds_ratio=2.0),
        )
        add(
            f"{name}/proxy_bounds/pooled",
            partial(bounds, name=name, options=POOLED, odds_ratio=2.0),
        )
        add(
            f"{name}/proxy_bounds/confidence",
            partial(bounds, name=name, odds_ratio=[1, 2], confidence_level=0.95),
        )
        add(
            f"{name}/proxy_bounds/odds ratio below one",
            partial(bounds, name=name, odds_ratio=0.5),
        )
        if name in STATISTICS:
            add(
                f"{name}/proxy_bounds/statistic",
                partial(bounds, name=name, statistic=True, odds_ratio=[1, 2]),
            )

    def tipping(seed):
        result = bounds(seed, "mcdp")
        return [
            result.tipping_odds_ratio(0.1),
            result.bounds_at(1.7),
            result.cumulative_bounds(2.0),
        ]

    add("mcdp/proxy_bounds/later", tipping)
    add("madd/proxy_bounds/not taken", partial(bounds, name="madd auto"))
    add("mcdp/proxy_bounds/ranks not taken", partial(bounds, name="mcdp rank"))

    for metric, read in (
        ("mcdp", SCORES),
        ("abcc", SCORES),
        ("demographic_parity_difference", DECISIONS),
    ):
        for title, make, options in (
            ("two groups", two, {}),
            ("three groups", three, {}),
            ("weights", lambda: with_fractional(two()), {}),
            ("population", two, {"population": "g01"}),
        ):

            def explained(seed, metric=metric, read=read, make=make, options=options):
                rows = make()
                return explained_gap(
                    read(rows)[1],
                    **given(rows),
                    explained_by=columns(rows)["race"],
                    metric=metric,
                    random_state=0,
                    **options,
                )

            add(f"{metric}/explained_gap/{title}", explained)
        add(
            f"{metric}/explained_gap/several columns",
            lambda seed, metric=metric, read=read: explained_gap(
                read(people(2, 500))[1],
                sensitive_features=people(2, 500).groups,
                explained_by={
                    "race": columns(people(2, 500))["race"],
                    "animal": people(2, 500).animal,
                },
                metric=metric,
                random_state=0,
            ),
        )
    add(
        "madd/explained_gap/not taken",
        lambda seed: explained_gap(
            two().y_score,
            sensitive_features=two().groups,
            explained_by=two().animal,
            metric="madd",
        ),
    )
    add(
        "mcdp/explained_gap/one group",
        lambda seed: explained_gap(
            two().y_score,
            sensitive_features=np.zeros(240),
            explained_by=two().animal,
            random_state=0,
        ),
    )
    add(
        "mcdp/explained_gap/short",
        lambda seed: explained_gap(
            two().y_score,
            sensitive_features=two().groups,
            explained_by=short(two().animal),
        ),
    )


for _add in (
    add_values,
    add_labels,
    add_classes,
    add_uncertainty,
    add_strata,
    add_own,
    add_scorers,
    add_containers,
    add_undefined,
    add_bad,
    add_others,
    add_group_metrics,
    add_statistics,
    add_bins,
    add_frames,
    add_monitors,
    add_proxies,
):
    _add()
