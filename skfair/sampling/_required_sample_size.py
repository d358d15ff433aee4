"""How many rows a CVaR test needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from skfair._utils._validation import check_integer, check_real
from skfair.sampling._plans import read_weights
from skfair.sampling._renyi_entropy import renyi_entropy
from skfair.sampling._simulated_audits import Method, simulated_estimates

#: Sample sizes are told apart down to this ratio.
_PRECISION = 1.03
_LARGEST = 2**40


@dataclass(frozen=True)
class SampleSizeResult:
    """Result of `required_sample_size`; printed, it says which number is which.

    Attributes
    ----------
    n_samples : int
        By simulation: rows with which the test has the power asked for.
    power : float
        Share of simulated unequal audits of `n_samples` rows that the test rejects.
    power_error : float
        Standard error of `power`.
    rate : float
        By theory: the rate at which the rows needed grow, whose constant factor is
        unknown. Compare it between plans of the same method, not with `n_samples`.
    asymptotic : float
        Largest weight over epsilon^4. The rate presumes that it is far below 1.
    n_groups : int
    method : {"weighted", "attribute_specific"}
    alpha, epsilon, level : float
    n_simulations : int
    """

    n_samples: int
    power: float
    power_error: float
    rate: float
    asymptotic: float
    n_groups: int
    method: str
    alpha: float
    epsilon: float
    level: float
    n_simulations: int

    def __str__(self) -> str:
        return (
            f"By simulation, {self.n_samples:,} rows in {self.method} sampling of "
            f"{self.n_groups:,} groups detect a CVaR fairness of {self.epsilon:g} at "
            f"alpha = {self.alpha:g} with power {self.power:.3f} (standard error "
            f"{self.power_error:.3f}, {self.n_simulations:,} simulated audits), level "
            f"{self.level:g}. By theory, rows grow as {self.rate:,.4g} times an "
            "unknown constant, where the largest weight is far below epsilon^4; it is "
            f"{self.asymptotic:.3g} times that."
        )


def required_sample_size(
    group_weights: Mapping[Any, float] | ArrayLike,
    *,
    alpha: float,
    epsilon: float,
    method: Method,
    power: float = 0.9,
    level: float = 0.05,
    n_simulations: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> SampleSizeResult:
    """Rows that a test needs to notice a CVaR fairness of epsilon.

    Two answers: a number by simulation, and the rate of the theory, which has no
    constant and which small numbers of groups do not follow.

    Parameters
    ----------
    group_weights : mapping, Series or array-like of shape (n_groups,)
        How much each group matters; they are scaled to sum to one.
    alpha : float in [0, 1)
        The tail holds groups of weight 1 - alpha.
    epsilon : float in (0, 0.5]
        CVaR fairness that must be noticed.
    method : {"weighted", "attribute_specific"}
        How rows are sampled: `weighted_sampling` or `attribute_specific_sampling`,
        with their defaults.
    power : float in (0, 1), default=0.9
        Probability of noticing it.
    level : float in (0, 1), default=0.05
        Probability of an alarm where all groups are served alike.
    n_simulations : int, default=1000
        Simulated audits for each sample size tried.
    random_state : int, RandomState instance or None, default=None
        Seed of the simulation.

    Returns
    -------
    SampleSizeResult

    Raises
    ------
    ValueError
        On weights that are negative or all zero, and on parameters out of
        range.

    See Also
    --------
    skfair.metrics.cvar_fairness_test : The test.
    renyi_entropy : What the rate of weighted sampling is made of.

    Notes
    -----
    In the simulated audits groups of weight 1 - alpha have rates of 0.5 + epsilon and
    0.5 - epsilon in turn, all others 0.5. That is the least variance between groups
    which lemma 9 allows, at rates where noise is greatest. The test rejects where the
    estimate exceeds its 1 - level quantile over audits of equal groups; a permutation
    test does without that knowledge, and was at least as powerful in simulation. The
    answer is accurate to about 3 %, besides the standard error of the power. Rows are
    rows that count: if only positives do, plan for so many positives.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Corollaries 1 and 2,
       equation 40.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.sampling import required_sample_size
    >>> result = required_sample_size(
    ...     np.full(256, 1 / 256), alpha=0.5, epsilon=0.45, method="weighted",
    ...     random_state=0,
    ... )
    >>> 350 < result.n_samples < 500
    True
    """
    weights = read_weights(group_weights)[1]
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    epsilon = check_real("epsilon", epsilon, 0, 0.5, closed="right")
    power = check_real("power", power, 0, 1, closed="neither")
    level = check_real("level", level, 0, 1, closed="neither")
    n_simulations = check_integer("n_simulations", n_simulations, 1)
    _check(weights, method)
    audits = _Audits(
        weights=weights,
        method=method,
        tail=1 - alpha,
        epsilon=epsilon,
        level=level,
        n_simulations=n_simulations,
        seed=check_random_state(random_state).randint(np.iinfo(np.int32).max),
    )
    n_samples, share = _smallest(audits.power, power)
    return SampleSizeResult(
        n_samples=n_samples,
        power=share,
        power_error=math.sqrt(share * (1 - share) / n_simulations),
        rate=_rate(weights, alpha, epsilon, method),
        asymptotic=float(weights.max()) / epsilon**4,
        n_groups=len(weights),
        method=method,
        alpha=alpha,
        epsilon=epsilon,
        level=level,
        n_simulations=n_simulations,
    )


@dataclass(frozen=True, eq=False)
class _Audits:
    """Simulated audits that differ in their number of rows alone."""

    weights: NDArray[np.float64]
    method: Method
    tail: float
    epsilon: float
    level: float
    n_simulations: int
    seed: int

    def power(self, n: int) -> float:
        """Share of unequal audits of n rows that are told from equal ones."""
        generator = np.random.default_rng(self.seed)
        equal, unequal = (
            simulated_estimates(
                self.weights,
                n,
                self.method,
                tail=self.tail,
                epsilon=epsilon,
                n_simulations=self.n_simulations,
                generator=generator,
            )
            for epsilon in (0.0, self.epsilon)
        )
        critical = np.quantile(equal, 1 - self.level, method="higher")
        return float(np.mean(unequal > critical))


def _check(weights: NDArray[np.float64], method: str) -> None:
    if method not in ("weighted", "attribute_specific"):
        raise ValueError(
            f"method must be 'weighted' or 'attribute_specific', got {method!r}."
        )
    if len(weights) < 2:
        raise ValueError("group_weights must have at least two groups, got one.")


def _smallest(reached: Callable[[int], float], power: float) -> tuple[int, float]:
    """Smallest sample size that reaches a power, by doubling and bisection."""
    low, high = 2, 4
    share = reached(high)
    while share < power:
        if high > _LARGEST:
            raise ValueError(
                f"power {power:g} is out of reach with {high:,} rows; it is "
                f"{share:.3f}. Ask for a larger epsilon or a smaller alpha."
            )
        low, high = high, 2 * high
        share = reached(high)
    while high > max(low + 1, low * _PRECISION):
        middle = max(low + 1, round(math.sqrt(low * high)))
        if middle >= high:
            break
        tried = reached(middle)
        if tried >= power:
            high, share = middle, tried
        else:
            low = middle
    return high, share


def _rate(
    weights: NDArray[np.float64], alpha: float, epsilon: float, method: Method
) -> float:
    """Rate of corollary 1 (equation 40) or 2, with all constants 1."""
    second = 1 / (epsilon**4 * (1 - alpha) ** 2)
    if method == "attribute_specific":
        return second
    entropy = renyi_entropy(weights)
    return float(
        2 ** (entropy / 2) / (epsilon**2 * (1 - alpha)) + 2 ** (entropy / 3) * second
    )
