"""``python -m skfair monitor``: one batch after the other, each exactly once."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair._cli._command_line import main
from skfair.groups import encode_groups
from skfair.metrics import demographic_parity_difference, madd, mcdp
from skfair.monitoring import FairnessMonitor

OPTIONS = ["--y-score", "p", "--sensitive", "sex"]


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

    def run(*arguments):
        code = main(["monitor", "state.json", *arguments, *OPTIONS])
        return code, capsys.readouterr()

    return run


def state():
    return json.loads(Path("state.json").read_text("utf-8"))


def test_batches_are_added(monitor):
    ours = FairnessMonitor(mcdp, at_most=0.3)
    for day in range(3):
        table = write_batch("day.csv", day)
        code, said = monitor("day.csv", "--limit", "0.3")
        assert code == 0
        assert "alarm: none" in said.out
        ours.update(None, table["p"], sensitive_features=table["sex"])
    assert state()["monitor"] == json.loads(json.dumps(ours.to_dict()))
    assert len(state()["batches"]) == 3


@pytest.mark.parametrize(
    ("arguments", "metric", "smallest"),
    [
        (
            ["--epsilon", "0.2", "--min-group-size", "30"],
            partial(mcdp, epsilon=0.2),
            30,
        ),
        (
            ["--metric", "demographic_parity_difference", "--threshold", "0.3"],
            partial(demographic_parity_difference, threshold=0.3),
            1,
        ),
        (["--metric", "madd", "--bandwidth", "0.1"], partial(madd, bandwidth=0.1), 1),
    ],
)
def test_options_are_those_of_the_monitor(monitor, arguments, metric, smallest):
    ours = FairnessMonitor(metric)
    for day in range(2):
        table = write_batch("day.csv", day)
        assert monitor("day.csv", *arguments)[0] in (0, 3)
        groups = encode_groups(table["sex"], min_group_size=smallest)
        ours.update(None, table["p"], sensitive_features=groups)
    assert state()["monitor"] == json.loads(json.dumps(ours.to_dict()))


def write_ages(path, seed):
    rng = np.random.default_rng(seed)
    columns = {"p": rng.random(300).round(3), "age": rng.integers(20, 60, 300)}
    pd.DataFrame(columns).to_csv(path, index=False)


def test_ranges_are_those_of_the_first_batch(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for day in range(2):
        write_ages(f"{day}.csv", day)
    rest = ["--y-score", "p", "--sensitive", "age"]
    bins, others = ["--bins", "age=40"], ["--bins", "age=50"]
    assert main(["monitor", "state.json", "0.csv", *rest, *bins]) in (0, 3)
    assert "note" not in capsys.readouterr().err
    assert main(["monitor", "state.json", "1.csv", *rest, *others]) == 2
    said = capsys.readouterr().err
    assert "--bins must be age=40, as in state.json, got age=50" in said
    assert main(["monitor", "state.json", "1.csv", *rest]) in (0, 3)
    monitor = FairnessMonitor.from_dict(state()["monitor"])
    assert monitor.statistic_.labels == ("under 40", "40 and over")
    assert monitor.statistic_.counts.sum() == 600


def test_many_numbers_as_groups_are_told_with_the_first_batch(monitor, capsys):
    rest = ["--y-score", "p", "--sensitive", "age"]
    for day, told in enumerate([True, False]):
        write_ages("day.csv", day)
        assert main(["monitor", "state.json", "day.csv", *rest]) in (0, 3)
        assert ("; --bins age=" in capsys.readouterr().err) is told


def test_bad_scores_name_their_line(monitor):
    Path("day.csv").write_text("p,sex\n0.1,F\n7,M\n")
    code, said = monitor("day.csv")
    assert code == 2
    assert "got 7.0 in line 3 of day.csv" in said.err
    assert "scale" not in said.err  # which no option of a monitor changes


def test_alarms_end_with_code_3(monitor):
    write_batch("day.csv", 0, shift=20.0, n_rows=2000)
    code, said = monitor("day.csv", "--limit", "0.1", "--out", "picture.png")
    assert code == 3
    assert "alarm: disparity above the limit" in said.out
    assert len(said.out.splitlines()) == 1
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_batch_counts_once(monitor):
    write_batch("day.csv", 0)
    assert monitor("day.csv", "--limit", "0.5")[0] == 0
    before = Path("state.json").read_bytes()
    code, said = monitor("day.csv")
    assert code == 0
    assert "was added before" in said.err
    assert Path("state.json").read_bytes() == before


def test_groups_that_cannot_be_compared(monitor):
    pd.DataFrame({"p": [0.2, 0.3], "sex": ["F", "F"]}).to_csv("day.csv", index=False)
    assert monitor("day.csv")[0] == 4


BAD_ARGUMENTS = [
    (["day.csv", "--limit", "0.2"], "--limit must be 0.5, as in state.json"),
    (["day.csv", "--metric", "abcc"], "--metric must be mcdp, as in"),
    (["day.csv", "--confidence-level", "0.9"], "--confidence-level must be 0.95"),
    (["day.csv", "--epsilon", "0.1"], "--epsilon must be 0.0, as in state.json"),
    (["day.csv", "--min-group-size", "5"], "--min-group-size must be 1, as in"),
    (["day.csv", "--threshold", "0.5"], "options of mcdp are not those of it"),
    (["other.csv"], "other.csv does not exist"),
    (["day.csv", "--y-true", "truth"], "truth"),
    (["day.csv", "--out", "no/page.png"], "directory that does not exist"),
    (["day.csv", "--out", "page.html"], "--out must end in .png, .svg, .pdf, got"),
    (["missing.csv"], "column 'p' of missing.csv has 1 missing values"),
]


def test_bad_arguments_leave_the_state(monitor):
    write_batch("first.csv", 0)
    monitor("first.csv", "--limit", "0.5")
    before = Path("state.json").read_bytes()
    write_batch("day.csv", 1)
    Path("missing.csv").write_text("p,sex\n0.1,F\n,M\n")
    for arguments, problem in BAD_ARGUMENTS:
        code, said = monitor(*arguments)
        assert code == 2, arguments
        assert said.err.startswith("skfair monitor: error: ")
        assert problem in said.err
        assert Path("state.json").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "state.json is not JSON"),
        ("[]", "is not the state of"),
        ("[" * 5_000, "state.json is not JSON"),
        ("[" * 100_000 + "]" * 100_000, "state.json is not JSON"),
        ('{"monitor": {}, "batches": []}', "is not the state of"),
        (f'{{"type": "skfair monitor", "format": 2, "n": 1{"0" * 400}}}', "SHA-256"),
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
    monitor("first.csv", "--limit", "0.5")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)
        assert monitor("second.csv")[0] == 130
    assert len(state()["batches"]) == (1 if where == "before" else 2)
    assert monitor("second.csv")[0] == 0
    assert len(state()["batches"]) == 2
    assert sum(FairnessMonitor.from_dict(state()["monitor"]).statistic_.counts) == 400
    assert sorted(os.listdir()) == [
        "first.csv",
        "second.csv",
        "state.json",
        "state.json.lock",
    ]


def start_in_copy_of_this_process(*arguments):
    """Run the command in a process that has imported everything; return its number."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            code = main(["monitor", "state.json", *arguments, *OPTIONS])
        finally:
            os._exit(code)
    return process


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by a signal")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_500_killed_commands_lose_and_double_nothing(tmp_path, monkeypatch):
    """A batch is in the state once if its command ended, else once or not at all."""
    monkeypatch.chdir(tmp_path)
    rng, usual, n_killed, n_kept = np.random.default_rng(0), 0.1, 0, 0
    while n_killed < 500:
        Path("state.json").unlink(missing_ok=True)
        acknowledged = []
        for day in range(8):
            write_batch("day.csv", day)
            batch = hashlib.sha256(Path("day.csv").read_bytes()).hexdigest()
            code = None
            while code not in (0, 3):
                begin, killed = time.monotonic(), rng.random() < 0.8
                process = start_in_copy_of_this_process("day.csv")
                if killed:
                    time.sleep(usual * rng.uniform(0, 1.1))
                    os.kill(process, signal.SIGKILL)
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                if not killed:
                    usual = time.monotonic() - begin
                found = state() if Path("state.json").exists() else {"batches": []}
                kept, with_it = found["batches"], [*acknowledged, batch]
                assert kept in (acknowledged, with_it)
                if kept:
                    monitor = FairnessMonitor.from_dict(found["monitor"])
                    assert monitor.statistic_.counts.sum() == 200 * len(kept)
                if code in (0, 3):
                    assert kept == with_it
                else:
                    assert code == -signal.SIGKILL
                    n_killed += 1
                    n_kept += kept == with_it
            acknowledged = with_it
    assert 0 < n_kept < n_killed


@pytest.mark.slow
def test_commands_at_the_same_time_wait_for_each_other(tmp_path):
    for day in range(4):
        write_batch(tmp_path / f"{day}.csv", day)
    command = [sys.executable, "-m", "skfair", "monitor", "state.json"]
    processes = [
        subprocess.Popen(
            [*command, f"{day}.csv", *OPTIONS], cwd=tmp_path, stdout=subprocess.DEVNULL
        )
        for day in range(4)
    ]
    assert all(process.wait() in (0, 3) for process in processes)
    found = json.loads((tmp_path / "state.json").read_text())
    assert len(set(found["batches"])) == 4
    counts = FairnessMonitor.from_dict(found["monitor"]).statistic_.counts
    assert counts.sum() == 800


def test_groups_of_another_column(monitor, capsys):
    """Women and men would be compared with districts."""
    write_batch("day.csv", 0)
    assert monitor("day.csv")[0] == 0
    pd.read_csv("day.csv").rename(columns={"sex": "place"}).to_csv("next.csv")
    options = ["--y-score", "p", "--sensitive", "place"]
    before = state()
    assert main(["monitor", "state.json", "next.csv", *options]) == 2
    assert "--sensitive must be sex, as in state.json, got place." in (
        capsys.readouterr().err
    )
    assert state() == before


@pytest.mark.parametrize(
    ("before", "now", "problem"),
    [
        ([], ["--y-score", "q"], "--y-score must be p, as in state.json, got q."),
        (
            ["--control-features", "place"],
            ["--control-features", "floor"],
            "--control-features must be place, as in state.json, got floor.",
        ),
        (
            ["--metric", "demographic_parity_difference"],
            ["--threshold", "0.4"],
            "--threshold must be left out, as in state.json, got 0.4.",
        ),
    ],
)
def test_other_options_than_before(monitor, capsys, before, now, problem):
    write_batch("first.csv", 0)
    table = write_batch("next.csv", 1)
    for name in "first.csv", "next.csv":
        table.assign(q=table["p"] / 2, place="a", floor="b").to_csv(name, index=False)
    assert monitor("first.csv", *before)[0] in (0, 3)
    saved = state()
    assert saved["columns"]["y_score"] == "p"
    assert main(["monitor", "state.json", "next.csv", *OPTIONS, *now]) == 2
    assert problem in capsys.readouterr().err
    assert state() == saved


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
