"""Numbers of the groups: calibration, and tables of impact ratios."""

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.metrics import impact_ratios
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
