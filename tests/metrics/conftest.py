"""What tests of several metrics draw."""

import math

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.datasets import make_biased_classification
from skfair.metrics import (
    mcdp,
)


@pytest.fixture(scope="session")
def make_predictions():
    """Draw true classes, predictions that are worse in later groups, and groups."""

    def draw(n_rows, n_groups=4, n_classes=2):
        rng = np.random.default_rng(0)
        y_true = rng.integers(0, n_classes, n_rows)
        groups = rng.integers(0, n_groups, n_rows)
        wrong = rng.random(n_rows) < 0.2 + 0.15 * groups
        y_pred = np.where(wrong, rng.integers(0, n_classes, n_rows), y_true)
        return y_true, y_pred, groups

    return draw


# --- for DCP


@pytest.fixture(scope="session")
def instance():
    """Confusion matrices, group weights and label frequencies."""

    def draw(n_labels, n_groups, seed, kind="mixed"):
        rng = np.random.default_rng(seed)
        base = rng.dirichlet(np.ones(n_labels), n_labels)
        shape = n_groups, n_labels, n_labels
        confusion = np.empty(shape)
        for a, y in np.ndindex(shape[:2]):
            if kind == "near-fair":
                eta = rng.uniform(0, 0.1)
                noise = rng.dirichlet(np.ones(n_labels))
                confusion[a, y] = (1 - eta) * base[y] + eta * noise
            elif kind == "sparse":
                counts = rng.multinomial(rng.integers(2, 12), base[y])
                confusion[a, y] = counts / counts.sum()
            else:
                confusion[a, y] = rng.dirichlet(8 * base[y] + 0.3)
        weights = rng.dirichlet(np.full(n_groups, 2.0))
        return confusion, weights, rng.dirichlet(np.full(n_labels, 3.0), n_groups)

    return draw


# --- for scorers


@pytest.fixture(scope="module")
def biased():
    """Features with columns of sex and race, and classes."""
    X, y = make_biased_classification(
        600,
        group_sizes={"sex": {0: 0.4, 1: 0.6}, "race": {0: 0.5, 1: 0.3, 2: 0.2}},
        score_shifts={"sex": {1: 0.5}},
        random_state=0,
    )
    return X.astype({"sex": int, "race": int}), y


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="session")
def make_model():
    return lambda: make_pipeline(StandardScaler(), LogisticRegression())


@pytest.fixture(scope="session")
def by_hand(make_model):
    """Negated metric on the two folds that scikit-learn makes."""

    def scores(X, y, groups, metric=mcdp):
        splits = StratifiedKFold(2).split(X, y)
        return [
            -metric(
                y[test],
                make_model()
                .fit(X.iloc[train], y[train])
                .predict_proba(X.iloc[test])[:, 1],
                sensitive_features=np.asarray(groups)[test],
            )
            for train, test in splits
        ]

    return scores


@pytest.fixture
def rows_are_permuted(monkeypatch):
    """Permute single rows even where few cells of them differ."""
    monkeypatch.setattr("skfair._rows._ALIKE", math.inf)
