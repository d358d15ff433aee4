"""Results as people read them: printed, in a notebook and as tables."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd

from skfair._utils._text import one_line, rounded, visible_text
from skfair._utils._versions import Versioned

#: Of a longer table only the first and the last rows are shown.
_MAX_ROWS = 60


class Result(Versioned):
    """Base of the dataclasses of results, which are declared with ``repr=False``.

    A result is shown with rounded numbers, and holds them in full.
    """

    def _numbers(self: Any) -> dict[str, Any]:
        """Return the values of the fields that are shown, by name."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.repr
        }

    def _table(self) -> pd.DataFrame | None:
        """Return the table that is shown below the numbers, if there is one."""
        return None

    def __repr__(self) -> str:
        parts, table = [], self._table()
        if numbers := self._numbers():
            texts = (f"{name}={_text(value)}" for name, value in numbers.items())
            parts.append(f"{type(self).__name__}({', '.join(texts)})")
        if table is not None:
            parts.append(_rounded_table(table).to_string(max_rows=_MAX_ROWS))
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """Show the result in a notebook; pandas escapes names and labels."""
        parts, table = [], self._table()
        if numbers := self._numbers():
            values = numbers.values()
            texts = [one_line(v) if isinstance(v, str) else _text(v) for v in values]
            column = pd.DataFrame({type(self).__name__: texts}, list(numbers))
            parts.append(column.to_html(max_rows=None))
        if table is not None:
            parts.append(_rounded_table(table).to_html(max_rows=_MAX_ROWS))
        return "\n".join(parts)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row, which can be joined with other results.

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
        return pd.DataFrame({name: [value] for name, value in self._numbers().items()})


class TableResult(Result):
    """Base of the dataclasses of results whose answer is a table."""

    table: pd.DataFrame

    def _table(self) -> pd.DataFrame:
        return self.to_frame()

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


def _rounded_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts: rounded numbers, and labels on one line."""
    texts = table.astype(object)
    for position, dtype in enumerate(table.dtypes):
        values = table.iloc[:, position]
        is_float = dtype.kind == "f"
        column = rounded(values.tolist()) if is_float else values.map(_label)
        texts.isetitem(position, column)
    return texts.rename(index=_label, columns=_label)


def _label(value: Any) -> Any:
    """Return the text of a label without control characters."""
    return visible_text(value) if isinstance(value, str) else value


def _text(value: Any) -> str:
    """Return the text of a number, a label, or a tuple of them."""
    if isinstance(value, float):
        text = rounded([value])[0]
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return one_line(repr(value))
