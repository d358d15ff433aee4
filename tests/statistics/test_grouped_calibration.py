"""The statistic of scores and labels: sums, JSON, broken rows and broken text."""

import numpy as np
import pytest

from skfair.groups import encode_groups
from skfair.statistics import GroupedCalibration


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
