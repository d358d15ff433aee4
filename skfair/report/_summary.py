"""The summary of a report: a plain dict of its numbers and of what they say."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

import skfair
from skfair._utils._text import or_none, visible_text
from skfair.groups import CROSS
from skfair.report._draws import (
    DrawsDone,
    Uncertainty,
    gaps_beside_first,
    stated,
    uncertainties,
)
from skfair.report._groups import group_numbers, impact_tables
from skfair.report._inputs import Attribute, Audit
from skfair.report._language import (
    NO_NAMES,
    Unnamed,
    counted,
    figure,
    in_english,
    listed,
    name_of,
    say,
    say_label,
    say_name,
    speaking,
    unnamed,
    whole,
)
from skfair.report._metrics import (
    MEASURES,
    Measure,
    find_all,
    keys_of,
    make_samples,
    questions_of,
    word_of,
)
from skfair.report._performance import ENDS_OF_R2, performances
from skfair.report._proxy import KEYS as KEYS_BY_PROXY
from skfair.report._proxy import by_proxy, lead, put_proxy
from skfair.report._sample import Finding, Sample
from skfair.report._sentences import About
from skfair.report._strata import Part, values_within_strata
from skfair.report._why import section_of
from skfair.report._words import (
    LEVEL,
    chance_text,
    describe,
    describe_ratios,
    describe_strata,
    note,
    reason_left_out,
    with_chance,
    with_rows_of_label,
    with_size,
)

Summary = dict[str, Any]

#: What a test of each question says about all groups together, by its outcome. A metric
#: that was not tested, or is undefined, has no conclusion.
CONCLUSIONS = {
    ("decisions", "beyond chance"): "Decisions depend on the group by more than chance "
    "explains.",
    ("scores", "beyond chance"): "Scores depend on the group by more than chance "
    "explains.",
    ("errors", "beyond chance"): "Error rates depend on the group by more than chance "
    "explains.",
    ("decisions", "may be chance"): "That decisions depend on the group is not shown.",
    ("scores", "may be chance"): "That scores depend on the group is not shown.",
    ("errors", "may be chance"): "That error rates depend on the group is not shown.",
    ("predictions", "beyond chance"): "Predictions depend on the group by more than "
    "chance explains.",
    ("mean errors", "beyond chance"): "Mean errors depend on the group by more than "
    "chance explains.",
    ("absolute errors", "beyond chance"): "Absolute errors depend on the group by more "
    "than chance explains.",
    ("predictions", "may be chance"): "That predictions depend on the group is not "
    "shown.",
    ("mean errors", "may be chance"): "That mean errors depend on the group is not "
    "shown.",
    ("absolute errors", "may be chance"): "That absolute errors depend on the group is "
    "not shown.",
}
#: Format of a summary: the number changes with the names or meanings of its entries.
FORMAT = "skfair.report/1"
#: Settings that are stated, since they cannot be found from counted rows.
STATED = ("counts_are_drawn", "blur", "min_cell", "n_withheld")
#: What a report is called unless it is given a title.
DEFAULT_TITLE = "Fairness report"
#: Entries of a summary that are labels of groups, strata or classes.
LABELS = {"label", "group", "true_label", "stratum", "compared", "positive"}
LABELS |= {"classes", "positive label"}
#: Points of a curve along each axis; more cannot be seen in a picture.
_N_POINTS = 150
#: Rates of groups smaller than this are uncertain by ten points and more.
_SMALL = 100

_CANNOT_SHOW = (
    "Whether a difference is justified. Groups may differ in what the decision is "
    "rightly based on, and equal numbers may be unjust.",
    "What caused a difference: the model, the labels it learnt from, or who is in "
    "these rows.",
    "Whether the true labels themselves are fair.",
    "Anything about people who are not like those in these rows.",
    "That a model is fair. Finding no difference is not the same as there being none.",
)


def summarize(
    audits: Sequence[Audit], title: str, claimed: Summary | None = None
) -> Summary:
    """Compute a report, of strings, numbers, None, lists and dicts as in JSON.

    One audit holds several models of the same rows; several hold one model each, whose
    rows were counted by its own scores. What was drawn, what a proxy bounds, what was
    counted and what a gap goes with is taken from a claimed summary, if one is given.
    """
    by_attribute = zip(*map(make_samples, audits), strict=True)
    samples = [sample for group in by_attribute for sample in group]
    audit, models = audits[0], [model for one in audits for model in one.models]
    n_models = len(models)
    if claimed is None:
        found = [(sample, find_all(sample)) for sample in samples]
        done = DrawsDone(found, audit.options.verbose)
        results = [
            _summary_of_attribute(*one, uncertainties(*one, done)) for one in found
        ]
        for i, sample in enumerate(samples):
            first = i - i % n_models
            _pair(sample, samples[first], results[i], results[first])
    else:
        results = [
            _recomputed(sample, claimed["attributes"][i // n_models]["results"])
            for i, sample in enumerate(samples)
        ]
    summary: Summary = {
        "format": FORMAT,
        "title": visible_text(say(title) if title == DEFAULT_TITLE else title, 120),
        "language": audit.options.language,
        "n_rows": audit.n_rows,
        "classes": [name_of(label) for label in audit.classes],
        "positive": _positive(audit),
        "models": [model for one in audits for model in _models(one)],
        "attributes": [
            {
                **_attribute(one),
                "name": name,
                "results": results[i * n_models :][:n_models],
            }
            for i, (one, name) in enumerate(
                zip(audit.attributes, names_of(audit.attributes), strict=True)
            )
        ],
        "proxy": by_proxy(audits),
        "settings": _settings(audit, audits),
        "versions": versions_of("scikit-learn", "NumPy", "SciPy", "pandas"),
    }
    if claimed is not None:
        summary |= {"proxy": claimed["proxy"], "versions": claimed["versions"]}
        for one, of_model in zip(summary["models"], claimed["models"], strict=True):
            one["beside_first"] = {
                name: _difference(found)
                for name, found in (of_model["beside_first"] or {}).items()
            } or None
            ends = {name: of_model["performance"].get(name) for name in ENDS_OF_R2}
            one["performance"] |= {k: end for k, end in ends.items() if end is not None}
        counted = {name: claimed["settings"][name] for name in STATED}
        summary["settings"] |= counted
        if explained := claimed.get("why"):
            summary["why"] = [{"result": one["result"]} for one in explained]
    return in_words(summary)


def reworded(summary: Summary, code: str) -> Summary:
    """Put a summary into words of another language, from its numbers and names."""
    if code == summary["language"]:
        return summary
    with speaking(summary["language"]):
        known = {say(text): text for text in NO_NAMES}
        default = summary["title"] == say(DEFAULT_TITLE)
    with speaking(code):
        found = _renamed(summary, known)
        for one in (*found["models"], *found["attributes"]):
            if one["unnamed"] is not None:
                one["name"] = say_name(Unnamed(one["unnamed"]))
        *each, last = found["attributes"] or [None]
        if each and any(one["unnamed"] is not None for one in each):
            last["name"] = visible_text(CROSS.join(one["name"] for one in each))
        title = say(DEFAULT_TITLE) if default else found["title"]
        return in_words({**found, "title": title, "language": code})


def _renamed(part: Any, known: Mapping[str, str]) -> Any:
    """Copy a summary, with what stands for a missing label in the spoken language."""
    if isinstance(part, list):
        return [_renamed(one, known) for one in part]
    if not isinstance(part, dict):
        return part
    found = {key: _renamed(value, known) for key, value in part.items()}
    for key in LABELS & found.keys():
        if isinstance(found[key], list):
            found[key] = [say_label(one, known) for one in found[key]]
        elif found[key] is not None:
            found[key] = say_label(found[key], known)
    return found


def in_words(summary: Summary) -> Summary:
    """Put into words what a summary has as numbers and names, which it then has, too.

    Words are in the language that is spoken, in which names must be.
    """
    settings, models = summary["settings"], summary["models"]
    for model in models:
        model["decided_by"] = decided_by(model["threshold"], settings["scale"])
    decisions = {model["name"]: model["decided_by"] for model in models}
    summary = {**summary, "settings": {**settings, "decisions": decisions}}
    for attribute in summary["attributes"]:
        labels = [group["label"] for group in attribute["groups"]]
        least = attribute["min_group_size"]
        about = About(summary["settings"], summary["classes"], labels, least)
        for model, result in zip(models, attribute["results"], strict=True):
            result["model"] = model["name"]
            _put_result(about, result)
    if summary["proxy"] is not None:
        put_proxy(summary)
    for section in summary.get("why") or ():
        section |= section_of(section["result"])
    return {**summary, "verdict": verdict(summary), "cautions": cautions(summary)}


def _put_result(about: About, result: Summary) -> None:
    """Put the metrics of one model and attribute, and its tables, into words."""
    titles = {key: one.title_of(about.settings) for key, one in MEASURES.items()}
    for measure in result["measures"]:
        measure["title"] = titles[measure["key"]]
        measure["note"] = note(measure)
        measure["finding"] = describe(about, measure)
        measure["sentence"] = with_chance(measure)
    level = about.settings["confidence_level"]
    for table in result["impact_ratios"] or ():
        for row in table["rows"]:
            if row["status"] == "unknown":
                row["label"] = say("unknown")
        table["sentence"] = describe_ratios(table["kind"], table["rows"], level)
    if (table := result["strata"]) is not None:
        table["names"] = say("stratum") if table["unnamed"] else table["names"]
        for row in table["rows"]:
            row["title"] = titles[row["key"]]
        for one in table["left_out"]:
            one["reason"] = reason_left_out(one, about.min_group_size)
        title = titles["equalized_odds_difference"]
        table["sentence"] = describe_strata(table, title)


def decided_by(threshold: float | None, scale: str) -> str:
    """Say how a model decides."""
    if scale == "real":
        return ""
    if threshold is None:
        return say("as predicted")
    least = figure(f"{threshold:g}")
    if scale == "rank":
        return say("rank of at least {threshold}", threshold=least)
    return say("score of at least {threshold}", threshold=least)


def _recomputed(sample: Sample, claimed: Sequence[Summary]) -> Summary:
    """Compute the result of one model, with what was drawn as it is claimed.

    So is DCP where its search ended early: it would end elsewhere on another machine.
    """
    name = say_name(sample.model.name)
    (of_model,) = (one for one in claimed if one["model"] == name)
    measures = {measure["key"]: measure for measure in of_model["measures"]}
    known = {}
    for key, measure in measures.items():
        if key == "dcp" and measure["searched"] is not None:
            low, high = measure["searched"]
            known[key] = Finding(float(measure["value"]), bounds=(low, high))
    found = find_all(sample, known)
    result = _summary_of_attribute(sample, found, stated(sample, found, measures))
    for measure in result["measures"]:
        if beside := measures[measure["key"]]["beside_first"]:
            measure["beside_first"] = _difference(beside)
    if result["strata"] is not None:
        rows = result["strata"]["rows"]
        for row, of_row in zip(rows, of_model["strata"]["rows"], strict=True):
            row |= {name: of_row[name] for name in ("null_mean", "pvalue")}
    return result


def _difference(claimed: Summary) -> Summary:
    """Difference of two models as it is claimed, whose rows are paired."""
    return {name: float(claimed[name]) for name in ("value", "lower", "upper")}


def _positive(audit: Audit) -> str | None:
    return name_of(audit.classes[1]) if audit.binary else None


def _models(audit: Audit) -> list[Summary]:
    return [
        {
            "name": say_name(model.name),
            "unnamed": unnamed(model.name),
            "scores": model.y_score is not None,
            "threshold": model.threshold,
            "decided_by": "",
            "performance": numbers,
            "beside_first": beside,
        }
        for model, (numbers, beside) in zip(
            audit.models, performances(audit), strict=True
        )
    ]


def names_of(attributes: Sequence[Attribute]) -> list[str]:
    """Names of attributes; that of an intersection is made of the others."""
    names = [say_name(one.name) for one in attributes]
    if any(unnamed(one.name) is not None for one in attributes) and len(names) > 1:
        names[-1] = visible_text(CROSS.join(names[:-1]))
    return names


def _attribute(attribute: Attribute) -> Summary:
    groups = attribute.groups
    sizes = zip(groups.labels, attribute.sizes.tolist(), strict=True)
    return {
        "name": "",
        "unnamed": unnamed(attribute.name),
        "comparison": attribute.comparison,
        "min_group_size": groups.min_group_size,
        "groups": [{"label": name_of(label), "n": size} for label, size in sizes],
        "aside": [
            {"label": name_of(label), "n": size} for label, size in attribute.aside
        ],
        "n_missing": attribute.n_missing,
    }


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
    sample: Sample, found: dict[str, Finding], drawn: dict[str, Uncertainty]
) -> Summary:
    """Everything about one model and one attribute."""
    return {
        "model": say_name(sample.model.name),
        "measures": [
            _summary_of_metric(sample, MEASURES[key], one, drawn[key])
            for key, one in found.items()
        ],
        "groups": _groups(sample),
        "impact_ratios": _impact_ratios(sample),
        "strata": _strata(sample, found),
        "cdf": _cdf(sample, found.get("mcdp")),
    }


def _summary_of_metric(
    sample: Sample, measure: Measure, found: Finding, drawn: Uncertainty
) -> Summary:
    sizes = sample.attribute.sizes
    return {
        "key": measure.key,
        "title": "",
        "question": measure.question,
        "maximum": measure.maximum,
        "n": int(sizes.sum()),
        "n_groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
        "value": or_none(found.value),
        "lower": drawn.lower,
        "upper": drawn.upper,
        "certified": drawn.certified,
        "null_mean": drawn.null_mean,
        "pvalue": drawn.pvalue,
        "as_large": drawn.as_large,
        "without_test": drawn.without_test,
        "searched": None if found.bounds is None else list(found.bounds),
        "beside_first": None,
        "attained": found.to_dict(),
        "left_out": _few_of_labels(sample, found),
        "note": "",
        "finding": "",
        "sentence": "",
    }


def _few_of_labels(sample: Sample, found: Finding) -> list[Summary]:
    """List groups and true labels that are left out of error rates, and their rows."""
    labels, classes = sample.attribute.groups.labels, sample.audit.classes
    return [
        {"group": name_of(labels[i]), "true_label": name_of(classes[j]), "n": n}
        for i, j, n in found.few
    ]


def _groups(sample: Sample) -> list[Summary]:
    """Numbers of each group; of many groups the furthest from the average first."""
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    rows = [
        {"label": label, **numbers}
        for label, numbers in zip(labels, group_numbers(sample), strict=True)
    ]
    if sample.audit.binary and sample.attribute.comparison == "pooled":
        rows.sort(key=lambda row: -abs(row["difference"]))
    return rows


def _impact_ratios(sample: Sample) -> list[Summary] | None:
    """Tables of impact ratios; None unless asked for."""
    tables = impact_tables(sample)
    if tables is None:
        return None
    for row in (row for table in tables for row in table["rows"]):
        row["label"] = "" if row["status"] == "unknown" else name_of(row["label"])
    return [{**table, "sentence": ""} for table in tables]


def _strata(sample: Sample, found: dict[str, Finding]) -> Summary | None:
    """Metrics within strata, beside those of everyone; None unless there are strata."""
    within = values_within_strata(sample)
    if within is None:
        return None
    parts, numbers = within
    strata = sample.audit.strata
    assert strata is not None
    rows = [
        {
            **row,
            "title": "",
            "everyone": or_none(found[row["key"]].value),
            "stratum": None if row["value"] is None else name_of(row["stratum"]),
        }
        for row in numbers
    ]
    names = CROSS.join(strata.names)
    return {
        "names": visible_text(names) if names else "",
        "unnamed": not names,
        "n_strata": len(parts),
        "n_rows": sample.audit.count(strata.codes >= 0),
        "left_out": [*_left_out(parts)],
        "rows": rows,
        "sentence": "",
    }


def _left_out(parts: Sequence[Part]) -> Iterator[Summary]:
    """List strata that are left out, or groups within them, of a metric or of all.

    There are too few rows, or too few groups are compared, or some are not.
    """
    nothing: Summary = {"n_rows": None, "compared": None, "aside": [], "cells": []}
    for part in parts:
        attribute = part.sample.attribute
        one = {"label": name_of(part.label), "metric": None, "reason": "", **nothing}
        aside = [{"label": name_of(x), "n": n} for x, n in attribute.aside]
        if not part.enough:
            yield {**one, "n_rows": part.n_rows}
        elif aside and not part.sample.comparable:
            yield {**one, "compared": [name_of(x) for x in attribute.groups.labels]}
        elif aside:
            yield {**one, "aside": aside}
    for part in parts:
        if part.errors is not None and part.errors.few:
            yield {
                "label": name_of(part.label),
                "metric": "equalized_odds_difference",
                "reason": "",
                **nothing,
                "cells": _few_of_labels(part.sample, part.errors),
            }


def _cdf(sample: Sample, found: Finding | None) -> Summary | None:
    """Curves of the score distributions and their largest gap, for a picture."""
    few = sample.comparable and sample.attribute.comparison == "pairwise"
    if found is None or not few:
        return None
    return {
        "curves": _cdf_curves(sample),
        "gap": {
            "value": found.value,
            "pair": list(found.pair),
            "score": found.score,
            "shares": list(found.figures),
        },
    }


def _cdf_curves(sample: Sample) -> list[dict[str, list[float]]]:
    """Cumulative distribution of each group's scores, with few enough points to draw.

    Steps are thinned from (0, 0) to (1, 1), evenly along both axes; numbers begin and
    end with those of everyone.
    """
    low, high, digits = 0.0, 1.0, 4
    if sample.audit.of_numbers:
        low, high = (float(sample.scores.scores[i]) for i in (0, -1))
        digits = 4 - math.floor(math.log10((high - low) or 1))
    even, curves = np.linspace(0, 1, _N_POINTS), []
    for group in range(sample.scores.n_groups):
        scores, cdf = sample.scores.cdf(group)
        along = low + (high - low) * even
        kept = np.union1d(np.searchsorted(scores, along), np.searchsorted(cdf, even))
        kept = kept[kept < len(scores)]
        curves.append(
            {
                "scores": [low, *np.round(scores[kept], digits).tolist(), high],
                "shares": [0.0, *np.round(cdf[kept], 4).tolist(), 1.0],
            }
        )
    return curves


def _settings(audit: Audit, audits: Sequence[Audit]) -> Summary:
    options, models = audit.options, [(one, m) for one in audits for m in one.models]
    stated = [
        "scale",
        "epsilon",
        "alpha",
        "n_resamples",
        "n_permutations",
        "confidence_level",
    ]
    stated += ["min_group_size", "impact_ratios", "min_share", "random_state", "limit"]
    possible = {key for one, model in models for key in keys_of(one, model)}
    if not audit.attributes:
        possible &= {*KEYS_BY_PROXY}
    return {
        "positive label": _positive(audit),
        "decisions": {},
        **{name: getattr(options, name) for name in stated},
        "sample_weight": audit.weighted,
        "control_features": audit.strata is not None,
        "counts_are_drawn": audit.counts_are_drawn,
        "blur": [max(one.blur[i] for one in audits) for i in (0, 1)],
        "min_cell": None,
        "n_withheld": None,
        "calls": {
            key: measure.call_of(vars(options))
            for key, measure in MEASURES.items()
            if key in possible
        },
    }


def versions_of(*packages: str) -> dict[str, str]:
    """Versions of skfair, of some packages, of Python, and the system."""
    return {
        "skfair": skfair.__version__,
        **{name: version(name) for name in packages},
        "Python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
    }


def verdict(summary: Summary) -> Summary:
    """Draw the conclusions of a summary.

    "leads" holds a text for each model, "glance" the metrics that answer each question
    by attribute and model, "points" a sentence for each of these.
    """
    names = [model["name"] for model in summary["models"]]
    results = [
        (attribute, result)
        for attribute in summary["attributes"]
        for result in attribute["results"]
    ]
    settings = summary["settings"]
    points = [_point(attribute, result, settings) for attribute, result in results]
    return {
        "leads": [
            {
                "model": name,
                "text": _lead(summary, i),
                "further": [
                    *_calibration(summary, i),
                    *_largest(summary, i),
                    *_within_limit(summary, i),
                ],
            }
            for i, name in enumerate(names)
        ],
        "glance": [
            {
                "attribute": attribute["name"],
                "n_groups": len(attribute["groups"]),
                "model": result["model"],
                "cells": [
                    {"measure": m, "state": text}
                    for m, text in states(result, settings)
                ],
            }
            for attribute, result in results
        ],
        "points": [point for point in points if point is not None],
        "tests": _count_tests(summary),
        "cannot": [say(text) for text in _CANNOT_SHOW],
    }


def states(result: Summary, settings: Summary) -> list[tuple[Summary | None, str]]:
    """Return the metric that answers each question, and whether it is beyond chance.

    Up to three tests are made of each model and attribute, so their p-values are
    adjusted (Holm): the probability of any false finding is at most `LEVEL`.
    """
    chosen: list[Summary | None] = []
    for question in questions_of(settings):
        present = _primary(result, question)
        defined = [measure for measure in present if measure["value"] is not None]
        chosen.append(next(iter(defined or present), None))
    pvalues = sorted(m["pvalue"] for m in chosen if m and m["pvalue"] is not None)
    largest = 0.0  # of the p-values that are small after adjustment
    for i, pvalue in enumerate(pvalues):
        if pvalue * (len(pvalues) - i) > LEVEL * (1 + 1e-9):
            break
        largest = pvalue
    return [(measure, _state(measure, largest)) for measure in chosen]


def _primary(result: Summary, question: str) -> list[Summary]:
    """Metrics that may answer a question, the first of them first."""
    ranks = {measure["key"]: MEASURES[measure["key"]] for measure in result["measures"]}
    found = [
        measure
        for measure in result["measures"]
        if ranks[measure["key"]].question == question
        and ranks[measure["key"]].rank is not None
    ]
    return sorted(found, key=lambda measure: ranks[measure["key"]].rank or 0)


def _state(measure: Summary | None, largest: float) -> str:
    """Compare a p-value with the largest that is small after adjustment."""
    if measure is None:
        return "not asked"
    if measure["value"] is None:
        return "not computable"
    if measure["pvalue"] is None:
        return "not tested"
    return "beyond chance" if measure["pvalue"] <= largest else "may be chance"


def _lead(summary: Summary, model: int) -> str:
    """Say in a few sentences by which attributes a model differs."""
    differing: dict[str, list[str]] = {}
    within, untested, neither = [], [], []
    settings = summary["settings"]
    names_of_questions = questions_of(settings)
    for attribute in summary["attributes"]:
        answers = states(attribute["results"][model], settings)
        found = dict(zip(names_of_questions, answers, strict=True))
        beyond = [name for name, (_, text) in found.items() if text == "beyond chance"]
        if beyond:
            what = listed([say(word_of(name, settings)) for name in beyond])
            differing.setdefault(what, []).append(attribute["name"])
        elif any(text == "may be chance" for _, text in found.values()):
            within.append(attribute["name"])
        elif not summary["settings"]["n_permutations"] and any(
            text == "not tested" for _, text in found.values()
        ):
            untested.append(attribute["name"])
        else:
            neither.append(attribute["name"])
    texts = []
    if differing:
        parts = [
            say("{what} by {names}", what=what, names=listed(names))
            if position
            else say(
                "{what} differ between groups by {names}",
                what=what,
                names=listed(names),
            )
            for position, (what, names) in enumerate(differing.items())
        ]
        text = "; ".join(parts)
        text = f"{text[0].upper()}{text[1:]}"
        texts.append(say("{text}, by more than chance explains.", text=text))
    if within:
        texts.append(
            say(
                "By {names}, no difference beyond chance was found, which does not "
                "show that there is none.",
                names=listed(within),
            )
        )
    if untested:
        texts.append(
            say(
                "By {names}, differences are measured, and not tested.",
                names=listed(untested),
            )
        )
    if neither:
        texts.append(say("By {names}, nothing can be said.", names=listed(neither)))
    texts.append(lead(summary.get("proxy"), model))
    return " ".join(text for text in texts if text)


def _calibration(summary: Summary, model: int) -> Iterator[str]:
    """Say by which attributes a score means something else, beside the questions."""
    names = [
        attribute["name"]
        for attribute in summary["attributes"]
        for measure in attribute["results"][model]["measures"]
        if measure["question"] == "calibration"
        and measure["pvalue"] is not None
        and measure["pvalue"] <= LEVEL
    ]
    if names:
        yield say(
            "By {names}, groups with the same scores are not truly positive equally "
            "often, by more than chance explains in a test beside those of the three "
            "questions (calibration gap).",
            names=listed(names),
        )


def _largest(summary: Summary, model: int) -> Iterator[str]:
    """Say where decisions differ most, or scores or errors where there are none."""
    for question in questions_of(summary["settings"]):
        found = [
            (measure, attribute["name"])
            for attribute in summary["attributes"]
            for measure in _primary(attribute["results"][model], question)[:1]
            if measure["value"] is not None
        ]
        if found:
            measure, name = max(found, key=lambda one: one[0]["value"])
            yield say(
                "The largest {title} is by {name}: {finding}.",
                title=_within_sentence(measure["title"]),
                name=name,
                finding=measure["finding"],
            )
            return


def _within_sentence(title: str) -> str:
    """Write a title of words within a sentence, in lower case but for names."""
    lower = title[1:2].islower() and in_english()
    return f"{title[0].lower()}{title[1:]}" if lower else title


def _within_limit(summary: Summary, model: int) -> Iterator[str]:
    """Say which differences are certified to be within the limit, above, or neither."""
    settings = summary["settings"]
    limit, questions = settings["limit"], questions_of(settings)
    if limit is None:
        return
    found: dict[str, dict[str, list[str]]] = {"within": {}, "above": {}, "open": {}}
    for attribute in summary["attributes"]:
        answers = states(attribute["results"][model], settings)
        for question, (measure, _) in zip(questions, answers, strict=True):
            if measure is not None and measure["value"] is not None:
                of_state = found[_beside_limit(measure, limit)]
                of_state.setdefault(question, []).append(attribute["name"])
    at, parts = figure(f"{limit:g}"), []
    names = {
        state: listed(
            [
                say(
                    "{what} by {names}",
                    what=say(word_of(question, settings)),
                    names=listed(names),
                )
                for question, names in of_state.items()
            ]
        )
        for state, of_state in found.items()
    }
    if names["within"]:
        parts.append(
            say(
                "certified to be at most {limit}: {names}",
                limit=at,
                names=names["within"],
            )
        )
    if names["above"]:
        parts.append(
            say("above the limit {limit}: {names}", limit=at, names=names["above"])
        )
    if names["open"]:
        parts.append(
            say(
                "these rows cannot tell whether at most {limit}: {names}",
                limit=at,
                names=names["open"],
            )
        )
    if parts:
        text = "; ".join(parts)
        yield f"{text[0].upper()}{text[1:]}."


def _beside_limit(measure: Summary, limit: float) -> str:
    """Whether a metric is certified to be within a limit, above it, or neither."""
    if measure["certified"] is not None and measure["certified"] <= limit:
        return "within"
    above = measure["lower"] is not None and measure["lower"] > limit
    return "above" if above else "open"


def _point(attribute: Summary, result: Summary, settings: Summary) -> Summary | None:
    """Describe one finding: of decisions, else of scores, else of errors."""
    found = [(m, text) for m, text in states(result, settings) if m is not None]
    defined = [(m, text) for m, text in found if m["value"] is not None]
    if not found:
        return None
    measure, state = (defined or found)[0]
    text = measure["finding"]
    conclusion = CONCLUSIONS.get((word_of(measure["question"], settings), state))
    if conclusion is not None:
        largest = "" if measure["key"] == "dcp" else say("Largest difference found:")
        text = " ".join(part for part in (say(conclusion), largest, text) if part)
    details = []
    if measure["lower"] is not None:
        ends = measure["lower"], measure["upper"]
        low, high = (MEASURES[measure["key"]].unit(end) for end in ends)
        share = figure(f"{100 * settings['confidence_level']:g}")
        details.append(
            say("{level}% interval {low} to {high}", level=share, low=low, high=high)
        )
    if measure["certified"] is not None:
        most = MEASURES[measure["key"]].unit(measure["certified"])
        details.append(say("certified at most {most}", most=most))
    if measure["null_mean"] is not None:
        text_of_chance = chance_text(measure["key"], measure["null_mean"])
        details.append(say("chance alone {text}", text=text_of_chance))
    return {
        "attribute": attribute["name"],
        "model": result["model"],
        "state": state,
        "text": text + (f" ({'; '.join(details)})" if details else "") + ".",
    }


def _count_tests(summary: Summary) -> Summary:
    """Count the p-values of a report, and those that are small."""
    pvalues = [
        measure["pvalue"]
        for attribute in summary["attributes"]
        for result in attribute["results"]
        for measure in result["measures"]
        if measure["pvalue"] is not None
    ]
    return {
        "n": len(pvalues),
        "small": sum(pvalue <= LEVEL for pvalue in pvalues),
        "by_chance": LEVEL * len(pvalues),
        "level": LEVEL,
    }


def cautions(summary: Summary) -> list[str]:
    """List what limits the numbers of a report, each point once."""
    texts: list[str] = []
    of_numbers = summary["settings"]["scale"] == "real"
    for attribute in summary["attributes"]:
        texts += _about_groups(attribute, of_numbers)
        for result in attribute["results"]:
            texts += _about_measures(summary, attribute, result)
    if summary["settings"]["sample_weight"] and of_numbers:
        texts.append(
            say(
                "Rows are weighted. Group sizes count rows, means and metrics add up "
                "weights."
            )
        )
    elif summary["settings"]["sample_weight"]:
        texts.append(
            say(
                "Rows are weighted. Group sizes count rows, rates and metrics add up "
                "weights, and which groups differ from the others is not tested."
            )
        )
    if not summary["settings"]["n_permutations"] and summary["attributes"]:
        texts.append(
            say(
                "To save time, no test was made (n_permutations=0): there are no "
                "p-values, and intervals alone say how much may be noise."
            )
        )
    texts += _about_cells(summary["settings"])
    texts += _about_scores(summary["settings"])
    return list(dict.fromkeys(texts))


def _about_cells(settings: Summary) -> list[str]:
    """Say what is withheld, so that no number tells of few people."""
    least, withheld = settings["min_cell"], settings["n_withheld"]
    if least is None:
        return []
    n = say("fewer than {n}", n=least) if withheld is None else whole(withheld)
    if settings["scale"] == "real":
        return [
            say(
                "No number tells of fewer than {least} people: predictions, errors and "
                "true values were counted apart, in intervals that hold {least} rows "
                "or more of each group, and the rows of groups that have fewer are "
                "left out of every number ({n}).",
                least=least,
                n=n,
            )
        ]
    return [
        say(
            "No number tells of fewer than {least} people: scores were counted in "
            "intervals that hold {least} rows or more of each group, true label and "
            "decision, and the rows of groups that have fewer of one combination of "
            "true label and decisions are left out of every number ({n}).",
            least=least,
            n=n,
        )
    ]


def _about_scores(settings: Summary) -> list[str]:
    """Say that scores were counted in intervals, or are no probabilities."""
    texts, of_ranks = [], settings["scale"] == "rank"
    if of_ranks:
        texts.append(
            say(
                "The scores need not be probabilities. Thresholds, windows and bins "
                "are of their ranks among everyone, from 0 for the lowest to 1 for the "
                "highest; within strata, among everyone in the stratum. Log loss, "
                "calibration and mean scores need probabilities, and are left out."
            )
        )
    of_mcdp, length = settings["blur"]
    within = {"of_mcdp": _at_most(of_mcdp), "length": _at_most(length)}
    if length and settings["scale"] == "real":
        texts.append(
            say(
                "Predictions, errors and true values were counted in narrow intervals, "
                "and those of one count as equal. MCDP(0) is within {of_mcdp}, the "
                "Wasserstein distance and the differences of means are within {length} "
                "of those of the single numbers; the other numbers are close to "
                "theirs.",
                **within,
            )
        )
    elif length and of_ranks:
        texts.append(
            say(
                "Scores were counted in narrow intervals, and those of one count as "
                "equal. MCDP(0) is within {of_mcdp}, ABCC is within {length} of those "
                "of the single scores; the other numbers that depend on scores are "
                "close to theirs.",
                **within,
            )
        )
    elif length:
        texts.append(
            say(
                "Scores were counted in narrow intervals, and those of one count as "
                "equal. MCDP(0) is within {of_mcdp}, ABCC and the difference of mean "
                "scores are within {length} of those of the single scores; the other "
                "numbers that depend on scores are close to theirs.",
                **within,
            )
        )
    return texts


def _at_most(value: float) -> str:
    """Write a bound with one digit, rounded up."""
    power = math.floor(math.log10(value)) if value else 0
    most = math.ceil(value / 10.0**power - 1e-9) * 10.0**power
    return figure(f"{most:,.{max(-power, 0)}f}")


def _about_groups(attribute: Summary, of_numbers: bool) -> list[str]:
    name, groups, aside = (attribute[key] for key in ("name", "groups", "aside"))
    smallest = attribute["min_group_size"]
    texts = []
    if len(groups) < 2:
        values = {
            "name": name,
            "groups": counted(len(groups), "group"),
            "all": len(groups) + len(aside),
            "rows": counted(smallest, "row"),
        }
        texts.append(
            say(
                "{name}: nothing can be compared, since {groups} of {all} has at least "
                "{rows}.",
                **values,
            )
            if len(groups) == 1
            else say(
                "{name}: nothing can be compared, since {groups} of {all} have at "
                "least {rows}.",
                **values,
            )
        )
    if aside:
        values = {
            "name": name,
            "groups": counted(len(aside), "group"),
            "rows": counted(smallest, "row"),
            "names": listed([with_size(group["label"], group["n"]) for group in aside]),
        }
        texts.append(
            say(
                "{name}: {groups} with fewer than {rows} cannot be compared and is "
                "left out: {names}.",
                **values,
            )
            if len(aside) == 1
            else say(
                "{name}: {groups} with fewer than {rows} cannot be compared and are "
                "left out: {names}.",
                **values,
            )
        )
    if attribute["n_missing"]:
        values = {"name": name, "rows": counted(attribute["n_missing"], "row")}
        texts.append(
            say("{name}: {rows} without a group is left out.", **values)
            if attribute["n_missing"] == 1
            else say("{name}: {rows} without a group are left out.", **values)
        )
    return texts + _about_sizes(name, groups, of_numbers)


def _about_sizes(name: str, groups: list[Summary], of_numbers: bool) -> list[str]:
    """Say how uncertain the rates of small groups are."""
    small = sorted((g["n"], with_size(g["label"], g["n"])) for g in groups)
    small = [(n, text) for n, text in small if n < _SMALL]
    if not small or len(groups) < 2:
        return []
    error = 98 / small[0][0] ** 0.5
    values = {
        "name": name,
        "n": len(small),
        "all": len(groups),
        "limit": _SMALL,
        "names": listed([text for _, text in small]),
    }
    which = (
        say(
            "{name}: {n} of {all} groups has fewer than {limit} rows: {names}.",
            **values,
        )
        if len(small) == 1
        else say(
            "{name}: {n} of {all} groups have fewer than {limit} rows: {names}.",
            **values,
        )
    )
    if of_numbers:
        return [which]
    uncertain = say(
        "A rate in the smallest is uncertain by up to {error} percentage points either "
        "way, and the largest difference tends to be found where groups are small.",
        error=whole(error),
    )
    return [f"{which} {uncertain}"]


def _about_measures(summary: Summary, attribute: Summary, result: Summary) -> list[str]:
    if len(attribute["groups"]) < 2:
        return []
    model = f", {result['model']}" if len(summary["models"]) > 1 else ""
    texts = []
    for measure in result["measures"]:
        where = f"{attribute['name']}{model}: {measure['title']}"
        if measure.get("left_out"):
            texts.append(_about_labels(attribute, measure))
        if measure["value"] is None:
            finding = measure["finding"]
            texts.append(f"{where} {finding[0].lower()}{finding[1:]}.")
        elif measure["note"]:
            texts.append(f"{where}: {measure['note']}")
    return texts


def _about_labels(attribute: Summary, measure: Summary) -> str:
    """Name the groups that have too few rows of a true label to have error rates."""
    return say(
        "{name}: groups with fewer than {rows} of a true label are left out of "
        "“{title}” among these rows: {names}.",
        name=attribute["name"],
        rows=counted(attribute["min_group_size"], "row"),
        title=measure["title"],
        names=listed([with_rows_of_label(cell) for cell in measure["left_out"]]),
    )
