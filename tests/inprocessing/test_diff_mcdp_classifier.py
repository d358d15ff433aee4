import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier

from skfair.exceptions import MitigationWarning
from skfair.inprocessing import DiffMCDPClassifier


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")  # few rows
@pytest.mark.slow
@pytest.mark.parametrize(
    "hidden",
    [
        (),
        16,
        (16,),
        [16, 8],
    ],
)
def test_strength_makes_the_gap_smaller(proxy_people, hidden, make_people, quick, gap):
    X, y, sex = proxy_people
    new, new_y, new_sex = make_people(2000, seed=1)
    gaps, accuracies = [], []
    for strength in (0, 0.1, 0.5):
        model = quick(hidden_layer_sizes=hidden, strength=strength)
        model.fit(X, y, sensitive_features=sex)
        gaps.append(gap(model, new[["skill", "proxy"]], new_sex))
        accuracies.append(model.score(new[["skill", "proxy"]], new_y))
    assert gaps[0] > gaps[1] > gaps[2] + 0.1
    assert gaps[0] > 0.3
    assert gaps[2] < 0.12
    assert min(accuracies[:2]) > 0.69


def test_strength_0_is_the_plain_network(proxy_people):
    X, y, sex = proxy_people
    model = DiffMCDPClassifier(
        hidden_layer_sizes=(7, 3), strength=0, max_iter=20, random_state=0
    ).fit(X, y, sensitive_features=sex)
    plain = MLPClassifier(
        (7, 3),
        batch_size=len(X),
        shuffle=False,
        alpha=1e-4 * len(X),  # which it divides by the number of rows
        max_iter=20,
        random_state=0,
    )
    with pytest.warns(match="Maximum iterations"):
        plain.fit(X, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-10)
    for ours, theirs in zip(model.coefs_, plain.coefs_, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.groups_ == ("F", "M")
    assert np.isnan(model.history_["gap"]).all()
    without = clone(model).fit(X, y)  # and without a warning
    assert_array_equal(model.decision_function(X), without.decision_function(X))


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["dp", "abcc"])
def test_other_objectives(proxy_people, objective, quick, gap):
    X, y, sex = proxy_people
    model = quick(objective=objective, strength=2.0)
    model.fit(X, y, sensitive_features=sex)
    assert gap(model, X, sex) < 0.25
    assert model.history_["gap"][-1] < 0.05


@pytest.mark.slow
def test_weights_stand_for_repetition(proxy_people, quick):
    X, y, sex = proxy_people
    weights = np.arange(len(X)) % 4
    rows = np.repeat(np.arange(len(X)), weights)
    options = {"batch_size": 2000, "validation_fraction": None}
    weighted = quick(**options).fit(
        X, y, sensitive_features=sex, sample_weight=weights * 0.1
    )
    repeated = quick(**options).fit(
        X.iloc[rows], y[rows], sensitive_features=sex.iloc[rows]
    )
    assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )


@pytest.mark.slow
def test_early_stopping_keeps_the_best_look(proxy_people, quick):
    X, y, sex = proxy_people
    model = quick(
        hidden_layer_sizes=(64,), max_iter=3000, early_stopping=True, batch_size=100
    ).fit(X, y, sensitive_features=sex)
    looks = (
        pd.DataFrame(model.history_)
        .set_index("step")["validation_penalised_loss"]
        .dropna()
    )
    assert model.n_iter_ < 3000
    assert model.n_iter_ == looks.index[-1] == looks.idxmin() + 200
    until_best = model.set_params(max_iter=int(looks.idxmin()))
    best = [coefs.copy() for coefs in model.coefs_]
    for coefs, expected in zip(
        until_best.fit(X, y, sensitive_features=sex).coefs_, best, strict=True
    ):
        assert_array_equal(coefs, expected)


def test_too_few_rows_to_hold_out(quick):
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="of 6 rows leaves too few"):
        quick(early_stopping=True).fit(X, y, sensitive_features=[0, 1] * 3)


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")  # few rows
@pytest.mark.slow
def test_sparse_and_single_precision(proxy_people, quick):
    X, y, sex = proxy_people
    dense = X.to_numpy()
    groups = {"sensitive_features": sex}
    model = quick(batch_size=128).fit(dense, y, **groups)
    sparse = quick(batch_size=128).fit(csr_array(dense), y, **groups)
    assert_allclose(
        sparse.decision_function(csr_array(dense)),
        model.decision_function(dense),
        atol=1e-6,
    )
    single = quick().fit(dense.astype(np.float32), y, **groups)
    assert {values.dtype for values in single.coefs_} == {np.dtype("float32")}
    assert single.predict_proba(dense.astype(np.float32)).dtype == np.float64


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
@pytest.mark.parametrize("batch_size", [50, 10])
def test_many_groups_and_a_group_of_one_row(proxy_people, batch_size, quick):
    X, y, _ = proxy_people
    groups = np.arange(len(X)) % 20
    groups[0] = 99
    model = quick(batch_size=batch_size).fit(X, y, sensitive_features=groups)
    assert len(model.groups_) == 21
    assert np.isfinite(model.decision_function(X)).all()


# --- bad parameters, and training that fails


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"strength": -0.1}, r"strength must be a number in \[0, inf\), got -0.1"),
        ({"temperature": 0}, r"temperature must be a number in \(0, inf\), got 0"),
        ({"objective": "ks"}, "objective must be 'mcdp', 'dp' or 'abcc', got 'ks'"),
        ({"hidden_layer_sizes": (8, 0)}, "hidden_layer_sizes must be an integer of"),
        ({"hidden_layer_sizes": 2.5}, "hidden_layer_sizes must be an integer of"),
        ({"hidden_layer_sizes": "8"}, "hidden_layer_sizes must be an integer of"),
        ({"hidden_layer_sizes": None}, "hidden_layer_sizes must be an integer of"),
        ({"learning_rate_init": 0}, "learning_rate_init must be"),
        ({"learning_rate_init": (0.1, -1)}, "learning_rate_init must be"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, got 0"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"dropout": 1}, r"dropout must be a number in \[0, 1\), got 1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"early_stopping": "yes"}, "early_stopping must be True or False"),
    ],
)
def test_bad_parameters(proxy_people, parameters, match, quick):
    X, y, sex = proxy_people
    with pytest.raises(ValueError, match=match):
        quick(**parameters).fit(X, y, sensitive_features=sex)


def test_scores_that_turn_nan_stop_the_training(proxy_people, quick):
    X, y, sex = proxy_people
    with pytest.raises(ValueError, match=r"stopped in step 2, .*standardise X"):
        quick().fit(X * 1e300, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="learning_rate_init=1e\\+300"):
        quick(learning_rate_init=1e300).fit(X, y, sensitive_features=sex)


# --- the comparison with the plain network


@pytest.mark.slow
@pytest.mark.parametrize("early_stopping", [False, True])
def test_it_is_compared_with_the_plain_network(proxy_people, quick, early_stopping):
    X, y, sex = proxy_people
    options = {"validation_fraction": 0.4, "early_stopping": early_stopping}
    model = quick(strength=0.5, **options).fit(X, y, sensitive_features=sex)
    comparison = model.comparison_
    assert comparison.n_samples == 240
    assert comparison.mitigated["mcdp"] < comparison.baseline["mcdp"] / 1.5
    assert not comparison.lacks_gain
    again = quick(strength=0, **options).fit(X, y, sensitive_features=sex)
    assert again.comparison_ is None


def test_worse_in_both_respects_is_said(proxy_people, quick):
    X, y, sex = proxy_people
    y = np.where(X["proxy"] > 0.75, "yes", "no")
    model = quick(strength=200.0, validation_fraction=0.5, max_iter=3)
    model.set_params(learning_rate_init=3.0)
    with pytest.warns(
        MitigationWarning, match="on 300 held-out rows: no gain is"
    ) as found:
        model.fit(X, y, sensitive_features=sex)
    if sys.version_info >= (3, 12):
        assert found[0].filename == __file__
    # The history is that of the penalised network.
    assert (model.history_["penalised_loss"] > 1.1 * model.history_["loss"]).any()


def test_networks_that_are_not_compared(proxy_people, quick):
    X, y, sex = proxy_people
    options = {"max_iter": 3, "sensitive_features": None}
    model = quick(validation_fraction=None, **options)
    assert model.fit(X, y, sensitive_features=sex).comparison_ is None
    with pytest.raises(ValueError, match=r"must be a number in \(0, 1\), got None"):
        quick(validation_fraction=None, early_stopping=True).fit(
            X, y, sensitive_features=sex
        )
