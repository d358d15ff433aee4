"""Metrics that tests have in common, and what tests of several files draw."""

from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.datasets import make_biased_classification
from skfair.metrics import (
    MADDBandwidthResult,
    abcc,
    demographic_parity_difference,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    mcdp,
    mcdp_curve,
)

METRICS = {
    "mcdp": mcdp,
    "mcdp epsilon": partial(mcdp, epsilon=0.03),
    "mcdp approximate": partial(
        mcdp, epsilon=0.03, method="approximate", n_subdivisions=4
    ),
    "mcdp_curve": mcdp_curve,
    "madd": partial(madd, bandwidth=0.1),
    "madd auto": madd,
    "madd_curve": partial(madd_curve, n_bandwidths=30),
    "madd_optimal_bandwidth": partial(
        madd_optimal_bandwidth, n_bandwidths=100, min_points=20
    ),
    "abcc": abcc,
    "demographic_parity_difference": demographic_parity_difference,
    "demographic_parity_difference threshold": partial(
        demographic_parity_difference, threshold=0.5
    ),
}
LISTS = {
    "every": list(METRICS),
    "of scores": [name for name in METRICS if "parity" not in name],
    "numbers": [n for n in METRICS if "curve" not in n and "optimal" not in n],
    # The bandwidth search takes total weights as numbers of rows.
    "scale free": [
        name for name in METRICS if name not in ("madd auto", "madd_optimal_bandwidth")
    ],
}


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "metrics(which): run with each `name` in a list of metrics"
    )


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    for mark in metafunc.definition.iter_markers("metrics"):
        metafunc.parametrize("name", LISTS[mark.args[0]])


# --- for what metrics have in common


@pytest.fixture(scope="session")
def metrics():
    """Metrics by name."""
    return METRICS


@pytest.fixture(scope="session")
def numbers():
    """Names of the metrics that are one number."""
    return LISTS["numbers"]


@pytest.fixture(scope="session")
def flat():
    """All numbers of a result, one after the other."""

    def flatten(result):
        if isinstance(result, MADDBandwidthResult):
            numbers = [*result.interval, result.madd, result.std, result.h_sup]
            return np.concatenate([numbers, result.bandwidths, result.values])
        return np.concatenate([np.ravel(part) for part in np.atleast_1d(result)])

    return flatten


@pytest.fixture(scope="session")
def measured(flat):
    """All numbers of a metric, given by its name."""

    def measure(name, y_score, groups, **options):
        y_true = options.pop("y_true", None)
        return flat(
            METRICS[name](y_true, y_score, sensitive_features=groups, **options)
        )

    return measure


@pytest.fixture(scope="session")
def rows():
    """Scores with many ties, 0 and 1 among them, and unequal groups."""

    def draw(n_groups=2, n_rows=240, seed=0):
        rng = np.random.default_rng(seed)
        groups = np.concatenate(
            [np.arange(n_groups), rng.integers(0, n_groups, n_rows) ** 2 // n_groups]
        )[:n_rows]
        y_score = rng.beta(1.2 + groups / n_groups, 1.5).round(2)
        return y_score, groups

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
def table():
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
    """Negated metric on the five folds that scikit-learn makes."""

    def scores(X, y, groups, metric=mcdp):
        splits = StratifiedKFold(5).split(X, y)
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
