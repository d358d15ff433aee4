"""Numbers of each group of one model and attribute: rates, quality, impact ratios."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._text import or_none
from skfair._utils._types import Integers
from skfair.metrics import cvar_fairness_report, impact_ratios, top_groups
from skfair.metrics._groupwise._impact_ratios import are_selected
from skfair.report._inputs import Audit, Model
from skfair.report._language import name_of
from skfair.report._performance import Numbers, performance
from skfair.report._sample import Sample, count_outcomes


def group_numbers(sample: Sample) -> list[dict[str, Any]]:
    """Size, rates and performance of each group that is compared.

    Of many groups the furthest from the average is first.
    """
    audit, model, labels = sample.audit, sample.model, sample.groups.labels
    if not labels:
        return []
    codes = sample.groups.codes
    n_without = int(np.count_nonzero(codes < 0))
    sizes = np.cumsum(sample.groups.sizes())[:-1]
    parts = np.split(np.argsort(codes, kind="stable")[n_without:], sizes)
    groups: list[dict[str, Any]] = [
        {"label": name_of(label), "n": audit.count(rows)}
        | performance(audit, model, rows)
        for label, rows in zip(labels, parts, strict=True)
    ]
    if not audit.binary:
        return groups
    for group, rows, selection in zip(groups, parts, _selections(sample), strict=True):
        if audit.y_true is not None:
            group |= _rates(audit, model, rows)
        group |= selection
    if sample.attribute.comparison == "pooled":
        groups.sort(key=lambda group: -abs(group["difference"]))
    return groups


def _rates(audit: Audit, model: Model, rows: Integers) -> Numbers:
    """Compute the base rate, and rates of positive decisions by true class."""
    assert audit.y_true is not None
    true, selected = audit.y_true[rows] == 1, model.y_pred[rows] == 1
    weights = audit.entry_weights[rows]
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
    options = sample.audit.options
    positions = tuple(range(sample.decisions.n_groups))
    selected = replace(sample.decisions, labels=positions, names=())
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
    if not sample.audit.weighted and sample.comparable:
        differs = set(top_groups(None, selected).index)
    average = float(selected.means.mean())
    return [
        {
            "selection_rate": row.rate,
            "lower": row.lower,
            "upper": row.upper,
            "difference": row.rate - average,
            "tail_share": row.tail_share,
            "differs": None if differs is None else row.Index in differs,
        }
        for row in table.itertuples()
    ]


def impact_tables(sample: Sample) -> list[dict[str, Any]] | None:
    """Impact ratios of decisions and, where there are any, of scores.

    None unless they are asked for. Groups that are too small are among them.
    """
    options, model = sample.audit.options, sample.model
    if not options.impact_ratios:
        return None
    groups, audit = sample.attribute.every, sample.audit
    labels = groups.labels
    # An intersection is one attribute here; the others have their own.
    groups = replace(groups, labels=tuple(range(len(labels))), names=())
    values: dict[Any, Any] = {"selection": model.y_pred}
    if model.y_score is not None:
        values["scoring"] = model.y_score
    tables = []
    for kind, of_rows in values.items():
        given: dict[str, Any] = {"sensitive_features": groups, "rate": kind}
        given["sample_weight"] = audit.sample_weight
        if audit.n_alike is not None:
            chosen = are_selected(of_rows, kind, None, audit.weights)
            of_rows, given = count_outcomes(audit, chosen, groups), {}
        with warnings.catch_warnings():
            # The report says itself that groups cannot be compared.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            table = impact_ratios(
                None,
                of_rows,
                **given,
                min_share=options.min_share,
                confidence_level=options.confidence_level,
            )
        names = [*map(name_of, labels), ""]  # the last row is of those without a group
        rows = [
            {"label": name, **{k: _plain(v) for k, v in row.items()}}
            for name, row in zip(names, table.to_dict("records"), strict=False)
        ]
        if audit.n_alike is not None and sample.attribute.n_missing:
            unknown = {"n": sample.attribute.n_missing, "status": "unknown"}
            rows.append({"label": "", **dict.fromkeys(table.columns)} | unknown)
        tables.append({"kind": kind, "rows": rows, "sentence": ""})
    return tables


def _plain(value: Any) -> Any:
    """Text and whole numbers as they are, other numbers as in JSON."""
    return value if isinstance(value, (str, int)) else or_none(value)
