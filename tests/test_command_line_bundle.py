"""``skfair audit --bundle`` and ``skfair verify``."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from skfair._cli._command_line import main

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

AUDIT = ["audit", "table.csv", "--y-pred", "d", "--sensitive", "sex", "--quiet"]
AUDIT += ["--permutations", "59"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(200) < 0.4, "F", "M")
    decision = (generator.random(200) < 0.3 + 0.3 * (sex == "M")).astype(int)
    pd.DataFrame({"d": decision, "sex": sex}).to_csv("table.csv", index=False)
    return tmp_path / "table.csv"


def test_a_bundle_is_written_and_verified(table, capsys):
    assert (
        main([*AUDIT, "--bundle", "filed", "--out", "page.md", "--format", "md"]) == 0
    )
    assert capsys.readouterr().out.splitlines()[-2:] == ["page.md", "filed"]
    manifest = json.loads((table.parent / "filed" / "manifest.json").read_text())
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert manifest["input"] == {"sha256": digest}
    assert main(["verify", "filed"]) == 0
    said = capsys.readouterr().out
    assert "numbers computed again" in said
    assert "not verified: p-values" in said
    summary = table.parent / "filed" / "summary.json"
    summary.write_text(summary.read_text().replace("0.", "0.1", 1))
    assert main(["verify", "filed"]) == 1
    assert "wrong: summary.json does not have" in capsys.readouterr().err


def test_cells_of_a_bundle(table, capsys):
    assert main([*AUDIT, "--bundle", "filed", "--min-cell", "20"]) == 0
    assert main(["verify", "filed"]) == 0
    call = json.loads((table.parent / "filed" / "summary.json").read_text())
    assert call["settings"]["min_cell"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--out or --bundle must name what is to be written"),
        (["--out", "page.html", "--min-cell", "5"], "--min-cell must be given with"),
        (["--bundle", "filed", "--min-cell", "1"], "--min-cell must be an integer"),
        (["--bundle", "table.csv"], "is a file, expected a directory"),
        (["--bundle", "."], "holds nothing but a bundle"),
        (["--bundle", "a/b"], "directory that does not exist"),
    ],
)
def test_bad_arguments_of_a_bundle(arguments, message, table, capsys):
    assert main([*AUDIT, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_bundle_that_does_not_exist(table, capsys):
    assert main(["verify", "none"]) == 2
    assert "skfair verify: error:" in capsys.readouterr().err
