"""Searches, mitigators and tests on processes that joblib reaches over TCP."""

import os

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from skfair.inprocessing import DiffMCDPClassifier, MCDPReweighter
from skfair.metrics import (
    bootstrap_interval,
    get_fairness_scorer,
    make_group_scorer,
    mcdp,
    permutation_test,
)
from skfair.model_selection import (
    FairestWithin,
    GroupStratifiedKFold,
    cross_val_fairness,
)
from skfair.postprocessing import MADDPostProcessor, UnawarePostProcessor

pytestmark = [
    pytest.mark.slow,
    # Of the backends themselves, at their start and end.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:(distributed|ray)"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", params=["dask", "ray"])
def backend(request):
    """Name of a backend of joblib, whose two workers are processes on loopback."""
    yield from {"dask": start_dask, "ray": start_ray}[request.param]()


def start_dask():
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    local = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **local) as cluster,
        distributed.Client(cluster),
    ):
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        yield "dask"


def start_ray():
    ray = pytest.importorskip("ray", reason="needs Ray")
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # else a token is written to home
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
        )
        register_ray()
        yield "ray"
        ray.shutdown()


@pytest.fixture(scope="module")
def people(make_people):
    return make_people(400)


def of_column(mitigator, *args, **options):
    return mitigator(
        *args,
        sensitive_features="is_man",
        drop_sensitive=True,
        random_state=0,
        **options,
    )


MITIGATORS = [
    of_column(MADDPostProcessor, LogisticRegression(), cv=2, ties="random"),
    of_column(MADDPostProcessor, LogisticRegression(), cv=2, max_mcdp=0.1),
    of_column(MCDPReweighter, LogisticRegression(), strength=0.5, cv=2),
    of_column(DiffMCDPClassifier, hidden_layer_sizes=8, max_iter=20, dropout=0.2),
    UnawarePostProcessor(
        LogisticRegression(),
        group_estimator=LogisticRegression(),
        strength=0.5,
        cv=2,
        sensitive_features="is_man",
        drop_sensitive=True,
    ),
]


def both(backend, function):
    """What a function returns on one process, and on those of the backend."""
    alone = function()
    with joblib.parallel_config(backend, n_jobs=2):
        return alone, function()


def assert_same_search(alone, spread):
    assert alone.best_index_ == spread.best_index_
    for name, values in alone.cv_results_.items():
        found = spread.cv_results_[name]
        if name.startswith(("mean_test", "std_test", "split")):
            assert np.isfinite(values).all()
            assert_allclose(found, values, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
def test_a_search_returns_the_same_table(backend, people):
    X, y, _ = people
    search = GridSearchCV(
        Pipeline([("model", MITIGATORS[0])]),
        {"model": MITIGATORS},
        scoring={
            "average_precision": "average_precision",
            "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="is_man"),
        },
        refit=FairestWithin("average_precision", "neg_mcdp", tolerance=0.5),
        cv=GroupStratifiedKFold(
            2, shuffle=True, random_state=0, sensitive_features="is_man"
        ),
        error_score="raise",
    )
    y = (y == "yes").astype(int)  # scikit-learn would ask which text is positive
    alone, spread = both(backend, lambda: clone(search).fit(X, y))
    assert_same_search(alone, spread)
    assert_allclose(spread.predict_proba(X), alone.predict_proba(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
def test_metadata_is_routed(backend, people):
    X, y, sex = people
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            MADDPostProcessor(LogisticRegression(), cv=2),
            {"repair_level": [0, 1]},
            scoring={
                "neg_log_loss": make_group_scorer("neg_log_loss"),
                "neg_mcdp": get_fairness_scorer("neg_mcdp"),
            },
            refit=False,
            cv=2,
            error_score="raise",
        )
        alone, spread = both(
            backend,
            lambda: clone(search).fit(
                X.drop(columns="is_man"), y, sensitive_features=sex
            ),
        )
    for name in ("mean_test_neg_log_loss", "mean_test_neg_mcdp"):
        assert np.isfinite(alone.cv_results_[name]).all()
        assert_allclose(spread.cv_results_[name], alone.cv_results_[name], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
def test_fitted_mitigators_come_back(backend, people):
    X, y, _ = people
    fits = [joblib.delayed(clone(model).fit)(X, y) for model in MITIGATORS]
    alone, spread = both(backend, lambda: joblib.Parallel(n_jobs=2)(fits))
    with joblib.parallel_config(backend, n_jobs=2):
        processes = joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(4))
    assert os.getpid() not in processes
    for ours, theirs in zip(spread, alone, strict=True):
        assert ours is not theirs
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


def test_draws_are_those_of_one_process(backend, people):
    X, y, sex = people
    scores = 1 / (1 + np.exp(-X["skill"] - X["proxy"]))
    rows = {"sensitive_features": sex, "random_state": 0}
    alone, spread = both(
        backend, lambda: permutation_test(mcdp, y, scores, n_permutations=20, **rows)
    )
    assert_array_equal(spread.null_distribution, alone.null_distribution)
    alone, spread = both(
        backend, lambda: bootstrap_interval(mcdp, y, scores, n_resamples=20, **rows)
    )
    assert_array_equal(spread.distribution, alone.distribution)
    pd.testing.assert_frame_equal(spread.to_frame(), alone.to_frame())
    model, few = LogisticRegression(), {"n_resamples": 20, "n_permutations": 20}
    alone, spread = both(
        backend,
        lambda: cross_val_fairness(mcdp, model, X, y, cv=2, **few, **rows),
    )
    assert_allclose(spread.value, alone.value, rtol=1e-12)
