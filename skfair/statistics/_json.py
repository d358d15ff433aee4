"""Statistics as text that parties can exchange."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from datetime import date
from reprlib import repr as brief
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair.groups import plain_label

#: Arrays of positions, which are not added up.
_POSITIONS = ("codes", "bins")
#: Arrays of whole numbers.
_WHOLE = (*_POSITIONS, "counts", "label_counts", "rows")
#: Arrays of scores, which are floats, whole numbers or not.
_SCORES = ("scores", "lows", "highs")
#: Whole numbers of 64 bits are below this.
MAX_WHOLE = 2**63
_LARGEST_FLOAT = sys.float_info.max


class JSONStatistic(ABC):
    """Base of the statistics, which are dataclasses of arrays and labels."""

    def __radd__(self, other: Any) -> Self:
        # The built-in sum begins with 0.
        if type(other) is int and other == 0:
            return self
        return NotImplemented

    @property
    def n_groups(self: Any) -> int:
        """Number of groups, absent ones included."""
        return len(self.labels)

    def _rows_by_group(self: Any) -> str:
        """Text of the number of rows of each group."""
        sizes = zip(self.labels, self.counts, strict=True)
        return ", ".join(f"{label!r}: {count}" for label, count in sizes)

    def to_dict(self: Any) -> dict[str, Any]:
        """Return the statistic as lists, numbers and text, for `json.dumps`.

        Parties can exchange statistics in place of rows. Numbers keep all their bits.

        Returns
        -------
        dict
            The name of the class as ``"type"``, and one entry for each attribute.

        Raises
        ------
        ValueError
            If a label is neither text nor a number nor a date nor a tuple of these.

        Examples
        --------
        >>> import json
        >>> from skfair.statistics import GroupedOutcomes
        >>> hired = GroupedOutcomes.from_outcomes(
        ...     [1, 0, 1], sensitive_features=["a", "a", "b"]
        ... )
        >>> text = json.dumps(hired.to_dict())
        >>> GroupedOutcomes.from_dict(json.loads(text))
        GroupedOutcomes('a': 0.5 of 2, 'b': 1 of 1)
        """
        columns = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            elif isinstance(value, JSONStatistic):
                value = value.to_dict()
            elif isinstance(value, tuple):
                value = [label_to_json(label) for label in value]
            columns[field.name] = value
        return {"type": type(self).__name__, **columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the statistic of which `to_dict` made a dictionary.

        Parameters
        ----------
        data : mapping
            As `to_dict` returns it.

        Returns
        -------
        statistic
            An instance of this class.

        Raises
        ------
        ValueError
            If the dictionary is of another class, lacks an entry or has another one,
            if an entry is of another type, or if its numbers contradict each other.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        check_entries(data, cls.__name__, names)
        values = {name: cls._read_entry(name, data[name]) for name in names}
        for name, n_axes in (("matrices", 2), ("label_counts", 1)):
            if data.get(name) == []:
                # Lists do not tell the shape of the arrays of no groups.
                shape = (0, *[len(values["classes"])] * n_axes)
                values[name] = values[name].reshape(shape)
        statistic = cls(**values)
        problem = statistic._find_problem()
        if problem is not None:
            raise ValueError(f"data must be a {cls.__name__}, but {problem}.")
        return statistic

    @classmethod
    def _read_entry(cls, name: str, value: Any) -> Any:
        """Return an attribute of the statistic; those not named here are arrays."""
        if name in ("labels", "classes"):
            return labels_from_json(name, value)
        if name == "names":
            return _names_from_json(value)
        if name in ("min_group_size", "n_bins"):
            if type(value) is not int or not 1 <= value < MAX_WHOLE:
                raise ValueError(
                    f"{name} must be a positive integer, got {brief(value)}."
                )
            return value
        return _numbers_from_json(name, value)

    @abstractmethod
    def _find_problem(self) -> str | None:
        """Say what contradicts itself in a statistic that was loaded."""


def check_entries(data: Any, kind: str, names: Sequence[str]) -> None:
    """Raise unless a dictionary is of a type and has the entries of that type."""
    given = data.get("type") if isinstance(data, Mapping) else None
    if given != kind:
        raise ValueError(
            f"data must be a dictionary of type {kind!r}, got {brief(given or data)}."
        )
    lacking = [name for name in names if name not in data]
    if lacking:
        raise ValueError(f"data lacks {lacking[0]!r}, expected {[*names]}.")
    unknown = [name for name in data if name not in ("type", *names)]
    if unknown:
        expected = ", ".join(map(repr, ["type", *names]))
        raise ValueError(
            f"data has the unknown entry {brief(unknown[0])}, expected {expected}."
        )


def label_to_json(label: Any) -> Any:
    """Return a label as text or a number, tuples as lists, dates as ``{"date": ...}``.

    A date may have a time of day.
    """
    if isinstance(label, tuple):
        return [label_to_json(part) for part in label]
    label = plain_label(label)
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
            return cast(Hashable, plain_label(pd.Timestamp(text)))
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
    known: set[Hashable] = set()
    for label in labels:
        if label in known:
            raise ValueError(f"{name} must be distinct, got {brief(label)} twice.")
        known.add(label)
    return labels


def _is_label(label: Any) -> bool:
    """Whether a label is text, a number or None; NaN equals no label, not even NaN."""
    if isinstance(label, float):
        return not math.isnan(label)
    return label is None or isinstance(label, (str, int))


def _names_from_json(value: Any) -> tuple[str, ...]:
    """Return names of columns, or raise ValueError."""
    other = [one for one in list_from_json("names", value) if not isinstance(one, str)]
    if other:
        raise ValueError(f"names must be a list of text, got {brief(other[0])}.")
    return tuple(value)


def list_from_json(name: str, value: Any) -> list[Any]:
    """Return a list, or raise ValueError."""
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list, got {brief(value)}.")
    return value


def _numbers_from_json(name: str, value: Any) -> NDArray[Any]:
    """Return nested lists of numbers as an array, of int64 if all are whole numbers."""
    nested = np.asarray(list_from_json(name, value), dtype=object)
    numbers = nested.ravel().tolist()
    kinds = (int,) if name in _WHOLE else (int, float)
    real = name in _SCORES or float in map(type, numbers)
    dtype, largest = (float, _LARGEST_FLOAT) if real else (int, MAX_WHOLE - 1)
    least = -largest if name in _SCORES else 0
    for one in numbers:
        if type(one) not in kinds or not least <= one <= largest or dtype(one) != one:
            expected = "whole numbers" if name in _WHOLE else "finite numbers"
            expected += "" if name in _SCORES else " of at least 0"
            expected += ", of 64 bits"
            raise ValueError(f"{name} must be {expected}, got {brief(one)}.")
    # Sums of a few statistics are finite, too.
    exponent = 1020 if real else 63
    if name not in (*_POSITIONS, *_SCORES) and sum(numbers) >= 2**exponent:
        raise ValueError(f"{name} add up to 2**{exponent} or more, expected less.")
    # Scores are sorted by their bits, among which a negative zero is large.
    return nested.astype(np.float64) + 0.0 if real else nested.astype(np.int64)
