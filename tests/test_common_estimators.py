"""What every estimator promises; a line in ESTIMATORS has a new one tested."""

import pickle
import re
from importlib.util import find_spec
from inspect import getdoc, signature

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_get_params_invariance,
    check_parameters_default_constructible,
    check_set_params,
)
from sklearn.utils.fixes import parse_version

from skfair.groups import encode_groups
from skfair.inprocessing import (
    DiffMCDPClassifier,
    MCDPBoostingClassifier,
    MCDPReweighter,
)
from skfair.metrics import get_fairness_scorer, make_group_scorer
from skfair.postprocessing import (
    DecisionPostProcessor,
    MADDPostProcessor,
    RepairedRegressor,
    ScoreRepairer,
    UnawarePostProcessor,
    UnawareRegressor,
)

BOOSTER = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)

# Classifiers and regressors take features, a target and groups; others scores and
# groups.
ESTIMATORS = {
    "MCDPReweighter": MCDPReweighter(LogisticRegression(), strength=0.5, cv=2),
    "DiffMCDPClassifier": DiffMCDPClassifier(
        hidden_layer_sizes=8, learning_rate_init=0.01, max_iter=10, random_state=0
    ),
    "DiffMCDPClassifier, batches": DiffMCDPClassifier(
        hidden_layer_sizes=8,
        batch_size=64,
        dropout=0.2,
        early_stopping=True,
        max_iter=10,
        random_state=0,
    ),
    "MCDPBoostingClassifier": MCDPBoostingClassifier(BOOSTER, random_state=0),
    "MADDPostProcessor": MADDPostProcessor(LogisticRegression(), cv=2),
    "MADDPostProcessor, largest gap": MADDPostProcessor(
        LogisticRegression(), cv=2, max_mcdp=0.1
    ),
    "MADDPostProcessor, random ties": MADDPostProcessor(
        LogisticRegression(), cv=2, ties="random", random_state=0
    ),
    "UnawarePostProcessor": UnawarePostProcessor(
        LogisticRegression(), group_estimator=LogisticRegression(), strength=0.5, cv=2
    ),
    "DecisionPostProcessor": DecisionPostProcessor(LogisticRegression(), cv=2),
    "DecisionPostProcessor, by group": DecisionPostProcessor(
        LogisticRegression(), constraint="equalized_odds", uses_group=True, cv=2
    ),
    "RepairedRegressor": RepairedRegressor(Ridge(), cv=2),
    "UnawareRegressor, one strength": UnawareRegressor(
        Ridge(), group_estimator=LogisticRegression(), strength=0.5, cv=2
    ),
    "ScoreRepairer": ScoreRepairer(),
    "ScoreRepairer, random ties": ScoreRepairer(0.5, ties="random", random_state=0),
    "ScoreRepairer, real": ScoreRepairer(scale="real"),
}
CLASSIFIERS = {name: e for name, e in ESTIMATORS.items() if is_classifier(e)}
# Few rows may show no gain.
pytestmark = pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")


#: One that wraps a classifier, one that is trained itself, and one of scores: what the
#: classes that others inherit from do is the same for all of a kind.
OF_EACH_KIND = {"MADDPostProcessor", "DiffMCDPClassifier", "ScoreRepairer"}


def quick_first(names, quick):
    """Names, of which those outside `quick` are slow tests."""
    return [
        pytest.param(name, marks=[] if name in quick else pytest.mark.slow)
        for name in names
    ]


def each(names, quick=OF_EACH_KIND):
    return pytest.mark.parametrize("model", quick_first(names, quick), indirect=True)


STRATIFIED = [
    name
    for name, e in ESTIMATORS.items()
    if "control_features" in signature(e.fit).parameters
]
every_estimator = each(ESTIMATORS)
# What classifiers take is read by the same function for all of them.
every_classifier = each(CLASSIFIERS, {"MADDPostProcessor"})
every_stratified = each(STRATIFIED)
WITHOUT_VARIANTS = [name for name in ESTIMATORS if "," not in name]
one_of_each_class = each(WITHOUT_VARIANTS)


@pytest.fixture
def model(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture(scope="module")
def people(make_people):
    return make_people(300)


def features(model, X):
    """What the estimator takes: X, or scores if it takes one dimension only."""
    if get_tags(model).input_tags.one_d_array:
        return 1 / (1 + np.exp(-X["skill"] - X["proxy"]))
    return X


def target(model, y):
    """What the estimator predicts: classes, or numbers."""
    return np.where(y == "yes", 1.5, -0.5) if is_regressor(model) else y


def method_of(model):
    """Name of the method whose scores are compared."""
    if is_classifier(model):
        return (
            "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        )
    return "predict" if is_regressor(model) else "transform"


def fairness_of(model):
    """Name of a scorer of what the estimator predicts: scores, or decisions."""
    decides = method_of(model) == "decision_function"
    return "neg_true_positive_rate_difference" if decides else "neg_mcdp"


def takes(model, name):
    """Whether scores of new rows depend on a keyword."""
    return name in signature(getattr(model, method_of(model))).parameters


def scores_of(model, X, groups=None, strata=None, method=None):
    """Predicted or transformed scores, with groups where the method takes them."""
    method = method or getattr(model, method_of(model))
    given = {"sensitive_features": groups, "control_features": strata}
    scores = method(X, **{name: given[name] for name in given if takes(model, name)})
    scores = np.asarray(scores)
    return scores[:, 1] if scores.ndim == 2 and is_classifier(model) else scores


def fitted_scores(model, people, strata=None, **fit_params):
    """Scores of the rows that the estimator was fitted to."""
    X, y, sex = people
    X = features(model, X)
    if strata is not None:
        fit_params["control_features"] = strata
    model.fit(X, target(model, y), sensitive_features=sex, **fit_params)
    return scores_of(model, X, sex, strata)


@pytest.fixture(scope="module")
def known_scores():
    """Expected scores by name of the estimator."""
    return {}


@pytest.fixture
def expected(request, known_scores, people):
    """Scores of a clone of the model, fitted to X, y and sex; once for each model."""
    name = request.node.callspec.params["model"]
    if name not in known_scores:
        known_scores[name] = fitted_scores(clone(ESTIMATORS[name]), people)
        known_scores[name].setflags(write=False)
    return known_scores[name]


# --- scikit-learn's own checks


class ParityOfSum:
    """Groups that do not depend on other rows, for data of any kind."""

    def __call__(self, X):
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        finite = np.nan_to_num(X.astype(float), posinf=0, neginf=0)
        return finite.sum(axis=1) * 7 % 2 >= 1

    def __repr__(self):
        return "ParityOfSum()"


CHECKED = {
    "MCDPReweighter without groups": MCDPReweighter(LogisticRegression()),
    "MCDPReweighter": MCDPReweighter(
        LogisticRegression(), sensitive_features=ParityOfSum(), strength=0.1, cv=2
    ),
    # Near a gap of 0, where it has a kink, rounding grows from step to step: the
    # checks that compare two fits by rounding need few steps.
    "DiffMCDPClassifier without groups": DiffMCDPClassifier(
        max_iter=50, learning_rate_init=0.01
    ),
    "DiffMCDPClassifier": DiffMCDPClassifier(
        sensitive_features=ParityOfSum(), max_iter=30, learning_rate_init=0.01
    ),
    "MCDPBoostingClassifier without groups": MCDPBoostingClassifier(BOOSTER),
    # Rows of weight 0 would otherwise change which rows are held out.
    "MCDPBoostingClassifier": MCDPBoostingClassifier(
        BOOSTER, sensitive_features=ParityOfSum(), validation_fraction=None
    ),
    "MADDPostProcessor without groups": MADDPostProcessor(LogisticRegression()),
    "MADDPostProcessor": MADDPostProcessor(
        LogisticRegression(),
        sensitive_features=ParityOfSum(),
        unknown_groups="pooled",
        cv=2,
    ),
    "UnawarePostProcessor without groups": UnawarePostProcessor(LogisticRegression()),
    "UnawarePostProcessor": UnawarePostProcessor(
        LogisticRegression(),
        group_estimator=LogisticRegression(),
        cv=2,
        sensitive_features=ParityOfSum(),
    ),
    "RepairedRegressor without groups": RepairedRegressor(Ridge()),
    "RepairedRegressor": RepairedRegressor(
        Ridge(),
        sensitive_features=ParityOfSum(),
        unknown_groups="pooled",
        cv=2,
    ),
    "UnawareRegressor without groups": UnawareRegressor(Ridge()),
    "UnawareRegressor": UnawareRegressor(
        Ridge(),
        group_estimator=LogisticRegression(),
        strength=0.1,
        cv=2,
        sensitive_features=ParityOfSum(),
    ),
    "ScoreRepairer": ScoreRepairer(),
}


# One that wraps a classifier, and one of scores; the others are slow tests.
QUICK = {"MADDPostProcessor without groups", "ScoreRepairer"}


OLD = parse_version(sklearn.__version__) < parse_version("1.7")
WEIGHTED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@pytest.mark.filterwarnings("ignore:.* has no sensitive_features:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.filterwarnings("ignore:Can.t test:sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("name", quick_first(CHECKED, QUICK))
@pytest.mark.promise("Estimators pass `check_estimator`, with groups and without")
def test_scikit_learn_checks(name):
    model, expected = CHECKED[name], {}
    if is_classifier(model) and OLD:
        # It makes three classes two by the first row, another one in each of its fits.
        expected = dict.fromkeys(WEIGHTED, "the check of scikit-learn 1.6 errs")
    check_estimator(
        model, on_skip=None, on_fail="raise", expected_failed_checks=expected
    )


# check_estimator checks little of an estimator whose input has one dimension.
@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize(
    "check",
    [
        check_get_params_invariance,
        check_parameters_default_constructible,
        check_set_params,
    ],
)
def test_scikit_learn_checks_of_parameters(name, check):
    check(name, clone(CHECKED[name]))


# --- fitting


@every_estimator
def test_fit_returns_self_and_sets_attributes(model, people):
    X, y, sex = people
    given = features(model, X), target(model, y)
    assert model.fit(*given, sensitive_features=sex) is model
    assert model.groups_ == ("F", "M")
    if is_classifier(model):
        assert_array_equal(model.classes_, ["no", "yes"])
        assert_array_equal(model.feature_names_in_, X.columns)
        assert model.n_features_in_ == 3


@every_estimator
def test_same_seed_same_result(model, people):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    again = clone(model)
    expected = fitted_scores(model, people)
    assert np.isfinite(expected).all()
    assert_array_equal(fitted_scores(again, people), expected)
    for name, values in vars(model).items():
        if isinstance(values, np.ndarray):
            assert_array_equal(getattr(again, name), values)
    assert_array_equal(fitted_scores(model, people), expected)
    assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@every_estimator
@pytest.mark.promise("Estimators come back from pickles as they were")
def test_clone_and_pickle(model, people):
    X, _, sex = people
    parameters = model.get_params()
    copy = clone(model).get_params()
    assert {name: repr(copy[name]) for name in copy} == {
        name: repr(value) for name, value in parameters.items()
    }
    expected = fitted_scores(model, people)
    assert {name: model.get_params()[name] for name in parameters} == parameters
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(scores_of(loaded, features(loaded, X), sex), expected)


@every_estimator
def test_nothing_given_is_modified(model, people):
    X, y, sex = (values.copy() for values in people)
    weights = np.ones(len(y))
    for values in (y, weights):
        values.setflags(write=False)
    fitted_scores(model, (X, y, sex), sample_weight=weights)
    pd.testing.assert_frame_equal(X, people[0])
    pd.testing.assert_series_equal(sex, people[2])
    if "estimator" in model.get_params():
        assert not hasattr(model.estimator, "classes_")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_few_parameters_and_a_link_to_its_page_of_the_site(name, monkeypatch):
    model = ESTIMATORS[name]
    assert len(signature(type(model)).parameters) <= 15
    monkeypatch.delenv("SKFAIR_DOCS", raising=False)
    assert model._get_doc_link() == ""
    monkeypatch.setenv("SKFAIR_DOCS", "https://example.org/skfair/")
    package = type(model).__module__.rpartition(".")[0]
    page = f"generated/{package}.{type(model).__name__}.html"
    assert f"https://example.org/skfair/{page}" in model._repr_html_()


@every_estimator
def test_unfitted(model, people):
    X, _, sex = people
    with pytest.raises(NotFittedError):
        scores_of(model, features(model, X), sex)
    if is_classifier(model):
        with pytest.raises(NotFittedError):
            model.predict(X)


@every_classifier
@pytest.mark.parametrize(
    "container",
    [np.asarray, csr_matrix, pl.from_pandas, lambda X: X.to_numpy().tolist()],
)
def test_containers_of_features(model, container, people, expected):
    X, y, sex = people
    rows = container(X)
    scores = fitted_scores(model, (rows, y.tolist(), sex))
    assert_allclose(scores, expected, atol=1e-4)


@each(WITHOUT_VARIANTS, {"ScoreRepairer"})  # all read groups by the same function
@pytest.mark.parametrize(
    "container",
    [
        list,
        np.array,
        pl.Series,
        lambda sex: pd.Categorical(sex, categories=["F", "M", "X"]),
        encode_groups,
        pd.DataFrame,
    ],
)
def test_containers_of_groups(model, container, people, expected):
    X, y, sex = people
    assert_array_equal(fitted_scores(model, (X, y, container(sex))), expected)
    assert len(model.groups_) == 2


# --- weights


@every_estimator
def test_unit_weights_are_no_weights(model, people, expected):
    scores = fitted_scores(model, people, sample_weight=np.ones(len(people[1])))
    assert_allclose(scores, expected, atol=1e-6)


@every_estimator
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda w: w[:5], r"sample_weight must have shape \(300,\), .*got \(5,\)"),
        (lambda w: -w, "sample_weight must be finite and non-negative, .*got -1.0"),
        (
            lambda w: w * np.nan,
            "sample_weight must be finite and non-negative, .*got nan",
        ),
        (lambda w: w * 0, r"sample_weight is zero|expected at least two|classes"),
    ],
    ids=["length", "negative", "nan", "zero"],
)
def test_bad_weights(model, change, match, people):
    weights = change(np.ones(len(people[1])))
    with pytest.raises(ValueError, match=match):
        fitted_scores(model, people, sample_weight=weights)


# --- where the groups come from


@every_classifier
def test_groups_beside_the_rows_win_over_a_column(model, people):
    X, y, sex = people
    others = np.roll(sex, 1)
    expected = fitted_scores(clone(model), (X, y, others))
    model.set_params(sensitive_features="is_man")
    assert_array_equal(fitted_scores(model, (X, y, others)), expected)


@pytest.mark.slow
@every_classifier
def test_column_of_text_that_is_a_feature(model, people):
    X, y, sex = people
    X = X.assign(sex=sex.to_numpy())
    for selector in ("sex", ["sex"], -1):
        by_text = clone(model).set_params(sensitive_features=selector)
        with pytest.raises(ValueError, match=r"features unless drop_sensitive=True"):
            by_text.fit(X, y)
        by_text.set_params(drop_sensitive=True).fit(X, y).predict(X)
    by_text.set_params(sensitive_features="is_man", drop_sensitive=False)
    with pytest.raises(
        ValueError,
        match=r"^could not convert string to float: '[MF]'$|^pandas dtypes [^$]*sex",
    ):
        by_text.fit(X, y)  # another column of text: the tip would not help


@pytest.mark.slow
@every_classifier
def test_groups_by_column_keyword_and_callable_agree(model, people, expected):
    X, y, _ = people
    for selector in ("is_man", 0, ["is_man"], lambda X: X["is_man"] == 1):
        by_column = clone(model).set_params(sensitive_features=selector).fit(X, y)
        assert_array_equal(scores_of(by_column, X), expected)
    other = clone(model).set_params(sensitive_features="skill")
    assert_array_equal(fitted_scores(other, people), expected)  # the keyword wins
    array = clone(model).set_params(sensitive_features=0).fit(X.to_numpy(), y)
    # Multipliers are those of a numerical optimum.
    atol = 1e-9 if method_of(model) == "decision_function" else 1e-12
    assert_allclose(scores_of(array, X.to_numpy()), expected, atol=atol)
    missing = clone(model).set_params(sensitive_features="race")
    with pytest.raises(ValueError, match="X has no column 'race'"):
        missing.fit(X, y)


@every_classifier
@pytest.mark.parametrize(
    "container",
    [
        lambda X: X,
        pytest.param(np.asarray, marks=pytest.mark.slow),
        pytest.param(csr_matrix, marks=pytest.mark.slow),
    ],
)
@pytest.mark.promise("A column that is dropped reaches no model")
def test_dropped_column_never_reaches_the_model(model, container, people):
    X, y, sex = people
    rest = X[["skill", "proxy"]]
    expected = fitted_scores(clone(model), (container(rest), y, sex))
    selected = clone(model).set_params(sensitive_features=[0], drop_sensitive=True)
    selected.fit(container(X), y)
    assert_allclose(scores_of(selected, container(X)), expected, atol=1e-12)
    assert selected.n_features_in_ == 3
    with pytest.raises(
        ValueError, match="drop_sensitive=True needs sensitive_features"
    ):
        clone(model).set_params(drop_sensitive=True).fit(X, y, sensitive_features=sex)


@every_classifier
@pytest.mark.parametrize(
    "container",
    [
        lambda X: X,
        np.asarray,
        pytest.param(pl.from_pandas, marks=pytest.mark.slow),
        pytest.param(csr_matrix, marks=pytest.mark.slow),
        pytest.param(lambda X: X.to_numpy().tolist(), marks=pytest.mark.slow),
    ],
)
def test_a_dropped_column_is_not_asked_for_in_prediction(model, container, people):
    X, y, _ = people
    X = X[["is_man", "skill", "proxy"]]
    model.set_params(sensitive_features=0, drop_sensitive=True).fit(container(X), y)
    assert model.n_features_in_ == 3
    groups = X["is_man"].to_numpy()
    expected = scores_of(model, container(X), groups)
    rest = X[["skill", "proxy"]]
    assert_array_equal(scores_of(model, container(rest), groups), expected)
    with pytest.raises(ValueError, match=r"expecting 3 features|feature names should"):
        scores_of(model, container(rest[["skill"]]), groups)


@every_classifier
def test_of_several_dropped_columns_some_may_be_absent(model, people):
    X, y, _ = people
    X = X.assign(team=np.arange(len(y)) % 2)
    names = {"sensitive_features": ["is_man", "team"], "drop_sensitive": True}
    model.set_params(**names).fit(X, y)
    groups = X[names["sensitive_features"]]
    expected = scores_of(model, X, groups)
    for absent in (["team"], ["is_man"], names["sensitive_features"]):
        found = scores_of(model, X.drop(columns=absent), groups)
        assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- proxy"):
        scores_of(model, X.drop(columns=["team", "proxy"]), groups)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_parameters_have_one_order(name):
    names = list(signature(type(CLASSIFIERS[name])).parameters)
    shared = ["sensitive_features", "drop_sensitive", "random_state"]
    if "control_features" in names:  # equal errors are a constraint of its own
        shared.insert(2, "control_features")
    start = names.index(shared[0])
    assert names[start : start + len(shared)] == shared
    assert "estimator" not in names[1:]
    documented = re.findall(r"^(\w+) : ", getdoc(type(CLASSIFIERS[name])), re.M)
    assert documented[: len(names)] == names


@each([name for name, e in CLASSIFIERS.items() if not takes(e, "sensitive_features")])
@pytest.mark.promise("No score depends on a group that prediction does not need")
def test_the_group_of_a_row_does_not_change_its_score(model, people):
    X, y, sex = people
    is_man = (sex == "M").to_numpy()
    rest = X.drop(columns="is_man")
    model.set_params(sensitive_features="sex", drop_sensitive=True)
    model.fit(rest.assign(sex=is_man), y)
    scores = model.predict_proba(rest.assign(sex=is_man))
    assert_array_equal(model.predict_proba(rest.assign(sex=~is_man)), scores)
    assert len(np.unique(scores)) > 10


@one_of_each_class
def test_rows_that_are_groups_of_their_own_are_refused(model, people):
    """A position names another column where columns are left out."""
    X, y, _ = people
    if "drop_sensitive" not in model.get_params():
        pytest.skip("has no features")
    model.set_params(sensitive_features=1)
    match = r"=1 \(of X \['skill'\]\) has 300 groups in 300 rows.*max_features"
    with pytest.raises(ValueError, match=match):
        model.fit(X, target(model, y))


@one_of_each_class
def test_a_column_of_many_values_is_refused_by_its_position(model, people):
    """In a bag it may be another column, of numbers."""
    X, y, sex = people
    if "drop_sensitive" not in model.get_params():
        pytest.skip("has no features")
    model.set_params(sensitive_features=1)
    many = X.assign(skill=np.arange(len(X)) % 65)
    match = r"=1 \(of X \['skill'\]\) has 65 groups in 300 rows, expected at most 64"
    with pytest.raises(ValueError, match=match):
        model.fit(many, target(model, y))
    match = r"=1 has 65 groups .* pass sensitive_features to fit there, by metadata ro"
    with pytest.raises(ValueError, match=match):
        model.fit(many.to_numpy(), target(model, y))
    if "control_features" in model.get_params():
        model.set_params(sensitive_features=None, control_features=[1])
        with pytest.raises(ValueError, match=r"control_features=\[1\] .*has 65 groups"):
            model.fit(many, target(model, y), sensitive_features=sex)


@every_estimator
def test_several_columns_are_their_intersection(model, people):
    X, y, sex = people
    frame = pd.DataFrame({"sex": sex.to_numpy(), "tall": X["skill"].to_numpy() > 0})
    joined = [f"{sex} {tall}" for sex, tall in frame.to_numpy()]
    expected = fitted_scores(clone(model), (X, y, joined))
    assert_array_equal(fitted_scores(model, (X, y, frame)), expected)
    assert len(model.groups_) == 4
    assert ("F", False) in model.groups_


@every_classifier
@pytest.mark.promise("Without groups a mitigator warns and fits the plain model")
def test_without_groups_it_warns_and_is_the_plain_model(model, people):
    X, y, _ = people
    with pytest.warns(UserWarning, match="has no sensitive_features: no"):
        model.fit(X, y)
    assert model.groups_ == ()
    plain = getattr(model, "estimator", None) or clone(model).set_params(strength=0)
    plain = clone(plain).fit(X, y)  # and without a warning
    method = method_of(model)
    if method == "decision_function":
        assert_array_equal(model.predict(X), plain.predict(X))
    else:
        assert_allclose(model.predict_proba(X), plain.predict_proba(X))


@every_estimator
@pytest.mark.parametrize("n_rows", [5, 301])
def test_wrong_lengths(model, n_rows, people):
    X, y, sex = people
    groups = np.resize(sex, n_rows)
    with pytest.raises(ValueError, match=f"sensitive_features has {n_rows} rows"):
        fitted_scores(clone(model), (X, y, groups))
    fitted_scores(model, people)
    if takes(model, "sensitive_features"):
        with pytest.raises(ValueError, match=f"sensitive_features has {n_rows} rows"):
            scores_of(model, features(model, X), groups)


@every_classifier
def test_an_empty_list_has_no_columns(model):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.fit([], [0, 1], sensitive_features=["F", "M"])


@every_estimator
def test_missing_groups(model, people):
    X, y, sex = people
    known = sex.mask(np.arange(len(sex)) % 10 == 0, None)
    with pytest.raises(ValueError, match="30 missing"):
        fitted_scores(clone(model), (X, y, known))
    if "unknown_groups" in model.get_params():
        model.set_params(unknown_groups="pooled")
    groups = encode_groups(known, missing="drop")
    assert np.isfinite(fitted_scores(model, (X, y, groups))).all()
    assert model.groups_ == ("F", "M")


@every_classifier
def test_one_group(model, people):
    X, y, _ = people
    with pytest.raises(ValueError, match=r"groups \['M'\], expected at least two"):
        model.fit(X, y, sensitive_features=np.full(len(y), "M"))


@every_classifier
def test_bad_labels(model, people):
    X, y, sex = people
    three = np.arange(len(y)) % 3
    if get_tags(model).classifier_tags.multi_class:
        model.fit(X, three, sensitive_features=sex)
    else:
        with pytest.raises(ValueError, match="Only binary classification"):
            model.fit(X, three, sensitive_features=sex)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:5], sensitive_features=sex)
    with pytest.raises(
        ValueError, match=r"y must have (at least )?two classes, got 1 class"
    ):
        model.fit(X, np.full(len(y), "yes"), sensitive_features=sex)


META = [name for name, e in CLASSIFIERS.items() if "estimator" in e.get_params()]


@pytest.mark.parametrize("model", META, indirect=True)
def test_inner_estimator_without_probabilities(model, people):
    X, y, sex = people
    match = "estimator must .*, got RidgeClassifier"
    with pytest.raises(TypeError, match=match):
        model.set_params(estimator=RidgeClassifier()).fit(X, y, sensitive_features=sex)


# --- strata within which groups are compared


@every_stratified
def test_one_stratum_is_no_stratum(model, people, expected):
    scores = fitted_scores(model, people, np.full(len(people[1]), "all"))
    assert_allclose(scores, expected, atol=1e-4)
    assert model.strata_ == ("all",)


@pytest.mark.slow
@every_stratified
def test_strata_by_keyword_column_and_callable_agree(model, people):
    X, y, sex = people
    X = X.assign(office=np.arange(len(y)) % 2)
    found = [fitted_scores(clone(model), (X, y, sex), X["office"])]
    assert len(found[0]) == len(y)
    if not is_classifier(model):
        return
    for selector in ("office", -1, ["office"], lambda X: X["office"] == 1):
        by_column = clone(model).set_params(control_features=selector)
        by_column.fit(X, y, sensitive_features=sex)
        assert len(by_column.strata_) == 2
        assert_array_equal(scores_of(by_column, X, sex), found[0])
    missing = clone(model).set_params(control_features="race")
    with pytest.raises(ValueError, match=r"no column 'race' \(control_features\)"):
        missing.fit(X, y, sensitive_features=sex)


@every_stratified
def test_bad_strata(model, people):
    _, y, sex = people
    n_rows = len(y)
    for strata, match in (
        (np.zeros(5), "control_features has 5 rows, expected 300"),
        (
            np.where(np.arange(n_rows) % 10, "u", None),
            "control_features has 30 missing",
        ),
        (np.asarray(sex), r"no stratum with rows of two groups, of \['F', 'M'\]"),
    ):
        with pytest.raises(ValueError, match=match):
            fitted_scores(clone(model), people, strata)
    strata = np.where(np.asarray(sex) == "F", "both", "one")
    strata[np.flatnonzero(np.asarray(sex) == "M")[:50]] = "both"
    with pytest.warns(UserWarning, match=r"strata \['one'\] are left out .*two groups"):
        fitted_scores(clone(model), people, strata)


@every_stratified
def test_groups_that_no_stratum_has_are_named(model, people):
    X, y, sex = people
    groups = np.where(np.arange(len(y)) % 5 == 0, "X", sex)
    strata = encode_groups(np.where(groups == "X", None, "in"), missing="drop")
    with pytest.warns(UserWarning, match=r"The groups \['X'\] are left out"):
        model.fit(
            features(model, X),
            target(model, y),
            sensitive_features=groups,
            control_features=strata,
        )
    assert model.groups_ == ("F", "M")


# --- progress


class Recorder:
    """Callback that keeps the names of tasks, and is passed on to models inside."""

    max_propagation_depth = 1

    def __init__(self):
        self.begun, self.ended, self.set_up = [], [], 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.estimator_name, context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name))
        assert context.max_subtasks in (0, None) or len(context._children_map) > 0


MITIGATORS = [name for name, e in ESTIMATORS.items() if not name.startswith("ScoreR")]


@pytest.mark.skipif(find_spec("sklearn.callback") is None, reason="scikit-learn < 1.9")
@each(MITIGATORS, {"DiffMCDPClassifier"})
@pytest.mark.promise("Callbacks of scikit-learn are told of each fit, also in a search")
def test_callbacks_are_told_of_each_task(model, people):
    X, y, _ = people
    name, recorder = type(model).__name__, Recorder()
    model.set_params(sensitive_features="is_man").set_callbacks(recorder)
    model.fit(X, target(model, y))
    assert sorted(recorder.begun) == sorted(recorder.ended)
    tasks = [task for owner, task in recorder.begun if owner == name]
    assert tasks[0] == "fit"
    assert len(tasks) > 2
    assert recorder.set_up == 0
    assert "_tasks" not in vars(model)
    search = GridSearchCV(model.set_callbacks(), {"random_state": [0]}, cv=2)
    search.set_callbacks(recorder).fit(X, target(model, y))
    assert recorder.begun.count((name, tasks[1])) > 3 * tasks.count(tasks[1]) - 1


@pytest.mark.parametrize(
    "model",
    [pytest.param("MCDPReweighter", marks=pytest.mark.slow), "DiffMCDPClassifier"],
    indirect=True,
)
def test_verbose_prints_what_is_done(model, people, capsys):
    fitted_scores(model.set_params(verbose=1), people)
    lines = capsys.readouterr().err.replace("\r", "\n").split("\n")
    assert lines[0].startswith(f"{type(model).__name__}: ")
    assert re.search(r": done, (\d+) of \1 *$", lines[-2])


# --- pipelines, searches and cross-validation


in_strata = pytest.mark.parametrize(
    "in_strata", [pytest.param(False, marks=pytest.mark.slow), True]
)


def routed(name, people, in_strata):
    """Keywords that are routed: groups, and strata where the estimator takes them."""
    given = {"sensitive_features": people[2]}
    if in_strata and name not in STRATIFIED:
        pytest.skip("takes no strata")
    strata = {"control_features": np.arange(len(people[1])) % 2} if in_strata else {}
    return given | strata


@every_estimator
@in_strata
def test_last_step_of_a_pipeline_with_routing(model, in_strata, people, request):
    X, y, _ = people
    X = features(model, X)
    given = routed(request.node.callspec.params["model"], people, in_strata)
    expected = fitted_scores(clone(model), people, given.get("control_features"))
    pipeline = make_pipeline(FunctionTransformer(), model)
    with config_context(enable_metadata_routing=True):
        pipeline.fit(X, target(model, y), **given)
        method = getattr(pipeline, method_of(model))
        scores = scores_of(model, X, *given.values(), method=method)
    assert_array_equal(scores, expected)


@every_classifier
@in_strata
def test_cross_validation_with_routing(model, in_strata, people, request):
    X, y, _ = people
    scorers = [get_fairness_scorer(fairness_of(model))]
    scorers += in_strata * [make_group_scorer("roc_auc")]
    given = routed(request.node.callspec.params["model"], people, in_strata)
    for scoring in scorers:
        with config_context(enable_metadata_routing=True):
            results = cross_validate(
                model, X, y, params=given, scoring=scoring, cv=2, error_score="raise"
            )
        assert np.isfinite(results["test_score"]).all()


@pytest.mark.slow
@every_classifier
def test_cross_validation_without_routing(model, people):
    X, y, _ = people
    model.set_params(sensitive_features="is_man")
    pipeline = make_pipeline(FunctionTransformer(), model)
    for scoring in (
        "roc_auc",
        get_fairness_scorer(fairness_of(model), sensitive_features="is_man"),
    ):
        scores = cross_val_score(
            pipeline, X, y, cv=2, error_score="raise", scoring=scoring
        )
        assert np.isfinite(scores).all()
