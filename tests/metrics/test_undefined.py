"""The table of what is undefined, in docs/concepts.md, cell by cell."""

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    cvar_fairness,
    equalized_odds_difference,
    max_gap,
    mcdp,
    true_positive_rate_difference,
)

SCORES = np.tile([0.2, 0.4, 0.6, 0.8], 45)
Y_TRUE = np.tile([0, 1, 1, 0], 45)
GROUP = np.repeat(["a", "b", "c"], 60)
STRATUM = np.tile(np.repeat(["p", "q"], 30), 3)
SMALL = np.where(np.arange(180) > 176, "x", GROUP)
PER_STRATUM = np.tile(np.repeat(["big", "small"], [57, 3]), 3)

NAN, LEFT_OUT, VALUE = "nan", "left out", "value"
#: Case: rows, what they lack, and what pairs, strata and many groups make of them.
CASES = {
    "absent": (
        {"sensitive_features": encode_groups(GROUP, labels=["a", "b", "c", "x"])},
        "'x'",
        [NAN, NAN, LEFT_OUT],
    ),
    "weightless": (
        {"sensitive_features": GROUP, "sample_weight": (GROUP != "c") * 1.0},
        "groups ['c']",
        [ValueError] * 3,
    ),
    "below the least size": (
        {"sensitive_features": encode_groups(SMALL, min_group_size=10)},
        "'x'",
        [NAN, NAN, LEFT_OUT],
    ),
    "without a true label": (
        {"sensitive_features": GROUP, "y_true": np.where(GROUP == "c", 0, Y_TRUE)},
        "'c'",
        [NAN, NAN, LEFT_OUT],
    ),
    "few of a true label": (
        {
            "sensitive_features": encode_groups(GROUP, min_group_size=10),
            "y_true": np.where(np.arange(180) > 135, 0, Y_TRUE),
        },
        "'c'",
        [NAN, NAN, LEFT_OUT],
    ),
    "without a true label in one stratum": (
        {
            "sensitive_features": GROUP,
            "y_true": np.where((GROUP == "c") & (STRATUM == "q"), 0, Y_TRUE),
        },
        "'q'",
        [VALUE, LEFT_OUT, LEFT_OUT],
    ),
    "in one stratum only": (
        {
            "sensitive_features": GROUP,
            "control_features": np.where(GROUP == "c", "p", STRATUM),
        },
        "'c'",
        [VALUE, LEFT_OUT, LEFT_OUT],
    ),
    "weightless in one stratum": (
        {
            "sensitive_features": GROUP,
            "sample_weight": ((GROUP != "c") | (STRATUM == "p")) * 1.0,
        },
        "'c'",
        [VALUE, LEFT_OUT, LEFT_OUT],
    ),
    "one group in each stratum": (
        {"sensitive_features": GROUP, "control_features": GROUP},
        "no stratum has two groups",
        [VALUE, NAN, NAN],
    ),
    "a small stratum": (
        {
            "sensitive_features": GROUP,
            "control_features": encode_groups(PER_STRATUM, min_group_size=10),
        },
        "'small'",
        [VALUE, LEFT_OUT, LEFT_OUT],
    ),
    "one group": (
        {"sensitive_features": np.repeat("a", 180)},
        "two groups",
        [NAN, NAN, NAN],
    ),
}
#: Cases of which many groups are compared within strata, too.
OF_STRATA = {
    "without a true label in one stratum",
    "in one stratum only",
    "weightless in one stratum",
    "one group in each stratum",
    "a small stratum",
}


def calls(case):
    """Yield what is expected of each public call of a case, and the call."""
    rows, _, (pairs, strata, many) = CASES[case]
    rows = {"y_true": Y_TRUE, "control_features": STRATUM} | rows
    own = {"control_features": None}
    of_errors = "true label" in case
    metrics = [(mcdp, SCORES)]
    options = {}
    if of_errors:
        options = {"quality": "true_positive_rate"}
        metrics = [
            (true_positive_rate_difference, SCORES > 0.5),
            (equalized_odds_difference, SCORES > 0.5),
        ]
    for metric, predicted in metrics:
        for multigroup in "pairwise", "pooled":
            for expected, columns in (pairs, rows | own), (strata, rows):
                yield expected, metric, predicted, columns | {"multigroup": multigroup}
    for metric in max_gap, cvar_fairness:
        columns = rows if case in OF_STRATA else rows | own
        yield many, metric, SCORES > 0.5, columns | options


@pytest.mark.promise(
    "The table of what is undefined holds: nan with its reason, left out and named, or "
    "an error"
)
@pytest.mark.parametrize("case", CASES)
def test_table_of_what_is_undefined(case):
    named = CASES[case][1]
    for expected, metric, predicted, columns in calls(case):
        columns = {"y_pred" if metric is not mcdp else "y_score": predicted, **columns}
        if expected is ValueError:
            with pytest.raises(ValueError, match="sample_weight is zero") as raised:
                metric(**columns)
            assert named in str(raised.value)
            continue
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            value = metric(**columns)
        assert math.isnan(value) == (expected == NAN), metric.__name__
        texts = [
            str(one.message)
            for one in seen
            if issubclass(one.category, UndefinedMetricWarning)
        ]
        assert len(texts) == (expected != VALUE), (metric.__name__, texts)
        for text in texts:
            assert named in text
            assert ("undefined and set to nan" in text) == (expected == NAN)
