"""Metrics of scikit-learn, and rates by name, as `group_metrics` evaluates them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from inspect import isfunction, signature
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn.metrics
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names

from skfair._rows import Rows
from skfair._utils._hints import did_you_mean
from skfair._utils._validation import check_no_missing, refuse_scores
from skfair.groups import sort_labels
from skfair.metrics._inputs import Rate, has_text, positive_class
from skfair.metrics._scorer import _Scorer

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
#: Functions of scikit-learn that are rates, and the options with which they are.
_RATES_OF_SKLEARN: dict[Any, tuple[str, dict[str, Any]]] = {
    sklearn.metrics.accuracy_score: ("accuracy", {"normalize": True}),
    sklearn.metrics.zero_one_loss: ("error_rate", {"normalize": True}),
    sklearn.metrics.recall_score: ("true_positive_rate", {"average": "binary"}),
    sklearn.metrics.precision_score: ("predictive_value", {"average": "binary"}),
}
#: Second parameters of metrics that take scores.
_SCORES = ("y_score", "y_proba", "y_prob", "pred_decision")
#: Metrics of scores whose second parameter was called y_pred before scikit-learn 1.9.
_METRICS_OF_SCORES = (sklearn.metrics.log_loss, sklearn.metrics.d2_log_loss_score)


class GroupMetric(NamedTuple):
    """A metric, and how it is called."""

    name: str
    #: None for a rate that scikit-learn does not have.
    function: Callable[..., float] | None
    options: dict[str, Any]
    sign: int = 1
    takes_scores: bool = False
    #: Name of the rate that the metric is.
    rate: str | None = None
    #: True label that counts as 1, for metrics of scores; None for labels as they are.
    positive: Any = None

    def takes(self, parameter: str) -> bool:
        """Return whether the function has a parameter that the user has not set."""
        return parameter not in self.options and parameter in _parameters(self.function)

    @property
    def takes_counts(self) -> bool:
        """Whether a weight of n stands for n rows that are alike."""
        is_sklearn = getattr(self.function, "__module__", "").startswith("sklearn.")
        return is_sklearn and self.takes("sample_weight")

    @property
    def compares_labels(self) -> bool:
        """Whether only the numbers of rows with equal labels matter."""
        return self.takes_counts and not self.takes_scores

    def replace_option(self, name: str, value: Any) -> GroupMetric:
        """Return the metric with an option set."""
        return self._replace(options={**self.options, name: value})

    def evaluate(self, rows: Rows) -> float:
        """Return the value of the metric for some rows; nan if there are no rows."""
        if rows.n is not None:
            rows = rows.grouped() if self.takes_counts else rows.split_into_people()
        if not len(rows):
            return math.nan
        options = dict(self.options)
        if rows.mass is not None:
            options["sample_weight"] = rows.mass
        true = rows.y_true
        if self.positive is not None:
            true = (true == self.positive).astype(int)
        predicted = scores_of(rows) if self.takes_scores else rows.y_pred
        function: Any = self.function
        value = np.asarray(function(true, predicted, **options))
        if value.size != 1:
            raise ValueError(
                f"{self.name} must return a number, got an array of shape "
                f"{value.shape}. Choose one of them, or take their mean, in a function "
                "of your own."
            )
        return self.sign * float(value.item())


def scores_of(rows: Rows) -> NDArray[Any]:
    """Return the scores of rows, or their predictions if there are no scores."""
    scores: NDArray[Any] = rows.y_pred if rows.y_score is None else rows.y_score
    return scores


def _parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function, as far as they are known."""
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):  # of None, or of a builtin
        return []


def find_metrics(metrics: Any) -> list[GroupMetric]:
    """Return the metrics with their names, which are distinct."""
    if isinstance(metrics, Mapping):
        listed = [_find_metric(metric, str(name)) for name, metric in metrics.items()]
    elif isinstance(metrics, (list, tuple)):
        listed = [_find_metric(metric) for metric in metrics]
    else:
        listed = [_find_metric(metrics)]
    if not listed:
        raise ValueError("metrics must hold at least one metric, got none.")
    names = [metric.name for metric in listed]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"metrics must have distinct names, got {repeated[0]!r} repeatedly. Pass a "
            "dictionary of name -> metric."
        )
    return listed


def _find_metric(metric: Any, name: str | None = None) -> GroupMetric:
    """Find how to call a metric, given as a name, a function or a scorer."""
    if isinstance(metric, str):
        if metric in RATES:
            return GroupMetric(name or metric, None, {}, rate=metric)
        return _find_metric(_find_by_name(metric), name or metric)
    if isinstance(metric, _Scorer):
        scored = _find_metric(partial(metric._score_func, **metric._kwargs), name)
        return scored._replace(
            sign=metric._sign,
            takes_scores=metric._response_method != "predict",
            rate=scored.rate if metric._sign == 1 else None,
        )
    if not callable(metric):
        raise TypeError(
            "metrics must be the name of a metric, a function, a scorer, or a list or "
            f"dictionary of these, got {metric!r}."
        )
    function: Any = metric
    options: dict[str, Any] = {}
    while isinstance(function, partial):
        function, options = function.func, {**function.keywords, **options}
    if function is sklearn.metrics.auc:
        raise ValueError(
            "metrics must compare labels with predictions or scores, got 'auc', the "
            "area under the points of any curve. Is 'roc_auc' meant?"
        )
    return GroupMetric(
        name or getattr(function, "__name__", None) or repr(function),
        function,
        options,
        takes_scores=function in _METRICS_OF_SCORES
        or _parameters(function)[1:2] in [[parameter] for parameter in _SCORES],
        rate=_find_rate(function, options),
    )


def _find_by_name(name: str) -> Any:
    """Return the function or the scorer of scikit-learn that has a name."""
    function = getattr(sklearn.metrics, name, None)
    if isfunction(function):
        return function
    if name in get_scorer_names():
        return get_scorer(name)
    raise ValueError(
        "metrics must name a function of sklearn.metrics such as 'recall_score', a "
        f"scorer such as 'roc_auc', or one of {', '.join(map(repr, RATES))}, got "
        f"{name!r}.{did_you_mean(name, [*RATES, *dir(sklearn.metrics)])}"
    )


def _find_rate(function: Any, options: dict[str, Any]) -> str | None:
    """Name the rate that a function of scikit-learn computes, None for others."""
    for metric, (rate, options_of_rate) in _RATES_OF_SKLEARN.items():
        if function is metric:
            free = ("pos_label", "zero_division")
            same = [
                name in free or (name, value) in options_of_rate.items()
                for name, value in options.items()
            ]
            return rate if all(same) else None
    return None


def prepare(metric: GroupMetric, rows: Rows, pos_label: Hashable) -> GroupMetric:
    """Check the rows that a metric is given, and set its labels."""
    if rows.y_true is None and metric.rate != "selection_rate":
        raise ValueError(f"y_true must be given for {metric.name}, got None.")
    if not metric.takes_scores and rows.y_pred is None:
        raise ValueError(f"y_pred must be predictions for {metric.name}, got None.")
    weighted = rows.weight is not None and metric.rate is None
    if weighted and not metric.takes("sample_weight"):
        raise TypeError(f"{metric.name} takes no sample_weight, got weights.")
    if metric.takes_scores:
        return _prepare_for_scores(metric, rows, pos_label)
    if any(np.ndim(labels) > 1 for labels in (rows.y_true, rows.y_pred)):
        if metric.function is None:
            raise ValueError(
                f"y_true and y_pred must have shape (n_samples,) for {metric.name}, "
                f"got {np.shape(rows.y_true)} and {np.shape(rows.y_pred)}. Pass a "
                "function of several columns, such as one of sklearn.metrics."
            )
        return metric._replace(rate=None)
    if metric.rate is not None:
        refuse_scores(rows.y_pred, "y_pred")
    return _prepare_for_labels(metric, rows, pos_label)


def _prepare_for_labels(
    metric: GroupMetric, rows: Rows, pos_label: Hashable
) -> GroupMetric:
    """Tell a metric of predicted labels which of two labels is positive."""
    asks = metric.rate not in (None, "accuracy", "error_rate")
    asks = asks or metric.takes("pos_label")
    if not asks or metric.options.get("average", "binary") != "binary":
        return metric
    labels = {"y_true": rows.y_true, "y_pred": rows.y_pred}
    present = {name: values for name, values in labels.items() if values is not None}
    classes = _classes_in(**present)
    if metric.function is not None and len(classes) > 2:
        return metric._replace(rate=None)  # whose error names other averages
    label = metric.options.get("pos_label", pos_label)
    positive = positive_class(classes, " and ".join(present), label)
    metric = metric.replace_option("pos_label", positive)
    if metric.function is sklearn.metrics.jaccard_score:
        return metric._replace(function=_jaccard)
    if metric.takes("zero_division"):
        metric = metric.replace_option("zero_division", np.nan)
    return metric


def _jaccard(y_true: Any, y_pred: Any, **options: Any) -> float:
    """Return the Jaccard score of two classes, whose `zero_division` cannot be nan."""
    zero_division = options.pop("zero_division", np.nan)
    score = partial(sklearn.metrics.jaccard_score, y_true, y_pred, **options)
    low, high = score(zero_division=0), score(zero_division=1)
    return float(low if low == high else zero_division)


def _prepare_for_scores(
    metric: GroupMetric, rows: Rows, pos_label: Hashable
) -> GroupMetric:
    """Tell a metric of scores which labels there are, and which of them is positive."""
    scores = scores_of(rows)
    alike = scores.ndim == 1 and (has_text(scores) or len(pd.unique(scores)) < 3)
    if rows.y_score is None and alike:
        raise ValueError(
            f"{metric.name} takes scores, but y_pred holds labels: pass "
            "y_score=<probabilities or decision values> as well."
        )
    classes = _classes_in(y_true=rows.y_true)
    if scores.ndim == 1 and len(classes) <= 2:
        label = metric.options.get("pos_label", pos_label)
        positive = positive_class(classes, "y_true", label)
        options = {k: v for k, v in metric.options.items() if k != "pos_label"}
        metric = metric._replace(options=options, positive=positive)
        classes = [0, 1]
    return (
        metric.replace_option("labels", classes) if metric.takes("labels") else metric
    )


def _classes_in(**columns: NDArray[Any]) -> list[Any]:
    """Return the sorted distinct labels of some columns, of which none is missing."""
    labels: list[Any] = []
    for name, values in columns.items():
        check_no_missing(values, name)
        labels += pd.unique(values).tolist()
    return sort_labels(dict.fromkeys(labels))
