"""The summary of a report: a plain dict of its numbers and of what they say."""

from __future__ import annotations

import math
import platform
import sys
import warnings
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import skfair
from skfair._utils._arrays import Floats
from skfair._utils._text import label_text, or_none, shown, visible_text
from skfair.groups import CROSS, recode, rows_by_code
from skfair.metrics import (
    ProxyBoundsResult,
    cvar_fairness_report,
    impact_ratios,
    proxy_bounds,
    top_groups,
)
from skfair.metrics._impact_ratios import are_selected
from skfair.metrics._inputs import ignore_undefined
from skfair.metrics._pairs import Located
from skfair.metrics._proxy_bounds import compare_known_rows
from skfair.metrics._proxy_cells import ProxyRows
from skfair.report._inputs import Audit, Model, mid_ranks
from skfair.report._metrics import (
    MEASURES,
    Measure,
    Sample,
    count_outcomes,
    keys_of,
    locate_all,
    make_samples,
)
from skfair.report._numbers import (
    DRAWN,
    DRAWN_ENDS,
    OF_TESTS,
    Numbers,
    Part,
    bounds,
    gaps_beside_first,
    parts_by_stratum,
    performance,
    performances,
    uncertainties,
    values_within_strata,
)
from skfair.report._words import in_words
from skfair.statistics import GroupedConfusion, GroupedHistogram

Summary = dict[str, Any]

#: Format of a summary: the number changes with the names or meanings of its entries.
FORMAT = "skfair.report/3"
#: Settings that are stated, since they cannot be found from counted rows.
STATED = ("counts_are_drawn", "blur", "min_cell", "n_withheld", "left_out")
#: Points of a curve along each axis; more cannot be seen in a picture.
_N_POINTS = 150
#: Metrics of a report that have bounds; the first of them that is there is drawn.
KEYS_BY_PROXY = (
    "mcdp",
    "abcc",
    "mean_score_difference",
    "demographic_parity_difference",
    "equalized_odds_difference",
)
#: Ends of bounds, and of what is confident of them.
ENDS = "lower", "upper", "lower_confidence", "upper_confidence"


def summarize(audits: Sequence[Audit], claimed: Summary | None = None) -> Summary:
    """Compute a report, of strings, numbers, None, lists and dicts as in JSON.

    One audit holds several models of the same rows; several hold one model each, whose
    rows were counted by its own scores. What was drawn, what a proxy bounds, what was
    counted and what a gap goes with is taken from a claimed summary, if one is given.
    """
    by_attribute = zip(*map(make_samples, audits), strict=True)
    samples = [sample for group in by_attribute for sample in group]
    audit, models = audits[0], [model for audit in audits for model in audit.models]
    n_models = len(models)
    if claimed is not None:
        _take_searched(samples, claimed, n_models)
    gaps = [locate_all(sample) for sample in samples]
    drawn = map(bounds, samples, gaps) if claimed else uncertainties(samples, gaps)
    results = [
        _summary_of_attribute(*of_sample, not claimed)
        for of_sample in zip(samples, gaps, drawn, strict=True)
    ]
    for i, sample in enumerate(samples) if not claimed else ():
        first = i - i % n_models
        _pair(sample, samples[first], results[i], results[first])
    summary: Summary = {
        "format": FORMAT,
        "title": audit.options.title,
        "n_rows": audit.n_rows,
        "classes": [label_text(label) for label in audit.classes],
        "positive": _positive(audit),
        "labels_alike": audit.y_true is not None and _are_alike(audit.y_true),
        "models": [model for audit in audits for model in _models(audit)],
        "attributes": [
            _attribute(samples[i], results[i : i + n_models])
            for i in range(0, len(samples), n_models)
        ],
        "proxy": by_proxy(audits),
        "settings": _settings(audits),
        "versions": versions_of("scikit-learn", "NumPy", "SciPy", "pandas"),
    }
    if claimed is not None:
        _take_stated(summary, claimed)
    return in_words(summary)


def _take_searched(samples: Sequence[Sample], claimed: Summary, n_models: int) -> None:
    """Take DCP where its search ended early, which depends on the machine."""
    for i, sample in enumerate(samples):
        result = claimed["attributes"][i // n_models]["results"][i % n_models]
        for measure in result["measures"]:
            if measure["searched"] is not None:
                bounds = [*map(float, measure["searched"])]
                vars(sample)["baseline"] = float(measure["value"]), bounds


def stated_in(summary: Summary) -> Iterator[tuple[str, Summary, Sequence[str]]]:
    """Yield what statistics do not determine: its kind, where it is, and its names."""
    of_settings = [summary["settings"][name] for name in STATED]
    some = any(value not in (None, False, [0.0, 0.0]) for value in of_settings)
    yield "settings" if some else "", summary["settings"], STATED
    yield "proxy", summary, ["proxy"]
    yield "", summary, ["versions"]
    for model in summary["models"]:
        yield "beside", model, ["beside_first"]
    results = [result for named in summary["attributes"] for result in named["results"]]
    for result in results:
        for measure in result["measures"]:
            yield "drawn", measure, [*DRAWN, "pairs"]
            yield "beside", measure, ["beside_first"]
            if not MEASURES[measure["key"]].bounded:
                yield "resampled", measure, DRAWN_ENDS
            if measure["searched"] is not None:
                yield "searched", measure, ["value", "searched"]
        for row in result["strata"]["rows"] if result["strata"] else ():
            yield "drawn", row, OF_TESTS


def _take_stated(computed: Summary, claimed: Summary) -> None:
    """Take from a claimed summary what cells do not determine."""
    places = zip(stated_in(computed), stated_in(claimed), strict=True)
    for (_, own, names), (_, other, _) in places:
        for name in names:
            _check_stated(other[name])
            own[name] = other[name]
    if explained := claimed.get("why"):
        computed["why"] = [{"result": section["result"]} for section in explained]


def _check_stated(value: Any) -> None:
    """Raise unless a value is made of finite numbers and texts."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_stated(part)
    elif not (value is None or type(value) is str or math.isfinite(value)):
        raise ValueError(f"the summary must have numbers or nothing, got {value!r}.")


def _are_alike(values: NDArray[Any]) -> bool:
    """Whether all values are the same, so that groups cannot differ in them."""
    return bool((values == values[0]).all())


def tell_left_out(
    summary: Summary,
    n_rows: int,
    columns: Sequence[str],
    groups: Sequence[tuple[str, int, int]] = (),
) -> Summary:
    """Say how many rows were left out since they have no value of some columns.

    `groups` are the label of each group, its rows that are left out, and all its rows.
    """
    left_out = {
        "n_rows": n_rows,
        "columns": [visible_text(name) for name in columns],
        "groups": [
            {"label": visible_text(label), "n": n, "of": of} for label, n, of in groups
        ],
    }
    settings = {**summary["settings"], "left_out": left_out}
    return in_words({**summary, "settings": settings})


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


def decided_by(model: Model, scale: str) -> str:
    """Say how a model decides; nothing if it does not."""
    if not model.decides:
        return ""
    if model.threshold is None:
        return "as predicted"
    what = "rank" if scale == "rank" else "score"
    return f"{what} of at least {model.threshold:g}"


def _attribute(sample: Sample, results: list[Summary]) -> Summary:
    groups = sample.groups
    return {
        "name": visible_text(sample.attribute),
        "comparison": sample.comparison,
        "min_group_size": groups.min_group_size,
        "groups": _sizes(zip(groups.labels, sample.sizes.tolist(), strict=True)),
        "aside": _sizes(sample.aside),
        "n_missing": sample.audit.count(sample.every.codes < 0),
        "results": results,
    }


def _sizes(groups: Iterable[tuple[Hashable, int]]) -> list[Summary]:
    """List groups with their numbers of rows."""
    return [{"label": label_text(label), "n": size} for label, size in groups]


def _pair(sample: Sample, first: Sample, result: Summary, of_first: Summary) -> None:
    """Add to each metric what it has more than that of the first model, if paired.

    Like other intervals, that of the difference is extended to the value.
    """
    values = {measure["key"]: measure["value"] for measure in of_first["measures"]}
    intervals = gaps_beside_first(sample, first)
    for measure in result["measures"]:
        key = measure["key"]
        if key in intervals and measure["value"] is not None:
            value, (low, high) = measure["value"] - values[key], intervals[key]
            ends = {"lower": min(low, value), "upper": max(high, value)}
            measure["beside_first"] = {"value": value, **ends}


def _summary_of_attribute(
    sample: Sample,
    located: dict[str, Located],
    drawn: dict[str, Numbers],
    tested: bool,
) -> Summary:
    """Everything about one model and one attribute."""
    groups = _groups(sample)
    n_tail = sum(row.get("tail_share", 0) > 0 for row in groups)
    return {
        "model": visible_text(sample.model.name),
        "measures": [
            _summary_of_metric(sample, MEASURES[key], gap, drawn[key], n_tail)
            for key, gap in located.items()
        ],
        "groups": groups,
        "impact_ratios": _impact_ratios(sample),
        "strata": _strata(sample, located, tested),
        "cdf": _cdf(sample, located.get("mcdp")),
    }


def _summary_of_metric(
    sample: Sample, measure: Measure, located: Located, drawn: Summary, n_tail: int
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
        "value": or_none(located.value),
        **drawn,
        "searched": sample.baseline[1] if of_dcp else None,
        "beside_first": None,
        "attained": {
            "pair": list(located.pair),
            "figures": [*map(or_none, located.figures)],
            "score": or_none(located.score),
            "n_tail": n_tail if measure.key == "cvar_fairness" else 0,
            "classes": list(located.cell or (0, 0)),
            "sizes": [or_none(size) or 0.0 for size in located.sizes],
        },
        "left_out": _few_of_labels(sample) if of_odds else [],
    }


def _few_of_labels(sample: Sample) -> list[Summary]:
    """List groups and true labels that are left out of error rates, and their rows."""
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


def _groups(sample: Sample) -> list[dict[str, Any]]:
    """Size, rates and performance of each group that is compared.

    Of many groups the furthest from the average is first.
    """
    audit, model, labels = sample.audit, sample.model, sample.groups.labels
    if not labels:
        return []
    parts = rows_by_code(sample.groups.codes, len(labels))
    groups: list[dict[str, Any]] = [
        {"label": label_text(label), "n": audit.count(rows)}
        | performance(audit, model, rows)
        for label, rows in zip(labels, parts, strict=True)
    ]
    if not audit.binary:
        return groups
    if audit.y_true is not None:
        for group, rates in zip(groups, _rates(sample), strict=True):
            group |= rates
    if not model.decides:
        return groups
    for group, selection in zip(groups, _selections(sample), strict=True):
        group |= selection
    if sample.comparison == "pooled":
        groups.sort(key=lambda group: -abs(group["difference"]))
    return groups


def _rates(sample: Sample) -> Iterator[Numbers]:
    """Compute base rates, and rates of positive decisions by true class."""
    errors = sample.statistic("errors")
    rates = np.where(errors.label_counts[..., np.newaxis], errors.confusion, np.nan)
    shares = {"base_rate": errors.label_frequencies[:, 1]}
    if sample.model.decides:
        shares["true_positive_rate"] = rates[:, 1, 1]
        shares["false_positive_rate"] = rates[:, 0, 1]
    for of_group in zip(*shares.values(), strict=True):
        yield dict(zip(shares, map(or_none, of_group), strict=True))


def _selections(sample: Sample) -> list[dict[str, Any]]:
    """Compute the selection rate of each group, and whether it differs."""
    options = sample.audit.options
    positions = tuple(range(sample.statistic("decisions").n_groups))
    selected = replace(sample.statistic("decisions"), labels=positions, names=())
    with ignore_undefined():
        # The report says itself that a single group cannot be compared.
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


def _impact_ratios(sample: Sample) -> list[dict[str, Any]] | None:
    """Impact ratios of decisions and, where there are any, of scores.

    None unless they are asked for. Groups that are too small are among them.
    """
    options, model = sample.audit.options, sample.model
    if not options.impact_ratios:
        return None
    groups, audit = sample.every, sample.audit
    labels = groups.labels
    # An intersection is one attribute here; the others have their own.
    groups = replace(groups, labels=tuple(range(len(labels))), names=())
    values: dict[Any, Any] = {"selection": model.y_pred} if model.decides else {}
    if model.y_score is not None:
        values["scoring"] = model.y_score
    tables = []
    for kind, of_rows in values.items():
        chosen = are_selected(of_rows, kind, None, audit.rows.totals)
        with ignore_undefined():
            # The report says itself that groups cannot be compared.
            table = impact_ratios(
                None,
                count_outcomes(audit, chosen, groups),
                min_share=options.min_share,
                confidence_level=options.confidence_level,
            )
        rows = [
            {"label": label_text(label), **{k: _plain(v) for k, v in row.items()}}
            for label, row in zip(labels, table.to_dict("records"), strict=True)
        ]
        if n_missing := audit.count(sample.every.codes < 0):
            unknown = {"n": n_missing, "status": "unknown"}
            rows.append({"label": "unknown", **dict.fromkeys(table.columns)} | unknown)
        tables.append({"kind": kind, "rows": rows})
    return tables


def _plain(value: Any) -> Any:
    """Text and whole numbers as they are, other numbers as in JSON."""
    return value if isinstance(value, (str, int)) else or_none(value)


def _strata(
    sample: Sample, located: dict[str, Located], tested: bool
) -> Summary | None:
    """Metrics within strata, beside those of everyone; None unless there are strata."""
    strata = sample.audit.strata
    if strata is None or not sample.comparable:
        return None
    parts, least = parts_by_stratum(sample), strata.min_group_size
    compared = [
        (label, part)
        for label, part in parts
        if part.comparable and part.audit.n_rows >= least
    ]
    rows = values_within_strata(sample, compared, tested)
    for row in rows:
        row["everyone"] = or_none(located[row["key"]].value)
    names = CROSS.join(strata.names)
    return {
        "names": visible_text(names) if names else "stratum",
        "n_strata": len(parts),
        "n_rows": sample.audit.count(strata.codes >= 0),
        "left_out": [*_left_out(parts, least), *_without_rates(compared, sample.keys)],
        "rows": rows,
    }


def _named(label: Hashable, metric: str | None = None, **why: Any) -> Summary:
    """Entry for a stratum that is left out of a metric, or of all, in part or whole."""
    nothing: Summary = {"n_rows": None, "compared": None, "aside": [], "cells": []}
    return {"label": label_text(label), "metric": metric} | nothing | why


def _left_out(parts: Sequence[Part], least: int) -> Iterator[Summary]:
    """List strata of too few rows or groups, and groups that are left out within."""
    for label, part in parts:
        if part.audit.n_rows < least:
            yield _named(label, n_rows=part.audit.n_rows)
        elif part.aside and not part.comparable:
            yield _named(label, compared=[*map(label_text, part.groups.labels)])
        elif part.aside:
            yield _named(label, aside=_sizes(part.aside))


def _without_rates(parts: Sequence[Part], keys: Collection[str]) -> Iterator[Summary]:
    """List groups within strata that have few rows of a true label."""
    key = "equalized_odds_difference"
    for label, part in parts if key in keys else ():
        if cells := _few_of_labels(part):
            yield _named(label, key, cells=cells)


def _cdf(sample: Sample, located: Located | None) -> Summary | None:
    """Curves of the score distributions and their largest gap, for a picture."""
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


def _cdf_curves(sample: Sample) -> list[dict[str, list[float]]]:
    """Cumulative distribution of each group's scores, with few enough points to draw.

    Steps are thinned from (0, 0) to (1, 1), evenly along both axes; numbers begin and
    end with those of everyone.
    """
    low, high, digits = 0.0, 1.0, 4
    if sample.audit.of_numbers:
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
    possible = {
        k for audit in audits for model in audit.models for k in keys_of(audit, model)
    }
    if not audit.attributes:
        possible &= {*KEYS_BY_PROXY}
    return {
        "positive label": _positive(audit),
        "decides": any(model.decides for audit in audits for model in audit.models),
        **{k: v for k, v in options.to_dict().items() if k != "title"},
        "sample_weight": audit.weighted,
        "control_features": audit.strata is not None,
        "counts_are_drawn": audit.counts_are_drawn,
        "blur": [max(audit.blur[i] for audit in audits) for i in (0, 1)],
        "min_cell": None,
        "n_withheld": None,
        "left_out": None,
        "calls": {
            key: measure.call_of(vars(options))
            for key, measure in MEASURES.items()
            if key in possible
        },
    }


def check_summary(summary: Any) -> dict[str, Any]:
    """Return what a report is restored from; raise for anything else, such as rows."""
    if not isinstance(summary, dict) or "format" not in summary:
        raise TypeError(
            f"summary must be that of a report, a dict, got {shown(summary)}. A report "
            "of rows is made by FairnessReport.from_estimator, from_frame or "
            "from_predictions."
        )
    if summary["format"] != FORMAT:
        raise ValueError(
            f"summary must have the format {FORMAT!r}, got {shown(summary['format'])}."
        )
    return summary


def versions_of(*packages: str) -> dict[str, str]:
    """Versions of skfair, of some packages, of Python, and the system."""
    return {
        "skfair": skfair.__version__,
        **{name: version(name) for name in packages},
        "Python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
    }


def by_proxy(audits: Sequence[Audit]) -> Summary | None:
    """Bounds of the metrics of each model; None without probabilities of groups.

    Odds ratios and tipping points that are infinite are None.
    """
    audit = audits[0]
    if audit.proxy is None:
        return None
    cells, shares = audit.proxy
    sizes = np.bincount(cells.codes, minlength=len(cells.labels))
    table = np.array([list(shares[label].values()) for label in cells.labels])
    groups = next(iter(shares.values()))
    return {
        "names": visible_text(CROSS.join(map(visible_text, cells.names))),
        "shares": f"shares = {shares}",
        "n_cells": len(sizes),
        "smallest_cell": int(sizes.min()),
        "alone": int(np.count_nonzero(sizes == 1)),
        "groups": [
            {"label": label_text(label), "expected": float(n)}
            for label, n in zip(groups, sizes @ table, strict=True)
        ],
        "checks": [
            _check_known(audit, position, table, tuple(groups))
            for position, every in enumerate(audit.every.values())
            if {*every.labels} <= {*groups}
        ],
        "limit": audit.options.proxy_limit,
        "odds_ratios": [_finite(ratio) for ratio in audit.options.odds_ratio],
        "results": [
            _bounds_of_model(audit, model) for audit in audits for model in audit.models
        ],
    }


def _check_known(
    audit: Audit, position: int, table: Floats, labels: tuple[Hashable, ...]
) -> Summary:
    """Compare the shares of the cells with the rows whose group is known."""
    assert audit.proxy is not None
    cells, model = audit.proxy[0], audit.models[0]
    every = [*audit.every.values()][position]
    groups = recode(every.codes, every.labels, labels)
    values = model.y_pred.astype(float) if model.y_score is None else model.y_score
    weights = np.ones(len(groups))
    columns = cells.codes, groups, values, values, weights, weights, table, labels
    refuted, odds_ratio = compare_known_rows(ProxyRows(*columns, True, cells.labels))
    return {
        "attribute": position,
        "n_rows": int(np.count_nonzero(groups >= 0)),
        "n_refuted": int(refuted.sum()),
        "odds_ratio": _finite(odds_ratio),
    }


def _bounds_of_model(audit: Audit, model: Model) -> Summary:
    """Bounds of the metrics of a model."""
    keys = [key for key in KEYS_BY_PROXY if key in keys_of(audit, model)]
    results = {key: _bounds_by_cells(audit, model, MEASURES[key]) for key in keys}
    return {
        "model": visible_text(model.name),
        "measures": [
            _summary_of_bounds(audit, MEASURES[key], results[key]) for key in keys
        ],
    }


def _bounds_by_cells(audit: Audit, model: Model, measure: Measure) -> ProxyBoundsResult:
    """Bounds of one metric, from counts by cell alone."""
    assert audit.proxy is not None
    (cells, shares), options = audit.proxy, audit.options
    columns: dict[str, Any] = {
        "sensitive_features": cells,
        "sample_weight": audit.rows.weight,
    }
    statistic: GroupedConfusion | GroupedHistogram
    if measure.question == "errors":
        labels = audit.y_true, model.y_pred
        statistic = GroupedConfusion.from_predictions(*labels, **columns)
    else:
        scores = (model.y_pred == 1).astype(float)
        if measure.question == "scores":
            assert model.y_score is not None
            scores = model.y_score
            if options.scale == "rank":
                scores = mid_ranks(scores, audit.rows.weight)
        statistic = GroupedHistogram.from_scores(scores, **columns)
    with warnings.catch_warnings():
        # The report says itself that a group is absent, and has warned of single rows.
        warnings.simplefilter("ignore", UserWarning)
        return proxy_bounds(
            measure.metric,
            None,
            statistic,
            group_probabilities=shares,
            odds_ratio=options.odds_ratio,
            confidence_level=_level_of_bounds(audit, measure),
            random_state=options.random_state,
        )


def _level_of_bounds(audit: Audit, measure: Measure) -> float | None:
    """Level of confidence bounds; counts of labels lack the squares of weights."""
    if measure.question == "errors" and audit.rows.weight is not None:
        return None
    return audit.options.confidence_level


def _summary_of_bounds(
    audit: Audit, measure: Measure, result: ProxyBoundsResult
) -> Summary:
    options, level = audit.options, _level_of_bounds(audit, measure)
    tipping = result.tipping_odds_ratio(options.proxy_limit)
    values = {name: getattr(result, name) for name in ENDS}
    ratios = ", ".join(map(repr, options.odds_ratio)).replace("inf", "math.inf")
    settings = f"odds_ratio=[{ratios}]"
    if level is not None:
        seed = options.random_state
        settings += f", confidence_level={level}, random_state={seed}"
    return {
        "key": measure.key,
        "estimate": or_none(result.estimate),
        **{k: None if v is None else [*map(or_none, v)] for k, v in values.items()},
        "unbounded": []
        if math.isnan(result.estimate)
        else [*map(float, result.bounds_at(math.inf))],
        "tipping": _finite(tipping),
        "cannot_tell": math.isfinite(tipping),
        "call": f"proxy_bounds({measure.metric.__name__}, None, {measure.question}, "
        f"group_probabilities=shares, {settings})",
    }


def _finite(value: float) -> float | None:
    """Write infinity and nan as None, since JSON has neither."""
    return float(value) if math.isfinite(value) else None
