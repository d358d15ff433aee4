"""The statistic of scores and labels: sums, JSON, broken rows and broken text."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.groups import encode_groups
from skfair.statistics import GroupedCalibration

row = st.tuples(
    st.booleans(),
    st.integers(0, 64).map(lambda k: k / 64),
    st.sampled_from("ABC"),
    st.integers(1, 3),
)
batch = st.lists(row, min_size=1, max_size=12)


def collected(rows, n_bins=16):
    outcomes, scores, groups, weights = zip(*rows, strict=True)
    return GroupedCalibration.from_scores(
        outcomes,
        scores,
        sensitive_features=[*groups],
        n_bins=n_bins,
        sample_weight=weights,
    )


@given(batch)
def test_counts_totals_and_text(rows):
    statistic = collected(rows)
    labels = sorted({group for _, _, group, _ in rows})
    assert statistic.labels == tuple(labels)
    for i, label in enumerate(labels):
        own = [one for one in rows if one[2] == label]
        assert statistic.counts[i] == len(own)
        assert statistic.totals[i] == sum(weight for *_, weight in own)
        assert statistic.positive.counts[i] == sum(outcome for outcome, *_ in own)
    text = json.dumps(statistic.to_dict(), allow_nan=False)
    loaded = GroupedCalibration.from_dict(json.loads(text))
    assert loaded.to_dict() == statistic.to_dict()
    assert repr(loaded) == repr(statistic)


def test_rows_that_do_not_count():
    """Rows of weight zero, and without a group, are left out; policies stay."""
    groups = encode_groups(
        ["a", None, "b", "b"], labels=["a", "b", "c"], missing="drop", min_group_size=2
    )
    statistic = GroupedCalibration.from_scores(
        [1, 1, 1, 0],
        [0.1, 0.2, 0.3, 0.4],
        sensitive_features=groups,
        sample_weight=[2, 1, 0, 1],
    )
    assert statistic.labels == ("a", "b", "c")
    assert statistic.min_group_size == 2
    assert statistic.counts.tolist() == [1, 1, 0]
    assert statistic.totals.tolist() == [2, 1, 0]
    assert statistic.positive.counts.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcomes": [0, 2, 1]}, "outcomes must be 0 or 1, got .*2.* in row 1"),
        ({"outcomes": [0, np.nan, 1]}, "outcomes"),
        ({"outcomes": [0, 1]}, "outcomes"),
        ({"y_score": [0.1, 1.5, 0.2]}, r"y_score must lie in \[0, 1\], got 1.5"),
        ({"n_bins": 3}, "power of two"),
        ({"sample_weight": [0, 0, 1]}, r"zero for every row of the groups \['a'\]"),
    ],
)
def test_broken_rows(change, message):
    given = {"outcomes": [0, 1, 1], "y_score": [0.1, 0.2, 0.3]}
    given |= {"sensitive_features": list("aab"), **change}
    with pytest.raises(ValueError, match=message):
        GroupedCalibration.from_scores(**given)
