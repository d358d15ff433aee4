"""Scores of rows that a model was not fitted to, and means over repeated folds."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    ShuffleSplit,
)

from skfair.datasets import make_biased_classification
from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.postprocessing import MADDPostProcessor

REPEATS = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0)


def make_biased(n_samples, seed):
    """Features without the column of groups, classes, and groups."""
    X, y = make_biased_classification(
        n_samples, score_shifts={"group": {"b": 1.5}}, random_state=seed
    )
    return X.drop(columns="group"), y, X["group"]


@pytest.fixture(scope="module")
def biased():
    return make_biased(1500, seed=0)


class Remembers(LogisticRegression):
    """Keeps the numbers of its rows, which are the first column."""

    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0].astype(int)
        return super().fit(X, y, sample_weight)


def stratified_folds(y, groups, cv, seed):
    """Rows held out of each model."""
    model = MADDPostProcessor(Remembers(), cv=cv, random_state=seed, repair_level=1.0)
    numbers = np.arange(len(y))
    X = np.column_stack([numbers, np.random.default_rng(0).normal(size=len(y))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        model.fit(X, y, sensitive_features=groups)
    return [np.setdiff1d(numbers, each.rows_) for each in model.estimators_]


def test_stratified_folds():
    generator = np.random.default_rng(0)
    y, sex = generator.integers(0, 2, 103), generator.integers(0, 3, 103)
    groups = encode_groups(sex)
    folds = stratified_folds(y, groups, 4, None)
    assert_array_equal(np.sort(np.concatenate(folds)), range(103))
    for label in (0, 1):
        for group in range(3):
            both = (y == label) & (sex == group)
            sizes = [both[test].sum() for test in folds]
            assert max(sizes) - min(sizes) <= 1
    again, other = (stratified_folds(y, groups, 4, seed) for seed in (1, 1))
    assert all(np.array_equal(a, b) for a, b in zip(again, other, strict=True))
    assert not np.array_equal(again[0], folds[0])


@pytest.mark.parametrize("dtype", [str, int])
def test_fewer_rows_of_a_class_than_folds(dtype):
    y = np.array([0, 1] * 10 + [0] * 5).astype(dtype)
    groups = encode_groups(["a", "a", "b", "b", "b"] * 5)
    with pytest.raises(ValueError, match=r"cv=11 .* each class, got 10 of class '?1'?"):
        stratified_folds(y, groups, 11, None)


def test_a_generator_of_splits_serves_once():
    X, y, groups = np.arange(40.0)[:, None], [0, 1] * 20, list("aabb") * 10
    model = MADDPostProcessor(LogisticRegression(), cv=iter([]))
    with pytest.raises(ValueError, match="cv must have at least one split, got none"):
        model.fit(X, y, sensitive_features=groups)


@pytest.mark.slow
def test_fit_where_transformers_return_tables(biased):
    X, y, groups = biased
    model = MADDPostProcessor(LogisticRegression(), repair_level=1.0)
    expected = model.fit(X, y, sensitive_features=groups).comparison_
    with config_context(transform_output="pandas"):
        found = model.fit(X, y, sensitive_features=groups).comparison_
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "cv", [REPEATS, ShuffleSplit(9, test_size=0.3, random_state=0)]
)
def test_models_of_all_splits_are_averaged(biased, cv):
    X, y, groups = biased
    model = MADDPostProcessor(LogisticRegression(), cv=cv)
    model.fit(X, y, sensitive_features=groups)
    assert len(model.estimators_) == cv.get_n_splits()
    assert 0 < model.standard_error_ < 0.05
