"""The estimator of definition 7: lemmas 5 and 7, bias correction, all samplings."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import Groups, encode_groups
from skfair.metrics import rate_variance
from skfair.sampling import attribute_specific_sampling, weighted_sampling
from skfair.statistics import CountTable

WEIGHTS = np.array([0.3, 0.25, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02])
RATES = np.array([0.9, 0.5, 0.2, 0.7, 0.1, 0.5, 1.0, 0.3])
N_AUDITS = 1500


def statistic_of(sizes, hits):
    groups = Groups(np.tile(np.arange(len(sizes)), 2), tuple(range(len(sizes))))
    n = np.concatenate([np.subtract(sizes, hits), hits])
    outcomes = np.repeat([0, 1], len(sizes))
    return CountTable.from_rows(None, outcomes, sensitive_features=groups, counts=n)


def audits(draw_sizes, sampling, **options):
    """Estimates of many simulated audits, and the weights that they stand for."""
    generator = np.random.default_rng(0)
    estimates = []
    for seed in range(N_AUDITS):
        sizes = draw_sizes(seed)
        statistic = statistic_of(sizes, generator.binomial(sizes, RATES))
        estimates.append(
            rate_variance(
                None, statistic, group_weights=WEIGHTS, sampling=sampling, **options
            )
        )
    return estimates


#: More rows than groups, so that some group always has two.
PLANS = {
    "fixed": (lambda seed: np.array([3, 2, 5, 2, 2, 7, 2, 2]), "fixed"),
    "weighted": (
        lambda seed: weighted_sampling(WEIGHTS, 12, random_state=seed).to_numpy(),
        "weighted",
    ),
    "weighted, exponent 1": (
        lambda seed: weighted_sampling(
            WEIGHTS, 9, exponent=1.0, random_state=seed
        ).to_numpy(),
        ("weighted", 1.0),
    ),
    "attribute specific": (
        lambda seed: attribute_specific_sampling(
            WEIGHTS, 12, gamma=4.0, random_state=seed
        ).to_numpy(),
        ("attribute_specific", 4.0),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
def test_unbiased_within_three_standard_errors(plan):
    draw, sampling = PLANS[plan]
    estimates = audits(draw, sampling, bias_correction=True)
    mean = WEIGHTS @ RATES
    truths = {
        "f1": WEIGHTS @ RATES**2,
        "f2": mean,
        "value": WEIGHTS @ RATES**2 - mean**2,
    }
    for name, truth in truths.items():
        values = np.array([getattr(estimate, name) for estimate in estimates])
        error = values.std() / np.sqrt(N_AUDITS)
        assert abs(values.mean() - truth) <= 3 * error, name


def test_definition_by_hand():
    # Rates 2/3 and 1/2 of sizes 3 and 4; pairs: 2*1/(3*2) and 2*1/(4*3).
    estimate = rate_variance(None, statistic_of([3, 4], [2, 2]))
    assert estimate.f1 == pytest.approx((1 / 3 + 1 / 6) / 2)
    assert estimate.f2 == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert estimate.value == pytest.approx(estimate.f1 - estimate.f2**2)


def test_probabilities_of_weighted_sampling():
    statistic = statistic_of([3, 1, 0], [2, 1, 0])
    weights = np.array([0.5, 0.3, 0.2])
    estimate = rate_variance(
        None, statistic, group_weights=weights, sampling=("weighted", 0.5)
    )
    shares = np.sqrt(weights) / np.sqrt(weights).sum()
    once = 1 - (1 - shares) ** 4
    twice = once - 4 * shares * (1 - shares) ** 3
    assert estimate.f1 == pytest.approx(0.5 / twice[0] * (2 * 1) / (3 * 2))
    assert estimate.f2 == pytest.approx(0.5 / once[0] * 2 / 3 + 0.3 / once[1])


@pytest.mark.parametrize("exponent", [0, 0.5, 2.0])
def test_groups_without_weight_are_not_drawn(exponent):
    options = {"sampling": ("weighted", exponent)}
    weights = np.array([0.6, 0.4, 0.0])
    found = rate_variance(
        None, statistic_of([3, 4, 0], [2, 2, 0]), group_weights=weights, **options
    )
    alone = rate_variance(
        None, statistic_of([3, 4], [2, 2]), group_weights=weights[:2], **options
    )
    assert found.value == pytest.approx(alone.value)
    assert alone.f1 > 0


def test_probabilities_of_attribute_specific_sampling():
    statistic = statistic_of([2, 2, 0, 0], [2, 1, 0, 0])
    weights = np.array([0.6, 0.2, 0.1, 0.1])
    options = {"group_weights": weights, "sampling": ("attribute_specific", 3.0)}
    estimate = rate_variance(None, statistic, **options)
    assert estimate.f1 == pytest.approx(0.6 / 1 * 1)
    assert estimate.f2 == pytest.approx(0.6 + 0.2 / 0.6 * 0.5)
    # By default gamma is the number of groups seen: two.
    options["sampling"] = "attribute_specific"
    assert rate_variance(None, statistic, **options).f2 == pytest.approx(
        0.6 + 0.2 / 0.4 * 0.5
    )


def test_fixed_data_uses_groups_with_pairs_and_scales_their_weights():
    small = statistic_of([3, 4, 1, 0], [2, 2, 1, 0])
    large = statistic_of([3, 4], [2, 2])
    estimate = rate_variance(None, small)
    assert estimate.value == rate_variance(None, large).value
    assert (estimate.n_groups, estimate.n_small_groups, estimate.n_rows) == (4, 2, 8)


@pytest.mark.parametrize("sampling", ["fixed", "weighted", "attribute_specific"])
def test_without_pairs_it_is_undefined(sampling):
    statistic = statistic_of([1, 1, 0], [1, 0, 0])
    with pytest.warns(UndefinedMetricWarning, match=r"none of the 3 groups .* 2 rows"):
        estimate = rate_variance(None, statistic, sampling=sampling)
    assert np.isnan([estimate.value, estimate.f1, estimate.f2]).all()


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ("random", "sampling must be 'fixed', 'weighted'.*'random'"),
        (("fixed", 1), "'fixed' has no parameter"),
        (("weighted", -1), r"the parameter of sampling 'weighted' .*\[0, inf\)"),
        (("attribute_specific", 0), r"'attribute_specific' .*\(0, inf\)"),
    ],
)
def test_bad_sampling(sampling, message):
    with pytest.raises(ValueError, match=message):
        rate_variance(None, statistic_of([2, 2], [1, 1]), sampling=sampling)


def test_bias_correction_is_true_or_false():
    with pytest.raises(ValueError, match="bias_correction must be True or False, got"):
        rate_variance(None, statistic_of([2, 2], [1, 1]), bias_correction="no")


def test_outcomes_must_be_of_single_rows():
    groups = ["a", "a", "b", "b"]
    weighted = CountTable.from_rows(
        None, [1, 0, 1, 0], sensitive_features=groups, sample_weight=[1, 2, 1, 1]
    )
    scores = CountTable.from_rows(None, [0.2, 0.9, 1, 0], sensitive_features=groups)
    with pytest.raises(ValueError, match="people without sample weights"):
        rate_variance(None, weighted)
    with pytest.raises(ValueError, match=r"y_pred must be class labels, got .* 0.2"):
        rate_variance(None, scores)


def test_masked_quality_counts_rows_that_count():
    estimate = rate_variance(
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 0, 1, 1],
        sensitive_features=encode_groups(list("aabbab")),
        quality="true_positive_rate",
    )
    assert (estimate.n_rows, estimate.f2) == (4, 0.75)
