"""Rounds of fitting and reweighting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from skfair.inprocessing._label_weights import (
    Form,
    single_label_weights,
    two_label_weights,
)
from skfair.inprocessing._penalised_loss import Judgement, PenalisedLoss, inside
from skfair.inprocessing._smooth_gap import Array
from skfair.inprocessing._training_rows import TrainingRows, hold_out
from skfair.inprocessing._weighted_fits import WeightedFits

#: Share of a round's own pushes in the mean of pushes, which must not lag behind.
_LEAST_SHARE = 0.3


@dataclass(frozen=True)
class Schedule:
    """How rounds are made, see the parameters of `MCDPReweighter`."""

    form: Form
    averaging: bool
    max_iter: int
    tol: float
    verbose: bool


class ScoredPart(NamedTuple):
    """Rows with what is needed to fit them or to score them."""

    fits: WeightedFits
    rows: TrainingRows


def split_rows(
    part: ScoredPart, validation_fraction: float, random_state: Any
) -> tuple[ScoredPart, ScoredPart]:
    """Hold out some of the rows that have weight.

    Parameters
    ----------
    part : ScoredPart
    validation_fraction : float
    random_state : int, RandomState instance or None

    Returns
    -------
    train, held_out : ScoredPart

    Raises
    ------
    ValueError
        If either would have too few rows, or fewer than two groups.
    """
    weighing = part.rows.take(np.flatnonzero(part.rows.weights))
    rng = check_random_state(random_state)
    train, held_out = hold_out(weighing, validation_fraction, rng)
    for rows in (train, held_out):
        n_groups = len(np.unique(rows.codes[rows.codes >= 0]))
        if n_groups < 2:
            raise ValueError(
                f"validation_fraction={validation_fraction!r} of {len(weighing.y)} "
                f"rows leaves {n_groups} group to train on or to hold out, expected "
                "two."
            )
    return (
        ScoredPart(part.fits.take(train.X), train),
        ScoredPart(part.fits.take(held_out.X), held_out),
    )


class Reweighted(NamedTuple):
    """The model that is kept, the weights it was fitted with, and all rounds."""

    estimator: Any
    weights: Array
    history: pd.DataFrame


class Round(NamedTuple):
    """A model, the weights it was fitted with, and what becomes of the loss."""

    number: int
    estimator: Any
    weights: Array
    loss: PenalisedLoss
    judged: Judgement


def reweight(
    train: ScoredPart,
    held_out: ScoredPart | None,
    loss: PenalisedLoss,
    schedule: Schedule,
) -> Reweighted:
    """Fit plainly, then reweight and fit again, round after round.

    Parameters
    ----------
    train : ScoredPart
    held_out : ScoredPart or None
        Rows whose objective chooses the round; None keeps the last.
    loss : PenalisedLoss
        Not yet spread over scores.
    schedule : Schedule

    Returns
    -------
    Reweighted
        Its weights are of shape (n_samples, 2), by label.

    Raises
    ------
    ValueError
        On scores that are NaN or infinite.
    """
    records: list[dict[str, Any]] = []
    best = math.inf
    for found in _rounds(train, loss, schedule):
        record = {"round": found.number, **_columns(found.judged)}
        objective = -math.inf
        if held_out is not None:
            scores = held_out.fits.scores(found.estimator, found.number)
            judged = found.loss.judge(scores, held_out.rows)
            record |= _columns(judged, "validation_")
            objective = judged.objective
        records.append(record)
        if schedule.verbose:
            _report(record)
        if held_out is None or objective < best:
            kept, best = found, objective
    history = pd.DataFrame(records)
    history["kept"] = history["round"] == kept.number
    return Reweighted(kept.estimator, kept.weights, history)


def _rounds(
    train: ScoredPart, loss: PenalisedLoss, schedule: Schedule
) -> Iterator[Round]:
    """Go on until scores hardly change; round 0 is the plain fit."""
    fits, rows = train
    weights = np.column_stack([1 - rows.y, rows.y])
    estimator = fits.plain()
    scores = fits.scores(estimator, 0)
    loss = loss.spread_over(scores, rows.weights)
    judged = loss.judge(scores, rows)
    yield Round(0, estimator, weights, loss, judged)
    weigh = two_label_weights if schedule.form == "two_label" else single_label_weights
    push = np.zeros(len(rows.y))
    for number in range(1, schedule.max_iter):
        # Weights are the mean of all rounds, in which the k-th counts k. Pushes that
        # change sign from round to round, as they do once the gap is closed, must
        # cancel before they become weights, which are positive for either sign.
        share = 2 / (number + 1) if schedule.averaging else 1.0
        push += max(share, _LEAST_SHARE) * (judged.push - push)
        latest = weigh(rows.y, inside(scores), push)
        weights = weights + share * (latest - weights)
        estimator = fits.reweighted(weights, schedule.form)
        last, scores = scores, fits.scores(estimator, number)
        judged = loss.judge(scores, rows)
        yield Round(number, estimator, weights, loss, judged)
        if np.average(np.abs(scores - last), weights=rows.weights) <= schedule.tol:
            return


def _columns(judged: Judgement, prefix: str = "") -> dict[str, float]:
    names = ("loss", "gap", "threshold", "objective")
    return {prefix + name: getattr(judged, name) for name in names}


def _report(record: dict[str, Any]) -> None:
    number = record["round"]
    shown = [f"{name} {value:.4f}" for name, value in record.items() if name != "round"]
    print(f"[MCDPReweighter] round {number}: {', '.join(shown)}", flush=True)
