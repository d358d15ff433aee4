"""Reports on regressors: numbers in the unit of the target, and no decisions."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mean_absolute_error, r2_score

from skfair.__main__ import main
from skfair.metrics import (
    abcc,
    certify,
    confidence_interval,
    demographic_parity_difference,
    mcdp,
    mean_absolute_error_difference,
    mean_error_difference,
    permutation_test,
)
from skfair.report import FairnessReport

REAL = {"scale": "real"}
METRICS = {
    "mcdp": partial(mcdp, scale="rank"),
    "wasserstein_distance": partial(abcc, **REAL),
    "mean_prediction_difference": partial(demographic_parity_difference, **REAL),
    "mean_error_difference": mean_error_difference,
    "mean_absolute_error_difference": mean_absolute_error_difference,
}
QUICK = ("mcdp",)


@pytest.fixture(scope="module")
def people():
    """True and predicted salaries with ties, sex, offices and weights."""
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(300) < 0.4, "F", "M")
    predicted = np.round(generator.normal(30_000, 8_000, 300), -2)
    predicted += 3_000 * (sex == "M")
    salary = predicted + generator.normal(0, 3_000, 300) + 2_000 * (sex == "M")
    return salary, predicted, sex, np.arange(300) % 2, generator.integers(0, 3, 300)


@pytest.fixture(scope="module")
def weighted(make_report, people):
    salary, predicted, sex, office, weights = people
    return make_report(
        salary,
        predicted,
        sensitive_features=sex,
        control_features=office,
        sample_weight=weights,
        metrics="all",
        **REAL,
    )


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=[pytest.mark.slow] * (key not in QUICK))
        for key in METRICS
    ],
)
def test_numbers_are_those_of_the_metrics(weighted, people, key):
    salary, predicted, sex, office, weights = people
    given = {"sensitive_features": sex, "sample_weight": weights}
    row, metric = weighted.to_frame().set_index("metric").loc[key], METRICS[key]
    interval = confidence_interval(metric, salary, predicted, **given)
    proven = certify(metric, salary, predicted, at_most=0.9, **given)
    close = partial(pytest.approx, rel=1e-9, abs=1e-9)
    assert row["value"] == close(metric(salary, predicted, **given))
    assert row[["lower", "upper"]].tolist() == close([interval.lower, interval.upper])
    assert row["certified"] == close(proven.smallest_certified)
    options = {"n_permutations": 59, "random_state": 0}
    within = weighted.to_frame("strata").set_index("metric").loc[key]
    kept = weights > 0  # a report leaves out the others before it draws
    given = {name: values[kept] for name, values in given.items()}
    for found, strata in ((row, None), (within, office[kept])):
        test = permutation_test(
            metric, salary[kept], predicted[kept], control_features=strata, **given,
            **options,
        )  # fmt: skip
        assert found["value"] == close(test.value)
        assert found["pvalue"] == test.pvalue
        assert found["null_mean"] == close(test.pairs["by_chance"].iloc[0])


def test_no_metric_is_left_out(weighted):
    assert list(weighted.to_frame()["metric"]) == list(METRICS)
    json.dumps(weighted.summary, allow_nan=False)


def test_groups(weighted, people):
    salary, predicted, sex, _, weights = people
    table = weighted.to_frame("groups").set_index("group")
    for group in ("F", "M"):
        own = sex == group
        rows, given = (salary[own], predicted[own]), {"sample_weight": weights[own]}
        found = table.loc[group]
        mean = np.average(predicted[own], weights=weights[own])
        assert found["mean_prediction"] == pytest.approx(mean)
        assert found["mean_absolute_error"] == pytest.approx(
            mean_absolute_error(*rows, **given)
        )
        assert found["r2"] == pytest.approx(r2_score(*rows, **given))
        for name in ("mean_prediction", "mean_error", "mean_absolute_error"):
            assert found[f"{name}_lower"] < found[name] < found[f"{name}_upper"]


def test_intervals_of_single_groups_are_students(make_report):
    values, groups = np.arange(24.0), np.arange(24) // 12
    report = make_report(None, values, sensitive_features=groups, **REAL)
    row = report.to_frame("groups").iloc[0]
    # t(0.975; 11) = 2.201, and the standard deviation of 0, ..., 11 is 3.606.
    half = 2.200985 * 3.605551 / np.sqrt(12)
    ends = row[["mean_prediction_lower", "mean_prediction_upper"]].tolist()
    assert ends == pytest.approx([5.5 - half, 5.5 + half], rel=1e-5)
    assert "mean_error" not in row
    assert list(report.to_frame()["metric"]) == list(METRICS)[:3]


def test_sentences_are_in_the_unit(weighted):
    mcdp_0, distance, means, errors, sizes = weighted.to_frame()["sentence"]
    assert "have a prediction above 28,800: " in mcdp_0
    assert re.search(r"would have to change by \d,\d{3} on average", distance)
    assert re.search(r"mean prediction is \d\d,\d{3} for", means)
    assert "Predictions minus true values are" in errors
    assert "Predictions are off by 2," in sizes
    assert "\nmodel: Predictions differ by group;" in str(weighted)


@pytest.mark.slow
def test_regressors(people, make_report):
    salary, predicted, sex, _, _ = people
    X = pd.DataFrame({"predicted": predicted, "male": sex == "M"})
    model = LinearRegression().fit(X, salary)
    few = {"n_permutations": 59, "random_state": 0, **REAL}
    report = FairnessReport.from_estimator(
        model, X, salary, sensitive_features="male", **few
    )
    expected = make_report(
        salary, y_pred={"LinearRegression": model.predict(X)},
        sensitive_features=X["male"], **REAL,
    )  # fmt: skip
    columns = ["model", "metric", "value", "lower", "upper", "pvalue", "sentence"]
    assert report.to_frame()[columns].equals(expected.to_frame()[columns])
    performance = report.summary["models"][0]["performance"]
    assert performance["r2"] == pytest.approx(model.score(X, salary))
    classifier = LogisticRegression().fit(X[["male"]], sex)
    with pytest.raises(ValueError, match="expected a fitted regressor"):
        FairnessReport.from_estimator(
            classifier, X[["male"]], salary, sensitive_features="male", **few
        )
    with pytest.raises(ValueError, match="With scale='real' the report compares"):
        FairnessReport.from_estimator(model, X, sensitive_features="male")


@pytest.mark.slow
def test_many_rows_are_counted(people, make_report, counting):
    """P-values are close to those of rows, and values and intervals the same."""
    salary, predicted, sex, _, weights = people
    given = {"sensitive_features": sex, "sample_weight": 1 + weights, **REAL}
    given["metrics"] = "all"
    by_rows, counted = (
        make_report(salary, predicted, make=make, **given)
        for make in (FairnessReport, counting())
    )
    assert counted.summary["settings"]["counts_are_drawn"]
    ends = ["value", "lower", "upper"]
    assert counted.to_frame()[ends].equals(by_rows.to_frame()[ends])
    for frame in (by_rows.to_frame(), counted.to_frame()):
        assert (frame["pvalue"] < 0.05).tolist()[:4] == [True] * 4
        assert frame["null_mean"].iloc[2] == pytest.approx(800, rel=0.3)


@pytest.mark.slow
def test_pages(people, make_report):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    salary, predicted, sex, office, _ = people
    report = make_report(
        salary,
        {"one": predicted, "other": predicted + 1_000},
        sensitive_features={"sex": sex},
        control_features=office,
        **REAL,
    )
    page, text = report.to_html(), report.to_markdown()
    assert FairnessReport(json.loads(json.dumps(report.summary))).to_html() == page
    for word in ("Mean absolute error", "unit of the target", "Predicted number"):
        assert word in page
    for word in ("threshold", "Decisions", "MADD", "DCP"):
        assert word not in re.sub(r"(?s)<dl>.*?</dl>", "", page)
        assert word not in text
    assert "R²" in text


@pytest.mark.slow
def test_equal_predictions_and_few_rows(make_report):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    report = make_report(
        np.arange(40.0), np.full(40, 7.0), sensitive_features=np.arange(40) % 2, **REAL
    )
    table = report.to_frame().set_index("metric")
    assert table.loc["wasserstein_distance", "value"] == 0
    report.to_html()
    nothing = make_report(
        None, np.arange(5.0), sensitive_features=np.arange(5) % 2, **REAL
    )
    assert nothing.to_frame()["value"].isna().all()
    nothing.to_html()


def test_bad_input(people, make_report):
    salary, predicted, sex, _, _ = people
    given = {"sensitive_features": sex, **REAL}
    for options, match in (
        ({"y_score": predicted, "y_pred": predicted}, "y_pred must be None beside"),
        ({"y_score": predicted, "threshold": 0.7}, "threshold must be left at its"),
        ({"y_score": predicted, "pos_label": 1}, "pos_label must be None with"),
        ({"y_score": predicted, "metrics": ["dcp"]}, "needs scale='probability' or"),
        ({"y_score": predicted, "impact_ratios": True}, "impact_ratios must be False"),
        ({"y_score": sex}, "y_score must be numbers"),
    ):
        with pytest.raises(ValueError, match=match):
            make_report(salary, **options, **given)
    with pytest.raises(ValueError, match="y_true must be finite"):
        make_report(np.append(salary[1:], np.nan), predicted, **given)
    with pytest.raises(ValueError, match="y_true has 5 rows, expected 300"):
        make_report(salary[:5], predicted, **given)
    with pytest.raises(ValueError, match="needs scale='real'"):
        make_report(
            salary > 30_000, predicted / 1e5, sensitive_features=sex,
            metrics=["mean_error_difference"], pos_label=True,
        )  # fmt: skip
    with pytest.raises(ValueError, match="scale must be 'probability' or 'rank'"):
        FairnessReport.from_frame(
            pd.DataFrame({"p": predicted, "sex": sex}),
            y_score="p",
            sensitive_features="sex",
            **REAL,
        )


@pytest.mark.slow
def test_command_line(people, tmp_path, capsys):
    salary, predicted, sex, office, _ = people
    table = {"salary": salary, "predicted": predicted, "sex": sex, "office": office}
    path, out = tmp_path / "table.csv", tmp_path / "report.json"
    pd.DataFrame(table).to_csv(path, index=False)
    command = ["audit", str(path), "--scale", "real", "--y-true", "salary"]
    command += ["--sensitive", "sex", "--permutations", "59", "--format", "json"]
    command += ["--control-features", "office", "--out", str(out)]
    for option in ("--y-score", "--y-pred"):
        given = [*command, option, "predicted"]
        assert main([*given, "--limit", "wasserstein_distance=20000"]) == 0
        summary = json.loads(out.read_text("utf-8"))
        (result,) = summary["attributes"][0]["results"]
        value = abcc(None, predicted, sensitive_features=sex, **REAL)
        assert result["measures"][1]["value"] == pytest.approx(value)
    assert main([*given, "--limit", "wasserstein_distance=1000"]) == 3
    assert "By sex, Wasserstein distance is" in capsys.readouterr().err
    assert main([*given, "--threshold", "0.3"]) == 2
    assert "--threshold must be left at its default" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
def test_p_values_are_the_same_in_every_unit(make_report, people, unit):
    salary, predicted, sex, office, _ = people

    def made(unit):
        arguments = {"sensitive_features": sex, "control_features": office, **REAL}
        report = make_report(salary * unit, predicted * unit, **arguments)
        rows = report.summary["attributes"][0]["results"][0]
        return [one["pvalue"] for one in (*rows["measures"], *rows["strata"]["rows"])]

    assert made(unit) == made(1.0)


@pytest.mark.slow
def test_rounding_of_large_numbers_is_no_difference(make_report, people):
    _, predicted, sex, *_ = people
    large = predicted * 1e8 / 3
    errors = {"mean_error_difference", "mean_absolute_error_difference"}
    report = make_report(large, large + 1e11, sensitive_features=sex, **REAL)
    found = report.to_frame().set_index("metric")["pvalue"]
    assert {*found[list(errors)]} == {1.0}
