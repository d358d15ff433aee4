"""``python -m skfair audit`` reads a file right, or refuses it in a few lines.

Each file has columns y, p and sex, unless it lacks them.
"""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

pa = pytest.importorskip("pyarrow", reason="needs the extra duckdb")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra duckdb")
pytest.importorskip("duckdb", reason="needs the extra duckdb")

# The size in bytes from which on DuckDB reads a file: of none of these, or of each.
PANDAS, DUCKDB = 10**9, 0
COMMAND = "--y-true y --y-score p --out out.json --format json --permutations 0"
FEW = "--resamples 1 --min-group-size 1"


def rows(y="01", p=("0.1", "0.4", "0.7"), sex="FFMM", sep=",", end="\n", n=24):
    """A table as text, with some cells repeated."""
    lines = [sep.join(("y", "p", "sex"))]
    for i in range(n):
        lines.append(sep.join(cells[i % len(cells)] for cells in (y, p, sex)))
    return end.join(lines) + end


def late(line):
    """A table whose line 12,001 is another."""
    lines = rows(n=13_000).split("\n")
    return "\n".join([*lines[:12_000], line, *lines[12_000:]])


def added(name, cell):
    """A table with a fourth column."""
    first, *others = rows().splitlines()
    return "\n".join([f"{first},{name}", *(f"{line},{cell}" for line in others)])


T = rows()
#: Words of the message, by what the file is.
REFUSED = {
    "empty": ("", "is empty"),
    "blank": ("\n \n\n", "is empty"),
    "header alone": ("y,p,sex\n", "has 0 rows"),
    "utf-16": (T.encode("utf-16"), "is not text in utf-8"),
    "latin-1": (rows(sex="éM").encode("latin-1"), "is not text in utf-8"),
    "never closed": (T + '1,0.5,"F\n1,0.2,M\n', "EOF inside string"),
    "long row": (T + "1,.5,F,3\n", "Expected 3 fields in line 26, saw 4"),
    "long first row": ("y,p,sex\n1,.5,F,3\n0,.5,M\n", "in line 2, saw 4"),
    "long row, late": (late("1,.5,F,3"), "in line 12001, saw 4"),
    "text, late": (late("1,x,F"), "column 'p' must be numbers, got 'x' in row 12000"),
    "text after missing": ("y,p,sex\n1,,F\n0,x,M\n", "got 'x' in row 2"),
    "repeated name": (added("p", 1), "has several columns 'p'"),
    "other case": (T.upper(), "Is 'sex' meant?".replace("sex", "SEX")),
    "title": ("Predictions\n" + T, "cannot be read"),
    "page": ("<!DOCTYPE html><p>not found</p>\n", "has no column 'p'"),
    "thousands of other columns": (",".join(map(str, range(3000))), "2,980 more"),
    "missing score": (T + "1,,F\n", "column 'p' has 1 missing value"),
    "short row": (T + "1,.5\n", "column 'sex' has 1 missing value"),
}
WORDS = "NA nan inf -inf null None ? - 50% 0x1 1_0 5d-1 True '' 1/2 \u00bd \u0661"
for word in WORDS.split():
    REFUSED[f"score {word}"] = rows(p=("0.5", word)), "column 'p' must"
for word in ["0,5", "1,000.5"]:
    REFUSED[f"score {word}"] = rows(p=("0.5", f'"{word}"')), f"got {word!r} in row 2"
for word in ["1e400", "1.5", "-1e9"]:
    REFUSED[f"score {word}"] = rows(p=("0.5", word)), "in [0, 1]"
for word in ["2", "nan", "NA", "TRUE"]:
    REFUSED[f"label {word}"] = rows(y=("0", word)), "label" if word == "2" else "y"

COUNTED = {
    "one row": "y,p,sex\n1,.5,F\n",
    "byte order mark": "\ufeff" + T,
    "line feeds and carriage returns": rows(end="\r\n"),
    "no last end": T[:-1],
    "blank lines": T.replace("\n", "\n\n"),
    "semicolons": rows(sep=";"),
    "tabs": rows(sep="\t"),
    "a line that names the separator": "sep=;\n" + rows(sep=";"),
    "quoted header": T.replace("y,p,sex", '"y","p","sex"'),
    "end of a line in a name": added('"a\nb"', 1),
    "dots and spaces in a name": added("p.1 p", 1),
    "repeated other names": added("z,z", "1,2"),
    "name in another case": added("P", 1),
    "quotation mark in a cell": rows(sex=('5"', "M")),
    "quotation marks": rows(sex=('"a ""b"" c"', "M")),
    "end of a line in a cell": rows(sex=('"a\nb"', "M")),
    "spaces around cells": rows(sep=" , ", sex=("F", "M", '"F"', "M")),
    "no-break spaces": rows(sex=("\u00a0F", "M", "F")),
    "comma and quotation marks": rows(sex=('"a,b"', "M")),
    "many columns": added(",".join(map(str, range(2000))), ",".join("x" * 2000)),
    "long cell": rows(sex=("F" * 200_000, "M")),
    "signs and zeros": rows(p=("+0.50", ".5", "5E-1", "1.", "00.7")),
    "truth values": rows(y=("True", "FALSE")),
    "floats as labels": rows(y=("1.0", "0")),
    "words for missing as groups": rows(sex=("NA", "nan", "null")),
    "numbers as groups": rows(sex=("01", "1", "1.0", "1e0")),
    "dates as groups": rows(sex=("2024-01-01", "2025-01-01")),
    "yes and no as groups": rows(sex=("Yes", "No", "t", "f")),
}


@pytest.fixture
def audit(tmp_path, monkeypatch, capsys):
    """Audit a table; return the code, the numbers, and what was said.

    DuckDB reads files of more than `large` bytes.
    """
    monkeypatch.chdir(tmp_path)

    def run(table, options="--sensitive sex", large=PANDAS):
        monkeypatch.setattr("skfair._cli._read._LARGE", large)
        options = options if isinstance(options, list) else options.split()
        code = main(["audit", table, *f"{COMMAND} {FEW}".split(), *options])
        said = capsys.readouterr().err
        out = Path("out.json")
        numbers = json.loads(out.read_text("utf-8")) if out.exists() else None
        out.unlink(missing_ok=True)
        return code, numbers, said

    return run


def write(content, name="t.csv"):
    if callable(content):
        content(name)
    else:
        Path(name).write_bytes(
            content.encode() if isinstance(content, str) else content
        )
    return name


def refused(audit, table, message, options="--sensitive sex", readers=(PANDAS, DUCKDB)):
    for large in readers:
        before = sorted(Path().iterdir())
        code, numbers, said = audit(table, options, large)
        assert (code, numbers) == (2, None), said
        assert all(line.startswith("skfair audit: ") for line in said.splitlines())
        assert "Traceback" not in said
        assert message in said
        assert sorted(Path().iterdir()) == before


def counted(audit, table, options="--sensitive sex"):
    """Numbers that pandas and DuckDB yield."""
    by_pandas, by_duckdb = (audit(table, options, n) for n in (PANDAS, DUCKDB))
    assert by_pandas[0] in (0, 4), by_pandas[2]
    assert by_pandas[:2] == by_duckdb[:2]
    return by_pandas[1]


#: Files of each kind of fault, which are tested in every run.
QUICK = (
    *("empty", "long row", "repeated name", "score nan"),
    *("no row groups", "lists", "missing scores", "cut off"),
)


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in REFUSED
    ],
)
def test_text_that_is_refused(audit, name):
    content, message = REFUSED[name]
    refused(audit, write(content), message)


@pytest.mark.slow
@pytest.mark.parametrize("content", COUNTED.values(), ids=COUNTED)
def test_text_that_is_counted(audit, content):
    numbers = counted(audit, write(content))
    skipped = int(isinstance(content, str) and content.startswith("sep="))
    form = {"dtype": str, "skipinitialspace": True, "skiprows": skipped}
    lines = pd.read_csv("t.csv", **form)
    assert numbers["n_rows"] == len(lines.dropna(how="all"))


@pytest.mark.slow
def test_labels_and_groups_are_the_same_text_in_every_format(audit):
    """Yes and no, dates, and numbers stored as text or beside missing values."""
    frame = pd.DataFrame(
        {
            "y": ["Yes", "No"] * 12,
            "p": [0.1, 0.4, 0.7] * 8,
            "sex": pd.array([1, 2, None, 1] * 6, "Int64"),
            "born": ["2024-01-01", "2025-01-01"] * 12,
        }
    )
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    texts = frame.astype({"sex": object})
    texts.loc[texts["sex"] == 1, "sex"] = "1"
    texts.to_excel("t.xlsx", index=False)
    options = "--pos-label Yes --sensitive sex,born --missing-groups drop"
    made = [audit(f"t.{end}", options)[1] for end in ("csv", "parquet", "xlsx")]
    assert made[0]["attributes"] == made[1]["attributes"] == made[2]["attributes"]
    labels = [group["label"] for group in made[0]["attributes"][0]["groups"]]
    assert labels == ["1", "2"]


@pytest.mark.slow
def test_labels_and_groups_are_the_same_text_in_both_readers(audit):
    frame = pd.DataFrame(
        {
            "y": ["Yes", "No"] * 12,
            "p": [0.1, 0.4, 0.7] * 8,
            "sex": [1, 2, 1, 1] * 6,
            "born": ["2024-01-01", "2025-01-01"] * 12,
        }
    )
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    for name in "t.csv", "t.parquet":
        counted(audit, name, "--pos-label Yes --sensitive sex,born")


@pytest.mark.slow
def test_equal_columns_of_one_name_are_one(audit):
    line, *lines = T.splitlines()
    twice = "\n".join([f"{line},p", *(f"{x},{x.split(',')[1]}" for x in lines)])
    assert counted(audit, write(twice))["n_rows"] == 24


def test_a_name_with_a_comma(audit):
    write(T.replace("sex", '"sex, at birth"'))
    _, numbers, _ = audit("t.csv", ["--sensitive", "sex, at birth"])
    assert numbers["attributes"][0]["name"] == "sex, at birth"


@pytest.mark.slow
def test_sheets(audit):
    with pd.ExcelWriter("t.xlsx") as writer:
        pd.DataFrame({"About": ["this"]}).to_excel(writer, sheet_name="Read me")
        write(T)
        pd.read_csv("t.csv").to_excel(writer, sheet_name="Data", index=False)
    code, _, said = audit("t.xlsx")
    assert code == 2
    assert "try: python -m skfair audit t.xlsx" in said
    assert said.endswith("--sheet Data\n")
    assert audit("t.xlsx", "--sensitive sex --sheet Data")[1]["n_rows"] == 24
    assert (
        "--sheet must be one of ['Read me', 'Data']"
        in (audit("t.xlsx", "--sensitive sex --sheet Date")[2])
    )


COMPRESSED = {
    "cut off": lambda whole: whole[: len(whole) // 2],
    "cut off in the checksum": lambda whole: whole[:-3],
    "not compressed": gzip.decompress,
    "more than is said": lambda whole: whole + b"more",
    "empty": lambda whole: b"",
}


@pytest.mark.parametrize("change", COMPRESSED.values(), ids=COMPRESSED)
def test_compressed_files_that_are_refused(audit, change):
    name = write(change(gzip.compress(rows(n=500).encode())), "t.csv.gz")
    readers = [PANDAS, DUCKDB]
    if change is COMPRESSED["cut off in the checksum"]:
        readers.pop()  # some versions of DuckDB do not read it
    refused(audit, name, "t.csv.gz", readers=readers)


def parquet(**changed):
    """Write a Parquet file, some columns of which are replaced or added."""

    def write_table(name):
        table = {"y": [0, 1] * 12, "p": [0.1, 0.4, 0.7] * 8, "sex": [*"FFMM"] * 6}
        pq.write_table(pa.table(table | changed), name)

    return write_table


def without_rows(name):
    parquet()(name)
    with pq.ParquetWriter(name, pq.read_schema(name)):
        pass


def cut_off(name):
    parquet()(name)
    Path(name).write_bytes(Path(name).read_bytes()[:-50])


PARQUET = {
    "empty": (b"", "t.parquet cannot be read"),
    "text": (T, "t.parquet cannot be read"),
    "cut off": (cut_off, "t.parquet cannot be read"),
    "broken": (b"PAR1" + b"\0" * 100 + b"PAR1", "t.parquet cannot be read"),
    "no row groups": (without_rows, "has 0 rows"),
    "lists": (parquet(sex=[["F"]] * 24), "column 'sex' of t.parquet is nested"),
    "structures": (parquet(p=[{"a": 0.5}] * 24), "column 'p' of t.parquet is nested"),
    "text as scores": (parquet(p=["0.5", "high"] * 12), "got 'high' in row 2 of"),
    "missing scores": (parquet(p=[0.5, None] * 12), "column 'p'"),
    "nan": (parquet(p=[0.5, np.nan] * 12), "column 'p'"),
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name, case in PARQUET.items()
    ],
)
def test_parquet_that_is_refused(audit, content, message):
    refused(audit, write(content, "t.parquet"), message)


PARQUET_COUNTED = {
    "nested columns beside": parquet(sex2=[["F"]] * 24, q=[{"p": 0.5}] * 24),
    "dots in names": parquet(**{"p.x": [0.5] * 24, "sex.y": ["a"] * 24}),
    "single precision": parquet(p=pa.array([0.1, 0.4, 0.7] * 8, pa.float32())),
    "categories": parquet(sex=pa.array([*"FFMM"] * 6).dictionary_encode()),
    "truth values": parquet(y=[False, True] * 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("content", PARQUET_COUNTED.values(), ids=PARQUET_COUNTED)
def test_parquet_that_is_counted(audit, content):
    assert counted(audit, write(content, "t.parquet"))["n_rows"] == 24


PATTERNS = {
    "no file": ({}, "matches no file"),
    "a directory": ({"a.csv": None}, "a.csv is a directory, expected a file"),
    "other columns": ({"a.csv": T, "b.csv": T.replace("p", "q", 1)}, "no column 'p'"),
    "a broken file": ({"a.csv": T, "b.csv": T + '1,.5,"F\n'}, "b.csv cannot be read"),
    "text in one": ({"a.csv": T, "b.csv": rows(p="x")}, "got 'x' in row 1 of b.csv"),
    "Parquet with other columns": (
        {"a.parquet": parquet(), "b.parquet": lambda name: parquet()(name)},
        None,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("large", [0, 2**20], ids=["duckdb", "pandas"])
@pytest.mark.parametrize(("files", "message"), PATTERNS.values(), ids=PATTERNS)
def test_patterns(audit, files, message, large):
    for name, content in files.items():
        if content is None:
            Path(name).mkdir()
        else:
            write(content, name)
    code, numbers, said = audit("?.*", large=large)
    if message is None:
        assert numbers["n_rows"] == 48
    else:
        assert (code, numbers) == (2, None)
        assert message in said


@pytest.mark.slow
def test_columns_in_another_order_under_a_pattern(audit):
    write(T, "a.csv")
    frame = pd.read_csv("a.csv", dtype=str)
    frame[["sex", "p", "y"]].to_csv("b.csv", index=False)
    write("\ufeff" + T.replace("\n", "\r\n"), "c.csv")
    write(rows(n=72))
    for large in 0, 2**20:
        one, several = (audit(name, large=large)[1] for name in ("t.csv", "[abc].csv"))
        assert one["attributes"] == several["attributes"]
        hashes = (
            f"{hashlib.sha256(Path(name).read_bytes()).hexdigest()}  {name}\n"
            for name in ("a.csv", "b.csv", "c.csv")
        )
        assert several["input"] == "[abc].csv (3 files)"
        assert several["sha256"] == hashlib.sha256("".join(hashes).encode()).hexdigest()


@pytest.mark.slow
def test_names_with_brackets_are_no_patterns(audit):
    """The engine must not take another file whose name the brackets match."""
    write(rows(n=8), "a1.csv")
    write(T, "a[1].csv")
    assert counted(audit, "a[1].csv")["n_rows"] == 24


def test_files_that_change(audit, monkeypatch):
    name, read = write(T), pd.read_csv

    def append(*given, **options):
        rows = read(*given, **options)
        with open(name, "a", encoding="utf-8") as file:
            file.write("1,.5,F\n")
        return rows

    monkeypatch.setattr(pd, "read_csv", append)
    code, numbers, said = audit(name)
    assert (code, numbers) == (2, None)
    assert "t.csv was changed while it was read" in said


@pytest.mark.slow
def test_encodings(audit):
    for encoding in "utf-16", "latin-1", "cp1252":
        write(rows(sex="éM").encode(encoding))
        options = f"--sensitive sex --encoding {encoding}"
        groups = counted(audit, "t.csv", options)["attributes"][0]["groups"]
        assert [group["label"] for group in groups] == ["M", "é"]
