"""The page: strict HTML, accessible, self-contained, and blind to hostile labels."""

import datetime
import html
import importlib
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import skfair
from skfair.report import FairnessReport

html5lib = pytest.importorskip("html5lib")

HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'\"`",
    "{{ 7*7 }}{% raw %}",
    r"$\frac{a}{b}$ \$x$",
    "]]>--></style></svg>",
    "&lt;b&gt;&amp;",
    "a\x00b\x1b\u202ec\ud800",
    "_hidden",
    "url(#x) #y",
]


def parse(page):
    """Root of a page that has no parse error whatsoever."""
    return html5lib.HTMLParser(strict=True).parse(page)


def texts(elements):
    return ["".join(element.itertext()).strip() for element in elements]


@pytest.fixture(
    scope="module",
    params=["small_page", pytest.param("large_page", marks=pytest.mark.slow)],
)
def page(request):
    """Page of one model and one attribute, or of two."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def root(page):
    return parse(page)


@pytest.mark.slow
def test_every_cell_has_its_heading_on_a_phone(report):
    cells = re.findall(
        r"<td\b[^>]*>", report.to_html().partition("Settings and versions")[0]
    )
    unlabelled = [cell for cell in cells if "data-label" not in cell]
    # Sentences and values of settings need none.
    assert set(unlabelled) == {"<td>"}
    sentences = report.to_frame()["sentence"]
    assert len(unlabelled) == len(sentences)


@pytest.mark.slow
def test_outline(report):
    root = parse(report.to_html())
    assert root.get("lang") == "en"
    assert texts(root.iter(f"{HTML}title")) == ["Two models"]
    assert texts(root.iter(f"{HTML}h1")) == ["Two models"]
    assert texts(root.iter(f"{HTML}h2")) == ["Verdict", "Numbers", "Method"]
    levels = [
        int(element.tag[-1])
        for element in root.iter()
        if re.fullmatch(rf"{re.escape(HTML)}h\d", str(element.tag))
    ]
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_tables_have_captions_and_headers(root, page):
    tables = list(root.iter(f"{HTML}table"))
    assert len(tables) == (1 + 1 + 6 * 3 + 1 if "Two models" in page else 4)
    captions = []
    for table in tables:
        captions += texts(table.iter(f"{HTML}caption"))
        for header in table.iter(f"{HTML}th"):
            assert header.get("scope") in ("col", "row", "rowgroup")
        columns = len(list(table.find(f"{HTML}thead/{HTML}tr")))
        for row in table.iter(f"{HTML}tr"):
            assert sum(int(cell.get("colspan", 1)) for cell in row) == columns
    assert len(set(captions)) == len(tables)
    assert all(captions)


def test_images_have_alternative_texts(root, page):
    parents = {child: parent for parent in root.iter() for child in parent}
    images = list(root.iter(f"{SVG}svg"))
    assert len(images) == (6 if "Two models" in page else 1)
    for image in images:
        element = image if image.get("role") == "img" else parents[image]
        assert element.get("role") == "img"
        assert len(element.get("aria-label")) > 20
    assert not list(root.iter(f"{HTML}img"))


def test_ids_are_distinct_and_referred_to(root):
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for element in root.iter():
        for key, value in element.attrib.items():
            for name in re.findall(r"url\(#([^)]+)\)", value):
                assert name in ids
            if key.endswith("href"):
                assert value.removeprefix("#") in ids
            if key == "aria-labelledby":
                assert value in ids


def contrast(first, second):
    """Contrast of two colours by the Web Content Accessibility Guidelines, 1 to 21."""

    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(
            parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_stand_out_from_the_paper(page, scheme):
    colours = dict(
        re.findall(
            r"--(\w+): (#\w{6})", re.findall(r":root {(.*?)}", page, re.S)[scheme]
        )
    )
    for text in ("ink", "soft", "mark", "strong"):
        for ground in ("paper", "tint"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_what_scrolls_is_reached_by_the_keyboard_and_named(root, page):
    reached = [element for element in root.iter() if element.get("tabindex")]
    assert reached
    for element in reached:
        assert element.get("tabindex") == "0"
        assert element.get("role") == "region"
        assert element.get("aria-label")
    assert ".scroll:focus-visible" in page
    for element in root.iter():
        if element.get("class") == "scroll":
            assert element in reached


def test_page_loads_nothing_and_runs_nothing(page, root):
    names = {str(element.tag).rpartition("}")[2] for element in root.iter()}
    assert names.isdisjoint({"script", "link", "iframe", "img", "object", "image"})
    for element in root.iter():
        assert not [key for key in element.attrib if str(key).startswith("on")]
        assert "src" not in element.attrib
    assert re.findall(r"(?:https?:)?//[a-z]", page) == []
    style = "".join(texts(root.iter(f"{HTML}style")))
    assert "@import" not in style
    assert "url(" not in style
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem"):
        assert rule in style
    assert len(list(root.iter(f"{HTML}style"))) == 1  # none of a picture's own


def hostile_report(make_report, labels, names, models, title):
    generator = np.random.default_rng(0)
    codes = np.arange(200) % len(labels)
    group = np.array(labels, dtype=object)[codes]
    y_score = generator.beta(2 + codes / 5, 3)
    return make_report(
        np.where(generator.random(200) < y_score, labels[0], labels[1]),
        dict.fromkeys(models, y_score),
        sensitive_features={
            names[0]: group,
            names[1]: np.where(codes < 3, *labels[:2]).astype(object),
        },
        pos_label=labels[0],
        title=title,
        metrics=["mcdp", "demographic_parity_difference", "equalized_odds_difference"],
        n_resamples=2,
    )


def elements(root):
    """Elements and their attributes' names outside pictures, in order."""
    found = []

    def visit(element):
        found.append((element.tag, sorted(map(str, element.attrib))))
        if element.tag != f"{SVG}svg":
            for child in element:
                visit(child)

    visit(root)
    return found


@pytest.fixture(scope="module")
def hostile_root(make_report):
    title = HOSTILE[0] + HOSTILE[1]
    report = hostile_report(make_report, HOSTILE, HOSTILE[:2], HOSTILE[:2], title)
    return parse(report.to_html())


@pytest.mark.slow
@pytest.mark.promise("A page runs nothing, whatever the labels")
def test_hostile_texts_are_inert(make_report, hostile_root):
    root = hostile_root
    # In the same order, so that permutations are the same.
    plain = [f"group {sorted(HOSTILE).index(text):02}" for text in HOSTILE]
    benign = hostile_report(make_report, plain, plain[:2], plain[:2], "title")
    assert elements(root) == elements(parse(benign.to_html()))
    shown = texts(root.iter(f"{HTML}th"))
    for label in HOSTILE[:7]:
        assert label in shown
    assert "a\ufffdb\ufffd\ufffdc\ufffd" in shown
    drawn = {
        str(element.tag).rpartition("}")[2]
        for svg in root.iter(f"{SVG}svg")
        for element in svg.iter()
    }
    allowed = {"svg", "g", "path", "text", "tspan", "defs", "clipPath", "rect", "use"}
    assert drawn <= allowed | {"line", "circle"}
    drawn = texts(root.iter(f"{SVG}text"))
    assert any(text.startswith("<script>alert(1)</script> (n = ") for text in drawn)
    assert not any("\\frac" in text and "$" not in text for text in drawn)


@pytest.mark.slow
@pytest.mark.promise("The same rows and seed give the same page")
def test_same_seed_same_bytes(make_small_report, small_page):
    assert make_small_report().to_html() == small_page


def test_written_file(small_report, small_page, tmp_path):
    path = tmp_path / "report.html"
    assert FairnessReport(small_report.summary).to_html(path) == small_page
    assert path.read_bytes().decode("utf-8") == small_page


@pytest.mark.slow
def test_a_page_is_small(page):
    assert len(page.encode("utf-8")) < 1_000_000


@pytest.mark.slow
def test_frame_for_notebooks_isolates_the_page(small_report, small_page):
    markup = small_report._repr_html_()
    fragment = html5lib.HTMLParser(strict=True).parseFragment(markup)
    (frame,) = fragment.iter(f"{HTML}iframe")
    assert frame.get("srcdoc") == small_page
    assert frame.get("sandbox") == ""
    assert frame.get("title") == "Fairness report"
    assert "<style" not in markup
    assert html.unescape(markup).count("<iframe") == 1


@pytest.mark.slow
def test_three_hundred_groups_show_the_tail_and_fold_the_rest(make_report):
    generator = np.random.default_rng(0)
    towns = np.arange(6000) % 300
    y_pred = (generator.random(6000) < np.where(towns == 17, 1, 0.4)).astype(int)
    report = make_report(
        generator.integers(0, 2, 6000),
        y_pred=y_pred,
        sensitive_features={"town": towns},
        metrics=["demographic_parity_difference", "cvar_fairness"],
        n_resamples=2,
    )
    page = report.to_html()
    assert len(page.encode()) < 1_000_000
    root = parse(page)
    shown, folded = (
        table for table in root.iter(f"{HTML}table") if table.get("class") == "groups"
    )
    assert len(list(shown.iter(f"{HTML}tr"))) == 13
    assert texts(shown.iter(f"{HTML}th"))[len(list(shown[1][0])) :][0] == "17"
    details, others = root.iter(f"{HTML}details")
    assert texts(details.iter(f"{HTML}summary")) == ["The other 288 groups"]
    assert texts(others.iter(f"{HTML}summary")) == ["Other metrics by town"]
    assert folded in list(details.iter())
    assert len(list(folded.iter(f"{HTML}tr"))) == 289


@pytest.mark.parametrize(
    "kind",
    [
        "one group",
        pytest.param("no labels", marks=pytest.mark.slow),
        pytest.param("no group", marks=pytest.mark.slow),
        pytest.param("three classes", marks=pytest.mark.slow),
    ],
)
def test_pages_with_little_to_say(make_report, scored, kind):
    y_true, y_score, people = scored
    options = {"sensitive_features": people["sex"], "n_resamples": 2}
    if kind == "one group":
        options["sensitive_features"] = ["a"] * 600
    if kind == "no group":
        options["sensitive_features"] = [f"person {i}" for i in range(600)]
    if kind == "no labels":
        y_true = None
    if kind == "three classes":
        y_true, y_score = np.arange(600) % 3, None
        options["y_pred"] = np.arange(600) % 2
    page = make_report(y_true, y_score, **options).to_html()
    text = "".join(parse(page).itertext())
    assert ("Nothing can be said" in text) == kind.endswith("group")


@pytest.mark.slow
def test_labels_in_another_script_are_drawn_without_a_warning(make_report, scored):
    y_true, y_score, people = scored
    group = np.where(people["sex"] == "F", "女性", "男性")
    made = make_report(
        y_true, y_score, sensitive_features={"性別": group}, metrics=["mcdp"]
    )
    assert any(
        "女性" in text for text in texts(parse(made.to_html()).iter(f"{SVG}text"))
    )


@pytest.mark.slow
def test_head_of_a_page_that_is_filed(small_report, small_page):
    report, page = small_report, small_page
    assert "<dt>Date</dt>" not in page
    assert "<dt>Input</dt>" not in page
    assert "score of at least 0.5" in page.partition("<h2")[0]
    assert f"skfair {skfair.__version__}, seed 0" in page.partition("<h2")[0]
    for date in ("2026-01-31", datetime.date(2026, 1, 31)):
        filed = report.to_html(date=date, source="<b>.csv, SHA-256 " + 16 * "9f86")
        head = filed.partition("<h2")[0]
        assert "<dd>2026-01-31</dd>" in head
        assert f"&lt;b&gt;.csv, SHA-256 {16 * '9f86'}<" in head
    assert report.to_html() == page


def test_missing_extra_is_named(small_report, monkeypatch):
    def import_module(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(ImportError, match=r"needs jinja2.*\[report\]"):
        small_report.to_html()


@pytest.mark.slow
def test_drawing_leaves_matplotlib_alone(small_report):
    import matplotlib
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams), plt.get_fignums()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small_report.to_html()
    assert (dict(matplotlib.rcParams), plt.get_fignums()) == before


@pytest.mark.slow
def test_pages_made_in_threads_are_the_same(small_report, small_page):
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: small_report.to_html(), range(24)))
    assert {*pages} == {small_page}
