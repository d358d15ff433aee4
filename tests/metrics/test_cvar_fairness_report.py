"""The table of all groups: their tail, and which of them differ."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, false_discovery_control, fisher_exact
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import cvar_fairness, cvar_fairness_report


def predictions_with_two_outliers(n_rows=600, n_groups=12):
    generator = np.random.default_rng(0)
    groups = generator.integers(0, n_groups, n_rows)
    y_pred = generator.random(n_rows) < np.where(groups < 2, 0.85, 0.45)
    return y_pred.astype(int), groups


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_intervals_are_those_of_scipy(size):
    hits = np.unique(np.linspace(0, size, 11).astype(int))
    found = cvar_fairness_report(
        None,
        np.repeat([1, 0], len(hits)),
        sensitive_features=np.tile(hits, 2),
        counts=np.append(hits, size - hits),
        confidence_level=0.9,
    )
    for k in hits:
        expected = binomtest(int(k), size).proportion_ci(0.9, method="wilson")
        assert found.loc[k, "lower"] == pytest.approx(expected.low, abs=1e-12)
        assert found.loc[k, "upper"] == pytest.approx(expected.high, abs=1e-12)


@pytest.mark.parametrize("fractional", [True, False])
@pytest.mark.parametrize("scheme", ["uniform", "proportional"])
def test_tail_adds_up_to_cvar_fairness(fractional, scheme):
    y_pred, groups = predictions_with_two_outliers()
    options = {
        "sensitive_features": groups,
        "alpha": 0.7,
        "fractional": fractional,
        "group_weights": scheme,
    }
    report = cvar_fairness_report(None, y_pred, **options)
    value = cvar_fairness(None, y_pred, **options)
    parts = report["weight"] * report["gap"] * report["tail_share"]
    assert parts.sum() / 0.3 == pytest.approx(value, abs=1e-12)
    assert (report["weight"] * report["tail_share"]).sum() <= 0.3 + 1e-9
    assert report["gap"].is_monotonic_decreasing
    assert (report["in_tail"] == (report["tail_share"] > 0)).all()
    assert report["weight"].sum() == pytest.approx(1)
    average = (report["weight"] * report["rate"]).sum()
    assert report["average"].tolist() == pytest.approx([average] * len(report))
    expected = (report["rate"] - report["average"]).abs()
    assert report["gap"].tolist() == pytest.approx(expected.tolist())
    assert (
        (report["lower"] <= report["rate"]) & (report["rate"] <= report["upper"])
    ).all()


def test_index_has_a_level_for_each_column():
    frame = pd.DataFrame({"sex": list("FFMM"), "race": list("xyxy")})
    report = cvar_fairness_report(None, [1, 0, 0, 0], sensitive_features=frame)
    assert report.index.names == ["sex", "race"]
    assert report.index[0] == ("F", "x")
    assert report.loc[("F", "x"), "gap"] == 0.75
    single = cvar_fairness_report(None, [1, 0, 0, 0], sensitive_features=frame["sex"])
    assert single.index.tolist() == ["F", "M"]


def test_groups_without_rows_come_last():
    groups = encode_groups(list("aabb"), labels=["c", "a", "b"])
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 3 groups"):
        report = cvar_fairness_report(None, [1, 1, 1, 0], sensitive_features=groups)
    last = report.loc["c"]
    assert report.index[-1] == "c"
    assert (last["size"], last["weight"], last["tail_share"]) == (0, 0, 0)
    assert np.isnan([last["rate"], last["lower"], last["upper"], last["gap"]]).all()


def test_undefined_report_has_no_tail():
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        report = cvar_fairness_report(None, [1, 0], sensitive_features=["a", "a"])
    assert report["gap"].isna().all()
    assert not report["in_tail"].any()
    assert report["rate"].tolist() == [0.5]


def test_weighted_rows_have_wider_intervals():
    y_pred, groups = predictions_with_two_outliers()
    weights = np.random.default_rng(1).choice([0.1, 3.0], 600)
    plain = cvar_fairness_report(None, y_pred, sensitive_features=groups).sort_index()
    weighted = cvar_fairness_report(
        None, y_pred, sensitive_features=groups, sample_weight=weights
    ).sort_index()
    constant = cvar_fairness_report(
        None, y_pred, sensitive_features=groups, sample_weight=np.full(600, 2.5)
    ).sort_index()
    pd.testing.assert_frame_equal(constant, plain)
    width = (weighted["upper"] - weighted["lower"]).mean()
    assert width > 1.2 * (plain["upper"] - plain["lower"]).mean()


@pytest.mark.parametrize("value", [0, 1, 95])
def test_bad_level(value):
    rows = {"sensitive_features": ["a", "b"], "confidence_level": value}
    with pytest.raises(ValueError, match=r"confidence_level must be .*\(0, 1\)"):
        cvar_fairness_report(None, [1, 0], **rows)


def test_pvalues_are_twice_a_tail_of_fishers_test():
    y_pred, groups = predictions_with_two_outliers(n_rows=90, n_groups=4)
    report = cvar_fairness_report(None, y_pred, sensitive_features=groups)
    for group, row in report.iterrows():
        own = groups == group
        table = [
            [y_pred[own].sum(), (1 - y_pred[own]).sum()],
            [y_pred[~own].sum(), (1 - y_pred[~own]).sum()],
        ]
        tails = [fisher_exact(table, side).pvalue for side in ("less", "greater")]
        assert row["pvalue"] == pytest.approx(min(2 * min(tails), 1))
        assert row["rate_of_others"] == pytest.approx(y_pred[~own].mean())


def test_finds_the_groups_that_differ():
    y_pred, groups = predictions_with_two_outliers(n_rows=2000, n_groups=20)
    report = cvar_fairness_report(None, y_pred, sensitive_features=groups)
    found = report[report["adjusted_pvalue"] <= 0.05]
    assert set(found.index[:2]) == {0, 1}
    expected = false_discovery_control(report["pvalue"])
    assert report["adjusted_pvalue"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("more", [[100, 101], [4]])
def test_groups_that_are_left_out_are_no_hypotheses(more):
    """Neither groups without rows nor those below their least size are tested."""
    y_pred, groups = predictions_with_two_outliers(n_rows=60, n_groups=4)
    groups[:3] = 4 if 4 in more else groups[:3]
    encoded = encode_groups(groups, labels=[0, 1, 2, 3, *more], min_group_size=4)
    with pytest.warns(UndefinedMetricWarning, match="leaves groups out"):
        report = cvar_fairness_report(None, y_pred, sensitive_features=encoded)
    assert report.loc[more, ["pvalue", "adjusted_pvalue"]].isna().all(axis=None)
    report = report.drop(index=more)
    expected = false_discovery_control(report["pvalue"])
    assert report["adjusted_pvalue"].tolist() == pytest.approx(expected)
    others = [y_pred[groups != group].mean() for group in report.index]
    assert report["rate_of_others"].tolist() == pytest.approx(others)


# --- bounds of all groups at once, and flags


def counted(hits, sizes):
    """Rows of groups with numbers of hits, as cells."""
    hits, sizes = np.asarray(hits), np.asarray(sizes)
    counts = np.column_stack([hits, sizes - hits]).ravel()
    rows = {"sensitive_features": np.repeat(np.arange(len(hits)), 2), "counts": counts}
    return np.tile([1, 0], len(hits)), rows


HITS, SIZES = [5, 0, 40, 7, 300], [7, 30, 60, 7, 2000]


def exact_ends(hits, sizes, tail):
    found = [
        binomtest(int(k), int(n)).proportion_ci(1 - 2 * tail, method="exact")
        for k, n in zip(hits, sizes, strict=True)
    ]
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def test_simultaneous_bounds_are_exact_ones_of_independent_groups():
    y_pred, rows = counted(HITS, SIZES)
    options = {"confidence_level": 0.9, "simultaneous": True}
    report = cvar_fairness_report(None, y_pred, **rows, **options).sort_index()
    tail = (1 - 0.9 ** (1 / 5)) / 2
    low, high = exact_ends(HITS, SIZES, tail)
    assert report["lower"].tolist() == pytest.approx(low)
    assert report["upper"].tolist() == pytest.approx(high)
    hits, sizes = sum(HITS) - np.array(HITS), sum(SIZES) - np.array(SIZES)
    rate, others = np.array(HITS) / SIZES, hits / sizes
    below, above = exact_ends(hits, sizes, tail)
    expected = rate - others - np.sqrt((rate - low) ** 2 + (above - others) ** 2)
    found = report["difference_lower"].tolist()
    assert found == pytest.approx(np.maximum(expected, -1))
    expected = rate - others + np.sqrt((high - rate) ** 2 + (others - below) ** 2)
    found = report["difference_upper"].tolist()
    assert found == pytest.approx(np.minimum(expected, 1))


@pytest.mark.parametrize("epsilon", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_pvalues_against_a_baseline_are_binomial(epsilon):
    y_pred, rows = counted(HITS, SIZES)
    options = {"baseline": 0.3, "epsilon": epsilon}
    sides = {}
    for side, limit in ("greater", 0.3 + epsilon), ("less", 0.3 - epsilon):
        report = cvar_fairness_report(None, y_pred, alternative=side, **rows, **options)
        sides[side] = report.sort_index()["pvalue"].tolist()
        expected = [
            binomtest(k, n, limit, side).pvalue
            if (k / n > limit if side == "greater" else k / n < limit)
            else 1
            for k, n in zip(HITS, SIZES, strict=True)
        ]
        assert sides[side] == pytest.approx(expected)
    report = cvar_fairness_report(None, y_pred, **rows, **options).sort_index()
    expected = 2 * np.minimum(sides["greater"], sides["less"])
    assert report["pvalue"].tolist() == pytest.approx(np.minimum(expected, 1))
    assert report["difference"].tolist() == pytest.approx(report["rate"] - 0.3)


@pytest.mark.parametrize(
    ("side", "sign"), [("greater", 1), pytest.param("less", -1, marks=pytest.mark.slow)]
)
def test_pvalues_invert_the_bounds(side, sign):
    """An interval with the p-value as its tail ends at epsilon."""
    y_pred, rows = counted(HITS, SIZES)
    options = {"epsilon": 0.05, "alternative": side} | rows
    report = cvar_fairness_report(None, y_pred, **options)
    found = report[report["pvalue"] < 0.5]
    assert (found["pvalue"] > 1e-6).any()
    assert (sign * found["difference"] > 0.05).all()
    assert (report.drop(found.index)["pvalue"] == 1).all()
    end = "difference_lower" if sign == 1 else "difference_upper"
    for group, pvalue in found["pvalue"][found["pvalue"] > 1e-6].items():
        level = {"confidence_level": 1 - 2 * pvalue}
        again = cvar_fairness_report(None, y_pred, **options, **level)
        assert again.loc[group, end] == pytest.approx(sign * 0.05, abs=1e-6)


def test_one_sided_pvalues_are_those_of_fisher():
    y_pred, rows = counted(HITS, SIZES)
    for side in ("greater", "less"):
        report = cvar_fairness_report(None, y_pred, alternative=side, **rows)
        for group, pvalue in report["pvalue"].items():
            hits, size = HITS[group], SIZES[group]
            others = sum(HITS) - hits, sum(SIZES) - size
            table = [[hits, size - hits], [others[0], others[1] - others[0]]]
            assert pvalue == pytest.approx(fisher_exact(table, side).pvalue)


def test_tests_of_differences_are_close_to_that_of_fisher():
    """An epsilon of almost 0 changes little."""
    y_pred, rows = counted([30, 12, 25, 40], [60, 50, 60, 100])
    exact = cvar_fairness_report(None, y_pred, alternative="greater", **rows)
    close = cvar_fairness_report(
        None, y_pred, alternative="greater", epsilon=1e-9, **rows
    )
    above = exact["pvalue"] < 0.3
    assert above.any()
    ratio = close["pvalue"][above] / exact["pvalue"][above]
    assert ratio.between(0.7, 1.2).all()


def test_numbers_in_place_of_outcomes():
    y_pred, groups = predictions_with_two_outliers()
    y_true = np.random.default_rng(1).integers(0, 2, len(y_pred))
    rows = {"sensitive_features": groups, "simultaneous": True, "epsilon": 0.01}
    named = cvar_fairness_report(y_true, y_pred, quality="error_rate", **rows)
    wrong = (y_true != y_pred).astype(float)
    given = cvar_fairness_report(None, None, quality=wrong, **rows)
    pd.testing.assert_frame_equal(given, named)
    called = cvar_fairness_report(
        y_true, y_pred, quality=lambda y_true, y_pred: y_true != y_pred, **rows
    )
    pd.testing.assert_frame_equal(called, named)
    some = cvar_fairness_report(
        y_true, y_pred, quality=lambda t, p: (p * 0.5, t == 1), **rows
    )
    assert some["size"].sum() == y_true.sum()
    rates = cvar_fairness_report(y_true, y_pred, quality="true_positive_rate", **rows)
    assert some["rate"].tolist() == pytest.approx(rates["rate"] / 2)
    # Half of an outcome varies less than a rate.
    assert ((some["upper"] - some["lower"]) < rates["upper"] - rates["lower"]).all()


def test_one_group_is_compared_with_a_baseline():
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        report = cvar_fairness_report(
            None, [1, 1, 1, 0], sensitive_features=["a"] * 4, baseline=0.5
        )
    assert report["pvalue"].tolist() == pytest.approx([2 * 5 / 16])
    assert report["rate_of_others"].isna().all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"simultaneous": "yes"}, "simultaneous must be True or False"),
        ({"baseline": 1.5}, r"baseline must be None or a number in \[0, 1\]"),
        ({"epsilon": -0.1}, r"epsilon must be a number in \[0, 1\)"),
        ({"alternative": "above"}, "alternative must be 'two-sided', 'greater' or"),
        ({"quality": [0.5, 2.0]}, r"quality must lie in \[0, 1\], got 2.0 in row 1"),
        ({"quality": [0.5]}, "y_pred has 2 rows, expected 1"),
        ({"quality": lambda t, p: p * np.nan}, r"quality \(<lambda>\) must"),
    ],
)
def test_bad_options_of_bounds(options, match):
    rows = {"sensitive_features": ["a", "b"]}
    with pytest.raises(ValueError, match=match):
        cvar_fairness_report(None, [1, 0], **rows, **options)


def unequal_sizes(generator, n_groups):
    sizes = np.clip(generator.lognormal(4, 1.8, n_groups), 7, 10_000).astype(int)
    sizes[:2] = 7, 10_000
    return sizes


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.97])
@pytest.mark.parametrize("n_groups", [10, 60, 400])
@pytest.mark.promise("Simultaneous bounds hold for all groups at once")
def test_bounds_of_all_groups_hold_at_once(n_groups, rate):
    generator, held = np.random.default_rng(0), []
    sizes = unequal_sizes(generator, n_groups)
    n_samples = 300 if n_groups < 400 else 100
    for _ in range(n_samples):
        rates = generator.normal(rate, 0.3 * min(rate, 1 - rate), n_groups)
        rates = np.clip(rates, 0.001, 0.999)
        y_pred, rows = counted(generator.binomial(sizes, rates), sizes)
        report = cvar_fairness_report(None, y_pred, simultaneous=True, **rows)
        report = report.sort_index()
        sums = sizes * rates
        true = rates - (sums.sum() - sums) / (sizes.sum() - sizes)
        held.append(
            [
                (report["lower"].le(rates) & report["upper"].ge(rates)).all(),
                report["difference_lower"].le(true).all()
                and report["difference_upper"].ge(true).all(),
            ]
        )
    error = np.sqrt(0.95 * 0.05 / n_samples)
    assert (np.mean(held, axis=0) >= 0.95 - 2 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("n_groups", [10, 100])
@pytest.mark.promise("Flags keep their false discovery rate")
def test_flags_keep_their_false_discovery_rate(n_groups, epsilon):
    """A tenth is worse; of the others a third exceeds its others by epsilon."""
    generator = np.random.default_rng(0)
    sizes, shares = unequal_sizes(generator, n_groups), []
    share, order = sizes / sizes.sum(), generator.permutation(n_groups)
    worse, at, rest = np.split(order, [n_groups // 10, n_groups // 3])
    rates = np.full(n_groups, 0.2)
    rates[worse] += epsilon + 0.15
    if epsilon:
        rates[at] += epsilon * (1 - share[at])
        rates[rest] += (0.2 - share @ rates) / share[rest].sum()
        assert rates.min() > 0
        others = (share @ rates - share * rates) / (1 - share)
        assert (rates - others)[at] == pytest.approx(epsilon)
    found = 0
    for _ in range(200):
        y_pred, rows = counted(generator.binomial(sizes, rates), sizes)
        report = cvar_fairness_report(
            None, y_pred, epsilon=epsilon, alternative="greater", **rows
        )
        flagged = report.index[report["adjusted_pvalue"] <= 0.05]
        false = np.isin(flagged, np.concatenate([at, rest])).sum()
        shares.append(false / max(len(flagged), 1))
        found += len(flagged) - false
    assert found > 0
    error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= 0.05 + 2 * error


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["beta", "half or one", "weights"])
def test_bounds_of_numbers_and_of_weighted_rows(kind):
    """Approximate ones hold nearly as often as they state."""
    generator, held = np.random.default_rng(0), []
    sizes = np.minimum(unequal_sizes(generator, 40), 1000)
    group = np.repeat(np.arange(40), sizes)
    means = generator.uniform(0.02, 0.2, 40)
    for _ in range(200):
        weight = None
        if kind == "beta":
            shape = 2 * means[group]
            true, numbers = means, generator.beta(shape, 2 - shape)
        else:
            hit = generator.random(len(group)) < means[group]
            true, numbers = means, hit.astype(float)
            if kind == "half or one":
                true, numbers = 0.5 + means / 2, 0.5 + hit / 2
            else:
                weight = generator.lognormal(0, 0.5, len(group))
        report = cvar_fairness_report(
            None,
            None,
            quality=numbers,
            sensitive_features=group,
            simultaneous=True,
            sample_weight=weight,
        ).sort_index()
        held.append((report["lower"].le(true) & report["upper"].ge(true)).all())
    assert np.mean(held) >= 0.93


@pytest.mark.slow
def test_false_discoveries_are_rare():
    generator = np.random.default_rng(0)
    any_found = 0
    for _ in range(200):
        groups = generator.integers(0, 50, 1000)
        y_pred = generator.integers(0, 2, 1000)
        report = cvar_fairness_report(None, y_pred, sensitive_features=groups)
        any_found += (report["adjusted_pvalue"] <= 0.05).any()
    assert any_found <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_weights_make_pvalues_of_fewer_rows():
    """Equal weights are none; unequal ones count as fewer rows."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 5, 300)
    y_pred = rng.random(300) < np.where(groups == 2, 0.8, 0.4)
    options = {"sensitive_features": groups}
    plain = cvar_fairness_report(None, y_pred, **options)
    # Weights that add up to the number of rows are not numbers of rows.
    for weights in rng.lognormal(0, 1, 300), np.tile([0.5, 1.5], 150):
        report = cvar_fairness_report(None, y_pred, sample_weight=weights, **options)
        own = groups == 2
        assert report.loc[2, "size"] == own.sum()
        rate = np.average(y_pred[own], weights=weights[own])
        assert report.loc[2, "rate"] == pytest.approx(rate)
        others = np.average(y_pred[~own], weights=weights[~own])
        assert report.loc[2, "rate_of_others"] == pytest.approx(others)
        assert report.loc[2, "pvalue"] > plain.loc[2, "pvalue"]


def test_others_beside_a_group_of_great_weight():
    """The weight of the others is added up, not what is left of all weight."""
    group, y_pred = np.repeat(["a", "b", "c"], 40), np.tile([1, 0, 0, 0], 30)
    y_pred[:40] = 1
    weights = np.where(group == "a", 1e15, 0.1)
    report = cvar_fairness_report(
        None, y_pred, sensitive_features=group, sample_weight=weights
    )
    assert report.loc["a", "rate_of_others"] == pytest.approx(0.25, rel=1e-12)
