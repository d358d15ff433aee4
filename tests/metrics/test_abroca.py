"""ABROCA against brute force, and its own promises."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    abroca,
)


def roc_points(y_true, y_score, weights):
    """Rates of the classes at each threshold, from the highest on."""
    points = [(0.0, 0.0)]
    for threshold in sorted(set(y_score.tolist()), reverse=True):
        above = weights * (y_score >= threshold)
        points.append(
            tuple(above[y_true == c].sum() / weights[y_true == c].sum() for c in (0, 1))
        )
    return np.array(points).T


def brute_area(first, second):
    """Integrate between all places where a curve bends or the two cross."""
    total, edges = 0.0, np.unique(np.concatenate([first[0], second[0]]))
    for a, b in pairwise(edges):
        # Straight inside: the difference at a third and at two thirds tells it all,
        # and there no curve is vertical.
        thirds = [a + (b - a) / 3, a + 2 * (b - a) / 3]
        near, far = np.interp(thirds, *first) - np.interp(thirds, *second)
        left, right = 2 * near - far, 2 * far - near
        places = (
            [a, b] if left * right >= 0 else [a, a + (b - a) * left / (left - right), b]
        )
        for start, end in pairwise(places):
            middle = left + (right - left) * ((start + end) / 2 - a) / (b - a)
            total += (end - start) * abs(middle)
    return total


def check_random_cases(n_cases, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n_groups, n_levels = rng.integers(2, 4), rng.integers(1, 9)
        groups = np.concatenate(
            [
                np.repeat(np.arange(n_groups), 2),
                rng.integers(0, n_groups, rng.integers(0, 14)),
            ]
        )
        y_true = np.concatenate(
            [np.tile([0, 1], n_groups), rng.integers(0, 2, len(groups) - 2 * n_groups)]
        )
        y_score = rng.integers(0, n_levels, len(groups))
        weights = rng.integers(1, 4, len(groups)) if rng.random() < 0.5 else None
        counted = np.ones(len(groups), int) if weights is None else weights
        parts = [groups == g for g in range(n_groups)]
        rows = y_true, y_score, counted
        curves = [roc_points(*(column[own] for column in rows)) for own in parts]
        options = {"sensitive_features": groups, "sample_weight": weights}
        pairs = [brute_area(a, b) for i, a in enumerate(curves) for b in curves[:i]]
        value = abroca(y_true, y_score, **options)
        assert value == pytest.approx(max(pairs), abs=1e-12)
        pooled = max(brute_area(curve, roc_points(*rows)) for curve in curves)
        value = abroca(y_true, y_score, multigroup="pooled", **options)
        assert value == pytest.approx(pooled, abs=1e-12)


@pytest.mark.slow
@pytest.mark.promise("ABROCA is the area between the ROC curves")
def test_random_cases():
    check_random_cases(40, seed=0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 2, 400)
    y_true = rng.integers(0, 2, 400)
    return y_true, rng.normal(y_true * (0.5 + groups)), groups


def test_only_the_order_of_scores_matters(rows):
    y_true, y_score, groups = rows
    value = abroca(y_true, y_score, sensitive_features=groups)
    for changed in (np.exp(y_score), 1 / (1 + np.exp(-y_score)), 1e6 * y_score - 7):
        assert abroca(y_true, changed, sensitive_features=groups) == value
    moved = y_score + 100 * groups  # within groups the order stays
    assert abroca(y_true, moved, sensitive_features=groups) == value


@pytest.mark.parametrize("names", [(0, 1), (-1, 1), ("no", "yes"), ("yes", "no")])
def test_it_does_not_matter_which_class_is_positive(rows, names):
    y_true, y_score, groups = rows
    expected = abroca(y_true, y_score, sensitive_features=groups)
    value = abroca(np.array(names)[y_true], y_score, sensitive_features=groups)
    assert value == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("weight", [None, 7.5])
def test_few_rows_of_a_class_are_undefined(weight):
    y_true = np.r_[np.tile([0, 1], 20), np.zeros(20, int), 1, 1, 1]
    y_score = np.linspace(0, 1, 63)
    labels = np.repeat(["a", "b"], [40, 23])
    weights = None if weight is None else np.full(63, weight)
    rows = {"y_true": y_true, "y_score": y_score, "sample_weight": weights}
    message = "at least 5 rows of each true label, but 'b' has 3 rows of 1"
    groups = encode_groups(labels, min_group_size=5)
    with pytest.warns(UndefinedMetricWarning, match=message):
        assert np.isnan(abroca(**rows, sensitive_features=groups))
    groups = encode_groups(labels, min_group_size=3)
    assert abroca(**rows, sensitive_features=groups) > 0
    rows["sample_weight"] = np.where((labels == "b") & (y_true == 1), 0, 1)
    with pytest.warns(UndefinedMetricWarning, match="'b' has 0 rows of 1"):
        assert np.isnan(abroca(**rows, sensitive_features=groups))
