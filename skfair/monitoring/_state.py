"""The state of a monitor as JSON holds it, and what contradicts itself there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from reprlib import repr as brief
from typing import Any

from skfair.statistics._json import (
    MAX_WHOLE,
    label_to_json,
    labels_from_json,
    list_from_json,
)

#: Numbers that were computed twice differ by rounding, at most by this.
_ROUNDING = 1e-9
#: What a monitor knows before its first look.
_BEFORE = {
    "n_rows": 0,
    "pvalue": 1.0,
    "epoch": 0,
    "compared": (),
    "drift_alarm": False,
    "change_alarm": False,
}


def statistic_to_json(statistic: Any) -> Any:
    """Return a statistic, or those of strata, as lists, numbers and text."""
    if isinstance(statistic, dict):
        strata = [[label_to_json(key), one.to_dict()] for key, one in statistic.items()]
        return {"strata": strata}
    return None if statistic is None else statistic.to_dict()


def statistic_from_json(data: Any, kind: Any) -> Any:
    """Return what `statistic_to_json` was given, of this class of statistics."""
    if data is None:
        return None
    if not isinstance(data, Mapping) or "strata" not in data:
        return kind.from_dict(data)
    if len(data) > 1:
        raise ValueError(f"strata must be the only entry, got {brief([*data])}.")
    pairs = list_from_json("strata", data["strata"])
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(
                "strata must be a list of pairs of a label and a statistic, got "
                f"{brief(pair)}."
            )
    labels = labels_from_json("strata", [label for label, _ in pairs])
    return {
        label: kind.from_dict(one)
        for label, (_, one) in zip(labels, pairs, strict=True)
    }


def blocks_from_json(data: Any, kind: Any) -> list[tuple[int, Any]]:
    """Return numbers of looks and their statistics, of this class of statistics."""
    blocks = list_from_json("blocks", data)
    for block in blocks:
        if not isinstance(block, list) or len(block) != 2 or not _is_whole(block[0]):
            raise ValueError(
                "blocks must be a list of pairs of a number of looks and a statistic, "
                f"got one that is not: {brief(block)[:80]}."
            )
        if block[1] is None:
            raise ValueError("blocks must have a statistic each, got None.")
    return [(n_looks, statistic_from_json(one, kind)) for n_looks, one in blocks]


def change_from_json(data: Any) -> tuple[int, int, int] | None:
    """Return the estimate of the time of change and the ends of its interval."""
    if data is None:
        return None
    if not isinstance(data, list) or len(data) != 3 or not all(map(_is_whole, data)):
        raise ValueError(
            "change must be null or three whole numbers, an estimate and the ends of "
            f"its interval, got {brief(data)}."
        )
    estimate, first, last = data
    return estimate, first, last


def look_to_json(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the history with null for each undefined number."""
    plain = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in look.items()
    }
    stratum = label_to_json(look["stratum"])
    return plain | {"stratum": stratum, "compared": [*look["compared"]]}


def look_from_json(data: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return what `look_to_json` was given, which has entries of these names."""
    if not isinstance(data, Mapping) or set(data) != set(names):
        raise ValueError(
            f"a look must be a dictionary of {', '.join(map(repr, names))}, got "
            f"{brief([*data]) if isinstance(data, Mapping) else type(data).__name__}."
        )
    return {name: _entry_from_json(name, data[name]) for name in names}


def _entry_from_json(name: str, value: Any) -> Any:
    """Return an entry of a look; those not named here are numbers or null."""
    if name == "stratum":
        return labels_from_json(name, [value])[0]
    if name in ("alarm", "drift_alarm", "change_alarm"):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {brief(value)}.")
        return value
    if name in ("n_rows", "epoch"):
        if not _is_whole(value):
            raise ValueError(
                f"{name} must be a whole number of at least 0, got {brief(value)}."
            )
        return value
    if name == "compared":
        numbers = value if isinstance(value, list) else [None]
        if len(numbers) not in (0, 3) or not all(map(_is_whole, numbers)):
            raise ValueError(
                "compared must be three numbers, of comparisons, groups and strata, "
                f"or none, got {brief(value)}."
            )
        return tuple(numbers)
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not -math.inf < value < math.inf:
        raise ValueError(f"{name} must be a number or null, got {brief(value)}.")
    return value


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number of at least 0, of 64 bits."""
    return type(value) is int and 0 <= value < MAX_WHOLE


def find_problem(looks: Sequence[Mapping[str, Any]], largest: float) -> str | None:
    """Say what contradicts itself in a history of alarms up to the largest p-value."""
    before: Mapping[str, Any] = _BEFORE
    for look in looks:
        problem = _find_problem_of_look(look, before, largest)
        if problem is not None:
            return problem
        before = look
    return None


def _find_problem_of_look(
    look: Mapping[str, Any], before: Mapping[str, Any], largest: float
) -> str | None:
    """Say what contradicts itself in a look, or the look before it."""
    if look["n_rows"] < before["n_rows"]:
        return "n_rows is less than in the look before"
    ends = look["lower"], look["value"], look["upper"]
    undefined = all(map(math.isnan, ends))
    recent = look["recent_lower"], look["recent"], look["recent_upper"]
    for three in (ends, recent):
        if not (all(map(math.isnan, three)) or _increase(0.0, *three)):
            return "a look must have 0 <= lower <= value <= upper, or three times null"
    if before["change_alarm"] and not look["change_alarm"]:
        return "change_alarm must stay true"
    if not 0 <= look["pvalue"] <= before["pvalue"]:
        return "pvalue must be at least 0 and at most that of the look before"
    if look["alarm"] != (look["pvalue"] <= largest):
        return f"alarm must say whether pvalue is at most {largest:g}"
    new = look["compared"] != before["compared"]
    if undefined and new:
        return "compared must stay as it was where the value is null"
    if look["epoch"] != before["epoch"] + new or (not undefined and not look["epoch"]):
        return "epoch must count how often compared has changed"
    if "drift" not in look:
        return None
    low = look["drift_lower"]
    if not (low == 0 or 0 < low <= look["drift"] + _ROUNDING):
        return "drift_lower must be at least 0 and at most drift"
    if look["drift_alarm"] != (before["drift_alarm"] or low > 0):
        return "drift_alarm must say whether drift_lower was ever above 0"
    return None


def _increase(*numbers: float) -> bool:
    """Whether none of the numbers is below the one before, but for rounding."""
    return all(one <= other + _ROUNDING for one, other in pairwise(numbers))


def agree(one: float, other: float) -> bool:
    """Whether two numbers are equal but for rounding, or both undefined."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return abs(one - other) <= _ROUNDING
