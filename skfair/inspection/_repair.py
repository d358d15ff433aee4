"""The choice of a level of repair, and the groups' histograms before and after."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skfair.inspection import _drawing
from skfair.inspection._display import Display, comparable_scores, responses_of
from skfair.inspection._madd import (
    HEADROOM,
    bins_to_show,
    draw_histograms,
    shares_in_bins,
)
from skfair.metrics import madd_optimal_bandwidth
from skfair.postprocessing import MADDPostProcessor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = {
    "total_loss": "Mean of both, weighted",
    "accuracy_loss": "Loss of accuracy",
    "fairness_loss": "Gap that remains",
}


class RepairDisplay(Display):
    """Losses against the level of repair, and histograms before and after.

    Losses of a repair to a largest gap are drawn against the gap that is allowed. With
    more than two groups, the pair with the largest MADD before is shown.

    Parameters
    ----------
    losses : DataFrame of 101 rows
        Columns ``repair_level`` or ``max_mcdp``, ``total_loss``, ``accuracy_loss`` and
        ``fairness_loss``.
    repair_level : float or None
        The level chosen; None if `max_mcdp` is given.
    max_mcdp : float, default=None
        The largest gap allowed, if that was given in place of a level.
    standard_error : float, default=None
        Standard error of the least total loss, by which the level was chosen; None if
        the level was given.
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins, from 0 to 1.
    before, after : ndarray of shape (2, n_bins)
        Share of each of the two groups in each bin.
    labels : sequence of length 2
        The two groups.
    counts : ndarray of shape (2,)
        Number of rows of the two groups.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, for the title of the legends.
    name : str, default=None
        Name of the model, the title of the first axes.

    Attributes
    ----------
    axes_ : ndarray of shape (3,) of matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of three matplotlib Line2D
        Total loss, accuracy loss and fairness loss.
    level_line_ : matplotlib Line2D
        At the level chosen, or at the largest gap allowed.
    error_band_ : matplotlib Patch or None
        From the least total loss to one standard error above it: `repair_level` is the
        least level whose total loss lies within.
    histograms_ : list of four matplotlib StepPatch
        The two groups before the repair, then both after it.

    See Also
    --------
    skfair.postprocessing.MADDPostProcessor : The repair that is shown.
    MADDDisplay : Histograms, and MADD for every bandwidth.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.inspection import RepairDisplay
    >>> from skfair.postprocessing import MADDPostProcessor
    >>> X, y = make_biased_classification(
    ...     score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> model = MADDPostProcessor(
    ...     LogisticRegression(), sensitive_features="group", drop_sensitive=True
    ... )
    >>> display = RepairDisplay.from_estimator(model.fit(X, y), X)
    >>> display.repair_level == model.repair_level_
    True
    """

    losses: pd.DataFrame
    repair_level: float | None
    max_mcdp: float | None = None
    standard_error: float | None = None
    edges: NDArray[Any]
    before: NDArray[Any]
    after: NDArray[Any]
    labels: Sequence[Hashable]
    counts: NDArray[Any]
    sensitive_names: Sequence[str] = ()
    name: str | None = None

    def plot(
        self, ax: Sequence[Axes] | None = None, *, name: str | None = None
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, default=None
            Where to draw the losses and the histograms. None makes a new figure.
        name : str, default=None
            Title of the first axes. None stands for the display's own.

        Returns
        -------
        RepairDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If `ax` is not three axes.
        """
        self._begin_several(ax, "AA;BC")
        self._draw_losses(self.axes_[0])
        self._write_title(self.axes_[0], name)
        self.histograms_ = []
        panels = ("Before repair", self.before), ("After repair", self.after)
        for axes, (heading, shares) in zip(self.axes_[1:], panels, strict=True):
            self.histograms_ += draw_histograms(
                axes, self.edges, shares, self.labels, self.counts
            )
            axes.set_title(heading)
        highest = float(max(np.max(self.before), np.max(self.after)))
        for axes in self.axes_[1:]:
            names = _drawing.names_text(self.sensitive_names)
            _drawing.legend_above_data(axes, names, highest, HEADROOM)
        return self

    def _draw_losses(self, ax: Axes) -> None:
        """Draw losses against the level; mark the chosen level and the least loss."""
        column_of_x, name_of_x = "repair_level", "Level"
        if self.max_mcdp is not None:
            column_of_x, name_of_x = "max_mcdp", "Largest gap"
        amount: Any = getattr(self, column_of_x)
        self.lines_ = [
            ax.plot(
                self.losses[column_of_x],
                self.losses[column],
                color=_drawing.COLORS[2 + i],
                linestyle=_drawing.LINE_STYLES[i],
                linewidth=1.8,
                label=label,
            )[0]
            for i, (column, label) in enumerate(_CURVES.items())
        ]
        self.level_line_ = ax.axvline(
            amount, **_drawing.mark_style(3), label=f"{name_of_x} = {amount:.3g}"
        )
        self.error_band_ = None
        if self.standard_error is not None:
            least = self.losses["total_loss"].min()
            self.error_band_ = ax.axhspan(
                least,
                least + self.standard_error,
                color=_drawing.SHADE,
                alpha=0.4,
                linewidth=0,
                # The number is written, since a narrow band looks like a line.
                label=f"Least mean + 1 standard error ({self.standard_error:.2g})",
            )
        xlabel = "Level of repair" if self.max_mcdp is None else "Largest gap allowed"
        ax.set(xlabel=xlabel, ylabel="Held-out rows")
        ax.margins(x=0.02)
        highest = float(self.losses[list(_CURVES)].max().max())
        share = _drawing.legend_above_data(ax, None, highest, 1.25, ncols=3)
        self.level_line_.set_ydata([0, share])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sensitive_features: Any = None,
        ax: Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw a fitted post-processor, and the scores of given rows.

        Parameters
        ----------
        estimator : MADDPostProcessor, or Pipeline that ends in one
            Fitted with groups.
        X : array-like of shape (n_samples, n_features)
            Rows for the histograms, preferably not those of the fit.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Group of each row. None takes the columns named by `sensitive_features` of
            the estimator.
        ax : sequence of three matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the first axes, by default the class name of the repaired model.

        Returns
        -------
        RepairDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        TypeError
            If the estimator is no `MADDPostProcessor`.
        ValueError
            If it was fitted without groups, if groups cannot be resolved, and where
            MADD is undefined.
        """
        _drawing.require_matplotlib(f"{cls.__name__}.from_estimator")
        model, X = _post_processor(estimator, X)
        if sensitive_features is None:
            sensitive_features = model.sensitive_features
        after, groups, _ = responses_of(
            [(model, None)], X, sensitive_features, "predict_proba"
        )
        before = np.mean(model._predict_by_each(X), axis=0)
        first, second = (
            comparable_scores(None, scores, groups) for scores in (before, after)
        )
        result = madd_optimal_bandwidth(None, first)
        n_bins = bins_to_show(result)
        edges, shares, counts = shares_in_bins(first, result.groups, n_bins)
        display = cls(
            losses=pd.DataFrame(model.losses_),
            repair_level=model.repair_level_,
            max_mcdp=model.max_mcdp,
            standard_error=model.standard_error_,
            edges=edges,
            before=shares,
            after=shares_in_bins(second, result.groups, n_bins)[1],
            labels=result.groups,
            counts=counts,
            sensitive_names=first.names,
            name=type(model.estimator).__name__ if name is None else name,
        )
        return display.plot(ax)


def _post_processor(estimator: Any, X: Any) -> tuple[MADDPostProcessor, Any]:
    """Return the post-processor at the end of a pipeline, and X transformed for it."""
    check_is_fitted(estimator)
    model = estimator
    if isinstance(estimator, Pipeline):
        model = estimator[-1]
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
    if not isinstance(model, MADDPostProcessor):
        raise TypeError(
            "estimator must be a MADDPostProcessor, or a Pipeline that ends in one, "
            f"got {type(model).__name__}."
        )
    if model.losses_ is None:
        raise ValueError(
            "estimator was fitted without sensitive_features: it has no repair to draw."
        )
    return model, X
