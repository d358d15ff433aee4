"""What each number says, in one sentence that names its groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skfair._utils._text import visible_text
from skfair.report._language import (
    counted,
    figure,
    in_quotes,
    listed,
    name_of,
    number,
    percent,
    points,
    quoted,
    say,
    whole,
)
from skfair.report._numbers._draws import Uncertainty
from skfair.report._numbers._sample import DCP_SECONDS, Finding, Sample
from skfair.report._numbers._strata import LeftOut, WithinStrata

#: A p-value of at most this is called more than chance.
LEVEL = 0.05


def describe(sample: Sample, key: str, found: Finding) -> str:
    """Describe a metric without regard to chance, in a sentence without full stop."""
    if math.isnan(found.value):
        return say("Cannot be computed: {reason}", reason=_reason(sample, found))
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    names = quoted(labels, found.pair[0]), quoted(labels, found.pair[1])
    if key in ("equalized_odds_difference", "dcp"):
        return _describe_errors(sample, key, found, names)
    if key in ("demographic_parity_difference", "max_gap", "cvar_fairness"):
        return _describe_decisions(sample, key, found, names)
    return _describe_scores(sample, key, found, names)


def _reason(sample: Sample, found: Finding) -> str:
    """Say why a metric is undefined."""
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    if found.lacking is not None:
        group, true, n_cases = found.lacking
        more = ""
        if n_cases > 1:
            more = say(", and {cases}", cases=counted(n_cases - 1, "more such case"))
        return say(
            "{group} has no row with the true label {label}{more}",
            group=quoted(labels, group),
            label=in_quotes(name_of(sample.audit.classes[true])),
            more=more,
        )
    return say("there must be at least two groups, and {why}", why=_too_small(sample))


def _too_small(sample: Sample) -> str:
    """Say that fewer than two groups have enough rows."""
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    rows = counted(sample.attribute.groups.min_group_size, "row")
    if not labels:
        return say("no group has {rows} or more", rows=rows)
    return say("only {group} has {rows} or more", group=quoted(labels, 0), rows=rows)


def _describe_decisions(
    sample: Sample, key: str, found: Finding, names: tuple[str, str]
) -> str:
    (first, second), (ours, theirs) = names, found.figures
    gap = points(found.value)
    if key == "demographic_parity_difference":
        return say(
            "{first} gets the positive decision in {ours} of cases, {second} in "
            "{theirs}: {gap} percentage points apart",
            first=first,
            second=second,
            ours=percent(ours),
            theirs=percent(theirs),
            gap=gap,
        )
    if key == "max_gap":
        values = {"first": first, "gap": gap, "theirs": percent(theirs)}
        if ours > theirs:
            return say(
                "Of all groups {first} is furthest from the average group: {gap} "
                "points above its selection rate of {theirs}",
                **values,
            )
        return say(
            "Of all groups {first} is furthest from the average group: {gap} points "
            "below its selection rate of {theirs}",
            **values,
        )
    share = figure(f"{100 * (1 - sample.audit.options.alpha):.4g}")
    if found.n_tail == 1:
        return say(
            "The {share}% of groups furthest from the average are one group here, so "
            "this is the largest gap",
            share=share,
        )
    return say(
        "The {share}% of groups furthest from the average ({n_tail} of {n_groups}) are "
        "{gap} points from the average group's selection rate, on average",
        share=share,
        n_tail=found.n_tail,
        n_groups=len(sample.attribute.groups.labels),
        gap=gap,
    )


def _describe_scores(
    sample: Sample, key: str, found: Finding, names: tuple[str, str]
) -> str:
    (first, second), (ours, theirs) = names, found.figures
    values = {"first": first, "second": second, "gap": points(found.value)}
    if key == "mcdp":
        return _describe_largest_gap(sample, found, names)
    if sample.audit.options.scale == "rank":
        return _describe_ranks(sample, key, found, values)
    if key == "mcdp_epsilon":
        return say(
            "Throughout some range of thresholds {length} long, {first} and {second} "
            "are at least {gap} points apart",
            length=figure(f"{2 * sample.audit.options.epsilon:g}"),
            **values,
        )
    if key == "abcc":
        return say(
            "Averaged over all thresholds, the selected shares of {first} and {second} "
            "differ by {gap} points",
            **values,
        )
    if key == "mean_score_difference":
        return say(
            "The mean score is {ours} for {first} and {theirs} for {second}",
            ours=number(ours),
            theirs=number(theirs),
            first=first,
            second=second,
        )
    return say(
        "For the score histograms of {first} and {second} to agree, about {share} of "
        "each would need another score",
        share=percent(found.value / 2),
        first=first,
        second=second,
    )


def _describe_largest_gap(
    sample: Sample, found: Finding, names: tuple[str, str]
) -> str:
    """Describe MCDP(0), whose figures are shares of scores up to the threshold."""
    (first, second), (ours, theirs) = names, found.figures
    shares = (second, 1 - theirs), (first, 1 - ours)
    (low, less), (high, more) = sorted(shares, key=lambda share: share[1])
    score = number(found.score)
    if sample.audit.options.scale == "rank":
        score = say("the rank {rank}", rank=score)
    return say(
        "At a threshold just above {score}, {less} of {low} are selected and {more} of "
        "{high}: {gap} percentage points apart, the most at any threshold",
        score=score,
        less=percent(less),
        low=low,
        more=percent(more),
        high=high,
        gap=points(found.value),
    )


def _describe_ranks(
    sample: Sample, key: str, found: Finding, values: dict[str, str]
) -> str:
    """Describe a metric whose windows and bins hold shares of everyone."""
    if key == "mcdp_epsilon":
        return say(
            "Throughout some range of thresholds that holds {share} of everyone, "
            "{first} and {second} are at least {gap} points apart",
            share=percent(2 * sample.audit.options.epsilon),
            **values,
        )
    if key == "abcc":
        return say(
            "Averaged over thresholds at the scores of everyone, the selected shares "
            "of {first} and {second} differ by {gap} points",
            **values,
        )
    return say(
        "For the histograms of the ranks of {first} and {second} to agree, about "
        "{share} of each would need another rank",
        share=percent(found.value / 2),
        first=values["first"],
        second=values["second"],
    )


def _describe_errors(
    sample: Sample, key: str, found: Finding, names: tuple[str, str]
) -> str:
    if key == "dcp":
        return say(
            "Predictions of {share} of people would have to be set aside for the error "
            "rates of all groups to agree",
            share=percent(found.value),
        )
    weighted = sample.audit.sample_weight is not None
    ours, theirs = (
        say("{rate} of {group}", rate=percent(rate), group=name)
        if weighted
        else say(
            "{rate} of {n} in {group}", rate=percent(rate), n=whole(size), group=name
        )
        for rate, size, name in zip(found.figures, found.sizes, names, strict=True)
    )
    values = {"ours": ours, "theirs": theirs, "gap": points(found.value)}
    if not sample.audit.binary:
        true, predicted = (name_of(sample.audit.classes[i]) for i in found.classes)
        return say(
            "Among people who are truly {true}, the prediction {predicted} goes to "
            "{ours} and {theirs}: {gap} percentage points apart",
            true=in_quotes(true),
            predicted=in_quotes(predicted),
            **values,
        )
    if found.classes[0] == 1:
        return say(
            "Among people who are truly positive, the positive decision goes to {ours} "
            "and {theirs}: {gap} percentage points apart",
            **values,
        )
    return say(
        "Among people who are not truly positive, the positive decision goes to {ours} "
        "and {theirs}: {gap} percentage points apart",
        **values,
    )


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
                "Undefined in {share} of shuffles, which are left out.", share=share
            )
        )
    if key == "dcp" and not math.isnan(found.value) and draws.lower is None:
        texts.append(
            say("No interval and no test: the search takes too long to repeat.")
        )
    return " ".join(texts)


def with_chance(key: str, sentence: str, draws: Uncertainty) -> str:
    """Add to a sentence what chance alone gives, and a full stop."""
    if draws.null is None or draws.pvalue is None:
        return sentence + "."
    text = chance_text(key, draws.null)
    if draws.pvalue <= LEVEL:
        return say(
            "{sentence}; chance alone would give {text}.", sentence=sentence, text=text
        )
    return say(
        "{sentence}. This may be noise: chance alone would give {text}, and as much as "
        "this in {share} of shuffles.",
        sentence=sentence,
        text=text,
        share=percent(draws.pvalue),
    )


def in_unit(key: str, value: float) -> str:
    """Write a value in the unit of its sentence, of which points are left out."""
    if key == "madd":
        return percent(value / 2)
    if key == "mean_score_difference":
        return number(value)
    return percent(value) if key == "dcp" else points(value)


def chance_text(key: str, null: float) -> str:
    """Write the mean of a metric under shuffled groups."""
    text = in_unit(key, null)
    if key == "mean_score_difference":
        return say("a difference of about {text}", text=text)
    if text.endswith("%"):
        return say("about {text}", text=text)
    return say("about {text} points", text=text)


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
        low=number(low["low"]),
        high=number(low["high"]),
    )


def describe_strata(within: WithinStrata, titles: Mapping[str, str]) -> str:
    """Say what a table of strata compares, and what is left out of which metric."""
    names = visible_text(within.names) if within.names else say("stratum")
    texts = [
        say(
            "Groups are compared within each {names}, of which there are {n}, with "
            "{rows}.",
            names=names,
            n=whole(within.n_strata),
            rows=counted(within.n_rows, "row"),
        )
    ]
    if not any(row["value"] is not None for row in within.rows):
        texts = [say("No stratum has two groups that can be compared.")]
    for key in (None, *titles):
        reasons = [
            f"{in_quotes(name_of(one.part.label))} ({reason_left_out(one)})"
            for one in within.left_out
            if one.key == key
        ]
        if not reasons:
            continue
        named = listed(reasons)
        texts.append(
            say("Left out, in whole or in part: {names}.", names=named)
            if key is None
            else say("Left out of {metric}: {names}.", metric=titles[key], names=named)
        )
    return " ".join(texts)


def reason_left_out(one: LeftOut) -> str:
    """Say why a stratum, or a group within it, is left out."""
    sample = one.part.sample
    if one.finding is not None:
        return _reason(sample, one.finding)
    if not one.part.enough:
        return say("only {rows}", rows=counted(one.part.n_rows, "row"))
    if not sample.comparable:
        return _too_small(sample)
    aside = [with_size(name_of(label), n) for label, n in sample.attribute.aside]
    return say("without {groups}", groups=listed(aside))


def with_size(label: str, n: int) -> str:
    """Name a group with its number of rows."""
    return f"{in_quotes(label)} ({whole(n)})"
