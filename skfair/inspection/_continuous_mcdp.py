"""MCDP at every cut point of an attribute that is a number."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._types import Floats
from skfair._utils._validation import Scale, as_array
from skfair.groups import resolve_groups
from skfair.inspection import _inputs, _layout, _style
from skfair.inspection._display import Display
from skfair.metrics import (
    ContinuousMCDPResult,
    continuous_mcdp,
    continuous_mcdp_cuts,
)
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContinuousMCDPDisplay(Display):
    """Gap between the rows at most at a cut point and those above it, by cut point.

    Parameters
    ----------
    result : ContinuousMCDPResult
        The gap at each cut point, and the largest.
    epsilon : float, default=0
        Half the length of the window of MCDP.
    null_distribution : ndarray of shape (n_permutations,), default=None
        Largest gap over all cut points for each permutation of the attribute.
    sensitive_names : sequence of str, default=()
        Name of the attribute, where known.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The gap at each cut point, which holds up to the next.
    mark_ : matplotlib Line2D
        The largest gap.
    null_line_ : matplotlib Line2D or None
        95 % quantile of the null distribution.

    See Also
    --------
    skfair.metrics.continuous_mcdp_cuts : The numbers behind the picture.
    MCDPCurveDisplay : MCDP of groups, by epsilon.

    Examples
    --------
    >>> from skfair.inspection import ContinuousMCDPDisplay
    >>> display = ContinuousMCDPDisplay.from_predictions(
    ...     None, [0.2, 0.1, 0.9, 0.8], sensitive_features=[23, 31, 47, 59]
    ... )
    >>> display.mark_.get_label()
    'Largest: 1.000 at 31 (n = 2 at most, 2 above)'
    """

    result: ContinuousMCDPResult
    epsilon: float = 0.0
    null_distribution: Floats | None = None
    sensitive_names: tuple[str, ...] = ()
    name: str | None = None

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes. None stands for the display's own.

        Returns
        -------
        ContinuousMCDPDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self._begin(ax)
        result = self.result
        (self.line_,) = self.ax_.plot(
            result.cuts,
            result.values,
            drawstyle="steps-post",
            label="Rows at most at the cut and rows above it",
            **_style.group_style(0),
        )
        sizes = f"n = {result.n_at_most:,} at most, {result.n_above:,} above"
        (self.mark_,) = self.ax_.plot(
            [result.cut],
            [result.value],
            marker="o",
            linestyle="none",
            color=_style.INK,
            label=f"Largest: {result.value:.3f} at {result.cut:.6g} ({sizes})",
        )
        self.null_line_, highest = None, result.value
        if self.null_distribution is not None:
            quantile = float(np.quantile(self.null_distribution, 0.95))
            highest = max(highest, quantile)
            times = f"Permuted {len(self.null_distribution):,} times"
            self.null_line_ = self.ax_.axhline(
                quantile,
                color=_style.COLORS[4],
                linestyle=_style.LINE_STYLES[3],
                linewidth=1.5,
                label=f"{times}: 0.95 quantile of the largest {quantile:.3f}",
            )
        attribute = _style.names_text(self.sensitive_names) or "the attribute"
        self.ax_.set(
            xlabel=f"Cut point of {attribute}",
            ylabel=f"MCDP({self.epsilon:g}) at the cut (0 to 1)",
        )
        self._write_title(self.ax_, name)
        _layout.legend_above_data(self.ax_, None, max(highest, 0.01), 1.1)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any,
        control_features: Any = None,
        epsilon: float = 0.0,
        min_share: float = 0.05,
        n_permutations: int = 0,
        scale: Scale = "probability",
        sample_weight: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the gap of the scores of a fitted classifier, by cut point.

        Parameters
        ----------
        estimator : estimator instance
            Fitted binary classifier with `predict_proba`. With ``scale="rank"`` also
            one with `decision_function`, or an estimator that is no classifier.
        X : array-like of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,), default=None
            Ignored. If given it must be binary and of the right length.
        sensitive_features : array-like of shape (n_samples,), str, int or callable
            The attribute, or the column of X that holds it.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable, default=None
            Stratum of each row, or the columns of X that hold it. The stratum with the
            largest gap is drawn, and named.
        epsilon : float in [0, 0.5], default=0.0
            Half the length of the window.
        min_share : float in [0, 0.5], default=0.05
            Least share of the rows on either side of a cut point.
        n_permutations : int, default=0
            Number of permutations for the null distribution; 0 leaves it out.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` draws the ranks of scores that are no probabilities, as in
            `skfair.metrics.continuous_mcdp`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, the estimator's class name by default.

        Returns
        -------
        ContinuousMCDPDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As in `from_predictions`; also if the estimator is not a binary classifier
            with `predict_proba` (or what `scale` takes), or X lacks a named column.
        """
        return cls._draw_estimator(
            estimator,
            X,
            y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            name=name,
            epsilon=epsilon,
            min_share=min_share,
            n_permutations=n_permutations,
            scale=scale,
            sample_weight=sample_weight,
            random_state=random_state,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike | GroupedScores,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        epsilon: float = 0.0,
        min_share: float = 0.05,
        n_permutations: int = 0,
        scale: Scale = "probability",
        sample_weight: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the gap of given scores, by cut point.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            Ignored. If given it must be binary and of the right length.
        y_score : array-like of shape (n_samples,), or GroupedScores
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"``; or a statistic in place of all rows; `n_permutations` must
            then be 0.
        sensitive_features : array-like of shape (n_samples,)
            The attribute, as in `skfair.metrics.continuous_mcdp`.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, such as its true label. The stratum with the largest
            gap is drawn, and named; permutations are of its rows, and do not account
            for the choice, as `skfair.metrics.permutation_test` does.
        epsilon : float in [0, 0.5], default=0.0
            Half the length of the window.
        min_share : float in [0, 0.5], default=0.05
            Least share of the rows on either side of a cut point.
        n_permutations : int, default=0
            Number of permutations for the null distribution; 0 leaves it out.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` draws the ranks of scores that are no probabilities, as in
            `skfair.metrics.continuous_mcdp`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        ContinuousMCDPDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `skfair.metrics.continuous_mcdp`, where that is undefined, and if
            `n_permutations` is not 0 beside a statistic.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        options: dict[str, Any] = {
            "epsilon": epsilon,
            "min_share": min_share,
            "scale": scale,
        }
        metric = partial(continuous_mcdp, **options)
        rows = y_true, y_score, sensitive_features, sample_weight
        rows, name = _inputs.stratum_of_largest(metric, rows, control_features, name)
        y_true, y_score, sensitive_features, sample_weight = rows
        if isinstance(y_score, GroupedScores):
            names = y_score.names
        else:
            n_samples = len(as_array(y_score, "y_score"))
            sensitive_features = resolve_groups(sensitive_features, n_samples=n_samples)
            names = sensitive_features.names
        options["sample_weight"] = sample_weight
        result = _cuts_of(
            y_true, y_score, sensitive_features=sensitive_features, **options
        )
        rows = y_true, y_score, sensitive_features, sample_weight
        null = _inputs.permuted_values(metric, rows, n_permutations, random_state)
        display = cls(
            result=result,
            epsilon=float(epsilon),
            null_distribution=null,
            sensitive_names=names,
            name=name,
        )
        return display.plot(ax)


def _cuts_of(*arguments: Any, **options: Any) -> ContinuousMCDPResult:
    """Return the gap at each cut point; raise ValueError where all are undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UndefinedMetricWarning)
        try:
            return continuous_mcdp_cuts(*arguments, **options)
        except UndefinedMetricWarning as reason:
            raise ValueError(f"There is nothing to draw: {reason}") from None
