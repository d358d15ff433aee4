"""Table of a metric by stratum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._validation import as_array
from skfair.groups import resolve_strata
from skfair.metrics._groupwise._group_gaps import group_index
from skfair.metrics._strata import results_by_stratum


def values_by_stratum(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: ArrayLike | None = None,
) -> pd.DataFrame:
    """Compute a metric within each stratum.

    A metric with `control_features` is the largest of these values, or, with
    ``multistratum="weighted"``, their mean by `weight`.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, sensitive_features=...)`` that returns a number; with
        a keyword `sample_weight` if that is given. Use `functools.partial` to set its
        options.
    y_true : array-like of shape (n_samples,) or None
        True labels, handed to the metric.
    y_score : array-like of shape (n_samples,)
        Scores or predicted labels, handed to the metric.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Stratum of each row; several columns stand for their intersection. Rows that a
        `Groups` leaves out, as ``encode_groups(..., missing="drop")`` does, are in no
        stratum.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    DataFrame
        One row for each stratum: the ``value`` of the metric, nan where the stratum is
        left out; ``n_rows`` and their total ``weight``; and ``reason``, a text that
        says why the stratum is left out, or which groups are, "" if none is.

    Raises
    ------
    ValueError
        On missing strata or groups, lengths that differ, and as the metric does.

    See Also
    --------
    mcdp : One of the metrics that take `control_features`.
    skfair.groups.encode_groups : Strata without missing values or small strata.

    Notes
    -----
    A stratum is left out if it has fewer rows than the `min_group_size` of a `Groups`,
    if fewer than two groups have rows in it (or the `min_group_size` of their own), or
    if the metric is undefined in it. Groups with too few rows in a stratum are left out
    there, and compared in the others. Rows of weight zero do not count.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_difference, values_by_stratum
    >>> values_by_stratum(
    ...     demographic_parity_difference,
    ...     None,
    ...     [1, 0, 1, 1, 0, 0, 1],
    ...     sensitive_features=["F", "F", "M", "M", "F", "M", "M"],
    ...     control_features=["a", "a", "a", "a", "b", "b", "c"],
    ... )
       value  n_rows  weight                           reason
    a    0.5       4     4.0
    b    0.0       2     2.0
    c    NaN       1     1.0  only the group 'M' has rows
    """
    n_samples = len(as_array(y_score, "y_score"))
    if n_samples == 0:
        raise ValueError("y_score has 0 rows, expected at least one.")
    results, _ = results_by_stratum(
        metric,
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
    )
    undefined = [one.result is None for one in results]
    names = resolve_strata(control_features, n_samples=n_samples).names
    return pd.DataFrame(
        {
            "value": np.array(
                [
                    math.nan if empty else one.result
                    for one, empty in zip(results, undefined, strict=True)
                ],
                dtype=np.float64,
            ),
            "n_rows": [one.stratum.n_rows for one in results],
            "weight": [one.stratum.weight for one in results],
            "reason": [one.reason for one in results],
        },
        index=group_index([one.stratum.label for one in results], names),
    )
