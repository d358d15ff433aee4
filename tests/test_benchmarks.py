"""Benchmarks import names that exist: none of them runs with the tests."""

import ast
import importlib
import importlib.util
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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_exists(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        names = {alias.name for alias in node.names}
        if node.module in NAMES:
            assert names <= defined(file.with_name(f"{node.module}.py"))
        elif node.module.startswith("skfair") and node.module != "skfair.torch":
            module = importlib.import_module(node.module)
            assert [name for name in names if not hasattr(module, name)] == []
