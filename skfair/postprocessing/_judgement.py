"""Whether a repair helps rows that it was not learnt from, and warnings if not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from skfair._comparison import (
    Comparison,
    PlainComparison,
    RegressorComparison,
    compare_regressors,
    compare_with_plain,
)
from skfair._training_rows import TrainingRows
from skfair._utils._types import Floats
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.postprocessing._linear_cdf import distributions, has_ties, tied_shares
from skfair.postprocessing._repair_losses import RepairGrid, rows_compared
from skfair.postprocessing._score_repairer import ScoreRepairer

#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Share of the plain MCDP that ties may add, before the user is warned, to what a level
#: or gap leaves, and that may be left where the level is chosen.
_SHARE_ADDED, _SHARE_LEFT = 0.25, 0.4
#: Rows below which nothing is said of shared scores: there may be few distinct ones.
_FEWEST_ROWS = 50
#: Share of the average precision above the base rate that a repair may cost before the
#: user is warned.
_SHARE_LOST = 0.5


def repair_held_out(
    rows: TrainingRows, parts: list[NDArray[np.intp]], repairer: ScoreRepairer
) -> tuple[TrainingRows, Floats]:
    """Return the rows of all parts, and their scores repaired by what other rows tell.

    Each part is repaired as learnt from the rows outside of it. If there are more than
    100,000 rows, a sample of at most as many is held out in place of the parts.
    """
    n_rows = len(rows.scores)
    if n_rows > _MANY_ROWS:
        parts = [np.arange(0, n_rows, 1 + n_rows // _MANY_ROWS)]
    scores = []
    for part in parts:
        others = np.ones(n_rows, dtype=bool)
        others[part] = False
        learnt, held_out = clone(repairer), rows.take(part)
        learnt._learn_rows(rows.take(others), warn=False)
        scores.append(learnt._repair(held_out.scores, held_out.groups, held_out.strata))
    return rows.take(np.concatenate(parts)), np.concatenate(scores)


def judge_regressor(
    mitigator: Any, repairer: ScoreRepairer, rows: TrainingRows, repaired: Floats
) -> RegressorComparison:
    """Compare repaired with plain predictions, and warn of what went wrong."""
    asked = repairer.max_mcdp
    comparison = compare_regressors(rows, rows.scores, repaired, max_mcdp=asked)
    problem = _tie_problem(repairer, rows, comparison)
    if _has_gain_to_show(comparison, rows, repaired):
        if problem is None or not comparison.shows_gain:
            comparison.warn(mitigator, _remedy(problem))
        else:
            _warn_of_problem(mitigator, problem)
    return comparison


def judge_classifier(
    mitigator: Any, grids: list[RepairGrid], rows: TrainingRows, repaired: Floats
) -> PlainComparison:
    """Compare repaired with plain scores, and warn of what went wrong."""
    asked, differing = mitigator.max_mcdp, grids[0].differing
    comparison = compare_with_plain(rows, rows.scores, repaired, max_mcdp=asked)
    if not _has_gain_to_show(comparison, rows, repaired):
        return comparison
    judged = comparison
    if rows.strata is None and differing.any() and not differing.all():
        # A group of a few rows has a large gap, whatever is done to it.
        part = rows_compared(rows, differing)
        scores = rows_compared(replace(rows, scores=repaired), differing).scores
        judged = compare_with_plain(part, part.scores, scores, max_mcdp=asked)
    problem = _tie_problem(mitigator, rows, comparison)
    if not any(grid.differing.any() for grid in grids):
        _warn_of_problem(mitigator, _noise_problem(comparison))
    elif not judged.shows_gain:
        judged.warn(mitigator, _remedy(problem))
    elif problem is not None:
        _warn_of_problem(mitigator, problem)
    else:
        comparison.warn(mitigator, _remedy(problem))
        _warn_of_problem(mitigator, _loss_problem(mitigator, rows, comparison))
    return comparison


def _has_gain_to_show(
    comparison: Comparison, rows: TrainingRows, repaired: Floats
) -> bool:
    """Whether the repair changes scores, to a gap that the plain model exceeds."""
    if (repaired == rows.scores).all():
        return False
    asked = comparison.max_mcdp
    return asked is None or max(comparison.plain_mcdp, comparison.mcdp) > asked


def _remedy(tie_problem: str | None) -> str:
    """Say what a user can do where a repair shows no gain."""
    if tie_problem is not None:
        return "Set ties='random', or take an estimator with more distinct scores"
    return "Take a lower repair_level, a larger max_mcdp or larger groups"


def _warn_of_problem(mitigator: Any, problem: str | None) -> None:
    """Warn of what went wrong on held-out rows, if anything did."""
    if problem is not None:
        message = f"{type(mitigator).__name__}, on held-out rows: {problem}."
        warn_user(message, MitigationWarning)


def _noise_problem(comparison: PlainComparison) -> str:
    """Return the warning that there is no gap to repair."""
    return (
        "no gain is shown: no group differs from all others by more than sampling "
        f"noise (MCDP(0) is {comparison.mcdp:.3f}, the plain classifier's is "
        f"{comparison.plain_mcdp:.3f}, sampling noise {comparison.noise:.3f}), so that "
        "the repair may widen the gap of new rows"
    )


def _tie_problem(asked: Any, rows: TrainingRows, found: Comparison) -> str | None:
    """Return a warning if rows that share a score keep most of the gap, else None."""
    if asked.ties == "random" or found.n_samples < _FEWEST_ROWS:
        return None
    if not found.beyond_noise:
        return None
    if asked.max_mcdp is not None:
        share = min(1.0, asked.max_mcdp / found.plain_mcdp) + _SHARE_ADDED
    elif asked.repair_level == "auto":
        share = _SHARE_LEFT
    else:
        share = 1 - asked.repair_level + _SHARE_ADDED
    statistic = distributions(rows)
    if found.mcdp <= share * found.plain_mcdp or not has_ties(statistic):
        return None
    averaged = ""
    if is_classifier(asked):
        averaged = ", such as one that cv=RepeatedStratifiedKFold(...) averages"
    return (
        f"MCDP(0) is {found.mcdp:.3f}, the plain model's is "
        f"{found.plain_mcdp:.3f}, because rows that share a score stay together and up "
        f"to {tied_shares(statistic).max():.0%} of a group share one. Set "
        "ties='random', which gives such rows different scores, or an estimator with "
        f"more distinct scores{averaged}"
    )


def _loss_problem(
    mitigator: Any, rows: TrainingRows, found: PlainComparison
) -> str | None:
    """Return a warning if the repair removes most of the model's skill, else None."""
    asked = f"max_mcdp={mitigator.max_mcdp}"
    if mitigator.max_mcdp is None:
        if mitigator.repair_level != "auto":
            return None
        asked = f"repair_level={mitigator.repair_level_:.3g}"
    gain = found.plain_average_precision - np.average(
        rows.y, weights=rows.sample_weight
    )
    loss = found.plain_average_precision - found.average_precision
    if not loss > max(_SHARE_LOST * gain, 2 * found.average_precision_error):
        return None
    return (
        f"average precision falls from {found.plain_average_precision:.3f} to "
        f"{found.average_precision:.3f} at {asked}, MCDP(0) from "
        f"{found.plain_mcdp:.3f} to {found.mcdp:.3f}: most of what the "
        "classifier knows is the difference between the groups. Set a lower theta, a "
        "lower repair_level or a larger max_mcdp"
    )
