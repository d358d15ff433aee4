"""What must not change the value of any metric: order, names, weights, y_true."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

every_metric = pytest.mark.metrics("every")
both_ways = pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])

# Sums of scores depend on their order; counts of rows do not.
ROUNDED = {"demographic_parity_difference"}


def assert_same(name, value, expected):
    if name in ROUNDED:
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)
    else:
        np.testing.assert_array_equal(value, expected)


@every_metric
@both_ways
@pytest.mark.parametrize("n_groups", [2, 5])
def test_names_of_groups_do_not_matter(name, multigroup, n_groups, measured, rows):
    y_score, groups = rows(n_groups)
    if name == "demographic_parity_difference":
        y_score = np.round(y_score * 64) / 64
    renamed = np.array(["delta", "alpha", "echo", "bravo", "carol"])[groups]
    value = measured(name, y_score, renamed, multigroup=multigroup)
    expected = measured(name, y_score, groups, multigroup=multigroup)
    np.testing.assert_array_equal(value, expected)


@every_metric
@both_ways
@pytest.mark.parametrize("n_groups", [2, 5])
def test_order_of_rows_does_not_matter(name, multigroup, n_groups, measured, rows):
    y_score, groups = rows(n_groups)
    order = np.random.default_rng(1).permutation(len(y_score))
    value = measured(name, y_score[order], groups[order], multigroup=multigroup)
    expected = measured(name, y_score, groups, multigroup=multigroup)
    assert_same(name, value, expected)


@every_metric
@both_ways
@pytest.mark.parametrize("n_groups", [2, 5])
def test_whole_weights_count_rows(name, multigroup, n_groups, measured, rows):
    y_score, groups = rows(n_groups)
    weights = np.random.default_rng(1).integers(1, 4, len(y_score))
    options = {"multigroup": multigroup}
    expected = measured(
        name, np.repeat(y_score, weights), np.repeat(groups, weights), **options
    )
    for sample_weight in (weights, weights.astype(float), weights.tolist()):
        value = measured(name, y_score, groups, sample_weight=sample_weight, **options)
        assert_same(name, value, expected)


@every_metric
def test_doubled_rows_are_doubled_weights(name, measured, rows):
    y_score, groups = rows()
    twice = measured(name, np.tile(y_score, 2), np.tile(groups, 2))
    value = measured(name, y_score, groups, sample_weight=np.full(len(y_score), 2))
    assert_same(name, value, twice)


@every_metric
def test_unit_weights_are_no_weights(name, measured, rows):
    y_score, groups = rows()
    value = measured(name, y_score, groups, sample_weight=np.ones(len(y_score)))
    np.testing.assert_array_equal(value, measured(name, y_score, groups))


@pytest.mark.metrics("scale free")
@pytest.mark.parametrize("factor", [1e-6, 0.3, 7e5])
def test_scale_of_weights_does_not_matter(name, factor, measured, rows):
    y_score, groups = rows(3)
    weights = np.random.default_rng(1).uniform(0.1, 5, len(y_score))
    value = measured(name, y_score, groups, sample_weight=factor * weights)
    expected = measured(name, y_score, groups, sample_weight=weights)
    if name == "mcdp_curve":  # breaks of no height come and go with rounding
        at = np.linspace(0, 0.5, 777)
        value, expected = (
            heights[np.searchsorted(breaks, at, side="right") - 1]
            for breaks, heights in (np.split(v, 2) for v in (value, expected))
        )
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)


@every_metric
@pytest.mark.parametrize("scale", [1, 0.7])
def test_rows_of_weight_zero_do_not_count(name, scale, measured, rows):
    y_score, groups = rows(3)
    weights = scale * np.random.default_rng(1).integers(0, 3, len(y_score))
    kept = weights > 0
    value = measured(name, y_score, groups, sample_weight=weights)
    expected = measured(name, y_score[kept], groups[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(value, expected)


@every_metric
def test_y_true_is_ignored(name, measured, rows):
    y_score, groups = rows()
    expected = measured(name, y_score, groups)
    labels = groups % 2
    for y_true in (
        labels,
        labels.tolist(),
        labels.astype(float),
        labels.astype(bool),
        np.zeros_like(labels),
        np.array(["no", "yes"])[labels],
        np.array(["no", "yes"], dtype=object)[labels],
        pd.Series(labels, index=labels),
        pd.Series(["no", "yes"])[labels],
        pl.Series(labels),
    ):
        value = measured(name, y_score, groups, y_true=y_true)
        np.testing.assert_array_equal(value, expected)
