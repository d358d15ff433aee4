"""Each group's size, rates and performance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics import top_groups
from skfair.metrics._groupwise._group_gaps import wilson_interval
from skfair.report._performance import performance
from skfair.report._sample import Sample, observed_rows
from skfair.report._text import label_text, or_none
from skfair.statistics import GroupedOutcomes


def group_rows(sample: Sample) -> list[dict[str, Any]]:
    """Describe every group that is compared.

    Parameters
    ----------
    sample : Sample

    Returns
    -------
    list of dict, in the order of the groups
        With more than ten groups, those furthest from the average come first.
    """
    groups = sample.attribute.groups
    if not groups.labels:
        return []
    parts = np.split(observed_rows(sample), np.cumsum(groups.sizes())[:-1])
    rows: list[dict[str, Any]] = [
        {"label": label_text(label), "n": len(part), **_quality(sample, part)}
        for label, part in zip(groups.labels, parts, strict=True)
    ]
    if not sample.audit.binary:
        return rows
    selected = GroupedOutcomes.from_outcomes(
        (sample.model.y_pred == 1).astype(float),
        sensitive_features=groups,
        sample_weight=sample.audit.sample_weight,
    )
    level = sample.audit.options.confidence_level
    low, high = wilson_interval(selected.means, selected.effective_sizes, level)
    differs = _differs(sample, selected)
    average = float(selected.means.mean())
    for i, row in enumerate(rows):
        row["selection_rate"] = float(selected.means[i])
        row["lower"], row["upper"] = float(low[i]), float(high[i])
        row["difference"] = row["selection_rate"] - average
        row["differs"] = None if differs is None else i in differs
    if sample.attribute.comparison == "pooled":
        rows.sort(key=lambda row: -abs(row["difference"]))
    return rows


def _differs(sample: Sample, selected: GroupedOutcomes) -> set[int] | None:
    """Find groups selected more or less often than the rest; None under weights."""
    if sample.audit.sample_weight is not None or selected.n_groups < 2:
        return None
    positions = tuple(range(selected.n_groups))
    return set(top_groups(None, replace(selected, labels=positions, names=())).index)


def _quality(sample: Sample, rows: NDArray[np.intp]) -> dict[str, float | None]:
    """Measure performance on some rows, and, of two classes, rates by true label."""
    audit, model = sample.audit, sample.model
    true = None if audit.y_true is None else audit.y_true[rows]
    weights = None if audit.sample_weight is None else audit.sample_weight[rows]
    score = None if model.y_score is None else model.y_score[rows]
    predicted = model.y_pred[rows]
    found = performance(true, predicted, score, len(audit.classes), weights)
    if not audit.binary or true is None:
        return found
    weights = np.ones(len(rows)) if weights is None else weights
    rates = {
        "base_rate": (true == 1, np.ones(len(rows), dtype=bool)),
        "true_positive_rate": (predicted == 1, true == 1),
        "false_positive_rate": (predicted == 1, true == 0),
    }
    for name, (hit, among) in rates.items():
        total = weights[among].sum()
        found[name] = or_none(weights[hit & among].sum() / total if total else np.nan)
    return found
