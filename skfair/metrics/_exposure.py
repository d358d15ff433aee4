"""Exposure in a ranking: who stands where people look."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expi

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._validation import check_numbers
from skfair.groups import rows_by_code
from skfair.metrics._inputs import Multigroup
from skfair.metrics._metric import evaluates
from skfair.metrics._rates import DifferenceOfMeans
from skfair.metrics._strata import Multistratum

Reference = Literal["rows", "relevance"]
#: Positions whose discounts are summed one by one.
_MOST_SUMMED = 100_000


@dataclass(frozen=True, kw_only=True)
class ExposureDifference(DifferenceOfMeans):
    """Difference of the mean exposures of groups in a ranking."""

    inputs = ("y_true", "y_score")
    maximum = math.inf
    #: Scores are any numbers, of which the order counts.
    scale: ClassVar[str] = "rank"

    choices = DifferenceOfMeans.choices | {"reference": get_args(Reference)}

    reference: Reference = "rows"

    @property
    def compares_numbers(self) -> bool:
        """Return whether means of any finite numbers are compared."""
        return True

    def check(self, rows: Rows) -> Rows:
        """Check scores; return the exposure of each row, relative to the mean."""
        scores = check_numbers(rows.y_pred, "y_score")
        people = (rows.weights > 0) * (1 if rows.n is None else rows.n)
        relevance = None
        if self.reference == "relevance":
            relevance = _check_relevance(rows.y_true)
        rankings = [np.arange(len(rows))]
        if rows.strata is not None:
            rankings = rows_by_code(rows.strata.codes)
        exposures = np.zeros(len(rows))
        for ranking in rankings:
            if not len(ranking):
                continue
            weights = rows.weights[ranking]
            exposure = expected_exposures(scores[ranking], people[ranking])
            exposures[ranking] = exposure / np.average(exposure, weights=weights)
            if relevance is not None:
                exposures[ranking] -= _share_of_mean(relevance[ranking], weights)
        return replace(rows, y_true=None, y_pred=exposures)


def _share_of_mean(relevance: Floats, weights: Floats) -> Floats:
    """Divide the relevance of the rows of a ranking by their mean."""
    mean = np.average(relevance, weights=weights)
    if not mean > 0:
        raise ValueError(
            "y_true must have a positive sum in each ranking for "
            "reference='relevance', got 0."
        )
    return np.asarray(relevance / mean)


def _check_relevance(y_true: Any) -> Floats:
    """Return the relevance of rows, numbers of at least 0."""
    if y_true is None:
        raise ValueError(
            "y_true must be the relevance of each row for reference='relevance', got "
            "None."
        )
    relevance = check_numbers(y_true, "y_true")
    if (relevance < 0).any():
        row = int((relevance < 0).argmax())
        raise ValueError(
            f"y_true must be at least 0 for reference='relevance', got "
            f"{relevance[row]:g} in row {row}."
        )
    return relevance


def expected_exposures(scores: Floats, people: Any) -> Floats:
    """Return the mean discount of each row over random orders of rows of equal score.

    A row of several `people` takes as many positions.
    """
    _, score_positions = np.unique(-scores, return_inverse=True)
    sizes = np.bincount(score_positions, people).astype(np.int64)
    last = np.cumsum(sizes)
    sums = _summed_discounts(last) - _summed_discounts(last - sizes)
    return quotients(sums, sizes)[score_positions]


def _summed_discounts(positions: Integers) -> Floats:
    """Sum the discounts up to each position; approximate long sums by integrals."""
    most = min(int(positions.max(initial=0)), _MOST_SUMMED)
    sums = np.append(0.0, np.cumsum(1 / np.log2(np.arange(most) + 2)))
    totals = sums[np.minimum(positions, most)]
    ends = np.log(np.array([most, *positions[positions > most]]) + 1.0)
    integrals = math.log(2) * (expi(ends) + (1 - np.exp(-ends) / ends / 6) / ends / 2)
    totals[positions > most] += integrals[1:] - integrals[0]
    return np.asarray(totals)


@evaluates(ExposureDifference)
def exposure_difference(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    reference: Reference = "rows",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the exposure in a ranking.

    People look at the top of a list: position r has the exposure 1 / log2(1 + r). The
    metric compares the exposure of groups over their share of rows, which is 1 for
    everyone. So 0.3 says that members of one group get more exposure than members of
    another, by 30 % of the mean. With ``reference="relevance"`` groups may have
    exposure in proportion to their relevance.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Relevance of each row for ``reference="relevance"``, numbers of at least 0, such
        as labels of 0 and 1. Otherwise ignored, so that the metric fits
        `sklearn.metrics.make_scorer`.
    y_score : array-like of shape (n_samples,)
        Any finite numbers; the largest stands first. Rows of one score have the mean
        exposure of their positions.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Ranking of each row, such as its query or its day: each stratum is ranked by
        itself, and groups are compared within it. Strata without two groups are left
        out, with a warning that names them.
    reference : {"rows", "relevance"}, default="rows"
        What a group's exposure is compared with: its share of the rows, or of their
        relevance. Then the share of exposure less that of relevance, over the share of
        rows, is compared.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each, as for
        many short rankings.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights in the means. Each row has one position, and none
        if its weight is 0.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for, in positions of their own; by default one.

    Returns
    -------
    float
        At least 0, in units of the mean exposure. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On scores that are not finite numbers, relevance that is negative or 0 for all
        rows of a ranking, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mcdp : Compares all of the order; ``scale="rank"`` takes any scores.

    Notes
    -----
    Tests permute groups over the given positions. Intervals also take positions as
    given, and are for lists drawn in the same way as this one. In a short list the
    first positions have much of the exposure, and noise is large.

    References
    ----------
    .. [1] Singh, Joachims. "Fairness of Exposure in Rankings". KDD 2018. Equation 3,
       with demographic parity and disparate treatment as differences.

    Examples
    --------
    >>> from skfair.metrics import exposure_difference
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    >>> sex = ["M", "M", "F", "M", "F", "F"]
    >>> exposure_difference(None, y_score, sensitive_features=sex)
    0.495...
    >>> relevance = [1, 1, 0, 1, 1, 0]
    >>> exposure_difference(
    ...     relevance, y_score, sensitive_features=sex, reference="relevance"
    ... )
    0.504...
    """
    metric = ExposureDifference(
        reference=reference,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )
