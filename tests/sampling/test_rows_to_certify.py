"""Numbers of rows for a certificate."""

import numpy as np
import pytest
from scipy import stats

from skfair.metrics import certify, mcdp
from skfair.sampling import rows_to_certify


def test_more_is_needed_for_more():
    base = rows_to_certify(0.05, [1, 1])
    assert rows_to_certify(0.025, [1, 1]) == pytest.approx(4 * base, rel=1e-3)
    assert rows_to_certify(0.05, [1, 1], power=0.99) > base
    assert rows_to_certify(0.05, [1, 1], confidence_level=0.99) > base
    assert rows_to_certify(0.05, [1, 9]) > base
    assert rows_to_certify(0.05, [1, 1, 1]) > 1.5 * base
    assert rows_to_certify(0.05, {"a": 1, "b": 1, "none": 0}) == base


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, [1, 1]), "margin must be a number in"),
        ((0.1, [1]), "at least two groups"),
        ((0.1, [1, 0]), "at least two groups"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        rows_to_certify(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.1, 0.9), (0.2, 0.3, 0.5)])
def test_power_by_simulation(shares):
    shift, at_most, power = 0.3, 0.2, 0.9
    grid = np.linspace(0, 1, 1001)
    gap = stats.beta(2, 5).cdf(grid) - stats.beta(2 + shift, 5).cdf(grid)
    n = rows_to_certify(at_most - gap.max(), shares, power=power)
    groups = np.repeat(
        np.arange(len(shares)), np.ceil(n * np.array(shares)).astype(int)
    )
    n_certified = 0
    for seed in range(200):
        scores = np.random.default_rng(seed).beta(2 + shift * (groups == 0), 5)
        found = certify(mcdp, None, scores, sensitive_features=groups, at_most=at_most)
        n_certified += found.certified
    assert n_certified >= 200 * power - 12
