"""Tables of any library, counted where the rows are."""

from typing import Any

from skfair.frames._count_table import count_table

__all__ = ["count_table"]

#: What took the place of earlier names.
_RENAMED = {
    "grouped_calibration": "count_table(frame, y_true=..., y_pred=..., n_bins=...)",
    "grouped_confusion": "count_table(frame, y_true=..., y_pred=...)",
    "grouped_histogram": "count_table(frame, y_pred=..., n_bins=...)",
    "grouped_outcomes": "count_table(frame, y_pred=...)",
    "grouped_scores": "count_table(frame, y_pred=...)",
}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise ImportError(f"skfair.frames.{name} is now {_RENAMED[name]}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
