"""The map from repaired scores to probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import log_loss

from skfair.postprocessing._calibration import BetaCalibration


@pytest.mark.parametrize("expected", [(0.6, 1.4, -0.3), (1.5, 0.5, 0.4), (1, 1, 0)])
def test_finds_the_map_of_the_data(expected):
    generator = np.random.default_rng(0)
    scores = generator.beta(1, 2, 50_000)
    y = generator.random(50_000) < BetaCalibration(*expected)(scores)
    assert_allclose(BetaCalibration.fit(scores, y, None), expected, atol=0.08)


def test_map_by_its_definition():
    scores = np.array([0.0, 1e-300, 0.2, 0.7, 1 - 1e-9, 1.0])
    odds = 0.5 * np.log(0.2) - 1.5 * np.log(0.8) + 0.1
    mapped = BetaCalibration(0.5, 1.5, 0.1)(scores)
    assert_allclose(mapped[2], expit(odds))
    assert_array_equal(mapped[[0, -1]], [0, 1])
    assert (np.diff(mapped) > 0).all()


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_increases_whatever_the_labels_and_never_raises_log_loss(seed, n_rows):
    generator = np.random.default_rng(seed)
    scores = generator.random(n_rows).round(generator.integers(1, 9))
    y = np.arange(n_rows) % 2 == 1
    found = BetaCalibration.fit(scores, y, None)
    mapped = found(np.unique(scores))
    assert (np.diff(mapped) > 0).all()
    targets = log_loss(y, np.clip(found(scores), 1e-12, 1 - 1e-12))
    # Platt's targets are not quite the labels.
    assert targets <= log_loss(y, np.clip(scores, 1e-12, 1 - 1e-12)) + 1 / n_rows


def test_weights_count_rows():
    generator = np.random.default_rng(0)
    scores, weights = generator.random(200), generator.integers(1, 4, 200)
    y = generator.random(200) < scores**2
    repeated = BetaCalibration.fit(
        np.repeat(scores, weights), np.repeat(y, weights), None
    )
    assert_allclose(BetaCalibration.fit(scores, y, weights), repeated, rtol=1e-4)
