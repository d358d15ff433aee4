"""Map from a predicted number and probabilities of groups to a fairer number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from skfair._comparison import compare_regressors
from skfair._penalty._smooth_gap import (
    SmoothGap,
    mean_over_strata,
    smooth_gap_on_grid,
)
from skfair._training_rows import Array
from skfair.model_selection._candidates import standard_error
from skfair.postprocessing._score_map import (
    PredictedRows,
    ScoreMap,
    strength_record,
)

#: Strengths at which the trade-off is computed; 0 is the plain regressor.
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.25, 1.7, 3.0)
#: Steepness and sharpness of the smooth gap, as for probabilities, and the points
#: between the least and the largest prediction at which it is computed.
_TEMPERATURE, _SHARPNESS, _N_POINTS = 50.0, 100.0, 301
_N_KNOTS = 6
#: Weight of the sum of squared coefficients, at least, and over the number of rows.
_RIDGE, _RIDGE_BY_ROW = 1e-3, 30.0
#: Most steps of a fit, and the share of the loss below which a step ends it.
_MAX_ITER, _TOLERANCE = 60, 1e-6
#: Share of the plain R2 that ``strength="auto"`` keeps.
_KEPT_R2 = 0.8


@dataclass(frozen=True, eq=False)
class PredictionMap(ScoreMap):
    """Prediction plus a function of it, and one for each group times its probability.

    The functions are those of `ScoreMap`, of predictions whose mean is 0 and whose
    standard deviation is 1; beyond the knots they are constant.
    """

    mean: float = 0.0
    deviation: float = 1.0

    def __call__(self, p: Array, q: Array) -> Array:
        """Return the new prediction."""
        if not self.heights.any():
            return p
        hats, excess = self.features((p - self.mean) / self.deviation, q)
        change = hats * (self.heights[0] + excess @ self.heights[1:])
        return np.asarray(p + self.deviation * change.sum(axis=1))


def fit_map(
    rows: PredictedRows, strength: float, start: PredictionMap | None = None
) -> PredictionMap:
    """Minimise half the squared error plus strength times the smooth gap.

    Both are of predictions whose standard deviation is 1, so that a strength means the
    same in every unit.
    """
    weights = rows.weights / rows.weights.sum()
    mean = float(weights @ rows.scores)
    deviation = float(np.sqrt(weights @ (rows.scores - mean) ** 2))
    shares = weights @ rows.q[:, :-1]
    if not deviation > 1e-9 * abs(mean):
        none = np.zeros((rows.q.shape[1], 1))
        return PredictionMap(np.zeros(1), shares, none)
    p, y = (rows.scores - mean) / deviation, (rows.y - mean) / deviation
    quantiles = np.linspace(0.02, 0.98, _N_KNOTS)
    knots = np.quantile(p, quantiles, weights=weights, method="inverted_cdf")
    knots = np.unique(knots)
    heights = np.zeros((rows.q.shape[1], len(knots)))
    plain = PredictionMap(knots, shares, heights, mean, deviation)
    if not strength:
        return plain
    hats, excess = plain.features(p, rows.q)
    factors = np.column_stack([np.ones(len(hats)), excess])
    columns = (factors[:, :, None] * hats[:, None, :]).reshape(len(p), -1)
    scale = np.sqrt(weights @ columns**2)
    scale[scale < 1e-9] = np.inf  # a function of nothing is left at 0
    columns /= scale
    ridge = _RIDGE + _RIDGE_BY_ROW / len(weights)
    low, high = p.min(), p.max()

    def objective(scaled: Array) -> tuple[float, Array]:
        scores = p + columns @ scaled
        errors = scores - y
        gap = _gap(rows, weights, (scores - low) / (high - low))
        value = weights @ errors**2 / 2 + strength * gap.value
        slopes = weights * errors + strength * gap.gradient / (high - low)
        value += ridge / 2 * float(scaled @ scaled)
        return float(value), slopes @ columns + ridge * scaled

    first: Array = np.zeros(len(scale))
    if start is not None and start.heights.shape == heights.shape:
        first = start.heights.ravel() * np.where(np.isinf(scale), 0.0, scale)
    options = {"maxiter": _MAX_ITER, "ftol": _TOLERANCE}
    best = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
    return replace(plain, heights=(best.x / scale).reshape(heights.shape))


def _gap(rows: PredictedRows, weights: Array, places: Array) -> SmoothGap:
    """Smooth gap of predictions from 0 to 1 (within strata), and its gradient in them.

    Each row is split between the two points of the grid next to it.
    """
    inside = (places >= 0) & (places <= 1)
    left = np.clip(places, 0, 1) * (_N_POINTS - 1)
    points = np.minimum(left.astype(np.intp), _N_POINTS - 2)
    right_share = left - points
    n_groups = len(rows.groups.labels)

    def within(chosen: slice | NDArray[np.intp], stratum: int) -> SmoothGap:
        codes, at = rows.codes[chosen], points[chosen]
        own, right = np.where(codes < 0, 0, weights[chosen]), right_share[chosen]
        cells = np.maximum(codes, 0).astype(np.intp) * _N_POINTS + at
        size = n_groups * _N_POINTS
        totals = np.bincount(cells, own * (1 - right), size)
        totals += np.bincount(cells + 1, own * right, size)
        grid: Array = totals.reshape(n_groups, _N_POINTS).astype(np.float64)
        gap = smooth_gap_on_grid(grid, _TEMPERATURE, "mcdp", _SHARPNESS)
        slopes = np.divide(
            gap.gradient.ravel(), totals, out=np.zeros(size), where=totals > 0
        )
        by_row = slopes[cells] * (1 - right) + slopes[cells + 1] * right
        return replace(gap, gradient=own * by_row)

    gap = mean_over_strata(rows.stratum_codes, weights, within)
    return replace(gap, gradient=np.where(inside, gap.gradient, 0.0))


class HeldOutPredictions(NamedTuple):
    """Maps at several strengths, and what they predict for rows held out from them."""

    maps: list[PredictionMap]
    scores: list[Array]
    table: pd.DataFrame


def fit_path(rows: PredictedRows, strengths: tuple[float, ...]) -> HeldOutPredictions:
    """Fit a map at each strength, and measure maps that were fitted to other rows."""
    folds = [
        (np.flatnonzero(rows.folds != fold), np.flatnonzero(rows.folds == fold))
        for fold in np.unique(rows.folds)
    ]
    if len(folds) == 1:  # all rows are held out together: fifths by order
        ranks = np.argsort(np.argsort(rows.scores, kind="stable")) % 5
        folds = [
            (np.flatnonzero(ranks != fold), np.flatnonzero(ranks == fold))
            for fold in range(5)
        ]
    merged = _merge_equal(rows)
    trains = [_merge_equal(rows.take(train)) for train, _ in folds]
    maps: list[PredictionMap] = []
    all_scores: list[Array] = []
    records = []
    for strength in strengths:
        maps.append(fit_map(merged, strength))
        scores = np.empty(len(rows))
        for train, (_, test) in zip(trains, folds, strict=True):
            own = fit_map(train, strength, maps[-1])
            scores[test] = own(rows.scores[test], rows.q[test])
        all_scores.append(scores)
        records.append(_record(rows, scores, strength, [test for _, test in folds]))
    return HeldOutPredictions(maps, all_scores, pd.DataFrame(records))


def _merge_equal(rows: PredictedRows) -> PredictedRows:
    """Sort rows, and merge equal ones, adding their weights.

    A fit is then the same whatever the order of the rows, and whether a row has a
    weight of two or stands twice.
    """
    strata = np.zeros(len(rows)) if rows.strata is None else rows.strata.codes
    q = rows.q.round(12)
    keys = np.column_stack([rows.scores, q, rows.y, rows.codes, strata])
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(inverse.ravel(), rows.weights)
    return replace(replace(rows, q=q).take(first), sample_weight=weights)


def _record(
    rows: PredictedRows,
    scores: Array,
    strength: float,
    folds: list[NDArray[np.intp]],
) -> dict[str, Any]:
    """One row of the table of strengths."""
    pooled, *by_fold = [
        (found.r2, -found.mcdp)
        for part in (np.arange(len(scores)), *folds)
        for found in [
            compare_regressors(rows.take(part), rows.scores[part], scores[part])
        ]
    ]
    return strength_record(strength, ("r2", "neg_mcdp"), pooled, by_fold)


def choose_strength(table: pd.DataFrame, max_mcdp: float | None) -> int:
    """Position of the strength to take.

    With `max_mcdp` it is the least whose MCDP is at most that, or else the fairest.
    Otherwise it is the least that is about as fair as the fairest one which keeps a
    share of the plain R2: their MCDP differs by no more than a standard error.
    """
    gap = -table["mean_test_neg_mcdp"].to_numpy(dtype=np.float64)
    if np.isnan(gap).all():
        return 0
    if max_mcdp is not None:
        small = gap <= max_mcdp
        return int(small.argmax() if small.any() else np.nanargmin(gap))
    r2 = table["mean_test_r2"].to_numpy(dtype=np.float64)
    kept = r2 >= _KEPT_R2 * r2[0]
    fairest = int(np.where(kept, gap, np.inf).argmin())
    error = np.nan_to_num(standard_error(table, "neg_mcdp", fairest))
    return int((kept & (gap <= gap[fairest] + error)).argmax())
