"""Every example as a newcomer runs it: --help, by itself, and without its table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path):
    """Run an example in a new directory, without real tables and without a network."""

    def start(example, *options):
        environment = {k: v for k, v in os.environ.items() if k != "SKFAIR_DATA"}
        environment |= {
            "PYTHONPATH": str(ROOT),
            "MPLBACKEND": "agg",
            "SCIKIT_LEARN_DATA": str(tmp_path / "cache"),
            "https_proxy": "http://localhost:9",  # nothing listens there
        }
        return subprocess.run(
            [sys.executable, str(example), *options],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return start


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_help_does_not_run_the_example(run, example, tmp_path):
    done = run(example, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {example.name}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_by_itself(run, example):
    done = run(example)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Warning" not in done.stderr


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("quickstart", "adult"),
        ("report", "adult"),
        ("audit_multiclass", "diabetes"),
        ("audit_without_access", "uk"),
        ("audit_without_access", "education"),
    ],
)
def test_missing_table_is_one_line(run, name, table):
    done = run(ROOT / "examples" / f"{name}.py", "--data", table)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "SKFAIR_DATA" in done.stderr


def test_quickstart_tells_about_departments(run):
    done = run(ROOT / "examples" / "quickstart.py", "--data", "berkeley")
    assert "44.5% of men and 30.4% of women" in done.stdout, done.stderr
    assert "Simpson" in done.stdout
