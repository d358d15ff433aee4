"""Weights under which the log-loss has the gradient of a penalised log-loss."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from skfair.inprocessing._smooth_gap import Array

Form: TypeAlias = Literal["two_label", "sample_weight"]
FORMS: tuple[Form, ...] = ("two_label", "sample_weight")

#: How firmly a row is held where it is, at least, and for each unit that a push would
#: move its log-odds to first order; see `two_label_weights`.
_HOLD, _HOLD_OF_PUSH = 0.2, 0.5
#: Largest weight of a row with its own label alone.
_LARGEST_SINGLE = 10.0


def two_label_weights(y: Array, p: Array, push: Array) -> Array:
    r"""Weights of every row with label 0 and with label 1.

    With the residual :math:`r = y - p - \mathrm{push}`, minus the derivative of the
    penalised log-loss in the log-odds, a row weighs

    .. math::
        h (1 - p) + \max(-r, 0) / p \quad \text{with label 0}, \qquad
        h p + \max(r, 0) / (1 - p) \quad \text{with label 1}.

    At p the weighted log-loss then has the derivative :math:`-r`, for every
    :math:`h \geq 0`, and h holds the new scores near p.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        0 or 1.
    p : ndarray of shape (n_samples,)
        Probabilities of label 1, inside (0, 1).
    push : ndarray of shape (n_samples,)
        Derivative of the penalty, for one unit of the row's weight.

    Returns
    -------
    ndarray of shape (n_samples, 2)
        Non-negative.
    """
    residual = y - p - push
    # Alone, a push would move log-odds by log(1 + |push| / (h min(p, 1 - p))), which is
    # far for rows of a small group, whose pushes are large, and for rows near 0 or 1.
    # With h in proportion to it no push moves them further than
    # log(1 + 1 / _HOLD_OF_PUSH).
    hold = _HOLD + _HOLD_OF_PUSH * np.abs(push) / (p * (1 - p))
    return np.column_stack(
        [
            hold * (1 - p) + np.maximum(-residual, 0) / p,
            hold * p + np.maximum(residual, 0) / (1 - p),
        ]
    )


def single_label_weights(y: Array, p: Array, push: Array) -> Array:
    """Weights of every row with its own label, which cannot turn a row around.

    A row whose penalty outweighs its label gets weight 0, and none more than 10, which
    rows of a small group would exceed by far.

    Parameters
    ----------
    y, p, push : ndarray of shape (n_samples,)
        As in `two_label_weights`.

    Returns
    -------
    ndarray of shape (n_samples, 2)
        Non-negative, 0 for the other label.
    """
    weights = np.clip(1 - push / (y - p), 0, _LARGEST_SINGLE)
    return np.column_stack([(1 - y) * weights, y * weights])
