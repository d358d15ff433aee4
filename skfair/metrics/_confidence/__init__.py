"""Bounds of the noise of a metric: confidence intervals and certificates."""

from skfair.metrics._confidence._confidence_interval import lower_bound, upper_bound
from skfair.metrics._confidence._noise import (
    Arguments,
    Comparisons,
    compare,
    observe,
)

__all__ = [
    "Arguments",
    "Comparisons",
    "compare",
    "lower_bound",
    "observe",
    "upper_bound",
]
