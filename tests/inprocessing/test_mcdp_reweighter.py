import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.inprocessing import MCDPReweighter
from skfair.metrics import mcdp

TREES = HistGradientBoostingClassifier(
    learning_rate=0.3, max_iter=8, max_leaf_nodes=4, max_bins=32, early_stopping=False
)


@pytest.mark.slow
@pytest.mark.parametrize("inner", [LogisticRegression(), TREES, GaussianNB()])
def test_the_gap_on_new_rows_falls(people, inner, make_people, gap):
    X, y, _ = people
    new, new_y, new_sex = make_people(4000, seed=1)
    plain = clone(inner).fit(X, y)
    model = MCDPReweighter(
        inner, sensitive_features="is_man", strength=1.0, drop_sensitive=True
    ).fit(X, y)
    assert gap(model, new, new_sex) < 0.6 * gap(plain, new, new_sex)
    assert np.mean(model.predict(new) == new_y) > 0.6


def test_stronger_is_fairer(people, logistic, gap):
    X, y, sex = people
    gaps = [
        gap(logistic(strength=s).fit(X, y, sensitive_features=sex), X, sex)
        for s in (0, 0.1, 0.2, 0.4)
    ]
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < gaps[0] / 3


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_every_objective_and_form_falls(people, objective, logistic):
    X, y, sex = people
    for form in ("two_label", "sample_weight"):
        model = logistic(strength=1.0, objective=objective, form=form)
        history = model.fit(X, y, sensitive_features=sex).history_
        first, last = history.iloc[0], history.iloc[-1]
        assert last["gap"] < 0.9 * first["gap"]
        assert last["penalised_loss"] < first["penalised_loss"]
    if objective == "dp":
        scores = model.predict_proba(X)[:, 1]
        means = [scores[sex.to_numpy() == group].mean() for group in "FM"]
        assert last["gap"] == pytest.approx(abs(np.diff(means)[0]))


@pytest.mark.parametrize("form", ["two_label", "sample_weight"])
@pytest.mark.parametrize("inner", [LogisticRegression(), TREES])
def test_strength_0_is_the_plain_classifier(people, inner, form):
    X, y, sex = people
    weights = np.arange(len(y)) % 3
    for given in ({}, {"sample_weight": weights}):
        model = MCDPReweighter(inner, strength=0, form=form, validation_fraction=0.5)
        model.fit(X, y, sensitive_features=sex, **given)
        plain = clone(inner).fit(X, y, **given)
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
        assert model.n_iter_ == 1
        assert_array_equal(
            model.sample_weight_.sum(axis=1),
            given.get("sample_weight", np.ones(len(y))),
        )


def test_fitted_attributes(people, logistic):
    X, y, sex = people
    model = logistic(strength=0.5)
    assert model.fit(X, y, sensitive_features=sex) is model
    assert list(model.history_.columns) == [
        "round",
        "loss",
        "gap",
        "threshold",
        "penalised_loss",
        "kept",
    ]
    assert len(model.history_) == model.n_iter_
    assert model.history_["kept"].tolist() == [False] * (model.n_iter_ - 1) + [True]
    share = np.mean(y == "yes")
    strength = 0.5 * 4 * share * (1 - share)
    assert_allclose(
        model.history_["penalised_loss"],
        model.history_["loss"] + strength * model.history_["gap"],
    )
    assert model.history_["threshold"].between(0, 1).all()
    assert model.groups_ == ("F", "M")
    assert_array_equal(model.classes_, ["no", "yes"])
    assert model.n_features_in_ == 3
    assert_array_equal(model.feature_names_in_, X.columns)
    assert model.sample_weight_.shape == (len(y), 2)
    assert_array_equal(model.decision_function(X) > 0, model.predict(X) == "yes")


@pytest.mark.slow
def test_weights_may_be_carried_into_another_training(people, logistic):
    X, y, sex = people
    model = logistic(strength=1.0).fit(X, y, sensitive_features=sex)
    twice = LogisticRegression().fit(
        pd.concat([X, X]),
        np.repeat(model.classes_, len(y)),
        sample_weight=model.sample_weight_.T.ravel(),
    )
    assert_allclose(twice.predict_proba(X), model.predict_proba(X), atol=1e-6)
    model.set_params(form="sample_weight").fit(X, y, sensitive_features=sex)
    once = LogisticRegression().fit(
        X, y, sample_weight=model.sample_weight_.sum(axis=1)
    )
    assert_allclose(once.predict_proba(X), model.predict_proba(X), atol=1e-6)
    assert (model.sample_weight_[y == "yes", 0] == 0).all()


def test_weight_two_is_a_row_twice(people, logistic):
    X, y, sex = people
    weights = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    options = {"strength": 1.0, "tol": 0}
    weighted = logistic(**options).fit(
        X, y, sensitive_features=sex, sample_weight=weights
    )
    repeated = logistic(**options).fit(
        X.iloc[rows], y[rows], sensitive_features=sex.iloc[rows]
    )
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)
    assert_allclose(
        weighted.history_["penalised_loss"],
        repeated.history_["penalised_loss"],
        atol=1e-4,
    )
    assert (weighted.sample_weight_[weights == 0] == 0).all()


def test_validation_keeps_the_best_round(people, logistic):
    X, y, sex = people
    model = logistic(
        strength=1.0, validation_fraction=0.3, random_state=0, averaging=False
    ).fit(X, y, sensitive_features=sex)
    history = model.history_
    best = history["validation_penalised_loss"].idxmin()
    assert history["kept"][best]
    assert history["kept"].sum() == 1
    held_out = (model.sample_weight_ == 0).all(axis=1)
    assert held_out.sum() == pytest.approx(0.3 * len(y), abs=2)
    share = [np.mean(sex[held_out] == "M"), np.mean(sex == "M")]
    assert share[0] == pytest.approx(share[1], abs=0.01)


@pytest.mark.slow
def test_rounds_settle(people, logistic):
    X, y, sex = people
    model = MCDPReweighter(
        TREES, strength=1.0, max_iter=20, tol=0, validation_fraction=None
    )
    averaged = model.fit(X, y, sensitive_features=sex).history_["gap"]
    assert averaged[-6:].std() < 0.1 * averaged[0]
    model = logistic(strength=0.5, max_iter=200, tol=1e-3)
    assert model.fit(X, y, sensitive_features=sex).n_iter_ < 50


def test_verbose_prints_every_round(people, capsys, logistic):
    X, y, sex = people
    model = logistic(verbose=True, max_iter=3, tol=0).fit(X, y, sensitive_features=sex)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == model.n_iter_ == 3
    assert lines[0].startswith("MCDPReweighter: round 0: loss 0.")


def test_scores_of_0_and_1(people):
    X, y, sex = people
    tree = DecisionTreeClassifier(random_state=0)
    model = MCDPReweighter(tree, strength=1.0, validation_fraction=None)
    model.fit(X, y, sensitive_features=sex)
    assert np.isfinite(model.sample_weight_).all()
    assert (model.sample_weight_ >= 0).all()
    constant = MCDPReweighter(DummyClassifier())
    constant.fit(X, y, sensitive_features=sex)
    assert np.ptp(constant.predict_proba(X)[:, 1]) == 0


# --- where the groups come from


def test_history_without_groups(people, logistic):
    X, y, _ = people
    model = logistic()
    with pytest.warns(UserWarning, match=r"no sensitive_features: no gap is penalised"):
        model.fit(X, y)
    assert np.isnan(model.history_["gap"][0])
    assert model.history_["penalised_loss"][0] == model.history_["loss"][0]
    logistic(strength=0).fit(X, y)  # nothing to warn of


def test_more_than_two_groups(people, logistic, gap):
    X, y, _ = people
    third = np.digitize(X["proxy"], [0.2, 1.5])
    plain = gap(LogisticRegression().fit(X, y), X, third)
    model = logistic(strength=3).fit(X, y, sensitive_features=third)
    assert model.groups_ == (0, 1, 2)
    assert gap(model, X, third) < 0.7 * plain
    many = logistic(max_iter=2).fit(X, y, sensitive_features=np.arange(len(y)) % 500)
    assert len(many.groups_) == 500
    assert np.isfinite(many.sample_weight_).all()


@pytest.mark.slow
def test_group_of_one_row(people, logistic):
    X, y, sex = people
    rare = sex.to_numpy(dtype=object).copy()
    rare[0] = "X"
    for inner in (LogisticRegression(), TREES):
        model = MCDPReweighter(inner, max_iter=4, random_state=0)
        model.fit(X, y, sensitive_features=rare)
        assert np.isfinite(model.sample_weight_).all()
        assert np.isfinite(model.predict_proba(X)).all()
    alone = np.where(np.arange(len(y)) == 0, "X", "M")
    model = logistic(validation_fraction=0.2)
    with pytest.warns(UserWarning, match="leaves 1 group to train on or to hold out: "):
        model.fit(X, y, sensitive_features=alone)
    assert model.comparison_ is None
    assert model.history_["kept"].iloc[-1]
    with pytest.warns(UserWarning, match="=1e-09 of 1500 rows leaves too few rows to"):
        model.set_params(validation_fraction=1e-9).fit(X, y, sensitive_features=rare)


def test_one_group_with_weight(people, logistic):
    X, y, sex = people
    with pytest.raises(ValueError, match=r"groups \['F'\], expected at least two"):
        logistic().fit(X, y, sensitive_features=sex, sample_weight=sex == "F")


def test_rows_without_a_group_count_in_the_loss_only(people, logistic, gap):
    X, y, sex = people
    known = sex.mask(np.arange(len(sex)) % 10 == 0, None)
    groups = encode_groups(known, missing="drop")
    model = logistic(strength=1).fit(X, y, sensitive_features=groups)
    assert gap(model, X, groups) < 0.25
    assert (model.sample_weight_[::10].sum(axis=1) > 0).all()


# --- bad parameters, rows and inner classifiers


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strength": -1}, r"strength must be a number in \[0, inf\), got -1"),
        ({"strength": np.inf}, "strength"),
        ({"strength": np.nan}, "strength"),
        ({"temperature": 0}, r"temperature must be a number in \(0, inf\), got 0"),
        ({"objective": "madd"}, "objective must be 'mcdp', 'dp' or 'abcc', got 'madd'"),
        ({"form": "both"}, "form must be 'two_label' or 'sample_weight', got 'both'"),
        ({"max_iter": 1}, "max_iter must be an integer of at least 2"),
        ({"averaging": "yes"}, "averaging"),
        ({"validation_fraction": 1}, "validation_fraction must be None or a number"),
        ({"tol": -1}, "tol"),
        ({"drop_sensitive": 1}, "drop_sensitive"),
        ({"drop_sensitive": True}, "drop_sensitive=True needs sensitive_features"),
    ],
)
def test_bad_parameters(people, options, match, logistic):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        logistic(**options).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    ("inner", "match"),
    [
        (KNeighborsClassifier(), "which KNeighborsClassifier does not"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "KNeighbors"),
        (FrozenEstimator(LogisticRegression()), "which FrozenEstimator does not"),
        (RidgeClassifier(), "estimator must have predict_proba, got RidgeClassifier"),
    ],
)
def test_estimators_that_cannot_be_reweighted(people, inner, match):
    X, y, sex = people
    with pytest.raises(TypeError, match=match):
        MCDPReweighter(inner).fit(X, y, sensitive_features=sex)


class Breaks(ClassifierMixin, BaseEstimator):
    """Gives NaN once it has seen weights."""

    def __init__(self, always=False):
        self.always = always

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.broken_ = self.always or sample_weight is not None
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan if self.broken_ else 0.5)


def test_nan_scores_stop_with_the_round_and_the_cause(people):
    X, y, sex = people
    with pytest.raises(ValueError, match=r"Breaks gave 1200 NaN .* in round 1, prob"):
        MCDPReweighter(Breaks()).fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="in round 0, already without reweighting"):
        MCDPReweighter(Breaks(always=True)).fit(X, y, sensitive_features=sex)


# --- the comparison with the plain classifier


def test_it_is_compared_with_the_plain_classifier_on_held_out_rows(people):
    X, y, sex = people
    model = MCDPReweighter(LogisticRegression(), strength=0.6, random_state=0)
    comparison = model.fit(X, y, sensitive_features=sex).comparison_
    held_out = (model.sample_weight_ == 0).all(axis=1)
    assert comparison.n_samples == held_out.sum() == 300
    assert set(comparison.group_sizes) == {"F", "M"}
    plain = LogisticRegression().fit(X[~held_out], y[~held_out])
    for prefix, classifier in (("plain_", plain), ("", model)):
        scores = classifier.predict_proba(X[held_out])[:, 1]
        quality = average_precision_score(y[held_out] == "yes", scores)
        assert getattr(comparison, prefix + "average_precision") == pytest.approx(
            quality
        )
        found = mcdp(None, scores, sensitive_features=sex[held_out])
        assert getattr(comparison, prefix + "mcdp") == pytest.approx(found)
    assert comparison.mcdp < comparison.plain_mcdp / 2


def test_a_tree_that_reproduces_its_labels_is_not_worse_silently(people):
    X, y, sex = people
    tree = DecisionTreeClassifier(random_state=0)
    model = MCDPReweighter(tree, strength=1.0, random_state=0)
    with pytest.warns(MitigationWarning, match="held-out rows: MCDP") as found:
        model.fit(X, y, sensitive_features=sex)
    assert found[0].filename == __file__
    assert not model.history_["kept"][0]
    assert model.comparison_.mcdp > model.comparison_.plain_mcdp


def test_nothing_to_compare(people, logistic):
    X, y, sex = people
    assert logistic().fit(X, y, sensitive_features=sex).comparison_ is None
    few = slice(0, 150)
    model = logistic(validation_fraction=0.2)
    model.fit(X[few], y[few], sensitive_features=sex[few])
    assert model.comparison_ is None
    assert (model.sample_weight_ > 0).any(axis=1).all()
    model.set_params(strength=0).fit(X, y, sensitive_features=sex)
    assert model.comparison_ is None


@pytest.mark.slow
def test_strength_means_the_same_for_rare_positives(make_people, logistic, gap):
    X, y, sex = make_people(20_000)
    positive = np.flatnonzero(y == "yes")
    shares = []
    for n_positive in (len(positive), 1000, 200):
        rows = np.sort(np.append(np.flatnonzero(y == "no"), positive[:n_positive]))
        few, labels, groups = X[["skill", "proxy"]].iloc[rows], y[rows], sex.iloc[rows]
        gaps = [
            gap(
                logistic(strength=strength).fit(few, labels, sensitive_features=groups),
                few,
                groups,
            )
            for strength in (0, 0.3)
        ]
        shares.append(gaps[1] / gaps[0])
    assert max(shares) < 1.7 * min(shares)
    assert min(shares) > 0.2
