"""Area between cumulative curves: ABCC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._arrays import Floats
from skfair._utils._validation import AnyScale
from skfair.metrics._distributions import GapOfDistributions, compare_gaps
from skfair.metrics._inputs import Multigroup
from skfair.metrics._metric import evaluates
from skfair.metrics._pairs import measure_gaps
from skfair.metrics._quantiles import (
    MEAN_ABSOLUTE,
    Comparisons,
    Method,
    Observed,
    distribution_free_quantiles,
    mean_moments,
    noise_of_means,
    shares_of_groups,
    shift_quantiles,
    sum_by_comparison,
)
from skfair.metrics._strata import Multistratum
from skfair.statistics import CountTable
from skfair.statistics._distributions import Gap


def area(gap: Gap, largest: float = 1.0) -> float:
    """Return the area between two cumulative distributions."""
    heights = np.abs(gap.signed[:-1]) / gap.scale
    # Not by `@`, whose rounding depends on the number of threads.
    area = float((heights * np.diff(gap.scores)).sum())
    return min(largest, area)  # rounding may exceed 1, the largest of probabilities


def areas_at(scores: Floats) -> Callable[[Floats], Floats]:
    """Return a function that computes areas of gaps at these scores, a row for each."""
    widths = np.diff(scores)
    return lambda apart: np.asarray(np.einsum("ij,j->i", apart[:, :-1], widths))


@dataclass(frozen=True, kw_only=True)
class ABCC(GapOfDistributions):
    """Largest area between two CDFs."""

    has_loose_bounds = False
    bounds_ranks = False
    choices = GapOfDistributions.choices | {"scale": get_args(AnyScale)}

    def measure(self, gap: Gap) -> float:
        """Measure the area between two CDFs."""
        return area(gap, self.upper_limit)

    def measure_at(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return a function that computes areas of gaps at these scores."""
        return areas_at(scores)

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of areas, by tangents that are means of functions of slope 1.

        These functions of the scores vary at most as the scores do. By the Gaussian
        isoperimetric inequality the area between the noise of two CDFs exceeds its mean
        by no more than a tangent does.
        """
        statistic, sizes, _ = observed
        shares = shares_of_groups(statistic)
        gaps = measure_gaps(statistic, self.multigroup, area, areas_at)
        free = distribution_free_quantiles(sizes, shares, self.multigroup, method)
        to_upper_end, to_lower_end = free.of_mean, free.of_cdf
        if method == "band":
            moments = mean_moments(statistic)
            to_upper_end, further = noise_of_means(
                moments, sizes, shares, self.multigroup
            )
            mean_noise = _area_noise(observed, self.multigroup)
            to_lower_end = shift_quantiles(mean_noise, further)
        return compare_gaps(gaps, to_upper_end, to_lower_end)


#: Scores at which the noise of the area between CDFs is evaluated.
_GRID = 1024


def _area_noise(observed: Observed, multigroup: Multigroup) -> Floats:
    """Return, for each comparison, the mean area under the noise of its CDFs."""
    statistic, sizes, _ = observed
    n_groups = statistic.n_groups
    grid = np.linspace(0, len(statistic.scores) - 1, _GRID).astype(np.intp)
    scores = np.unique(statistic.scores[grid])
    ends = np.searchsorted(statistic.scores, scores, side="right")
    cells = np.repeat(n_groups * np.arange(len(ends)), np.diff(ends, prepend=0))
    cells += statistic.codes
    weights = np.bincount(cells, statistic.weights, len(ends) * n_groups)
    sums = np.cumsum(weights.reshape(-1, n_groups), axis=0)
    cdfs = (sums[:-1] / statistic.totals).T
    variances = np.maximum(cdfs * (1 - cdfs), 0) / sizes[:, None]  # rounded
    noise = np.sqrt(
        sum_by_comparison(variances, shares_of_groups(statistic), multigroup)
    )
    return np.asarray(MEAN_ABSOLUTE * noise @ np.diff(scores))


@evaluates(ABCC)
def abcc(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    scale: AnyScale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Area between the cumulative curves of the groups' scores (ABCC).

    .. math::
        \\int_0^1 |F_0(t) - F_1(t)| \\, dt,

    the gap between the groups' rates of positive decisions averaged over all
    thresholds, which is also the Wasserstein-1 distance of their scores. It needs no
    true labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored, so that the metric fits `sklearn.metrics.make_scorer`. If given it
        must be of the right length, and binary where `y_score` is one column
        of probabilities.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), or \
CountTable
        Probabilities of the positive class, in [0, 1]; any finite numbers with
        ``scale="rank"`` or ``scale="real"``. Of three or more classes a column for
        each: the value is the largest over classes, each against the rest, and
        `values_by_class` names the class. A table takes the place of all rows; then
        `y_true`, `sensitive_features` and `sample_weight` are None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    scale : {"probability", "rank", "real"}, default="probability"
        ``"rank"`` is for scores that are not probabilities: it replaces them by their
        ranks among everyone, from 0 to 1, so that the average is over everyone's
        scores as thresholds. ``"real"`` is for predicted numbers: the value is their
        Wasserstein distance, in their unit. It is the mean change that makes the
        predictions of one group distributed as those of the other.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included. The pooled value is smaller, even with two groups; the paper
        compares pairs.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    float
        In [0, 1], with ``scale="real"`` in the unit of the scores. 0 is parity. nan
        with a warning where a group is absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On scores outside [0, 1] or not finite, lengths that differ, missing groups, or
        pairs of more than 64 groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mcdp : The largest gap in place of the average.
    demographic_parity_difference : The difference of the means, at most ABCC.

    Notes
    -----
    The integral of the step function is exact, not a sum over a grid.

    References
    ----------
    .. [1] Han et al. "Retiring Delta DP: New Distribution-Level Metrics for
       Demographic Parity". TMLR 2023.
    .. [2] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Section 2.

    Examples
    --------
    >>> from skfair.metrics import abcc
    >>> round(abcc(None, [0.1, 0.4, 0.5, 0.6], sensitive_features=[0, 0, 1, 1]), 3)
    0.3

    Predicted salaries, in their unit:

    >>> salary, sex = [31_000, 40_000, 36_000, 43_000], ["F", "F", "M", "M"]
    >>> abcc(None, salary, sensitive_features=sex, scale="real")
    4000.0
    """
    metric = ABCC(scale=scale, multigroup=multigroup, multistratum=multistratum)
    return metric(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )
