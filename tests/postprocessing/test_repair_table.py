"""A repair written as a table of linear pieces is that of `transform`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skfair.postprocessing import ScoreRepairer


@st.composite
def fitted_repairers(draw):
    """A fitted repairer with the labels of its groups: ties, levels, gaps."""
    labels = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))
    n_rows = draw(st.integers(2, 30)) * len(labels)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    decimals = draw(st.sampled_from([1, 2, 17]))
    scores = rng.beta(*rng.uniform(0.3, 3, 2), n_rows).round(decimals)
    groups = np.array(labels, dtype=object)[np.arange(n_rows) % len(labels)]
    amount = draw(
        st.one_of(
            st.builds(lambda level: {"repair_level": level}, st.floats(0, 1)),
            st.builds(lambda gap: {"max_mcdp": gap}, st.floats(0, 1)),
        )
    )
    weights = rng.integers(1, 4, n_rows) if draw(st.booleans()) else None
    repairer = ScoreRepairer(**amount)
    return repairer.fit(scores, sensitive_features=groups, sample_weight=weights)


@pytest.mark.slow
@given(fitted_repairers())
def test_any_map_as_a_table_is_transform(repairer):
    table = repairer.to_frame()
    for label in repairer.groups_:
        pieces = table[table["group"] == label]
        assert pieces["score_from"].iloc[0] == 0
        assert pieces["score_to"].iloc[-1] == 1
        assert_array_equal(pieces["score_from"][1:], pieces["score_to"][:-1])
        inner = pieces["score_from"] + 0.3 * (pieces["score_to"] - pieces["score_from"])
        expected = pieces["repaired_from"] + 0.3 * (
            pieces["repaired_to"] - pieces["repaired_from"]
        )
        groups = np.full(len(pieces), label, dtype=object)
        found = repairer.transform(inner, sensitive_features=groups)
        assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_intersections_have_a_column_each():
    scores = np.linspace(0.01, 0.99, 80)
    pairs = np.column_stack([np.arange(80) % 2, np.arange(80) // 2 % 2])
    table = ScoreRepairer().fit(scores, sensitive_features=pairs).to_frame()
    assert table.columns[:2].tolist() == ["group_0", "group_1"]
    assert len(table[["group_0", "group_1"]].drop_duplicates()) == 4


@pytest.mark.slow
def test_a_tolerance_bounds_the_size():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.beta(2, 3, 20_000), rng.beta(3, 2, 20_000)])
    sex = np.repeat(["F", "M"], 20_000)
    repairer = ScoreRepairer().fit(scores, sensitive_features=sex)
    assert len(repairer.to_frame()) > 39_000
    for tol in (0.01, 0.001):
        table = repairer.to_frame(tol=tol)
        assert len(table) < 0.5 / tol
        for label, part in table.groupby("group"):
            new = np.linspace(0, 1, 5001)
            groups = np.full(len(new), label)
            expected = repairer.transform(new, sensitive_features=groups)
            knots = (
                np.append(part["score_from"], 1),
                np.append(part["repaired_from"], 1),
            )
            assert np.abs(np.interp(new, *knots) - expected).max() <= tol


def test_errors():
    scores, sex = np.linspace(0, 1, 40), ["F", "M"] * 20
    random = ScoreRepairer(ties="random").fit(scores, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"ties must be 'mid'"):
        random.to_frame()
    fitted = ScoreRepairer().fit(scores, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"tol must be a number in \[0, 1\]"):
        fitted.to_frame(tol=-1)
