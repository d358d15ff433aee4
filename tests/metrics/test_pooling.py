"""Pooled rates of small groups, by dense matrices and by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import norm

from skfair.groups import encode_groups
from skfair.metrics import group_metrics

POOLED = ["pooled", "pooled_lower", "pooled_upper"]


def draw(rng, n, *, own=0.3):
    """People of 24 groups, and the true rate of each of them."""
    people = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n, p=[0.3, 0.7]),
            "race": rng.choice(list("abc"), n, p=[0.7, 0.2, 0.1]),
            "age": rng.integers(0, 4, n),
        }
    )
    effects = [rng.normal(0, 0.6, size) for size in (2, 3, 4)]
    codes = [pd.factorize(people[name], sort=True)[0] for name in people]
    logits = -1 + sum(effect[code] for effect, code in zip(effects, codes, strict=True))
    cell = np.ravel_multi_index(codes, (2, 3, 4))
    rate = expit(logits + rng.normal(0, own, 24)[cell])
    return people, rate, (rng.random(n) < rate).astype(int)


def pool(people, y_pred, **options):
    return group_metrics(
        "selection_rate",
        None,
        y_pred,
        sensitive_features=people,
        pooling="additive",
        **options,
    ).groups


def pool_by_matrices(rates, sizes, columns):
    """Predict logits by covariances of all groups, until they do not move."""
    n = len(rates)
    same = [np.equal.outer(codes, codes).astype(float) for codes in columns]
    kinds = [np.eye(n), *(same if len(columns) > 1 else [])]
    observed = (rates * sizes + 0.5 * sizes / sizes.sum()) / (
        sizes + sizes / sizes.sum()
    )
    logits = np.full(n, logit((rates @ sizes + 0.5) / (sizes.sum() + 1)))
    for _ in range(40):
        means = expit(logits)
        slopes = means * (1 - means)
        responses, noise = logits + (observed - means) / slopes, 1 / (sizes * slopes)

        def parts(logs, responses=responses, noise=noise):
            own = sum(
                np.exp(2 * log) * kind for log, kind in zip(logs, kinds, strict=True)
            )
            inverse = np.linalg.inv(own + np.diag(noise))
            mean = inverse.sum(axis=0) @ responses / inverse.sum()
            rest = responses - mean
            loss = np.log(inverse.sum()) - np.linalg.slogdet(inverse)[1]
            loss = (loss + rest @ inverse @ rest) / 2 - 0.5 * logs.sum()
            return loss, own, inverse, mean, rest

        ends = np.log([0.005, 5])
        found = minimize(
            lambda logs: parts(logs)[0],
            np.full(len(kinds), ends.mean()),
            method="L-BFGS-B",
            bounds=[ends] * len(kinds),
        )
        _, own, inverse, mean, rest = parts(found.x)
        before, logits = logits, mean + own @ inverse @ rest
        left = 1 - own @ inverse.sum(axis=0)
        variances = np.diag(own - own @ inverse @ own) + left**2 / inverse.sum()
        if np.abs(logits - before).max() < 1e-4:
            break
    widths = norm.ppf(0.975) * np.sqrt(variances)
    return np.transpose([expit(logits), expit(logits - widths), expit(logits + widths)])


@pytest.mark.parametrize(
    "names", [pytest.param(["race", "sex"], marks=pytest.mark.slow), ["age"]]
)
def test_pooled_rates_are_those_of_covariance_matrices(names):
    people, _, y_pred = draw(np.random.default_rng(1), 400)
    table = pool(people[names], y_pred)
    cells = pd.Series(y_pred).groupby([people[name] for name in names])
    rates, sizes = cells.mean(), cells.size()
    columns = [
        pd.factorize(rates.index.get_level_values(name))[0]
        for name in range(len(names))
    ]
    expected = pool_by_matrices(rates.to_numpy(), sizes.to_numpy(), columns)
    np.testing.assert_allclose(table[POOLED], expected, atol=2e-3)


@pytest.mark.slow
def test_large_groups_keep_their_rate_and_small_ones_move_to_that_of_their_columns():
    people, _, y_pred = draw(np.random.default_rng(3), 20_000, own=0.8)
    large = pool(people, y_pred)
    np.testing.assert_allclose(large["pooled"], large["value"], atol=0.05)
    chosen = np.arange(300)
    small = pool(people.iloc[chosen], y_pred[chosen])
    spread = small[["value", "pooled"]].std()
    assert spread["pooled"] < 0.8 * spread["value"]
    assert (small["pooled_lower"] < small["pooled"]).all()
    assert (small["pooled"] < small["pooled_upper"]).all()


@pytest.mark.slow
def test_counts_and_weights_of_one_value_change_nothing():
    people, _, y_pred = draw(np.random.default_rng(5), 300)
    expected = pool(people, y_pred)
    weighted = pool(people, y_pred, sample_weight=np.full(300, 0.25))
    np.testing.assert_allclose(weighted[POOLED], expected[POOLED], atol=1e-9)
    cells = people.assign(y=y_pred).value_counts().reset_index()
    counted = pool(cells[["sex", "race", "age"]], cells["y"], counts=cells["count"])
    np.testing.assert_allclose(counted[POOLED], expected[POOLED], atol=1e-9)


@pytest.mark.slow
def test_undefined_rates_are_not_pooled():
    people, _, y_pred = draw(np.random.default_rng(7), 300)
    groups = encode_groups(people, min_group_size=10)
    with pytest.warns(UserWarning, match="at least 10 rows"):
        table = pool(groups, y_pred)
    assert table.loc[table["n"] < 10, POOLED].isna().all(axis=None)
    assert table.loc[table["n"] >= 10, POOLED].notna().all(axis=None)
    table = pool(people, 0 * y_pred, confidence_level=None)
    assert (table["pooled"] < 0.01).all()
    assert table["pooled_lower"].isna().all()


def test_more_groups_than_pairs_are_compared_of():
    rng = np.random.default_rng(11)
    people = pd.DataFrame(rng.integers(0, [9, 9], (2_000, 2)), columns=["a", "b"])
    with pytest.warns(UserWarning, match="two of 81 groups has no interval"):
        result = group_metrics(
            "selection_rate",
            None,
            rng.integers(0, 2, 2_000),
            sensitive_features=people,
            pooling="additive",
        )
    assert result.groups[POOLED].notna().all(axis=None)
    assert result.difference()["lower"].isna().all()
    assert result.difference(multigroup="pooled")["lower"].notna().all()


@pytest.mark.slow
def test_within_strata_groups_borrow_from_their_stratum():
    people, _, y_pred = draw(np.random.default_rng(9), 500)
    town = np.arange(500) % 2
    table = pool(people[["race", "age"]], y_pred, control_features=town)
    alone = pool(people.loc[town == 1, ["race", "age"]], y_pred[town == 1])
    of_town = table.xs(1, level="stratum")
    pd.testing.assert_frame_equal(of_town, alone)


@pytest.mark.parametrize(
    ("metrics", "options", "match"),
    [
        ("f1_score", {}, "pooling must be None for f1_score, got 'additive'"),
        ("accuracy", {"pooling": "full"}, "pooling must be None or 'additive', got"),
    ],
)
def test_only_rates_are_pooled(metrics, options, match):
    given = {"sensitive_features": list("abab"), "pooling": "additive"} | options
    with pytest.raises(ValueError, match=match):
        group_metrics(metrics, [0, 1, 0, 1], [0, 1, 1, 0], **given)


@pytest.mark.slow
@pytest.mark.promise("Intervals of pooled rates cover 95 % of the groups")
def test_coverage_and_error_over_groups():
    covered, raw, pooled = [], 0.0, 0.0
    for seed in range(60):
        people, rate, y_pred = draw(np.random.default_rng(seed), 800)
        table = pool(people, y_pred).droplevel("metric")
        names = list(people)
        true = pd.Series(rate).groupby([people[name] for name in names]).first()
        true = true.loc[table.index]
        covered += [*true.between(table["pooled_lower"], table["pooled_upper"])]
        some = table["n"].between(20, 100)
        raw += float(((table["value"] - true)[some] ** 2).sum())
        pooled += float(((table["pooled"] - true)[some] ** 2).sum())
    assert 0.93 <= np.mean(covered) <= 0.98
    assert pooled < 0.7 * raw
