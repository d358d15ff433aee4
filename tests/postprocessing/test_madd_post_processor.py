import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.groups import encode_groups
from skfair.metrics import get_fairness_scorer, mcdp
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer
from skfair.postprocessing._held_out import balanced_folds


def make_people(n_samples, seed=0):
    generator = np.random.default_rng(seed)
    sex = np.where(generator.random(n_samples) < 0.4, "F", "M")
    skill = generator.normal(size=n_samples)
    X = pd.DataFrame(
        {
            "is_man": (sex == "M") + 0.0,
            "skill": skill,
            "noise": generator.normal(size=n_samples),
        }
    )
    chance = 1 / (1 + np.exp(-1.5 * skill - 1.5 * X["is_man"] + 0.7))
    y = np.where(generator.random(n_samples) < chance, "yes", "no")
    return X, y, pd.Series(sex, name="sex", index=np.arange(n_samples)[::-1])


@pytest.fixture(scope="module")
def people():
    return make_people(2000)


def gap(model, X, groups, **given):
    scores = model.predict_proba(X, **given)[:, 1]
    return mcdp(None, scores, sensitive_features=groups)


@pytest.mark.parametrize("ensemble", [True, False, "auto"])
def test_repair_on_new_rows(people, ensemble):
    X, y, sex = people
    new, new_y, new_sex = make_people(2000, seed=1)
    model = MADDPostProcessor(
        LogisticRegression(), ensemble=ensemble, repair_level=1.0
    ).fit(X, y, sensitive_features=sex)
    plain = LogisticRegression().fit(X, y)
    assert gap(plain, new, new_sex) > 0.4
    assert gap(model, new, new_sex, sensitive_features=new_sex) < 0.08
    predicted = model.predict(new, sensitive_features=new_sex)
    assert set(predicted) == {"no", "yes"}
    assert np.mean(predicted == new_y) > 0.6
    assert len(model.estimators_) == len(model.repairers_) == 1 + 4 * bool(ensemble)
    assert model.groups_ == ("F", "M")


def test_fitted_attributes(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), n_levels=21)
    assert model.fit(X, y, sensitive_features=sex) is model
    assert list(model.objective_.columns) == [
        "level",
        "total",
        "accuracy_loss",
        "fairness_loss",
    ]
    assert len(model.objective_) == 21
    best = model.objective_["total"].argmin()
    assert model.repair_level_ == model.objective_["level"][best]
    assert isinstance(model.repairer_, ScoreRepairer)
    assert_array_equal(model.classes_, ["no", "yes"])
    assert_array_equal(model.feature_names_in_, X.columns)
    assert model.n_features_in_ == 3
    assert_allclose(
        model.estimator_.predict_proba(X),
        np.mean([member.predict_proba(X) for member in model.estimators_], axis=0),
    )
    assert set(model.estimator_.predict(X)) == {"no", "yes"}


def test_level_0_is_the_plain_classifier(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), ensemble=False, repair_level=0)
    model.fit(X, y, sensitive_features=sex)
    plain = LogisticRegression().fit(X, y)
    assert_array_equal(
        model.predict_proba(X, sensitive_features=sex)[:, 1],
        plain.predict_proba(X)[:, 1],
    )


def test_column_keyword_and_callable_agree(people):
    X, y, sex = people
    by_column = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man")
    by_keyword = MADDPostProcessor(LogisticRegression())
    by_callable = MADDPostProcessor(
        LogisticRegression(), sensitive_features=lambda X: X["is_man"] == 1
    )
    by_column.fit(X, y)
    by_keyword.fit(X, y, sensitive_features=sex)
    by_callable.fit(X, y)
    expected = by_column.predict_proba(X)
    assert_array_equal(by_keyword.predict_proba(X, sensitive_features=sex), expected)
    assert_array_equal(by_callable.predict_proba(X), expected)
    X = X.to_numpy()
    array = MADDPostProcessor(LogisticRegression(), sensitive_features=0)
    assert_allclose(array.fit(X, y).predict_proba(X), expected, atol=1e-12)


def test_keyword_wins_over_the_column(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man")
    model.fit(X, y)
    swapped = 1 - X["is_man"]
    assert not np.allclose(
        model.predict_proba(X, sensitive_features=swapped), model.predict_proba(X)
    )


class NeedsColumns(TransformerMixin, BaseEstimator):
    """Fails unless it gets a dataframe of the columns that it expects."""

    def __init__(self, columns=()):
        self.columns = columns

    def fit(self, X, y=None):
        assert list(X.columns) == list(self.columns)
        return self

    def transform(self, X):
        assert list(X.columns) == list(self.columns)
        return X

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize("drop", [True, False])
def test_inner_estimator_gets_the_users_dataframe(people, drop):
    X, y, _ = people
    columns = ["skill", "noise"] if drop else ["is_man", "skill", "noise"]
    model = MADDPostProcessor(
        make_pipeline(NeedsColumns(columns), LogisticRegression()),
        sensitive_features="is_man",
        drop_sensitive=drop,
    ).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_dropping_columns_of_arrays(people, kind):
    X, y, sex = people
    options = {"sensitive_features": [0], "drop_sensitive": True}
    model = MADDPostProcessor(LogisticRegression(), **options).fit(kind(X), y)
    other = MADDPostProcessor(LogisticRegression())
    other.fit(kind(X)[:, 1:], y, sensitive_features=sex)
    assert_allclose(
        model.predict_proba(kind(X)),
        other.predict_proba(kind(X)[:, 1:], sensitive_features=sex),
    )


def test_several_columns_are_their_intersection(people):
    X, y, _ = people
    X = X.assign(old=(X["noise"] > 0))
    columns = ["is_man", "old"]
    model = MADDPostProcessor(LogisticRegression(), sensitive_features=columns)
    assert len(model.fit(X, y).groups_) == 4
    assert gap(model, X, X[columns]) < 0.1


def test_without_groups_it_is_the_plain_classifier_and_warns(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression())
    with pytest.warns(UserWarning, match="has no sensitive_features"):
        model.fit(X, y)
    plain = LogisticRegression().fit(X, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X))
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.repairer_ is None
    assert model.repair_level_ == 0


def test_unknown_group_at_predict(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"groups \['X'\] in 1 rows"):
        model.predict(X[:2], sensitive_features=["F", "X"])
    model.set_params(unknown_groups="pooled").fit(X, y, sensitive_features=sex)
    scores = model.predict_proba(X[:2], sensitive_features=["F", "X"])
    assert_allclose(scores[1], model.estimator_.predict_proba(X[:2])[1])


def test_predict_without_groups(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="sensitive_features is None"):
        model.predict(X)
    with pytest.raises(ValueError, match="sensitive_features has 3 rows"):
        model.predict(X, sensitive_features=["F", "M", "F"])


def test_frozen_estimator_stays_as_it_is(people):
    X, y, sex = people
    plain = LogisticRegression().fit(X[:1000], y[:1000])
    coefficients = plain.coef_.copy()
    model = MADDPostProcessor(FrozenEstimator(plain), repair_level=1.0)
    model.fit(X[1000:], y[1000:], sensitive_features=sex[1000:])
    assert_array_equal(plain.coef_, coefficients)
    assert len(model.estimators_) == 1
    assert gap(model, X[1000:], sex[1000:], sensitive_features=sex[1000:]) < 0.005
    with pytest.raises(ValueError, match=r"y has the classes \['maybe'\]"):
        model.fit(X[:3], ["yes", "no", "maybe"], sensitive_features=sex[:3])
    with pytest.raises(NotFittedError):
        MADDPostProcessor(FrozenEstimator(LogisticRegression())).fit(
            X, y, sensitive_features=sex
        )


def test_frozen_estimator_without_groups(people):
    X, y, _ = people
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.warns(UserWarning, match="nothing is repaired"):
        model = MADDPostProcessor(frozen).fit(X, y)
    assert model.estimator_ is frozen


@pytest.mark.parametrize("ensemble", [True, False])
def test_sample_weight_reaches_classifier_and_repair(people, ensemble):
    X, y, sex = people
    weights = np.where(np.arange(len(y)) < 1500, 1.0, 0.0)
    model = MADDPostProcessor(GaussianNB(), ensemble=ensemble, cv=KFold(2))
    model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    total = sum(np.diff(cdf.high, prepend=0).size for cdf in model.repairer_.cdfs_)
    assert total <= 1504
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.warns(UserWarning, match=r"Pipeline\.fit takes no sample_weight"):
        MADDPostProcessor(pipeline, cv=2).fit(
            X, y, sensitive_features=sex, sample_weight=weights
        )


def test_rows_left_out_of_the_repair(people):
    X, y, sex = people
    known = sex.mask(np.arange(len(sex)) % 10 == 0, None)
    groups = encode_groups(known, missing="drop")
    model = MADDPostProcessor(LogisticRegression(), unknown_groups="pooled")
    model.fit(X, y, sensitive_features=groups)
    assert model.groups_ == ("F", "M")
    assert np.isfinite(model.predict_proba(X, sensitive_features=groups)).all()
    with pytest.raises(ValueError, match="200 missing"):
        model.fit(X, y, sensitive_features=known)


def test_small_groups(people):
    X, y, sex = people
    rare = np.array(sex, dtype=object)
    rare[:3] = "X"
    model = MADDPostProcessor(LogisticRegression(), bandwidth=0.1)
    assert len(model.fit(X, y, sensitive_features=rare).estimators_) == 1
    model.set_params(ensemble=True)
    with pytest.raises(ValueError, match=r"none of 'X', which has 3 in all"):
        model.fit(X, y, sensitive_features=rare)
    with pytest.raises(ValueError, match=r"groups \['F'\], expected at least two"):
        model.fit(X, y, sensitive_features=np.full(len(y), "F"))


def test_absent_category_is_no_group(people):
    X, y, sex = people
    groups = pd.Categorical(sex, categories=["F", "M", "X"])
    model = MADDPostProcessor(LogisticRegression())
    assert model.fit(X, y, sensitive_features=groups).groups_ == ("F", "M")


def test_balanced_folds():
    generator = np.random.default_rng(0)
    y, sex = generator.integers(0, 2, 103), generator.integers(0, 3, 103)
    groups = encode_groups(sex)
    folds = list(balanced_folds(y, groups, 4, None))
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(103))
    for label in (0, 1):
        for group in range(3):
            both = (y == label) & (sex == group)
            sizes = [both[test].sum() for _, test in folds]
            assert max(sizes) - min(sizes) <= 1
    again, other = (
        [test for _, test in balanced_folds(y, groups, 4, seed)] for seed in (1, 1)
    )
    assert all(np.array_equal(a, b) for a, b in zip(again, other, strict=True))
    assert not np.array_equal(again[0], folds[0][1])


def test_same_seed_same_result(people):
    X, y, sex = people
    options = {"random_state": 0, "ties": "random"}
    tree = DecisionTreeClassifier(max_depth=3)
    scores = [
        MADDPostProcessor(tree, **options)
        .fit(X, y, sensitive_features=sex)
        .predict_proba(X, sensitive_features=sex)
        for _ in range(2)
    ]
    assert_array_equal(*scores)
    other = MADDPostProcessor(tree, n_jobs=2, **options)
    other.fit(X, y, sensitive_features=sex)
    assert_array_equal(other.predict_proba(X, sensitive_features=sex), scores[0])


def test_inputs_are_not_modified(people):
    X, y, sex = people
    before = X.copy(), y.copy(), sex.copy()
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex).predict(X, sensitive_features=sex)
    pd.testing.assert_frame_equal(X, before[0])
    assert_array_equal(y, before[1])
    pd.testing.assert_series_equal(sex, before[2])
    assert not hasattr(model.estimator, "coef_")


def test_clone_and_pickle(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man")
    assert clone(model).get_params().keys() == model.get_params().keys()
    model.fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["is_man", None])
def test_in_pipeline_and_grid_search(people, name):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features=name, cv=3)
    scaler = StandardScaler().set_output(transform="pandas")
    search = GridSearchCV(
        make_pipeline(scaler, model),
        {
            "maddpostprocessor__repair_level": [0.0, 1.0],
            "maddpostprocessor__estimator__C": [0.1, 1.0],
        },
        scoring={
            "accuracy": "accuracy",
            "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features=name),
        },
        refit="accuracy",
        cv=3,
        error_score="raise",
    )
    if name is None:
        search.set_params(scoring=get_fairness_scorer("neg_mcdp"), refit=True)
    with config_context(enable_metadata_routing=name is None):
        given = {"sensitive_features": sex} if name is None else {}
        search.fit(X, y, **given)
    key = "mean_test_score" if name is None else "mean_test_neg_mcdp"
    gaps = -search.cv_results_[key].reshape(2, 2)  # by C, by level
    assert np.isfinite(gaps).all()
    assert (gaps[:, 1] < gaps[:, 0] / 3).all()


def test_scorer_hands_groups_on_without_routing(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex)
    scorer = get_fairness_scorer("neg_mcdp")
    assert scorer(model, X, y, sensitive_features=sex) > -0.05


def test_cross_validation_without_routing(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man", cv=2)
    scores = cross_val_score(model, X, y, cv=2, error_score="raise", scoring="roc_auc")
    assert scores.min() > 0.6


def test_routing_to_classifier_and_splitter(people):
    X, y, sex = people
    clusters = np.arange(len(y)) % 50
    weights = np.ones(len(y))
    with config_context(enable_metadata_routing=True):
        inner = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression().set_fit_request(sample_weight=True),
        )
        model = MADDPostProcessor(inner, cv=GroupKFold(3)).set_fit_request(
            sample_weight=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            model.fit(
                X, y, sensitive_features=sex, sample_weight=weights, groups=clusters
            )
        assert len(model.estimators_) == 3
        results = cross_validate(
            MADDPostProcessor(LogisticRegression()),
            X,
            y,
            params={"sensitive_features": sex},
            scoring=get_fairness_scorer("neg_mcdp"),
            error_score="raise",
        )
        assert results["test_score"].min() > -0.2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"repair_level": 2}, r"repair_level must be 'auto' or a number in \[0, 1\]"),
        ({"repair_level": "all"}, "repair_level"),
        ({"theta": -1}, "theta"),
        ({"threshold": 2}, "threshold"),
        ({"n_levels": 1}, "n_levels"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"cv": 1}, "cv"),
        ({"ensemble": "yes"}, "ensemble must be True, False or 'auto'"),
        ({"accuracy_loss": "hinge"}, "accuracy_loss"),
        ({"fairness": "dcp"}, "fairness"),
        ({"ties": "first"}, "ties"),
        ({"drop_sensitive": 1}, "drop_sensitive"),
        ({"drop_sensitive": True}, "drop_sensitive=True needs sensitive_features"),
        ({"unknown_groups": "drop"}, "unknown_groups"),
    ],
)
def test_bad_parameters(people, options, match):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        MADDPostProcessor(LogisticRegression(), **options).fit(
            X, y, sensitive_features=sex
        )


def test_bad_rows(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    with pytest.raises(ValueError, match="Only binary classification"):
        model.fit(X, np.arange(len(y)) % 3, sensitive_features=sex)
    with pytest.raises(ValueError, match="sensitive_features has 5 rows"):
        model.fit(X, y, sensitive_features=sex[:5])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:5], sensitive_features=sex)
    with pytest.raises(ValueError, match="cv=5 needs as many rows of each class"):
        model.fit(X[:8], [0, 1] * 4, sensitive_features=sex[:8])
    with pytest.raises(TypeError, match="must have predict_proba"):
        MADDPostProcessor(RidgeClassifier()).fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="X has no column 'race'"):
        MADDPostProcessor(LogisticRegression(), sensitive_features="race").fit(X, y)


def test_threshold_of_predictions(people):
    X, y, _ = people
    model = MADDPostProcessor(
        LogisticRegression(), sensitive_features="is_man", threshold=0.3
    ).fit(X, y)
    expected = np.where(model.predict_proba(X)[:, 1] >= 0.3, "yes", "no")
    assert_array_equal(model.predict(X), expected)
