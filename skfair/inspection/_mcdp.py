"""MCDP: the groups' score distributions, and the gap for every window length."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._pictures import _drawing
from skfair._utils._arrays import Floats
from skfair._utils._text import number
from skfair._utils._validation import (
    AnyScale,
    Scale,
    check_choice,
    check_real,
    lie_in_unit_interval,
)
from skfair.inspection._display import (
    PredictionsDisplay,
    prepare_scores,
)
from skfair.metrics import mcdp
from skfair.metrics._mcdp import MCDP, MCDPCurve
from skfair.metrics._pairs import Located
from skfair.metrics._quantiles import supremum_quantile
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

    from skfair.metrics import ProxyBoundsResult


#: Room beside the scores on their axis, as a share of their range.
_ROOM = 0.02


@dataclass(kw_only=True, eq=False, repr=False)
class MCDPDisplay(PredictionsDisplay):
    """Base of the displays of MCDP, with the groups and the level of bands."""

    labels: Sequence[Hashable]
    counts: NDArray[Any]
    effective_sizes: NDArray[Any] | None = None
    sensitive_names: Sequence[str] = ()
    scale: AnyScale = "probability"
    confidence_level: float | None = None
    name: str | None = None

    def _tail(self) -> float:
        """Check the level of bands, and return one minus the level."""
        confidence_level = check_real(
            "confidence_level", self.confidence_level, 0, 1, closed="neither"
        )
        return 1 - confidence_level

    def _sizes(self) -> Floats:
        """Return effective sizes of groups, or numbers of rows if these are unknown."""
        sizes = self.counts if self.effective_sizes is None else self.effective_sizes
        return np.asarray(sizes, dtype=np.float64)


@dataclass(kw_only=True, eq=False, repr=False)
class CDFGapDisplay(MCDPDisplay):
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
        ``value``, the ``pair`` of groups, the ``score`` at which their CDFs (its
        ``figures``) differ by this value, and the ``window`` in which they differ by at
        least as much.
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
    confidence_level : float in (0, 1), default=None
        Level of a confidence band around each CDF, none by default.
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

    Notes
    -----
    The half-width of a confidence band is
    ``sqrt(log(2 / (1 - confidence_level)) / (2 n))`` (Dvoretzky, Kiefer, Wolfowitz;
    Massart): it covers the whole CDF of one group, at any size. Under sample weights n
    is Kish's effective size, and the level is approximate.

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
    marks: Mapping[float, Located]
    bounds: Sequence[tuple[Floats, Floats]] | None = None
    odds_ratio: float | None = None

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        sizes = self.counts
        if self.confidence_level is not None:
            tail, sizes = self._tail(), self._sizes()
        coloured = self._coloured_groups()
        texts = [*map(_drawing.group_text, self.labels, self.counts, sizes)]
        curves = list(zip(self.scores, self.shares, strict=True))
        self.lines_ = _drawing.draw_group_lines(
            self.ax_, curves, texts, self.counts, coloured, drawstyle="steps-post"
        )
        self.bands_ = self.gap_area_ = None
        if self.bounds is not None:
            text = f"Possible with odds ratios up to {self.odds_ratio:.4g}"
            self.bands_ = self._draw_bands(coloured, self.bounds, text)
        elif self.confidence_level is not None:
            # The bands of Dvoretzky, Kiefer and Wolfowitz.
            widths = supremum_quantile(tail) / np.sqrt(sizes)
            text = f"{self.confidence_level:.4g} confidence band, each group alone"
            bounds = [
                (np.maximum(shares - width, 0), np.minimum(shares + width, 1))
                for shares, width in zip(self.shares, widths, strict=True)
            ]
            self.bands_ = self._draw_bands(coloured, bounds, text)
        elif self.marks:
            first_mark = next(iter(self.marks.values()))
            self.gap_area_ = self._draw_gap_area(*_pair_positions(first_mark))
        self.mark_lines_, self.windows_ = self._draw_marks()
        self.ax_.set(
            xlabel=_drawing.SCORE_LABELS[self.scale],
            ylabel="Cumulative share of the group",
            xlim=self._ends(),
            ylim=(0, 1.01),
        )
        return self.ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend in a corner without curves."""
        heading = _drawing.names_text(self.sensitive_names)
        corners = ["lower right", "upper left"]
        _drawing.legend_in_corner(self.ax_, heading, corners, may_grow=may_grow)

    def _coloured_groups(self) -> list[int]:
        """List the groups drawn in colour: all, or of many groups the marked pairs.

        Groups known by a proxy have no marks, and share their scores. If they are many,
        the two groups whose lines are furthest apart are coloured.
        """
        if len(self.labels) <= _drawing.MAX_GROUPS:
            return list(range(len(self.labels)))
        if not self.marks:
            shares = np.array(self.shares)
            at = shares[:, np.ptp(shares, axis=0).argmax()]
            return [int(at.argmax()), int(at.argmin())]
        # Keeps the order of the marks, and each group once.
        return list(
            dict.fromkeys(
                i for mark in self.marks.values() for i in _pair_positions(mark)
            )
        )

    def _draw_bands(
        self,
        coloured: list[int],
        bounds: Sequence[tuple[Floats, Floats]],
        text: str,
    ) -> list[PolyCollection]:
        """Draw the band of each coloured group, with one legend entry."""
        bands: list[PolyCollection] = []
        for position, i in enumerate(coloured):
            style = _drawing.band_style(position, 0.25) | {"zorder": 2}
            label, ends = None if position else text, bounds[i]
            band = self.ax_.fill_between(
                self.scores[i], *ends, step="post", **style, label=label
            )
            bands.append(band)
        return bands

    def _draw_gap_area(self, first: int, second: int) -> PolyCollection:
        """Shade the area between the CDFs of two groups."""
        grid = np.union1d(self.scores[first], self.scores[second])
        low, high = (
            evaluate_cdf(self.scores[i], self.shares[i], grid) for i in (first, second)
        )
        style = _drawing.band_style(None, 0.2)
        return self.ax_.fill_between(grid, low, high, step="post", zorder=1, **style)

    def _draw_marks(self) -> tuple[list[Line2D], list[Any]]:
        """Draw each mark as a line as long as its value, with its window."""
        lines: list[Line2D] = []
        windows: list[Any] = []
        for epsilon, mark in self.marks.items():
            if epsilon > 0 and mark.value > 0:
                style = _drawing.band_style(None, 0.25)
                windows.append(self.ax_.axvspan(*mark.window, **style))
            plain, where = epsilon == 0, mark.score if mark.value > 0 else np.nan
            look: dict[str, Any] = {"linestyle": (0, (2, 1)), "marker": "o"}
            if plain:
                look = {"linestyle": "-", "marker": "_"}
            look |= {"color": _drawing.INK, "linewidth": 1.5, "zorder": 3}
            look |= {"markersize": 10 if plain else 4}
            text = self._mark_text(epsilon, mark)
            lines += self.ax_.plot([where] * 2, mark.figures, **look, label=text)
        return lines, windows

    def _ends(self) -> tuple[float, float]:
        """Return the ends of the axis, near the smallest and largest score."""
        # The ends of the curves of probabilities are 0 and 1.
        inner = slice(None) if self.scale == "real" else slice(1, -1)
        scores = np.concatenate([group_scores[inner] for group_scores in self.scores])
        low, high = float(scores.min()), float(scores.max())
        if self.scale == "real":
            return (low, high) if low < high else (low - 0.5, high + 0.5)
        if not low < high:
            return 0, 1
        room = _ROOM * (high - low)
        return max(0.0, low - room), min(1.0, high + room)

    def _mark_text(self, epsilon: float, mark: Located) -> str:
        """Return the legend entry of a mark: value, scores, pair of groups."""
        unit = _drawing.MARK_UNITS[self.scale]
        if epsilon > 0:
            text = f"MCDP {number(mark.value)} with epsilon {epsilon:.3g}"
            if mark.value > 0:
                low, high = mark.window
                text += f", at {unit}s {low:.3g} to {high:.3g}"
        else:
            text = f"Largest gap {number(mark.value)}"
            if mark.value > 0:
                score = f"{mark.score:.{_drawing.SCORE_DIGITS[self.scale]}g}"
                text += f" at {unit} {score}"
        if len(self.labels) > 2:
            text += "\n" + _drawing.pair_text(
                [self.labels[i] for i in _pair_positions(mark)]
            )
        return text

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | CountTable,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        epsilon: float = 0.0,
        scale: AnyScale = "probability",
        confidence_level: float | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Ignored. If given it must be binary and of the right length.
        y_score : array-like of shape (n_samples,), or CountTable
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"`` or ``scale="real"``; or a table in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            MCDP(epsilon) is drawn, and named; bands are of it alone, and do not account
            for the choice, as `skfair.metrics.confidence_interval` does.
        epsilon : float in [0, 1], default=0.0
            Half the window of a second mark, MCDP(epsilon); 0 marks MCDP(0) alone.
        scale : {"probability", "rank", "real"}, default="probability"
            ``"rank"`` draws the ranks of scores that are not probabilities, as in
            `skfair.metrics.mcdp`; ``"real"`` draws predicted numbers in their unit, for
            which `epsilon` is 0.
        confidence_level : float in (0, 1), default=None
            Level of a confidence band around each CDF, none by default.
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
            groups, or a group that is absent or too small.
        """
        fields = find_cdfs(
            y_true,
            y_score,
            sensitive_features=sensitive_features,
            control_features=control_features,
            epsilon=epsilon,
            scale=scale,
            sample_weight=sample_weight,
            name=name,
        )
        return cls(confidence_level=confidence_level, **fields).plot(ax)

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


@dataclass(kw_only=True, eq=False, repr=False)
class MCDPCurveDisplay(MCDPDisplay):
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
    confidence_level : float in (0, 1), default=None
        Level of a confidence band of the whole curve, none by default.
    name : str, default=None
        Name of the model, for its entry in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve, extended to epsilon = 1. The axis ends where the last curve on it
        has its last step.
    mark_ : matplotlib Line2D
        The point at epsilon = 0, the largest gap.
    band_ : matplotlib PolyCollection or None
        The confidence band of the curve.

    See Also
    --------
    skfair.metrics.mcdp_curve : The numbers behind the curve.
    CDFGapDisplay : Where the gap lies.

    Notes
    -----
    MCDP(epsilon) changes by no more than the CDFs do, so that one confidence band holds
    at every epsilon. Its half-width is
    ``s * sqrt(log(2 * n_pairs / (1 - confidence_level)) / 2)``, with the largest
    ``s = sqrt(1 / n_1 + 1 / n_2)`` of a pair.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import MCDPCurveDisplay
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> display = MCDPCurveDisplay.from_predictions(
    ...     y_true, y_score, sensitive_features=group
    ... )
    >>> display.mark_.get_label()
    'Largest gap 0.572'
    """

    epsilons: NDArray[Any]
    values: NDArray[Any]

    def _half_width(self) -> float:
        """Return half the width of a band that holds for all pairs at once."""
        quantile = supremum_quantile(self._tail() / math.comb(len(self.labels), 2))
        smallest = np.sort(self._sizes())[:2]
        return float(quantile * np.sqrt((1 / smallest).sum()))

    def _draw(self) -> None:
        """Draw the curve; axes that several models share name the models."""
        named = self._title is not None
        before = f"{_drawing.short_label(self._title)}: " if named else ""
        epsilons = np.append(self.epsilons, 1)
        values = np.append(self.values, self.values[-1])
        # Each curve that was drawn before has two lines.
        position = len(self.ax_.get_lines()) // 2
        style = _drawing.group_style(position)
        end = min(1.0, max(1.05 * float(self.epsilons[-1]), 0.05))
        end = max(end, self.ax_.get_xlim()[1]) if position else end
        (self.line_,) = self.ax_.plot(epsilons, values, drawstyle="steps-post", **style)
        gap = "largest gap" if named else "Largest gap"
        text = f"{before}{gap} {values[0]:.3f}"
        look = style | {"clip_on": False}
        (self.mark_,) = self.ax_.plot([0], values[:1], marker="o", **look, label=text)
        self.band_ = None
        if self.confidence_level is not None:
            half = self._half_width()
            text = f"{self.confidence_level:.4g} confidence band"
            ends = np.maximum(values - half, 0), np.minimum(values + half, 1)
            look = _drawing.band_style(position, 0.2)
            self.band_ = self.ax_.fill_between(
                epsilons, *ends, step="post", **look, label=before + text
            )
        self.ax_.set(
            xlabel=f"Epsilon, half the window ({_drawing.UNITS[self.scale]})",
            ylabel="MCDP, the gap in a whole window",
            xlim=(0, end),
        )
        # The upper end is left to matplotlib, so that the curve of another model fits.
        self.ax_.set_ylim(bottom=0, auto=True)

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend with the sensitive columns, groups and number of pairs."""
        names = _drawing.names_text(self.sensitive_names)
        lines = (
            names and f"{names}:",
            _drawing.groups_text(self.labels, self.counts),
            _drawing.pairs_text(len(self.labels)),
        )
        heading = "\n".join(line for line in lines if line)
        _drawing.legend_in_corner(self.ax_, heading, ["upper right"], may_grow=may_grow)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | CountTable,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        scale: Scale = "probability",
        confidence_level: float | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw MCDP of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Ignored. If given it must be binary and of the right length.
        y_score : array-like of shape (n_samples,), or CountTable
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"``; or a table in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            MCDP(0) is drawn, and named; bands are of it alone, and do not account
            for the choice, as `skfair.metrics.confidence_interval` does.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` draws the ranks of scores that are not probabilities, as in
            `skfair.metrics.mcdp_curve`.
        confidence_level : float in (0, 1), default=None
            Level of a confidence band of the whole curve, none by default.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
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
        metric = partial(mcdp, scale=scale)
        rows = y_true, y_score, sensitive_features, sample_weight
        statistic, fields = prepare_scores(metric, rows, control_features, scale, name)
        epsilons, values = MCDPCurve().value(statistic)
        fields["confidence_level"] = confidence_level
        return cls(epsilons=epsilons, values=values, **fields).plot(ax)


def find_cdfs(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    epsilon: float = 0.0,
    scale: AnyScale = "probability",
    sample_weight: ArrayLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Find the CDFs of given scores and their gaps, the fields of `CDFGapDisplay`."""
    check_choice("scale", scale, get_args(AnyScale))
    if scale == "real" and epsilon != 0:
        raise ValueError(
            f"epsilon must be 0 with scale='real', got {epsilon!r}: windows are of "
            "probabilities or of ranks."
        )
    metric_scale: Scale = "probability" if scale == "probability" else "rank"
    epsilons = sorted({0.0, check_real("epsilon", epsilon, 0, 1)})
    metric = partial(mcdp, epsilon=epsilon, scale=metric_scale)
    rows = y_true, y_score, sensitive_features, sample_weight
    statistic, fields = prepare_scores(
        metric, rows, control_features, scale, name, AnyScale
    )
    cdfs = (step_cdf(statistic, group) for group in range(statistic.n_groups))
    scores, shares = zip(*cdfs, strict=True)
    marks = {each: MCDP(epsilon=each).locate(statistic) for each in epsilons}
    return {"scores": scores, "shares": shares, "marks": marks, **fields}


def _pair_positions(mark: Located) -> tuple[int, int]:
    """Return the positions of the two groups of a mark."""
    first, second = mark.pair
    assert second is not None  # no group is compared with everyone
    return first, second


def step_cdf(statistic: Distributions, group: int) -> tuple[Floats, Floats]:
    """Return the scores and heights of the CDF of one group, a step function.

    Each height holds from its score to the next score. Numbers that are not confined
    to [0, 1] begin and end with the smallest and largest number of all groups.
    """
    low, high = 0.0, 1.0
    if not lie_in_unit_interval(statistic.scores):
        low, high = statistic.scores[[0, -1]].tolist()
    scores, shares = statistic.cdf(group)
    return np.concatenate([[low], scores, [high]]), np.concatenate(
        [[0.0], shares, [1.0]]
    )


def evaluate_cdf(scores: Floats, shares: Floats, where: Any) -> Any:
    """Return the heights of a CDF from `step_cdf` at one or many scores."""
    return shares[np.searchsorted(scores, where, side="right") - 1]
