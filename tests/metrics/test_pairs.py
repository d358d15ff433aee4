"""Gaps of all pairs of groups, and permutations that are ordered by them."""

from functools import partial

import numpy as np
import pytest

from skfair.metrics import (
    abcc,
    abroca,
    calibration_gap,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    impact_ratio_shortfall,
    madd,
    mcdp,
    mean_absolute_error_difference,
    mean_error_difference,
    permutation_test,
    predictive_value_difference,
    true_positive_rate_difference,
)

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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", METRICS)
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
