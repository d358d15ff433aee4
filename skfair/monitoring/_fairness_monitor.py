"""A monitor of a disparity whose statements hold at every look."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from reprlib import repr as brief
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import chdtri
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._arrays import Integers
from skfair._utils._text import counted
from skfair._utils._validation import (
    check_integer,
    check_real,
    check_shape,
    distinct_labels,
)
from skfair._utils._warnings import warn_user
from skfair.groups import (
    python_label,
    relabel,
    warn_of_look_alikes,
)
from skfair.metrics._as_metric import METRICS, as_metric, changed_options
from skfair.metrics._confidence_interval import (
    ConfidenceInterval,
    join_comparisons,
    lower_bound,
    metric_with_noise_bounds,
    smallest_tail,
    upper_bound,
)
from skfair.metrics._madd import MADD
from skfair.metrics._madd_bins import bin_scores
from skfair.metrics._metric import Metric
from skfair.metrics._parts import undefined_estimate
from skfair.metrics._quantiles import UNDEFINED, Comparisons, Method
from skfair.metrics._undefined import (
    comparable_groups,
    describe_left_out,
    describe_strata,
)
from skfair.statistics import CountTable
from skfair.statistics._cells import merge_cells
from skfair.statistics._count_table import table_of
from skfair.statistics._json import (
    MAX_WHOLE,
    add_format,
    check_format,
    label_to_json,
    labels_from_json,
)

_COLUMNS = ("n_rows", "value", "lower", "upper", "pvalue", "alarm", "n_groups")
_RECENT_COLUMNS = ("recent", "recent_lower", "recent_upper", "change_alarm")
#: Entries of the state.
_ENTRIES = (
    "metric",
    "at_most",
    "confidence_level",
    "min_group_size",
    "table",
    "looks",
    "blocks",
    "change",
)
#: Share of the error probability that is kept for groups and strata that appear later.
_LATER = 0.1
#: Share of the looks, at least, that the recent rows are from without a change.
_RECENT = 0.25


#: A number of consecutive looks, and the table of their rows, or tables by stratum.
Block = tuple[int, Any]
#: Largest number of blocks of the same number of looks.
_OF_ONE_LENGTH = 4
#: Scores are rounded down to multiples of one over this number.
N_SCORES = 256
#: The sum of 1 / (n log(n)**2) over all n from 2 on is 2.1097.
_SUM_OF_SHARES = 2.11
#: Levels at which the bounds of two samples are compared.
_N_TAILS = 24


class Disparity(NamedTuple):
    """Disparity between the groups that are large enough."""

    comparisons: Comparisons
    stratum: Hashable  # where it is largest
    n_groups: int  # that are compared
    # Numbers of groups, strata and rates, large enough or not, and the smallest size.
    known: tuple[int, ...]
    n_waiting: int  # groups, in all strata together, that are too small


class Change(NamedTuple):
    """Numbers of looks before a change: an estimate, and the ends of its interval."""

    estimate: int
    first: int
    last: int


class FairnessMonitor:
    """Watch a disparity over all time, with a stated probability of a false alarm.

    It adds up the tables of batches. An ordinary interval that is computed again
    every day misses the truth some day. The intervals and p-values of a monitor hold at
    all looks at once: look as often as you like, and stop when you like.

    Parameters
    ----------
    metric : callable
        `mcdp`, `abcc`, `madd` with a number as its bandwidth,
        `demographic_parity_difference`, `equalized_odds_difference`, `max_gap` or
        `cvar_fairness`, of `skfair.metrics`; `functools.partial` sets its options.
    at_most : float, default=0.0
        Largest disparity without an alarm. Noise is accounted for: with 0 any
        disparity that is certain raises the alarm.
    confidence_level : float in (0, 1), default=0.95
        Probability that all intervals, of all looks, cover the true disparity. One
        minus it is the largest probability that there is ever a false alarm.
    min_group_size : int, default=10
        Groups with fewer rows so far are left out of the comparison and named by a
        warning; they join when they have grown. Only rows that count in the metric are
        counted, with equalized odds those of each true label, and with strata those of
        the group in each stratum. If the `min_group_size` of a `Groups` is larger, it
        takes precedence.

    Attributes
    ----------
    table_ : CountTable, dict or None
        Table of all rows so far, as the metric counts them: scores, hits (1) and misses
        (0), or true and predicted labels. With strata that of each, by label.
    history_ : DataFrame
        One row for each batch, about all rows so far: their number ``n_rows``; the
        metric, ``value``; its interval, ``lower`` and ``upper``; ``pvalue`` of the
        hypothesis that the disparity is at most `at_most`, the smallest so far; and
        ``alarm``, whether that is at most 1 - `confidence_level`; and ``n_groups``,
        the number of groups compared, counted in each stratum. With strata also
        ``stratum``, the one with the largest disparity.
        ``recent``, ``recent_lower`` and ``recent_upper`` are the metric of the recent
        rows and its interval, and ``change_alarm`` says whether a change was found.

    See Also
    --------
    skfair.metrics.confidence_interval : The same bounds, by ``method="anytime"``.
    skfair.inspection.MonitorDisplay : Picture of the history.

    Notes
    -----
    The rows of each group are independent, without sample weights, and have the same
    distribution throughout or up to a change. `alarm_` is about all rows so far: the
    longer the history, the later a change shows. `change_alarm_` compares the rows
    since a look with those before it, for many looks, and finds a change after about
    as many rows as it takes to measure the new disparity. Begin a new monitor for a
    new model.

    The alarms of the cumulative disparity and of a change each have the probability
    1 - `confidence_level` of ever being false.

    To find changes, scores in [0, 1] are rounded down to multiples of 1/256, or to the
    bins of MADD. Of each length of 1, 2, 4, ... looks at most four sums of batches are
    kept; the rows before and since are compared where these sums begin.

    The disparity compares the groups that are large enough. All pairs of known groups,
    in all strata, share 0.9 of the level, whether the groups are large enough or not.
    The known groups and strata are those at the first look at which two groups can be
    compared, labels of a `Groups` or categories without rows included. Groups keep
    their shares when they join. The remaining tenth is for looks after unknown groups
    or strata appear, since the share of each pair then changes. While groups of the
    first look are too small, the upper end is higher: it has its share of the level for
    each set of groups that may be compared.

    A change concerns only groups that are large enough both before and since a look.

    References
    ----------
    .. [1] Howard, Ramdas. "Sequential Estimation of Quantiles with Applications to A/B
       Testing and Best-Arm Identification". Bernoulli 28(3), 2022. Corollary 1.
    .. [2] Howard, Ramdas, McAuliffe, Sekhon. "Time-uniform, Nonparametric,
       Nonasymptotic Confidence Sequences". Annals of Statistics 49(2), 2021.
    .. [3] Shekhar, Ramdas. "Reducing Sequential Change Detection to Sequential
       Estimation". International Conference on Machine Learning, 2024.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import mcdp
    >>> from skfair.monitoring import FairnessMonitor
    >>> monitor = FairnessMonitor(mcdp, at_most=0.2)
    >>> for day in range(3):
    ...     _, y_score, group = make_biased_scores(500, random_state=day)
    ...     monitor.update(None, y_score, sensitive_features=group)
    >>> monitor.history_["alarm"].tolist()
    [True, True, True]
    """

    def __init__(
        self,
        metric: Callable[..., float],
        *,
        at_most: float = 0.0,
        confidence_level: float = 0.95,
        min_group_size: int = 10,
    ) -> None:
        self._metric = metric_with_noise_bounds(metric)
        largest = self._metric.upper_limit
        if largest == math.inf:
            raise ValueError(
                f"metric must have a largest value, but {self._metric.name} of "
                "numbers has none: bounds for all looks at growing data are for values "
                f"in a known range; got {metric!r}."
            )
        self._metric.check_method("anytime")
        self.metric = metric
        self.at_most = check_real("at_most", at_most, 0, largest, closed="left")
        self.confidence_level = check_real(
            "confidence_level", confidence_level, 0, 1, closed="neither"
        )
        self.min_group_size = check_integer("min_group_size", min_group_size, 1)
        n_scores: int | None = N_SCORES
        if isinstance(self._metric, MADD):
            n_scores = self._metric.n_bins
        elif not self._metric.compares_distributions:
            n_scores = None  # their tables are small
        elif self._metric.options["scale"] != "probability":
            n_scores = None
        self._n_scores = n_scores
        self.table_: Any = None
        self._looks: list[dict[str, Any]] = []
        self._blocks: list[Block] = []
        # When a change began: the estimate, and the ends of its interval.
        self._change: Change | None = None

    def __repr__(self) -> str:
        history = "no rows"
        if self._looks:
            last = self._last_look()
            history = (
                f"{counted(last['n_rows'], 'row')} in "
                f"{counted(len(self._looks), 'look')}, value {last['value']:.4g} "
                f"[{last['lower']:.4g}, {last['upper']:.4g}], "
                f"{'alarm' if last['alarm'] else 'no alarm'}"
            )
        return (
            f"FairnessMonitor({self._metric_text}, at_most={self.at_most!r}, "
            f"confidence_level={self.confidence_level!r}, "
            f"min_group_size={self.min_group_size!r}; {history})"
        )

    @property
    def _metric_text(self) -> str:
        """Return the name of the metric, with its options as keywords."""
        name, options = self._metric.name, changed_options(self._metric)
        settings = [f", {name}={value!r}" for name, value in sorted(options.items())]
        return f"partial({name}{''.join(settings)})" if settings else name

    def update(
        self,
        y_true: ArrayLike | None,
        y_score: Any,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> None:
        """Add a batch of rows, and look at the disparity of all rows so far.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels, as the metric takes them.
        y_score : array-like of shape (n_samples,), or CountTable
            Scores or predicted labels, or the table of a batch that was counted
            elsewhere, of people without weights; or a mapping of strata to tables.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row. None with a table.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, within which groups are compared, in every batch or in
            none. The disparity is the largest over strata, or the mean by their
            numbers of rows with a metric of ``multistratum="weighted"``; alarms and
            intervals hold for all strata at once. Strata without two groups so far are
            left out, with a warning that names them.

        Raises
        ------
        ValueError
            As the metric does, and if some batches have strata and others have not.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            While groups are too small to be compared: the others are compared, or the
            disparity is undefined.
        """
        batch = self._observe(y_true, y_score, sensitive_features, control_features)
        self._check_strata(batch)
        total = batch if self.table_ is None else add_tables(self.table_, batch)
        look = self._look(total)
        if self._n_scores is not None:  # unless scores have any scale
            batch = round_scores(batch, self._n_scores)
        blocks = add_look(self._blocks, batch)
        recent, change = self._recent(blocks)
        self.table_, self._blocks, self._change = total, blocks, change
        self._looks.append(look | recent)

    def merge(self, *others: Self) -> Self:
        """Return the monitor of all rows of this and of other monitors.

        They watch the same metric in several places, and looked equally often: their
        first looks count as one look, and so on. The history begins anew with one look
        at all rows, since nobody looked at the rows of all places before. The alarms
        and the times of change of the places stay theirs.

        Parameters
        ----------
        *others : FairnessMonitor
            Monitors with the same options and number of looks.

        Returns
        -------
        FairnessMonitor

        Raises
        ------
        ValueError
            If the monitors differ in an option or in the number of looks, if some have
            strata and others have not, or if one is given twice, since its rows would
            count twice. (Of copies nobody can tell.)

        Examples
        --------
        >>> from skfair.metrics import mcdp
        >>> from skfair.monitoring import FairnessMonitor
        >>> north, south = FairnessMonitor(mcdp), FairnessMonitor(mcdp)
        >>> groups = ["a", "b"] * 10
        >>> north.update(None, [0.2, 0.7] * 10, sensitive_features=groups)
        >>> south.update(None, [0.3, 0.5] * 10, sensitive_features=groups)
        >>> north.merge(south).history_["n_rows"].tolist()
        [40]
        """
        if len({id(monitor) for monitor in (self, *others)}) <= len(others):
            raise ValueError("others must be other monitors, each given once.")
        for other in others:
            for name, value in self._shared().items():
                theirs = other._shared()[name]
                if theirs != value:
                    raise ValueError(
                        f"others must be monitors of the same {name}, got "
                        f"{brief(theirs)} and {brief(value)}."
                    )
        merged = type(self)(
            self.metric,
            at_most=self.at_most,
            confidence_level=self.confidence_level,
            min_group_size=self.min_group_size,
        )
        if not self._looks:
            return merged
        merged.table_, merged._blocks = self.table_, self._blocks
        for other in others:
            merged._check_strata(other.table_)
            merged.table_ = add_tables(merged.table_, other.table_)
            pairs = zip(merged._blocks, other._blocks, strict=True)
            merged._blocks = [
                (n, add_tables(table, more)) for (n, table), (_, more) in pairs
            ]
        recent, merged._change = merged._recent(merged._blocks)
        merged._looks.append(merged._look(merged.table_) | recent)
        return merged

    def _shared(self) -> dict[str, Any]:
        """Return the settings that merged monitors must have in common."""
        return {
            "metric and options": self._metric_text,
            "at_most": self.at_most,
            "confidence_level": self.confidence_level,
            "min_group_size": self.min_group_size,
            "number of looks": sum(n_looks for n_looks, _ in self._blocks),
        }

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each batch."""
        strata = ["stratum"] if isinstance(self.table_, dict) else []
        columns = [*_COLUMNS, *strata, *_RECENT_COLUMNS]
        # Of merged monitors earlier looks are unknown, and counted.
        n_looks = sum(n for n, _ in self._blocks)
        index = pd.RangeIndex(n_looks - len(self._looks), n_looks)
        return pd.DataFrame(self._looks, index, columns)

    @property
    def left_out_(self) -> dict[Hashable, int]:
        """Numbers of rows of the groups that are too small to be compared.

        With strata these are the groups that are compared in none.
        """
        self._last_look()
        parts = _parts(self.table_)
        compared = _compared_groups(parts, self._smallest_size(parts))
        rows = dict.fromkeys(_list_groups(parts), 0)
        for part in parts.values():
            for group, count in zip(part.labels, part.counts.tolist(), strict=True):
                rows[group] += count
        return {group: n for group, n in rows.items() if group not in compared}

    @property
    def interval_(self) -> ConfidenceInterval:
        """Interval of the last look.

        Raises
        ------
        ValueError
            If there was no look yet.
        """
        return self._anytime(*(self._last_look()[name] for name in _COLUMNS[1:4]))

    @property
    def pvalue_(self) -> float:
        """Smallest p-value so far, of the disparity being at most `at_most`."""
        return float(self._last_look()["pvalue"])

    @property
    def alarm_(self) -> bool:
        """Whether the disparity was ever certain to be above `at_most`."""
        return bool(self._last_look()["alarm"])

    @property
    def change_alarm_(self) -> bool:
        """Whether the disparity since a look was ever certain to differ.

        It was certain to differ from the disparity of the rows before that look.
        """
        return bool(self._last_look()["change_alarm"])

    @property
    def change_time_(self) -> ConfidenceInterval | None:
        """When the disparity changed: how many looks there were before.

        The number is the position of a look in the index of `history_`, from 0. Its
        interval holds if the distributions changed once. None as long as no disparity
        was certain to differ from an earlier one.
        """
        if self._change is None:
            return None
        return self._anytime(*self._change)

    @property
    def value_recent_(self) -> float:
        """Disparity of the recent rows: `interval_recent_` says which they are."""
        return float(self._last_look()["recent"])

    @property
    def interval_recent_(self) -> ConfidenceInterval:
        """Interval of the disparity of the recent rows.

        These are the rows since the change, if there was one, else those of about the
        last quarter of all looks. The intervals of all looks hold at once.
        """
        return self._anytime(*(self._last_look()[name] for name in _RECENT_COLUMNS[:3]))

    def _anytime(self, value: float, lower: float, upper: float) -> ConfidenceInterval:
        """Return the interval that holds at all looks at once."""
        return ConfidenceInterval(value, lower, upper, self.confidence_level, "anytime")

    def to_dict(self) -> dict[str, Any]:
        """Return the state as lists, numbers and text, for `json.dumps`.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If a label or an option of the metric has no form in JSON.
        """
        state = {
            "metric": _metric_to_dict(self._metric),
            "at_most": self.at_most,
            "confidence_level": self.confidence_level,
            "min_group_size": self.min_group_size,
            "table": _table_to_json(self.table_),
            "looks": [_look_to_json(look) for look in self._looks],
            "blocks": [[n_looks, _table_to_json(p)] for n_looks, p in self._blocks],
            "change": None if self._change is None else [*self._change],
        }
        return add_format(type(self).__name__, state)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return a monitor from the dictionary that `to_dict` made.

        Parameters
        ----------
        data : mapping
            As `to_dict` returns it.

        Returns
        -------
        FairnessMonitor

        Raises
        ------
        ValueError
            If the dictionary is of another type or format, or if an entry is missing
            or of another type or size.

        Examples
        --------
        >>> import json
        >>> from skfair.metrics import mcdp
        >>> from skfair.monitoring import FairnessMonitor
        >>> monitor = FairnessMonitor(mcdp)
        >>> monitor.update(None, [0.2, 0.7] * 10, sensitive_features=["a", "b"] * 10)
        >>> text = json.dumps(monitor.to_dict())
        >>> FairnessMonitor.from_dict(json.loads(text)).interval_.upper
        1.0
        """
        check_format(data, cls.__name__, _ENTRIES)
        metric = _metric_from_dict(data["metric"])
        names = "at_most", "confidence_level", "min_group_size"
        try:
            monitor = cls(metric, **{name: data[name] for name in names})
            monitor.table_ = _table_from_json(data["table"])
            monitor._looks = [_look_from_json(look) for look in data["looks"]]
            for block in data["blocks"]:
                _check_entry("blocks", block, _is_block)
            monitor._blocks = [
                (n_looks, _table_from_json(part)) for n_looks, part in data["blocks"]
            ]
            n_looks = sum(n for n, _ in monitor._blocks)
            _check_entry("looks", data["looks"], lambda looks: len(looks) <= n_looks)
            if change := data["change"]:
                _check_entry("change", change, _are_three)
                monitor._change = Change(*change)
        except (TypeError, KeyError) as error:
            raise ValueError(
                f"data must be a state that {cls.__name__}.to_dict has returned, but "
                f"has an entry of another type or size: {error}."
            ) from error
        return monitor

    def _observe(
        self,
        y_true: Any,
        y_score: Any,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> Any:
        """Return the table of a batch of rows, or the table of each stratum."""
        columns = sensitive_features, control_features
        if not isinstance(y_score, Mapping):
            return self._count(y_true, y_score, *columns)
        strata, tables = [*map(python_label, y_score)], [*y_score.values()]
        if len({*strata}) < len(strata):
            raise ValueError(f"y_score must map distinct strata, got {[*y_score]}.")
        for table in tables:
            if not isinstance(table, CountTable):
                raise TypeError(
                    "y_score must map each stratum to a table, got a "
                    f"{type(table).__name__}."
                )
            if table._rows.strata is not None:
                raise ValueError(
                    "y_score must map each stratum to a table without strata, or be "
                    "one table that has them."
                )
        counted = [self._count(y_true, table, *columns) for table in tables]
        return dict(zip(strata, counted, strict=True))

    def _count(self, y_true: Any, y_score: Any, *columns: Any) -> Any:
        """Count rows, or the rows of each stratum, in a table without weights."""
        rows = self._metric.read(y_true, y_score, *columns)
        if rows.weight is not None:
            raise ValueError(
                "y_score must be a table of people without sample weights, for whom "
                "the bounds of a monitor hold."
            )
        check_shape(rows.y_pred, self._metric.inputs[1])
        (checked,) = self._metric.check_classes(rows)
        if rows.strata is None:
            return table_of(self._metric.condense(checked))
        by_stratum = {}
        for label, positions in rows.split_by_stratum():
            if not len(positions):
                continue
            part = replace(checked[positions], strata=None)
            table = table_of(self._metric.condense(part))
            n_counted, n_people = table.counts.sum(), part.n_people
            if self._metric.averages_strata and n_counted != n_people:
                raise ValueError(
                    "metric must have multistratum='max' where only some rows count, "
                    f"as in rates of one true label: {n_counted} of {n_people} rows "
                    f"of the stratum {label!r} do, and its weight is that of all."
                )
            by_stratum[label] = table
        return by_stratum

    def _check_strata(self, batch: Any) -> None:
        """Raise unless both the batch and earlier rows have strata, or neither."""
        before = self.table_
        if before is not None and isinstance(before, dict) != isinstance(batch, dict):
            raise ValueError(
                "control_features must be given with every batch, or with none of them."
            )
        if isinstance(batch, dict):
            strata = dict.fromkeys([*(self.table_ or ()), *batch])
            warn_of_look_alikes(strata, "control_features")

    def _recent(self, blocks: list[Block]) -> tuple[dict[str, Any], Change | None]:
        """Return the entries of a look about the recent rows, and the change, if any.

        All statements of all looks hold at once. Half of a look's error probability is
        spent on the differences between rows before and since each start, a quarter on
        the differences that narrow the time of the change, and a quarter on intervals.
        """
        n_looks, splits = sum(n for n, _ in blocks), split_blocks(blocks)
        look_tail = (1 - self.confidence_level) * look_share(n_looks)
        since = {0: reduce(add_tables, [part for _, part in blocks])}
        since |= {start: later for start, _, later in splits}
        tail = look_tail / (4 * max(len(splits), 1))
        distances = {
            start: self._distance(before, later, tail)
            for start, before, later in splits
        }
        change = self._change
        if distances:
            best = max(distances, key=distances.__getitem__)
            if change is None and distances[best] > 0:
                change = Change(best, 1, n_looks - 1)
            if change is not None:
                tail /= max(len(splits) - 1, 1)
                change = self._narrow_change(change, blocks, best, since[best], tail)
        if change is None:
            start = max(look for look in since if look <= (1 - _RECENT) * n_looks)
        else:
            start = min(look for look in since if look >= change.estimate)
        tail = look_tail / (8 * len(since))
        alarmed = bool(self._looks) and self._looks[-1]["change_alarm"]
        comparisons = self._compare_once(since[start])
        ends = lower_bound(comparisons, tail), upper_bound(comparisons, tail)
        alarm = alarmed or change is not None
        entries = zip(_RECENT_COLUMNS, (comparisons.value, *ends, alarm), strict=True)
        return dict(entries), change

    def _narrow_change(
        self,
        change: Change,
        blocks: list[Block],
        best: int,
        later: Any,
        tail: float,
    ) -> Change:
        """Narrow the interval of a change by rows before its best estimate.

        If rows between a look and `best` differ from the rows since, the change began
        after that look.
        """
        estimate, first, last = change
        end, between = sum(n for n, _ in blocks), None
        for length, part in reversed(blocks):
            end -= length
            if end >= best:
                continue
            if not first <= end < last:
                break
            between = part if between is None else add_tables(part, between)
            if self._distance(between, later, tail) > 0:
                first = end + 1
                break
        return Change(max(estimate, first), first, last)

    def _distance(self, first: Any, second: Any, tail: float) -> float:
        """Return how far apart the bounds of two samples are.

        Only groups that are large enough in both are compared, since a group that grows
        or appears is not a change of the other groups.
        """
        ours, theirs = _parts(first), _parts(second)
        smallest, samples = self._smallest_size(ours, theirs), []
        for label in (label for label in ours if label in theirs):
            pair = ours[label], theirs[label]
            true = _true_classes(*pair)
            large = [_large_groups(part, smallest, true) for part in pair]
            groups = [group for group in large[0] if group in large[1]]
            samples.append([select_groups(part, groups) for part in pair])
        if not samples:
            return -math.inf
        before, since = (
            self._compare_once(
                dict(enumerate(parts)) if isinstance(first, dict) else parts[0]
            )
            for parts in zip(*samples, strict=True)
        )
        return separation(before, since, tail)

    def _compare_once(self, table: Any) -> Comparisons:
        """Return the disparity of a table, with bounds that hold at one look."""
        return self._disparity(table, "finite_sample").comparisons

    def _look(self, table: Any) -> dict[str, Any]:
        """Return the row of the history for the table of all rows so far."""
        comparisons, stratum, n_groups, now, waiting = self._disparity(table)
        if comparisons.message:
            warn_user(comparisons.message, UndefinedMetricWarning)
        last = self._looks[-1] if self._looks else None
        names = "epoch", "known", "n_waiting"
        epoch, known, n_waiting = [last[n] for n in names] if last else (0, (), 0)
        if not math.isnan(comparisons.value) and now != known:
            epoch, known, n_waiting = epoch + 1, now, waiting
        # Each of the comparisons has another share of the error in each epoch.
        share = 1 - _LATER if epoch < 2 else _LATER / (epoch * (epoch - 1))
        tail = (1 - self.confidence_level) * share
        pvalue = min(self._pvalue(comparisons) / share, last["pvalue"] if last else 1.0)
        return {
            "n_rows": sum(int(p.counts.sum()) for p in _parts(table).values()),
            "value": comparisons.value,
            "lower": lower_bound(comparisons, tail / 2),
            # Each group that joins may change which pair has the largest disparity.
            "upper": upper_bound(comparisons, tail / 2 / (1 + n_waiting)),
            "pvalue": pvalue,
            "alarm": bool(pvalue <= 1 - self.confidence_level),
            "n_groups": n_groups,
            "stratum": stratum,
            "epoch": epoch,
            "known": known,
            "n_waiting": n_waiting,
        }

    def _smallest_size(self, *several: Mapping[Hashable, Any]) -> int:
        """Return the smallest number of rows of a group that is compared."""
        sizes = (part.min_group_size for parts in several for part in parts.values())
        return max(self.min_group_size, max(sizes, default=1))

    def _disparity(self, table: Any, method: Method = "anytime") -> Disparity:
        """Return the disparity of a table, the largest over strata or their mean.

        In bounds for all looks, each pair of groups has a share of the level, even if
        the groups are too small.
        """
        parts, within = _parts(table), isinstance(table, dict)
        groups, smallest = _list_groups(parts), self._smallest_size(parts)
        defined, reasons, large = {}, {}, {}
        for label, part in parts.items():
            large[label] = _large_groups(part, smallest)
            comparisons = self._compare_large(part, groups, smallest, method)
            reasons[label], message = comparisons.reason, comparisons.message
            if not math.isnan(comparisons.value):
                defined[label] = comparisons
        if within:
            message = self._message_of_strata(reasons, any_found=bool(defined))
        if method == "anytime":
            n_all = len(parts) * len(groups) * (len(groups) - 1)
            for label, comparisons in defined.items():
                n_large = len(large[label])
                share = n_large * (n_large - 1) * len(defined) / n_all
                defined[label] = _assign_tail_share(comparisons, share)
        known = len(groups), len(parts), sum(map(_n_rates, parts.values())), smallest
        n_groups = sum(len(large[label]) for label in defined)
        n_waiting = len(parts) * len(groups) - sum(map(len, large.values()))
        sizes = n_groups, known, n_waiting
        largest, weights = None, None
        if within and self._metric.averages_strata:
            weights = [float(parts[label].counts.sum()) for label in defined]
        elif defined:
            largest = max(defined, key=lambda label: defined[label].value)
        joined = (
            join_comparisons([*defined.values()], weights) if defined else UNDEFINED
        )
        return Disparity(joined._replace(message=message), largest, *sizes)

    def _message_of_strata(
        self, reasons: Mapping[Hashable, str], *, any_found: bool
    ) -> str:
        """Write which strata are left out, or which groups within strata."""
        text = describe_strata(reasons, undefined=not any_found)
        if not any_found:
            return undefined_estimate(self._metric.name, text).message
        return f"{self._metric.name} {text}." if text else ""

    def _compare_large(
        self, table: Any, groups: list[Hashable], smallest: int, method: Method
    ) -> Comparisons:
        """Compare the groups of one stratum that are large enough.

        `groups` holds the groups of all strata: a group that is not compared is named.
        """
        if self._metric.leaves_groups_out:
            return self._compare(table._rows, method, smallest)
        rows = _rows_by_group(table)
        sizes = np.array([rows.get(group, 0) for group in groups], dtype=np.intp)
        large, reason = comparable_groups(groups, sizes, smallest)
        name, which = self._metric.name, " that count"
        if reason and table._rows.y_true is not None:
            which = " of each true label"
            reason = f"{reason}, of the rarest true label"
        if not len(large):
            message = undefined_estimate(name, reason).message
            return UNDEFINED._replace(reason=reason, message=message)
        if not reason:
            return self._compare(table._rows, method)
        small = [groups[i] for i in np.flatnonzero(sizes < smallest)]
        few = describe_left_out(small, len(groups), smallest, which)
        selected = select_groups(table, [groups[i] for i in large])
        return self._compare(selected._rows, method)._replace(
            reason=reason, message=f"{name} leaves groups out: {few}."
        )

    def _compare(
        self, cells: Rows, method: Method, min_group_size: int | None = None
    ) -> Comparisons:
        """Return the disparity of selected groups, with bounds of its noise."""
        if min_group_size is not None:
            groups = replace(cells.groups, min_group_size=min_group_size)
            cells = cells.replace_groups(groups)
        observed = self._metric.observe(self._metric.reopen(cells))
        return self._metric.compare(observed, method)

    def _pvalue(self, bounds: Comparisons) -> float:
        """Return the smallest probability whose lower bound exceeds `at_most`, or 1."""
        if math.isnan(bounds.value):
            return 1.0
        # The bound as it is: cut at 0, it would be at a limit of 0 for every tail.
        return smallest_tail(
            lambda tail: self.at_most - bounds.low(tail / bounds.n_comparisons)
        )

    def _last_look(self) -> dict[str, Any]:
        """Return the last row of the history."""
        if not self._looks:
            raise ValueError("the monitor has seen no rows yet: call update first.")
        return self._looks[-1]


def _metric_to_dict(metric: Metric) -> dict[str, Any]:
    """Return the name of a metric and its options, for `json.dumps`."""
    options = changed_options(metric)
    for name, value in options.items():
        plain = value is None or isinstance(value, (str, bool, int, float))
        if not plain or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(
                f"metric has the option {name}={brief(value)}, expected text, a number "
                "or None."
            )
    return {"name": metric.name, "options": options}


def _metric_from_dict(data: Any) -> Metric:
    """Return the metric with a name and options from JSON."""
    if not isinstance(data, Mapping) or set(data) != {"name", "options"}:
        raise ValueError(
            f"metric must be a dictionary of name and options, got {brief(data)}."
        )
    by_name = [kind.name for kind in METRICS.values() if kind.has_noise_bounds]
    name, options = data["name"], data["options"]
    if not isinstance(name, str) or name not in by_name:
        raise ValueError(
            f"metric must be one of {', '.join(by_name)}, got {brief(name)}."
        )
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be a dictionary, got {brief(options)}.")
    try:
        return as_metric(name, **options)
    except TypeError as error:
        raise ValueError(f"options of {name} are not those of it: {error}.") from error


def _parts(table: Any) -> Mapping[Hashable, Any]:
    """Return the table of each stratum by label; without strata the label is None."""
    return table if isinstance(table, dict) else {None: table}


def _list_groups(parts: Mapping[Hashable, Any]) -> list[Hashable]:
    """List the groups of all strata, including groups without rows."""
    return list(dict.fromkeys(g for part in parts.values() for g in part.labels))


def _rows_by_label(table: CountTable) -> dict[Hashable, Integers]:
    """Count the people of each group by true class; empty without true labels."""
    rows = table._rows
    if rows.y_true is None:
        return {}
    return {
        label: rows[rows.y_true == label].counts
        for label in distinct_labels(rows.y_true, "y_true").tolist()
    }


def _true_classes(*tables: CountTable) -> set[Hashable]:
    """Find the true classes that occur in any of several tables."""
    return {label for table in tables for label in _rows_by_label(table)}


def _rows_by_group(
    table: CountTable, true: Collection[Hashable] | None = None
) -> dict[Hashable, int]:
    """Count the people of each group, and of its rarest true class."""
    counts, by_label = table.counts, _rows_by_label(table)
    for label in by_label if true is None else true:
        counts = np.minimum(counts, by_label.get(label, 0))
    return dict(zip(table.labels, counts.tolist(), strict=True))


def _large_groups(
    table: Any, smallest: int, true: Collection[Hashable] | None = None
) -> list[Hashable]:
    """List the groups with enough rows."""
    rows = _rows_by_group(table, true)
    return [group for group, n in rows.items() if n >= smallest]


def _compared_groups(parts: Mapping[Hashable, Any], smallest: int) -> set[Hashable]:
    """Find the groups that are large enough in a stratum to be compared."""
    large = [_large_groups(part, smallest) for part in parts.values()]
    return {group for groups in large if len(groups) > 1 for group in groups}


def _n_rates(table: CountTable) -> int:
    """Count the rates that are compared in each group."""
    rows = table._rows
    if rows.y_true is None:
        return 1
    predicted = distinct_labels(rows.y_pred, "y_pred").tolist()
    true = _true_classes(table)
    return len(true) * len({*true, *predicted})


def select_groups(table: CountTable, labels: Sequence[Hashable]) -> CountTable:
    """Return the table of some groups."""
    if tuple(labels) == table.labels:
        return table
    groups = relabel(table._rows.groups, tuple(labels))
    return CountTable._wrap(table._rows.replace_groups(groups).grouped())


def _assign_tail_share(comparisons: Comparisons, share: float) -> Comparisons:
    """Count comparisons as one, and split a share of the tail over them."""
    low, n_comparisons = comparisons.low, comparisons.n_comparisons
    return comparisons._replace(
        n_comparisons=1, low=lambda tail: low(tail * share / n_comparisons)
    )


def _table_to_json(table: Any) -> Any:
    """Return a table, or the table of each stratum, in types of JSON."""
    if isinstance(table, dict):
        strata = [[label_to_json(key), part.to_dict()] for key, part in table.items()]
        return {"strata": strata}
    return None if table is None else table.to_dict()


def _table_from_json(data: Any) -> Any:
    """Read the output of `_table_to_json`."""
    if data is None:
        return None
    if "strata" not in data or "type" in data:
        return CountTable.from_dict(data)
    names, parts = zip(*data["strata"], strict=True)
    labels = labels_from_json("strata", [*names])
    return dict(zip(labels, map(CountTable.from_dict, parts), strict=True))


def _look_to_json(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the history with null for each undefined number."""
    plain = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in look.items()
    }
    stratum = label_to_json(look["stratum"])
    return plain | {"stratum": stratum, "known": [*look["known"]]}


def _look_from_json(look: Mapping[str, Any]) -> dict[str, Any]:
    """Read the output of `_look_to_json`."""
    names = {*_COLUMNS, *_RECENT_COLUMNS, "stratum", "epoch", "known", "n_waiting"}
    _check_entry("looks", look, lambda look: {*look} == names)
    for name, value in look.items():
        _check_entry(name, value, _IS_ENTRY.get(name, _is_number))
    plain = {name: math.nan if value is None else value for name, value in look.items()}
    (stratum,) = labels_from_json("stratum", [look["stratum"]])
    return plain | {"stratum": stratum, "known": tuple(look["known"])}


def _check_entry(name: str, value: Any, is_valid: Callable[[Any], bool]) -> None:
    """Raise unless an entry of a state has the expected type and size."""
    if not is_valid(value):
        raise TypeError(f"{name} is {brief(value)[:80]}")


def _is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of at least 0, of 64 bits."""
    return type(value) is int and 0 <= value < MAX_WHOLE


def _is_number(value: Any) -> bool:
    """Return whether a value is a number, or null where it is undefined."""
    return value is None or isinstance(value, float) or _is_whole(value)


def _is_block(value: list[Any]) -> bool:
    """Return whether a value is a number of looks and a table."""
    return len(value) == 2 and _is_whole(value[0]) and value[1] is not None


def _are_three(value: Any) -> bool:
    """Return whether a value is the time of a change and the ends of its interval."""
    return len(value) == 3 and all(map(_is_whole, value))


#: What the entries of a look must be that are not numbers.
_IS_ENTRY: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("n_rows", "n_groups", "epoch", "n_waiting"), _is_whole),
    **dict.fromkeys(("alarm", "change_alarm"), lambda value: isinstance(value, bool)),
    "known": lambda value: all(map(_is_whole, value)),
    "stratum": lambda value: True,  # its labels are checked where they are read
}


def add_tables(total: Any, batch: Any) -> Any:
    """Add up two tables, or the two tables of each stratum."""
    if not isinstance(batch, dict):
        return total + batch
    common = total.keys() & batch.keys()
    return total | batch | {label: total[label] + batch[label] for label in common}


def round_scores(table: Any, n_scores: int) -> Any:
    """Round scores of distributions down to multiples of 1 / n_scores below 1."""
    if isinstance(table, dict):
        return {label: round_scores(part, n_scores) for label, part in table.items()}
    scores = bin_scores(table._rows.y_pred, n_scores) / n_scores
    return CountTable._wrap(merge_cells(replace(table._rows, y_pred=scores)))


def add_look(blocks: Sequence[Block], batch: Any) -> list[Block]:
    """Add a look, and join the two oldest blocks where a length has too many."""
    joined, length = [*blocks, (1, batch)], 1
    while True:
        alike = [i for i, (n_looks, _) in enumerate(joined) if n_looks == length]
        if len(alike) <= _OF_ONE_LENGTH:
            return joined
        i = alike[0]
        joined[i : i + 2] = [(2 * length, add_tables(joined[i][1], joined[i + 1][1]))]
        length *= 2


def split_blocks(blocks: Sequence[Block]) -> list[tuple[int, Any, Any]]:
    """Return for each block the number of earlier looks, and rows before and since."""
    lengths, parts = zip(*blocks, strict=True)
    before = accumulate(parts, add_tables)
    later = [*accumulate(parts[::-1], lambda late, early: add_tables(early, late))]
    # No block follows the last sum, which contains all blocks.
    return list(zip(accumulate(lengths), before, later[-2::-1], strict=False))


def look_share(n_looks: int) -> float:
    """Return the share of the error probability for a look; shares add up to 1."""
    return 1 / (_SUM_OF_SHARES * (n_looks + 1) * math.log(n_looks + 1) ** 2)


def split_tail(tail: float) -> list[float]:
    """Return probabilities from 1 down to the product that has the p-value `tail`."""
    logarithms = -chdtri(4, tail) / 2 * np.linspace(0, 1, _N_TAILS + 1)
    return [float(probability) for probability in np.exp(logarithms)]


def separation(first: Comparisons, second: Comparisons, tail: float) -> float:
    """Return how far apart the bounds of two independent samples are, or -inf.

    The distance is positive with probability at most `tail` if the sample with the
    smaller value has in truth at least the disparity of the other. By Fisher's method,
    the product of both p-values is small enough for every disparity between the two.
    The p-value of a disparity is the level at which it is the end of a one-sided
    interval.
    """
    if math.isnan(first.value) or math.isnan(second.value):
        return -math.inf
    larger, smaller = (first, second) if first.value > second.value else (second, first)
    tails = split_tail(tail)
    distance = math.inf
    # Bounds that overlap do so in the middle, as a rule.
    for i in sorted(range(_N_TAILS), key=lambda i: abs(i - _N_TAILS // 2)):
        low = lower_bound(larger, tails[i + 1])
        distance = min(distance, low - upper_bound(smaller, tails[_N_TAILS - i]))
        if distance <= 0:
            break
    return distance
