"""A metric of one's own as a row of a report: its unit, range and loose interval."""

import math

import numpy as np
import pytest

from skfair.metrics import GapOfDistributions
from skfair.metrics._pairs import Located
from skfair.report import _metrics
from skfair.report._metrics import MEASURES, Measure


class EnergyDistance(GapOfDistributions):
    """Root of twice the squared gap, added up over all scores."""

    maximum = math.sqrt(2)

    def measure(self, gap):
        return math.sqrt(2 * gap.difference[:-1] ** 2 @ np.diff(gap.scores))


@pytest.fixture
def energy(monkeypatch):
    """Energy distance as a row of reports."""
    energy_distance = EnergyDistance()

    def find(sample):
        value = energy_distance.estimate_statistic(sample.statistic("scores")).value
        return Located(value, (0, 1))

    row = Measure(
        key="energy",
        title="Energy distance",
        question="scores",
        metric=EnergyDistance,
        find=find,
        unit=_metrics.number,
        rank=None,
        scales={"probability": "probability"},
    )
    monkeypatch.setitem(MEASURES, "energy", row)
    return energy_distance


def test_a_metric_of_ones_own_in_a_report(energy, make_report, scored):
    _, y_score, people = scored
    given = {"sensitive_features": people["sex"]}
    report = make_report(None, y_score, metrics=["energy", "abcc"], **given)
    own, abcc = sorted(
        report.summary["attributes"][0]["results"][0]["measures"],
        key=lambda measure: measure["key"] != "energy",
    )
    assert own["value"] == energy(None, y_score, **given)
    assert own["maximum"] == math.sqrt(2)
    page = report.to_html()
    assert "0 to 1.414<" in page
    assert "Root of twice the squared gap, added up over all scores." in page
    assert "points" not in own["sentence"]
    assert own["sentence"].startswith("Energy distance of “")
    assert own["note"] == "The interval holds for any such metric, and is loose."
    assert abcc["note"] == ""
    assert abcc["maximum"] == 1
    assert "points" in abcc["sentence"]
