"""Fair predictions of numbers without the group at prediction."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.model_selection import BestUnder
from skfair.postprocessing import UnawareRegressor


@pytest.fixture(scope="module")
def salaries(make_people):
    """Features without sex, salaries and sex."""
    X, _, sex = make_people(2000)
    noise = np.random.default_rng(1).normal(size=len(X))
    y = 50_000 + 9_000 * (X["skill"] + X["proxy"] + noise)
    return X[["skill", "proxy"]], y, sex


def gap(predicted, groups, **options):
    return mcdp(None, predicted, sensitive_features=groups, scale="rank", **options)


def fitted(salaries, n_rows=1000, **options):
    X, y, sex = salaries
    options = {"group_estimator": LogisticRegression(), "strength": 1.0} | options
    model = UnawareRegressor(LinearRegression(), **options)
    return model.fit(X[:n_rows], y[:n_rows], sensitive_features=sex[:n_rows])


@pytest.fixture(scope="module")
def automatic(salaries):
    return fitted(salaries, strength="auto")


@pytest.mark.slow
@pytest.mark.promise("`UnawareRegressor` lowers the gap without the group")
def test_gap_falls_on_new_rows_and_comparison_says_so(salaries):
    X, y, sex = salaries
    model = fitted(salaries)
    new, y_new, sex_new = X[1000:], y[1000:], sex[1000:]
    plain, fair = model.with_strength(0).predict(new), model.predict(new)
    mean = np.mean([one.predict(new) for one in model.estimators_], axis=0)
    assert_allclose(plain, mean)
    assert gap(plain, sex_new) > 0.35
    assert gap(fair, sex_new) < 0.22
    assert 0.3 < r2_score(y_new, fair) < r2_score(y_new, plain)
    found = model.comparison_
    assert found.mitigated["mcdp"] == pytest.approx(gap(fair, sex_new), abs=0.08)
    assert found.mitigated["r2"] == pytest.approx(r2_score(y_new, fair), abs=0.05)
    assert found.baseline["r2"] == pytest.approx(r2_score(y_new, plain), abs=0.05)


@pytest.mark.slow
def test_path_and_choice_of_strength(salaries, automatic):
    path = pd.DataFrame(automatic.path_)
    assert len(path) == 21
    r2, gaps = path["mean_test_r2"], -path["mean_test_neg_mcdp"]
    assert r2.iloc[0] == r2.max() > r2.iloc[-1] + 0.1
    assert gaps.iloc[-1] < 0.1
    assert gaps.iloc[0] > 0.35
    assert r2[path["strength"] == automatic.strength_].item() >= 0.8 * r2.iloc[0]
    assert 0 < automatic.strength_ < path["strength"].max()
    chosen = automatic.with_strength("auto", max_mcdp=0.2)
    small = path["strength"][gaps <= 0.2].min()
    assert chosen.strength_ == small > 0
    assert chosen.comparison_.mitigated["mcdp"] <= 0.2
    rule = BestUnder("r2", limit=0.2)
    assert path["strength"][rule(path)] == small
    alone = automatic.with_strength(small)
    X = salaries[0]
    assert_array_equal(alone.predict(X), chosen.predict(X))


@pytest.mark.slow
def test_no_map_is_fitted_to_noise(salaries):
    X, y, _ = salaries
    coins = np.random.default_rng(0).integers(0, 2, 600)
    model = UnawareRegressor(LinearRegression(), group_estimator=LogisticRegression())
    model.fit(X[:600], y[:600], sensitive_features=coins)
    assert model.comparison_.baseline["mcdp"] < 0.08
    assert model.strength_ == 0
    assert model.comparison_.mitigated["mcdp"] == model.comparison_.baseline["mcdp"]


@pytest.mark.slow
def test_a_gap_that_cannot_be_reached_is_warned_of(salaries):
    X, y, sex = salaries
    blind = DummyClassifier()  # its guess of the group is the same for everyone
    model = UnawareRegressor(LinearRegression(), group_estimator=blind, max_mcdp=0.0)
    with pytest.warns(MitigationWarning, match="max_mcdp=0 is missed by more than"):
        model.fit(X, y, sensitive_features=sex)


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "shift"), [(1e-3, -7), (1e9, 0)])
def test_the_unit_of_the_target_does_not_matter(salaries, factor, shift):
    X, y, sex = salaries
    expected = fitted(salaries).predict(X)
    found = fitted((X, y * factor + shift, sex)).predict(X)
    assert_allclose(found, expected * factor + shift, rtol=1e-3)


def test_bad_input(salaries):
    X, y, sex = salaries
    for estimator in (LogisticRegression(), StandardScaler()):
        with pytest.raises(TypeError, match="estimator must be a regressor, got "):
            UnawareRegressor(estimator).fit(X, y, sensitive_features=sex)
    with pytest.raises(TypeError, match="group_estimator must have predict_proba"):
        fitted(salaries, group_estimator=Ridge())
    for options, match in (
        ({"strength": -1}, r"strength must be 'auto' or a number in \[0, inf\)"),
        ({"max_mcdp": 2, "strength": "auto"}, "max_mcdp must be None or a number"),
        ({"max_mcdp": 0.1}, "max_mcdp chooses the strength, got max_mcdp=0.1"),
        ({"cv": 2000}, "cv=2000 needs as many rows, got n_samples=1000"),
    ):
        with pytest.raises(ValueError, match=match):
            fitted(salaries, **options)
    with pytest.warns(UserWarning, match="no sensitive_features: no gap is penalised"):
        plain = UnawareRegressor(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="strength=1 needs groups, but fit was given"):
        plain.with_strength(1)
    assert_allclose(plain.predict(X), LinearRegression().fit(X, y).predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-9, "sum to one"])
def test_the_unit_of_weights_does_not_matter(salaries, unit):
    X, y, sex = (part[:300] for part in salaries)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 300)
    unit = 1 / weights.sum() if unit == "sum to one" else unit
    found = [
        UnawareRegressor(LinearRegression(), strength=1.0, cv=2)
        .fit(X, y, sensitive_features=sex, sample_weight=scale * weights)
        .predict(X)
        for scale in (1, unit)
    ]
    assert gap(found[0], sex) < 0.35
    assert_allclose(found[1], found[0], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "text", "frozen"])
def test_the_default_model_of_the_group_reads_what_the_regressor_reads(salaries, kind):
    X, y, sex = (part[:400] for part in salaries)
    given, inner = csr_array(X.to_numpy()), Ridge()
    if kind != "sparse":
        given = X.assign(job=np.where(X["proxy"] > 0.7, "smith", "nurse"))
        inner = make_pipeline(
            make_column_transformer(
                (OneHotEncoder(), ["job"]), remainder="passthrough"
            ),
            Ridge(),
        )
    if kind == "frozen":
        inner = FrozenEstimator(inner.fit(given, y))
    model = UnawareRegressor(inner, strength=1.0, cv=2)
    model.fit(given, y, sensitive_features=sex)
    assert gap(model.predict(given), sex) < 0.6 * gap(y, sex)
    assert gap(model.with_strength(0).predict(given), sex) > 0.3
