"""Histograms by group: definition, sums, tables of cells, and the way through JSON."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.statistics import GroupedHistogram

COLUMNS = ("codes", "bins", "rows", "weights", "squares", "lows", "highs")


def draw(rng, n=60, weighted=False):
    scores = rng.choice([0, 1, 0.25, 0.5, *rng.random(20)], n)
    rows = {"sensitive_features": rng.choice(["F", "M", "X"], n)}
    if weighted:
        rows["sample_weight"] = rng.integers(0, 4, n)
        rows["sample_weight"][:3] = 1
        rows["sensitive_features"][:3] = ["F", "M", "X"]
    return scores, rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bins", [1, 4, 64])
def test_definition(n_bins, weighted):
    scores, rows = draw(np.random.default_rng(0), weighted=weighted)
    weights = rows.get("sample_weight", np.ones(len(scores), int))
    histogram = GroupedHistogram.from_scores(scores, n_bins=n_bins, **rows)
    found = zip(*(getattr(histogram, name).tolist() for name in COLUMNS), strict=True)
    expected = []
    for code, label in enumerate(["F", "M", "X"]):
        for k in range(n_bins):
            inside = (k / n_bins <= scores) & (scores < (k + 1) / n_bins)
            inside |= (k == n_bins - 1) & (scores == 1)
            inside &= (rows["sensitive_features"] == label) & (weights > 0)
            if inside.any():
                w, s = weights[inside], scores[inside]
                sums = inside.sum(), w.sum(), (w**2).sum(), s.min(), s.max()
                expected.append((code, k, *sums))
    assert list(found) == expected
    assert histogram.weights.dtype == np.int64


@pytest.mark.parametrize("bad", [0, 3, 2**53, 1.0, True, None])
def test_number_of_bins(bad):
    with pytest.raises(ValueError, match="n_bins must be"):
        GroupedHistogram.from_scores([0.1], sensitive_features=["a"], n_bins=bad)


def test_coarsen_to_more_bins():
    histogram = GroupedHistogram.from_scores([0.1], sensitive_features=["a"], n_bins=4)
    with pytest.raises(ValueError, match=r"n_bins must be an integer in \[1, 4\]"):
        histogram.coarsen(8)


def table(**changes):
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
    histogram = GroupedHistogram.from_cells(container(table()), n_bins=4)
    assert repr(histogram) == "GroupedHistogram(2 cells of 4 bins; rows 'F': 9, 'M': 5)"
    assert histogram.lows.tolist() == [0.05, 0.8]
    assert histogram.weights.tolist() == histogram.squares.tolist() == [9, 5]
    assert histogram.names == ("sex",)
    both = table(
        race=["x", "y", "z"], weight=[1.5, 2.0, 2.0], weight_squared=[1.0, 1.0, 2.0]
    )
    histogram = GroupedHistogram.from_cells(container(both), n_bins=4)
    assert histogram.labels == (("F", "y"), ("F", "z"), ("M", "x"))
    assert histogram.totals.tolist() == [2, 2, 1.5]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (table(low=None), "must have the columns bin, n_rows, low, high"),
        (table(sex=None), "at least one sensitive column"),
        (table(bin=[1.5, 0, 0]), "'bin'.* must be whole numbers"),
        (table(bin=[2, 0, 0]), r"scores 0.8 to 0.9 do not lie in bin 2 of 4"),
        (table(n_rows=[5, -1, 2]), "'n_rows'.* must be finite numbers of at least 0"),
        (table(n_rows=[5, 0, 2]), "no rows"),
        (table(n_rows=["a", "b", "c"]), "'n_rows'.* must be numbers"),
        (table(weight=[9, 9, 9], weight_squared=[1, 1, 1]), "squared.* too small"),
        (table(weight=[9, 9, 9], weight_squared=[99, 99, 99]), "squared.* too large"),
        (table(high=[np.nan, 0.2, 0.1]), r"'high'.* must lie in \[0, 1\], got nan"),
        (table(bin=[None, 0, 0]), "no bin for 5 rows"),
        (table(sex=["M", None, "F"]), "has 7 missing values in column 'sex'"),
        ({key: [] for key in table()}, "0 rows"),
    ],
)
def test_broken_cells_are_refused(cells, message):
    with pytest.raises(ValueError, match=message):
        GroupedHistogram.from_cells(pd.DataFrame(cells), n_bins=4)


def test_cells_must_be_a_dataframe():
    with pytest.raises(TypeError, match="cells must be a dataframe"):
        GroupedHistogram.from_cells([1, 2])
