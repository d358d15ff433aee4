"""Sections of a report on what a gap goes with."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair._utils._text import DASH
from skfair.inspection import explained_gap
from skfair.report import FairnessReport


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(["F", "M"], [150, 250]))
    X = rng.normal(size=(400, 2))
    X[:, 0] += group == "M"
    y = (X.sum(axis=1) + rng.normal(size=400) > 0.5).astype(int)
    return X, y, group, LogisticRegression().fit(X, y)


@pytest.fixture(scope="module")
def results(rows):
    X, _, group, model = rows
    given = {"sensitive_features": group, "random_state": 0}
    scores = model.predict_proba(X)[:, 1]
    columns = {"<b>hours": X[:, 0].round()}
    return (
        explained_gap(scores, explained_by=columns, **given),
        explained_gap(scores, explained_by=columns, population="F", **given),
    )


def report_of(rows, **options):
    _, y, group, model = rows
    return FairnessReport.from_predictions(
        y,
        model.predict_proba(rows[0])[:, 1],
        sensitive_features={"sex": group},
        n_permutations=99,
        n_resamples=50,
        random_state=0,
        **options,
    )


def test_sections_have_the_numbers_of_the_results(rows, results):
    plain = report_of(rows)
    report = plain.with_explanations(results[0]).with_explanations(results[1])
    assert "why" not in plain.summary
    sections = report.summary["why"]
    for section, result in zip(sections, results, strict=True):
        row = result.table.iloc[0]
        assert section["rows"][0][1].startswith(f"{row.remaining:.3f} (")
        assert f"{result.value:.3f} (" in section["texts"][0]
    assert "where all groups have people" in sections[0]["texts"][0]
    assert "with the columns of F" in sections[1]["texts"][0]
    assert json.loads(json.dumps(report.summary)) == report.summary
    restored = FairnessReport(report.summary)
    assert restored.to_markdown() == report.to_markdown()
    for text in (sections[0]["title"], sections[1]["texts"][0]):
        assert text in report.to_markdown()


@pytest.mark.slow
def test_labels_are_data_on_the_page(rows, results):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    report = report_of(rows).with_explanations(*results)
    page = report.to_html()
    assert "<b>hours" not in page
    assert "&lt;b&gt;hours" in page
    for part in report.summary["why"]:
        assert part["title"] in page
        assert part["rows"][0][1] in page


@pytest.mark.slow
def test_undefined_gaps_are_dashes(rows, results):
    given = {"sensitive_features": np.zeros(400), "random_state": 0}
    with pytest.warns(UserWarning, match="undefined"):
        undefined = explained_gap(rows[1], explained_by=rows[1], **given)
    report = report_of(rows)
    with pytest.raises(TypeError, match="explained_gap, got int"):
        report.with_explanations(3)
    section = report.with_explanations(undefined).summary["why"][0]
    assert section["rows"][0][1:3] == [DASH, DASH]
    assert section["rows"][0][-1] == DASH
