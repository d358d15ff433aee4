"""The built site in a real browser: silent, as wide as the window, and easy to read.

``bash .ci/docs`` builds it.
"""

import json
import re
from html import unescape

import pytest

#: Pages that one start of the browser looks at.
AT_ONCE = 40
LEAST_CONTRAST = 4.5
#: What the theme of the site notes on the console: its mode, and that it has scrolled.
NOTES = '"[PST]: '

#: Opens pages one after the other in a frame of each width, in both themes, and writes
#: down what is wrong: text that is hard to read, and a page wider than the frame.
PROBE = """<!DOCTYPE html><body>
<iframe style="height: 900px; border: 0"></iframe><script>
const frame = document.querySelector("iframe"), wrong = [];
const numbers = color => color.match(/[\\d.]+/g).map(Number);
const light = c => c <= 10.31475 ? c / 3294.6 : ((c / 255 + .055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) =>
  .2126 * light(r) + .7152 * light(g) + .0722 * light(b);
function over(top, below) {
  const alpha = top.length > 3 ? top[3] : 1;
  return below.map((c, i) => alpha * top[i] + (1 - alpha) * c);
}
function ground(element, style, known) {
  if (!element) return [255, 255, 255];
  if (!known.has(element)) known.set(element, over(
    numbers(style(element).backgroundColor),
    ground(element.parentElement, style, known)));
  return known.get(element);
}
function contrast(element, style, known) {
  const back = ground(element, style, known);
  const ink = over(numbers(style(element).color), back);
  const [low, high] = [luminance(ink), luminance(back)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
}
function look(page, theme, doc) {
  const style = element => frame.contentWindow.getComputedStyle(element);
  const known = new Map();
  doc.documentElement.dataset.theme = theme;
  const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility({
      opacityProperty: true, visibilityProperty: true})) continue;
    const found = contrast(element, style, known), text = element.textContent.trim();
    if (found < %(least)s)
      wrong.push([page, theme, found.toFixed(2), text.slice(0, 40)]);
  }
}
const opened = page => new Promise(done => { frame.onload = done; frame.src = page; });
(async () => {
  for (const page of %(pages)s) {
    await opened(page);
    const doc = frame.contentDocument;
    const still = doc.createElement("style");
    still.textContent = "* { transition: none !important; }";
    doc.head.append(still);
    for (const width of [390, 1200]) {
      frame.style.width = `${width}px`;
      const wide = doc.documentElement.scrollWidth;
      if (wide > width) wrong.push([page, width, wide, "pixels wide"]);
      for (const theme of ["light", "dark"]) look(page, theme, doc);
    }
  }
  document.body.setAttribute("data-wrong", JSON.stringify(wrong));
})();
</script>"""


@pytest.fixture(scope="module")
def pages(site):
    """Address of every page of the site."""
    others = {"_static", "lite"}
    found = sorted(
        path
        for path in site.rglob("*.html")
        if not others & set(path.relative_to(site).parts)
    )
    return [path.as_uri() for path in found]


def look(browser, folder, pages):
    """Say what is wrong with pages, and what they write on the console."""
    settings = {"least": LEAST_CONTRAST, "pages": json.dumps(pages)}
    probe = folder / "probe.html"
    probe.write_text(PROBE % settings, encoding="utf-8")
    flags = ["--enable-logging=stderr", "--allow-file-access-from-files"]
    flags += ["--virtual-time-budget=600000", "--window-size=1400,1000", "--dump-dom"]
    shown = browser(probe, folder, *flags)
    lines = shown.stderr.splitlines()
    console = [line for line in lines if "CONSOLE" in line and NOTES not in line]
    found = re.search(r'data-wrong="([^"]*)"', shown.stdout)
    assert found, (shown.stderr[-1000:], pages)
    return json.loads(unescape(found[1])), console


@pytest.mark.slow
def test_a_bad_page_is_noticed(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><body style='background: #fff'><p style='color: #999'>pale"
        "<p style='width: 500px'>wide<script>console.error('heard')</script>"
    )
    wrong, console = look(browser, tmp_path, [page.as_uri()])
    # At the lesser width, and in two themes at both.
    assert [one[3] for one in wrong] == ["pixels wide", *["pale"] * 4]
    assert len(console) == 1


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.promise("Every page of the site can be read on a phone")
def test_every_page_can_be_read(browser, pages, tmp_path, part):
    own = pages[part::2]
    for first in range(0, len(own), AT_ONCE):
        wrong, console = look(browser, tmp_path, own[first : first + AT_ONCE])
        assert wrong == []
        assert console == []
