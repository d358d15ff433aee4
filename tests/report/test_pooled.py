"""Pooled rates of the groups of an intersection, on request, are `group_metrics`'s."""

import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.metrics import group_metrics
from skfair.report import FairnessReport

OPTIONS = {"n_permutations": 0, "intersection": True, "random_state": 0}
DECISIONS = {**OPTIONS, "metrics": ["demographic_parity_difference"]}
RATES = ["selection_rate", "true_positive_rate", "false_positive_rate", "accuracy"]
NUMBERS = ["n", "value", "pooled", "pooled_lower", "pooled_upper"]
CROSSED = "sex \u00d7 race"
SMALL = "F, <b>|c"


def people_of(sizes):
    """People, labels and decisions of so many rows for each sex and race."""
    rows = [key for key, size in sizes.items() for _ in range(size)]
    people = pd.DataFrame(rows, columns=["sex", "race"])
    rng = np.random.default_rng(0)
    label = (rng.random(len(people)) < 0.4).astype(int)
    chance = 0.2 + 0.3 * label + 0.1 * (people["sex"] == "M")
    return people, label, (rng.random(len(people)) < chance).astype(int)


@pytest.fixture(scope="module")
def unequal():
    """Seven people of one cell, beside 10,000 of another."""
    sizes = {("M", "a"): 10_000, ("F", "a"): 900, ("M", "<b>|c"): 300}
    return people_of(sizes | {("F", "<b>|c"): 7})


@pytest.fixture(scope="module")
def pooled(unequal):
    people, label, y_pred = unequal
    return FairnessReport.from_predictions(
        label, y_pred=y_pred, sensitive_features=people, **DECISIONS
    )


def check(report, people, label, y_pred, **options):
    """Compare a report with `group_metrics`, group by group."""
    expected = group_metrics(
        RATES,
        label,
        y_pred,
        sensitive_features=people,
        pooling="additive",
        **options,
    ).groups.rename(columns={"n": "n_rows", "n_counted": "n"})
    found = report.to_frame("pooled")
    assert set(found["attribute"]) == {CROSSED}
    found = found.set_index(["rate", "group"])
    assert len(found) == len(expected)
    for key, row in expected.iterrows():
        own = found.loc[(key[0], ", ".join(key[1:])), NUMBERS].astype(float)
        np.testing.assert_allclose(own, row[NUMBERS].astype(float), atol=1e-6)


def test_rates_of_seven_people_beside_10_000_are_those_of_group_metrics(
    pooled, unequal
):
    check(pooled, *unequal)
    groups, table = pooled.to_frame("groups"), pooled.to_frame("pooled")
    assert SMALL not in set(groups["group"])  # too small to be compared
    row = table.set_index(["rate", "group"]).loc[("selection_rate", SMALL)]
    assert row["n"] == 7
    raw = table[table["rate"] == "selection_rate"]["value"]
    assert raw.min() < row["pooled"] < raw.max()
    assert row["pooled_lower"] < row["pooled"] < row["pooled_upper"]


@pytest.mark.parametrize(
    "given",
    [
        "clusters",
        pytest.param("sample_weight", marks=pytest.mark.slow),
        pytest.param("counts", marks=pytest.mark.slow),
    ],
)
def test_weights_counts_and_people_are_those_of_group_metrics(given):
    cells = [(sex, race) for sex in "FM" for race in "abc"]
    people, label, y_pred = people_of(dict(zip(cells, range(5, 35, 5), strict=True)))
    column = {
        "sample_weight": np.random.default_rng(1).exponential(size=len(people)),
        "counts": np.arange(len(people)) % 3 + 1,
        "clusters": np.arange(len(people)) // 5,
    }[given]
    options = {given: column}
    report = FairnessReport.from_predictions(
        label, y_pred=y_pred, sensitive_features=people, **DECISIONS, **options
    )
    check(report, people, label, y_pred, **options)


def test_numbers_stand_in_page_and_markdown_and_labels_are_escaped(pooled):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page, text = pooled.to_html(), pooled.to_markdown()
    assert "<b>" not in page
    assert "<b>" not in text
    table = page[page.index('<table class="pooled">') :].split("</table>")[0]
    result = pooled.summary["attributes"][-1]["results"][0]
    rows = re.findall(r"<tr>\s*<th scope=\"row\">(.*?)</tr>", table, re.S)
    assert len(rows) == len(result["pooled"]["rows"]) == 16
    lines = [line for line in text.splitlines() if "c | Selected | 7 |" in line]
    for row, written in zip(result["pooled"]["rows"], rows, strict=True):
        assert written.startswith(row["label"].replace("<b>", "&lt;b&gt;"))
        for number in NUMBERS[1:]:
            assert f"{100 * row[number]:.1f}%" in written
    (line,) = lines
    own = next(row for row in result["pooled"]["rows"] if row["label"] == SMALL)
    for number in NUMBERS[1:]:
        assert f"{own[number]:.3f}" in line
    sentence = result["pooled"]["sentence"]
    assert "borrows from the margins" in sentence
    assert "same sex or race" in sentence
    assert "93.5%" in sentence
    assert sentence in page
    assert sentence in text
    assert 'id="word-pooled"' in page


@pytest.mark.slow
def test_more_groups_than_are_shown_are_folded():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    cells = [(sex, race) for sex in "FM" for race in "abcdefg"]
    people, _, y_pred = people_of(dict.fromkeys(cells, 12))
    pages = [
        FairnessReport.from_predictions(
            None, y_pred=y_pred, sensitive_features=people, **DECISIONS | options
        ).to_html()
        for options in ({}, {"intersection": None})
    ]
    page, advice = pages[0], "Pool the rates of small groups of both attributes"
    assert [advice in each for each in pages] == [False, True]
    assert f"<summary>Pooled rates by {CROSSED}</summary>" in page
    assert page.count("<details>") == page.count("</details>")


LEFT_OUT = {
    "not asked for": {"intersection": None},
    "one attribute": {"sensitive_features": ["sex"]},
    "means": {"scale": "real", "metrics": None},
    "ranks": {"scale": "rank", "metrics": None},
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_without_request_or_rates_there_is_no_table(case):
    people, label, y_pred = people_of({(a, b): 20 for a in "FM" for b in "ab"})
    options = {**DECISIONS, **LEFT_OUT[case]}
    people = people[options.pop("sensitive_features", ["sex", "race"])]
    values = {"y_score": y_pred + 0.0} if "scale" in options else {"y_pred": y_pred}
    report = FairnessReport.from_predictions(
        label, **values, sensitive_features=people, **options
    )
    with pytest.raises(ValueError, match="needs a report made with intersection=True,"):
        report.to_frame("pooled")
    assert "ooled rate" not in report.to_markdown()


def test_of_several_classes_accuracies_are_pooled():
    people, label, y_pred = people_of({(a, b): 20 for a in "FM" for b in "ab"})
    y_pred = y_pred + (np.arange(80) % 5 == 0)
    report = FairnessReport.from_predictions(
        label,
        y_pred=y_pred,
        sensitive_features=people,
        **{**OPTIONS, "metrics": ["equalized_odds_difference"]},
    )
    table = report.to_frame("pooled")
    assert set(table["rate"]) == {"accuracy"}
    overall = group_metrics(
        "accuracy", label, y_pred, sensitive_features=people, pooling="additive"
    ).groups
    np.testing.assert_allclose(table["pooled"], overall["pooled"], atol=1e-6)


def test_the_command_line_asks_for_them(unequal, tmp_path):
    people, _, y_pred = unequal
    people.assign(y=y_pred).iloc[9_500:].to_csv(tmp_path / "table.csv", index=False)
    out, options = tmp_path / "card.md", ["--pos-label", "1", "--permutations", "0"]
    arguments = [str(tmp_path / "table.csv"), "--y-pred", "y", "--sensitive"]
    arguments += ["sex,race", "--out", str(out), *options]
    assert main(["audit", *arguments]) == 0
    assert "Pooled rates" not in out.read_text()
    assert main(["audit", *arguments, "--intersection"]) == 0
    assert f"### Pooled rates: {CROSSED}" in out.read_text()
