"""Numbers of a report: of metrics, of everyone and within strata, and performances.

Rows are drawn as `permutation_test` and `bootstrap_interval` draw them, so that either
returns the numbers of the report. Of many rows counts are drawn.
"""

from __future__ import annotations

import math
import time
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from skfair._comparison import average_precision
from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._progress import Progress
from skfair._utils._text import label_text, nan_to_none
from skfair.groups import keep_labels
from skfair.metrics import PermutationTestResult
from skfair.metrics._confidence_interval import (
    join_comparisons,
    lower_bound,
    upper_bound,
)
from skfair.metrics._metric import Metric, MetricOfPairs
from skfair.metrics._pairs import MAX_PAIRWISE, Located
from skfair.metrics._permutation import permutation_tests, permuted_sample
from skfair.metrics._quantiles import UNDEFINED, Comparisons, Observed
from skfair.metrics._rate_intervals import wilson_interval
from skfair.metrics._rates import comparable_cells
from skfair.metrics._resampling import (
    ENOUGH,
    basic_interval,
    check_seed,
    read_each,
    value_of,
)
from skfair.metrics._sample import Sample, SamplePart
from skfair.model_selection._model_comparison import (
    Model,
    changes_by_a_row,
    gap_interval,
    loss_moments,
    rate_gap_interval,
    worst_loss,
)
from skfair.report._inputs import LEVEL, Audit, ReportModel, large_groups
from skfair.report._metrics import MEASURES, ReportSample, count_outcomes, tested_keys

#: DCP is computed again in each draw where its exact search, which enumerates
#: vertices, takes milliseconds.
_FEW_VERTICES = 1000

#: Numbers of a metric by name; None where one is undefined.
NamedNumbers = dict[str, Any]
#: Label and sample of a stratum.
Stratum = tuple[Hashable, ReportSample]

#: Entries of a row of a table of strata that are drawn.
OF_TESTS = ("null_mean", "pvalue", "pair")
#: Interval, certificate and test of a metric without any. Of a metric that compares
#: pairs of groups, `null_mean` is that of the gap that decides the test: the first of
#: `pairs`, which has all gaps beyond chance. `without_test` is the share of
#: permutations in which the metric is undefined; `furthest` is the pair with its value.
NOTHING: NamedNumbers = {
    **dict.fromkeys(("lower", "upper", "certified")),
    **dict.fromkeys(("null_mean", "pvalue", "without_test", "furthest")),
    "pairs": [],
}
#: The time left is estimated after so many seconds.
_KNOWN_AFTER = 3.0
#: Figures of a model by name, each with the influence of each row.
_Figures = dict[str, tuple[float, Floats]]
#: Values of a model and of the first, and groups and weights, of the same rows.
_Paired = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
#: Figures of a model, and their changes by another row.
_Compared = tuple[_Figures, dict[str, Floats]]

#: Rows of a bin of scores, at least, and number of bins, at most.
_ROWS_OF_BIN, _MOST_BINS = 100, 10
#: Figures that are shares.
_SHARES = "accuracy", "balanced_accuracy", "average_precision"
#: Figures of predicted labels and scores, in the order of tables.
_FIGURES = (*_SHARES, "log_loss", "score_excess")


class DrawsDone:
    """Counts draws on the standard error stream, and estimates the time left."""

    def __init__(self, total: int, verbose: int) -> None:
        self.done, self.total = 0, total
        self.progress = Progress("FairnessReport", verbose)
        self.start = time.monotonic()

    def __call__(self, n: int) -> None:
        """Add a number of draws to those that are done."""
        if not self.progress.verbose:
            return
        self.done += n
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


def _drawn_keys(
    sample: ReportSample, located: Mapping[str, Located]
) -> dict[str, list[str]]:
    """Return the metrics that are computed in draws, by question."""
    n_groups, n_classes = len(sample.groups.labels), len(sample.audit.classes) or 2
    n_vertices = comb(n_groups + n_classes - 2, n_classes - 1)
    few = n_groups <= MAX_PAIRWISE and n_vertices <= _FEW_VERTICES
    keys: dict[str, list[str]] = {}
    for key, gap in located.items():
        if not math.isnan(gap.value) and (few or key != "dcp"):
            keys.setdefault(MEASURES[key].question, []).append(key)
    return keys


def _count_draws(
    sample: ReportSample, located: Mapping[str, Located], keys: Mapping[str, list[str]]
) -> int:
    """Return the number of draws: permutations of each question, and resamples."""
    options, tested = sample.audit.options, tested_keys(sample, located)
    n_kinds = sum(
        len(_tested_together(sample, [key for key in of if key in tested]))
        for of in keys.values()
    )
    resampled = [k for of in keys.values() for k in of if not MEASURES[k].bounded]
    return n_kinds * options.n_permutations + len(resampled) * options.n_resamples


def _bounds(
    sample: ReportSample, located: Mapping[str, Located]
) -> dict[str, NamedNumbers]:
    """Return intervals of the metrics whose noise has a bound, without draws."""
    tail = (1 - sample.audit.options.confidence_level) / 2
    values = {key: gap.value for key, gap in located.items()}
    results = {key: dict(NOTHING) for key in located}
    defined = [key for key, value in values.items() if not math.isnan(value)]
    for key, compared in compare_metrics(sample, defined):
        # Up to rounding, the metric is computed in another way there.
        results[key] |= {
            "lower": min(lower_bound(compared, tail), values[key]),
            "upper": max(upper_bound(compared, tail), values[key]),
            "certified": upper_bound(compared, 2 * tail),
        }
    return results


def gaps_beside_first(
    sample: ReportSample, first: ReportSample, keys: Iterable[str]
) -> dict[str, tuple[float, float]]:
    """Return intervals of the gaps minus the first model's gaps, by metric.

    Both models must predict the same rows. There are no intervals where rows are
    counted, or where people have several rows.
    """
    audit = sample.audit
    if sample.model is first.model or not audit.pairs_models:
        return {}
    intervals = {}
    for key in (key for key in keys if MEASURES[key].bounded):
        compared = [*_paired_values(sample, first, key)]
        if compared and key != "mcdp" and sample.comparison == "pairwise":
            sizes = [len(codes) for _, _, codes, _ in compared]
            strata = np.repeat(np.arange(len(sizes)), sizes)
            columns = [np.concatenate(parts) for parts in zip(*compared, strict=True)]
            own, other, codes, weights = columns
            level = audit.options.confidence_level
            intervals[key] = rate_gap_interval(
                own, other, codes, weights, level, strata
            )
        else:
            intervals[key] = _bound_change(sample, first, key, compared)
    return intervals


def _bound_change(
    sample: ReportSample,
    first: ReportSample,
    key: str,
    compared: Sequence[_Paired],
) -> tuple[float, float]:
    """Bound the change of a gap, whose place is found on a part of the rows.

    In small groups the intervals of the two gaps may tell more. So each end is the
    better of two bounds, each with half of the error.
    """
    options = sample.audit.options
    tail = (1 - options.confidence_level) / 2
    both = (dict(compare_metrics(side, [key]))[key] for side in (sample, first))
    ends = [
        bound(gap, tail / 4) for gap in both for bound in (lower_bound, upper_bound)
    ]
    parts = [gap_interval(*each, 1 - tail, sample.comparison) for each in compared]
    # The largest of several gaps changes by no more than one of them, for which alone
    # an end has to hold.
    low = min((low for low, _ in parts), default=-math.inf)
    high = max((high for _, high in parts), default=math.inf)
    return max(low, ends[0] - ends[3]), min(high, ends[1] - ends[2])


def _paired_values(
    sample: ReportSample, first: ReportSample, key: str
) -> Iterator[_Paired]:
    """Yield the values of both models, with groups and weights.

    The values are scores, or decisions (0 or 1), whose gap is a difference of rates.
    Errors have an entry for each true label.
    """
    audit, labels = sample.audit, list[int | None]([None])
    own: NDArray[Any] = sample.model.y_pred
    other: NDArray[Any] = first.model.y_pred
    if key == "mcdp":
        assert sample.model.y_score is not None
        assert first.model.y_score is not None
        own, other = sample.model.y_score, first.model.y_score
    elif key == "equalized_odds_difference" and audit.binary:
        labels = [0, 1]
    elif key != "demographic_parity_difference":
        return
    for label in labels:
        codes = sample.groups.codes
        if label is not None:
            enough = comparable_cells(sample.statistic("errors"))[:, label]
            kept = (codes >= 0) & enough[codes] & (audit.y_true == label)
            codes = np.where(kept, codes, -1)
        rows = np.flatnonzero(codes >= 0)
        if len(np.unique(codes[rows])) > 1:
            weights = audit.entry_weights[rows].astype(float)
            yield own[rows], other[rows], codes[rows], weights


def has_pair_intervals(sample: ReportSample, key: str) -> bool:
    """Return whether a metric can have an interval for each pair of groups.

    The metric must answer a question. ABCC of ranks has none, since ranks among the
    rows of a pair differ from ranks among all rows.
    """
    measure = MEASURES[key]
    ranked = sample.audit.options.scale == "rank" and key == "abcc"
    return (
        measure.compares_pairs
        and measure.bounded
        and measure.rank is not None
        and not ranked
    )


def compare_pair(
    sample: ReportSample,
    key: str,
    pair: Sequence[int | None],
    classes: Sequence[int] | None,
) -> tuple[Located, tuple[float, float]]:
    """Locate the gap of one pair of groups; for error rates, of one true label.

    The second group may be None, for everyone. The intervals of all pairs, and of all
    true labels, hold at once.
    """
    n_groups = len(sample.groups.labels)
    n_intervals = n_groups if None in pair else comb(n_groups, 2)
    part = sample
    if classes is not None:
        n_intervals *= len(sample.audit.classes)
        part = sample.take(np.flatnonzero(sample.audit.y_true == classes[0]))
    places = [g if g is None else _place_of(part, sample, g) for g in pair]
    two = _two_groups(part, places)
    ((_, compared),) = compare_metrics(two, [key])
    found = MEASURES[key].located(two)
    if pair[1] is None:
        found, compared = _compare_with_everyone(two, found, compared)
    first, second = found.pair
    ours, theirs = pair[first], None if second is None else pair[second]
    assert ours is not None
    found = found._replace(pair=(ours, theirs))
    tail = (1 - sample.audit.options.confidence_level) / 2 / n_intervals
    ends = lower_bound(compared, tail), upper_bound(compared, tail)
    return found, (min(ends[0], found.value), max(ends[1], found.value))


def _place_of(part: ReportSample, sample: ReportSample, group: int) -> int:
    """Return the position, in a part of a sample, of a group of the sample."""
    return part.groups.labels.index(sample.groups.labels[group])


def _two_groups(sample: ReportSample, pair: Sequence[int | None]) -> ReportSample:
    """Return the rows of two groups, or of a group and of all others."""
    first, second = pair
    codes = sample.groups.codes
    others = codes >= 0 if second is None else codes == second
    two = np.where(codes == first, 0, np.where(others, 1, -1))
    groups = replace(sample.groups, codes=two, labels=(0, 1), names=())
    return replace(sample, groups=groups)


def _compare_with_everyone(
    two: ReportSample, found: Located, compared: Comparisons
) -> tuple[Located, Comparisons]:
    """Compare a group with everyone, given its comparison with all other people.

    Everyone is a mixture of the group and the others, so that gaps are multiplied by
    the share of the others.
    """
    codes, weights = two.groups.codes, two.audit.entry_weights
    totals = np.bincount(codes[codes >= 0], weights[codes >= 0], 2)
    share = float(totals[1] / totals.sum())
    step = 1 if found.pair == (0, 1) else -1
    (ours, theirs), (n, others) = found.figures[::step], found.sizes[::step]
    beside = found._replace(
        value=share * found.value,
        pair=(0, None),
        figures=(ours, (1 - share) * ours + share * theirs),
        sizes=(n, n + others),
    )
    return beside, compared.scale_to_unit(share)


def uncertainties(
    samples: Sequence[ReportSample], located: Sequence[Mapping[str, Located]]
) -> list[dict[str, NamedNumbers]]:
    """Find intervals and p-values of the metrics of samples of the same rows.

    Metrics that are undefined have neither.
    """
    keys = [*map(_drawn_keys, samples, located)]
    total = sum(map(_count_draws, samples, located, keys))
    done = DrawsDone(total, samples[0].audit.options.verbose if samples else 0)
    return [
        _uncertainty(sample, values, of_sample, done)
        for sample, values, of_sample in zip(samples, located, keys, strict=True)
    ]


def _uncertainty(
    sample: ReportSample,
    located: Mapping[str, Located],
    keys: Mapping[str, list[str]],
    done: DrawsDone,
) -> dict[str, NamedNumbers]:
    """Find intervals and p-values of the metrics of a sample, by question."""
    results, resampled = _bounds(sample, located), dict[str, Sample]()
    tested = tested_keys(sample, located)
    for question, of_question in keys.items():
        rows, counted = sample.drawn_from(question)
        asked = [key for key in of_question if key in tested]
        tests = permute(sample, asked, rows, [counted], done)
        for key, test in tests.items():
            furthest = _pair_with_value(test, sample, located[key])
            results[key] |= _test_of(test, sample) | {"furthest": furthest}
        for key in of_question:
            if not MEASURES[key].bounded:
                resampled[key] = _sample_of(sample, key, rows, [counted])
    for key, values in _resample(sample, resampled, done).items():
        value = located[key].value
        # Joined weights move the draws of a metric as they move its value.
        moved = value - resampled[key].value
        results[key] |= _ends(sample, value, values, moved)
    return results


def _sample_of(
    sample: ReportSample, key: str, rows: Rows, parts: Sequence[Rows]
) -> Sample:
    """Return the rows to draw from, with a metric and its parts of these rows."""
    metric = MEASURES[key].drawn(sample)
    several = len(parts) > 1
    own = (
        SamplePart(p, names={"stratum": i} if several else {})
        for i, p in enumerate(parts)
    )
    return Sample(metric, rows, tuple(own))


def permute(
    sample: ReportSample,
    keys: Collection[str],
    rows: Rows,
    parts: Sequence[Rows],
    tick: Callable[[int], Any] = lambda n: None,
) -> dict[str, PermutationTestResult]:
    """Test the metrics of one question on the same permutations, if there are any.

    They are the permutations that `permutation_test` draws.
    """
    options = sample.audit.options
    results: dict[str, PermutationTestResult] = {}
    for of_kind in _tested_together(sample, keys):
        generator = check_seed(options.random_state)
        first = _sample_of(sample, of_kind[0], rows, parts)
        permuted, blocks = permuted_sample(first, "auto")
        kinds = [MEASURES[key].drawn(sample) for key in of_kind]
        samples = [*map(permuted.replace_metric, kinds)]
        draws = (
            [*map(permuted.permuted(generator, blocks).replace_metric, kinds)]
            for _ in range(options.n_permutations)
        )
        tests = permutation_tests(
            samples,
            draws,
            observed=[each.value for each in samples],
            units=[MEASURES[key].unit_of(sample) for key in of_kind],
            n_permutations=options.n_permutations,
            n_jobs=options.n_jobs,
            tick=tick,
        )
        results |= zip(of_kind, tests, strict=True)
    return {key: results[key] for key in keys if key in results}


def _tested_together(sample: ReportSample, keys: Iterable[str]) -> list[list[str]]:
    """Group the metrics that are tested on the same permutations."""
    kinds: dict[bool, list[str]] = {}
    for key in keys if sample.audit.options.n_permutations else ():
        of_pairs = isinstance(MEASURES[key].drawn(sample), MetricOfPairs)
        kinds.setdefault(of_pairs, []).append(key)
    return [*kinds.values()]


def _test_of(test: PermutationTestResult, sample: ReportSample) -> NamedNumbers:
    """Return the numbers of a test.

    If too many permutations are undefined, their share is the only number.
    """
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
    test: PermutationTestResult, sample: ReportSample
) -> list[dict[str, Any]]:
    """Return the pair that decides a test, and all other pairs beyond chance.

    With two classes, the gaps of one predicted class equal those of the other.
    """
    pairs = dict[Any, dict[str, Any]]()
    for row in test.pairs.to_dict("records"):
        if pairs and row["pvalue"] > LEVEL * (1 + 1e-9):
            break
        pair = _pair_of(row, sample)
        names = *pair["pair"], str(pair["classes"]), row.get("stratum")
        pairs.setdefault(names, pair)
    return [*pairs.values()]


def _pair_of(row: Mapping[str, Any], sample: ReportSample) -> dict[str, Any]:
    """Return a row from the table of pairs of a test; labels become text."""
    classes, cell = sample.audit.classes, None
    if "label" in row:
        true, predicted = (classes.index(row[x]) for x in ("label", "prediction"))
        cell = [true, 1 if sample.audit.binary else predicted]
    names = [
        None if row[name] is None else label_text(row[name])
        for name in ("group", "other")
    ]
    return {
        "pair": names,
        "classes": cell,
        "gap": float(row["gap"]),
        "null_mean": nan_to_none(row["by_chance"]),
        "pvalue": float(row["pvalue"]),
    }


def _pair_with_value(
    test: PermutationTestResult, sample: ReportSample, located: Located
) -> dict[str, Any] | None:
    """Return the pair of groups, and of classes, whose gap is the value of a metric."""
    labels = [label_text(label) for label in sample.groups.labels]
    pair = {None if i is None else labels[i] for i in located.pair}
    for row in test.pairs.to_dict("records"):
        found = _pair_of(row, sample)
        cells = None, list(located.cell or ())
        if {*found["pair"]} == pair and found["classes"] in cells:
            return found
    return None


def _resample(
    sample: ReportSample, samples: Mapping[str, Sample], tick: Callable[[int], Any]
) -> dict[str, Any]:
    """Return the values of metrics on resamples, which all metrics share."""
    if not samples:
        return {}
    options = sample.audit.options
    generators = [check_seed(options.random_state) for _ in samples]

    def draw() -> list[Sample]:
        first, *others = samples.values()
        if sample.audit.counts_are_drawn:  # metrics count other cells of people
            each = zip(samples.values(), generators, strict=True)
            return [own.resampled(generator) for own, generator in each]
        drawn = first.resampled(generators[0])
        return [drawn, *(other.drawn_as(drawn.rows) for other in others)]

    draws = (draw() for _ in range(options.n_resamples))
    values = read_each(
        [value_of] * len(samples),
        draws,
        n_jobs=options.n_jobs,
        tick=lambda n: tick(n * len(samples)),
    )
    return dict(zip(samples, values, strict=True))


def _ends(
    sample: ReportSample, value: float, values: Any, moved: float
) -> NamedNumbers:
    """Compute an interval from resamples, unless too many are undefined."""
    defined = values[~np.isnan(values)] + moved
    if len(defined) < ENOUGH * len(values):
        return {}
    low, high = basic_interval(value, defined, sample.audit.options.confidence_level)
    # Noise adds to a disparity, so the interval may lie below the value.
    return {"lower": min(low, value), "upper": max(high, value)}


def compare_metrics(
    sample: ReportSample, keys: Collection[str], everyone: ReportSample | None = None
) -> Iterator[tuple[str, Comparisons]]:
    """Yield comparisons of groups by each metric whose noise has a bound.

    A comparison is made once and kept. If the sample is a part of `everyone`, metrics
    have the options that they have there.
    """
    comparisons = sample.comparisons
    for key in keys:
        if MEASURES[key].bounded:
            if key not in comparisons:
                metric = MEASURES[key].metric_of(everyone or sample)
                comparisons[key] = _compare(sample, key, metric)
            yield key, comparisons[key]


def _compare(sample: ReportSample, key: str, metric: Metric) -> Comparisons:
    """Compare groups by a metric.

    Error rates are compared within each true label, between groups with enough rows of
    the label.
    """
    observed = _observe(sample, key, metric)
    if MEASURES[key].question != "errors":
        return metric.compare(observed, "band")
    parts = [metric.compare(part, "band") for part in _split_by_label(observed)]
    return join_comparisons(parts, None) if parts else UNDEFINED


def _observe(sample: ReportSample, key: str, metric: Metric) -> Observed:
    """Return the table that a metric reads, and the numbers that set its noise."""
    audit, question, sizes = (
        sample.audit,
        MEASURES[key].question,
        sample.effective_sizes(),
    )
    if key == "mean_score_difference":
        scores = sample.model.y_score
        assert scores is not None
        each = (count_outcomes(audit, x, sample.groups) for x in (scores, scores**2))
        statistic, squares = each
        return Observed(statistic, sizes, squares.means)
    if question == "errors":
        sizes = sample.effective_sizes(audit.y_true, len(audit.classes))
        sizes = sizes.reshape(-1, len(audit.classes))
    return Observed(sample.statistic_for(metric, question), sizes)


def _split_by_label(observed: Observed) -> Iterator[Observed]:
    """Yield the error rates of each true label, in groups with enough such rows."""
    statistic, sizes, squares = observed
    for label, enough in enumerate(comparable_cells(statistic).T):
        if enough.any():
            own = statistic[statistic.y_true == label]
            of_label = replace(own, groups=keep_labels(own.groups, enough)).grouped()
            yield Observed(of_label, sizes[enough], squares)


def parts_by_stratum(sample: ReportSample) -> list[Stratum]:
    """Return the rows of each stratum that have a group."""
    rows = replace(sample.rows, strata=sample.audit.strata)
    return [(label, sample.take(entries)) for label, entries in rows.split_by_stratum()]


def values_within_strata(
    sample: ReportSample, parts: Sequence[Stratum], tested: Collection[str]
) -> list[NamedNumbers]:
    """Return the largest value of each metric over strata, and the mean.

    The metrics in `tested` are also tested, except where the report draws counts, since
    the tests draw rows. DCP is not computed within strata: its search takes too long to
    be repeated.
    """
    keys = [key for key in sample.keys if MEASURES[key].bounded]
    compared: dict[str, list[tuple[Stratum, Comparisons]]] = {key: [] for key in keys}
    for part in parts:
        for key, comparisons in compare_metrics(part[1], keys, sample):
            if not math.isnan(comparisons.value):
                compared[key].append((part, comparisons))
    tests = _tests_within(sample, parts, keys, tested)
    return [
        {"key": key, **_combine(sample, compared[key]), **tests[key]} for key in keys
    ]


def _combine(
    sample: ReportSample, of_parts: list[tuple[Stratum, Comparisons]]
) -> NamedNumbers:
    """Return the largest value over strata, its stratum and interval, and the mean."""
    if not of_parts:
        return dict.fromkeys(("value", "stratum", "mean", "lower", "upper"))
    tail = (1 - sample.audit.options.confidence_level) / 2
    compared = join_comparisons([comparisons for _, comparisons in of_parts], None)
    values = np.array([comparisons.value for _, comparisons in of_parts])
    totals = [part.audit.entry_weights.sum() for (_, part), _ in of_parts]
    weights = np.array(totals, float)
    return {
        "value": compared.value,
        "stratum": label_text(of_parts[int(values.argmax())][0][0]),
        "mean": float(weights / weights.sum() @ values),
        "lower": lower_bound(compared, tail),
        "upper": upper_bound(compared, tail),
    }


def _tests_within(
    sample: ReportSample,
    parts: Sequence[Stratum],
    keys: Sequence[str],
    tested: Collection[str],
) -> dict[str, NamedNumbers]:
    """Test metrics within strata; return null mean, p-value and deciding pair."""
    results: dict[str, NamedNumbers] = {key: dict.fromkeys(OF_TESTS) for key in keys}
    if sample.audit.counts_are_drawn or not parts:
        return results
    by_question: dict[str, list[str]] = {}
    for key in (key for key in keys if key in tested):
        by_question.setdefault(MEASURES[key].question, []).append(key)
    for question, of_question in by_question.items():
        rows, counted = _rows_in_strata(sample, parts, question)
        for key, test in permute(sample, of_question, rows, counted).items():
            numbers = NOTHING | _test_of(test, sample)
            results[key] |= {name: numbers[name] for name in ("null_mean", "pvalue")}
            if numbers["pairs"]:
                first = test.pairs.iloc[0]
                label = label_text(parts[int(first.get("stratum", 0))][0])
                results[key]["pair"] = {"stratum": label, **numbers["pairs"][0]}
    return results


def _rows_in_strata(
    sample: ReportSample, parts: Sequence[Stratum], question: str
) -> tuple[Rows, list[Rows]]:
    """Return the rows that have both a group and a stratum."""
    strata = sample.audit.strata
    assert strata is not None
    codes = np.where(strata.codes < 0, -1, sample.groups.codes)
    groups = large_groups(replace(sample.groups, codes=codes), None)
    rows, _ = sample.drawn_from(question)
    rows = replace(rows, groups=groups, strata=strata)
    return rows, [part.counted(question) for _, part in parts]


def performance(
    audit: Audit, model: ReportModel, rows: Any = slice(None)
) -> NamedNumbers:
    """Return the quality of predictions on some rows, by default on all of them.

    A number is None without the true labels or scores that it needs, if a class has no
    row, or if scores are not probabilities.
    """
    true = None if audit.y_true is None else audit.y_true[rows]
    if audit.compares_numbers:
        return _performance_of_numbers(audit, model, rows, true)
    numbers: NamedNumbers = dict.fromkeys([*_FIGURES, "calibration_error"])
    if true is None:
        return numbers
    weights = audit.entry_weights[rows]
    figures = _figures(audit, model, true, rows, weights)
    numbers |= {name: value for name, (value, _) in figures.items()}
    if model.y_score is not None and audit.options.scale == "probability":
        numbers["calibration_error"] = _calibration_error(
            true == 1, model.y_score[rows], weights, n_rows=audit.count(rows)
        )
    return numbers


def _figures(
    audit: Audit,
    model: ReportModel,
    true: NDArray[Any],
    rows: Any,
    weights: NDArray[Any],
) -> _Figures:
    """Return how well some rows are predicted.

    Each figure comes with the influence of each row: the derivative of the figure in
    the weight of the row.
    """
    total = weights.sum()
    score = None if model.y_score is None else model.y_score[rows]
    if audit.compares_numbers:
        assert score is not None
        errors = (score - true) ** 2
        squares = (true - np.average(true, weights=weights)) ** 2
        error, spread = (np.average(x, weights=weights) for x in (errors, squares))
        if spread == 0:
            return {}
        moved = (error / spread * (squares - spread) - (errors - error)) / spread
        return {"r2": (float(1 - error / spread), moved / total)}
    hits = (true == model.y_pred[rows]).astype(float)
    means = {"accuracy": hits} if model.decides else {}
    if score is not None and audit.options.scale == "probability":
        right = np.where(true == 1, score, 1 - score)
        means["log_loss"] = -np.log(np.clip(right, np.finfo(float).eps, 1))
        means["score_excess"] = score - (true == 1)
    figures: _Figures = {}
    for name, values in means.items():
        mean = np.average(values, weights=weights)
        figures[name] = float(mean), (values - mean) / total
    n_classes = len(audit.classes)
    sizes = np.bincount(true, weights, n_classes)
    if model.decides and sizes.all():
        recalls = np.bincount(true, weights * hits, n_classes) / sizes
        moved = (hits - recalls[true]) / sizes[true] / n_classes
        figures["balanced_accuracy"] = float(recalls.mean()), moved
    if score is not None and sizes[1] > 0:
        positive = (true == 1).astype(float)
        value, slopes = average_precision(positive, score, weights)
        figures["average_precision"] = value, slopes()
    return {name: figures[name] for name in _FIGURES if name in figures}


def _performance_of_numbers(
    audit: Audit, model: ReportModel, rows: Any, true: NDArray[Any] | None
) -> NamedNumbers:
    """Return the performance of predicted numbers.

    These are means with the ends of Student's intervals, and with true numbers also R2.
    """
    assert model.y_score is not None
    values, weights = (
        {"mean_prediction": model.y_score[rows]},
        audit.entry_weights[rows],
    )
    numbers: NamedNumbers = {}
    if true is not None:
        errors = audit.errors_of(model)[rows]
        values |= {"mean_error": errors, "mean_absolute_error": np.abs(errors)}
    size = audit.effective_size(rows)
    for name, each in values.items():
        mean, half = float(np.average(each, weights=weights)), math.nan
        if size > 1:
            probability = (1 + audit.options.confidence_level) / 2
            variance = np.average((each - mean) ** 2, weights=weights) / (size - 1)
            half = float(stdtrit(size - 1, probability) * np.sqrt(variance))
        ends = {"lower": nan_to_none(mean - half), "upper": nan_to_none(mean + half)}
        numbers |= {name: mean, **{f"{name}_{end}": x for end, x in ends.items()}}
    if true is not None:
        figures = _figures(audit, model, true, rows, weights)
        numbers["r2"] = figures["r2"][0] if figures else None
    return numbers


def _calibration_error(
    positive: Bools, scores: Floats, weights: NDArray[Any], n_rows: int
) -> float:
    """Return the mean over bins of |mean score - share of positives|."""
    bins = _bins(scores, weights, n_rows)
    excess = np.bincount(bins, weights * (scores - positive)) / weights.sum()
    return float(np.abs(excess).sum())


def _bins(scores: Floats, weights: NDArray[Any], n_rows: int) -> Integers:
    """Return the bin of each score: bins of the same weight, with 100 rows or more.

    Rows that share a score are in the same bin.
    """
    n_bins = int(np.clip(n_rows // _ROWS_OF_BIN, 1, _MOST_BINS))
    _, codes = np.unique(scores, return_inverse=True)
    sizes = np.bincount(codes, weights)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return np.asarray(np.minimum((middles * n_bins).astype(int), n_bins - 1)[codes])


def performances(
    audit: Audit,
) -> list[tuple[NamedNumbers, dict[str, NamedNumbers] | None]]:
    """Measure the performance of each model, with intervals.

    Where the rows are the same, the difference from the first model is measured, too.
    It is None for the first model, and for models without true labels.
    """
    quantile = float(ndtri((1 + audit.options.confidence_level) / 2))
    compared, true = [], audit.y_true
    for model in audit.models:
        figures: _Figures = {}
        if true is not None:
            rows, weights = slice(None), audit.entry_weights
            figures = _figures(audit, model, true, rows, weights)
        several = len(audit.models) > 1 and figures and audit.pairs_models
        compared.append(
            (figures, _changes(audit, model, [*figures]) if several else {})
        )
    return [
        (
            _add_intervals(audit, model, own[0], quantile),
            _subtract_first(audit, own, compared[0])
            if audit.pairs_models and own is not compared[0]
            else None,
        )
        for model, own in zip(audit.models, compared, strict=True)
    ]


def _add_intervals(
    audit: Audit, model: ReportModel, figures: _Figures, quantile: float
) -> NamedNumbers:
    """Return the performance on all rows, with the ends of each figure's interval.

    Shares have Wilson's interval, for the number of rows that has the share's variance.
    The interval of the calibration error bounds the noise of the bins. All other
    intervals are normal.
    """
    with_ends, everyone = performance(audit, model), np.zeros(len(audit.rows), np.intp)
    for name, (value, influence) in figures.items():
        # The standard error by the infinitesimal jackknife.
        error = float(np.sqrt(audit.squared_sums(influence, everyone)[0]))
        low, high = value - quantile * error, value + quantile * error
        if name in _SHARES:
            size = audit.effective_size()
            if error > 0:
                size = value * (1 - value) / error**2
            level = audit.options.confidence_level
            rate, sizes = np.array([value]), np.array([size])
            (low,), (high,) = wilson_interval(rate, sizes, level)
        with_ends[f"{name}_lower"], with_ends[f"{name}_upper"] = float(low), float(high)
    if with_ends.get("calibration_error") is not None:
        low, high = _ends_of_calibration(audit, model, quantile)
        with_ends["calibration_error_lower"] = low
        with_ends["calibration_error_upper"] = high
    return with_ends


def _ends_of_calibration(
    audit: Audit, model: ReportModel, z: float
) -> tuple[float, float]:
    """Bound the true calibration error, a sum of absolute values over bins.

    The upper end is the sum found plus noise, where each bin has the sign of its true
    value. The lower end is the sum found minus the absolute noise of all bins.
    """
    true, scores, weights = audit.y_true, model.y_score, audit.entry_weights
    assert true is not None
    assert scores is not None
    bins = _bins(scores, weights, audit.n_rows)
    excess, totals = scores - (true == 1), np.bincount(bins, weights)
    sums = np.bincount(bins, weights * excess)
    means = quotients(sums, totals)
    noise = audit.squared_sums(excess - means[bins], bins)
    errors = np.sqrt(noise) / weights.sum()
    value, spread = np.abs(sums).sum() / weights.sum(), np.sqrt((errors**2).sum())
    if audit.rows.cluster is not None:
        spread = errors.sum()  # the noise of a person may be the same in all bins
    most = np.sqrt(2 / np.pi) * errors.sum() + z * np.sqrt(1 - 2 / np.pi) * spread
    return max(float(value - most), 0.0), float(value + z * spread)


def _subtract_first(
    audit: Audit, own: _Compared, first: _Compared
) -> dict[str, NamedNumbers] | None:
    """Return each figure minus the first model's figure, with an interval.

    Rows are paired, so that what both models find difficult cancels. The ends are the
    bounds of `compare_models`, which allow for differences in rows that were not seen.
    """
    differences: dict[str, NamedNumbers] = {}
    probability, squares = (1 + audit.options.confidence_level) / 2, audit.entry_squares
    cubes = squares**2 / np.maximum(audit.entry_weights, np.finfo(float).tiny)
    for name in (name for name in own[0] if name in first[0]):
        (value, moved), (other, moved_first) = own[0][name], first[0][name]
        value, difference = value - other, moved - moved_first
        variance = float(squares @ difference**2)
        third = float(cubes @ difference**3)
        both = own[1][name], first[1][name]
        fall, rise = float(worst_loss(*both)), float(worst_loss(*both[::-1]))
        low = -loss_moments(value, variance, -third, fall).upper_bound(probability)
        high = loss_moments(-value, variance, third, rise).upper_bound(probability)
        differences[name] = {"value": value, "lower": float(low), "upper": float(high)}
    return differences or None


def _changes(audit: Audit, model: ReportModel, names: list[str]) -> dict[str, Floats]:
    """Return how one more row changes each figure, by its true label and response."""
    true, weights = audit.y_true, audit.entry_weights
    assert true is not None
    rows, ones = np.flatnonzero(weights > 0), np.ones(len(weights))
    one_row = audit.entry_squares.sum() / weights.sum()

    def figures(labelled: Integers, chosen: Integers) -> Floats:
        of_rows = weights[labelled].astype(float)
        of_rows[len(rows) :] = one_row
        moved = _figures(audit, model, true[labelled], chosen, of_rows)
        return np.array([moved[name][0] for name in names])

    responses = model.y_pred if model.y_score is None else model.y_score
    order = np.asarray(responses, dtype=float)
    compared = Model(figures, order, order)
    codes = np.unique(true, return_inverse=True)[1].astype(np.intp)
    changes = changes_by_a_row(compared, codes, ones, rows)
    return dict(zip(names, np.moveaxis(changes, -1, 0), strict=True))
