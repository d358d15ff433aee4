"""Scores of rows that a model was not fitted to, and means over repeated folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.tree import DecisionTreeClassifier

from skfair._training_rows import TrainingRows
from skfair.datasets import make_biased_classification
from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor
from skfair.postprocessing._held_out import (
    Fold,
    MeanVote,
    average_repeats,
    make_splits,
)
from skfair.postprocessing._madd_post_processor import share_scores

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


def stratified_folds(y, groups, cv, seed):
    model = MADDPostProcessor(LogisticRegression(), cv=cv, random_state=seed)
    return make_splits(model, None, y, groups.codes, {})


def test_stratified_folds():
    generator = np.random.default_rng(0)
    y, sex = generator.integers(0, 2, 103), generator.integers(0, 3, 103)
    groups = encode_groups(sex)
    folds = stratified_folds(y, groups, 4, None)
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(103))
    for label in (0, 1):
        for group in range(3):
            both = (y == label) & (sex == group)
            sizes = [both[test].sum() for _, test in folds]
            assert max(sizes) - min(sizes) <= 1
    again, other = (
        [test for _, test in stratified_folds(y, groups, 4, seed)] for seed in (1, 1)
    )
    assert all(np.array_equal(a, b) for a, b in zip(again, other, strict=True))
    assert not np.array_equal(again[0], folds[0][1])


@pytest.mark.parametrize("dtype", [object, str, int])
def test_fewer_rows_of_a_class_than_folds(dtype):
    y = np.array([0, 1] * 10 + [0] * 5).astype(dtype)
    groups = encode_groups(["a"] * 25)
    with pytest.raises(ValueError, match=r"cv=11 .* each class, got 10 of class '?1'?"):
        stratified_folds(y, groups, 11, None)


def test_a_generator_of_splits_serves_once():
    X, y, groups = np.arange(40.0)[:, None], [0, 1] * 20, list("aabb") * 10
    model = MADDPostProcessor(LogisticRegression(), cv=iter([]))
    with pytest.raises(ValueError, match="cv must have at least one split, got none"):
        model.fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize(("tied", "expected"), [(20, False), (21, True)])
def test_scores_are_shared_from_a_fifth_of_a_group_on(tied, expected):
    scores = np.linspace(0.1, 0.9, 200)
    scores[:tied] = 0.95
    groups = encode_groups(np.repeat(["a", "b"], 100))
    rows = TrainingRows(None, np.zeros(200, dtype=int), groups, scores=scores)
    assert share_scores([rows]) is expected


def test_mean_of_what_rows_were_held_out_from():
    halves = [np.arange(3), np.arange(3, 6)]
    odd_even = [np.arange(0, 6, 2), np.arange(1, 6, 2)]
    parts = [
        Fold(name, rows, np.column_stack([np.full(3, 1 - value), np.full(3, value)]))
        for name, rows, value in zip(
            "abcd", halves + odd_even, [0.0, 0.2, 0.4, 0.8], strict=True
        )
    ]
    assert average_repeats(parts[:2], 6) == parts[:2]
    (only,) = average_repeats(parts, 6)
    assert only.model.estimators == ["a", "c"]
    assert_array_equal(only.rows, np.arange(6))
    assert_allclose(only.probabilities[:, 1], [0.2, 0.4, 0.2, 0.5, 0.3, 0.5])


def test_splits_that_are_no_repeats_stay(biased):
    X, y, groups = biased
    for cv in (StratifiedKFold(4), ShuffleSplit(9, test_size=0.3, random_state=0)):
        model = MADDPostProcessor(LogisticRegression(), cv=cv, ensemble=True)
        model.fit(X, y, sensitive_features=groups)
        assert len(model.estimators_) == cv.get_n_splits()


def test_fit_where_transformers_return_tables(biased):
    X, y, groups = biased
    model = MADDPostProcessor(LogisticRegression(), repair_level=1.0)
    expected = model.fit(X, y, sensitive_features=groups).comparison_
    with config_context(transform_output="pandas"):
        found = model.fit(X, y, sensitive_features=groups).comparison_
    assert found == expected


@pytest.mark.parametrize("ensemble", [True, "auto"])
def test_all_models_where_scores_are_not_shared(biased, ensemble):
    X, y, groups = biased
    model = MADDPostProcessor(LogisticRegression(), cv=REPEATS, ensemble=ensemble)
    model.fit(X, y, sensitive_features=groups)
    assert len(model.estimators_) == 12


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [True, "auto"])
def test_one_model_of_each_repeat(biased, ensemble):
    X, y, groups = biased
    tree = DecisionTreeClassifier(random_state=0)
    model = MADDPostProcessor(tree, cv=REPEATS, ensemble=ensemble)
    model.fit(X, y, sensitive_features=groups)
    assert isinstance(model.estimator_, MeanVote)
    assert model.estimators_ == [model.estimator_]
    firsts = [train for train, _ in REPEATS.split(X, y)][::4]
    members = [clone(tree).fit(X.iloc[rows], y[rows]) for rows in firsts]
    scores = np.mean([member.predict_proba(X)[:, 1] for member in members], axis=0)
    expected = model.repairer_.transform(scores, sensitive_features=groups)
    found = model.predict_proba(X, sensitive_features=groups)[:, 1]
    assert_allclose(found, expected, atol=1e-12)
    assert 0 < model.standard_error_ < 0.05


@pytest.mark.slow
def test_refit_by_repeats(biased):
    X, y, groups = biased
    model = MADDPostProcessor(DecisionTreeClassifier(), cv=REPEATS, ensemble=False)
    with pytest.warns(MitigationWarning, match="share a score"):
        model.fit(X, y, sensitive_features=groups)
    assert isinstance(model.estimator_, DecisionTreeClassifier)
    assert model.losses_["accuracy_loss"][0] < 0.5


@pytest.mark.slow
def test_repeats_repair_trees(biased):
    new, new_y, new_groups = make_biased(1500, seed=1)
    gaps, accuracies = {}, {}
    for name, options in {
        "folds": {"cv": 5, "ensemble": True},
        "refit": {"cv": 5, "ensemble": False},
        "repeats": {"cv": REPEATS},
    }.items():
        model = MADDPostProcessor(
            DecisionTreeClassifier(random_state=0),
            repair_level=1.0,
            ties="random",
            random_state=0,
            **options,
        ).fit(*biased[:2], sensitive_features=biased[2])
        scores = model.predict_proba(new, sensitive_features=new_groups)[:, 1]
        gaps[name] = mcdp(None, scores, sensitive_features=new_groups)
        accuracies[name] = accuracy_score(new_y, scores >= 0.5)
    assert gaps["repeats"] < 0.1
    assert accuracies["repeats"] > accuracies["refit"]
