"""Metrics of score distributions: MCDP, MADD, ABCC."""

from skfair.metrics._distribution._gap import LargestGap, Pair
from skfair.metrics._distribution._score_grid import Count, ScoreGrid, cumulate

__all__ = ["Count", "LargestGap", "Pair", "ScoreGrid", "cumulate"]
