"""Plans of how many rows of each group to draw, and the draws."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from skfair._rows import take_rows
from skfair._utils._arrays import Floats
from skfair._utils._text import listed
from skfair._utils._validation import check_integer, check_real, count_rows
from skfair.groups import (
    Groups,
    by_plain_label,
    labels_and_groups,
    resolve_groups,
    rows_by_code,
)
from skfair.metrics._cvar_fairness import EXPONENT, weighted_shares
from skfair.metrics._inputs import check_group_weights


def weighted_sampling(
    group_weights: Mapping[Any, float] | ArrayLike,
    n: int,
    *,
    exponent: float = EXPONENT,
    random_state: int | np.random.RandomState | None = None,
) -> pd.Series:
    """Draw n rows independently, each from a group with probability weight**exponent.

    Probabilities are scaled to sum to one.

    Parameters
    ----------
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    n : int
        Number of rows.
    exponent : float, default=2/3
        Power of the weights: 2/3 needs the fewest rows; with 1 probabilities are the
        weights, with 0 they are equal.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Series of length n_groups
        Number of rows of each group, n in total, indexed by the keys of
        `group_weights`, or by position.

    Raises
    ------
    ValueError
        If weights are negative or all zero, or another parameter is out of range.

    See Also
    --------
    sample_rows : Draw the rows of a plan from a table.
    skfair.metrics.cvar_fairness_test : With ``sampling="weighted"``.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 5,
       corollary 1.

    Examples
    --------
    >>> from skfair.sampling import weighted_sampling
    >>> weighted_sampling({"F": 0.5, "M": 0.5}, 10, random_state=0).to_dict()
    {'F': 5, 'M': 5}
    """
    labels, weights = read_weights(group_weights)
    n = check_integer("n", n, 1)
    shares = weighted_shares(weights, exponent)
    counts = check_random_state(random_state).multinomial(n, shares)
    return _as_series(counts, labels)


def attribute_specific_sampling(
    group_weights: Mapping[Any, float] | ArrayLike,
    n: int,
    *,
    gamma: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> pd.Series:
    """Draw groups at random, and the same number of rows from each of them.

    At least two rows of every group must be available. The number of rows that a test
    needs then does not depend on the number of groups, if all weights are small.

    Parameters
    ----------
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    n : int
        Expected number of rows, at least 2. It is somewhat less if a probability is
        cut at 1 or the number of rows of a group is rounded down.
    gamma : float, default=None
        A group is drawn with probability ``min(1, gamma * weight)``, and ``n / gamma``
        rows of it, rounded down, at least two. None means n / 2, which gives two rows
        of each group drawn. If a probability would exceed 1 then, it means about 1
        over the largest weight, which gives more rows of each group drawn.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Series of length n_groups
        Number of rows of each group, indexed by the keys of `group_weights`, or by
        position.

    Raises
    ------
    ValueError
        If weights are negative or all zero, or `gamma` and `n` give fewer than two
        rows of a group.

    See Also
    --------
    sample_rows : Draw the rows of a plan from a table.
    skfair.metrics.cvar_fairness_test : With ``sampling="attribute_specific"``.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 6, theorem
       2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.sampling import attribute_specific_sampling
    >>> counts = attribute_specific_sampling(np.full(100, 0.01), 20, random_state=0)
    >>> counts[counts > 0].unique()
    array([2])
    """
    labels, weights = read_weights(group_weights)
    n = check_integer("n", n, 1)
    n_rows, probabilities = attribute_specific_plan(weights, n, gamma)
    sampled = check_random_state(random_state).random_sample(len(weights))
    return _as_series(n_rows * (sampled < probabilities), labels)


def attribute_specific_plan(
    weights: Floats, n: int, gamma: float | None = None
) -> tuple[int, Floats]:
    """Return the rows of a sampled group, and the chance of each group to be one."""
    if gamma is None:
        if n < 2:
            raise ValueError(f"n must be at least 2, two rows of a group, got {n}.")
        # gamma is n / 2, or less if the largest probability would exceed 1 then. Rows
        # are rounded down, which rounds gamma up: if all weights are equal, every
        # group is sampled.
        n_rows = max(2, int(n * weights.max() * (1 + 1e-9)))
        return n_rows, np.minimum(1, n / n_rows * weights)
    gamma = check_real("gamma", gamma, n / sys.maxsize, math.inf, closed="neither")
    n_rows = int(n / gamma * (1 + 1e-9))
    if n_rows < 2:
        raise ValueError(
            f"gamma must be at most n / 2 = {n / 2:g}, so that a sampled group has at "
            f"least two rows, got {gamma:g}."
        )
    return n_rows, np.minimum(1, gamma * weights)


def read_weights(
    group_weights: Mapping[Any, float] | ArrayLike, name: str = "group_weights"
) -> tuple[list[Any] | None, Floats]:
    """Return the labels of the groups, None for an array, and their scaled weights."""
    if isinstance(group_weights, Mapping | pd.Series):
        weights = dict(group_weights.items())
        labels = list(weights)
        return labels, check_group_weights(list(weights.values()), labels, name)
    return None, check_group_weights(group_weights, name=name)


def _as_series(counts: NDArray[Any], labels: list[Any] | None) -> pd.Series:
    """Return the rows of each group, indexed by its label where it has one."""
    index = None if labels is None else pd.Index(labels, tupleize_cols=False)
    return pd.Series(counts, index=index, name="n_rows", dtype=np.int64)


def sample_rows(
    X: Any,
    counts: Mapping[Any, int] | pd.Series,
    *,
    sensitive_features: Any,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Draw a given number of rows of each group, without replacement.

    Parameters
    ----------
    X : dataframe or array-like of shape (n_samples, n_features)
        Table to draw from.
    counts : mapping or Series
        Number of rows to draw by group label, as the sampling plans return it. No
        rows are drawn of groups that are not named.
    sensitive_features : str, int, list, callable, or array-like of shape \
(n_samples,) or (n_samples, n_columns)
        Columns of X that define the groups, a list for their intersection, or the
        group of each row as an array, Series, dataframe or `Groups`. A list with
        n_samples entries has the group of each row.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X_sample : of the type of X, of shape (n_drawn, n_features)
        The rows drawn, in the order of X.

    Raises
    ------
    TypeError
        If `counts` is neither a mapping nor a Series.
    ValueError
        If a group has fewer rows than its count, a count is not a whole number of at
        least 0, or X has no such column.

    See Also
    --------
    weighted_sampling, attribute_specific_sampling : Sampling plans.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.sampling import sample_rows
    >>> people = pd.DataFrame({"sex": ["F", "F", "M"], "age": [31, 47, 25]})
    >>> sample_rows(people, {"F": 1, "M": 1}, sensitive_features="sex",
    ...             random_state=0)
      sex  age
    1   F   47
    2   M   25
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    n_samples = count_rows(table)
    *_, groups = labels_and_groups(resolve_groups, sensitive_features, X)
    if not isinstance(counts, Mapping | pd.Series):
        raise TypeError(
            "counts must be a mapping or a Series of group label to number of rows, "
            f"got {type(counts).__name__}."
        )
    wanted = _check_counts(by_plain_label("counts", counts), groups)
    order = check_random_state(random_state).permutation(n_samples)
    by_group = rows_by_code(groups.codes[order], len(groups.labels))
    drawn = np.zeros(n_samples, dtype=bool)
    for rows, n_wanted in zip(by_group, wanted, strict=True):
        drawn[order[rows[:n_wanted]]] = True
    return take_rows(table, np.flatnonzero(drawn))


def _check_counts(counts: dict[Any, Any], groups: Groups) -> NDArray[np.int64]:
    """Return the counts in the order of the groups, if there are enough rows."""
    bad = {
        label: count
        for label, count in counts.items()
        if not (isinstance(count, Real) and float(count) >= 0 and count % 1 == 0)
    }
    if bad:
        label, count = next(iter(bad.items()))
        raise ValueError(
            f"counts must be whole numbers of at least 0, got {count!r} for {label!r}."
        )
    available = dict(zip(groups.labels, groups.sizes().tolist(), strict=True))
    short = [label for label, n in counts.items() if n > available.get(label, 0)]
    if short:
        named = [f"{k!r} ({available.get(k, 0)} of {counts[k]})" for k in short]
        raise ValueError(
            f"X has too few rows of {len(short)} groups that counts names: "
            f"{listed(named)}."
        )
    return np.array([counts.get(label, 0) for label in groups.labels], dtype=np.int64)
