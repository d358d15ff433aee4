"""Metrics within strata, and their values by stratum."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    abroca,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
    values_by_stratum,
)

METRICS = {
    "mcdp": mcdp,
    "mcdp pooled": partial(mcdp, epsilon=0.1, multigroup="pooled"),
    "abcc": abcc,
    "madd": partial(madd, bandwidth=0.25),
    "parity": demographic_parity_difference,
    "abroca": abroca,
    "equalized odds": equalized_odds_difference,
}
rows_of_strata = st.lists(
    st.tuples(
        st.integers(0, 1),  # true label
        st.integers(0, 8),  # score in eighths
        st.integers(0, 2),  # group
        st.integers(0, 3),  # stratum
        st.integers(0, 3),  # weight
    ),
    min_size=1,
    max_size=30,
)


def brute_force(metric, y_true, y_score, groups, strata, weights):
    """Value and weight of each stratum that has one, by the rows of groups it has."""
    found = []
    for stratum in np.unique(strata):
        own = (strata == stratum) & (weights > 0)
        if len(np.unique(groups[own])) < 2:
            continue
        value = metric(
            y_true[own],
            y_score[own],
            sensitive_features=groups[own],
            sample_weight=weights[own],
        )
        if not np.isnan(value):
            found.append((value, weights[own].sum()))
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@given(st.sampled_from(sorted(METRICS)), rows_of_strata)
def test_brute_force_over_strata(name, rows):
    metric = METRICS[name]
    y_true, y_score, groups, strata, weights = np.array(rows).T
    y_score = y_score // 5 if name == "equalized odds" else y_score / 8
    weights[[np.flatnonzero(groups == group)[0] for group in np.unique(groups)]] = 1
    found = brute_force(metric, y_true, y_score, groups, strata, weights)
    options = {
        "sensitive_features": groups,
        "control_features": strata,
        "sample_weight": weights,
    }
    value = metric(y_true, y_score, **options)
    mean = metric(y_true, y_score, **options, multistratum="weighted")
    if not found:
        assert np.isnan([value, mean]).all()
        return
    values, totals = zip(*found, strict=True)
    assert value == max(values)
    assert mean == pytest.approx(np.average(values, weights=totals), abs=1e-12)


DEPARTMENTS = ["a"] * 6 + ["b"] * 3 + ["c"] * 2
SEX = list("FFMMXM") + list("FMM") + list("FF")
SCORES = np.linspace(0, 1, 11)


def test_values_by_stratum():
    table = values_by_stratum(
        mcdp,
        None,
        SCORES,
        sensitive_features=SEX,
        control_features=pd.Series(DEPARTMENTS, name="dept"),
        sample_weight=[2] * 11,
    )
    assert table.index.tolist() == ["a", "b", "c"]
    assert table.index.name == "dept"
    assert table["n_rows"].tolist() == [6, 3, 2]
    assert table["weight"].tolist() == [12, 6, 4]
    own = np.array(DEPARTMENTS) == "b"
    expected = mcdp(None, SCORES[own], sensitive_features=list("FMM"))
    assert table.loc["b", "value"] == expected
    assert np.isnan(table.loc["c", "value"])
    reasons = ["", "without 'X': 0 rows", "only the group 'F' has rows"]
    assert table["reason"].tolist() == reasons


def test_columns_of_strata_are_levels_of_the_table():
    columns = pd.DataFrame({"dept": DEPARTMENTS, "level": [1, 2, 1] * 3 + [1, 2]})
    table = values_by_stratum(
        max_gap,
        None,
        SCORES > 0.5,
        sensitive_features=["F", "M"] * 5 + ["M"],
        control_features=columns,
    )
    assert table.index.names == ["dept", "level"]
    assert len(table) == 6


def test_values_of_a_metric_that_knows_no_strata():
    def difference(y_true, y_score, *, sensitive_features):
        women, men = (y_score[sensitive_features == label] for label in "FM")
        return men.mean() - women.mean()

    groups = ["F", "M"] * 5 + ["M"]
    table = values_by_stratum(
        difference,
        None,
        SCORES,
        sensitive_features=groups,
        control_features=DEPARTMENTS,
    )
    parity = values_by_stratum(
        partial(demographic_parity_difference, multistratum="weighted"),
        None,
        SCORES,
        sensitive_features=groups,
        control_features=DEPARTMENTS,
    )
    assert table["value"].abs().tolist() == pytest.approx(
        parity["value"].tolist(), nan_ok=True
    )


def test_small_strata_and_small_groups_are_left_out():
    strata = encode_groups(DEPARTMENTS, min_group_size=4)
    groups = encode_groups(SEX, min_group_size=2)
    groups = encode_groups(groups, labels=["F", "M", "X"])
    with pytest.warns(UndefinedMetricWarning) as caught:
        value = mcdp(
            None,
            SCORES[:-2],
            sensitive_features=encode_groups(SEX[:-2]),
            control_features=strata[:-2],
        )
    text = str(caught[0].message)
    assert "'b' (it has 3 rows, at least 4 needed)" in text
    assert "'c' (it has 0 rows, at least 4 needed)" in text
    own = slice(0, 6)
    assert value == mcdp(None, SCORES[own], sensitive_features=SEX[own])
    # Too small everywhere: undefined as without strata.
    with pytest.warns(UndefinedMetricWarning, match="'X' has 1 row"):
        assert np.isnan(
            mcdp(None, SCORES, sensitive_features=groups, control_features=DEPARTMENTS)
        )


def test_groups_below_the_minimal_size_in_one_stratum():
    groups = encode_groups(list("FFFMMMXX") + list("FFMMXXXX"), min_group_size=3)
    strata = [1] * 8 + [2] * 8
    y_score = np.arange(16) / 16
    match = (
        r"1 \(without 'X': 2 rows\) and 2 \(only the group 'X' has at least 3 rows\)"
    )
    with pytest.warns(UndefinedMetricWarning, match=match):
        value = mcdp(None, y_score, sensitive_features=groups, control_features=strata)
    assert value == mcdp(None, y_score[:6], sensitive_features=list("FFFMMM"))


def test_many_strata_are_named_by_the_first_five():
    strata = np.arange(50) // 2
    groups = np.tile(["F", "M"], 25)
    groups[20:] = "F"
    with pytest.warns(UndefinedMetricWarning, match=r"10 .* and 10 more"):
        mcdp(
            None,
            np.linspace(0, 1, 50),
            sensitive_features=groups,
            control_features=strata,
        )


def test_a_stratum_in_which_the_metric_is_undefined():
    y_true = [0, 1, 0, 1, 1, 1, 0, 1]
    strata = list("aaaabbbb")
    match = r"strata: 'b' \(each group needs .* but 'F' has 0 rows of 0"
    with pytest.warns(UndefinedMetricWarning, match=match):
        value = abroca(
            y_true,
            np.arange(8),
            sensitive_features=list("FFMM") * 2,
            control_features=strata,
        )
    assert value == abroca(y_true[:4], np.arange(4), sensitive_features=list("FFMM"))


def test_labels_are_read_together():
    # In each stratum alone the labels could be -1 and 1, or 0 and 1.
    with pytest.raises(ValueError, match="pos_label must say"):
        max_gap(
            None,
            [-1, 1, 0, 1],
            sensitive_features=list("FMFM"),
            control_features=list("aabb"),
        )


def test_a_rate_without_rows_is_not_zero():
    metric = partial(max_gap, quality="true_positive_rate")
    with pytest.warns(UndefinedMetricWarning, match="have no rows that count"):
        value = metric(
            [1, 1, 0, 0],
            [1, 1, 1, 1],
            sensitive_features=list("FFMM"),
            control_features=["a"] * 4,
        )
    assert np.isnan(value)
