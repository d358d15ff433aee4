"""A metric of all held-out rows: against folds by hand, routing, repeats, errors."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
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
from skfair.statistics import GroupedScores

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
    found = cross_val_fairness(
        metric, model, X, y, sensitive_features=sex, cv=StratifiedKFold(4), **FEW
    )
    parts = [
        GroupedScores.from_scores(scores, sensitive_features=sex[test])
        for test, scores in held_out(model, X, y, folds)
    ]
    assert found.value == metric(None, sum(parts[1:], parts[0]))
    assert found.fold_values.tolist() == [metric(None, part) for part in parts]


@pytest.mark.parametrize("metric", [mcdp, equalized_odds_difference, max_gap])
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
    found = cross_val_fairness(metric, model, X, y, sensitive_features=sex, **FEW)
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
@pytest.mark.parametrize("repeats", [1, 2])
# A fold may lack all of the five rows.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_tiny_group_hides_no_difference_of_others(repeats):
    """Scores of two groups differ; those of five rows do so by chance."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c"], [300, 300, 5])
    X = rng.normal(size=(605, 1)) + 0.6 * (groups == "b")[:, np.newaxis]
    y = (rng.random(605) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    given = {"n_resamples": 9, "n_permutations": 199, "random_state": 0}
    found = cross_val_fairness(
        mcdp,
        LogisticRegression(),
        X,
        y,
        sensitive_features=groups,
        cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=repeats, random_state=0),
        **given,
    )
    assert found.pvalue == 0.005
    assert found.null_mean > 0.3  # of the five rows


def test_interval_reaches_parity_where_noise_makes_the_value(recorder):
    """Five groups of 24 rows, of one distribution: the true disparity is 0."""
    groups, y = np.arange(120) % 5, np.arange(120) // 5 % 2
    for seed in range(2):
        X = np.random.default_rng(seed).random((120, 1))
        found = cross_val_fairness(
            mcdp,
            recorder,
            X,
            y,
            sensitive_features=groups,
            n_resamples=49,
            n_permutations=49,
            random_state=0,
        )
        assert found.lower == 0
        assert found.corrected < found.value <= found.upper


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.parametrize(
    "metric", [mcdp, partial(demographic_parity_difference, threshold=0.5)]
)
def test_interval_covers_the_disparity_of_new_rows(metric, n_groups, shift):
    shares = dict.fromkeys(range(n_groups), 1 / n_groups)
    covered = []
    for seed in range(60):
        X, y = make_biased_classification(
            10_200,
            group_sizes={"group": shares},
            score_shifts={"group": {1: shift}},
            random_state=seed,
        )
        groups, model = np.asarray(X.pop("group")), LogisticRegression()
        found = cross_val_fairness(
            metric,
            model,
            X[:200],
            y[:200],
            sensitive_features=groups[:200],
            n_resamples=99,
            n_permutations=99,
            random_state=0,
        )
        scores = model.fit(X[:200], y[:200]).predict_proba(X[200:])[:, 1]
        truth = metric(None, scores, sensitive_features=groups[200:])
        covered.append(found.lower <= truth <= found.upper)
    # If 95 % are covered, 53 of 60 or more are with a probability of 99 %.
    assert np.sum(covered) >= 53


def test_strata_and_weights(rows):
    X, y, sex = rows
    strata = np.arange(200) % 3
    weights = np.arange(200) % 4
    folds = [(np.arange(100), np.arange(100, 200))]
    found = cross_val_fairness(
        mcdp,
        LogisticRegression(),
        X,
        y,
        sensitive_features=sex,
        cv=folds,
        sample_weight=weights,
        within=strata,
        **FEW,
    )
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


def test_rows_held_out_repeatedly_count_repeatedly(rows):
    X, y, sex = rows
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    model = LogisticRegression()
    found = cross_val_fairness(
        mcdp, model, X, y, sensitive_features=sex, cv=folds, **FEW
    )
    parts = list(held_out(model, X, y, folds.split(X, y)))
    tests, scores = map(np.concatenate, zip(*parts, strict=True))
    assert found.value == mcdp(None, scores, sensitive_features=sex[tests])
    assert (found.n_splits, found.n_rows) == (6, 200)
    assert found.group_sizes == {"F": (sex == "F").sum(), "M": (sex == "M").sum()}


def test_rows_that_are_never_held_out_do_not_count(rows):
    X, y, sex = rows
    folds = ShuffleSplit(2, test_size=30, random_state=0)
    found = cross_val_fairness(
        mcdp, LogisticRegression(), X, y, sensitive_features=sex, cv=folds, **FEW
    )
    tests = np.unique(np.concatenate([test for _, test in folds.split(X)]))
    assert found.n_rows == len(tests) == sum(found.group_sizes.values())


def test_masks_as_splits(rows):
    X, y, sex = rows
    first = np.arange(200) < 80
    positions = np.flatnonzero(first), np.flatnonzero(~first)
    values = [
        cross_val_fairness(
            mcdp, LogisticRegression(), X, y, sensitive_features=sex, cv=[split], **FEW
        ).value
        for split in ((first, ~first), positions)
    ]
    assert values[0] == values[1]


# --- folds


def test_no_fold_with_two_groups(rows):
    X, y, sex = rows
    order = np.argsort(sex, kind="stable")
    X, y, sex = X.iloc[order], y[order], sex[order]
    first = np.flatnonzero(sex == sex[0])
    rest = np.flatnonzero(sex != sex[0])
    halves = [one[: len(one) // 2] for one in (first, rest)]
    folds = [(halves[1 - i], halves[i]) for i in range(2)]
    with pytest.warns(UndefinedMetricWarning, match="undefined for 2 of 2 folds alone"):
        result = cross_val_fairness(
            mcdp, LogisticRegression(), X, y, sensitive_features=sex, cv=folds, **FEW
        )
    assert np.isnan(result.fold_values).all()
    tests, scores = [], []
    for train, test in folds:
        model = LogisticRegression().fit(X.iloc[train], y[train])
        tests.extend(test)
        scores.extend(model.predict_proba(X.iloc[test])[:, 1])
    assert result.value == mcdp(None, scores, sensitive_features=sex[tests])


def test_group_absent_from_a_fold(rows):
    X, y, sex = rows
    order = np.argsort(sex, kind="stable")
    X, y, sex = X.iloc[order], y[order], sex[order]
    with pytest.warns(UndefinedMetricWarning, match="undefined for 4 of 5 folds alone"):
        found = cross_val_fairness(
            mcdp,
            DummyClassifier(),
            X,
            y,
            sensitive_features=sex,
            cv=KFold(5),
            **FEW,
        )
    assert np.isnan(found.fold_values).sum() == 4
    scores = cross_val_predict(
        DummyClassifier(), X, y, cv=KFold(5), method="predict_proba"
    )[:, 1]
    assert found.value == mcdp(None, scores, sensitive_features=sex)


def test_a_number_of_folds_keeps_groups_together_in_all(rows):
    X, y, sex = rows
    order = np.argsort(sex, kind="stable")
    found = cross_val_fairness(
        mcdp,
        LogisticRegression(),
        X.iloc[order],
        y[order],
        sensitive_features=sex[order],
        cv=4,
        **FEW,
    )
    assert np.isfinite(found.fold_values).all()
    assert found.n_splits == len(found.fold_values) == 4


def test_metric_undefined_for_all(rows):
    X, y, sex = rows
    groups = encode_groups(sex, labels=["F", "M", "X"])
    with pytest.warns(UndefinedMetricWarning, match="'X' has 0 rows"):
        found = cross_val_fairness(
            mcdp, DummyClassifier(), X, y, sensitive_features=groups, cv=2, **FEW
        )
    numbers = found.to_frame()[["value", "lower", "upper", "pvalue", "corrected"]]
    assert numbers.isna().all(axis=None)
    assert found.group_sizes["X"] == 0


def test_groups_for_the_splitter(rows):
    X, y, sex = rows
    people = np.arange(200) // 4
    found = cross_val_fairness(
        mcdp,
        LogisticRegression(),
        X,
        y,
        sensitive_features=sex,
        groups=people,
        cv=GroupKFold(4),
        **FEW,
    )
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


@pytest.mark.parametrize("model", [Ridge(), LinearSVC()])
def test_scores_that_are_no_probabilities(rows, model):
    X, y, sex = rows
    y = y if isinstance(model, LinearSVC) else 100 * X.to_numpy()[:, 1]
    metric = partial(mcdp, scale="rank", epsilon=0.02)
    result = cross_val_fairness(metric, model, X, y, sensitive_features=sex, **FEW)
    assert 0 < result.value < 1
    assert result.n_rows == 200
    with pytest.raises(
        ValueError, match=rf"{type(model).__name__} has no predict_proba"
    ):
        cross_val_fairness(mcdp, model, X, y, sensitive_features=sex, **FEW)


def test_positive_label_that_a_user_sets(rows):
    X, y, sex = rows
    y = np.where(y == 1, "yes", "no")
    run = partial(cross_val_fairness, X=X, y=y, sensitive_features=sex, **FEW)
    plain, other = (
        run(metric, LogisticRegression()).value
        for metric in (
            partial(max_gap, quality="selection_rate"),
            partial(max_gap, quality="selection_rate", pos_label="no"),
        )
    )
    assert plain == pytest.approx(other)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes")])
def test_decisions_at_a_threshold_of_probabilities(rows, labels):
    X, y, sex = rows
    y = np.array(labels)[y]
    metric = partial(demographic_parity_difference, threshold=0.4)
    found = cross_val_fairness(
        metric, LogisticRegression(), X, y, sensitive_features=sex, **FEW
    )
    folds = GroupStratifiedKFold(5).split(X, y, sex)
    parts = list(held_out(LogisticRegression(), X, y, folds))
    tests, scores = map(np.concatenate, zip(*parts, strict=True))
    chosen = pd.Series(scores >= 0.4).groupby(sex[tests]).mean()
    assert found.value == pytest.approx(chosen.max() - chosen.min())


# --- what is passed on


def test_labels_beside_features_are_passed_to_those_who_ask(rows, recorder):
    _, y, sex = rows
    X = np.random.default_rng(0).random((200, 1))
    cross_val_fairness(
        mcdp,
        recorder,
        X,
        y,
        sensitive_features=sex,
        cv=GroupStratifiedKFold(2),
        params={"sample_weight": y + 1.0},
        **FEW,
    )
    assert [kind for kind, *_ in recorder.seen] == ["fit", "predict"] * 2
    for kind, n_rows, weights, groups in recorder.seen:
        assert len(groups) == n_rows
        assert (weights is None) == (kind == "predict")
        assert weights is None or len(weights) == n_rows


def test_columns_are_not_passed_on(rows, recorder):
    _, y, sex = rows
    X = pd.DataFrame({"score": np.linspace(0, 1, 200), "sex": sex})
    cross_val_fairness(mcdp, recorder, X, y, sensitive_features="sex", cv=2, **FEW)
    assert all(groups is None for *_, groups in recorder.seen)


@pytest.mark.parametrize("asks", [False, True])
def test_metadata_is_routed(rows, recorder, asks):
    _, y, sex = rows
    X, weights = np.random.default_rng(0).random((200, 1)), y + 1
    with sklearn.config_context(enable_metadata_routing=True):
        model = recorder.set_fit_request(sensitive_features=asks, sample_weight=asks)
        model.set_predict_proba_request(sensitive_features=asks)
        found = cross_val_fairness(
            mcdp,
            model,
            X,
            y,
            sensitive_features=sex,
            sample_weight=weights,
            cv=GroupStratifiedKFold(2),
            **FEW,
        )
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
    X, y, sex = rows
    run = partial(cross_val_fairness, mcdp, LogisticRegression(), X, y, **FEW)
    found = run(sensitive_features=sex)
    assert pickle.loads(pickle.dumps(found)).interval == found.interval
    pd.testing.assert_frame_equal(
        run(sensitive_features=sex).to_frame(), found.to_frame()
    )
    assert repr(found).startswith(f"CrossValFairnessResult(value={found.value:.3g}, ")
    assert "n_rows=200" in repr(found)
    assert found.to_frame().shape == (1, 9)
    assert sum(found.group_sizes.values()) == 200


@pytest.mark.slow
def test_number_of_processes_does_not_matter(rows):
    X, y, sex = rows
    one, two = (
        cross_val_fairness(
            mcdp, LogisticRegression(), X, y, sensitive_features=sex, n_jobs=n, **FEW
        ).to_frame()
        for n in (1, 2)
    )
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
    X, y, sex = rows
    model = DummyClassifier(strategy="constant", constant=1)
    with pytest.raises(ValueError, match=message):
        cross_val_fairness(mcdp, model, X, y, sensitive_features=sex, **FEW, **options)


def test_errors_of_a_fold_are_not_hidden(rows):
    X, y, sex = rows
    with pytest.raises(ValueError, match=r"y must have all classes in the training"):
        cross_val_fairness(
            mcdp,
            DummyClassifier(),
            X,
            y,
            sensitive_features=sex,
            cv=[(np.arange(100), np.arange(9)), (np.flatnonzero(y), np.arange(9))],
        )
    with pytest.raises(ValueError, match="Input X contains NaN"):
        cross_val_fairness(
            mcdp, LogisticRegression(), X * np.nan, y, sensitive_features=sex
        )


@pytest.mark.slow
def test_level_with_models_that_do_not_know_the_groups():
    # Folds are stratified by group, which permutations ignore.
    generator, rejected = np.random.default_rng(0), 0
    for _ in range(300):
        X = generator.normal(size=(120, 2))
        y = (X[:, 0] + generator.normal(size=120) > 0).astype(int)
        sex = generator.random(120) < 0.3
        found = cross_val_fairness(
            mcdp,
            LogisticRegression(),
            X,
            y,
            sensitive_features=sex,
            n_resamples=1,
            n_permutations=39,
            random_state=0,
        )
        rejected += found.pvalue <= 0.05
    assert 0.02 <= rejected / 300 <= 0.09


# --- strata


@pytest.mark.slow
@pytest.mark.parametrize("metric", [mcdp, equalized_odds_difference, dcp])
def test_strata(rows, metric):
    X, y, sex = rows
    strata = np.arange(len(y)) % 2
    model, cv = LogisticRegression(), StratifiedKFold(3)
    method = "predict_proba" if metric is mcdp else "predict"
    response = np.empty(len(y))
    for test, one in held_out(model, X, y, cv.split(X, y), method):
        response[test] = one
    for control in (strata, "stratum", lambda X: X["stratum"]):
        found = cross_val_fairness(
            metric,
            make_pipeline(Columns(list(X.columns)), model),
            X.assign(stratum=strata),
            y,
            sensitive_features=sex,
            control_features=control,
            cv=cv,
            **FEW,
        )
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


class Columns(BaseEstimator):
    """Select columns by name."""

    def __init__(self, names):
        self.names = names

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[self.names]

    def __sklearn_is_fitted__(self):
        return True


def test_true_labels_are_strata_and_are_routed(rows):
    X, y, sex = rows
    positives = encode_groups(np.where(y == 1, 1, None), missing="drop")
    found = cross_val_fairness(
        mcdp,
        LogisticRegression(),
        X,
        y,
        sensitive_features=sex,
        control_features=positives,
        cv=StratifiedKFold(3),
        **FEW,
    )
    expected = cross_val_fairness(
        mcdp,
        LogisticRegression(),
        X,
        y,
        sensitive_features=encode_groups(np.where(y == 1, sex, None), missing="drop"),
        cv=StratifiedKFold(3),
        **FEW,
    )
    assert found.value == expected.value
    np.testing.assert_array_equal(found.fold_values, expected.fold_values)
