from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score

from skfair.groups import encode_groups
from skfair.metrics import (
    bootstrap_interval,
    continuous_mcdp,
    continuous_mcdp_cuts,
    get_fairness_scorer,
    mcdp,
    permutation_test,
)
from skfair.metrics._distribution import _continuous_mcdp
from skfair.model_selection import cross_val_fairness
from skfair.statistics import GroupedScores

COLUMNS = ["cut", "n_at_most", "n_above", "value"]


def brute_force(y_score, attribute, min_share, epsilon=0.0, weights=None):
    """Cut points that leave enough on both sides, and mcdp at each."""
    weights = np.ones(len(y_score)) if weights is None else weights
    cuts, values = [], []
    for cut in np.unique(attribute[weights > 0]):
        above = attribute > cut
        smaller = min(weights[above].sum(), weights[~above].sum())
        if smaller > 0 and smaller >= min_share * weights.sum() - 1e-9:
            cuts.append(cut)
            given = {"sensitive_features": above[weights > 0]}
            given["sample_weight"] = weights[weights > 0]
            values.append(mcdp(None, y_score[weights > 0], epsilon=epsilon, **given))
    return np.array(cuts), np.array(values)


def draw(rng):
    """Scores with ties, and an attribute with few or many values."""
    n_rows = rng.integers(4, 40)
    n_values = rng.choice([2, 5, 50])
    attribute = rng.integers(0, n_values, n_rows) * rng.choice([1, -0.5])
    y_score = np.clip(rng.random(n_rows) + 0.1 * attribute, 0, 1)
    return y_score.round(rng.choice([1, 2, 8])), attribute


def check_against_brute_force(rng):
    y_score, attribute = draw(rng)
    weights = [None, rng.integers(0, 3, len(y_score)), rng.random(len(y_score))]
    weights = weights[rng.integers(3)]
    options = {
        "epsilon": rng.choice([0, 0, 0.05]),
        "min_share": rng.choice([0, 0.05, 0.3]),
    }
    cuts, values = brute_force(y_score, attribute, weights=weights, **options)
    if not len(cuts):
        return
    given = {"sensitive_features": attribute, "sample_weight": weights, **options}
    value = continuous_mcdp(None, y_score, **given)
    assert value == pytest.approx(values.max(), abs=1e-12)
    found = continuous_mcdp_cuts(None, y_score, **given)
    assert found.value == value
    np.testing.assert_array_equal(found.cuts, cuts)
    np.testing.assert_allclose(found.values, values, rtol=0, atol=1e-12)
    at = np.searchsorted(cuts, found.cut)
    assert found.values[at] == value
    assert (found.values[:at] < value + 1e-12).all()


def test_equals_brute_force():
    for seed in range(50):
        check_against_brute_force(np.random.default_rng(seed))


@pytest.mark.slow
def test_equals_brute_force_in_many_cases():
    for seed in range(1_000, 11_000):
        check_against_brute_force(np.random.default_rng(seed))


def test_most_cut_points_are_not_evaluated(monkeypatch):
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 3_000)
    y_score = rng.beta(2 + (age > 60), 3)
    n_evaluated, gap_at = 0, _continuous_mcdp._gap_at

    def counted(*arguments):
        nonlocal n_evaluated
        n_evaluated += 1
        return gap_at(*arguments)

    monkeypatch.setattr(_continuous_mcdp, "_gap_at", counted)
    value = continuous_mcdp(None, y_score, sensitive_features=age)
    assert n_evaluated < 250
    sparse = [
        mcdp(None, y_score, sensitive_features=age > cut)
        for cut in np.sort(age)[150:-151:10]
    ]
    assert max(sparse) <= value < max(sparse) + 0.01


def test_place_of_the_gap():
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, 2_000)
    y_score = np.where(age > 60, 0.5 * rng.random(2_000), rng.random(2_000))
    result = continuous_mcdp_cuts(None, y_score, sensitive_features=age)
    assert abs(result.cut - 60) <= 1
    old = age > result.cut
    assert (result.n_at_most, result.n_above) == (np.sum(~old), np.sum(old))
    below = y_score <= result.score
    gap = below[old].mean() - below[~old].mean()
    assert gap == pytest.approx(result.value)
    frame = result.to_frame()
    assert frame.columns.tolist() == COLUMNS
    assert (frame["n_at_most"] + frame["n_above"] == 2_000).all()
    assert frame["n_at_most"].tolist() == [np.sum(age <= cut) for cut in frame["cut"]]


def test_many_cut_points_are_listed_in_part():
    rng = np.random.default_rng(2)
    age, y_score = rng.random(900), rng.random(900)
    result = continuous_mcdp_cuts(None, y_score, sensitive_features=age)
    assert 150 < len(result.cuts) <= 201
    assert (np.diff(result.cuts) > 0).all()
    assert result.values.max() == result.value
    assert result.cut in result.cuts


def test_two_values_are_two_groups():
    rng = np.random.default_rng(3)
    y_score, sex = rng.random(200), rng.integers(0, 2, 200)
    expected = mcdp(None, y_score, sensitive_features=sex, epsilon=0.02)
    for column in (sex, sex.astype(bool), -1.5 * sex):
        value = continuous_mcdp(None, y_score, sensitive_features=column, epsilon=0.02)
        assert value == expected


def test_monotone_transformations_do_not_matter():
    rng = np.random.default_rng(4)
    y_score, age = rng.random(200), rng.integers(1, 60, 200)
    expected = continuous_mcdp(None, y_score, sensitive_features=age)
    for column in (np.log(age), -age, age**3, pd.Series(age), pl.Series(age)):
        value = continuous_mcdp(None, y_score, sensitive_features=column)
        assert value == pytest.approx(expected, abs=1e-15)


def test_groups_may_list_values_in_any_order_and_without_rows():
    rng = np.random.default_rng(5)
    y_score, age = rng.random(100), rng.choice([20, 30, 40], 100)
    expected = continuous_mcdp(None, y_score, sensitive_features=age)
    groups = encode_groups(age, labels=[40, 25, 20, 30])
    assert continuous_mcdp(None, y_score, sensitive_features=groups) == expected
    statistic = GroupedScores.from_scores(y_score, sensitive_features=age)
    assert continuous_mcdp(None, statistic) == expected
    part = continuous_mcdp(None, y_score[age < 40], sensitive_features=age[age < 40])
    subset = groups[age < 40]
    value = continuous_mcdp(None, y_score[age < 40], sensitive_features=subset)
    assert value == part


def test_values_of_weight_zero_only_are_no_values():
    y_score, age = np.linspace(0, 1, 6), [1, 2, 3, 4, 5, 6]
    value = continuous_mcdp(
        None, y_score, sensitive_features=age, sample_weight=[1, 1, 1, 0, 0, 1]
    )
    kept = [0, 1, 2, 5]
    assert value == continuous_mcdp(
        None, y_score[kept], sensitive_features=[1, 2, 3, 6]
    )


@pytest.mark.parametrize("multistratum", ["max", "weighted"])
def test_values_of_weight_zero_only_within_strata(multistratum):
    rng = np.random.default_rng(0)
    age, dept = rng.integers(20, 30, 300), rng.integers(0, 3, 300)
    y_score, weights = rng.random(300), rng.integers(0, 3, 300)
    weights[age == 23] = 0
    of_strata = [
        continuous_mcdp(
            None,
            y_score[dept == one],
            sensitive_features=age[dept == one],
            sample_weight=weights[dept == one],
        )
        for one in range(3)
    ]
    totals = np.bincount(dept, weights)
    value = continuous_mcdp(
        None,
        y_score,
        sensitive_features=age,
        control_features=dept,
        sample_weight=weights,
        multistratum=multistratum,
    )
    expected = max(of_strata)
    if multistratum == "weighted":
        expected = np.average(of_strata, weights=totals)
    assert value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (["young", "old"] * 3, "'old'"),
        ([1.0, np.inf] * 3, "inf"),
        ([[1, 2]] * 6, r"\(1, 2\)"),
        (pd.date_range("2020-01-01", periods=6), "datetime.date"),
    ],
    ids=["text", "infinite", "two columns", "dates"],
)
def test_what_is_no_number(column, shown):
    match = f"sensitive_features must be one column of finite numbers.*{shown}"
    with pytest.raises(ValueError, match=match):
        continuous_mcdp(None, np.linspace(0, 1, 6), sensitive_features=column)


@pytest.mark.parametrize("min_share", [-0.1, 0.6, np.nan, "a", None])
def test_least_share_out_of_range(min_share):
    given = {"sensitive_features": [1, 2], "min_share": min_share}
    with pytest.raises(ValueError, match=r"min_share must be a number in \[0, 0.5\]"):
        continuous_mcdp(None, [0.2, 0.4], **given)


def test_missing_values_may_be_left_out():
    age = [20, 30, None, 40, 50, None]
    y_score = np.array([0.1, 0.6, 0.9, 0.4, 0.8, 0.2])
    groups = encode_groups(age, missing="drop")
    value = continuous_mcdp(None, y_score, sensitive_features=groups)
    known = [0, 1, 3, 4]
    expected = continuous_mcdp(
        None, y_score[known], sensitive_features=[20, 30, 40, 50]
    )
    assert value == expected


def test_missing_values_of_the_attribute():
    with pytest.raises(ValueError, match="sensitive_features has 1 missing values"):
        continuous_mcdp(None, [0.2, 0.4, 0.6], sensitive_features=[1, np.nan, 3])


@pytest.mark.parametrize("function", [continuous_mcdp, continuous_mcdp_cuts])
@pytest.mark.parametrize(
    ("attribute", "match"),
    [
        ([3, 3, 3, 3], r"at least two values, got only \[3\]"),
        ([1, 2, 2, 2], "no cut point leaves a share of 0.3 and 1 rows on both sides"),
        (encode_groups([1, 1, 2, 2], min_group_size=3), "0.3 and 3 rows"),
    ],
    ids=["one value", "share", "rows"],
)
def test_undefined(function, attribute, match):
    with pytest.warns(UndefinedMetricWarning, match=match) as caught:
        result = function(
            None, [0.1, 0.2, 0.3, 0.4], sensitive_features=attribute, min_share=0.3
        )
    assert caught[0].filename == __file__
    if function is continuous_mcdp_cuts:
        assert len(result.to_frame()) == 0
        result = result.value
    assert np.isnan(result)


def test_scorer():
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"age": rng.integers(18, 80, 400), "x": rng.normal(size=400)})
    y = (X["x"] + X["age"] / 40 + rng.normal(size=400) > 1.2).astype(int)
    scorer = get_fairness_scorer(
        "neg_continuous_mcdp", sensitive_features="age", min_share=0.2
    )
    scores = cross_val_score(
        LogisticRegression(), X, y, scoring=scorer, cv=3, error_score="raise"
    )
    assert (scores < 0).all()


@pytest.mark.slow
def test_bootstrap_draws_from_all_rows():
    rng = np.random.default_rng(8)
    age = rng.uniform(18, 80, 200)  # each value once
    X, y = age[:, np.newaxis], (age + rng.normal(0, 20, 200) > 50).astype(int)
    y_score = np.clip(age / 100 + 0.2 * rng.random(200), 0, 1)
    options = {"n_resamples": 19, "random_state": 0}
    metric = partial(continuous_mcdp, min_share=0.2)
    interval = bootstrap_interval(
        metric, None, y_score, sensitive_features=age, **options
    )
    assert interval.lower < interval.upper
    result = cross_val_fairness(
        metric,
        LogisticRegression(),
        X,
        y,
        sensitive_features=age,
        cv=KFold(3),
        n_permutations=2,
        **options,
    )
    assert result.lower < result.upper


def test_permutation_pays_for_the_search():
    rng = np.random.default_rng(7)
    y_score, age = rng.random(200), rng.uniform(18, 80, 200)
    options = {"n_permutations": 19, "random_state": 0}
    searched = permutation_test(
        continuous_mcdp, None, y_score, sensitive_features=age, **options
    )
    cut = continuous_mcdp_cuts(None, y_score, sensitive_features=age).cut
    chosen = permutation_test(
        mcdp, None, y_score, sensitive_features=age > cut, **options
    )
    assert searched.value == chosen.value
    assert searched.null_mean > chosen.null_mean + 0.02
    assert searched.pvalue > chosen.pvalue
    moved = np.clip(y_score + 0.3 * (age > 50), 0, 1)
    found = permutation_test(
        partial(continuous_mcdp, min_share=0.2),
        None,
        moved,
        sensitive_features=age,
        **options,
    )
    assert found.pvalue == pytest.approx(1 / 20)


@pytest.mark.slow
def test_level_of_the_permutation_test():
    metric = partial(continuous_mcdp, min_share=0.1)
    rejected = 0
    for seed in range(1_000):
        rng = np.random.default_rng(seed)
        y_score, age = rng.random(120), rng.integers(18, 80, 120)
        result = permutation_test(
            metric,
            None,
            y_score,
            sensitive_features=age,
            n_permutations=19,
            random_state=seed,
        )
        rejected += result.pvalue <= 0.05
    assert 35 <= rejected <= 65


@pytest.mark.parametrize("seed", range(20))
def test_weights_of_very_different_sizes(seed):
    """A side of small weight is added up by itself, not what is left of all weight."""
    rng = np.random.default_rng(seed)
    y_score, age = rng.random(10).round(1), np.append(rng.permutation(5), range(5))
    weights = 10.0 ** rng.uniform(-8, 8, 10)
    value = continuous_mcdp(
        None, y_score, sensitive_features=age, sample_weight=weights, min_share=0
    )
    at_cuts = [
        mcdp(None, y_score, sensitive_features=age <= cut, sample_weight=weights)
        for cut in range(4)
    ]
    assert value == pytest.approx(max(at_cuts), abs=1e-12)
