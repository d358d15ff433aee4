"""How well models predict, with intervals, and beside the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit
from sklearn.metrics import average_precision_score, log_loss

from skfair._comparison import average_precision
from skfair._utils._types import Bools, Floats, Integers
from skfair.metrics._groupwise._group_gaps import wilson_interval
from skfair.report._inputs import Audit, Model

#: Numbers by name, None where one is undefined.
Numbers = dict[str, float | None]

#: Rows of a bin of scores, at least, and number of bins, at most.
_ROWS_OF_BIN, _MOST_BINS = 100, 10
#: Figures that are shares.
_SHARES = "accuracy", "balanced_accuracy", "average_precision"
#: The interval of R2, which is stated where errors were counted apart.
ENDS_OF_R2 = "r2_lower", "r2_upper"


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
    true, predicted = audit.y_true[rows], model.y_pred[rows]
    weights = weights_of(audit)[rows]
    hits, n_classes = weights * (true == predicted), len(audit.classes)
    sizes = np.bincount(true, weights, n_classes)
    found["accuracy"] = float(hits.sum() / weights.sum())
    if sizes.all():
        recalls = np.bincount(true, hits, n_classes) / sizes
        found["balanced_accuracy"] = float(recalls.mean())
    if model.y_score is not None:
        score = model.y_score[rows]
        if audit.options.scale == "probability":
            found["log_loss"] = float(
                log_loss(true, score, labels=[0, 1], sample_weight=weights)
            )
            found |= _calibration(true == 1, score, weights, audit.count(rows))
        if sizes[1] > 0:
            found["average_precision"] = float(
                average_precision_score(true, score, sample_weight=weights)
            )
    return found


def _performance_of_numbers(audit: Audit, model: Model, rows: Any) -> Numbers:
    """Mean prediction, and with true values mean errors and R2."""
    assert model.y_score is not None
    predicted, weights = model.y_score[rows], weights_of(audit)[rows]
    given = weights, _squares(audit)[rows].sum(), audit.options.confidence_level
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


def _calibration(
    positive: Bools, scores: Floats, weights: NDArray[Any], n_rows: int
) -> Numbers:
    """Mean score minus share of positives, of all rows and, absolute, of bins."""
    bins = _bins(scores, weights, n_rows)
    excess = np.bincount(bins, weights * (scores - positive)) / weights.sum()
    return {
        "score_excess": float(excess.sum()),
        "calibration_error": float(np.abs(excess).sum()),
    }


def _bins(scores: Floats, weights: NDArray[Any], n_rows: int) -> Integers:
    """Bin of each score: bins have the same weight, and 100 rows or more.

    Rows of one score share a bin.
    """
    n_bins = int(np.clip(n_rows // _ROWS_OF_BIN, 1, _MOST_BINS))
    _, codes = np.unique(scores, return_inverse=True)
    sizes = np.bincount(codes, weights)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return np.asarray(np.minimum((middles * n_bins).astype(int), n_bins - 1)[codes])


def weights_of(audit: Audit) -> NDArray[Any]:
    """Total weight of each entry."""
    return np.ones(audit.n_rows) if audit.weights is None else audit.weights


def with_intervals(audit: Audit, model: Model) -> Numbers:
    """Quality of predictions on all rows, with the ends of the interval of each.

    Shares have Wilson's interval of as many rows as have their variance. The interval
    of the calibration error bounds the noise of its bins; all others are normal.
    """
    found = performance(audit, model)
    z = float(ndtri((1 + audit.options.confidence_level) / 2))
    for name, influence in _influences(audit, model, found).items():
        value, error = found[name], _error(audit, influence)
        assert value is not None
        low, high = value - z * error, value + z * error
        if name in _SHARES:
            weights, squares = weights_of(audit), _squares(audit)
            size = weights.sum() ** 2 / squares.sum()
            if error > 0:
                size = value * (1 - value) / error**2
            level = audit.options.confidence_level
            rate, sizes = np.array([value]), np.array([size])
            (low,), (high,) = wilson_interval(rate, sizes, level)
        found[f"{name}_lower"], found[f"{name}_upper"] = float(low), float(high)
    if found.get("calibration_error") is not None:
        low, high = _ends_of_calibration(audit, model, z)
        found["calibration_error_lower"] = low
        found["calibration_error_upper"] = high
    return found


def _ends_of_calibration(audit: Audit, model: Model, z: float) -> tuple[float, float]:
    """Bound the calibration error, a sum of absolute values.

    The sum of the true values is at most that of the values found, with the signs of
    the true ones, plus noise; it is at least the sum found less all absolute noise.
    """
    true, scores, weights = audit.y_true, model.y_score, weights_of(audit)
    assert true is not None
    assert scores is not None
    bins = _bins(scores, weights, audit.n_rows)
    excess, totals = scores - (true == 1), np.bincount(bins, weights)
    sums = np.bincount(bins, weights * excess)
    means = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    noise = np.bincount(bins, _squares(audit) * (excess - means[bins]) ** 2)
    errors = np.sqrt(noise) / weights.sum()
    value, spread = np.abs(sums).sum() / weights.sum(), np.sqrt((errors**2).sum())
    most = np.sqrt(2 / np.pi) * errors.sum() + z * np.sqrt(1 - 2 / np.pi) * spread
    return max(float(value - most), 0.0), float(value + z * spread)


def beside_first(audit: Audit, model: Model) -> dict[str, Numbers] | None:
    """Each figure minus that of the first model of the same rows, with its interval.

    Rows are paired: what both models find difficult cancels. None for the first model,
    and without true labels.
    """
    first = audit.models[0]
    if model is first:
        return None
    z = float(ndtri((1 + audit.options.confidence_level) / 2))
    own, other = performance(audit, model), performance(audit, first)
    influences = _influences(audit, model, own)
    of_first = _influences(audit, first, other)
    found: dict[str, Numbers] = {}
    for name in (name for name in influences if name in of_first):
        value, of_other = own[name], other[name]
        assert value is not None
        assert of_other is not None
        half = z * _error(audit, influences[name] - of_first[name])
        value -= of_other
        found[name] = {"value": value, "lower": value - half, "upper": value + half}
    return found or None


def _influences(audit: Audit, model: Model, found: Numbers) -> dict[str, Floats]:
    """How far each figure moves by the weight of each row: its derivative."""
    if audit.y_true is None:
        return {}
    weights = weights_of(audit)
    values = {name: one for name, one in found.items() if one is not None}
    total = weights.sum()
    if audit.of_numbers:
        # Where errors were counted apart, they are of no true number.
        known = "r2" in values and model.errors is None
        return _influences_of_r2(audit.y_true, model, weights) if known else {}
    true, score = audit.y_true, model.y_score
    hits = (true == model.y_pred).astype(float)
    influences = {"accuracy": (hits - values["accuracy"]) / total}
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
        of_rows = average_precision(positive.astype(float), score, weights)
        influences["average_precision"] = of_rows.derivative
    if "log_loss" in values:
        least = np.finfo(float).eps
        right = np.clip(np.where(positive, score, 1 - score), least, 1)
        influences["log_loss"] = (-np.log(right) - values["log_loss"]) / total
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
    return float(np.sqrt(_squares(audit) @ influence**2))


def _squares(audit: Audit) -> NDArray[Any]:
    """Sum of the squared weights of each entry."""
    return np.ones(audit.n_rows) if audit.squares is None else audit.squares
