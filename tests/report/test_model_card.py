"""A report as sections of a model card of skops."""

import pytest

from skfair.report import FairnessReport

pytestmark = pytest.mark.slow  # skops takes a second to be imported


@pytest.fixture
def model_card():
    card = pytest.importorskip("skops.card", reason="the extra skops")
    return card.Card(None, template={"Evaluation": "", "Citation": "none"})


@pytest.fixture(scope="module")
def odd_report(make_report, scored):
    """Report whose names hold what separates sections, and markup."""
    y_true, y_score, people = scored
    return make_report(
        y_true,
        {"a/b_c": y_score},
        sensitive_features={"sex | s/t": people["sex"]},
        metrics=["mcdp", "demographic_parity_difference"],
        impact_ratios=True,
        control_features=people["race"],
    )


def test_sections_have_the_figures_sizes_and_intervals(odd_report, model_card):
    assert odd_report.to_model_card(model_card) is model_card
    result = odd_report.summary["attributes"][0]["results"][0]
    name = r"sex \| s\/t, a\/b\_c"
    text = model_card.select(f"Fairness/{name}").content
    for measure in result["measures"]:
        row = next(
            r for r in text.splitlines() if r.startswith(f"| {measure['title']}")
        )
        assert f"| {measure['value']:.3f} |" in row
        if measure["lower"] is not None:
            assert f"| {measure['lower']:.3f} to {measure['upper']:.3f} |" in row
    text = model_card.select(f"Fairness/{name}/Groups: {name}").content
    for group in result["groups"]:
        start = f"| {group['label']} | {group['n']} | {group['selection_rate']:.3f} |"
        ends = f" {group['lower']:.3f} to {group['upper']:.3f} |"
        assert f"\n{start}{ends}" in text


def test_the_card_says_what_the_markdown_says(odd_report, model_card):
    odd_report.to_model_card(model_card, date="2026-03-02", source="a.csv")
    rendered = model_card.render()
    lines = odd_report.to_markdown(date="2026-03-02", source="a.csv").splitlines()
    for line in lines[1:]:
        assert line.lstrip("#") in rendered
    headings = [line for line in rendered.splitlines() if line.startswith("#")]
    assert "# Fairness" in headings
    assert "## sex \\| s/t, a/b\\_c" in headings
    assert "### Impact ratios of scoring rates: sex \\| s/t, a/b\\_c" in headings
    assert "### Within strata: sex \\| s/t, a/b\\_c" in headings


def test_a_section_within_a_section_and_others_stay(odd_report, model_card):
    odd_report.to_model_card(model_card, section="Evaluation/Disparities")
    assert model_card.select("Evaluation/Disparities").content.startswith("600 rows.")
    assert model_card.select("Citation").content == "none"
    place = "Evaluation/Disparities/What this report cannot show"
    assert "- That a model is fair." in model_card.select(place).content


@pytest.mark.parametrize("wrong", [None, {}, set(), "README.md"])
def test_what_is_no_card_is_refused(odd_report, wrong):
    with pytest.raises(
        TypeError, match=r"card must be a skops\.card\.Card, got <class"
    ):
        FairnessReport(odd_report.summary).to_model_card(wrong)
