"""What a report is about: rows, groups, models and how to look at them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.groups import Groups
from skfair.metrics._inputs import Multigroup


@dataclass(frozen=True, eq=False)
class Model:
    """What one model predicts.

    Attributes
    ----------
    name : str
    y_score : ndarray of shape (n_samples,) or None
        Scores in [0, 1], probabilities of the positive class.
    y_pred : ndarray of shape (n_samples,)
        Predicted classes, as positions in `Audit.classes`.
    decided_by : str
        How scores become predictions, in words.
    """

    name: str
    y_score: NDArray[np.float64] | None
    y_pred: NDArray[np.intp]
    decided_by: str


@dataclass(frozen=True, eq=False)
class Attribute:
    """A sensitive attribute, or the intersection of all of them.

    Attributes
    ----------
    name : str
    groups : Groups
        The groups that are compared; a row of any other has the code -1.
    aside : tuple of (label, int)
        Groups with too few rows to be compared, and their sizes.
    n_missing : int
        Rows that have no group.
    """

    name: str
    groups: Groups
    aside: tuple[tuple[Hashable, int], ...] = ()
    n_missing: int = 0

    @property
    def comparison(self) -> Multigroup:
        """``"pairwise"``, or ``"pooled"`` where pairs would be too many."""
        return "pairwise" if len(self.groups.labels) <= MAX_PAIRWISE else "pooled"


@dataclass(frozen=True)
class Options:
    """How to look: the settings that a report states.

    Attributes
    ----------
    threshold : float or None
    epsilon, alpha : float
    metrics : tuple of str or None
    n_bootstrap, n_permutations : int
    confidence_level : float
    min_group_size : int
    seed : int
    n_jobs : int or None
    """

    threshold: float | None = 0.5
    epsilon: float = 0.05
    alpha: float = 0.9
    metrics: tuple[str, ...] | None = None
    n_bootstrap: int = 500
    n_permutations: int = 199
    confidence_level: float = 0.95
    min_group_size: int = 10
    seed: int = 0
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """Everything that a report is computed from.

    Attributes
    ----------
    models : tuple of Model
    attributes : tuple of Attribute
    y_true : ndarray of shape (n_samples,) or None
        True classes, as positions in `classes`.
    classes : tuple of length n_classes
        Class labels; of two, the second is the positive one.
    sample_weight : ndarray of shape (n_samples,) or None
    options : Options
    n_rows : int
        Rows that count.
    """

    models: tuple[Model, ...]
    attributes: tuple[Attribute, ...]
    y_true: NDArray[np.intp] | None
    classes: tuple[Hashable, ...]
    sample_weight: NDArray[Any] | None
    n_rows: int
    options: Options = field(default_factory=Options)

    @property
    def binary(self) -> bool:
        """Whether there are two classes, one of them positive."""
        return len(self.classes) == 2


#: With more groups than this each is compared with everyone, not with each other one.
MAX_PAIRWISE = 10
