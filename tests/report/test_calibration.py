"""The row of the calibration gap: when it is there, what it says, and the verdict."""

import re

import numpy as np
import pytest

from skfair.metrics import calibration_gap

ALONE = {"metrics": ["calibration_gap"]}
BEYOND = "do not have the same outcomes in all groups"


def people(n=600, power=0.6, names="ab"):
    """True labels, scores and groups; the last group succeeds more often."""
    rng = np.random.default_rng(0)
    groups, scores = rng.choice([*names], n), rng.beta(2, 3, n)
    probability = np.where(groups == names[-1], scores**power, scores)
    return (rng.random(n) < probability).astype(int), scores, groups


def row_of(report):
    (measure,) = report.summary["attributes"][0]["results"][0]["measures"]
    return measure


@pytest.mark.parametrize("weights", [None, np.arange(600) % 3 + 0.5])
def test_the_sentence_has_the_sums_of_the_rows(make_report, weights):
    y_true, scores, groups = people()
    rows = {"sensitive_features": groups, "sample_weight": weights}
    measure = row_of(make_report(y_true, scores, **rows, **ALONE))
    assert measure["value"] == pytest.approx(calibration_gap(y_true, scores, **rows))
    assert measure["maximum"] == 2
    assert (measure["n"], measure["certified"]) == (600, None)
    found = re.search(
        r"Of 100 people of “(.)”, those with scores up to ([.\d]+) have ([.\d]+ \w+) "
        r"positive outcomes than their scores predict, of 100 of “(.)”, ([.\d]+ \w+): "
        r"([.\d]+) percentage points",
        measure["finding"],
    )
    assert found is not None
    first, score, ours, second, theirs, gap = found.groups()
    ours, theirs = (
        float(number) * {"more": 1, "fewer": -1}[side]
        for number, side in (ours.split(), theirs.split())
    )
    weights = np.ones(600) if weights is None else weights
    below = scores <= float(score) + 0.0005  # the score is rounded
    for number, group in (ours, first), (theirs, second):
        own = groups == group
        total = (weights * (y_true - scores))[own & below].sum() / weights[own].sum()
        assert number == pytest.approx(100 * total, abs=0.2)
    assert float(gap) == pytest.approx(ours - theirs, abs=0.11)


def test_no_zero_is_negative(make_report):
    """Curves that are equal, and negative sums that round to zero."""
    y_true, groups = np.tile([1, 0], 20), np.repeat(["a", "b"], 20)
    measure = row_of(
        make_report(y_true, np.full(40, 0.5001), sensitive_features=groups, **ALONE)
    )
    assert measure["value"] == 0
    assert "-0.0" not in measure["finding"]
    assert ": 0.0 percentage points apart" in measure["finding"]


@pytest.mark.slow
def test_when_there_is_a_row(make_report):
    y_true, scores, groups = people(100)
    who = {"sensitive_features": groups}
    given = {
        "no true labels": (None, scores, {}),
        "no scores": (y_true, None, {"y_pred": scores > 0.5}),
        "ranks": (y_true, scores, {"scale": "rank"}),
        "numbers": (y_true, scores, {"scale": "real"}),
    }
    for true, score, options in given.values():
        report = make_report(true, score, **who, **options, n_permutations=0)
        assert "calibration_gap" not in set(report.to_frame()["metric"])
        with pytest.raises(ValueError, match="'calibration_gap', which needs"):
            make_report(true, score, **who, **options, **ALONE)
    with pytest.raises(ValueError, match="needs y_true and y_score of two classes"):
        make_report(None, scores, **who, **ALONE)


@pytest.mark.slow
def test_many_groups_have_a_row_if_asked(make_report):
    y_true, scores, groups = people(300, names="abcdefghijkl")
    rows = {"y_true": y_true, "y_score": scores, "sensitive_features": groups}
    report = make_report(**rows, n_permutations=0)
    assert "calibration_gap" not in set(report.to_frame()["metric"])
    measure = row_of(make_report(**rows, **ALONE))
    expected = calibration_gap(
        y_true, scores, sensitive_features=groups, multigroup="pooled"
    )
    assert measure["value"] == pytest.approx(expected)
    assert "of 100 of everyone" in measure["finding"]


@pytest.mark.slow
def test_the_verdict_names_a_gap_beyond_chance(make_report):
    for power, beyond in (0.6, True), (1, False):
        y_true, scores, groups = people(power=power)
        metrics = ["demographic_parity_difference", "calibration_gap"]
        rows = {"sensitive_features": {"sex": groups}, "metrics": metrics}
        report = make_report(y_true, scores, **rows)
        (lead,) = report.summary["verdict"]["leads"]
        assert any(f"{BEYOND} by sex" in text for text in lead["further"]) == beyond
        assert (BEYOND in report.to_markdown()) == beyond
        untested = make_report(y_true, scores, n_permutations=0, **rows)
        assert BEYOND not in untested.to_markdown()
        found = untested.to_frame().set_index("metric").loc["calibration_gap"]
        assert found["lower"] <= found["value"] <= found["upper"]
        assert np.isnan(found["pvalue"])
