"""Every Python block of the documentation runs as printed, page by page.

The blocks of a page share one namespace, so that a block may continue one above it. A
block that cannot run in a test has the line ``<!-- not run: reason -->`` right above
its fence, which no reader of the page sees.
"""

import importlib
import re
from pathlib import Path

import pytest
import sklearn

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")])
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\n?)?```python\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
# Each block that is not run, with its reason: a new one is added here on purpose.
NOT_RUN = {
    ("inprocessing.md", "needs PyTorch"),
    ("inprocessing.md", "needs XGBoost"),
}


def blocks(page: Path) -> list[tuple[int, str, str | None]]:
    """First line, code and reason for not running, of each block."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start("code")), found["code"], found["reason"])
        for found in BLOCK.finditer(text)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_a_page_run_as_printed(page, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with sklearn.config_context():
        for line, code, reason in blocks(page):
            if reason is None:
                # Line numbers of a traceback are those of the page.
                exec(compile("\n" * line + code, page, "exec"), namespace)
    pyplot.close("all")


def test_blocks_that_are_not_run_are_listed():
    found = {
        (page.name, reason)
        for page in PAGES
        for _, _, reason in blocks(page)
        if reason is not None
    }
    assert found == NOT_RUN


def test_all_blocks_are_found():
    for page in PAGES:
        fences = re.findall(
            r"^\s*```py", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert len(blocks(page)) == len(fences), page.name


PAPERS = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+\.py)\b", PAPERS))))
def test_the_papers_page_names_files_and_tests_that_exist(path):
    place = ROOT / path if path.startswith("benchmarks/") else ROOT / "tests" / path
    text = place.read_text(encoding="utf-8")
    for name in re.findall(rf"`{re.escape(path)}::(\w+)`", PAPERS):
        assert f"def {name}(" in text


def test_the_papers_page_names_public_objects():
    public = {
        name
        for package in ROOT.glob("skfair/[a-z]*/__init__.py")
        for name in importlib.import_module(f"skfair.{package.parent.name}").__all__
    }
    column = re.findall(r"^\|[^|]*\|([^|]*)\|", PAPERS, re.M)
    named = {name for cell in column for name in re.findall(r"`(\w+)`", cell)}
    named -= {"losses_", "temperature", "DiffMCDPLoss"}
    assert len(named) > 30
    assert named <= public


def test_the_table_of_peers_is_that_of_the_results():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    table = page.partition("## Beside its peers\n\n")[2].partition("\n\n")[0]
    assert table.count("\n") > 3
    assert table in (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
