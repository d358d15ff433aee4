"""Numbers of the groups: calibration, and tables of impact ratios."""

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.metrics import cvar_fairness_report, impact_ratios
from skfair.report import FairnessReport
from skfair.report._numbers import _calibration_error
from skfair.report._words import describe_ratios


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 300),
            "race": np.repeat(["A", "B|", "C"], [150, 145, 5]),
        }
    )
    frame["score"] = rng.beta(2 + (frame["sex"] == "M"), 3)
    frame["true"] = (rng.random(300) < frame["score"]).astype(int)
    return frame


@pytest.fixture(scope="module")
def filed(make_report, people):
    return make_report(
        people["true"],
        people["score"],
        sensitive_features=people[["sex", "race"]],
        metrics=["mcdp", "demographic_parity_difference"],
        impact_ratios=True,
    )


@pytest.mark.parametrize("kind", ["selection", "scoring"])
def test_tables_are_those_of_impact_ratios(filed, people, kind):
    found = filed.to_frame("impact_ratios").query("kind == @kind")
    least = {"min_group_size": 10}
    values = people["score"] if kind == "scoring" else people["score"] >= 0.5
    groups = encode_groups(people[["sex", "race"]], **least)
    both = impact_ratios(None, values, sensitive_features=groups, rate=kind).loc[
        "sex \u00d7 race"
    ]
    own = found[found["attribute"] == "sex \u00d7 race"]
    for name in ("n", "share", "selected", "rate", "impact_ratio", "lower", "upper"):
        np.testing.assert_allclose(own[name].astype(float), both[name], err_msg=name)
    assert own["status"].tolist() == both["status"].tolist()
    assert own["group"].tolist()[0] == "F, A"
    assert (found["status"] == "excluded").sum() == 3
    by_race = found[found["attribute"] == "race"].set_index("group")
    assert by_race.loc["C", ["n", "status"]].tolist() == [5, "excluded"]
    assert by_race.loc["C", "rate"] == pytest.approx(
        values.iloc[-5:].mean()
        if kind == "selection"
        else (values > values.median()).iloc[-5:].mean()
    )


def test_missing_groups_are_counted(make_report, people):
    sex = people["sex"].where(people.index > 6)
    report = make_report(
        None,
        y_pred=(people["score"] > 0.5).astype(int),
        sensitive_features={"sex": encode_groups(sex, missing="drop")},
        metrics=["max_gap"],
        impact_ratios=True,
    )
    tables = report.summary["attributes"][0]["results"][0]["impact_ratios"]
    assert [table["kind"] for table in tables] == ["selection"]
    assert tables[0]["rows"][-1]["label"] == "unknown"
    assert tables[0]["rows"][-1]["n"] == 7
    assert "7 rows of unknown group have no part in it." in tables[0]["sentence"]


def test_only_on_request(small_report):
    result = small_report.summary["attributes"][0]["results"][0]
    assert result["impact_ratios"] is None
    with pytest.raises(ValueError, match="needs a report made with impact_ratios=True"):
        small_report.to_frame("impact_ratios")
    with pytest.raises(ValueError, match="table must be 'metrics', 'models', 'gro"):
        small_report.to_frame("all")
    assert "Impact ratio" not in small_report.to_markdown()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"impact_ratios": 1}, "impact_ratios must be True or False, got 1"),
        ({"impact_ratios": True, "y_pred": [0, 2]}, "impact_ratios must be False unl"),
    ],
)
def test_bad_options(make_report, options, match):
    with pytest.raises(ValueError, match=match):
        make_report(
            [0, 1], **{"y_pred": [0, 1], "sensitive_features": ["a", "b"], **options}
        )


@pytest.mark.slow
def test_page_has_the_tables_and_no_verdict_on_them(filed):
    pytest.importorskip("jinja2")
    html5lib = pytest.importorskip("html5lib")
    page = filed.to_html()
    html5lib.HTMLParser(strict=True).parse(page)
    assert page.count("Impact ratios of selection rates by race</caption>") == 1
    for table in filed.summary["attributes"][1]["results"][0]["impact_ratios"]:
        assert table["sentence"] in page
    for word in ("four-fifths", "unlawful", "adverse", "illegal"):
        assert word not in page
    assert FairnessReport(filed.summary).to_html() == page


def test_sentences():
    row = {"n": 5, "share": 0.5, "rate": 0.2, "impact_ratio": 1.0}
    row |= {"lower": 0.5, "upper": 1.0, "status": "highest"}
    first, second = {**row, "label": "a"}, {**row, "label": "b"}
    (text,) = describe_ratios("selection", [first, second], 0.95)
    assert text == "All groups have the same selection rate, 20.0%."
    none = {**first, "impact_ratio": None, "status": "excluded"}
    text, excluded = describe_ratios("scoring", [none], 0.95)
    assert text.startswith("There are no ratios")
    assert "“a”" in excluded


def test_groups_as_a_frame(filed):
    frame = filed.to_frame("groups")
    assert frame["group"].tolist()[:4] == ["F", "M", "A", "B|"]
    assert list(frame.columns[:4]) == ["model", "attribute", "group", "n"]
    excess = frame["score_excess"].abs()
    assert (frame["calibration_error"] >= excess - 1e-12).all()


# --- error rates of many groups


def wrong_in_one(n_groups, n_classes=2):
    """True labels, predictions and groups of 50 rows, of which "g3" is often wrong."""
    rng = np.random.default_rng(n_groups)
    groups = np.repeat([f"g{i}" for i in range(n_groups)], 50)
    y_true = rng.integers(n_classes, size=len(groups))
    wrong = rng.random(len(groups)) < np.where(groups == "g3", 0.6, 0.15)
    return y_true, (y_true + wrong) % n_classes, groups


@pytest.fixture(scope="module")
def make_of_many(make_report):
    def make(y_true, y_pred, groups, **options):
        metrics = ["equalized_odds_difference"] if y_true is not None else ["max_gap"]
        given = {"y_pred": y_pred, "sensitive_features": {"school": groups}}
        options = {"metrics": metrics, "n_permutations": 0, **options}
        return make_report(y_true, **given, **options)

    return make


@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_that_differ_in_error_rate_are_named(make_of_many, n_classes):
    y_true, y_pred, groups = wrong_in_one(12, n_classes)
    report = make_of_many(y_true, y_pred, groups)
    expected = cvar_fairness_report(
        y_true, y_pred, sensitive_features=groups, quality="error_rate"
    )
    found = report.to_frame("groups").set_index("group").loc[expected.index]
    others = 1 - found["accuracy_of_others"]
    np.testing.assert_allclose(others, expected["rate_of_others"])
    differs = expected["adjusted_pvalue"] <= 0.05
    assert found["accuracy_differs"].tolist() == differs.tolist()
    assert differs.sum() == 1
    row = expected.loc["g3"]
    rates = [f"{100 * row[name]:.1f}%" for name in ("rate", "rate_of_others")]
    text = "Over all true labels together, 1 of 12 groups differs in error rate from "
    text += "all other rows: "
    text += f"\u201cg3\u201d ({rates[0]}, others {rates[1]})."
    (point,) = (
        point
        for point in report.summary["verdict"]["points"]
        if point["question"] == "errors"
    )
    assert text in point["text"]
    written = report.to_markdown()
    assert text in written
    assert "| Accuracy differs from the rest |" in written


def test_error_rates_that_chance_explains_are_evidence_of_nothing(make_of_many):
    y_true, _, groups = wrong_in_one(12)
    wrong = np.tile([1] + [0] * 9, 60)
    report = make_of_many(y_true, (y_true + wrong) % 2, groups)
    text = "none of 12 groups is found to differ in error rate from all other rows."
    assert text in report.to_markdown()


def test_a_group_that_differs_in_error_rate_alone_is_a_sign(make_of_many):
    """Every label is wrong in it a little more often, none of them significantly."""
    y_true, _, groups = wrong_in_one(12)
    rate = np.where(groups == "g3", 0.35, 0.15)
    for seed in range(100):
        wrong = np.random.default_rng(seed).random(len(groups)) < rate
        given = y_true, (y_true + wrong) % 2, groups
        table = cvar_fairness_report(
            *given[:2], sensitive_features=groups, quality="accuracy"
        )
        if table["adjusted_pvalue"].min() <= 0.05:
            report = make_of_many(*given, n_permutations=59)
            (point,) = report.summary["verdict"]["points"]
            if point["state"] != "significant":
                break
    assert point["state"] == "weak evidence"
    assert "groups differ in error rate over all true labels" in point["text"]


UNTESTED = {
    "few groups": (10, {}),
    "weights": (12, {"sample_weight": np.linspace(1, 2, 600)}),
    "people": (12, {"clusters": np.arange(600) // 2}),
    "no labels": (12, {}),
}


@pytest.mark.parametrize("case", UNTESTED)
def test_error_rates_are_compared_where_they_are_tested(make_of_many, case):
    n_groups, options = UNTESTED[case]
    y_true, y_pred, groups = wrong_in_one(n_groups)
    y_true = None if case == "no labels" else y_true
    report = make_of_many(y_true, y_pred, groups, **options)
    text = report.to_markdown()
    assert "error rate from all" not in text
    assert "Accuracy differs" not in text


@pytest.mark.slow
def test_the_page_has_the_error_rates_of_many_groups(make_of_many):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = make_of_many(*wrong_in_one(14)).to_html()
    assert page.count('<th scope="col">Accuracy differs from the rest</th>') == 2
    assert page.count('<td data-label="Accuracy differs from the rest">yes</td>') == 1
    assert "1 of 14 groups differs in error rate" in page


# --- calibration


def test_calibration_by_group(filed, people):
    row = filed.to_frame("groups").iloc[0]
    own = people[people["sex"] == "F"]
    excess = own["score"].mean() - own["true"].mean()
    assert row["score_excess"] == pytest.approx(excess)


def brute_calibration(true, score, weights, n_bins):
    """Put each distinct score into the bin where the middle of its weight lies."""
    bins, total, before = {}, weights.sum(), 0.0
    for value in np.unique(score):
        own = score == value
        weight = weights[own].sum()
        place = min(int((before + weight / 2) / total * n_bins), n_bins - 1)
        before += weight
        sums = bins.get(place, 0.0)
        bins[place] = sums + (weights[own] * (value - true[own])).sum()
    return sum(abs(sums) for sums in bins.values()) / total


@pytest.mark.parametrize(
    "n_rows",
    [
        pytest.param(1, marks=pytest.mark.slow),
        7,
        pytest.param(99, marks=pytest.mark.slow),
        199,
        200,
        850,
        pytest.param(3_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_calibration_error_is_that_of_bins(n_rows, decimals):
    rng = np.random.default_rng(n_rows)
    score = rng.random(n_rows).round(decimals)
    true = rng.random(n_rows) < score**2
    for weights in (np.ones(n_rows), rng.uniform(0.5, 2, n_rows)):
        found = _calibration_error(true, score, weights, n_rows)
        excess = np.average(score - true, weights=weights)
        n_bins = min(max(n_rows // 100, 1), 10)
        expected = brute_calibration(true, score, weights, n_bins)
        assert found == pytest.approx(expected, abs=1e-12)
        if n_bins == 1:
            assert found == pytest.approx(abs(excess), abs=1e-12)


# --- Markdown


def test_markdown(filed, tmp_path):
    text = filed.to_markdown(
        tmp_path / "card.md", date="2026-01-31", source="a_b.csv, SHA-256 <0>"
    )
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == text + "\n"
    assert "- Date: 2026-01-31\n- Input: a\\_b.csv, SHA-256 &lt;0>\n" in text
    assert "\n## race, score\n" in text
    assert "\n### Impact ratios of scoring rates: race, score\n" in text
    assert "| B\\| | 145 |" in text
    assert text.count("\n## What this report cannot show\n") == 1
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if lines[0].startswith("|"):
            counts = {line.replace("\\|", "").count("|") for line in lines}
            assert len(counts) == 1
            assert set(lines[1]) == set("|- ")
    assert filed.to_markdown() != text
    assert FairnessReport(filed.summary).to_markdown() == filed.to_markdown()
