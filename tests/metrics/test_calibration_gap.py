"""Calibration gap and error, against the definition by brute force, and their tests."""

from functools import partial, wraps

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.metrics import (
    bootstrap_interval,
    calibration_gap,
    mcdp,
    metric_bounds,
    permutation_test,
    values_by_class,
)
from skfair.model_selection import cross_val_fairness
from skfair.statistics import CountTable


def brute_force(y_true, y_score, groups, weights):
    """Gap of pairs, and gap to everyone."""
    labels = np.unique(groups)
    thresholds = np.concatenate([[-1], np.unique(y_score)])
    below = y_score[:, np.newaxis] <= thresholds
    terms = (weights * (y_true - y_score))[:, np.newaxis] * below
    curves = np.array(
        [terms[groups == g].sum(axis=0) / weights[groups == g].sum() for g in labels]
    )
    shares = np.array([weights[groups == g].sum() for g in labels]) / weights.sum()
    return {
        "pairwise": np.ptp(curves, axis=0).max(),
        "pooled": np.abs(curves - shares @ curves).max(),
    }


def draw_sample(rng):
    """Labels, scores with ties, groups, and weights of a few rows."""
    n_groups = rng.integers(2, 7)
    more = rng.integers(0, n_groups, rng.integers(0, 31))
    groups = np.append(np.arange(n_groups), more)
    n_rows = len(groups)
    kinds = np.ones(n_rows), rng.integers(1, 4, n_rows), rng.random(n_rows) + 0.01
    y_score = rng.random(n_rows).round(rng.integers(0, 5))
    return rng.integers(0, 2, n_rows), y_score, groups, kinds[rng.integers(0, 3)]


def check(sample):
    y_true, y_score, groups, weights = sample
    expected = brute_force(*sample)
    rows = {"sensitive_features": groups, "sample_weight": weights}
    for name in ("pairwise", "pooled"):
        found = calibration_gap(y_true, y_score, multigroup=name, **rows)
        assert found == pytest.approx(expected[name], abs=1e-13)


@given(st.integers(0, 2**32))
@pytest.mark.promise("The calibration gap is its definition, by brute force")
def test_brute_force(seed):
    check(draw_sample(np.random.default_rng(seed)))


def check_bounds(sample, n_bins):
    """Bounds contain the values, are as narrow as stated, and exact with many bins."""
    y_true, y_score, groups, weights = sample
    expected = brute_force(*sample)
    statistic = CountTable.from_rows(
        y_true,
        y_score,
        sensitive_features=groups,
        sample_weight=weights,
        n_bins=n_bins,
    )
    widest = 2 / n_bins
    if n_bins < 2**52:
        codes = np.unique(groups, return_inverse=True)[1]
        bins = np.minimum((y_score * n_bins).astype(int), n_bins - 1)
        mass = np.zeros((codes.max() + 1, n_bins))
        np.add.at(mass, (codes, bins), weights)
        widest += (
            np.sort(mass / mass.sum(axis=1, keepdims=True), axis=0)[-2:]
            .sum(axis=0)
            .max()
        )
    for name, value in expected.items():
        found = metric_bounds(calibration_gap, statistic, multigroup=name)
        assert found.width <= widest + 1e-12
        assert found.lower - 1e-12 <= value <= found.upper + 1e-12
        if n_bins == 2**52:
            assert found.width < 1e-12


@given(st.integers(0, 2**32), st.sampled_from([1, 4, 64, 2**52]))
def test_bounds_of_binned_scores(seed, n_bins):
    check_bounds(draw_sample(np.random.default_rng(seed)), n_bins)


def test_bounds_are_reached():
    """Rows of one bin may be in an order that reaches either bound."""
    one = CountTable.from_rows(
        [1, 1, 0, 0], [0.0, 1.0, 0.0, 1.0], sensitive_features=list("aabb"), n_bins=1
    )
    assert metric_bounds(calibration_gap, one).lower == 0
    assert metric_bounds(calibration_gap, one).upper == 2


def test_what_has_bounds():
    rows = [0, 1, 1], [0.1, 0.2, 0.3]
    groups = {"sensitive_features": list("aab")}
    statistic = CountTable.from_rows(*rows, **groups, n_bins=64)
    histogram = CountTable.from_rows(None, rows[1], **groups, n_bins=64)
    with pytest.raises(ValueError, match="histogram must have true labels"):
        metric_bounds(calibration_gap, histogram)
    assert metric_bounds(mcdp, statistic) == metric_bounds(mcdp, histogram)
    other = metric_bounds(calibration_gap, statistic, pos_label=0)
    assert other != metric_bounds(calibration_gap, statistic, pos_label=1)
    with pytest.raises(ValueError, match="multigroup must be"):
        metric_bounds(calibration_gap, statistic, multigroup="all")
    with pytest.raises(TypeError, match="are known within bounds"):
        calibration_gap(None, statistic)
    small = CountTable.from_rows(
        *rows,
        sensitive_features=encode_groups(list("aab"), min_group_size=2),
        n_bins=64,
    )
    with pytest.warns(UndefinedMetricWarning, match="'b' has 1 row"):
        assert np.isnan(metric_bounds(calibration_gap, small).upper)


@pytest.mark.slow
def test_many_groups_in_blocks(monkeypatch):
    """Curves go on from block to block."""
    monkeypatch.setattr("skfair.metrics._calibration_gap._BLOCK", 40)
    rng = np.random.default_rng(0)
    groups = np.append(np.arange(12), rng.integers(0, 12, 400))
    y_score, y_true = rng.random(412).round(2), rng.integers(0, 2, 412)
    check((y_true, y_score, groups, np.ones(412)))
    check_bounds((y_true, y_score, groups, np.ones(412)), 64)
    check_bounds((y_true, y_score, groups, np.ones(412)), 2**52)


def test_labels_and_classes():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 90)
    classes, groups = rng.integers(0, 3, 90), np.arange(90) % 2
    options = {"sensitive_features": groups}
    by_class = values_by_class(calibration_gap, classes, scores, **options)
    binary = classes == 1
    value = calibration_gap(binary, scores[:, 1], **options)
    assert value == by_class[1]
    with pytest.raises(ValueError, match="y_score must have shape"):
        calibration_gap(classes, scores, **options)
    names = np.where(binary, "yes", "no")
    assert calibration_gap(names, scores[:, 1], pos_label="yes", **options) == value
    with pytest.raises(ValueError, match="pos_label"):
        calibration_gap(names, scores[:, 1], **options)
    with pytest.raises(ValueError, match="y_true must be a true label"):
        calibration_gap(None, scores[:, 1], **options)


def draw(rng, n_rows, power):
    """Outcomes of probability score**power in the second group, score**2 else."""
    groups = np.arange(n_rows) % 2
    scores = rng.beta(2 + groups, 3)
    probability = np.where(groups == 1, scores**power, scores**2)
    return rng.random(n_rows) < probability, scores, groups


@pytest.mark.slow
def test_tests_see_what_they_ask_for():
    rng = np.random.default_rng(0)
    equal, unequal = draw(rng, 1000, 2), draw(rng, 1000, 0.7)
    for (y_true, y_score, groups), differ in ((equal, False), (unequal, True)):
        rows = {"sensitive_features": groups, "random_state": 0}
        between = permutation_test(
            calibration_gap, y_true, y_score, n_permutations=99, **rows
        )
        assert (between.pvalue <= 0.01) == differ
    interval = bootstrap_interval(
        calibration_gap,
        *unequal[:2],
        sensitive_features=unequal[2],
        n_resamples=99,
        random_state=0,
    )
    assert interval.lower < interval.value < interval.upper


def test_groups_are_permuted_among_similar_scores():
    """Where each cell has one group, no permutation moves a group."""
    scores, groups = np.repeat([0.2, 0.8], 8), np.repeat(["a", "b"], 8)
    rows = {"sensitive_features": groups, "n_permutations": 9, "random_state": 0}
    with pytest.warns(UserWarning, match="for all 9 permutations"):
        result = permutation_test(calibration_gap, np.tile([0, 1], 8), scores, **rows)
    assert result.pvalue == 1
    assert np.ptp(result.null_distribution) == 0
    scores = np.random.default_rng(0).random(400)
    order, groups = np.argsort(scores), np.arange(400) % 2
    shuffled = permutations_of(scores, groups)[:, order].reshape(-1, 20, 20)
    own = groups[order].reshape(20, 20)
    assert (shuffled.sum(axis=2) == own.sum(axis=1)).all()
    assert ((shuffled != own).sum(axis=2) > 0).mean() > 0.99
    # A small group has half of the weight, and cells are narrow where its scores are.
    small = np.arange(400) < 4
    assert permutations_of(np.sort(scores), small)[:, :4].all()


def permutations_of(scores, groups):
    """Groups as the test of calibration permutes them."""
    seen = []

    @wraps(calibration_gap)
    def record(y_true, y_score, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    rows = {"sensitive_features": groups, "n_permutations": 20, "random_state": 0}
    permutation_test(record, np.zeros(len(scores)), scores, **rows)
    return np.array(seen[1:])


def test_cross_validation_needs_to_know_what_is_permuted():
    X, y, groups = np.arange(20)[:, np.newaxis], np.arange(20) % 2, np.arange(20) // 10
    with pytest.raises(ValueError, match="within must be None or an array"):
        cross_val_fairness(
            calibration_gap, LogisticRegression(), X, y, sensitive_features=groups
        )


@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_rows_have_the_gap_of_these_rows(multigroup, weighted):
    """Rows are sorted once; a resample only counts how often each is drawn."""
    rng = np.random.default_rng(0)
    groups = np.append([0, 1, 2], rng.integers(0, 3, 60))
    y_score, y_true = rng.random(63).round(1), rng.integers(0, 2, 63)
    rows = {"sensitive_features": groups, "n_resamples": 20, "random_state": 0}
    if weighted:
        rows["sample_weight"] = rng.integers(1, 4, 63)
    metric = partial(calibration_gap, multigroup=multigroup)

    def of_single_rows(y_true, y_score, **rows):
        return metric(y_true, y_score, **rows)

    found, expected = (
        bootstrap_interval(each, y_true, y_score, **rows)
        for each in (metric, of_single_rows)
    )
    assert found.distribution == pytest.approx(expected.distribution, abs=1e-12)


@pytest.mark.slow
@pytest.mark.promise("The test of calibration keeps its level with 50 to 500 rows")
def test_level():
    """The permutation test rejects 5 % of samples, up to three standard errors."""
    groups, n_rejected = np.repeat([0, 1], [50, 500]), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores, uniform = rng.beta(2 + 2 * groups, 4), rng.random(len(groups))
        result = permutation_test(
            calibration_gap,
            uniform < scores**2,
            scores,
            sensitive_features=groups,
            n_permutations=39,
            random_state=seed,
        )
        n_rejected += result.pvalue <= 0.05
    assert abs(n_rejected / 200 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 200)


def test_pooled_bounds_are_the_gap_where_scores_are_edges_of_bins():
    rng = np.random.default_rng(0)
    y_true, scores = rng.integers(0, 2, 40), rng.integers(0, 8, 40) / 8
    rows = {"sensitive_features": np.arange(40) % 3}
    statistic = CountTable.from_rows(y_true, scores, n_bins=8, **rows)
    bounds = metric_bounds(calibration_gap, statistic, multigroup="pooled")
    value = calibration_gap(y_true, scores, multigroup="pooled", **rows)
    assert (bounds.lower, bounds.upper) == pytest.approx((value, value), rel=1e-12)


def test_pooled_upper_bound_is_reached_where_one_bin_holds_everyone():
    """One group at the lower end of the bin and the other at the upper one."""
    y_true, groups = np.ones(8, dtype=int), np.repeat([0, 1], [2, 6])
    scores = [0, 1, 0, 0.2, 0.4, 0.6, 0.8, 1]  # both groups from 0 to 1
    statistic = CountTable.from_rows(
        y_true, scores, n_bins=1, sensitive_features=groups
    )
    bounds = metric_bounds(calibration_gap, statistic, multigroup="pooled")
    pooled = {"sensitive_features": groups, "multigroup": "pooled"}
    for ends in (groups, 1 - groups):
        assert bounds.upper == calibration_gap(y_true, ends, **pooled) == 0.75
