"""Scores of several classes: the largest value of each class against the rest."""

import sys
from functools import partial
from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    abcc,
    abroca,
    bootstrap_interval,
    certify,
    confidence_interval,
    demographic_parity_difference,
    madd,
    madd_optimal_bandwidth,
    max_gap,
    mcdp,
    mcdp_curve,
    permutation_test,
    values_by_class,
)

METRICS = {
    "mcdp": partial(mcdp, epsilon=0.03),
    "mcdp rank": partial(mcdp, epsilon=0.03, scale="rank"),
    "madd": partial(madd, bandwidth=0.2),
    "abcc": abcc,
    "parity": demographic_parity_difference,
    "parity of decisions": partial(demographic_parity_difference, threshold=0.4),
}


def draw(rng, n_rows=60, n_classes=4, n_groups=3):
    """Probabilities of classes, which depend on the group, groups and weights."""
    groups = rng.permutation(np.arange(n_rows) % n_groups)
    likely = 1 + np.eye(n_classes)[groups % n_classes]
    y_score = rng.gamma(likely).round(1) + 0.1
    return y_score / y_score.sum(axis=1, keepdims=True), groups, rng.random(n_rows) + 1


@pytest.mark.slow
@pytest.mark.promise("Several classes have the value of the class that differs most")
def test_largest_over_classes():
    rng = np.random.default_rng(0)
    for _, metric in zip(range(80), cycle(METRICS.values()), strict=False):
        n_classes, n_groups = rng.integers(3, 6), rng.integers(2, 5)
        n_rows = rng.integers(n_groups, 30)
        y_score, groups, weights = draw(rng, n_rows, n_classes, n_groups)
        given_rows = {"sensitive_features": groups}
        if rng.random() < 0.3:
            given_rows["sample_weight"] = weights
        values = [metric(None, column, **given_rows) for column in y_score.T]
        assert metric(None, y_score, **given_rows) == max(values)


@pytest.mark.parametrize("name", METRICS)
def test_table_of_classes(name):
    rng = np.random.default_rng(1)
    y_score, groups, weights = draw(rng)
    given_rows = {"sensitive_features": groups, "sample_weight": weights}
    values = [METRICS[name](None, column, **given_rows) for column in y_score.T]
    by_class = values_by_class(METRICS[name], None, y_score, **given_rows)
    assert by_class.tolist() == values
    assert by_class.idxmax() == np.argmax(values)


def test_one_hot_labels_compare_selection_rates():
    rng = np.random.default_rng(0)
    y_pred, groups = rng.integers(0, 4, 500), rng.integers(0, 3, 500)
    table = pd.crosstab(groups, y_pred, normalize="index")
    value = demographic_parity_difference(
        None, np.eye(4)[y_pred], sensitive_features=groups
    )
    assert value == pytest.approx((table.max() - table.min()).max(), abs=1e-12)


@pytest.mark.parametrize("container", [list, pd.DataFrame, pl.DataFrame, np.asarray])
def test_containers(container):
    y_score, groups, _ = draw(np.random.default_rng(0))
    given = y_score.tolist() if container is list else container(y_score)
    assert mcdp(None, given, sensitive_features=groups) == mcdp(
        None, y_score, sensitive_features=groups
    )
    kept = y_score.copy()
    values_by_class(mcdp, None, given, sensitive_features=groups)
    np.testing.assert_array_equal(y_score, kept)


def test_within_strata():
    rng = np.random.default_rng(0)
    y_score, groups, _ = draw(rng, 300)
    strata = rng.integers(0, 2, 300)
    options = {"sensitive_features": groups, "control_features": strata}
    by_class = values_by_class(mcdp, None, y_score, **options)
    assert mcdp(None, y_score, **options) == by_class.max()
    parts = [y_score[strata == label] for label in (0, 1)]
    alone = [groups[strata == label] for label in (0, 1)]
    assert by_class.max() == max(
        mcdp(None, part, sensitive_features=own)
        for part, own in zip(parts, alone, strict=True)
    )


# --- names of classes


def test_labels():
    y_score, groups, _ = draw(np.random.default_rng(0), n_classes=3)
    rows = {"sensitive_features": groups}
    named = pd.DataFrame(y_score, columns=["low", "mid", "high"])
    y_true = np.array(["low", "mid", "high"])[np.arange(60) % 3]

    def labels_of(y_true, y_score, **options):
        values = values_by_class(mcdp, y_true, y_score, **rows, **options)
        assert values.name == "value"
        return values.index.tolist()

    assert labels_of(None, y_score) == [0, 1, 2]
    assert labels_of(y_true, y_score) == ["high", "low", "mid"]
    assert labels_of(y_true, named) == ["low", "mid", "high"]
    assert labels_of(None, pl.DataFrame(named)) == ["low", "mid", "high"]
    assert labels_of(y_true, y_score, labels=["mid", "low", "high"])[0] == "mid"
    assert labels_of(None, pd.DataFrame(y_score)) == [0, 1, 2]
    # Folds may lack a class.
    assert labels_of(y_true[:2].repeat(30), named) == ["low", "mid", "high"]


def test_metric_of_errors_is_told_the_class():
    y_score, groups, _ = draw(np.random.default_rng(0), 300, n_classes=3)
    y_true = np.array(["c", "a", "b"])[np.arange(300) % 3]
    values = values_by_class(abroca, y_true, y_score, sensitive_features=groups)
    for position, label in enumerate("abc"):
        expected = abroca(
            y_true == label, y_score[:, position], sensitive_features=groups
        )
        assert values[label] == expected


# --- errors


@pytest.mark.parametrize("name", METRICS)
def test_scores_that_are_no_probabilities_of_classes(name):
    metric, groups = METRICS[name], [0, 1, 0, 1]
    good = np.full((4, 3), 1 / 3)
    bad = good.copy()
    bad[2, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"column 1 of y_(score|pred).* got nan in row 2"
    ):
        metric(None, bad, sensitive_features=groups)
    if "rank" in name:
        return
    bad[2] = [0.5, -0.25, 0.75]
    with pytest.raises(
        ValueError, match=r"column 1 of y_(score|pred).* got -0.25 in row 2"
    ):
        metric(None, bad, sensitive_features=groups)
    bad[2] = [0.5, 0.25, 0.3]
    match = r"must have rows that sum to 1 over the classes, got 1.05 in row 2 \(1 such"
    with pytest.raises(ValueError, match=match) as error:
        metric(None, bad, sensitive_features=groups)
    assert ("rank" in str(error.value)) == ("parity" not in name)


def test_ranks_of_margins_need_no_sums():
    rng = np.random.default_rng(0)
    margins, groups = rng.normal(size=(50, 3)) * 9, np.arange(50) % 2
    options = {"sensitive_features": groups, "scale": "rank", "epsilon": 0.05}
    values = [mcdp(None, column, **options) for column in margins.T]
    assert mcdp(None, margins, **options) == max(values)
    # An increasing map of each column changes nothing.
    mapped = np.column_stack([np.exp(margins[:, 0]), margins[:, 1] ** 3, margins[:, 2]])
    assert mcdp(None, mapped, **options) == max(values)


def test_more_true_classes_than_columns():
    y_score, groups, _ = draw(np.random.default_rng(0), n_classes=3)
    rows = {"sensitive_features": groups}
    with pytest.raises(ValueError, match=r"at most 3 classes, one for each .* got 4"):
        mcdp(np.arange(60) % 4, y_score, **rows)
    with pytest.raises(ValueError, match=r"y_true must have shape \(60,\)"):
        mcdp(np.arange(59) % 3, y_score, **rows)
    with pytest.raises(ValueError, match="y_true has 1 missing label"):
        mcdp([np.nan, *[1] * 59], y_score, **rows)
    with pytest.raises(ValueError, match="labels must be 3 different classes"):
        values_by_class(mcdp, np.arange(60) % 4, y_score, **rows)
    with pytest.raises(ValueError, match="labels must be 3 different classes"):
        values_by_class(mcdp, None, y_score, labels=["a", "b", "b"], **rows)
    with pytest.raises(ValueError, match=r"y_true has 2, expected one of \[0, 1, 5\]"):
        values_by_class(mcdp, np.arange(60) % 3, y_score, labels=[0, 1, 5], **rows)
    for labels in ("abc", 3):
        with pytest.raises(TypeError, match="labels must be a list of classes, got"):
            values_by_class(mcdp, None, y_score, labels=labels, **rows)
    for columns in (y_score[:, 0], y_score[:, :1], y_score[..., None]):
        with pytest.raises(ValueError, match=r"must have shape \(n_samples, n_classes"):
            values_by_class(mcdp, None, columns, **rows)


def test_curves_take_one_class():
    y_score, groups, _ = draw(np.random.default_rng(0))
    for function in (mcdp_curve, madd_optimal_bandwidth):
        with pytest.raises(ValueError, match=r"got shape \(60, 4\). Pass one column"):
            function(None, y_score, sensitive_features=groups)


def test_undefined_once():
    y_score, _, _ = draw(np.random.default_rng(0))
    with pytest.warns(UndefinedMetricWarning, match="at least two groups") as caught:
        value = mcdp(None, y_score, sensitive_features=np.zeros(60))
    assert np.isnan(value)
    assert len(caught) == 1
    if sys.version_info >= (3, 12):
        assert caught[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning):
        values = values_by_class(mcdp, None, y_score, sensitive_features=np.zeros(60))
    assert values.isna().all()


# --- tests and intervals


@pytest.mark.slow
def test_permutations_pay_for_the_choice_of_the_class():
    rng = np.random.default_rng(0)
    y_score, groups, _ = draw(rng, 200, n_classes=5, n_groups=2)
    options = {"sensitive_features": groups, "random_state": 0}
    found = permutation_test(mcdp, None, y_score, n_permutations=19, **options)
    alone = permutation_test(mcdp, None, y_score[:, 0], n_permutations=19, **options)
    assert (found.null_distribution >= alone.null_distribution).all()
    assert found.value == mcdp(None, y_score, sensitive_features=groups)
    interval = bootstrap_interval(mcdp, None, y_score, n_resamples=19, **options)
    assert interval.value == found.value


@pytest.mark.slow
@pytest.mark.parametrize("method", ["band", "finite_sample"])
@pytest.mark.parametrize(
    "metric",
    [mcdp, abcc, partial(madd, bandwidth=0.2), demographic_parity_difference],
    ids=["mcdp", "abcc", "madd", "parity"],
)
def test_intervals_hold_for_all_classes_at_once(metric, method):
    y_score, groups, _ = draw(np.random.default_rng(0), 900, n_classes=3)
    options = {"sensitive_features": groups, "method": method}
    found = confidence_interval(metric, None, y_score, **options)
    alone = [confidence_interval(metric, None, one, **options) for one in y_score.T]
    assert found.value == max(one.value for one in alone)
    # The upper end needs no correction for the number of classes, the lower one does.
    assert found.upper == max(one.upper for one in alone)
    largest = max(alone, key=lambda one: one.value)
    assert found.lower <= largest.lower < found.value
    limit = {"at_most": found.upper, **options}
    pvalues = [certify(metric, None, one, **limit).pvalue for one in y_score.T]
    pvalue = certify(metric, None, y_score, **limit).pvalue
    assert pvalue == pytest.approx(max(pvalues), rel=1e-9)


def test_interval_of_classes_within_strata():
    rng = np.random.default_rng(0)
    y_score, groups, _ = draw(rng, 900, n_classes=3)
    options = {
        "sensitive_features": groups,
        "control_features": rng.integers(0, 2, 900),
    }
    found = confidence_interval(mcdp, None, y_score, **options)
    assert found.value == mcdp(None, y_score, **options)
    assert found.lower < found.value < found.upper


def test_interval_of_errors_refuses_several_columns():
    y_score, groups, _ = draw(np.random.default_rng(0))
    with pytest.raises(ValueError, match="y_pred must have shape"):
        confidence_interval(max_gap, None, y_score, sensitive_features=groups)
