from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import CROSS, encode_groups
from skfair.metrics import (
    mcdp,
    permutation_test,
    worst_subgroup,
)

QUALITIES = [
    "mcdp",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "accuracy",
    "error_rate",
]


def outcomes_by_hand(quality, y_true, y_pred):
    """Outcome of each row that counts, and which rows these are."""
    if quality in ("mcdp", "selection_rate"):
        return y_pred, np.ones(len(y_pred), dtype=bool)
    if quality in ("accuracy", "error_rate"):
        right = (y_true == y_pred).astype(float)
        return right if quality == "accuracy" else 1 - right, y_true >= 0
    return y_pred, y_true == (quality == "true_positive_rate")


def enumerate_all(outcomes, columns, min_size, *, is_rate):
    """Differences of all subgroups by their rows, each set of rows once."""
    found = {}
    values = [np.unique(column) for column in columns]
    for k in range(1, len(columns) + 1):
        for chosen in combinations(range(len(columns)), k):
            for combination in product(*(values[i] for i in chosen)):
                inside = np.ones(len(outcomes), dtype=bool)
                for i, value in zip(chosen, combination, strict=True):
                    inside &= columns[i] == value
                if min(inside.sum(), (~inside).sum()) < min_size:
                    continue
                if is_rate:
                    value = abs(outcomes[inside].mean() - outcomes[~inside].mean())
                else:
                    value = mcdp(None, outcomes, sensitive_features=inside)
                found.setdefault(inside.tobytes(), (value, k))
    return found


def draw(rng):
    """True labels, scores with ties, predictions, and columns."""
    n_rows, n_columns = rng.integers(5, 60), rng.integers(1, 4)
    columns = [rng.integers(0, rng.integers(1, 4), n_rows) for _ in range(n_columns)]
    y_score = rng.random(n_rows).round(rng.choice([1, 8]))
    if rng.random() < 0.5:
        y_score = np.where(columns[0] == 1, y_score**2, y_score).round(2)
    return rng.integers(0, 2, n_rows), y_score, rng.integers(0, 2, n_rows), columns


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def check_against_enumeration(rng, quality):
    y_true, y_score, y_pred, columns = draw(rng)
    response = y_score if quality == "mcdp" else y_pred
    min_size, n_best = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    outcomes, kept = outcomes_by_hand(quality, y_true, response)
    expected = enumerate_all(
        outcomes[kept],
        [column[kept] for column in columns],
        min_size,
        is_rate=quality != "mcdp",
    )
    result = worst_subgroup(
        y_true,
        response,
        sensitive_features=np.column_stack(columns),
        quality=quality,
        min_group_size=min_size,
        n_subgroups=n_best,
        n_permutations=0,
    )
    values = sorted((value for value, _ in expected.values()), reverse=True)[:n_best]
    differences = np.abs(result.table["difference"].to_numpy())
    np.testing.assert_allclose(differences, values, rtol=0, atol=1e-12)
    if values:
        assert result.value == pytest.approx(values[0], abs=1e-12)
    for line, conditions in zip(
        result.table.itertuples(), result.conditions, strict=True
    ):
        inside = np.ones(kept.sum(), dtype=bool)
        for name, value in conditions.items():
            inside &= columns[int(name.split()[1])][kept] == value
        value, n_conditions = expected[inside.tobytes()]
        assert abs(line.difference) == pytest.approx(value, abs=1e-12)
        assert len(conditions) == n_conditions
        assert line.n_rows == inside.sum()
        score = line.score if quality == "mcdp" else 0.5
        above = outcomes[kept] > score
        assert line.rate == pytest.approx(above[inside].mean())
        assert line.rate_of_others == pytest.approx(above[~inside].mean())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.promise("`worst_subgroup` finds the largest value of all conjunctions")
def test_equals_enumeration():
    for seed in range(36):
        check_against_enumeration(np.random.default_rng(seed), QUALITIES[seed % 6])


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 6, 7, 9, 10, 11])
def test_numbers_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    *_, columns = draw(rng)
    n_rows = len(columns[0])
    losses = rng.exponential(5, n_rows) - 3
    losses = losses.round() if seed % 2 else losses + 1e6 * (seed % 3)
    min_size = int(rng.integers(1, 6))
    given = {"sensitive_features": np.column_stack(columns), "quality": losses}
    given |= {"min_group_size": min_size, "n_subgroups": 3, "n_permutations": 0}
    expected = enumerate_all(losses, columns, min_size, is_rate=True)
    values = sorted((value for value, _ in expected.values()), reverse=True)[:3]
    result = worst_subgroup(None, None, **given)
    differences = result.table["difference"]
    np.testing.assert_allclose(np.abs(differences), values, rtol=1e-9)
    assert result.value == pytest.approx(values[0], rel=1e-9)
    inside = np.ones(n_rows, dtype=bool)
    for name, value in result.conditions[0].items():
        inside &= columns[int(name.split()[1])] == value
    first = result.table.iloc[0]
    assert first["mean"] == pytest.approx(losses[inside].mean())
    assert first["mean_of_others"] == pytest.approx(losses[~inside].mean())


def test_a_search_with_many_subgroups_prunes_none_that_is_worst():
    rng = np.random.default_rng(5)
    columns = rng.integers(0, 4, (600, 4))
    losses = rng.exponential(1, 600) * (1 + (columns[:, 0] == 1) * (columns[:, 2] == 3))
    expected = enumerate_all(losses, list(columns.T), 10, is_rate=True)
    found = worst_subgroup(
        None,
        None,
        sensitive_features=columns,
        quality=losses,
        min_group_size=10,
        n_subgroups=7,
        n_permutations=0,
    )
    values = sorted((value for value, _ in expected.values()), reverse=True)[:7]
    np.testing.assert_allclose(found.table["difference"].abs(), values, rtol=1e-9)


@pytest.mark.slow
def test_a_callable_of_numbers_has_the_mean_of_the_rows_that_count(people):
    frame, y_score = people
    y_true = np.random.default_rng(0).random(2_000)
    given = {"sensitive_features": frame[["sex", "race"]], "random_state": 0}
    given["n_permutations"] = 19
    found = worst_subgroup(
        y_true,
        y_score,
        quality=lambda y_true, y_score: (abs(y_true - y_score), y_true > 0.5),
        **given,
    )
    some = y_true > 0.5
    given["sensitive_features"] = frame[["sex", "race"]][some]
    losses = abs(y_true - y_score)[some]
    expected = worst_subgroup(None, None, quality=losses, **given)
    pd.testing.assert_frame_equal(found.table, expected.table)
    # Another unit changes values in proportion, and no p-value.
    scaled = worst_subgroup(None, None, quality=5 + 1_000 * losses, **given)
    assert scaled.value == pytest.approx(1_000 * expected.value)
    np.testing.assert_allclose(
        scaled.null_distribution, 1_000 * expected.null_distribution
    )
    assert scaled.pvalue == expected.pvalue


@pytest.fixture(scope="module")
def people():
    """A table of people, one subgroup of which has lower scores."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 2_000),
            "race": rng.choice(["A", "B", "C"], 2_000),
            "age": rng.integers(18, 80, 2_000),
        },
        index=np.arange(2_000)[::-1],
    )
    hit = (frame["sex"] == "F") & (frame["race"] == "B") & (frame["age"] >= 50)
    y_score = rng.random(2_000) * np.where(hit, 0.4, 1)
    return frame, y_score


def test_finds_the_conjunction(people):
    frame, y_score = people
    result = worst_subgroup(
        None,
        y_score,
        sensitive_features=frame,
        bins={"age": [30, 50]},
        n_permutations=19,
        random_state=0,
    )
    assert result.subgroup == "sex = F and race = B and age >= 50"
    assert result.conditions[0] == {"sex": "F", "race": "B", "age": "age >= 50"}
    assert result.pvalue == pytest.approx(0.05)
    assert result.table.index[0] == result.subgroup
    columns = "n_rows score rate rate_of_others difference pvalue"
    assert " ".join(result.table.columns) == columns
    assert len(result.table) == 10
    assert result.null_distribution.shape == (19,)
    assert (result.table["pvalue"].diff().dropna() >= 0).all()
    binned = pd.cut(frame["age"], [0, 30, 50, 99], right=False).astype(str)
    again = worst_subgroup(
        None,
        y_score,
        sensitive_features=frame.assign(age=binned),
        n_permutations=0,
    )
    assert again.value == result.value
    shown = result.to_frame()
    shown["n_rows"] = 0
    assert result.table["n_rows"].min() >= 50


@pytest.mark.slow
def test_containers(people):
    frame, y_score = people
    columns = frame[["sex", "race"]]
    options = {"n_permutations": 9, "random_state": 3}
    expected = worst_subgroup(None, y_score, sensitive_features=columns, **options)
    for given in (
        pl.DataFrame({name: columns[name].tolist() for name in columns}),
        columns.astype("category"),
        columns.reset_index(drop=True),
    ):
        found = worst_subgroup(None, list(y_score), sensitive_features=given, **options)
        pd.testing.assert_frame_equal(found.table, expected.table)
        np.testing.assert_array_equal(
            found.null_distribution, expected.null_distribution
        )
    array = worst_subgroup(
        None, y_score, sensitive_features=columns.to_numpy(), n_permutations=0
    )
    assert array.subgroup == "column 0 = F and column 1 = B"


def test_groups_are_the_columns_that_they_were_made_of(people):
    frame, y_score = people
    columns = frame[["sex", "race"]].astype(object)
    columns.iloc[::7, 1] = None
    y_pred = (y_score > 0.5).astype(int)
    options = {"n_permutations": 0, "quality": "selection_rate"}
    known = columns["race"].notna().to_numpy()
    expected = worst_subgroup(
        None, y_pred[known], sensitive_features=columns[known], **options
    )
    groups = encode_groups(columns, missing="drop")
    found = worst_subgroup(None, y_pred, sensitive_features=groups, **options)
    pd.testing.assert_frame_equal(found.table, expected.table)
    groups = encode_groups(columns, missing="group")
    found = worst_subgroup(
        None, y_pred, sensitive_features=groups, n_subgroups=40, **options
    )
    assert "race = (missing)" in found.table.index
    least = encode_groups(columns["sex"], min_group_size=1_010)
    with pytest.warns(UndefinedMetricWarning, match="at least 1010 of the 2000"):
        worst_subgroup(None, y_pred, sensitive_features=least, **options)
    nobody = encode_groups([None, None], missing="drop")
    with pytest.warns(UndefinedMetricWarning, match="of the 0 rows"):
        worst_subgroup(None, [0, 1], sensitive_features=nobody, **options)


def test_one_column_of_two_values_is_mcdp(people):
    frame, y_score = people
    result = worst_subgroup(
        None, y_score, sensitive_features=frame["sex"], n_permutations=0
    )
    assert result.value == mcdp(None, y_score, sensitive_features=frame["sex"])
    assert result.table.index.tolist() == ["sex = F", "sex = M"]
    assert result.table["difference"].sum() == 0


def test_same_rows_are_listed_once_with_the_fewest_conditions():
    sex = np.repeat(["F", "M"], 40)
    pregnant = np.arange(80) < 20
    result = worst_subgroup(
        None,
        np.where(pregnant, 0, 1),
        sensitive_features=pd.DataFrame({"sex": sex, "pregnant": pregnant}),
        quality="selection_rate",
        min_group_size=5,
        n_permutations=0,
    )
    assert result.table.index.tolist()[:2] == ["pregnant = False", "pregnant = True"]
    assert "sex = F and pregnant = True" not in result.table.index


def test_callable_quality_and_text_labels(people):
    frame, y_score = people
    y_true = np.where(np.arange(2_000) % 2, "yes", "no")
    y_pred = np.where(y_score > 0.5, "yes", "no")
    given = {"sensitive_features": frame[["sex", "race"]], "n_permutations": 0}
    named = worst_subgroup(
        y_true, y_pred, quality="true_positive_rate", pos_label="yes", **given
    )
    own = worst_subgroup(
        y_true,
        y_pred,
        quality=lambda y_true, y_pred: (y_pred == "yes", y_true == "yes"),
        **given,
    )
    names = {"mean": "rate", "mean_of_others": "rate_of_others"}
    pd.testing.assert_frame_equal(named.table, own.table.rename(columns=names))
    assert "score" not in named.table


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sensitive_features": np.arange(60)}, r"bins=\{0: \[15, 30, 44\]\}"),
        ({"sensitive_features": None}, "sensitive_features is None"),
        ({"sensitive_features": [0, 1]}, "has 2 rows, expected 60"),
        ({"sensitive_features": [None] * 60}, "has 60 missing values"),
        ({"bins": {"x": [1]}}, "bins has 'x', expected columns among"),
        ({"bins": {0: [2, 1]}}, "bins of 'column 0' must be a list of incr"),
        ({"bins": {0: ["a"]}}, "bins of 'column 0' must be a list of incr"),
        ({"bins": {0: []}}, "must be a list of increasing numbers"),
        ({"bins": {0: [np.nan]}}, "must be a list of increasing numbers"),
        (
            {"sensitive_features": ["a"] * 60, "bins": {0: [1]}},
            "'column 0' need numbers, got 'a'",
        ),
        ({"min_group_size": 0}, "min_group_size must be an integer of at least 1"),
        ({"n_subgroups": 0}, "n_subgroups must be an integer"),
        ({"n_permutations": -1}, "n_permutations must be an integer"),
        ({"quality": "f1"}, "quality must be 'mcdp', 'selection_rate'"),
        ({"quality": "accuracy"}, "y_true must be labels"),
        ({"quality": np.full(60, np.inf)}, "quality must be finite, got inf"),
        ({"quality": [0.5, 1.5]}, "y_score has 60 rows, expected 2"),
        ({"quality": lambda true, pred: 0.5}, r"quality \(<lambda>\) must have shape"),
        (
            {"quality": lambda true, pred: np.full(60, "a")},
            r"quality \(<lambda>\) must",
        ),
    ],
)
def test_broken_input(options, match):
    given = {"sensitive_features": np.arange(60) % 2, **options}
    with pytest.raises(ValueError, match=match):
        worst_subgroup(None, np.arange(60) % 2, **given)


def test_names_of_columns():
    numbers = np.arange(400).reshape(200, 2) / 400
    given = {"n_permutations": 0, "min_group_size": 20}
    frame = pd.DataFrame(numbers)
    found = worst_subgroup(
        None,
        numbers[:, 0],
        sensitive_features=frame,
        bins={0: [0.4], 1: [0.5, 0.6]},
        **given,
    )
    assert found.subgroup == "0 < 0.4"
    frame.columns = ["a", "a"]
    with pytest.raises(ValueError, match="two columns named 'a'"):
        worst_subgroup(None, numbers[:, 0], sensitive_features=frame, **given)
    with pytest.raises(TypeError, match=r"bins must be a mapping .*, got a list"):
        worst_subgroup(
            None, numbers[:, 0], sensitive_features=numbers, bins=[1], **given
        )


def test_bins_of_large_numbers_have_names_of_their_own():
    incomes = np.linspace(1234560, 1234570, 200)
    found = worst_subgroup(
        None,
        incomes >= 1234566,
        sensitive_features=pd.DataFrame({"income": incomes}),
        bins={"income": [1234564, 1234566]},
        n_permutations=0,
        min_group_size=20,
    )
    assert "income >= 1234566" in found.table.index
    assert found.table.index.is_unique


def test_scores_outside_zero_and_one():
    with pytest.raises(ValueError, match="y_score must lie in"):
        worst_subgroup(None, [0.2, 1.5], sensitive_features=[0, 1])


@pytest.mark.parametrize("groups", [[0] * 60, np.arange(60) < 9], ids=["one", "small"])
def test_undefined(groups):
    with pytest.warns(UndefinedMetricWarning, match="no conjunction has at least 10"):
        result = worst_subgroup(
            None, np.linspace(0, 1, 60), sensitive_features=groups, min_group_size=10
        )
    assert np.isnan([result.value, result.pvalue]).all()
    assert np.isnan(result.null_distribution).all()
    assert (result.subgroup, len(result.table), result.conditions) == ("", 0, ())


@pytest.mark.slow
def test_pvalue_is_that_of_a_permutation_test_of_the_largest_difference():
    rng = np.random.default_rng(4)
    columns, y_score = rng.integers(0, 2, (80, 2)), rng.random(80)

    def largest(y_true, y_score, *, sensitive_features):
        labels = np.array([label.split(CROSS) for label in sensitive_features])
        found = enumerate_all(y_score, list(labels.T), 10, is_rate=False)
        return max(value for value, _ in found.values())

    by_hand = permutation_test(
        largest,
        None,
        y_score,
        sensitive_features=columns,
        n_permutations=60,
        random_state=0,
    )
    result = worst_subgroup(
        None,
        y_score,
        sensitive_features=columns,
        min_group_size=10,
        n_permutations=300,
        random_state=1,
    )
    assert result.value == by_hand.value
    assert result.null_distribution.mean() == pytest.approx(by_hand.null_mean, abs=0.02)
    assert result.pvalue == pytest.approx(by_hand.pvalue, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("quality", ["mcdp", "true_positive_rate", "loss"])
@pytest.mark.promise("The search for the worst subgroup is paid for in its p-value")
def test_level(quality):
    rejected = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        columns = rng.integers(0, 3, (250, 3))
        # Base rates differ, which is not what true positive rates compare.
        y_true = (rng.random(250) < 0.4 + 0.2 * columns[:, 0]).astype(int)
        y_score = rng.random(250)
        result = worst_subgroup(
            y_true,
            (y_score > 0.4).astype(int) if quality[0] == "t" else y_score,
            sensitive_features=columns,
            quality=-np.log(y_score) if quality == "loss" else quality,
            min_group_size=20,
            n_permutations=19,
            random_state=seed,
        )
        rejected += result.pvalue <= 0.05
    assert 2 <= rejected <= 11  # 6, and two standard errors


@pytest.mark.slow
@pytest.mark.parametrize("quality", ["mcdp", "selection_rate"])
def test_within_strata_it_is_the_largest_of_each_stratum(quality):
    rng = np.random.default_rng(0)
    n = 600
    people = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], n), "race": rng.choice(list("abc"), n)}
    )
    town = rng.choice(["x", "y", "z"], n)
    concerned = (people["sex"] == "F") & (people["race"] == "b") & (town == "y")
    y_score = rng.beta(np.where(concerned, 12, 3), 3).round(2)
    if quality != "mcdp":
        y_score = (y_score > 0.5).astype(int)
    options = {"quality": quality, "min_group_size": 20, "n_permutations": 9}
    options["random_state"] = 0
    found = worst_subgroup(
        None, y_score, sensitive_features=people, control_features=town, **options
    )
    each = {
        label: worst_subgroup(
            None,
            y_score[town == label],
            sensitive_features=people[town == label],
            **options,
        )
        for label in ("x", "y", "z")
    }
    assert found.stratum == "y"
    assert found.subgroup == "sex = F and race = b"
    assert found.value == max(one.value for one in each.values())
    assert found.pvalue == 0.1
    own = found.table[found.table["stratum"] == "y"].drop(columns=["stratum", "pvalue"])
    expected = each["y"].table.drop(columns="pvalue")
    pd.testing.assert_frame_equal(own, expected.loc[own.index])


def test_strata_without_subgroups_are_named():
    sex, town = ["F", "M"] * 6, ["x"] * 10 + ["y"] * 2
    y_score = np.linspace(0, 1, 12)
    options = {"sensitive_features": sex, "control_features": town}
    options |= {"n_permutations": 5, "random_state": 0}
    with pytest.warns(UndefinedMetricWarning, match=r"leaves out .*'y' \(no conjunc"):
        found = worst_subgroup(None, y_score, min_group_size=3, **options)
    alone = worst_subgroup(
        None, y_score[:10], sensitive_features=sex[:10], min_group_size=3
    )
    assert (found.value, found.stratum) == (alone.value, "x")
    with pytest.warns(UndefinedMetricWarning, match="worst_subgroup is undefined"):
        found = worst_subgroup(None, y_score, min_group_size=9, **options)
    assert np.isnan(found.value)
    assert found.stratum is None
    strata = encode_groups(town, min_group_size=3)
    options["control_features"] = strata
    with pytest.warns(UndefinedMetricWarning, match=r"'y' \(it has 2 rows, at"):
        found = worst_subgroup(None, y_score, min_group_size=1, **options)
    assert found.stratum == "x"


def test_numbers_by_their_ranks(people):
    """Increasing maps change thresholds only, which are in the unit of the scores."""
    columns, scores = people
    options = {"sensitive_features": columns[["sex", "race"]]}
    options |= {"random_state": 0, "n_permutations": 9}
    plain = worst_subgroup(None, scores, **options)
    compares_numbers = worst_subgroup(
        None, 1_000 * scores - 500, scale="rank", **options
    )
    assert compares_numbers.value == plain.value
    assert compares_numbers.pvalue == plain.pvalue
    expected = plain.table.assign(score=1_000 * plain.table["score"] - 500)
    pd.testing.assert_frame_equal(compares_numbers.table, expected)
    for bad, match in (
        ({"scale": "real"}, "scale must be 'probability' or 'rank'"),
        ({"scale": "rank", "quality": "selection_rate"}, "unless quality is 'mcdp'"),
    ):
        with pytest.raises(ValueError, match=match):
            worst_subgroup(None, scores > 0.5, **options, **bad)
