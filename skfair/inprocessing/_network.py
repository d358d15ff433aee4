"""A feed-forward network of one output: scores, exact gradients, and Adam."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array: TypeAlias = NDArray[np.floating]

#: Coefficients and intercepts of all layers, in turn.
Parameters: TypeAlias = list[Array]

#: Decay of Adam's moments, and what it adds to its denominator (Kingma and Ba 2015).
_DECAYS = (0.9, 0.999)
_TINY = 1e-8


def initial_parameters(
    sizes: Sequence[int], dtype: Any, rng: np.random.RandomState
) -> Parameters:
    """Draw parameters as `sklearn.neural_network.MLPClassifier` does.

    Parameters
    ----------
    sizes : sequence of int
        Number of units of each layer, the input first.
    dtype : dtype
    rng : RandomState

    Returns
    -------
    list of ndarray
        Coefficients (n_in, n_out) and intercepts (n_out,) of each layer in turn.
    """
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
    """Activations of all layers, the input first, the logits last.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    parameters : list of ndarray
    dropout : float in [0, 1), default=0.0
        Share of hidden units that are silent, drawn for each row.
    rng : RandomState, default=None
        Needed for dropout.

    Returns
    -------
    list of n_layers arrays of shape (n_samples, n_units)
    """
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
    """Gradient in all parameters of a function of the logits.

    Parameters
    ----------
    activations : list of arrays
        What `forward` returned.
    parameters : list of ndarray
    slopes : ndarray of shape (n_samples,)
        Derivative of the function in each logit.
    dropout : float in [0, 1), default=0.0
        As in `forward`.

    Returns
    -------
    list of ndarray, shaped as `parameters`
    """
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


def log_losses(logits: Array, y: Array) -> Array:
    """Log-loss of each row, for labels 0 and 1.

    Parameters
    ----------
    logits, y : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    return np.logaddexp(0, logits) - y * logits


def probabilities(X: Any, parameters: Parameters) -> Array:
    """Scores of rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    parameters : list of ndarray

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    return np.asarray(expit(forward(X, parameters)[-1][:, 0]))


class Adam:
    """Adaptive moment estimation, which changes parameters in place.

    Parameters
    ----------
    parameters : list of ndarray
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.n_steps = 0
        self.means = [np.zeros_like(values) for values in parameters]
        self.squares = [np.zeros_like(values) for values in parameters]

    def step(self, gradients: Parameters, learning_rate: float) -> None:
        """Descend by one step.

        Parameters
        ----------
        gradients : list of ndarray
        learning_rate : float
        """
        self.n_steps += 1
        first, second = _DECAYS
        correction = np.sqrt(1 - second**self.n_steps) / (1 - first**self.n_steps)
        rate = learning_rate * correction
        for values, gradient, mean, square in zip(
            self.parameters, gradients, self.means, self.squares, strict=True
        ):
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient**2 - square)
            values -= (rate * mean / (np.sqrt(square) + _TINY)).astype(values.dtype)
