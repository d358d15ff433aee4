import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skfair.inprocessing._diff_mcdp_classifier import even_sizes, mini_batches


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(1, 200))
def test_sizes_are_as_even_as_groups_have_rows(available, total):
    available = np.array(available)
    total = min(total, available.sum())
    sizes = even_sizes(available, total)
    assert sizes.sum() == total
    assert np.all(sizes <= available)
    short = sizes < available
    if short.any():
        assert np.ptp(sizes[short]) <= 1
        assert sizes[~short].max(initial=0) <= sizes[short].min() + 1


def test_a_small_group_is_in_every_batch():
    strata = np.repeat([0, 1, -1], [950, 40, 10])
    batches = mini_batches(strata, 100, np.random.RandomState(0))
    values = np.random.default_rng(0).normal(size=1000)
    means, seen = [], np.zeros(1000)
    for _ in range(19):
        rows, factors = next(batches)
        assert len(rows) == len(set(rows)) == 100
        sizes = np.unique(strata[rows], return_counts=True)[1]
        assert_array_equal(sizes, [10, 50, 40])
        assert_allclose(factors.mean(), 1)
        means.append(np.mean(factors * values[rows]))
        seen[rows] += 1
    # 19 batches of 50 deal each row of the largest group once.
    assert_array_equal(seen, np.repeat([1, 19, 19], [950, 40, 10]))
    assert_allclose(np.mean(means), values.mean())


def test_all_rows_in_their_order():
    batches = mini_batches(np.array([0, 1, 0]), 5, np.random.RandomState(0))
    for _ in range(2):
        rows, factors = next(batches)
        assert_array_equal(rows, [0, 1, 2])
        assert_array_equal(factors, [1, 1, 1])


@pytest.mark.parametrize("strata", [np.arange(100), np.zeros(100, dtype=int)])
def test_rows_are_drawn_alike_from_one_or_very_many_groups(strata):
    batches = mini_batches(strata, 20, np.random.RandomState(0))
    drawn = [next(batches) for _ in range(5)]
    assert_array_equal(np.sort(np.concatenate([rows for rows, _ in drawn])), range(100))
    assert_allclose(np.concatenate([factors for _, factors in drawn]), 1)
