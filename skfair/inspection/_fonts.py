"""Characters that the fonts of a picture lack: another font, or a name in their place.

Matplotlib would draw an empty box for each of them, and warn.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Joiners and the marks that choose between two shapes of a character.
_SHAPING = re.compile("[\u200c\u200d\ufe00-\ufe0f]")


def drawable(text: str) -> str:
    """Replace characters that no font has by their names or, of letters, their codes.

    Nothing is replaced where pictures hold text that the viewer's fonts will show.
    """
    missing = {char for char in set(text) - _usual_characters() if not _family(char)}
    if not missing or _fonts_are_the_viewers():
        return text
    shown = "".join(
        _named(char) if char in missing else char for char in _SHAPING.sub("", text)
    )
    return " ".join(shown.split())


def complete_fonts(ax: Axes) -> None:
    """Add to each text of the axes the fonts that have what its own fonts lack."""
    if _fonts_are_the_viewers():
        return
    from matplotlib.text import Text

    usual = _usual_characters()
    for text in ax.findobj(Text):
        families = {_family(char) for char in set(text.get_text()) - usual}
        own = text.get_fontfamily()
        more = sorted(family for family in families if family and family not in own)
        if more:
            text.set_fontfamily([*own, *more])


def _fonts_are_the_viewers() -> bool:
    """Whether pictures are saved as SVG with text in place of outlines."""
    from matplotlib import rcParams

    return bool(rcParams["svg.fonttype"] == "none")


def _named(char: str) -> str:
    """Name of a symbol in brackets; code of a letter, whose name is no help."""
    code = f"U+{ord(char):04X}"
    if unicodedata.category(char)[0] == "S":
        return f"[{unicodedata.name(char, code).lower()}]"
    return f" {code} "


def _usual_characters() -> frozenset[str]:
    """Characters of the fonts that matplotlib is set to, and white space."""
    from matplotlib.font_manager import FontProperties, findfont

    found = [
        _characters(str(findfont(FontProperties(family=[family]))))
        for family in FontProperties().get_family()
    ]
    return frozenset(" \n").union(*found)


@cache
def _characters(path: str) -> frozenset[str]:
    """Characters that a font file has, none if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


def _family(char: str) -> str | None:
    """Name of an installed font with an outline of a character, None without any."""
    from matplotlib.font_manager import fontManager

    return _searched_family(char, len(fontManager.ttflist))


@cache
def _searched_family(char: str, n_fonts: int) -> str | None:
    """Search the fonts for `_family`, anew when fonts were added."""
    from matplotlib.font_manager import fontManager, get_font

    # Regular fonts first; bitmaps, as of many emoji fonts, cannot be drawn.
    entries = sorted(fontManager.ttflist, key=lambda font: font.style != "normal")
    for entry in entries:
        if char not in _characters(entry.fname):
            continue
        try:
            font = get_font(entry.fname)
            font.set_size(10, 72)
            font.load_char(ord(char))
            if len(font.get_path()[0]):
                return str(entry.name)
        except (OSError, RuntimeError):
            continue
    return None
