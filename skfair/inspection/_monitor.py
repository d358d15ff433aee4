"""The history of a monitor."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from skfair._pictures import _drawing
from skfair._pictures._display import Display
from skfair._utils._text import label_text, listed
from skfair.metrics._as_metric import as_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skfair.metrics import ConfidenceInterval
    from skfair.monitoring import FairnessMonitor

#: Largest number of looks that are marked one by one.
_FEW_LOOKS = 40


@dataclass(kw_only=True, eq=False, repr=False)
class MonitorDisplay(Display):
    """Disparity of all rows so far, and of the recent rows, at each look.

    Its intervals hold at all looks at once.

    Parameters
    ----------
    history : DataFrame
        With the columns of `FairnessMonitor.history_`.
    metric : str
        Name of the metric.
    at_most : float
        Largest disparity without an alarm.
    confidence_level : float
        Probability that the interval covers the true disparity at all looks.
    change_time : ConfidenceInterval, default=None
        When the disparity changed: `FairnessMonitor.change_time_`.
    left_out : sequence, default=()
        Labels of the groups that are too small to be compared.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The disparity of all rows so far.
    band_ : matplotlib PolyCollection
        The interval.
    recent_line_ : matplotlib Line2D
        The disparity of the recent rows.
    recent_band_ : matplotlib PolyCollection
        Its interval.
    limit_line_ : matplotlib Line2D
        The largest disparity without an alarm.
    alarm_line_ : matplotlib Line2D or None
        The look at which the alarm was raised; with strata the label names the one
        with the largest disparity.
    change_line_ : matplotlib Line2D or None
        The look at which the alarm of a change was raised.
    join_lines_ : list of matplotlib Line2D
        The looks from which on more groups are compared.
    change_span_ : matplotlib Patch or None
        From the first to the last row with which the change may have begun.

    See Also
    --------
    skfair.monitoring.FairnessMonitor : The numbers behind the picture.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import MonitorDisplay
    >>> from skfair.metrics import mcdp
    >>> from skfair.monitoring import FairnessMonitor
    >>> monitor = FairnessMonitor(mcdp, at_most=0.2)
    >>> _, y_score, group = make_biased_scores(500, random_state=0)
    >>> monitor.update(None, y_score, sensitive_features=group)
    >>> display = MonitorDisplay.from_monitor(monitor)
    >>> display.alarm_line_.get_label()
    'Alarm, after 500 rows'
    """

    history: pd.DataFrame
    metric: str
    at_most: float
    confidence_level: float
    change_time: ConfidenceInterval | None = None
    left_out: Sequence[Hashable] = ()
    name: str | None = None

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        level = f"{self.confidence_level:.4g} interval at all looks"
        self.recent_line_, self.recent_band_ = self._draw_looks(
            "recent", "recent_lower", "recent_upper", 2, "Recent rows", None
        )
        without = listed([label_text(label) for label in self.left_out], 3)
        whose = f"All rows so far{without and f', without {without}'}"
        self.line_, self.band_ = self._draw_looks(
            "value", "lower", "upper", 0, whose, level
        )
        self.join_lines_ = self._draw_joins()
        text = f"At most {self.at_most:.4g} allowed"
        style = _drawing.mark_style(1)
        self.limit_line_ = self.ax_.axhline(self.at_most, **style, label=text)
        self.alarm_line_ = self._draw_alarm("alarm", "Alarm", 1, 0)
        self.change_line_ = self._draw_alarm("change_alarm", "Alarm of a change", 2, 2)
        self.change_span_ = self._draw_change()
        self.ax_.set(xlabel="Rows so far", ylabel=_drawing.metric_text(self.metric))
        return self.ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend above the curves."""
        ends = self.history[["upper", "recent_upper"]].astype(float)
        highest = max(self.at_most, float(ends.max().max()))
        if not highest > 0:  # nan, while the metric is undefined
            highest = 1.0
        _drawing.legend_above_data(self.ax_, None, highest, 1.05)

    def _draw_looks(
        self, value: str, low: str, high: str, color: int, label: str, interval: Any
    ) -> tuple[Any, Any]:
        """Draw three columns of the history as a line and its band."""
        looks = self.history[["n_rows", value, low, high]].astype(float)
        few = len(looks) <= _FEW_LOOKS
        look: dict[str, Any] = {"marker": "o", "markersize": 4} if few else {}
        look |= {"color": _drawing.COLORS[color], "label": label}
        (line,) = self.ax_.plot(looks["n_rows"], looks[value], **look)
        style = _drawing.band_style(color, 0.15)
        ends = looks["n_rows"], looks[low], looks[high]
        return line, self.ax_.fill_between(*ends, **style, label=interval)

    def _draw_joins(self) -> list[Any]:
        """Mark the looks at which groups join the comparison."""
        looks = self.history[self.history["n_groups"] > 0]
        joins = looks["n_rows"][looks["n_groups"].diff() > 0]
        style = _drawing.mark_style(2, "0.6")
        return [
            self.ax_.axvline(
                n, **style, label=None if i else "More groups are compared"
            )
            for i, n in enumerate(joins)
        ]

    def _draw_change(self) -> Any:
        """Mark the rows among which the change began, if there was a change."""
        if self.change_time is None:
            return None
        n_rows = self.history["n_rows"]
        # The rows of a look begin after those of the look before it.
        ends = self.change_time.lower - 1, self.change_time.upper
        first, last = (float(n_rows.get(end, n_rows.iloc[0])) for end in ends)
        return self.ax_.axvspan(
            first, last, color="0.85", zorder=0, label="The change began here"
        )

    def _draw_alarm(self, column: str, name: str, color: int, style: int) -> Any:
        """Mark the first look with an alarm in a column, if any."""
        alarms = self.history[self.history[column].astype(bool)]
        if alarms.empty:
            return None
        first = alarms.iloc[0]
        stratum = first.get("stratum") if column == "alarm" else None
        where = "" if stratum is None else f", in {label_text(stratum)}"
        text = f"{name}, after {first['n_rows']:,} rows{where}"
        look = _drawing.mark_style(style, _drawing.COLORS[color])
        return self.ax_.axvline(first["n_rows"], **look, label=text)

    @classmethod
    def from_monitor(
        cls,
        monitor: FairnessMonitor,
        *,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the history of a monitor.

        Parameters
        ----------
        monitor : FairnessMonitor
            It has been updated at least once.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes.

        Returns
        -------
        MonitorDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the monitor has seen no rows yet.
        """
        history = monitor.history_
        if history.empty:
            raise ValueError("the monitor has seen no rows yet: call update first.")
        display = cls(
            history=history,
            metric=as_metric(monitor.metric).name,
            at_most=monitor.at_most,
            confidence_level=monitor.confidence_level,
            change_time=monitor.change_time_,
            left_out=tuple(monitor.left_out_),
            name=name,
        )
        return display.plot(ax)
