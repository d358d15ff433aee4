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
import sklearn
from golden_data import columns, fractional, people, strata, whole, with_gaps
from golden_metrics import (
    BAD,
    FEW,
    FEW_UNDEFINED,
    KINDS,
    KINDS_OF_GROUPS,
    LAYOUTS,
    METRICS,
    POOLED,
    UNDEFINED,
    WEIGHTED,
    WITHOUT_INTERVAL,
    changed,
    false_discovery,
    forty,
    given,
    half_errors,
    has_pairs,
    lonely,
    short,
    three,
    two,
    with_fractional,
    with_strata,
    with_whole,
)
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import KFold, cross_validate

from skfair import metrics
from skfair.inspection import explained_gap

#: Draws of permutation tests and of the bootstrap.
N = 99
#: Permutations of a few tests, whose p-values say more.
MANY = 999
#: Resamples of metrics of groups, each of which calls scikit-learn.
FEW_DRAWS = 29
YES_NO = np.array(["no", "yes"])


@dataclass(frozen=True)
class Call:
    """A call, run with a seed for what is drawn at random."""

    name: str
    run: Callable[[int], Any]
    needs: str = ""  # module without which it is left out

    @property
    def test(self):
        return "/".join(self.name.split("/")[:2])

    @property
    def is_possible(self):
        return not self.needs or importlib.util.find_spec(self.needs) is not None

    @property
    def tolerance(self):
        """How far apart the ends of searches may lie."""
        if self.name.startswith(("dcp", "min_dcp")):
            return 2e-4  # twice the width at which a search for DCP ends
        return 1e-10 if "/proxy_bounds/" in self.name else 0.0


CALLS: dict[str, Call] = {}


def add(title, run, /, needs="", **options):
    """Add a call of a function of the seed with options."""
    if title in CALLS:
        raise ValueError(f"two calls are named {title}")
    CALLS[title] = Call(title, partial(run, **options), needs)


# Values.


def metric_of(name, **options):
    """Make a metric with the options of its name and others."""
    function, _, own = METRICS[name]
    return names.with_options(function, **own, **options)


def value(seed, name, make=three, **options):
    rows = make()
    return metric_of(name, **options)(*METRICS[name][1](rows), **given(rows))


def value_of_groups(seed, name, groups):
    return value(seed, name, lambda: three().but(groups=groups(three())))


def value_by_stratum(seed, name, make):
    rows = make()
    read = METRICS[name][1]
    return metrics.values_by_stratum(metric_of(name), *read(rows), **given(rows))


def add_values():
    for name in METRICS:
        for layout, (make, options) in LAYOUTS.items():
            if "multigroup" in options and not has_pairs(name):
                continue
            if name.startswith("dcp") and "forty" in layout:
                continue  # searches for seconds
            add(f"{name}/value/{layout}", value, name=name, make=make, **options)
    for name in FEW:
        for kind, groups in KINDS_OF_GROUPS.items():
            add(f"{name}/groups/{kind}", value_of_groups, name=name, groups=groups)
    for name in KINDS:
        layout = "three groups two strata"
        make, _ = LAYOUTS[layout]
        add(
            f"{name}/values_by_stratum/{layout}", value_by_stratum, name=name, make=make
        )


# Labels: other positive classes, texts, booleans.


def relabelled(seed, name, turn, **options):
    rows = three()
    changed_rows = rows.but(y_true=turn(rows.y_true), y_pred=turn(rows.y_pred))
    return value(seed, name, lambda: changed_rows, **options)


def of_classes(seed, name, **options):
    rows = three()
    return value(seed, name, lambda: rows.but(y_true=rows.animal, y_pred=rows.guess))


LABELS = {
    "text": (lambda labels: YES_NO[labels], {}),
    "text pos_label": (lambda labels: YES_NO[labels], {"pos_label": "yes"}),
    "text other pos_label": (lambda labels: YES_NO[labels], {"pos_label": "no"}),
    "text unknown pos_label": (lambda labels: YES_NO[labels], {"pos_label": "maybe"}),
    "pos_label=0": (lambda labels: labels, {"pos_label": 0}),
    "booleans": (lambda labels: labels == 1, {}),
    "-1 and 1": (lambda labels: 2 * labels - 1, {}),
    "1 and 2": (lambda labels: labels + 1, {}),
    "1 and 2 pos_label": (lambda labels: labels + 1, {"pos_label": 2}),
    "a column": (lambda labels: labels[:, None], {}),
}


def add_labels():
    labelled = [name for name in KINDS if "rate" in name or "value" in name]
    labelled += ["abroca", "calibration_gap", "parity", "equalized_odds", "dcp"]
    labelled += ["impact_ratio_shortfall", "max_gap", "max_gap error_rate", "cvar"]
    for name in labelled:
        for kind, (turn, options) in LABELS.items():
            add(f"{name}/labels/{kind}", relabelled, name=name, turn=turn, **options)
        add(f"{name}/labels/three classes", of_classes, name=name)


# Uncertainty.


def ask(consumer, metric, y_true, y, seed, rows, **options):
    """Ask a function of uncertainty."""
    if consumer == "permutation_test":
        options = {"n_permutations": N, "random_state": seed} | options
    if consumer == "bootstrap_interval":
        options = {"n_resamples": N, "random_state": seed} | options
    if consumer == "certify":
        options = {"at_most": 0.3} | options
    return getattr(metrics, consumer)(metric, y_true, y, **rows, **options)


def uncertain(seed, name, consumer, make, options=(), asked=()):
    """Ask about a metric; `options` are its own, `asked` those of the consumer."""
    rows = make()
    metric = metric_of(name, **dict(options))
    read = METRICS[name][1]
    return ask(consumer, metric, *read(rows), seed, given(rows), **dict(asked))


def permuted_within(seed, name, part):
    rows = three()
    within = part and getattr(rows, part)
    return uncertain(seed, name, "permutation_test", three, asked={"within": within})


def certain(seed, name):
    """Test a gap that no permutation reaches: the p-value is not drawn."""
    rows = three()
    later = {"y_pred": (rows.codes == 2) * 1, "y_score": (1 + rows.codes) / 4}
    result = uncertain(seed, name, "permutation_test", lambda: rows.but(**later))
    return [result.value, result.pvalue]


#: Name -> function, options.
CONSUMERS = {
    "confidence_interval": ("confidence_interval", {}),
    "confidence_interval finite_sample": (
        "confidence_interval",
        {"method": "finite_sample", "confidence_level": 0.9},
    ),
    "confidence_interval anytime": ("confidence_interval", {"method": "anytime"}),
    "certify": ("certify", {}),
    "certify finite_sample": ("certify", {"at_most": 0.2, "method": "finite_sample"}),
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


def is_asked(name, consumer, layout):
    """Whether a metric is asked about in a layout: what is refused is asked once."""
    asked, options = CONSUMERS[consumer]
    if layout == "two groups":
        return consumer != "bootstrap_interval"
    if name.startswith("dcp") or ("pooled" in layout and not has_pairs(name)):
        return False
    if asked in ("confidence_interval", "certify"):
        if name in WITHOUT_INTERVAL:
            return False
        if "method" in options:
            return "weights" not in layout or name == "mcdp"
        return consumer == "confidence_interval" or layout.endswith("strata")
    if asked == "bootstrap_interval":
        return layout in UNCERTAIN_LAYOUTS[2::2]
    return layout != "three groups two strata weighted"


def add_uncertainty():
    others = ["mcdp epsilon=.05", "abcc real", "mcdp rank", "equalized_odds of classes"]
    for name in [*KINDS, *others]:
        for consumer, (asked, extra) in CONSUMERS.items():
            for layout in UNCERTAIN_LAYOUTS:
                make, options = LAYOUTS[layout]
                if is_asked(name, consumer, layout):
                    add(
                        f"{name}/{consumer}/{layout}",
                        uncertain,
                        name=name,
                        consumer=asked,
                        make=make,
                        options=options,
                        asked=extra,
                    )
    for name in ("mcdp", "parity", "equalized_odds", "max_gap"):
        make, _ = LAYOUTS["three groups two strata"]
        add(
            f"{name}/permutation_test of many/three groups two strata",
            uncertain,
            name=name,
            consumer="permutation_test",
            make=make,
            asked={"n_permutations": MANY},
        )
    for name in ("mcdp", "abcc", "parity", "equalized_odds", "max_gap", "cvar"):
        add(f"{name}/permutation_test certain/three groups", certain, name=name)
    for name in ("mcdp", "parity", "true_positive_rate"):
        for part in ("animal", None):
            title = f"{name}/permutation_test/within {part}"
            add(title, permuted_within, name=name, part=part)


# Scores of several classes.


def value_of_classes(seed, name, layout, consumer=None):
    make, options = LAYOUTS[layout]
    rows = make()
    metric = metric_of(name, **options)
    if consumer == "values_by_class":
        return metrics.values_by_class(metric, rows.animal, rows.shares, **given(rows))
    if consumer:
        return ask(consumer, metric, rows.animal, rows.shares, seed, given(rows))
    return metric(rows.animal, rows.shares, **given(rows))


def add_classes():
    layouts = (
        "two groups",
        "three groups pooled",
        "three groups fractional weights",
        "three groups two strata weighted",
    )
    for name in ("calibration_gap", "abroca"):
        layout = "two groups"
        add(f"{name}/classes/refused", value_of_classes, name=name, layout=layout)
    for name in ("mcdp", "mcdp epsilon=.05", "madd bandwidth=.1", "abcc", "parity"):
        for layout in layouts:
            add(f"{name}/classes/{layout}", value_of_classes, name=name, layout=layout)
        for consumer in ("values_by_class", "permutation_test", "confidence_interval"):
            add(
                f"{name}/classes/{consumer}",
                value_of_classes,
                name=name,
                layout="three groups fractional weights",
                consumer=consumer,
            )


# A metric of the user's own.


def own_gap(y_true, y_score, *, sensitive_features, sample_weight=None):
    """Compare medians of groups."""
    groups, scores = np.asarray(sensitive_features), np.asarray(y_score)
    medians = [np.median(scores[groups == group]) for group in np.unique(groups)]
    return max(medians) - min(medians)


def own(seed, consumer, n_strata=1, **options):
    rows = three() if n_strata == 1 else with_strata(three(), n_strata)
    if consumer == "values_by_stratum":
        return metrics.values_by_stratum(own_gap, None, rows.y_score, **given(rows))
    if consumer == "scorer":
        options = {"sensitive_features": "group", "response_method": "predict_proba"}
        return scores_of(metrics.make_fairness_scorer(own_gap, **options), rows)
    if consumer == "within":
        options, consumer = {"within": rows.y_true}, "permutation_test"
    rows = rows.y_true, rows.y_score, seed, given(rows)
    return ask(consumer, own_gap, *rows, **options)


def add_own():
    for consumer in ("permutation_test", "bootstrap_interval", "confidence_interval"):
        add(f"own/{consumer}/three groups", own, consumer=consumer)
        add(f"own/{consumer}/two strata", own, consumer=consumer, n_strata=2)
    add("own/permutation_test/within", own, consumer="within")
    add(
        "own/values_by_stratum/two strata",
        own,
        consumer="values_by_stratum",
        n_strata=2,
    )
    add("own/scorer/three groups", own, consumer="scorer")


# Scorers, of models whose predictions are columns of X.


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
    found = cross_validate(
        model or Given(),
        table_of(rows),
        rows.y_true if y is None else y,
        cv=KFold(3),
        scoring={"gap": scorer},
        error_score="raise",
        **options,
    )
    return found["test_gap"]


def scored(seed, scoring, labels="y_true", routed=False, **options):
    """Score folds with the scorer of a name, with a group of X or routed groups."""
    rows = people(3, 450)
    if not routed:
        options = {"sensitive_features": "group"} | options
    scorer = metrics.get_fairness_scorer(scoring, **options)
    is_error = "error_difference" in scoring
    y = YES_NO[rows.y_true] if labels == "text" else getattr(rows, labels)
    model, y = (GivenNumber(), rows.number) if is_error else (Given(), y)
    if not routed:
        return scores_of(scorer, rows, model, y)
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"sensitive_features": rows.groups}
        return scores_of(scorer, rows, model, y, params=params)


def made(seed, function, **options):
    scorer = metrics.make_fairness_scorer(
        function, sensitive_features="group", **options
    )
    return scores_of(scorer, people(3, 450))


def group_scored(seed, scoring):
    return scores_of(metrics.make_group_scorer(scoring), people(3, 450))


def first_part(X):
    return X["part"]


def add_scorers():
    options_of = {
        "neg_cvar_fairness": {"alpha": 0.5},
        "neg_madd": {"bandwidth": 0.125},
        "neg_max_gap": {"quality": "error_rate"},
        "neg_mcdp": {"epsilon": 0.05},
    }
    ways = {
        "column": {},
        "two columns": {"sensitive_features": ["group", "part"]},
        "a column as strata": {"control_features": "part"},
        "function": {"sensitive_features": first_part},
        "routed": {"routed": True},
        "true labels as strata": {"control_features": "y_true"},
        "text labels": {"labels": "text"},
        "three classes": {"labels": "animal"},
    }
    for scoring in metrics.get_fairness_scorer_names():
        name, options = scoring.removeprefix("neg_"), options_of.get(scoring, {})
        for way, extra in ways.items():
            if name.endswith("error_difference") and way in [*ways][-3:]:
                continue
            add(f"{name}/scorer/{way}", scored, scoring=scoring, **options, **extra)
    parity = metrics.demographic_parity_difference
    add("made/scorer/ranks", made, function=metrics.mcdp, scale="rank")
    add("made/scorer/pooled", made, function=metrics.mcdp, multigroup="pooled")
    add("made/scorer/threshold", made, function=parity, threshold=0.4)
    add("made/scorer/scores", made, function=parity, response_method="predict_proba")
    mcdp = {"scoring": "neg_mcdp"}
    add("scorers/bad/option", scored, **mcdp, nonsense=1)
    add("scorers/bad/column", scored, **mcdp, sensitive_features="nothing")
    add("scorers/bad/no groups", scored, **mcdp, sensitive_features=None)
    add("scorers/bad/name", scored, scoring="neg_mcpd")
    add("scorers/bad/name of a group scorer", group_scored, scoring="acuracy")
    for scoring in ("accuracy", "roc_auc", "f1"):
        add(f"group_scorer/scorer/{scoring}", group_scored, scoring=scoring)


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


def single(values):
    return values.astype(np.float32) if values.dtype.kind == "f" else values


CONTAINERS = {
    "list": (np.ndarray.tolist, ""),
    "tuple": (lambda values: tuple(values.tolist()), ""),
    "series": (series, ""),
    "frame": (frame, ""),
    "polars": (polars, "polars"),
    "arrow": (arrow, "pyarrow"),
    "objects": (lambda values: values.astype(object), ""),
    "single precision": (single, ""),
}
SCORES_AND_LABELS = ["y_true", "y_pred", "y_score", "number", "predicted", "weights"]


def contained(container, make_rows):
    rows = make_rows()
    parts = ["groups", "strata"]  # what may have several columns
    if container != "frame":
        parts += SCORES_AND_LABELS
    make, _ = CONTAINERS[container]
    return rows.but(**{part: make(getattr(rows, part)) for part in parts})


def weighted_in_strata():
    return with_whole(with_strata(three(), 2))


def value_in(seed, name, container):
    return value(seed, name, partial(contained, container, weighted_in_strata))


def asked_in(seed, consumer, container):
    rows = contained(container, weighted_in_strata)
    if consumer == "group_metrics":
        rows_read = rows.y_true, rows.y_pred
        return metrics.group_metrics("recall_score", *rows_read, **given(rows))
    return ask(consumer, metrics.mcdp, None, rows.y_score, seed, given(rows))


def add_containers():
    for container, (_, needs) in CONTAINERS.items():
        where = {"container": container, "needs": needs}
        for name in FEW:
            add(f"{name}/containers/{container}", value_in, name=name, **where)
        for asked in ("permutation_test", "confidence_interval", "group_metrics"):
            add(f"{asked}/containers/{container}", asked_in, consumer=asked, **where)


# Undefined cases and bad input.


def add_undefined():
    for name in [*KINDS, "max_gap true_positive_rate proportional"]:
        for case, make in UNDEFINED.items():
            if name in FEW or case in FEW_UNDEFINED:
                add(f"{name}/undefined/{case}", value, name=name, make=make)
            if name in FEW and has_pairs(name) and case in FEW_UNDEFINED:
                title = f"{name}/undefined/pooled {case}"
                add(title, value, name=name, make=make, **POOLED)
            if case in ("in one stratum only", "alone in a stratum"):
                title = f"{name}/undefined/weighted {case}"
                add(title, value, name=name, make=make, **WEIGHTED)
    for name in ("mcdp", "equalized_odds", "max_gap"):
        for consumer in (
            "confidence_interval",
            "certify",
            "permutation_test",
            "bootstrap_interval",
        ):
            for case in FEW_UNDEFINED:
                add(
                    f"{name}/undefined {consumer}/{case}",
                    uncertain,
                    name=name,
                    consumer=consumer,
                    make=UNDEFINED[case],
                )


def bad_value(seed, name, case):
    rows, options = BAD[case](three())
    return value(seed, name, lambda: rows, **options)


def bad_question(seed, consumer, case):
    rows, _ = BAD[case](three())
    return ask(consumer, metrics.mcdp, None, rows.y_score, seed, given(rows))


def bad_option(seed, function, read, **options):
    rows = three()
    return getattr(metrics, function)(*read(rows), **given(rows), **options)


def bad_consumer(seed, consumer, metric=metrics.mcdp, **options):
    rows = three()
    return ask(consumer, metric, None, rows.y_score, seed, given(rows), **options)


#: Function -> metric whose rows it reads, option -> bad values.
BAD_OPTIONS = {
    "mcdp": (
        "mcdp",
        {
            "epsilon": [-0.1, 1.5, "a", None, np.nan],
            "method": ["fast"],
            "n_subdivisions": [0, 1.5],
        },
    ),
    "madd": ("mcdp", {"bandwidth": [0, -1, 2, "wide", None]}),
    "max_gap": (
        "max_gap",
        {"quality": ["speed"], "group_weights": ["equal", [1, 2], {"g00": 1}]},
    ),
    "cvar_fairness": (
        "max_gap",
        {
            "alpha": [-0.1, 1, "a"],
            "group_weights": [[0, 0, 0], [1, -1, 1]],
            "fractional": ["no"],
        },
    ),
    "dcp": ("dcp", {"method": ["slow"], "tol": [0, 1], "time_limit": [-1]}),
    "demographic_parity_difference": (
        "mcdp",
        {"threshold": ["a", np.nan, 2.0], "pos_label": [7]},
    ),
    "madd_optimal_bandwidth": (
        "mcdp",
        {"n_bandwidths": [0], "min_points": [0, 10_000], "min_length": [-1]},
    ),
    "madd_curve": ("mcdp", {"n_bandwidths": [0, 2.5]}),
    "impact_ratios": (
        "parity",
        {"rate": ["hiring"], "min_share": [-0.1, 1], "confidence_level": [0, 1]},
    ),
    "worst_subgroup": (
        "mcdp",
        {
            "quality": ["speed"],
            "min_group_size": [0],
            "n_subgroups": [0],
            "n_permutations": [-1],
        },
    ),
}
BAD_QUESTIONS = {
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
        {"at_most": None},
        {"confidence_level": 2},
        {"method": "exact"},
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
#: Bad input of every metric.
FEW_BAD = (
    "short groups",
    "short y_true",
    "no groups",
    "nan",
    "above one",
    "text",
    "nan label",
    "negative weight",
    "multigroup",
    "scale",
    "unknown option",
    "no y_true",
)
#: What MCDP does not read.
NOT_READ = ("no y_true", "short y_true", "nan label", "y_true that cannot be hashed")


def add_bad():
    for name in KINDS:
        for case in BAD if name in FEW else FEW_BAD:
            add(f"{name}/bad/{case}", bad_value, name=name, case=case)
    for function, (name, options) in BAD_OPTIONS.items():
        read = METRICS[name][1]
        for option, values in options.items():
            for bad in values:
                title = f"{function}/bad options/{option}={bad}"
                add(title, bad_option, function=function, read=read, **{option: bad})
    for consumer, cases in BAD_QUESTIONS.items():
        for options in cases:
            [(option, bad)] = options.items()
            title = f"{consumer}/bad/{option}={bad}"
            add(title, bad_consumer, consumer=consumer, **options)
        for metric in (metrics.mcdp_curve, metrics.impact_ratios, max, "mcdp", None):
            title = f"{consumer}/bad/metric {getattr(metric, '__name__', metric)}"
            add(title, bad_consumer, consumer=consumer, metric=metric)
        for case in BAD:
            if case not in NOT_READ and not BAD[case](three())[1]:
                title = f"{consumer}/bad/{case}"
                add(title, bad_question, consumer=consumer, case=case)


# Functions that return more than a number.


def curve(seed, function, layout, scale, **options):
    make, own_options = LAYOUTS[layout]
    rows = make()
    y_score = rows.predicted if scale == "rank" else rows.y_score
    if function == "madd_optimal_bandwidth":
        own_options = {k: v for k, v in own_options.items() if k == "multigroup"}
    options = own_options | options
    return getattr(metrics, function)(
        None, y_score, **given(rows), scale=scale, **options
    )


def add_curves():
    layouts = (
        "two groups",
        "three groups pooled",
        "three groups fractional weights",
        "three groups two strata weighted",
        "three groups two strata",
    )
    best = {"n_bandwidths": 120, "min_points": 20}
    for layout in layouts:
        for scale in ("probability", "rank"):
            for function, options in (
                ("mcdp_curve", {}),
                ("madd_curve", {"n_bandwidths": 60}),
                ("madd_optimal_bandwidth", best),
            ):
                add(
                    f"{function}/value/{layout} {scale}",
                    curve,
                    function=function,
                    layout=layout,
                    scale=scale,
                    **options,
                )


def table(seed, function, make, reads="max_gap", is_tested=False, **options):
    """Call a function of decisions, or of errors, that returns a table."""
    rows = make()
    if function == "rate_variance":
        rows = rows.but(weights=None)  # it takes none
    if is_tested:
        options = {"n_permutations": N, "random_state": seed} | options
    read = METRICS[reads][1]
    return getattr(metrics, function)(*read(rows), **given(rows), **options)


GROUPINGS = {
    "three groups": three,
    "whole weights": lambda: with_whole(three()),
    "fractional weights": lambda: with_fractional(three()),
    "forty groups": forty,
    "two columns": lambda: three().but(groups=columns(three())),
    "missing": lambda: three().but(groups=with_gaps(three())),
    "absent level": UNDEFINED["absent level"],
    "below the least size": UNDEFINED["below the least size"],
    "one group": UNDEFINED["one group"],
    "nobody selected": UNDEFINED["no positive decision at all"],
}
OF_RATES = {
    "max_gap": {},
    "cvar_fairness": {"alpha": 0.4},
    "cvar_fairness_report": {"alpha": 0.4},
    "rate_variance": {"bias_correction": True},
    "max_gap_test": {"is_tested": True},
    "cvar_fairness_test": {"alpha": 0.3, "epsilon": 0.05, "is_tested": True},
}


def add_tables():
    tables = {
        "cvar_fairness_report": {"alpha": 0.5},
        "rate_variance": {},
        "max_gap_test": {"is_tested": True},
        "cvar_fairness_test": {"alpha": 0.5, "epsilon": 0.05, "is_tested": True},
    }
    shares = {"min_share": 0.25, "confidence_level": 0.9}
    for title, make in GROUPINGS.items():
        for function, options in tables.items():
            call = {"function": function, "make": make} | options
            add(f"{function}/value/{title}", table, **call)
        ratios = {"function": "impact_ratios", "make": make}
        add(f"impact_ratios/selection/{title}", table, **ratios)
        add(f"impact_ratios/shares/{title}", table, **ratios, **shares)
        scoring = {"reads": "mcdp rank", "rate": "scoring"}
        add(f"impact_ratios/scoring/{title}", table, **ratios, **scoring)
    for options in (
        {"quality": "true_positive_rate"},
        {"quality": "error_rate", "group_weights": "proportional"},
        {"quality": false_discovery},
        {"group_weights": {"g00": 3, "g01": 1, "g02": 1}},
        {"group_weights": [0.5, 0.25, 0.25]},
    ):
        title = ", ".join(getattr(it, "__name__", f"{it}") for it in options.values())
        for function, extra in OF_RATES.items():
            call = {"function": function, "make": three, "reads": "max_gap error_rate"}
            add(f"{function}/options/{title}", table, **call, **extra, **options)
    for options in (
        {"simultaneous": True},
        {"epsilon": 0.05, "alternative": "greater"},
        {"baseline": 0.5, "alternative": "less"},
        {"quality": half_errors, "epsilon": 0.01},
    ):
        title = ", ".join(getattr(it, "__name__", f"{it}") for it in options.values())
        call = {"function": "cvar_fairness_report", "make": three}
        call["reads"] = "max_gap error_rate"
        add(f"cvar_fairness_report/options/{title}", table, **call, **options)


def worst(seed, quality, reads, **options):
    rows = three()
    people_columns = columns(rows).assign(group=rows.groups)
    options = {"n_permutations": N, "random_state": seed} | options
    return metrics.worst_subgroup(
        *METRICS[reads][1](rows),
        sensitive_features=people_columns,
        quality=quality,
        **options,
    )


def add_subgroups():
    ways = {
        "plain": {},
        "strata": {"control_features": strata(three(), 2)},
        "small": {"min_group_size": 20, "n_subgroups": 4, "n_permutations": 0},
    }
    for quality, reads in (
        ("mcdp", "mcdp"),
        ("selection_rate", "parity"),
        ("error_rate", "max_gap error_rate"),
        ("true_positive_rate", "true_positive_rate"),
    ):
        for way, options in ways.items():
            title = f"worst_subgroup/{quality}/{way}"
            add(title, worst, quality=quality, reads=reads, **options)


def confusion_bounds(seed, n_groups, n_classes, **options):
    random = np.random.RandomState(n_groups)
    confusion = 0.2 + random.random_sample((n_groups, n_classes, n_classes))
    confusion += 2 * np.eye(n_classes)
    confusion /= confusion.sum(axis=2, keepdims=True)
    frequencies = 0.5 + random.random_sample((n_groups, n_classes))
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    weights = np.arange(1, n_groups + 1)
    return metrics.dcp_bounds(confusion, weights, frequencies, **options)


def frequency_bounds(seed, n_groups, n_classes):
    random = np.random.RandomState(n_groups)
    parts = 0.2 + random.random_sample((2, n_groups, n_classes))
    parts /= parts.sum(axis=2, keepdims=True)
    weights = np.arange(1, n_groups + 1)
    return metrics.min_dcp_bounds(weights, *parts, n_starts=2, random_state=0)


def plain_bounds(seed, function, *, parts):
    return getattr(metrics, function)(*parts)


def add_dcp():
    for n_groups, n_classes in ((2, 2), (3, 2), (3, 3), (5, 3)):
        size = {"n_groups": n_groups, "n_classes": n_classes}
        title = f"{n_groups} groups {n_classes} classes"
        add(f"dcp_bounds/value/{title}", confusion_bounds, **size)
        add(f"dcp_bounds/local/{title}", confusion_bounds, **size, method="local")
        if n_groups < 5:
            add(f"min_dcp_bounds/value/{title}", frequency_bounds, **size)
    half, one = [[0.5, 0.5]] * 2, [[1.0, 0.0], [0.0, 1.0]]
    bad = {
        "dcp_bounds/bad/sums": [[[[0.5, 0.4], [0, 1]]] * 2, [1, 1], half],
        "dcp_bounds/bad/shape": [[one] * 2, [1, 1, 1], half],
        "min_dcp_bounds/bad/sums": [[1, 1], [[0.5, 0.4]] * 2, half],
    }
    for title, parts in bad.items():
        add(title, plain_bounds, function=title.split("/")[0], parts=parts)


# Metrics of groups.


def groups_of(seed, which, make=three, drawn=(), **options):
    """Ask for metrics of groups; intervals of those in `drawn` are of resamples."""
    rows = make()
    options = {"n_resamples": FEW_DRAWS, "random_state": seed} | options
    y_score = options.pop("y_score", rows.y_score)
    result = metrics.group_metrics(
        which, rows.y_true, rows.y_pred, y_score=y_score, **given(rows), **options
    )
    return names.group_tables(result, drawn, FEW_DRAWS)


def group_numbers(seed, which):
    rows = three()
    options = {"confidence_level": None}
    return metrics.group_metrics(
        which, rows.number, rows.predicted, **given(rows), **options
    )


def group_disparities(seed, multigroup, which=("recall_score", "selection_rate")):
    rows = three()
    result = metrics.group_metrics([*which], rows.y_true, rows.y_pred, **given(rows))
    options = {"multigroup": multigroup}
    return [result.difference(**options), result.ratio(**options)]


def mean_of(y_true, y_pred):
    return float(np.mean(y_pred))


def add_group_metrics():
    layouts = {
        "two groups": two,
        "fractional weights": lambda: with_fractional(three()),
        "two strata": lambda: with_strata(three(), 2),
        "two columns": lambda: three().but(groups=columns(three())),
        "absent level": UNDEFINED["absent level"],
        "no positive label": UNDEFINED["no positive label"],
        "group of three rows": lonely,
        "one group": UNDEFINED["one group"],
    }
    rates = ["true_positive_rate", "false_positive_rate", "false_negative_rate"]
    rates += ["true_negative_rate", "predictive_value", "accuracy", "error_rate"]
    for title, which in {
        "recall_score": "recall_score",
        "selection_rate": "selection_rate",
        "rates": rates,
    }.items():
        for layout, make in layouts.items():
            title_of = f"group_metrics/{title}/{layout}"
            add(title_of, groups_of, which=which, make=make)
    for name in ("f1_score", "roc_auc_score", "mean_absolute_error"):
        for layout in ("fractional weights", "absent level"):
            add(
                f"group_metrics/{name}/{layout}",
                groups_of,
                which=["accuracy_score", name],
                make=layouts[layout],
                drawn=[name],
            )
    for multigroup in ("pairwise", "pooled", "other"):
        title = f"group_metrics/disparities/{multigroup}"
        add(title, group_disparities, multigroup=multigroup)
    for which in ("mean_squared_error", "r2_score", "neg_mean_absolute_error"):
        add(f"group_metrics/numbers/{which}", group_numbers, which=which)
    plain = {"which": ["accuracy_score", "recall_score"], "confidence_level": None}
    own_metric = {"which": {"mean": mean_of}, "confidence_level": None}
    add("group_metrics/labels/own metric", groups_of, **own_metric)
    rows = three()
    yes_no = rows.but(y_true=YES_NO[rows.y_true], y_pred=YES_NO[rows.y_pred])
    kinds = rows.but(y_true=rows.animal, y_pred=rows.guess)
    add("group_metrics/labels/text", groups_of, make=lambda: yes_no, **plain)
    add(
        "group_metrics/labels/text pos_label",
        groups_of,
        make=lambda: yes_no,
        pos_label="yes",
        **plain,
    )
    add("group_metrics/labels/classes", groups_of, make=lambda: kinds, **plain)
    bad = {
        "unknown": {"which": "speed_score"},
        "nothing": {"which": []},
        "level": {"which": "recall_score", "confidence_level": 1},
        "resamples": {"which": "f1_score", "n_resamples": 0},
    }
    bad_rows = {
        "short y_pred": rows.but(y_pred=short(rows.y_pred)),
        "short groups": rows.but(groups=short(rows.groups)),
        "no y_true": rows.but(y_true=None),
        "missing group": rows.but(groups=changed(rows.groups, None)),
        "negative weight": rows.but(weights=changed(np.ones(240), -1)),
        "scores as decisions": rows.but(y_pred=rows.y_score),
    }
    bad |= {
        title: {"which": "recall_score", "make": lambda found=found: found}
        for title, found in bad_rows.items()
    }
    for title, options in bad.items():
        add(f"group_metrics/bad/{title}", groups_of, **options)


# Statistics in place of rows.


def halves(rows):
    middle = len(rows.codes) // 2
    return [rows.take(slice(0, middle)), rows.take(slice(middle, None))]


def scores_in(rows):
    return names.count_scores(rows.y_score, rows.groups, weights=rows.weights)


def numbers_in(rows, scale="real"):
    return names.count_scores(rows.predicted, rows.groups, scale, rows.weights)


def decisions_in(rows):
    return names.count_outcomes(rows.y_pred, rows.groups, weights=rows.weights)


def hits_in(rows):
    weights = rows.weights
    positive = rows.y_true == 1
    return names.count_decisions_on_positive(
        rows.y_pred, rows.groups, positive, weights
    )


def truths_in(rows):
    weights = rows.weights
    chosen = rows.y_pred == 1
    return names.count_labels_of_chosen(rows.y_true, rows.groups, chosen, weights)


def confusion_in(rows):
    weights = rows.weights
    return names.count_confusion(rows.y_true, rows.y_pred, rows.groups, weights)


def classes_in(rows):
    return names.count_confusion(rows.animal, rows.guess, rows.groups, rows.weights)


def bins_in(rows, n_bins=64):
    return names.count_bins(rows.fine, rows.groups, n_bins, rows.weights)


def labelled_bins_in(rows, n_bins=64):
    read = rows.y_true, rows.fine, rows.groups
    return names.count_bins_by_label(*read, n_bins, rows.weights)


#: Metric -> function that counts rows for it.
STATISTICS = {
    "mcdp": scores_in,
    "mcdp epsilon=.05": scores_in,
    "mcdp rank": partial(numbers_in, scale="rank"),
    "madd bandwidth=.1": scores_in,
    "abcc": scores_in,
    "abcc real": numbers_in,
    "parity": decisions_in,
    "parity of means real": numbers_in,
    "impact_ratio_shortfall": decisions_in,
    "true_positive_rate": hits_in,
    "predictive_value": truths_in,
    "max_gap": decisions_in,
    "cvar": decisions_in,
    "equalized_odds": confusion_in,
    "equalized_odds of classes": classes_in,
    "dcp": confusion_in,
}


def counted_value(seed, name, make=three, options=(), turn=None, **arguments):
    """Compute a metric from a statistic, which `turn` makes from rows."""
    count = STATISTICS.get(name)
    statistic = turn(count, make()) if turn else count(make())
    return metric_of(name, **dict(options))(None, statistic, **arguments)


def counted_content(seed, name):
    return STATISTICS[name](with_fractional(three()))


def counted_question(seed, name, consumer, make=three):
    asked, options = CONSUMERS[consumer]
    statistic = STATISTICS[name](make())
    return ask(asked, metric_of(name), None, statistic, seed, {}, **options)


def added(count, rows):
    return names.add(count(half) for half in halves(rows))


def days_with_other_groups(count, rows):
    return count(rows.take(rows.codes < 2)) + count(rows.take(rows.codes > 0))


def read_again(count, rows):
    return names.written(count(with_fractional(rows)))


def by_stratum(count, rows):
    labels = strata(rows, 2)
    return {label: count(rows.take(labels == label)) for label in ("s00", "s01")}


OTHER_STATISTICS = {
    "scores": scores_in,
    "ranks": partial(numbers_in, scale="rank"),
    "outcomes": decisions_in,
    "confusion": confusion_in,
    "bins": bins_in,
}


def aggregate(seed, function, is_weighted=False, consumer=None):
    """Ask about scores that were counted elsewhere."""
    rows = three()
    people_table = pd.DataFrame(
        {"score": rows.y_score, "group": rows.groups, "weight": whole(rows)}
    )
    cells = people_table.groupby(["score", "group"], as_index=False).agg(
        n=("weight", "size"), weight=("weight", "sum")
    )
    weights = cells["weight"] if is_weighted else None
    counted = names.read_counts(cells["score"], cells["group"], cells["n"], weights)
    if consumer:
        return ask(consumer, function, None, counted, seed, {})
    return function(None, counted)


def distributions(seed):
    return [names.cumulative(scores_in(three()), group) for group in (None, 0, 2)]


def add_statistics():
    layouts = {
        "three groups": (three, {}),
        "pooled": (three, POOLED),
        "whole weights": (lambda: with_whole(three()), {}),
        "fractional weights": (lambda: with_fractional(three()), {}),
        "absent level": (UNDEFINED["absent level"], {}),
        "one group": (UNDEFINED["one group"], {}),
    }
    turns = {
        "sum": added,
        "sum of days with other groups": days_with_other_groups,
        "JSON": read_again,
    }
    for name in STATISTICS:
        start = f"{name}/statistic"
        for layout, (make, options) in layouts.items():
            if has_pairs(name) or not options:
                call = {"name": name, "make": make, "options": options}
                add(f"{start}/{layout}", counted_value, **call)
        for title, turn in turns.items():
            add(f"{start}/{title}", counted_value, name=name, turn=turn)
        add(f"{start}/content", counted_content, name=name)
        for consumer in CONSUMERS:
            if consumer == "bootstrap_interval" and name not in ("mcdp", "parity"):
                continue
            is_interval = CONSUMERS[consumer][0] in ("confidence_interval", "certify")
            if is_interval and name in WITHOUT_INTERVAL and consumer != "certify":
                continue
            title = f"{start} {consumer}/three groups"
            add(title, counted_question, name=name, consumer=consumer)
        if name in FEW:
            weighted = {"name": name, "make": lambda: with_whole(three())}
            for consumer in ("confidence_interval", "permutation_test"):
                title = f"{start} {consumer}/weights"
                add(title, counted_question, **weighted, consumer=consumer)
            add(f"{start}/strata", counted_value, name=name, turn=by_stratum)
            groups = {"sensitive_features": three().groups}
            add(f"{start}/with groups", counted_value, name=name, **groups)
            weights = {"sample_weight": np.ones(240)}
            add(f"{start}/with weights", counted_value, name=name, **weights)
    for name in ("mcdp", "abroca", "parity", "equalized_odds", "max_gap"):
        for kind, count in OTHER_STATISTICS.items():
            add(
                f"{name}/statistic of a kind/{kind}",
                counted_value,
                name=name,
                turn=lambda _, rows, count=count: count(rows),
            )
    for function in (metrics.mcdp, metrics.abcc, metrics.madd):
        start = f"{function.__name__}/counts"
        add(f"{start}/plain", aggregate, function=function)
        add(f"{start}/weights", aggregate, function=function, is_weighted=True)
        for consumer in ("confidence_interval", "permutation_test"):
            add(f"{start}/{consumer}", aggregate, function=function, consumer=consumer)
    add("mcdp/counts/distributions", distributions)


# Scores that are known by bins only.


def bounds(seed, function, make=three, turn=None, n_bins=64, count=bins_in, **options):
    rows = make()
    counted = turn(partial(count, n_bins=n_bins), rows) if turn else count(rows, n_bins)
    return metrics.metric_bounds(function, counted, **options)


def coarser(count, rows):
    return names.coarser(count(with_fractional(rows), n_bins=256), 64)


def sum_read_again(count, rows):
    return names.written(added(count, rows))


def binned_question(seed, function, consumer):
    counted = bins_in(three(), 256)
    if consumer == "at edges":
        return function(None, names.at_edges(counted))
    return ask(consumer, function, None, counted, seed, {})


def bad_bins(seed, run):
    return run()


def add_bins():
    cases = {
        "mcdp": (metrics.mcdp, {}),
        "mcdp epsilon=.05": (metrics.mcdp, {"epsilon": 0.05}),
        "mcdp pooled": (metrics.mcdp, POOLED),
        "abcc": (metrics.abcc, {}),
        "abcc pooled": (metrics.abcc, POOLED),
        "madd": (metrics.madd, {"bandwidth": 0.125}),
        "parity of means": (metrics.demographic_parity_difference, {}),
        "calibration_gap": (metrics.calibration_gap, {"count": labelled_bins_in}),
        "calibration_gap pooled": (
            metrics.calibration_gap,
            {"count": labelled_bins_in} | POOLED,
        ),
    }
    ways = {
        "16 bins": {"n_bins": 16},
        "1024 bins": {"n_bins": 1024},
        "fractional weights": {"make": lambda: with_fractional(three())},
        "sum and JSON": {"turn": sum_read_again},
        "absent level": {"make": UNDEFINED["absent level"]},
    }
    for title, (function, options) in cases.items():
        for way, extra in ways.items():
            call = {"function": function} | options | extra
            add(f"metric_bounds/{title}/{way}", bounds, **call)
        if "count" not in options:
            call = {"function": function, "turn": coarser} | options
            add(f"metric_bounds/{title}/coarser", bounds, **call)
    for function in (metrics.mcdp, metrics.abcc):
        for consumer in (
            "confidence_interval",
            "certify",
            "permutation_test",
            "at edges",
        ):
            call = {"function": function, "consumer": consumer}
            add(f"{function.__name__}/bins/{consumer}", binned_question, **call)
    rates, parity = (
        metrics.true_positive_rate_difference,
        metrics.demographic_parity_difference,
    )
    bad = {
        "true_positive_rate": {"function": rates},
        "threshold": {"function": parity, "threshold": 0.25},
        "other bandwidth": {"function": metrics.madd, "bandwidth": 0.1},
        "scores": {"function": metrics.mcdp, "turn": lambda _, rows: scores_in(rows)},
        "calibration of scores": {"function": metrics.calibration_gap},
        "unknown option": {"function": metrics.mcdp, "nonsense": 1},
    }
    for title, options in bad.items():
        add(f"metric_bounds/bad/{title}", bounds, **options)
    rows = three()
    for title, run in {
        "no whole number of bins": lambda: names.coarser(bins_in(rows), 48),
        "sum of other bins": lambda: bins_in(rows, 16) + bins_in(rows, 32),
        "score above one": lambda: names.count_bins(rows.fine + 1, rows.groups, 16),
    }.items():
        add(f"bins/bad/{title}", bad_bins, run=run)


# Statistics of columns, by engines.


def in_duckdb(people_table):
    import duckdb

    connection = duckdb.connect()
    connection.register("people", in_arrow(people_table))
    return connection.sql("SELECT * FROM people")


def lists(people_table):
    """Lists of columns; a missing text is None with every version of pandas."""
    return {
        name: column.tolist()
        if pd.api.types.is_numeric_dtype(column)
        else [text if isinstance(text, str) else None for text in column]
        for name, column in people_table.items()
    }


def in_polars(people_table):
    import polars

    return polars.DataFrame(lists(people_table))


def in_arrow(people_table):
    import pyarrow

    return pyarrow.table(lists(people_table))


ENGINES = {
    "pandas": (lambda people_table: people_table, ""),
    "polars": (in_polars, "polars"),
    "polars lazy": (lambda people_table: in_polars(people_table).lazy(), "polars"),
    "pyarrow": (in_arrow, "pyarrow"),
    "duckdb": (in_duckdb, "duckdb"),
}
#: Kind -> function, columns, metric of the statistic.
COUNTED = {
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
        partial(metrics.demographic_parity_difference, pos_label="yes"),
    ),
    "confusion": (
        names.frame_confusion,
        {"y_true": "animal", "y_pred": "guess"},
        metrics.equalized_odds_difference,
    ),
    "bins": (names.frame_bins, {"y_score": "score", "n_bins": 64}, metrics.mcdp),
    "bins by label": (
        names.frame_bins_by_label,
        {"y_true": "label", "y_score": "score", "n_bins": 64},
        metrics.calibration_gap,
    ),
}


def columns_of(rows):
    return pd.DataFrame(
        {
            "label": rows.y_true,
            "decision": rows.y_pred,
            "verdict": YES_NO[rows.y_pred],
            "score": rows.y_score,
            "number": rows.predicted,
            "animal": rows.animal,
            "guess": rows.guess,
            "group": rows.groups,
            "race": columns(rows)["race"],
            "w": whole(rows),
            "v": fractional(rows),
        },
        index=np.arange(len(rows.codes))[::-1],
    )


def counted_by(seed, engine, kind, change=(), **options):
    found = columns_of(three()).assign(**dict(change))
    count, columns_read, metric = COUNTED[kind]
    columns_read = {"sensitive_features": "group"} | columns_read | options
    statistic = count(ENGINES[engine][0](found), **columns_read)
    if "bins" in kind:
        return [statistic, metrics.metric_bounds(metric, statistic)]
    return [statistic, metric(None, statistic)]


def add_frames():
    ways = {
        "one column": {},
        "two columns": {"sensitive_features": ["group", "race"]},
        "whole weights": {"sample_weight": "w"},
        "fractional weights": {"sample_weight": "v"},
    }
    found = columns_of(three())
    missing = changed(found["group"], None)
    absent = pd.Categorical(found["group"], ["g00", "g01", "g02", "nobody"])
    bad = {
        "missing group": {"change": {"group": missing}},
        "nan": {"change": {"score": changed(found["score"], np.nan)}},
        "above one": {"change": {"score": found["score"] + 1}},
        "negative weight": {"change": {"w": -found["w"]}, "sample_weight": "w"},
        "unknown column": {"y_score": "scores"},
    }
    for engine, (_, needs) in ENGINES.items():
        call = {"engine": engine, "needs": needs}
        for kind in COUNTED:
            for way, extra in ways.items():
                if engine != "pandas" and way in ("one column", "whole weights"):
                    continue
                title = f"frames {engine}/{kind}/{way}"
                add(title, counted_by, kind=kind, **call, **extra)
        for case, options in bad.items():
            title = f"frames {engine}/bad/{case}"
            add(title, counted_by, kind="scores", **call, **options)
    change = {"group": absent}
    for kind in COUNTED:
        title = f"frames pandas/absent level/{kind}"
        add(title, counted_by, engine="pandas", kind=kind, change=change)


# Monitors.


def days(is_stratified=False, n_days=3):
    """Batches of rows."""
    for day in range(n_days):
        rows = people(3, 300, seed=20 + day)
        yield with_strata(rows, 2) if is_stratified else rows


def monitored(name, batches, options=(), **own_options):
    own_options = {"at_most": 0.1} | own_options
    monitor = names.monitor(metric_of(name, **dict(options)), **own_options)
    for rows in batches:
        watch(monitor, name, rows)
    return monitor


def watch(monitor, name, rows):
    monitor.update(*METRICS[name][1](rows), **given(rows))


def monitor_of(seed, name, is_stratified=False, **options):
    return monitored(name, days(is_stratified), **options)


def monitor_read_again(seed, name):
    first, second, third = days()
    monitor = names.written(monitored(name, [first, second]))
    watch(monitor, name, third)
    return monitor


def monitors_merged(seed, name):
    return names.merged(*(monitored(name, [rows]) for rows in days()))


def monitor_of_new_group(seed, name):
    first, second = days(n_days=2)
    return monitored(name, [first.take(first.codes < 2), second])


def monitor_of_one_group(seed, name):
    [first] = days(n_days=1)
    return monitored(name, [first.take(first.codes < 1)])


def monitor_of_statistics(seed, name, is_stratified=False):
    monitor = names.monitor(metric_of(name), at_most=0.1)
    for rows in days():
        counted = by_stratum if is_stratified else (lambda count, people: count(people))
        monitor.update(None, counted(STATISTICS[name], rows))
    return monitor


def monitor_of_change(seed):
    monitor = names.monitor(metrics.mcdp, at_most=0.2)
    for day in range(8):
        rows = people(2, 200, seed=50 + day)
        later = np.minimum(rows.y_score + 0.3, 1)
        scores = np.where((rows.codes == 1) & (day >= 4), later, rows.y_score)
        monitor.update(None, scores, sensitive_features=rows.groups)
    return monitor


def bad_monitor(seed, run):
    return run()


def add_monitors():
    watched = [*KINDS, "mcdp epsilon=.05"]
    for name in watched:
        start, call = f"{name}/monitor", {"name": name}
        add(f"{start}/batches", monitor_of, **call)
        if name in WITHOUT_INTERVAL:
            continue
        add(f"{start}/strata", monitor_of, **call, is_stratified=True)
        weighted = {"is_stratified": True, "options": WEIGHTED}
        add(f"{start}/strata weighted", monitor_of, **call, **weighted)
        if has_pairs(name):
            pooled = {"options": POOLED, "confidence_level": 0.8}
            add(f"{start}/pooled", monitor_of, **call, **pooled)
        add(f"{start}/JSON", monitor_read_again, **call)
        add(f"{start}/merged", monitors_merged, **call)
        add(f"{start}/a group appears", monitor_of_new_group, **call)
        add(f"{start}/one group", monitor_of_one_group, **call)
        if name in STATISTICS:
            add(f"{start}/statistics", monitor_of_statistics, **call)
            stratified = {"is_stratified": True}
            add(
                f"{start}/statistics of strata",
                monitor_of_statistics,
                **call,
                **stratified,
            )
    add("mcdp/monitor/change", monitor_of_change)

    def new(metric=metrics.mcdp, **options):
        return names.monitor(metric, **options)

    rows = three()
    bad = {
        "at_most": lambda: new(at_most=-1),
        "confidence_level": lambda: new(confidence_level=2),
        "metric": lambda: new(metrics.mcdp_curve),
        "own metric": lambda: new(own_gap),
        "no rows yet": lambda: names.looks(new()),
        "weighted statistic": lambda: new().update(None, scores_in(with_whole(rows))),
        "wrong statistic": lambda: new().update(None, decisions_in(rows)),
        "short groups": lambda: new().update(
            None, rows.y_score, sensitive_features=short(rows.groups)
        ),
        "no groups": lambda: new().update(None, rows.y_score),
        "merged with itself": lambda: names.merged(*[monitored("mcdp", days())] * 2),
        "merged with another": lambda: names.merged(
            monitored("mcdp", days()), monitored("abcc", days())
        ),
        "strata in some batches": lambda: monitored(
            "mcdp", [rows, with_strata(rows, 2)]
        ),
        "JSON": lambda: type(new()).from_dict({}),
    }
    for title, run in bad.items():
        add(f"monitor/bad/{title}", bad_monitor, run=run)


# Bounds by proxies, and explained gaps.


def proxied(seed, name, kind="cells", options=(), is_weighted=False, **asked):
    """Bound a metric between groups that districts tell of."""
    rows = people(2, 400)
    labels = np.array([f"d{k:02d}" for k in range(12)])
    districts = labels[(rows.fine * 997 % 1 * 12).astype(int)]
    shares = {label: 0.1 + 0.07 * k for k, label in enumerate(labels)}
    by_row = np.array([shares[label] for label in districts])
    known = np.where(rows.fine * 991 % 1 < 0.4, rows.codes, None)
    thirds = np.stack([by_row / 2, by_row / 2, 1 - by_row], axis=1)
    y_true, y = METRICS[name][1](rows)
    if kind == "statistic":
        y_true, y = None, STATISTICS[name](rows.but(groups=districts))
    more = {
        "cells": {"cells": districts, "group_probabilities": shares},
        "rows": {"group_probabilities": by_row},
        "three groups": {"cells": districts, "group_probabilities": thirds},
        "some known": {
            "cells": districts,
            "group_probabilities": shares,
            "sensitive_features": known,
        },
        "known alone": {
            "cells": districts,
            "sensitive_features": known,
            "missing": "bounds",
        },
        "statistic": {"group_probabilities": shares},
        "nothing": {},
    }[kind]
    if is_weighted:
        more["sample_weight"] = whole(rows)
    metric = metric_of(name, **dict(options))
    return metrics.proxy_bounds(metric, y_true, y, random_state=seed, **more, **asked)


def proxied_later(seed):
    result = proxied(seed, "mcdp")
    later = [result.tipping_odds_ratio(0.1), result.bounds_at(1.7)]
    return [*later, result.cumulative_bounds(2.0)]


def explained(seed, metric, reads="mcdp", make=two, **options):
    rows = make()
    given_by = {"explained_by": columns(rows)["race"], "random_state": 0}
    y_score = METRICS[reads][1](rows)[1]
    return explained_gap(y_score, metric=metric, **given(rows), **(given_by | options))


def add_proxies():
    ratios = {"odds_ratio": [1, 1.5, np.inf]}
    for name in ("mcdp", "abcc", "parity threshold=.4", "equalized_odds"):
        start, call = f"{name}/proxy_bounds", {"name": name}
        for kind in ("cells", "rows", "three groups", "some known", "known alone"):
            add(f"{start}/{kind}", proxied, kind=kind, **call, **ratios)
        add(f"{start}/weighted", proxied, **call, **ratios, is_weighted=True)
        add(f"{start}/pooled", proxied, **call, options=POOLED, odds_ratio=2.0)
        add(f"{start}/confidence", proxied, **call, **ratios, confidence_level=0.95)
        if name in STATISTICS:
            add(f"{start}/statistic", proxied, kind="statistic", **call, **ratios)
    add("mcdp/proxy_bounds/later", proxied_later)
    add("proxy_bounds/bad/odds ratio", proxied, name="mcdp", odds_ratio=0.5)
    add("proxy_bounds/bad/nothing", proxied, name="mcdp", kind="nothing")
    for name in ("madd auto", "mcdp rank", "mcdp epsilon=.05", "true_positive_rate"):
        add(f"proxy_bounds/bad/{name}", proxied, name=name)
    rows = two()
    many = people(2, 500)
    several = {"race": columns(many)["race"], "animal": many.animal}
    for metric, reads in (
        ("mcdp", "mcdp"),
        ("demographic_parity_difference", "parity"),
    ):
        start, call = f"{metric}/explained_gap", {"metric": metric, "reads": reads}
        add(f"{start}/two groups", explained, **call)
        add(f"{start}/three groups", explained, **call, make=three)
        weighted = {"make": lambda: with_fractional(two())}
        add(f"{start}/weights", explained, **call, **weighted)
        add(f"{start}/population", explained, **call, population="g01")
        columns_of_many = {"make": lambda: many, "explained_by": several}
        add(f"{start}/several columns", explained, **call, **columns_of_many)
    lone = rows.but(groups=np.zeros(240, int))
    add("explained_gap/bad/metric", explained, metric="madd")
    add("explained_gap/bad/one group", explained, metric="mcdp", make=lambda: lone)
    too_short = {"explained_by": short(rows.animal)}
    add("explained_gap/bad/short", explained, metric="mcdp", **too_short)


for _add in (
    add_values,
    add_labels,
    add_uncertainty,
    add_classes,
    add_own,
    add_scorers,
    add_containers,
    add_undefined,
    add_bad,
    add_curves,
    add_tables,
    add_subgroups,
    add_dcp,
    add_group_metrics,
    add_statistics,
    add_bins,
    add_frames,
    add_monitors,
    add_proxies,
):
    _add()
