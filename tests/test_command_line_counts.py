"""``python -m skfair audit`` of tables whose rows stand for several people.

The page is that of the people, and a stranger is told the command.
"""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

#: Published tables of the same people: by group, and by group and decision.
WIDE = "group,applicants,selected\nA,120,60\nB,80,20\nC,50,20\nD,8,8\n"
LONG = "group,selected,people\n" + "".join(
    f"{label},1,{chosen}\n{label},0,{everyone - chosen}\n"
    for label, everyone, chosen in (("A", 120, 60), ("B", 80, 20), ("C", 50, 20))
)


@pytest.fixture
def audit(tmp_path, monkeypatch, capsys):
    """Run a command; return its code, the numbers, the next command, and all said."""
    monkeypatch.chdir(tmp_path)

    def run(typed):
        typed = typed if isinstance(typed, list) else shlex.split(typed)
        code = main(["audit", *typed])
        said = capsys.readouterr().err
        tried = said.partition("try: ")[2]
        out = Path("out.json")
        numbers = json.loads(out.read_text("utf-8")) if out.exists() else None
        return code, numbers, shlex.split(tried)[4:], said

    return run


def people(table):
    """A row for each of the people of a table with applicants and selected."""
    each = []
    for row in table.itertuples():
        labels = [1] * row.selected + [0] * (row.applicants - row.selected)
        each += [{"group": row.group, "selected": label} for label in labels]
    return pd.DataFrame(each)


@pytest.mark.promise("A published table of counts has the page of its people")
def test_the_page_is_that_of_the_people(audit):
    Path("wide.csv").write_text(WIDE)
    people(pd.read_csv("wide.csv")).to_csv("people.csv", index=False)
    rest = "--sensitive group --impact-ratios --permutations 59 --out out.json"
    expected = audit(f"people.csv --y-pred selected {rest}")[1]
    assert expected["n_rows"] == 258
    found = audit(f"wide.csv --count applicants --selected selected {rest}")[1]
    # The order of the rows decides which shuffles are drawn.
    for numbers in found, expected:
        for measure in numbers["attributes"][0]["results"][0]["measures"]:
            pvalue = measure.pop("pvalue")  # of metrics that answer a question alone
            assert pvalue is None or pvalue < 0.1
            measure["finding"] = measure["finding"].replace("“1”", "“selected”")
            for name in "null_mean", "pairs", "decided", "sentence", "note":
                measure.pop(name, None)
    assert found["attributes"] == expected["attributes"]
    assert found["questions"]["decisions"] == "Who gets the decision “selected”?"


def test_labels_are_no_numbers_of_selected_people(audit):
    lines = "group,hired,people\nA,1,40\nA,0,60\nB,1,20\nB,0,80\n"
    Path("labels.csv").write_text(lines)
    rest = "--count people --sensitive group --permutations 0 --out out.json"
    code, _, tried, said = audit(f"labels.csv --selected hired {rest}")
    assert code == 2
    assert "column 'hired' has only 0 and 1, as labels have, beside up to 80" in said
    assert audit(tried)[1]["n_rows"] == 200
    # Groups of one row may have one person who is selected.
    Path("few.csv").write_text("group,hired,people\nA,1,40\nB,0,60\n")
    assert audit(f"few.csv --selected hired {rest}")[1]["n_rows"] == 100


def test_rows_of_each_decision(audit):
    Path("long.csv").write_text(LONG)
    rest = "--sensitive group --permutations 0 --out out.json"
    code, numbers, _, _ = audit(f"long.csv --y-pred selected --count people {rest}")
    assert code == 0
    groups = numbers["attributes"][0]["results"][0]["groups"]
    assert [group["selection_rate"] for group in groups] == [0.5, 0.25, 0.4]
    assert [group["n"] for group in groups] == [120, 80, 50]


@pytest.mark.parametrize(
    "rare", ["drop", pytest.param("merge", marks=pytest.mark.slow)]
)
def test_small_groups_and_rows_left_out_are_counted_in_people(audit, rare):
    Path("wide.csv").write_text(WIDE + "E,4,1\n,7,3\n")
    options = f"--rare {rare} --missing-groups drop --permutations 0 --out out.json"
    command = "wide.csv --count applicants --selected selected --sensitive group"
    _, numbers, _, _ = audit(f"{command} {options}")
    sizes = {g["label"]: g["n"] for g in numbers["attributes"][0]["groups"]}
    other = {"(other)": 12} if rare == "merge" else {}
    assert sizes == {"A": 120, "B": 80, "C": 50, **other}
    assert numbers["attributes"][0]["n_missing"] == (7 if rare == "merge" else 19)


@pytest.mark.slow
def test_missing_labels_are_counted_in_people(audit):
    Path("long.csv").write_text(LONG + "A,,9\n")
    command = "long.csv --y-pred selected --count people --sensitive group"
    rest = "--permutations 0 --missing-values drop --out out.json"
    numbers = audit(f"{command} {rest}")[1]
    assert numbers["settings"]["left_out"]["n_rows"] == 9
    assert numbers["n_rows"] == 250


STRANGERS = {
    "selected as decisions": (WIDE, "--y-pred selected"),
    "another label": (WIDE, "--y-pred selected --pos-label 60"),
    "counted, selected as decisions": (WIDE, "--y-pred selected --count applicants"),
    "selected without a count": (WIDE, "--selected selected"),
    "selected twice": (
        WIDE,
        "--y-pred selected --selected selected --count applicants",
    ),
    "a row for each decision": (LONG, "--y-pred selected"),
}
QUICK = "selected as decisions", "selected without a count", "a row for each decision"


@pytest.mark.parametrize(
    ("table", "typed"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name, case in STRANGERS.items()
    ],
)
def test_the_second_command_gives_the_page(audit, table, typed):
    Path("t.csv").write_text(table)
    rest = "--sensitive group --permutations 0 --out out.json"
    code, numbers, tried, _ = audit(f"t.csv {typed} {rest}")
    assert (code, numbers) == (2, None)
    code, numbers, _, said = audit(tried)
    assert code == 0, said
    assert numbers["n_rows"] in (250, 258)


def test_codes_of_decisions_are_no_counts(audit):
    rng = np.random.default_rng(0)
    frame = {"year": 2023, "decision": rng.integers(1, 6, 200), "sex": [*"FM"] * 100}
    pd.DataFrame(frame).to_csv("t.csv", index=False)
    rest = "--sensitive sex --permutations 0 --out out.json"
    code, _, tried, _ = audit(f"t.csv --y-pred decision {rest}")
    assert code == 2
    assert tried[-2:] == ["--pos-label", "1"]
    assert audit(tried)[1]["n_rows"] == 200


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("E,10,11", "whole numbers from 0 to those of column 'applicants', got 11 of"),
        ("E,10,-1", "got -1 of 10 in row 5 of t.csv"),
        ("E,10,1.5", "got 1.5 of 10"),
        ("E,10,", "got nan of 10"),
        ("E,10,few", "column 'selected' must be numbers, got 'few'"),
    ],
)
def test_counts_that_are_refused(audit, row, message):
    Path("t.csv").write_text(WIDE + row + "\n")
    command = "t.csv --count applicants --selected selected --sensitive group"
    code, numbers, _, said = audit(f"{command} --out out.json")
    assert (code, numbers) == (2, None)
    assert message in said


@pytest.mark.parametrize(
    "large", [2**25, pytest.param(0, marks=pytest.mark.slow)], ids=["pandas", "duckdb"]
)
def test_weights_that_may_be_counts(audit, monkeypatch, large):
    if not large:
        pytest.importorskip("duckdb")
    monkeypatch.setattr("skfair._cli._read._LARGE", large)
    Path("t.csv").write_text(LONG + LONG.partition("\n")[2])
    command = "t.csv --y-pred selected --sample-weight people --sensitive group"
    rest = "--min-group-size 1 --permutations 0 --out out.json"
    _, numbers, _, _ = audit(f"{command} {rest}")
    (note,) = numbers["settings"]["notes"]
    assert "whole weights, 42 on average" in note
    assert "--count people" in note
    Path("t.csv").write_text(LONG.replace("0\n", "0.5\n"))
    assert audit(f"{command} {rest}")[1]["settings"]["notes"] == []


FIELD = Path(__file__).parents[2] / "shared" / "field"


@pytest.mark.slow
@pytest.mark.skipif(not FIELD.is_dir(), reason="needs the messy files")
@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("aggregate.csv", "--y-pred selected --sensitive group"),
        ("bank.csv", "--y-pred Decision --y-score Score --sensitive Gender"),
        ("hiring.csv", "--y-score score --threshold 60 --sensitive sex,ethnicity"),
    ],
)
def test_messy_files_have_a_page_at_the_second_command(audit, name, typed):
    code, _, tried, _ = audit(f"{FIELD / name} {typed}")
    assert code == 2
    assert audit(tried)[0] == 0
    assert Path("report.html").exists()


def test_a_table_of_counts_is_recognised_without_decisions(audit):
    Path("wide.csv").write_text(WIDE)
    code, _, tried, said = audit("wide.csv --sensitive group --out out.json")
    assert code == 2
    assert "--count applicants --selected selected reads it so" in said
    assert tried[-4:] == ["--count", "applicants", "--selected", "selected"]
    assert audit([*tried, "--permutations", "59"])[0] == 0
