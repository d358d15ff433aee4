"""A metric of the report that lacks one of its parts is an error that names it."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from skfair.report._inputs import make_audit
from skfair.report._numbers._sample import Finding, make_samples
from skfair.report._options import MEASURES, Options, part_of
from skfair.report._words._sentences import SENTENCES, UNITS, describe, in_unit

OF_QUESTIONS = {"decisions": 0, "scores": 3, "errors": -1}


@pytest.fixture
def sample(scored):
    y_true, y_score, people = scored
    audit = make_audit(
        y_true=y_true,
        y_score=y_score,
        y_pred=None,
        sensitive_features=people["sex"],
        pos_label=None,
        sample_weight=None,
        options=Options(random_state=0),
    )
    return make_samples(audit)[0]


@pytest.mark.parametrize("question", OF_QUESTIONS)
@pytest.mark.parametrize("many", [False, True])
def test_a_row_without_its_value_is_an_error(
    make_report, scored, monkeypatch, question, many
):
    row = replace(MEASURES[OF_QUESTIONS[question]], key="invented")
    added = {
        "MEASURES": (*MEASURES, row),
        "KEYS": (*(one.key for one in MEASURES), "invented"),
        f"OF_{question.upper()}": ("invented",),
    }
    for name, module in list(sys.modules.items()):
        for attribute, value in added.items():
            if name.startswith("skfair.report") and hasattr(module, attribute):
                monkeypatch.setattr(module, attribute, value)
    if many:
        monkeypatch.setattr("skfair.report._inputs.MANY_ROWS", 1)
    y_true, y_score, people = scored
    options = {"sensitive_features": people["sex"], "metrics": ["invented"]}
    message = "The value.* of the metric 'invented' is missing"
    with pytest.raises(NotImplementedError, match=message):
        make_report(y_true, y_score, **options, n_resamples=1)


def test_words_of_another_metric_are_never_used(sample):
    for key in ("invented", "mcdp2", ""):
        with pytest.raises(NotImplementedError, match=f"sentence .* {key!r} is miss"):
            describe(sample, key, Finding(0.5))
        with pytest.raises(NotImplementedError, match=f"unit .* {key!r} is missing"):
            in_unit(key, 0.5)


def test_every_metric_has_all_its_parts():
    keys = {measure.key for measure in MEASURES}
    assert set(SENTENCES) == set(UNITS) == keys


def test_a_part_that_is_there():
    assert part_of({"mcdp": 0.0}, "mcdp", "The value") == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 12])
def test_no_value_is_negative(make_report, n_groups):
    groups = np.arange(240) % n_groups
    report = make_report(
        np.arange(240) // n_groups % 2,
        np.full(240, 0.5),
        sensitive_features=groups,
        n_resamples=1,
    )
    values = report.to_frame()["value"].to_numpy()
    expected = np.nan if n_groups == 1 else 0.0
    np.testing.assert_array_equal(values, np.full(len(values), expected))
