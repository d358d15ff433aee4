import pickle
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.groups import encode_groups
from skfair.metrics import abcc, mcdp
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import (
    gap_between,
    pooled_ranks,
)

WEIGHTS = {
    "none": None,
    "whole": st.integers(1, 5),
    "dyadic": st.integers(1, 20).map(lambda k: k / 8),
}


@st.composite
def batches(draw, n_batches=2, n_groups=7):
    """Some batches of rows, whose groups differ from batch to batch."""
    kinds = draw(st.lists(st.sampled_from(sorted(WEIGHTS)), min_size=n_batches))
    parts = []
    for kind in kinds[:n_batches]:
        n_rows = draw(st.integers(1, 12))
        size = {"min_size": n_rows, "max_size": n_rows}
        weights = WEIGHTS[kind]
        parts.append(
            (
                np.array(draw(st.lists(st.integers(0, 8), **size))) / 8,
                draw(st.lists(st.sampled_from("ABCDEFGH"[:n_groups]), **size)),
                None if weights is None else draw(st.lists(weights, **size)),
            )
        )
    return parts


def collected(part):
    y_score, groups, weights = part
    return GroupedScores.from_scores(
        y_score, sensitive_features=groups, sample_weight=weights
    )


def joined(parts):
    scores, groups, weights = zip(*parts, strict=True)
    weights = [
        np.ones(len(own)) if given is None else given
        for own, given in zip(scores, weights, strict=True)
    ]
    return np.concatenate(scores), [*chain(*groups)], np.concatenate(weights)


def content(statistic):
    """Weight of every pair of score and group, whatever the order of labels."""
    labels = statistic.labels
    return {
        "entries": {
            (score, labels[code]): weight
            for score, code, weight in zip(
                statistic.scores.tolist(),
                statistic.codes.tolist(),
                statistic.weights.tolist(),
                strict=True,
            )
        },
        "counts": dict(zip(labels, statistic.counts.tolist(), strict=True)),
        "totals": dict(zip(labels, statistic.totals.tolist(), strict=True)),
    }


@given(batches(n_batches=1, n_groups=7))
def test_entries_are_the_weights_of_distinct_pairs(parts):
    statistic = collected(parts[0])
    y_score, groups, weights = joined(parts)
    expected, counts, totals = Counter(), Counter(groups), Counter()
    for score, group, weight in zip(y_score.tolist(), groups, weights, strict=True):
        expected[score, group] += weight
        totals[group] += weight
    assert content(statistic) == {
        "entries": expected,
        "counts": counts,
        "totals": totals,
    }
    keys = list(zip(statistic.scores, statistic.codes, strict=True))
    assert keys == sorted(set(keys))
    assert statistic.labels == tuple(sorted(set(groups)))


@given(batches(n_batches=2))
def test_sum_is_the_statistic_of_the_joined_rows(parts):
    assert content(collected(parts[0]) + collected(parts[1])) == content(
        collected(joined(parts))
    )


@given(batches(n_batches=3))
def test_addition_is_associative_and_commutative(parts):
    a, b, c = map(collected, parts)
    assert content((a + b) + c) == content(a + (b + c))
    assert content(a + b) == content(b + a)


@given(batches(n_batches=2))
def test_addition_keeps_the_parts_as_they_are(parts):
    first, second = map(collected, parts)
    before = content(first), content(second)
    first + second
    assert (content(first), content(second)) == before


def test_sum_of_equal_batches_has_integer_weights():
    statistic = GroupedScores.from_scores([0.5, 0.5], sensitive_features=["F", "M"])
    double = statistic + statistic
    assert double.weights.tolist() == [2, 2]
    assert double.weights.dtype.kind == "i"
    assert double.totals.dtype.kind == "i"


def test_labels_in_a_wanted_order_survive_addition():
    first = GroupedScores.from_scores(
        [0.1, 0.2], sensitive_features=encode_groups(["F", "M"], labels=["M", "F"])
    )
    second = GroupedScores.from_scores([0.3], sensitive_features=["F"])
    assert (first + second).labels == ("M", "F")
    assert (second + first).labels == ("M", "F")


def test_absent_group_is_filled_by_another_batch():
    only_f = encode_groups(["F", "F"], labels=["F", "M"], min_group_size=1)
    first = GroupedScores.from_scores([0.1, 0.2], sensitive_features=only_f)
    second = GroupedScores.from_scores([0.9], sensitive_features=["M"])
    assert mcdp(None, first + second) == 1


def test_largest_min_group_size_is_kept():
    def batch(least):
        groups = encode_groups(["F", "M"], min_group_size=least)
        return GroupedScores.from_scores([0.1, 0.2], sensitive_features=groups)

    assert (batch(3) + batch(2)).min_group_size == 3


def test_batch_whose_rows_all_miss_their_group_adds_nothing():
    groups = encode_groups([None], missing="drop", labels=["F", "M"])
    nothing = GroupedScores.from_scores([0.5], sensitive_features=groups)
    assert len(nothing.weights) == len(nothing.scores) == 0
    some = GroupedScores.from_scores([0.25, 1.0], sensitive_features=["F", "M"])
    for total in (some + nothing, nothing + some):
        assert content(total) == content(some)
        assert abcc(None, total) == 0.75


def test_batch_without_any_label_adds_nothing():
    groups = encode_groups([None, None], missing="drop")
    nothing = GroupedScores.from_scores([0.5, 0.5], sensitive_features=groups)
    some = GroupedScores.from_scores([0.25, 1.0], sensitive_features=["F", "M"])
    assert content(some + nothing) == content(some)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4, 5, 40])
def test_of_group_is_the_distribution_of_one_group(n_groups):
    rng = np.random.default_rng(n_groups)
    y_score, groups = rng.integers(0, 9, 200) / 8, np.arange(200) % n_groups
    statistic = GroupedScores.from_scores(y_score, sensitive_features=groups)
    for group in range(n_groups):
        scores, weights = statistic.of_group(group)
        expected = np.unique(y_score[groups == group], return_counts=True)
        np.testing.assert_array_equal(scores, expected[0])
        np.testing.assert_array_equal(weights, expected[1])


@pytest.mark.parametrize("sample_weight", [None, "random"])
@pytest.mark.parametrize("n_groups", [1, 2, 5])
def test_cdf_of_a_group_and_of_everyone(n_groups, sample_weight):
    rng = np.random.default_rng(n_groups)
    y_score, groups = rng.integers(0, 9, 200) / 8, np.arange(200) % n_groups
    weights = None if sample_weight is None else rng.random(200) + 0.1
    statistic = GroupedScores.from_scores(
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
    statistic = GroupedScores.from_scores(y_score, sensitive_features=groups)
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
    statistic = GroupedScores.from_scores(
        np.array(scores)[order], sensitive_features=codes[order], scale="rank"
    )
    expected = np.argsort(scores)
    assert statistic.scores.tolist() == [scores[i] for i in expected]
    assert statistic.codes.tolist() == codes[expected].tolist()
    again = statistic + statistic
    assert again.scores.tolist() == statistic.scores.tolist()
    assert again.weights.tolist() == [2] * len(scores)


def test_negative_zero_is_zero():
    statistic = GroupedScores.from_scores(
        [-0.0, 0.0, -1.0], sensitive_features=["a", "a", "b"], scale="rank"
    )
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
    statistic = GroupedScores.from_counts(
        [0.2, 0.8, 0.1, 0.9], sensitive_features=list("aabb"), n_rows=n_rows
    )
    gap = gap_between(statistic, 0, 1)
    assert (gap.signed.dtype.kind == "i") == exact
    assert gap.scale == (first * second if exact else 1)
    assert gap.totals == (first, second)
    below = n_rows[2] / second
    expected = [-below, 0.5 - below, 1 - below, 0]
    np.testing.assert_allclose(gap.signed / gap.scale, expected, atol=1e-15)
    assert gap.scores.tolist() == [0.1, 0.2, 0.8, 0.9]
    assert mcdp(None, statistic) == 0.5


@pytest.mark.parametrize("lower", [0, 1])
def test_rounding_of_weights_takes_no_gap_beyond_one(lower):
    """One group is below the other: some sums of n weights of 1 / n are above 1."""
    above = []
    for n in range(5, 50):
        weights = np.full(n, 0.1)
        above.append(np.cumsum(weights * (1 / weights.sum()))[-1] > 1)
        statistic = GroupedScores.from_scores(
            np.arange(n + 1) / n,
            sensitive_features=[lower] * n + [1 - lower],
            sample_weight=np.append(weights, 0.3),
        )
        gap = gap_between(statistic, 0, 1)
        assert np.abs(gap.signed).max() == pytest.approx(1, abs=1e-12)
        assert np.abs(gap.signed).max() <= 1
        assert mcdp(None, statistic) <= 1
    assert any(above)


def test_ranks_of_huge_counts():
    """Shares below a score plus half of those at it, of 2^52 rows."""
    n_rows = [2**50, 2**50, 2**51 - 1]
    statistic = GroupedScores.from_counts(
        [0.2, 0.2, 0.8], sensitive_features=list("aba"), n_rows=n_rows
    )
    total = sum(n_rows)
    ranks = pooled_ranks(statistic).scores.tolist()
    assert ranks == [2**50 / total] * 2 + [(2**51 + (2**51 - 1) / 2) / total]


@pytest.mark.parametrize("other", [1, None, "x"])
def test_only_statistics_add_up(other):
    statistic = GroupedScores.from_scores([0.5], sensitive_features=["F"])
    with pytest.raises(TypeError, match="unsupported operand"):
        statistic + other


def test_pickle_keeps_everything():
    statistic = GroupedScores.from_scores(
        [0.5, 0.25, 0.5], sensitive_features=["F", "M", "M"]
    )
    statistic.of_group(0)
    assert content(pickle.loads(pickle.dumps(statistic))) == content(statistic)


def test_repr_tells_entries_and_rows():
    statistic = GroupedScores.from_scores(
        [0.5, 0.5, 0.5], sensitive_features=["F", "M", "M"]
    )
    assert repr(statistic) == "GroupedScores(2 entries; rows 'F': 1, 'M': 2)"


def test_few_gaps_of_few_rows_are_kept(monkeypatch):
    statistic = GroupedScores.from_scores(
        np.arange(40) / 40, sensitive_features=np.arange(40) % 8
    )
    pairs = [(i, i + 1) for i in range(6)]
    gaps = [gap_between(statistic, *pair) for pair in pairs]
    again = [gap_between(statistic, *pair) for pair in pairs]
    assert [a is b for a, b in zip(gaps, again, strict=True)] == 4 * [True] + 2 * [
        False
    ]
    monkeypatch.setattr("skfair.statistics._grouped_scores._MAX_KEPT", 10)
    other = statistic + statistic
    assert gap_between(other, 0, 1) is not gap_between(other, 0, 1)
