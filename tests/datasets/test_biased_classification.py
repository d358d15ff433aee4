import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from skfair.datasets import make_biased_classification

SEX = {"sex": {"F": 0.3, "M": 0.7}}


def test_defaults():
    X, y = make_biased_classification(random_state=0)
    assert X.shape == (1000, 6)
    assert list(X.columns) == ["x0", "x1", "x2", "x3", "x4", "group"]
    assert X["group"].cat.categories.tolist() == ["a", "b"]
    assert y.shape == (1000,)
    assert set(y) == {0, 1}
    assert X["group"].value_counts(normalize=True)["a"] == pytest.approx(0.5, abs=0.06)


def test_group_sizes_and_base_rates():
    X, y = make_biased_classification(
        50_000,
        group_sizes={"sex": {"F": 0.3, "M": 0.6, "X": 0.1}},
        base_rates={"sex": {"F": 0.2, "M": 0.65}},
        random_state=0,
    )
    shares = X["sex"].value_counts(normalize=True, sort=False)
    np.testing.assert_allclose(shares, [0.3, 0.6, 0.1], atol=0.01)
    rates = pd.Series(y).groupby(X["sex"], observed=True).mean()
    np.testing.assert_allclose(rates, [0.2, 0.65, 0.5], atol=0.025)


@pytest.mark.slow
def test_attributes_are_independent_and_rates_combine_on_log_odds():
    rates = {"sex": {"F": 0.2, "M": 0.4}, "race": {"p": 0.3, "q": 0.6}}
    X, y = make_biased_classification(
        200_000,
        n_features=1,
        group_sizes=SEX | {"race": {"p": 0.5, "q": 0.5}},
        base_rates=rates,
        random_state=0,
    )
    cells = pd.crosstab(X["sex"], X["race"], normalize=True)
    np.testing.assert_allclose(cells, [[0.15, 0.15], [0.35, 0.35]], atol=0.01)
    log_odds = (
        pd.Series(y)
        .groupby([X["sex"], X["race"]], observed=True)
        .mean()
        .map(logit)
        .unstack()
    )
    step = logit(0.4) - logit(0.2)
    np.testing.assert_allclose(log_odds.loc["M"] - log_odds.loc["F"], step, atol=0.05)
    step = logit(0.6) - logit(0.3)
    np.testing.assert_allclose(log_odds["q"] - log_odds["p"], step, atol=0.05)
    level = log_odds.to_numpy()[np.newaxis] * cells.to_numpy()
    sex = 0.3 * logit(0.2) + 0.7 * logit(0.4)
    race = 0.5 * logit(0.3) + 0.5 * logit(0.6)
    assert level.sum() == pytest.approx((sex + race) / 2, abs=0.03)


def test_attribute_without_rates_leaves_those_of_another_alone():
    X, y = make_biased_classification(
        50_000,
        group_sizes=SEX | {"race": {"p": 0.5, "q": 0.5}},
        base_rates={"sex": {"F": 0.2, "M": 0.7}},
        random_state=0,
    )
    rates = pd.Series(y).groupby([X["race"], X["sex"]], observed=True).mean()
    np.testing.assert_allclose(rates.unstack(), [[0.2, 0.7]] * 2, atol=0.02)


@pytest.mark.slow
def test_shift_moves_scores_but_not_labels():
    shifted, y = make_biased_classification(
        20_000, group_sizes=SEX, score_shifts={"sex": {"F": -0.5}}, random_state=0
    )
    plain, y_plain = make_biased_classification(20_000, group_sizes=SEX, random_state=0)
    np.testing.assert_array_equal(y, y_plain)
    features = plain.columns[:-1]
    women = plain["sex"] == "F"
    moved = shifted.loc[women, features] - plain.loc[women, features]
    np.testing.assert_allclose(moved, -0.5 / np.sqrt(5))
    model = LogisticRegression().fit(plain[features], y)
    change = model.decision_function(shifted[features]) - model.decision_function(
        plain[features]
    )
    # The log-odds move by 2 * class_sep * shift.
    assert change[women].mean() == pytest.approx(-1.0, abs=0.05)
    np.testing.assert_allclose(change[~women], 0)

    scores = LogisticRegression().fit(shifted[features], y)
    scores = scores.predict_proba(shifted[features])[:, 1]
    assert scores[women].mean() < scores[~women].mean() - 0.1
    assert y[women].mean() == pytest.approx(y[~women].mean(), abs=0.03)


def test_shifts_add_up():
    settings = {
        "n_samples": 200,
        "n_features": 1,
        "group_sizes": SEX | {"race": {"p": 0.5, "q": 0.5}},
        "random_state": 0,
    }
    plain, _ = make_biased_classification(**settings)
    moved, _ = make_biased_classification(
        **settings, score_shifts={"sex": {"M": 1.0}, "race": {"q": 0.25}}
    )
    expected = (plain["sex"] == "M") + 0.25 * (plain["race"] == "q")
    np.testing.assert_allclose(moved["x0"] - plain["x0"], expected)


def test_classes_are_as_far_apart_as_asked():
    X, y = make_biased_classification(
        50_000, n_features=3, class_sep=2.0, random_state=0
    )
    position = X[["x0", "x1", "x2"]].sum(axis=1) / np.sqrt(3)
    assert position[y == 1].mean() == pytest.approx(2, abs=0.03)
    assert position[y == 0].mean() == pytest.approx(-2, abs=0.03)
    assert position[y == 1].std() == pytest.approx(1, abs=0.03)


def test_labels_as_given():
    labels = {1: 0.25, (2, "x"): 0.25, "b": 0.5}
    X, _ = make_biased_classification(group_sizes={"kind": labels}, random_state=0)
    assert list(X["kind"].cat.categories) == list(labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples == 0, must be >= 1"),
        ({"n_features": 0}, "n_features == 0, must be >= 1"),
        ({"class_sep": -1.0}, r"class_sep == -1.0, must be >= 0"),
        ({"group_sizes": {}}, "group_sizes must have at least one attribute"),
        (
            {"group_sizes": {"sex": {"F": 0.3, "M": 0.6}}},
            r"group_sizes\['sex'\] must be positive shares .* sum 0\.9",
        ),
        (
            {"group_sizes": {"sex": {"F": -0.5, "M": 1.5}}},
            r"group_sizes\['sex'\] must be positive",
        ),
        ({"group_sizes": {"sex": {}}}, r"group_sizes\['sex'\] .* sum 0"),
        ({"group_sizes": {"x0": {"F": 1.0}}}, "'x0', which is the name of a feature"),
        (
            {"base_rates": {"group": {"a": 1.0}}},
            r"base_rates\['group'\]\['a'\] must be a number in \(0, 1\), got 1\.0",
        ),
        (
            {"base_rates": {"sex": {"a": 0.5}}},
            r"base_rates .* attribute 'sex', expected one of \['group'\]",
        ),
        (
            {"score_shifts": {"group": {"c": 1.0}}},
            r"score_shifts\['group'\] .* label 'c', expected one of \['a', 'b'\]",
        ),
        (
            {"score_shifts": {"group": {"a": float("nan")}}},
            r"score_shifts\['group'\]\['a'\] must be a number in \(-inf, inf\)",
        ),
    ],
)
def test_bad_values(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_biased_classification(**arguments)


def test_bad_type():
    with pytest.raises(TypeError, match="n_samples"):
        make_biased_classification(10.5)
