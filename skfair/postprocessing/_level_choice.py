"""The level of repair that ``repair_level="auto"`` stands for."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import sem

from skfair.model_selection._dealing import deal_rows
from skfair.postprocessing._objective import repair_objective
from skfair.postprocessing._score_repairer import ScoreRepairer
from skfair.postprocessing._scored_rows import ScoredRows, join_rows

#: Parts of the rows that one model scored, as many as the folds of the default `cv`.
N_PARTS = 5


class LevelChoice(NamedTuple):
    """A level of repair, and what it was chosen by.

    Attributes
    ----------
    level : float
    standard_error : float
        Of the least total of the objective; 0 if fewer than two parts have it.
    """

    level: float
    standard_error: float


def mildest_level(
    objective: pd.DataFrame, rows: list[ScoredRows], n_samples: int, **options: Any
) -> LevelChoice:
    """Least level whose total is within one standard error of the least total.

    The error is that of a mean over folds of the total of their repaired scores.

    Parameters
    ----------
    objective : DataFrame of n_levels rows
        Of all rows together, see `repair_objective`.
    rows : list of ScoredRows
        The held-out rows of each fold. A single part is dealt to five.
    n_samples : int
        Number of rows, each of which stands once or several times among the folds.
    **options : dict
        Those of `repair_objective`.

    Returns
    -------
    LevelChoice
    """
    levels, totals = objective["level"].to_numpy(), objective["total"].to_numpy()
    best = int(totals.argmin())
    everything = join_rows(rows)
    spread = {name: options[name] for name in ("ties", "random_state")}
    repairer = everything.fit_repairer(ScoreRepairer(levels[best], **spread))
    repaired = everything._replace(
        scores=repairer.transform(
            everything.scores, sensitive_features=everything.groups
        )
    )
    found = []
    for part in filter(_has_all, map(repaired.take, _parts(rows))):
        # A callable may need more than a part has; on all rows it gave a number.
        with suppress(ValueError):
            found.append(repair_objective(part, np.zeros(1), **options)["total"].item())
    error = 0.0
    if len(found) > 1:
        # To hold rows out again, in repeated splits, does not make more rows.
        repeats = max(1, len(everything.scores) / n_samples)
        error = float(sem(found) * np.sqrt(repeats))
    return LevelChoice(float(levels[totals <= totals[best] + error][0]), error)


def _parts(rows: list[ScoredRows]) -> list[NDArray[np.intp]]:
    """Positions of the rows of each fold, or of parts with their share of each class.

    Parts of a single model's rows have their share of each group, too.
    """
    if len(rows) == 1:
        part_of = deal_rows(rows[0].y_true, rows[0].groups.codes, N_PARTS, None)
        return [np.flatnonzero(part_of == part) for part in range(N_PARTS)]
    ends = np.cumsum([len(part.scores) for part in rows])
    return np.split(np.arange(ends[-1]), ends[:-1])


def _has_all(rows: ScoredRows) -> bool:
    """Whether there are rows of every group and of both classes."""
    classes = np.bincount(rows.y_true, minlength=2)
    return bool(rows.groups.sizes().min() > 0 and classes.min() > 0)
