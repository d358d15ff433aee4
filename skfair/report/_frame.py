"""All metrics of a summary as a table."""

from __future__ import annotations

from typing import Any

import pandas as pd

_COLUMNS = {
    "key": "metric",
    "value": "value",
    "lower": "lower",
    "upper": "upper",
    "null": "null_value",
    "pvalue": "pvalue",
    "n": "n",
    "n_groups": "n_groups",
    "smallest_group": "smallest_group",
    "sentence": "sentence",
    "note": "note",
}


def frame_of(summary: dict[str, Any]) -> pd.DataFrame:
    """Make the table that `FairnessReport.to_frame` describes.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    DataFrame
    """
    rows = [
        {
            "model": result["model"],
            "attribute": attribute["name"],
            "comparison": attribute["comparison"],
            **{name: measure[key] for key, name in _COLUMNS.items()},
        }
        for attribute in summary["attributes"]
        for result in attribute["results"]
        for measure in result["measures"]
    ]
    numbers = ("value", "lower", "upper", "null_value", "pvalue")
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, "float64"))
