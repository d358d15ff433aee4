import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def make_people():
    """Make X with a column of sex, y, and sex as a series of another index."""

    def make(n_samples, seed=0):
        generator = np.random.default_rng(seed)
        sex = np.where(generator.random(n_samples) < 0.4, "F", "M")
        skill = generator.normal(size=n_samples)
        X = pd.DataFrame(
            {
                "is_man": (sex == "M") + 0.0,
                "skill": skill,
                "noise": generator.normal(size=n_samples),
            }
        )
        chance = 1 / (1 + np.exp(-1.5 * skill - 1.5 * X["is_man"] + 0.7))
        y = np.where(generator.random(n_samples) < chance, "yes", "no")
        return X, y, pd.Series(sex, name="sex", index=np.arange(n_samples)[::-1])

    return make


@pytest.fixture(scope="session")
def people(make_people):
    return make_people(2000)
