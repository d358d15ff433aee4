"""A monitor of a disparity whose statements hold at every look."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from reprlib import repr as brief
from typing import Any, NamedTuple, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._validation import as_array, check_choice, check_real
from skfair.groups import comparable_groups, resolve_groups, resolve_strata
from skfair.metrics._confidence._certify import least_level
from skfair.metrics._confidence._confidence_interval import (
    ConfidenceInterval,
    join,
    lower_bound,
    upper_bound,
)
from skfair.metrics._confidence._known_metrics import (
    bounded_metric,
    check_options,
    compare,
    metric_from_dict,
    metric_to_dict,
    observe,
)
from skfair.metrics._confidence._noise import UNDEFINED, Comparisons
from skfair.metrics._spec import specification_of, unwrapped
from skfair.metrics._strata import Multistratum, warn_of_strata
from skfair.metrics._undefined import collected_reasons
from skfair.monitoring._state import (
    agree,
    find_problem,
    look_from_json,
    look_to_json,
    statistic_from_json,
    statistic_to_json,
)
from skfair.statistics._json import JSONStatistic, check_entries, list_from_json

_COLUMNS = ("n_rows", "value", "lower", "upper", "pvalue", "alarm")
_DRIFT_COLUMNS = ("drift", "drift_lower", "drift_alarm")
#: Entries of the state.
_ENTRIES = (
    "metric",
    "at_most",
    "confidence_level",
    "reference",
    "statistic",
    "looks",
)
#: Options that say what the outcomes of rows are: a statistic holds these outcomes.
_OF_ROWS = ("quality", "pos_label")
#: Share of the level that is kept for groups and strata that appear later.
_LATER = 0.1


class _Found(NamedTuple):
    """Disparity so far, the stratum where it is largest, and what is compared.

    `compared` are the numbers of comparisons, groups and strata.
    """

    comparisons: Comparisons
    stratum: Hashable = None
    compared: tuple[int, ...] = ()


class FairnessMonitor:
    """Watch a disparity over all time, with a stated probability of a false alarm.

    It adds up the statistics of batches. An ordinary interval that is computed again
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
    reference : statistic or mapping of strata to statistics, default=None
        Statistic of earlier rows, of the class that the metric takes in place of rows,
        without sample weights. If given, each group is compared with its own
        distribution in the reference, by the same metric; with strata, within each.

    Attributes
    ----------
    statistic_ : statistic, dict or None
        Statistic of all rows so far; with strata that of each, by label.
    history_ : DataFrame
        One row for each batch, about all rows so far: their number ``n_rows``; the
        metric, ``value``; its interval, ``lower`` and ``upper``; ``pvalue`` of the
        hypothesis that the disparity is at most `at_most`, the smallest so far; and
        ``alarm``, whether that is at most 1 - `confidence_level`. With a reference
        also ``drift``, the largest distance of a group from its reference,
        ``drift_lower``, its lower bound, and ``drift_alarm``, whether that bound was
        ever above 0. With strata also ``stratum``, the one with the largest disparity.

    See Also
    --------
    skfair.metrics.confidence_interval : The same bounds, by ``method="anytime"``.
    skfair.inspection.MonitorDisplay : Picture of the history.

    Notes
    -----
    The rows of each group are independent and have the same distribution throughout,
    which is the hypothesis that the alarms of drift are about. Since statistics are
    added up, changes show the later, the more rows there are: begin a new monitor for a
    new model. Rows have no sample weights.

    All pairs of groups, of all strata, share 0.9 of the level. The remaining tenth is
    for looks after groups or strata appear that were not there at the first look, since
    the share of each comparison then changes.

    References
    ----------
    .. [1] Howard, Ramdas. "Sequential Estimation of Quantiles with Applications to A/B
       Testing and Best-Arm Identification". Bernoulli 28(3), 2022. Corollary 1.
    .. [2] Howard, Ramdas, McAuliffe, Sekhon. "Time-uniform, Nonparametric,
       Nonasymptotic Confidence Sequences". Annals of Statistics 49(2), 2021.

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
        reference: Any = None,
    ) -> None:
        specification, own = bounded_metric(metric)
        largest = specification.largest(own)
        if largest == math.inf:
            raise ValueError(
                f"metric must have a largest value, but {specification.name} of "
                "numbers has none: bounds for all looks at growing data are for values "
                f"in a known range; got {metric!r}."
            )
        self.metric = metric
        function, options = unwrapped(metric)
        of_statistics = {name: options[name] for name in options.keys() - {*_OF_ROWS}}
        self._of_statistics = partial(function, **of_statistics)
        self.at_most = check_real("at_most", at_most, 0, largest, closed="left")
        self.confidence_level = check_real(
            "confidence_level", confidence_level, 0, 1, closed="neither"
        )
        multistratum = options.get("multistratum", "max")
        check_choice("multistratum", multistratum, get_args(Multistratum))
        check_options(metric)
        self._weighted = multistratum == "weighted"
        self.reference = reference
        if reference is not None:
            self.reference = self._observe(None, reference)
        self.statistic_: Any = None
        self._looks: list[dict[str, Any]] = []

    def update(
        self,
        y_true: ArrayLike | None,
        y_score: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
    ) -> None:
        """Add a batch of rows, and look at the disparity of all rows so far.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels, as the metric takes them.
        y_score : array-like of shape (n_samples,), or a statistic
            Scores or predicted labels, or the statistic of a batch that was collected
            elsewhere, of rows without sample weights; or a mapping of strata to
            statistics.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row. None with a statistic.
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
            While the metric of all rows so far is undefined.
        """
        batch = self._observe(y_true, y_score, sensitive_features, control_features)
        total = self._added(batch)
        look = self._look(total)
        self.statistic_ = total
        self._looks.append(look)

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each batch."""
        drift = () if self.reference is None else _DRIFT_COLUMNS
        strata = ["stratum"] if isinstance(self.statistic_, dict) else []
        return pd.DataFrame(self._looks, columns=[*_COLUMNS, *drift, *strata])

    @property
    def interval_(self) -> ConfidenceInterval:
        """Interval of the last look.

        Raises
        ------
        ValueError
            If there was no look yet.
        """
        last = self._last()
        return ConfidenceInterval(
            last["value"],
            last["lower"],
            last["upper"],
            self.confidence_level,
            "anytime",
        )

    @property
    def pvalue_(self) -> float:
        """Smallest p-value so far, of the disparity being at most `at_most`."""
        return float(self._last()["pvalue"])

    @property
    def alarm_(self) -> bool:
        """Whether the disparity was ever certain to be above `at_most`."""
        return bool(self._last()["alarm"])

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
        return {
            "type": type(self).__name__,
            "metric": metric_to_dict(self.metric),
            "at_most": self.at_most,
            "confidence_level": self.confidence_level,
            "reference": statistic_to_json(self.reference),
            "statistic": statistic_to_json(self.statistic_),
            "looks": [look_to_json(look) for look in self._looks],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the monitor of which `to_dict` made a dictionary.

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
            If the dictionary is not that of a monitor: it is of another type, lacks an
            entry or has another one, or its entries contradict each other.

        Examples
        --------
        >>> import json
        >>> from skfair.metrics import mcdp
        >>> from skfair.monitoring import FairnessMonitor
        >>> monitor = FairnessMonitor(mcdp)
        >>> monitor.update(None, [0.2, 0.7], sensitive_features=["a", "b"])
        >>> text = json.dumps(monitor.to_dict())
        >>> FairnessMonitor.from_dict(json.loads(text)).interval_.upper
        1.0
        """
        check_entries(data, cls.__name__, _ENTRIES)
        metric, kind = metric_from_dict(data["metric"])
        reference, statistic = (
            statistic_from_json(data[name], kind) for name in ("reference", "statistic")
        )
        try:
            monitor = cls(
                metric,
                at_most=data["at_most"],
                confidence_level=data["confidence_level"],
                reference=reference,
            )
        except TypeError as error:
            raise ValueError(f"metric has options of another type: {error}.") from error
        names = [*_COLUMNS, *(() if reference is None else _DRIFT_COLUMNS)]
        names += ["stratum", "epoch", "compared"]
        looks = list_from_json("looks", data["looks"])
        monitor.statistic_ = statistic
        monitor._looks = [look_from_json(look, names) for look in looks]
        problem = monitor._find_problem()
        if problem is not None:
            raise ValueError(f"data must be the state of a monitor, but {problem}.")
        return monitor

    def _find_problem(self) -> str | None:
        """Say what contradicts itself in a state that was loaded."""
        looks, statistic, reference = self._looks, self.statistic_, self.reference
        if statistic is None:
            return "looks must be empty without a statistic" if looks else None
        if not looks:
            return "looks must have an entry for each update of the statistic"
        if reference is not None and isinstance(reference, dict) != isinstance(
            statistic, dict
        ):
            return "reference and statistic must both have strata, or neither of them"
        problem = find_problem(looks, 1 - self.confidence_level)
        return self._find_problem_of_last() if problem is None else problem

    def _find_problem_of_last(self) -> str | None:
        """Say how the last look differs from one at the statistic."""
        last, parts = self._looks[-1], _parts(self.statistic_)
        if last["n_rows"] != _n_rows(parts):
            return f"n_rows of the last look must be {_n_rows(parts)}, as in statistic"
        if not {look["stratum"] for look in self._looks} <= {None, *parts}:
            return f"stratum of each look must be null or one of {brief([*parts])}"
        self._observe(None, self.statistic_)
        with collected_reasons():
            found = self._disparity(self.statistic_)
            drift = math.nan if self.reference is None else self._drift(parts)["drift"]
        if not agree(last["value"], found.comparisons.value):
            return f"value of the last look must be {found.comparisons.value}"
        if found.compared not in ((), last["compared"]):
            return f"compared of the last look must be {[*found.compared]}"
        if not agree(last.get("drift", math.nan), drift):
            return f"drift of the last look must be {drift}"
        return None

    def _observe(
        self,
        y_true: Any,
        y_score: Any,
        sensitive_features: Any = None,
        control_features: Any = None,
    ) -> Any:
        """Statistic of rows, or of each stratum."""
        rows = y_true, y_score, sensitive_features
        if isinstance(y_score, (JSONStatistic, Mapping)):
            if control_features is not None:
                raise ValueError(
                    "control_features must be None where a statistic takes the place "
                    "of the rows: give a mapping of strata to statistics as y_score."
                )
            if isinstance(y_score, JSONStatistic):
                return self._unweighted(*rows)
            return {
                label: self._unweighted(y_true, one, sensitive_features)
                for label, one in y_score.items()
            }
        whole = observe(self.metric, *rows)  # messages have the positions of all rows
        if control_features is None:
            return whole.statistic
        parts = _by_stratum(*rows, control_features)
        return {
            label: observe(self.metric, *part).statistic
            for label, part in parts.items()
        }

    def _unweighted(self, y_true: Any, given: Any, sensitive_features: Any) -> Any:
        """Statistic that is given in place of rows, which must have no weights."""
        if not isinstance(given, JSONStatistic):
            raise TypeError(
                "y_score must map each stratum to a statistic, got a "
                f"{type(given).__name__}."
            )
        found = observe(self._of_statistics, y_true, given, sensitive_features)
        statistic = found.statistic
        if not np.array_equal(statistic.totals, statistic.counts):
            raise ValueError(
                "y_score must be a statistic of rows without sample weights, for which "
                "the bounds of a monitor hold."
            )
        return statistic

    def _added(self, batch: Any) -> Any:
        """Statistic of all rows so far and a batch."""
        for before in (self.statistic_, self.reference):
            if before is not None and isinstance(before, dict) != isinstance(
                batch, dict
            ):
                raise ValueError(
                    "control_features must be given with every batch, and with the "
                    "reference as its strata, or with none of them."
                )
        if not isinstance(batch, dict):
            return batch if self.statistic_ is None else self.statistic_ + batch
        total = dict(self.statistic_ or {})
        for label, part in batch.items():
            total[label] = total[label] + part if label in total else part
        return total

    def _look(self, statistic: Any) -> dict[str, Any]:
        """Row of the history for the statistic of all rows so far."""
        parts = _parts(statistic)
        found = self._disparity(statistic)
        last = self._looks[-1] if self._looks else None
        epoch, compared = (last["epoch"], last["compared"]) if last else (0, ())
        if found.compared not in ((), compared):
            epoch, compared = epoch + 1, found.compared
        # Each of the comparisons has another share of the level in each epoch.
        share = 1 - _LATER if epoch < 2 else _LATER / (epoch * (epoch - 1))
        level = (1 - self.confidence_level) * share
        comparisons = found.comparisons
        pvalue = min(self._pvalue(comparisons) / share, last["pvalue"] if last else 1.0)
        look = {
            "n_rows": _n_rows(parts),
            "value": comparisons.value,
            "lower": lower_bound(comparisons, level / 2),
            "upper": upper_bound(comparisons, level / 2),
            "pvalue": pvalue,
            "alarm": bool(pvalue <= 1 - self.confidence_level),
            "stratum": found.stratum,
            "epoch": epoch,
            "compared": compared,
        }
        if self.reference is not None:
            look |= self._drift(parts)
        return look

    def _disparity(self, statistic: Any) -> _Found:
        """Disparity of all rows so far, the largest over strata or their mean."""
        if not isinstance(statistic, dict):
            found = self._compare(statistic)
            if math.isnan(found.value):
                return _Found(found)
            compared = found.n_comparisons, _n_groups(statistic), 1
            return _Found(found, None, compared)
        found_in, reasons = self._compare_strata(statistic)
        name = unwrapped(self.metric)[0].__name__
        warn_of_strata(name, reasons, undefined=not found_in)
        if not found_in:
            return _Found(UNDEFINED)
        comparisons, n_groups = zip(*found_in.values(), strict=True)
        compared = sum(one.n_comparisons for one in comparisons)
        weights = [float(statistic[label].counts.sum()) for label in found_in]
        largest = max(found_in, key=lambda label: found_in[label][0].value)
        return _Found(
            join(list(comparisons), weights if self._weighted else None),
            None if self._weighted else largest,
            (compared, sum(n_groups), len(found_in)),
        )

    def _compare_strata(
        self, statistics: Mapping[Hashable, Any]
    ) -> tuple[dict[Hashable, tuple[Comparisons, int]], dict[Hashable, str]]:
        """Compare groups in each stratum, with their number; why others lack."""
        specification, _ = specification_of(self.metric)
        every = list(
            dict.fromkeys(g for one in statistics.values() for g in one.labels)
        )
        found, reasons = {}, dict.fromkeys(statistics, "")
        for label, one in statistics.items():
            if not specification.leaves_groups_out:
                counts = dict(zip(one.labels, one.counts.tolist(), strict=True))
                sizes = np.array([counts.get(group, 0) for group in every])
                kept, reasons[label] = comparable_groups(
                    every, sizes, one.min_group_size
                )
                if not len(kept):
                    continue
                if reasons[label]:
                    one = _of_groups(one, [every[i] for i in kept])
            with collected_reasons() as why:
                comparisons = self._compare(one)
            if math.isnan(comparisons.value):
                reasons[label] = "; ".join(why)
            else:
                found[label] = comparisons, _n_groups(one)
        return found, reasons

    def _compare(self, statistic: Any) -> Comparisons:
        """Disparity of a statistic, with bounds that hold at every look."""
        observed = observe(self._of_statistics, None, statistic)
        return compare(self._of_statistics, observed, "anytime")

    def _pvalue(self, found: Comparisons) -> float:
        """Smallest level whose lower bound is above `at_most`; 1 where undefined."""
        if math.isnan(found.value):
            return 1.0
        # The bound as it is: cut at 0, it would be at a limit of 0 for every level.
        return least_level(
            lambda level: self.at_most - found.low(level / found.n_comparisons)
        )

    def _drift(self, parts: Mapping[Hashable, Any]) -> dict[str, Any]:
        """Largest distance of a group from its reference, and its lower bound."""
        references = _parts(self.reference)
        # Groups of the reference, seen again or not: a number that never changes.
        n_groups = sum(len(one.labels) for one in references.values())
        level = (1 - self.confidence_level) / n_groups
        found = []
        for stratum in references.keys() & parts.keys():
            before, now = references[stratum], parts[stratum]
            for label in before.labels:
                if _has_enough(before, label) and _has_enough(now, label):
                    both = (
                        one.of_one_group(one.labels.index(label), name)
                        for one, name in ((before, "reference"), (now, "now"))
                    )
                    found.append(self._compare(sum(both)))
        found = [one for one in found if not math.isnan(one.value)]
        low = max((lower_bound(one, level) for one in found), default=0.0)
        alarm = bool(self._looks) and self._looks[-1]["drift_alarm"]
        return {
            "drift": max((one.value for one in found), default=math.nan),
            "drift_lower": low,
            "drift_alarm": bool(alarm or low > 0),
        }

    def _last(self) -> dict[str, Any]:
        """Last row of the history."""
        if not self._looks:
            raise ValueError("the monitor has seen no rows yet: call update first.")
        return self._looks[-1]


def _parts(statistic: Any) -> Mapping[Hashable, Any]:
    """Return the statistics of strata by label, of which there may be one only."""
    return statistic if isinstance(statistic, dict) else {None: statistic}


def _n_rows(parts: Mapping[Hashable, Any]) -> int:
    """Count the rows of all strata."""
    return sum(int(one.counts.sum()) for one in parts.values())


def _by_stratum(
    y_true: Any, y_score: Any, sensitive_features: Any, control_features: Any
) -> dict[Hashable, tuple[Any, ...]]:
    """Rows of each stratum; those without a stratum or a group are in none."""
    scores = as_array(y_score, "y_score")
    true = None if y_true is None else as_array(y_true, "y_true")
    groups = resolve_groups(sensitive_features, n_samples=len(scores))
    strata = resolve_strata(control_features, n_samples=len(scores))
    codes = np.where(groups.codes < 0, -1, strata.codes)
    parts = {}
    for code in np.unique(codes[codes >= 0]).tolist():
        own = np.flatnonzero(codes == code)
        own_true = None if true is None else true[own]
        parts[strata.labels[code]] = own_true, scores[own], groups[own]
    return parts


def _n_groups(statistic: Any) -> int:
    """Count the groups with enough rows."""
    return int(np.count_nonzero(statistic.counts >= max(statistic.min_group_size, 1)))


def _has_enough(statistic: Any, label: Hashable) -> bool:
    """Whether a group has enough rows to be compared."""
    if label not in statistic.labels:
        return False
    n_rows = statistic.counts[statistic.labels.index(label)]
    return bool(n_rows >= max(statistic.min_group_size, 1))


def _of_groups(statistic: Any, labels: list[Hashable]) -> Any:
    """Statistic of some groups."""
    return sum(statistic.of_one_group(statistic.labels.index(g), g) for g in labels)
