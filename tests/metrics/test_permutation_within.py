"""Permutation within strata, constant statistics, and several processes."""

from functools import partial

import numpy as np
import pytest

from skfair.groups import encode_groups
from skfair.metrics import (
    bootstrap_interval,
    cvar_fairness,
    cvar_fairness_test,
    dcp,
    equalized_odds_difference,
    max_gap,
    max_gap_test,
    mcdp,
    permutation_test,
    predictive_value_difference,
)


def draw(seed):
    """Draw groups with the same error rate, one with far fewer positives."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], [300, 100])
    y_true = generator.random(len(groups)) < np.where(groups == "a", 0.5, 0.05)
    y_pred = y_true ^ (generator.random(len(groups)) < 0.2)
    return y_true.astype(int), y_pred.astype(int), groups


def share_rejected(n_samples, **options):
    rejected = 0
    for seed in range(n_samples):
        y_true, y_pred, groups = draw(seed)
        if len(set(y_true[groups == "b"])) < 2:
            continue  # undefined
        result = permutation_test(
            equalized_odds_difference,
            y_true,
            y_pred,
            sensitive_features=groups,
            n_permutations=99,
            random_state=seed,
            **options,
        )
        rejected += result.pvalue <= 0.05
    return rejected / n_samples


@pytest.mark.slow
@pytest.mark.promise("Other base rates are not a finding of a metric of errors")
def test_equal_errors_and_other_base_rates_hold_the_level():
    assert 0.01 <= share_rejected(100) <= 0.09
    assert share_rejected(40, within=None) > 0.3


def error_rates(y_true, y_pred, groups):
    return np.array(
        [
            [y_pred[(groups == group) & (y_true == label)].mean() for label in (0, 1)]
            for group in ("a", "b")
        ]
    )


@pytest.mark.usefixtures("rows_are_permuted")
@pytest.mark.parametrize("seed", range(3))
def test_largest_standardised_gap_of_error_rates_by_hand(seed):
    """And where it is the same, as it is for small groups, the sum of all."""
    y_true, y_pred, groups = draw(seed)
    seen = []

    def record(y_true, y_pred, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    rows = {"sensitive_features": groups, "n_permutations": 50, "random_state": seed}
    permutation_test(record, y_true, y_pred, within=y_true, **rows)
    found = permutation_test(equalized_odds_difference, y_true, y_pred, **rows)
    gaps = [
        np.abs(np.diff(error_rates(y_true, y_pred, given), axis=0)) for given in seen
    ]
    rates = np.array(gaps).reshape(51, 2)
    standardised = (rates - rates.mean(axis=0)) / rates.std(axis=0)
    # To nine digits: gaps are rounded.
    order = [(round(max(z), 9), round(sum(z), 9)) for z in standardised.tolist()]
    expected = np.mean([pair >= order[0] for pair in order])
    assert found.pvalue == pytest.approx(expected, abs=1e-12)
    means = dict(zip([0, 1], rates[1:].mean(axis=0), strict=True))
    by_label = found.pairs.set_index("label")["by_chance"].to_dict()
    assert by_label == pytest.approx(means)
    assert found.null_distribution == pytest.approx([gap.max() for gap in gaps[1:]])


TRUE_POSITIVES = partial(max_gap, quality="true_positive_rate")


@pytest.mark.parametrize(
    ("metric", "of_errors"),
    [
        pytest.param(
            partial(partial(equalized_odds_difference), multigroup="pooled"),
            True,
            marks=pytest.mark.slow,
        ),
        pytest.param(dcp, True, marks=pytest.mark.slow),
        (TRUE_POSITIVES, True),
        pytest.param(
            partial(cvar_fairness, quality="false_positive_rate", alpha=0.2),
            True,
            marks=pytest.mark.slow,
        ),
        (mcdp, False),
        (
            partial(
                partial(max_gap, quality="true_positive_rate"), quality="error_rate"
            ),
            False,
        ),
    ],
)
def test_only_metrics_of_errors_are_permuted_within_true_labels(metric, of_errors):
    y_true, y_pred, groups = draw(0)
    rows = {"sensitive_features": groups, "n_permutations": 9, "random_state": 0}
    found, inside, free = (
        permutation_test(metric, y_true, y_pred, **rows, **within).null_distribution
        for within in ({}, {"within": y_true}, {"within": None})
    )
    assert np.array_equal(found, inside) == of_errors
    assert np.array_equal(found, free) != of_errors


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ("y_true", "within must be 'auto', None or an array, got 'y_true'"),
        (3, "within must have shape .* got a single int"),
        ([0, 1, 1], r"within must have shape \(2,\).*\(3,\)"),
        ([[0, 1], [1, 0]], r"within must have shape \(2,\).*\(2, 2\)"),
        ([0, None], "within has 1 missing"),
    ],
)
def test_bad_strata(within, message):
    with pytest.raises(ValueError, match=message):
        permutation_test(
            mcdp, None, [0.1, 0.2], sensitive_features=[0, 1], within=within
        )


@pytest.mark.slow
@pytest.mark.promise("The number of processes changes no draw")
def test_number_of_processes_does_not_matter():
    y_true, y_pred, groups = draw(0)
    rows = {"sensitive_features": groups, "random_state": 0}
    for function, name in (
        (partial(permutation_test, n_permutations=20), "null_distribution"),
        (partial(bootstrap_interval, n_resamples=20), "distribution"),
    ):
        calls = [
            function(equalized_odds_difference, y_true, y_pred, n_jobs=n, **rows)
            for n in (None, 2)
        ]
        np.testing.assert_array_equal(*[getattr(call, name) for call in calls])


@pytest.mark.parametrize(
    "function",
    [
        partial(permutation_test, mcdp, n_permutations=3),
        partial(bootstrap_interval, mcdp, n_resamples=3),
        partial(max_gap_test, n_permutations=3),
        partial(cvar_fairness_test, n_permutations=3, alpha=0.9, epsilon=0.1),
    ],
)
def test_progress_on_request(function, capsys):
    _, y_pred, groups = draw(0)
    function(None, y_pred, sensitive_features=groups)
    assert capsys.readouterr() == ("", "")
    function(None, y_pred, sensitive_features=groups, verbose=1)
    assert "finished" in "".join(capsys.readouterr())


def wrapped(y_true, y_pred, *, sensitive_features):
    """Equalized odds difference behind a function of the user's own."""
    return equalized_odds_difference(
        y_true, y_pred, sensitive_features=sensitive_features
    )


def test_a_metric_of_ones_own_says_what_is_permuted():
    rows = {"sensitive_features": list("ab") * 30, "random_state": 0}
    rows["n_permutations"] = 49
    y_true, y_pred = [0] * 20 + [1] * 40, [0, 1, 1] * 20
    known = permutation_test(equalized_odds_difference, y_true, y_pred, **rows)
    with pytest.warns(UserWarning, match=r"whether wrapped compares errors.*y_true"):
        everyone = permutation_test(wrapped, y_true, y_pred, **rows)
    rows["within"] = y_true
    within = permutation_test(wrapped, y_true, y_pred, **rows)
    # The function compares no pairs, but the null hypothesis is that of the metric.
    null = pytest.approx(known.null_distribution)
    assert within.null_distribution == null
    assert everyone.null_distribution != null


@pytest.mark.parametrize("within", [None, [0, 1] * 6])
def test_rows_of_weight_zero_keep_their_group(within):
    groups = encode_groups(["a"] * 4 + ["b"] * 6 + [None] * 2, missing="drop")
    weights = np.array([1, 2, 0, 0, 1, 1, 1, 0, 0, 0, 5, 5])
    scores, seen = np.linspace(0, 1, 12), []

    def record(y_true, y_score, *, sensitive_features, sample_weight):
        seen.append(sensitive_features.tolist())
        return mcdp(
            y_true,
            y_score,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )

    rows = {"sensitive_features": groups, "sample_weight": weights, "random_state": 0}
    options = {"within": within, "n_permutations": 50}
    whole = permutation_test(record, None, scores, **rows, **options)
    labels, still = np.asarray(groups)[:10], weights[:10] == 0
    assert (np.array(seen)[:, still] == labels[still]).all()
    assert len(set(map(tuple, seen))) > 2
    kept = (weights > 0) & (groups.codes >= 0)
    without = permutation_test(
        mcdp,
        None,
        scores[kept],
        sensitive_features=groups[kept],
        sample_weight=weights[kept],
        random_state=0,
        n_permutations=50,
        within=None if within is None else np.array(within)[kept],
    )
    np.testing.assert_array_equal(whole.null_distribution, without.null_distribution)


def test_resamples_leave_out_rows_of_weight_zero():
    groups = ["a"] * 5 + ["b"] * 10
    weights = [1, 0, 0, 0, 0] + [1] * 10
    scores = np.linspace(0, 1, 15)
    result = bootstrap_interval(
        mcdp,
        None,
        scores,
        sensitive_features=groups,
        sample_weight=weights,
        n_resamples=50,
        random_state=0,
    )
    assert (result.distribution == 1).all()


@pytest.mark.slow
def test_undefined_permutations_of_a_stratum_are_left_out():
    """A stratum where two groups share three positive decisions often lacks a gap."""
    rng = np.random.default_rng(11)
    groups = np.repeat([0, 1, 0, 1], [15, 15, 4, 8])
    strata = np.repeat([0, 1], [30, 12])
    y_pred = (rng.random(42) < 0.5).astype(int)
    y_true = (rng.random(42) < 0.3 + 0.4 * (groups == 0)).astype(int)
    y_pred[30:] = 0
    y_pred[[30, 31, 35]] = 1
    result = permutation_test(
        predictive_value_difference,
        y_true,
        y_pred,
        sensitive_features=groups,
        control_features=strata,
        n_permutations=199,
        random_state=0,
    )

    def gaps(codes):
        found = []
        for stratum in (0, 1):
            rates = []
            for group in (0, 1):
                own = y_true[(strata == stratum) & (codes == group) & (y_pred == 1)]
                rates.append(own.mean() if len(own) else np.nan)
            found.append(abs(rates[0] - rates[1]))
        return found

    drawn = [gaps(groups)]
    for _ in range(999):
        codes = groups.copy()
        for stratum in (0, 1):
            codes[strata == stratum] = rng.permutation(codes[strata == stratum])
        drawn.append(gaps(codes))
    by_chance = np.nanmean(drawn, axis=0)
    found = result.pairs.set_index("stratum")["by_chance"].sort_index()
    np.testing.assert_allclose(found, by_chance, atol=0.06)
    standardised = (drawn - by_chance) / np.nanstd(drawn, axis=0)
    largest = np.fmax.reduce(standardised, axis=1)
    # The sums of all gaps order permutations with the same largest one.
    tied = np.abs(largest - largest[0]) < 1e-9
    sums = np.nansum(standardised, axis=1)
    above = np.where(tied, sums >= sums[0] - 1e-9, largest > largest[0])
    expected = above.mean()
    assert abs(result.pvalue - expected) < 0.1
