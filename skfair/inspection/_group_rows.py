"""Rates and metrics of each group, one row for each, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import type_of_target

from skfair._utils._arrays import Bools, Integers
from skfair._utils._text import counted, number
from skfair.inspection import _drawing
from skfair.inspection._display import PredictionsDisplay, stratum_of_largest
from skfair.metrics import cvar_fairness
from skfair.metrics._cvar_fairness import cvar_fairness_report
from skfair.metrics._group_metrics import (
    GroupMetricsResult,
    find_metrics,
    group_metrics,
)
from skfair.metrics._inputs import Quality
from skfair.metrics._many_groups import GroupWeights
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
#: Panels of metrics beside each other.
_MAX_COLUMNS = 4
#: Inches: width of a panel, height of a row, of the rest, of a panel without names.
_PANEL_WIDTH, _PANEL_ROW, _PANEL_FRAME, _PANEL_HEIGHT = 3.4, 0.3, 1.2, 6.5

#: Metrics of predictions of two classes that are drawn if none are named.
_OF_TWO_CLASSES = (
    "accuracy",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
)


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
            style = _drawing.band_style(None, 0.25)
            self.tail_area_ = self.ax_.axhspan(0.5, last + 0.5, **style)
        average = self.report["rate"] - self.report["difference"]
        text = f"Weighted average of rates = {number(average.iloc[0])}"
        style = _drawing.mark_style(0, linewidth=1)
        self.average_line_ = self.ax_.axvline(0, **style, label=text)
        text = f"{self.confidence_level:.4g} interval, each group alone"
        ends = self.report["lower"] - average, self.report["upper"] - average
        colors = np.where(in_tail, _drawing.COLORS[1], _drawing.SHADE)
        look: dict[str, Any] = {"color": colors, "linewidth": 1.5 if named else 0.5}
        self.intervals_ = self.ax_.hlines(ranks, *ends, **look, label=text)
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
        tail = f"In the tail: CVaR fairness = {number(self.cvar)}"
        tail = f"{tail} (alpha = {self.alpha:.4g})"
        first, second = _drawing.COLORS[:2]
        kinds = (
            (tail, in_tail, "D", 6, second, second),
            ("Other groups", ~in_tail, "o", 5, first, "white"),
        )
        points: list[Line2D] = []
        for text, chosen, marker, size, color, face in kinds:
            size, edge = (size, 1.2) if named else (2, 0.5)
            style = _drawing.point_style(
                marker, color, size, edge, markerfacecolor=face
            )
            rows = f" ({_drawing.range_text(sizes[chosen])})" if chosen.any() else ""
            label = f"{text}\n{counted(int(chosen.sum()), 'group')}{rows}"
            points += self.ax_.plot(
                differences[chosen], ranks[chosen], **style, label=label
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


class GroupMetricsDisplay(PredictionsDisplay):
    """Metrics of each group with their intervals, one panel for each metric.

    A vertical line is the value of everyone. Up to forty groups are named.

    Parameters
    ----------
    result : GroupMetricsResult
        Result of `skfair.metrics.group_metrics`.
    name : str, default=None
        Name of the model, the title of the figure.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each metric.
    figure_ : matplotlib Figure
    points_ : list of matplotlib Line2D
        Values of the groups, one line for each metric.
    intervals_ : list of matplotlib LineCollection
        Their intervals, likewise.
    everyone_ : list of matplotlib LineCollection
        The values of everyone, likewise; of the stratum where there are strata.

    See Also
    --------
    skfair.metrics.group_metrics : The numbers behind the picture.
    GroupGapDisplay : Rates of very many groups, sorted.

    Examples
    --------
    >>> from skfair.inspection import GroupMetricsDisplay
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 0, 0, 0, 1, 1, 1, 0]
    >>> display = GroupMetricsDisplay.from_predictions(
    ...     y_true,
    ...     y_pred,
    ...     metrics=["accuracy", "recall"],
    ...     sensitive_features=["F"] * 4 + ["M"] * 4,
    ... )
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['accuracy', 'recall']
    """

    result: GroupMetricsResult
    _shares_y = True

    @property
    def _tables(self) -> dict[str, pd.DataFrame]:
        """Rows of each metric, by its name."""
        table = self.result.to_frame()
        metrics = dict.fromkeys(table.index.get_level_values("metric"))
        return {str(metric): table.xs(metric, level="metric") for metric in metrics}

    def _layout(self) -> str:
        """Panels in rows, the last of which may have empty places."""
        n_metrics = len(self._tables)
        n_columns = min(n_metrics, _MAX_COLUMNS)
        letters = "".join(chr(ord("A") + i) for i in range(n_metrics))
        starts = range(0, n_metrics, n_columns)
        rows = [letters[i : i + n_columns].ljust(n_columns, ".") for i in starts]
        return ";".join(rows)

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches."""
        rows, n_groups = (
            self._layout().split(";"),
            len(next(iter(self._tables.values()))),
        )
        height = _PANEL_FRAME + _PANEL_ROW * n_groups
        if n_groups > _MAX_NAMED:
            height = _PANEL_HEIGHT
        return 1.5 + _PANEL_WIDTH * len(rows[0]), height * len(rows)

    def _draw(self) -> Any:
        """Draw a panel for each metric."""
        self.points_: list[Any] = []
        self.intervals_: list[Any] = []
        self.everyone_: list[Any] = []
        for panel, (metric, table) in zip(
            self.axes_, self._tables.items(), strict=True
        ):
            self._draw_metric(panel, metric, table)
        return self.axes_[0]

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend outside the last panel."""
        _drawing.legend_outside(self.axes_[-1], None, may_grow=may_grow)

    def _draw_metric(self, ax: Axes, metric: str, table: pd.DataFrame) -> None:
        """Draw the groups of one metric."""
        ranks = np.arange(len(table))
        look: dict[str, Any] = {"color": _drawing.SHADE, "linewidth": 1.5}
        ends = ranks - 0.5, ranks + 0.5
        everyone = ax.vlines(table["everyone"], *ends, **look, label="Everyone")
        self.everyone_.append(everyone)
        level = self.result.confidence_level or 0.0  # nan is not drawn
        text = f"{level:.4g} interval, each group alone" if level else "_"
        look, ends = {"color": _drawing.COLORS[0]}, (table["lower"], table["upper"])
        intervals = ax.hlines(ranks, *ends, **look, linewidth=1.8, label=text)
        self.intervals_.append(intervals)
        style = _drawing.point_style("o", _drawing.COLORS[0], 6)
        self.points_ += ax.plot(table["value"], ranks, **style, label="Group")
        ax.set_xlabel(_drawing.folded(_drawing.metric_text(metric), 30))
        ax.set_ylim(len(table) - 0.5, -0.5)
        names = [str(name) for name in table.index.names if name not in (None, "group")]
        if len(table) <= _MAX_NAMED:
            sizes = table["n"].tolist()
            labels = zip(table.index, sizes, strict=True)
            ax.set_yticks(ranks, [_drawing.group_text(*group) for group in labels])
        else:
            names = [f"{len(table):,} groups"]
        place = ax.get_subplotspec()
        if place is None or place.is_first_col():
            ax.set_ylabel(_drawing.names_text(names) or "")

    @classmethod
    def _methods(cls, estimator: Any, options: dict[str, Any]) -> dict[str, str]:
        """Choose `predict` for metrics of labels, scores for those that take them."""
        scores = "predict_proba"
        if not hasattr(estimator, scores):
            scores = "decision_function"
        if options.get("metrics") is None:
            return {"y_pred": "predict"}
        of_scores = {metric.takes_scores for metric in find_metrics(options["metrics"])}
        options["y_pred"] = None  # where all metrics take scores
        methods = {"y_pred": "predict"} if False in of_scores else {}
        return methods | ({"y_score": scores} if True in of_scores else {})

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | None,
        *,
        metrics: Any = None,
        sensitive_features: Any,
        control_features: Any = None,
        y_score: ArrayLike | None = None,
        pos_label: Any = None,
        confidence_level: float | None = 0.95,
        n_resamples: int = 199,
        sample_weight: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw metrics of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels, or numbers of a regression. The selection rate needs none.
        y_pred : array-like of shape (n_samples,) or None
            Predicted labels or numbers. None if all metrics take scores.
        metrics : str, callable, scorer, list of these, or dict of name -> these, \
default=None
            See `skfair.metrics.group_metrics`. None stands for the selection rate, and
            with true labels for accuracy and the true and false positive rates, too; of
            more than two classes for accuracy, of numbers for the mean absolute error.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row. Every group of every stratum is drawn.
        y_score : array-like of shape (n_samples,) or (n_samples, n_classes), \
default=None
            Scores for the metrics that take them. None stands for `y_pred`.
        pos_label : int, float, bool or str, default=None
            Label of the positive class. None stands for 1 where labels are 0 and 1 or
            -1 and 1.
        confidence_level : float in (0, 1) or None, default=0.95
            Level of the intervals; None draws none.
        n_resamples : int, default=199
            Number of bootstrap resamples for metrics that are no rates.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        random_state : int, RandomState instance or None, default=None
            Seed of the resamples.
        n_jobs : int, default=None
            Number of processes for the resamples; None is 1 unless in a
            `joblib.parallel_config` context, -1 uses all processors.
        ax : matplotlib Axes, or array of them, default=None
            Where to draw, one for each metric. None makes a new figure.
        name : str, default=None
            Title, none by default.

        Returns
        -------
        GroupMetricsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `skfair.metrics.group_metrics`.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            As `skfair.metrics.group_metrics` does. Values that are nan are not drawn.
        """
        result = group_metrics(
            _usual_metrics(y_true, y_pred) if metrics is None else metrics,
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            control_features=control_features,
            y_score=y_score,
            pos_label=pos_label,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            sample_weight=sample_weight,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return cls(result=result, name=name).plot(ax)


def _usual_metrics(y_true: ArrayLike | None, y_pred: ArrayLike | None) -> list[str]:
    """Names of the metrics that are drawn if none are named, by the kind of target."""
    if y_true is None:
        return ["selection_rate"]
    kind = type_of_target(y_true)
    if kind == "binary":
        return [
            "accuracy",
            "selection_rate",
            "true_positive_rate",
            "false_positive_rate",
        ]
    of_numbers = y_pred is not None and type_of_target(y_pred) == "continuous"
    if of_numbers or kind == "continuous":
        return ["mean_absolute_error"]
    return ["accuracy"]


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
