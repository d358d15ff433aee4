"""Removal of the sensitive columns from X."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from skfair.groups import Selector


def drop_columns(X: Any, selector: Selector | None) -> Any:
    """X without the columns that a selector names, in the same container.

    Parameters
    ----------
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
    selector : str, int, list of str, or list of int

    Returns
    -------
    X of shape (n_samples, n_others)

    Raises
    ------
    ValueError
        If the selector does not name columns.
    """
    if selector is None or callable(selector):
        raise ValueError(
            "drop_sensitive=True needs sensitive_features to name columns of X, got "
            f"sensitive_features={selector!r}."
        )
    wanted: list[Any] = (
        list(selector) if isinstance(selector, (list, tuple)) else [selector]
    )
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = frame.columns
        return frame.drop(
            [column if isinstance(column, str) else names[column] for column in wanted]
        ).to_native()
    array = X if hasattr(X, "shape") else np.asarray(X)
    kept = np.ones(array.shape[1], dtype=bool)
    kept[wanted] = False
    return array[:, np.flatnonzero(kept)]
