"""What is known of each metric beside its mathematics, in one place.

A specification says how a metric is evaluated and what a test of it may permute.
Scorers, tests, intervals, certificates and monitors read it here; nothing is known of a
metric by marks on its function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import unwrap
from types import FunctionType
from typing import Any

#: Combines the results of strata: the largest, or the mean where weights are given.
Combine = Callable[[list[Any], Sequence[float] | None], Any]


@dataclass(frozen=True, eq=False)
class Specification:
    """How a metric is evaluated, and what its null hypothesis permutes."""

    #: Evaluates rows of one stratum and one class, or a statistic of them.
    function: Callable[..., Any]
    #: Name of the metric in sentences.
    title: str
    #: Class of the statistic that may stand in for all rows, if there is one.
    statistic: type | None = None
    #: Whether the function has parameters for strata.
    takes_strata: bool = False
    #: Whether scores may have a column for each of several classes.
    takes_classes: bool = False
    #: Whether the metric itself leaves out groups with too few rows.
    leaves_groups_out: bool = False
    #: Whether groups are values of a number, each of which may have one row.
    groups_are_numbers: bool = False
    #: Whether groups are permuted within true labels, given the options of the metric;
    #: None where this is not known.
    compares_errors: Callable[..., bool] | None = None
    #: Metric that orders permutations with the same value.
    ties: Callable[..., float] | None = None
    #: Combines the results of strata, where they are not one number each.
    combine: Combine | None = None

    @property
    def name(self) -> str:
        """Name of the function that users call."""
        return getattr(self.function, "__name__", None) or repr(self.function)


#: Specifications of the metrics of skfair, by the function that users call.
_KNOWN: dict[Any, Specification] = {}


def register(metric: Callable[..., Any], specification: Specification) -> None:
    """Make the specification of a metric known."""
    _KNOWN[metric] = specification


def numbers_by_name() -> dict[str, Callable[..., float]]:
    """Return the metrics of skfair that are one number, by name."""
    return {
        specification.name: metric
        for metric, specification in _KNOWN.items()
        if specification.combine is None
    }


def specification_of(metric: Any) -> tuple[Specification, dict[str, Any]]:
    """Return the specification of a metric, and the options that `partial` has set.

    An object may have a specification of its own. Of any other function nothing is
    known but its name; a function that `functools.wraps` a metric has its null
    hypothesis.
    """
    function, options = unwrapped(metric)
    if isinstance(getattr(function, "specification", None), Specification):
        return function.specification, options
    if not isinstance(function, FunctionType):
        return Specification(function, "The metric"), options
    if function in _KNOWN:
        return _KNOWN[function], options
    inner: Any = unwrap(function, stop=lambda one: one in _KNOWN)
    errors = _KNOWN[inner].compares_errors if inner in _KNOWN else None
    return Specification(function, function.__name__, compares_errors=errors), options


def unwrapped(metric: Any) -> tuple[Any, dict[str, Any]]:
    """Return the function inside `functools.partial`, and its options."""
    options: dict[str, Any] = {}
    while isinstance(metric, partial):
        metric, options = metric.func, {**metric.keywords, **options}
    return metric, options
