"""Metrics whose noise can be bounded, and what is observed of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from reprlib import repr as brief
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._types import Floats
from skfair._utils._validation import Scale, check_choice, check_weights
from skfair.groups import Codes, resolve_groups
from skfair.metrics._confidence._binned import compare_madd
from skfair.metrics._confidence._distributions import compare_abcc, compare_mcdp
from skfair.metrics._confidence._noise import Comparisons, Method, Observed
from skfair.metrics._confidence._rates import (
    compare_cvar,
    compare_equalized_odds,
    compare_max_gap,
    compare_parity,
)
from skfair.metrics._demographic_parity import (
    demographic_parity_difference,
    parity_outcomes,
)
from skfair.metrics._distribution._abcc import abcc
from skfair.metrics._distribution._madd import binned_scores, madd, number_of_bins
from skfair.metrics._distribution._mcdp import mcdp
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._groupwise._cvar_fairness import cvar_fairness
from skfair.metrics._groupwise._max_gap import max_gap
from skfair.metrics._inputs import effective_sizes, grouped_quality, unranked_scores
from skfair.metrics._spec import specification_of, unwrapped
from skfair.metrics._strata import check_no_strata
from skfair.statistics import GroupedConfusion, GroupedOutcomes
from skfair.statistics._grouped_scores import pooled_ranks

#: Arguments with a value for each row, which are no options.
_BY_ROW = ("y_true", "sensitive_features", "control_features", "sample_weight")
#: Groups up to which a product with each group is faster than counting.
_FEW_GROUPS = 4


class Arguments(NamedTuple):
    """Arguments of a metric, with rows or a statistic."""

    y_true: ArrayLike | None
    y_score: Any
    sensitive_features: Any
    sample_weight: ArrayLike | None

    def weighted(self) -> dict[str, Any]:
        """Keyword arguments that say to whom rows belong and what they weigh."""
        return {
            "sensitive_features": self.sensitive_features,
            "sample_weight": self.sample_weight,
        }


def observe(
    metric: Callable[..., float], arguments: Arguments, *, once: bool = False
) -> Observed:
    """Collect the statistic of a metric, or, once, as little as this metric needs."""
    kind, options = resolve_metric(metric)
    collect = (once and kind.observe_once) or kind.observe
    return collect(arguments, **options)


def compare(
    metric: Callable[..., float], observed: Observed, method: Method
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise of each comparison."""
    check_choice("method", method, get_args(Method))
    kind, options = resolve_metric(metric)
    if options.pop("scale", "probability") == "rank":
        if method != "band" and not kind.bounds_ranks:
            raise ValueError(
                f"scale must be 'probability' with method={method!r} for "
                f"{unwrapped(metric)[0].__name__}, got 'rank': the ranks are data, too."
            )
        observed = observed._replace(statistic=pooled_ranks(observed.statistic))
        if kind.bounds_ranks:
            options["ranked"] = True
    return kind.compare(observed, method, **options)


def metric_to_dict(metric: Callable[..., float]) -> dict[str, Any]:
    """Return the name and all options of a metric, for `json.dumps`."""
    resolve_metric(metric)
    function, given = unwrapped(metric)
    options = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
    }
    for name, value in options.items():
        plain = value is None or isinstance(value, (str, bool, int, float))
        if not plain or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(
                f"metric has the option {name}={brief(value)}, expected text, a number "
                "or None."
            )
    return {"name": function.__name__, "options": options}


def metric_from_dict(data: Any) -> tuple[Callable[..., float], Any]:
    """Return a metric, and the class of its statistic, from name and options."""
    if not isinstance(data, Mapping) or set(data) != {"name", "options"}:
        raise ValueError(
            f"metric must be a dictionary of name and options, got {brief(data)}."
        )
    known = {function.__name__: function for function in _KINDS}
    name, options = data["name"], data["options"]
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"metric must have a known name, got {brief(name)}.")
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be a dictionary, got {brief(options)}.")
    metric = partial(known[name], **options)
    try:
        metric_to_dict(metric)
    except TypeError as error:
        raise ValueError(f"options of {name} are not those of it: {error}.") from error
    return metric, specification_of(metric)[0].statistic


def check_options(metric: Callable[..., float]) -> None:
    """Raise where options cannot be those of the metric, whatever the rows are.

    The metric is evaluated and compared on four rows. Options that may depend on the
    rows, such as the positive label, are left out.
    """
    function, given = unwrapped(metric)
    options = {
        name: value
        for name, value in given.items()
        if name != "pos_label"
        and (value is None or isinstance(value, (str, bool, int, float, np.generic)))
    }
    metric = partial(function, **options)
    rows = Arguments([0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1], None)
    metric(rows.y_true, rows.y_score, sensitive_features=rows.sensitive_features)
    compare(metric, observe(metric, rows), "anytime")


class _Kind(NamedTuple):
    """How the statistic of a metric is collected and compared; all take options.

    `options` are those that the functions know. Each of them takes all, and leaves to
    the other what it does not use.
    """

    observe: Callable[..., Observed]
    compare: Callable[..., Comparisons]
    options: tuple[str, ...]
    #: Collects less, which does not serve other options and cannot be added.
    observe_once: Callable[..., Observed] | None = None
    #: Whether bounds hold on the scale of ranks for every method; then `compare` is
    #: told that scores are ranks.
    bounds_ranks: bool = False


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
    by_row = [*[*signature(function).parameters][:2], *Arguments._fields[2:]]
    given = [name for name in by_row if options.get(name) is not None]
    if given:
        raise ValueError(
            f"{given[0]} must be given beside the metric, not as an option of it: it "
            "has a value for each row."
        )
    options.pop("multistratum", None)  # strata are compared one by one
    kind = _KINDS[function]
    for name in options.keys() - {*kind.options, *_BY_ROW}:
        raise ValueError(
            f"{name} must be left at its default: intervals of {function.__name__} do "
            f"not know this option, got {options[name]!r}."
        )
    return kind, options


def observe_bins(
    arguments: Arguments,
    *,
    scale: Scale = "probability",
    bandwidth: Any = "auto",
    **_: Any,
) -> Observed:
    """Scores of each group, or the bins that they are in where that is all it takes."""
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    if automatic or scale == "rank" or arguments.sample_weight is not None:
        return observe_scores(arguments, scale=scale)
    statistic = binned_scores(number_of_bins(bandwidth), *arguments, scale)
    return observe_scores(Arguments(None, statistic, None, None))


def observe_scores(
    arguments: Arguments, *, scale: Scale = "probability", **_: Any
) -> Observed:
    """Scores of each group; ranks are not taken yet, so that batches can be added."""
    statistic = unranked_scores(*arguments, scale)
    sizes = effective_sizes(statistic, **arguments.weighted())
    _check_known(sizes)
    return Observed(statistic, sizes)


def observe_outcomes(
    arguments: Arguments,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    **_: Any,
) -> Observed:
    """Scores or decisions whose means are compared."""
    statistic = arguments.y_score
    if isinstance(statistic, GroupedOutcomes):
        # The mean square of values in [0, 1] is at most their mean.
        return Observed(statistic, statistic.effective_sizes, statistic.means)
    outcomes = parity_outcomes(statistic, threshold, pos_label)
    rows = arguments.weighted()
    rows["sensitive_features"] = resolve_groups(
        arguments.sensitive_features, n_samples=len(outcomes)
    )
    statistic = GroupedOutcomes.from_outcomes(outcomes, **rows)
    codes = rows["sensitive_features"].codes
    if arguments.sample_weight is None and statistic.counts.sum() == len(codes):
        sums = _sums_of_squares(outcomes, codes, len(statistic.counts))
        squares = sums / np.maximum(statistic.counts, 1)
    else:
        squares = GroupedOutcomes.from_outcomes(outcomes**2, **rows).means
    return Observed(statistic, statistic.effective_sizes, squares)


def _sums_of_squares(outcomes: Floats, codes: Codes, n_groups: int) -> Floats:
    """Sum the squares of each group; few groups are faster one by one."""
    if n_groups > _FEW_GROUPS:
        return np.asarray(np.bincount(codes, outcomes**2, n_groups))
    return np.array([(outcomes * (codes == g)) @ outcomes for g in range(n_groups)])


def observe_confusion(arguments: Arguments, **_: Any) -> Observed:
    """Confusion matrices; sizes are those of the true classes of each group."""
    y_true, y_pred = arguments.y_true, arguments.y_score
    rows = arguments.weighted()
    if isinstance(y_pred, GroupedConfusion):
        _check_known(effective_sizes(y_pred, **rows))
        return Observed(y_pred, y_pred.matrices.sum(axis=2).astype(float))
    statistic = GroupedConfusion.from_predictions(y_true, y_pred, **rows)
    sizes = statistic.matrices.sum(axis=2).astype(float)
    weights = check_weights(arguments.sample_weight, len(y_pred))
    if weights is not None:
        rows["sample_weight"] = np.square(weights, dtype=float)
        squares = GroupedConfusion.from_predictions(y_true, y_pred, **rows).matrices
        squares = squares.sum(axis=2)
        np.divide(sizes**2, squares, out=sizes, where=squares > 0)
    return Observed(statistic, sizes)


def observe_quality(
    arguments: Arguments,
    *,
    quality: Any = "selection_rate",
    pos_label: Any = None,
    **_: Any,
) -> Observed:
    """Outcomes whose rates are compared."""
    y_true, y_pred, groups, weights = arguments
    statistic = grouped_quality(y_true, y_pred, groups, quality, pos_label, weights)
    return Observed(statistic, statistic.effective_sizes)


def _check_known(sizes: Floats) -> None:
    """Raise where a statistic does not tell the effective numbers of rows."""
    if np.isnan(sizes).any():
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, whose squares "
            "it does not keep; pass the rows with their weights."
        )


_KINDS: dict[Callable[..., float], _Kind] = {
    mcdp: _Kind(
        observe_scores,
        compare_mcdp,
        ("epsilon", "method", "n_subdivisions", "scale", "multigroup"),
        bounds_ranks=True,
    ),
    abcc: _Kind(observe_scores, compare_abcc, ("scale", "multigroup")),
    madd: _Kind(
        observe_scores,
        compare_madd,
        ("bandwidth", "scale", "multigroup"),
        observe_bins,
    ),
    demographic_parity_difference: _Kind(
        observe_outcomes,
        compare_parity,
        ("threshold", "pos_label", "multigroup"),
    ),
    equalized_odds_difference: _Kind(
        observe_confusion, compare_equalized_odds, ("multigroup",)
    ),
    max_gap: _Kind(
        observe_quality,
        compare_max_gap,
        ("quality", "group_weights", "pos_label"),
    ),
    cvar_fairness: _Kind(
        observe_quality,
        compare_cvar,
        ("alpha", "quality", "group_weights", "fractional", "pos_label"),
    ),
}
