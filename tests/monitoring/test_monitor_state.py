"""The state of a monitor survives JSON text whole, and broken states are refused."""

import json
import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
        warnings.simplefilter("ignore", UserWarning)  # undefined, or labels alike
        for rows in batches:
            monitor.update(**rows)
    return monitor


@pytest.mark.parametrize("function", METRICS)
def test_every_option_is_kept(function):
    options = METRICS[function] | {"multistratum": ["weighted"]}
    keywords = {name: last for name, (*_, last) in options.items()}
    restored = through_text(FairnessMonitor(partial(function, **keywords))).metric
    assert restored == function.metric(**keywords)


@pytest.mark.slow
@given(
    metric=metrics(),
    groups=st.lists(LABELS, min_size=1, max_size=4, unique=True).map(tuple),
    strata=st.lists(LABELS, max_size=3, unique=True).map(tuple),
    at_most=st.sampled_from([0, 0.1]),
    level=st.sampled_from([0.5, 0.95]),
)
def test_restored_monitors_continue_as_if_they_had_not_stopped(
    metric, groups, strata, at_most, level
):
    options_of_metric = metric.keywords
    weighted = options_of_metric.get("multistratum") == "weighted"
    # Rates of one true label have no weight of a stratum, which raises.
    assume(not (weighted and "rate" in str(options_of_metric.get("quality", ""))))
    first, *batches = (batch(seed, metric, groups, strata) for seed in range(3))
    options = {"at_most": at_most, "confidence_level": level}
    monitor = FairnessMonitor(metric, **options)
    for rows in [*batches, first]:
        restored = through_text(monitor)
        assert restored.to_dict() == monitor.to_dict()
        assert restored.metric == metric.func.metric(**metric.keywords)
        update(monitor, rows)
        update(restored, rows)
        assert restored.history_.equals(monitor.history_)
        assert restored.to_dict() == monitor.to_dict()
    copy = pickle.loads(pickle.dumps(monitor))
    assert copy.to_dict() == monitor.to_dict()


@pytest.mark.parametrize("function", [max_gap, cvar_fairness])
def test_options_about_rows(function):
    """The quality of rows is looked up once: a table of hits has been made."""
    y_true, y_pred = list("yyyynnyyyynn"), list("yyynnyyynnnn")
    groups = list("aaaaaabbbbbb")
    metric = partial(function, quality="true_positive_rate", pos_label="y")
    monitor = FairnessMonitor(metric, min_group_size=1)
    monitor.update(y_true, y_pred, sensitive_features=groups)
    assert monitor.interval_.value == metric(y_true, y_pred, sensitive_features=groups)
    assert monitor.table_._rows.means.tolist() == [0.75, 0.5]
    again = through_text(monitor)
    again.update(y_true, y_pred, sensitive_features=groups)
    assert again.table_._rows.means.tolist() == [0.75, 0.5]


def example(strata=True):
    metric = partial(mcdp, epsilon=0.05, multistratum="max")
    strata = ("x", ("y", 1)) if strata else ()
    rows = [batch(seed, metric, ("a", "b", 3), strata, 30) for seed in range(1, 3)]
    monitor = update(FairnessMonitor(metric, at_most=0.1), *rows)
    return json.loads(json.dumps(monitor.to_dict()))


PLAIN, FULL = example(False), example()


def changed(data, *path, to):
    data = json.loads(json.dumps(data))
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    return data


BROKEN = [
    ([], "must be a dictionary of type 'FairnessMonitor', got"),
    (changed(PLAIN, "format", to=1), "must be of format 4, got 1"),
    (PLAIN | {"Looks": []}, "must have the entries metric, .* got 'Looks', too"),
    (changed(PLAIN, "metric", to="mcdp"), "metric must be a dictionary of name"),
    (changed(PLAIN, "metric", "name", to="dcp"), "must be one of abcc, .*got 'dcp'"),
    (changed(PLAIN, "metric", "options", "eps", to=1), "options of mcdp .* 'eps'"),
    (changed(PLAIN, "metric", "options", "epsilon", to="x"), "epsilon must be a"),
    (changed(PLAIN, "at_most", to="x"), "at_most must be a number in"),
    (changed(PLAIN, "at_most", to=10**400), "at_most must be a number in"),
    (changed(PLAIN, "confidence_level", to=95), "confidence_level must be a number"),
    (changed(PLAIN, "table", to=3), "to_dict has returned"),
    (changed(PLAIN, "looks", to=None), "to_dict has returned"),
    (changed(PLAIN, "looks", 0, to={}), "to_dict has returned"),
    (changed(PLAIN, "looks", 1, "n_rows", to=2**63), "type or size: n_rows is 922"),
    (changed(PLAIN, "looks", 1, "value", to=10**400), "type or size: value is 1000"),
    (changed(PLAIN, "looks", 1, "alarm", to=0), "type or size: alarm is 0"),
    (changed(PLAIN, "looks", 1, "known", to="x"), "type or size: known is 'x'"),
    (changed(PLAIN, "looks", 1, "n_waiting", to=-1), "type or size: n_waiting is -1"),
    (changed(PLAIN, "min_group_size", to=0), "min_group_size must be"),
    (changed(PLAIN, "blocks", to=[]), "type or size: looks is"),
    (changed(PLAIN, "blocks", to=[3, 4]), "to_dict has returned"),
    (changed(PLAIN, "blocks", 0, 1, to=None), "type or size: blocks is"),
    (changed(PLAIN, "change", to=[1, 1, 2.0]), r"type or size: change is \[1, 1, 2"),
    (changed(FULL, "table", "strata", 0, to=3), "to_dict has returned"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_broken_states_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        FairnessMonitor.from_dict(data)


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
    with pytest.raises(TypeError, match="mcdp has no option 'speed'"):
        FairnessMonitor(partial(mcdp, speed=1))
    # What depends on the rows is checked beside them.
    FairnessMonitor(partial(max_gap, pos_label="yes", group_weights=[0.2, 0.3, 0.5]))
    FairnessMonitor(partial(max_gap, quality=lambda y_true, y_pred: y_pred == "yes"))


def test_groups_of_one_row_are_compared():
    monitor = FairnessMonitor(mcdp, min_group_size=1)
    monitor.update(None, [0.2, 0.7], sensitive_features=["a", "b"])
    assert monitor.interval_.value == 1
