"""What numbers say beside the sentences of metrics: chance, ratios and strata."""

from __future__ import annotations

import math
from typing import Any

from skfair._utils._text import visible_text
from skfair.groups import CROSS, Groups
from skfair.report._draws import Uncertainty
from skfair.report._language import (
    counted,
    figure,
    in_quotes,
    listed,
    name_of,
    number,
    percent,
    quoted,
    say,
    whole,
)
from skfair.report._metrics import MEASURES, Measure
from skfair.report._sample import Finding, Sample
from skfair.report._sentences import DCP_SECONDS
from skfair.report._strata import Part

Summary = dict[str, Any]

#: A p-value of at most this is called more than chance.
LEVEL = 0.05


def describe(sample: Sample, measure: Measure, found: Finding) -> str:
    """Describe a metric without regard to chance, in a sentence without full stop."""
    if math.isnan(found.value):
        return say("Cannot be computed: {reason}", reason=_reason(sample, found))
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    names = quoted(labels, found.pair[0]), quoted(labels, found.pair[1])
    return measure.sentence(sample, found, names)


def _reason(sample: Sample, found: Finding) -> str:
    """Say why a metric is undefined."""
    if found.few:
        return say(
            "no two groups have {rows} or more of one true label",
            rows=counted(sample.attribute.groups.min_group_size, "row"),
        )
    return say("there must be at least two groups, and {why}", why=_too_small(sample))


def few_of_labels(sample: Sample, found: Finding) -> list[Summary]:
    """List groups and true labels that are left out of error rates, and their rows."""
    labels, classes = sample.attribute.groups.labels, sample.audit.classes
    return [
        {"group": name_of(labels[i]), "true_label": name_of(classes[j]), "n": n}
        for i, j, n in found.few
    ]


def with_rows_of_label(cell: Summary) -> str:
    """Name a group with a true label, and its number of rows of it."""
    return say(
        "{group} with the true label {label} ({n})",
        group=in_quotes(cell["group"]),
        label=in_quotes(cell["true_label"]),
        n=whole(cell["n"]),
    )


def _too_small(sample: Sample) -> str:
    """Say that fewer than two groups have enough rows."""
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    rows = counted(sample.attribute.groups.min_group_size, "row")
    if not labels:
        return say("no group has {rows} or more", rows=rows)
    return say("only {group} has {rows} or more", group=quoted(labels, 0), rows=rows)


def note(key: str, found: Finding, draws: Uncertainty) -> str:
    """Say what limits a metric: a search that ended early, or undefined shuffles."""
    texts = []
    if found.bounds is not None:
        lower, upper = (percent(bound) for bound in found.bounds)
        texts.append(
            say(
                "Certified to lie between {lower} and {upper}; the search ended after "
                "{seconds} s.",
                lower=lower,
                upper=upper,
                seconds=f"{DCP_SECONDS:g}",
            )
        )
    if draws.without_test:
        share = percent(draws.without_test)
        texts.append(
            say("Undefined in {share} of shuffles, too many for a test.", share=share)
            if draws.pvalue is None
            else say(
                "Undefined in {share} of shuffles, which count as large.", share=share
            )
        )
    if key == "dcp" and not math.isnan(found.value) and draws.lower is None:
        texts.append(
            say("No interval and no test: the search takes too long to repeat.")
        )
    return " ".join(texts)


def with_chance(sentence: str, key: str, draws: Uncertainty, n_groups: int) -> str:
    """Add to a sentence what chance alone gives, and a full stop.

    A test of more than two groups at once does not say which of them differ.
    """
    if draws.null_mean is None or draws.pvalue is None or draws.as_large is None:
        return sentence + "."
    values = {"sentence": sentence, "text": chance_text(key, draws.null_mean)}
    share = percent(draws.as_large)
    if draws.pvalue > LEVEL:
        return say(
            "{sentence}. This may be noise: chance alone would give {text}, and as "
            "much as this in {share} of shuffles.",
            **values,
            share=share,
        )
    text = say("{sentence}; chance alone would give {text}.", **values)
    if n_groups > 2:
        more = say("The test is of all groups, and does not say which of them differ.")
        text = f"{text} {more}"
    if draws.as_large > LEVEL:
        more = say(
            "As much as this is found in {share} of shuffles, which the test tells "
            "apart by all differences together.",
            share=share,
        )
        text = f"{text} {more}"
    return text


def chance_text(key: str, null: float) -> str:
    """Write the mean of a metric under shuffled groups."""
    measure = MEASURES[key]
    return say(measure.by_chance, text=measure.unit(null))


def describe_ratios(kind: str, rows: list[dict[str, Any]], level: float) -> str:
    """Describe a table of impact ratios, without a verdict."""
    what = say("selection rate") if kind == "selection" else say("scoring rate")
    compared = [row for row in rows if row["impact_ratio"] is not None]
    if not compared:
        texts = [
            say("There are no ratios: too few groups, or no {what} above 0.", what=what)
        ]
    else:
        texts = [_highest_and_smallest(what, compared, level)]
    excluded = [in_quotes(row["label"]) for row in rows if row["status"] == "excluded"]
    if excluded:
        names = listed(excluded)
        texts.append(say("Too small to be compared: {names}.", names=names))
    unknown = sum(row["n"] for row in rows if row["status"] == "unknown")
    if unknown:
        n = counted(unknown, "row")
        texts.append(say("{rows} of unknown group have no part in it.", rows=n))
    return " ".join(texts)


def _highest_and_smallest(
    what: str, compared: list[dict[str, Any]], level: float
) -> str:
    """Say which group has the highest rate, and which the smallest ratio to it."""
    low = min(compared, key=lambda row: row["impact_ratio"])
    high = next(row for row in compared if row["status"] == "highest")
    if low["impact_ratio"] == 1:
        rate = percent(high["rate"])
        return say("All groups have the same {what}, {rate}.", what=what, rate=rate)
    return say(
        "{group} has the highest {what}, {rate}; the smallest ratio to it, {ratio}, is "
        "that of {other}, {other_rate} ({level}% interval of the ratio {low} to "
        "{high}).",
        group=in_quotes(high["label"]),
        what=what,
        rate=percent(high["rate"]),
        ratio=number(low["impact_ratio"]),
        other=in_quotes(low["label"]),
        other_rate=percent(low["rate"]),
        level=figure(f"{100 * level:g}"),
        low=number(low["lower"]),
        high=number(low["upper"]),
    )


def describe_strata(
    sample: Sample, parts: list[Part], rows: list[dict[str, Any]], title: str
) -> str:
    """Say what a table of strata compares, and what is left out of which metric."""
    strata = sample.audit.strata
    assert strata is not None
    texts = [
        say(
            "Groups are compared within each {names}, of which there are {n}, with "
            "{rows}.",
            names=name_of_strata(strata),
            n=whole(len(parts)),
            rows=counted(sample.audit.count(strata.codes >= 0), "row"),
        )
    ]
    if not any(row["value"] is not None for row in rows):
        texts = [say("No stratum has two groups that can be compared.")]
    left_out = reasons_left_out(parts)
    for key in dict.fromkeys(key for _, key, _ in left_out):
        reasons = [
            f"{in_quotes(label)} ({reason})"
            for label, other, reason in left_out
            if key == other
        ]
        names = listed(reasons)
        texts.append(
            say("Left out, in whole or in part: {names}.", names=names)
            if key is None
            else say(
                "Left out of {metric}, in whole or in part: {names}.",
                metric=title,
                names=names,
            )
        )
    return " ".join(texts)


def name_of_strata(strata: Groups) -> str:
    """Name the columns of strata."""
    names = CROSS.join(strata.names)
    return visible_text(names) if names else say("stratum")


def reasons_left_out(parts: list[Part]) -> list[tuple[str, str | None, str]]:
    """Name strata that are left out, or groups within them, of a metric or of all."""
    found: list[tuple[str, str | None, str]] = []
    for part in parts:
        sample, reason = part.sample, ""
        aside = [with_size(name_of(label), n) for label, n in sample.attribute.aside]
        if not part.enough:
            reason = say("only {rows}", rows=counted(part.n_rows, "row"))
        elif aside and not sample.comparable:
            reason = _too_small(sample)
        elif aside:
            reason = say("without {groups}", groups=listed(aside))
        if reason:
            found.append((name_of(part.label), None, reason))
    for part in parts:
        if part.errors is not None and part.errors.few:
            cells = few_of_labels(part.sample, part.errors)
            few = listed([with_rows_of_label(cell) for cell in cells])
            reason = say("without {groups}", groups=few)
            found.append((name_of(part.label), "equalized_odds_difference", reason))
    return found


def with_size(label: str, n: int) -> str:
    """Name a group with its number of rows."""
    return f"{in_quotes(label)} ({whole(n)})"
