"""What is printed of long computations."""

import numpy as np
import pytest

from skfair.inprocessing import DiffMCDPClassifier

pytestmark = pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")


@pytest.fixture
def printed(capsys, monkeypatch):
    """Fit in three steps, and return what is printed; updates are seconds apart."""

    def fit(verbose, interval):
        monkeypatch.setattr("skfair._utils._progress._INTERVAL", interval)
        rows = np.arange(60)
        X = np.random.default_rng(0).normal(size=(60, 2))
        model = DiffMCDPClassifier(max_iter=3, verbose=verbose, random_state=0)
        model.fit(X, rows % 2, sensitive_features=rows // 2 % 2)
        said = capsys.readouterr()
        assert said.out == ""
        return said.err.replace("DiffMCDPClassifier: ", "")

    return fit


def test_nothing_is_printed_unasked(printed):
    assert printed(0, 0.0) == ""


def test_updates_are_replaced_and_lines_stay(printed):
    steps = "step, 1 of 3\rstep, 2 of 3\rstep, 3 of 3\rdone, 3 of 3\n"
    assert printed(1, 0.0) == steps


def test_updates_that_follow_too_soon_are_left_out(printed):
    assert printed(1, 3600.0) == "step, 1 of 3\rdone, 3 of 3\n"
