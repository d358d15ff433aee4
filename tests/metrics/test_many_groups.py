"""Of up to 64 groups all pairs are compared; of more each with everyone, or none."""

import ast
import time
import tracemalloc
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    abroca,
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    group_metrics,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    mcdp,
    mcdp_curve,
    mean_error_difference,
    metric_bounds,
    permutation_test,
    predictive_value_difference,
    true_positive_rate_difference,
)
from skfair.statistics import CountTable


def draw(n_groups, n_rows, seed=0, decimals=16):
    """True labels, scores and groups, some of which have few rows."""
    rng = np.random.default_rng(seed)
    sizes = rng.dirichlet(np.full(n_groups, 1.0))
    codes = np.append(np.arange(n_groups), rng.choice(n_groups, n_rows, p=sizes))
    scores = rng.beta(2 + codes % 3, 2).round(decimals)
    y_true = (rng.random(len(codes)) < scores).astype(int)
    return y_true, scores, np.array([f"g{code}" for code in codes])


def cdfs_of(scores, groups):
    """CDF of each group at all distinct scores, and that of everyone last."""
    distinct = np.unique(scores)
    parts = [np.sort(scores[groups == group]) for group in np.unique(groups)]
    return distinct, np.array(
        [
            np.searchsorted(part, distinct, side="right") / len(part)
            for part in [*parts, np.sort(scores)]
        ]
    )


def gaps_of_curves(curves, multigroup):
    """Absolute differences of all pairs of curves, or from the last, everyone's."""
    if multigroup == "pooled":
        return np.abs(curves[:-1] - curves[-1])
    pairs = combinations(range(len(curves) - 1), 2)
    return np.array([np.abs(curves[i] - curves[j]) for i, j in pairs])


def sustained(scores, gaps, epsilon):
    """Largest of the least gaps in windows that start at a score, or end before one."""
    starts = np.concatenate([scores, scores - 2 * epsilon, [0, 1 - 2 * epsilon]])
    largest = 0.0
    for start in starts[(starts >= 0) & (starts <= 1 - 2 * epsilon)]:
        for low, high in ((start, start + 2 * epsilon), (0.0, epsilon)):
            first = np.searchsorted(scores, low, side="right") - 1
            stop = np.searchsorted(scores, high, side="right")
            if first >= 0:
                inside = gaps[:, first:stop].min(axis=1)
                largest = max(largest, float(inside.max()))
    return largest


@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
@pytest.mark.parametrize(
    ("n_groups", "decimals"),
    [
        (2, 16),
        (5, 2),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [(2, 2), (5, 16), (13, 2), (13, 16), (64, 2), (64, 16)]
        ),
    ],
)
def test_values_are_the_definition_for_all_pairs(n_groups, decimals, multigroup):
    _, scores, groups = draw(n_groups, 400, n_groups, decimals)
    options = {"sensitive_features": groups, "multigroup": multigroup}
    distinct, cdfs = cdfs_of(scores, groups)
    gaps = gaps_of_curves(cdfs, multigroup)
    found = mcdp(None, scores, **options)
    assert found == pytest.approx(gaps.max(), abs=1e-12)
    found = mcdp(None, scores, epsilon=0.0513, **options)
    expected = sustained(distinct, gaps, 0.0513)
    assert found == pytest.approx(expected, abs=1e-12)
    expected = (gaps[:, :-1] @ np.diff(distinct)).max()
    assert abcc(None, scores, **options) == pytest.approx(expected, abs=1e-12)
    for n_bins in 7, 100_000:
        # Edges as floats have them, of which some scores are equal to one.
        bins = np.searchsorted(np.arange(1, n_bins) / n_bins, scores, side="right")
        _, shares = cdfs_of(bins, groups)
        shares = np.diff(shares, prepend=0)
        expected = gaps_of_curves(shares, multigroup).sum(axis=1).max()
        found = madd(None, scores, bandwidth=1 / n_bins, **options)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_groups", [70, pytest.param(1_000, marks=pytest.mark.slow)])
def test_values_that_need_no_pairs(n_groups):
    """The largest minus the smallest rate, mean or CDF."""
    y_true, scores, groups = draw(n_groups, 20 * n_groups)
    y_true = np.append(y_true, np.tile([0, 1], n_groups))
    scores = np.append(scores, np.full(2 * n_groups, 0.75))
    groups = np.append(groups, np.repeat(np.unique(groups), 2))
    decided = (scores > 0.5).astype(int)
    table = pd.DataFrame({"y": y_true, "d": decided, "s": scores, "g": groups})

    def spread(values, rows=slice(None)):
        means = values[rows].groupby(table["g"][rows]).mean()
        return pytest.approx(means.max() - means.min(), abs=1e-12)

    rows = {"sensitive_features": groups}
    parity = demographic_parity_difference(None, decided, **rows)
    assert parity == spread(table["d"])
    rates = [
        true_positive_rate_difference(y_true, decided, **rows),
        false_positive_rate_difference(y_true, decided, **rows),
    ]
    expected = [spread(table["d"], table["y"] == label) for label in (1, 0)]
    assert rates == expected
    assert equalized_odds_difference(y_true, decided, **rows) == max(rates)
    found = predictive_value_difference(y_true, decided, **rows)
    assert found == spread(table["y"], table["d"] == 1)
    found = mean_error_difference(y_true, scores, **rows)
    assert found == spread(table["s"] - table["y"])
    _, cdfs = cdfs_of(scores, groups)
    expected = np.ptp(cdfs[:-1], axis=0).max()
    assert mcdp(None, scores, **rows) == pytest.approx(expected, abs=1e-12)
    expected = np.abs(cdfs[:-1] - cdfs[-1]).max()
    found = mcdp(None, scores, multigroup="pooled", **rows)
    assert found == pytest.approx(expected, abs=1e-12)


def bound_histogram(y_true, scores, *, sensitive_features, **options):
    histogram = CountTable.from_rows(
        None, scores, sensitive_features=sensitive_features, n_bins=16
    )
    return metric_bounds(mcdp, histogram, **options)


def bound_noise(metric, y_true, scores, multigroup="pairwise", **rows):
    return confidence_interval(
        partial(metric, multigroup=multigroup), *rows_of(metric, y_true, scores), **rows
    )


def rows_of(metric, y_true, scores):
    """Labels and scores, or decisions where a metric needs these."""
    errors = metric in (equalized_odds_difference, true_positive_rate_difference)
    return y_true, (scores > 0.5).astype(int) if errors else scores


REFUSED = {
    "window": partial(mcdp, epsilon=0.05),
    "approximate window": partial(mcdp, epsilon=0.05, method="approximate"),
    "abcc": abcc,
    "madd": madd,
    "madd of bins": partial(madd, bandwidth=0.1),
    "abroca": abroca,
    "mcdp_curve": mcdp_curve,
    "madd_curve": madd_curve,
    "bandwidth": madd_optimal_bandwidth,
    "histogram": bound_histogram,
    "interval": partial(bound_noise, mcdp),
    "interval of rates": partial(bound_noise, equalized_odds_difference),
}


#: They take long to evaluate each group against everyone.
LONG = "mcdp_curve", "madd", "madd_curve", "bandwidth"


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in REFUSED],
)
def test_pairs_of_more_than_64_groups_are_refused(name):
    measure = REFUSED[name]
    y_true, scores, _ = draw(2, 640)
    scores, y_true = scores[:640], y_true[:640]
    groups = np.array([f"g{i}" for i in range(65)])
    rows = {"sensitive_features": np.resize(groups, 640)}
    said = "multigroup must be 'pooled' for more than 64 groups, got 'pairwise' and 65"
    with pytest.raises(ValueError, match=said):
        measure(y_true, scores, **rows)
    measure(y_true, scores, multigroup="pooled", **rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_pairs_of_64_groups_are_compared(name):
    y_true, scores, _ = draw(2, 640)
    groups = np.resize([f"g{i}" for i in range(64)], 642)
    REFUSED[name](y_true, scores, sensitive_features=groups)


@pytest.mark.parametrize(
    "metric",
    [pytest.param(mcdp, marks=pytest.mark.slow), demographic_parity_difference],
)
@pytest.mark.usefixtures("rows_are_permuted")
def test_each_of_many_groups_is_tested_beside_everyone(metric):
    """The value, and the values of permutations, are those of pairs all the same."""
    scores = np.random.default_rng(0).random(1_050)
    groups = np.array([f"g{i % 70}" for i in range(1_050)])
    values = scores if metric is mcdp else (scores > 0.5).astype(int)
    given = {"sensitive_features": groups, "n_permutations": 9, "random_state": 0}
    found = permutation_test(metric, None, values, **given)
    assert found.value == metric(None, values, sensitive_features=groups)
    assert found.ordered_by == "pairs"
    assert found.pairs["other"].isna().all()
    assert sorted(found.pairs["group"]) == sorted(set(groups))
    pooled = partial(metric, multigroup="pooled")
    of_everyone = permutation_test(pooled, None, values, **given)
    assert found.pvalue == of_everyone.pvalue
    pd.testing.assert_frame_equal(found.pairs, of_everyone.pairs)

    def plain(y_true, y_pred, *, sensitive_features):
        return metric(y_true, y_pred, sensitive_features=sensitive_features)

    again = permutation_test(plain, None, values, **given)
    assert found.null_distribution == pytest.approx(again.null_distribution)


def test_memory_of_two_thousand_groups():
    """A list of their two million pairs takes 200 MB."""
    y_score = np.random.default_rng(0).random(20_000)
    groups = np.repeat(np.arange(2_000), 10)
    tracemalloc.start()
    try:
        assert mcdp(None, y_score, sensitive_features=groups) > 0
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def numbers(n_groups, n_rows, seed=0):
    """Scores, and a column of numbers of which each is a group."""
    generator = np.random.default_rng(seed)
    values = np.concatenate(
        [np.arange(n_groups), generator.integers(0, n_groups, n_rows - n_groups)]
    )
    return generator.random(n_rows), values


@pytest.mark.parametrize("metric", [mcdp, abcc, demographic_parity_difference])
def test_columns_of_numbers_as_groups_are_warned_of(metric):
    y_score, age = numbers(60, 300)
    with pytest.warns(UserWarning, match="60 groups, each a number") as seen:
        value = metric(None, y_score, sensitive_features=age)
    assert value > 0
    (text,) = (str(one.message) for one in seen if "bins=" in str(one.message))
    edges = ast.literal_eval(text[text.index("bins=") + 5 : text.index(") makes")])
    assert metric(None, y_score, sensitive_features=encode_groups(age, bins=edges)) > 0


def test_rates_of_columns_of_numbers_are_warned_of():
    y_score, age = numbers(60, 300)
    with pytest.warns(UndefinedMetricWarning, match="60 groups, each a number"):
        group_metrics("selection_rate", None, y_score > 0.5, sensitive_features=age)


def test_each_column_of_an_intersection_is_judged_by_itself():
    y_score, age = numbers(60, 300)
    both = pd.DataFrame({"sex": age % 2, "age": age})
    said = "60 groups in column 2, each a number, are compared.*bins="
    with pytest.warns(UserWarning, match=said) as seen:
        mcdp(None, y_score, sensitive_features=both)
    assert len(seen) == 1
    # All columns of X in place of those of groups.
    X = np.random.default_rng(0).normal(size=(2_000, 3))
    with pytest.raises(ValueError, match="2,000 groups in column 1, each a number"):
        mcdp(None, np.resize(y_score, 2_000), sensitive_features=X)
    few = pd.DataFrame({"sex": age % 2, "ten": age // 6, "text": age.astype(str)})
    mcdp(None, y_score, sensitive_features=few)


def test_other_small_groups_are_not_warned_of():
    y_score, age = numbers(60, 300)
    for groups in (age.astype(str), age % 25, age < 1, np.sort(age) // 20):
        mcdp(None, y_score, sensitive_features=groups)
    mcdp(None, np.tile(y_score, 40), sensitive_features=np.tile(age, 40))


def test_as_many_numbers_as_rows_are_refused_at_once():
    generator = np.random.default_rng(0)
    y_score, number = generator.random((2, 5_188))
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"5,188 groups, .*bins="):
        mcdp(None, y_score, sensitive_features=number)
    assert time.perf_counter() - start < 10


def test_areas_of_many_groups_of_real_numbers_are_not_bounded_by_1():
    rng = np.random.default_rng(0)
    groups = np.repeat([f"g{i}" for i in range(60)], 6)
    numbers = np.repeat(rng.normal(0, 5, 60), 6) + rng.normal(size=len(groups))
    parts = [numbers[groups == f"g{i}"] for i in range(60)]
    largest = max(
        wasserstein_distance(one, other) for one, other in combinations(parts, 2)
    )
    value = abcc(None, numbers, sensitive_features=groups, scale="real")
    assert value == pytest.approx(largest)
