"""Refinement contains the value at every pass, and ends at it."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.frames import _mcdp_bounds as module
from skfair.frames import grouped_histogram, mcdp_bounds
from skfair.frames._batches import PassSizes
from skfair.frames._grouped import open_scores
from skfair.frames._mcdp_bounds import find_crowded_bins, refine_bounds
from skfair.metrics import mcdp, metric_bounds

COLUMNS = {"y_score": "score", "sensitive_features": "group"}


def random_case(rng):
    n_groups = int(rng.integers(2, 5))
    n = int(rng.integers(n_groups, 40))
    pools = [rng.random(n), rng.random(n) / 100, np.arange(9) / 8, rng.random(3)]
    scores = rng.choice(np.concatenate([pools[i] for i in rng.integers(0, 4, 2)]), n)
    scores = np.where(rng.random(n) < 0.1, np.nextafter(scores, 1), scores)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    return pd.DataFrame(
        {"score": scores, "group": groups, "weight": rng.integers(1, 4, n)}
    )


#: Small cases take many passes.
COARSE = PassSizes(
    first_bins=2,
    finer=4,
    max_cells=16,
    max_scores=3,
    max_scores_at_last=3,
    max_ranges=2,
)
#: A look at the first rows makes some bins finer, for every number of rows.
CROWDED = COARSE._replace(first_bins=4, first_rows=8, crowded=0.0, first_cells=64)
SETTINGS = pytest.mark.parametrize(
    "sizes", [COARSE, CROWDED], ids=["coarse", "crowded"]
)


def bounds(
    frame,
    sizes,
    *,
    control=(),
    sample_weight=None,
    multigroup="pairwise",
    max_passes=10,
):
    """What `mcdp_bounds` returns, for passes of other sizes."""
    table = open_scores(
        frame, "score", "group", sample_weight, control_features=control or None
    )
    n_control = 1 if isinstance(control, str) else len(control)
    table = replace(table, sizes=sizes)
    return refine_bounds(table, n_control, multigroup, 0.0, max_passes)


def check(rng, sizes, table_of=lambda frame: frame):
    frame = random_case(rng)
    weight = [None, "weight"][rng.integers(2)]
    multigroup = ["pairwise", "pooled"][rng.integers(2)]
    value = mcdp(
        None,
        frame["score"],
        sensitive_features=frame["group"],
        sample_weight=None if weight is None else frame[weight],
        multigroup=multigroup,
    )
    width = math.inf
    for max_passes in (1, 2, 4, 30):
        found = bounds(
            table_of(frame),
            sizes,
            max_passes=max_passes,
            sample_weight=weight,
            multigroup=multigroup,
        )
        assert found.lower <= value <= found.upper
        assert found.width <= width
        assert found.n_passes <= max_passes
        width = found.width
    assert found.lower == found.upper == value


def test_every_pass_contains_the_value():
    rng = np.random.default_rng(0)
    for _ in range(2):
        check(rng, COARSE)


@pytest.mark.slow
def test_every_pass_contains_the_value_of_many_cases():
    rng = np.random.default_rng(1)
    for _ in range(200):
        check(rng, COARSE)


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n)
    return pd.DataFrame({"score": rng.beta(2 + 0.3 * groups, 3), "group": groups})


def test_rows_of_scores_of_their_own():
    frame = draw(20_000)
    value = mcdp(None, frame["score"], sensitive_features=frame["group"])
    found = mcdp_bounds(frame, **COLUMNS)
    assert (found.lower, found.upper, found.n_passes) == (value, value, 2)
    # Too many rows to count each score: finer bins, then finer ones.
    sizes = PassSizes(max_scores=0, max_scores_at_last=0)
    found = bounds(frame, sizes, max_passes=2)
    assert found.lower <= value <= found.upper
    assert found.width < 1e-3
    assert bounds(frame, sizes).width == 0


@pytest.mark.slow
def test_finer_bins_of_the_first_pass():
    rng = np.random.default_rng(2)
    for _ in range(3):
        check(rng, CROWDED)


@pytest.mark.slow
def test_finer_bins_of_the_first_pass_in_many_cases():
    rng = np.random.default_rng(3)
    for _ in range(60):
        check(rng, CROWDED)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_crowded_scores(container):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 20_000)
    scores = np.exp(rng.normal(-6 + 0.4 * groups, 2)).clip(0, 1)
    frame = container({"score": scores, "group": groups})
    sizes = PassSizes(first_rows=5_000)
    table = open_scores(frame, "score", "group", None)
    finer = find_crowded_bins(replace(table, sizes=sizes), "pairwise", 0)
    assert finer.low == 0
    assert finer.high < 0.02
    found = bounds(frame, sizes, max_passes=1)
    assert found.width < 0.01
    one = grouped_histogram(frame, n_bins=2048, **COLUMNS)
    assert found.histogram.to_dict() == one.to_dict()
    assert metric_bounds(mcdp, one).width > 0.05
    found = bounds(frame, sizes)
    value = mcdp(None, scores, sensitive_features=groups)
    assert (found.lower, found.upper, found.n_passes) == (value, value, 2)


@pytest.mark.parametrize(
    "first", [{"score": 2.0}, {"group": None}, {"group": 1.0}, {"score": 0.5}]
)
def test_first_rows_that_show_nothing(first):
    frame = draw(1000).assign(**first)
    table = open_scores(frame, "score", "group", None)
    sizes = PassSizes(first_rows=100)
    assert find_crowded_bins(replace(table, sizes=sizes), "pairwise", 0) is None


def test_few_distinct_scores_take_one_pass():
    frame = draw(20_000).round(3)
    value = mcdp(None, frame["score"], sensitive_features=frame["group"])
    found = mcdp_bounds(frame, **COLUMNS)
    assert (found.lower, found.upper, found.n_passes) == (value, value, 1)


@SETTINGS
@pytest.mark.parametrize("max_kept", [10, 1000])
@pytest.mark.parametrize("n_cases", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_tables_of_duckdb(sizes, max_kept, n_cases):
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    # Few rows are read at a time.
    sizes = sizes._replace(batch=4, first_decision=10, max_kept=max_kept)
    sizes = sizes._replace(max_kept_scores=5)
    rng = np.random.default_rng(6)
    for _ in range(n_cases):
        check(rng, sizes, duckdb.connect().from_df)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weight", [pytest.param(None, marks=pytest.mark.slow), "weight"]
)
@pytest.mark.parametrize(
    "scores", ["smooth", pytest.param("crowded", marks=pytest.mark.slow)]
)
def test_duckdb_reads_a_table_once(weight, scores):
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    frame = draw(100_000)
    frame["weight"] = 1 + np.arange(len(frame)) % 3
    if scores == "crowded":
        frame["score"] = frame["score"] ** 10
    value = mcdp(
        None,
        frame["score"],
        sensitive_features=frame["group"],
        sample_weight=None if weight is None else frame[weight],
    )
    sizes = PassSizes(batch=5_000, first_decision=20_000, max_kept_scores=100)

    def audit(rows, sizes=sizes):
        table = duckdb.connect().from_df(rows)
        return bounds(table, sizes, sample_weight=weight)

    found = audit(frame)
    assert (found.lower, found.upper, found.n_passes) == (value, value, 1)
    one = grouped_histogram(frame, n_bins=2048, sample_weight=weight, **COLUMNS)
    assert found.histogram.to_dict() == one.to_dict()
    # The first rows say nothing about the gap, or too many rows are kept.
    found = audit(frame.sort_values("group"))
    assert (found.lower, found.upper, found.n_passes) == (value, value, 2)
    found = audit(frame, sizes._replace(max_kept=10_000))
    assert (found.lower, found.upper, found.n_passes) == (value, value, 2)


def test_tolerance():
    frame = draw(20_000)
    found = mcdp_bounds(frame, tol=0.01, **COLUMNS)
    assert found.n_passes == 1
    assert 0 < found.width <= 0.01
    assert mcdp_bounds(frame, tol=found.width / 2, **COLUMNS).n_passes == 2


def test_table_of_the_result():
    found = mcdp_bounds(draw(50), **COLUMNS)
    assert [*found.to_frame()] == ["lower", "upper", "n_passes"]


def test_undefined():
    frame = draw(50).assign(group="a")
    with pytest.warns(UndefinedMetricWarning, match="at least two groups"):
        found = mcdp_bounds(frame, **COLUMNS)
    assert math.isnan(found.lower)
    assert math.isnan(found.upper)
    assert found.n_passes == 1


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"tol": -1}, "tol must be a number in"),
        ({"max_passes": 0}, "max_passes must be an integer of at least 1"),
        ({"multigroup": "all"}, "multigroup must be"),
    ],
)
def test_broken_parameters(parameter, message):
    with pytest.raises(ValueError, match=message):
        mcdp_bounds(draw(50), **COLUMNS, **parameter)


def test_rows_that_change_between_passes(monkeypatch):
    count = module.count_rows_by
    other = draw(20_000, seed=1)

    def of_another_day(table, n_bins, ranges=None, **parameters):
        if ranges is not None:
            table = module.open_scores(other, "score", "group", None)
        return count(table, n_bins, ranges, **parameters)

    monkeypatch.setattr(module, "count_rows_by", of_another_day)
    with pytest.raises(ValueError, match="frame changed between two passes"):
        mcdp_bounds(draw(20_000), **COLUMNS)


def test_many_groups():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, 6000)
    frame = pd.DataFrame({"score": rng.beta(1 + groups / 60, 2), "group": groups})
    found = mcdp_bounds(frame, **COLUMNS)
    value = mcdp(None, frame["score"], sensitive_features=groups)
    assert found.lower == found.upper == value


def check_strata(rng, sizes):
    """Bounds of the largest value within strata hold at every pass, and end at it."""
    frame = random_case(rng)
    frame["stratum"] = rng.integers(0, 3, len(frame))
    frame["other"] = rng.choice(["a", "b"], len(frame))
    weight = [None, "weight"][rng.integers(2)]
    control = ["stratum", ["stratum", "other"]][rng.integers(2)]
    with warnings.catch_warnings(record=True) as of_metric:
        warnings.simplefilter("always")
        value = mcdp(
            None,
            frame["score"],
            sensitive_features=frame["group"],
            control_features=frame[control],
            sample_weight=None if weight is None else frame[weight],
        )
    for max_passes in (1, 2, 30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = bounds(
                frame,
                sizes,
                max_passes=max_passes,
                control=control,
                sample_weight=weight,
            )
        assert [str(one.message).lower() for one in caught] == [
            str(one.message).lower() for one in of_metric
        ]
        if math.isnan(value):
            assert math.isnan(found.lower)
            return
        assert found.lower <= value <= found.upper
    assert found.lower == found.upper == value


@pytest.mark.slow
@SETTINGS
def test_strata(sizes):
    rng = np.random.default_rng(4)
    for _ in range(4):
        check_strata(rng, sizes)


@pytest.mark.slow
@SETTINGS
def test_strata_of_many_cases(sizes):
    rng = np.random.default_rng(5)
    for _ in range(100):
        check_strata(rng, sizes)


def test_strata_of_any_table():
    frame = draw(4000).assign(stratum=np.arange(4000) % 5)
    value = mcdp(
        None,
        frame["score"],
        sensitive_features=frame["group"],
        control_features=frame["stratum"],
    )
    for table in frame, pl.from_pandas(frame).lazy():
        found = mcdp_bounds(table, control_features="stratum", **COLUMNS)
        assert found.lower == found.upper == value
    assert found.histogram.n_groups == 10
    with pytest.raises(ValueError, match="must be 'pairwise' with control_features"):
        mcdp_bounds(frame, control_features="group", multigroup="pooled", **COLUMNS)
    with pytest.raises(ValueError, match="control_features must name a column of fra"):
        mcdp_bounds(frame, control_features="town", **COLUMNS)
