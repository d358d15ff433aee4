"""Statistics as text that parties can exchange."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import fields
from datetime import date
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair.groups import plain_label


class JSONStatistic(ABC):
    """Base of the statistics, which are dataclasses of arrays and labels."""

    def __radd__(self, other: Any) -> Self:
        # The built-in sum begins with 0.
        if type(other) is int and other == 0:
            return self
        return NotImplemented

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
            If the dictionary is of another class, lacks an entry, or if its numbers
            contradict each other.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        given = data.get("type") if isinstance(data, Mapping) else None
        if given != cls.__name__:
            raise ValueError(
                f"data must be a dictionary of type {cls.__name__!r}, got {given!r}."
            )
        lacking = [name for name in names if name not in data]
        if lacking:
            raise ValueError(f"data lacks {lacking[0]!r}, expected {names}.")
        values = {name: _value_from_json(name, data[name]) for name in names}
        statistic = cls(**values)
        problem = statistic._find_problem()
        if problem is not None:
            raise ValueError(f"data must be a {cls.__name__}, but {problem}.")
        return statistic

    @abstractmethod
    def _find_problem(self) -> str | None:
        """Say what contradicts itself in a statistic that was loaded."""


def label_to_json(label: Any) -> Any:
    """Return a label as text or a number, tuples as lists, dates as ``{"date": ...}``.

    A date may have a time of day.
    """
    if isinstance(label, tuple):
        return [label_to_json(part) for part in label]
    label = plain_label(label)
    if isinstance(label, date):
        return {"date": label.isoformat()}
    if label is None or isinstance(label, (str, bool, int, float)):
        return label
    raise ValueError(
        f"labels must be text, numbers, dates or tuples of these, got {label!r} of "
        f"type {type(label).__name__}."
    )


def label_from_json(label: Any) -> Hashable:
    """Return lists as tuples, and dates."""
    if isinstance(label, dict) and [*label] == ["date"]:
        return cast(Hashable, plain_label(pd.Timestamp(label["date"])))
    return tuple(map(label_from_json, label)) if isinstance(label, list) else label


def _value_from_json(name: str, value: Any) -> Any:
    """Return an attribute of a statistic; those not named here are arrays."""
    if name in ("labels", "classes", "names"):
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, got {value!r}.")
        return label_from_json(value)
    if name in ("min_group_size", "n_bins"):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}.")
        return value
    array: NDArray[Any] = np.asarray(value)
    if (
        array.dtype.kind not in "if"
        or not np.isfinite(array).all()
        or ((array < 0).any() and name != "scores")
    ):
        least = "" if name == "scores" else " of at least 0"
        raise ValueError(f"{name} must be finite numbers{least}.")
    return array
