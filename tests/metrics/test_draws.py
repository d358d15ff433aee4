"""Several draws of a small table are evaluated at once, as one by one."""

from functools import partial

import numpy as np
import pytest

from skfair.groups import encode_groups
from skfair.metrics import (
    _resampling,
    abcc,
    calibration_gap,
    cvar_fairness,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
    permutation_test,
)
from skfair.metrics._resampling import resamples_of_all
from skfair.report._inputs import make_audit
from skfair.report._metrics import MEASURES, make_samples
from skfair.report._options import Options

OF_SCORES = [
    abcc,
    calibration_gap,
    demographic_parity_difference,
    madd,
    mcdp,
    partial(mcdp, epsilon=0.05),
    # Options that draws do not know are not lost.
    partial(mcdp, epsilon=0.05, method="approximate", n_subdivisions=2),
    partial(abcc, scale="rank"),
]
OF_DECISIONS = [
    partial(cvar_fairness, alpha=0.6),
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    max_gap,
]


@pytest.fixture(params=["two groups", "ties, weights and strata", "a small group"])
def rows(request):
    """Labels, scores and groups, some of them with weights and strata.

    Rows of a group that is too small in a stratum have none in a part of the draws.
    """
    rng = np.random.default_rng(0)
    several = request.param != "two groups"
    groups = rng.choice(["a", "b", "c"] if several else ["a", "b"], 120)
    scores = np.clip(rng.random(120) + 0.1 * (groups == "a"), 0, 1)
    true = (rng.random(120) < scores).astype(int)
    columns = {"sensitive_features": groups}
    if several:
        scores = scores.round(1)
        columns["sample_weight"] = rng.exponential(size=120)
        columns["control_features"] = rng.choice(["x", "y"], 120)
    if request.param == "a small group":
        few = np.where(np.arange(120) % 9, groups, "d")
        columns["sensitive_features"] = encode_groups(few, min_group_size=10)
    return true, scores, columns


def both(monkeypatch, compute):
    """Compute with draws together, and one by one."""
    together = compute()
    monkeypatch.setattr(_resampling, "_FEW_ENTRIES", 0)
    return together, compute()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("metric", "decides"),
    [*((one, False) for one in OF_SCORES), *((one, True) for one in OF_DECISIONS)],
)
def test_permutations(metric, decides, rows, monkeypatch):
    true, scores, columns = rows
    predicted = (scores > 0.5).astype(int) if decides else scores

    def test():
        call = partial(permutation_test, metric, true, predicted)
        return call(n_permutations=34, random_state=0, **columns)

    assert_same(*both(monkeypatch, test))


def assert_same(first, second):
    """Compare tests up to rounding."""
    numbers = "null_distribution", "null_mean", "pvalue"
    for name in numbers:
        left, right = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-13)
    assert first.pairs.equals(second.pairs) or np.allclose(
        first.pairs.select_dtypes("number"),
        second.pairs.select_dtypes("number"),
        equal_nan=True,
    )


@pytest.mark.parametrize("key", ["dcp", "max_gap", "cvar_fairness", "calibration_gap"])
@pytest.mark.parametrize("n_rows", [8, 60])
def test_resamples(key, n_rows, monkeypatch):
    """A group of few may have no row of a label in some of them."""
    rng = np.random.default_rng(n_rows)
    true, predicted, groups = rng.integers(0, 2, (3, n_rows))
    true[:2], groups[:4] = [0, 1], [0, 0, 1, 1]
    audit = make_audit(
        y_true=true,
        y_score=(predicted + rng.random(n_rows)) / 2,
        y_pred=None,
        sensitive_features=groups,
        pos_label=1,
        sample_weight=None,
        options=Options(min_group_size=1, random_state=0),
    )
    (sample,) = make_samples(audit)
    measure = MEASURES[key]

    def values():
        draw = resamples_of_all([sample.drawn_from(measure.question)], 0)
        drawn = (draw() for _ in range(40))
        return _resampling.evaluate_each([measure.drawn(sample)], drawn)

    np.testing.assert_allclose(*both(monkeypatch, values), rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_a_score_that_fills_several_blocks(monkeypatch):
    """Most rows have it, so that some blocks end no score."""
    rng = np.random.default_rng(0)
    scores = np.where(rng.random(200) < 0.9, 0.5, rng.random(200))
    true, groups = rng.integers(0, 2, (2, 200))

    def test():
        columns = {"sensitive_features": groups, "within": None, "random_state": 0}
        call = partial(permutation_test, calibration_gap, true, scores, **columns)
        return call(n_permutations=34).null_distribution

    expected = test()
    monkeypatch.setattr("skfair.metrics._calibration_gap._BLOCK", 64)
    np.testing.assert_allclose(test(), expected, rtol=1e-12)
