"""Scorers without usable groups or labels: nan with a warning, or an error."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import get_fairness_scorer


def test_fold_without_a_group_scores_nan_with_its_name(table, make_model):
    X, y = table
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    women = X["sex"] == 0
    with pytest.warns(UndefinedMetricWarning, match=r"only \[0\]"):
        assert np.isnan(scorer(model, X[women], y[women]))
    lost = encode_groups(X["race"])[np.asarray(X["race"] < 2)]
    with pytest.warns(UndefinedMetricWarning, match="2 has 0 rows"):
        value = scorer(
            model,
            X[X["race"] < 2],
            y[X["race"] < 2],
            sensitive_features=lost,
        )
    assert np.isnan(value)


def test_no_groups_at_all(table, make_model):
    X, y = table
    with pytest.raises(ValueError, match="scorer of mcdp was given no groups"):
        get_fairness_scorer("neg_mcdp")(make_model().fit(X, y), X, y)


def test_column_that_is_not_there(table, make_model):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="gender")
    with pytest.raises(ValueError, match=r"no column 'gender'.*'sex', 'race'"):
        scorer(make_model().fit(X, y), X, y)


def test_wrong_length_of_groups(table, make_model):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp")
    with pytest.raises(ValueError, match="has 599 rows, expected 600"):
        scorer(make_model().fit(X, y), X, y, sensitive_features=X["sex"][1:])


def test_multiclass_is_refused(table, make_model):
    X, _ = table
    y = np.arange(len(X)) % 3
    model = make_model().fit(X, y)
    for name in ("neg_mcdp", "neg_demographic_parity_difference"):
        scorer = get_fairness_scorer(name, sensitive_features="sex")
        with pytest.raises(ValueError, match=r"y_true must be binary, got 3 classes"):
            scorer(model, X, y)
