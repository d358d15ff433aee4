"""One clear error for bad parameters and rows, and for training that fails."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError


@pytest.fixture(scope="module")
def people(make_people):
    X, y, sex = make_people()
    return X[["skill", "proxy"]], y, sex


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"strength": -0.1}, r"strength must be a number in \[0, inf\), got -0.1"),
        ({"strength": np.nan}, "strength must be"),
        ({"temperature": 0}, r"temperature must be a number in \(0, inf\), got 0"),
        ({"objective": "ks"}, "objective must be 'mcdp', 'dp' or 'abcc', got 'ks'"),
        ({"hidden_layer_sizes": (8, 0)}, "hidden_layer_sizes must be an integer of"),
        ({"hidden_layer_sizes": 2.5}, "hidden_layer_sizes must be an integer of"),
        ({"hidden_layer_sizes": "8"}, "hidden_layer_sizes must be an integer of"),
        ({"hidden_layer_sizes": None}, "hidden_layer_sizes must be an integer of"),
        ({"alpha": -1}, "alpha must be"),
        ({"learning_rate_init": 0}, "learning_rate_init must be"),
        ({"learning_rate": "adaptive"}, "learning_rate must be 'constant' or 'step'"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, got 0"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"dropout": 1}, r"dropout must be a number in \[0, 1\), got 1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"early_stopping": "yes"}, "early_stopping must be True or False"),
    ],
)
def test_bad_parameters(people, parameters, match, quick):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        quick(**parameters).fit(X, y, sensitive_features=sex)


def test_a_group_without_weight(people, quick):
    X, y, sex = people
    with pytest.raises(ValueError, match=r"has the groups \['F'\], expected"):
        quick().fit(X, y, sensitive_features=sex, sample_weight=(sex == "F") + 0.0)


def test_scores_that_turn_nan_stop_the_training(people, quick):
    X, y, sex = people
    with pytest.raises(ValueError, match=r"stopped in step 2, .*standardise X"):
        quick().fit(X * 1e300, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="learning_rate_init=1e\\+300"):
        quick(learning_rate_init=1e300).fit(X, y, sensitive_features=sex)


def test_not_fitted(people, quick):
    X, y, sex = people
    model = quick()
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="Training stopped"):
        model.fit(X * 1e300, y, sensitive_features=sex)
    with pytest.raises(NotFittedError):
        model.predict(X)
