"""The data page: sizes, base rates, missing values, proxies and distances."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from skfair.groups import CROSS, encode_groups
from skfair.metrics import mcdp
from skfair.report import DataReport
from skfair.report._data_numbers import _auc, read_column
from skfair.sampling import rows_to_certify


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 1_000
    sex = rng.choice(["F", "M"], n, p=[0.4, 0.6])
    race = rng.choice(["a", "b", "c", None], n, p=[0.7, 0.2, 0.05, 0.05])
    hours = 38 + 6 * (sex == "M") + rng.normal(0, 6, n)
    hours[(rng.random(n) < 0.2) & (sex == "F")] = np.nan
    job = np.where(rng.random(n) < 0.6, np.char.add(sex, "-job"), "other")
    frame = pd.DataFrame({"sex": sex, "race": race, "hours": hours, "job": job})
    return frame, (rng.random(n) < 0.3 + 0.2 * (sex == "M")).astype(int)


@pytest.fixture(scope="module")
def report(people):
    return DataReport.from_frame(*people, sensitive_features=["sex", "race"])


def attribute(report, name):
    return next(a for a in report.summary["attributes"] if a["name"] == name)


def test_groups_are_counted_and_rated(report, people):
    frame, y = people
    found = pd.DataFrame(attribute(report, "sex")["groups"]).set_index("label")
    expected = pd.Series(y).groupby(frame.sex)
    assert found.n.to_dict() == expected.size().to_dict()
    assert found.base_rate.to_dict() == pytest.approx(expected.mean().to_dict())
    assert (found.lower < found.base_rate).all()
    assert (found.base_rate < found.upper).all()
    assert found.share.sum() == pytest.approx(1)
    share = found.share["F"]
    needed = rows_to_certify(0.1, [share, 1 - share])
    assert found.n_needed["F"] == needed
    assert found.own_needed["F"] == int(np.ceil(needed * share))
    assert attribute(report, "race")["n_missing"] == frame.race.isna().sum()
    both = attribute(report, CROSS.join(["sex", "race"]))
    assert sum(g["n"] for g in both["groups"]) == frame.race.notna().sum()


def test_missing_values_are_counted_by_group(report, people):
    (row,) = attribute(report, "sex")["missing"]
    lacking = people[0].hours.isna().groupby(people[0].sex).mean()
    assert row["column"] == "hours"
    assert (row["most"], row["most_in"]) == (pytest.approx(lacking["F"]), "F")
    assert (row["least"], row["least_in"]) == (0, "M")


def test_proxies_are_found(report):
    by_sex = {row["column"]: row for row in attribute(report, "sex")["proxies"]}
    assert [*by_sex] == ["job", "hours"]
    assert by_sex["job"]["auc"] > 0.85
    assert by_sex["hours"]["lower"] > 0.65
    for row in attribute(report, "race")["proxies"]:
        assert row["lower"] < 0.5 < row["upper"]


def test_auc_is_that_of_shares_learnt_on_the_other_half():
    rng = np.random.default_rng(0)
    groups = encode_groups(rng.choice(["a", "b"], 200))
    cells = groups.codes * 2 + rng.integers(0, 3, 200)
    found, fewest = _auc(groups, 1, cells, seed=0)
    # With few cells, shares of either half have the order of those of all rows.
    share = pd.Series(groups.codes == 1).groupby(cells).mean()
    whole = roc_auc_score(groups.codes == 1, share[cells])
    assert found == pytest.approx(whole, abs=0.05)
    assert fewest == (min(groups.sizes()) + 1) // 2


@pytest.mark.slow
def test_intervals_of_columns_of_noise_contain_one_half():
    missed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"x": rng.normal(size=400)})
        report = DataReport.from_frame(
            frame, sensitive_features=rng.choice(["a", "b", "c"], 400)
        )
        (row,) = report.summary["attributes"][0]["proxies"]
        missed += not row["lower"] <= 0.5 <= row["upper"]
    assert missed <= 20  # 5 % of 200, and four standard deviations


def test_distances_are_those_of_mcdp(report, people):
    frame = people[0][people[0].hours.notna()]
    (row,) = attribute(report, "sex")["distances"]
    given = {"sensitive_features": frame.sex, "scale": "rank"}
    assert row["value"] == pytest.approx(mcdp(None, frame.hours, **given))
    assert row["lower"] < row["value"] < row["upper"]


@pytest.mark.parametrize(
    ("values", "cells", "is_number"),
    [
        ([1, 2, None, 2], [0, 1, 2, 1], True),
        (["x", "y", None, "x"], [0, 1, 2, 0], False),
        ([True, False, True, True], [0, 1, 0, 0], False),
        (["1", "2", "1", "1"], [0, 1, 0, 0], False),
    ],
)
def test_columns_are_encoded(values, cells, is_number):
    column = read_column("x", values)
    assert column.cells.tolist() == cells
    assert (column.numbers is not None) == is_number
    assert column.missing.tolist() == [v is None for v in values]


def test_many_numbers_are_split_into_intervals():
    column = read_column("x", [*np.arange(100.0), None])
    assert len(set(column.cells)) == 21
    assert column.cells[-1] == 20


def test_report_is_json_and_text(report):
    assert report.to_dict() == report.summary
    json.dumps(report.summary, allow_nan=False)
    text = str(report)
    assert "Proxies of sex" in text
    assert "The column “job” tells sex" in text
    assert (
        repr(report) == f"DataReport(1,000 rows, groups by sex, race, sex{CROSS}race)"
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_page_has_the_numbers(language, people):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    frame, y = people
    labels = np.where(frame.sex == "F", "<b>F</b>", "M")
    report = DataReport.from_frame(
        frame, y, sensitive_features={"sex": labels}, language=language
    )
    page = report.to_html(date="2026-01-31", source="people.csv")
    assert "<script" not in page
    assert "<b>F</b>" not in page
    assert "people.csv" in page
    assert report.to_html() == DataReport(report.to_dict()).to_html()
    row = report.summary["attributes"][0]["groups"][0]
    rate = f"{100 * row['base_rate']:.1f}"
    assert (rate if language == "en" else rate.replace(".", ",")) in page


def test_other_containers_and_no_labels(people):
    frame, y = people
    array = np.column_stack([frame.sex == "F", frame.hours.fillna(0)]).astype(float)
    report = DataReport.from_frame(array, sensitive_features=0)
    (one,) = report.summary["attributes"]
    assert [row["column"] for row in one["proxies"]] == ["1"]
    assert one["groups"][0]["base_rate"] is None
    alone = DataReport.from_frame(array, sensitive_features=np.zeros(len(y)))
    assert alone.summary["attributes"][0]["proxies"] == []
    assert "0" in str(alone)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "y has 2 rows, expected 1000"),
        ({"sensitive_features": ["a", "b", "c"] * 2}, "6|no column|columns"),
        ({"limit": 0}, "limit must be"),
        ({"language": "fr"}, "language must be"),
        ({"y": ["a", "b"] * 500}, "pos_label must say"),
        ({"X": []}, "X has 0 rows"),
        ({"sensitive_features": {"sex": ["a"] * 9}}, "has 9 rows, expected 1000"),
    ],
)
def test_bad_input_is_named(change, message, people):
    frame, y = people
    given = {"X": frame, "y": y, "sensitive_features": "sex"} | change
    with pytest.raises(ValueError, match=message):
        DataReport.from_frame(given.pop("X"), given.pop("y"), **given)
