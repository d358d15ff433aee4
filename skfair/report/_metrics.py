"""Metrics of a report: a row of a table has all of each, and what they read of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._text import (
    format_in_unit,
    nan_to_none,
    number,
    percent,
    points,
)
from skfair._utils._validation import check_choice
from skfair.groups import Groups, positions_in, sort_labels
from skfair.metrics import (
    abcc,
    calibration_gap,
    cvar_fairness,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
    mean_absolute_error_difference,
    mean_error_difference,
)
from skfair.metrics._as_metric import as_metric
from skfair.metrics._calibration_gap import CalibrationGap, Steps
from skfair.metrics._dcp import DCP
from skfair.metrics._inputs import Multigroup
from skfair.metrics._many_groups import CVaRFairness, MaxGap
from skfair.metrics._metric import Metric, MetricOfPairs
from skfair.metrics._pairs import NO_PAIR, Located
from skfair.metrics._quantiles import Comparisons
from skfair.metrics._rates import ComparableOdds, DemographicParity
from skfair.metrics._resampling import largest_size
from skfair.report._inputs import (
    Audit,
    ReportModel,
    comparison_of,
    large_groups,
    mid_ranks,
    sizes_of,
)
from skfair.statistics._distributions import Distributions, pooled_ranks

#: Questions about numbers.
_OF_NUMBERS = ("scores", "mean errors", "absolute errors")
#: Level of CVaR fairness, and half the length of the window of MCDP, in a report.
ALPHA, EPSILON = 0.9, 0.05
PARAMETERS = {"alpha": ALPHA, "epsilon": EPSILON}
#: Seconds after which the search for a certificate of DCP ends.
DCP_SECONDS = 20.0
#: More distinct scores than this are joined to as many cells; with weights, there are
#: as many cells of score and weight.
_MAX_SCORES = 2**14
#: More distinct weights than this are joined to as many. The sum of the squares of
#: lognormal weights with sigma = 1, on which intervals depend, falls by .9 %.
_MAX_WEIGHTS = 32


@dataclass(frozen=True, eq=False)
class ReportSample:
    """Rows of one model and one attribute, and the metrics to compute.

    Metrics of scores are computed from distributions, the calibration gap from `Steps`,
    and all other metrics from rows.
    """

    audit: Audit
    model: ReportModel
    #: Name of the attribute, all of its groups, and those that are compared.
    attribute: str
    every: Groups
    groups: Groups
    keys: tuple[str, ...]
    #: What metrics compare, by key, of those for which it was asked.
    comparisons: dict[str, Comparisons] = field(default_factory=dict, init=False)
    #: Statistics by question, of those for which it was asked.
    _statistics: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def comparison(self) -> Multigroup:
        """How groups are compared."""
        return comparison_of(self.groups)

    @property
    def sizes(self) -> Integers:
        """Number of rows of the groups that are compared."""
        return sizes_of(self.groups, self.audit.rows.n)

    @property
    def aside(self) -> list[tuple[Hashable, int]]:
        """Labels and numbers of rows of the groups too small to compare."""
        sizes = sizes_of(self.every, self.audit.rows.n).tolist()
        compared = {*self.groups.labels}
        of_groups = zip(self.every.labels, sizes, strict=True)
        return [(label, size) for label, size in of_groups if label not in compared]

    @property
    def comparable(self) -> bool:
        """Whether there are two groups to compare."""
        return len(self.groups.labels) > 1

    def take(self, entries: Integers) -> ReportSample:
        """Return the sample of some rows, without groups that are too small."""
        model = self.model.take(entries)
        audit = self.audit.take(entries, model)
        every = self.groups[entries]
        groups = large_groups(every, audit.rows.n)
        return replace(self, model=model, audit=audit, every=every, groups=groups)

    @cached_property
    def rows(self) -> Rows:
        """Entries with their groups, true classes and decisions."""
        true = None if self.audit.compares_numbers else self.audit.y_true
        return replace(
            self.audit.rows, groups=self.groups, y_true=true, y_pred=self.model.y_pred
        )

    def counted(self, question: str) -> Rows:
        """Return the rows as the metrics of a question count them."""
        rows = self.rows
        if question in _OF_NUMBERS:
            numbers = self._numbers(question)
            return replace(rows, y_true=None, y_pred=numbers).ordered()
        if question == "calibration":
            scores = self.model.y_score
            positive = np.asarray(self.audit.y_true == 1, dtype=np.float64)
            return replace(rows, y_true=positive, y_pred=scores).ordered()
        return rows if question == "errors" else replace(rows, y_true=None)

    def _numbers(self, question: str) -> NDArray[Any]:
        """Return the scores, or errors of numbers, that a question is about."""
        if question == "scores":
            assert self.model.y_score is not None
            return self.model.y_score
        errors = self.audit.errors_of(self.model)
        return errors if question == "mean errors" else np.abs(errors)

    def statistic(self, question: str) -> Any:
        """Return the statistic that metrics of a question read."""
        if question not in self._statistics:
            statistic: Any = self.counted(question).grouped()
            if question == "calibration":
                statistic = Steps.from_rows(statistic)
            if question == "scores":
                statistic = Distributions.from_rows(statistic)
                if self.audit.options.scale == "rank":
                    statistic = pooled_ranks(statistic)
            self._statistics[question] = statistic
        return self._statistics[question]

    def statistic_for(self, metric: Metric, question: str) -> Any:
        """Return the table that a metric reads: distributions or rows."""
        if question == "scores" and not metric.compares_distributions:
            return self.counted(question).grouped()
        return self.statistic(question)

    @cached_property
    def baseline(self) -> tuple[float, list[float] | None]:
        """DCP, and its bounds if the search for a certificate ended early."""
        searched = DCP(time_limit=DCP_SECONDS).search(self.statistic("errors"))
        bounds = None if searched.optimal else [searched.lower, searched.upper]
        return searched.upper, bounds

    def effective_sizes(self, codes: Any = 0, n_codes: int = 1) -> Floats:
        """Return Kish's effective number of each group, or of each code in each group.

        It counts rows, or people where people have several rows.
        """
        of_groups = self.groups.codes.astype(np.intp)
        cells = np.where(of_groups < 0, -1, of_groups * n_codes + codes)
        labels = tuple(range(len(self.groups.labels) * n_codes))
        return self.rows.replace_groups(Groups(cells, labels)).effective_sizes

    def drawn_from(self, question: str) -> tuple[Rows, Rows]:
        """Return the rows whose groups are permuted; cells where there are many rows.

        The same rows are returned a second time as the metrics of the question read
        them.
        """
        if self.audit.counts_are_drawn:
            return self._cells(question)
        audit, rows = self.audit, self.rows
        true = rows.y_true
        if true is not None:
            # In the order of permutation_test, whichever class is positive.
            order = positions_in(tuple(sort_labels(audit.classes)), audit.classes)
            true = order[true]
        scores = self.model.y_score if question == "calibration" else rows.y_pred
        rows = replace(rows, y_true=true, y_pred=scores)
        return rows, self.counted(question)

    def _cells(self, question: str) -> tuple[Rows, Rows]:
        """Count rows by group, by class or score, and by weight.

        Close scores are joined to one score, and close weights to one weight.
        """
        weight_classes, weights = _join_weights(self.audit)
        compares_numbers = question in _OF_NUMBERS
        asked = question if compares_numbers else "scores"
        true: Any = None
        predicted: Any
        if question == "decisions":
            cells, n_cells, predicted = self.model.y_pred, 2, np.arange(2)
        elif question == "errors":
            n = len(self.audit.classes)
            cells, n_cells = self.rows.label_pairs, n**2
            true, predicted = np.divmod(np.arange(n_cells), n)
        else:
            scores, cells = self._join_scores(asked, len(weights))
            n_cells, predicted = len(scores), scores
        if question == "calibration":
            assert self.audit.y_true is not None
            cells, n_cells = 2 * cells + self.audit.y_true, 2 * len(scores)
            true, predicted = np.tile([0, 1], len(scores)), np.repeat(scores, 2)
        grouped = np.flatnonzero(self.groups.codes >= 0)
        shape = len(self.groups.labels), n_cells * len(weights)
        places = self.groups.codes[grouped].astype(np.intp) * n_cells + cells[grouped]
        places = places * len(weights) + weight_classes[grouped]
        numbers = _count_rows_in_cells(places, math.prod(shape), self.audit, grouped)
        of_cells = Rows(
            self.groups[np.zeros(shape[1], np.intp)],
            y_true=None if true is None else np.repeat(true, len(weights)),
            y_pred=np.repeat(predicted, len(weights)),
            person_weight=np.tile(weights, n_cells) if self.audit.weighted else None,
            classes=self.audit.classes,
        )
        rows = of_cells.replace_counts(numbers.reshape(shape))
        return rows, rows

    def _join_scores(self, question: str, n_weights: int) -> tuple[Floats, Integers]:
        """Join close scores to cells; return the mean of each cell, and cells of rows.

        All cells have about the same number of rows. The cell of a row without a group
        has no meaning.
        """
        grouped = np.flatnonzero(self.groups.codes >= 0)
        values = self._numbers(question)[grouped]
        if self.audit.options.scale == "rank":
            weights = self.audit.rows.mass
            values = mid_ranks(values, None if weights is None else weights[grouped])
        distinct, positions = np.unique(values, return_inverse=True)
        totals = _count_rows_in_cells(positions, len(distinct), self.audit, grouped)
        starts = np.arange(len(distinct))
        if len(starts) > _MAX_SCORES // n_weights:
            n_cells = _MAX_SCORES // n_weights
            even = np.linspace(0, totals.sum(), n_cells, endpoint=False)
            edges = np.searchsorted(np.cumsum(totals), even, side="right")
            starts = np.unique(np.append(edges, 0))
        means = np.add.reduceat(totals * distinct, starts)
        means /= np.add.reduceat(totals, starts)
        last = np.append(starts[1:], len(totals)) - 1
        means = np.clip(means, distinct[starts], distinct[last])
        cells = np.zeros(len(self.groups), dtype=np.intp)
        cells[grouped] = np.searchsorted(starts, positions, side="right") - 1
        return means, cells


def count_outcomes(audit: Audit, outcomes: NDArray[Any], groups: Groups) -> Rows:
    """Return the rows that have a group, with outcomes in [0, 1] as predictions."""
    rows = replace(audit.rows, groups=groups, y_pred=outcomes.astype(float))
    return rows.grouped()


def _count_rows_in_cells(
    cells: Integers, n_cells: int, audit: Audit, entries: Integers
) -> NDArray[np.int64]:
    """Count the rows of some entries in numbered cells."""
    return np.bincount(cells, audit.entry_rows[entries], n_cells).astype(np.int64)


def _join_weights(audit: Audit) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Put rows of nearly equal weight in classes; return these, and their weights.

    If there are too many distinct weights, close weights are replaced by their mean.
    Fewer large weights are joined, so that all classes have about the same sum of
    squares.
    """
    rows = audit.rows
    if rows.weight is None:
        return np.zeros(len(rows), dtype=np.intp), np.ones(1, dtype=np.int64)
    each: Any = rows.weight if rows.n is None else rows.person_weight
    distinct, weight_classes = np.unique(each, return_inverse=True)
    if len(distinct) <= _MAX_WEIGHTS:
        return weight_classes, distinct
    numbers = np.bincount(weight_classes, rows.n)
    squares = np.cumsum(numbers * (distinct / distinct[-1]) ** 2)
    joined = np.minimum(_MAX_WEIGHTS * squares / squares[-1], _MAX_WEIGHTS - 1)
    _, joined = np.unique(joined.astype(np.intp), return_inverse=True)
    means = np.bincount(joined, numbers * distinct) / np.bincount(joined, numbers)
    return joined[weight_classes], means


#: The questions of the verdict, in the order of the page, and those about numbers.
QUESTIONS = "decisions", "scores", "errors"
QUESTIONS_OF_NUMBERS = "scores", "mean errors", "absolute errors"
#: The scale that metrics of labels, and of scores, have on each scale of a report; None
#: is not a scale.
_OF_LABELS: Mapping[str, str | None] = {"probability": None, "rank": None}
_OF_SCORES: Mapping[str, str | None] = {"probability": "probability", "rank": "rank"}


def questions_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the questions that a report with some options answers."""
    if settings["scale"] == "real":
        return QUESTIONS_OF_NUMBERS
    return QUESTIONS if settings["decides"] else ("scores",)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One metric of a report.

    `options` names the options of the metric that a report sets. The metric is defined
    for readers in `templates/definitions.html`; `_sentences` states what was found.
    """

    key: str
    title: str
    question: str
    metric: Any
    options: tuple[str, ...] = ("multigroup",)
    #: Writes a value as its sentence does; percentage points are left out.
    unit: Callable[[float], str]
    #: Locates the value, where the specification does not.
    find: Callable[[ReportSample], Located] | None = None
    #: Writes the figure of a group.
    format_group: Callable[[float], str] = percent
    #: Order in which metrics are taken for the answer to their question; None is never.
    rank: int | None
    #: What is evaluated on the statistic of a question, where it is not the metric.
    of_statistic: Any = None
    #: Scale of the metric on each scale of a report that has it.
    scales: Mapping[str, str | None] = field(default_factory=lambda: _OF_LABELS)
    #: Whether its noise has a bound, or it is resampled.
    bounded: bool = True

    @property
    def maximum(self) -> float | None:
        """Largest possible value; None for metrics in the unit of the target."""
        scale = self.scales.get("real")
        metric = as_metric(self.metric, **({"scale": scale} if scale else {}))
        limit: float = metric.upper_limit
        if math.isinf(limit):
            return None
        return int(limit) if limit == int(limit) else limit

    @property
    def described(self) -> str:
        """First line of the docstring, for a metric that the page does not define."""
        return (self.metric.__doc__ or "").partition("\n")[0]

    @property
    def compares_pairs(self) -> bool:
        """Whether tests compare each pair of groups, not only the value."""
        return isinstance(as_metric(self.of_statistic or self.metric), MetricOfPairs)

    @property
    def loose(self) -> bool:
        """Whether the interval is one that holds for any metric of its kind."""
        return self.bounded and as_metric(self.metric).has_loose_bounds

    def text_of(self, value: float) -> str:
        """Write a value with its unit."""
        return f"{self.unit(value)} points" if self.unit is points else self.unit(value)

    def options_of(self, sample: ReportSample) -> dict[str, Any]:
        """Return the options that the metric gets in a report."""
        options = {**PARAMETERS, "multigroup": sample.comparison}
        return {name: options[name] for name in self.options}

    def metric_of(self, sample: ReportSample) -> Metric:
        """Return the metric, with the options that it gets in a report."""
        scale = self.scales[sample.audit.options.scale]
        options = self.options_of(sample) | ({"scale": scale} if scale else {})
        return as_metric(self.metric, **options)

    def drawn(self, sample: ReportSample) -> Metric:
        """Return the metric of the statistic of a sample, or of draws from it."""
        options, audit, scale = self.options_of(sample), sample.audit, None
        if self.of_statistic is None and audit.compares_numbers:
            scale = self.scales["real"]
        elif audit.options.scale == "rank" and not audit.counts_are_drawn:
            scale = self.scales["rank"]  # cells have the ranks of all rows
        if scale is not None:
            options["scale"] = scale
        return as_metric(self.of_statistic or self.metric, **options)

    def located(self, sample: ReportSample) -> Located:
        """Return the value of the metric, with the groups and place that have it."""
        if self.find is not None:
            return self.find(sample)
        metric = self.drawn(sample)
        assert isinstance(metric, MetricOfPairs)
        return metric.locate(sample.statistic_for(metric, self.question))

    def unit_of(self, sample: ReportSample) -> float:
        """Return the largest absolute label or score, with which rounding errors grow.

        For metrics of shares it is 1.
        """
        if self.maximum is not None:
            return 1.0
        return largest_size(sample.audit.y_true, sample.model.y_score)

    def call_of(self, settings: Mapping[str, Any]) -> str:
        """Call of the function that computes the metric."""
        arguments = [
            "None" if self.question in ("decisions", "scores") else "y_true",
            "y_score" if self.question in ("scores", "calibration") else "y_pred",
        ]
        names = [name for name in self.options if name != "multigroup"]
        arguments += [f"{name}={PARAMETERS[name]:g}" for name in names]
        scale = self.scales[settings["scale"]]
        if scale not in (None, "probability"):
            arguments.append(f'scale="{scale}"')
        return f"{self.metric.__name__}({', '.join(arguments)})"


def _locate_outlier(sample: ReportSample) -> Located:
    """Return the group that differs most from the average group, with its value."""
    rates = sample.statistic("decisions").means
    average = float(rates.mean())
    # Of two groups both are as far: rounding decides on none.
    outlier = int(np.abs(rates - average).round(12).argmax())
    value = MaxGap().estimate_statistic(sample.statistic("decisions")).value
    return Located(value, (outlier, None), (float(rates[outlier]), average))


def _locate_tail(sample: ReportSample) -> Located:
    """Return the value of CVaR fairness, to which all groups in the tail contribute."""
    metric = CVaRFairness(alpha=ALPHA)
    value = metric.estimate_statistic(sample.statistic("decisions")).value
    return Located(value, NO_PAIR)


def _locate_baseline(sample: ReportSample) -> Located:
    """Return the value of DCP, to which all groups contribute."""
    return Located(sample.baseline[0], NO_PAIR)


def _difference_of_means(
    *, key: str, unit: Callable[[float], str] = format_in_unit, **parts: Any
) -> Measure:
    """Return the row of a metric of means, in the unit of the target."""
    return Measure(
        key=key,
        of_statistic=DemographicParity(scale="real"),
        format_group=unit,
        unit=unit,
        **parts,
    )


#: Rows of metrics of decisions, and of those of scores or of their ranks.
_decision_measure = partial(Measure, question="decisions", unit=points)
_score_measure = partial(Measure, question="scores", unit=points, scales=_OF_SCORES)

_TABLE = (
    _decision_measure(
        key="demographic_parity_difference",
        title="Difference of selection rates",
        metric=demographic_parity_difference,
        rank=1,
    ),
    _decision_measure(
        key="max_gap",
        title="Largest gap to the average group",
        metric=max_gap,
        options=(),
        find=_locate_outlier,
        rank=2,
    ),
    _decision_measure(
        key="cvar_fairness",
        title=f"CVaR fairness ({ALPHA:g})",
        metric=cvar_fairness,
        options=("alpha",),
        find=_locate_tail,
        rank=None,
    ),
    Measure(
        key="mcdp",
        title="MCDP(0)",
        question="scores",
        metric=mcdp,
        unit=points,
        rank=2,
        scales={**_OF_SCORES, "real": "rank"},
    ),
    _score_measure(
        key="mcdp_epsilon",
        title=f"MCDP({EPSILON:g})",
        metric=mcdp,
        options=("epsilon", "multigroup"),
        rank=None,
    ),
    _score_measure(
        key="abcc",
        title="ABCC",
        metric=abcc,
        rank=3,
    ),
    _difference_of_means(
        key="mean_score_difference",
        title="Difference of mean scores",
        question="scores",
        metric=demographic_parity_difference,
        unit=number,
        rank=6,
        scales={"probability": "probability"},  # a mean of ranks has no unit
    ),
    _score_measure(
        key="madd",
        title="MADD",
        metric=madd,
        unit=lambda value: percent(value / 2),  # MADD is twice the share
        rank=4,
    ),
    Measure(
        key="wasserstein_distance",
        title="Wasserstein distance",
        question="scores",
        metric=abcc,
        unit=format_in_unit,
        rank=1,
        scales={"real": "real"},
    ),
    _difference_of_means(
        key="mean_prediction_difference",
        title="Difference of mean predictions",
        question="scores",
        metric=demographic_parity_difference,
        rank=5,
        scales={"real": "real"},
    ),
    _difference_of_means(
        key="mean_error_difference",
        title="Difference of mean errors",
        question="mean errors",
        metric=mean_error_difference,
        rank=1,
        scales={"real": None},
    ),
    _difference_of_means(
        key="mean_absolute_error_difference",
        title="Difference of mean absolute errors",
        question="absolute errors",
        metric=mean_absolute_error_difference,
        rank=1,
        scales={"real": None},
    ),
    Measure(
        key="equalized_odds_difference",
        title="Equalized odds difference",
        question="errors",
        metric=equalized_odds_difference,
        of_statistic=ComparableOdds(),
        unit=points,
        rank=1,
    ),
    Measure(
        key="dcp",
        title="DCP",
        question="errors",
        metric=dcp,
        options=(),
        find=_locate_baseline,
        unit=percent,
        rank=2,
        bounded=False,
    ),
    Measure(
        key="calibration_gap",
        title="Calibration gap",
        question="calibration",
        metric=calibration_gap,
        of_statistic=CalibrationGap(),
        format_group=points,
        unit=points,
        rank=None,
        scales={"probability": None},
        bounded=False,
    ),
)

#: What least impact ratio is called among limits, of which it is the smallest.
RATIO = "impact_ratio"
#: Metrics that take seconds for hundreds of groups, and mostly measure noise there.
_OF_FEW_GROUPS = "madd", "calibration_gap"
#: Metrics of a report by key, in the order of the page.
MEASURES = {measure.key: measure for measure in _TABLE}


def amount(value: float | None, key: str) -> str:
    """Write a value of a metric for a table."""
    return format_in_unit(value) if MEASURES[key].maximum is None else number(value)


def signed(value: float, key: str | None = None) -> str:
    """Write a difference of two values of a metric, or of a performance."""
    text = number(value) if key is None else amount(value, key)
    return f"+{text}" if value > 0 else text


def amounts(low: float, high: float, key: str) -> str:
    """Write an interval of a metric for a table."""
    return f"{amount(low, key)} to {amount(high, key)}"


def named_metrics(audit: Audit) -> Sequence[str] | None:
    """Return the metrics that a report was asked for; None where all that apply."""
    metrics = audit.options.metrics
    return None if metrics is None or metrics == "all" else metrics


def answer_to(question: str, values: Mapping[str, float | None]) -> str | None:
    """Return the metric that answers a question: the first one that is defined.

    If no metric is defined, it is the first metric asked for, or None without any.
    """
    ranks = {
        key: measure.rank
        for key, measure in MEASURES.items()
        if measure.question == question and measure.rank is not None and key in values
    }
    keys = sorted(ranks, key=lambda key: ranks[key] or 0)
    defined = (key for key in keys if values[key] is not None)
    return next(defined, keys[0] if keys else None)


def tested_keys(sample: ReportSample, located: Mapping[str, Located]) -> set[str]:
    """Return the metrics that are tested.

    If metrics were asked for, all of them are tested; otherwise those that answer a
    question, and the calibration gap.
    """
    if sample.audit.options.metrics is not None:
        return {*located}
    values = {key: nan_to_none(gap.value) for key, gap in located.items()}
    questions = {MEASURES[key].question for key in located}
    keys = {answer_to(question, values) for question in questions}
    return {key for key in keys if key is not None} | {"calibration_gap"}


def keys_of(
    audit: Audit, model: ReportModel, groups: Groups | None = None
) -> tuple[str, ...]:
    """Return the metrics asked for that can be computed for a model."""
    wanted, scale = named_metrics(audit), audit.options.scale
    pooled = groups is not None and comparison_of(groups) == "pooled"
    left_out = _OF_FEW_GROUPS if pooled and not audit.options.metrics else ()
    scored, labelled = model.y_score is not None, audit.y_true is not None
    possible = {
        "decisions": audit.binary and model.decides,
        "errors": labelled and model.decides,
        "scores": scored,
        "calibration": audit.binary and scored and labelled,
    }
    return tuple(
        key
        for key, measure in MEASURES.items()
        if scale in measure.scales
        and possible.get(measure.question, labelled)
        and key in (wanted or MEASURES)
        and key not in left_out
    )


def make_samples(audit: Audit) -> list[ReportSample]:
    """Return a sample of each attribute and model; raise if a metric is impossible."""
    _check_metrics(audit)
    samples = []
    for name, every in audit.every.items():
        groups = large_groups(every, audit.rows.n)
        for model in audit.models:
            keys = keys_of(audit, model, groups)
            samples.append(ReportSample(audit, model, name, every, groups, keys))
    return samples


def _check_metrics(audit: Audit) -> None:
    """Raise if a metric that was asked for cannot be computed for any model."""
    if audit.options.impact_ratios and not audit.binary:
        raise ValueError("impact_ratios must be False unless there are two classes.")
    limits = audit.options.limit if isinstance(audit.options.limit, Mapping) else {}
    for key in limits:
        check_choice("limit", key, (RATIO, *MEASURES))
    if RATIO in limits and not audit.binary:
        raise ValueError(
            "limit must have no impact_ratio unless there are two classes."
        )
    possible = {key for model in audit.models for key in keys_of(audit, model)}
    for key in named_metrics(audit) or ():
        check_choice("metrics", key, tuple(MEASURES))
        if key not in possible:
            needed = needs_of(key, audit.options.scale)
            raise ValueError(f"metrics has {key!r}, which needs {needed}.")
    if not possible:
        raise ValueError(
            "y_true is None, expected true labels: with more than two classes every "
            "metric needs them."
        )


#: What metrics need, by question.
_NEEDS = {
    "decisions": "decisions on two classes, by y_pred or a threshold",
    "errors": "y_true and decisions, by y_pred or a threshold",
    "scores": "y_score",
    "calibration": "y_true and y_score of two classes",
}


def needs_of(key: str, scale: str) -> str:
    """Say what a metric that cannot be computed on a scale needs."""
    measure = MEASURES[key]
    if scale not in measure.scales:
        return f"scale={' or '.join(map(repr, measure.scales))}"
    return _NEEDS.get(measure.question, "y_true")


def is_of_few_groups(key: str) -> bool:
    """Return whether a metric is computed of few groups only, unless asked for."""
    return key in _OF_FEW_GROUPS


def locate_all(sample: ReportSample) -> dict[str, Located]:
    """Locate every metric on the rows as given; nan unless there are two groups."""
    if not sample.comparable:
        return dict.fromkeys(sample.keys, Located(math.nan, NO_PAIR))
    return {key: MEASURES[key].located(sample) for key in sample.keys}
