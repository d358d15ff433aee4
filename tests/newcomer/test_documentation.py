"""Every Python block of the documentation runs as printed, page by page.

The blocks of a page share one namespace, so that a block may continue one above it. A
block that needs packages that the tests do without has the line
``<!-- needs: package, package -->`` right above its fence, which no reader of the page
sees: it runs where they are installed. A comment that begins with a number, at the end
of an expression, is its value, rounded. A block of text right below is what the block
prints. The picture below it, or named there by ``<!-- draws path -->``, is drawn by it:

    python tests/newcomer/test_documentation.py docs/cvar.md ...

runs these pages and draws their pictures anew.
"""

import ast
import importlib
import importlib.util
import io
import pkgutil
import re
import statistics
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import pytest
import sklearn

import skfair

ROOT = Path(__file__).parents[2]
DOCS = sorted(ROOT.glob("docs/**/*.md"))
#: Pages whose text has only numbers that their blocks print.
PROSE = [ROOT / "README.md", ROOT / "docs" / "get_started.md"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^\n]+) -->\n\n?)?```python\n(?P<code>.*?)^```$"
    r"(?:\n\n```text\n(?P<prints>.*?)^```$)?"
    r"(?:\n\n(?:!\[[^\]]+\]\(|<!-- draws )(?P<picture>[\w./]+))?",
    re.DOTALL | re.MULTILINE,
)
# Each page with blocks that not every run of the tests runs: a new one is added here on
# purpose.
NEEDS = {
    ("docs/howto/from_other_libraries.md", "fairlearn"),
    ("docs/howto/from_other_libraries.md", "maddlib"),
    ("docs/howto/pipelines.md", "imblearn"),
    ("docs/inprocessing.md", "torch"),
    ("docs/model_selection.md", "optuna"),
    ("docs/monitor.md", "fastapi"),
}
WITHOUT_PICTURE = {"guide", "index", "project"}
UNLIMITED = {"changelog", "concepts", "contributing", "design", "papers"}
UNLIMITED |= {"CODE_OF_CONDUCT", "SECURITY"}
SHORT = [
    page
    for page in DOCS
    if page.parent.name != "proofs" and page.stem not in UNLIMITED | {"peers"}
]
#: Pages to look things up in, not to read through.
DEEP = [page for page in DOCS if page.parent.name == "proofs"]
DEEP += [ROOT / "docs" / "design.md", ROOT / "docs" / "reference.md"]
GUIDE = [page for page in SHORT if page.parent.name != "evidence"]


def name(page: Path) -> str:
    """Path of a page within the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[int, re.Match[str]]]:
    """First line of each block, and the block with its needs and its picture."""
    text = page.read_text(encoding="utf-8")
    found = BLOCK.finditer(text)
    return [(text.count("\n", 0, block.start("code")), block) for block in found]


def installed(needs: str) -> bool:
    """Whether all packages that a block needs are installed."""
    return all(importlib.util.find_spec(package) for package in needs.split(", "))


#: A number that a comment begins with, and its decimals.
FIGURE = re.compile(r"# (-?\d+(?:\.(\d+))?)")


def run_block(code: str, page: Path, namespace: dict[str, object]) -> None:
    """Run a block, and compare values with the numbers in comments beside them."""
    lines = code.splitlines()
    for statement in ast.parse(code, page).body:
        comment = FIGURE.search(lines[statement.end_lineno - 1])
        value = statement.value if isinstance(statement, ast.Expr) else None
        if not comment or value is None:
            block = ast.Module([statement], [])
            exec(compile(block, page, "exec"), namespace)
            continue
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "print":
            value = value.args[0]
        found = eval(compile(ast.Expression(value), page, "eval"), namespace)
        said, decimals = comment.groups(default="")
        where = f"{page}, line {statement.lineno}"
        assert round(float(found), len(decimals)) == float(said), where


def run(page: Path, *, draw: bool = False) -> str:
    """Run the blocks of a page, keep their pictures, and return what they print."""
    from matplotlib import pyplot as plt

    namespace = {"__name__": "__main__"}
    everything = ""
    with sklearn.config_context():
        for line, block in blocks(page):
            if block["needs"] and not installed(block["needs"]):
                continue
            with redirect_stdout(io.StringIO()) as output:
                # Line numbers of a traceback are those of the page.
                run_block("\n" * line + block["code"], page, namespace)
            printed = re.sub(r" +$", "", output.getvalue(), flags=re.M)
            assert block["prints"] in (None, printed), printed
            everything += printed
            if block["picture"]:
                assert plt.get_fignums(), f"{block['picture']} has no figure"
            if block["picture"] and draw:
                place = page.parent / block["picture"]
                plt.savefig(place, dpi=100, bbox_inches="tight", metadata=NO_VERSION)
            plt.close("all")
    return everything


#: A number of a text, and the words that make it a share of a hundred.
NUMBER = re.compile(r"(?<![\w.,])(\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)\b( %| percentage)?")


def read_number(text: str) -> tuple[float, float]:
    """Return a number, and half of its last digit."""
    decimals = len(text.partition(".")[2])
    return float(text.replace(",", "")), 0.5 * 10**-decimals


def wrong_figures(prose: str, printed: str) -> list[str]:
    """Return numbers of a text that no block has printed; not small ones and years."""
    values = [read_number(number) for number, _ in NUMBER.findall(printed)]
    wrong = []
    for number, percent in NUMBER.findall(prose):
        said, rounding = read_number(number)
        scale = 100 if percent else 1
        known = any(
            # Both are rounded.
            abs(scale * value - said) <= rounding + scale * error
            for value, error in values
        )
        whole = "." not in number and not percent
        if not known and not (whole and (said <= 20 or 1900 <= said < 2100)):
            wrong.append(number)
    return wrong


NO_VERSION = {"Software": None}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred")  # MLflow's own
@pytest.mark.filterwarnings("ignore:Filesystem tracking backend")
@pytest.mark.parametrize("page", PAGES, ids=name)
@pytest.mark.promise("Every Python block of the pages runs as printed")
def test_blocks_of_a_page_run_as_printed(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    # The light package of MLflow has no database.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    printed = run(page)
    if page in PROSE:
        text = page.read_text(encoding="utf-8").partition("\n## Install")[0]
        prose = re.sub(r"^```.*?^```$|`[^`]*`", "", text, flags=re.M | re.S)
        assert wrong_figures(prose, printed) == []


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("in 1973, 1,234 rows, 51 % of men, 7 % of women, a gap of .44", []),
        ("125 rows", ["125"]),
        ("53 %", ["53"]),
        ("differ by 45 percentage points, not 0.443", ["45", "0.443"]),
    ],
)
def test_numbers_of_a_text_are_those_that_blocks_print(said, wrong):
    assert wrong_figures(said, "1234 0.515 0.072 0.442") == wrong


@pytest.mark.parametrize(
    ("code", "holds"),
    [
        ("x = 1 / 3\nx  # 0.333", True),
        ("print(2 / 3, 5)  # 0.67, of 5", True),
        ("2 / 3  # 0.66", False),
        ("print(\n    7,\n)  # 8", False),
    ],
)
def test_a_number_in_a_comment_is_the_value(code, holds):
    with nullcontext() if holds else pytest.raises(AssertionError):
        run_block(code, Path("page.md"), {})


def test_blocks_that_need_other_packages_are_listed():
    found = {
        (name(page), block["needs"])
        for page in PAGES
        for _, block in blocks(page)
        if block["needs"]
    }
    assert found == NEEDS


def test_all_blocks_are_found():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = re.findall(r"^\s*```py", text, re.MULTILINE)
        assert len(blocks(page)) == len(fences), page.name


def words(page: Path) -> int:
    """Number of words of a page, its code and tables among them, but computed ones."""
    text = page.read_text(encoding="utf-8")
    computed = re.compile(r"<!-- table of (\w+) -->.*<!-- end of \1 -->", re.DOTALL)
    return len(computed.sub("", text).split())


@pytest.mark.parametrize("page", SHORT, ids=name)
def test_a_page_is_short(page):
    assert words(page) <= (1_000 if page.parent.name == "evidence" else 900)


def test_guide_pages_take_a_few_minutes():
    assert statistics.median(map(words, GUIDE)) <= 650


def test_the_documentation_is_no_book():
    assert len(DOCS) <= 45
    assert sum(map(words, DOCS)) <= 30_000
    assert sum(words(page) for page in DOCS if page not in DEEP) <= 23_900
    assert len(list(ROOT.glob("docs/evidence/*.md"))) <= 9
    assert words(ROOT / "docs" / "design.md") <= 800
    readme = ROOT / "README.md"
    assert words(readme) <= 900
    assert len(re.findall(r"\]\(", readme.read_text(encoding="utf-8"))) <= 20


@pytest.mark.parametrize("page", GUIDE, ids=name)
def test_a_guide_page_has_a_picture(page):
    text = page.read_text(encoding="utf-8")
    assert page.stem in WITHOUT_PICTURE or re.search(r"images/\w+\.png", text)


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
    named -= {"losses_", "temperature", "strength", "max_gap_bound", "DiffMCDPLoss"}
    assert len(named) > 30
    assert named <= public


def test_names_that_contributors_read_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    mutants = (ROOT / ".ci" / "mutants.toml").read_text(encoding="utf-8")
    quoted = set(re.findall(r"`([\w./]+)`", text)) - {"skfair/metrics/_name.py"}
    quoted |= set(re.findall(r"[\w./]+\.py\b", mutants))
    places = ["*.py", "docs/*.py", "skfair/**/*.py", "tests/**/*.py"]
    modules = [module for place in places for module in ROOT.glob(place)]
    files = [*modules, *ROOT.glob("*.*"), *ROOT.glob(".github/**/*.yml")]
    files_by_name = {file.name for file in files}
    code = "".join(module.read_text(encoding="utf-8") for module in modules)
    names = set(re.findall(r"\w+", code))
    for name in quoted:
        if "/" in name:
            assert (ROOT / name).exists(), name
        else:
            assert name in (files_by_name if "." in name else names), name


@pytest.mark.promise("The reference lists every public name once, with a line")
def test_the_reference_lists_every_public_name_with_a_line(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    table = importlib.import_module("_tables").all_names()
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", table, re.M)
    modules = [
        module.name
        for module in pkgutil.iter_modules(skfair.__path__)
        if not module.name.startswith("_") and module.name != "torch"
    ]
    public = [
        f"{module}.{name}"
        for module in modules
        for name in importlib.import_module(f"skfair.{module}").__all__
    ]
    listed = [name for name, _ in rows]
    assert sorted(listed) == sorted([*public, "skfair.torch.DiffMCDPLoss"])
    assert all(line.endswith(".") for _, line in rows)
    assert "Result" in listed[-1]


if __name__ == "__main__":
    import os
    import tempfile

    import matplotlib

    matplotlib.use("agg")
    paths = [Path(page).resolve() for page in sys.argv[1:]]
    os.chdir(tempfile.mkdtemp())
    for path in paths:
        run(path, draw=True)


def test_a_repair_of_ones_own_takes_fifteen_lines():
    page = ROOT / "docs/howto/own_metric.md"
    (code,) = (
        block["code"]
        for _, block in blocks(page)
        if "class SameQuantiles:" in block["code"]
    )
    lines = [line for line in code.splitlines() if line]
    start = lines.index("class SameQuantiles:")
    body = [line for line in lines[start:] if line.startswith(("class", "    "))]
    assert body.index("        return repaired") < 15
    assert len(lines) <= 30
    assert not re.search(r"import _|\._", code)
