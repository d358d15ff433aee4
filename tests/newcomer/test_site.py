"""The built site: ten common questions in two clicks, no dead link, no broken markup.

``bash .ci/docs`` builds it.
"""

import importlib
import inspect
import json
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import html5lib
import pytest

# Every page is read, which takes many seconds.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("skfair/[a-z]*/__init__.py"))
#: Questions of the front page, by a part of each, and the function that answers it.
ANSWERS = {
    "at any threshold": "skfair.metrics.mcdp",
    "more than chance": "skfair.metrics.permutation_test",
    "at most 0.1": "skfair.metrics.certify",
    "treated most differently": "skfair.metrics.worst_subgroup",
    "errors shared equally": "skfair.metrics.dcp",
    "grid search": "skfair.metrics.get_fairness_scorer",
    "must not see the group": "skfair.postprocessing.UnawarePostProcessor",
    "does the law ask": "skfair.metrics.impact_ratios",
    "rows does an audit": "skfair.sampling.required_sample_size",
    "that is in use": "skfair.monitoring.FairnessMonitor",
}


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the site as a tree, by its address."""
    return {
        path.relative_to(site).as_posix(): html5lib.parse(
            path.read_text("utf-8"), namespaceHTMLElements=False
        )
        for path in site.rglob("*.html")
        if not {"_static", "lite"} & set(path.relative_to(site).parts)
    }


def resolve(page, href):
    """Return the address and the anchor that a link of a page leads to."""
    address, _, anchor = unquote(href).partition("#")
    if not address:
        return page, anchor
    target = posixpath.join(posixpath.dirname(page), address.partition("?")[0])
    return posixpath.normpath(target), anchor


def links(page, tree):
    """Text, address and anchor of each link of a tree within the site."""
    for link in tree.iter("a"):
        href = link.get("href", "")
        if href and ":" not in href.partition("#")[0]:
            yield "".join(link.itertext()).strip(), *resolve(page, href)


def section(tree, anchor):
    """Return the section that an anchor names, or the whole article."""
    for part in tree.iter("section"):
        names = {part.get("id")} | {child.get("id") for child in part}
        if anchor in names:
            return part
    return next(tree.iter("article"))


@pytest.mark.parametrize(("question", "answer"), ANSWERS.items(), ids=ANSWERS)
def test_a_common_question_is_answered_in_two_clicks(pages, question, answer):
    (click,) = [
        link
        for link in links("index.html", next(pages["index.html"].iter("article")))
        if question in link[0]
    ]
    _, page, anchor = click
    answers = [place for _, place, _ in links(page, section(pages[page], anchor))]
    assert f"generated/{answer}.html" in answers
    assert f"generated/{answer}.html" in pages


def test_every_public_name_has_a_page(pages):
    for package in PACKAGES:
        for name in importlib.import_module(f"skfair.{package}").__all__:
            assert f"generated/skfair.{package}.{name}.html" in pages


def test_links_lead_somewhere(pages, site):
    anchors = {
        page: {element.get("id") for element in tree.iter()}
        for page, tree in pages.items()
    }
    for page, tree in pages.items():
        for text, target, anchor in links(page, tree):
            assert (site / target).exists(), (page, text, target)
            if anchor and target in anchors:
                assert anchor in anchors[target], (page, text, target, anchor)


@pytest.mark.parametrize(
    "word",
    [
        "metricframe",
        "thresholdoptimizer",
        "optuna",
        "opportunity",
        "four-fifths",
        "deployment",
        "skops",
        "mlflow",
        "age",
    ],
)
def test_the_search_finds(word, site):
    stemmer = pytest.importorskip("sphinx.search.en").SearchEnglish({})
    index = (site / "searchindex.js").read_text("utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").rstrip(");\n"))["terms"]
    assert all(stemmer.stem(part) in terms for part in word.split("-"))


def prose(tree):
    """Text of a page's article, with a space where code or output stands."""

    def walk(element):
        output = "output_html" in element.get("class", "")
        if output or element.tag in ("code", "pre", "script", "style"):
            yield " "
        else:
            yield element.text or ""
            for child in element:
                yield from walk(child)
        yield element.tail or ""

    article = next(tree.iter("article"), None)
    return "" if article is None else "".join(walk(article))


#: What is left where markup was not understood: backticks, bold, links, roles, fences.
BROKEN = re.compile(
    r"`[^`\n]+`|``|\*\*\w[^*\n]*\w\*\*(?!\w)|\]\(|\{(?:ref|doc|term)\}|:::|\$\$|<!--"
)


def test_markup_is_rendered(pages):
    broken = {
        (page, text[max(0, found.start() - 30) : found.end() + 30])
        for page, tree in pages.items()
        for text in [prose(tree)]
        for found in BROKEN.finditer(text)
    }
    assert not broken


def test_no_page_shows_addresses_or_assertions(pages):
    for page, tree in pages.items():
        code = ["".join(block.itertext()) for block in tree.iter("pre")]
        assert not re.search(r"object at 0x|<Figure size", "\n".join(code)), page
        if page.startswith("gallery/"):
            assert not re.search(r"^ *assert ", "\n".join(code), re.MULTILINE), page


def test_every_example_has_a_thumbnail(pages, site):
    images = [
        image.get("src")
        for image in pages["gallery/index.html"].iter("img")
        if "thumb" in image.get("src", "")
    ]
    assert len(images) == len(list(ROOT.glob("examples/*.py")))
    placeholder = site.rglob("*no_image*")
    without = {path.read_bytes() for path in placeholder}
    for image in images:
        assert (site / "gallery" / image).resolve().read_bytes() not in without


def test_a_parameter_leads_to_no_function_of_its_name(pages):
    for package in PACKAGES:
        module = importlib.import_module(f"skfair.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or isinstance(thing, type(Exception)):
                continue
            page = f"generated/skfair.{package}.{name}.html"
            parameters = inspect.signature(thing).parameters
            for text, target, _ in links(page, next(pages[page].iter("article"))):
                leads = target.removesuffix(".html").rpartition(".")[2]
                assert not (text in parameters and leads == text), (page, text)


def test_properties_are_documented(pages):
    for package in PACKAGES:
        module = importlib.import_module(f"skfair.{package}")
        for name in filter(
            lambda name: inspect.isclass(getattr(module, name)), module.__all__
        ):
            page = f"generated/skfair.{package}.{name}.html"
            anchors = {element.get("id") for element in pages[page].iter()}
            for member, value in inspect.getmembers(getattr(module, name)):
                owner = getattr(getattr(value, "fget", None), "__module__", "")
                if owner.startswith("skfair") and not member.startswith("_"):
                    assert f"skfair.{package}.{name}.{member}" in anchors
