"""Results of several numbers as tables."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd


class NumbersResult:
    """Base of the dataclasses of results that are a few numbers."""

    def to_frame(self: Any) -> pd.DataFrame:
        """Table of one row, to be joined with those of other results.

        Returns
        -------
        DataFrame
            One column for each number, named as the attribute.

        Examples
        --------
        >>> from skfair.metrics import BootstrapResult
        >>> result = BootstrapResult(0.3, 0.2, 0.4, 0.95, 3, [0.3, 0.3, 0.4])
        >>> result.to_frame()
           value  lower  upper  confidence_level  n_resamples
        0    0.3    0.2    0.4              0.95            3
        """
        shown = [field.name for field in fields(self) if field.repr]
        return pd.DataFrame({name: [getattr(self, name)] for name in shown})
