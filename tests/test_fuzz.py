"""Random calls of all public functions with broken input: one clear error each.

Each call takes arguments that are fine and breaks some of them. It may succeed, warn as
documented, or raise ValueError or TypeError; anything else comes from inside.
"""

import datetime
import traceback
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import UndefinedMetricWarning

from skfair.datasets import (
    load_berkeley_admissions,
    make_biased_classification,
    make_biased_scores,
)
from skfair.groups import encode_groups, resolve_groups
from skfair.metrics import (
    DCPResult,
    abcc,
    abroca,
    bootstrap_interval,
    confidence_interval,
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    dcp,
    dcp_bounds,
    demographic_parity_difference,
    equalized_odds_difference,
    get_fairness_scorer,
    impact_ratios,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    make_fairness_scorer,
    max_gap,
    max_gap_test,
    mcdp,
    mcdp_curve,
    min_dcp_bounds,
    permutation_test,
    rate_variance,
    values_by_class,
    values_by_stratum,
    worst_subgroup,
)
from skfair.model_selection import (
    BestUnder,
    FairestWithin,
    GroupStratifiedKFold,
    compare_models,
    pareto_front,
)
from skfair.postprocessing import ScoreRepairer
from skfair.sampling import (
    attribute_specific_sampling,
    renyi_entropy,
    required_sample_size,
    sample_rows,
    weighted_sampling,
)
from skfair.statistics import CountTable

#: Calls of each function; the slowest get fewer.
N_CALLS = 400
FEWER = {"compare_models": 100, "min_dcp_bounds": 20, "load_berkeley_admissions": 80}

#: Values that are not rows, empty ones, and objects that stand for rows.
SINGLE = [None, True, 0, 1, -1, 7, 2**70, 0.5, -0.25, 1.5, 5e-324, 1e308, 1j]
SINGLE += [np.nan, np.inf, -np.inf, np.float64(0.5), np.int8(1), np.array(5)]
SINGLE += ["", "a", "auto", b"a", np.array("a"), object(), int, len, range(3)]
SINGLE += [(), [], {}, set(), {"a": 1}, {"a": {"b": 1}}, [None], [[]], ["a", "b"]]
SINGLE += [[1, "a"], (1, 2), np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0))]
SINGLE += [np.zeros((2, 2, 2)), np.ma.masked, pd.NA, pd.NaT]
SINGLE += [pd.Timestamp("2024-01-01"), datetime.date(2024, 1, 1), datetime.timedelta(1)]
SINGLE += [pd.DataFrame(), pd.Series(dtype=float), pl.Series([])]
SINGLE += [
    CountTable.from_rows(None, [0.1, 0.4], sensitive_features=[0, 1]),
    CountTable.from_rows(None, [0, 1], sensitive_features=[0, 1]),
    CountTable.from_rows([0, 1], [1, 1], sensitive_features=[0, 1]),
    encode_groups([0, 1]),
]


def odd_numbers(rng, n):
    ends = [0, 1, 0.5, -0.0, 5e-324, 1e-300, 1 + 2e-16, 1 - 2**-53, 0.3, 0.1 + 0.2]
    return rng.choice(ends, n)


def some(rng, values, *bad):
    """Put a bad value into a list in a random place."""
    values = list(values)
    if values:
        values[rng.integers(len(values))] = bad[rng.integers(len(bad))]
    return values


COLUMNS = [
    odd_numbers,
    lambda rng, n: rng.random(n),
    lambda rng, n: rng.random(n).astype(np.float16),
    lambda rng, n: rng.random(n).astype(">f8"),
    lambda rng, n: rng.random(n).astype(np.longdouble),
    lambda rng, n: rng.random(n) * 10.0 ** rng.integers(-320, 308, n),
    lambda rng, n: rng.integers(0, 2, n),
    lambda rng, n: rng.integers(0, 2, n).astype(bool),
    lambda rng, n: rng.integers(-3, 9, n).astype(">i2"),
    lambda rng, n: rng.integers(0, 2**63, n, dtype=np.uint64),
    lambda rng, n: rng.random(n) + 1j,
    lambda rng, n: np.zeros(n),
    lambda rng, n: np.full(n, np.nan),
    lambda rng, n: np.full(n, None),
    lambda rng, n: rng.choice(["a", "b", "c"], n),
    lambda rng, n: rng.choice(["a", "b", ""], n).astype(object),
    lambda rng, n: rng.choice([b"a", b"b"], n),
    lambda rng, n: some(rng, rng.random(n), np.nan, np.inf, -np.inf, 1e308, -1),
    lambda rng, n: some(rng, rng.random(n), None, "a", [], {}, (1,), object(), pd.NA),
    lambda rng, n: some(rng, rng.choice(["a", "b"], n), None, np.nan, 3, (1,), []),
    lambda rng, n: some(rng, rng.integers(0, 2, n), None, 2**70, True, "1", 1j, pd.NaT),
    lambda rng, n: np.array(["2024-01-01", "NaT"], "M8[D]")[rng.integers(0, 2, n)],
    lambda rng, n: rng.integers(0, 3, n).astype("m8[s]"),
    lambda rng, n: np.ma.array(rng.random(n), mask=rng.random(n) < 0.3),
    lambda rng, n: np.ma.array(rng.integers(0, 2, n), mask=True),
    lambda rng, n: rng.random((n, 1)),
    lambda rng, n: rng.random((n, 2)),
    lambda rng, n: rng.integers(0, 2, (n, 2)),
    lambda rng, n: rng.random((1, n)),
    lambda rng, n: rng.random((n, 2, 1)),
    lambda rng, n: rng.random(n + 1),
    lambda rng, n: rng.integers(0, 2, max(n - 1, 0)),
    lambda rng, n: [[0.1] * (i % 3) for i in range(n)],
    lambda rng, n: [{"a": 1}] * n,
    lambda rng, n: (i % 2 for i in range(n)),
    lambda rng, n: dict.fromkeys(range(n), 0.5),
    lambda rng, n: {"a": 0.4, "b": None, "c": "x"},
    lambda rng, n: csr_array(rng.integers(0, 2, (n, 2))),
    lambda rng, n: np.zeros(n, dtype=[("a", float), ("b", "U1")]),
    lambda rng, n: pd.Series(rng.random(n), index=[0] * n),
    lambda rng, n: pd.Series(some(rng, rng.integers(0, 2, n), None), dtype="Int64"),
    lambda rng, n: pd.Series(rng.choice(["a", "b"], n), dtype="category"),
    lambda rng, n: pd.Series(some(rng, ["a"] * n, None), dtype="string"),
    lambda rng, n: pd.Categorical.from_codes(rng.integers(-1, 2, n), ["a", "b"]),
    lambda rng, n: pd.Index(rng.integers(0, 2, n)),
    lambda rng, n: pd.Series(pd.date_range("2024", periods=n, tz="UTC")),
    lambda rng, n: pd.DataFrame(rng.integers(0, 2, (n, 2)), columns=["a", "a"]),
    lambda rng, n: pd.DataFrame({"a": rng.random(n), "b": ["x"] * n}),
    lambda rng, n: pl.Series(rng.random(n)),
    lambda rng, n: pl.Series(some(rng, ["a"] * n, None)),
    lambda rng, n: pl.DataFrame({"a": rng.random(n), "b": ["x"] * n}),
    lambda rng, n: pl.LazyFrame({"a": [1] * n}),
    lambda rng, n: encode_groups(rng.integers(0, 2, n + 1), min_group_size=3),
]


def broken(rng, n_rows):
    """A value that most functions refuse."""
    if rng.random() < 0.4:
        return SINGLE[rng.integers(len(SINGLE))]
    return COLUMNS[rng.integers(len(COLUMNS))](rng, n_rows)


# --- arguments that are fine


def call(function, *shared, **own):
    """A function, and of each argument what draws it, or the values to choose from."""
    arguments = {}
    for some_arguments in (*shared, own):
        arguments |= some_arguments
    return function, arguments


def draw_argument(argument, rng, n_rows):
    if callable(argument):
        return argument(rng, n_rows)
    return argument[rng.integers(len(argument))]


def scores(rng, n):
    return rng.random(n).round(2) if rng.random() < 0.7 else odd_numbers(rng, n)


def margins(rng, n):
    return rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)


def scores_of_classes(rng, n):
    return rng.dirichlet(np.ones(3), n).round(3)


def classes(rng, n):
    return rng.integers(0, 2, n)


def groups(rng, n):
    return np.resize(["a", "b", "c"][: rng.integers(2, 4)], n)


def weights(rng, n):
    return None if rng.random() < 0.7 else rng.random(n) + 0.1


def group_weights(rng, n):
    return rng.dirichlet(np.ones(3))


def frequencies(rng, n):
    return rng.dirichlet(np.ones(2), 3)


def confusion(rng, n):
    return rng.dirichlet(np.ones(2), (3, 2))


def table(rng, n):
    return pd.DataFrame({"sex": groups(rng, n), "x": rng.random(n)})


def results_of_a_search(rng, n):
    table = {"params": [{"a": i} for i in range(n)]}
    for name in ("average_precision", "neg_mcdp"):
        table[f"mean_test_{name}"] = rng.random(n)
        table[f"std_test_{name}"] = rng.random(n) / 10
        for fold in range(3):
            table[f"split{fold}_test_{name}"] = rng.random(n)
    if rng.random() < 0.3:
        key = list(table)[rng.integers(len(table))]
        table[key] = broken(rng, n)
    return table


SEED = {"random_state": [0]}
MULTIGROUP = {"multigroup": ["pairwise", "pooled"]}
QUALITY = {
    "quality": [
        "selection_rate",
        "true_positive_rate",
        "error_rate",
        lambda y, p: (p, y == 1),
    ],
    "pos_label": [None, 1],
}
ROWS = {"sensitive_features": groups, "sample_weight": weights}
OF_SCORES = {"y_true": [None], "y_score": scores, **ROWS}
STRATA = {"control_features": groups, "multistratum": ["max", "weighted"]}
OF_CLASSES = {"y_true": classes, "y_pred": classes, **ROWS}
COUNTED = {key: value for key, value in OF_CLASSES.items() if key != "sample_weight"}
FEW = {"n_permutations": [3], **SEED}
WEIGHTED = {"group_weights": ["uniform", "proportional"]}
PLAN = {"group_weights": group_weights, "n": [9], **SEED}
RESULTS = {"cv_results": results_of_a_search}


def add(scores, sensitive_features):
    """Add two statistics of other groups."""
    first = CountTable.from_rows(None, [0.5, 0.5], sensitive_features=["a", 1])
    return first + CountTable.from_rows(
        None, scores, sensitive_features=sensitive_features
    )


def split(X, y, n_splits, shuffle, random_state, sensitive_features):
    folds = GroupStratifiedKFold(n_splits, shuffle=shuffle, random_state=random_state)
    return list(folds.split(X, y, sensitive_features=sensitive_features))


def repair(scores, sensitive_features, sample_weight, new, new_groups, **options):
    repairer = ScoreRepairer(**options)
    repairer.fit(
        scores, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    return repairer.transform(new, sensitive_features=new_groups)


def choose(rule, cv_results, **options):
    return rule(**options)(cv_results)


FUNCTIONS = {
    "mcdp": call(
        mcdp,
        OF_SCORES,
        MULTIGROUP,
        epsilon=[0, 0.05],
        method=["exact"],
        n_subdivisions=[4],
    ),
    "confidence_interval of ranks": call(
        confidence_interval,
        OF_SCORES,
        y_score=margins,
        metric=[partial(abcc, scale="rank"), partial(mcdp, scale="rank", epsilon=0.1)],
    ),
    "values_by_class": call(
        values_by_class,
        OF_SCORES,
        y_true=[None, [0, 1, 2]],
        y_score=scores_of_classes,
        metric=[mcdp, abroca, demographic_parity_difference],
        labels=[None, ["x", "y", "z"], [0, 1, 2]],
    ),
    "mcdp within strata": call(mcdp, OF_SCORES, MULTIGROUP, STRATA),
    "values_by_stratum": call(
        values_by_stratum, OF_SCORES, metric=[mcdp, max_gap], control_features=groups
    ),
    "permutation_test within strata": call(
        permutation_test,
        OF_SCORES,
        FEW,
        metric=[mcdp, equalized_odds_difference],
        control_features=groups,
    ),
    "worst_subgroup": call(
        worst_subgroup,
        SEED,
        y_true=classes,
        y_score=scores,
        sensitive_features=table,
        bins=[{"x": [0.2, 0.6]}],
        min_group_size=[2, 5],
        n_subgroups=[1, 3],
        n_permutations=[0, 2],
    ),
    "mcdp_curve": call(mcdp_curve, OF_SCORES, MULTIGROUP),
    "madd": call(madd, OF_SCORES, MULTIGROUP, bandwidth=[0.1, 0.3]),
    "madd_curve": call(madd_curve, OF_SCORES, MULTIGROUP, n_bandwidths=[20]),
    "madd_optimal_bandwidth": call(
        madd_optimal_bandwidth,
        OF_SCORES,
        MULTIGROUP,
        n_bandwidths=[30],
        min_points=[3],
        min_length=[0.1, 0.4],
    ),
    "abcc": call(abcc, OF_SCORES, MULTIGROUP),
    "abroca": call(abroca, OF_SCORES, MULTIGROUP, y_true=classes),
    "impact_ratios": call(
        impact_ratios,
        ROWS,
        y_true=[None],
        y_pred=scores,
        rate=["selection", "scoring"],
        pos_label=[None],
        min_share=[0.0, 0.02],
        confidence_level=[0.9],
    ),
    "demographic_parity_difference": call(
        demographic_parity_difference,
        ROWS,
        MULTIGROUP,
        y_true=[None],
        y_pred=scores,
        threshold=[None, 0.5],
        pos_label=[None],
    ),
    "equalized_odds_difference": call(
        equalized_odds_difference, OF_CLASSES, MULTIGROUP
    ),
    "dcp": call(
        dcp, OF_CLASSES, method=["auto", "local"], tol=[0.0001], time_limit=[None]
    ),
    "DCPResult": call(DCPResult.from_predictions, OF_CLASSES),
    "dcp_bounds": call(
        dcp_bounds,
        confusion=confusion,
        group_weights=group_weights,
        label_frequencies=frequencies,
        tol=[0.0001],
        time_limit=[None],
        method=["auto"],
    ),
    "min_dcp_bounds": call(
        min_dcp_bounds,
        SEED,
        group_weights=group_weights,
        label_frequencies=frequencies,
        prediction_frequencies=frequencies,
        tol=[0.01],
        time_limit=[0.2],
        n_starts=[1],
        sum_tolerance=[1e-06],
    ),
    "max_gap": call(max_gap, OF_CLASSES, QUALITY, WEIGHTED),
    "cvar_fairness": call(
        cvar_fairness,
        OF_CLASSES,
        QUALITY,
        WEIGHTED,
        alpha=[0.3, 0.9],
        fractional=[True, False],
    ),
    "cvar_fairness_report": call(
        cvar_fairness_report,
        OF_CLASSES,
        QUALITY,
        WEIGHTED,
        alpha=[0.3, 0.9],
        confidence_level=[0.9],
        simultaneous=[True, False],
        baseline=[None, 0.4],
        epsilon=[0.0, 0.1],
        alternative=["two-sided", "greater", "less"],
    ),
    "rate_variance": call(
        rate_variance,
        COUNTED,
        QUALITY,
        WEIGHTED,
        sampling=["fixed", "weighted", ("weighted", 0.5)],
        bias_correction=[False, True],
    ),
    "max_gap_test": call(max_gap_test, COUNTED, QUALITY, WEIGHTED, FEW),
    "cvar_fairness_test": call(
        cvar_fairness_test,
        COUNTED,
        QUALITY,
        WEIGHTED,
        FEW,
        alpha=[0.5],
        epsilon=[0.2],
        sampling=["fixed"],
    ),
    "permutation_test": call(
        permutation_test,
        OF_SCORES,
        FEW,
        metric=[mcdp, abcc, equalized_odds_difference, max_gap],
        within=["auto", None],
    ),
    "bootstrap_interval": call(
        bootstrap_interval,
        OF_SCORES,
        SEED,
        metric=[mcdp, abcc],
        n_resamples=[3],
        confidence_level=[0.9],
    ),
    "encode_groups": call(
        encode_groups,
        sensitive_features=groups,
        labels=[None, ["a", "b", "c"]],
        missing=["raise", "drop", "group"],
        min_group_size=[1, 3],
    ),
    "resolve_groups": call(
        resolve_groups,
        sensitive_features=[None],
        n_samples=lambda rng, n: n,
        X=table,
        selector=["sex", 0, ["sex", "x"]],
    ),
    "CountTable of scores": call(
        CountTable.from_rows,
        ROWS,
        y_true=[None],
        y_pred=scores,
        counts=lambda rng, n: rng.integers(1, 5, n),
    ),
    "CountTable of bins": call(
        CountTable.from_rows,
        ROWS,
        y_true=lambda rng, n: rng.integers(0, 2, n),
        y_pred=scores,
        n_bins=[1, 64],
    ),
    "CountTable of labels": call(CountTable.from_rows, OF_CLASSES),
    "sum of tables": call(add, scores=scores, sensitive_features=groups),
    "weighted_sampling": call(weighted_sampling, PLAN, exponent=[0.5]),
    "attribute_specific_sampling": call(
        attribute_specific_sampling, PLAN, gamma=[None, 2]
    ),
    "renyi_entropy": call(renyi_entropy, weights=group_weights, order=[0.5, 1]),
    "required_sample_size": call(
        required_sample_size,
        SEED,
        group_weights=group_weights,
        alpha=[0.2],
        epsilon=[0.4],
        method=["weighted", "attribute_specific"],
        power=[0.6],
        level=[0.1],
        n_simulations=[20],
    ),
    "sample_rows": call(
        sample_rows,
        SEED,
        X=table,
        counts=[{"a": 1, "b": 1}, pd.Series({"a": 1})],
        sensitive_features=["sex", 0],
    ),
    "make_biased_scores": call(make_biased_scores, SEED, n_samples=[9]),
    "make_biased_classification": call(
        make_biased_classification,
        SEED,
        n_samples=[9],
        n_features=[2],
        group_sizes=[{"sex": {"F": 0.4, "M": 0.6}}],
        base_rates=[None, {"sex": {"F": 0.2}}],
        score_shifts=[None, {"sex": {"F": 0.2}}],
        class_sep=[1.0],
    ),
    "load_berkeley_admissions": call(
        load_berkeley_admissions, return_X_y=[True, False], as_frame=[True, False]
    ),
    "pareto_front": call(
        pareto_front,
        RESULTS,
        metrics=[["average_precision", "neg_mcdp"]],
        reference_point=[None, [0, 0]],
    ),
    "FairestWithin": call(
        partial(choose, FairestWithin),
        RESULTS,
        performance=["average_precision"],
        fairness=["neg_mcdp"],
        tolerance=[0.05],
        kind=["relative", "absolute"],
        reference=[None, 0.5],
    ),
    "BestUnder": call(
        partial(choose, BestUnder),
        RESULTS,
        performance=["average_precision"],
        fairness=["neg_mcdp"],
        limit=[0.1],
    ),
    "compare_models": call(
        compare_models,
        y_true=classes,
        y_score=lambda rng, n: {"a": scores(rng, n), "b": scores(rng, n)},
        baseline=["a"],
        sensitive_features=groups,
        margin=[0.01],
        sample_weight=weights,
    ),
    "GroupStratifiedKFold": call(
        split,
        SEED,
        X=table,
        y=classes,
        n_splits=[2],
        shuffle=[True],
        sensitive_features=groups,
    ),
    "make_fairness_scorer": call(
        make_fairness_scorer,
        metric=[mcdp, max_gap, partial(madd, bandwidth=0.1)],
        sensitive_features=[None, "sex"],
        response_method=["auto", "predict"],
        multigroup=["pooled"],
    ),
    "get_fairness_scorer": call(
        get_fairness_scorer, scoring=["neg_mcdp"], sensitive_features=[None, "sex"]
    ),
    "ScoreRepairer": call(
        repair,
        ROWS,
        SEED,
        scores=scores,
        new=scores,
        new_groups=[["a", "b", "a"], ["a", "z", "a"]],
        repair_level=[0.5, 1.0],
        ties=["mid", "random"],
        unknown_groups=["raise", "pooled"],
    ),
}


def draw_call(name, seed):
    """Arguments by name, some of them broken or left out, and all of them broken."""
    rng = np.random.default_rng([seed, *name.encode()])
    n_rows = int(rng.choice([0, 1, 2, 3, 3, 8, 12]))
    function, arguments = FUNCTIONS[name]
    given = {key: draw_argument(way, rng, n_rows) for key, way in arguments.items()}
    for key in rng.permutation(list(given))[: rng.choice([0, 1, 1, 1, 2, 3])]:
        if rng.random() < 0.05:
            del given[key]
        else:
            given[key] = broken(rng, n_rows)
    return function, given


def complaint(name, seed):
    """What a call does that it must not do; None for a call as documented."""
    function, given = draw_call(name, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(**given)
        except (ValueError, TypeError) as error:
            if not str(error):
                return f"{name}, seed {seed}: {type(error).__name__} without a message"
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{name}, seed {seed}: {error!r} at {where.filename}:{where.lineno}"
    documented = UserWarning, UndefinedMetricWarning
    for warning in caught:
        if not issubclass(warning.category, documented):
            return f"{name}, seed {seed}: {warning.message!r} at {warning.filename}"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.promise("Bad input ends in one error that says what was expected")
def test_broken_input_gives_one_clear_error(name):
    found = [complaint(name, seed) for seed in range(FEWER.get(name, N_CALLS))]
    complaints = [text for text in found if text]
    assert not complaints, "\n".join(complaints[:20])


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_table_in_place_of_an_argument_is_not_printed(name):
    function, arguments = FUNCTIONS[name]
    numbers = np.random.default_rng(0).random((600, 3))
    for key in arguments.keys() - {"random_state"}:  # scikit-learn prints it
        for wrong in (pd.DataFrame(numbers), pd.Series(numbers[:, 0]), numbers):
            rng = np.random.default_rng(0)
            given = {
                name: draw_argument(way, rng, 12) for name, way in arguments.items()
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(**given | {key: wrong})
                except (ValueError, TypeError) as error:
                    text = str(error)
                    assert "\n" not in text
                    assert len(text) < 700
