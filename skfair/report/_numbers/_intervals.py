"""Intervals of metrics that keep their level, from rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

from sklearn.exceptions import UndefinedMetricWarning

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
    Arguments,
    Comparisons,
    compare,
    lower_bound,
    observe,
    upper_bound,
)
from skfair.report._numbers._sample import Sample
from skfair.report._options import OF_ERRORS, OF_SCORES


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
        for key, compared in _compare(sample, keys):
            found[key] = Interval(
                lower_bound(compared, tail),
                upper_bound(compared, tail),
                upper_bound(compared, 2 * tail),
            )
    return found


def _compare(
    sample: Sample, keys: Collection[str]
) -> Iterator[tuple[str, Comparisons]]:
    """Find what each metric compares; metrics of score distributions share scores."""
    how, options = sample.attribute.comparison, sample.audit.options
    metrics: dict[str, Callable[..., float]] = {
        "demographic_parity_difference": partial(
            demographic_parity_difference, multigroup=how
        ),
        "max_gap": max_gap,
        "cvar_fairness": partial(cvar_fairness, alpha=options.alpha),
        "mean_score_difference": partial(demographic_parity_difference, multigroup=how),
        "equalized_odds_difference": partial(equalized_odds_difference, multigroup=how),
        "mcdp": partial(mcdp, multigroup=how),
        "mcdp_epsilon": partial(mcdp, epsilon=options.epsilon, multigroup=how),
        "abcc": partial(abcc, multigroup=how),
        "madd": partial(madd, multigroup=how),
    }
    scores = None
    for key, metric in metrics.items():
        if key not in keys:
            continue
        if key not in ("mcdp", "mcdp_epsilon", "abcc", "madd"):
            yield key, compare(metric, observe(metric, _rows(sample, key)), "band")
            continue
        scores = scores or observe(metric, _rows(sample, key))
        yield key, compare(metric, scores, "band")


def _rows(sample: Sample, key: str) -> Arguments:
    """Rows of a sample as arguments of a metric."""
    audit, model = sample.audit, sample.model
    y_pred = model.y_score if key in OF_SCORES else model.y_pred
    y_true = audit.y_true if key in OF_ERRORS else None
    return Arguments(y_true, y_pred, sample.attribute.groups, audit.sample_weight)
