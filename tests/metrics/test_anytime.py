"""Bounds at all looks at once: exact values, what they promise, and how often."""

from functools import partial

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from skfair.metrics import confidence_interval, mcdp
from skfair.metrics._anytime import (
    cdf_difference_noise,
    gap_variance,
    largest_gap_end,
    log_e_value,
    log_e_value_of_noise,
    mean_difference_noise,
    rate_ends,
    variances_at_any_time,
)


def evidence(rates, hits, sizes):
    """Logarithm of the product of both mixtures of rates over the rates."""
    rates, hits, sizes = (np.asarray(one, dtype=float) for one in (rates, hits, sizes))
    first, second = 100 * rates + 0.5, 100 * (1 - rates) + 0.5
    found = special.betaln(first + hits, second + sizes - hits)
    found -= special.betaln(first, second)
    found -= hits * np.log(rates) + (sizes - hits) * np.log(1 - rates)
    return found.sum()


@pytest.mark.slow
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
        return found.fun + np.log(level / 2)

    ends = rate_ends(rates[:, None], np.array(sizes, dtype=float)[:, None])
    low, high = (end(level) for end in ends)
    least = optimize.brentq(least_evidence, -1 + 1e-6, seen)
    most = optimize.brentq(least_evidence, seen, 1 - 1e-6)
    # The other half of the level is for the noise of the difference as a whole.
    variance = variances_at_any_time(np.array(sizes)).sum()
    either, one = (
        mean_difference_noise(variance, level / 2, sides=sides) for sides in (2, 1)
    )
    # The difference has either sign.
    largest = max(min(most, seen + one), min(-least, one - seen))
    assert largest - 1e-8 <= high <= largest + 0.004 * (most - least)
    if max(least, seen - either) > 0:
        closest = max(least, seen - either)
        assert closest - 0.004 * (seen - least) <= low <= closest + 1e-8
    else:
        assert low <= 0


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
    [
        ((200, 200), 0.05),
        ((300, 5000), 1e-6),
        pytest.param((20_000, 50_000), 0.05, marks=pytest.mark.slow),
    ],
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
    (found,) = cdf_difference_noise(np.array(sizes, dtype=float))(level)
    assert max(sums) - 1e-6 <= found <= 1.01 * max(sums)


def gap_evidence(first, second, gap):
    """Mixture over rows of the reversed e-process at their scores, by definition."""
    less = np.array([len(first), len(second)]) - 1
    variance = special.polygamma(1, less).sum() / 4
    found = 0.0
    for own, other in ((first, second), (second, first)):
        for i, score in enumerate(own):
            rest = np.mean(np.delete(own, i) <= score)
            noise = max(abs(rest - np.mean(other <= score)) - gap, 0)
            e_value = np.exp(log_e_value_of_noise(np.array(noise), variance))
            found += e_value / (2 * len(own))
    return found


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
    assert 0 < max(ends) == pytest.approx(found.lower, abs=1e-12)
    one_row = np.append(groups, 3), np.append(scores, 0.5)
    found = confidence_interval(
        mcdp, None, one_row[1], sensitive_features=one_row[0], method="anytime"
    )
    assert 0 < found.lower < max(ends)
    alone = confidence_interval(
        mcdp, None, [0.1, 0.9], sensitive_features=[0, 1], method="anytime"
    )
    assert (alone.lower, alone.upper) == (0, 1)


@pytest.mark.parametrize("ratio", [1, 9, 100])
@pytest.mark.parametrize("n_rows", [30, 100, 1000])
def test_noise_of_two_means_is_within_4_times_the_rows_of_one_look(ratio, n_rows):
    """Rows that a mean of many looks needs, over those of the textbook's two-sided."""
    sizes = np.array([n_rows, ratio * n_rows], dtype=float)
    noise = mean_difference_noise(variances_at_any_time(sizes).sum(), 0.05, sides=2)
    textbook = stats.norm.isf(0.025) * np.sqrt((1 / sizes).sum()) / 2
    assert 2 < (noise / textbook) ** 2 < 3.3


def chance_of_error(order, rates, errs):
    """Exact chance that two groups' counts of hits ever err, one row after the other.

    `errs` says of all counts of hits of so many rows of each group whether they do.
    """
    kept = np.ones((1, 1))  # chances of counts without an error so far
    for group in order:
        hit, miss = (kept * p for p in (rates[group], 1 - rates[group]))
        more = [(0, 0), (0, 0)]
        kept = 0
        for chances, moved in ((hit, (1, 0)), (miss, (0, 1))):
            more[group] = moved
            kept = kept + np.pad(chances, more)
        kept = np.where(errs(np.array(kept.shape) - 1), 0, kept)
    return 1 - kept.sum()


ORDERS = {
    "1:1": [0, 1] * 60,
    "1:9": [0, *[1] * 9] * 12,
    "one after the other": [0] * 10 + [1] * 90,
    "growing": [1] * 20 + [0, 0, 0, 1] * 20,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "rates"),
    [*((order, (0.5, 0.5)) for order in ORDERS), ("1:9", (0.02, 0.05))],
)
def test_exact_chance_of_an_error_of_two_means(order, rates):
    """Of any order of rows, and looks after each of them."""
    level = 0.2

    def errs(sides, sizes):
        if not all(sizes):
            return False
        bound = mean_difference_noise(
            variances_at_any_time(sizes).sum(), level, sides=sides
        )
        rows = (np.arange(n + 1) / n for n in sizes)
        noise = np.subtract.outer(
            *(one - p for one, p in zip(rows, rates, strict=True))
        )
        return (noise if sides == 1 else abs(noise)) > bound

    for sides in (1, 2):
        found = chance_of_error(ORDERS[order], rates, partial(errs, sides))
        assert 0 <= found <= level
        if rates == (0.5, 0.5):
            assert found > 0.001  # the bound is made for more rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "rates"), [("1:1", (0.5, 0.5)), ("1:9", (0.02, 0.05))]
)
def test_exact_chance_of_an_error_of_the_ends_of_rates(order, rates):
    """The end of the difference of the rates errs, or none of both e-processes is."""
    level = 0.2

    def errs(sizes):
        if not all(sizes):
            return False
        rows = [np.arange(n + 1) for n in sizes]
        groups = [*zip(rates, rows, sizes, strict=True)]
        logs = [log_e_value(np.array(p), hits, n - hits) for p, hits, n in groups]
        product = np.add.outer(*logs) >= -np.log(level / 2)
        noise = np.subtract.outer(*(hits / n - p for p, hits, n in groups))
        variance = variances_at_any_time(sizes).sum()
        return product | (
            abs(noise) > mean_difference_noise(variance, level / 2, sides=2)
        )

    assert 0.001 < chance_of_error(ORDERS[order], rates, errs) <= level


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batch", "shifted"), [((1, 1), 0.3), ((1, 9), 0.0), ((20, 180), 0.3)]
)
def test_errors_of_gaps_at_any_of_500_looks(batch, shifted):
    """Ten scores; the mixture is above 1 / level at the true gap where an end errs."""
    rng, level = np.random.default_rng(0), 0.1
    chances = np.full((2, 10), 0.1)
    chances[1, :5] -= shifted / 5
    chances[1, 5:] += shifted / 5
    counts = [  # of each value at each look of 500 runs
        rng.multinomial(n, p, size=(500, 500)).cumsum(axis=1)
        for n, p in zip(batch, chances, strict=True)
    ]
    sizes = np.array([one[0].sum(axis=-1) for one in counts], dtype=float)
    sums = [one.cumsum(axis=-1) for one in counts]
    variance = gap_variance(sizes)[:, None]
    total = 0.0
    for own, other in ((0, 1), (1, 0)):
        less = np.maximum(sizes[own] - 1, 1e-3)[:, None]
        gaps = np.abs((sums[own] - 1) / less - sums[other] / sizes[other][:, None])
        far = np.exp(log_e_value_of_noise(np.maximum(gaps - shifted, 0), variance))
        total += (counts[own] * far).sum(axis=-1) / (2 * sizes[own])
    errors = (total >= 1 / level).any(axis=1)
    assert errors.sum() <= 50
