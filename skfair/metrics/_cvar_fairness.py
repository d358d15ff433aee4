"""Tests of many groups.

`cvar_fairness_test` estimates the variance of the groups' rates from two rows of each.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._results import Result
from skfair._utils._text import shown
from skfair._utils._validation import check_flag, check_integer, check_real
from skfair._utils._warnings import warn_user
from skfair.metrics._inputs import Quality, count_hits
from skfair.metrics._many_groups import (
    DistanceFromAverage,
    GroupWeights,
    MaxGap,
    weigh_groups,
)
from skfair.metrics._parts import Estimate
from skfair.metrics._permutation import (
    PermutationTestResult,
    permute,
)
from skfair.metrics._resampling import check_seed, read_and_evaluate
from skfair.metrics._sample import Sample, SamplePart
from skfair.statistics import CountTable


def max_gap_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Hashable = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    n_permutations: int = 999,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PermutationTestResult:
    """Test whether the largest gap exceeds sampling noise.

    This is `permutation_test` of `max_gap`, among the rows that count. Its power is low
    if groups are small, since the largest gap is then that of some group of a few rows;
    `cvar_fairness_test` has more power.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels, or a table that replaces all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `max_gap`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups in the average, see `max_gap`.
    pos_label : int, float, bool or str, default=None
        The positive class, see `max_gap`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. They stay with the row's outcome where groups are
        permuted, row by row.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.

    Returns
    -------
    PermutationTestResult
        Statistic, p-value and null distribution are nan where max-gap is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `max_gap`, and if `n_permutations` is not a positive integer or a
        statistic is one of weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As in `max_gap`.

    See Also
    --------
    max_gap : The metric.
    cvar_fairness_test : The test of CVaR fairness.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definitions 1 and 2.

    Examples
    --------
    >>> from skfair.metrics import max_gap_test
    >>> y_pred = [1] * 9 + [0] + [0] * 9 + [1]
    >>> group = ["a"] * 10 + ["b"] * 10
    >>> result = max_gap_test(
    ...     None, y_pred, sensitive_features=group, n_permutations=199, random_state=0
    ... )
    >>> result.pvalue
    0.00...
    """
    metric = MaxGap(quality=quality, group_weights=group_weights, pos_label=pos_label)
    observed, sample = read_and_evaluate(
        metric,
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        counts=counts,
    )
    within = metric.check(sample.rows).y_true
    return permute(
        sample,
        observed,
        within,
        check_integer("n_permutations", n_permutations, 1),
        generator=check_seed(random_state),
        n_jobs=n_jobs,
        verbose=verbose,
    )


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


def rate_variance(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Hashable = None,
    sampling: Sampling = "fixed",
    bias_correction: bool = False,
    counts: ArrayLike | None = None,
) -> RateVarianceResult:
    """Estimate the weighted variance of the groups' rates (definition 7).

    The variance is 0 if all groups have the same rate, and at least (1 - alpha) times
    the square of CVaR fairness for every alpha. Two rows of a group suffice. Unlike
    CVaR fairness, the estimate is not biased upwards by noise in small groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels, or a table that replaces all rows.
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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = MaxGap(quality=quality, pos_label=pos_label)
    statistic = metric.read_statistic(y_true, y_pred, sensitive_features, None, counts)
    estimator = RateVarianceEstimator(
        "rate_variance", statistic, group_weights, sampling
    )
    f1, f2 = (float(part[0]) for part in estimator.moments(estimator.hits[np.newaxis]))
    squared_mean = estimator.squared_mean(f2) if bias_correction else f2**2
    return RateVarianceResult(
        value=f1 - squared_mean,
        f1=f1,
        f2=f2,
        bias_correction=bias_correction,
        sampling=estimator.sampling,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
    )


class SamplingDesign(NamedTuple):
    """Weights and sampling probabilities of groups, as definition 7 needs them."""

    #: Weights, which sum to one over the groups that take part.
    weights: Floats
    #: Probability of at least one row of a group, and of at least two.
    one_row: Floats
    two_rows: Floats


def sampling_design(
    sampling: Sampling, weights: Floats, sizes: Integers
) -> SamplingDesign:
    """Return weights and sampling probabilities of groups, given their sizes."""
    name, parameter = _check_sampling(sampling)
    n_rows = int(sizes.sum())
    if name == "weighted":
        shares = weighted_shares(weights, EXPONENT if parameter is None else parameter)
        one_row, two_rows = (np.asarray(binom.sf(k, n_rows, shares)) for k in (0, 1))
        return SamplingDesign(weights, one_row, two_rows)
    if name == "attribute_specific":
        # gamma is the expected number of sampled groups: estimate it by their number.
        gamma = n_rows / max(sizes.max(initial=0), 1)
        sampled = np.minimum(1, (parameter or gamma) * weights)
        return SamplingDesign(weights, sampled, sampled)
    weights = np.where(sizes >= 2, weights, 0.0)
    total = weights.sum()
    certain = np.ones(len(weights))
    return SamplingDesign(weights / (total if total > 0 else 1), certain, certain)


def _check_sampling(sampling: Any) -> tuple[str, float | None]:
    """Return the name of a sampling design and its parameter, or None."""
    pair = isinstance(sampling, tuple) and len(sampling) == 2
    name, parameter = sampling if pair else (sampling, None)
    designs = ("fixed", "weighted", "attribute_specific")
    if not isinstance(name, str) or name not in designs:
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


class RateVarianceEstimator:
    """Estimator of definition 7 for the groups of a statistic of 0/1 outcomes.

    Sample weights are ignored here, but not by `WeightedRateVariance`. A warning says
    if the estimate is undefined.
    """

    def __init__(
        self,
        metric: str,
        statistic: Rows,
        group_weights: GroupWeights,
        sampling: Sampling,
        *,
        weighted: bool = False,
    ) -> None:
        statistic, weights = weigh_groups(statistic, group_weights)
        self.statistic = statistic
        self.sampling, parameter = _check_sampling(sampling)
        if weighted and self.sampling != "fixed":
            raise ValueError(
                f"sampling must be 'fixed' with sample_weight, got {shown(sampling)}."
            )
        self.sizes, self.hits = count_hits(statistic, weighted=weighted)
        self.n_rows = int(self.sizes.sum())
        self.n_small_groups = int((self.sizes < 2).sum())
        self.shares = None  # probability of each group in one draw
        if self.sampling == "weighted":
            exponent = EXPONENT if parameter is None else parameter
            self.shares = weighted_shares(weights, exponent)
        self.weights, self.one_row, self.two_rows = sampling_design(
            sampling, weights, self.sizes
        )
        self.is_defined = bool((self.weights[self.sizes >= 2] > 0).any())
        if not self.is_defined:
            warn_user(
                f"{metric} is undefined and set to nan: none of the {len(self.sizes)} "
                "groups has a positive weight and two rows that count, of "
                f"{self.n_rows} rows in all.",
                UndefinedMetricWarning,
            )

    @property
    def cells(self) -> Rows:
        """Return the people of each group with outcome 0, then with outcome 1."""
        n_groups = self.statistic.n_groups
        groups = replace(self.statistic.groups, codes=np.tile(np.arange(n_groups), 2))
        n = np.concatenate([self.sizes - self.hits, self.hits])
        return Rows(groups, y_pred=np.repeat([0.0, 1.0], n_groups), n=n)

    def moments(self, hits: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the terms F1 and F2 of F for each row of hits; nan where undefined.

        As in definition 7, terms of groups whose denominator is 0 count as 0.
        """
        if not self.is_defined:
            undefined = np.full(len(hits), np.nan)
            return undefined, undefined
        pairs = self.sizes * (self.sizes - 1.0)
        counts = hits.astype(np.float64)
        f1 = (counts * (counts - 1)) @ quotients(self.weights, self.two_rows * pairs)
        f2 = counts @ quotients(self.weights, self.one_row * self.sizes)
        return f1, f2

    def estimate(self, statistic: Rows) -> float:
        """Return the estimate F (equation 36) for rows of this estimator's groups."""
        f1, f2 = self.moments(statistic.sums[np.newaxis])
        return float(f1[0] - f2[0] ** 2)

    def squared_mean(self, f2: float) -> float:
        """Return an unbiased estimate of the squared mean rate; nan where undefined."""
        if not self.is_defined:
            return math.nan
        hits, sizes = self.hits, self.sizes
        if self.shares is not None:
            # Counts of groups add up to n, so they are dependent: use pairs of rows.
            scale = quotients(self.weights, self.shares)
            total, squares = scale @ hits, scale**2 @ hits
            return float((total**2 - squares) / (self.n_rows * (self.n_rows - 1)))
        rates = quotients(hits, sizes)
        squared_rates = quotients(hits * (hits - 1.0), sizes * (sizes - 1.0))
        # E[rate^2] - P * E[unbiased estimate of rate^2] is the variance of a term.
        variances = quotients(self.weights, self.one_row) ** 2 * (
            rates**2 - self.one_row * squared_rates
        )
        return float(f2**2 - variances.sum())


@dataclass(frozen=True, kw_only=True)
class RateVariance(DistanceFromAverage):
    """Estimate of definition 7 for unweighted rows of groups of fixed sizes."""

    estimator: RateVarianceEstimator

    def estimate_statistic(self, statistic: Rows) -> Estimate:
        """Estimate the variance of rates from rows of the estimator's groups."""
        value = self.estimator.estimate(statistic)
        return Estimate(value, defined=not math.isnan(value))


class WeightedRateVariance(DistanceFromAverage):
    """Estimate of definition 7 for weighted rows of groups of fixed sizes."""

    def collect(self, rows: Rows) -> tuple[Rows, Rows]:
        """Collect the outcomes of rows by weight, and by squared weight."""
        rows = rows.grouped()
        return rows, replace(rows, weight=rows.entry_squares)

    def estimate_statistic(self, statistic: Any) -> Estimate:
        """Estimate the variance of the rates."""
        first, second = statistic
        first, weights = weigh_groups(first, self.group_weights)
        second, _ = weigh_groups(second, self.group_weights)
        sums = second.sums  # of squared weights
        weights = sampling_design("fixed", weights, first.counts).weights
        if not weights.any():
            return Estimate(math.nan, defined=False)
        products = first.totals**2.0 - first.group_squares
        pairs = np.where(first.counts >= 2, products, 0)
        squares = quotients(first.sums**2.0 - sums, pairs)
        rates = quotients(first.sums, first.totals)
        return Estimate(float(weights @ squares - (weights @ rates) ** 2))


@dataclass(frozen=True, eq=False, repr=False)
class CVaRTestResult(Result):
    """Result of `cvar_fairness_test`; ``str(result)`` is a sentence for a report.

    Attributes
    ----------
    value : float
        Estimated weighted variance of the groups' rates, F of definition 7.
    threshold : float
        (1 - alpha) epsilon^2 / 2.
    reject : bool
        Whether the value is at least the threshold (algorithm 1), which decides
        for a CVaR fairness of at least epsilon against 0. False where undefined.
    pvalue : float in (0, 1]
        Share of permutations, the observed order included, with a value at least
        as large: exact at any sample size, and independent of `alpha` and `epsilon`.
        nan where undefined.
    alpha, epsilon : float
    sampling : str
    n_rows, n_groups : int
        Number of rows that count, and of all groups.
    n_small_groups : int
        Groups with fewer than two rows.
    n_permutations : int
    null_distribution : ndarray of shape (n_permutations,)
        The value for each permutation.
    """

    value: float
    threshold: float
    reject: bool
    pvalue: float
    alpha: float
    epsilon: float
    sampling: str
    n_rows: int
    n_groups: int
    n_small_groups: int
    n_permutations: int
    null_distribution: Floats = field(repr=False)

    def __str__(self) -> str:
        if np.isnan(self.value):
            verdict = "No group has two rows, so nothing can be said about"
        elif self.reject:
            verdict = "The threshold rule decides for a CVaR fairness of at least"
        else:
            verdict = "The threshold rule does not decide for a CVaR fairness of"
        return (
            f"{verdict} {self.epsilon:g} at alpha = {self.alpha:g}: the variance of "
            f"rates between groups is estimated at {self.value:.4g}, with a "
            f"threshold of {self.threshold:.4g}. If all groups had the same rate, an "
            f"estimate this large would have probability p = {self.pvalue:.3g} "
            f"({self.n_permutations:,} permutations). Based on {self.n_rows:,} rows of "
            f"{self.n_groups:,} groups ({self.sampling} sampling), of which "
            f"{self.n_small_groups:,} have fewer than two rows."
        )


def cvar_fairness_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    alpha: float,
    epsilon: float,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Hashable = None,
    sampling: Sampling = "fixed",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    n_permutations: int = 999,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CVaRTestResult:
    """Test whether all groups have the same rate.

    The result has two decisions. The threshold of algorithm 1 decides between a CVaR
    fairness of 0 and one of at least epsilon; it is valid for large samples, up to
    constants that the theory does not specify. The permutation p-value is exact at any
    sample size: if all groups have the same rate, outcomes are exchangeable between
    rows. It depends on neither alpha nor epsilon. A small p-value is evidence that
    rates differ, not that CVaR fairness exceeds epsilon.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels, or a table that replaces all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1)
        Level: groups with a total weight of 1 - alpha form the tail.
    epsilon : float in (0, 1]
        CVaR fairness that the threshold must detect.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. If a sampling plan drew no rows of
        some groups, name these in a mapping or in a `Groups`, since they count too.
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How the rows were sampled, see `rate_variance`. The permutation p-value is
        exact with every value; for rows from weighted sampling, ``"fixed"`` had more
        power in simulation.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. They stay with the row's outcome where groups are
        permuted, row by row; `sampling`
        must then be ``"fixed"``.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.

    Returns
    -------
    CVaRTestResult

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `alpha`, `epsilon`, `sampling` or
        `n_permutations` is out of range or a table is one of weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows; value and p-value are then nan.
    UserWarning
        If the value is the same for all permutations, as it is of one group.

    See Also
    --------
    cvar_fairness : The metric.
    max_gap_test : The same test with the largest gap as its statistic.
    cvar_fairness_report : Table of the groups, with p-values of each.
    skfair.sampling.required_sample_size : Number of rows that the test needs.
    rate_variance : The estimate.
    skfair.sampling.weighted_sampling : A plan that needs few rows.

    Notes
    -----
    Each permutation is drawn as the number of outcomes 1 of each group, from a
    multivariate hypergeometric distribution, so that time and memory depend on the
    number of groups and not of rows. Rows must be independent of each other; several
    rows of one person are not exchangeable with those of others.

    With sample weights the mean squared rate of a group is estimated by the products of
    the outcomes of two different rows, weighted by the products of their weights: this
    is unbiased if weights do not depend on the outcomes within a group.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 7,
       algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import cvar_fairness_test
    >>> generator = np.random.default_rng(0)
    >>> group = generator.integers(0, 40, size=400)
    >>> y_pred = generator.random(400) < np.where(group < 4, 0.95, 0.4)
    >>> result = cvar_fairness_test(
    ...     None, y_pred, sensitive_features=group, alpha=0.9, epsilon=0.3,
    ...     n_permutations=199, random_state=0,
    ... )
    >>> result.reject, result.pvalue
    (True, 0.005)
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    epsilon = check_real("epsilon", epsilon, 0, 1, closed="right")
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    metric = MaxGap(quality=quality, group_weights=group_weights, pos_label=pos_label)
    weighted = None
    if sample_weight is not None:
        weighted = WeightedRateVariance(**metric.options)
    rows = y_true, y_pred, sensitive_features, sample_weight, counts
    estimator = RateVarianceEstimator(
        "cvar_fairness_test",
        metric.read_statistic(*rows),
        group_weights,
        sampling,
        weighted=weighted is not None,
    )
    if weighted is None:
        variance = RateVariance(estimator=estimator)
        cells = estimator.cells
        sample = Sample(variance, cells, (SamplePart(cells),))
    else:
        columns = sensitive_features, None, sample_weight, counts
        part = weighted.select(weighted.check(metric.read(y_true, y_pred, *columns)))
        part = replace(part, position=None)
        sample = Sample(weighted, part, (SamplePart(part),))
    test = permute(
        sample,
        sample.value,
        None,
        n_permutations,
        generator=check_seed(random_state),
        n_jobs=n_jobs,
        verbose=verbose,
    )
    threshold = (1 - alpha) * epsilon**2 / 2
    return CVaRTestResult(
        value=test.value,
        threshold=threshold,
        reject=test.value >= threshold,
        pvalue=test.pvalue,
        alpha=alpha,
        epsilon=epsilon,
        sampling=estimator.sampling,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
        n_permutations=test.n_permutations,
        null_distribution=test.null_distribution,
    )
