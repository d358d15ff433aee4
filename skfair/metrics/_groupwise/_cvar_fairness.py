"""CVaR fairness: the mean gap of the groups furthest from the average."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._results import Result
from skfair._utils._validation import check_flag, check_real
from skfair._utils._warnings import warn_user, warns_if_reordered
from skfair.metrics._evaluate import specify
from skfair.metrics._groupwise._group_gaps import (
    GroupWeights,
    group_gaps,
    permute_outcomes,
)
from skfair.metrics._groupwise._rate_variance import (
    Sampling,
    make_estimator,
    weighted_rate_variance,
)
from skfair.metrics._inputs import Quality, compares_rates_of_errors, grouped_quality
from skfair.metrics._strata import Multistratum
from skfair.statistics import GroupedOutcomes

#: Sums of weights may exceed the capacity by this: they round, and sum to one.
_ROUNDING = 1e-12
#: Subsets are not told apart whose values differ by less than this, relatively.
_TOLERANCE = 1e-8


@specify(
    statistic=GroupedOutcomes,
    leaves_groups_out=True,
    compares_errors=compares_rates_of_errors,
)
def cvar_fairness(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    alpha: float = 0.9,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Any = None,
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean gap of the groups that are furthest from the average.

    The gap of a group is the distance of its rate from the weighted average of rates.
    CVaR fairness is the conditional value at risk of the gap at level alpha, where
    groups are drawn with probabilities equal to their weights. For alpha 0 it is the
    mean gap of all groups; it increases with alpha, and never exceeds `max_gap`. Like
    `max_gap` it is biased upwards where groups are small: `cvar_fairness_test` tests
    whether there is more than sampling noise.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels. A `GroupedOutcomes` replaces all rows and `quality`; the
        other arguments with one entry per row must then be None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    alpha : float in [0, 1), default=0.9
        Level: groups with a total weight of 1 - alpha form the tail.
    quality : {"selection_rate", "true_positive_rate", "false_positive_rate", \
"accuracy", "error_rate"} or callable, default="selection_rate"
        Rate that is compared. A callable ``quality(y_true, y_pred)`` returns 0 or 1 for
        each row, or a tuple of that and of a mask of the rows that count.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups: equal, each group's share of the rows that count, or
        given by label or in the order of the sorted labels. They are scaled to sum
        to one. A mapping may name groups that have no rows.
    fractional : bool, default=True
        Whether a group may belong to the tail in part, so that the total weight of
        the tail is exactly 1 - alpha. If False, groups belong to it entirely or not
        at all, as in equation 28; see Notes.
    pos_label : int, float, bool or str, default=None
        The positive class. None means 1 if classes are numbers; text requires it,
        except for accuracy and error rate.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 means equal rates in all groups. nan with a warning if fewer than two groups
        can be compared.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If `alpha` is out of range, labels or weights are invalid, lengths differ,
        groups are missing, or a callable returns anything but 0 and 1.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If groups have no rows that count, or fewer than the `min_group_size` of their
        `Groups`. They are left out and named, and the weights of the others scaled.
    UserWarning
        If ``fractional=False`` and the weight of every group exceeds 1 - alpha.

    See Also
    --------
    cvar_fairness_report : Table of the groups, with those of the tail.
    cvar_fairness_test : Test of equal rates in all groups.
    max_gap : The largest gap of a group.

    Notes
    -----
    The fractional form is the default because it is the conditional value at risk
    itself: it is continuous and non-decreasing in alpha. With five groups of equal
    weight and alpha 0.9 it equals max-gap, whereas by equation 28 every group is too
    heavy for the tail, and the value is 0. It is never smaller than the other form,
    and equal to it where whole groups have a total weight of 1 - alpha. It takes one
    sort. ``fractional=False`` solves a knapsack problem: by the same sort if weights
    are equal, otherwise by an exact search, up to a relative difference of 1e-8.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 3,
       equations 28 and 29, propositions 2 and 3.

    Examples
    --------
    >>> from skfair.metrics import cvar_fairness
    >>> y_pred = [1, 1, 0, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "b", "b", "c", "c", "d", "d"]
    >>> cvar_fairness(None, y_pred, sensitive_features=group, alpha=0.25)
    0.333...
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    statistic = grouped_quality(
        y_true, y_pred, sensitive_features, quality, pos_label, sample_weight
    )
    groups = group_gaps("cvar_fairness", statistic, group_weights)
    if not groups.defined:
        return math.nan
    gaps, weights = groups.gaps[groups.compared], groups.weights[groups.compared]
    shares = tail_shares(gaps, weights, alpha, fractional=fractional)
    if gaps.any() and not shares.any():
        warn_user(
            "cvar_fairness is 0 only because its tail is empty: every group weighs "
            f"more than 1 - alpha = {1 - alpha:.4g}. Use fractional=True or a smaller "
            "alpha.",
            UserWarning,
        )
    return tail_mean(gaps, weights, shares, alpha)


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


@warns_if_reordered
def cvar_fairness_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    alpha: float,
    epsilon: float,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Any = None,
    sampling: Sampling = "fixed",
    sample_weight: ArrayLike | None = None,
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
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
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
        `n_permutations` is out of range or a statistic is one of weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows; value and p-value are then nan.

    See Also
    --------
    cvar_fairness : The metric.
    max_gap_test : The same test with the largest gap as its statistic.
    top_groups : The groups that differ from the others.
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
    ...     random_state=0,
    ... )
    >>> result.reject, result.pvalue
    (True, 0.002)
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    epsilon = check_real("epsilon", epsilon, 0, 1, closed="right")
    rows = y_true, y_pred, sensitive_features, quality, pos_label
    estimator = make_estimator(
        "cvar_fairness_test",
        grouped_quality(*rows, sample_weight),
        group_weights,
        sampling,
        weighted=sample_weight is not None,
    )
    test = permute_outcomes(
        partial(weighted_rate_variance, group_weights=group_weights),
        estimator.values,
        estimator.sizes,
        estimator.hits,
        rows,
        sample_weight,
        n_permutations=n_permutations,
        random_state=random_state,
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
        sampling=estimator.design.name,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
        n_permutations=test.n_permutations,
        null_distribution=test.null_distribution,
    )


def tail_shares(
    gaps: Floats, weights: Floats, alpha: float, *, fractional: bool = True
) -> Floats:
    """Return how much of each group belongs to the tail Q of equation 28, from 0 to 1.

    Groups whose gap is nan, of weight 0, take no part.
    """
    check_flag("fractional", fractional)
    shares = np.zeros(len(gaps))
    if np.isnan(gaps).all():
        return shares
    capacity = 1 - alpha
    # Rounding does not decide which of two groups that are as far comes first.
    order = np.argsort(-gaps.round(12), kind="stable")
    if fractional:
        before = np.append(0, np.cumsum(weights[order])[:-1])
        room = np.clip(capacity - before, 0, weights[order])
        # A room this small in the tail comes from rounding.
        room[room <= _ROUNDING * capacity] = 0
        shares[order] = quotients(room, weights[order])
    elif np.ptp(weights[weights > 0]) <= _ROUNDING * weights.max():
        n_fitting = int((capacity + _ROUNDING) / weights.max() * (1 + _ROUNDING))
        shares[order[weights[order] > 0][:n_fitting]] = 1
    else:
        shares[best_subset(gaps, weights, capacity)] = 1
    return shares


def tail_mean(gaps: Floats, weights: Floats, shares: Floats, alpha: float) -> float:
    """Return the mean gap of the tail (equation 29)."""
    # Rounding must not bring the mean above the largest gap of the tail.
    value = (weights * shares) @ gaps / (1 - alpha)
    return float(min(value, gaps[shares > 0].max(initial=0.0)))


def best_subset(ratios: Floats, weights: Floats, capacity: float) -> Bools:
    """Subset of total weight at most `capacity` that maximises ``weights @ ratios``.

    It is optimal up to a relative difference of 1e-8.
    """
    taken = np.zeros(len(weights), dtype=bool)
    capacity += _ROUNDING
    fitting = np.flatnonzero((weights <= capacity) & (weights > 0) & (ratios > 0))
    order = fitting[np.argsort(-ratios[fitting], kind="stable")]
    taken[order] = _Knapsack(ratios[order], weights[order], capacity).solve()
    return taken


class _Knapsack:
    """Items in decreasing order of ratio (value by weight), and a capacity."""

    # The linear relaxation takes items in this order and a part of the first one that
    # does not fit, the break item. Its bound decides all items whose ratio is far from
    # that of the break item. For the others, lists of undominated subsets are built
    # item by item (Nemhauser and Ullmann), and pruned by the same bound.

    def __init__(self, ratios: Floats, weights: Floats, capacity: float) -> None:
        self.ratios, self.weights, self.capacity = ratios, weights, capacity
        # Total weight and value of the first 0, 1, 2, ... items.
        self.total_weights = np.append(0, np.cumsum(weights))
        self.total_values = np.append(0, np.cumsum(weights * ratios))

    def solve(self) -> Bools:
        """Return whether each item is taken."""
        if len(self.ratios) == 0 or self.total_weights[-1] <= self.capacity:
            return np.ones(len(self.ratios), dtype=bool)
        greedy = self._greedy()
        value = float(self.weights[greedy] @ self.ratios[greedy])
        bound = float(self._bounds(0, np.array([self.capacity]))[0])
        break_item = self._first_too_many(0, np.array([self.capacity]))[0]
        # What the bound loses when the relaxation's decision on one item is reversed.
        losses = np.abs(self.ratios - self.ratios[break_item]) * self.weights
        undecided = losses < bound - value - _TOLERANCE * bound
        if not undecided.any():
            return greedy
        taken: Bools = ~undecided & (np.arange(len(losses)) < break_item)
        rest = _Knapsack(
            self.ratios[undecided],
            self.weights[undecided],
            self.capacity - float(self.weights[taken].sum()),
        )
        decided_value = float(self.weights[taken] @ self.ratios[taken])
        found = rest._search(value - decided_value, _TOLERANCE * bound)
        if found is None:
            return greedy
        taken[np.flatnonzero(undecided)[found]] = True
        return taken

    def _search(self, best: float, tolerance: float) -> Integers | None:
        """Return the items of a subset worth more than `best`, if there is one."""
        # Each state is a subset of the items so far: capacity left, and value.
        left, values = np.array([self.capacity]), np.zeros(1)
        found, steps = None, []
        for item in range(len(self.ratios) + 1):
            end = self._first_too_many(item, left)
            totals = values + self.total_values[end] - self.total_values[item]
            state = int(totals.argmax())
            if totals[state] > best:
                best = float(totals[state])
                found = (item, state, int(end[state]))
            kept = np.flatnonzero(values + self._bounds(item, left) > best + tolerance)
            if item == len(self.ratios) or not len(kept):
                break
            # A subset that an item fills exactly is among the totals above.
            with_item = kept[left[kept] > self.weights[item]]
            parents = np.concatenate([kept, with_item])
            is_in = np.arange(len(parents)) >= len(kept)
            left = left[parents] - is_in * self.weights[item]
            values = values[parents] + is_in * self.weights[item] * self.ratios[item]
            order = np.lexsort((-values, -left))
            highest = np.append(-np.inf, np.maximum.accumulate(values[order])[:-1])
            undominated = values[order] > highest + _ROUNDING * self.total_values[-1]
            order = order[undominated]
            left, values = left[order], values[order]
            steps.append((parents[order], is_in[order]))
        return None if found is None else _items_of(steps, *found)

    def _bounds(self, item: int, left: Floats) -> Floats:
        """Return the most that items from `item` on add when one may be cut."""
        end = self._first_too_many(item, left)
        spare = left - (self.total_weights[end] - self.total_weights[item])
        added: Floats = self.total_values[end] - self.total_values[item]
        added += spare * np.append(self.ratios, 0)[end]
        return added

    def _first_too_many(self, item: int, left: Floats) -> Integers:
        """Return the first item that does not fit when taken in order from `item`."""
        filled = self.total_weights[item] + left
        end = np.searchsorted(self.total_weights, filled, "right") - 1
        return np.asarray(end, dtype=np.intp)

    def _greedy(self) -> Bools:
        """Take every item that still fits."""
        taken = np.zeros(len(self.ratios), dtype=bool)
        left = self.capacity
        for item, weight in enumerate(self.weights.tolist()):
            if weight <= left:
                taken[item] = True
                left -= weight
        return taken


def _items_of(
    steps: list[tuple[Integers, Bools]], item: int, state: int, end: int
) -> Integers:
    """Return the items of a state of the search, and those from `item` to `end`."""
    items = list(range(item, end))
    for position in range(item - 1, -1, -1):
        parents, is_in = steps[position]
        if is_in[state]:
            items.append(position)
        state = parents[state]
    return np.array(items, dtype=np.intp)
