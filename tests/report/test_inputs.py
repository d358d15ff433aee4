"""What a report can be built from, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from skfair.datasets import make_biased_classification
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor
from skfair.report import FairnessReport

FEW = {"n_resamples": 2, "n_permutations": 0, "random_state": 0}
Y = np.array([0, 1] * 20)
P = np.linspace(0, 1, 40)
S = np.repeat(["F", "M"], 20)


def made(*arguments, **options):
    options = {"sensitive_features": S, **FEW, **options}
    return FairnessReport.from_predictions(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        (([], []), {"sensitive_features": []}, "y_score has 0 rows"),
        ((Y,), {}, "y_score and y_pred are both None"),
        ((Y[:3], P), {}, "y_true has 3 rows, expected 40"),
        ((Y, {"a": P, "b": P[:3]}), {}, "model 'b' has 3 rows, expected 40"),
        ((Y, P), {"sensitive_features": S[:3]}, "'group' has 3 rows, expected 40"),
        ((Y, P), {"sensitive_features": None}, "sensitive_features is None"),
        ((Y, P), {"sensitive_features": {}}, "no columns"),
        ((Y, 100 * P), {}, r"y_score must lie in \[0, 1\]"),
        ((Y, {"m": P - 1}), {}, r"y_score\['m'\] must lie in \[0, 1\]"),
        ((Y, np.where(P == 0, np.nan, P)), {}, "got nan in row 0"),
        ((Y, S), {}, "y_score must be numbers, got"),
        ((Y, np.c_[P, P]), {}, "without names"),
        ((np.arange(40) % 3, P), {}, "y_true must be binary beside y_score"),
        ((S, P), {}, r"must say which .* positive: y_true holds the labels"),
        ((S, P), {"pos_label": "X"}, r"at most two labels, 'X' .pos_label. among them"),
        ((None,), {"y_pred": np.arange(40) % 3}, "y_true is None"),
        ((Y,), {"y_pred": Y.astype(str)}, "y_true and y_pred must both be text or"),
        ((Y, P), {"metrics": ["mcp"]}, "metrics must be"),
        ((Y, P), {"metrics": "mcdp"}, "metrics must be a sequence"),
        ((None, P), {"metrics": ["dcp"]}, "'dcp', which needs y_true"),
        ((Y,), {"y_pred": Y, "metrics": ["mcdp"]}, "'mcdp', which needs y_score"),
        ((Y, P), {"threshold": 2}, r"threshold must be a number in \[0.*\], got 2"),
        ((Y, P), {"limit": 2}, "limit must be"),
        ((Y, P), {"n_resamples": 0}, "n_resamples must be"),
        (
            (Y, P),
            {"n_permutations": 58},
            "n_permutations must be 0, or an integer of at",
        ),
        ((Y, P), {"confidence_level": 95}, "confidence_level must be"),
        ((Y, P), {"min_group_size": 0}, "min_group_size must be"),
        ((Y, P), {"random_state": -1}, "random_state must be"),
        ((Y, P), {"sample_weight": -P}, "sample_weight must be finite"),
        ((Y, P), {"sample_weight": 0 * P}, "sample_weight is zero in every row"),
        ((np.where(P == 0, np.nan, Y), P), {}, "y_true has 1 missing"),
        ((Y, P), {"sensitive_features": [None, *S[1:]]}, "has 1 missing value"),
        ((Y, {"a": P, 1: P, "1": P}), {}, "y_score must have distinct names"),
    ],
)
def test_bad_input(arguments, options, match):
    with pytest.raises(ValueError, match=match):
        made(*arguments, **options)


@pytest.mark.slow
def test_containers_agree():
    people = pd.DataFrame({"sex": S, "age": np.arange(40) % 2}, index=range(40, 0, -1))
    scores = pd.DataFrame({"m": P, "n": np.roll(P, 1)})
    some = {"metrics": ["mcdp", "equalized_odds_difference"]}
    expected = made(Y, scores, sensitive_features=people, **some).to_frame()
    for y_true, y_score, groups in (
        (Y.tolist(), {"m": P.tolist(), "n": np.roll(P, 1)}, people.to_dict("list")),
        (pd.Series(Y, index=people.index), scores, {n: people[n] for n in people}),
        (pl.Series(Y), pl.DataFrame(scores), pl.DataFrame(people)),
        (Y.astype(bool), scores, people),
        (Y * 2 - 1, scores, people),
    ):
        found = made(y_true, y_score, sensitive_features=groups, **some).to_frame()
        if not np.array_equal(y_true, Y) or np.asarray(y_true).dtype == bool:
            found["sentence"] = expected["sentence"]  # which has the labels
        pd.testing.assert_frame_equal(found, expected)


def test_text_labels():
    some = {"metrics": ["mcdp", "max_gap", "equalized_odds_difference", "dcp"]}
    expected = made(Y, P, **some).to_frame()
    for positive, negative in (("yes", "no"), ("a", "b")):
        labels = np.where(Y, positive, negative)
        found = made(labels, P, pos_label=positive, **some).to_frame()
        for old, new in ((positive, "1"), (negative, "0")):
            found["sentence"] = found["sentence"].str.replace(f"“{old}”", f"“{new}”")
        pd.testing.assert_frame_equal(found, expected)


def test_names_of_attributes():
    names = [
        made(Y, P, sensitive_features=given, metrics=["mcdp"]).summary["attributes"][0][
            "name"
        ]
        for given in (
            S,
            pd.Series(S, name="sex"),
            encode_groups(pd.DataFrame({"sex": S})),
            encode_groups(S),
            np.c_[S, S],
        )
    ]
    assert names == ["group", "sex", "sex", "group", "attribute 1"]


def test_without_labels_only_parity():
    report = made(None, P)
    assert set(report.to_frame()["metric"]).isdisjoint(
        {"dcp", "equalized_odds_difference"}
    )
    assert report.summary["models"][0]["performance"]["accuracy"] is None


@pytest.mark.slow
def test_nothing_given_is_modified():
    y_score = P.copy()
    people = pd.DataFrame({"sex": S, "x": S})
    weights = np.arange(40.0)
    before = people.copy(), weights.copy()
    made(Y, y_score, sensitive_features=people, sample_weight=weights)
    np.testing.assert_array_equal(y_score, P)
    pd.testing.assert_frame_equal(people, before[0])
    np.testing.assert_array_equal(weights, before[1])


@pytest.fixture(scope="module")
def biased():
    return make_biased_classification(
        400,
        group_sizes={"sex": {0: 0.4, 1: 0.6}, "race": {0: 0.5, 1: 0.5}},
        random_state=0,
    )


def estimated(estimator, X, y, **options):
    options = {**FEW, "metrics": ["mcdp", "demographic_parity_difference"], **options}
    return FairnessReport.from_estimator(estimator, X, y, **options)


@pytest.mark.slow
def test_estimators(biased):
    X, y = biased
    models = {
        "weak": LogisticRegression(C=1e-3).fit(X, y),
        "strong": LogisticRegression().fit(X, y),
    }
    report = estimated(models, X, y, sensitive_features=["sex", "race"])
    scores = {name: model.predict_proba(X)[:, 1] for name, model in models.items()}
    expected = made(
        y,
        scores,
        sensitive_features=X[["sex", "race"]],
        metrics=["mcdp", "demographic_parity_difference"],
    )
    pd.testing.assert_frame_equal(report.to_frame(), expected.to_frame())
    assert report.summary["models"][0]["decided_by"] == "as given"
    arrays = estimated(
        models, X, y, sensitive_features={"sex": X["sex"], "race": X["race"]}
    )
    pd.testing.assert_frame_equal(arrays.to_frame(), expected.to_frame())
    by_threshold = estimated(models, X, y, sensitive_features="sex", threshold=0.7)
    assert by_threshold.summary["models"][0]["decided_by"] == "score of at least 0.7"


def test_first_class_as_the_positive_one(biased):
    X, y = biased
    model = LogisticRegression().fit(X, np.where(y, "bad", "good"))
    report = estimated(
        model, X, np.where(y, "bad", "good"), sensitive_features="sex", pos_label="bad"
    )
    score = model.predict_proba(X)[:, 0]
    assert report.to_frame().loc[1, "value"] == pytest.approx(
        mcdp(None, score, sensitive_features=X["sex"])
    )
    assert report.summary["positive"] == "bad"
    assert report.summary["models"][0]["name"] == "LogisticRegression"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:MADDPostProcessor, on")
def test_estimators_that_ask_for_groups(biased):
    X, y = biased
    groups, plain = X["sex"], X.drop(columns="sex")
    model = MADDPostProcessor(LogisticRegression(), repair_level=1).fit(
        plain, y, sensitive_features=groups
    )
    report = estimated(model, plain, y, sensitive_features=groups)
    score = model.predict_proba(plain, sensitive_features=groups)[:, 1]
    assert report.to_frame().loc[1, "value"] == pytest.approx(
        mcdp(None, score, sensitive_features=groups)
    )


@pytest.mark.slow
def test_estimators_without_scores_and_of_many_classes(biased):
    X, y = biased
    report = estimated(
        RidgeClassifier().fit(X, y), X, y, sensitive_features="sex", metrics=None
    )
    assert "mcdp" not in set(report.to_frame()["metric"])
    y = np.arange(400) % 3
    many = LogisticRegression().fit(X, y)
    report = estimated(many, X, y, sensitive_features="sex", metrics=None)
    assert set(report.to_frame()["metric"]) == {"equalized_odds_difference", "dcp"}


def test_bad_estimators(biased):
    X, y = biased
    model = LogisticRegression().fit(X, y)
    with pytest.raises(NotFittedError):
        estimated(LogisticRegression(), X, y, sensitive_features="sex")
    with pytest.raises(ValueError, match="X has no column 'age'"):
        estimated(model, X, y, sensitive_features="age")
    unaware = LogisticRegression().fit(X.drop(columns="sex"), y)
    with pytest.raises(ValueError, match=r"without \['sex'\]: .* pass their values"):
        estimated(unaware, X, y, sensitive_features="sex")
    with pytest.raises(ValueError, match="no models"):
        estimated({}, X, y, sensitive_features="sex")
    with pytest.raises(ValueError, match="pos_label must be one of the classes"):
        estimated(model, X, y, sensitive_features="sex", pos_label="x")
    other = LogisticRegression().fit(X, np.where(y, "a", "b"))
    with pytest.raises(ValueError, match="models of the same classes"):
        estimated({"m": model, "n": other}, X, y, sensitive_features="sex")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("y_score", "y_pred", "names"),
    [
        (P, Y, ["model"]),
        (pd.Series(P, name="p"), pd.Series(Y, name="d"), ["p"]),
        (P, pd.Series(Y, name="d"), ["d"]),
        ({"m": P}, Y, ["m"]),
        (P, {"m": Y}, ["m"]),
        (pd.DataFrame({"p": P}), pl.DataFrame({"d": Y}), ["p"]),
        ({"m": P}, {"m": Y}, ["m"]),
        ({"m": P}, {"rules": Y}, ["m", "rules"]),
        ({"m": P, "n": P}, {"n": Y}, ["m", "n"]),
    ],
)
def test_scores_and_labels_of_one_model(y_score, y_pred, names):
    some = {"metrics": ["demographic_parity_difference"]}
    report = made(Y, y_score, y_pred=y_pred, **some)
    models = report.summary["models"]
    assert [model["name"] for model in models] == names
    if len(names) == 1:
        assert models[0]["scores"]
        assert models[0]["decided_by"] == "as given"
        rates = [row["selection_rate"] for row in _groups(report)]
        assert rates == [Y[sex == S].mean() for sex in ("F", "M")]


def _groups(report):
    return report.summary["attributes"][0]["results"][0]["groups"]


@pytest.mark.parametrize("pos_label", [0, pytest.param("yes", marks=pytest.mark.slow)])
def test_a_table_of_class_probabilities_is_one_model(pos_label):
    labels = [0, 1] if pos_label != "yes" else ["no", "yes"]
    y_true = np.array(labels)[Y]
    proba = pd.DataFrame(np.c_[1 - P, P], columns=labels)
    report = made(y_true, proba, pos_label=pos_label, metrics=["mcdp"])
    positive = proba.iloc[:, 0 if pos_label == 0 else 1].to_numpy()
    expected = made(y_true, positive, pos_label=pos_label, metrics=["mcdp"])
    pd.testing.assert_frame_equal(
        report.to_frame().drop(columns="model"),
        expected.to_frame().drop(columns="model"),
    )
    named = proba.set_axis(["a", "b"], axis=1)
    with pytest.raises(ValueError, match=r"add up to 1.*as table\['b'\]"):
        made(y_true, named, pos_label=pos_label, metrics=["mcdp"])
    two = made(y_true, named**2, pos_label=pos_label, metrics=["mcdp"])
    assert set(two.to_frame()["model"]) == {"a", "b"}


@pytest.mark.parametrize(
    "argument",
    ["sensitive_features", pytest.param("control_features", marks=pytest.mark.slow)],
)
def test_rows_in_another_order_are_warned_of(argument):
    y_score, order = pd.Series(P), np.random.default_rng(0).permutation(40)
    labels = {"sensitive_features": S, "control_features": Y}[argument]
    moved = {argument: pd.Series(labels, index=order)}
    with pytest.warns(UserWarning, match=f"y_score and {argument} have the") as warned:
        report = made(Y, y_score, metrics=["mcdp"], **moved)
    assert len(warned) == 1
    expected = made(Y, y_score, metrics=["mcdp"], **{argument: labels})
    pd.testing.assert_frame_equal(report.to_frame(), expected.to_frame())


class OneColumn(ClassifierMixin, BaseEstimator):
    """Classifier of two classes with the probability of one of them."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.full((len(X), 1), 0.3)

    def predict(self, X):
        return np.zeros(len(X), int)


def test_one_column_of_probabilities_is_refused():
    with pytest.raises(ValueError, match="a column for each of the classes"):
        FairnessReport.from_estimator(
            OneColumn().fit(None, None),
            np.ones((4, 1)),
            [0, 1, 0, 1],
            sensitive_features=[0, 0, 1, 1],
        )
