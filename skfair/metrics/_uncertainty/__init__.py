"""Permutation tests and bootstrap intervals of any metric."""

from skfair.metrics._uncertainty._counts import deal, redraw
from skfair.metrics._uncertainty._resampling import (
    ROUNDING,
    basic_interval,
    check_seed,
    count_smaller,
    exact_pvalue,
    shuffled_codes,
    stratified_draws,
)

__all__ = [
    "ROUNDING",
    "basic_interval",
    "check_seed",
    "count_smaller",
    "deal",
    "exact_pvalue",
    "redraw",
    "shuffled_codes",
    "stratified_draws",
]
