"""What all statistics share: their sum, and their form in JSON."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from reprlib import repr as brief
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair.groups import join_groups, plain_label, positions_in

#: The number changes with what `to_dict` writes of any statistic or monitor.
FORMAT = 3
#: Arrays of whole numbers.
_WHOLE = ("codes", "bins", "counts", "label_counts", "rows")
#: Arrays of scores, which are floats, whole numbers or not.
_SCORES = ("scores", "lows", "highs")
#: Whole numbers of 64 bits are below this.
MAX_WHOLE = 2**63


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

    def _of_groups(self: Any, labels: Sequence[Hashable]) -> Any:
        """Return the statistic of some of its groups."""
        labels = tuple(labels)
        if labels == self.labels:
            return self
        positions = positions_in(self.labels, labels)
        columns: dict[str, Any] = {}
        for name in self._by_group:
            columns[name] = getattr(self, name)[positions]
        if hasattr(self, "codes"):
            places = np.full(self.n_groups, len(labels))
            places[positions] = np.arange(len(labels))
            places = places[self.codes]
            own = places < len(labels)
            for field in fields(self):
                value = getattr(self, field.name)
                if isinstance(value, np.ndarray) and field.name not in columns:
                    columns[field.name] = value[own]
            columns["codes"] = places[own].astype(self.codes.dtype)
        return replace(self, labels=labels, **columns)

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
            The name of the class as ``"type"``, the ``"format"``, and one entry for
            each attribute.

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
        return with_format(type(self).__name__, columns)

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
            If the dictionary is of another class or format, or if an entry is missing
            or of another type or size.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        check_format(data, cls.__name__, names)
        values = {name: cls._read_entry(name, data[name]) for name in names}
        for name, n_axes in (("matrices", 2), ("label_counts", 1)):
            if data.get(name) == []:
                # Lists do not tell the shape of the arrays of no groups.
                shape = (0, *[len(values["classes"])] * n_axes)
                values[name] = values[name].reshape(shape)
        statistic = cls(**values)
        statistic._check_sizes()
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

    def _check_sizes(self: Any) -> None:
        """Raise unless arrays that were loaded fit the labels and each other."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        n_groups, n_classes = self.n_groups, len(values.get("classes", ()))
        shapes = {
            "matrices": (n_groups, n_classes, n_classes),
            "label_counts": (n_groups, n_classes),
        }
        codes = values.get("codes")
        n_entries = n_groups if codes is None else codes.size
        for name, value in values.items():
            n = n_groups if name in self._by_group else n_entries
            shape = shapes.get(name, (n,))
            if isinstance(value, np.ndarray) and value.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {value.shape}.")
        if codes is not None and not ((codes >= 0) & (codes < n_groups)).all():
            raise ValueError(f"codes must be positions of the {n_groups} labels.")


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
    seen: set[Hashable] = set()
    for label in labels:
        if label in seen:
            raise ValueError(f"{name} must be distinct, got {brief(label)} twice.")
        seen.add(label)
    return labels


def _is_label(label: Any) -> bool:
    """Whether a label is text, a number or None; NaN equals no label, not even NaN."""
    if isinstance(label, float):
        return not math.isnan(label)
    return label is None or isinstance(label, (str, int))


def _names_from_json(value: Any) -> tuple[str, ...]:
    """Return names of columns, or raise ValueError."""
    for name in list_from_json("names", value):
        if not isinstance(name, str):
            raise ValueError(f"names must be a list of text, got {brief(name)}.")
    return tuple(value)


def list_from_json(name: str, value: Any) -> list[Any]:
    """Return a list, or raise ValueError."""
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list, got {brief(value)}.")
    return value


def _numbers_from_json(name: str, value: Any) -> NDArray[Any]:
    """Return nested lists of numbers as an array, of int64 if all are whole numbers."""
    try:
        numbers = np.array(list_from_json(name, value))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be lists of equal length: {error}.") from error
    numbers = numbers if numbers.size else numbers.astype(np.int64)
    kinds = "i" if name in _WHOLE else "if"
    if numbers.dtype.kind not in kinds or not np.isfinite(numbers).all():
        expected = "whole numbers" if name in _WHOLE else "finite numbers"
        raise ValueError(f"{name} must be {expected} of 64 bits, got {brief(value)}.")
    # Scores are sorted by their bits, among which a negative zero is large.
    return numbers.astype(np.float64) + 0.0 if name in _SCORES else numbers
