"""Fits of a classifier with weights that make its log-loss a penalised one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skfair._mitigation import params_of_rows, take_rows
from skfair._penalty._penalised_loss import Evaluation, PenalisedLoss, clip_scores
from skfair._penalty._training_rows import Array, TrainingRows
from skfair._utils._response import respond

Form: TypeAlias = Literal["two_label", "sample_weight"]
FORMS: tuple[Form, ...] = ("two_label", "sample_weight")

#: Least weight of the proximal term, and its increase for each unit of the first-order
#: step in the log-odds, see `two_label_weights`.
_PROXIMAL_WEIGHT, _PROXIMAL_WEIGHT_PER_STEP = 0.2, 0.5
#: Largest weight of a row that keeps its own label.
_MAX_SINGLE_WEIGHT = 10.0
#: Least share of the latest gradient in the running mean, which must not lag behind.
_MIN_SHARE = 0.3


def two_label_weights(y: Array, p: Array, penalty_gradient: Array) -> Array:
    """Weights of every row with label 0 and with label 1, shape (n_samples, 2).

    `penalty_gradient` is the derivative of the penalty in the log-odds of p.
    """
    # Minus the derivative of the penalised log-loss in the log-odds. At p, the weighted
    # log-loss has the same derivative for every proximal weight h >= 0: the terms with
    # h are a log-loss with the labels p, which is least at p.
    residual = y - p - penalty_gradient
    # With a constant h, the penalty alone would move log-odds by
    # log(1 + |gradient| / (h min(p, 1 - p))), which is large for small groups, whose
    # gradients are large, and for p near 0 or 1. With h in proportion to the gradient,
    # no step is longer than log(1 + 1 / _PROXIMAL_WEIGHT_PER_STEP).
    first_order_step = np.abs(penalty_gradient) / (p * (1 - p))
    h = _PROXIMAL_WEIGHT + _PROXIMAL_WEIGHT_PER_STEP * first_order_step
    return np.column_stack(
        [
            h * (1 - p) + np.maximum(-residual, 0) / p,
            h * p + np.maximum(residual, 0) / (1 - p),
        ]
    )


def single_label_weights(y: Array, p: Array, penalty_gradient: Array) -> Array:
    """Weights of every row with its own label, 0 for the other, (n_samples, 2).

    Clipped to [0, 10], they have the gradient of the penalised log-loss only where
    they are not clipped.
    """
    weights = np.clip(1 - penalty_gradient / (y - p), 0, _MAX_SINGLE_WEIGHT)
    return np.column_stack([(1 - y) * weights, y * weights])


@dataclass(frozen=True, eq=False)
class WeightedFits:
    """Fits of clones of one classifier to the same rows, with different weights.

    `params` are the parameters of `fit`, with the user's weights if there are any.
    """

    estimator: Any
    weight_keyword: str
    params: dict[str, Any]
    form: Form
    rows: TrainingRows
    y: NDArray[Any]
    classes: NDArray[Any]

    def plain(self) -> Any:
        """Fit a clone with the user's weights only."""
        return clone(self.estimator).fit(self.rows.X, self.y, **self.params)

    def reweighted(self, weights: Array) -> Any:
        """Fit a clone with weights by row and label, times the user's weights."""
        X, y, params = self._data
        weights = weights * self.rows.weights[:, None]
        by_row = weights.T.ravel() if self.form == "two_label" else weights.sum(axis=1)
        return clone(self.estimator).fit(X, y, **params | {self.weight_keyword: by_row})

    @cached_property
    def _data(self) -> tuple[Any, NDArray[Any], dict[str, Any]]:
        """All rows once or twice, with the first label and then with the second."""
        if self.form == "sample_weight":
            return self.rows.X, self.y, self.params
        n_samples = len(self.y)
        twice = np.tile(np.arange(n_samples), 2)
        params = params_of_rows(self.params, twice, n_samples)
        return take_rows(self.rows.X, twice), np.repeat(self.classes, n_samples), params


class Round(NamedTuple):
    """A classifier, its weights by row and label, and the loss of its scores."""

    number: int
    estimator: Any
    weights: Array
    loss: PenalisedLoss
    evaluation: Evaluation


def reweighting_rounds(
    fits: WeightedFits, loss: PenalisedLoss, averaging: bool, max_iter: int, tol: float
) -> Iterator[Round]:
    """Yield the plain fit, then reweighted fits until the scores hardly change."""
    rows = fits.rows
    weights = np.column_stack([1 - rows.y, rows.y])
    estimator = fits.plain()
    scores = _finite_scores(estimator, rows.X, 0)
    loss = loss.rescaled(scores, rows.weights)
    evaluation = loss.evaluate(scores, rows)
    yield Round(0, estimator, weights, loss, evaluation)
    weigh = two_label_weights if fits.form == "two_label" else single_label_weights
    gradient = np.zeros(len(rows.y))
    for number in range(1, max_iter):
        # Weights are the mean of all rounds, in which the k-th counts k. Gradients that
        # change sign from round to round, as they do once the gap is closed, must
        # cancel before they become weights, which are positive for either sign.
        share = 2 / (number + 1) if averaging else 1.0
        gradient += max(share, _MIN_SHARE) * (evaluation.penalty_gradient - gradient)
        latest = weigh(rows.y, clip_scores(scores), gradient)
        weights = weights + share * (latest - weights)
        estimator = fits.reweighted(weights)
        last, scores = scores, _finite_scores(estimator, rows.X, number)
        evaluation = loss.evaluate(scores, rows)
        yield Round(number, estimator, weights, loss, evaluation)
        if np.average(np.abs(scores - last), weights=rows.weights) <= tol:
            return


def choose_round(
    rounds: Iterator[Round], held_out: TrainingRows | None, verbose: bool
) -> tuple[Round, pd.DataFrame]:
    """Return the round to keep and the history.

    The round has the least loss on held-out rows; without such rows it is the last.
    """
    records: list[dict[str, Any]] = []
    least = math.inf
    for found in rounds:
        record = {"round": found.number, **_columns(found.evaluation)}
        validation_loss = -math.inf
        if held_out is not None:
            scores = _finite_scores(found.estimator, held_out.X, found.number)
            evaluation = found.loss.evaluate(scores, held_out)
            record |= _columns(evaluation, "validation_")
            validation_loss = evaluation.penalised_loss
        records.append(record)
        if verbose:
            _print_record(record)
        if held_out is None or validation_loss < least:
            kept, least = found, validation_loss
    history = pd.DataFrame(records)
    history["kept"] = history["round"] == kept.number
    return kept, history


def _finite_scores(estimator: Any, X: Any, number: int) -> Array:
    """Predict scores with the classifier of some round; raise if any is not finite."""
    scores = respond(estimator, "predict_proba", X).astype(np.float64)
    n_invalid = int(np.count_nonzero(~np.isfinite(scores)))
    if n_invalid:
        cause = (
            "already without reweighting"
            if number == 0
            else "probably because the weights have become too large or too uneven "
            "for it: choose a smaller strength or temperature, or regularise it"
        )
        raise ValueError(
            f"{type(estimator).__name__} gave {n_invalid} NaN or infinite scores "
            f"in round {number}, {cause}."
        )
    return scores


def _columns(evaluation: Evaluation, prefix: str = "") -> dict[str, float]:
    """Columns of the history."""
    names = ("loss", "gap", "threshold", "penalised_loss")
    return {prefix + name: getattr(evaluation, name) for name in names}


def _print_record(record: dict[str, Any]) -> None:
    """Print a line of the history."""
    number = record["round"]
    shown = [f"{name} {value:.4f}" for name, value in record.items() if name != "round"]
    print(f"[MCDPReweighter] round {number}: {', '.join(shown)}", flush=True)
