import re
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    make_scorer,
)

from skfair._comparison import compare_classifiers
from skfair._rows import Rows
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.model_selection import compare_models


def scored(n_samples=800):
    """True labels, scores of three models, and groups."""
    rng = np.random.default_rng(0)
    y, man = rng.integers(0, 2, (2, n_samples))
    merit = y + rng.normal(size=n_samples)
    scores = {"old": merit + man, "new": merit, "noise": rng.random(n_samples)}
    return y, scores, np.where(man, "M", "F")


def compare(y, scores, groups, **options):
    """Table of the comparison with the old model."""
    options = {"baseline": "old", "margin": 0.02, **options}
    return compare_models(y, scores, sensitive_features=groups, **options).table


@pytest.fixture(scope="module")
def result():
    return compare(*scored())


def test_what_is_confirmed(result):
    y, scores, groups = scored()
    assert result["confirmed"].to_dict() == {
        "old": False,
        "new": True,
        "noise": False,
    }
    for name in scores:
        found = result.loc[name]
        expected = average_precision_score(y, scores[name])
        assert found["performance"] == pytest.approx(expected)
        ranked = mcdp(None, scores[name], sensitive_features=groups, scale="rank")
        assert found["disparity"] == ranked
    tested = result.drop("old")
    lower, upper = "performance_difference_lower", "disparity_difference_upper"
    assert (tested[lower] < tested["performance_difference"]).all()
    assert (tested[upper] > tested["disparity_difference"]).all()


@pytest.mark.slow
def test_only_the_order_of_scores_counts(result):
    y, scores, groups = scored()
    table = pd.DataFrame(scores).rank()
    assert_frame_equal(compare(y, table, groups), result)
    polars = compare(y, pl.from_pandas(table), groups)
    assert_frame_equal(polars, result)


@pytest.mark.slow
def test_others_must_be_more_certain_the_more_there_are(result):
    y, scores, groups = scored()
    more = {**scores, "again": scores["new"]}
    both = compare(y, more, groups)
    assert both.loc["new", "pvalue"] == result.loc["new", "pvalue"]
    assert both.loc["new", "adjusted_pvalue"] >= both.loc["new", "pvalue"]
    assert both.loc["again", "pvalue"] == both.loc["new", "pvalue"]


@pytest.mark.slow
@pytest.mark.parametrize("metric", [None, accuracy_score])
@pytest.mark.parametrize("n_rows", [30, 400])
def test_a_model_beside_itself_is_not_fairer_and_may_be_worse(metric, n_rows):
    y, scores, groups = scored(n_rows)
    same = {"old": (scores["old"] > 0.5) * 1, "new": (scores["old"] > 0.5) * 1}
    row = compare(y, same, groups, metric=metric, margin=1 / n_rows).loc["new"]
    assert row["performance_difference"] == row["disparity_difference"] == 0
    assert row["disparity_pvalue"] >= 0.5
    assert row["disparity_difference_upper"] > 0
    # Rows that differ may have been missed: a loss of one in n is not excluded.
    assert row["performance_pvalue"] > 0.2
    assert row["performance_difference_lower"] < -1 / n_rows
    assert not row["confirmed"]


@pytest.mark.slow
def test_rows_without_weight_change_nothing(result):
    y, scores, groups = scored()
    rng = np.random.default_rng(1)
    more = {name: [*values, *rng.normal(9, 9, 50)] for name, values in scores.items()}
    y, groups = (
        [*y, *rng.integers(0, 2, 50)],
        [*groups, *["F", "M"] * 25],
    )
    weights = np.repeat([1, 0], [800, 50])
    found = compare(y, more, groups, sample_weight=weights)
    assert_frame_equal(found, result)


@pytest.mark.slow
def test_the_margin_decides():
    y, scores, groups = scored()
    scores["new"] = scores["new"] + np.random.default_rng(1).normal(size=len(y)) / 2
    strict, lax = (compare(y, scores, groups, margin=m) for m in (0.0, 0.2))
    assert not strict["confirmed"].any()
    assert lax.index[lax["confirmed"]].tolist() == ["new"]


@pytest.mark.slow
def test_decisions_weights_and_rows_without_a_group():
    y, scores, groups = scored(400)
    decisions = {name: (values > 0.5) * 1 for name, values in scores.items()}
    weights = np.where(y == 1, 2.0, 1.0)
    some = encode_groups(np.where(np.arange(400) < 20, None, groups), missing="drop")
    result = compare(
        y,
        decisions,
        some,
        metric=balanced_accuracy_score,
        sample_weight=weights,
        margin=1.0,
    )
    expected = balanced_accuracy_score(y, decisions["new"], sample_weight=weights)
    assert result.loc["new", "performance"] == pytest.approx(expected)
    grouped = {name: values[20:] for name, values in decisions.items()}
    gap = mcdp(
        None, grouped["new"], sensitive_features=groups[20:], sample_weight=weights[20:]
    )
    assert result.loc["new", "disparity"] == gap


@pytest.mark.slow
def test_labels_of_text():
    y, scores, groups = scored(400)
    metric = partial(average_precision_score, pos_label="yes")
    text = compare(np.where(y, "yes", "no"), scores, groups, metric=metric)
    assert_frame_equal(text, compare(y, scores, groups))


@pytest.mark.slow
def test_one_group_is_undefined_and_nothing_is_confirmed():
    y, scores, _ = scored(100)
    with pytest.warns(UndefinedMetricWarning, match="at least two groups"):
        result = compare(y, scores, ["F"] * 100)
    assert not result["confirmed"].any()
    assert result["pvalue"].isna().all()
    assert result.loc["new", "adjusted_pvalue"] == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"baseline": "older"}, "baseline='older'"),
        ({"margin": -1}, "margin must be"),
        ({"confidence_level": 1}, "confidence_level must be"),
        ({"sample_weight": [1]}, "sample_weight must have shape"),
        ({"sample_weight": [1] + [0] * 49}, "two rows with a weight, got 1"),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(ValueError, match=re.escape(error)):
        compare(*scored(50), **options)


@pytest.mark.parametrize("metric", ["roc_auc", make_scorer(average_precision_score)])
def test_metrics_that_are_no_functions_of_labels_and_scores(metric):
    with pytest.raises(TypeError, match="metric must be a function of y_true and y_sc"):
        compare(*scored(50), metric=metric)


@pytest.mark.parametrize(
    "labels", [[1, 2], ["no", "yes"], [1, 1], [0, 0], [0.0, 0.5], [False, "1"]]
)
def test_labels_of_which_average_precision_takes_none_or_the_other(labels):
    y, scores, groups = scored(50)
    y = np.array(labels, dtype=object)[y]
    with pytest.raises(ValueError, match="y_true must hold 0 and 1, or -1 and 1, for"):
        compare(y, scores, groups)


@pytest.mark.slow
def test_labels_of_which_1_is_positive():
    y, scores, groups = scored(200)
    expected = compare(y, scores, groups)
    for labels in ([-1, 1], [False, True], [0.0, 1.0]):
        found = compare(np.array(labels)[y], scores, groups)
        assert_frame_equal(found, expected)


def test_bad_scores():
    y, scores, groups = scored(50)
    with pytest.raises(ValueError, match="new must have shape"):
        compare(y, {**scores, "new": [0.5]}, groups)
    with pytest.raises(ValueError, match="new must be finite"):
        compare(y, {**scores, "new": [np.nan] * 50}, groups)
    with pytest.raises(TypeError, match="must be a mapping of labels"):
        compare(y, scores["new"], groups)
    with pytest.raises(ValueError, match="1 missing label"):
        compare([None, *y[1:]], scores, groups)
    with pytest.raises(ValueError, match=r"y_true must have shape \(n_samples,\)"):
        compare(np.column_stack([y, y]), scores, groups)


def test_differences_are_those_from_the_baseline(result):
    for name in ("performance", "disparity"):
        differences = result[name].drop("old") - result.loc["old", name]
        found = result[f"{name}_difference"].drop("old")
        np.testing.assert_allclose(found, differences)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_comparisons_have_the_figures_of_the_table_and_their_errors(weighted):
    y, scores, groups = scored(600)
    weights = np.arange(600) % 3 if weighted else None
    result = compare_models(
        y,
        scores,
        baseline="old",
        sensitive_features=groups,
        margin=0.02,
        sample_weight=weights,
    )
    assert list(result.comparisons) == ["new", "noise"]
    kept = slice(None) if weights is None else weights > 0
    rows = Rows(
        encode_groups(groups[kept]),
        y_true=y[kept],
        weight=None if weights is None else weights[kept],
    )
    for name, found in result.comparisons.items():
        table = found.to_frame()
        for metric in ("performance", "disparity"):
            assert table.loc[metric, "baseline"] == result.table.loc["old", metric]
            assert table.loc[metric, "mitigated"] == result.table.loc[name, metric]
        # Errors are about those of mitigators, of which the mcdp has no noise.
        both = scores["old"][kept], scores[name][kept]
        expected = compare_classifiers(rows, *both).standard_error
        errors = found.standard_error
        assert errors["performance"] == pytest.approx(
            expected["average_precision"], rel=0.4
        )
        assert 0.4 * expected["mcdp"] < errors["disparity"] <= expected["mcdp"] + 1e-12
