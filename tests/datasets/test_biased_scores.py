import numpy as np
import pytest
from scipy import stats

from skfair.datasets import make_biased_scores

# Section 4.4.1 of the paper, before both are truncated to [0, 1].
DISTRIBUTIONS = stats.gamma(4, scale=1 / 11), stats.norm(0.55, 0.1)


def density(x, distribution):
    low, high = distribution.cdf([0, 1])
    return distribution.pdf(x) / (high - low)


def test_distance_of_the_densities():
    _, y_score, groups = make_biased_scores(50_000, random_state=0)
    edges = np.linspace(0, 1, 101)
    first, second = (np.histogram(y_score[groups == g], edges)[0] for g in (0, 1))
    assert np.abs(first - second).sum() / 25_000 == pytest.approx(1.195, abs=0.01)


@pytest.mark.parametrize("group", [0, 1])
def test_sample_follows_the_density(group):
    _, y_score, groups = make_biased_scores((20000, 30000), random_state=0)
    sample = y_score[groups == group]
    distribution = DISTRIBUTIONS[group]
    low, high = distribution.cdf([0, 1])
    result = stats.kstest(sample, lambda x: (distribution.cdf(x) - low) / (high - low))
    assert result.pvalue > 0.001
    mean = distribution.expect(lambda x: x, lb=0, ub=1, conditional=True)
    square = distribution.expect(lambda x: x**2, lb=0, ub=1, conditional=True)
    spread = np.sqrt(square - mean**2)
    assert sample.mean() == pytest.approx(mean, abs=4 * spread / len(sample) ** 0.5)
    assert sample.std() == pytest.approx(spread, rel=0.03)


def test_scores_are_calibrated_in_both_groups():
    y_true, y_score, groups = make_biased_scores(100_000, random_state=1)
    for group in (0, 1):
        mask = groups == group
        band = mask & (y_score > 0.4) & (y_score < 0.5)
        assert y_true[band].mean() == pytest.approx(y_score[band].mean(), abs=0.02)
        assert y_true[mask].mean() == pytest.approx(y_score[mask].mean(), abs=0.01)


@pytest.mark.parametrize(
    ("n_samples", "sizes"),
    [(10, [5, 5]), (11, [5, 6]), ((3, 8), [3, 8]), (np.array([1, 2]), [1, 2])],
)
def test_sizes(n_samples, sizes):
    y_true, y_score, groups = make_biased_scores(n_samples, random_state=0)
    assert np.bincount(groups).tolist() == sizes
    assert y_true.shape == y_score.shape == groups.shape == (sum(sizes),)


def test_values_and_order():
    y_true, y_score, groups = make_biased_scores(2000, random_state=0)
    assert set(y_true) == set(groups) == {0, 1}
    assert y_score.min() >= 0
    assert y_score.max() <= 1
    assert 0.4 < groups[:1000].mean() < 0.6, "rows are in random order"


def test_default_is_that_of_the_paper():
    assert np.bincount(make_biased_scores()[2]).tolist() == [10000, 10000]


@pytest.mark.parametrize("n_samples", [0, 1, -4, (0, 5), (5,), (1, 2, 3), 2.5, "ab"])
def test_bad_sizes(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an int"):
        make_biased_scores(n_samples)
