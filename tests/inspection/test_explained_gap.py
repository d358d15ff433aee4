"""What a gap goes with: standardisation, overlap and intervals."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, stdtrit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from skfair.datasets import load_berkeley_admissions
from skfair.groups import encode_groups
from skfair.inspection import explained_gap
from skfair.metrics import (
    demographic_parity_difference,
    mcdp,
    values_by_stratum,
)

BOOSTED = HistGradientBoostingClassifier(
    max_iter=5, categorical_features="from_dtype", random_state=0
)
METRICS = {
    "mcdp": mcdp,
    "demographic_parity_difference": demographic_parity_difference,
}


@pytest.fixture
def people():
    """Columns, groups and scores of 600 people; scores depend on all of the columns."""
    rng = np.random.default_rng(0)
    hours = rng.normal(40, 8, 600)
    job = rng.choice(["clerk", "cook", "nurse"], 600)
    logit = (hours - 40) / 10 + (job == "cook")
    sex = np.where(rng.random(600) < expit(logit), "M", "F")
    score = expit(logit + 0.5 * (sex == "M") + rng.normal(size=600))
    return pd.DataFrame({"hours": hours, "job": job}), sex, score


@pytest.fixture(scope="module")
def berkeley():
    return load_berkeley_admissions(return_X_y=True)


def mantel_haenszel(score, group, cells, thresholds):
    """Largest weighted mean, over cells, of the gap at a threshold, by its definition.

    The weight of a cell is n_0 n_1 / n.
    """
    gaps, total = np.zeros(len(thresholds)), 0.0
    for cell in np.unique(cells):
        first, second = (score[(cells == cell) & (group == g)] for g in (0, 1))
        if len(first) and len(second):
            weight = len(first) * len(second) / (len(first) + len(second))
            at = [np.mean(x[:, None] <= thresholds, axis=0) for x in (first, second)]
            gaps, total = gaps + weight * (at[0] - at[1]), total + weight
    return np.abs(gaps / total)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.data())
@pytest.mark.promise("What remains of a gap is the difference of Mantel and Haenszel")
def test_cells_are_compared_by_mantel_and_haenszel(data):
    n_rows = data.draw(st.integers(60, 120))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    cells, group = rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    group[:6], cells[:6] = [0, 1] * 3, np.repeat(np.arange(3), 2)
    score = rng.integers(0, 6, n_rows) / 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = explained_gap(
            score, sensitive_features=group, explained_by=cells, random_state=0
        )
    line = result.table.iloc[0]
    expected = mantel_haenszel(score, group, cells, np.unique(score)).max()
    assert line["remaining"] == pytest.approx(expected, abs=1e-12)
    assert line["remaining"] + line["explained"] == pytest.approx(result.value)
    rows = {"sensitive_features": group, "control_features": cells}
    assert line["remaining"] <= mcdp(None, score, **rows) + 1e-12
    assert line["remaining_lower"] <= line["remaining"] <= line["remaining_upper"]


def test_berkeley_is_what_its_departments_say(berkeley):
    X, y = berkeley
    rows = {"sensitive_features": X["sex"]}
    parity = demographic_parity_difference
    result = explained_gap(
        y, explained_by=X["department"], metric=parity.__name__, **rows
    )
    assert result.value == parity(None, y, **rows)
    applied = pd.crosstab(X["department"], X["sex"])
    rates = y.groupby([X["department"], X["sex"]], observed=True).mean().unstack()
    weights = applied["men"] * applied["women"] / applied.sum(axis=1)
    differences = rates["men"] - rates["women"]
    expected = abs(np.average(differences, weights=weights))
    assert result.table["remaining"].item() == pytest.approx(expected, abs=1e-12)
    # Given the women's departments, each department counts by its women.
    women = explained_gap(
        y,
        explained_by=X["department"],
        metric=parity.__name__,
        population="women",
        **rows,
    )
    expected = abs(np.average(differences, weights=applied["women"]))
    assert women.table["remaining"].item() == pytest.approx(expected, abs=1e-12)
    # One department is a stratum of `control_features`.
    by_department = values_by_stratum(
        parity, None, y, **rows, control_features=X["department"]
    )
    for name in "AF":
        inside = X["department"] == name
        alone = explained_gap(
            y[inside],
            sensitive_features=X["sex"][inside],
            explained_by=X["department"][inside],
            metric=parity.__name__,
        )
        value = by_department.loc[name, "value"]
        assert alone.table["remaining"].item() == pytest.approx(value, abs=1e-12)


def test_scores_that_depend_on_the_columns_alone_leave_nothing(berkeley):
    X, y = berkeley
    score = y.groupby(X["department"], observed=True).transform("mean")
    rows = {"sensitive_features": X["sex"]}
    for metric in METRICS:
        result = explained_gap(
            score, explained_by=X["department"], metric=metric, **rows
        )
        line = result.table.iloc[0]
        assert line["remaining"] == pytest.approx(0, abs=1e-12)
        assert line["remaining_upper"] < 0.01
        assert line["explained"] == pytest.approx(METRICS[metric](None, score, **rows))


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_columns_that_say_nothing_explain_nothing(people, metric):
    _, sex, score = people
    result = explained_gap(
        score, sensitive_features=sex, explained_by=np.ones(600), metric=metric
    )
    line = result.table.iloc[0]
    assert result.value == METRICS[metric](None, score, sensitive_features=sex)
    assert line["remaining"] == pytest.approx(result.value)
    assert line["explained_lower"] == pytest.approx(0, abs=1e-6)
    assert line["explained_upper"] == pytest.approx(0, abs=1e-6)
    assert line["no_overlap"] == 0
    sizes = result.effective_sizes.iloc[0]
    assert sizes.to_dict() == pytest.approx(pd.Series(sex).value_counts().to_dict())


@pytest.mark.slow
def test_columns_are_numbers_or_categories_in_any_container(people):
    columns, sex, score = people
    given = [columns, columns.astype({"job": "category"}), pl.from_pandas(columns)]
    rows = {"sensitive_features": sex, "estimator": BOOSTED, "random_state": 0}
    results = [explained_gap(score, explained_by=one, **rows) for one in given]
    for one in results:
        assert one.table.index.tolist() == ["hours and job"]
        pd.testing.assert_frame_equal(one.table, results[0].table)
    assert 0 < results[0].table["remaining"].item() < results[0].value
    unnamed = explained_gap(score, sensitive_features=sex, explained_by=columns["job"])
    array = columns["job"].to_numpy(object)
    alone = explained_gap(score, sensitive_features=sex, explained_by=array)
    assert alone.table.index.tolist() == ["explained_by"]
    assert alone.table["remaining"].item() == unnamed.table["remaining"].item()


@pytest.mark.slow
def test_sets_are_taken_alone_and_together_in_their_order(people):
    columns, sex, score = people
    rows = {"sensitive_features": sex, "estimator": LogisticRegression()}
    numbers = {"hours": columns["hours"], "cook": columns["job"] == "cook"}
    result = explained_gap(score, explained_by=numbers, random_state=0, **rows)
    assert result.table.index.tolist() == ["hours", "cook", "hours + cook"]
    both = explained_gap(
        score, explained_by=pd.DataFrame(numbers), random_state=0, **rows
    )
    assert result.table["remaining"].iloc[2] == pytest.approx(
        both.table["remaining"].item(), abs=0.02
    )
    assert result.table["remaining"].iloc[2] < result.table["remaining"].min() + 1e-9


@pytest.mark.slow
def test_weights_count_rows(people):
    columns, sex, score = people
    times = np.random.default_rng(1).integers(0, 3, 600)
    rows = np.repeat(np.arange(600), times)
    weighted = explained_gap(
        score, sensitive_features=sex, explained_by=columns["job"], sample_weight=times
    )
    repeated = explained_gap(
        score[rows],
        sensitive_features=sex[rows],
        explained_by=columns["job"].iloc[rows],
    )
    for name in ("remaining", "explained", "no_overlap"):
        pd.testing.assert_series_equal(weighted.table[name], repeated.table[name])


def test_several_groups_are_compared_on_the_people_that_all_have():
    rng = np.random.default_rng(0)
    cells, group = rng.integers(0, 2, 900), rng.integers(0, 3, 900)
    cells[group == 2] = rng.random((group == 2).sum()) < 0.8
    score = rng.integers(0, 11, 900) / 10
    result = explained_gap(score, sensitive_features=group, explained_by=cells)
    counts = np.array([np.bincount(group[cells == c]) for c in (0, 1)])
    harmonic = counts.sum(1) / (1 / (counts / counts.sum(1)[:, None])).sum(1)
    parts = [[score[(cells == c) & (group == g)] for g in range(3)] for c in (0, 1)]
    shares = np.array(
        [[np.mean(part[:, None] <= score, axis=0) for part in cell] for cell in parts]
    )
    cdfs = np.average(shares, weights=harmonic, axis=0)
    expected = (cdfs.max(axis=0) - cdfs.min(axis=0)).max()
    assert result.table["remaining"].item() == pytest.approx(expected, abs=1e-12)
    assert result.effective_sizes.shape == (1, 3)


@pytest.mark.slow
def test_hardly_any_overlap_is_warned_of(people):
    _, sex, score = people
    proxy = np.where(np.arange(600) % 20 == 0, "both", sex)
    with pytest.warns(UserWarning, match="hardly overlap in 'explained_by'.*95% of"):
        result = explained_gap(score, sensitive_features=sex, explained_by=proxy)
    assert result.table["no_overlap"].item() == pytest.approx(0.95)
    with pytest.warns(UserWarning, match="hardly overlap"):
        result = explained_gap(score, sensitive_features=sex, explained_by=sex)
    assert result.table[["remaining", "explained_lower"]].isna().all(axis=None)
    assert result.value > 0
    assert result.table["effective_size"].item() == 0


def test_groups_that_cannot_be_compared(people):
    columns, sex, score = people
    groups = encode_groups(sex, labels=["F", "M", "X"])
    with pytest.warns(UndefinedMetricWarning, match="'X' has 0 rows"):
        result = explained_gap(score, sensitive_features=groups, explained_by=columns)
    assert np.isnan(result.value)
    assert result.table.isna().all(axis=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "madd"}, "metric must be 'mcdp' or 'demographic_parity_"),
        (
            {"population": "X"},
            "population must be 'overlap' or one of the groups",
        ),
        (
            {"explained_by": [1, 2]},
            "explained_by must have 600 rows, .*got 2",
        ),
        ({"explained_by": {}}, "explained_by is an empty dictionary"),
        ({"estimator": RidgeClassifier()}, "estimator must be a classifier with pred"),
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
        ({"cv": 301}, r"cv must be at most \d+, the number of rows of the smallest"),
        ({"sample_weight": np.zeros(600)}, "sample_weight is zero for every row of"),
        ({"confidence_level": 1}, "confidence_level must be a number in"),
    ],
)
def test_what_is_wrong_is_named(people, change, message):
    columns, sex, score = people
    given = {"sensitive_features": sex, "explained_by": columns} | change
    with pytest.raises(ValueError, match=message):
        explained_gap(score, **given)


@pytest.mark.slow
def test_bars_are_those_of_the_table(people):
    columns, sex, score = people
    sets = {"hours": columns["hours"].round(-1), "$job$": columns["job"]}
    result = explained_gap(score, sensitive_features=sex, explained_by=sets)
    display = result.plot(name="pay")
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == result.table["remaining"].tolist()
    ends = [path.vertices[:, 0].tolist() for path in display.intervals_.get_paths()]
    assert ends == result.table[["remaining_lower", "remaining_upper"]].values.tolist()
    assert display.total_line_.get_xdata()[0] == result.value
    assert display.total_band_.get_label() == "As it is, 0.95 interval"
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert shown[1].startswith(r"\$job\$" + "\n(effective n = ")
    assert display.ax_.get_title() == "pay"
    assert display.ax_.get_xlabel() == "mcdp"


def draw(seed, direct, cells):
    """Columns, groups and scores of 1,500 people."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(1500, 2))
    if cells:
        columns = np.clip(np.floor(columns) + 2, 0, 3)
    group = (rng.random(1500) < expit(0.7 * columns[:, 0])).astype(int)
    logit = 0.6 * columns[:, 0] + 0.3 * columns[:, 1] + direct * group
    return columns, group, expit(logit + rng.normal(size=1500))


@pytest.mark.slow
@pytest.mark.parametrize(("direct", "cells"), [(0.0, True), (0.5, False)])
@pytest.mark.promise("Intervals cover what truly remains of a gap")
def test_intervals_cover_what_truly_remains(direct, cells):
    # Given the columns the log-odds are normal, shifted by `direct`. With overlap
    # weights the CDFs are mixtures, whose gap is found from a million people.
    rng = np.random.default_rng(99)
    columns = rng.normal(size=(10**6, 2))
    if cells:
        columns = np.clip(np.floor(columns) + 2, 0, 3)
    p = expit(0.7 * columns[:, 0])
    logit = 0.6 * columns[:, 0] + 0.3 * columns[:, 1] + rng.normal(size=10**6)
    rows = {"sensitive_features": np.repeat([0, 1], 10**6)}
    scores = expit(np.concatenate([logit, logit + direct]))
    truth = mcdp(None, scores, **rows, sample_weight=np.tile(p * (1 - p), 2))
    covered = 0
    for seed in range(30):
        columns, group, score = draw(seed, direct, cells)
        line = explained_gap(
            score,
            sensitive_features=group,
            explained_by=columns,
            estimator=None if cells else LogisticRegression(),
            random_state=seed,
        ).table.iloc[0]
        covered += line["remaining_lower"] <= truth <= line["remaining_upper"]
    assert covered >= 26  # 95 %, less 2.1 standard errors


def scored_by_columns(n_rows, n_of_group, seed):
    """Rows of two groups whose scores depend on a column only."""
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 4, n_rows)
    odds = n_of_group / n_rows * np.exp(0.7 * (column - 1.5))
    group = (rng.random(n_rows) < odds / (1 + odds)).astype(int)
    logit = 0.6 * column + rng.normal(size=n_rows)
    return column, group, 1 / (1 + np.exp(-logit))


@pytest.mark.slow
def test_what_a_small_group_explains_is_not_below_the_truth():
    column, group, score = scored_by_columns(1_000_000, 60_000, 12345)
    rows = {"sensitive_features": group}
    truth = demographic_parity_difference(None, score, **rows)  # nothing remains
    too_low = 0
    for seed in range(60):
        column, group, score = scored_by_columns(1000, 60, seed)
        result = explained_gap(
            score,
            sensitive_features=group,
            explained_by=column,
            metric="demographic_parity_difference",
            random_state=seed,
        )
        too_low += result.table["explained_upper"].iloc[0] < truth
    assert too_low <= 3


@pytest.mark.slow
def test_the_size_of_weights_says_nothing():
    column, group, score = scored_by_columns(400, 100, 0)
    weights = np.random.default_rng(0).uniform(0.5, 2, 400)
    tables = [
        explained_gap(
            score,
            sensitive_features=group,
            explained_by=column.astype(float),
            estimator=LogisticRegression(),
            sample_weight=times * weights,
            random_state=0,
        ).table
        for times in (1, 1e-9, 1e6)
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


def test_the_interval_of_a_group_of_ten_is_as_wide_as_students():
    scores = np.append(np.linspace(0.3, 0.7, 2_000), np.arange(10) / 10)
    with pytest.warns(UserWarning, match="least effective size 10"):
        result = explained_gap(
            scores,
            sensitive_features=np.repeat(["many", "ten"], [2_000, 10]),
            explained_by=np.zeros(2_010),
            metric="demographic_parity_difference",
            random_state=0,
        )
    error = np.std(scores[-10:], ddof=1) / np.sqrt(10)
    assert result.upper - result.value >= 0.95 * stdtrit(9, 0.975) * error
