"""Statistics of tables of any library, computed where the rows are."""

from typing import TYPE_CHECKING

from skfair._utils._hints import other_names
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

if not TYPE_CHECKING:  # where any name would count as one of the package
    __getattr__ = other_names(__name__)
