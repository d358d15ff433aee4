"""What the value of each metric says, in a sentence that names its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skfair.report._language import (
    figure,
    in_quotes,
    in_unit,
    number,
    percent,
    points,
    say,
    whole,
)
from skfair.report._sample import Finding

#: Names of the two groups that a finding is about.
Names = tuple[str, str]


class About(NamedTuple):
    """What a sentence tells of beside a value, as a summary has it."""

    settings: Mapping[str, Any]
    classes: Sequence[str]
    labels: Sequence[str]
    min_group_size: int

    @property
    def scale(self) -> str:
        """Scale of the scores."""
        return str(self.settings["scale"])


#: Seconds after which the search for a certificate of DCP ends.
DCP_SECONDS = 20.0


def difference_of_rates(about: About, found: Finding, names: Names) -> str:
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


def gap_to_average(about: About, found: Finding, names: Names) -> str:
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


def gap_of_tail(about: About, found: Finding, names: Names) -> str:
    share = figure(f"{100 * (1 - about.settings['alpha']):.4g}")
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
        n_groups=len(about.labels),
        gap=points(found.value),
    )


def largest_gap_of_scores(about: About, found: Finding, names: Names) -> str:
    """Describe MCDP(0), whose figures are shares of scores up to the threshold."""
    (first, second), (ours, theirs) = names, found.figures
    shares = (second, 1 - theirs), (first, 1 - ours)
    (low, less), (high, more) = sorted(shares, key=lambda share: share[1])
    if about.scale == "real":
        return say(
            "{less} of {low} and {more} of {high} have a prediction above {number}: "
            "{gap} percentage points apart, the most above any number",
            number=in_unit(found.score),
            less=percent(less),
            low=low,
            more=percent(more),
            high=high,
            gap=points(found.value),
        )
    score = number(found.score)
    if about.scale == "rank":
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


def sustained_gap(about: About, found: Finding, names: Names) -> str:
    epsilon, values = about.settings["epsilon"], _pair_and_gap(found, names)
    if about.scale == "rank":
        return say(
            "Throughout some range of thresholds that holds {share} of everyone, "
            "{first} and {second} are at least {gap} points apart",
            share=percent(2 * epsilon),
            **values,
        )
    return say(
        "Throughout some range of thresholds {length} long, {first} and {second} "
        "are at least {gap} points apart",
        length=figure(f"{2 * epsilon:g}"),
        **values,
    )


def mean_gap(about: About, found: Finding, names: Names) -> str:
    values = _pair_and_gap(found, names)
    if about.scale == "rank":
        return say(
            "Averaged over thresholds at the scores of everyone, the selected shares "
            "of {first} and {second} differ by {gap} points",
            **values,
        )
    return say(
        "Averaged over all thresholds, the selected shares of {first} and {second} "
        "differ by {gap} points",
        **values,
    )


def _pair_and_gap(found: Finding, names: Names) -> dict[str, str]:
    return {"first": names[0], "second": names[1], "gap": points(found.value)}


def difference_of_means(about: About, found: Finding, names: Names) -> str:
    ours, theirs = found.figures
    return say(
        "The mean score is {ours} for {first} and {theirs} for {second}",
        ours=number(ours),
        theirs=number(theirs),
        first=names[0],
        second=names[1],
    )


def distance_of_numbers(about: About, found: Finding, names: Names) -> str:
    return say(
        "To be distributed as those of {second}, predictions of {first} would have to "
        "change by {gap} on average",
        first=names[0],
        second=names[1],
        gap=in_unit(found.value),
    )


def _means_in_unit(found: Finding, names: Names) -> dict[str, str]:
    ours, theirs = map(in_unit, found.figures)
    return {"first": names[0], "second": names[1], "ours": ours, "theirs": theirs}


def difference_of_mean_predictions(about: About, found: Finding, names: Names) -> str:
    return say(
        "The mean prediction is {ours} for {first} and {theirs} for {second}",
        **_means_in_unit(found, names),
    )


def difference_of_mean_errors(about: About, found: Finding, names: Names) -> str:
    return say(
        "The mean of predicted minus true values is {ours} for {first} and {theirs} "
        "for {second}",
        **_means_in_unit(found, names),
    )


def difference_of_absolute_errors(about: About, found: Finding, names: Names) -> str:
    return say(
        "Predictions are off by {ours} on average for {first} and by {theirs} for "
        "{second}",
        **_means_in_unit(found, names),
    )


def distance_of_histograms(about: About, found: Finding, names: Names) -> str:
    values = {
        "first": names[0],
        "second": names[1],
        "share": percent(found.value / 2),
    }
    if about.scale == "rank":
        return say(
            "For the histograms of the ranks of {first} and {second} to agree, about "
            "{share} of each would need another rank",
            **values,
        )
    return say(
        "For the score histograms of {first} and {second} to agree, about {share} of "
        "each would need another score",
        **values,
    )


def difference_of_calibration(about: About, found: Finding, names: Names) -> str:
    # Rounded first, so that no zero is negative.
    ours, theirs = (points(round(height, 3) + 0.0) for height in found.figures)
    return say(
        "Added up over people with scores up to {score}, outcomes minus scores are "
        "{ours} points for {first} and {theirs} points for {second}: {gap} percentage "
        "points apart, the most up to any score",
        score=number(found.score),
        ours=ours,
        first=names[0],
        theirs=theirs,
        second=names[1],
        gap=points(found.value),
    )


def share_set_aside(about: About, found: Finding, names: Names) -> str:
    return say(
        "Predictions of {share} of people would have to be set aside for the error "
        "rates of all groups to agree",
        share=percent(found.value),
    )


def difference_of_errors(about: About, found: Finding, names: Names) -> str:
    weighted = about.settings["sample_weight"]
    ours, theirs = (
        say("{rate} of {group}", rate=percent(rate), group=name)
        if weighted
        else say(
            "{rate} of {n} in {group}", rate=percent(rate), n=whole(size), group=name
        )
        for rate, size, name in zip(found.figures, found.sizes, names, strict=True)
    )
    values = {"ours": ours, "theirs": theirs, "gap": points(found.value)}
    if len(about.classes) != 2:
        true, predicted = (about.classes[i] for i in found.classes)
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
