"""Map from two predicted probabilities to a fairer one: of the class, of the group."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from skfair._comparison import mean_mcdp
from skfair._penalty._penalised_loss import PenalisedLoss, clip_scores
from skfair._training_rows import Array, TrainingRows
from skfair._utils._types import Floats, Integers
from skfair.model_selection._candidates import standard_error

#: Strengths at which a map is fitted; 0 is the plain classifier.
STRENGTHS = (0.0, 0.05, 0.12, 0.25, 0.4, 0.7, 1.2, 2.0, 4.0)
#: Largest change of MCDP(0) from one row of the path to the next, as a share of the
#: plain one, where at most so many mixtures of two maps suffice.
_STEP, _MOST_MIXED = 0.05, 7
#: Steepness of the sigmoids that smooth the CDFs, as in `MCDPReweighter`.
_TEMPERATURE = 50.0
#: Number of knots of the piecewise linear functions, of 4, 6 and 9 the best on Adult.
_N_KNOTS = 6
#: Weight of the sum of squared coefficients, in units of one standard deviation: at
#: least, and over the number of distinct rows, so that few rows change scores little.
_RIDGE, _RIDGE_BY_ROW = 1e-3, 30.0
#: A fit ends after so many steps, or where one gains less than a tolerance: of the maps
#: for new rows, and of those that measure them, which start where the former end.
_MAX_ITER, _TOLERANCE, _FOLD_TOLERANCE = 100, 3e-6, 1e-4
#: Rows are joined that share one of these levels of p, equally many in each, and of q.
_P_LEVELS, _Q_LEVELS = 100, 20
#: Most folds of the held-out rows, over which a map is fitted and measured.
_N_FOLDS = 5
#: Share of the plain average precision that ``strength="auto"`` keeps.
_KEPT_PRECISION = 0.95


@dataclass(frozen=True, eq=False)
class PredictedRows(TrainingRows):
    """Rows with probabilities by models that were not fitted to them.

    `scores` are those of the second class, `q` those of each group, shape (n_samples,
    n_groups), and `folds` says which rows were held out together. A row may stand for
    several, of `n_distinct` in all.
    """

    q: Any = None
    folds: Any = None
    n_joined: Any = None

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return len(self) if self.n_joined is None else int(self.n_joined.sum())


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Log-odds plus a function of them, and one for each group times its probability.

    The functions are linear between the `knots`, with the values `heights`: in row 0
    the first function, then one for each group but the last, whose probability is taken
    minus its mean `shares`.
    """

    knots: Array
    shares: Array
    heights: Array

    def __call__(self, p: Array, q: Array) -> Array:
        """Return the new probability of the second class."""
        if not self.heights.any():
            return p
        log_odds = logit(clip_scores(p))
        hats, excess = self.features(log_odds, q)
        change = hats * (self.heights[0] + excess @ self.heights[1:])
        # Scores that are clipped keep their order: they are spread a little.
        beyond = logit(np.clip(p, 1e-12, 1 - 1e-12)) - log_odds
        return np.asarray(expit(log_odds + 1e-3 * beyond + change.sum(axis=1)))

    def features(self, log_odds: Array, q: Array) -> tuple[Array, Array]:
        """Return hat functions of the knots, and probabilities minus their means."""
        peaks = np.arange(len(self.knots))
        place = np.interp(log_odds, self.knots, peaks)
        hats = np.maximum(1 - np.abs(place[:, None] - peaks), 0)
        return hats, q[:, :-1] - self.shares


def fit_map(
    rows: PredictedRows,
    strength: float,
    start: ScoreMap | None = None,
    tolerance: float = _TOLERANCE,
) -> ScoreMap:
    """Minimise log-loss plus strength times the smooth gap, from `start` if given.

    The strength is in units that suit the base rate, see `PenalisedLoss.for_labels`.
    """
    weights = rows.weights / rows.weights.sum()
    log_odds = logit(clip_scores(rows.scores))
    quantiles = np.linspace(0.02, 0.98, _N_KNOTS)
    knots = np.quantile(log_odds, quantiles, weights=weights, method="inverted_cdf")
    knots, shares = np.unique(knots), weights @ rows.q[:, :-1]
    plain = ScoreMap(knots, shares, np.zeros((rows.q.shape[1], len(knots))))
    if not strength:
        return plain
    hats, excess = plain.features(log_odds, rows.q)
    factors = np.column_stack([np.ones(len(hats)), excess])
    scale = np.sqrt(factors.T**2 @ (weights[:, None] * hats**2))
    scale[scale < 1e-9] = np.inf  # a function of nothing is left at 0
    loss = PenalisedLoss(strength, _TEMPERATURE, "mcdp").for_labels(rows.y, weights)
    loss = loss.rescaled(rows.scores, weights, rows.stratum_codes)
    # The variance of the labels, of balanced ones 1, and 1 of a single class.
    unit = loss.strength / strength or 1.0
    ridge = _RIDGE + _RIDGE_BY_ROW / rows.n_distinct
    train = replace(rows, sample_weight=weights)

    def objective(scaled: Array) -> tuple[float, Array]:
        heights = scaled.reshape(scale.shape) / scale
        change = np.einsum("ij,ij->i", hats, factors @ heights)
        scores = clip_scores(expit(log_odds + change))
        found = loss.evaluate(scores, train)
        slopes = weights * (scores - rows.y + found.penalty_gradient)
        gradient = factors.T @ (slopes[:, None] * hats) / scale
        value = found.loss + loss.strength * np.nan_to_num(found.gap)
        value += ridge / 2 * float(scaled @ scaled)
        return value / unit, (gradient.ravel() + ridge * scaled) / unit

    first = np.zeros(scale.size)
    if start is not None and start.heights.shape == scale.shape:
        first = (start.heights * np.where(np.isinf(scale), 0.0, scale)).ravel()
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_ITER, "ftol": tolerance},
    )
    return replace(plain, heights=found.x.reshape(scale.shape) / scale)


@dataclass(frozen=True, eq=False)
class MapPath:
    """Maps at increasing strengths, and between two of them mixtures of log-odds."""

    strengths: tuple[float, ...]
    maps: list[ScoreMap]

    def at(self, strength: float) -> ScoreMap:
        """Return the map at a strength up to the largest."""
        after = max(1, bisect_left(self.strengths, strength))
        low, high = self.strengths[after - 1 : after + 1]
        first, second = self.maps[after - 1 : after + 1]
        share = (strength - low) / (high - low)
        return replace(
            first, heights=(1 - share) * first.heights + share * second.heights
        )


@dataclass(frozen=True, eq=False)
class CrossFittedPath:
    """The path of all rows, and for each part of them that of the other rows."""

    whole: MapPath
    parts: list[tuple[Integers, MapPath]]

    def held_out_scores(self, rows: PredictedRows, strength: float) -> Floats:
        """Return new scores of rows by maps that were fitted to other rows."""
        scores = np.empty(len(rows))
        for part, path in self.parts:
            scores[part] = path.at(strength)(rows.scores[part], rows.q[part])
        return scores


def fit_path(rows: PredictedRows, largest: float = 0.0) -> CrossFittedPath:
    """Fit maps at `STRENGTHS`, and at a larger one if it is given."""
    strengths = STRENGTHS if largest <= STRENGTHS[-1] else (*STRENGTHS, largest)
    merged = _merge_equal(rows)
    whole = _fit_maps(merged, strengths)
    splits = zip(_map_splits(rows), _map_splits(merged), strict=True)
    parts = [
        (test, _fit_maps(merged.take(train), strengths, whole.maps))
        for (_, test), (train, _) in splits
    ]
    return CrossFittedPath(whole, parts)


def _fit_maps(
    rows: PredictedRows,
    strengths: tuple[float, ...],
    starts: list[ScoreMap] | None = None,
) -> MapPath:
    """Fit a map at each strength, from the one before it or from those given."""
    joined = _join_close(rows)
    tolerance = _FOLD_TOLERANCE if starts else _TOLERANCE
    maps: list[ScoreMap] = []
    for place, strength in enumerate(strengths):
        start = starts[place] if starts else maps[-1] if maps else None
        maps.append(fit_map(joined, strength, start, tolerance))
    return MapPath(strengths, maps)


def _join_close(rows: PredictedRows) -> PredictedRows:
    """Join rows with nearly the same p and q, and sum their weights.

    A fit to many rows is then about as fast as one to a few thousand. Rows are in the
    order of their p.
    """
    places = rows.weights.cumsum() / rows.weights.sum()
    levels = np.minimum(places * _P_LEVELS, _P_LEVELS - 1).astype(np.intp)
    strata = np.zeros(len(rows)) if rows.strata is None else rows.strata.codes
    columns = [*(rows.q[:, :-1].T * _Q_LEVELS).round(), rows.y, rows.codes, strata]
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        levels = np.unique(levels * len(values) + codes, return_inverse=True)[1]
    first = np.unique(levels, return_index=True)[1]
    weights = np.bincount(levels, rows.weights)

    def mean(values: Array) -> Array:
        return np.bincount(levels, rows.weights * values) / weights

    return replace(
        rows.take(first),
        sample_weight=weights,
        scores=expit(mean(logit(clip_scores(rows.scores)))),
        q=np.column_stack([mean(values) for values in rows.q.T]),
        n_joined=np.bincount(levels),
    )


def path_table(
    rows: PredictedRows, path: CrossFittedPath, strength: float | None = None
) -> pd.DataFrame:
    """Measure strengths on held-out rows: 0 and one that is given, or many.

    Between two strengths at which maps are fitted are as many others as the change of
    MCDP(0) asks for. As in the table of a search, ``mean_test_`` is that of all rows
    together: the mean over folds of a disparity is too large, because its noise does
    not cancel.
    """
    folds = np.zeros(len(rows), dtype=np.intp)
    for fold, (part, _) in enumerate(path.parts):
        folds[part] = fold

    bare = replace(rows, scores=None, q=None, folds=None)

    def measured(strength: float) -> dict[str, Any]:
        scores = path.held_out_scores(rows, strength)
        return _record(bare, scores, strength, folds)

    if strength is not None:
        return pd.DataFrame([measured(0.0), measured(strength)])
    records = [measured(strength) for strength in path.whole.strengths]
    gaps = [-record["mean_test_neg_mcdp"] for record in records]
    for place, (low, high) in enumerate(pairwise(path.whole.strengths)):
        change = abs(gaps[place + 1] - gaps[place]) / max(gaps[0], 1e-9)
        n_mixed = min(_MOST_MIXED, int(np.nan_to_num(change) / _STEP))
        between = np.linspace(low, high, n_mixed + 2)[1:-1].tolist()
        records += [measured(strength) for strength in between]
    return pd.DataFrame(sorted(records, key=lambda record: record["strength"]))


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
    rows: PredictedRows, scores: Floats, strength: float, folds: Integers
) -> dict[str, Any]:
    """One row of the table of strengths."""
    order = np.argsort(scores)
    rows, scores, folds = rows.take(order), scores[order], folds[order]
    parts = [folds == fold for fold in range(folds.max() + 1)]
    pooled, *by_fold = [
        _measure(rows.take(part), scores[part])
        for part in (np.ones(len(rows), dtype=bool), *parts)
    ]
    names = ("average_precision", "neg_mcdp")
    return strength_record(strength, names, pooled, by_fold)


def strength_record(
    strength: float,
    names: tuple[str, str],
    pooled: tuple[float, float],
    by_fold: list[tuple[float, float]],
) -> dict[str, Any]:
    """Return the values of two metrics in the columns of a search."""
    record: dict[str, Any] = {"params": {"strength": strength}, "strength": strength}
    for position, name in enumerate(names):
        values = np.array([values[position] for values in by_fold])
        defined = values[~np.isnan(values)]
        record[f"mean_test_{name}"] = pooled[position]
        record[f"std_test_{name}"] = defined.std() if len(defined) else np.nan
        for fold, value in enumerate(values):
            record[f"split{fold}_test_{name}"] = value
    return record


def _measure(rows: PredictedRows, scores: Floats) -> tuple[float, float]:
    """Average precision and minus MCDP(0), nan where they are undefined.

    Rows are in the order of their scores. MCDP within strata is their mean.
    """
    last = np.append(scores[1:] > scores[:-1], True)  # row of each distinct score

    def cumulated(members: NDArray[np.bool_]) -> Array:
        return np.asarray(np.cumsum(rows.weights * members)[last])

    positive, everyone = cumulated(rows.y == 1), cumulated(rows.y >= 0)
    precision = math.nan
    if rows.y.min() < rows.y.max():
        found, selected = (
            total[-1] - np.append(0.0, total[:-1]) for total in (positive, everyone)
        )
        hits = np.diff(positive, prepend=0.0)
        precision = float(hits @ (found / selected) / positive[-1])
    if rows.strata is not None:
        gap = mean_mcdp(scores, rows.groups, rows.weights, rows.strata.codes).value
        return precision, -gap
    groups = range(len(rows.groups.labels))
    totals = np.array([cumulated(rows.codes == group) for group in groups])
    if not totals[:, -1].all():
        return precision, math.nan
    return precision, -float(np.ptp(totals / totals[:, -1:], axis=0).max())


def choose_strength(table: pd.DataFrame) -> int:
    """Position of the least strength that is about as fair as the fairest one.

    The fairest keeps 95 % of the plain average precision (of the first row), and the
    one chosen does too: its MCDP is within one standard error of the fairest one's.
    """
    precision = table["mean_test_average_precision"].to_numpy(dtype=np.float64)
    gap = -table["mean_test_neg_mcdp"].to_numpy(dtype=np.float64)
    kept = precision >= _KEPT_PRECISION * precision[0]
    if not kept.any() or np.isnan(gap).all():
        return 0
    fairest = int(np.where(kept, gap, np.inf).argmin())
    error = standard_error(table, "neg_mcdp", fairest) if _n_folds(table) > 1 else 0.0
    near = kept & (gap <= gap[fairest] + np.nan_to_num(error))
    return int(near.argmax())


def _n_folds(table: pd.DataFrame) -> int:
    """Count the folds of a table."""
    return sum(str(name).endswith("_test_neg_mcdp") for name in table) - 2
