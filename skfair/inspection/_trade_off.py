"""The candidates of a search between performance and fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skfair._pictures import _drawing
from skfair._pictures._display import Display
from skfair._utils._validation import check_integer
from skfair.model_selection import BestUnder, FairestWithin, pareto_front
from skfair.model_selection._rules import (
    CVResults,
    compared_means,
    fairness_names,
    limits_of,
    metrics_of,
    results_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: With more candidates than this, marks and error bars are drawn finer.
_MANY = 100
_MAX_PARAMS = 6


@dataclass(kw_only=True, eq=False, repr=False)
class TradeOffDisplay(Display):
    """Performance of the candidates of a search against their disparity.

    The best candidates are at the upper left. The Pareto front joins the candidates
    that no other candidate dominates.

    Parameters
    ----------
    candidates : DataFrame of n_candidates rows
        Columns ``performance`` and ``fairness``, two scores of held-out rows of
        which larger values are better, and ``performance_std`` and ``fairness_std``,
        their standard deviations, if these are known. The index is the position in the
        search.
    front : sequence of int
        Index of the candidates on the Pareto front, from the best performer on.
    performance, fairness : str
        Names of the two scores. A fairness score with the prefix ``neg_`` is drawn as
        the disparity that it negates.
    best_index : int, default=None
        Index of the candidate chosen.
    best_params : mapping, default=None
        Its parameters, for the legend.
    min_performance : float, default=None
        Least performance with which a candidate could be chosen.
    limit : float, default=None
        Largest disparity with which a candidate could be chosen.
    n_hidden : int, default=0
        Number of candidates that are not drawn: without finite scores, or of earlier
        iterations of a halving search.
    name : str, default=None
        Name of the search, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    spreads_ : matplotlib ErrorbarContainer or None
        One standard deviation over folds on either side of every candidate. None if no
        standard deviation is known.
    points_ : matplotlib Line2D
        The candidates that are not on the front.
    front_line_ : matplotlib Line2D
        The front, as a step function: the best performance for each disparity.
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

    candidates: pd.DataFrame
    front: Sequence[int]
    performance: str
    fairness: str
    best_index: int | None = None
    best_params: Mapping[str, Any] | None = None
    min_performance: float | None = None
    limit: float | None = None
    n_hidden: int = 0
    name: str | None = None

    def _size(self) -> tuple[float, float]:
        return 6, 4.8

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        points = self.candidates[["fairness", "performance"]].set_axis(
            ["x", "y"], axis=1
        )
        if self._negated:
            points["x"] = -points["x"]
        self._draw_candidates(points)
        self.tolerance_line_, self.limit_line_ = self._draw_thresholds()
        self.chosen_point_ = self._draw_chosen(points)
        self._label_axes()
        return self.ax_

    @property
    def _negated(self) -> bool:
        """Return whether the fairness score is a negated disparity."""
        return self.fairness.startswith("neg_")

    def _draw_candidates(self, points: pd.DataFrame) -> None:
        """Draw every candidate with its standard deviations, and the Pareto front."""
        fine = len(points) > _MANY
        spreads = {
            "xerr": self.candidates.get("fairness_std"),
            "yerr": self.candidates.get("performance_std"),
        }
        self.spreads_ = None
        if any(spread is not None for spread in spreads.values()):
            width, alpha = (0.4, 0.4) if fine else (0.9, 0.7)
            look: dict[str, Any] = {"elinewidth": width, "alpha": alpha, "zorder": 1.5}
            look |= {"fmt": "none", "ecolor": _drawing.SHADE}
            text = "Standard deviation over folds"
            self.spreads_ = self.ax_.errorbar(
                points["x"], points["y"], **spreads, **look, label=text
            )
        others = points.drop(index=list(self.front))
        size, edge = (3, 0.5) if fine else (5, 1)
        style = _drawing.point_style(
            "o", _drawing.INK, size, edge, markerfacecolor="white"
        )
        text = f"Candidates not on the front ({len(others):,})"
        (self.points_,) = self.ax_.plot(
            others["x"], others["y"], **style, zorder=2, label=text
        )
        front = points.loc[list(self.front)]
        front = front.sort_values(["x", "y"], ascending=self._negated)
        # Between two points of the front, the fairer one is the best candidate.
        text, style = f"Pareto front ({len(front):,})", _drawing.group_style(0)
        look = {"drawstyle": "steps-post", "marker": "o", "zorder": 2.5}
        (self.front_line_,) = self.ax_.plot(
            front["x"], front["y"], **style, **look, markersize=size + 1, label=text
        )

    def _draw_thresholds(self) -> tuple[Line2D | None, Line2D | None]:
        """Mark the lowest performance and the largest disparity that were allowed."""
        tolerance_line = limit_line = None
        style = _drawing.mark_style(1) | {"zorder": 1.8}
        allowed = self.min_performance
        if allowed is not None and np.isfinite(allowed):
            text = f"Within the tolerance: at least {allowed:.4g}"
            tolerance_line = self.ax_.axhline(allowed, label=text, **style)
        if self.limit is not None:
            text = f"Within the limit: at most {self.limit:.4g}"
            x = self.limit if self._negated else -self.limit
            limit_line = self.ax_.axvline(x, label=text, **style)
        return tolerance_line, limit_line

    def _draw_chosen(self, points: pd.DataFrame) -> Line2D | None:
        """Mark the chosen candidate with its parameters, if it is drawn."""
        if self.best_index is None or self.best_index not in points.index:
            return None
        point = points.loc[self.best_index]
        text = "\n".join(["Chosen", *_params_lines(self.best_params or {})])
        style = _drawing.point_style(
            "D", _drawing.COLORS[1], 10, 1.2, markeredgecolor=_drawing.INK
        )
        (mark,) = self.ax_.plot(
            [point["x"]], [point["y"]], **style, zorder=3, label=text
        )
        return mark

    def _label_axes(self) -> None:
        """Label the axes; fairer is further to the left."""
        fairness = _drawing.metric_text(self.fairness.removeprefix("neg_"))
        direction = "smaller" if self._negated else "larger"
        self.ax_.set(
            xlabel=f"{fairness}, held-out rows ({direction} is fairer)",
            ylabel=f"{_drawing.metric_text(self.performance)}, held-out rows",
        )
        if not self._negated:
            self.ax_.xaxis.set_inverted(True)

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend outside the axes, since candidates leave no corner free."""
        heading = f"{len(self.candidates):,} candidates"
        if self.n_hidden:
            heading += f", {self.n_hidden:,} not drawn"
        _drawing.legend_outside(self.ax_, heading, may_grow=may_grow)

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
            Names the metrics; its choice and its threshold are marked. None takes the
            `refit` of a search if that is a rule and neither names nor a `best_index`
            are given.
        performance, fairness : str, default=None
            Names of the metrics to draw where no rule names them.
        best_index : int, default=None
            Position of the candidate to mark, in place of a rule. Without either it is
            the `best_index_` of the search, if it has one.
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
            If a metric is not named or the search has no metric of that name, if no
            candidate has finite scores, if names or a `best_index` are given beside a
            rule, and if `best_index` is out of range.

        Warns
        -----
        UserWarning
            If the rule warns, for instance that no candidate satisfies it.
        """
        results: CVResults = getattr(cv_results, "cv_results_", cv_results)
        named = {"performance": performance, "fairness": fairness}
        rule = _find_rule(cv_results, rule, **named, best_index=best_index)
        if rule is not None:
            performance, fairness = rule.performance, _single_fairness_score(rule)
        if performance is None or fairness is None:
            raise ValueError(
                "performance and fairness must name metrics of the search where no "
                f"rule does, got performance={performance!r}, fairness={fairness!r}; "
                f"it has {metrics_of(results)}."
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
            best_params=_find_params(results, best_index),
            limit=limits_of(rule)[0] if isinstance(rule, BestUnder) else None,
            n_hidden=len(results_of(results)) - len(candidates),
            name=name,
        )
        if isinstance(rule, FairestWithin):
            display.min_performance = rule.min_performance(results)
        return display.plot(ax)


def _find_rule(
    search: Any, rule: FairestWithin | BestUnder | None, **arguments: Any
) -> FairestWithin | BestUnder | None:
    """Return the rule of the caller, or the rule of the search."""
    taken = {name: value for name, value in arguments.items() if value is not None}
    if rule is None:
        refit = getattr(search, "refit", None)
        used = isinstance(refit, (FairestWithin, BestUnder)) and not taken
        return refit if used else None
    if not isinstance(rule, (FairestWithin, BestUnder)):
        raise ValueError(f"rule must be a FairestWithin or a BestUnder, got {rule!r}.")
    if taken:
        raise ValueError(
            f"{next(iter(taken))} must be None beside a rule, got {taken}."
        )
    return rule


def _single_fairness_score(rule: FairestWithin | BestUnder) -> str:
    """Return the fairness score of a rule; raise if the rule has several."""
    names = fairness_names(rule)
    if len(names) > 1:
        raise ValueError(
            f"rule has the fairness scores {names}, expected one: name performance and "
            "fairness in place of the rule."
        )
    return names[0]


def _finite_candidates(
    results: CVResults, performance: str, fairness: str
) -> pd.DataFrame:
    """Tabulate the means and standard deviations of candidates with finite means."""
    means = compared_means(results, performance, fairness)
    if means.empty:
        raise ValueError(
            f"No candidate has finite scores in both {performance!r} and {fairness!r}."
        )
    table, columns = results_of(results).loc[means.index], {}
    for column, metric in (("performance", performance), ("fairness", fairness)):
        columns[column] = means[metric]
        if f"std_test_{metric}" in table:
            columns[f"{column}_std"] = table[f"std_test_{metric}"]
    return pd.DataFrame(columns)


def _find_params(results: CVResults, best_index: Any) -> dict[str, Any] | None:
    """Return the parameters of the candidate at `best_index`, if known."""
    if best_index is None:
        return None
    n_candidates = len(results["params"]) if "params" in results else 0
    check_integer("best_index", best_index, 0, max(n_candidates - 1, 0) or None)
    return dict(list(results["params"])[best_index]) if n_candidates else None


def _params_lines(params: Mapping[str, Any]) -> list[str]:
    """Write parameters on lines, without the names of their steps if unique."""
    short = [name.rpartition("__")[2] for name in params]
    names = short if len(set(short)) == len(short) else list(params)
    values = [
        f"{value:.6g}" if isinstance(value, float) else str(value)
        for value in params.values()
    ]
    lines = [
        f"  {_drawing.short_label(name)} = {_drawing.short_label(value)}"
        for name, value in zip(names, values, strict=True)
    ]
    more = len(lines) - _MAX_PARAMS
    return lines if more <= 0 else [*lines[:_MAX_PARAMS], f"  and {more} more"]
