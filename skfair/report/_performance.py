"""How well a model predicts, for everyone and for each group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, log_loss

from skfair.report._text import or_none


def performance(
    y_true: NDArray[np.intp] | None,
    y_pred: NDArray[np.intp],
    y_score: NDArray[np.float64] | None,
    n_classes: int,
    sample_weight: NDArray[Any] | None,
) -> dict[str, float | None]:
    """Measure the quality of predictions.

    Parameters
    ----------
    y_true : ndarray of shape (n_samples,) or None
        Classes from 0 to n_classes - 1.
    y_pred : ndarray of shape (n_samples,)
    y_score : ndarray of shape (n_samples,) or None
        Scores of class 1 of two.
    n_classes : int
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    dict
        "accuracy", "balanced_accuracy", "average_precision" and "log_loss"; None
        without true labels, without scores, or where a class has no row.
    """
    names = "accuracy", "balanced_accuracy", "average_precision", "log_loss"
    found: dict[str, float | None] = dict.fromkeys(names)
    if y_true is None:
        return found
    weights = np.ones(len(y_true)) if sample_weight is None else sample_weight
    hits = weights * (y_true == y_pred)
    sizes = np.bincount(y_true, weights, n_classes)
    right = np.bincount(y_true, hits, n_classes)
    found["accuracy"] = float(hits.sum() / weights.sum())
    recalls = np.full(n_classes, np.nan)
    np.divide(right, sizes, out=recalls, where=sizes > 0)
    found["balanced_accuracy"] = or_none(recalls.mean())
    if y_score is not None:
        found["log_loss"] = float(
            log_loss(y_true, y_score, labels=[0, 1], sample_weight=weights)
        )
        if sizes[1] > 0:
            found["average_precision"] = float(
                average_precision_score(y_true, y_score, sample_weight=weights)
            )
    return found
