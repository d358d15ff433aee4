"""Functions that draw: one seed gives one result, and nothing else is drawn from."""

import inspect
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair import datasets, metrics, model_selection, sampling
from skfair.datasets import make_biased_classification, make_biased_scores
from skfair.inspection import explained_gap
from skfair.metrics import (
    bootstrap_interval,
    cvar_fairness_test,
    equalized_odds_difference,
    group_metrics,
    max_gap_test,
    mcdp,
    min_dcp_bounds,
    permutation_test,
    proxy_bounds,
    worst_subgroup,
)
from skfair.model_selection import GroupStratifiedKFold, cross_val_fairness
from skfair.sampling import (
    attribute_specific_sampling,
    required_sample_size,
    sample_rows,
    weighted_sampling,
)

N_ROWS = 60
SCORES = np.random.default_rng(0).random(N_ROWS)
Y = np.tile([0, 1, 1], N_ROWS // 3)
GROUPS = np.tile(["a", "b"], N_ROWS // 2)
X = pd.DataFrame({"group": GROUPS, "score": SCORES})
ROWS = {"sensitive_features": GROUPS}
SHARES = {"a": 0.3, "b": 0.7}
FREQUENCIES = [0.4, 0.6], [[0.5, 0.5], [0.3, 0.7]], [[0.4, 0.6], [0.6, 0.4]]


def folds(random_state):
    splitter = GroupStratifiedKFold(3, shuffle=True, random_state=random_state)
    return [test for _, test in splitter.split(SCORES, Y, sensitive_features=GROUPS)]


DRAWS = {
    "permutation_test": partial(
        permutation_test, mcdp, None, SCORES, n_permutations=5, **ROWS
    ),
    "permutation_test within labels": partial(
        permutation_test,
        equalized_odds_difference,
        Y,
        SCORES > 0.5,
        n_permutations=5,
        **ROWS,
    ),
    "bootstrap_interval": partial(
        bootstrap_interval, mcdp, None, SCORES, n_resamples=5, **ROWS
    ),
    "cvar_fairness_test": partial(
        cvar_fairness_test,
        None,
        Y,
        alpha=0.5,
        epsilon=0.1,
        n_permutations=5,
        **ROWS,
    ),
    "group_metrics": partial(
        group_metrics, "f1_score", Y, (SCORES > 0.5).astype(int), n_resamples=9, **ROWS
    ),
    "proxy_bounds": partial(
        proxy_bounds,
        mcdp,
        None,
        SCORES,
        group_probabilities={"a": 0.2, "b": 0.7},
        cells=GROUPS,
        odds_ratio=1,
        confidence_level=0.5,
    ),
    "max_gap_test": partial(max_gap_test, None, Y, n_permutations=5, **ROWS),
    "min_dcp_bounds": partial(min_dcp_bounds, *FREQUENCIES, n_starts=1, tol=0.5),
    "worst_subgroup": partial(
        worst_subgroup,
        None,
        SCORES,
        sensitive_features=X[["group"]],
        min_group_size=5,
        n_permutations=5,
    ),
    "attribute_specific_sampling": partial(attribute_specific_sampling, SHARES, 100),
    "weighted_sampling": partial(weighted_sampling, SHARES, 100),
    "required_sample_size": partial(
        required_sample_size, SHARES, alpha=0.5, epsilon=0.3, n_simulations=20
    ),
    "sample_rows": partial(sample_rows, X, {"a": 5, "b": 5}, **ROWS),
    "make_biased_classification": partial(make_biased_classification, 50),
    "make_biased_scores": partial(make_biased_scores, 50),
    "cross_val_fairness": partial(
        cross_val_fairness,
        mcdp,
        LogisticRegression(),
        X[["score"]],
        Y,
        cv=2,
        n_resamples=5,
        n_permutations=5,
        **ROWS,
    ),
    "explained_gap": partial(
        explained_gap,
        np.tile(SCORES, 4),
        sensitive_features=np.tile(GROUPS, 4),
        explained_by=np.random.default_rng(1).random(4 * N_ROWS),
        estimator=LogisticRegression(),
    ),
    "GroupStratifiedKFold": folds,
}


LONG = {"group_metrics", "explained_gap", "cross_val_fairness"}
#: Other draws lead to the same result here.
SETTLED = {"attribute_specific_sampling", "min_dcp_bounds", "required_sample_size"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in DRAWS],
)
@pytest.mark.promise("The same seed gives the same result")
def test_same_seed_same_result_and_no_other_state(name):
    before = np.random.get_state()  # noqa: NPY002
    first, again, other = (
        pickle.dumps(DRAWS[name](random_state=seed)) for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other or name in SETTLED
    after = np.random.get_state()  # noqa: NPY002
    assert before[2:] == after[2:]
    np.testing.assert_array_equal(before[1], after[1])


def test_no_function_that_draws_is_left_out():
    found = {
        name
        for package in (datasets, metrics, model_selection, sampling)
        for name in package.__all__
        if callable(getattr(package, name))
        and "random_state" in inspect.signature(getattr(package, name)).parameters
    }
    assert found <= set(DRAWS)
