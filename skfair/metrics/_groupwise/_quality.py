"""Quality of service: the 0/1 outcome of each row whose rates are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._validation import as_array, check_shape
from skfair.metrics._inputs import (
    check_no_missing,
    check_y_true,
    has_text,
    in_place_of_rows,
    positive_rows,
)
from skfair.statistics import GroupedOutcomes

QualityName: TypeAlias = Literal[
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "accuracy",
    "error_rate",
]
Quality: TypeAlias = QualityName | Callable[..., Any]


def grouped_quality(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    sensitive_features: Any,
    quality: Quality,
    pos_label: Any,
    sample_weight: ArrayLike | None = None,
) -> GroupedOutcomes:
    """Outcomes of each group: the statistic given as `y_pred`, or that of the rows."""
    rows = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    if isinstance(y_pred, GroupedOutcomes):
        return in_place_of_rows(
            y_pred,
            y_true=y_true,
            pos_label=pos_label,
            quality=None if quality == "selection_rate" else quality,
            **rows,
        )
    outcomes, mask = _outcomes(y_true, y_pred, quality, pos_label)
    return GroupedOutcomes.from_outcomes(outcomes, mask=mask, **rows)


def compares_rates_of_errors(
    quality: Quality = "selection_rate", **options: Any
) -> bool:
    """Whether the quality is a rate among the rows of one true label."""
    rates = ("true_positive_rate", "false_positive_rate")
    return isinstance(quality, str) and quality in rates


def count_hits(
    statistic: GroupedOutcomes,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of rows of each group, and of rows with outcome 1 (hits)."""
    hits = np.rint(statistic.sums)
    single = (statistic.totals == statistic.counts) & (statistic.sums == hits)
    if not single.all():
        bad = int(single.argmin())
        raise ValueError(
            "The statistic must hold outcomes of 0 and 1 of rows without sample "
            f"weights, since single rows are counted; group {statistic.labels[bad]!r} "
            f"has {statistic.sums[bad]:g} of {statistic.totals[bad]:g} in "
            f"{statistic.counts[bad]} rows."
        )
    return statistic.counts, hits.astype(np.intp)


def _outcomes(
    y_true: ArrayLike | None, y_pred: ArrayLike, quality: Quality, pos_label: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return the outcome of each row, and which rows count, None for all."""
    predicted = as_array(y_pred, "y_pred")
    check_shape(predicted, "y_pred")
    if callable(quality):
        return _call_quality(quality, y_true, predicted)
    names = get_args(QualityName)
    if not isinstance(quality, str) or quality not in names:
        raise ValueError(
            f"quality must be one of {', '.join(map(repr, names))} or a callable, got "
            f"{quality!r}."
        )
    if quality == "selection_rate":
        check_y_true(y_true, predicted)
        return positive_rows(predicted, "y_pred", pos_label), None
    true = _check_classes(y_true, len(predicted), quality)
    if quality in ("accuracy", "error_rate"):
        correct = _agree(true, predicted)
        return (correct if quality == "accuracy" else ~correct), None
    positive = positive_rows(true, "y_true", pos_label)
    mask = positive if quality == "true_positive_rate" else ~positive
    return positive_rows(predicted, "y_pred", pos_label), mask


def _call_quality(
    quality: Callable[..., Any], y_true: ArrayLike | None, y_pred: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return the outcomes and the mask that a callable gives, checked."""
    true = None if y_true is None else _check_classes(y_true, len(y_pred), "a callable")
    result = quality(true, y_pred)
    outcomes, mask = result if isinstance(result, tuple) else (result, None)
    name = getattr(quality, "__name__", repr(quality))
    must = f"quality ({name}) must return"
    outcomes = _check_zero_one(outcomes, len(y_pred), f"{must} outcomes")
    if mask is not None:
        mask = _check_zero_one(mask, len(y_pred), f"{must} a mask")
    return outcomes, mask


def _check_zero_one(values: Any, n_samples: int, must: str) -> NDArray[np.bool_]:
    """Return 0/1 values as bool, or raise with a message that starts with `must`."""
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise ValueError(f"{must} of shape ({n_samples},), got {array.shape}.")
    zero_one = (array == 0) | (array == 1)
    if not zero_one.all():
        row = int(np.argmin(zero_one))
        raise ValueError(f"{must} of 0 and 1, got {array[row]!r} in row {row}.")
    return np.asarray(array == 1)


def _check_classes(
    y_true: ArrayLike | None, n_samples: int, quality: str
) -> NDArray[Any]:
    """Return the true classes of the rows; raise without them."""
    if y_true is None:
        raise ValueError(f"y_true must be labels for quality {quality!r}, got None.")
    true = as_array(y_true, "y_true")
    if true.shape != (n_samples,):
        raise ValueError(
            f"y_true must have shape ({n_samples},), one label for each row of y_pred, "
            f"got {true.shape}."
        )
    return true


def _agree(y_true: NDArray[Any], y_pred: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the predicted class of each row is the true one."""
    for name, classes in (("y_true", y_true), ("y_pred", y_pred)):
        check_no_missing(classes, name)
    if has_text(y_true) != has_text(y_pred):
        raise ValueError(
            "y_true and y_pred must both be text or both be numbers, got "
            f"{y_true[0]!r} and {y_pred[0]!r}."
        )
    return np.asarray(y_true == y_pred)
