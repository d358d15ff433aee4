"""The state of a monitor as JSON holds it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from reprlib import repr as brief
from typing import Any

from skfair.statistics._statistic import (
    MAX_WHOLE,
    label_to_json,
    labels_from_json,
    list_from_json,
)


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
    if name in ("alarm", "change_alarm"):
        valid = isinstance(value, bool)
    elif name in ("n_rows", "epoch"):
        valid = _is_whole(value)
    elif name == "compared":
        valid = isinstance(value, list) and all(map(_is_whole, value))
        value = tuple(value) if valid else value
    else:
        value = math.nan if value is None else value
        valid = isinstance(value, float) or _is_whole(value)
    if not valid:
        raise ValueError(f"{name} of a look is of another type: {brief(value)}.")
    return value


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number of at least 0, of 64 bits."""
    return type(value) is int and 0 <= value < MAX_WHOLE
