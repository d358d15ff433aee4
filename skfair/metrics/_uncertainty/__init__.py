"""Permutation tests and bootstrap intervals of any metric."""

from skfair.metrics._uncertainty._counts import deal, redraw
from skfair.metrics._uncertainty._resampling import (
    basic_interval,
    check_seed,
    exact_pvalue,
    shuffled_codes,
    stratified_draws,
)

__all__ = [
    "basic_interval",
    "check_seed",
    "deal",
    "exact_pvalue",
    "redraw",
    "shuffled_codes",
    "stratified_draws",
]
