"""A report for people who do not read code. Pages need the extra ``report``."""

from skfair.report._fairness_report import FairnessReport

__all__ = ["FairnessReport"]
