"""The metrics of one model and one attribute, for any choice of rows.

All metrics of a resample are computed from the same rows. Scores are sorted once: a
resample only counts how often each of them was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats, Integers
from skfair.groups import Groups
from skfair.metrics import (
    DCPResult,
    cvar_fairness,
    cvar_fairness_report,
    dcp,
    demographic_parity_difference,
    max_gap,
)
from skfair.metrics._distribution import (
    Count,
    LargestGap,
    Pair,
    ScoreGrid,
    cumulate,
)
from skfair.metrics._equalized_odds import (
    comparable_cells,
    largest_gap_of_errors,
    rates_of_errors,
    sum_of_differences,
)
from skfair.metrics._inputs import Multigroup
from skfair.report._inputs import Attribute, Audit, Model, mid_ranks, set_aside
from skfair.report._options import OF_DECISIONS, OF_SCORES, TIES, part_of
from skfair.statistics import GroupedConfusion, GroupedOutcomes

#: Seconds after which the search for a certificate of DCP ends.
DCP_SECONDS = 20.0
#: Points of a curve along each axis; more cannot be seen in a picture.
_N_POINTS = 150

Values = dict[str, float]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of one model and one attribute, and the metrics to compute.

    Rows are positions, sorted by group, as many for each group as it has.
    """

    model: Model
    attribute: Attribute
    audit: Audit
    keys: tuple[str, ...]
    grid: ScoreGrid | None

    @property
    def comparable(self) -> bool:
        """Whether there are two groups to compare."""
        return len(self.attribute.groups.labels) > 1

    def at(self, entries: Integers) -> Sample:
        """Sample of some entries, without the groups that are too small among them."""
        model = self.model.at(entries)
        audit = self.audit.at(entries, model)
        groups = self.attribute.groups[entries]
        attribute = set_aside(self.attribute.name, groups, audit.n_alike)
        return replace(self, model=model, audit=audit, attribute=attribute, grid=None)

    def split(self, rows: Integers) -> list[Integers]:
        """Rows of each group."""
        return np.split(rows, np.cumsum(self.attribute.groups.sizes())[:-1])

    def confusion(self, rows: Integers) -> GroupedConfusion:
        """Count predictions; without true labels all rows are of the first class."""
        groups, n_classes = self.attribute.groups, self.n_classes
        cells, audit = self.classes_of(rows), self.audit
        shape = len(groups.labels), n_classes, n_classes

        def add_up(weights: NDArray[Any] | None) -> NDArray[Any]:
            of_rows = None if weights is None else weights[rows]
            return np.bincount(cells, of_rows, math.prod(shape)).reshape(shape)

        matrices = numbers = add_up(audit.n_alike)
        if audit.sample_weight is not None:
            matrices = add_up(audit.weights)
        return GroupedConfusion(
            matrices,
            numbers.sum(axis=2).astype(np.intp),
            audit.classes,
            groups.labels,
            groups.names,
            groups.min_group_size,
        )

    def classes_of(self, rows: Integers) -> Integers:
        """One number for the group, the true and the predicted class of each row."""
        sizes, n_classes = self.attribute.groups.sizes(), self.n_classes
        cells = np.repeat(np.arange(len(sizes)) * n_classes**2, sizes)
        cells += self.model.y_pred[rows]
        if self.audit.y_true is not None:
            cells += self.audit.y_true[rows] * n_classes
        return cells

    @property
    def n_classes(self) -> int:
        """Number of classes of true and predicted labels."""
        return len(self.audit.classes)

    @property
    def measuring(self) -> Measuring:
        """How the metrics of this sample are computed."""
        options = self.audit.options
        how = self.attribute.comparison
        return Measuring(self.keys, how, options.alpha, options.epsilon)

    def values(self, rows: Integers, keys: Sequence[str]) -> Values:
        """Metrics on rows, nan where one is undefined on them."""
        count = self.count(rows)
        return self.measuring.values(self.confusion(rows), self.grid, count, keys)

    def count(self, rows: Integers) -> Count:
        """Count the scores of a group, or of everyone, when they are asked for."""
        parts, grid = self.split(rows), self.grid

        def of_group(group: int | None) -> NDArray[Any]:
            assert grid is not None
            return grid.count(rows if group is None else parts[group])

        return of_group


@dataclass(frozen=True)
class Measuring:
    """Metrics to compute, which groups they compare, and their parameters."""

    keys: tuple[str, ...]
    multigroup: Multigroup
    alpha: float
    epsilon: float

    def values(
        self,
        confusion: GroupedConfusion,
        grid: ScoreGrid | None,
        count: Count,
        keys: Sequence[str],
    ) -> Values:
        """Metrics of counted predictions and scores, nan where one is undefined."""
        values = {}
        if not set(keys).isdisjoint(OF_DECISIONS):
            values = self.decision_values(selections(confusion))
        if "equalized_odds_difference" in keys:
            values["equalized_odds_difference"] = largest_gap_of_errors(
                confusion, self.multigroup
            )
        if TIES in keys:
            values[TIES] = sum_of_differences(None, confusion, sensitive_features=None)
        if "dcp" in keys:
            values["dcp"] = dcp(None, confusion)
        found = self.score_gaps(confusion.n_groups, grid, count, keys)
        values |= {key: gap.value for key, gap in found.items()}
        return {key: part_of(values, key, "The value on draws") for key in keys}

    def decision_values(self, selected: GroupedOutcomes) -> Values:
        """Metrics of selection rates."""
        return {
            "demographic_parity_difference": demographic_parity_difference(
                None, selected, multigroup=self.multigroup
            ),
            "max_gap": max_gap(None, selected),
            "cvar_fairness": cvar_fairness(None, selected, alpha=self.alpha),
        }

    def score_gaps(
        self, n_groups: int, grid: ScoreGrid | None, count: Count, keys: Sequence[str]
    ) -> dict[str, LargestGap]:
        """Metrics of score distributions, and the groups where each is attained."""
        wanted = [key for key in OF_SCORES if key in keys]
        if grid is None or not wanted:
            return {}
        return grid.largest_gaps(count, n_groups, self.multigroup, wanted, self.epsilon)


def make_samples(audit: Audit) -> list[Sample]:
    """Combine each attribute with every model."""
    ranked, attributes = audit.options.scale == "rank", audit.attributes
    # Attributes share scores, but not ranks, which are among the rows compared.
    grids = [
        [make_grid(audit, model, attribute) for model in audit.models]
        for attribute in (attributes if ranked else attributes[:1])
    ]
    return [
        Sample(model, attribute, audit, audit.keys(model, attribute), grid)
        for attribute, of_models in zip(attributes, cycle(grids), strict=False)
        for model, grid in zip(audit.models, of_models, strict=True)
    ]


def make_grid(audit: Audit, model: Model, attribute: Attribute) -> ScoreGrid | None:
    """Scores of a model; or ranks among the entries that are compared, and others."""
    if model.y_score is None:
        return None
    if audit.options.scale != "rank":
        return ScoreGrid(model.y_score, audit.weights)
    ranks, known = np.zeros(len(model.y_score)), attribute.groups.codes >= 0
    if known.any():
        weights = None if audit.weights is None else audit.weights[known]
        ranks[known] = mid_ranks(model.y_score[known], weights)
    return ScoreGrid(ranks, audit.weights)


def sort_by_group(codes: NDArray[np.integer]) -> Integers:
    """Positions of the rows that have a group, sorted by group."""
    n_without = int(np.count_nonzero(codes < 0))
    return np.argsort(codes, kind="stable")[n_without:]


def count_outcomes(audit: Audit, outcomes: NDArray[Any], groups: Groups) -> Any:
    """Sum outcomes in [0, 1] by group, with numbers and squared weights of rows."""
    known = groups.codes >= 0
    codes, counts = groups.codes[known], groups.sizes()
    statistic = GroupedOutcomes.from_outcomes(
        outcomes.astype(float), sensitive_features=groups, sample_weight=audit.weights
    )
    if audit.n_alike is None:
        return statistic
    squares, n_alike = audit.squares, audit.n_alike
    assert squares is not None
    counts = np.bincount(codes, n_alike[known], len(counts)).astype(np.intp)
    squares = np.bincount(codes, squares[known], len(counts))
    return replace(statistic, counts=counts, squares=squares)


def selections(confusion: GroupedConfusion) -> GroupedOutcomes:
    """Positive decisions of each group, whose label is its position."""
    totals = confusion.totals
    return GroupedOutcomes(
        confusion.matrices[:, :, -1].sum(axis=1),
        totals,
        totals,
        confusion.counts,
        tuple(range(confusion.n_groups)),
    )


@dataclass(frozen=True)
class Finding:
    """A metric on the rows as given, and where its value is attained.

    `pair` holds the groups that differ, None for everyone, and `figures` what differs
    between them: rates, mean scores, or shares of scores of at most `score`.
    `classes` and `sizes` are true and predicted class, and weight of the true class, of
    equalized odds; `few` holds group, class and number of rows of the cells that are
    left out of these. DCP is certified to lie in `bounds`.
    """

    value: float
    pair: Pair = (0, None)
    figures: tuple[float, float] = (math.nan, math.nan)
    score: float = math.nan
    n_tail: int = 0
    classes: tuple[int, int] = (0, 0)
    sizes: tuple[float, float] = (0, 0)
    few: tuple[tuple[int, int, int], ...] = ()
    bounds: tuple[float, float] | None = None


def observe(sample: Sample) -> dict[str, Finding]:
    """Find every metric on the rows as given; nan where there are no two groups."""
    if not sample.comparable:
        return dict.fromkeys(sample.keys, Finding(math.nan))
    rows = sort_by_group(sample.attribute.groups.codes)
    confusion = sample.confusion(rows)
    found = _decisions(sample, selections(confusion)) if sample.audit.binary else {}
    found |= _scores(sample, rows)
    if "equalized_odds_difference" in sample.keys:
        found["equalized_odds_difference"] = equalized_odds(sample)
    if "dcp" in sample.keys:
        result = DCPResult.from_predictions(None, confusion, time_limit=DCP_SECONDS)
        bounds = None if result.optimal else (result.lower, result.upper)
        found["dcp"] = Finding(result.upper, bounds=bounds)
    return {key: part_of(found, key, "The value") for key in sample.keys}


def _decisions(sample: Sample, selected: GroupedOutcomes) -> dict[str, Finding]:
    values, rates = sample.measuring.decision_values(selected), selected.means
    everyone = float(rates @ selected.totals / selected.totals.sum())
    pair = _furthest(sample, rates, everyone)
    average = float(rates.mean())
    outlier = int(np.abs(rates - average).argmax())
    groups = cvar_fairness_report(None, selected, alpha=sample.audit.options.alpha)
    figures: dict[str, dict[str, Any]] = {
        "demographic_parity_difference": {
            "pair": pair,
            "figures": _of_pair(pair, rates, everyone),
        },
        "max_gap": {
            "pair": (outlier, None),
            "figures": (float(rates[outlier]), average),
        },
        "cvar_fairness": {"n_tail": int(groups["in_tail"].sum())},
    }
    return {key: Finding(values[key], **figures[key]) for key in figures}


def _scores(sample: Sample, rows: Integers) -> dict[str, Finding]:
    found, count = {}, sample.count(rows)
    gaps = sample.measuring.score_gaps(
        len(sample.attribute.groups.labels), sample.grid, count, sample.keys
    )
    for key, gap in gaps.items():
        figures = math.nan, math.nan
        if key in ("mcdp", "mean_score_difference"):
            grid = sample.grid
            assert grid is not None
            cdfs = [cumulate(count(group))[0] for group in gap.pair]
            if key == "mcdp":
                where = np.searchsorted(grid.scores, gap.score)
                first, second = (float(cdf[where]) for cdf in cdfs)
            else:
                first, second = (
                    float(np.diff(cdf, prepend=0) @ grid.scores) for cdf in cdfs
                )
            figures = first, second
        found[key] = Finding(gap.value, gap.pair, figures, gap.score)
    return found


def equalized_odds(sample: Sample) -> Finding:
    """Equalized odds difference, with the classes and groups that differ most.

    Groups with too few rows of a true label are not compared among its rows.
    """
    confusion = sample.confusion(sort_by_group(sample.attribute.groups.codes))
    counts, kept = confusion.label_counts, comparable_cells(confusion)
    few = np.argwhere((counts < confusion.min_group_size) & counts.any(axis=0))
    left_out = tuple((int(i), int(j), int(counts[i, j])) for i, j in few)
    how, true_classes = sample.attribute.comparison, np.flatnonzero(kept.any(axis=0))
    if not len(true_classes):
        return Finding(math.nan, few=left_out)
    rates, everyone = rates_of_errors(confusion)
    gaps = np.nanmax(np.abs(rates - everyone), axis=0)
    if how == "pairwise":
        gaps = np.nanmax(rates, axis=0) - np.nanmin(rates, axis=0)
    predicted_classes = np.arange(len(confusion.classes))
    if sample.audit.binary:  # the rates of the positive class determine the others
        gaps, predicted_classes = gaps[:, 1:], predicted_classes[1:]
    row, column = (int(i) for i in np.unravel_index(gaps.argmax(), gaps.shape))
    true, predicted = int(true_classes[row]), int(predicted_classes[column])
    groups = np.flatnonzero(kept[:, true])
    found, of_all = rates[groups, row, predicted], float(everyone[row, predicted])
    sizes = confusion.matrices[groups, true].sum(axis=1)
    pair = _furthest(sample, found, of_all)
    first, second = (None if i is None else int(groups[i]) for i in pair)
    assert first is not None
    return Finding(
        largest_gap_of_errors(confusion, how),
        (first, second),
        _of_pair(pair, found, of_all),
        classes=(true, predicted),
        sizes=_of_pair(pair, sizes, sizes.sum().item()),
        few=left_out,
    )


def _furthest(sample: Sample, values: Floats, everyone: float) -> Pair:
    """Find the largest and smallest value, or the one furthest from everyone."""
    if sample.attribute.comparison == "pairwise":
        return int(values.argmax()), int(values.argmin())
    return int(np.abs(values - everyone).argmax()), None


def _of_pair(pair: Pair, values: NDArray[Any], everyone: Any) -> tuple[Any, Any]:
    first, second = pair
    return values[first].item(), everyone if second is None else values[second].item()


def cdf_curves(sample: Sample) -> list[dict[str, list[float]]]:
    """Cumulative distribution of each group's scores, with few enough points to draw.

    Steps are thinned from (0, 0) to (1, 1), evenly along both axes.
    """
    assert sample.grid is not None
    scores, even = sample.grid.scores, np.linspace(0, 1, _N_POINTS)
    count, curves = sample.count(sort_by_group(sample.attribute.groups.codes)), []
    for group in range(len(sample.attribute.groups.labels)):
        cdf, _ = cumulate(count(group))
        kept = np.union1d(np.searchsorted(scores, even), np.searchsorted(cdf, even))
        kept = kept[kept < len(scores)]
        curves.append(
            {
                "scores": [0.0, *np.round(scores[kept], 4).tolist(), 1.0],
                "shares": [0.0, *np.round(cdf[kept], 4).tolist(), 1.0],
            }
        )
    return curves
