"""Cumulative differences between outcomes and scores of each group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._arrays import Floats, Integers
from skfair._utils._warnings import warns_if_reordered
from skfair.inspection import _drawing
from skfair.inspection._display import PredictionsDisplay, stratum_of_largest
from skfair.metrics import calibration_gap
from skfair.metrics._calibration_gap import (
    largest_curve_gap,
    steps_of_rows,
)
from skfair.metrics._inputs import collected_reasons

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CalibrationGapDisplay(PredictionsDisplay):
    """Curve of each group whose largest difference is the calibration gap.

    The curve of a group rises where its outcomes are more frequent than its scores say,
    and falls where they are less frequent. A group with calibrated scores stays near 0.
    With more than eight groups only the two that differ most are coloured.

    Parameters
    ----------
    scores : ndarray of shape (n_scores,)
        Distinct scores, increasing.
    curves : ndarray of shape (n_groups, n_scores)
        Sum over the rows of a group with at most a score of outcome minus score, by
        weight, as a share of the total weight of the group.
    labels : sequence of length n_groups
        Group labels.
    counts : ndarray of shape (n_groups,)
        Number of rows of each group.
    value : float
        The calibration gap.
    score : float
        First score at which two curves differ by the gap; nan where it is 0.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, the title of the legend.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of n_groups matplotlib Line2D
        The curves.
    mark_line_ : matplotlib Line2D or None
        A vertical line as long as the gap.

    See Also
    --------
    skfair.metrics.calibration_gap : The value.

    Examples
    --------
    >>> from skfair.inspection import CalibrationGapDisplay
    >>> display = CalibrationGapDisplay.from_predictions(
    ...     [0, 1, 0, 0], [0.25, 0.75, 0.25, 0.75], sensitive_features=list("aabb")
    ... )
    >>> display.mark_line_.get_label()
    'Gap of 0.500 at the score 0.75'
    """

    scores: Floats
    curves: Floats
    labels: Sequence[Hashable]
    counts: Integers
    value: float
    score: float
    sensitive_names: Sequence[str] = ()
    name: str | None = None

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        at = self.curves[:, self.scores == self.score]
        pair = [] if not at.size else [int(at.argmin()), int(at.argmax())]
        few = len(self.labels) <= _drawing.MAX_GROUPS
        self.ax_.axhline(0, color=_drawing.INK, linewidth=0.8)
        last = self.curves[:, -1:]
        curves = np.hstack([np.zeros_like(last), self.curves, last])
        scores = np.concatenate([[0.0], self.scores, [1.0]])
        self.lines_ = _drawing.draw_group_lines(
            self.ax_,
            [(scores, curve) for curve in curves],
            [
                _drawing.group_text(*of_group)
                for of_group in zip(self.labels, self.counts, strict=True)
            ],
            self.counts,
            list(range(len(self.labels))) if few else pair,
            drawstyle="steps-post",
        )
        self.mark_line_ = None
        if pair:
            (self.mark_line_,) = self.ax_.plot(
                [self.score] * 2,
                at[pair, 0],
                color=_drawing.INK,
                marker="_",
                zorder=3,
                label=f"Gap of {self.value:.3f} at the score {self.score:.4g}",
            )
        self.ax_.set(
            xlabel=_drawing.SCORE_LABELS["probability"],
            ylabel="Outcomes minus scores, up to the score",
            xlim=(0, 1),
        )
        return self.ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend in a corner without curves."""
        heading = _drawing.names_text(self.sensitive_names)
        corners = ["upper left", "lower left", "upper right", "lower right"]
        _drawing.legend_in_corner(self.ax_, heading, corners, may_grow=may_grow)

    @classmethod
    @warns_if_reordered
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        control_features: Any = None,
        pos_label: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the curves of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_score : array-like of shape (n_samples,)
            Probabilities of the positive class, in [0, 1].
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its department. The stratum with the
            largest gap is drawn, and named.
        pos_label : int, float, bool or str, default=None
            The true label that counts as positive, see
            `skfair.metrics.calibration_gap`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        CalibrationGapDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `skfair.metrics.calibration_gap`, and where that is undefined.
        """
        _drawing.require_matplotlib(f"{cls.__name__}.from_predictions")
        metric = partial(calibration_gap, pos_label=pos_label)
        columns = y_true, y_score, sensitive_features, sample_weight
        columns, name = stratum_of_largest(metric, columns, control_features, name)
        with collected_reasons() as reasons:
            counted = steps_of_rows(*columns, pos_label)
        if counted is None:
            raise ValueError(f"There is nothing to draw: {'; '.join(reasons)}.")
        rows, statistic = counted
        scores, curves = zip(*rows.curves(), strict=True)
        value, score, _ = largest_curve_gap(rows)
        display = cls(
            scores=np.concatenate(scores),
            curves=np.concatenate(curves, axis=1),
            labels=statistic.labels,
            counts=statistic.counts,
            value=value,
            score=score,
            sensitive_names=statistic.names,
            name=name,
        )
        return display.plot(ax)
