"""Statistics survive the way through JSON text, and broken text is refused."""

import json

import numpy as np
import pytest

from skfair.metrics import mcdp
from skfair.statistics import (
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)


def statistics(weights=None):
    rng = np.random.default_rng(0)
    groups = np.array([("F", 1), ("M", 2)], dtype=object)[rng.integers(0, 2, 40)]
    rows = {"sensitive_features": groups, "sample_weight": weights}
    scores, y_true = rng.random(40), rng.integers(0, 2, 40)
    return [
        GroupedScores.from_scores(scores, **rows),
        GroupedOutcomes.from_outcomes(scores, **rows),
        GroupedConfusion.from_predictions(y_true, scores > 0.5, **rows),
        GroupedHistogram.from_scores(scores, n_bins=16, **rows),
    ]


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1, 40)])
@pytest.mark.parametrize("which", range(4))
def test_round_trip(which, weights):
    statistic = statistics(weights)[which]
    text = json.dumps(statistic.to_dict())
    loaded = type(statistic).from_dict(json.loads(text))
    for name, value in vars(statistic).items():
        other = getattr(loaded, name)
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other)
            assert value.dtype.kind in (other.dtype.kind, "u")
        elif not name.startswith("_"):
            assert value == other
    assert repr(statistic + loaded) == repr(statistic + statistic)


def test_metrics_take_what_was_loaded():
    statistic = statistics()[0]
    loaded = GroupedScores.from_dict(statistic.to_dict())
    assert mcdp(None, loaded) == mcdp(None, statistic)


BROKEN = [
    (0, {"type": "GroupedOutcomes"}, "type 'GroupedScores'"),
    (0, {"scores": [0.1]}, "differ in length"),
    (0, {"counts": [40]}, "one number for each label"),
    (0, {"counts": [0.5, 1.0]}, "whole numbers"),
    (0, {"codes": [7] * 40}, "no label"),
    (0, {"scores": [0.5 - i / 100 for i in range(40)]}, "not sorted"),
    (0, {"totals": [1, 2]}, "not the sums"),
    (0, {"scores": [float("nan")] * 40}, "finite numbers"),
    (0, {"weights": ["a"] * 40}, "finite numbers"),
    (0, {"labels": "FM"}, "must be a list"),
    (0, {"min_group_size": 0}, "positive integer"),
    (1, {"sums": [1.0]}, "one number for each label"),
    (1, {"sums": [100.0, 1.0]}, "above the total weight"),
    (2, {"matrices": [[1]]}, "shape"),
    (2, {"label_counts": [1]}, "label_counts must have shape"),
]


@pytest.mark.parametrize(("which", "change", "message"), BROKEN)
def test_broken_data_are_refused(which, change, message):
    statistic = statistics()[which]
    with pytest.raises(ValueError, match=message):
        type(statistic).from_dict(statistic.to_dict() | change)


def test_lacking_entries_are_named():
    data = statistics()[0].to_dict()
    del data["codes"]
    with pytest.raises(ValueError, match="lacks 'codes'"):
        GroupedScores.from_dict(data)
    with pytest.raises(ValueError, match="must be a dictionary"):
        GroupedScores.from_dict([1])


def test_labels_that_are_no_text_or_numbers():
    statistic = GroupedOutcomes.from_outcomes(
        [0, 1], sensitive_features=np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    )
    with pytest.raises(ValueError, match="labels must be text"):
        statistic.to_dict()
