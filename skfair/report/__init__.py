"""A report for people who do not read code. Pages need the extra ``report``."""

from skfair.report._fairness_report import FairnessReport
from skfair.report._page._markdown import markdown_table

__all__ = ["FairnessReport", "markdown_table"]
