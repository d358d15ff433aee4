"""How well models predict, with intervals, and beside the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit
from sklearn.metrics import average_precision_score

from skfair._comparison import average_precision
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair.metrics._rate_intervals import wilson_interval
from skfair.model_selection._model_comparison import Model as PairedModel
from skfair.model_selection._model_comparison import (
    changes_by_a_row,
    loss_moments,
    worst_loss,
)
from skfair.report._inputs import Audit, Model

#: Numbers by name, None where one is undefined.
Numbers = dict[str, float | None]
#: Figures of a model, their influences, and their changes by another row.
_Compared = tuple[Numbers, dict[str, Floats], dict[str, Floats]]

#: Rows of a bin of scores, at least, and number of bins, at most.
_ROWS_OF_BIN, _MOST_BINS = 100, 10
#: Figures that are shares.
_SHARES = "accuracy", "balanced_accuracy", "average_precision"


def performance(audit: Audit, model: Model, rows: Any = slice(None)) -> Numbers:
    """Quality of predictions on some rows, by default on all of them.

    None without true labels, without scores, where a class has no row, or where
    scores are no probabilities.
    """
    if audit.of_numbers:
        return _performance_of_numbers(audit, model, rows)
    names = ["accuracy", "balanced_accuracy", "average_precision", "log_loss"]
    names += ["score_excess", "calibration_error"]
    found: Numbers = dict.fromkeys(names)
    if audit.y_true is None:
        return found
    true, weights = audit.y_true[rows], audit.entry_weights[rows]
    found |= _figures(audit, model, true, rows, weights)
    if model.y_score is not None and audit.options.scale == "probability":
        given = true == 1, model.y_score[rows], weights, audit.count(rows)
        found["calibration_error"] = _calibration_error(*given)
    return found


def _figures(
    audit: Audit, model: Model, true: NDArray[Any], rows: Any, weights: Floats
) -> Numbers:
    """Quality of the predictions of some rows beside true labels, which may be others.

    Each has an influence of each row.
    """
    found: Numbers = {}
    if audit.of_numbers:
        assert model.y_score is not None
        squares = (true - np.average(true, weights=weights)) ** 2
        errors = (model.y_score[rows] - true) ** 2
        return {"r2": float(1 - weights @ errors / (weights @ squares))}
    hits, n_classes = weights * (true == model.y_pred[rows]), len(audit.classes)
    sizes = np.bincount(true, weights, n_classes)
    if model.decides:
        found["accuracy"] = float(hits.sum() / weights.sum())
    if model.decides and sizes.all():
        recalls = np.bincount(true, hits, n_classes) / sizes
        found["balanced_accuracy"] = float(recalls.mean())
    if model.y_score is None:
        return found
    score = model.y_score[rows]
    if audit.options.scale == "probability":
        found["log_loss"] = float(np.average(_log_losses(true, score), weights=weights))
        found["score_excess"] = float(weights @ (score - (true == 1)) / weights.sum())
    if sizes[1] > 0:
        precision = average_precision_score(true, score, sample_weight=weights)
        found["average_precision"] = float(precision)
    return found


def _performance_of_numbers(audit: Audit, model: Model, rows: Any) -> Numbers:
    """Mean prediction, and with true values mean errors and R2."""
    assert model.y_score is not None
    predicted, weights = model.y_score[rows], audit.entry_weights[rows]
    given = weights, audit.entry_squares[rows].sum(), audit.options.confidence_level
    found = _mean_of("mean_prediction", predicted, *given)
    if audit.y_true is None:
        return found
    true = audit.y_true[rows]
    errors = audit.errors_of(model)[rows]
    found |= _mean_of("mean_error", errors, *given)
    found |= _mean_of("mean_absolute_error", np.abs(errors), *given)
    spread = weights @ (true - np.average(true, weights=weights)) ** 2
    found["r2"] = float(1 - weights @ errors**2 / spread) if spread > 0 else None
    return found


def _mean_of(
    name: str, values: Floats, weights: NDArray[Any], squares: float, level: float
) -> Numbers:
    """Mean of values, with the ends of Student's interval; None for a single row."""
    mean = float(np.average(values, weights=weights))
    size = float(weights.sum() ** 2 / squares)
    if size <= 1:
        return {name: mean, f"{name}_lower": None, f"{name}_upper": None}
    variance = np.average((values - mean) ** 2, weights=weights) / (size - 1)
    half = float(stdtrit(size - 1, (1 + level) / 2) * np.sqrt(variance))
    return {name: mean, f"{name}_lower": mean - half, f"{name}_upper": mean + half}


def _calibration_error(
    positive: Bools, scores: Floats, weights: NDArray[Any], n_rows: int
) -> float:
    """Mean over bins of the absolute mean score minus share of positives."""
    bins = _bins(scores, weights, n_rows)
    excess = np.bincount(bins, weights * (scores - positive)) / weights.sum()
    return float(np.abs(excess).sum())


def _log_losses(true: NDArray[Any], scores: Floats) -> Floats:
    """Loss of each row, as :func:`sklearn.metrics.log_loss` has it."""
    right = np.where(true == 1, scores, 1 - scores)
    return np.asarray(-np.log(np.clip(right, np.finfo(float).eps, 1)))


def _bins(scores: Floats, weights: NDArray[Any], n_rows: int) -> Integers:
    """Bin of each score: bins have the same weight, and 100 rows or more.

    Rows of one score share a bin.
    """
    n_bins = int(np.clip(n_rows // _ROWS_OF_BIN, 1, _MOST_BINS))
    _, codes = np.unique(scores, return_inverse=True)
    sizes = np.bincount(codes, weights)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return np.asarray(np.minimum((middles * n_bins).astype(int), n_bins - 1)[codes])


def performances(audit: Audit) -> list[tuple[Numbers, dict[str, Numbers] | None]]:
    """Measure each model, with intervals and beside the first of the same rows.

    The first model and models without true labels have none of the second.
    """
    quantile = float(ndtri((1 + audit.options.confidence_level) / 2))
    compared: list[_Compared] = []
    for model in audit.models:
        numbers = performance(audit, model)
        moved = _influences(audit, model, numbers)
        several = len(audit.models) > 1
        changes = _changes(audit, model, [*moved]) if several else {}
        compared.append((numbers, moved, changes))
    return [
        (
            _with_intervals(audit, model, own[0], own[1], quantile),
            None if own is compared[0] else _beside(audit, own, compared[0]),
        )
        for model, own in zip(audit.models, compared, strict=True)
    ]


def _with_intervals(
    audit: Audit,
    model: Model,
    numbers: Numbers,
    influences: dict[str, Floats],
    quantile: float,
) -> Numbers:
    """Quality of predictions on all rows, with the ends of the interval of each.

    Shares have Wilson's interval of as many rows as have their variance. The interval
    of the calibration error bounds the noise of its bins; all others are normal.
    """
    found = dict(numbers)
    for name, influence in influences.items():
        value, error = found[name], _error(audit, influence)
        assert value is not None
        low, high = value - quantile * error, value + quantile * error
        if name in _SHARES:
            size = audit.entry_weights.sum() ** 2 / audit.entry_squares.sum()
            if error > 0:
                size = value * (1 - value) / error**2
            level = audit.options.confidence_level
            rate, sizes = np.array([value]), np.array([size])
            (low,), (high,) = wilson_interval(rate, sizes, level)
        found[f"{name}_lower"], found[f"{name}_upper"] = float(low), float(high)
    if found.get("calibration_error") is not None:
        low, high = _ends_of_calibration(audit, model, quantile)
        found["calibration_error_lower"] = low
        found["calibration_error_upper"] = high
    return found


def _ends_of_calibration(audit: Audit, model: Model, z: float) -> tuple[float, float]:
    """Bound the calibration error, a sum of absolute values.

    The sum of the true values is at most that of the values found, with the signs of
    the true ones, plus noise; it is at least the sum found less all absolute noise.
    """
    true, scores, weights = audit.y_true, model.y_score, audit.entry_weights
    assert true is not None
    assert scores is not None
    bins = _bins(scores, weights, audit.n_rows)
    excess, totals = scores - (true == 1), np.bincount(bins, weights)
    sums = np.bincount(bins, weights * excess)
    means = quotients(sums, totals)
    noise = np.bincount(bins, audit.entry_squares * (excess - means[bins]) ** 2)
    errors = np.sqrt(noise) / weights.sum()
    value, spread = np.abs(sums).sum() / weights.sum(), np.sqrt((errors**2).sum())
    most = np.sqrt(2 / np.pi) * errors.sum() + z * np.sqrt(1 - 2 / np.pi) * spread
    return max(float(value - most), 0.0), float(value + z * spread)


def _beside(
    audit: Audit, own: _Compared, first: _Compared
) -> dict[str, Numbers] | None:
    """Each figure minus that of the first model of the same rows, with its interval.

    Rows are paired: what both models find difficult cancels. Each end is the bound of
    `compare_models`, for models may differ in more rows than these.
    """
    found: dict[str, Numbers] = {}
    level, squares = (1 + audit.options.confidence_level) / 2, audit.entry_squares
    cubes = squares**2 / np.maximum(audit.entry_weights, np.finfo(float).tiny)
    for name in (name for name in own[1] if name in first[1]):
        value, other = own[0][name], first[0][name]
        assert value is not None
        assert other is not None
        value -= other
        difference = own[1][name] - first[1][name]
        variance = float(squares @ difference**2)
        third = float(cubes @ difference**3)
        both = own[2][name], first[2][name]
        fall, rise = float(worst_loss(*both)), float(worst_loss(*both[::-1]))
        low = -loss_moments(value, variance, -third, fall).upper_bound(level)
        high = loss_moments(-value, variance, third, rise).upper_bound(level)
        found[name] = {"value": value, "lower": float(low), "upper": float(high)}
    return found or None


def _changes(audit: Audit, model: Model, names: list[str]) -> dict[str, Floats]:
    """How another row moves each figure, by its true label and response."""
    if not names:
        return {}
    true, weights = audit.y_true, audit.entry_weights
    assert true is not None
    rows, ones = np.flatnonzero(weights > 0), np.ones(len(weights))
    one_row = audit.entry_squares.sum() / weights.sum()

    def figures(labelled: Integers, chosen: Integers) -> Floats:
        of_rows = weights[labelled].astype(float)
        of_rows[len(rows) :] = one_row
        found = _figures(audit, model, true[labelled], chosen, of_rows)
        return np.array([found[name] for name in names], dtype=float)

    responses = model.y_pred if model.y_score is None else model.y_score
    order = np.asarray(responses, dtype=float)
    compared = PairedModel(figures, order, order)
    codes = np.unique(true, return_inverse=True)[1].astype(np.intp)
    changes = changes_by_a_row(compared, codes, ones, rows)
    return dict(zip(names, np.moveaxis(changes, -1, 0), strict=True))


def _influences(audit: Audit, model: Model, found: Numbers) -> dict[str, Floats]:
    """How far each figure moves by the weight of each row: its derivative."""
    if audit.y_true is None:
        return {}
    weights = audit.entry_weights
    values = {name: one for name, one in found.items() if one is not None}
    total = weights.sum()
    if audit.of_numbers:
        known = "r2" in values
        return _influences_of_r2(audit.y_true, model, weights) if known else {}
    true, score = audit.y_true, model.y_score
    hits = (true == model.y_pred).astype(float)
    influences = {}
    if "accuracy" in values:
        influences["accuracy"] = (hits - values["accuracy"]) / total
    if "balanced_accuracy" in values:
        n_classes = len(audit.classes)
        sizes = np.bincount(true, weights, n_classes)
        recalls = np.bincount(true, weights * hits, n_classes) / sizes
        influences["balanced_accuracy"] = (
            (hits - recalls[true]) / sizes[true] / n_classes
        )
    if score is None:
        return influences
    positive: Bools = true == 1
    if "average_precision" in values:
        _, slopes = average_precision(positive.astype(float), score, weights)
        influences["average_precision"] = slopes
    if "log_loss" in values:
        influences["log_loss"] = (_log_losses(true, score) - values["log_loss"]) / total
        excess = score - positive
        influences["score_excess"] = (excess - values["score_excess"]) / total
    return influences


def _influences_of_r2(true: Floats, model: Model, weights: Floats) -> dict[str, Floats]:
    """Find the derivative of R2, one minus a ratio of two means."""
    assert model.y_score is not None
    errors = (model.y_score - true) ** 2
    squares = (true - np.average(true, weights=weights)) ** 2
    error, spread = (np.average(one, weights=weights) for one in (errors, squares))
    moved = (error / spread * (squares - spread) - (errors - error)) / spread
    return {"r2": moved / weights.sum()}


def _error(audit: Audit, influence: Floats) -> float:
    """Find the standard error by the infinitesimal jackknife."""
    return float(np.sqrt(audit.entry_squares @ influence**2))
