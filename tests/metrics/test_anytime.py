"""Bounds at all looks at once: exact values, what they promise, and how often."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from skfair.metrics import confidence_interval, mcdp
from skfair.metrics._confidence._anytime import (
    _slope,
    cdf_at_any_time,
    gap_mixture,
    largest_gap_end,
    log_e_value,
    mean_at_any_time,
    normal_mixture,
    rate_ends,
    share_of_row,
    two_cdfs,
)


def evidence(rates, hits, sizes):
    """Logarithm of the product of both mixtures of rates over the rates."""
    rates, hits, sizes = (np.asarray(one, dtype=float) for one in (rates, hits, sizes))
    first, second = 100 * rates + 0.5, 100 * (1 - rates) + 0.5
    found = special.betaln(first + hits, second + sizes - hits)
    found -= special.betaln(first, second)
    found -= hits * np.log(rates) + (sizes - hits) * np.log(1 - rates)
    return found.sum()


@pytest.mark.parametrize("n_rows", [1, 7, 60])
@pytest.mark.parametrize("rate", [0.002, 0.3, 0.5, 0.98])
def test_e_value_of_a_rate_is_1_on_average(n_rows, rate):
    hits = np.arange(n_rows + 1)
    e_values = np.exp(log_e_value(np.array(rate), hits, n_rows - hits))
    assert stats.binom(n_rows, rate).pmf(hits) @ e_values == pytest.approx(1)
    mixture = stats.betabinom(n_rows, 100 * rate + 0.5, 100 * (1 - rate) + 0.5)
    expected = mixture.pmf(hits) / stats.binom(n_rows, rate).pmf(hits)
    assert e_values == pytest.approx(expected)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_e_value_of_a_mean_is_at_most_1_on_average(n_rows):
    """Values other than 0 and 1 vary less."""
    values, chances = np.array([0.0, 0.3, 1.0]), np.array([0.2, 0.5, 0.3])
    sums, weights = np.zeros(1), np.ones(1)
    for _ in range(n_rows):
        sums = np.add.outer(sums, values).ravel()
        weights = np.multiply.outer(weights, chances).ravel()
    mean = np.array(values @ chances)
    average = weights @ np.exp(log_e_value(mean, sums, n_rows - sums))
    assert 0.9 < average < 1


@pytest.mark.parametrize(("hits", "misses"), [(0, 9), (3, 0), (40, 2), (700, 800)])
def test_e_value_is_convex_and_has_this_slope(hits, misses):
    rates = np.linspace(0.001, 0.999, 999)
    slopes = _slope(rates, hits, misses)
    assert (np.diff(slopes) > 0).all()
    step = 1e-6
    ends = [log_e_value(rates + s, hits, misses) for s in (-step, step)]
    rise = (ends[1] - ends[0]) / (2 * step)
    assert slopes == pytest.approx(rise, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(
    ("sizes", "hits"),
    [
        ((50, 80), (10, 50)),
        ((60, 600), (0, 200)),
        ((900, 700), (450, 350)),
        ((2000, 30), (1800, 30)),
        ((30_000, 20_000), (30, 200)),
    ],
)
@pytest.mark.parametrize("level", [0.05, 1e-6])
def test_ends_of_rates_are_where_the_product_ends(sizes, hits, level):
    rates = np.array(hits) / sizes
    seen = rates[1] - rates[0]

    def least_evidence(difference):
        """Least over pairs of rates that are so far apart, where it is above 0."""
        low, high = max(0, -difference) + 1e-12, min(1, 1 - difference) - 1e-12
        found = optimize.minimize_scalar(
            lambda rate: evidence((rate, rate + difference), hits, sizes),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return found.fun + np.log(level)

    ends = rate_ends(rates[:, None], np.array(sizes, dtype=float)[:, None])
    low, high = (end(level) for end in ends)
    least = optimize.brentq(least_evidence, -1 + 1e-6, seen)
    most = optimize.brentq(least_evidence, seen, 1 - 1e-6)
    # The difference has either sign.
    largest = max(most, -least)
    assert largest - 1e-8 <= high <= largest + 0.004 * (most - least)
    if least > 0:
        assert least - 0.004 * (seen - least) <= low <= least + 1e-8
    else:
        assert low <= 0


@given(
    sizes=st.lists(st.integers(1, 3000), min_size=2, max_size=4),
    seed=st.integers(0, 10**6),
    level=st.floats(1e-9, 0.5),
)
def test_rates_that_the_product_keeps_are_within_the_ends(sizes, seed, level):
    rng = np.random.default_rng(seed)
    true = rng.beta(0.5, 0.5, len(sizes)).clip(1e-6, 1 - 1e-6)
    hits = rng.binomial(sizes, true)
    sizes = np.array(sizes, dtype=float)
    low, high = rate_ends((hits / sizes)[:, None], sizes[:, None])
    logs = log_e_value(true, hits, sizes - hits)
    least, most = low(level), high(level)
    for i in range(len(sizes)):
        for j in range(i):
            if logs[i] + logs[j] < -np.log(level):
                assert abs(true[i] - true[j]) <= most + 1e-9
    largest = max(logs[i] + logs[j] for i in range(len(sizes)) for j in range(i))
    if largest < -np.log(level):
        assert np.ptp(true) >= least - 1e-9


def cdf_evidence(noise, size):
    """Logarithm of the mean over scores of the normal mixture, if a CDF is too high."""
    spread = (size / 4 + 25) / size**2
    falling, _ = integrate.quad(
        lambda y: np.exp((y**2 - noise**2) / (2 * spread)), 0, noise, epsabs=1e-12
    )
    logarithm = noise**2 / (2 * spread) + np.log(falling)
    return np.logaddexp(logarithm, np.log1p(-noise)) - np.log1p(size / 100) / 2


@pytest.mark.parametrize(
    ("sizes", "level"),
    [((200, 200), 0.05), ((300, 5000), 1e-6), ((20_000, 50_000), 0.05)],
)
def test_noise_of_cdfs_is_where_the_product_ends(sizes, level):
    """The largest sum of both groups' noises that the product keeps."""

    def least_of_first(other):
        """How far the first CDF may be off, if the second one is so far off."""
        return optimize.brentq(
            lambda y: (
                cdf_evidence(y, sizes[0])
                + cdf_evidence(other, sizes[1])
                + np.log(level)
            ),
            1e-9,
            0.999,
        )

    most = optimize.brentq(
        lambda y: cdf_evidence(y, sizes[1]) + np.log(level) - 1, 1e-9, 0.999
    )
    sums = [y + least_of_first(y) for y in np.linspace(1e-3 * most, 0.9 * most, 30)]
    (found,) = two_cdfs(np.array(sizes, dtype=float))(level)
    assert max(sums) - 1e-6 <= found <= 1.01 * max(sums)


def test_cdfs_of_each_pair():
    sizes = np.array([100.0, 900, 100, 400])
    found = two_cdfs(sizes)(0.01)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    alone = [two_cdfs(sizes[list(pair)])(0.01)[0] for pair in pairs]
    assert found == pytest.approx(alone, rel=0.005)


def gap_evidence(first, second, gap):
    """Mixture over rows of the e-process at their scores, by definition."""
    n, total = np.array([len(first), len(second)]), len(first) + len(second)
    share = np.log(100) / ((total + 100) * np.log(total + 100) ** 2)
    constant = share / np.sqrt(np.prod(1 + n / 4 / 25))
    less = n - 1
    spread = ((less / 4 + 25) / less**2).sum()
    found = 0.0
    for own, other in ((first, second), (second, first)):
        for i, score in enumerate(own):
            rest = np.mean(np.delete(own, i) <= score)
            distance = abs(rest - np.mean(other <= score))
            found += np.exp(max(distance - gap, 0) ** 2 / (2 * spread))
    return constant * found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", [0.3, 1e-5])
def test_lower_end_of_the_gap_is_where_the_mixture_ends(seed, level):
    rng = np.random.default_rng(seed)
    first, second = rng.random(20 + seed), rng.random(60) ** 3
    if seed % 2:
        first, second = np.round(first, 1), np.round(second, 1)
    groups = (np.unique(one, return_counts=True) for one in (first, second))
    end = largest_gap_end(*groups)(level)
    assert gap_evidence(first, second, end) == pytest.approx(1 / level, rel=1e-6)


def test_blocks_of_rows_lose_little():
    rng = np.random.default_rng(0)
    first, second = rng.random(1500), rng.random(1500) ** 2
    groups = [np.unique(one, return_counts=True) for one in (first, second)]
    end = largest_gap_end(*groups)(0.05)
    assert 20 <= gap_evidence(first, second, end) <= 20 * 1.05


def test_monitored_lower_end_is_that_of_the_pair():
    """Of three groups each pair has a third of the level; the largest end counts."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], [300, 500, 900])
    scores = rng.random(1700) ** (1 + groups)
    found = confidence_interval(
        mcdp, None, scores, sensitive_features=groups, method="anytime"
    )
    of_group = [np.unique(scores[groups == g], return_counts=True) for g in range(3)]
    ends = [
        largest_gap_end(of_group[i], of_group[j])(0.025 / 3)
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert 0 < max(ends) == found.lower
    one_row = np.append(groups, 3), np.append(scores, 0.5)
    found = confidence_interval(
        mcdp, None, one_row[1], sensitive_features=one_row[0], method="anytime"
    )
    assert 0 < found.lower < max(ends)
    alone = confidence_interval(
        mcdp, None, [0.1, 0.9], sensitive_features=[0, 1], method="anytime"
    )
    assert (alone.lower, alone.upper) == (0, 1)


def test_shares_of_rows_are_at_most_1_and_fall():
    rows = np.arange(1, 10**6 + 1)
    shares = share_of_row(rows)
    assert (np.diff(shares) < 0).all()
    kept = np.log(100) / np.log(rows + 99) - np.log(100) / np.log(rows + 100)
    assert (shares <= kept).all()
    assert shares[:3] == pytest.approx(kept[:3], rel=0.02)


@pytest.mark.parametrize("ratio", [1, 3])
@pytest.mark.parametrize("n_rows", [100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("level", [0.1, 0.01, 1e-4])
def test_products_are_shorter_than_sums_over_groups(ratio, n_rows, level):
    sizes = np.array([n_rows, ratio * n_rows], dtype=float)
    # One-sided bounds of means, in either direction, and bounds of CDFs.
    below, above = (mean_at_any_time(sizes, level / n).sum() for n in (4, 2))
    for rates in ((0.0, 0.1), (0.3, 0.6), (0.5, 0.5), (0.9, 0.4)):
        low, high = rate_ends(np.array(rates)[:, None], sizes[:, None])
        value = abs(rates[0] - rates[1])
        assert value - low(level) < below
        assert high(level) - value < above
    spreads, prices = normal_mixture(sizes)
    assert spreads.sum() * (prices.sum() - 2 * np.log(level)) < above**2
    # Even if a single row shows the largest gap.
    spread, price = gap_mixture(sizes)
    assert (
        2 * spread * (price - np.log(level))
        < cdf_at_any_time(sizes, level / 2).sum() ** 2
    )


def counts_so_far(rng, chances, batch, n_looks=500, n_runs=1000):
    """Counts of each value at each look, shape (n_runs, n_looks, n_values)."""
    drawn = rng.multinomial(batch, chances, size=(n_runs, n_looks))
    return drawn.cumsum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [(1, 1), (1, 9), (20, 180), (3, 300)])
@pytest.mark.parametrize("rates", [(0.01, 0.03), (0.5, 0.5), (0.97, 0.999)])
def test_errors_of_rates_at_any_of_500_looks(batch, rates):
    """No interval errs unless the product at the true rates is above 1 / level."""
    rng, level = np.random.default_rng(0), 0.1
    found = 0.0
    for rate, rows in zip(rates, batch, strict=True):
        counts = counts_so_far(rng, [1 - rate, rate], rows)
        found = found + log_e_value(np.array(rate), counts[..., 1], counts[..., 0])
    errors = (found >= -np.log(level)).any(axis=1)
    assert errors.sum() <= 100


@pytest.mark.slow
@pytest.mark.parametrize("batch", [(1, 1), (1, 9), (20, 180)])
@pytest.mark.parametrize("shifted", [0.0, 0.3])
def test_errors_of_gaps_at_any_of_500_looks(batch, shifted):
    """Ten scores; the mixture is above 1 / level at the true gap where an end errs."""
    rng, level = np.random.default_rng(0), 0.1
    chances = np.full((2, 10), 0.1)
    chances[1, :5] -= shifted / 5
    chances[1, 5:] += shifted / 5
    counts = [
        counts_so_far(rng, *one, n_runs=500) for one in zip(chances, batch, strict=True)
    ]
    sizes = np.array([one[0].sum(axis=-1) for one in counts], dtype=float)
    sums = [one.cumsum(axis=-1) for one in counts]
    spread, price = gap_mixture(sizes)
    total = 0.0
    for own, other in ((0, 1), (1, 0)):
        less = np.maximum(sizes[own] - 1, 1e-3)[:, None]
        gaps = np.abs((sums[own] - 1) / less - sums[other] / sizes[other][:, None])
        far = np.maximum(gaps - shifted, 0) ** 2 / (2 * spread[:, None])
        total = total + (counts[own] * np.exp(far - price[:, None])).sum(axis=-1)
    errors = (total >= 1 / level).any(axis=1)
    assert errors.sum() <= 50
