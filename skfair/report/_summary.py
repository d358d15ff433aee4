"""The summary of a report: a plain dict of its numbers and of what they say."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
import sklearn
from numpy.typing import NDArray

import skfair
from skfair._rows import Rows
from skfair._utils._arrays import shares_of_sums
from skfair._utils._text import label_text, nan_to_none, visible_text
from skfair.groups import CROSS, keep_labels, n_columns_of, rows_by_code
from skfair.metrics._cvar_fairness_report import tabulate_groups
from skfair.metrics._impact_ratios import Attribute, are_selected, tabulate_ratios
from skfair.metrics._inputs import Rate, outcomes_of_rate
from skfair.metrics._many_groups import find_gaps
from skfair.metrics._pairs import Located
from skfair.metrics._pooling import pool_groups
from skfair.report._inputs import LEVEL, Audit, ReportModel
from skfair.report._metrics import (
    ALPHA,
    MEASURES,
    RATIO,
    Measure,
    ReportSample,
    answer_to,
    count_outcomes,
    keys_of,
    locate_all,
    make_samples,
    tested_keys,
)
from skfair.report._numbers import (
    NamedNumbers,
    Stratum,
    compare_pair,
    gaps_beside_first,
    has_pair_intervals,
    parts_by_stratum,
    performance,
    performances,
    uncertainties,
    values_within_strata,
)
from skfair.report._words import add_sentences, is_missing
from skfair.statistics._distributions import mid_ranks

Summary = dict[str, Any]

#: Points of a curve along each axis; more cannot be seen in a picture.
_N_POINTS = 150


def summarize(audits: Sequence[Audit]) -> Summary:
    """Compute a report, of strings, numbers, None, lists and dicts as in JSON.

    A single audit may hold several models of the same rows. Several audits hold one
    model each, whose rows were counted by the scores of that model.
    """
    by_attribute = zip(*map(make_samples, audits), strict=True)
    samples = [sample for group in by_attribute for sample in group]
    audit, models = audits[0], [model for audit in audits for model in audit.models]
    n_models = len(models)
    gaps = [locate_all(sample) for sample in samples]
    drawn = uncertainties(samples, gaps)
    results = list(map(_summary_of_attribute, samples, gaps, drawn))
    for i, sample in enumerate(samples):
        first = i - i % n_models
        _pair(sample, samples[first], results[i], results[first])
    summary: Summary = {
        "title": audit.options.title,
        "n_rows": audit.n_rows,
        "classes": [label_text(label) for label in audit.classes],
        "true_labels": [label_text(label) for label in audit.classes],
        "positive": _positive(audit),
        "labels_alike": audit.y_true is not None and _are_alike(audit.y_true),
        "models": [model for audit in audits for model in _models(audit)],
        "attributes": [
            _attribute(samples[i], results[i : i + n_models])
            for i in range(0, len(samples), n_models)
        ],
        "settings": _settings(audits),
        "versions": _versions(),
    }
    return add_sentences(summary)


def _are_alike(values: NDArray[Any]) -> bool:
    """Return whether all values are the same, so that groups cannot differ."""
    return bool((values == values[0]).all())


def tell_left_out(
    summary: Summary,
    n_rows: int,
    columns: Sequence[str],
    groups: Sequence[tuple[str, int, int]] = (),
) -> Summary:
    """Say how many rows were left out because some columns have no value.

    `groups` has, for each group, its label, the number of its rows that were left out,
    and the number of all its rows.
    """
    left_out = {
        "n_rows": n_rows,
        "columns": [visible_text(name) for name in columns],
        "groups": [
            {"label": visible_text(label), "n": n, "of": of} for label, n, of in groups
        ],
    }
    settings = {**summary["settings"], "left_out": left_out}
    return add_sentences({**summary, "settings": settings})


def tell_notes(summary: Summary, notes: Sequence[str]) -> Summary:
    """Add notes on odd values in the data."""
    return {**summary, "settings": summary["settings"] | {"notes": _written(notes)}}


def _written(notes: Sequence[str]) -> list[str]:
    """Return notes as sentences of a page."""
    texts = [visible_text(note, 400) for note in notes]
    return [f"{text[0].upper()}{text[1:]}" for text in texts]


def tell_threshold(summary: Summary, threshold: float) -> Summary:
    """Say from which score a decision is positive, in the unit of the scores."""
    told = {"threshold": threshold, "decided_by": f"score of at least {threshold:g}"}
    models = [model | told for model in summary["models"]]
    return tell_predicted({**summary, "models": models})


def tell_true_labels(summary: Summary, names: Sequence[str]) -> Summary:
    """Name the true labels (negative, then positive) in the terms of the data.

    Decisions on these labels have names of their own.
    """
    names = [visible_text(name) for name in names]
    renamed = dict(zip(summary["true_labels"], names, strict=True))
    results = [result for named in summary["attributes"] for result in named["results"]]
    for result in results:
        cells = [cell for one in result["measures"] for cell in one["left_out"]]
        for stratum in (result["strata"] or {"left_out": ()})["left_out"]:
            cells += stratum["cells"]
        for cell in cells:
            cell["true_label"] = renamed[cell["true_label"]]
    return add_sentences({**summary, "true_labels": names})


def tell_predicted(summary: Summary) -> Summary:
    """Call decisions predictions, where a model predicts."""
    settings = summary["settings"] | {"decided": False}
    return add_sentences({**summary, "settings": settings})


def _positive(audit: Audit) -> str | None:
    return label_text(audit.classes[1]) if audit.binary else None


def _models(audit: Audit) -> list[Summary]:
    return [
        {
            "name": visible_text(model.name),
            "scores": model.y_score is not None,
            "threshold": model.threshold,
            "decided_by": decided_by(model, audit.options.scale),
            "alike": _are_alike(
                model.y_pred if model.y_score is None else model.y_score
            ),
            "performance": numbers,
            "beside_first": beside,
        }
        for model, (numbers, beside) in zip(
            audit.models, performances(audit), strict=True
        )
    ]


def decided_by(model: ReportModel, scale: str) -> str:
    """Say how a model decides; an empty text if it does not decide."""
    if not model.decides:
        return ""
    if model.threshold is None:
        return "as given"
    what = "rank" if scale == "rank" else "score"
    return f"{what} of at least {model.threshold:g}"


def _attribute(sample: ReportSample, results: list[Summary]) -> Summary:
    groups = sample.groups
    return {
        "name": visible_text(sample.attribute),
        "comparison": sample.comparison,
        "min_group_size": groups.min_group_size,
        "groups": [
            {"label": label_text(label), **_size(sample.audit, groups.codes == i)}
            for i, label in enumerate(groups.labels)
        ],
        "aside": _sizes(sample.aside),
        "n_missing": sample.audit.count(sample.every.codes < 0),
        "results": results,
    }


def _size(audit: Audit, entries: Any) -> Summary:
    """Return the number of rows of a group, and of people who have several rows."""
    size, n_people = {"n": audit.count(entries)}, audit.count_people(entries)
    return size if n_people is None else size | {"n_people": n_people}


def _sizes(groups: Iterable[tuple[Hashable, int]]) -> list[Summary]:
    """List groups with their numbers of rows."""
    return [{"label": label_text(label), "n": size} for label, size in groups]


def _pair(
    sample: ReportSample, first: ReportSample, result: Summary, of_first: Summary
) -> None:
    """Add to each metric its difference from the first model's value, where paired.

    The interval of the difference is extended to contain the difference, like all
    intervals of a report.
    """
    if not sample.comparable:
        return
    values = {measure["key"]: measure["value"] for measure in of_first["measures"]}
    defined = {m["key"]: m for m in result["measures"] if m["value"] is not None}
    keys = {answer_to(MEASURES[key].question, values) for key in values}
    shared = [key for key in defined if key in keys and values[key] is not None]
    for key, (low, high) in gaps_beside_first(sample, first, shared).items():
        value = defined[key]["value"] - values[key]
        ends = {"lower": min(low, value), "upper": max(high, value)}
        defined[key]["beside_first"] = {"value": value, **ends}


def _summary_of_attribute(
    sample: ReportSample, located: dict[str, Located], drawn: dict[str, NamedNumbers]
) -> Summary:
    """Return the part of the summary on one model and one attribute."""
    options, groups = sample.audit.options, _groups(sample)
    asks_ratio = isinstance(options.limit, dict) and RATIO in options.limit
    n_tail = sum(row.get("tail_share", 0) > 0 for row in groups)
    return {
        "model": visible_text(sample.model.name),
        "measures": [
            _summary_of_metric(sample, MEASURES[key], gap, drawn[key], n_tail)
            for key, gap in located.items()
        ],
        "groups": groups,
        "impact_ratios": _impact_ratios(sample) if options.impact_ratios else None,
        "smallest_ratio": _smallest_ratio(sample) if asks_ratio else None,
        "pooled": _pooled(sample) if options.intersection else None,
        "strata": _strata(sample, located),
        "cdf": _cdf(sample, located.get("mcdp")),
    }


def _summary_of_metric(
    sample: ReportSample,
    measure: Measure,
    located: Located,
    drawn: Summary,
    n_tail: int,
) -> Summary:
    sizes = sample.sizes
    of_dcp = measure.key == "dcp" and sample.comparable
    of_odds = measure.key == "equalized_odds_difference"
    return {
        "key": measure.key,
        "question": measure.question,
        "maximum": measure.maximum,
        "n": int(sizes.sum()),
        "n_groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
        "value": nan_to_none(located.value),
        **drawn,
        "searched": sample.baseline[1] if of_dcp else None,
        "beside_first": None,
        "attained": _attained(sample, located) | {"n_tail": n_tail},
        "decided": _decided(sample, measure.key, located, drawn["pairs"]),
        "known": _known(sample, measure.key, located, drawn["pairs"]),
        "left_out": _few_of_labels(sample) if of_odds else [],
    }


def _attained(sample: ReportSample, located: Located) -> Summary:
    """Say which groups have a value, and at which score or class."""
    return {
        "pair": list(located.pair),
        "figures": [*map(nan_to_none, located.figures)],
        "score": nan_to_none(located.score),
        "score_of_rank": _score_of_rank(sample, located.score),
        "classes": list(located.cell or (0, 0)),
        "sizes": [nan_to_none(size) or 0.0 for size in located.sizes],
    }


def _score_of_rank(sample: ReportSample, rank: float) -> float | None:
    """Return the largest score up to a rank; None where it is not known."""
    audit, scores = sample.audit, sample.model.y_score
    if audit.options.scale != "rank" or scores is None or math.isnan(rank):
        return None
    if audit.blur[1] > 0:  # in bins, scores were moved to [0, 1]
        return None
    grouped, mass = sample.groups.codes >= 0, audit.rows.mass
    scores = scores[grouped]
    ranks = mid_ranks(scores, None if mass is None else mass[grouped])
    below = scores[ranks <= rank + 1e-12]
    return float(below.max()) if len(below) else None


def _decided(
    sample: ReportSample, key: str, located: Located, pairs: Sequence[Summary]
) -> Summary | None:
    """Return the gap and interval of the pair that decides a test, if it is another."""
    if not pairs or not has_pair_intervals(sample, key):
        return None
    pair, classes = _positions(sample, pairs[0]["pair"]), pairs[0]["classes"]
    if {*pair} == {*located.pair} and classes in (None, list(located.cell or ())):
        return None
    found = _compare(sample, key, pair, classes)
    close = math.isclose(found["value"], pairs[0]["gap"], abs_tol=1e-9)
    return found if close else None


def _known(
    sample: ReportSample, key: str, located: Located, pairs: Sequence[Summary]
) -> Summary | None:
    """Return the gap and interval of a pair of known groups, where others decide.

    It is the first such pair with a significant difference; if nothing is tested, the
    pair of known groups with the largest gap.
    """
    labels = [label_text(label) for label in sample.groups.labels]
    known = [not is_missing(label) for label in labels]
    if all(known) or not sample.comparable or not has_pair_intervals(sample, key):
        return None
    if not pairs:
        if sum(known) < 2:
            return None
        groups = keep_labels(sample.groups, known)
        found = MEASURES[key].located(replace(sample, groups=groups))
        positions = np.flatnonzero(known).tolist()
        pair = [None if i is None else positions[i] for i in found.pair]
        return _compare(sample, key, pair, found.cell and [*found.cell])
    for one in pairs:
        small = one["pvalue"] <= LEVEL * (1 + 1e-9)
        if small and not any(map(is_missing, one["pair"])):
            pair = _positions(sample, one["pair"])
            return _compare(sample, key, pair, one["classes"])
    return None


def _positions(sample: ReportSample, pair: Sequence[str | None]) -> list[int | None]:
    """Return the positions of the two labels of a pair; None stands for everyone."""
    labels = [label_text(label) for label in sample.groups.labels]
    return [None if label is None else labels.index(label) for label in pair]


def _compare(
    sample: ReportSample,
    key: str,
    pair: Sequence[int | None],
    classes: Sequence[int] | None,
) -> Summary:
    """Compare one pair of groups: return its gap with interval and place."""
    found, (lower, upper) = compare_pair(sample, key, pair, classes)
    attained = _attained(sample, found) | {"n_tail": 0}
    return {"value": found.value, "lower": lower, "upper": upper, "attained": attained}


def _few_of_labels(sample: ReportSample) -> list[Summary]:
    """List groups and true labels too small for error rates, with numbers of rows."""
    if not sample.comparable:
        return []
    labels, classes = sample.groups.labels, sample.audit.classes
    errors = sample.statistic("errors")
    counts = errors.label_counts
    few = (counts < errors.min_group_size) & counts.any(axis=0)
    return [
        {
            "group": label_text(labels[i]),
            "true_label": label_text(classes[j]),
            "n": int(counts[i, j]),
        }
        for i, j in np.argwhere(few)
    ]


def _groups(sample: ReportSample) -> list[dict[str, Any]]:
    """Return the size, rates and performance of each group that is compared.

    Many groups are in the order of their distance from the average, the largest first.
    """
    audit, model, labels = sample.audit, sample.model, sample.groups.labels
    if not labels:
        return []
    parts = rows_by_code(sample.groups.codes, len(labels))
    groups: list[dict[str, Any]] = [
        {"label": label_text(label), **_size(audit, rows)}
        | performance(audit, model, rows)
        for label, rows in zip(labels, parts, strict=True)
    ]
    many = sample.comparison == "pooled"
    if many and model.decides and audit.y_true is not None:
        for group, beside in zip(groups, _accuracies(sample), strict=True):
            group |= beside
    if not audit.binary:
        return groups
    if audit.y_true is not None:
        for group, rates in zip(groups, _rates(sample), strict=True):
            group |= rates
    if not model.decides:
        return groups
    for group, selection in zip(groups, _selections(sample), strict=True):
        group |= selection
    if many:
        groups.sort(key=lambda group: -abs(group["difference"]))
    return groups


def _rates(sample: ReportSample) -> Iterator[NamedNumbers]:
    """Compute base rates, and rates of positive decisions by true class."""
    errors = sample.statistic("errors")
    confusion = shares_of_sums(errors.matrices)
    rates = np.where(errors.label_counts[..., np.newaxis], confusion, np.nan)
    shares = {"base_rate": shares_of_sums(errors.matrices.sum(axis=2))[:, 1]}
    if sample.model.decides:
        shares["true_positive_rate"] = rates[:, 1, 1]
        shares["false_positive_rate"] = rates[:, 0, 1]
    for of_group in zip(*shares.values(), strict=True):
        yield dict(zip(shares, map(nan_to_none, of_group), strict=True))


def _selections(sample: ReportSample) -> list[dict[str, Any]]:
    """Compute the selection rate of each group, and whether it differs."""
    decisions = sample.statistic("decisions")
    average = float(decisions.means.mean())
    return [
        {
            "selection_rate": row.rate,
            "lower": row.lower,
            "upper": row.upper,
            "difference": row.rate - average,
            "tail_share": row.tail_share,
            "differs": differs,
        }
        for row, differs in _test_each_group(sample, decisions)
    ]


def _accuracies(sample: ReportSample) -> list[dict[str, Any]]:
    """Compare the accuracy of each group with that of all other rows."""
    right = sample.audit.y_true == sample.model.y_pred
    statistic = count_outcomes(sample.audit, right, sample.groups)
    return [
        {"accuracy_of_others": row.rate_of_others, "accuracy_differs": differs}
        for row, differs in _test_each_group(sample, statistic)
    ]


def _test_each_group(
    sample: ReportSample, statistic: Rows
) -> Iterator[tuple[Any, bool | None]]:
    """Yield the row of each group in the table of many, and whether its rate differs.

    The second is None, not tested, where rows have weights or people have several rows.
    """
    positions = tuple(range(statistic.n_groups))
    groups = replace(statistic.groups, labels=positions, names=())
    gaps = find_gaps(statistic.replace_groups(groups), "uniform")
    confidence_level = sample.audit.options.confidence_level
    table = tabulate_groups(gaps, ALPHA, True, confidence_level).sort_index()
    independent = sample.audit.rows.weight is None and sample.audit.rows.cluster is None
    is_tested = independent and sample.comparable
    for row in table.itertuples():
        yield row, bool(row.adjusted_pvalue <= LEVEL) if is_tested else None


def _impact_ratios(sample: ReportSample) -> list[dict[str, Any]]:
    """Return the impact ratios of decisions and, if there are any, of scores.

    Groups that are too small to be compared are included.
    """
    options, model = sample.audit.options, sample.model
    groups, audit = sample.every, sample.audit
    labels = groups.labels
    # An intersection is one attribute here; the others have their own.
    groups = replace(groups, labels=tuple(range(len(labels))), names=())
    values: dict[Any, Any] = {"selection": model.y_pred} if model.decides else {}
    if model.y_score is not None:
        values["scoring"] = model.y_score
    tables = []
    for kind, of_rows in values.items():
        chosen = are_selected(of_rows, kind, None, audit.rows.mass)
        outcomes = count_outcomes(audit, chosen, groups)
        level = options.confidence_level
        table = tabulate_ratios(Attribute("group", outcomes, 0), 0.0, level)
        rows = [
            {"label": label_text(label), **{k: _plain(v) for k, v in row.items()}}
            for label, row in zip(labels, table.to_dict("records"), strict=True)
        ]
        if n_missing := audit.count(sample.every.codes < 0):
            unknown = {"n": n_missing, "status": "unknown"}
            rows.append({"label": "unknown", **dict.fromkeys(table.columns)} | unknown)
        tables.append({"kind": kind, "rows": rows})
    return tables


def _smallest_ratio(sample: ReportSample) -> Summary | None:
    """Return the smallest impact ratio of decisions, or of scores."""
    table = _impact_ratios(sample)[0]
    compared = [row for row in table["rows"] if row["impact_ratio"] is not None]
    if not compared:
        return None
    low = min(compared, key=lambda row: row["impact_ratio"])
    high = next(row for row in compared if row["status"] == "highest")
    return {"kind": table["kind"], "low": low, "high": high}


def _pooled(sample: ReportSample) -> Summary | None:
    """Return raw and pooled rates of the groups of an intersection.

    Groups that are too small to be compared are included.
    """
    audit, predicted, every = sample.audit, sample.model.y_pred, sample.every
    if n_columns_of(every.labels) < 2 or not sample.model.decides:
        return None
    rates: list[Rate] = ["selection_rate"] if audit.binary else []
    if audit.y_true is not None:
        of_label: list[Rate] = ["true_positive_rate", "false_positive_rate"]
        rates += [*(of_label if audit.binary else []), "accuracy"]
    rows: list[Summary] = []
    for rate in rates:
        outcomes, mask = outcomes_of_rate(audit.y_true, predicted, rate, 1)
        counting = True if mask is None else mask
        groups = replace(every, codes=np.where(counting, every.codes, -1))
        statistic = count_outcomes(audit, outcomes, groups)
        pooled = pool_groups(statistic, audit.options.confidence_level)
        for i, label in enumerate(every.labels):
            numbers = statistic.means[i], *pooled[:, i]
            names = "value", "pooled", "pooled_lower", "pooled_upper"
            rows.append(
                {"rate": rate, "label": label_text(label)}
                | _size(audit, groups.codes == i)
                | dict(zip(names, map(nan_to_none, numbers), strict=True))
            )
    return {"columns": [*map(visible_text, every.names)], "rows": rows}


def _plain(value: Any) -> Any:
    """Return text and whole numbers unchanged, other numbers as JSON has them."""
    return value if isinstance(value, (str, int)) else nan_to_none(value)


def _strata(sample: ReportSample, located: dict[str, Located]) -> Summary | None:
    """Return the metrics within strata, with the metrics of all rows."""
    strata = sample.audit.strata
    if strata is None or not sample.comparable:
        return None
    parts, least = parts_by_stratum(sample), strata.min_group_size
    compared = [
        (label, part)
        for label, part in parts
        if part.comparable and part.audit.n_rows >= least
    ]
    rows = values_within_strata(sample, compared, tested_keys(sample, located))
    for row in rows:
        row["everyone"] = nan_to_none(located[row["key"]].value)
    names = CROSS.join(strata.names)
    return {
        "names": visible_text(names) if names else "stratum",
        "n_strata": len(parts),
        "n_rows": sample.audit.count(strata.codes >= 0),
        "left_out": [
            *_left_out(parts, least),
            *_list_without_rates(compared, sample.keys),
        ],
        "rows": rows,
    }


def _named(label: Hashable, metric: str | None = None, **why: Any) -> Summary:
    """Return the entry of a stratum that is left out, of one metric or altogether."""
    nothing: Summary = {"n_rows": None, "compared": None, "aside": [], "cells": []}
    return {"label": label_text(label), "metric": metric} | nothing | why


def _left_out(parts: Sequence[Stratum], least: int) -> Iterator[Summary]:
    """List strata with too few rows or groups, and groups left out within strata."""
    for label, part in parts:
        if part.audit.n_rows < least:
            yield _named(label, n_rows=part.audit.n_rows)
        elif part.aside and not part.comparable:
            yield _named(label, compared=[*map(label_text, part.groups.labels)])
        elif part.aside:
            yield _named(label, aside=_sizes(part.aside))


def _list_without_rates(
    parts: Sequence[Stratum], keys: Collection[str]
) -> Iterator[Summary]:
    """List groups within strata that have too few rows of a true label."""
    key = "equalized_odds_difference"
    for label, part in parts if key in keys else ():
        if cells := _few_of_labels(part):
            yield _named(label, key, cells=cells)


def _cdf(sample: ReportSample, located: Located | None) -> Summary | None:
    """Return curves of the score distributions and their largest gap, for a picture."""
    few = sample.comparable and sample.comparison == "pairwise"
    if located is None or not few:
        return None
    return {
        "curves": _cdf_curves(sample),
        "gap": {
            "value": located.value,
            "pair": list(located.pair),
            "score": located.score,
            "shares": list(located.figures),
        },
    }


def _cdf_curves(sample: ReportSample) -> list[dict[str, list[float]]]:
    """Return the CDF of each group, with few enough points to draw.

    Steps are thinned evenly along both axes, from (0, 0) to (1, 1). The curve of each
    group begins and ends with the scores of everyone.
    """
    low, high, digits = 0.0, 1.0, 4
    if sample.audit.compares_numbers:
        low, high = (float(sample.statistic("scores").scores[i]) for i in (0, -1))
        digits = 4 - math.floor(math.log10((high - low) or 1))
    even, curves = np.linspace(0, 1, _N_POINTS), []
    for group in range(sample.statistic("scores").n_groups):
        scores, cdf = sample.statistic("scores").cdf(group)
        along = low + (high - low) * even
        shown = np.union1d(np.searchsorted(scores, along), np.searchsorted(cdf, even))
        shown = shown[shown < len(scores)]
        curves.append(
            {
                "scores": [low, *np.round(scores[shown], digits).tolist(), high],
                "shares": [0.0, *np.round(cdf[shown], 4).tolist(), 1.0],
            }
        )
    return curves


def _settings(audits: Sequence[Audit]) -> Summary:
    audit, options = audits[0], audits[0].options
    models = [model for audit in audits for model in audit.models]
    possible = {
        k for audit in audits for model in audit.models for k in keys_of(audit, model)
    }
    return {
        "positive label": _positive(audit),
        "decides": any(model.decides for model in models),
        "decided": all(m.decides and m.threshold is None for m in models),
        **{k: v for k, v in options.to_dict().items() if k != "title"},
        "sample_weight": audit.weighted,
        "control_features": audit.strata is not None,
        "n_people": audit.count_people(slice(None)),
        "counts_are_drawn": audit.counts_are_drawn,
        "blur": [max(audit.blur[i] for audit in audits) for i in (0, 1)],
        "left_out": None,
        "notes": _written(audits[0].notes),
        "calls": {
            key: measure.call_of(vars(options))
            for key, measure in MEASURES.items()
            if key in possible
        },
    }


def _versions() -> dict[str, str]:
    """Return versions of skfair, its dependencies, Python and the system."""
    return {
        "skfair": skfair.__version__,
        "scikit-learn": sklearn.__version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "pandas": pd.__version__,
        "Python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
    }
