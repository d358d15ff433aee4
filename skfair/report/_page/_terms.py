"""The technical terms of a page, and what they mean."""

from __future__ import annotations

from typing import Any

from skfair.report._language import say

Summary = dict[str, Any]

#: Name and explanation of each term, which are messages of the catalogue; what a report
#: must have for it, one of several, or nothing; and the sections that link to it.
TERMS = {
    "selected": (
        "Selection rate",
        "Share of a group that gets the positive decision, or is selected. "
        "Differences of shares are in percentage points: 30% and 20% are 10 points "
        "apart.",
        "decisions",
        "verdict",
    ),
    "threshold": (
        "Threshold",
        "Score from which on people get the positive decision. “At any threshold” "
        "is about all that could be chosen.",
        "decisions",
        "verdict",
    ),
    "points": (
        "Percentage point",
        "Unit of a difference of shares: 30% and 20% are 10 points apart.",
        "numbers",
        "verdict",
    ),
    "error": (
        "Mean error, absolute error",
        "An error is the predicted minus the true number, so that a mean error above 0 "
        "says that numbers are predicted too high. Absolute errors have no sign.",
        "errors",
        "verdict numbers",
    ),
    "r2": (
        "R²",
        "Share of the spread of the true numbers that predictions explain, 1 at best.",
        "errors",
        "numbers",
    ),
    "label": (
        "True label",
        "What is true of a person according to these data, which may be wrong. An "
        "error is a decision that differs from it.",
        "labels",
        "verdict",
    ),
    "interval": (
        "Interval",
        "Range that holds the true value, that of all such people, with at least "
        "the probability stated. Few rows make it wide.",
        "",
        "verdict",
    ),
    "certified": (
        "Certified at most",
        "The true value is at most this number, with the probability of the interval.",
        "",
        "verdict",
    ),
    "chance": (
        "Chance alone",
        "Mean of a difference when groups are assigned to people at random. Such "
        "noise makes it larger than 0, most of all in small groups.",
        "tests",
        "verdict",
    ),
    "pvalue": (
        "p-value",
        "Share of such random assignments, or shuffles, with a difference at least "
        "as large as the one found. A small one says that chance hardly explains "
        "it.",
        "tests",
        "verdict",
    ),
    "beyond": (
        "Beyond chance",
        "The p-value is small, also after adjustment (Holm) for several questions, "
        "of which one more often finds something by chance.",
        "tests",
        "verdict",
    ),
    "average": (
        "Average group",
        "Mean of the selection rates of all groups, in which each group counts the "
        "same.",
        "decisions",
        "verdict",
    ),
    "rank": (
        "Rank",
        "Place of a score among those of everyone, from 0 for the lowest to 1 for "
        "the highest.",
        "ranks",
        "verdict",
    ),
    "stratum": (
        "Stratum",
        "People among whom groups are compared, such as those of one department.",
        "strata ranks",
        "verdict numbers",
    ),
    "effective": (
        "Overlap, effective rows",
        "A row overlaps where every group has people who are alike in the columns. "
        "Effective rows are as many rows of equal weight as are worth the weighted "
        "ones.",
        "why",
        "numbers",
    ),
    "proxy": (
        "Proxy, cell",
        "A proxy tells something about the group of a person, as a district does. A "
        "cell holds the rows with the same proxy.",
        "proxy",
        "verdict",
    ),
    "odds": (
        "Odds ratio, bounds",
        "The odds of a probability p are p / (1 - p); their ratio says how many "
        "times larger one is. Bounds are the least and the largest value that is "
        "possible.",
        "proxy",
        "verdict",
    ),
    "seed": (
        "Seed",
        "Number from which random draws start, so that they can be repeated.",
        "",
        "verdict",
    ),
    "accuracy": (
        "Accuracy",
        "Share of predictions that are right. Balanced accuracy is the mean of this "
        "share over the true labels.",
        "labels",
        "verdict numbers",
    ),
    "quality": (
        "Average precision, log loss",
        "How well scores put the truly positive first, 1 at best, and how far "
        "probabilities are from what happened, 0 at best.",
        "labels ranks",
        "verdict numbers",
    ),
    "calibration": (
        "Calibration, score minus outcome",
        "Scores are calibrated if, of people with the score 0.7, 70% are truly "
        "positive. How far they are from that is measured on average over all people, "
        "within ranges of scores (calibration error), and by how much groups differ "
        "(calibration gap).",
        "labels ranks",
        "verdict numbers",
    ),
    "distribution": (
        "Cumulative distribution, histogram",
        "Two pictures of scores: the share of people up to each score, and the "
        "number of people in each range of scores.",
        "scores",
        "numbers",
    ),
    "ratio": (
        "Impact ratio, scoring rate",
        "Rate of a group over the highest rate. The scoring rate is the share of "
        "scores above the median, the score that half of all people exceed.",
        "ratios",
        "numbers",
    ),
    "resample": (
        "Bootstrap and Wilson interval",
        "An interval from rows that are drawn again from these, or resampled, and a "
        "usual interval of a share.",
        "dcp binary",
        "method",
    ),
}


def terms_of(summary: Summary) -> list[dict[str, str]]:
    """Terms that stand on the page of a report, in its language."""
    settings, models = summary["settings"], summary["models"]
    of_numbers, performance = settings.get("scale") == "real", models[0]["performance"]
    has = {
        "decisions": not of_numbers,
        "numbers": of_numbers,
        "errors": performance.get("mean_error") is not None,
        "scores": any(model["scores"] for model in models),
        "labels": performance.get("accuracy") is not None,
        "ranks": settings.get("scale") == "rank",
        "strata": settings.get("control_features", False),
        "ratios": settings.get("impact_ratios", False),
        "why": bool(summary.get("why")),
        "proxy": bool(summary.get("proxy")),
        "dcp": "dcp" in settings["calls"],
        "tests": settings["n_permutations"] > 0,
        "binary": summary["positive"] is not None,
    }
    return [
        {"key": key, "name": say(name), "text": say(text), "section": section}
        for key, (name, text, needs, section) in TERMS.items()
        if not needs or any(has[need] for need in needs.split())
    ]
