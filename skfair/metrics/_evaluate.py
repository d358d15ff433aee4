"""A metric as users call it: strata first, then classes, then the comparison of groups.

The order is that of the metric's value: the largest over strata of the largest over
classes of the largest difference between groups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast, get_args

from skfair._utils._validation import check_choice
from skfair.metrics._classes import evaluate_classes
from skfair.metrics._spec import Specification, register
from skfair.metrics._strata import Multistratum, combine_numbers, evaluate_strata

Metric = TypeVar("Metric", bound=Callable[..., Any])


def never(**options: Any) -> bool:
    """Say of a metric that its groups are permuted over all rows."""
    return False


def always(**options: Any) -> bool:
    """Say of a metric that its groups are permuted within true labels."""
    return True


def specify(
    title: str, *, compares_errors: Callable[..., bool], **known: Any
) -> Callable[[Metric], Metric]:
    """Make a metric of a function of rows of one stratum and one class.

    `known` are further fields of its `Specification`. A function with the parameters
    `control_features` and `multistratum` is evaluated within strata, and never reads
    them.
    """

    def decorate(function: Metric) -> Metric:
        takes_strata = "control_features" in signature(function).parameters
        specification = Specification(
            function,
            title,
            takes_strata=takes_strata,
            compares_errors=compares_errors,
            **known,
        )

        @wraps(function)
        def metric(*args: Any, **kwargs: Any) -> Any:
            if takes_strata:
                multistratum = kwargs.get("multistratum", "max")
                check_choice("multistratum", multistratum, get_args(Multistratum))
            if kwargs.get("control_features") is None:
                return evaluate_classes(specification, *args, **kwargs)
            given = signature(function).bind(*args, **kwargs).arguments
            combine = specification.combine or combine_numbers
            return evaluate_strata(metric, combine, given)

        register(metric, specification)
        return cast(Metric, metric)

    return decorate
