"""Warnings of values that groups of few rows decide."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from skfair.groups import encode_groups
from skfair.metrics import (
    GapOfDistributions,
    abcc,
    abroca,
    calibration_gap,
    demographic_parity_difference,
    equalized_odds_difference,
    get_fairness_scorer,
    madd,
    mcdp,
    mean_error_difference,
    permutation_test,
    true_positive_rate_difference,
)
from skfair.statistics import CountTable

pytestmark = pytest.mark.filterwarnings("error")
FEW = "decided by few rows"


class MeanGap(GapOfDistributions):
    """A metric of one's own."""

    def measure(self, gap):
        return float(gap.difference[:-1] @ np.diff(gap.scores))


class Scores(RegressorMixin, BaseEstimator):
    """Predict the column of scores."""

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X["score"].to_numpy()


def people(n_large=38, size=12):
    """Scores, labels and groups: two scores in large groups, and four of one row."""
    y_score = np.tile([0.4, 0.6], n_large * size // 2)
    y_true = np.tile([0, 1, 1, 0], n_large * size // 4)
    group = np.repeat([f"g{i:02d}" for i in range(n_large)], size)
    y_score, y_true = np.append(y_score, [0, 0, 1, 1]), np.append(y_true, [0, 1] * 2)
    return y_true, y_score, np.append(group, ["x1", "x2", "x3", "x4"])


@pytest.mark.promise(
    "A value that a group of fewer than 10 rows decides comes with a warning that "
    "names the group and its rows, whatever its label is"
)
@pytest.mark.parametrize(
    "metric",
    [
        mcdp,
        pytest.param(abcc, marks=pytest.mark.slow),
        pytest.param(madd, marks=pytest.mark.slow),
        calibration_gap,
        mean_error_difference,
        MeanGap(),
    ],
)
@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
def test_groups_of_one_row_are_named(metric, multigroup):
    y_true, y_score, group = people()
    options = {} if isinstance(metric, MeanGap) else {"multigroup": multigroup}
    with pytest.warns(UserWarning, match=FEW) as seen:
        value = metric(y_true, y_score, sensitive_features=group, **options)
    assert len(seen) == 1
    text = str(seen[0].message)
    assert f"is {value:.3g}" in text
    assert "'x" in text
    assert "has 1 row" in text
    assert "rare='merge'" in text


def test_a_small_group_that_does_not_decide_is_not_named():
    y_pred = np.concatenate([np.zeros(20), np.ones(20), np.tile([0, 1], 4)])
    group = np.repeat(["a", "b", "c"], [20, 20, 8])
    assert demographic_parity_difference(None, y_pred, sensitive_features=group) == 1


@pytest.mark.parametrize(("size", "warns"), [(9, True), (10, False)])
def test_fewer_than_ten_rows_are_few(size, warns):
    y_pred, group = np.repeat([0, 1], [50, size]), np.repeat(["a", "b"], [50, size])
    counts, two = [50, size], {"sensitive_features": ["a", "b"]}
    calls = [
        lambda: demographic_parity_difference(None, y_pred, sensitive_features=group),
        lambda: demographic_parity_difference(None, [0, 1], counts=counts, **two),
        lambda: mcdp(
            None, CountTable.from_rows(None, y_pred, sensitive_features=group)
        ),
    ]
    for call in calls:
        if not warns:
            assert call() == 1
            continue
        with pytest.warns(UserWarning, match=f"is 1, {FEW}: 'b' has 9 rows"):
            assert call() == 1


def test_rows_that_count_are_counted():
    """Rates of one true label come from its rows alone."""
    y_true, group = np.tile([0, 0, 0, 1], 10), np.repeat(["a", "b"], 20)
    y_pred = y_true * (group == "a")
    rows = {"sensitive_features": group}
    said = "'a' has 5 rows of the true label 1 and 'b' has 5 rows of the true label 1"
    with pytest.warns(UserWarning, match=said):
        equalized_odds_difference(y_true, y_pred, **rows)
    said = "true_positive_rate_difference, of truly positive rows, is 1, decided by"
    with pytest.warns(UserWarning, match=said):
        true_positive_rate_difference(y_true, y_pred, **rows)
    with pytest.warns(UserWarning, match="'a' has 5 rows of a true label"):
        abroca(y_true, y_true * (group == "a") + 0.1, **rows)


def test_strata_are_named():
    y_score = np.tile([0.2, 0.4, 0.4, 0.6], 20)
    sex = np.tile(["F", "F", "M", "M"], 20)
    stratum = np.repeat(["p", "q"], [72, 8])
    options = {"sensitive_features": sex, "control_features": stratum}
    y_score[-8:] = np.tile([0.1, 0.1, 0.9, 0.9], 2)
    with pytest.warns(UserWarning, match="in stratum 'q'") as seen:
        mcdp(None, y_score, **options)
    assert "'F' has 4 rows" in str(seen[0].message)
    # The stratum of few rows does not decide.
    y_score[-8:] = 0.5
    assert mcdp(None, y_score, **options) == 0.5


def test_who_sets_a_least_size_has_no_warning():
    y_pred, group = np.repeat([0, 1], [50, 5]), np.repeat(["a", "b"], [50, 5])
    groups = encode_groups(group, min_group_size=5)
    assert demographic_parity_difference(None, y_pred, sensitive_features=groups) == 1


def test_equal_groups_have_no_warning():
    rows = {"sensitive_features": list("aabb")}
    assert mcdp(None, [0.2, 0.4] * 2, **rows) == 0


def test_inner_values_have_no_warning():
    """Neither folds nor permutations warn: tests know the noise of small groups."""
    y_true, y_score, group = people(4)
    X = pd.DataFrame({"score": y_score, "group": group})
    rows = {"sensitive_features": group, "n_permutations": 9, "random_state": 0}
    assert permutation_test(mcdp, None, y_score, **rows).value == 1
    scorer = get_fairness_scorer(
        "neg_mcdp", sensitive_features="group", response_method="predict"
    )
    assert scorer(Scores().fit(X, y_true), X, y_true) == -1
