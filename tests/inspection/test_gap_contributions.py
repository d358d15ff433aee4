"""Contributions of features to the gap of a model."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.inspection import GapContributionsDisplay, gap_contributions
from skfair.metrics import demographic_parity_difference, mcdp


class Rule(ClassifierMixin, BaseEstimator):
    """Scores by a function of the columns; it counts the rows that it predicts."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        self.n_rows_ = 0
        return self

    def predict_proba(self, X):
        self.n_rows_ += len(X)
        score = 1 / (1 + np.exp(-self.function(np.asarray(X, dtype=float))))
        return np.column_stack([1 - score, score])


def planted(x):
    return x[:, 0] + x[:, 1] * (x[:, 2] > 0) + x[:, 3]


@pytest.fixture
def people():
    """Columns of 400 people, of which the first and the last differ between groups."""
    rng = np.random.default_rng(0)
    group = np.where(rng.random(400) < 0.4, "F", "M")
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    X["a"] += group == "M"
    X["d"] -= 0.3 * (group == "M")
    return X, group


def shapley(model, X, group, threshold, mean=False):
    """Shapley values by their definition, over all sets and all other rows."""
    table, n = X.to_numpy(), X.shape[1]
    signs = np.where(group == "M", 1 / np.sum(group == "M"), -1 / np.sum(group == "F"))
    value = {}
    for size in range(n + 1):
        for own in combinations(range(n), size):
            mixed = np.repeat(table[None], len(table), axis=0)
            mixed[:, :, own] = table[:, own][:, None]
            answer = model.predict_proba(mixed.reshape(-1, n))[:, 1]
            answer = answer if mean else answer > threshold
            value[own] = signs @ answer.reshape(len(table), -1).mean(axis=1)
    found = np.zeros(n)
    for own, before in value.items():
        for j in set(range(n)) - set(own):
            after = value[tuple(sorted((*own, j)))]
            found[j] += (after - before) / (n * comb(n - 1, len(own)))
    return found


def test_contributions_add_up_to_the_gaps(people):
    X, group = people
    model = Rule(planted).fit(X)
    result = gap_contributions(model, X, sensitive_features=group, random_state=0)
    score = model.predict_proba(X)[:, 1]
    gap = mcdp(None, score, sensitive_features=group)
    parity = demographic_parity_difference(None, score, sensitive_features=group)
    assert result.value == pytest.approx(gap, abs=1e-12)
    assert result.mean_difference == pytest.approx(parity, abs=1e-12)
    assert result.groups == ("M", "F")
    table = result.to_frame()
    assert table["decisions"].sum() == pytest.approx(gap, abs=1e-12)
    assert table["means"].sum() == pytest.approx(parity, abs=1e-12)
    assert table["decisions"].is_monotonic_decreasing
    above = pd.Series(score > result.threshold).groupby(group).mean()
    assert above["M"] - above["F"] == pytest.approx(gap, abs=1e-12)


def test_contributions_are_shapley_values(people):
    X, group = people
    X, group = X[:40], group[:40]
    model = Rule(planted).fit(X)
    result = gap_contributions(
        model, X, sensitive_features=group, n_permutations=300, random_state=0
    )
    table = result.table.loc[list("abcd")]
    exact = shapley(model, X, group, result.threshold)
    np.testing.assert_allclose(table["decisions"], exact, atol=0.02)
    exact = shapley(model, X, group, result.threshold, mean=True)
    np.testing.assert_allclose(table["means"], exact, atol=0.01)


def test_features_that_the_model_ignores_contribute_nothing(people):
    X, group = people
    model = Rule(lambda x: x[:, 0]).fit(X)
    table = gap_contributions(model, X, sensitive_features=group).table
    assert table.index[0] == "a"
    assert table.loc["a", "decisions"] == pytest.approx(
        mcdp(None, model.predict_proba(X)[:, 1], sensitive_features=group), abs=0.01
    )
    # The drawn rows of two groups differ by a row at most.
    np.testing.assert_allclose(table.loc[list("bcd"), "decisions"], 0, atol=0.002)


def test_grouped_features_share_one_contribution(people):
    X, group = people
    model = Rule(planted).fit(X)
    result = gap_contributions(
        model, X, sensitive_features=group, feature_groups={"pair": ["b", "c"]}
    )
    assert sorted(result.table.index) == ["a", "d", "pair"]
    assert result.table["decisions"].sum() == pytest.approx(result.value, abs=1e-12)
    alone = {"all": list("abcd")}
    model.n_rows_ = 0
    result = gap_contributions(model, X, sensitive_features=group, feature_groups=alone)
    assert result.table["decisions"].item() == pytest.approx(result.value, abs=1e-12)
    assert model.n_rows_ == len(X)


def test_predictions_are_as_many_as_it_says(people):
    X, group = people
    model = Rule(planted).fit(X)
    result = gap_contributions(
        model, X, sensitive_features=group, n_permutations=6, random_state=0
    )
    assert model.n_rows_ == result.n_calls * len(X) == (1 + 6 * 3) * len(X)
    twelve = np.random.default_rng(0).normal(size=(50, 12))
    model = Rule(planted).fit(twelve)
    gap_contributions(model, twelve, sensitive_features=np.arange(50) % 2)
    assert model.n_rows_ <= 500 * 50


def test_containers_give_the_same_contributions(people):
    X, group = people
    model = Rule(planted).fit(X)
    rows = {"sensitive_features": group, "n_permutations": 4, "random_state": 0}
    tables = [X, pl.from_pandas(X), X.set_axis(range(400, 0, -1))]
    first, *others = (gap_contributions(model, one, **rows).table for one in tables)
    for other in others:
        pd.testing.assert_frame_equal(first, other)
    array = gap_contributions(model, X.to_numpy(), **rows).table
    np.testing.assert_array_equal(array, first)
    assert array.index[0] == "column 0"


def test_groups_may_be_a_column_of_the_table(people):
    X, group = people
    X = X.assign(sex=pd.Categorical(group))
    model = Rule(lambda x: x[:, 0] + x[:, 4])
    model.function = lambda x: x[:, 0] + x[:, 4]
    model.predict_proba = lambda T: Rule.predict_proba(
        model, T.assign(sex=T["sex"].cat.codes)
    )
    model.fit(X)
    result = gap_contributions(model, X, sensitive_features="sex", random_state=0)
    assert set(result.table.index[:2]) == {"a", "sex"}
    assert result.table["decisions"].sum() == pytest.approx(result.value, abs=1e-12)


def test_weights_count_rows_and_rows_of_weight_zero_do_not_count(people):
    X, group = people
    model = Rule(planted).fit(X)
    weights = np.arange(400) % 3
    result = gap_contributions(
        model, X, sensitive_features=group, sample_weight=weights, random_state=0
    )
    score = model.predict_proba(X)[:, 1]
    gap = mcdp(None, score, sensitive_features=group, sample_weight=weights)
    assert result.value == pytest.approx(gap, abs=1e-12)
    assert result.table["decisions"].sum() == pytest.approx(gap, abs=1e-12)


def test_the_two_groups_that_differ_most_are_compared(people):
    X, group = people
    group = group.astype(object)
    group[::5] = "X"
    model = Rule(planted).fit(X)
    result = gap_contributions(model, X, sensitive_features=group, random_state=0)
    score = model.predict_proba(X)[:, 1]
    assert result.value == pytest.approx(mcdp(None, score, sensitive_features=group))
    two = np.isin(group, result.groups)
    assert result.value == pytest.approx(
        mcdp(None, score[two], sensitive_features=group[two])
    )


def test_groups_that_cannot_be_compared(people):
    X, group = people
    groups = encode_groups(group, labels=["F", "M", "X"])
    with pytest.warns(UndefinedMetricWarning, match="'X' has 0 rows"):
        result = gap_contributions(Rule(planted).fit(X), X, sensitive_features=groups)
    assert np.isnan(result.value)
    assert result.table.isna().all(axis=None)


def test_scores_without_a_gap_have_no_contributions(people):
    X, group = people
    model = Rule(lambda x: np.zeros(len(x))).fit(X)
    result = gap_contributions(model, X, sensitive_features=group)
    assert result.value == 0
    np.testing.assert_allclose(result.table, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_permutations": 3}, "n_permutations must be even, got 3"),
        ({"feature_groups": {"x": ["a"], "y": ["a", "b"]}}, "each column at most once"),
        ({"feature_groups": {"x": ["z"]}}, r"no column 'z' \(feature_groups\)"),
        ({"feature_groups": [["a", "b"]]}, r"must be a dictionary .* got \[\['a', 'b'"),
        ({"confidence_level": 0}, "confidence_level must be a number in"),
    ],
)
def test_what_is_wrong_is_named(people, change, message):
    X, group = people
    with pytest.raises((ValueError, TypeError), match=message):
        gap_contributions(
            Rule(planted).fit(X), X, **{"sensitive_features": group} | change
        )


def test_models_that_take_the_group_are_refused(people):
    class Aware(Rule):
        def predict_proba(self, X, sensitive_features=None):
            return super().predict_proba(X)

    X, group = people
    with pytest.raises(ValueError, match="Aware takes sensitive_features at predict"):
        gap_contributions(Aware(planted).fit(X), X, sensitive_features=group)


def test_the_same_seed_gives_the_same_result(people):
    X, group = people
    model = Rule(planted).fit(X)
    first, again, other = (
        gap_contributions(
            model, X, sensitive_features=group, n_permutations=2, random_state=seed
        ).table
        for seed in (3, 3, 4)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_bars_are_those_of_the_table(people):
    X, group = people
    result = gap_contributions(Rule(planted).fit(X), X, sensitive_features=group)
    for gap in ("decisions", "means"):
        display = GapContributionsDisplay.from_result(
            result, gap=gap, max_features=3, name="pay"
        )
        widths = [bar.get_width() for bar in display.bars_]
        named = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert widths == result.table.loc[named, gap].tolist()
        assert len(named) == 3
        assert np.diff(np.abs(widths)).max() <= 0
        assert "Of this model, not of the world" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="gap must be 'decisions' or 'means'"):
        GapContributionsDisplay.from_result(result, gap="rates")


@pytest.mark.slow
def test_a_planted_carrier_is_first():
    first = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        group, carrier = rng.integers(0, 2, 500), rng.integers(0, 6)
        X = rng.normal(size=(500, 6))
        X[:, carrier] += 0.8 * group
        slopes = rng.uniform(0.5, 1.5, 6)
        model = Rule(lambda x, slopes=slopes: x @ slopes + x[:, 0] * x[:, 1]).fit(X)
        result = gap_contributions(
            model, X, sensitive_features=group, n_permutations=4, random_state=seed
        )
        first += result.table.index[0] == f"column {carrier}"
    assert first >= 190


@pytest.mark.slow
def test_intervals_cover_the_contribution_in_the_population():
    # Scores are close to linear, so that a column's contribution to the difference of
    # means is its shift times its slope, that of the logistic function near 1/2.
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 2, 400)
        X = rng.uniform(-0.5, 0.5, size=(400, 3))
        X[:, 0] += 0.4 * group
        model = Rule(lambda x: 0.4 * x[:, 0] + 0.4 * x[:, 1]).fit(X)
        table = gap_contributions(
            model, X, sensitive_features=group, n_permutations=4, random_state=seed
        ).table
        truth = 0.4 * 0.4 / 4
        line = table.loc["column 0"]
        covered += line["means_lower"] <= truth * 0.985 <= line["means_upper"]
    assert covered >= 0.915 * 200
