"""One table of people counted by group, in place of rows of any number."""

from typing import Any

from skfair.statistics._count_table import CountTable, sum_tables

__all__ = ["CountTable", "sum_tables"]

#: What took the place of earlier names.
_RENAMED = {
    "GroupedCalibration": "CountTable.from_rows(y_true, y_score, n_bins=...)",
    "GroupedConfusion": "CountTable.from_rows(y_true, y_pred)",
    "GroupedHistogram": "CountTable.from_rows(None, y_score, n_bins=...)",
    "GroupedOutcomes": "CountTable.from_rows(None, y_pred)",
    "GroupedScores": "CountTable.from_rows(None, y_score)",
    "sum_statistics": "sum_tables",
}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise ImportError(
            f"skfair.statistics.{name} is now {_RENAMED[name]}: one table takes the "
            "place of all statistics."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
