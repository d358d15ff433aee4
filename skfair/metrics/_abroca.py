"""Area between the ROC curves of groups: ABROCA."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Countable, Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._validation import check_numbers, check_weights
from skfair.groups import Groups, drop_weightless, resolve_groups
from skfair.metrics._evaluate import Multistratum, always, specify
from skfair.metrics._inputs import (
    Multigroup,
    warn_if_labels_are_few,
    warn_if_undefined,
    warn_undefined,
)
from skfair.metrics._pairs import (
    Located,
    PairGaps,
    compared_groups,
    compared_pairs,
    largest_bounded,
)
from skfair.statistics import GroupedOutcomes
from skfair.statistics._grouped_confusion import encode_classes

#: False and true positive rates at each threshold, from (0, 0) to (1, 1).
Curve: TypeAlias = tuple[Floats, Floats]


def curve_of(rows: Rows) -> Curve:
    """ROC curve of rows in the order of their scores."""
    weights = np.ones(len(rows), np.intp) if rows.totals is None else rows.totals
    return _roc_curve(rows.y_pred[::-1], rows.y_true[::-1], weights[::-1])


def curves_of(rows: Rows) -> list[Curve | None]:
    """ROC curve of each group, None where it has too few rows of a true label."""
    codes, smallest = rows.groups.codes, max(rows.groups.min_group_size, 1)
    cells = codes * np.intp(2) + rows.y_true
    numbers = np.bincount(cells, minlength=2 * rows.n_groups).reshape(-1, 2)
    enough = numbers.min(axis=1) >= smallest
    return [
        curve_of(rows[codes == group]) if enough[group] else None
        for group in range(rows.n_groups)
    ]


def _rows_by_score(rows: Rows) -> Countable:
    """Read two classes, and sort scores."""
    scores = check_numbers(rows.y_pred, "y_score")
    positive, _ = _read_classes(rows.y_true, len(scores))
    rows = replace(rows, y_true=positive, y_pred=scores)
    return rows.ordered(), Rows.grouped


def locate_roc(rows: Rows, *, multigroup: Multigroup = "pairwise") -> Located:
    """Locate the largest area between two ROC curves, nan if a group has none."""
    curves = [curve for curve in curves_of(rows) if curve is not None]
    if len(curves) < rows.n_groups:
        return Located(math.nan, (0, None))
    return _largest_area(curves, curve_of(rows), multigroup)


def pairs_of_roc(
    statistic: Rows,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
) -> PairGaps:
    """Areas between the ROC curves of all pairs, nan where labels are too few."""
    curves, n_groups = curves_of(statistic), statistic.n_groups
    first, second = compared_groups(n_groups, multigroup, among)
    values = np.full(len(first), np.nan)
    everyone = curve_of(statistic) if second is None else None
    for i, group in enumerate(first.tolist()):
        ours = curves[group]
        theirs = everyone if second is None else curves[second[i]]
        if ours is not None and theirs is not None:
            values[i] = _area_between(ours, theirs)
    metric = None
    if among is not None:
        metric = locate_roc(statistic, multigroup=multigroup).value
    sizes = np.bincount(statistic.groups.codes, minlength=n_groups)[np.newaxis]
    return PairGaps(first, second, values[np.newaxis], sizes, metric=metric)


@specify(
    compares_errors=always,
    countable=_rows_by_score,
    pairs=pairs_of_roc,
    locate=locate_roc,
)
def abroca(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area between the ROC curves of groups, ABROCA.

    .. math::
        \\int_0^1 |ROC_a(t) - ROC_b(t)| \\, dt

    says how differently the scores separate the classes within the groups, averaged
    over false positive rates. Unlike the difference of the areas under the curves,
    which it is never below, it also sees curves that cross. It compares how scores rank
    the rows of one group with each other: a group whose scores are all too low by
    the same amount, so that one threshold selects hardly anyone in it, has the same
    curve. `mcdp` sees that, and `equalized_odds_difference` at the threshold used.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of two classes. It does not matter which is positive.
    y_score : array-like of shape (n_samples,)
        Probabilities, or any finite scores: only their order matters.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest area over pairs of groups, or over groups compared with everyone,
        the group included.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 if all ROC curves are the same. nan with a warning where it is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On scores that are not finite numbers, labels that are missing or of more than
        two classes, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared, or a group has no row of a true label,
        or fewer than the `min_group_size` of its `Groups`.

    See Also
    --------
    madd : Distance of the score distributions themselves, whatever the true labels.
    permutation_test : Test of ABROCA; groups are permuted within true labels.
    sklearn.metrics.roc_curve : The curves.

    Notes
    -----
    The integral is exact: curves are straight between thresholds, and rows with the
    same score make one straight piece. Noise alone makes ABROCA positive, the more so
    the smaller the smallest class of a group is: compare it with the values under
    permutation before saying that a model treats groups differently.

    References
    ----------
    .. [1] Gardner, Brooks, Baker. "Evaluating the Fairness of Predictive Student
       Models Through Slicing Analysis". LAK 2019. Equation 3.

    Examples
    --------
    >>> from skfair.metrics import abroca
    >>> y_true = [0, 0, 1, 1, 0, 0, 1, 1]
    >>> y_score = [0.1, 0.4, 0.6, 0.9, 0.2, 0.6, 0.5, 0.7]
    >>> abroca(y_true, y_score, sensitive_features=list("aaaabbbb"))
    0.25
    """
    scores = check_numbers(y_score, "y_score")
    positive, classes = _read_classes(y_true, len(scores))
    groups = resolve_groups(sensitive_features, n_samples=len(scores))
    statistic = GroupedOutcomes.from_outcomes(
        positive, sensitive_features=groups, sample_weight=sample_weight
    )
    if warn_if_undefined("abroca", statistic) or _lacks_rows(
        positive, classes, groups, sample_weight
    ):
        return math.nan
    weights = check_weights(sample_weight, len(scores))
    rows = Rows(replace(groups, min_group_size=1), None, positive, scores, weights)
    rows = rows[rows.that_count()].ordered()
    return locate_roc(rows, multigroup=multigroup).value


def _largest_area(
    curves: list[Curve], everyone: Curve, multigroup: Multigroup
) -> Located:
    """Largest area between two curves, or between a curve and everyone's.

    The area is a distance: the sum of two curves' distances from everyone's bounds it.
    """
    from_everyone = np.array([_area_between(curve, everyone) for curve in curves])
    if multigroup == "pooled":
        furthest = int(from_everyone.argmax())
        return Located(float(from_everyone[furthest]), (furthest, None))
    pairs = compared_pairs(len(curves), multigroup)
    bounds = from_everyone[np.array(pairs)].sum(axis=1)

    def area(i: int) -> float:
        first, second = pairs[i]
        assert second is not None
        return _area_between(curves[first], curves[second])

    return largest_bounded(pairs, bounds, area)


def _read_classes(
    y_true: ArrayLike | None, n_samples: int
) -> tuple[Bools, tuple[Hashable, ...]]:
    """Whether each true label is the last class, and the classes in their order."""
    codes, classes = encode_classes("y_true", y_true)
    if len(codes) != n_samples:
        raise ValueError(
            f"y_true must have shape ({n_samples},), one label for each row, got "
            f"({len(codes)},)."
        )
    if len(classes) > 2:
        raise ValueError(
            f"y_true must be binary, got {len(classes)} classes: {list(classes[:5])}."
        )
    return np.asarray(codes == len(classes) - 1), classes


def _lacks_rows(
    positive: Bools,
    classes: tuple[Hashable, ...],
    groups: Groups,
    sample_weight: ArrayLike | None,
) -> bool:
    """Whether a class, or a group of a class, has too few rows; if so, warn."""
    if len(classes) < 2:
        warn_undefined("abroca", f"all rows have the true label {classes[0]!r}")
        return True
    positive_rows, codes, _, sizes = drop_weightless(positive, groups, sample_weight)
    cells = codes * np.intp(2) + positive_rows
    counts = np.bincount(cells, minlength=2 * len(sizes)).reshape(-1, 2)
    return warn_if_labels_are_few(
        "abroca", groups.labels, classes, counts, groups.min_group_size
    )


def _roc_curve(scores: Floats, positive: Bools, weights: NDArray[Any]) -> Curve:
    """ROC curve of rows by decreasing score; equal scores make one straight piece."""
    last = np.append(scores[1:] != scores[:-1], True)
    true = np.cumsum(np.where(positive, weights, 0))[last]
    false = np.cumsum(np.where(positive, 0, weights))[last]
    return np.append(0, false / false[-1]), np.append(0, true / true[-1])


def _area_between(first: Curve, second: Curve) -> float:
    """Area between two curves, each of straight pieces, some of them vertical."""
    edges = np.union1d(first[0], second[0])
    left = _heights_after(first, edges[:-1]) - _heights_after(second, edges[:-1])
    right = _heights_before(first, edges[1:]) - _heights_before(second, edges[1:])
    sizes = np.abs(left) + np.abs(right)
    # Where the curves cross, two triangles: (left**2 + right**2) / (2 * sizes).
    crossing = quotients(left**2 + right**2, sizes)
    heights = np.where(left * right < 0, crossing, sizes) / 2
    return float(np.diff(edges) @ heights)


def _heights_after(curve: Curve, at: Floats) -> Floats:
    """Heights of a curve just right of some places in [0, 1)."""
    x, y = curve
    i = np.searchsorted(x, at, side="right") - 1
    share = (at - x[i]) / (x[i + 1] - x[i])
    return np.asarray(y[i] + share * (y[i + 1] - y[i]))


def _heights_before(curve: Curve, at: Floats) -> Floats:
    """Heights of a curve just left of some places in (0, 1]."""
    x, y = curve
    i = np.searchsorted(x, at, side="left")
    share = (x[i] - at) / (x[i] - x[i - 1])
    return np.asarray(y[i] - share * (y[i] - y[i - 1]))
