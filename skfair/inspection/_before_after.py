"""The groups' scores before and after a mitigation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skfair._pictures._display import Display
from skfair._utils._response import check_fitted
from skfair._utils._text import number
from skfair._utils._validation import AnyScale, as_array
from skfair.inspection._display import predict_responses, score_method
from skfair.inspection._mcdp import CDFGapDisplay, find_cdfs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class BeforeAfterDisplay(Display):
    """Cumulative distributions of the groups' scores before and after a mitigation.

    Each panel marks the largest gap, and may tell a performance.

    Parameters
    ----------
    before, after : CDFGapDisplay
        The distributions; their names are the titles of the panels.
    name : str, default=None
        Begins both titles, none by default.

    Attributes
    ----------
    axes_ : ndarray of shape (2,) of matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    CDFGapDisplay : One of the panels.
    skfair.model_selection.compare_models : Whether the gap is lower beyond chance.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.inspection import BeforeAfterDisplay
    >>> from skfair.postprocessing import MADDPostProcessor
    >>> X, y = make_biased_classification(
    ...     400, score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> plain = LogisticRegression().fit(X.drop(columns="group"), y)
    >>> mitigated = MADDPostProcessor(
    ...     LogisticRegression(), sensitive_features="group", drop_sensitive=True, cv=2
    ... )
    >>> display = BeforeAfterDisplay.from_predictions(
    ...     y,
    ...     plain.predict_proba(X.drop(columns="group"))[:, 1],
    ...     mitigated.fit(X, y).predict_proba(X)[:, 1],
    ...     sensitive_features=X["group"],
    ... )
    >>> display.after.marks[0.0].value < display.before.marks[0.0].value
    True
    """

    before: CDFGapDisplay
    after: CDFGapDisplay
    name: str | None = None
    _has_panels: ClassVar[bool] = True
    _shares_y: ClassVar[bool] = True

    def _count_axes(self) -> int:
        """Count the panels."""
        return 2

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure in inches."""
        return 10.5, 4.6

    def _draw(self) -> None:
        """Draw both panels over the same range of scores."""
        panels = self.before, self.after
        for panel, ax in zip(panels, self.axes_, strict=True):
            title = str(panel.name)
            if self._title is not None:
                title = f"{self._title}, {title[0].lower()}{title[1:]}"
            panel.plot(ax, name=title)
        ends = np.array([panel.ax_.get_xlim() for panel in panels])
        for panel, ax in zip(panels, self.axes_, strict=True):
            ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())
            panel._draw_legend(may_grow=False)  # its corner may be taken now
        self.axes_[1].set_ylabel("")

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        before: ArrayLike,
        after: ArrayLike,
        *,
        sensitive_features: ArrayLike | None,
        metric: Callable[..., float] | None = None,
        scale: AnyScale = "probability",
        sample_weight: ArrayLike | None = None,
        ax: Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the scores of two models, of rows that fitted neither.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels or numbers, for `metric`.
        before, after : array-like of shape (n_samples,)
            Scores, decisions or predicted numbers of the plain model and of the
            mitigated one.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        metric : callable, default=None
            ``metric(y_true, scores)``, a performance that is told above each panel,
            such as :func:`sklearn.metrics.average_precision_score`; with a keyword
            `sample_weight` if that is given.
        scale : {"probability", "rank", "real"}, default="probability"
            As in `CDFGapDisplay.from_predictions`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        ax : sequence of two matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Begins the titles of both panels, none by default.

        Returns
        -------
        BeforeAfterDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `CDFGapDisplay.from_predictions`; also if a `metric` is given without
            `y_true`.
        """
        if metric is not None and y_true is None:
            raise ValueError("y_true must be given with a metric, got None.")
        panels = {}
        for title, scores in {"before": before, "after": after}.items():
            options: dict[str, Any] = {"sample_weight": sample_weight}
            text = title.capitalize()
            if metric is not None:
                weighted = {} if sample_weight is None else options
                value = float(metric(y_true, as_array(scores, title), **weighted))
                what = getattr(metric, "__name__", "metric").removesuffix("_score")
                text += f": {what.replace('_', ' ')} {number(value)}"
            options |= {"sensitive_features": sensitive_features, "scale": scale}
            fields = find_cdfs(None, scores, name=text, **options)
            panels[title] = CDFGapDisplay(**fields)
        return cls(**panels, name=name).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        before: Any,
        after: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: ArrayLike | None,
        scale: AnyScale = "probability",
        **options: Any,
    ) -> Self:
        """Draw the scores of two fitted models.

        Parameters
        ----------
        before, after : estimator instance
            The plain model and the mitigated one, fitted, which take the same X.
            Scores are as in `CDFGapDisplay.from_estimator`.
        X : array-like of shape (n_samples, n_features)
            Rows that fitted neither.
        y : array-like of shape (n_samples,), default=None
            True labels or numbers, for `metric`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable
            Group of each row, or the columns of X that hold it.
        scale : {"probability", "rank", "real"}, default="probability"
            As in `CDFGapDisplay.from_predictions`.
        **options : dict
            Other keywords of `from_predictions`, such as `metric`.

        Returns
        -------
        BeforeAfterDisplay

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As in `from_predictions`.
        """
        scores = []
        for estimator in (before, after):
            check_fitted(estimator)
            method = score_method(estimator, scale)
            responses, groups, _ = predict_responses(
                [(estimator, None)], X, sensitive_features, method
            )
            scores.append(responses)
        return cls.from_predictions(
            y, *scores, sensitive_features=groups, scale=scale, **options
        )
