"""Losses of accuracy and fairness after any amount of repair, and the amount chosen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.metrics import log_loss
from sklearn.utils import check_random_state

from skfair._mitigation import groups_to_compare, keep_comparable
from skfair._rows import Rows, group_squares_in_rows
from skfair._utils._arrays import Bools, Floats, Integers
from skfair.groups import rows_by_code
from skfair.metrics._madd import MADD
from skfair.metrics._mcdp import MCDP
from skfair.metrics._quantiles import supremum_quantile
from skfair.postprocessing._group_cdfs import (
    GroupCDFs,
    clip_to_band,
    has_ties,
    interpolate,
    mix_heights,
    row_counts,
    weighted_distributions,
)
from skfair.statistics._distributions import Distributions

if TYPE_CHECKING:
    from skfair.postprocessing._madd_post_processor import MADDPostProcessor

#: Levels, or largest gaps, whose losses are computed.
_N_LEVELS = 101


class Amount(NamedTuple):
    """How much is repaired: a level that is given or chosen, None with `max_mcdp`.

    `standard_error` is the error of the smallest total loss, None if no level is
    chosen. `losses` is the table of the losses of all amounts.
    """

    level: float | None
    standard_error: float | None
    losses: dict[str, Floats]


def choose_amount(
    strata: list[StratumLosses], model: MADDPostProcessor, n_held_out: float
) -> Amount:
    """Compute the losses of all levels, and choose a level unless it is given.

    Each row was held out `n_held_out` times on average. Strata are independent.
    """
    steps = np.linspace(0, 1, _N_LEVELS)
    if model.max_mcdp is not None:
        largest = max(part.cdfs.largest_gap() for part in strata)
        return Amount(None, None, mean_losses(strata, largest * steps, "max_mcdp"))
    losses = mean_losses(strata, steps, "repair_level")
    if model.repair_level != "auto":
        return Amount(float(model.repair_level), None, losses)
    total = losses["total_loss"]
    # Rounding must not decide between levels of equal losses.
    best = steps[int((total <= total.min() + 1e-12).argmax())]
    errors = [part.standard_error(best) for part in strata]
    # Repeated splits hold the same rows out again: they do not add rows.
    error = np.linalg.norm(_shares(strata) * errors) * np.sqrt(max(1, n_held_out))
    level = float(steps[(total <= total.min() + error).argmax()])
    return Amount(level, float(error), losses)


class StratumLosses:
    """Losses of the rows of one stratum, or of all rows, for any amount of repair.

    An amount is a repair level, or the largest gap allowed. If there are strata, rows
    without a stratum do not count in distributions and fairness losses.
    """

    def __init__(self, rows: Rows, model: MADDPostProcessor) -> None:
        self.rows, self.model = rows, model
        measured = _rows_with_stratum(rows)
        self.statistic = weighted_distributions(measured)
        # Scores are smoothed as the repair smooths them.
        by_gap = model.max_mcdp is not None
        self.cdfs = GroupCDFs.from_statistic(self.statistic, smooth=by_gap)
        #: Positions of each group's rows in the order of their scores.
        self.members = [
            part[np.argsort(rows.y_pred[part])]
            for part in rows_by_code(rows.groups.codes, rows.n_groups)
        ]
        #: Heights that are repaired, by group: of its knots, or drawn for each row.
        self.heights = [cdf.middle for cdf in self.cdfs.cdfs]
        if model.ties == "random":
            random = check_random_state(model.random_state)
            draws, scores = random.uniform(size=len(rows)), rows.y_pred
            self.heights = [
                cdf.evaluate_within(scores[members], draws[members])
                for cdf, members in zip(self.cdfs.cdfs, self.members, strict=True)
            ]
        #: Which groups the fairness loss compares.
        self.differing = _differ_beyond_noise(measured, self.cdfs)

    def evaluate(self, amounts: Floats) -> Floats:
        """Return total, accuracy and fairness loss of each amount of repair."""
        all_measured = len(_rows_with_stratum(self.rows)) == len(self.rows)
        # Maps of scores that stay together are lines between the knots of the CDFs.
        by_height = all_measured or self.model.ties == "random"
        if self.model.accuracy_loss == "zero_one" and by_height:
            accuracy = self._error_rates(amounts)
        else:
            accuracy = self._evaluate_repaired(amounts, self._accuracy_loss)
        fairness = self._fairness_losses(amounts)
        for name, losses in {"accuracy_loss": accuracy, "fairness": fairness}.items():
            if not np.isfinite(losses).all():
                raise ValueError(
                    f"{name} gives {losses[~np.isfinite(losses)][0]} on "
                    f"{len(self.rows)} rows of the groups "
                    f"{list(self.rows.labels)}, expected a number."
                )
        return np.stack([self._total_loss(accuracy, fairness), accuracy, fairness])

    def _total_loss(self, accuracy: Any, fairness: Any) -> Any:
        """Return the weighted sum of accuracy loss and fairness loss."""
        return (1 - self.model.theta) * accuracy + self.model.theta * fairness

    def standard_error(self, amount: float) -> float:
        """Return the standard error of the mean total loss, over the folds of the rows.

        The error is 0 if fewer than two folds have a loss.
        """
        rows, losses = replace(self.rows, y_pred=self._repair_scores(amount)), []
        for fold in range(int(rows.fold.max()) + 1):
            part = rows[rows.fold == fold]
            classes = np.bincount(part.y_true, minlength=2)
            if not (classes.all() and _rows_with_stratum(part).groups.sizes().all()):
                continue
            # A callable may need more rows than a fold has; all rows gave a number.
            with suppress(ValueError):
                accuracy, fairness = (
                    self._accuracy_loss(part),
                    self._fairness_loss(part),
                )
                loss = self._total_loss(accuracy, fairness)
                losses += [loss] if np.isfinite(loss) else []
        return float(sem(losses)) if len(losses) > 1 else 0.0

    def _accuracy_loss(self, rows: Rows) -> float:
        """Return the accuracy loss of given scores, without repair."""
        loss = self.model.accuracy_loss
        if loss == "zero_one":
            wrong = (rows.y_pred >= self.model.threshold_) != rows.y_true
            return float(np.average(wrong, weights=rows.weight))
        loss = loss if callable(loss) else log_loss
        return float(loss(rows.y_true, rows.y_pred, **_weight_keywords(rows)))

    def _fairness_loss(self, rows: Rows) -> float:
        """Return the fairness loss of given scores, without repair."""
        loss: Any = self.model.fairness
        if callable(loss):
            rows = _rows_with_stratum(rows)
            # Metrics of other libraries expect the label of each row.
            labels = pd.Series(list(rows.labels), dtype=object).to_numpy()
            keywords = _weight_keywords(rows)
            keywords["sensitive_features"] = labels[rows.groups.codes]
            return float(loss(rows.y_true, rows.y_pred, **keywords))
        if not self.differing.any():
            return 0.0
        if loss == "mcdp":
            return self._gap(rows)
        return MADD().locate(self._compared_distributions(rows)).value / 2

    def _gap(self, rows: Rows) -> float:
        """Return MCDP(0) of the groups that are compared."""
        return MCDP().largest_pair(self._compared_distributions(rows)).value

    def _compared_distributions(self, rows: Rows) -> Distributions:
        """Return score distributions of the groups that are compared."""
        compared = _select_groups(_rows_with_stratum(rows), self.differing)
        return weighted_distributions(compared)

    def _fairness_losses(self, amounts: Floats) -> Floats:
        """Return the fairness loss of each amount of repair."""
        model = self.model
        if callable(model.fairness):
            return self._evaluate_repaired(amounts, self._fairness_loss)
        loss = self._fairness_loss(self.rows)
        n_rows = row_counts(self.statistic)
        tied = model.ties == "mid" and has_ties(self.statistic, n_rows)
        if not loss or (not tied and model.max_mcdp is None):
            return np.asarray(loss * (1 - amounts))
        baseline = self._gap(self.rows)
        mitigated = np.minimum(amounts, baseline)
        if tied:
            mitigated = self._evaluate_repaired(amounts, self._gap)
        return np.asarray(loss * mitigated / baseline)

    def _evaluate_repaired(
        self, amounts: Floats, loss: Callable[[Rows], float]
    ) -> Floats:
        """Return a loss of the rows after each amount of repair."""
        repaired = map(self._repair_scores, amounts)
        return np.array([loss(replace(self.rows, y_pred=part)) for part in repaired])

    def _repair_scores(self, amount: float) -> Floats:
        """Return the scores of the rows repaired by an amount."""
        cdfs = self.cdfs
        scores: Floats = self.rows.y_pred
        by_gap = self.model.max_mcdp is not None
        find_targets = cdfs.limit_gap if by_gap else cdfs.move_towards_pooled
        targets = find_targets(float(amount))
        if not targets.changes:
            return scores
        repaired = np.array(scores)
        for group, members in enumerate(self.members):
            values = cdfs.repair_at(targets, group, self.heights[group])
            if self.model.ties == "mid":
                knots = cdfs.cdfs[group].scores
                values = interpolate(scores[members], knots, values)
            repaired[members] = values
        return np.clip(repaired, 0, 1)

    def _error_rates(self, amounts: Floats) -> Floats:
        """Return the zero-one loss of each amount of repair.

        A repaired score reaches the threshold exactly where the height of the score in
        its group reaches the height of the threshold in the repaired distribution. With
        random ties the loss is the expected one.
        """
        rows, errors = self.rows, np.zeros(len(amounts))
        weights, targets = rows.weights, self._targets_at(amounts)
        draws = (None, None) if self.model.ties == "mid" else (0.0, 1.0)
        for group, members in enumerate(self.members):
            # A row at the least height reaches it, so the weight just below counts.
            just_below = np.nextafter(targets[group], -1)
            for positive in (0, 1):
                in_class = members[rows.y_true[members] == positive]
                if not len(in_class):
                    continue
                scores, first = np.unique(rows.y_pred[in_class], return_index=True)
                running = np.append(0, np.cumsum(weights[in_class]))
                # From one end of a step to the other the weight below rises in a line.
                cdf = self.cdfs.cdfs[group]
                ends = np.stack([cdf.evaluate_within(scores, draw) for draw in draws])
                sums = running[[first, np.append(first[1:], len(in_class))]]
                below = np.interp(just_below, ends.ravel("F"), sums.ravel("F"))
                errors += below if positive else running[-1] - below
        return np.asarray(errors / weights.sum())

    def _targets_at(self, amounts: Floats) -> Floats:
        """Return the height of each group's target at the threshold, for each amount.

        Targets and repaired scores are linear between the ends of the steps of
        everyone's CDF. Bisection finds the first end at which repaired scores reach the
        threshold, for all amounts at once.
        """
        threshold, n_amounts = self.model.threshold_, len(amounts)
        below = np.full(n_amounts, -1)
        above = np.full(n_amounts, 2 * len(self.cdfs.pooled.scores) - 1)
        while (above - below > 1).any():
            middle = np.maximum((below + above) // 2, 0)
            reaches = self._repair_step_ends(amounts, middle)[0] >= threshold
            below, above = np.where(reaches, (below, middle), (middle, above))
        left, lower = self._repair_step_ends(amounts, np.maximum(below, 0))
        right, upper = self._repair_step_ends(amounts, above)
        rise = np.where(below < 0, 0, right - left)  # no score is below the first end
        share = np.ones(n_amounts)
        np.divide(threshold - left, rise, out=share, where=rise > 0)
        return np.asarray((1 - share) * lower + share * upper)

    def _repair_step_ends(
        self, amounts: Floats, ends: Integers
    ) -> tuple[Floats, Floats]:
        """Return repaired scores, and the groups' targets, at ends of steps."""
        pooled = self.cdfs.pooled
        scores, upper = pooled.scores[ends // 2], ends % 2 == 1
        heights = np.stack([cdf.evaluate_ends(scores, upper) for cdf in self.cdfs.cdfs])
        if self.model.max_mcdp is None:
            pooled_heights = pooled.evaluate_ends(scores, upper)
            return scores, mix_heights(amounts, pooled_heights, heights)
        lowest, repaired = self.cdfs.find_band(scores, heights, amounts)
        return repaired, clip_to_band(lowest, amounts, heights)


def _rows_with_stratum(rows: Rows) -> Rows:
    """Return the rows with a stratum, on which fairness is measured."""
    if rows.strata is None or (rows.strata.codes >= 0).all():
        return rows
    return rows[rows.strata.codes >= 0]


def losses_by_stratum(rows: Rows, model: MADDPostProcessor) -> list[StratumLosses]:
    """Return the losses for each stratum with two groups; without strata, for all rows.

    If there is only one stratum, the maps for all rows are learnt and measured in it.
    """
    groups, strata = keep_comparable(rows.groups, rows.strata, rows.weight, warn=False)
    if rows.strata is None:
        return [StratumLosses(rows, model)]
    single, parts = len(rows.strata.labels) == 1, []
    rows = replace(rows, groups=groups, strata=strata)
    for _, positions in rows.split_by_stratum():
        part = rows.grouped() if single else rows[positions]
        part = replace(part, groups=groups_to_compare(part.groups))
        parts.append(StratumLosses(part, model))
    return parts


def mean_losses(
    strata: list[StratumLosses], amounts: Floats, name: str
) -> dict[str, Floats]:
    """Average the losses over strata, for each amount of repair (equations 15 to 19).

    Amounts are levels, or the largest gaps allowed; `name` is the name of their column.
    """
    losses = np.stack([part.evaluate(amounts) for part in strata])
    mean = np.tensordot(_shares(strata), losses, 1)
    names = ["total_loss", "accuracy_loss", "fairness_loss"]
    return {name: amounts} | dict(zip(names, mean, strict=True))


def _shares(strata: list[StratumLosses]) -> Floats:
    """Return the share of each stratum in the weight of all."""
    weights = np.array([part.rows.weights.sum() for part in strata])
    return np.asarray(weights / weights.sum())


def _differ_beyond_noise(rows: Rows, groups: GroupCDFs) -> Bools:
    """Return which groups have scores that differ from all others' by more than noise.

    The bound of a Brownian bridge holds for all groups at once, in 95 % of large
    samples.
    """
    # With two groups both tests are the same.
    n_groups = len(groups.cdfs)
    n_tests = 1 if n_groups == 2 else n_groups
    codes, weights = rows.groups.codes, rows.weights
    sums = np.bincount(codes, weights, n_groups)
    squares = group_squares_in_rows(codes, weights, n_groups)
    group_rows = sums**2 / squares
    other_rows = (sums.sum() - sums) ** 2 / np.maximum(squares.sum() - squares, 1e-300)
    # Noise of each group's distance from everyone, in units of a Brownian bridge.
    spread = (1 - groups.shares) * np.sqrt(1 / group_rows + 1 / other_rows)
    noise = supremum_quantile(0.05 / n_tests) * spread
    return np.asarray(groups.distances_from_pooled() > noise)


def _weight_keywords(rows: Rows) -> dict[str, Any]:
    """Return the keyword of the weights for a metric, none without weights."""
    return {} if rows.weight is None else {"sample_weight": rows.weight}


def _select_groups(rows: Rows, differing: Bools) -> Rows:
    """Keep the rows of the groups that differ from all others.

    If only one group differs, it is compared with all other groups together.
    """
    if differing.all():
        return rows
    labels, codes = tuple(compress(rows.labels, differing)), np.cumsum(differing) - 1
    codes[~differing] = -1 if len(labels) > 1 else 1
    if len(labels) == 1:
        labels = (*labels, ("all others",))
    groups = replace(rows.groups, labels=labels, codes=codes[rows.groups.codes])
    return replace(rows, groups=groups)[groups.codes >= 0]
