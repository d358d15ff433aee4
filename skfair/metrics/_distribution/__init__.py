"""Metrics of score distributions: MCDP, MADD, ABCC."""

from skfair.metrics._distribution._mcdp import mcdp  # the first that errors name

__all__ = ["mcdp"]
