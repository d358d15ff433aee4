"""Training for small gaps within strata, `control_features`."""

from dataclasses import replace

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import average_precision_score

from skfair._comparison import compare_classifiers, mean_mcdp
from skfair._penalty import OBJECTIVES, mean_over_strata, smooth_gap
from skfair._rows import Rows
from skfair.groups import Groups, encode_groups
from skfair.inprocessing import (
    MCDPBoostingClassifier,
    MCDPObjective,
)
from skfair.metrics import mcdp
from skfair.model_selection._folds import hold_out


@pytest.fixture
def rows():
    """120 rows in three groups and three strata, some in none of them."""
    rng = np.random.default_rng(0)
    codes, strata = rng.integers(-1, 3, 120), rng.integers(-1, 3, 120)
    log_odds = rng.normal(size=120) + 0.4 * codes - 0.7 * strata
    y = (rng.random(120) < expit(log_odds)) + 0.0
    weights = rng.integers(0, 3, 120) + 0.5
    groups, strata = Groups(codes, tuple("abc")), Groups(strata, tuple("uvw"))
    return Rows(groups, strata, y_true=y, y_pred=log_odds, weight=weights)


def positives(y, label="yes"):
    """The stratum of the positive rows, all others in none."""
    return encode_groups(np.where(np.asarray(y) == label, "+", None), missing="drop")


# --- the mean over strata


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_gap_is_the_weighted_mean_of_those_within_strata(rows, objective):
    scores, total, mean = expit(rows.y_pred), 0.0, 0.0
    kind = {"temperature": 20, "objective": objective}

    def gap_of(part, stratum):
        assert (rows.strata.codes[part] == stratum).all()
        return smooth_gap(
            scores[part], rows.groups.codes[part], rows.weights[part], **kind
        )

    found = mean_over_strata(rows.strata.codes, rows.weights, gap_of)
    gradient = np.zeros(120)
    for stratum in range(3):
        part = np.flatnonzero(rows.strata.codes == stratum)
        gap = gap_of(part, stratum)
        mean += rows.weights[part].sum() * gap.value
        total += rows.weights[part].sum()
        gradient[part] = rows.weights[part].sum() * gap.gradient
    assert found.value == pytest.approx(mean / total)
    assert_allclose(found.gradient, gradient / total)


def test_strata_without_two_groups_do_not_count(rows):
    scores, codes = (
        expit(rows.y_pred),
        np.where(rows.strata.codes == 1, 0, rows.groups.codes),
    )

    def gap_in(strata):
        return mean_over_strata(
            strata,
            rows.weights,
            lambda part, _: smooth_gap(
                scores[part], codes[part], rows.weights[part], temperature=20
            ),
        )

    without = gap_in(np.where(rows.strata.codes == 1, -1, rows.strata.codes))
    found = gap_in(rows.strata.codes)
    assert found.value == without.value > 0
    assert_array_equal(found.gradient, without.gradient)
    alone = gap_in(np.where(rows.strata.codes == 1, 0, -1))
    assert (alone.value, alone.pair) == (0.0, (-1, -1))
    assert not alone.gradient.any()


def test_probabilities_of_strata_and_groups(rows):
    log_odds = rows.y_pred
    codes = np.maximum(rows.groups.codes, 0)
    groups, strata = (
        Groups(codes, tuple("abc")),
        Groups(rows.strata.codes, tuple("uvw")),
    )
    certain = np.zeros((120, 3, 3))
    known = np.flatnonzero(rows.strata.codes >= 0)
    certain[known, rows.strata.codes[known], codes[known]] = 1
    kind = {"control_features": strata, "strength": 0.5}
    by_group = MCDPObjective(groups, **kind)(rows.y_true, log_odds, rows.weights)
    for probabilities in (certain, np.eye(3)[codes]):
        objective = MCDPObjective(groups, group_probabilities=probabilities, **kind)
        found = objective(rows.y_true, log_odds, rows.weights)
        assert_allclose(found, by_group, atol=0.02)
    for wrong, match in (
        (certain[:, :2], r"has the shape \(120, 2, 3\), expected \(120, 3, 3\)"),
        (certain * 2, "sum to at most 1 in each row, got sums from 0.0 to 2.0"),
    ):
        with pytest.raises(ValueError, match=match):
            MCDPObjective(groups, group_probabilities=wrong, **kind)
    with pytest.raises(ValueError, match="control_features has 5 rows, expected 120"):
        MCDPObjective(groups, control_features=list("uuvvv"))


# --- rows held out, and the comparison with the plain classifier


def test_every_stratum_and_group_is_held_out(rows):
    rows = rows[np.tile(np.arange(120), 3)]
    parts = hold_out(rows, 0.3, np.random.RandomState(0))
    cells = [set(rows[part].stratum_group_codes.tolist()) for part in parts]
    assert cells[0] == cells[1] == {-1, *range(9)}


@pytest.mark.slow
def test_the_comparison_is_within_strata(rows):
    scores, other = expit(rows.y_pred), expit(rows.y_pred * 2 - 1 + rows.groups.codes)
    groups = Groups(rows.groups.codes, tuple("abc"))
    found = compare_classifiers(rows, scores, other)
    for values in (scores, other):
        gaps, weights = [], []
        for stratum in range(3):
            part = (rows.strata.codes == stratum) & (rows.groups.codes >= 0)
            gaps.append(
                mcdp(
                    None,
                    values[part],
                    sensitive_features=groups[part],
                    sample_weight=rows.weights[part],
                )
            )
            weights.append(rows.weights[part].sum())
        gap = mean_mcdp(replace(rows, y_pred=values)).value
        assert gap == pytest.approx(np.average(gaps, weights=weights))
    compared = (rows.strata.codes >= 0) & (rows.groups.codes >= 0)
    assert sum(found.group_sizes.values()) == compared.sum()
    assert found.n_samples == 120
    assert found.mitigated["average_precision"] == pytest.approx(
        average_precision_score(rows.y_true, other, sample_weight=rows.weights)
    )
    groups = Groups(np.minimum(rows.groups.codes, 1), tuple("ab"))
    rows = replace(rows, groups=groups, y_pred=other)
    gap = mean_mcdp(rows)
    for row in range(0, 120, 17):
        moved = rows.weights + 1e-6 * (np.arange(120) == row)
        slope = (mean_mcdp(replace(rows, weight=moved)).value - gap.value) / 1e-6
        assert_allclose(gap.slopes()[row], slope, atol=1e-6)


# --- classifiers


@pytest.fixture(scope="module")
def boosted():
    def make(**options):
        trees = LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1)
        return MCDPBoostingClassifier(trees, random_state=0, **options)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["quick", "logistic", "boosted"])
def test_opportunity_becomes_equal(kind, request, make_people):
    """Among positives the gap falls, on rows that were not trained on."""
    made = request.getfixturevalue(kind)
    X, y, sex = make_people(6000)
    X = X[["skill", "proxy"]]
    new = np.arange(len(y)) >= 3000

    def gaps(model):
        model.fit(
            X[~new],
            y[~new],
            sensitive_features=sex[~new],
            control_features=positives(y[~new]),
        )
        scores = model.predict_proba(X[new])[:, 1]
        chosen = y[new] == "yes"
        return mcdp(None, scores[chosen], sensitive_features=sex[new][chosen])

    plain = gaps(made(strength=0.0))
    fairer = made(strength=1.0)
    assert plain > 0.15
    assert gaps(fairer) < 0.6 * plain
    assert fairer.strata_ == ("+",)
    if fairer.comparison_ is not None:
        sizes = fairer.comparison_.group_sizes
        assert sum(sizes.values()) < fairer.comparison_.n_samples


@pytest.mark.slow
def test_rows_without_a_stratum_are_rows_without_a_group(quick, proxy_people):
    X, y, sex = proxy_people
    strata, groups = positives(y), encode_groups(sex)
    model = quick(max_iter=30, validation_fraction=None)
    model.fit(X, y, sensitive_features=sex, control_features=strata)
    same = Groups(np.where(strata.codes < 0, -1, groups.codes), groups.labels)
    other = quick(max_iter=30, validation_fraction=None).fit(
        X, y, sensitive_features=same
    )
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_strata_smaller_than_their_least_size(proxy_people, logistic):
    X, y, sex = proxy_people
    strata = encode_groups(["small"] * 30 + ["large"] * 570, min_group_size=31)
    model = logistic(strength=0.3, cv=2)
    with pytest.warns(UserWarning, match=r"The strata \['small'\] are left out"):
        model.fit(X, y, sensitive_features=sex, control_features=strata)
    assert model.strata_ == ("large",)
