"""Metrics whose noise can be bounded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, get_args

from skfair._utils._validation import check_choice
from skfair.metrics._confidence._binned import compare_madd
from skfair.metrics._confidence._distributions import compare_abcc, compare_mcdp
from skfair.metrics._confidence._noise import Comparisons, Method
from skfair.metrics._confidence._observed import (
    Arguments,
    Observed,
    observe_confusion,
    observe_outcomes,
    observe_quality,
    observe_scores,
)
from skfair.metrics._confidence._rates import (
    compare_cvar,
    compare_equalized_odds,
    compare_max_gap,
    compare_parity,
)
from skfair.metrics._demographic_parity import demographic_parity_difference
from skfair.metrics._distribution._abcc import abcc
from skfair.metrics._distribution._madd import madd
from skfair.metrics._distribution._mcdp import mcdp
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._groupwise._cvar_fairness import cvar_fairness
from skfair.metrics._groupwise._max_gap import max_gap
from skfair.metrics._inputs import unwrapped
from skfair.metrics._strata import check_no_strata
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores
from skfair.statistics._grouped_scores import pooled_ranks


def observe(metric: Callable[..., float], arguments: Arguments) -> Observed:
    """Collect the statistic of a metric."""
    kind, options = resolve_metric(metric)
    return kind.observe(arguments, **options)


def compare(
    metric: Callable[..., float], observed: Observed, method: Method
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise of each comparison."""
    check_choice("method", method, get_args(Method))
    kind, options = resolve_metric(metric)
    if options.pop("scale", "probability") == "rank":
        if method != "band" and kind is not _KINDS[mcdp]:
            raise ValueError(
                f"scale must be 'probability' with method={method!r} for "
                f"{unwrapped(metric)[0].__name__}, got 'rank': the ranks are data, too."
            )
        observed = observed._replace(statistic=pooled_ranks(observed.statistic))
        if kind is _KINDS[mcdp]:
            options["ranked"] = True
    return kind.compare(observed, method, **options)


def metric_to_dict(metric: Callable[..., float]) -> dict[str, Any]:
    """Return the name and the options of a metric, for `json.dumps`."""
    _, options = resolve_metric(metric)
    for name, value in options.items():
        if not (value is None or isinstance(value, (str, bool, int, float))):
            raise ValueError(f"metric has the option {name}={value!r}, expected text.")
    return {"name": unwrapped(metric)[0].__name__, "options": options}


def metric_from_dict(data: Any) -> tuple[Callable[..., float], Any]:
    """Return a metric, and the class of its statistic, from name and options."""
    known = {function.__name__: function for function in _KINDS}
    if not isinstance(data, dict) or data.get("name") not in known:
        raise ValueError(
            f"metric must be a dictionary with a known name, got {data!r}."
        )
    function = known[data["name"]]
    return partial(function, **data["options"]), _KINDS[function].statistic


class _Kind(NamedTuple):
    """How the statistic of a metric is collected and compared; both take options."""

    statistic: type
    observe: Callable[..., Observed]
    compare: Callable[..., Comparisons]


def resolve_metric(metric: Any) -> tuple[_Kind, dict[str, Any]]:
    """Find the kind and the options of a metric, which may be a partial of another."""
    function, options = unwrapped(metric)
    if isinstance(metric, partial) and metric.args:
        raise ValueError(
            f"metric must have its options set by keyword, got {metric!r}."
        )
    if function not in _KINDS:
        names = ", ".join(known.__name__ for known in _KINDS)
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{metric!r}. bootstrap_interval takes any metric, and is approximate."
        )
    signature(function).bind_partial(**options)
    check_no_strata(options)
    options.pop("multistratum", None)  # strata are compared one by one
    return _KINDS[function], options


_KINDS: dict[Callable[..., float], _Kind] = {
    mcdp: _Kind(GroupedScores, observe_scores, compare_mcdp),
    abcc: _Kind(GroupedScores, observe_scores, compare_abcc),
    madd: _Kind(GroupedScores, observe_scores, compare_madd),
    demographic_parity_difference: _Kind(
        GroupedOutcomes, observe_outcomes, compare_parity
    ),
    equalized_odds_difference: _Kind(
        GroupedConfusion, observe_confusion, compare_equalized_odds
    ),
    max_gap: _Kind(GroupedOutcomes, observe_quality, compare_max_gap),
    cvar_fairness: _Kind(GroupedOutcomes, observe_quality, compare_cvar),
}
