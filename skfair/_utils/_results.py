"""Results of several numbers as tables."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd


def one_row(result: Any) -> pd.DataFrame:
    """Table of one row: the fields of a dataclass that its repr shows."""
    shown = {
        field.name: [getattr(result, field.name)]
        for field in fields(result)
        if field.repr
    }
    return pd.DataFrame(shown)
