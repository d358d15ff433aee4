"""A row with a count of people gives the report of as many rows."""

import numpy as np
import pandas as pd
import pytest

from skfair.report import FairnessReport

QUICK = {"n_resamples": 5, "n_permutations": 59, "random_state": 0}
TABLES = "metrics", "models", "groups", "impact_ratios", "strata"


def cells(n_cells, most, seed=0):
    """A table of cells of people who are alike, some of which stand for nobody."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n_cells),
            "p": rng.choice(np.linspace(0.05, 0.95, 19), n_cells),
            "d": rng.integers(0, 2, n_cells),
            "sex": rng.choice(["F", "M"], n_cells),
            "race": rng.choice(["a", "b", "c"], n_cells, p=[0.6, 0.39, 0.01]),
            "town": rng.choice(["x", "y"], n_cells),
            "w": rng.choice([0.5, 1.0, 2.0], n_cells),
            "people": rng.integers(0, most, n_cells),
        }
    )


def reports(table, **columns):
    """The report of a table with counts, and that of its people."""
    people = table.loc[table.index.repeat(table["people"])].drop(columns="people")
    options = {**columns, **QUICK, "sensitive_features": ["sex", "race"]}
    options |= {"control_features": "town", "impact_ratios": True}
    return (
        FairnessReport.from_frame(table, counts="people", **options),
        FairnessReport.from_frame(people, **options),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        {"y_pred": "d"},
        {"y_true": "y", "y_score": "p", "sample_weight": "w"},
        {"y_true": "y", "y_pred": ["d", "y"]},
    ],
    ids=["decisions", "scores", "two models"],
)
@pytest.mark.promise("A table of counts has the report of its people")
def test_few_people(columns):
    counted, singly = reports(cells(60, 30), **columns)
    assert counted.summary == singly.summary


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        {"y_true": "y", "y_pred": "d"},
        {"y_true": "y", "y_score": "p", "sample_weight": "w"},
        {"y_score": "p", "y_pred": "d", "scale": "rank"},
    ],
    ids=["decisions", "scores", "ranks"],
)
def test_many_people(columns):
    table = cells(300, 400)
    counted, singly = reports(table, **columns)
    assert counted.summary["n_rows"] == table["people"].sum() > 50_000
    for name in TABLES:
        found, expected = counted.to_frame(name), singly.to_frame(name)
        drawn = [c for c in ("pvalue", "null_mean") if c in expected]
        for column in drawn:  # of as many draws of the same distribution
            apart = (found[column] - expected[column]).abs().dropna()
            assert (apart < 0.2).all()
        texts = ["sentence", "note"] if name == "metrics" else []
        both = (frame.drop(columns=drawn + texts) for frame in (found, expected))
        pd.testing.assert_frame_equal(*both, rtol=1e-9, atol=1e-12)


def test_counts_of_predictions():
    counts, group = [30, 20, 10, 40, 0], [*"aabbc"]
    report = FairnessReport.from_predictions(
        None, y_pred=[1, 0, 1, 0, 1], sensitive_features=group, counts=counts, **QUICK
    )
    groups = report.to_frame("groups").set_index("group")
    assert groups["n"].to_dict() == {"a": 50, "b": 50}
    assert groups["selection_rate"].to_dict() == {"a": 0.6, "b": 0.2}


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.5, 1, 1, 1], "counts must be whole numbers of people, 0 or more, got 1.5"),
        ([-1, 1, 1, 1], "got -1"),
        ([np.nan, 1, 1, 1], "got nan"),
        ([0, 0, 0, 0], "counts is zero in every row"),
        ([1, 1, 1], "counts must have shape"),
    ],
)
def test_counts_that_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        FairnessReport.from_predictions(
            None, y_pred=[0, 1, 0, 1], sensitive_features=[*"aabb"], counts=counts
        )
