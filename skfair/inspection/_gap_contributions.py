"""Shapley contributions of features to the gap between two groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from skfair._utils._columns import open_frame, positions_of
from skfair._utils._response import asked_of, respond
from skfair._utils._results import TableResult
from skfair._utils._text import shown
from skfair._utils._types import Bools, Floats, Integers
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_real,
    check_scores,
    check_weights,
)
from skfair.groups import Groups
from skfair.inspection import _layout, _style
from skfair.inspection._display import Display
from skfair.inspection._inputs import estimator_response
from skfair.metrics._distribution._gap import grouped_scores
from skfair.metrics._distribution._mcdp import largest_sustained_gap
from skfair.metrics._uncertainty._resampling import check_seed
from skfair.metrics._undefined import warn_if_undefined

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ENDS = ("", "_lower", "_upper")


@dataclass(frozen=True, eq=False)
class GapContributionsResult(TableResult):
    """Result of `gap_contributions`; ``print(result)`` shows the table.

    Attributes
    ----------
    value : float
        The gap in decisions, MCDP(0): by how much the share of scores above `threshold`
        is larger in the first group of `groups` than in the second.
    threshold : float
        The score at which the shares differ most.
    mean_difference : float
        Mean score of the first group minus that of the second.
    groups : tuple of two labels
        The two groups that differ most, the one with more scores above first.
    table : DataFrame
        One row for each feature, the largest contribution to `value` first:
        ``decisions``, whose sum is `value`, and ``means``, whose sum is
        `mean_difference`, each with the ends of its interval.
    confidence_level : float
    n_calls : int
        Number of predictions of all rows that were made.
    """

    value: float
    threshold: float
    mean_difference: float
    groups: tuple[Hashable, Hashable]
    table: pd.DataFrame = field(repr=False)
    confidence_level: float
    n_calls: int = field(repr=False)


def gap_contributions(
    estimator: Any,
    X: Any,
    *,
    sensitive_features: Any,
    feature_groups: Mapping[str, Sequence[Any]] | None = None,
    n_permutations: int = 10,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> GapContributionsResult:
    """Divide the gap of a model's scores among its features, by Shapley values.

    Two gaps are divided, between the two groups that differ most: that of decisions at
    the threshold where MCDP(0) is attained, and the difference of mean scores. The
    contributions of all features add up to each gap.

    It says through which features *this model* gives the groups different scores, not
    why the groups differ, and not what another model would do: without a feature a
    model that is trained again uses its proxies. Features that go together share the
    credit by how the model uses them, which may be arbitrary. Features of other people
    are put beside the own ones, so that the model is asked about people who may not
    exist. A contribution is no verdict on a feature.

    Parameters
    ----------
    estimator : classifier
        Fitted binary classifier with `predict_proba`, which must depend on X alone.
    X : array-like or dataframe of shape (n_samples, n_features)
        Input values, not sparse.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
str, int, list of str, list of int, or callable
        Group of each row, or the columns of X that hold it.
    feature_groups : dict of name -> list of columns, default=None
        Columns that are exchanged together and share one contribution, such as the
        indicators of a category. Every other column stands for itself.
    n_permutations : int, default=10
        Number of orders of the features for each row, an even number, since each is
        used in both directions. The number of predictions of all rows is 1 and
        `n_permutations` times the number of features less 1.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals, each for itself.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders and of the other people.

    Returns
    -------
    GapContributionsResult
        With nan in place of numbers where groups cannot be compared.

    Raises
    ------
    ValueError
        If `feature_groups` name a column twice or one that X does not have, if the
        estimator has no probabilities of two classes or takes groups at prediction, and
        on lengths that differ or parameters out of range.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    explained_gap : The part of a gap that goes with columns, of any scores.
    GapContributionsDisplay : Draws the result.
    sklearn.inspection.permutation_importance : By how much a disparity falls if one
        column is shuffled.

    Notes
    -----
    With :math:`f` the decision or the score, and :math:`B` another row of the sample,
    the value of a set of features is :math:`v(S)`, the difference between the groups of
    the means of :math:`f(x_S, B_{-S})`. No features tell no groups apart, so that
    :math:`v(\\emptyset) = 0`. For each row an order of the features and another row are
    drawn, whose values are replaced by the row's own one after the other, in this order
    and in the reverse. Other rows are drawn evenly over everyone's scores. By how much
    those of the two groups still differ, a row's share at most, is divided evenly among
    the features, so that the sum is exact.

    Intervals are normal: they count the noise of rows, of orders and of other rows. The
    threshold is taken as given, and so is the sample that other rows are drawn from.

    References
    ----------
    .. [1] Strumbelj, Kononenko. "Explaining Prediction Models and Individual
       Predictions with Feature Contributions". Knowledge and Information Systems 41,
       2014.
    .. [2] Lundberg, Lee. "A Unified Approach to Interpreting Model Predictions".
       NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.inspection import gap_contributions
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([rng.normal(group), rng.normal(size=1000)])
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 0.5
    >>> model = LogisticRegression().fit(X, y)
    >>> result = gap_contributions(
    ...     model, X, sensitive_features=group, random_state=0
    ... )
    >>> result.table["decisions"].round(1).to_dict()
    {'column 0': 0.3, 'column 1': 0.0}
    >>> bool(np.isclose(result.table["decisions"].sum(), result.value))
    True
    """
    n_permutations = check_integer("n_permutations", n_permutations, 2)
    if n_permutations % 2:
        raise ValueError(f"n_permutations must be even, got {n_permutations}.")
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    X = X if hasattr(X, "shape") else np.asarray(X)
    response, groups, _ = estimator_response(estimator, X, sensitive_features)
    if asked_of(estimator, "predict_proba", {"sensitive_features": groups}):
        raise ValueError(
            f"{type(estimator).__name__} takes sensitive_features at prediction, "
            "expected a model that depends on X alone: the group itself would carry a "
            "part of the gap that belongs to no feature."
        )
    scores = check_scores(response)
    features = _features(X, feature_groups)
    weights = check_weights(sample_weight, len(scores))
    weights = np.ones(len(scores)) if weights is None else weights.astype(np.float64)
    statistic = grouped_scores(None, scores, groups, sample_weight)
    names = pd.Index(features, name="feature")
    columns = [f"{gap}{end}" for gap in ("decisions", "means") for end in _ENDS]
    if warn_if_undefined("gap_contributions", statistic):
        empty = pd.DataFrame(math.nan, names, columns)
        undefined = (math.nan,) * 3
        return GapContributionsResult(*undefined, (None, None), empty, level, 1)
    _, pair, threshold, _ = largest_sustained_gap(statistic, 0.0)
    if math.isnan(threshold):  # there is no gap, at any threshold
        threshold = float(scores.min())

    def outcomes_of(answer: Floats) -> Floats:
        return np.array([answer > threshold, answer], dtype=np.float64)

    def respond_to(own: Bools, others: Integers) -> Floats:
        mixed = _mix(X, list(features.values()), own, others)
        return outcomes_of(respond(estimator, "predict_proba", mixed))

    both = outcomes_of(scores)
    signs, pair = _signed_shares(both[0], groups, weights, pair)
    generator, n_features = check_seed(random_state), len(features)
    counted = weights * (groups.codes >= 0)
    parts = np.zeros((n_features, 2, len(scores)))
    for _ in range(n_permutations // 2):
        others = _draw_others(scores, groups.codes, counted, generator)
        order = generator.random((len(scores), n_features)).argsort(axis=1)
        for one in (order, order[:, ::-1]):
            _add_changes(parts, both, one, others, respond_to)
    parts /= n_permutations
    table = pd.DataFrame(_summary(parts, signs, level), names, columns)
    table = table.sort_values("decisions", ascending=False, kind="stable")
    value, mean_difference = (both @ signs).tolist()
    labels = groups.labels[pair[0]], groups.labels[pair[1]]
    n_calls = 1 + n_permutations * (n_features - 1)
    return GapContributionsResult(
        value, threshold, mean_difference, labels, table, level, n_calls
    )


def _add_changes(
    parts: Floats,
    both: Floats,
    order: Integers,
    others: Integers,
    respond_to: Callable[[Bools, Integers], Floats],
) -> None:
    """Add to each feature of each row by how much it changes the response.

    The features of the second rows are replaced by the row's own in an order. What the
    second rows themselves give is divided evenly among the features.
    """
    n_samples, n_features = order.shape
    ranks = order.argsort(axis=1)
    before = both[:, others]
    parts += before / n_features
    for rank in range(n_features):
        is_last = rank == n_features - 1
        after = both if is_last else respond_to(ranks <= rank, others)
        parts[order[:, rank], :, np.arange(n_samples)] += (after - before).T
        before = after


def _draw_others(
    scores: Floats, codes: NDArray[Any], weights: Floats, generator: np.random.Generator
) -> Integers:
    """Draw a second row for each row, whose features replace some of its own.

    The second rows of each group are spread evenly over the scores of everyone.
    """
    order, others = np.argsort(scores), np.zeros(len(scores), dtype=np.intp)
    heights = np.cumsum(weights[order])
    for group in np.unique(codes):
        members = np.flatnonzero(codes == group)
        levels = generator.permutation(len(members)) + generator.random(len(members))
        levels *= heights[-1] / len(members)
        places = np.searchsorted(heights, levels, side="right")
        others[members] = order[np.minimum(places, len(order) - 1)]
    return others


def _signed_shares(
    decisions: Floats, groups: Groups, weights: Floats, pair: Any
) -> tuple[Floats, tuple[int, int]]:
    """Share of each row in its group, negative in the group with fewer decisions."""
    members = [weights * (groups.codes == group) for group in pair]
    shares = [member / member.sum() for member in members]
    if shares[0] @ decisions < shares[1] @ decisions:
        shares, pair = shares[::-1], pair[::-1]
    return np.asarray(shares[0] - shares[1]), (int(pair[0]), int(pair[1]))


def _features(X: Any, feature_groups: Any) -> dict[str, list[int]]:
    """Positions of the columns of each feature, by its name."""
    if len(X.shape) != 2 or hasattr(X, "tocsr"):
        kind = type(X).__name__
        raise ValueError(
            f"X must be a dense table of shape (n_samples, n_features), got a {kind} "
            f"of shape {X.shape}."
        )
    if feature_groups is not None and not isinstance(feature_groups, Mapping):
        raise TypeError(
            "feature_groups must be a dictionary of name -> list of columns, got "
            f"{shown(feature_groups)}."
        )
    grouped: dict[str, list[int]] = {}
    for name, columns in (feature_groups or {}).items():
        grouped[str(name)] = positions_of(X, list(columns), "feature_groups")
    taken = [position for several in grouped.values() for position in several]
    if len(set(taken)) < len(taken):
        raise ValueError(
            f"feature_groups must name each column at most once, got {feature_groups}."
        )
    names = getattr(X, "columns", None)
    found: dict[str, list[int]] = {}
    for position in range(X.shape[1]):
        if position not in taken:
            name = f"column {position}" if names is None else str(names[position])
            found[name if name not in found else f"{name} ({position})"] = [position]
    return found | grouped


def _mix(X: Any, features: list[list[int]], own: Bools, others: Integers) -> Any:
    """Combine features of each row with features of its second row.

    `own` says which features of which row are its own; `others` are the positions of
    the second rows.
    """
    rows = np.arange(len(others))
    taken = {
        position: np.where(own[:, i], rows, others)
        for i, positions in enumerate(features)
        for position in positions
    }
    if hasattr(X, "iloc"):
        mixed = X.copy(deep=False)
        for position, at in taken.items():
            mixed.isetitem(position, X.iloc[:, position].array.take(at))
        return mixed
    frame = open_frame(X, "X", eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [frame.get_column(frame.columns[i])[at] for i, at in taken.items()]
        return frame.with_columns(*columns).to_native()
    at = np.column_stack([taken[position] for position in range(X.shape[1])])
    return np.take_along_axis(np.asarray(X), at, axis=0)


def _summary(parts: Floats, signs: Floats, level: float) -> NDArray[Any]:
    """Contributions with normal intervals, those to both gaps side by side."""
    values = parts @ signs
    variances = np.zeros_like(values)
    for sign in (1, -1):
        shares = np.maximum(sign * signs, 0)
        means = (parts @ shares)[..., None]
        variances += ((parts - means) * shares) ** 2 @ np.ones(len(signs))
    half = ndtri((1 + level) / 2) * np.sqrt(variances)
    return np.stack([values, values - half, values + half], axis=2).reshape(
        len(values), -1
    )


class GapContributionsDisplay(Display):
    """Contributions of features to a gap, as bars with intervals.

    Parameters
    ----------
    result : GapContributionsResult
        Result of `gap_contributions`.
    gap : {"decisions", "means"}, default="decisions"
        Which gap is drawn: that of decisions at the threshold of MCDP(0), or that of
        mean scores.
    max_features : int, default=15
        Number of features that are drawn, those with the largest contributions of
        either sign.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
    intervals_ : matplotlib LineCollection

    See Also
    --------
    gap_contributions : The numbers behind the picture, and what they cannot say.
    ExplainedGapDisplay : What goes with columns, whatever the model.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.inspection import GapContributionsDisplay, gap_contributions
    >>> X, y = [[0, 1], [1, 0], [0, 0], [1, 1]], [0, 1, 0, 1]
    >>> model = LogisticRegression().fit(X, y)
    >>> result = gap_contributions(
    ...     model, X, sensitive_features=["F", "M", "F", "M"], random_state=0
    ... )
    >>> display = GapContributionsDisplay.from_result(result)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['column 0', 'column 1']
    """

    result: GapContributionsResult
    gap: str = "decisions"
    max_features: int = 15
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
        GapContributionsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        result = self.result
        table = result.table[[f"{self.gap}{end}" for end in _ENDS]]
        largest = table.iloc[:, 0].abs().sort_values(ascending=False, kind="stable")
        table = table.loc[largest.index[: self.max_features]]
        self._begin(ax, _style.size_of_bars(len(table)))
        self.bars_, self.intervals_ = _style.bars_with_intervals(
            self.ax_,
            [_style.short_label(name) for name in table.index],
            table,
            label=f"Contribution, {result.confidence_level:.4g} intervals",
        )
        self.ax_.axvline(0, color=_style.INK, linewidth=0.8)
        total = f"score > {result.threshold:.3g}, {result.value:.3f} in all"
        if self.gap == "means":
            total = f"mean score, {result.mean_difference:.3f} in all"
        first, second = map(_style.short_label, result.groups)
        self.ax_.set_xlabel(
            f"{first} minus {second}: {total}\n"
            "Of this model, not of the world; features that go together share credit."
        )
        self._write_title(self.ax_, name)
        _layout.legend_outside(self.ax_, None, may_grow=ax is None)
        return self

    @classmethod
    def from_result(
        cls,
        result: GapContributionsResult,
        *,
        gap: str = "decisions",
        max_features: int = 15,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw a result.

        Parameters
        ----------
        result : GapContributionsResult
            Result of `gap_contributions`.
        gap : {"decisions", "means"}, default="decisions"
            Which gap is drawn.
        max_features : int, default=15
            Number of features that are drawn.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes.

        Returns
        -------
        GapContributionsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `gap` or `max_features` is out of range.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_result")
        check_choice("gap", gap, ("decisions", "means"))
        max_features = check_integer("max_features", max_features, 1)
        display = cls(result=result, gap=gap, max_features=max_features, name=name)
        return display.plot(ax)
