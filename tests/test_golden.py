"""Public calls return what golden/results.json says; golden/record.py records it."""

import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "golden"))

from golden_calls import CALLS
from record import compare, outcome, read


def in_tests():
    """Put the calls of one metric and one consumer together."""
    tests = {}
    for call in CALLS.values():
        tests.setdefault(call.test, []).append(call)
    return [pytest.param(calls, id=name) for name, calls in tests.items()]


@cache
def recorded():
    return read()


@pytest.mark.slow
@pytest.mark.parametrize("calls", in_tests())
def test_golden(calls):
    possible = [call for call in calls if call.is_possible]
    if not possible:
        pytest.skip(f"needs {calls[0].needs}")
    lines = []
    for call in possible:
        if call.name not in recorded():
            metric = call.name.partition("/")[0]
            record = f"python tests/golden/record.py --only '{metric}'"
            lines.append(f"{call.name}\n    is not recorded: {record}")
            continue
        found = compare(call, outcome(call), recorded()[call.name])
        lines += [f"{call.name}\n    {line}" for line in found]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def test_every_recorded_call_is_listed():
    assert [name for name in recorded() if name not in CALLS] == []
