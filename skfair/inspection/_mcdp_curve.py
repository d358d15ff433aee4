"""MCDP for every window length."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats
from skfair._utils._validation import Scale
from skfair.inspection import _drawing
from skfair.inspection._display import (
    PredictionsDisplay,
    check_level,
    comparable_scores,
    stratum_of_largest,
)
from skfair.metrics import mcdp, mcdp_curve
from skfair.metrics._inputs import effective_sizes
from skfair.metrics._noise import supremum_quantile
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MCDPCurveDisplay(PredictionsDisplay):
    """MCDP(epsilon) as a function of epsilon, half the length of the window of scores.

    Curves of several models can share axes: pass `ax_` of the first to the others.

    Parameters
    ----------
    epsilons : ndarray of shape (n_steps,)
        Where the steps of the curve begin, increasing from 0.
    values : ndarray of shape (n_steps,)
        MCDP from each epsilon on, until the next.
    labels : sequence of length n_groups
        Group labels.
    counts : ndarray of shape (n_groups,)
        Number of rows of each group.
    effective_sizes : ndarray of shape (n_groups,), default=None
        Effective number of rows of each group, which sets the width of the confidence
        band; nan if unknown. None stands for `counts`.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, for the title of the legend.
    scale : {"probability", "rank"}, default="probability"
        What the scores are, for the labels of the axes.
    name : str, default=None
        Name of the model, for its entry in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve, extended to epsilon = 0.5.
    mark_ : matplotlib Line2D
        The point at MCDP(0).
    band_ : matplotlib PolyCollection or None
        The confidence band of the curve.

    See Also
    --------
    skfair.metrics.mcdp_curve : The numbers behind the curve.
    CDFGapDisplay : Where the gap lies.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import MCDPCurveDisplay
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> display = MCDPCurveDisplay.from_predictions(
    ...     y_true, y_score, sensitive_features=group
    ... )
    >>> display.mark_.get_label()
    'MCDP(0) = 0.572'
    """

    epsilons: NDArray[Any]
    values: NDArray[Any]
    labels: Sequence[Hashable]
    counts: NDArray[Any]
    effective_sizes: NDArray[Any] | None = None
    sensitive_names: Sequence[str] = ()
    scale: Scale = "probability"
    name: str | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        confidence_level: float | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        confidence_level : float in (0, 1), default=None
            Level of a confidence band of the whole curve, none by default.
        name : str, default=None
            Name of the model. None stands for the display's own.

        Returns
        -------
        MCDPCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `confidence_level` is out of range or effective group sizes are unknown.

        Notes
        -----
        MCDP(epsilon) changes by no more than the CDFs do, so that one band holds at
        every epsilon. Its half-width is
        ``s * sqrt(log(2 * n_pairs / (1 - confidence_level)) / 2)``, with the largest
        ``s = sqrt(1 / n_1 + 1 / n_2)`` of a pair.
        """
        sizes = self.counts if self.effective_sizes is None else self.effective_sizes
        half = None
        if confidence_level is not None:
            half = _half_width(sizes, confidence_level)
        self._begin(ax)
        name = self.name if name is None else name
        before = "" if name is None else f"{_drawing.short_label(name)}: "
        # Each curve that was drawn before has two lines.
        style = _drawing.group_style(len(self.ax_.get_lines()) // 2)
        (self.line_,) = self.ax_.plot(
            np.append(self.epsilons, 0.5),
            np.append(self.values, self.values[-1]),
            drawstyle="steps-post",
            **style,
        )
        (self.mark_,) = self.ax_.plot(
            [0.0],
            [self.values[0]],
            marker="o",
            clip_on=False,
            label=f"{before}MCDP(0) = {self.values[0]:.3f}",
            **style,
        )
        self.band_ = None
        if half is not None:
            values = np.append(self.values, self.values[-1])
            self.band_ = self.ax_.fill_between(
                np.append(self.epsilons, 0.5),
                np.maximum(values - half, 0),
                np.minimum(values + half, 1),
                step="post",
                color=style["color"],
                alpha=0.2,
                linewidth=0,
                label=f"{before}{confidence_level:.4g} confidence band",
            )
        self.ax_.set(
            xlabel=f"Epsilon (half window, {_drawing.UNITS[self.scale]})",
            ylabel="MCDP(epsilon) (0 to 1)",
            xlim=(0, 0.5),
        )
        # The upper end is left to matplotlib, so that the curve of another model fits.
        self.ax_.set_ylim(bottom=0, auto=True)
        _drawing.legend_in_corner(
            self.ax_, self._heading(), ["upper right"], may_grow=ax is None
        )
        return self

    def _heading(self) -> str:
        """Title of the legend: sensitive columns, group sizes and number of pairs."""
        names = _drawing.names_text(self.sensitive_names)
        lines = (
            names and f"{names}:",
            _drawing.groups_text(self.labels, self.counts),
            _drawing.pairs_text(len(self.labels)),
        )
        return "\n".join(line for line in lines if line)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | GroupedScores,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        scale: Scale = "probability",
        sample_weight: ArrayLike | None = None,
        confidence_level: float | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw MCDP of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Ignored. If given it must be binary and of the right length.
        y_score : array-like of shape (n_samples,), or GroupedScores
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"``; or a statistic in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            MCDP(0) is drawn, and named; bands are of it alone, and do not account
            for the choice, as `skfair.metrics.confidence_interval` does.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` draws the ranks of scores that are no probabilities, as in
            `skfair.metrics.mcdp_curve`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        confidence_level : float in (0, 1), default=None
            Level of a confidence band of the whole curve, none by default.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Name in the legend, none by default.

        Returns
        -------
        MCDPCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `skfair.metrics.mcdp_curve`, and where MCDP is undefined: fewer than
            two groups, or a group that is absent or too small.

        Examples
        --------
        >>> from skfair.inspection import MCDPCurveDisplay
        >>> display = MCDPCurveDisplay.from_predictions(
        ...     None, [0.1, 0.4, 0.6, 0.9], sensitive_features=["F", "F", "M", "M"]
        ... )
        >>> display.values.tolist()
        [1.0, 0.5, 0.0]
        """
        _drawing.require_matplotlib(f"{cls.__name__}.from_predictions")
        rows = y_true, y_score, sensitive_features, sample_weight
        metric = partial(mcdp, scale=scale)
        rows, name = stratum_of_largest(metric, rows, control_features, name)
        statistic = comparable_scores(*rows, scale)
        epsilons, values = mcdp_curve(None, statistic)
        display = cls(
            epsilons=epsilons,
            values=values,
            labels=statistic.labels,
            counts=statistic.counts,
            effective_sizes=effective_sizes(statistic, *rows[2:]),
            sensitive_names=statistic.names,
            scale=scale,
            name=name,
        )
        return display.plot(ax, confidence_level=confidence_level)


def _half_width(sizes: Floats, confidence_level: float) -> float:
    """Half the width of a band that holds for all pairs of groups at once."""
    level = check_level(sizes, confidence_level)
    n_pairs = math.comb(len(sizes), 2)
    smallest = np.sort(sizes)[:2]
    return supremum_quantile((1 - level) / n_pairs) * float(
        np.sqrt((1 / smallest).sum())
    )
