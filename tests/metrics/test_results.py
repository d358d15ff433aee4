"""Tables of results that hold several numbers."""

import numpy as np
import pandas as pd
import pytest

from skfair import metrics


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    return (
        generator.integers(0, 2, 300),
        generator.random(300),
        generator.choice(["a", "b"], 300),
    )


def test_every_public_result_has_a_table():
    names = [name for name in metrics.__all__ if name.endswith("Result")]
    assert "CertifyResult" in names
    for name in names:
        assert callable(getattr(metrics, name).to_frame), name


def results(rows):
    y_true, y_score, groups = rows
    given = {"sensitive_features": groups}
    y_pred = y_score > 0.5
    yield metrics.permutation_test(
        metrics.mcdp, y_true, y_score, n_permutations=9, random_state=0, **given
    )
    yield metrics.bootstrap_interval(
        metrics.mcdp, y_true, y_score, n_resamples=9, random_state=0, **given
    )
    yield metrics.rate_variance(y_true, y_pred, **given)
    yield metrics.cvar_fairness_test(
        y_true,
        y_pred,
        alpha=0.5,
        epsilon=0.1,
        n_permutations=9,
        random_state=0,
        **given,
    )


def test_tables_of_one_row_hold_all_numbers_and_can_be_joined(rows):
    for result in results(rows):
        frame = result.to_frame()
        assert len(frame) == 1
        for name, value in frame.iloc[0].items():
            assert getattr(result, name) == value
        assert not any("distribution" in name for name in frame.columns)
        assert len(pd.concat([frame, frame])) == 2


def test_table_of_bandwidths(rows):
    y_true, y_score, groups = rows
    result = metrics.madd_optimal_bandwidth(y_true, y_score, sensitive_features=groups)
    frame = result.to_frame()
    inside = frame[frame["in_interval"]]
    assert inside["value"].mean() == pytest.approx(result.value)
    assert inside["bandwidth"].min() == result.interval[0]
    assert inside["bandwidth"].max() == result.interval[1]
