"""What differs beyond chance, how much, and how certain it is: the first words."""

from __future__ import annotations

from typing import Any

from skfair.report._sentences import LEVEL, chance_text
from skfair.report._text import listed, percent, points

Summary = dict[str, Any]

#: The one metric that answers each question in the verdict, or its stand-in.
PRIMARY = {
    "decisions": ("demographic_parity_difference", "max_gap"),
    "scores": ("mcdp", "abcc", "madd", "mean_score_difference"),
    "errors": ("equalized_odds_difference", "dcp"),
}

CANNOT_SHOW = (
    "Whether a difference is justified. Groups may differ in what the decision is "
    "rightly based on, and equal numbers may be unjust.",
    "What caused a difference: the model, the labels it learnt from, or who is in "
    "these rows.",
    "Whether the true labels themselves are fair.",
    "Anything about people who are not like those in these rows.",
    "That a model is fair. Finding no difference is not the same as there being none.",
)


def verdict(summary: Summary) -> Summary:
    """Conclude from a summary.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    dict
        "leads": one text for each model; "glance": a row for each attribute and model,
        with the primary metric of each question; "points": sentences; "cannot".
    """
    names = [model["name"] for model in summary["models"]]
    level = summary["settings"]["confidence_level"]
    points_made = [
        _point(attribute, result, level)
        for attribute in summary["attributes"]
        for result in attribute["results"]
    ]
    return {
        "leads": [
            {"model": name, "text": _lead(summary, i)} for i, name in enumerate(names)
        ],
        "glance": [
            _glance(attribute, result)
            for attribute in summary["attributes"]
            for result in attribute["results"]
        ],
        "points": [point for point in points_made if point is not None],
        "tests": _count_tests(summary),
        "cannot": list(CANNOT_SHOW),
    }


def states(result: Summary) -> list[tuple[Summary | None, str]]:
    """Say of each question's metric whether it is more than chance.

    Up to three tests are made of each model and attribute, so their p-values are
    adjusted (Holm): the chance that any of them errs is at most `LEVEL`.

    Parameters
    ----------
    result : dict
        Of one model and one attribute.

    Returns
    -------
    list of (dict or None, str)
        With "beyond chance", "may be chance", "not tested", "not computable" or
        "not asked".
    """
    chosen = list(primary(result).values())
    pvalues = sorted(m["pvalue"] for m in chosen if m and m["pvalue"] is not None)
    largest = 0.0  # of the p-values that are small, one after the other
    for i, pvalue in enumerate(pvalues):
        if pvalue * (len(pvalues) - i) > LEVEL * (1 + 1e-9):
            break
        largest = pvalue
    return [(measure, _state(measure, largest)) for measure in chosen]


def _state(measure: Summary | None, largest: float) -> str:
    """Say whether a value is more than chance.

    Parameters
    ----------
    measure : dict or None
    largest : float
        Largest p-value that counts as small.

    Returns
    -------
    {"beyond chance", "may be chance", "not tested", "not computable", "not asked"}
    """
    if measure is None:
        return "not asked"
    if measure["value"] is None:
        return "not computable"
    if measure["pvalue"] is None:
        return "not tested"
    return "beyond chance" if measure["pvalue"] <= largest else "may be chance"


def primary(result: Summary) -> dict[str, Summary | None]:
    """Pick the metric that answers each question.

    Parameters
    ----------
    result : dict
        Of one model and one attribute.

    Returns
    -------
    dict of str to dict or None
        By question; one that can be computed if there is any.
    """
    by_key = {measure["key"]: measure for measure in result["measures"]}
    chosen: dict[str, Summary | None] = {}
    for question, keys in PRIMARY.items():
        present = [by_key[key] for key in keys if key in by_key]
        defined = [measure for measure in present if measure["value"] is not None]
        chosen[question] = next(iter(defined or present), None)
    return chosen


def _lead(summary: Summary, model: int) -> str:
    """One or two sentences about a model."""
    differing: dict[str, list[str]] = {}
    within, neither = [], []
    for attribute in summary["attributes"]:
        found = dict(zip(PRIMARY, states(attribute["results"][model]), strict=True))
        beyond = [name for name, (_, text) in found.items() if text == "beyond chance"]
        if beyond:
            differing.setdefault(listed(beyond), []).append(attribute["name"])
        elif any(text == "may be chance" for _, text in found.values()):
            within.append(attribute["name"])
        else:
            neither.append(attribute["name"])
    texts = []
    if differing:
        parts = [f"{what} by {listed(names)}" for what, names in differing.items()]
        text = "; ".join(parts).replace(" by ", " differ between groups by ", 1)
        text = f"{text[0].upper()}{text[1:]}"
        texts.append(f"{text}, by more than chance explains.")
    if within:
        texts.append(
            f"By {listed(within)}, no difference beyond chance was found, which does "
            "not show that there is none."
        )
    if neither:
        texts.append(f"By {listed(neither)}, nothing can be said.")
    return " ".join(texts)


def _glance(attribute: Summary, result: Summary) -> Summary:
    return {
        "attribute": attribute["name"],
        "n_groups": len(attribute["groups"]),
        "model": result["model"],
        "cells": [
            {"measure": measure, "state": text} for measure, text in states(result)
        ],
    }


def _point(attribute: Summary, result: Summary, level: float) -> Summary | None:
    """Tell the most tangible finding: of decisions, else of scores, else of errors."""
    found = [(m, text) for m, text in states(result) if m is not None]
    defined = [(m, text) for m, text in found if m["value"] is not None]
    if not found:
        return None
    measure, state = (defined or found)[0]
    text = measure["finding"]
    details = []
    if measure["lower"] is not None:
        low, high = interval_texts(measure)
        details.append(f"{100 * level:g}% interval {low} to {high}")
    if measure["null"] is not None:
        details.append(f"chance alone {chance_text(measure['key'], measure['null'])}")
    return {
        "attribute": attribute["name"],
        "model": result["model"],
        "state": state,
        "text": text + (f" ({'; '.join(details)})" if details else "") + ".",
    }


def interval_texts(measure: Summary) -> tuple[str, str]:
    """Write the ends of an interval in the unit of the metric's sentence.

    Parameters
    ----------
    measure : dict
        With an interval.

    Returns
    -------
    low, high : str
    """
    low, high = measure["lower"], measure["upper"]
    if measure["key"] == "madd":
        return percent(low / 2), percent(high / 2)
    if measure["key"] == "mean_score_difference":
        return f"{low:.3f}", f"{high:.3f}"
    if measure["key"] == "dcp":
        return percent(low), percent(high)
    return points(low), points(high)


def _count_tests(summary: Summary) -> Summary:
    """How many p-values there are, and how many are small."""
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
