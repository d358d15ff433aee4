"""Bounds of disparities between groups that are known by a proxy only."""

import pickle
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog
from sklearn.exceptions import UndefinedMetricWarning

from skfair.frames import count_table
from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    mcdp,
    proxy_bounds,
)
from skfair.statistics import CountTable

SCORES = [0.1, 0.2, 0.4, 0.5, 0.7, 0.9]
RATIOS = [1.0, 1.3, 2.0, 5.0, np.inf]
at_half = partial(demographic_parity_difference, threshold=0.5)
OF_SCORES = [mcdp, abcc, demographic_parity_difference, at_half]


def draw_cells(rng, n_cells, n_rows):
    """Cell of each row, at least two rows each."""
    more = rng.integers(0, n_cells, n_rows - 2 * n_cells)
    return np.concatenate([np.repeat(np.arange(n_cells), 2), more])


def by_groups(metric, y_true, values, shares, sample_weight=None):
    """A metric of rows that belong to each of two groups by a share."""
    weight = np.ones(len(values)) if sample_weight is None else sample_weight
    twice = np.concatenate([values, values])
    kept = np.concatenate([(1 - shares) * weight, shares * weight])
    true = None if y_true is None else np.concatenate([y_true, y_true])[kept > 0]
    groups = np.repeat([0, 1], len(values))
    return metric(
        true,
        twice[kept > 0],
        sensitive_features=groups[kept > 0],
        sample_weight=kept[kept > 0],
    )


def brute_mcdp(cells, scores, q, odds_ratio):
    """Bounds of MCDP by linear programs over the share of each row."""
    odds = q / (1 - q)  # those of each row differ by at most the factor
    low = (odds / odds_ratio) / (1 + odds / odds_ratio)
    high = 1 - 1 / (1 + odds * odds_ratio)
    in_cell = (cells == np.arange(len(q))[:, None]).astype(float)
    sums = q * in_cell.sum(axis=1)
    second, first = sums.sum(), len(cells) - sums.sum()
    below = (scores <= np.unique(scores)[:, None]).astype(float)
    gaps, offset = below * (1 / first + 1 / second), below.sum(axis=1) / first
    shares = np.column_stack([low[cells], high[cells]])
    upper = max(
        -linprog(-sign * row, A_eq=in_cell, b_eq=sums, bounds=shares).fun - sign * off
        for row, off in zip(gaps, offset, strict=True)
        for sign in (-1, 1)
    )
    one = np.ones((len(gaps), 1))
    lower = linprog(
        np.append(np.zeros(len(cells)), 1),
        A_ub=np.block([[gaps, -one], [-gaps, -one]]),
        b_ub=np.concatenate([offset, -offset]),
        A_eq=np.column_stack([in_cell, np.zeros(len(q))]),
        b_eq=sums,
        bounds=np.vstack([shares, [0, None]]),
    ).fun
    return lower, upper


@pytest.mark.slow
@pytest.mark.parametrize("n_cases", [4, 40], ids=["few", "many"])
def test_bounds_are_those_of_linear_programs_over_all_couplings(n_cases):
    rng, n_attained = np.random.default_rng(0), 0
    for _ in range(n_cases):
        n_cells = int(rng.integers(1, 5))
        cells = draw_cells(rng, n_cells, int(rng.integers(2 * n_cells, 20)))
        scores = rng.choice(SCORES, len(cells))
        q, ratio = rng.uniform(0.05, 0.95, n_cells), float(rng.choice(RATIOS))
        given = {
            "cells": cells,
            "group_probabilities": dict(enumerate(q)),
            "odds_ratio": ratio,
        }
        lower, upper = brute_mcdp(cells, scores, q, ratio)
        result = proxy_bounds(mcdp, None, scores, **given)
        assert result.lower <= lower + 1e-9
        assert result.upper == pytest.approx(upper, abs=1e-9)
        n_attained += lower - result.lower < 1e-9
    assert n_cases / 2 <= n_attained <= n_cases


def test_at_odds_ratio_one_it_is_the_weighted_metric():
    rng = np.random.default_rng(0)
    n = 3000
    cells, q = rng.integers(0, 20, n), rng.uniform(0.1, 0.9, 20)
    shares = q[cells]
    scores = np.clip(rng.uniform(size=n) + 0.3 * (shares - 0.5), 0, 1)
    given = {"group_probabilities": shares, "odds_ratio": 1}
    for weight in (None, rng.uniform(0.1, 2, n)):
        for metric in OF_SCORES:
            result = proxy_bounds(metric, None, scores, sample_weight=weight, **given)
            value = by_groups(metric, None, scores, shares, weight)
            assert result.estimate == pytest.approx(value, abs=1e-12)
            assert result.lower == pytest.approx(value, abs=1e-12)
            assert result.upper == pytest.approx(value, abs=1e-12)
    y_true, y_pred = rng.integers(0, 3, n), rng.integers(0, 3, n)
    result = proxy_bounds(equalized_odds_difference, y_true, y_pred, **given)
    value = by_groups(equalized_odds_difference, y_true, y_pred, shares)
    assert [result.estimate, result.lower, result.upper] == pytest.approx(
        [value] * 3, abs=2e-12
    )


def check_random_table(rng, ratio_is_true, n_groups=2, multigroup="pairwise"):
    """Check that the value of a random joint table lies within its bounds."""
    n_cells, n = int(rng.integers(1, 5)), int(rng.integers(4, 12))
    cells = np.repeat(np.arange(n_cells), n)
    in_cell = (cells == np.arange(n_cells)[:, None]).astype(float)
    masses = rng.exponential(size=n_cells * n)
    shares = rng.dirichlet(rng.choice([0.5, 1, 3], n_groups), n_cells * n)
    shares = np.clip(shares, 1e-3, 1 - 1e-3)
    shares /= shares.sum(axis=1, keepdims=True)
    q = (in_cell * masses) @ shares / (in_cell @ masses)[:, None]
    odds = shares / (1 - shares) * ((1 - q) / q)[cells]
    ratio = np.maximum(odds, 1 / odds).max() * (1 + 1e-12) if ratio_is_true else np.inf
    of_cell = q[:, 1] if n_groups == 2 else q
    given = {
        "cells": cells,
        "group_probabilities": dict(enumerate(of_cell.tolist())),
        "odds_ratio": ratio,
        "sample_weight": masses,
    }
    cases = [(metric, None, rng.choice(SCORES, len(cells))) for metric in OF_SCORES]
    labels = rng.integers(0, 2, (2, len(cells)))
    if n_groups == 2 and len(np.unique(labels[0])) == 2:
        cases.append((equalized_odds_difference, *labels))
    for metric, y_true, y in cases:
        compared = partial(metric, multigroup=multigroup)
        result = proxy_bounds(compared, y_true, y, **given)
        truth = compared(
            None if y_true is None else np.tile(y_true, n_groups),
            np.tile(y, n_groups),
            sensitive_features=np.repeat(np.arange(n_groups), len(cells)),
            sample_weight=(masses[:, None] * shares).T.ravel(),
        )
        assert result.lower - 1e-12 <= truth <= result.upper + 1e-12, metric


@pytest.mark.parametrize(
    "n_tables", [5, pytest.param(300, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.promise("Bounds by a proxy contain the true value")
def test_the_true_value_lies_within_the_bounds(n_tables):
    rng = np.random.default_rng(1)
    for i in range(n_tables):
        check_random_table(rng, ratio_is_true=i % 2 == 0)


@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
@pytest.mark.parametrize("ratio_is_true", [True, False])
def test_the_true_value_of_three_groups_lies_within_them(multigroup, ratio_is_true):
    check_random_table(np.random.default_rng(11), ratio_is_true, 3, multigroup)


def labelings(cells, n_groups, counts):
    """All groups of rows with given numbers of each group in each cell."""
    for groups in product(range(n_groups), repeat=len(cells)):
        table = np.zeros((cells.max() + 1, n_groups))
        np.add.at(table, (cells, groups), 1)
        if (table == counts).all():
            yield np.array(groups)


def has_all_rates(groups, y_true):
    """Whether each group has rows of each true label."""
    pairs = set(zip(groups, y_true, strict=True))
    return len(pairs) == len(set(groups)) * len(set(y_true))


@pytest.mark.slow
@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
def test_upper_bounds_are_attained_by_some_labels(multigroup):
    rng = np.random.default_rng(5)
    cells = np.array([0, 0, 0, 0, 1, 1, 1])
    for counts in ([[2, 2], [1, 2]], [[1, 1, 2], [1, 1, 1]]):
        counts = np.array(counts)
        scores, labels = (
            rng.choice(SCORES, 7),
            rng.permuted([[0, 1, 0, 1, 1, 0, 1]] * 2, axis=1),
        )
        given = {
            "cells": cells,
            "group_probabilities": dict(enumerate((counts / [[4], [3]]).tolist())),
        }
        if counts.shape[1] == 2:
            given["group_probabilities"] = dict(enumerate(counts[:, 1] / [4, 3]))
        found = list(labelings(cells, counts.shape[1], counts))
        assert len(found) > 10
        for metric, y_true, y in (
            (mcdp, None, scores),
            (demographic_parity_difference, None, scores),
            (equalized_odds_difference, *labels),
        ):
            metric = partial(metric, multigroup=multigroup)
            values = [
                metric(y_true, y, sensitive_features=groups)
                for groups in found
                if y_true is None or has_all_rates(groups, y_true)
            ]
            result = proxy_bounds(metric, y_true, y, **given)
            assert result.lower <= min(values) + 1e-12
            if y_true is None:
                assert result.upper == pytest.approx(max(values), abs=1e-12)
            else:
                assert result.upper >= max(values) - 1e-12


def test_error_rates_are_bounded_sharply():
    y_true, y_pred = np.repeat([1, 0], [6, 2]), np.repeat([1, 0], [3, 5])
    cells = np.zeros(8, dtype=int)
    values = [
        equalized_odds_difference(y_true, y_pred, sensitive_features=groups)
        for groups in labelings(cells, 2, np.array([[2, 6]]))
        if has_all_rates(groups, y_true)
    ]
    given = {"cells": cells, "group_probabilities": {0: 0.75}}
    result = proxy_bounds(equalized_odds_difference, y_true, y_pred, **given)
    assert max(values) <= result.upper
    assert result.upper == pytest.approx(0.75, abs=1e-12)
    # With one true label error rates are rates of decisions.
    rng = np.random.default_rng(4)
    cells, decisions = rng.integers(0, 5, 200), rng.integers(0, 2, 200)
    given = {"cells": cells, "group_probabilities": dict(enumerate(SCORES))}
    given["odds_ratio"] = RATIOS
    errors = proxy_bounds(equalized_odds_difference, np.ones(200), decisions, **given)
    rates = proxy_bounds(demographic_parity_difference, None, decisions, **given)
    assert errors.lower == pytest.approx(rates.lower, abs=1e-12)
    assert errors.upper == pytest.approx(rates.upper, abs=1e-12)


@pytest.mark.slow
def test_rows_without_a_group_can_be_any():
    rng = np.random.default_rng(2)
    for n_groups in (2, 3):
        for _ in range(2):
            scores = rng.choice(SCORES, 12)
            known = np.concatenate([np.arange(3) % n_groups, rng.integers(0, 2, 6)])
            groups = np.array([*known.tolist(), None, None, None], dtype=object)
            y_true, y_pred = rng.integers(0, 2, (2, 12))
            for metric, true, y in (
                (mcdp, None, scores),
                (at_half, None, scores),
                (abcc, None, scores),
                (equalized_odds_difference, y_true, y_pred),
            ):
                values = []
                for rest in product(range(n_groups), repeat=3):
                    full = np.concatenate([known, rest])
                    if true is None or has_all_rates(full, true):
                        values.append(metric(true, y, sensitive_features=full))
                result = proxy_bounds(
                    metric, true, y, sensitive_features=groups, missing="bounds"
                )
                assert result.lower <= min(values) + 1e-12
                if metric is mcdp and n_groups == 2:
                    assert result.upper == pytest.approx(max(values), abs=1e-12)
                else:
                    assert result.upper >= max(values) - 1e-12


def exact_upper(cells, masses, q, odds_ratio):
    """Upper bound of the signed gap at each score, in exact arithmetic."""
    gamma, q, masses = (
        Fraction(odds_ratio),
        [Fraction(one) for one in q],
        [Fraction(one) for one in masses],
    )
    low = [one / (one + gamma * (1 - one)) for one in q]
    high = [gamma * one / (1 - one + gamma * one) for one in q]

    def masses_up_to(end):
        rows = list(zip(masses, cells, strict=True))[:end]
        return [sum(m for m, c in rows if c == z) for z in range(len(q))]

    totals = masses_up_to(len(cells))
    second = sum(a * b for a, b in zip(q, totals, strict=True))
    first, best = sum(totals) - second, Fraction(0)
    for end in range(1, len(cells) + 1):
        inside = masses_up_to(end)
        parts = list(zip(low, high, inside, q, totals, strict=True))
        most = sum(min(b * m, p * t - a * (t - m)) for a, b, m, p, t in parts)
        least = sum(max(a * m, p * t - b * (t - m)) for a, b, m, p, t in parts)
        for x in (most, least):
            best = max(best, abs(x / second - (sum(inside) - x) / first))
    return best


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    exponent=st.integers(-12, 0),
    odds_ratio=st.sampled_from([1.0, 1.1, 3.0, 1e6]),
)
@settings(max_examples=8)
@pytest.mark.promise("No rounding makes a bound by a proxy invalid")
def test_no_rounding_makes_a_bound_too_small(seed, exponent, odds_ratio):
    rng = np.random.default_rng(seed)
    n = 30
    cells = np.arange(n) % 3
    masses = rng.uniform(1e-3, 1, n) ** 3
    q = rng.uniform(0.1, 0.9, 3) * 10.0**exponent
    result = proxy_bounds(
        mcdp,
        None,
        np.arange(n) / n,
        cells=cells,
        group_probabilities=dict(enumerate(q)),
        odds_ratio=odds_ratio,
        sample_weight=masses,
    )
    exact = exact_upper(cells, masses, q, odds_ratio)
    assert Fraction(float(result.upper)) >= exact or result.upper == 1
    assert float(result.upper - exact) < 1e-11 * 10.0**-exponent


@pytest.fixture
def proxied():
    """Scores, cells and probabilities of the cells."""
    rng = np.random.default_rng(7)
    cells = rng.integers(0, 6, 900)
    q = dict(enumerate(np.linspace(0.1, 0.9, 6)))
    scores = np.clip(rng.normal(0.3 + 0.07 * cells, 0.15), 0, 1)
    return scores, cells, q


def test_bounds_are_nested_and_end_at_those_of_no_assumption(proxied):
    scores, cells, q = proxied
    ratios = [1, 1.01, 1.5, 2, 10, 1e6, 1e15, np.inf]
    for metric in OF_SCORES:
        result = proxy_bounds(
            metric, None, scores, cells=cells, group_probabilities=q, odds_ratio=ratios
        )
        assert (np.diff(result.lower) <= 1e-12).all()
        assert (np.diff(result.upper) >= -1e-12).all()
        assert result.lower[-2:] == pytest.approx(result.lower[-1], abs=1e-9)
        assert result.upper[-2:] == pytest.approx(result.upper[-1], abs=1e-9)
        frame = result.to_frame()
        assert frame["upper"].tolist() == result.upper.tolist()
        assert (frame["estimate"] == result.estimate).all()


def test_the_tipping_odds_ratio_is_where_the_bounds_reach_a_value(proxied):
    scores, cells, q = proxied
    result = proxy_bounds(mcdp, None, scores, cells=cells, group_probabilities=q)
    for at in (0.1, 0.6):
        ratio = result.tipping_odds_ratio(at)
        assert 1 < ratio < np.inf
        lower, upper = result.bounds_at(ratio)
        assert lower <= at <= upper
        lower, upper = result.bounds_at(1 + (ratio - 1) * (1 - 1e-6))
        assert not lower <= at <= upper
    assert result.tipping_odds_ratio(result.estimate) == 1
    assert result.tipping_odds_ratio(1.0) == np.inf
    with pytest.raises(ValueError, match="at must be"):
        result.tipping_odds_ratio(-0.1)


def test_any_container_gives_the_same(proxied):
    scores, cells, q = proxied
    expected = proxy_bounds(
        mcdp, None, scores, cells=cells, group_probabilities=q, odds_ratio=2
    )
    second = np.array([q[cell] for cell in cells])
    names = np.array(list("abcdef"))[cells]
    nested = {cell: {"F": 1 - p, "M": p} for cell, p in q.items()}
    for one in (
        {"group_probabilities": second},
        {"group_probabilities": second.tolist(), "cells": names},
        {"group_probabilities": pd.DataFrame({"F": 1 - second, "M": second})},
        {"group_probabilities": np.column_stack([1 - second, second])},
        {"group_probabilities": nested, "cells": pl.Series(cells)},
        {
            "group_probabilities": {
                (a, b): nested[b] for a, b in zip(names, cells, strict=False)
            },
            "cells": pd.DataFrame({"name": names, "place": cells}),
        },
    ):
        result = proxy_bounds(mcdp, None, scores, odds_ratio=2, **one)
        found = [result.lower, result.upper, result.n_cells]
        assert found == pytest.approx([expected.lower, expected.upper, 6], abs=1e-12)
    again = pickle.loads(pickle.dumps(expected))
    assert again.bounds_at(3) == expected.bounds_at(3)
    assert again.labels == (0, 1)


def test_like_probabilities_are_joined():
    rng = np.random.default_rng(0)
    probabilities = rng.uniform(size=2000)
    result = proxy_bounds(
        mcdp, None, rng.uniform(size=2000), group_probabilities=probabilities
    )
    assert result.n_cells == 20
    few = np.repeat([0.9, 0.2, 0.5], 5)
    for q in (few, probabilities):  # cells go from the least probability on
        scores = np.linspace(0, 1, len(q))
        found = proxy_bounds(mcdp, None, scores, group_probabilities=q)
        assert (np.diff(found._rows.probabilities[:, 1]) > 0).all()
    three = rng.dirichlet([1, 1, 1], 2000)
    result = proxy_bounds(mcdp, None, probabilities, group_probabilities=three)
    assert result.n_cells == 18
    assert result.labels == (0, 1, 2)


def test_tables_of_cells_give_the_bounds_of_rows(proxied):
    scores, cells, q = proxied
    frame = pl.LazyFrame({"score": scores, "cell": cells, "y": cells % 2})
    ratios = [1, 2, np.inf]
    counted = CountTable.from_rows(None, scores, sensitive_features=cells)
    fine = count_table(frame, y_pred="score", sensitive_features="cell", n_bins=2**16)
    coarse = CountTable.from_rows(None, scores, sensitive_features=cells, n_bins=16)
    for metric in OF_SCORES:
        given = {"group_probabilities": q, "odds_ratio": ratios}
        rows = proxy_bounds(metric, None, scores, cells=cells, **given)
        entries = proxy_bounds(metric, None, counted, **given)
        assert entries.lower == pytest.approx(rows.lower, abs=1e-12)
        assert entries.upper == pytest.approx(rows.upper, abs=1e-12)
        for histogram, most in ((fine, 0.005), (coarse, 0.2)):
            result = proxy_bounds(metric, None, histogram, **given)
            assert (result.lower <= rows.lower + 1e-11).all()
            assert (result.upper >= rows.upper - 1e-11).all()
            assert (result.upper - rows.upper < most).all()
            assert (rows.lower - result.lower < most).all()
    selected = (scores > 0.5).astype(int)
    frame = frame.with_columns(pl.Series("pred", selected))
    confusion = count_table(frame, y_true="y", y_pred="pred", sensitive_features="cell")
    given = {"group_probabilities": q, "odds_ratio": ratios}
    rows = proxy_bounds(
        equalized_odds_difference, cells % 2, selected, cells=cells, **given
    )
    entries = proxy_bounds(equalized_odds_difference, None, confusion, **given)
    assert entries.upper.tolist() == pytest.approx(rows.upper.tolist(), abs=1e-12)


def test_cells_of_single_rows_are_refused_or_named():
    """Also in a table: nothing would seem unknown about their rows."""
    rng = np.random.default_rng(0)
    scores, labels = rng.uniform(size=100), rng.integers(0, 2, (2, 100))

    def ways(cells):
        by = {"sensitive_features": cells}
        q = dict.fromkeys(cells.tolist(), 0.3)
        for counted in (
            CountTable.from_rows(None, scores, **by),
            CountTable.from_rows(None, scores, n_bins=64, **by),
        ):
            yield partial(proxy_bounds, mcdp, None, counted, group_probabilities=q)
        counted = CountTable.from_rows(*labels, **by)
        metric = equalized_odds_difference
        yield partial(proxy_bounds, metric, None, counted, group_probabilities=q)
        given = {"cells": cells, "group_probabilities": q}
        yield partial(proxy_bounds, mcdp, None, scores, **given)

    for bounds in ways(np.arange(100)):
        with pytest.raises(ValueError, match="100 of 100 rows are the only row of"):
            bounds()
    for bounds in ways(np.minimum(np.arange(100), 90)):
        with pytest.raises(ValueError, match="90 of 100 rows are the only row of"):
            bounds()
    for bounds in ways(np.minimum(np.arange(100), 10)):
        with pytest.warns(UserWarning, match="10 of 100 rows are the only row of"):
            bounds()
    for bounds in ways(np.minimum(np.arange(100), 3)):
        bounds()


def test_tables_of_weighted_rows_have_confidence_bounds(proxied):
    scores, cells, q = proxied
    rows = {"sensitive_features": cells, "sample_weight": 1 + cells}
    given = {"group_probabilities": q, "confidence_level": 0.9}
    entries = CountTable.from_rows(None, scores, **rows)
    histogram = CountTable.from_rows(None, scores, n_bins=2**16, **rows)
    of_entries, of_bins = (
        proxy_bounds(mcdp, None, table, random_state=0, **given)
        for table in (entries, histogram)
    )
    assert of_bins.upper_confidence > of_bins.upper
    upper = of_bins.upper_confidence
    assert of_entries.upper_confidence == pytest.approx(upper, abs=0.02)
    with pytest.raises(ValueError, match="missing must be 'proxy'"):
        proxy_bounds(mcdp, None, histogram, missing="bounds", **given)
    with pytest.raises(TypeError, match="group_probabilities must map the groups"):
        proxy_bounds(mcdp, None, histogram, group_probabilities=[0.1] * 6)


def test_known_rows_count_as_known(proxied):
    scores, cells, q = proxied
    rng = np.random.default_rng(1)
    shares = np.array([q[cell] for cell in cells])
    groups = (rng.uniform(size=900) < shares).astype(int)
    known = np.where(rng.uniform(size=900) < 0.5, groups, None)
    given = {"cells": cells, "group_probabilities": q, "odds_ratio": [1, 3]}
    result = proxy_bounds(mcdp, None, scores, sensitive_features=known, **given)
    mixed = np.where(known == None, shares, groups)  # noqa: E711
    assert result.estimate == pytest.approx(by_groups(mcdp, None, scores, mixed))
    alone = proxy_bounds(mcdp, None, scores, **given)
    assert result.upper[1] - result.lower[1] < alone.upper[1] - alone.lower[1]
    everyone = proxy_bounds(mcdp, None, scores, sensitive_features=groups, **given)
    value = mcdp(None, scores, sensitive_features=groups)
    assert everyone.lower == pytest.approx(value, abs=1e-12)
    assert everyone.upper == pytest.approx(value, abs=1e-12)


def test_known_rows_check_the_probabilities(proxied):
    scores, cells, q = proxied
    rng = np.random.default_rng(1)
    shares = np.array([q[cell] for cell in cells])
    groups = (rng.uniform(size=900) < shares).astype(int).astype(object)
    given = {"cells": cells, "sensitive_features": groups, "odds_ratio": 2}
    result = proxy_bounds(mcdp, None, scores, group_probabilities=q, **given)
    assert result.shown_odds_ratio == 1
    wrong = {**q, 0: 0.6}
    with pytest.warns(UserWarning, match="the known groups of 1 of 6 cells"):
        refuted = proxy_bounds(mcdp, None, scores, group_probabilities=wrong, **given)
    assert refuted.shown_odds_ratio > 2
    linked = (scores > np.median(scores)).astype(int).astype(object)
    shares = {0: linked.mean()}
    result = proxy_bounds(
        mcdp,
        None,
        scores,
        cells=np.zeros(900),
        group_probabilities=shares,
        sensitive_features=linked,
    )
    assert result.shown_odds_ratio > 10


def test_confidence_bounds_contain_the_bounds(proxied):
    scores, cells, q = proxied
    given = {"cells": cells, "group_probabilities": q, "odds_ratio": [1, 2]}
    given |= {"confidence_level": 0.95, "random_state": 0}
    labels = cells % 2, (scores > 0.5).astype(int)
    cases = [(metric, None, scores) for metric in (mcdp, abcc)]
    for metric, y_true, y in [*cases, (equalized_odds_difference, *labels)]:
        result = proxy_bounds(metric, y_true, y, **given)
        assert (result.lower_confidence <= result.lower).all()
        assert (result.upper_confidence >= result.upper).all()
        widths = result.upper_confidence - result.lower_confidence
        assert (widths - (result.upper - result.lower) < 0.5).all()
    again = proxy_bounds(metric, y_true, y, **given)
    assert again.upper_confidence.tolist() == result.upper_confidence.tolist()


@pytest.mark.parametrize("missing", ["proxy", "bounds"])
def test_margins_have_the_size_of_known_noise(missing):
    """The supremum of a Brownian bridge, with and without missing groups."""
    n_unknown = 0 if missing == "proxy" else 1500
    groups = np.repeat(np.array([0, 1, None], dtype=object), [1000, 2000, n_unknown])
    known = {"group_probabilities": groups.astype(float)}
    if missing == "bounds":
        known = {"sensitive_features": groups, "missing": "bounds"}
    result = proxy_bounds(
        mcdp,
        None,
        np.random.default_rng(0).uniform(size=len(groups)),
        odds_ratio=1,
        confidence_level=0.95,
        random_state=0,
        **known,
    )
    # Rows without a group have the mixture's scores in both, and dilute the gap.
    width = stats.kstwobign.ppf(0.95) * np.sqrt(1 / 1000 + 1 / 2000)
    width *= 3000 / len(groups)
    assert result.upper_confidence - result.upper == pytest.approx(width, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [400, 5000])
def test_a_small_group_at_parity_is_seldom_said_to_differ(n_rows):
    """Exact probability over the counts of a group of 50 rows, all rates .05."""
    cells, chance = np.repeat([0, 1], [50, n_rows - 50]), stats.binom(50, 0.05)
    others, wrong = np.arange(n_rows - 50) % 20 == 0, 0.0
    for hits in range(10):
        decisions = np.append(np.arange(50) < hits, others).astype(int)
        result = proxy_bounds(
            demographic_parity_difference,
            None,
            decisions,
            group_probabilities=cells,
            odds_ratio=1,
            confidence_level=0.95,
            random_state=0,
        )
        wrong += chance.pmf(hits) * (result.lower_confidence > 0)
    assert wrong <= 0.05  # and 10 hits or more have the probability 2e-4


def test_undefined_without_two_groups():
    with pytest.warns(UndefinedMetricWarning, match="probability 0 in all rows"):
        result = proxy_bounds(
            mcdp, None, [0.1, 0.2], group_probabilities=[0.0, 0.0], odds_ratio=2
        )
    assert np.isnan([result.lower, result.upper, result.estimate]).all()
    assert np.isnan(result.tipping_odds_ratio())


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"metric": madd}, "metric must be one of mcdp"),
        ({"metric": partial(mcdp, epsilon=0.1)}, "epsilon must be left"),
        ({"odds_ratio": 0.5}, "odds_ratio must be a number of at least 1"),
        ({"group_probabilities": None}, "group_probabilities is None"),
        ({"group_probabilities": [0.1, 2, 0.1, 0.1]}, r"must lie in \[0, 1\]"),
        ({"group_probabilities": [[0.1, 0.2]] * 4}, "must add up to 1"),
        ({"group_probabilities": [0.1]}, "has 1 rows, expected 4"),
        ({"group_probabilities": {"a": 0.1}}, "cells must say which rows"),
        (
            {"group_probabilities": {"a": 0.1}, "cells": list("aabb")},
            "no entry for 1 cell, expected one for each: 'b'",
        ),
        ({"cells": list("abcd")}, "4 of 4 rows are the only row of their cell"),
        ({"sensitive_features": ["F", "M", None, "F"]}, "expected the name of one of"),
        (
            {
                "group_probabilities": pd.DataFrame({"F": [0.5] * 4, "M": [0.5] * 4}),
                "sensitive_features": ["F", "X", None, "F"],
            },
            r"has the groups \['X'\]",
        ),
        (
            {
                "group_probabilities": None,
                "missing": "bounds",
                "sensitive_features": [0, 1, None, None],
                "cells": list("aabb"),
            },
            "no row with a known group in 'b'",
        ),
        ({"missing": "drop"}, "missing must be 'proxy' or 'bounds'"),
        ({"confidence_level": 1}, "confidence_level must be"),
    ],
)
def test_bad_arguments_are_named(given, match):
    arguments = {
        "metric": mcdp,
        "y_true": None,
        "y_score": [0.1, 0.2, 0.3, 0.4],
        "group_probabilities": [0.1, 0.1, 0.6, 0.6],
        **given,
    }
    with pytest.raises(ValueError, match=match):
        proxy_bounds(**arguments)


@pytest.mark.slow
@pytest.mark.promise("Confidence bounds by a proxy cover all possible values")
def test_confidence_bounds_cover_the_identified_set():
    q, shares = np.array([0.1, 0.4, 0.5, 0.9]), np.array([0.3, 0.2, 0.2, 0.3])
    cells = np.repeat(np.arange(4), 2000)
    levels = np.tile((np.arange(2000) + 0.5) / 2000, 4)
    given = {"group_probabilities": dict(enumerate(q)), "odds_ratio": [1, 2, np.inf]}
    population = proxy_bounds(
        mcdp,
        None,
        stats.beta.ppf(levels, 1 + 2 * q[cells], 3),
        cells=cells,
        sample_weight=shares[cells],
        **given,
    )
    covered = np.zeros(3)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cells = rng.choice(4, 500, p=shares)
        result = proxy_bounds(
            mcdp,
            None,
            rng.beta(1 + 2 * q[cells], 3),
            cells=cells,
            group_probabilities=dict(enumerate(q)),
            odds_ratio=[1, 2, np.inf],
            confidence_level=0.95,
            random_state=seed,
        )
        below = result.lower_confidence <= population.lower
        covered += below & (result.upper_confidence >= population.upper)
    assert (covered / 100 >= 0.91).all()


@pytest.mark.parametrize("odds_ratio", [1.0, 2.0, np.inf])
def test_equal_scores_of_several_cells_are_one_step(odds_ratio):
    """Nobody differs from anybody, whichever cells the groups are in."""
    shares = np.repeat([0.1, 0.5, 0.9], 2)
    result = proxy_bounds(
        mcdp,
        None,
        np.full(6, 0.5),
        group_probabilities=pd.DataFrame({"a": shares, "b": 1 - shares}),
        odds_ratio=odds_ratio,
    )
    assert (result.lower, result.upper) == pytest.approx((0, 0), abs=1e-10)
