"""Bad input, which every metric refuses with an error that names it."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.groups import encode_groups
from skfair.metrics import madd, mcdp

every_metric = pytest.mark.metrics("every")


def score_name(name):
    return "y_score_or_pred" if "parity" in name else "y_score"


@every_metric
@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (-0.1, "-0.1"),
        (1.1, "1.1"),
        (np.nextafter(1, 2), "1.0000000000000002"),
        (-5e-324, "-5e-324"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
    ],
)
def test_scores_outside_zero_and_one(name, score, shown, measured):
    match = rf"{score_name(name)} must lie in \[0, 1\], got {shown} in row 2"
    with pytest.raises(ValueError, match=match):
        measured(name, [0.5, 0.2, score, 0.1], [0, 0, 1, 1])


@every_metric
def test_text_scores(name, measured):
    with pytest.raises(ValueError, match=f"{score_name(name)} .*'high'"):
        measured(name, ["high", "low", "low"], [0, 0, 1])


@every_metric
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_two_dimensional_scores(name, n_columns, measured):
    match = rf"{score_name(name)} must have shape \(n_samples,\).*\(4, {n_columns}\)"
    with pytest.raises(ValueError, match=match):
        measured(name, np.full((4, n_columns), 0.5), [0, 0, 1, 1])


@every_metric
def test_no_rows(name, measured):
    with pytest.raises(ValueError, match=f"{score_name(name)} has 0 rows"):
        measured(name, [], [])


@every_metric
@pytest.mark.parametrize("n_rows", [3, 5])
@pytest.mark.parametrize("argument", ["sensitive_features", "sample_weight", "y_true"])
def test_wrong_lengths(name, argument, n_rows, metrics):
    arguments = {"sensitive_features": [0, 0, 1, 1], argument: ([0, 1] * 3)[:n_rows]}
    if argument == "sample_weight":
        arguments[argument] = np.ones(n_rows)
    y_true = arguments.pop("y_true", None)
    with pytest.raises(ValueError, match=f"{argument} .*({n_rows}.* 4|4,.*{n_rows})"):
        metrics[name](y_true, [0.1, 0.2, 0.3, 0.4], **arguments)


@every_metric
def test_sensitive_features_are_needed(name, metrics):
    with pytest.raises(ValueError, match="sensitive_features is None"):
        metrics[name](None, [0.1, 0.2])


@every_metric
@pytest.mark.parametrize(
    "column",
    [
        ["F", None, "M", None],
        ["F", np.nan, "M", np.nan],
        [0.0, np.nan, 1.0, np.nan],
        np.array(["F", pd.NA, "M", pd.NA], dtype=object),
        pd.Series(["F", None, "M", None], dtype="string"),
        pl.Series(["F", None, "M", None]),
    ],
    ids=["None", "nan", "float", "NA", "string", "polars"],
)
def test_missing_groups(name, column, measured):
    with pytest.raises(ValueError, match="sensitive_features has 2 missing values"):
        measured(name, [0.1, 0.2, 0.3, 0.4], column)


@every_metric
def test_missing_groups_left_out_or_a_group(name, measured, rows):
    y_score, groups = rows(3)
    labels = np.array(["F", "M", None], dtype=object)[groups]
    known = groups < 2
    dropped = measured(name, y_score, encode_groups(labels, missing="drop"))
    np.testing.assert_array_equal(
        dropped, measured(name, y_score[known], labels[known])
    )
    grouped = measured(name, y_score, encode_groups(labels, missing="group"))
    np.testing.assert_array_equal(grouped, measured(name, y_score, groups))


@every_metric
@pytest.mark.parametrize("weight", [-1, -0.5, np.nan, np.inf])
def test_negative_and_infinite_weights(name, weight, measured):
    match = f"sample_weight must be finite and non-negative, got {float(weight)}"
    with pytest.raises(ValueError, match=match):
        measured(name, [0.1, 0.2, 0.3], [0, 1, 1], sample_weight=[1, 1, weight])


@every_metric
def test_text_weights(name, measured):
    with pytest.raises(ValueError, match=r"sample_weight .*'heavy'"):
        measured(name, [0.1, 0.2], [0, 1], sample_weight=["heavy", "light"])


@every_metric
def test_group_without_weight(name, measured):
    with pytest.raises(ValueError, match=r"sample_weight is zero .*\['M'\]"):
        measured(name, [0.1, 0.2, 0.3], ["F", "M", "M"], sample_weight=[1, 0, 0])


@every_metric
@pytest.mark.parametrize(
    "y_true", [[0, 1, 2, 1], ["a", "b", "c", "a"], [0.0, 0.5, 1.0, 1.0]], ids=str
)
def test_three_classes(name, y_true, measured):
    with pytest.raises(ValueError, match="y_true must be binary, got 3 classes"):
        measured(name, [0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], y_true=y_true)


@every_metric
def test_missing_y_true(name, measured):
    with pytest.raises(ValueError, match="y_true"):
        measured(name, [0.1, 0.2, 0.3], [0, 0, 1], y_true=[1, np.nan, 1])


@every_metric
@pytest.mark.parametrize("groups", [[0, 0, 1], [0, 1, 2]], ids=["two", "three"])
@pytest.mark.parametrize("multigroup", ["x", None, "PAIRWISE"])
def test_unknown_multigroup(name, groups, multigroup, measured):
    match = f"multigroup must be 'pairwise' or 'pooled', got {multigroup!r}"
    with pytest.raises(ValueError, match=match):
        measured(name, [0.1, 0.2, 0.3], groups, multigroup=multigroup)


@pytest.mark.parametrize(
    ("metric", "name", "value"),
    [
        *[(mcdp, "epsilon", value) for value in (-0.1, 0.6, np.nan, "a", None)],
        *[(madd, "bandwidth", value) for value in (0, 1.5, -1, np.nan, "x", None)],
        (mcdp, "method", "x"),
        (mcdp, "method", None),
    ],
)
def test_bad_parameters(metric, name, value):
    match = f"{name} must be .*got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=match):
        metric(None, [0.1, 0.2], sensitive_features=[0, 1], **{name: value})


@pytest.mark.parametrize("n_subdivisions", [0, -1, 1.5, "x", None, np.nan])
def test_bad_number_of_subdivisions(n_subdivisions):
    match = f"n_subdivisions must be .*got {n_subdivisions!r}"
    with pytest.raises(ValueError, match=match):
        mcdp(
            None,
            [0.1, 0.2],
            sensitive_features=[0, 1],
            epsilon=0.1,
            method="approximate",
            n_subdivisions=n_subdivisions,
        )


def test_approximation_needs_an_epsilon():
    with pytest.raises(ValueError, match=r"epsilon must be above 0 .* got 0"):
        mcdp(None, [0.1, 0.2], sensitive_features=[0, 1], method="approximate")
