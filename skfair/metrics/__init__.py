"""Fairness metrics, as scikit-learn metrics: functions of labels and scores.

Disparities are smaller for fairer, so their names carry no suffix ``_score``, and
their scorers are negated and called ``neg_...``.
"""

from skfair.metrics._abcc import abcc
from skfair.metrics._bootstrap import BootstrapResult, bootstrap_interval
from skfair.metrics._cvar import cvar_fairness
from skfair.metrics._cvar_estimate import CVaREstimate, cvar_estimate
from skfair.metrics._cvar_report import cvar_fairness_report
from skfair.metrics._cvar_test import CVaRTestResult, cvar_fairness_test
from skfair.metrics._dcp._bounds import dcp_bounds
from skfair.metrics._dcp._metric import dcp
from skfair.metrics._dcp._result import DCPResult
from skfair.metrics._demographic_parity import demographic_parity_difference
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._madd import madd, madd_curve
from skfair.metrics._madd_optimal_bandwidth import (
    MADDBandwidthResult,
    madd_optimal_bandwidth,
)
from skfair.metrics._max_gap import max_gap
from skfair.metrics._max_gap_test import max_gap_test
from skfair.metrics._mcdp import mcdp, mcdp_curve
from skfair.metrics._min_dcp._bounds import min_dcp_bounds
from skfair.metrics._min_dcp._result import MinDCPResult
from skfair.metrics._permutation import PermutationTestResult, permutation_test
from skfair.metrics._scorer import (
    FairnessScorer,
    get_fairness_scorer,
    get_fairness_scorer_names,
    make_fairness_scorer,
)
from skfair.metrics._top_groups import top_groups

__all__ = [
    "BootstrapResult",
    "CVaREstimate",
    "CVaRTestResult",
    "DCPResult",
    "FairnessScorer",
    "MADDBandwidthResult",
    "MinDCPResult",
    "PermutationTestResult",
    "abcc",
    "bootstrap_interval",
    "cvar_estimate",
    "cvar_fairness",
    "cvar_fairness_report",
    "cvar_fairness_test",
    "dcp",
    "dcp_bounds",
    "demographic_parity_difference",
    "equalized_odds_difference",
    "get_fairness_scorer",
    "get_fairness_scorer_names",
    "madd",
    "madd_curve",
    "madd_optimal_bandwidth",
    "make_fairness_scorer",
    "max_gap",
    "max_gap_test",
    "mcdp",
    "mcdp_curve",
    "min_dcp_bounds",
    "permutation_test",
    "top_groups",
]
