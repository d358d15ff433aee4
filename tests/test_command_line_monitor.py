"""``python -m skfair monitor``: one batch after the other, each exactly once."""

import json
import os
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair._cli._main import main
from skfair.metrics import (
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    mcdp,
)
from skfair.monitoring import FairnessMonitor

SCORES = ["--y-score", "p", "--sensitive", "sex"]


def write_batch(path, seed, shift=0.0, n_rows=200):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n_rows)
    p = rng.beta(2 + shift * (sex == "F"), 4).round(3)
    table = pd.DataFrame({"p": p, "sex": sex})
    table.to_csv(path, index=False)
    return table


@pytest.fixture
def monitor(tmp_path, monkeypatch, capsys):
    """Run the command in an empty directory: exit code, and what it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, options=SCORES):
        code = main(["monitor", "state.json", *arguments, *options])
        return code, capsys.readouterr()

    return run


def state():
    return json.loads(Path("state.json").read_text("utf-8"))


def state_of(monitor):
    return json.loads(json.dumps(monitor.to_dict()))


def test_batches_are_added(monitor):
    """Later batches need no options."""
    ours = FairnessMonitor(mcdp, at_most=0.3)
    for day in range(3):
        table = write_batch("day.csv", day)
        options = [*SCORES, "--at-most", "0.3"] if day == 0 else []
        code, said = monitor("day.csv", options=options)
        assert code == 0
        assert "alarm: none" in said.out
        ours.update(None, table["p"], sensitive_features=table["sex"])
    assert state()["monitor"] == state_of(ours)
    assert len(state()["batches"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "metric", "smallest"),
    [
        (
            ["--metric", "mcdp,epsilon=0.2", "--min-group-size", "30"],
            partial(mcdp, epsilon=0.2),
            30,
        ),
        (["--metric", "madd,bandwidth=0.1"], partial(madd, bandwidth=0.1), 10),
    ],
)
def test_options_are_those_of_the_monitor(monitor, arguments, metric, smallest):
    ours = FairnessMonitor(metric, min_group_size=smallest)
    for day in range(2):
        table = write_batch("day.csv", day)
        assert monitor("day.csv", *arguments)[0] in (0, 3)
        ours.update(None, table["p"], sensitive_features=table["sex"])
    assert state()["monitor"] == state_of(ours)


@pytest.mark.slow
def test_decisions_are_read_as_in_an_audit(monitor):
    """Labels of text, a threshold in the unit of the score, rows without a label."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "score": rng.integers(0, 1001, 300),
            "sex": rng.choice(["F", "M"], 300),
            "repaid": rng.choice(["yes", "no"], 300),
        }
    )
    table["decision"] = np.where(table["score"] >= 480, "approved", "declined")
    approved = table["score"] >= 480
    table.to_csv("day.csv", index=False)
    options = ["--sensitive", "sex", "--y-pred", "decision", "--pos-label", "approved"]
    assert monitor("day.csv", options=options)[0] == 0
    ours = FairnessMonitor(demographic_parity_difference)
    ours.update(None, approved.astype(int), sensitive_features=table["sex"])
    assert state()["monitor"] == state_of(ours)
    Path("state.json").unlink()
    by_score = ["--sensitive", "sex", "--y-score", "score", "--threshold", "480"]
    assert monitor("day.csv", options=[*by_score, "--scale", "rank"])[0] == 0
    assert state()["monitor"] == state_of(ours)
    Path("state.json").unlink()
    errors = ["--y-true", "repaid", "--metric", "equalized_odds_difference"]
    said_yes = table["repaid"].map({"yes": "approved", "no": "declined"})
    table.assign(repaid=said_yes).to_csv("day.csv", index=False)
    assert monitor("day.csv", *errors, options=options)[0] == 0
    ours = FairnessMonitor(equalized_odds_difference)
    ours.update(
        (table["repaid"] == "yes").astype(int),
        approved.astype(int),
        sensitive_features=table["sex"],
    )
    assert state()["monitor"] == state_of(ours)


@pytest.mark.parametrize(("missing", "labels"), [("drop", 2), ("group", 3)])
def test_missing_groups(monitor, missing, labels):
    table = write_batch("day.csv", 0)
    table["sex"] = table["sex"].where(np.arange(200) > 20)
    table.to_csv("day.csv", index=False)
    assert "--missing group makes them a group" in monitor("day.csv")[1].err
    assert monitor("day.csv", "--missing", missing)[0] == 0
    statistic = FairnessMonitor.from_dict(state()["monitor"]).statistic_
    assert len(statistic.labels) == labels
    assert statistic.counts.sum() == (179 if missing == "drop" else 200)


@pytest.mark.slow
def test_ranges_are_those_of_the_first_batch(monitor):
    rest = ["--y-score", "p", "--sensitive", "age"]
    for day in range(2):
        rng = np.random.default_rng(day)
        columns = {"p": rng.random(300).round(3), "age": rng.integers(20, 60, 300)}
        pd.DataFrame(columns).to_csv(f"{day}.csv", index=False)
    assert "; --bins age=" in monitor("0.csv", options=rest)[1].err
    assert "; --bins age=" not in monitor("1.csv", options=rest)[1].err
    Path("state.json").unlink()
    code, said = monitor("0.csv", "--bins", "age=40", options=rest)
    assert code in (0, 3)
    assert "note" not in said.err
    code, said = monitor("1.csv", "--bins", "age=50", options=rest)
    assert code == 2
    assert "--bins must be age=40, as in state.json, got age=50" in said.err
    assert monitor("1.csv", options=[])[0] in (0, 3)
    statistic = FairnessMonitor.from_dict(state()["monitor"]).statistic_
    assert statistic.labels == ("under 40", "40 and over")
    assert statistic.counts.sum() == 600


def test_bad_scores_name_their_line(monitor):
    Path("day.csv").write_text("p,sex\n0.1,F\n7,M\n")
    code, said = monitor("day.csv")
    assert code == 2
    assert "got 7.0 in line 3 of day.csv" in said.err
    assert "With --scale rank" in said.err
    assert monitor("day.csv", "--scale", "rank", "--min-group-size", "1")[0] == 0


@pytest.mark.slow
def test_alarms_end_with_code_3(monitor):
    write_batch("day.csv", 0, shift=20.0, n_rows=2000)
    code, said = monitor("day.csv", "--at-most", "0.1", "--out", "picture.png")
    assert code == 3
    assert "alarm: disparity above the limit" in said.out
    assert len(said.out.splitlines()) == 1
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_batch_counts_once(monitor):
    write_batch("day.csv", 0)
    assert monitor("day.csv", "--at-most", "0.5")[0] == 0
    before = Path("state.json").read_bytes()
    code, said = monitor("day.csv")
    assert code == 0
    assert "was added before" in said.err
    assert Path("state.json").read_bytes() == before


def test_groups_that_cannot_be_compared(monitor):
    pd.DataFrame({"p": [0.2, 0.3], "sex": ["F", "F"]}).to_csv("day.csv", index=False)
    assert monitor("day.csv")[0] == 4


def test_groups_that_are_too_small_are_named(monitor):
    table = write_batch("day.csv", 0)
    table.loc[:6, "sex"] = "X"
    table.to_csv("day.csv", index=False)
    code, said = monitor("day.csv", "--at-most", "0.9")
    assert code == 0
    assert "fewer than 10 rows so far are left out ('X': 7)" in said.err
    table.to_csv("more.csv", index=False, float_format="%.4f")
    code, said = monitor("more.csv")
    assert (code, said.err) == (0, "")


BAD_ARGUMENTS = [
    (["--at-most", "0.2"], "--at-most must be 0.5, as in state.json"),
    (["--metric", "abcc"], "--metric must be left out, as in state.json, got abcc"),
    (["--confidence-level", "0.9"], "--confidence-level must be 0.95"),
    (["--min-group-size", "5"], "--min-group-size must be 10, as in"),
    (["--threshold", "0.5"], "--threshold must be left out, as in state.json"),
    (["--y-score", "q"], "--y-score must be p, as in state.json, got p,q."),
    (["--sensitive", "place"], "--sensitive must be sex, as in state.json, got sex,pl"),
    (["--control-features", "place"], "--control-features must be left out, as in"),
    (["--y-true", "truth"], "--y-true must be left out, as in state.json, got truth"),
    (["--out", "no/page.png"], "directory that does not exist"),
    (["--out", "page.html"], "--out must end in .png, .svg, .pdf, got"),
]


def test_bad_arguments_leave_the_state(monitor):
    """Women and men would be compared with districts, scores with decisions."""
    write_batch("first.csv", 0)
    monitor("first.csv", "--at-most", "0.5")
    before = Path("state.json").read_bytes()
    write_batch("day.csv", 1).assign(q=0.5, place="a").to_csv("day.csv")
    for arguments, problem in BAD_ARGUMENTS:
        code, said = monitor("day.csv", options=[*SCORES, *arguments])
        assert code == 2, arguments
        assert said.err.startswith("skfair monitor: error: ")
        assert problem in said.err
        assert Path("state.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--sensitive", "sex"], "--y-score or --y-pred must name one column"),
        (["--y-score", "p"], "--sensitive must name a column"),
        (
            [*SCORES, "--metric", "neg_mcdp"],
            "metric must be one of abcc, ",
        ),
        (
            [*SCORES, "--metric", "mcdp,alpha=0.2"],
            "options of mcdp are not those of it",
        ),
        (["--y-pred", "sex", "--sensitive", "sex"], "--pos-label must say which label"),
    ],
)
def test_bad_first_batches(monitor, options, problem):
    write_batch("day.csv", 0)
    code, said = monitor("day.csv", options=options)
    assert (code, Path("state.json").exists()) == (2, False)
    assert problem in said.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "state.json is not JSON"),
        ("[]", "is not the state of"),
        ("[" * 100_000 + "]" * 100_000, "state.json is not JSON"),
        ('{"monitor": {}, "batches": []}', "is not the state of"),
        ('{"type": "skfair monitor", "format": 3}', "must have monitor, which it"),
    ],
)
def test_broken_states(monitor, text, problem):
    Path("state.json").write_text(text)
    write_batch("day.csv", 1)
    code, said = monitor("day.csv")
    assert code == 2
    assert problem in said.err
    assert Path("state.json").read_text() == text


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.promise("A stopped `skfair monitor` neither loses nor doubles a batch")
def test_a_cut_write_loses_and_doubles_nothing(monitor, monkeypatch, where):
    replace = Path.replace

    def stopped(path, target):
        if where == "after":
            replace(path, target)
        raise KeyboardInterrupt

    write_batch("first.csv", 0)
    write_batch("second.csv", 1)
    monitor("first.csv", "--at-most", "0.5")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)
        assert monitor("second.csv")[0] == 130
    assert len(state()["batches"]) == (1 if where == "before" else 2)
    assert monitor("second.csv")[0] == 0
    assert len(state()["batches"]) == 2
    assert sum(FairnessMonitor.from_dict(state()["monitor"]).statistic_.counts) == 400
    files = ["first.csv", "second.csv", "state.json", "state.json.lock"]
    assert sorted(os.listdir()) == files


@pytest.mark.slow
def test_commands_at_the_same_time_wait_for_each_other(tmp_path):
    for day in range(4):
        write_batch(tmp_path / f"{day}.csv", day)
    command = [sys.executable, "-m", "skfair", "monitor", "state.json"]
    processes = [
        subprocess.Popen(
            [*command, f"{day}.csv", *SCORES], cwd=tmp_path, stdout=subprocess.DEVNULL
        )
        for day in range(4)
    ]
    assert all(process.wait() in (0, 3) for process in processes)
    found = json.loads((tmp_path / "state.json").read_text())
    assert len(set(found["batches"])) == 4
    counts = FairnessMonitor.from_dict(found["monitor"]).statistic_.counts
    assert counts.sum() == 800


def test_numbers_that_a_later_batch_writes_otherwise_are_noted(monitor):
    """Pandas writes whole numbers with a point where one of the column is missing."""
    table = write_batch("day.csv", 0)
    for texts in {"F": "0", "M": "1"}, {"F": "0.0", "M": "1.0"}:
        table.assign(sex=table["sex"].map(texts)).to_csv("day.csv", index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            _, said = monitor("day.csv")
    assert said.err == (
        "skfair monitor: note: the sum of statistics has the labels '0' and '0.0', "
        "which look alike but are not the same.\n"
    )
