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


@pytest.mark.slow
@given(rows, rows, st.booleans())
@pytest.mark.promise("ABCC is the Wasserstein-1 distance")
def test_abcc_is_the_wasserstein_distance(first, second, weighted):
    y_score, weights, groups = joined(first, second)
    weights = weights if weighted else np.ones(len(groups))
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
