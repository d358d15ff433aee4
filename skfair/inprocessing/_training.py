"""Training of a network by the log-loss and the gap between groups: Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import expit

from skfair.inprocessing._mini_batches import mini_batches
from skfair.inprocessing._network import (
    Adam,
    Array,
    Parameters,
    backward,
    forward,
    log_losses,
)
from skfair.inprocessing._training_parameters import Penalty, Schedule
from skfair.inprocessing._training_rows import TrainingRows

#: Steps between two looks at the held-out rows, and looks without a better one until
#: training stops.
_STEPS_PER_LOOK = 20
_PATIENCE = 10


@dataclass
class History:
    """What each step has seen, and the best look at the held-out rows."""

    steps: list[dict[str, float]] = field(default_factory=list)
    looks: dict[int, float] = field(default_factory=dict)
    best: Parameters | None = None

    def look(self, objective: float, parameters: Parameters) -> bool:
        """Note the objective on held-out rows; whether to train on."""
        if objective < min(self.looks.values(), default=np.inf):
            self.best = [values.copy() for values in parameters]
        self.looks[len(self.steps)] = objective
        best = min(self.looks, key=self.looks.__getitem__)
        return len(self.steps) - best < _PATIENCE * _STEPS_PER_LOOK

    def frame(self) -> pd.DataFrame:
        """One row per step; the looks in a column of their own, if there are any."""
        frame = pd.DataFrame(self.steps)
        frame.insert(0, "step", np.arange(1, len(frame) + 1))
        if self.looks:
            frame["validation_objective"] = frame["step"].map(self.looks)
        return frame


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is an error
def train(
    parameters: Parameters,
    rows: TrainingRows,
    held_out: TrainingRows | None,
    penalty: Penalty,
    schedule: Schedule,
    rng: np.random.RandomState,
) -> tuple[Parameters, pd.DataFrame]:
    """Train a network, whose parameters are changed in place.

    Parameters
    ----------
    parameters : list of ndarray
    rows : TrainingRows
    held_out : TrainingRows or None
        Rows whose objective chooses the step to keep; None keeps the last.
    penalty : Penalty
    schedule : Schedule
    rng : RandomState

    Returns
    -------
    parameters : list of ndarray
    history : DataFrame with one row per step

    Raises
    ------
    ValueError
        If scores turn NaN.
    """
    optimizer, history = Adam(parameters), History()
    strata = rows.codes if penalty.strength else np.zeros(len(rows.y), dtype=np.intp)
    batches = mini_batches(strata, schedule.batch_size, rng)
    for step in range(schedule.max_iter):
        chosen, factors = next(batches)
        seen, gradients = batch_gradients(
            parameters, rows.take(chosen), factors, penalty, schedule, rng
        )
        optimizer.step(gradients, schedule.rate(step))
        _check_finite(seen["objective"], parameters, step, schedule)
        history.steps.append(seen)
        if held_out is None or (step + 1) % _STEPS_PER_LOOK:
            continue
        if not history.look(_objective(parameters, held_out, penalty), parameters):
            break
    return history.best or parameters, history.frame()


def batch_gradients(
    parameters: Parameters,
    rows: TrainingRows,
    factors: Array,
    penalty: Penalty,
    schedule: Schedule,
    rng: np.random.RandomState | None = None,
) -> tuple[dict[str, float], Parameters]:
    """Objective of a mini-batch and its gradient in all parameters.

    Parameters
    ----------
    parameters : list of ndarray
    rows : TrainingRows
        The batch.
    factors : ndarray of shape (n_batch,)
        What makes its averages those over all rows.
    penalty : Penalty
    schedule : Schedule
    rng : RandomState, default=None
        Draws the units that drop out.

    Returns
    -------
    seen : dict
        The mean log-loss, the gap and where it is, and the objective with all
        penalties.
    gradients : list of ndarray
    """
    activations = forward(rows.X, parameters, schedule.dropout, rng)
    logits = activations[-1][:, 0].astype(np.float64)
    scores = expit(logits)
    shares = factors * rows.weights / len(factors)
    loss = float(shares @ log_losses(logits, rows.y))
    slopes = shares * (scores - rows.y)
    gap = penalty.gap(scores, rows.codes, rows.weights)
    if gap is not None:
        slopes += penalty.strength * gap.gradient * scores * (1 - scores)
    gradients = backward(activations, parameters, slopes, schedule.dropout)
    decay = 0.0
    for coefs, gradient in zip(parameters[::2], gradients[::2], strict=True):
        gradient += schedule.alpha * coefs
        decay += schedule.alpha / 2 * float(np.vdot(coefs, coefs))
    value = np.nan if gap is None else gap.value
    seen = {
        "loss": loss,
        "gap": value,
        "threshold": np.nan if gap is None else gap.threshold,
        "objective": loss + decay + (penalty.strength * value if gap else 0.0),
    }
    return seen, gradients


def _objective(parameters: Parameters, rows: TrainingRows, penalty: Penalty) -> float:
    """Log-loss and gap of held-out rows."""
    logits = forward(rows.X, parameters)[-1][:, 0].astype(np.float64)
    loss = rows.weights @ log_losses(logits, rows.y) / rows.weights.sum()
    gap = penalty.gap(expit(logits), rows.codes, rows.weights)
    return float(loss + (penalty.strength * gap.value if gap else 0.0))


def _check_finite(
    objective: float, parameters: Parameters, step: int, schedule: Schedule
) -> None:
    if np.isfinite(objective) and all(np.isfinite(v).all() for v in parameters):
        return
    raise ValueError(
        f"Training stopped in step {step + 1}, objective {objective}: scores turn NaN. "
        "The likely cause is features of very large values (standardise X), or a "
        "learning rate that is too large, got "
        f"learning_rate_init={schedule.learning_rate_init!r}."
    )
