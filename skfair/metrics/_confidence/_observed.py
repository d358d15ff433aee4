"""Statistics of metrics, with what their noise depends on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._types import Floats
from skfair._utils._validation import Scale, check_weights
from skfair.groups import Codes, resolve_groups
from skfair.metrics._demographic_parity import parity_outcomes
from skfair.metrics._inputs import effective_sizes, grouped_quality, unranked_scores
from skfair.statistics import GroupedConfusion, GroupedOutcomes

#: Groups up to which a product with each group is faster than counting.
_FEW_GROUPS = 4


class Arguments(NamedTuple):
    """Arguments of a metric, with rows or a statistic."""

    y_true: ArrayLike | None
    y_score: Any
    sensitive_features: Any
    sample_weight: ArrayLike | None

    def weighted(self) -> dict[str, Any]:
        """Keyword arguments that say to whom rows belong and what they weigh."""
        return {
            "sensitive_features": self.sensitive_features,
            "sample_weight": self.sample_weight,
        }


class Observed(NamedTuple):
    """Statistic of a metric, with what its noise depends on."""

    statistic: Any
    # Numbers of rows that each distribution, mean or rate comes from; with weights,
    # effective numbers.
    sizes: Floats
    # Means of squared outcomes.
    squares: Floats | None = None


def observe_scores(
    arguments: Arguments, *, scale: Scale = "probability", **_: Any
) -> Observed:
    """Scores of each group; ranks are not taken yet, so that batches can be added."""
    statistic = unranked_scores(*arguments, scale)
    sizes = effective_sizes(statistic, **arguments.weighted())
    _check_known(sizes)
    return Observed(statistic, sizes)


def observe_outcomes(
    arguments: Arguments,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    **_: Any,
) -> Observed:
    """Scores or decisions whose means are compared."""
    statistic = arguments.y_score
    if isinstance(statistic, GroupedOutcomes):
        # The mean square of values in [0, 1] is at most their mean.
        return Observed(statistic, statistic.effective_sizes, statistic.means)
    outcomes = parity_outcomes(statistic, threshold, pos_label)
    rows = arguments.weighted()
    rows["sensitive_features"] = resolve_groups(
        arguments.sensitive_features, n_samples=len(outcomes)
    )
    statistic = GroupedOutcomes.from_outcomes(outcomes, **rows)
    codes = rows["sensitive_features"].codes
    if arguments.sample_weight is None and statistic.counts.sum() == len(codes):
        sums = _sums_of_squares(outcomes, codes, len(statistic.counts))
        squares = sums / np.maximum(statistic.counts, 1)
    else:
        squares = GroupedOutcomes.from_outcomes(outcomes**2, **rows).means
    return Observed(statistic, statistic.effective_sizes, squares)


def _sums_of_squares(outcomes: Floats, codes: Codes, n_groups: int) -> Floats:
    """Sum the squares of each group; few groups are faster one by one."""
    if n_groups > _FEW_GROUPS:
        return np.asarray(np.bincount(codes, outcomes**2, n_groups))
    return np.array([(outcomes * (codes == g)) @ outcomes for g in range(n_groups)])


def observe_confusion(arguments: Arguments, **_: Any) -> Observed:
    """Confusion matrices; sizes are those of the true classes of each group."""
    y_true, y_pred = arguments.y_true, arguments.y_score
    rows = arguments.weighted()
    if isinstance(y_pred, GroupedConfusion):
        _check_known(effective_sizes(y_pred, **rows))
        return Observed(y_pred, y_pred.matrices.sum(axis=2).astype(float))
    statistic = GroupedConfusion.from_predictions(y_true, y_pred, **rows)
    sizes = statistic.matrices.sum(axis=2).astype(float)
    weights = check_weights(arguments.sample_weight, len(y_pred))
    if weights is not None:
        rows["sample_weight"] = np.square(weights, dtype=float)
        squares = GroupedConfusion.from_predictions(y_true, y_pred, **rows).matrices
        squares = squares.sum(axis=2)
        np.divide(sizes**2, squares, out=sizes, where=squares > 0)
    return Observed(statistic, sizes)


def observe_quality(
    arguments: Arguments,
    *,
    quality: Any = "selection_rate",
    pos_label: Any = None,
    **_: Any,
) -> Observed:
    """Outcomes whose rates are compared."""
    y_true, y_pred, groups, weights = arguments
    statistic = grouped_quality(y_true, y_pred, groups, quality, pos_label, weights)
    return Observed(statistic, statistic.effective_sizes)


def _check_known(sizes: Floats) -> None:
    """Raise where a statistic does not tell the effective numbers of rows."""
    if np.isnan(sizes).any():
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, whose squares "
            "it does not keep; pass the rows with their weights."
        )
