"""Public names that the golden calls use and that may be renamed.

Where a name changes, this file is the only one to edit; what is recorded stays.
"""

import json
from functools import partial

import numpy as np
from golden_results import Chance, Drawn, End, Table

from skfair import frames
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
from skfair.statistics import (
    GroupedCalibration,
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
    sum_statistics,
)


def with_options(metric, **options):
    """Set options of a metric."""
    return partial(metric, **options) if options else metric


# Statistics of rows.


def count_scores(y_score, groups, scale="probability", weights=None):
    return GroupedScores.from_scores(
        y_score, sensitive_features=groups, scale=scale, sample_weight=weights
    )


def read_counts(y_score, groups, counts, weights=None, scale="probability"):
    """Take an aggregate: distinct scores of groups with their numbers of rows."""
    return GroupedScores.from_counts(
        y_score,
        sensitive_features=groups,
        n_rows=counts,
        total_weight=weights,
        scale=scale,
    )


def count_bins(y_score, groups, n_bins, weights=None):
    return GroupedHistogram.from_scores(
        y_score, sensitive_features=groups, n_bins=n_bins, sample_weight=weights
    )


def count_bins_by_label(y_true, y_score, groups, n_bins, weights=None):
    return GroupedCalibration.from_scores(
        y_true, y_score, sensitive_features=groups, n_bins=n_bins, sample_weight=weights
    )


def count_outcomes(outcomes, groups, mask=None, weights=None):
    return GroupedOutcomes.from_outcomes(
        outcomes, sensitive_features=groups, mask=mask, sample_weight=weights
    )


def count_confusion(y_true, y_pred, groups, weights=None):
    return GroupedConfusion.from_predictions(
        y_true, y_pred, sensitive_features=groups, sample_weight=weights
    )


def add(statistics):
    return sum_statistics(list(statistics))


def written(statistic):
    """Write a statistic or a monitor as JSON and read it again."""
    return type(statistic).from_dict(json.loads(json.dumps(statistic.to_dict())))


def coarser(histogram, n_bins):
    return histogram.coarsen(n_bins)


def at_edges(histogram):
    """Scores rounded down to the edges of bins."""
    return histogram.at_edges()


def cumulative(statistic, group):
    return statistic.cdf(group)


def sizes(statistic):
    """Labels, numbers of rows, and total weights."""
    return [list(statistic.labels), statistic.counts, statistic.totals]


# Statistics of columns of a table, on any engine.

frame_scores = frames.grouped_scores
frame_bins = frames.grouped_histogram
frame_bins_by_label = frames.grouped_calibration
frame_outcomes = frames.grouped_outcomes
frame_confusion = frames.grouped_confusion


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
        "overall": result.everyone,
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
    GroupedScores: sizes,
    GroupedHistogram: sizes,
    GroupedCalibration: sizes,
    GroupedConfusion: lambda result: [
        *sizes(result),
        list(result.classes),
        result.confusion,
    ],
    GroupedOutcomes: lambda result: [
        list(result.labels),
        result.counts,
        result.totals,
        result.sums,
        result.squares,
    ],
}


def content(result):
    """Turn a result into numbers, labels, lists, dictionaries and tables."""
    read = READ.get(type(result))
    return read(result) if read else result
