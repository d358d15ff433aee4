"""Weighted and attribute-specific sampling, and drawing their rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.groups import encode_groups
from skfair.sampling import attribute_specific_sampling, sample_rows, weighted_sampling

WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05}


def mean_counts(draw, n_draws=3000):
    return np.mean([draw(seed).to_numpy() for seed in range(n_draws)], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [0, 0.5, 2 / 3, 1, 2])
def test_weighted_sampling_follows_equation_35(exponent):
    counts = mean_counts(
        lambda seed: weighted_sampling(
            WEIGHTS, 20, exponent=exponent, random_state=seed
        )
    )
    powers = np.array(list(WEIGHTS.values())) ** exponent
    expected = 20 * powers / powers.sum()
    assert counts.sum() == pytest.approx(20)
    assert np.all(np.abs(counts - expected) < 4 * np.sqrt(expected / 3000))


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 7, 20, 1000])
def test_attribute_specific_sampling_keeps_the_budget_by_default(n):
    weights = np.full(50, 0.02)
    totals = [
        attribute_specific_sampling(weights, n, random_state=seed).sum()
        for seed in range(400)
    ]
    assert np.mean(totals) <= n + 4 * np.std(totals) / 20
    # Nothing is lost by rounding where two rows of a group are taken, or all rows.
    assert np.mean(totals) >= n - 4 * np.std(totals) / 20 - 1e-9
    counts = attribute_specific_sampling(weights, n, random_state=0)
    sampled = counts[counts > 0]
    assert sampled.nunique() <= 1
    assert (sampled >= 2).all()


@pytest.mark.slow
def test_attribute_specific_sampling_follows_definition_6():
    gamma, n = 4.0, 12
    counts = mean_counts(
        lambda seed: attribute_specific_sampling(
            WEIGHTS, n, gamma=gamma, random_state=seed
        )
    )
    chance = np.minimum(1, gamma * np.array(list(WEIGHTS.values())))
    assert np.all(np.abs(counts - 3 * chance) < 4 * 3 * 0.5 / np.sqrt(3000))


@pytest.mark.parametrize("plan", [weighted_sampling, attribute_specific_sampling])
def test_index_container_and_seed(plan):
    counts = plan(WEIGHTS, 10, random_state=1)
    assert counts.index.tolist() == list(WEIGHTS)
    assert counts.dtype == np.int64
    pd.testing.assert_series_equal(counts, plan(WEIGHTS, 10, random_state=1))
    pd.testing.assert_series_equal(counts, plan(pd.Series(WEIGHTS), 10, random_state=1))
    array = plan(list(WEIGHTS.values()), 10, random_state=1)
    assert array.index.tolist() == [0, 1, 2, 3]
    assert array.tolist() == counts.tolist()
    tuples = plan({("F", "x"): 0.5, ("M", "y"): 0.5}, 10, random_state=1)
    assert tuples.index.tolist() == [("F", "x"), ("M", "y")]


@pytest.mark.parametrize("plan", [weighted_sampling, attribute_specific_sampling])
@pytest.mark.parametrize(
    ("weights", "n", "message"),
    [
        ([0.0, 0.0], 10, "must have a positive sum, got 0"),
        ([1.2, -0.2], 10, "non-negative"),
        ([], 10, "one weight for each group"),
        ([0.5, 0.5], 0, "n must be an integer of at least 1, got 0"),
        ([0.5, 0.5], 2.5, "n must be an integer"),
    ],
)
def test_bad_input(plan, weights, n, message):
    with pytest.raises(ValueError, match=message):
        plan(weights, n)


@pytest.mark.parametrize("plan", [weighted_sampling, attribute_specific_sampling])
def test_weights_are_scaled_to_sum_to_one(plan):
    counts = {label: 1000 * weight for label, weight in WEIGHTS.items()}
    pd.testing.assert_series_equal(
        plan(counts, 10, random_state=0), plan(WEIGHTS, 10, random_state=0)
    )


def test_bad_plans():
    with pytest.raises(ValueError, match=r"exponent must be a number in \[0, inf\)"):
        weighted_sampling([0.5, 0.5], 3, exponent=-1)
    with pytest.raises(ValueError, match="n must be at least 2"):
        attribute_specific_sampling([0.5, 0.5], 1)
    with pytest.raises(ValueError, match=r"gamma must be at most n / 2 = 5"):
        attribute_specific_sampling([0.5, 0.5], 10, gamma=6)


# --- sample_rows


@pytest.fixture
def population():
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], 300),
            "race": generator.choice(["x", "y", "z"], 300),
            "row": np.arange(300),
        },
        index=np.arange(300)[::-1],
    )


def test_draws_the_rows_of_the_plan(population):
    counts = {("F", "x"): 3, ("M", "z"): 5, ("M", "y"): 0}
    drawn = sample_rows(
        population, counts, sensitive_features=["sex", "race"], random_state=0
    )
    sizes = drawn.groupby(["sex", "race"]).size().to_dict()
    assert sizes == {("F", "x"): 3, ("M", "z"): 5}
    assert drawn["row"].is_monotonic_increasing
    assert drawn["row"].is_unique
    pd.testing.assert_frame_equal(
        drawn, population[population["row"].isin(drawn["row"])]
    )


@pytest.mark.slow
def test_every_row_is_drawn_alike(population):
    drawn = np.zeros(300)
    for seed in range(600):
        rows = sample_rows(
            population, {"F": 20}, sensitive_features="sex", random_state=seed
        )["row"]
        drawn[rows] += 1
    is_f = (population["sex"] == "F").to_numpy()
    assert drawn[~is_f].sum() == 0
    share = 20 / is_f.sum()
    spread = np.sqrt(600 * share * (1 - share))
    assert np.all(np.abs(drawn[is_f] - 600 * share) < 5 * spread)


def test_containers_and_given_groups(population):
    counts = pd.Series({"F": 4, "M": 2})
    expected = sample_rows(population, counts, sensitive_features="sex", random_state=3)
    frame = sample_rows(
        pl.DataFrame(population.to_dict("list")),
        counts,
        sensitive_features="sex",
        random_state=3,
    )
    assert isinstance(frame, pl.DataFrame)
    assert frame["row"].to_list() == expected["row"].tolist()
    array = sample_rows(
        population[["row"]].to_numpy(),
        counts,
        sensitive_features=population["sex"],
        random_state=3,
    )
    assert array[:, 0].tolist() == expected["row"].tolist()


def test_list_with_an_entry_for_each_row_holds_groups():
    X = pd.DataFrame({"row": range(3)})
    drawn = sample_rows(X, {"a": 2}, sensitive_features=["a", "b", "a"])
    assert drawn["row"].tolist() == [0, 2]


def test_rows_in_another_order_are_warned_of_and_matched_by_position():
    X = pd.DataFrame({"row": range(3)})
    sex = pd.Series(["a", "b", "a"], index=[1, 2, 0])
    with pytest.warns(UserWarning, match="X and sensitive_features have the same"):
        drawn = sample_rows(X, {"b": 1}, sensitive_features=sex)
    assert drawn["row"].tolist() == [1]


def test_rows_of_no_group_are_not_drawn():
    groups = encode_groups(["a", None, "a", None], missing="drop")
    X = np.arange(4)[:, np.newaxis]
    drawn = sample_rows(X, {"a": 2}, sensitive_features=groups, random_state=0)
    assert drawn[:, 0].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"F": 999}, r"too few rows of 1 groups .*'F' \(\d+ of 999\)"),
        ({"other": 1}, r"'other' \(0 of 1\)"),
        ({"F": -1}, r"whole numbers of at least 0, got -1 for 'F'"),
        ({"F": 1.5}, r"got 1\.5 for 'F'"),
        (pd.Series([1, 1], ["F", "F"]), "counts must name each group once, got 'F'"),
    ],
)
def test_counts_that_cannot_be_drawn(population, counts, message):
    with pytest.raises(ValueError, match=message):
        sample_rows(population, counts, sensitive_features="sex")


def test_counts_of_dates_are_those_of_pandas():
    """Groups are dates, and counts of pandas have times at midnight."""
    born = pd.to_datetime(["2001-01-01", "2002-01-01", "2002-01-01"])
    people = pd.DataFrame({"born": born})
    counts = people["born"].value_counts()
    drawn = sample_rows(people, counts, sensitive_features="born")
    pd.testing.assert_frame_equal(drawn, people)
