"""Labels of pandas objects, and figures that are rounded, in the bounds of DCP."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.metrics import dcp_bounds, min_dcp_bounds

TRUE = pd.DataFrame(
    {"x": [0.5, 0.3, 0.2], "y": [0.3, 0.3, 0.3], "z": [0.2, 0.4, 0.5]}, list("abc")
)
PREDICTED = pd.DataFrame(
    {"x": [0.2, 0.5, 0.3], "y": [0.4, 0.3, 0.3], "z": [0.4, 0.2, 0.4]}, list("abc")
)
WEIGHTS = pd.Series({"a": 10, "b": 20, "c": 70})


def least(weights, true, predicted, **options):
    options = {"random_state": 0, "n_starts": 1, "tol": 0.3, **options}
    return min_dcp_bounds(weights, true, predicted, **options)


@pytest.fixture(scope="module")
def expected():
    """Bounds of the labelled tables."""
    return least(WEIGHTS, TRUE, PREDICTED)


@pytest.mark.slow
def test_order_of_labelled_figures_does_not_matter():
    expected = least(WEIGHTS.to_numpy(), TRUE.to_numpy(), PREDICTED.to_numpy())
    result = least(WEIGHTS[["c", "a", "b"]], TRUE, PREDICTED.loc[[*"bca"], [*"zxy"]])
    assert (result.lower, result.upper) == (expected.lower, expected.upper)
    assert result.groups == ("a", "b", "c")
    assert result.classes == ("x", "y", "z")
    assert (expected.groups, expected.classes) == ((0, 1, 2), (0, 1, 2))
    by_group = result.weights.sum(axis=1)
    np.testing.assert_allclose(by_group, [0.1, 0.2, 0.7])


@pytest.mark.slow
def test_columns_of_polars_frames_are_matched(expected):
    frames = [pl.from_pandas(TRUE), pl.from_pandas(PREDICTED[["z", "x", "y"]])]
    assert least(WEIGHTS, *frames).upper == expected.upper


@pytest.mark.slow
def test_groups_of_two_attributes_and_missing_names(expected):
    names = pd.MultiIndex.from_tuples([("n", "F"), ("n", "M"), ("s", np.nan)])
    tables = [table.set_axis(names) for table in (TRUE, PREDICTED, WEIGHTS)]
    result = least(tables[2].iloc[::-1], *tables[:2])
    assert result.upper == expected.upper
    assert len(result.to_frame()) == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": WEIGHTS.reset_index(drop=True)}, r"group_weights.* \[0, 1, 2\]"),
        ({"weights": WEIGHTS[["a", "b"]]}, "group_weights and label_freq.* same group"),
        ({"weights": WEIGHTS.set_axis(list("abb"))}, "same groups, each once"),
        ({"true": TRUE.set_axis(list("abb"))}, "same groups, each once"),
        (
            {"predicted": PREDICTED.rename(columns=str.upper)},
            r"same classes.* 'Y', 'Z'\] and .*prediction_frequencies.to_numpy\(\)",
        ),
    ],
)
def test_labels_that_differ_are_refused(change, message):
    given = {"weights": WEIGHTS, "true": TRUE, "predicted": PREDICTED, **change}
    with pytest.raises(ValueError, match=message):
        least(**given)


# --- matrices


def labelled_matrices(instance):
    confusion, weights, true = instance(3, 2, 0)
    frames = [pd.DataFrame(matrix, [*"xyz"], [*"xyz"]) for matrix in confusion]
    return (
        frames,
        pd.Series(weights, ["a", "b"]),
        pd.DataFrame(true, ["a", "b"], list("xyz")),
    )


def test_labels_of_matrices_are_matched(instance):
    frames, weights, true = labelled_matrices(instance)
    expected = dcp_bounds(*instance(3, 2, 0))
    result = dcp_bounds(
        [frames[0], frames[1].loc[[*"zxy"], [*"yzx"]]], weights, true[["z", "y", "x"]]
    )
    assert result.upper == pytest.approx(expected.upper)
    assert result.classes == ("x", "y", "z")
    assert result.groups == ("a", "b")
    assert set(result.to_frame()["class"]) == {"x", "y", "z"}


def test_order_of_groups_must_be_known_for_matrices(instance):
    frames, weights, true = labelled_matrices(instance)
    with pytest.raises(ValueError, match="group_weights must have its groups in the"):
        dcp_bounds(frames, weights.iloc[::-1], true)
    with pytest.raises(ValueError, match="same groups"):
        dcp_bounds(frames, weights.rename({"a": "c"}), true)
    with pytest.raises(ValueError, match=r"confusion\[1\] and confusion\[0\] must"):
        dcp_bounds([frames[0], frames[1].rename({"x": "w"})], weights, true)


# --- rounded figures


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_tolerance_in_the_error_is_enough(seed):
    generator = np.random.default_rng(seed)
    tables = generator.dirichlet(np.ones(7), (2, 5)).round(3 if seed % 2 else 2)
    with pytest.raises(ValueError, match="sum_tolerance=") as error:
        least(np.ones(5), *tables)
    enough = float(str(error.value).split("sum_tolerance=")[2].split()[0])
    least(np.ones(5), *tables, sum_tolerance=enough, time_limit=0.05)


def test_other_scales_are_not_called_rounded():
    with pytest.raises(ValueError, match="divide percentages by 100") as error:
        least(WEIGHTS, 100 * TRUE, PREDICTED)
    assert "rounded" not in str(error.value)


def test_rounded_matrices(instance):
    confusion, weights, true = instance(3, 4, 0)
    given = confusion.round(3), weights, true.round(3)
    with pytest.raises(ValueError, match=r"sum_tolerance=0\.001"):
        dcp_bounds(*given)
    result = dcp_bounds(*given, sum_tolerance=0.002)
    assert result.upper == pytest.approx(dcp_bounds(*instance(3, 4, 0)).upper, abs=0.01)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e308])
def test_unit_of_group_weights_does_not_matter(instance, scale):
    confusion, _, true = instance(3, 4, 0)
    expected = dcp_bounds(confusion, np.ones(4), true)
    assert dcp_bounds(confusion, np.full(4, scale), true).upper == expected.upper


def test_masked_figures_are_missing(instance):
    confusion, weights, true = instance(3, 4, 0)
    for position, name in enumerate(["confusion", "group_weights", "label_freq"]):
        given = [confusion, weights, true]
        given[position] = np.ma.masked_less(given[position], 0.2)
        with pytest.raises(ValueError, match=f"{name}.* masked values"):
            dcp_bounds(*given)


def test_sums_that_overflow():
    huge = [[1e308, 1e308], [0.5, 0.5]]
    with pytest.raises(ValueError, match=r"must sum to 1 .*got inf for group 0"):
        min_dcp_bounds([1, 1], huge, [[0.5, 0.5]] * 2)
