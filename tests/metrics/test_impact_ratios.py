"""Impact ratios: the table counted by hand, its intervals, and small categories."""

import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import impact_ratios
from skfair.statistics import CountTable

COLUMNS = ["n", "share", "selected", "rate", "impact_ratio", "lower", "upper", "status"]
BOTH = "sex \u00d7 race"


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 400), "race": rng.choice(list("xyz"), 400)}
    )
    frame.loc[:9, "sex"] = None
    frame.loc[5:19, "race"] = None
    return frame


@pytest.fixture
def hired():
    return np.random.default_rng(1).integers(0, 2, 400)


def test_a_table_for_each_attribute_and_the_intersection(people, hired):
    table = impact_ratios(None, hired, sensitive_features=people)
    assert list(table.columns) == COLUMNS
    assert table.index.names == ["attribute", "group"]
    assert list(table.index.unique("attribute")) == ["sex", "race", BOTH]
    unknown = table.xs("(unknown)", level="group")["n"]
    assert unknown.to_dict() == {"sex": 10, "race": 15, BOTH: 20}
    assert (table.groupby("attribute")["n"].sum() == 400).all()
    for name in ("sex", "race"):
        part = table.loc[name].drop("(unknown)")
        rates = pd.Series(hired).groupby(people[name]).agg(["size", "sum", "mean"])
        assert part["n"].tolist() == rates["size"].tolist()
        assert part["selected"].tolist() == rates["sum"].tolist()
        np.testing.assert_allclose(part["rate"], rates["mean"])
        ratios = rates["mean"] / rates["mean"].max()
        np.testing.assert_allclose(part["impact_ratio"], ratios)
        assert part["share"].sum() == pytest.approx(1)
        assert part["status"].value_counts().to_dict()["highest"] == 1
    both = table.loc[BOTH]
    own = (people["sex"] == "F") & (people["race"] == "y")
    assert both.loc["F \u00d7 y", "n"] == own.sum()
    assert both.loc["F \u00d7 y", "rate"] == pytest.approx(hired[own].mean())


@pytest.mark.slow
def test_random_cases():
    """Count by hand: rows one by one, in dicts."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n_rows, least = int(rng.integers(4, 40)), rng.choice([0, 0.1, 0.2])
        groups = rng.choice(["a", "b", "c", None], n_rows, p=[0.4, 0.3, 0.2, 0.1])
        hired = rng.integers(0, 2, n_rows)
        weights = rng.integers(1, 4, n_rows) if rng.random() < 0.5 else None
        sizes, sums = {}, {}
        for i in range(n_rows):
            weight = 1 if weights is None else weights[i]
            sizes[groups[i]] = sizes.get(groups[i], 0) + weight
            sums[groups[i]] = sums.get(groups[i], 0) + weight * hired[i]
        sizes.pop(None, None)
        total = sum(sizes.values())
        rates = {g: sums[g] / sizes[g] for g in sizes}
        compared = [rates[g] for g in sizes if sizes[g] / total >= least]
        highest = max(compared, default=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            table = impact_ratios(
                None,
                hired,
                sensitive_features=groups,
                min_share=least,
                sample_weight=weights,
            ).loc["group"]
        assert set(table.index) - {"(unknown)"} == set(sizes)
        for g in sizes:
            row = table.loc[g]
            assert row["rate"] == pytest.approx(rates[g], abs=1e-14)
            assert row["n"] == np.sum(groups == g)
            small = sizes[g] / total < least
            assert (row["status"] == "excluded") == small
            if small or len(compared) < 2 or highest == 0:
                assert np.isnan(row["impact_ratio"])
            else:
                assert row["impact_ratio"] == pytest.approx(rates[g] / highest)
                assert row["lower"] <= row["impact_ratio"] + 1e-12
                assert row["impact_ratio"] <= row["upper"] + 1e-12


def test_unknown_rows_have_a_number_only(people, hired):
    row = impact_ratios(None, hired, sensitive_features=people).loc[
        ("sex", "(unknown)")
    ]
    assert row["status"] == "unknown"
    assert row[COLUMNS[1:-1]].isna().all()
    everyone = impact_ratios(None, hired, sensitive_features=people["sex"].fillna("F"))
    assert "(unknown)" not in everyone.index.get_level_values("group")


@pytest.mark.slow
def test_containers(people, hired):
    expected = impact_ratios(None, hired, sensitive_features=people)
    found = impact_ratios(None, hired, sensitive_features=pl.from_pandas(people))
    pd.testing.assert_frame_equal(found, expected)
    other = people.astype("category").set_axis(np.arange(400)[::-1])
    found = impact_ratios(None, hired.tolist(), sensitive_features=other)
    pd.testing.assert_frame_equal(found, expected)
    array = people.to_numpy(dtype=object)
    found = impact_ratios(None, hired, sensitive_features=array)
    np.testing.assert_array_equal(found["lower"], expected["lower"])
    assert found.index[0][0] == "attribute 1"


def test_groups_and_tables_give_the_same_tables(people, hired):
    known = people.notna().all(axis=1).to_numpy()
    expected = impact_ratios(None, hired[known], sensitive_features=people[known])
    groups = encode_groups(people[known])
    found = impact_ratios(None, hired[known], sensitive_features=groups)
    pd.testing.assert_frame_equal(found, expected)
    statistic = CountTable.from_rows(
        None, hired[known], sensitive_features=people[known]
    )
    pd.testing.assert_frame_equal(impact_ratios(None, statistic), expected)
    dropped = encode_groups(people, missing="drop")
    found = impact_ratios(None, hired, sensitive_features=dropped)
    assert (found.xs("(unknown)", level="group")["n"] == 20).all()
    for argument in ("y_true", "sensitive_features", "sample_weight", "counts"):
        given = {"y_true": None, argument: [0, 1]}
        y_true = given.pop("y_true")
        with pytest.raises(ValueError, match=f"{argument} must be None where a table"):
            impact_ratios(y_true, statistic, **given)
    text = np.array(["no", "yes"])[hired[known]]
    table = CountTable.from_rows(None, text, sensitive_features=people[known])
    found = impact_ratios(None, table, pos_label="yes")
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("n_rows", [20, 21])
@pytest.mark.parametrize("weighted", [False, True])
def test_scoring_rates_are_shares_above_everyones_median(n_rows, weighted):
    rng = np.random.default_rng(n_rows)
    scores = rng.integers(-5, 9, n_rows)
    groups = np.array(["a", "b", None], dtype=object)[np.arange(n_rows) % 3]
    weights = rng.integers(0, 4, n_rows) if weighted else np.ones(n_rows, int)
    table = impact_ratios(
        None,
        scores.tolist(),
        sensitive_features=groups,
        rate="scoring",
        sample_weight=weights if weighted else None,
    ).loc["group"]
    median = np.median(np.repeat(scores, weights))
    for group in "ab":
        own = np.repeat(scores, np.where(groups == group, weights, 0))
        assert table.loc[group, "rate"] == pytest.approx((own > median).mean())
    assert table.loc["(unknown)", "n"] == np.sum(weights[2::3] > 0)


def test_weights_that_round_leave_half_above_the_median():
    for n_rows in (4, 6, 10, 22):
        scores, groups = np.arange(n_rows), np.arange(n_rows) % 2
        expected = impact_ratios(
            None, scores, sensitive_features=groups, rate="scoring"
        )
        found = impact_ratios(
            None,
            scores,
            sensitive_features=groups,
            rate="scoring",
            sample_weight=np.full(n_rows, 0.3),
        )
        np.testing.assert_allclose(found["rate"], expected["rate"])


def test_small_groups_are_shown_and_not_compared():
    groups = np.repeat(["a", "b", "c"], [2, 49, 49])
    hired = np.concatenate([[1, 1], np.arange(49) < 20, np.arange(49) < 10])
    all_three = impact_ratios(None, hired, sensitive_features=groups).loc["group"]
    assert all_three["status"].to_dict()["a"] == "highest"
    at_two = impact_ratios(None, hired, sensitive_features=groups, min_share=0.02)
    pd.testing.assert_frame_equal(at_two.loc["group"], all_three)  # not less than 2 %
    table = impact_ratios(None, hired, sensitive_features=groups, min_share=0.021)
    table = table.loc["group"]
    assert table.loc["a", ["n", "selected", "rate"]].tolist() == [2, 2, 1]
    assert table.loc["a", ["impact_ratio", "lower", "upper"]].isna().all()
    assert table["status"].tolist() == ["excluded", "highest", "compared"]
    assert table.loc["c", "impact_ratio"] == 0.5
    least = encode_groups(groups, min_group_size=3)
    found = impact_ratios(None, hired, sensitive_features=least).loc["group"]
    pd.testing.assert_frame_equal(found, table)


def test_absent_categories_are_shown():
    column = pd.Categorical(["F", "M"] * 3, categories=["F", "M", "other"])
    table = impact_ratios(None, [1, 1, 0, 1, 1, 0], sensitive_features=column)
    row = table.loc[("group", "other")]
    assert (row["n"], row["status"]) == (0, "excluded")
    assert np.isnan(row["rate"])


@pytest.mark.parametrize(
    ("hired", "groups", "match"),
    [
        ([1, 0, 1], ["F", "F", "F"], r"by group are undefined .* got \['F'\]"),
        ([1, 0, 1], [None] * 3, r"at least two groups must be large enough, got \[\]"),
        ([0, 0, 0], ["F", "M", "F"], r"nobody in the groups \['F', 'M'\] is selected"),
    ],
)
def test_undefined(hired, groups, match):
    with pytest.warns(UndefinedMetricWarning, match=match) as caught:
        table = impact_ratios(None, hired, sensitive_features=groups)
    if sys.version_info >= (3, 12):
        assert caught[0].filename == __file__
    assert table[["impact_ratio", "lower", "upper"]].isna().all(axis=None)
    assert table["n"].sum() == 3


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"rate": "select"}, "rate must be 'selection' or 'scoring', got 'select'"),
        ({"min_share": 1}, r"min_share must be a number in \[0, 1\), got 1"),
        ({"confidence_level": 1}, "confidence_level must be a number in"),
        ({"rate": "scoring", "pos_label": 1}, "pos_label must be None for scores"),
        ({"sensitive_features": None}, "sensitive_features is None"),
        ({"sensitive_features": ["F"]}, "sensitive_features has 1 rows, expected 4"),
        ({"sample_weight": [1, 1]}, "sample_weight must have shape"),
        ({"y_true": [0, 1, 2, 0]}, "y_true must be binary"),
        ({"y_pred": [0, 0.3, 1, 1]}, "got 0.3. Compare scores with a thresh"),
        ({"y_pred": list("aabb")}, "pos_label must say which of the labels"),
        ({"y_pred": [0, 1, 2, 1]}, "pos_label"),
        ({"y_pred": [0, 1, None, 1]}, "y_pred has 1 missing|missing labels"),
        (
            {"rate": "scoring", "y_pred": [0, np.nan, 1, 1]},
            "y_pred must be finite, got nan in row 1",
        ),
        ({"rate": "scoring", "y_pred": list("aabb")}, "must be numbers"),
    ],
)
def test_bad_input(given, match):
    arguments = {
        "y_true": None,
        "y_pred": [0, 1, 1, 0],
        "sensitive_features": list("FFMM"),
    }
    with pytest.raises(ValueError, match=match):
        impact_ratios(**{**arguments, **given})


def test_tables_of_scores_are_refused():
    statistic = CountTable.from_rows(
        None, [0.2, 0.4, 1, 0], sensitive_features=list("FFMM")
    )
    match = r"must be decisions of two classes for rate='selection', got 0.2"
    with pytest.raises(ValueError, match=match):
        impact_ratios(None, statistic)


def test_text_decisions():
    hired = np.array(["no", "yes"])[[0, 1, 1, 1]]
    table = impact_ratios(None, hired, sensitive_features=list("FFMM"), pos_label="yes")
    assert table["impact_ratio"].tolist() == [0.5, 1]


def exact_coverage(n_first, n_second, rates):
    """Probability that the interval of the first of two groups holds its ratio."""
    first, second = np.arange(n_first + 1), np.arange(n_second + 1)
    ratio = rates[0] / max(rates)
    held = chance = 0.0
    for i in first:
        for j in second[int(i == 0) :]:
            table = impact_ratios(
                None,
                [1, 0, 1, 0],
                sensitive_features=[0, 0, 1, 1],
                counts=[i, n_first - i, j, n_second - j],
            )
            low, high = table["lower"].iloc[0], table["upper"].iloc[0]
            weight = binom.pmf(i, n_first, rates[0]) * binom.pmf(j, n_second, rates[1])
            chance += weight
            held += weight * (low - 1e-12 <= ratio <= high + 1e-12)
    return held / chance


@pytest.mark.slow
@pytest.mark.promise("Intervals of impact ratios cover the true ratio")
def test_coverage_of_two_small_groups_is_at_least_nominal():
    assert exact_coverage(6, 8, (0.3, 0.6)) > 0.95
