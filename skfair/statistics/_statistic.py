"""What all statistics share: their sum, and JSON with its SHA-256."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from reprlib import repr as brief
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd

from skfair.groups import join_groups, plain_label, positions_in

#: The number changes with what `sealed` writes of any statistic or monitor.
FORMAT = 2
#: Arrays of scores, which are floats, whole numbers or not.
_SCORES = ("scores", "lows", "highs")


class GroupedStatistic:
    """Base of the statistics, which are dataclasses of arrays and labels.

    Arrays have a number for each group, and are added, or for each entry, such as a
    score of a group, whose position in the labels is in `codes`.
    """

    #: Arrays with numbers for each group.
    _by_group: ClassVar[tuple[str, ...]] = ()

    def __add__(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        labels, names, smallest = join_groups(self, other)
        first, second = self._over(labels), other._over(labels)
        sums = {n: getattr(first, n) + getattr(second, n) for n in self._by_group}
        return replace(
            first,
            **sums,
            **first._join_entries(second),
            names=names,
            min_group_size=smallest,
        )

    def __radd__(self, other: Any) -> Self:
        # The built-in sum begins with 0.
        if type(other) is int and other == 0:
            return self
        return NotImplemented

    def _join_entries(self, other: Self) -> dict[str, Any]:
        """Return the entries of two statistics with the same labels, joined."""
        return {}

    def _over(self: Any, labels: tuple[Hashable, ...]) -> Any:
        """Return the statistic over labels among which are all of its own."""
        positions = positions_in(labels, self.labels)
        columns: dict[str, Any] = {}
        for name in self._by_group:
            column = getattr(self, name)
            columns[name] = np.zeros((len(labels), *column.shape[1:]), column.dtype)
            columns[name][positions] = column
        if hasattr(self, "codes"):
            columns["codes"] = positions[self.codes]
        return replace(self, labels=labels, **columns)

    def _of_one_group(self: Any, group: int, label: Hashable) -> Any:
        """Return the statistic of one group, under a label of its own."""
        columns: dict[str, Any] = {n: getattr(self, n)[[group]] for n in self._by_group}
        if hasattr(self, "codes"):
            own = self.codes == group
            for field in fields(self):
                value = getattr(self, field.name)
                if isinstance(value, np.ndarray) and field.name not in columns:
                    columns[field.name] = value[own]
            columns["codes"] = np.zeros_like(columns["codes"])
        return replace(self, labels=(label,), names=(), **columns)

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
            The name of the class as ``"type"``, the ``"format"``, one entry for each
            attribute, and the ``"sha256"`` of all others.

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
            elif isinstance(value, GroupedStatistic):
                value = value.to_dict()
            elif isinstance(value, tuple):
                value = [label_to_json(label) for label in value]
            columns[field.name] = value
        return sealed(type(self).__name__, columns)

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
            If the dictionary is of another class or format, if it was changed after
            `to_dict` had written it, or if an entry is of another type or size.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        check_sealed(data, cls.__name__, names)
        values = {name: cls._read_entry(name, data[name]) for name in names}
        if "classes" in values:
            # Lists do not tell the shape of the arrays of no groups.
            n = len(values["classes"])
            values["matrices"] = values["matrices"].reshape(-1, n, n)
            values["label_counts"] = values["label_counts"].reshape(-1, n)
        return cls(**values)

    @classmethod
    def _read_entry(cls, name: str, value: Any) -> Any:
        """Return an attribute of the statistic; other lists than these are arrays."""
        if name in ("labels", "classes"):
            return labels_from_json(value)
        if name == "names":
            return tuple(value)
        if not isinstance(value, list):
            return value
        of_none = np.int64 if not value else None
        return np.array(value, np.float64 if name in _SCORES else of_none)


Statistic = TypeVar("Statistic", bound=GroupedStatistic)


def sum_statistics(statistics: Iterable[Statistic]) -> Statistic:
    """Add up many statistics of the same class.

    Adding batches of scores one by one sorts the growing sum again for each batch,
    which takes time quadratic in their number. Here sums of equally many batches are
    added to each other: every batch takes part in log2(n_statistics) additions.

    Parameters
    ----------
    statistics : iterable of statistics of the same class
        Statistics of `skfair.statistics`, such as `GroupedScores`. A generator is read
        one by one, so that batches need not be in memory together.

    Returns
    -------
    statistic
        That of the joined rows. Weights that are not whole numbers are added in
        another order than by `sum`, and may differ from it by rounding.

    Raises
    ------
    ValueError
        If there are no statistics.
    TypeError
        If they are of several classes, or no statistics.

    See Also
    --------
    GroupedScores : A statistic of scores.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> from skfair.statistics import GroupedScores, sum_statistics
    >>> days = [([0.2, 0.9], ["F", "M"]), ([0.4, 0.6], ["F", "M"])]
    >>> week = sum_statistics(
    ...     GroupedScores.from_scores(scores, sensitive_features=sex)
    ...     for scores, sex in days
    ... )
    >>> mcdp(None, week)
    1.0
    """
    waiting: list[tuple[int, Statistic]] = []  # sums of 2**k statistics, k decreasing
    for statistic in statistics:
        if not isinstance(statistic, GroupedStatistic):
            raise TypeError(
                "statistics must be statistics of skfair.statistics, got a "
                f"{type(statistic).__name__}."
            )
        size, joined = 1, statistic
        while waiting and waiting[-1][0] == size:
            joined = _add(waiting.pop()[1], joined)
            size *= 2
        waiting.append((size, joined))
    if not waiting:
        raise ValueError("statistics is empty, expected at least one.")
    _, total = waiting.pop()
    while waiting:
        total = _add(waiting.pop()[1], total)
    return total


def _add(first: Statistic, second: Statistic) -> Statistic:
    """Sum of two statistics of the same class."""
    if type(first) is not type(second):
        raise TypeError(
            "statistics must be of one class, got a "
            f"{type(first).__name__} and a {type(second).__name__}."
        )
    return first + second  # type: ignore[no-any-return]


def sealed(kind: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries with their type, their format and the SHA-256 of all of these."""
    data = {"type": kind, "format": FORMAT, **entries}
    return data | {"sha256": _sha256_of(data)}


def check_sealed(data: Any, kind: str, names: Sequence[str]) -> None:
    """Raise unless `sealed` returned the data, with entries of these names."""
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
    rest = {name: value for name, value in data.items() if name != "sha256"}
    try:
        changed = data.get("sha256") != _sha256_of(rest)
    except (ValueError, TypeError, RecursionError):  # what JSON cannot hold
        changed = True
    if changed or {*rest} != {"type", "format", *names}:
        raise ValueError(
            f"data of type {kind!r} must have the SHA-256 that it states: it was "
            "changed after skfair had written it."
        )


def _sha256_of(data: Mapping[str, Any]) -> str:
    """Hash data as JSON, whatever the order of its entries."""
    text = json.dumps(data, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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


def labels_from_json(labels: Iterable[Any]) -> tuple[Hashable, ...]:
    """Return the labels of which `label_to_json` made each of these."""
    return tuple(map(_label_from_json, labels))


def _label_from_json(label: Any) -> Any:
    """Return the label that `label_to_json` was given."""
    if isinstance(label, list):
        return labels_from_json(label)
    if isinstance(label, dict):
        return plain_label(pd.Timestamp(label["date"]))
    return label


def _is_label(label: Any) -> bool:
    """Whether a label is text, a number or None; NaN equals no label, not even NaN."""
    if isinstance(label, float):
        return not math.isnan(label)
    return label is None or isinstance(label, (str, int))
