"""People who have several rows are permuted, drawn and counted whole."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from skfair.metrics import (
    bootstrap_interval,
    calibration_gap,
    certify,
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    group_metrics,
    madd,
    mcdp,
    permutation_test,
)
from skfair.model_selection import cross_val_fairness

QUICK = mcdp, equalized_odds_difference
METRICS = [
    mcdp,
    partial(madd, bandwidth="auto"),
    demographic_parity_difference,
    equalized_odds_difference,
    calibration_gap,
]


#: One of scores, and one of errors.
few_metrics = pytest.mark.parametrize(
    "metric",
    [
        pytest.param(metric, marks=[] if metric in QUICK else pytest.mark.slow)
        for metric in METRICS
    ],
)


def visits(n_people=60, n_rows=20, seed=0, correlation=1.0):
    """Labels, scores, decisions, groups and people at parity."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_rows)
    own = rng.normal(size=n_people)[person]
    noise = rng.normal(size=len(person))
    latent = np.sqrt(correlation) * own + np.sqrt(1 - correlation) * noise
    score = 1 / (1 + np.exp(-latent))
    true = (rng.uniform(size=len(person)) < score).astype(int)
    group = np.where(np.arange(n_people) % 2, "b", "a")[person]
    return true, score, (latent > 0).astype(int), group, person


def prediction(metric, score, decision):
    of_scores = metric in METRICS[:2] or metric is calibration_gap
    return score if of_scores else decision


@few_metrics
def test_a_cluster_for_each_row_changes_nothing(metric):
    true, score, decision, group, _ = visits(200, 1)
    y_pred = prediction(metric, score, decision)
    people = [f"person {i}" for i in range(len(true))]
    rows = {"sensitive_features": group, "random_state": 0}
    for call, options in (
        (permutation_test, {"n_permutations": 19}),
        (bootstrap_interval, {"n_resamples": 19}),
    ):
        alone = call(metric, true, y_pred, **rows, **options)
        clustered = call(metric, true, y_pred, clusters=people, **rows, **options)
        assert clustered.value == alone.value
        if call is bootstrap_interval:
            assert (clustered.lower, clustered.upper) == (alone.lower, alone.upper)
    assert abs(clustered.value - alone.value) == 0


@few_metrics
def test_copies_of_a_person_add_nothing(metric):
    """A test of rows that stand three times is that of the rows."""
    true, score, decision, group, person = visits(80, 1)
    y_pred = prediction(metric, score, decision)
    options = {"n_permutations": 99, "random_state": 0}
    once = permutation_test(metric, true, y_pred, sensitive_features=group, **options)
    three = np.repeat(np.arange(80), 3)
    copies = permutation_test(
        metric,
        true[three],
        y_pred[three],
        sensitive_features=group[three],
        clusters=person[three],
        **options,
    )
    assert abs(copies.pvalue - once.pvalue) <= 0.15
    if metric not in (METRICS[1], calibration_gap):  # whose bins depend on rows
        assert copies.value == pytest.approx(once.value)


@pytest.mark.parametrize("metric", [mcdp, METRICS[2], METRICS[3]])
def test_intervals_of_copies_are_those_of_the_people(metric):
    true, score, decision, group, person = visits(80, 1)
    y_pred = prediction(metric, score, decision)
    three = np.repeat(np.arange(80), 3)
    rows = {"sensitive_features": group[three], "clusters": person[three]}
    once = confidence_interval(metric, true, y_pred, sensitive_features=group)
    copies = confidence_interval(metric, true[three], y_pred[three], **rows)
    assert_allclose(
        [copies.value, copies.lower, copies.upper],
        [once.value, once.lower, once.upper],
        atol=1e-12,
    )
    limits = {"at_most": 0.6}
    assert certify(
        metric, true[three], y_pred[three], **rows, **limits
    ).smallest_certified == (
        pytest.approx(
            certify(
                metric, true, y_pred, sensitive_features=group, **limits
            ).smallest_certified
        )
    )


@pytest.mark.slow
def test_whole_people_are_permuted():
    """The permutations are those of people's labels, by brute force."""
    _, _, decision, group, person = visits(6, 3, correlation=0.5)
    result = permutation_test(
        demographic_parity_difference,
        None,
        decision,
        sensitive_features=group,
        clusters=person,
        n_permutations=500,
        random_state=0,
    )
    of_person = decision.reshape(6, 3).mean(axis=1)
    possible = set()
    for chosen in range(2**6):
        members = np.array([chosen >> i & 1 for i in range(6)], bool)
        if members.sum() == 3:
            gap = abs(of_person[members].mean() - of_person[~members].mean())
            possible.add(round(gap, 10))
    assert set(np.round(result.null_distribution, 10)) == possible


@pytest.mark.slow
def test_people_of_equal_shares_of_labels_are_exchanged():
    """For metrics of errors people move among those with the same true labels."""
    person = np.repeat(np.arange(8), 2)
    true = np.array([0, 1] * 4 + [1, 1] * 4)
    group = np.repeat(np.tile(["a", "b"], 4), 2)
    predicted = np.array([0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0])
    result = permutation_test(
        equalized_odds_difference,
        true,
        predicted,
        sensitive_features=group,
        clusters=person,
        n_permutations=300,
        random_state=1,
    )
    possible = set()
    halves = [[i for i in range(16) if bin(i).count("1") == 2]] * 2
    for first in halves[0]:
        for second in halves[1]:
            members = [first >> i & 1 for i in range(4)]
            members += [second >> i & 1 for i in range(4)]
            labels = np.repeat(members, 2)
            gap = equalized_odds_difference(true, predicted, sensitive_features=labels)
            possible.add(round(gap, 10))
    assert set(np.round(result.null_distribution, 10)) <= possible
    assert len(set(np.round(result.null_distribution, 10))) >= len(possible) - 1


def test_order_of_rows_and_names_of_people_change_nothing():
    true, score, _, group, person = visits(30, 4, correlation=0.5)
    order = np.random.default_rng(1).permutation(len(true))
    names = np.array([f"p{i:03d}" for i in range(30)])[person]
    options = {"n_permutations": 99, "random_state": 0}
    first = permutation_test(
        mcdp, true, score, sensitive_features=group, clusters=person, **options
    )
    second = permutation_test(
        mcdp,
        true[order],
        score[order],
        sensitive_features=group[order],
        clusters=pd.Series(names[order], index=order),
        **options,
    )
    assert first.value == second.value
    assert abs(first.pvalue - second.pvalue) <= 0.15


def test_rows_without_weight_do_not_hide_a_person():
    true, score, _, group, person = visits(40, 3, correlation=0.5)
    weight = np.tile([0.0, 1.0, 2.0], 40)
    kept = weight > 0
    options = {"n_permutations": 99, "random_state": 0}
    with_zeros = permutation_test(
        mcdp,
        true,
        score,
        sensitive_features=group,
        sample_weight=weight,
        clusters=person,
        **options,
    )
    without = permutation_test(
        mcdp,
        true[kept],
        score[kept],
        sensitive_features=group[kept],
        sample_weight=weight[kept],
        clusters=person[kept],
        **options,
    )
    assert with_zeros.pvalue == without.pvalue
    assert with_zeros.value == without.value


@pytest.mark.slow
def test_group_metrics_count_people():
    true, _, decision, group, person = visits(80, 1)
    three = np.repeat(np.arange(80), 3)
    names = ["selection_rate", "recall_score", "f1_score"]
    once = group_metrics(
        names, true, decision, sensitive_features=group, n_resamples=19, random_state=0
    ).to_frame()
    clustered = group_metrics(
        names,
        true[three],
        decision[three],
        sensitive_features=group[three],
        clusters=person[three],
        n_resamples=19,
        random_state=0,
    ).to_frame()
    assert_allclose(clustered["value"], once["value"])
    rates = [each in names[:2] for each in once.index.get_level_values("metric")]
    for end in ("lower", "upper"):
        assert_allclose(clustered[end][rates], once[end][rates], atol=1e-12)
        assert_allclose(clustered[end], once[end], atol=0.15)


def test_few_people_are_named_in_a_warning():
    """Rows are many; what is drawn are the people."""
    _, _, decision, _, person = visits(40, 20)
    group = np.where(person < 9, "few", "many")
    rows = {"sensitive_features": group, "n_resamples": 9, "random_state": 0}
    message = "draws few people: 'few' has 9 people. .* fewer than 10 people"
    parity = demographic_parity_difference
    with pytest.warns(UserWarning, match=message):
        bootstrap_interval(parity, None, decision, clusters=person, **rows)
    rows |= {"control_features": np.where(person % 4 < 3, "u", "v")}
    message = "'few' has 7 people in stratum 'u', 'few' has 2 people in stratum 'v'"
    with pytest.warns(UserWarning, match=message):
        bootstrap_interval(parity, None, decision, clusters=person, **rows)
    rows["sensitive_features"] = np.where(person < 20, "few", "many")
    del rows["control_features"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bootstrap_interval(parity, None, decision, clusters=person, **rows)


def test_group_metrics_draw_no_few_people():
    true, _, decision, _, person = visits(40, 20)
    rows = {"sensitive_features": np.where(person < 9, "few", "many")}
    rows |= {"n_resamples": 9, "random_state": 0}
    with pytest.warns(UserWarning, match="no interval for 'few'.* at least 10 people"):
        table = group_metrics("f1_score", true, decision, clusters=person, **rows)
    lower = table.to_frame()["lower"].to_numpy()
    assert np.isnan(lower).tolist() == [True, False]


@pytest.mark.slow
def test_cross_validation_permutes_people():
    true, score, _, group, person = visits(60, 5)
    X = pd.DataFrame({"x": score, "sex": group == "b"})
    options = {"n_permutations": 49, "n_resamples": 49, "random_state": 0}
    result, rows = (
        cross_val_fairness(
            mcdp,
            LogisticRegression(),
            X,
            true,
            sensitive_features="sex",
            cv=GroupKFold(3),
            groups=person,
            clusters=clusters,
            **options,
        )
        for clusters in (person, None)
    )
    assert result.value == rows.value
    assert result.n_rows == 300
    assert result.upper - result.lower > rows.upper - rows.lower
    assert result.corrected <= rows.corrected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clusters": [0, 0, 1]}, r"clusters must have shape \(4,\)"),
        ({"clusters": [0, 0, None, 1]}, "clusters has 1 missing"),
        (
            {"clusters": [0, 1, 1, 2]},
            "sensitive_features must be the same in all rows of a cluster, since "
            "people are permuted and drawn with all their rows, got 'a' and 'b' in "
            "cluster 1",
        ),
        (
            {"control_features": ["u", "v", "u", "u"]},
            "control_features must be the same in all rows of a cluster.*'u' and 'v' "
            "in cluster 0",
        ),
        ({"counts": [1, 2, 1, 1]}, "counts must be None with clusters"),
    ],
)
@pytest.mark.parametrize(
    "call", [permutation_test, bootstrap_interval, confidence_interval]
)
def test_errors(call, change, message):
    rows = {"sensitive_features": list("aabb"), "clusters": [0, 0, 1, 1], **change}
    with pytest.raises(ValueError, match=message):
        call(mcdp, None, [0.1, 0.4, 0.5, 0.9], **rows)
    if "control_features" not in change:
        with pytest.raises(ValueError, match=message):
            group_metrics("selection_rate", None, [0, 1, 1, 0], **rows)


@pytest.mark.parametrize("method", ["finite_sample", "anytime"])
def test_inequalities_need_independent_rows(method):
    with pytest.raises(ValueError, match="clusters must be None with method="):
        confidence_interval(
            mcdp,
            None,
            [0.1, 0.4, 0.5, 0.9],
            sensitive_features=list("aabb"),
            clusters=[0, 0, 1, 1],
            method=method,
        )


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0, 0.5])
def test_certificates_of_madd_subtract_no_noise_that_people_may_not_have(correlation):
    """Rows of a person that differ have less noise in histograms than copies have."""
    _, _, _, group, _ = visits(60, 20)
    shift, many = 0.8 * (group == "b"), visits(200_000, 1, 1)
    latent = np.log(many[1] / (1 - many[1])) + 0.8 * (many[3] == "b")
    true = madd(None, 1 / (1 + np.exp(-latent)), sensitive_features=many[3])
    covered = []
    for seed in range(40):
        _, score, _, _, person = visits(60, 20, seed, correlation)
        shifted = 1 / (1 + np.exp(-np.log(score / (1 - score)) - shift))
        rows = {"sensitive_features": group, "clusters": person}
        interval = confidence_interval(madd, None, shifted, **rows)
        covered.append(interval.lower <= true <= interval.upper)
    assert np.mean(covered) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0, 0.5, 1])
def test_level_and_coverage(correlation):
    """At parity a test of level .05 rejects in about .05 of samples."""
    pvalues, covered = [], []
    for seed in range(300):
        _, _, decision, group, person = visits(60, 20, seed, correlation)
        rows = {"sensitive_features": group, "clusters": person}
        test = permutation_test(
            demographic_parity_difference,
            None,
            decision,
            n_permutations=99,
            random_state=seed,
            **rows,
        )
        pvalues.append(test.pvalue)
        interval = confidence_interval(
            demographic_parity_difference, None, decision, **rows
        )
        covered.append(interval.lower <= 0)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.09
    assert np.mean(covered) >= 0.94
