"""Metrics within strata, in the numbers and on the page of a report."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    mcdp,
    permutation_test,
    values_by_stratum,
)
from skfair.report import FairnessReport

METRICS = ["demographic_parity_difference", "mcdp", "equalized_odds_difference"]


@pytest.fixture(scope="module")
def rows(scored):
    y_true, y_score, people = scored
    departments = np.array(["<a>", "b & c", "d"])[np.arange(len(y_true)) % 3]
    return y_true, y_score, people["sex"], pd.Series(departments, name="department")


@pytest.fixture(scope="module")
def within(make_report, rows):
    y_true, y_score, sex, departments = rows
    return make_report(
        y_true,
        y_score,
        sensitive_features=sex,
        control_features=departments,
        metrics=METRICS,
    )


@pytest.mark.parametrize(
    "key", [*METRICS[1:], pytest.param(METRICS[0], marks=pytest.mark.slow)]
)
def test_numbers_are_those_of_the_metrics(within, rows, key):
    y_true, y_score, sex, departments = rows
    found = within.to_frame("strata").set_index("metric").loc[key]
    metric = {
        "mcdp": mcdp,
        "demographic_parity_difference": demographic_parity_difference,
        "equalized_odds_difference": equalized_odds_difference,
    }[key]
    values = y_score if key == "mcdp" else (np.asarray(y_score) >= 0.5).astype(int)
    given = {"sensitive_features": sex, "control_features": departments}
    assert found["everyone"] == pytest.approx(
        metric(y_true, values, sensitive_features=sex), abs=1e-12
    )
    assert found["value"] == metric(y_true, values, **given)
    by_stratum = values_by_stratum(metric, y_true, values, **given)["value"]
    assert found["stratum"] == by_stratum.idxmax()
    mean = partial(metric, multistratum="weighted")(y_true, values, **given)
    assert found["mean"] == pytest.approx(mean, abs=1e-12)
    interval = confidence_interval(metric, y_true, values, **given)
    assert (found["lower"], found["upper"]) == (interval.lower, interval.upper)
    test = permutation_test(
        metric, y_true, values, **given, n_permutations=59, random_state=0
    )
    assert found["pvalue"] == test.pvalue
    chance = test.pairs["by_chance"].iloc[0]
    assert found["null_mean"] == pytest.approx(chance, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["probability", "rank"])
def test_groups_left_out_of_a_stratum_are_permuted(make_report, scale):
    """Other rows are of the small group of a stratum in each permutation."""
    generator = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c"], [120, 60, 20])
    strata, y_score = np.arange(200) % 2, generator.random(200)
    groups[np.flatnonzero((groups == "c") & (strata == 1))[:7]] = "a"
    given = {
        "sensitive_features": encode_groups(groups, min_group_size=5),
        "control_features": strata,
    }
    report = make_report(
        None, y_score, **given, scale=scale, metrics=["abcc"], min_group_size=5
    )
    found = report.to_frame("strata").iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        test = permutation_test(
            partial(abcc, scale=scale),
            None,
            y_score,
            **given,
            n_permutations=59,
            random_state=0,
        )
    assert found["value"] == pytest.approx(test.value, abs=1e-12)
    chance = test.pairs["by_chance"].iloc[0]
    assert found["null_mean"] == pytest.approx(chance, abs=1e-12)
    assert found["pvalue"] == test.pvalue


def test_page_and_markdown_have_the_table(within):
    page = pytest.importorskip("jinja2") and within.to_html()
    assert "Within strata by sex" in page
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    text = within.to_markdown()
    assert "### Within strata: sex, model" in text
    assert "| Difference of selection rates |" in text
    assert "within each department, of which there are 3, with 600 rows" in text


@pytest.mark.slow
def test_what_is_left_out_is_named(make_report, rows):
    y_true, y_score, sex, departments = rows
    strata = departments.where(np.arange(len(departments)) > 5, "few")
    report = make_report(
        y_true,
        y_score,
        sensitive_features=sex,
        control_features=strata,
        metrics=["mcdp"],
    )
    sentence = report.summary["attributes"][0]["results"][0]["strata"]["sentence"]
    assert "“few” (no group has 10 rows or more)" in sentence
    alone = make_report(
        y_true,
        y_score,
        sensitive_features=sex,
        control_features=np.arange(len(sex)),
        metrics=["mcdp"],
    )
    found = alone.to_frame("strata").iloc[0]
    assert pd.isna(found["value"])
    assert found["everyone"] > 0
    assert "No stratum has two groups" in alone.to_markdown()


@pytest.mark.slow
def test_strata_of_an_estimator(rows):
    y_true, y_score, sex, departments = rows
    X = pd.DataFrame({"score": y_score, "sex": sex, "department": departments})
    model = LogisticRegression().fit(X[["score"]].to_numpy(), y_true)
    positives = encode_groups(
        np.where(np.asarray(y_true) == 1, 1, None), missing="drop"
    )
    options = {"n_permutations": 59, "random_state": 0, "metrics": ["mcdp"]}
    report = FairnessReport.from_estimator(
        model,
        X[["score"]].to_numpy(),
        y_true,
        sensitive_features=sex,
        control_features=positives,
        **options,
    )
    scores = model.predict_proba(X[["score"]].to_numpy())[:, 1]
    found = report.to_frame("strata").iloc[0]
    own = np.asarray(y_true) == 1
    expected = mcdp(None, scores[own], sensitive_features=np.asarray(sex)[own])
    assert found["value"] == expected
    assert found["stratum"] == "1"


def test_bad_strata(make_report, rows, within, small_report):
    y_true, y_score, sex, departments = rows
    for strata, message in (
        (departments[:-1], "control_features has 599 rows, expected 600"),
        (departments.where(departments != "d"), "control_features has 200 missing"),
    ):
        with pytest.raises(ValueError, match=message):
            make_report(
                y_true, y_score, sensitive_features=sex, control_features=strata
            )
    with pytest.raises(ValueError, match="needs a report made with control_features"):
        small_report.to_frame("strata")
