"""Map from a predicted score and probabilities of groups to a fairer score."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from skfair._comparison import average_precision, exceeds_noise, mean_mcdp, r2
from skfair._penalty import clip_scores
from skfair._rows import Rows, group_squares_in_rows, unit_weights
from skfair._utils._arrays import Floats, Integers, quotients
from skfair.model_selection._rules import standard_error

#: How a path measures what a model predicts: a probability, or a number.
Performance: TypeAlias = Literal["average_precision", "r2"]

#: Bounds of the intercept and the slope of a line of log-odds.
_LINES = ((-20.0, 20.0), (0.1, 10.0))
#: Thresholds of a map, and steps from the plain gap to none. More of either changed
#: little.
_N_THRESHOLDS, _N_STEPS = 40, 20
#: Half of the width by which decisions are smoothed in a fit: of the distance to the
#: next thresholds, and of the change of scores. Wider ones left larger gaps.
_WIDTH, _WIDTH_OF_CHANGE = 1.0, 0.1
#: Newton steps for each step of the gap. A Newton step changes scores by no more than
#: so many of these widths, and a share of what they have changed already.
_N_NEWTON, _REACH, _REACH_OF_CHANGE = 2, 0.65, 0.3
#: Gap that is left for each unit of a factor, where scores have a standard deviation of
#: 1: so many over the number of rows. Without it, noise of a group that is hardly
#: predicted would change all scores.
_RIDGE_BY_ROW = 3.0
#: Least slope of a rate in a Newton step, of scores with a standard deviation of 1.
_LEAST_SLOPE = 0.01
#: Rows of a group and a stratum are split by q into halves so many times, at least and
#: at most: fewer times where there would be more cells than this.
_LEAST_HALVINGS, _MOST_HALVINGS, _N_CELLS = 2, 4, 128
#: Rows times thresholds that a map computes at once. More do not fit into the cache.
_BLOCK_SIZE = 128_000
#: Most folds of the held-out rows, over which a map is fitted and measured.
_N_FOLDS = 5
#: Share of the plain performance that ``strength="auto"`` keeps.
_KEPT: dict[Performance, float] = {"average_precision": 0.95, "r2": 0.8}


class Calibration(NamedTuple):
    """Line from predictions to their target, of log-odds if they are probabilities."""

    intercept: float
    slope: float
    uses_log_odds: bool

    @classmethod
    def fit(cls, rows: Rows, uses_log_odds: bool) -> Self:
        """Fit the line by log-loss or squared error; a falling line is not used."""
        weights = rows.weights / rows.weights.sum()
        if uses_log_odds:
            log_odds, y = logit(clip_scores(rows.y_pred)), rows.y_true

            def loss(line: Floats) -> tuple[float, Floats]:
                predicted = line[0] + line[1] * log_odds
                slopes = weights * (expit(predicted) - y)
                value = weights @ (np.logaddexp(0, predicted) - y * predicted)
                return float(value), np.array([slopes.sum(), slopes @ log_odds])

            best = minimize(loss, (0.0, 1.0), jac=True, bounds=_LINES).x
            return cls(float(best[0]), float(best[1]), uses_log_odds)
        mean, target = float(weights @ rows.y_pred), float(weights @ rows.y_true)
        centered = rows.y_pred - mean
        variance = float(weights @ centered**2)
        covariance = float(weights @ (centered * (rows.y_true - target)))
        if not covariance > 1e-9 * max(variance, mean**2):
            return cls(0.0, 1.0, uses_log_odds)
        slope = covariance / variance
        return cls(target - slope * mean, slope, uses_log_odds)

    def __call__(self, scores: Floats) -> Floats:
        """Return calibrated predictions."""
        if not self.uses_log_odds:
            return np.asarray(self.intercept + self.slope * scores)
        log_odds = logit(np.clip(scores, 1e-12, 1 - 1e-12))
        return np.asarray(expit(self.intercept + self.slope * log_odds))


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Map to a score that depends on the thresholds a row passes, for any strength.

    A row passes a threshold if its calibrated score is above the threshold plus a sum
    over groups: of a factor times the row's probability of the group, divided by the
    share of the group. `factors` have shape (n_strengths, n_groups, n_thresholds), and
    are linear between thresholds and between strengths, which increase. Beyond the
    largest strength the gap is closed and nothing changes. If a row that passes a
    threshold passes all lower thresholds, too, its new score is the highest threshold
    passed.
    """

    thresholds: Floats
    shares: Floats
    calibration: Calibration
    strengths: tuple[float, ...]
    factors: Floats

    def __call__(self, p: Floats, q: Floats, strength: float) -> Floats:
        """Return new scores at a strength."""
        return next(self.iterate_strengths(p, q, [strength]))

    def iterate_strengths(
        self, p: Floats, q: Floats, strengths: Iterable[float]
    ) -> Iterator[Floats]:
        """Yield new scores at one strength after the other."""
        scores, relatives = self.calibration(p), quotients(q, self.shares)
        n_rows = max(1, _BLOCK_SIZE // len(self.thresholds))
        blocks = [slice(i, i + n_rows) for i in range(0, len(p) or 1, n_rows)]
        for strength in strengths:
            factors = self._factors_at(strength)
            if not factors.any():
                yield p
                continue
            yield np.concatenate(
                [self._map(scores[b], relatives[b] @ factors) for b in blocks]
            )

    def changes_scores(self, strength: float) -> bool:
        """Return whether new scores differ from the old ones at a strength."""
        return bool(self._factors_at(strength).any())

    def _factors_at(self, strength: float) -> Floats:
        """Return the factors at a strength."""
        after = bisect_left(self.strengths, strength)
        if after == 0 or after == len(self.strengths):
            return np.asarray(self.factors[min(after, len(self.factors) - 1)])
        low, high = self.strengths[after - 1 : after + 1]
        share = (strength - low) / (high - low)
        first, second = self.factors[after - 1 : after + 1]
        return np.asarray((1 - share) * first + share * second)

    def _map(self, scores: Floats, beyond: Floats) -> Floats:
        """Return new scores, given calibrated scores and the shifts of thresholds."""
        beyond += self.thresholds
        np.subtract(scores[:, None], beyond, out=beyond)
        passed = beyond > 0
        # Scores up to a place between two thresholds are passed, or those above it.
        changes = np.flatnonzero(passed[:, 1:] != passed[:, :-1])
        rows, before = np.divmod(changes, len(self.thresholds) - 1)
        first, second = beyond[rows, before], beyond[rows, before + 1]
        lowest, highest = self.thresholds[[0, -1]]
        spacing = self.thresholds[before + 1] - self.thresholds[before]
        places = self.thresholds[before] - lowest + spacing * (first / (first - second))
        inside = np.bincount(rows, np.where(first > 0, places, -places), len(scores))
        inside = inside + passed[:, -1] * (highest - lowest)
        below, above = np.minimum(beyond[:, 0], 0), np.maximum(beyond[:, -1], 0)
        if self.calibration.uses_log_odds:  # they approach 0 and 1, and never tie
            below = below * lowest / (lowest - below)
            above = above * (1 - highest) / (1 - highest + above)
        return np.asarray(lowest + below + inside + above)


class StrengthMaps:
    """Maps of all strengths, fitted to held-out rows, and measured on them.

    A map is measured on the rows of one fold after a fit to the rows of the other
    folds.
    """

    def __init__(self, performance: Performance) -> None:
        self.performance: Performance = performance

    def fit(self, rows: Rows, q: Floats) -> Self:
        """Fit a map to all rows, and for each fold one to the other rows."""
        self.rows, self.q = replace(rows, fold=folds_of_maps(rows)), q
        self.map, self.maps_of_others = fit_maps(self.rows, q, self.performance)
        return self

    def __call__(self, p: Floats, q: Floats, strength: float) -> Floats:
        """Return new scores of predictions and probabilities of groups."""
        return np.asarray(self.map(p, q, strength), dtype=np.float64)

    def held_out_scores(self, strength: float) -> Floats:
        """Return new scores of the rows, by the maps that were fitted without them."""
        return next(
            iterate_held_out_scores(
                self.maps_of_others, self.rows, self.q, strengths=[strength]
            )
        )

    def choose(
        self, strength: float | Literal["auto"], max_mcdp: float | None = None
    ) -> tuple[float, dict[str, NDArray[Any]]]:
        """Return the strength, given or chosen, and the table of all strengths."""
        automatic = strength == "auto"
        strengths = self.map.strengths if automatic else (0.0, float(strength))
        table = measure_strengths(
            self.maps_of_others,
            self.rows,
            self.q,
            strengths=strengths,
            performance=self.performance,
        )
        adjusted = adjust_for_noise(table, self.rows, self.maps_of_others)
        path = {name: adjusted[name].to_numpy() for name in adjusted}
        if not automatic:
            return float(strength), path
        if not exceeds_noise(self.rows):
            return 0.0, path  # a map fitted to noise makes no gap of new rows smaller
        # The fairest strength is sought by the gaps that rows show, which noise makes
        # more alike; a limit is compared with the gaps adjusted for noise.
        compared = table if max_mcdp is None else adjusted
        position = choose_strength(compared, self.performance, max_mcdp)
        return float(table["strength"][position]), path


class _Part(NamedTuple):
    """Rows to which a map is fitted, and the plain map, which changes nothing.

    All rows have a group. Their calibrated scores are in ascending order, and their
    weights add up to 1. `relatives` are the rows' probabilities of groups, divided by
    the shares of the groups.
    """

    rows: Rows
    relatives: Floats
    map: ScoreMap


class _Limits(NamedTuple):
    """Ridge penalty of the factors, and how far each group's rate may be off."""

    ridge: float
    allowances: Floats


class _Rates(NamedTuple):
    """How far each group's rate of passing exceeds the mean rate, at each threshold.

    `slopes` are the derivatives of these excess rates in the factors.
    """

    excess: Floats
    slopes: Floats


def fit_maps(
    rows: Rows, q: Floats, performance: Performance
) -> tuple[ScoreMap, list[ScoreMap]]:
    """Fit a map to all rows, and for each fold a map to the rows of the others.

    `q` are the rows' probabilities of groups, of shape (n_samples, n_groups). Neither
    `q` nor the predictions of a row come from models that were fitted to the row. The
    gap falls from the plain gap to 0 in equal steps.

    At each threshold the factors are those that leave the gap of the step at the
    smallest loss, the mean cost of the decisions at the threshold. So each threshold is
    a problem of its own. By Lagrange multipliers the solution is a `ScoreMap`, whose
    strength is the sum of the multipliers.
    """
    rows, q = _merge_equal(rows, q)
    others = [rows.fold != fold for fold in np.unique(rows.fold)]
    samples = [(rows, q), *((rows[other], q[other]) for other in others)]
    parts = [_prepare_part(*sample, performance) for sample in samples]
    maps = [part.map for part in parts]
    varying = [i for i, plain in enumerate(maps) if len(plain.thresholds) > 1]
    costs = [
        _threshold_costs(samples[i][0], maps[i].thresholds, performance)
        for i in varying
    ]
    ends = np.cumsum([len(cost) for cost in costs])[:-1]
    limits = [_find_limits(samples[i][0]) for i in varying]
    # The maps of all parts are found together.
    steps = _close_gaps([parts[i] for i in varying], limits) if varying else ()
    for step in steps:
        by_part = np.split(step, ends, axis=1)
        for i, cost, factors in zip(varying, costs, by_part, strict=True):
            before = maps[i]
            prices = np.abs(factors).sum(axis=0) / 2 * cost
            strength = float(np.trapezoid(prices, before.thresholds))
            if np.isfinite(strength) and strength > before.strengths[-1]:
                strengths = (*before.strengths, strength)
                several = np.concatenate([before.factors, [factors]])
                maps[i] = replace(before, strengths=strengths, factors=several)
    return maps[0], maps[1:]


def folds_of_maps(rows: Rows) -> Integers:
    """Return the fold of each row in which maps are measured.

    Rows that all have one fold are dealt to folds in the order of their scores.
    """
    folds = np.unique(rows.fold, return_inverse=True)[1]
    if folds.max() == 0:
        folds = np.argsort(np.argsort(rows.y_pred))
    return np.asarray(folds % _N_FOLDS, dtype=np.intp)


def iterate_held_out_scores(
    maps: list[ScoreMap], rows: Rows, q: Floats, strengths: Sequence[float]
) -> Iterator[Floats]:
    """Yield new scores of rows at each strength, by maps fitted without their fold."""
    parts = [np.flatnonzero(rows.fold == fold) for fold in range(len(maps))]
    iterators = [
        map_of_others.iterate_strengths(rows.y_pred[part], q[part], strengths)
        for part, map_of_others in zip(parts, maps, strict=True)
    ]
    for by_fold in zip(*iterators, strict=True):
        scores = np.empty(len(rows))
        scores[np.concatenate(parts)] = np.concatenate(by_fold)
        yield scores


def _prepare_part(rows: Rows, q: Floats, performance: Performance) -> _Part:
    """Calibrate and sort the rows that have a group, and choose the thresholds."""
    calibration = Calibration.fit(rows, performance == "average_precision")
    scores = calibration(rows.y_pred)
    if calibration.uses_log_odds:
        scores = clip_scores(scores)
    order = np.argsort(scores, kind="stable")
    order = order[rows.stratum_group_codes[order] >= 0]
    rows = replace(rows, y_pred=scores)[order]
    thresholds = _choose_thresholds(rows)
    total = max(rows.weights.sum(), 1e-300)
    shares = np.bincount(rows.groups.codes, rows.weights, rows.n_groups) / total
    rows = replace(rows, weight=rows.weights / total)
    none = np.zeros((1, len(shares), len(thresholds)))
    plain = ScoreMap(thresholds, shares, calibration, (0.0,), none)
    return _Part(rows, quotients(q[order], shares), plain)


def _find_limits(rows: Rows) -> _Limits:
    """Return the ridge penalty, and how far each group's rate may be off.

    The allowance is about one row of the group, and 0 for the two largest groups. With
    an allowance as large as the noise, groups of 20 to 150 rows kept gaps that were
    also found in new rows (four tables).
    """
    grouped = rows.stratum_group_codes >= 0
    codes, weights = rows.groups.codes[grouped], rows.weights[grouped]
    totals = np.bincount(codes, weights, rows.n_groups)
    squares = group_squares_in_rows(codes, weights, rows.n_groups)
    inverse_sizes = quotients(squares, totals**2)
    present = totals > 0
    second = np.sort(inverse_sizes[present])[:2].max(initial=0)
    n_rows = rows.weights.sum() ** 2 / (rows.weights @ unit_weights(rows.weights))
    allowances = np.where(present, np.maximum(inverse_sizes - second, 0), 0)
    return _Limits(_RIDGE_BY_ROW / n_rows, allowances)


def _threshold_costs(
    rows: Rows, thresholds: Floats, performance: Performance
) -> Floats:
    """Return the loss by one unit of the factors, at each threshold."""
    if performance == "r2":
        mean = np.average(rows.y_pred, weights=rows.weights)
        variance = np.average((rows.y_pred - mean) ** 2, weights=rows.weights)
        return np.full(len(thresholds), 1 / variance)
    positive = np.average(rows.y_true, weights=rows.weights)
    unit = 4 * positive * (1 - positive) or 1.0  # a single class has no unit
    return np.asarray(1 / (unit * thresholds * (1 - thresholds)))


def _choose_thresholds(rows: Rows) -> Floats:
    """Return averages of quantiles of the scores and of an even grid."""
    if not len(rows):
        return np.zeros(0)
    shares = (np.arange(_N_THRESHOLDS) + 0.5) / _N_THRESHOLDS
    heights = rows.weights.cumsum() / rows.weights.sum()
    positions = np.minimum(np.searchsorted(heights, shares), len(rows) - 1)
    quantiles = np.unique(rows.y_pred[positions])
    grid = np.linspace(quantiles[0], quantiles[-1], len(quantiles))
    thresholds: Floats = np.unique((quantiles + grid) / 2)
    low, high = thresholds[[0, -1]]
    varies = high - low > 1e-9 * max(abs(low), abs(high))
    return thresholds if varies else thresholds[:1]


class _Gaps:
    """Excess rates at the thresholds of several parts of the rows.

    The gap of a group is its excess rate beyond the allowance of the group.
    """

    def __init__(self, parts: list[_Part], limits: list[_Limits]) -> None:
        self._part_rates, smoothings, moments, deviations = [], [], [], []
        for rows, relatives, plain in parts:
            mean = rows.weights @ rows.y_pred
            deviation = np.sqrt(rows.weights @ (rows.y_pred - mean) ** 2)
            spacings = np.maximum(np.gradient(plain.thresholds), 1e-6 * deviation)
            smoothings.append(_WIDTH * spacings)
            moments.append(relatives.T @ (rows.weights[:, None] * relatives))
            deviations.append(deviation)
            self._part_rates.append(_passing_rates(rows, relatives, plain.thresholds))
        self.starts = np.cumsum([0, *(len(spacings) for spacings in smoothings)])
        #: Part of each threshold.
        self.part = np.repeat(np.arange(len(parts)), np.diff(self.starts))
        self.smoothing = np.concatenate(smoothings)
        self._moment = np.array(moments)[self.part]
        deviation = np.array(deviations)[self.part]
        allowances = np.column_stack([limit.allowances for limit in limits])
        self.allowed = allowances[:, self.part]
        self._ridge = np.array([limit.ridge for limit in limits])[self.part]
        self._ridge /= deviation
        self._identity = np.eye(len(self.allowed))
        self._floor = _LEAST_SLOPE * self._moment / deviation[:, None, None]
        self._floor += self._ridge[:, None, None] * self._identity
        trace = np.trace(self._floor, axis1=1, axis2=2)
        self._level = trace[:, None, None] / len(self.allowed)

    def find_rates(self, factors: Floats, width: Floats) -> _Rates:
        """Return the excess rates of all parts, and their slopes."""
        parts = [slice(*ends) for ends in pairwise(self.starts)]
        by_part = [
            find_rates(factors[:, part], width[part])
            for find_rates, part in zip(self._part_rates, parts, strict=True)
        ]
        excesses, slopes = zip(*by_part, strict=True)
        return _Rates(np.concatenate(excesses, axis=1), np.concatenate(slopes))

    def score_change(self, factors: Floats) -> Floats:
        """Return the root mean square of the change of scores, at each threshold."""
        products = (self._moment @ factors.T[..., None])[..., 0]
        squares = (factors.T * products).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squares, 0)))

    def excess_range(self, rates: _Rates) -> tuple[Floats, Floats]:
        """Return the highest and lowest excess rate beyond the allowance."""
        highest = (rates.excess - self.allowed).max(axis=0)
        return highest, (rates.excess + self.allowed).min(axis=0)

    def take_step(
        self, factors: Floats, width: Floats, rates: _Rates, limit: Floats
    ) -> Floats:
        """Return the factors after a Newton step towards a limit of the gap.

        The groups whose rates of passing are farthest from the mean rate get factors,
        which add up to 0. The slopes are computed as if the probabilities q were true,
        which makes them symmetric.
        """
        highest, lowest = self.excess_range(rates)
        excess = rates.excess - (highest + lowest) / 2
        beyond = np.abs(excess) > limit / 2 + self.allowed
        outside = np.where(beyond, np.sign(excess), 0)
        side = np.where(factors != 0, np.sign(factors), outside)
        center = _centering_matrices(side != 0)
        missing = excess - side * (limit / 2 + self.allowed) - self._ridge * factors
        # Any number on the diagonal serves for what is projected out.
        slopes = center @ (rates.slopes + self._floor) @ center
        slopes += self._level * (self._identity - center)
        step = np.linalg.solve(slopes, center @ missing.T[..., None])
        step = (center @ step)[..., 0].T
        most = _REACH * width + _REACH_OF_CHANGE * self.score_change(factors)
        step *= most / np.maximum(self.score_change(step), most)
        factors = factors + step
        factors[factors * side < 0] = 0  # such a group needs no factor
        return np.asarray(
            (_centering_matrices(factors != 0) @ factors.T[..., None])[..., 0].T
        )


def _close_gaps(parts: list[_Part], limits: list[_Limits]) -> Iterator[Floats]:
    """Yield factors for each step of the gap: to 0.95, 0.9, ... 0 of the plain gap.

    Newton steps find the factors. Where a step makes the gap of a threshold larger, the
    threshold keeps its former factors.
    """
    gaps = _Gaps(parts, limits)
    best = factors = np.zeros_like(gaps.allowed)
    width = gaps.smoothing
    rates = gaps.find_rates(factors, width)
    highest, lowest = gaps.excess_range(rates)
    best_gap = highest - lowest
    baseline_gap = np.maximum.reduceat(best_gap, gaps.starts[:-1])[gaps.part]
    for share in np.linspace(1, 0, _N_STEPS + 1)[1:]:
        limit = np.where(baseline_gap > 1e-9, share * baseline_gap, 1.0)
        for _ in range(_N_NEWTON):
            factors = gaps.take_step(factors, width, rates, limit)
            width = np.hypot(
                gaps.smoothing, _WIDTH_OF_CHANGE * gaps.score_change(factors)
            )
            rates = gaps.find_rates(factors, width)
        highest, lowest = gaps.excess_range(rates)
        gap = highest - lowest
        falls = gap <= np.maximum(limit, best_gap)
        best, best_gap = np.where(falls, factors, best), np.where(falls, gap, best_gap)
        yield best


def _centering_matrices(chosen: NDArray[np.bool_]) -> Floats:
    """Return the matrix that centres the chosen groups, for each threshold."""
    columns = chosen.T
    counts = np.maximum(columns.sum(axis=1), 1)[:, None, None]
    identity = columns[..., None] * np.eye(len(chosen))
    return np.asarray(identity - columns[..., None] * columns[:, None] / counts)


def _passing_rates(
    rows: Rows, q: Floats, thresholds: Floats
) -> Callable[[Floats, Floats], _Rates]:
    """Return a function that computes rates of passing from factors and widths.

    A row passes a threshold in part if its score is within a width of what it needs.
    Rows of a cell share the mean of their q, so that running sums of their weights and
    scores give the rate.
    """
    cell, weights = _label_cells(rows, q), rows.weights
    n_cells, n_groups = int(cell.max()) + 1, q.shape[1]

    def totals(values: Floats) -> Floats:
        sums = [np.bincount(cell, column, n_cells) for column in values.T]
        return np.column_stack(sums)

    total = totals(weights[:, None])
    divisor = np.where(total > 0, total, 1)
    relatives = totals(weights[:, None] * q) / divisor
    contrast = (totals(_contrasts(rows)) / divisor).T
    products = (relatives[..., None] * relatives[:, None]).reshape(n_cells, -1)
    lowest, highest = rows.y_pred[[0, -1]]
    unit = 2 * (highest - lowest)
    # Scores of cell c are at c to c + 1/2, so that one search serves all cells.
    scores = (rows.y_pred - lowest) / unit
    order = np.argsort(cell, kind="stable")
    keys = (cell + scores)[order]
    weights, scores = weights[order], scores[order]
    count = np.append(0, np.cumsum(weights))
    summed = np.append(0, np.cumsum(weights * scores))
    starts, ends = np.arange(n_cells)[:, None], np.cumsum(total)[:, None]
    needed = (thresholds - lowest) / unit

    def find_rates(factors: Floats, width: Floats) -> _Rates:
        width = width / unit
        low = needed - width + relatives @ (factors / unit)
        places = np.stack([low, low + 2 * width])
        ends_inside = np.searchsorted(keys, starts + np.clip(places, -0.2, 0.7))
        (first, last), (first_sum, last_sum) = count[ends_inside], summed[ends_inside]
        inside = last - first
        passed = ends - last + (last_sum - first_sum - low * inside) / (2 * width)
        slopes = (inside / (2 * width * unit)).T @ products
        return _Rates(contrast @ passed, slopes.reshape(-1, n_groups, n_groups))

    return find_rates


def _label_cells(rows: Rows, q: Floats) -> Integers:
    """Return the cell of each row: rows of one group and stratum with similar q.

    Cells are split in two at their mean of the column of q that varies most.
    """
    kinds = np.unique(rows.stratum_group_codes, return_inverse=True)[1]
    room = int(np.log2(_N_CELLS / (kinds.max() + 1)))
    halves, numbers = np.zeros(len(rows), dtype=np.intp), np.arange(len(rows))
    squares = q.T**2
    for _ in range(int(np.clip(room, _LEAST_HALVINGS, _MOST_HALVINGS))):
        counts = np.maximum(np.bincount(halves), 1)
        means, seconds = (
            np.array([np.bincount(halves, column) for column in values]) / counts
            for values in (q.T, squares)
        )
        widest = (seconds - means**2).argmax(axis=0)[halves]
        above = q[numbers, widest] > means[widest, halves]
        halves = 2 * halves + above
    cells = kinds * (halves.max() + 1) + halves
    return np.unique(cells, return_inverse=True)[1].astype(np.intp)


def _contrasts(rows: Rows) -> Floats:
    """Return how much each row adds to the excess rate of each group."""
    strata: Any = np.zeros(len(rows), np.intp)
    strata = strata if rows.strata is None else rows.strata.codes
    contrasts = np.zeros((len(rows), rows.n_groups))
    total = rows.weights.sum()
    for stratum in np.unique(strata):
        chosen = np.flatnonzero(strata == stratum)
        weights, codes = rows.weights[chosen], rows.groups.codes[chosen]
        totals = np.bincount(codes, weights, contrasts.shape[1])
        present = totals > 0
        mean = present / present.sum()
        deviation = (codes[:, None] == np.arange(len(totals))) - mean
        share = weights.sum() / total
        contrasts[chosen] = share * (weights / totals[codes])[:, None] * deviation
    return contrasts


def measure_strengths(
    maps: list[ScoreMap],
    rows: Rows,
    q: Floats,
    strengths: Sequence[float],
    performance: Performance,
) -> pd.DataFrame:
    """Measure strengths on held-out rows, by maps fitted without the fold of the row.

    The columns have the names of scikit-learn's searches, but ``mean_test_`` is the
    value of all rows together: the mean of a disparity over folds is too large, because
    its noise does not cancel.
    """
    scores_by_strength = iterate_held_out_scores(maps, rows, q, strengths)
    return pd.DataFrame(
        [
            _measure_strength(rows, scores, strength, performance)
            for strength, scores in zip(strengths, scores_by_strength, strict=True)
        ]
    )


def adjust_for_noise(
    table: pd.DataFrame, rows: Rows, maps: list[ScoreMap]
) -> pd.DataFrame:
    """Adjust the gaps in a table of strengths for noise, as `Comparison` does.

    Noise is subtracted from the gaps of strengths that change nothing, and added to the
    gaps of all other strengths.
    """
    signs = [
        1 if any(m.changes_scores(strength) for m in maps) else -1
        for strength in table["strength"]
    ]
    adjusted, gap = table.copy(), mean_mcdp(rows)
    for name in ("mean_test_neg_mcdp", "mean_test_neg_adjusted_mcdp"):
        if name in table:
            adjusted[name] = -gap.add_noise(table[name].to_numpy(), signs)
    return adjusted


def _merge_equal(rows: Rows, q: Floats) -> tuple[Rows, Floats]:
    """Sort the rows, merge equal rows, and add their weights.

    A fit then gives the same result to the last bit in any order of the rows, and for a
    weight of two as for two equal rows. Otherwise rounding errors would grow from step
    to step near the kink of the gap at 0.
    """
    p, q = rows.y_pred.round(12) + 0.0, q.round(12) + 0.0
    strata = np.zeros(len(p)) if rows.strata is None else rows.strata.codes
    keys = [strata, rows.fold, rows.groups.codes, rows.y_true, *q.T, p]
    order = np.lexsort(keys)
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    first = np.flatnonzero(np.append(True, changes))
    merged = replace(rows, y_pred=p)[order[first]]
    weight = np.add.reduceat(rows.weights[order], first)
    return replace(merged, weight=weight), q[order[first]]


def _measure_strength(
    rows: Rows, scores: Floats, strength: float, performance: Performance
) -> dict[str, Any]:
    """Return the row of the table that has one strength."""
    rows = replace(rows, y_pred=scores)[np.argsort(scores)]
    by_fold = [
        _measure(rows[rows.fold == fold], performance)
        for fold in range(rows.fold.max() + 1)
    ]
    record: dict[str, Any] = {"params": {"strength": strength}, "strength": strength}
    for name, value in _measure(rows, performance).items():
        values = np.array([values[name] for values in by_fold])
        defined = values[~np.isnan(values)]
        record[f"mean_test_{name}"] = value
        record[f"std_test_{name}"] = defined.std() if len(defined) else np.nan
        for fold, fold_value in enumerate(values):
            record[f"split{fold}_test_{name}"] = fold_value
    return record


def _measure(rows: Rows, performance: Performance) -> dict[str, float]:
    """Return average precision or R2, and minus MCDP(0); nan where undefined.

    With strata, MCDP(0) is the mean over strata. With more than two groups, adjusted
    MCDP(0) is also returned.
    """
    if performance == "r2":
        value = r2(rows.y_true, rows.y_pred, rows.weights)
    else:
        value = average_precision(rows.y_true, rows.y_pred, rows.weights)[0]
    whole = rows.strata is not None or rows.groups.sizes().all()
    gap = mean_mcdp(rows).value if whole else math.nan
    measured = {performance: value, "neg_mcdp": -gap}
    if rows.n_groups > 2:
        measured["neg_adjusted_mcdp"] = -mean_mcdp(rows, adjusts=True).value
    return measured


def choose_strength(
    table: pd.DataFrame, performance: Performance, max_mcdp: float | None = None
) -> int:
    """Return the position of the strength to take.

    With `max_mcdp`, the smallest strength whose MCDP is at most `max_mcdp` is taken, or
    the fairest strength if there is none. Otherwise only strengths count that keep a
    share of the plain performance (in the first row). Among them, the smallest strength
    is taken whose MCDP is within one standard error of the smallest MCDP.
    """
    name = "neg_adjusted_mcdp"
    if f"mean_test_{name}" not in table:
        name = "neg_mcdp"
    gap = -table[f"mean_test_{name}"].to_numpy(dtype=np.float64)
    if np.isnan(gap).all():
        return 0
    if max_mcdp is not None:
        small = gap <= max_mcdp
        return int(small.argmax() if small.any() else np.nanargmin(gap))
    values = table[f"mean_test_{performance}"].to_numpy(dtype=np.float64)
    performs = values >= _KEPT[performance] * values[0]
    fairest = int(np.where(performs, gap, np.inf).argmin())
    folds = table.filter(regex=rf"^split\d+_test_{name}$").shape[1]
    error = standard_error(table, name, fairest) if folds > 1 else 0.0
    return int((performs & (gap <= gap[fairest] + np.nan_to_num(error))).argmax())
