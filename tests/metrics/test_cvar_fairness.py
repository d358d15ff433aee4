"""CVaR fairness: definition 3, propositions 2 and 3, the knapsack of equation 28."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.metrics import (
    cvar_fairness,
    cvar_fairness_report,
    max_gap,
)
from skfair.statistics import CountTable

group_sizes = st.lists(
    st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=2,
    max_size=12,
)
levels = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.75, 0.9, 0.99]) | st.floats(
    0, 0.99
)


def statistic_of(groups):
    """Statistic of groups given as (number of rows, number of hits)."""
    outcomes = np.concatenate([np.arange(n) < k for n, k in groups])
    codes = np.repeat(np.arange(len(groups)), [n for n, _ in groups])
    return CountTable.from_rows(None, outcomes, sensitive_features=codes)


def gaps_of(groups, weights):
    rates = np.array([k / n for n, k in groups])
    return np.abs(rates - weights @ rates)


def brute_force(gaps, weights, alpha):
    """Definition 3: the best of all subsets light enough."""
    subsets = (np.arange(2 ** len(gaps))[:, np.newaxis] >> np.arange(len(gaps))) & 1
    light = subsets @ weights <= 1 - alpha + 1e-12
    return (subsets[light] @ (weights * gaps)).max() / (1 - alpha)


def by_quantiles(gaps, weights, alpha):
    """Rockafellar and Uryasev: the least of t + E[(gap - t)+] / (1 - alpha)."""
    excess = np.maximum(gaps - gaps[:, np.newaxis], 0) @ weights
    return (gaps + excess / (1 - alpha)).min()


@given(group_sizes, levels, st.sampled_from(["uniform", "proportional"]))
def test_fractional_form_is_the_conditional_value_at_risk(groups, alpha, scheme):
    sizes = np.array([n for n, _ in groups])
    uniform = scheme == "uniform"
    weights = np.full(len(groups), 1 / len(groups)) if uniform else sizes / sizes.sum()
    value = cvar_fairness(None, statistic_of(groups), alpha=alpha, group_weights=scheme)
    expected = by_quantiles(gaps_of(groups, weights), weights, alpha)
    assert value == pytest.approx(expected, abs=1e-12)
    # Proposition 3.
    assert value <= max_gap(None, statistic_of(groups), group_weights=scheme) + 1e-12


@pytest.mark.parametrize("alpha", [1 - 1e-9, 1 - 1e-10, np.nextafter(1, 0)])
def test_smallest_tails_are_the_largest_gap(alpha):
    statistic = statistic_of([(2, 2), (2, 0)])
    assert cvar_fairness(None, statistic, alpha=alpha) == 0.5
    report = cvar_fairness_report(None, statistic, alpha=alpha)
    assert report["weight"] @ report["tail_share"] == pytest.approx(1 - alpha)


@given(group_sizes, levels, st.sampled_from(["equal", "counts", "pareto"]))
@pytest.mark.filterwarnings("ignore:cvar_fairness is 0 only:UserWarning")
def test_whole_groups_are_the_best_subset(groups, alpha, kind):
    n_groups = len(groups)
    weights = {
        "equal": np.ones(n_groups),
        "counts": np.array([n for n, _ in groups]),
        "pareto": np.random.default_rng(n_groups).pareto(1, n_groups) + 1e-6,
    }[kind]
    weights = weights / weights.sum()
    value = cvar_fairness(
        None, statistic_of(groups), alpha=alpha, group_weights=weights, fractional=False
    )
    expected = brute_force(gaps_of(groups, weights), weights, alpha)
    assert value == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["real", "counts", "equal gaps"])
def test_knapsack_of_many_groups_is_close_below_its_relaxation(kind):
    generator = np.random.default_rng(0)
    weights = generator.dirichlet(np.ones(250))
    if kind == "counts":
        weights = generator.integers(1, 200, 250) * 1.0
    hits = generator.integers(0, 101, 500)
    if kind == "equal gaps":  # of two halves with the same weights
        hits = np.repeat([20, 80], 250)
    table = cvar_fairness_report(
        None,
        statistic_of([(100, k) for k in hits]),
        alpha=0.9,
        group_weights=np.tile(weights, 2),
        fractional=False,
    )
    weights, gaps = table["weight"].to_numpy(), table["gap"].to_numpy()
    assert weights @ table["tail_share"] <= 0.1 + 1e-6
    order = np.argsort(-gaps)
    share = np.clip((0.1 - np.cumsum(weights[order])) / weights[order] + 1, 0, 1)
    relaxed = (weights * gaps)[order] @ share
    taken = (weights * gaps) @ table["tail_share"]
    assert relaxed * (1 - 1e-3) <= taken <= relaxed + 1e-6


def test_the_solver_prints_nothing(capfd):
    weights = np.random.default_rng(0).dirichlet(np.ones(30))
    statistic = statistic_of([(10, k % 11) for k in range(30)])
    options = {"alpha": 0.9, "group_weights": weights, "fractional": False}
    assert cvar_fairness(None, statistic, **options) > 0
    assert capfd.readouterr() == ("", "")


@given(group_sizes)
def test_proposition_2_recovers_the_max_gap(groups):
    statistic = statistic_of(groups)
    alpha = 1 - 1 / len(groups)
    for fractional in (True, False):
        value = cvar_fairness(None, statistic, alpha=alpha, fractional=fractional)
        assert value == pytest.approx(max_gap(None, statistic), abs=1e-12)


def test_empty_tail_of_whole_groups_warns():
    statistic = statistic_of([(4, 1), (4, 3), (4, 4)])
    with pytest.warns(UserWarning, match=r"every group weighs more than .* 0\.1"):
        assert cvar_fairness(None, statistic, alpha=0.9, fractional=False) == 0
    value = cvar_fairness(None, statistic, alpha=0.9)
    assert value == pytest.approx(max_gap(None, statistic))


@pytest.mark.parametrize("metric", [cvar_fairness, cvar_fairness_report])
def test_fractional_is_true_or_false(metric):
    with pytest.raises(ValueError, match="fractional must be True or False, got 'no'"):
        metric(None, [0, 1], sensitive_features=["a", "b"], fractional="no")
