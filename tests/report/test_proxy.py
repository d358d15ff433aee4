"""Bounds by a proxy in the numbers and on the page of a report."""

import html
import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skfair.frames import grouped_confusion, grouped_histogram
from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    equalized_odds_difference,
    mcdp,
    proxy_bounds,
)
from skfair.report import FairnessReport

SHARES = {"<a>": {"F": 0.9, "M": 0.1}, "b": {"F": 0.2, "M": 0.8}, "c": 0}
SHARES["c"] = {"F": 0.4, "M": 0.6}
RATIOS = [1.0, 1.5, math.inf]
METRICS = [
    "mcdp",
    "abcc",
    "mean_score_difference",
    "demographic_parity_difference",
    "equalized_odds_difference",
]


@pytest.fixture(scope="module")
def rows(scored):
    """True labels, scores, names of streets, and a weight."""
    y_true, y_score, people = scored
    street = np.array([*SHARES])[np.random.default_rng(0).integers(0, 3, len(y_true))]
    street[np.asarray(people["sex"] == people["sex"].iloc[0])] = "<a>"
    weights = np.random.default_rng(1).integers(0, 3, len(y_true))
    return y_true, y_score, pd.Series(street, name="street"), weights


@pytest.fixture(scope="module")
def by_proxy(make_report, rows):
    y_true, y_score, street, _ = rows
    return make_report(
        y_true,
        y_score,
        group_probabilities=SHARES,
        cells=street,
        odds_ratio=RATIOS,
        metrics=METRICS,
    )


@pytest.mark.slow
def test_numbers_are_those_of_proxy_bounds(by_proxy, rows):
    y_true, y_score, street, _ = rows
    decisions = (y_score >= 0.5).astype(int)
    found = by_proxy.to_frame("proxy").set_index("metric")
    for key, metric, values in (
        ("mcdp", mcdp, y_score),
        ("abcc", abcc, y_score),
        ("mean_score_difference", demographic_parity_difference, y_score),
        ("demographic_parity_difference", demographic_parity_difference, decisions),
        ("equalized_odds_difference", equalized_odds_difference, decisions),
    ):
        given = {"cells": street, "group_probabilities": SHARES}
        needs = y_true if key == "equalized_odds_difference" else None
        expected = proxy_bounds(
            metric, needs, values, odds_ratio=RATIOS, confidence_level=0.95, **given
        )
        one = found.loc[key]
        assert one["odds_ratio"].tolist() == RATIOS
        np.testing.assert_allclose(one["lower"], expected.lower, atol=1e-9)
        np.testing.assert_allclose(one["upper"], expected.upper, atol=1e-9)
        np.testing.assert_allclose(one["estimate"], expected.estimate, atol=1e-9)
        assert (one["upper_confidence"] > one["upper"]).all()
        tipping = expected.tipping_odds_ratio(0.1)
        np.testing.assert_allclose(one["tipping"], tipping, rtol=1e-6)


@pytest.fixture(scope="module")
def page(by_proxy):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    return by_proxy.to_html()


@pytest.mark.slow
def test_the_page_prints_the_call_that_recomputes_each_bound(page, by_proxy, rows):
    """From counts by cell, and nothing else."""
    y_true, y_score, street, _ = rows
    table = pd.DataFrame({"y": y_true, "p": y_score, "street": street})
    table["decision"] = (y_score >= 0.5).astype(float)
    by = {"sensitive_features": "street"}
    names = {
        "scores": grouped_histogram(table, y_score="p", **by),
        "decisions": grouped_histogram(table, y_score="decision", **by),
        "errors": grouped_confusion(table, y_true="y", y_pred="decision", **by),
        **{one.__name__: one for one in (mcdp, abcc, proxy_bounds)},
        "demographic_parity_difference": demographic_parity_difference,
        "equalized_odds_difference": equalized_odds_difference,
        "math": math,
    }
    (code,) = re.findall(r"<pre><code>(.*?)</code></pre>", page, re.S)
    shares, *calls = html.unescape(code).strip().splitlines()
    exec(shares, names)
    measures = by_proxy.summary["proxy"]["results"][0]["measures"]
    for call, measure in zip(calls, measures, strict=True):
        result = eval(call, names)
        for end in ("lower", "upper", "lower_confidence", "upper_confidence"):
            assert getattr(result, end).tolist() == measure[end]


def test_the_page_has_bounds_sizes_assumptions_and_the_limit(page, by_proxy):
    for text in (
        "Groups that are known by a proxy: street",
        "3 cells, the smallest with",
        "Expected rows of the groups: “F” (",
        "Nothing in these rows can check this",
        "The limit that is asked about is 0.1.",
        "these data cannot tell whether it is above 0.1",
        "cover both bounds for new rows",
    ):
        assert text in page, text
    assert '<th scope="row"><a>' not in page
    text = by_proxy.to_markdown()
    assert "## Groups that are known by a proxy: street" in text
    assert "| MCDP(0) | " in text
    again = FairnessReport(json.loads(json.dumps(by_proxy.summary, allow_nan=False)))
    found, expected = again.to_frame("proxy"), by_proxy.to_frame("proxy")
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("share", "limit", "text"),
    [
        (0.98, 0.05, "above 0.05 whatever the link"),
        (0.98, 0.99, "below 0.99 whatever the link"),
        (0.6, 0.3, "cannot tell whether it is above 0.3"),
    ],
)
def test_the_lead_says_what_is_certain_and_what_cannot_be_told(
    make_report, share, limit, text
):
    cells = np.repeat(["a", "b"], 200)
    y_score = np.where(cells == "a", 0.1, 0.6) + np.linspace(0, 0.3, 400)
    report = make_report(
        None,
        y_score,
        group_probabilities={"a": 1 - share, "b": share},
        cells=cells,
        proxy_limit=limit,
        metrics=["mcdp"],
    )
    (lead,) = report.summary["verdict"]["leads"]
    assert text in lead["text"]
    (measure,) = report.summary["proxy"]["results"][0]["measures"]
    assert measure["cannot_tell"] == ("cannot tell" in text)
    assert report.to_frame().empty
    assert text in repr(report)


@pytest.mark.slow
def test_known_groups_and_a_proxy_are_reported_side_by_side(make_report, rows):
    """Weights, ranks, and rows of like probability in place of cells."""
    y_true, y_score, street, weights = rows
    probability = street.map({label: of["F"] for label, of in SHARES.items()})
    given = {"sample_weight": weights, "random_state": 0}
    report = make_report(
        y_true,
        10 * y_score,
        sensitive_features={"street": street},
        group_probabilities=probability,
        scale="rank",
        threshold=0.7,
        metrics=["mcdp", "equalized_odds_difference"],
        **given,
    )
    assert set(report.to_frame()["metric"]) == {"mcdp", "equalized_odds_difference"}
    found = report.to_frame("proxy").set_index("metric")
    expected = proxy_bounds(
        mcdp,
        None,
        y_score,
        group_probabilities=probability,
        odds_ratio=[1, 1.5, 2, np.inf],
        confidence_level=0.95,
        **given,
    )
    np.testing.assert_allclose(found.loc["mcdp", "lower"], expected.lower, atol=1e-9)
    assert found.loc["mcdp", "upper_confidence"].notna().all()
    errors = found.loc["equalized_odds_difference"]
    assert errors["upper"].notna().all()
    assert errors["upper_confidence"].isna().all()
    expected_rows = report.summary["proxy"]["groups"][1]["expected"]
    assert expected_rows == pytest.approx(probability[weights > 0].sum())


@pytest.mark.slow
@pytest.mark.parametrize("asked", [1.0, 0.3])
def test_known_groups_check_the_shares(make_report, asked):
    """Those of an attribute whose groups are the proxy's, also of few rows."""
    rng = np.random.default_rng(0)
    cells = np.repeat(["a", "b"], 1000)
    share = {"a": {"F": 0.8, "M": 0.2}, "b": {"F": 0.3, "M": 0.7}}
    truth = np.array([share[cell]["F"] for cell in cells])
    y_score, draws = rng.uniform(size=(2, 2000))
    unknown = rng.uniform(size=2000) > asked
    given = {"group_probabilities": share, "cells": cells}

    def check(probability):
        sex = np.where(draws < probability, "F", "M").astype(object)
        sex[unknown] = None
        groups = encode_groups(sex, missing="drop")
        options = {"sensitive_features": groups, "metrics": ["abcc"], **given}
        report = make_report(None, y_score, **options)
        (text,) = report.summary["proxy"]["known"]
        assert text in report.to_markdown()
        return sex, text

    assert check(truth)[1].endswith("(group) do not contradict the shares.")
    assert "contradict the shares of 2 of 2 cells" in check(1 - truth)[1]
    linked = truth + np.where(y_score < 0.5, 0.9, -0.9) * truth * (1 - truth)
    sex, text = check(linked)
    found = proxy_bounds(abcc, None, y_score, sensitive_features=sex, **given)
    assert found.shown_odds_ratio > 1
    assert text.endswith(f"at least by the factor {found.shown_odds_ratio:.3g}.")


def test_columns_of_an_estimator_are_the_proxy(rows):
    y_true, y_score, street, _ = rows
    X = pd.DataFrame({"score": y_score, "street": street})
    model = make_pipeline(
        make_column_transformer(("passthrough", ["score"])), LogisticRegression()
    ).fit(X, y_true)
    report = FairnessReport.from_estimator(
        model, X, y_true, cells="street", group_probabilities=SHARES, metrics=["mcdp"]
    )
    scores = model.predict_proba(X)[:, 1]
    expected = proxy_bounds(
        mcdp, None, scores, cells=street, group_probabilities=SHARES
    )
    assert report.to_frame("proxy")["upper"].iloc[-1] == pytest.approx(expected.upper)


@pytest.mark.slow
def test_rows_that_are_alone_in_a_cell_are_counted(make_report):
    cells = np.minimum(np.arange(100), 20)
    given = {"group_probabilities": dict.fromkeys(range(21), 0.4), "cells": cells}
    with pytest.warns(UserWarning, match="20 of 100 rows are the only row") as warned:
        report = make_report(None, np.linspace(0, 1, 100), metrics=["abcc"], **given)
    assert len(warned) == 1
    assert "Alone in a cell, as if known: 20 rows." in report.to_markdown()


def test_a_group_in_no_cell_has_no_bounds(make_report):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = make_report(
            None,
            np.linspace(0, 1, 50),
            group_probabilities=np.zeros(50),
            metrics=["mcdp"],
        )
    assert (
        report.to_frame("proxy")
        .drop(columns=["model", "metric", "odds_ratio"])
        .isna()
        .all(axis=None)
    )
    assert "cannot be computed" in report.to_markdown()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "sensitive_features is None, expected group labels, or group_prob"),
        ({"cells": ["a"] * 600}, "group_probabilities must be given beside cells"),
        (
            {"group_probabilities": [0.5]},
            "group_probabilities has 1 rows, expected 600",
        ),
        ({"odds_ratio": 0.5}, "odds_ratio must be a number of at least 1"),
        ({"proxy_limit": 2}, "proxy_limit must be"),
    ],
)
def test_bad_arguments_are_named(make_report, rows, given, message):
    y_true, y_score, _, _ = rows
    with pytest.raises(ValueError, match=message):
        make_report(y_true, y_score, **given)


def test_a_report_without_a_proxy_has_no_table_of_it(small_report):
    with pytest.raises(ValueError, match="needs a report made with group_probabil"):
        small_report.to_frame("proxy")
