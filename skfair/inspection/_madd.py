"""MADD: score histograms, and every bandwidth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._pictures import _drawing
from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import Scale
from skfair.inspection._display import (
    PredictionsDisplay,
    permute_metric,
    select_stratum,
    tabulate_scores,
)
from skfair.metrics import MADDBandwidthResult, madd
from skfair.metrics._madd import MADD, find_interval
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least height of the axes as a multiple of the highest bin: the legend goes above it.
_HEADROOM = 1.35
_TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class MADDDisplay(PredictionsDisplay):
    """Histograms of two groups' scores, and their MADD for each bandwidth.

    With more than two groups, the pair with the largest MADD is shown.

    Parameters
    ----------
    result : MADDBandwidthResult
        Search for a bandwidth: bandwidths, MADD for each of them, the interval of
        bandwidths in which MADD is most stable, and the mean over it.
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins, from 0 to 1.
    shares : ndarray of shape (2, n_bins)
        Share of each of the two groups in each bin.
    counts : ndarray of shape (2,)
        Number of rows of the two groups.
    n_groups : int, default=2
        Number of all groups, from which the two shown were chosen.
    null_distribution : ndarray of shape (n_permutations,), default=None
        MADD for each random permutation of the groups.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, for the title of the legend.
    scale : {"probability", "rank"}, default="probability"
        What the scores are, for the labels of the axes.
    name : str, default=None
        Name of the model, the title of the first axes.

    Attributes
    ----------
    axes_ : ndarray of shape (2,) of matplotlib Axes
    figure_ : matplotlib Figure
    histograms_ : list of two matplotlib StepPatch
    difference_ : matplotlib StepPatch
        Absolute difference of the histograms; its heights add up to MADD of one
        bandwidth.
    line_ : matplotlib Line2D
        MADD for each bandwidth.
    interval_ : matplotlib Patch
        Bandwidths between which MADD is most stable.
    h_sup_line_, madd_line_ : matplotlib Line2D
        Best order of magnitude of the bandwidth, and MADD, the mean over the interval.
    null_lines_ : list of matplotlib Line2D
        Mean and 95 % quantile of the null distribution; empty without one.

    See Also
    --------
    skfair.metrics.madd_optimal_bandwidth : The search.
    skfair.metrics.permutation_test : The null distribution.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import MADDDisplay
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> display = MADDDisplay.from_predictions(
    ...     y_true, y_score, sensitive_features=group, n_permutations=19, random_state=0
    ... )
    >>> bool(display.result.value > display.null_distribution.max())
    True
    """

    result: MADDBandwidthResult
    edges: NDArray[Any]
    shares: NDArray[Any]
    counts: NDArray[Any]
    n_groups: int = 2
    null_distribution: NDArray[Any] | None = None
    sensitive_names: Sequence[str] = ()
    scale: Scale = "probability"
    name: str | None = None
    _has_panels: ClassVar[bool] = True

    def _count_axes(self) -> int:
        """Count the panels: histograms on the left, MADD by bandwidth on the right."""
        return 2

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure in inches."""
        return 10.5, 4.6

    def _draw(self) -> Any:
        """Draw the histograms and the search."""
        first, second = self.axes_
        self.histograms_ = self._draw_histograms(first)
        self.difference_ = self._draw_difference(first)
        self._draw_search(second)
        self.null_lines_ = self._draw_null(second)
        self._scale_search(second)
        return first

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legends above the histograms and above the curve."""
        names = _drawing.names_text(self.sensitive_names)
        heading = [text for text in (names, _drawing.pairs_text(self.n_groups)) if text]
        text = _drawing.wrap_text(", ".join(heading)) or None
        _drawing.legend_above_data(self.axes_[0], text, np.max(self.shares), _HEADROOM)
        self._draw_search_legend(self.axes_[1])

    def _draw_histograms(self, ax: Axes) -> list[Any]:
        """Draw the histograms of the two groups."""
        histograms = []
        groups = zip(self.result.groups, self.counts.tolist(), strict=True)
        for i, group in enumerate(groups):
            style = _drawing.group_style(i) | {"zorder": 2.5}
            text = _drawing.group_text(*group)
            histograms.append(
                ax.stairs(self.shares[i], self.edges, **style, label=text)
            )
        ax.set(
            xlabel=_drawing.SCORE_LABELS[self.scale],
            ylabel=f"Share of the group in each of {len(self.edges) - 1} bins",
            xlim=(0, 1),
        )
        return histograms

    def _draw_difference(self, ax: Axes) -> Any:
        """Fill the absolute difference of the two histograms."""
        distance = np.abs(self.shares[0] - self.shares[1])
        text = f"Absolute difference, adds up to {distance.sum():.3f}"
        look: dict[str, Any] = {"color": _drawing.SHADE, "alpha": 0.4}
        return ax.stairs(distance, self.edges, fill=True, **look, label=text)

    def _draw_search(self, ax: Axes) -> None:
        """Draw MADD over its bandwidths, the stable interval and the mean there."""
        result = self.result
        low, high = result.interval
        # The value at bandwidth 1/m holds down to 1/(m + 1), hence steps before points.
        curve = result.bandwidths, result.values
        style = _drawing.mark_style(0, _drawing.COLORS[2], 1.5)
        (self.line_,) = ax.plot(
            *curve, drawstyle="steps-pre", **style, label="MADD at one bandwidth"
        )
        text = f"Most stable from {low:.3g} to {high:.3g}"
        style = _drawing.band_style(None, 0.3)
        self.interval_ = ax.axvspan(low, high, **style, label=text)
        text = f"Best order of magnitude, h_sup = {result.h_sup:.3g}"
        dotted, plain = (_drawing.mark_style(n, linewidth=1.5) for n in (2, 0))
        self.h_sup_line_ = ax.axvline(result.h_sup, **dotted, label=text)
        text = f"MADD = {result.value:.3f} (mean of the interval)"
        self.madd_line_ = ax.axhline(result.value, **plain, label=text)

    def _draw_null(self, ax: Axes) -> list[Any]:
        """Draw the mean and the 95 % quantile of the null distribution, if any."""
        null = self.null_distribution
        if null is None:
            return []
        times = f"Groups permuted {len(null):,} times"
        drawn = ("mean", null.mean(), 1), ("0.95 quantile", np.quantile(null, 0.95), 3)
        styles = [_drawing.mark_style(n, _drawing.COLORS[4], 1.5) for *_, n in drawn]
        return [
            ax.axhline(value, **style, label=f"{times}: {text} {value:.3f}")
            for style, (text, value, _) in zip(styles, drawn, strict=True)
        ]

    def _scale_search(self, ax: Axes) -> None:
        """Set the scale of the axis of bandwidths."""
        bandwidths = self.result.bandwidths
        ax.set(
            xlabel=f"Bandwidth h ({_drawing.UNITS[self.scale]})",
            ylabel="MADD",
            xscale="log",
        )
        ticks = [tick for tick in _TICKS if tick >= bandwidths[0]]
        _drawing.mark_ticks(ax, ticks)
        ax.set_xlim(bandwidths[0], max(1, self.result.h_sup))

    def _draw_search_legend(self, ax: Axes) -> None:
        """Draw the legend above the curve, and shorten the vertical marks below it."""
        drawn = [line.get_ydata()[0] for line in self.null_lines_]
        highest = max(float(np.max([self.result.values.max(), *drawn])), 0.01)
        groups = _drawing.groups_text(self.result.groups, self.counts)
        share = _drawing.legend_above_data(ax, groups, highest, 1.8)
        self.interval_.set_height(share)
        self.h_sup_line_.set_ydata([0, share])

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | CountTable,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        scale: Scale = "probability",
        n_permutations: int = 99,
        sample_weight: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        ax: Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw MADD of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Ignored. If given it must be binary and of the right length.
        y_score : array-like of shape (n_samples,), or CountTable
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"``; or a table in place of all rows, without weights if
            `n_permutations` is not 0.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            MADD is drawn, and named; permutations are of it alone, and do not account
            for the choice, as `skfair.metrics.permutation_test` does.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` draws the ranks of scores that are not probabilities, as in
            `skfair.metrics.madd`.
        n_permutations : int, default=99
            Number of permutations for the null distribution; 0 leaves it out.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations.
        ax : sequence of two matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the first axes, none by default.

        Returns
        -------
        MADDDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `skfair.metrics.madd_optimal_bandwidth`; also where MADD is undefined,
            if `n_permutations` is not a whole number of at least 0, and if it is not 0
            beside a table of weighted people.

        Notes
        -----
        Each permutation costs as much as MADD itself, which grows with the number of
        pairs of groups.
        """
        metric = partial(madd, scale=scale)
        rows = y_true, y_score, sensitive_features, sample_weight
        rows, name = select_stratum(metric, rows, control_features, name)
        null = permute_metric(metric, rows, n_permutations, random_state)
        statistic = tabulate_scores(*rows, scale)
        result = find_interval(MADD(), statistic)
        edges, shares, counts = _shares_in_bins(
            statistic, result.groups, _bins_to_show(result)
        )
        display = cls(
            result=result,
            edges=edges,
            shares=shares,
            counts=counts,
            n_groups=statistic.n_groups,
            null_distribution=null,
            sensitive_names=statistic.names,
            scale=scale,
            name=name,
        )
        return display.plot(ax)


def _bins_to_show(result: MADDBandwidthResult) -> int:
    """Return the number of bins of the stable bandwidth nearest to h_sup."""
    low, high = result.interval
    inside = (result.bandwidths >= low) & (result.bandwidths < high)
    bandwidths = result.bandwidths[inside]
    return int(np.rint(1 / bandwidths[np.abs(bandwidths - result.h_sup).argmin()]))


def _shares_in_bins(
    statistic: Distributions, groups: Sequence[Hashable], n_bins: int
) -> tuple[Floats, Floats, Integers]:
    """Return the edges of bins, both groups' shares in them, and group sizes."""
    edges = np.arange(n_bins + 1) / n_bins
    positions = [statistic.labels.index(label) for label in groups]
    shares = np.empty((len(positions), n_bins))
    for row, group in enumerate(positions):
        scores, weights = statistic.select_group(group)
        # Bins are closed on the left, the last one on both sides, as those of MADD.
        heights, _ = np.histogram(scores, edges, weights=weights)
        shares[row] = heights / statistic.totals[group]
    return edges, shares, statistic.counts[positions]
