"""Metrics by class, function or name, or of the user's own, as one kind of object."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from inspect import Parameter, signature
from typing import Any

import numpy as np

from skfair._rows import Rows, take_rows
from skfair._utils._hints import did_you_mean
from skfair._utils._text import shown
from skfair.groups import encode_groups, label_array
from skfair.metrics._abcc import ABCC
from skfair.metrics._abroca import ABROCA
from skfair.metrics._calibration_gap import CalibrationGap
from skfair.metrics._dcp import DCP
from skfair.metrics._exposure import ExposureDifference
from skfair.metrics._madd import MADD
from skfair.metrics._many_groups import CVaRFairness, MaxGap
from skfair.metrics._mcdp import MCDP
from skfair.metrics._metric import Exchangeable, Metric
from skfair.metrics._parts import Estimate
from skfair.metrics._rates import (
    DemographicParity,
    EqualizedOdds,
    FalsePositiveRateDifference,
    ImpactRatioShortfall,
    MeanAbsoluteErrorDifference,
    MeanErrorDifference,
    PredictiveValueDifference,
    TruePositiveRateDifference,
)
from skfair.metrics._undefined import why_undefined

#: All metrics that are one number, by name.
METRICS: Mapping[str, type[Metric]] = {
    kind.name: kind
    for kind in (
        ABCC,
        ABROCA,
        CalibrationGap,
        CVaRFairness,
        DCP,
        DemographicParity,
        EqualizedOdds,
        ExposureDifference,
        FalsePositiveRateDifference,
        ImpactRatioShortfall,
        MADD,
        MaxGap,
        MCDP,
        MeanAbsoluteErrorDifference,
        MeanErrorDifference,
        PredictiveValueDifference,
        TruePositiveRateDifference,
    )
}
#: Arguments that have a value for each row, and are not options.
_OF_ROWS = (
    *("y_true", "y_pred", "y_score"),
    *("sensitive_features", "sample_weight", "counts", "clusters"),
)


def as_metric(metric: Any, **options: Any) -> Metric:
    """Turn a metric as users pass it into an object with its options.

    Users pass a function of skfair, its name or its scorer's, a class or an object of
    metrics, any other function, or a `functools.partial` of a function.
    """
    if isinstance(metric, partial):
        if metric.args:
            raise ValueError(
                f"metric must have its options set by keyword, got {shown(metric)}."
            )
        return as_metric(metric.func, **{**metric.keywords, **options})
    if isinstance(metric, UserMetric):
        return replace(metric, keywords={**metric.keywords, **options})
    if isinstance(metric, Metric):
        return _make_metric(type(metric), {**metric.options, **options})
    if isinstance(metric, type) and issubclass(metric, Metric):
        return _make_metric(metric, options)
    if isinstance(metric, str) and metric.removeprefix("neg_") in METRICS:
        return _make_metric(METRICS[metric.removeprefix("neg_")], options)
    kind = getattr(metric, "metric", None)
    if kind is not None and kind.function is metric:
        return _make_metric(kind, options)
    _check_function(metric)
    return UserMetric(own=metric, keywords=options, **_shared(kind))


def _make_metric(kind: type[Metric], options: dict[str, Any]) -> Metric:
    """Make a metric of a class with options; refuse unknown options."""
    if options.pop("control_features", None) is not None:
        raise ValueError(
            "control_features must be given beside sensitive_features, not as an "
            "option of the metric: they are split with the rows."
        )
    for name in _OF_ROWS:
        if options.pop(name, None) is not None:
            raise ValueError(
                f"{name} must be given beside the metric, not as an option of it: it "
                "has a value for each row."
            )
    check_options(kind, options)
    return kind(**options)


def check_options(kind: type[Metric], options: Mapping[str, Any]) -> None:
    """Raise TypeError for an option that a class of metrics does not have."""
    names = [each.name for each in fields(kind)]
    for unknown in (name for name in options if name not in names):
        hint = ""
        if unknown in signature(encode_groups).parameters:
            hint = (
                f" encode_groups of skfair.groups takes {unknown}: pass its result as "
                "sensitive_features, or to a scorer a function of X that returns it."
            )
        raise TypeError(
            f"{kind.name} has no option {unknown!r}, expected one of {names}.{hint}"
        )


def _shared(kind: type[Metric] | None) -> dict[str, Any]:
    """Return the null hypothesis of a metric wrapped by `functools.wraps`."""
    return {} if kind is None else {"null": kind.exchangeable}


def _check_function(metric: Any) -> None:
    """Raise TypeError unless a metric is a function that takes groups."""
    if not callable(metric) or hasattr(metric, "_score_func"):
        scorer = "the scorer " * hasattr(metric, "_score_func")
        hint = did_you_mean(metric, METRICS) if isinstance(metric, str) else ""
        raise TypeError(
            "metric must be a function, such as skfair.metrics.mcdp, or the name of "
            f"one, got {scorer}{shown(metric)}.{hint}"
        )
    try:
        parameters = signature(metric).parameters
    except (TypeError, ValueError):  # Python cannot tell
        return
    any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    if not any_name and "sensitive_features" not in parameters:
        name = getattr(metric, "__name__", type(metric).__name__)
        raise TypeError(
            f"metric must take sensitive_features, which {name} does not. "
            "skfair.metrics.group_metrics computes metrics of scikit-learn by group."
        )


@dataclass(frozen=True, kw_only=True)
class UserMetric(Metric):
    """Metric that is a function of the user's own; only its values are known."""

    counts_alike = False

    own: Callable[..., float]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    null: Exchangeable = "unknown"

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the function."""
        return getattr(self.own, "__name__", None) or repr(self.own)

    @property
    def exchangeable(self) -> Exchangeable:  # type: ignore[override]
        """Rows among which a test permutes groups."""
        return self.null

    @property
    def inputs(self) -> tuple[str, str]:  # type: ignore[override]
        """Names of the arguments with true labels, and with what is compared."""
        names = [*self._parameters][:2]
        return ("y_true", names[1] if len(names) == 2 else "y_score")

    @property
    def options(self) -> dict[str, Any]:
        """Keywords by name, with the defaults of the function."""
        parameters = self._parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        return {**defaults, **self.keywords}

    @property
    def _parameters(self) -> Mapping[str, Parameter]:
        """Parameters of the function, as far as Python can tell."""
        try:
            return signature(self.own).parameters
        except (TypeError, ValueError):
            return {}

    def check(self, rows: Rows) -> Rows:
        """Leave the rows as they are: the function checks them."""
        return rows

    def check_classes(self, rows: Rows) -> list[Rows]:
        """Return the rows as they are, with all columns of scores."""
        return [rows]

    def select(self, rows: Rows) -> Rows:
        """Return the rows that have a group."""
        kept = rows.groups.codes >= 0
        return rows if kept.all() else rows[kept]

    def collect(self, rows: Rows) -> Rows:
        """Return a row for each of the people."""
        return rows.split_into_people()

    def why_undefined(self, statistic: Rows) -> tuple[str, str]:
        """Say why groups cannot be compared: an expected group is too small."""
        groups = statistic.groups
        sizes, smallest = groups.sizes(), groups.min_group_size
        if (sizes >= max(smallest, 1)).all():
            return "", ""
        return str(why_undefined(groups.labels, sizes, smallest)), ""

    def value(self, statistic: Rows) -> float:
        """Call the function, which gets an array of labels."""
        labels = label_array(statistic.groups)
        return self._call(statistic.y_true, statistic.y_pred, labels, statistic.weight)

    def _call(self, y_true: Any, y_pred: Any, groups: Any, weight: Any) -> float:
        """Call the function, which must return a number."""
        rows = {"sensitive_features": groups}
        if weight is not None:
            rows["sample_weight"] = weight
        value = self.own(y_true, y_pred, **rows, **self.keywords)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"metric must return a number, got a {type(value).__name__} from "
                f"{self.name}."
            ) from None

    def estimate_statistic(self, statistic: Rows) -> Estimate:
        """Find the value of rows, or why it has none."""
        estimate = super().estimate_statistic(statistic)
        return estimate._replace(defined=not math.isnan(estimate.value))

    def evaluate(self, rows: Rows, groups_as_given: Any = None) -> float:
        """Evaluate rows; raise if only the groups as they are given have a value."""
        if rows.strata is not None or groups_as_given is None:
            return float(super().evaluate(rows))
        error, value = None, math.nan
        try:
            value = super().evaluate(rows)
        except Exception as raised:
            error = raised
        if math.isnan(value) and not self.why_undefined(self.select(rows))[0]:
            self._compare_with(groups_as_given, rows, error)
        if error is not None:
            raise error
        return value

    def _compare_with(
        self, groups_as_given: Any, rows: Rows, error: Exception | None
    ) -> None:
        """Raise if the function has a value for the groups as they are given."""
        single = rows.split_into_people()
        if rows.n is not None:
            people = np.repeat(np.arange(len(rows)), rows.n)
            groups_as_given = take_rows(groups_as_given, people)
        columns = single.y_true, single.y_pred, groups_as_given, single.weight
        try:
            plain = self._call(*columns)
        except Exception:
            return
        if math.isnan(plain):
            return
        labels = label_array(rows.groups)
        raise ValueError(
            f"metric {self.name} is {plain:.6g} with sensitive_features as given, but "
            f"{'nan' if error is None else f'raises {error!r}'} with an array of "
            f"their labels, {labels[:2].tolist()} first, which is what tests, "
            "intervals and scorers pass: let it compare such labels."
        ) from error


def changed_options(metric: Metric) -> dict[str, Any]:
    """Return the options of a metric that differ from their defaults."""
    options = {}
    for each in fields(metric):
        value = getattr(metric, each.name)
        if type(value) is not type(each.default) or value != each.default:
            options[each.name] = (
                value.item() if isinstance(value, np.generic) else value
            )
    return options
