"""Intervals of metrics that keep their level."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._types import Integers
from skfair.metrics import (
    abcc,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)
from skfair.metrics._confidence import (
    UNDEFINED,
    Comparisons,
    Observed,
    compare,
    join,
    lower_bound,
    observe,
    upper_bound,
)
from skfair.metrics._equalized_odds import comparable_cells
from skfair.report._inputs import Audit
from skfair.report._numbers._sample import (
    Sample,
    count_outcomes,
)
from skfair.report._options import OF_ERRORS, OF_SCORES, UNBOUNDED, part_of
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
        for key, compared in compare_metrics(sample, bounded_metrics(sample, keys)):
            found[key] = Interval(
                lower_bound(compared, tail),
                upper_bound(compared, tail),
                upper_bound(compared, 2 * tail),
            )
    return found


def bounded_metrics(
    sample: Sample, keys: Iterable[str]
) -> dict[str, Callable[..., float]]:
    """Return those metrics whose noise can be bounded, with the report's options."""
    how, options = sample.attribute.comparison, sample.audit.options
    of_scores: dict[str, Any] = {"multigroup": how, "scale": options.scale}
    known: dict[str, Callable[..., float]] = {
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
    bounded = [key for key in keys if key not in UNBOUNDED]
    return {key: part_of(known, key, "The interval") for key in bounded}


def compare_metrics(
    sample: Sample, metrics: Mapping[str, Callable[..., float]]
) -> Iterator[tuple[str, Comparisons]]:
    """Find what each metric compares; metrics of score distributions share scores.

    Error rates are compared by true label, each of the groups with enough rows of it.
    """
    scores = None
    for key, metric in metrics.items():
        if key == "equalized_odds_difference":
            found = _split_by_label(_observe(sample, metric, key))
            parts = [compare(metric, of_label, "band") for of_label in found]
            yield key, join(parts, None) if parts else UNDEFINED
            continue
        if key not in ("mcdp", "mcdp_epsilon", "abcc", "madd"):
            yield key, compare(metric, _observe(sample, metric, key), "band")
            continue
        scores = scores or _observe(sample, metric, key)
        yield key, compare(metric, scores, "band")


def _observe(sample: Sample, metric: Callable[..., float], key: str) -> Observed:
    """Collect the statistic of a metric, of entries that may be many rows each."""
    audit, groups = sample.audit, sample.attribute.groups
    y_pred = sample.model.y_score if key in OF_SCORES else sample.model.y_pred
    y_true = audit.y_true if key in OF_ERRORS else None
    found = observe(metric, y_true, y_pred, groups, audit.weights)
    if audit.n_alike is None:
        return found
    if isinstance(found.statistic, GroupedOutcomes):
        values = sample.model.y_score if key in OF_SCORES else sample.model.y_pred
        assert values is not None
        statistic = count_outcomes(audit, np.asarray(values), groups)
        return found._replace(statistic=statistic, sizes=statistic.effective_sizes)
    known, shape = groups.codes >= 0, found.sizes.shape
    cells = groups.codes[known].astype(np.intp)
    if len(shape) > 1:  # by group and true class
        assert audit.y_true is not None
        cells = cells * shape[1] + _positions(audit, found.statistic)[known]
    numbers, totals, squares = (
        np.bincount(cells, of_entries[known], math.prod(shape))
        for of_entries in (audit.n_alike, audit.weights, audit.squares)
        if of_entries is not None
    )
    sizes = np.zeros(math.prod(shape))
    np.divide(totals**2, squares, out=sizes, where=squares > 0)
    name = "label_counts" if len(shape) > 1 else "counts"
    counts: dict[str, Any] = {name: numbers.astype(np.intp).reshape(shape)}
    statistic = replace(found.statistic, **counts)
    return found._replace(statistic=statistic, sizes=sizes.reshape(shape))


def _split_by_label(found: Observed) -> Iterator[Observed]:
    """Rates of errors of each true label, of the groups with enough rows of it."""
    statistic = found.statistic
    for label, kept in enumerate(comparable_cells(statistic).T):
        if kept.any():
            own = np.arange(len(statistic.classes)) == label
            of_label = replace(
                statistic,
                matrices=statistic.matrices[kept] * own[:, np.newaxis],
                label_counts=statistic.label_counts[kept] * own,
                labels=tuple(compress(statistic.labels, kept)),
            )
            yield found._replace(statistic=of_label, sizes=found.sizes[kept])


def _positions(audit: Audit, statistic: GroupedConfusion) -> Integers:
    """Position of each true class in a statistic, which has those that occur."""
    assert audit.y_true is not None
    return np.searchsorted(np.array(statistic.classes), audit.y_true)
