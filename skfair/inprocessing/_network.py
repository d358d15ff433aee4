"""A feed-forward network with one output: forward and backward passes, and Adam."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair._training_rows import Array
from skfair._utils._validation import check_integer

#: Coefficients (n_in, n_out) and intercepts (n_out,) of each layer in turn.
Parameters: TypeAlias = list[Array]

#: Adam's decay rates of both moments, and the term that keeps its denominator above 0
#: (Kingma and Ba 2015).
_DECAYS = (0.9, 0.999)
_EPSILON = 1e-8


def layer_sizes(hidden_layer_sizes: Any) -> tuple[int, ...]:
    """Return the number of units in each hidden layer."""
    if not isinstance(hidden_layer_sizes, Iterable):
        hidden_layer_sizes = (hidden_layer_sizes,)
    return tuple(
        check_integer("hidden_layer_sizes", units, 1) for units in hidden_layer_sizes
    )


def initial_parameters(
    sizes: Sequence[int], dtype: Any, rng: np.random.RandomState
) -> Parameters:
    """Draw coefficients and intercepts as `MLPClassifier` of scikit-learn does."""
    parameters: Parameters = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6 / (n_in + n_out))
        parameters.append(rng.uniform(-bound, bound, (n_in, n_out)).astype(dtype))
        parameters.append(rng.uniform(-bound, bound, n_out).astype(dtype))
    return parameters


def forward(
    X: Any,
    parameters: Parameters,
    dropout: float = 0.0,
    rng: np.random.RandomState | None = None,
) -> list[Any]:
    """Return the activations of all layers, the input first and the logits last."""
    activations = [X]
    for layer in range(0, len(parameters), 2):
        units = activations[-1] @ parameters[layer]
        units += parameters[layer + 1]
        if layer < len(parameters) - 2:
            np.maximum(units, 0, out=units)
            if dropout and rng is not None:
                kept = rng.random_sample(units.shape) >= dropout
                units *= kept.astype(units.dtype) / units.dtype.type(1 - dropout)
        activations.append(units)
    return activations


def backward(
    activations: list[Any], parameters: Parameters, slopes: Array, dropout: float = 0.0
) -> Parameters:
    """Return the gradient of a loss, given its derivatives in the logits (`slopes`)."""
    gradients: Parameters = [np.empty(0)] * len(parameters)
    delta = slopes.astype(parameters[0].dtype)[:, None]
    for layer in range(len(parameters) - 2, -1, -2):
        units = activations[layer // 2]
        gradients[layer] = np.asarray(units.T @ delta)
        gradients[layer + 1] = delta.sum(axis=0)
        if layer:
            delta = delta @ parameters[layer].T
            delta *= units > 0
            if dropout:
                delta /= delta.dtype.type(1 - dropout)
    return gradients


def log_losses(logits: Array, y: NDArray[Any]) -> Array:
    """Log-loss of each row, for labels 0 and 1."""
    return np.logaddexp(0, logits) - y * logits


def predict_logits(X: Any, parameters: Parameters) -> NDArray[np.float64]:
    """Return the logit of each row, without dropout."""
    return np.asarray(forward(X, parameters)[-1][:, 0], dtype=np.float64)


class Adam:
    """Adaptive moment estimation, which changes parameters in place."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.n_steps = 0
        self.means = [np.zeros_like(values) for values in parameters]
        self.squares = [np.zeros_like(values) for values in parameters]

    def step(self, gradients: Parameters, learning_rate: float) -> None:
        """Change the parameters by one step."""
        self.n_steps += 1
        first, second = _DECAYS
        correction = np.sqrt(1 - second**self.n_steps) / (1 - first**self.n_steps)
        rate = learning_rate * correction
        for values, gradient, mean, square in zip(
            self.parameters, gradients, self.means, self.squares, strict=True
        ):
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient**2 - square)
            values -= (rate * mean / (np.sqrt(square) + _EPSILON)).astype(values.dtype)
