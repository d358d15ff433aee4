"""Permutation tests and bootstrap intervals of any metric."""

from skfair.metrics._uncertainty._bootstrap import basic_interval, stratified_draws
from skfair.metrics._uncertainty._permutation import exact_pvalue
from skfair.metrics._uncertainty._resampling import check_seed

__all__ = ["basic_interval", "check_seed", "exact_pvalue", "stratified_draws"]
