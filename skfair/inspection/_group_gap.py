"""The groups' gaps to the average, sorted, with the tail of CVaR fairness."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._arrays import Bools, Integers
from skfair._utils._text import counted, number
from skfair.inspection import _drawing
from skfair.inspection._display import PredictionsDisplay, stratum_of_largest
from skfair.metrics import cvar_fairness
from skfair.metrics._cvar_fairness import GroupWeights, cvar_fairness_report
from skfair.metrics._inputs import Quality
from skfair.statistics import GroupedOutcomes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: More groups than this are not named.
_MAX_NAMED = 40
#: Inches: height of a named group, of the rest of the axes, of axes without names.
_ROW, _FRAME, _HEIGHT = 0.27, 1.3, 5.2
#: Letters of a line of a name, and height of a further line in rows.
_LETTERS_OF_NAME, _LINE = 28, 0.6
#: Least width and height in inches of axes in a figure of their own.
_LEAST_SIZE = 4.5, 1.2
#: Number of letters of a label on an inch.
_LETTERS = 11


class GroupGapDisplay(PredictionsDisplay):
    """Difference of each group's rate from the average, with intervals and the tail.

    Groups are sorted by their gap, the largest at the top. The tail, over which CVaR
    fairness is the mean gap, is shaded and its groups have filled marks. Up to forty
    groups are named; where there are more, the intervals are drawn without names.

    Parameters
    ----------
    report : DataFrame of n_groups rows
        Table of the groups, as `cvar_fairness_report` returns it.
    alpha : float in [0, 1)
        Level of the tail.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals.
    quality : str, default="selection_rate"
        Name of the rate that is compared.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    intervals_ : matplotlib LineCollection
        One line for each group with rows, in the order of `report`.
    points_ : list of matplotlib Line2D
        Marks of the groups in the tail, and of the other groups.
    tail_area_ : matplotlib Rectangle or None
        The shaded tail; None where it is empty.
    average_line_ : matplotlib Line2D
        The weighted average, a difference of 0.

    See Also
    --------
    skfair.metrics.cvar_fairness_report : The table behind the picture.
    skfair.metrics.top_groups : Which groups differ by more than chance.
    GroupMetricsDisplay : Any metrics by group, side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.inspection import GroupGapDisplay
    >>> generator = np.random.default_rng(0)
    >>> group = generator.integers(0, 5, 400)
    >>> y_pred = generator.random(400) < np.where(group == 0, 0.8, 0.5)
    >>> display = GroupGapDisplay.from_predictions(
    ...     None, y_pred, sensitive_features=group, alpha=0.8
    ... )
    >>> int(display.report.index[0]), round(display.cvar, 2)
    (0, 0.21)
    """

    report: pd.DataFrame
    alpha: float
    confidence_level: float = 0.95
    quality: str = "selection_rate"
    name: str | None = None

    @property
    def cvar(self) -> float:
        """CVaR fairness, the mean gap of the tail."""
        parts = self.report["weight"] * self.report["gap"] * self.report["tail_share"]
        return float(parts.sum() / (1 - self.alpha))

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches."""
        return 7, _FRAME + rows_height(self.report, _ROW)

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        n_groups, named = len(self.report), len(self.report) <= _MAX_NAMED
        ranks = np.arange(1, n_groups + 1)
        in_tail = self.report["in_tail"].to_numpy(dtype=bool)
        self.tail_area_ = None
        if in_tail.any():
            # A tail of whole groups need not hold the groups with the largest gaps.
            last = int(np.flatnonzero(in_tail).max()) + 1
            self.tail_area_ = self.ax_.axhspan(
                0.5, last + 0.5, color=_drawing.SHADE, alpha=0.25, linewidth=0
            )
        average = self.report["rate"] - self.report["difference"]
        self.average_line_ = self.ax_.axvline(
            0,
            color=_drawing.INK,
            linewidth=1,
            label=f"Weighted average of rates = {number(average.iloc[0])}",
        )
        self.intervals_ = self.ax_.hlines(
            ranks,
            self.report["lower"] - average,
            self.report["upper"] - average,
            color=np.where(in_tail, _drawing.COLORS[1], _drawing.SHADE),
            linewidth=1.5 if named else 0.5,
            label=f"{self.confidence_level:.4g} interval, each group alone",
        )
        self.points_ = self._draw_points(ranks, in_tail)
        self._label_axes(ranks)
        return self.ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend outside the axes, since groups leave no corner free."""
        if may_grow:
            _drawing.keep_size(self.ax_, _LEAST_SIZE)
        self._name_columns()
        _drawing.legend_outside(self.ax_, None, may_grow=may_grow)

    def _draw_points(self, ranks: Integers, in_tail: Bools) -> list[Line2D]:
        """Mark each group; marks are filled in the tail and hollow outside it."""
        named = len(ranks) <= _MAX_NAMED
        differences = self.report["difference"].to_numpy()
        sizes = self.report["size"].to_numpy()
        alpha = f"{self.alpha:.4g}"
        tail = f"In the tail: CVaR fairness = {number(self.cvar)}"
        tail = f"{tail} (alpha = {alpha})"
        points: list[Line2D] = []
        for text, chosen in ((tail, in_tail), ("Other groups", ~in_tail)):
            filled = chosen is in_tail
            rows = f" ({_drawing.range_text(sizes[chosen])})" if chosen.any() else ""
            points += self.ax_.plot(
                differences[chosen],
                ranks[chosen],
                linestyle="none",
                marker="D" if filled else "o",
                markersize=(6 if filled else 5) if named else 2,
                color=_drawing.COLORS[1] if filled else _drawing.COLORS[0],
                markerfacecolor=_drawing.COLORS[1] if filled else "white",
                markeredgewidth=1.2 if named else 0.5,
                label=f"{text}\n{counted(int(chosen.sum()), 'group')}{rows}",
            )
        return points

    def _label_axes(self, ranks: Integers) -> None:
        """Label the axes and, where there are few, the groups."""
        report = self.report
        reach = 1.05 * max(abs(self.ax_.dataLim.x0), abs(self.ax_.dataLim.x1))
        self.ax_.set(
            xlabel=(
                f"Difference of {_drawing.metric_text(self.quality)} from the average"
            ),
            xlim=(-reach, reach),
            ylim=(len(report) + 0.5, 0.5),
        )
        if len(report) <= _MAX_NAMED:
            self.ax_.set_yticks(ranks, _group_names(report))

    def _name_columns(self) -> None:
        """Write the sensitive columns along the y-axis, in lines that fit beside it."""
        names = (
            _drawing.names_text([str(n) for n in self.report.index.names if n]) or ""
        )
        if len(self.report) > _MAX_NAMED:
            names = (
                (f"{counted(len(self.report), 'group')} by {names}, largest gap first")
                if names
                else f"{counted(len(self.report), 'group')}, largest gap first"
            )
        letters = int(_LETTERS * max(_drawing.inches(self.ax_)[1], 1))
        self.ax_.set_ylabel(_drawing.folded(names, letters))

    @classmethod
    def _methods(cls, estimator: Any, options: dict[str, Any]) -> dict[str, str]:
        return {"y_pred": "predict"}

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | GroupedOutcomes,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        alpha: float = 0.9,
        quality: Quality = "selection_rate",
        group_weights: GroupWeights = "uniform",
        confidence_level: float = 0.95,
        pos_label: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels. The selection rate needs none.
        y_pred : array-like of shape (n_samples,), or GroupedOutcomes
            Predicted labels; or a statistic, in place of all rows and of `quality`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            CVaR fairness is drawn, and named.
        alpha : float in [0, 1), default=0.9
            Level of the tail, which holds the groups with the largest gaps, of total
            weight 1 - alpha.
        quality : str or callable, default="selection_rate"
            Rate that is compared, see `skfair.metrics.cvar_fairness`.
        group_weights : {"uniform", "proportional"}, mapping, or \
array-like of shape (n_groups,), default="uniform"
            Weights of the groups, see `skfair.metrics.cvar_fairness`.
        confidence_level : float in (0, 1), default=0.95
            Level of the intervals.
        pos_label : int, float, bool or str, default=None
            Label of the positive class. None stands for 1 where labels are numbers;
            text labels need it.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        GroupGapDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `skfair.metrics.cvar_fairness_report`; also where fewer than two
            groups can be compared.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If groups have no rows of positive weight in the denominator of the rate;
            they are not drawn.
        """
        _drawing.require_matplotlib(f"{cls.__name__}.from_predictions")
        options: dict[str, Any] = {
            "alpha": alpha,
            "quality": quality,
            "group_weights": group_weights,
            "pos_label": pos_label,
        }
        metric = partial(cvar_fairness, **options)
        rows = y_true, y_pred, sensitive_features, sample_weight
        rows, name = stratum_of_largest(metric, rows, control_features, name)
        y_true, y_pred, sensitive_features, sample_weight = rows
        report = cvar_fairness_report(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            confidence_level=confidence_level,
            sample_weight=sample_weight,
            **options,
        )
        if report["gap"].isna().all():
            raise ValueError(
                "sensitive_features leave nothing to compare: fewer than two of the "
                f"groups {report.index.tolist()[:5]} have enough rows of positive "
                "weight."
            )
        is_statistic = isinstance(y_pred, GroupedOutcomes)
        text = str(getattr(quality, "__name__", quality))
        display = cls(
            report=report[report["gap"].notna()],
            alpha=alpha,
            confidence_level=confidence_level,
            quality="rate" if is_statistic else text,
            name=name,
        )
        return display.plot(ax)


def _group_names(report: pd.DataFrame) -> list[str]:
    """Names and sizes of the groups, long ones on several lines."""
    groups = zip(report.index, report["size"], strict=True)
    texts = [_drawing.group_text(label, int(size)) for label, size in groups]
    return [_drawing.folded(text, _LETTERS_OF_NAME) for text in texts]


def rows_height(report: pd.DataFrame, of_row: float) -> float:
    """Height of axes for groups whose names have lines of a height."""
    if len(report) > _MAX_NAMED:
        return _HEIGHT
    lines = max(name.count("\n") + 1 for name in _group_names(report))
    return of_row * len(report) * (1 + _LINE * (lines - 1))
