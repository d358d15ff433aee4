"""Checks a wheel and a sdist: version, licence, types, and files that do not belong.

python .ci/check_release.py DIRECTORY
"""

import re
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
INIT = (ROOT / "skfair" / "__init__.py").read_text("utf-8")
VERSION = re.search(r'^__version__ = "(.+)"$', INIT, re.MULTILINE)[1]
DATED = re.compile(rf"^## {re.escape(VERSION)}\b", re.MULTILINE)
RECIPE = ROOT / "conda" / "meta.yaml"


def check(holds: object, message: str) -> None:
    """End with a message unless a condition holds."""
    if not holds:
        raise SystemExit(f"release: {message}")


def check_wheel(path: Path) -> None:
    """Check the names in a wheel, and its metadata."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        info = f"{PROJECT['name'].replace('-', '_')}-{VERSION}.dist-info"
        metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    sources = {p.relative_to(ROOT).as_posix() for p in ROOT.glob("skfair/**/*.*")}
    sources = {name for name in sources if "__pycache__" not in name}
    packed = {name for name in names if not name.startswith(info)}
    check(packed == sources, f"other files in the wheel: {sorted(packed ^ sources)}")
    check("skfair/py.typed" in packed, "no py.typed in the wheel")
    check(f"{info}/licenses/LICENSE" in names, "no licence in the wheel")
    check(metadata["License-Expression"] == PROJECT["license"], "another licence")
    check("Typing :: Typed" in metadata.get_all("Classifier"), "not said to be typed")


def check_sdist(path: Path) -> None:
    """Check that a sdist has what its users and packagers need, and nothing made."""
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for needed in ("LICENSE", "CHANGELOG.md", "pyproject.toml", "docs/conf.py"):
        check(needed in names, f"no {needed} in the sdist")
    made = ("docs/generated", "docs/gallery", "build", "benchmarks")
    found = [name for name in names if name.startswith(made) or ".pyc" in name]
    check(not found, f"files in the sdist that are not needed: {found[:5]}")


def check_recipe() -> None:
    """Check that conda's recipe has the packages and commands of pyproject.toml."""
    recipe = RECIPE.read_text("utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip(" -").replace(" ", "") for line in run.splitlines()}
    needed = {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    check(asked == needed, f"conda's recipe differs: {sorted(asked ^ needed)}")
    for command, entry in PROJECT["scripts"].items():
        check(f"- {command} = {entry}\n" in recipe, f"conda's recipe lacks {command}")


if __name__ == "__main__":
    (wheel,) = Path(sys.argv[1]).glob("*.whl")
    (sdist,) = Path(sys.argv[1]).glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    check_recipe()
    check(DATED.search((ROOT / "CHANGELOG.md").read_text("utf-8")), "not in changelog")
    print(f"{PROJECT['name']} {VERSION}: wheel, sdist, recipe and changelog agree")
