"""What every metric promises; METRICS has variants, and all that have a scorer."""

import copy
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isfunction, signature
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning

import skfair.metrics
from skfair.groups import encode_groups
from skfair.metrics import (
    MADDBandwidthResult,
    abcc,
    abroca,
    calibration_gap,
    cvar_fairness,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    exposure_difference,
    false_positive_rate_difference,
    get_fairness_scorer,
    get_fairness_scorer_names,
    impact_ratio_shortfall,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    max_gap,
    mcdp,
    mcdp_curve,
    mean_absolute_error_difference,
    mean_error_difference,
    predictive_value_difference,
    true_positive_rate_difference,
)
from skfair.statistics import CountTable


@dataclass(frozen=True)
class Metric:
    """A metric, what it reads, and the promises below that it does not make.

    `exempt` and `broken` map names of tests to reasons: of promises that do not apply,
    and of those that ought to hold and do not yet.
    """

    function: Callable[..., Any]
    n_classes: int | None = None  # of class labels that it reads; None for scores
    is_number: bool = True
    reads_y_true: bool = False
    counts_decisions: bool = False  # the rows of one decision, as precision does
    tolerance: float = 0.0  # between results that differ by the order of sums only
    exempt: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)

    @property
    def argument(self):
        """Name of what it reads: y_score or y_pred."""
        return list(signature(self.function).parameters)[1]

    @property
    def takes_multigroup(self):
        return "multigroup" in signature(self.function).parameters

    @property
    def takes_strata(self):
        return "multistratum" in signature(self.function).parameters


def takes_ranks(function):
    """Whether a metric may compare the ranks of scores."""
    scale = signature(function).parameters.get("scale")
    return scale is not None and scale.annotation in ("Scale", "AnyScale")


def made(function):
    """Metric of a function, or of a partial of it."""
    return function_of(function).metric(**getattr(function, "keywords", {}))


def function_of(function):
    """Function without the options that a partial sets."""
    return getattr(function, "func", function)


LEAVES_OUT = "leaves groups out that cannot be compared, and warns"
of_groups = partial(
    Metric,
    n_classes=2,
    tolerance=1e-14,
    exempt={
        "test_absent_category": LEAVES_OUT,
    },
)
OF_DENOMINATORS = {
    "test_group_below_the_minimal_size": "rows of the denominator are counted"
}
of_rates = partial(
    Metric,
    n_classes=2,
    reads_y_true=True,
    tolerance=1e-14,
    exempt=OF_DENOMINATORS,
)
#: Means of a loss of all rows, which reads the true label.
of_losses = partial(
    Metric,
    reads_y_true=True,
    tolerance=1e-14,
    exempt={
        "test_metrics_of_errors_say_so": "losses are exchangeable among all rows",
        "test_scores_of_three_classes": "a loss is of two classes",
    },
)
#: Rates among the rows of one decision, as precision is.
of_decisions = partial(
    of_rates,
    counts_decisions=True,
    exempt=OF_DENOMINATORS
    | {
        "test_metrics_of_errors_say_so": "exchangeable within predicted labels",
        "test_groups_of_the_same_rows_have_no_disparity": "a group that lacks the "
        "decision has no rate",
    },
)
of_classes = partial(Metric, n_classes=3, reads_y_true=True)
# The bandwidth search takes total weights as numbers of rows.
COUNTS_ROWS = {"test_scale_of_weights_does_not_matter": "weights are numbers of rows"}

NOT_READ = {"test_true_labels_without_a_hash_are_named": "true labels are not read"}
# Ranks are among everyone: other groups and other rows change them.
OF_RANKS = NOT_READ | {
    "test_pairwise_is_the_largest_value_over_pairs": "ranks are among everyone",
    "test_pooled_compares_each_group_with_everyone": "ranks are among everyone",
    "test_scores_outside_zero_and_one": "only the order of scores matters",
    "test_scores_outside_zero_and_one_by_rounding_only": "likewise",
    "test_three_classes": "scores may predict any target",
    "test_two_dimensional_input": "three columns are three classes",
}

compares_numbers = partial(
    Metric,
    n_classes=2,  # 0 and 1 are numbers, too
    reads_y_true=True,
    tolerance=1e-14,
    exempt={
        "test_three_classes": "any number is a true value",
        "test_metrics_of_errors_say_so": "no row has the true value of another",
        "test_text_labels": "labels are not numbers",
    },
)

of_calibration = partial(
    Metric,
    reads_y_true=True,
    tolerance=1e-14,
    exempt={
        "test_metrics_of_errors_say_so": "exchangeable among similar scores",
        "test_scores_of_three_classes": "values_by_class compares classes",
    },
)

#: Numbers in a unit, of any size.
OF_REALS = NOT_READ | {
    "test_scores_outside_zero_and_one": "any numbers",
    "test_scores_outside_zero_and_one_by_rounding_only": "likewise",
    "test_three_classes": "scores may predict any target",
    "test_scores_of_three_classes": "a number is not a class",
    "test_two_dimensional_input": "likewise",
}

METRICS = {
    "mcdp": Metric(mcdp),
    "mcdp epsilon": Metric(partial(mcdp, epsilon=0.03)),
    "mcdp approximate": Metric(
        partial(mcdp, epsilon=0.03, method="approximate", n_subdivisions=4)
    ),
    "mcdp_curve": Metric(mcdp_curve, is_number=False),
    "madd": Metric(partial(madd, bandwidth=0.1)),
    "madd auto": Metric(madd, exempt=COUNTS_ROWS),
    "mcdp rank": Metric(
        partial(mcdp, epsilon=0.02, scale="rank"), exempt=OF_RANKS, tolerance=1e-14
    ),
    "madd rank": Metric(
        partial(madd, bandwidth=0.1, scale="rank"), exempt=OF_RANKS, tolerance=1e-14
    ),
    "abcc rank": Metric(partial(abcc, scale="rank"), exempt=OF_RANKS, tolerance=1e-14),
    "abcc real": Metric(partial(abcc, scale="real"), exempt=OF_REALS, tolerance=1e-14),
    "demographic_parity_difference real": Metric(
        partial(demographic_parity_difference, scale="real"),
        exempt=OF_REALS,
        tolerance=1e-14,
    ),
    "madd_curve": Metric(partial(madd_curve, n_bandwidths=30), is_number=False),
    "madd_optimal_bandwidth": Metric(
        partial(madd_optimal_bandwidth, n_bandwidths=100, min_points=20),
        is_number=False,
        exempt=COUNTS_ROWS,
    ),
    "abcc": Metric(abcc),
    "abroca": Metric(
        abroca,
        reads_y_true=True,
        tolerance=1e-14,
        exempt={
            "test_scores_outside_zero_and_one": "only the order of scores matters",
            "test_scores_outside_zero_and_one_by_rounding_only": "likewise",
            "test_scores_of_three_classes": "ROC curves are of two classes",
        },
    ),
    "calibration_gap": of_calibration(calibration_gap),
    "exposure_difference": Metric(
        exposure_difference,
        tolerance=1e-14,
        exempt=OF_RANKS
        | {
            "test_scores_of_three_classes": "a ranking has one order",
            "test_missing_groups_left_out_or_a_group": "rows without a group have a "
            "position in the ranking",
            "test_missing_y_true": "it is the relevance, read with that reference",
        },
    ),
    "demographic_parity_difference": Metric(
        demographic_parity_difference, tolerance=1e-14
    ),
    "demographic_parity_difference threshold": Metric(
        partial(demographic_parity_difference, threshold=0.5)
    ),
    "max_gap": of_groups(max_gap),
    "max_gap error_rate": of_groups(
        partial(max_gap, quality="error_rate"), reads_y_true=True
    ),
    "cvar_fairness": of_groups(cvar_fairness),
    "cvar_fairness whole groups": of_groups(
        partial(cvar_fairness, alpha=0.3, fractional=False)
    ),
    "true_positive_rate_difference": of_rates(true_positive_rate_difference),
    "false_positive_rate_difference": of_rates(false_positive_rate_difference),
    "predictive_value_difference": of_decisions(predictive_value_difference),
    "impact_ratio_shortfall": Metric(
        impact_ratio_shortfall, n_classes=2, tolerance=1e-14
    ),
    "mean_error_difference": compares_numbers(mean_error_difference),
    "mean_absolute_error_difference": compares_numbers(mean_absolute_error_difference),
    "dcp": of_classes(
        dcp,
        tolerance=1e-4,  # the width at which its search stops
    ),
    "equalized_odds_difference": of_classes(equalized_odds_difference),
    "equalized_odds_difference binary": of_classes(
        equalized_odds_difference, n_classes=2
    ),
}


#: Functions of all metrics that have a scorer, by name.
NUMBERS = {
    name.removeprefix("neg_"): getattr(skfair.metrics, name.removeprefix("neg_"))
    for name in get_fairness_scorer_names()
}
#: Every other metric with a scorer: a new one needs a line above, such as `of_rates` or
#: `of_decisions`, only for promises that it does not make.
METRICS |= {
    name: Metric(
        function,
        n_classes=2 if function.metric.inputs[1] == "y_pred" else None,
        reads_y_true=getattr(
            function.metric,
            "reads_y_true",
            function.metric.exchangeable == "same true label",
        ),
        tolerance=1e-14,
    )
    for name, function in NUMBERS.items()
    if name not in METRICS
}
#: Ranks of scores, where a metric takes them and has no line for them above.
METRICS |= {
    f"{name} rank": replace(
        metric, function=partial(metric.function, scale="rank"), exempt=OF_RANKS
    )
    for name, metric in METRICS.items()
    if metric.is_number
    and takes_ranks(metric.function)
    and f"{name} rank" not in METRICS
    and " " not in name
}

#: One metric of scores, of labels, of decisions, and one that leaves groups out.
OF_EACH_KIND = {
    "mcdp",
    "abroca",
    "demographic_parity_difference",
    "max_gap",
    "equalized_odds_difference",
}


#: Metrics that share the arithmetic of another one.
SIBLINGS = {
    *("mcdp_curve", "madd_curve", "madd_optimal_bandwidth"),
    *("false_positive_rate_difference", "mean_absolute_error_difference"),
}


def for_metrics(keep=lambda metric: True, quick=None):
    """Run a test with those metrics that promise what it tests.

    It is slow with metrics whose names are not among `quick`, and else with siblings of
    a metric and with its variants, whose names have two words.
    """

    def decorate(test):
        name = test.__name__
        parameters = [
            pytest.param(metric, id=key, marks=marks(key, metric, name))
            for key, metric in METRICS.items()
            if keep(metric) and name not in metric.exempt
        ]
        return pytest.mark.parametrize("metric", parameters)(test)

    def marks(key, metric, name):
        is_quick = key in quick if quick else " " not in key and key not in SIBLINGS
        found = [] if is_quick else [pytest.mark.slow]
        if name in metric.broken:
            found.append(pytest.mark.xfail(reason=metric.broken[name], strict=True))
        return found

    return decorate


def in_turn(names, values):
    """Run a test with one value of an argument, or of several, after the other.

    They are one test, as what is tested is the same for every metric.
    """

    def decorate(test):
        def run(metric, **others):
            for value in values:
                given = {names: value}
                if not isinstance(names, str):
                    given = dict(zip(names, value, strict=True))
                test(metric, **given, **others)

        run.__name__ = test.__name__
        return run

    return decorate


every_metric = for_metrics()
every_number = for_metrics(lambda metric: metric.is_number)
every_number_of_multigroup = for_metrics(
    lambda metric: metric.is_number and metric.takes_multigroup
)
every_metric_within_strata = for_metrics(lambda metric: metric.takes_strata)
every_number_within_strata = for_metrics(
    lambda metric: metric.is_number and metric.takes_strata
)
# What depends on containers, lengths or tables alone, the same for all of a kind.
each_kind = for_metrics(quick=OF_EACH_KIND)
each_kind_of_scores = for_metrics(
    lambda metric: metric.n_classes is None, quick=OF_EACH_KIND
)
each_kind_of_multigroup = for_metrics(
    lambda metric: metric.takes_multigroup, quick=OF_EACH_KIND
)
each_kind_within_strata = for_metrics(
    lambda metric: metric.takes_strata, quick=OF_EACH_KIND
)


def each_multigroup(metric):
    """Options that choose every way to compare more than two groups."""
    if not metric.takes_multigroup:
        return [{}]
    return [{"multigroup": "pairwise"}, {"multigroup": "pooled"}]


def draw_rows(metric, n_groups=2, n_rows=240, seed=0):
    """True classes, what the metric reads, and groups.

    Scores have many ties, 0 and 1 among them, and some groups have a single row. Each
    group has rows of each class, where errors are measured.
    """
    rng = np.random.default_rng(seed)
    if metric.n_classes:
        order = rng.permutation(n_rows)
        groups, y_true = order % n_groups, order // n_groups % metric.n_classes
        wrong = rng.random(n_rows) < 0.1 + 0.4 * groups / n_groups
        y_pred = np.where(wrong, rng.integers(0, metric.n_classes, n_rows), y_true)
        return y_true, y_pred, groups
    if metric.reads_y_true:
        order = rng.permutation(n_rows)
        groups, y_true = order % n_groups, order // n_groups % 2
        return y_true, rng.beta(1.2 + y_true * (1 + groups), 1.5).round(2), groups
    groups = np.concatenate(
        [np.arange(n_groups), rng.integers(0, n_groups, n_rows) ** 2 // n_groups]
    )[:n_rows]
    y_score = rng.beta(1.2 + groups / n_groups, 1.5).round(2)
    return (y_score > 0.4).astype(int), y_score, groups


def few_rows(metric, n_rows):
    """A few rows, for bad input."""
    if metric.n_classes:
        return np.arange(n_rows) % 2, np.arange(n_rows) % 4 // 2
    return np.arange(n_rows) % 2, np.linspace(0, 1, n_rows)


def labels(metric, n_rows):
    """True labels for a metric that needs them, else None."""
    return np.arange(n_rows) % 2 if metric.reads_y_true else None


def flatten(result):
    """All numbers of a result, one after the other."""
    if isinstance(result, MADDBandwidthResult):
        numbers = [*result.interval, result.value, result.std, result.h_sup]
        return np.concatenate([numbers, result.bandwidths, result.values])
    return np.concatenate([np.ravel(part) for part in np.atleast_1d(result)])


def measure(metric, y_true, values, groups, **options):
    """All numbers of a metric of rows."""
    return flatten(
        metric.function(y_true, values, sensitive_features=groups, **options)
    )


def table_of(metric, y_true, values, groups, **options):
    """The table that takes the place of these rows."""
    return CountTable.from_rows(y_true, values, sensitive_features=groups, **options)


def assert_same(metric, value, expected):
    np.testing.assert_allclose(value, expected, rtol=0, atol=metric.tolerance)


# --- what does not change the value: order, names, weights, y_true


@every_metric
@pytest.mark.parametrize("n_groups", [pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.promise("The names of groups do not matter")
def test_names_of_groups_do_not_matter(metric, n_groups):
    y_true, values, groups = draw_rows(metric, n_groups)
    if metric.function is demographic_parity_difference:
        values = np.round(values * 64) / 64  # whose sums are exact
    renamed = np.array(["delta", "alpha", "echo", "bravo", "carol"])[groups]
    for options in each_multigroup(metric):
        value = measure(metric, y_true, values, renamed, **options)
        expected = measure(metric, y_true, values, groups, **options)
        # Everyone's mean exposure is summed in the order of the groups.
        if metric.n_classes or metric.function is exposure_difference:
            assert_same(metric, value, expected)
        else:
            np.testing.assert_array_equal(value, expected)


@every_metric
@pytest.mark.parametrize("n_groups", [2, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.promise("The order of rows does not matter")
def test_order_of_rows_does_not_matter(metric, n_groups):
    y_true, values, groups = draw_rows(metric, n_groups)
    order = np.random.default_rng(1).permutation(len(groups))
    for options in each_multigroup(metric):
        value = measure(metric, y_true[order], values[order], groups[order], **options)
        assert_same(metric, value, measure(metric, y_true, values, groups, **options))


@every_metric
@pytest.mark.parametrize("n_groups", [2, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.promise("A row that stands for several people counts as so many rows")
def test_counts_count_rows(metric, n_groups):
    y_true, values, groups = draw_rows(metric, n_groups)
    numbers = np.random.default_rng(1).integers(1, 4, len(groups))
    repeated = [np.repeat(column, numbers) for column in (y_true, values, groups)]
    for options in each_multigroup(metric):
        expected = measure(metric, *repeated, **options)
        for counts in (numbers, numbers.astype(float), numbers.tolist()):
            options["counts"] = counts
            value = measure(metric, y_true, values, groups, **options)
            assert_same(metric, value, expected)


@each_kind
@in_turn("factor", [1e-140, 1e-6, 0.3, 7e5, 1e140])
@pytest.mark.promise("The scale of weights does not matter")
def test_scale_of_weights_does_not_matter(metric, factor):
    rows = draw_rows(metric, 3)
    weights = np.random.default_rng(1).uniform(0.1, 5, len(rows[0]))
    weights = np.ceil(weights) if factor > 1 else weights  # whole ones, too
    value = measure(metric, *rows, sample_weight=factor * weights)
    expected = measure(metric, *rows, sample_weight=weights)
    if metric.function is mcdp_curve:  # breaks of no height come and go with rounding
        at = np.linspace(0, 0.5, 777)
        value, expected = (
            heights[np.searchsorted(breaks, at, side="right") - 1]
            for breaks, heights in (np.split(v, 2) for v in (value, expected))
        )
    atol = max(metric.tolerance, 1e-12)
    np.testing.assert_allclose(value, expected, rtol=0, atol=atol)


@every_metric
@pytest.mark.parametrize("scale", [pytest.param(1, marks=pytest.mark.slow), 0.7])
@pytest.mark.promise("Rows of weight 0 do not count")
def test_rows_of_weight_zero_do_not_count(metric, scale):
    rows = draw_rows(metric, 3)
    weights = scale * np.random.default_rng(1).integers(0, 3, len(rows[0]))
    kept = weights > 0
    value = measure(metric, *rows, sample_weight=weights)
    expected = measure(
        metric, *(column[kept] for column in rows), sample_weight=weights[kept]
    )
    np.testing.assert_array_equal(value, expected)


@every_number
@pytest.mark.promise("Groups of the same rows have no disparity")
def test_groups_of_the_same_rows_have_no_disparity(metric):
    *rows, _ = draw_rows(metric, 1, 60)
    rows, groups = [np.tile(column, 3) for column in rows], np.repeat([0, 1, 2], 60)
    for options in each_multigroup(metric):
        value = measure(metric, *rows, groups, **options)
        np.testing.assert_allclose(value, 0, atol=metric.tolerance)
        moved = np.where(groups == 2, 0, rows[1])
        assert measure(metric, rows[0], moved, groups, **options)[0] > 0.01


@for_metrics(lambda metric: not metric.reads_y_true)
def test_y_true_is_ignored(metric):
    _, values, groups = draw_rows(metric)
    expected = measure(metric, None, values, groups)
    classes = groups % 2
    for y_true in (
        classes,
        classes.tolist(),
        classes.astype(float),
        classes.astype(bool),
        np.zeros_like(classes),
        np.array(["no", "yes"])[classes],
        np.array(["no", "yes"], dtype=object)[classes],
        pd.Series(classes, index=classes),
        pd.Series(["no", "yes"])[classes],
        pl.Series(classes),
    ):
        value = measure(metric, y_true, values, groups)
        np.testing.assert_array_equal(value, expected)


# --- what it takes, leaves as it was, and gives back

CONTAINERS = {
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
    "big-endian": lambda g: (np.array(g) == "M").astype(">i8"),
    "object": lambda g: np.array(g, dtype=object),
    "Series": lambda g: pd.Series(g, index=np.arange(len(g))[::-1]),
    "category": lambda g: pd.Series(g, dtype="category"),
    "Categorical": pd.Categorical,
    "DataFrame": lambda g: pd.DataFrame({"sex": g}, index=np.arange(len(g))[::-1]),
    "polars Series": pl.Series,
    "polars DataFrame": lambda g: pl.DataFrame({"sex": g}),
    "Groups": encode_groups,
}


@each_kind
@in_turn("container", CONTAINERS)
def test_containers_of_scores_and_classes(metric, container):
    y_true, values, groups = draw_rows(metric)
    weights = np.arange(len(groups)) % 4 + 1
    convert = CONTAINERS[container]
    expected = measure(metric, y_true, values, groups, sample_weight=weights)
    for converted in ((y_true, convert(values)), (convert(y_true), convert(values))):
        value = measure(metric, *converted, groups, sample_weight=weights)
        np.testing.assert_array_equal(value, expected)


@each_kind
@in_turn("container", GROUP_CONTAINERS)
@pytest.mark.promise("Lists, arrays, pandas and polars give the same number")
def test_containers_of_groups(metric, container):
    y_true, values, groups = draw_rows(metric)
    labels = ["FM"[group] for group in groups]
    value = measure(metric, y_true, values, GROUP_CONTAINERS[container](labels))
    np.testing.assert_array_equal(value, measure(metric, y_true, values, groups))


@every_metric
@pytest.mark.promise("No argument of a metric is modified")
def test_inputs_are_not_modified(metric):
    y_true, values, groups = draw_rows(metric, 3)
    if metric.n_classes is None:
        values[:3] = -0.0
    arrays = [y_true, values, (np.arange(len(groups)) % 3).astype(float)]
    frame = pd.DataFrame({"a": groups, "b": groups % 2})
    before = copy.deepcopy(arrays), frame.copy()
    for array in arrays:
        array.setflags(write=False)
    measure(metric, y_true, values, frame, sample_weight=arrays[2])
    pd.testing.assert_frame_equal(frame, before[1])
    for array, kept in zip(arrays, before[0], strict=True):
        np.testing.assert_array_equal(array, kept)
        np.testing.assert_array_equal(np.signbit(array), np.signbit(kept))


# --- bad input, which it refuses with an error that names it


@each_kind_of_scores
@in_turn(
    ("score", "shown"),
    [
        (-0.1, "-0.1"),
        (1.1, "1.1"),
        (1 + 2e-12, "1.000000000002"),
        (-2e-12, "-2e-12"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
    ],
)
def test_scores_outside_zero_and_one(metric, score, shown):
    match = rf"{metric.argument} must lie in \[0, 1\], got {shown} in row 2"
    with pytest.raises(ValueError, match=match):
        measure(metric, labels(metric, 4), [0.5, 0.2, score, 0.1], [0, 0, 1, 1])


@each_kind_of_scores
def test_scores_outside_zero_and_one_by_rounding_only(metric):
    groups = [0, 1, 0, 1, 0, 1]
    values = np.array([1 + 2e-16, -1e-17, 0.4, 1 - 1e-16, 1 + 9e-13, -5e-324])
    given = values.copy()
    y_true = labels(metric, 6)
    expected = measure(metric, y_true, [1, 0, 0.4, 1 - 1e-16, 1, 0], groups)
    np.testing.assert_array_equal(measure(metric, y_true, values, groups), expected)
    np.testing.assert_array_equal(values, given)


@each_kind_of_scores
def test_text_scores(metric):
    with pytest.raises(ValueError, match="'high'") as raised:
        measure(metric, labels(metric, 3), ["high", "low", "low"], [0, 0, 1])
    assert metric.argument in str(raised.value)


@each_kind
@in_turn("n_columns", [2, 3])
def test_two_dimensional_input(metric, n_columns):
    y_true, values = few_rows(metric, 4)
    columns = np.repeat(values[:, np.newaxis], n_columns, axis=1)
    # Several metrics take three columns: probabilities of three classes.
    shape = rf"must have shape \(n_samples,\).*{n_columns}"
    match = rf"{metric.argument} ({shape}|must have rows that sum to 1)"
    with pytest.raises(ValueError, match=match):
        measure(metric, y_true, columns, [0, 0, 1, 1])


@each_kind
def test_no_rows(metric):
    named = f"(y_true|{metric.argument})"
    with pytest.raises(ValueError, match=f"{named} has 0 rows"):
        measure(metric, [], [], [])


@each_kind
@in_turn("n_rows", [3, 5])
@in_turn("argument", ["sensitive_features", "sample_weight", "y_true"])
def test_wrong_lengths(metric, argument, n_rows):
    y_true, values = few_rows(metric, 4)
    arguments = {"y_true": y_true, "sensitive_features": [0, 0, 1, 1]}
    arguments[argument] = ([0, 1] * 3)[:n_rows]
    y_true = arguments.pop("y_true")
    with pytest.raises(ValueError, match=f"{argument} .*({n_rows}.* 4|4,.*{n_rows})"):
        metric.function(y_true, values, **arguments)


@each_kind
def test_sensitive_features_are_needed(metric):
    with pytest.raises(ValueError, match="sensitive_features is None"):
        metric.function(*few_rows(metric, 4))


@each_kind
@in_turn(
    "column",
    [
        ["F", None, "M", None],
        ["F", np.nan, "M", np.nan],
        [0.0, np.nan, 1.0, np.nan],
        np.array(["F", pd.NA, "M", pd.NA], dtype=object),
        pd.Series(["F", None, "M", None], dtype="string"),
        pl.Series(["F", None, "M", None]),
    ],
)
def test_missing_groups(metric, column):
    with pytest.raises(ValueError, match="sensitive_features has 2 missing values"):
        measure(metric, *few_rows(metric, 4), column)


@each_kind
def test_missing_groups_left_out_or_a_group(metric):
    y_true, values, groups = draw_rows(metric, 3)
    labels = np.array(["F", "M", None], dtype=object)[groups]
    known = groups < 2
    dropped = measure(metric, y_true, values, encode_groups(labels, missing="drop"))
    expected = measure(metric, y_true[known], values[known], labels[known])
    np.testing.assert_array_equal(dropped, expected)
    grouped = measure(metric, y_true, values, encode_groups(labels, missing="group"))
    np.testing.assert_array_equal(grouped, measure(metric, y_true, values, groups))


@each_kind
@in_turn("weight", [-1, -0.5, np.nan, np.inf, 5e-324, 1e-160, 1e160, 1e308])
def test_weights_that_cannot_be_added_up(metric, weight):
    match = f"sample_weight must be finite and non-negative, .*got {float(weight)}"
    if 0 < weight < np.inf:
        match = "sample_weight must be .* 0 or between 1e-150 and 1e[+]150, got .*row 2"
    with pytest.raises(ValueError, match=match):
        measure(metric, *few_rows(metric, 3), [0, 1, 1], sample_weight=[1, 1, weight])


@each_kind
def test_a_single_value_stands_for_no_rows(metric):
    y_true, values, groups = draw_rows(metric)
    with pytest.raises(ValueError, match=f"{metric.argument} must "):
        measure(metric, y_true, values[0], groups)


@each_kind
def test_true_labels_without_a_hash_are_named(metric):
    y_true, values, groups = draw_rows(metric)
    y_true = np.array([{}, *y_true[1:]], dtype=object)
    with pytest.raises((TypeError, ValueError), match="y_true must "):
        measure(metric, y_true, values, groups)


@each_kind
@in_turn("argument", ["y_true", "values", "sensitive_features", "sample_weight"])
def test_masked_entries_are_missing(metric, argument):
    y_true, values, groups = draw_rows(metric)
    rows = {
        "y_true": y_true,
        "values": values,
        "sensitive_features": groups,
        "sample_weight": np.ones(len(groups)),
    }
    entries = np.ma.array(rows[argument], mask=False)
    expected = measure(metric, y_true, values, groups)
    *arguments, weights = (rows | {argument: entries}).values()
    found = measure(metric, *arguments, sample_weight=weights)
    np.testing.assert_array_equal(found, expected)
    entries[[2, 5]] = np.ma.masked
    name = metric.argument if argument == "values" else argument
    with pytest.raises(ValueError, match=f"{name} has 2 (masked|missing)"):
        measure(metric, *arguments, sample_weight=weights)


@each_kind
def test_group_without_weight(metric):
    rows = [*few_rows(metric, 3), ["F", "M", "M"]]
    with pytest.raises(ValueError, match=r"sample_weight is zero .*\['M'\]"):
        measure(metric, *rows, sample_weight=[1, 0, 0])


@for_metrics(lambda metric: metric.n_classes in (None, 2) and not metric.reads_y_true)
@in_turn("y_true", [[0, 1, 2, 1], ["a", "b", "c", "a"], [0.0, 0.5, 1.0, 1.0]])
def test_three_classes(metric, y_true):
    with pytest.raises(ValueError, match="y_true must be binary, got 3 classes"):
        measure(metric, y_true, few_rows(metric, 4)[1], [0, 0, 1, 1])


@each_kind
def test_missing_y_true(metric):
    with pytest.raises(ValueError, match="y_true"):
        measure(metric, [1, np.nan, 1], few_rows(metric, 3)[1], [0, 0, 1])


def takes_labels(metric):
    options = getattr(metric.function, "keywords", {})
    of_scores = options.keys() & {"scale", "threshold"}  # then it takes no labels
    return not of_scores and "pos_label" in signature(metric.function).parameters


@for_metrics(takes_labels)
def test_missing_labels_in_a_list_of_text(metric):
    """NumPy turns nan in a list of text into the text "nan"."""
    values = few_rows(metric, 4)[1]
    of_text = ["yes", np.nan, "yes", np.nan]
    arguments = [of_text, values] if metric.reads_y_true else [None, of_text]
    with pytest.raises(ValueError, match="has 2 missing labels"):
        metric.function(*arguments, sensitive_features=[0, 0, 1, 1], pos_label="yes")


@for_metrics(lambda metric: metric.reads_y_true)
def test_y_true_is_needed(metric):
    with pytest.raises(ValueError, match=r"y_true .*None"):
        measure(metric, None, few_rows(metric, 3)[1], [0, 0, 1])


@each_kind_of_multigroup
@in_turn("groups", [[0, 0, 1], [0, 1, 2]])
@in_turn("multigroup", ["x", None, "PAIRWISE"])
def test_unknown_multigroup(metric, groups, multigroup):
    match = f"multigroup must be 'pairwise' or 'pooled', got {multigroup!r}"
    with pytest.raises(ValueError, match=match):
        measure(metric, *few_rows(metric, 3), groups, multigroup=multigroup)


# --- groups for which it is not defined: nan, and a warning that says why


def assert_undefined(metric, groups, match):
    rows = few_rows(metric, len(groups))
    with pytest.warns(UndefinedMetricWarning, match=match) as caught:
        result = metric.function(*rows, sensitive_features=groups)
    assert len(caught) == 1
    if sys.version_info >= (3, 12):
        assert caught[0].filename == __file__
    assert str(caught[0].message).startswith(function_of(metric.function).__name__)
    if isinstance(result, tuple):
        result = result[1]
    elif isinstance(result, MADDBandwidthResult):
        result = [*result.interval, result.value, result.std, *result.values]
    assert np.isnan(result).all()


@every_metric
@pytest.mark.parametrize("label", ["F", pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.promise("Undefined is nan with a warning that names the groups")
def test_one_group(metric, label):
    match = rf"at least two groups, got (only )?\[{label!r}\]"
    assert_undefined(metric, [label] * 4, match)


@every_metric
def test_absent_category(metric):
    column = pd.Categorical(["F", "M", "F"], categories=["F", "M", "other"])
    for groups in (column, pd.Series(column), pd.DataFrame({"sex": column})):
        assert_undefined(metric, groups, "'other' has 0 rows")


@every_metric
def test_group_below_the_minimal_size(metric):
    groups = encode_groups(["F", "M", "M", "F", "M"], min_group_size=3)
    match = r"at least 3 rows, but 'F' has 2 rows|fewer than 3 rows .*'F'"
    assert_undefined(metric, groups, match)


@each_kind
def test_group_of_the_minimal_size_is_enough(metric):
    y_true, values, groups = draw_rows(metric)
    # Error rates need as many rows of each true label.
    cells = groups * 3 + y_true if metric.reads_y_true else groups
    if metric.counts_decisions:
        cells = groups * 3 + values  # as many of each decision
    _, sizes = np.unique(cells, return_counts=True)
    least = encode_groups(groups, min_group_size=int(sizes.min()))
    value = measure(metric, y_true, values, least)
    np.testing.assert_array_equal(value, measure(metric, y_true, values, groups))


@each_kind
def test_rows_of_weight_zero_do_not_fill_a_group(metric):
    rows = [*few_rows(metric, 4), encode_groups(list("FFMM"), min_group_size=2)]
    match = r"'M' has (0 rows|1 row)|fewer than 2 rows .*'M'"
    with pytest.warns(UndefinedMetricWarning, match=match):
        measure(metric, *rows, sample_weight=[1, 1, 1, 0])


@each_kind
def test_no_known_group(metric):
    groups = encode_groups([None, None], missing="drop")
    assert_undefined(metric, groups, "at least two groups")


# --- tables in place of rows


@every_metric
@pytest.mark.promise("A table takes the place of its rows")
def test_pickled_tables_measure_the_same(metric):
    y_true, values, groups = draw_rows(metric, 3)
    table = table_of(metric, y_true, values, groups)
    first = flatten(metric.function(None, table))
    again = flatten(metric.function(None, pickle.loads(pickle.dumps(table))))
    np.testing.assert_array_equal(first, again)
    assert_same(metric, first, measure(metric, y_true, values, groups))
    weights = {"sample_weight": np.arange(len(groups)) % 3 + 1}
    table = table_of(metric, y_true, values, groups, **weights)
    expected = measure(metric, y_true, values, groups, **weights)
    assert_same(metric, flatten(metric.function(None, table)), expected)


@each_kind
@in_turn(
    ("argument", "value"),
    [("y_true", [0, 1]), ("sensitive_features", ["F", "M"]), ("sample_weight", [1, 2])],
)
def test_rows_beside_a_table_are_refused(metric, argument, value):
    table = table_of(metric, *few_rows(metric, 2), ["F", "M"])
    arguments = {"y_true": None, argument: value}
    y_true = arguments.pop("y_true")
    with pytest.raises(ValueError, match=f"{argument} must be None where a table"):
        metric.function(y_true, table, **arguments)


# --- strata


def draw_strata(metric, n_groups=2, n_strata=3):
    """Rows of `draw_rows`, with a stratum in which groups differ in other ways."""
    parts = [draw_rows(metric, n_groups, 80 + 40 * i, seed=i) for i in range(n_strata)]
    rows = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    strata = np.repeat(np.arange(n_strata), [len(part[0]) for part in parts])
    order = np.random.default_rng(0).permutation(len(strata))
    return *(column[order] for column in rows), strata[order]


@every_metric_within_strata
@pytest.mark.parametrize(
    "multistratum", ["max", pytest.param("weighted", marks=pytest.mark.slow)]
)
def test_one_stratum_is_the_metric_itself(metric, multistratum):
    rows = draw_rows(metric, 3)
    options = {"control_features": ["all"] * len(rows[0]), "multistratum": multistratum}
    for more in each_multigroup(metric):
        value = measure(metric, *rows, **options, **more)
        np.testing.assert_array_equal(value, measure(metric, *rows, **more))


@every_number_within_strata
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True]
)
@pytest.mark.promise("Within strata the value is the largest, or the mean, of theirs")
def test_strata_are_evaluated_one_by_one(metric, weighted):
    *rows, strata = draw_strata(metric, 3)
    sample_weight = np.random.default_rng(1).integers(0, 4, len(strata)) + 0.5
    sample_weight = sample_weight if weighted else np.ones(len(strata))
    values, weights = [], []
    for stratum in np.unique(strata):
        own = strata == stratum
        part = [column[own] for column in rows]
        values.append(measure(metric, *part, sample_weight=sample_weight[own])[0])
        weights.append(sample_weight[own].sum())
    options = {"control_features": strata, "sample_weight": sample_weight}
    assert measure(metric, *rows, **options)[0] == max(values)
    mean = measure(metric, *rows, **options, multistratum="weighted")[0]
    assert mean == pytest.approx(np.average(values, weights=weights), abs=1e-13)


@each_kind_within_strata
def test_rows_without_a_stratum_are_left_out(metric):
    rows = draw_rows(metric, 3)
    chosen = np.arange(len(rows[0])) % 5 > 0
    strata = encode_groups(np.where(chosen, 1, None), missing="drop")
    value = measure(metric, *rows, control_features=strata)
    expected = measure(metric, *(column[chosen] for column in rows))
    np.testing.assert_array_equal(value, expected)


@each_kind_within_strata
def test_strata_without_two_groups_are_left_out_and_named(metric):
    *rows, strata = draw_strata(metric)
    names = np.array(["first", "second", "third"])[strata]
    kept = (names != "second") | (rows[2] == 0)
    rows, names = [column[kept] for column in rows], names[kept]
    with pytest.warns(UndefinedMetricWarning, match="leaves out .*'second'") as caught:
        value = measure(metric, *rows, control_features=names)
    assert [w.category for w in caught].count(UndefinedMetricWarning) == 1
    if sys.version_info >= (3, 12):
        assert {w.filename for w in caught} == {__file__}
    others = names != "second"
    expected = measure(
        metric, *(column[others] for column in rows), control_features=names[others]
    )
    np.testing.assert_array_equal(value, expected)


@every_metric_within_strata
def test_no_stratum_has_two_groups(metric):
    y_true, values = few_rows(metric, 4)
    match = "nan: no stratum has two groups .*'F'.* and 'M'"
    groups = [1, 1, 2, 2]
    with pytest.warns(UndefinedMetricWarning, match=match) as caught:
        result = metric.function(
            y_true, values, sensitive_features=groups, control_features=list("FFMM")
        )
    assert len(caught) == 1
    assert np.isnan(
        np.atleast_1d(result[-1] if isinstance(result, tuple) else result)
    ).all()
    undefined = encode_groups([None] * 4, missing="drop")
    with pytest.warns(UndefinedMetricWarning, match="undefined and set to nan"):
        metric.function(
            y_true, values, sensitive_features=groups, control_features=undefined
        )


@each_kind_within_strata
@in_turn(
    ("strata", "message"),
    [
        (["a"] * 3, "control_features has 3 rows, expected 4"),
        (["a", None, "b", None], "control_features has 2 missing values"),
        ("dept", "control_features must have shape"),
        (np.ma.array([1, 1, 2, 2], mask=[0, 1, 0, 0]), "1 missing"),
    ],
)
def test_bad_strata(metric, strata, message):
    with pytest.raises(ValueError, match=message):
        measure(metric, *few_rows(metric, 4), [0, 0, 1, 1], control_features=strata)


@each_kind_within_strata
@in_turn("strata", [None, ["a", "a", "b", "b"]])
def test_unknown_multistratum(metric, strata):
    options = {"control_features": strata, "multistratum": "mean"}
    match = "multistratum must be 'max' or 'weighted', got 'mean'"
    with pytest.raises(ValueError, match=match):
        measure(metric, *few_rows(metric, 4), [0, 1, 0, 1], **options)


@for_metrics(lambda metric: metric.takes_strata and metric.n_classes is None)
def test_bad_scores_are_named_by_their_position_among_all_rows(metric):
    scores = [0.5, 0.2, 0.3, np.nan]
    with pytest.raises(ValueError, match=f"{metric.argument} .* nan in row 3"):
        measure(metric, [0, 1] * 2, scores, [0, 1, 0, 1], control_features=list("aabb"))


@each_kind_within_strata
def test_strata_of_a_table_are_those_of_the_rows(metric):
    *rows, strata = draw_strata(metric, 3)
    table = table_of(metric, *rows, control_features=strata)
    expected = measure(metric, *rows, control_features=strata)
    assert_same(metric, flatten(metric.function(None, table)), expected)
    with pytest.raises(ValueError, match="control_features must be None where a table"):
        metric.function(None, table, control_features=strata)


# --- more than two groups


@every_number_of_multigroup
@pytest.mark.parametrize(
    ("n_groups", "n_rows"),
    [
        (4, 200),
        *(pytest.param(*n, marks=pytest.mark.slow) for n in ((8, 600), (20, 300))),
    ],
)
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True]
)
@pytest.mark.promise("With several groups the value is the largest over pairs")
def test_pairwise_is_the_largest_value_over_pairs(metric, n_groups, n_rows, weighted):
    rows = draw_rows(metric, n_groups, n_rows, seed=n_groups)
    weights = np.random.default_rng(0).uniform(0.5, 2, n_rows) if weighted else None
    values = []
    for pair in combinations(np.unique(rows[2]), 2):
        own = np.isin(rows[2], pair)
        sample_weight = weights[own] if weighted else None
        part = [column[own] for column in rows]
        values.append(measure(metric, *part, sample_weight=sample_weight)[0])
    value = measure(metric, *rows, sample_weight=weights)[0]
    assert value == pytest.approx(max(values), abs=1e-13)


@every_number_of_multigroup
@pytest.mark.parametrize(
    ("n_groups", "n_rows"),
    [
        (3, 200),
        *(
            pytest.param(*n, marks=pytest.mark.slow)
            for n in ((2, 90), (20, 300), (200, 900))
        ),
    ],
)
def test_pooled_compares_each_group_with_everyone(metric, n_groups, n_rows):
    if metric.function is madd:
        n_groups = min(n_groups, 50)
    if metric.n_classes:
        n_rows = max(n_rows, 10 * n_groups)
    y_true, values, groups = draw_rows(metric, n_groups, n_rows, seed=n_groups)
    groups = groups.astype(str)  # many groups that are numbers are warned of
    found = []
    for group in np.unique(groups):
        own = groups == group
        against = np.repeat(["group", "everyone"], [own.sum(), n_rows])
        pair = (np.concatenate([column[own], column]) for column in (y_true, values))
        found.append(measure(metric, *pair, against)[0])
    value = measure(metric, y_true, values, groups, multigroup="pooled")[0]
    assert value == pytest.approx(max(found), abs=1e-13)


@each_kind_of_scores
def test_tables_of_scores_in_bins_are_refused(metric):
    rows = {"sensitive_features": ["F", "M"], "n_bins": 4}
    table = CountTable.from_rows([0, 1], [0.2, 0.6], **rows)
    with pytest.raises(TypeError, match=f"{metric.argument} must be .*metric_bounds"):
        metric.function(None, table)


# --- what a new metric must not lack


def public_numbers():
    """Functions of `skfair.metrics` of rows and groups that return one number."""
    functions = [getattr(skfair.metrics, name) for name in skfair.metrics.__all__]
    return [
        function
        for function in functions
        if isfunction(function)
        and signature(function).return_annotation in ("float", float)
        and "sensitive_features" in signature(function).parameters
    ]


def test_every_public_number_is_among_the_metrics():
    tested = {function_of(metric.function) for metric in METRICS.values()}
    assert set(public_numbers()) <= tested
    assert len(public_numbers()) >= 10


@pytest.mark.parametrize("function", public_numbers(), ids=lambda f: f.__name__)
def test_every_number_has_a_scorer_of_its_name(function):
    """The scorer of a metric, named after it, is minus its value."""
    metric = next(m for m in METRICS.values() if function_of(m.function) is function)
    y_true, values, groups = draw_rows(metric, n_rows=60)
    y_true, values = y_true % 2, values if metric.n_classes is None else values % 2
    if not metric.reads_y_true:
        groups = np.arange(60) % 2  # for a number, whose values need enough rows

    class Fixed(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (X[:, 0] >= 0.5).astype(int)

        def predict_proba(self, X):
            return np.stack([1 - X[:, 0], X[:, 0]], axis=1)

    scorer = get_fairness_scorer(f"neg_{function.__name__}")
    X = np.asarray(values, dtype=float)[:, np.newaxis]
    score = scorer(Fixed(), X, y_true, sensitive_features=groups)
    read = X[:, 0] if metric.argument == "y_score" else Fixed().predict(X)
    assert score == -function(y_true, read, sensitive_features=groups) != 0


@for_metrics(lambda metric: metric.is_number and metric.n_classes is None)
def test_scores_of_three_classes(metric):
    """The value is the largest over the columns, one for each class.

    A metric of two classes alone has a line above in which this test is `exempt`.
    """
    generator = np.random.default_rng(0)
    groups = np.arange(80) % 2
    scores = generator.dirichlet([1, 1, 1], 80)
    scores[groups == 1] = generator.dirichlet([4, 2, 1], 40)
    value = metric.function(None, scores, sensitive_features=groups)
    by_class = [
        metric.function(None, column, sensitive_features=groups) for column in scores.T
    ]
    assert value == max(by_class) > min(by_class)


@every_number_within_strata
def test_metrics_of_errors_say_so(metric):
    """Groups are permuted within true labels if and only if these are compared."""
    compares = made(metric.function).exchangeable == "same true label"
    reads = metric.reads_y_true and "error_rate" not in str(metric.function)
    assert compares == reads, (
        'a rate among true labels needs exchangeable = "same true label"; a rate among '
        'decisions leaves it at "all", needs a line with of_decisions above, and tells '
        'users of within=y_pred; a loss of all rows leaves it at "all", too, and needs '
        "a line with of_losses"
    )


# --- tables that are not in memory, and rows in another order


@each_kind
def test_a_table_elsewhere_names_skfair_frames(metric):
    y_true, values = few_rows(metric, 8)
    table = pl.LazyFrame({"score": values})
    with pytest.raises(TypeError, match=r"skfair\.frames"):
        metric.function(y_true, table, sensitive_features=["a", "b"] * 4)


@every_number
@pytest.mark.promise("Rows are matched by position; another order is warned of")
def test_rows_in_another_order_are_warned_of_and_matched_by_position(metric):
    y_true, values, groups = draw_rows(metric)
    order = np.random.default_rng(0).permutation(len(groups))
    expected = measure(metric, y_true, values, groups)
    values, given = pd.Series(values), pd.Series(groups, index=order)
    y_true = None if y_true is None else pd.Series(y_true)
    with pytest.warns(UserWarning, match="same index labels in different orders") as it:
        found = measure(metric, y_true, values, given)
    assert len([w for w in it if "index labels" in str(w.message)]) == 1
    assert_same(metric, found, expected)
    measure(metric, y_true, values, given.reset_index(drop=True))
    measure(metric, y_true, values, given.set_axis(np.arange(len(order)) + 1))
