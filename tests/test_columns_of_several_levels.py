"""Columns that have several levels: a tuple is the name of one of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.inspection import CDFGapDisplay
from skfair.metrics import get_fairness_scorer, mcdp
from skfair.model_selection import GroupStratifiedKFold
from skfair.postprocessing import MADDPostProcessor

SEX, OLD = ("person", "sex"), ("person", "old")


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            ("test", "first"): generator.normal(size=120),
            ("test", "second"): generator.normal(size=120),
            SEX: generator.integers(0, 2, 120),
            OLD: generator.integers(0, 2, 120),
        }
    )
    assert isinstance(X.columns, pd.MultiIndex)
    return X, (X["test", "first"] + X[SEX] > 0).to_numpy().astype(int)


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
@pytest.mark.parametrize(
    ("selector", "drop_sensitive"),
    [
        ([SEX, OLD], True),
        pytest.param(2, False, marks=pytest.mark.slow),
        pytest.param(SEX, False, marks=pytest.mark.slow),
        pytest.param([SEX], True, marks=pytest.mark.slow),
    ],
)
def test_a_mitigator_reads_them(selector, drop_sensitive, people):
    X, y = people
    options = {"repair_level": 0.5, "cv": 2}
    model = MADDPostProcessor(
        LogisticRegression(),
        sensitive_features=selector,
        drop_sensitive=drop_sensitive,
        **options,
    ).fit(X, y)
    columns = [SEX, OLD] if selector == [SEX, OLD] else [SEX]
    groups = encode_groups(X[columns])
    features = X.drop(columns=columns) if drop_sensitive else X
    beside = MADDPostProcessor(LogisticRegression(), **options)
    beside.fit(features, y, sensitive_features=groups)
    assert model.groups_ == groups.labels
    assert_array_equal(
        model.predict_proba(X),
        beside.predict_proba(features, sensitive_features=groups),
    )


@pytest.mark.parametrize("selector", [SEX, [SEX, OLD]])
def test_scorers_and_folds_read_them(selector, people):
    X, y = people
    model = LogisticRegression().fit(X, y)
    groups = encode_groups(X[selector])
    scores = model.predict_proba(X)[:, 1]
    expected = mcdp(y, scores, sensitive_features=groups)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=selector)
    assert scorer(model, X, y) == -expected
    named = GroupStratifiedKFold(2, sensitive_features=selector).split(X, y)
    given = GroupStratifiedKFold(2).split(X, y, groups=groups)
    for (_, own), (_, other) in zip(named, given, strict=True):
        assert_array_equal(own, other)


@pytest.mark.slow
@pytest.mark.parametrize("selector", [SEX, [SEX, OLD]])
def test_displays_read_them(selector, people):
    X, y = people
    model = LogisticRegression().fit(X, y)
    display = CDFGapDisplay.from_estimator(model, X, sensitive_features=selector)
    scores = model.predict_proba(X)[:, 1]
    expected = mcdp(y, scores, sensitive_features=encode_groups(X[selector]))
    assert display.marks[0.0].value == expected


def test_a_name_that_is_none_of_them_is_refused(people):
    X, y = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features=("person", "x"))
    with pytest.raises(ValueError, match=r"X has no column \('person', 'x'\)"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X has no column 'person'"):
        model.set_params(sensitive_features="person").fit(X, y)


def test_a_tuple_names_several_columns_of_other_tables(people):
    X, y = people
    flat = X.set_axis(["first", "second", "sex", "old"], axis=1)
    model = MADDPostProcessor(
        LogisticRegression(), sensitive_features=("sex", "old"), repair_level=0, cv=2
    ).fit(flat, y)
    assert model.groups_ == ((0, 0), (0, 1), (1, 0), (1, 1))
