"""Draws of counts, for many rows, against draws of rows."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ks_2samp

from skfair.metrics import (
    bootstrap_interval,
    calibration_gap,
    dcp,
)
from skfair.metrics._resampling import check_seed
from skfair.metrics._sample import Sample, SamplePart
from skfair.report import _inputs, _metrics, _numbers
from skfair.report._inputs import MANY_ROWS, make_audit
from skfair.report._metrics import MEASURES, locate_all, make_samples
from skfair.report._options import Options

DRAWS = {"n_resamples": 300, "n_permutations": 300, "random_state": 0}


@pytest.fixture(autouse=True)
def _rows_that_are_many(monkeypatch):
    """Each test begins with the number of the module, which `make` may change."""
    monkeypatch.setattr(_inputs, "MANY_ROWS", MANY_ROWS)


@pytest.fixture(scope="session")
def many(counting):
    """Counts are drawn from samples of any size."""
    return counting()


def make(
    y_true,
    y_score=None,
    y_pred=None,
    group=None,
    weights=None,
    many_rows=MANY_ROWS,
    **options,
):
    _inputs.MANY_ROWS = many_rows
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


def values_of(sample):
    """Metrics of what is drawn from."""
    return {key: drawn_for(sample, key).value for key in sample.keys}


def drawn_for(sample, key):
    """Rows or cells of a metric, of which draws are made."""
    rows, counted = sample.drawn_from(MEASURES[key].question)
    return Sample(MEASURES[key].drawn(sample), rows, (SamplePart(counted),))


def permuted(sample):
    """Values of all metrics of permutations, by key."""
    found = {}
    for question in {MEASURES[key].question: None for key in sample.keys}:
        keys = [key for key in sample.keys if MEASURES[key].question == question]
        rows, counted = sample.drawn_from(question)
        found |= _numbers.permute(sample, keys, rows, [counted])
    return {key: test.null_distribution for key, test in found.items()}


def resampled(sample, key="dcp", n_resamples=300):
    """Values of a metric on resamples."""
    rows, generator = drawn_for(sample, key), check_seed(0)
    return [rows.resampled(generator).value for _ in range(n_resamples)]


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, np.arange(400) % 3 * 1.5 + 0.5])
def test_draws_have_the_distribution_of_draws_of_rows(people, weights):
    y_true, y_score, group = people
    (sample,) = make(y_true, y_score.round(2), group=group, weights=weights)
    of_rows, values = permuted(sample), values_of(sample)
    again = {key: resampled(sample, key) for key in ("dcp", "calibration_gap")}
    _inputs.MANY_ROWS = 1
    of_counts = permuted(sample)
    assert values == pytest.approx(
        {key: one.value for key, one in locate_all(sample).items()}, abs=1e-9
    )
    assert values_of(sample) == pytest.approx(values, abs=1e-9)
    for key, drawn in of_rows.items():
        assert ks_2samp(drawn, of_counts[key]).pvalue > 0.001, key
    for key, drawn in again.items():
        assert ks_2samp(drawn, resampled(sample, key)).pvalue > 0.001, key


def test_joined_scores_say_almost_the_same(people, monkeypatch):
    y_true, y_score, group = people
    (sample,) = make(y_true, y_score, group=group, many_rows=1)
    (alone, _), values = sample.drawn_from("scores"), values_of(sample)
    monkeypatch.setattr(_metrics, "_MAX_SCORES", 100)
    joined, _ = sample.drawn_from("scores")
    assert len(alone) == 3 * 400
    assert len(joined) // 3 in (99, 100, 101)
    numbers = [rows.n.reshape(-1, 3) for rows in (alone, joined)]
    assert_allclose(*(each.sum(axis=0) for each in numbers))
    assert (numbers[1].sum(axis=1) > 0).all()
    assert values_of(sample) == pytest.approx(values, abs=0.05)
    # Means of scores are kept.
    assert_allclose(alone.n @ alone.y_pred, joined.n @ joined.y_pred)


@pytest.mark.slow
def test_same_numbers_for_any_number_of_processes(make_report, people, many):
    y_true, y_score, group = people
    rows = {"y_true": y_true, "y_score": y_score, "sensitive_features": group}
    one, two = (make_report(**rows, n_jobs=n_jobs, make=many) for n_jobs in (1, 2))
    assert one.summary == two.summary
    assert one.summary["settings"]["counts_are_drawn"]


@pytest.mark.slow
def test_pvalues_of_joined_weights_hold_their_level():
    small = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        group, y_score = generator.integers(0, 2, 200), generator.random(200)
        weights = generator.lognormal(0, 1, 200)
        (sample,) = make(
            y_score > generator.random(200),
            y_score,
            group=group,
            weights=weights,
            metrics=["mcdp"],
            n_resamples=1,
            n_permutations=59,
            random_state=seed,
            many_rows=1,
        )
        rows, counted = sample.drawn_from("scores")
        test = _numbers.permute(sample, ["mcdp"], rows, [counted])["mcdp"]
        small += test.pvalue <= 0.05
    assert 1 <= small <= 6  # 3, and two standard errors


def test_progress(make_report, people, many, capsys, monkeypatch):
    y_true, y_score, group = people
    options = {"sensitive_features": group, "metrics": ["mcdp"]}
    make_report(y_true, y_score, **options, make=many)
    assert capsys.readouterr().err == ""
    make_report(y_true, y_score, verbose=1, **options, make=many)
    said = capsys.readouterr().err
    assert "1 of 59 draws" in said
    assert "left" not in said  # of the first seconds nobody can tell
    monkeypatch.setattr(_numbers, "_KNOWN_AFTER", 0.0)
    make_report(y_true, y_score, verbose=1, **options, make=many)
    said = capsys.readouterr().err
    assert re.search(r"1 of 59 draws, about \d+ s left", said)
    assert said.rstrip(" \n").endswith("FairnessReport: 59 of 59 draws")
    assert said.endswith("\n")


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, np.arange(400) % 3 * 1.5])
def test_resamples_are_those_of_the_bootstrap(people, weights):
    """Rows of weight zero are not drawn."""
    y_true, y_score, group = people
    scores = y_score.round(2)
    (sample,) = make(y_true, scores, group=group, weights=weights)
    rows = {"sensitive_features": group, "sample_weight": weights, "random_state": 0}
    for key, metric, values in (
        ("dcp", dcp, (scores >= 0.5).astype(int)),
        ("calibration_gap", calibration_gap, scores),
    ):
        found = bootstrap_interval(metric, y_true, values, n_resamples=30, **rows)
        assert_allclose(resampled(sample, key, 30), found.distribution, atol=1e-12)
