import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_set_params,
)

from skfair._rows import Rows
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.model_selection import (
    FairestWithin,
    GroupStratifiedKFold,
    LessDiscriminatorySearchCV,
    compare_models,
)
from skfair.model_selection._folds import hold_out
from skfair.postprocessing import MADDPostProcessor

FEATURES = "columntransformer__transformers"
SKILL = [("kept", "passthrough", ["skill"])]
KEPT = {FEATURES: [SKILL, [("kept", "passthrough", ["proxy"])]]}


def people(n_samples, seed=0):
    """People whose proxy of sex adds a little to what their skill predicts."""
    rng = np.random.default_rng(seed)
    man = rng.integers(0, 2, n_samples)
    skill, noise, luck = rng.normal(size=(3, n_samples))
    X = pd.DataFrame({"sex": man, "skill": skill, "proxy": 3 * man + noise})
    return X, (skill + 0.7 * man + luck > 0).astype(int)


def make_search(distributions=KEPT, **options):
    columns = make_column_transformer(("passthrough", ["skill", "proxy"]))
    options = {
        "sensitive_features": "sex",
        "margin": 0.05,
        "n_iter": 2,
        "cv": 2,
        "random_state": 0,
        "n_confirm": 1,
        **options,
    }
    model = make_pipeline(columns, LogisticRegression())
    return LessDiscriminatorySearchCV(model, distributions, **options)


def fit_quietly(search, *rows, **params):
    """Fit where nothing is confirmed, or fits fail."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No alternative", UserWarning)
        warnings.simplefilter("ignore", FitFailedWarning)
        warnings.filterwarnings("ignore", ".*non-finite", UserWarning)
        return search.fit(*rows, **params)


@pytest.fixture(scope="module")
def fitted():
    return make_search().fit(*people(4000))


def test_an_alternative_is_found_and_confirmed(fitted):
    table = fitted.alternatives_
    assert fitted.best_params_ == {FEATURES: SKILL}
    assert table["confirmed"].tolist() == [i == fitted.best_index_ for i in range(3)]
    found = table.loc[fitted.best_index_]
    assert found["taken"]
    assert found["adjusted_pvalue"] <= 0.05
    assert found["performance_lower"] > -0.05
    assert found["disparity_upper"] < 0
    assert fitted.best_score_ == found["search_performance"]
    X, y = people(4000, seed=1)
    new, old = (
        mcdp(None, model.predict_proba(X)[:, 1], sensitive_features=X["sex"])
        for model in (fitted, fitted.baseline_)
    )
    assert new < old / 2
    assert_array_equal(fitted.predict(X), fitted.best_estimator_.predict(X))
    score = average_precision_score(y, fitted.predict_proba(X)[:, 1])
    assert fitted.score(X, y) == pytest.approx(score)
    assert fitted.classes_.tolist() == [0, 1]


def test_numbers_are_those_of_compare_models_on_the_rows_of_confirmation(fitted):
    X, y = people(4000)
    search, confirm = parts(X, y)
    models = {
        name: clone(model).fit(X.iloc[search], y[search]).predict_proba(X.iloc[confirm])
        for name, model in (("old", fitted.baseline_), ("new", fitted.best_estimator_))
    }
    result = compare_models(
        y[confirm],
        {name: scores[:, 1] for name, scores in models.items()},
        baseline="old",
        sensitive_features=X["sex"].iloc[confirm],
        margin=0.05,
    )
    columns = ["performance", "disparity", "performance_lower", "performance_pvalue"]
    found = fitted.alternatives_.loc[[0, fitted.best_index_], columns]
    assert_allclose(found, result.table[columns], rtol=1e-9)


def parts(X, y):
    """Rows of the search and of the confirmation."""
    rows = Rows(encode_groups(X["sex"]), y_true=y)
    return hold_out(rows, 0.3, np.random.RandomState(0))


@pytest.mark.slow
@pytest.mark.promise("Alternatives are confirmed on rows that chose nothing")
def test_rows_of_the_confirmation_choose_nothing(fitted):
    X, y = people(4000)
    _, confirm = parts(X, y)
    # The skill of these rows is that of others of the same label and sex.
    X["skill"] = X["skill"].where(~np.isin(np.arange(len(y)), confirm), 0.0)
    other = fit_quietly(make_search(), X, y)
    columns = ["search_performance", "search_disparity", "eligible", "taken"]
    assert_frame_equal(other.alternatives_[columns], fitted.alternatives_[columns])
    assert not other.alternatives_["performance"].equals(
        fitted.alternatives_["performance"]
    )


@pytest.mark.slow
def test_without_an_alternative_the_model_is_the_baseline():
    X, y = people(400)
    proxy = {FEATURES: [[("kept", "passthrough", ["proxy"])]]}
    with pytest.warns(UserWarning, match="0 of 1 candidates were taken"):
        search = make_search(proxy, n_iter=1).fit(X, y)
    assert search.best_index_ == 0
    assert search.best_params_ == {}
    assert search.best_estimator_ is search.baseline_
    assert not search.alternatives_["confirmed"].any()


@pytest.mark.slow
def test_a_number_of_folds_is_stratified_by_group():
    X, y = people(400)
    search, _ = parts(X, y)
    rows = X.iloc[search], y[search]
    splits = [*GroupStratifiedKFold(2).split(*rows, groups=X["sex"].iloc[search])]
    of_number, of_splits = (
        fit_quietly(make_search(n_iter=1, cv=cv), X, y).alternatives_
        for cv in (2, splits)
    )
    assert_frame_equal(of_number, of_splits)
    assert fit_quietly(make_search(n_iter=1, cv=None), X, y).n_splits_ == 5


@pytest.mark.slow
def test_the_baseline_may_have_other_parameters():
    X, y = people(400)
    given = {FEATURES: SKILL}
    search = fit_quietly(make_search(n_iter=1, baseline=given), X, y)
    assert search.baseline_.get_params()[FEATURES] == SKILL
    assert search.cv_results_["params"][0] == given


@pytest.mark.slow
def test_clones_pickles_and_processes(fitted):
    X, y = people(4000)
    again = clone(fitted).set_params(n_jobs=2)
    assert not hasattr(again, "alternatives_")
    assert clone(fitted).get_params()["margin"] == 0.05
    read = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(read.predict(X), fitted.predict(X))
    assert_frame_equal(read.alternatives_, fitted.alternatives_)
    with joblib.parallel_config("threading"):
        again.fit(X, y)
    assert_frame_equal(again.alternatives_, fitted.alternatives_)


@pytest.mark.parametrize("check", [check_get_params_invariance, check_set_params])
def test_checks_of_scikit_learn(check):
    check("LessDiscriminatorySearchCV", make_search())


@pytest.mark.slow
def test_groups_may_be_routed(fitted):
    X, y = people(4000)
    sex = X.pop("sex")
    with config_context(enable_metadata_routing=True):
        search = make_search(sensitive_features=None)
        search.fit(X, y, sensitive_features=sex)
        assert search.score(X, y, sensitive_features=sex) > 0.8
    assert_frame_equal(search.alternatives_, fitted.alternatives_)


@pytest.mark.slow
def test_routed_groups_reach_the_fit_and_the_predictions_of_a_mitigator():
    X, y = people(2000)
    sex = X.pop("sex")
    model = MADDPostProcessor(LogisticRegression(), repair_level=0, cv=2)
    with config_context(enable_metadata_routing=True):
        search = LessDiscriminatorySearchCV(
            model.set_fit_request(sensitive_features=True),
            {"repair_level": [0.9]},
            n_iter=1,
            cv=2,
            margin=1.0,
            random_state=0,
            error_score="raise",
        )
        fit_quietly(search, X, y, sensitive_features=sex)
    assert search.alternatives_["search_disparity"].is_monotonic_decreasing


def test_without_routing_groups_must_be_columns():
    X, y = people(100)
    with pytest.raises(ValueError, match="must name columns of X, got None"):
        make_search(sensitive_features=None).fit(X, y, sensitive_features=X["sex"])


@pytest.mark.slow
def test_polars_and_text(fitted):
    X, y = people(4000)
    search = make_search().fit(pl.from_pandas(X), np.where(y == 1, "yes", "no"))
    assert_frame_equal(search.alternatives_, fitted.alternatives_)
    assert search.classes_.tolist() == ["no", "yes"]


@pytest.mark.slow
def test_candidates_that_fail_are_left_out():
    X, y = people(400)
    broken = {"logisticregression__C": [-1.0, 0.5]}
    search = fit_quietly(make_search(broken), X, y)
    failed = search.alternatives_["search_performance"].isna()
    assert failed.sum() == 1
    assert not search.alternatives_.loc[failed, ["eligible", "taken"]].any(axis=None)
    with pytest.raises(ValueError, match="'C' parameter"):
        make_search(broken, error_score="raise").fit(X, y)


@pytest.mark.slow
def test_decisions_and_another_performance():
    X, y = people(400)
    search = make_search(
        disparity="demographic_parity_difference",
        scoring=make_scorer(average_precision_score, response_method="predict_proba"),
        cv=KFold(2),
    )
    fit_quietly(search, X, y)
    assert {"mean_test_performance", "mean_test_neg_demographic_parity_difference"} <= {
        *search.cv_results_
    }
    _, confirm = parts(X, y)
    decided = search.baseline_.predict(X.iloc[confirm])
    expected = mcdp(None, decided, sensitive_features=X["sex"].iloc[confirm])
    assert search.alternatives_["disparity"][0] == expected


@pytest.mark.slow
def test_weights_count_in_the_confirmation():
    X, y = people(400)
    weights = np.where(X["skill"] > 0, 3, 1)
    search = LessDiscriminatorySearchCV(
        GaussianNB(),
        {"var_smoothing": [0.1]},
        sensitive_features="sex",
        n_iter=1,
        cv=2,
        random_state=0,
    )
    fit_quietly(search, X, y, sample_weight=weights)
    rows = Rows(encode_groups(X["sex"]), y_true=y, weight=weights)
    _, confirm = hold_out(rows, 0.3, np.random.RandomState(0))
    scores = search.baseline_.predict_proba(X.iloc[confirm])[:, 1]
    expected = average_precision_score(
        y[confirm], scores, sample_weight=weights[confirm]
    )
    assert search.alternatives_["performance"][0] == pytest.approx(expected)


def test_rules_of_choice_read_the_results(fitted):
    rule = FairestWithin(tolerance=0.05, kind="absolute", reference=None)
    assert fitted.cv_results_["params"][rule(fitted.cv_results_)] == {FEATURES: SKILL}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"margin": -0.1}, "margin must be"),
        ({"confirm_size": 1.0}, "confirm_size must be"),
        ({"n_confirm": 0}, "n_confirm must be"),
        ({"n_iter": 0}, "n_iter must be"),
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
        ({"confidence_level": 1}, "confidence_level must be"),
        ({"disparity": "madd"}, "disparity must be 'mcdp' or"),
        ({"scoring": None}, "scoring must be the name"),
        ({"sensitive_features": "age"}, "X has no column 'age'"),
        ({"confirm_size": 0.001}, "confirm_size=0.001 of 100 rows leaves too few"),
    ],
)
def test_bad_parameters(options, error):
    with pytest.raises(ValueError, match=error):
        make_search(**options).fit(*people(100))


def test_bad_labels_and_baselines():
    X, y = people(100)
    with pytest.raises(ValueError, match="y must have two classes, got 3"):
        make_search().fit(X, np.arange(100) % 3)
    with pytest.raises(TypeError, match="baseline must be a dict"):
        make_search(baseline=GaussianNB()).fit(X, y)
