"""Reports on scores that are not probabilities, by their ranks among everyone."""

import re
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from skfair.__main__ import main
from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    confidence_interval,
    equalized_odds_difference,
    madd,
    mcdp,
)
from skfair.report import FairnessReport

METRICS = {
    "mcdp": mcdp,
    "mcdp_epsilon": partial(mcdp, epsilon=0.05),
    "abcc": abcc,
    "madd": madd,
}
RANK = {"scale": "rank"}


@pytest.fixture(scope="module")
def decided(scored):
    """True classes, decision values with ties, groups, one of them small, weights."""
    y_true, y_score, people = scored
    values = np.round(np.log(y_score / (1 - y_score)) * 40)
    sex = people["sex"].to_numpy().astype(object)
    sex[:4], sex[4:7] = "X", None
    weights = np.random.default_rng(0).integers(0, 4, len(sex))
    return y_true, values, encode_groups(sex, missing="drop"), weights


@pytest.fixture(scope="module")
def of_ranks(make_report, decided):
    y_true, values, groups, weights = decided
    return make_report(
        y_true,
        values,
        sensitive_features=groups,
        sample_weight=weights,
        impact_ratios=True,
        **RANK,
    )


@pytest.mark.slow
def test_numbers_are_those_of_the_metrics(of_ranks, decided):
    """Ranks are those among the rows that are compared."""
    _, values, groups, weights = decided
    kept = (groups.codes >= 0) & (groups.codes != groups.labels.index("X"))
    given = {
        "sensitive_features": np.asarray(groups)[kept],
        "sample_weight": weights[kept],
    }
    found = of_ranks.to_frame().set_index("metric")
    for key, metric in METRICS.items():
        metric = partial(metric, scale="rank")
        value = metric(None, values[kept], **given)
        assert found.loc[key, "value"] == pytest.approx(value, abs=1e-12)
        interval = confidence_interval(metric, None, values[kept], **given)
        ends = found.loc[key, ["lower", "upper"]].tolist()
        assert ends == pytest.approx([interval.lower, interval.upper], abs=1e-12)
    assert found.loc["mcdp", "value"] == pytest.approx(
        mcdp(None, (values[kept] - values.min()) / np.ptp(values), **given), abs=1e-12
    )
    assert "mean_score_difference" not in found.index


def test_decisions_are_those_of_the_upper_ranks(decided, make_report):
    y_true, values, groups, weights = decided
    kept = weights > 0
    ranks = pd.Series(np.repeat(values, weights)).rank() - 0.5
    share = (ranks / weights.sum() >= 0.5).mean()
    report = make_report(
        None, values[kept], sensitive_features=np.ones(kept.sum()),
        sample_weight=weights[kept], metrics=["max_gap"], threshold=0.5, **RANK,
    )  # fmt: skip
    found = report.to_frame("groups")["selection_rate"].iloc[0]
    assert found == pytest.approx(share, abs=1e-12)
    assert report.summary["models"][0]["decided_by"] == "rank of at least 0.5"
    # Decisions that are made otherwise are given beside the scores.
    report = make_report(
        y_true,
        values,
        y_pred=(values > 0).astype(int),
        sensitive_features=groups,
        metrics=["equalized_odds_difference"],
        **RANK,
    )
    kept = (groups.codes >= 0) & (groups.codes != groups.labels.index("X"))
    expected = equalized_odds_difference(
        y_true[kept],
        (values > 0).astype(int)[kept],
        sensitive_features=np.asarray(groups)[kept],
    )
    assert report.to_frame()["value"].iloc[0] == pytest.approx(expected)


@pytest.mark.slow
def test_ranks_decide_nothing_unless_it_is_said_how(make_report, decided):
    y_true, values, groups, _ = decided
    given = {"sensitive_features": groups, "impact_ratios": True, **RANK}
    report = make_report(y_true, values, **given)
    questions = {
        measure["question"]
        for result in report.summary["attributes"][0]["results"]
        for measure in result["measures"]
    }
    assert questions == {"scores"}
    assert report.summary["models"][0]["decided_by"] == ""
    assert "base_rate" in report.to_frame("groups")
    assert "selection_rate" not in report.to_frame("groups")
    assert set(report.to_frame("impact_ratios")["kind"]) == {"scoring"}
    assert {"accuracy", "balanced_accuracy"}.isdisjoint(
        report.to_frame("models").dropna(subset="value")["performance"]
    )
    for text in (report.to_html(), report.to_markdown()):
        assert "neither decisions nor a threshold" in text
        for word in ("get the decision", ">Errors<", "Accuracy", "Selected of"):
            assert word not in text
    with pytest.raises(ValueError, match="needs decisions on two classes, by y_pred"):
        make_report(y_true, values, metrics=["max_gap"], **given)


def test_what_the_page_says(of_ranks):
    sentences = " ".join(of_ranks.to_frame()["sentence"])
    assert "have a rank above 0." in sentences
    assert "a range that holds 10.0% of everyone" in sentences
    assert " (a score above " in sentences
    assert "histograms of the ranks" in sentences
    text = of_ranks.to_markdown()
    assert "left out: log loss, calibration and mean scores" in text
    for heading in "Log loss |", "Calibration error |", "Score minus outcome |":
        assert heading not in text
    assert "Average precision |" in text
    assert of_ranks.summary["settings"]["calls"]["abcc"] == (
        'abcc(None, y_score, scale="rank")'
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": "logit"}, "scale must be 'probability', 'rank' or 'real', got 'lo"),
        (
            {"scale": "probability"},
            r"lie in \[0, 1\].* With scale='rank' scores may be",
        ),
        ({"y_score": [1, np.inf] * 30}, "y_score must be finite, got inf in row 1"),
        (
            {"metrics": ["mean_score_difference"]},
            "has 'mean_score_difference', which needs scale='probability'",
        ),
    ],
)
def test_bad_arguments(change, message):
    given = {"y_score": [-3.0, 8.0] * 30, "scale": "rank", "metrics": ["mcdp"]} | change
    with pytest.raises(ValueError, match=message):
        FairnessReport.from_predictions(
            None, given.pop("y_score"), sensitive_features=list("abc") * 20, **given
        )


@pytest.mark.slow
def test_estimators(make_report):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    groups = np.where(X[:, 1] > 0, "a", "b")
    options = {"sensitive_features": groups, "random_state": 0, "n_permutations": 59}
    options |= {"metrics": ["mcdp", "max_gap"], **RANK}
    models = {"svc": LinearSVC().fit(X, y), "logistic": LogisticRegression().fit(X, y)}
    report = FairnessReport.from_estimator(models, X, y, **options)
    found = report.to_frame().set_index(["model", "metric"])["value"]
    values = models["svc"].decision_function(X)
    assert found["svc", "mcdp"] == pytest.approx(
        mcdp(None, values, sensitive_features=groups, scale="rank")
    )
    assert report.summary["models"][0]["decided_by"] == "as given"
    ridge = Ridge().fit(X, X[:, 0] * 1e4)
    with pytest.raises(
        ValueError, match="metrics has 'max_gap', which needs decisions"
    ):
        FairnessReport.from_estimator(ridge, X, **options)
    report = FairnessReport.from_estimator(ridge, X, threshold=0.5, **options)
    found = report.to_frame().set_index("metric")["value"]
    expected = mcdp(None, ridge.predict(X), sensitive_features=groups, scale="rank")
    assert found["mcdp"] == pytest.approx(expected)
    with pytest.raises(ValueError, match="is a Ridge without classes_"):
        FairnessReport.from_estimator(
            {"logistic": models["logistic"], "ridge": ridge}, X, **options
        )


@pytest.fixture
def table(decided):
    _, values, _, weights = decided
    groups = np.where(np.arange(len(values)) % 3 == 0, "a", "b")
    return pl.DataFrame({"p": values * 1e3, "g": groups, "w": weights + 1})


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_stay_on_their_engine(table, counting, weight):
    """Counted by score the numbers are the same, in bins close by what is stated."""
    options = {"metrics": ["max_gap", "mcdp", "abcc"], "random_state": 0}
    options |= {"n_permutations": 59, "threshold": 0.5, **RANK}
    rows = counting().from_predictions(
        None,
        {"p": table["p"].to_numpy()},
        sensitive_features={"g": table["g"].to_numpy()},
        sample_weight=None if weight is None else table[weight].to_numpy(),
        **options,
    )
    expected = rows.to_frame()
    numbers = ["value", "lower", "upper", "pvalue"]
    for most in 2**20, 0:
        sizes = {"max_scores": most, "fewest_bins": 2**7, "max_cells": 2**7}
        found = counting(**sizes).from_frame(
            table.lazy(), y_score="p", sensitive_features="g", sample_weight=weight,
            **options,
        )  # fmt: skip
        of_mcdp, length = found.summary["settings"]["blur"]
        values = found.to_frame()
        if most:
            assert (of_mcdp, length) == (0, 0)
            np.testing.assert_allclose(values[numbers], expected[numbers], atol=1e-9)
            continue
        assert 0 < length < 0.2
        gaps = (values["value"] - expected["value"]).abs().tolist()
        assert gaps[1] <= of_mcdp + 1e-12
        assert gaps[2] <= length + 1e-12
        assert any("counted as one" in text for text in found.summary["cautions"])
    broken = table.with_columns(p=pl.lit(float("inf")))
    with pytest.raises(ValueError, match="'p' has 600 "):
        counting().from_frame(broken, y_score="p", sensitive_features="g", **options)


def test_a_rank_is_given_with_its_score():
    rng = np.random.default_rng(0)
    groups, score = np.repeat(["a", "b"], 200), rng.normal(600, 80, 400).round()
    score[:200] += 40
    report = FairnessReport.from_predictions(
        None, score, sensitive_features={"g": groups}, n_permutations=0, scale="rank"
    )
    (point,) = report.summary["verdict"]["points"]
    found = re.match(
        r"([\d.]+)% of “a” and ([\d.]+)% of “b” have a rank above [\d.]+ "
        r"\(a score above (\d+)\)",
        point["text"],
    )
    for share, label in zip(found.groups(), "ab", strict=False):
        above = score[groups == label] > float(found[3])
        assert float(share) == pytest.approx(100 * above.mean(), abs=0.051)
    text = "Decisions and errors are left out"
    assert text in report.to_markdown().partition("## ")[0]


def test_without_decisions_the_command_names_the_threshold(tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("score,sex\n55,F\n70,M\n")
    command = ["audit", str(table), "--y-score", "score", "--sensitive", "sex"]
    assert main([*command, "--out", str(tmp_path / "out.md")]) == 2
    assert "--threshold 60 compares decisions, too" in capsys.readouterr().err
