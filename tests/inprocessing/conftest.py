import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.inprocessing import DiffMCDPClassifier, MCDPReweighter


@pytest.fixture(scope="session")
def make_people():
    """Make X with a proxy of sex, y, and sex as a series of another index."""

    def make(n_samples=600, seed=0):
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
def logistic():
    """Make a reweighted logistic regression."""

    def make(**options):
        return MCDPReweighter(LogisticRegression(), **options)

    return make


@pytest.fixture(scope="session")
def quick():
    """Make a small network that trains in few steps."""
    given = {"hidden_layer_sizes": (16,), "max_iter": 150, "learning_rate_init": 0.01}

    def make(**options):
        return DiffMCDPClassifier(**given | {"random_state": 0} | options)

    return make
