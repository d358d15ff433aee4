"""Weights of training rows that make the label independent of the group."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import read_arrays
from skfair._utils._arrays import Floats, quotients
from skfair._utils._text import listed
from skfair._utils._validation import check_no_missing, check_shape, refuse_scores
from skfair._utils._warnings import warn_user
from skfair.groups import encode_column


def reweighing_weights(
    y: ArrayLike,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Weigh rows so that label and group are independent in the training data.

    A row of group g with label y has the weight P(g) P(y) / P(g, y), with shares of the
    rows. With these weights the label is as frequent in each group as in all rows, and
    groups and labels keep their totals. It is the cheapest mitigation: any classifier
    whose `fit` takes `sample_weight` is fitted once, and needs no groups in prediction.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of each row, one of two or more.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
or Groups
        Group of each row; several columns stand for their intersection. Rows without a
        group in a `Groups` keep their weight.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row: label and group become independent within each stratum. The
        label may still be more frequent in one stratum than in another. Rows without a
        stratum in a `Groups` keep their weight.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the rows, with which shares are counted, and which the
        result is multiplied with.

    Returns
    -------
    ndarray of shape (n_samples,)
        Non-negative weights. Their sum is that of `sample_weight`, or the number of
        rows, where each group has rows of each label.

    Raises
    ------
    ValueError
        If `y` is continuous or has missing values, if lengths differ, if groups are
        missing, or if weights are negative or zero for all rows of a group.

    Warns
    -----
    UserWarning
        If a group has no rows of a label that others have, which no weights can
        balance.

    See Also
    --------
    MCDPReweighter : Weights by fair scores; a much smaller gap for 13 fits.
    skfair.postprocessing.UnawarePostProcessor : Repairs scores without the group.

    Notes
    -----
    The classifier may still tell the groups apart by its features, so that its scores
    differ between groups, though less than without weights.

    In a search the weights must be computed in `fit`, of the rows of each fold, by an
    estimator of a few lines: see the example ``reweigh.py``.

    References
    ----------
    .. [1] Kamiran, Calders. "Data preprocessing techniques for classification without
       discrimination". Knowledge and Information Systems 33, 2012. Algorithm 3.

    Examples
    --------
    >>> from skfair.inprocessing import reweighing_weights
    >>> sex = ["F", "F", "F", "M", "M", "M"]
    >>> y = [1, 0, 0, 1, 1, 0]
    >>> reweighing_weights(y, sensitive_features=sex)
    array([1.5 , 0.75, 0.75, 0.75, 0.75, 1.5 ])
    """
    rows = read_arrays(
        None, y, sensitive_features, control_features, sample_weight, name="y"
    )
    check_shape(rows.y_pred, "y")
    refuse_scores(rows.y_pred, "y")
    check_no_missing(rows.y_pred, "y")
    codes, labels = encode_column(rows.y_pred, "raise", None, "y")
    weights, absent = np.array(rows.weights), []
    for stratum, positions in rows.split_by_stratum():
        table = np.zeros((rows.n_groups, len(labels)))
        cells = rows.groups.codes[positions], codes[positions]
        np.add.at(table, cells, weights[positions])
        expected = np.outer(table.sum(axis=1), table.sum(axis=0))
        weights[positions] *= quotients(expected, table * table.sum())[cells]
        where = "" if stratum is None else f" in stratum {stratum!r}"
        absent += [
            f"group {rows.labels[group]!r} has no row of label {labels[label]!r}{where}"
            for group, label in np.argwhere((table == 0) & (expected > 0)).tolist()
        ]
    if absent:
        warn_user(f"Weights leave label and group dependent: {listed(absent)}.")
    return weights
