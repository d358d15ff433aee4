"""Repair of any finite scores, such as the predictions of a regressor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer
from skfair.statistics import CountTable


@pytest.fixture(scope="module")
def salaries():
    """Predicted salaries, and sex."""
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(4000) < 0.4, "F", "M")
    return generator.normal(50_000 + 6_000 * (sex == "M"), 9_000), sex


def gap(scores, groups, **options):
    options = {"scale": "rank", "epsilon": 0} | options
    return mcdp(None, scores, sensitive_features=groups, **options)


def repaired(scores, groups, **options):
    repairer = ScoreRepairer(scale="real", **options)
    return repairer.fit_transform(scores, sensitive_features=groups)


AMOUNTS = st.one_of(
    st.builds(lambda level: {"repair_level": level}, st.floats(0, 1)),
    st.builds(lambda gap: {"max_mcdp": gap}, st.floats(0, 1)),
)


@st.composite
def real_rows(draw):
    """Scores with and without ties, of one to four groups, each nine times."""
    n_rows = draw(st.integers(1, 20))
    size = {"min_size": n_rows, "max_size": n_rows}
    score = draw(st.sampled_from([st.floats(-1e100, 1e100), st.integers(-2, 2)]))
    scores = np.array(draw(st.lists(score, **size)), dtype=float)
    codes = np.array(draw(st.lists(st.integers(0, 3), **size)))
    return np.repeat(scores, 9), np.repeat(codes, 9)


@pytest.mark.slow
@given(real_rows(), AMOUNTS, st.lists(st.floats(-1e100, 1e100), min_size=2))
def test_increasing_within_each_group_and_slope_1_beyond(rows, amount, more):
    scores, groups = rows
    repairer = ScoreRepairer(scale="real", **amount)
    repairer.fit(scores, sensitive_features=groups)
    new = np.sort(np.concatenate([scores, more]))
    low, high = scores.min(), scores.max()
    rounding = 1e-12 * max(high - low, abs(low), abs(high), *map(abs, more))
    for group in np.unique(groups):

        def repair(values, group=group):
            codes = np.full(len(values), group)
            return repairer.transform(values, sensitive_features=codes)

        moved = repair(new)
        assert np.diff(moved).min(initial=0) >= -rounding
        inside = (new >= low) & (new <= high)
        assert moved[inside].min() >= low - rounding
        assert moved[inside].max() <= high + rounding
        ends = repair(np.clip(new, low, high))
        assert_allclose(moved - ends, new - np.clip(new, low, high), atol=rounding)


@pytest.mark.slow
@given(real_rows(), AMOUNTS, st.floats(0.1, 10), st.floats(-10, 10))
@pytest.mark.promise("Repair of numbers does not depend on their unit")
def test_another_unit_gives_the_same_repair(rows, amount, factor, shift):
    scores, groups = rows[0].clip(-10, 10).round(3), rows[1]
    expected = factor * repaired(scores, groups, **amount) + shift
    found = repaired(factor * scores + shift, groups, **amount)
    assert_allclose(found, expected, rtol=0, atol=1e-6)


@given(real_rows(), AMOUNTS)
def test_probabilities_from_0_to_1_are_repaired_alike(rows, amount):
    scores, groups = rows
    scores = np.append(np.abs(scores.clip(-1, 1)), [0, 1])
    groups = np.append(groups, [groups[0], groups[0]])
    probabilities = ScoreRepairer(**amount)
    expected = probabilities.fit_transform(scores, sensitive_features=groups)
    assert_array_equal(repaired(scores, groups, **amount), expected)


@pytest.mark.parametrize("max_mcdp", [0, 0.1, 0.3])
def test_largest_gap_is_kept_in_the_unit_of_the_score(salaries, max_mcdp):
    scores, sex = salaries
    assert gap(scores, sex) > 0.2
    fair = repaired(scores, sex, max_mcdp=max_mcdp)
    assert gap(fair, sex) == pytest.approx(min(max_mcdp, gap(scores, sex)), abs=0.002)
    assert np.corrcoef(scores, fair)[0, 1] > 0.9


def test_scores_within_the_gap_stay_to_the_last_digit(salaries):
    scores, sex = salaries
    assert_array_equal(repaired(scores, sex, max_mcdp=1), scores)
    assert_array_equal(repaired(scores, sex, repair_level=0), scores)
    constant = np.full(len(sex), -2.5)
    assert_array_equal(repaired(constant, sex), constant)


def test_random_ties_and_a_statistic_and_strata(salaries):
    scores, sex = salaries
    rounded = scores.round(-4)
    assert gap(repaired(rounded, sex), sex) > 0.1
    fair = repaired(rounded, sex, ties="random", random_state=0)
    assert gap(fair, sex) < 0.03
    statistic = CountTable.from_rows(None, scores, sensitive_features=sex)
    learnt = ScoreRepairer(scale="real").fit(statistic)
    found = learnt.transform(scores, sensitive_features=sex)
    assert_array_equal(found, repaired(scores, sex))
    office = np.arange(len(sex)) % 2
    within = ScoreRepairer(scale="real", max_mcdp=0)
    given = {"sensitive_features": sex, "control_features": office}
    fair = within.fit_transform(scores + 1e5 * office, **given)
    assert gap(fair, sex, control_features=office) < 0.005
    assert fair[office == 1].min() > fair[office == 0].max()
    # Beyond the scores of its stratum a row is moved as the last one of them.
    beyond = within.transform([1e6], sensitive_features=["F"], control_features=[0])
    assert beyond > 0.9e6


@pytest.mark.parametrize("tol", [0.0, 50.0])
@pytest.mark.parametrize("options", [{}, {"max_mcdp": 0.1}, {"repair_level": 0}])
def test_the_table_is_the_map(salaries, options, tol):
    scores, sex = (values[:200] for values in salaries)
    repairer = ScoreRepairer(scale="real", **options)
    repairer.fit(scores, sensitive_features=sex)
    new = np.append(salaries[0][200:400], [-1e6, 1e6, scores.min(), scores.max()])
    groups = np.resize(sex, len(new))
    expected = repairer.transform(new, sensitive_features=groups)
    pieces = repairer.to_frame(tol=tol)
    for group in ("F", "M"):
        own = pieces[pieces["group"] == group]
        knots = own["score_from"].iloc[0], own["score_to"].iloc[-1]
        assert knots == (scores.min(), scores.max())
        rows = groups == group
        seen = np.clip(new[rows], *knots)
        found = np.interp(
            seen,
            np.append(own["score_from"], own["score_to"].iloc[-1]),
            np.append(own["repaired_from"], own["repaired_to"].iloc[-1]),
        )
        found += new[rows] - seen
        assert_allclose(found, expected[rows], rtol=0, atol=1e-6 + tol)


def test_bad_input(salaries):
    scores, sex = salaries
    repairer = ScoreRepairer(scale="real")
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="scores must be finite"):
            repairer.fit(np.append(scores[1:], bad), sensitive_features=sex)
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\].*scale='real'"):
        ScoreRepairer().fit(scores, sensitive_features=sex)
    with pytest.raises(ValueError, match="scale must be 'probability' or 'real'"):
        ScoreRepairer(scale="rank").fit(scores, sensitive_features=sex)
