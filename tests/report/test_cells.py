"""Draws of counts, for many rows, against draws of rows."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ks_2samp

from skfair.metrics import confidence_interval, mcdp
from skfair.report import _inputs
from skfair.report._inputs import make_audit
from skfair.report._numbers import _cells, _draws
from skfair.report._numbers._sample import make_samples, observe
from skfair.report._options import Options

DRAWS = {"n_resamples": 300, "n_permutations": 300, "random_state": 0}


@pytest.fixture
def many(monkeypatch):
    """Draw counts from samples of any size."""
    monkeypatch.setattr(_inputs, "MANY_ROWS", 1)


def make(y_true, y_score=None, y_pred=None, group=None, weights=None, **options):
    audit = make_audit(
        y_true=y_true,
        y_score=y_score,
        y_pred=y_pred,
        sensitive_features=group,
        pos_label=None,
        sample_weight=weights,
        options=Options(**{**DRAWS, **options}),
    )
    return make_samples(audit)


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(0)
    group = generator.choice(["a", "b", "c"], 400, p=[0.6, 0.3, 0.1])
    y_score = generator.beta(2 + (group == "a"), 3)
    y_true = (generator.random(400) < y_score).astype(int)
    return y_true, y_score, group


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, np.arange(400) % 3 * 1.5 + 0.5])
def test_draws_have_the_distribution_of_draws_of_rows(people, monkeypatch, weights):
    y_true, y_score, group = people
    samples = make(y_true, y_score.round(2), group=group, weights=weights)
    (of_rows,) = _draws.draw_all(samples)
    monkeypatch.setattr(_inputs, "MANY_ROWS", 1)
    (of_counts,) = _draws.draw_all(samples)
    assert list(of_rows.observed) == [_draws.TIES]
    found = observe(samples[0])
    assert list(of_counts.observed) == [*found, _draws.TIES]
    assert of_counts.observed[_draws.TIES] == pytest.approx(
        of_rows.observed[_draws.TIES]
    )
    for key, finding in found.items():
        assert of_counts.observed[key] == pytest.approx(finding.value, abs=1e-9)
        # Only DCP has an interval by resampling.
        for kind in ("bootstrap", "permutation") if key == "dcp" else ("permutation",):
            first = getattr(of_rows, kind)[key]
            second = getattr(of_counts, kind)[key]
            assert ks_2samp(first, second).pvalue > 0.001, (key, kind)


def test_joined_scores_say_almost_the_same(people, many, monkeypatch):
    y_true, y_score, group = people
    (sample,) = make(y_true, y_score, group=group)
    alone = _cells.Cells.from_sample(sample)
    monkeypatch.setattr(_cells, "_MAX_SCORES", 100)
    joined = _cells.Cells.from_sample(sample)
    assert alone.scores.shape == (3, 400, 1)
    assert joined.scores.shape[1] in (99, 100, 101)
    assert_allclose(joined.scores.sum(axis=1), alone.scores.sum(axis=1))
    assert (joined.scores.sum(axis=0) > 0).all()
    for key, value in alone.values().items():
        assert joined.values()[key] == pytest.approx(value, abs=0.05), key
    # Means of scores are kept.
    means = [cells.scores[..., 0] @ cells.grid.scores for cells in (alone, joined)]
    assert_allclose(means[0].sum(), means[1].sum())


def test_intervals_are_those_of_the_rows(make_report, people, many, monkeypatch):
    monkeypatch.setattr(_cells, "_MAX_SCORES", 20)
    y_true, y_score, group = people
    report = make_report(y_true, y_score, sensitive_features=group, metrics=["mcdp"])
    expected = confidence_interval(mcdp, None, y_score, sensitive_features=group)
    found = report.to_frame().loc[0, ["value", "lower", "upper"]].tolist()
    assert found == pytest.approx([expected.value, expected.lower, expected.upper])


@pytest.mark.slow
def test_same_numbers_for_any_number_of_processes(make_report, people, many):
    y_true, y_score, group = people
    rows = {"y_true": y_true, "y_score": y_score, "sensitive_features": group}
    one, two = (make_report(**rows, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.summary == two.summary
    assert one.summary["settings"]["counts_are_drawn"]


def test_few_weights_are_counted_without_loss(people, many):
    y_true, y_score, group = people
    weights = np.arange(400) % 3 * 1.5 + 0.5
    (sample,) = make(y_true, y_score, group=group, weights=weights)
    cells = _cells.Cells.from_sample(sample)
    assert cells.weights.tolist() == [0.5, 2, 3.5]
    for key, finding in observe(sample).items():
        assert cells.values()[key] == pytest.approx(finding.value, abs=1e-12), key
    generator = np.random.default_rng(0)
    keys = tuple(cells.values())
    drawn = [cells.permutation(generator, keys), cells.bootstrap(generator, keys)]
    assert all(np.isfinite(list(values.values())).all() for values in drawn)


@pytest.mark.parametrize("spread", [1, 100])
def test_joined_weights_say_almost_the_same(people, many, spread):
    y_true, y_score, group = people
    weights = np.random.default_rng(0).lognormal(0, 1, 400) * 10.0**spread
    (sample,) = make(y_true, y_score, group=group, weights=weights)
    cells = _cells.Cells.from_sample(sample)
    assert 20 <= len(cells.weights) <= 32
    assert (np.diff(cells.weights) > 0).all()
    counts = cells.scores.sum(axis=(0, 1))
    assert counts.sum() == 400
    assert counts @ cells.weights == pytest.approx(weights.sum())
    squares = counts @ (cells.weights / 10.0**spread) ** 2
    assert squares == pytest.approx(((weights / 10.0**spread) ** 2).sum(), rel=0.02)
    for key, finding in observe(sample).items():
        assert cells.values()[key] == pytest.approx(finding.value, abs=0.05), key


@pytest.mark.slow
def test_equal_weights_are_as_good_as_none(people, many):
    y_true, y_score, group = people
    plain, weighted = (
        _draws.draw_all(
            make(
                y_true,
                y_score,
                group=group,
                weights=weights,
                metrics=["mcdp", "max_gap", "equalized_odds_difference", "dcp"],
                n_resamples=9,
                n_permutations=59,
            )
        )[0]
        for weights in (None, np.full(400, 2))
    )
    for kind in ("bootstrap", "permutation"):
        for key, values in getattr(plain, kind).items():
            assert_allclose(getattr(weighted, kind)[key], values, atol=1e-12)


@pytest.mark.slow
def test_pvalues_of_joined_weights_hold_their_level(many):
    small = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        group, y_score = generator.integers(0, 2, 200), generator.random(200)
        weights = generator.lognormal(0, 1, 200)
        samples = make(
            y_score > generator.random(200),
            y_score,
            group=group,
            weights=weights,
            metrics=["mcdp"],
            n_resamples=1,
            n_permutations=99,
            random_state=seed,
        )
        (drawn,) = _draws.draw_all(samples)
        value = observe(samples[0])["mcdp"].value
        small += _draws.uncertainty(value, "mcdp", drawn, None, 0.95).pvalue <= 0.05
    assert 0.01 <= small / 200 <= 0.1  # .05, and three standard errors


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "classes", "no true labels", "constant"])
def test_other_inputs(make_report, people, many, kind):
    y_true, y_score, group = people
    given = {
        "labels": {"y_true": y_true, "y_pred": y_score > 0.5},
        "classes": {"y_true": np.arange(400) % 3, "y_pred": np.arange(400) // 7 % 3},
        "no true labels": {"y_true": None, "y_score": y_score},
        "constant": {"y_true": y_true * 0, "y_score": y_score * 0 + 0.5},
    }[kind]
    frame = make_report(**given, sensitive_features=group).to_frame()
    # Of a class without rows there are no errors to compare.
    assert frame["pvalue"].notna().all()
    assert (frame["null_mean"] > 0).all() == (kind != "constant")


@pytest.mark.slow
def test_small_groups_and_rows_without_a_group_are_left_out(make_report, people, many):
    y_true, y_score, group = people
    group = np.where(np.arange(400) < 5, "rare", group)
    options = {"sensitive_features": group, "min_group_size": 6, "n_resamples": 2}
    found = make_report(y_true, y_score, **options).to_frame()
    rest = make_report(
        y_true[5:], y_score[5:], **{**options, "sensitive_features": group[5:]}
    ).to_frame()
    assert_allclose(found["value"], rest["value"])
    assert_allclose(found["upper"], rest["upper"])
    assert_allclose(found["pvalue"], rest["pvalue"])


def test_one_group_is_not_drawn(make_report, people, many):
    y_true, y_score, _ = people
    report = make_report(y_true, y_score, sensitive_features=["a"] * 400)
    assert report.to_frame()["value"].isna().all()


def test_progress(make_report, people, many, capsys):
    y_true, y_score, group = people
    options = {"sensitive_features": group, "metrics": ["mcdp"]}
    make_report(y_true, y_score, **options)
    assert capsys.readouterr().err == ""
    make_report(y_true, y_score, verbose=1, **options)
    said = capsys.readouterr().err
    assert re.search(r"1 of 59 draws, about \d+ s left", said)
    assert said.rstrip(" \n").endswith("FairnessReport: 59 of 59 draws")
    assert said.endswith("\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (120, "2 min"), (7200, "2.0 h")],
)
def test_durations(seconds, text):
    assert _draws.duration(seconds) == text
