"""``python -m skfair audit`` reads files by DuckDB as it does by pandas."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair._cli import _duckdb as module
from skfair._cli._command_line import main

pytest.importorskip("duckdb", reason="needs the extra duckdb")
pytest.importorskip("pyarrow", reason="needs the extra duckdb")

METRICS = "--y-true y --y-score p --sensitive sex,code --out out.json --format json"
ONE = METRICS.replace("sex,code", "sex")
FEW = "--resamples 1 --permutations 59 --min-group-size 2"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 120)
    p = rng.beta(2 + (sex == "M"), 3).round(2)
    return pd.DataFrame(
        {
            "y": (rng.random(120) < p).astype(int),
            "p": p,
            "hired": np.where(p > 0.5, "yes", "no"),
            "sex": sex,
            "code": rng.choice(["01", "NA"], 120),
            "age": rng.integers(18, 90, 120),
            "w": rng.integers(0, 3, 120),
        }
    )


def audit(capsys, arguments):
    code = main(["audit", *FEW.split(), *arguments.split()])
    return code, capsys.readouterr().err


def report():
    with open("out.json", encoding="utf-8") as file:
        return json.load(file)


def by_both(capsys, arguments):
    found = []
    for engine in "duckdb", "pandas":
        code, said = audit(capsys, f"table.csv {ONE} {arguments} --engine {engine}")
        assert code == 0, said
        found.append((report(), said))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "--sample-weight w",
        pytest.param("--bins age=40,60 --sensitive age", marks=pytest.mark.slow),
        pytest.param(
            "--y-pred hired --pos-label yes --y-true hired", marks=pytest.mark.slow
        ),
    ],
)
def test_same_report_as_by_pandas(table, capsys, arguments):
    table.to_csv("table.csv", index=False)
    (one, said), (other, said_by_pandas) = by_both(capsys, arguments)
    assert one == other
    assert said == said_by_pandas


@pytest.mark.slow
@pytest.mark.parametrize(
    "strata",
    [
        "--control-features code,age --bins age=40",
        "--control-features y --missing group",
    ],
)
def test_strata(table, capsys, strata):
    """Strata are labels as they are written, numbers in ranges, or the true label."""
    if "missing" in strata:
        table.loc[3:9, "sex"] = None
    table.to_csv("table.csv", index=False)
    labels = "--y-pred hired --pos-label yes --y-true hired --sensitive sex"
    if "features y" in strata:
        labels = "--y-pred y --sensitive sex"
    found = []
    for engine in "duckdb", "pandas":
        out = f"--out out.json --format json --engine {engine}"
        code, said = audit(capsys, f"table.csv {labels} {out} {strata}")
        assert code == 0, said
        found.append(report())
    assert found[0] == found[1]
    within = found[0]["attributes"][0]["results"][0]["strata"]
    assert within["n_rows"] == 120
    assert within["n_strata"] == (4 if "age" in strata else 2)


@pytest.mark.slow
def test_other_text(table, capsys):
    """Spaces after separators, quoted fields, and a byte order mark."""
    text = table.to_csv(index=False, sep=";", quoting=1).replace(";", "; ")
    with open("table.csv", "w", encoding="utf-8-sig") as file:
        file.write(text)
    (one, _), (other, _) = by_both(capsys, "--sep ;")
    assert one == other


@pytest.mark.slow
def test_missing_values(table, capsys):
    table.loc[:4, "p"] = None
    table.loc[7:9, "sex"] = None
    table.to_csv("table.csv", index=False)
    command = f"table.csv {METRICS} --engine duckdb"
    code, said = audit(capsys, command)
    assert code == 2
    assert "column 'p' of table.csv has 5 missing values; --missing drop" in said
    code, said = audit(capsys, f"{command} --missing drop")
    assert code == 2
    assert "choose --missing group or --engine pandas" in said
    # Without being asked for, DuckDB leaves such a file to pandas.
    module_large, module._LARGE = module._LARGE, 0
    try:
        code, said = audit(capsys, f"table.csv {METRICS} --missing drop")
    finally:
        module._LARGE = module_large
    assert code == 0
    assert said.count("5 rows without p, y are left out") == 1
    table["p"] = np.arange(len(table)) % 10 / 10
    table.loc[3:5, "code"] = None
    table.to_csv("table.csv", index=False)
    (one, _), (other, _) = by_both(capsys, "--missing group --control-features code")
    assert one == other
    assert "(missing)" in str(one["attributes"][0]["results"][0]["strata"])
    assert "(missing)" in str(one["attributes"])


@pytest.mark.slow
def test_rare_groups_are_merged(table, capsys):
    rare = np.arange(120) % 20 == 0
    table["sex"] = np.where(rare, ["X", "Y", "Y"] * 40, table["sex"])
    table["sex"] = table["sex"].where(np.arange(120) > 5)
    table.to_csv("table.csv", index=False)
    options = "--missing group --rare merge --min-group-size 5"
    (by_duckdb, _), (by_pandas, _) = by_both(capsys, options)
    assert by_duckdb == by_pandas
    groups = by_pandas["attributes"][0]["groups"]
    assert [group["label"] for group in groups] == ["F", "M", "(missing)", "(other)"]
    table.to_parquet("table.parquet")
    code, said = audit(
        capsys, f"table.parquet {ONE} {options} --sensitive age --engine duckdb"
    )
    assert code == 0, said
    names = [group["label"] for group in report()["attributes"][1]["groups"]]
    assert names[-1] == "(other)"
    ages = table["age"].value_counts().sort_index()
    assert names[:-1] == [str(age) for age in ages.index[ages >= 5]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--rare drop --engine duckdb", "choose --rare merge or --engine pandas"),
        ("--rare merge --min-group-size 1", "--min-group-size must be above 1"),
        ("--rare merge --engine duckdb --min-group-size 1", "-size must be above 1"),
        ("--rare merge --engine duckdb", "--rare must not be 'merge' where a group"),
        ("--rare merge --engine pandas", "--rare must not be 'merge' where a group"),
    ],
)
def test_rare_groups_that_cannot_be_merged(table, capsys, options, says):
    table["sex"] = np.where(np.arange(120) % 119 == 0, ["X", "Y"] * 60, "(other)")
    table.to_csv("table.csv", index=False)
    code, said = audit(capsys, f"table.csv {ONE} --min-group-size 4 {options}")
    assert code == 2
    assert says in said


@pytest.mark.slow
def test_pattern_of_files(table, capsys):
    table[:50].to_parquet("part_1.parquet")
    table[50:].to_parquet("part_2.parquet")
    table.to_csv("table.csv", index=False)
    code, said = audit(capsys, f"part_*.parquet {ONE}")
    assert code == 0, said
    found = report()
    lines = "".join(
        f"{hashlib.sha256(Path(name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("part_1.parquet", "part_2.parquet")
    )
    assert found.pop("input") == "part_*.parquet (2 files)"
    assert found.pop("sha256") == hashlib.sha256(lines.encode()).hexdigest()
    audit(capsys, f"table.csv {ONE}")
    expected = report()
    assert found == {key: expected[key] for key in found}


def test_auto(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_LARGE", 10)
    (tmp_path / "large.csv").write_text("x" * 11)
    (tmp_path / "small.csv").write_text("x" * 9)
    (tmp_path / "large.xlsx").write_text("x" * 11)
    (tmp_path / "a[1].csv").write_text("x")
    path = type(tmp_path)
    assert module.takes_duckdb(path("large.csv"), "auto")
    assert module.takes_duckdb(path("*.csv"), "auto")
    for name in "small.csv", "large.xlsx", "a[1].csv", "none.csv":
        assert not module.takes_duckdb(path(name), "auto")
    assert module.takes_duckdb(path("small.csv"), "duckdb")
    assert not module.takes_duckdb(path("large.csv"), "pandas")


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("y,p,sex,code\n1,2,F,a\n0,.5,M,b\n", "", "must lie in [0, 1], got 2.0"),
        ("y,p,sex,code\n1,2,F,a\n0,.5,M,b\n", "", "in a line of table.csv (1 such"),
        ("y,p,sex,code\n", "", "table.csv has 0 rows"),
        ("y,p,sex\n1,.5,F\n", "", "has no column 'code'"),
        ("y;p;sex;code\n1;.5;F;a\n", "--sep ,", "has no column"),
        ("y,p,sex,code\n1,x,F,a\n0,.5,M,b\n", "", "must be numbers, got 'x' in line 2"),
        ("y,p,sex,code\n1,.5,F,a\n", "--bins sex=3", "column 'sex' need numbers"),
        ("y,p,sex,code\n1,,F,a\n", "--missing drop", "no row without missing values"),
        ("y,p,sex,code\n1,.5,F,a\n0,.5,M,b,extra,more\n", "", "table.csv"),
    ],
)
def test_bad_files(tmp_path, monkeypatch, capsys, content, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(content)
    code, said = audit(capsys, f"table.csv {METRICS} --engine duckdb {arguments}")
    assert code == 2
    assert message in said
    assert len(said.splitlines()) == 1


def test_files_that_are_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, message in {
        "none_*.parquet": "none_*.parquet matches no file",
        "none.csv": "none.csv does not exist",
        "none.xlsx": "DuckDB reads CSV and Parquet",
    }.items():
        code, said = audit(capsys, f"{name} {METRICS} --engine duckdb")
        assert code == 2
        assert message in said


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
def test_a_column_of_scores_and_one_of_labels_are_one_model(table, capsys, engine):
    table.assign(decision=(table["p"] >= 0.3).astype(int)).to_csv(
        "table.csv", index=False
    )
    columns = "--y-score p --y-pred decision --y-true y --sensitive sex"
    out = f"--out out.json --format json --engine {engine}"
    code, said = audit(capsys, f"table.csv {columns} {out}")
    assert code == 0, said
    assert [model["name"] for model in report()["models"]] == ["p"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_names_that_differ_in_case(table, capsys, monkeypatch, kind):
    table = table.assign(SEX="x").drop(columns="w")
    getattr(table, f"to_{kind}")(f"table.{kind}", index=False)
    arguments = f"table.{kind} {METRICS.replace('sex,code', 'sex,SEX')}"
    code, said = audit(capsys, f"{arguments} --engine duckdb")
    assert code == 2
    assert "columns 'sex' and 'SEX' differ in upper and lower case alone" in said
    monkeypatch.setattr(module, "_LARGE", 0)
    assert audit(capsys, arguments)[0] == 0  # pandas reads what DuckDB cannot
    assert [one["name"] for one in report()["attributes"]][:2] == ["sex", "SEX"]


def test_labels_as_groups(table, capsys):
    """No column is read as groups alone."""
    table.to_csv("table.csv", index=False)
    found = []
    for engine in "duckdb", "pandas":
        options = f"{METRICS.replace('sex,code', 'y')} --engine {engine}"
        assert audit(capsys, f"table.csv {options}")[0] == 0
        found.append(report())
    assert found[0] == found[1]
