"""Numbers of each group as dots with intervals, one row for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from skfair._pictures import _drawing
from skfair._pictures._display import Display
from skfair._utils._arrays import Bools
from skfair._utils._text import counted, listed, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More groups than this are not named.
_MAX_NAMED = 40
#: Inches: height of a named group, of the rest of the axes, of axes without names.
_ROW, _FRAME, _HEIGHT = 0.3, 1.2, 5.2
#: Letters of a line of a name, and height of a further line in rows.
_LETTERS_OF_NAME, _LINE = 28, 0.6
#: Inches: width of a panel, and of the names of the groups.
_PANEL, _NAMES = 3.4, 1.6
#: Least width in inches of a panel that is alone.
_LEAST = 4.5
#: Number of letters of a label on an inch.
_LETTERS = 11
#: Columns of `cvar_fairness_report` that have another name here.
_COLUMNS = {"size": "n", "in_tail": "filled"}


@dataclass(kw_only=True, eq=False, repr=False)
class GroupDotsDisplay(Display):
    """Numbers of each group with their intervals, one panel for each number.

    Up to forty groups are named; more are drawn without names.

    Parameters
    ----------
    tables : mapping of str to DataFrame of n_groups rows
        A table for each number, by its name. It is indexed by group, and has the column
        ``value``. It may have ``lower`` and ``upper``, the ends of the interval; ``n``,
        the rows of the group; ``reference``, with which its value is compared; and
        ``filled``, whether its dot is filled.
    value, interval, reference, filled : str
        Names in the legend, of the dots, the intervals, the number that values are
        compared with, and of the filled dots.
    name : str, default=None
        Title of the first panel.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each number.
    figure_ : matplotlib Figure
    points_ : list of matplotlib Line2D
        Dots of the groups, one line for each panel; where some are filled, a further
        one with the hollow dots.
    intervals_ : list of matplotlib LineCollection
        Intervals, one collection for each panel.
    references_ : list of matplotlib LineCollection
        The numbers that values are compared with, likewise.

    See Also
    --------
    skfair.metrics.group_metrics : Any metrics by group; its result draws itself.
    skfair.metrics.cvar_fairness_report : Rates of many groups.
    skfair.metrics.impact_ratios : Rates over the highest one.

    Examples
    --------
    >>> from skfair.inspection import GroupDotsDisplay
    >>> from skfair.metrics import impact_ratios
    >>> table = impact_ratios(
    ...     None, [1, 1, 0, 1, 0, 0], sensitive_features=list("aaabbb"), min_share=0
    ... )
    >>> display = GroupDotsDisplay.from_table(table, "impact_ratio", reference=0.8)
    >>> display.points_[0].get_xdata()
    array([1. , 0.5])
    """

    tables: Mapping[str, pd.DataFrame]
    value: str = "Group"
    interval: str = "Interval, each group alone"
    reference: str = "Overall"
    filled: str = "In the tail"
    name: str | None = None
    _has_panels: ClassVar[bool] = True
    _shares_y: ClassVar[bool] = True

    @classmethod
    def from_table(
        cls,
        table: pd.DataFrame,
        value: str,
        *,
        reference: float | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw a column of a table of groups.

        Parameters
        ----------
        table : DataFrame
            Indexed by group, as `skfair.metrics.cvar_fairness_report` and
            `skfair.metrics.impact_ratios` return it, with the intervals in ``lower``
            and ``upper`` and the sizes in ``n`` or ``size``. Groups in the tail, which
            have True in ``in_tail``, have filled dots.
        value : str
            The column that is drawn. Groups without a value are left out.
        reference : float, default=None
            Number that values are compared with, such as a limit. None takes the
            ``average`` of `cvar_fairness_report`.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        GroupDotsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the table lacks the column, or no group has a value.
        """
        if value not in table.columns:
            raise ValueError(
                f"value must be a column of the table, which has "
                f"{listed(list(table.columns))}, got {value!r}."
            )
        drawn = table[table[value].notna()]
        if drawn.empty:
            raise ValueError(f"There is nothing to draw: no group has a {value}.")
        dots = drawn.rename(columns={value: "value"} | _COLUMNS)
        text = "Reference"
        if reference is None and "average" in drawn:
            reference, text = drawn["average"].iloc[0], "Average"
        if reference is not None:
            dots["reference"] = reference
            text += f": {number(reference)}"
        return cls(tables={value: dots}, reference=text, name=name).plot(ax)

    def _count_axes(self) -> int:
        """Count the numbers."""
        return len(self.tables)

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure in inches."""
        n_columns = min(len(self.tables), 4)
        n_rows = -(-len(self.tables) // n_columns)
        first = next(iter(self.tables.values()))
        height = _FRAME + rows_height(first, _ROW)
        return _NAMES + max(_PANEL * n_columns, _LEAST), height * n_rows

    def _draw(self) -> Any:
        """Draw a panel for each number."""
        self.points_: list[Any] = []
        self.intervals_: list[Any] = []
        self.references_: list[Any] = []
        for ax, (number_name, table) in zip(
            self.axes_, self.tables.items(), strict=True
        ):
            self._draw_panel(ax, table)
            ax.set_xlabel(_drawing.wrap_text(_drawing.metric_text(number_name), 30))
            ax.set_ylim(len(table) - 0.5, -0.5)
            place = ax.get_subplotspec()
            if place is None or place.is_first_col():
                self._name_groups(ax, table)
        return self.axes_[0]

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend outside the last panel, since dots leave no corner free."""
        if may_grow:
            width = _LEAST if len(self.tables) == 1 else _LEAST / 2
            _drawing.keep_size(self.axes_[0], (width, 0))
        _drawing.legend_outside(self.axes_[-1], None, may_grow=may_grow)

    def _draw_panel(self, ax: Axes, table: pd.DataFrame) -> None:
        """Draw the reference, the intervals and the dots of one number."""
        ranks, named = np.arange(len(table)), len(table) <= _MAX_NAMED
        if "reference" in table:
            ends = ranks - 0.5, ranks + 0.5
            look: dict[str, Any] = {"color": _drawing.SHADE, "linewidth": 1.5}
            line = ax.vlines(table["reference"], *ends, **look, label=self.reference)
            self.references_.append(line)
        filled: Bools = np.ones(len(table), dtype=bool)
        if "filled" in table:
            filled = table["filled"].to_numpy(dtype=bool)
        if "lower" in table:
            colors = np.where(filled, _drawing.COLORS[0], _drawing.SHADE)
            look = {"colors": colors, "linewidth": 1.8 if named else 0.6}
            self.intervals_.append(
                ax.hlines(
                    ranks,
                    table["lower"],
                    table["upper"],
                    **look,
                    label=self.interval,
                )
            )
        size = 6 if named else 2
        kinds = {self.value: (filled, _drawing.COLORS[0])}
        if not filled.all():
            kinds = {
                f"{self.filled} ({filled.sum():,})": (filled, _drawing.COLORS[0]),
                f"Others ({(~filled).sum():,})": (~filled, "white"),
            }
        for text, (chosen, face) in kinds.items():
            style = _drawing.point_style(
                "o", _drawing.COLORS[0], size, markerfacecolor=face
            )
            values = table["value"].to_numpy()[chosen]
            self.points_ += ax.plot(values, ranks[chosen], **style, label=text)

    def _name_groups(self, ax: Axes, table: pd.DataFrame) -> None:
        """Name the groups beside the first panel; give many groups' number only."""
        names = [str(name) for name in table.index.names if name not in (None, "group")]
        text = _drawing.names_text(names) or ""
        if len(table) <= _MAX_NAMED:
            ax.set_yticks(np.arange(len(table)), _group_names(table))
        else:
            text = counted(len(table), "group") + (f" by {text}" if text else "")
        letters = int(_LETTERS * max(_drawing.inches(ax)[1], 1))
        ax.set_ylabel(_drawing.wrap_text(text, letters))


def _group_names(table: pd.DataFrame) -> list[str]:
    """Return the names and sizes of the groups, long names on several lines."""
    if "n" not in table:
        texts = [_drawing.short_label(label) for label in table.index]
    else:
        sizes = table["n"].astype(int)
        texts = [_drawing.group_text(label, size) for label, size in sizes.items()]
    return [_drawing.wrap_text(text, _LETTERS_OF_NAME) for text in texts]


def rows_height(table: pd.DataFrame, row_height: float) -> float:
    """Return the height of axes with a row for each group, higher for long names."""
    if len(table) > _MAX_NAMED:
        return _HEIGHT
    lines = max(name.count("\n") + 1 for name in _group_names(table))
    return row_height * len(table) * (1 + _LINE * (lines - 1))
