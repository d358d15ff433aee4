"""``skfair data``: a table before any model."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair._cli._command_line import main
from skfair.groups import CROSS
from skfair.report import DataReport


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sex = np.where(rng.random(300) < 0.4, "F", "M")
    table = pd.DataFrame({"sex": sex, "age": rng.integers(20, 60, 300)})
    table["hours"] = (rng.normal(38, 5, 300) + 5 * (sex == "M")).round(1)
    table["y"] = (rng.random(300) < 0.4).astype(int)
    table.to_csv("table.csv", index=False)
    return table


DATA = ["data", "table.csv", "--y-true", "y", "--sensitive", "sex"]


def test_text_is_that_of_the_library(table, capsys):
    assert main(DATA) == 0
    features = table.drop(columns=["sex", "y"])
    expected = DataReport.from_frame(
        features, table.y, sensitive_features={"sex": table.sex}
    )
    assert capsys.readouterr().out == f"{expected}\n"


def test_json_with_ranges(table):
    options = ["--sensitive", "sex,age", "--bins", "age=40", "--limit", "0.2"]
    out = ["--out", "data.json", "--format", "json", "--date", "2026-01-31"]
    assert main([*DATA, *options, *out]) == 0
    with open("data.json", encoding="utf-8") as file:
        found = json.load(file)
    assert [a["name"] for a in found["attributes"]] == ["sex", "age", f"sex{CROSS}age"]
    labels = [group["label"] for group in found["attributes"][1]["groups"]]
    assert labels == ["under 40", "40 and over"]
    assert found["settings"]["limit"] == 0.2
    assert found["date"] == "2026-01-31"


def test_parquet_and_page(table, capsys):
    pytest.importorskip("pyarrow")
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    table.to_parquet("table.parquet")
    arguments = ["data", "table.parquet", "--sensitive", "sex", "--out", "page.html"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "page.html\n"
    with open("page.html", encoding="utf-8") as file:
        assert "SHA-256" in file.read()


def test_error_names_the_first_column_that_has_no_numbers(
    tmp_path, monkeypatch, capsys
):
    """It depends on no hash: of thirty columns a set begins with another one."""
    monkeypatch.chdir(tmp_path)
    names = [f"column {i}" for i in range(30)]
    pd.DataFrame({name: ["a", "b"] for name in names}).to_csv("table.csv", index=False)
    bins = [part for name in names for part in ("--bins", f"{name}=1")]
    assert main(["data", "table.csv", "--sensitive", ",".join(names), *bins]) == 2
    assert "bins of column 'column 0' need numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "table.csv"], "--sensitive must name a column"),
        (["data", "none.csv", "--sensitive", "sex"], "none.csv does not exist"),
        (["data", "table.csv", "--sensitive", "x"], "no column 'x'"),
        ([*DATA, "--out", "table.csv"], "which is to be read"),
        ([*DATA, "--limit", "2"], "--limit must be"),
    ],
)
def test_bad_arguments(arguments, message, table, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
