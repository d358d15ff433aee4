"""Classifiers that are repaired within strata, `control_features`."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.metrics import madd, mcdp
from skfair.postprocessing import (
    MADDPostProcessor,
    ScoreRepairer,
    UnawarePostProcessor,
)


def baseline_scores(model, X):
    return np.mean([each.predict_proba(X)[:, 1] for each in model.estimators_], axis=0)


@pytest.fixture(scope="module")
def people():
    """Features, labels, groups and departments, of which one is harder to get into."""
    rng = np.random.default_rng(0)
    group, dept = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    X = pd.DataFrame({"skill": rng.normal(size=4000) + 0.8 * group, "dept": dept})
    log_odds = 1.2 * X["skill"] - 1.5 * dept - 0.5
    y = rng.random(4000) < 1 / (1 + np.exp(-log_odds))
    return X, y.to_numpy() if hasattr(y, "to_numpy") else y, np.where(group, "M", "F")


def positives(y):
    return encode_groups(np.where(y, "+", None), missing="drop")


def make(**options):
    return MADDPostProcessor(LogisticRegression(), **options)


def test_positives_get_like_scores(people):
    X, y, group = people
    new = np.arange(len(y)) >= 2000
    model = make(repair_level=1.0)
    model.fit(
        X[~new],
        y[~new],
        sensitive_features=group[~new],
        control_features=positives(y[~new]),
    )
    assert (model.strata_, model.repairer_.strata_) == (("+",), ("+",))
    scores = model.predict_proba(X[new], sensitive_features=group[new])[:, 1]
    plain = baseline_scores(model, X[new])
    chosen = y[new]

    def gap(scores, chosen):
        return mcdp(None, scores[chosen], sensitive_features=group[new][chosen])

    assert gap(plain, chosen) > 0.15
    assert gap(scores, chosen) < 0.1
    found = model.comparison_
    assert found.mitigated["mcdp"] < 0.09
    assert found.baseline["mcdp"] > 0.15
    assert sum(found.group_sizes.values()) == y[~new].sum()
    assert found.n_samples == 2000


@pytest.mark.slow
def test_departments_are_repaired_by_themselves(people):
    X, y, group = people
    model = make(control_features="dept", max_mcdp=0.05)
    model.fit(X, y, sensitive_features=group)
    assert model.strata_ == (0, 1)
    scores = model.predict_proba(X, sensitive_features=group)[:, 1]
    for dept in (0, 1):
        part = (X["dept"] == dept).to_numpy()
        plain = baseline_scores(model, X[part])
        assert mcdp(None, plain, sensitive_features=group[part]) > 0.2
        gap = mcdp(None, scores[part], sensitive_features=group[part])
        assert gap == pytest.approx(0.05, abs=0.02)
    given = {"sensitive_features": group, "control_features": X["dept"]}
    assert_array_equal(model.predict_proba(X, **given)[:, 1], scores)
    assert model.score(X, y, **given) == np.mean(model.predict(X, **given) == y)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"max_mcdp": 0.1, "accuracy_loss": "zero_one"},
        {"fairness": "mcdp"},
    ],
)
def test_losses_are_means_over_strata(people, options):
    X, y, group = people
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    options = {"accuracy_loss": "log_loss", **options}
    model = MADDPostProcessor(frozen, control_features="dept", **options)
    model.fit(X, y, sensitive_features=group)
    amounts = next(iter(model.losses_.values()))
    scores, shares, found = frozen.predict_proba(X)[:, 1], [], []
    for dept in (0, 1):
        part = (X["dept"] == dept).to_numpy()
        shares.append(part.mean())
        gap = mcdp(None, scores[part], sensitive_features=group[part])
        left = 1 - amounts
        if "max_mcdp" in options:
            left = np.minimum(amounts, gap) / gap
        if options.get("fairness") != "mcdp":
            gap = madd(None, scores[part], sensitive_features=group[part]) / 2
        found.append(gap * left)
    expected = np.average(found, axis=0, weights=shares)
    assert_allclose(model.losses_["fairness_loss"], expected, atol=1e-3)


@pytest.mark.slow
def test_losses_of_one_stratum(people):
    """Accuracy is that of all rows, fairness that of the stratum."""
    X, y, group = people
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    plain = frozen.predict_proba(X)[:, 1]
    for accuracy_loss in ("zero_one", lambda y, s: np.mean((s >= 0.5) != y)):
        model = MADDPostProcessor(frozen, fairness="mcdp", accuracy_loss=accuracy_loss)
        model.fit(X, y, sensitive_features=group, control_features=positives(y))
        gap = mcdp(None, plain[y], sensitive_features=group[y])
        losses = pd.DataFrame(model.losses_).iloc[::50]  # levels 0, 0.5 and 1
        assert_allclose(losses["fairness_loss"], [gap, gap / 2, 0], atol=1e-9)
        for level, loss in zip((0, 0.5, 1), losses["accuracy_loss"], strict=True):
            repairer = ScoreRepairer(level)
            repairer.fit(plain[y], sensitive_features=group[y])
            repaired = repairer.transform(plain, sensitive_features=group)
            assert loss == pytest.approx(np.mean((repaired >= 0.5) != y), abs=2e-3)


@pytest.mark.slow
def test_a_map_without_the_group_within_strata(people):
    """The table of strengths and the comparison are of the mean gap within strata."""
    X, y, group = people
    model = UnawarePostProcessor(LogisticRegression(), strength=0.5, cv=2)
    model.fit(X, y, sensitive_features=group, control_features=positives(y))
    plain, fair = -model.path_["mean_test_neg_mcdp"]
    assert model.strata_ == ("+",)
    assert plain > 0.15
    assert fair < 0.7 * plain
    assert_allclose(
        [model.comparison_.baseline["mcdp"], model.comparison_.mitigated["mcdp"]],
        [plain, fair],
    )
    scores = model.predict_proba(X)[y, 1]
    assert mcdp(None, scores, sensitive_features=group[y]) < 0.8 * plain
