"""Summary and frame of the report: their form, and what they depend on."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.mark.slow
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


def test_summary_is_json(small_report, make_report, scored):
    y_true, y_score, _ = scored
    one_group = make_report(y_true, y_score, sensitive_features=["a"] * 600)
    for made in (small_report, one_group):
        text = json.dumps(made.summary, allow_nan=False)
        again = type(made)(json.loads(text))
        pd.testing.assert_frame_equal(again.to_frame(), made.to_frame())


@pytest.mark.slow
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
