"""How metrics of scikit-learn are called: by name, by function, or as scorers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import isfunction, signature
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import sklearn.metrics
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names

from skfair._utils._arrays import Integers
from skfair._utils._validation import check_no_missing, refuse_scores
from skfair.groups import sort_labels
from skfair.metrics._inputs import (
    Rate,
    has_text,
    positive_class,
)
from skfair.metrics._scorer import _Scorer
from skfair.metrics._spec import name_of, unwrapped

#: Rates by name, and whether the complement of one is taken.
RATES: dict[str, tuple[Rate, bool]] = {
    "selection_rate": ("selection_rate", False),
    "accuracy": ("accuracy", False),
    "error_rate": ("error_rate", False),
    "true_positive_rate": ("true_positive_rate", False),
    "false_negative_rate": ("true_positive_rate", True),
    "false_positive_rate": ("false_positive_rate", False),
    "true_negative_rate": ("false_positive_rate", True),
    "predictive_value": ("predictive_value", False),
}
#: Functions of scikit-learn that are such rates, and the options with which they are.
_RATES_OF_SKLEARN: dict[Any, tuple[str, dict[str, Any]]] = {
    sklearn.metrics.accuracy_score: ("accuracy", {"normalize": True}),
    sklearn.metrics.zero_one_loss: ("error_rate", {"normalize": True}),
    sklearn.metrics.recall_score: ("true_positive_rate", {"average": "binary"}),
    sklearn.metrics.precision_score: ("predictive_value", {"average": "binary"}),
}
#: Second parameters of metrics that take scores.
_SCORES = ("y_score", "y_proba", "y_prob", "pred_decision")
#: Metrics of scores whose second parameter was called y_pred before scikit-learn 1.9.
_OF_SCORES = (sklearn.metrics.log_loss, sklearn.metrics.d2_log_loss_score)
#: Values of rows by the name of the argument.
Columns: TypeAlias = dict[str, NDArray[Any]]


class GroupMetric(NamedTuple):
    """A metric, and how it is called."""

    name: str
    #: None for a rate that scikit-learn does not have.
    function: Callable[..., float] | None
    options: dict[str, Any]
    sign: int = 1
    takes_scores: bool = False
    #: Name of the rate that it is.
    rate: str | None = None
    #: True label that counts as 1, for metrics of scores; None for labels as they are.
    positive: Any = None

    def takes(self, parameter: str) -> bool:
        """Whether the function has a parameter that the user has not set."""
        return parameter not in self.options and parameter in _parameters(self.function)

    @property
    def takes_counts(self) -> bool:
        """Whether a weight of n stands for n rows with the same labels."""
        known = getattr(self.function, "__module__", "").startswith("sklearn.")
        return known and not self.takes_scores and self.takes("sample_weight")

    def with_option(self, name: str, value: Any) -> GroupMetric:
        """Set an option."""
        return self._replace(options={**self.options, name: value})

    def evaluate(self, columns: Columns, rows: Integers) -> float:
        """Value of some rows, nan of none."""
        if not len(rows):
            return math.nan
        true = columns["y_true"][rows]
        if self.positive is not None:
            true = (true == self.positive).astype(int)
        given = (
            _scores_or_predictions(columns) if self.takes_scores else columns["y_pred"]
        )
        options = dict(self.options)
        if "sample_weight" in columns:
            options["sample_weight"] = columns["sample_weight"][rows]
        function: Any = self.function
        return self.sign * float(function(true, given[rows], **options))


def _parameters(function: Any) -> list[str]:
    """Names of the parameters of a function, as far as they are known."""
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):  # of None, or of a builtin
        return []


def find_measures(metrics: Any) -> list[GroupMetric]:
    """Return the metrics with their names, which are distinct."""
    if isinstance(metrics, Mapping):
        found = [_find_metric(metric, str(name)) for name, metric in metrics.items()]
    else:
        several = isinstance(metrics, (list, tuple))
        found = [_find_metric(metric) for metric in (metrics if several else [metrics])]
    if not found:
        raise ValueError("metrics must hold at least one metric, got none.")
    names = [one.name for one in found]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"metrics must have distinct names, got {repeated[0]!r} repeatedly. Pass a "
            "dictionary of name -> metric."
        )
    return found


def _find_metric(metric: Any, name: str | None = None) -> GroupMetric:
    """Find how a metric is called that is given by name, as function or as scorer."""
    if isinstance(metric, str):
        if metric in RATES:
            return GroupMetric(name or metric, None, {}, rate=metric)
        return _find_metric(_find(metric), name or metric)
    if isinstance(metric, _Scorer):
        found = _find_metric(partial(metric._score_func, **metric._kwargs), name)
        scores = metric._response_method != "predict"
        rate = found.rate if metric._sign == 1 else None
        return found._replace(sign=metric._sign, takes_scores=scores, rate=rate)
    if not callable(metric):
        raise TypeError(
            "metrics must be the name of a metric, a function, a scorer, or a list or "
            f"dictionary of these, got {metric!r}."
        )
    function, options = unwrapped(metric)
    return GroupMetric(
        name or name_of(function),
        function,
        options,
        takes_scores=function in _OF_SCORES
        or _parameters(function)[1:2] in [[one] for one in _SCORES],
        rate=_rate_of(function, options),
    )


def _find(name: str) -> Any:
    """Return the function or the scorer of scikit-learn that has a name."""
    function = getattr(sklearn.metrics, name, None)
    if isfunction(function):
        return function
    if name in get_scorer_names():
        return get_scorer(name)
    raise ValueError(
        "metrics must name a function of sklearn.metrics such as 'recall_score', a "
        f"scorer such as 'roc_auc', or one of {', '.join(map(repr, RATES))}, got "
        f"{name!r}."
    )


def _rate_of(function: Any, options: dict[str, Any]) -> str | None:
    """Name the rate that a function of scikit-learn computes, None for others."""
    for known, (rate, as_rate) in _RATES_OF_SKLEARN.items():
        if function is known:
            free = ("pos_label", "zero_division")
            same = [
                name in free or (name, value) in as_rate.items()
                for name, value in options.items()
            ]
            return rate if all(same) else None
    return None


def prepare(measure: GroupMetric, columns: Columns, pos_label: Any) -> GroupMetric:
    """Check what a metric is given, and tell it the positive label and the labels."""
    if "y_true" not in columns and measure.rate != "selection_rate":
        raise ValueError(f"y_true must be given for {measure.name}, got None.")
    if not measure.takes_scores and "y_pred" not in columns:
        raise ValueError(f"y_pred must be predictions for {measure.name}, got None.")
    weighted = "sample_weight" in columns and measure.rate is None
    if weighted and not measure.takes("sample_weight"):
        raise TypeError(f"{measure.name} takes no sample_weight, got weights.")
    if measure.takes_scores:
        return _prepare_for_scores(measure, columns, pos_label)
    if measure.rate is not None:
        refuse_scores(columns["y_pred"], "y_pred")
    return _prepare_for_labels(measure, columns, pos_label)


def _prepare_for_labels(
    measure: GroupMetric, columns: Columns, pos_label: Any
) -> GroupMetric:
    """Tell a metric of predicted labels which of two labels is positive."""
    asks = measure.rate not in (None, "accuracy", "error_rate")
    asks = asks or measure.takes("pos_label")
    if not asks or measure.options.get("average", "binary") != "binary":
        return measure
    read = [name for name in ("y_true", "y_pred") if name in columns]
    classes = _labels_in(columns, read)
    if measure.function is not None and len(classes) > 2:
        return measure._replace(rate=None)  # whose error names other averages
    given = measure.options.get("pos_label", pos_label)
    positive = positive_class(classes, " and ".join(read), given)
    measure = measure.with_option("pos_label", positive)
    if measure.function is sklearn.metrics.jaccard_score:
        return measure._replace(function=_jaccard)
    if measure.takes("zero_division"):
        measure = measure.with_option("zero_division", np.nan)
    return measure


def _jaccard(y_true: Any, y_pred: Any, **options: Any) -> float:
    """Jaccard score of two classes, whose `zero_division` cannot be nan."""
    given = options.pop("zero_division", np.nan)
    score = partial(sklearn.metrics.jaccard_score, y_true, y_pred, **options)
    low, high = score(zero_division=0), score(zero_division=1)
    return float(low if low == high else given)


def _prepare_for_scores(
    measure: GroupMetric, columns: Columns, pos_label: Any
) -> GroupMetric:
    """Tell a metric of scores which true label is positive, and which there are."""
    scores = _scores_or_predictions(columns)
    if "y_score" not in columns and (has_text(scores) or len(pd.unique(scores)) < 3):
        raise ValueError(
            f"{measure.name} takes scores, but y_pred holds labels: pass "
            "y_score=<probabilities or decision values> as well."
        )
    classes = _labels_in(columns, ["y_true"])
    if scores.ndim == 1 and len(classes) <= 2:
        given = measure.options.get("pos_label", pos_label)
        positive = positive_class(classes, "y_true", given)
        options = {k: v for k, v in measure.options.items() if k != "pos_label"}
        measure = measure._replace(options=options, positive=positive)
        classes = [0, 1]
    return (
        measure.with_option("labels", classes) if measure.takes("labels") else measure
    )


def _scores_or_predictions(columns: Columns) -> NDArray[Any]:
    """Scores, for which predictions may stand."""
    return columns["y_score"] if "y_score" in columns else columns["y_pred"]


def _labels_in(columns: Columns, names: Iterable[str]) -> list[Any]:
    """Sorted distinct labels in some columns."""
    found: list[Any] = []
    for name in names:
        check_no_missing(columns[name], name)
        found += pd.unique(columns[name]).tolist()
    return sort_labels(dict.fromkeys(found))
