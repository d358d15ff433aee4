import numpy as np
import pandas as pd
import pytest

from skfair.report import FairnessReport

try:
    import jinja2  # noqa: F401
    import matplotlib
except ModuleNotFoundError:
    collect_ignore_glob = ["test_html.py", "test_chromium.py"]
else:
    matplotlib.use("Agg")

#: Enough draws for every number to be there.
FEW = {"n_bootstrap": 20, "n_permutations": 59, "random_state": 0}


@pytest.fixture(scope="session")
def rows():
    """Labels, scores that differ by sex, and two attributes of 600 rows."""
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(600) < 0.4, "F", "M")
    race = generator.choice(["x", "y", "z"], 600, p=[0.6, 0.3, 0.1])
    y_score = generator.beta(2 + 2 * (sex == "M"), 3).round(3)
    y_true = (generator.random(600) < y_score).astype(int)
    return y_true, y_score, pd.DataFrame({"sex": sex, "race": race})


@pytest.fixture(scope="session")
def make_report():
    """Report on few draws."""

    def make(y_true, y_score=None, **options):
        return FairnessReport.from_predictions(y_true, y_score, **{**FEW, **options})

    return make


@pytest.fixture(scope="session")
def report(make_report, rows):
    y_true, y_score, people = rows
    models = {"plain": y_score, "flat": np.sqrt(y_score)}
    return make_report(y_true, models, sensitive_features=people, title="Two models")
