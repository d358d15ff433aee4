"""Summary and frame of the report: their form, and what they depend on."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.metrics import mcdp


@pytest.mark.slow
def test_processes_give_the_same_numbers(make_report, scored):
    y_true, y_score, people = scored
    options = {"sensitive_features": people, "metrics": ["mcdp", "dcp"]}
    parallel = make_report(y_true, y_score, n_jobs=2, **options)
    pd.testing.assert_frame_equal(
        parallel.to_frame(), make_report(y_true, y_score, **options).to_frame()
    )


def test_seeds(make_report, scored):
    y_true, y_score, people = scored
    options = {"sensitive_features": people["sex"], "metrics": ["mcdp"]}
    drawn = make_report(y_true, y_score, random_state=None, **options)
    seed = drawn.summary["settings"]["random_state"]
    again = make_report(y_true, y_score, random_state=seed, **options)
    assert again.summary == drawn.summary
    other = make_report(
        y_true, y_score, random_state=np.random.RandomState(5), **options
    )
    assert other.to_frame().loc[0, "null_mean"] != drawn.to_frame().loc[0, "null_mean"]


def test_summary_is_json(report, make_report, scored):
    y_true, y_score, _ = scored
    one_group = make_report(y_true, y_score, sensitive_features=["a"] * 600)
    for made in (report, one_group):
        text = json.dumps(made.summary, allow_nan=False)
        again = type(made)(json.loads(text))
        pd.testing.assert_frame_equal(again.to_frame(), made.to_frame())


def test_frame(report):
    frame = report.to_frame()
    assert len(frame) == 2 * 3 * len(report.summary["settings"]["calls"])
    assert frame["model"].unique().tolist() == ["plain", "flat"]
    assert frame["attribute"].unique().tolist()[:2] == ["sex", "race"]
    assert (frame["lower"] <= frame["upper"]).all()
    sizes = frame.groupby("attribute")["smallest_group"].first()
    assert (frame["n"] == 600).all()
    assert sizes.iloc[0] > 0
    assert frame["sentence"].str.endswith(".").all()


def test_groups_keep_their_policy(make_report, scored):
    y_true, y_score, people = scored
    race = people["race"].where(people.index > 40)
    groups = encode_groups(race, missing="drop")
    report = make_report(
        y_true, y_score, sensitive_features={"race": groups}, metrics=["mcdp"]
    )
    expected = mcdp(None, y_score, sensitive_features=groups)
    assert report.to_frame().loc[0, "value"] == pytest.approx(expected)
    assert report.summary["attributes"][0]["n_missing"] == 41
    assert "race: 41 rows (6.8%) without a group are left out" in " ".join(
        report.summary["cautions"]
    )
