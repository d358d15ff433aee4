"""Rows that are resampled and handed to a metric again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._validation import as_array
from skfair.groups import Groups, resolve_groups


@dataclass(frozen=True, eq=False)
class Rows:
    """Arguments by row of a metric."""

    y_true: NDArray[Any] | None
    y_score: NDArray[Any]
    groups: Groups
    sample_weight: NDArray[Any] | None

    @classmethod
    def from_arrays(
        cls,
        y_true: ArrayLike | None,
        y_score: ArrayLike,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
    ) -> Rows:
        """Convert the arguments once for all resamples."""
        scores = as_array(y_score, "y_score")
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        labels = None if y_true is None else as_array(y_true, "y_true")
        weights = (
            None if sample_weight is None else as_array(sample_weight, "sample_weight")
        )
        for name, values in (("y_true", labels), ("sample_weight", weights)):
            if values is not None and len(values) != len(scores):
                raise ValueError(
                    f"{name} has {len(values)} rows, expected {len(scores)} like "
                    "y_score."
                )
        return cls(labels, scores, groups, weights)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Rows at the given positions."""
        return Rows(
            None if self.y_true is None else self.y_true[rows],
            self.y_score[rows],
            self.groups[rows],
            None if self.sample_weight is None else self.sample_weight[rows],
        )

    def evaluate(self, metric: Callable[..., float]) -> float:
        """Value of the metric on these rows."""
        weights = (
            {} if self.sample_weight is None else {"sample_weight": self.sample_weight}
        )
        return float(
            metric(self.y_true, self.y_score, sensitive_features=self.groups, **weights)
        )


def evaluate_each(
    metric: Callable[..., float],
    resamples: Iterable[Rows],
    n_jobs: int | None,
    verbose: int,
) -> NDArray[np.float64]:
    """Values of the metric on each resample, which are drawn one after the other."""
    return np.array(
        Parallel(n_jobs=n_jobs, verbose=verbose)(
            delayed(Rows.evaluate)(rows, metric) for rows in resamples
        )
    )


def check_seed(random_state: Any) -> np.random.Generator:
    """Fast generator seeded by scikit-learn's `random_state`."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)
