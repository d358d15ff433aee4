"""The examples are scripts of the gallery, which runs them when the site is built."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_is_a_script_of_the_gallery_that_asserts_what_it_shows(example):
    text = example.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, line, blank, *_ = ast.get_docstring(tree).splitlines()
    assert (set(line), len(line), blank) == ({"="}, len(title), "")
    assert text.count("\n# %%\n") >= 2
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert "fetch_" not in text  # a table that must be downloaded


@pytest.mark.slow
def test_the_example_that_the_site_does_not_run(tmp_path):
    pytest.importorskip("distributed", reason="the example needs Dask")
    script = ROOT / "examples" / "search_on_dask.py"
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
