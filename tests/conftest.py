import gc
import html
import json
import os
import re
import shutil
import subprocess
import types
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path
from unittest import mock

# One test process runs on each core already; more threads would only wait. Libraries
# read this when they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import pytest

# Libraries are imported by functions alone: the process that hands out the tests waits
# for this file, and runs none.


def draw_same_examples(config):
    """Draw the same random examples in every run, however slow the machine."""
    import numpy  # noqa: F401 -- whose generator Hypothesis registers

    # As any other library: pytest would rewrite the asserts of its plugin for a second.
    with mock.patch("sys.meta_path", [BuiltinImporter, FrozenImporter, PathFinder]):
        from hypothesis import given, settings, strategies

    # Where slow tests run too, more examples are drawn.
    n = 10 if config.option.markexpr == "not slow" else 20
    settings.register_profile("skfair", deadline=None, derandomize=True, max_examples=n)
    settings.load_profile("skfair")
    # Its first test looks for generators among all objects, which here are few.
    given(strategies.none())(lambda drawn: None)()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without searches for garbage.

    They would take almost half of the time. What is collected lasts to the end: later
    searches pass over it, and are fewer than by default.
    """
    # Also where no test runs: the summary of Hypothesis needs it there.
    draw_same_examples(session.config)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for examples in docstrings of the library alone: tests have none."""
    return [each for each in (yield) if type(each).__name__ != "DoctestModule"]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, obj):
    """Pass over slow tests where they do not run, unless one is asked for by name."""
    config = collector.config
    passes = config.option.markexpr == "not slow" and "::" not in "".join(config.args)
    marks = getattr(obj, "pytestmark", ()) if passes else ()
    # Of a class or function: the marks of a module are those of its variable.
    return [] if any(getattr(each, "name", "") == "slow" for each in marks) else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Draw the same numbers in every run, also where no seed is given."""
    import numpy as np

    np.random.seed(0)  # noqa: NPY002 -- the generator that random_state=None means


# Read at once: tests of downloads unset it. The other place is beside the checkout.
REAL_TABLES = Path(
    os.environ.get("SKFAIR_DATA")
    or Path(__file__).resolve().parents[2] / "shared" / "data"
)


@pytest.fixture(scope="session")
def real_tables():
    """Directory of the real tables."""
    if not REAL_TABLES.is_dir():
        pytest.skip(f"no real tables in {REAL_TABLES}: set SKFAIR_DATA to their folder")
    return REAL_TABLES


@pytest.fixture(scope="session")
def adult(real_tables):
    """Features without sampling weight and sex, whether income is high, and sex."""
    from skfair.datasets import fetch_adult

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKFAIR_DATA", str(real_tables))
        table = fetch_adult()
    X = table.data.drop(columns=["fnlwgt", "sex"])
    return X, (table.target == ">50K").to_numpy(), table.data["sex"].to_numpy()


@pytest.fixture(scope="session")
def gap():
    """Measure the gap between groups of a model's scores."""
    from skfair.metrics import mcdp

    def measure(model, X, groups, **given):
        scores = model.predict_proba(X, **given)[:, 1]
        return mcdp(None, scores, sensitive_features=groups)

    return measure


@pytest.fixture(scope="session")
def make_people():
    """Make X with a proxy of sex, y, and sex as a series of another index."""
    import numpy as np
    import pandas as pd

    def make(n_samples, seed=0):
        generator = np.random.default_rng(seed)
        sex = np.where(generator.random(n_samples) < 0.4, "F", "M")
        skill = generator.normal(size=n_samples)
        X = pd.DataFrame(
            {
                "is_man": (sex == "M") + 0.0,
                "skill": skill,
                "proxy": generator.normal(size=n_samples) + 1.5 * (sex == "M"),
            }
        )
        chance = 1 / (1 + np.exp(-skill - X["proxy"] + 1))
        y = np.where(generator.random(n_samples) < chance, "yes", "no")
        return (
            X,
            y,
            pd.Series(sex, name="sex", index=np.arange(n_samples)[::-1] + n_samples),
        )

    return make


@pytest.fixture(scope="session")
def people(make_people):
    return make_people(1500)


@pytest.fixture(scope="session")
def counting():
    """Make constructors of reports that treat few rows as many.

    Other sizes from which on a table is counted in bins may be given by name.
    """
    from skfair.report import FairnessReport

    def make(**sizes):
        constants = {f"_{name.upper()}": size for name, size in sizes.items()}

        def few(name):
            def report(*rows, **given):
                with mock.patch.multiple(
                    "skfair.report._inputs", MANY_ROWS=1, **constants
                ):
                    return getattr(FairnessReport, name)(*rows, **given)

            return report

        from_frame, from_predictions = few("from_frame"), few("from_predictions")

        return types.SimpleNamespace(
            from_frame=from_frame, from_predictions=from_predictions
        )

    return make


@pytest.fixture(scope="session")
def make_scored_people():
    """Make true classes, scores that differ by sex, and sex and race."""
    import numpy as np
    import pandas as pd

    def make(n_samples, seed=0):
        generator = np.random.default_rng(seed)
        sex = np.where(generator.random(n_samples) < 0.4, "F", "M")
        race = generator.choice(["x", "y", "z"], n_samples, p=[0.6, 0.3, 0.1])
        y_score = generator.beta(2 + 2 * (sex == "M"), 3).round(3)
        y_true = (generator.random(n_samples) < y_score).astype(int)
        return y_true, y_score, pd.DataFrame({"sex": sex, "race": race})

    return make


@pytest.fixture(scope="session")
def coded_scores():
    """Draw scores, codes of their groups, and weights."""
    import numpy as np

    def draw(n_samples, n_groups):
        generator = np.random.default_rng(0)
        codes = np.arange(n_samples) % n_groups
        scores = generator.beta(1 + codes, 4, n_samples)
        return scores, codes, generator.random(n_samples)

    return draw


#: What stands in place of a part of a dictionary that was changed at random.
JUNK = [None, True, -1, 0, 1, 3, 0.5, 1e-9, 1e308, -0.0, 2**53, 2**63, 2**70, "x", ""]
JUNK += [[], {}, [[]], [1, [2]], ["a", "a"], {"a": 1}, float("nan"), float("inf")]


@pytest.fixture(scope="session")
def change_at_random():
    """Return a copy of what JSON holds, with one part of it changed at random."""

    def change(data, rng):
        data = json.loads(json.dumps(data))
        part = data
        while True:
            keys = [*part] if isinstance(part, dict) else range(len(part))
            inner = [key for key in keys if isinstance(part[key], (dict, list))]
            if not any(part[key] for key in inner) or rng.random() < 0.3:
                break
            part = part[rng.choice([key for key in inner if part[key]])]
        key = rng.choice(keys)
        how = rng.choice(["remove", "replace", "replace", "scale", "repeat", "swap"])
        if how == "remove":
            del part[key]
        elif how == "scale" and type(part[key]) in (int, float):
            part[key] = part[key] * rng.choice([-1, 2, 1.5, 10**18]) + 1
        elif how == "repeat" and isinstance(part, list):
            part.insert(key, part[key])
        elif how == "repeat":
            part[f"{key} "] = part[key]
        elif how == "swap":
            other = rng.choice(keys)
            part[key], part[other] = part[other], part[key]
        else:
            part[key] = rng.choice(JUNK)
        return data

    return change


# --- pages in a browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
HEADLESS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-extensions",
    "--hide-scrollbars",
]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Open a file or an address in a browser without a window.

    The browser keeps its files in a folder.
    """
    command = next(filter(None, map(shutil.which, BROWSERS)), None)
    if command is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")

    def browse(path, folder, *flags):
        profile = f"--user-data-dir={folder / 'profile'}"
        address = path if isinstance(path, str) else path.as_uri()
        return subprocess.run(
            [command, *HEADLESS, profile, *flags, address],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=90,
            check=False,
        )

    folder = tmp_path_factory.mktemp("browser")
    (folder / "page.html").write_text("<!DOCTYPE html><p>started")
    try:
        done = browse(folder / "page.html", folder, "--dump-dom")
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command} does not start here")
    if "started" not in done.stdout:
        pytest.skip(f"{command} does not start here")
    return browse


#: Lists in the parent page what is wider than its place, by the browser's own measure.
PROBE = """<script>addEventListener("load", () => {
  const frame = document.querySelector("iframe"), found = [];
  for (const element of frame.contentDocument.querySelectorAll("*")) {
    const display = frame.contentWindow.getComputedStyle(element).display;
    const drawn = !element.closest("svg, thead") && element.clientWidth > 0;
    if (drawn && display != "inline" && element.scrollWidth > element.clientWidth + 1)
      found.push(element.className || element.tagName);
  }
  const width = frame.contentDocument.documentElement.clientWidth;
  document.body.setAttribute("data-found", [width, ...found].join(" "));
})</script>"""


@pytest.fixture(scope="session")
def wider_than_their_place(browser):
    """List the elements of a page that scroll sideways in a window of a given width."""

    def measure(page, folder, width):
        folder.mkdir()
        path = folder / "frame.html"
        # In a frame, since windows of some browsers are 500 pixels wide at least.
        style = f"width: {width}px; border: 0"
        frame = f'<iframe style="{style}" srcdoc="{html.escape(page)}"></iframe>'
        path.write_text(f"<!DOCTYPE html><body>{frame}{PROBE}", encoding="utf-8")
        shown = browser(path, folder, "--dump-dom").stdout
        measured, *found = re.search(r'data-found="([^"]*)"', shown)[1].split()
        assert int(measured) == width
        return found

    return measure
