"""A monitor of a disparity whose statements hold at every look."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._validation import check_real
from skfair.metrics._confidence._certify import least_level
from skfair.metrics._confidence._confidence_interval import (
    ConfidenceInterval,
    lower_bound,
    upper_bound,
)
from skfair.metrics._confidence._known_metrics import (
    compare,
    metric_from_dict,
    metric_to_dict,
    observe,
    resolve_metric,
)
from skfair.metrics._confidence._noise import Comparisons
from skfair.metrics._confidence._observed import Arguments

_COLUMNS = ("n_rows", "statistic", "low", "high", "pvalue", "alarm")
_DRIFT_COLUMNS = ("drift", "drift_low", "drift_alarm")


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
    reference : statistic, default=None
        Statistic of earlier rows, of the class that the metric takes in place of rows,
        without sample weights. If given, each group is compared with its own
        distribution in the reference, by the same metric.

    Attributes
    ----------
    statistic_ : statistic or None
        Statistic of all rows so far.
    history_ : DataFrame
        One row for each batch, about all rows so far: their number ``n_rows``; the
        metric, ``statistic``; its interval, ``low`` and ``high``; ``pvalue`` of the
        hypothesis that the disparity is at most `at_most`, the smallest so far; and
        ``alarm``, whether that is at most 1 - `confidence_level`. With a reference
        also ``drift``, the largest distance of a group from its reference,
        ``drift_low``, its lower bound, and ``drift_alarm``, whether that bound has ever
        been above 0.

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
        resolve_metric(metric)
        self.metric = metric
        self.at_most = check_real("at_most", at_most, 0, 2, closed="left")
        self.confidence_level = check_real(
            "confidence_level", confidence_level, 0, 1, closed="neither"
        )
        if reference is not None:
            observe(metric, Arguments(None, reference, None, None))
        self.reference = reference
        self.statistic_: Any = None
        self._looks: list[dict[str, Any]] = []

    def update(
        self,
        y_true: ArrayLike | None,
        y_score: Any,
        *,
        sensitive_features: Any = None,
    ) -> None:
        """Add a batch of rows, and look at the disparity of all rows so far.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels, as the metric takes them.
        y_score : array-like of shape (n_samples,), or a statistic
            Scores or predicted labels, or the statistic of a batch that was collected
            elsewhere, of rows without sample weights.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row. None with a statistic.

        Raises
        ------
        ValueError
            As the metric does.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            While the metric of all rows so far is undefined.
        """
        rows = Arguments(y_true, y_score, sensitive_features, None)
        batch = observe(self.metric, rows).statistic
        total = batch if self.statistic_ is None else self.statistic_ + batch
        look = self._look(total)
        self.statistic_ = total
        self._looks.append(look)

    @property
    def history_(self) -> pd.DataFrame:
        """One row for each batch."""
        drift = () if self.reference is None else _DRIFT_COLUMNS
        return pd.DataFrame(self._looks, columns=[*_COLUMNS, *drift])

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
            last["statistic"],
            last["low"],
            last["high"],
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
            "reference": None if self.reference is None else self.reference.to_dict(),
            "statistic": None if self.statistic_ is None else self.statistic_.to_dict(),
            "looks": self._looks,
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
            If the dictionary is not that of a monitor.

        Examples
        --------
        >>> import json
        >>> from skfair.metrics import mcdp
        >>> from skfair.monitoring import FairnessMonitor
        >>> monitor = FairnessMonitor(mcdp)
        >>> monitor.update(None, [0.2, 0.7], sensitive_features=["a", "b"])
        >>> text = json.dumps(monitor.to_dict())
        >>> FairnessMonitor.from_dict(json.loads(text)).interval_.high
        1.0
        """
        if not isinstance(data, Mapping) or data.get("type") != cls.__name__:
            raise ValueError(f"data must be a dictionary of type {cls.__name__!r}.")
        metric, kind = metric_from_dict(data["metric"])
        reference, statistic = (
            None if data[name] is None else kind.from_dict(data[name])
            for name in ("reference", "statistic")
        )
        monitor = cls(
            metric,
            at_most=data["at_most"],
            confidence_level=data["confidence_level"],
            reference=reference,
        )
        monitor.statistic_ = statistic
        monitor._looks = [
            {name: look[name] for name in monitor.history_} for look in data["looks"]
        ]
        return monitor

    def _look(self, statistic: Any) -> dict[str, Any]:
        """Row of the history for the statistic of all rows so far."""
        level = 1 - self.confidence_level
        found = self._compare(statistic)
        before = self.pvalue_ if self._looks else 1.0
        pvalue = min(before, self._pvalue(found))
        look = {
            "n_rows": int(statistic.counts.sum()),
            "statistic": found.value,
            "low": lower_bound(found, level / 2),
            "high": upper_bound(found, level / 2),
            "pvalue": pvalue,
            "alarm": bool(pvalue <= level),
        }
        if self.reference is not None:
            look |= self._drift(statistic, level)
        return look

    def _compare(self, statistic: Any) -> Comparisons:
        """Disparity of a statistic, with bounds that hold at every look."""
        rows = Arguments(None, statistic, None, None)
        return compare(self.metric, observe(self.metric, rows), "anytime")

    def _pvalue(self, found: Comparisons) -> float:
        """Smallest level whose lower bound is above `at_most`; 1 where undefined."""
        if math.isnan(found.value):
            return 1.0
        return least_level(
            lambda level: self.at_most - found.low(level / found.n_comparisons)
        )

    def _drift(self, statistic: Any, level: float) -> dict[str, Any]:
        """Largest distance of a group from its reference, and its lower bound."""
        both = [label for label in statistic.labels if label in self.reference.labels]
        found = []
        for label in both:
            before, now = (
                one.of_one_group(one.labels.index(label), name)
                for one, name in ((self.reference, "reference"), (statistic, "now"))
            )
            found.append(self._compare(before + now))
        low = max((lower_bound(one, level / len(both)) for one in found), default=0.0)
        alarm = bool(self._looks) and self._looks[-1]["drift_alarm"]
        return {
            "drift": max((one.value for one in found), default=math.nan),
            "drift_low": low,
            "drift_alarm": bool(alarm or low > 0),
        }

    def _last(self) -> dict[str, Any]:
        """Last row of the history."""
        if not self._looks:
            raise ValueError("the monitor has seen no rows yet: call update first.")
        return self._looks[-1]
