"""Functions that are called in several threads at once."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    bootstrap_interval,
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    group_metrics,
    impact_ratios,
    mcdp,
    permutation_test,
    values_by_stratum,
)

RNG = np.random.default_rng(0)
Y_TRUE, STRATA = RNG.integers(0, 2, (2, 300))
SCORES, GROUPS = RNG.random(300), RNG.integers(0, 3, 300)
DECISIONS = (SCORES > 0.5).astype(int)
ROWS = {"sensitive_features": GROUPS}
DRAWS = {"n_permutations": 9, "random_state": 0}
CALLS = {
    "roc_auc": partial(
        group_metrics,
        "roc_auc_score",
        Y_TRUE,
        None,
        y_score=SCORES,
        n_resamples=3,
        random_state=0,
    ),
    "recall": partial(group_metrics, "recall_score", Y_TRUE, DECISIONS),
    "mcdp": partial(mcdp, None, SCORES, control_features=STRATA),
    "test": partial(permutation_test, mcdp, None, SCORES, **DRAWS),
    "bootstrap": partial(
        bootstrap_interval,
        equalized_odds_difference,
        Y_TRUE,
        DECISIONS,
        n_resamples=9,
        random_state=0,
    ),
    "interval": partial(confidence_interval, mcdp, None, SCORES),
    "strata": partial(values_by_stratum, mcdp, None, SCORES, control_features=STRATA),
    "ratios": partial(impact_ratios, None, DECISIONS),
}


QUICK = ("interval",)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in CALLS],
)
@pytest.mark.promise("calls in threads leave the filters of warnings as they are")
def test_threads_leave_warnings_alone(name):
    call, before = CALLS[name], list(warnings.filters)
    expected = repr(call(**ROWS))
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(call, **ROWS) for _ in range(8)]
        assert {repr(each.result()) for each in found} == {expected}
    assert list(warnings.filters) == before
    with pytest.warns(UndefinedMetricWarning, match="set to nan"):
        demographic_parity_difference(None, [1, 0], sensitive_features=["a", "a"])
