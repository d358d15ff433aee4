"""``python -m skfair compare``, on good files and bad ones."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from skfair._cli._command_line import main
from skfair.model_selection import compare_models

GOOD = "table.csv --y-true y --y-score a,b,c --baseline a --sensitive sex --margin .02"


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y, man = rng.integers(0, 2, (2, 1000))
    merit = y + rng.normal(size=1000)
    return pd.DataFrame(
        {
            "y": y,
            "truth": np.where(y, "yes", "no"),
            "a": merit + man,
            "b": merit,
            "c": rng.random(1000),
            "sex": np.where(man, "M", "F"),
            "age": rng.integers(20, 60, 1000),
            "w": rng.integers(1, 3, 1000),
        }
    )


@pytest.fixture
def compare(table, tmp_path, monkeypatch, capsys):
    """Run the command on the table, and return its code and what it said."""
    monkeypatch.chdir(tmp_path)
    table.to_csv("table.csv", index=False)

    def run(arguments):
        code = main(["compare", *arguments.split()])
        return code, capsys.readouterr()

    return run


def test_numbers_are_those_of_compare_models(compare, table, tmp_path):
    code, said = compare(f"{GOOD} --format json --sample-weight w")
    assert code == 0
    found = json.loads(said.out)
    expected = compare_models(
        table["y"],
        table[["a", "b", "c"]],
        baseline="a",
        sensitive_features=table["sex"],
        margin=0.02,
        sample_weight=table["w"],
    )
    assert found["models"] == expected.to_dict()["models"]
    assert found["best"] == "b"
    digest = hashlib.sha256((tmp_path / "table.csv").read_bytes()).hexdigest()
    assert found["sha256"] == digest
    assert digest in found["sentences"][-1]


def test_the_console_shows_markdown_and_a_file_is_a_page(compare, tmp_path):
    code, said = compare(GOOD)
    assert code == 0
    assert "Confirmed for b of 2 tested models on 1,000 rows" in said.out
    assert "| b |" in said.out
    code, said = compare(f"{GOOD} --out page.html")
    assert code == 0
    assert said.out.endswith("page.html\n")
    assert "<svg" in (tmp_path / "page.html").read_text("utf-8")
    assert compare(f"{GOOD} --out page.html --no-overwrite")[0] == 2


def test_labels_of_text_bins_and_intersections(compare):
    text = GOOD.replace("--y-true y", "--y-true truth --pos-label yes")
    assert compare(text)[1].out == compare(GOOD)[1].out
    code, said = compare(f"{GOOD} --sensitive age --bins age=40")
    assert code == 0
    assert "F, under 40" in said.out


def test_small_groups_are_not_compared(compare):
    code, said = compare(f"{GOOD} --min-group-size 600")
    assert code == 4
    assert "the groups cannot be compared" in said.err


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("--margin .02", "--margin -1", "--margin must be a number in"),
        ("--sensitive sex", "", "--sensitive must name a column"),
        (
            "--baseline a",
            "--baseline y",
            "--y-score must name the column of --baseline",
        ),
        ("--y-score a,b,c", "--y-score a", "--y-score must name the column"),
        ("--y-true y", "--y-true truth", "must have two labels"),
        ("--y-score a,b,c", "--y-score a,d", "'d'"),
        ("table.csv", "none.csv", "none.csv does not exist"),
        ("table.csv", "t*.csv", "Only `skfair audit --engine duckdb` reads a pattern"),
        ("table.csv", "table.csv --out table.csv", "is table.csv, which is to be read"),
        ("table.csv", "table.csv --confidence-level 1", "--confidence-level must be"),
    ],
)
def test_bad_arguments_end_in_one_line(compare, old, new, error):
    code, said = compare(GOOD.replace(old, new))
    assert code == 2
    assert error in said.err
    assert said.err.startswith("skfair compare: error: ")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_missing_values(compare, table, tmp_path):
    table.loc[3, "b"] = np.nan
    table.to_csv(tmp_path / "table.csv", index=False)
    code, said = compare(GOOD)
    assert code == 2
    assert "column 'b' has 1 missing values" in said.err
    code, said = compare(f"{GOOD} --missing drop")
    assert code == 0
    assert "skfair compare: note: 1 rows without" in said.err
    assert "on 999 rows" in said.out
