"""A report of a table, whose rows stay on their engine, is that of the rows."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.report import FairnessReport

OPTIONS = {"n_resamples": 5, "n_permutations": 59, "random_state": 0}
NAMES = {"y_true": "y", "sensitive_features": ["sex", "race"]}


def draw(n, *, decimals=None, power=1, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n, p=[0.4, 0.6])
    race = rng.choice(["a", "b", "c"], n, p=[0.7, 0.25, 0.05])
    score = 1 / (1 + np.exp(-rng.normal(0.3 * (sex == "F") + 0.2 * (race == "b"))))
    y = (rng.random(n) < score).astype(int)
    score **= power
    score = score if decimals is None else score.round(decimals)
    weight = rng.integers(1, 4, n)
    return pl.DataFrame(
        {"p": score, "sex": sex, "race": race, "y": y, "weight": weight}
    )


@pytest.fixture(scope="session")
def few(counting):
    """Tables of few rows are counted as large ones are."""
    return counting()


def of_rows(data, weight=None, make=FairnessReport, **options):
    arrays = {name: data[name].to_numpy() for name in data.columns}
    return make.from_predictions(
        arrays["y"],
        {"p": arrays["p"]},
        sensitive_features={name: arrays[name] for name in ("sex", "race")},
        sample_weight=None if weight is None else arrays[weight],
        **OPTIONS | options,
    )


def of_table(frame, weight=None, make=FairnessReport, **options):
    return make.from_frame(
        frame, y_score="p", sample_weight=weight, **NAMES, **OPTIONS | options
    )


def assert_same(found, expected, where=""):
    """The same text, and the same numbers but for the rounding of sums."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}/{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}/{i}")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), where
    else:
        assert found == expected, where


WEIGHTS = [None, pytest.param("weight", marks=pytest.mark.slow)]


@pytest.mark.parametrize("weight", WEIGHTS)
def test_few_rows_are_read(weight):
    data, metrics = draw(300), ["mcdp"]
    found = of_table(data.lazy(), weight, metrics=metrics)
    assert found.summary == of_rows(data, weight, metrics=metrics).summary


OF_PROBABILITIES = [
    *("demographic_parity_difference", "max_gap", "cvar_fairness", "mcdp"),
    *("mcdp_epsilon", "abcc", "mean_score_difference", "madd"),
    *("equalized_odds_difference", "dcp", "calibration_gap"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weight", "left_out"),
    [
        (None, []),
        ("weight", ["madd", "dcp"]),
    ],
)
@pytest.mark.promise("Rows that stay on their engine give the report of the rows")
def test_counted_scores_give_the_same_page(few, weight, left_out):
    data = draw(500, decimals=2)
    metrics = [key for key in OF_PROBABILITIES if key not in left_out]
    options = {"impact_ratios": True, "metrics": metrics}
    found = of_table(data.lazy(), weight, **options, make=few)
    assert_same(found.summary, of_rows(data, weight, **options, make=few).summary)


def engines():
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    connection = duckdb.connect()
    return {
        "pandas": pl.DataFrame.to_pandas,
        "pyarrow": pl.DataFrame.to_arrow,
        "duckdb": lambda data: connection.from_arrow(data.to_arrow()),
    }


@pytest.mark.slow
def test_engines_agree(few):
    data = draw(400, decimals=2)
    expected = of_table(data.lazy(), "weight", metrics=["mcdp"], make=few).summary
    for convert in engines().values():
        found = of_table(convert(data), "weight", metrics=["mcdp"], make=few).summary
        assert_same(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("power", "weight"), [(1, "weight"), (12, None)], ids=["smooth", "crowded near 0"]
)
def test_bins(counting, weight, power):
    """Values are within what the report states of those of the rows."""
    few = counting(max_scores=0, max_cells=2**15)
    data = draw(8000, power=power)
    metrics = {"metrics": ["demographic_parity_difference", "mcdp", "abcc"]}
    metrics["metrics"] += ["mean_score_difference", "equalized_odds_difference"]
    strata = "weight" if weight is None else None
    rows = None if strata is None else data["weight"].to_numpy()
    found = of_table(data, weight, **metrics, make=few, control_features=strata)
    expected = of_rows(data, weight, **metrics, make=few, control_features=rows)
    of_mcdp, length = found.summary["settings"]["blur"]
    assert 0 < length < 2**-9
    assert of_mcdp < 0.2
    assert any("counted as one" in text for text in found.summary["cautions"])
    limits = {"mcdp": of_mcdp, "abcc": length, "mean_score_difference": length}
    pairs = zip(found.to_frame().iloc, expected.to_frame().iloc, strict=True)
    for one, other in pairs:
        limit = limits.get(one.metric, 0) + 1e-12
        assert abs(one.value - other.value) <= limit, one.metric
        assert one.n == other.n
        assert one.smallest_group == other.smallest_group
        for end in "lower", "upper", "certified":
            assert abs(one[end] - other[end]) < limit + 0.01
    if strata is not None:
        within = (report.to_frame("strata").iloc for report in (found, expected))
        for one, other in zip(*within, strict=True):
            limit = limits.get(one.metric, 0) + 1e-12
            for name in "value", "mean":
                assert abs(one[name] - other[name]) <= limit
            assert abs(one.upper - other.upper) <= limit + 0.01
    for one, other in zip(
        found.to_frame("groups").iloc, expected.to_frame("groups").iloc, strict=True
    ):
        assert one.n == other.n
        assert one.accuracy == pytest.approx(other.accuracy, rel=1e-12)
        assert one.average_precision == pytest.approx(other.average_precision, abs=2e-2)


@pytest.mark.slow
def test_several_models(few):
    data = draw(500, decimals=2).with_columns(q=(pl.col("p") / 2).round(2))
    names = {"sensitive_features": "sex", "y_true": "y", **OPTIONS}
    names |= {"metrics": ["mcdp", "max_gap"]}
    found = few.from_frame(data, y_score=["p", "q"], **names)
    arrays = {name: data[name].to_numpy() for name in data.columns}
    expected = few.from_predictions(
        arrays["y"],
        {"p": arrays["p"], "q": arrays["q"]},
        sensitive_features={"sex": arrays["sex"]},
        metrics=names["metrics"],
        **OPTIONS,
    )
    # Models that were counted apart cannot be paired.
    for one in (found.summary, expected.summary):
        results = [result for named in one["attributes"] for result in named["results"]]
        measures = [measure for result in results for measure in result["measures"]]
        for part in (*one["models"], *measures):
            part.pop("beside_first", None)
        for lead in one["verdict"]["leads"]:
            lead.pop("changes")
    assert_same(found.summary, expected.summary)
    found = few.from_frame(data, y_score={"new": "p"}, **names)
    assert found.summary["models"][0]["name"] == "new"


def test_predictions_without_scores(few):
    data = draw(500).with_columns(
        hired=pl.when(pl.col("p") > 0.6).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    found = few.from_frame(
        data, y_pred="hired", sensitive_features="sex", pos_label="yes", **OPTIONS
    )
    expected = few.from_predictions(
        None,
        y_pred={"hired": data["hired"].to_numpy()},
        sensitive_features={"sex": data["sex"].to_numpy()},
        pos_label="yes",
        **OPTIONS,
    )
    assert_same(found.summary, expected.summary)


@pytest.mark.slow
def test_decisions_beside_scores(counting):
    """Predictions replace the threshold, in bins as well."""
    few = counting(max_scores=0)
    data = draw(500, decimals=1).with_columns(hired=(pl.col("p") > 0.7).cast(int))
    names = {"sensitive_features": "sex", "y_true": "y", **OPTIONS}
    names |= {"metrics": ["mcdp", "max_gap"]}
    found = few.from_frame(data, y_score="p", y_pred="hired", **names)
    rates = data.group_by("sex").agg(pl.col("hired").mean()).sort("sex")["hired"]
    assert found.to_frame("groups").selection_rate.tolist() == pytest.approx(
        rates.to_list()
    )
    assert found.summary["models"][0]["decided_by"] == "as given"
    for threshold in 0.0, 0.45, 1.0:
        found = few.from_frame(data, y_score="p", threshold=threshold, **names)
        rates = data.group_by("sex").agg((pl.col("p") >= threshold).mean()).sort("sex")
        assert found.to_frame("groups").selection_rate.tolist() == pytest.approx(
            rates["p"].to_list()
        )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y_score": None}, ValueError, "y_score and y_pred are both None"),
        ({"y_score": "score"}, ValueError, "must name a column of frame, got 'score'"),
        ({"y_score": [1]}, TypeError, "y_score must name a column, got 1"),
        ({"y_score": "sex"}, TypeError, "must be of numbers"),
        ({"y_true": "label"}, ValueError, "y_true must name a column"),
        ({"frame": [1, 2]}, TypeError, "frame must be a table"),
        ({"n_permutations": 3}, ValueError, "n_permutations must be"),
        ({"threshold": 2}, ValueError, "threshold must be"),
        ({"frame": draw(9).head(0)}, ValueError, "0 rows"),
    ],
)
def test_broken_arguments(change, error, message):
    given = {"frame": draw(100), "y_score": "p", "y_true": "y"}
    given |= {"sensitive_features": "sex"} | change
    with pytest.raises(error, match=message):
        FairnessReport.from_frame(given.pop("frame"), **given)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("p", None, "'p' has 1 (NULL|NaN)"),
        ("p", 1.5, r"'p' has 1 values outside \[0, 1\]"),
        ("sex", None, "1 missing value in column 'sex'"),
        ("y", None, "'y' has 1 missing label"),
        ("weight", -1, "'weight' has 1 values that are"),
        ("weight", None, "'weight' has 1 values that are"),
    ],
)
def test_rows_that_cannot_be_counted(few, column, value, message):
    data = draw(100)
    first = pl.int_range(pl.len()) == 0
    broken = data.with_columns(
        pl.when(first).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )
    with pytest.raises(ValueError, match=message):
        of_table(broken, "weight", make=few)


def test_models_of_different_labels(few):
    labels = {"y": list("uvw") * 20, "a": list("uvw") * 20, "b": list("uvx") * 20}
    data = pd.DataFrame({"sex": list("FFFMMM") * 10, **labels})
    with pytest.raises(ValueError, match="y_pred must have the same labels"):
        few.from_frame(data, y_true="y", y_pred=["a", "b"], sensitive_features="sex")


STRATA = {"one column": "race", "two columns": ["race", "weight"], "true label": "y"}


def of_rows_in(data, control, *, weight=None, **options):
    columns = [control] if isinstance(control, str) else control
    return of_rows(data, weight, control_features=data[columns].to_pandas(), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("control", "weight"),
    [("one column", "weight"), ("two columns", None), ("true label", None)],
)
def test_strata_of_counted_rows_are_those_of_the_rows(few, control, weight):
    """Groups that are small in a stratum, and a stratum of one group, among them."""
    control = STRATA[control]
    data = draw(700, decimals=2).with_columns(
        race=pl.when(pl.int_range(pl.len()) < 3)
        .then(pl.lit("d"))
        .otherwise(pl.col("race"))
    )
    options = {"metrics": ["demographic_parity_difference", "max_gap", "mcdp"]}
    options["metrics"] += ["mean_score_difference", "equalized_odds_difference"]
    found = of_table(data.lazy(), weight, control_features=control, **options, make=few)
    expected = of_rows_in(data, control, weight=weight, **options, make=few)
    assert_same(found.summary, expected.summary)
    strata = found.summary["attributes"][0]["results"][0]["strata"]
    assert strata["left_out"] or control == "y"
    assert strata["n_rows"] == 700
    assert all(row["value"] is not None for row in strata["rows"])


def test_bad_strata(few):
    data = draw(100)
    with pytest.raises(ValueError, match="control_features must name a column of fra"):
        of_table(data, control_features="town", make=few)
    with pytest.raises(ValueError, match="control_features must be distinct columns"):
        of_table(data, control_features=["race", "race"], make=few)
    missing = pl.when(pl.int_range(pl.len()) > 0).then(pl.col("weight"))
    with pytest.raises(
        ValueError, match="control_features has 1 missing value in column 'weight'"
    ):
        of_table(data.with_columns(weight=missing), control_features="weight", make=few)
