"""Parameters of a training: what is penalised, and how steps are made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._validation import check_choice, check_integer, check_real
from skfair.inprocessing._network import Array
from skfair.inprocessing._smooth_gap import OBJECTIVES, Objective, SmoothGap, smooth_gap


@dataclass(frozen=True)
class Penalty:
    """How much of which gap is added to the log-loss."""

    strength: float
    temperature: float
    objective: Objective

    def gap(
        self, scores: Array, codes: NDArray[np.integer], weights: Array
    ) -> SmoothGap | None:
        """Gap of scores between the groups, None where nothing is penalised.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
        codes : ndarray of shape (n_samples,)
            Group of each row, -1 for none.
        weights : ndarray of shape (n_samples,)

        Returns
        -------
        SmoothGap or None
        """
        n_groups = int(codes.max()) + 1
        if not self.strength or not n_groups:
            return None
        return smooth_gap(
            scores,
            codes,
            n_groups,
            weights,
            temperature=self.temperature,
            objective=self.objective,
        )


@dataclass(frozen=True)
class Schedule:
    """How the steps of a training are made, see `DiffMCDPClassifier`."""

    max_iter: int
    batch_size: int
    learning_rate_init: float
    learning_rate: str
    alpha: float
    dropout: float

    def rate(self, step: int) -> float:
        """Learning rate of a step, the first of which is 0.

        Parameters
        ----------
        step : int

        Returns
        -------
        float
        """
        if self.learning_rate == "constant":
            return self.learning_rate_init
        return float(self.learning_rate_init * 0.1 ** (3 * step // self.max_iter))


def check_parameters(model: Any) -> tuple[Penalty, Schedule]:
    """Read the parameters of a `DiffMCDPClassifier`.

    Parameters
    ----------
    model : DiffMCDPClassifier

    Returns
    -------
    penalty : Penalty
    schedule : Schedule

    Raises
    ------
    ValueError
        On a parameter out of range.
    """
    layer_sizes(model.hidden_layer_sizes)
    check_choice("learning_rate", model.learning_rate, ("constant", "step"))
    for name in ("early_stopping", "warm_start", "drop_sensitive"):
        check_choice(name, getattr(model, name), (True, False))
    check_real("validation_fraction", model.validation_fraction, 0, 1, closed="neither")
    rate = model.learning_rate_init
    schedule = Schedule(
        max_iter=check_integer("max_iter", model.max_iter, 1),
        batch_size=check_integer("batch_size", model.batch_size, 1),
        learning_rate_init=check_real(
            "learning_rate_init", rate, 0, math.inf, closed="neither"
        ),
        learning_rate=model.learning_rate,
        alpha=check_real("alpha", model.alpha, 0, math.inf, closed="left"),
        dropout=check_real("dropout", model.dropout, 0, 1, closed="left"),
    )
    return check_penalty(model), schedule


def check_penalty(model: Any) -> Penalty:
    """Read what a classifier penalises.

    Parameters
    ----------
    model : DiffMCDPClassifier or MCDPReweighter

    Returns
    -------
    Penalty

    Raises
    ------
    ValueError
        On a parameter out of range.
    """
    check_choice("objective", model.objective, OBJECTIVES)
    return Penalty(
        strength=check_real("strength", model.strength, 0, math.inf, closed="left"),
        temperature=check_real(
            "temperature", model.temperature, 0, math.inf, closed="neither"
        ),
        objective=model.objective,
    )


def layer_sizes(hidden_layer_sizes: Any) -> tuple[int, ...]:
    """Return the units of each hidden layer.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If they are not whole numbers of at least 1.
    """
    if not isinstance(hidden_layer_sizes, Iterable):
        hidden_layer_sizes = (hidden_layer_sizes,)
    return tuple(
        check_integer("hidden_layer_sizes", units, 1) for units in hidden_layer_sizes
    )
