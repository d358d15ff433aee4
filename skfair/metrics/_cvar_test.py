"""The CVaR test: a threshold decision and an exact permutation p-value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._parameters import check_integer, check_real
from skfair.metrics._cvar_estimator import Estimator, make_estimator
from skfair.metrics._group_gaps import GroupWeights
from skfair.metrics._quality import Quality, grouped_quality
from skfair.metrics._resampling import check_seed
from skfair.metrics._sampling_design import Sampling
from skfair.metrics._shuffled_hits import exact_pvalue, shuffled_hits
from skfair.metrics._tail import check_alpha
from skfair.statistics import GroupedOutcomes


@dataclass(frozen=True, eq=False)
class CVaRTestResult:
    """Result of `cvar_fairness_test`; printed, it is a sentence for a report.

    Attributes
    ----------
    statistic : float
        Estimated weighted variance of the groups' rates, F of definition 7.
    threshold : float
        (1 - alpha) epsilon^2 / 2.
    reject : bool
        Whether the statistic reaches the threshold (algorithm 1), which says "CVaR
        fairness is at least epsilon" rather than 0. False where undefined.
    pvalue : float in (0, 1]
        Share of permutations, the given order among them, with a statistic at least
        as large: exact at any sample size, and independent of `alpha` and `epsilon`.
    alpha, epsilon : float
    sampling : str
    n_rows, n_groups : int
        Rows that count, and all groups.
    n_small_groups : int
        Groups with fewer than two rows, which say nothing about themselves.
    n_permutations : int
    null_distribution : ndarray of shape (n_permutations,)
        The statistic for each permutation.
    """

    statistic: float
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
    null_distribution: NDArray[np.float64] = field(repr=False)

    def __str__(self) -> str:
        if np.isnan(self.statistic):
            verdict = "No group has two rows, so nothing can be said about"
        elif self.reject:
            verdict = "The threshold rule decides for a CVaR fairness of at least"
        else:
            verdict = "The threshold rule does not decide for a CVaR fairness of"
        return (
            f"{verdict} {self.epsilon:g} at alpha = {self.alpha:g}: the variance of "
            f"rates between groups is estimated at {self.statistic:.4g}, with a "
            f"threshold of {self.threshold:.4g}. If all groups were served alike, an "
            f"estimate this large would have probability p = {self.pvalue:.3g} "
            f"({self.n_permutations:,} permutations). Based on {self.n_rows:,} rows of "
            f"{self.n_groups:,} groups ({self.sampling} sampling), of which "
            f"{self.n_small_groups:,} have fewer than two rows."
        )


def cvar_fairness_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    alpha: float,
    epsilon: float,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    sampling: Sampling = "fixed",
    n_permutations: int = 999,
    pos_label: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> CVaRTestResult:
    """Test whether all groups are served alike, against a CVaR fairness of epsilon.

    Two answers. The threshold of algorithm 1 tells CVaR fairness 0 from epsilon or
    more, right for large samples up to constants that the theory leaves open. The
    permutation p-value is exact at any sample size: if all groups have one rate,
    outcomes are exchangeable over rows. It needs neither alpha nor epsilon; a small
    one says that rates differ, not that CVaR fairness exceeds epsilon.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. The selection rate needs none.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic in place of all rows and of `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1)
        The tail holds groups of weight 1 - alpha.
    epsilon : float in (0, 1]
        CVaR fairness that must not go unnoticed.
    quality : str or callable, default="selection_rate"
        What is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. Where a sampling plan left groups
        without rows, name them in a mapping or in a `Groups`: they count.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How many rows a group has, see `cvar_estimate`. The permutation p-value is
        exact whatever is said here; under weighted sampling ``"fixed"`` had more
        power in simulation.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    pos_label : int, float, bool or str, default=None
        The label that counts as positive, see `cvar_fairness`.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    CVaRTestResult

    Raises
    ------
    ValueError
        As in `cvar_fairness`, on `alpha`, `epsilon`, `sampling` or `n_permutations`
        out of range, and on weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows; statistic and p-value are nan then.

    See Also
    --------
    cvar_fairness : The value itself.
    max_gap_test : The same question asked with the largest gap.
    top_groups : Which groups differ.
    skfair.sampling.required_sample_size : How many rows a test needs.

    Notes
    -----
    Permutations are drawn as hits per group, without touching rows: time and memory
    depend on the number of groups. Rows must be independent of each other; several
    rows of one person are not exchangeable with those of others.

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
    ...     random_state=0,
    ... )
    >>> result.reject, result.pvalue < 0.01
    (True, True)
    """
    alpha = check_alpha(alpha)
    epsilon = check_real("epsilon", epsilon, 0, 1, closed="right")
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    generator = check_seed(random_state)
    statistic = grouped_quality(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        quality=quality,
        pos_label=pos_label,
    )
    estimator = make_estimator("CVaR fairness test", statistic, group_weights, sampling)
    observed, null = _with_null(estimator, n_permutations, generator)
    threshold = (1 - alpha) * epsilon**2 / 2
    return CVaRTestResult(
        statistic=observed,
        threshold=threshold,
        reject=bool(observed >= threshold),
        pvalue=exact_pvalue(observed, null),
        alpha=alpha,
        epsilon=epsilon,
        sampling=estimator.design.name,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
        n_permutations=n_permutations,
        null_distribution=null,
    )


def _with_null(
    estimator: Estimator, n_permutations: int, generator: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """Observed statistic, and that of each permutation."""
    hits = estimator.hits
    blocks = shuffled_hits(estimator.sizes, int(hits.sum()), n_permutations, generator)
    null = np.concatenate([estimator.values(block) for block in blocks])
    return float(estimator.values(hits[np.newaxis])[0]), null
