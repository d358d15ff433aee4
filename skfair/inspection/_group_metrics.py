"""Metrics of each group beside those of everyone, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair.inspection import _drawing
from skfair.inspection._display import PredictionsDisplay
from skfair.metrics._group_metrics import (
    GroupMetricsResult,
    find_metrics,
    group_metrics,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More rows than this are not named.
_MAX_NAMED = 40
#: Panels beside each other.
_MAX_COLUMNS = 4
#: Inches: width of a panel, height of a row, of the rest, of a panel without names.
_WIDTH, _ROW, _FRAME, _HEIGHT = 3.4, 0.3, 1.2, 6.5


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
    name: str | None = None

    def plot(
        self, ax: Axes | Sequence[Axes] | None = None, *, name: str | None = None
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, or array of them, default=None
            Where to draw, one for each metric. None makes a new figure.
        name : str, default=None
            Title of the first panel. None stands for the display's own.

        Returns
        -------
        GroupMetricsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the number of axes is not that of the metrics.
        """
        tables = _by_metric(self.result.to_frame())
        axes = self._given_axes(ax, len(tables))
        self.axes_ = _new_panels(tables) if axes is None else axes
        self.figure_ = self.axes_[0].figure
        self.points_: list[Any] = []
        self.intervals_: list[Any] = []
        self.everyone_: list[Any] = []
        for panel, (metric, table) in zip(self.axes_, tables.items(), strict=True):
            self._draw_metric(panel, metric, table)
        self._write_title(self.axes_[0], name)
        _drawing.legend_outside(self.axes_[-1], None, may_grow=ax is None)
        return self

    def _draw_metric(self, ax: Axes, metric: str, table: pd.DataFrame) -> None:
        """Draw the groups of one metric."""
        ranks = np.arange(len(table))
        everyone = ax.vlines(
            table["everyone"],
            ranks - 0.5,
            ranks + 0.5,
            color=_drawing.SHADE,
            linewidth=1.5,
            label="Everyone",
        )
        self.everyone_.append(everyone)
        level = self.result.confidence_level or 0.0  # nan is not drawn
        intervals = ax.hlines(
            ranks,
            table["lower"],
            table["upper"],
            color=_drawing.COLORS[0],
            linewidth=1.8,
            label=f"{level:.4g} interval, each group alone" if level else "_",
        )
        self.intervals_.append(intervals)
        self.points_ += ax.plot(
            table["value"],
            ranks,
            linestyle="none",
            marker="o",
            color=_drawing.COLORS[0],
            label="Group",
        )
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
        metrics: Any,
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
        metrics : str, callable, scorer, list of these, or dict of name -> these
            See `skfair.metrics.group_metrics`.
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
        _drawing.require_matplotlib(f"{cls.__name__}.from_predictions")
        result = group_metrics(
            metrics,
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


def _by_metric(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows of each metric, by its name."""
    metrics = dict.fromkeys(table.index.get_level_values("metric"))
    return {str(metric): table.xs(metric, level="metric") for metric in metrics}


def _new_panels(tables: dict[str, pd.DataFrame]) -> Any:
    """Axes of a new figure, one for each metric, that share their rows."""
    import matplotlib.pyplot as plt

    n_metrics, n_groups = len(tables), len(next(iter(tables.values())))
    height = _FRAME + _ROW * n_groups if n_groups <= _MAX_NAMED else _HEIGHT
    n_columns = min(n_metrics, _MAX_COLUMNS)
    n_rows = -(-n_metrics // n_columns)
    axes = plt.subplots(
        n_rows,
        n_columns,
        sharey=True,
        squeeze=False,
        figsize=(1.5 + _WIDTH * n_columns, height * n_rows),
        layout="constrained",
    )[1].ravel()
    for unused in axes[n_metrics:]:
        unused.remove()
    return axes[:n_metrics]
