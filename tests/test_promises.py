"""The page of promises names tests that exist, and says when they run."""

import ast
import functools
import re
from itertools import pairwise
from pathlib import Path

import pytest

import skfair

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "promises.md"
ROW = re.compile(r"^\| (\S[^|]*) \| (\S[^|]*) \| (`[^|]*`) \| ([^|]*) \| ([^|]*) \|$")
TEST = re.compile(r"[\w/]+\.py::test_\w+")


def rows():
    """Topic, promise, tests, run and version of each row."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    return [ROW.fullmatch(line).groups() for line in table]


@functools.cache
def slow_by_name(path):
    """Whether each function of a file is marked as slow."""
    module = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    marks = [
        ast.unparse(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return {
        node.name: any(
            re.match(r"\[?pytest\.mark\.slow|.*, pytest\.mark\.slow", mark)
            for mark in [*marks, *map(ast.unparse, node.decorator_list)]
            if "pytest.param" not in mark  # whose other parameters are quick
        )
        for node in module.body
        if isinstance(node, ast.FunctionDef)
    }


def test_the_table_is_read():
    found = rows()
    assert len(found) >= 40
    assert len({promise for _, promise, *_ in found}) == len(found)
    topics = [topic for topic, *_ in found]
    changes = sum(a != b for a, b in pairwise(topics))
    assert changes == len(set(topics)) - 1  # the rows of a topic stand together


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1][:50])
def test_a_promise_is_held(row):
    _, _, held_by, run, since = row
    tests = [name.strip("`") for name in held_by.split(", ")]
    kinds = set()
    for test in tests:
        assert TEST.fullmatch(test), test
        path, name = test.split("::")
        assert name in slow_by_name(path), test
        kinds.add("slow" if slow_by_name(path)[name] else "quick")
    assert run == " and ".join(sorted(kinds))
    assert since.split(".") <= skfair.__version__.split(".")
