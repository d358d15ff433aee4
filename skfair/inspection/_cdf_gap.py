"""The groups' score distributions, and the largest gap between them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._validation import check_real
from skfair.inspection import _inputs, _style
from skfair.inspection._cdf_artists import CDFArtists, band_widths
from skfair.inspection._gap_mark import GapMark, gap_mark, step_cdf
from skfair.metrics._inputs import grouped_scores
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CDFGapDisplay:
    """Cumulative distributions of the groups' scores, with their largest gap, MCDP.

    With more than two groups each gap is marked at the pair where it is largest. With
    more than eight the marked pairs alone are coloured, the others thin and grey.

    Parameters
    ----------
    scores : sequence of n_groups ndarrays of shape (n_steps,)
        Where each group's CDF steps up, from 0 to 1.
    shares : sequence of n_groups ndarrays of shape (n_steps,)
        The CDF from each score on, from 0 to 1.
    labels : sequence of length n_groups
        Group labels.
    counts : array-like of shape (n_groups,)
        Number of rows of each group.
    marks : sequence of GapMark
        The gaps to mark: MCDP(0), and MCDP(epsilon) if wanted.
    effective_sizes : array-like of shape (n_groups,), default=None
        Row numbers behind the confidence bands, nan if unknown; None is `counts`.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, the title of the legend.
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
    >>> [round(mark.value, 2) for mark in display.marks]
    [0.57, 0.53]
    """

    def __init__(
        self,
        *,
        scores: Sequence[NDArray[np.float64]],
        shares: Sequence[NDArray[np.float64]],
        labels: Sequence[Hashable],
        counts: ArrayLike,
        marks: Sequence[GapMark],
        effective_sizes: ArrayLike | None = None,
        sensitive_names: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        self.scores = scores
        self.shares = shares
        self.labels = labels
        self.counts = np.asarray(counts)
        self.marks = marks
        sizes = counts if effective_sizes is None else effective_sizes
        self.effective_sizes = np.asarray(sizes, dtype=np.float64)
        self.sensitive_names = sensitive_names
        self.name = name

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
            On a `confidence_level` out of range, or without effective group sizes.

        Notes
        -----
        The half-width of a band is ``sqrt(log(2 / (1 - confidence_level)) / (2 n))``
        (Dvoretzky, Kiefer, Wolfowitz; Massart): it covers the whole CDF of one group,
        at any size. Under sample weights n is Kish's effective size, and the level is
        approximate.
        """
        _style.require_matplotlib(f"{type(self).__name__}.plot")
        sizes = widths = None
        if confidence_level is not None:
            sizes = self.effective_sizes
            widths = band_widths(sizes, confidence_level)
        self.ax_ = _style.one_axes(ax)
        self.figure_ = self.ax_.figure
        cdfs = list(zip(self.scores, self.shares, strict=True))
        artists = CDFArtists(self.ax_, cdfs, self.labels, self.counts, self.marks)
        self.lines_ = artists.draw_cdfs(sizes)
        self.bands_ = self.gap_area_ = None
        if widths is None:
            self.gap_area_ = artists.draw_gap_area()
        else:
            self.bands_ = artists.draw_bands(widths, confidence_level)
        self.mark_lines_, self.windows_ = artists.draw_marks()
        artists.label_axes()
        _style.title(self.ax_, self.name if name is None else name)
        heading = _style.names_text(self.sensitive_names)
        artists.draw_legend(heading, may_widen=ax is None)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any,
        epsilon: float = 0.0,
        confidence_level: float | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the scores that a classifier gives.

        Parameters
        ----------
        estimator : estimator instance
            Fitted binary classifier with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,), default=None
            Ignored. If given it must be binary and of the right length.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable
            Group of each row, or which columns of X say it: a str, an int, a callable
            of X, or a list of str or int that has not n_samples entries.
        epsilon : float in [0, 0.5], default=0.0
            Half window of a second mark; 0 marks MCDP(0) alone.
        confidence_level : float in (0, 1), default=None
            Level of a confidence band around each CDF, none by default.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, the estimator's class name by default.

        Returns
        -------
        CDFGapDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As `from_predictions`, and if the estimator is not a binary classifier
            with `predict_proba`, or X has no such column.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skfair.datasets import make_biased_classification
        >>> X, y = make_biased_classification(
        ...     group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
        ... )
        >>> model = LogisticRegression().fit(X, y)
        >>> display = CDFGapDisplay.from_estimator(model, X, sensitive_features="sex")
        >>> display.ax_.get_title()
        'LogisticRegression'
        """
        _style.require_matplotlib(f"{cls.__name__}.from_estimator")
        y_score, groups = _inputs.estimator_scores(estimator, X, sensitive_features)
        return cls.from_predictions(
            y,
            y_score,
            sensitive_features=groups,
            epsilon=epsilon,
            confidence_level=confidence_level,
            sample_weight=sample_weight,
            ax=ax,
            name=type(estimator).__name__ if name is None else name,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | GroupedScores,
        *,
        sensitive_features: Any = None,
        epsilon: float = 0.0,
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
        y_score : array-like of shape (n_samples,), or GroupedScores
            Probabilities of the positive class, in [0, 1], or a statistic in place
            of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        epsilon, confidence_level, sample_weight, ax
            As in `from_estimator`.
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
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        epsilons = sorted({0.0, check_real("epsilon", epsilon, 0, 0.5)})
        statistic = grouped_scores(y_true, y_score, sensitive_features, sample_weight)
        _inputs.check_comparable(statistic)
        cdfs = (step_cdf(statistic, group) for group in range(statistic.n_groups))
        scores, shares = zip(*cdfs, strict=True)
        display = cls(
            scores=scores,
            shares=shares,
            labels=statistic.labels,
            counts=statistic.counts,
            marks=[gap_mark(statistic, epsilon) for epsilon in epsilons],
            effective_sizes=_inputs.effective_sizes(
                statistic, sensitive_features, sample_weight
            ),
            sensitive_names=statistic.names,
            name=name,
        )
        return display.plot(ax, confidence_level=confidence_level)
