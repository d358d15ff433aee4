"""In pipelines, searches and cross-validation, with and without metadata routing."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.model_selection import GroupStratifiedKFold
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer


def baseline_scores(model, X):
    return np.mean([each.predict_proba(X)[:, 1] for each in model.estimators_], axis=0)


def test_level_0_is_the_plain_classifier(people):
    X, y, sex = people
    plain = LogisticRegression().fit(X, y)
    model = MADDPostProcessor(FrozenEstimator(plain), repair_level=0)
    model.fit(X, y, sensitive_features=sex)
    assert_array_equal(
        model.predict_proba(X, sensitive_features=sex)[:, 1],
        plain.predict_proba(X)[:, 1],
    )


def test_threshold_of_predictions(people):
    X, y, _ = people
    model = MADDPostProcessor(
        LogisticRegression(), sensitive_features="is_man", threshold=0.3, cv=2
    ).fit(X, y)
    expected = np.where(model.predict_proba(X)[:, 1] >= 0.3, "yes", "no")
    assert_array_equal(model.predict(X), expected)


def test_frozen_estimator_stays_as_it_is(people, gap):
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


def test_frozen_estimator_that_does_not_know_the_column(people):
    X, y, _ = people
    plain = LogisticRegression().fit(X.drop(columns="is_man"), y)
    model = MADDPostProcessor(FrozenEstimator(plain), sensitive_features="is_man")
    with pytest.raises(ValueError, match=r"(?s)is_man.*unless drop_sensitive=True"):
        model.fit(X, y)
    assert model.set_params(drop_sensitive=True).fit(X, y).repair_level_ > 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"repair_level": 2}, r"repair_level must be 'auto' or a number in \[0, 1\]"),
        ({"repair_level": "all"}, "repair_level"),
        ({"max_mcdp": -0.1}, r"max_mcdp must be None or a number in \[0, 1\]"),
        ({"max_mcdp": 0.1, "repair_level": 0.5}, "max_mcdp replaces repair_level"),
        ({"theta": -1}, "theta"),
        ({"threshold": 2}, "threshold"),
        ({"cv": 1}, "cv"),
        ({"accuracy_loss": "hinge"}, "accuracy_loss"),
        ({"fairness": "dcp"}, "fairness"),
        ({"ties": "first"}, "ties"),
        ({"drop_sensitive": 1}, "drop_sensitive"),
        ({"unknown_groups": "drop"}, "unknown_groups"),
    ],
)
def test_bad_parameters(people, options, match):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        MADDPostProcessor(LogisticRegression(), **options).fit(
            X, y, sensitive_features=sex
        )


# --- where the groups come from


@pytest.mark.parametrize("drop", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_inner_estimator_gets_the_users_dataframe(people, drop):
    X, y, _ = people
    columns = ["skill", "proxy"] if drop else ["is_man", "skill", "proxy"]
    named = make_column_transformer(("passthrough", columns))
    model = MADDPostProcessor(
        make_pipeline(named, LogisticRegression()),
        sensitive_features="is_man",
        drop_sensitive=drop,
        cv=2,
    ).fit(X, y)
    inner = model.estimators_[0][0]
    assert inner.feature_names_in_.tolist() == columns
    assert model.predict(X).shape == y.shape
    assert model.n_features_in_ == 3


def test_predict_without_groups(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), cv=2)
    model.fit(X, y, sensitive_features=sex)
    for ask in (model.predict, model.predict_proba, lambda X: model.score(X, y)):
        with pytest.raises(
            ValueError, match=r"pass it .*construct .*make_group_scorer"
        ):
            ask(X)


def test_score_is_the_accuracy_of_predictions(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), repair_level=1, cv=2)
    model.fit(X, y, sensitive_features=sex)
    right = model.predict(X, sensitive_features=sex) == y
    assert model.score(X, y, sensitive_features=sex) == right.mean()
    weights = np.arange(len(y))
    found = model.score(X, y, weights, sensitive_features=sex)
    assert found == pytest.approx(np.average(right, weights=weights))


@pytest.mark.parametrize(
    "in_strata", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_one_map_for_all_folds(people, in_strata):
    X, y, sex = people
    office = np.arange(len(y)) % 2 if in_strata else None
    given = {"sensitive_features": sex, "control_features": office}
    model = MADDPostProcessor(LogisticRegression(), cv=3, repair_level=0.7)
    model.fit(X, y, **given)
    codes = encode_groups(sex).codes
    cells = codes if office is None else 2 * office + codes
    held_out, scores = np.zeros(len(y)), []
    splits = GroupStratifiedKFold(3).split(X, y, cells)
    for fitted, (_, test) in zip(model.estimators_, splits, strict=True):
        scores.append(fitted.predict_proba(X)[:, 1])
        held_out[test] = scores[-1][test]
    repairer = ScoreRepairer(0.7).fit(held_out, **given)
    expected = np.mean([repairer.transform(each, **given) for each in scores], axis=0)
    assert_allclose(model.predict_proba(X, **given)[:, 1], expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
def test_models_of_few_scores(make_people, depth):
    X, y, sex = make_people(1500)
    new, _, sex_new = make_people(20_000, seed=1)

    def gap_left(model):
        scores = model.predict_proba(new, sensitive_features=sex_new)[:, 1]
        return mcdp(None, scores, sensitive_features=sex_new)

    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    # Few scores stay apart, which the scores of all folds together do not show.
    model = MADDPostProcessor(tree, repair_level=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        model.fit(X, y, sensitive_features=sex)
    left = gap_left(model)
    assert left > 0.15
    assert model.comparison_.mitigated["mcdp"] > left - 0.1
    model.set_params(ties="random", random_state=0).fit(X, y, sensitive_features=sex)
    assert gap_left(model) < 0.15


@pytest.mark.slow
def test_random_ties_draw_nothing_where_no_scores_are_tied(people):
    X, y, sex = people
    found = []
    for seed in (0, 1):
        model = MADDPostProcessor(LogisticRegression(), ties="random", repair_level=1)
        model.set_params(cv=KFold(2), random_state=seed)
        model.fit(X, y, sensitive_features=sex)
        found.append(model.predict_proba(X, sensitive_features=sex))
    assert_array_equal(*found)


# --- the largest gap, and the comparison with no repair


@pytest.mark.slow
def test_largest_gap_on_new_rows(people, make_people, gap):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), max_mcdp=0.15, cv=2)
    model.fit(X, y, sensitive_features=sex)
    new, _, new_sex = make_people(4000, seed=1)
    assert gap(model, new, new_sex, sensitive_features=new_sex) < 0.15 + 0.08
    assert model.repair_level_ is None
    assert model.standard_error_ is None
    assert "max_mcdp" in model.losses_
    assert model.comparison_.mitigated["mcdp"] == pytest.approx(0.15, abs=0.03)
    repaired = model.repairer_.transform(
        baseline_scores(model, X), sensitive_features=sex
    )
    assert mcdp(None, repaired, sensitive_features=sex) == pytest.approx(0.15, abs=0.03)


def test_comparison_is_of_held_out_rows(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), repair_level=1.0, cv=2)
    found = model.fit(X, y, sensitive_features=sex).comparison_
    assert found.baseline["mcdp"] > 0.35
    assert 0.01 < found.mitigated["mcdp"] < 0.08
    assert found.n_samples == 1500
    frozen = MADDPostProcessor(
        FrozenEstimator(LogisticRegression().fit(X, y)), repair_level=1.0
    )
    assert frozen.fit(X, y, sensitive_features=sex).comparison_.mitigated["mcdp"] < 0.08


@pytest.mark.slow
def test_shared_scores_keep_the_gap_and_random_heights_do_not(people):
    X, y, sex = people
    tree = DecisionTreeClassifier(random_state=0)
    model = MADDPostProcessor(tree)
    with pytest.warns(MitigationWarning, match="no gain is shown.*ties='random'"):
        found = model.fit(X, y, sensitive_features=sex).comparison_
    assert found.mitigated["mcdp"] > found.baseline["mcdp"] / 2
    with pytest.warns(MitigationWarning, match=r"not shown to hold.*ties='random'"):
        model.set_params(max_mcdp=0.05).fit(X, y, sensitive_features=sex)
    model.set_params(max_mcdp=None, ties="random", random_state=0)
    found = model.fit(X, y, sensitive_features=sex).comparison_  # warns of nothing
    assert found.mitigated["mcdp"] < found.baseline["mcdp"] / 2


def two_alike(n_samples, rare=0):
    """Features, classes, and groups that have the same distribution of both."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 2))
    y = (rng.random(n_samples) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    groups = rng.choice(["a", "b"], n_samples)
    groups[:rare] = "rare"
    return X, y, groups


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"max_mcdp": 0.0}, {"repair_level": 1.0}], ids=str)
@pytest.mark.parametrize("rare", [0, 20])
def test_a_repair_without_a_gain_is_returned_with_a_warning(options, rare):
    X, y, groups = two_alike(400, rare)
    model = MADDPostProcessor(LogisticRegression(), **options)
    with pytest.warns(MitigationWarning, match="no gain is shown"):
        model.fit(X, y, sensitive_features=groups)
    plain = LogisticRegression().fit(X, y).predict_proba(X)
    assert model.comparison_.n_samples == 400
    moved = model.predict_proba(X, sensitive_features=groups)
    assert np.abs(moved - plain).max() > 0.01
    assert model.expected_mcdp(4000) > 0


@pytest.mark.slow
def test_a_gap_that_is_allowed_is_no_reason_to_warn(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), repair_level=1.0, cv=2)
    plain = model.fit(X, y, sensitive_features=sex).comparison_.baseline["mcdp"]
    model.set_params(repair_level="auto")
    for above in (-0.01, 0.0, 0.2):
        model.set_params(max_mcdp=plain + above)
        model.fit(X, y, sensitive_features=sex)  # warns of nothing
        assert model.comparison_.mitigated["mcdp"] <= plain


@pytest.mark.slow
def test_a_rare_group_that_does_not_differ_leaves_the_others_repaired(people):
    X, y, sex = people
    groups = np.array(sex, dtype=object)
    groups[np.random.default_rng(0).permutation(len(y))[:20]] = "rare"
    model = MADDPostProcessor(LogisticRegression(), max_mcdp=0.1, cv=2)
    model.fit(X, y, sensitive_features=groups)  # warns of nothing
    assert model.repairer_ is not None


@pytest.mark.slow
def test_a_level_of_0_that_is_chosen_is_said_and_one_that_is_given_is_not():
    X, y, groups = failing_students()
    model = MADDPostProcessor(
        LogisticRegression(), theta=0.0, accuracy_loss="log_loss", cv=2
    )
    with pytest.warns(MitigationWarning, match="no gain is shown"):
        model.fit(X, y, sensitive_features=groups)
    assert model.repair_level_ == 0
    model.set_params(repair_level=0).fit(X, y, sensitive_features=groups)


def failing_students():
    """A rare class that the group tells."""
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 3000)
    y = (rng.random(3000) < np.where(groups == "b", 0.3, 0.1)).astype(int)
    X = np.column_stack([groups == "b", y + 0.7 * rng.normal(size=3000)])
    return X.astype(float), y, groups


def test_the_loss_of_performance_is_stated():
    X, y, groups = failing_students()
    model = MADDPostProcessor(LogisticRegression())
    found = model.fit(X, y, sensitive_features=groups).comparison_
    table = found.to_frame().loc["average_precision"]
    assert table["mitigated"] < 0.9 * table["baseline"]
    assert table["difference"] < -2 * table["standard_error"]
    assert " ± " in repr(found)


@pytest.mark.slow
def test_the_true_label_is_no_stratum(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    for strata in (y, np.column_stack([y, np.arange(len(y)) % 2])):
        with pytest.raises(ValueError, match=r"tells the class of each.*'yes'"):
            model.fit(X, y, sensitive_features=sex, control_features=strata)
    positives = encode_groups(np.where(y == "yes", "positive", None), missing="drop")
    model.fit(X, y, sensitive_features=sex, control_features=positives)
    assert model.strata_ == ("positive",)
    assert len(model.predict(X, sensitive_features=sex)) == len(y)


@pytest.mark.slow
def test_a_group_of_weight_zero_is_absent(people):
    X, y, sex = people
    groups = np.array(sex, dtype=object)
    groups[:30] = "rare"
    weights = np.where(groups == "rare", 0, 1)
    model = MADDPostProcessor(LogisticRegression(), repair_level=1.0, cv=2)
    given = {"sensitive_features": groups, "sample_weight": weights}
    model.fit(X, y, **given)
    assert model.groups_ == ("F", "M")
    with pytest.raises(ValueError, match=r"groups \['rare'\] in 30 rows"):
        model.predict(X, sensitive_features=groups)
    bag = BaggingClassifier(
        MADDPostProcessor(
            LogisticRegression(),
            sensitive_features="group",
            drop_sensitive=True,
            unknown_groups="pooled",
        ),
        n_estimators=3,
        random_state=0,
    )
    few = np.where(np.arange(len(y)) < 2, 2, (sex == "F") + 0)
    table = X.assign(group=few)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        bag.set_params(estimator__sensitive_features=3).fit(table.to_numpy(), y)
    assert len(bag.predict(table.to_numpy())) == len(y)


def test_sample_weight_reaches_classifier_and_repair(people):
    X, y, sex = people
    weights = np.where(np.arange(len(y)) < 1000, 1.0, 0.0)
    model = MADDPostProcessor(GaussianNB(), cv=KFold(2))
    model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    total = sum(np.diff(cdf.high, prepend=0).size for cdf in model.repairer_.cdfs_)
    assert total <= 1004


@pytest.mark.slow
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


@pytest.mark.parametrize("unit", [pytest.param(1e-6, marks=pytest.mark.slow), 1000.5])
def test_fractional_weights_have_no_unit(people, unit):
    """Their totals, which may be below 1, are not numbers of rows."""
    X, y, sex = (part[:400] for part in people)
    weights = np.random.default_rng(0).random(400) + 0.1
    scores = []
    for each in (weights, weights * unit):
        model = MADDPostProcessor(GaussianNB(), cv=2)
        model.fit(X, y, sensitive_features=sex, sample_weight=each)
        scores.append(model.predict_proba(X, sensitive_features=sex)[:, 1])
    assert_allclose(scores[1], scores[0], rtol=1e-6)
