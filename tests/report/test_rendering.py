"""What rendering a report needs, and what it leaves alone."""

import warnings

import pytest

from skfair.report import FairnessReport

pytest.importorskip("jinja2")


def test_missing_extra_is_named(report, monkeypatch):
    import importlib

    def import_module(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(ImportError, match=r"needs jinja2.*\[report\]"):
        report.to_html()


def test_drawing_leaves_matplotlib_alone(small_report):
    import matplotlib
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams), plt.get_fignums()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small_report.to_html()
    assert (dict(matplotlib.rcParams), plt.get_fignums()) == before


def test_summary_can_be_rendered_again(small_report, small_page):
    assert FairnessReport(small_report.summary).to_html() == small_page
