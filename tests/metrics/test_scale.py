"""Scores that are not probabilities: the metrics of their ranks."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    bootstrap_interval,
    certify,
    confidence_interval,
    madd,
    madd_optimal_bandwidth,
    mcdp,
    mcdp_curve,
    permutation_test,
)
from skfair.monitoring import FairnessMonitor
from skfair.postprocessing import ScoreRepairer
from skfair.statistics import CountTable

METRICS = {
    "mcdp": mcdp,
    "abcc": abcc,
    "mcdp epsilon": partial(mcdp, epsilon=0.07),
    "mcdp pooled": partial(mcdp, epsilon=0.02, multigroup="pooled"),
    "madd": partial(madd, bandwidth=0.15),
}
HUGE, TINY = 2.0**257, 2.0**-256  # just beyond what is packed into one integer


def ranks_of(y_score, weights=None):
    """Mid-ranks in (0, 1): of rows that stand as often as they weigh."""
    weights = np.ones(len(y_score), int) if weights is None else np.asarray(weights)
    repeated = rankdata(np.repeat(y_score, weights))
    first = np.cumsum(weights) - weights
    return (repeated[first] - 0.5) / weights.sum()


@st.composite
def rows(draw):
    """Few distinct scores of any size, groups of at least one row, and weights."""
    n_groups = draw(st.integers(2, 6))
    n_rows = draw(st.integers(n_groups, 30))
    levels = st.one_of(
        st.integers(-3, 3).map(float),
        st.floats(-1e6, 1e6),
        st.sampled_from([0.0, -0.0, 5e-324, TINY, -TINY, HUGE, -HUGE, 1.7e308]),
    )
    pool = draw(st.lists(levels, min_size=1, max_size=12))
    chosen = draw(st.lists(st.sampled_from(pool), min_size=n_rows, max_size=n_rows))
    more = n_rows - n_groups
    groups = draw(st.lists(st.integers(0, n_groups - 1), min_size=more, max_size=more))
    weights = draw(st.lists(st.integers(1, 4), min_size=n_rows, max_size=n_rows))
    return np.array(chosen), np.array([*range(n_groups), *groups]), np.array(weights)


@given(st.sampled_from(sorted(METRICS)), rows())
def test_metric_of_ranks(name, drawn):
    y_score, groups, weights = drawn
    for own in (None, weights):
        given_rows = {"sensitive_features": groups, "sample_weight": own}
        value = METRICS[name](None, y_score, scale="rank", **given_rows)
        expected = METRICS[name](None, ranks_of(y_score, own), **given_rows)
        assert value == expected


@pytest.mark.slow
@given(st.sampled_from(sorted(METRICS)), rows(), st.integers(0, 4))
def test_increasing_maps_of_the_scores_change_nothing(name, drawn, which):
    y_score, groups, _ = drawn
    order = np.unique(y_score, return_inverse=True)[1]
    maps = [
        np.exp(order),
        1 / (1 + np.exp(-order.astype(float))),
        -(0.5**order),
        order * 1e-300,
        np.array([3, 40, 500, 6000])[order % 4] + 1e4 * (order // 4),
    ]
    value = METRICS[name](None, y_score, sensitive_features=groups, scale="rank")
    mapped = METRICS[name](None, maps[which], sensitive_features=groups, scale="rank")
    assert mapped == value


@pytest.mark.slow
@given(rows())
def test_mcdp_without_a_window_is_that_of_the_scores(drawn):
    y_score, groups, weights = drawn
    share = np.unique(y_score, return_inverse=True)[1] / len(y_score)
    for own in (None, weights):
        given_rows = {"sensitive_features": groups, "sample_weight": own}
        value = mcdp(None, y_score, scale="rank", **given_rows)
        assert value == mcdp(None, share, **given_rows)


def test_weights_that_are_no_whole_numbers():
    rng = np.random.default_rng(0)
    y_score, groups = rng.normal(size=300).round(1), rng.integers(0, 3, 300)
    weights = rng.uniform(0.1, 3, 300)
    below = (weights * (y_score < y_score[:, None])).sum(axis=1)
    at = (weights * (y_score == y_score[:, None])).sum(axis=1)
    given_rows = {"sensitive_features": groups, "sample_weight": weights}
    ranks = ((below + at / 2) / weights.sum()).round(12)
    for metric in (mcdp, partial(mcdp, epsilon=0.05), abcc, partial(madd, bandwidth=1)):
        value = metric(None, y_score, scale="rank", **given_rows)
        assert value == pytest.approx(metric(None, ranks, **given_rows), abs=1e-11)


# --- tables in place of rows


def test_table_of_any_scores_needs_ranks():
    table = CountTable.from_rows(None, [-3.5, 2.0], sensitive_features=["a", "b"])
    message = r"must lie in \[0, 1\], got -3.5 .*scale='rank'"
    for metric in (mcdp, mcdp_curve, abcc, madd, madd_optimal_bandwidth):
        with pytest.raises(ValueError, match=message):
            metric(None, table)
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\], got -3.5"):
        ScoreRepairer().fit(table)
    assert mcdp(None, table, scale="rank") == 1


# --- errors


@pytest.mark.parametrize("name", METRICS)
def test_error_of_other_scores_says_how_to_pass_them(name):
    with pytest.raises(ValueError, match=r"got -4.0 in row 1 .* scale='rank'"):
        METRICS[name](None, [0.5, -4.0], sensitive_features=[0, 1])


def test_rows_that_do_not_count_have_no_rank():
    groups = encode_groups(["a", "b", None, None], missing="drop")
    options = {"epsilon": 0.24, "scale": "rank"}
    y_score = [1.0, 2.0, -100.0, 100.0]
    assert mcdp(None, y_score, sensitive_features=groups, **options) == 1
    weights = [1, 1, 0, 0]
    rows_ = {"sensitive_features": list("abab"), "sample_weight": weights}
    assert mcdp(None, y_score, **rows_, **options) == 1
    assert mcdp(None, y_score, sensitive_features=list("abab"), **options) < 1


def test_scores_that_are_text_or_dates_or_too_large():
    options = {"sensitive_features": [0, 1], "scale": "rank"}
    with pytest.raises(ValueError, match="y_score must be finite"):
        mcdp(None, [10**400, 1], **options)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"got {bad} in row 1"):
            mcdp(None, [-3.0, bad], **options)
    with pytest.raises(ValueError, match="y_score must be numbers"):
        mcdp(None, ["0.2", "0.4"], **options)
    with pytest.raises(ValueError, match="y_score must be numbers"):
        mcdp(None, np.array(["2020-01-01", "2021-01-01"], "M8[D]"), **options)


# --- tests and intervals


@pytest.mark.slow
def test_permutations_keep_the_ranks():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 200)
    y_score = rng.normal(size=200) * 50 + 30 * groups
    options = {"sensitive_features": groups, "n_permutations": 99, "random_state": 0}
    metric = partial(mcdp, epsilon=0.05)
    found = permutation_test(partial(metric, scale="rank"), None, y_score, **options)
    expected = permutation_test(metric, None, ranks_of(y_score), **options)
    assert found.pvalue == expected.pvalue == 0.01
    np.testing.assert_array_equal(found.null_distribution, expected.null_distribution)


def test_resamples_are_ranked_anew():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 300)
    y_score = rng.normal(size=300) * 50 + 30 * groups
    metric = partial(abcc, scale="rank")
    options = {"sensitive_features": groups, "n_resamples": 99, "random_state": 0}
    found = bootstrap_interval(metric, None, y_score, **options)
    assert found.lower < found.value < found.upper < 0.5


def two_groups(seed=0, n_rows=400):
    rng = np.random.default_rng(seed)
    groups = np.arange(n_rows) % 2
    return rng.normal(size=n_rows) * 50 + 30 * groups, groups


@pytest.mark.parametrize(
    "metric",
    [mcdp, abcc, partial(madd, bandwidth=0.1), partial(madd, bandwidth=1)],
)
def test_interval_is_that_of_ranks(metric):
    y_score, groups = two_groups()
    rows_ = {"sensitive_features": groups}
    ranked = partial(metric, scale="rank")
    found = confidence_interval(ranked, None, y_score, **rows_)
    expected = confidence_interval(metric, None, ranks_of(y_score), **rows_)
    assert (found.lower, found.upper) == (expected.lower, expected.upper)
    assert found.value == ranked(None, y_score, **rows_)
    found = certify(ranked, None, y_score, at_most=0.9, **rows_)
    expected = certify(metric, None, ranks_of(y_score), at_most=0.9, **rows_)
    assert found.pvalue == expected.pvalue


def test_interval_for_windows_that_the_ranks_choose():
    y_score, groups = two_groups()
    metric = partial(mcdp, epsilon=0.05)
    options = {"sensitive_features": groups}
    found = confidence_interval(partial(metric, scale="rank"), None, y_score, **options)
    narrower = confidence_interval(metric, None, ranks_of(y_score), **options)
    assert found.value == narrower.value
    assert found.lower <= narrower.lower < found.value < narrower.upper <= found.upper


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "spread"), [(0, 1), (0.3, 1), (1, 1), (0, 2)])
def test_intervals_cover_the_value_of_the_population(shift, spread):
    """Whose scale is that of everyone in it, not that of the sample's ranks."""
    metrics = [
        partial(metric, scale="rank")
        for metric in (mcdp, partial(mcdp, epsilon=0.05), abcc)
    ] + [partial(madd, bandwidth=0.1, scale="rank")]
    sizes = 300, 180
    edges = np.linspace(-9, 12, 20_001)
    middles = (edges[1:] + edges[:-1]) / 2
    shares = [norm(0, 1).cdf(edges), norm(shift, spread).cdf(edges)]
    weights = np.concatenate(
        [size * np.diff(share) for size, share in zip(sizes, shares, strict=True)]
    )
    kept = weights > 1e-12
    population = {
        "sensitive_features": np.repeat([0, 1], len(middles))[kept],
        "sample_weight": weights[kept],
    }
    truth = [
        metric(None, np.tile(middles, 2)[kept], **population) for metric in metrics
    ]
    rng, covered = np.random.default_rng(0), np.zeros(len(metrics))
    for _ in range(200):
        y_score = np.concatenate(
            [rng.normal(size=sizes[0]), rng.normal(shift, spread, sizes[1])]
        )
        statistic = CountTable.from_rows(
            None, y_score, sensitive_features=np.repeat([0, 1], sizes)
        )
        found = [confidence_interval(metric, None, statistic) for metric in metrics]
        covered += [
            one.lower <= true + 1e-9 and true - 1e-9 <= one.upper
            for one, true in zip(found, truth, strict=True)
        ]
    assert covered.min() >= 184  # 190 expected; less has a probability of 1 %


def test_monitor_ranks_all_rows_together():
    y_score, groups = two_groups()
    metric = partial(mcdp, epsilon=0.05, scale="rank")
    monitor = FairnessMonitor(metric)
    for part in np.array_split(np.arange(400), 4):
        monitor.update(None, y_score[part], sensitive_features=groups[part])
    monitor = FairnessMonitor.from_dict(monitor.to_dict())
    expected = metric(None, y_score, sensitive_features=groups)
    assert monitor.history_["value"].iloc[-1] == expected
    with pytest.raises(ValueError, match="y_score must be finite, got inf in row 0"):
        monitor.update(None, [np.inf, 1], sensitive_features=[0, 1])
    assert len(monitor.history_) == 4
    plain = FairnessMonitor(mcdp)
    with pytest.raises(ValueError, match=r"y_score must lie in \[0, 1\]"):
        plain.update(None, y_score, sensitive_features=groups)
