"""Uncertainty of metrics, of everyone and within strata: intervals, and tests.

Rows are drawn as `permutation_test` and `bootstrap_interval` draw them, so that either
returns the numbers of the report. Of many rows counts are drawn.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import comb
from typing import Any

import numpy as np

from skfair._rows import shuffled_codes
from skfair._utils._arrays import Integers
from skfair._utils._progress import Progress
from skfair._utils._text import label_text, or_none
from skfair.metrics import PermutationTestResult
from skfair.metrics._bootstrap import resamples_of_all
from skfair.metrics._confidence_interval import compare, join, lower_bound, upper_bound
from skfair.metrics._inputs import ignore_undefined
from skfair.metrics._noise import UNDEFINED, Comparisons, Observed
from skfair.metrics._pairs import Located
from skfair.metrics._permutation import permutation_tests, permutations, permuted_strata
from skfair.metrics._rates import comparable_cells
from skfair.metrics._resampling import (
    ENOUGH,
    Drawn,
    Metric,
    basic_interval,
    check_seed,
    evaluate_each,
)
from skfair.metrics._spec import specification_of
from skfair.model_selection._model_comparison import gap_interval
from skfair.report._inputs import LEVEL, set_aside
from skfair.report._metrics import MEASURES
from skfair.report._sample import Sample, count_outcomes
from skfair.statistics import GroupedOutcomes, GroupedScores

#: DCP is computed again in each draw where its exact search, which enumerates
#: vertices, takes milliseconds.
_FEW_VERTICES = 1000
#: Rows times permutations up to which permutations are kept, of four bytes each.
_MAX_PERMUTED = 2**23


#: Numbers of a metric by name; None where one is undefined.
Numbers = dict[str, Any]
#: Label and sample of a stratum.
Part = tuple[Hashable, Sample]
#: What is found on the rows of each sample.
Found = list[tuple[Sample, dict[str, Located]]]

#: What draws of rows give, and of a metric whose noise has no bound its interval.
DRAWN = ("null_mean", "pvalue", "without_test")
DRAWN_ENDS = ("lower", "upper")
#: Entries of a row of a table of strata that are drawn.
OF_TESTS = ("null_mean", "pvalue", "pair")
#: Interval, certificate and test of a metric without any. Of a metric that compares
#: pairs of groups, `null_mean` is that of the gap that decides the test: the first of
#: `pairs`, which has all gaps beyond chance. `without_test` is the share of
#: permutations in which the metric is undefined.
NOTHING: Numbers = {
    **dict.fromkeys(("lower", "upper", "certified", *DRAWN)),
    "pairs": [],
}
#: The time left is estimated after so many seconds.
_KNOWN_AFTER = 3.0


class DrawsDone:
    """Counts draws on the standard error stream, and estimates the time left."""

    def __init__(self, total: int, verbose: int) -> None:
        self.done, self.total = 0, total
        self.progress = Progress("FairnessReport", verbose)
        self.start = time.monotonic()

    def __call__(self) -> None:
        """Count a draw."""
        self.done += 1
        text = f"{self.done:,} of {self.total:,} draws"
        if self.done == self.total:
            self.progress.line(text)
            return
        passed = time.monotonic() - self.start
        if passed >= _KNOWN_AFTER:
            text += f", about {duration(passed * (self.total / self.done - 1))} left"
        self.progress.update(text)


def duration(seconds: float) -> str:
    """Write a number of seconds, in minutes or hours where it is large."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _drawn_keys(sample: Sample, found: Mapping[str, Located]) -> dict[str, list[str]]:
    """Metrics by question that are computed in draws, where DCP is found fast."""
    n_groups, n_classes = len(sample.groups.labels), len(sample.audit.classes) or 2
    few = comb(n_groups + n_classes - 2, n_classes - 1) <= _FEW_VERTICES
    keys: dict[str, list[str]] = {}
    for key, one in found.items():
        if not math.isnan(one.value) and (few or key != "dcp"):
            keys.setdefault(MEASURES[key].question, []).append(key)
    return keys


def _count_draws(sample: Sample, keys: Mapping[str, list[str]]) -> int:
    """Count permutations of each question, and resamples."""
    options = sample.audit.options
    resampled = [k for of in keys.values() for k in of if not MEASURES[k].bounded]
    return len(keys) * options.n_permutations + len(resampled) * options.n_resamples


def bounds(sample: Sample, found: Mapping[str, Located]) -> dict[str, Numbers]:
    """Find the intervals of the metrics whose noise has a bound."""
    tail = (1 - sample.audit.options.confidence_level) / 2
    values = {key: one.value for key, one in found.items()}
    results = {key: dict(NOTHING) for key in found}
    defined = [key for key, value in values.items() if not math.isnan(value)]
    with ignore_undefined():
        # The report says itself why a metric is undefined.
        for key, compared in compare_metrics(sample, defined):
            # Up to rounding, the metric is computed in another way there.
            results[key] |= {
                "lower": min(lower_bound(compared, tail), values[key]),
                "upper": max(upper_bound(compared, tail), values[key]),
                "certified": upper_bound(compared, 2 * tail),
            }
    return results


def gaps_beside_first(sample: Sample, first: Sample) -> dict[str, tuple[float, float]]:
    """Interval of what each gap has more than that of the first model, by metric.

    Rows are paired; counted ones cannot be. Where groups are small, the intervals of
    the two gaps tell more: each end is the better of both, at half the error each. The
    gap of decisions, 0 or 1, is the difference of selection rates.
    """
    audit, model, other = sample.audit, sample.model, first.model
    if model is other or audit.rows.n is not None or not sample.comparable:
        return {}
    compared: dict[str, tuple[Any, Any]] = {
        "demographic_parity_difference": (model.y_pred, other.y_pred)
    }
    if model.y_score is not None and other.y_score is not None:
        compared["mcdp"] = model.y_score, other.y_score
    keys = [key for key in compared if key in sample.keys]
    rows = np.flatnonzero(sample.groups.codes >= 0)
    weights = audit.entry_weights[rows]
    tail = (1 - audit.options.confidence_level) / 2
    given = sample.groups.codes[rows], weights.astype(float), 1 - tail
    own, others = (dict(compare_metrics(one, keys)) for one in (sample, first))
    found = {}
    for key in keys:
        of_model, of_first = (values[rows] for values in compared[key])
        low, high = gap_interval(
            of_model, of_first, *given, sample.attribute.comparison
        )
        ends = [
            bound(one[key], tail / 4)
            for one in (own, others)
            for bound in (lower_bound, upper_bound)
        ]
        found[key] = max(low, ends[0] - ends[3]), min(high, ends[1] - ends[2])
    return found


def uncertainties(found: Found) -> list[dict[str, Numbers]]:
    """Find intervals and p-values of the metrics of samples of the same rows.

    Undefined metrics have none.
    """
    keys = [_drawn_keys(*one) for one in found]
    samples = [sample for sample, _ in found]
    total = sum(map(_count_draws, samples, keys))
    done = DrawsDone(total, samples[0].audit.options.verbose if samples else 0)
    permuted: dict[Any, list[Integers]] = {}
    return [
        _uncertainty(sample, values, of_sample, done, permuted)
        for (sample, values), of_sample in zip(found, keys, strict=True)
    ]


def _uncertainty(
    sample: Sample,
    found: Mapping[str, Located],
    keys: Mapping[str, list[str]],
    done: DrawsDone,
    permuted: dict[Any, list[Integers]],
) -> dict[str, Numbers]:
    """Find intervals and p-values of the metrics of a sample, by question."""
    results = bounds(sample, found)
    with ignore_undefined():
        # The report says itself why a metric is undefined.
        resampled: dict[str, Drawn] = {}
        for question, of_question in keys.items():
            rows = sample.drawn_from(question)
            tests = permute(sample, of_question, rows, done, permuted)
            for key, test in tests.items():
                results[key] |= _test_of(test, sample)
            resampled |= {k: rows for k in of_question if not MEASURES[k].bounded}
        for key, values in _resample(sample, resampled, done).items():
            rows, value = resampled[key], found[key].value
            # Joined weights move the draws of a metric as they move its value.
            moved = value - rows.evaluate(MEASURES[key].drawn(sample))
            results[key] |= _ends(sample, value, values, moved)
    return results


def permute(
    sample: Sample,
    keys: Collection[str],
    rows: Drawn,
    tick: Callable[[], Any] = lambda: None,
    permuted: dict[Any, list[Integers]] | None = None,
) -> dict[str, PermutationTestResult]:
    """Test metrics of one question on permutations, of which there may be none.

    Permutations of rows are kept in `permuted`, and taken from there.
    """
    options = sample.audit.options
    if not options.n_permutations:
        return {}
    metrics = [MEASURES[key].drawn(sample) for key in keys]
    draw = permutations("auto", metrics[0], rows)
    if rows.rows.n is None and permuted is not None:
        draw = _permute_once(rows, metrics[0], options, permuted) or draw
    results = permutation_tests(
        metrics,
        [rows.evaluate(metric) for metric in metrics],
        rows,
        draw,
        units=[MEASURES[key].unit_of(sample) for key in keys],
        n_permutations=options.n_permutations,
        generator=check_seed(options.random_state),
        n_jobs=options.n_jobs,
        tick=tick,
    )
    return dict(zip(keys, results, strict=True))


def _permute_once(
    drawn: Drawn, metric: Metric, options: Any, permuted: dict[Any, list[Integers]]
) -> Callable[[Any], Drawn] | None:
    """Return what permutes groups, with permutations that are drawn once.

    None where they take much memory, or where groups decide which rows are permuted.
    """
    n, groups = options.n_permutations, drawn.rows.groups
    if n * len(groups) > _MAX_PERMUTED or specification_of(metric)[0].permuted_in:
        return None
    strata = permuted_strata("auto", metric, drawn.rows)
    key = tuple(part.tobytes() for part in strata)
    if key not in permuted:
        generator = check_seed(options.random_state)
        every = np.arange(len(groups), dtype=np.int32)
        permuted[key] = [
            np.asarray(shuffled_codes(every, strata, generator)) for _ in range(n)
        ]
    left = iter(permuted[key])

    def draw(generator: Any) -> Drawn:
        codes = groups.codes.take(next(left))  # faster than by an index of 32 bits
        rows = drawn.rows.with_groups(replace(groups, codes=codes))
        return replace(drawn, rows=rows)

    return draw


def _test_of(test: PermutationTestResult, sample: Sample) -> Numbers:
    """Return the numbers of a test, one if too many permutations are undefined."""
    undefined = float(np.isnan(test.null_distribution).mean())
    if 1 - undefined < ENOUGH:
        return {"without_test": undefined}
    pairs = _pairs_beyond_chance(test, sample)
    return {
        "null_mean": pairs[0]["null_mean"] if pairs else test.null_mean,
        "pvalue": test.pvalue,
        "without_test": undefined,
        "pairs": pairs,
    }


def _pairs_beyond_chance(
    test: PermutationTestResult, sample: Sample
) -> list[dict[str, Any]]:
    """Name the pair that decides a test, and all others that are beyond chance.

    Of two classes, either predicted one has the same gaps.
    """
    classes, found = sample.audit.classes, dict[Any, dict[str, Any]]()

    for row in test.pairs.to_dict("records"):
        if found and row["pvalue"] > LEVEL * (1 + 1e-9):
            break
        cell = None
        if "label" in row:
            true, predicted = (classes.index(row[x]) for x in ("label", "prediction"))
            cell = [true, 1 if sample.audit.binary else predicted]
        names = [
            None if row[name] is None else label_text(row[name])
            for name in ("group", "other")
        ]
        found.setdefault(
            (*names, str(cell), row.get("stratum")),
            {
                "pair": names,
                "classes": cell,
                "gap": float(row["gap"]),
                "null_mean": or_none(row["by_chance"]),
                "pvalue": float(row["pvalue"]),
            },
        )
    return [*found.values()]


def _resample(
    sample: Sample, rows: Mapping[str, Drawn], tick: Callable[[], Any]
) -> dict[str, Any]:
    """Values of metrics on resamples of their rows, the same ones for all metrics."""
    if not rows:
        return {}
    options = sample.audit.options
    metrics = [MEASURES[key].drawn(sample) for key in rows]
    draw = resamples_of_all([*rows.values()], options.random_state)

    def tick_each() -> None:
        for _ in rows:
            tick()

    drawn = (draw() for _ in range(options.n_resamples))
    values = evaluate_each(metrics, drawn, n_jobs=options.n_jobs, tick=tick_each)
    return dict(zip(rows, values.T, strict=True))


def _ends(sample: Sample, value: float, values: Any, moved: float) -> Numbers:
    """Compute the interval of resamples, unless too many are undefined."""
    defined = values[~np.isnan(values)] + moved
    if len(defined) < ENOUGH * len(values):
        return {}
    low, high = basic_interval(value, defined, sample.audit.options.confidence_level)
    # Noise adds to a disparity, so the interval may lie below the value.
    return {"lower": min(low, value), "upper": max(high, value)}


def compare_metrics(
    sample: Sample, keys: Collection[str], everyone: Sample | None = None
) -> Iterator[tuple[str, Comparisons]]:
    """Find once what each metric compares whose noise has a bound.

    Options of metrics are those of everyone, where the sample is a part of it.
    """
    known = sample.comparisons
    for key in keys:
        if MEASURES[key].bounded:
            if key not in known:
                metric = MEASURES[key].metric_of(everyone or sample)
                known[key] = _compare(sample, key, metric)
            yield key, known[key]


def _compare(sample: Sample, key: str, metric: Metric) -> Comparisons:
    """Find what a metric compares.

    Error rates are compared by true label, each of the groups with enough rows of it.
    """
    observed = _observe(sample, key)
    if MEASURES[key].question != "errors":
        return compare(metric, observed, "band")
    parts = [compare(metric, one, "band") for one in _split_by_label(observed)]
    return join(parts, None) if parts else UNDEFINED


def _observe(sample: Sample, key: str) -> Observed:
    """Return the statistic of a metric, and what its noise depends on."""
    audit, measure = sample.audit, MEASURES[key]
    of_scores = specification_of(measure.metric)[0].statistic is GroupedScores
    if of_scores or audit.of_numbers:
        statistic = sample.statistic(measure.question)
        return Observed(statistic, sample.effective_sizes())
    if measure.question == "errors":
        sizes = sample.effective_sizes(audit.y_true, len(audit.classes))
        return Observed(
            sample.statistic("errors"), sizes.reshape(-1, len(audit.classes))
        )
    if measure.question == "decisions":
        return Observed(
            sample.statistic("decisions"), sample.statistic("decisions").effective_sizes
        )
    scores = sample.model.y_score
    assert scores is not None
    statistic = count_outcomes(audit, scores, sample.groups)
    squares = GroupedOutcomes.from_outcomes(
        scores**2, sensitive_features=sample.groups, sample_weight=audit.rows.totals
    )
    return Observed(statistic, statistic.effective_sizes, squares.means)


def _split_by_label(observed: Observed) -> Iterator[Observed]:
    """Rates of errors of each true label, of the groups with enough rows of it."""
    statistic = observed.statistic
    for label, kept in enumerate(comparable_cells(statistic).T):
        if kept.any():
            own = np.arange(len(statistic.classes)) == label
            of_label = replace(
                statistic,
                matrices=statistic.matrices[kept] * own[:, np.newaxis],
                label_counts=statistic.label_counts[kept] * own,
                labels=tuple(compress(statistic.labels, kept)),
            )
            yield observed._replace(statistic=of_label, sizes=observed.sizes[kept])


def parts_by_stratum(sample: Sample) -> list[Part]:
    """Split the entries that have a group by stratum."""
    rows = replace(sample.rows, strata=sample.audit.strata)
    return [(label, sample.at(entries)) for label, entries in rows.by_stratum()]


def values_within_strata(
    sample: Sample, parts: Sequence[Part], tested: bool = True
) -> list[Numbers]:
    """Of each metric the largest value over some strata, and their mean.

    Tests draw rows, so they are left out where the report draws counts. DCP is not
    computed within strata: its search takes too long to be repeated.
    """
    keys = [key for key in sample.keys if MEASURES[key].bounded]
    compared: dict[str, list[tuple[Part, Comparisons]]] = {key: [] for key in keys}
    with warnings.catch_warnings():
        # The report says itself what is left out.
        warnings.simplefilter("ignore")
        for part in parts:
            for key, one in compare_metrics(part[1], keys, sample):
                if not math.isnan(one.value):
                    compared[key].append((part, one))
        tests = _tests_within(sample, parts if tested else (), keys)
    return [
        {"key": key, **_combine(sample, compared[key]), **tests[key]} for key in keys
    ]


def _combine(sample: Sample, found: list[tuple[Part, Comparisons]]) -> Numbers:
    """Largest value, its stratum and interval, and the mean; None without a stratum."""
    if not found:
        return dict.fromkeys(("value", "stratum", "mean", "lower", "upper"))
    tail = (1 - sample.audit.options.confidence_level) / 2
    compared = join([one for _, one in found], None)
    values = np.array([one.value for _, one in found])
    totals = [part.audit.entry_weights.sum() for (_, part), _ in found]
    weights = np.array(totals, float)
    return {
        "value": compared.value,
        "stratum": label_text(found[int(values.argmax())][0][0]),
        "mean": float(weights / weights.sum() @ values),
        "lower": lower_bound(compared, tail),
        "upper": upper_bound(compared, tail),
    }


def _tests_within(
    sample: Sample, parts: Sequence[Part], keys: Sequence[str]
) -> dict[str, Numbers]:
    """Mean of each metric under permutations within strata, its p-value and pair."""
    results: dict[str, Numbers] = {key: dict.fromkeys(OF_TESTS) for key in keys}
    if sample.audit.counts_are_drawn or not parts:
        return results
    for question in dict.fromkeys(MEASURES[key].question for key in keys):
        rows = _rows_in_strata(sample, parts, question)
        of_question = [key for key in keys if MEASURES[key].question == question]
        for key, test in permute(sample, of_question, rows).items():
            numbers = NOTHING | _test_of(test, sample)
            results[key] |= {name: numbers[name] for name in ("null_mean", "pvalue")}
            if numbers["pairs"]:
                first = test.pairs.iloc[0]
                label = label_text(parts[int(first.get("stratum", 0))][0])
                results[key]["pair"] = {"stratum": label, **numbers["pairs"][0]}
    return results


def _rows_in_strata(sample: Sample, parts: Sequence[Part], question: str) -> Drawn:
    """Rows that have a group and a stratum, whose groups are permuted within strata."""
    strata, attribute = sample.audit.strata, sample.attribute
    assert strata is not None
    codes = np.where(strata.codes < 0, -1, attribute.groups.codes)
    groups = set_aside("", replace(attribute.groups, codes=codes), None).groups
    rows = replace(sample.drawn_from(question).rows, groups=groups, strata=strata)
    return Drawn(rows, tuple(part.countable(question) for _, part in parts))
