"""Metrics within strata, beside those of everyone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from skfair._utils._text import or_none
from skfair.groups import CROSS, Groups
from skfair.metrics import permutation_test
from skfair.metrics._confidence import Comparisons, join, lower_bound, upper_bound
from skfair.report._inputs import set_aside
from skfair.report._numbers._draws import counts_are_drawn
from skfair.report._numbers._intervals import (
    arguments_of,
    bounded_metrics,
    compare_metrics,
)
from skfair.report._numbers._sample import Finding, Sample, equalized_odds


class Part(NamedTuple):
    """A stratum: the groups of it that can be compared, and all of its rows.

    `comparable` says whether it has enough rows, and two groups.
    """

    label: Hashable
    sample: Sample
    n_rows: int
    weight: float
    enough: bool

    @property
    def comparable(self) -> bool:
        return self.enough and self.sample.comparable


class LeftOut(NamedTuple):
    """A stratum that is left out in whole, or some of its groups, or for one metric.

    `finding` is that of the metric `key`, which is undefined in the stratum.
    """

    part: Part
    key: str | None = None
    finding: Finding | None = None


class WithinStrata(NamedTuple):
    """Numbers of each metric within strata, and what they leave out."""

    names: str
    n_strata: int
    n_rows: int
    rows: list[dict[str, Any]]
    left_out: list[LeftOut]


def within_strata(sample: Sample) -> WithinStrata | None:
    """Largest value over strata of each metric, and their mean; None without strata.

    Tests draw rows, so they are left out where the report draws counts. DCP is not
    computed within strata: its search takes too long to be repeated.
    """
    strata = sample.audit.strata
    if strata is None or not sample.comparable:
        return None
    parts = _split(sample, strata)
    metrics = bounded_metrics(sample)
    found: dict[str, list[tuple[Part, Comparisons]]] = {
        key: [] for key in sample.keys if key in metrics
    }
    metrics = {key: metric for key, metric in metrics.items() if key in found}
    left_out = [LeftOut(p) for p in parts if p.sample.attribute.aside or not p.enough]
    with warnings.catch_warnings():
        # The report says itself what is left out.
        warnings.simplefilter("ignore")
        for part in parts:
            if not part.comparable:
                continue
            for key, compared in compare_metrics(part.sample, metrics):
                if math.isnan(compared.value):  # a group has nobody of a true label
                    left_out.append(LeftOut(part, key, equalized_odds(part.sample)))
                else:
                    found[key].append((part, compared))
        rows = [
            {"key": key, **_combine(sample, found[key]), **_test(sample, key, metric)}
            for key, metric in metrics.items()
        ]
    n_rows = sample.audit.count(strata.codes >= 0)
    names = CROSS.join(strata.names)
    return WithinStrata(names, len(parts), n_rows, rows, left_out)


def _split(sample: Sample, strata: Groups) -> list[Part]:
    """Split the entries that have a group by stratum."""
    codes = np.where(sample.attribute.groups.codes < 0, -1, strata.codes)
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(strata.labels) + 1))
    parts = []
    for label, start, end in zip(strata.labels, edges, edges[1:], strict=False):
        entries = order[start:end]
        part, n_rows = sample.at(entries), sample.audit.count(entries)
        weights = part.audit.weights
        weight = float(n_rows if weights is None else weights.sum())
        enough = n_rows >= strata.min_group_size
        parts.append(Part(label, part, n_rows, weight, enough))
    return parts


def _combine(sample: Sample, found: list[tuple[Part, Comparisons]]) -> dict[str, Any]:
    """Largest value, its stratum and interval, and the mean; None without a stratum."""
    if not found:
        return dict.fromkeys(("value", "stratum", "mean", "lower", "upper"))
    tail = (1 - sample.audit.options.confidence_level) / 2
    compared = join([one for _, one in found], None)
    values = np.array([one.value for _, one in found])
    weights = np.array([part.weight for part, _ in found])
    return {
        "value": compared.value,
        "stratum": found[int(values.argmax())][0].label,
        "mean": float(weights / weights.sum() @ values),
        "lower": lower_bound(compared, tail),
        "upper": upper_bound(compared, tail),
    }


def _test(sample: Sample, key: str, metric: Callable[..., float]) -> dict[str, Any]:
    """Mean of a metric under permutations within strata, and its p-value."""
    audit, attribute, options = sample.audit, sample.attribute, sample.audit.options
    assert audit.strata is not None
    if counts_are_drawn(audit):
        return {"null": None, "pvalue": None}
    known = np.where(audit.strata.codes < 0, -1, attribute.groups.codes)
    groups = replace(attribute.groups, codes=known)
    arguments = arguments_of(sample, key)._asdict()
    arguments["sensitive_features"] = set_aside(attribute.name, groups, None).groups
    test = permutation_test(
        metric,
        **arguments,
        control_features=audit.strata,
        n_permutations=options.n_permutations,
        random_state=options.random_state,
        n_jobs=options.n_jobs,
    )
    return {"null": or_none(test.null_mean), "pvalue": or_none(test.pvalue)}
