"""What the numbers of a report say: sentences, the verdict and cautions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from skfair._utils._text import (
    counted,
    in_quotes,
    listed,
    number,
    percent,
    quoted,
    whole,
    with_size,
)
from skfair.groups import CROSS, MISSING_LABEL
from skfair.report._inputs import LEVEL
from skfair.report._metrics import (
    DCP_SECONDS,
    MEASURES,
    RATIO,
    amount,
    amounts,
    questions_of,
    word_of,
)

Summary = dict[str, Any]

#: What the verdict says of attributes by which no difference is beyond chance.
OF_ATTRIBUTES = {
    "unclear": "By {names}, there are signs of a difference, and the evidence is weak.",
    "may be chance": "By {names}, no difference beyond chance was found, which does "
    "not show that there is none.",
    "not tested": "By {names}, differences are measured, and not tested.",
    "not computable": "By {names}, nothing can be said.",
}
#: What the verdict says of differences beside the limit.
BESIDE_LIMIT = {
    "within": "The {differences} in {names} {are} at most {limit} ({level} "
    "confidence).",
    "above": "The {differences} in {names} {are} above the limit {limit}.",
    "open": "There is too little data to say whether the {differences} in {names} "
    "{are} at most {limit}.",
}
#: What it means on each scale that numbers were counted in intervals.
COUNTED_IN_INTERVALS = {
    "probability": "Scores were counted in narrow intervals, and those of one count as "
    "equal. MCDP(0) is within {of_mcdp}, ABCC and the difference of mean scores are "
    "within {length} of those of the single scores; the other numbers that depend on "
    "scores are close to theirs.",
    "rank": "Scores were counted in narrow intervals, and those of one count as equal. "
    "MCDP(0) is within {of_mcdp}, ABCC is within {length} of those of the single "
    "scores; the other numbers that depend on scores are close to theirs.",
    "real": "Predictions and errors that are close were joined, and count as equal. "
    "MCDP(0) is within {of_mcdp}, the Wasserstein distance and the differences of "
    "means are within {length} of those of the single numbers; the other numbers are "
    "close to theirs.",
}
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


def in_words(summary: Summary) -> Summary:
    """Add to a summary the sentences that its numbers and names give."""
    for attribute in summary["attributes"]:
        for result in attribute["results"]:
            _put_result(summary, attribute, result)
    texts = list(dict.fromkeys(cautions(summary)))  # each once
    return {**summary, "verdict": verdict(summary), "cautions": texts}


def _put_result(summary: Summary, attribute: Summary, result: Summary) -> None:
    """Put the metrics of one model and attribute, and its tables, into words."""
    settings = summary["settings"]
    titles = {key: metric.title for key, metric in MEASURES.items()}
    answers = zip(questions_of(settings), states(result, settings), strict=True)
    beyond = {question for question, (_, state) in answers if state == "beyond chance"}
    for measure in result["measures"]:
        measure["title"] = titles[measure["key"]]
        measure["note"] = " ".join(note(measure))
        measure["finding"] = describe(summary, attribute, measure)
        measure["tested"] = ""
        if (pair := _other_pair(attribute, measure)) is not None:
            gap = amount(pair["gap"], measure["key"])
            measure["tested"] = f"{_pair_text(pair)}: {gap}"
        sentences = with_chance(
            summary, attribute, measure, measure["question"] in beyond
        )
        measure["sentence"] = " ".join(sentences)
    for table in result["impact_ratios"] or ():
        arguments = table["kind"], table["rows"], settings["confidence_level"]
        table["sentence"] = " ".join(describe_ratios(*arguments))
    if (table := result["strata"]) is not None:
        for row in table["rows"]:
            row |= {"title": titles[row["key"]], "tested": ""}
            if (pair := row["pair"]) is not None:
                gap = amount(pair["gap"], row["key"])
                row["tested"] = f"{_pair_text(pair)} in {pair['stratum']}: {gap}"
        for stratum in table["left_out"]:
            stratum["reason"] = reason_left_out(stratum, attribute["min_group_size"])
        title = titles["equalized_odds_difference"]
        table["sentence"] = " ".join(describe_strata(table, title))


def verdict(summary: Summary) -> Summary:
    """Draw the conclusions of a summary.

    "limits" holds each metric that has a limit of its own, and whether it is kept;
    "leads" holds a text for each model, "glance" the metrics that answer each question
    by attribute and model, "points" a sentence on each of these metrics.
    """
    settings, limits = summary["settings"], [*_beside_limits(summary)]
    leads = [
        {
            "model": model["name"],
            "text": " ".join(_lead(summary, i)),
            "further": []
            if model["alike"]
            else [
                *_calibration(summary, i),
                *_within_limit(summary, i),
                *(one["text"] for one in limits if one["position"] == i),
            ],
        }
        for i, model in enumerate(summary["models"])
    ]
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
        "leads": leads,
        "glance": glance,
        "points": points,
        "limits": limits,
        "tests": _count_tests(summary),
        "cannot": list(_CANNOT_SHOW),
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
    return [(measure, _state(measure, largest, result)) for measure in chosen]


def _primary(result: Summary, question: str) -> list[Summary]:
    """Metrics that may answer a question, the first of them first."""
    ranks = {
        key: metric.rank
        for key, metric in MEASURES.items()
        if metric.question == question and metric.rank is not None
    }
    measures = [measure for measure in result["measures"] if measure["key"] in ranks]
    return sorted(measures, key=lambda measure: ranks[measure["key"]])


def _state(measure: Summary | None, largest: float, result: Summary) -> str:
    """Compare a p-value with the largest that is small after adjustment."""
    if measure is None:
        return "not asked"
    if measure["value"] is None:
        return "not computable"
    if measure["pvalue"] is None:
        return "not tested"
    if measure["pvalue"] <= largest:
        return "beyond chance"
    return "unclear" if _signs(measure, result) else "may be chance"


def _signs(measure: Summary, result: Summary) -> list[str]:
    """Say what speaks for a difference that is not beyond chance for all questions."""
    signs, lower = [], (measure["decided"] or measure)["lower"]
    if measure["pvalue"] <= LEVEL:
        pvalue = f"{measure['pvalue']:.2g}"
        signs.append(f"the p-value, {pvalue}, is small for this question alone")
    if lower is not None and lower > 0:
        signs.append("the interval is above 0")
    groups = result.get("groups") or ()
    differing = [in_quotes(g["label"]) for g in groups if g.get("differs")]
    if measure["question"] == "decisions" and differing:
        verb = "differs" if len(differing) == 1 else "differ"
        signs.append(f"{listed(differing)} {verb} from the rest")
    return signs


def _lead(summary: Summary, model: int) -> Iterator[str]:
    """Say in a few sentences by which attributes a model differs."""
    nothing = _nothing_to_compare(summary, model)
    if nothing is not None:
        yield nothing
    if summary["models"][model]["alike"]:
        return
    settings, differing = summary["settings"], dict[str, list[str]]()
    others: dict[str, list[str]] = {state: [] for state in OF_ATTRIBUTES}
    # Where tests were made, a metric that has none leaves its question open.
    unsaid = {"not tested"} if settings["n_permutations"] else set()
    for attribute in summary["attributes"]:
        answers = [state for _, state in states(attribute["results"][model], settings)]
        beyond = [
            word_of(question, settings)
            for question, state in zip(questions_of(settings), answers, strict=True)
            if state == "beyond chance"
        ]
        if beyond:
            differing.setdefault(listed(beyond), []).append(attribute["name"])
            continue
        present = (state for state in OF_ATTRIBUTES if state in {*answers} - unsaid)
        others[next(present, "not computable")].append(attribute["name"])
    if differing:
        parts = (f"{what} differ by {listed(n)}" for what, n in differing.items())
        text = _capitalised("; ".join(parts))
        yield f"{text}. Chance alone does not explain this."
    for state, names in others.items():
        if names:
            yield OF_ATTRIBUTES[state].format(names=listed(names))


def _nothing_to_compare(summary: Summary, model: int) -> str | None:
    """Say that all scores or true labels are alike, if they are."""
    rows = counted(summary["n_rows"], "row")
    real = summary["settings"]["scale"] == "real"
    if summary["models"][model]["alike"]:
        what = "prediction" if real else "score"
        if not summary["models"][model]["scores"]:
            what = "decision"
        return f"There is nothing to compare: all {rows} have the same {what}."
    if summary["labels_alike"]:
        same = f"all {rows} have the same true {'number' if real else 'label'}"
        return f"There is nothing to compare predictions with: {same}."
    return None


def _capitalised(text: str) -> str:
    """Begin a text with a capital letter."""
    return f"{text[0].upper()}{text[1:]}"


def _calibration(summary: Summary, model: int) -> Iterator[str]:
    """Say by which attributes groups with the same scores have other outcomes."""
    names = [
        attribute["name"]
        for attribute in summary["attributes"]
        for measure in attribute["results"][model]["measures"]
        if measure["question"] == "calibration"
        and measure["pvalue"] is not None
        and measure["pvalue"] <= LEVEL
    ]
    if names:
        yield (
            f"By {listed(names)}, groups with the same scores are not truly positive "
            "equally often (calibration gap, a test beside those of the questions)."
        )


def _within_limit(summary: Summary, model: int) -> Iterator[str]:
    """Say which differences are certified to be within the limit, above, or neither."""
    settings = summary["settings"]
    limit, questions = settings["limit"], questions_of(settings)
    level = f"{100 * settings['confidence_level']:g}%"
    if not isinstance(limit, float):
        return
    by_state: dict[str, dict[str, list[str]]] = {state: {} for state in BESIDE_LIMIT}
    for attribute in summary["attributes"]:
        answers = states(attribute["results"][model], settings)
        for question, (measure, _) in zip(questions, answers, strict=True):
            if measure is not None and measure["value"] is not None:
                of_state = by_state[_beside_limit(measure, limit)]
                of_state.setdefault(question, []).append(attribute["name"])
    for state, message in BESIDE_LIMIT.items():
        names = [
            f"{word_of(question, settings)} by {listed(names)}"
            for question, names in by_state[state].items()
        ]
        if not names:
            continue
        several = sum(map(len, by_state[state].values())) > 1
        yield message.format(
            differences="differences" if several else "difference",
            are="are" if several else "is",
            names=listed(names),
            limit=f"{limit:g}",
            level=level,
        )


def _beside_limit(measure: Summary, limit: float) -> str:
    """Whether a metric is certified to be within a limit, above it, or neither."""
    if measure["certified"] is not None and measure["certified"] <= limit:
        return "within"
    above = measure["lower"] is not None and measure["lower"] > limit
    return "above" if above else "open"


def _beside_limits(summary: Summary) -> Iterator[Summary]:
    """Compare each metric that has a limit of its own with it, by attribute and model.

    A metric that is undefined or not computed does not keep its limit.
    """
    limits = summary["settings"]["limit"]
    for attribute in summary["attributes"] if isinstance(limits, dict) else ():
        for position, result in enumerate(attribute["results"]):
            measures = {measure["key"]: measure for measure in result["measures"]}
            for key, limit in limits.items():
                if key == RATIO:
                    kept, text = _ratio_beside(result["smallest_ratio"], limit, summary)
                else:
                    kept, text = _value_beside(measures.get(key), key, limit)
                text = f"By {attribute['name']}, {text}"
                yield {"metric": key, "position": position, "kept": kept, "text": text}


def _ratio_beside(
    ratio: Summary | None, limit: float, summary: Summary
) -> tuple[bool, str]:
    """Say whether the smallest impact ratio is at least a limit."""
    if ratio is None:
        return False, f"there is no impact ratio to compare with the limit {limit:g}."
    low, high = ratio["low"], ratio["high"]
    level = 100 * summary["settings"]["confidence_level"]
    kept = low["impact_ratio"] >= limit
    text = (
        f"the {ratio['kind']} rate of {in_quotes(low['label'])}, "
        f"{percent(low['rate'])}, is {number(low['impact_ratio'])} times the highest, "
        f"{percent(high['rate'])} of {in_quotes(high['label'])} ({level:g}% interval "
        f"{number(low['lower'])} to {number(low['upper'])}): "
        f"{'at least' if kept else 'below'} the limit {limit:g}."
    )
    return kept, text + _doubt(low["lower"], low["upper"], limit)


def _value_beside(measure: Summary | None, key: str, limit: float) -> tuple[bool, str]:
    """Say whether a metric is at most a limit."""
    if measure is None or measure["value"] is None:
        return False, f"{key} was not computed, so not compared with {limit:g}."
    kept, ends = measure["value"] <= limit, ""
    if measure["lower"] is not None:
        ends = f" ({amounts(measure['lower'], measure['upper'], key)})"
    text = (
        f"{MEASURES[key].title} is {amount(measure['value'], key)}{ends}: "
        f"{'at most' if kept else 'above'} the limit {limit:g}."
    )
    return kept, text + _doubt(measure["lower"], measure["upper"], limit)


def _doubt(lower: float | None, upper: float | None, limit: float) -> str:
    """Say that an interval has values on both sides of a limit."""
    if lower is None or upper is None or not lower < limit < upper:
        return ""
    return " The interval contains the limit, so these rows cannot tell for sure."


def _point(
    summary: Summary, attribute: Summary, result: Summary, measure: Summary, state: str
) -> Summary:
    """Say in a sentence what the metric that answers a question has found.

    People whose group is missing make no headline.
    """
    settings = summary["settings"]
    named = {"question": measure["question"], "state": state}
    labels = [group["label"] for group in attribute["groups"]]
    shown = measure | (measure["decided"] or {})
    pair = [labels[i] for i in shown["attained"]["pair"] if i is not None and labels]
    if measure["value"] is not None and any(map(is_missing, pair)):
        return named | {"text": _without_missing(measure)}
    details = [*_details(attribute, shown, settings, state)]
    if state == "unclear":
        details += _signs(measure, result)
    text = describe(summary, attribute, shown)
    text += f" ({'; '.join(details)})" if details else ""
    text = f"{text}."
    if state == "beyond chance" and measure["n_groups"] > 2 and measure["pairs"]:
        text = f"{text} Statistically significant: {_pairs_text(measure['pairs'])}."
    return named | {"text": text}


def is_missing(label: str | None) -> bool:
    """Whether a label is that of people whose group is missing."""
    return label is not None and MISSING_LABEL in label.split(", ")


def _without_missing(measure: Summary) -> str:
    """Say which groups differ most, where a missing group differs more."""
    gaps = [pair for pair in measure["pairs"] if not any(map(is_missing, pair["pair"]))]
    unknown = "The largest difference is that of people whose group is missing, below."
    if not gaps:
        return f"No two known groups differ significantly. {unknown}"
    gap = MEASURES[measure["key"]].text_of(gaps[0]["gap"])
    return f"{_pair_text(gaps[0])} differ by {gap}. {unknown}"


def _details(
    attribute: Summary, measure: Summary, settings: Summary, state: str
) -> Iterator[str]:
    """Write the interval of a metric, and its value by chance.

    A value of 0, which a test has rejected, is no part of an interval that reaches it:
    of 0 the whole error is on one side, of larger values half on each.
    """
    metric = MEASURES[measure["key"]]
    if measure["lower"] is not None:
        low, high = metric.unit(measure["lower"]), metric.unit(measure["upper"])
        share = f"{100 * settings['confidence_level']:g}"
        if state == "beyond chance" and low == metric.unit(0.0):
            yield f"{share}% interval above 0, up to {high}"
        else:
            yield f"{share}% interval {low} to {high}"
    if measure["null_mean"] is not None:
        chance = f"chance alone gives {metric.chance_text(measure['null_mean'])}"
        if (pair := _other_pair(attribute, measure)) is not None:
            gap = f"{_pair_text(pair)} differ by {metric.text_of(pair['gap'])}"
            chance = f"beside what chance gives each pair, {gap} most, where {chance}"
        yield chance


def _other_pair(attribute: Summary, measure: Summary) -> Summary | None:
    """Return the pair that decides a test, if it is not the one that was found."""
    if not measure["pairs"]:
        return None
    first, value = measure["pairs"][0], measure["value"]
    labels = [group["label"] for group in attribute["groups"]]
    pair = [None if i is None else labels[i] for i in measure["attained"]["pair"]]
    close = math.isclose(first["gap"], value, rel_tol=1e-9, abs_tol=1e-9)
    return None if close and {*pair} == {*first["pair"]} else first


def _pair_text(pair: Summary) -> str:
    """Name two groups, or a group and everyone."""
    first, second = pair["pair"]
    other = "everyone" if second is None else in_quotes(second)
    return f"{in_quotes(first)} and {other}"


def _pairs_text(pairs: Sequence[Summary]) -> str:
    """List pairs of groups, each once."""
    if pairs[0]["pair"][1] is None:
        groups = dict.fromkeys(in_quotes(pair["pair"][0]) for pair in pairs)
        return f"{listed([*groups])}, each beside everyone"
    names = [*dict.fromkeys(map(_pair_text, pairs))]
    more = [counted(len(names) - 3, "more pair")] if len(names) > 3 else []
    return "; ".join(names[:3] + more)


def _count_tests(summary: Summary) -> Summary:
    """Count the p-values of a report, and those that are small."""
    results = [result for named in summary["attributes"] for result in named["results"]]
    measures = [measure for result in results for measure in result["measures"]]
    pvalues = [m["pvalue"] for m in measures if m["pvalue"] is not None]
    return {
        "questions": _questions_tested(summary, results),
        "n": len(pvalues),
        "small": sum(pvalue <= LEVEL for pvalue in pvalues),
        "by_chance": LEVEL * len(pvalues),
        "level": LEVEL,
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
    """Say what limits the numbers of a report."""
    settings = summary["settings"]
    of_numbers = settings["scale"] == "real"
    yield from _about_left_out(summary)
    yield from map(_capitalised, settings["notes"])
    for attribute in summary["attributes"]:
        yield from _about_groups(attribute, of_numbers)
        for result in attribute["results"]:
            yield from _about_measures(summary, attribute, result)
    names = [attribute["name"] for attribute in summary["attributes"]]
    if len(names) > 2 and CROSS.join(names[:-1]) != names[-1]:
        yield (
            "Groups of several attributes together are not compared here; "
            "intersection=True compares them."
        )
    if settings["sample_weight"]:
        what = "means" if of_numbers or not settings["decides"] else "rates"
        text = f"Rows are weighted. Group sizes count rows, {what} and metrics add up "
        untested = ", and which groups differ from the others is not tested"
        yield f"{text}weights{untested if what == 'rates' else ''}."
    if not settings["n_permutations"]:
        yield (
            "To save time, no test was made (n_permutations=0): there are no p-values, "
            "and intervals alone say how much may be noise."
        )
    yield from _about_scores(settings)


def _about_left_out(summary: Summary) -> Iterator[str]:
    """Say which rows are left out of every number, or of those of an attribute."""
    left_out, n_rows = summary["settings"]["left_out"], summary["n_rows"]
    if left_out is not None:
        n, columns = left_out["n_rows"], map(in_quotes, left_out["columns"])
        shares = [
            f"{in_quotes(group['label'])} {percent(group['n'] / group['of'])}"
            for group in left_out["groups"]
        ]
        of_groups = f" Of each group these are: {listed(shares, 12)}." if shares else ""
        yield (
            f"{counted(n, 'row')} ({percent(n / (n + n_rows))}) without a value of "
            f"{' or '.join(columns)} {_be(n)} left out of every number.{of_groups}"
        )
    for attribute in summary["attributes"]:
        name, aside, n = (attribute[k] for k in ("name", "aside", "n_missing"))
        if n:
            share = percent(n / n_rows)
            rows = f"{counted(n, 'row')} ({share}) without a group"
            yield f"{name}: {rows} {_be(n)} left out."
        if aside:
            rows = counted(attribute["min_group_size"], "row")
            groups = [with_size(group["label"], group["n"]) for group in aside]
            share = percent(sum(group["n"] for group in aside) / n_rows)
            yield (
                f"{name}: {counted(len(aside), 'group')} with fewer than {rows} cannot "
                f"be compared and {_be(len(aside))} left out: {listed(groups)}, "
                f"together {share} of the rows."
            )
        measures = (m for result in attribute["results"] for m in result["measures"])
        for measure in measures:
            if len(attribute["groups"]) > 1 and measure["left_out"]:
                yield _about_labels(attribute, measure)


def _be(n: int) -> str:
    """Write the verb of a number of things."""
    return "is" if n == 1 else "are"


def _about_scores(settings: Summary) -> Iterator[str]:
    """Say that scores were counted in intervals, or are no probabilities."""
    if settings["scale"] == "rank":
        yield (
            "The scores need not be probabilities. Thresholds, windows and bins are of "
            "their ranks among everyone, from 0 for the lowest to 1 for the highest; "
            "within strata, among everyone in the stratum. Log loss, calibration and "
            "mean scores need probabilities, and are left out."
        )
    if settings["scale"] == "rank" and not settings["decides"]:
        yield (
            "Decisions and their errors are left out: neither predicted labels nor a "
            "threshold of ranks were given."
        )
    of_mcdp, length = map(_at_most, settings["blur"])
    if settings["blur"][1]:
        message = COUNTED_IN_INTERVALS[settings["scale"]]
        yield message.format(of_mcdp=of_mcdp, length=length)


def _at_most(value: float) -> str:
    """Write a bound with one digit, rounded up."""
    power = math.floor(math.log10(value)) if value else 0
    most = math.ceil(value / 10.0**power - 1e-9) * 10.0**power
    return f"{most:,.{max(-power, 0)}f}"


def _about_groups(attribute: Summary, of_numbers: bool) -> Iterator[str]:
    """Say which groups are left out, and how uncertain the rates of small ones are."""
    name, groups, aside = (attribute[key] for key in ("name", "groups", "aside"))
    rows = counted(attribute["min_group_size"], "row")
    if len(groups) < 2:
        verb = "has" if len(groups) == 1 else "have"
        yield (
            f"{name}: nothing can be compared, since {counted(len(groups), 'group')} "
            f"of {len(groups) + len(aside)} {verb} at least {rows}."
        )
    small = sorted((g["n"], with_size(g["label"], g["n"])) for g in groups)
    small = [(n, text) for n, text in small if n < _SMALL]
    if not small or len(groups) < 2:
        return
    texts = [
        f"{name}: {len(small)} of {len(groups)} groups "
        f"{'has' if len(small) == 1 else 'have'} fewer than {_SMALL} rows: "
        f"{listed([text for _, text in small])}."
    ]
    if not of_numbers:
        error = whole(98 / small[0][0] ** 0.5)
        texts.append(
            f"A rate in the smallest is uncertain by up to {error} percentage points "
            "either way, and the largest difference tends to be found where groups are "
            "small."
        )
    texts.append(
        f'encode_groups(..., rare="merge", min_group_size={_SMALL}) joins such groups, '
        f"on the command line --rare merge --min-group-size {_SMALL}."
    )
    yield " ".join(texts)


def _about_measures(
    summary: Summary, attribute: Summary, result: Summary
) -> Iterator[str]:
    if len(attribute["groups"]) < 2:
        return
    model = f", {result['model']}" if len(summary["models"]) > 1 else ""
    for measure in result["measures"]:
        where = f"{attribute['name']}{model}: {measure['title']}"
        if measure["value"] is None:
            finding = measure["finding"]
            yield f"{where} {finding[0].lower()}{finding[1:]}."
        elif measure["note"]:
            yield f"{where}: {measure['note']}"


def _about_labels(attribute: Summary, measure: Summary) -> str:
    """Name the groups that have too few rows of a true label to have error rates."""
    rows = counted(attribute["min_group_size"], "row")
    names = listed([with_rows_of_label(cell) for cell in measure["left_out"]])
    return (
        f"{attribute['name']}: groups with fewer than {rows} of a true label are left "
        f"out of “{measure['title']}” among these rows: {names}."
    )


def describe(summary: Summary, attribute: Summary, measure: Summary) -> str:
    """Describe a metric without regard to chance, in a sentence without full stop."""
    if measure["value"] is None:
        return f"Cannot be computed: {_reason(attribute, measure)}"
    metric, place = MEASURES[measure["key"]], measure["attained"]
    labels = [group["label"] for group in attribute["groups"]]
    first, second = (quoted(labels, group) for group in place["pair"])
    ours, theirs = ("" if x is None else metric.of_group(x) for x in place["figures"])
    values = {"first": first, "second": second, "ours": ours, "theirs": theirs}
    values |= {"value": metric.unit(measure["value"]), "score": number(place["score"])}
    return metric.describe(summary, measure, values)


def _reason(attribute: Summary, measure: Summary) -> str:
    """Say why a metric is undefined."""
    least = attribute["min_group_size"]
    if measure["left_out"]:
        return f"no two groups have {counted(least, 'row')} or more of one true label"
    why = _too_small([group["label"] for group in attribute["groups"]], least)
    return f"there must be at least two groups, and {why}"


def with_rows_of_label(cell: Summary) -> str:
    """Name a group with a true label, and its number of rows of it."""
    return (
        f"{in_quotes(cell['group'])} with the true label "
        f"{in_quotes(cell['true_label'])} ({whole(cell['n'])})"
    )


def _too_small(labels: Sequence[str], least: int) -> str:
    """Say that fewer than two groups have enough rows."""
    rows = counted(least, "row")
    if not labels:
        return f"no group has {rows} or more"
    return f"only {in_quotes(labels[0])} has {rows} or more"


def note(measure: Summary) -> Iterator[str]:
    """Say what limits a metric: a search that ended early, or undefined shuffles."""
    if measure["searched"] is not None:
        lower, upper = map(percent, measure["searched"])
        ended = f"the search ended after {DCP_SECONDS:g} s"
        yield f"Certified to lie between {lower} and {upper}; {ended}."
    if measure["without_test"]:
        treated = "which are left out" if measure["pairs"] else "which count as large"
        if measure["pvalue"] is None:
            treated = "too many for a test"
        share = percent(measure["without_test"])
        yield f"Undefined in {share} of shuffles, {treated}."
    defined = measure["value"] is not None
    if measure["key"] == "dcp" and defined and measure["lower"] is None:
        yield "No interval and no test: the search takes too long to repeat."
    if defined and MEASURES[measure["key"]].loose:
        yield "The interval holds for any such metric, and is loose."


def with_chance(
    summary: Summary, attribute: Summary, measure: Summary, is_beyond: bool
) -> Iterator[str]:
    """Add to a finding what chance alone gives, and which pairs of groups differ.

    Where the verdict on the question `is_beyond` chance, no other metric doubts it.
    """
    finding, pvalue = measure["finding"], measure["pvalue"]
    if pvalue is None:
        yield f"{finding}."
        return
    metric, several = MEASURES[measure["key"]], len(attribute["groups"]) > 2
    if (pair := _other_pair(attribute, measure)) is not None:
        yield f"{finding}."
        finding = (
            f"Beside what chance gives each pair of groups, {_pair_text(pair)} are "
            f"furthest apart{_of_cell(summary, pair)}: {metric.text_of(pair['gap'])}"
        )
    chance = ""
    if measure["null_mean"] is not None:
        chance = f"chance alone would give {metric.chance_text(measure['null_mean'])}"
    if pvalue > LEVEL:
        unusual = f"{percent(pvalue)} of shuffles find something as unusual"
        doubt = "This may be noise:"
        if measure["lower"] is not None and measure["lower"] > 0:
            doubt = "The evidence is weak: the interval is above 0, and"
        elif is_beyond:
            doubt = "By this number alone it is less clear:"
        yield f"{finding}. {doubt} {', and '.join(filter(None, (chance, unusual)))}."
        return
    yield f"{finding}; {chance}." if chance else f"{finding}."
    if several and measure["pairs"]:
        pairs = _pairs_text(measure["pairs"])
        yield f"Significant at {LEVEL} after adjustment for all comparisons: {pairs}."


def _of_cell(summary: Summary, pair: Summary) -> str:
    """Name the people among whom error rates of two groups are compared."""
    if pair["classes"] is None:
        return ""
    (true, predicted), classes = pair["classes"], summary["classes"]
    if len(classes) == 2:
        return f" among people who are {'' if true == 1 else 'not '}truly positive"
    return (
        f" in how often people who are truly {in_quotes(classes[true])} are predicted "
        f"to be {in_quotes(classes[predicted])}"
    )


def describe_ratios(
    kind: str, rows: list[dict[str, Any]], level: float
) -> Iterator[str]:
    """Describe a table of impact ratios, without a verdict."""
    what = "selection rate" if kind == "selection" else "scoring rate"
    compared = [row for row in rows if row["impact_ratio"] is not None]
    if compared:
        yield _highest_and_smallest(what, compared, level)
    else:
        yield f"There are no ratios: too few groups, or no {what} above 0."
    excluded = [in_quotes(row["label"]) for row in rows if row["status"] == "excluded"]
    if excluded:
        yield f"Too small to be compared: {listed(excluded)}."
    unknown = sum(row["n"] for row in rows if row["status"] == "unknown")
    if unknown:
        yield f"{counted(unknown, 'row')} of unknown group have no part in it."


def _highest_and_smallest(
    what: str, compared: list[dict[str, Any]], level: float
) -> str:
    """Say which group has the highest rate, and which the smallest ratio to it."""
    low = min(compared, key=lambda row: row["impact_ratio"])
    high = next(row for row in compared if row["status"] == "highest")
    if low["impact_ratio"] == 1:
        return f"All groups have the same {what}, {percent(high['rate'])}."
    return (
        f"{in_quotes(high['label'])} has the highest {what}, {percent(high['rate'])}; "
        f"the smallest ratio to it, {number(low['impact_ratio'])}, is that of "
        f"{in_quotes(low['label'])}, {percent(low['rate'])} ({100 * level:g}% interval "
        f"of the ratio {number(low['lower'])} to {number(low['upper'])})."
    )


def describe_strata(table: Summary, title: str) -> Iterator[str]:
    """Say what a table of strata compares, and what is left out of which metric."""
    if any(row["value"] is not None for row in table["rows"]):
        yield (
            f"Groups are compared within each {table['names']}, of which there are "
            f"{whole(table['n_strata'])}, with {counted(table['n_rows'], 'row')}."
        )
    else:
        yield "No stratum has two groups that can be compared."
    left_out = table["left_out"]
    for key in dict.fromkeys(stratum["metric"] for stratum in left_out):
        reasons = [
            f"{in_quotes(stratum['label'])} ({stratum['reason']})"
            for stratum in left_out
            if stratum["metric"] == key
        ]
        of_metric = "" if key is None else f" of {title}"
        yield f"Left out{of_metric}, in whole or in part: {listed(reasons)}."


def reason_left_out(stratum: Summary, least: int) -> str:
    """Say why a stratum is left out, in whole or in part."""
    if stratum["n_rows"] is not None:
        return f"only {counted(stratum['n_rows'], 'row')}"
    if stratum["compared"] is not None:
        return _too_small(stratum["compared"], least)
    lacking = [with_size(group["label"], group["n"]) for group in stratum["aside"]]
    lacking += [with_rows_of_label(cell) for cell in stratum["cells"]]
    return f"without {listed(lacking)}"
