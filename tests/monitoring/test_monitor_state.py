"""The state of a monitor survives JSON text whole, and broken states are refused."""

import json
import math
import pickle
import random
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import Groups
from skfair.metrics import (
    abcc,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)
from skfair.monitoring import FairnessMonitor

SCORED = {
    mcdp: {
        "epsilon": [0, 0.05],
        "method": ["exact"],
        "scale": ["rank", "probability"],
        "multigroup": ["pairwise", "pooled"],
    },
    abcc: {"multigroup": ["pairwise", "pooled"]},
    madd: {"bandwidth": [0.25, 1], "multigroup": ["pairwise", "pooled"]},
    demographic_parity_difference: {
        "threshold": [None, 0.5, np.float64(0.25)],
        "multigroup": ["pairwise", "pooled"],
    },
}
QUALITIES = ["selection_rate", "true_positive_rate", "error_rate"]
PREDICTED = {
    equalized_odds_difference: {"multigroup": ["pairwise", "pooled"]},
    max_gap: {
        "quality": QUALITIES,
        "pos_label": [0, 1, np.int64(1)],
        "group_weights": ["uniform", "proportional"],
    },
    cvar_fairness: {
        "alpha": [0.0, 0.5],
        "quality": QUALITIES,
        "fractional": [True, np.True_],
        "pos_label": [None, 1],
    },
}
METRICS = SCORED | PREDICTED


@st.composite
def metrics(draw, functions=tuple(METRICS)):
    function = draw(st.sampled_from(functions))
    options = METRICS[function] | {"multistratum": ["max", "weighted"]}
    return partial(
        function,
        **{
            name: draw(st.sampled_from(values))
            for name, values in options.items()
            if name == "bandwidth" or draw(st.booleans())
        },
    )


ATOMS = st.text(max_size=2) | st.integers(-3, 2**60) | st.booleans()
LABELS = ATOMS | st.tuples(ATOMS, st.floats(-2, 2))


def batch(seed, metric, groups, strata, n_rows=40):
    """Rows of a metric whose groups and strata have these labels."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, 2, n_rows)
    scores = rng.random(n_rows).round(2)
    predicted = metric.func in PREDICTED
    rows = {
        "y_true": y_true,
        "y_score": (scores > 0.5).astype(int) if predicted else scores,
        "sensitive_features": Groups(rng.integers(0, len(groups), n_rows), groups),
    }
    if strata:
        codes = rng.integers(-1, len(strata), n_rows)
        rows["control_features"] = Groups(codes, strata)
    return rows


def through_text(monitor):
    text = json.dumps(monitor.to_dict(), allow_nan=False)
    return FairnessMonitor.from_dict(json.loads(text))


def update(monitor, *batches):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for rows in batches:
            monitor.update(**rows)
    return monitor


@pytest.mark.parametrize("function", METRICS)
def test_every_option_is_kept(function):
    options = METRICS[function] | {"multistratum": ["weighted"]}
    metric = partial(function, **{name: last for name, (*_, last) in options.items()})
    restored = through_text(FairnessMonitor(metric)).metric
    assert restored.func is function
    assert restored.keywords == metric.keywords


@pytest.mark.slow
@given(
    metric=metrics(),
    groups=st.lists(LABELS, min_size=1, max_size=4, unique=True).map(tuple),
    strata=st.lists(LABELS, max_size=3, unique=True).map(tuple),
    at_most=st.sampled_from([0, 0.1]),
    level=st.sampled_from([0.5, 0.95]),
    referred=st.booleans(),
)
def test_restored_monitors_continue_as_if_they_had_not_stopped(
    metric, groups, strata, at_most, level, referred
):
    first, *batches = (batch(seed, metric, groups, strata) for seed in range(3))
    options = {"at_most": at_most, "confidence_level": level}
    if referred:
        options["reference"] = update(FairnessMonitor(metric), first).statistic_
    monitor = FairnessMonitor(metric, **options)
    for rows in [*batches, first]:
        restored = through_text(monitor)
        assert restored.to_dict() == monitor.to_dict()
        assert restored.metric.keywords == metric.keywords
        update(monitor, rows)
        update(restored, rows)
        assert restored.history_.equals(monitor.history_)
        assert restored.to_dict() == monitor.to_dict()
    copy = pickle.loads(pickle.dumps(monitor))
    assert copy.to_dict() == monitor.to_dict()


def test_weighted_strata_stay_weighted():
    """Two strata of gaps 0 and 0.5: the mean is 0.25, the largest 0.5."""
    metric = partial(demographic_parity_difference, multistratum="weighted")
    rows = {
        "sensitive_features": list("abababab"),
        "control_features": list("xxxxyyyy"),
    }
    decisions = [1, 1, 0, 0, 1, 1, 0, 1]
    monitor = FairnessMonitor(metric)
    for one in (monitor, through_text(monitor)):
        one.update(None, decisions, **rows)
        assert one.interval_.value == 0.25
        again = through_text(one)
        again.update(None, decisions, **rows)
        assert again.interval_.value == 0.25


@pytest.mark.parametrize("function", [max_gap, cvar_fairness])
def test_options_about_rows(function):
    """The quality of rows is looked up once: a statistic of it has been made."""
    y_true, y_pred = list("yyyynnyyyynn"), list("yyynnyyynnnn")
    groups = list("aaaaaabbbbbb")
    metric = partial(function, quality="true_positive_rate", pos_label="y")
    monitor = FairnessMonitor(metric)
    monitor.update(y_true, y_pred, sensitive_features=groups)
    assert monitor.interval_.value == metric(y_true, y_pred, sensitive_features=groups)
    assert monitor.statistic_.means.tolist() == [0.75, 0.5]
    later = FairnessMonitor(metric, reference=monitor.statistic_)
    later.update(y_true, y_pred, sensitive_features=groups)
    assert later.history_["drift"].tolist() == [0]
    assert through_text(later).history_["drift"].tolist() == [0]


def example(strata=True, reference=True):
    metric = partial(mcdp, epsilon=0.05, multistratum="max")
    strata = ("x", ("y", 1)) if strata else ()
    rows = [batch(seed, metric, ("a", "b", 3), strata, 30) for seed in range(3)]
    earlier = update(FairnessMonitor(metric), rows[0]).statistic_
    monitor = FairnessMonitor(
        metric, at_most=0.1, reference=earlier if reference else None
    )
    return json.loads(json.dumps(update(monitor, *rows[1:]).to_dict()))


PLAIN, FULL = example(False, False), example()
EMPTY = FairnessMonitor(mcdp).to_dict()


def changed(data, *path, to):
    data = json.loads(json.dumps(data))
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    return data


def alarmed(**entries):
    """State with an alarm of drift from the first look on, which has these entries."""
    first, second = FULL["looks"]
    first, second = first | {"drift_alarm": True}, second | {"drift_alarm": True}
    return FULL | {"looks": [first | entries, second]}


def statistic_of(data):
    return data["statistic"]


BROKEN = [
    ([], "must be a dictionary of type 'FairnessMonitor', got"),
    ({"type": "FairnessMonitor"}, "data lacks 'metric'"),
    (PLAIN | {"Looks": []}, "unknown entry 'Looks'"),
    (PLAIN | {"metric": "mcdp"}, "metric must be a dictionary of name and options"),
    (PLAIN | {"metric": {"name": "mcdp"}}, "metric must be a dictionary of name"),
    (changed(PLAIN, "metric", "name", to="dcp"), "must be one of mcdp, .*got 'dcp'"),
    (
        changed(PLAIN, "metric", "name", to=["mcdp"]),
        r"must be one of mcdp, .*got \['mcdp'\]",
    ),
    (changed(PLAIN, "metric", "options", to=[]), "options must be a dictionary"),
    (changed(PLAIN, "metric", "options", "eps", to=1), "options of mcdp .* 'eps'"),
    (changed(PLAIN, "metric", "options", "epsilon", to="x"), "epsilon must be a"),
    (changed(PLAIN, "metric", "options", "epsilon", to=[0]), "option epsilon="),
    (changed(PLAIN, "metric", "options", "multistratum", to="x"), "multistratum must"),
    (changed(PLAIN, "metric", "options", "multigroup", to=1), "multigroup must be"),
    (changed(EMPTY, "metric", "options", "n_subdivisions", to=-1), "n_subdivisions"),
    (changed(PLAIN, "at_most", to="x"), "at_most must be a number in"),
    (changed(PLAIN, "at_most", to=True), "at_most must be a number in"),
    (changed(PLAIN, "confidence_level", to=95), "confidence_level must be a number"),
    (PLAIN | {"statistic": 3}, "dictionary of type 'GroupedScores', got 3"),
    (PLAIN | {"statistic": EMPTY}, "type 'GroupedScores', got 'FairnessMonitor'"),
    (PLAIN | {"statistic": None}, "looks must be empty without a statistic"),
    (PLAIN | {"looks": []}, "looks must have an entry for each update"),
    (EMPTY | {"looks": PLAIN["looks"]}, "looks must be empty without a statistic"),
    (PLAIN | {"looks": None}, "looks must be a list, got None"),
    (PLAIN | {"looks": [3]}, "a look must be a dictionary .*, got int"),
    (PLAIN | {"reference": FULL["reference"]}, "a look must be a dictionary of"),
    (FULL | {"reference": PLAIN["statistic"]}, "reference and statistic must both"),
    (FULL | {"reference": None}, "a look must be a dictionary of 'n_rows'"),
    (changed(FULL, "statistic", "strata", to=3), "strata must be a list, got 3"),
    (changed(FULL, "statistic", "strata", 0, to=3), "strata must be a list of pairs"),
    (changed(FULL, "statistic", "strata", 0, 0, to={}), "strata must be text"),
    (
        changed(FULL, "statistic", "strata", 0, 0, to=["y", 1]),
        "strata must be distinct",
    ),
    (changed(FULL, "statistic", "strata", 0, 1, to=None), "of type 'GroupedScores'"),
    (changed(FULL, "statistic", "more", to=1), "strata must be the only entry"),
    (changed(PLAIN, "looks", 0, "n_rows", to=61), "n_rows is less than in"),
    (changed(PLAIN, "looks", 1, "n_rows", to=61), "n_rows"),
    (changed(PLAIN, "looks", 1, "n_rows", to=60.0), "n_rows must be a whole number"),
    (changed(PLAIN, "looks", 1, "value", to=0.9), "value"),
    (changed(PLAIN, "looks", 1, "value", to="x"), "value must be a number"),
    (changed(PLAIN, "looks", 0, "lower", to=0.99), "lower <= value <= upper"),
    (changed(PLAIN, "looks", 0, "upper", to=0.01), "lower <= value <= upper"),
    (changed(PLAIN, "looks", 0, "upper", to=None), "lower <= value <= upper"),
    (changed(PLAIN, "looks", 0, "upper", to=float("nan")), "upper must be a number"),
    (changed(PLAIN, "looks", 0, "upper", to=float("inf")), "upper must be a number"),
    (changed(PLAIN, "looks", 1, "n_rows", to=2**63), "n_rows must be a whole number"),
    (changed(PLAIN, "looks", 0, "pvalue", to=0.5), "pvalue"),
    (changed(PLAIN, "looks", 0, "pvalue", to=1.5), "pvalue"),
    (changed(PLAIN, "looks", 1, "alarm", to=True), "alarm"),
    (changed(PLAIN, "looks", 1, "alarm", to=0), "alarm must be true or false, got 0"),
    (changed(PLAIN, "looks", 1, "stratum", to="x"), "stratum"),
    (changed(FULL, "looks", 1, "stratum", to="other"), "stratum"),
    (changed(FULL, "looks", 1, "stratum", to={}), "stratum must be text"),
    (changed(FULL, "looks", 1, "drift_alarm", to=True), "drift_alarm"),
    (changed(FULL, "looks", 1, "drift_lower", to=0.1), "drift_alarm"),
    (changed(FULL, "looks", 1, "drift_lower", to=-0.1), "drift_lower"),
    (alarmed(drift_lower=1.01), "drift_lower must be at least 0 and at most drift"),
    (alarmed(drift=None, drift_lower=0.1), "drift_lower must be at least 0 and at"),
    (alarmed(drift_lower=None), "drift_lower must be at least 0 and at most"),
    (changed(PLAIN, "looks", 0, "epoch", to=2), "epoch"),
    (changed(PLAIN, "looks", 1, "epoch", to=2), "epoch"),
    (changed(PLAIN, "looks", 1, "epoch", to=-1), "epoch must be a whole number"),
    (changed(PLAIN, "looks", 1, "compared", to=[3, 3, 2]), "compared|epoch"),
    (changed(PLAIN, "looks", 1, "compared", to=[1, 1]), "compared must be three"),
    (changed(PLAIN, "looks", 1, "compared", to=[1, 1, -1]), "compared must be three"),
    (changed(PLAIN, "looks", 1, "compared", to="x"), "compared must be three"),
    (changed(PLAIN, "looks", 1, "recent_upper", to=0.0), "lower <= value <= upper"),
    (changed(PLAIN, "looks", 1, "change_alarm", to=0), "change_alarm must be true or"),
    (changed(PLAIN, "looks", 0, "change_alarm", to=True), "change_alarm must stay"),
    (EMPTY | {"blocks": PLAIN["blocks"]}, "blocks and change must be empty without"),
    (EMPTY | {"change": [1, 1, 1]}, "blocks and change must be empty without"),
    (PLAIN | {"blocks": []}, "blocks must have the 2 looks"),
    (PLAIN | {"blocks": {}}, "blocks must be a list, got"),
    (PLAIN | {"blocks": [3, 4]}, "blocks must be a list of pairs"),
    (changed(PLAIN, "blocks", 0, 1, to=None), "blocks must have a statistic each"),
    (
        changed(PLAIN, "blocks", 0, 0, to=2),
        "blocks must have the lengths of",
    ),
    (changed(PLAIN, "blocks", 0, to=PLAIN["blocks"][1]), "blocks must add up to stat"),
    (changed(PLAIN, "blocks", 0, to=FULL["blocks"][0]), "blocks must all have strata"),
    (PLAIN | {"change": 3}, "change must be null or three whole numbers"),
    (PLAIN | {"change": [1, 1, 2.0]}, "change must be null or three whole numbers"),
    (PLAIN | {"change": [1, 1, 2]}, "0 < lower <= estimate <= upper < looks"),
    (PLAIN | {"change": [1, 0, 1]}, "0 < lower <= estimate <= upper < looks"),
    (PLAIN | {"change": [1, 1, 1]}, "change must end at a look with a change_alarm"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_broken_states_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        FairnessMonitor.from_dict(data)


def test_alarms_at_exactly_the_level_stay():
    level = 1 - PLAIN["confidence_level"]
    data = changed(PLAIN, "looks", 1, "pvalue", to=level)
    data = changed(data, "looks", 1, "alarm", to=True)
    monitor = FairnessMonitor.from_dict(data)
    update(monitor, batch(0, monitor.metric, ("a", "b", 3), ()))
    assert monitor.pvalue_ == level
    assert monitor.alarm_


def test_states_of_weighted_rows_are_refused():
    data = changed(PLAIN, "statistic", "totals", to=[2 * n for n in (1, 2, 3)])
    weights = [2 * w for w in statistic_of(PLAIN)["weights"]]
    totals = [2 * w for w in statistic_of(PLAIN)["totals"]]
    data["statistic"] |= {"weights": weights, "totals": totals}
    with pytest.raises(ValueError, match="rows without sample weights"):
        FairnessMonitor.from_dict(data)


@pytest.mark.parametrize("data", [PLAIN, FULL, EMPTY])
def test_random_changes_are_refused_or_consistent(data, change_at_random):
    assert json.loads(json.dumps(FairnessMonitor.from_dict(data).to_dict())) == data
    messages = []
    for seed in range(60):
        broken = change_at_random(data, random.Random(seed))
        try:
            loaded = FairnessMonitor.from_dict(broken)
        except ValueError as error:
            messages.append(str(error))
            continue
        assert json.loads(json.dumps(loaded.to_dict())) == broken
        assert len(loaded.history_) == len(broken["looks"])
    assert len(messages) > 30
    assert max(map(len, messages)) < 400


def test_undefined_looks_are_null():
    monitor = FairnessMonitor(mcdp)
    update(monitor, {"y_true": None, "y_score": [0.5], "sensitive_features": ["a"]})
    look = monitor.to_dict()["looks"][0]
    assert [look[name] for name in ("value", "lower", "upper")] == [None] * 3
    assert math.isnan(through_text(monitor).interval_.value)


def test_labels_without_a_form_in_json():
    rows = {"y_true": None, "y_score": [0.2, 0.3, 0.5, 0.4]}
    days = np.array([b"a", b"b"] * 2)
    for given_as in ("sensitive_features", "control_features"):
        other = {"sensitive_features": list("aabb"), "control_features": list("aabb")}
        monitor = update(FairnessMonitor(mcdp), rows | other | {given_as: days})
        with pytest.raises(ValueError, match="labels must be text, numbers"):
            monitor.to_dict()


def test_options_are_checked_at_once():
    with pytest.raises(ValueError, match="epsilon must be a number"):
        FairnessMonitor(partial(mcdp, epsilon="x"))
    with pytest.raises(ValueError, match="bandwidth must be a number"):
        FairnessMonitor(madd)
    with pytest.raises(ValueError, match="scale must be 'probability'"):
        FairnessMonitor(partial(abcc, scale="rank"))
    with pytest.raises(ValueError, match="threshold must be"):
        FairnessMonitor(partial(demographic_parity_difference, threshold="x"))
    with pytest.raises(ValueError, match="quality must be one of"):
        FairnessMonitor(partial(max_gap, quality="speed"))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        FairnessMonitor(partial(mcdp, speed=1))
    # What depends on the rows is checked beside them.
    FairnessMonitor(partial(max_gap, pos_label="yes", group_weights=[0.2, 0.3, 0.5]))
    FairnessMonitor(partial(max_gap, quality=lambda y_true, y_pred: y_pred == "yes"))


def test_groups_of_one_row_are_compared():
    monitor = FairnessMonitor(mcdp)
    monitor.update(None, [0.2, 0.7], sensitive_features=["a", "b"])
    assert monitor.to_dict()["looks"][0]["compared"] == [1, 2, 1]
