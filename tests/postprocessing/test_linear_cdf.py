"""Exact values of the CDFs that a repair is made of, and of their noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit, ndtr

from skfair.postprocessing._score_repairer import (
    GroupCDFs,
    LinearCDF,
    TargetBand,
    has_ties,
    repaired_at,
    tied_shares,
)
from skfair.statistics import GroupedScores


def statistic(*groups, weights=None):
    """Grouped scores, one list of scores for each group."""
    return GroupedScores.from_scores(
        np.concatenate(groups),
        sensitive_features=np.repeat(np.arange(len(groups)), [len(g) for g in groups]),
        sample_weight=weights,
    )


UNIFORM = LinearCDF(np.array([0, 0.5, 1]), np.array([0, 0.5, 1]), np.array([0, 0.5, 1]))
BOTH_UNIFORM = GroupCDFs(
    ("a", "b"),
    (UNIFORM, UNIFORM),
    (UNIFORM, UNIFORM),
    UNIFORM,
    np.full(2, 0.5),
    np.full(2, 1000),
)


# --- one CDF


def test_smoothed_heights_are_those_of_a_normal_kernel_in_the_log_odds():
    scores = np.random.default_rng(0).beta(2, 4, 300)
    rows = statistic(scores)
    cdf = LinearCDF.of(rows, 0).smoothed(rows, 0)
    log_odds = logit(np.sort(scores))
    width = log_odds.std() * 300 ** (-1 / 3)
    expected = ndtr((log_odds[:, None] - log_odds) / width).mean(axis=1)
    assert_allclose(cdf.high[1:-1], expected, atol=1e-3)
    assert_array_equal(cdf.low, cdf.high)
    assert cdf.high[[0, -1]].tolist() == [0, 1]


@pytest.mark.parametrize("scores", [[0.3] * 9, np.arange(900) % 10 / 10, [0, 1] * 50])
def test_scores_that_many_rows_share_are_not_smoothed(scores):
    rows = statistic(scores)
    cdf = LinearCDF.of(rows, 0)
    assert cdf.smoothed(rows, 0) is cdf


# --- groups


# --- ties


def test_ties_count_from_one_over_the_root_of_the_rows():
    scores = np.linspace(0, 1, 25)
    for n_tied, tied in ((5, False), (6, True)):
        scores[:n_tied] = 0
        rows = statistic(scores, np.linspace(0, 1, 400))
        assert has_ties(rows) is tied
        shares = tied_shares(rows)
        assert shares.max() == n_tied / 25
        assert np.count_nonzero(shares) == 1
    assert has_ties(statistic(np.linspace(0, 1, 3))) is False


# --- paths


@pytest.mark.parametrize("score", [1e-3, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("sign", [-1, 1])
def test_scores_that_stay_within_rounding_stay_to_the_last_digit(score, sign):
    rounding = sign * 1e-9 * min(score, 1 - score)
    for factor, stays in ((0.9, True), (1.1, False)):
        moved = score + factor * rounding
        heights = np.full((2, 1), moved)
        band = TargetBand.at(BOTH_UNIFORM, np.array([score]), heights, 1.0)
        assert bool(band.scores[0] == score) is stays
        assert band.scores[0] == pytest.approx(score if stays else moved, abs=1e-15)


def test_clipped_heights_get_the_mean_of_the_scores_of_the_groups():
    groups = GroupCDFs.of(statistic([0.1, 0.2, 0.3], [0.5, 0.7, 0.9]))
    none = TargetBand.within(groups, 0.0)
    # At the score 0.1 the CDFs are 1/6 and 1/30, so both targets are 1/10, which is the
    # height of the scores 0.06 and 0.3; at the score 0.9 likewise.
    heights = np.array([0.1, 0.5 * (5 / 6 + 5 / 6 + 1 / 7)])
    for group in (0, 1):
        moved = repaired_at(groups, none, group, heights)
        assert_allclose(moved, [0.18, (0.6 + 0.9 + 0.3 / 7) / 2])
    whole = TargetBand.within(groups, groups.largest_gap())
    assert not whole.moves
    assert TargetBand.within(groups, groups.largest_gap() - 1e-6).moves
