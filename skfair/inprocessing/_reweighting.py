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
from scipy.special import logit
from sklearn.base import clone

from skfair._penalty._penalised_loss import Evaluation, PenalisedLoss, clip_scores
from skfair._training_rows import Array, TrainingRows, params_of_rows, take_rows
from skfair._utils._progress import Progress
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


def two_label_weights(y: NDArray[Any], p: Array, penalty_gradient: Array) -> Array:
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


def single_label_weights(y: NDArray[Any], p: Array, penalty_gradient: Array) -> Array:
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
    classes: NDArray[Any]

    def plain(self) -> Any:
        """Fit a clone with the weights given by the user."""
        y = self.classes[self.rows.y]
        return clone(self.estimator).fit(self.rows.X, y, **self.params)

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
            return self.rows.X, self.classes[self.rows.y], self.params
        n_samples = len(self.rows)
        twice = np.tile(np.arange(n_samples), 2)
        params = params_of_rows(self.params, twice, n_samples)
        return take_rows(self.rows.X, twice), np.repeat(self.classes, n_samples), params


class Round(NamedTuple):
    """A classifier with its weights by row and label, and the loss of its scores.

    `held_out` are the scores of the rows held out and their loss, if there are any.
    """

    number: int
    estimator: Any
    weights: Array
    evaluation: Evaluation
    held_out: tuple[Array, Evaluation] | None


def reweighting_rounds(
    fits: WeightedFits,
    held_out: TrainingRows | None,
    loss: PenalisedLoss,
    averaging: bool,
    max_iter: int,
    tol: float,
) -> Iterator[Round]:
    """Yield the plain fit, then reweighted fits until the scores hardly change."""
    rows = fits.rows
    weights = np.column_stack([1 - rows.y, rows.y])
    weigh = two_label_weights if fits.form == "two_label" else single_label_weights
    gradient = np.zeros(len(rows.y))
    last: Array = gradient
    estimator = fits.plain()
    for number in range(max_iter):
        scores = _finite_scores(estimator, rows.X, number)
        if number == 0:
            log_odds = logit(clip_scores(scores))
            loss = loss.rescaled(log_odds, rows.weights, rows.stratum_codes)
        evaluation, held_out_part = loss.evaluate(scores, rows), None
        if held_out is not None:
            new_scores = _finite_scores(estimator, held_out.X, number)
            held_out_part = new_scores, loss.evaluate(new_scores, held_out)
        yield Round(number, estimator, weights, evaluation, held_out_part)
        change = np.average(np.abs(scores - last), weights=rows.weights)
        if number + 1 == max_iter or (number and change <= tol):
            return
        last = scores
        # Weights are the mean of all rounds, in which the k-th counts k. Gradients that
        # change sign from round to round, as they do once the gap is closed, must
        # cancel before they become weights, which are positive for either sign.
        share = 2 / (number + 2) if averaging else 1.0
        gradient = gradient + max(share, _MIN_SHARE) * (
            evaluation.penalty_gradient - gradient
        )
        latest = weigh(rows.y, clip_scores(scores), gradient)
        weights = weights + share * (latest - weights)
        estimator = fits.reweighted(weights)


def choose_round(
    rounds: Iterator[Round], progress: Progress
) -> tuple[Round, Round, pd.DataFrame]:
    """Return the plain round, a reweighted one, and the history.

    The reweighted one has the least penalised loss on the rows held out; without such
    rows it is the last.
    """
    records: list[dict[str, Any]] = []
    least = math.inf
    for found in rounds:
        record = {"round": found.number, **_history_columns(found.evaluation)}
        value = -math.inf
        if found.held_out is not None:
            record |= _history_columns(found.held_out[1], "validation_")
            value = found.held_out[1].penalised_loss
        records.append(record)
        shown = [f"{name} {value:.4f}" for name, value in record.items()][1:]
        progress.line(f"round {found.number}: {', '.join(shown)}")
        if found.number == 0:
            plain = kept = found
        elif value <= least:
            kept, least = found, value
    return plain, kept, pd.DataFrame(records)


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


def _history_columns(evaluation: Evaluation, prefix: str = "") -> dict[str, float]:
    """Columns of the history."""
    names = ("loss", "gap", "threshold", "penalised_loss")
    return {prefix + name: getattr(evaluation, name) for name in names}
