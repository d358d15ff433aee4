"""Variance of the groups' rates: the estimator behind the CVaR fairness test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._results import Result
from skfair._utils._text import shown
from skfair._utils._validation import check_flag, check_real
from skfair._utils._warnings import warn_user, warns_if_reordered
from skfair.groups import Groups
from skfair.metrics._groupwise._group_gaps import GroupWeights, weigh_groups
from skfair.metrics._inputs import Quality, count_hits, grouped_quality
from skfair.statistics import GroupedOutcomes

Sampling: TypeAlias = (
    Literal["fixed", "weighted", "attribute_specific"] | tuple[str, float]
)

#: The exponent of weighted sampling that needs the fewest rows.
EXPONENT = 2 / 3


@dataclass(frozen=True, repr=False)
class RateVarianceResult(Result):
    """Result of `rate_variance`.

    Attributes
    ----------
    value : float
        Estimate F of the weighted variance of the groups' rates (definition 7). The
        variance is at least (1 - alpha) CVaR^2 for every alpha; the estimate may be
        negative.
    f1 : float
        Estimate of the weighted mean of the squared rates.
    f2 : float
        Estimate of the weighted mean of the rates.
    bias_correction : bool
        Whether `value` is unbiased, see `rate_variance`.
    sampling : str
    n_rows, n_groups : int
        Number of rows that count, and of all groups.
    n_small_groups : int
        Groups with fewer than two rows.
    """

    value: float
    f1: float
    f2: float
    bias_correction: bool
    sampling: str
    n_rows: int
    n_groups: int
    n_small_groups: int


@warns_if_reordered
def rate_variance(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Any = None,
    sampling: Sampling = "fixed",
    bias_correction: bool = False,
) -> RateVarianceResult:
    """Estimate the weighted variance of the groups' rates (definition 7).

    The variance is 0 if all groups have the same rate, and at least (1 - alpha) times
    the square of CVaR fairness for every alpha. Two rows of a group suffice. Unlike
    CVaR fairness, the estimate is not biased upwards by noise in small groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. If a sampling plan drew no rows of
        some groups, name these in a mapping or in a `Groups`, since they count too.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How the rows were sampled:

        - ``"fixed"``: sizes of groups are not random. Groups with fewer than two rows
          are left out, since they have no information on the variance, and the
          weights of the others are scaled.
        - ``"weighted"``: rows were drawn independently, from a group with probability
          proportional to its weight to the power 2/3. ``("weighted", exponent)`` sets
          another power: 1 for simple random samples if weights are population shares.
        - ``"attribute_specific"``: groups were drawn with probability gamma times
          their weight, and the same number of rows from each of them. gamma is
          estimated by the number of groups drawn; ``("attribute_specific", gamma)``
          sets it.
    bias_correction : bool, default=False
        Whether to subtract an unbiased estimate of the squared mean rate. By default
        the square of `f2` is subtracted, whose expectation is too large by Var(f2).
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.

    Returns
    -------
    RateVarianceResult
        Its numbers are nan, with a warning, if no group has two rows.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `sampling` is invalid or rows are weighted.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows.

    See Also
    --------
    cvar_fairness_test : The test that uses this estimate.
    skfair.sampling.weighted_sampling : Sampling plan for ``"weighted"``.
    skfair.sampling.attribute_specific_sampling : Plan for ``"attribute_specific"``.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definitions 5 to 7,
       lemmas 5, 7 and 9.

    Examples
    --------
    >>> from skfair.metrics import rate_variance
    >>> y_pred = [1, 1, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "b", "b", "b"]
    >>> rate_variance(None, y_pred, sensitive_features=group)
    RateVarianceResult(value=0.25, f1=0.5, f2=0.5, bias_correction=False,
    sampling='fixed', n_rows=6, n_groups=2, n_small_groups=0)
    """
    check_flag("bias_correction", bias_correction)
    statistic = grouped_quality(y_true, y_pred, sensitive_features, quality, pos_label)
    estimator = make_estimator("rate_variance", statistic, group_weights, sampling)
    f1, f2 = (float(part[0]) for part in estimator.moments(estimator.hits[np.newaxis]))
    squared_mean = estimator.squared_mean(f2) if bias_correction else f2**2
    return RateVarianceResult(
        value=f1 - squared_mean,
        f1=f1,
        f2=f2,
        bias_correction=bias_correction,
        sampling=estimator.design.name,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
    )


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """How the rows of an audit were sampled, as far as definition 7 needs it."""

    name: str
    # Of the groups, shape (n_groups,); they sum to one over those that take part.
    weights: Floats
    # Probability that a group has at least one row, and at least two.
    one_row: Floats
    two_rows: Floats
    # Probability of each group in one draw, under weighted sampling.
    shares: Floats | None = None


def sampling_design(
    sampling: Sampling, weights: Floats, sizes: Integers
) -> SamplingDesign:
    """Return the design that `sampling` names for groups of these sizes."""
    name, parameter = _check_sampling(sampling)
    n_rows = int(sizes.sum())
    if name == "weighted":
        shares = weighted_shares(weights, EXPONENT if parameter is None else parameter)
        one_row, two_rows = (np.asarray(binom.sf(k, n_rows, shares)) for k in (0, 1))
        return SamplingDesign(name, weights, one_row, two_rows, shares)
    if name == "attribute_specific":
        # gamma is the expected number of sampled groups: estimate it by their number.
        gamma = n_rows / max(sizes.max(initial=0), 1)
        sampled = np.minimum(1, (parameter or gamma) * weights)
        return SamplingDesign(name, weights, sampled, sampled)
    kept = np.where(sizes >= 2, weights, 0.0)
    total = kept.sum()
    certain = np.ones(len(weights))
    return SamplingDesign(name, kept / (total if total > 0 else 1), certain, certain)


def _check_sampling(sampling: Any) -> tuple[str, float | None]:
    """Return the name of a sampling design and its parameter, if one is given."""
    pair = isinstance(sampling, tuple) and len(sampling) == 2
    name, parameter = sampling if pair else (sampling, None)
    known = ("fixed", "weighted", "attribute_specific")
    if not isinstance(name, str) or name not in known:
        raise ValueError(
            "sampling must be 'fixed', 'weighted', 'attribute_specific', or a tuple of "
            f"one of the latter two and its parameter, got {shown(sampling)}."
        )
    if parameter is None:
        return name, None
    if name == "fixed":
        raise ValueError(f"sampling 'fixed' has no parameter, got {shown(sampling)}.")
    closed: Literal["left", "neither"] = "left" if name == "weighted" else "neither"
    return name, check_real(
        f"the parameter of sampling {name!r}", parameter, 0, math.inf, closed=closed
    )


def weighted_shares(weights: Floats, exponent: float) -> Floats:
    """Return the probability of each group in a draw of weighted sampling (eq. 35)."""
    exponent = check_real("exponent", exponent, 0, math.inf, closed="left")
    powers = np.zeros(len(weights))
    # With exponent 0 too, a group without weight is never drawn. The largest power is
    # 1, however large the exponent.
    if weights.any():
        np.power(weights / weights.max(), exponent, out=powers, where=weights > 0)
        powers /= powers.sum()
    return powers


@dataclass(frozen=True, eq=False)
class RateVarianceEstimator:
    """The estimator of definition 7 for groups of given sizes, and observed hits."""

    design: SamplingDesign
    sizes: Integers
    hits: Integers

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return int(self.sizes.sum())

    @property
    def n_small_groups(self) -> int:
        """Number of groups with fewer than two rows."""
        return int((self.sizes < 2).sum())

    @property
    def defined(self) -> bool:
        """Whether some group with a positive weight has two rows."""
        return bool((self.design.weights[self.sizes >= 2] > 0).any())

    def moments(self, hits: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return F1 and F2 for each row of hits; nan where undefined.

        Terms whose denominator is 0 are 0, as in definition 7.
        """
        if not self.defined:
            undefined = np.full(len(hits), np.nan)
            return undefined, undefined
        weights, sizes = self.design.weights, self.sizes
        pairs = sizes * (sizes - 1.0)
        counts = hits.astype(np.float64)
        f1 = (counts * (counts - 1)) @ quotients(weights, self.design.two_rows * pairs)
        f2 = counts @ quotients(weights, self.design.one_row * sizes)
        return f1, f2

    def values(self, hits: NDArray[Any]) -> Floats:
        """Return F for each row of hits (equation 36)."""
        f1, f2 = self.moments(hits)
        return f1 - f2**2

    def squared_mean(self, f2: float) -> float:
        """Return an unbiased estimate of the squared mean rate; nan where undefined."""
        if not self.defined:
            return math.nan
        weights, one_row = self.design.weights, self.design.one_row
        hits, sizes = self.hits, self.sizes
        if self.design.shares is not None:
            # Counts of groups add up to n, so they are dependent: use pairs of rows.
            scale = quotients(weights, self.design.shares)
            n = sizes.sum()
            total, squares = scale @ hits, scale**2 @ hits
            return float((total**2 - squares) / (n * (n - 1)))
        rates = quotients(hits, sizes)
        squared_rates = quotients(hits * (hits - 1.0), sizes * (sizes - 1.0))
        # E[rate^2] - P * E[unbiased estimate of rate^2] is the variance of a term.
        variances = quotients(weights, one_row) ** 2 * (
            rates**2 - one_row * squared_rates
        )
        return float(f2**2 - variances.sum())


def make_estimator(
    metric: str,
    statistic: GroupedOutcomes,
    group_weights: GroupWeights,
    sampling: Sampling,
    *,
    weighted: bool = False,
) -> RateVarianceEstimator:
    """Return the estimator for a statistic of 0/1 outcomes; warn where undefined.

    Of weighted rows it counts rows only, see `weighted_rate_variance`.
    """
    statistic, weights = weigh_groups(statistic, group_weights)
    if weighted and _check_sampling(sampling)[0] != "fixed":
        raise ValueError(
            f"sampling must be 'fixed' with sample_weight, got {shown(sampling)}."
        )
    sizes, hits = count_hits(statistic, weighted=weighted)
    design = sampling_design(sampling, weights, sizes)
    estimator = RateVarianceEstimator(design, sizes, hits)
    if not estimator.defined:
        warn_user(
            f"{metric} is undefined and set to nan: none of the {len(sizes)} groups "
            f"has a positive weight and two rows that count, of {estimator.n_rows} "
            "rows in all.",
            UndefinedMetricWarning,
        )
    return estimator


def weighted_rate_variance(
    y_true: None,
    outcomes: Integers,
    *,
    sensitive_features: Groups,
    group_weights: GroupWeights,
    sample_weight: NDArray[Any],
) -> float:
    """Estimate of definition 7 for weighted rows of groups of fixed sizes."""
    first, second = (
        GroupedOutcomes.from_outcomes(
            outcomes, sensitive_features=sensitive_features, sample_weight=weights
        )
        for weights in (sample_weight, np.square(sample_weight, dtype=float))
    )
    statistic, weights = weigh_groups(first, group_weights)
    sums = second.with_labels(statistic.labels).sums  # of squared weights
    weights = sampling_design("fixed", weights, statistic.counts).weights
    pairs = np.where(
        statistic.counts >= 2, statistic.totals**2.0 - statistic.squares, 0
    )
    if not weights.any():
        return math.nan
    squares = quotients(statistic.sums**2.0 - sums, pairs)
    rates = quotients(statistic.sums, statistic.totals)
    return float(weights @ squares - (weights @ rates) ** 2)
