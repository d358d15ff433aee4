"""Every disparity of one model and one attribute, for any choice of rows.

All metrics of a resample are computed from the same rows, drawn as `bootstrap_interval`
and `permutation_test` draw them, so that either gives the numbers of the report again.
Scores are sorted once: a resample only counts how often each of them was drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    cvar_fairness,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    max_gap,
)
from skfair.metrics._dcp._search._enumeration import n_vertices
from skfair.metrics._distribution._gap import LargestGap
from skfair.metrics._distribution._score_grid import ScoreGrid
from skfair.metrics._uncertainty._bootstrap import stratified_draws
from skfair.metrics._uncertainty._resampling import check_seed
from skfair.report._audit import Attribute, Audit, Model
from skfair.report._measures import OF_ERRORS, OF_SCORES
from skfair.statistics import GroupedConfusion, GroupedOutcomes

#: DCP is searched again in each resample up to this many vertices: milliseconds.
_FEW_VERTICES = 1000

Values = dict[str, float]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of one model and one attribute.

    Attributes
    ----------
    model : Model
    attribute : Attribute
    audit : Audit
    keys : tuple of str
        The metrics to compute.
    grid : ScoreGrid or None
        The sorted scores, where the model has any.
    """

    model: Model
    attribute: Attribute
    audit: Audit
    keys: tuple[str, ...]
    grid: ScoreGrid | None

    @property
    def resampled_keys(self) -> tuple[str, ...]:
        """The metrics that are fast enough to be computed hundreds of times."""
        shape = len(self.attribute.groups.labels), len(self.audit.classes)
        slow = n_vertices(*shape) > _FEW_VERTICES
        return tuple(key for key in self.keys if not (slow and key == "dcp"))

    def confusion(self, rows: NDArray[np.intp]) -> GroupedConfusion:
        """Confusion matrices of rows, laid out group after group.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
            As many positions for each group as it has rows, in the order of groups.

        Returns
        -------
        GroupedConfusion
            Without true labels all rows count as of the first class.
        """
        groups, n_classes = self.attribute.groups, len(self.audit.classes)
        sizes, weights = groups.sizes(), self.audit.sample_weight
        cells = np.repeat(np.arange(len(sizes)) * n_classes**2, sizes)
        cells += self.model.y_pred[rows]
        if self.audit.y_true is not None:
            cells += self.audit.y_true[rows] * n_classes
        counted = None if weights is None else weights[rows]
        matrices = np.bincount(cells, counted, len(sizes) * n_classes**2)
        return GroupedConfusion(
            matrices.reshape(len(sizes), n_classes, n_classes),
            sizes,
            self.audit.classes,
            groups.labels,
            groups.names,
        )

    def values(self, rows: NDArray[np.intp], keys: tuple[str, ...]) -> Values:
        """Compute metrics on rows, laid out as for `confusion`.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
        keys : tuple of str

        Returns
        -------
        dict of str to float
            nan where a metric is undefined on these rows.
        """
        confusion = self.confusion(rows)
        values = self._decision_values(confusion, keys)
        if self.grid is not None:
            found = self.score_disparities(rows, keys)
            values |= {key: gap.value for key, gap in found.items()}
        return values

    def score_disparities(
        self, rows: NDArray[np.intp], keys: tuple[str, ...]
    ) -> dict[str, LargestGap]:
        """Compute the metrics of score distributions, and where each is attained.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
        keys : tuple of str

        Returns
        -------
        dict of str to LargestGap
            Empty without scores.
        """
        wanted = [key for key in OF_SCORES if key in keys]
        if self.grid is None or not wanted:
            return {}
        parts = np.split(rows, np.cumsum(self.attribute.groups.sizes())[:-1])
        epsilon = self.audit.options.epsilon
        return self.grid.largest_gaps(parts, self.attribute.comparison, wanted, epsilon)

    def _decision_values(
        self, confusion: GroupedConfusion, keys: tuple[str, ...]
    ) -> Values:
        selected, how = outcomes(confusion), self.attribute.comparison
        calls: dict[str, Callable[[], float]] = {
            "demographic_parity_difference": lambda: demographic_parity_difference(
                None, selected, multigroup=how
            ),
            "max_gap": lambda: max_gap(None, selected),
            "cvar_fairness": lambda: cvar_fairness(
                None, selected, alpha=self.audit.options.alpha
            ),
            "equalized_odds_difference": lambda: equalized_odds_difference(
                None, confusion, multigroup=how
            ),
            "dcp": lambda: dcp(None, confusion),
        }
        return {key: call() for key, call in calls.items() if key in keys}


def outcomes(confusion: GroupedConfusion) -> GroupedOutcomes:
    """Positive decisions of each group.

    Parameters
    ----------
    confusion : GroupedConfusion
        Of two classes.

    Returns
    -------
    GroupedOutcomes
    """
    totals = confusion.totals
    return GroupedOutcomes(
        confusion.matrices[:, :, -1].sum(axis=1),
        totals,
        totals,
        confusion.counts,
        confusion.labels,
        confusion.names,
    )


def observed_rows(sample: Sample) -> NDArray[np.intp]:
    """Rows as given, group after group.

    Parameters
    ----------
    sample : Sample

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    return _laid_out(sample.attribute.groups.codes)


def resample(
    sample: Sample,
    kind: str,
    n_draws: int,
    tick: Callable[[], Any] = lambda: None,
) -> dict[str, NDArray[np.float64]]:
    """Compute the metrics on many draws of rows.

    Parameters
    ----------
    sample : Sample
    kind : {"bootstrap", "permutation"}
        Draw rows within each group, or deal rows to groups at random: for metrics of
        errors, rows of each true label among themselves. Equalized odds allow groups
        to differ in their labels, and a group with few positives has noisy rates.
    n_draws : int
    tick : callable
        Called after each draw.

    Returns
    -------
    dict of str to ndarray of shape (n_draws,)
    """
    keys = sample.resampled_keys
    drawn = {key: np.full(n_draws, np.nan) for key in keys}
    generator = check_seed(sample.audit.options.seed)
    draws = _bootstraps if kind == "bootstrap" else _permutations
    with warnings.catch_warnings():
        # Undefined draws are counted, and the count is reported.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for i, parts in zip(range(n_draws), draws(sample, generator), strict=False):
            for rows, kept in parts:
                for key, value in sample.values(rows, kept).items():
                    drawn[key][i] = value
            tick()
    return drawn


#: Rows of a draw, and the metrics that are computed on them.
Parts = list[tuple[NDArray[np.intp], tuple[str, ...]]]


def _bootstraps(sample: Sample, generator: np.random.Generator) -> Iterator[Parts]:
    draw = stratified_draws(sample.attribute.groups, generator)
    while True:
        yield [(draw(), sample.resampled_keys)]


def _permutations(sample: Sample, generator: np.random.Generator) -> Iterator[Parts]:
    codes, y_true = sample.attribute.groups.codes, sample.audit.y_true
    errors = tuple(key for key in sample.resampled_keys if key in OF_ERRORS)
    others = tuple(key for key in sample.resampled_keys if key not in OF_ERRORS)
    # A generator of its own, so that the other numbers are those of permutation_test.
    within = check_seed(sample.audit.options.seed)
    labels = () if y_true is None else range(len(sample.audit.classes))
    same_label = [np.flatnonzero(y_true == label) for label in labels]
    while True:
        parts = [(_laid_out(generator.permutation(codes)), others)]
        if errors:
            shuffled = codes.copy()
            for rows in same_label:
                shuffled[rows] = within.permutation(codes[rows])
            parts.append((_laid_out(shuffled), errors))
        yield parts


def _laid_out(codes: NDArray[np.integer]) -> NDArray[np.intp]:
    """Positions of the rows that have a group, sorted by group."""
    n_without = int(np.count_nonzero(codes < 0))
    return np.argsort(codes, kind="stable")[n_without:]
