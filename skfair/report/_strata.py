"""Numbers of metrics within strata: values, intervals and tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from skfair._rows import Countable
from skfair._utils._arrays import Integers
from skfair._utils._text import label_text
from skfair.groups import Groups, rows_by_code
from skfair.metrics._confidence_interval import join, lower_bound, upper_bound
from skfair.metrics._noise import Comparisons
from skfair.metrics._resampling import Drawn
from skfair.report._draws import (
    Uncertainty,
    bounded_metrics,
    compare_metrics,
    permute,
    with_test,
)
from skfair.report._inputs import set_aside
from skfair.report._metrics import MEASURES
from skfair.report._sample import Sample

#: Entries of a row of a table of strata that are drawn.
OF_TESTS = ("null_mean", "pvalue", "pair")


class Part(NamedTuple):
    """A stratum: the groups of it that can be compared, and all of its rows.

    `enough` says whether it has enough rows. `few` are the groups with few rows of a
    true label, where error rates are compared.
    """

    label: Hashable
    entries: Integers
    sample: Sample
    enough: bool
    few: list[tuple[int, int, int]]


def values_within_strata(
    sample: Sample, tested: bool = True
) -> tuple[list[Part], list[dict[str, Any]]] | None:
    """Strata, and of each metric the largest value over them, and their mean.

    None without strata. Tests draw rows, so they are left out where the report draws
    counts. DCP is not computed within strata: its search takes too long to be repeated.
    """
    strata = sample.audit.strata
    if strata is None or not sample.comparable:
        return None
    metrics = bounded_metrics(sample, sample.keys)
    found: dict[str, list[tuple[Part, Comparisons]]] = {key: [] for key in metrics}
    with warnings.catch_warnings():
        # The report says itself what is left out.
        warnings.simplefilter("ignore")
        parts = _split(sample, strata, metrics)
        compared = [part for part in parts if part.enough and part.sample.comparable]
        for part in compared:
            for key, one in compare_metrics(part.sample, metrics):
                if not math.isnan(one.value):
                    found[key].append((part, one))
        tests = _test(sample, compared if tested else [], metrics)
    return parts, [
        {"key": key, **_combine(sample, found[key]), **tests[key]} for key in metrics
    ]


def _split(sample: Sample, strata: Groups, keys: Collection[str]) -> list[Part]:
    """Split the entries that have a group by stratum."""
    codes = np.where(sample.groups.codes < 0, -1, strata.codes)
    by_stratum = rows_by_code(codes, len(strata.labels))
    parts = []
    for label, entries in zip(strata.labels, by_stratum, strict=True):
        part = sample.at(entries)
        enough = part.audit.n_rows >= strata.min_group_size
        with_errors = enough and part.comparable and "equalized_odds_difference" in keys
        few = part.few_of_labels if with_errors else []
        parts.append(Part(label, entries, part, enough, few))
    return parts


def _combine(sample: Sample, found: list[tuple[Part, Comparisons]]) -> dict[str, Any]:
    """Largest value, its stratum and interval, and the mean; None without a stratum."""
    if not found:
        return dict.fromkeys(("value", "stratum", "mean", "lower", "upper"))
    tail = (1 - sample.audit.options.confidence_level) / 2
    compared = join([one for _, one in found], None)
    values = np.array([one.value for _, one in found])
    totals = [part.sample.audit.entry_weights.sum() for part, _ in found]
    weights = np.array(totals, float)
    return {
        "value": compared.value,
        "stratum": found[int(values.argmax())][0].label,
        "mean": float(weights / weights.sum() @ values),
        "lower": lower_bound(compared, tail),
        "upper": upper_bound(compared, tail),
    }


def _test(
    sample: Sample, parts: list[Part], keys: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Mean of each metric under permutations within strata, its p-value and pair."""
    results = dict.fromkeys(keys, Uncertainty())
    tested: dict[str, dict[str, Any] | None] = dict.fromkeys(keys)
    questions = dict.fromkeys(MEASURES[key].question for key in keys)
    for question in () if sample.audit.counts_are_drawn or not parts else questions:
        rows = _rows(sample, parts, question)
        of_question = [key for key in keys if MEASURES[key].question == question]
        for key, test in permute(sample, of_question, rows).items():
            results[key] = with_test(results[key], test, sample)
            tested[key] = None
            if results[key].pairs:
                first = test.pairs.iloc[0]
                place = label_text(parts[int(first.get("stratum", 0))].label)
                tested[key] = {"stratum": place, **results[key].pairs[0]}
    return {
        key: {"null_mean": one.null_mean, "pvalue": one.pvalue, "pair": tested[key]}
        for key, one in results.items()
    }


def _rows(sample: Sample, parts: list[Part], question: str) -> Drawn:
    """Rows that have a group and a stratum, whose groups are permuted within strata."""
    strata, attribute = sample.audit.strata, sample.attribute
    assert strata is not None
    known = np.where(strata.codes < 0, -1, attribute.groups.codes)
    groups = set_aside("", replace(attribute.groups, codes=known), None).groups
    countable = [_countable_in(part, question) for part in parts]
    drawn = sample.drawn_from(question)
    rows = replace(drawn.rows, groups=groups, strata=strata)
    return Drawn(rows, tuple(countable))


def _countable_in(part: Part, question: str) -> Countable:
    """Rows of a stratum, with their positions among all rows."""
    countable = part.sample.countable(question)
    inside = countable.rows.position
    position = part.entries if inside is None else part.entries[inside]
    return countable._replace(rows=replace(countable.rows, position=position))
