"""What each number says, in one sentence that names its groups."""

from __future__ import annotations

import math
from typing import Any

from skfair._utils._text import (
    counted,
    label_text,
    listed,
    percent,
    points,
    quoted,
    visible_text,
)
from skfair.report._numbers._draws import Uncertainty
from skfair.report._numbers._sample import DCP_SECONDS, Finding, Sample

#: A p-value of at most this is called more than chance.
LEVEL = 0.05


def describe(sample: Sample, key: str, found: Finding) -> str:
    """Describe a metric without regard to chance, in a sentence without full stop."""
    if math.isnan(found.value):
        return f"Cannot be computed: {_reason(sample, found)}"
    labels = [label_text(label) for label in sample.attribute.groups.labels]
    names = quoted(labels, found.pair[0]), quoted(labels, found.pair[1])
    if key in ("equalized_odds_difference", "dcp"):
        return _describe_errors(sample, key, found, names)
    if key in ("demographic_parity_difference", "max_gap", "cvar_fairness"):
        return _describe_decisions(sample, key, found, names)
    return _describe_scores(sample, key, found, names)


def _reason(sample: Sample, found: Finding) -> str:
    """Say why a metric is undefined."""
    labels = [label_text(label) for label in sample.attribute.groups.labels]
    if found.lacking is not None:
        group, true, n_cases = found.lacking
        more = f", and {counted(n_cases - 1, 'more such case')}" if n_cases > 1 else ""
        name = visible_text(sample.audit.classes[true])
        return f"{quoted(labels, group)} has no row with the true label “{name}”{more}"
    which = f"only {quoted(labels, 0)} has" if labels else "no group has"
    smallest = counted(sample.audit.options.min_group_size, "row")
    return f"there must be at least two groups, and {which} {smallest} or more"


def _describe_decisions(
    sample: Sample, key: str, found: Finding, names: tuple[str, str]
) -> str:
    (first, second), (ours, theirs) = names, found.figures
    if key == "demographic_parity_difference":
        return (
            f"{first} gets the positive decision in {percent(ours)} of cases, "
            f"{second} in {percent(theirs)}: {points(found.value)} percentage points "
            "apart"
        )
    if key == "max_gap":
        side = "above" if ours > theirs else "below"
        return (
            f"Of all groups {first} is furthest from the average group: "
            f"{points(found.value)} points {side} its selection rate of "
            f"{percent(theirs)}"
        )
    share = f"{100 * (1 - sample.audit.options.alpha):.4g}%"
    which = f"The {share} of groups furthest from the average"
    if found.n_tail == 1:
        return f"{which} are one group here, so this is the largest gap"
    n_groups = len(sample.attribute.groups.labels)
    return (
        f"{which} ({found.n_tail} of {n_groups}) are {points(found.value)} points from "
        "the average group's selection rate, on average"
    )


def _describe_scores(
    sample: Sample, key: str, found: Finding, names: tuple[str, str]
) -> str:
    (first, second), (ours, theirs) = names, found.figures
    if key == "mcdp":
        # The figures are shares of scores that are at most the threshold.
        shares = (second, 1 - theirs), (first, 1 - ours)
        (low, less), (high, more) = sorted(shares, key=lambda share: share[1])
        return (
            f"At a threshold just above {found.score:.3f}, {percent(less)} of {low} "
            f"are selected and {percent(more)} of {high}: {points(found.value)} "
            "percentage points apart, the most at any threshold"
        )
    if key == "mcdp_epsilon":
        return (
            "Throughout some range of thresholds "
            f"{2 * sample.audit.options.epsilon:g} long, {first} and {second} are at "
            f"least {points(found.value)} points apart"
        )
    if key == "abcc":
        return (
            f"Averaged over all thresholds, the selected shares of {first} and "
            f"{second} differ by {points(found.value)} points"
        )
    if key == "mean_score_difference":
        return f"The mean score is {ours:.3f} for {first} and {theirs:.3f} for {second}"
    return (
        f"For the score histograms of {first} and {second} to agree, about "
        f"{percent(found.value / 2)} of each would need another score"
    )


def _describe_errors(
    sample: Sample, key: str, found: Finding, names: tuple[str, str]
) -> str:
    if key == "dcp":
        return (
            f"Predictions of {percent(found.value)} of people would have to be set "
            "aside for the error rates of all groups to agree"
        )
    true, predicted = (visible_text(sample.audit.classes[i]) for i in found.classes)
    whom, what = f"truly “{true}”", f"the prediction “{predicted}”"
    if sample.audit.binary:
        whom = "truly positive" if found.classes[0] == 1 else "not truly positive"
        what = "the positive decision"
    weighted = sample.audit.sample_weight is not None
    ours, theirs = (
        f"{percent(rate)} of {'' if weighted else f'{size:,.0f} in '}{name}"
        for rate, size, name in zip(found.figures, found.sizes, names, strict=True)
    )
    return (
        f"Among people who are {whom}, {what} goes to {ours} and {theirs}: "
        f"{points(found.value)} percentage points apart"
    )


def note(key: str, found: Finding, draws: Uncertainty) -> str:
    """Say what limits a metric: a search that ended early, or undefined shuffles."""
    texts = []
    if found.bounds is not None:
        lower, upper = (percent(bound) for bound in found.bounds)
        texts.append(
            f"Certified to lie between {lower} and {upper}; the search ended after "
            f"{DCP_SECONDS:g} s."
        )
    if draws.without_test:
        share = percent(draws.without_test)
        end = "too many for a test" if draws.pvalue is None else "which are left out"
        texts.append(f"Undefined in {share} of shuffles, {end}.")
    if key == "dcp" and not math.isnan(found.value) and draws.lower is None:
        texts.append("No interval and no test: the search takes too long to repeat.")
    return " ".join(texts)


def with_chance(key: str, sentence: str, draws: Uncertainty) -> str:
    """Add to a sentence what chance alone gives, and a full stop."""
    if draws.null is None or draws.pvalue is None:
        return sentence + "."
    text = chance_text(key, draws.null)
    if draws.pvalue <= LEVEL:
        return f"{sentence}; chance alone would give {text}."
    return (
        f"{sentence}. This may be noise: chance alone would give {text}, and as "
        f"much as this in {percent(draws.pvalue)} of shuffles."
    )


def in_unit(key: str, value: float) -> str:
    """Write a value in the unit of its sentence, of which points are left out."""
    if key == "madd":
        return percent(value / 2)
    if key == "mean_score_difference":
        return f"{value:.3f}"
    return percent(value) if key == "dcp" else points(value)


def chance_text(key: str, null: float) -> str:
    """Write the mean of a metric under shuffled groups."""
    text = in_unit(key, null)
    if key == "mean_score_difference":
        return f"a difference of about {text}"
    return f"about {text}" if text.endswith("%") else f"about {text} points"


def describe_ratios(kind: str, rows: list[dict[str, Any]], level: float) -> str:
    """Describe a table of impact ratios, without a verdict."""
    what = f"{kind} rate"
    compared = [row for row in rows if row["impact_ratio"] is not None]
    if not compared:
        texts = [f"There are no ratios: too few groups, or no {what} above 0."]
    else:
        low = min(compared, key=lambda row: row["impact_ratio"])
        high = next(row for row in compared if row["status"] == "highest")
        texts = [
            f"All groups have the same {what}, {percent(high['rate'])}."
            if low["impact_ratio"] == 1
            else f"“{high['label']}” has the highest {what}, {percent(high['rate'])}; "
            f"the smallest ratio to it, {low['impact_ratio']:.3f}, is that of "
            f"“{low['label']}”, {percent(low['rate'])} ({100 * level:g}% interval of "
            f"the ratio {low['low']:.3f} to {low['high']:.3f})."
        ]
    excluded = [f"“{row['label']}”" for row in rows if row["status"] == "excluded"]
    if excluded:
        texts.append(f"Too small to be compared: {listed(excluded)}.")
    unknown = sum(row["n"] for row in rows if row["status"] == "unknown")
    if unknown:
        texts.append(f"{counted(unknown, 'row')} of unknown group have no part in it.")
    return " ".join(texts)


def describe_strata(table: dict[str, Any]) -> str:
    """Say what a table of strata compares, and what is left out."""
    texts = [
        f"Groups are compared within each {table['names']}, of which there are "
        f"{table['n_strata']:,}, with {counted(table['n_rows'], 'row')}."
    ]
    if not any(row["value"] is not None for row in table["rows"]):
        texts = ["No stratum has two groups that can be compared."]
    if table["left_out"]:
        reasons = [f"“{one['label']}” ({one['reason']})" for one in table["left_out"]]
        texts.append(f"Left out, in whole or in part: {listed(reasons)}.")
    return " ".join(texts)
