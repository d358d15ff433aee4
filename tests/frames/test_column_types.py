"""Whatever types columns have, every engine gives what arrays of the rows give."""

import json
import math
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skfair import frames
from skfair.metrics import mcdp, metric_bounds
from skfair.statistics import CountTable

# narwhals says that Dask will need a package of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
ENGINES = ("pandas", "pandas of PyArrow", "polars", "polars lazy", "pyarrow", "duckdb")
#: One that counts in this process, and one that counts itself.
FEW_ENGINES = [
    pytest.param(name, marks=[] if name in ("polars", "duckdb") else pytest.mark.slow)
    for name in ENGINES
]

NOON = datetime(2024, 2, 28, 12)
#: Values of each type: what the table of Polars has, and the labels that groups get.
LABELS = {
    "small integers": ([1, -2, 3], pl.Int8),
    "integers": ([10**12, 5, -7], pl.Int64),
    "unsigned": ([2**64 - 1, 2**63], pl.UInt64),
    "floats": ([0.1, -1.5, 3.0], pl.Float64),
    "single floats": ([0.5, 0.25], pl.Float32),
    "booleans": ([True, False], pl.Boolean),
    "text": (["a", " ", "ü 北京", "x" * 300], pl.String),
    "bytes": ([b"a", b"\xff"], pl.Binary),
    "categories": (["b", "a", "c"], pl.Categorical),
    "levels": (["b", "a"], pl.Enum(["b", "unused", "a"])),
    "dates": ([date(2024, 2, 28), date(1899, 1, 1)], pl.Date),
    "times": ([NOON, NOON - timedelta(hours=12)], pl.Datetime("us")),
    "nanoseconds": ([NOON, NOON - timedelta(hours=12)], pl.Datetime("ns")),
    "zoned times": (
        [datetime(2024, 2, 28, 12, tzinfo=UTC), datetime(2024, 2, 28, tzinfo=UTC)],
        pl.Datetime("us", "Europe/Berlin"),
    ),
    "decimals": ([Decimal("0.10"), Decimal("2.00")], pl.Decimal(20, 2)),
}
#: Types of each kind: the others differ by their size, or are read as one of them.
QUICK = "integers", "text"


def draw(values, dtype, n=40, null=False, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [values[i] for i in rng.integers(0, len(values), n)]
    drawn[: len(values)] = values
    if null:
        drawn[-1] = None
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        column = pl.Series(drawn, dtype=pl.Datetime("us", "UTC"))
        return column.dt.convert_time_zone(dtype.time_zone)
    return pl.Series(drawn, dtype=dtype)


def table_of(labels):
    scores = np.random.default_rng(1).integers(0, 65, 40) / 64
    return pl.DataFrame({"score": scores, "label": draw(*LABELS[labels])})


def assert_same(found, expected):
    assert found.labels == expected.labels
    assert [*map(type, found.labels)] == [*map(type, expected.labels)]
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())


def outcome(function, *arguments, **options):
    """Result and warnings of a function, or that it raises ValueError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*arguments, **options)
        except ValueError:
            return ValueError
    of_metrics = [one for one in caught if one.category is UndefinedMetricWarning]
    return found, [str(one.message) for one in of_metrics]


@pytest.mark.filterwarnings("ignore:.*looks like a missing value")
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name in LABELS
    ],
)
@pytest.mark.promise("Labels of every type give the same groups on every engine")
def test_labels_of_every_type(labels, table_in):
    """Statistics of all engines are those of arrays, add up, and are JSON."""
    data = table_of(labels)
    columns = {"y_pred": "score", "sensitive_features": "label"}
    parts = [
        frames.count_table(table_in(engine, data), **columns) for engine in ENGINES
    ]
    expected = CountTable.from_rows(
        None, data["score"].to_numpy(), sensitive_features=data["label"]
    )
    for part in parts:
        if labels == "categories":  # Polars alone sorts them
            assert sorted(part.labels) == sorted(expected.labels)
        else:
            assert_same(part, expected)
    total = sum(parts)
    assert set(total.labels) == set(expected.labels)
    assert total.counts.sum() == len(parts) * len(data)
    if labels != "bytes":
        text = json.dumps(total.to_dict())
        assert_same(CountTable.from_dict(json.loads(text)), total)


@pytest.mark.parametrize("engine", FEW_ENGINES)
def test_levels_without_rows(engine, table_in):
    """Levels of a column are expected groups, so that MCDP is not defined."""
    data = table_of("levels")
    columns = {"y_pred": "score", "sensitive_features": "label"}
    statistic = frames.count_table(table_in(engine, data), **columns)
    with pytest.warns(UndefinedMetricWarning, match="'unused' has 0 rows"):
        assert math.isnan(mcdp(None, statistic))
    histogram = frames.count_table(table_in(engine, data), **columns, n_bins=64)
    with pytest.warns(UndefinedMetricWarning, match="'unused' has 0 rows"):
        assert math.isnan(metric_bounds(mcdp, histogram).lower)


WEIGHTS = {
    "integers": ([1, 3, 0, 2], pl.Int16),
    "unsigned": ([1, 3, 2], pl.UInt8),
    "floats": ([0.5, 1.25, 0.0], pl.Float64),
    "single floats": ([0.5, 1.25], pl.Float32),
    "booleans": ([True, False], pl.Boolean),
    "decimals": ([Decimal("0.50"), Decimal("2.00")], pl.Decimal(20, 2)),
    "negative": ([1.0, -1.0], pl.Float64),
    "NaN": ([1.0, float("nan")], pl.Float64),
    "huge": ([1.0, 1e200], pl.Float64),
    "zeros": ([0, 0], pl.Int64),
}
SCORES = {
    "floats": ([0.1, 0.5, 1.0, -0.0], pl.Float64),
    "single floats": ([0.1, 0.5], pl.Float32),
    "integers": ([0, 1], pl.Int32),
    "booleans": ([True, False], pl.Boolean),
    "decimals": ([Decimal("0.10"), Decimal("0.75")], pl.Decimal(10, 2)),
    "outside": ([0.5, 1.5], pl.Float64),
    "NaN": ([0.5, float("nan")], pl.Float64),
}


def check_numbers(engine, scores, weights, null, seed):
    """Scores and weights of a type, and nulls in one of the columns."""
    data = pl.DataFrame(
        {
            "score": draw(*SCORES[scores], 30, null == "score", seed),
            "weight": draw(*WEIGHTS[weights], 30, null == "weight", seed + 1),
            "label": draw(["a", "b"], pl.String, 30, null == "label", seed + 2),
        }
    )
    columns = {"sensitive_features": "label", "sample_weight": "weight"}
    # NumPy has no nulls but NaN.
    given = {
        "sensitive_features": data["label"],
        "sample_weight": data["weight"].cast(pl.Float64).to_numpy(),
    }
    y_score = data["score"].cast(pl.Float64).to_numpy()
    frame = engine(data)
    columns |= {"y_pred": "score", "n_bins": 64}
    found = outcome(frames.count_table, frame, **columns)
    expected = outcome(CountTable.from_rows, None, y_score, n_bins=64, **given)
    if expected is ValueError:
        assert found is ValueError
        return
    assert found[0].labels == expected[0].labels
    tables = found[0].to_frame(), expected[0].to_frame()
    pd.testing.assert_frame_equal(*tables, rtol=1e-14)


@pytest.mark.parametrize("engine", FEW_ENGINES)
def test_booleans_and_decimals_as_numbers(engine, table_in):
    check_numbers(partial(table_in, engine), "decimals", "booleans", None, 0)
    check_numbers(partial(table_in, engine), "booleans", "decimals", None, 0)


@pytest.mark.parametrize("engine", FEW_ENGINES)
def test_decimals_are_the_nearest_floats(engine, table_in):
    written = [Decimal(i) / 1000 for i in range(1001)]
    data = pl.DataFrame(
        {
            "score": pl.Series(written, dtype=pl.Decimal(18, 8)),
            "weight": pl.Series(written[:0:-1] + written[-1:], dtype=pl.Decimal(9, 5)),
            "label": ["a", "b"] * 500 + ["a"],
        }
    )
    found = frames.count_table(
        table_in(engine, data),
        y_pred="score",
        sensitive_features="label",
        sample_weight="weight",
    )
    found = found.to_frame()
    assert found["y_pred"].tolist() == [float(one) for one in written]
    assert found["weight"].tolist() == [float(one) for one in data["weight"]]


@pytest.mark.parametrize("engine", ["pandas of PyArrow", "pyarrow"])
def test_decimals_of_cells_are_the_nearest_floats(engine, table_in):
    written = [Decimal(i) / 1000 for i in range(1000)]
    scores = np.array([float(one) for one in written])
    cells = pl.DataFrame(
        {
            "label": ["a"] * 1000,
            "bin": np.floor(1024 * scores),
            "n_rows": [1] * 1000,
            "low": pl.Series(written, dtype=pl.Decimal(20, 10)),
            "high": pl.Series(written, dtype=pl.Decimal(20, 10)),
        }
    )
    found = CountTable.from_cells(table_in(engine, cells), n_bins=1024)
    assert found.to_frame()["low"].max() == scores.max()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
def test_numbers_and_nulls_of_every_type(engine, data, table_in):
    scores, weights = (
        data.draw(st.sampled_from(sorted(kinds))) for kinds in (SCORES, WEIGHTS)
    )
    null = data.draw(st.sampled_from([None, "score", "weight", "label"]))
    seed = data.draw(st.integers(0, 1000))
    check_numbers(partial(table_in, engine), scores, weights, null, seed)


def test_decimals_of_pandas_are_numbers_and_text_is_not():
    frame = pd.DataFrame({"score": [Decimal("0.1"), Decimal("0.9")], "label": ["a", 1]})
    found = frames.count_table(frame, y_pred="score", sensitive_features="label")
    expected = CountTable.from_rows(
        None, frame["score"], sensitive_features=frame["label"]
    )
    assert_same(found, expected)
    frame["score"] = np.array([Decimal("0.1"), "0.9"], dtype=object)
    with pytest.raises(TypeError, match="y_pred='score' must be of numbers"):
        frames.count_table(frame, y_pred="score", sensitive_features="label", n_bins=4)


NAMES = [
    "bin", "n_rows", "weight", "weight_squared", "low", "high", "LOW", "key", "fault",
    "score", "group_0", "group_low", "group_group_low", "class_0", "stratum_0", "sex",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "other"), [("low", "group_low"), ("weight", "Bin")])
def test_names_of_the_query_as_names_of_groups(name, other):
    check_names(name, other, "rank", "n")


@pytest.mark.slow
@settings(max_examples=20)
@given(st.permutations(NAMES))
def test_any_names(names):
    check_names(*names[:4])


def check_names(sensitive, other, score, weight):
    """Columns may have any names, those of the query and of its result included."""
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    if len({name.lower() for name in (sensitive, other, score, weight)}) < 4:
        return
    rng = np.random.default_rng(0)
    data = pl.DataFrame(
        {
            sensitive: rng.integers(0, 2, 50),
            other: rng.choice(["a", "b"], 50),
            score: rng.random(50),
            weight: rng.integers(1, 3, 50),
        }
    )
    connection = duckdb.connect()
    connection.register("people", data.to_arrow())
    for sample_weight in None, weight:
        columns = {
            "y_pred": score,
            "sensitive_features": [sensitive, other],
            "sample_weight": sample_weight,
            "n_bins": 16,
        }
        expected = CountTable.from_rows(
            None,
            data[score].to_numpy(),
            sensitive_features=data[[sensitive, other]],
            sample_weight=None if sample_weight is None else data[weight].to_numpy(),
            n_bins=16,
        )
        for table in data, data.to_pandas(), connection.table("people"):
            found = frames.count_table(table, **columns)
            assert_same(found, expected)
            assert found.names == (sensitive, other)


def test_columns_of_the_same_name():
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    pyarrow = pytest.importorskip("pyarrow", reason="needs PyArrow")
    rows = [[0.1, "a", "x"], [0.2, "b", "y"]]
    twice = pd.DataFrame(rows, columns=["score", "sex", "sex"])
    arrays = [pyarrow.array(twice.iloc[:, i]) for i in range(3)]
    columns = {"y_pred": "score", "sensitive_features": "sex"}
    for frame in (
        twice,
        pyarrow.table(arrays, names=[*twice.columns]),
        duckdb.sql("SELECT 0.1 AS score, 'a' AS sex, 'x' AS sex"),
    ):
        with pytest.raises(
            ValueError, match="frame has several columns of the name 'sex'"
        ):
            frames.count_table(frame, **columns)
    cells = pd.DataFrame([["a", 0, 1, 0.1, 0.1, "b"]])
    cells.columns = ["sex", "bin", "n_rows", "low", "high", "sex"]
    with pytest.raises(ValueError, match="cells has several columns of the name 'sex'"):
        CountTable.from_cells(cells)


def test_labels_that_are_lists(table_in):
    data = pl.DataFrame({"score": [0.1, 0.2], "label": [[1], [1, 2]]})
    columns = {"y_pred": "score", "sensitive_features": "label"}
    for engine in ENGINES:
        with pytest.raises(TypeError, match="sensitive_features='label' must"):
            frames.count_table(table_in(engine, data), **columns)


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_probabilities_of_groups(engine, table_in):
    rng = np.random.default_rng(0)
    women = rng.random(20)
    data = pl.DataFrame({"score": rng.random(20), "women": women, "men": 1 - women})
    with pytest.raises(ValueError, match="look like probabilities of the groups"):
        frames.count_table(
            table_in(engine, data), y_pred="score", sensitive_features=["women", "men"]
        )
