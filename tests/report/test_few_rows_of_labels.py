"""Groups with few rows of a true label have no error rates to compare."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    certify,
    confidence_interval,
    equalized_odds_difference,
    permutation_test,
)
from skfair.report import FairnessReport

KEY = "equalized_odds_difference"
FEW = settings(max_examples=max(1, settings.default.max_examples // 10))


def draw_people(seed, n_groups=4, n_rows=300):
    """True classes, predictions and groups, the last of which are small."""
    generator = np.random.default_rng(seed)
    shares = 0.5 ** np.arange(n_groups)
    groups = generator.choice(
        list("abcdef")[:n_groups], n_rows, p=shares / shares.sum()
    )
    y_true = (generator.random(n_rows) < 0.3).astype(int)
    y_pred = (generator.random(n_rows) < 0.3 + 0.3 * y_true).astype(int)
    return y_true, y_pred, groups


def measure_of(report, key=KEY):
    measures = report.summary["attributes"][0]["results"][0]["measures"]
    return next(measure for measure in measures if measure["key"] == key)


@pytest.mark.slow
@FEW
@given(
    seed=st.integers(0, 10_000),
    smallest=st.integers(1, 60),
    weighted=st.booleans(),
    pos_label=st.sampled_from([0, 1]),
)
def test_errors_are_those_of_the_metric(seed, smallest, weighted, pos_label):
    """A report is compared with the functions of metrics, within true labels."""
    weights = np.random.default_rng(seed).integers(1, 4, 300) if weighted else None
    y_true, y_pred, groups = draw_people(seed)
    report = FairnessReport.from_predictions(
        y_true,
        y_pred=y_pred,
        sensitive_features=groups,
        sample_weight=weights,
        metrics=[KEY],
        min_group_size=smallest,
        pos_label=pos_label,
        n_permutations=59,
        n_resamples=1,
        random_state=0,
    )
    found = measure_of(report)
    encoded = encode_groups(groups, min_group_size=smallest)
    large = encoded.codes[
        np.isin(encoded.codes, np.flatnonzero(encoded.sizes() >= smallest))
    ]
    kept = np.isin(encoded.codes, large)
    rows = {
        "sensitive_features": encode_groups(groups[kept], min_group_size=smallest),
        "control_features": y_true[kept],
        "sample_weight": None if weights is None else weights[kept],
    }
    arguments = equalized_odds_difference, y_true[kept], y_pred[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        value = equalized_odds_difference(*arguments[1:], **rows)
        interval = confidence_interval(*arguments, **rows)
        result = certify(*arguments, **rows, at_most=0.5)
        test = permutation_test(*arguments, **rows, n_permutations=59, random_state=0)
    if np.isnan(value):
        assert found["value"] is found["pvalue"] is None
        return
    assert found["value"] == pytest.approx(value, abs=1e-12)
    low, high = min(interval.lower, value), max(interval.upper, value)
    numbers = [found[name] for name in ("lower", "upper", "certified")]
    assert numbers == pytest.approx([low, high, result.smallest_certified], abs=1e-9)
    # People are permuted by number, and in strata one by one: other permutations.
    assert found["pvalue"] == pytest.approx(test.pvalue, abs=4 * math.sqrt(0.5 / 60))
    by_chance = (test.pairs["by_chance"] - found["null_mean"]).abs()
    assert by_chance.min() < 0.06
    sizes = pd.crosstab(groups[kept], y_true[kept])
    few = {
        (group, str(label), int(sizes.loc[group, label]))
        for group in sizes.index
        for label in sizes.columns
        if sizes.loc[group, label] < smallest
    }
    assert {tuple(cell.values()) for cell in found["left_out"]} == few


@pytest.fixture(scope="module")
def one_against_one():
    """Report on four groups, of which two have one positive row each."""
    y_true, y_pred, groups = draw_people(0, n_groups=2, n_rows=400)
    more = np.repeat(["x", "y"], 30)
    y_true = np.r_[y_true, np.tile(np.arange(30) == 0, 2)].astype(int)
    y_pred = np.r_[y_pred, np.arange(60) == 0].astype(int)
    return y_true, y_pred, np.r_[groups, more]


@pytest.mark.slow
def test_one_person_is_not_compared_with_one(one_against_one, make_report):
    y_true, y_pred, groups = one_against_one
    assert equalized_odds_difference(y_true, y_pred, sensitive_features=groups) == 1.0
    report = make_report(
        y_true, y_pred=y_pred, sensitive_features={"sex": groups}, metrics=[KEY]
    )
    found = measure_of(report)
    assert found["value"] < 1
    assert "of 1 in" not in found["sentence"]
    cells = [("x", "1", 1), ("y", "1", 1)]
    assert [tuple(cell.values()) for cell in found["left_out"]] == cells
    named = (
        "sex: error rates of groups with fewer than 10 rows of a true label are left "
        "out: “x” with the true label “1” (1) and “y” with the true label “1” (1)."
    )
    assert named in report.summary["cautions"]
    assert named in report.to_markdown()
    page = pytest.importorskip("jinja2") and report.to_html()
    assert named in page
    assert "min_group_size=10" in page


@pytest.mark.slow
def test_counted_rows_leave_out_the_same_cells(one_against_one, make_report, counting):
    y_true, y_pred, groups = one_against_one
    frame = pd.DataFrame({"y": y_true, "p": y_pred, "sex": groups})
    options = {"metrics": [KEY], "n_permutations": 299, "random_state": 0}
    counted = counting().from_frame(
        frame, y_true="y", y_pred="p", sensitive_features="sex", **options
    )
    rows = make_report(
        y_true, y_pred=y_pred, sensitive_features=frame["sex"], **options
    )
    assert counted.summary["settings"]["counts_are_drawn"]
    first, second = measure_of(counted), measure_of(rows)
    assert first["left_out"] == second["left_out"] != []
    for name in "value", "lower", "upper", "certified":
        assert first[name] == pytest.approx(second[name], abs=1e-9)
    for name in "null_mean", "pvalue":
        assert first[name] == pytest.approx(second[name], abs=0.08)


def test_strata_leave_out_cells_and_name_them(make_report):
    y_true, y_pred, groups = draw_people(1, n_groups=2, n_rows=200)
    strata = np.repeat(["s", "t"], 100)
    few = (strata == "t") & (groups == "b") & (y_true == 1)
    y_true = np.where(few & (np.cumsum(few) > 3), 0, y_true)
    report = make_report(
        y_true,
        y_pred=y_pred,
        sensitive_features=groups,
        control_features=strata,
        metrics=[KEY],
        min_group_size=8,
    )
    both = pd.DataFrame({"stratum": strata, "label": y_true})
    with pytest.warns(UndefinedMetricWarning, match="only the group 'a' has"):
        value = equalized_odds_difference(
            y_true,
            y_pred,
            sensitive_features=encode_groups(groups, min_group_size=8),
            control_features=both,
        )
    found = report.to_frame("strata").iloc[0]
    assert found["value"] == pytest.approx(value, abs=1e-12)
    assert found["lower"] <= value <= found["upper"]
    (result,) = report.summary["attributes"][0]["results"]
    assert (
        "in whole or in part: “t” (without “b” with the true label “1” (3))"
        in (result["strata"]["sentence"])
    )


def test_a_conclusion_names_the_pairs_that_differ(one_against_one, make_report):
    y_true, y_pred, groups = one_against_one
    y_pred = np.where(groups == "a", y_true, y_pred)
    report = make_report(
        y_true, y_pred=y_pred, sensitive_features=groups, metrics=[KEY]
    )
    (point,) = report.summary["verdict"]["points"]
    assert point["state"] == "significant"
    pairs = measure_of(report)["pairs"]
    named = {frozenset(pair["pair"]) for pair in pairs}
    assert {frozenset("ab")} < named
    assert all("b" in pair for pair in named)
    count = f"pairs of groups, {len(named)} differ significantly: “a” and “b”; “"
    assert count in point["text"]
    assert point["text"].count("; “") == len(named) - 1
    assert "The differences between “a” and “b”; “" in measure_of(report)["sentence"]
