"""Metrics and checks in the reports of skore."""

import warnings
from types import SimpleNamespace

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair.datasets import make_biased_classification
from skfair.metrics import get_fairness_scorer, mcdp
from skfair.report import skore_checks

CODES = ["SKF001", "SKF002", "SKF003"]


@pytest.fixture(scope="module")
def skore():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the packages that skore imports
        return pytest.importorskip("skore", reason="no skore")


@pytest.fixture(scope="module")
def table():
    return make_biased_classification(
        600,
        group_sizes={"sex": {0: 0.4, 1: 0.6}},
        score_shifts={"sex": {1: 1.0}},
        random_state=0,
    )


@pytest.fixture
def evaluated(skore, table):
    X, y = table
    model = LogisticRegression().fit(X, y)
    return skore.EstimatorReport(model, X_test=X, y_test=y, pos_label=1)


def summary_of(report, name):
    frame = report.metrics.summarize(metric=[name]).frame()
    return float(frame.to_numpy().ravel()[0])


def test_a_function_of_x_gives_the_number_and_a_scorer_says_so(evaluated, table):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    expected = scorer(evaluated.estimator_, X, y)
    evaluated.metrics.add(lambda estimator, X, y: scorer(estimator, X, y), name="gap")
    assert summary_of(evaluated, "gap") == pytest.approx(expected)
    assert expected < -0.05
    evaluated.metrics.add(scorer)
    with pytest.warns(UserWarning, match="'neg_mcdp' has failed.*called without X"):
        evaluated.metrics.summarize(metric=["neg_mcdp"]).frame()


def test_checks_name_the_groups_above_the_limit(evaluated, table, monkeypatch):
    X, _ = table
    monkeypatch.setenv("SKFAIR_DOCS", "https://example.org/skfair/")
    evaluated.checks.add(skore_checks("sex", limit=0.05))
    summary = evaluated.checks.summarize()
    issues = summary.frame(section="issue").set_index("code")
    text = issues.loc["SKF002", "explanation"]
    score = evaluated.estimator_.predict_proba(X)[:, 1]
    value = mcdp(None, score, sensitive_features=X["sex"])
    assert text.startswith(f"MCDP(0) is {value:.3f} (95% interval ")
    assert ", above the limit of 0.05. At a threshold just above " in text
    assert "“1”" in text
    page = "https://example.org/skfair/howto/tracking.html#checks-in-skore"
    assert page in str(issues.loc["SKF002"].to_dict())


def test_checks_pass_below_the_limit(evaluated):
    evaluated.checks.add(skore_checks("sex", limit=1))
    passed = evaluated.checks.summarize().frame(section="passed")
    assert {*CODES} <= {*passed["code"]}


def test_checks_do_not_apply_to_what_cannot_be_compared(skore, table, evaluated):
    X, _ = table
    evaluated.checks.add(skore_checks(lambda X: ["a"] * len(X)))
    found = evaluated.checks.summarize().frame(section="not_applicable")
    assert {*CODES} <= {*found["code"]}
    numbers = X.drop(columns="sex").sum(axis=1)
    model = LinearRegression().fit(X, numbers)
    of_numbers = skore.EstimatorReport(model, X_test=X, y_test=numbers)
    of_numbers.checks.add(skore_checks("sex"))
    found = of_numbers.checks.summarize().frame(section="not_applicable")
    assert {*CODES} <= {*found["code"]}


def test_checks_read_the_test_rows_of_a_report(table):
    """Without skore, on what such a report has."""
    X, y = table
    model = LogisticRegression().fit(X, y)
    report = SimpleNamespace(
        ml_task="binary-classification",
        estimator_=model,
        X_test=X,
        y_test=y,
        pos_label=1,
    )
    decisions, scores, _ = skore_checks("sex", limit=0.05)
    value = mcdp(None, model.predict_proba(X)[:, 1], sensitive_features=X["sex"])
    assert scores.check_function(report).startswith(f"MCDP(0) is {value:.3f} (95%")
    assert "gets the positive decision" in decisions.check_function(report)
    for check in skore_checks("sex", limit=1):
        assert check.check_function(report) is None


def test_a_limit_is_a_disparity():
    with pytest.raises(ValueError, match=r"limit must be a number in \[0, 1\], got 2"):
        skore_checks("sex", limit=2)


def test_pages_are_linked_where_there_is_a_site(monkeypatch):
    monkeypatch.delenv("SKFAIR_DOCS", raising=False)
    assert [check.docs_url for check in skore_checks("sex")] == [None] * 3
