"""Weights that make label and group independent, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.inprocessing import reweighing_weights
from skfair.metrics import demographic_parity_difference


@pytest.fixture
def people():
    """300 rows of three groups, three classes and two strata, which go together."""
    rng = np.random.default_rng(0)
    stratum = rng.integers(0, 2, 300)
    group = rng.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1])
    label = (rng.normal(1, 0.8, 300) + 0.4 * (group == "a") * stratum).round()
    label = label.clip(0, 2).astype(int)
    return label, group, stratum, rng.uniform(0.5, 2, 300)


def brute_force(label, group, stratum, weight):
    """Weigh row by row, with shares of the weights in the stratum of the row."""
    found = []
    for i in range(len(label)):
        inside = stratum == stratum[i]
        same_label, same_group = (
            inside & (label == label[i]),
            inside & (group == group[i]),
        )
        shares = [
            weight[part].sum() / weight[inside].sum()
            for part in (same_label, same_group, same_label & same_group)
        ]
        found.append(weight[i] * shares[0] * shares[1] / shares[2])
    return np.array(found)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stratified", [False, True])
def test_weights_are_those_of_each_row(people, weighted, stratified):
    label, group, stratum, weight = people
    found = reweighing_weights(
        label,
        sensitive_features=group,
        control_features=stratum if stratified else None,
        sample_weight=weight if weighted else None,
    )
    weight = weight if weighted else np.ones(300)
    stratum = stratum if stratified else np.zeros(300)
    assert_allclose(found, brute_force(label, group, stratum, weight), rtol=1e-12)
    assert found.sum() == pytest.approx(weight.sum())


def test_labels_are_as_frequent_in_all_groups(people):
    label, group, *_ = people
    positive = label == 1
    weights = reweighing_weights(positive, sensitive_features=group)
    rates = [
        np.average(positive[group == name], weights=weights[group == name])
        for name in "abc"
    ]
    assert_allclose(rates, positive.mean())


def test_rows_without_a_group_keep_their_weights(people):
    label, group, _, weight = people
    named = np.where(group == "c", None, group)
    groups = encode_groups(named, missing="drop")
    found = reweighing_weights(label, sensitive_features=groups, sample_weight=weight)
    known = group != "c"
    assert_allclose(found[~known], weight[~known])
    alone = reweighing_weights(
        label[known], sensitive_features=group[known], sample_weight=weight[known]
    )
    assert_allclose(found[known], alone)


def test_weights_of_zero_stay_zero_and_labels_are_any_text(people):
    label, group, _, weight = people
    weight = weight * (np.arange(300) % 3 > 0)
    found = reweighing_weights(label, sensitive_features=group, sample_weight=weight)
    assert_allclose(found[weight == 0], 0)
    assert (found[weight > 0] > 0).all()
    names = np.array(["no", "yes", "perhaps"])[label]
    of_text = reweighing_weights(names, sensitive_features=group, sample_weight=weight)
    assert_allclose(of_text, found)


def test_a_group_without_a_label_is_named(people):
    label, group, *_ = people
    label = np.where((group == "b") & (label == 2), 0, label)
    with pytest.warns(UserWarning, match="group 'b' has no row of label 2"):
        found = reweighing_weights(label, sensitive_features=group)
    assert found.sum() < 300


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.2, 1.0, 0.0], "y must be class labels, got the continuous value 0.2"),
        ([0, None, 1], "y has 1 missing label, expected none"),
        ([[0, 1], [1, 0], [0, 1]], r"y must have shape \(n_samples,\)"),
        ([0, 1], "sensitive_features"),
    ],
)
def test_wrong_labels_are_errors(y, message):
    with pytest.raises(ValueError, match=message):
        reweighing_weights(y, sensitive_features=["a", "b", "a"])


def test_a_fit_with_the_weights_differs_less_between_groups(proxy_people):
    X, y, sex = proxy_people
    weights = reweighing_weights(y, sensitive_features=sex)
    gaps = [
        demographic_parity_difference(
            None,
            LogisticRegression().fit(X, y, sample_weight=each).predict(X),
            sensitive_features=sex,
            pos_label="yes",
        )
        for each in (None, weights)
    ]
    assert gaps[1] < 0.9 * gaps[0]
