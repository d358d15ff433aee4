"""Permutation tests and bootstrap intervals of any metric."""

from skfair.metrics._uncertainty._bootstrap import resamples_of_all
from skfair.metrics._uncertainty._permutation import (
    permutation_tests,
    permutations,
    permuted_strata,
)
from skfair.metrics._uncertainty._resampling import (
    ENOUGH,
    ROUNDING,
    Drawn,
    Metric,
    basic_interval,
    check_seed,
    evaluate_each,
    exact_pvalue,
)

__all__ = [
    "ENOUGH",
    "ROUNDING",
    "Drawn",
    "Metric",
    "basic_interval",
    "check_seed",
    "evaluate_each",
    "exact_pvalue",
    "permutation_tests",
    "permutations",
    "permuted_strata",
    "resamples_of_all",
]
