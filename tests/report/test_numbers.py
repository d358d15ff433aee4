"""Numbers of the report against direct calls of the metrics."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    log_loss,
)

from skfair.metrics import (
    abcc,
    bootstrap_interval,
    calibration_gap,
    cvar_fairness,
    cvar_fairness_report,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)

OF_SCORES = {
    "mcdp": mcdp,
    "mcdp_epsilon": partial(mcdp, epsilon=0.05),
    "abcc": abcc,
    "mean_score_difference": demographic_parity_difference,
    "madd": madd,
}
OF_DECISIONS = {
    "demographic_parity_difference": demographic_parity_difference,
    "max_gap": max_gap,
    "cvar_fairness": partial(cvar_fairness, alpha=0.9),
}
OF_ERRORS = {"equalized_odds_difference": equalized_odds_difference, "dcp": dcp}


def measures(report, attribute=0, model=0):
    result = report.summary["attributes"][attribute]["results"][model]
    return {measure["key"]: measure for measure in result["measures"]}


@pytest.mark.promise("Numbers of a report are those of metrics, tests and intervals")
def test_numbers_are_those_of_direct_calls(small_report, scored, check, check_test):
    y_true, y_score, people = scored
    y_pred = (y_score >= 0.5).astype(int)
    found = measures(small_report)
    for key, metric, values in (
        ("mcdp", mcdp, y_score),
        (demographic_parity_difference.__name__, demographic_parity_difference, y_pred),
        (equalized_odds_difference.__name__, equalized_odds_difference, y_pred),
    ):
        check(found[key], metric, y_true, values, people["sex"])
        check_test(found[key], metric, y_true, values, people["sex"])


@pytest.mark.slow
@pytest.mark.parametrize("attribute", range(3))
def test_numbers_of_every_metric_are_those_of_direct_calls(
    make_report, scored, attribute, check, check_test
):
    y_true, y_score, people = scored
    groups = [people["sex"], people["race"], people][attribute]
    y_pred = (y_score >= 0.5).astype(int)
    of_scores = {*OF_SCORES} - {"madd"}  # it takes seconds, and has weights below
    report = make_report(
        y_true,
        y_score,
        sensitive_features=groups,
        metrics=[*of_scores, *OF_DECISIONS, *OF_ERRORS, "calibration_gap"],
    )
    found = measures(report, attribute if attribute == 2 else 0)
    for key in of_scores:
        metric = OF_SCORES[key]
        check(found[key], metric, y_true, y_score, groups)
        check_test(found[key], metric, y_true, y_score, groups)
    for key, metric in OF_DECISIONS.items():
        check(found[key], metric, y_true, y_pred, groups)
        check_test(found[key], metric, y_true, y_pred, groups)
    check(found["dcp"], dcp, y_true, y_pred, groups)
    check_test(found["dcp"], dcp, y_true, y_pred, groups)
    check(found["calibration_gap"], calibration_gap, y_true, y_score, groups)
    check_test(found["calibration_gap"], calibration_gap, y_true, y_score, groups)
    errors = found["equalized_odds_difference"], equalized_odds_difference
    if attribute < 2:
        check(*errors, y_true, y_pred, groups)
        check_test(*errors, y_true, y_pred, groups)


@pytest.mark.slow
def test_every_value_lies_in_its_own_interval(make_report):
    # Of groups that are equal DCP is noise, and its bootstrap interval lies below it.
    generator = np.random.default_rng(0)
    y_true, y_pred = generator.integers(0, 2, (2, 240))
    groups = np.repeat(list("abcdef"), 40)
    interval = bootstrap_interval(
        dcp, y_true, y_pred, sensitive_features=groups, n_resamples=20, random_state=0
    )
    assert interval.upper < interval.value
    report = make_report(y_true, y_pred=y_pred, sensitive_features=groups)
    for measure in measures(report).values():
        assert measure["lower"] <= measure["value"] <= measure["upper"]


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_weighted_numbers(make_report, scored, whole, check, check_test):
    y_true, y_score, people = scored
    generator = np.random.default_rng(1)
    weights = generator.integers(1, 4, 600) if whole else generator.random(600) + 0.1
    report = make_report(
        y_true,
        y_score,
        sensitive_features=people["race"],
        sample_weight=weights,
        metrics="all",
    )
    found = measures(report)
    assert set(found) == {*OF_SCORES, *OF_DECISIONS, *OF_ERRORS, "calibration_gap"}
    for key, metric in OF_SCORES.items():
        check(found[key], metric, None, y_score, people["race"], sample_weight=weights)
        check_test(
            found[key], metric, None, y_score, people["race"], sample_weight=weights
        )
    for key, metric in (OF_DECISIONS | OF_ERRORS).items():
        y_pred = (y_score >= 0.5).astype(int)
        check(found[key], metric, y_true, y_pred, people["race"], sample_weight=weights)
    assert "Rows are weighted" in " ".join(report.summary["cautions"])


@pytest.mark.slow
def test_many_groups_are_compared_with_everyone(make_report, scored, check, check_test):
    y_true, y_score, _ = scored
    groups = np.arange(600) % 12
    report = make_report(y_true, y_score, sensitive_features=groups, metrics=None)
    frame = report.to_frame().set_index("metric")
    assert set(frame["comparison"]) == {"pooled"}
    assert "madd" not in frame.index
    y_pred = (y_score >= 0.5).astype(int)
    found = measures(report)
    for key, metric in OF_SCORES.items():
        if key != "madd":
            pooled = partial(metric, multigroup="pooled")
            check(found[key], pooled, None, y_score, groups)
            if key == "mcdp":  # others answer no question
                check_test(found[key], pooled, None, y_score, groups)
    for metric in (demographic_parity_difference, equalized_odds_difference):
        pooled = partial(metric, multigroup="pooled")
        check(found[metric.__name__], pooled, y_true, y_pred, groups)
    asked = make_report(
        y_true, y_score, sensitive_features=groups, metrics=["madd"], n_resamples=2
    )
    assert asked.to_frame().loc[0, "value"] == pytest.approx(
        madd(None, y_score, sensitive_features=groups, multigroup="pooled")
    )


ENDS = "_lower", "_upper"


def test_performance_is_scikit_learns(small_report, scored):
    y_true, y_score, _ = scored
    y_pred = y_score >= 0.5
    found = small_report.summary["models"][0]["performance"]
    found = {name: one for name, one in found.items() if name[-6:] not in ENDS}
    assert found == pytest.approx(
        {
            "accuracy": accuracy_score(y_true, y_pred),
            "balanced_accuracy": balanced_accuracy_score(y_true, y_pred),
            "average_precision": average_precision_score(y_true, y_score),
            "log_loss": log_loss(y_true, y_score),
            "score_excess": y_score.mean() - y_true.mean(),
            "calibration_error": pytest.approx(0.03, abs=0.01),
        }
    )


def test_group_rows(small_report, scored):
    y_true, y_score, people = scored
    y_pred = (y_score >= 0.5).astype(int)
    found = small_report.summary["attributes"][0]["results"][0]["groups"]
    expected = cvar_fairness_report(None, y_pred, sensitive_features=people["sex"])
    for row in found:
        rows_of = (people["sex"] == row["label"]).to_numpy()
        true, predicted = y_true[rows_of], y_pred[rows_of]
        assert row["n"] == rows_of.sum()
        reference = expected.loc[row["label"]]
        assert row["selection_rate"] == pytest.approx(reference["rate"])
        assert row["lower"] == pytest.approx(reference["lower"])
        assert row["upper"] == pytest.approx(reference["upper"])
        difference = reference["rate"] - reference["average"]
        assert row["difference"] == pytest.approx(difference)
        assert row["base_rate"] == pytest.approx(true.mean())
        assert row["true_positive_rate"] == pytest.approx(predicted[true == 1].mean())
        assert row["false_positive_rate"] == pytest.approx(predicted[true == 0].mean())
        assert row["accuracy"] == pytest.approx((true == predicted).mean())
        assert row["average_precision"] == pytest.approx(
            average_precision_score(true, y_score[rows_of])
        )


def test_dcp_of_many_labels_is_certified_but_not_repeated(make_report):
    generator = np.random.default_rng(0)
    y_true = generator.integers(0, 6, 3000)
    y_pred = np.where(generator.random(3000) < 0.6, y_true, 0)
    groups = generator.integers(0, 9, 3000)
    report = make_report(y_true, y_pred=y_pred, sensitive_features=groups)
    found = measures(report)
    assert set(found) == {"equalized_odds_difference", "dcp"}
    assert found["dcp"]["value"] == dcp(y_true, y_pred, sensitive_features=groups)
    assert found["dcp"]["pvalue"] is found["dcp"]["lower"] is None
    assert "No interval" in found["dcp"]["note"]
    assert found["equalized_odds_difference"]["pvalue"] is not None


def test_dcp_of_very_many_groups_has_a_value_alone(make_report):
    rng = np.random.default_rng(0)
    groups, y_true = np.arange(650) % 65, rng.integers(0, 2, 650)
    report = make_report(
        y_true,
        rng.random(650),
        sensitive_features=np.array([f"g{group}" for group in groups]),
        metrics=["mcdp_epsilon", "dcp"],
        min_group_size=10,
    )
    frame = report.to_frame().set_index("metric")
    assert set(frame["comparison"]) == {"pooled"}
    assert frame.loc["mcdp_epsilon", ["lower", "pvalue"]].notna().all()
    assert frame.loc["dcp", "value"] > 0
    assert frame.loc["dcp", ["lower", "pvalue"]].isna().all()
    assert "No interval and no test" in report.to_markdown()
