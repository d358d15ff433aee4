"""Gaps of all pairs of groups, and permutations that are ordered by them."""

import math
from functools import partial
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given as given_examples
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    abcc,
    abroca,
    calibration_gap,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    impact_ratio_shortfall,
    madd,
    max_gap,
    mcdp,
    mean_absolute_error_difference,
    mean_error_difference,
    permutation_test,
    predictive_value_difference,
    true_positive_rate_difference,
    values_by_class,
)
from skfair.metrics._abcc import ABCC, area
from skfair.metrics._mcdp import MCDP
from skfair.metrics._pairs import compared_pairs
from skfair.metrics._permutation import PermutationOrder
from skfair.metrics._windows import sustained_gap
from skfair.statistics import CountTable
from skfair.statistics._distributions import gap_between

SCORES, DECISIONS, NUMBERS = "scores", "decisions", "numbers"
METRICS = {
    "mean scores": (demographic_parity_difference, SCORES),
    "decisions": (demographic_parity_difference, DECISIONS),
    "threshold": (partial(demographic_parity_difference, threshold=0.4), SCORES),
    "numbers": (partial(demographic_parity_difference, scale="real"), NUMBERS),
    "mcdp": (mcdp, SCORES),
    "mcdp, epsilon": (partial(mcdp, epsilon=0.06), SCORES),
    "mcdp, approximate": (partial(mcdp, epsilon=0.1, method="approximate"), SCORES),
    "abcc": (abcc, SCORES),
    "abcc, numbers": (partial(abcc, scale="real"), NUMBERS),
    "madd": (partial(madd, bandwidth=0.2), SCORES),
    "madd, automatic": (madd, SCORES),
    "madd, narrow bins": (partial(madd, bandwidth=1e-4), SCORES),
    "abroca": (abroca, SCORES),
    "calibration gap": (calibration_gap, SCORES),
    "equalized odds": (equalized_odds_difference, DECISIONS),
    "true positive rates": (true_positive_rate_difference, DECISIONS),
    "false positive rates": (false_positive_rate_difference, DECISIONS),
    "predictive values": (predictive_value_difference, DECISIONS),
    "impact ratios": (impact_ratio_shortfall, DECISIONS),
    "errors": (mean_error_difference, NUMBERS),
    "absolute errors": (mean_absolute_error_difference, NUMBERS),
}


#: One of each kind; the others share their arithmetic.
QUICK = [
    *("threshold", "numbers", "mcdp", "mcdp, epsilon", "abcc", "madd"),
    *("calibration gap", "equalized odds", "impact ratios", "absolute errors"),
]


def draw(n_groups=4, seed=0, sizes=60, decimals=2):
    """Rows of groups whose scores and errors differ a little."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([f"g{i}" for i in range(n_groups)], sizes)
    groups = groups[rng.permutation(len(groups))]
    y_true = rng.integers(0, 2, len(groups))
    scores = np.clip(rng.beta(2, 2, len(groups)) + 0.1 * y_true, 0, 1).round(decimals)
    return groups, {
        SCORES: (y_true, scores),
        DECISIONS: (y_true, (scores > 0.5).astype(int)),
        NUMBERS: (1e4 * y_true + 3e4, 4e4 * scores),
    }


def labels_of(metric, true):
    """True labels, for metrics of decisions and scores as for those of errors."""
    return None if getattr(metric, "func", metric) in UNLABELLED else true


UNLABELLED = (demographic_parity_difference, mcdp, abcc, madd, impact_ratio_shortfall)


@pytest.mark.parametrize(
    "multigroup", ["pairwise", pytest.param("pooled", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_says_which_groups_have_its_value(name, multigroup):
    metric, kind = METRICS[name]
    groups, rows = draw()
    true, values = rows[kind]
    metric = partial(metric, multigroup=multigroup)
    true = labels_of(metric, true)
    value = metric(true, values, sensitive_features=groups)
    made = metric.func.metric(**metric.keywords)
    located = made.locate(made.rescale(made.read_statistic(true, values, groups)))
    assert located.value == pytest.approx(value, rel=1e-12)
    first, second = located.pair
    part = np.isin(groups, ["g0", "g1", "g2", "g3"])
    if second is not None:
        part = np.isin(groups, [f"g{first}", f"g{second}"])
    assert (second is None) == (multigroup == "pooled")
    of_pair = metric(
        None if true is None else true[part],
        values[part],
        sensitive_features=groups[part],
    )
    assert of_pair == pytest.approx(value, rel=1e-12)
    ours, theirs = located.figures
    if not math.isnan(ours):
        gap = abs(ours - theirs)
        if made.name == "impact_ratio_shortfall":
            gap /= max(ours, theirs)
        assert gap == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    "weighted", [False, pytest.param(True, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in METRICS],
)
@pytest.mark.usefixtures("rows_are_permuted")
def test_gap_of_a_pair_is_the_metric_of_its_rows(name, weighted):
    """And the metric is the largest of them, in the given order and in any other."""
    metric, kind = METRICS[name]
    groups, rows = draw()
    true, values = rows[kind]
    true = labels_of(metric, true)
    weights = np.random.default_rng(1).integers(1, 4, len(groups)) / 2
    given = {"sample_weight": weights} if weighted else {}
    found = permutation_test(
        metric,
        true,
        values,
        sensitive_features=groups,
        n_permutations=12,
        random_state=3,
        **given,
    )
    assert found.ordered_by == "pairs"
    unit = np.abs(values).max()
    assert found.pairs["gap"].max() == pytest.approx(found.value, abs=1e-12 * unit)
    for (first, second), table in found.pairs.groupby(["group", "other"]):
        part = np.isin(groups, [first, second])
        own = {"sample_weight": weights[part]} if weighted else {}
        expected = metric(
            None if true is None else true[part],
            values[part],
            sensitive_features=groups[part],
            **own,
        )
        assert table["gap"].max() == pytest.approx(expected, abs=1e-12 * unit)
    seen = []

    def record(y_true, y_score, *, sensitive_features, **rows):
        part = {"sensitive_features": sensitive_features, **rows}
        seen.append(metric(y_true, y_score, **part))
        return seen[-1]

    within = {"calibration gap": None}.get(name, "auto")
    if within is None:  # permuted in cells of scores
        return
    compares_errors = name in ("abroca", "equalized odds") or "positive" in name
    again = permutation_test(
        record,
        true,
        values,
        sensitive_features=groups,
        within=true if compares_errors else None,
        n_permutations=12,
        random_state=3,
        **given,
    )
    assert again.ordered_by == "value"
    assert again.pairs.empty
    np.testing.assert_allclose(
        found.null_distribution, again.null_distribution, rtol=1e-9, atol=1e-12 * unit
    )
    assert found.null_mean == pytest.approx(again.null_mean)


@pytest.mark.slow
def test_rows_of_few_cells_are_drawn_as_their_statistic(monkeypatch):
    """Decisions of 400 rows are four numbers, of which permutations are drawn."""
    rng = np.random.default_rng(0)
    groups, y_pred = rng.choice(["a", "b"], 400), rng.integers(0, 2, 400)
    test = partial(permutation_test, demographic_parity_difference, None)
    options = {"n_permutations": 200, "random_state": 0}
    rows = test(y_pred, sensitive_features=groups, **options)
    statistic = CountTable.from_rows(None, y_pred, sensitive_features=groups)
    of_cells = test(statistic, **options).null_distribution
    assert rows.null_distribution.tolist() == of_cells.tolist()
    monkeypatch.setattr("skfair._rows._ALIKE", math.inf)
    of_rows = test(y_pred, sensitive_features=groups, **options).null_distribution
    assert of_rows.tolist() != of_cells.tolist()
    noise = np.hypot(of_rows.std(), of_cells.std()) / np.sqrt(200)
    assert abs(of_rows.mean() - of_cells.mean()) < 3 * noise


def test_a_tiny_group_hides_no_difference_of_others():
    """The shares of 67 rows differ by more, of which chance alone gives as much."""
    sizes, hits = np.array([6_848, 11_446, 67]), np.array([3_143, 6_009, 35])
    outcomes = np.concatenate(
        [np.repeat([1, 0], [h, n - h]) for h, n in zip(hits, sizes, strict=True)]
    )
    groups = np.repeat(["a", "b", "c"], sizes)
    statistic = CountTable.from_rows(None, outcomes, sensitive_features=groups)
    found = permutation_test(
        demographic_parity_difference,
        None,
        statistic,
        n_permutations=199,
        random_state=0,
    )
    assert found.pvalue == 0.005
    assert found.null_mean > 0.04  # of the 67 rows
    pairs = found.pairs
    assert pairs[["group", "other"]].to_numpy().tolist()[0] == ["a", "b"]
    assert pairs["gap"][0] == pytest.approx(found.value)
    assert pairs["by_chance"][0] < 0.01
    assert pairs["pvalue"].tolist()[0] == found.pvalue
    assert (pairs["pvalue"][1:] > 0.2).all()


@pytest.mark.parametrize(
    "multigroup", ["pairwise", pytest.param("pooled", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.usefixtures("rows_are_permuted")
def test_order_by_hand(multigroup, strata):
    """All gaps of the very same permutations, standardised, the largest of them."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], [60, 40, 8])
    departments = rng.integers(0, 2, len(groups)) if strata else np.zeros(len(groups))
    y_pred = (rng.random(len(groups)) < 0.4 + 0.15 * (groups == 1)).astype(int)
    seen = []

    def record(y_true, y_pred, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    given = {"sensitive_features": groups, "n_permutations": 80, "random_state": 1}
    permutation_test(record, None, y_pred, within=departments, **given)
    found = permutation_test(
        partial(demographic_parity_difference, multigroup=multigroup),
        None,
        y_pred,
        control_features=departments if strata else None,
        **given,
    )
    gaps = []
    for codes in seen:
        gaps.append([])
        for department in np.unique(departments):
            own = departments == department
            rates = [y_pred[own & (codes == group)].mean() for group in range(3)]
            others = [(i, y_pred[own].mean()) for i in range(3)]
            if multigroup == "pairwise":
                others = [(i, rates[j]) for i, j in combinations(range(3), 2)]
            gaps[-1] += [abs(rates[i] - other) for i, other in others]
    gaps = np.array(gaps)
    order = (gaps - gaps.mean(axis=0)) / gaps.std(axis=0)
    largest, sums = order.max(axis=1).round(9), order.sum(axis=1).round(9)
    keys = list(zip(largest, sums, strict=True))
    assert found.pvalue == pytest.approx(np.mean([key >= keys[0] for key in keys]))
    decides = order[0].argsort()[::-1]
    assert found.pairs["gap"].tolist() == pytest.approx(gaps[0][decides].tolist())
    by_chance = gaps[1:].mean(axis=0)[decides]
    assert found.pairs["by_chance"].tolist() == pytest.approx(by_chance.tolist())
    adjusted = [np.mean(largest >= z - 1e-9) for z in order[0][decides][1:]]
    assert found.pairs["pvalue"].tolist() == pytest.approx([found.pvalue, *adjusted])
    assert found.null_distribution == pytest.approx(gaps[1:].max(axis=1))


@pytest.mark.parametrize("sizes", [(4, 2), (3, 3, 1), (2, 2, 2), (4, 1, 2)])
def test_level_is_exact_over_all_arrangements(sizes):
    """Each arrangement of seven rows at most in turn is the given one."""
    outcomes = np.array([1, 0, 1, 1, 0, 0, 0])[: sum(sizes)]
    labels = np.repeat(range(len(sizes)), sizes).tolist()
    arrangements = np.array(sorted(set(permutations(labels))))
    gaps = []
    for codes in arrangements:
        rates = [outcomes[codes == group].mean() for group in range(len(sizes))]
        gaps.append([abs(a - b) for a, b in combinations(rates, 2)])
    gaps = np.array(gaps)
    pvalues, smallest = [], []
    for i in range(len(gaps)):
        order = PermutationOrder.from_numbers(
            np.vstack([gaps[i], np.delete(gaps, i, axis=0)]), 1.0
        )
        pvalues.append(order.pvalue)
        smallest.append(order.adjusted(order.standardise(gaps[i], slice(None))).min())
    for level in np.unique(np.round(pvalues, 9)):
        assert np.mean(np.array(pvalues) <= level + 1e-9) <= level + 1e-9
    assert smallest == pytest.approx(pvalues)


@pytest.mark.slow
def test_undefined_gaps_are_left_out():
    """A group without a positive decision has no predictive value."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c"], [300, 300, 3])
    y_pred = (rng.random(603) < 0.5).astype(int)
    y_true = (rng.random(603) < np.where(groups == "a", 0.8, 0.5)).astype(int)
    y_pred[-3:] = [1, 0, 0]
    found = permutation_test(
        predictive_value_difference,
        y_true,
        y_pred,
        sensitive_features=groups,
        random_state=0,
    )
    # How many positive decisions a group has is random, so that it may have none.
    undefined = np.isnan(found.null_distribution)
    assert 50 < undefined.sum() < 250
    assert found.pvalue == pytest.approx(1 / (1000 - undefined.sum()))
    assert found.pairs["group"].tolist()[0] == "a"
    assert found.pairs["other"].tolist()[0] == "b"


def test_unlike_undefined_gaps_those_of_a_stratum_are_compared():
    """Of strata without two groups nothing is compared."""
    groups = np.array(["a", "b"] * 30 + ["a"] * 5)
    strata = np.array(["x"] * 30 + ["y"] * 30 + ["z"] * 5)
    y_pred = np.arange(65) % 3 == 0
    with pytest.warns(UndefinedMetricWarning, match="leaves out strata"):
        found = permutation_test(
            demographic_parity_difference,
            None,
            y_pred.astype(int),
            sensitive_features=groups,
            control_features=strata,
            n_permutations=9,
            random_state=0,
        )
    assert sorted(found.pairs["stratum"]) == ["x", "y"]
    # Within other strata the groups of these change their sizes.
    with pytest.warns(UndefinedMetricWarning):
        plain = permutation_test(
            demographic_parity_difference,
            None,
            y_pred.astype(int),
            sensitive_features=groups,
            control_features=strata,
            within=None,
            n_permutations=9,
            random_state=0,
        )
    assert plain.ordered_by == "value"


def test_classes_have_pairs_of_their_own():
    rng = np.random.default_rng(0)
    y_score = rng.dirichlet([1, 1, 1], 90)
    groups = np.arange(90) % 3
    found = permutation_test(
        mcdp, None, y_score, sensitive_features=groups, n_permutations=9, random_state=0
    )
    by_class = found.pairs.groupby("class")["gap"].max()
    expected = values_by_class(mcdp, None, y_score, sensitive_features=groups)
    assert by_class.to_numpy() == pytest.approx(expected.to_numpy())
    for row in found.pairs.rename(columns={"class": "column"}).itertuples():
        shares = [
            (y_score[groups == group, row.column] <= row.threshold).mean()
            for group in (row.group, row.other)
        ]
        assert abs(shares[0] - shares[1]) == pytest.approx(row.gap)


@given_examples(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5]))
def test_gaps_of_all_pairs_at_once(seed, epsilon):
    """Scores with ties, 0 and 1 among them, whose distances are windows' lengths."""
    rng = np.random.default_rng(seed)
    groups = np.append([0, 1, 2, 3], rng.integers(0, 4, 40))
    steps = int(rng.choice([10, 20, 1000]))
    scores = rng.integers(0, steps + 1, 44) / steps
    statistic = MCDP().read_statistic(None, scores, groups)
    for multigroup in ("pairwise", "pooled"):
        pairs = compared_pairs(4, multigroup)
        found = MCDP(epsilon=epsilon, multigroup=multigroup).gaps(statistic)
        expected = [
            sustained_gap(gap_between(statistic, *pair), epsilon) for pair in pairs
        ]
        assert found.values[0].tolist() == pytest.approx(expected, abs=1e-12)
        found = ABCC(multigroup=multigroup).gaps(statistic)
        expected = [area(gap_between(statistic, *pair)) for pair in pairs]
        assert found.values[0].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        mcdp,
        pytest.param(partial(mcdp, epsilon=0.05), marks=pytest.mark.slow),
        pytest.param(abcc, marks=pytest.mark.slow),
    ],
)
def test_cdfs_of_many_scores_are_compared_at_some(metric):
    """The table has the gaps themselves, and the null distribution the metric."""
    rng = np.random.default_rng(0)
    groups, scores = rng.integers(0, 3, 9000), rng.random(9000)
    given = {"n_permutations": 4, "random_state": 0}
    found = permutation_test(metric, None, scores, sensitive_features=groups, **given)
    assert found.pairs["gap"].max() == pytest.approx(found.value, abs=1e-12)

    def plain(y_true, y_score, *, sensitive_features):
        return metric(y_true, y_score, sensitive_features=sensitive_features)

    again = permutation_test(plain, None, scores, sensitive_features=groups, **given)
    assert found.null_distribution == pytest.approx(again.null_distribution)
    assert found.pairs["by_chance"].mean() == pytest.approx(
        found.pairs["gap"].mean(), rel=0.6
    )


@pytest.mark.parametrize(
    "name", ["decisions", pytest.param("mcdp", marks=pytest.mark.slow)]
)
def test_many_groups_are_compared_by_their_sizes(name):
    """Beside 60 groups, of which one differs, chance alone makes larger gaps."""
    metric, kind = METRICS[name]
    rng = np.random.default_rng(5)
    groups = np.repeat(range(60), rng.integers(15, 40, 60))
    groups = np.append(groups, np.repeat([60], 150))
    y_true = rng.integers(0, 2, len(groups))
    scores = rng.random(len(groups)) * np.where(groups == 60, 0.6, 1)
    values = scores if kind == SCORES else (scores > 0.5).astype(int)
    labels = np.array([f"group {group}" for group in groups])
    found = permutation_test(
        metric,
        labels_of(metric, y_true),
        values,
        sensitive_features=labels,
        n_permutations=19,
        random_state=0,
    )
    assert found.pvalue == 0.05
    assert len(found.pairs) <= 1000
    assert found.pairs["by_chance"].isna().all()
    assert "group 60" in found.pairs[["group", "other"]].to_numpy()[0]
    assert (np.diff(found.pairs["pvalue"]) >= 0).all()


def test_metrics_that_are_no_largest_gap_are_ordered_by_value():
    groups, rows = draw(3)
    strata = np.arange(len(groups)) % 2
    mean = partial(demographic_parity_difference, multistratum="weighted")
    for metric, given in (
        (max_gap, {}),
        (cvar_fairness, {}),
        (mean, {"control_features": strata}),
    ):
        found = permutation_test(
            metric,
            None,
            rows[DECISIONS][1],
            sensitive_features=groups,
            n_permutations=9,
            random_state=0,
            **given,
        )
        assert (found.ordered_by, len(found.pairs)) == ("value", 0)
