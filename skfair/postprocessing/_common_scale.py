"""Scale on which everyone's scores have the same distribution for each model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from skfair._training_rows import TrainingRows
from skfair._utils._types import Floats
from skfair.postprocessing._held_out import join_rows, to_40_digits
from skfair.postprocessing._linear_cdf import (
    LinearCDF,
    distributions,
    ends_of,
    interpolate,
    row_counts,
)

#: Scores of everyone and the heights of their CDF there, which both increase.
Heights: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class CommonScale:
    """CDF of everyone by all models together, and that by each of them.

    Models of different folds may spread their scores more or less: one map suits them
    all on the scale of everyone's scores together. A score keeps its height.
    """

    everyone: Heights
    by_model: list[Heights]
    scale: str

    @classmethod
    def of(cls, folds: list[TrainingRows], scale: str) -> Self:
        """Return the scale of models that have each scored the rows of one fold."""
        by_model = [
            _heights(fold, scale, (k + 0.5) / len(folds))
            for k, fold in enumerate(folds)
        ]
        return cls(_heights(join_rows(folds), scale), by_model, scale)

    def rescaled(self, folds: list[TrainingRows]) -> list[TrainingRows]:
        """Return the rows that each model has scored, on the common scale."""
        return [
            replace(fold, scores=self.from_model(model, fold.scores))
            for model, fold in enumerate(folds)
        ]

    def from_model(self, model: int, scores: Floats) -> Floats:
        """Return scores of one model on the common scale."""
        found = _rescale(scores, self.by_model[model], self.everyone)
        return to_40_digits(found) if self.scale == "real" else found

    def to_model(self, model: int, scores: Floats) -> Floats:
        """Return scores of the common scale on that of one model."""
        return _rescale(scores, self.everyone, self.by_model[model])


def _heights(rows: TrainingRows, scale: str, place: float = 0.5) -> Heights:
    """Scores of everyone, and the heights of their CDF there.

    Rows of two folds that have different places in [0, 1] share no height, so that they
    do not come to share a score on another scale.
    """
    statistic = distributions(rows)
    cdf = LinearCDF.of(statistic, None, ends_of(scale, statistic.scores))
    heights = cdf.middle
    if len(heights) == 1:  # a model that predicts one number, as those of other folds
        return cdf.scores, heights
    if scale == "real":
        # Ends correspond to ends, and slopes of 1 beyond them to each other.
        heights[[0, -1]] = 0, 1
    # At most half a row up or down; a whole weight counts as so many rows.
    shift = (2 * place - 1) / row_counts(statistic).sum()
    return cdf.scores, heights + 2 * shift * heights * (1 - heights)


def _rescale(scores: Floats, own: Heights, other: Heights) -> Floats:
    """Scores that have the same height in another CDF of everyone; no order changes."""
    seen = np.clip(scores, own[0][0], own[0][-1])
    return np.interp(interpolate(seen, *own), other[1], other[0]) + (scores - seen)
