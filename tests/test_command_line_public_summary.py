"""``skfair audit --public-summary``: the fields of Local Law 144, from a table."""

import numpy as np
import pandas as pd
import pytest

from skfair._cli._command_line import main
from skfair.groups import CROSS
from skfair.metrics import impact_ratios
from skfair.report import public_summary

AUDIT = ["audit", "people.csv", "--sensitive", "sex,race", "--missing", "drop"]
AUDIT += ["--permutations", "0", "--quiet", "--public-summary", "public.md"]
FIELDS = ["--date", "2026-03-02", "--distribution-date", "2025-11-10"]
FIELDS += ["--source", "Applications | 2025"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "hired": rng.integers(0, 2, 400),
            "p": rng.random(400).round(3),
            "sex": rng.choice(["F", "M"], 400),
            "race": rng.choice(["A", "B"], 400),
        }
    )
    people.loc[:4, "race"] = "tiny"
    people.loc[5:11, "sex"] = None
    people.to_csv("people.csv", index=False)
    return people


@pytest.mark.parametrize(
    ("columns", "rate"),
    [
        (["--y-pred", "hired"], "selection"),
        (["--y-score", "p"], "scoring"),
        (["--y-score", "p", "--y-pred", "hired"], "selection"),
    ],
)
def test_it_is_that_of_the_function(columns, rate, people, tmp_path, capsys):
    assert main([*AUDIT, *FIELDS, *columns, "--min-group-size", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "public.md"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".html"] == []
    table = impact_ratios(
        None,
        people["hired" if rate == "selection" else "p"],
        sensitive_features=people[["sex", "race"]],
        rate=rate,
    )
    expected = public_summary(
        table,
        audit_date="2026-03-02",
        distribution_date="2025-11-10",
        source="Applications | 2025",
        rate=rate,
    )
    found = (tmp_path / "public.md").read_text()
    # A report writes an intersection with commas.
    for sex in "FM":
        found = found.replace(f"{sex}, ", f"{sex}{CROSS}")
    assert found == expected + "\n"
    assert "unknown category: 7 by sex; 0 by race; 7 by sex" in found


def test_exclusions_are_justified(people, tmp_path, capsys):
    given = [*AUDIT, *FIELDS, "--y-pred", "hired"]
    assert main(given) == 2
    assert "--justification must say why" in capsys.readouterr().err
    assert not (tmp_path / "public.md").exists()
    assert main([*given, "--justification", "Five people."]) == 0
    text = (tmp_path / "public.md").read_text()
    assert "- Justification of exclusions: Five people." in text
    assert "| tiny | 5 |" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (FIELDS[2:], "--public-summary must be given with --date."),
        (FIELDS[:2] + FIELDS[4:], "must be given with --distribution-date."),
        ([*FIELDS[:4], "--source", " "], "must be given with --source."),
        ([*FIELDS, "--distribution-date", "May"], "--distribution-date must be a date"),
        ([*FIELDS, "--y-pred", "hired,p"], "must be of one model of classes"),
        ([*FIELDS, "--target", "number"], "must be of one model of classes"),
        ([*FIELDS, "--public-summary", "people.csv"], "--public-summary people.csv is"),
    ],
)
def test_bad_arguments(arguments, message, people, capsys):
    assert main([*AUDIT, "--y-pred", "hired", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_fields_need_a_summary(people, capsys):
    given = ["audit", "people.csv", "--y-pred", "hired", "--sensitive", "race"]
    assert main([*given, "--out", "page.html", *FIELDS]) == 2
    assert "--distribution-date must be given with --public" in capsys.readouterr().err
