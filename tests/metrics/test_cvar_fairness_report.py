"""The table of all groups: their tail, and which of them differ."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, false_discovery_control, fisher_exact
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import cvar_fairness, cvar_fairness_report


def predictions_with_two_outliers(n_rows=600, n_groups=12):
    generator = np.random.default_rng(0)
    groups = generator.integers(0, n_groups, n_rows)
    y_pred = generator.random(n_rows) < np.where(groups < 2, 0.85, 0.45)
    return y_pred.astype(int), groups


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_intervals_are_those_of_scipy(size):
    hits = np.unique(np.linspace(0, size, 11).astype(int))
    found = cvar_fairness_report(
        None,
        np.repeat([1, 0], len(hits)),
        sensitive_features=np.tile(hits, 2),
        counts=np.append(hits, size - hits),
        confidence_level=0.9,
    )
    for k in hits:
        expected = binomtest(int(k), size).proportion_ci(0.9, method="wilson")
        assert found.loc[k, "lower"] == pytest.approx(expected.low, abs=1e-12)
        assert found.loc[k, "upper"] == pytest.approx(expected.high, abs=1e-12)


@pytest.mark.parametrize("fractional", [True, False])
@pytest.mark.parametrize("scheme", ["uniform", "proportional"])
def test_tail_adds_up_to_cvar_fairness(fractional, scheme):
    y_pred, groups = predictions_with_two_outliers()
    options = {
        "sensitive_features": groups,
        "alpha": 0.7,
        "fractional": fractional,
        "group_weights": scheme,
    }
    report = cvar_fairness_report(None, y_pred, **options)
    value = cvar_fairness(None, y_pred, **options)
    parts = report["weight"] * report["gap"] * report["tail_share"]
    assert parts.sum() / 0.3 == pytest.approx(value, abs=1e-12)
    assert (report["weight"] * report["tail_share"]).sum() <= 0.3 + 1e-9
    assert report["gap"].is_monotonic_decreasing
    assert (report["in_tail"] == (report["tail_share"] > 0)).all()
    assert report["weight"].sum() == pytest.approx(1)
    assert (report["weight"] * report["difference"]).sum() == pytest.approx(
        0, abs=1e-12
    )
    assert (
        (report["lower"] <= report["rate"]) & (report["rate"] <= report["upper"])
    ).all()


def test_index_has_a_level_for_each_column():
    frame = pd.DataFrame({"sex": list("FFMM"), "race": list("xyxy")})
    report = cvar_fairness_report(None, [1, 0, 0, 0], sensitive_features=frame)
    assert report.index.names == ["sex", "race"]
    assert report.index[0] == ("F", "x")
    assert report.loc[("F", "x"), "gap"] == 0.75
    single = cvar_fairness_report(None, [1, 0, 0, 0], sensitive_features=frame["sex"])
    assert single.index.tolist() == ["F", "M"]


def test_groups_without_rows_come_last():
    groups = encode_groups(list("aabb"), labels=["c", "a", "b"])
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 3 groups"):
        report = cvar_fairness_report(None, [1, 1, 1, 0], sensitive_features=groups)
    last = report.loc["c"]
    assert report.index[-1] == "c"
    assert (last["size"], last["weight"], last["tail_share"]) == (0, 0, 0)
    assert np.isnan([last["rate"], last["lower"], last["upper"], last["gap"]]).all()


def test_undefined_report_has_no_tail():
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        report = cvar_fairness_report(None, [1, 0], sensitive_features=["a", "a"])
    assert report["gap"].isna().all()
    assert not report["in_tail"].any()
    assert report["rate"].tolist() == [0.5]


def test_weighted_rows_have_wider_intervals():
    y_pred, groups = predictions_with_two_outliers()
    weights = np.random.default_rng(1).choice([0.1, 3.0], 600)
    plain = cvar_fairness_report(None, y_pred, sensitive_features=groups).sort_index()
    weighted = cvar_fairness_report(
        None, y_pred, sensitive_features=groups, sample_weight=weights
    ).sort_index()
    constant = cvar_fairness_report(
        None, y_pred, sensitive_features=groups, sample_weight=np.full(600, 2.5)
    ).sort_index()
    pd.testing.assert_frame_equal(constant, plain)
    width = (weighted["upper"] - weighted["lower"]).mean()
    assert width > 1.2 * (plain["upper"] - plain["lower"]).mean()


@pytest.mark.parametrize("value", [0, 1, 95])
def test_bad_level(value):
    rows = {"sensitive_features": ["a", "b"], "confidence_level": value}
    with pytest.raises(ValueError, match=r"confidence_level must be .*\(0, 1\)"):
        cvar_fairness_report(None, [1, 0], **rows)


def test_pvalues_are_twice_a_tail_of_fishers_test():
    y_pred, groups = predictions_with_two_outliers(n_rows=90, n_groups=4)
    report = cvar_fairness_report(None, y_pred, sensitive_features=groups)
    for group, row in report.iterrows():
        own = groups == group
        table = [
            [y_pred[own].sum(), (1 - y_pred[own]).sum()],
            [y_pred[~own].sum(), (1 - y_pred[~own]).sum()],
        ]
        tails = [fisher_exact(table, side).pvalue for side in ("less", "greater")]
        assert row["pvalue"] == pytest.approx(min(2 * min(tails), 1))
        assert row["rate_of_others"] == pytest.approx(y_pred[~own].mean())


def test_finds_the_groups_that_differ():
    y_pred, groups = predictions_with_two_outliers(n_rows=2000, n_groups=20)
    report = cvar_fairness_report(None, y_pred, sensitive_features=groups)
    found = report[report["adjusted_pvalue"] <= 0.05]
    assert set(found.index[:2]) == {0, 1}
    expected = false_discovery_control(report["pvalue"])
    assert report["adjusted_pvalue"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("more", [[100, 101], [4]])
def test_groups_that_are_left_out_are_no_hypotheses(more):
    """Neither groups without rows nor those below their least size are tested."""
    y_pred, groups = predictions_with_two_outliers(n_rows=60, n_groups=4)
    groups[:3] = 4 if 4 in more else groups[:3]
    encoded = encode_groups(groups, labels=[0, 1, 2, 3, *more], min_group_size=4)
    with pytest.warns(UndefinedMetricWarning, match="leaves groups out"):
        report = cvar_fairness_report(None, y_pred, sensitive_features=encoded)
    assert report.loc[more, ["pvalue", "adjusted_pvalue"]].isna().all(axis=None)
    report = report.drop(index=more)
    expected = false_discovery_control(report["pvalue"])
    assert report["adjusted_pvalue"].tolist() == pytest.approx(expected)
    others = [y_pred[groups != group].mean() for group in report.index]
    assert report["rate_of_others"].tolist() == pytest.approx(others)


@pytest.mark.slow
def test_false_discoveries_are_rare():
    generator = np.random.default_rng(0)
    any_found = 0
    for _ in range(200):
        groups = generator.integers(0, 50, 1000)
        y_pred = generator.integers(0, 2, 1000)
        report = cvar_fairness_report(None, y_pred, sensitive_features=groups)
        any_found += (report["adjusted_pvalue"] <= 0.05).any()
    assert any_found <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_weights_make_pvalues_of_fewer_rows():
    """Equal weights are none; unequal ones count as fewer rows."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 5, 300)
    y_pred = rng.random(300) < np.where(groups == 2, 0.8, 0.4)
    options = {"sensitive_features": groups}
    plain = cvar_fairness_report(None, y_pred, **options)
    # Weights that add up to the number of rows are no numbers of rows.
    for weights in rng.lognormal(0, 1, 300), np.tile([0.5, 1.5], 150):
        report = cvar_fairness_report(None, y_pred, sample_weight=weights, **options)
        own = groups == 2
        assert report.loc[2, "size"] == own.sum()
        rate = np.average(y_pred[own], weights=weights[own])
        assert report.loc[2, "rate"] == pytest.approx(rate)
        others = np.average(y_pred[~own], weights=weights[~own])
        assert report.loc[2, "rate_of_others"] == pytest.approx(others)
        assert report.loc[2, "pvalue"] > plain.loc[2, "pvalue"]


def test_others_beside_a_group_of_great_weight():
    """The weight of the others is added up, not what is left of all weight."""
    group, y_pred = np.repeat(["a", "b", "c"], 40), np.tile([1, 0, 0, 0], 30)
    y_pred[:40] = 1
    weights = np.where(group == "a", 1e15, 0.1)
    report = cvar_fairness_report(
        None, y_pred, sensitive_features=group, sample_weight=weights
    )
    assert report.loc["a", "rate_of_others"] == pytest.approx(0.25, rel=1e-12)
