"""Permutation tests and bootstrap intervals of any metric."""

from skfair.metrics._uncertainty._bootstrap import resamples_of_all
from skfair.metrics._uncertainty._counts import Counts, RowsInCells, deal, redraw
from skfair.metrics._uncertainty._permutation import (
    permutation_tests,
    permutations,
    permuted_strata,
)
from skfair.metrics._uncertainty._resampling import (
    ENOUGH,
    ROUNDING,
    Metric,
    Rows,
    basic_interval,
    check_seed,
    evaluate_each,
    exact_pvalue,
    shuffled_codes,
    stratified_draws,
)

__all__ = [
    "ENOUGH",
    "ROUNDING",
    "Counts",
    "Metric",
    "Rows",
    "RowsInCells",
    "basic_interval",
    "check_seed",
    "deal",
    "evaluate_each",
    "exact_pvalue",
    "permutation_tests",
    "permutations",
    "permuted_strata",
    "redraw",
    "resamples_of_all",
    "shuffled_codes",
    "stratified_draws",
]
