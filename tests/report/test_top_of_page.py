"""What a page says first: rates by group, a limit of the reader, and light reports."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.report._summary import tell_left_out

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

LIGHT = ["demographic_parity_difference", "equalized_odds_difference"]


@pytest.fixture(scope="module")
def make_light(make_report, scored):
    y_true, y_score, people = scored

    def make(**options):
        given = {"sensitive_features": {"sex": people["sex"]}, "metrics": LIGHT}
        return make_report(y_true, y_score, **given | options)

    return make


@pytest.fixture(scope="module")
def untested(make_light):
    return make_light(n_permutations=0)


@pytest.mark.slow
def test_a_report_without_permutations_says_so(untested, make_light):
    frame = untested.to_frame()
    assert frame.pvalue.isna().all()
    assert frame.null_mean.isna().all()
    assert frame.lower.notna().all()
    tested = make_light().to_frame()
    for name in ("value", "lower", "upper", "certified"):
        np.testing.assert_array_equal(frame[name], tested[name])
    lead = untested.summary["verdict"]["leads"][0]["text"]
    assert lead == " ".join(
        f"Differences of {what} by sex are measured, and not tested."
        for what in ("predictions", "errors")
    )
    page = untested.to_html()
    assert "No test was made" in page
    assert "Significant” means" not in page
    assert "value</th>" not in page
    assert "Share of such random assignments" not in page
    assert "| p-value" not in untested.to_markdown()


def shown(page):
    """Texts of the chart of rates."""
    (chart,) = re.findall(r'<figure class="chart".*?</figure>', page, re.S)
    return chart


def test_the_chart_of_rates_has_every_group_with_interval_and_size(make_light):
    report = make_light()
    chart = shown(report.to_html())
    for group in report.summary["attributes"][0]["results"][0]["groups"]:
        assert f"{100 * group['selection_rate']:.1f}%" in chart
        assert f"{group['n']:,}" in chart
    assert "limit" not in chart
    # Groups are in the order of their rates, on an axis from 0 % to 100 %.
    rates = [float(x) for x in re.findall(r'class="dot" style="left: ([\d.]+)%', chart)]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("known_differ", [True, False])
def test_missing_groups_come_last_and_make_no_headline(
    make_report, scored, known_differ
):
    """Known groups have their rates and interval, or are said not to differ."""
    y_true, _, people = scored
    sex = people["sex"].astype(object).where(np.arange(600) % 3 > 0, None)
    others = y_true if known_differ else sex.groupby(sex).cumcount() % 2
    decided = np.where(sex.isna(), 1, others)
    report = make_report(
        None,
        y_pred=decided,
        sensitive_features={"sex": encode_groups(sex, missing="group")},
        metrics=LIGHT[:1],
    )
    labels = re.findall(r'class="label">([^<]*)<', shown(report.to_html()))
    assert labels[-1] == "(missing)"
    (point,) = report.summary["verdict"]["points"]
    lead = report.summary["verdict"]["leads"][0]["text"]
    assert lead in repr(report)
    assert "People whose sex is missing differ most." in point["text"]
    if known_differ:
        high, low = (100 * decided[sex == name].mean() for name in "MF")
        finding = f"{high:.1f}% of “M” and {low:.1f}% of “F” get the decision “1”: "
        assert point["text"].startswith(finding)
        assert "(95% interval " in point["text"]
        assert lead == "Decisions differ by sex; chance alone does not explain it."
    else:
        assert point["text"].startswith("No difference of known groups is significant.")
        assert lead == (
            "Decisions of people whose sex is missing differ from those of others; "
            "chance alone does not explain it. By sex, no difference of known groups "
            "is significant."
        )


def test_only_what_has_missing_values_is_called_missing(make_report):
    rng = np.random.default_rng(0)
    race = pd.Series(rng.choice(["a", "b", None], 900))
    sex = pd.Series(rng.choice(["F", "M"], 900))
    people = {"race": encode_groups(race, missing="group"), "sex": sex}
    decided = race.isna().to_numpy().astype(int)
    options = {"sensitive_features": people, "metrics": LIGHT[:1]}
    report = make_report(None, y_pred=decided, **options)
    text = report.summary["verdict"]["leads"][0]["text"]
    for name in "race", "race \u00d7 sex":
        assert (
            "Decisions of people whose race is missing differ from those of others; "
            f"chance alone does not explain it. By {name}, no difference of known "
            "groups is significant."
        ) in text
    assert "sex is missing" not in report.to_markdown()


def test_the_head_counts_rows_of_unknown_groups(make_report):
    race = pd.Series(["a", "b", None, "a", "b"] * 40)
    sex = pd.Series([*"FM"] * 100)
    people = {"race": encode_groups(race, missing="drop"), "sex": sex}
    options = {"sensitive_features": people, "metrics": LIGHT[:1]}
    report = make_report(None, y_pred=np.tile([0, 1, 1, 0], 50), **options)
    head = "200 rows, 40 of unknown race"
    assert repr(report).startswith(f"FairnessReport({head})\n")
    assert f"{head}.\n" in report.to_markdown()
    report.summary = tell_left_out(report.summary, 7, ["y"])
    head = "200 rows, 7 more left out, 40 of unknown race"
    assert f"{head} ·" in report.to_html()


def test_equal_groups(make_report):
    groups = np.repeat(["A", "B", "C"], 40)
    options = {"sensitive_features": groups, "n_permutations": 59}
    report = make_report(None, y_pred=np.tile([0, 1], 60), **options)
    page = report.to_markdown()
    shares = "50.0% of “A” and 50.0% of “C” get the decision “1”: 0.0 percentage"
    assert shares in page
    assert "All groups have the rate of the average group, 50.0%." in page
    assert "differ most" not in page
    assert "furthest from the average group:" not in page


def test_two_groups_are_not_each_beside_the_rest(make_report):
    sex = np.repeat(["F", "M"], 100)
    decided = np.concatenate([np.arange(100) < 50, np.arange(100) < 65]).astype(int)
    rng = np.random.default_rng(0)
    y_true, score = rng.integers(0, 2, 200), rng.random(200)
    report = make_report(
        y_true, score, y_pred=decided, sensitive_features=sex, metrics=LIGHT,
        n_permutations=199,
    )  # fmt: skip
    (point, *_) = report.summary["verdict"]["points"]
    assert point["state"] == "weak evidence"
    assert "an exact test of the two shares finds a difference" in point["text"]
    assert "of the rest" not in point["text"]


@pytest.mark.slow
def test_rows_left_out_stand_first_under_read_with_care(make_report, scored):
    y_true, y_score, people = scored
    sex = people["sex"].astype(object).where(people.index > 40, None)
    groups = encode_groups(sex, missing="drop")
    report = make_report(y_true, y_score, sensitive_features={"sex": groups})
    told = tell_left_out(report.summary, 60, ["y"], [("F", 20, 300), ("M", 40, 400)])
    first, of_groups, second = told["cautions"][:3]
    assert first == (
        "60 rows (9.1%) without a value of “y” are left out of every number."
    )
    assert of_groups == "The rows left out are 6.7% of “F” and 10.0% of “M”."
    assert second == "sex: 41 rows (6.8%) without a group are left out."


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (0.9, "at most 0.9 (95% confidence)"),
        (0.001, "above 0.001 (95% confidence)"),
    ],
)
def test_a_limit_is_a_line_and_a_sentence(limit, sentence, make_light):
    report = make_light(limit=limit)
    (lead,) = report.summary["verdict"]["leads"]
    assert any(sentence in text for text in lead["further"])
    measures = report.summary["attributes"][0]["results"][0]["measures"]
    for measure in measures:
        assert ("at most" in sentence) == (measure["certified"] <= limit)
    page = report.to_html()
    rates = [
        g["selection_rate"]
        for g in report.summary["attributes"][0]["results"][0]["groups"]
    ]
    assert ('class="limit"' in shown(page)) == (max(rates) - limit > 0)
    assert json.loads(json.dumps(report.summary))["settings"]["limit"] == limit


@pytest.mark.slow
def test_undecided_is_said(make_light):
    wide = make_light()
    measure = wide.summary["attributes"][0]["results"][0]["measures"][0]
    limit = (measure["value"] + measure["certified"]) / 2
    (lead,) = make_light(limit=limit).summary["verdict"]["leads"]
    assert any("too little data" in text for text in lead["further"])


def test_several_models_are_one_table_and_folded_details(make_report, scored):
    y_true, y_score, people = scored
    report = make_report(
        y_true,
        {"plain": y_score, "flat": np.sqrt(y_score)},
        sensitive_features={"sex": people["sex"]},
        metrics=LIGHT,
    )
    page = report.to_html()
    assert page.count('<table class="models">') == 1
    unfolded = re.sub(r"<details.*?</details>", "", page, flags=re.S)
    assert unfolded.count('class="measures"') == 0
    assert page.count('class="measures"') == 2
    assert unfolded.count('class="chart"') == 0
    for model in report.summary["models"]:
        assert f"{model['performance']['accuracy']:.3f}" in unfolded


@pytest.mark.slow
@pytest.mark.parametrize(("n", "words"), [(3, "three"), (2, "two")])
def test_the_adjustment_counts_the_questions_asked(make_report, scored, n, words):
    y_true, y_score, people = scored
    report = make_report(
        y_true if n == 3 else None,
        y_score,
        sensitive_features=people["sex"],
        metrics=["demographic_parity_difference", "mcdp"]
        + ["equalized_odds_difference"] * (n == 3),
    )
    page = report.to_html()
    assert f"adjusted for the {words} questions" in page
    assert f"the {'two' if n == 3 else 'three'} questions" not in page
