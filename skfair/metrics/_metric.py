"""A metric is one object: its options, what it compares, and the noise of its gaps.

From a call to its number, always downwards::

    mcdp(y_true, y_score, sensitive_features=sex)
      -> MCDP()                          options, checked when the object is made
      -> Metric.read                     containers, lengths, groups, strata, weights
      -> Metric.estimate                 the value, or why there is none
        -> Metric.split                  by class and stratum, in one walk (`_parts.py`)
          -> MCDP.check                  what this metric asks of labels and scores
        -> Metric.estimate_part          of one stratum and class:
          -> Metric.collect_part         the rows that count,
            -> MCDP.collect              as rows, or as score distributions of groups
          -> MCDP.why_undefined          why groups cannot be compared, or
          -> MCDP.value_and_small_groups the largest gap, and its groups of few rows
        -> Metric.join_estimates         the largest over classes, then over strata

A test reads `gaps` of permuted rows, an interval `bound_noise`, of what was collected.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import (
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
)

from numpy.typing import ArrayLike

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
from skfair.metrics._parts import Estimate, Parts, undefined_estimate
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
    why_undefined,
)

#: Rows among which groups can be exchanged where there is no disparity.
Exchangeable: TypeAlias = Literal["all", "same true label", "similar scores", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A disparity between groups.

    A subclass is a frozen dataclass, whose fields are the options of the metric. It
    says what it compares (`check`, `select`), collects a statistic (`collect`): the
    rows, with their sums by group, or their score distributions; and finds its `value`
    in the statistic.
    """

    #: Name of the metric in messages: its function's, by default its class's.
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
    has_noise_bounds: ClassVar[bool] = False
    #: Whether the bounds of the noise hold for any metric of its kind, and are loose.
    has_loose_bounds: ClassVar[bool] = False
    #: Whether its range is known where scores are known by bins only.
    has_range_from_bins: ClassVar[bool] = False
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
        """Check the options."""
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
    def upper_limit(self) -> float:
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

    # What a metric says ---------------------------------------------------

    @abstractmethod
    def check(self, rows: Rows) -> Rows:
        """Check labels and scores, and return rows of what the metric compares."""

    def select(self, rows: Rows) -> Rows:
        """Return the checked rows that count."""
        return rows

    def collect(self, rows: Rows) -> Any:
        """Collect the statistic of selected rows that have a group."""
        return rows.grouped()

    def collect_part(self, part: Rows) -> Any:
        """Select checked rows of one stratum and class, and collect their statistic."""
        return self.collect(self.select(part))

    def why_undefined(self, statistic: Any) -> tuple[str, str]:
        """Say why groups cannot be compared, and how to mend it; "" if they can."""
        counts, smallest = statistic.counts, statistic.min_group_size
        reason = why_undefined(statistic.labels, counts, smallest)
        rare = reason and (counts < max(smallest, 1)).any()
        return reason or "", ADVICE if rare else ""

    def rescale(self, statistic: Any) -> Any:
        """Return a statistic on the scale on which groups are compared."""
        return statistic

    @abstractmethod
    def value(self, statistic: Any) -> Any:
        """Find the value of a statistic whose groups can be compared."""

    def value_and_small_groups(self, statistic: Any) -> tuple[Any, str]:
        """Find the value, and name the groups of few rows that decide it."""
        return self.value(statistic), ""

    @property
    def averages_strata(self) -> bool:
        """Whether the value is the mean over strata, not the largest."""
        return self.multistratum == "weighted"

    def combine(self, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Combine values: the largest, or, of strata with weights, their mean."""
        averages = weights and self.averages_strata
        return combine_numbers(values, weights if averages else None)

    def advise(self, rows: Rows) -> None:  # noqa: B027
        """Warn users whose arguments may give another value than the one they want."""

    # What a metric says of its noise --------------------------------------

    def check_method(self, method: Method) -> None:
        """Raise where the noise has no bounds by a method, with these options."""
        hint = ""
        if "method" in self.options:
            hint = f" functools.partial({self.name}, method=...) sets its own method."
        check_choice("method", method, get_args(Method), hint)
        if self.upper_limit == math.inf and method != "band":
            raise ValueError(
                f"method must be 'band' for {self.name} of numbers, got {method!r}: "
                "its bounds are for values in a known range, and numbers have none."
            )

    def observe(self, part: Rows) -> Observed:
        """Return the statistic of a part, and the numbers its noise depends on."""
        statistic = self.collect_part(part)
        if part.cluster is None:
            return Observed(statistic, statistic.effective_sizes)
        return Observed(statistic, self.select(part).grouped().effective_sizes)

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of each gap."""
        raise NotImplementedError(f"{self.name} has no bounds of its noise.")

    def pair_and_place(self, statistic: Any) -> tuple[Any, Any]:
        """Return labels of the groups that have the value, and where they have it."""
        return None, None

    # What a metric says of tables -----------------------------------------

    def check_bins(self, histogram: Rows) -> Rows:
        """Check the labels of cells of scores in bins."""
        return histogram

    def range_from_bins(self, histogram: Any) -> tuple[float, float]:
        """Return the smallest and largest possible value of scores known by bins."""
        raise NotImplementedError(f"{self.name} has no range from bins.")

    def condense(self, part: Rows) -> Rows:
        """Count checked rows in the cells that a monitor keeps and adds up."""
        return self.select(part)

    def reopen(self, cells: Rows) -> Rows:
        """Turn cells that a monitor has kept into checked rows."""
        return cells

    # From a call to its number --------------------------------------------

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
        value: float = estimate.warn()
        if estimate.small_groups:
            message = f"{self.title} is {value:.3g}, decided by few rows: "
            message += f"{estimate.small_groups}."
            warn_user(message + advise_on_few_rows(rows.labels, rows.grouped().counts))
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

        A table of scores in bins, or with strata, is refused unless it is taken.
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

    def evaluate(self, rows: Rows, groups_as_given: Any = None) -> Any:
        """Evaluate rows, and warn of what is left out.

        For a function of the user's own, the value is compared with the value that the
        function has for `groups_as_given`.
        """
        return self.estimate(rows).warn()

    def estimate(self, rows: Rows) -> Estimate:
        """Find the value of rows, over all classes and strata, or why there is none."""
        return self.split(rows).evaluate(self.estimate_part, self.join_estimates)

    def split(self, rows: Rows) -> Parts:
        """Check rows, once, and split them by class and by stratum."""
        classes = self.check_classes(rows)
        if rows.strata is None:
            return Parts(self.name, classes)
        strata, reason = split_strata(rows, leaves_groups_out=self.leaves_groups_out)
        return Parts(self.name, classes, strata, reason)

    def check_classes(self, rows: Rows) -> list[Rows]:
        """Check rows, for each class where scores have several columns."""
        if self.takes_classes and rows.y_pred.ndim == 2 and rows.y_pred.shape[1] > 2:
            hint = TAKES_ANY if self.compares_distributions else ""
            scale: Any = getattr(self, "scale", "probability")
            columns = split_columns(rows, self.inputs[1], scale, hint)
            return [self.check(column) for column in columns]
        check_shape(rows.y_pred, self.inputs[1])
        return [self.check(rows)]

    def estimate_part(self, part: Rows) -> Estimate:
        """Find the value of checked rows of one stratum and class."""
        return self.estimate_statistic(self.collect_part(part))

    def estimate_statistic(self, statistic: Any) -> Estimate:
        """Find the value of a statistic, or why it has none."""
        reason, advice = self.why_undefined(statistic)
        if reason:
            return self.undefined(reason, advice)
        value, small_groups = self.value_and_small_groups(self.rescale(statistic))
        return Estimate(value, small_groups=small_groups)

    def undefined(self, reason: str, advice: str) -> Estimate:
        """Return the estimate where groups cannot be compared, with the reason."""
        return undefined_estimate(self.title, reason, advice, self.undefined_value)

    def join_estimates(
        self, estimates: Sequence[Estimate], strata: Sequence[Stratum]
    ) -> Estimate:
        """Join the estimates of classes or strata: the largest, or the mean."""
        if not estimates:
            return Estimate(self.undefined_value, defined=False)
        weights = [stratum.weight for stratum in strata]
        value = self.combine([estimate.value for estimate in estimates], weights)
        averages = bool(strata) and self.averages_strata
        small_groups = {}  # in order, without repetitions
        for i, estimate in enumerate(estimates):
            if estimate.small_groups and (averages or estimate.value == value):
                place = f" in stratum {strata[i].label!r}" if strata else ""
                small_groups[estimate.small_groups + place] = True
        return Estimate(value, small_groups=listed([*small_groups]))

    def read_statistic(
        self,
        y_true: Any,
        y_pred: Any,
        sensitive_features: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> Any:
        """Read and check rows without strata, and return their statistic."""
        columns = sensitive_features, None, sample_weight, counts
        rows = self.read(y_true, y_pred, *columns, takes_strata=False)
        check_shape(rows.y_pred, self.inputs[1])
        return self.collect_part(self.check(rows))

    def compare(self, observed: Observed, method: Method) -> Comparisons:
        """Compare the groups of a statistic, and bound the noise of the gaps."""
        self.check_method(method)
        limit = self.upper_limit
        if not self.leaves_groups_out:
            reason, advice = self.why_undefined(observed.statistic)
            if reason:
                message = self.undefined(reason, advice).message
                return UNDEFINED._replace(reason=reason, message=message, maximum=limit)
        statistic, unit = self.rescale(observed.statistic), 1.0
        if limit == math.inf:
            statistic, unit = move_to_unit(statistic)
        comparisons = self.bound_noise(observed._replace(statistic=statistic), method)
        place = partial(self.pair_and_place, statistic)
        comparisons = comparisons._replace(maximum=limit, locate=place)
        return comparisons if unit == 1 else comparisons.scale_to_unit(unit)


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

    def largest_pair(self, statistic: Any) -> Located:
        """Find the largest gap, and between which groups it is."""
        return self.locate(statistic)

    def value(self, statistic: Any) -> Any:
        """Find the value of a statistic whose groups can be compared."""
        return self.largest_pair(statistic).value

    def value_and_small_groups(self, statistic: Any) -> tuple[Any, str]:
        """Find the value, and name those of its two groups that have few rows."""
        located = self.largest_pair(statistic)
        sizes, which = self.rows_compared(statistic, located)
        # Whoever sets a minimum size has said how many rows are enough.
        if statistic.min_group_size > 1 or sizes.min() >= FEW_ROWS:
            return located.value, ""
        small = [
            f"{statistic.labels[i]!r} has {counted(sizes[i], 'row')}{which}"
            for i in dict.fromkeys(located.pair)
            if i is not None and sizes[i] < FEW_ROWS
        ]
        return located.value, listed(small) if small and located.value else ""

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
