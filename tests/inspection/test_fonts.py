"""Names in every script: no empty boxes, no warnings."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from skfair.inspection import CDFGapDisplay, GroupDotsDisplay

WOMEN = "\U0001f469 women"
CHINESE = "\u5973\u6027"
HINDI = "\u0939\u093f\u0928\u094d\u0926\u0940"
HEBREW = "\u05e0\u05e9\u05d9\u05dd"


@pytest.fixture
def only_dejavu():
    """The font that matplotlib brings along, whatever the machine has."""
    with mpl.rc_context({"font.family": "DejaVu Sans"}):
        yield


def draw(scored, label, **options):
    _, y_score, sex = scored
    groups = np.where(sex == "F", label, "M").astype(object)
    return CDFGapDisplay.from_predictions(
        None, y_score, sensitive_features=groups, name=label, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (WOMEN, "U+1F469 women"),
        ("\U0001f600", "\U0001f600"),  # DejaVu Sans has it
        (CHINESE, "U+5973 U+6027"),
        (HINDI, "U+0939 U+093F"),
        ("\u0646\u0633\u0627\u0621", "\u0646\u0633\u0627\u0621"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("a\u202e\x00b", "a\ufffd\ufffdb"),
        ("a\ue000", "a U+E000"),
    ],
)
def test_characters_that_the_fonts_lack(scored, only_dejavu, label, expected):
    display = draw(scored, label)
    display.figure_.canvas.draw()  # a missing glyph is a warning, which is an error
    assert display.ax_.get_title().startswith(expected)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any(text.startswith(expected) for text in texts)
    assert all(len(text) < 60 for text in texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("families", "expected"),
    [
        (["cmr10"], "U+05E0 U+05E9"),
        (["cmr10", "DejaVu Sans"], HEBREW),
    ],
)
def test_fonts_are_those_of_the_setting(scored, families, expected):
    context = {"font.family": families, "axes.formatter.use_mathtext": True}
    with mpl.rc_context(context):
        display = draw(scored, HEBREW)
        display.figure_.canvas.draw()
    assert display.ax_.get_title().startswith(expected)


@pytest.mark.slow
def test_ticks_and_titles(scored, only_dejavu):
    table = pd.DataFrame({"rate": [0.2, 0.4]}, [WOMEN, HINDI])
    display = GroupDotsDisplay.from_table(table, "rate")
    display.figure_.canvas.draw()
    shown = {text.get_text() for text in display.axes_[0].get_yticklabels()}
    assert "U+1F469 women" in shown


@pytest.mark.slow
def test_text_of_an_svg_is_left_to_the_viewer(scored, only_dejavu):
    context = mpl.rc_context({"svg.fonttype": "none"})
    with context, pytest.warns(UserWarning, match="missing from"):
        assert draw(scored, HINDI).ax_.get_title() == HINDI
