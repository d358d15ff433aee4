"""Repair within strata: what is learnt from each, and repaired in each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair._mitigation import shown
from skfair._penalty._smooth_gap import rows_by_code
from skfair._utils._types import Floats
from skfair.groups import Groups, resolve_strata
from skfair.statistics import GroupedScores

#: Repairs the scores of some rows of these groups.
Repair: TypeAlias = Callable[[Floats, Groups], Floats]


def scores_by_stratum(
    scores: Floats, groups: Groups, strata: Groups, weights: NDArray[Any] | None
) -> list[GroupedScores]:
    """Score distributions of the groups in each stratum."""
    found = []
    for rows in rows_by_code(strata.codes):
        if weights is not None:
            rows = rows[weights[rows] > 0]
        found.append(
            GroupedScores.from_scores(
                scores[rows],
                sensitive_features=groups[rows],
                sample_weight=None if weights is None else weights[rows],
            )
        )
    return found


def strata_to_repair(
    control_features: Any, n_samples: int, learnt: tuple[Hashable, ...]
) -> Groups:
    """Return the strata of rows to repair, where `fit` has learnt from several."""
    if control_features is None:
        raise ValueError(
            f"control_features is None, expected the stratum of each row: fit has "
            f"repaired several, {shown(learnt)}. Strata that are not known "
            "of new rows, such as the true label, must be one in fit, with all "
            "other rows in none: encode_groups(..., missing='drop')."
        )
    return resolve_strata(control_features, n_samples=n_samples)


def repair_strata(
    repairs: Mapping[Hashable, Repair],
    left_out: Collection[Hashable] | None,
    values: Floats,
    groups: Groups,
    strata: Groups,
) -> Floats:
    """Repair the scores of each stratum that has a repair; all others stay.

    Others must have been left out in `fit`, unless None says that any may come.
    """
    if left_out is not None:
        known = {*repairs, *left_out}
        unknown = np.array([label not in known for label in strata.labels] + [True])
        unknown = unknown[strata.codes]
        check_known("control_features", "strata", strata, unknown, tuple(repairs))
    repaired = np.array(values)
    for label, rows in zip(strata.labels, rows_by_code(strata.codes), strict=False):
        if label in repairs:
            repaired[rows] = repairs[label](values[rows], groups[rows])
    return repaired


def check_known(
    argument: str,
    what: str,
    groups: Groups,
    unknown: NDArray[np.bool_],
    known: tuple[Hashable, ...],
) -> None:
    """Raise if the groups or strata of some rows were absent in `fit`."""
    if unknown.any():
        labels: list[Hashable] = [*groups.labels, "(left out)"]
        named = [labels[code] for code in np.unique(groups.codes[unknown])]
        raise ValueError(
            f"{argument} has {what} {named} in {np.count_nonzero(unknown)} rows, "
            f"expected those seen in fit, {list(known)}. With unknown_groups='pooled' "
            "their rows keep their scores."
        )
