"""Numbers of metrics within strata: values, intervals and tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._types import Integers
from skfair.groups import CROSS, Groups, recode
from skfair.metrics._confidence import Comparisons, join, lower_bound, upper_bound
from skfair.report._inputs import set_aside
from skfair.report._numbers._draws import (
    TIED,
    Drawn,
    PermutedCodes,
    permuted_codes,
    uncertainty,
)
from skfair.report._numbers._intervals import (
    bounded_metrics,
    compare_metrics,
)
from skfair.report._numbers._sample import (
    Finding,
    Sample,
    Values,
    equalized_odds,
    make_grid,
    sort_by_group,
)
from skfair.report._options import TIES


class Part(NamedTuple):
    """A stratum: the groups of it that can be compared, and all of its rows.

    `comparable` says whether it has enough rows, and two groups.
    """

    label: Hashable
    entries: Integers
    sample: Sample
    n_rows: int
    weight: float
    enough: bool

    @property
    def comparable(self) -> bool:
        return self.enough and self.sample.comparable


class LeftOut(NamedTuple):
    """A stratum that is left out in whole, or some of its groups, or for one metric.

    `finding` is that of the metric `key`, for which groups have too few rows.
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
    metrics = bounded_metrics(sample, sample.keys)
    found: dict[str, list[tuple[Part, Comparisons]]] = {key: [] for key in metrics}
    left_out = [LeftOut(p) for p in parts if p.sample.attribute.aside or not p.enough]
    with warnings.catch_warnings():
        # The report says itself what is left out.
        warnings.simplefilter("ignore")
        for part in parts:
            if not part.comparable:
                continue
            for key, compared in compare_metrics(part.sample, metrics):
                if key == TIED:
                    finding = equalized_odds(part.sample)
                    left_out += [LeftOut(part, key, finding)] if finding.few else []
                if not math.isnan(compared.value):
                    found[key].append((part, compared))
        tests = _test(sample, [part for part in parts if part.comparable], metrics)
        rows = [
            {"key": key, **_combine(sample, found[key]), **tests[key]}
            for key in metrics
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
        parts.append(Part(label, entries, part, n_rows, weight, enough))
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


def _test(
    sample: Sample, parts: list[Part], metrics: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Mean of each metric under permutations within strata, and its p-value.

    All metrics are computed on the same permutations, those of `permutation_test`.
    """
    audit, attribute, options = sample.audit, sample.attribute, sample.audit.options
    if audit.counts_are_drawn or not parts:
        return {key: {"null_mean": None, "pvalue": None} for key in metrics}
    assert audit.strata is not None
    known = np.where(audit.strata.codes < 0, -1, attribute.groups.codes)
    groups = replace(attribute.groups, codes=known)
    groups = set_aside(attribute.name, groups, None).groups
    parts = [_with_grid(part) for part in parts]
    keys = (*metrics, *([TIES] if TIED in metrics else []))
    observed = _largest(parts, groups.labels, [(groups.codes, keys)])
    draws = permuted_codes(audit, groups.codes, keys, audit.strata.codes)
    values = Parallel(n_jobs=options.n_jobs)(
        delayed(_largest)(parts, groups.labels, draw)
        for _, draw in zip(range(options.n_permutations), draws, strict=False)
    )
    permuted = {key: np.array([one[key] for one in values]) for key in keys}
    drawn, level = Drawn({}, permuted, observed), options.confidence_level
    found = {
        key: uncertainty(observed[key], key, drawn, None, level) for key in metrics
    }
    return {
        key: {"null_mean": one.null_mean, "pvalue": one.pvalue}
        for key, one in found.items()
    }


def _with_grid(part: Part) -> Part:
    """Sort the scores of a stratum, once for all permutations."""
    sample = part.sample
    grid = make_grid(sample.audit, sample.model, sample.attribute)
    return part._replace(sample=replace(sample, grid=grid))


def _largest(
    parts: list[Part], labels: tuple[Hashable, ...], draw: PermutedCodes
) -> Values:
    """Largest value over strata of each metric, of those where it is defined.

    Differences that break ties are added up over strata.
    """
    found: dict[str, list[float]] = {key: [] for _, keys in draw for key in keys}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for part in parts:
            own = part.sample.attribute.groups.labels
            for codes, keys in draw:
                rows = sort_by_group(recode(codes[part.entries], labels, own))
                for key, value in part.sample.values(rows, keys).items():
                    found[key].append(value)
    return {
        key: float(np.nansum(values) if key == TIES else np.fmax.reduce(values))
        for key, values in found.items()
    }
