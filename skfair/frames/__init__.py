"""Statistics of tables of any library, computed where the rows are."""

from skfair.frames._grouped import (
    grouped_confusion,
    grouped_histogram,
    grouped_outcomes,
    grouped_scores,
)
from skfair.frames._mcdp_bounds import RefinedBounds, mcdp_bounds
from skfair.frames._to_sql import to_sql

__all__ = [
    "RefinedBounds",
    "grouped_confusion",
    "grouped_histogram",
    "grouped_outcomes",
    "grouped_scores",
    "mcdp_bounds",
    "to_sql",
]
