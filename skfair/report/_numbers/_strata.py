"""Metrics within strata, beside those of everyone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from skfair._utils._text import label_text, or_none, visible_text
from skfair.groups import CROSS
from skfair.metrics import confidence_interval, permutation_test, values_by_stratum
from skfair.report._numbers._draws import counts_are_drawn
from skfair.report._numbers._intervals import arguments_of, bounded_metrics
from skfair.report._numbers._sample import Sample


def strata_numbers(sample: Sample) -> dict[str, Any] | None:
    """Largest value over strata of each metric, and their mean; None without strata.

    Tests draw rows, so they are left out where the report draws counts. DCP is not
    computed within strata: its search takes too long to be repeated.
    """
    strata = sample.audit.strata
    if strata is None or not sample.comparable:
        return None
    with warnings.catch_warnings():
        # The table says itself what is left out.
        warnings.simplefilter("ignore")
        metrics = bounded_metrics(sample)
        keys = [key for key in sample.keys if key in metrics]
        rows = {key: _numbers(sample, key, metrics[key]) for key in keys}
    names = CROSS.join(strata.names) or "stratum"
    left_out = next(iter(rows.values()))["left_out"] if rows else []
    return {
        "names": visible_text(names),
        "n_strata": len(strata.labels),
        "n_rows": int((strata.codes >= 0).sum()),
        "left_out": left_out,
        "rows": [
            {"key": key, **{name: row[name] for name in row if name != "left_out"}}
            for key, row in rows.items()
        ],
    }


def _numbers(sample: Sample, key: str, metric: Callable[..., float]) -> dict[str, Any]:
    """Numbers of one metric within strata, None where it is undefined."""
    strata, options = sample.audit.strata, sample.audit.options
    assert strata is not None
    y_true, y_score, groups, weights = arguments_of(sample, key)
    given: dict[str, Any] = {
        "sensitive_features": groups,
        "control_features": strata,
        "sample_weight": weights,
    }
    table = values_by_stratum(metric, y_true, y_score, **given)
    values, labels = table["value"].to_numpy(), strata.labels
    left_out = [
        {"label": label_text(label), "reason": visible_text(reason, 120)}
        for label, reason in zip(labels, table["reason"], strict=True)
        if reason
    ]
    found = table[table["value"].notna()]
    if found.empty:
        none = dict.fromkeys(("value", "stratum", "mean", "lower", "upper"))
        return {**none, "null": None, "pvalue": None, "left_out": left_out}
    interval = confidence_interval(
        metric, y_true, y_score, **given, confidence_level=options.confidence_level
    )
    null = pvalue = math.nan
    if not counts_are_drawn(sample.audit):
        test = permutation_test(
            metric,
            y_true,
            y_score,
            **given,
            n_permutations=options.n_permutations,
            random_state=options.random_state,
            n_jobs=options.n_jobs,
        )
        null, pvalue = test.null_mean, test.pvalue
    shares = found["weight"] / found["weight"].sum()
    largest = int(table["value"].argmax())
    return {
        "value": float(values[largest]),
        "stratum": label_text(labels[largest]),
        "mean": float(shares @ found["value"]),
        "lower": interval.low,
        "upper": interval.high,
        "null": or_none(null),
        "pvalue": or_none(pvalue),
        "left_out": left_out,
    }
