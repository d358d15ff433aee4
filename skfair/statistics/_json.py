"""Tables and monitors as JSON: their format, labels and numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from reprlib import repr as brief
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair.groups import Groups, python_label, with_labels

#: The number changes with what `to_dict` writes of a table or a monitor.
FORMAT = 4
#: Whole numbers of 64 bits are below this.
MAX_WHOLE = 2**63


def with_format(kind: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries with their type and their format."""
    return {"type": kind, "format": FORMAT, **entries}


def check_format(data: Any, kind: str, names: Sequence[str]) -> None:
    """Raise unless data are of a type, with entries of these names.

    The SHA-256 that was written before is ignored.
    """
    stated = data.get("type") if isinstance(data, Mapping) else None
    if stated != kind:
        raise ValueError(
            f"data must be a dictionary of type {kind!r}, got {brief(stated or data)}."
        )
    if data.get("format") != FORMAT:
        raise ValueError(
            f"data must be of format {FORMAT}, got {brief(data.get('format'))}: "
            "another version of skfair wrote it, so compute it again."
        )
    for name in names:
        if name not in data:
            raise ValueError(f"data of type {kind!r} must have {name}, which it lacks.")
    for name in data:
        if name not in ("type", "format", "sha256", *names):
            raise ValueError(
                f"data of type {kind!r} must have the entries {', '.join(names)}, got "
                f"{brief(name)}, too."
            )


def label_to_json(label: Any) -> Any:
    """Return a label as text or a number, tuples as lists, dates as ``{"date": ...}``.

    A date may have a time of day.
    """
    if isinstance(label, tuple):
        return [label_to_json(part) for part in label]
    label = python_label(label)
    if isinstance(label, date):
        return {"date": label.isoformat()}
    if _is_label(label):
        return label
    raise ValueError(
        f"labels must be text, numbers, dates or tuples of these, got {label!r} of "
        f"type {type(label).__name__}."
    )


def _label_from_json(label: Any, name: str) -> Hashable:
    """Return a label that `label_to_json` made, or raise ValueError."""
    if isinstance(label, list):
        return tuple(_label_from_json(part, name) for part in label)
    if isinstance(label, dict) and [*label] == ["date"]:
        return _date_from_json(label["date"], name)
    if _is_label(label):
        return label  # type: ignore[no-any-return]
    raise ValueError(
        f"{name} must be text, numbers, dates or lists of these, got {brief(label)}."
    )


def _date_from_json(text: Any, name: str) -> Hashable:
    """Return the date of its ISO form, or raise ValueError."""
    try:
        if isinstance(text, str):
            return cast(Hashable, python_label(pd.Timestamp(text)))
    except ValueError:
        pass
    raise ValueError(f"{name} must have dates in ISO format, got {brief(text)}.")


def labels_from_json(name: str, values: Any) -> tuple[Hashable, ...]:
    """Return distinct labels, or raise ValueError; `name` is theirs in messages."""
    try:
        labels = tuple(
            _label_from_json(label, name) for label in list_from_json(name, values)
        )
    except RecursionError as error:
        raise ValueError(f"{name} are nested too deeply to be labels.") from error
    seen: set[Hashable] = set()
    for label in labels:
        if label in seen:
            raise ValueError(f"{name} must be distinct, got {brief(label)} twice.")
        seen.add(label)
    return labels


def _is_label(label: Any) -> bool:
    """Return whether a label is text, a number or None, and not NaN."""
    if isinstance(label, float):
        return not math.isnan(label)
    return label is None or isinstance(label, (str, int))


def list_from_json(name: str, value: Any) -> list[Any]:
    """Return a list, or raise ValueError."""
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list, got {brief(value)}.")
    return value


def groups_to_json(groups: Groups) -> dict[str, Any]:
    """Return groups, or strata, as lists, numbers and text."""
    return {
        "labels": [label_to_json(label) for label in groups.labels],
        "names": [*groups.names],
        "min_group_size": groups.min_group_size,
        "codes": groups.codes.tolist(),
    }


def groups_from_json(name: str, data: Any, size: int) -> Groups:
    """Read the output of `groups_to_json`, or raise ValueError."""
    entries = ("labels", "names", "min_group_size", "codes")
    if not isinstance(data, Mapping) or {*data} != {*entries}:
        raise ValueError(
            f"{name} must be a dictionary of {', '.join(entries)}, got {brief(data)}."
        )
    labels = labels_from_json("labels", data["labels"])
    for text in list_from_json("names", data["names"]):
        if not isinstance(text, str):
            raise ValueError(f"names must be a list of text, got {brief(text)}.")
    smallest = data["min_group_size"]
    if type(smallest) is not int or not 1 <= smallest < MAX_WHOLE:
        raise ValueError(
            f"min_group_size must be a positive integer, got {brief(smallest)}."
        )
    codes = numbers_from_json("codes", data["codes"], size, whole=True)
    if not ((codes >= 0) & (codes < len(labels))).all():
        raise ValueError(f"codes must be positions of the {len(labels)} labels.")
    return with_labels(Groups(codes, labels, tuple(data["names"]), smallest), labels)


def keys_from_json(name: str, values: Any, size: int) -> NDArray[Any]:
    """Return numbers, or labels, of the cells of a table, or raise ValueError."""
    listed = list_from_json(name, values)
    if all(type(value) is bool for value in listed) and listed:
        numbers = numbers_from_json(name, [*map(int, listed)], size, whole=True)
        return np.asarray(numbers == 1)
    if all(type(value) in (int, float) for value in listed):
        return numbers_from_json(name, listed, size)
    labels = [_label_from_json(value, name) for value in listed]
    if None in labels:
        raise ValueError(f"{name} must be text, numbers or dates, got None.")
    if len(labels) != size:
        raise ValueError(f"{name} must have {size} entries, got {len(labels)}.")
    array = np.empty(size, dtype=object)
    array[:] = labels
    return array


def numbers_from_json(
    name: str, values: Any, size: int, *, whole: bool = False
) -> NDArray[Any]:
    """Return a list of numbers as an array, of int64 if all are whole numbers."""
    try:
        numbers = np.array(list_from_json(name, values))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a list of numbers: {error}.") from error
    numbers = numbers if numbers.size else numbers.astype(np.int64)
    kinds = "i" if whole else "if"
    if numbers.dtype.kind not in kinds or not np.isfinite(numbers).all():
        expected = "whole numbers" if whole else "finite numbers"
        raise ValueError(f"{name} must be {expected} of 64 bits, got {brief(values)}.")
    if numbers.shape != (size,):
        raise ValueError(f"{name} must have shape {(size,)}, got {numbers.shape}.")
    return np.asarray(numbers + 0.0) if numbers.dtype.kind == "f" else numbers
