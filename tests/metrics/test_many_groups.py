"""Pairs of thousands of groups are compared without a list of all of them."""

import ast
import time
import tracemalloc
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    group_metrics,
    mcdp,
)
from skfair.metrics._madd import histogram_distance
from skfair.metrics._pairs import largest_gap, sums_of_distances
from skfair.statistics import GroupedScores


def test_memory_of_two_thousand_groups():
    """A list of their two million pairs takes 200 MB."""
    y_score = np.random.default_rng(0).random(20_000)
    groups = np.repeat(np.arange(2_000), 10)
    tracemalloc.start()
    try:
        assert mcdp(None, y_score, sensitive_features=groups) > 0
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def numbers(n_groups, n_rows, seed=0):
    """Scores, and a column of numbers of which each is a group."""
    generator = np.random.default_rng(seed)
    values = np.concatenate(
        [np.arange(n_groups), generator.integers(0, n_groups, n_rows - n_groups)]
    )
    return generator.random(n_rows), values


@pytest.mark.parametrize("metric", [mcdp, abcc, demographic_parity_difference])
def test_columns_of_numbers_as_groups_are_warned_of(metric):
    y_score, age = numbers(60, 300)
    with pytest.warns(UndefinedMetricWarning, match="60 groups, each a number") as seen:
        value = metric(None, y_score, sensitive_features=age)
    assert value > 0
    (text,) = (str(one.message) for one in seen if "bins=" in str(one.message))
    edges = ast.literal_eval(text[text.index("bins=") + 5 : text.index(") makes")])
    assert metric(None, y_score, sensitive_features=encode_groups(age, bins=edges)) > 0


def test_rates_of_columns_of_numbers_are_warned_of():
    y_score, age = numbers(60, 300)
    with pytest.warns(UndefinedMetricWarning, match="60 groups, each a number"):
        group_metrics("selection_rate", None, y_score > 0.5, sensitive_features=age)


def test_each_column_of_an_intersection_is_judged_by_itself():
    y_score, age = numbers(60, 300)
    both = pd.DataFrame({"sex": age % 2, "age": age})
    said = "60 groups in column 2, each a number, of which .*bins="
    with pytest.warns(UndefinedMetricWarning, match=said) as seen:
        mcdp(None, y_score, sensitive_features=both)
    assert len(seen) == 1
    # All columns of X in place of those of groups.
    X = np.random.default_rng(0).normal(size=(2_000, 3))
    with pytest.raises(ValueError, match="2,000 groups in column 1, each a number"):
        mcdp(None, np.resize(y_score, 2_000), sensitive_features=X)
    few = pd.DataFrame({"sex": age % 2, "ten": age // 6, "text": age.astype(str)})
    mcdp(None, y_score, sensitive_features=few)


def test_other_small_groups_are_not_warned_of():
    y_score, age = numbers(60, 300)
    for groups in (age.astype(str), age % 25, age < 1, np.sort(age) // 20):
        mcdp(None, y_score, sensitive_features=groups)
    mcdp(None, np.tile(y_score, 40), sensitive_features=np.tile(age, 40))


def test_as_many_numbers_as_rows_are_refused_at_once():
    generator = np.random.default_rng(0)
    y_score, number = generator.random((2, 41_188))
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"41,188 groups, .*bins="):
        mcdp(None, y_score, sensitive_features=number)
    assert time.perf_counter() - start < 10


def test_areas_of_many_groups_of_real_numbers_are_not_bounded_by_1():
    rng = np.random.default_rng(0)
    groups = np.repeat([f"g{i}" for i in range(70)], 6)
    numbers = np.repeat(rng.normal(0, 5, 70), 6) + rng.normal(size=len(groups))
    parts = [numbers[groups == f"g{i}"] for i in range(70)]
    largest = max(
        wasserstein_distance(one, other) for one, other in combinations(parts, 2)
    )
    value = abcc(None, numbers, sensitive_features=groups, scale="real")
    assert value == pytest.approx(largest)


def test_of_tiny_groups_that_lie_apart_one_pair_is_evaluated():
    statistic = GroupedScores.from_scores(
        np.arange(80) / 80, sensitive_features=[f"g{i}" for i in range(80)]
    )
    evaluated = []

    def measure(gap):
        evaluated.append(gap)
        return histogram_distance(gap, 128)

    bounds_of = sums_of_distances(partial(histogram_distance, n_bins=128), 2.0)
    found = largest_gap(statistic, measure=measure, bounds_of=bounds_of)
    assert found.value == 2
    assert len(evaluated) == 1
