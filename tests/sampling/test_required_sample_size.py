"""Sample sizes by simulation and by theory, and Rényi entropy."""

import math

import numpy as np
import pytest
from scipy.stats import entropy

from skfair.metrics import cvar_fairness_test
from skfair.sampling import renyi_entropy, required_sample_size

EASY = {"alpha": 0.5, "epsilon": 0.45, "random_state": 0, "n_simulations": 300}


def uniform(n_groups):
    return np.full(n_groups, 1 / n_groups)


def test_entropies():
    weights = np.array([0.5, 0.25, 0.125, 0.125])
    assert renyi_entropy(uniform(32)) == pytest.approx(5)
    assert renyi_entropy(weights, 1) == pytest.approx(entropy(weights, base=2))
    assert renyi_entropy(weights, 0) == pytest.approx(2)
    assert renyi_entropy(weights, np.inf) == pytest.approx(1)
    assert renyi_entropy(weights, 2) == pytest.approx(-np.log2((weights**2).sum()))
    expected = 3 * np.log2((weights ** (2 / 3)).sum())
    assert renyi_entropy(weights) == pytest.approx(expected)
    assert renyi_entropy({"a": 1.0, "b": 0.0}) == 0
    near = [renyi_entropy(weights, order) for order in (1 - 1e-6, 1, 1 + 1e-6)]
    assert near == pytest.approx([near[1]] * 3, abs=1e-5)
    with pytest.raises(ValueError, match="order must be"):
        renyi_entropy(weights, -1)


@pytest.mark.parametrize(
    "bad",
    [[], [0, 0], [1, -1], {"a": np.nan}, ["a"], [[1, 2]], np.ma.array([1], mask=1)],
)
def test_errors_of_the_entropy_name_its_argument(bad):
    with pytest.raises(ValueError, match=r"^weights "):
        renyi_entropy(bad)


@pytest.mark.slow
def test_power_of_a_real_test_is_the_power_asked_for():
    weights = uniform(64)
    result = required_sample_size(weights, method="weighted", **EASY)
    generator = np.random.default_rng(1)
    # Half of the groups differ from the others' rate, in both directions.
    rates, found = np.where(np.arange(64) < 32, [0.05, 0.95] * 32, 0.5), 0
    for seed in range(150):
        groups = generator.integers(0, 64, result.n_samples)
        outcomes = generator.random(result.n_samples) < rates[groups]
        test = cvar_fairness_test(
            None,
            outcomes,
            sensitive_features=groups,
            alpha=0.5,
            epsilon=0.45,
            n_permutations=199,
            random_state=seed,
        )
        found += test.pvalue <= 0.05
    assert found / 150 >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 150)


@pytest.mark.slow
def test_attribute_specific_sampling_needs_no_more_rows_for_more_groups():
    few, many = (
        required_sample_size(uniform(n), method="attribute_specific", **EASY)
        for n in (256, 1024)
    )
    assert many.n_samples < 1.35 * few.n_samples
    assert many.rate == few.rate == pytest.approx(1 / (0.45**4 * 0.25))
    assert (
        few.n_samples
        < required_sample_size(uniform(256), method="weighted", **EASY).n_samples
    )


@pytest.mark.slow
def test_rate_of_weighted_sampling_is_equation_39():
    result = required_sample_size(uniform(256), method="weighted", **EASY)
    assert result.rate == pytest.approx(16 / (0.45**2 * 0.5) + 1 / (0.45**4 * 0.25))
    equation_40 = 16 / (0.45**2 * 0.5) + 256 ** (1 / 3) / (0.45**4 * 0.25)
    assert result.rate < equation_40  # which bounds its second term
    assert result.asymptotic == pytest.approx(1 / 256 / 0.45**4)


@pytest.mark.slow
def test_rate_and_rows_of_other_exponents():
    """Rows as the population comes need more than the exponent 2/3 (equation 39)."""
    weights = 1 / np.arange(1, 41)
    weights /= weights.sum()
    options = {**EASY, "epsilon": 0.4}
    best, population = (
        required_sample_size(weights, exponent=exponent, **options)
        for exponent in (2 / 3, 1)
    )
    assert best.n_samples < population.n_samples
    expected = math.sqrt(40) / (0.4**2 * 0.5) + 1 / (0.4**4 * 0.25)
    assert population.rate == pytest.approx(expected)
    assert (best.exponent, population.exponent) == (2 / 3, 1)


@pytest.mark.slow
def test_no_test_of_the_largest_gap_needs_fewer_rows():
    """Equation 66 with an error of .01, which CVaR fairness gets below."""
    options = {**EASY, "level": 0.01, "power": 0.99, "n_simulations": 60}
    result = required_sample_size(uniform(1024), **options)
    expected = math.log(1 - 0.98**2 / 2) * (1024 - 2 * 0.45**2) / (-2 * 0.45**2)
    assert result.max_gap_bound == pytest.approx(expected)
    assert result.n_samples < 1654 == round(expected)
    unequal = required_sample_size([0.5, 0.3, 0.2], **EASY)
    assert math.isnan(unequal.max_gap_bound)


@pytest.mark.slow
def test_more_power_needs_more_rows_and_the_seed_decides():
    options = {**EASY, "method": "weighted"}
    low = required_sample_size(uniform(64), power=0.6, **options)
    high = required_sample_size(uniform(64), power=0.95, **options)
    assert low.n_samples < high.n_samples
    assert high.power >= 0.95
    assert required_sample_size(uniform(64), power=0.6, **options) == low


def test_sentence_says_which_number_is_which():
    result = required_sample_size(uniform(16), method="weighted", **EASY)
    text = str(result)
    assert f"By simulation, {result.n_samples:,} rows" in text
    assert "By theory" in text
    assert "times a constant" in text


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"alpha": 1}, "alpha must be"),
        ({"epsilon": 0}, r"epsilon must be a number in \(0, 0\.5\]"),
        ({"epsilon": 0.6}, r"epsilon must be a number in \(0, 0\.5\]"),
        ({"power": 1}, "power must be"),
        ({"level": 0}, "level must be"),
        ({"method": "iid"}, "method must be 'weighted' or 'attribute_specific'"),
        ({"n_simulations": 0}, "n_simulations must be"),
        ({"exponent": -1}, r"exponent must be a number in \[0, inf\)"),
        (
            {"method": "attribute_specific", "exponent": 1},
            "exponent must be left at its default with method='attribute_specific'",
        ),
        ({"group_weights": [1.0]}, "at least two groups"),
        ({"group_weights": [0.0, 0.0]}, "must have a positive sum"),
    ],
)
def test_bad_options(option, message):
    options = {"group_weights": uniform(4), "method": "weighted", **EASY, **option}
    with pytest.raises(ValueError, match=message):
        required_sample_size(options.pop("group_weights"), **options)


def test_defaults_are_those_of_the_guide():
    options = {"n_simulations": 50, "random_state": 0}
    weights = np.full(10, 0.1)
    asked = required_sample_size(
        weights, alpha=0.9, epsilon=0.2, method="weighted", **options
    )
    assert required_sample_size(weights, **options) == asked


def test_error_of_the_power_is_that_of_a_share():
    found = required_sample_size(uniform(4), **EASY)
    share = found.power
    assert 0 < share < 1
    assert found.power_error == pytest.approx(math.sqrt(share * (1 - share) / 300))
