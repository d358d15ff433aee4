"""Certificates, intervals and values of the same rows never contradict each other."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair.metrics import (
    abcc,
    certify,
    confidence_interval,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)

METRICS = [
    mcdp,
    partial(mcdp, epsilon=0.05),
    partial(mcdp, multigroup="pooled"),
    partial(mcdp, scale="rank"),
    abcc,
    partial(abcc, multigroup="pooled"),
    madd,
    partial(madd, bandwidth=0.1),
    partial(madd, bandwidth=1 / 3, multigroup="pooled"),
    demographic_parity_difference,
    partial(demographic_parity_difference, threshold=0.5),
    partial(demographic_parity_difference, multigroup="pooled"),
    equalized_odds_difference,
    partial(equalized_odds_difference, multigroup="pooled"),
    max_gap,
    partial(max_gap, group_weights="proportional"),
    partial(cvar_fairness, alpha=0.5),
    partial(cvar_fairness, alpha=0.95, group_weights="proportional"),
]
OF_LABELS = ("equalized_odds_difference", "max_gap", "cvar_fairness")


def name_of(metric):
    return getattr(metric, "func", metric).__name__


def is_madd(metric):
    return name_of(metric) == "madd"


def draw_case(seed):
    """Metric, labels, responses and options, with groups of one to 400 rows."""
    rng = np.random.default_rng(seed)
    metric = METRICS[rng.integers(len(METRICS))]
    sizes = rng.choice([1, 2, 3, 5, 10, 15, 60, 400], rng.integers(2, 5))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rates = rng.choice([0, 0.05, 0.3, 0.5, 0.9, 1], len(sizes))[groups]
    n_rows = len(groups)
    y_true = rng.integers(0, 2, n_rows)
    if name_of(metric) in OF_LABELS or rng.random() < 0.3:
        y_score = (rng.random(n_rows) < rates).astype(int)
    else:
        y_score = rng.beta(1 + 4 * rates, 3)
        if rng.random() < 0.5:  # ties
            y_score = np.round(y_score * 4) / 4
    options = {"sensitive_features": groups}
    if metric is not madd:  # which chooses bandwidths, not always from uneven weights
        options["method"] = str(rng.choice(["band", "finite_sample", "anytime"]))
    if options.get("method") == "band" and rng.random() < 0.5:
        spread = rng.choice([0.0, 1.0, 3.0])
        options["sample_weight"] = rng.lognormal(sigma=spread, size=n_rows)
    if rng.random() < 0.25:
        options["control_features"] = rng.integers(0, 2, n_rows)
        metric = partial(metric, multistratum=str(rng.choice(["max", "weighted"])))
    return metric, y_true, y_score, options, rng


def check_case(seed):
    """Check what certificates, intervals and values say of each other."""
    metric, y_true, y_score, rows, rng = draw_case(seed)
    level = float(rng.choice([0.6, 0.9, 0.95, 0.99]))
    value = metric(y_true, y_score, **{k: v for k, v in rows.items() if k != "method"})
    one = partial(certify, metric, y_true, y_score, confidence_level=level, **rows)
    limit = rng.uniform(0.001, 0.999)
    least = one(at_most=limit).smallest_certified
    if math.isnan(value):
        assert math.isnan(least)
        assert math.isnan(one(at_most=limit).pvalue)
        assert not one(at_most=limit).certified
        return
    limits = [limit, rng.uniform(0.001, 0.999), least]
    limits = sorted([*limits, np.nextafter(least, 0), np.nextafter(least, 2)])
    found = [one(at_most=limit) for limit in limits if 0 < limit < 1]
    for result in found:
        assert result.smallest_certified == least
        assert result.certified == (least <= result.at_most)
        assert result.certified == (result.pvalue <= 1 - level)
        assert 0 < result.pvalue <= 1
    pvalues = np.array([result.pvalue for result in found])
    assert (pvalues[1:] <= pvalues[:-1] * (1 + 1e-9)).all()
    # The certificate's bound is one end of an interval that may miss twice as often.
    twice, same, wider = (
        confidence_interval(metric, y_true, y_score, confidence_level=one, **rows)
        for one in (2 * level - 1, level, (1 + level) / 2)
    )
    assert twice.upper == pytest.approx(max(least, value), abs=1e-9)
    lows, highs = (
        (wider.lower, same.lower, twice.lower),
        (twice.upper, same.upper, wider.upper),
    )
    for ends in ((0, *lows, value), (value, *highs, 2 if is_madd(metric) else 1)):
        assert (np.diff(ends) >= -1e-12).all()


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.promise("Certificate, p-value and interval never contradict each other")
def test_statements_about_the_same_rows_agree(seed):
    check_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [192, 274, 50201, 50258])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_statements_agree_where_bounds_are_hard_to_compute(seed):
    check_case(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_statements_about_many_layouts_agree():
    for seed in range(120):
        check_case(seed)


def test_few_rows_prove_nothing():
    found = certify(
        demographic_parity_difference,
        None,
        [1] * 10 + [0] * 5000,
        sensitive_features=["a"] * 10 + ["b"] * 5000,
        at_most=0.01,
    )
    assert (found.value, found.smallest_certified, found.pvalue) == (1, 1, 1)
    assert not found.certified


def test_a_certificate_is_not_below_a_value_that_is_mostly_noise():
    rng = np.random.default_rng(0)
    rows = {"sensitive_features": np.repeat(["a", "b"], [30, 600])}
    level = {"at_most": 1.0, "confidence_level": 0.6}
    for _ in range(5):
        found = certify(madd, None, rng.random(630), **rows, **level)
        assert found.smallest_certified >= found.value
