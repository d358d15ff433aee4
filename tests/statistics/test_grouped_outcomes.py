import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.groups import encode_groups
from skfair.statistics import GroupedOutcomes

row = st.tuples(
    st.integers(0, 8).map(lambda k: k / 8),
    st.sampled_from("ABCDE"),
    st.integers(1, 20).map(lambda k: k / 4),
)
batch = st.lists(row, min_size=1, max_size=12)


def collected(rows, weighted=True):
    outcomes, groups, weights = zip(*rows, strict=True)
    return GroupedOutcomes.from_outcomes(
        outcomes,
        sensitive_features=list(groups),
        sample_weight=weights if weighted else None,
    )


def content(statistic):
    columns = (statistic.sums, statistic.totals, statistic.counts)
    return dict(zip(statistic.labels, np.transpose(columns).tolist(), strict=True))


@given(batch, st.booleans())
def test_sums_totals_counts_and_means(rows, weighted):
    statistic = collected(rows, weighted)
    expected = {}
    for label in sorted({group for _, group, _ in rows}):
        own = [(y, w if weighted else 1) for y, group, w in rows if group == label]
        total = sum(w for _, w in own)
        expected[label] = [sum(y * w for y, w in own), total, len(own)]
    assert content(statistic) == expected
    assert statistic.labels == tuple(expected)
    means = [expected[label][0] / expected[label][1] for label in statistic.labels]
    np.testing.assert_allclose(statistic.means, means, rtol=1e-15)


def test_mean_of_an_absent_group_is_nan():
    groups = encode_groups(["F"], labels=["F", "M"])
    statistic = GroupedOutcomes.from_outcomes([0.5], sensitive_features=groups)
    np.testing.assert_array_equal(statistic.means, [0.5, np.nan])


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([2], r"outcomes must lie in \[0, 1\], got 2"),
        ([], "outcomes has 0 rows"),
        ([[1, 0]], r"outcomes must have shape"),
    ],
)
def test_invalid_outcomes(outcomes, message):
    with pytest.raises(ValueError, match=message):
        GroupedOutcomes.from_outcomes(outcomes, sensitive_features=["F"])


# --- rows that count, effective sizes, and groups without rows


def test_masked_rows_do_not_count_but_their_groups_stay():
    statistic = GroupedOutcomes.from_outcomes(
        [1, 0, 1, 1],
        sensitive_features=["a", "a", "b", "c"],
        mask=[True, True, False, True],
    )
    assert statistic.labels == ("a", "b", "c")
    assert statistic.counts.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(statistic.means, [0.5, np.nan, 1.0])
    assert statistic.effective_sizes.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "mask", [[1, 0], [True], [[True, False]], ["x", "y"], [0.0, 1.0]]
)
def test_mask_must_be_bool_of_the_right_length(mask):
    with pytest.raises(ValueError, match=r"must (be an array of bool|have shape)"):
        GroupedOutcomes.from_outcomes([1, 0], sensitive_features=[0, 1], mask=mask)


def test_effective_sizes_are_kishs():
    weights = np.array([1.0, 2.0, 3.0, 0.5])
    statistic = GroupedOutcomes.from_outcomes(
        [1, 0, 1, 0], sensitive_features=["a"] * 3 + ["b"], sample_weight=weights
    )
    expected = [weights[:3].sum() ** 2 / (weights[:3] ** 2).sum(), 1]
    np.testing.assert_allclose(statistic.effective_sizes, expected)


def test_with_labels_places_groups_and_leaves_others_empty():
    statistic = GroupedOutcomes.from_outcomes([1, 0, 0], sensitive_features=list("abb"))
    placed = statistic.with_labels(("c", "b", "a"))
    assert placed.counts.tolist() == [0, 2, 1]
    assert placed.sums.tolist() == [0, 0, 1]
    assert statistic.labels == ("a", "b")
