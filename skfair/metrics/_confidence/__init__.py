"""Bounds of the noise of a metric: confidence intervals and certificates."""

from skfair.metrics._confidence._confidence_interval import (
    join,
    lower_bound,
    upper_bound,
)
from skfair.metrics._confidence._known_metrics import compare, observe
from skfair.metrics._confidence._noise import UNDEFINED, Comparisons, Observed

__all__ = [
    "UNDEFINED",
    "Comparisons",
    "Observed",
    "compare",
    "join",
    "lower_bound",
    "observe",
    "upper_bound",
]
