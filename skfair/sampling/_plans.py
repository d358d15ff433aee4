"""Plan an audit: how many rows it needs, from which groups, and how to draw them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtri
from sklearn.utils import check_random_state

from skfair._rows import take_rows
from skfair._utils._arrays import Floats, quotients
from skfair._utils._results import Result
from skfair._utils._text import listed, shown
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_real,
    count_rows,
)
from skfair.groups import (
    Groups,
    labels_and_groups,
    map_labels,
    resolve_groups,
    rows_by_code,
)
from skfair.metrics._cvar_fairness import (
    EXPONENT,
    SamplingDesign,
    sampling_design,
    weighted_shares,
)
from skfair.metrics._inputs import check_group_weights
from skfair.metrics._quantiles import supremum_quantile

Method: TypeAlias = Literal["weighted", "attribute_specific"]
#: A method, and the exponent of weighted sampling.
Plan: TypeAlias = tuple[str, float | None]

#: The search for a sample size stops at this ratio of its bounds.
_PRECISION = 1.03
_LARGEST = 2**40
#: Numbers in one block of simulated audits, which bounds memory.
_BLOCK = 2**20


def renyi_entropy(
    weights: Mapping[Any, float] | ArrayLike, order: float = 2 / 3
) -> float:
    """Rényi entropy of group weights, in bits.

    2 to the power of the entropy is an effective number of groups: the number of
    groups if weights are equal, smaller if they differ. For order 2/3, the number of
    rows that weighted sampling needs grows with its square root.

    Parameters
    ----------
    weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    order : float in [0, inf], default=2/3
        0 gives the logarithm of the number of groups with a positive weight, 1 the
        Shannon entropy, and inf minus the logarithm of the largest weight.

    Returns
    -------
    float
        From 0 to log2(n_groups).

    Raises
    ------
    ValueError
        If weights are negative or all zero, or the order is negative.

    See Also
    --------
    required_sample_size : Number of rows, by simulation.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Equation 38.

    Examples
    --------
    >>> from skfair.sampling import renyi_entropy
    >>> renyi_entropy([0.25] * 4)
    2.0
    """
    order = check_real("order", order, 0, math.inf)
    shares = read_weights(weights, "weights")[1]
    logs = np.log(shares[shares > 0])
    if order == 1:
        nats = -float(np.exp(logs) @ logs)
    elif order > 1e16:  # by rounding the same as for inf, and `order * logs` is finite
        nats = -float(logs.max())
    else:
        nats = float(logsumexp(order * logs)) / (1 - order)
    # Rounding must not bring it below 0.
    return max(nats / math.log(2), 0.0)


@dataclass(frozen=True, repr=False)
class SampleSizeResult(Result):
    """Result of `required_sample_size`; ``str(result)`` explains its numbers.

    Attributes
    ----------
    n_samples : int
        Number of rows with which the test reaches the power, by simulation.
    power : float
        Share of simulated audits with unequal groups and `n_samples` rows in which
        the test rejects.
    power_error : float
        Standard error of `power`.
    rate : float
        Number of rows by theory up to a constant factor. Compare it between plans of
        the same method, not with `n_samples`: the factors in the paper's proofs (64 e
        and more) give upper bounds of millions of rows.
    asymptotic : float
        Largest weight over epsilon^4; `rate` is valid if it is far below 1.
    max_gap_bound : float
        With fewer independent rows no test of `skfair.metrics.max_gap` has both the
        level and the power, whatever its statistic (equation 66). nan unless all
        groups have the same weight.
    n_groups : int
    method : {"weighted", "attribute_specific"}
    exponent : float
        nan for attribute-specific sampling.
    alpha, epsilon, level : float
    n_simulations : int
    """

    n_samples: int
    power: float
    power_error: float
    rate: float
    asymptotic: float
    max_gap_bound: float
    n_groups: int
    method: str
    exponent: float
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
            f"{self.level:g}. By theory, the number of rows is {self.rate:,.4g} times "
            "a constant, if the largest weight is far below epsilon^4; it is "
            f"{self.asymptotic:.3g} times epsilon^4."
        )


def required_sample_size(
    group_weights: Mapping[Any, float] | ArrayLike,
    *,
    alpha: float = 0.9,
    epsilon: float = 0.2,
    method: Method = "weighted",
    exponent: float = EXPONENT,
    power: float = 0.9,
    level: float = 0.05,
    n_simulations: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> SampleSizeResult:
    """Find the number of rows that a test needs to detect a CVaR fairness of epsilon.

    The number is found by simulation. The rate by theory is given too; it has a
    constant factor, and does not hold for small numbers of groups.

    Parameters
    ----------
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    alpha : float in [0, 1), default=0.9
        Level: groups with a total weight of 1 - alpha form the tail.
    epsilon : float in (0, 0.5], default=0.2
        CVaR fairness to detect.
    method : {"weighted", "attribute_specific"}, default="weighted"
        How rows are sampled: `weighted_sampling`, or `attribute_specific_sampling`
        with its default.
    exponent : float, default=2/3
        Power of the weights in `weighted_sampling`: 2/3 needs the fewest rows; 1 is for
        rows as the population comes, 0 for as many rows of each group.
    power : float in (0, 1), default=0.9
        Probability of rejection at a CVaR fairness of epsilon.
    level : float in (0, 1), default=0.05
        Probability of rejection if all groups have the same rate.
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
        If weights are negative or all zero, or a parameter is out of range.

    See Also
    --------
    skfair.metrics.cvar_fairness_test : The test.
    renyi_entropy : The rate of weighted sampling is a function of it.
    rows_to_certify : Rows that prove a small disparity between a few groups.

    Notes
    -----
    In the simulated audits, groups with a total weight of 1 - alpha have the rates
    0.5 + epsilon and 0.5 - epsilon in turn, and all others 0.5. This is the smallest
    variance between groups that lemma 9 allows, at rates with the largest noise. The
    test rejects if the estimate exceeds its 1 - level quantile over simulated audits
    with equal rates. A permutation test does not need this quantile, and had at least
    the same power in simulation. The result is accurate to about 3 %, apart from the
    standard error of the power. Only rows that count are included: for a true positive
    rate, it is the number of positives.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Corollaries 1
       (equation 39) and 2, proposition 1 (equation 66).

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.sampling import required_sample_size
    >>> result = required_sample_size(
    ...     np.full(64, 1 / 64), alpha=0.5, epsilon=0.45, method="weighted",
    ...     random_state=0,
    ... )
    >>> result.n_samples, result.power, round(result.max_gap_bound)
    (215, 0.918, 70)
    """
    weights = read_weights(group_weights)[1]
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    epsilon = check_real("epsilon", epsilon, 0, 0.5, closed="right")
    power = check_real("power", power, 0, 1, closed="neither")
    level = check_real("level", level, 0, 1, closed="neither")
    n_simulations = check_integer("n_simulations", n_simulations, 1)
    check_choice("method", method, ("weighted", "attribute_specific"))
    plan = _plan(method, exponent)
    if len(weights) < 2:
        raise ValueError("group_weights must have at least two groups, got one.")
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)

    def find_power(n: int) -> float:
        generator = np.random.default_rng(seed)
        equal, unequal = (
            simulated_estimates(
                weights,
                n,
                plan,
                tail=1 - alpha,
                epsilon=difference,
                n_simulations=n_simulations,
                generator=generator,
            )
            for difference in (0.0, epsilon)
        )
        critical = np.quantile(equal, 1 - level, method="higher")
        return float(np.mean(unequal > critical))

    n_samples, share = _smallest_size(find_power, power)
    return SampleSizeResult(
        n_samples=n_samples,
        power=share,
        power_error=math.sqrt(share * (1 - share) / n_simulations),
        rate=_rate(weights, alpha, epsilon, plan),
        asymptotic=float(weights.max()) / epsilon**4,
        max_gap_bound=_max_gap_bound(weights, epsilon, level, power),
        n_groups=len(weights),
        method=method,
        exponent=math.nan if plan[1] is None else plan[1],
        alpha=alpha,
        epsilon=epsilon,
        level=level,
        n_simulations=n_simulations,
    )


def _smallest_size(
    find_power: Callable[[int], float], power: float
) -> tuple[int, float]:
    """Find the smallest sample size with at least `power`; return also its power."""
    low, high = 2, 4
    share = find_power(high)
    while share < power:
        if high > _LARGEST:
            raise ValueError(
                f"power {power:g} is out of reach with {high:,} rows; it is "
                f"{share:.3f}. Ask for a larger epsilon or a smaller alpha."
            )
        low, high = high, 2 * high
        share = find_power(high)
    while high > max(low + 1, low * _PRECISION):
        middle = max(low + 1, round(math.sqrt(low * high)))
        if middle >= high:
            break
        tried = find_power(middle)
        if tried >= power:
            high, share = middle, tried
        else:
            low = middle
    return high, share


def _plan(method: Method, exponent: float) -> Plan:
    """Return the name of a plan, and its exponent, None for one without exponent."""
    if method == "weighted":
        return method, check_real("exponent", exponent, 0, math.inf, closed="left")
    if exponent != EXPONENT:
        raise ValueError(
            "exponent must be left at its default with method='attribute_specific', "
            f"got {shown(exponent)}."
        )
    return method, None


def _rate(weights: Floats, alpha: float, epsilon: float, plan: Plan) -> float:
    """Return the rate of corollary 1 (equation 39) or 2, with all constants 1."""
    second = 1 / (epsilon**4 * (1 - alpha) ** 2)
    if plan[1] is None:
        return second
    drawn = weights > 0
    weights, shares = weights[drawn], weighted_shares(weights, plan[1])[drawn]
    first = math.sqrt(((weights / shares) ** 2).sum()) / (epsilon**2 * (1 - alpha))
    return first + float((weights**2 / shares).sum()) * second


def _max_gap_bound(
    weights: Floats, epsilon: float, level: float, power: float
) -> float:
    """Return the smallest sample size of any test of the largest gap (equation 66)."""
    if np.ptp(weights) > 1e-12:
        return math.nan
    error = min((level + 1 - power) / 2, 0.5)  # mean of both probabilities of error
    shared = 2 * epsilon**2 / len(weights)
    return -math.log1p(-((1 - 2 * error) ** 2) / 2) * (1 - shared) / shared


def simulated_estimates(
    weights: Floats,
    n: int,
    plan: Plan,
    *,
    tail: float,
    epsilon: float,
    n_simulations: int,
    generator: np.random.Generator,
) -> Floats:
    """Estimate the rate variance (definition 7) in simulated audits."""
    values = np.empty(n_simulations)
    n_in_block = max(1, _BLOCK // len(weights))
    for start in range(0, n_simulations, n_in_block):
        n_audits = min(n_in_block, n_simulations - start)
        rates = unequal_rates(weights, n_audits, tail, epsilon, generator)
        sizes, design = draw_sizes(weights, n, plan, n_audits, generator)
        hits = np.zeros_like(sizes)
        sampled = sizes > 0
        hits[sampled] = generator.binomial(sizes[sampled], rates[sampled])
        # Sizes differ between audits, other than in RateVarianceEstimator.
        pairs = np.maximum(sizes * (sizes - 1), 1)
        f1 = (hits * (hits - 1) / pairs) @ quotients(design.weights, design.two_rows)
        f2 = (hits / np.maximum(sizes, 1)) @ quotients(design.weights, design.one_row)
        values[start : start + n_audits] = f1 - f2**2
    return values


def unequal_rates(
    weights: Floats,
    n_audits: int,
    tail: float,
    epsilon: float,
    generator: np.random.Generator,
) -> Floats:
    """Draw the rates of the groups in each audit, shape (n_audits, n_groups).

    Groups of total weight `tail`, chosen at random, have the rates 0.5 + epsilon and
    0.5 - epsilon in turn; the other groups have the rate 0.5.
    """
    rates = np.full((n_audits, len(weights)), 0.5)
    if epsilon == 0:
        return rates
    order = generator.permuted(
        np.broadcast_to(np.arange(len(weights)), rates.shape), axis=1
    )
    ordered = weights[order]
    before = np.cumsum(ordered, axis=1) - ordered
    signs = np.where(np.arange(len(weights)) % 2, -epsilon, epsilon)
    shifts = np.where(before < tail - 1e-12, signs, 0.0)
    np.put_along_axis(rates, order, 0.5 + shifts, axis=1)
    return rates


def draw_sizes(
    weights: Floats,
    n: int,
    plan: Plan,
    n_audits: int,
    generator: np.random.Generator,
) -> tuple[NDArray[Any], SamplingDesign]:
    """Draw the number of rows of each group in each audit; return also the design."""
    n_groups = len(weights)
    method, exponent = plan
    if exponent is None:
        n_rows, chances = attribute_specific_plan(weights, n)
        sampled = generator.random((n_audits, n_groups)) < chances
        return n_rows * sampled, SamplingDesign(weights, chances, chances)
    shares = weighted_shares(weights, exponent)
    if n >= n_groups:
        sizes = generator.multinomial(n, shares, size=n_audits)
    else:
        # Few rows are faster drawn one by one.
        rows = generator.choice(n_groups, size=(n_audits, n), p=shares)
        rows += n_groups * np.arange(n_audits)[:, np.newaxis]
        counts = np.bincount(rows.ravel(), minlength=n_audits * n_groups)
        sizes = counts.reshape(n_audits, n_groups)
    return sizes, sampling_design((method, exponent), weights, sizes[0])


def rows_to_certify(
    margin: float,
    group_weights: Mapping[Any, float] | ArrayLike,
    *,
    power: float = 0.9,
    confidence_level: float = 0.95,
) -> int:
    """Find the number of rows with which `certify` proves a small disparity.

    Parameters
    ----------
    margin : float in (0, 1)
        How much smaller the true disparity is than the value to be certified: 0.06 if
        "at most 0.1" is to be shown of a model whose disparity is 0.04.
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Shares of the groups among the rows; they are scaled to sum to one.
    power : float in (0, 1), default=0.9
        Probability of a certificate, at least.
    confidence_level : float in (0, 1), default=0.95
        That of the certificate.

    Returns
    -------
    int
        Number of rows of all groups together, for `mcdp`. It is enough for `abcc` and
        `demographic_parity_difference`, which need fewer.

    Raises
    ------
    ValueError
        If a parameter is out of range, or fewer than two groups have weight.

    See Also
    --------
    skfair.metrics.certify : The test.
    required_sample_size : Rows that detect a disparity between many groups.

    Notes
    -----
    With probability `power`, the estimates of all pairs of groups at once exceed their
    true values by at most a quantile of the supremum of the noise. The upper bound of
    `certify` lies above the estimate by a normal quantile. The number is conservative:
    in simulation the power was .97 to .99 where .9 was asked for.

    Examples
    --------
    >>> from skfair.sampling import rows_to_certify
    >>> rows_to_certify(0.06, {"F": 0.5, "M": 0.5})
    4653
    >>> rows_to_certify(0.06, {"F": 0.1, "M": 0.9})
    12924
    """
    margin = check_real("margin", margin, 0, 1, closed="neither")
    power = check_real("power", power, 0, 1, closed="neither")
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    shares: list[float] = [
        share for share in read_weights(group_weights)[1].tolist() if share > 0
    ]
    if len(shares) < 2:
        raise ValueError("group_weights must have at least two groups, got one.")
    noise = supremum_quantile((1 - power) / math.comb(len(shares), 2))
    distance = max(float(ndtri(level)) / 2 + noise, 0.0)
    first, second = sorted(shares)[:2]  # the pair with the most noise
    widest = float(1 / first + 1 / second)
    return math.ceil((distance / margin) ** 2 * widest)


def weighted_sampling(
    group_weights: Mapping[Any, float] | ArrayLike,
    n: int,
    *,
    exponent: float = EXPONENT,
    random_state: int | np.random.RandomState | None = None,
) -> pd.Series:
    """Draw n rows independently, each from a group with probability weight**exponent.

    Probabilities are scaled to sum to one.

    Parameters
    ----------
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    n : int
        Number of rows.
    exponent : float, default=2/3
        Power of the weights: 2/3 needs the fewest rows; with 1 probabilities are the
        weights, with 0 they are equal.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Series of length n_groups
        Number of rows of each group, n in total, indexed by the keys of
        `group_weights`, or by position.

    Raises
    ------
    ValueError
        If weights are negative or all zero, or another parameter is out of range.

    See Also
    --------
    sample_rows : Draw the rows of a plan from a table.
    skfair.metrics.cvar_fairness_test : With ``sampling="weighted"``.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 5,
       corollary 1.

    Examples
    --------
    >>> from skfair.sampling import weighted_sampling
    >>> weighted_sampling({"F": 0.5, "M": 0.5}, 10, random_state=0).to_dict()
    {'F': 5, 'M': 5}
    """
    labels, weights = read_weights(group_weights)
    n = check_integer("n", n, 1)
    shares = weighted_shares(weights, exponent)
    counts = check_random_state(random_state).multinomial(n, shares)
    return _make_series(counts, labels)


def attribute_specific_sampling(
    group_weights: Mapping[Any, float] | ArrayLike,
    n: int,
    *,
    gamma: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> pd.Series:
    """Draw groups at random, and the same number of rows from each of them.

    At least two rows of every group must be available. The number of rows that a test
    needs then does not depend on the number of groups, if all weights are small.

    Parameters
    ----------
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    n : int
        Expected number of rows, at least 2. It is somewhat less if a probability is
        cut at 1 or the number of rows of a group is rounded down.
    gamma : float, default=None
        A group is drawn with probability ``min(1, gamma * weight)``, and ``n / gamma``
        rows of it, rounded down, at least two. None means n / 2, which gives two rows
        of each group drawn. If a probability would exceed 1 then, it means about 1
        over the largest weight, which gives more rows of each group drawn.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Series of length n_groups
        Number of rows of each group, indexed by the keys of `group_weights`, or by
        position.

    Raises
    ------
    ValueError
        If weights are negative or all zero, or `gamma` and `n` give fewer than two
        rows of a group.

    See Also
    --------
    sample_rows : Draw the rows of a plan from a table.
    skfair.metrics.cvar_fairness_test : With ``sampling="attribute_specific"``.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 6, theorem
       2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.sampling import attribute_specific_sampling
    >>> counts = attribute_specific_sampling(np.full(100, 0.01), 20, random_state=0)
    >>> counts[counts > 0].unique()
    array([2])
    """
    labels, weights = read_weights(group_weights)
    n = check_integer("n", n, 1)
    n_rows, probabilities = attribute_specific_plan(weights, n, gamma)
    sampled = check_random_state(random_state).random_sample(len(weights))
    return _make_series(n_rows * (sampled < probabilities), labels)


def attribute_specific_plan(
    weights: Floats, n: int, gamma: float | None = None
) -> tuple[int, Floats]:
    """Return the number of rows of a sampled group, and the chance of each group."""
    if gamma is None:
        if n < 2:
            raise ValueError(f"n must be at least 2, two rows of a group, got {n}.")
        # gamma is n / 2, or less if the largest probability would exceed 1 then. Rows
        # are rounded down, which rounds gamma up: if all weights are equal, every
        # group is sampled.
        n_rows = max(2, int(n * weights.max() * (1 + 1e-9)))
        return n_rows, np.minimum(1, n / n_rows * weights)
    gamma = check_real("gamma", gamma, n / sys.maxsize, math.inf, closed="neither")
    n_rows = int(n / gamma * (1 + 1e-9))
    if n_rows < 2:
        raise ValueError(
            f"gamma must be at most n / 2 = {n / 2:g}, so that a sampled group has at "
            f"least two rows, got {gamma:g}."
        )
    return n_rows, np.minimum(1, gamma * weights)


def read_weights(
    group_weights: Mapping[Any, float] | ArrayLike, name: str = "group_weights"
) -> tuple[list[Any] | None, Floats]:
    """Return the labels of group weights, None for an array, and the scaled weights."""
    if isinstance(group_weights, Mapping | pd.Series):
        weights = dict(group_weights.items())
        labels = list(weights)
        return labels, check_group_weights(list(weights.values()), labels, name)
    return None, check_group_weights(group_weights, name=name)


def _make_series(counts: NDArray[Any], labels: list[Any] | None) -> pd.Series:
    """Return the number of rows of each group, indexed by its label."""
    index = None if labels is None else pd.Index(labels, tupleize_cols=False)
    return pd.Series(counts, index=index, name="n_rows", dtype=np.int64)


def sample_rows(
    X: Any,
    counts: Mapping[Any, int] | pd.Series,
    *,
    sensitive_features: ArrayLike | None,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Draw a given number of rows of each group, without replacement.

    Parameters
    ----------
    X : dataframe or array-like of shape (n_samples, n_features)
        Table to draw from.
    counts : mapping or Series
        Number of rows to draw by group label, as the sampling plans return it. No
        rows are drawn of groups that are not named.
    sensitive_features : str, int, list, callable, or array-like of shape \
(n_samples,) or (n_samples, n_columns)
        Columns of X that define the groups, a list for their intersection, or the
        group of each row as an array, Series, dataframe or `Groups`. A list with
        n_samples entries has the group of each row.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X_sample : of the type of X, of shape (n_drawn, n_features)
        The rows drawn, in the order of X.

    Raises
    ------
    TypeError
        If `counts` is neither a mapping nor a Series.
    ValueError
        If a group has fewer rows than its count, a count is not a whole number of at
        least 0, or X has no such column.

    See Also
    --------
    weighted_sampling, attribute_specific_sampling : Sampling plans.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.sampling import sample_rows
    >>> people = pd.DataFrame({"sex": ["F", "F", "M"], "age": [31, 47, 25]})
    >>> sample_rows(people, {"F": 1, "M": 1}, sensitive_features="sex",
    ...             random_state=0)
      sex  age
    1   F   47
    2   M   25
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    n_samples = count_rows(table)
    *_, groups = labels_and_groups(resolve_groups, sensitive_features, X)
    if not isinstance(counts, Mapping | pd.Series):
        raise TypeError(
            "counts must be a mapping or a Series of group label to number of rows, "
            f"got {type(counts).__name__}."
        )
    wanted = _check_counts(map_labels("counts", counts), groups)
    order = check_random_state(random_state).permutation(n_samples)
    by_group = rows_by_code(groups.codes[order], len(groups.labels))
    drawn = np.zeros(n_samples, dtype=bool)
    for rows, n_wanted in zip(by_group, wanted, strict=True):
        drawn[order[rows[:n_wanted]]] = True
    return take_rows(table, np.flatnonzero(drawn))


def _check_counts(counts: dict[Any, Any], groups: Groups) -> NDArray[np.int64]:
    """Return the counts in the order of the groups; raise if a group has fewer rows."""
    bad = {
        label: count
        for label, count in counts.items()
        if not (isinstance(count, Real) and float(count) >= 0 and count % 1 == 0)
    }
    if bad:
        label, count = next(iter(bad.items()))
        raise ValueError(
            f"counts must be whole numbers of at least 0, got {count!r} for {label!r}."
        )
    available = dict(zip(groups.labels, groups.sizes().tolist(), strict=True))
    short = [label for label, n in counts.items() if n > available.get(label, 0)]
    if short:
        named = [f"{k!r} ({available.get(k, 0)} of {counts[k]})" for k in short]
        raise ValueError(
            f"X has too few rows of {len(short)} groups that counts names: "
            f"{listed(named)}."
        )
    return np.array([counts.get(label, 0) for label in groups.labels], dtype=np.int64)
