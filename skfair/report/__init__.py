"""A report for people who do not read code. Pages need the extra ``report``."""

from skfair.report._bundle import BundleCheck, verify_bundle
from skfair.report._fairness_report import FairnessReport
from skfair.report._page import markdown_table, public_summary

__all__ = [
    "BundleCheck",
    "FairnessReport",
    "markdown_table",
    "public_summary",
    "verify_bundle",
]
