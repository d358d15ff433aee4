"""Every engine returns the statistics of the rows themselves."""

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.frames import count_table
from skfair.metrics import calibration_gap, mcdp, metric_bounds
from skfair.statistics import CountTable

# narwhals says that Dask will need a package of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")


ENGINES = (
    "pandas",
    "pandas of PyArrow",
    "polars",
    "polars lazy",
    "pyarrow",
    "duckdb",
    "sqlframe",
    "dask",
)
#: One that counts in this process, and one that counts itself.
FEW_ENGINES = [
    pytest.param(name, marks=[] if name in ("polars", "duckdb") else pytest.mark.slow)
    for name in ENGINES
]


def draw(n=1000, seed=0):
    """Scores with ties, atoms, edges, and a few beyond 1 by rounding."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M", "X"], n, p=[0.4, 0.5, 0.1])
    scores = rng.beta(2 + (sex == "F"), 3)
    scores[::3] = scores[::3].round(2)
    scores[::5] = np.floor(scores[::5] * 4096) / 4096
    scores[:6] = [0, 1, -0.0, 1 + 1e-13, -1e-13, 0.5]
    return pl.DataFrame(
        {
            "score": scores,
            "sex": sex,
            "old": rng.random(n) < 0.3,
            "race": rng.integers(0, 3, n),
            "y": rng.integers(0, 2, n),
            "hired": rng.choice(["no", "yes"], n),
            "weight": rng.integers(0, 4, n),
        }
    )


DATA = draw()


@pytest.fixture(scope="module", params=FEW_ENGINES)
def frame(request, table_in):
    return table_in(request.param, DATA)


def assert_same(found, expected):
    assert found.labels == expected.labels
    assert [*map(type, found.labels)] == [*map(type, expected.labels)]
    found, expected = (each.to_frame() for each in (found, expected))
    pd.testing.assert_frame_equal(found, expected, check_names=False, rtol=0, atol=0)


SENSITIVE = [pytest.param("race", marks=pytest.mark.slow), ["sex", "old"]]
WEIGHT = [pytest.param(None, marks=pytest.mark.slow), "weight"]


@pytest.mark.parametrize("weight", WEIGHT)
@pytest.mark.parametrize("sensitive", SENSITIVE)
@pytest.mark.promise("All engines give the statistics of the rows")
def test_statistics_are_those_of_the_rows(frame, sensitive, weight):
    columns = {"sensitive_features": sensitive, "sample_weight": weight}
    rows = {
        "sensitive_features": DATA[sensitive].to_pandas(),
        "sample_weight": None if weight is None else DATA[weight].to_numpy(),
    }
    scores = DATA["score"].to_numpy()
    found = count_table(frame, y_pred="score", **columns)
    assert_same(found, CountTable.from_rows(None, scores, **rows))
    found = count_table(frame, y_pred="score", n_bins=256, **columns)
    assert_same(found, CountTable.from_rows(None, scores, n_bins=256, **rows))
    assert found.names == (
        (sensitive,) if isinstance(sensitive, str) else (*sensitive,)
    )
    found = count_table(frame, y_true="y", y_pred="y", **columns)
    y_true = DATA["y"].to_numpy()
    assert_same(found, CountTable.from_rows(y_true, y_true, **rows))
    found = count_table(frame, y_pred="hired", control_features="race", **columns)
    hired, strata = DATA["hired"].to_numpy(), {"control_features": DATA["race"]}
    assert_same(found, CountTable.from_rows(None, hired, **strata, **rows))
    found = count_table(frame, y_true="hired", y_pred="score", n_bins=256, **columns)
    of_rows = CountTable.from_rows(hired, scores, n_bins=256, **rows)
    assert_same(found, of_rows)


@pytest.mark.parametrize(
    "multigroup", [pytest.param("pairwise", marks=pytest.mark.slow), "pooled"]
)
@pytest.mark.parametrize("weight", WEIGHT)
def test_bounds_contain_the_value(frame, weight, multigroup):
    columns = {"y_pred": "score", "sensitive_features": "sex", "sample_weight": weight}
    value = mcdp(
        None,
        DATA["score"].to_numpy(),
        sensitive_features=DATA["sex"].to_numpy(),
        sample_weight=None if weight is None else DATA[weight].to_numpy(),
        multigroup=multigroup,
    )
    statistic = count_table(frame, **columns)
    assert mcdp(None, statistic, multigroup=multigroup) == value
    histogram = count_table(frame, **columns, n_bins=2**16)
    found = metric_bounds(mcdp, histogram, multigroup=multigroup)
    assert found.lower <= value <= found.upper
    assert found.width < 0.002


@pytest.mark.parametrize("engine", FEW_ENGINES)
def test_weights_that_are_no_whole_numbers(engine, table_in):
    """Engines add them in orders of their own; counts and scores stay the same."""
    tenth = DATA.with_columns(weight=pl.col("weight") / 10)
    columns = {"sensitive_features": "sex", "sample_weight": "weight"}
    frame = table_in(engine, tenth)
    found = count_table(frame, y_pred="score", n_bins=64, **columns)
    expected = CountTable.from_rows(
        None,
        DATA["score"].to_numpy(),
        sensitive_features=DATA["sex"].to_numpy(),
        sample_weight=tenth["weight"].to_numpy(),
        n_bins=64,
    )
    found, expected = found.to_frame(), expected.to_frame()
    sums = ["weight", "weight_squared"]
    pd.testing.assert_frame_equal(
        found[sums], expected[sums], check_names=False, rtol=1e-13
    )
    others = found.drop(columns=sums), expected.drop(columns=sums)
    pd.testing.assert_frame_equal(*others, check_names=False, rtol=0, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("engine", FEW_ENGINES)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_scores_that_are_no_probabilities(engine, weight, table_in):
    """Among them are the numbers that stand for faults of rows."""
    data = DATA.with_columns(score=(pl.col("score") * 8 - 6).round(1))
    assert data["score"].is_in([-2.0, -3.0, -4.0, -5.0, -6.0]).sum() > 50
    frame = table_in(engine, data)
    columns = {"sensitive_features": "sex", "sample_weight": weight}
    found = count_table(frame, y_pred="score", **columns)
    expected = CountTable.from_rows(
        None,
        data["score"].to_numpy(),
        sensitive_features=data["sex"].to_numpy(),
        sample_weight=None if weight is None else data[weight].to_numpy(),
    )
    assert_same(found, expected)
    with pytest.raises(ValueError, match=r"values outside \[0, 1\], from -6.0 to 2.0"):
        count_table(frame, y_pred="score", n_bins=4, **columns)
    for value, fault in (
        (float("-inf"), "1 values outside the finite"),
        (None, "1 NULL"),
    ):
        first = pl.int_range(pl.len()) == 0
        broken = pl.when(first).then(pl.lit(value)).otherwise(pl.col("score"))
        frame = table_in(engine, data.with_columns(score=broken))
        fault = "1 (NULL|NaN)" if value is None else fault
        with pytest.raises(ValueError, match=f"'score' has {fault}"):
            count_table(frame, y_pred="score", **columns)


@pytest.mark.slow
def test_cells_of_a_query_of_the_user():
    """The query that the documentation of `from_cells` shows."""
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    text = inspect.getdoc(CountTable.from_cells)
    query = re.search(r"SELECT sex.*GROUP BY 1, 2", text, re.DOTALL)[0]
    connection = duckdb.connect()
    connection.register("people", DATA.filter(pl.col("score").is_between(0, 1)))
    found = CountTable.from_cells(connection.sql(query).df())
    expected = count_table(
        DATA.filter(pl.col("score").is_between(0, 1)),
        y_pred="score",
        sensitive_features="sex",
        n_bins=2**16,
    )
    assert_same(found, expected)
    connection.register("people", DATA)
    with pytest.raises(ValueError, match="no bin for 2 rows"):
        CountTable.from_cells(connection.sql(query).df())


@pytest.mark.slow
def test_many_groups_of_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    rows = duckdb.connect().sql(
        "SELECT i / 999 AS score, i % 300 AS a, i // 2 AS b FROM range(1000) rows (i)"
    )
    for columns in ["a"], ["a", "b"]:
        found = count_table(
            rows, y_pred="score", sensitive_features=columns, n_bins=2**20
        )
        assert found.counts.sum() == 1000
        assert len(found.labels) == (300 if columns == ["a"] else 1000)


FAULTS = {
    "NULL": ({"score": [None, 0.1, None]}, "'score' has 2 NULL values"),
    "NaN": ({"score": [0.1, float("nan"), 0.3]}, "'score' has 1 (NaN|NULL values)"),
    "outside": (
        {"score": [1.5, 0.1, -3.0]},
        r"'score' has 2 values outside \[0, 1\], from -3.0 to 1.5",
    ),
    "infinite": ({"score": [float("inf"), 0.1, 0.2]}, "1 values outside .* to inf"),
    "group": ({"sex": ["F", None, None]}, "has 2 missing values in column 'sex'"),
    "weight": ({"weight": [1.0, -1.0, None]}, "'weight' has 2 values that are NULL"),
    "huge weight": ({"weight": [1.0, 1e200, 1.0]}, "'weight' has 1 values that are"),
    "no weight": (
        {"weight": [0.0, 0.0, 1.0]},
        r"zero for every row of the groups \['F'\]",
    ),
    "label": ({"y": [1, None, 0]}, "'y' has 1 missing label"),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", FEW_ENGINES)
@pytest.mark.parametrize("fault", FAULTS)
def test_rows_that_cannot_be_counted(engine, fault, table_in):
    change, message = FAULTS[fault]
    rows = {
        "score": [0.1, 0.2, 0.3],
        "sex": ["F", "F", "M"],
        "weight": [1.0, 2.0, 1.0],
        "y": [0, 1, 0],
    }
    frame = table_in(engine, pl.DataFrame(rows | change))
    columns = {"sensitive_features": "sex", "sample_weight": "weight"}
    if fault == "label":
        with pytest.raises(ValueError, match=message):
            count_table(frame, y_true="y", y_pred="sex", **columns)
    else:
        with pytest.raises(ValueError, match=message):
            count_table(frame, y_pred="score", n_bins=4, **columns)
    with pytest.raises(ValueError, match=message):
        count_table(frame, y_true="y", y_pred="score", n_bins=4, **columns)


def test_labels_of_calibration():
    """Labels of -1 and 1, of text, and of one class; others are refused."""
    columns = {"y_pred": "score", "sensitive_features": "sex", "n_bins": 256}
    signed = DATA.with_columns(y=2 * pl.col("y") - 1)
    expected = metric_bounds(calibration_gap, count_table(DATA, y_true="y", **columns))
    found = metric_bounds(calibration_gap, count_table(signed, y_true="y", **columns))
    assert found == expected
    hired = count_table(DATA, y_true="hired", **columns)
    assert metric_bounds(calibration_gap, hired, pos_label="yes").width < 0.02
    with pytest.raises(ValueError, match="pos_label must say which"):
        metric_bounds(calibration_gap, hired)
    race = count_table(DATA, y_true="race", **columns)
    with pytest.raises(ValueError, match="at most two labels"):
        metric_bounds(calibration_gap, race, pos_label=1)
    with pytest.raises(ValueError, match="must have true labels"):
        metric_bounds(calibration_gap, count_table(DATA, **columns))


@pytest.mark.parametrize("engine", FEW_ENGINES)
def test_no_rows(engine, table_in):
    frame = table_in(engine, DATA.head(0))
    with pytest.raises(ValueError, match="frame has 0 rows"):
        count_table(frame, y_pred="score", sensitive_features="sex")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y_pred": "scores"}, ValueError, "got 'scores'; it has 'score', 'sex'"),
        ({"y_pred": 3}, TypeError, "y_pred must name a column, got 3"),
        (
            {"y_pred": "hired", "n_bins": 4},
            TypeError,
            "y_pred='hired' must be of numbers, got S",
        ),
        ({"sensitive_features": []}, TypeError, "name of a column or a list of names"),
        ({"sensitive_features": ["sex", "sex"]}, ValueError, "must be distinct"),
        ({"sensitive_features": ["sex", 1]}, TypeError, "must name a column, got 1"),
        ({"sample_weight": "w"}, ValueError, "sample_weight must name a column"),
        ({"n_bins": 100}, ValueError, "power of two"),
        ({"frame": [1, 2]}, TypeError, "frame must be a table .* got a list"),
    ],
)
def test_broken_arguments(change, error, message):
    given = {"frame": DATA, "y_pred": "score", "sensitive_features": "sex"}
    given |= change
    with pytest.raises(error, match=message):
        count_table(given.pop("frame"), **given)


def test_other_types():
    """Scores and weights of other types, and groups in an order of their own."""
    frame = pd.DataFrame(
        {
            "score": np.array([0, 1, 1, 0], dtype=np.float32),
            "flag": [False, True, True, False],
            "size": pd.Categorical(list("LLSS"), categories=["S", "M", "L"]),
            "weight": np.array([1, 2, 3, 4], dtype=np.int8),
        }
    )
    for score in "score", "flag":
        found = count_table(
            frame, y_pred=score, sensitive_features="size", sample_weight="weight"
        )
        assert found.labels == ("S", "M", "L")
        assert found.counts.tolist() == [2, 0, 2]
        assert found.totals.tolist() == [7, 0, 3]
    ordered = pl.DataFrame(
        {"s": [0.1, 0.2], "size": pl.Series(["L", "S"], dtype=pl.Enum(["S", "M", "L"]))}
    )
    for container in ordered, ordered.lazy():
        found = count_table(container, y_pred="s", sensitive_features="size")
        assert found.labels == ("S", "M", "L")
