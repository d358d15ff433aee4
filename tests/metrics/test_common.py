"""What every metric of scores by group has in common."""

import copy
import pickle
import re
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    MADDBandwidthResult,
    abcc,
    demographic_parity_difference,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    mcdp,
    mcdp_curve,
)
from skfair.statistics import GroupedOutcomes, GroupedScores

METRICS = {
    "mcdp": mcdp,
    "mcdp epsilon": partial(mcdp, epsilon=0.03),
    "mcdp approximate": partial(
        mcdp, epsilon=0.03, method="approximate", n_subdivisions=4
    ),
    "mcdp_curve": mcdp_curve,
    "madd": partial(madd, bandwidth=0.1),
    "madd auto": madd,
    "madd_curve": partial(madd_curve, n_bandwidths=30),
    "madd_optimal_bandwidth": partial(
        madd_optimal_bandwidth, n_bandwidths=100, min_points=20
    ),
    "abcc": abcc,
    "demographic_parity_difference": demographic_parity_difference,
    "demographic_parity_difference threshold": partial(
        demographic_parity_difference, threshold=0.5
    ),
}
OF_SCORES = {name: m for name, m in METRICS.items() if "parity" not in name}
NUMBERS = {
    name: m
    for name, m in METRICS.items()
    if "curve" not in name and "optimal" not in name
}
# Sums of scores depend on their order; counts of rows do not.
ROUNDED = {"demographic_parity_difference"}
# The bandwidth search takes total weights as numbers of rows.
SCALE_FREE = {
    name: m
    for name, m in METRICS.items()
    if name not in ("madd auto", "madd_optimal_bandwidth")
}

every_metric = pytest.mark.parametrize("name", METRICS)
both_ways = pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])


def flat(result):
    """All numbers of a result, one after the other."""
    if isinstance(result, MADDBandwidthResult):
        numbers = [*result.interval, result.madd, result.std, result.h_sup]
        return np.concatenate([numbers, result.bandwidths, result.values])
    return np.concatenate([np.ravel(part) for part in np.atleast_1d(result)])


def measured(name, y_score, groups, **options):
    y_true = options.pop("y_true", None)
    return flat(METRICS[name](y_true, y_score, sensitive_features=groups, **options))


def assert_same(name, value, expected):
    if name in ROUNDED:
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)
    else:
        np.testing.assert_array_equal(value, expected)


def rows(n_groups=2, n_rows=240, seed=0):
    """Scores with many ties, 0 and 1 among them, and unequal groups."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate(
        [np.arange(n_groups), rng.integers(0, n_groups, n_rows) ** 2 // n_groups]
    )[:n_rows]
    y_score = rng.beta(1.2 + groups / n_groups, 1.5).round(2)
    return y_score, groups


# --- what must not change a value


@every_metric
@both_ways
@pytest.mark.parametrize("n_groups", [2, 5])
def test_names_of_groups_do_not_matter(name, multigroup, n_groups):
    y_score, groups = rows(n_groups)
    if name == "demographic_parity_difference":
        y_score = np.round(y_score * 64) / 64
    renamed = np.array(["delta", "alpha", "echo", "bravo", "carol"])[groups]
    value = measured(name, y_score, renamed, multigroup=multigroup)
    expected = measured(name, y_score, groups, multigroup=multigroup)
    np.testing.assert_array_equal(value, expected)


@every_metric
@both_ways
@pytest.mark.parametrize("n_groups", [2, 5])
def test_order_of_rows_does_not_matter(name, multigroup, n_groups):
    y_score, groups = rows(n_groups)
    order = np.random.default_rng(1).permutation(len(y_score))
    value = measured(name, y_score[order], groups[order], multigroup=multigroup)
    expected = measured(name, y_score, groups, multigroup=multigroup)
    assert_same(name, value, expected)


@every_metric
@both_ways
@pytest.mark.parametrize("n_groups", [2, 5])
def test_whole_weights_count_rows(name, multigroup, n_groups):
    y_score, groups = rows(n_groups)
    weights = np.random.default_rng(1).integers(1, 4, len(y_score))
    options = {"multigroup": multigroup}
    expected = measured(
        name, np.repeat(y_score, weights), np.repeat(groups, weights), **options
    )
    for sample_weight in (weights, weights.astype(float), weights.tolist()):
        value = measured(name, y_score, groups, sample_weight=sample_weight, **options)
        assert_same(name, value, expected)


@every_metric
def test_doubled_rows_are_doubled_weights(name):
    y_score, groups = rows()
    twice = measured(name, np.tile(y_score, 2), np.tile(groups, 2))
    value = measured(name, y_score, groups, sample_weight=np.full(len(y_score), 2))
    assert_same(name, value, twice)


@every_metric
def test_unit_weights_are_no_weights(name):
    y_score, groups = rows()
    value = measured(name, y_score, groups, sample_weight=np.ones(len(y_score)))
    np.testing.assert_array_equal(value, measured(name, y_score, groups))


@pytest.mark.parametrize("name", SCALE_FREE)
@pytest.mark.parametrize("factor", [1e-6, 0.3, 7e5])
def test_scale_of_weights_does_not_matter(name, factor):
    y_score, groups = rows(3)
    weights = np.random.default_rng(1).uniform(0.1, 5, len(y_score))
    value = measured(name, y_score, groups, sample_weight=factor * weights)
    expected = measured(name, y_score, groups, sample_weight=weights)
    if name == "mcdp_curve":  # breaks of no height come and go with rounding
        at = np.linspace(0, 0.5, 777)
        value, expected = (
            heights[np.searchsorted(breaks, at, side="right") - 1]
            for breaks, heights in (np.split(v, 2) for v in (value, expected))
        )
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)


@every_metric
@pytest.mark.parametrize("scale", [1, 0.7])
def test_rows_of_weight_zero_do_not_count(name, scale):
    y_score, groups = rows(3)
    weights = scale * np.random.default_rng(1).integers(0, 3, len(y_score))
    kept = weights > 0
    value = measured(name, y_score, groups, sample_weight=weights)
    expected = measured(name, y_score[kept], groups[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(value, expected)


@every_metric
def test_y_true_is_ignored(name):
    y_score, groups = rows()
    expected = measured(name, y_score, groups)
    labels = groups % 2
    for y_true in (
        labels,
        labels.tolist(),
        labels.astype(float),
        labels.astype(bool),
        np.zeros_like(labels),
        np.array(["no", "yes"])[labels],
        np.array(["no", "yes"], dtype=object)[labels],
        pd.Series(labels, index=labels),
        pd.Series(["no", "yes"])[labels],
        pl.Series(labels),
    ):
        value = measured(name, y_score, groups, y_true=y_true)
        np.testing.assert_array_equal(value, expected)


SCORE_CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "Series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "Float64": lambda y: pd.Series(y, dtype="Float64"),
    "polars": pl.Series,
    "strided": lambda y: np.repeat(y, 2)[::2],
    "big-endian": lambda y: y.astype(">f8"),
}
GROUP_CONTAINERS = {
    "list": list,
    "array": np.array,
    "object": lambda g: np.array(g, dtype=object),
    "Series": lambda g: pd.Series(g, index=np.arange(len(g))[::-1]),
    "category": lambda g: pd.Series(g, dtype="category"),
    "Categorical": pd.Categorical,
    "DataFrame": lambda g: pd.DataFrame({"sex": g}, index=np.arange(len(g))[::-1]),
    "polars Series": pl.Series,
    "polars DataFrame": lambda g: pl.DataFrame({"sex": g}),
    "Groups": encode_groups,
}


@every_metric
@pytest.mark.parametrize("container", SCORE_CONTAINERS)
def test_containers_of_scores(name, container):
    y_score, groups = rows()
    weights = np.arange(len(y_score)) % 4 + 1
    convert = SCORE_CONTAINERS[container]
    value = measured(name, convert(y_score), groups, sample_weight=weights)
    expected = measured(name, y_score, groups, sample_weight=weights)
    np.testing.assert_array_equal(value, expected)


@every_metric
@pytest.mark.parametrize("container", GROUP_CONTAINERS)
def test_containers_of_groups(name, container):
    y_score, groups = rows()
    labels = ["FM"[group] for group in groups]
    value = measured(name, y_score, GROUP_CONTAINERS[container](labels))
    np.testing.assert_array_equal(value, measured(name, y_score, groups))


@every_metric
@pytest.mark.parametrize(
    "container",
    [
        np.array,
        pd.DataFrame,
        lambda pairs: pd.DataFrame(pairs, index=np.arange(len(pairs))[::-1]),
        lambda pairs: pl.DataFrame(pairs, orient="row", schema=["sex", "race"]),
        list,
    ],
    ids=["array", "DataFrame", "shuffled", "polars", "list"],
)
def test_intersections_are_joined_labels(name, container):
    y_score, groups = rows(4)
    pairs = [("FM"[group % 2], "ab"[group // 2]) for group in groups]
    value = measured(name, y_score, container(pairs))
    expected = measured(name, y_score, ["".join(pair) for pair in pairs])
    np.testing.assert_array_equal(value, expected)


@every_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_scores_are_their_exact_values(name, dtype):
    y_score, groups = rows()
    narrow = y_score.astype(dtype)
    value = measured(name, narrow, groups)
    expected = measured(name, narrow.astype(np.float64), groups)
    np.testing.assert_array_equal(value, expected)


@every_metric
def test_zero_one_scores_of_any_type(name):
    y_score, groups = rows()
    decisions = (y_score > 0.5).astype(float)
    expected = measured(name, decisions, groups)
    for dtype in (int, bool, np.uint8, np.float32):
        value = measured(name, decisions.astype(dtype), groups)
        np.testing.assert_array_equal(value, expected)


@every_metric
def test_inputs_are_not_modified(name):
    y_score, groups = rows(3)
    y_score[:3] = -0.0
    inputs = {
        "y_true": (y_score > 0.4).astype(int),
        "y_score": y_score,
        "groups": pd.DataFrame({"a": groups, "b": groups % 2}),
        "sample_weight": (np.arange(len(y_score)) % 3).astype(float),
    }
    before = copy.deepcopy(inputs)
    for values in (inputs["y_true"], inputs["y_score"], inputs["sample_weight"]):
        values.setflags(write=False)
    measured(name, **inputs)
    pd.testing.assert_frame_equal(inputs.pop("groups"), before.pop("groups"))
    for key, values in inputs.items():
        np.testing.assert_array_equal(values, before[key])
        np.testing.assert_array_equal(np.signbit(values), np.signbit(before[key]))


@every_metric
def test_results_pickle(name):
    y_score, groups = rows()
    result = METRICS[name](None, y_score, sensitive_features=groups)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(flat(again), flat(result))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_python_floats(name):
    y_score, groups = rows()
    assert type(METRICS[name](None, y_score, sensitive_features=groups)) is float


# --- several groups


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(("n_groups", "n_rows"), [(3, 200), (8, 600), (20, 300)])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairwise_is_the_largest_value_over_pairs(name, n_groups, n_rows, weighted):
    y_score, groups = rows(n_groups, n_rows, seed=n_groups)
    weights = np.random.default_rng(0).uniform(0.5, 2, n_rows) if weighted else None
    values = []
    for pair in combinations(np.unique(groups), 2):
        own = np.isin(groups, pair)
        own_weights = weights[own] if weighted else None
        values.append(
            measured(name, y_score[own], groups[own], sample_weight=own_weights)[0]
        )
    value = measured(name, y_score, groups, sample_weight=weights)[0]
    assert value == pytest.approx(max(values), abs=1e-13)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    ("n_groups", "n_rows"), [(2, 90), (3, 200), (20, 300), (200, 900)]
)
def test_pooled_compares_each_group_with_everyone(name, n_groups, n_rows):
    if name == "madd auto":
        n_groups = min(n_groups, 50)
    y_score, groups = rows(n_groups, n_rows, seed=n_groups)
    values = []
    for group in np.unique(groups):
        own = y_score[groups == group]
        against = np.repeat(["group", "everyone"], [len(own), n_rows])
        values.append(measured(name, np.concatenate([own, y_score]), against)[0])
    value = measured(name, y_score, groups, multigroup="pooled")[0]
    assert value == pytest.approx(max(values), abs=1e-13)


@pytest.mark.parametrize("name", NUMBERS)
def test_pairwise_and_pooled_agree_for_one_large_group_far_off(name):
    # One row against everyone else: it is the group furthest from the others.
    y_score = np.concatenate([[1.0], np.zeros(999)])
    groups = np.concatenate([[0], np.arange(999) % 3 + 1])
    assert measured(name, y_score, groups)[0] == pytest.approx(
        2 if "madd" in name else 1
    )
    pooled = measured(name, y_score, groups, multigroup="pooled")[0]
    assert pooled == pytest.approx(0.999 * (2 if "madd" in name else 1))


def test_two_hundred_groups_pairwise():
    y_score, groups = rows(200, 2_000)
    labels = np.unique(groups)
    thresholds = np.linspace(0, 1, 101)
    counts = np.array(
        [
            (y_score[groups == label, None] <= thresholds + 1e-9).mean(axis=0)
            for label in labels
        ]
    )
    options = {"sensitive_features": groups}
    largest = (counts.max(axis=0) - counts.min(axis=0)).max()
    assert mcdp(None, y_score, **options) == pytest.approx(largest, abs=1e-12)
    areas = cdist(counts, counts, "cityblock") / 100
    assert abcc(None, y_score, **options) == pytest.approx(areas.max(), abs=1e-12)
    bins = np.array(
        [
            np.histogram(y_score[groups == label], np.arange(11) / 10)[0]
            / (groups == label).sum()
            for label in labels
        ]
    )
    distances = cdist(bins, bins, "cityblock")
    assert madd(None, y_score, bandwidth=0.1, **options) == pytest.approx(
        distances.max(), abs=1e-12
    )
    means = np.array([y_score[groups == label].mean() for label in labels])
    assert demographic_parity_difference(None, y_score, **options) == pytest.approx(
        means.max() - means.min(), abs=1e-12
    )


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 16), st.integers(0, 6), st.integers(1, 3)),
        min_size=5,
        max_size=40,
    ),
    st.sampled_from(sorted(NUMBERS)),
)
def test_pairs_of_many_small_groups(entries, name):
    ticks, groups, weights = np.array(entries).T
    y_score, labels = ticks / 16, np.unique(groups)
    if len(labels) < 2:
        return
    value = measured(name, y_score, groups, sample_weight=weights)[0]
    expected = max(
        measured(name, y_score[own], groups[own], sample_weight=weights[own])[0]
        for own in (np.isin(groups, pair) for pair in combinations(labels, 2))
    )
    assert value == pytest.approx(expected, abs=1e-13)


# --- statistics in place of rows


@pytest.mark.parametrize("name", OF_SCORES)
@both_ways
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_of_scores_add_up(name, multigroup, weighted):
    y_score, groups = rows(5, 300)
    order = np.argsort(groups, kind="stable")  # so that batches hold other groups
    y_score, groups = y_score[order], groups[order]
    weights = np.arange(300) % 3 + 1 if weighted else None
    parts = [
        GroupedScores.from_scores(
            y_score[part],
            sensitive_features=groups[part],
            sample_weight=weights[part] if weighted else None,
        )
        for part in (slice(0, 20), slice(20, 150), slice(150, 300))
    ]
    expected = measured(
        name, y_score, groups, multigroup=multigroup, sample_weight=weights
    )
    a, b, c = parts
    for statistic in ((a + b) + c, a + (b + c), (c + a) + b):
        value = flat(METRICS[name](None, statistic, multigroup=multigroup))
        np.testing.assert_array_equal(value, expected)


@both_ways
def test_batches_of_outcomes_add_up(multigroup):
    y_score, groups = rows(5, 300)
    order = np.argsort(groups, kind="stable")
    y_score, groups = y_score[order], groups[order]
    a, b, c = (
        GroupedOutcomes.from_outcomes(y_score[part], sensitive_features=groups[part])
        for part in (slice(0, 20), slice(20, 150), slice(150, 300))
    )
    expected = demographic_parity_difference(
        None, y_score, sensitive_features=groups, multigroup=multigroup
    )
    for statistic in ((a + b) + c, a + (b + c), (c + a) + b):
        value = demographic_parity_difference(None, statistic, multigroup=multigroup)
        assert value == pytest.approx(expected, abs=1e-14)


@every_metric
def test_pickled_statistics_measure_the_same(name):
    y_score, groups = rows(3)
    kind = GroupedScores.from_scores
    if "parity" in name:
        y_score, kind = (y_score >= 0.5).astype(float), GroupedOutcomes.from_outcomes
    statistic = kind(y_score, sensitive_features=groups)
    metric = METRICS[name.removesuffix(" threshold")]
    first = flat(metric(None, statistic))
    again = flat(metric(None, pickle.loads(pickle.dumps(statistic))))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, measured(name, y_score, groups))


@every_metric
@pytest.mark.parametrize(
    ("argument", "value"),
    [("y_true", [0, 1]), ("sensitive_features", ["F", "M"]), ("sample_weight", [1, 2])],
)
def test_rows_beside_a_statistic_are_refused(name, argument, value):
    kind = GroupedScores.from_scores
    if "parity" in name:
        kind = GroupedOutcomes.from_outcomes
    statistic = kind([0.1, 0.9], sensitive_features=["F", "M"])
    metric = METRICS[name.removesuffix(" threshold")]
    arguments = {"y_true": None, argument: value}
    y_true = arguments.pop("y_true")
    with pytest.raises(ValueError, match=f"{argument} must be None where a statistic"):
        metric(y_true, statistic, **arguments)


# --- errors


def score_name(name):
    return "y_score_or_pred" if "parity" in name else "y_score"


@every_metric
@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (-0.1, "-0.1"),
        (1.1, "1.1"),
        (np.nextafter(1, 2), "1.0000000000000002"),
        (-5e-324, "-5e-324"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
    ],
)
def test_scores_outside_zero_and_one(name, score, shown):
    match = rf"{score_name(name)} must lie in \[0, 1\], got {shown} in row 2"
    with pytest.raises(ValueError, match=match):
        measured(name, [0.5, 0.2, score, 0.1], [0, 0, 1, 1])


@every_metric
def test_text_scores(name):
    with pytest.raises(ValueError, match=f"{score_name(name)} .*'high'"):
        measured(name, ["high", "low", "low"], [0, 0, 1])


@every_metric
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_two_dimensional_scores(name, n_columns):
    match = rf"{score_name(name)} must have shape \(n_samples,\).*\(4, {n_columns}\)"
    with pytest.raises(ValueError, match=match):
        measured(name, np.full((4, n_columns), 0.5), [0, 0, 1, 1])


@every_metric
def test_no_rows(name):
    with pytest.raises(ValueError, match=f"{score_name(name)} has 0 rows"):
        measured(name, [], [])


@every_metric
@pytest.mark.parametrize("n_rows", [3, 5])
@pytest.mark.parametrize("argument", ["sensitive_features", "sample_weight", "y_true"])
def test_wrong_lengths(name, argument, n_rows):
    arguments = {"sensitive_features": [0, 0, 1, 1], argument: ([0, 1] * 3)[:n_rows]}
    if argument == "sample_weight":
        arguments[argument] = np.ones(n_rows)
    y_true = arguments.pop("y_true", None)
    with pytest.raises(ValueError, match=f"{argument} .*({n_rows}.* 4|4,.*{n_rows})"):
        METRICS[name](y_true, [0.1, 0.2, 0.3, 0.4], **arguments)


@every_metric
def test_sensitive_features_are_needed(name):
    with pytest.raises(ValueError, match="sensitive_features is None"):
        METRICS[name](None, [0.1, 0.2])


@every_metric
@pytest.mark.parametrize(
    "column",
    [
        ["F", None, "M", None],
        ["F", np.nan, "M", np.nan],
        [0.0, np.nan, 1.0, np.nan],
        np.array(["F", pd.NA, "M", pd.NA], dtype=object),
        pd.Series(["F", None, "M", None], dtype="string"),
        pl.Series(["F", None, "M", None]),
    ],
    ids=["None", "nan", "float", "NA", "string", "polars"],
)
def test_missing_groups(name, column):
    with pytest.raises(ValueError, match="sensitive_features has 2 missing values"):
        measured(name, [0.1, 0.2, 0.3, 0.4], column)


@every_metric
def test_missing_groups_left_out_or_a_group(name):
    y_score, groups = rows(3)
    labels = np.array(["F", "M", None], dtype=object)[groups]
    known = groups < 2
    dropped = measured(name, y_score, encode_groups(labels, missing="drop"))
    np.testing.assert_array_equal(
        dropped, measured(name, y_score[known], labels[known])
    )
    grouped = measured(name, y_score, encode_groups(labels, missing="group"))
    np.testing.assert_array_equal(grouped, measured(name, y_score, groups))


@every_metric
@pytest.mark.parametrize("weight", [-1, -0.5, np.nan, np.inf])
def test_negative_and_infinite_weights(name, weight):
    match = f"sample_weight must be finite and non-negative, got {float(weight)}"
    with pytest.raises(ValueError, match=match):
        measured(name, [0.1, 0.2, 0.3], [0, 1, 1], sample_weight=[1, 1, weight])


@every_metric
def test_text_weights(name):
    with pytest.raises(ValueError, match=r"sample_weight .*'heavy'"):
        measured(name, [0.1, 0.2], [0, 1], sample_weight=["heavy", "light"])


@every_metric
def test_group_without_weight(name):
    with pytest.raises(ValueError, match=r"sample_weight is zero .*\['M'\]"):
        measured(name, [0.1, 0.2, 0.3], ["F", "M", "M"], sample_weight=[1, 0, 0])


@every_metric
@pytest.mark.parametrize(
    "y_true", [[0, 1, 2, 1], ["a", "b", "c", "a"], [0.0, 0.5, 1.0, 1.0]], ids=str
)
def test_three_classes(name, y_true):
    with pytest.raises(ValueError, match="y_true must be binary, got 3 classes"):
        measured(name, [0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], y_true=y_true)


@every_metric
def test_missing_y_true(name):
    with pytest.raises(ValueError, match="y_true"):
        measured(name, [0.1, 0.2, 0.3], [0, 0, 1], y_true=[1, np.nan, 1])


@every_metric
@pytest.mark.parametrize("groups", [[0, 0, 1], [0, 1, 2]], ids=["two", "three"])
@pytest.mark.parametrize("multigroup", ["x", None, "PAIRWISE"])
def test_unknown_multigroup(name, groups, multigroup):
    match = f"multigroup must be 'pairwise' or 'pooled', got {multigroup!r}"
    with pytest.raises(ValueError, match=match):
        measured(name, [0.1, 0.2, 0.3], groups, multigroup=multigroup)


@pytest.mark.parametrize(
    ("metric", "name", "value"),
    [
        *[(mcdp, "epsilon", value) for value in (-0.1, 0.6, np.nan, "a", None)],
        *[(madd, "bandwidth", value) for value in (0, 1.5, -1, np.nan, "x", None)],
        (mcdp, "method", "x"),
        (mcdp, "method", None),
    ],
)
def test_bad_parameters(metric, name, value):
    match = f"{name} must be .*got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=match):
        metric(None, [0.1, 0.2], sensitive_features=[0, 1], **{name: value})


@pytest.mark.parametrize("n_subdivisions", [0, -1, 1.5, "x", None, np.nan])
def test_bad_number_of_subdivisions(n_subdivisions):
    match = f"n_subdivisions must be .*got {n_subdivisions!r}"
    with pytest.raises(ValueError, match=match):
        mcdp(
            None,
            [0.1, 0.2],
            sensitive_features=[0, 1],
            epsilon=0.1,
            method="approximate",
            n_subdivisions=n_subdivisions,
        )


def test_approximation_needs_an_epsilon():
    with pytest.raises(ValueError, match=r"epsilon must be above 0 .* got 0"):
        mcdp(None, [0.1, 0.2], sensitive_features=[0, 1], method="approximate")


# --- undefined values


def assert_undefined(name, groups, match):
    y_score = np.linspace(0, 1, len(groups))
    with pytest.warns(UndefinedMetricWarning, match=match) as caught:
        result = METRICS[name](None, y_score, sensitive_features=groups)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    if isinstance(result, tuple):
        result = result[1]
    elif isinstance(result, MADDBandwidthResult):
        result = [*result.interval, result.madd, result.std, *result.values]
    assert np.isnan(result).all()


@every_metric
@pytest.mark.parametrize("label", ["F", 3])
def test_one_group(name, label):
    assert_undefined(name, [label] * 4, rf"at least two groups, got only \[{label!r}\]")


@every_metric
def test_absent_category(name):
    column = pd.Categorical(["F", "M", "F"], categories=["F", "M", "other"])
    for groups in (column, pd.Series(column), pd.DataFrame({"sex": column})):
        assert_undefined(name, groups, "'other' has 0 rows")


@every_metric
def test_absent_label(name):
    groups = encode_groups(["F", "F"], labels=["F", "M"])
    assert_undefined(name, groups, "'M' has 0 rows")


@every_metric
def test_group_lost_by_a_subset(name):
    groups = encode_groups(["F", "M", "F", "X"])
    assert_undefined(name, groups[:3], "'X' has 0 rows")


@every_metric
def test_group_below_the_minimal_size(name):
    groups = encode_groups(["F", "M", "M", "F", "M"], min_group_size=3)
    assert_undefined(name, groups, "needs at least 3 rows, and 'F' has 2 rows")


@every_metric
def test_group_of_the_minimal_size_is_enough(name):
    y_score, groups = rows()
    least = int(np.bincount(groups).min())
    value = measured(name, y_score, encode_groups(groups, min_group_size=least))
    np.testing.assert_array_equal(value, measured(name, y_score, groups))


@every_metric
def test_rows_of_weight_zero_do_not_fill_a_group(name):
    groups = encode_groups(["F", "F", "M", "M"], min_group_size=2)
    with pytest.warns(UndefinedMetricWarning, match="'M' has 1 rows"):
        measured(name, [0.1, 0.2, 0.3, 0.4], groups, sample_weight=[1, 1, 1, 0])


@every_metric
def test_no_known_group(name):
    groups = encode_groups([None, None], missing="drop")
    assert_undefined(name, groups, "at least two groups")


@every_metric
def test_unknown_label_is_an_error_at_once(name):
    with pytest.raises(ValueError, match=r"unknown groups \['X'\]"):
        measured(name, [0.1, 0.2], encode_groups(["F", "X"], labels=["F", "M"]))


@every_metric
def test_parameters_are_checked_even_where_the_value_is_undefined(name):
    with pytest.raises(ValueError, match="multigroup must be"):
        measured(name, [0.1, 0.2], ["F", "F"], multigroup="x")
