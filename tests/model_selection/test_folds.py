import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)

from skfair.datasets import make_biased_classification
from skfair.groups import encode_groups
from skfair.metrics import get_fairness_scorer
from skfair.model_selection import GroupStratifiedKFold


def assign_folds(classes, groups, n_folds, seed=None):
    """Number of the fold in which each row is tested; -1 is not a group."""
    labels = encode_groups(np.where(groups < 0, None, groups), missing="drop")
    splitter = GroupStratifiedKFold(
        n_folds, shuffle=seed is not None, random_state=seed
    )
    folds = np.full(len(classes), -1)
    for fold, (_, test) in enumerate(
        splitter.split(classes[:, None], classes, groups=labels)
    ):
        folds[test] = fold
    return folds


def spread(folds, chosen, n_folds):
    counts = np.bincount(folds[chosen], minlength=n_folds)
    return counts.max() - counts.min()


@pytest.mark.filterwarnings("ignore:Fewer rows than")
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-1, 6)), min_size=1, max_size=200
    ),
    st.integers(2, 7),
    st.sampled_from([None, 0]),
)
def test_assign_folds(rows, n_folds, seed):
    # Of each class there are as many rows as folds, some without a group.
    classes, groups = np.array(rows + [(0, -1), (1, -1), (2, -1)] * n_folds).T
    folds = assign_folds(classes, groups, n_folds, seed)
    for group in np.unique(groups):
        assert spread(folds, groups == group, n_folds) <= 1
        for label in np.unique(classes):
            own = (groups == group) & (classes == label)
            assert own.sum() < n_folds or spread(folds, own, n_folds) <= 1


@pytest.mark.parametrize(("n_groups", "n_classes"), [(2, 2), (20, 2), (50, 5)])
@pytest.mark.filterwarnings("ignore:Fewer rows than")
def test_classes_and_sizes_of_folds_are_close(n_groups, n_classes):
    generator = np.random.default_rng(0)
    for _ in range(5):
        classes = generator.integers(0, n_classes, 3000)
        folds = assign_folds(classes, generator.integers(0, n_groups, 3000), 5)
        assert spread(folds, slice(None), 5) <= 4
        assert max(spread(folds, classes == i, 5) for i in range(n_classes)) <= 6


def table(n_samples=120):
    generator = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], n_samples, p=[0.3, 0.7]),
            "race": generator.choice(["x", "y"], n_samples),
            "age": generator.normal(size=n_samples),
        },
        index=np.arange(n_samples)[::-1],
    )
    return X, np.where(generator.random(n_samples) < 0.4, "yes", "no")


def same(folds, others):
    return all(
        np.array_equal(a, b)
        for one, other in zip(folds, others, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def test_folds_partition_the_rows():
    X, y = table()
    folds = list(GroupStratifiedKFold(4, sensitive_features="sex").split(X, y))
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(120))
    for train, test in folds:
        assert_array_equal(np.sort(np.append(train, test)), range(120))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()


def test_where_groups_come_from():
    X, y = table()
    sex = X["sex"].tolist()
    expected = list(GroupStratifiedKFold(3).split(X, y, sex))
    for selector in ("sex", 0, ["sex"], lambda X: X["sex"]):
        splitter = GroupStratifiedKFold(3, sensitive_features=selector)
        assert same(splitter.split(X, y), expected)
        assert same(splitter.split(X.to_numpy(), y, groups=X["sex"]), expected)
    routed = GroupStratifiedKFold(3).split(X, y, sensitive_features=np.array(sex))
    assert same(routed, expected)
    frame = pl.from_pandas(X.reset_index(drop=True))
    assert same(
        GroupStratifiedKFold(3, sensitive_features="sex").split(frame, y), expected
    )
    both = GroupStratifiedKFold(3, sensitive_features=["sex", "race"])
    assert same(
        both.split(X, y), GroupStratifiedKFold(3).split(X, y, X[["sex", "race"]])
    )


def test_shuffling_and_seeds():
    X, y = table()
    plain = list(GroupStratifiedKFold(3, sensitive_features="sex").split(X, y))
    options = {"shuffle": True, "sensitive_features": "sex"}
    first, again = (
        list(GroupStratifiedKFold(3, random_state=0, **options).split(X, y))
        for _ in range(2)
    )
    assert same(first, again)
    assert not same(first, plain)
    state = np.random.RandomState(0)
    splitter = GroupStratifiedKFold(3, random_state=state, **options)
    assert not same(splitter.split(X, y), splitter.split(X, y))


def test_rare_group_stays_in_every_fold_where_it_was_lost():
    sex = np.repeat(["F", "M"], [5, 295])
    y = np.random.default_rng(0).integers(0, 2, 300)
    X = np.zeros((300, 1))
    lost = [set(sex[test]) == {"M"} for _, test in StratifiedKFold(5).split(X, y)]
    assert any(lost)
    with pytest.warns(UserWarning, match=r"merged with the rest of their group\.$"):
        folds = list(GroupStratifiedKFold(5).split(X, y, sex))
    assert all((sex[test] == "F").sum() == 1 for _, test in folds)


def test_small_cells_and_groups_are_named():
    sex = np.repeat(["F", "M", "X"], [10, 80, 3])
    y = np.tile([0, 1], 47)[:93]
    y[:10] = [0] * 8 + [1] * 2
    splitter = GroupStratifiedKFold(5)
    text = (
        r"class 1 in group 'F' \(n = 2\), class 0 in group 'X' .* Some folds have no "
        r"row of the groups 'X' \(n = 3\)\.$"
    )
    with pytest.warns(UserWarning, match=text):
        list(splitter.split(np.zeros((93, 1)), y, sex))
    with pytest.warns(UserWarning, match=r"and 195 more\. .* 'g0' .* and 95 more\.$"):
        list(
            splitter.split(
                np.zeros((400, 1)),
                np.tile([0, 1], 200),
                np.char.add("g", (np.arange(400) // 4).astype(str)),
            )
        )


@pytest.mark.parametrize("dtype", ["object", "category", "string", "str"])
def test_text_labels_of_a_small_cell(dtype):
    y = pd.Series(["no", "yes"] * 10 + ["no"] * 8 + ["yes"] * 2, dtype=dtype)
    sex = np.repeat(["F", "M"], [20, 10])
    splitter = GroupStratifiedKFold(5)
    with pytest.warns(UserWarning, match=r"class 'yes' in group 'M' \(n = 2\)"):
        folds = list(splitter.split(np.zeros((30, 1)), y, sex))
    assert len(folds) == 5


def test_rows_that_are_left_out_are_stratified_like_a_group():
    X, y = table()
    sex = X["sex"].to_numpy(dtype=object)
    sex[:30] = None
    groups = encode_groups(sex, missing="drop")
    for _, test in GroupStratifiedKFold(3).split(X, y, groups):
        assert (test < 30).sum() == 10
    with pytest.raises(ValueError, match="30 missing values"):
        list(GroupStratifiedKFold(3).split(X, y, sex))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 1}, r"n_splits must be an integer of at least 2, got 1"),
        ({"n_splits": 2.0}, "n_splits must be an integer"),
        ({"shuffle": 1}, "shuffle must be True or False"),
        ({"random_state": 0}, "random_state must be None without shuffling, got 0"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        GroupStratifiedKFold(**options)


def test_bad_input():
    X, y = table()
    splitter = GroupStratifiedKFold(5)

    def split(X=X, y=y, groups=X["sex"], splitter=splitter, **more):
        return list(splitter.split(X, y, groups, **more))

    with pytest.raises(
        ValueError, match="with sensitive_features=<column of X>, or pass gr"
    ):
        split(groups=None)
    with pytest.raises(ValueError, match="expected one of them, got both"):
        split(sensitive_features=X["sex"])
    with pytest.raises(ValueError, match="sensitive_features has 119 rows"):
        split(groups=X["sex"][1:])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        split(y=y[1:])
    with pytest.raises(ValueError, match="y has 0 rows"):
        split(X[:0], y[:0], X["sex"][:0])
    with pytest.raises(ValueError, match="target of type continuous"):
        split(y=X["age"])
    with pytest.raises(ValueError, match=r"n_splits=5 is greater .* 4 at most"):
        split(X[:8], np.tile([0, 1], 4), X["sex"][:8])
    with pytest.raises(ValueError, match="no column 'gender'"):
        split(groups=None, splitter=GroupStratifiedKFold(sensitive_features="gender"))


def test_repr_pickle_clone():
    splitter = GroupStratifiedKFold(3, sensitive_features="sex")
    assert " ".join(repr(splitter).split()) == (
        "GroupStratifiedKFold(n_splits=3, random_state=None, "
        "sensitive_features='sex', shuffle=False)"
    )
    X, y = table()
    for copy in (pickle.loads(pickle.dumps(splitter)), clone(splitter, safe=False)):
        assert same(copy.split(X, y), splitter.split(X, y))
    assert splitter.get_n_splits() == splitter.get_n_splits(X, y, None) == 3


@pytest.fixture(scope="module")
def biased():
    return make_biased_classification(
        400, group_sizes={"sex": {0: 0.1, 1: 0.9}}, random_state=0
    )


@pytest.mark.slow
def test_in_searches_by_column_and_by_groups(biased):
    X, y = biased
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")

    def search(cv, **params):
        grid = GridSearchCV(
            LogisticRegression(), {"C": [0.1, 1]}, scoring=scorer, cv=cv
        )
        return grid.fit(X, y, **params).cv_results_["mean_test_score"]

    by_column = search(GroupStratifiedKFold(4, sensitive_features="sex"))
    assert np.isfinite(by_column).all()
    by_groups = search(GroupStratifiedKFold(4), groups=X["sex"])
    assert_array_equal(by_groups, by_column)


@pytest.mark.slow
def test_metadata_routing_asks_for_groups_by_default(biased):
    X, y = biased
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    by_column = GroupStratifiedKFold(4, sensitive_features="sex")
    expected = cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=by_column)
    sex = X["sex"]
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"sensitive_features": sex}
        routed = cross_validate(
            LogisticRegression(),
            X,
            y,
            scoring=get_fairness_scorer("neg_mcdp"),
            cv=GroupStratifiedKFold(4),
            params=params,
        )
        assert_array_equal(routed["test_score"], expected)
        grid = GridSearchCV(
            LogisticRegression(),
            {"C": [1.0]},
            scoring=get_fairness_scorer("neg_mcdp"),
            cv=GroupStratifiedKFold(4),
        ).fit(X, y, **params)
        assert grid.cv_results_["mean_test_score"][0] == expected.mean()
