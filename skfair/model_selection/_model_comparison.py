"""Several models beside a baseline: which of them serve as well and divide less."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from sklearn.metrics import average_precision_score

from skfair._comparison import Comparison, Figure, gap_error, mean_mcdp, state_figures
from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._results import TableResult
from skfair._utils._text import shown
from skfair._utils._validation import (
    as_array,
    check_no_missing,
    check_numbers,
    check_real,
    check_shape,
    check_weights,
    distinct_labels,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import Codes, Groups, resolve_groups
from skfair.metrics import mcdp
from skfair.metrics._inputs import Multigroup
from skfair.metrics._mcdp import MCDP

#: Parts that are left out one after the other for the error of a performance.
N_PARTS = 30
#: Rows that are added for the largest loss of one.
_N_ADDED = 3


class Model(NamedTuple):
    """A model as the tests see it.

    `performance` returns one number or several, given the positions of the true labels
    and the positions of the responses. The gap is that of `scores`. `responses` are
    numbers in the same order as what the performance is computed from.
    """

    performance: Callable[[Integers, Integers], Any]
    scores: Floats
    responses: Floats


class PairedTest(NamedTuple):
    """A one-sided bound of a difference, and the p-value of the same test.

    The p-value is at most one minus a confidence level exactly if the bound at this
    level rejects the null hypothesis.
    """

    bound: float
    pvalue: float


#: Stands for the code of a group in a `Place`: all rows that have a group.
OVERALL = -1
#: The place of a gap is found on one of so many parts of the rows.
N_PLACES = 4
#: Share of the error of an interval with which a difference of the rates of two groups
#: is told to be below the largest.
_FAR = 0.05


class Place(NamedTuple):
    """Score at which two groups differ most, and the codes of the groups.

    `high` is the group with the larger share of rows up to the score. One of the two
    may be `OVERALL`.
    """

    score: float
    high: int
    low: int


class Moments(NamedTuple):
    """Mean, variance and third central moment of a mean with uncertain weights.

    The weights come from Gaffke's bound of the mean of bounded numbers: they are
    uniform on the simplex, over all rows and an added row that is as bad as a row can
    be. For hits and misses the bound is that of Clopper and Pearson. Moments of
    independent groups add up, as in the melded intervals of Fay, Proschan and Brittain.
    """

    mean: Any
    variance: Any
    third: Any

    def upper_bound(self, confidence_level: float) -> Any:
        """Return the quantile of a gamma distribution that has these moments."""
        error, third = self._error_and_third()
        root = 1 + third * (ndtri(confidence_level) - third)
        return self.mean + error * (root * root * root - 1) / (3 * third)

    def pvalue(self, limit: float) -> Any:
        """Return the probability that this gamma distribution exceeds a limit."""
        error, third = self._error_and_third()
        root = np.cbrt(1 + 3 * third * (limit - self.mean) / error)
        return ndtr(-(root - 1) / third - third)

    def _error_and_third(self) -> tuple[Any, Any]:
        """Return the standard deviation and a sixth of the skewness, both above 0.

        By Wilson and Hilferty the cube root of a gamma variable is about normal.
        """
        variance = np.maximum(self.variance, 1e-200)
        error = np.sqrt(variance)
        return error, np.maximum(self.third / (6 * variance * error), 1e-6)


def random_parts(cells: Codes, n_parts: int = N_PARTS) -> list[Integers]:
    """Divide rows at random into parts, each with an equal share of every cell.

    The positions of the rows in each part are returned, the same in every call.
    """
    random = np.random.default_rng(0).permutation(len(cells))
    by_cell = random[np.argsort(cells[random], kind="stable")]
    parts = [by_cell[start::n_parts] for start in range(n_parts)]
    return [part for part in parts if len(part)]


def subsets(parts: list[Integers]) -> list[Integers]:
    """Return the positions of all rows, then of all rows without each part."""
    rows = np.sort(np.concatenate(parts))
    return [rows, *(np.setdiff1d(rows, part, assume_unique=True) for part in parts)]


def changes_by_a_row(
    model: Model, codes: Integers, weights: Floats, rows: Integers
) -> Floats:
    """Find how one more row changes a performance, by its true label and response.

    The true labels tried are the first and the last, the responses the smallest and the
    largest. The change is a third of the change by three such rows: so many may be
    missed with a probability of .05, and the first row alone may change an average
    precision far more.
    """
    row_weights, responses = weights[rows], model.responses[rows]
    size = row_weights @ row_weights / row_weights.sum()
    n_rows = row_weights.sum() / size
    before, changes = model.performance(rows, rows), []
    for code in codes[rows].min(), codes[rows].max():
        labelled = rows[codes[rows] == code]
        # A row of this label with about the mean weight, each row by its weight.
        label = labelled[np.abs(weights[labelled] - size).argmin()]
        for end in rows[responses.argmin()], rows[responses.argmax()]:
            added = (np.append(rows, [i] * _N_ADDED) for i in (label, end))
            changes.append(model.performance(*added) - before)
    scale = (n_rows + _N_ADDED) / (n_rows + 1) / _N_ADDED
    return np.asarray(np.reshape(changes, (2, 2, -1)) * scale)


def worst_loss(changes: Floats, baseline_changes: Floats) -> Floats:
    """Find by how much one more row may lower performances below the baseline's.

    The row has the response that is best for the baseline, and the worst for the model.
    """
    losses = baseline_changes.max(axis=1) - changes.min(axis=1)
    return np.asarray(losses.max(axis=0).clip(0))


def loss_moments(
    difference: float, variance: float, third: float, worst: float
) -> Moments:
    """Return the moments of a loss: of minus the difference of two performances.

    `variance` and `third` (the third central moment) are those of the loss. The third
    moment is doubled, as Gaffke's bound does; if negative, it counts as 0.
    """
    return Moments(
        worst - difference, variance + worst**2, 2 * (max(third, 0.0) + worst**3)
    )


def performance_test(
    values: Floats,
    baseline: Floats,
    worst: float,
    margin: float,
    confidence_level: float,
) -> PairedTest:
    """Test that a performance is below the baseline's by at most a margin.

    Each value belongs to an entry of `subsets`; their spread gives the standard error
    by the jackknife. `worst` comes from `worst_loss`. The bound is a lower bound of the
    difference.
    """
    difference, *others = values - baseline
    n_parts = len(others)
    if math.isnan(difference + worst) or n_parts < 2:
        return PairedTest(math.nan, math.nan)
    losses = _jackknife_deviations(values - baseline)
    if n_parts < 4 or (worst <= 0 and not losses.any()):
        return PairedTest(-math.inf, 1.0)
    # The variance has the factor of Student's distribution, the third moment is
    # unbiased.
    variance = n_parts / (n_parts - 3) * float(losses @ losses)
    third = n_parts**2 / ((n_parts - 1) * (n_parts - 2)) * float((losses**3).sum())
    loss = loss_moments(difference, variance, third, worst)
    return PairedTest(
        -float(loss.upper_bound(confidence_level)), float(loss.pvalue(margin))
    )


def _jackknife_deviations(differences: Floats) -> Floats:
    """Return the deviation in the jackknife by leaving out each part.

    The root of the sum of the squares of deviations is the standard error.
    """
    others = differences[1:]
    n_parts = len(others)
    return np.asarray((n_parts - 1) / n_parts * (others - np.mean(others)))


def largest_gap_place(
    scores: Floats, codes: Codes, weights: Floats, multigroup: Multigroup = "pairwise"
) -> Place:
    """Find the score and the groups at which MCDP(0) is attained.

    If there is a single group, it takes both places, at any score.
    """
    present, positions = np.unique(codes, return_inverse=True)
    labels = tuple(present.tolist())
    if len(labels) == 1:
        return Place(float(scores[0]), labels[0], labels[0])
    metric = MCDP(multigroup=multigroup)
    rows = Rows(Groups(positions, labels), y_pred=scores, weight=weights)
    gap = metric.locate(metric.collect(rows))
    first, second = gap.pair
    pair = labels[first], OVERALL if second is None else labels[second]
    high, low = pair if gap.figures[0] > gap.figures[1] else pair[::-1]
    return Place(gap.score, high, low)


def gap_test(
    scores: Floats,
    baseline: Floats,
    place: Place,
    codes: Codes,
    weights: Floats,
    confidence_level: float,
) -> PairedTest:
    """Test that the largest gap of a candidate is below the baseline's.

    The baseline's gap is taken at a place that was found on other rows, so that noise
    has not enlarged it; the largest gap is at least as large. The candidate's largest
    gap is below the baseline's gap at this place if the gap of every two groups is, at
    every score. Each of these gaps is a hypothesis about one difference of means. All
    hypotheses must be rejected, so that the largest p-value has the level of each. The
    bound is an upper bound of the difference.
    """
    bound, pvalue = -math.inf, 0.0
    for difference in _paired_differences(scores, baseline, place, codes, weights):
        bound = max(bound, float(difference.upper_bound(confidence_level).max()))
        pvalue = max(pvalue, float(difference.pvalue(0.0).max()))
    return PairedTest(bound, pvalue)


def gap_interval(
    scores: Floats,
    baseline: Floats,
    codes: Codes,
    weights: Floats,
    confidence_level: float,
    multigroup: Multigroup = "pairwise",
) -> tuple[float, float]:
    """Return the interval of the largest gap of a candidate minus the baseline's.

    Each end is a bound of `gap_test`, with the place of the other model's gap found on
    a part of the rows. All rows have a group.
    """
    finding, *others = random_parts(codes, N_PLACES)
    rows = np.sort(np.concatenate(others or [finding]))

    def upper_bound(model: Floats, other: Floats) -> float:
        place = largest_gap_place(
            other[finding], codes[finding], weights[finding], multigroup
        )
        differences = _paired_differences(
            model[rows], other[rows], place, codes[rows], weights[rows]
        )
        one_sided = (1 + confidence_level) / 2
        return max(float(d.upper_bound(one_sided).max()) for d in differences)

    return -upper_bound(baseline, scores), upper_bound(scores, baseline)


def rate_gap_interval(
    selected: NDArray[Any],
    baseline: NDArray[Any],
    codes: Codes,
    weights: Floats,
    confidence_level: float,
    strata: Integers | None = None,
) -> tuple[float, float]:
    """Return the interval of the largest difference of rates minus the baseline's.

    Values are 0 or 1. With `strata`, only groups of the same stratum are compared (for
    error rates, a stratum has one true label).

    Take the pair of groups with the candidate's largest difference. The change of the
    largest difference is the smallest amount by which this pair's difference exceeds
    the difference of any pair of the baseline. So it is at most the largest, over all
    pairs of the candidate, of the smallest bound beside the baseline's pairs. Only the
    bounds of one pair of the candidate must hold together. All rows are used, since no
    place is chosen by them.
    """
    by_row = np.zeros(len(codes), np.intp) if strata is None else strata
    (stratum, _), cells = np.unique([by_row, codes], axis=1, return_inverse=True)
    cells, factors = np.ravel(cells), _pairs_within(stratum)
    tail = (1 - confidence_level) / 2
    far = _FAR * tail

    def upper_bound(model: NDArray[Any], other: NDArray[Any]) -> float:
        low = np.bincount(cells, weights * (other == 0)) / np.bincount(cells, weights)
        largest, by_cell = (factors @ low).argmax(), (cells, weights, factors)
        beside = _rate_differences(other, other, *by_cell).upper_bound(1 - far)
        near = beside[:, largest] >= 0
        one_sided = 1 - (tail - far) / near.sum()
        bounds = _rate_differences(model, other, *by_cell).upper_bound(one_sided)
        return float(bounds[:, near].min(axis=1).max())

    return -upper_bound(baseline, selected), upper_bound(selected, baseline)


def _pairs_within(strata: Integers) -> Integers:
    """Return the signs of groups in each difference of two groups of one stratum."""
    units = np.eye(len(strata), dtype=np.intp)
    first, second = np.nonzero(np.equal.outer(strata, strata) & (units == 0))
    return np.asarray(units[first] - units[second])


def _rate_differences(
    selected: NDArray[Any],
    baseline: NDArray[Any],
    codes: Codes,
    weights: Floats,
    factors: Integers,
) -> Moments:
    """Subtract the baseline's differences of rates from those of a model.

    Each row of the result is a pair of groups for the model, each column a pair for the
    baseline. `factors` has the sign of each group in each pair. A rate is the share of
    the value 0.
    """
    signs, sums = (-1.0, 0.0, 1.0), np.zeros(1)
    for group, group_factors in enumerate(factors.T):
        rows = codes == group
        shares = weights[rows] / weights[rows].sum()
        low, baseline_low = selected[rows] == 0, baseline[rows] == 0
        term = GroupTerm(
            cdf=np.array([shares @ low]),
            both_low=np.array([shares @ (low & baseline_low)]),
            baseline_low=shares @ baseline_low,
            n_rows=1 / (shares @ shares),
        )
        moments = np.array(
            [
                [term.moments(factor, baseline_factor) for baseline_factor in signs]
                for factor in signs
            ]
        )
        sums = sums + moments[group_factors[:, np.newaxis] + 1, group_factors + 1, :, 0]
    mean, variance, third, added = np.moveaxis(sums, -1, 0)
    return Moments(mean, variance, np.maximum(third, added))


def _paired_differences(
    scores: Floats, baseline: Floats, place: Place, codes: Codes, weights: Floats
) -> Iterator[Moments]:
    """Yield each gap minus the baseline's gap at the place, with the noise."""
    order = np.argsort(scores, kind="stable")
    # Of equal scores the last row has all of them at or below it.
    ends = np.flatnonzero(np.append(np.diff(scores[order]) > 0, True))
    below = baseline <= place.score
    present = np.unique(codes).tolist()
    sizes = np.array([weights[codes == group].sum() for group in present])

    def factors(high: int, low: int) -> Floats:
        """Return the factor of each group in the gap of two, one perhaps everyone."""
        to_overall = (high == OVERALL) - (low == OVERALL)
        pair = [float(group == high) - (group == low) for group in present]
        return np.asarray(np.array(pair) + to_overall * sizes / sizes.sum())

    baseline_factors = factors(place.high, place.low)
    terms = []
    for group, size, factor in zip(present, sizes, baseline_factors, strict=True):
        shares = weights * (codes == group) / size
        term = GroupTerm(
            cdf=np.cumsum(shares[order])[ends],
            both_low=np.cumsum((shares * below)[order])[ends],
            baseline_low=shares @ below,
            n_rows=1 / (shares @ shares),
        )
        moments = functools.partial(term.moments, baseline_factor=factor)
        terms.append(functools.cache(moments))

    pairs: Iterator[tuple[int, int]] = permutations(present, 2)
    if OVERALL in place:
        pairs = ((a, b) for g in present for a, b in ((g, OVERALL), (OVERALL, g)))
    for pair in pairs:
        by_group = [
            term_moments(float(factor))
            for term_moments, factor in zip(terms, factors(*pair), strict=True)
        ]
        mean, variance, third, floor = (
            sum(values) for values in zip(*by_group, strict=True)
        )
        yield Moments(mean, variance, np.maximum(third, floor))


@dataclass(frozen=True, eq=False)
class GroupTerm:
    """Contribution of one group to a difference of gaps, at every candidate's score.

    A score is low if it is at most the score of the gap. `cdf` is the share of rows
    whose score by the candidate is low, `baseline_low` by the baseline, and `both_low`
    by both. `n_rows` is the effective number of rows.
    """

    cdf: Floats
    both_low: Floats
    baseline_low: float
    n_rows: float

    def moments(
        self, factor: float, baseline_factor: float
    ) -> tuple[Any, Any, Any, Any]:
        """Return the numbers of `Moments`, and the third moment due to the added row.

        A row counts `factor` if its score by the candidate is low, minus
        `baseline_factor` if its score by the baseline is low.
        """
        cdf, both_low = self.cdf, self.both_low
        if not factor:
            cdf = both_low = np.zeros(1)
        baseline = -baseline_factor
        worst, n_all = max(factor, 0.0) + max(baseline, 0.0), self.n_rows + 1

        def raw_moment(power: int) -> Any:
            low_alone = factor**power * (cdf - both_low)
            baseline_alone = baseline**power * (self.baseline_low - both_low)
            both = (factor + baseline) ** power * both_low
            total = self.n_rows * (low_alone + baseline_alone + both)
            return (total + worst**power) / n_all

        mean, square, cube = raw_moment(1), raw_moment(2), raw_moment(3)
        variance, added = (square - mean * mean) / (n_all + 1), worst - mean
        scale = 2 / ((n_all + 1) * (n_all + 2))
        third = scale * (cube - mean * (3 * square - 2 * mean * mean))
        return mean, variance, third, scale * added * added * added / n_all


def holm(pvalues: Floats) -> Floats:
    """Adjust p-values of several hypotheses by Holm's method; nan counts as 1."""
    defined = np.where(np.isnan(pvalues), 1.0, pvalues)
    order = np.argsort(defined, kind="stable")
    factors = len(defined) - np.arange(len(defined))
    adjusted = np.empty_like(defined)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * defined[order]))
    return adjusted


def compare_with_first(
    models: list[Model], values: list[Floats], groups: Groups, weights: Floats
) -> list[Comparison]:
    """Compare the performance and MCDP(0) of each model with the first model's.

    `values` are the performances on all rows, and on the rows without each part.
    """
    weighted = weights > 0
    rows = Rows(groups, weight=weights)[weighted]
    options: dict[str, Any] = {"sensitive_features": groups, "sample_weight": weights}
    disparities, gaps = [], []
    for model in models:
        disparities.append(mcdp(None, model.scores, scale="rank", **options))
        gaps.append(mean_mcdp(replace(rows, y_pred=model.scores[weighted])))
    compared = []
    for performance, disparity, gap in zip(values, disparities, gaps, strict=True):
        deviations = _jackknife_deviations(performance - values[0])
        error = float(np.linalg.norm(deviations))
        figures = {
            "performance": Figure(float(values[0][0]), float(performance[0]), error),
            "disparity": Figure(
                disparities[0], disparity, gap_error(gaps[0], gap, rows)
            ),
        }
        compared.append(state_figures(rows, figures))
    return compared


def models_table(
    models: Mapping[Any, Model],
    groups: Groups,
    classes: Integers,
    weights: Floats,
    *,
    margin: float,
    confidence_level: float,
) -> tuple[pd.DataFrame, dict[Any, Comparison]]:
    """Return the tests of each model against the first, as a table, and comparisons.

    The place of the first model's gap is found on a quarter of the rows, and the gaps
    are tested on the other rows.
    """
    weighted = np.flatnonzero(weights > 0)
    row_sets = subsets([weighted[part] for part in random_parts(classes[weighted])])
    candidates = list(models.values())
    first = candidates[0]
    values = [
        np.array([model.performance(rows, rows) for rows in row_sets])
        for model in candidates
    ]
    comparisons = compare_with_first(candidates, values, groups, weights)
    tested, place = weighted[groups.codes[weighted] >= 0], None
    if not math.isnan(comparisons[0].baseline["disparity"]):
        tested, place = _find_place(first, groups, weights, tested)
    changes = [
        changes_by_a_row(model, classes, weights, weighted) for model in candidates
    ]
    records = []
    for model, model_changes, performance, comparison in zip(
        candidates, changes, values, comparisons, strict=True
    ):
        worst = float(worst_loss(model_changes, changes[0])[0])
        as_good = performance_test(
            performance, values[0], worst, margin, confidence_level
        )
        fairer = PairedTest(math.nan, math.nan)
        if place is not None and not math.isnan(comparison.mitigated["disparity"]):
            fairer = gap_test(
                model.scores[tested],
                first.scores[tested],
                place,
                codes=groups.codes[tested],
                weights=weights[tested],
                confidence_level=confidence_level,
            )
        records.append(_record(comparison, as_good, fairer))
    table = pd.DataFrame(records, list(models))
    # Nothing is said of the baseline beside itself.
    table.iloc[0, 2:] = math.nan
    table["adjusted_pvalue"] = math.nan
    table.iloc[1:, -1] = holm(table["pvalue"].to_numpy()[1:])
    table["confirmed"] = table["adjusted_pvalue"] <= 1 - confidence_level
    return table, dict(zip(list(models)[1:], comparisons[1:], strict=True))


def _find_place(
    model: Model, groups: Groups, weights: Floats, grouped: Integers
) -> tuple[Integers, Place]:
    """Find the place of a gap on a quarter of the rows; return the other rows, too."""
    finding, *others = random_parts(groups.codes[grouped].astype(np.intp), N_PLACES)
    quarter = grouped[finding]
    place = largest_gap_place(
        model.scores[quarter], groups.codes[quarter], weights[quarter]
    )
    return grouped[np.sort(np.concatenate(others))], place


def _record(
    comparison: Comparison, as_good: PairedTest, fairer: PairedTest
) -> dict[str, float]:
    """Return the row of a model in the table of `compare_models`."""
    differences = comparison.difference
    return {
        **comparison.mitigated,
        "performance_difference": differences["performance"],
        "performance_difference_lower": as_good.bound,
        "disparity_difference": differences["disparity"],
        "disparity_difference_upper": fairer.bound,
        "performance_pvalue": as_good.pvalue,
        "disparity_pvalue": fairer.pvalue,
        "pvalue": float(np.maximum(as_good.pvalue, fairer.pvalue)),
    }


def _check_two_labels(y_true: NDArray[Any]) -> None:
    """Raise unless average precision has two labels, one of them positive."""
    labels = distinct_labels(y_true, "y_true").tolist()
    if len(labels) != 2 or not any(set(labels) == {other, 1} for other in (0, -1)):
        raise ValueError(
            "y_true must hold 0 and 1, or -1 and 1, for average precision, got "
            f"{labels[:5]}. Pass y_true == the positive label, or a metric."
        )


def _read_scores(y_score: Any, baseline: Any, n_rows: int) -> dict[Hashable, Floats]:
    """Return the scores of all models by their labels, the baseline first."""
    if not isinstance(y_score, Mapping) and not hasattr(y_score, "columns"):
        raise TypeError(
            "y_score must be a mapping of labels to scores, or a DataFrame, got a "
            f"{type(y_score).__name__}."
        )
    labels = list(getattr(y_score, "columns", y_score))
    has_baseline = isinstance(baseline, Hashable) and baseline in labels
    if len(labels) < 2 or not has_baseline:
        raise ValueError(
            "y_score must have the scores of the baseline and of other models, got "
            f"{labels[:5]} and baseline={shown(baseline)}."
        )
    ordered = [baseline, *(label for label in labels if label != baseline)]
    return {
        label: check_numbers(as_array(y_score[label], str(label), n_rows), str(label))
        for label in ordered
    }


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparisonResult(TableResult):
    """Result of `compare_models`; ``print(result)`` shows the table.

    Attributes
    ----------
    table : DataFrame
        One row for each model, the baseline first. ``performance`` and ``disparity``;
        their differences from the baseline's, ``performance_difference`` and
        ``disparity_difference``; ``performance_difference_lower`` and
        ``disparity_difference_upper``, the one-sided bounds of these differences at
        `confidence_level`, each for one model alone; ``performance_pvalue`` and
        ``disparity_pvalue``; ``pvalue``, the larger of the two; ``adjusted_pvalue``, by
        Holm's method; and ``confirmed``.
    baseline : label
    margin : float
    confidence_level : float
    comparisons : dict of {label: Comparison}
        Both figures of the baseline and of each other model, their difference and its
        standard error, in the form of the `comparison_` of mitigators: in it, a model
        is the mitigated one.
    """

    table: pd.DataFrame = field(repr=False)
    baseline: Hashable
    margin: float
    confidence_level: float
    comparisons: dict[Hashable, Comparison] = field(repr=False)


def compare_models(
    y_true: ArrayLike,
    y_score: Mapping[Any, ArrayLike] | pd.DataFrame,
    *,
    baseline: Hashable,
    sensitive_features: ArrayLike | None,
    margin: float,
    metric: Callable[..., float] | None = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> ModelComparisonResult:
    """Test which models have a lower MCDP than a baseline and perform as well.

    Each model must pass two tests on the same rows: its performance is lower than the
    baseline's by at most `margin`, and its MCDP(0) is lower. Holm's method corrects for
    the number of models, so that all confirmed statements are true together with the
    probability `confidence_level`. No model may have been fitted to these rows, nor
    chosen by them.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, as `metric` takes them; 0 and 1, or -1 and 1, by default.
    y_score : mapping of labels to array-like of shape (n_samples,), or DataFrame
        Scores of each model, finite numbers of which `mcdp` compares the order. Of
        decisions, 0 or 1, MCDP(0) is the demographic parity difference.
    baseline : label
        Which of the models the others are compared with.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row. Rows of no group count in the performance only.
    margin : float
        Performance that may be lost, at least 0, in the unit of `metric`.
    metric : callable, default=None
        ``metric(y_true, y_score)`` that returns a performance, larger for better; with
        a keyword `sample_weight` if that is given. None is
        :func:`sklearn.metrics.average_precision_score`.
    confidence_level : float in (0, 1), default=0.95
        Probability that all confirmed statements are true together.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    ModelComparisonResult
        Its `table` has for each model the performance, the disparity, their differences
        from the baseline's with bounds and p-values, and whether it is ``confirmed``;
        `comparisons` have the standard errors.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If there are fewer than two models or none is the baseline, on lengths that
        differ, on other labels than `metric` takes, and on parameters out of range.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared: then nothing is confirmed.

    See Also
    --------
    FairestWithin : Chooses a candidate of a search.

    Notes
    -----
    The standard error of a difference of performances is that of a paired jackknife,
    which leaves out one of 30 parts of the rows at a time. Models that differ in few
    rows may differ in more rows of the population, and by more. So one row is added in
    which the baseline is as right and the other model as wrong as the true labels and
    the responses of these rows allow, and all rows get random weights, uniform on the
    simplex. This is Gaffke's bound [2]_, computed from three moments; for hits and
    misses it is that of Clopper and Pearson. Where two models agree in all of n rows, a
    loss of accuracy of 3 / n is just excluded at the level .95. A performance without a
    bound, such as a log loss, may fall further than these rows show. Gaps have the same
    bounds, of each group, as in melded intervals [3]_.

    MCDP is the largest of many gaps. Noise raises it, the more so the smaller it is, so
    the difference of two values is not a basis for a test. Here a random quarter of the
    rows finds the score of the baseline's largest gap, and the other rows measure the
    gap at this score, which is at most the baseline's MCDP. The candidate's MCDP is
    lower if its gap is lower than that at every score and between every two groups.
    Each is a paired comparison of shares, and all comparisons must be significant: an
    intersection-union test, whose level is at most that of each
    (``benchmarks/less_discriminatory.py``). The test is conservative where the
    candidate's gap is about the same at many scores, and where groups are small.

    References
    ----------
    .. [1] Berger. "Multiparameter Hypothesis Testing and Acceptance Sampling".
       Technometrics 24(4), 1982. Intersection-union tests.
    .. [2] Gaffke. "Three Test Statistics for a Nonparametric One-Sided Hypothesis on
       the Mean of a Nonnegative Variable". Mathematical Methods of Statistics 14(4),
       2005.
    .. [3] Fay, Proschan, Brittain. "Combining One-Sample Confidence Procedures for
       Inference in the Two-Sample Case". Biometrics 71(1), 2015.
    .. [4] Holm. "A Simple Sequentially Rejective Multiple Test Procedure".
       Scandinavian Journal of Statistics 6(2), 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.model_selection import compare_models
    >>> rng = np.random.default_rng(0)
    >>> y, man = rng.integers(0, 2, (2, 2000))
    >>> merit = y + rng.normal(size=2000)
    >>> result = compare_models(
    ...     y,
    ...     {"old": merit + man, "new": merit + 0.2 * man, "noise": rng.random(2000)},
    ...     baseline="old",
    ...     sensitive_features=np.where(man, "M", "F"),
    ...     margin=0.02,
    ... )
    >>> result.table["confirmed"]
    old      False
    new       True
    noise    False
    Name: confirmed, dtype: bool
    >>> result.table.query("confirmed")["disparity"].idxmin()
    'new'
    >>> result.comparisons["new"].to_frame().round(2)
                 baseline  mitigated  difference  standard_error
    performance      0.76       0.78        0.02            0.01
    disparity        0.34       0.08       -0.25            0.01
    """
    warn_if_reordered(
        y_true=y_true,
        y_score=y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    margin = check_real("margin", margin, 0, math.inf, closed="left")
    y = as_array(y_true, "y_true")
    check_shape(y, "y_true")
    check_no_missing(y, "y_true")
    if metric is None:
        metric = average_precision_score
        _check_two_labels(y)
    elif not callable(metric) or hasattr(metric, "_score_func"):
        raise TypeError(
            "metric must be a function of y_true and y_score, such as "
            f"sklearn.metrics.average_precision_score, got {shown(metric)}."
        )
    scores = _read_scores(y_score, baseline, len(y))
    groups = resolve_groups(sensitive_features, n_samples=len(y))
    weights = check_weights(sample_weight, len(y))
    n_rows = len(y) if weights is None else np.count_nonzero(weights)
    if n_rows < 2:
        raise ValueError(f"y_true must have two rows with a weight, got {n_rows}.")

    def measure(y_score: Floats, labelled: Integers, rows: Integers) -> float:
        options = {} if weights is None else {"sample_weight": weights[labelled]}
        return float(metric(y[labelled], y_score[rows], **options))

    models = {
        label: Model(partial(measure, values), values, values)
        for label, values in scores.items()
    }
    table, comparisons = models_table(
        models,
        groups,
        np.unique(y, return_inverse=True)[1],
        np.ones(len(y)) if weights is None else weights.astype(np.float64),
        margin=margin,
        confidence_level=level,
    )
    return ModelComparisonResult(table, baseline, margin, level, comparisons)
