"""Exact values of the CDFs that a repair is made of, and of their noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit, ndtr

from skfair._rows import Rows
from skfair.groups import encode_groups
from skfair.postprocessing._group_cdfs import LinearCDF
from skfair.statistics._distributions import Distributions


def statistic(*groups, weights=None):
    """Distributions, of one list of scores for each group."""
    codes = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    columns = {"y_pred": np.concatenate(groups), "weight": weights}
    return Distributions.from_rows(Rows(encode_groups(codes), **columns))


# --- one CDF


def test_smoothed_heights_are_those_of_a_normal_kernel_in_the_log_odds():
    scores = np.random.default_rng(0).beta(2, 4, 300)
    rows = statistic(scores)
    cdf = LinearCDF.from_statistic(rows, 0).smooth(rows, 0)
    log_odds = logit(np.sort(scores))
    width = log_odds.std() * 300 ** (-1 / 3)
    expected = ndtr((log_odds[:, None] - log_odds) / width).mean(axis=1)
    assert_allclose(cdf.high[1:-1], expected, atol=1e-3)
    assert_array_equal(cdf.low, cdf.high)
    assert cdf.high[[0, -1]].tolist() == [0, 1]


@pytest.mark.parametrize("scores", [[0.3] * 9, np.arange(900) % 10 / 10, [0, 1] * 50])
def test_scores_that_many_rows_share_are_not_smoothed(scores):
    rows = statistic(scores)
    cdf = LinearCDF.from_statistic(rows, 0)
    assert cdf.smooth(rows, 0) is cdf


# --- groups


# --- ties


# --- paths
