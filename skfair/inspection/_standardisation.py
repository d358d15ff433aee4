"""Weights that make groups alike in some columns, and the noise of weighted gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold

from skfair._cross_fit import cross_fit
from skfair._utils._arrays import Bools, Floats, Integers, quotients

#: Cells of equal rows take the place of a classifier if so many rows share each.
_ROWS_PER_CELL = 20
#: A group does not occur where it is this many times as rare as among everyone.
_OVERLAP = 0.05
#: Probabilities by a classifier are at least this.
_LEAST_PROBABILITY = 1e-6
#: Thresholds at which the noise of CDFs is drawn, of all groups together and of each.
_N_THRESHOLDS, _LEAST_THRESHOLDS = 200, 10
#: Draws of the noise, and most numbers that they hold.
_N_DRAWS, _MOST_NUMBERS = 2000, 10**8
#: Where a gap may be the largest: within so many standard errors of the largest.
_NEAR = 4.0
#: By how many standard deviations of its steps the largest value of a Brownian motion
#: exceeds that at the steps: Siegmund's correction, -zeta(1/2) / sqrt(2 pi).
_BETWEEN = 0.5826
#: Rows whose influence is computed at once.
_BLOCK = 2**16
#: Relative to the largest entry, what is added to the diagonal of normal equations.
_RIDGE = 1e-8

#: Regresses outcomes, shape (n_samples, n_outcomes), on the columns, by weighted rows;
#: returns what predicts the rows of a slice.
Regression: TypeAlias = Callable[[Floats, Floats], Callable[[slice], Floats]]


class Standardised(NamedTuple):
    """Rows whose groups are compared, with weights that may make them alike.

    `influence` is what a row adds to the weight of its columns in the population on
    which groups are compared.
    """

    codes: Integers
    sample_weight: Floats
    weights: Floats
    influence: Floats
    overlap: Bools
    regress: Regression | None

    @property
    def effective_sizes(self) -> Floats:
        """Kish's effective number of rows of each group."""
        sums = np.bincount(self.codes, self.weights)
        squares = np.bincount(self.codes, self.weights**2)
        return quotients(sums**2, squares)


def given_columns(
    columns: pd.DataFrame,
    rows: Standardised,
    estimator: Any,
    fit_params: dict[str, Any],
    *,
    cv: int,
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> tuple[Floats, Regression]:
    """Probability of each group given the columns, and a regression on the columns.

    Groups are counted in cells of equal rows if there is no estimator and the cells are
    few; otherwise they are predicted by cross-fitted classifiers.
    """
    codes, n_groups = rows.codes, int(rows.codes.max()) + 1
    if estimator is None:
        cells = np.zeros(len(columns), dtype=np.int64)
        for name in columns:
            values, found = pd.factorize(columns[name], use_na_sentinel=False)
            cells = pd.factorize(cells * len(found) + values)[0]
        if len(cells) >= _ROWS_PER_CELL * (cells.max() + 1):
            members = (codes[:, None] == np.arange(n_groups)).astype(np.float64)
            shares = _mean_in_cells(cells, members, rows.weights)(slice(None))
            return shares, partial(_mean_in_cells, cells)
        from sklearn.ensemble import HistGradientBoostingClassifier

        estimator = HistGradientBoostingClassifier(
            categorical_features="from_dtype", random_state=rng.randint(2**31 - 1)
        )
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            "estimator must be a classifier with predict_proba, which predicts the "
            f"group from the columns, got {estimator!r}."
        )
    if (smallest := np.bincount(codes).min()) < cv:
        raise ValueError(
            f"cv must be at most {smallest}, the number of rows of the smallest group, "
            f"got {cv}: each part of the rows needs every group."
        )
    splits = StratifiedKFold(cv, shuffle=True, random_state=rng).split(columns, codes)
    parts = cross_fit(
        estimator, columns, codes, splits, fit_params, _predict, n_jobs=n_jobs
    )
    fitted = np.full((len(codes), n_groups), _LEAST_PROBABILITY)
    for test, groups, predicted in parts:
        fitted[np.ix_(test, groups)] = np.maximum(predicted, _LEAST_PROBABILITY)
    return fitted, partial(_least_squares, _design(columns))


def _predict(
    fitted: Any, X: Any, test: Integers
) -> tuple[Integers, NDArray[Any], Floats]:
    """Positions of the rows left out, codes of the groups, and their probabilities."""
    return test, fitted.classes_, fitted.predict_proba(X)


def _mean_in_cells(
    cells: Integers, outcomes: Floats, weights: NDArray[Any]
) -> Callable[[slice], Floats]:
    """Weighted mean of the outcomes in each cell, 0 where a cell has no weight."""
    shape = int(cells.max()) + 1, len(cells)
    sums = csr_array((weights, (cells, np.arange(len(cells)))), shape) @ outcomes
    totals = np.bincount(cells, weights)[:, None]
    means = quotients(sums, totals)
    return lambda rows: means[cells[rows]]


def _least_squares(
    design: Floats, outcomes: Floats, weights: NDArray[Any]
) -> Callable[[slice], Floats]:
    """Linear predictions of outcomes in [0, 1] by weighted least squares."""
    weighted = design * weights[:, None]
    normal = weighted.T @ design
    normal[np.diag_indices_from(normal)] += _RIDGE * normal.max()
    coefficients = np.linalg.solve(normal, weighted.T @ outcomes)
    return lambda rows: np.clip(design[rows] @ coefficients, 0, 1)


def _design(columns: pd.DataFrame) -> Floats:
    """Numbers, their squares and which are missing; indicators of categories."""
    parts = [np.ones((len(columns), 1))]
    for name in columns:
        column = columns[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            parts.append(pd.get_dummies(column, dtype=float).to_numpy())
            continue
        values = column.to_numpy()
        known = np.isfinite(values)
        spread = np.std(values[known]) if known.any() else 0.0
        centre = np.mean(values[known]) if known.any() else 0.0
        scaled = np.where(known, values - centre, 0) / (spread or 1.0)
        parts.append(np.column_stack([scaled, scaled**2, ~known]))
    return np.hstack(parts)


def as_they_are(codes: Integers, sample_weight: NDArray[Any]) -> Standardised:
    """Give each row its own weight, so that nothing is standardised."""
    weights, none = sample_weight.astype(np.float64), np.zeros(len(codes))
    return Standardised(codes, weights, weights, none, none == 0, None)


def standardise(
    rows: Standardised,
    probabilities: Floats,
    regress: Regression,
    target: int | None,
) -> Standardised:
    """Weight rows so that all groups have the columns of one, or, for None, of overlap.

    The first arguments after the rows are what `given_columns` returns. With `p` the
    probability of its group a row has the weight ``h / p``. Its influence
    is h and the derivative of h in the probabilities times their error, which add up to
    ``(h / p) ** 2`` for overlap, and to 1 in the group that is the target.
    """
    codes, sample_weight = rows.codes, rows.weights
    shares = np.bincount(codes, sample_weight) / sample_weight.sum()
    overlap = (probabilities >= _OVERLAP * shares).all(axis=1)
    own = np.take_along_axis(probabilities, codes[:, None], axis=1)[:, 0]
    if target is None:
        with np.errstate(divide="ignore"):
            relative = 1 / (1 / probabilities).sum(axis=1) / own
        influence = relative**2
    else:
        relative = np.where(overlap, probabilities[:, target], 0) / own
        influence = overlap * (codes == target)
    return Standardised(
        codes,
        sample_weight,
        sample_weight * relative,
        sample_weight * influence,
        overlap,
        regress,
    )


class Outcomes(NamedTuple):
    """What groups are compared in: scores up to thresholds, or one number.

    `widths` are the lengths over which the absolute gap is integrated; None where the
    largest gap is taken. `between` says whether there are scores between thresholds.
    """

    values: Callable[[slice], Floats]
    n_outcomes: int
    widths: Floats | None
    between: bool


def outcomes_of_metric(metric: str, scores: Floats, n_groups: int) -> Outcomes:
    """Outcomes whose gaps the metric is the largest of, or the integral of."""
    if metric == "demographic_parity_difference":
        return Outcomes(lambda rows: scores[rows, None], 1, None, False)
    n_thresholds = max(_LEAST_THRESHOLDS, _N_THRESHOLDS // n_groups)
    thresholds = np.unique(scores)
    between = len(thresholds) > n_thresholds
    if between:
        levels = (np.arange(n_thresholds) + 0.5) / n_thresholds
        thresholds = np.unique(np.quantile(scores, levels, method="inverted_cdf"))
    widths = np.diff(thresholds, append=thresholds[-1]) if metric == "abcc" else None
    return Outcomes(
        lambda rows: (scores[rows, None] <= thresholds).astype(np.float64),
        len(thresholds),
        widths,
        between,
    )


class Noise(NamedTuple):
    """Draws of numbers that the error of an estimate lies between.

    The error is at most `above`, of shape (n_draws,), and at least one of the columns
    of `below`, of shape (n_draws, n_columns); which one is unknown. `again` is the
    error if the gaps were truly those estimated, of shape (n_draws,).
    """

    above: Floats
    below: Floats
    again: Floats


def draw_noise(
    several: Sequence[Standardised], outcomes: Outcomes, rng: np.random.Generator
) -> list[Noise]:
    """Draw errors of gaps jointly, from the covariance of the influence of rows.

    An estimate that is the largest of several gaps exceeds the true one by no more than
    the largest error of those gaps that may be the largest, and by no less than the
    error of the gap that truly is.
    """
    n_samples, n_groups = len(several[0].codes), int(several[0].codes.max()) + 1
    estimates = [_weighted_means(one, outcomes, n_groups) for one in several]
    covariance = np.zeros((1, 1))
    for start in range(0, n_samples, _BLOCK):
        rows = slice(start, start + _BLOCK)
        influence = np.hstack([influence_of(rows) for _, influence_of in estimates])
        covariance = covariance + influence.T @ influence
    pairs = np.array(list(permutations(range(n_groups), 2)))
    n_numbers = len(pairs) * outcomes.n_outcomes
    n_draws = int(np.clip(_MOST_NUMBERS // n_numbers, 200, _N_DRAWS))
    values, vectors = np.linalg.eigh(covariance)
    normal = rng.standard_normal((n_draws, len(values)))
    drawn = normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
    found = []
    parts = np.split(drawn, len(several), axis=1)
    for (means, _), part in zip(estimates, parts, strict=True):
        errors = part.reshape(n_draws, n_groups, -1)
        errors = errors[:, pairs[:, 0]] - errors[:, pairs[:, 1]]
        gaps = means[pairs[:, 0]] - means[pairs[:, 1]]
        if outcomes.widths is None:
            missed = np.diff(errors).std(axis=0).mean() if outcomes.between else 0
            noise = _of_largest(gaps.ravel(), errors.reshape(n_draws, -1))
            found.append(noise._replace(above=noise.above + _BETWEEN * missed))
        else:
            found.append(_of_areas(gaps, errors, outcomes.widths))
    return found


def _weighted_means(
    rows: Standardised, outcomes: Outcomes, n_groups: int
) -> tuple[Floats, Callable[[slice], Floats]]:
    """Weighted means of the outcomes of each group, and the influence of some rows.

    It is what they add to the mean of each group, one group after another.
    """
    values = outcomes.values(slice(None))
    members = rows.codes[:, None] == np.arange(n_groups)
    totals: Floats = np.bincount(rows.codes, rows.weights).astype(np.float64)
    means = (members * rows.weights[:, None]).T @ values / totals[:, None]
    predict = []
    if rows.regress is not None:
        for member in members.T:
            predict.append(rows.regress(values, rows.sample_weight * member))

    def influence(part: slice) -> Floats:
        values, found = outcomes.values(part), []
        codes, weights = rows.codes[part], rows.weights[part]
        for group, mean in enumerate(means):
            expected = predict[group](part) if predict else mean
            own = (weights * (codes == group))[:, None] * (values - expected)
            columns = rows.influence[part, None] * (expected - mean)
            found.append((own + columns) / totals[group])
        return np.hstack(found)

    return means, influence


def _of_largest(gaps: Floats, errors: Floats) -> Noise:
    """Noise of the largest gap."""
    best = int(gaps.argmax())
    apart = np.std(errors - errors[:, [best]], axis=0)
    near = gaps >= gaps[best] - _NEAR * apart
    errors, short = errors[:, near], gaps[near] - gaps[best]
    return Noise(errors.max(axis=1), errors, (errors + short).max(axis=1))


def _of_areas(gaps: Floats, errors: Floats, widths: Floats) -> Noise:
    """Noise of the largest integral of an absolute gap over all pairs.

    Where the sign of a gap is not clear, its absolute error counts.
    """
    clear = np.abs(gaps) > _NEAR * errors.std(axis=0)
    signed = np.where(clear, np.sign(gaps) * errors, 0) @ widths
    unclear = np.where(clear, 0, np.abs(errors)) @ widths
    above, below = signed + unclear, signed - unclear
    areas = np.abs(gaps) @ widths
    best = int(areas.argmax())
    apart = np.std(above - above[:, [best]], axis=0)
    near = areas >= areas[best] - _NEAR * apart
    again = (np.abs(gaps + errors) @ widths).max(axis=1) - areas[best]
    return Noise(above[:, near].max(axis=1), below[:, near], again)


def interval_of_gap(value: float, noise: Noise, level: float) -> tuple[float, float]:
    """Confidence interval of a gap, from draws of its noise."""
    tail = (1 - level) / 2
    lower = value - float(np.quantile(noise.above, 1 - tail))
    upper = value - float(np.quantile(noise.below, tail, axis=0).min())
    return max(0.0, lower), min(1.0, upper)


def interval_of_difference(
    values: tuple[float, float], noises: Sequence[Noise], level: float
) -> tuple[float, float]:
    """Confidence interval of a gap minus another, from joint draws of their noise.

    Which of several gaps is truly the largest is unknown. The interval contains those
    that hold if the gaps are as far apart as estimated, and if all that may be the
    largest are equally large. If the second gap may be 0, it also contains the interval
    of the first one, and if the first may be 0, that of the second one, below 0.
    """
    first, second = noises
    tail, difference = (1 - level) / 2, values[0] - values[1]
    errors = [first.again - second.again, first.above - second.above]
    low, high = np.quantile(errors, [tail, 1 - tail], axis=1)
    lower, upper = difference - float(high.max()), difference - float(low.min())
    of_first, of_second = (
        interval_of_gap(*one, level) for one in zip(values, noises, strict=True)
    )
    if of_second[0] == 0:
        lower, upper = min(lower, of_first[0]), max(upper, of_first[1])
    if of_first[0] == 0:
        lower, upper = min(lower, -of_second[1]), max(upper, -of_second[0])
    return lower, upper
