"""Weights under which the log-loss has the gradient of a penalised log-loss."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from skfair.inprocessing._training_rows import Array

Form: TypeAlias = Literal["two_label", "sample_weight"]
FORMS: tuple[Form, ...] = ("two_label", "sample_weight")

#: Least weight of the proximal term, and its increase for each unit of the first-order
#: step in the log-odds, see `two_label_weights`.
_PROXIMAL_WEIGHT, _PROXIMAL_WEIGHT_PER_STEP = 0.2, 0.5
#: Largest weight of a row that keeps its own label.
_MAX_SINGLE_WEIGHT = 10.0


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
