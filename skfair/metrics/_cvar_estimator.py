"""Definition 7 as coefficients of counts, for one audit or for many at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._group_gaps import GroupWeights, weigh_groups
from skfair.metrics._sampling_design import Sampling, SamplingDesign, sampling_design
from skfair.statistics import GroupedOutcomes


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


def count_hits(
    statistic: GroupedOutcomes,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of each group, and those with outcome 1.

    Parameters
    ----------
    statistic : GroupedOutcomes

    Returns
    -------
    sizes, hits : ndarray of shape (n_groups,)

    Raises
    ------
    ValueError
        If rows are weighted or outcomes are not 0 or 1.
    """
    hits = np.rint(statistic.sums)
    if not np.array_equal(statistic.totals, statistic.counts) or not np.array_equal(
        hits, statistic.sums
    ):
        bad = int(np.argmax(hits != statistic.sums))
        raise ValueError(
            "The statistic must hold outcomes of 0 and 1 of rows without sample "
            f"weights, since single rows are counted; group {statistic.labels[bad]!r} "
            f"has {statistic.sums[bad]:g} of {statistic.totals[bad]:g} in "
            f"{statistic.counts[bad]} rows."
        )
    return statistic.counts, hits.astype(np.intp)


def _divide(numerator: Any, denominator: Any) -> NDArray[np.float64]:
    """Quotient that is 0 where the denominator is (definition 7)."""
    quotient = np.zeros(np.shape(denominator))
    np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) > 0)
    return quotient
