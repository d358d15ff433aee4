"""Equalized odds difference, for any number of classes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair.metrics._evaluate import always, specify
from skfair.metrics._inputs import Multigroup, grouped_confusion
from skfair.metrics._pairs import Located, PairGaps, differences, locate_largest
from skfair.metrics._spec import Countable
from skfair.metrics._strata import Multistratum, largest_defined
from skfair.metrics._undefined import warn_if_labels_are_few, warn_if_undefined
from skfair.statistics import GroupedConfusion
from skfair.statistics._grouped_confusion import encode_label_pairs


def _rows_of_pairs(rows: Rows) -> Countable:
    """Read true and predicted labels."""
    cells, classes = encode_label_pairs(rows.y_true, rows.y_pred)
    true, predicted = np.divmod(cells, len(classes))
    rows = replace(rows, y_true=true, y_pred=predicted, classes=classes)
    return Countable(rows, GroupedConfusion._from_rows)


def pairs_of_odds(
    statistic: GroupedConfusion,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
) -> PairGaps:
    """Gaps between error rates, in a cell for each true and predicted class.

    Of two predicted classes the share of one determines that of the other.
    """
    classes = statistic.classes
    true = np.flatnonzero(statistic.label_counts.any(axis=0))
    first = 1 if len(classes) == 2 else 0
    kept = comparable_cells(statistic)[:, true, np.newaxis]
    rates = np.where(kept, statistic.confusion[:, true, first:], np.nan)
    pooled = np.where(kept, statistic.matrices[:, true], 0).sum(axis=0)
    everyone = quotients(pooled, pooled.sum(axis=1, keepdims=True), np.nan)[:, first:]
    sizes = np.repeat(statistic.label_counts[:, true].T, rates.shape[2], axis=0)
    return differences(
        rates.reshape(len(rates), -1).T,
        everyone.ravel(),
        sizes,
        multigroup,
        among,
        cells=tuple(
            {"label": classes[i], "prediction": prediction}
            for i in true.tolist()
            for prediction in classes[first:]
        ),
    )


def locate_odds(
    statistic: GroupedConfusion, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the largest difference of error rates, of the cells of enough rows."""
    kept = comparable_cells(statistic)
    true_classes = np.flatnonzero(kept.any(axis=0))
    if not len(true_classes):
        return Located(math.nan, (0, None))
    rates, everyone = rates_of_errors(statistic)
    if multigroup == "pairwise":
        gaps = np.nanmax(rates, axis=0) - np.nanmin(rates, axis=0)
    else:
        gaps = np.nanmax(np.abs(rates - everyone), axis=0)
    value = float(gaps.max())
    # Of two predicted classes the rates of one determine those of the other.
    start = 1 if len(statistic.classes) == 2 else 0
    row, column = np.unravel_index(gaps[:, start:].argmax(), gaps[:, start:].shape)
    true, predicted = int(true_classes[row]), int(column) + start
    groups = np.flatnonzero(kept[:, true])
    of_all = float(everyone[row, predicted])
    found = locate_largest(value, rates[groups, row, predicted], of_all, multigroup)
    sizes = statistic.matrices[groups, true].sum(axis=1)
    first, second = found.pair
    return found._replace(
        pair=(int(groups[first]), None if second is None else int(groups[second])),
        cell=(true, predicted),
        sizes=(sizes[first], sizes.sum() if second is None else sizes[second]),
    )


@specify(
    statistic=GroupedConfusion,
    compares_errors=always,
    countable=_rows_of_pairs,
    pairs=pairs_of_odds,
    locate=locate_odds,
)
def equalized_odds_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedConfusion,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of P(prediction | true label).

    With two classes it is the larger of the differences of true and of false positive
    rates. Unlike `dcp` it does not say how many people are concerned: the rates of a
    rare class count as much as those of any other.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of any number of classes; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedConfusion
        Predicted labels, or a statistic in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 is equalized odds. nan with a warning where it is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On missing or continuous labels, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared, or a group has no row of a true
        label, or fewer than the `min_group_size` of its `Groups`. With the true labels
        as `control_features` such groups are left out among the rows of the label, with
        a warning, and the others compared.

    See Also
    --------
    dcp : The share of people whose predictions differ from a common baseline.
    true_positive_rate_difference : The gap of one of the rates.
    false_positive_rate_difference : The gap of the other.

    References
    ----------
    .. [1] Hardt, Price, Srebro. "Equality of Opportunity in Supervised Learning".
       NeurIPS 2016.
    .. [2] Putzel, Lee. "Blackbox Post-Processing for Multiclass Fairness". 2022. The
       term-by-term multiclass form.

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_difference
    >>> y_true = ["cat", "cat", "dog", "dog"] * 2
    >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
    >>> equalized_odds_difference(
    ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
    ... )
    0.5
    """
    statistic = grouped_confusion(y_true, y_pred, sensitive_features, sample_weight)
    name = "equalized_odds_difference"
    true = statistic.label_counts.sum(axis=0) > 0
    if warn_if_undefined(name, statistic) or warn_if_labels_are_few(
        name,
        statistic.labels,
        [c for c, is_true in zip(statistic.classes, true, strict=True) if is_true],
        statistic.label_counts[:, true],
        statistic.min_group_size,
    ):
        return math.nan
    return locate_odds(statistic, multigroup=multigroup).value


@specify(
    statistic=GroupedConfusion,
    compares_errors=always,
    combine=largest_defined,
    leaves_groups_out=True,
    pairs=pairs_of_odds,
    locate=locate_odds,
)
def difference_of_comparable_odds(
    y_true: None, y_pred: GroupedConfusion, *, multigroup: Multigroup = "pairwise"
) -> float:
    """Largest difference of error rates, without the cells of too few rows."""
    return locate_odds(y_pred, multigroup=multigroup).value


def comparable_cells(statistic: GroupedConfusion) -> Bools:
    """Whether each group has enough rows of each true class, and another group, too."""
    enough = statistic.label_counts >= max(statistic.min_group_size, 1)
    return np.asarray(enough & (enough.sum(axis=0) > 1))


def rates_of_errors(statistic: GroupedConfusion) -> tuple[Floats, Floats]:
    """P(prediction | true class) of each group, and of all groups that are compared.

    It is nan for groups with too few rows of the class. Classes for which fewer than
    two groups are compared are left out.
    """
    kept = comparable_cells(statistic)
    true = kept.any(axis=0)
    kept = kept[:, true, np.newaxis]
    rates = np.where(kept, statistic.confusion[:, true], np.nan)
    pooled = np.where(kept, statistic.matrices[:, true], 0).sum(axis=0)
    return rates, pooled / pooled.sum(axis=1, keepdims=True)
