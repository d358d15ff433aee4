"""What each level of repair costs in accuracy, and what it leaves of unfairness."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from sklearn.utils import check_random_state

from skfair.groups import Groups
from skfair.metrics import madd, mcdp
from skfair.postprocessing._repair_map import (
    Curve,
    Floats,
    curve_of,
    has_ties,
    height_reaching,
    heights_of,
    invert,
)
from skfair.postprocessing._scored_rows import ScoredRows
from skfair.statistics import GroupedScores

Loss = str | Callable[..., float]


def repair_objective(
    rows: ScoredRows,
    levels: Floats,
    *,
    theta: float,
    accuracy_loss: Loss,
    fairness: Loss,
    bandwidth: Any,
    threshold: float,
    ties: str,
    random_state: Any,
) -> pd.DataFrame:
    """Objective of the paper, equations 15 to 19, at each level.

    Parameters
    ----------
    rows : ScoredRows
    levels : ndarray of shape (n_levels,)
    theta : float in [0, 1]
        Weight of the fairness loss.
    accuracy_loss : {"zero_one", "log_loss"} or callable
    fairness : {"madd", "mcdp"} or callable
    bandwidth : float or "auto"
        Of MADD.
    threshold : float in [0, 1]
        Least score of a positive prediction, for the zero-one loss.
    ties : {"mid", "random"}
    random_state : int, RandomState instance or None

    Returns
    -------
    DataFrame of n_levels rows
        Columns level, total, accuracy_loss and fairness_loss.

    Raises
    ------
    ValueError
        If a loss is not finite.
    """
    statistic = rows.statistic()
    curves = [curve_of(statistic, group) for group in range(statistic.n_groups)]
    random = check_random_state(random_state) if ties == "random" else None
    ladder = Ladder(curves, curve_of(statistic, None), levels, random)
    losses = {
        "accuracy_loss": _accuracy_losses(rows, ladder, accuracy_loss, threshold),
        "fairness": _fairness_losses(rows, ladder, statistic, fairness, bandwidth),
    }
    for name, values in losses.items():
        if not np.isfinite(values).all():
            raise ValueError(
                f"{name} gives {values[~np.isfinite(values)][0]} on {len(rows.scores)} "
                f"rows of the groups {list(rows.groups.labels)}, expected a number."
            )
    accuracy, unfairness = losses.values()
    return pd.DataFrame(
        {
            "level": levels,
            "total": (1 - theta) * accuracy + theta * unfairness,
            "accuracy_loss": accuracy,
            "fairness_loss": unfairness,
        }
    )


class Ladder(NamedTuple):
    """CDFs of the groups and of everyone, and the levels of repair to look at.

    Ties are spread at random, or stay together if there is no random state.
    """

    curves: list[Curve]
    pooled: Curve
    levels: Floats
    random: np.random.RandomState | None


def _accuracy_losses(
    rows: ScoredRows, ladder: Ladder, loss: Loss, threshold: float
) -> Floats:
    """Compute the zero-one loss at once, anything else level by level."""
    if loss == "zero_one":
        return _error_rates(rows, ladder, threshold)
    measure: Any = log_loss if loss == "log_loss" else loss

    def on_repaired(scores: Floats) -> float:
        return float(measure(rows.y_true, scores, **rows.weighing()))

    return _level_by_level(rows, ladder, on_repaired)


def _fairness_losses(
    rows: ScoredRows,
    ladder: Ladder,
    statistic: GroupedScores,
    fairness: Loss,
    bandwidth: Any,
) -> Floats:
    """(1 - level) times the distance of the distributions, where that holds."""
    groups: Any = rows.groups
    scale: float = 1.0
    measure: Any = fairness
    if fairness == "madd":
        scale, measure = 0.5, partial(madd, bandwidth=bandwidth)
    elif fairness == "mcdp":
        measure = mcdp
    else:
        groups = _labels_of(rows.groups)
    splits_ties = ladder.random is not None
    if not callable(fairness) and (splits_ties or not has_ties(statistic)):
        return (1 - ladder.levels) * (scale * float(measure(None, statistic)))

    def on_repaired(scores: Floats) -> float:
        return scale * float(
            measure(rows.y_true, scores, sensitive_features=groups, **rows.weighing())
        )

    return _level_by_level(rows, ladder, on_repaired)


def _error_rates(rows: ScoredRows, ladder: Ladder, threshold: float) -> Floats:
    """Zero-one loss at all levels: two look-ups a group in its sorted scores.

    A repaired score reaches the threshold exactly where the height of the score in
    its group reaches that of the threshold in the repaired distribution.
    """
    errors = np.zeros(len(ladder.levels))
    weights = rows.sample_weight
    weights = np.ones(len(rows.scores)) if weights is None else weights
    for group, curve in enumerate(ladder.curves):
        least = height_reaching(curve, ladder.pooled, ladder.levels, threshold)
        for label in (0, 1):
            chosen = (rows.groups.codes == group) & (rows.y_true == label)
            order = np.argsort(rows.scores[chosen])
            scores = rows.scores[chosen][order]
            running = np.append(0, np.cumsum(weights[chosen][order]))
            below = _weight_below(curve, scores, running, least, ladder.random)
            errors += below if label else running[-1] - below
    return np.asarray(errors / weights.sum())


def _weight_below(
    curve: Curve,
    scores: Floats,
    running: Floats,
    least: Floats,
    random: np.random.RandomState | None,
) -> Floats:
    """Weight of the sorted scores below each height; expected, if ties are spread."""
    if random is None:
        knots = np.searchsorted(curve.middle, least)
        cuts = np.append(curve.scores, np.inf)[knots]
        return np.asarray(running[np.searchsorted(scores, cuts)])
    heights = np.stack([curve.low, curve.high], axis=1).ravel()
    sides = [np.searchsorted(scores, curve.scores, side) for side in ("left", "right")]
    # A row at the least height reaches it: look just below.
    return np.interp(
        np.nextafter(least, -1), heights, running[np.stack(sides, axis=1).ravel()]
    )


def _level_by_level(
    rows: ScoredRows, ladder: Ladder, loss: Callable[[Floats], float]
) -> Floats:
    """Loss of the scores repaired at each level."""
    order = np.lexsort((rows.scores, rows.groups.codes))
    members = np.split(order, np.cumsum(rows.groups.sizes())[:-1])
    heights = [
        heights_of(curve, rows.scores[chosen], ladder.random)
        for curve, chosen in zip(ladder.curves, members, strict=True)
    ]
    losses = []
    for level in ladder.levels:
        repaired = np.array(rows.scores)
        for curve, chosen, height in zip(ladder.curves, members, heights, strict=True):
            repaired[chosen] = invert(curve, ladder.pooled, level, height)
        losses.append(loss(np.clip(repaired, 0, 1) if level else rows.scores))
    return np.array(losses, dtype=np.float64)


def _labels_of(groups: Groups) -> NDArray[Any]:
    """Labels row by row, as callables of other libraries expect them."""
    labels = np.empty(len(groups.labels), dtype=object)
    for position, label in enumerate(groups.labels):
        labels[position] = label
    return np.asarray(labels[groups.codes])
