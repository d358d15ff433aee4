"""The options of a report, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from sklearn.utils import check_random_state

from skfair._utils._text import visible_text
from skfair._utils._validation import (
    AnyScale,
    ParameterError,
    check_choice,
    check_flag,
    check_integer,
    check_real,
)

#: What a report is called unless it is given a title.
DEFAULT_TITLE = "Fairness report"
#: With fewer no p-value is at most 0.05 / 3, the first step of Holm's correction.
FEWEST_PERMUTATIONS = 59


@dataclass(frozen=True)
class Options:
    """Options of a report, checked; `FairnessReport.from_predictions` explains them.

    The seed is drawn where none is given, since a report states it.
    """

    threshold: float | None = None
    scale: AnyScale = "probability"
    metrics: Sequence[str] | Literal["all"] | None = None
    n_resamples: int = 500
    n_permutations: int = 199
    confidence_level: float = 0.95
    min_group_size: int = 10
    intersection: bool | None = None
    impact_ratios: bool = False
    limit: float | Mapping[str, float] | None = None
    title: str = DEFAULT_TITLE
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, get_args(AnyScale))
        check_flag("impact_ratios", self.impact_ratios)
        if self.intersection is not None:
            check_flag("intersection", self.intersection)
        if isinstance(self.metrics, str) and self.metrics != "all":
            raise ValueError(
                f"metrics must be a sequence of names, or 'all', got {self.metrics!r}."
            )
        if self.n_jobs == 0:
            raise ParameterError(
                "n_jobs",
                "must be a number of processes, or -1 for all processors, got 0.",
            )
        checked: dict[str, Any] = {
            "threshold": _check_threshold(self.threshold, self.scale),
            "n_resamples": check_integer("n_resamples", self.n_resamples, 1),
            "n_permutations": _check_permutations(self.n_permutations),
            "confidence_level": check_real(
                "confidence_level", self.confidence_level, 0, 1, closed="neither"
            ),
            "min_group_size": check_integer("min_group_size", self.min_group_size, 1),
            "title": visible_text(self.title, 120),
            "random_state": _check_seed(self.random_state),
        }
        if isinstance(self.limit, Mapping):
            checked["limit"] = {
                str(key): check_real("limit", value, 0, math.inf)
                for key, value in self.limit.items()
            }
        elif self.limit is not None:
            checked["limit"] = check_real("limit", self.limit, 0, 1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the options on which numbers depend, as JSON has them."""
        silent = "title", "n_jobs", "verbose"
        values = {k: v for k, v in vars(self).items() if k not in silent}
        if self.metrics not in (None, "all"):
            values["metrics"] = [*self.metrics]
        return values


def _check_threshold(threshold: float | None, scale: AnyScale) -> float | None:
    """Check a threshold; only probabilities have one by default."""
    if threshold is None:
        return 0.5 if scale == "probability" else None
    if scale == "real":
        raise ParameterError(
            "threshold",
            "must be left at its default with scale='real', which decides nothing, "
            f"got {threshold!r}.",
        )
    return check_real("threshold", threshold, 0, 1)


def _check_seed(seed: Any) -> int:
    """Check a seed, or draw it, so that a report can be computed again."""
    if seed is None or isinstance(seed, np.random.RandomState):
        seed = check_random_state(seed).randint(2**31 - 1)
    return check_integer("random_state", seed, 0, 2**32 - 1)


def _check_permutations(value: Any) -> int:
    """Raise unless there are no tests, or enough permutations for the verdict."""
    n_permutations = check_integer("n_permutations", value, 0)
    if 0 < n_permutations < FEWEST_PERMUTATIONS:
        raise ParameterError(
            "n_permutations",
            f"must be 0, or an integer of at least {FEWEST_PERMUTATIONS}, got "
            f"{n_permutations}: the smallest p-value is 1 / ({n_permutations} + 1); "
            "the verdict, three tests with Holm's correction at the level 0.05, needs "
            "one of 0.05 / 3 = 1 / 60.",
        )
    return n_permutations
