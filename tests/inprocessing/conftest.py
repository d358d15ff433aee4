import pytest
from sklearn.linear_model import LogisticRegression

from skfair.inprocessing import DiffMCDPClassifier, MCDPReweighter


@pytest.fixture(scope="session")
def proxy_people(make_people):
    """600 people of whom X tells the sex by a proxy only."""
    X, y, sex = make_people(600)
    return X[["skill", "proxy"]], y, sex


@pytest.fixture(scope="session")
def logistic():
    """Make a logistic regression that is fitted to fair scores."""

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
