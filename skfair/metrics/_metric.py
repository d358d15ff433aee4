"""A metric is one object: its options, what it compares, and the noise of that.

From a call to its number, always downwards::

    demographic_parity_difference(y_true, y_pred, sensitive_features=sex)
      -> DemographicParity()         options, checked when the object is made
      -> Metric.read                 containers, lengths, groups, strata, weights: once
      -> Metric.estimate             the largest over strata, then over classes
      -> Metric.check                what this metric asks of labels and scores: once
      -> Metric.count                the rows or distributions of one stratum and class
      -> Metric.find                 nan, with a reason, or
      -> Metric.decide               the largest gap, and whether few rows decide it

A test reads `gaps` of permuted rows, an interval `noise`, of the same statistic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
)

from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._arrays import Integers
from skfair._utils._text import counted, listed
from skfair._utils._validation import TAKES_ANY, check_choice, check_shape
from skfair._utils._warnings import warn_user
from skfair.metrics._inputs import (
    FEW_ROWS,
    MANY_NUMBERS,
    Multigroup,
    advise_on_few_rows,
    read,
    refuse_groups_of_numbers,
)
from skfair.metrics._pairs import Located, PairGaps
from skfair.metrics._quantiles import (
    UNDEFINED,
    Comparisons,
    Method,
    Observed,
    move_to_unit,
)
from skfair.metrics._strata import (
    Multistratum,
    Stratum,
    combine_numbers,
    split_columns,
    split_strata,
)
from skfair.metrics._undefined import (
    ADVICE,
    describe_strata,
    join_reasons,
    why_undefined,
)

#: Rows among which groups can be exchanged where there is no disparity.
Exchangeable: TypeAlias = Literal["all", "same true label", "similar scores", "unknown"]


class Estimate(NamedTuple):
    """Value of a metric, with what is left out of it, or why it is undefined."""

    value: Any
    #: Why there is no value, or which groups are left out; "" if none is.
    reason: str = ""
    #: Warning to the user who asks for the value; "" if there is none.
    message: str = ""
    #: Whether the groups can be compared.
    defined: bool = True
    #: Groups of few rows that decide the value; "" if there are none.
    few: str = ""


def undefined_estimate(
    name: str, reason: str, advice: str = "", value: Any = math.nan
) -> Estimate:
    """Return the estimate of a metric whose groups cannot be compared."""
    message = f"{name} is undefined and set to nan: {reason}.{advice}"
    return Estimate(value, reason, message, defined=False)


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A disparity between groups.

    A subclass is a frozen dataclass, whose fields are the options of the metric. It
    says what it counts (`check`, `collect`), and finds its `value` in what it collects:
    the rows themselves, whose sums are asked for, or their score distributions.
    """

    #: Name of the metric in messages: that of its function, by default of the class.
    name: ClassVar[str] = ""
    #: Function that users call, where there is one.
    function: ClassVar[Callable[..., float] | None] = None
    #: Names of the arguments with true labels, and with what is compared.
    inputs: ClassVar[tuple[str, str]] = ("y_true", "y_pred")
    #: Whether score distributions are compared, for which rows are sorted.
    compares_distributions: ClassVar[bool] = False
    #: Whether people who are alike can be counted in cells.
    counts_alike: ClassVar[bool] = True
    #: Rows among which a test permutes groups.
    exchangeable: ClassVar[Exchangeable] = "all"
    #: Whether scores may have a column for each of several classes.
    takes_classes: ClassVar[bool] = False
    #: Whether groups with too few rows are left out, and the others compared.
    leaves_groups_out: ClassVar[bool] = False
    #: Whether the noise of the gaps has known bounds.
    bounded: ClassVar[bool] = False
    #: Whether these are the bounds of any metric of its kind, which are loose.
    loose: ClassVar[bool] = False
    #: Whether the metric has bounds where scores are known by bins.
    bounded_by_bins: ClassVar[bool] = False
    #: Largest value.
    maximum: ClassVar[float] = 1.0
    #: Rows that count, as messages say it.
    rows_counted: ClassVar[str] = ""
    #: Values of the options that are one of a few, by the name of the option.
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "multistratum": get_args(Multistratum)
    }

    multistratum: Multistratum = "max"

    def __post_init__(self) -> None:
        """Check the options, which are checked nowhere else."""
        for name, choices in self.choices.items():
            check_choice(name, getattr(self, name), choices)

    def __init_subclass__(cls) -> None:
        """Name a metric after its class, if it has no other name."""
        if "name" not in vars(cls):
            cls.name = cls.__name__  # type: ignore[assignment]

    @property
    def __name__(self) -> str:
        """Name of the metric in messages."""
        return self.name

    @property
    def title(self) -> str:
        """Name of the metric, with the rows that count, at the start of a message."""
        return f"{self.name}, {self.rows_counted}," if self.rows_counted else self.name

    @property
    def options(self) -> dict[str, Any]:
        """Options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def largest(self) -> float:
        """Largest value with these options."""
        return self.maximum

    @property
    def largest_of_pairs(self) -> bool:
        """Whether the value is the largest of the values of two groups."""
        return False

    @property
    def undefined_value(self) -> Any:
        """Value where groups cannot be compared."""
        return math.nan

    # What a metric says ------------------------------------------------------

    @abstractmethod
    def check(self, rows: Rows) -> Rows:
        """Check labels and scores, and return the rows that are counted."""

    def select(self, rows: Rows) -> Rows:
        """Return the checked rows that count."""
        return rows

    def scaled(self, statistic: Any) -> Any:
        """Return a statistic on the scale on which groups are compared."""
        return statistic

    @abstractmethod
    def value(self, statistic: Any) -> Any:
        """Find the value of a statistic whose groups can be compared."""

    def decide(self, statistic: Any) -> tuple[Any, str]:
        """Find the value, and which of the groups that decide it have few rows."""
        return self.value(statistic), ""

    @property
    def averages_strata(self) -> bool:
        """Whether the value is the mean over strata, not the largest."""
        return self.multistratum == "weighted"

    def combine(self, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Combine the values of strata: the largest, or their mean by weight."""
        return combine_numbers(values, weights if self.averages_strata else None)

    def check_method(self, method: Method) -> None:
        """Raise where the noise has no bounds by a method, with these options."""
        hint = ""
        if "method" in self.options:
            hint = f" functools.partial({self.name}, method=...) sets its own method."
        check_choice("method", method, get_args(Method), hint)
        if self.largest == math.inf and method != "band":
            raise ValueError(
                f"method must be 'band' for {self.name} of numbers, got {method!r}: "
                "its bounds are for values in a known range, and numbers have none."
            )

    def noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of each gap."""
        raise NotImplementedError(f"{self.name} has no bounds of its noise.")

    def check_bins(self, histogram: Rows) -> Rows:
        """Check the labels of cells of scores in bins."""
        return histogram

    def bound(self, histogram: Any) -> tuple[float, float]:
        """Bound the metric of rows whose scores are known by bins."""
        raise NotImplementedError(f"{self.name} has no bounds from bins.")

    def why_undefined(self, statistic: Any) -> tuple[str, str]:
        """Say why groups cannot be compared, and how to mend it; "" if they can."""
        counts, smallest = statistic.counts, statistic.min_group_size
        reason = why_undefined(statistic.labels, counts, smallest)
        rare = reason and (counts < max(smallest, 1)).any()
        return reason or "", ADVICE if rare else ""

    def advise(self, rows: Rows) -> None:  # noqa: B027
        """Warn users whose arguments may not give the value they want."""

    # What every metric has ---------------------------------------------------

    def __call__(
        self,
        y_true: ArrayLike | None,
        y_pred: Any,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> float:
        """Evaluate rows, or a table of them, and warn where there is no value."""
        columns = sensitive_features, control_features, sample_weight, counts
        rows = self.read(y_true, y_pred, *columns)
        estimate = self.estimate(rows)
        if estimate.defined:
            self.advise(rows)
        value: float = self.warn_of(estimate)
        if estimate.few:
            few = f"{self.title} is {value:.3g}, decided by few rows: {estimate.few}."
            warn_user(few + advise_on_few_rows(rows.labels, rows.grouped().counts))
        return value

    def read(
        self,
        y_true: Any,
        y_pred: Any,
        sensitive_features: ArrayLike | None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        *,
        takes_bins: bool = False,
        takes_strata: bool = True,
    ) -> Rows:
        """Read the arguments of a call, and warn of too many groups.

        Scores in bins, and strata of a table, are refused unless the caller takes them.
        """
        usage = (
            f": call {self.name}({', '.join(self.inputs)}, sensitive_features=groups), "
            f"with None as {self.inputs[0]} if there are no true labels"
        )
        columns = sensitive_features, control_features, sample_weight, counts, clusters
        said = {"name": self.inputs[1], "usage": usage}
        rows = read(y_true, y_pred, *columns, **said, takes_strata=takes_strata)
        if rows.n_bins and not takes_bins:
            raise TypeError(
                f"{self.inputs[1]} must be the values of rows, or a table of them, got "
                "a table of scores in bins. From it metrics are known within bounds: "
                "see skfair.metrics.metric_bounds."
            )
        if rows.n_groups >= MANY_NUMBERS and not self.leaves_groups_out:
            sizes = rows.counts
            if sizes.min() >= max(rows.groups.min_group_size, 1):
                refuse_groups_of_numbers(rows.labels, sizes)
        return rows

    def tabulate(
        self,
        y_true: Any,
        y_pred: Any,
        sensitive_features: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> Any:
        """Count rows of one stratum."""
        columns = sensitive_features, None, sample_weight, counts
        rows = self.read(y_true, y_pred, *columns, takes_strata=False)
        check_shape(rows.y_pred, self.inputs[1])
        return self.count(self.check(rows))

    def warn_of(self, estimate: Estimate) -> Any:
        """Warn of what an estimate leaves out, and return its value."""
        if estimate.message:
            warn_user(estimate.message, UndefinedMetricWarning)
        return estimate.value

    def evaluate(self, rows: Rows, groups_as_given: Any = None) -> Any:
        """Evaluate rows, and warn of what is left out.

        A function of the user's own is compared with its value for the groups as they
        are given.
        """
        return self.warn_of(self.estimate(rows))

    def estimate(self, rows: Rows) -> Estimate:
        """Find the largest value over strata, or their mean, of rows."""
        parts = self.parts(rows)
        if rows.strata is None:
            return self.estimate_classes(parts)
        strata, reason = self.split(rows)
        if reason is not None:
            return undefined_estimate(self.name, reason, value=self.undefined_value)
        estimates = [self.estimate_stratum(parts, stratum) for stratum in strata]
        return self.join_strata(strata, estimates)

    def parts(self, rows: Rows) -> list[Rows]:
        """Check rows, once: those of each class where scores have several columns."""
        if self.takes_classes and rows.y_pred.ndim == 2 and rows.y_pred.shape[1] > 2:
            hint = TAKES_ANY if self.compares_distributions else ""
            scale: Any = getattr(self, "scale", "probability")
            columns = split_columns(rows, self.inputs[1], scale, hint)
            return [self.check(each) for each in columns]
        check_shape(rows.y_pred, self.inputs[1])
        return [self.check(rows)]

    def split(self, rows: Rows) -> tuple[list[Stratum], str | None]:
        """Split rows by stratum, and say why no groups can be compared, if so."""
        return split_strata(rows, leaves_groups_out=self.leaves_groups_out)

    def estimate_stratum(self, parts: Sequence[Rows], stratum: Stratum) -> Estimate:
        """Find the largest value over classes in one stratum."""
        if stratum.groups is None:
            return Estimate(self.undefined_value, stratum.reason, defined=False)
        estimate = self.estimate_classes(take_stratum(parts, stratum))
        reason = join_reasons(stratum.reason, estimate.reason)
        return estimate._replace(reason=reason, message="")

    def estimate_classes(self, parts: Sequence[Rows]) -> Estimate:
        """Find the largest value over classes of checked rows of one stratum."""
        estimates = []
        for part in parts:
            estimates.append(self.find(self.count(part)))
            if not estimates[-1].defined:
                return estimates[-1]
        return max(estimates, key=lambda estimate: estimate.value)

    def join_strata(
        self, strata: Sequence[Stratum], estimates: Sequence[Estimate]
    ) -> Estimate:
        """Find the largest of the values of strata, or their mean."""
        pairs = [*zip(strata, estimates, strict=True)]
        reasons = {stratum.label: estimate.reason for stratum, estimate in pairs}
        found = [pair for pair in pairs if pair[1].defined]
        text = describe_strata(reasons, undefined=not found)
        if not found:
            return undefined_estimate(self.name, text, value=self.undefined_value)
        weights = [stratum.weight for stratum, _ in found]
        value = self.combine([estimate.value for _, estimate in found], weights)
        few = [
            f"{estimate.few} in stratum {stratum.label!r}"
            for stratum, estimate in found
            if estimate.few and (self.averages_strata or estimate.value == value)
        ]
        message = f"{self.name} {text}." if text else ""
        return Estimate(value, text, message, few=listed(few) if few else "")

    def count(self, part: Rows) -> Any:
        """Count checked rows of one stratum and class, for this metric alone."""
        return self.collect(self.select(part))

    def collect(self, rows: Rows) -> Any:
        """Collect the rows with a group, as this metric needs them."""
        return rows.grouped()

    def find(self, statistic: Any) -> Estimate:
        """Find the value of a statistic, or why it has none."""
        refused = self.refuse(statistic)
        if refused is not None:
            return refused
        value, few = self.decide(self.scaled(statistic))
        return Estimate(value, few=few)

    def observe(self, part: Rows) -> Observed:
        """Count checked rows, with the numbers that the noise depends on."""
        statistic = self.count(part)
        if part.cluster is None:
            return Observed(statistic, statistic.effective_sizes)
        return Observed(statistic, self.select(part).grouped().effective_sizes)

    def condense(self, part: Rows) -> Rows:
        """Count checked rows in the cells that a monitor keeps and adds up."""
        return self.select(part)

    def reopen(self, cells: Rows) -> Rows:
        """Return cells that were kept as checked rows."""
        return cells

    def compare(self, observed: Observed, method: Method) -> Comparisons:
        """Compare groups, with quantiles of the noise of each comparison."""
        self.check_method(method)
        if not self.leaves_groups_out:
            estimate = self.refuse(observed.statistic)
            if estimate is not None:
                return UNDEFINED._replace(
                    reason=estimate.reason,
                    message=estimate.message,
                    maximum=self.largest,
                )
        statistic, unit = self.scaled(observed.statistic), 1.0
        if self.largest == math.inf:
            statistic, unit = move_to_unit(statistic)
        comparisons = self.noise(observed._replace(statistic=statistic), method)
        place = partial(self.pair_and_place, statistic)
        comparisons = comparisons._replace(maximum=self.largest, locate=place)
        return comparisons if unit == 1 else comparisons.scale_to_unit(unit)

    def refuse(self, statistic: Any) -> Estimate | None:
        """Return estimate of a statistic whose groups cannot be compared, else None."""
        reason, advice = self.why_undefined(statistic)
        if not reason:
            return None
        return undefined_estimate(self.title, reason, advice, self.undefined_value)

    def pair_and_place(self, statistic: Any) -> tuple[Any, Any]:
        """Return labels of the groups that have the value, and where they have it."""
        return None, None


@dataclass(frozen=True, kw_only=True)
class MetricOfPairs(Metric):
    """A disparity that is the largest gap of two groups, or of a group and everyone.

    A subclass finds the gaps of all pairs in a statistic.
    """

    choices = Metric.choices | {"multigroup": get_args(Multigroup)}

    multigroup: Multigroup = "pairwise"

    @property
    def largest_of_pairs(self) -> bool:
        """Whether the value is the largest of the values of two groups."""
        return self.multigroup == "pairwise"

    def gaps(self, statistic: Any) -> PairGaps:
        """Find the gaps of all pairs of groups."""
        raise NotImplementedError(f"{self.name} has no gap for each pair.")

    def locate(self, statistic: Any) -> Located:
        """Find the largest gap, between which groups it is, and where."""
        raise NotImplementedError(f"{self.name} has no place.")

    def find_pair(self, statistic: Any) -> Located:
        """Find the largest gap, and between which groups it is."""
        return self.locate(statistic)

    def value(self, statistic: Any) -> Any:
        """Find the value of a statistic whose groups can be compared."""
        return self.find_pair(statistic).value

    def decide(self, statistic: Any) -> tuple[Any, str]:
        """Find the value, and which of the two groups that decide it have few rows."""
        located = self.find_pair(statistic)
        sizes, which = self.rows_compared(statistic, located)
        # Who sets a minimum size has said how many rows are enough.
        if statistic.min_group_size > 1 or sizes.min() >= FEW_ROWS:
            return located.value, ""
        few = [
            f"{statistic.labels[i]!r} has {counted(sizes[i], 'row')}{which}"
            for i in dict.fromkeys(located.pair)
            if i is not None and sizes[i] < FEW_ROWS
        ]
        return located.value, listed(few) if few and located.value else ""

    def rows_compared(self, statistic: Any, located: Located) -> tuple[Integers, str]:
        """Return how many rows of each group a located gap comes from, and which."""
        return statistic.counts, ""

    def pair_and_place(self, statistic: Any) -> tuple[Any, Any]:
        """Return labels of the groups that have the value, and where they have it."""
        located = self.locate(statistic)
        pair = tuple(None if i is None else statistic.labels[i] for i in located.pair)
        if located.cell is not None:
            return pair, tuple(statistic.classes[i] for i in located.cell)
        if located.window[0] < located.window[1]:
            return pair, located.window
        return pair, None if math.isnan(located.score) else located.score


def take_stratum(parts: Sequence[Rows], stratum: Stratum) -> list[Rows]:
    """Take the rows of a stratum, of groups that can be compared, from each part."""
    assert stratum.groups is not None
    return [
        replace(part[stratum.rows], groups=stratum.groups, strata=None)
        for part in parts
    ]


Function = TypeVar("Function", bound=Callable[..., Any])


def evaluates(kind: type[Metric]) -> Callable[[Function], Function]:
    """Register a function, whose name is that of a class of metrics.

    A report, a scorer's name and `functools.partial` take the function for the class.
    """

    def mark(function: Function) -> Function:
        kind.name = function.__name__
        kind.function = staticmethod(function)
        function.metric = kind  # type: ignore[attr-defined]
        return function

    return mark
