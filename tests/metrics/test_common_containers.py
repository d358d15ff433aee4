"""What every metric takes, leaves as it was, and gives back."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.groups import encode_groups

every_metric = pytest.mark.metrics("every")

SCORE_CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "Series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "Float64": lambda y: pd.Series(y, dtype="Float64"),
    "polars": pl.Series,
    "strided": lambda y: np.repeat(y, 2)[::2],
    "big-endian": lambda y: y.astype(">f8"),
}
GROUP_CONTAINERS = {
    "list": list,
    "array": np.array,
    "object": lambda g: np.array(g, dtype=object),
    "Series": lambda g: pd.Series(g, index=np.arange(len(g))[::-1]),
    "category": lambda g: pd.Series(g, dtype="category"),
    "Categorical": pd.Categorical,
    "DataFrame": lambda g: pd.DataFrame({"sex": g}, index=np.arange(len(g))[::-1]),
    "polars Series": pl.Series,
    "polars DataFrame": lambda g: pl.DataFrame({"sex": g}),
    "Groups": encode_groups,
}


@every_metric
@pytest.mark.parametrize("container", SCORE_CONTAINERS)
def test_containers_of_scores(name, container, measured, rows):
    y_score, groups = rows()
    weights = np.arange(len(y_score)) % 4 + 1
    convert = SCORE_CONTAINERS[container]
    value = measured(name, convert(y_score), groups, sample_weight=weights)
    expected = measured(name, y_score, groups, sample_weight=weights)
    np.testing.assert_array_equal(value, expected)


@every_metric
@pytest.mark.parametrize("container", GROUP_CONTAINERS)
def test_containers_of_groups(name, container, measured, rows):
    y_score, groups = rows()
    labels = ["FM"[group] for group in groups]
    value = measured(name, y_score, GROUP_CONTAINERS[container](labels))
    np.testing.assert_array_equal(value, measured(name, y_score, groups))


@every_metric
@pytest.mark.parametrize(
    "container",
    [
        np.array,
        pd.DataFrame,
        lambda pairs: pd.DataFrame(pairs, index=np.arange(len(pairs))[::-1]),
        lambda pairs: pl.DataFrame(pairs, orient="row", schema=["sex", "race"]),
        list,
    ],
    ids=["array", "DataFrame", "shuffled", "polars", "list"],
)
def test_intersections_are_joined_labels(name, container, measured, rows):
    y_score, groups = rows(4)
    pairs = [("FM"[group % 2], "ab"[group // 2]) for group in groups]
    value = measured(name, y_score, container(pairs))
    expected = measured(name, y_score, ["".join(pair) for pair in pairs])
    np.testing.assert_array_equal(value, expected)


@every_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_scores_are_their_exact_values(name, dtype, measured, rows):
    y_score, groups = rows()
    narrow = y_score.astype(dtype)
    value = measured(name, narrow, groups)
    expected = measured(name, narrow.astype(np.float64), groups)
    np.testing.assert_array_equal(value, expected)


@every_metric
def test_zero_one_scores_of_any_type(name, measured, rows):
    y_score, groups = rows()
    decisions = (y_score > 0.5).astype(float)
    expected = measured(name, decisions, groups)
    for dtype in (int, bool, np.uint8, np.float32):
        value = measured(name, decisions.astype(dtype), groups)
        np.testing.assert_array_equal(value, expected)


@every_metric
def test_inputs_are_not_modified(name, measured, rows):
    y_score, groups = rows(3)
    y_score[:3] = -0.0
    inputs = {
        "y_true": (y_score > 0.4).astype(int),
        "y_score": y_score,
        "groups": pd.DataFrame({"a": groups, "b": groups % 2}),
        "sample_weight": (np.arange(len(y_score)) % 3).astype(float),
    }
    before = copy.deepcopy(inputs)
    for values in (inputs["y_true"], inputs["y_score"], inputs["sample_weight"]):
        values.setflags(write=False)
    measured(name, **inputs)
    pd.testing.assert_frame_equal(inputs.pop("groups"), before.pop("groups"))
    for key, values in inputs.items():
        np.testing.assert_array_equal(values, before[key])
        np.testing.assert_array_equal(np.signbit(values), np.signbit(before[key]))


@every_metric
def test_results_pickle(name, metrics, rows, flat):
    y_score, groups = rows()
    result = metrics[name](None, y_score, sensitive_features=groups)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(flat(again), flat(result))


@pytest.mark.metrics("numbers")
def test_numbers_are_python_floats(name, metrics, rows):
    y_score, groups = rows()
    assert type(metrics[name](None, y_score, sensitive_features=groups)) is float
