"""Repair of scores within strata, `control_features`."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer
from skfair.statistics import CountTable


@pytest.fixture(scope="module")
def rows():
    """Labels, scores, groups and departments of 900 rows."""
    rng = np.random.default_rng(0)
    group, dept = rng.integers(0, 2, 900), rng.integers(0, 3, 900)
    scores = rng.beta(2 + group, 2 + dept)
    y = rng.random(900) < scores
    return y, scores.round(3), np.where(group, "M", "F"), np.array(list("uvw"))[dept]


def positives(y):
    return encode_groups(np.where(y, "+", None), missing="drop")


OPTIONS = [
    {},
    {"repair_level": 0.4},
    {"max_mcdp": 0.1},
    {"ties": "random", "random_state": 0},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_each_stratum_is_repaired_by_itself(rows, options, weighted):
    _, scores, group, dept = rows
    weights = np.arange(900) % 4 if weighted else np.ones(900)
    model = ScoreRepairer(**options)
    found = model.fit_transform(
        scores, sensitive_features=group, control_features=dept, sample_weight=weights
    )
    assert (model.strata_, model.cdfs_) == (("u", "v", "w"), ())
    for stratum in "uvw":
        part = dept == stratum
        alone = ScoreRepairer(**options)
        expected = alone.fit_transform(
            scores[part], sensitive_features=group[part], sample_weight=weights[part]
        )
        assert_array_equal(found[part], expected)
    again = pickle.loads(pickle.dumps(model)).transform(
        scores[::-1], sensitive_features=group[::-1], control_features=dept[::-1]
    )
    if "ties" not in options:
        assert_array_equal(again[::-1], found)


def test_gaps_within_strata_close(rows):
    _, scores, group, dept = rows
    within = {"sensitive_features": group, "control_features": dept}
    assert mcdp(None, scores, **within) > 0.2
    assert mcdp(None, ScoreRepairer().fit_transform(scores, **within), **within) < 0.03
    clipped = ScoreRepairer(max_mcdp=0.1).fit_transform(scores, **within)
    assert mcdp(None, clipped, **within) == pytest.approx(0.1, abs=0.05)


def test_the_maps_of_one_stratum_hold_for_all_rows(rows):
    y, scores, group, _ = rows
    given = {"sensitive_features": group, "control_features": positives(y)}
    model = ScoreRepairer().fit(scores, **given)
    assert (model.strata_, model.stratum_repairers_) == (("+",), {})
    alone = ScoreRepairer().fit(scores[y], sensitive_features=group[y])
    expected = alone.transform(scores, sensitive_features=group)
    found = model.transform(scores, sensitive_features=group)
    assert_array_equal(found, expected)
    assert_array_equal(found, model.transform(scores, **given))
    assert mcdp(None, found[y], sensitive_features=group[y]) < 0.02
    assert model.to_frame().equals(alone.to_frame())


def test_strata_left_out_keep_their_scores(rows):
    _, scores, group, dept = rows
    group = np.where(dept == "u", "F", group)
    model = ScoreRepairer()
    with pytest.warns(UserWarning, match=r"The strata \['u'\] are left out"):
        model.fit(scores, sensitive_features=group, control_features=dept)
    given = {"sensitive_features": group, "control_features": dept}
    found = model.transform(scores, **given)
    assert_array_equal(found[dept == "u"], scores[dept == "u"])
    assert (found[dept == "v"] != scores[dept == "v"]).all()


def test_strata_at_transform(rows):
    _, scores, group, dept = rows
    model = ScoreRepairer().fit(scores, sensitive_features=group, control_features=dept)
    with pytest.raises(ValueError, match=r"control_features is None, .*'u', 'v', 'w'"):
        model.transform(scores, sensitive_features=group)
    with pytest.raises(ValueError, match="control_features has 5 rows, expected 900"):
        model.transform(scores, sensitive_features=group, control_features=dept[:5])
    other = np.where(np.arange(900) < 7, "x", dept)
    missing = encode_groups(np.where(other == "x", None, other), missing="drop")
    for strata, named in ((other, "x"), (missing, r"\(missing\)")):
        given = {"sensitive_features": group, "control_features": strata}
        match = rf"control_features has strata \['{named}'\] in 7 rows .*expected .*'u'"
        with pytest.raises(ValueError, match=match):
            model.transform(scores, **given)
        pooled = clone(model).set_params(unknown_groups="pooled")
        pooled.fit(scores, sensitive_features=group, control_features=dept)
        found = pooled.transform(scores, **given)
        assert_array_equal(found[:7], scores[:7])
        assert (found[7:] != scores[7:]).any()


def test_a_map_for_each_stratum(rows):
    _, scores, group, dept = rows
    model = ScoreRepairer().fit(scores, sensitive_features=group, control_features=dept)
    with pytest.raises(ValueError, match="take those of stratum_repairers_"):
        model.to_frame()
    assert len(model.stratum_repairers_["u"].to_frame()) > 2
    model.fit(scores, sensitive_features=group)  # and nothing of the strata is left
    assert (model.strata_, model.stratum_repairers_) == ((), {})
    expected = ScoreRepairer().fit_transform(scores, sensitive_features=group)
    assert_array_equal(model.transform(scores, sensitive_features=group), expected)


def test_draws_of_a_random_state_go_on_from_stratum_to_stratum():
    scores, sex = np.tile([0.2, 0.8, 0.4, 0.4], 100), np.tile([0, 0, 1, 1], 100)
    where = {"sensitive_features": sex, "control_features": np.repeat([0, 1], 200)}
    random_state = np.random.RandomState(0)
    repairer = ScoreRepairer(ties="random", random_state=random_state)
    first, second = np.split(repairer.fit_transform(scores, **where), 2)
    drawn = scores[:200] == 0.4  # the shared score becomes one of two
    assert (first[drawn] != second[drawn]).mean() > 0.25


def test_a_statistic_has_no_strata(rows):
    _, scores, group, dept = rows
    statistic = CountTable.from_rows(None, scores, sensitive_features=group)
    with pytest.raises(ValueError, match="control_features must be None"):
        ScoreRepairer().fit(statistic, control_features=dept)
