import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from skfair.datasets import make_biased_classification
from skfair.metrics import (
    bootstrap_interval,
    certify,
    confidence_interval,
    demographic_parity_difference,
    get_fairness_scorer,
    group_metrics,
    permutation_test,
)
from skfair.model_selection import cross_val_fairness

MEANS = "y_pred holds numbers between 0 and 1.* threshold=0.5 compares decisions"


@pytest.mark.promise(
    "Means of probabilities are not taken for rates of decisions: a warning names "
    "`threshold=0.5`, once a line"
)
def test_means_of_probabilities_are_told_apart_from_rates():
    scores, sex = [0.2, 0.4, 0.9, 0.7] * 10, ["F", "F", "M", "M"] * 10
    rows = {"sensitive_features": sex}
    with pytest.warns(UserWarning, match=MEANS):
        means = demographic_parity_difference(None, scores, **rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        real = demographic_parity_difference(None, scores, **rows, scale="real")
        demographic_parity_difference(None, scores, **rows, threshold=0.5)
        demographic_parity_difference(None, [0.0, 1.0, 1.0, 1.0] * 10, **rows)
        demographic_parity_difference(None, [3, 0.4, 9, 7] * 10, **rows, scale="real")
    assert means == pytest.approx(real)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        strata = [0, 1, 0, 1] * 10
        demographic_parity_difference(None, scores, **rows, control_features=strata)
    assert len(caught) == 1


@pytest.mark.slow
def test_what_calls_the_metric_does_not_warn_of_means():
    X, y = make_biased_classification(
        200, group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    )
    metric, model = demographic_parity_difference, LogisticRegression().fit(X, y)
    rows = {"sensitive_features": X["sex"]}
    scores = model.predict_proba(X)[:, 1]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", MEANS)
        permutation_test(metric, None, scores, **rows, n_permutations=9)
        bootstrap_interval(metric, None, scores, **rows, n_resamples=9)
        of_classes = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
        metric(None, of_classes, sensitive_features=["a", "b"])
        confidence_interval(metric, None, scores, **rows)
        certify(metric, None, scores, **rows, at_most=0.5)
        group_metrics("selection_rate", y, scores >= 0.5, **rows)
        name = "neg_demographic_parity_difference"
        options = {"sensitive_features": "sex", "response_method": "predict_proba"}
        get_fairness_scorer(name, **options)(model, X, y)
        cross_val_fairness(metric, model, X, y, cv=2, sensitive_features="sex")


@st.composite
def grouped_rows(draw):
    n_groups = draw(st.integers(2, 5))
    n_rows = draw(st.integers(n_groups, 25))
    size = {"min_size": n_rows, "max_size": n_rows}
    groups = draw(st.lists(st.integers(0, n_groups - 1), **size))
    groups[:n_groups] = range(n_groups)
    scores = draw(st.lists(st.floats(0, 1), **size))
    weights = draw(st.lists(st.floats(0.125, 8), **size))
    return np.array(scores), np.array(groups), np.array(weights)


def means_by_group(values, groups, weights=None):
    return np.array(
        [
            np.average(
                values[groups == group],
                weights=None if weights is None else weights[groups == group],
            )
            for group in np.unique(groups)
        ]
    )


@given(grouped_rows())
def test_pairwise_is_the_range_of_group_means(rows):
    values, groups, weights = rows
    for sample_weight in (None, weights):
        means = means_by_group(values, groups, sample_weight)
        value = demographic_parity_difference(
            None, values, sensitive_features=groups, sample_weight=sample_weight
        )
        assert value == pytest.approx(means.max() - means.min(), abs=1e-14)


@given(grouped_rows(), st.floats(0, 1))
def test_threshold_compares_rates_of_scores_that_reach_it(rows, threshold):
    values, groups, _ = rows
    rates = means_by_group(values >= threshold, groups)
    value = demographic_parity_difference(
        None, values, sensitive_features=groups, threshold=threshold
    )
    assert value == pytest.approx(rates.max() - rates.min(), abs=1e-14)


@pytest.mark.parametrize("dtype", [int, float, bool, np.int8, object])
def test_zero_one_labels_compare_selection_rates(dtype):
    y_pred = np.array([0, 1, 1, 1, 0, 0, 0, 1], dtype=dtype)
    value = demographic_parity_difference(
        None, y_pred, sensitive_features=[0, 0, 0, 0, 1, 1, 1, 1]
    )
    assert value == 0.5


@pytest.mark.parametrize(
    "container", [list, np.array, pd.Series, pd.Categorical], ids=lambda c: c.__name__
)
def test_text_labels_with_pos_label(container):
    y_pred = ["yes", "no", "yes", "yes", "no", "no"]
    value = demographic_parity_difference(
        None,
        container(y_pred),
        sensitive_features=[0, 0, 0, 1, 1, 1],
        pos_label="yes",
    )
    assert value == pytest.approx(1 / 3)


@pytest.mark.parametrize("pos_label", ["yes", "no"])
def test_both_labels_of_two_give_the_same_difference(pos_label):
    y_pred = np.array(["yes", "no", "yes", "yes", "no", "no"])
    value = demographic_parity_difference(
        None, y_pred, sensitive_features=[0, 0, 0, 1, 1, 1], pos_label=pos_label
    )
    assert value == pytest.approx(1 / 3)


def test_one_label_only_is_all_positive_or_all_negative():
    groups = [0, 0, 1]
    for pos_label in ("yes", "no"):
        value = demographic_parity_difference(
            None, ["no"] * 3, sensitive_features=groups, pos_label=pos_label
        )
        assert value == 0


@pytest.mark.parametrize(
    ("y_pred", "pos_label", "message"),
    [
        (["yes", "no"], None, r"pos_label .*y_pred .*'yes'"),
        (["yes", "no"], "maybe", r"'maybe' .pos_label.*'yes', 'no'"),
        (["1", "1"], 1, "y_pred and pos_label must both"),
        ([1, 1], "1", "y_pred and pos_label must both"),
        ([b"1", b"1"], 1, "y_pred and pos_label must both"),
        (["a", "b", "c"], "a", r"y_pred .* at most two labels"),
    ],
)
def test_bad_labels(y_pred, pos_label, message):
    groups = [0, 1, 1][: len(y_pred)]
    with pytest.raises(ValueError, match=message):
        demographic_parity_difference(
            None, y_pred, sensitive_features=groups, pos_label=pos_label
        )


@pytest.mark.parametrize("threshold", [float("nan"), "a", [0.5], 50, -0.1])
def test_bad_threshold(threshold):
    with pytest.raises(ValueError, match=r"threshold must be .* got"):
        demographic_parity_difference(
            None, [0.2, 0.4], sensitive_features=[0, 1], threshold=threshold
        )
