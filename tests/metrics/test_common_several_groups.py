"""Every metric that is one number, of more than two groups."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from skfair.metrics import abcc, demographic_parity_difference, madd, mcdp


@pytest.mark.metrics("numbers")
@pytest.mark.parametrize(("n_groups", "n_rows"), [(3, 200), (8, 600), (20, 300)])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairwise_is_the_largest_value_over_pairs(
    name, n_groups, n_rows, weighted, measured, rows
):
    y_score, groups = rows(n_groups, n_rows, seed=n_groups)
    weights = np.random.default_rng(0).uniform(0.5, 2, n_rows) if weighted else None
    values = []
    for pair in combinations(np.unique(groups), 2):
        own = np.isin(groups, pair)
        own_weights = weights[own] if weighted else None
        values.append(
            measured(name, y_score[own], groups[own], sample_weight=own_weights)[0]
        )
    value = measured(name, y_score, groups, sample_weight=weights)[0]
    assert value == pytest.approx(max(values), abs=1e-13)


@pytest.mark.metrics("numbers")
@pytest.mark.parametrize(
    ("n_groups", "n_rows"), [(2, 90), (3, 200), (20, 300), (200, 900)]
)
def test_pooled_compares_each_group_with_everyone(
    name, n_groups, n_rows, measured, rows
):
    if name == "madd auto":
        n_groups = min(n_groups, 50)
    y_score, groups = rows(n_groups, n_rows, seed=n_groups)
    values = []
    for group in np.unique(groups):
        own = y_score[groups == group]
        against = np.repeat(["group", "everyone"], [len(own), n_rows])
        values.append(measured(name, np.concatenate([own, y_score]), against)[0])
    value = measured(name, y_score, groups, multigroup="pooled")[0]
    assert value == pytest.approx(max(values), abs=1e-13)


@pytest.mark.metrics("numbers")
def test_pairwise_and_pooled_agree_for_one_large_group_far_off(name, measured):
    # One row against everyone else: it is the group furthest from the others.
    y_score = np.concatenate([[1.0], np.zeros(999)])
    groups = np.concatenate([[0], np.arange(999) % 3 + 1])
    assert measured(name, y_score, groups)[0] == pytest.approx(
        2 if "madd" in name else 1
    )
    pooled = measured(name, y_score, groups, multigroup="pooled")[0]
    assert pooled == pytest.approx(0.999 * (2 if "madd" in name else 1))


def test_two_hundred_groups_pairwise(rows):
    y_score, groups = rows(200, 2_000)
    labels = np.unique(groups)
    thresholds = np.linspace(0, 1, 101)
    counts = np.array(
        [
            (y_score[groups == label, None] <= thresholds + 1e-9).mean(axis=0)
            for label in labels
        ]
    )
    options = {"sensitive_features": groups}
    largest = (counts.max(axis=0) - counts.min(axis=0)).max()
    assert mcdp(None, y_score, **options) == pytest.approx(largest, abs=1e-12)
    areas = cdist(counts, counts, "cityblock") / 100
    assert abcc(None, y_score, **options) == pytest.approx(areas.max(), abs=1e-12)
    bins = np.array(
        [
            np.histogram(y_score[groups == label], np.arange(11) / 10)[0]
            / (groups == label).sum()
            for label in labels
        ]
    )
    distances = cdist(bins, bins, "cityblock")
    assert madd(None, y_score, bandwidth=0.1, **options) == pytest.approx(
        distances.max(), abs=1e-12
    )
    means = np.array([y_score[groups == label].mean() for label in labels])
    assert demographic_parity_difference(None, y_score, **options) == pytest.approx(
        means.max() - means.min(), abs=1e-12
    )


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 16), st.integers(0, 6), st.integers(1, 3)),
        min_size=5,
        max_size=40,
    ),
    st.data(),
)
def test_pairs_of_many_small_groups(measured, numbers, entries, data):
    name = data.draw(st.sampled_from(sorted(numbers)))
    ticks, groups, weights = np.array(entries).T
    y_score, labels = ticks / 16, np.unique(groups)
    if len(labels) < 2:
        return
    value = measured(name, y_score, groups, sample_weight=weights)[0]
    expected = max(
        measured(name, y_score[own], groups[own], sample_weight=weights[own])[0]
        for own in (np.isin(groups, pair) for pair in combinations(labels, 2))
    )
    assert value == pytest.approx(expected, abs=1e-13)
