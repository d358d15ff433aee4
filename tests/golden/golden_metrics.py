"""Metrics, rows and bad input of the golden calls, by the names that calls have."""

import numpy as np
import pandas as pd
from golden_data import columns, fractional, people, strata, whole, with_gaps

from skfair import metrics
from skfair.groups import encode_groups

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


def false_discovery(y_true, y_pred):
    return y_true == 0, y_pred == 1


def half_errors(y_true, y_pred):
    return 0.5 * (y_true != y_pred)


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


def at_ends():
    """Rows many of which have the score 0 or 1."""
    rows, fine = three(), three().fine
    return rows.but(y_score=np.where(fine < 0.15, 0.0, np.where(fine > 0.5, 1.0, fine)))


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
    "three groups scores of 0 and 1": (at_ends, {}),
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
