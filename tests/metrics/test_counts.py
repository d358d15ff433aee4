"""Counts: a row that stands for several people is as good as a row for each."""

import inspect
from functools import partial
from itertools import product
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

import skfair.metrics
from skfair.metrics import (
    abcc,
    abroca,
    bootstrap_interval,
    calibration_gap,
    certify,
    confidence_interval,
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    group_metrics,
    impact_ratio_shortfall,
    impact_ratios,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    max_gap,
    max_gap_test,
    mcdp,
    mcdp_curve,
    mean_absolute_error_difference,
    mean_error_difference,
    permutation_test,
    predictive_value_difference,
    rate_variance,
    true_positive_rate_difference,
    values_by_class,
    values_by_stratum,
)
from skfair.statistics import CountTable

N = 90
# Groups of few rows of a label: their values are nan in both.
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.UndefinedMetricWarning"
)
METRICS = {
    "mcdp": (mcdp, "scores"),
    "mcdp of windows": (partial(mcdp, epsilon=0.1), "scores"),
    "mcdp of ranks": (partial(mcdp, scale="rank"), "scores"),
    "mcdp of classes": (mcdp, "columns"),
    "mcdp pooled": (partial(mcdp, multigroup="pooled"), "scores"),
    "abcc": (abcc, "scores"),
    "madd": (partial(madd, bandwidth=0.1), "scores"),
    "madd auto": (madd, "scores"),
    "abroca": (abroca, "scores"),
    "calibration": (calibration_gap, "scores"),
    "parity": (demographic_parity_difference, "decisions"),
    "mean score": (partial(demographic_parity_difference, scale="real"), "scores"),
    "odds": (equalized_odds_difference, "decisions"),
    "tpr": (true_positive_rate_difference, "decisions"),
    "fpr": (false_positive_rate_difference, "decisions"),
    "precision": (predictive_value_difference, "decisions"),
    "ratio": (impact_ratio_shortfall, "decisions"),
    "dcp": (dcp, "decisions"),
    "max_gap": (max_gap, "decisions"),
    "cvar": (partial(cvar_fairness, alpha=0.5), "decisions"),
    "error": (mean_error_difference, "scores"),
    "absolute error": (mean_absolute_error_difference, "scores"),
}
WEIGHTS = None, "fractional", "whole"
KINDS = "decisions", "scores"


def table_of(kind, seed=0):
    """Draw rows, and the people that they stand for: some for nobody."""
    generator = np.random.default_rng(seed)
    y_true = generator.integers(0, 2, N)
    values = generator.integers(0, 2, N)
    if kind == "scores":
        values = generator.integers(0, 11, N) / 10
    if kind == "columns":
        y_true, values = None, generator.dirichlet([1, 1, 1], N)
    rows = {
        "sensitive_features": generator.choice(list("abc"), N),
        "control_features": generator.choice(["u", "v", "w"], N, p=[0.5, 0.4, 0.1]),
    }
    weights = {
        None: None,
        "fractional": generator.choice([0, 0.5, 1.25, 2], N),
        "whole": generator.integers(0, 4, N),
    }
    counts = generator.choice([0, 2, 4, 9], N)
    return y_true, values, rows, weights, counts


def both(evaluate, kind, *, strata=False, weight=None, seed=0, **options):
    """Evaluate a table of counts, and its rows."""
    y_true, values, rows, weights, counts = table_of(kind, seed)
    rows["sample_weight"] = weights[weight]
    if not strata:
        del rows["control_features"]
    people = np.repeat(np.arange(N), counts)
    each = {name: None if v is None else v[people] for name, v in rows.items()}
    true = None if y_true is None else y_true[people]
    return (
        evaluate(y_true, values, **rows, counts=counts, **options),
        evaluate(true, values[people], **each, **options),
    )


#: Metrics that read counts in a way of their own.
OF_EACH_KIND = {
    *("mcdp", "mcdp of windows", "mcdp of classes", "mcdp of ranks", "madd", "abroca"),
    *("calibration", "mean score", "odds", "precision", "ratio", "dcp", "cvar"),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in OF_EACH_KIND))
        for name in METRICS
    ],
)
def test_a_table_has_the_value_of_its_rows(name):
    """Whatever the strata and weights; without weights but for rounding of sums."""
    metric, kind = METRICS[name]
    if name == "mean score":
        metric = partial(metric, multistratum="weighted")
    for strata, weight in product([False, True], WEIGHTS):
        found, expected = both(metric, kind, strata=strata, weight=weight)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        if weight is None and name in ("mcdp", "parity", "odds", "tpr", "abroca"):
            assert found == expected or np.isnan(expected)


BOUNDED = [
    *((name, None) for name in ("mcdp", "max_gap", "cvar", "error")),
    *((name, "fractional") for name in ("mcdp of windows", "madd", "odds")),
    *(("mcdp", "whole"), ("mean score", None)),
]
#: What is bounded as one of them is, by more work.
AS_BOUNDED = [
    *((name, None) for name in ("mcdp of windows", "mcdp of classes", "madd")),
    *((name, None) for name in ("abcc", "parity", "odds", "tpr", "precision")),
    ("mcdp", "fractional"),
]


@pytest.mark.parametrize(
    ("name", "weight"),
    [*BOUNDED, *(pytest.param(*each, marks=pytest.mark.slow) for each in AS_BOUNDED)],
)
def test_intervals_and_certificates_are_those_of_the_rows(name, weight):
    metric, kind = METRICS[name]
    methods = ["band"]
    if weight is None and name not in ("mean score", "error"):
        methods += ["finite_sample", "anytime"]
    for method in methods:
        strata = weight is not None or method != "band"
        options = {"strata": strata, "weight": weight, "method": method}
        a, b = both(partial(confidence_interval, metric), kind, **options)
        ends = [[x.value, x.lower, x.upper] for x in (a, b)]
        np.testing.assert_allclose(*ends, atol=1e-10)
        a, b = both(partial(certify, metric, at_most=0.4), kind, **options)
        found = [[x.smallest_certified, x.pvalue] for x in (a, b)]
        np.testing.assert_allclose(*found, atol=1e-8)


def own(y_true, y_pred, *, sensitive_features, sample_weight=None):
    """Difference of mean predictions, by a function of the user's own."""
    means = [
        np.average(
            y_pred[sensitive_features == group],
            weights=None
            if sample_weight is None
            else sample_weight[sensitive_features == group],
        )
        for group in np.unique(sensitive_features)
    ]
    return max(means) - min(means)


DRAWN = {
    **{name: METRICS[name] for name in ("mcdp", "mcdp of classes", "abroca", "odds")},
    **{name: METRICS[name] for name in ("precision", "calibration", "dcp", "cvar")},
    "own": (own, "decisions"),
}


#: A value of scores, and one of the rows of one decision.
QUICK = "mcdp", "precision"
#: Options that are drawn with any metric; the other metrics are drawn without.
OPTIONS = {
    "mcdp of classes": {"strata": True, "weight": "fractional"},
    "abroca": {"strata": True, "weight": "fractional"},
    "own": {"strata": True, "weight": "fractional"},
}


def drawn(name, *given):
    slow = [pytest.mark.slow] * (name not in QUICK)
    return pytest.param(name, *given, marks=slow)


@pytest.mark.parametrize(
    ("name", "within"),
    [
        *(drawn(name, False) for name in DRAWN),
        pytest.param("mcdp", True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:within='auto'")
def test_permutations_deal_people(name, within):
    """The null distribution is that of rows: within errors of both simulations."""
    metric, kind = DRAWN[name]
    options = OPTIONS.get(name, {}) | {"n_permutations": 99}
    test = partial(permutation_test, metric, random_state=0)

    def evaluate(y_true, values, *, counts=None, **rows):
        if within:  # by what a row is, so that both tables have the same
            rows["within"] = np.round(10 * np.ravel(values)[: len(values)]) % 2
        return test(y_true, values, counts=counts, **rows)

    a, b = both(evaluate, kind, **options)
    assert a.value == pytest.approx(b.value, abs=1e-12)
    share = (a.pvalue + b.pvalue) / 2
    assert abs(a.pvalue - b.pvalue) <= 4 * (2 * share * (1 - share) / 100) ** 0.5
    noise = b.null_distribution.std() * (2 / 99) ** 0.5
    assert abs(a.null_mean - b.null_mean) <= 4 * noise
    assert sorted(a.pairs.get("gap", ())) == pytest.approx(
        sorted(b.pairs.get("gap", ())), abs=1e-12
    )


@pytest.mark.parametrize("name", [drawn(name) for name in DRAWN])
def test_resamples_draw_people(name):
    metric, kind = DRAWN[name]
    evaluate = partial(bootstrap_interval, metric, random_state=0, n_resamples=99)
    a, b = both(evaluate, kind, **OPTIONS.get(name, {}))
    a, b = (x.distribution[~np.isnan(x.distribution)] for x in (a, b))
    spread = np.std(b)
    assert abs(a.mean() - b.mean()) <= spread / 2
    assert 0.7 * spread <= np.std(a) <= 1.43 * spread


def test_published_table_has_the_pvalue_of_its_rows():
    """As weights, 48 people in four rows are four people: nothing is significant."""
    rows = {"sensitive_features": ["F", "F", "M", "M"]}
    hired, people = [1, 0, 1, 0], [6, 18, 16, 8]
    test = partial(
        permutation_test,
        demographic_parity_difference,
        None,
        hired,
        n_permutations=199,
        random_state=0,
    )
    assert test(**rows, counts=people).pvalue < 0.02
    assert test(**rows, sample_weight=people).pvalue > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strata", "weight"),
    [(False, None), (True, "fractional"), (True, "whole")],
)
def test_tables_of_groups_are_those_of_the_rows(strata, weight):
    names = ["accuracy", "recall_score", "selection_rate", "f1_score", "roc_auc"]
    if weight is None:
        names.append(lambda true, predicted: float(np.median(true == predicted)))

    def evaluate(y_true, decisions, **rows):
        options = {"y_score": decisions / 2 + 0.1, "confidence_level": None}
        return group_metrics(names, y_true, decisions, **options, **rows)

    a, b = both(evaluate, "decisions", strata=strata, weight=weight)
    for part in ("groups", "overall_table", "disparities", "sizes"):
        pd.testing.assert_frame_equal(getattr(a, part), getattr(b, part))
    rates = partial(group_metrics, ["accuracy", "selection_rate"])
    a, b = both(rates, "decisions", strata=strata, weight=weight)
    pd.testing.assert_frame_equal(a.groups, b.groups)
    pd.testing.assert_frame_equal(a.disparities, b.disparities)


@pytest.mark.slow
def test_resamples_of_group_metrics_draw_people():
    def right(true, predicted):
        return float(np.mean(true == predicted))

    evaluate = partial(group_metrics, right, random_state=0, n_resamples=99)
    a, b = both(evaluate, "decisions")
    widths = [(x.groups["upper"] - x.groups["lower"]).to_numpy() for x in (a, b)]
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.35)


@pytest.mark.parametrize(
    ("rate", "weight"),
    [
        ("scoring", "fractional"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [
                *(("selection", weight) for weight in WEIGHTS),
                *(("scoring", None), ("scoring", "whole")),
            ]
        ),
    ],
)
def test_impact_ratios_are_those_of_the_rows(rate, weight):
    kind = "decisions" if rate == "selection" else "scores"

    def evaluate(_, values, *, sensitive_features, control_features, **people):
        races = pd.Series(control_features).replace({"w": None})
        columns = pd.DataFrame({"sex": sensitive_features, "race": races})
        rows = {"sensitive_features": columns, "rate": rate}
        return impact_ratios(None, values, **rows, **people)

    a, b = both(evaluate, kind, strata=True, weight=weight)
    pd.testing.assert_frame_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("weight", WEIGHTS)
def test_other_functions_of_rows_count_people(weight):
    decisions, scores = (partial(both, kind=k, weight=weight) for k in KINDS)
    pd.testing.assert_frame_equal(*decisions(cvar_fairness_report))
    for curve in mcdp_curve, madd_curve:
        for a, b in zip(*scores(curve), strict=True):
            np.testing.assert_allclose(a, b)
    for strata in False, True:
        a, b = scores(madd_optimal_bandwidth, strata=strata)
        assert (a.value, a.h_sup) == pytest.approx((b.value, b.h_sup))
    by_stratum = scores(partial(values_by_stratum, mcdp), strata=True)
    pd.testing.assert_frame_equal(*by_stratum)
    by_class = both(partial(values_by_class, mcdp), "columns", weight=weight)
    pd.testing.assert_series_equal(*by_class)
    test = partial(cvar_fairness_test, alpha=0.5, epsilon=0.1, random_state=0)
    for evaluate in test, partial(max_gap_test, random_state=0):
        a, b = decisions(evaluate, n_permutations=199)
        assert a.value == pytest.approx(b.value)
        assert a.pvalue == pytest.approx(b.pvalue, abs=0.15)


def test_variance_of_rates_counts_people():
    y_true, decisions, rows, _, counts = table_of("decisions")
    groups, people = rows["sensitive_features"], np.repeat(np.arange(N), counts)
    found = rate_variance(y_true, decisions, sensitive_features=groups, counts=counts)
    assert found == rate_variance(
        None, decisions[people], sensitive_features=groups[people]
    )


def test_weights_times_a_constant_change_nothing():
    """Whole or not: weights do not say how many people there are."""
    _, scores, rows, weights, _ = table_of("scores")
    groups = {"sensitive_features": rows["sensitive_features"]}
    whole = np.maximum(weights["whole"], 1)
    for unit in 2, 0.37, 1000:
        for name in "mcdp", "madd auto", "abcc", "mean score":
            metric = METRICS[name][0]
            a, b = (
                metric(None, scores, **groups, sample_weight=w)
                for w in (whole, whole * unit)
            )
            assert a == pytest.approx(b, rel=1e-9)
        a, b = (
            confidence_interval(mcdp, None, scores, **groups, sample_weight=w)
            for w in (whole, whole * unit)
        )
        assert (a.lower, a.upper) == pytest.approx((b.lower, b.upper), rel=1e-9)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([2.5, 1, 1, 1], "counts must be whole numbers .* got 2.5 in row 0"),
        ([1, -1, 1, 1], "counts must be whole numbers .* got -1 in row 1"),
        ([1, 1, np.nan, 1], "counts must be whole numbers .* got nan in row 2"),
        ([1, 1, 1, np.inf], "counts must be whole numbers .* got inf in row 3"),
        ([1, 1, 1], r"counts must have shape \(4,\)"),
        (["1", "1", "1", "1"], "counts must be numbers, got '1' in row 0"),
        ([2**52] * 4, "counts must add up to less than"),
    ],
)
@pytest.mark.parametrize(
    "evaluate",
    [
        demographic_parity_difference,
        pytest.param(
            partial(permutation_test, demographic_parity_difference),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            partial(confidence_interval, demographic_parity_difference),
            marks=pytest.mark.slow,
        ),
        partial(group_metrics, "selection_rate"),
        pytest.param(impact_ratios, marks=pytest.mark.slow),
    ],
)
def test_counts_that_count_nobody_are_refused(evaluate, bad, message):
    with pytest.raises(ValueError, match=message):
        evaluate(None, [1, 0, 1, 0], sensitive_features=list("FFMM"), counts=bad)


def test_counts_may_be_whole_floats():
    rows = {"sensitive_features": list("FFMM")}
    for counts in [3.0, 1, 2, 2], pd.Series([3, 1, 2, 2], dtype="Int64"):
        value = demographic_parity_difference(None, [1, 0, 1, 0], **rows, counts=counts)
        assert value == 0.25


def test_counts_are_refused_beside_a_table_and_as_an_option():
    _, scores, rows, _, counts = table_of("scores")
    groups = rows["sensitive_features"]
    statistic = CountTable.from_rows(None, scores, sensitive_features=groups)
    for evaluate in (
        mcdp,
        partial(permutation_test, mcdp),
        partial(bootstrap_interval, mcdp),
        partial(confidence_interval, mcdp),
        partial(certify, mcdp, at_most=0.5),
    ):
        with pytest.raises(ValueError, match="counts must be None where a table"):
            evaluate(None, statistic, counts=counts)
    with pytest.raises(ValueError, match="counts must be given beside"):
        permutation_test(
            partial(mcdp, counts=counts), None, scores, sensitive_features=groups
        )


def test_sizes_in_warnings_are_people():
    """A group of which all counts are 0 is an absent one."""
    rows = {"sensitive_features": list("FFMM"), "counts": [3, 1, 0, 0]}
    with pytest.warns(UndefinedMetricWarning, match="'M' has 0 rows"):
        assert np.isnan(mcdp(None, [0.1, 0.2, 0.3, 0.4], **rows))


@pytest.mark.slow
def test_a_million_people_are_as_fast_as_their_cells():
    """Tests, intervals and resamples never make a row for each."""
    _, scores, rows, _, counts = table_of("scores")
    rows = {"sensitive_features": rows["sensitive_features"]}
    calls = (
        partial(permutation_test, mcdp, n_permutations=99),
        partial(bootstrap_interval, mcdp, n_resamples=99),
        partial(confidence_interval, mcdp),
    )
    for call in calls:
        times = []
        for n in counts, counts * 5_000:
            start = perf_counter()
            call(None, scores, **rows, counts=n)
            times.append(perf_counter() - start)
        assert times[1] < 10 * times[0] + 0.2


def test_every_function_with_weights_has_counts_next():
    """Scorers ask for scikit-learn's weights alone; proxies are another kind of row."""
    for name in skfair.metrics.__all__:
        function = getattr(skfair.metrics, name)
        if inspect.isfunction(function) and name != "proxy_bounds":
            names = [*inspect.signature(function).parameters]
            if "sample_weight" in names:
                assert names[names.index("sample_weight") + 1] == "counts", name
