"""How well a model predicts, for everyone and for each group."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, log_loss

from skfair.metrics import cvar_fairness_report, top_groups
from skfair.report._inputs import Audit, Model
from skfair.report._numbers._sample import Rows, Sample, sort_by_group
from skfair.statistics import GroupedOutcomes

#: Numbers by name, None where one is undefined.
Numbers = dict[str, float | None]


def performance(audit: Audit, model: Model, rows: Any = slice(None)) -> Numbers:
    """Quality of predictions on some rows, by default on all of them.

    None without true labels, without scores, or where a class has no row.
    """
    names = "accuracy", "balanced_accuracy", "average_precision", "log_loss"
    found: Numbers = dict.fromkeys(names)
    if audit.y_true is None:
        return found
    true, predicted = audit.y_true[rows], model.y_pred[rows]
    weights = _weights(audit)[rows]
    hits, n_classes = weights * (true == predicted), len(audit.classes)
    sizes = np.bincount(true, weights, n_classes)
    found["accuracy"] = float(hits.sum() / weights.sum())
    if sizes.all():
        recalls = np.bincount(true, hits, n_classes) / sizes
        found["balanced_accuracy"] = float(recalls.mean())
    if model.y_score is not None:
        score = model.y_score[rows]
        found["log_loss"] = float(
            log_loss(true, score, labels=[0, 1], sample_weight=weights)
        )
        if sizes[1] > 0:
            found["average_precision"] = float(
                average_precision_score(true, score, sample_weight=weights)
            )
    return found


def _weights(audit: Audit) -> NDArray[Any]:
    return np.ones(audit.n_rows) if audit.sample_weight is None else audit.sample_weight


def group_numbers(sample: Sample) -> list[dict[str, Any]]:
    """Size, rates and performance of each group that is compared, in their order."""
    audit, model = sample.audit, sample.model
    if not sample.attribute.groups.labels:
        return []
    parts = sample.split(sort_by_group(sample.attribute.groups.codes))
    groups: list[dict[str, Any]] = [
        {"n": len(rows), **performance(audit, model, rows)} for rows in parts
    ]
    if not audit.binary:
        return groups
    for group, rows, selection in zip(groups, parts, _selections(sample), strict=True):
        if audit.y_true is not None:
            group |= _rates(audit, model, rows)
        group |= selection
    return groups


def _rates(audit: Audit, model: Model, rows: Rows) -> Numbers:
    """Compute the base rate, and rates of positive decisions by true class."""
    assert audit.y_true is not None
    true, selected = audit.y_true[rows] == 1, model.y_pred[rows] == 1
    weights = _weights(audit)[rows]
    shares = {
        "base_rate": (true, np.ones(len(rows), dtype=bool)),
        "true_positive_rate": (selected, true),
        "false_positive_rate": (selected, ~true),
    }
    return {
        name: float(weights[hit & among].sum() / weights[among].sum())
        if among.any()
        else None
        for name, (hit, among) in shares.items()
    }


def _selections(sample: Sample) -> list[dict[str, Any]]:
    """Compute the selection rate of each group, and whether it differs."""
    options, weights = sample.audit.options, sample.audit.sample_weight
    selected = GroupedOutcomes.from_outcomes(
        (sample.model.y_pred == 1).astype(float),
        sensitive_features=sample.attribute.groups,
        sample_weight=weights,
    )
    positions = tuple(range(selected.n_groups))
    selected = replace(selected, labels=positions, names=())
    with warnings.catch_warnings():
        # The report says itself that a single group cannot be compared.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        table = cvar_fairness_report(
            None,
            selected,
            alpha=options.alpha,
            confidence_level=options.confidence_level,
        ).sort_index()
    differs = None
    if weights is None and sample.comparable:
        differs = set(top_groups(None, selected).index)
    average = float(selected.means.mean())
    return [
        {
            "selection_rate": row.rate,
            "lower": row.low,
            "upper": row.high,
            "difference": row.rate - average,
            "tail_share": row.tail_share,
            "differs": None if differs is None else row.Index in differs,
        }
        for row in table.itertuples()
    ]
