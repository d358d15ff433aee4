"""What is known of each metric beside its mathematics, in one place.

A specification says how a metric is evaluated, what a test of it may permute, and how
its noise and its values from a histogram are bounded. Scorers, tests, intervals,
certificates and monitors read it here; nothing is known of a metric by marks on its
function, and nothing is decided by which function it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import Signature, signature, unwrap
from types import FunctionType
from typing import Any, TypeAlias

from skfair._rows import Countable, Rows
from skfair._utils._arrays import Integers
from skfair._utils._text import shown
from skfair.groups import encode_groups
from skfair.metrics._pairs import Located, Measure, PairGaps

#: Combines the results of strata: the largest, or the mean where weights are given.
Combine: TypeAlias = Callable[[list[Any], Sequence[float] | None], Any]


@dataclass(frozen=True, eq=False)
class Specification:
    """How a metric is evaluated, what its null hypothesis permutes, and its bounds."""

    #: Evaluates rows of one stratum and one class, or a statistic of them.
    function: Callable[..., Any]
    #: Class of the statistic that may stand in for all rows, if there is one.
    statistic: type | None = None
    #: Largest value that the metric can have of probabilities, ranks or labels.
    maximum: float = 1.0
    #: Whether the function has parameters for strata.
    takes_strata: bool = False
    #: Whether scores may have a column for each of several classes.
    takes_classes: bool = False
    #: Whether the metric itself leaves out groups with too few rows.
    leaves_groups_out: bool = False
    #: Whether groups are permuted within true labels, given the options of the metric;
    #: None where this is not known.
    compares_errors: Callable[..., bool] | None = None
    #: Numbers the cells of rows with similar scores, within which groups are permuted;
    #: None where scores do not matter.
    permuted_in: Callable[[Rows], Integers] | None = None
    #: Reads true labels and scores of rows of one stratum and class, with options.
    countable: Callable[..., Countable] | None = None
    #: Finds, of such a statistic and options, the `PairGaps` of which the metric is the
    #: largest.
    pairs: Callable[..., PairGaps] | None = None
    #: Finds the value of such a statistic, with the groups and the place that have it.
    locate: Callable[..., Located] | None = None
    #: Combines the results of strata, where they are not one number each.
    combine: Combine | None = None
    #: Makes, of the options, the measure of the gap between the CDFs of two groups that
    #: the metric is the largest of.
    measure: Callable[..., Measure] | None = None
    #: A seminorm of the gap that is at least the measure; None if that is a seminorm.
    distance: Measure | None = None
    #: Makes, of the options, the function that bounds the metric of a difference of
    #: CDFs between a least and a largest one; by default the measure of the least and
    #: of the largest absolute difference.
    band_bounds: Callable[..., Callable[..., tuple[float, float]]] | None = None
    #: Raises where the metric is not known exactly from a number of bins and options.
    check_bins: Callable[..., None] | None = None
    #: Bounds the metric of a `GroupedCalibration`, of scores and labels by bins.
    bounds_by_label: Callable[..., tuple[float, float]] | None = None
    #: Reads the statistic of true labels, scores, groups and weights; with options.
    read: Callable[..., Any] | None = None
    #: Reads less, which serves one evaluation with the same options.
    read_once: Callable[..., Any] | None = None
    #: Bounds the noise of each comparison that the metric is the largest of.
    compare: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """Name of the function that users call."""
        return name_of(self.function)

    def largest(self, options: Mapping[str, Any]) -> float:
        """Largest value with these options; numbers have no largest one."""
        of_numbers = options.get("scale") == "real" and options.get("threshold") is None
        return math.inf if of_numbers else self.maximum

    @property
    def inputs(self) -> list[str]:
        """Names of the two arguments that come first: labels, and what is compared."""
        return list(signature_of(self.function).parameters)[:2]


def name_of(function: Any) -> str:
    """Name of a function, or its text where it has none."""
    return getattr(function, "__name__", None) or repr(function)


#: Specifications of the metrics of skfair, by the function that users call.
_KNOWN: dict[Any, Specification] = {}


def register(metric: Callable[..., Any], specification: Specification) -> None:
    """Make the specification of a metric known."""
    _KNOWN[metric] = specification


def complete(metric: Callable[..., Any], **parts: Any) -> None:
    """Add to a specification what only a later layer can say."""
    _KNOWN[metric] = replace(_KNOWN[metric], **parts)


def known_metrics() -> Mapping[Any, Specification]:
    """Specifications of all metrics of skfair, by the function that users call."""
    return _KNOWN


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
        return Specification(function), options
    if function in _KNOWN:
        return _KNOWN[function], options
    inner: Any = unwrap(function, stop=lambda wrapped: wrapped in _KNOWN)
    specification = _KNOWN.get(inner, Specification(inner))
    null = {
        name: getattr(specification, name)
        for name in ("compares_errors", "permuted_in")
    }
    return Specification(function, **null), options


def is_known(metric: Any) -> bool:
    """Whether a metric is one of skfair, not a function of the user's own."""
    function, _ = unwrapped(metric)
    if isinstance(function, FunctionType):
        return function in _KNOWN
    return isinstance(getattr(function, "specification", None), Specification)


def unwrapped(metric: Any) -> tuple[Any, dict[str, Any]]:
    """Return the function inside `functools.partial`, or a metric, and its options."""
    options: dict[str, Any] = {}
    while isinstance(metric, partial):
        metric, options = metric.func, {**metric.keywords, **options}
    return metric, {**getattr(metric, "options", {}), **options}


def check_metric(metric: Any) -> None:
    """Raise unless a metric is a function; people know scorers by their names."""
    is_scorer = hasattr(metric, "_score_func")
    if callable(metric) and not is_scorer:
        check_takes_groups(metric)
        return
    names = numbers_by_name()
    name = str(metric).removeprefix("neg_")
    raise TypeError(
        "metric must be a function, such as skfair.metrics."
        f"{name if name in names else 'mcdp'}, got "
        f"{'the scorer ' * is_scorer}{shown(metric)}."
    )


def number_of(metric: Any, value: Any) -> float:
    """Return the value of a metric as a float; raise where it is no number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        name, kind = name_of(unwrapped(metric)[0]), type(value).__name__
        raise TypeError(
            f"metric must return a number, got a {kind} from {name}."
        ) from None


def check_takes_groups(metric: Any) -> None:
    """Raise for a function without groups, such as a metric of scikit-learn."""
    try:
        parameters = signature_of(metric).parameters
    except (TypeError, ValueError):  # Python cannot tell
        return
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if not any_name and "sensitive_features" not in parameters:
        name = getattr(unwrapped(metric)[0], "__name__", type(metric).__name__)
        raise TypeError(
            f"metric must take sensitive_features, which {name} does not. "
            "skfair.metrics.group_metrics computes metrics of scikit-learn by group."
        )


#: Arguments that have a value for each row, and are no options.
OF_ROWS = ("sensitive_features", "control_features", "sample_weight")


def check_option_names(metric: Any, name: str, options: Iterable[str]) -> None:
    """Raise for an option that a metric does not take."""
    parameters = signature(metric).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    names = [
        name
        for name, p in list(parameters.items())[2:]
        if p.kind is not p.VAR_POSITIONAL and name not in OF_ROWS
    ]
    for unknown in (p for p in options if p not in names):
        hint = ""
        if unknown in keywords_of(encode_groups):
            hint = (
                f" encode_groups of skfair.groups takes {unknown}: pass its result as "
                "sensitive_features, or to a scorer a function of X that returns it."
            )
        raise TypeError(
            f"{name} has no option {unknown!r}, expected one of {names}.{hint}"
        )


def check_known(
    specification: Specification, options: Mapping[str, Any], *users: Any, what: str
) -> dict[str, Any]:
    """Return options but `multigroup`; raise unless a function takes each by keyword.

    `users` are the functions that use the options.
    """
    signature_of(specification.function).bind_partial(**options)
    own = {name: value for name, value in options.items() if name != "multigroup"}
    for name in own.keys() - set().union(*map(keywords_of, users)):
        raise ValueError(
            f"{name} must be left at its default: {what} of {specification.name} do "
            f"not know this option, got {options[name]!r}."
        )
    return own


@lru_cache
def signature_of(function: Callable[..., Any]) -> Signature:
    """Signature of a function, which takes longer to find than some bounds do."""
    return signature(function)


def keywords_of(function: Callable[..., Any]) -> set[str]:
    """Names of the parameters of a function that are given by keyword only."""
    parameters = signature_of(function).parameters.values()
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def pick(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that a function takes by keyword."""
    if not options:
        return {}
    keywords = keywords_of(function)
    return {name: options[name] for name in options if name in keywords}
