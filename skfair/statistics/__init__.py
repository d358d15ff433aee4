"""Small, additive sufficient statistics from which every metric is computed."""

from skfair.statistics._grouped_confusion import GroupedConfusion
from skfair.statistics._grouped_histogram import GroupedCalibration, GroupedHistogram
from skfair.statistics._grouped_outcomes import GroupedOutcomes
from skfair.statistics._grouped_scores import GroupedScores
from skfair.statistics._statistic import sum_statistics

__all__ = [
    "GroupedCalibration",
    "GroupedConfusion",
    "GroupedHistogram",
    "GroupedOutcomes",
    "GroupedScores",
    "sum_statistics",
]
