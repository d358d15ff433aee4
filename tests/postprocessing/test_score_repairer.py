import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from skfair.datasets import make_biased_scores
from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.metrics import madd, mcdp
from skfair.postprocessing import ScoreRepairer
from skfair.postprocessing._group_cdfs import clip_to_band, lowest_of_band
from skfair.postprocessing._score_repairer import spread_in_bins
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions


@st.composite
def scored_rows(draw):
    """Scores with and without ties, of one to four groups."""
    n_rows = draw(st.integers(1, 25))
    size = {"min_size": n_rows, "max_size": n_rows}
    grid = st.integers(0, 5).map(lambda k: k / 5)
    score = draw(st.sampled_from([st.floats(0, 1), grid]))
    scores = np.array(draw(st.lists(score, **size)))
    return scores + 0.0, np.array(draw(st.lists(st.integers(0, 3), **size)))


@pytest.fixture(scope="module")
def simulated():
    return make_biased_scores(20_000, random_state=0)[1:]


def repaired(scores, groups, level, **options):
    repairer = ScoreRepairer(level, **options)
    return repairer.fit_transform(scores, sensitive_features=groups)


AMOUNTS = st.one_of(
    st.builds(lambda level: {"repair_level": level}, st.floats(0, 1)),
    st.builds(lambda gap: {"max_mcdp": gap}, st.floats(0, 1)),
)


@pytest.mark.slow
def test_a_thousand_groups():
    rng, groups = np.random.default_rng(0), np.arange(20_000) % 1000
    scores = rng.random(20_000) * (1 + groups % 2) / 2
    gap = mcdp(None, repaired(scores, groups, 1.0), sensitive_features=groups)
    # Half of the map of 20 rows is everyone's.
    assert gap < 0.6 * mcdp(None, scores, sensitive_features=groups)


@given(scored_rows(), AMOUNTS, st.lists(st.floats(0, 1), min_size=2))
@pytest.mark.promise("Repair keeps the order within each group")
def test_monotone_within_each_group_and_in_range(rows, amount, more):
    # Nine times as many rows, so that the groups are seen to differ.
    scores, groups = (np.repeat(values, 9) for values in rows)
    repairer = ScoreRepairer(**amount).fit(scores, sensitive_features=groups)
    new = np.sort(np.concatenate([scores, more]))
    for group in np.unique(groups):
        moved = repairer.transform(new, sensitive_features=np.full(len(new), group))
        assert np.diff(moved).min(initial=0) >= -1e-15
        assert moved.min() >= 0
        assert moved.max() <= 1


@given(scored_rows(), st.sampled_from(["mid", "random"]))
def test_identity_at_level_0_is_exact(rows, ties):
    scores, groups = rows
    new = np.linspace(0, 1, len(scores))
    repairer = ScoreRepairer(0, ties=ties).fit(scores, sensitive_features=groups)
    assert_array_equal(repairer.transform(scores, sensitive_features=groups), scores)
    assert_array_equal(repairer.transform(new, sensitive_features=groups), new)


@given(scored_rows(), st.floats(0, 1))
def test_one_group_keeps_its_scores(rows, level):
    scores, _ = rows
    assert_allclose(repaired(scores, np.zeros(len(scores)), level), scores, atol=1e-12)


@given(scored_rows(), st.floats(0, 1))
def test_weights_count_rows(rows, level):
    scores, groups = rows
    weights = np.arange(len(scores)) % 3 + 1
    repeated = ScoreRepairer(level).fit(
        np.repeat(scores, weights), sensitive_features=np.repeat(groups, weights)
    )
    weighted = ScoreRepairer(level).fit(
        scores, sensitive_features=groups, sample_weight=weights
    )
    for ours, theirs in zip(
        weighted.repaired_scores_, repeated.repaired_scores_, strict=True
    ):
        assert_array_equal(ours, theirs)


def test_equations_11_to_14_on_known_distributions(simulated):
    scores, groups = simulated
    level = 0.6
    moved = repaired(scores, groups, level)
    points = np.linspace(0.05, 0.95, 19)
    pooled = (scores <= points[:, None]).mean(axis=1)
    for group in (0, 1):
        own = (scores[groups == group] <= points[:, None]).mean(axis=1)
        after = (moved[groups == group] <= points[:, None]).mean(axis=1)
        assert_allclose(after, (1 - level) * own + level * pooled, atol=2e-4)


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(0.25, marks=pytest.mark.slow),
        0.5,
        pytest.param(0.75, marks=pytest.mark.slow),
        pytest.param(0.9, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("metric", [madd, mcdp])
def test_distances_fall_to_one_minus_the_level_on_new_rows(simulated, level, metric):
    scores, groups = simulated
    _, new, new_groups = make_biased_scores(20_000, random_state=1)
    repairer = ScoreRepairer(level).fit(scores, sensitive_features=groups)
    moved = repairer.transform(new, sensitive_features=new_groups)
    before = metric(None, new, sensitive_features=new_groups)
    after = metric(None, moved, sensitive_features=new_groups)
    # MADD of noise alone is about 0.06 here, and adds to small distances.
    assert after == pytest.approx((1 - level) * before, abs=0.05)


def test_full_repair_makes_distributions_coincide_and_is_idempotent(simulated):
    scores, groups = simulated
    once = repaired(scores, groups, 1.0)
    assert mcdp(None, once, sensitive_features=groups) < 0.001
    assert np.abs(np.sort(once) - np.sort(scores)).max() < 0.02
    assert_allclose(repaired(once, groups, 1.0), once, atol=0.002)


def test_random_ties_make_few_distinct_scores_alike():
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 2, 20_000)
    scores = generator.binomial(5, 0.3 + 0.3 * groups) / 5
    options = {"ties": "random", "random_state": 0}
    spread = repaired(scores, groups, 1.0, **options)
    assert mcdp(None, spread, sensitive_features=groups) < 0.02
    together = repaired(scores, groups, 1.0)
    assert mcdp(None, together, sensitive_features=groups) > 0.1
    assert len(np.unique(together[groups == 0])) <= 6
    assert_array_equal(repaired(scores, groups, 1.0, **options), spread)


def test_heights_are_ranks_less_one_half():
    scores = [0.1, 0.4, 0.4, 0.7]
    cdf = ScoreRepairer().fit(scores, sensitive_features=["a"] * 4).cdfs_[0]
    assert_array_equal(cdf.scores, [0, 0.1, 0.4, 0.7, 1])
    assert_allclose(cdf.low, [0, 1 / 8, 3 / 8, 7 / 8, 1])
    assert_allclose(cdf.high, [0, 1 / 8, 5 / 8, 7 / 8, 1])


def test_between_subnormal_scores():
    scores = np.repeat([0.5, 5e-324, 0, 1e-310, 5e-324, 1, 1], 200)
    groups = np.repeat([0, 1, 1, 1, 1, 1, 1], 200)
    new = [0, 5e-324, 1e-323, 1e-310, 1e-300, 1]
    repairer = ScoreRepairer(1.0).fit(scores, sensitive_features=groups)
    moved = repairer.transform(new, sensitive_features=[1] * 6)
    assert moved[2] < 1e-13
    # Its height is 7/12 in the group, in everyone's CDF that is within the step at 0.5.
    assert moved[3] == pytest.approx(0.5)
    assert np.diff(moved).min() >= 0


def test_extrapolation_stays_in_range_and_order():
    repairer = ScoreRepairer().fit([0.4, 0.5, 0.6], sensitive_features=[0, 1, 1])
    new = np.array([0.0, 0.1, 0.4, 0.9, 1.0])
    moved = repairer.transform(new, sensitive_features=np.zeros(5, dtype=int))
    assert_array_equal(moved[[0, -1]], [0, 1])
    assert (np.diff(moved) > 0).all()


def test_unknown_groups():
    scores = np.repeat([0.1, 0.5, 0.8, 0.9], 100)
    groups = np.repeat(["F", "M"], 200)
    repairer = ScoreRepairer().fit(scores, sensitive_features=groups)
    with pytest.raises(ValueError, match=r"groups \['X'\] in 1 row \(1\), .*'F'"):
        repairer.transform([0.3, 0.4], sensitive_features=["F", "X"])
    repairer = ScoreRepairer(unknown_groups="pooled")
    repairer.fit(scores, sensitive_features=groups)
    moved = repairer.transform([0.3, 0.4], sensitive_features=["F", "X"])
    assert moved[0] > 0.3
    assert moved[1] == 0.4


def test_rows_left_out():
    labels = encode_groups(["F", "M", None, "M"], missing="drop")
    scores = [0.1, 0.2, 0.3, 0.4]
    for unknown in ("pooled", "raise"):  # fit has left such rows out, too
        repairer = ScoreRepairer(unknown_groups=unknown)
        assert repairer.fit_transform(scores, sensitive_features=labels)[2] == 0.3
    repairer.fit(scores, sensitive_features=["F", "M", "M", "M"])
    with pytest.raises(ValueError, match=r"groups \['\(missing\)'\] in 1 row \(2\)"):
        repairer.transform(scores, sensitive_features=labels)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"repair_level": 1.5}, r"repair_level must be a number in \[0, 1\], got 1.5"),
        ({"repair_level": np.nan}, "repair_level"),
        ({"max_mcdp": 1.5}, r"max_mcdp must be None or a number in \[0, 1\], got 1.5"),
        (
            {"max_mcdp": 0.1, "repair_level": 0.5},
            r"max_mcdp replaces repair_level.*0\.5",
        ),
        ({"ties": "first"}, "ties must be 'mid' or 'random', got 'first'"),
        ({"unknown_groups": None}, "unknown_groups"),
    ],
)
def test_bad_parameters(options, match):
    with pytest.raises(ValueError, match=match):
        ScoreRepairer(**options).fit([0.1, 0.2], sensitive_features=[0, 1])


@pytest.mark.parametrize(
    ("scores", "groups", "match"),
    [
        ([0.1, 1.2], [0, 1], r"\[0, 1\], got 1.2"),
        ([0.1, np.nan], [0, 1], "nan"),
        ([[0.1, 0.9], [0.2, 0.8]], [0, 1], "scores has 2 columns"),
    ],
)
def test_bad_rows(scores, groups, match):
    with pytest.raises(ValueError, match=match):
        ScoreRepairer().fit(scores, sensitive_features=groups)
    fitted = ScoreRepairer().fit([0.1, 0.2], sensitive_features=[0, 1])
    with pytest.raises(ValueError, match=match):
        fitted.transform(scores, sensitive_features=groups)


def test_a_group_of_no_weight_is_refused():
    given = {"sensitive_features": ["F", "M", "M"], "sample_weight": [0, 1, 1]}
    with pytest.raises(ValueError, match=r"is zero for every row of the groups \['F'"):
        ScoreRepairer().fit([0.1, 0.2, 0.3], **given)


# --- the largest gap


def disparate(sizes, seed=0):
    """Beta scores of groups of some sizes, higher from group to group."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return generator.beta(2 + 3 * groups / len(sizes), 4), groups


def smoothing(sizes):
    """How far smoothing moves the CDFs of two groups at most, and a row of each."""
    n_rows = np.sort(sizes)[:2]
    return (0.7 / np.sqrt(n_rows) + 1 / n_rows).sum()


@pytest.mark.parametrize(
    "max_mcdp",
    [
        0.0,
        pytest.param(0.03, marks=pytest.mark.slow),
        0.1,
        pytest.param(0.25, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("sizes", [(2000, 2000), (400, 3600), (300, 500, 700, 900)])
@pytest.mark.promise("Repair ends at the gap asked for")
def test_largest_gap_is_the_one_asked_for(sizes, max_mcdp):
    scores, groups = disparate(sizes)
    moved = ScoreRepairer(max_mcdp=max_mcdp).fit_transform(
        scores, sensitive_features=groups
    )
    found = mcdp(None, moved, sensitive_features=groups)
    assert found == pytest.approx(max_mcdp, abs=smoothing(sizes))
    for group in range(len(sizes)):
        order = np.argsort(scores[groups == group])
        assert (np.diff(moved[groups == group][order]) > 0).all()


def test_full_repair_gives_the_mean_of_the_quantiles():
    scores, groups = disparate([500, 500])
    moved = ScoreRepairer(max_mcdp=0.0).fit_transform(scores, sensitive_features=groups)
    lower, higher = (np.sort(scores[groups == group]) for group in (0, 1))
    for group in (0, 1):
        found = np.sort(moved[groups == group])
        assert_allclose(found[10:-10], ((lower + higher) / 2)[10:-10], atol=0.02)
    weighted = ScoreRepairer(max_mcdp=0.0).fit(
        scores, sensitive_features=groups, sample_weight=np.where(groups, 3, 1)
    )
    moved = weighted.transform(scores, sensitive_features=groups)
    middle = (lower + 3 * higher) / 4
    assert_allclose(np.sort(moved[groups == 0])[10:-10], middle[10:-10], atol=0.02)


@pytest.mark.parametrize(
    ("sizes", "max_mcdp"),
    [
        ((600, 1200), 0.0),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in itertools.product([(900, 900), (600, 1200)], [0.0, 0.1, 0.3])
            if each != ((600, 1200), 0.0)
        ),
    ],
)
def test_no_thresholds_within_the_gap_decide_better(sizes, max_mcdp):
    """Decisions of probabilities, whatever a false positive costs."""
    scores, groups = disparate(sizes, seed=1)
    moved = ScoreRepairer(max_mcdp=max_mcdp).fit_transform(
        scores, sensitive_features=groups
    )
    # Before repair: the gain from selecting the k highest, and their share.
    ordered = [np.sort(scores[groups == group])[::-1] for group in (0, 1)]
    shares = [np.arange(size + 1) / size for size in sizes]
    gaps = np.abs(shares[0][:, None] - shares[1])
    for cost in np.linspace(0.05, 0.95, 19):
        gains = [np.append(0, np.cumsum(values - cost)) for values in ordered]
        sums = gains[0][:, None] + gains[1]
        found = (scores - cost)[moved >= cost].sum()
        assert found <= sums[gaps <= max_mcdp + smoothing(sizes)].max() + 1e-9
        # Little is lost by the softer limit of smaller gaps.
        free = sum(values.max() for values in gains)
        best = sums[gaps <= max_mcdp].max()
        assert best - found < 0.05 * (free - best) + 1e-3 * len(scores)


@pytest.mark.parametrize("options", [{}, {"max_mcdp": 0.1}], ids=str)
def test_groups_of_nearly_no_weight(options):
    repairer = ScoreRepairer(**options)
    repairer.fit([0.2, 0.6], sensitive_features=[0, 1], sample_weight=[1e-140, 1e12])
    moved = repairer.transform([0.2, 0.6], sensitive_features=[0, 1])
    assert 0 <= moved[0] <= moved[1] <= 1


def test_scores_of_groups_that_are_near_enough_stay_as_they_are():
    scores, groups = disparate([500, 500])
    gap = mcdp(None, scores, sensitive_features=groups)
    repairer = ScoreRepairer(max_mcdp=gap + 0.002)
    moved = repairer.fit_transform(scores, sensitive_features=groups)
    assert_array_equal(moved, scores)
    assert repairer.repair_level_ is None


def test_gaps_are_limited_the_less_the_smaller_they_are():
    scores, groups = disparate([10_000, 30_000])
    moved = ScoreRepairer(max_mcdp=0.2).fit_transform(scores, sensitive_features=groups)
    points = np.linspace(0, 1, 101)[:, None]
    before, after = (
        [(values[groups == group] <= points).mean(axis=1) for group in (0, 1)]
        for values in (scores, moved)
    )
    # One map of everyone takes the limited CDFs, whose mean is the same, to the new.
    mean = 0.25 * before[0] + 0.75 * before[1]
    gap = np.clip(before[0] - before[1], -0.2, 0.2)
    new_mean = 0.25 * after[0] + 0.75 * after[1]
    gap = np.interp(new_mean, mean, gap)
    assert_allclose(after[0], new_mean + 0.75 * gap, atol=0.01)
    assert_allclose(after[1], new_mean - 0.25 * gap, atol=0.01)
    near = np.abs(before[0] - before[1]) < 0.1
    assert near.sum() > 20
    assert_allclose(np.array(after)[:, near], np.array(before)[:, near], atol=1e-4)


@given(st.integers(2, 5), st.integers(2, 12), st.floats(0, 1), st.randoms())
def test_band_keeps_order_and_mean(n_groups, n_knots, max_mcdp, random):
    generator = np.random.default_rng(random.randrange(2**32))
    steps = generator.dirichlet(np.full(n_knots, 0.3), n_groups)
    heights = np.cumsum(steps, axis=1)
    shares = generator.dirichlet(np.ones(n_groups))
    lowest = lowest_of_band(heights, shares, max_mcdp)

    targets = clip_to_band(lowest, max_mcdp, heights)
    assert np.ptp(targets, axis=0).max() <= max_mcdp + 1e-12
    assert np.diff(targets, axis=1).min() >= -1e-8
    assert_allclose(shares @ targets, shares @ heights, atol=1e-8)


# --- small groups


@pytest.mark.parametrize(
    "options",
    [{"repair_level": 1}, pytest.param({"max_mcdp": 0}, marks=pytest.mark.slow)],
)
def test_most_of_the_true_gap_of_a_small_group_is_repaired(options):
    left, places = [], (np.arange(2000) + 0.5) / 2000
    new = beta.ppf(places, 2, 3), beta.ppf(places, 3, 2.5)
    by_group = {"sensitive_features": np.repeat([0, 1], 2000)}
    plain = mcdp(None, np.concatenate(new), **by_group)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        scores = np.append(generator.beta(2, 3, 1000), generator.beta(3, 2.5, 25))
        repairer = ScoreRepairer(**options)
        repairer.fit(scores, sensitive_features=np.repeat([0, 1], [1000, 25]))
        moved = repairer.transform(np.concatenate(new), **by_group)
        left.append(mcdp(None, moved, **by_group))
    assert np.mean(left) < 0.6 * plain


# --- statistics in place of rows


def assert_same_map(ours, theirs):
    assert ours.groups_ == theirs.groups_
    for name in ("cdfs_", "repaired_scores_"):
        for mine, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            for left, right in zip(mine, other, strict=True):
                assert_array_equal(left, right)


@given(scored_rows(), AMOUNTS, st.booleans())
def test_a_statistic_gives_the_map_of_its_rows(rows, amount, weighted):
    scores, groups = rows
    weights = np.arange(len(scores)) % 3 + 1 if weighted else None
    given_rows = {"sensitive_features": groups, "sample_weight": weights}
    statistic = CountTable.from_rows(None, scores, **given_rows)
    assert_same_map(
        ScoreRepairer(**amount).fit(statistic),
        ScoreRepairer(**amount).fit(scores, **given_rows),
    )


@pytest.mark.slow
@given(scored_rows(), st.booleans())
def test_cells_of_one_score_give_the_map_of_the_rows(rows, weighted):
    scores, groups = rows
    scores = np.round(scores, 3)
    weights = np.arange(len(scores)) % 3 + 1 if weighted else None
    given_rows = {"sensitive_features": groups, "sample_weight": weights}
    histogram = CountTable.from_rows(None, scores, n_bins=2**30, **given_rows)
    assert_same_map(
        ScoreRepairer().fit(histogram), ScoreRepairer().fit(scores, **given_rows)
    )


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4, 5, 6], np.arange(1, 7) / 7])
def test_bins_keep_their_rows_and_weights(weights):
    scores, groups = [0.1, 0.12, 0.2, 0.6, 0.7, 0.9], [0, 0, 0, 1, 1, 1]
    given_rows = {"sensitive_features": groups, "sample_weight": weights}
    histogram = CountTable.from_rows(None, scores, n_bins=2, **given_rows)
    spread = Distributions.from_rows(spread_in_bins(histogram._rows))
    assert spread.scores.tolist() == [0.1, (0.1 + 0.2) / 2, 0.2, 0.6, 0.75, 0.9]
    assert_array_equal(spread.counts, [3, 3])
    assert_allclose(spread.totals, np.bincount(groups, weights))
    assert_allclose(np.bincount(spread.codes, spread.weights), spread.totals)
    assert spread.labels == (0, 1)


def test_a_statistic_takes_the_place_of_all_other_arguments():
    statistic = CountTable.from_rows(None, [0.1, 0.7], sensitive_features=["F", "M"])
    for name in ("y", "sensitive_features", "sample_weight"):
        with pytest.raises(ValueError, match=f"{name} must be None"):
            ScoreRepairer().fit(statistic, **{name: [0, 1]})
    nobody = encode_groups([None], missing="drop")
    empty = CountTable.from_rows(None, [0.1], sensitive_features=nobody)
    with pytest.raises(ValueError, match="a table of 0 people"):
        ScoreRepairer().fit(empty)
    with pytest.raises(ValueError, match="sensitive_features is None"):
        ScoreRepairer().fit([0.1, 0.7])


# --- what new rows will show


def true_gap(repairer, n_groups):
    """MCDP(0) after the repair of the quantiles of `disparate`."""
    heights = (np.arange(5000) + 0.5) / 5000
    groups = np.repeat(np.arange(n_groups), 5000)
    scores = beta.ppf(np.tile(heights, n_groups), 2 + 3 * groups / n_groups, 4)
    moved = repairer.transform(scores, sensitive_features=groups)
    return mcdp(None, moved, sensitive_features=groups)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2000, 2000), (1500, 2500, 5000)])
@pytest.mark.promise("With `confidence_level=` the true gap is at most the stated one")
def test_the_true_gap_is_what_was_certified(sizes):
    above, plain = [], []
    for seed in range(15):
        scores, groups = disparate(sizes, seed)
        repairer = ScoreRepairer(max_mcdp=0.12, confidence_level=0.95)
        repairer.fit(scores, sensitive_features=groups)
        assert 0.1 < repairer.certified_mcdp_ <= 0.12
        above.append(true_gap(repairer, len(sizes)) > repairer.certified_mcdp_)
        repairer.set_params(confidence_level=None).fit(
            scores, sensitive_features=groups
        )
        assert repairer.certified_mcdp_ is None
        plain.append(true_gap(repairer, len(sizes)) > 0.12)
    assert sum(above) <= 3  # at most one in twenty: 4 of 15 happen in 0.5 % of cases
    assert sum(plain) > 3


def test_a_gap_that_few_rows_cannot_promise():
    scores, groups = disparate((300, 300))
    repairer = ScoreRepairer(max_mcdp=0.1, confidence_level=0.95)
    with pytest.warns(MitigationWarning, match=r"max_mcdp=0.1 does not hold .* 0.11"):
        repairer.fit(scores, sensitive_features=groups)
    # It is repaired in full, and the noise is all that is left.
    noise = np.sqrt(np.log(2 / 0.05) / 2 * 2 / 300)
    assert repairer.certified_mcdp_ == pytest.approx(noise, abs=2 / 300)
    in_strata = ScoreRepairer(max_mcdp=0.3, confidence_level=0.9)
    strata = np.arange(600) % 2
    in_strata.fit(scores, sensitive_features=groups, control_features=strata)
    own = [in_strata.stratum_repairers_[stratum] for stratum in (0, 1)]
    assert [part.confidence_level for part in own] == [0.95, 0.95]
    assert in_strata.certified_mcdp_ == max(part.certified_mcdp_ for part in own) <= 0.3


def test_shared_scores_are_not_promised():
    scores, groups = disparate((3000, 3000))
    repairer = ScoreRepairer(max_mcdp=0.1, confidence_level=0.9)
    with pytest.warns(MitigationWarning, match="share scores"):
        repairer.fit((scores > 0.4) + 0.0, sensitive_features=groups)
    left = repairer.transform((scores > 0.4) + 0.0, sensitive_features=groups)
    assert repairer.certified_mcdp_ > mcdp(None, left, sensitive_features=groups)


@pytest.mark.parametrize("decimals", [2, 3])
@pytest.mark.parametrize(
    "max_mcdp",
    [
        pytest.param(0.05, marks=pytest.mark.slow),
        0.1,
        pytest.param(0.15, marks=pytest.mark.slow),
    ],
)
def test_shared_scores_leave_room_for_the_limit(decimals, max_mcdp):
    """The repair aims lower by what ties leave, so that nothing is to be warned of."""
    scores, groups = disparate((20_000, 20_000))
    scores = scores.round(decimals)
    repairer = ScoreRepairer(max_mcdp=max_mcdp, confidence_level=0.95)
    moved = repairer.fit_transform(scores, sensitive_features=groups)
    assert repairer.certified_mcdp_ <= max_mcdp
    noise = np.sqrt(np.log(2 / 0.05) / 2 * 2 / 20_000)
    left = mcdp(None, moved, sensitive_features=groups)
    assert left <= max_mcdp - noise + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"max_mcdp": 0.1}, {"repair_level": 0.7}],
    ids=str,
)
def test_expected_gap_of_a_sample(options):
    sizes = {0: 300, 1: 500}
    told, found = [], []
    for seed in range(6):
        scores, groups = disparate((800, 1200), seed)
        repairer = ScoreRepairer(**options).fit(scores, sensitive_features=groups)
        told.append(repairer.expected_mcdp(sizes))
        new, new_groups = disparate(tuple(sizes.values()), seed + 100)
        moved = repairer.transform(new, sensitive_features=new_groups)
        found.append(mcdp(None, moved, sensitive_features=new_groups))
    assert np.mean(told) == pytest.approx(np.mean(found), abs=0.025)
    many, few = repairer.expected_mcdp(10**7), repairer.expected_mcdp(2000)
    assert few > many
    assert few == repairer.expected_mcdp({0: 800, 1: 1200})


@pytest.mark.parametrize(
    ("n_samples", "match"),
    [
        (0, "n_samples must be an integer of at least 1"),
        (1, "at least one each"),
        ({0: 5}, r"n_samples has the groups \[0\], expected those seen in fit"),
        ({0: 5, 1: 0}, "at least one each"),
    ],
)
def test_samples_without_a_gap(n_samples, match):
    scores, groups = disparate((100, 100))
    repairer = ScoreRepairer().fit(scores, sensitive_features=groups)
    with pytest.raises(ValueError, match=match):
        repairer.expected_mcdp(n_samples)


def test_parameters_may_be_entries_of_an_array():
    scores, groups = [0.1, 0.6, 0.4, 0.9], ["F", "F", "M", "M"]
    expected = ScoreRepairer().fit_transform(scores, sensitive_features=groups)
    given = dict(zip(("ties", "scale"), np.array(["mid", "probability"]), strict=True))
    repairer = ScoreRepairer(**given)
    found = repairer.fit_transform(scores, sensitive_features=groups)
    np.testing.assert_array_equal(found, expected)


# --- a transformer among others


def people(n_samples=400, seed=0):
    """Return a table of scores and groups."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n_samples)
    return pd.DataFrame({"sex": sex, "score": rng.beta(2 + (sex == "M"), 3)})


@pytest.mark.parametrize("ties", ["mid", "random"])
def test_the_shape_of_the_scores_is_kept(ties):
    table = people()
    given_groups = {"sensitive_features": table["sex"]}
    repairer = ScoreRepairer(0.8, ties=ties, random_state=0)
    expected = repairer.fit_transform(table["score"], **given_groups)
    assert expected.shape == (400,)
    series = pytest.importorskip("polars").Series(table["score"].to_list())
    assert_array_equal(repairer.fit_transform(series, **given_groups), expected)
    column = repairer.fit_transform(table[["score"]].to_numpy(), **given_groups)
    assert_array_equal(column, expected[:, None])
    column = repairer.fit_transform(table[["score"]], **given_groups)
    assert_array_equal(column, expected[:, None])
    assert repairer.n_features_in_ == 1
    assert repairer.feature_names_in_.tolist() == ["score"]
    lists = repairer.fit_transform(table[["score"]].to_numpy().tolist(), **given_groups)
    assert_array_equal(lists, expected[:, None])


@pytest.mark.parametrize("selector", ["sex", 0, ["sex"], lambda X: X["sex"]])
def test_groups_named_in_a_table(selector):
    table = people()
    expected = ScoreRepairer().fit_transform(
        table["score"], sensitive_features=table["sex"]
    )
    data = table[["score"]].assign(sex=table["sex"])[["sex", "score"]]
    repairer = ScoreRepairer(sensitive_features=selector)
    if callable(selector):
        with pytest.raises(ValueError, match="scores has 2 columns beside"):
            repairer.fit(data)
        return
    assert_array_equal(repairer.fit_transform(data), expected[:, None])
    assert_array_equal(repairer.transform(data[::-1]), expected[::-1, None])
    # The keyword wins over the column.
    other = np.where(table["sex"] == "F", "M", "F")
    found = repairer.transform(data, sensitive_features=other)
    assert np.abs(found - expected[:, None]).max() > 0.01
    polars = pytest.importorskip("polars")
    assert_array_equal(
        repairer.fit_transform(polars.DataFrame(data)), expected[:, None]
    )


def test_bad_tables():
    table = people()
    with pytest.raises(ValueError, match="scores has 2 columns beside those that"):
        ScoreRepairer().fit(table, sensitive_features=table["sex"])
    with pytest.raises(ValueError, match="X has no column 'age'"):
        ScoreRepairer(sensitive_features="age").fit(table)
    with pytest.raises(ValueError, match="which sensitive_features='sex' names"):
        ScoreRepairer(sensitive_features="sex").fit(table["score"])
    fitted = ScoreRepairer(sensitive_features="sex").fit(table)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(table.rename(columns={"score": "p"}))
    with pytest.raises(ValueError, match="sensitive_features is None"):
        ScoreRepairer().fit(table[["score"]])


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_in_a_column_transformer(output):
    table = people().assign(age=1)
    transformer = ColumnTransformer(
        [("fair", ScoreRepairer(sensitive_features="sex"), ["sex", "score"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=output)
    found = transformer.fit_transform(table)
    expected = ScoreRepairer().fit_transform(
        table["score"], sensitive_features=table["sex"]
    )
    assert found.shape == (400, 2)
    assert_array_equal(np.asarray(found)[:, 0].astype(float), expected)
    names = transformer.get_feature_names_out().tolist()
    assert names == ["repaired_score", "age"]
    if output == "pandas":
        assert found.columns.tolist() == names
    assert_array_equal(clone(transformer).fit(table).transform(table), found)
