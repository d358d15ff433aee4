"""Scorers of classifiers whose labels are text say what they say of 0 and 1."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.metrics import (
    demographic_parity_difference,
    get_fairness_scorer,
    get_fairness_scorer_names,
    make_fairness_scorer,
)

LABELS = np.array(["<=50K", ">50K"])
PARITY = "neg_demographic_parity_difference"
#: Of scores, decisions and errors.
QUICK = PARITY, "neg_mcdp", "neg_equalized_odds_difference", "neg_max_gap"


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(0)
    sex = generator.choice(["F", "M"], 300)
    X = generator.normal(size=(300, 2)) + (sex == "M")[:, None]
    y = (X[:, 0] + generator.normal(size=300) > 0.7).astype(int)
    return X, y, sex


# Errors of numbers are not those of classes.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
        for name in get_fairness_scorer_names()
        if "error" not in name
    ],
)
def test_text_labels_score_as_numbers_do(people, name):
    X, y, sex = people
    scorer = get_fairness_scorer(name)
    by_number, by_text = (
        scorer(LogisticRegression().fit(X, labels), X, labels, sensitive_features=sex)
        for labels in (y, LABELS[y])
    )
    assert by_text == by_number < 0


@pytest.mark.parametrize("positive", [None, 0, 1])
@pytest.mark.parametrize("threshold", [0.3, 0.5])
def test_thresholds(people, threshold, positive):
    X, y, sex = people
    model = LogisticRegression().fit(X, LABELS[y])
    options = {} if positive is None else {"pos_label": LABELS[positive]}
    column = 1 if positive is None else positive
    decided = model.predict_proba(X)[:, column] >= threshold
    expected = -demographic_parity_difference(None, decided, sensitive_features=sex)
    for scorer in (
        get_fairness_scorer(PARITY, threshold=threshold, **options),
        make_fairness_scorer(
            demographic_parity_difference, threshold=threshold, **options
        ),
        get_fairness_scorer(
            PARITY, threshold=threshold, response_method="predict_proba", **options
        ),
    ):
        assert scorer(model, X, LABELS[y], sensitive_features=sex) == expected


def test_thresholds_of_predicted_text_are_refused(people):
    X, y, sex = people
    model = LogisticRegression().fit(X, LABELS[y])
    scorer = get_fairness_scorer(PARITY, threshold=0.5, response_method="predict")
    with pytest.raises(ValueError, match="where y_pred holds labels"):
        scorer(model, X, LABELS[y], sensitive_features=sex)
