"""What each number says, in one sentence that names its groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
from skfair.report._options import OF_SCORES, part_of

Summary = dict[str, Any]

#: A p-value of at most this is called more than chance.
LEVEL = 0.05


#: Names of the two groups that a finding is about.
Names = tuple[str, str]


def describe(sample: Sample, key: str, found: Finding) -> str:
    """Describe a metric without regard to chance, in a sentence without full stop."""
    if math.isnan(found.value):
        return say("Cannot be computed: {reason}", reason=_reason(sample, found))
    labels = [name_of(label) for label in sample.attribute.groups.labels]
    names = quoted(labels, found.pair[0]), quoted(labels, found.pair[1])
    of_ranks = key in OF_SCORES and sample.audit.options.scale == "rank"
    sentences = SENTENCES_OF_RANKS if of_ranks else SENTENCES
    return part_of(sentences, key, "The sentence")(sample, found, names)


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


def _difference_of_rates(sample: Sample, found: Finding, names: Names) -> str:
    ours, theirs = found.figures
    return say(
        "{first} gets the positive decision in {ours} of cases, {second} in "
        "{theirs}: {gap} percentage points apart",
        first=names[0],
        second=names[1],
        ours=percent(ours),
        theirs=percent(theirs),
        gap=points(found.value),
    )


def _gap_to_average(sample: Sample, found: Finding, names: Names) -> str:
    ours, theirs = found.figures
    values = {
        "first": names[0],
        "gap": points(found.value),
        "theirs": percent(theirs),
    }
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


def _gap_of_tail(sample: Sample, found: Finding, names: Names) -> str:
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
        gap=points(found.value),
    )


def _largest_gap_of_scores(sample: Sample, found: Finding, names: Names) -> str:
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


def _sustained_gap(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "Throughout some range of thresholds {length} long, {first} and {second} "
        "are at least {gap} points apart",
        length=figure(f"{2 * sample.audit.options.epsilon:g}"),
        **_pair_and_gap(found, names),
    )


def _sustained_gap_of_ranks(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "Throughout some range of thresholds that holds {share} of everyone, "
        "{first} and {second} are at least {gap} points apart",
        share=percent(2 * sample.audit.options.epsilon),
        **_pair_and_gap(found, names),
    )


def _mean_gap(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "Averaged over all thresholds, the selected shares of {first} and {second} "
        "differ by {gap} points",
        **_pair_and_gap(found, names),
    )


def _mean_gap_of_ranks(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "Averaged over thresholds at the scores of everyone, the selected shares "
        "of {first} and {second} differ by {gap} points",
        **_pair_and_gap(found, names),
    )


def _pair_and_gap(found: Finding, names: Names) -> dict[str, str]:
    return {"first": names[0], "second": names[1], "gap": points(found.value)}


def _difference_of_means(sample: Sample, found: Finding, names: Names) -> str:
    ours, theirs = found.figures
    return say(
        "The mean score is {ours} for {first} and {theirs} for {second}",
        ours=number(ours),
        theirs=number(theirs),
        first=names[0],
        second=names[1],
    )


def _distance_of_histograms(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "For the score histograms of {first} and {second} to agree, about {share} of "
        "each would need another score",
        share=percent(found.value / 2),
        first=names[0],
        second=names[1],
    )


def _distance_of_ranks(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "For the histograms of the ranks of {first} and {second} to agree, about "
        "{share} of each would need another rank",
        share=percent(found.value / 2),
        first=names[0],
        second=names[1],
    )


def _share_set_aside(sample: Sample, found: Finding, names: Names) -> str:
    return say(
        "Predictions of {share} of people would have to be set aside for the error "
        "rates of all groups to agree",
        share=percent(found.value),
    )


def _difference_of_errors(sample: Sample, found: Finding, names: Names) -> str:
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


#: What each metric says, as functions of sample, finding and names of groups.
SENTENCES: dict[str, Callable[[Sample, Finding, Names], str]] = {
    "demographic_parity_difference": _difference_of_rates,
    "max_gap": _gap_to_average,
    "cvar_fairness": _gap_of_tail,
    "mcdp": _largest_gap_of_scores,
    "mcdp_epsilon": _sustained_gap,
    "abcc": _mean_gap,
    "mean_score_difference": _difference_of_means,
    "madd": _distance_of_histograms,
    "equalized_odds_difference": _difference_of_errors,
    "dcp": _share_set_aside,
}
#: What metrics of the ranks of scores say, whose windows and bins hold shares.
SENTENCES_OF_RANKS = {
    "mcdp": _largest_gap_of_scores,
    "mcdp_epsilon": _sustained_gap_of_ranks,
    "abcc": _mean_gap_of_ranks,
    "madd": _distance_of_ranks,
}


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


#: How each metric is written in its sentence; percentage points are left out.
UNITS: dict[str, Callable[[float], str]] = {
    "demographic_parity_difference": points,
    "max_gap": points,
    "cvar_fairness": points,
    "mcdp": points,
    "mcdp_epsilon": points,
    "abcc": points,
    "mean_score_difference": number,
    "madd": lambda value: percent(value / 2),  # twice the share that would move
    "equalized_odds_difference": points,
    "dcp": percent,
}


def in_unit(key: str, value: float) -> str:
    """Write a value in the unit of its sentence, of which points are left out."""
    return part_of(UNITS, key, "The unit")(value)


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
        low=number(low["lower"]),
        high=number(low["upper"]),
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
            else say(
                "Left out of {metric}, in whole or in part: {names}.",
                metric=titles[key],
                names=named,
            )
        )
    return " ".join(texts)


def reason_left_out(one: LeftOut) -> str:
    """Say why a stratum, or a group within it, is left out."""
    sample = one.part.sample
    if one.finding is not None:
        cells = few_of_labels(sample, one.finding)
        few = listed([with_rows_of_label(cell) for cell in cells])
        return say("without {groups}", groups=few)
    if not one.part.enough:
        return say("only {rows}", rows=counted(one.part.n_rows, "row"))
    if not sample.comparable:
        return _too_small(sample)
    aside = [with_size(name_of(label), n) for label, n in sample.attribute.aside]
    return say("without {groups}", groups=listed(aside))


def with_size(label: str, n: int) -> str:
    """Name a group with its number of rows."""
    return f"{in_quotes(label)} ({whole(n)})"
