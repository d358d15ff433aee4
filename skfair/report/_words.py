"""What numbers say beside the sentences of metrics: chance, ratios and strata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skfair.report._language import (
    counted,
    figure,
    in_quotes,
    listed,
    number,
    percent,
    quoted,
    say,
    whole,
)
from skfair.report._metrics import MEASURES
from skfair.report._sample import Finding
from skfair.report._sentences import DCP_SECONDS, About

Summary = dict[str, Any]

#: A p-value of at most this is called more than chance.
LEVEL = 0.05


def describe(about: About, measure: Summary) -> str:
    """Describe a metric without regard to chance, in a sentence without full stop."""
    if measure["value"] is None:
        return say("Cannot be computed: {reason}", reason=_reason(about, measure))
    found = Finding.of(measure["value"], measure["attained"])
    names = (
        quoted([*about.labels], found.pair[0]),
        quoted([*about.labels], found.pair[1]),
    )
    return MEASURES[measure["key"]].sentence(about, found, names)


def _reason(about: About, measure: Summary) -> str:
    """Say why a metric is undefined."""
    if measure["left_out"]:
        return say(
            "no two groups have {rows} or more of one true label",
            rows=counted(about.min_group_size, "row"),
        )
    why = _too_small(about.labels, about.min_group_size)
    return say("there must be at least two groups, and {why}", why=why)


def with_rows_of_label(cell: Summary) -> str:
    """Name a group with a true label, and its number of rows of it."""
    return say(
        "{group} with the true label {label} ({n})",
        group=in_quotes(cell["group"]),
        label=in_quotes(cell["true_label"]),
        n=whole(cell["n"]),
    )


def _too_small(labels: Sequence[str], least: int) -> str:
    """Say that fewer than two groups have enough rows."""
    rows = counted(least, "row")
    if not labels:
        return say("no group has {rows} or more", rows=rows)
    return say("only {group} has {rows} or more", group=in_quotes(labels[0]), rows=rows)


def note(measure: Summary) -> str:
    """Say what limits a metric: a search that ended early, or undefined shuffles."""
    texts = []
    if measure["searched"] is not None:
        lower, upper = (percent(bound) for bound in measure["searched"])
        texts.append(
            say(
                "Certified to lie between {lower} and {upper}; the search ended after "
                "{seconds} s.",
                lower=lower,
                upper=upper,
                seconds=f"{DCP_SECONDS:g}",
            )
        )
    if measure["without_test"]:
        share = percent(measure["without_test"])
        texts.append(
            say("Undefined in {share} of shuffles, too many for a test.", share=share)
            if measure["pvalue"] is None
            else say(
                "Undefined in {share} of shuffles, which count as large.", share=share
            )
        )
    defined = measure["value"] is not None
    if measure["key"] == "dcp" and defined and measure["lower"] is None:
        texts.append(
            say("No interval and no test: the search takes too long to repeat.")
        )
    return " ".join(texts)


def with_chance(measure: Summary) -> str:
    """Add to a finding what chance alone gives, and a full stop.

    A test of more than two groups at once does not say which of them differ.
    """
    sentence, null, as_large = (
        measure[name] for name in ("finding", "null_mean", "as_large")
    )
    if null is None or measure["pvalue"] is None or as_large is None:
        return f"{sentence}."
    values = {"sentence": sentence, "text": chance_text(measure["key"], null)}
    share = percent(as_large)
    if measure["pvalue"] > LEVEL:
        return say(
            "{sentence}. This may be noise: chance alone would give {text}, and as "
            "much as this in {share} of shuffles.",
            **values,
            share=share,
        )
    text = say("{sentence}; chance alone would give {text}.", **values)
    if measure["n_groups"] > 2:
        more = say("The test is of all groups, and does not say which of them differ.")
        text = f"{text} {more}"
    if as_large > LEVEL:
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


def describe_strata(table: Summary, title: str) -> str:
    """Say what a table of strata compares, and what is left out of which metric."""
    texts = [
        say(
            "Groups are compared within each {names}, of which there are {n}, with "
            "{rows}.",
            names=table["names"],
            n=whole(table["n_strata"]),
            rows=counted(table["n_rows"], "row"),
        )
    ]
    if not any(row["value"] is not None for row in table["rows"]):
        texts = [say("No stratum has two groups that can be compared.")]
    left_out = table["left_out"]
    for key in dict.fromkeys(one["metric"] for one in left_out):
        reasons = [
            f"{in_quotes(one['label'])} ({one['reason']})"
            for one in left_out
            if one["metric"] == key
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


def reason_left_out(one: Summary, least: int) -> str:
    """Say why a stratum is left out, in whole or in part."""
    if one["n_rows"] is not None:
        return say("only {rows}", rows=counted(one["n_rows"], "row"))
    if one["compared"] is not None:
        return _too_small(one["compared"], least)
    lacking = [with_size(group["label"], group["n"]) for group in one["aside"]]
    lacking += [with_rows_of_label(cell) for cell in one["cells"]]
    return say("without {groups}", groups=listed(lacking))


def with_size(label: str, n: int) -> str:
    """Name a group with its number of rows."""
    return f"{in_quotes(label)} ({whole(n)})"
