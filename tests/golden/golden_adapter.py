"""Public names that the golden calls use and that may be renamed.

Where a name changes, this file is the only one to edit; what is recorded stays.
"""

import json
from functools import partial

import numpy as np
from golden_results import Chance, Drawn, End, Table

from skfair import frames
from skfair.groups import encode_groups
from skfair.inspection import ExplainedGapResult
from skfair.metrics import (
    BootstrapResult,
    CertifyResult,
    ConfidenceInterval,
    CVaRTestResult,
    DCPResult,
    GroupMetricsResult,
    MADDBandwidthResult,
    MetricBounds,
    MinDCPResult,
    PermutationTestResult,
    ProxyBoundsResult,
    RateVarianceResult,
    WorstSubgroupResult,
)
from skfair.monitoring import FairnessMonitor
from skfair.statistics import CountTable, sum_tables


def with_options(metric, **options):
    """Set options of a metric."""
    return partial(metric, **options) if options else metric


# Tables of rows. What is recorded of one depends on what it counts.


def counted_as(kind, table):
    table.kind = kind
    return table


def count(y_true, y_pred, groups, weights, **options):
    return CountTable.from_rows(
        y_true, y_pred, sensitive_features=groups, sample_weight=weights, **options
    )


def count_scores(y_score, groups, scale="probability", weights=None):
    return counted_as("sizes", count(None, y_score, groups, weights))


def read_counts(y_score, groups, counts, weights=None, scale="probability"):
    """Take an aggregate: distinct scores of groups with their numbers of rows."""
    each = None if weights is None else weights / counts
    return count(None, y_score, groups, each, counts=counts)


def count_bins(y_score, groups, n_bins, weights=None):
    return counted_as("sizes", count(None, y_score, groups, weights, n_bins=n_bins))


def count_bins_by_label(y_true, y_score, groups, n_bins, weights=None):
    return counted_as("sizes", count(y_true, y_score, groups, weights, n_bins=n_bins))


def count_outcomes(outcomes, groups, weights=None):
    return counted_as("outcomes", count(None, outcomes, groups, weights))


def count_decisions_on_positive(y_pred, groups, positive, weights=None):
    """Count the decisions on the truly positive rows."""
    weights = None if weights is None else weights[positive]
    groups = encode_groups(groups)[positive]
    true = np.ones(positive.sum(), int)
    return counted_as("outcomes", count(true, y_pred[positive], groups, weights))


def count_labels_of_chosen(y_true, groups, chosen, weights=None):
    """Count the true labels of the rows with the positive decision."""
    weights = None if weights is None else weights[chosen]
    groups = encode_groups(groups)[chosen]
    predicted = np.ones(chosen.sum(), int)
    return counted_as("labels", count(y_true[chosen], predicted, groups, weights))


def count_confusion(y_true, y_pred, groups, weights=None):
    return counted_as("confusion", count(y_true, y_pred, groups, weights))


def add(tables):
    return sum_tables(list(tables))


def written(statistic):
    """Write a statistic or a monitor as JSON and read it again."""
    return type(statistic).from_dict(json.loads(json.dumps(statistic.to_dict())))


def coarser(histogram, n_bins):
    return histogram.coarsen(n_bins)


def at_edges(histogram):
    """Scores rounded down to the edges of bins."""
    return histogram.round_to_edges()


def cumulative(table, group):
    frame = table.to_frame().reset_index()
    if group is not None:
        frame = frame[frame["group"] == table.labels[group]]
    mass = frame["weight"] if "weight" in frame else frame["n"]
    sums = mass.groupby(frame["y_pred"]).sum()
    return sums.index.to_numpy(), (sums.cumsum() / sums.sum()).to_numpy()


def sizes(table):
    """Labels, numbers of rows, and total weights."""
    return [list(table.labels), table.counts, table.totals]


def outcomes(table, name="y_pred"):
    """Labels, numbers of rows, total weights, and sums of outcomes and of squares."""
    frame, codes = table.to_frame(), {label: i for i, label in enumerate(table.labels)}
    codes = [codes[label] for label in frame.index]
    n = frame["n"].to_numpy()
    weighted = "weight" in frame
    mass = frame["weight"].to_numpy() if weighted else n
    squares = frame["weight_squared"].to_numpy() if weighted else n
    values = frame[name].replace({"yes": 1, "no": 0}).to_numpy().astype(float)
    sums, squares = (
        np.bincount(codes, x, len(table.labels)) for x in (mass * values, squares)
    )
    return [*sizes(table), sums, squares]


def confusion(table):
    """Labels, numbers of rows, total weights, classes and confusion matrices."""
    frame = table.to_frame()
    classes = sorted({*frame["y_true"], *frame["y_pred"]})
    matrices = np.zeros((len(table.labels), len(classes), len(classes)))
    mass = frame["weight"] if "weight" in frame else frame["n"]
    for label, true, predicted, weight in zip(
        frame.index, frame["y_true"], frame["y_pred"], mass, strict=True
    ):
        cell = table.labels.index(label), classes.index(true), classes.index(predicted)
        matrices[cell] += weight
    totals = matrices.sum(axis=2, keepdims=True)
    shares = np.divide(matrices, totals, out=np.zeros_like(matrices), where=totals > 0)
    return [*sizes(table), classes, shares]


CONTENT = {
    "sizes": sizes,
    "outcomes": outcomes,
    "labels": partial(outcomes, name="y_true"),
    "confusion": confusion,
}


# Tables of columns, on any engine.


def frame_scores(frame, *, y_score, scale="probability", **columns):
    return counted_as("sizes", frames.count_table(frame, y_pred=y_score, **columns))


def frame_bins(frame, *, y_score, **columns):
    return counted_as("sizes", frames.count_table(frame, y_pred=y_score, **columns))


frame_bins_by_label = frame_bins


def frame_outcomes(frame, *, pos_label=None, **columns):
    return counted_as("outcomes", frames.count_table(frame, **columns))


def frame_confusion(frame, **columns):
    return counted_as("confusion", frames.count_table(frame, **columns))


# Monitors.


def monitor(metric, **options):
    return FairnessMonitor(metric, **options)


def merged(first, *others):
    return first.merge(*others)


def looks(monitor):
    """All that a monitor knows."""
    return {
        "history": monitor.history_,
        "interval": monitor.interval_,
        "pvalue": monitor.pvalue_,
        "alarm": monitor.alarm_,
        "change_alarm": monitor.change_alarm_,
        "change_time": monitor.change_time_,
        "value_recent": monitor.value_recent_,
        "interval_recent": monitor.interval_recent_,
    }


def deviation(draws):
    draws = np.asarray(draws, float)
    draws = draws[~np.isnan(draws)]
    return float(draws.std()) if len(draws) else 0.0


# Results: what is recorded of each. Chance is a share of draws, Drawn a mean of draws,
# End an end of an interval that was found by draws.


def _of_test(result):
    n = result.n_permutations
    pairs = result.pairs
    if len(pairs):
        keys = ["group", "other", "stratum", "class", "label", "prediction"]
        keys = [key for key in keys if key in pairs]
        # Ordered by the largest standardised gap, which is drawn.
        pairs = Table(
            pairs,
            keys=keys,
            exact=["gap", "threshold"],
            means=("by_chance",),
            standardised=("pvalue",),
            n=n,
        )
    return {
        "value": result.value,
        "pvalue": Chance(result.pvalue, n, result.ordered_by == "pairs"),
        "null_mean": Drawn(result.null_mean, deviation(result.null_distribution), n),
        "ordered_by": result.ordered_by,
        "pairs": pairs if len(result.pairs) else None,
    }


def _of_bootstrap(result):
    return {
        "value": result.value,
        "lower": End.of(result.lower, result.distribution),
        "upper": End.of(result.upper, result.distribution),
        "mean": Drawn.of(result.distribution),
    }


def _named(*names):
    return lambda result: {name: getattr(result, name) for name in names}


def _of_subgroup(result):
    n = len(result.null_distribution)
    table = result.table
    if n and "pvalue" in table:
        table = Table(
            table,
            keys=["subgroup"],
            exact=[name for name in table if name not in ("pvalue", "subgroup")],
            chances=("pvalue",),
            n=n,
        )
    return {
        "value": result.value,
        "subgroup": result.subgroup,
        "pvalue": Chance(result.pvalue, n),
        "conditions": list(result.conditions),
        "stratum": result.stratum,
        "table": table,
    }


#: Draws of the noise of bounds by proxies, and of explained gaps.
N_DRAWS = 499


def drawn_ends(lower, upper, n):
    """Ends of an interval at 95 % that was found by draws of normal noise."""
    sd = (upper - lower) / 3.92
    return End(lower, sd, n), End(upper, sd, n)


def _of_proxy_bounds(result):
    ends = None
    if result.lower_confidence is not None:
        pairs = zip(
            np.ravel(result.lower_confidence),
            np.ravel(result.upper_confidence),
            strict=True,
        )
        ends = [drawn_ends(*pair, N_DRAWS) for pair in pairs]
    return {
        "lower": result.lower,
        "upper": result.upper,
        "estimate": result.estimate,
        "shown_odds_ratio": result.shown_odds_ratio,
        "labels": list(result.labels),
        "n_cells": result.n_cells,
        "expected_counts": result.expected_counts,
        "confidence": ends,
    }


def _of_explained_gap(result):
    table = result.table.reset_index().to_dict("list")
    for name in ("remaining", "explained"):
        lower, upper = f"{name}_lower", f"{name}_upper"
        pairs = zip(table[lower], table[upper], strict=True)
        table[lower], table[upper] = zip(
            *(drawn_ends(*pair, N_DRAWS) for pair in pairs), strict=True
        )
    return {
        "value": result.value,
        "interval": drawn_ends(result.lower, result.upper, N_DRAWS),
        "table": table,
        "effective_sizes": result.effective_sizes,
    }


def group_tables(result, drawn=(), n=0):
    """Tables of group metrics; ends of those named in `drawn` are of n resamples."""
    found = content(result)
    for name in ("groups", "overall", "disparities"):
        frame = found[name].reset_index()
        table = frame.to_dict("list")
        if "lower" not in table:
            continue
        for row, metric in enumerate(table["metric"]):
            if metric in drawn:
                table["lower"][row], table["upper"][row] = drawn_ends(
                    table["lower"][row], table["upper"][row], n
                )
        found[name] = table
    return found


READ = {
    PermutationTestResult: _of_test,
    BootstrapResult: _of_bootstrap,
    CertifyResult: lambda result: {
        "value": result.value,
        "pvalue": result.pvalue,
        "certified": result.certified,
        "smallest_certified": result.smallest_certified,
    },
    ConfidenceInterval: _named("value", "lower", "upper", "pair", "place"),
    CVaRTestResult: lambda result: {
        "value": result.value,
        "threshold": result.threshold,
        "pvalue": Chance(result.pvalue, result.n_permutations),
        "n_rows": result.n_rows,
        "n_groups": result.n_groups,
        "n_small_groups": result.n_small_groups,
    },
    DCPResult: _named(
        "lower", "upper", "optimal", "per_class", "weights", "groups", "classes"
    ),
    MinDCPResult: _named("lower", "upper", "optimal", "weights", "groups", "classes"),
    GroupMetricsResult: lambda result: {
        "groups": result.groups,
        "overall": result.overall_table,
        "disparities": result.disparities,
        "sizes": result.sizes,
    },
    MADDBandwidthResult: _named(
        "interval", "value", "std", "h_sup", "groups", "stratum", "bandwidths", "values"
    ),
    MetricBounds: _named("lower", "upper"),
    ProxyBoundsResult: _of_proxy_bounds,
    RateVarianceResult: _named(
        "value", "f1", "f2", "n_rows", "n_groups", "n_small_groups"
    ),
    WorstSubgroupResult: _of_subgroup,
    ExplainedGapResult: _of_explained_gap,
    FairnessMonitor: looks,
    CountTable: lambda table: CONTENT[getattr(table, "kind", "sizes")](table),
}


def content(result):
    """Turn a result into numbers, labels, lists, dictionaries and tables."""
    read = READ.get(type(result))
    return read(result) if read else result
