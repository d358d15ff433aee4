"""What `fit` of mitigators passes on: weights to a pipeline, groups to a splitter."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skfair.exceptions import MitigationWarning
from skfair.inprocessing import MCDPReweighter
from skfair.postprocessing import (
    DecisionPostProcessor,
    MADDPostProcessor,
    RepairedRegressor,
    UnawarePostProcessor,
    UnawareRegressor,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::skfair.exceptions.MitigationWarning",
)
MITIGATORS = {
    "madd": (MADDPostProcessor, {"repair_level": 0.5}),
    "unaware": (UnawarePostProcessor, {"strength": 0.1}),
    "decisions": (DecisionPostProcessor, {}),
    "reweighter": (MCDPReweighter, {"strength": 0.1}),
    "regressor": (RepairedRegressor, {"repair_level": 0.5}),
    "no_group": (UnawareRegressor, {"strength": 0.1}),
}
#: The one that takes least time is fitted in quick tests.
NAMES = [
    "madd",
    *(pytest.param(n, marks=pytest.mark.slow) for n in MITIGATORS if n != "madd"),
]


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(0)
    sex = generator.integers(0, 2, 240)
    X = generator.normal(size=(240, 2)) + sex[:, None]
    y = X.sum(axis=1) + generator.normal(size=240)
    return X, y, sex


def prepared(name, y):
    """Make a mitigator, its estimator, and the target that it takes."""
    make, options = MITIGATORS[name]
    if name in ("regressor", "no_group"):
        return make, options, LinearRegression(), y
    return make, options, GaussianNB(), (y > 1).astype(int)


def predictions(model, X, sex):
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    takes = isinstance(model, (MADDPostProcessor, RepairedRegressor))
    return getattr(model, method)(X, **({"sensitive_features": sex} if takes else {}))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_passes_weights_to_its_last_step(name, people):
    X, y, sex = people
    make, options, estimator, y = prepared(name, y)
    weights = np.random.default_rng(1).integers(1, 9, len(y)).astype(float)
    rows = {"sensitive_features": sex, "sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MitigationWarning)
        alone, piped, nested = (
            make(each, cv=2, **options).fit(X, y, **rows)
            for each in (
                estimator,
                make_pipeline(FunctionTransformer(), estimator),
                make_pipeline(make_pipeline(estimator)),
            )
        )
    expected = predictions(alone, X, sex)
    assert_array_equal(predictions(piped, X, sex), expected)
    assert_array_equal(predictions(nested, X, sex), expected)


def test_what_takes_no_weights_is_fitted_without_and_warned_of(people):
    X, y, sex = people
    rows = {"sensitive_features": sex, "sample_weight": np.ones(len(y))}
    neighbours = make_pipeline(FunctionTransformer(), KNeighborsClassifier())
    model = MADDPostProcessor(neighbours, repair_level=0.5, cv=2)
    with pytest.warns(UserWarning, match=r"Pipeline.fit takes no sample_weight: it"):
        model.fit(X, y > 1, **rows)


def test_a_frozen_model_is_not_fitted_and_needs_no_weights(people):
    X, y, sex = people
    rows = {"sensitive_features": sex, "sample_weight": np.ones(len(y))}
    frozen = FrozenEstimator(GaussianNB().fit(X, y > 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MitigationWarning)
        MADDPostProcessor(frozen, repair_level=0.5).fit(X, y > 1, **rows)


def test_weights_of_a_step_take_precedence(people):
    X, y, sex = people
    ones, weights = np.ones(len(y)), 1.0 + (y > 0)
    piped = make_pipeline(GaussianNB())
    model = MADDPostProcessor(piped, repair_level=0, cv=2)
    given = {"sensitive_features": sex, "gaussiannb__sample_weight": weights}
    both = model.fit(X, y > 1, sample_weight=ones, **given).estimators_[0][0]
    alone = model.fit(X, y > 1, **given).estimators_[0][0]
    assert_array_equal(both.class_prior_, alone.class_prior_)


def test_requests_decide_with_metadata_routing(people):
    X, y, sex = people
    rows = {"sensitive_features": sex, "sample_weight": 1.0 + (y > 0)}
    with config_context(enable_metadata_routing=True):
        priors = []
        for asked in (True, False):
            last = GaussianNB().set_fit_request(sample_weight=asked)
            model = MADDPostProcessor(make_pipeline(last), repair_level=0, cv=2)
            model.set_fit_request(sample_weight=True).fit(X, y > 1, **rows)
            priors.append(model.estimators_[0][0].class_prior_)
        assert (priors[0] != priors[1]).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:MCDPReweighter sets no rows aside")
def test_groups_of_rows_reach_the_splitter(name, people):
    X, y, sex = people
    make, options, estimator, y = prepared(name, y)
    households = np.arange(len(y)) // 3
    model, folds = make(estimator, cv=GroupKFold(2), **options), GroupKFold(2)
    model.fit(X, y, sensitive_features=sex, groups=households)
    splits = [*folds.split(X, y, groups=households)]
    expected = make(estimator, cv=splits, **options).fit(X, y, sensitive_features=sex)
    assert_array_equal(predictions(model, X, sex), predictions(expected, X, sex))


def test_a_number_of_folds_leaves_groups_to_the_estimator(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), cv=2)
    with pytest.raises(TypeError, match="groups"):
        model.fit(X, y > 1, sensitive_features=sex, groups=sex)


class Failing(ClassifierMixin, BaseEstimator):
    """Cannot be fitted, for a reason that has nothing to do with columns."""

    def fit(self, X, y):
        raise ValueError("Must have at least 1 validation dataset")

    def predict_proba(self, X):
        """Never called."""


def test_the_tip_to_drop_text_is_given_where_text_is_the_problem(people):
    X, y, sex = people
    table = pd.DataFrame(X).assign(sex=np.array(["F", "M"])[sex]).rename(columns=str)
    reads = MADDPostProcessor(LogisticRegression(), sensitive_features="sex")
    with pytest.raises(ValueError, match=r"could not convert.*\n.*drop_sensitive=True"):
        reads.fit(table, y > 1)
    fails = MADDPostProcessor(Failing(), sensitive_features="sex")
    with pytest.raises(ValueError, match=r"^Must have at least 1 validation dataset$"):
        fails.fit(table, y > 1)


@pytest.mark.parametrize("name", ["unaware", "reweighter"])
def test_a_group_that_a_fold_holds_out_is_named(name, people):
    X, y, _ = people
    make, options, _, y = prepared(name, y)
    groups = np.where(np.arange(len(y)) == 7, "few", "many")
    model = make(LogisticRegression(), **options)
    with pytest.raises(ValueError, match=r"holds out all rows of the groups \['few'\]"):
        model.fit(X, y, sensitive_features=groups)


def test_a_class_that_a_fold_holds_out_is_named(people):
    X, y, sex = people
    order = np.argsort(y)
    model = MADDPostProcessor(LogisticRegression(), cv=KFold(2))
    with pytest.raises(ValueError, match=r"holds out all rows of the classes \[False"):
        model.fit(X[order], (y > np.median(y))[order], sensitive_features=sex[order])
