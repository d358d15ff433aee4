"""What a page says first: rates by group, a limit of the reader, and light reports."""

import json
import re

import numpy as np
import pytest

from skfair.report import FairnessReport

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

LIGHT = ["demographic_parity_difference", "equalized_odds_difference"]


@pytest.fixture(scope="module")
def make_light(make_report, scored):
    y_true, y_score, people = scored

    def make(**options):
        given = {"sensitive_features": {"sex": people["sex"]}, "metrics": LIGHT}
        return make_report(y_true, y_score, **given | options)

    return make


@pytest.fixture(scope="module")
def untested(make_light):
    return make_light(n_permutations=0)


def test_a_report_without_permutations_says_so(untested, make_light):
    frame = untested.to_frame()
    assert frame.pvalue.isna().all()
    assert frame.null_mean.isna().all()
    assert frame.lower.notna().all()
    tested = make_light().to_frame()
    for name in ("value", "lower", "upper", "certified"):
        np.testing.assert_array_equal(frame[name], tested[name])
    lead = untested.summary["verdict"]["leads"][0]["text"]
    assert lead == "By sex, differences are measured, and not tested."
    page = untested.to_html()
    assert "no test was made (n_permutations=0)" in page
    assert "Beyond chance” means" not in page
    assert "value</th>" not in page
    assert "Share of such random assignments" not in page
    assert "| p-value" not in untested.to_markdown()


def test_few_permutations_are_still_refused(make_light):
    with pytest.raises(ValueError, match="n_permutations must be 0, or"):
        make_light(n_permutations=58)


def shown(page):
    """Texts of the chart of rates."""
    (chart,) = re.findall(r'<svg class="rates".*?</svg>', page, re.S)
    return chart


def test_the_chart_of_rates_has_every_group_with_interval_and_size(make_light):
    report = make_light()
    chart = shown(report.to_html())
    for group in report.summary["attributes"][0]["results"][0]["groups"]:
        assert f"{100 * group['selection_rate']:.1f}%" in chart
        assert f"{group['n']:,}" in chart
    assert "limit" not in chart


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (0.9, "Certified to be at most 0.9"),
        (0.001, "Above the limit 0.001"),
    ],
)
def test_a_limit_is_a_line_and_a_sentence(limit, sentence, make_light):
    report = make_light(limit=limit)
    (lead,) = report.summary["verdict"]["leads"]
    assert any(sentence in text for text in lead["further"])
    measures = report.summary["attributes"][0]["results"][0]["measures"]
    for measure in measures:
        assert ("Certified" in sentence) == (measure["certified"] <= limit)
    page = report.to_html()
    rates = [
        g["selection_rate"]
        for g in report.summary["attributes"][0]["results"][0]["groups"]
    ]
    assert ('class="limit"' in shown(page)) == (max(rates) - limit > 0)
    assert json.loads(json.dumps(report.summary))["settings"]["limit"] == limit


def test_undecided_is_said(make_light):
    wide = make_light()
    measure = wide.summary["attributes"][0]["results"][0]["measures"][0]
    limit = (measure["value"] + measure["certified"]) / 2
    (lead,) = make_light(limit=limit).summary["verdict"]["leads"]
    assert any("cannot tell" in text for text in lead["further"])


def test_the_verdict_has_three_sentences(make_light):
    (lead,) = make_light(limit=0.1).summary["verdict"]["leads"]
    assert len(lead["further"]) == 2
    assert lead["further"][0].startswith("The largest difference of selection rates")


def test_limits_out_of_range_are_refused(make_light):
    with pytest.raises(ValueError, match="limit must be"):
        make_light(limit=2)


@pytest.mark.slow
def test_labels_in_the_chart_are_inert(make_light, scored):
    sex = np.where(scored[2]["sex"] == "F", "</text><script>1</script>", "M" * 80)
    page = make_light(sensitive_features=sex).to_html()
    assert "<script" not in page
    assert "M" * 60 not in shown(page)


def test_several_models_are_one_table_and_folded_details(make_report, scored):
    y_true, y_score, people = scored
    report = make_report(
        y_true,
        {"plain": y_score, "flat": np.sqrt(y_score)},
        sensitive_features={"sex": people["sex"]},
        metrics=LIGHT,
    )
    page = report.to_html()
    assert page.count('<table class="models">') == 1
    unfolded = re.sub(r"<details.*?</details>", "", page, flags=re.S)
    assert unfolded.count('class="measures"') == 0
    assert page.count('class="measures"') == 2
    assert page.count('class="rates"') == 0
    for model in report.summary["models"]:
        assert f"{model['performance']['accuracy']:.3f}" in unfolded


@pytest.mark.slow
def test_a_summary_of_an_older_version_still_has_a_page(make_light):
    summary = json.loads(json.dumps(make_light().summary))
    del summary["settings"]["limit"]
    for lead in summary["verdict"]["leads"]:
        del lead["further"]
    assert "<h1>" in FairnessReport(summary).to_html()
