"""The site that ``bash .ci/docs`` builds."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def is_source(path):
    """Whether a site shows what the file says; the build itself writes the others."""
    written = {"__pycache__", "generated", "gallery", "sg_execution_times.rst"}
    names = set(path.relative_to(ROOT).parts)
    return path.is_file() and not names & written and not path.name.startswith(".")


@pytest.fixture(scope="session")
def site():
    """Folder of the site, which was built since its sources were changed."""
    built = ROOT / "build" / "built"
    if not built.exists():
        pytest.skip("no site has been built: bash .ci/docs")
    sources = [
        path
        for name in ("docs", "examples", "skfair")
        for path in ROOT.glob(f"{name}/**/*")
    ]
    for path in filter(is_source, sources):
        if path.stat().st_mtime > built.stat().st_mtime:
            name = path.relative_to(ROOT)
            pytest.skip(f"the site is older than {name}: bash .ci/docs")
    return ROOT / "build" / "site"
