"""Repaired scores of rows from which the repair was not learnt, and their warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skfair._comparison import PlainComparison, compare_with_plain
from skfair._mitigation import level_of_user
from skfair.exceptions import MitigationWarning
from skfair.postprocessing._held_out import ScoredRows
from skfair.postprocessing._linear_cdf import Floats, has_ties, tied_shares
from skfair.postprocessing._score_repairer import ScoreRepairer

#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Share of the plain MCDP that ties may add, unsaid, to what a level or gap leaves, and
#: that may be left where the level is chosen.
_SHARE_ADDED, _SHARE_LEFT = 0.25, 0.4
#: Rows below which nothing is said of shared scores: there may be few distinct ones.
_FEWEST_ROWS = 50
#: Share of the average precision above the base rate that `"auto"` may cost unsaid.
_SHARE_LOST = 0.5


def repair_held_out(
    rows: ScoredRows, parts: list[NDArray[np.intp]], repairer: ScoreRepairer
) -> tuple[ScoredRows, Floats]:
    """Rows of all parts, each repaired as learnt from the rows outside of its part.

    Of many rows, some are held out once.
    """
    n_rows = len(rows.scores)
    if n_rows > _MANY_ROWS:
        parts = [np.arange(0, n_rows, 1 + n_rows // _MANY_ROWS)]
    scores = []
    for part in parts:
        others = np.ones(n_rows, dtype=bool)
        others[part] = False
        # The others may lack a group that is in this part alone.
        learnt = clone(repairer).set_params(unknown_groups="pooled")
        learning, held_out = rows.take(others), rows.take(part)
        learnt.fit(learning.scores, **learning.keywords())
        scores.append(
            learnt.transform(held_out.scores, sensitive_features=held_out.groups)
        )
    return rows.take(np.concatenate(parts)), np.concatenate(scores)


def check_repair(mitigator: Any, rows: ScoredRows, repaired: Floats) -> PlainComparison:
    """Compare repaired with plain scores, and warn of what went wrong."""
    comparison = compare_with_plain(
        rows.y_true,
        rows.scores,
        repaired,
        rows.groups,
        sample_weight=rows.sample_weight,
        max_gap=mitigator.max_gap,
    )
    problem = _tie_problem(mitigator, rows, comparison)
    if problem is None:
        comparison.warn(
            mitigator, "Take a lower repair_level, a larger max_gap or larger groups"
        )
        problem = _loss_problem(mitigator, rows, comparison)
    if problem is not None:
        message = f"{type(mitigator).__name__}, on held-out rows: {problem}."
        warnings.warn(message, MitigationWarning, stacklevel=level_of_user())
    return comparison


def _tie_problem(
    mitigator: Any, rows: ScoredRows, found: PlainComparison
) -> str | None:
    """Say that rows which share a score keep most of the gap, where they do."""
    if mitigator.ties == "random" or found.n_samples < _FEWEST_ROWS:
        return None
    if not found.plain_mcdp > found.noise:
        return None
    if mitigator.max_gap is not None:
        share = min(1.0, mitigator.max_gap / found.plain_mcdp) + _SHARE_ADDED
    elif mitigator.repair_level == "auto":
        share = _SHARE_LEFT
    else:
        share = 1 - mitigator.repair_level + _SHARE_ADDED
    statistic = rows.statistic()
    if found.mcdp <= share * found.plain_mcdp or not has_ties(statistic):
        return None
    return (
        f"MCDP(0) is {found.mcdp:.3f}, the plain classifier's is "
        f"{found.plain_mcdp:.3f}, because rows that share a score stay together and up "
        f"to {tied_shares(statistic).max():.0%} of a group share one. Set "
        "ties='random', which gives such rows different scores, or a classifier with "
        "more distinct scores, such as one that cv=RepeatedStratifiedKFold(...) "
        "averages"
    )


def _loss_problem(
    mitigator: Any, rows: ScoredRows, found: PlainComparison
) -> str | None:
    """Say that the chosen level costs most of what the classifier knows, where so."""
    if mitigator.repair_level != "auto" or mitigator.max_gap is not None:
        return None
    gain = found.plain_average_precision - np.average(
        rows.y_true, weights=rows.sample_weight
    )
    loss = found.plain_average_precision - found.average_precision
    if not loss > max(_SHARE_LOST * gain, 2 * found.average_precision_error):
        return None
    return (
        f"average precision falls from {found.plain_average_precision:.3f} to "
        f"{found.average_precision:.3f} at repair_level={mitigator.repair_level_:.3g}, "
        f"MCDP(0) from {found.plain_mcdp:.3f} to {found.mcdp:.3f}: most of what the "
        "classifier knows is the difference between the groups. Set a lower theta, a "
        "repair_level or max_gap"
    )
