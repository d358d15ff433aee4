import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from skfair.datasets import fetch_adult
from skfair.metrics import mcdp

# The same examples in every run, however slow the machine.
QUICK = settings(deadline=None, derandomize=True, max_examples=40)
settings.register_profile("quick", QUICK)
settings.register_profile("thorough", QUICK, max_examples=200)


def pytest_configure(config):
    # Where slow tests run too, more examples are drawn.
    quick = config.option.markexpr == "not slow"
    settings.load_profile("quick" if quick else "thorough")


def pytest_sessionstart():
    # One test process runs on each core already; more threads would only wait.
    threadpool_limits(limits=1)


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKFAIR_DATA", str(real_tables))
        table = fetch_adult()
    X = table.data.drop(columns=["fnlwgt", "sex"])
    return X, (table.target == ">50K").to_numpy(), table.data["sex"].to_numpy()


@pytest.fixture(scope="session")
def gap():
    """Measure the gap between groups of a model's scores."""

    def measure(model, X, groups, **given):
        scores = model.predict_proba(X, **given)[:, 1]
        return mcdp(None, scores, sensitive_features=groups)

    return measure


@pytest.fixture(scope="session")
def make_people():
    """Make X with a proxy of sex, y, and sex as a series of another index."""

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
        return X, y, pd.Series(sex, name="sex", index=np.arange(n_samples)[::-1])

    return make


@pytest.fixture(scope="session")
def people(make_people):
    return make_people(1500)


@pytest.fixture(scope="session")
def make_scored_people():
    """Make true classes, scores that differ by sex, and sex and race."""

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

    def draw(n_samples, n_groups):
        generator = np.random.default_rng(0)
        codes = np.arange(n_samples) % n_groups
        scores = generator.beta(1 + codes, 4, n_samples)
        return scores, codes, generator.random(n_samples)

    return draw
