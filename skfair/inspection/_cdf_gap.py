"""The groups' score distributions, and the largest gap between them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats
from skfair._utils._text import number
from skfair._utils._validation import (
    AnyScale,
    Scale,
    check_choice,
    check_real,
    lie_in_unit_interval,
)
from skfair.inspection import _drawing
from skfair.inspection._display import (
    PredictionsDisplay,
    check_level,
    comparable_scores,
    stratum_of_largest,
)
from skfair.metrics import mcdp
from skfair.metrics._inputs import effective_sizes
from skfair.metrics._mcdp import locate_mcdp
from skfair.metrics._noise import supremum_quantile
from skfair.metrics._pairs import Located
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

    from skfair.metrics import ProxyBoundsResult


class CDFGapDisplay(PredictionsDisplay):
    """Cumulative distributions of the groups' scores, with their largest gap, MCDP.

    With more than two groups each gap is marked at the pair where it is largest. With
    more than eight groups only the marked pairs are coloured; the others are thin grey
    lines.

    Parameters
    ----------
    scores : sequence of n_groups ndarrays of shape (n_steps,)
        Scores at which each group's CDF steps up, from 0 to 1.
    shares : sequence of n_groups ndarrays of shape (n_steps,)
        Value of the CDF from each of those scores on, from 0 to 1.
    labels : sequence of length n_groups
        Group labels.
    counts : ndarray of shape (n_groups,)
        Number of rows of each group.
    marks : dict of {float: Located}
        The gaps to mark by epsilon: MCDP(0), and MCDP(epsilon) if wanted. Each has its
        ``value``, the ``pair`` of groups, the ``score`` at which their CDFs, its
        ``figures``, differ by the value, and the ``window`` in which they differ by no
        less.
    effective_sizes : ndarray of shape (n_groups,), default=None
        Effective number of rows of each group, which sets the width of its confidence
        band; nan if unknown. None stands for `counts`.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, the title of the legend.
    scale : {"probability", "rank", "real"}, default="probability"
        What the scores are, for the labels of the axes; "real" are predicted numbers.
    bounds : sequence of n_groups pairs of ndarrays of shape (n_steps,), default=None
        Least and largest value of each CDF from each of its scores on, where groups are
        known by a proxy only.
    odds_ratio : float, default=None
        Odds ratio for which `bounds` hold.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of n_groups matplotlib Line2D
        The CDFs.
    gap_area_ : matplotlib PolyCollection or None
        Between the CDFs of the first mark's pair, where there are no bands.
    mark_lines_ : list of matplotlib Line2D
        One vertical line for each mark, as long as its value.
    windows_ : list of matplotlib Patch
        The windows of the marks with epsilon and value above 0.
    bands_ : list of matplotlib PolyCollection or None

    See Also
    --------
    skfair.metrics.mcdp : The value of a mark.
    MCDPCurveDisplay : MCDP for every epsilon.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import CDFGapDisplay
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> display = CDFGapDisplay.from_predictions(
    ...     y_true, y_score, sensitive_features=group, epsilon=0.05
    ... )
    >>> [round(mark.value, 2) for mark in display.marks.values()]
    [0.57, 0.53]
    """

    scores: Sequence[Floats]
    shares: Sequence[Floats]
    labels: Sequence[Hashable]
    counts: NDArray[Any]
    marks: Mapping[float, Located]
    effective_sizes: NDArray[Any] | None = None
    sensitive_names: Sequence[str] = ()
    scale: AnyScale = "probability"
    bounds: Sequence[tuple[Floats, Floats]] | None = None
    odds_ratio: float | None = None
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
            Level of a confidence band around each coloured CDF, none by default.
        name : str, default=None
            Title of the axes. None stands for the display's own.

        Returns
        -------
        CDFGapDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If `confidence_level` is out of range or effective group sizes are unknown.

        Notes
        -----
        The half-width of a band is ``sqrt(log(2 / (1 - confidence_level)) / (2 n))``
        (Dvoretzky, Kiefer, Wolfowitz; Massart): it covers the whole CDF of one group,
        at any size. Under sample weights n is Kish's effective size, and the level is
        approximate.
        """
        sizes, widths = self.counts, None
        if confidence_level is not None:
            sizes = sizes if self.effective_sizes is None else self.effective_sizes
            widths = _band_widths(sizes, confidence_level)
        self._begin(ax)
        coloured = self._coloured_groups()
        self.lines_ = _drawing.draw_group_lines(
            self.ax_,
            list(zip(self.scores, self.shares, strict=True)),
            [
                _drawing.group_text(*of_group)
                for of_group in zip(self.labels, self.counts, sizes, strict=True)
            ],
            self.counts,
            coloured,
            drawstyle="steps-post",
        )
        self.bands_ = self.gap_area_ = None
        if self.bounds is not None:
            text = f"Possible with odds ratios up to {self.odds_ratio:.4g}"
            self.bands_ = self._draw_bands(coloured, self.bounds, text)
        elif widths is not None:
            text = f"{confidence_level:.4g} confidence band, each group alone"
            bounds = [
                (np.maximum(shares - width, 0), np.minimum(shares + width, 1))
                for shares, width in zip(self.shares, widths, strict=True)
            ]
            self.bands_ = self._draw_bands(coloured, bounds, text)
        elif self.marks:
            first_mark = next(iter(self.marks.values()))
            self.gap_area_ = self._draw_gap_area(*_pair_of(first_mark))
        self.mark_lines_, self.windows_ = self._draw_marks()
        self.ax_.set(
            xlabel=_drawing.SCORE_LABELS[self.scale],
            ylabel="Cumulative share of the group",
            xlim=self._ends(),
            ylim=(0, 1.01),
        )
        self._write_title(self.ax_, name)
        _drawing.legend_in_corner(
            self.ax_,
            _drawing.names_text(self.sensitive_names),
            ["lower right", "upper left"],
            may_grow=ax is None,
        )
        return self

    def _coloured_groups(self) -> list[int]:
        """List the groups drawn in colour: all, or of many groups the marked pairs.

        Groups known by a proxy have no marks, and share their scores: of many, the pair
        is coloured whose lines are the furthest apart.
        """
        if len(self.labels) <= _drawing.MAX_GROUPS:
            return list(range(len(self.labels)))
        if not self.marks:
            shares = np.array(self.shares)
            at = shares[:, np.ptp(shares, axis=0).argmax()]
            return [int(at.argmax()), int(at.argmin())]
        # Keeps the order of the marks, and each group once.
        return list(
            dict.fromkeys(i for mark in self.marks.values() for i in _pair_of(mark))
        )

    def _draw_bands(
        self,
        coloured: list[int],
        bounds: Sequence[tuple[Floats, Floats]],
        text: str,
    ) -> list[PolyCollection]:
        """Draw the band of each coloured group, with one legend entry."""
        return [
            self.ax_.fill_between(
                self.scores[i],
                *bounds[i],
                step="post",
                **_drawing.band_style(position, 0.25),
                zorder=2,
                label=None if position else text,
            )
            for position, i in enumerate(coloured)
        ]

    def _draw_gap_area(self, first: int, second: int) -> PolyCollection:
        """Shade the area between the CDFs of two groups."""
        grid = np.union1d(self.scores[first], self.scores[second])
        return self.ax_.fill_between(
            grid,
            shares_at(self.scores[first], self.shares[first], grid),
            shares_at(self.scores[second], self.shares[second], grid),
            step="post",
            color=_drawing.SHADE,
            alpha=0.2,
            linewidth=0,
            zorder=1,
        )

    def _draw_marks(self) -> tuple[list[Line2D], list[Any]]:
        """Draw each mark as a line as long as its value, and its window."""
        lines: list[Line2D] = []
        windows: list[Any] = []
        for epsilon, mark in self.marks.items():
            if epsilon > 0 and mark.value > 0:
                window = self.ax_.axvspan(
                    *mark.window, color=_drawing.SHADE, alpha=0.25, linewidth=0
                )
                windows.append(window)
            plain, where = epsilon == 0, mark.score if mark.value > 0 else np.nan
            lines += self.ax_.plot(
                [where, where],
                mark.figures,
                color=_drawing.INK,
                linestyle="-" if plain else (0, (2, 1)),
                linewidth=1.5,
                marker="_" if plain else "o",
                markersize=10 if plain else 4,
                label=self._mark_text(epsilon, mark),
                zorder=3,
            )
        return lines, windows

    def _ends(self) -> tuple[float, float]:
        """Return the ends of the axis of scores; numbers have those of all groups."""
        if self.scale != "real":
            return 0, 1
        low, high = (
            float(end(np.concatenate(self.scores))) for end in (np.min, np.max)
        )
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    def _mark_text(self, epsilon: float, mark: Located) -> str:
        """Legend entry of a mark: its value, its scores and its pair of groups."""
        text = f"MCDP({epsilon:.3g}) = {number(mark.value)}"
        unit = _drawing.MARK_UNITS[self.scale]
        if mark.value > 0 and epsilon > 0:
            text += f", {unit}s {mark.window[0]:.3g} to {mark.window[1]:.3g}"
        elif mark.value > 0:
            score = f"{mark.score:.{_drawing.SCORE_DIGITS[self.scale]}g}"
            text += f", {unit} {score}"
        if len(self.labels) > 2:
            text += "\n" + _drawing.joined_text(
                [self.labels[i] for i in _pair_of(mark)]
            )
        return text

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | GroupedScores,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        epsilon: float = 0.0,
        confidence_level: float | None = None,
        scale: AnyScale = "probability",
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Ignored. If given it must be binary and of the right length.
        y_score : array-like of shape (n_samples,), or GroupedScores
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"`` or ``scale="real"``; or a statistic in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            MCDP(epsilon) is drawn, and named; bands are of it alone, and do not account
            for the choice, as `skfair.metrics.confidence_interval` does.
        epsilon : float in [0, 0.5], default=0.0
            Half the window of a second mark, MCDP(epsilon); 0 marks MCDP(0) alone.
        confidence_level : float in (0, 1), default=None
            Level of a confidence band around each CDF, none by default.
        scale : {"probability", "rank", "real"}, default="probability"
            ``"rank"`` draws the ranks of scores that are no probabilities, as in
            `skfair.metrics.mcdp`; ``"real"`` draws predicted numbers in their unit, for
            which `epsilon` is 0.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        CDFGapDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `skfair.metrics.mcdp`, and where MCDP is undefined: fewer than two
            groups, or a group that is absent or too small. See `plot` for bands.
        """
        _drawing.require_matplotlib(f"{cls.__name__}.from_predictions")
        check_choice("scale", scale, get_args(AnyScale))
        if scale == "real" and epsilon != 0:
            raise ValueError(
                f"epsilon must be 0 with scale='real', got {epsilon!r}: windows are of "
                "probabilities or of ranks."
            )
        of_ranks: Scale = "probability" if scale == "probability" else "rank"
        rows = y_true, y_score, sensitive_features, sample_weight
        metric = partial(mcdp, epsilon=epsilon, scale=of_ranks)
        rows, name = stratum_of_largest(metric, rows, control_features, name)
        epsilons = sorted({0.0, check_real("epsilon", epsilon, 0, 0.5)})
        statistic = comparable_scores(*rows, scale, AnyScale)
        cdfs = (step_cdf(statistic, group) for group in range(statistic.n_groups))
        scores, shares = zip(*cdfs, strict=True)
        display = cls(
            scores=scores,
            shares=shares,
            labels=statistic.labels,
            counts=statistic.counts,
            marks={
                epsilon: locate_mcdp(statistic, epsilon=epsilon) for epsilon in epsilons
            },
            effective_sizes=effective_sizes(statistic, *rows[2:]),
            sensitive_names=statistic.names,
            scale=scale,
            name=name,
        )
        return display.plot(ax, confidence_level=confidence_level)

    @classmethod
    def from_proxy_bounds(
        cls,
        result: ProxyBoundsResult,
        *,
        odds_ratio: float = 2.0,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw groups that are known by a proxy only, each within its bounds.

        The lines are the distributions if group and score are independent given the
        proxy. Counts are expected numbers of rows, or their expected weight.

        Parameters
        ----------
        result : ProxyBoundsResult
            Of a metric of scores.
        odds_ratio : float, default=2.0
            How far the odds of a group may differ within a cell, for the bands.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes.

        Returns
        -------
        CDFGapDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            If the metric of the result compares predicted labels.
        """
        _drawing.require_matplotlib(f"{cls.__name__}.from_proxy_bounds")
        independent = result.cumulative_bounds(1.0)
        bounds = result.cumulative_bounds(odds_ratio)
        scores = np.concatenate([[0.0], bounds.index, [1.0]])

        def steps(table: pd.DataFrame, label: Hashable, end: str) -> Floats:
            return np.concatenate([[0.0], table[(label, end)], [1.0]])

        display = cls(
            scores=[scores] * len(result.labels),
            shares=[steps(independent, label, "upper") for label in result.labels],
            labels=result.labels,
            counts=result.expected_counts,
            marks={},
            bounds=[
                (steps(bounds, label, "lower"), steps(bounds, label, "upper"))
                for label in result.labels
            ],
            odds_ratio=odds_ratio,
            name=name,
        )
        return display.plot(ax)


def _band_widths(effective_sizes: Floats, confidence_level: Any) -> Floats:
    """Half-widths of the confidence bands of Dvoretzky, Kiefer and Wolfowitz."""
    level = check_level(effective_sizes, confidence_level)
    return np.asarray(supremum_quantile(1 - level) / np.sqrt(effective_sizes))


def _pair_of(mark: Located) -> tuple[int, int]:
    """Positions of the two groups of a mark."""
    first, second = mark.pair
    assert second is not None  # no group is compared with everyone
    return first, second


def step_cdf(statistic: GroupedScores, group: int) -> tuple[Floats, Floats]:
    """Scores and heights of the CDF of one group, a step function from 0 to 1.

    Each height holds from its score to the next one. Numbers outside of [0, 1] begin
    and end with those of everyone.
    """
    low, high = 0.0, 1.0
    if not lie_in_unit_interval(statistic.scores):
        low, high = statistic.scores[[0, -1]].tolist()
    scores, shares = statistic.cdf(group)
    return np.concatenate([[low], scores, [high]]), np.concatenate(
        [[0.0], shares, [1.0]]
    )


def shares_at(scores: Floats, shares: Floats, where: Any) -> Any:
    """Heights of a CDF, in the form that `step_cdf` returns, at one or many scores."""
    return shares[np.searchsorted(scores, where, side="right") - 1]
