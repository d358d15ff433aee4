"""The audit of hostile files ends in a page or in one line, never in a traceback.

The page fits a phone and a screen, by the measure of an installed browser.
"""

import pytest

from skfair.__main__ import main

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow

SCORES = [0.1, 0.4, 0.6, 0.9]


def rows(first="F", second="M", newline="\n"):
    """A table of 80 rows in two groups, as text."""
    lines = ["y,p,sex"]
    for i in range(80):
        group = first if i % 2 else second
        lines.append(f"{(i // 4) % 2},{SCORES[i % 4]},{group}")
    return newline.join(lines) + newline


AUDITED = {
    "byte order mark and carriage returns": "\ufeff" + rows(newline="\r\n"),
    "markup": rows("<script>alert(1)</script>", "&amp;<b>"),
    "right to left and joiners": rows("נשים", "می‌خواهم"),
    "emoji": rows("👩‍🚀", "👨‍🚀"),
    "line breaks and quotes in cells": rows('"a\nb"', '"a ""b"""'),
    "long names": rows("a" * 300, "b" * 300),
    "formulas": rows("=1+1", "@SUM(A1)"),
}


@pytest.fixture
def audit(tmp_path, monkeypatch, capsys):
    """Audit a text, and return the exit code, the page and what was said."""
    monkeypatch.chdir(tmp_path)

    def run(text):
        (tmp_path / "table.csv").write_bytes(text.encode())
        command = (
            "audit table.csv --y-true y --y-score p --sensitive sex --out out.html"
        )
        code = main([*command.split(), "--resamples", "2", "--permutations", "0"])
        page = tmp_path / "out.html"
        return (
            code,
            page.read_text("utf-8") if page.exists() else None,
            capsys.readouterr(),
        )

    return run


@pytest.mark.parametrize("text", AUDITED.values(), ids=AUDITED)
def test_audited(audit, text):
    code, page, said = audit(text)
    assert code == 0, said.err
    assert "80 rows" in page
    assert "<script" not in page
    assert "\ufffd" not in page


@pytest.mark.parametrize("name", ["right to left and joiners", "emoji", "long names"])
def test_pages_fit_a_phone_and_a_screen(audit, wider_than_their_place, tmp_path, name):
    page = audit(AUDITED[name])[1]
    assert wider_than_their_place(page, tmp_path / "screen", 1200) == []
    found = wider_than_their_place(page, tmp_path / "phone", 390)
    assert set(found) <= {"picture"}
