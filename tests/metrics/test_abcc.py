import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from skfair.metrics import abcc, demographic_parity_difference, mcdp

scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
rows = st.lists(st.tuples(scores, st.floats(0.125, 8)), min_size=1, max_size=20)


def joined(first, second):
    y_score, weights = np.array(first + second).T
    return y_score, weights, np.repeat([0, 1], [len(first), len(second)])


@given(rows, rows)
@pytest.mark.promise("ABCC is the Wasserstein-1 distance")
def test_abcc_is_the_wasserstein_distance(first, second):
    y_score, _, groups = joined(first, second)
    expected = wasserstein_distance(y_score[groups == 0], y_score[groups == 1])
    value = abcc(None, y_score, sensitive_features=groups)
    assert value == pytest.approx(expected, abs=1e-14)


@given(rows, rows)
def test_weighted_abcc_is_the_weighted_wasserstein_distance(first, second):
    y_score, weights, groups = joined(first, second)
    one = groups == 1
    expected = wasserstein_distance(
        y_score[~one], y_score[one], weights[~one], weights[one]
    )
    value = abcc(None, y_score, sensitive_features=groups, sample_weight=weights)
    assert value == pytest.approx(expected, abs=1e-13)


@given(rows, rows)
def test_abcc_lies_between_the_difference_of_means_and_mcdp(first, second):
    y_score, _, groups = joined(first, second)
    value = abcc(None, y_score, sensitive_features=groups)
    means = [y_score[groups == group].mean() for group in (0, 1)]
    parity = demographic_parity_difference(None, y_score, sensitive_features=groups)
    assert parity == pytest.approx(abs(means[0] - means[1]), abs=1e-14)
    assert value >= parity - 1e-14
    assert value <= mcdp(None, y_score, sensitive_features=groups) + 1e-14


def test_abcc_of_thousands_of_rows():
    rng = np.random.default_rng(0)
    first, second = rng.beta(2, 3, 20_000), rng.beta(3, 2, 9_000)
    y_score = np.concatenate([first, second])
    groups = np.repeat(["a", "b"], [20_000, 9_000])
    assert abcc(None, y_score, sensitive_features=groups) == pytest.approx(
        wasserstein_distance(first, second), abs=1e-12
    )


@pytest.mark.parametrize(
    ("y_score", "expected"), [([0, 1], 1), ([0.5, 0.5], 0), ([0.25, 1], 0.75)]
)
def test_abcc_of_two_rows_is_their_distance(y_score, expected):
    assert abcc(None, y_score, sensitive_features=[0, 1]) == expected


def test_abcc_sees_what_equal_means_hide():
    y_score, groups = [0.5, 0.5, 0.0, 1.0], [0, 0, 1, 1]
    assert demographic_parity_difference(None, y_score, sensitive_features=groups) == 0
    assert abcc(None, y_score, sensitive_features=groups) == 0.5
