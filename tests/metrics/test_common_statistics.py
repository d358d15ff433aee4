"""Every metric, of statistics in place of rows."""

import pickle

import numpy as np
import pytest

from skfair.metrics import demographic_parity_difference
from skfair.statistics import GroupedOutcomes, GroupedScores

every_metric = pytest.mark.metrics("every")
both_ways = pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])


@pytest.mark.metrics("of scores")
@both_ways
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_of_scores_add_up(
    name, multigroup, weighted, measured, metrics, rows, flat
):
    y_score, groups = rows(5, 300)
    order = np.argsort(groups, kind="stable")  # so that batches hold other groups
    y_score, groups = y_score[order], groups[order]
    weights = np.arange(300) % 3 + 1 if weighted else None
    parts = [
        GroupedScores.from_scores(
            y_score[part],
            sensitive_features=groups[part],
            sample_weight=weights[part] if weighted else None,
        )
        for part in (slice(0, 20), slice(20, 150), slice(150, 300))
    ]
    expected = measured(
        name, y_score, groups, multigroup=multigroup, sample_weight=weights
    )
    a, b, c = parts
    for statistic in ((a + b) + c, a + (b + c), (c + a) + b):
        value = flat(metrics[name](None, statistic, multigroup=multigroup))
        np.testing.assert_array_equal(value, expected)


@both_ways
def test_batches_of_outcomes_add_up(multigroup, rows):
    y_score, groups = rows(5, 300)
    order = np.argsort(groups, kind="stable")
    y_score, groups = y_score[order], groups[order]
    a, b, c = (
        GroupedOutcomes.from_outcomes(y_score[part], sensitive_features=groups[part])
        for part in (slice(0, 20), slice(20, 150), slice(150, 300))
    )
    expected = demographic_parity_difference(
        None, y_score, sensitive_features=groups, multigroup=multigroup
    )
    for statistic in ((a + b) + c, a + (b + c), (c + a) + b):
        value = demographic_parity_difference(None, statistic, multigroup=multigroup)
        assert value == pytest.approx(expected, abs=1e-14)


@every_metric
def test_pickled_statistics_measure_the_same(name, measured, metrics, rows, flat):
    y_score, groups = rows(3)
    kind = GroupedScores.from_scores
    if "parity" in name:
        y_score, kind = (y_score >= 0.5).astype(float), GroupedOutcomes.from_outcomes
    statistic = kind(y_score, sensitive_features=groups)
    metric = metrics[name.removesuffix(" threshold")]
    first = flat(metric(None, statistic))
    again = flat(metric(None, pickle.loads(pickle.dumps(statistic))))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, measured(name, y_score, groups))


@every_metric
@pytest.mark.parametrize(
    ("argument", "value"),
    [("y_true", [0, 1]), ("sensitive_features", ["F", "M"]), ("sample_weight", [1, 2])],
)
def test_rows_beside_a_statistic_are_refused(name, argument, value, metrics):
    kind = GroupedScores.from_scores
    if "parity" in name:
        kind = GroupedOutcomes.from_outcomes
    statistic = kind([0.1, 0.9], sensitive_features=["F", "M"])
    metric = metrics[name.removesuffix(" threshold")]
    arguments = {"y_true": None, argument: value}
    y_true = arguments.pop("y_true")
    with pytest.raises(ValueError, match=f"{argument} must be None where a statistic"):
        metric(y_true, statistic, **arguments)
