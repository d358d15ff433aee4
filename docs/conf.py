"""How Sphinx builds the documentation: ``bash .ci/docs``."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

import skfair

sys.path.insert(0, str(Path(__file__).parent))
from _tables import METRICS_BY_TASK, is_result, public_packages

project = "skfair"
author = "The skfair developers"
copyright = "the skfair developers, BSD-3-Clause"
version = release = skfair.__version__


def repository_link() -> list[dict[str, str]]:
    """Return a link to where this checkout was cloned from, if it is on the web."""
    found = subprocess.run(
        ["git", "remote", "get-url", "origin"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    url = re.sub(r"^git@([^:]+):", r"https://\1/", found.stdout.strip())
    if not url.startswith("https://"):
        return []
    return [{"name": "Repository", "url": url, "icon": "fa-solid fa-code-branch"}]


extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "jupyterlite_sphinx",
]
exclude_patterns = ["_templates", "gallery/*.py", "gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "literal"  # single backticks are code, as in Markdown
# Docstrings that are inherited from scikit-learn name terms of its glossary.
suppress_warnings = ["config.cache", "ref.term"]
nitpicky = False

extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_mock_imports = ["torch"]
numpydoc_show_class_members = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"skfair {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_domain_indices = False  # the reference lists the packages
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "image_light": "_static/logo-light.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "skfair",
    },
    # With the search as an icon the header is one row at 1,280 pixels.
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "icon_links": repository_link(),
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["foot"],
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "get_started",
        "which_number",
        "which_mitigation",
        "papers",
        "changelog",
    )
}
html_math_renderer = "mathml"

ROOT = Path(__file__).parents[1]
#: Examples that do not run in a browser, and why.
NOT_IN_BROWSER = {
    "audit_parquet": "it needs DuckDB and PyArrow",
    "search_on_dask": "it needs Dask, which starts processes",
}


def prepare_notebook(notebook: dict[str, Any], path: str) -> None:
    """Put a cell first that installs skfair, or that says why it does not run."""
    reason = NOT_IN_BROWSER.get(Path(path).stem)
    cell = {"cell_type": "markdown", "metadata": {}}
    if reason:
        cell["source"] = f"This example does not run in a browser: {reason}."
    else:
        install = "%pip install -q scikit-disparity jinja2 matplotlib"
        cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cell["source"] = install
    notebook["cells"].insert(0, cell)


def place_in_gallery(name: str) -> tuple[bool, str]:
    """Sort examples by name, after the one to begin with."""
    return name != "quickstart.py", name


# What JupyterLite is built of: the notebooks, and the wheel that their first cell
# installs. Pyodide and its packages are loaded from the web by who opens a notebook.
LITE = ROOT / "build" / "lite"
jupyterlite_dir = str(LITE)
jupyterlite_config = "jupyter_lite_config.json"
jupyterlite_content_dir = str(LITE / "notebooks")

sphinx_gallery_conf = {
    "jupyterlite": {
        "use_jupyter_lab": False,
        "jupyterlite_contents": jupyterlite_content_dir,
        "notebook_modification_function": prepare_notebook,
    },
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Dask starts processes that import the script: a slow test runs this one.
    "filename_pattern": r"^(?!.*search_on_dask).*\.py$",
    "doc_module": ("skfair",),
    "backreferences_dir": "generated/examples",
    "inspect_global_variables": True,
    "reference_url": {"skfair": None},
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "within_subsection_order": place_in_gallery,
    "parallel": True,  # as many as Sphinx has jobs
    "capture_repr": ("_repr_html_",),  # displays have no text beside their picture
    # The diagram of an estimator has links too pale to read.
    "ignore_repr_types": r"skfair\.(?:in|post)processing|sklearn",
    "write_computation_times": False,
}


def public_names() -> dict[str, str]:
    """Return the full name of every public object, by its name on a page.

    The first package that exports a name has it.
    """
    found = {"DiffMCDPLoss": "skfair.torch.DiffMCDPLoss"}
    for package in public_packages():
        module = importlib.import_module(f"skfair.{package}")
        for name in getattr(module, "__all__", ()):
            found[f"{package}.{name}"] = f"skfair.{package}.{name}"
            found.setdefault(name, f"skfair.{package}.{name}")
    found |= {full: full for full in found.values()}
    return found


def public_object(full: str) -> Any:
    """Return a public object by its full name, None for others and for PyTorch's."""
    package, _, name = full.rpartition(".")
    if full not in LinkNames.names.values() or package == "skfair.torch":
        return None
    return getattr(importlib.import_module(package), name)


def own_members(names: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return kind and name of what skfair defines in each public class, by class."""
    found = {}
    for full in names:
        thing = public_object(full)
        members = inspect.getmembers(thing) if inspect.isclass(thing) else ()
        found[full] = [
            ("property" if isinstance(member, property) else "method", name)
            for name, member in members
            if not name.startswith("_")
            and (isinstance(member, property) or callable(member))
            and str(
                getattr(getattr(member, "fget", member), "__module__", "")
            ).startswith("skfair")
        ]
    return found


def parameter_names(full: str) -> set[str]:
    """Return the parameters of a public object and of its methods."""
    thing = public_object(full)
    methods = [
        getattr(thing, name)
        for kind, name in own_members({full}).get(full, ())
        if kind == "method"
    ]
    return {
        parameter
        for function in (thing, *methods)
        if callable(function) and function.__module__ != "skfair.exceptions"
        for parameter in inspect.signature(function).parameters
    }


class LinkNames(SphinxTransform):
    """Link public names and examples in code font to their pages."""

    default_priority = 400
    names = public_names()

    def apply(self, **_: Any) -> None:
        """Put a reference around each literal that is one of them."""
        here = self.env.docname.rpartition("/")[2]
        parameters = parameter_names(here)
        for literal in list(self.document.findall(nodes.literal)):
            text, parent = literal.astext(), literal.parent
            name = self.names.get(text.removesuffix("()"))
            example = re.fullmatch(r"(?:python )?examples/(\w+)\.py", text)
            if isinstance(parent, nodes.title | nodes.reference | pending_xref):
                continue
            if example:
                target = ("std", "doc", f"/gallery/{example[1]}")
            elif name and name != here and text not in parameters:
                target = ("py", "obj", name)
            else:
                continue
            options = dict(
                zip(("refdomain", "reftype", "reftarget"), target, strict=True)
            )
            options |= {"refexplicit": True, "refwarn": True}
            link = pending_xref(
                "", literal.deepcopy(), refdoc=self.env.docname, **options
            )
            parent.replace(literal, link)


def by_task(
    module: str, functions: list[str], classes: list[str], exceptions: list[str]
) -> list[tuple[str, list[str]]]:
    """Return titles and public names of the sections of a package's page."""
    if module != "skfair.metrics":
        return [
            ("Functions", functions),
            ("Classes", classes),
            ("Warnings", exceptions),
        ]
    public = {*functions, *classes}
    named = [name for names in METRICS_BY_TASK.values() for name in names]
    sections = [
        (title, [name for name in names if name in public])
        for title, names in METRICS_BY_TASK.items()
    ]
    results = sorted(name for name in classes if is_result(name))
    others = sorted(public.difference(named, results))
    return [*sections, ("Further metrics", others), ("Results", results)]


autosummary_context = {
    "own_members": own_members(set(LinkNames.names.values())),
    "by_task": by_task,
}


def write_mathml(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers draw and read without a script."""
    block = isinstance(node, nodes.math_block)
    translator.body.append(str(tex2mathml(node.astext(), as_block=block)))
    raise nodes.SkipNode


#: An ``assert`` of the code of an example, with the lines that continue it.
ASSERTION = re.compile(
    r"^(?P<indent> +)assert .*\n(?:(?P=indent) +.*\n|(?P=indent)[)\]].*\n)*", re.M
)


def hide_assertions(app: Sphinx, name: str, source: list[str]) -> None:
    """Leave out what an example asserts, which its readers have been told before."""
    if name.startswith("gallery/"):
        source[0] = ASSERTION.sub("", source[0])


#: The button that sphinx-gallery puts on the page of every example.
BUTTON = re.compile(r"^( +)\.\. container:: lite-badge\n\n(?: {4}.*\n)+", re.M)


def replace_button(app: Sphinx, name: str, source: list[str]) -> None:
    """Say why an example does not run in a browser, in place of the button."""
    reason = NOT_IN_BROWSER.get(name.removeprefix("gallery/"))
    if reason:
        text = rf"\1This example does not run in a browser: {reason}.\n"
        source[0] = BUTTON.sub(text, source[0])


def build_wheel(app: Sphinx, config: Config) -> None:
    """Build the wheel where JupyterLite looks for packages, without the web."""
    # sphinx-gallery fills the directory that is read already.
    config.jupyterlite_contents = []
    wheels = LITE / "pypi"
    for old in wheels.glob("*.whl"):
        old.unlink()
    hatch = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels]
    subprocess.run(hatch, cwd=ROOT, check=True, capture_output=True)


def leave_out_files(app: Sphinx, *page: Any) -> None:
    """Leave out styles and scripts of JupyterLite, among them a font of a third party.

    They are for directives that no page has.
    """
    context = page[2]
    for kind in ("css_files", "script_files"):
        context[kind] = [
            file
            for file in context[kind]
            if not re.search(
                r"jupyterlite_sphinx|fonts\.googleapis", str(file.filename)
            )
        ]


def setup(app: Sphinx) -> None:
    """Register the links of names, and what makes the gallery run in a browser."""
    app.add_transform(LinkNames)
    app.connect("config-inited", build_wheel, priority=900)
    app.connect("source-read", hide_assertions)
    app.connect("source-read", replace_button)
    app.connect("html-page-context", leave_out_files)
    write = (write_mathml, None)
    app.add_html_math_renderer("mathml", inline_renderers=write, block_renderers=write)
    # Before numpydoc, whose priority is 500.
