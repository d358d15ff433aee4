"""Exposure of groups in a ranking, by hand and by simulation."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge

from skfair.metrics import (
    confidence_interval,
    exposure_difference,
    get_fairness_scorer,
    permutation_test,
)


def exposures_by_orders(scores):
    """Mean discount of each row over all orders that the scores allow."""
    found = []
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            exposure = np.empty(len(scores))
            exposure[list(order)] = 1 / np.log2(np.arange(len(scores)) + 2)
            found.append(exposure)
    return np.mean(found, axis=0)


def difference_by_hand(scores, groups, relevance=None, weights=None):
    weights = np.ones(len(scores)) if weights is None else weights
    exposure = exposures_by_orders(scores)
    exposure = exposure / np.average(exposure, weights=weights)
    if relevance is not None:
        exposure = exposure - relevance / np.average(relevance, weights=weights)
    return np.ptp(
        [
            np.average(exposure[groups == g], weights=weights[groups == g])
            for g in np.unique(groups)
        ]
    )


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_mean_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    scores, groups = rng.integers(0, 4, 7) - 2.5, np.array(list("aabbccc"))
    relevance, weights = rng.integers(0, 3, 7) + 0.5, rng.uniform(0.5, 2, 7)
    given = {"sensitive_features": groups}
    found = exposure_difference(None, scores, **given)
    assert found == pytest.approx(difference_by_hand(scores, groups))
    found = exposure_difference(
        relevance, scores, reference="relevance", sample_weight=weights, **given
    )
    expected = difference_by_hand(scores, groups, relevance, weights)
    assert found == pytest.approx(expected)


def test_only_the_order_counts_and_each_stratum_is_a_ranking():
    rng = np.random.default_rng(0)
    scores, groups = rng.normal(size=90), rng.choice(["a", "b"], 90)
    query = np.arange(90) % 3
    given = {"sensitive_features": groups}
    value = exposure_difference(None, scores, **given)
    assert value == exposure_difference(None, np.exp(scores) - 7, **given)
    of_queries = [
        exposure_difference(
            None, scores[query == one], sensitive_features=groups[query == one]
        )
        for one in range(3)
    ]
    within = exposure_difference(None, scores, control_features=query, **given)
    assert within == pytest.approx(max(of_queries))
    mean = exposure_difference(
        None, scores, control_features=query, multistratum="weighted", **given
    )
    assert mean == pytest.approx(np.mean(of_queries))


def test_counts_are_people_with_positions_of_their_own():
    scores, groups = [3.0, 2.0, 2.0, 1.0], ["a", "b", "a", "b"]
    counts = [2, 0, 3, 4]
    singly = np.repeat(np.arange(4), counts)
    found = exposure_difference(None, scores, sensitive_features=groups, counts=counts)
    expected = exposure_difference(
        None,
        np.take(scores, singly),
        sensitive_features=np.take(groups, singly),
    )
    assert found == pytest.approx(expected)
    # Halves of a long list, whose discounts are summed by an integral.
    long = exposure_difference(
        None, [1, 0], sensitive_features=["a", "b"], counts=[400_000, 400_000]
    )
    discounts = 1 / np.log2(np.arange(800_000) + 2)
    first, second = discounts.reshape(2, -1).mean(axis=1)
    assert long == pytest.approx((first - second) / discounts.mean(), rel=1e-9)


def test_scorer_ranks_predicted_numbers():
    X, y = make_regression(200, 3, random_state=0)
    model = Ridge().fit(X, y)
    scorer = get_fairness_scorer(
        "neg_exposure_difference", sensitive_features=lambda X: X[:, 0] > 0
    )
    expected = exposure_difference(y, model.predict(X), sensitive_features=X[:, 0] > 0)
    assert scorer(model, X, y) == pytest.approx(-expected)


@pytest.mark.parametrize(
    ("y_true", "options", "match"),
    [
        (None, {"reference": "relevance"}, "y_true must be the relevance of each row"),
        ([1, -1, 0], {"reference": "relevance"}, "at least 0 .* got -1 in row 1"),
        ([0, 0, 0], {"reference": "relevance"}, "must have a positive sum"),
        (None, {"reference": "groups"}, "reference must be 'rows' or 'relevance'"),
    ],
)
def test_broken_input(y_true, options, match):
    with pytest.raises(ValueError, match=match):
        exposure_difference(
            y_true, [0.1, 0.2, 0.3], sensitive_features=list("aab"), **options
        )
    with pytest.raises(ValueError, match="y_score must be finite, got nan"):
        exposure_difference(None, [0.1, np.nan], sensitive_features=list("ab"))


def draw(rng, shift, n=400):
    groups = rng.random(n) < 0.3
    return rng.normal(size=n) + shift * groups, groups


def signed_difference(scores, groups):
    exposure = np.empty(len(scores))
    exposure[np.argsort(-scores)] = 1 / np.log2(np.arange(len(scores)) + 2)
    return (exposure[groups].mean() - exposure[~groups].mean()) / exposure.mean()


@pytest.mark.slow
@pytest.mark.promise("Intervals and tests of exposure keep their level")
def test_level_and_coverage():
    truth = np.mean(
        [
            signed_difference(*draw(np.random.default_rng(seed), 0.7))
            for seed in range(1_000, 3_000)
        ]
    )
    covered = rejected = 0
    for seed in range(300):
        scores, groups = draw(np.random.default_rng(seed), 0.7)
        interval = confidence_interval(
            exposure_difference, None, scores, sensitive_features=groups
        )
        covered += interval.lower <= truth <= interval.upper
        scores, groups = draw(np.random.default_rng(seed), 0)
        test = permutation_test(
            exposure_difference,
            None,
            scores,
            sensitive_features=groups,
            n_permutations=99,
            random_state=seed,
        )
        rejected += test.pvalue <= 0.05
    assert covered >= 0.92 * 300
    assert 5 <= rejected <= 26
