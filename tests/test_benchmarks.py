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
    body = ast.parse(path.read_text(encoding="utf-8")).body
    found = {name for node in body if hasattr(node, "name") for name in [node.name]}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found |= {name.id for one in targets for name in ast.walk(one) if "id" in dir(name)}
        if isinstance(node, ast.Import | ast.ImportFrom):
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
