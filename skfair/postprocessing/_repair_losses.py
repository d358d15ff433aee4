"""Accuracy and fairness losses of each level of repair, and the choice of a level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import sem
from sklearn.metrics import log_loss
from sklearn.utils import check_random_state

from skfair._mitigation import groups_to_compare, within_strata
from skfair._training_rows import TrainingRows, units_of
from skfair._utils._arithmetic import quotients
from skfair._utils._types import Floats
from skfair.groups import rows_by_code
from skfair.metrics import madd, mcdp
from skfair.metrics._confidence._noise import supremum_quantile
from skfair.model_selection._group_stratified_k_fold import assign_folds
from skfair.postprocessing._held_out import tenths_of
from skfair.postprocessing._linear_cdf import (
    MEAN_NOISE,
    GroupCDFs,
    Limit,
    LinearCDF,
    Mixture,
    Path,
    TargetBand,
    distributions,
    has_ties,
    repaired_at,
    takes_smooth,
)
from skfair.statistics import GroupedScores

Loss: TypeAlias = str | Callable[..., float]

#: Parts of the rows that one model scored, over which a standard error is computed.
_N_PARTS = 5
#: Squares of the mean noise over that of a gap: the share that a chosen level leaves.
#: With 1 to 1.5 new rows have the least gap in the mean, with 1.5 they less often have
#: a larger one than without repair, and with 2 less of large gaps is repaired.
_SQUARES_LEFT = 1.5


class LossOptions(NamedTuple):
    """Parameters of `MADDPostProcessor` on which the losses depend."""

    theta: float
    accuracy_loss: Loss
    fairness: Loss
    bandwidth: Any
    threshold: float
    ties: Any
    random_state: Any
    max_mcdp: float | None = None
    confidence: float | None = None


class RepairGrid(NamedTuple):
    """Rows, the CDFs of their groups and of everyone, and the repairs to compare.

    `members` are the positions of each group's rows in the order of their scores,
    `differing` says which groups the fairness loss compares, and `amounts` are levels,
    or the largest gaps allowed. Rows that share a score get heights at random, or one
    if there is no random state. The rows are those at some `positions`; distributions
    and fairness are those of the `measured` ones among them, of all if that is None.
    """

    rows: TrainingRows
    statistic: GroupedScores
    groups: GroupCDFs
    members: list[NDArray[np.intp]]
    differing: NDArray[np.bool_]
    random: np.random.RandomState | None
    amounts: Floats
    are_gaps: bool
    positions: Any = slice(None)
    measured: NDArray[np.intp] | None = None

    @classmethod
    def of(
        cls,
        rows: TrainingRows,
        options: LossOptions,
        positions: Any = slice(None),
        measured: NDArray[np.intp] | None = None,
    ) -> Self:
        """Return the distributions of rows, without amounts of repair."""
        learning = rows if measured is None else rows.take(measured)
        statistic = distributions(learning)
        groups = GroupCDFs.of(
            statistic,
            smooth=takes_smooth(options.max_mcdp, options.confidence),
        )
        members = rows_by_code(rows.groups.codes, len(rows.groups.labels))
        members = [part[np.argsort(rows.scores[part])] for part in members]
        split = options.ties == "random"
        random = check_random_state(options.random_state) if split else None
        return cls(
            rows,
            statistic,
            groups,
            members,
            _differing(learning, groups),
            random,
            np.zeros(0),
            False,
            positions,
            measured,
        )

    @classmethod
    def by_stratum(cls, rows: TrainingRows, options: LossOptions) -> list[Self]:
        """Return a grid of each stratum that has two groups, one without strata.

        A single stratum is where the maps of all rows are learnt and measured.
        """
        groups, strata = within_strata(
            rows.groups, rows.strata, rows.sample_weight, warn=False
        )
        if strata is None or rows.strata is None:
            return [cls.of(rows, options)]
        single, rows = len(rows.strata.labels) == 1, replace(rows, groups=groups)
        if single:
            positions = np.flatnonzero(groups.codes >= 0)
            measured = np.flatnonzero(strata.codes[positions] >= 0)
            return [cls.of(rows.take(positions), options, positions, measured)]
        grids = []
        for positions in rows_by_code(np.where(groups.codes < 0, -1, strata.codes)):
            part = rows.take(positions)
            part = replace(part, groups=groups_to_compare(part.groups))
            grids.append(cls.of(part, options, positions))
        return grids

    def fair_rows(self, scores: Floats) -> TrainingRows:
        """Return the rows on which fairness is measured, with some scores."""
        rows = replace(self.rows, scores=scores)
        return rows if self.measured is None else rows.take(self.measured)

    def largest_level(self) -> float:
        """Level beyond which a repair fits noise of the rows.

        Where noise is m in the mean, a gap D of the rows is about ``sqrt(D**2 - m**2)``
        in new rows. A repair leaves ``1 - level`` times that, and adds the level times
        m, so that ``(1 - level)**2 * (D**2 - m**2) + level**2 * m**2`` is the square of
        the gap of new rows. It is least at the level ``1 - (m / D)**2``.
        """
        rows = self.fair_rows(self.rows.scores)
        noise = MEAN_NOISE * _spreads(rows, self.groups)
        shares = noise / np.maximum(self.groups.distances(), 1e-300)
        return float(max(0.0, 1 - _SQUARES_LEFT * shares.min() ** 2))


def repair_losses(
    grids: list[RepairGrid], levels: Floats, options: LossOptions
) -> pd.DataFrame:
    """Losses of the paper at each level of repair, equations 15 to 19.

    Of several strata it is the mean by weight.
    """
    grids = [grid._replace(amounts=levels) for grid in grids]
    return _mean_losses(grids, options).rename(columns={"amount": "repair_level"})


def gap_losses(
    grids: list[RepairGrid], n_gaps: int, options: LossOptions
) -> pd.DataFrame:
    """Losses of repair to a largest gap, from 0 to the gap without repair."""
    largest = max(grid.groups.largest_gap() for grid in grids)
    gaps = np.linspace(0, largest, n_gaps)
    grids = [grid._replace(amounts=gaps, are_gaps=True) for grid in grids]
    return _mean_losses(grids, options).rename(columns={"amount": "max_mcdp"})


def _mean_losses(grids: list[RepairGrid], options: LossOptions) -> pd.DataFrame:
    """Mean losses of strata, by weight."""
    if len(grids) == 1:
        return _losses(grids[0], options)
    shares = _shares(grids)
    losses = [
        share * _losses(grid, options)
        for share, grid in zip(shares, grids, strict=True)
    ]
    return sum(losses[1:], losses[0]).assign(amount=grids[0].amounts)


def _shares(grids: list[RepairGrid]) -> Floats:
    """Share of each stratum in the weight of all."""
    weights = np.array([grid.rows.weights.sum() for grid in grids])
    return np.asarray(weights / weights.sum())


def _losses(grid: RepairGrid, options: LossOptions) -> pd.DataFrame:
    """Losses of each amount of repair."""
    accuracy = _accuracy_losses(grid, options)
    fairness = _fairness_losses(grid, options)
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


def _differing(rows: TrainingRows, groups: GroupCDFs) -> NDArray[np.bool_]:
    """Whether the scores of each group differ from all others' beyond sampling noise.

    By the bound of Dvoretzky, Kiefer, Wolfowitz and Massart at 95 %, for all groups at
    once.
    """
    # With two groups both tests are the same.
    n_tests = 1 if len(groups.cdfs) == 2 else len(groups.cdfs)
    noise = supremum_quantile(0.05 / n_tests) * _spreads(rows, groups)
    return np.asarray(groups.distances() > noise)


def _spreads(rows: TrainingRows, groups: GroupCDFs) -> Floats:
    """Noise of each group's distance from everyone, in units of a Brownian bridge."""
    sums, squares = (
        np.bincount(rows.codes, values, len(groups.cdfs))
        for values in (rows.weights, rows.weights * units_of(rows.weights))
    )
    own_rows = sums**2 / squares
    other_rows = (sums.sum() - sums) ** 2 / np.maximum(squares.sum() - squares, 1e-300)
    return np.asarray((1 - groups.shares) * np.sqrt(1 / own_rows + 1 / other_rows))


def choose_level(
    losses: pd.DataFrame,
    grids: list[RepairGrid],
    parts: list[NDArray[np.intp]],
    n_samples: int,
    options: LossOptions,
) -> tuple[float, float]:
    """Least level whose total loss is within one standard error of the least one.

    It is at most the level next to that beyond which a repair fits noise. The second
    number is that standard error, of a mean over parts of the rows of the total loss of
    their repaired scores; 0 if fewer than two parts have a loss. Each of the
    `n_samples` rows is in one part or in several. Strata are independent.
    """
    levels = losses["repair_level"].to_numpy()
    totals = losses["total_loss"].to_numpy()
    best = int(totals.argmin())
    n_rows = sum(len(part) for part in parts)
    # Repeated splits hold the same rows out again: they do not add rows.
    repeats = max(1, n_rows / n_samples)
    errors = [
        _standard_error(
            grid._replace(amounts=levels[best : best + 1]), parts, n_rows, options
        )
        for grid in grids
    ]
    error = float(np.linalg.norm(_shares(grids) * errors) * np.sqrt(repeats))
    level = levels[totals <= totals[best] + error][0]
    largest = max(grid.largest_level() for grid in grids)
    return float(min(level, levels[np.abs(levels - largest).argmin()])), error


def _standard_error(
    grid: RepairGrid,
    parts: list[NDArray[np.intp]],
    n_rows: int,
    options: LossOptions,
) -> float:
    """Find the standard error of the mean loss, over parts of all rows."""
    rows = replace(grid.rows, scores=next(_repaired(grid)))
    places = np.full(n_rows, -1)
    places[grid.positions] = np.arange(len(rows.scores))
    measured = np.full(len(rows.scores), grid.measured is None)
    if grid.measured is not None:
        measured[grid.measured] = True
    found = []
    for part in parts:
        chosen = places[part][places[part] >= 0]
        own, fair = rows.take(chosen), rows.take(chosen[measured[chosen]])
        rows_by_class = np.bincount(own.y, minlength=2)
        if not (rows_by_class.all() and fair.groups.sizes().all()):
            continue
        # A callable may need more rows than a part has; all rows gave a number.
        with suppress(ValueError):
            loss = _loss_without_repair(own, fair, grid.differing, options)
            found += [loss] if np.isfinite(loss) else []
    return float(sem(found)) if len(found) > 1 else 0.0


def parts_of(folds: list[TrainingRows]) -> list[NDArray[np.intp]]:
    """Positions of the rows of each fold; a single fold is split in five parts."""
    if len(folds) == 1:
        y, codes = folds[0].y, folds[0].groups.codes
        classes = tenths_of(y) if y.dtype.kind == "f" else y
        parts = assign_folds(classes, codes, _N_PARTS, None)
        return [np.flatnonzero(parts == part) for part in range(_N_PARTS)]
    ends = np.cumsum([len(fold.scores) for fold in folds])
    return np.split(np.arange(ends[-1]), ends[:-1])


def _loss_without_repair(
    rows: TrainingRows,
    fair_rows: TrainingRows,
    differing: NDArray[np.bool_],
    options: LossOptions,
) -> float:
    """Total loss of scores as they are; fairness is that of some of the rows."""
    if options.accuracy_loss == "zero_one":
        wrong = (rows.scores >= options.threshold) != rows.y
        accuracy = float(np.average(wrong, weights=rows.sample_weight))
    else:
        loss = _accuracy_loss(options)
        accuracy = loss(rows.y, rows.scores, **_weight_keywords(rows))
    if callable(options.fairness):
        fairness = options.fairness(
            fair_rows.y, fair_rows.scores, **_labelled(fair_rows)
        )
    else:
        compared = rows_compared(fair_rows, differing)
        statistic = distributions(compared) if differing.any() else None
        fairness = 0.0 if statistic is None else _fairness_loss(statistic, options)
    return float((1 - options.theta) * accuracy + options.theta * fairness)


def _accuracy_losses(grid: RepairGrid, options: LossOptions) -> Floats:
    """Zero-one loss of all levels at once, any other loss level by level."""
    if options.accuracy_loss == "zero_one":
        return _error_rates(grid, options.threshold)
    loss, rows = _accuracy_loss(options), grid.rows
    return _one_by_one(grid, lambda s: loss(rows.y, s, **_weight_keywords(rows)))


def _weight_keywords(rows: TrainingRows) -> dict[str, Any]:
    """Keyword of the weights for a metric, none without weights."""
    if rows.sample_weight is None:
        return {}
    return {"sample_weight": rows.sample_weight}


def _accuracy_loss(options: LossOptions) -> Callable[..., float]:
    """Loss of labels and scores, other than the zero-one loss."""
    loss = options.accuracy_loss
    return loss if callable(loss) else log_loss


def _fairness_losses(grid: RepairGrid, options: LossOptions) -> Floats:
    """Loss of a callable; else the loss without repair times the MCDP that is left."""
    fairness = options.fairness
    if callable(fairness):
        fair = grid.fair_rows(grid.rows.scores)
        labelled = _labelled(fair)

        def loss_of(scores: Floats) -> float:
            return fairness(fair.y, grid.fair_rows(scores).scores, **labelled)

        return _one_by_one(grid, loss_of)
    if not grid.differing.any():
        return np.zeros(len(grid.amounts))
    statistic = grid.statistic
    if not grid.differing.all():
        rows = grid.fair_rows(grid.rows.scores)
        statistic = distributions(rows_compared(rows, grid.differing))
    loss = _fairness_loss(statistic, options)
    tied = grid.random is None and has_ties(grid.statistic)
    if not (tied or grid.are_gaps):
        return np.asarray(loss * (1 - grid.amounts))
    plain = float(mcdp(None, statistic))
    left = np.minimum(grid.amounts, plain)
    if tied:

        def gap(scores: Floats) -> float:
            compared = rows_compared(grid.fair_rows(scores), grid.differing)
            return float(mcdp(None, distributions(compared)))

        left = _one_by_one(grid, gap)
    return np.asarray(loss * left / plain if plain else np.zeros(len(left)))


def _fairness_loss(statistic: GroupedScores, options: LossOptions) -> float:
    """Fairness loss of the groups compared, other than a callable."""
    if options.fairness == "mcdp":
        return float(mcdp(None, statistic))
    return float(madd(None, statistic, bandwidth=options.bandwidth)) / 2


def _labelled(rows: TrainingRows) -> dict[str, Any]:
    """Keywords for callables of other libraries, which expect a label by row."""
    labels = pd.Series(list(rows.groups.labels), dtype=object).to_numpy()
    return {**_weight_keywords(rows), "sensitive_features": labels[rows.groups.codes]}


def rows_compared(rows: TrainingRows, differing: NDArray[np.bool_]) -> TrainingRows:
    """Keep the rows of groups that differ; of a single one also all others together."""
    kept = np.flatnonzero(differing)
    labels = tuple(rows.groups.labels[group] for group in kept)
    codes = np.full(len(differing), -1 if len(kept) > 1 else 1)
    codes[kept] = np.arange(len(kept))
    if len(kept) == 1:
        labels = (*labels, ("all others",))
    groups = replace(rows.groups, labels=labels, codes=codes[rows.groups.codes])
    return replace(rows, groups=groups).take(groups.codes >= 0)


def _error_rates(grid: RepairGrid, threshold: float) -> Floats:
    """Zero-one loss of all levels, by two look-ups in the sorted scores of each group.

    A repaired score reaches the threshold exactly where the height of the score in
    its group reaches that of the threshold in the repaired distribution.
    """
    rows = grid.rows
    errors = np.zeros(len(grid.amounts))
    weights = rows.weights
    for members, cdf, least in zip(
        grid.members, grid.groups.cdfs, _targets_at(grid, threshold), strict=True
    ):
        for positive in (0, 1):
            chosen = members[rows.y[members] == positive]
            running = np.append(0, np.cumsum(weights[chosen]))
            below = _weight_below(
                cdf, rows.scores[chosen], running, least, grid.random is not None
            )
            errors += below if positive else running[-1] - below
    return np.asarray(errors / weights.sum())


def _targets_at(grid: RepairGrid, threshold: float) -> list[Floats]:
    """Height of each group's target just below the threshold, at each amount.

    Targets and repaired scores are linear between the ends of the steps of the CDF of
    everyone. The first of these at which repaired scores reach the threshold is found
    by bisection, for all amounts at once.
    """
    below = np.full(len(grid.amounts), -1)
    reached = np.full(len(grid.amounts), 2 * len(grid.groups.pooled.scores) - 1)
    limit = Limit.of(grid.groups)
    while (reached - below > 1).any():
        middle = np.maximum((below + reached) // 2, 0)
        reaches = _at_ends(grid, middle, limit)[0] >= threshold
        below, reached = np.where(reaches, (below, middle), (middle, reached))
    left, lower = _at_ends(grid, np.maximum(below, 0), limit)
    right, upper = _at_ends(grid, reached, limit)
    rise = np.where(below < 0, 0, right - left)  # no score is below the first end
    share = quotients(threshold - left, rise, 1.0)
    return list((1 - share) * lower + share * upper)


def _at_ends(
    grid: RepairGrid, ends: NDArray[np.intp], limit: Limit
) -> tuple[Floats, Floats]:
    """For each amount, repaired score and heights of targets at one end of a step."""
    groups = grid.groups
    scores, upper = groups.pooled.scores[ends // 2], ends % 2 == 1
    heights = np.stack([cdf.ends_at(scores, upper) for cdf in groups.cdfs])
    path: Path
    if grid.are_gaps:
        path = TargetBand.at(groups, scores, heights, grid.amounts, limit)
        scores = path.scores
    else:
        path = Mixture(grid.amounts, groups.pooled.ends_at(scores, upper))
    return scores, np.stack([path.target(row, i) for i, row in enumerate(heights)])


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


def _one_by_one(grid: RepairGrid, loss: Callable[[Floats], float]) -> Floats:
    """Loss of the scores repaired by each amount."""
    return np.array([float(loss(scores)) for scores in _repaired(grid)])


def _repaired(grid: RepairGrid) -> Iterator[Floats]:
    """Yield the scores repaired by each amount."""
    scores = grid.rows.scores
    heights = [
        cdf.heights_of(scores[chosen], grid.random)
        for cdf, chosen in zip(grid.groups.cdfs, grid.members, strict=True)
    ]
    path: Path
    for amount in grid.amounts:
        if grid.are_gaps:
            path = TargetBand.within(grid.groups, amount)
        else:
            path = Mixture(amount, grid.groups.pooled.ends)
        repaired = np.array(scores)
        for group, chosen in enumerate(grid.members):
            repaired[chosen] = repaired_at(grid.groups, path, group, heights[group])
        yield np.clip(repaired, 0, 1) if path.moves else scores
