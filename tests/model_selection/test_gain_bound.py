import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from skfair.metrics import mcdp
from skfair.metrics._confidence._noise import cdf_at_any_time
from skfair.model_selection._gain_bound import FoldNoise, fold_noise, gain_bound


@given(st.integers(0, 10_000))
def test_the_bound_is_its_integral(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    noise = FoldNoise(rng.random() * 0.1, rng.random() * 0.05)
    values, eligible = rng.random(n + 1), rng.random(n + 1) < 0.7
    shares = [0.05 / 4 / (i * (i + 1)) for i in range(1, n + 2)]
    beyond = np.array([noise.beyond(share) for share in shares])
    counted = eligible.copy()
    counted[0] = True
    best = (values + beyond)[counted].min()
    counted[0] = False
    radius = cdf_at_any_time(np.array([n]), 0.025)[0]

    def height(q):
        near = (values - noise.upward - beyond)[counted] <= q
        return min(1.0, near.sum() / n + radius)

    points = np.sort((values - noise.upward - beyond)[counted])
    inside = points[(points > 0) & (points < best)]
    expected = quad(height, 0, best, points=inside, limit=500)[0]
    assert gain_bound(values, eligible, noise, 0.95) == pytest.approx(expected, 1e-6)


def test_failed_fits_count_as_drawn_and_are_never_the_best():
    noise = FoldNoise(0.0, 1e-9)
    values = np.array([0.5, np.nan, 0.2, np.nan])
    every = np.ones(4, dtype=bool)
    without = gain_bound(values, every & ~np.isnan(values), noise, 0.95)
    assert gain_bound(values, every, noise, 0.95) == without <= 0.2 + 1e-6


def test_more_candidates_make_the_bound_smaller():
    noise = FoldNoise(0.0, 1e-9)
    rng = np.random.default_rng(0)
    values = np.append(0.6, rng.uniform(0.3, 0.6, 2000))
    every = np.ones(2001, dtype=bool)
    bounds = [
        gain_bound(values[:n], every[:n], noise, 0.95) for n in (2, 50, 500, 2001)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.03


def test_noise_of_folds_is_bounded():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [100, 400])
    splits = [(None, np.arange(fold, 500, 5)) for fold in range(5)]
    noise = fold_noise(splits, codes)
    assert noise.scale == pytest.approx(np.sqrt(1 / 100 + 1 / 400))
    # Without any gap all of the mean over folds is noise.
    means = [
        np.mean(
            [
                mcdp(None, scores[test], sensitive_features=codes[test])
                for _, test in splits
            ]
        )
        for scores in rng.random((100, 500))
    ]
    assert np.mean(means) < noise.upward < 1.5 * np.mean(means)
    assert np.quantile(means, 0.95) < noise.upward + noise.beyond(0.05)


def test_rows_without_a_group_do_not_count():
    codes = np.array([0, 0, 1, 1, -1, -1])
    noise = fold_noise([(None, np.arange(6))], codes)
    assert noise.scale == pytest.approx(1.0)
