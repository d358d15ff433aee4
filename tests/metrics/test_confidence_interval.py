"""Confidence intervals and certificates of disparities."""

import math
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import Groups
from skfair.metrics import (
    abcc,
    certify,
    confidence_interval,
    cvar_fairness,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)
from skfair.metrics._gap_ends import flat_gap_tail
from skfair.statistics import CountTable

METRICS = {
    "mcdp": mcdp,
    "mcdp_epsilon": partial(mcdp, epsilon=0.05),
    "abcc": abcc,
    "madd": madd,
    "madd_bins": partial(madd, bandwidth=0.1),
    "parity": demographic_parity_difference,
    "odds": equalized_odds_difference,
    "max_gap": max_gap,
    "cvar": partial(cvar_fairness, alpha=0.5),
}
FINITE = sorted(set(METRICS) - {"madd"})


def draw(n_groups=3, n_samples=600, seed=0):
    """Labels, scores and groups; the first group has higher scores."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n_samples)
    scores = rng.beta(2 + (groups == 0), 5)
    return (rng.random(n_samples) < scores).astype(int), scores, groups


def response(name, scores):
    return (scores > 0.3).astype(int) if name in ("odds", "max_gap", "cvar") else scores


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("n_groups", [pytest.param(2, marks=pytest.mark.slow), 4])
@pytest.mark.promise("The value lies in its confidence interval")
def test_the_value_lies_in_its_interval(name, n_groups):
    y_true, scores, groups = draw(n_groups)
    y_score, metric = response(name, scores), METRICS[name]
    value = metric(y_true, y_score, sensitive_features=groups)
    narrow, wide = (
        confidence_interval(
            metric, y_true, y_score, sensitive_features=groups, confidence_level=level
        )
        for level in (0.5, 0.99)
    )
    assert narrow.value == wide.value == pytest.approx(value, abs=1e-15)
    assert 0 <= wide.lower <= narrow.lower <= value <= narrow.upper <= wide.upper
    assert wide.upper <= (2 if name.startswith("madd") else 1)


@pytest.mark.parametrize("name", sorted(set(METRICS) - {"max_gap", "cvar"}))
@pytest.mark.parametrize(
    "strata", [pytest.param(None, marks=pytest.mark.slow), np.arange(600) % 2]
)
def test_an_interval_names_the_pair_of_groups_and_the_place(name, strata):
    y_true, scores, groups = draw(4)
    y_score, metric = response(name, scores), METRICS[name]
    rows = {"sensitive_features": groups, "control_features": strata}
    result = confidence_interval(metric, y_true, y_score, **rows)
    pair = np.isin(groups, result.pair)
    of_pair = {key: None if x is None else x[pair] for key, x in rows.items()}
    value = metric(y_true[pair], y_score[pair], **of_pair)
    assert value == pytest.approx(result.value, abs=1e-12)
    if name == "odds":
        assert result.place in product([0, 1], [0, 1])
    elif name == "mcdp_epsilon":
        assert np.ptp(result.place) == pytest.approx(0.1)
    elif name == "mcdp" and strata is None:
        first, second = (scores[groups == label] for label in result.pair)
        shares = (first <= result.place).mean(), (second <= result.place).mean()
        assert abs(np.subtract(*shares)) == pytest.approx(result.value)
    elif name != "mcdp":
        assert result.place is None


def test_an_interval_of_no_largest_comparison_names_no_pair():
    _, scores, groups = draw()
    rows = {"sensitive_features": groups, "control_features": np.arange(600) % 2}
    for metric in (max_gap, partial(mcdp, multistratum="weighted")):
        y_score = (scores > 0.3) if metric is max_gap else scores
        result = confidence_interval(metric, None, y_score, **rows)
        assert (result.pair, result.place) == (None, None)


@pytest.mark.parametrize("name", FINITE)
def test_bounds_that_say_more_are_wider(name):
    y_true, scores, groups = draw()
    y_score = response(name, scores)
    band, finite, anytime = (
        confidence_interval(
            METRICS[name], y_true, y_score, sensitive_features=groups, method=method
        )
        for method in ("band", "finite_sample", "anytime")
    )
    assert max(anytime.lower, finite.lower) <= band.lower
    # For all looks the gap of MCDP is bounded where it is large, not both CDFs.
    assert name == "mcdp" or anytime.lower <= finite.lower
    assert band.upper < finite.upper < anytime.upper


def test_small_gaps_have_the_noise_of_smirnov():
    groups = np.repeat([0, 1], [200, 300])
    scores = np.random.default_rng(0).random(500)
    scale = np.sqrt(1 / 200 + 1 / 300)
    value = mcdp(None, scores, sensitive_features=groups)
    found = confidence_interval(mcdp, None, scores, sensitive_features=groups)
    # No gap at all would be noise; the noise at one score is a binomial at one half.
    assert 2 * np.exp(-2 * (value / scale) ** 2) > 0.025
    assert found.lower == 0
    expected = value + stats.norm.ppf(0.975) / 2 * scale
    assert found.upper == pytest.approx(expected, rel=0.02)
    rest = confidence_interval(
        partial(mcdp, epsilon=0.01), None, scores, sensitive_features=groups
    )
    kolmogorov = np.sqrt(np.log(1 / 0.025) / 2) * scale
    assert rest.upper == pytest.approx(rest.value + kolmogorov, rel=0.03)


def test_clear_gaps_are_between_their_ends():
    groups = np.repeat([0, 1], 1000)
    scores = np.concatenate([np.linspace(0, 0.5, 1000), np.linspace(0.6, 1, 1000)])
    found = confidence_interval(mcdp, None, scores, sensitive_features=groups)
    # Of 1,000 rows none is on the other side: at most some 7 of 1,000 are.
    assert 0.992 < found.lower < 0.995
    assert found.upper == 1


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_noise_of_a_flat_gap(gap):
    variances, n_steps = (1 / 300, 1 / 100), 400
    steps = np.random.default_rng(0).standard_normal((2, 4000, n_steps))
    first, second = np.cumsum(steps / np.sqrt(n_steps), axis=2)
    grid = np.arange(1, n_steps + 1) / n_steps
    first, second = (one - one[:, -1:] * grid for one in (first, second))
    start, none = int(gap * n_steps), np.zeros((4000, 1))
    first, second = np.hstack([none, first]), np.hstack([none, second])
    noise = first[:, start:] / np.sqrt(300) - second[:, : n_steps + 1 - start] / 10
    largest = noise.max(axis=1)
    for excess in (0.02, 0.06, 0.1):
        simulated = (largest > excess).mean()
        # A grid misses some of the supremum.
        assert (
            simulated - 0.02 <= flat_gap_tail(excess, gap, variances) < simulated + 0.07
        )
    assert flat_gap_tail(0, gap, variances) == 1
    assert flat_gap_tail(1, gap, variances) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(3, 20), (5, 5), (12, 60)])
@pytest.mark.parametrize(
    "metric",
    [
        mcdp,
        abcc,
        partial(madd, bandwidth=0.1),
        demographic_parity_difference,
        partial(demographic_parity_difference, multigroup="pooled"),
        max_gap,
        partial(cvar_fairness, alpha=0),
    ],
)
def test_upper_ends_of_two_rates_are_too_low_in_five_percent(metric, sizes):
    """Exact probabilities: with scores 0 and 1 all metrics are multiples of one."""
    observed, rates = {}, np.linspace(0, 1, 11)
    sizes = np.array(sizes)
    largest = metric(None, of_hits(metric, sizes, sizes * [0, 1]))
    for hits in product(*(range(size + 1) for size in sizes)):
        statistic = of_hits(metric, sizes, hits)
        found = confidence_interval(metric, None, statistic, confidence_level=0.9)
        observed[hits] = found.upper / largest
    least = np.array(list(observed.values())).reshape(*(sizes + 1))
    chances = [
        stats.binom.pmf(np.arange(size + 1), size, rates[:, None]) for size in sizes
    ]
    for i, j in zip(*(rates[:, None] != rates).nonzero(), strict=True):
        wrong = least < abs(rates[i] - rates[j]) - 1e-9
        assert chances[0][i] @ wrong @ chances[1][j] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "sizes"),
    [
        (demographic_parity_difference, (50, 20_000)),
        (partial(madd, bandwidth=0.5), (50, 20_000)),
        *(
            (metric, sizes)
            for metric, sizes in (
                (mcdp, (50, 20_000)),
                (mcdp, (100, 100)),
                (abcc, (50, 20_000)),
                (
                    partial(demographic_parity_difference, multigroup="pooled"),
                    (100, 100),
                ),
                (max_gap, (50, 20_000)),
                (partial(cvar_fairness, alpha=0.9), (100, 100)),
            )
        ),
    ],
)
def test_lower_ends_of_equal_rates_are_above_zero_at_the_level(metric, sizes):
    """Exact probabilities over the counts of the first group."""
    for rate in (0.05, 0.3):
        chances = {0.025: 0.0, 0.005: 0.0}
        everyone = stats.binom(sizes[1], rate)
        hits = np.arange(sizes[0] + 1)
        likely = np.flatnonzero(stats.binom.pmf(hits, sizes[0], rate) > 1e-5)
        for k, other in product(likely, np.arange(1, 10, 2) / 10):
            of_both = hits[k], int(everyone.ppf(other))
            rows = metric, None, of_hits(metric, sizes, of_both)
            for tail in chances:
                found = confidence_interval(*rows, confidence_level=1 - 2 * tail)
                chance = stats.binom.pmf(hits[k], sizes[0], rate) / 5
                chances[tail] += chance * (found.lower > 0)
        assert all(chance <= tail for tail, chance in chances.items()), chances


def of_hits(metric, sizes, hits):
    """Statistic of two groups with scores 1 and 0."""
    hits = np.asarray(hits)
    values = np.repeat([0, 0, 1, 1], np.concatenate([sizes - hits, hits]))
    groups = np.repeat([0, 1, 0, 1], np.concatenate([sizes - hits, hits]))
    if getattr(metric, "func", metric) in (mcdp, abcc, madd):
        return CountTable.from_rows(None, values, sensitive_features=groups)
    return CountTable.from_rows(None, values, sensitive_features=groups)


@pytest.mark.parametrize(
    "multigroup", ["pairwise", pytest.param("pooled", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("metric", [mcdp, abcc, madd, demographic_parity_difference])
def test_many_groups_are_the_extremes_over_comparisons(metric, multigroup):
    _, scores, groups = draw(4)
    metric = partial(metric, multigroup=multigroup)
    if metric.func is madd:
        metric = partial(metric, bandwidth=0.1)
    # Rows without a group do not count.
    more = Groups(np.append(groups, [-1] * 3), (0, 1, 2, 3))
    many = confidence_interval(
        metric, None, np.append(scores, [1] * 3), sensitive_features=more
    )
    if multigroup == "pairwise":
        parts = [np.isin(groups, pair) for pair in combinations(range(4), 2)]
        compared = [(scores[part], groups[part], 1.0) for part in parts]
    else:  # with everyone: with the others, times their share
        compared = [(scores, groups == g, np.mean(groups != g)) for g in range(4)]
    lows, highs = [], []
    for part, codes, share in compared:
        pair = partial(metric, multigroup="pairwise")
        low, high = (
            confidence_interval(
                pair, None, part, sensitive_features=codes, confidence_level=level
            )
            for level in (1 - 0.05 / len(compared), 0.95)
        )
        lows.append(low.lower * share)
        highs.append(high.upper * share)
    # The others vary less as strata than as one group, and Welch's t is another.
    tolerance = 1e-9 if multigroup == "pairwise" else 0.01
    assert many.lower == pytest.approx(max(lows), abs=tolerance)
    assert many.upper == pytest.approx(max(highs), abs=tolerance)


@pytest.mark.parametrize("name", FINITE)  # weights change the bandwidths of the other
def test_weights_count_by_effective_numbers_of_rows(name):
    y_true, scores, groups = draw()
    y_score, rows = response(name, scores), {"sensitive_features": groups}
    plain = confidence_interval(METRICS[name], y_true, y_score, **rows)
    heavy, uneven = (
        confidence_interval(
            METRICS[name], y_true, y_score, sample_weight=weights, **rows
        )
        for weights in (np.full(600, 2.5), np.tile([1, 9], 300))
    )
    assert (heavy.lower, heavy.upper) == pytest.approx((plain.lower, plain.upper))
    assert uneven.upper - uneven.value > 1.1 * (plain.upper - plain.value)


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize(
    "factors",
    [
        pytest.param([2.0**-480] * 2, marks=pytest.mark.slow),
        pytest.param([2.0**480, 1], marks=pytest.mark.slow),
        [2.0**-300, 2**300],
    ],
)
def test_the_unit_of_weights_does_not_matter(name, factors):
    """Groups are compared with one another, so that each may have its own unit."""
    y_true, scores, groups = draw(n_groups=2)
    y_score = response(name, scores)
    weights = np.random.default_rng(1).exponential(size=600)
    found, expected = (
        confidence_interval(
            METRICS[name],
            y_true,
            y_score,
            sensitive_features=groups,
            sample_weight=own,
        )
        for own in (weights * np.asarray(factors)[groups], weights)
    )
    for end in ("value", "lower", "upper"):
        assert getattr(found, end) == pytest.approx(getattr(expected, end), abs=1e-9)


def test_tables_of_weighted_rows_have_their_intervals():
    _, scores, groups = draw()
    weighted = {"sensitive_features": groups, "sample_weight": np.full(600, 2)}
    statistic = CountTable.from_rows(None, scores, **weighted)
    found = confidence_interval(mcdp, None, statistic)
    expected = confidence_interval(mcdp, None, scores, **weighted)
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper))
    # Weights that only add up to the numbers of rows are weights, too.
    even = {"sensitive_features": groups, "sample_weight": np.tile([0.5, 1.5], 300)}
    statistic = CountTable.from_rows(None, scores, **even)
    found = confidence_interval(mcdp, None, statistic)
    expected = confidence_interval(mcdp, None, scores, **even)
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper))
    for given, rows in ((scores, weighted), (statistic, {})):
        with pytest.raises(ValueError, match="sample_weight must be None"):
            confidence_interval(mcdp, None, given, method="finite_sample", **rows)


@pytest.mark.parametrize("name", METRICS)
def test_one_group_is_undefined(name):
    y_true, scores, _ = draw()
    groups = np.zeros(600, int)
    arguments = METRICS[name], y_true, response(name, scores)
    with pytest.warns(UndefinedMetricWarning):
        found = confidence_interval(*arguments, sensitive_features=groups)
    assert np.isnan([found.value, found.lower, found.upper]).all()
    with pytest.warns(UndefinedMetricWarning):
        result = certify(*arguments, sensitive_features=groups, at_most=0.5)
    assert math.isnan(result.pvalue)
    assert result.certified is False


@pytest.mark.parametrize("name", METRICS)
def test_one_row_a_group(name):
    found = confidence_interval(
        METRICS["madd_bins" if name == "madd" else name],
        [1, 0, 1, 0],
        [1, 0, 1, 1],
        sensitive_features=["a", "a", "b", "b"] if name == "odds" else list("abcd"),
    )
    assert found.lower == 0
    assert found.upper == (2 if name.startswith("madd") else 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": dcp}, "metric must be one of abcc"),
        ({"metric": partial(mcdp, None)}, "options set by keyword"),
        ({"metric": partial(mcdp, epsilon=0.1, method="approximate")}, "'exact'"),
        ({"metric": madd, "method": "finite_sample"}, "chosen by the data"),
        (
            {"method": "bootstrap"},
            "method must be 'band', 'finite_sample' or 'anytime'",
        ),
        ({"confidence_level": 1}, "confidence_level must be a number in"),
        (
            {"metric": partial(cvar_fairness, alpha=1), "y_score": [0, 1] * 300},
            r"alpha must be a number in \[0, 1\)",
        ),
    ],
)
def test_errors(arguments, message):
    _, scores, groups = draw()
    with pytest.raises(ValueError, match=message):
        confidence_interval(
            **{"metric": mcdp, "y_true": None, "y_score": scores} | arguments,
            sensitive_features=groups,
        )


@pytest.mark.parametrize("at_most", [0, 1, -0.1, math.nan, "0.1"])
def test_limits_are_checked(at_most):
    _, scores, groups = draw()
    with pytest.raises(ValueError, match="at_most must be a number in"):
        certify(mcdp, None, scores, sensitive_features=groups, at_most=at_most)


def test_clear_certificates():
    scores, groups = np.tile(np.linspace(0, 1, 20_000), 2), np.repeat([0, 1], 20_000)
    found = certify(mcdp, None, scores, sensitive_features=groups, at_most=0.9)
    assert found.pvalue == 1e-100
    few = certify(mcdp, None, scores[:4], sensitive_features=[0, 1, 0, 1], at_most=0.01)
    assert few.pvalue > 0.8
    assert found.to_frame()["certified"].item()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "sizes"),
    [(0.0, (20, 200)), (0.1, (1000, 1000)), (1.5, (20, 200)), (0.1, (20, 200, 200))],
)
@pytest.mark.promise("A 95 % interval covers the disparity in 95 % of samples")
def test_coverage(shift, sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    first, second = stats.beta(2 + shift, 5), stats.beta(2, 5)
    grid = np.linspace(0, 1, 10_001)
    gap = np.abs(first.cdf(grid) - second.cdf(grid))
    bins = np.abs(np.diff(gap_of_cdfs(first, second))).sum()
    truths = {
        mcdp: gap.max(),
        abcc: np.trapezoid(gap, grid),
        demographic_parity_difference: first.mean() - second.mean(),
        partial(madd, bandwidth=0.1): bins,
    }
    covered = dict.fromkeys(truths, 0)
    certified = dict.fromkeys(truths, 0)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.beta(np.where(groups == 0, 2 + shift, 2), 5)
        for metric, truth in truths.items():
            rows = {"sensitive_features": groups}
            found = confidence_interval(metric, None, scores, **rows)
            covered[metric] += found.lower - 1e-12 <= truth <= found.upper
            limit = max(truth, 1e-6)
            result = certify(metric, None, scores, at_most=limit, **rows)
            certified[metric] += result.certified
    # 190 and 10, and 1.6 standard errors.
    assert min(covered.values()) >= 185
    assert max(certified.values()) <= 15


def gap_of_cdfs(first, second):
    edges = np.linspace(0, 1, 11)
    return first.cdf(edges) - second.cdf(edges)


# --- within strata


def draw_strata(rng, n_rows=1200, shift=0.1):
    """Labels, scores, groups and strata; only the last stratum has a disparity."""
    strata, groups = rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    y_score = rng.random(n_rows) * 0.5 + 0.2 * (strata == 1)
    y_score += shift * groups * (strata == 2)
    return rng.integers(0, 2, n_rows), y_score, groups, strata


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize(
    "multistratum", ["max", pytest.param("weighted", marks=pytest.mark.slow)]
)
def test_ends_from_the_intervals_of_single_strata(name, multistratum):
    y_true, y_score, groups, strata = draw_strata(np.random.default_rng(0))
    y_score = response(name, y_score)
    metric = partial(METRICS[name], multistratum=multistratum)
    rows = {"sensitive_features": groups, "control_features": strata}
    found = confidence_interval(metric, y_true, y_score, **rows)
    assert found.value == pytest.approx(metric(y_true, y_score, **rows), abs=1e-14)
    parts = []
    for stratum in range(3):
        own = strata == stratum
        level = 0.95
        if multistratum == "weighted":  # each stratum has a third of what may fail
            level = 1 - 0.05 / 3
        parts.append(
            confidence_interval(
                METRICS[name],
                y_true[own],
                y_score[own],
                sensitive_features=groups[own],
                confidence_level=level,
            )
        )
    if multistratum == "max":
        assert found.upper == pytest.approx(max(part.upper for part in parts), abs=1e-9)
        assert found.lower <= max(part.lower for part in parts)
    else:
        shares = np.bincount(strata) / len(strata)
        assert found.lower == pytest.approx(
            shares @ [part.lower for part in parts], abs=1e-9
        )
        assert found.upper >= shares @ [part.value for part in parts]
    assert found.lower <= found.value <= found.upper


def test_strata_that_cannot_be_compared_are_named():
    _, y_score, groups, strata = draw_strata(np.random.default_rng(3), 300)
    groups[strata == 1] = 0
    rows = {"sensitive_features": groups, "control_features": strata}
    with pytest.warns(UndefinedMetricWarning, match="leaves out .* 1 .only the gr"):
        found = confidence_interval(mcdp, None, y_score, **rows)
    assert 0 <= found.lower < found.upper
    rows["control_features"] = groups
    with pytest.warns(UndefinedMetricWarning, match="no stratum has two groups"):
        found = confidence_interval(mcdp, None, y_score, **rows)
    assert np.isnan([found.value, found.lower, found.upper]).all()
    with pytest.warns(UndefinedMetricWarning, match="no stratum has two groups"):
        result = certify(mcdp, None, y_score, at_most=0.1, **rows)
    assert not result.certified


def test_bad_input():
    _, y_score, groups, strata = draw_strata(np.random.default_rng(4), 90)
    rows = {"sensitive_features": groups, "control_features": strata}
    y_score[7] = np.nan
    with pytest.raises(ValueError, match="nan in row 7"):
        confidence_interval(mcdp, None, y_score, **rows)
    y_score[7] = 0
    for metric in (confidence_interval, partial(certify, at_most=0.1)):
        with pytest.raises(ValueError, match="control_features must be given beside"):
            metric(
                partial(mcdp, control_features=strata),
                None,
                y_score,
                sensitive_features=groups,
            )
    statistic = CountTable.from_rows(None, y_score, sensitive_features=groups)
    with pytest.raises(ValueError, match="control_features must be None where"):
        confidence_interval(mcdp, None, statistic, control_features=strata)


@pytest.mark.slow
@pytest.mark.parametrize(("multistratum", "shift"), [("max", 0.1), ("weighted", 0.0)])
@pytest.mark.promise("Intervals within strata cover, too")
def test_coverage_over_strata(multistratum, shift):
    # Uniform scores on a length of .5, shifted in one of the three strata.
    truth = shift / 0.5 if multistratum == "max" else shift / 0.5 / 3
    metric = partial(mcdp, multistratum=multistratum)
    covered, below, n_samples = 0, 0, 300
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        strata, groups = np.repeat([0, 1, 2], 200), np.tile([0, 1], 300)
        y_score = rng.random(600) * 0.5 + shift * groups * (strata == 2)
        found = confidence_interval(
            metric,
            None,
            y_score,
            sensitive_features=groups,
            control_features=strata,
        )
        covered += found.lower <= truth <= found.upper
        below += found.upper < truth
    assert covered >= 0.94 * n_samples
    assert below <= 0.04 * n_samples


def test_the_area_between_equal_cdfs_is_positive_by_noise_alone():
    """The lower end of ABCC lies below the value by the mean area of the noise.

    At a confidence level near 0 that is nearly all of the distance.
    """
    rng = np.random.default_rng(0)
    n, groups = (200, 100), np.repeat([0, 1], [200, 100])
    scores = 0.5 * (rng.random(300) + groups)
    result = confidence_interval(
        abcc, None, scores, sensitive_features=groups, confidence_level=0.02
    )
    every = np.sort(scores)
    cdfs = [(scores[groups == g, None] <= every[:-1]).mean(axis=0) for g in (0, 1)]
    variances = sum(F * (1 - F) / size for F, size in zip(cdfs, n, strict=True))
    area = np.sqrt(2 / np.pi * variances) @ np.diff(every)
    assert area < result.value - result.lower < 1.1 * area
