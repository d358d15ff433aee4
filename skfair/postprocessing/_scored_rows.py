"""Rows on which a repair is learnt and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair.groups import Groups
from skfair.postprocessing._held_out import HeldOut
from skfair.postprocessing._repair_map import Floats, has_heavy_ties
from skfair.postprocessing._score_repairer import ScoreRepairer
from skfair.statistics import GroupedScores


class ScoredRows(NamedTuple):
    """Rows on which a repair is learnt and judged, with all groups among them.

    Attributes
    ----------
    y_true : ndarray of shape (n_samples,)
        0 or 1.
    scores : ndarray of shape (n_samples,)
    groups : Groups of n_samples rows
    sample_weight : ndarray of shape (n_samples,) or None
    """

    y_true: NDArray[Any]
    scores: Floats
    groups: Groups
    sample_weight: NDArray[Any] | None

    @classmethod
    def of(
        cls,
        part: HeldOut,
        y_true: NDArray[Any],
        groups: Groups,
        sample_weight: NDArray[Any] | None,
    ) -> ScoredRows:
        """Held-out rows that have a group and weigh something.

        Parameters
        ----------
        part : HeldOut
        y_true : ndarray of shape (n_samples,)
        groups : Groups of n_samples rows
        sample_weight : ndarray of shape (n_samples,) or None
            Valid weights.

        Returns
        -------
        ScoredRows
        """
        weights = None if sample_weight is None else sample_weight[part.rows]
        kept = groups.codes[part.rows] >= 0
        if weights is not None:
            kept &= weights > 0
        y_true = y_true[part.rows].astype(np.intp)
        return cls(y_true, part.scores, groups[part.rows], weights).take(kept)

    def take(self, chosen: NDArray[Any]) -> ScoredRows:
        """Return some of the rows.

        Parameters
        ----------
        chosen : ndarray of int or of bool

        Returns
        -------
        ScoredRows
        """
        weights = self.sample_weight
        return ScoredRows(
            self.y_true[chosen],
            self.scores[chosen],
            self.groups[chosen],
            None if weights is None else weights[chosen],
        )

    def fit_repairer(self, repairer: ScoreRepairer) -> ScoreRepairer:
        """Fit a repairer to these rows."""
        return repairer.fit(
            self.scores,
            sensitive_features=self.groups,
            sample_weight=self.sample_weight,
        )

    def statistic(self) -> GroupedScores:
        """Score distributions of the groups."""
        return GroupedScores.from_scores(
            self.scores,
            sensitive_features=self.groups,
            sample_weight=self.sample_weight,
        )

    def weighing(self) -> dict[str, Any]:
        """Keyword of the weights for a metric, none without weights."""
        if self.sample_weight is None:
            return {}
        return {"sample_weight": self.sample_weight}


def join_rows(parts: list[ScoredRows]) -> ScoredRows:
    """Rows of several parts together.

    Parameters
    ----------
    parts : list of ScoredRows, at least one, with the same list of groups

    Returns
    -------
    ScoredRows
    """
    if len(parts) == 1:
        return parts[0]
    y_true, scores, groups, weights = zip(*parts, strict=True)
    codes = np.concatenate([part.codes for part in groups])
    return ScoredRows(
        np.concatenate(y_true),
        np.concatenate(scores),
        replace(groups[0], codes=codes),
        None if weights[0] is None else np.concatenate(weights),
    )


def share_scores(parts: list[ScoredRows]) -> bool:
    """Whether so many rows of a group share a score that means of models are others.

    Parameters
    ----------
    parts : list of ScoredRows

    Returns
    -------
    bool
    """
    return has_heavy_ties(join_rows(parts).statistic())


def makes_ensemble(ensemble: bool | str, parts: list[ScoredRows], shared: bool) -> bool:
    """Whether the models of the folds are kept and averaged.

    Averaging rows that share scores under each model tears the repaired distributions
    apart again.

    Parameters
    ----------
    ensemble : bool or "auto"
    parts : list of ScoredRows
        The held-out rows of each fold.
    shared : bool
        Whether they share scores.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If `ensemble` is True and a fold holds out no row of a group.
    """
    sizes = np.array([part.groups.sizes() for part in parts])
    if ensemble == "auto":
        return bool(sizes.min() > 0) and not shared
    if ensemble and sizes.min() == 0:
        fold, group = np.argwhere(sizes == 0)[0].tolist()
        raise ValueError(
            "ensemble=True needs rows of every group held out in every fold, but fold "
            f"{fold} has none of {parts[0].groups.labels[group]!r}, which has "
            f"{sizes[:, group].sum()} in all. Use ensemble='auto' or fewer folds."
        )
    return bool(ensemble)
