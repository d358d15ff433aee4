"""Fairness metrics, as scikit-learn metrics: functions of labels and scores.

Disparities are smaller for fairer, so their names carry no suffix ``_score``, and
their scorers are negated and called ``neg_...``.
"""

from skfair.metrics._abcc import abcc
from skfair.metrics._abroca import abroca
from skfair.metrics._calibration_gap import (
    calibration_gap,
)
from skfair.metrics._confidence_interval import (
    CertifyResult,
    ConfidenceInterval,
    certify,
    confidence_interval,
)
from skfair.metrics._cvar_fairness import (
    CVaRTestResult,
    RateVarianceResult,
    cvar_fairness_test,
    max_gap_test,
    rate_variance,
)
from skfair.metrics._cvar_fairness_report import cvar_fairness_report
from skfair.metrics._dcp import DCPResult, dcp, dcp_bounds
from skfair.metrics._distributions import GapOfDistributions
from skfair.metrics._exposure import exposure_difference
from skfair.metrics._group_metrics import GroupMetricsResult, group_metrics
from skfair.metrics._impact_ratios import impact_ratios
from skfair.metrics._madd import (
    MADDBandwidthResult,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
)
from skfair.metrics._many_groups import cvar_fairness, max_gap
from skfair.metrics._mcdp import mcdp, mcdp_curve
from skfair.metrics._metric_bounds import MetricBounds, metric_bounds
from skfair.metrics._min_dcp import MinDCPResult, min_dcp_bounds
from skfair.metrics._permutation import (
    PermutationTestResult,
    permutation_test,
)
from skfair.metrics._proxy_bounds import ProxyBoundsResult, proxy_bounds
from skfair.metrics._rates import (
    DifferenceOfRates,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    impact_ratio_shortfall,
    mean_absolute_error_difference,
    mean_error_difference,
    predictive_value_difference,
    true_positive_rate_difference,
)
from skfair.metrics._resampling import BootstrapResult, bootstrap_interval
from skfair.metrics._scorer import (
    FairnessScorer,
    get_fairness_scorer,
    get_fairness_scorer_names,
    make_fairness_scorer,
    make_group_scorer,
)
from skfair.metrics._values_by import values_by_class, values_by_stratum
from skfair.metrics._worst_subgroup import WorstSubgroupResult, worst_subgroup

__all__ = [
    "BootstrapResult",
    "CVaRTestResult",
    "CertifyResult",
    "ConfidenceInterval",
    "DCPResult",
    "DifferenceOfRates",
    "FairnessScorer",
    "GapOfDistributions",
    "GroupMetricsResult",
    "MADDBandwidthResult",
    "MetricBounds",
    "MinDCPResult",
    "PermutationTestResult",
    "ProxyBoundsResult",
    "RateVarianceResult",
    "WorstSubgroupResult",
    "abcc",
    "abroca",
    "bootstrap_interval",
    "calibration_gap",
    "certify",
    "confidence_interval",
    "cvar_fairness",
    "cvar_fairness_report",
    "cvar_fairness_test",
    "dcp",
    "dcp_bounds",
    "demographic_parity_difference",
    "equalized_odds_difference",
    "exposure_difference",
    "false_positive_rate_difference",
    "get_fairness_scorer",
    "get_fairness_scorer_names",
    "group_metrics",
    "impact_ratio_shortfall",
    "impact_ratios",
    "madd",
    "madd_curve",
    "madd_optimal_bandwidth",
    "make_fairness_scorer",
    "make_group_scorer",
    "max_gap",
    "max_gap_test",
    "mcdp",
    "mcdp_curve",
    "mean_absolute_error_difference",
    "mean_error_difference",
    "metric_bounds",
    "min_dcp_bounds",
    "permutation_test",
    "predictive_value_difference",
    "proxy_bounds",
    "rate_variance",
    "true_positive_rate_difference",
    "values_by_class",
    "values_by_stratum",
    "worst_subgroup",
]
