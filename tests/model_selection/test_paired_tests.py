import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm

from skfair.model_selection._paired_tests import (
    EVERYONE,
    Place,
    gap_interval,
    gap_test,
    holm,
    largest_gap_place,
    performance_test,
    random_parts,
    subsets,
)

MULTIGROUP = st.sampled_from(["pairwise", "pooled"])


def z_by_hand(scores, baseline, place, codes, weights):
    """The largest ratio of a difference of gaps to its error, one after the other."""
    below = np.where(baseline <= place.threshold, 1.0, 0.0)
    groups, found = np.unique(codes), []
    shares = np.array([weights[codes == one].sum() for one in codes]) / weights.sum()

    def factor(group):
        return shares if group == EVERYONE else (codes == group) * 1.0

    own = factor(place.high) - factor(place.low)
    pairs = [(high, low) for high in groups for low in groups if high != low]
    if EVERYONE in place:
        pairs = [pair for one in groups for pair in ((one, -1), (-1, one))]
    for threshold in np.unique(scores):
        for high, low in pairs:
            if high != low:
                sign = factor(high) - factor(low)
                differences = sign * (scores <= threshold) - own * below
                mean = variance = 0.0
                for group in groups:
                    rows = codes == group
                    values, w = differences[rows], weights[rows]
                    n = w.sum() ** 2 / (w**2).sum()
                    first, second = (np.average(values**p, weights=w) for p in (1, 2))
                    mean += first
                    first, second = n * first / (n + 2), (n * second + 2) / (n + 2)
                    variance += (second - first**2) / n
                found.append(mean / np.sqrt(variance))
    return max(found)


@given(st.integers(0, 10_000), st.integers(2, 4), st.booleans(), MULTIGROUP)
def test_the_gap_test_is_its_definition(seed, n_groups, weighted, multigroup):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
    scores, baseline = rng.integers(0, 8, (2, len(codes))) / 8
    weights = rng.integers(1, 4, len(codes)) * 1.0 if weighted else np.ones(len(codes))
    place = largest_gap_place(baseline, codes, weights, multigroup)
    assert (EVERYONE in place) == (multigroup == "pooled")
    args = scores, baseline, place, codes, weights
    found = gap_test(*args, 0.9)
    assert found.pvalue == pytest.approx(norm.cdf(z_by_hand(*args)))
    # The bound at a level and the p-value decide alike.
    for level in (0.5, 0.9, 0.99):
        assert (gap_test(*args, level).bound <= 0) == (found.pvalue <= 1 - level)


@given(st.integers(0, 10_000), st.integers(2, 4))
def test_the_place_is_where_the_gap_is_largest(seed, n_groups):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
    scores = rng.integers(0, 8, len(codes)) / 8

    def share(group, threshold):
        return (scores[codes == group] <= threshold).mean()

    largest = max(
        abs(share(i, t) - (scores <= t).mean()) for t in scores for i in range(n_groups)
    )
    place = largest_gap_place(scores, codes, np.ones(len(codes)), "pooled")
    everyone = (scores <= place.threshold).mean()
    high, low = (
        everyone if one == EVERYONE else share(one, place.threshold)
        for one in place[1:]
    )
    assert high - low == pytest.approx(largest)
    largest = max(
        share(i, t) - share(j, t)
        for t in scores
        for i in range(n_groups)
        for j in range(n_groups)
    )
    threshold, high, low = largest_gap_place(scores, codes, np.ones(len(codes)))
    assert share(high, threshold) - share(low, threshold) == pytest.approx(largest)


def test_a_model_beside_itself_is_not_lower():
    codes = np.repeat([0, 1], 50)
    scores = np.linspace(0, 1, 100)
    found = gap_test(scores, scores, Place(0.25, 0, 1), codes, np.ones(100), 0.95)
    assert found.pvalue >= 0.5
    assert found.bound > 0


@pytest.mark.slow
@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (0.3, 0.3), (0.1, 0.3)])
def test_intervals_of_differences_of_gaps_keep_their_level(first, second, multigroup):
    """Also where there is no gap; a group of two has half its gap to everyone."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(200):
        codes = rng.integers(0, 2, 600)
        merit = rng.random(600)
        one, other = (merit + shift * (codes == 1) for shift in (first, second))
        found = gap_interval(other, one, codes, np.ones(600), 0.9, multigroup)
        # Scores are uniform, so that a shift is a gap.
        truth = (second - first) / (2 if multigroup == "pooled" else 1)
        missed += not found[0] <= truth <= found[1]
    assert missed <= 29  # 20 are expected at most; so many by chance in one of 50


def test_parts_are_disjoint_and_have_their_share_of_each_cell():
    cells = np.repeat([0, 1], [60, 30])
    parts = random_parts(cells, 10)
    assert np.sort(np.concatenate(parts)).tolist() == list(range(90))
    assert all((cells[part] == 1).sum() == 3 for part in parts)


def test_the_error_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=3000)
    parts = random_parts(np.zeros(3000, int))
    means = np.array([values[rows].mean() for rows in subsets(parts)])
    found = performance_test(means, np.zeros_like(means), 0.0, 0.95)
    error = (means[0] - found.bound) / 1.699
    assert error == pytest.approx(1 / np.sqrt(3000), rel=0.3)


def test_performances_without_noise():
    same = np.ones(31)
    assert performance_test(same, same, 0.01, 0.95).pvalue == 0
    assert performance_test(same, same, 0.0, 0.95).pvalue == 1
    assert np.isnan(performance_test(same * np.nan, same, 0.1, 0.95).pvalue)


def test_holm():
    adjusted = holm(np.array([0.04, 0.01, np.nan, 0.03]))
    assert_allclose(adjusted, [0.09, 0.04, 1, 0.09])
    assert holm(np.array([])).tolist() == []


def flat(gap, group, ranks, rng):
    """Scores with the same gap from .1 to .9."""
    ends = np.where(group == 0, 0.1, 1.0) - 0.1 * rng.random(len(group))
    return np.where(ranks < gap, ends, 0.1 + 0.8 * (ranks - gap) / (1 - gap))


def peaked(gap, group, ranks, rng):
    """Scores with the gap at .5 alone."""
    near = np.where(group == 0, 0.5, 0.51) - 0.01 * rng.random(len(group))
    return np.where(ranks < gap, near, rng.random(len(group)))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(400, 400), (30, 600)])
@pytest.mark.parametrize("baseline", [flat, peaked])
@pytest.mark.promise("An equal gap is called lower in at most 5 % of samples")
def test_equal_gaps_are_rarely_called_lower(sizes, baseline):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], sizes)
    one_each, rejected = np.ones(len(group)), 0
    for _ in range(1000):
        ranks = rng.random(len(group))
        others = np.where(rng.random(len(group)) < 0.5, ranks, rng.random(len(group)))
        old, new = baseline(0.4, group, ranks, rng), peaked(0.4, group, others, rng)
        finding = rng.random(len(group)) < 0.25
        finding[[0, -1]] = True
        place = largest_gap_place(old[finding], group[finding], one_each[finding])
        kept = ~finding
        rows = group[kept], one_each[kept]
        rejected += gap_test(new[kept], old[kept], place, *rows, 0.95).pvalue <= 0.05
    assert rejected <= 66  # 99 of 100 times, if the level is .05


def average_precision(y, scores):
    """Average precision where no scores are equal, faster than scikit-learn's."""
    hits = y[np.argsort(-scores)]
    return (hits * np.cumsum(hits) / np.arange(1, len(y) + 1)).sum() / hits.sum()


@pytest.mark.slow
def test_lower_performances_at_the_margin_are_rarely_called_as_good():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [500, 100])
    # Two models as good as each other, and the baseline raised by the margin.
    rejected, each = 0, subsets(random_parts(y))
    for _ in range(500):
        values = [
            np.array([average_precision(y[rows], scores[rows]) for rows in each])
            for scores in y + rng.normal(size=(2, 600))
        ]
        test = performance_test(values[0], values[1] + 0.05, 0.05, 0.95)
        rejected += test.pvalue <= 0.05
    assert rejected <= 37  # 99 of 100 times, if the level is .05
