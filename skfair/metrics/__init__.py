"""Fairness metrics, as scikit-learn metrics: functions of labels and scores.

Disparities are smaller for fairer, so their names carry no suffix ``_score``, and
their scorers are negated and called ``neg_...``.
"""

from skfair.metrics._abcc import abcc
from skfair.metrics._bootstrap import BootstrapResult, bootstrap_interval
from skfair.metrics._demographic_parity import demographic_parity_difference
from skfair.metrics._madd import madd, madd_curve
from skfair.metrics._madd_optimal_bandwidth import (
    MADDBandwidthResult,
    madd_optimal_bandwidth,
)
from skfair.metrics._mcdp import mcdp, mcdp_curve
from skfair.metrics._permutation import PermutationTestResult, permutation_test
from skfair.metrics._scorer import (
    FairnessScorer,
    get_fairness_scorer,
    get_fairness_scorer_names,
    make_fairness_scorer,
)

__all__ = [
    "BootstrapResult",
    "FairnessScorer",
    "MADDBandwidthResult",
    "PermutationTestResult",
    "abcc",
    "bootstrap_interval",
    "demographic_parity_difference",
    "get_fairness_scorer",
    "get_fairness_scorer_names",
    "madd",
    "madd_curve",
    "madd_optimal_bandwidth",
    "make_fairness_scorer",
    "mcdp",
    "mcdp_curve",
    "permutation_test",
]
