import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, multinomial, pearson3
from sklearn.metrics import average_precision_score

from skfair.model_selection._model_comparison import (
    OVERALL,
    Model,
    Place,
    changes_by_a_row,
    gap_interval,
    gap_test,
    holm,
    largest_gap_place,
    performance_test,
    random_parts,
    rate_gap_interval,
    subsets,
    worst_loss,
)

MULTIGROUP = st.sampled_from(["pairwise", "pooled"])


def moments_by_hand(values, weights, worst):
    """Moments of a mean with weights uniform on the simplex, after a row is added.

    They are those of a Dirichlet distribution, of as many rows as weights are worth.
    """
    n_rows = weights.sum() ** 2 / (weights**2).sum()
    every = np.append(values, worst)
    shares = np.append(weights / weights.sum() * n_rows, 1) / (n_rows + 1)
    mean = shares @ every
    variance = shares @ (every - mean) ** 2 / (n_rows + 2)
    third, added = (
        2 * parts / (n_rows + 2) / (n_rows + 3)
        for parts in (shares @ (every - mean) ** 3, (worst - mean) ** 3 * shares[-1])
    )
    return np.array([mean, variance, third, added])


def pvalue_by_hand(scores, baseline, place, codes, weights):
    """The largest p-value of a difference of gaps, one after the other."""
    below = np.where(baseline <= place[0], 1.0, 0.0)
    groups, pvalues = np.unique(codes), []
    sizes = {group: weights[codes == group].sum() for group in groups}

    def factor(group, pair):
        everyone = sizes[group] / weights.sum()
        high, low = (
            everyone if one == OVERALL else float(one == group) for one in pair
        )
        return high - low

    pairs = [(high, low) for high in groups for low in groups if high != low]
    if OVERALL in place:
        pairs = [pair for one in groups for pair in ((one, -1), (-1, one))]
    for threshold in np.unique(scores):
        for pair in pairs:
            parts = []
            for group in groups:
                rows, sign = codes == group, factor(group, pair)
                own = factor(group, place[1:])
                low = scores[rows] <= threshold
                values = sign * low - own * below[rows]
                worst = max(sign * a - own * b for a in (0, 1) for b in (0, 1))
                parts.append(moments_by_hand(values, weights[rows], worst))
            mean, variance, third, added = np.sum(parts, axis=0)
            skewness = max(third, added) / variance**1.5
            pvalues.append(pearson3(skewness).sf(-mean / np.sqrt(variance)))
    return max(pvalues)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(2, 4), st.booleans(), MULTIGROUP)
def test_the_gap_test_is_its_definition(seed, n_groups, weighted, multigroup):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
    scores, baseline = rng.integers(0, 8, (2, len(codes))) / 8
    weights = rng.integers(1, 4, len(codes)) * 1.0 if weighted else np.ones(len(codes))
    place = largest_gap_place(baseline, codes, weights, multigroup)
    assert (OVERALL in place) == (multigroup == "pooled")
    args = scores, baseline, place, codes, weights
    _, pvalue = gap_test(*args, 0.9)
    assert pvalue == pytest.approx(pvalue_by_hand(*args), abs=0.02)
    # The bound at a level and the p-value decide alike.
    for level in (0.5, 0.9, 0.99):
        assert (gap_test(*args, level)[0] <= 0) == (pvalue <= 1 - level)


@pytest.mark.slow
@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (0.3, 0.3), (0.1, 0.3)])
def test_intervals_of_differences_of_gaps_keep_their_level(first, second, multigroup):
    """Also where there is no gap; a group of two has half its gap to everyone."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(100):
        codes = rng.integers(0, 2, 600)
        merit = rng.random(600)
        one, other = (merit + shift * (codes == 1) for shift in (first, second))
        found = gap_interval(other, one, codes, np.ones(600), 0.9, multigroup)
        # Scores are uniform, so that a shift is a gap.
        truth = (second - first) / (2 if multigroup == "pooled" else 1)
        missed += not found[0] <= truth <= found[1]
    assert missed <= 16  # 10 are expected at most; so many by chance in one of 50


def bound_by_hand(own, other, codes, weights, tail):
    """Largest over pairs of the least bound beside pairs that may be the largest.

    Pairs are those of groups of one stratum, which is the tens of a code.
    """
    groups = np.unique(codes)
    pairs = [(a, b) for a in groups for b in groups if a != b and a // 10 == b // 10]

    def bound(ours, pair, theirs, beside, level):
        parts = []
        for group in groups:
            rows = codes == group
            factor, less = (
                (group == x[0]) * 1.0 - (group == x[1]) for x in (pair, beside)
            )
            values = factor * (ours[rows] == 0) - less * (theirs[rows] == 0)
            worst = max(factor * a - less * b for a in (0, 1) for b in (0, 1))
            parts.append(moments_by_hand(values, weights[rows], worst))
        mean, variance, third, added = np.sum(parts, axis=0)
        skewness = max(third, added) / variance**1.5
        return mean + np.sqrt(variance) * pearson3(skewness).ppf(level)

    rates = {
        g: np.average(other[codes == g], weights=weights[codes == g]) for g in groups
    }
    # Those of the lower rate have the larger share of zeros.
    largest = max(pairs, key=lambda pair: rates[pair[1]] - rates[pair[0]])
    far = 0.05 * tail
    near = [q for q in pairs if bound(other, q, other, largest, 1 - far) >= 0]
    level = 1 - (tail - far) / len(near)
    return max(min(bound(own, p, other, q, level) for q in near) for p in pairs)


@pytest.mark.parametrize(
    ("n_groups", "weighted", "n_strata"), [(2, False, 1), (3, True, 1), (2, False, 2)]
)
def test_the_interval_of_a_change_of_rates_is_its_definition(
    n_groups, weighted, n_strata
):
    rng = np.random.default_rng(n_groups)
    codes = rng.integers(0, n_groups, 150)
    rates = np.array([0.8, 0.4, 0.45])[codes]
    old = (rng.random(150) < rates).astype(float)
    new = np.where(rng.random(150) < 0.7, old, rng.random(150) < 0.5)
    weights = rng.integers(1, 4, 150) * 1.0 if weighted else np.ones(150)
    strata = rng.integers(0, n_strata, 150)
    low, high = rate_gap_interval(new, old, codes, weights, 0.9, strata)
    args = codes + 10 * strata, weights, 0.05
    assert high == pytest.approx(bound_by_hand(new, old, *args), abs=0.005)
    assert low == pytest.approx(-bound_by_hand(old, new, *args), abs=0.005)


def test_a_model_changes_nothing_beside_itself():
    """Also where all or none of the rows are selected."""
    codes = np.repeat([0, 1], 300)
    some = (np.arange(600) % 3 == 0).astype(float)
    for values in (some, np.zeros(600), np.ones(600)):
        low, high = rate_gap_interval(values, values, codes, np.ones(600), 0.95)
        assert -0.05 < low <= 0 <= high < 0.05


CHANGES = {
    "no gap, unequal groups": ([600, 40], [0.4, 0.4], [0.4, 0.4]),
    "to no gap": ([300, 300], [0.4, 0.3], [0.35, 0.35]),
    "beside seven rows": ([1000, 7], [0.5, 0.3], [0.5, 0.4]),
    "rare": ([800, 300], [0.02, 0.05], [0.02, 0.03]),
    "ties": ([300, 300, 300], [0.5, 0.3, 0.3], [0.45, 0.35, 0.35]),
    "other groups": ([300, 300, 300], [0.4, 0.3, 0.35], [0.3, 0.4, 0.35]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CHANGES)
def test_intervals_of_changes_of_rates_keep_their_level_and_are_narrower(case):
    sizes, before, after = CHANGES[case]
    codes, rng = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(0)
    truth, missed, widths = np.ptp(after) - np.ptp(before), 0, []
    for i in range(400):
        first, second = rng.random((2, len(codes)))
        second = np.where(rng.random(len(codes)) < 0.7, first, second)
        old, new = (
            (draws < np.array(rates)[codes]).astype(float)
            for draws, rates in ((first, before), (second, after))
        )
        args = new, old, codes, np.ones(len(codes)), 0.95
        low, high = rate_gap_interval(*args)
        missed += not low - 1e-9 <= truth <= high + 1e-9
        if i < 50:
            of_place = gap_interval(*args)
            widths.append([high - low, of_place[1] - of_place[0]])
    assert missed <= 31  # 20 are expected at most; so many by chance in one of 100
    assert np.less(*np.mean(widths, axis=0))


def test_the_error_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=3000)
    parts = random_parts(np.zeros(3000, int))
    means = np.array([values[rows].mean() for rows in subsets(parts)])
    bound, _ = performance_test(means, np.zeros_like(means), 0.0, 0.0, 0.95)
    error = (means[0] - bound) / 1.699
    assert error == pytest.approx(1 / np.sqrt(3000), rel=0.3)


def test_performances_without_noise():
    same = np.ones(31)
    # One more row may differ: of n rows that agree, as many losses as Poisson's 0.
    _, pvalue = performance_test(same, same, 0.001, 0.003, 0.95)
    assert pvalue == pytest.approx(np.exp(-3), rel=0.05)
    assert performance_test(same, same, 0.001, 0.0, 0.95)[1] > 0.5
    # Without a row that would lower it nothing is known.
    assert performance_test(same, same, 0.0, 0.1, 0.95) == (-np.inf, 1)
    assert performance_test(same[:4], same[:4], 0.001, 0.1, 0.95) == (-np.inf, 1)
    assert np.isnan(performance_test(same * np.nan, same, 0.1, 0.1, 0.95)[1])


def accuracy_test(n_rows, n_lost, n_gained, margin, rng):
    """P-value of an accuracy that lost and gained some rows, at random places."""
    changes = np.repeat([-1, 1, 0], [n_lost, n_gained, n_rows - n_lost - n_gained])
    parts = np.array_split(rng.permutation(changes), min(30, n_rows))
    sums, sizes = np.array([(part.sum(), len(part)) for part in parts]).T
    values = np.append(changes.mean(), (changes.sum() - sums) / (n_rows - sizes))
    worst = (1 + changes.mean()) / (n_rows + 1)
    return performance_test(values, np.zeros(len(values)), worst, margin, 0.95)[1]


@pytest.mark.parametrize(
    ("n_rows", "margin"),
    [
        pytest.param(30, 0.02, marks=pytest.mark.slow),
        (100, 0.02),
        pytest.param(1000, 0.0028, marks=pytest.mark.slow),
        pytest.param(5000, 0.001, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("gained", [0, 0.5])
def test_an_accuracy_at_the_margin_is_rarely_called_as_good(n_rows, margin, gained):
    """By enumeration of the rows that two models answer differently."""
    rng, gain = np.random.default_rng(0), gained / n_rows
    levels = np.zeros(2)
    for n_lost in range(16):
        for n_gained in range(6 if gained else 1):
            counts = n_lost, n_gained, n_rows - n_lost - n_gained
            shares = margin + gain, gain, 1 - margin - 2 * gain
            pvalue = accuracy_test(n_rows, n_lost, n_gained, margin, rng)
            chance = multinomial.pmf(counts, n_rows, shares)
            levels += chance * (pvalue <= np.array([0.05, 0.01]))
    assert (levels <= [0.05, 0.01]).all()


@pytest.mark.parametrize("expected", [1.0, 2.4, 3.4, 5.3])
def test_decisions_that_rarely_differ_in_a_small_group_are_rarely_called_fairer(
    expected,
):
    """By enumeration of the decisions that differ in a group of 30 rows.

    In the large group the gap falls by exactly as much as it grows in the small one.
    """
    n_small, share = 30, expected / 30
    large, small = np.arange(3000), np.arange(n_small)
    codes = np.repeat([0, 1], [3000, n_small])
    baseline = np.concatenate([large < 300, small < 15]) * 1.0
    levels = np.zeros(2)
    for n_changed in range(n_small - 14):
        fewer = np.concatenate([large < 300 + 3000 * share, small < 15 + n_changed])
        args = Place(0.0, 0, 1), codes, np.ones(len(codes)), 0.95
        pvalue = gap_test(fewer * 1.0, baseline, *args)[1]
        chance = binom.pmf(n_changed, n_small, share)
        levels += chance * (pvalue <= np.array([0.05, 0.01]))
    assert (levels <= [0.05, 0.01]).all()


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
    for _ in range(400):
        ranks = rng.random(len(group))
        others = np.where(rng.random(len(group)) < 0.5, ranks, rng.random(len(group)))
        old, new = baseline(0.4, group, ranks, rng), peaked(0.4, group, others, rng)
        finding = rng.random(len(group)) < 0.25
        finding[[0, -1]] = True
        place = largest_gap_place(old[finding], group[finding], one_each[finding])
        kept = ~finding
        rows = group[kept], one_each[kept]
        rejected += gap_test(new[kept], old[kept], place, *rows, 0.95)[1] <= 0.05
    assert rejected <= 30  # 99 of 100 times, if the level is .05


def loss_of(model, baseline, y, weights):
    """The most that another row may lower a performance."""
    args = y, weights, np.arange(len(y))
    changes = (changes_by_a_row(each, *args) for each in (model, baseline))
    return worst_loss(*changes).item()


def test_the_worst_row_is_one_that_the_baseline_answers_best():
    y, scores = np.array([0, 0, 1, 1]), np.array([0.0, 1, 1, 1])
    model = Model(
        lambda labelled, rows: (scores[rows] == y[labelled]).mean(), scores, scores
    )
    assert loss_of(model, model, y, np.ones(4)) == pytest.approx(1 / 5)
    # Without another response no row is worse than another.
    alike = Model(lambda labelled, _: y[labelled].mean(), np.ones(4), np.ones(4))
    assert loss_of(alike, alike, y, np.ones(4)) == 0


def test_the_unit_of_weights_does_not_count_in_the_worst_row():
    rng = np.random.default_rng(0)
    y, weights = rng.integers(0, 2, 50), rng.integers(1, 4, 50) * 1.0
    scores = y + rng.normal(size=50)

    def precision(labelled, rows):
        given = {"sample_weight": weights[labelled]}
        return average_precision_score(y[labelled], scores[rows], **given)

    model = Model(precision, scores, scores)
    losses = [loss_of(model, model, y, weights * unit) for unit in (1, 1e-9)]
    assert losses[0] == pytest.approx(losses[1])
    assert 0.03 < losses[0] < 0.2
