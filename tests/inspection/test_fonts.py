"""Names in every script: no empty boxes, no warnings."""

import matplotlib as mpl
import numpy as np
import pytest

from skfair.inspection import CDFGapDisplay, GroupGapDisplay
from skfair.inspection import _fonts as fonts

WOMEN = "\U0001f469\u200d\U0001f52c women"
HINDI = "\u0939\u093f\u0928\u094d\u0926\u0940"


@pytest.fixture
def only_dejavu(monkeypatch):
    """No fonts but the one that matplotlib brings along."""
    from matplotlib.font_manager import fontManager

    kept = [font for font in fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(fontManager, "ttflist", kept)
    fonts._searched_family.cache_clear()
    yield
    fonts._searched_family.cache_clear()


def draw(scored, label, **options):
    _, y_score, sex = scored
    groups = np.where(sex == "F", label, "M").astype(object)
    return CDFGapDisplay.from_predictions(
        None, y_score, sensitive_features=groups, name=label, **options
    )


def first_entry(display):
    return sorted(text.get_text() for text in display.ax_.get_legend().get_texts())[-1]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (WOMEN, "[woman][microscope] women"),
        ("\U0001f600", "\U0001f600"),  # DejaVu Sans has it
        (HINDI, "U+0939 U+093F U+0928"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("a\u202e\x00b", "a\ufffd\ufffdb"),
        ("a\ue000", "a U+E000"),
    ],
)
def test_characters_without_a_font(scored, only_dejavu, label, expected):
    display = draw(scored, label)
    display.figure_.canvas.draw()  # a missing glyph is a warning, which is an error
    assert display.ax_.get_title().startswith(expected.rstrip("."))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any(text.startswith(expected.rstrip(".")) for text in texts)
    assert all(len(text) < 60 for text in texts)


def test_another_font_has_the_characters(scored):
    with mpl.rc_context({"font.family": "cmr10", "axes.formatter.use_mathtext": True}):
        display = draw(scored, "\u05e0\u05e9\u05d9\u05dd")
        display.figure_.canvas.draw()
    text = next(
        text
        for text in display.ax_.get_legend().get_texts()
        if text.get_text().startswith("\u05e0")
    )
    families = text.get_fontfamily()
    assert families[0] == "cmr10"
    assert len(families) > 1


def test_ticks_and_titles(scored, only_dejavu):
    _, y_score, sex = scored
    groups = np.where(sex == "F", WOMEN, HINDI)
    display = GroupGapDisplay.from_predictions(
        None, y_score > 0.5, sensitive_features=groups
    )
    display.figure_.canvas.draw()
    shown = {text.get_text().split(" (n")[0] for text in display.ax_.get_yticklabels()}
    assert "[woman][microscope] women" in shown


@pytest.mark.slow
def test_text_of_an_svg_is_left_to_the_viewer(scored):
    context = mpl.rc_context({"svg.fonttype": "none"})
    with context, pytest.warns(UserWarning, match="missing from"):
        assert draw(scored, HINDI).ax_.get_title() == HINDI
