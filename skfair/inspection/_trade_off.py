"""The candidates of a search between performance and fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skfair._utils._validation import check_integer
from skfair.inspection._style import one_axes, require_matplotlib, title
from skfair.inspection._trade_off_artists import TradeOffArtists
from skfair.model_selection import BestUnder, FairestWithin, pareto_front
from skfair.model_selection._candidates import (
    CVResults,
    defined,
    mean_scores,
    std_scores,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TradeOffDisplay:
    """Candidates of a search: how well each performs, against how unfair it is.

    Fair and good is at the upper left. The Pareto front joins the candidates that no
    other beats in both respects.

    Parameters
    ----------
    candidates : DataFrame of n_candidates rows
        Columns ``performance``, ``performance_std``, ``fairness`` and
        ``fairness_std``: mean and standard deviation over folds of the two scores,
        larger for better. The index is the position in the search.
    front : sequence of int
        Index of the candidates on the Pareto front, from the best performer on.
    performance, fairness : str
        Names of the two scores. With the prefix ``neg_``, fairness is drawn as the
        disparity of which it is the negation.
    best_index : int, default=None
        Index of the candidate chosen.
    best_params : mapping, default=None
        Its parameters, for the legend.
    least_performance : float, default=None
        From which performance on a candidate could be chosen.
    limit : float, default=None
        Largest disparity that could be chosen.
    n_hidden : int, default=0
        Number of candidates that are not drawn: without finite scores, or of earlier
        iterations of a halving search.
    name : str, default=None
        Name of the search, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    spreads_ : matplotlib ErrorbarContainer
        One standard deviation over folds, both ways, of every candidate.
    points_ : matplotlib Line2D
        The candidates beside the front.
    front_line_ : matplotlib Line2D
        The front, as the staircase that bounds what can be had.
    chosen_point_ : matplotlib Line2D or None
    tolerance_line_, limit_line_ : matplotlib Line2D or None

    See Also
    --------
    skfair.model_selection.FairestWithin : Chooses a candidate.
    skfair.model_selection.pareto_front : The front as a table.

    Examples
    --------
    >>> from skfair.inspection import TradeOffDisplay
    >>> from skfair.model_selection import FairestWithin
    >>> cv_results = {
    ...     "params": [{"C": 0.1}, {"C": 1}, {"C": 10}],
    ...     "mean_test_accuracy": [0.78, 0.80, 0.75],
    ...     "std_test_accuracy": [0.01, 0.01, 0.01],
    ...     "mean_test_neg_mcdp": [-0.10, -0.30, -0.40],
    ...     "std_test_neg_mcdp": [0.02, 0.02, 0.02],
    ... }
    >>> display = TradeOffDisplay.from_cv_results(
    ...     cv_results, rule=FairestWithin("accuracy", "neg_mcdp")
    ... )
    >>> display.best_index, list(display.front)
    (0, [1, 0])
    """

    def __init__(
        self,
        *,
        candidates: pd.DataFrame,
        front: Sequence[int],
        performance: str,
        fairness: str,
        best_index: int | None = None,
        best_params: Mapping[str, Any] | None = None,
        least_performance: float | None = None,
        limit: float | None = None,
        n_hidden: int = 0,
        name: str | None = None,
    ) -> None:
        self.candidates = candidates
        self.front = front
        self.performance = performance
        self.fairness = fairness
        self.best_index = best_index
        self.best_params = best_params
        self.least_performance = least_performance
        self.limit = limit
        self.n_hidden = n_hidden
        self.name = name

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
        TradeOffDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        self.ax_ = one_axes(ax, figsize=(9, 4.8))
        self.figure_ = self.ax_.figure
        artists = TradeOffArtists(
            self.ax_, self.candidates, self.performance, self.fairness
        )
        self.spreads_ = artists.draw_spreads()
        self.points_ = artists.draw_points(self.front)
        self.front_line_ = artists.draw_front(self.front)
        self.tolerance_line_ = artists.draw_tolerance(self.least_performance)
        self.limit_line_ = artists.draw_limit(self.limit)
        self.chosen_point_ = artists.draw_chosen(self.best_index, self.best_params)
        artists.label_axes(self.n_hidden)
        title(self.ax_, self.name if name is None else name)
        return self

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Any,
        *,
        rule: FairestWithin | BestUnder | None = None,
        performance: str | None = None,
        fairness: str | None = None,
        best_index: int | None = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the candidates of a search.

        Parameters
        ----------
        cv_results : fitted search, or dict of ndarrays or DataFrame
            A search, or its attribute ``cv_results_``.
        rule : FairestWithin or BestUnder, default=None
            Names the metrics; its choice is marked, and the line that it draws. None
            takes the `refit` of a search where that is one and nothing else is given.
        performance, fairness : str, default=None
            Names of the metrics to draw where no rule names them.
        best_index : int, default=None
            Position of the candidate to mark, in place of a rule. Without either it is
            the `best_index_` of a search, where it has one.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        TradeOffDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If a metric is not named or the search has none of that name (listing
            those it has), if no candidate has finite scores, on a rule beside names or
            a `best_index`, and on one out of range.

        Warns
        -----
        UserWarning
            As the rule does.
        """
        require_matplotlib(f"{cls.__name__}.from_cv_results")
        results: CVResults = getattr(cv_results, "cv_results_", cv_results)
        given = {
            "performance": performance,
            "fairness": fairness,
            "best_index": best_index,
        }
        rule = _find_rule(cv_results, rule, given)
        if rule is not None:
            performance, fairness = rule.performance, rule.fairness
        if performance is None or fairness is None:
            raise ValueError(
                "performance and fairness must name metrics of the search where no "
                f"rule does, got performance={performance!r}, fairness={fairness!r}."
            )
        candidates = _finite_candidates(results, performance, fairness)
        if rule is not None:
            best_index = rule(results)
        elif best_index is None:
            best_index = getattr(cv_results, "best_index_", None)
        display = cls(
            candidates=candidates,
            front=pareto_front(results, [performance, fairness]).index.tolist(),
            performance=performance,
            fairness=fairness,
            best_index=best_index,
            best_params=_params_of(results, best_index),
            n_hidden=len(mean_scores(results, performance)) - len(candidates),
            name=name,
        )
        if isinstance(rule, FairestWithin):
            display.least_performance = rule.least_performance(results)
        elif isinstance(rule, BestUnder):
            display.limit = rule.limit
        return display.plot(ax)


def _find_rule(
    search: Any, rule: FairestWithin | BestUnder | None, given: dict[str, Any]
) -> FairestWithin | BestUnder | None:
    """Rule that is given, or else that of the search, unless its task is taken."""
    taken = {name: value for name, value in given.items() if value is not None}
    if rule is None:
        refit = getattr(search, "refit", None)
        ours = isinstance(refit, (FairestWithin, BestUnder)) and not taken
        return refit if ours else None
    if not isinstance(rule, (FairestWithin, BestUnder)):
        raise ValueError(f"rule must be a FairestWithin or a BestUnder, got {rule!r}.")
    if taken:
        raise ValueError(
            f"{next(iter(taken))} must be None beside a rule, got {taken}."
        )
    return rule


def _finite_candidates(
    results: CVResults, performance: str, fairness: str
) -> pd.DataFrame:
    kept = np.flatnonzero(defined(results, performance, fairness))
    if not len(kept):
        raise ValueError(
            f"No candidate has finite scores in both {performance!r} and {fairness!r}."
        )
    columns = {
        "performance": mean_scores(results, performance),
        "performance_std": std_scores(results, performance),
        "fairness": mean_scores(results, fairness),
        "fairness_std": std_scores(results, fairness),
    }
    return pd.DataFrame(columns).iloc[kept].rename_axis("candidate")


def _params_of(results: CVResults, best_index: Any) -> dict[str, Any] | None:
    if best_index is None:
        return None
    n_candidates = len(results["params"]) if "params" in results else 0
    check_integer("best_index", best_index, 0, max(n_candidates - 1, 0) or None)
    return dict(list(results["params"])[best_index]) if n_candidates else None
