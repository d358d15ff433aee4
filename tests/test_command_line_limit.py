"""``skfair audit --limit NUMBER``, and without permutations."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair._cli._command_line import main

AUDIT = ["audit", "table.csv", "--y-pred", "d", "--sensitive", "sex", "--quiet"]
AUDIT += ["--permutations", "0", "--out", "out.json", "--format", "json"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    columns = {"d": rng.integers(0, 2, 100), "sex": rng.choice(["F", "M"], 100)}
    pd.DataFrame(columns).to_csv("table.csv", index=False)
    return tmp_path


def test_a_limit_of_the_page(table):
    assert main([*AUDIT, "--limit", "0.25"]) == 0
    summary = json.loads((table / "out.json").read_text(encoding="utf-8"))
    assert summary["settings"]["limit"] == 0.25
    assert summary["settings"]["n_permutations"] == 0
    both = ["--limit", "0.5", "--limit", "demographic_parity_difference=0"]
    assert main([*AUDIT, *both]) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["much"], "--limit must be NUMBER or METRIC=NUMBER, got 'much'"),
        (["0.1", "0.2"], "--limit must have one number"),
        (["7"], "--limit must be"),
    ],
)
def test_bad_limits(given, message, table, capsys):
    options = [part for text in given for part in ("--limit", text)]
    assert main([*AUDIT, *options]) == 2
    assert message in capsys.readouterr().err
