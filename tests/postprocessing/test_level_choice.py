import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skfair.datasets import make_biased_classification, make_biased_scores
from skfair.groups import encode_groups
from skfair.metrics import madd
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer
from skfair.postprocessing._held_out import ScoredRows
from skfair.postprocessing._repair_losses import LossOptions, choose_level

OPTIONS = LossOptions(
    theta=0.5,
    accuracy_loss="zero_one",
    fairness="madd",
    bandwidth=0.1,
    threshold=0.5,
    ties="mid",
    random_state=0,
)
LEVELS = np.linspace(0, 1, 5)


def made_rows(n_samples, seed):
    y, scores, groups = make_biased_scores(n_samples, random_state=seed)
    return ScoredRows(y, scores, encode_groups(groups), None)


def made_losses(totals):
    return pd.DataFrame({"repair_level": LEVELS, "total_loss": totals})


class Scores(LogisticRegression):
    """Takes the first column of X for its scores."""

    classes_ = np.array([0, 1])
    n_features_in_ = 1

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def test_least_level_within_one_standard_error():
    parts = [made_rows(400, seed) for seed in range(3)]
    scores, y, codes = (
        np.concatenate(values)
        for values in zip(
            *[(part.scores, part.y_true, part.groups.codes) for part in parts],
            strict=True,
        )
    )
    repaired = ScoreRepairer(1.0).fit_transform(scores, sensitive_features=codes)
    totals = []
    for rows in np.split(np.arange(1200), 3):
        wrong = np.mean((repaired[rows] >= 0.5) != y[rows])
        left = madd(None, repaired[rows], sensitive_features=codes[rows], bandwidth=0.1)
        totals.append(0.5 * wrong + 0.25 * left)
    expected = np.std(totals, ddof=1) / np.sqrt(3)
    near = made_losses([9.0, expected * 1.01, expected * 0.99, 9.0, 0.0])
    level, error = choose_level(near, parts, 1200, OPTIONS)
    assert_allclose(error, expected, rtol=1e-12)
    assert level == 0.5
    flat = made_losses([0.0, 0.0, 0.0, 0.0, -expected / 2])
    assert choose_level(flat, parts, 1200, OPTIONS).level == 0
    steep = made_losses([4.0, 3.0, 2.0, 1.0, 0.0])
    assert choose_level(steep, parts, 1200, OPTIONS).level == 1


def test_rows_held_out_twice_are_no_more_rows():
    parts = [made_rows(400, seed) for seed in range(3)]
    flat = made_losses([0.0, 0.0, 0.0, 0.0, -1e-9])
    once = choose_level(flat, parts, 1200, OPTIONS).standard_error
    twice = choose_level(flat, parts * 2, 1200, OPTIONS).standard_error
    # Six values of which three are repeated vary by sqrt(4 / 5) of what three do.
    assert_allclose(twice, once * np.sqrt(4 / 5), rtol=1e-2)


def test_parts_without_a_group_or_a_class_do_not_count():
    whole = made_rows(400, 0)
    one_group = whole.take(whole.groups.codes == 0)
    one_class = whole.take(whole.y_true == 1)
    flat = made_losses([0.0, 0.0, 0.0, 0.0, -1e-9])
    choice = choose_level(flat, [whole, one_group, one_class], 1000, OPTIONS)
    assert choice == (1.0, 0.0)
    two_parts = [whole, made_rows(400, 1), one_group, one_class]
    assert 0 < choose_level(flat, two_parts, 1600, OPTIONS).standard_error < 0.05


def test_rows_of_one_model_are_split_evenly():
    rows = made_rows(500, 0)
    flat = made_losses([0.0, 0.0, 0.0, 0.0, -1e-9])
    choice = choose_level(flat, [rows], 500, OPTIONS)
    assert choice.level == 0
    # About the standard error of half an error rate near 0.4 of 500 rows.
    assert 0.2 < choice.standard_error / (0.5 * np.sqrt(0.24 / 500)) < 2.5
    few = rows.take(np.r_[:2, -2:0])
    assert choose_level(flat, [few], 4, OPTIONS) == (1.0, 0.0)


def test_callable_that_needs_more_rows_than_a_part_has():
    rows = made_rows(500, 0)

    def fairness(y_true, y_score, *, sensitive_features):
        enough = len(y_true) == 500
        gap = madd(None, y_score, sensitive_features=sensitive_features, bandwidth=0.1)
        return gap if enough else np.nan

    steep = made_losses([4.0, 3.0, 2.0, 1.0, 0.99])
    options = OPTIONS._replace(fairness=fairness)
    assert choose_level(steep, [rows], 500, options) == (1.0, 0.0)


def test_level_of_the_simulation_of_the_paper():
    y, scores, groups = make_biased_scores(20_000, random_state=0)
    model = MADDPostProcessor(FrozenEstimator(Scores()), n_levels=1001)
    model.fit(scores[:, None], y, sensitive_features=groups)
    assert 0.965 <= model.repair_level_ <= 0.995
    totals = model.losses_["total_loss"]
    chosen = totals[model.losses_["repair_level"] == model.repair_level_].item()
    limit = totals.min() + model.standard_error_
    assert chosen <= limit
    assert (totals[model.losses_["repair_level"] < model.repair_level_] > limit).all()


def test_no_standard_error_of_a_given_level():
    X, y = make_biased_classification(500, random_state=0)
    y_groups = np.arange(500) % 2
    given = MADDPostProcessor(LogisticRegression(), repair_level=0.5)
    X = X.select_dtypes("number")
    assert given.fit(X, y, sensitive_features=y_groups).standard_error_ is None
    with pytest.warns(UserWarning, match="nothing is repaired"):
        assert given.fit(X, y).standard_error_ is None
