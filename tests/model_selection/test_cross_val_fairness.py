"""A metric of all held-out rows: against folds by hand, routing, repeats, errors."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skfair.datasets import make_biased_classification
from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    bootstrap_interval,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
    permutation_test,
)
from skfair.model_selection import GroupStratifiedKFold, cross_val_fairness
from skfair.statistics import CountTable

FEW = {"n_resamples": 9, "n_permutations": 9, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    """Features, labels and sex."""
    X, y = make_biased_classification(
        200,
        n_features=3,
        group_sizes={"sex": {"F": 0.4, "M": 0.6}},
        base_rates={"sex": {"F": 0.3, "M": 0.6}},
        random_state=0,
    )
    return X, y, np.asarray(X.pop("sex"))


def measure(rows, metric=mcdp, model=None, **options):
    """Cross-validate with few resamples and permutations."""
    X, y, sex = rows
    options = {"sensitive_features": sex, **FEW, **options}
    return cross_val_fairness(metric, model or LogisticRegression(), X, y, **options)


class Recorder(ClassifierMixin, BaseEstimator):
    """Classifier that scores by its only feature and records what it is given."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None, sensitive_features=None):
        self.classes_ = np.unique(y)
        self.seen.append(("fit", len(X), sample_weight, sensitive_features))
        return self

    def predict_proba(self, X, sensitive_features=None):
        self.seen.append(("predict", len(X), None, sensitive_features))
        scores = np.asarray(X)[:, 0]
        return np.column_stack([1 - scores, scores])


@pytest.fixture
def recorder():
    Recorder.seen.clear()
    return Recorder()


def held_out(model, X, y, folds, method="predict_proba"):
    """Yield test rows and responses of each fold."""
    for train, test in folds:
        fitted = clone(model).fit(X.iloc[train], y[train])
        response = getattr(fitted, method)(X.iloc[test])
        yield test, response[:, 1] if response.ndim == 2 else response


# --- the value: statistics of folds, summed


@pytest.mark.parametrize(
    "metric",
    [
        mcdp,
        *(
            pytest.param(metric, marks=pytest.mark.slow)
            for metric in (madd, abcc, partial(mcdp, epsilon=0.1))
        ),
    ],
)
def test_scores_of_folds_summed_by_hand(rows, metric):
    X, y, sex = rows
    model, folds = LogisticRegression(), list(StratifiedKFold(4).split(X, y))
    found = measure(rows, metric, cv=StratifiedKFold(4))
    parts = [
        CountTable.from_rows(None, scores, sensitive_features=sex[test])
        for test, scores in held_out(model, X, y, folds)
    ]
    assert found.value == metric(None, sum(parts[1:], parts[0]))
    assert found.fold_values.tolist() == [metric(None, part) for part in parts]


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param(mcdp, marks=pytest.mark.slow),
        equalized_odds_difference,
        pytest.param(max_gap, marks=pytest.mark.slow),
    ],
)
@pytest.mark.promise("`cross_val_fairness` tests the held-out rows")
def test_interval_and_test_are_those_of_the_held_out_rows(rows, metric):
    X, y, sex = rows
    metric = partial(metric, quality="accuracy") if metric is max_gap else metric
    method = "predict_proba" if metric is mcdp else "predict"
    model, responses = LogisticRegression(), np.zeros(len(y))
    for test, response in held_out(
        model, X, y, GroupStratifiedKFold(5).split(X, y, sex), method
    ):
        responses[test] = response
    found = measure(rows, metric)
    given = {"sensitive_features": sex, "random_state": 0}
    basic = bootstrap_interval(metric, y, responses, n_resamples=9, **given)
    test = permutation_test(metric, y, responses, n_permutations=9, **given)
    noise = np.quantile(test.null_distribution, 0.975)
    spread = basic.distribution.mean() - np.quantile(basic.distribution, 0.025)
    largest = max(found.value, basic.distribution.max())
    assert found.lower == pytest.approx(max(0, min(basic.lower, found.value - noise)))
    assert found.upper == pytest.approx(min(found.value + spread, largest))
    assert (found.pvalue, found.null_mean) == (test.pvalue, test.null_mean)
    draws = permutation_test(metric, y, responses, n_permutations=40, **given)
    noise = np.mean(draws.null_distribution**2)
    expected = np.sqrt(max(0, test.value**2 - noise))
    assert found.corrected == pytest.approx(expected)


@pytest.mark.slow
def test_interval_reaches_parity_where_noise_makes_the_value(recorder):
    """Five groups of 24 rows, of one distribution: the true disparity is 0."""
    groups, y = np.arange(120) % 5, np.arange(120) // 5 % 2
    for seed in range(2):
        X = np.random.default_rng(seed).random((120, 1))
        more = {"n_resamples": 49, "n_permutations": 49}
        found = measure((X, y, groups), model=recorder, **more)
        assert found.lower == 0
        assert found.corrected < found.value <= found.upper


def test_strata_and_weights(rows):
    X, y, sex = rows
    strata = np.arange(200) % 3
    weights = np.arange(200) % 4
    folds = [(np.arange(100), np.arange(100, 200))]
    found = measure(rows, cv=folds, sample_weight=weights, within=strata)
    ((test, scores),) = held_out(LogisticRegression(), X, y, folds)
    expected = permutation_test(
        mcdp,
        None,
        scores,
        sensitive_features=sex[test],
        sample_weight=weights[test],
        within=strata[test],
        n_permutations=9,
        random_state=0,
    )
    assert (found.value, found.pvalue) == (expected.value, expected.pvalue)
    assert found.null_mean == expected.null_mean
    assert found.n_rows == np.count_nonzero(weights[test])


# --- rows held out several times, or never


@pytest.mark.slow
def test_rows_held_out_repeatedly_count_repeatedly(rows):
    X, y, sex = rows
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    model = LogisticRegression()
    found = measure(rows, cv=folds)
    parts = list(held_out(model, X, y, folds.split(X, y)))
    tests, scores = map(np.concatenate, zip(*parts, strict=True))
    assert found.value == mcdp(None, scores, sensitive_features=sex[tests])
    assert (found.n_splits, found.n_rows) == (6, 200)
    assert found.group_sizes == {"F": (sex == "F").sum(), "M": (sex == "M").sum()}


def test_rows_that_are_never_held_out_do_not_count(rows):
    folds = ShuffleSplit(2, test_size=30, random_state=0)
    found = measure(rows, cv=folds)
    tests = np.unique(np.concatenate([test for _, test in folds.split(rows[0])]))
    assert found.n_rows == len(tests) == sum(found.group_sizes.values())


@pytest.mark.slow
def test_masks_as_splits(rows):
    first = np.arange(200) < 80
    positions = np.flatnonzero(first), np.flatnonzero(~first)
    of_masks, of_positions = (
        measure(rows, cv=[split]) for split in ((first, ~first), positions)
    )
    assert of_masks.value == of_positions.value


# --- folds


def test_group_absent_from_a_fold(rows):
    X, y, sex = rows
    order = np.argsort(sex, kind="stable")
    X, y, sex = X.iloc[order], y[order], sex[order]
    with pytest.warns(UndefinedMetricWarning, match="undefined for 4 of 5 folds alone"):
        found = measure((X, y, sex), model=DummyClassifier(), cv=KFold(5))
    by_group = measure((X, y, sex), model=DummyClassifier(), cv=4)
    assert np.isfinite(by_group.fold_values).all()
    assert by_group.n_splits == len(by_group.fold_values) == 4
    assert np.isnan(found.fold_values).sum() == 4
    scores = cross_val_predict(
        DummyClassifier(), X, y, cv=KFold(5), method="predict_proba"
    )[:, 1]
    assert found.value == mcdp(None, scores, sensitive_features=sex)


def test_metric_undefined_for_all(rows):
    X, y, sex = rows
    groups = encode_groups(sex, labels=["F", "M", "X"])
    with pytest.warns(UndefinedMetricWarning, match="'X' has 0 rows"):
        found = measure((X, y, groups), model=DummyClassifier(), cv=2)
    numbers = found.to_frame()[["value", "lower", "upper", "pvalue", "corrected"]]
    assert numbers.isna().all(axis=None)
    assert found.group_sizes["X"] == 0


@pytest.mark.slow
def test_groups_for_the_splitter(rows):
    X, y, sex = rows
    people = np.arange(200) // 4
    found = measure(rows, groups=people, cv=GroupKFold(4))
    folds = list(GroupKFold(4).split(X, y, people))
    tests, scores = map(
        np.concatenate, zip(*held_out(LogisticRegression(), X, y, folds), strict=True)
    )
    assert found.value == mcdp(None, scores, sensitive_features=sex[tests])


# --- groups, containers, classifiers


@pytest.mark.slow
def test_ways_to_give_the_groups(rows):
    X, y, sex = rows
    table = X.assign(sex=(sex == "M") + 0.0)
    table["race"] = np.arange(200) % 3
    model = LogisticRegression()
    few = {"cv": 2, "n_resamples": 1, "n_permutations": 1}
    by_column = partial(cross_val_fairness, mcdp, model, table, y, **few)
    expected = by_column(sensitive_features="sex").value
    for given in (
        3,
        ["sex"],
        lambda X: X["sex"],
        sex,
        list(sex),
        pd.Series(sex, index=np.arange(200) + 5),
        encode_groups(sex),
        pl.Series(sex),
    ):
        assert by_column(sensitive_features=given).value == expected
    several = by_column(sensitive_features=["sex", "race"])
    assert several.value == by_column(sensitive_features=table[["sex", "race"]]).value
    assert len(several.group_sizes) == 6


@pytest.mark.slow
@pytest.mark.parametrize("metric", [max_gap, dcp, mcdp])
def test_several_classes_where_the_metric_takes_them(rows, metric):
    X, _, sex = rows
    y = np.array(["x", "y", "z"])[np.arange(200) % 3]
    run = partial(cross_val_fairness, metric, DummyClassifier(), X, y, **FEW)
    if metric is max_gap:
        with pytest.raises(ValueError, match="y_true must be binary"):
            run(sensitive_features=sex)
    else:  # the folds differ a little in their classes
        assert 0 <= run(sensitive_features=sex).value < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("model", [Ridge(), LinearSVC()])
def test_scores_that_are_no_probabilities(rows, model):
    X, y, sex = rows
    y = y if isinstance(model, LinearSVC) else 100 * X.to_numpy()[:, 1]
    metric = partial(mcdp, scale="rank", epsilon=0.02)
    result = measure((X, y, sex), metric, model)
    assert 0 < result.value < 1
    assert result.n_rows == 200
    with pytest.raises(
        ValueError, match=rf"{type(model).__name__} has no predict_proba"
    ):
        measure((X, y, sex), model=model)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes")])
def test_decisions_at_a_threshold_of_probabilities(rows, labels):
    X, y, sex = rows
    y = np.array(labels)[y]
    metric = partial(demographic_parity_difference, threshold=0.4)
    found = measure((X, y, sex), metric)
    folds = GroupStratifiedKFold(5).split(X, y, sex)
    parts = list(held_out(LogisticRegression(), X, y, folds))
    tests, scores = map(np.concatenate, zip(*parts, strict=True))
    chosen = pd.Series(scores >= 0.4).groupby(sex[tests]).mean()
    assert found.value == pytest.approx(chosen.max() - chosen.min())


# --- what is passed on


def test_labels_beside_features_are_passed_to_those_who_ask(rows, recorder):
    _, y, sex = rows
    X = np.random.default_rng(0).random((200, 1))
    options = {"cv": GroupStratifiedKFold(2), "params": {"sample_weight": y + 1.0}}
    measure((X, y, sex), model=recorder, **options)
    assert [kind for kind, *_ in recorder.seen] == ["fit", "predict"] * 2
    for kind, n_rows, weights, groups in recorder.seen:
        assert len(groups) == n_rows
        assert (weights is None) == (kind == "predict")
        assert weights is None or len(weights) == n_rows


def test_columns_are_not_passed_on(rows, recorder):
    _, y, sex = rows
    X = pd.DataFrame({"score": np.linspace(0, 1, 200), "sex": sex})
    measure((X, y, "sex"), model=recorder, cv=2)
    assert all(groups is None for *_, groups in recorder.seen)


@pytest.mark.parametrize("asks", [False, True])
def test_metadata_is_routed(rows, recorder, asks):
    _, y, sex = rows
    X, weights = np.random.default_rng(0).random((200, 1)), y + 1
    with sklearn.config_context(enable_metadata_routing=True):
        model = recorder.set_fit_request(sensitive_features=asks, sample_weight=asks)
        model.set_predict_proba_request(sensitive_features=asks)
        options = {"sample_weight": weights, "cv": GroupStratifiedKFold(2)}
        found = measure((X, y, sex), model=model, **options)
    expected = mcdp(None, X[:, 0], sensitive_features=sex, sample_weight=weights)
    assert found.value == expected
    for kind, _, given_weights, groups in recorder.seen:
        assert (groups is not None) == asks
        assert (given_weights is not None) == (asks and kind == "fit")


def test_routing_needs_a_decision_and_known_names(rows):
    X, y, sex = rows
    run = partial(cross_val_fairness, mcdp, LogisticRegression(), X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            run(sensitive_features=sex, sample_weight=y + 1, **FEW)
        with pytest.raises(TypeError, match=r"got unexpected argument.*'people'"):
            run(sensitive_features=sex, params={"people": sex}, **FEW)
        with pytest.raises(ValueError, match=r"groups must be None .* params="):
            run(sensitive_features=sex, groups=sex, cv=GroupKFold(2), **FEW)
        by_params = run(
            sensitive_features=sex,
            params={"groups": np.arange(200) // 4},
            cv=GroupKFold(2),
            **FEW,
        )
    assert by_params.n_splits == 2


# --- results and errors


def test_results_repeat_pickle_and_print(rows):
    found = measure(rows)
    assert pickle.loads(pickle.dumps(found)).interval == found.interval
    pd.testing.assert_frame_equal(measure(rows).to_frame(), found.to_frame())
    assert repr(found).startswith(f"CrossValFairnessResult(value={found.value:.3g}, ")
    assert "n_rows=200" in repr(found)
    assert found.to_frame().shape == (1, 9)
    assert sum(found.group_sizes.values()) == 200


@pytest.mark.slow
def test_number_of_processes_does_not_matter(rows):
    one, two = (measure(rows, n_jobs=n).to_frame() for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
        ({"cv": iter([])}, r"cv must have .* one split, got none.*pass list\(splits\)"),
        ({"groups": [0] * 200}, r"groups need a splitter .* got cv=5"),
        ({"sensitive_features": None}, "sensitive_features is None"),
        ({"sensitive_features": "gender"}, "X has no column 'gender'"),
        ({"sensitive_features": np.arange(2)}, "sensitive_features has 2 rows"),
        ({"sample_weight": [1]}, r"sample_weight must have shape \(200,\)"),
        ({"within": "y"}, "within must be 'auto', None or an array"),
        ({"confidence_level": 95}, "confidence_level must be a number in"),
        ({"n_resamples": 0}, "n_resamples must be an integer of at least 1"),
        ({"n_permutations": 0.5}, "n_permutations must be an integer"),
        ({"y": [0, 1]}, "inconsistent numbers of samples"),
    ],
)
def test_wrong_arguments_are_named_before_any_fit(rows, recorder, wrong, message):
    X, y, sex = rows
    arguments = {"X": X, "y": y, "sensitive_features": sex, **wrong}
    with pytest.raises(ValueError, match=message):
        cross_val_fairness(mcdp, recorder, **arguments)
    assert not recorder.seen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": np.zeros(200)}, "sample_weight is zero for every row that"),
        ({"cv": [(np.arange(200), [])]}, "cv holds out no row, expected at least one"),
    ],
)
def test_no_row_that_counts(rows, options, message):
    model = DummyClassifier(strategy="constant", constant=1)
    with pytest.raises(ValueError, match=message):
        measure(rows, model=model, **options)


def test_errors_of_a_fold_are_not_hidden(rows):
    X, y, sex = rows
    folds = [(np.arange(100), np.arange(9)), (np.flatnonzero(y), np.arange(9))]
    with pytest.raises(ValueError, match=r"y must have all classes in the training"):
        measure(rows, model=DummyClassifier(), cv=folds)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        measure((X * np.nan, y, sex))


@pytest.mark.slow
def test_level_with_models_that_do_not_know_the_groups():
    # Folds are stratified by group, which permutations ignore.
    generator, rejected = np.random.default_rng(0), 0
    for _ in range(80):
        X = generator.normal(size=(120, 2))
        y = (X[:, 0] + generator.normal(size=120) > 0).astype(int)
        sex = generator.random(120) < 0.3
        found = measure((X, y, sex), n_resamples=1, n_permutations=19)
        rejected += found.pvalue <= 0.05
    assert 1 <= rejected <= 8  # 4, and two standard errors


# --- strata


@pytest.mark.slow
@pytest.mark.parametrize("metric", [mcdp, equalized_odds_difference, dcp])
def test_strata(rows, metric):
    X, y, sex = rows
    strata = np.arange(len(y)) % 2
    model, cv = LogisticRegression(), StratifiedKFold(3)
    method = "predict_proba" if metric is mcdp else "predict"
    response = np.empty(len(y))
    columns = make_column_transformer(("passthrough", [*X.columns]))
    for test, one in held_out(model, X, y, cv.split(X, y), method):
        response[test] = one
    for control in (strata, "stratum", lambda X: X["stratum"]):
        table = X.assign(stratum=strata), y, sex
        pipeline = make_pipeline(columns, model)
        found = measure(table, metric, pipeline, control_features=control, cv=cv)
        expected = permutation_test(
            metric,
            y,
            response,
            sensitive_features=sex,
            control_features=strata,
            n_permutations=9,
            random_state=0,
        )
        assert found.value == expected.value
        assert found.pvalue == expected.pvalue
        assert found.corrected <= found.value
