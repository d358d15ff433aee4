"""The interval of minDCP, and confusion matrices that attain its upper end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._dcp._channel._channel import Carried, Frequencies
from skfair.metrics._dcp._search._rows import Floats


@dataclass(frozen=True, eq=False)
class MinDCPResult:
    """Interval of the least DCP that published frequencies allow.

    Attributes
    ----------
    lower, upper : float in [0, 1]
        No classifier with these frequencies has a DCP below `lower`; the one with the
        matrices `confusion` has a DCP of at most `upper`.
    optimal : bool
        Whether the interval is no longer than the tolerance.
    n_starts : int
        Local searches that were followed.
    message : str
        How the search ended.
    baseline : ndarray of shape (n_classes, n_classes)
        The common confusion matrix.
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
        A confusion matrix for each group that gives its frequencies.
    eta : ndarray of shape (n_groups, n_classes)
        Share of each group's people of each true label that the baseline does not
        explain; nan where there are none.
    weights : ndarray of shape (n_groups, n_classes)
        Share of the population in each group and true label.

    See Also
    --------
    min_dcp_bounds : Makes one.
    """

    lower: float
    upper: float
    optimal: bool
    n_starts: int
    message: str
    baseline: Floats = field(repr=False)
    confusion: Floats = field(repr=False)
    eta: Floats = field(repr=False)
    weights: Floats = field(repr=False)


def complete(found: Carried, data: Frequencies) -> Floats:
    """Confusion matrices that a channel and what it carries stand for.

    What the channel does not carry of the true labels is spread over the predictions
    that are not yet accounted for, in proportion to both.

    Parameters
    ----------
    found : Carried
    data : Frequencies

    Returns
    -------
    ndarray of shape (n_groups, n_classes, n_classes)
        Rows of labels that a group never has are those of the channel.
    """
    left_true = data.true - found.carried
    left_predicted = np.maximum(data.predicted - found.carried @ found.channel, 0.0)
    totals = left_predicted.sum(axis=1)[:, None, None]
    joint = found.carried[:, :, None] * found.channel
    product = left_true[:, :, None] * left_predicted[:, None, :]
    joint += np.divide(product, totals, out=np.zeros_like(product), where=totals > 0)
    confusion = np.tile(found.channel, (len(data.true), 1, 1))
    sums = joint.sum(axis=2, keepdims=True)
    np.divide(joint, sums, out=confusion, where=sums > 0)
    return confusion


def largest_violation(confusion: Floats, data: Frequencies) -> float:
    """How far confusion matrices miss a constraint at most.

    Parameters
    ----------
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
    data : Frequencies

    Returns
    -------
    float
    """
    predicted = np.einsum("ay,ayz->az", data.true, confusion)
    misses: list[NDArray[np.float64]] = [
        np.abs(predicted - data.predicted),
        np.abs(confusion.sum(axis=2) - 1),
        np.maximum(-confusion, 0.0),
    ]
    return float(max(miss.max() for miss in misses))
