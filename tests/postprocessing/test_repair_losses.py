"""Losses of repair by level, and the level that is chosen."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import KFold

from skfair._rows import Rows
from skfair.datasets import make_biased_scores
from skfair.groups import encode_groups
from skfair.metrics import abcc, madd, mcdp
from skfair.postprocessing import (
    MADDPostProcessor,
    ScoreRepairer,
    _repair_losses,
)
from skfair.postprocessing._repair_losses import StratumLosses, mean_losses

#: Levels whose losses are computed.
LEVELS_TRIED = np.linspace(0, 1, 101)


def options(**more):
    """Make a post-processor whose parameters the losses depend on."""
    given = {"fairness": "mcdp", "random_state": 0, "threshold": 0.5} | more
    model = MADDPostProcessor(None, **given)
    model.threshold_ = model.threshold
    return model


class Identity(ClassifierMixin, BaseEstimator):
    """Takes the first column of X for its scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def scored_rows(y, scores, groups, weights=None):
    return Rows(groups, y_true=y, y_pred=scores, weight=weights)


def losses_of(y, scores, groups, levels, weights=None, **more):
    rows = scored_rows(y, scores, encode_groups(groups), weights)
    return losses_at(rows, np.asarray(levels), **more)


def losses_at(rows, levels, **more):
    model = options(**more)
    name = "repair_level" if model.max_mcdp is None else "max_mcdp"
    return mean_losses([StratumLosses(rows, model)], np.asarray(levels), name)


def error_of(parts):
    """Return the standard error over folds that are parts of rows."""
    rows = Rows(
        encode_groups(np.concatenate([part.groups.codes for part in parts])),
        y_true=np.concatenate([part.y_true for part in parts]),
        y_pred=np.concatenate([part.y_pred for part in parts]),
        fold=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
    )
    return StratumLosses(rows, options(fairness="madd")).standard_error(1.0)


def differing_of(rows):
    return StratumLosses(rows, options()).differing


@st.composite
def labelled_rows(draw):
    n_rows = draw(st.integers(4, 30))
    size = {"min_size": n_rows, "max_size": n_rows}
    grid = st.integers(0, 4).map(lambda k: k / 4)
    score = draw(st.sampled_from([st.floats(0, 1), grid]))
    groups = np.array(draw(st.lists(st.integers(0, 2), **size)))
    groups[:2] = 0, 1
    y = np.array(draw(st.lists(st.integers(0, 1), **size)))
    return y, np.array(draw(st.lists(score, **size))) + 0.0, groups


SMALLEST = np.nextafter(0, 1)


@pytest.mark.slow
@given(labelled_rows(), st.sampled_from([0, 0.25, 0.3, 0.5, 1]))
@example(
    (
        np.zeros(10, dtype=int),
        np.array([1e-313, 0, 0, 0, SMALLEST, 0, 0, 0, 0, 1.0]),
        np.array([0, 1, 0, 0, 1, 0, 0, 0, 0, 0]),
    ),
    0.25,
)
def test_zero_one_loss_without_remapping(rows, threshold):
    y, scores, groups = rows
    levels = [0.0, 0.3, 0.77, 1.0]
    found = losses_of(y, scores, groups, levels, threshold=threshold)
    for level, loss in zip(levels, found["accuracy_loss"], strict=True):
        repairer = ScoreRepairer(level)
        moved = repairer.fit_transform(scores, sensitive_features=groups)
        # A repaired score may miss the threshold by rounding, if it should meet it.
        near = np.abs(moved - threshold) < 1e-12
        errors = (moved >= threshold) != y
        assert (errors & ~near).sum() - 1e-9 <= loss * len(y)
        assert loss * len(y) <= (errors | near).sum() + 1e-9
        if level == 0:
            assert loss == pytest.approx(errors.mean(), abs=1e-12)


@pytest.mark.parametrize("ties", ["mid", "random"])
def test_zero_one_loss_counts_rows_that_no_cdf_was_learnt_from(ties):
    generator = np.random.default_rng(0)
    groups = np.arange(60) % 2
    scores = generator.beta(2 + groups, 3)
    y = (generator.random(60) < scores).astype(int)
    learnt = encode_groups(np.where(np.arange(60) % 3 == 0, "a", None), missing="drop")
    rows = replace(scored_rows(y, scores, encode_groups(groups)), strata=learnt)
    among = {"sensitive_features": groups, "control_features": learnt}
    levels = np.linspace(0, 1, 11)
    losses = losses_at(rows, levels, ties=ties)["accuracy_loss"]
    for level, loss in zip(levels, losses, strict=True):
        repairer = ScoreRepairer(level, ties=ties, random_state=0)
        moved = repairer.fit_transform(scores, **among)
        assert loss == pytest.approx(np.mean((moved >= 0.5) != y))


@pytest.mark.slow
def test_zero_one_loss_with_spread_ties_is_the_expected_one():
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 2, 4000)
    scores = generator.binomial(4, 0.3 + 0.3 * groups) / 4
    y = (generator.random(4000) < scores).astype(int)
    levels = [0.0, 0.5, 1.0]
    found = losses_of(y, scores, groups, levels, ties="random")["accuracy_loss"]
    for level, loss in zip(levels, found, strict=True):
        repairer, draws = ScoreRepairer(level, ties="random"), []
        for seed in range(30):
            repairer.set_params(random_state=seed)
            moved = repairer.fit_transform(scores, sensitive_features=groups)
            draws.append(np.mean((moved >= 0.5) != y))
        assert loss == pytest.approx(np.mean(draws), abs=0.003)


@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_log_loss_and_callables_are_those_of_repaired_scores(weighted):
    y, scores, groups = make_biased_scores(600, random_state=0)
    weights = np.random.default_rng(0).random(600) if weighted else None
    weighing = {"sample_weight": weights} if weighted else {}
    levels = [0.0, 0.4, 1.0]
    for name, loss in (("log_loss", log_loss), (brier_score_loss, brier_score_loss)):
        found = losses_of(
            y,
            scores,
            groups,
            levels,
            weights,
            accuracy_loss=name,
            fairness=abcc,
        )
        rows = pd.DataFrame(found).itertuples()
        for level, row in zip(levels, rows, strict=True):
            moved = ScoreRepairer(level).fit_transform(
                scores, sensitive_features=groups, **weighing
            )
            assert row.accuracy_loss == pytest.approx(loss(y, moved, **weighing))
            expected = abcc(None, moved, sensitive_features=groups, **weighing)
            assert row.fairness_loss == pytest.approx(expected, abs=1e-12)
            assert row.total_loss == pytest.approx(
                (row.accuracy_loss + row.fairness_loss) / 2
            )


@pytest.mark.parametrize(("fairness", "metric"), [("madd", madd), ("mcdp", mcdp)])
def test_fairness_is_a_line_unless_ties_are_heavy(fairness, metric):
    y, scores, groups = make_biased_scores(4000, random_state=0)
    levels = np.linspace(0, 1, 5)
    scale = 0.5 if fairness == "madd" else 1
    found = losses_of(y, scores, groups, levels, fairness=fairness)["fairness_loss"]
    value = scale * metric(None, scores, sensitive_features=groups)
    assert_allclose(found, (1 - levels) * value, atol=1e-12)
    tied = np.round(scores * 4) / 4
    found = losses_of(y, tied, groups, levels, fairness=fairness)["fairness_loss"]
    before = mcdp(None, tied, sensitive_features=groups)
    for level, loss in zip(levels, found, strict=True):
        moved = ScoreRepairer(level).fit_transform(tied, sensitive_features=groups)
        left = mcdp(None, moved, sensitive_features=groups) / before
        value = scale * metric(None, tied, sensitive_features=groups)
        assert loss == pytest.approx(value * left, abs=1e-12)
    spread = losses_of(y, tied, groups, levels, fairness=fairness, ties="random")
    value = scale * metric(None, tied, sensitive_features=groups)
    assert_allclose(spread["fairness_loss"], (1 - levels) * value, atol=1e-12)


def test_callable_fairness_gets_labels_of_groups():
    y, scores, groups = make_biased_scores(100, random_state=0)
    pairs = np.column_stack([groups, y])
    seen = []

    def fairness(y_true, y_score, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    losses_of(y, scores, pairs, [0.5], fairness=fairness)
    assert [tuple(pair) for pair in pairs] == list(seen[0])


@pytest.mark.parametrize(("tied", "is_line"), [(10, True), (11, False), (19, False)])
def test_ties_are_heavy_from_one_over_the_root_on(tied, is_line):
    y = np.arange(200) % 2
    scores = np.linspace(0.05, 0.95, 200)
    scores[:tied] = 0.99  # of the 100 rows of the first group
    groups = np.repeat([0, 1], 100)
    fairness = losses_of(y, scores, groups, [0.0, 0.5, 1.0])["fairness_loss"]
    assert (fairness[2] == 0) == is_line


@pytest.mark.parametrize("ties", ["mid", "random"])
def test_a_score_at_the_threshold_is_positive(ties):
    y = np.array([1, 1, 0, 1, 0, 1])
    scores = np.array([0.2, 0.5, 0.6, 0.5, 0.5, 0.8])
    groups = np.array([0, 0, 0, 1, 1, 1])
    found = losses_of(y, scores, groups, [0.0], ties=ties)
    assert found["accuracy_loss"][0] == np.mean((scores >= 0.5) != y)


def test_loss_that_is_not_a_number():
    y, scores, groups = make_biased_scores(100, random_state=0)
    with pytest.raises(ValueError, match=r"accuracy_loss gives nan on 100 rows"):
        losses_of(y, scores, groups, [0.5], accuracy_loss=lambda y, p: np.nan)


@pytest.mark.slow
def test_simulation_of_the_paper():
    y, scores, groups = make_biased_scores(20_000, random_state=0)
    model = MADDPostProcessor(FrozenEstimator(Identity().fit(None, y)))
    model.fit(scores[:, None], y, sensitive_features=groups)
    assert 0.965 <= model.repair_level_ <= 1
    totals = model.losses_["total_loss"]
    chosen = totals[model.losses_["repair_level"] == model.repair_level_].item()
    limit = totals.min() + model.standard_error_
    assert chosen <= limit
    assert (totals[model.losses_["repair_level"] < model.repair_level_] > limit).all()
    first = {name: losses[0] for name, losses in model.losses_.items()}
    assert first["fairness_loss"] == pytest.approx(0.60, abs=0.01)
    new_y, new, new_groups = make_biased_scores(20_000, random_state=1)
    moved = model.predict_proba(new[:, None], sensitive_features=new_groups)[:, 1]
    assert madd(None, moved, sensitive_features=new_groups) / 2 <= 0.063
    # 0.386 on average, with a standard error of 0.0034.
    assert np.mean((moved >= 0.5) != new_y) <= 0.395


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
def test_theta_trades_accuracy_for_fairness():
    y, scores, groups = make_biased_scores(4000, random_state=0)
    chosen = [
        MADDPostProcessor(FrozenEstimator(Identity().fit(None, y)), theta=theta)
        .fit(scores[:, None], y, sensitive_features=groups)
        .repair_level_
        for theta in (0, 0.02, 1)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] < 0.1
    assert chosen[-1] > 0.97


# --- the level that is chosen


LEVELS = np.linspace(0, 1, 5)


def made_rows(n_samples, seed):
    y, scores, groups = make_biased_scores(n_samples, random_state=seed)
    return scored_rows(y, scores, encode_groups(groups))


def test_standard_error_is_that_of_a_mean_over_parts():
    parts = [made_rows(400, seed) for seed in range(3)]
    scores, y, codes = (
        np.concatenate(values)
        for values in zip(
            *[(part.y_pred, part.y_true, part.groups.codes) for part in parts],
            strict=True,
        )
    )
    repaired = ScoreRepairer(1.0).fit_transform(scores, sensitive_features=codes)
    totals = []
    for rows in np.split(np.arange(1200), 3):
        wrong = np.mean((repaired[rows] >= 0.5) != y[rows])
        left = madd(None, repaired[rows], sensitive_features=codes[rows])
        totals.append(0.5 * wrong + 0.25 * left)
    expected = np.std(totals, ddof=1) / np.sqrt(3)
    assert_allclose(error_of(parts), expected, rtol=1e-12)


@pytest.mark.slow
def test_rows_held_out_twice_are_no_more_rows():
    y, scores, groups = make_biased_scores(1200, random_state=0)
    splits = [*KFold(3).split(scores)]
    once, twice = (
        MADDPostProcessor(Identity(), cv=cv)
        .fit(scores[:, None], y, sensitive_features=groups)
        .standard_error_
        for cv in (splits, splits * 2)
    )
    # As six rows in place of three, it would be 0.63 of that.
    assert 0.7 < twice / once < 1.1


def test_rounding_does_not_choose_between_equal_losses(monkeypatch):
    y, scores, groups = make_biased_scores(600, random_state=0)
    rounding = 1e-17 * np.cos(np.arange(101))
    flat = np.where(LEVELS_TRIED < 0.5, 0.2, 0.1) + rounding
    columns = ["repair_level", "total_loss", "accuracy_loss", "fairness_loss"]
    table = pd.DataFrame(dict.fromkeys(columns, flat) | {"repair_level": LEVELS_TRIED})
    monkeypatch.setattr(_repair_losses, "mean_losses", lambda *_: table)
    judged = []
    monkeypatch.setattr(
        StratumLosses, "standard_error", lambda _, level: judged.append(level) or 0.01
    )
    model = MADDPostProcessor(FrozenEstimator(Identity().fit(None, y)))
    model.fit(scores[:, None], y, sensitive_features=groups)
    assert judged == [0.5] == [model.repair_level_]


@pytest.mark.slow
def test_least_sizes_of_groups_are_not_those_of_folds():
    y, scores, groups = make_biased_scores(600, random_state=0)
    model = MADDPostProcessor(FrozenEstimator(Identity().fit(None, y)))
    expected, error = (
        model.fit(
            scores[:, None],
            y,
            sensitive_features=encode_groups(groups, min_group_size=n),
        ).standard_error_
        for n in (1, 200)
    )
    assert error == expected > 0


def test_parts_without_a_group_or_a_class_do_not_count():
    whole = made_rows(400, 0)
    one_group = whole[whole.groups.codes == 0]
    one_class = whole[whole.y_true == 1]
    assert error_of([whole, one_group, one_class]) == 0
    two_parts = [whole, made_rows(400, 1), one_group, one_class]
    assert 0 < error_of(two_parts) < 0.05


def test_callable_that_needs_more_rows_than_a_part_has():
    def fairness(y_true, y_score, *, sensitive_features):
        return 0.1 if len(y_true) == 500 else np.nan

    rows = made_rows(500, 0)
    losses = losses_at(rows, [0.0, 1.0], fairness=fairness)
    assert losses["fairness_loss"].tolist() == [0.1, 0.1]
    rows = replace(rows, fold=np.arange(500) % 5)
    assert StratumLosses(rows, options(fairness=fairness)).standard_error(1.0) == 0


# --- noise, ties and small groups


@pytest.mark.slow
def test_groups_that_may_differ_by_chance_do_not_count():
    generator = np.random.default_rng(0)
    seen = []
    for _ in range(200):
        groups = encode_groups(np.repeat(["a", "b"], [7, 22]))
        rows = scored_rows(np.arange(29) % 2, generator.random(29), groups)
        seen.append(differing_of(rows).any())
        if len(seen) < 8 and not seen[-1]:
            losses = losses_at(rows, LEVELS, fairness="madd")
            assert (losses["fairness_loss"] == 0).all()
    assert np.mean(seen) <= 0.05


def test_fairness_loss_is_that_of_the_groups_that_differ():
    generator = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2, 3], [900, 900, 7, 22])
    scores = np.clip(generator.random(len(codes)) * 0.7 + 0.3 * (codes == 1), 0, 1)
    y = (generator.random(len(codes)) < scores).astype(int)
    rows = scored_rows(y, scores, encode_groups(codes))
    assert differing_of(rows).tolist() == [True, True, False, False]
    large = codes < 2
    found = losses_at(rows, LEVELS, fairness="madd")["fairness_loss"]
    expected = madd(None, scores[large], sensitive_features=codes[large])
    assert_allclose(found, (1 - LEVELS) * expected / 2)


def test_one_group_that_differs_is_compared_with_all_others():
    generator = np.random.default_rng(0)
    codes = np.arange(3000) % 10
    scores = generator.random(3000) * np.where(codes == 3, 0.6, 1)
    rows = scored_rows(np.arange(3000) % 2, scores, encode_groups(codes))
    assert np.flatnonzero(differing_of(rows)).tolist() == [3]
    found = losses_at(rows, LEVELS)["fairness_loss"]
    expected = mcdp(None, scores, sensitive_features=codes == 3)
    assert_allclose(found, (1 - LEVELS) * expected)


def test_weights_that_leave_few_rows_make_noise_larger():
    generator = np.random.default_rng(0)
    codes = np.arange(400) % 2
    scores = generator.random(400) * np.where(codes == 1, 0.7, 1)
    rows = scored_rows(codes, scores, encode_groups(codes))
    assert differing_of(rows).all()
    weights = np.where(np.arange(400) < 10, 1000.0, 0.5)
    assert not differing_of(replace(rows, weight=weights)).any()


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["mid", "random"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize(
    ("rounded", "threshold"), [(False, 0.5), (True, 0.5), (True, 0.35), (False, 1.0)]
)
def test_losses_of_largest_gaps(ties, n_groups, rounded, threshold):
    generator = np.random.default_rng(0)
    groups = np.arange(1200) % n_groups
    scores = generator.beta(2 + groups, 3)
    if rounded:
        scores = scores.round(1)
    y = (generator.random(1200) < scores).astype(int)
    rows = scored_rows(y, scores, encode_groups(groups))
    more = {"ties": ties, "threshold": threshold, "max_mcdp": 0.1}
    largest = StratumLosses(rows, options(**more)).cdfs.largest_gap()
    found = losses_at(rows, np.linspace(0, largest, 5), **more)
    before = mcdp(None, scores, sensitive_features=groups)
    assert found["max_mcdp"][-1] == pytest.approx(before, abs=0.02)
    assert found["accuracy_loss"][-1] == np.mean((scores >= threshold) != y)
    for row in pd.DataFrame(found).itertuples():
        moved = ScoreRepairer(
            max_mcdp=min(1, row.max_mcdp), ties=ties, random_state=0
        ).fit_transform(scores, sensitive_features=groups)
        wrong = np.mean((moved >= threshold) != y)
        drawn = 0.02 if ties == "random" else 1e-12
        assert row.accuracy_loss == pytest.approx(wrong, abs=drawn)
        left = mcdp(None, moved, sensitive_features=groups)
        # Drawn ties, and three small groups, add noise to the gap of the sample.
        assert row.fairness_loss == pytest.approx(left, abs=0.04)


@pytest.mark.parametrize("threshold", [0.25, 0.4, 0.6])
def test_thresholds_within_a_step_of_the_other_group(threshold):
    """Which end of a step a height is at decides where one group has a step alone."""
    scores = np.array([0.2, 0.2, 0.2, 0.6, 0.4, 0.4, 0.45, 0.9] * 5)
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1] * 5)
    y = np.arange(40) // 3 % 2
    levels = np.linspace(0, 1, 11)
    found = losses_of(y, scores, groups, levels, threshold=threshold)
    for level, loss in zip(levels, found["accuracy_loss"], strict=True):
        moved = ScoreRepairer(level).fit_transform(scores, sensitive_features=groups)
        assert loss == pytest.approx(np.mean((moved >= threshold - 1e-12) != y))


@pytest.mark.slow
def test_shared_scores_do_not_hide_what_repair_reaches():
    generator = np.random.default_rng(0)
    groups = np.arange(4000) % 2
    chance = generator.beta(2 + groups, 3)
    scores = generator.binomial(15, chance) / 15  # as of 15 neighbours
    y = (generator.random(4000) < chance).astype(int)
    model = MADDPostProcessor(FrozenEstimator(Identity().fit(None, y)))
    model.fit(scores[:, None], y, sensitive_features=groups)
    assert model.repair_level_ > 0.5
    assert model.comparison_.mitigated["mcdp"] < model.comparison_.baseline["mcdp"] / 2
