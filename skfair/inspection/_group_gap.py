"""The groups' gaps to the average, sorted, with the tail of CVaR fairness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pandas as pd
from numpy.typing import ArrayLike

from skfair.inspection import _inputs, _style
from skfair.inspection._group_gap_artists import GroupGapArtists
from skfair.metrics._groupwise._cvar_fairness_report import cvar_fairness_report
from skfair.metrics._groupwise._group_gaps import GroupWeights
from skfair.metrics._groupwise._quality import Quality
from skfair.statistics import GroupedOutcomes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GroupGapDisplay:
    """Difference of each group's rate from the average, with intervals and the tail.

    Groups are sorted by their gap, the largest at the top. The tail, over which CVaR
    fairness is the mean gap, is shaded and its groups have filled marks. Up to forty
    groups are named; of more, only the intervals are drawn.

    Parameters
    ----------
    report : DataFrame of n_groups rows
        As `cvar_fairness_report` returns it.
    alpha : float in [0, 1)
        Level of the tail.
    confidence_level : float in (0, 1)
        Level of the intervals.
    quality : str, default="selection_rate"
        Name of what is compared.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    intervals_ : matplotlib LineCollection
        One line for each group with rows, in the order of `report`.
    points_ : list of matplotlib Line2D
        The groups outside the tail, and those in it.
    tail_area_ : matplotlib Rectangle or None
        None where the tail is empty.
    average_line_ : matplotlib Line2D

    See Also
    --------
    skfair.metrics.cvar_fairness_report : The table behind the picture.
    skfair.metrics.top_groups : Which groups differ by more than chance.

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

    def __init__(
        self,
        *,
        report: pd.DataFrame,
        alpha: float,
        confidence_level: float = 0.95,
        quality: str = "selection_rate",
        name: str | None = None,
    ) -> None:
        self.report = report
        self.alpha = alpha
        self.confidence_level = confidence_level
        self.quality = quality
        self.name = name

    @property
    def cvar(self) -> float:
        """CVaR fairness, the mean gap of the tail."""
        parts = self.report["weight"] * self.report["gap"] * self.report["tail_share"]
        return float(parts.sum() / (1 - self.alpha))

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure, as high as its groups need.
        name : str, default=None
            Title of the axes. None stands for the display's own.

        Returns
        -------
        GroupGapDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        _style.require_matplotlib(f"{type(self).__name__}.plot")
        artists = GroupGapArtists(self.report, ax)
        self.ax_ = artists.ax
        self.figure_ = self.ax_.figure
        self.tail_area_ = artists.draw_tail()
        self.average_line_ = artists.draw_average()
        self.intervals_ = artists.draw_intervals(self.confidence_level)
        self.points_ = artists.draw_points(self.cvar, self.alpha)
        artists.label_axes(self.quality)
        _style.title(self.ax_, self.name if name is None else name)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any,
        alpha: float = 0.9,
        quality: Quality = "selection_rate",
        group_weights: GroupWeights = "uniform",
        confidence_level: float = 0.95,
        pos_label: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw what a classifier predicts.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier. If its `predict` takes `sensitive_features` by name,
            labels are handed on to it.
        X : array-like of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,), default=None
            True labels. The selection rate needs none.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable
            Group of each row, or which columns of X say it: a str, an int, a callable
            of X, or a list of str or int that has not n_samples entries.
        alpha : float in [0, 1), default=0.9
            The tail holds groups of weight 1 - alpha.
        quality : str or callable, default="selection_rate"
            What is compared, see `skfair.metrics.cvar_fairness`.
        group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
            Weights of the groups.
        confidence_level : float in (0, 1), default=0.95
            Level of the intervals.
        pos_label : int, float, bool or str, default=None
            The label that counts as positive. None stands for the second class of a
            binary classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, the estimator's class name by default.

        Returns
        -------
        GroupGapDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As `from_predictions`, and if X has no such column.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_estimator")
        y_pred, groups = _inputs.respond_with_groups(
            estimator, "predict", X, sensitive_features
        )
        classes: Any = getattr(estimator, "classes_", ())
        if pos_label is None and len(classes) == 2:
            pos_label = classes[1]
        return cls.from_predictions(
            y,
            y_pred,
            sensitive_features=groups,
            alpha=alpha,
            quality=quality,
            group_weights=group_weights,
            confidence_level=confidence_level,
            pos_label=pos_label,
            sample_weight=sample_weight,
            ax=ax,
            name=type(estimator).__name__ if name is None else name,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | GroupedOutcomes,
        *,
        sensitive_features: Any = None,
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
            Predicted labels, or a statistic in place of all rows and of `quality`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        alpha, quality, group_weights, confidence_level, pos_label, sample_weight
            As in `from_estimator`; `pos_label` None stands for 1.
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
            As in `skfair.metrics.cvar_fairness_report`, and where fewer than two
            groups can be compared.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If groups have no rows that count; they are not drawn.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        report = cvar_fairness_report(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            alpha=alpha,
            quality=quality,
            group_weights=group_weights,
            confidence_level=confidence_level,
            pos_label=pos_label,
            sample_weight=sample_weight,
        )
        _check_comparable(report)
        given = isinstance(y_pred, GroupedOutcomes)
        text = str(getattr(quality, "__name__", quality))
        display = cls(
            report=report[report["gap"].notna()],
            alpha=alpha,
            confidence_level=confidence_level,
            quality="rate" if given else text,
            name=name,
        )
        return display.plot(ax)


def _check_comparable(report: pd.DataFrame) -> None:
    if report["gap"].isna().all():
        raise ValueError(
            "sensitive_features leave nothing to compare: fewer than two of the groups "
            f"{report.index.tolist()[:5]} have enough rows that count."
        )
