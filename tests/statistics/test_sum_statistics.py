"""Sum of many statistics, and scores that were counted before."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.monitoring import FairnessMonitor
from skfair.statistics import (
    GroupedConfusion,
    GroupedOutcomes,
    GroupedScores,
    sum_statistics,
)


def test_each_takes_part_in_few_additions(monkeypatch):
    sizes = []
    add = GroupedScores.__add__

    def count(first, second):
        sizes.append(len(first.scores) + len(second.scores))
        return add(first, second)

    monkeypatch.setattr(GroupedScores, "__add__", count)
    scores = np.random.default_rng(0).random((64, 10))
    sum_statistics(
        GroupedScores.from_scores(row, sensitive_features=[0, 1] * 5) for row in scores
    )
    assert sum(sizes) == scores.size * 6


def test_what_cannot_be_added():
    outcomes = GroupedOutcomes.from_outcomes([0, 1], sensitive_features=[0, 1])
    scores = GroupedScores.from_scores([0, 1], sensitive_features=[0, 1])
    confusion = GroupedConfusion.from_predictions([0], [1], sensitive_features=[0])
    with pytest.raises(ValueError, match="is empty"):
        sum_statistics([])
    with pytest.raises(TypeError, match="a GroupedOutcomes and a GroupedScores"):
        sum_statistics([outcomes, scores])
    with pytest.raises(TypeError, match="got a int"):
        sum_statistics([confusion, 3])
    with pytest.raises(TypeError):
        sum([scores], start=1)


def test_counted_scores():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, 500) / 8
    groups = rng.choice(["a", "b", "c"], 500)
    weights = rng.integers(1, 5, 500)
    pairs, entry, n_rows = np.unique(
        np.stack([scores.astype("U9"), groups]),
        axis=1,
        return_inverse=True,
        return_counts=True,
    )
    order = rng.permutation(pairs.shape[1])
    given = {
        "y_score": pairs[0, order].astype(float),
        "sensitive_features": pairs[1, order],
        "n_rows": n_rows[order],
    }
    counted = GroupedScores.from_counts(**given)
    assert (
        counted.to_dict()
        == GroupedScores.from_scores(scores, sensitive_features=groups).to_dict()
    )
    total = np.bincount(entry.ravel(), weights)[order]
    counted = GroupedScores.from_counts(**given, total_weight=total)
    rows = {"sensitive_features": groups, "sample_weight": weights}
    of_rows = GroupedScores.from_scores(scores, **rows)
    # The rows of an entry count as if they weighed the same.
    assert (counted.squares <= of_rows.squares).all()
    counted = replace(counted, squares=of_rows.squares)
    assert counted.to_dict() == of_rows.to_dict()


def test_entries_of_no_rows_and_without_a_group():
    groups = encode_groups(["a", "b", None, "b"], missing="drop", min_group_size=5)
    counted = GroupedScores.from_counts(
        [0.1, 0.2, 0.3, 0.4], sensitive_features=groups, n_rows=[3, 0, 9, 4]
    )
    assert counted.counts.tolist() == counted.totals.tolist() == [3, 4]
    assert counted.scores.tolist() == [0.1, 0.4]
    assert counted.min_group_size == 5


def test_scores_that_are_no_probabilities():
    scores = np.array([-4.0, -0.0, 0.0, 3e5, -4.0, 7])
    groups = np.array(["a", "b", "a", "b", "b", "a"])
    n_rows = np.array([2, 1, 3, 2, 1, 1])
    counted = GroupedScores.from_counts(
        scores, sensitive_features=groups, n_rows=n_rows, scale="rank"
    )
    rows = GroupedScores.from_scores(
        np.repeat(scores, n_rows),
        sensitive_features=np.repeat(groups, n_rows),
        scale="rank",
    )
    assert counted.to_dict() == rows.to_dict()
    assert mcdp(None, counted, epsilon=0.1, scale="rank") == mcdp(
        None, rows, epsilon=0.1, scale="rank"
    )
    with pytest.raises(ValueError, match=r"got a statistic of scores from -4.0"):
        mcdp(None, counted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_rows": [1, -1]}, "n_rows must be finite and non-negative"),
        ({"n_rows": [1, 1.5]}, "n_rows must be whole numbers"),
        ({"n_rows": [1]}, r"n_rows must have shape \(2,\)"),
        ({"total_weight": [1, 0]}, "total_weight is 0 in entry 1, whose n_rows is 1"),
        ({"total_weight": [1, np.inf]}, "total_weight must be finite"),
        (
            {"y_score": [0.1, 2]},
            r"y_score must lie in \[0, 1\].*scale='rank' scores may",
        ),
        (
            {"y_score": [0.1, np.inf], "scale": "rank"},
            "y_score must be finite, got inf",
        ),
        ({"scale": "logit"}, "scale must be 'probability', 'rank' or 'real', got"),
        ({"sensitive_features": ["a"]}, "sensitive_features has 1 rows, expected 2"),
    ],
)
def test_broken_counts_are_refused(change, message):
    given = {"y_score": [0.1, 0.2], "sensitive_features": ["a", "b"], "n_rows": [1, 1]}
    with pytest.raises(ValueError, match=message):
        GroupedScores.from_counts(**(given | change))


def test_columns_of_other_names():
    """Groups by sex and by district would be groups of one attribute."""
    people = pd.DataFrame({"sex": list("FMFM"), "district": list("nsns")})
    by_sex, by_district, unnamed = (
        GroupedScores.from_scores([0.1, 0.2, 0.6, 0.9], sensitive_features=groups)
        for groups in (people["sex"], people["district"], list("FMFM"))
    )
    with pytest.warns(UserWarning, match="the columns 'sex' and 'district' are added"):
        by_sex + by_district
    assert (by_sex + by_sex).names == ("sex",)
    assert (by_sex + unnamed).names == ()
    monitor = FairnessMonitor(mcdp, min_group_size=1)
    monitor.update(None, by_sex)
    with pytest.warns(UserWarning, match="the columns 'sex' and 'district' are added"):
        monitor.update(None, by_district)
