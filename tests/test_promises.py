"""The page of promises names tests that exist, and says when they run."""

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
def source(path):
    return (TESTS / path).read_text(encoding="utf-8")


def is_slow(path, name):
    """Whether a function of a file is marked as slow, or None if there is none."""
    text = source(path)
    found = re.search(rf"((?:^[@ )\]].*\n)*)^def {name}\(", text, re.MULTILINE)
    if found is None:
        return None
    whole_file = re.search(r"^pytestmark = .*(?:\n[ \])].*)*", text, re.MULTILINE)
    marks = [whole_file[0] if whole_file else "", *found[1].split("\n@")]
    # Where a parameter is marked, others are quick.
    return any("mark.slow" in mark and "pytest.param(" not in mark for mark in marks)


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
        slow = is_slow(path, name)
        assert slow is not None, test
        kinds.add("slow" if slow else "quick")
    assert run == " and ".join(sorted(kinds))
    assert since.split(".") <= skfair.__version__.split(".")
