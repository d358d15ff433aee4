"""A metric as users call it: strata first, then classes, then the comparison of groups.

The order is that of the metric's value: the largest over strata of the largest over
classes of the largest difference between groups.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast, get_args

import numpy as np
import pandas as pd

from skfair._utils._validation import check_choice
from skfair._utils._warnings import warns_if_reordered
from skfair.metrics._inputs import Multigroup
from skfair.metrics._spec import Specification, check_option_names, register
from skfair.metrics._strata import (
    Multistratum,
    combine_numbers,
    evaluate_classes,
    evaluate_strata,
)
from skfair.statistics._statistic import GroupedStatistic

Metric = TypeVar("Metric", bound=Callable[..., Any])

#: Tables of these types have an index, whose order may differ from that of others.
_WITH_INDEX = (pd.Series, pd.DataFrame)
#: Options that mean the same for every metric which has them.
_SHARED = {
    "multigroup": get_args(Multigroup),
    "multistratum": get_args(Multistratum),
}


def never(**options: Any) -> bool:
    """Say of a metric that its groups are permuted over all rows."""
    return False


def always(**options: Any) -> bool:
    """Say of a metric that its groups are permuted within true labels."""
    return True


def check_shared(options: Mapping[str, Any]) -> None:
    """Raise unless the options that many metrics have hold one of their values."""
    for name, choices in _SHARED.items():
        if name in options:
            check_choice(name, options[name], choices)


def refuse_sorted_rows(name: str) -> None:
    """Raise in a call by scikit-learn's `metric_at_thresholds`, direct or not.

    Its decisions have 32 bits. Only of these the callers are looked at.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_name != "metric_at_thresholds" or (
        frame.f_globals.get("__name__", "").partition(".")[0] != "sklearn"
    ):
        if frame.f_back is None:
            return
        frame = frame.f_back
    raise ValueError(
        "metric_at_thresholds sorts y_true and y_score, but not sensitive_features, so "
        "that rows would get the groups of others. Evaluate each threshold by itself: "
        f"[{name}(y_true, y_score >= t, sensitive_features=...) for t in thresholds]."
    )


def specify(
    *, compares_errors: Callable[..., bool], **parts: Any
) -> Callable[[Metric], Metric]:
    """Make a metric of a function of rows of one stratum and one class.

    `parts` are further fields of its `Specification`. A function with the parameters
    `control_features` and `multistratum` is evaluated within strata, and never reads
    them.
    """

    def decorate(function: Metric) -> Metric:
        names = [*signature(function).parameters]
        takes_strata = "control_features" in names
        specification = Specification(
            function,
            takes_strata=takes_strata,
            compares_errors=compares_errors,
            **parts,
        )

        @wraps(function)
        def metric(*args: Any, **kwargs: Any) -> Any:
            for values in (*args, *kwargs.values()):
                if isinstance(values, _WITH_INDEX):
                    return of_tables(*args, **kwargs)
            return evaluate(*args, **kwargs)

        @wraps(function)
        def evaluate(*args: Any, **kwargs: Any) -> Any:
            if len(args) > 1 and getattr(args[1], "dtype", None) == np.int32:
                refuse_sorted_rows(function.__name__)
            statistic = len(args) == 2 and isinstance(args[1], GroupedStatistic)
            if len(args) != 2 or (
                kwargs.get("sensitive_features") is None and not statistic
            ):
                _check_call(specification, args, kwargs)
            if unknown := kwargs.keys() - names:
                check_option_names(function, function.__name__, unknown, of_rows=True)
            if not kwargs.keys().isdisjoint(_SHARED):
                check_shared(kwargs)
            if kwargs.get("control_features") is not None:
                arguments = signature(function).bind(*args, **kwargs).arguments
                combine = specification.combine or combine_numbers
                return evaluate_strata(metric, combine, arguments)
            if statistic or (len(args) == 2 and getattr(args[1], "ndim", 0) == 1):
                return function(*args, **kwargs)
            return evaluate_classes(specification, *args, **kwargs)

        of_tables = warns_if_reordered(evaluate)
        register(metric, specification)
        return cast(Metric, metric)

    return decorate


def _check_call(
    specification: Specification, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise where arguments are missing or too many, with a call that has them all.

    A statistic takes the place of all rows, of which no groups are given.
    """
    labels, values = specification.inputs
    call = (
        f"call {specification.name}({labels}, {values}, sensitive_features=groups), "
        f"with None as {labels} if there are no true labels."
    )
    arguments = dict(zip((labels, values), args, strict=False)) | kwargs
    if args and hasattr(args[0], "fit") and specification.combine is None:
        raise TypeError(
            f"{specification.name} is no scorer: pass scoring=skfair.metrics."
            f"get_fairness_scorer('neg_{specification.name}', sensitive_features="
            "<column of X>)."
        )
    if len(args) > 2 or labels not in arguments or values not in arguments:
        raise TypeError(
            f"{specification.name} must be given {labels} and {values} in this order, "
            f"and everything else by name: {call}"
        )
    rows = not isinstance(arguments[values], GroupedStatistic)
    if rows and arguments.get("sensitive_features") is None:
        parameters = signature(specification.function).parameters
        other = next((name for name in kwargs if name not in parameters), None)
        instead = "" if other is None else f", and {other!r} is no option"
        raise ValueError(
            f"sensitive_features is None{instead}, expected the group of each row: "
            f"{call}"
        )
