"""Bounds of metrics between groups that are known by a proxy, and what they say."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from skfair._utils._arrays import Floats
from skfair._utils._text import (
    counted,
    interval,
    label_text,
    listed,
    number,
    or_none,
    visible_text,
    with_size,
)
from skfair.groups import CROSS, recode
from skfair.inspection._proxy_bounds import bounds_by_odds_ratio
from skfair.metrics import ProxyBoundsResult, proxy_bounds
from skfair.metrics._proxy_bounds import compare_known_rows
from skfair.metrics._proxy_cells import ProxyRows
from skfair.report._inputs import Audit, Model, mid_ranks
from skfair.report._metrics import MEASURES, Measure, keys_of
from skfair.statistics import GroupedConfusion, GroupedHistogram

Summary = dict[str, Any]

#: Metrics of a report that have bounds; the first of them that is there is drawn.
KEYS = (
    "mcdp",
    "abcc",
    "mean_score_difference",
    "demographic_parity_difference",
    "equalized_odds_difference",
)


#: Ends of bounds, and of what is confident of them.
ENDS = "lower", "upper", "lower_confidence", "upper_confidence"


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
            _check(audit, position, table, tuple(groups))
            for position, attribute in enumerate(audit.attributes)
            if {*attribute.every.labels} <= {*groups}
        ],
        "limit": audit.options.proxy_limit,
        "odds_ratios": [_finite(ratio) for ratio in audit.options.odds_ratio],
        "results": [_of_model(one, model) for one in audits for model in one.models],
    }


def _check(
    audit: Audit, position: int, table: Floats, labels: tuple[Hashable, ...]
) -> Summary:
    """Compare the shares of the cells with the rows whose group is known."""
    assert audit.proxy is not None
    cells, model = audit.proxy[0], audit.models[0]
    every = audit.attributes[position].every
    known = recode(every.codes, every.labels, labels)
    values = model.y_pred.astype(float) if model.y_score is None else model.y_score
    weights = np.ones(len(known))
    given = cells.codes, known, values, values, weights, weights, table, labels
    refuted, odds_ratio = compare_known_rows(ProxyRows(*given, True, cells.labels))
    return {
        "attribute": position,
        "n_rows": int(np.count_nonzero(known >= 0)),
        "n_refuted": int(refuted.sum()),
        "odds_ratio": _finite(odds_ratio),
    }


def put_proxy(summary: Summary) -> None:
    """Put bounds by a proxy, and what they were checked with, into words."""
    section = summary["proxy"]
    section["known"] = [
        _about_check(one, summary["attributes"][one["attribute"]]["name"], section)
        for one in section["checks"]
    ]
    for result in section["results"]:
        for measure in result["measures"]:
            settings = summary["settings"]
            measure["title"] = MEASURES[measure["key"]].title_of(settings)
            measure["sentence"] = _describe(measure, section["limit"])


def _about_check(check: Summary, name: str, section: Summary) -> str:
    """Say whether rows with a known group contradict the shares of the cells."""
    ratio = math.inf if check["odds_ratio"] is None else check["odds_ratio"]
    text = f"{counted(check['n_rows'], 'row')} with a known group ({name}) "
    cells = f"{check['n_refuted']} of {counted(section['n_cells'], 'cell')}"
    if check["n_refuted"]:
        text += f"contradict the shares of {cells}: the bounds may not hold."
    else:
        text += "do not contradict the shares."
    if ratio <= 1:
        return text
    return f"{text} They show that odds differ at least by the factor {ratio:.3g}."


def _of_model(audit: Audit, model: Model) -> Summary:
    """Bounds of the metrics of a model, and the curve of the first of them."""
    keys = [key for key in KEYS if key in keys_of(audit, model)]
    found = {key: _bounds_by_cells(audit, model, MEASURES[key]) for key in keys}
    defined = [one for one in found.values() if not math.isnan(one.estimate)]
    limit = audit.options.proxy_limit
    curve = bounds_by_odds_ratio(defined[0], limit) if defined else None
    if curve is not None:
        for name in ("odds_ratio", "lower", "upper"):
            curve[name] = np.round(curve[name], 4).tolist()
        curve["unbounded"] = list(curve["unbounded"])
        curve["tipping"] = _finite(curve["tipping"])
    return {
        "model": visible_text(model.name),
        "measures": [
            _summary_of_bounds(audit, MEASURES[key], found[key]) for key in keys
        ],
        "curve": curve,
    }


def _bounds_by_cells(audit: Audit, model: Model, measure: Measure) -> ProxyBoundsResult:
    """Bounds of one metric, from counts by cell alone."""
    assert audit.proxy is not None
    (cells, shares), options = audit.proxy, audit.options
    given: dict[str, Any] = {
        "sensitive_features": cells,
        "sample_weight": audit.rows.weight,
    }
    statistic: GroupedConfusion | GroupedHistogram
    if measure.question == "errors":
        labels = audit.y_true, model.y_pred
        statistic = GroupedConfusion.from_predictions(*labels, **given)
    else:
        scores = (model.y_pred == 1).astype(float)
        if measure.question == "scores":
            assert model.y_score is not None
            scores = model.y_score
            if options.scale == "rank":
                scores = mid_ranks(scores, audit.rows.weight)
        statistic = GroupedHistogram.from_scores(scores, **given)
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
    audit: Audit, measure: Measure, found: ProxyBoundsResult
) -> Summary:
    options, level = audit.options, _level_of_bounds(audit, measure)
    tipping = found.tipping_odds_ratio(options.proxy_limit)
    values = {name: getattr(found, name) for name in ENDS}
    ratios = ", ".join(map(repr, options.odds_ratio)).replace("inf", "math.inf")
    settings = f"odds_ratio=[{ratios}]"
    if level is not None:
        seed = options.random_state
        settings += f", confidence_level={level}, random_state={seed}"
    return {
        "key": measure.key,
        "estimate": or_none(found.estimate),
        **{k: None if v is None else [*map(or_none, v)] for k, v in values.items()},
        "unbounded": []
        if math.isnan(found.estimate)
        else [*map(float, found.bounds_at(math.inf))],
        "tipping": _finite(tipping),
        "cannot_tell": math.isfinite(tipping),
        "call": f"proxy_bounds({measure.metric.__name__}, None, {measure.question}, "
        f"group_probabilities=shares, {settings})",
    }


def _finite(value: float) -> float | None:
    """Write infinity and nan as None, since JSON has neither."""
    return float(value) if math.isfinite(value) else None


def _describe(measure: Summary, limit: float) -> str:
    """Say whether a metric is above a limit, or that these data cannot tell."""
    title, estimate = measure["title"], measure["estimate"]
    if estimate is None:
        return f"{title}: cannot be computed, a group is in no cell."
    tipping = math.inf if measure["tipping"] is None else measure["tipping"]
    side = "above" if estimate > limit else "below"
    ends = bounds_text(*measure["unbounded"])
    if math.isinf(tipping):
        return f"{title}: {side} {limit:g} whatever the link, {ends}."
    cannot = (
        f"{title}: these data cannot tell whether it is above {limit:g}, without an "
        f"assumption it is {ends}."
    )
    if tipping == 1:
        return cannot
    return (
        f"{cannot} It is {side} as long as odds within a cell differ by less than the "
        f"factor {tipping:.3g}."
    )


def lead(section: Summary | None, model: int) -> Iterator[str]:
    """Say what the first metric of a model by the proxy says."""
    if section is not None and section["results"][model]["measures"]:
        first = section["results"][model]["measures"][0]["sentence"]
        yield f"By the proxy ({section['names']}): {first}"


def sizes_text(section: Summary) -> str:
    """Say how many cells there are, and how many rows of each group are expected."""
    groups = [with_size(one["label"], one["expected"]) for one in section["groups"]]
    text = (
        f"{counted(section['n_cells'], 'cell')}, the smallest with "
        f"{counted(section['smallest_cell'], 'row')}. Expected rows of the groups: "
        f"{listed(groups)}."
    )
    if not section["alone"]:
        return text
    return f"{text} Alone in a cell, as if known: {counted(section['alone'], 'row')}."


def bounds_text(low: float, high: float) -> str:
    """Write bounds, or the one number that they are where they agree."""
    return number(low) if number(low) == number(high) else interval(low, high)


def ratio_text(ratio: float | None) -> str:
    """Write an odds ratio; None is any."""
    if ratio is None:
        return "any"
    return f"{ratio:g}"
