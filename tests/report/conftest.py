import numpy as np
import pytest

from skfair.metrics import (
    bootstrap_interval,
    calibration_gap,
    certify,
    confidence_interval,
    dcp,
    permutation_test,
)
from skfair.report import FairnessReport

try:
    import jinja2  # noqa: F401
    import matplotlib
except ModuleNotFoundError:
    collect_ignore_glob = ["test_html.py", "test_chromium.py"]
else:
    matplotlib.use("Agg")

#: Enough draws for every number to be there.
FEW = {"n_resamples": 20, "n_permutations": 59, "random_state": 0}
#: A metric of each question.
FEW_METRICS = ["mcdp", "demographic_parity_difference", "equalized_odds_difference"]


@pytest.fixture(scope="session")
def scored(make_scored_people):
    """True classes, scores, and sex and race of 600 people."""
    return make_scored_people(600)


@pytest.fixture(scope="session")
def make_report():
    """Report on few draws, of few metrics where all of them can be computed."""

    def report(y_true, y_score=None, make=FairnessReport, **options):
        if y_true is not None and y_score is not None and "scale" not in options:
            options = {"metrics": FEW_METRICS, **options}
        return make.from_predictions(y_true, y_score, **{**FEW, **options})

    return report


@pytest.fixture(scope="session")
def report(make_report, scored):
    y_true, y_score, people = scored
    models = {"plain": y_score, "flat": np.sqrt(y_score)}
    return make_report(
        y_true,
        models,
        sensitive_features=people,
        title="Two models",
        metrics=[*FEW_METRICS, "max_gap", "cvar_fairness"],
    )


@pytest.fixture(scope="session")
def large_page(report):
    return report.to_html()


@pytest.fixture(scope="session")
def make_small_report(make_report, scored):
    """Report on one model, one attribute and a metric of each kind."""

    def make():
        y_true, y_score, people = scored
        return make_report(y_true, y_score, sensitive_features=people["sex"])

    return make


@pytest.fixture(scope="session")
def small_report(make_small_report):
    return make_small_report()


@pytest.fixture(scope="session")
def small_page(small_report):
    return small_report.to_html()


@pytest.fixture(scope="session")
def check():
    """Compare a row of the report with an interval, a certificate and the value."""

    def check(found, metric, y_true, values, sensitive_features, **rows):
        rows["sensitive_features"] = sensitive_features
        if getattr(metric, "func", metric) in (dcp, calibration_gap):
            options = {"n_resamples": 20, "random_state": 0}
            interval = bootstrap_interval(metric, y_true, values, **rows, **options)
        else:
            interval = confidence_interval(metric, y_true, values, **rows)
            result = certify(metric, y_true, values, **rows, at_most=0.5)
            assert found["certified"] == pytest.approx(result.smallest_certified)
        value = interval.value
        expected = [value, min(interval.lower, value), max(interval.upper, value)]
        actual = [found[key] for key in ("value", "lower", "upper")]
        assert actual == pytest.approx(expected, abs=1e-9)

    return check


@pytest.fixture(scope="session")
def check_test():
    """Compare a row of the report with a permutation test."""

    def check(found, metric, y_true, values, sensitive_features, **rows):
        rows["sensitive_features"] = sensitive_features
        test = permutation_test(
            metric, y_true, values, n_permutations=59, random_state=0, **rows
        )
        chance = test.pairs["by_chance"].iloc[0] if len(test.pairs) else test.null_mean
        assert found["null_mean"] == pytest.approx(chance, abs=1e-9)
        assert found["pvalue"] == pytest.approx(test.pvalue)

    return check
