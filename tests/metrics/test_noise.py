"""Exact values of each bound of `confidence_interval`, by the formulas of the docs."""

from functools import partial

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from skfair.groups import Groups
from skfair.metrics import (
    abcc,
    certify,
    confidence_interval,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
    metric_bounds,
)
from skfair.metrics._anytime import cdf_difference_noise, largest_gap_end, rate_ends
from skfair.metrics._gap_ends import high_end, low_end
from skfair.statistics import CountTable

ALPHA = 0.025
SIZES = np.array([400.0, 900.0])
#: Inverse numbers of rows of two groups.
INVERSE = tuple(1 / SIZES)
S = np.sqrt(1 / 400 + 1 / 900)


def outcomes(sizes, hits):
    groups = Groups(np.tile(np.arange(len(sizes)), 2), tuple(range(len(sizes))))
    hits = np.rint(hits)  # of rates times sizes
    n = np.concatenate([np.subtract(sizes, hits), hits])
    decisions = np.repeat([0, 1], len(sizes))
    return CountTable.from_rows(None, decisions, sensitive_features=groups, counts=n)


def spread_scores(sizes, largest):
    """Scores evenly spread from 0 to the largest of each group."""
    scores = [
        top * (np.arange(n) + 0.5) / n for n, top in zip(sizes, largest, strict=True)
    ]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return {"y_score": np.concatenate(scores), "sensitive_features": groups}


def interval(metric, y_score, **options):
    return confidence_interval(metric, None, y_score, **options)


def mean_at_all_times(n, alpha):
    """Howard, Ramdas, McAuliffe and Sekhon, with rho = 25."""
    root = np.sqrt((n / 4 + 25) / 25)
    return np.sqrt(2 * (n / 4 + 25) * np.log(root / (2 * alpha) + 1)) / n


def difference_at_all_times(alpha, sizes=SIZES):
    """Where the mixture over exponents of a Cauchy distribution is (1 / alpha + 1) / 2.

    A Gaussian function times a Cauchy density has the integral of Voigt.
    """
    variance = special.polygamma(1, sizes).sum() / 4
    spread = 1 / np.sqrt(variance)

    def excess(noise):
        density = special.voigt_profile(noise / variance, spread, 100)
        mixture = np.exp(noise**2 / (2 * variance)) * density
        return np.sqrt(2 * np.pi) * spread * mixture - (1 / alpha + 1) / 2

    return optimize.brentq(excess, 0, 1, xtol=1e-15)


def cdf_at_all_times(n, alpha):
    """Howard and Ramdas."""
    return 0.85 * np.sqrt((np.log(np.log(np.e * n)) + 0.8 * np.log(1612 / alpha)) / n)


def hoeffding(alpha, scale=S):
    return scale * np.sqrt(np.log(1 / alpha) / 2)


def bands(alpha, sizes=SIZES):
    """Bands of Dvoretzky, Kiefer, Wolfowitz and Massart of two groups, each at half."""
    return sum(np.sqrt(np.log(2 / (alpha / 2)) / (2 * n)) for n in sizes)


@pytest.mark.parametrize("metric", [demographic_parity_difference, max_gap])
def test_means_by_hoeffding(metric):
    found = interval(metric, outcomes(SIZES, [200, 270]), method="finite_sample")
    share = 1 if metric is demographic_parity_difference else 0.5
    assert found.upper == pytest.approx(share * (0.2 + hoeffding(ALPHA)), abs=1e-12)
    # Noise has either sign; of max-gap there are two comparisons.
    n_tails = 2 if metric is demographic_parity_difference else 4
    expected = share * (0.2 - hoeffding(ALPHA / n_tails))
    assert found.lower == pytest.approx(expected, abs=1e-12)


def test_means_compared_with_everyone():
    sizes, rates = np.array([400, 900, 700]), np.array([0.7, 0.3, 0.35])
    shares = sizes / 2000
    metric = partial(demographic_parity_difference, multigroup="pooled")
    statistic = outcomes(sizes, sizes * rates)
    found = interval(metric, statistic, method="finite_sample")
    coefficients = np.array([1 - shares[0], -shares[1], -shares[2]])
    scale = np.sqrt((coefficients**2 / sizes).sum())
    value = coefficients @ rates
    assert found.upper == pytest.approx(value + hoeffding(ALPHA, scale), abs=1e-12)
    low = value - hoeffding(ALPHA / 3 / 2, scale)
    assert found.lower == pytest.approx(low, abs=1e-12)
    found = interval(metric, statistic, method="anytime")
    noise = np.abs(coefficients) @ mean_at_all_times(sizes, ALPHA / 3)
    assert found.upper == pytest.approx(value + noise, abs=1e-12)


def test_rates_at_all_times():
    """Each pair of groups is compared, and one of two predicted classes."""
    rates, sizes = np.array([0.5, 0.3, 0.45]), np.array([400.0, 900.0, 300.0])
    low, high = rate_ends(rates[:, None], sizes[:, None])
    statistic = outcomes(sizes, sizes * rates)
    found = interval(demographic_parity_difference, statistic, method="anytime")
    assert (found.lower, found.upper) == pytest.approx((low(ALPHA / 3), high(ALPHA)))
    assert 0 < found.lower < found.value < found.upper < 1
    groups = np.repeat([0, 1, 2], sizes.astype(int))
    row = np.concatenate([np.arange(n) for n in sizes])
    y_pred = row < (sizes * rates)[groups]
    found = confidence_interval(
        equalized_odds_difference,
        np.zeros(len(groups), dtype=int),
        y_pred.astype(int),
        sensitive_features=groups,
        method="anytime",
    )
    assert (found.lower, found.upper) == pytest.approx((low(ALPHA / 3), high(ALPHA)))


@pytest.mark.parametrize("epsilon", [0, 0.1])
def test_score_distributions_by_finite_bounds(epsilon):
    rows = spread_scores([400, 900], [0.5, 1])
    for metric in (partial(mcdp, epsilon=epsilon), abcc):
        found = interval(metric, **rows, method="finite_sample")
        # Where the gap may fall within a window, all of the CDFs must be bounded.
        by_bands = metric is not abcc and epsilon
        noise = bands(ALPHA) if by_bands else hoeffding(ALPHA)
        assert found.upper == pytest.approx(found.value + noise, abs=1e-12)
        low = max(found.value - bands(ALPHA), 0)
        assert found.lower == pytest.approx(low, abs=1e-12)
        found = interval(metric, **rows, method="anytime")
        (noise,) = cdf_difference_noise(SIZES)(ALPHA)
        low = found.value - noise
        high = found.value - low if by_bands else difference_at_all_times(ALPHA)
        if metric is not abcc and not by_bands:
            scores, groups = rows.values()
            two = (np.unique(scores[groups == g], return_counts=True) for g in (0, 1))
            low = largest_gap_end(*two)(ALPHA)
        expected = max(low, 0), found.value + high
        assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0, 0.1])
def test_score_distributions_compared_with_everyone(epsilon):
    metric = partial(mcdp, epsilon=epsilon, multigroup="pooled")
    found = interval(metric, **spread_scores([400, 900], [0.5, 1]))
    share = 900 / 1300  # the first group is further from everyone
    value, scale, rows = found.value, share * S, share * np.hypot(*INVERSE) / 2
    low = value - scale * np.sqrt(np.log(2 / (ALPHA / 2)) / 2)
    high = value + scale * np.sqrt(np.log(1 / ALPHA) / 2)
    if epsilon == 0:
        high = value + stats.norm.isf(ALPHA) * scale / 2 + rows
    assert (found.lower, found.upper) == pytest.approx((low, high), abs=1e-12)
    found = interval(metric, **spread_scores([400, 900], [0.5, 1]), method="anytime")
    low = value - share * cdf_at_all_times(SIZES, ALPHA / 4).sum()
    high = value + share * cdf_at_all_times(SIZES, ALPHA / 2).sum()
    if epsilon == 0:
        high = value + share * mean_at_all_times(SIZES, ALPHA / 2).sum()
    assert (found.lower, found.upper) == pytest.approx((max(low, 0), high), abs=1e-12)


def welch(sizes, means, squares, alpha):
    """Quantile of Welch's t with the rows 0 and 1 added to each group."""
    mean, square = (
        (sizes * means + 1) / (sizes + 2),
        (sizes * squares + 1) / (sizes + 2),
    )
    errors = (square - mean**2) / sizes
    freedom = errors.sum() ** 2 / (errors**2 / (sizes + 1)).sum()
    return stats.t.isf(alpha, freedom) * np.sqrt(errors.sum()), errors


def exact(sizes, means, alpha):
    """Distances to the bounds of Clopper and Pearson, up and down."""
    upper = stats.beta.isf(alpha, sizes * means + 1, sizes * (1 - means))
    lower = stats.beta.ppf(alpha, sizes * means, sizes * (1 - means) + 1)
    return upper - means, means - lower


def lower_end(value, noise, alpha):
    """Highest end at which noise that is too large has the level, both signs added."""
    ends = [value - noise(alpha / 2)]
    for part in (1 / 8, 1 / 64):
        seen, other = noise(alpha * (1 - part)), noise(alpha * part)
        if value - seen >= other - value:
            ends.append(value - seen)
    return max(ends)


@pytest.mark.parametrize("sizes", [(12.0, 30.0), (12.0, 900.0), (400.0, 900.0)])
@pytest.mark.parametrize(
    # Of 1 / 12 and 0.1 a true difference of the other sign may be the largest.
    "rates",
    [(0.5, 0.1), (0.5, 0.5), (0.1, 0.9), (0.6, 0.5), (1 / 12, 0.1)],
)
def test_rates_by_clopper_and_pearson_and_by_welch(sizes, rates):
    sizes = np.array(sizes)
    rates = np.rint(sizes * np.array(rates)) / sizes
    found = interval(demographic_parity_difference, outcomes(sizes, sizes * rates))
    signed = rates[0] - rates[1]
    value, first, second = abs(signed), int(signed < 0), int(signed >= 0)

    def too_large(alpha):
        up, down = exact(sizes, rates, alpha)
        return np.hypot(down[first], up[second])

    low = lower_end(value, too_large, ALPHA)
    up, down = exact(sizes, rates, ALPHA)
    high = max(
        value + welch(sizes, rates, rates, ALPHA)[0],
        signed + np.hypot(up[0], down[1]),
        -signed + np.hypot(down[0], up[1]),
    )
    expected = max(low, 0), min(high, 1)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rates", [(0.7, 0.3, 0.35), (0.03, 0.02, 0.05)])
def test_rates_compared_with_everyone(rates):
    sizes = np.array([40.0, 190, 70])
    rates = np.rint(sizes * np.array(rates)) / sizes
    smooth, (up, down) = (sizes * rates + 1) / (sizes + 2), exact(sizes, rates, ALPHA)
    errors, lows, highs = smooth * (1 - smooth) / sizes, [], []
    for group in range(3):
        coefficients = (np.arange(3) == group) - sizes / sizes.sum()
        deviation = np.sqrt(coefficients**2 @ errors)
        freedom = deviation**4 / (coefficients**4 @ (errors**2 / (sizes + 1)))
        signed, rises = coefficients @ rates, coefficients > 0
        falls = rises == (signed >= 0)

        def too_large(alpha, of=coefficients**2, falls=falls):
            up, down = exact(sizes, rates, alpha)
            return np.sqrt(of @ np.where(falls, down, up) ** 2)

        lows.append(lower_end(abs(signed), too_large, ALPHA / 3))
        highs += [
            abs(signed) + stats.t.isf(ALPHA, freedom) * deviation,
            signed + np.sqrt(coefficients**2 @ np.where(rises, up, down) ** 2),
            -signed + np.sqrt(coefficients**2 @ np.where(rises, down, up) ** 2),
        ]
    metric = partial(demographic_parity_difference, multigroup="pooled")
    found = interval(metric, outcomes(sizes, sizes * rates))
    expected = max(*lows, 0), max(highs)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [demographic_parity_difference, abcc])
def test_mean_scores_are_rates_of_more_rows(metric):
    rows = spread_scores([40, 90], [0.5, 1])
    sizes, groups = np.array([40.0, 90.0]), rows["sensitive_features"]
    first, second = (
        np.array([(rows["y_score"][groups == g] ** power).mean() for g in (0, 1)])
        for power in (1, 2)
    )
    found = interval(metric, **rows)
    noise, errors = welch(sizes, first, second, ALPHA)
    mean = (sizes * first + 1) / (sizes + 2)
    counts = mean * (1 - mean) / errors
    up, down = exact(counts, first, ALPHA)
    value = found.value

    def too_large(alpha):
        up, down = exact(counts, first, alpha)
        normal = welch(sizes, first, second, alpha)[0]
        return max(normal, np.hypot(up[0], down[1]))  # the first mean is less

    high = max(value + noise, value + np.hypot(down[0], up[1]))
    assert found.upper == pytest.approx(high, abs=1e-12)
    if metric is demographic_parity_difference:
        low = lower_end(value, too_large, ALPHA)
    else:  # the mean of the area of the noise, and a tangent
        cdfs = stats.uniform(0, 0.5).cdf, stats.uniform(0, 1).cdf
        area = integrate.quad(
            lambda t: np.sqrt(
                sum(
                    cdf(t) * (1 - cdf(t)) / n
                    for cdf, n in zip(cdfs, sizes, strict=True)
                )
            ),
            0,
            1,
            points=[0.5],
        )[0]
        low = value - np.sqrt(2 / np.pi) * area - too_large(ALPHA)
    assert found.lower == pytest.approx(low, abs=1e-12 if metric is not abcc else 1e-3)


def test_rates_of_errors_are_of_the_rows_of_a_class():
    y_true = np.repeat([0, 1, 0, 1], [20, 30, 40, 50])
    y_pred = np.concatenate(
        [np.arange(n) < k for n, k in ((20, 5), (30, 25), (40, 10), (50, 15))]
    ).astype(int)
    groups = np.repeat([0, 1], [50, 90])
    found = confidence_interval(
        equalized_odds_difference, y_true, y_pred, sensitive_features=groups
    )
    sizes, rates = np.array([30.0, 50.0]), np.array([25 / 30, 0.3])

    def too_large(alpha):
        up, down = exact(sizes, rates, alpha)
        return np.hypot(down[0], up[1])

    # Of two predicted classes one says all.
    low = lower_end(rates[0] - rates[1], too_large, ALPHA / 2)
    up, down = exact(sizes, rates, ALPHA)
    high = (
        rates[0]
        - rates[1]
        + max(welch(sizes, rates, rates, ALPHA)[0], np.hypot(up[0], down[1]))
    )
    assert (found.lower, found.upper) == pytest.approx((low, high), abs=1e-12)


def at_one_score(value, alpha):
    """Largest D with D - v, less half a row of each group, at most z sigma(D)."""

    def excess(gap):
        variance = S**2 / 4 - gap**2 / SIZES.sum() + (1 / SIZES**2).sum()
        noise = stats.norm.isf(alpha) * np.sqrt(min(variance, S**2 / 4))
        return gap - value - np.hypot(*INVERSE) / 2 - noise

    return optimize.brentq(excess, value, 1, xtol=1e-14)


@pytest.mark.parametrize("top", [0.99, 0.5])
def test_pairs_of_score_distributions(top):
    rows = spread_scores([400, 900], [top, 1])
    found = interval(mcdp, **rows)
    assert found.upper == pytest.approx(at_one_score(found.value, ALPHA), abs=1e-12)
    assert found.lower == low_end(found.value, ALPHA, INVERSE)
    found = interval(partial(mcdp, epsilon=0.1), **rows)
    high = high_end(found.value, ALPHA, INVERSE)
    assert found.upper == pytest.approx(high, abs=1e-12)
    assert found.lower == low_end(found.value, ALPHA, INVERSE)


@pytest.mark.parametrize("epsilon", [0.05, 0.1])
def test_windows_of_ranks_are_chosen_by_the_data(epsilon):
    """The supremum of the noise of all scores bounds that of all windows."""
    metric = partial(mcdp, epsilon=epsilon, scale="rank")
    found = interval(metric, **spread_scores([400, 900], [0.5, 1]))
    low = found.value - S * np.sqrt(np.log(2 / ALPHA) / 2)
    high = found.value + S * np.sqrt(np.log(1 / ALPHA) / 2)
    assert (found.lower, found.upper) == pytest.approx((low, high), abs=1e-12)


def test_three_groups_of_score_distributions():
    found = interval(mcdp, **spread_scores([400, 900, 900], [0.5, 1, 1]))
    assert found.upper == pytest.approx(at_one_score(found.value, ALPHA), abs=1e-9)
    assert found.lower == low_end(found.value, ALPHA / 3, INVERSE)


def shares_of(rows, n_bins):
    codes = np.floor(rows["y_score"] * n_bins).astype(int)
    groups = rows["sensitive_features"]
    return np.array([np.bincount(codes[groups == g], minlength=n_bins) for g in (0, 1)])


def test_histograms_by_finite_bounds():
    rows, n_bins = spread_scores([400, 900], [0.5, 1]), 4
    metric = partial(madd, bandwidth=1 / n_bins)
    found = interval(metric, **rows, method="finite_sample")
    assert found.value == pytest.approx(1)
    assert found.upper == pytest.approx(1 + 2 * hoeffding(ALPHA), abs=1e-12)
    mean = np.sqrt((n_bins - 1) / SIZES).sum()
    low = 1 - mean - 2 * hoeffding(ALPHA)
    assert found.lower == pytest.approx(low, abs=1e-12)
    found = interval(metric, **rows, method="anytime")
    high = 1 + 2 * difference_at_all_times(ALPHA)
    # At once for the signs of all bins.
    low = 1 - 2 * difference_at_all_times(ALPHA / 2**n_bins)
    assert (found.lower, found.upper) == pytest.approx((max(low, 0), high), abs=1e-12)


def test_two_bins_are_one_rate():
    rows = spread_scores([400, 900], [0.5, 1])
    found = interval(partial(madd, bandwidth=0.5), **rows)
    high = 2 * at_one_score(found.value / 2, ALPHA / 2)
    assert found.upper == pytest.approx(high, abs=1e-12)
    low = 2 * low_end(found.value / 2, ALPHA / 2, INVERSE)
    deviation = 0.5 / 30  # of both bins; one group is in a single one
    assert deviation < found.value / 2
    assert found.lower >= low
    pooled = interval(partial(madd, bandwidth=0.5, multigroup="pooled"), **rows)
    share, quantile = 900 / 1300, stats.norm.isf(ALPHA / 2)
    noise = share * (quantile * S + np.hypot(*INVERSE))
    assert pooled.upper == pytest.approx(share * found.value + noise, abs=1e-12)


def test_scores_just_below_an_edge_are_in_the_bin_below():
    groups, metric = np.repeat([0, 1], [40, 90]), partial(madd, bandwidth=0.5)
    found = [
        interval(metric, CountTable.from_rows(None, scores, sensitive_features=groups))
        for below in (0.25, np.nextafter(0.5, 0))
        for scores in [np.append(np.full(40, below), np.full(90, 0.5))]
    ]
    assert found[0] == found[1]


def test_many_bins_have_no_noise_left():
    n_bins = 20
    rows = spread_scores([400, 900], [0.9, 1])
    metric = partial(madd, bandwidth=1 / n_bins)
    found = certify(metric, None, **rows, at_most=0.5, confidence_level=1 - ALPHA)
    counts, sizes = shares_of(rows, n_bins), SIZES[:, None]
    shares = counts / sizes
    smooth = (counts + 0.5) / (sizes + 0.5 * n_bins)
    deviations, most = (
        np.sqrt((p * (1 - p) / sizes).sum(axis=0)) for p in (shares, smooth)
    )
    total, quantile = deviations.sum(), stats.norm.isf(ALPHA / 2)

    def excess(gap):
        ratio = gap / total
        mean = 2 * stats.norm.pdf(ratio) + ratio * (1 - 2 * stats.norm.sf(ratio))
        noise = quantile * np.sqrt((most**2).sum() * (1 + ratio**2 - mean**2))
        return total * mean - noise - found.value

    high = optimize.brentq(excess, 0, 2)
    assert high < 2 * at_one_score(found.value / 2, ALPHA / 2)
    assert found.smallest_certified == pytest.approx(high, abs=1e-4)


def tail_mean_of(values, weights, alpha):
    """Rockafellar and Uryasev."""
    excess = np.maximum(values - values[:, None], 0) @ weights
    return (values + excess / (1 - alpha)).min()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("n_groups", [4, 40])
def test_tails_of_many_groups(alpha, n_groups):
    sizes, rates = np.array([300.0, 400, 500, 900]), np.array([0.6, 0.1, 0.4, 0.3])
    if n_groups == 40:
        sizes, rates = np.linspace(210, 405, 40), np.linspace(0.1, 0.9, 40)
    rates = np.rint(sizes * rates) / np.rint(sizes)
    sizes = np.rint(sizes)
    weights = np.full(n_groups, 1 / n_groups)
    metric, statistic = (
        partial(cvar_fairness, alpha=alpha),
        outcomes(sizes, sizes * rates),
    )
    found = interval(metric, statistic)
    smooth = (sizes * rates + 1) / (sizes + 2)
    variances = smooth * (1 - smooth) / sizes
    most = weights / (1 - alpha)
    chords = ((most + weights) ** 2 - weights**2) * variances / most
    variance = weights**2 @ variances + tail_mean_of(chords, weights, alpha)
    noise = np.sqrt(variance) * stats.norm.isf(ALPHA)
    value = found.value
    assert found.upper == pytest.approx(min(value + noise, 1), abs=1e-12)

    def furthest(level):
        return np.maximum(*exact(sizes, rates, level)) ** 2

    def contrasts_of(squares):
        return np.sqrt((1 - 2 * weights) * squares + (weights**2 * squares).sum())

    each = contrasts_of(furthest(ALPHA / 2 / n_groups))
    each = tail_mean_of(each, weights, alpha)
    variances = furthest(ALPHA) / stats.norm.isf(ALPHA) ** 2
    contrasts = contrasts_of(variances)
    chords = ((most + weights) ** 2 - weights**2) * variances / most
    variance = weights**2 @ variances + tail_mean_of(chords, weights, alpha)
    noise = np.sqrt(variance) * stats.norm.isf(ALPHA)

    def mean(t):
        ratio = t / contrasts
        excess = contrasts * stats.norm.pdf(ratio) - t * stats.norm.sf(ratio)
        return t + 2 * weights @ excess / (1 - alpha)

    together = optimize.minimize_scalar(mean, bounds=(0, 0.2), method="bounded").fun
    # Of few groups each gap is bounded, of many the mean of all.
    assert (each < together + noise) == (n_groups == 4)
    low = value - min(each, together + noise)
    # The minimum over t is found to about six digits of t.
    tolerance = 1e-12 if n_groups == 4 else 1e-8
    assert found.lower == pytest.approx(max(low, 0), abs=tolerance)
    found = interval(metric, statistic, method="finite_sample")
    scales = np.sqrt((1 - 2 * weights) / sizes + (weights**2 / sizes).sum())
    radii = np.array([hoeffding(ALPHA / 2 / n_groups, scale) for scale in scales])
    noise = tail_mean_of(radii, weights, alpha)
    expected = max(value - noise, 0), min(value + noise, 1)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("multistratum", ["max", "weighted"])
def test_strata_share_the_level(multistratum):
    """Rates of two groups in two strata, of 400 and 900 rows each."""
    y_pred = np.concatenate(
        [np.arange(n) < k for n, k in ((400, 320), (900, 270), (400, 200), (900, 270))]
    ).astype(int)
    groups = np.tile(np.repeat([0, 1], [400, 900]), 2)
    found = interval(
        partial(demographic_parity_difference, multistratum=multistratum),
        y_pred,
        sensitive_features=groups,
        control_features=np.repeat([0, 1], 1300),
        method="finite_sample",
    )
    if multistratum == "max":
        high, low = 0.5 + hoeffding(ALPHA), 0.5 - hoeffding(ALPHA / 2 / 2)
    else:
        high, low = 0.35 + hoeffding(ALPHA / 2), 0.35 - hoeffding(ALPHA / 2 / 2)
    assert (found.lower, found.upper) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(("metric", "largest"), [(mcdp, (0.5, 1)), (abcc, (0.1, 0.9))])
def test_bins_widen_intervals_by_their_bounds(metric, largest):
    rows = spread_scores([400, 900], largest)
    histogram = CountTable.from_rows(
        None, rows["y_score"], sensitive_features=rows["sensitive_features"], n_bins=8
    )
    bounds, found = metric_bounds(metric, histogram), interval(metric, histogram)
    at_edges = interval(metric, histogram.round_to_edges())
    below, above = at_edges.value - bounds.lower, bounds.upper - at_edges.value
    assert bounds.lower <= found.value <= bounds.upper
    assert max(below, above) > 0.05
    assert 0 < found.lower == pytest.approx(at_edges.lower - max(below, 0), abs=1e-12)
    high = min(at_edges.upper + max(above, 0), 1)
    assert found.upper == pytest.approx(high, abs=1e-12)
