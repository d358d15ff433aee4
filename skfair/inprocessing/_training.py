"""Training of a network on the log-loss and the gap between groups: Algorithm 3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from skfair._penalty._penalised_loss import PenalisedLoss
from skfair._penalty._smooth_gap import SmoothGap, mean_over_strata, smooth_gap
from skfair._training_rows import Array, TrainingRows
from skfair._utils._arrays import Integers
from skfair._utils._validation import check_choice, check_integer, check_real
from skfair.inprocessing._network import (
    Adam,
    Parameters,
    backward,
    forward,
    log_losses,
    predict_logits,
)

#: Steps between two evaluations on the held-out rows, and the number of evaluations
#: without a smaller loss after which training stops.
_VALIDATION_INTERVAL = 20
_PATIENCE = 10
#: Weight of the L2 term, half the sum of all squared coefficients.
_DECAY = 1e-4


def check_training(network: Any) -> None:
    """Raise unless the parameters of a classifier that concern its steps are valid."""
    rate = network.learning_rate_init
    check_choice("learning_rate", network.learning_rate, ("constant", "step"))
    check_integer("max_iter", network.max_iter, 1)
    check_integer("batch_size", network.batch_size, 1)
    check_real("learning_rate_init", rate, 0, math.inf, closed="neither")
    check_real("dropout", network.dropout, 0, 1, closed="left")


def learning_rate_of(network: Any, step: int) -> float:
    """Learning rate of a step, the first of which is 0."""
    rate = float(network.learning_rate_init)
    if network.learning_rate == "constant":
        return rate
    return rate * float(0.1 ** (3 * step // network.max_iter))


@np.errstate(over="ignore", invalid="ignore")  # _check_finite raises instead
def train(
    parameters: Parameters,
    rows: TrainingRows,
    held_out: TrainingRows | None,
    loss: PenalisedLoss,
    network: Any,
    rng: np.random.RandomState,
) -> tuple[Parameters, pd.DataFrame]:
    """Return the trained parameters and a history with one row per step.

    The parameters are those of the step with the least loss on held-out rows; without
    held-out rows those of the last step, the given arrays changed in place.
    """
    optimizer = Adam(parameters)
    steps: list[dict[str, float]] = []
    validation: dict[int, float] = {}
    best = parameters
    # Where a gap is penalised, mini-batches have equally many rows of each cell.
    cells = rows.cells if loss.strength else np.zeros(len(rows.y), dtype=np.intp)
    batches = mini_batches(cells, network.batch_size, rng)
    for step, (chosen, factors) in enumerate(islice(batches, network.max_iter), 1):
        record, gradients = batch_gradients(
            parameters, rows.take(chosen), factors, loss, network, rng
        )
        optimizer.step(gradients, learning_rate_of(network, step - 1))
        _check_finite(record["penalised_loss"], parameters, step, network)
        steps.append({"step": step, **record})
        if held_out is None or step % _VALIDATION_INTERVAL:
            continue
        validation[step] = _validation_loss(parameters, held_out, loss)
        best_step = min(validation, key=validation.__getitem__)
        if best_step == step:
            best = [values.copy() for values in parameters]
        if step - best_step >= _PATIENCE * _VALIDATION_INTERVAL:
            break
    history = pd.DataFrame(steps)
    if validation:
        history["validation_penalised_loss"] = history["step"].map(validation)
    return best, history


def batch_gradients(
    parameters: Parameters,
    rows: TrainingRows,
    factors: Array,
    loss: PenalisedLoss,
    network: Any,
    rng: np.random.RandomState | None = None,
) -> tuple[dict[str, float], Parameters]:
    """Return the losses of a mini-batch, and the gradient of the penalised loss.

    The gradient has the shapes of the parameters. Rows are weighted by `factors`, with
    which means over the batch estimate means over all rows.
    """
    activations = forward(rows.X, parameters, network.dropout, rng)
    logits = activations[-1][:, 0].astype(np.float64)
    scores = expit(logits)
    shares = factors * rows.weights / len(factors)
    log_loss = float(shares @ log_losses(logits, rows.y))
    slopes = shares * (scores - rows.y)
    gap = _penalised_gap(scores, rows, loss)
    if gap is not None:
        slopes += loss.strength * gap.gradient * scores * (1 - scores)
    gradients = backward(activations, parameters, slopes, network.dropout)
    penalty = 0.0 if gap is None else loss.strength * gap.value
    decay = 0.0
    for coefs, gradient in zip(parameters[::2], gradients[::2], strict=True):
        gradient += _DECAY * coefs
        decay += _DECAY / 2 * float(np.vdot(coefs, coefs))
    record = {
        "loss": log_loss,
        "gap": np.nan if gap is None else gap.value,
        "threshold": np.nan if gap is None else gap.threshold,
        "penalised_loss": log_loss + decay + penalty,
    }
    return record, gradients


def _penalised_gap(
    scores: Array, rows: TrainingRows, loss: PenalisedLoss
) -> SmoothGap | None:
    """Gap of the scores of some rows, None where nothing is penalised."""
    if not loss.strength or rows.codes.max() < 0:
        return None

    def gap_of(part: Any, stratum: int) -> SmoothGap:
        of_part = scores[part], rows.codes[part], rows.weights[part]
        return smooth_gap(*of_part, loss.temperature, loss.objective)

    return mean_over_strata(rows.stratum_codes, rows.weights, gap_of)


def _validation_loss(
    parameters: Parameters, rows: TrainingRows, loss: PenalisedLoss
) -> float:
    """Log-loss plus strength times gap of held-out rows."""
    logits = predict_logits(rows.X, parameters)
    log_loss = rows.weights @ log_losses(logits, rows.y) / rows.weights.sum()
    gap = _penalised_gap(expit(logits), rows, loss)
    return float(log_loss + (loss.strength * gap.value if gap else 0.0))


def _check_finite(
    penalised_loss: float, parameters: Parameters, step: int, network: Any
) -> None:
    """Raise if a step has made the loss or a parameter NaN or infinite."""
    if np.isfinite(penalised_loss) and all(np.isfinite(v).all() for v in parameters):
        return
    raise ValueError(
        f"Training stopped in step {step}, penalised loss {penalised_loss}: scores "
        "or parameters are NaN or infinite. If features have very large values, "
        "standardise X; otherwise choose a smaller learning rate, got "
        f"learning_rate_init={network.learning_rate_init!r}."
    )


def even_sizes(available: NDArray[np.intp], total: int) -> NDArray[np.intp]:
    """Allocate a total number of rows to groups, as evenly as their sizes allow.

    Small groups get all their rows; the numbers of the others differ by at most one.
    """
    sizes = np.zeros_like(available)
    remaining = total
    for n_done, group in enumerate(np.argsort(available, kind="stable")):
        share = remaining // (len(available) - n_done)
        sizes[group] = min(available[group], share)
        remaining -= sizes[group]
    return sizes


def mini_batches(
    cells: NDArray[np.integer], batch_size: int, rng: np.random.RandomState
) -> Iterator[tuple[Integers, Array]]:
    """Yield mini-batches without end: positions of rows, and factors with mean 1.

    Every cell has the same number of rows in a batch, unless it has fewer in all.
    """
    # A gap estimated from few rows of a group is too large on average: a batch of 1,024
    # rows holds 26 of a group with 2.5 % of the rows, and two samples of these sizes
    # from one distribution have a gap of 0.17 on average. The factors undo the unequal
    # sampling: with them, means over a batch estimate means over all rows.
    n_samples = len(cells)
    if batch_size >= n_samples:
        everyone = np.arange(n_samples), np.ones(n_samples)
        while True:
            yield everyone
    found = np.unique(cells)
    if len(found) > batch_size:  # some cells would never be in a batch
        cells, found = np.zeros(n_samples, dtype=np.intp), found[:1] * 0
    members = [np.flatnonzero(cells == cell) for cell in found]
    available = np.array([len(rows) for rows in members])
    sizes = even_sizes(available, batch_size)
    draws = [_draws(rows, size, rng) for rows, size in zip(members, sizes, strict=True)]
    factors = np.repeat(available / n_samples * (batch_size / sizes), sizes)
    while True:
        yield np.concatenate([next(draw) for draw in draws]), factors


def _draws(rows: Integers, size: int, rng: np.random.RandomState) -> Iterator[Integers]:
    """Yield `size` rows at a time, in a random order; then in another, without end."""
    while True:
        shuffled = rng.permutation(rows)
        for start in range(0, len(rows) - size + 1, size):
            yield shuffled[start : start + size]
