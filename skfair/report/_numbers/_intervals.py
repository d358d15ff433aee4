"""Intervals of metrics that keep their level, of everyone and within strata."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._text import or_none
from skfair._utils._types import Integers
from skfair.groups import CROSS, Groups
from skfair.metrics import (
    abcc,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
    permutation_test,
)
from skfair.metrics._confidence import (
    Arguments,
    Comparisons,
    Observed,
    compare,
    join,
    lower_bound,
    observe,
    upper_bound,
)
from skfair.report._inputs import Audit, set_aside
from skfair.report._numbers._sample import (
    Finding,
    Sample,
    count_outcomes,
    equalized_odds,
)
from skfair.report._options import OF_ERRORS, OF_SCORES
from skfair.statistics import GroupedConfusion, GroupedOutcomes


class Interval(NamedTuple):
    """Ends of an interval, and the least value that the data certify at its level."""

    lower: float
    upper: float
    certified: float


def intervals(sample: Sample, keys: Collection[str]) -> dict[str, Interval]:
    """Interval of those of some defined metrics whose noise can be bounded."""
    tail = (1 - sample.audit.options.confidence_level) / 2
    found = {}
    with warnings.catch_warnings():
        # The report says itself why a metric is undefined.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        metrics = bounded_metrics(sample)
        metrics = {key: metrics[key] for key in metrics if key in keys}
        for key, compared in compare_metrics(sample, metrics):
            found[key] = Interval(
                lower_bound(compared, tail),
                upper_bound(compared, tail),
                upper_bound(compared, 2 * tail),
            )
    return found


def bounded_metrics(sample: Sample) -> dict[str, Callable[..., float]]:
    """Return the metrics whose noise can be bounded, with the options of the report."""
    how, options = sample.attribute.comparison, sample.audit.options
    of_scores: dict[str, Any] = {"multigroup": how, "scale": options.scale}
    return {
        "demographic_parity_difference": partial(
            demographic_parity_difference, multigroup=how
        ),
        "max_gap": max_gap,
        "cvar_fairness": partial(cvar_fairness, alpha=options.alpha),
        "mean_score_difference": partial(demographic_parity_difference, multigroup=how),
        "equalized_odds_difference": partial(equalized_odds_difference, multigroup=how),
        "mcdp": partial(mcdp, **of_scores),
        "mcdp_epsilon": partial(mcdp, epsilon=options.epsilon, **of_scores),
        "abcc": partial(abcc, **of_scores),
        "madd": partial(madd, **of_scores),
    }


def compare_metrics(
    sample: Sample, metrics: Mapping[str, Callable[..., float]]
) -> Iterator[tuple[str, Comparisons]]:
    """Find what each metric compares; metrics of score distributions share scores."""
    scores = None
    for key, metric in metrics.items():
        if key not in ("mcdp", "mcdp_epsilon", "abcc", "madd"):
            yield key, compare(metric, _observe(sample, metric, key), "band")
            continue
        scores = scores or _observe(sample, metric, key)
        yield key, compare(metric, scores, "band")


def _observe(sample: Sample, metric: Callable[..., float], key: str) -> Observed:
    """Collect the statistic of a metric, of entries that may be many rows each."""
    audit, groups = sample.audit, sample.attribute.groups
    rows = arguments_of(sample, key)
    found = observe(metric, rows)
    if audit.n_alike is None:
        return found
    if isinstance(found.statistic, GroupedOutcomes):
        values = sample.model.y_score if key in OF_SCORES else sample.model.y_pred
        assert values is not None
        statistic = count_outcomes(audit, np.asarray(values), groups)
        return found._replace(statistic=statistic, sizes=statistic.effective_sizes)
    statistic = replace(found.statistic, counts=sample.attribute.sizes)
    known, shape = groups.codes >= 0, found.sizes.shape
    cells = groups.codes[known].astype(np.intp)
    if len(shape) > 1:  # by group and true class
        assert audit.y_true is not None
        cells = cells * shape[1] + _positions(audit, statistic)[known]
    totals, squares = (
        np.bincount(cells, of_entries[known], math.prod(shape))
        for of_entries in (audit.weights, audit.squares)
        if of_entries is not None
    )
    sizes = np.zeros(math.prod(shape))
    np.divide(totals**2, squares, out=sizes, where=squares > 0)
    return found._replace(statistic=statistic, sizes=sizes.reshape(shape))


def _positions(audit: Audit, statistic: GroupedConfusion) -> Integers:
    """Position of each true class in a statistic, which has those that occur."""
    assert audit.y_true is not None
    return np.searchsorted(np.array(statistic.classes), audit.y_true)


def arguments_of(sample: Sample, key: str) -> Arguments:
    """Rows of a sample as arguments of a metric."""
    audit, model = sample.audit, sample.model
    y_pred = model.y_score if key in OF_SCORES else model.y_pred
    y_true = audit.y_true if key in OF_ERRORS else None
    return Arguments(y_true, y_pred, sample.attribute.groups, audit.weights)


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
    bounded = bounded_metrics(sample)
    metrics = {key: bounded[key] for key in sample.keys if key in bounded}
    found: dict[str, list[tuple[Part, Comparisons]]] = {key: [] for key in metrics}
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
    if audit.counts_are_drawn:
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
