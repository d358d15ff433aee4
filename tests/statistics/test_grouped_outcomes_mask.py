"""Rows that count, effective sizes, and groups without rows."""

import numpy as np
import pytest

from skfair.groups import encode_groups
from skfair.statistics import GroupedOutcomes


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


def test_mask_leaves_the_groups_given_as_they_are():
    groups = encode_groups(["a", "b"])
    GroupedOutcomes.from_outcomes([1, 0], sensitive_features=groups, mask=[False, True])
    assert groups.codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    "mask", [[1, 0], [True], [[True, False]], ["x", "y"], [0.0, 1.0]]
)
def test_mask_must_be_bool_of_the_right_length(mask):
    with pytest.raises(ValueError, match=r"mask must be an array of bool of shape"):
        GroupedOutcomes.from_outcomes([1, 0], sensitive_features=[0, 1], mask=mask)


def test_masked_statistics_add_up():
    generator = np.random.default_rng(0)
    outcomes, mask = generator.integers(0, 2, 60), generator.random(60) < 0.7
    groups = generator.integers(0, 6, 60)
    weights = generator.random(60) + 0.1

    def collect(rows):
        return GroupedOutcomes.from_outcomes(
            outcomes[rows],
            sensitive_features=groups[rows],
            mask=mask[rows],
            sample_weight=weights[rows],
        )

    joined = collect(slice(25)) + collect(slice(25, None))
    whole = collect(slice(None))
    assert joined.labels == whole.labels
    for name in ("sums", "totals", "squares", "counts", "effective_sizes"):
        np.testing.assert_allclose(
            getattr(joined, name), getattr(whole, name), rtol=1e-13
        )


def test_effective_sizes_are_kishs():
    weights = np.array([1.0, 2.0, 3.0, 0.5])
    statistic = GroupedOutcomes.from_outcomes(
        [1, 0, 1, 0], sensitive_features=["a"] * 3 + ["b"], sample_weight=weights
    )
    expected = [weights[:3].sum() ** 2 / (weights[:3] ** 2).sum(), 1]
    np.testing.assert_allclose(statistic.effective_sizes, expected)


def test_weighted_and_unweighted_rows_add_up():
    plain = GroupedOutcomes.from_outcomes([1, 0], sensitive_features=["a", "a"])
    weighted = GroupedOutcomes.from_outcomes(
        [1], sensitive_features=["a"], sample_weight=[2]
    )
    both = plain + weighted
    assert (both.totals[0], both.squares[0], both.counts[0]) == (4, 6, 3)


def test_with_labels_places_groups_and_leaves_others_empty():
    statistic = GroupedOutcomes.from_outcomes([1, 0, 0], sensitive_features=list("abb"))
    placed = statistic.with_labels(("c", "b", "a"))
    assert placed.counts.tolist() == [0, 2, 1]
    assert placed.sums.tolist() == [0, 0, 1]
    assert statistic.labels == ("a", "b")
