"""Accuracy and fairness losses of each level of repair, and the choice of a level."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import sem
from sklearn.metrics import log_loss
from sklearn.utils import check_random_state

from skfair.metrics import madd, mcdp
from skfair.model_selection._group_stratified_k_fold import stratified_splits
from skfair.postprocessing._held_out import ScoredRows, join_rows
from skfair.postprocessing._score_repairer import (
    Floats,
    LinearCDF,
    ScoreRepairer,
    row_counts,
    tied_shares,
)
from skfair.statistics import GroupedScores

Loss: TypeAlias = str | Callable[..., float]


class LossOptions(NamedTuple):
    """Parameters of `MADDPostProcessor` on which the losses depend."""

    theta: float
    accuracy_loss: Loss
    fairness: Loss
    bandwidth: Any
    threshold: float
    ties: Any
    random_state: Any


class LevelGrid(NamedTuple):
    """Rows, the CDFs of their groups and of everyone, and the levels to compare.

    Rows that share a score get heights at random, or one if there is no random state.
    """

    rows: ScoredRows
    statistic: GroupedScores
    cdfs: list[LinearCDF]
    pooled: LinearCDF
    levels: Floats
    random: np.random.RandomState | None


class LevelChoice(NamedTuple):
    """A level of repair, and the standard error of the least total loss."""

    level: float
    standard_error: float


def repair_losses(
    rows: ScoredRows, levels: Floats, options: LossOptions
) -> pd.DataFrame:
    """Losses of the paper at each level of repair, equations 15 to 19."""
    statistic = rows.statistic()
    cdfs = [LinearCDF.of(statistic, group) for group in range(statistic.n_groups)]
    pooled = LinearCDF.of(statistic, None)
    split = options.ties == "random"
    random = check_random_state(options.random_state) if split else None
    grid = LevelGrid(rows, statistic, cdfs, pooled, levels, random)
    accuracy = _accuracy_losses(grid, options)
    fairness = _fairness_losses(grid, options)
    for name, losses in {"accuracy_loss": accuracy, "fairness": fairness}.items():
        if not np.isfinite(losses).all():
            raise ValueError(
                f"{name} gives {losses[~np.isfinite(losses)][0]} on "
                f"{len(rows.scores)} rows of the groups {list(rows.groups.labels)}, "
                "expected a number."
            )
    return pd.DataFrame(
        {
            "repair_level": levels,
            "total_loss": (1 - options.theta) * accuracy + options.theta * fairness,
            "accuracy_loss": accuracy,
            "fairness_loss": fairness,
        }
    )


def choose_level(
    losses: pd.DataFrame, folds: list[ScoredRows], n_samples: int, options: LossOptions
) -> LevelChoice:
    """Least level whose total loss is within one standard error of the least one.

    It is the standard error of a mean over folds, or over parts of a single fold, of
    the total loss of their repaired scores; 0 if fewer than two of them have a loss.
    Each of the `n_samples` rows is in one fold or in several.
    """
    levels = losses["repair_level"].to_numpy()
    totals = losses["total_loss"].to_numpy()
    best = int(totals.argmin())
    rows = join_rows(folds)
    repairer = ScoreRepairer(
        levels[best], ties=options.ties, random_state=options.random_state
    )
    repaired = rows._replace(
        scores=repairer.fit_transform(rows.scores, **rows.keywords())
    )
    found = []
    for part in filter(_has_all, map(repaired.take, _parts(folds))):
        # A callable may need more rows than a part has; all rows gave a number.
        with suppress(ValueError):
            part_losses = repair_losses(part, np.zeros(1), options)
            found.append(part_losses["total_loss"].item())
    error = 0.0
    if len(found) > 1:
        # Repeated splits hold the same rows out again: they do not add rows.
        repeats = max(1, len(rows.scores) / n_samples)
        error = float(sem(found) * np.sqrt(repeats))
    return LevelChoice(float(levels[totals <= totals[best] + error][0]), error)


def _parts(folds: list[ScoredRows]) -> list[NDArray[np.intp]]:
    """Positions of the rows of each fold; a single fold is split in five parts."""
    if len(folds) == 1:
        y_true, codes = folds[0].y_true, folds[0].groups.codes
        return [part for _, part in stratified_splits(y_true, codes, 5, None)]
    ends = np.cumsum([len(fold.scores) for fold in folds])
    return np.split(np.arange(ends[-1]), ends[:-1])


def _has_all(rows: ScoredRows) -> bool:
    """Whether there are rows of every group and of both classes."""
    classes = np.bincount(rows.y_true, minlength=2)
    return bool(rows.groups.sizes().min() > 0 and classes.min() > 0)


def _accuracy_losses(grid: LevelGrid, options: LossOptions) -> Floats:
    """Zero-one loss of all levels at once, any other loss level by level."""
    if options.accuracy_loss == "zero_one":
        return _error_rates(grid, options.threshold)
    loss: Any = options.accuracy_loss
    if loss == "log_loss":
        loss = log_loss
    return _level_by_level(grid, loss, grid.rows.weighing())


def _fairness_losses(grid: LevelGrid, options: LossOptions) -> Floats:
    """(1 - level) times the loss without repair, or level by level with many ties."""
    metric: Any = options.fairness
    scale = 1.0
    keywords = grid.rows.keywords()
    if metric == "madd":
        metric, scale = partial(madd, bandwidth=options.bandwidth), 0.5
    elif metric == "mcdp":
        metric = mcdp
    else:
        # Callables of other libraries expect one label for each row.
        groups = grid.rows.groups
        labels = pd.Series(list(groups.labels), dtype=object).to_numpy()
        keywords["sensitive_features"] = labels[groups.codes]
    tied = grid.random is None and _has_ties(grid.statistic)
    if not callable(options.fairness) and not tied:
        return (1 - grid.levels) * (scale * float(metric(None, grid.statistic)))
    return scale * _level_by_level(grid, metric, keywords)


def _has_ties(statistic: GroupedScores) -> bool:
    """Whether more rows of a group share a score than sampling noise can hide.

    Such ties displace the group's CDF by their share of its n rows, sampling by about
    ``1 / sqrt(n)``.
    """
    limits = 1 / np.sqrt(np.maximum(row_counts(statistic), 1))
    return bool((tied_shares(statistic) > limits[statistic.codes]).any())


def _error_rates(grid: LevelGrid, threshold: float) -> Floats:
    """Zero-one loss of all levels: two look-ups a group in its sorted scores.

    A repaired score reaches the threshold exactly where the height of the score in
    its group reaches that of the threshold in the repaired distribution.
    """
    rows = grid.rows
    errors = np.zeros(len(grid.levels))
    weights = rows.sample_weight
    weights = np.ones(len(rows.scores)) if weights is None else weights
    pooled_height = grid.pooled.below(threshold)
    for group, cdf in enumerate(grid.cdfs):
        height = cdf.below(threshold)
        least = (1 - grid.levels) * height + grid.levels * pooled_height
        for positive in (0, 1):
            chosen = (rows.groups.codes == group) & (rows.y_true == positive)
            order = np.argsort(rows.scores[chosen])
            scores = rows.scores[chosen][order]
            running = np.append(0, np.cumsum(weights[chosen][order]))
            below = _weight_below(cdf, scores, running, least, grid.random is not None)
            errors += below if positive else running[-1] - below
    return np.asarray(errors / weights.sum())


def _weight_below(
    cdf: LinearCDF, scores: Floats, running: Floats, least: Floats, splits_ties: bool
) -> Floats:
    """Weight of the sorted scores below each height; expected, if ties are split."""
    if not splits_ties:
        knots = np.searchsorted(cdf.middle, least)
        cuts = np.append(cdf.scores, np.inf)[knots]
        return np.asarray(running[np.searchsorted(scores, cuts)])
    sides = [np.searchsorted(scores, cdf.scores, side) for side in ("left", "right")]
    # A row at the least height reaches it, so the weight just below counts.
    at_ends = running[np.stack(sides, axis=1).ravel()]
    return np.interp(np.nextafter(least, -1), cdf.ends, at_ends)


def _level_by_level(
    grid: LevelGrid, loss: Callable[..., float], keywords: dict[str, Any]
) -> Floats:
    """Loss of the scores repaired at each level."""
    rows = grid.rows
    order = np.lexsort((rows.scores, rows.groups.codes))
    members = np.split(order, np.cumsum(rows.groups.sizes())[:-1])
    heights = [
        cdf.heights_of(rows.scores[chosen], grid.random)
        for cdf, chosen in zip(grid.cdfs, members, strict=True)
    ]
    losses = []
    for level in grid.levels:
        repaired = np.array(rows.scores)
        for cdf, chosen, height in zip(grid.cdfs, members, heights, strict=True):
            repaired[chosen] = cdf.invert_mixture(grid.pooled, level, height)
        repaired = np.clip(repaired, 0, 1) if level else rows.scores
        losses.append(float(loss(rows.y_true, repaired, **keywords)))
    return np.array(losses)
