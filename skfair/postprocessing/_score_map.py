"""Map from a predicted score and probabilities of groups to a fairer score."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from skfair._comparison import mean_mcdp
from skfair._penalty._penalised_loss import clip_scores
from skfair._training_rows import Array, TrainingRows
from skfair._utils._types import Floats, Integers
from skfair.model_selection._candidates import standard_error

#: How a path measures what a model predicts: a probability, or a number.
Performance: TypeAlias = Literal["average_precision", "r2"]

#: Bounds of the intercept and the slope of a line of log-odds.
_LINES = ((-20.0, 20.0), (0.1, 10.0))
#: Thresholds of a map, and steps from the plain gap to none. More of either changed
#: little.
_N_THRESHOLDS, _N_STEPS = 40, 20
#: Standard deviation by which decisions are smoothed in a fit: of the distance to the
#: next thresholds, and of the change of scores. Wider ones left larger gaps.
_WIDTH, _WIDTH_OF_CHANGE = 0.5, 0.05
#: Newton steps for each step of the gap. One changes scores by no more than so many
#: widths, and a share of what they have changed already.
_N_NEWTON, _REACH, _REACH_OF_CHANGE = 3, 2.0, 0.3
#: Gap that is left for each unit of a factor, where scores have a standard deviation of
#: 1: so many over the number of rows. Without it, noise of a group that is hardly
#: predicted would change all scores.
_RIDGE_BY_ROW = 3.0
#: Least slope of a rate in a Newton step, of scores with a standard deviation of 1.
_LEAST_SLOPE = 0.01
#: Rows are joined that share one of these levels of the score, equally many in each,
#: and of q.
_SCORE_LEVELS, _Q_LEVELS = 100, 10
#: Most folds of the held-out rows, over which a map is fitted and measured.
_N_FOLDS = 5
#: Share of the plain performance that ``strength="auto"`` keeps.
KEPT: dict[Performance, float] = {"average_precision": 0.95, "r2": 0.8}


@dataclass(frozen=True, eq=False)
class PredictedRows(TrainingRows):
    """Rows with predictions by models that were not fitted to them.

    `scores` are predicted numbers, or probabilities of the second class, `q` those of
    each group, shape (n_samples, n_groups), and `folds` says which rows were held out
    together.
    """

    q: Any = None
    folds: Any = None


class Calibration(NamedTuple):
    """Line from predictions to their target, of log-odds if they are probabilities."""

    intercept: float
    slope: float
    of_log_odds: bool

    @classmethod
    def fit(cls, rows: PredictedRows, of_log_odds: bool) -> Self:
        """Fit by log-loss or squared error. A line that does not rise is not used."""
        weights = rows.weights / rows.weights.sum()
        if of_log_odds:
            log_odds, y = logit(clip_scores(rows.scores)), rows.y

            def loss(line: Array) -> tuple[float, Array]:
                found = line[0] + line[1] * log_odds
                slopes = weights * (expit(found) - y)
                value = weights @ (np.logaddexp(0, found) - y * found)
                return float(value), np.array([slopes.sum(), slopes @ log_odds])

            best = minimize(loss, (0.0, 1.0), jac=True, bounds=_LINES).x
            return cls(float(best[0]), float(best[1]), of_log_odds)
        center, level = float(weights @ rows.scores), float(weights @ rows.y)
        centered = rows.scores - center
        variance = float(weights @ centered**2)
        product = float(weights @ (centered * (rows.y - level)))
        if not product > 1e-9 * max(variance, center**2):
            return cls(0.0, 1.0, of_log_odds)
        slope = product / variance
        return cls(level - slope * center, slope, of_log_odds)

    def __call__(self, scores: Array) -> Array:
        """Return calibrated predictions."""
        if not self.of_log_odds:
            return np.asarray(self.intercept + self.slope * scores)
        log_odds = logit(np.clip(scores, 1e-12, 1 - 1e-12))
        return np.asarray(expit(self.intercept + self.slope * log_odds))


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Score that is as high as the thresholds that a row passes.

    A row passes a threshold if its calibrated score is above the threshold plus a sum
    over groups: a factor times the probability of the group over its share. `factors`
    have shape (n_groups, n_thresholds), and are linear between thresholds. Where rows
    that pass a threshold pass all lower ones, the new score is the highest threshold
    passed.
    """

    thresholds: Array
    shares: Array
    factors: Array
    calibration: Calibration

    def __call__(self, p: Array, q: Array) -> Array:
        """Return new scores."""
        if not self.factors.any():
            return p
        change = relative(q, self.shares) @ self.factors
        beyond = self.calibration(p)[:, None] - self.thresholds - change
        passed, size = np.maximum(beyond, 0), np.abs(beyond)
        total = size[:, 1:] + size[:, :-1]
        shares = (passed[:, 1:] + passed[:, :-1]) / np.where(total > 0, total, 1)
        inside = shares @ np.diff(self.thresholds)
        below, above = np.minimum(beyond[:, 0], 0), passed[:, -1]
        lowest, highest = self.thresholds[[0, -1]]
        if self.calibration.of_log_odds:  # they approach 0 and 1, and never tie
            below = below * lowest / (lowest - below)
            above = above * (1 - highest) / (1 - highest + above)
        return np.asarray(lowest + below + inside + above)


def relative(q: Array, shares: Array) -> Array:
    """Probability of each group over its share, 0 for a group without weight."""
    return np.divide(q, shares, out=np.zeros(q.shape), where=shares > 0)


@dataclass(frozen=True, eq=False)
class MapPath:
    """Maps at increasing strengths, and between two of them the mean of their factors.

    Beyond the largest strength the gap is closed, and the map stays the same.
    """

    strengths: tuple[float, ...]
    maps: list[ScoreMap]

    def at(self, strength: float) -> ScoreMap:
        """Return the map at a strength."""
        after = bisect_left(self.strengths, strength)
        if after == 0 or after == len(self.strengths):
            return self.maps[min(after, len(self.maps) - 1)]
        low, high = self.strengths[after - 1 : after + 1]
        first, second = self.maps[after - 1 : after + 1]
        share = (strength - low) / (high - low)
        return replace(
            first, factors=(1 - share) * first.factors + share * second.factors
        )


@dataclass(frozen=True, eq=False)
class CrossFittedPath:
    """The path of all rows, and for each part of them that of the other rows."""

    whole: MapPath
    parts: list[tuple[Integers, MapPath]]
    performance: Performance

    def held_out_scores(self, rows: PredictedRows, strength: float) -> Floats:
        """Return new scores of rows by maps that were fitted to other rows."""
        scores = np.empty(len(rows))
        for part, path in self.parts:
            scores[part] = path.at(strength)(rows.scores[part], rows.q[part])
        return scores


def fit_path(rows: PredictedRows, performance: Performance) -> CrossFittedPath:
    """Fit maps whose gap falls from the plain one to none in equal steps."""
    merged = _merge_equal(rows)
    parts = [
        (test, fit_maps(merged.take(train), performance))
        for (_, test), (train, _) in zip(
            _map_splits(rows), _map_splits(merged), strict=True
        )
    ]
    return CrossFittedPath(fit_maps(merged, performance), parts, performance)


def fit_maps(rows: PredictedRows, performance: Performance) -> MapPath:
    """Find, at each threshold, the factors that leave a gap and cost least.

    The loss is a mean over thresholds of the cost of decisions, and the gap is that of
    decisions too, so that each threshold has its own problem. With Lagrange multipliers
    its solution is a `ScoreMap`. The multipliers add up to the strength.
    """
    calibration = Calibration.fit(rows, performance == "average_precision")
    scores = calibration(rows.scores)
    if calibration.of_log_odds:
        scores = clip_scores(scores)
    joined = _join_close(replace(rows, scores=scores))
    thresholds = _thresholds(joined)
    shares = np.bincount(joined.codes, joined.weights, rows.q.shape[1])
    shares = shares / max(shares.sum(), 1e-300)
    none = np.zeros((len(shares), len(thresholds)))
    plain = ScoreMap(thresholds, shares, none, calibration)
    if len(thresholds) < 2:
        return MapPath((0.0,), [plain])
    if performance == "r2":
        weights = rows.weights / rows.weights.sum()
        variance = weights @ (rows.scores - weights @ rows.scores) ** 2
        costs = np.full(len(thresholds), 1 / variance)
    else:
        positive = np.average(rows.y, weights=rows.weights)
        unit = 4 * positive * (1 - positive) or 1.0  # a single class has no unit
        costs = 1 / (unit * thresholds * (1 - thresholds))
    strengths, maps = [0.0], [plain]
    for factors in _close_gap(joined, thresholds, shares, _count(rows.weights)):
        multipliers = np.abs(factors).sum(axis=0) / 2
        strength = float(np.trapezoid(multipliers * costs, thresholds))
        if np.isfinite(strength) and strength > strengths[-1]:
            strengths.append(strength)
            maps.append(replace(plain, factors=factors))
    return MapPath(tuple(strengths), maps)


def _count(weights: Array) -> float:
    """Count rows: whole weights do, others by the effective number."""
    total = float(weights.sum())
    return total if (weights % 1 == 0).all() else total**2 / float(weights @ weights)


def _thresholds(rows: PredictedRows) -> Array:
    """Half way between quantiles of the scores and points at equal distances."""
    if not len(rows):
        return np.zeros(0)
    levels = (np.arange(_N_THRESHOLDS) + 0.5) / _N_THRESHOLDS
    places = rows.weights.cumsum() / rows.weights.sum()
    last = len(rows) - 1
    quantiles = rows.scores[np.minimum(np.searchsorted(places, levels), last)]
    quantiles = np.unique(quantiles)
    spread = np.linspace(quantiles[0], quantiles[-1], len(quantiles))
    distinct: Array = np.unique((quantiles + spread) / 2)
    least = 1e-9 * max(abs(distinct[0]), abs(distinct[-1]))
    return distinct if distinct[-1] - distinct[0] > least else distinct[:1]


def _close_gap(
    rows: PredictedRows, thresholds: Array, shares: Array, n_rows: float
) -> Iterator[Array]:
    """Yield factors at which the gap is at most 0.95, 0.9, ... 0 of the plain one.

    At each threshold, groups whose rate of passing is farthest from the others' get
    factors, which add up to 0. Newton steps find them, with the slopes of the rates as
    if q were true, which are symmetric.
    """
    contrasts, relatives = _contrasts(rows), relative(rows.q, shares)
    weights = rows.weights / rows.weights.sum()
    products = relatives[:, :, None] * relatives[:, None, :]
    products = products.reshape(len(weights), -1)
    n_groups, n_thresholds = len(shares), len(thresholds)
    moments = (weights @ products).reshape(n_groups, n_groups)
    mean = weights @ rows.scores
    deviation = np.sqrt(weights @ (rows.scores - mean) ** 2)
    ridge = _RIDGE_BY_ROW / n_rows / deviation
    least = _LEAST_SLOPE * moments / deviation + ridge * np.eye(n_groups)
    level = np.trace(least) / n_groups
    spacing = np.maximum(np.gradient(thresholds), 1e-6 * deviation)

    def size(factors: Array) -> Array:
        """Root mean square of the change of scores, at each threshold."""
        squares = np.einsum("gt,gh,ht->t", factors, moments, factors)
        return np.asarray(np.sqrt(np.maximum(squares, 0)))

    def rates(factors: Array) -> tuple[Array, Array, Array]:
        width = np.hypot(_WIDTH * spacing, _WIDTH_OF_CHANGE * size(factors))
        change = relatives @ factors
        passed = expit((rows.scores[:, None] - thresholds - change) / width)
        return passed, contrasts.T @ passed, width

    factors = np.zeros((n_groups, n_thresholds))
    passed, rate, width = rates(factors)
    plain_gap = np.ptp(rate, axis=0).max()
    if not plain_gap > 1e-9:
        return
    for limit in np.linspace(plain_gap, 0, _N_STEPS + 1)[1:]:
        for _ in range(_N_NEWTON):
            slopes = (weights[:, None] * passed * (1 - passed) / width).T @ products
            slopes = slopes.reshape(n_thresholds, n_groups, n_groups) + least
            excess = rate - (rate.max(axis=0) + rate.min(axis=0)) / 2
            outside = np.where(np.abs(excess) > limit / 2, np.sign(excess), 0)
            side = np.where(factors != 0, np.sign(factors), outside)
            center = _centers(side != 0)
            missing = excess - side * limit / 2 - ridge * factors
            # Any number on the diagonal serves for what is projected out.
            slopes = center @ slopes @ center + level * (np.eye(n_groups) - center)
            step = center @ np.linalg.solve(slopes, center @ missing.T[..., None])
            step = step[..., 0].T
            most = _REACH * width + _REACH_OF_CHANGE * size(factors)
            step *= np.minimum(1, most / np.maximum(size(step), 1e-300))
            factors = factors + step
            turned = factors * side < 0  # such a group needs no factor
            factors[turned] = 0
            factors = (_centers(factors != 0) @ factors.T[..., None])[..., 0].T
            passed, rate, width = rates(factors)
        yield factors


def _centers(chosen: NDArray[np.bool_]) -> Array:
    """For each column, the matrix that takes the mean of the chosen rows from them."""
    own = chosen.T[:, :, None] * np.eye(len(chosen))
    counts = np.maximum(chosen.sum(axis=0), 1)[:, None, None]
    return np.asarray(own - chosen.T[:, :, None] * chosen.T[:, None, :] / counts)


def _contrasts(rows: PredictedRows) -> Array:
    """Share of each row in the excess of each group, mean over strata by weight."""
    strata = rows.stratum_codes
    strata = np.zeros(len(rows), dtype=np.intp) if strata is None else strata
    found = np.zeros(rows.q.shape)
    everyone = rows.weights.sum()
    for stratum in np.unique(strata):
        chosen = np.flatnonzero(strata == stratum)
        weights, codes = rows.weights[chosen], rows.codes[chosen]
        totals = np.bincount(codes, weights, found.shape[1])
        present = totals > 0
        mean = present / present.sum()
        own = (codes[:, None] == np.arange(len(totals))) - mean
        share = weights.sum() / everyone
        found[chosen] = share * (weights / totals[codes])[:, None] * own
    return found


def _join_close(rows: PredictedRows) -> PredictedRows:
    """Join rows with nearly the same score and q, and sum their weights.

    A fit to many rows is then about as fast as one to a few thousand. Rows of no group
    or stratum are left out; the others are in the order of those levels.
    """
    rows = rows.take(rows.cells >= 0)
    rows = rows.take(np.argsort(rows.scores, kind="stable"))
    places = rows.weights.cumsum() / max(rows.weights.sum(), 1e-300)
    top = _SCORE_LEVELS - 1
    levels = np.minimum(places * _SCORE_LEVELS, top).astype(np.intp)
    strata = np.zeros(len(rows)) if rows.strata is None else rows.strata.codes
    for column in [*(rows.q[:, :-1].T * _Q_LEVELS).round(), rows.codes, strata]:
        values, codes = np.unique(column, return_inverse=True)
        levels = np.unique(levels * len(values) + codes, return_inverse=True)[1]
    first = np.unique(levels, return_index=True)[1]
    weights = np.bincount(levels, rows.weights)

    def mean(values: Array) -> Array:
        return np.bincount(levels, rows.weights * values) / weights

    return replace(
        rows.take(first),
        sample_weight=weights,
        scores=mean(rows.scores),
        q=np.column_stack([mean(values) for values in rows.q.T]),
    )


def path_table(
    rows: PredictedRows, path: CrossFittedPath, strength: float | None = None
) -> pd.DataFrame:
    """Measure strengths on held-out rows: 0 and one that is given, or all of the path.

    As in the table of a search, ``mean_test_`` is that of all rows together: the mean
    over folds of a disparity is too large, because its noise does not cancel.
    """
    folds = np.zeros(len(rows), dtype=np.intp)
    for fold, (part, _) in enumerate(path.parts):
        folds[part] = fold
    strengths = path.whole.strengths if strength is None else (0.0, strength)
    bare = replace(rows, scores=None, q=None, folds=None)
    scores = (path.held_out_scores(rows, one) for one in strengths)
    return pd.DataFrame(
        [
            _record(bare, found, one, folds, path.performance)
            for one, found in zip(strengths, scores, strict=True)
        ]
    )


def _merge_equal(rows: PredictedRows) -> PredictedRows:
    """Sort rows, and merge equal ones, adding their weights.

    A fit is then the same to the last bit whatever the order of the rows, and whether
    a row has a weight of two or stands twice: near the kink that the gap has at 0,
    rounding would otherwise grow from step to step.
    """
    p, q = rows.scores.round(12) + 0.0, rows.q.round(12) + 0.0
    strata = np.zeros(len(p)) if rows.strata is None else rows.strata.codes
    keys = np.column_stack([p, q, rows.y, rows.groups.codes, rows.folds, strata])
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(inverse.ravel(), rows.weights) + 0.0
    merged = replace(rows, scores=p, q=q).take(first)
    return replace(merged, sample_weight=weights)


def _map_splits(rows: PredictedRows) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Rows to fit a map to, and rows to measure it on: the folds, five at most."""
    folds = np.unique(rows.folds, return_inverse=True)[1]
    if folds.max() == 0:  # one fold only: parts by the order of scores
        folds = np.argsort(np.argsort(rows.scores))
    folds %= _N_FOLDS
    for fold in np.unique(folds):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


def _record(
    rows: PredictedRows,
    scores: Floats,
    strength: float,
    folds: Integers,
    performance: Performance,
) -> dict[str, Any]:
    """One row of the table of strengths."""
    order = np.argsort(scores)
    rows, scores, folds = rows.take(order), scores[order], folds[order]
    parts = [folds == fold for fold in range(folds.max() + 1)]
    pooled, *by_fold = [
        _measure(rows.take(part), scores[part], performance)
        for part in (np.ones(len(rows), dtype=bool), *parts)
    ]
    record: dict[str, Any] = {"params": {"strength": strength}, "strength": strength}
    for position, name in enumerate((performance, "neg_mcdp")):
        values = np.array([values[position] for values in by_fold])
        defined = values[~np.isnan(values)]
        record[f"mean_test_{name}"] = pooled[position]
        record[f"std_test_{name}"] = defined.std() if len(defined) else np.nan
        for fold, value in enumerate(values):
            record[f"split{fold}_test_{name}"] = value
    return record


def _measure(
    rows: PredictedRows, scores: Floats, performance: Performance
) -> tuple[float, float]:
    """Average precision or R2, and minus MCDP(0), nan where they are undefined.

    Rows are in the order of their scores. MCDP within strata is their mean.
    """
    last = np.append(scores[1:] > scores[:-1], True)  # row of each distinct score

    def cumulated(members: NDArray[np.bool_]) -> Array:
        return np.asarray(np.cumsum(rows.weights * members)[last])

    if performance == "r2":
        reached = _r2(rows, scores)
    else:
        reached = _average_precision(*(cumulated(rows.y == label) for label in (1, 0)))
    if rows.strata is not None:
        gap = mean_mcdp(scores, rows.groups, rows.weights, rows.strata.codes).value
        return reached, -gap
    groups = range(len(rows.groups.labels))
    totals = np.array([cumulated(rows.codes == group) for group in groups])
    if not totals[:, -1].all():
        return reached, math.nan
    return reached, -float(np.ptp(totals / totals[:, -1:], axis=0).max())


def _r2(rows: PredictedRows, scores: Floats) -> float:
    """R2, nan of targets that are all equal."""
    variation = rows.weights @ (rows.y - np.average(rows.y, weights=rows.weights)) ** 2
    if not variation > 0:
        return math.nan
    return float(1 - rows.weights @ (rows.y - scores) ** 2 / variation)


def _average_precision(positive: Array, negative: Array) -> float:
    """Average precision from the weights of both classes up to each distinct score."""
    if not (positive[-1] and negative[-1]):
        return math.nan
    everyone = positive + negative
    found, selected = (
        total[-1] - np.append(0.0, total[:-1]) for total in (positive, everyone)
    )
    hits = np.diff(positive, prepend=0.0)
    return float(hits @ (found / selected) / positive[-1])


def choose_strength(
    table: pd.DataFrame, performance: Performance, max_mcdp: float | None = None
) -> int:
    """Position of the strength to take.

    With `max_mcdp` it is the least whose MCDP is at most that, or else the fairest.
    Otherwise it is the least that is about as fair as the fairest one which keeps a
    share of the plain performance (of the first row), and keeps it too: their MCDP
    differs by no more than a standard error.
    """
    gap = -table["mean_test_neg_mcdp"].to_numpy(dtype=np.float64)
    if np.isnan(gap).all():
        return 0
    if max_mcdp is not None:
        small = gap <= max_mcdp
        return int(small.argmax() if small.any() else np.nanargmin(gap))
    reached = table[f"mean_test_{performance}"].to_numpy(dtype=np.float64)
    kept = reached >= KEPT[performance] * reached[0]
    fairest = int(np.where(kept, gap, np.inf).argmin())
    folds = table.filter(regex=r"^split\d+_test_neg_mcdp$").shape[1]
    error = standard_error(table, "neg_mcdp", fairest) if folds > 1 else 0.0
    return int((kept & (gap <= gap[fairest] + np.nan_to_num(error))).argmax())
