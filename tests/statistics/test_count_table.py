"""The table of counts: its cells, sums, copies, bins, and what it refuses."""

import copy
import datetime
import pickle
from decimal import Decimal
from functools import reduce

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

import skfair.frames
import skfair.statistics
from skfair.groups import encode_groups
from skfair.metrics import group_metrics, max_gap
from skfair.report import FairnessReport
from skfair.statistics import CountTable, sum_tables

# --- cells


def rows(seed, n=40, weights=None):
    """Scores, labels, decisions, groups with missing ones, strata and weights."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c", None], n)
    weights = {
        None: None,
        "whole": rng.integers(1, 5, n),
        "dyadic": rng.integers(1, 20, n) / 8,
        "some": rng.integers(0, 3, n) + (rng.random(n) < 0.8),
    }[weights]
    scores = rng.integers(0, 65, n) / 64  # sums have no rounding
    labels = rng.choice(["no", "yes"], n)
    return scores, labels, rng.choice([0, 1], n), groups, rng.integers(0, 2, n), weights


def join(parts):
    """All rows of some parts, which weigh one where they have no weights."""
    *columns, weights = zip(*parts, strict=True)
    weights = [
        np.ones(len(part[0]), int) if own is None else own
        for part, own in zip(parts, weights, strict=True)
    ]
    return *map(np.concatenate, columns), np.concatenate(weights)


def of(make, part):
    *columns, labels, strata, weights = part
    groups = encode_groups(labels, missing="drop", min_group_size=2)
    known = {"sensitive_features": groups, "sample_weight": weights}
    return make(*columns, strata, known)


KINDS = {
    "scores": lambda s, y, d, c, g: CountTable.from_rows(None, s, **g),
    "bins": lambda s, y, d, c, g: CountTable.from_rows(None, s, n_bins=16, **g),
    "decisions": lambda s, y, d, c, g: CountTable.from_rows(None, d, **g),
    "labels": lambda s, y, d, c, g: CountTable.from_rows(
        y, np.where(d, "yes", "no"), **g
    ),
    "bins by label": lambda s, y, d, c, g: CountTable.from_rows(y, s, n_bins=16, **g),
    "strata": lambda s, y, d, c, g: CountTable.from_rows(y, s, control_features=c, **g),
}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def content(table):
    """Numbers of people, weights and squares, by group and what else a cell has."""
    found = {}
    frame = table.to_frame()
    for label, cell in zip(frame.index, frame.to_dict("records"), strict=True):
        sums = [cell.pop(name, None) for name in ("n", "weight", "weight_squared")]
        ends = [cell.pop(name, None) for name in ("low", "high")]
        key = (label, *cell.values())
        assert key not in found
        found[key] = [*sums, *ends]
    return found


@each_kind
@pytest.mark.parametrize(
    "weights", [None, pytest.param("dyadic", marks=pytest.mark.slow), "some"]
)
def test_cells_are_sums_of_rows(make, weights):
    part = rows(0, 200, weights)
    table = of(make, part)
    given = table.to_frame()
    expected = {}
    each = np.ones(200) if weights is None else part[-1]
    for score, label, decision, group, stratum, weight in zip(
        *part[:5], each, strict=True
    ):
        if group is None or not weight:
            continue
        key = [group]
        key += [stratum] if "stratum" in given else []
        key += [label] if "y_true" in given else []
        value = score
        if "low" in given:
            value = min(np.floor(score * 16), 15) / 16
        elif given["y_pred"].dtype == np.int64:
            value = decision
        elif given["y_pred"].dtype != np.float64:
            value = "yes" if decision else "no"
        key += [value]
        seen = expected.setdefault(tuple(key), [0, 0, 0, 1, 0])
        seen[0] += 1
        seen[1] += weight
        seen[2] += weight**2
        seen[3], seen[4] = min(seen[3], score), max(seen[4], score)
    for sums in expected.values():
        sums[1:3] = [None, None] if weights is None else sums[1:3]
        sums[3:] = sums[3:] if "low" in given else [None, None]
    assert content(table) == expected
    assert len(table) == len(expected)
    assert table.counts.tolist() == [
        sum(sums[0] for key, sums in expected.items() if key[0] == label)
        for label in table.labels
    ]


@each_kind
def test_counts_and_weights_are_of_people(make):
    """Cells that stand for several people are those of the people one by one."""
    part = rows(1, 60, "dyadic")
    n = np.random.default_rng(0).integers(0, 4, 60)
    groups = encode_groups(part[3], missing="drop")
    known = {"sensitive_features": groups, "sample_weight": part[-1], "counts": n}
    found = make(*part[:3], part[4], known)
    people = *(np.repeat(column, n) for column in part[:5]), np.repeat(part[-1], n)
    known = {
        "sensitive_features": groups[np.repeat(np.arange(60), n)],
        "sample_weight": people[-1],
    }
    expected = make(*people[:3], people[4], known)
    assert content(found) == content(expected)


def test_distinct_scores_of_single_people_take_few_bytes():
    """Numbers, weights and squares of single people without weights are absent."""
    scores = np.random.default_rng(0).random(1000)
    table = CountTable.from_rows(None, scores, sensitive_features=[0, 1] * 500)
    columns = [x for x in vars(table._rows).values() if isinstance(x, np.ndarray)]
    columns.append(table._rows.groups.codes)
    assert sum(column.nbytes for column in columns) == 9 * 1000
    twice = table + table
    columns = [x for x in vars(twice._rows).values() if isinstance(x, np.ndarray)]
    columns.append(twice._rows.groups.codes)
    assert sum(column.nbytes for column in columns) == 17 * 1000


def test_weights_of_one_are_no_weights():
    rows = {"sensitive_features": [0, 0, 1], "sample_weight": [1.0, 1.0, 1.0]}
    assert "weight" not in CountTable.from_rows(None, [1, 1, 0], **rows).to_frame()


# --- sums


@each_kind
@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(None, marks=pytest.mark.slow),
        "whole",
        pytest.param("dyadic", marks=pytest.mark.slow),
        "some",
    ],
)
@pytest.mark.promise("A sum of tables is the table of the joined rows")
def test_sum_is_the_table_of_the_joined_rows(make, weights):
    """In any order, by any of the ways to add, and without a change of the parts."""
    kinds = [weights, None, weights, "whole", weights]
    parts = [rows(seed, weights=kind) for seed, kind in enumerate(kinds)]
    tables = [of(make, part) for part in parts]
    before = [one.to_dict() for one in tables]
    expected = of(make, join(parts)).to_dict()
    assert sum(tables).to_dict() == expected
    assert sum_tables(iter(tables)).to_dict() == expected
    assert sum_tables(tables[::-1]).to_dict() == expected
    assert reduce(lambda a, b: b + a, tables).to_dict() == expected
    assert [one.to_dict() for one in tables] == before


@each_kind
def test_groups_of_either_part(make):
    """Labels keep an order that was asked for, and the larger least size holds."""

    def table(labels, wanted, least):
        scores, y_true, y_pred, _, strata, _ = rows(0, n=len(labels))
        groups = encode_groups(list(labels), labels=wanted, min_group_size=least)
        return make(scores, y_true, y_pred, strata, {"sensitive_features": groups})

    wanted, more = table("FM", ["M", "F"], 3), table("F", ["F"], 5)
    for total in (wanted + more, more + wanted):
        assert total.labels == ("M", "F")
        assert total.min_group_size == 5
        assert total.counts.tolist() == [1, 2]
    absent = table("F", ["F", "M"], 1) + table("M", ["M"], 1)
    assert absent.counts.tolist() == [1, 1]
    another = table("F", ["F"], 1) + table("G", ["G"], 1)
    assert another.labels == ("F", "G")


@each_kind
def test_rows_that_all_miss_their_group_add_nothing(make):
    part = rows(0)
    nobody = *part[:3], np.full(40, None), part[4], None
    empty = of(make, nobody)
    assert len(empty) == len(empty.labels) == 0
    assert content(of(make, part) + empty) == content(of(make, part))


@each_kind
def test_what_cannot_be_added(make):
    table = of(make, rows(0))
    for other in (1, 0.5, None, "text"):
        with pytest.raises(TypeError):
            table + other
    others = {name: of(other, rows(0)) for name, other in KINDS.items()}
    columns = {"y_true", "stratum", "low"}
    for other in others.values():
        own, theirs = (columns & {*one.to_frame().columns} for one in (table, other))
        if own != theirs:
            with pytest.raises(ValueError, match=r"tables must both have .* or neith"):
                sum_tables([table, other])


@each_kind
def test_copies_are_the_same_and_say_what_they_hold(make):
    table = of(make, rows(0, weights="dyadic"))
    for again in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert again.to_dict() == table.to_dict()
    assert repr(table).startswith(f"CountTable({len(table)} cells")
    assert "'a': " in repr(table)


# --- bins


@pytest.mark.parametrize("bad", [0, 3, 2**53, 1.0, True])
def test_number_of_bins(bad):
    with pytest.raises(ValueError, match="n_bins must be"):
        CountTable.from_rows(None, [0.1], sensitive_features=["a"], n_bins=bad)


@each_kind
def test_coarser_bins_are_those_of_the_rows(make):
    part = rows(0, 300)
    table = of(make, part)
    if not table.n_bins:
        with pytest.raises(ValueError, match="needs a table of scores in bins"):
            table.coarsen(4)
        return
    known = {"sensitive_features": encode_groups(part[3], missing="drop")}
    true = part[1] if "y_true" in table.to_frame() else None
    expected = CountTable.from_rows(true, part[0], n_bins=4, **known)
    assert content(table.coarsen(4)) == content(expected)
    assert content(table + expected) == content(expected + expected)
    with pytest.raises(ValueError, match=r"n_bins must be an integer in \[1, 16\]"):
        table.coarsen(32)


def cells_of_query(**changes):
    cells = {
        "sex": ["M", "F", "F"],
        "bin": [3, 0, 0],
        "n_rows": [5, 7, 2],
        "low": [0.8, 0.1, 0.05],
        "high": [0.9, 0.2, 0.1],
    }
    return {key: value for key, value in (cells | changes).items() if value is not None}


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_from_cells(container):
    table = CountTable.from_cells(container(cells_of_query()), n_bins=4)
    assert repr(table) == "CountTable(2 cells of 4 bins; people 'F': 9, 'M': 5)"
    assert content(table) == {
        ("F", 0.0): [9, None, None, 0.05, 0.2],
        ("M", 0.75): [5, None, None, 0.8, 0.9],
    }
    assert table.names == ("sex",)
    both = cells_of_query(
        race=["x", "y", "z"], weight=[1.5, 2.0, 2.0], weight_squared=[1.0, 1.0, 2.0]
    )
    table = CountTable.from_cells(container(both), n_bins=4)
    assert table.labels == (("F", "y"), ("F", "z"), ("M", "x"))
    assert table.totals.tolist() == [2, 2, 1.5]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (cells_of_query(low=None), "must have the columns bin, n_rows, low, high"),
        (cells_of_query(sex=None), "at least one sensitive column"),
        (cells_of_query(bin=[1.5, 0, 0]), "'bin'.* must be whole numbers"),
        (cells_of_query(bin=[2, 0, 0]), r"scores 0.8 to 0.9 do not lie in bin 2 of 4"),
        (cells_of_query(n_rows=[5, -1, 2]), "'n_rows'.* finite numbers of at least 0"),
        (cells_of_query(n_rows=[5, 0, 2]), "no rows"),
        (cells_of_query(n_rows=["a", "b", "c"]), "'n_rows'.* must be numbers"),
        (
            cells_of_query(weight=[9, 9, 9], weight_squared=[1, 1, 1]),
            "squared.* too small",
        ),
        (
            cells_of_query(weight=[9, 9, 9], weight_squared=[99, 99, 99]),
            "squared.* too large",
        ),
        (cells_of_query(high=[np.nan, 0.2, 0.1]), r"'high'.* lie in \[0, 1\], got nan"),
        (cells_of_query(bin=[None, 0, 0]), "no bin for 5 rows"),
        (cells_of_query(sex=["M", None, "F"]), "has 7 missing values in column 'sex'"),
        ({key: [] for key in cells_of_query()}, "0 rows"),
    ],
)
def test_broken_cells_are_refused(cells, message):
    with pytest.raises(ValueError, match=message):
        CountTable.from_cells(pd.DataFrame(cells), n_bins=4)


def test_cells_must_be_a_dataframe():
    with pytest.raises(TypeError, match="cells must be a dataframe"):
        CountTable.from_cells([1, 2])


# --- labels and broken rows


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pd.Categorical])
def test_containers_of_labels(container):
    table = CountTable.from_rows(
        container(["x", "y", "x"]),
        container(["x", "x", "x"]),
        sensitive_features=[0, 0, 1],
    )
    assert content(table) == {
        (0, "x", "x"): [1, None, None, None, None],
        (0, "y", "x"): [1, None, None, None, None],
        (1, "x", "x"): [1, None, None, None, None],
    }


def test_extreme_scores_are_kept():
    scores = [-1.7e308, -1.0, 5e-324, 0.0, 1.7e308, 0.5, np.nextafter(1, 2)]
    table = CountTable.from_rows(None, scores, sensitive_features=[0, 1, 2, 3, 4, 0, 1])
    assert table.to_frame()["y_pred"].tolist() == sorted(scores)
    table = CountTable.from_rows(None, [-0.0, 0.0], sensitive_features=["a", "a"])
    assert not np.signbit(table.to_frame()["y_pred"]).any()
    assert len(table) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_true": [0, None, 1]}, "y_true has 1 missing label"),
        ({"y_true": [0, 1]}, "y_true .*2"),
        ({"y_pred": ["x", None, "y"]}, "y_pred has 1 missing label"),
        ({"y_pred": [0.1, np.nan, 0.2]}, "y_pred must be finite, got nan in row 1"),
        ({"y_pred": [0.1, np.inf, 0.2]}, "y_pred must be finite, got inf in row 1"),
        ({"y_pred": []}, "y_pred has 0 rows"),
        ({"y_pred": [[0, 1]] * 3}, r"y_pred must have shape \(n_samples,\)"),
        (
            {"y_pred": [0.1, 1.5, 0.2], "n_bins": 4},
            r"y_pred must lie in \[0, 1\], got 1.5",
        ),
        ({"n_bins": 3}, "power of two"),
        ({"sample_weight": [0, 0, 1]}, r"zero for every row of the groups \['a'\]"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be .*non-negative"),
        ({"counts": [1, 1.5, 1]}, "counts must be whole"),
        ({"counts": [1, -1, 1]}, "counts must be"),
        ({"sensitive_features": ["a"]}, "sensitive_features has 1 rows, expected 3"),
    ],
)
def test_broken_rows(change, message):
    given = {"y_true": [0, 1, 1], "y_pred": [0.1, 0.2, 0.3]}
    given |= {"sensitive_features": list("aab"), **change}
    with pytest.raises(ValueError, match=message):
        CountTable.from_rows(given.pop("y_true"), given.pop("y_pred"), **given)


OF_KINDS = [
    ["a", "b"],
    [0, 1],
    [b"0", b"1"],
    [datetime.date(2024, 1, d) for d in (1, 2)],
]
SAME_KIND = [[0, 1], [False, True], [0.0, 1.0], [Decimal(0), Decimal(1)]]


@given(st.data())
@pytest.mark.promise("Labels that can never be equal are an error")
def test_labels_that_can_never_be_equal_are_refused(data):
    kinds = data.draw(st.permutations(OF_KINDS))
    first, second = (
        data.draw(st.lists(st.sampled_from(kind), min_size=1)) for kind in kinds[:2]
    )
    monday, tuesday = (
        CountTable.from_rows(one, one, sensitive_features=["A"] * len(one))
        for one in (first, second)
    )
    with pytest.raises(ValueError, match="labels of tables must both be text"):
        monday + tuesday


@given(st.data())
def test_numbers_are_labels_of_one_kind(data):
    codes = data.draw(st.lists(st.integers(0, 1), min_size=1))
    true, predicted = (
        [labels[code] for code in codes]
        for labels in data.draw(st.tuples(*2 * [st.sampled_from(SAME_KIND)]))
    )
    first, second = (
        CountTable.from_rows(one, one, sensitive_features=["A"] * len(codes))
        for one in (true, predicted)
    )
    both = first + second
    assert len(both) == len({*codes})
    assert both.counts.tolist() == [2 * len(codes)]


@pytest.mark.parametrize(
    "y_pred", [[0, 1, 1, 0], pytest.param([0, 0, 0, 0], marks=pytest.mark.slow)]
)
def test_negative_labels_of_two_kinds(y_pred):
    """Where -1 and 0 both are negative, no negative row would be right."""
    y_true, groups = [-1, 1, 1, -1], list("abab")
    for arguments in ((y_true, y_pred), (y_pred, y_true)):
        with pytest.warns(UserWarning, match="-1, 0 and 1, three classes"):
            max_gap(*arguments, sensitive_features=groups, quality="accuracy")
        with pytest.warns(UserWarning, match="-1, 0 and 1, three classes"):
            group_metrics(
                matthews_corrcoef,
                *arguments,
                sensitive_features=groups,
                confidence_level=None,
            )
    with pytest.warns(UserWarning, match="-1, 0 and 1, three classes"):
        FairnessReport.from_predictions(
            y_true, y_pred=y_pred, sensitive_features=groups, n_permutations=0
        )


@pytest.mark.parametrize(
    ("module", "name", "new"),
    [
        (skfair.statistics, "GroupedScores", r"CountTable\.from_rows\(None, y_score"),
        (skfair.statistics, "sum_statistics", "is now sum_tables"),
        (skfair.frames, "grouped_histogram", r"is now count_table\(.* n_bins="),
    ],
)
def test_earlier_names_say_the_new_ones(module, name, new):
    with pytest.raises(ImportError, match=new):
        getattr(module, name)
    assert not hasattr(module, "another")
