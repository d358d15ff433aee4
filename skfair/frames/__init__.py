"""Statistics of tables of any library, computed where the rows are."""

from typing import TYPE_CHECKING

from skfair._utils._other_names import other_names
from skfair.frames._grouped import (
    grouped_calibration,
    grouped_confusion,
    grouped_histogram,
    grouped_outcomes,
    grouped_scores,
)
from skfair.frames._mcdp_bounds import RefinedBounds, mcdp_bounds
from skfair.frames._to_sql import to_sql

__all__ = [
    "RefinedBounds",
    "grouped_calibration",
    "grouped_confusion",
    "grouped_histogram",
    "grouped_outcomes",
    "grouped_scores",
    "mcdp_bounds",
    "to_sql",
]

if not TYPE_CHECKING:  # where any name would count as one of the package
    __getattr__ = other_names(__name__)
