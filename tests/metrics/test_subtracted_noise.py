"""Noise that is subtracted from a disparity."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    madd,
    mcdp,
    permutation_test,
)
from skfair.model_selection import cross_val_fairness


class ScoresAsGiven(ClassifierMixin, BaseEstimator):
    """Classifier whose scores are the only column of X."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def corrected(metric, scores, groups):
    y = np.arange(len(scores)) % 2
    few = {"n_resamples": 2, "n_permutations": 2}
    return cross_val_fairness(
        metric,
        ScoresAsGiven(),
        scores[:, np.newaxis],
        y,
        sensitive_features=groups,
        response_method="predict_proba",
        **few,
    ).corrected


def null_of(metric, scores, groups, **strata):
    rows = {"sensitive_features": groups, "n_permutations": 40, "random_state": 0}
    return permutation_test(metric, None, scores, **rows, **strata)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, 300)
    return rng.random(300) ** (1 + 0.4 * groups), groups


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "n_groups"),
    [(mcdp, 2), (madd, 2), (abcc, 2), (demographic_parity_difference, 2), (mcdp, 11)],
)
def test_of_two_groups_or_many_the_mean_square_of_permutations(metric, n_groups, rows):
    """More than ten groups are compared as a whole."""
    scores, groups = rows
    groups = groups > 0 if n_groups == 2 else np.arange(300) % n_groups
    test = null_of(metric, scores, groups)
    square = test.value**2 - np.mean(test.null_distribution**2)
    assert square > 0 or n_groups > 2
    found = corrected(metric, scores, groups)
    assert found == pytest.approx(np.sqrt(max(square, 0)))


def test_of_several_groups_by_pair(rows):
    scores, groups = rows

    def pairs(codes):
        """Values of the pairs 0 1, 0 2 and 1 2."""
        kept = [codes != other for other in (2, 1, 0)]
        return np.array(
            [mcdp(None, scores[k], sensitive_features=codes[k]) for k in kept]
        )

    seen = []

    def record(y_true, y_score, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    null_of(record, scores, groups)
    null = np.array([pairs(codes) ** 2 for codes in seen[1:]])
    noise = null.mean(axis=0)
    largest = (null / noise).max(axis=1).mean()
    assert 1.2 < largest < 3
    squares = pairs(groups) ** 2 - largest * noise
    expected = np.sqrt(max(squares.max(), 0))
    assert corrected(mcdp, scores, groups) == pytest.approx(expected)


def test_ends_at_zero(rows):
    scores, _ = rows
    alternating = np.argsort(np.argsort(scores)) % 2
    assert corrected(mcdp, scores, alternating) == 0
