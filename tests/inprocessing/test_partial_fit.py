"""Training of a network by parts of the rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier

from skfair._penalty._smooth_gap import RunningGap, smooth_gap
from skfair.groups import encode_groups
from skfair.inprocessing import DiffMCDPClassifier

CLASSES = ["no", "yes"]


@pytest.fixture
def people(proxy_people):
    X, y, sex = proxy_people
    return X, np.asarray(y), np.asarray(sex)


def parts_of(n_rows, n_parts, n_passes=1, seed=0):
    """Positions of the rows of each part, in a new order in each pass."""
    rng = np.random.default_rng(seed)
    for _ in range(n_passes):
        yield from np.array_split(rng.permutation(n_rows), n_parts)


def train(model, people, parts, **options):
    X, y, sex = people
    for part in parts:
        given = {"classes": CLASSES, "sensitive_features": sex[part]} | options
        model.partial_fit(X.iloc[part], y[part], **given)
    return model


def test_strength_0_is_the_plain_network(people):
    X, y, _ = people
    options = {"alpha": 0, "random_state": 0, "hidden_layer_sizes": (7, 3)}
    model = DiffMCDPClassifier(strength=0, **options)
    plain = MLPClassifier(shuffle=False, **options)
    for part in parts_of(len(y), 5, n_passes=4):
        model.partial_fit(X.iloc[part], y[part], classes=CLASSES)
        plain.partial_fit(X.iloc[part], y[part], classes=CLASSES)
    for ours, theirs in zip(model.coefs_, plain.coefs_, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mcdp", "abcc", "dp"])
def test_many_calls_reach_what_fit_reaches(people, make_people, quick, gap, objective):
    X, y, sex = people
    new, new_y, new_sex = make_people(2000, seed=1)
    new = new[["skill", "proxy"]]
    options = {"strength": 0.5 if objective == "mcdp" else 2, "objective": objective}
    options |= {"validation_fraction": None, "max_iter": 100}
    whole = quick(**options).fit(X, y, sensitive_features=sex)
    options["learning_rate_init"] = 0.004  # averages lag behind larger steps
    by_part = train(quick(**options), people, parts_of(len(y), 20, n_passes=12))
    plain = quick(strength=0, max_iter=50).fit(X, y)
    assert gap(plain, new, new_sex) > 0.3
    assert gap(whole, new, new_sex) < 0.15
    assert gap(by_part, new, new_sex) < 0.15
    assert by_part.score(new, new_y) > whole.score(new, new_y) - 0.03


def test_attributes(people, quick):
    X, y, _ = people
    model = quick(batch_size=64)
    first, second = list(parts_of(len(y), 2))
    train(model, people, [first])
    assert model.groups_ == ("F", "M")
    assert_array_equal(model.classes_, CLASSES)
    assert_array_equal(model.feature_names_in_, X.columns)
    assert model.comparison_ is None
    assert model.n_iter_ == round(300 / 64)
    train(model, people, [second], classes=None)
    assert model.n_iter_ == len(model.loss_curve_) == 10
    assert model.history_["step"].tolist() == [6, 7, 8, 9, 10]
    assert model.loss_curve_[5:] == model.history_["penalised_loss"].tolist()


def test_a_part_may_lack_groups_and_classes(people, quick):
    X, y, sex = people
    women = np.flatnonzero((sex == "F") & (y == "no"))
    men = np.flatnonzero((sex == "M") & (y == "yes"))
    model = train(quick(), people, [women])
    assert model.groups_ == ("F",)
    assert model.history_["gap"].isna().all()  # no label is 1: nothing to close
    train(model, people, [men], classes=None)
    assert model.groups_ == ("F", "M")
    train(model, people, [women, men])
    assert model.history_["gap"].notna().all()
    renamed = np.where(sex == "F", "Z", "A")
    train(model, people, [women], sensitive_features=renamed[women])
    assert model.groups_ == ("F", "M", "Z")
    nobody = encode_groups([None] * len(men), missing="drop")
    train(model, people, [men], sensitive_features=nobody)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.warns(UserWarning, match="no gap is penalised"):
        train(model, people, [men], sensitive_features=None)


def test_weights(people, quick):
    X, y, _ = people
    parts = list(parts_of(len(y), 6))
    expected = train(quick(), people, parts).predict_proba(X)
    for factor in (1e-6, 3.0):
        scaled = train(quick(), people, parts, sample_weight=np.full(100, factor))
        assert_allclose(scaled.predict_proba(X), expected, rtol=1e-6)
    model = quick()
    for part in parts:
        others = np.setdiff1d(np.arange(len(y)), part)
        rows = np.concatenate([part, others])
        weights = np.repeat([1.0, 0.0], [len(part), len(others)])
        train(model, people, [rows], sample_weight=weights)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-6)


def test_pickle_goes_on_where_it_was(people, quick):
    parts = list(parts_of(600, 8))
    options = {"dropout": 0.2, "batch_size": 32}
    expected = train(quick(**options), people, parts)
    model = train(quick(**options), people, parts[:3])
    model = train(pickle.loads(pickle.dumps(model)), people, parts[3:])
    for ours, theirs in zip(model.coefs_, expected.coefs_, strict=True):
        assert_array_equal(ours, theirs)
    assert not hasattr(clone(model), "coefs_")


def test_fit_before_and_after(people, quick):
    X, y, sex = people
    options = {"validation_fraction": None, "max_iter": 20}
    fitted = quick(**options).fit(X, y, sensitive_features=sex)
    expected = fitted.predict_proba(X)
    train(fitted, people, parts_of(len(y), 4))
    assert fitted.n_iter_ == len(fitted.loss_curve_) == 24
    assert fitted.history_["step"].tolist() == [24]
    assert np.abs(fitted.predict_proba(X) - expected).max() < 0.2
    again = fitted.fit(X, y, sensitive_features=sex)
    assert_array_equal(again.predict_proba(X), expected)
    assert again.n_iter_ == 20


def test_sparse_rows_and_the_type_of_the_first_part(people, quick):
    X, y, sex = people
    X = X.to_numpy(np.float32)
    model = quick()
    for part in parts_of(len(y), 4):
        given = {"classes": CLASSES, "sensitive_features": sex[part]}
        model.partial_fit(X[part], y[part], **given)
        model.partial_fit(csr_array(X[part].astype(float)), y[part], **given)
        model.set_params(temperature=20)
    assert model.coefs_[0].dtype == np.float32


@pytest.mark.slow
def test_gaps_are_those_within_strata(quick, gap):
    """Groups differ within strata only, in opposite directions."""
    rng = np.random.default_rng(0)
    sex, tall = rng.integers(0, 2, (2, 1000))
    X = rng.normal(size=(1000, 2))
    X[:, 1] += np.where(sex == tall, 1.0, -1.0)
    y = X.sum(axis=1) + rng.normal(size=1000) > 0
    found = {}
    for name, strata in (("within", tall), ("over all", None)):
        model = quick(learning_rate_init=0.004, strength=0.5)
        for part in parts_of(1000, 20, n_passes=8):
            given = {"classes": [False, True], "sensitive_features": sex[part]}
            if strata is not None:
                given["control_features"] = strata[part]
            model.partial_fit(X[part], y[part], **given)
        found[name] = max(gap(model, X[tall == t], sex[tall == t]) for t in (0, 1))
        assert sorted(model.strata_) == ([] if strata is None else [0, 1])
    assert found["within"] < 0.2
    assert found["over all"] > 0.35


def test_a_thousand_groups(quick):
    rng = np.random.default_rng(0)
    model = quick()
    for _ in range(3):
        X, groups = rng.normal(size=(500, 2)), rng.integers(0, 1000, 500)
        model.partial_fit(X, X[:, 0] > 0, classes=[0, 1], sensitive_features=groups)
    assert 500 < len(model.groups_) < 1000
    assert np.isfinite(model.history_["gap"]).all()


def test_it_asks_for_the_groups(quick):
    request = quick().get_metadata_routing().partial_fit.requests
    assert request["sensitive_features"] is True
    assert not request["classes"]


def test_errors(people, quick):
    X, y, sex = people
    given = {"sensitive_features": sex}
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        quick().partial_fit(X, y, **given)
    for classes in (["no"], ["no", "yes", "maybe"]):
        with pytest.raises(ValueError, match="classes must be two"):
            quick().partial_fit(X, y, classes=classes, **given)
    with pytest.raises(ValueError, match=r"y has the classes \['no'\]"):
        quick().partial_fit(X, y, classes=["nein", "yes"], **given)
    with pytest.raises(ValueError, match="early_stopping=True needs rows"):
        quick(early_stopping=True).partial_fit(X, y, classes=CLASSES, **given)
    with pytest.raises(ValueError, match="zero in every row"):
        train(quick(), people, [np.arange(9)], sample_weight=np.zeros(9))
    model = quick().partial_fit(X, y, classes=CLASSES, **given)
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, y, classes=["no", "nein"], **given)
    with pytest.raises(ValueError, match="hidden_layer_sizes must be"):
        model.set_params(hidden_layer_sizes=3).partial_fit(X, y, **given)


# --- the running gap


def test_the_first_batch_is_compared_as_it_is(coded_scores):
    scores, codes, weights = coded_scores(60, 3)
    for objective in ("mcdp", "abcc", "dp"):
        found = RunningGap(20).update(scores, codes, weights, objective)
        expected = smooth_gap(scores, codes, weights, 20, objective, sharpness=100)
        assert_allclose(found.value, expected.value)
        assert_allclose(found.gradient, expected.gradient)
        assert found.pair == expected.pair


def test_averages_by_definition_and_the_gradient_of_the_batch():
    rng = np.random.default_rng(0)
    sizes, running = [(40, 10), (30, 0), (700, 20), (5, 40)], RunningGap(10)
    cdfs, n_rows = np.zeros((2, 65)), np.zeros(2)
    thresholds = np.linspace(0, 1, 65)
    for size in sizes:
        codes = np.repeat([0, 1], size)
        scores = rng.beta(2 + codes, 3)
        found = running.update(scores, codes, None, "dp")
        for group in np.unique(codes):
            of_group = scores[codes == group]
            below = 1 / (1 + np.exp(-10 * (thresholds[:, None] - of_group)))
            share = len(of_group) / (len(of_group) + n_rows[group])
            cdfs[group] = (1 - share) * cdfs[group] + share * below.mean(axis=1)
            n_rows[group] = min(n_rows[group] + len(of_group), 200)
        assert_allclose(running.cdfs, cdfs)
        signs = np.where(codes == found.pair[0], -1, 1)
        assert_allclose(found.gradient, signs / np.array(size)[codes])

    def mean_gap(scores):
        """Gap of the averages where the last batch weighs all."""
        return smooth_gap(scores, codes, None, 10, "abcc").value

    fresh = RunningGap(10).update(scores, codes, None, "abcc")
    assert_allclose(fresh.gradient, approx_fprime(scores, mean_gap), atol=1e-5)


def test_groups_that_were_not_seen_yet_are_no_part_of_it():
    rng = np.random.default_rng(0)
    scores, codes = rng.uniform(0.6, 0.9, 50), np.repeat([0, 2], 25)
    found = RunningGap(50).update(scores, codes, None, "mcdp")
    expected = smooth_gap(scores, codes, None, 50, sharpness=100)
    assert_allclose(found.value, expected.value)
    assert_allclose(found.gradient, expected.gradient)
    assert found.pair == expected.pair
    assert set(found.pair) == {0, 2}


def test_batches_of_one_group_follow_the_average_of_the_other():
    running = RunningGap(50)
    first = running.update(np.full(9, 0.2), np.zeros(9, int), None, "mcdp")
    assert first.value == 0
    assert not first.gradient.any()
    second = running.update(np.full(9, 0.6), np.ones(9, int), None, "mcdp")
    assert second.value > 0.9
    assert (second.gradient > 0).all()  # lower scores of group 1 close the gap
    assert not running.update(
        np.full(2, 0.6), np.full(2, -1), None, "dp"
    ).gradient.any()
