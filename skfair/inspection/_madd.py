"""MADD: score histograms, every bandwidth, and what a repair changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skfair._mitigation import begin_predict
from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import Scale
from skfair.inspection import _drawing
from skfair.inspection._display import (
    Display,
    PredictionsDisplay,
    comparable_scores,
    permuted_values,
    responses_of,
    stratum_of_largest,
)
from skfair.metrics import MADDBandwidthResult, madd, madd_optimal_bandwidth
from skfair.postprocessing import MADDPostProcessor
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least height of the axes as a multiple of the highest bin: the legend goes above it.
HEADROOM = 1.35
_TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: Columns of losses, and their labels in the legend.
_CURVES = {
    "total_loss": "Mean of both, weighted",
    "accuracy_loss": "Loss of accuracy",
    "fairness_loss": "Gap that remains",
}


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

    def _layout(self) -> str:
        """Histograms on the left, MADD by bandwidth on the right."""
        return "AB"

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches."""
        return 10.5, 4.6

    def _draw(self) -> Any:
        """Draw the histograms and the search."""
        first, second = self.axes_
        groups, scale = self.result.groups, self.scale
        self.histograms_ = draw_histograms(
            first, self.edges, self.shares, groups, self.counts, scale
        )
        self.difference_ = self._draw_difference(first)
        self._draw_search(second)
        self.null_lines_ = self._draw_null(second)
        self._scale_search(second)
        return first

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legends above the histograms and above the curve."""
        names = _drawing.names_text(self.sensitive_names)
        heading = [text for text in (names, _drawing.pairs_text(self.n_groups)) if text]
        text = _drawing.folded(", ".join(heading)) or None
        _drawing.legend_above_data(self.axes_[0], text, np.max(self.shares), HEADROOM)
        self._draw_search_legend(self.axes_[1])

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
        """Scale the axis of bandwidths."""
        bandwidths = self.result.bandwidths
        ax.set(
            xlabel=f"Bandwidth h ({_drawing.UNITS[self.scale]})",
            ylabel="MADD (0 to 2)",
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
        top = ax.get_ylim()[1]
        ax.set_yticks([tick for tick in ax.get_yticks() if tick <= min(2, top)])

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | GroupedScores,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        n_permutations: int = 99,
        scale: Scale = "probability",
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
        y_score : array-like of shape (n_samples,), or GroupedScores
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"``; or a statistic in place of all rows; `n_permutations` must
            then be 0, since only rows can be permuted.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            MADD is drawn, and named; permutations are of it alone, and do not account
            for the choice, as `skfair.metrics.permutation_test` does.
        n_permutations : int, default=99
            Number of permutations for the null distribution; 0 leaves it out.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` draws the ranks of scores that are no probabilities, as in
            `skfair.metrics.madd`.
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
            if `n_permutations` is no whole number of at least 0, and if it is not 0
            beside a statistic.

        Notes
        -----
        Each permutation costs as much as MADD itself, which grows with the number of
        pairs of groups.
        """
        metric = partial(madd, scale=scale)
        rows = y_true, y_score, sensitive_features, sample_weight
        rows, name = stratum_of_largest(metric, rows, control_features, name)
        null = permuted_values(metric, rows, n_permutations, random_state)
        statistic = comparable_scores(*rows, scale)
        result = madd_optimal_bandwidth(None, statistic)
        edges, shares, counts = shares_in_bins(
            statistic, result.groups, bins_to_show(result)
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

    def _layout(self) -> str:
        """Losses above, histograms before and after below."""
        return "AA;BC"

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches."""
        return 10.5, 9.2

    def _draw(self) -> Any:
        """Draw the losses and the histograms."""
        losses, *below = self.axes_
        self._draw_losses(losses)
        self.histograms_ = []
        panels = ("Before repair", self.before), ("After repair", self.after)
        for ax, (heading, shares) in zip(below, panels, strict=True):
            self.histograms_ += draw_histograms(
                ax, self.edges, shares, self.labels, self.counts
            )
            ax.set_title(heading)
        return losses

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legends above the histograms."""
        names = _drawing.names_text(self.sensitive_names)
        for ax in self.axes_[1:]:
            highest = np.max([self.before, self.after])
            _drawing.legend_above_data(ax, names, highest, HEADROOM)

    def _draw_losses(self, ax: Axes) -> None:
        """Draw losses against the level; mark the chosen level and the least loss."""
        column_of_x, name_of_x = "repair_level", "Level"
        if self.max_mcdp is not None:
            column_of_x, name_of_x = "max_mcdp", "Largest gap"
        amount: Any = getattr(self, column_of_x)
        self.lines_ = []
        for i, (column, label) in enumerate(_CURVES.items()):
            curve = self.losses[column_of_x], self.losses[column]
            style = _drawing.mark_style(i, _drawing.COLORS[2 + i], 1.8)
            self.lines_ += ax.plot(*curve, **style, label=label)
        self.level_line_ = ax.axvline(
            amount, **_drawing.mark_style(3), label=f"{name_of_x} = {amount:.3g}"
        )
        self.error_band_ = None
        if self.standard_error is not None:
            least, error = self.losses["total_loss"].min(), self.standard_error
            # The number is written, since a narrow band looks like a line.
            text = f"Least mean + 1 standard error ({error:.2g})"
            style = _drawing.band_style(None, 0.4)
            self.error_band_ = ax.axhspan(least, least + error, **style, label=text)
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
        model, X = _post_processor(estimator, X)
        if sensitive_features is None:
            sensitive_features = model.sensitive_features
        after, groups, _ = responses_of(
            [(model, None)], X, sensitive_features, "predict_proba"
        )
        features = begin_predict(model, X)
        plain = [each.predict_proba(features)[:, 1] for each in model.estimators_]
        before = np.mean(plain, axis=0)
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


def bins_to_show(result: MADDBandwidthResult) -> int:
    """Return the number of bins of the stable bandwidth that is nearest to h_sup."""
    low, high = result.interval
    inside = (result.bandwidths >= low) & (result.bandwidths < high)
    bandwidths = result.bandwidths[inside]
    return int(np.rint(1 / bandwidths[np.abs(bandwidths - result.h_sup).argmin()]))


def shares_in_bins(
    statistic: GroupedScores, groups: Sequence[Hashable], n_bins: int
) -> tuple[Floats, Floats, Integers]:
    """Edges of the bins, share of each of the given groups in them, and group sizes."""
    edges = np.arange(n_bins + 1) / n_bins
    positions = [statistic.labels.index(label) for label in groups]
    shares = np.empty((len(positions), n_bins))
    for row, group in enumerate(positions):
        scores, weights = statistic.of_group(group)
        # Bins are closed on the left, the last one on both sides, as those of MADD.
        heights, _ = np.histogram(scores, edges, weights=weights)
        shares[row] = heights / statistic.totals[group]
    return edges, shares, statistic.counts[positions]


def draw_histograms(
    ax: Axes,
    edges: Floats,
    shares: Floats,
    labels: Sequence[Hashable],
    counts: Integers,
    scale: Scale = "probability",
) -> list[Any]:
    """Draw the histograms of two groups."""
    histograms = []
    for i in range(2):
        style = _drawing.group_style(i) | {"zorder": 2.5}
        text = _drawing.group_text(labels[i], int(counts[i]))
        histograms.append(ax.stairs(shares[i], edges, **style, label=text))
    ax.set(
        xlabel=_drawing.SCORE_LABELS[scale],
        ylabel=f"Share of the group in each of {len(edges) - 1} bins",
        xlim=(0, 1),
    )
    return histograms
