"""Small, additive sufficient statistics from which every metric is computed."""

from skfair.statistics._grouped_confusion import GroupedConfusion
from skfair.statistics._grouped_outcomes import GroupedOutcomes
from skfair.statistics._grouped_scores import GroupedScores

__all__ = ["GroupedConfusion", "GroupedOutcomes", "GroupedScores"]
