"""Numbers of each group of one model and attribute: rates, quality, impact ratios."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, log_loss

from skfair._utils._text import or_none
from skfair._utils._types import Bools, Floats, Integers
from skfair.metrics import cvar_fairness_report, impact_ratios, top_groups
from skfair.metrics._groupwise._impact_ratios import are_selected
from skfair.report._inputs import Audit, Model
from skfair.report._sample import Sample, count_outcomes

#: Numbers by name, None where one is undefined.
Numbers = dict[str, float | None]

#: Rows of a bin of scores, at least, and number of bins, at most.
_ROWS_OF_BIN, _MOST_BINS = 100, 10


def performance(audit: Audit, model: Model, rows: Any = slice(None)) -> Numbers:
    """Quality of predictions on some rows, by default on all of them.

    None without true labels, without scores, where a class has no row, or where
    scores are no probabilities.
    """
    if audit.of_numbers:
        return _performance_of_numbers(audit, model, rows)
    names = ["accuracy", "balanced_accuracy", "average_precision", "log_loss"]
    names += ["score_excess", "calibration_error"]
    found: Numbers = dict.fromkeys(names)
    if audit.y_true is None:
        return found
    true, predicted = audit.y_true[rows], model.y_pred[rows]
    weights = _weights(audit)[rows]
    n_rows = audit.count(rows)
    hits, n_classes = weights * (true == predicted), len(audit.classes)
    sizes = np.bincount(true, weights, n_classes)
    found["accuracy"] = float(hits.sum() / weights.sum())
    if sizes.all():
        recalls = np.bincount(true, hits, n_classes) / sizes
        found["balanced_accuracy"] = float(recalls.mean())
    if model.y_score is not None:
        score = model.y_score[rows]
        if audit.options.scale == "probability":
            found["log_loss"] = float(
                log_loss(true, score, labels=[0, 1], sample_weight=weights)
            )
            found |= _calibration(true == 1, score, weights, n_rows)
        if sizes[1] > 0:
            found["average_precision"] = float(
                average_precision_score(true, score, sample_weight=weights)
            )
    return found


def _performance_of_numbers(audit: Audit, model: Model, rows: Any) -> Numbers:
    """Mean prediction, and with true values mean errors and R2."""
    assert model.y_score is not None
    predicted, weights = model.y_score[rows], _weights(audit)[rows]
    squares = audit.squares
    total = len(predicted) if squares is None else float(squares[rows].sum())
    given = weights, total, audit.options.confidence_level
    found = _mean_of("mean_prediction", predicted, *given)
    if audit.y_true is None:
        return found
    true = audit.y_true[rows]
    errors = audit.errors_of(model)[rows]
    found |= _mean_of("mean_error", errors, *given)
    found |= _mean_of("mean_absolute_error", np.abs(errors), *given)
    spread = weights @ (true - np.average(true, weights=weights)) ** 2
    found["r2"] = float(1 - weights @ errors**2 / spread) if spread > 0 else None
    return found


def _mean_of(
    name: str, values: Floats, weights: NDArray[Any], squares: float, level: float
) -> Numbers:
    """Mean of values, with the ends of Student's interval; None for a single row."""
    mean = float(np.average(values, weights=weights))
    size = float(weights.sum() ** 2 / squares)
    if size <= 1:
        return {name: mean, f"{name}_lower": None, f"{name}_upper": None}
    variance = np.average((values - mean) ** 2, weights=weights) / (size - 1)
    half = float(stdtrit(size - 1, (1 + level) / 2) * np.sqrt(variance))
    return {name: mean, f"{name}_lower": mean - half, f"{name}_upper": mean + half}


def _calibration(
    positive: Bools, scores: Floats, weights: NDArray[Any], n_rows: int
) -> Numbers:
    """Mean score minus share of positives, of all rows and, absolute, of bins of score.

    Bins have the same weight, and 100 rows or more; rows of one score share a bin.
    """
    n_bins = int(np.clip(n_rows // _ROWS_OF_BIN, 1, _MOST_BINS))
    _, codes = np.unique(scores, return_inverse=True)
    sizes = np.bincount(codes, weights)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    bins = np.minimum((middles * n_bins).astype(int), n_bins - 1)[codes]
    excess = np.bincount(bins, weights * (scores - positive)) / weights.sum()
    return {
        "score_excess": float(excess.sum()),
        "calibration_error": float(np.abs(excess).sum()),
    }


def _weights(audit: Audit) -> NDArray[Any]:
    return np.ones(audit.n_rows) if audit.weights is None else audit.weights


def group_numbers(sample: Sample) -> list[dict[str, Any]]:
    """Size, rates and performance of each group that is compared, in their order."""
    audit, model = sample.audit, sample.model
    if not sample.attribute.groups.labels:
        return []
    codes = sample.groups.codes
    n_without = int(np.count_nonzero(codes < 0))
    sizes = np.cumsum(sample.groups.sizes())[:-1]
    parts = np.split(np.argsort(codes, kind="stable")[n_without:], sizes)
    groups: list[dict[str, Any]] = [
        {"n": audit.count(rows), **performance(audit, model, rows)} for rows in parts
    ]
    if not audit.binary:
        return groups
    for group, rows, selection in zip(groups, parts, _selections(sample), strict=True):
        if audit.y_true is not None:
            group |= _rates(audit, model, rows)
        group |= selection
    return groups


def _rates(audit: Audit, model: Model, rows: Integers) -> Numbers:
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
        given: dict[str, Any] = {
            "y_pred_or_score": of_rows,
            "sensitive_features": groups,
            "rate": kind,
            "sample_weight": audit.sample_weight,
        }
        if audit.n_alike is not None:
            chosen = are_selected(of_rows, kind, None, audit.weights)
            given = {"y_pred_or_score": count_outcomes(audit, chosen, groups)}
        with warnings.catch_warnings():
            # The report says itself that groups cannot be compared.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            table = impact_ratios(
                None,
                **given,
                min_share=options.min_share,
                confidence_level=options.confidence_level,
            )
        names = [*labels, None]  # the last row is of those without a group
        rows = [
            {"label": name, **{k: _plain(v) for k, v in row.items()}}
            for name, row in zip(names, table.to_dict("records"), strict=False)
        ]
        if audit.n_alike is not None and sample.attribute.n_missing:
            unknown = {"n": sample.attribute.n_missing, "status": "unknown"}
            rows.append(dict.fromkeys(("label", *table.columns)) | unknown)
        tables.append({"kind": kind, "rows": rows})
    return tables


def _plain(value: Any) -> Any:
    """Text and whole numbers as they are, other numbers as in JSON."""
    return value if isinstance(value, (str, int)) else or_none(value)
