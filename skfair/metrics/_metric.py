"""A metric is one object: its options, what it compares, and the noise of that.

From a call to its number, always downwards::

    demographic_parity_difference(y_true, y_pred, sensitive_features=sex)
      -> DemographicParity()         options, checked when the object is made
      -> read                        containers, lengths, groups, strata, weights: once
      -> Metric.check                what this metric asks of labels and scores: once
      -> Metric.estimate             the largest over strata, then over classes
      -> Metric.count                the statistic of one stratum and class
      -> Metric.why_undefined        nan, with a reason, or
      -> Metric.locate               the largest gap, its groups and its place

A test reads `gaps` of permuted rows, an interval `noise`, of the same statistic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from inspect import Parameter, Signature
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Countable, Rows, read
from skfair._utils._arrays import Integers
from skfair._utils._text import counted, listed
from skfair._utils._validation import TAKES_ANY, check_choice, check_shape
from skfair.groups import why_undefined
from skfair.metrics._evaluate import (
    Multistratum,
    Stratum,
    combine_numbers,
    largest_defined,
    refuse_sorted_rows,
    split_columns,
    split_strata,
    warn_of_results,
)
from skfair.metrics._inputs import (
    ADVICE,
    MANY_NUMBERS,
    Multigroup,
    check_groups_of_numbers,
    in_place_of_rows,
    refuse_statistics,
    warn_undefined,
)
from skfair.metrics._pairs import Located, PairGaps
from skfair.metrics._quantiles import Comparisons, Method, Observed
from skfair.metrics._spec import (
    OF_ROWS,
    Specification,
    register,
    specification_of,
)
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap, ranked_scores
from skfair.statistics._statistic import GroupedStatistic

#: Rows among which groups can be exchanged where there is no disparity.
Exchangeable: TypeAlias = Literal["all", "same true label", "similar scores"]


class Estimate(NamedTuple):
    """Value of a metric, or why it is nan and what to do about that."""

    value: float
    reason: str = ""
    advice: str = ""


def score_cells(rows: Rows) -> Integers:
    """Cells of rows with similar scores, as many as the root of their number.

    All groups count alike, so that cells are narrow where the scores of a small group
    are. Rows with equal scores are in one cell; rows without a group do not count.
    """
    scores, codes = np.asarray(rows.y_pred, dtype=np.float64), rows.groups.codes
    numbers = np.where(codes >= 0, 1 if rows.n is None else rows.n, 0)
    sizes = np.bincount(np.maximum(codes, 0), numbers, max(rows.n_groups, 1))
    weights = numbers / np.maximum(sizes, 1)[codes]
    order = np.argsort(scores, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    below = sums[np.searchsorted(scores[order], scores)] / max(sums[-1], 1e-300)
    # More than the rounding of the sums.
    cells = np.floor(below * math.ceil(math.sqrt(numbers.sum())) + 1e-9)
    return np.asarray(cells.astype(np.intp))


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A disparity: the largest gap between groups.

    A subclass is a frozen dataclass, whose fields are the options of the metric. It
    says what it counts (`statistic`, `check`), and finds gaps in the statistic.
    """

    #: Name of the metric in messages, by default that of the class.
    name: ClassVar[str] = ""
    #: Function that users call, where there is one.
    function: ClassVar[Callable[..., float] | None] = None
    #: Names of the arguments with true labels, and with what is compared.
    inputs: ClassVar[tuple[str, str]] = ("y_true", "y_pred")
    #: Class of the additive statistic that the metric is computed from.
    statistic: ClassVar[Any]
    #: Rows among which a test permutes groups.
    exchangeable: ClassVar[Exchangeable] = "all"
    #: Whether scores may have a column for each of several classes.
    takes_classes: ClassVar[bool] = False
    #: Whether groups with too few rows are left out, and the others compared.
    leaves_groups_out: ClassVar[bool] = False
    #: Class of the statistic that may take the place of rows, if there is one.
    stands_for_rows: ClassVar[type | None] = None
    #: Options about the labels of rows, which a statistic has not.
    options_of_rows: ClassVar[tuple[str, ...]] = ()
    #: Seminorm of a gap of CDFs that is at least its measure; None if that is one.
    distance: ClassVar[Callable[[Gap], float] | None] = None
    #: Largest value.
    maximum: ClassVar[float] = 1.0
    #: Rows that count, as messages say it.
    rows_counted: ClassVar[str] = ""

    multigroup: Multigroup = "pairwise"
    multistratum: Multistratum = "max"

    def __post_init__(self) -> None:
        """Check the options, which are checked nowhere else."""
        check_choice("multigroup", self.multigroup, get_args(Multigroup))
        check_choice("multistratum", self.multistratum, get_args(Multistratum))

    def __init_subclass__(cls) -> None:
        """Name a metric after its class, if it has no other name."""
        if "name" not in vars(cls):
            cls.name = cls.__name__  # type: ignore[assignment]

    @property
    def __name__(self) -> str:
        """Name of the metric in messages."""
        return self.name

    @property
    def options(self) -> dict[str, Any]:
        """Options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def specification(self) -> Specification:
        """Describe the metric to tests, intervals and scorers."""
        kind = type(self)
        if kind.function is None:
            return describe(kind)
        return specification_of(kind.function)[0]

    # What a metric says ------------------------------------------------------

    @abstractmethod
    def check(self, rows: Rows) -> Rows:
        """Check labels and scores, and return the same rows with what is counted."""

    def select(self, rows: Rows) -> Rows:
        """Return the checked rows that count."""
        return rows

    @abstractmethod
    def gaps(self, statistic: Any) -> PairGaps:
        """Find the gaps of all pairs of groups."""

    @abstractmethod
    def locate(self, statistic: Any) -> Located:
        """Find the largest gap, between which groups it is, and where."""

    #: Whether the noise of the gaps has known bounds.
    bounded: ClassVar[bool] = False

    def noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of each gap."""
        raise NotImplementedError(f"{self.name} has no bounds of its noise.")

    def band_bounds(self) -> Callable[[Gap, Gap], tuple[float, float]]:
        """Return what bounds the metric of a gap between a least and a largest one."""
        raise NotImplementedError(f"{self.name} has no bounds from histograms.")

    def bound_by_bins(self, statistic: Any) -> tuple[float, float]:
        """Bound the metric of rows whose scores and labels are known by bins."""
        raise NotImplementedError(f"{self.name} has no bounds from bins.")

    def why_undefined(self, statistic: Any) -> tuple[str, str]:
        """Say why groups cannot be compared, and what to do; "" if they can."""
        counts, smallest = statistic.counts, statistic.min_group_size
        reason = why_undefined(statistic.labels, counts, smallest)
        rare = reason and (counts < max(smallest, 1)).any()
        return reason or "", ADVICE if rare else ""

    def advise(self, rows: Rows) -> None:  # noqa: B027
        """Warn where the value may not be what the user wants."""

    # What every metric has ---------------------------------------------------

    def __call__(
        self,
        y_true: ArrayLike | None,
        y_pred: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Evaluate rows, or a statistic of them, and warn where there is no value."""
        if getattr(y_pred, "dtype", None) == np.int32:
            refuse_sorted_rows(self.name)
        if isinstance(y_pred, GroupedStatistic):
            labels = {name: getattr(self, name) for name in self.options_of_rows}
            statistic: Any = in_place_of_rows(y_pred, **labels)  # type: ignore[type-var]
            statistic = self.take(
                y_true, statistic, sensitive_features, sample_weight, control_features
            )
            return self.value_of(self.find(statistic))
        if sensitive_features is None:
            raise ValueError(
                "sensitive_features is None, expected the group of each row: call "
                f"{self.name}({', '.join(self.inputs)}, sensitive_features=groups), "
                f"with None as {self.inputs[0]} if there are no true labels."
            )
        arguments = y_true, y_pred, sensitive_features, control_features, sample_weight
        rows = read(*arguments, name=self.inputs[1])
        if rows.n_groups >= MANY_NUMBERS:
            sizes = rows.groups.sizes()
            if sizes.min() >= max(rows.groups.min_group_size, 1):
                check_groups_of_numbers(self.name, rows.labels, sizes)
        if rows.strata is None:
            value = self.value_of(self.estimate(self.parts(rows)))
        else:
            value = self.value_of_strata(*self.estimate_strata(rows))
        if not math.isnan(value):
            self.advise(rows)
        return value

    def value_of(self, estimate: Estimate) -> float:
        """Value of an estimate; a warning says why it is nan."""
        if estimate.reason:
            rows = self.rows_counted
            name = f"{self.name}, {rows}," if rows else self.name
            warn_undefined(name, estimate.reason, estimate.advice)
        return estimate.value

    def value_of_strata(self, strata: Sequence[Stratum], reason: str | None) -> float:
        """Largest value of strata, or their mean; a warning names those left out."""
        if reason is not None:
            return warn_undefined(self.name, reason)
        warn_of_results(self.name, strata)
        defined = [stratum for stratum in strata if stratum.result is not None]
        if not defined:
            return math.nan
        weighted = self.multistratum == "weighted"
        weights = [stratum.weight for stratum in defined] if weighted else None
        return float(combine_numbers([stratum.result for stratum in defined], weights))

    def take(
        self,
        y_true: Any,
        statistic: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        control_features: Any = None,
    ) -> Any:
        """Return a statistic that takes the place of all rows, if it is of the kind."""
        if control_features is not None:
            raise ValueError(
                "control_features must be None where a statistic takes the place of "
                "the rows: make a statistic of each stratum, and take the largest "
                "value."
            )
        if self.stands_for_rows is None:
            refuse_statistics(statistic, self.inputs[1])
        if not isinstance(statistic, self.statistic):
            refuse_statistics(statistic, self.inputs[1], self.statistic)
        return in_place_of_rows(
            statistic,
            y_true=y_true,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )

    def parts(self, rows: Rows) -> list[Rows]:
        """Check rows, once: those of each class where scores have several columns."""
        columns = [rows]
        if self.takes_classes and rows.y_pred.ndim == 2 and rows.y_pred.shape[1] > 2:
            hint = TAKES_ANY if self.statistic is GroupedScores else ""
            scale: Any = getattr(self, "scale", "probability")
            columns = split_columns(rows, self.inputs[1], scale, hint)
        for each in columns:
            check_shape(each.y_pred, self.inputs[1])
        return [self.check(each) for each in columns]

    def estimate(self, parts: Sequence[Rows]) -> Estimate:
        """Find the largest value over classes of checked rows of one stratum."""
        largest = Estimate(-math.inf)
        for part in parts:
            estimate = self.find(self.count_once(part))
            if estimate.reason:
                return estimate
            largest = max(largest, estimate)
        return largest

    def estimate_strata(self, rows: Rows) -> tuple[list[Stratum], str | None]:
        """Evaluate rows within strata, and say why no groups compare, if so."""
        parts = self.parts(rows)
        strata, reason = split_strata(rows, leaves_groups_out=self.leaves_groups_out)
        results = []
        for stratum in strata:
            if stratum.groups is not None and reason is None:
                own = [replace(p[stratum.rows], groups=stratum.groups) for p in parts]
                estimate = self.estimate([replace(part, strata=None) for part in own])
                reasons = [text for text in (stratum.reason, estimate.reason) if text]
                result = None if estimate.reason else estimate.value
                stratum = stratum._replace(result=result, reason="; ".join(reasons))
            results.append(stratum)
        return results, reason

    def count(self, part: Rows) -> Any:
        """Count checked rows of one stratum and class."""
        return self.select(part).statistic(self.statistic)

    def count_once(self, part: Rows) -> Any:
        """Count checked rows, whose statistic this metric alone needs."""
        return self.count(part)

    def find(self, statistic: Any) -> Estimate:
        """Find the value of a statistic, or why it has none."""
        reason, advice = self.why_undefined(statistic)
        if reason:
            return Estimate(math.nan, reason, advice)
        return Estimate(float(self.value(statistic)))

    def value(self, statistic: Any) -> float:
        """Find the value of a statistic whose groups can be compared."""
        return self.locate(statistic).value


def lacks_labels(
    labels: Sequence[Hashable],
    classes: Sequence[Hashable],
    label_counts: Integers,
    min_group_size: int,
) -> tuple[str, str]:
    """Say which groups have too few rows of a true label, and what to do; "" if none.

    `label_counts` has shape (n_groups, n_classes).
    """
    smallest = max(min_group_size, 1)
    few = [
        f"{labels[i]!r} has {counted(label_counts[i, j], 'row')} of {classes[j]!r}"
        for i, j in np.argwhere(label_counts < smallest)
    ]
    if not few:
        return "", ""
    needed = f"each group needs at least {counted(smallest, 'row')} of each true label"
    return f"{needed}, but {listed(few)}", ADVICE


Function = TypeVar("Function", bound=Callable[..., Any])


def evaluates(kind: type[Metric]) -> Callable[[Function], Function]:
    """Make a function known as the one that users call to evaluate a class of metrics.

    A report, a scorer's name and `functools.partial` take the function for the class.
    """

    def mark(function: Function) -> Function:
        kind.function = staticmethod(function)
        register(function, describe(kind))
        return function

    return mark


@cache
def describe(kind: type[Metric]) -> Specification:
    """Describe a class of metrics to tests, intervals and scorers."""
    bounds: dict[str, Any] = {}
    if kind.leaves_groups_out:
        bounds["combine"] = largest_defined
    if kind.bounded:
        bounds["compare"] = _with_options(kind, lambda m, *args: m.noise(*args))
    if kind.band_bounds is not Metric.band_bounds:
        bounds["band_bounds"] = _with_options(kind, lambda m: m.band_bounds())
    if kind.bound_by_bins is not Metric.bound_by_bins:
        bounds["bounds_by_label"] = _with_options(kind, lambda m, s: m.bound_by_bins(s))
    if kind.count_once is not Metric.count_once:
        bounds["read_once"] = _with_options(kind, partial(_read, kind.count_once))
    if hasattr(kind, "check_bins"):
        bounds["check_bins"] = _with_options(kind, lambda m, n: m.check_bins(n))
    if hasattr(kind, "measure"):
        bounds["measure"] = _with_options(kind, lambda m: m.measure)
        bounds["distance"] = kind.distance
    if kind.exchangeable == "similar scores":
        bounds["permuted_in"] = score_cells
    return Specification(
        kind.function or _function_of(kind),
        statistic=kind.stands_for_rows,
        maximum=kind.maximum,
        takes_strata=True,
        takes_classes=kind.takes_classes,
        leaves_groups_out=kind.leaves_groups_out,
        compares_errors=lambda **_: kind.exchangeable == "same true label",
        countable=_with_options(kind, _countable),
        pairs=_with_options(kind, lambda m, statistic: m.gaps(statistic)),
        locate=_with_options(kind, lambda m, statistic: m.locate(statistic)),
        read=_with_options(kind, partial(_read, kind.count)),
        **bounds,
    )


def _function_of(kind: type[Metric]) -> Callable[..., float]:
    """Make the function that evaluates a class of metrics of the user's own."""

    def function(y_true: Any, y_pred: Any, **keywords: Any) -> float:
        rows = {name: keywords.pop(name, None) for name in OF_ROWS}
        return kind(**keywords)(y_true, y_pred, **rows)

    inputs = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in kind.inputs]
    names = [*OF_ROWS, *(field.name for field in fields(kind))]
    keywords = [Parameter(n, Parameter.KEYWORD_ONLY, default=None) for n in names]
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [*inputs, *keywords]
    )
    function.__name__ = kind.name
    return function


def _with_options(kind: type[Metric], call: Callable[..., Any]) -> Callable[..., Any]:
    """Call a method of a metric that is made of keywords."""

    def run(*args: Any, **options: Any) -> Any:
        return call(kind(**options), *args)

    keywords = [Parameter(f.name, Parameter.KEYWORD_ONLY) for f in fields(kind)]
    args = Parameter("args", Parameter.VAR_POSITIONAL)
    run.__signature__ = Signature([args, *keywords])  # type: ignore[attr-defined]
    return run


def _countable(metric: Metric, rows: Rows) -> Countable:
    """Check rows, and say what counts them: ranks are taken of each draw."""
    rows = metric.select(metric.check(rows))
    if metric.statistic is not GroupedScores:
        return rows, metric.statistic._from_rows
    ranked = getattr(metric, "scale", None) == "rank"
    return rows.ordered(), ranked_scores if ranked else GroupedScores._from_rows


def _read(
    count: Callable[[Any, Rows], Any],
    metric: Metric,
    y_true: Any,
    y_pred: Any,
    groups: Any,
    weight: Any,
) -> Any:
    """Count rows by a method, or return the statistic that takes their place."""
    if isinstance(y_pred, GroupedStatistic):
        return metric.take(y_true, y_pred, groups, weight)
    rows = read(y_true, y_pred, groups, sample_weight=weight, name=metric.inputs[1])
    return count(metric, metric.check(rows))
