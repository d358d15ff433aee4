"""Permutation test of any fairness metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._validation import check_integer
from skfair.metrics._uncertainty._resampling import Rows, check_seed

#: Values this close to the observed one count as equal: weighted sums round.
_ROUNDING = 1e-12
#: Numbers in one block of permuted hits, which bounds memory.
_BLOCK = 2**20
#: Up to this many rows for each group, permuting single rows is faster.
_FEW_ROWS = 20


@dataclass(frozen=True, eq=False)
class PermutationTestResult:
    """Result of `permutation_test`.

    Attributes
    ----------
    statistic : float
        The metric on the data as given.
    pvalue : float in (0, 1]
        Share of permutations, the given order among them, with a value at least as
        large.
    null_mean : float
        Mean of the metric over permutations: its expected value without a disparity.
    n_permutations : int
    null_distribution : ndarray of shape (n_permutations,)
        The metric for each permutation.
    """

    statistic: float
    pvalue: float
    null_mean: float
    n_permutations: int
    null_distribution: NDArray[np.float64] = field(repr=False)


def permutation_test(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    n_permutations: int = 999,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> PermutationTestResult:
    """Test whether a disparity is larger than with group labels assigned at random.

    Under the null hypothesis that a row's group is independent of its label, score
    and weight, group labels can be permuted over rows. The p-value is exact at
    any sample size, for any metric. A small one says that the disparity is not
    noise, not that it is large or unjust.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, sensitive_features=...)`` that returns a number,
        large for a large disparity; with a keyword `sample_weight` if that is given.
        Use `functools.partial` to set its options.
    y_true : array-like of shape (n_samples,) or None
        True labels, passed to the metric.
    y_score : array-like of shape (n_samples,)
        Scores or predicted labels, passed to the metric.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. They stay with the row's score.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    PermutationTestResult
        With nan in place of numbers where the metric is undefined.

    Raises
    ------
    ValueError
        If `n_permutations` is not a positive integer, and as the metric does.

    See Also
    --------
    bootstrap_interval : Confidence interval of the metric.
    scipy.stats.ks_2samp : The same test for MCDP(0) and two groups, without resampling.

    References
    ----------
    .. [1] Phipson, Smyth. "Permutation P-values Should Never Be Zero". Statistical
       Applications in Genetics and Molecular Biology 9(1), 2010.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import madd, permutation_test
    >>> y_true, y_score, group = make_biased_scores(400, random_state=0)
    >>> result = permutation_test(
    ...     madd, y_true, y_score, sensitive_features=group,
    ...     n_permutations=99, random_state=0,
    ... )
    >>> result.pvalue
    0.01
    """
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    generator = check_seed(random_state)
    rows = Rows.from_arrays(y_true, y_score, sensitive_features, sample_weight)
    observed = rows.evaluate(metric)
    null = np.full(n_permutations, np.nan)
    if not math.isnan(observed):
        groups = rows.groups
        for i in range(n_permutations):
            shuffled = replace(groups, codes=generator.permutation(groups.codes))
            null[i] = replace(rows, groups=shuffled).evaluate(metric)
    return _result(observed, null)


def permute_hits(
    statistic: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    sizes: NDArray[np.intp],
    hits: NDArray[np.intp],
    *,
    n_permutations: int,
    random_state: int | np.random.RandomState | None,
) -> PermutationTestResult:
    """Permutation test of a statistic of the number of 1s (hits) in each group.

    `statistic` takes hits of shape (n_audits, n_groups) and returns n_audits values.
    """
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    generator = check_seed(random_state)
    observed = float(statistic(hits[np.newaxis])[0])
    null = np.full(n_permutations, np.nan)
    if not math.isnan(observed):
        blocks = shuffled_hits(sizes, int(hits.sum()), n_permutations, generator)
        null = np.concatenate([statistic(block) for block in blocks])
    return _result(observed, null)


def shuffled_hits(
    sizes: NDArray[np.intp],
    n_hits: int,
    n_permutations: int,
    generator: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """Yield the hits of each group when outcomes are permuted over all rows, in blocks.

    They are drawn from their multivariate hypergeometric distribution, not row by row.
    """
    few = sizes.sum() <= _FEW_ROWS * len(sizes)
    n_in_block = max(1, _BLOCK // len(sizes))
    for start in range(0, n_permutations, n_in_block):
        yield generator.multivariate_hypergeometric(
            sizes,
            n_hits,
            size=min(n_in_block, n_permutations - start),
            method="count" if few else "marginals",
        )


def exact_pvalue(observed: float, null: NDArray[np.float64]) -> float:
    """Share of permutations with a value at least as large, the given order included.

    nan where the observed value is undefined.
    """
    if math.isnan(observed):
        return math.nan
    as_large = null >= observed - _ROUNDING * max(abs(observed), 1)
    return float((1 + as_large.sum()) / (1 + len(null)))


def _result(observed: float, null: NDArray[np.float64]) -> PermutationTestResult:
    """Summarise the observed value and those of the permutations."""
    return PermutationTestResult(
        statistic=observed,
        pvalue=exact_pvalue(observed, null),
        null_mean=float(null.mean()),
        n_permutations=len(null),
        null_distribution=null,
    )
