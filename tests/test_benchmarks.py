"""Benchmarks use names that exist; those that take a second run with the slow tests."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))
NAMES = {file.stem for file in FILES}


def defined(path: Path) -> set[str]:
    """Names of the functions, classes, constants and imports of a module."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def imported(tree: ast.Module) -> dict[str, object]:
    """What a benchmark imports from this package, by its name there."""
    return {
        alias.asname or alias.name: getattr(
            importlib.import_module(node.module), alias.name
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        if node.module.startswith("skfair") and node.module != "skfair.torch"
        for alias in node.names
    }


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_and_passes_exists(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in NAMES:
            names = {alias.name for alias in node.names}
            assert names <= defined(file.with_name(f"{node.module}.py"))
    known = imported(tree)
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        called = known.get(call.func.id)
        if not callable(called):
            continue
        parameters = inspect.signature(called).parameters.values()
        if all(each.kind is not each.VAR_KEYWORD for each in parameters):
            passed = {each.arg for each in call.keywords} - {None}
            assert passed <= {each.name for each in parameters}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "repair.simulation(range(1))",
        "monitor_alarms.first_alarms(monitor_alarms.Stream('mcdp', 0, 0, 2), 1, 20)",
        "monitor_change.check_threshold('parity', (100, 100), 4)",
    ],
)
def test_a_short_case_runs(case):
    code = f"import {case.partition('.')[0]}; {case}"
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, cwd=FILES[0].parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "MISSED" not in run.stdout
