from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._rows import Rows
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.statistics import CountTable
from skfair.statistics._distributions import (
    Distributions,
    gap_between,
    pooled_ranks,
)


def distributions_of(scores, sensitive_features, sample_weight=None, n=None):
    groups = encode_groups(sensitive_features)
    scores = np.asarray(scores, dtype=float) + 0.0
    weight = None if sample_weight is None else np.asarray(sample_weight)
    n = None if n is None else np.asarray(n)
    return Distributions.from_rows(Rows(groups, y_pred=scores, weight=weight, n=n))


#: Scores in eighths, groups, and weights in eighths.
row = st.tuples(
    st.integers(0, 8).map(lambda k: k / 8),
    st.sampled_from("ABCDEFG"),
    st.integers(1, 20).map(lambda k: k / 8),
)


@given(st.lists(row, min_size=1, max_size=12), st.booleans())
def test_entries_are_the_weights_of_distinct_pairs(rows, weighted):
    rows = [(score, group, weight if weighted else 1) for score, group, weight in rows]
    scores, groups, weights = (list(column) for column in zip(*rows, strict=True))
    statistic = distributions_of(
        scores,
        sensitive_features=groups,
        sample_weight=weights if weighted else None,
    )
    entries, counts, totals = Counter(), Counter(groups), Counter()
    for score, group, weight in rows:
        entries[score, group] += weight
        totals[group] += weight
    labels = tuple(sorted(set(groups)))
    assert statistic.labels == labels
    assert statistic.counts.tolist() == [counts[label] for label in labels]
    assert statistic.totals.tolist() == [totals[label] for label in labels]
    keys = list(zip(statistic.scores, statistic.codes, strict=True))
    assert keys == sorted(set(keys))
    found = {(score, labels[code]) for score, code in keys}
    assert found == entries.keys()
    expected = [entries[score, labels[code]] for score, code in keys]
    assert statistic.weights.tolist() == expected


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4, 5, 40])
def test_of_group_is_the_distribution_of_one_group(n_groups):
    rng = np.random.default_rng(n_groups)
    y_score, groups = rng.integers(0, 9, 200) / 8, np.arange(200) % n_groups
    statistic = distributions_of(y_score, sensitive_features=groups)
    for group in range(n_groups):
        scores, weights = statistic.select_group(group)
        expected = np.unique(y_score[groups == group], return_counts=True)
        np.testing.assert_array_equal(scores, expected[0])
        np.testing.assert_array_equal(weights, expected[1])


@pytest.mark.parametrize("sample_weight", [None, "random"])
@pytest.mark.parametrize("n_groups", [1, 2, 5])
def test_cdf_of_a_group_and_of_everyone(n_groups, sample_weight):
    rng = np.random.default_rng(n_groups)
    y_score, groups = rng.integers(0, 9, 200) / 8, np.arange(200) % n_groups
    weights = None if sample_weight is None else rng.random(200) + 0.1
    statistic = distributions_of(
        y_score, sensitive_features=groups, sample_weight=weights
    )
    for group in (*range(n_groups), None):
        rows = np.full(200, True) if group is None else groups == group
        scores, shares = statistic.cdf(group)
        expected = [
            np.average(
                y_score[rows] <= score,
                weights=None if weights is None else weights[rows],
            )
            for score in scores
        ]
        np.testing.assert_array_equal(scores, np.unique(y_score[rows]))
        np.testing.assert_allclose(shares, expected, rtol=1e-12)
        assert shares[-1] == 1


@pytest.mark.parametrize("n_groups", [2, 4, 5])
def test_extreme_scores_sort_without_loss(n_groups):
    y_score = np.array(
        [1.0, 0.0, 5e-324, np.nextafter(1, 0), 2.0**-1022, 0.1 + 0.2, 0.3, -0.0]
    )
    groups = np.arange(8) % n_groups
    statistic = distributions_of(y_score, sensitive_features=groups)
    pairs = set(zip(np.abs(y_score).tolist(), groups.tolist(), strict=True))
    expected = sorted(pairs)
    assert list(zip(statistic.scores, statistic.codes, strict=True)) == expected
    assert not np.signbit(statistic.scores).any()


@pytest.mark.parametrize("n_groups", [2, 4, 5])
@pytest.mark.parametrize("least", [2.0**-255, 2.0**-256, 5e-324])
@pytest.mark.parametrize("largest", [2.0**256, 2.0**257, 1.7e308])
def test_scores_of_any_size_are_kept_and_sorted(n_groups, least, largest):
    """With four groups they are sorted as integers between 2^-255 and 2^257."""
    scores = [-largest, -1.0, -least, 0.0, least, 0.5, largest, np.nextafter(1, 2)]
    order = [3, 7, 0, 6, 5, 2, 1, 4]
    codes = np.arange(len(scores)) % n_groups
    statistic = distributions_of(
        np.array(scores)[order], sensitive_features=codes[order]
    )
    expected = np.argsort(scores)
    assert statistic.scores.tolist() == [scores[i] for i in expected]
    assert statistic.codes.tolist() == codes[expected].tolist()


def test_negative_zero_is_zero():
    statistic = distributions_of([-0.0, 0.0, -1.0], sensitive_features=["a", "a", "b"])
    assert statistic.scores.tolist() == [-1, 0]
    assert statistic.weights.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("first", "second", "exact"),
    [
        (2**31, 2**31 - 2, True),
        (2**31, 2**31, False),
        (2**40, 2**40 - 2, False),
        (2, 6, True),
    ],
)
def test_gaps_are_whole_numbers_while_they_fit(first, second, exact):
    """Half of one group scores 0.2, a quarter of the other: products below 2^62."""
    n_rows = [first // 2, first // 2, second // 2, second - second // 2]
    statistic = distributions_of(
        [0.2, 0.8, 0.1, 0.9], sensitive_features=list("aabb"), n=n_rows
    )
    gap = gap_between(statistic, 0, 1)
    assert (gap.signed.dtype.kind == "i") == exact
    assert gap.scale == (first * second if exact else 1)
    assert gap.totals == (first, second)
    below = n_rows[2] / second
    expected = [-below, 0.5 - below, 1 - below, 0]
    np.testing.assert_allclose(gap.signed / gap.scale, expected, atol=1e-15)
    assert gap.scores.tolist() == [0.1, 0.2, 0.8, 0.9]
    table = CountTable.from_rows(
        None, [0.2, 0.8, 0.1, 0.9], sensitive_features=list("aabb"), counts=n_rows
    )
    assert mcdp(None, table) == 0.5


@pytest.mark.parametrize("lower", [0, 1])
def test_rounding_of_weights_takes_no_gap_beyond_one(lower):
    """One group is below the other: some sums of n weights of 1 / n are above 1."""
    above = []
    for n in range(5, 50):
        weights = np.full(n, 0.1)
        above.append(np.cumsum(weights * (1 / weights.sum()))[-1] > 1)
        statistic = distributions_of(
            np.arange(n + 1) / n,
            sensitive_features=[lower] * n + [1 - lower],
            sample_weight=np.append(weights, 0.3),
        )
        gap = gap_between(statistic, 0, 1)
        assert np.abs(gap.signed).max() == pytest.approx(1, abs=1e-12)
        assert np.abs(gap.signed).max() <= 1
    assert any(above)


def test_ranks_of_huge_counts():
    """Shares below a score plus half of those at it, of 2^52 rows."""
    n_rows = [2**50, 2**50, 2**51 - 1]
    statistic = distributions_of(
        [0.2, 0.2, 0.8], sensitive_features=list("aba"), n=n_rows
    )
    total = sum(n_rows)
    ranks = pooled_ranks(statistic).scores.tolist()
    assert ranks == [2**50 / total] * 2 + [(2**51 + (2**51 - 1) / 2) / total]
