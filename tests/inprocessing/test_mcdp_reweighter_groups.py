"""Where the groups come from: none, many, small ones and rows without one."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.inprocessing import MCDPReweighter

TREES = HistGradientBoostingClassifier(
    max_iter=20, max_leaf_nodes=8, early_stopping=False
)


def test_history_without_groups(people, logistic):
    X, y, _ = people
    model = logistic()
    with pytest.warns(UserWarning, match=r"no sensitive_features: no gap is penalised"):
        model.fit(X, y)
    assert np.isnan(model.history_["gap"][0])
    assert model.history_["penalised_loss"][0] == model.history_["loss"][0]
    logistic(strength=0).fit(X, y)  # nothing to warn of


def test_more_than_two_groups(people, logistic, gap):
    X, y, _ = people
    third = np.digitize(X["proxy"], [0.2, 1.5])
    plain = gap(LogisticRegression().fit(X, y), X, third)
    model = logistic(strength=3).fit(X, y, sensitive_features=third)
    assert model.groups_ == (0, 1, 2)
    assert gap(model, X, third) < 0.7 * plain
    many = logistic(max_iter=2).fit(X, y, sensitive_features=np.arange(len(y)) % 500)
    assert len(many.groups_) == 500
    assert np.isfinite(many.sample_weight_).all()


def test_group_of_one_row(people, logistic):
    X, y, sex = people
    rare = sex.to_numpy(dtype=object).copy()
    rare[0] = "X"
    for inner in (LogisticRegression(), TREES):
        model = MCDPReweighter(inner).fit(X, y, sensitive_features=rare)
        assert np.isfinite(model.sample_weight_).all()
        assert np.isfinite(model.predict_proba(X)).all()
    alone = np.where(np.arange(len(y)) == 0, "X", "M")
    with pytest.raises(ValueError, match="leaves 1 group to train on or to hold out"):
        logistic(validation_fraction=0.2).fit(X, y, sensitive_features=alone)


def test_one_group_with_weight(people, logistic):
    X, y, sex = people
    with pytest.raises(ValueError, match=r"groups \['F'\], expected at least two"):
        logistic().fit(X, y, sensitive_features=sex, sample_weight=sex == "F")


def test_rows_without_a_group_count_in_the_loss_only(people, logistic, gap):
    X, y, sex = people
    known = sex.mask(np.arange(len(sex)) % 10 == 0, None)
    groups = encode_groups(known, missing="drop")
    model = logistic(strength=1).fit(X, y, sensitive_features=groups)
    assert gap(model, X, groups) < 0.25
    assert (model.sample_weight_[::10].sum(axis=1) > 0).all()
