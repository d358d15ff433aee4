"""New York's public summary: every field of the rules, and the numbers of the table."""

import datetime

import numpy as np
import pandas as pd
import pytest

from skfair.metrics import impact_ratios
from skfair.report import FairnessReport, public_summary

BOTH = "sex \u00d7 race"
GIVEN = {
    "audit_date": "2026-03-02",
    "distribution_date": datetime.date(2025, 11, 10),
    "source": "Applications of 2025 | all sites",
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 2_000), "race": rng.choice(["A", "B"], 2_000)}
    )
    people.loc[:9, "sex"] = None
    people.loc[5:19, "race"] = "tiny"
    return people


@pytest.fixture(scope="module")
def hired(people):
    return (np.arange(len(people)) % 3 == 0).astype(int)


def rows_of(text, heading):
    """Cells of the table under a heading, without its head."""
    part = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


@pytest.mark.promise("The public summary has the fields of New York's rules")
def test_every_field_of_the_rules(people, hired):
    table = impact_ratios(None, hired, sensitive_features=people)
    text = public_summary(table, **GIVEN)
    assert "\n- Date of the bias audit: 2026-03-02\n" in text
    assert "\n- Distribution date of the tool: 2025-11-10\n" in text
    assert (
        "\n- Source and explanation of the data: Applications of 2025 \\| all sites\n"
    ) in text
    unknown = f"10 by sex; 0 by race; 10 by {BOTH}"
    assert f"\n- Number of people in an unknown category: {unknown}\n" in text
    assert "| Category | Number | Selected | Selection rate | Impact ratio |" in text


def test_numbers_are_those_of_the_table(people, hired):
    table = impact_ratios(None, hired, sensitive_features=people)
    text = public_summary(table, **GIVEN)
    for attribute in ("sex", "race", BOTH):
        expected = table.loc[attribute].query("status != 'unknown'")
        found = rows_of(text, attribute)
        assert [row[0] for row in found] == list(expected.index)
        assert [row[1].replace(",", "") for row in found] == [
            str(n) for n in expected["n"]
        ]
        for name, place in (("selected", 2), ("rate", 3), ("impact_ratio", 4)):
            assert [float(row[place]) for row in found] == pytest.approx(
                list(expected[name]), abs=5e-4
            )


def test_exclusions_need_a_reason_and_keep_number_and_rate(people, hired):
    table = impact_ratios(None, hired, sensitive_features=people, min_share=0.02)
    with pytest.raises(ValueError, match=r"justification must say why .*'tiny'"):
        public_summary(table, **GIVEN)
    text = public_summary(table, **GIVEN, justification="Fifteen people in all.")
    assert "\n- Justification of exclusions: Fifteen people in all.\n" in text
    row = next(row for row in rows_of(text, "race") if row[0] == "tiny")
    assert row[1] == "15"
    assert float(row[3]) == pytest.approx(table.loc[("race", "tiny"), "rate"], abs=5e-4)
    assert row[4] == "excluded"


def test_scoring_rates_and_the_table_of_a_report(people):
    report = FairnessReport.from_predictions(
        None,
        np.linspace(0, 1, len(people)),
        sensitive_features={"race": people["race"]},
        metrics=["mcdp"],
        impact_ratios=True,
        n_permutations=59,
        random_state=0,
    )
    filed = report.to_frame("impact_ratios").set_index(["attribute", "group"])
    text = public_summary(filed.query("kind == 'scoring'"), **GIVEN, rate="scoring")
    assert "| Number | Above the median | Scoring rate | Impact ratio |" in text
    assert [row[0] for row in rows_of(text, "race")] == ["A", "B", "tiny"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"audit_date": "March"}, "audit_date must be a date.*got 'March'"),
        ({"distribution_date": None}, "distribution_date must be a date.*got None"),
        ({"source": " "}, "source must be a text .* got ' '"),
        ({"rate": "hits"}, "rate must be 'selection' or 'scoring', got 'hits'"),
        ({"table": pd.DataFrame({"n": [1]})}, "table must be one of impact_ratios"),
    ],
)
def test_bad_input(people, hired, options, match):
    given = {"table": impact_ratios(None, hired, sensitive_features=people), **GIVEN}
    given |= options
    with pytest.raises(ValueError, match=match):
        public_summary(given.pop("table"), **given)


def test_two_tables_at_once_are_refused(people, hired):
    table = impact_ratios(None, hired, sensitive_features=people)
    with pytest.raises(ValueError, match=r"one row for each group.*'sex', 'F'"):
        public_summary(pd.concat([table, table]), **GIVEN)
