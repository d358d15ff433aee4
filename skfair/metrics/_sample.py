"""Rows as a metric reads them: checked and sorted once, then permuted or drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from skfair._rows import Rows
from skfair._utils._arrays import Integers
from skfair.groups import Groups, relabel
from skfair.metrics._metric import Metric
from skfair.metrics._parts import evaluate_classes


class SamplePart(NamedTuple):
    """Rows of one stratum and class, with the groups to compare."""

    rows: Rows
    #: Total weight of the rows of the stratum.
    weight: float = 1.0
    #: Names of the stratum and of the position of the class, where there are several.
    names: dict[str, Any] = {}  # noqa: RUF012


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, or a draw of them, and the parts from which a metric is computed."""

    metric: Metric
    rows: Rows
    parts: tuple[SamplePart, ...]
    #: Number of parts of each stratum, one for each class.
    n_classes: int = 1
    #: Whether the groups that are compared in each stratum are found anew in a draw.
    resplits_strata: bool = False

    @classmethod
    def from_rows(cls, metric: Metric, rows: Rows) -> Self:
        """Check rows, once for all draws of them."""
        split, parts = metric.split(rows), []
        n_classes = len(split.classes)
        names: list[dict[str, Any]] = [{}]
        if n_classes > 1:
            names = [{"class": position} for position in range(n_classes)]
        if split.strata is None or rows.strata is None:
            for part, name in zip(split.classes, names, strict=True):
                parts.append(SamplePart(_prepare(metric, part), names=name))
            return cls(metric, rows, tuple(parts), n_classes)
        counting, codes = rows.counted_positions(), rows.strata.codes
        for code, stratum in enumerate(split.strata):
            if stratum.groups is None:
                continue
            # People of groups that are left out may be drawn into others.
            at = counting[codes[counting] == code]
            groups = relabel(rows.groups[at], stratum.groups.labels)
            for part, name in zip(split.classes, names, strict=True):
                in_stratum = replace(part[at], groups=groups, strata=None)
                name = {"stratum": stratum.label} | name
                prepared = _prepare(metric, in_stratum)
                parts.append(SamplePart(prepared, stratum.weight, name))
        return cls(metric, rows, tuple(parts), n_classes)

    @cached_property
    def collected(self) -> list[Any]:
        """Tables of all parts, as the metric collects them."""
        return [self.metric.collect(part.rows) for part in self.parts]

    @property
    def statistics(self) -> list[Any]:
        """Collected tables, on the scale on which groups are compared."""
        return [*map(self.metric.rescale, self.collected)]

    def replace_metric(self, metric: Metric) -> Self:
        """Return the draw for another metric, with tables that both metrics collect."""
        other = replace(self, metric=metric)
        if metric.compares_distributions == self.metric.compares_distributions:
            other.__dict__["collected"] = self.collected
        return other

    @property
    def value(self) -> float:
        """Value of the metric, nan where it is undefined in all strata."""
        if self.resplits_strata:
            return float(self.metric.estimate(self.rows).value)
        metric, values, weights = self.metric, [], []
        for start in range(0, len(self.parts), self.n_classes):
            statistics = self.collected[start : start + self.n_classes]
            estimate = evaluate_classes(
                statistics, metric.estimate_statistic, metric.join_estimates
            )
            if not math.isnan(estimate.value):
                values.append(estimate.value)
                weights.append(self.parts[start].weight)
        return float(metric.combine(values, weights)) if values else math.nan

    def permuted(
        self, generator: np.random.Generator, blocks: Sequence[Integers] | None
    ) -> Self:
        """Permute the groups of the people within each block of positions."""
        return self.drawn_as(self.rows.permuted(generator, blocks))

    def resampled(self, generator: np.random.Generator) -> Self:
        """Draw people of each group, within each stratum, with replacement."""
        return self.drawn_as(self.rows.resampled(generator))

    def drawn_as(self, rows: Rows) -> Self:
        """Return the same parts in a draw of the rows."""
        if self.resplits_strata:
            return replace(self, rows=rows)
        parts = (
            part._replace(
                rows=rows if part.rows is self.rows else part.rows.drawn_as(rows)
            )
            for part in self.parts
        )
        return type(self)(self.metric, rows, tuple(parts), self.n_classes)

    def dealt(self, blocks: list[Integers]) -> tuple[Self, list[Integers]]:
        """Return entries whose people can be permuted, and the blocks of entries.

        People who are alike are counted in cells where the sample has a single part.
        """
        if (
            len(self.parts) == 1
            and self.metric.counts_alike
            and not self.resplits_strata
        ):
            sample, blocks_of_cells = self.count_in_cells(blocks)
            if sample is not self:
                return sample, blocks_of_cells
        sample = self.from_rows(self.metric, self.rows.cross_with_groups())
        n_groups = self.rows.n_groups
        of_groups = np.arange(n_groups)
        entries = [(at[:, np.newaxis] * n_groups + of_groups).ravel() for at in blocks]
        return replace(sample, resplits_strata=self.resplits_strata), entries

    def count_in_cells(self, blocks: list[Integers]) -> tuple[Self, list[Integers]]:
        """Count the people of each block who are alike, in cells; and find its cells.

        The sample stays as it is if few people are alike, or if its only part holds
        some people of a block but not others: how many of each group the part holds is
        then random.
        """
        (part,) = self.parts
        part_rows, codes = part.rows, np.full(len(self.rows), -1)
        for i, positions in enumerate(blocks):
            codes[positions] = i
        if part_rows.position is not None:
            codes = codes[part_rows.position]
        own_blocks = Groups(codes, tuple(range(len(blocks))))
        n_own, n_all = own_blocks.sizes(), np.array([*map(len, blocks)])
        whole = (n_own == n_all) | (n_own == 0)
        part_rows = replace(part_rows, strata=own_blocks)
        cells = None
        if whole.all():
            cells = (
                part_rows.counted_if_few()
                if part_rows.n is None
                else part_rows.counted()
            )
        if cells is None:
            return self, blocks
        blocks_of_cells = [at for _, at in cells.split_by_stratum() if len(at)]
        cells = replace(cells, strata=None)
        parts = (part._replace(rows=cells),)
        return type(self)(self.metric, cells, parts), blocks_of_cells


def _prepare(metric: Metric, part: Rows) -> Rows:
    """Take the rows that count, in the order in which scores are counted."""
    part = metric.select(part)
    return part.ordered() if metric.compares_distributions else part
