"""The first steps of the README in a new environment, and what it leaves out."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NO_REGISTRY = re.compile(r"No matching distribution|Connection|Temporary failure")
WITHOUT_EXTRA = {
    "torch": "import skfair.torch",
    "jinja2": (
        "from skfair.report import FairnessReport; FairnessReport.from_predictions("
        "[0, 1] * 40, [.1, .9, .3, .6] * 20, sensitive_features=[*'aabb'] * 20, "
        "n_resamples=9, n_permutations=59).to_html()"
    ),
}


def run(command, folder):
    """Run a command in a shell that knows nothing of this checkout."""
    hidden = "PYTHONPATH", "SKFAIR_DATA", "VIRTUAL_ENV", "PYTHONHOME"
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    places = [str(Path(sys.executable).parent), environment.get("PATH", "")]
    environment |= {"PATH": os.pathsep.join(places), "MPLBACKEND": "agg"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.fixture
def checkout(tmp_path):
    """Copy what an installation and an example read."""
    copy = tmp_path / "checkout"
    for name in ("skfair", "examples"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.mark.slow
@pytest.mark.promise("The README's commands and blocks run in a new environment")
def test_first_steps_of_the_readme(checkout, tmp_path):
    # One test, so that one environment is made, in whichever process it runs.
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[1]
    done = run(["bash", "-e", "-c", command], checkout)
    if done.returncode and NO_REGISTRY.search(done.stderr):
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr
    python = checkout / ".venv" / "bin" / "python"

    # The blocks, copied into a script.
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "first.py").write_text("".join(blocks), encoding="utf-8")
    done = run([python, "first.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "selection_rate men" in done.stdout
    assert (tmp_path / "gap.png").stat().st_size > 10_000
    first = [line for line in blocks[0].splitlines() if line]
    assert len(first) <= 8

    # The package as installed, outside the checkout.
    done = run([python, "-m", "skfair", "audit", "--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--sensitive" in done.stdout
    load = "from skfair.datasets import load_berkeley_admissions as f; print(f().DESCR)"
    done = run([python, "-c", load], tmp_path)
    assert "Berkeley" in done.stdout, done.stderr

    for package, code in WITHOUT_EXTRA.items():
        message = run([python, "-c", code], tmp_path).stderr.splitlines()[-1]
        assert "ImportError" in message
        assert f"'pip install {package}'" in message
        assert "pip install skfair" not in message
