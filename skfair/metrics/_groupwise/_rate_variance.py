"""The estimator behind the CVaR test: unbiased from few rows of each group."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._groupwise._group_gaps import GroupWeights, weigh_groups
from skfair.metrics._groupwise._quality import Quality, count_hits, grouped_quality
from skfair.metrics._groupwise._sampling_design import (
    Sampling,
    SamplingDesign,
    sampling_design,
)
from skfair.statistics import GroupedOutcomes


@dataclass(frozen=True)
class RateVarianceResult:
    """Result of `rate_variance`.

    Attributes
    ----------
    value : float
        Estimate of the weighted variance of the groups' rates, F of definition 7. It
        is at least (1 - alpha) CVaR^2 for every alpha; an estimate may be negative.
    f1 : float
        Estimate of the weighted mean of the squared rates.
    f2 : float
        Estimate of the weighted mean of the rates.
    bias_correction : bool
        Whether `value` is free of the variance of `f2`.
    sampling : str
    n_rows, n_groups : int
        Rows that count, and all groups.
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
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    sampling: Sampling = "fixed",
    bias_correction: bool = False,
    pos_label: Any = None,
) -> RateVarianceResult:
    """Estimate how much the groups' rates vary, from as few as two rows of a group.

    It estimates the weighted variance of the rates, which is 0 where all groups are
    served alike and at least (1 - alpha) times the square of CVaR fairness. Unlike
    CVaR itself, noise in small groups does not push it up.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. The selection rate needs none.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic in place of all rows and of `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        What is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. Where a sampling plan left groups
        without rows, name them in a mapping or in a `Groups`: they count.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How many rows a group has:

        - ``"fixed"``: as many as there are. Groups with fewer than two say nothing
          about the variance; they take no part, and the weights of the others are
          scaled.
        - ``"weighted"``: the rows were drawn independently, a group with probability
          proportional to its weight to the power 2/3; ``("weighted", exponent)`` for
          another power, 1 for rows drawn at random where weights are population
          shares.
        - ``"attribute_specific"``: groups were drawn with probability gamma times
          their weight, and the same number of rows from each of them. gamma is taken
          as the number of groups drawn; ``("attribute_specific", gamma)`` says it.
    bias_correction : bool, default=False
        Whether to subtract an unbiased estimate of the squared mean in place of the
        square of `f2`, whose mean is too large by Var(f2).
    pos_label : int, float, bool or str, default=None
        The label that counts as positive, see `cvar_fairness`.

    Returns
    -------
    RateVarianceResult
        With nan and a warning where no group has two rows.

    Raises
    ------
    ValueError
        As in `cvar_fairness`, on another `sampling`, and on weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows.

    See Also
    --------
    cvar_fairness_test : The test that uses it.
    skfair.sampling.weighted_sampling, skfair.sampling.attribute_specific_sampling

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
    statistic = grouped_quality(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        quality=quality,
        pos_label=pos_label,
    )
    estimator = make_estimator("Rate variance", statistic, group_weights, sampling)
    hits = estimator.hits
    f1, f2 = (float(part[0]) for part in estimator.parts(hits[np.newaxis]))
    squared_mean = estimator.squared_mean(hits, f2) if bias_correction else f2**2
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
class Estimator:
    """Definition 7 for groups of given sizes: linear in pairs and in rows.

    Attributes
    ----------
    design : SamplingDesign
    sizes : ndarray of shape (n_groups,)
    hits : ndarray of shape (n_groups,)
        Number of rows with outcome 1, as observed.
    """

    design: SamplingDesign
    sizes: NDArray[np.intp]
    hits: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Rows that count."""
        return int(self.sizes.sum())

    @property
    def n_small_groups(self) -> int:
        """Groups with fewer than two rows."""
        return int((self.sizes < 2).sum())

    @property
    def defined(self) -> bool:
        """Whether some group that weighs anything has two rows."""
        return bool((self.design.weights[self.sizes >= 2] > 0).any())

    @property
    def pair_weights(self) -> NDArray[np.float64]:
        """Weight in F1 of each ordered pair of rows of a group."""
        pairs = self.sizes * (self.sizes - 1.0)
        return _divide(self.design.weights, self.design.twice * pairs)

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """Weight in F2 of each row of a group."""
        return _divide(self.design.weights, self.design.once * self.sizes)

    def parts(
        self, hits: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """F1 and F2 of many audits of the same sizes.

        Parameters
        ----------
        hits : ndarray of shape (n_audits, n_groups)

        Returns
        -------
        f1, f2 : ndarray of shape (n_audits,)
            nan where undefined.
        """
        if not self.defined:
            undefined = np.full(len(hits), np.nan)
            return undefined, undefined
        counted = hits.astype(np.float64)
        f2 = counted @ self.row_weights
        return (counted * (counted - 1)) @ self.pair_weights, f2

    def values(self, hits: NDArray[Any]) -> NDArray[np.float64]:
        """F of many audits of the same sizes (equation 36).

        Parameters
        ----------
        hits : ndarray of shape (n_audits, n_groups)

        Returns
        -------
        ndarray of shape (n_audits,)
            nan where undefined.
        """
        f1, f2 = self.parts(hits)
        return f1 - f2**2

    def squared_mean(self, hits: NDArray[Any], f2: float) -> float:
        """Unbiased estimate of the squared mean rate, which f2**2 exceeds by Var(f2).

        Parameters
        ----------
        hits : ndarray of shape (n_groups,)
        f2 : float

        Returns
        -------
        float
        """
        weights, once = self.design.weights, self.design.once
        if self.design.shares is not None:
            # Counts of groups add up to n, so they are dependent: use pairs of rows.
            scale = _divide(weights, self.design.shares)
            n = self.sizes.sum()
            total, squares = scale @ hits, scale**2 @ hits
            return float((total**2 - squares) / (n * (n - 1)))
        rates = _divide(hits, self.sizes)
        squared_rates = _divide(hits * (hits - 1.0), self.sizes * (self.sizes - 1.0))
        # E[rate^2] - P * E[unbiased estimate of rate^2] is the variance of a term.
        variances = _divide(weights, once) ** 2 * (rates**2 - once * squared_rates)
        return float(f2**2 - variances.sum())


def make_estimator(
    name: str,
    statistic: GroupedOutcomes,
    group_weights: GroupWeights,
    sampling: Sampling,
) -> Estimator:
    """Estimator for a statistic of 0/1 outcomes; warn where it is undefined.

    Parameters
    ----------
    name : str
        What is undefined, for the message.
    statistic : GroupedOutcomes
    group_weights : {"uniform", "proportional"}, mapping, or array-like
    sampling : str, or tuple of str and float

    Returns
    -------
    Estimator

    Raises
    ------
    ValueError
        On invalid weights or sampling, weighted rows, or outcomes between 0 and 1.
    """
    statistic, weights = weigh_groups(statistic, group_weights)
    sizes, hits = count_hits(statistic)
    design = sampling_design(sampling, weights, sizes)
    estimator = Estimator(design, sizes, hits)
    if not estimator.defined:
        warnings.warn(
            f"{name} is undefined and set to nan: none of the {len(sizes)} groups that "
            f"weigh anything has two rows that count, in {int(sizes.sum())} rows.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return estimator


def _divide(numerator: Any, denominator: Any) -> NDArray[np.float64]:
    """Quotient that is 0 where the denominator is (definition 7)."""
    quotient = np.zeros(np.shape(denominator))
    np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) > 0)
    return quotient
