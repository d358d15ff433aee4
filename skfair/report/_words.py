"""What the numbers of a report say: answers, verdict and cautions.

`_sentences` has the sentences; here it is decided which of them is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scipy.stats import binomtest

from skfair._utils._text import (
    counted,
    format_in_unit,
    listed,
    name_with_size,
    number,
    percent,
    points,
    quote,
    quote_group,
    whole,
)
from skfair.groups import CROSS, MISSING_LABEL
from skfair.report._inputs import LEVEL
from skfair.report._metrics import (
    ALPHA,
    DCP_SECONDS,
    EPSILON,
    MEASURES,
    RATIO,
    Measure,
    amount,
    amounts,
    answer_to,
    is_of_few_groups,
    needs_of,
    questions_of,
)
from skfair.report._sentences import SENTENCES, say

Summary = dict[str, Any]

#: States of a question, from what is most certain on.
STATES = "significant", "weak evidence", "no evidence", "not tested", "not computable"
#: Rates of groups, as tables call them.
RATES = {
    "selection_rate": "Selected",
    "true_positive_rate": "Selected of the truly positive",
    "false_positive_rate": "Selected of the others",
    "accuracy": "Accuracy",
}
#: Rates of groups smaller than this are uncertain by ten points and more.
_SMALL = 100
#: No more pairs of groups are named in a sentence: those of five groups. The verdict
#: names fewer.
_MOST_PAIRS, _FEW_PAIRS = 10, 5
_CANNOT_SHOW = (
    "Whether a difference is justified. Groups may differ in what the decision is "
    "rightly based on, and equal numbers may be unjust.",
    "What caused a difference: the model, the labels it learnt from, or who is in "
    "these rows.",
    "Whether the true labels themselves are fair.",
    "Anything about people who are not like those in these rows.",
    "That a model is fair. Finding no difference is not the same as there being none.",
)


def add_sentences(summary: Summary) -> Summary:
    """Add to a summary the sentences that its numbers and names give."""
    for attribute in summary["attributes"]:
        for result in attribute["results"]:
            _put_result(summary, attribute, result)
    texts = list(dict.fromkeys(cautions(summary)))  # each once
    questions = [*questions_of(summary["settings"]), "calibration"]
    return {
        **summary,
        "rows": _tell_rows(summary),
        "questions": {q: ask(q, summary["settings"]) for q in questions},
        "verdict": verdict(summary),
        "cautions": texts,
    }


def _tell_rows(summary: Summary) -> str:
    """Count the rows of a report, and those that are left out of it, or in part."""
    parts, left_out = (
        [counted(summary["n_rows"], "row")],
        summary["settings"]["left_out"],
    )
    if left_out is not None:
        parts.append(f"{whole(left_out['n_rows'])} more left out")
    names = [attribute["name"] for attribute in summary["attributes"]]
    for attribute in summary["attributes"]:
        n, name = attribute["n_missing"], attribute["name"]
        if n and not (len(names) > 1 and CROSS.join(names[:-1]) == name):
            parts.append(f"{whole(n)} of unknown {name}")
    return ", ".join(parts)


def ask(question: str, settings: Summary) -> str:
    """Write a question."""
    if settings["scale"] == "real" and question == "scores":
        return say("asks numbers")
    if question != "decisions":
        return say(f"asks {question}")
    kind = "decisions" if settings["decided"] else "predictions"
    return say(f"asks {kind}", label=quote(settings["positive label"] or ""))


def noun_of(question: str, settings: Summary) -> str:
    """Name the subject of a question: decisions or predictions."""
    compares_numbers = settings["scale"] == "real" and question == "scores"
    predicted = question == "decisions" and not settings["decided"]
    return "predictions" if compares_numbers or predicted else question


def _put_result(summary: Summary, attribute: Summary, result: Summary) -> None:
    """Put the metrics of one model and attribute, and its tables, into words."""
    settings = summary["settings"]
    titles = {key: metric.title for key, metric in MEASURES.items()}
    answers = states(result, settings)
    keys = {measure["key"] for measure, _ in answers if measure is not None}
    found = {m["question"] for m, state in answers if m and state == "significant"}
    repeated = {*_repeated(result, settings)}
    for measure in result["measures"]:
        measure["title"] = titles[measure["key"]]
        measure["answers"] = measure["key"] in keys | {"calibration_gap"}
        measure["note"] = " ".join(note(measure))
        measure["finding"] = describe(summary, attribute, measure)
        measure["shown"] = measure["key"] not in repeated
        measure["level"] = level_of(measure["question"], [m for m, _ in answers])
        measure["decider"] = _decider(summary, attribute, measure)
        sentences = add_chance(
            summary, attribute, measure, measure["question"] in found
        )
        measure["sentence"] = " ".join(sentences)
    for table in result["impact_ratios"] or ():
        sentences = describe_ratios(
            table["kind"], table["rows"], level=settings["confidence_level"]
        )
        table["sentence"] = " ".join(sentences)
    if (table := result["pooled"]) is not None:
        for row in table["rows"]:
            row["title"] = RATES[row["rate"]]
        columns, level = " or ".join(table["columns"]), settings["confidence_level"]
        table["sentence"] = say("pooled", columns=columns, level=100 * level)
    if (table := result["strata"]) is not None:
        for row in table["rows"]:
            row |= {"title": titles[row["key"]], "tested": ""}
            row["shown"] = row["key"] not in repeated
            if (pair := row["pair"]) is not None:
                gap = amount(pair["gap"], row["key"])
                row["tested"] = f"{_pair_text(pair)} in {pair['stratum']}: {gap}"
        for stratum in table["left_out"]:
            stratum["reason"] = reason_left_out(stratum, attribute["min_group_size"])
        title = titles["equalized_odds_difference"]
        table["sentence"] = " ".join(describe_strata(table, title))


def _repeated(result: Summary, settings: Summary) -> Iterator[str]:
    """Name the metrics that pages leave out, as another metric is the same number.

    CVaR fairness, for example, is the largest gap (with another interval) if its tail
    is a single group. Metrics that were asked for by name are not left out.
    """
    by_key = {measure["key"]: measure for measure in result["measures"]}
    is_asked = settings["metrics"] is not None or "max_gap" not in by_key
    tail = by_key.get("cvar_fairness")
    if tail and tail["attained"]["n_tail"] == 1 and not is_asked:
        yield "cvar_fairness"


def _decider(summary: Summary, attribute: Summary, measure: Summary) -> Summary | None:
    """Return the pair that decides a test, if the value belongs to another pair."""
    if (pair := _other_pair(attribute, measure)) is None:
        return None
    shown = measure["decided"] or {"value": pair["gap"], "lower": None, "upper": None}
    numbers = {name: shown[name] for name in ("value", "lower", "upper")}
    text = f"{_pair_text(pair)}{_describe_cell(summary, pair)}"
    return {"key": measure["key"], "pair": text, **numbers}


def verdict(summary: Summary) -> Summary:
    """Draw the conclusions of a summary.

    "leads" has an entry for each model: a sentence on each question ("answers"), all
    these sentences ("text"), further findings ("further"), and changes from the first
    model ("changes"). "glance" has the metrics that answer, by attribute and model.
    "points" has a sentence on each of these metrics. "limits" has each metric with a
    limit of its own, and says whether the limit is kept.
    """
    settings, limits = summary["settings"], [*_judge_limits(summary)]
    glance, points = [], []
    for attribute in summary["attributes"]:
        for position, result in enumerate(attribute["results"]):
            answers = states(result, settings)
            cells = [{"measure": m, "state": state} for m, state in answers]
            named = {"attribute": attribute["name"], "model": result["model"]}
            glance.append(named | {"cells": cells})
            named |= {"position": position}
            points += [
                named | _point(summary, attribute, result, measure, state)
                for measure, state in answers
                if measure is not None
            ]
    return {
        "leads": [_lead(summary, i, limits) for i in range(len(summary["models"]))],
        "glance": glance,
        "points": points,
        "limits": limits,
        "tests": _count_tests(summary),
        "cannot": list(_CANNOT_SHOW),
    }


def states(result: Summary, settings: Summary) -> list[tuple[Summary | None, str]]:
    """Return the metric that answers each question, and what its test shows.

    Each model and attribute has up to three tests. Their p-values are adjusted by
    Holm's method, so that any finding is false with a probability of at most `LEVEL`.
    """
    by_key = {measure["key"]: measure for measure in result["measures"]}
    values = {key: measure["value"] for key, measure in by_key.items()}
    keys = [answer_to(question, values) for question in questions_of(settings)]
    chosen = [None if key is None else by_key[key] for key in keys]
    return [
        (measure, _state(measure, level_of(question, chosen), result))
        for question, measure in zip(questions_of(settings), chosen, strict=True)
    ]


def level_of(question: str, answers: Sequence[Summary | None]) -> float:
    """Return the largest p-value of a question that is significant beside the others'.

    It is small after adjustment (Holm).
    """
    others = sorted(
        m["pvalue"]
        for m in answers
        if m and m["question"] != question and m["pvalue"] is not None
    )
    level = LEVEL / (len(others) + 1)
    for i, pvalue in enumerate(others):
        if not _is_at_most(pvalue, level):
            break
        level = LEVEL / (len(others) - i)
    return level


def _is_at_most(pvalue: float, level: float) -> bool:
    """Return whether a p-value is at most a level, up to rounding."""
    return pvalue <= level * (1 + 1e-9)


def _state(measure: Summary | None, level: float, result: Summary) -> str:
    """Name what the test of a metric shows; `level` is the largest small p-value."""
    if measure is None:
        return "not asked"
    if measure["value"] is None:
        return "not computable"
    if measure["pvalue"] is None:
        return "not tested"
    if _is_at_most(measure["pvalue"], level):
        return "significant"
    return "weak evidence" if _signs(measure, result) else "no evidence"


def _signs(measure: Summary, result: Summary) -> list[str]:
    """Describe weak evidence of a difference that is not significant."""
    signs, lower = [], (measure["decided"] or measure)["lower"]
    if measure["pvalue"] <= LEVEL:
        signs.append(say("sign of the p-value", pvalue=f"{measure['pvalue']:.2g}"))
    if lower is not None and lower > 0:
        signs.append(say("sign of the interval"))
    groups = result.get("groups") or ()
    differing = [quote(g["label"]) for g in groups if g.get("differs")]
    if measure["question"] == "decisions" and differing:
        both = len(groups) == len(differing) == 2
        name = "sign of two groups" if both else "sign of the groups"
        signs.append(say(name, groups=listed(differing)))
    wrong = any(group.get("accuracy_differs") for group in groups)
    if measure["question"] == "errors" and wrong:
        signs.append(say("sign of the error rates"))
    return signs


def _lead(summary: Summary, model: int, limits: Sequence[Summary]) -> Summary:
    """Describe the findings about one model, and changes from the first."""
    lead: Summary = {"model": summary["models"][model]["name"], "answers": []}
    nothing, settings = _nothing_to_compare(summary, model), summary["settings"]
    if not summary["models"][model]["alike"]:
        lead["answers"] = [*_answers(summary, model)]
        further = [*_calibration(summary, model), *_describe_limit(summary, model)]
        if settings["scale"] == "rank" and not settings["decides"]:
            further.append(say("no decisions"))
        further += [one["text"] for one in limits if one["position"] == model]
    else:
        further = []
    texts = [nothing, *(answer["text"] for answer in lead["answers"])]
    first, name = summary["models"][0]["name"], lead["model"]
    return lead | {
        "nothing": nothing,
        "text": " ".join(filter(None, texts)),
        "changed": say("changed", first=quote(first), model=quote(name)),
        "further": further,
        "changes": [*_changes(summary, model)] if model else [],
    }


def _answers(summary: Summary, model: int) -> Iterator[Summary]:
    """Answer each question in a sentence.

    If attributes have different answers, there is a sentence for each answer.
    """
    settings = summary["settings"]
    found = {
        attribute["name"]: states(attribute["results"][model], settings)
        for attribute in summary["attributes"]
    }
    for i, question in enumerate(questions_of(settings)):
        what, texts = noun_of(question, settings), []
        for state in STATES:
            names = [name for name in found if found[name][i][1] == state]
            alone = [
                name
                for name in names
                if state == "significant" and _differ_alone(found[name][i][0])
            ]
            if names := [name for name in names if name not in alone]:
                texts.append(say(state, what=what, names=listed(names)))
            for name in alone:
                missing = _name_missing(summary, name)
                values = {"what": what, "missing": missing, "name": name}
                texts.append(say("significant of missing", **values))
        if texts:
            text = " ".join(map(_capitalised, texts))
            yield {"question": question, "text": text}


def _differ_alone(measure: Summary | None) -> bool:
    """Return whether all significant differences concern a missing group."""
    pairs = _significant(measure) if measure else []
    return bool(pairs) and all(any(map(is_missing, one["pair"])) for one in pairs)


def _significant(measure: Summary) -> list[Summary]:
    """Return the pairs of groups that differ significantly, as the verdict counts."""
    level = measure["level"]
    return [pair for pair in measure["pairs"] if _is_at_most(pair["pvalue"], level)]


def _name_missing(summary: Summary, name: str) -> str:
    """Return the name of what is missing, of one attribute or of several."""
    found = [
        attribute["name"]
        for attribute in summary["attributes"]
        for group in [*attribute["groups"], *attribute["aside"]]
        if is_missing(group["label"])
    ]
    names = name.split(CROSS)
    return " or ".join([one for one in names if one in found] or names)


def _nothing_to_compare(summary: Summary, model: int) -> str | None:
    """Say that all scores or true labels are alike, if they are."""
    rows = counted(summary["n_rows"], "row")
    real = summary["settings"]["scale"] == "real"
    if summary["models"][model]["alike"]:
        what = "prediction" if real else "score"
        if not summary["models"][model]["scores"]:
            what = "decision"
        return say("all alike", rows=rows, what=what)
    if summary["labels_alike"]:
        what = f"true {'number' if real else 'label'}"
        return say("labels alike", rows=rows, what=what)
    return None


def _capitalised(text: str) -> str:
    """Begin a text with a capital letter."""
    return f"{text[0].upper()}{text[1:]}"


def _changes(summary: Summary, model: int) -> Iterator[Summary]:
    """Describe how much changed from the first model to another."""
    settings, values = summary["settings"], summary["models"][model]
    level, are_paired = 100 * settings["confidence_level"], True
    for key in ("accuracy", "average_precision", "r2"):
        beside = (values["beside_first"] or {}).get(key)
        after, what = values["performance"].get(key), _PERFORMANCES[key]
        before = summary["models"][0]["performance"].get(key)
        if beside is not None:
            text = _change("performance", beside, after, number, what, "", level)
            yield {"question": "performance", "text": text}
        elif before is not None and after is not None:
            ends = {"before": number(before), "after": number(after)}
            text = say("performance unpaired", what=what, **ends)
            yield {"question": "performance", "text": text}
            are_paired = False
    unpaired = list[Measure]()
    for i, question in enumerate(questions_of(settings)):
        for attribute in summary["attributes"]:
            measure, _ = states(attribute["results"][model], settings)[i]
            first, _ = states(attribute["results"][0], settings)[i]
            if measure is None or first is None or measure["key"] != first["key"]:
                continue
            if measure["value"] is None or first["value"] is None:
                continue
            metric, beside = MEASURES[measure["key"]], measure["beside_first"]
            what, name = _name_metric(measure, settings), attribute["name"]
            write, after = metric.unit, measure["value"]
            unit = metric.text_of(after).removeprefix(write(after))
            if beside is None:
                ends = {"before": write(first["value"]), "after": write(after) + unit}
                text = say("change unpaired", what=what, name=name, **ends)
                unpaired.append(metric)
            else:
                text = _change("change", beside, after, write, what, name, level, unit)
            yield {"question": question, "text": text}
    are_paired &= not any(metric.bounded for metric in unpaired)
    if not are_paired:
        of_people = settings["n_people"] is not None
        text = say("changes of people" if of_people else "changes of counts")
        yield {"question": "intervals", "text": text}
    elif unpaired:
        names = dict.fromkeys(quote(metric.title) for metric in unpaired)
        text = say("changes without", names=listed([*names]))
        yield {"question": "intervals", "text": text}
    open_ones = [
        measure
        for attribute in summary["attributes"]
        for measure, _ in states(attribute["results"][model], settings)
        if measure and (beside := measure["beside_first"])
        if beside["lower"] <= 0 <= beside["upper"]
    ]
    if open_ones:
        yield {"question": "intervals", "text": say("changes are bounded")}


#: Performances of models, as sentences call them.
_PERFORMANCES = {
    "accuracy": "Accuracy",
    "average_precision": "Average precision",
    "r2": "R²",
}


def _name_metric(measure: Summary, settings: Summary) -> str:
    """Name the metric that answers a question, in words."""
    metric = MEASURES[measure["key"]]
    if metric.unit is not points:
        title = metric.title
        return title if title.isupper() else f"The {title[0].lower()}{title[1:]}"
    only = measure["question"] == "decisions" and measure["n_groups"] == 2
    largest = "difference" if only else "largest difference"
    return f"The {largest} of {noun_of(measure['question'], settings)}"


def _change(
    kind: str,
    beside: Summary,
    after: float,
    write: Callable[[float], str],
    what: str,
    name: str,
    level: float,
    unit: str = "",
) -> str:
    """Say that a value fell, that it rose, or that the rows show neither."""
    value, lower, upper = (beside[key] for key in ("value", "lower", "upper"))
    ends = {"before": write(after - value), "after": write(after) + unit}
    change = write(abs(value)) + unit
    values = {"what": what, "name": name, "level": level, **ends}
    if upper < 0:
        low, high = write(-upper), write(-lower)
        return say(f"{kind} fell", change=change, low=low, high=high, **values)
    if lower > 0:
        low, high = write(lower), write(upper)
        return say(f"{kind} rose", change=change, low=low, high=high, **values)
    return say(f"{kind} open", low=write(lower), high=write(upper), **values)


def _calibration(summary: Summary, model: int) -> Iterator[str]:
    """Name the attributes whose groups differ in outcomes at the same scores."""
    names = [
        attribute["name"]
        for attribute in summary["attributes"]
        for measure in attribute["results"][model]["measures"]
        if measure["question"] == "calibration"
        and measure["pvalue"] is not None
        and measure["pvalue"] <= LEVEL
    ]
    if names:
        yield say("miscalibrated", names=listed(names))


#: What is said of a difference beside the limit, by how it lies.
_BESIDE_LIMIT = "within a limit", "above a limit", "limit open"


def _describe_limit(summary: Summary, model: int) -> Iterator[str]:
    """Say which differences are certified to keep the limit, exceed it, or neither."""
    settings = summary["settings"]
    limit, questions = settings["limit"], questions_of(settings)
    if not isinstance(limit, float):
        return
    by_state: dict[str, dict[str, list[str]]] = {state: {} for state in _BESIDE_LIMIT}
    for attribute in summary["attributes"]:
        answers = states(attribute["results"][model], settings)
        for question, (measure, _) in zip(questions, answers, strict=True):
            if measure is not None and measure["value"] is not None:
                of_state = by_state[_judge_limit(measure, limit)]
                of_state.setdefault(question, []).append(attribute["name"])
    for state, by_question in by_state.items():
        names = [
            f"{noun_of(question, settings)} by {listed(names)}"
            for question, names in by_question.items()
        ]
        if names:
            level = 100 * settings["confidence_level"]
            yield say(state, limit=limit, level=level, names=listed(names))


def _judge_limit(measure: Summary, limit: float) -> str:
    """Say if a metric is certified to be within a limit, above it, or neither."""
    if measure["certified"] is not None and measure["certified"] <= limit:
        return "within a limit"
    above = measure["lower"] is not None and measure["lower"] > limit
    return "above a limit" if above else "limit open"


def _judge_limits(summary: Summary) -> Iterator[Summary]:
    """Compare each metric that has a limit of its own with this limit.

    There is an entry for each attribute and model. Undefined metrics, and metrics that
    were not computed, do not keep their limit.
    """
    settings = summary["settings"]
    limits, level = settings["limit"], 100 * settings["confidence_level"]
    for attribute in summary["attributes"] if isinstance(limits, dict) else ():
        for position, result in enumerate(attribute["results"]):
            measures = {measure["key"]: measure for measure in result["measures"]}
            for key, limit in limits.items():
                named = {"name": attribute["name"], "limit": limit}
                if key == RATIO:
                    ratio = result["smallest_ratio"]
                    kept, text = _ratio_beside(ratio, level, named)
                else:
                    measure, why = measures.get(key), ""
                    if measure is None or measure["value"] is None:
                        why = _why_not(summary, attribute, position, measure, key)
                    kept, text = _value_beside(measure, key, named | {"why": why})
                yield {"metric": key, "position": position, "kept": kept, "text": text}


def _ratio_beside(
    ratio: Summary | None, level: float, named: Summary
) -> tuple[bool, str]:
    """Say whether the smallest impact ratio reaches a limit."""
    if ratio is None:
        return False, say("no ratio", **named)
    low, high = ratio["low"], ratio["high"]
    kept = low["impact_ratio"] >= named["limit"]
    text = say(
        "ratio kept" if kept else "ratio missed",
        kind=ratio["kind"],
        low=quote(low["label"]),
        high=quote(high["label"]),
        rate=percent(low["rate"]),
        highest=percent(high["rate"]),
        ratio=number(low["impact_ratio"]),
        lower=number(low["lower"]),
        upper=number(low["upper"]),
        level=level,
        **named,
    )
    return kept, text + _doubt(low["lower"], low["upper"], named["limit"])


def _value_beside(
    measure: Summary | None, key: str, named: Summary
) -> tuple[bool, str]:
    """Say whether a metric is at most a limit."""
    if measure is None or measure["value"] is None:
        return False, say("no value", title=key, **named)
    kept, ends = measure["value"] <= named["limit"], ""
    if measure["lower"] is not None:
        ends = f" ({amounts(measure['lower'], measure['upper'], key)})"
    title, value = MEASURES[key].title, amount(measure["value"], key)
    state = "value kept" if kept else "value missed"
    text = say(state, title=title, value=value, ends=ends, **named)
    return kept, text + _doubt(measure["lower"], measure["upper"], named["limit"])


def _why_not(
    summary: Summary,
    attribute: Summary,
    position: int,
    measure: Summary | None,
    key: str,
) -> str:
    """Say why a metric that has a limit has no value, and what has one."""
    settings = summary["settings"]
    if measure is not None:
        return f": {_reason(attribute, measure)}".replace("Cannot be computed: ", "", 1)
    if settings["metrics"] not in (None, "all") and key not in settings["metrics"]:
        return ": it is not among the metrics that were asked for"
    scored = summary["models"][position]["scores"]
    is_of_scores = MEASURES[key].question == "scores"
    if is_of_few_groups(key) and attribute["comparison"] == "pooled" and scored:
        return ": it compares few groups"
    why = f": it needs {needs_of(key, settings['scale'])}"
    if is_of_scores and not scored and summary["positive"] is not None:
        why += "; demographic_parity_difference compares decisions"
    return why


def _doubt(lower: float | None, upper: float | None, limit: float) -> str:
    """Say that an interval contains values on both sides of a limit."""
    if lower is None or upper is None or not lower < limit < upper:
        return ""
    return f" {say('limit inside')}"


def _point(
    summary: Summary, attribute: Summary, result: Summary, measure: Summary, state: str
) -> Summary:
    """State the finding of the metric that answers a question.

    The finding is on the pair of groups that decides the test, but not on people whose
    group is missing.
    """
    labels = [group["label"] for group in attribute["groups"]]
    shown = measure | (measure["decided"] or {})
    pair = [labels[i] for i in shown["attained"]["pair"] if i is not None and labels]
    if measure["value"] is not None and any(map(is_missing, pair)):
        texts = [*_tell_known(summary, attribute, measure, state)]
    else:
        of_pair = measure["decided"] or _other_pair(attribute, measure) is None
        excludes = state == "significant" and bool(of_pair)
        texts = [_tell_finding(summary, attribute, shown, excludes)]
        if measure["decided"]:
            texts += _name_furthest(summary, labels, measure, state)
    if state == "weak evidence":
        texts.append(say("signs", signs="; ".join(_signs(measure, result))))
    if state == "significant" and measure["n_groups"] > 2 and measure["pairs"]:
        texts += _count_pairs(attribute, measure, result["groups"])
    if measure["question"] == "errors":
        texts += _name_error_rates(result)
    return {"question": measure["question"], "state": state, "text": " ".join(texts)}


def _name_error_rates(result: Summary) -> Iterator[str]:
    """Name the groups whose error rates differ from all others' in tests."""
    groups = [g for g in result["groups"] if g.get("accuracy_differs") is not None]
    found = [group for group in groups if group["accuracy_differs"]]
    found.sort(key=lambda group: group["accuracy"])
    named = [
        f"{quote(group['label'])} ({percent(1 - group['accuracy'])}, others "
        f"{percent(1 - group['accuracy_of_others'])})"
        for group in found
    ]
    if named:
        verb, names = "differs" if len(named) == 1 else "differ", listed(named, 12)
        values = {"of": len(groups), "n": len(named), "verb": verb, "groups": names}
        yield say("error rates differ", **values)
    elif groups:
        yield say("no error rate differs", of=len(groups))


def _name_furthest(
    summary: Summary, labels: list[str], measure: Summary, state: str
) -> Iterator[str]:
    """Name the groups with the largest gap, if another pair decides the test."""
    place, pair = measure["attained"], measure["furthest"]
    value, unit = measure["value"], MEASURES[measure["key"]].text_of
    if pair is None or any(map(is_missing, pair["pair"])):
        return
    if math.isclose(value, measure["decided"]["value"], rel_tol=1e-9, abs_tol=1e-9):
        return  # as far apart, not further
    kind = (
        "further apart, too" if state == "significant" else "further apart, less clear"
    )
    if not _is_at_most(pair["pvalue"], LEVEL):
        kind = "further apart by chance"
    elif not _is_at_most(pair["pvalue"], measure["level"]):
        kind = "further apart, less clear"
    null, by_chance = pair["null_mean"], ""
    if null is not None:
        by_chance = f" ({unit(null)} on average)"
    first, second = (quote_group(labels, i) for i in place["pair"])
    among = place["classes"] if measure["question"] == "errors" else None
    yield say(
        kind,
        pair=f"{first} and {second}",
        cell=_describe_cell(summary, {"classes": among}),
        gap=unit(value),
        by_chance=by_chance,
    )


def is_missing(label: str | None) -> bool:
    """Return whether a label stands for people of a missing group."""
    return label is not None and MISSING_LABEL in label.split(", ")


def _tell_known(
    summary: Summary, attribute: Summary, measure: Summary, state: str
) -> Iterator[str]:
    """Say which known groups differ, where a missing group differs most."""
    found = [p for p in _significant(measure) if not any(map(is_missing, p["pair"]))]
    if measure["known"] is not None:
        shown = measure | measure["known"]
        excludes = state == "significant" and bool(found)
        yield _tell_finding(summary, attribute, shown, excludes)
    is_told = measure["known"] is None or state == "significant"
    if is_told and measure["pairs"] and not found:
        yield say("no known group differs")
    name = _name_missing(summary, attribute["name"])
    verb = "stand out" if measure["decided"] else "differ"
    yield say("missing differs most", name=name, verb=verb)


def _tell_finding(
    summary: Summary, attribute: Summary, measure: Summary, excludes_zero: bool
) -> str:
    """Describe a metric with its interval.

    If a test has rejected the value 0, an interval that reaches 0 does not contain it:
    the error of the interval at 0 is all on one side, at larger values half on each
    side.
    """
    finding = describe(summary, attribute, measure)
    if measure["lower"] is None:
        return f"{finding}."
    unit, level = MEASURES[measure["key"]].unit, summary["settings"]["confidence_level"]
    low, high = unit(measure["lower"]), unit(measure["upper"])
    kind = "interval"
    if excludes_zero and low == unit(0.0):
        kind = "interval without 0"
    return say(kind, finding=finding, level=100 * level, low=low, high=high)


def _other_pair(attribute: Summary, measure: Summary) -> Summary | None:
    """Return the pair that decides a test, if the value belongs to another pair."""
    if not measure["pairs"]:
        return None
    first, value = measure["pairs"][0], measure["value"]
    labels = [group["label"] for group in attribute["groups"]]
    pair = [None if i is None else labels[i] for i in measure["attained"]["pair"]]
    close = math.isclose(first["gap"], value, rel_tol=1e-9, abs_tol=1e-9)
    all_equal = close and math.isclose(value, 0.0, abs_tol=1e-9)
    return None if all_equal or (close and {*pair} == {*first["pair"]}) else first


def _pair_text(pair: Summary) -> str:
    """Name two groups, or a group and everyone."""
    first, second = pair["pair"]
    other = "everyone" if second is None else quote(second)
    return f"{quote(first)} and {other}"


def _count_pairs(
    attribute: Summary, measure: Summary, rows: Sequence[Summary]
) -> Iterator[str]:
    """Say how many groups, or pairs of groups, differ significantly."""
    pairs, n_groups = _significant(measure), measure["n_groups"]
    n = len({tuple(pair["pair"]) for pair in pairs})
    if pairs[0]["pair"][1] is None:
        verb = "differs" if n == 1 else "differ"
        differ = {pair["pair"][0] for pair in pairs}
        named = [
            name_with_size(group["label"], group["n"])
            for group in attribute["groups"]
            if group["label"] in differ
        ]
        groups = listed(named)
        yield say("groups counted", of=n_groups, n=n, verb=verb, groups=groups)
        marked = {row["label"] for row in rows if row.get("differs")}
        if measure["question"] == "decisions" and marked > differ:
            verb = "differs" if len(marked) == 1 else "differ"
            yield say("groups by another test", n=len(marked), verb=verb)
    elif n == 1:
        yield say("pair differs", pair=_pair_text(pairs[0]))
    else:
        names, of = _name_pairs(pairs, _FEW_PAIRS), math.comb(n_groups, 2)
        yield say("pairs counted", of=of, n=n, pairs=names)


def _pairs_differ(measure: Summary) -> str:
    """Name the groups between which differences are significant, each pair once.

    Where it is not, after adjustment for the questions, the p-value alone is small.
    """
    pairs, kind = _significant(measure), "differ"
    if not pairs:
        pairs, kind = measure["pairs"], "small"
    if pairs[0]["pair"][1] is None:
        groups = dict.fromkeys(quote(pair["pair"][0]) for pair in pairs)
        return say(f"groups {kind}", groups=listed([*groups]))
    if len({*map(_pair_text, pairs)}) > 1:
        return say(f"pairs {kind}", pairs=_name_pairs(pairs))
    kind = "pair differs" if kind == "differ" else "pair small"
    return say(kind, pair=_pair_text(pairs[0]))


def _name_pairs(pairs: Sequence[Summary], at_most: int = _MOST_PAIRS) -> str:
    """Name pairs of groups, each once, and count those beyond some number."""
    names = [*dict.fromkeys(map(_pair_text, pairs))]
    if len(names) > at_most:
        names[at_most:] = [counted(len(names) - at_most, "more pair")]
    return "; ".join(names)


def _count_tests(summary: Summary) -> Summary:
    """Return the number of p-values in a report, and of those that are small."""
    results = [result for named in summary["attributes"] for result in named["results"]]
    measures = [measure for result in results for measure in result["measures"]]
    pvalues = [m["pvalue"] for m in measures if m["pvalue"] is not None]
    n, small = len(pvalues), sum(pvalue <= LEVEL for pvalue in pvalues)
    numbers = {"n": n, "small": small, "level": LEVEL}
    by_chance = f"{LEVEL * n:.1f}"
    kind = "all tests" if n == small > 1 else "some tests"
    return {
        **numbers,
        "questions": _questions_tested(summary, results),
        "sentence": say(kind, by_chance=by_chance, **numbers) if n else "",
    }


def _questions_tested(summary: Summary, results: Sequence[Summary]) -> str:
    """Name the questions whose p-values are adjusted together."""
    tested = {
        sum(m is not None and m["pvalue"] is not None for m, _ in answers)
        for answers in (states(result, summary["settings"]) for result in results)
    }
    words = {1: "the question", 2: "the two questions", 3: "the three questions"}
    return words.get(tested.pop(), "") if len(tested) == 1 else "the questions"


def cautions(summary: Summary) -> Iterator[str]:
    """List what limits the numbers of a report."""
    settings = summary["settings"]
    compares_numbers = settings["scale"] == "real"
    yield from _describe_left_out(summary)
    for attribute in summary["attributes"]:
        yield from _describe_few_rows(attribute, compares_numbers)
        for result in attribute["results"]:
            yield from _describe_undefined(summary, attribute, result)
            yield from _describe_unsettled(attribute, result, settings)
    names = [attribute["name"] for attribute in summary["attributes"]]
    if len(names) > 2 and CROSS.join(names[:-1]) != names[-1]:
        yield say("several attributes")
    if (n_people := settings["n_people"]) is not None:
        rows = counted(summary["n_rows"], "row")
        done = "shuffled for p-values and " if settings["n_permutations"] else ""
        done += "counted for intervals"
        yield say("people", rows=rows, n=whole(n_people), done=done)
        if settings["decides"] and summary["positive"] is not None:
            yield say("untested groups", rows="people with several rows")
    if settings["sample_weight"]:
        what = "means" if compares_numbers or not settings["decides"] else "rates"
        yield say("weighted", what=f"{what} and metrics")
        if what == "rates":
            yield say("untested groups", rows="weighted rows")
    if not settings["n_permutations"]:
        yield say("no tests")
    if settings["scale"] == "rank":
        yield say("ranks")
    if settings["blur"][1]:
        of_mcdp, length = map(_round_up, settings["blur"])
        scores, others = _COUNTED[settings["scale"]]
        of_both = {"of_mcdp": of_mcdp, "length": length}
        yield say("counted scores", scores=scores, others=others, **of_both)


def _describe_unsettled(
    attribute: Summary, result: Summary, settings: Summary
) -> Iterator[str]:
    """Name p-values so near their limit that other permutations may move them across.

    The limit is within the interval (Clopper and Pearson, 95 %) for the p-value of all
    permutations.
    """
    n = settings["n_permutations"]
    for measure, _ in states(result, settings):
        if measure is None or measure["pvalue"] is None:
            continue
        level = measure["level"]
        n_as_large = round(measure["pvalue"] * (n + 1)) - 1
        ends = binomtest(n_as_large, n).proportion_ci(0.95)
        if ends.low < level < ends.high:
            yield say(
                "unsettled",
                name=attribute["name"],
                metric=measure["title"],
                pvalue=f"{measure['pvalue']:.3f}",
                n=whole(n),
                level=f"{level:.3f}",
            )


#: What is counted on each scale, and the metrics beside MCDP(0) that this moves.
_COUNTED = {
    "probability": ("scores", "ABCC and the difference of mean scores"),
    "rank": ("scores", "ABCC"),
    "real": ("predictions and errors", "the Wasserstein distance and means"),
}


def tell_independence(settings: Summary) -> str:
    """Say what is assumed independent: rows, or people with all their rows."""
    of_people = settings["n_people"] is not None
    return say("independent people" if of_people else "independent rows")


def methods(summary: Summary) -> Iterator[str]:
    """Say in short how intervals and tests are computed."""
    settings = summary["settings"]
    yield tell_independence(settings)
    yield say("intervals", level=100 * settings["confidence_level"])
    if n := settings["n_permutations"]:
        units = "rows" if settings["n_people"] is None else "people"
        yield say("permutations", units=units, n=whole(n))
        yield say("small p-values")
    results = [result for named in summary["attributes"] for result in named["results"]]
    measures = [measure for result in results for measure in result["measures"]]
    resampled = dict.fromkeys(
        quote(m["title"])
        for m in measures
        if m["lower"] is not None and not MEASURES[m["key"]].bounded
    )
    if resampled:
        n_resamples = whole(settings["n_resamples"])
        yield say("resampled", names=listed([*resampled]), n=n_resamples)
    groups = [group for result in results for group in result["groups"]]
    tested = "differs", "accuracy_differs"
    if any(group.get(name) is not None for group in groups for name in tested):
        yield say("differs from the rest")
    if {"max_gap", "cvar_fairness"} & {measure["key"] for measure in measures}:
        yield say("average group")


def advice(summary: Summary) -> Iterator[tuple[str, str]]:
    """Return advice for analysts about some cautions, with code."""
    names = [attribute["name"] for attribute in summary["attributes"]]
    small = [g for a in summary["attributes"] for g in a["groups"] if g["n"] < _SMALL]
    if small:
        code = f'encode_groups(..., rare="merge", min_group_size={_SMALL})'
        yield "Join small groups", code
        yield "The same on the command line", f"--rare merge --min-group-size {_SMALL}"
    crossed = CROSS.join(names[:-1]) == names[-1]
    if len(names) > 2 and not crossed:
        yield "Compare groups of several attributes together", "intersection=True"
    elif small and crossed and _may_be_pooled(summary["settings"]):
        yield "Pool the rates of small groups of both attributes", "intersection=True"
    untested = [
        measure
        for attribute in summary["attributes"]
        for result in attribute["results"]
        for measure in result["measures"]
        if measure["pvalue"] is None and measure["value"] is not None
    ]
    if not summary["settings"]["n_permutations"]:
        yield "Test the differences", "n_permutations=199"
    elif untested and summary["settings"]["metrics"] is None:
        yield "Test all metrics", 'metrics="all"'


def _may_be_pooled(settings: Summary) -> bool:
    """Return whether rates could be pooled, but pooling was not asked for."""
    return settings["decides"] and settings["intersection"] is None


def _describe_left_out(summary: Summary) -> Iterator[str]:
    """Say which rows are left out of all numbers, or of those of one attribute."""
    left_out, n_rows = summary["settings"]["left_out"], summary["n_rows"]
    if left_out is not None:
        n, columns = left_out["n_rows"], map(quote, left_out["columns"])
        yield say(
            "rows left out",
            rows=counted(n, "row"),
            share=percent(n / (n + n_rows)),
            columns=" or ".join(columns),
            verb=_be(n),
        )
        shares = [
            f"{percent(group['n'] / group['of'])} of {quote(group['label'])}"
            for group in left_out["groups"]
        ]
        if shares:
            yield say("groups left out of", groups=listed(shares, 12))
    for attribute in summary["attributes"]:
        name, aside, n = (attribute[k] for k in ("name", "aside", "n_missing"))
        if n:
            rows, share = counted(n, "row"), percent(n / n_rows)
            yield say("no group", name=name, rows=rows, share=share, verb=_be(n))
        if aside:
            groups = [name_with_size(group["label"], group["n"]) for group in aside]
            yield say(
                "small groups left out",
                name=name,
                groups=counted(len(aside), "group"),
                rows=counted(attribute["min_group_size"], "row"),
                verb=_be(len(aside)),
                labels=listed(groups),
                share=percent(sum(group["n"] for group in aside) / n_rows),
            )
        measures = (m for result in attribute["results"] for m in result["measures"])
        for measure in measures:
            if len(attribute["groups"]) > 1 and measure["left_out"]:
                cells = listed([name_cell_with_size(c) for c in measure["left_out"]])
                rows = counted(attribute["min_group_size"], "row")
                yield say("few of a label", name=name, rows=rows, cells=cells)


def _be(n: int) -> str:
    """Write "is" or "are", by the number of things."""
    return "is" if n == 1 else "are"


def _round_up(value: float) -> str:
    """Write a bound with one digit, rounded up."""
    power = math.floor(math.log10(value)) if value else 0
    most = math.ceil(value / 10.0**power - 1e-9) * 10.0**power
    return f"{most:,.{max(-power, 0)}f}"


def _describe_few_rows(attribute: Summary, compares_numbers: bool) -> Iterator[str]:
    """Say which groups are left out, and how uncertain rates of small groups are."""
    name, groups, aside = (attribute[key] for key in ("name", "groups", "aside"))
    if len(groups) < 2:
        yield say(
            "nothing compared",
            name=name,
            groups=counted(len(groups), "group"),
            n=len(groups) + len(aside),
            verb="has" if len(groups) == 1 else "have",
            rows=counted(attribute["min_group_size"], "row"),
        )
    sizes = [(g.get("n_people", g["n"]), g["label"]) for g in groups]
    small = sorted((n, name_with_size(label, n)) for n, label in sizes if n < _SMALL)
    if not small or len(groups) < 2:
        return
    texts = [
        say(
            "small groups",
            name=name,
            n=len(small),
            groups=len(groups),
            verb="has" if len(small) == 1 else "have",
            rows=f"{_SMALL} {'people' if 'n_people' in groups[0] else 'rows'}",
            labels=listed([text for _, text in small]),
        )
    ]
    if not compares_numbers:
        texts.append(say("small rates", error=whole(98 / small[0][0] ** 0.5)))
    yield " ".join([*texts, say("join small groups")])


def _describe_undefined(
    summary: Summary, attribute: Summary, result: Summary
) -> Iterator[str]:
    """Say which metrics are undefined, and which have limits."""
    if len(attribute["groups"]) < 2:
        return
    model = f", {result['model']}" if len(summary["models"]) > 1 else ""
    for measure in result["measures"]:
        where = f"{attribute['name']}{model}: {measure['title']}"
        if measure["value"] is None:
            finding = measure["finding"]
            finding = f"{finding[0].lower()}{finding[1:]}"
            yield say("metric undefined", where=where, finding=finding)
        elif measure["note"]:
            yield say("metric note", where=where, note=measure["note"])


def describe(summary: Summary, attribute: Summary, measure: Summary) -> str:
    """Describe the value of a metric in a sentence without full stop, chance aside."""
    key, place, settings = measure["key"], measure["attained"], summary["settings"]
    labels = [group["label"] for group in attribute["groups"]]
    if measure["value"] is None:
        return _reason(attribute, measure)
    metric = MEASURES[key]
    first, second = (quote_group(labels, group) for group in place["pair"])
    ours, theirs = (
        "" if x is None else metric.format_group(x) for x in place["figures"]
    )
    values = {"first": first, "second": second, "ours": ours, "theirs": theirs}
    values |= {"value": metric.unit(measure["value"]), "score": number(place["score"])}
    values |= {"label": quote(settings["positive label"] or "")}
    name = key if key in SENTENCES else "other"
    if key in _MORE:
        values |= _MORE[key](summary, measure, values)
    if key == "max_gap" and math.isclose(measure["value"], 0.0, abs_tol=1e-9):
        name = "max_gap of none"
    if key == "cvar_fairness" and place["n_tail"] == 1:
        name = "cvar_fairness of one"
    for kind, said in (
        (" of ranks", settings["scale"] == "rank"),
        (" of numbers", settings["scale"] == "real"),
        (" decided", settings["decided"]),
    ):
        if said and key + kind in SENTENCES:
            name = key + kind
    return say(name, title=metric.title, **values)


def _average_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Say whether a group is above or below the average."""
    ours, theirs = measure["attained"]["figures"]
    return {"side": "above" if ours > theirs else "below"}


def _tail_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Say how many groups, furthest from the average, are in the tail."""
    n_tail, n_groups = measure["attained"]["n_tail"], measure["n_groups"]
    return {"share": percent(1 - ALPHA), "n_tail": n_tail, "n_groups": n_groups}


def _share_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Turn shares of scores up to a score into shares above the score."""
    attained = measure["attained"]
    ours, theirs = attained["figures"]
    shares = (values["second"], 1 - theirs), (values["first"], 1 - ours)
    (low, less), (high, more) = sorted(shares, key=lambda share: share[1])
    compares_numbers = summary["settings"]["scale"] == "real"
    score = format_in_unit(attained["score"]) if compares_numbers else values["score"]
    more, less = percent(more), percent(less)
    at = attained["score_of_rank"]
    values["of_score"] = "" if at is None else f" (a score above {at:,.6g})"
    return {"low": low, "less": less, "high": high, "more": more, "score": score}


def _window_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Write the length of a window of thresholds."""
    return {"length": 2 * EPSILON, "share_of_all": percent(2 * EPSILON)}


def _overlap_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Write the share of histograms that overlaps, 1 - MADD / 2."""
    return {"overlap": percent(1 - measure["value"] / 2)}


def _excess_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Say how many more or fewer outcomes groups have than scores predict."""
    ours, theirs = (
        f"{points(abs(excess))} {'more' if excess >= 0 else 'fewer'}"
        for excess in measure["attained"]["figures"]
    )
    return {"ours": ours, "theirs": theirs}


def _error_words(summary: Summary, measure: Summary, values: Summary) -> Summary:
    """Count the people with a true label in two groups, and name the prediction."""
    classes, attained = summary["classes"], measure["attained"]
    true, predicted = attained["classes"]
    people, others = (
        f"{'people' if summary['settings']['sample_weight'] else whole(size)} in "
        f"{'all groups' if group is None else values[name]}"
        for name, group, size in zip(
            ("first", "second"), attained["pair"], attained["sizes"], strict=True
        )
    )
    label = quote(summary["true_labels"][true])
    labels = {"true": label, "label": quote(classes[predicted])}
    return {"people": people, "others": others, **labels}


#: What the sentences of some metrics have beside groups, figures and value.
_MORE: dict[str, Callable[[Summary, Summary, Summary], Summary]] = {
    "max_gap": _average_words,
    "cvar_fairness": _tail_words,
    "mcdp": _share_words,
    "mcdp_epsilon": _window_words,
    "madd": _overlap_words,
    "equalized_odds_difference": _error_words,
    "calibration_gap": _excess_words,
}


def _reason(attribute: Summary, measure: Summary) -> str:
    """Say why a metric is undefined."""
    rows = counted(attribute["min_group_size"], "row")
    labels = [group["label"] for group in attribute["groups"]]
    if measure["left_out"]:
        return say("undefined few labels", rows=rows)
    if not labels:
        return say("undefined no group", rows=rows)
    return say("undefined one group", rows=rows, group=quote(labels[0]))


def name_cell_with_size(cell: Summary) -> str:
    """Name a group with a true label, and its number of rows of this label."""
    return (
        f"{quote(cell['group'])} with the true label "
        f"{quote(cell['true_label'])} ({whole(cell['n'])})"
    )


def note(measure: Summary) -> Iterator[str]:
    """Describe limits of a metric, such as a search that ended early."""
    if measure["searched"] is not None:
        lower, upper = map(percent, measure["searched"])
        yield say("search ended", lower=lower, upper=upper, seconds=DCP_SECONDS)
    if measure["without_test"]:
        treated = "which are left out" if measure["pairs"] else "which count as large"
        if measure["pvalue"] is None:
            treated = "too many for a test"
        share = percent(measure["without_test"])
        yield say("undefined shuffles", share=share, treated=treated)
    defined = measure["value"] is not None
    if measure["key"] == "dcp" and defined and measure["lower"] is None:
        yield say("search too long")
    if defined and MEASURES[measure["key"]].loose:
        yield say("loose")


def add_chance(
    summary: Summary, attribute: Summary, measure: Summary, is_found: bool
) -> Iterator[str]:
    """Say whether a finding may be chance, and which pairs of groups differ.

    If the verdict on a question is that groups differ, no other metric of the question
    doubts this.
    """
    yield f"{measure['finding']}."
    pvalue = measure["pvalue"]
    if pvalue is None:
        return
    if (pair := _other_pair(attribute, measure)) is not None:
        values = {"pair": _pair_text(pair), "cell": _describe_cell(summary, pair)}
        gap = MEASURES[measure["key"]].text_of(pair["gap"])
        yield say("largest beside chance", gap=gap, **values)
    if pvalue > LEVEL:
        above = measure["lower"] is not None and measure["lower"] > 0
        doubt = "less clear" if is_found else "may be noise"
        state = "interval above, test not" if above else doubt
        several = measure["n_groups"] > 2 or measure["question"] == "errors"
        as_much = "as much of several" if several and measure["pairs"] else "as much"
        yield say(state, share=percent(pvalue), as_much=say(as_much))
    elif len(attribute["groups"]) > 2 and measure["pairs"]:
        yield _pairs_differ(measure)


def _describe_cell(summary: Summary, pair: Summary) -> str:
    """Name the people among whom error rates of two groups are compared."""
    if pair["classes"] is None:
        return ""
    (true, predicted), classes = pair["classes"], summary["classes"]
    label = quote(summary["true_labels"][true])
    among = f" among people with the true label {label}"
    if len(classes) == 2:
        return among
    return f"{among} in how often {quote(classes[predicted])} is predicted"


def describe_ratios(
    kind: str, rows: list[dict[str, Any]], level: float
) -> Iterator[str]:
    """Describe a table of impact ratios, without a verdict."""
    what = f"{kind} rate"
    compared = [row for row in rows if row["impact_ratio"] is not None]
    if compared:
        yield _highest_and_smallest(what, compared, level)
    else:
        yield say("no ratios", what=what)
    excluded = [quote(row["label"]) for row in rows if row["status"] == "excluded"]
    if excluded:
        yield say("excluded", groups=listed(excluded))
    unknown = sum(row["n"] for row in rows if row["status"] == "unknown")
    if unknown:
        yield say("unknown", rows=counted(unknown, "row"))


def _highest_and_smallest(
    what: str, compared: list[dict[str, Any]], level: float
) -> str:
    """Name the group with the highest rate, and the group with the smallest ratio."""
    low = min(compared, key=lambda row: row["impact_ratio"])
    high = next(row for row in compared if row["status"] == "highest")
    if low["impact_ratio"] == 1:
        return say("same rates", what=what, rate=percent(high["rate"]))
    return say(
        "smallest ratio",
        what=what,
        high=quote(high["label"]),
        highest=percent(high["rate"]),
        ratio=number(low["impact_ratio"]),
        low=quote(low["label"]),
        rate=percent(low["rate"]),
        level=100 * level,
        lower=number(low["lower"]),
        upper=number(low["upper"]),
    )


def describe_strata(table: Summary, title: str) -> Iterator[str]:
    """Describe a table of strata, and say what the table leaves out."""
    if any(row["value"] is not None for row in table["rows"]):
        n, rows = whole(table["n_strata"]), counted(table["n_rows"], "row")
        yield say("strata", names=table["names"], n=n, rows=rows)
    else:
        yield say("no strata")
    left_out = table["left_out"]
    for key in dict.fromkeys(stratum["metric"] for stratum in left_out):
        reasons = [
            f"{quote(stratum['label'])} ({stratum['reason']})"
            for stratum in left_out
            if stratum["metric"] == key
        ]
        of_metric = "" if key is None else f" of {title}"
        yield say("strata left out", metric=of_metric, reasons=listed(reasons))


def reason_left_out(stratum: Summary, least: int) -> str:
    """Say why a stratum is left out, altogether or in part."""
    if stratum["n_rows"] is not None:
        return say("few rows", rows=counted(stratum["n_rows"], "row"))
    if stratum["compared"] is not None:
        rows, compared = counted(least, "row"), stratum["compared"]
        if not compared:
            return say("no large group", rows=rows)
        return say("one large group", group=quote(compared[0]), rows=rows)
    lacking = [name_with_size(group["label"], group["n"]) for group in stratum["aside"]]
    lacking += [name_cell_with_size(cell) for cell in stratum["cells"]]
    return say("groups lacking", groups=listed(lacking))
