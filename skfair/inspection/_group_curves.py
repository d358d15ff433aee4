"""A curve of each group: ROC, precision-recall, calibration with and without bins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer, precision_recall_curve, roc_curve

from skfair._pictures import _drawing
from skfair._rows import read_arrays
from skfair._utils._arrays import Bools, Floats, quotients
from skfair._utils._text import interval, number
from skfair._utils._validation import (
    AnyScale,
    as_array,
    check_choice,
    check_numbers,
    check_scores,
    check_weights,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import Groups, resolve_groups
from skfair.inspection._display import PredictionsDisplay
from skfair.metrics import group_metrics
from skfair.metrics._calibration_gap import CalibrationGap, largest_curve_gap
from skfair.metrics._inputs import positive_rows
from skfair.metrics._quantiles import supremum_quantile
from skfair.metrics._rate_intervals import clopper_pearson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["roc", "precision_recall", "calibration", "calibration_gap"]
#: Values of x at which bands are computed.
_GRID = np.linspace(0, 1, 201)
#: Bins of a calibration curve, of equally many rows.
_N_BINS = 10
_COLUMNS = ["x", "y", "lower", "upper"]
#: Labels of the axes, and what the number in the legend is.
_TEXTS = {
    "roc": ("False positive rate", "True positive rate", "Area under the curve"),
    "precision_recall": ("Recall", "Precision", "Average precision"),
    "calibration": (
        "Predicted probability",
        "Share of positives",
        "Share of positives minus mean score",
    ),
    "calibration_gap": (
        "Predicted probability",
        "Outcomes minus scores, up to the score",
        "Share of positives minus mean score",
    ),
}


@dataclass(kw_only=True, eq=False, repr=False)
class GroupCurveDisplay(PredictionsDisplay):
    """ROC, precision-recall or calibration curve of each group, with bands.

    The legend has the area under each curve with its interval. With more than eight
    groups only the two with the smallest and the largest area are coloured.

    The curves of the calibration gap need no bins. The curve of a group rises where its
    outcomes are more frequent than its scores say, and falls where they are less
    frequent; with calibrated scores it stays near 0. The largest difference of two
    curves is the gap, and is marked.

    Parameters
    ----------
    kind : {"roc", "precision_recall", "calibration", "calibration_gap"}
        Which curve.
    curves : sequence of n_groups DataFrames
        Points of the curve of each group, with the columns ``x`` and ``y``; without
        rows where a group has no curve.
    bands : sequence of n_groups DataFrames, default=None
        Bands of the curves, with the columns ``x``, ``lower`` and ``upper``.
    areas : DataFrame of n_groups rows
        Area under each curve, ``value``, with the ends of its interval, ``lower`` and
        ``upper``, and the number of rows of the group, ``n``. For a calibration curve
        the share of positives minus the mean score.
    labels : sequence of length n_groups
        Group labels.
    gap : tuple of two floats, default=None
        The calibration gap, and the first score at which two curves differ by it.
    confidence_level : float or None, default=0.95
        Level of the bands and of the intervals.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, for the title of the legend.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of n_groups matplotlib Line2D
        The curves.
    bands_ : list of matplotlib PolyCollection
        The bands of the coloured curves; empty without a level.
    reference_line_ : matplotlib Line2D or None
        No skill, or perfect calibration.
    gap_line_ : matplotlib Line2D or None
        A vertical line as long as the calibration gap.

    See Also
    --------
    skfair.metrics.abroca : The area between two ROC curves.
    skfair.metrics.calibration_gap : The largest difference without bins.
    skfair.metrics.group_metrics : Any metrics by group.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import GroupCurveDisplay
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> display = GroupCurveDisplay.from_predictions(
    ...     y_true, y_score, sensitive_features=group, kind="roc",
    ...     n_resamples=9, random_state=0,
    ... )
    >>> display.areas["value"].round(2).tolist()
    [0.71, 0.57]
    """

    kind: Kind
    curves: Sequence[pd.DataFrame]
    bands: Sequence[pd.DataFrame] | None = None
    areas: pd.DataFrame
    labels: Sequence[Hashable]
    gap: tuple[float, float] | None = None
    confidence_level: float | None = 0.95
    sensitive_names: Sequence[str] = ()
    name: str | None = None
    _compares_labels: ClassVar[bool] = True

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        values = self._heights() if self.gap else self.areas["value"].to_numpy()
        coloured = list(range(len(values)))
        if len(values) > _drawing.MAX_GROUPS:
            coloured = [int(np.nanargmin(values)), int(np.nanargmax(values))]
        self.reference_line_ = self._draw_reference()
        curves = [(curve["x"], curve["y"]) for curve in self.curves]
        texts = [self._legend_text(group) for group in range(len(curves))]
        self.lines_ = _drawing.draw_group_lines(
            self.ax_,
            curves,
            texts,
            self.areas["n"].to_numpy(),
            coloured,
            **_LOOKS[self.kind],
        )
        self.bands_ = self._draw_bands(coloured)
        self.gap_line_ = self._draw_gap()
        xlabel, ylabel, _ = _TEXTS[self.kind]
        self.ax_.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, 1))
        if self.kind != "calibration_gap":
            self.ax_.set_ylim(0, 1.01)
        return self.ax_

    def _draw_reference(self) -> Any:
        """Draw the line of no skill, or of calibrated scores."""
        if self.kind == "precision_recall":
            return None
        text = "No skill" if self.kind == "roc" else "Calibrated"
        style = _drawing.mark_style(2, _drawing.SHADE, 1.5)
        heights = [0, 0] if self.kind == "calibration_gap" else [0, 1]
        return self.ax_.plot([0, 1], heights, **style, label=text)[0]

    def _draw_bands(self, coloured: list[int]) -> list[Any]:
        """Draw the bands of the coloured curves, with one entry in the legend."""
        bands: list[Any] = []
        for position, group in enumerate(coloured if self.bands is not None else []):
            band = self.bands[group]  # type: ignore[index]
            text = f"{self.confidence_level:.4g} band, each group alone"
            ends = band["x"], band["lower"], band["upper"]
            look = _drawing.band_style(position, 0.15)
            look |= {"label": None if position else text}
            bands.append(self.ax_.fill_between(*ends, **look))
        return bands

    def _heights(self) -> Floats:
        """Return the heights of the curves at the score of the calibration gap."""
        assert self.gap is not None
        score = 1.0 if np.isnan(self.gap[1]) else self.gap[1]  # a gap of 0
        at = [curve["y"][curve["x"] <= score].iloc[-1] for curve in self.curves]
        return np.array(at)

    def _draw_gap(self) -> Any:
        """Draw the calibration gap as a line between two curves."""
        if self.gap is None or np.isnan(self.gap[1]):
            return None
        (value, score), heights = self.gap, self._heights()
        text = f"Largest gap {value:.3f} at the score {score:.4g}"
        look: dict[str, Any] = {"color": _drawing.INK, "marker": "_", "zorder": 3}
        ends = [heights.min(), heights.max()]
        return self.ax_.plot([score] * 2, ends, **look, label=text)[0]

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend with the areas."""
        heading = [_drawing.names_text(self.sensitive_names), _TEXTS[self.kind][2]]
        if self.confidence_level is not None:
            heading[1] = f"{heading[1]}, {self.confidence_level:.4g} interval"
        text = "\n".join(line for line in heading if line)
        _drawing.legend_outside(self.ax_, text, may_grow=may_grow)

    def _legend_text(self, group: int) -> str:
        """Return the legend entry of a group: rows, and area with its interval."""
        area = self.areas.iloc[group]
        text = _drawing.group_text(self.labels[group], int(area["n"]))
        if np.isnan(area["value"]):
            return f"{text}: no curve"
        text += f": {number(area['value'])}"
        if np.isnan(area["lower"]):
            return text
        return f"{text} ({interval(area['lower'], area['upper'])})"

    @classmethod
    def _scale(cls, options: dict[str, Any]) -> AnyScale:
        """Return the scale of scores: only calibration needs probabilities."""
        needed = str(options.get("kind")).startswith("calibration")
        return "probability" if needed else "rank"

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        sensitive_features: ArrayLike | None,
        kind: Kind = "roc",
        pos_label: Hashable = None,
        confidence_level: float | None = 0.95,
        n_resamples: int = 199,
        sample_weight: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the curves of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_score : array-like of shape (n_samples,)
            Scores, any finite numbers that are larger for the positive class; for
            calibration its probabilities.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        kind : {"roc", "precision_recall", "calibration", "calibration_gap"}, \
default="roc"
            Which curve. A calibration curve has ten bins of equally many rows; the
            calibration gap needs none.
        pos_label : int, float, bool or str, default=None
            Label of the positive class. None stands for 1 where labels are 0 and 1 or
            -1 and 1.
        confidence_level : float in (0, 1) or None, default=0.95
            Level of the bands and of the intervals of the areas; None draws none.
        n_resamples : int, default=199
            Number of bootstrap resamples for the intervals of the areas.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        random_state : int, RandomState instance or None, default=None
            Seed of the resamples.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        GroupCurveDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            On scores that are not finite, or no probabilities where these are needed,
            on more than two labels, and if no group has a curve.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If a group has no curve, since it has rows of one class only.

        Notes
        -----
        A band covers the whole curve of one group with probability `confidence_level`,
        at any size of the group; under sample weights it is approximate. Those of ROC
        curves come from bands of both classes' cumulative distributions (Dvoretzky,
        Kiefer, Wolfowitz; Massart); precision also from the exact interval of the share
        of positives, and a calibration curve from those of its bins. Intervals of areas
        are those of `skfair.metrics.group_metrics`.
        """
        warn_if_reordered(
            y_true=y_true,
            y_score=y_score,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        check_choice("kind", kind, get_args(Kind))
        calibrates = kind.startswith("calibration")
        scores = (check_scores if calibrates else check_numbers)(y_score, "y_score")
        true = as_array(y_true, "y_true", len(scores))
        positive = positive_rows(true, "y_true", pos_label)
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        weights = check_weights(sample_weight, len(scores))
        rows = positive, scores, groups, weights
        gap, bands = None, None
        if kind == "calibration_gap":
            curves, gap = _cumulative(*rows)
        else:
            curves, bands = _compute_curves(kind, *rows, confidence_level or 0.95)
        options = confidence_level, n_resamples, random_state
        areas = _measure_areas(kind, *rows, *options)
        without = [curve.empty for curve in curves]
        areas.loc[without, ["value", "lower", "upper"]] = np.nan
        if areas["value"].isna().all():
            raise ValueError(
                f"There is nothing to draw: none of the groups {list(groups.labels)} "
                "has rows of both classes."
            )
        display = cls(
            kind=kind,
            curves=curves,
            bands=None if confidence_level is None else bands,
            areas=areas,
            labels=groups.labels,
            gap=gap,
            confidence_level=confidence_level,
            sensitive_names=groups.names,
            name=name,
        )
        return display.plot(ax)


def _measure_areas(
    kind: Kind,
    positive: Bools,
    scores: Floats,
    groups: Groups,
    weights: NDArray[Any] | None,
    confidence_level: float | None,
    n_resamples: int,
    random_state: int | np.random.RandomState | None,
) -> pd.DataFrame:
    """Return the area under the curve of each group, with its interval."""
    result = group_metrics(
        {kind: _MEASURES[kind]},
        positive.astype(int),
        None,
        y_score=scores,
        sensitive_features=groups,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        sample_weight=weights,
        random_state=random_state,
    )
    return result.groups[["value", "lower", "upper", "n"]]


def _compute_curves(
    kind: Kind,
    positive: Bools,
    scores: Floats,
    groups: Groups,
    weights: NDArray[Any] | None,
    confidence_level: float,
) -> tuple[list[pd.DataFrame], list[pd.DataFrame]]:
    """Return the curve and band of each group, empty if a class has no rows."""
    counted = np.ones(len(scores)) if weights is None else weights.astype(float)
    curves, bands = [], []
    for code in range(len(groups.labels)):
        rows = (groups.codes == code) & (counted > 0)
        curve = band = pd.DataFrame(columns=_COLUMNS, dtype=float)
        if len(np.unique(positive[rows])) >= (1 if kind == "calibration" else 2):
            parts = positive[rows], scores[rows], counted[rows]
            curve, band = _CURVES[kind](*parts, confidence_level)
        curves.append(curve)
        bands.append(band)
    return curves, bands


def _cumulative(
    positive: Bools, scores: Floats, groups: Groups, weights: NDArray[Any] | None
) -> tuple[list[pd.DataFrame], tuple[float, float]]:
    """Return the calibration curve of each group, and their largest gap."""
    rows = read_arrays(
        positive.astype(int), scores, groups, sample_weight=weights, name="y_score"
    )
    metric = CalibrationGap()
    statistic = metric.collect_part(metric.check(rows))
    reason, _ = metric.why_undefined(statistic)
    if reason:
        raise ValueError(f"There is nothing to draw: {reason}.")
    parts, heights = zip(*statistic.curves(), strict=True)
    x = np.concatenate([[0.0], *parts, [1.0]])
    value, score, _ = largest_curve_gap(statistic)
    curves = [
        pd.DataFrame({"x": x, "y": np.concatenate([[0.0], y, y[-1:]])})
        for y in np.concatenate(heights, axis=1)
    ]
    return curves, (value, score)


def _positives_minus_scores(
    y_true: NDArray[Any], y_score: Floats, sample_weight: Floats | None = None
) -> float:
    """Return the share of positives minus the mean score."""
    return float(np.average(y_true - y_score, weights=sample_weight))


_MEASURES: dict[str, Any] = {
    "roc": "roc_auc_score",
    "precision_recall": "average_precision_score",
}
_MEASURES["calibration"] = _MEASURES["calibration_gap"] = make_scorer(
    _positives_minus_scores, response_method="predict_proba"
)
#: How the line of each curve is drawn.
_LOOKS: dict[str, dict[str, Any]] = {
    "roc": {},
    "precision_recall": {"drawstyle": "steps-post"},
    "calibration": {"marker": "o", "markersize": 4},
    "calibration_gap": {"drawstyle": "steps-post"},
}


def _roc(
    positive: Bools, scores: Floats, weights: Floats, confidence_level: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ROC curve of a group, and its band.

    At each threshold, the true and false positive rates differ from the observed rates
    by at most the half-widths of the bands of their distributions.
    """
    x, y, _ = roc_curve(positive, scores, sample_weight=weights)
    curve = pd.DataFrame({"x": x, "y": y})
    across, up = _half_widths(positive, weights, confidence_level ** (1 / 2))
    band = {
        "lower": y[np.searchsorted(x, _GRID - across - 1e-12)] - up,
        "upper": y[np.searchsorted(x, _GRID + across + 1e-12, side="right") - 1] + up,
    }
    return curve, pd.DataFrame({"x": _GRID} | band).clip(0, 1)


def _precision_recall(
    positive: Bools, scores: Floats, weights: Floats, confidence_level: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the precision-recall curve of a group, and its band.

    Precision follows from recall, the false positive rate and the share of positives.
    """
    precision, recall, _ = precision_recall_curve(
        positive, scores, sample_weight=weights
    )
    curve = pd.DataFrame({"x": recall[::-1], "y": precision[::-1]})
    part_level = confidence_level ** (1 / 3)
    negative_width, positive_width = _half_widths(positive, weights, part_level)
    x, y, _ = roc_curve(
        positive, scores, sample_weight=weights, drop_intermediate=False
    )
    fewest = x[np.searchsorted(y, _GRID - positive_width - 1e-12)] - negative_width
    last = np.searchsorted(y, _GRID + positive_width + 1e-12, side="right") - 1
    most = x[last] + negative_width
    size = np.array(_effective_size(weights))
    share = np.average(positive, weights=weights)
    low, high = clopper_pearson(share * size, size, (1 - part_level) / 2)
    band = {"lower": _precision(low, most), "upper": _precision(high, fewest)}
    return curve, pd.DataFrame({"x": _GRID} | band)


def _precision(share: Any, false_positive_rates: Floats) -> Floats:
    """Return the precision at each recall of the grid."""
    true = share * _GRID
    false = (1 - share) * np.clip(false_positive_rates, 0, 1)
    return quotients(true, true + false, otherwise=1.0)


def _calibration(
    positive: Bools, scores: Floats, weights: Floats, confidence_level: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the share of positives by bins of the score, with intervals."""
    probabilities = np.arange(1, _N_BINS) / _N_BINS
    edges = np.unique(np.quantile(scores, probabilities, method="inverted_cdf"))
    bins = np.unique(np.searchsorted(edges, scores), return_inverse=True)[1]
    totals = np.bincount(bins, weights)
    shares = np.bincount(bins, weights * positive) / totals
    x = np.bincount(bins, weights * scores) / totals
    curve = pd.DataFrame({"x": x, "y": shares})
    sizes = totals**2 / np.bincount(bins, weights**2)
    tail = (1 - confidence_level) / 2 / len(totals)
    lower, upper = clopper_pearson(shares * sizes, sizes, tail)
    return curve, pd.DataFrame({"x": x, "lower": lower, "upper": upper})


_CURVES = {
    "roc": _roc,
    "precision_recall": _precision_recall,
    "calibration": _calibration,
}


def _half_widths(
    positive: Bools, weights: Floats, confidence_level: float
) -> tuple[float, float]:
    """Return half-widths of the bands of negatives' and positives' scores."""
    sizes = [_effective_size(weights[in_class]) for in_class in (~positive, positive)]
    negatives, positives = supremum_quantile(1 - confidence_level) / np.sqrt(sizes)
    return float(negatives), float(positives)


def _effective_size(weights: Floats) -> float:
    """Return Kish's effective number of rows."""
    return float(weights.sum() ** 2 / (weights**2).sum())
