"""Results as tables: of a few numbers, or of one row for each of many things."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd

from skfair._utils._text import one_line, visible_text


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


class TableResult:
    """Base of the dataclasses of results whose answer is a table."""

    table: pd.DataFrame

    def __str__(self) -> str:
        # Labels of groups may hold what a terminal takes for commands.
        table = self.table.rename(index=_shown).map(_shown)
        return f"{one_line(repr(self))}\n{table.to_string()}"

    def to_frame(self) -> pd.DataFrame:
        """Return the table.

        Returns
        -------
        DataFrame
            A copy of the attribute `table`.

        Examples
        --------
        >>> from skfair.datasets import load_berkeley_admissions
        >>> from skfair.inspection import explained_gap
        >>> X, y = load_berkeley_admissions(return_X_y=True)
        >>> result = explained_gap(
        ...     y,
        ...     sensitive_features=X["sex"],
        ...     explained_by=X["department"],
        ...     metric="demographic_parity_difference",
        ... )
        >>> result.to_frame()["remaining"].round(3)
        explained_by
        department    0.018
        Name: remaining, dtype: float64
        """
        return self.table.copy()


def _shown(value: Any) -> Any:
    """Text without characters that cannot be seen; other values as they are."""
    return visible_text(value) if isinstance(value, str) else value
