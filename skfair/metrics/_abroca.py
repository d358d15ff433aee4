"""Area between the ROC curves of groups: ABROCA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._validation import check_numbers
from skfair.metrics._inputs import Multigroup
from skfair.metrics._metric import MetricOfPairs, evaluates
from skfair.metrics._pairs import Located, PairGaps, compared_groups
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import lacks_labels
from skfair.statistics._labels import encode_classes

#: False and true positive rates at each threshold, from (0, 0) to (1, 1).
Curve: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Rows of two classes in the order of their scores."""

    rows: Rows

    @classmethod
    def from_rows(cls, rows: Rows) -> SortedRows:
        """Sort checked rows, unless they are in order."""
        return cls(rows.ordered().grouped())

    @property
    def labels(self) -> Any:
        """Labels of the groups."""
        return self.rows.labels

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.rows.n_groups

    @property
    def min_group_size(self) -> int:
        """Smallest number of rows with which a group may be compared."""
        return self.rows.groups.min_group_size

    @property
    def counts(self) -> Integers:
        """Number of rows of each group."""
        return np.bincount(self.rows.groups.codes, self.rows.n, self.n_groups)

    @property
    def label_counts(self) -> Integers:
        """Number of rows of each group and true label, of shape (n_groups, 2)."""
        cells = self.rows.groups.codes * np.intp(2) + self.rows.y_true
        counts = np.bincount(cells, self.rows.n, 2 * self.n_groups)
        return np.asarray(counts.reshape(-1, 2), np.intp)

    def curve(self, group: int | None) -> Curve:
        """Return the ROC curve of a group, or of everyone (None)."""
        rows = self.rows
        if group is not None:
            rows = rows[rows.groups.codes == group]
        weights = np.ones(len(rows), np.intp) if rows.mass is None else rows.mass
        return _roc_curve(rows.y_pred[::-1], rows.y_true[::-1], weights[::-1])


@dataclass(frozen=True, kw_only=True)
class ABROCA(MetricOfPairs):
    """Largest area between the ROC curves of groups."""

    inputs = ("y_true", "y_score")
    exchangeable = "same true label"

    def check(self, rows: Rows) -> Rows:
        """Check scores, and true labels, of which the last class is positive."""
        scores = check_numbers(rows.y_pred, "y_score")
        codes, classes = encode_classes("y_true", rows.y_true)
        if len(classes) > 2:
            raise ValueError(
                f"y_true must be binary, got {len(classes)} classes: "
                f"{list(classes[:5])}."
            )
        positive = codes == len(classes) - 1
        return replace(rows, y_true=positive, y_pred=scores, classes=classes)

    def collect(self, rows: Rows) -> SortedRows:
        """Sort the rows that count."""
        return SortedRows.from_rows(rows)

    def why_undefined(self, statistic: SortedRows) -> tuple[str, str]:
        """Say why groups cannot be compared, and how to mend it; "" if they can."""
        reason, advice = super().why_undefined(statistic)
        if reason:
            return reason, advice
        classes, counts = statistic.rows.classes, statistic.label_counts
        if len(classes) < 2:
            return f"all rows have the true label {classes[0]!r}", ""
        return lacks_labels(statistic.labels, classes, counts, statistic.min_group_size)

    def rows_compared(
        self, statistic: SortedRows, located: Located
    ) -> tuple[Integers, str]:
        """Return how many rows of its rarer true label each group has."""
        return statistic.label_counts.min(axis=1), " of a true label"

    def gaps(self, statistic: SortedRows) -> PairGaps:
        """Find the areas of all pairs, nan where a group has too few labels."""
        enough = statistic.label_counts.min(axis=1) >= max(statistic.min_group_size, 1)
        first, second = compared_groups(statistic.n_groups, self.multigroup)
        curves = {g: statistic.curve(g) for g in np.flatnonzero(enough).tolist()}
        overall = statistic.curve(None) if second is None else None
        others = [None] * len(first) if second is None else second.tolist()
        values = np.full((1, len(first)), np.nan)
        for i, (group, other) in enumerate(zip(first.tolist(), others, strict=True)):
            ours, theirs = curves.get(group), curves.get(other, overall)
            if ours is not None and theirs is not None:
                values[0, i] = _area_between(ours, theirs)
        return PairGaps(first, second, values, statistic.counts[np.newaxis])

    def locate(self, statistic: SortedRows) -> Located:
        """Find the largest area, and between which groups it is."""
        first, second, values, *_ = self.gaps(statistic)
        largest = int(values[0].argmax())
        other = None if second is None else int(second[largest])
        return Located(float(values[0, largest]), (int(first[largest]), other))


@evaluates(ABROCA)
def abroca(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Area between the ROC curves of groups, ABROCA.

    .. math::
        \\int_0^1 |ROC_a(t) - ROC_b(t)| \\, dt

    says how differently the scores separate the classes within the groups, averaged
    over false positive rates. ABROCA is never below the difference of the areas under
    the curves, and also sees curves that cross. It compares how scores rank the rows
    within each group: a group whose scores are all too low by the same amount, so that
    one threshold selects hardly anyone in it, has the same curve. `mcdp` sees such a
    difference, and `equalized_odds_difference` does at the threshold used.

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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
        two classes, lengths that differ, missing groups, or pairs of more than 64
        groups.

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
    metric = ABROCA(multigroup=multigroup, multistratum=multistratum)
    return metric(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


def _roc_curve(scores: Floats, positive: Bools, weights: NDArray[Any]) -> Curve:
    """Return the ROC curve of rows in order of decreasing score."""
    last = np.append(scores[1:] != scores[:-1], True)
    true = np.cumsum(np.where(positive, weights, 0))[last]
    false = np.cumsum(np.where(positive, 0, weights))[last]
    return np.append(0, false / false[-1]), np.append(0, true / true[-1])


def _area_between(first: Curve, second: Curve) -> float:
    """Return the area between two piecewise linear curves."""
    edges = np.union1d(first[0], second[0])
    left = _heights_after(first, edges[:-1]) - _heights_after(second, edges[:-1])
    right = _heights_before(first, edges[1:]) - _heights_before(second, edges[1:])
    sizes = np.abs(left) + np.abs(right)
    # Where the curves cross, two triangles: (left**2 + right**2) / (2 * sizes).
    crossing = quotients(left**2 + right**2, sizes)
    heights = np.where(left * right < 0, crossing, sizes) / 2
    return float(np.diff(edges) @ heights)


def _heights_after(curve: Curve, at: Floats) -> Floats:
    """Return the heights of a curve just right of some places in [0, 1)."""
    x, y = curve
    i = np.searchsorted(x, at, side="right") - 1
    share = (at - x[i]) / (x[i + 1] - x[i])
    return np.asarray(y[i] + share * (y[i + 1] - y[i]))


def _heights_before(curve: Curve, at: Floats) -> Floats:
    """Return the heights of a curve just left of some places in (0, 1]."""
    x, y = curve
    i = np.searchsorted(x, at, side="left")
    share = (x[i] - at) / (x[i] - x[i - 1])
    return np.asarray(y[i] - share * (y[i] - y[i - 1]))
