"""The groups' score histograms, and MADD for every bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skfair.inspection._histograms import draw_difference, draw_histograms
from skfair.inspection._inputs import check_comparable, estimator_scores
from skfair.inspection._madd_artists import draw_search
from skfair.inspection._madd_data import (
    bins_to_show,
    check_n_permutations,
    permuted_madd,
    shares_in_bins,
)
from skfair.inspection._style import (
    legend,
    names_text,
    require_matplotlib,
    several_axes,
    title,
)
from skfair.metrics import MADDBandwidthResult, madd_optimal_bandwidth
from skfair.metrics._inputs import grouped_scores
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MADDDisplay:
    """Histograms of two groups' scores, and MADD over the bandwidths of its search.

    With more than two groups it shows the pair with the largest MADD.

    Parameters
    ----------
    result : MADDBandwidthResult
        The search: bandwidths, their MADD, the stable interval and its mean.
    edges : array-like of shape (n_bins + 1,)
        Edges of the bins, from 0 to 1.
    shares : array-like of shape (2, n_bins)
        Share of each of the two groups in each bin.
    counts : array-like of shape (2,)
        Number of rows of the two groups.
    n_groups : int, default=2
        Number of groups from which the two come.
    null_distribution : array-like of shape (n_permutations,), default=None
        MADD under permuted groups.
    sensitive_names : sequence of str, default=()
        Names of the sensitive columns, for the title of the legend.
    name : str, default=None
        Name of the model, the title of the first axes.

    Attributes
    ----------
    axes_ : ndarray of shape (2,) of matplotlib Axes
    figure_ : matplotlib Figure
    histograms_ : list of two matplotlib StepPatch
    difference_ : matplotlib StepPatch
        The absolute difference of the histograms, whose heights add up to MADD.
    line_ : matplotlib Line2D
        MADD for each bandwidth.
    interval_ : matplotlib Patch
    h_sup_line_, madd_line_ : matplotlib Line2D
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
    >>> bool(display.result.madd > display.null_distribution.max())
    True
    """

    def __init__(
        self,
        *,
        result: MADDBandwidthResult,
        edges: ArrayLike,
        shares: ArrayLike,
        counts: ArrayLike,
        n_groups: int = 2,
        null_distribution: ArrayLike | None = None,
        sensitive_names: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        self.result = result
        self.edges = np.asarray(edges)
        self.shares = np.asarray(shares)
        self.counts = np.asarray(counts)
        self.n_groups = n_groups
        self.null_distribution = (
            None if null_distribution is None else np.asarray(null_distribution)
        )
        self.sensitive_names = sensitive_names
        self.name = name

    def plot(
        self, ax: Sequence[Axes] | None = None, *, name: str | None = None
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, default=None
            Where to draw the histograms and the search. None makes a new figure.
        name : str, default=None
            Title of the first axes. None stands for the display's own.

        Returns
        -------
        MADDDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If `ax` is not two axes.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        self.axes_ = several_axes(ax, "AB")
        self.figure_ = self.axes_[0].figure
        heading = names_text(self.sensitive_names)
        if self.n_groups > 2:
            pairs = self.n_groups * (self.n_groups - 1) // 2
            heading = (
                f"{'' if heading is None else heading + ', '}largest of {pairs} pairs"
            )
        first = self.axes_[0]
        self.histograms_ = draw_histograms(
            first, self.edges, self.shares, self.result.groups, self.counts
        )
        self.difference_ = draw_difference(first, self.edges, self.shares)
        legend(first, heading, loc="best")
        artists = draw_search(
            self.axes_[1], self.result, self.counts, self.null_distribution
        )
        self.line_, self.interval_, self.h_sup_line_, self.madd_line_ = artists[:4]
        self.null_lines_ = list(artists[4:])
        title(first, self.name if name is None else name)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any,
        n_permutations: int = 99,
        sample_weight: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        ax: Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw MADD of the scores that a classifier gives.

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
        n_permutations : int, default=99
            Permutations behind the null distribution; 0 leaves it out.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations.
        ax : sequence of two matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the first axes, the estimator's class name by default.

        Returns
        -------
        MADDDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As `from_predictions`, and if the estimator is not a binary classifier
            with `predict_proba`, or X has no such column.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        y_score, groups = estimator_scores(estimator, X, sensitive_features)
        return cls.from_predictions(
            y,
            y_score,
            sensitive_features=groups,
            n_permutations=n_permutations,
            sample_weight=sample_weight,
            random_state=random_state,
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
        y_score : array-like of shape (n_samples,), or GroupedScores
            Probabilities of the positive class, in [0, 1], or a statistic in place
            of all rows, which has none to permute: `n_permutations` must be 0.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        n_permutations : int, default=99
            Permutations behind the null distribution; 0 leaves it out.
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
            As in `skfair.metrics.madd_optimal_bandwidth`, where MADD is undefined,
            or if `n_permutations` is not a whole number that `y_score` allows.

        Notes
        -----
        Each permutation costs as much as MADD itself, which grows with the number of
        pairs of groups.
        """
        require_matplotlib(f"{cls.__name__}.from_predictions")
        check_n_permutations(n_permutations, y_score)
        statistic = grouped_scores(y_true, y_score, sensitive_features, sample_weight)
        check_comparable(statistic)
        result = madd_optimal_bandwidth(None, statistic)
        edges, shares, counts = shares_in_bins(
            statistic, result.groups, bins_to_show(result)
        )
        null = permuted_madd(
            y_score, sensitive_features, sample_weight, n_permutations, random_state
        )
        display = cls(
            result=result,
            edges=edges,
            shares=shares,
            counts=counts,
            n_groups=statistic.n_groups,
            null_distribution=null,
            sensitive_names=statistic.names,
            name=name,
        )
        return display.plot(ax)
