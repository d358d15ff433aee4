"""Map from two predicted probabilities to a fairer one: of the class, of the group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score

from skfair._comparison import mean_gap
from skfair._penalty._penalised_loss import PenalisedLoss, clip_scores
from skfair._training_rows import Array, TrainingRows
from skfair.metrics import mcdp
from skfair.model_selection._candidates import standard_error

#: Strengths at which the trade-off is computed; 0 is the plain classifier.
STRENGTHS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 2.0)
#: Steepness of the sigmoids that smooth the CDFs, as in `MCDPReweighter`.
_TEMPERATURE = 50.0
#: Number of knots of the piecewise linear functions, of 4, 6 and 9 the best on Adult.
_N_KNOTS = 6
#: Weight of the sum of squared coefficients, in units of one standard deviation: at
#: least, and over the number of distinct rows, so that few rows change scores little.
_RIDGE, _RIDGE_BY_ROW = 1e-3, 30.0
_MAX_ITER = 100
#: Most folds of the held-out rows, over which a map is fitted and measured.
_N_FOLDS = 5
#: Share of the plain average precision that ``strength="auto"`` keeps.
_KEPT_PRECISION = 0.95


@dataclass(frozen=True, eq=False)
class PredictedRows(TrainingRows):
    """Rows with probabilities by models that were not fitted to them.

    `scores` are those of the second class, `q` those of each group, shape (n_samples,
    n_groups), and `folds` says which rows were held out together.
    """

    q: Any = None
    folds: Any = None


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
        hats = [
            np.interp(log_odds, self.knots, peak) for peak in np.eye(len(self.knots))
        ]
        return np.column_stack(hats), q[:, :-1] - self.shares


def fit_map(
    rows: PredictedRows, strength: float, start: ScoreMap | None = None
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
    ridge = _RIDGE + _RIDGE_BY_ROW / len(weights)
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
        return value, gradient.ravel() + ridge * scaled

    first = np.zeros(scale.size)
    if start is not None and start.heights.shape == scale.shape:
        first = (start.heights * np.where(np.isinf(scale), 0.0, scale)).ravel()
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_ITER, "ftol": 1e-7},
    )
    return replace(plain, heights=found.x.reshape(scale.shape) / scale)


class HeldOutPath(NamedTuple):
    """Maps at several strengths, and what they reach on rows held out from them."""

    maps: list[ScoreMap]
    scores: list[Array]
    table: pd.DataFrame


def fit_path(rows: PredictedRows, strengths: tuple[float, ...]) -> HeldOutPath:
    """Fit a map at each strength, and measure maps that were fitted to other rows.

    In the table, as in that of a search, ``mean_test_`` is that of all rows together:
    the mean over folds of a disparity is too large, because its noise does not cancel.
    """
    merged = _merge_equal(rows)
    splits, trains = list(_map_splits(rows)), list(_map_splits(merged))
    maps: list[ScoreMap] = []
    all_scores: list[Array] = []
    records = []
    for strength in strengths:
        # Not from its neighbour: a map must not depend on which others are fitted.
        maps.append(fit_map(merged, strength))
        scores = np.empty(len(rows.scores))
        for (_, test), (train, _) in zip(splits, trains, strict=True):
            fold_map = fit_map(merged.take(train), strength, maps[-1])
            scores[test] = fold_map(rows.scores[test], rows.q[test])
        all_scores.append(scores)
        records.append(_record(rows, scores, strength, [test for _, test in splits]))
    return HeldOutPath(maps, all_scores, pd.DataFrame(records))


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
    scores: Array,
    strength: float,
    folds: list[NDArray[np.intp]],
) -> dict[str, object]:
    """One row of the table of strengths."""
    record: dict[str, object] = {"params": {"strength": strength}, "strength": strength}
    pooled = _measure(rows, scores)
    by_fold = [_measure(rows.take(fold), scores[fold]) for fold in folds]
    for position, metric in enumerate(("average_precision", "neg_mcdp")):
        values = np.array([values[position] for values in by_fold])
        record[f"mean_test_{metric}"] = pooled[position]
        defined = values[~np.isnan(values)]
        record[f"std_test_{metric}"] = defined.std() if len(defined) else np.nan
        for fold, value in enumerate(values):
            record[f"split{fold}_test_{metric}"] = value
    return record


def _measure(rows: PredictedRows, scores: Array) -> tuple[float, float]:
    """Average precision and minus MCDP(0), nan where they are undefined.

    MCDP within strata is their mean.
    """
    defined = rows.y.min() < rows.y.max()
    precision = np.nan
    if defined:
        precision = average_precision_score(rows.y, scores, sample_weight=rows.weights)
    if rows.strata is not None:
        values, weights = (v.astype(np.float64) for v in (scores, rows.weights))
        within = mean_gap(values, rows.groups, weights, rows.strata.codes)
        return float(precision), -within.value
    grouped = rows.groups.codes >= 0
    sizes = rows.groups.sizes()
    if (sizes == 0).any():
        return float(precision), np.nan
    gap = mcdp(
        None,
        scores[grouped],
        sensitive_features=rows.groups[grouped],
        sample_weight=rows.weights[grouped],
    )
    return float(precision), -gap


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
