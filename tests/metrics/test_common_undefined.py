"""Groups for which no metric is defined: nan, and a warning that says why."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import MADDBandwidthResult

every_metric = pytest.mark.metrics("every")


@pytest.fixture
def assert_undefined(metrics):
    def check(name, groups, match):
        y_score = np.linspace(0, 1, len(groups))
        with pytest.warns(UndefinedMetricWarning, match=match) as caught:
            result = metrics[name](None, y_score, sensitive_features=groups)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        if isinstance(result, tuple):
            result = result[1]
        elif isinstance(result, MADDBandwidthResult):
            result = [*result.interval, result.madd, result.std, *result.values]
        assert np.isnan(result).all()

    return check


@every_metric
@pytest.mark.parametrize("label", ["F", 3])
def test_one_group(name, label, assert_undefined):
    assert_undefined(name, [label] * 4, rf"at least two groups, got only \[{label!r}\]")


@every_metric
def test_absent_category(name, assert_undefined):
    column = pd.Categorical(["F", "M", "F"], categories=["F", "M", "other"])
    for groups in (column, pd.Series(column), pd.DataFrame({"sex": column})):
        assert_undefined(name, groups, "'other' has 0 rows")


@every_metric
def test_absent_label(name, assert_undefined):
    groups = encode_groups(["F", "F"], labels=["F", "M"])
    assert_undefined(name, groups, "'M' has 0 rows")


@every_metric
def test_group_lost_by_a_subset(name, assert_undefined):
    groups = encode_groups(["F", "M", "F", "X"])
    assert_undefined(name, groups[:3], "'X' has 0 rows")


@every_metric
def test_group_below_the_minimal_size(name, assert_undefined):
    groups = encode_groups(["F", "M", "M", "F", "M"], min_group_size=3)
    assert_undefined(name, groups, "needs at least 3 rows, and 'F' has 2 rows")


@every_metric
def test_group_of_the_minimal_size_is_enough(name, measured, rows):
    y_score, groups = rows()
    least = int(np.bincount(groups).min())
    value = measured(name, y_score, encode_groups(groups, min_group_size=least))
    np.testing.assert_array_equal(value, measured(name, y_score, groups))


@every_metric
def test_rows_of_weight_zero_do_not_fill_a_group(name, measured):
    groups = encode_groups(["F", "F", "M", "M"], min_group_size=2)
    with pytest.warns(UndefinedMetricWarning, match="'M' has 1 rows"):
        measured(name, [0.1, 0.2, 0.3, 0.4], groups, sample_weight=[1, 1, 1, 0])


@every_metric
def test_no_known_group(name, assert_undefined):
    groups = encode_groups([None, None], missing="drop")
    assert_undefined(name, groups, "at least two groups")


@every_metric
def test_unknown_label_is_an_error_at_once(name, measured):
    with pytest.raises(ValueError, match=r"unknown groups \['X'\]"):
        measured(name, [0.1, 0.2], encode_groups(["F", "X"], labels=["F", "M"]))


@every_metric
def test_parameters_are_checked_even_where_the_value_is_undefined(name, measured):
    with pytest.raises(ValueError, match="multigroup must be"):
        measured(name, [0.1, 0.2], ["F", "F"], multigroup="x")
