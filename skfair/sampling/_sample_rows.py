"""Draw the rows of a sampling plan from a table."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skfair._cross_fit import take_rows
from skfair._utils._text import listed
from skfair._utils._validation import count_rows
from skfair.groups import (
    Groups,
    by_plain_label,
    labels_and_groups,
    resolve_groups,
    rows_by_code,
)


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
    kept = np.zeros(n_samples, dtype=bool)
    for rows, n_wanted in zip(by_group, wanted, strict=True):
        kept[order[rows[:n_wanted]]] = True
    return take_rows(table, np.flatnonzero(kept))


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
