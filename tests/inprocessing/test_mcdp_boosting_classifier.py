import pickle
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair._rows import Rows
from skfair.datasets import make_biased_classification
from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.inprocessing import MCDPBoostingClassifier
from skfair.inprocessing._boosting import (
    group_probabilities,
    mix_own_group,
)


def make_trees(library, **options):
    """Make a classifier of 20 trees."""
    given = {"n_estimators": 20, "n_jobs": 1} | options
    if library == "lightgbm":
        return lightgbm.LGBMClassifier(verbose=-1, **given)
    return pytest.importorskip("xgboost", reason="the extra xgboost").XGBClassifier(
        max_depth=4, **given
    )


@pytest.fixture(params=["lightgbm", "xgboost"])
def trees(request):
    return make_trees(request.param)


@pytest.fixture
def boosted():
    """Make a penalised classifier around 20 trees."""

    def make(inner=None, **options):
        inner = make_trees("lightgbm") if inner is None else inner
        return MCDPBoostingClassifier(inner, **{"random_state": 0} | options)

    return make


@pytest.mark.filterwarnings("ignore:.*no gain is shown")  # one tree changes little
@pytest.mark.parametrize(
    ("n_samples", "fraction", "n_held_out"),
    [
        (190, "auto", None),
        (600, "auto", 60),
        pytest.param(6000, "auto", 500, marks=pytest.mark.slow),
        pytest.param(600, 0.2, 120, marks=pytest.mark.slow),
    ],
)
def test_rows_held_out(boosted, n_samples, fraction, n_held_out):
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(n_samples, 2)), rng.integers(0, 2, n_samples)
    y = X.sum(axis=1) + sex > 0
    trees = make_trees("lightgbm").set_params(n_estimators=1)
    model = boosted(trees, validation_fraction=fraction)
    found = model.fit(X, y, sensitive_features=sex).comparison_
    assert (found and found.n_samples) == n_held_out


def test_the_gap_on_new_rows_falls(proxy_people, make_people, trees, boosted, gap):
    X, y, sex = proxy_people
    new, _, new_sex = make_people(4000, seed=1)
    new = new[["skill", "proxy"]]
    plain = clone(trees).fit(X, y == "yes")
    model = boosted(trees, strength=1.0).fit(X, y, sensitive_features=sex)
    assert gap(model, new, new_sex) < 0.5 * gap(plain, new, new_sex)
    assert model.comparison_.mitigated["mcdp"] < model.comparison_.baseline["mcdp"]
    assert model.comparison_.n_samples == 60


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_every_objective_and_stronger_is_fairer(proxy_people, objective, boosted, gap):
    X, y, sex = proxy_people
    gaps = [
        gap(
            boosted(strength=s, objective=objective, validation_fraction=None).fit(
                X, y, sensitive_features=sex
            ),
            X,
            sex,
        )
        for s in (0, 0.3, 2.0)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.6 * gaps[0]


@pytest.mark.slow
def test_strength_0_is_the_plain_classifier(people, trees, boosted):
    X, y, sex = people
    weights = 1 + np.arange(len(y)) % 3
    for given in ({}, {"sample_weight": weights}):
        model = boosted(trees, strength=0).fit(X, y, sensitive_features=sex, **given)
        plain = clone(trees).fit(X, y == "yes", **given)
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
        assert model.comparison_ is None


@pytest.mark.slow
def test_a_tiny_strength_is_nearly_the_plain_classifier(people, trees, boosted):
    # The objective, the base score and the probabilities are those of the library.
    X, y, sex = people
    weights = 1 + np.arange(len(y)) % 3
    model = boosted(trees, strength=1e-9, validation_fraction=None)
    model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    plain = clone(trees).fit(X, y == "yes", sample_weight=weights)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-4)


def test_fitted_attributes(people, trees, boosted):
    X, y, sex = people
    X = X.assign(sex=sex.to_numpy() == "M")
    model = boosted(trees, sensitive_features="sex", drop_sensitive=True).fit(X, y)
    assert_array_equal(model.classes_, ["no", "yes"])
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.groups_ == (False, True)
    assert model.n_features_in_ == 4
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.max() > 0
    inner = model.estimator_.predict_proba(X.drop(columns="sex"))
    assert_allclose(inner, model.predict_proba(X))
    assert_array_equal(model.predict(X) == "yes", model.predict_proba(X)[:, 1] > 0.5)
    with pytest.raises(NotFittedError):
        boosted(trees).feature_importances_  # noqa: B018


@pytest.mark.slow
def test_fitted_trees_can_be_saved_and_hold_no_rows(make_people, trees, boosted):
    X, y, sex = make_people(1000)
    model = boosted(trees).fit(X, y, sensitive_features=sex)
    stored = pickle.dumps(model)
    assert len(stored) < len(pickle.dumps(clone(trees).fit(X, y == "yes"))) + 10_000
    assert_array_equal(pickle.loads(stored).predict_proba(X), model.predict_proba(X))
    if isinstance(trees, lightgbm.LGBMClassifier):
        text = model.estimator_.booster_.model_to_string()
        scores = lightgbm.Booster(model_str=text).predict(X)
        assert_allclose(scores, model.predict_proba(X)[:, 1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
def test_trees_do_not_learn_the_groups_of_their_rows(boosted, gap):
    # Groups that nothing in X tells but the score itself: nothing can be repaired.
    people, y = make_biased_classification(
        4000,
        group_sizes={"sex": {"F": 0.3, "M": 0.7}},
        score_shifts={"sex": {"M": 1.0}},
        random_state=0,
    )
    sex, X = people["sex"], people.drop(columns="sex")
    seen, new = slice(0, 2000), slice(2000, None)
    model = boosted(strength=0.5)
    model.fit(X[seen], y[seen], sensitive_features=sex[seen])
    on_training_rows = gap(model, X[seen], sex[seen])
    assert on_training_rows > 0.6 * gap(model, X[new], sex[new])


def test_the_own_group_counts_a_tenth():
    probabilities = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
    given = probabilities.copy()
    found = mix_own_group(probabilities, np.array([0, 2, -1]))
    assert_allclose(found, [[0.55, 0.45, 0], [0.18, 0.27, 0.55], [0.2, 0.3, 0.5]])
    assert_array_equal(probabilities, given)
    # What is known of the stratum does not change.
    joint = np.array([[[0.2, 0.3], [0.1, 0.1]]])
    found = mix_own_group(joint, np.array([1]))
    assert_allclose(found, [[[0.18, 0.32], [0.09, 0.11]]])


@pytest.mark.slow
def test_a_worse_classifier_is_returned_with_a_warning(people, boosted):
    X, y, _ = people
    coins = np.random.default_rng(0).integers(0, 2, len(y))
    with pytest.warns(MitigationWarning, match=r"no gain is shown.*smaller strength"):
        model = boosted(strength=0.5).fit(X, y, sensitive_features=coins)
    plain = boosted(strength=0.0).fit(X, y, sensitive_features=coins)
    assert np.abs(model.predict_proba(X) - plain.predict_proba(X)).max() > 0.001


# --- features as the library takes them


@pytest.mark.slow
def test_categories_and_missing_values(people, trees, boosted):
    X, y, sex = people
    X = X.assign(
        level=pd.Categorical.from_codes(np.arange(len(y)) % 3, ["low", "mid", "top"]),
        skill=X["skill"].where(np.arange(len(y)) % 4 > 0),
    )
    if not isinstance(trees, lightgbm.LGBMClassifier):
        trees.set_params(enable_categorical=True)
    model = boosted(trees).fit(X, y, sensitive_features=sex)
    expected = model.predict_proba(X)
    assert np.isfinite(expected).all()
    options = {"sensitive_features": "sex", "drop_sensitive": True}
    with_sex = X.assign(sex=pd.Categorical(sex.to_numpy()))
    by_column = boosted(trees, **options).fit(with_sex, y)
    assert_array_equal(by_column.predict_proba(with_sex), expected)


@pytest.mark.slow
def test_parameters_of_fit(people, boosted):
    X, y, sex = people
    calls = []

    def record(state):
        calls.append(state.iteration)

    boosted(strength=0.5).fit(
        X,
        y,
        sensitive_features=sex,
        callbacks=[record],
        feature_name=["a", "b", "c"],
    )
    assert len(calls) >= 20


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_features_that_cannot_be_split(library, people, boosted):
    _, y, sex = people
    X = np.ones((len(y), 2))
    scores = boosted(make_trees(library)).fit(X, y, sensitive_features=sex)
    scores = scores.predict_proba(X)[:, 1]
    assert_allclose(scores, np.mean(y == "yes"), atol=0.01)


# --- groups and weights


@pytest.mark.slow
def test_weight_0_is_a_row_left_out(people, trees, boosted):
    X, y, sex = people
    kept = np.arange(len(y)) % 5 > 0
    for options in ({}, {"validation_fraction": None}):
        model = boosted(trees, **options)
        model.fit(X, y, sensitive_features=sex, sample_weight=kept + 0)
        ones = np.ones(kept.sum())
        fewer = clone(model).fit(
            X[kept], y[kept], sensitive_features=sex[kept], sample_weight=ones
        )
        assert_allclose(model.predict_proba(X), fewer.predict_proba(X), atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")  # few rows
def test_many_groups_and_groups_of_one_row(people, trees, boosted):
    X, y, sex = people
    many = np.arange(len(y)) % 60
    three = np.digitize(X["proxy"], [0.2, 1.5])
    rare = sex.to_numpy(dtype=object).copy()
    rare[0] = "X"
    for groups in (many, three, rare):
        model = boosted(trees).fit(X, y, sensitive_features=groups)
        assert np.isfinite(model.predict_proba(X)).all()
        assert len(model.groups_) == len(set(groups))


@pytest.mark.slow
def test_rows_without_a_group(people, trees, boosted, gap):
    X, y, sex = people
    known = sex.mask(np.arange(len(sex)) % 10 == 0, None)
    groups = encode_groups(known, missing="drop")
    model = boosted(trees, strength=1.0).fit(X, y, sensitive_features=groups)
    plain = boosted(trees, strength=0).fit(X, y, sensitive_features=groups)
    assert gap(model, X, groups) < gap(plain, X, groups)


# --- bad parameters


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strength": -1}, r"strength must be a number in \[0, inf\), got -1"),
        ({"temperature": 0}, r"temperature must be a number in \(0, inf\), got 0"),
        ({"objective": "madd"}, "objective must be 'mcdp', 'dp' or 'abcc', got 'madd'"),
        ({"validation_fraction": 1}, "must be 'auto' or None or a number"),
    ],
)
def test_bad_parameters(people, options, match, boosted):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        boosted(**options).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(),
        FrozenEstimator(lightgbm.LGBMClassifier()),
        make_pipeline(StandardScaler(), lightgbm.LGBMClassifier()),
        lightgbm.LGBMRegressor(),
    ],
)
def test_other_estimators(people, inner, boosted):
    X, y, sex = people
    with pytest.raises(TypeError, match="must be an LGBMClassifier or an XGBClass"):
        boosted(inner).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    ("inner", "match"),
    [
        ({"objective": "cross_entropy"}, "objective='cross_entropy', which the penal"),
        ({"objective": lambda y, p: (p - y, p)}, "objective='<function"),
        ({"early_stopping_round": 5}, "early_stopping_round=5, .* leave out early_st"),
        ({"is_unbalance": True}, "is_unbalance=True, .* give sample_weight to fit"),
        ({"scale_pos_weight": 3.0}, "scale_pos_weight=3.0"),
        ({"boosting_type": "rf"}, "boosting_type='rf'"),
        ({"linear_tree": True}, "linear_tree=True"),
    ],
)
def test_parameters_that_contradict_the_penalty(people, inner, match, boosted):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        boosted(make_trees("lightgbm", **inner)).fit(X, y, sensitive_features=sex)


def test_parameters_of_fit_that_contradict_the_penalty(people, trees, boosted):
    X, y, sex = people
    for name in ("eval_set", "init_score", "base_margin"):
        with pytest.raises(ValueError, match=f"fit takes no {name}"):
            boosted(trees).fit(X, y, sensitive_features=sex, **{name: [(X, y)]})


# --- pipelines and searches


@pytest.mark.slow
def test_skfair_imports_neither_library():
    code = (
        "import sys, skfair.inprocessing; "
        "sys.exit('lightgbm' in sys.modules or 'xgboost' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_probabilities_of_groups_do_not_depend_on_the_unit_of_weights(library):
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + sex[:, None]
    weights = rng.uniform(0.5, 1.5, 400)
    found = []
    for unit in (1.0, 1e-9):
        groups = encode_groups(sex)
        rows = Rows(groups, y_true=sex, weight=unit * weights)
        seed = np.random.RandomState(0)
        trees = make_trees(library)
        found.append(group_probabilities(trees, X, rows, sex, {}, seed))
    assert np.ptp(found[0][:, 0]) > 0.5
    assert_allclose(found[1], found[0], atol=1e-3)


def test_options_about_labels_do_not_reach_the_classifier_of_groups():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + sex[:, None]
    rows = Rows(encode_groups(sex), y_true=sex)
    found = []
    for options in ({}, {"class_weight": {0: 1.0, 1: 200.0}}):
        trees = make_trees("lightgbm", **options)
        seed = np.random.RandomState(0)
        found.append(group_probabilities(trees, X, rows, sex, {}, seed))
    assert_array_equal(*found)
