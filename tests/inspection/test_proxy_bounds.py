"""Distributions of groups that are known by a proxy only."""

import numpy as np
import pytest

from skfair.inspection import CDFGapDisplay
from skfair.metrics import equalized_odds_difference, mcdp, proxy_bounds


@pytest.fixture
def make_result():
    def make(metric=mcdp, y_true=None, **given):
        rng = np.random.default_rng(0)
        shares = np.repeat([0.1, 0.5, 0.9], 60)
        scores = rng.beta(2 + 2 * shares, 4)
        if y_true is not None:
            scores = (scores > 0.4).astype(int)
        return proxy_bounds(metric, y_true, scores, group_probabilities=shares, **given)

    return make


def test_errors_have_no_distributions(make_result):
    result = make_result(equalized_odds_difference, np.arange(180) % 2)
    with pytest.raises(TypeError, match="labels have no cumulative"):
        CDFGapDisplay.from_proxy_bounds(result)


def test_distributions_lie_within_their_bands(make_result):
    result = make_result()
    display = CDFGapDisplay.from_proxy_bounds(result, odds_ratio=3.0)
    bounds = result.cumulative_bounds(3.0)
    for group, line in enumerate(display.lines_):
        low, high = display.bounds[group]
        heights = line.get_ydata()
        assert (low <= heights).all()
        assert (heights <= high).all()
        assert low[1:-1].tolist() == bounds[(group, "lower")].tolist()
    assert len(display.bands_) == 2
    text = "Possible with odds ratios up to 3"
    assert display.bands_[0].get_label() == text
    assert display.lines_[0].get_label() == "0 (n = 90)"


def test_of_many_groups_the_two_furthest_apart_have_bands():
    rng = np.random.default_rng(0)
    cells = np.repeat(np.arange(10), 30)
    shares = np.full((300, 10), 0.05)
    shares[np.arange(300), cells] += 0.5
    scores = rng.beta(1 + cells, 5)
    result = proxy_bounds(mcdp, None, scores, group_probabilities=shares, cells=cells)
    display = CDFGapDisplay.from_proxy_bounds(result)
    assert len(display.bands_) == 2
    labels = [line.get_label() for line in display.lines_]
    assert [i for i, label in enumerate(labels) if label[0] != "_"] == [0, 1, 7]
    assert labels[:2] == ["0 (n = 30)", "8 other groups (n = 30)"]
    lines = np.array(display.shares)
    gaps = np.abs(lines[:, None] - lines).max(axis=2)
    assert gaps[0, 7] == gaps.max()
