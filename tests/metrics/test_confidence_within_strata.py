"""Confidence intervals and certificates over strata."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

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
from skfair.statistics import GroupedScores

METRICS = {
    "mcdp": mcdp,
    "mcdp epsilon": partial(mcdp, epsilon=0.05),
    "abcc": abcc,
    "madd": partial(madd, bandwidth=0.1),
    "parity": demographic_parity_difference,
    "equalized odds": equalized_odds_difference,
    "max_gap": max_gap,
    "cvar": cvar_fairness,
}
OF_LABELS = ("equalized odds", "max_gap", "cvar")


def draw_rows(rng, n_rows=1200, shift=0.1):
    """Labels, scores, groups and strata; only the last stratum has a disparity."""
    strata, groups = rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    y_score = rng.random(n_rows) * 0.5 + 0.2 * (strata == 1)
    y_score += shift * groups * (strata == 2)
    return rng.integers(0, 2, n_rows), y_score, groups, strata


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("multistratum", ["max", "weighted"])
def test_ends_from_the_intervals_of_single_strata(name, multistratum):
    y_true, y_score, groups, strata = draw_rows(np.random.default_rng(0))
    y_score = (y_score > 0.35).astype(int) if name in OF_LABELS else y_score
    metric = partial(METRICS[name], multistratum=multistratum)
    rows = {"sensitive_features": groups, "control_features": strata}
    found = confidence_interval(metric, y_true, y_score, **rows)
    assert found.value == pytest.approx(metric(y_true, y_score, **rows), abs=1e-14)
    parts = []
    for stratum in range(3):
        own = strata == stratum
        level = 0.95
        if multistratum == "weighted":  # each stratum has a third of what may fail
            level = 1 - 0.05 / 3
        parts.append(
            confidence_interval(
                METRICS[name],
                y_true[own],
                y_score[own],
                sensitive_features=groups[own],
                confidence_level=level,
            )
        )
    if multistratum == "max":
        assert found.upper == pytest.approx(max(part.upper for part in parts), abs=1e-9)
        assert found.lower <= max(part.lower for part in parts)
    else:
        shares = np.bincount(strata) / len(strata)
        assert found.lower == pytest.approx(
            shares @ [part.lower for part in parts], abs=1e-9
        )
        assert found.upper >= shares @ [part.value for part in parts]
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("method", ["band", "finite_sample", "anytime"])
def test_one_stratum_is_the_interval_itself(method):
    _, y_score, groups, _ = draw_rows(np.random.default_rng(1))
    options = {"sensitive_features": groups, "method": method}
    found = confidence_interval(
        mcdp, None, y_score, **options, control_features=["all"] * len(groups)
    )
    assert found == confidence_interval(mcdp, None, y_score, **options)
    certificate = certify(
        mcdp,
        None,
        y_score,
        at_most=0.2,
        **options,
        control_features=["all"] * len(groups),
    )
    assert certificate == certify(mcdp, None, y_score, at_most=0.2, **options)


def test_strata_that_cannot_be_compared_are_named():
    _, y_score, groups, strata = draw_rows(np.random.default_rng(3), 300)
    groups[strata == 1] = 0
    rows = {"sensitive_features": groups, "control_features": strata}
    with pytest.warns(UndefinedMetricWarning, match="leaves out .* 1 .only the gr"):
        found = confidence_interval(mcdp, None, y_score, **rows)
    assert 0 <= found.lower < found.upper
    rows["control_features"] = groups
    with pytest.warns(UndefinedMetricWarning, match="no stratum has two groups"):
        found = confidence_interval(mcdp, None, y_score, **rows)
    assert np.isnan([found.value, found.lower, found.upper]).all()
    with pytest.warns(UndefinedMetricWarning, match="no stratum has two groups"):
        result = certify(mcdp, None, y_score, at_most=0.1, **rows)
    assert not result.certified


def test_bad_input():
    _, y_score, groups, strata = draw_rows(np.random.default_rng(4), 90)
    rows = {"sensitive_features": groups, "control_features": strata}
    y_score[7] = np.nan
    with pytest.raises(ValueError, match="nan in row 7"):
        confidence_interval(mcdp, None, y_score, **rows)
    y_score[7] = 0
    for metric in (confidence_interval, partial(certify, at_most=0.1)):
        with pytest.raises(ValueError, match="control_features must be given beside"):
            metric(
                partial(mcdp, control_features=strata),
                None,
                y_score,
                sensitive_features=groups,
            )
    statistic = GroupedScores.from_scores(y_score, sensitive_features=groups)
    with pytest.raises(ValueError, match="control_features must be None where"):
        confidence_interval(mcdp, None, statistic, control_features=strata)


@pytest.mark.slow
@pytest.mark.parametrize(("multistratum", "shift"), [("max", 0.1), ("weighted", 0.0)])
@pytest.mark.promise("Intervals within strata cover, too")
def test_coverage_over_strata(multistratum, shift):
    # Uniform scores on a length of .5, shifted in one of the three strata.
    truth = shift / 0.5 if multistratum == "max" else shift / 0.5 / 3
    metric = partial(mcdp, multistratum=multistratum)
    covered, below, n_samples = 0, 0, 300
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        strata, groups = np.repeat([0, 1, 2], 200), np.tile([0, 1], 300)
        y_score = rng.random(600) * 0.5 + shift * groups * (strata == 2)
        found = confidence_interval(
            metric,
            None,
            y_score,
            sensitive_features=groups,
            control_features=strata,
        )
        covered += found.lower <= truth <= found.upper
        below += found.upper < truth
    assert covered >= 0.94 * n_samples
    assert below <= 0.04 * n_samples
