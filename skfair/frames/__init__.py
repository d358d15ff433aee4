"""Statistics of tables of any library, computed where the rows are."""

from skfair.frames._grouped import (
    grouped_calibration,
    grouped_confusion,
    grouped_histogram,
    grouped_outcomes,
    grouped_scores,
)

__all__ = [
    "grouped_calibration",
    "grouped_confusion",
    "grouped_histogram",
    "grouped_outcomes",
    "grouped_scores",
]
