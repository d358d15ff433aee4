"""How Sphinx builds the documentation: ``bash .ci/docs``."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import skfair

project = "skfair"
author = "The skfair developers"
copyright = "the skfair developers, BSD-3-Clause"
version = release = skfair.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "gallery/*.py", "gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "literal"  # single backticks are code, as in Markdown
suppress_warnings = ["config.cache"]
nitpicky = False

extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_mock_imports = ["torch"]
numpydoc_show_class_members = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"skfair {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"changelog": [], "contributing": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "doc_module": ("skfair",),
    "backreferences_dir": "generated/examples",
    "inspect_global_variables": True,
    "reference_url": {"skfair": None},
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}

#: Where each public name is documented. The first package that exports a name has it,
#: except that what a page says of "mcdp_bounds" is of the one in skfair.metrics.
PACKAGES = [
    "metrics",
    "inprocessing",
    "postprocessing",
    "model_selection",
    "monitoring",
    "report",
    "inspection",
    "frames",
    "sampling",
    "statistics",
    "groups",
    "datasets",
    "exceptions",
]


def public_names() -> dict[str, str]:
    """Return the full name of every public object, by its name on a page."""
    found = {"DiffMCDPLoss": "skfair.torch.DiffMCDPLoss"}
    for package in PACKAGES:
        module = importlib.import_module(f"skfair.{package}")
        for name in getattr(module, "__all__", ()):
            found[f"{package}.{name}"] = f"skfair.{package}.{name}"
            found.setdefault(name, f"skfair.{package}.{name}")
    found |= {full: full for full in found.values()}
    return found


def own_methods(names: set[str]) -> dict[str, list[str]]:
    """Return the methods of each public class that skfair defines, by its full name."""
    found = {}
    for full in names - {"skfair.torch.DiffMCDPLoss"}:
        package, _, name = full.rpartition(".")
        thing = getattr(importlib.import_module(package), name)
        if inspect.isclass(thing):
            found[full] = [
                method
                for method, function in inspect.getmembers(thing, callable)
                if not method.startswith("_")
                and str(getattr(function, "__module__", "")).startswith("skfair")
            ]
    return found


class LinkNames(SphinxTransform):
    """Link every public name in code font to its page of the reference."""

    default_priority = 400
    names = public_names()

    def apply(self, **_: Any) -> None:
        """Put a reference around each literal that is a public name."""
        here = self.env.docname.rpartition("/")[2]
        for literal in list(self.document.findall(nodes.literal)):
            full = self.names.get(literal.astext().removesuffix("()"))
            parent = literal.parent
            if full in (None, here) or isinstance(
                parent, nodes.title | nodes.reference | pending_xref
            ):
                continue
            link = pending_xref(
                "",
                literal.deepcopy(),
                refdomain="py",
                reftype="obj",
                reftarget=full,
                refexplicit=True,
                refwarn=True,
                refdoc=self.env.docname,
            )
            parent.replace(literal, link)


autosummary_context = {"own_methods": own_methods(set(LinkNames.names.values()))}


def setup(app: Sphinx) -> None:
    """Register the links of names."""
    app.add_transform(LinkNames)
