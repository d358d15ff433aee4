"""Tables as spreadsheets save them: right numbers, or a line that says what to type."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

AUDIT = "audit {} --y-true y --y-score p --sensitive sex --permutations 0"
AUDIT += " --resamples 2 --format json --out out.json"


@pytest.fixture
def rows():
    """Labels, scores and groups of 60 people."""
    rng = np.random.default_rng(0)
    score = rng.random(60).round(3)
    y = (rng.random(60) < score).astype(int)
    return pd.DataFrame({"y": y, "p": score, "sex": rng.choice(["F", "M"], 60)})


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write a file, run a command on it, return its code, what it wrote and said."""
    monkeypatch.chdir(tmp_path)

    def run(command, content=None, name="table.csv", *more):
        if content is not None:
            (tmp_path / name).write_bytes(content.encode())
        try:
            code = main([*command.format(name).split(), *more])
        except SystemExit as stopped:
            code = stopped.code
        out, said = tmp_path / "out.json", capsys.readouterr()
        found = None
        if out.exists():
            found = json.loads(out.read_text("utf-8"))
            del found["input"], found["sha256"]
            out.unlink()
        return code, found, said.err

    return run


def text(table, sep=",", decimal=".", **cells):
    """A table as text, some cells of which are written in another way."""
    table = table.assign(p=table["p"].map(lambda p: f"{p}".replace(".", decimal)))
    for name, write in cells.items():
        table = table.assign(**{name: table[name].map(write)})
    return table.to_csv(sep=sep, index=False)


# --- numbers with a decimal comma


@pytest.mark.slow
def test_numbers_with_a_decimal_comma(run, rows):
    german = text(rows, ";", ",")
    code, found, said = run(AUDIT, german, "table.csv", "--sep", ";")
    assert "--decimal , reads such numbers" in said
    assert code == 2
    options = ("--sep", ";", "--decimal", ",")
    code, found, said = run(AUDIT, german, "table.csv", *options)
    assert (code, said) == (0, "")
    assert found == run(AUDIT, text(rows))[1]


def test_points_are_no_decimal_commas(run, rows):
    code, _, said = run(AUDIT, text(rows, ";"), "t.csv", "--sep", ";", "--decimal", ",")
    assert code == 2
    assert "must be numbers, got '0." in said
    assert "--decimal . reads such numbers" in said


@pytest.mark.parametrize(
    ("write", "options"),
    [
        pytest.param("{:,}".format, ["--thousands", ","], marks=pytest.mark.slow),
        (lambda p: f"{p:,}".replace(",", "."), ["--thousands", ".", "--decimal", ","]),
        pytest.param(
            lambda p: f"{p:,}".replace(",", " "),
            ["--thousands", " "],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_marks_of_thousands(run, rows, write, options):
    rows = rows.assign(p=(rows["p"] * 1_000_000).astype(int))
    scaled = f"{AUDIT} --scale rank"
    expected = run(scaled, rows.to_csv(index=False))
    written = rows.assign(p=rows["p"].map(write)).to_csv(sep=";", index=False)
    found = run(scaled, written, "table.csv", "--sep", ";", *options)
    assert found == expected
    said = run(scaled, written, "table.csv", "--sep", ";")[2]
    assert "must be numbers, got" in said or options[1] == "."


# --- percentages and labels


def test_percentages_are_refused_with_what_to_write(run, rows):
    code, _, said = run(AUDIT, text(rows, p=lambda p: f"{100 * float(p):.1f} %"))
    assert code == 2
    assert "' %' in line 2" not in said
    assert "a share, as 0.45 for 45%" in said
    code, _, said = run(AUDIT, text(rows, p=lambda p: f"{100 * float(p):.1f}"))
    assert code == 2
    assert "percentages can be divided by 100" in said


@pytest.mark.parametrize(
    ("labels", "typed"),
    [
        (["0.0", "1.0"], "1"),
        pytest.param(["FALSE", "TRUE"], "TRUE", marks=pytest.mark.slow),
        pytest.param(["false", "true"], "true", marks=pytest.mark.slow),
        pytest.param(["0", "1"], "1.0", marks=pytest.mark.slow),
    ],
)
def test_the_positive_label_is_typed_as_it_stands_in_the_file(run, rows, labels, typed):
    content = text(rows, y=lambda y: labels[y])
    code, found, said = run(AUDIT, content, "table.csv", "--pos-label", typed)
    assert (code, said) == (0, "")
    # Some number of the page counts positives: all agree with those of 0 and 1.
    expected = run(AUDIT, text(rows))[1]
    assert numbers_of(found) == numbers_of(expected)


def numbers_of(found):
    """All floats of nested lists and dictionaries, in order."""
    if isinstance(found, dict):
        found = [value for key, value in found.items() if key != "settings"]
    if isinstance(found, list):
        return [number for part in found for number in numbers_of(part)]
    return [found] if isinstance(found, float) else []


# --- what is typed


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("y,p,sex\n1,.5,F\n", "--sep ;", "separates columns by ',': --sep ','"),
        ("Report\n\nthis\n", "", "first line must hold the names"),
        ("Report\ny,p,sex\n1,.5,F\n", "", "cannot be read"),
    ],
)
def test_headers_that_are_none(run, content, options, says):
    code, _, said = run(f"{AUDIT} {options}", content)
    assert code == 2
    assert says in said
