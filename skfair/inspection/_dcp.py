"""Who is treated differently: eta by group and true label, and the interval of DCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from skfair._utils._validation import check_integer
from skfair.inspection._dcp_artists import draw_etas, draw_interval
from skfair.inspection._inputs import respond_with_groups
from skfair.inspection._style import require_matplotlib, title
from skfair.metrics import DCPResult
from skfair.statistics import GroupedConfusion

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DCPDisplay:
    """Share of each group and true label that the common baseline does not explain.

    Parameters
    ----------
    result : DCPResult
    max_groups : int, default=20
        With more groups, those with the largest disparity are shown.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The cells.
    interval_ax_ : matplotlib Axes
        The interval above them.
    figure_ : matplotlib Figure
    cells_ : matplotlib QuadMesh
        One row for each group shown, one column for each true label.
    interval_line_ : matplotlib Line2D
        From the lower to the upper bound.

    See Also
    --------
    skfair.metrics.DCPResult : The numbers behind the picture.

    Examples
    --------
    >>> from skfair.inspection import DCPDisplay
    >>> y_true = ["cat", "cat", "dog", "dog"] * 2
    >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
    >>> display = DCPDisplay.from_predictions(
    ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
    ... )
    >>> display.cells_.get_array().shape
    (2, 2)
    """

    def __init__(
        self, *, result: DCPResult, max_groups: int = 20, name: str | None = None
    ) -> None:
        self.result = result
        self.max_groups = max_groups
        self.name = name

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; the interval takes a strip above it. None makes a new
            figure.
        name : str, default=None
            Title of the axes. None stands for the display's own.

        Returns
        -------
        DCPDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If DCP is undefined, or `max_groups` is no positive integer.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        max_groups = check_integer("max_groups", self.max_groups, 1)
        if self.result.upper != self.result.upper:
            raise ValueError(
                "result must be defined, got nan bounds: a group is absent or too "
                "small."
            )
        if ax is None:
            import matplotlib.pyplot as plt

            shown = min(len(self.result.groups), max_groups)
            size = 2.5 + 0.8 * len(self.result.labels), 2.2 + 0.3 * shown
            size = max(6.0, size[0]), size[1]
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        self.cells_ = draw_etas(ax, self.result, max_groups)
        self.interval_ax_, self.interval_line_ = draw_interval(ax, self.result)
        title(self.interval_ax_, self.name if name is None else name)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
        time_limit: float | None = None,
        max_groups: int = 20,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the predictions of a classifier.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier.
        X : array-like of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,)
            True labels.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable
            Group of each row, or which columns of X say it.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        time_limit : float, default=None
            Seconds after which the search for the interval ends.
        max_groups : int, default=20
            Largest number of groups shown.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title, the estimator's class name by default.

        Returns
        -------
        DCPDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As `from_predictions`, and if X has no such column.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        y_pred, groups = respond_with_groups(
            estimator, "predict", X, sensitive_features
        )
        return cls.from_predictions(
            y,
            y_pred,
            sensitive_features=groups,
            sample_weight=sample_weight,
            time_limit=time_limit,
            max_groups=max_groups,
            ax=ax,
            name=type(estimator).__name__ if name is None else name,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | GroupedConfusion,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        time_limit: float | None = None,
        max_groups: int = 20,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels; None only beside a statistic.
        y_pred : array-like of shape (n_samples,), or GroupedConfusion
            Predicted labels, or a statistic in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        time_limit : float, default=None
            Seconds after which the search for the interval ends.
        max_groups : int, default=20
            Largest number of groups shown.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title, none by default.

        Returns
        -------
        DCPDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `skfair.metrics.dcp`, and where DCP is undefined.
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        result = DCPResult.from_predictions(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            time_limit=time_limit,
        )
        return cls(result=result, max_groups=max_groups, name=name).plot(ax)
