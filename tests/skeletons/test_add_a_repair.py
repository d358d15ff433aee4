"""A skeleton of a repair with its test: copy this file, and change what is marked.

    cp tests/skeletons/test_add_a_repair.py tests/postprocessing/test_my_repair.py
    python -m pytest -n 0 tests/postprocessing/test_my_repair.py

The repair shifts the scores of each group to a common mean. `RepairedClassifier` does
all else: it holds rows out, teaches the repair their scores, compares the result with
the plain classifier, and works in pipelines and searches. When its tests pass, move the
class to `skfair/postprocessing`, as CONTRIBUTING.md says.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skfair.datasets import make_biased_classification
from skfair.metrics import mcdp
from skfair.postprocessing import RepairedClassifier


class EqualMeans(BaseEstimator):  # so that GridSearchCV finds its options
    """Shift the scores of each group to the mean of all."""

    # CHANGE: the options.
    def __init__(self, strength=1.0):
        self.strength = strength

    # CHANGE: what held-out rows teach. `rows` have the scores `y_pred`, the labels
    # `y_true` (0 or 1), `weights`, and `groups` with their `labels`, and `codes` that
    # are positions in these. A fold may lack a group of few rows.
    def fit(self, rows):
        codes, n_groups = rows.groups.codes, len(rows.groups.labels)
        totals = np.bincount(codes, rows.weights, n_groups)
        sums = np.bincount(codes, rows.weights * rows.y_pred, n_groups)
        excess = sums - totals * sums.sum() / totals.sum()  # 0 of an absent group
        self.shifts_ = -self.strength * excess / np.where(totals > 0, totals, 1)
        return self

    # CHANGE: new scores in [0, 1], from scores and codes.
    def __call__(self, scores, groups):
        return (scores + self.shifts_[groups]).clip(0, 1)


@pytest.fixture(scope="module")
def people():
    """Training and test rows of two groups; b has higher scores."""
    X, y = make_biased_classification(
        4_000, score_shifts={"group": {"b": 1.0}}, random_state=0
    )
    return train_test_split(X, y, random_state=0)


def repaired(strength):
    """Return a classifier that shifts scores by a share of the difference."""
    return RepairedClassifier(
        LogisticRegression(),
        EqualMeans(strength),
        sensitive_features="group",
        drop_sensitive=True,
    )


# CHANGE: what the repair promises, by its definition, on rows that it has not seen.
@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_groups_have_similar_means(people, weight):
    X, X_test, y, y_test = people
    # How much the truly positive of a weigh, and the truly negative of b.
    weights, weights_test = (
        np.where((labels == 1) == (rows["group"] == "a"), weight, 1.0)
        for rows, labels in ((X, y), (X_test, y_test))
    )
    model = repaired(1.0).fit(X, y, sample_weight=weights)
    scores = model.predict_proba(X_test)[:, 1]
    means = [
        np.average(scores[own], weights=weights_test[own])
        for own in (X_test["group"] == "a", X_test["group"] == "b")
    ]
    # Not equal: shifts are those of held-out training rows, scores end at 0 and 1, and
    # the mean of 500 test rows of a group varies by about .01.
    assert abs(means[0] - means[1]) < 0.05


# Nothing to change.
@pytest.mark.parametrize("name", ["0", "z"])  # before the other groups, and after them
def test_a_group_of_one_row(people, name):
    X, _, y, _ = people
    X = X.assign(group=np.where(np.arange(len(X)) == 0, name, X["group"]))
    scores = repaired(1.0).fit(X, y).predict_proba(X)
    assert np.isfinite(scores).all()


def test_the_gap_is_smaller_than_the_plain_classifiers(people):
    X, X_test, y, _ = people
    plain = LogisticRegression().fit(X.drop(columns="group"), y)
    scores = {
        "plain": plain.predict_proba(X_test.drop(columns="group"))[:, 1],
        "repaired": repaired(1.0).fit(X, y).predict_proba(X_test)[:, 1],
    }
    gaps = {
        name: mcdp(None, score, sensitive_features=X_test["group"])
        for name, score in scores.items()
    }
    assert gaps["repaired"] < gaps["plain"] - 0.03
