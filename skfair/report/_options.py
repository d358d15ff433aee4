"""Checks of the parameters of a report."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skfair._utils._validation import check_choice, check_integer, check_real
from skfair.report._audit import Options
from skfair.report._measures import KEYS


def make_options(
    *,
    threshold: Any,
    epsilon: Any,
    alpha: Any,
    metrics: Any,
    n_bootstrap: Any,
    n_permutations: Any,
    confidence_level: Any,
    min_group_size: Any,
    random_state: Any,
    n_jobs: Any,
) -> Options:
    """Check parameters, and settle the seed.

    Parameters
    ----------
    threshold, epsilon, alpha, metrics, n_bootstrap, n_permutations, \
confidence_level, min_group_size, random_state, n_jobs : object
        As in `FairnessReport.from_predictions`.

    Returns
    -------
    Options

    Raises
    ------
    ValueError
        Naming the parameter, its value and what was expected.
    """
    if random_state is None or isinstance(random_state, np.random.RandomState):
        # What is drawn here is stated in the report, and gives it again.
        random_state = check_random_state(random_state).randint(2**31 - 1)
    if isinstance(metrics, str):
        raise ValueError(f"metrics must be a sequence of names, got {metrics!r}.")
    for key in () if metrics is None else metrics:
        check_choice("metrics", key, KEYS)
    return Options(
        threshold=check_real("threshold", threshold, 0, 1),
        epsilon=check_real("epsilon", epsilon, 0, 0.5, closed="right"),
        alpha=check_real("alpha", alpha, 0, 1, closed="left"),
        metrics=None if metrics is None else tuple(metrics),
        n_bootstrap=check_integer("n_bootstrap", n_bootstrap, 1),
        # With fewer no p-value can be small enough for the verdict.
        n_permutations=check_integer("n_permutations", n_permutations, 59),
        confidence_level=check_real(
            "confidence_level", confidence_level, 0, 1, closed="neither"
        ),
        min_group_size=check_integer("min_group_size", min_group_size, 1),
        seed=check_integer("random_state", random_state, 0, 2**32 - 1),
        n_jobs=n_jobs,
    )
