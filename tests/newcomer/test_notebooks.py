"""The examples as notebooks that run in a browser: JupyterLite, with Pyodide.

``bash .ci/docs`` builds them. Pyodide itself is loaded from the web by who opens a
notebook, and is not part of these tests.
"""

import ast
import json
import re
import subprocess
import sys
import threading
from functools import cache, partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from zipfile import ZipFile

import pytest

import skfair

ROOT = Path(__file__).parents[2]
EXAMPLES = {path.stem: path for path in sorted(ROOT.glob("examples/*.py"))}
#: What the first cell of a notebook installs.
INSTALLED = {"matplotlib", "numpy", "pandas", "scipy", "sklearn", "skfair"}
#: What WebAssembly has not.
ABSENT = {"multiprocessing", "subprocess", "threading", "concurrent", "socket"}
#: Runs a script where neither threads nor processes can be started.
ALONE = """
import _thread, os, runpy, subprocess, sys, threading
import matplotlib
matplotlib.use("agg")
def refuse(*args, **kwargs):
    raise RuntimeError("neither threads nor processes")
for module, name in [
    (_thread, "start_new_thread"), (os, "fork"), (subprocess, "Popen"),
    (threading, "_start_new_thread"), (threading, "_start_joinable_thread"),
]:
    setattr(module, name, refuse)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def imported(path):
    """Names of the packages that a module imports."""
    text = path.read_text(encoding="utf-8")
    statements = r"^ *(?:import|from(?= [\w.]+ import)) (\w+)"
    return set(re.findall(statements, text, re.MULTILINE))


@cache
def not_in_browser():
    """Return the examples that the site says do not run in a browser, and why."""
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (found,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "NOT_IN_BROWSER"
    )
    return ast.literal_eval(found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_packages_in_the_browser(name):
    others = imported(EXAMPLES[name]) - INSTALLED - set(sys.stdlib_module_names)
    assert (name in not_in_browser()) == bool(others)


def test_the_library_starts_neither_threads_nor_processes_itself():
    modules = [path for path in ROOT.glob("skfair/**/*.py") if "_cli" not in path.parts]
    others = ABSENT - {"threading"}
    assert {path.name for path in modules if imported(path) & others} == set()
    used = (re.findall(r"threading\.\w+", path.read_text("utf-8")) for path in modules)
    locks = {"threading.Lock", "threading.RLock"}
    assert {name for names in used for name in names} <= locks


@pytest.mark.slow
def test_an_example_runs_without_threads_and_processes(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-c", ALONE, str(EXAMPLES["quickstart"])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def lite(site):
    """Return the directory of JupyterLite in the site."""
    return site / "lite"


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.promise("Every example opens as a notebook, or says why not")
def test_a_page_has_a_button_or_says_why_not(site, lite, name):
    page = (site / "gallery" / f"{name}.html").read_text(encoding="utf-8")
    notebook = json.loads((lite / f"files/gallery/{name}.ipynb").read_text("utf-8"))
    button = re.findall(r'href="\.\./lite/notebooks/index\.html\?path=([^"]+)"', page)
    first = "".join(notebook["cells"][0]["source"])
    if reason := not_in_browser().get(name):
        assert f"does not run in a browser: {reason}" in page
        assert f"does not run in a browser: {reason}" in first
        assert button == []
    else:
        assert button == [f"gallery/{name}.ipynb"]
        assert first == "%pip install -q scikit-disparity jinja2 matplotlib"


def test_no_page_of_the_site_loads_what_others_serve(site):
    for page in [*site.glob("*.html"), *site.glob("*/*.html")]:
        head = page.read_text(encoding="utf-8").partition("</head>")[0]
        assert not re.search(r'<(?:link|script)[^>]* (?:src|href)="https?://', head)


def test_the_wheel_is_that_of_this_tree(lite):
    index = json.loads((lite / "pypi" / "all.json").read_text("utf-8"))
    ((version, (file,)),) = index["scikit-disparity"]["releases"].items()
    assert version == skfair.__version__
    with ZipFile(lite / "pypi" / file["filename"]) as wheel:
        held = {name for name in wheel.namelist() if name.startswith("skfair/")}
    modules = {
        path.relative_to(ROOT).as_posix() for path in ROOT.glob("skfair/**/*.py")
    }
    assert modules <= held


#: Looks into JupyterLite until it shows the notebook. The page has loaded when its
#: picture has, which the server keeps back until then.
PROBE = b"""<!DOCTYPE html><body><img src="/picture">
<iframe src="/lite/notebooks/index.html?path=gallery/quickstart.ipynb"
  style="width: 1200px; height: 900px"></iframe><script>
const looks = setInterval(() => {
  const body = document.querySelector("iframe").contentDocument?.body;
  const cells = [...body?.querySelectorAll(".jp-Cell") ?? []];
  const text = cells.map(cell => cell.innerText).join(" ");
  if (!text.includes("never sees the sex of a person")) return;
  clearInterval(looks);
  document.body.setAttribute("data-shown", text);
  fetch("/shown");
}, 100);
</script>"""


class Site(SimpleHTTPRequestHandler):
    """The site, and the page that looks into its notebook."""

    shown = threading.Event()

    def do_GET(self):
        if self.path == "/shown":
            self.shown.set()
        if self.path == "/picture":
            self.shown.wait(60)
        if self.path not in ("/probe", "/picture", "/shown"):
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PROBE if self.path == "/probe" else b"")

    def log_message(self, *args):
        """Say nothing of requests."""


@pytest.mark.slow
def test_a_notebook_opens_in_a_browser(site, browser, tmp_path):
    with ThreadingHTTPServer(("localhost", 0), partial(Site, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_port}/probe"
        shown = browser(address, tmp_path, "--dump-dom").stdout
        server.shutdown()
    (text,) = re.findall(r'data-shown="([^"]*)"', shown)
    assert "%pip install -q scikit-disparity jinja2 matplotlib" in unescape(text)
