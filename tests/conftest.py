import os
from pathlib import Path

import pytest
from hypothesis import settings

from skfair.metrics import mcdp

# Same examples in every run, however slow the machine.
settings.register_profile("skfair", deadline=None, derandomize=True)
settings.load_profile("skfair")


@pytest.fixture(scope="session")
def shared_data():
    """Directory of the real tables."""
    checkout = Path(__file__).resolve().parents[1]
    directory = Path(
        os.environ.get("SKFAIR_DATA") or checkout.parent / "shared" / "data"
    )
    if not directory.is_dir():
        pytest.skip(f"no real tables in {directory}: set SKFAIR_DATA to their folder")
    return directory


@pytest.fixture(scope="session")
def gap():
    """Measure the gap between groups of a model's scores."""

    def measure(model, X, groups, **given):
        scores = model.predict_proba(X, **given)[:, 1]
        return mcdp(None, scores, sensitive_features=groups)

    return measure
