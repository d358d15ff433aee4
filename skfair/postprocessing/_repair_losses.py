"""Accuracy and fairness losses of each level of repair, and the choice of a level."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import sem
from sklearn.metrics import log_loss
from sklearn.utils import check_random_state

from skfair._utils._types import Floats
from skfair.groups import Groups
from skfair.metrics import madd, mcdp
from skfair.model_selection._group_stratified_k_fold import stratified_splits
from skfair.postprocessing._held_out import ScoredRows, join_rows
from skfair.postprocessing._linear_cdf import (
    Band,
    GroupCDFs,
    LinearCDF,
    Mixture,
    Path,
    has_ties,
    lowest_of_band,
    repaired_at,
    sampling_noise,
)
from skfair.postprocessing._score_repairer import ScoreRepairer
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


class RepairGrid(NamedTuple):
    """Rows, the CDFs of their groups and of everyone, and the repairs to compare.

    `amounts` are levels, or the largest gaps allowed. Rows that share a score get
    heights at random, or one if there is no random state.
    """

    rows: ScoredRows
    statistic: GroupedScores
    groups: GroupCDFs
    amounts: Floats
    are_gaps: bool
    random: np.random.RandomState | None


class LevelChoice(NamedTuple):
    """A level of repair, and the standard error of the least total loss."""

    level: float
    standard_error: float


def repair_losses(
    rows: ScoredRows,
    levels: Floats,
    options: LossOptions,
    differing: NDArray[np.bool_] | None = None,
) -> pd.DataFrame:
    """Losses of the paper at each level of repair, equations 15 to 19.

    `differing` says which groups the fairness loss compares, by default those whose
    difference from the others is no sampling noise.
    """
    grid = _grid(rows, options)._replace(amounts=levels)
    return _losses(grid, options, differing).rename(columns={"amount": "repair_level"})


def gap_losses(rows: ScoredRows, n_gaps: int, options: LossOptions) -> pd.DataFrame:
    """Losses of repair to a largest gap, from 0 to the gap without repair."""
    grid = _grid(rows, options)
    gaps = np.linspace(0, grid.groups.largest_gap(), n_gaps)
    grid = grid._replace(amounts=gaps, are_gaps=True)
    return _losses(grid, options, None).rename(columns={"amount": "max_gap"})


def _grid(rows: ScoredRows, options: LossOptions) -> RepairGrid:
    """Distributions of the rows, still without amounts of repair."""
    statistic = rows.statistic()
    split = options.ties == "random"
    random = check_random_state(options.random_state) if split else None
    groups = GroupCDFs.of(statistic)
    return RepairGrid(rows, statistic, groups, np.zeros(0), False, random)


def _losses(
    grid: RepairGrid, options: LossOptions, differing: NDArray[np.bool_] | None
) -> pd.DataFrame:
    """Losses of each amount of repair."""
    if differing is None:
        differing = _differing(grid.rows, grid.groups)
    accuracy = _accuracy_losses(grid, options)
    fairness = _fairness_losses(grid, options, differing)
    for name, losses in {"accuracy_loss": accuracy, "fairness": fairness}.items():
        if not np.isfinite(losses).all():
            raise ValueError(
                f"{name} gives {losses[~np.isfinite(losses)][0]} on "
                f"{len(grid.rows.scores)} rows of the groups "
                f"{list(grid.rows.groups.labels)}, expected a number."
            )
    return pd.DataFrame(
        {
            "amount": grid.amounts,
            "total_loss": (1 - options.theta) * accuracy + options.theta * fairness,
            "accuracy_loss": accuracy,
            "fairness_loss": fairness,
        }
    )


def differing_groups(rows: ScoredRows) -> NDArray[np.bool_]:
    """Whether the scores of each group differ from all others' beyond sampling noise.

    By the bound of Dvoretzky, Kiefer, Wolfowitz and Massart at 95 %, for all groups at
    once.
    """
    return _differing(rows, GroupCDFs.of(rows.statistic()))


def _differing(rows: ScoredRows, groups: GroupCDFs) -> NDArray[np.bool_]:
    """Find the groups that differ among those whose CDFs are given."""
    weights = (
        np.ones(len(rows.scores))
        if rows.sample_weight is None
        else (rows.sample_weight.astype(float))
    )
    sums, squares = (
        np.bincount(rows.groups.codes, values, len(groups.cdfs))
        for values in (weights, weights**2)
    )
    own_rows = sums**2 / squares
    other_rows = (sums.sum() - sums) ** 2 / np.maximum(squares.sum() - squares, 1e-300)
    # With two groups both tests are the same.
    n_tests = 1 if len(groups.cdfs) == 2 else len(groups.cdfs)
    noise = sampling_noise(own_rows, other_rows, n_tests)
    return np.asarray(groups.distances() > (1 - groups.shares) * noise)


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
    differing = differing_groups(rows)
    repairer = ScoreRepairer(
        levels[best], ties=options.ties, random_state=options.random_state
    )
    repaired = rows._replace(
        scores=repairer.fit_transform(rows.scores, **rows.keywords())
    )
    found = []
    for part in filter(_has_all, map(repaired.take, parts_of(folds))):
        # A callable may need more rows than a part has; all rows gave a number.
        with suppress(ValueError):
            part_losses = repair_losses(part, np.zeros(1), options, differing)
            found.append(part_losses["total_loss"].item())
    error = 0.0
    if len(found) > 1:
        # Repeated splits hold the same rows out again: they do not add rows.
        repeats = max(1, len(rows.scores) / n_samples)
        error = float(sem(found) * np.sqrt(repeats))
    return LevelChoice(float(levels[totals <= totals[best] + error][0]), error)


def parts_of(folds: list[ScoredRows]) -> list[NDArray[np.intp]]:
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


def _accuracy_losses(grid: RepairGrid, options: LossOptions) -> Floats:
    """Zero-one loss of all levels at once, any other loss level by level."""
    if options.accuracy_loss == "zero_one":
        return _error_rates(grid, options.threshold)
    loss: Any = options.accuracy_loss
    if loss == "log_loss":
        loss = log_loss
    return _one_by_one(grid, loss, grid.rows.weighing())


def _fairness_losses(
    grid: RepairGrid, options: LossOptions, differing: NDArray[np.bool_]
) -> Floats:
    """Loss of a callable; else the loss without repair times the MCDP that is left."""
    if callable(options.fairness):
        # Callables of other libraries expect one label for each row.
        groups, keywords = grid.rows.groups, grid.rows.weighing()
        labels = pd.Series(list(groups.labels), dtype=object).to_numpy()
        keywords["sensitive_features"] = labels[groups.codes]
        return _one_by_one(grid, options.fairness, keywords)
    compared = _compared_groups(grid.rows.groups, differing)
    if compared is None:
        return np.zeros(len(grid.amounts))
    chosen = compared.codes >= 0
    rows = grid.rows._replace(groups=compared).take(chosen)
    plain = loss = float(mcdp(None, rows.statistic()))
    if options.fairness == "madd":
        loss = float(madd(None, rows.statistic(), bandwidth=options.bandwidth)) / 2
    if grid.random is None and has_ties(grid.statistic):

        def gap(y_true: NDArray[Any], y_score: Floats) -> float:
            return float(mcdp(None, y_score[chosen], **rows.keywords()))

        left = _one_by_one(grid, gap, {})
    elif grid.are_gaps:
        left = np.minimum(grid.amounts, plain)
    else:
        left = (1 - grid.amounts) * plain
    return np.asarray(loss * left / plain if plain else np.zeros(len(left)))


def _compared_groups(groups: Groups, differing: NDArray[np.bool_]) -> Groups | None:
    """Keep the groups that differ; compare a single one with all others together.

    Rows that are not compared have the code -1. None if no group differs.
    """
    if not differing.any():
        return None
    kept = np.flatnonzero(differing)
    labels = tuple(groups.labels[group] for group in kept)
    codes = np.full(len(differing), -1 if len(kept) > 1 else 1)
    codes[kept] = np.arange(len(kept))
    if len(kept) == 1:
        labels = (*labels, ("all others",))
    return replace(groups, labels=labels, codes=codes[groups.codes])


def _error_rates(grid: RepairGrid, threshold: float) -> Floats:
    """Zero-one loss of all levels: two look-ups a group in its sorted scores.

    A repaired score reaches the threshold exactly where the height of the score in
    its group reaches that of the threshold in the repaired distribution.
    """
    rows = grid.rows
    errors = np.zeros(len(grid.amounts))
    weights = rows.sample_weight
    weights = np.ones(len(rows.scores)) if weights is None else weights
    for group, (cdf, least) in enumerate(
        zip(grid.groups.cdfs, _targets_at(grid, threshold), strict=True)
    ):
        for positive in (0, 1):
            chosen = (rows.groups.codes == group) & (rows.y_true == positive)
            order = np.argsort(rows.scores[chosen])
            scores = rows.scores[chosen][order]
            running = np.append(0, np.cumsum(weights[chosen][order]))
            below = _weight_below(cdf, scores, running, least, grid.random is not None)
            errors += below if positive else running[-1] - below
    return np.asarray(errors / weights.sum())


def _targets_at(grid: RepairGrid, threshold: float) -> list[Floats]:
    """Height of each group's target just below the threshold, at each amount.

    Targets are linear between the knots of the CDF of everyone.
    """
    pooled = grid.groups.pooled
    knot = int(np.searchsorted(pooled.scores, threshold))
    right = pooled.scores[knot]
    left = pooled.scores[knot - 1] if right > threshold else 0.0
    share = (threshold - left) / (right - left) if right > threshold else 1.0
    found = np.zeros((len(grid.groups.cdfs), len(grid.amounts)))
    for end, part in ((2 * knot - 1, 1 - share), (2 * knot, share)):
        if not part:
            continue
        heights = np.array([every[end] for every in grid.groups.heights()])
        path = _path_at_knot(grid, heights, pooled.ends[end])
        found += part * np.stack(
            [path.target(height, group) for group, height in enumerate(heights)]
        )
    return list(found)


def _path_at_knot(grid: RepairGrid, heights: Floats, pooled: float) -> Path:
    """All amounts of repair at one knot, where the groups' CDFs have `heights`."""
    if not grid.are_gaps:
        return Mixture(grid.amounts, pooled)
    margins = grid.groups.margins()
    narrowed = np.minimum(margins[:, None], grid.amounts / 2)
    every = np.repeat(heights[:, None], len(grid.amounts), axis=1)
    lowest = lowest_of_band(every, grid.groups.shares, narrowed, grid.amounts)
    return Band(lowest, grid.amounts, margins)


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


def _one_by_one(
    grid: RepairGrid, loss: Callable[..., float], keywords: dict[str, Any]
) -> Floats:
    """Loss of the scores repaired by each amount."""
    rows = grid.rows
    order = np.lexsort((rows.scores, rows.groups.codes))
    members = np.split(order, np.cumsum(rows.groups.sizes())[:-1])
    heights = [
        cdf.heights_of(rows.scores[chosen], grid.random)
        for cdf, chosen in zip(grid.groups.cdfs, members, strict=True)
    ]
    losses = []
    for amount in grid.amounts:
        path = _path(grid, amount)
        repaired = np.array(rows.scores)
        for group, chosen in enumerate(members):
            repaired[chosen] = repaired_at(grid.groups, path, group, heights[group])
        repaired = np.clip(repaired, 0, 1) if path.moves else rows.scores
        losses.append(float(loss(rows.y_true, repaired, **keywords)))
    return np.array(losses)


def _path(grid: RepairGrid, amount: float) -> Path:
    """One amount of repair at all knots."""
    if grid.are_gaps:
        return Band.within(grid.groups, amount)
    return Mixture(amount, grid.groups.pooled.ends)
