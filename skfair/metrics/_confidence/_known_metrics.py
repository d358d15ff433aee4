"""Metrics whose noise can be bounded, and what is observed of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from reprlib import repr as brief
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._arrays import Floats
from skfair._utils._text import shown
from skfair._utils._validation import AnyScale, Scale, check_choice
from skfair.groups import Codes, positions_in, resolve_groups
from skfair.metrics._confidence._binned import compare_madd
from skfair.metrics._confidence._distributions import (
    compare_abcc,
    compare_mcdp,
    compare_seminorm,
)
from skfair.metrics._confidence._noise import UNDEFINED, Comparisons, Method, Observed
from skfair.metrics._confidence._rates import (
    compare_cvar,
    compare_equalized_odds,
    compare_max_gap,
    compare_parity,
)
from skfair.metrics._demographic_parity import (
    compares_numbers,
    demographic_parity_difference,
    parity_outcomes,
)
from skfair.metrics._distribution._abcc import abcc
from skfair.metrics._distribution._gap import grouped_scores
from skfair.metrics._distribution._madd import (
    binned_scores,
    is_automatic,
    madd,
    number_of_bins,
)
from skfair.metrics._distribution._mcdp import mcdp
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._error_differences import (
    errors_of,
    mean_absolute_error_difference,
    mean_error_difference,
)
from skfair.metrics._evaluate import check_shared
from skfair.metrics._groupwise._cvar_fairness import cvar_fairness
from skfair.metrics._groupwise._max_gap import max_gap
from skfair.metrics._inputs import Rate, effective_sizes, grouped_quality
from skfair.metrics._rate_differences import (
    false_positive_rate_difference,
    predictive_value_difference,
    rate_outcomes,
    true_positive_rate_difference,
)
from skfair.metrics._spec import (
    Specification,
    check_known,
    check_metric,
    complete,
    keywords_of,
    known_metrics,
    pick,
    signature_of,
    specification_of,
    unwrapped,
)
from skfair.metrics._strata import check_no_strata
from skfair.metrics._undefined import warn_if_undefined
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores
from skfair.statistics._grouped_confusion import encode_classes
from skfair.statistics._grouped_scores import pooled_ranks

#: Groups up to which a product with each group is faster than counting.
_FEW_GROUPS = 4


def observe(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: Any,
    sensitive_features: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    once: bool = False,
) -> Observed:
    """Compute the statistic of a metric, and what its noise depends on.

    With `once` the statistic holds no more than this metric needs.
    """
    specification, options = bounded_metric(metric)
    collect: Any = (once and specification.observe_once) or specification.observe
    # All of them take rows in this order.
    rows = y_true, y_score, sensitive_features, sample_weight
    observed: Observed = collect(*rows, **pick(collect, options))
    return observed


def compare(
    metric: Callable[..., float], observed: Observed, method: Method
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise of each comparison."""
    check_choice("method", method, get_args(Method))
    specification, options = bounded_metric(metric)
    name, compare_noise = specification.name, specification.compare
    assert compare_noise is not None
    ranked, unit = options.get("scale", "probability") == "rank", None
    maximum = specification.largest(options)
    if ranked:
        if "ranked" in keywords_of(compare_noise):
            options["ranked"] = True
        elif method != "band":
            raise ValueError(
                f"scale must be 'probability' with method={method!r} for {name}, got "
                "'rank': the ranks are data, too."
            )
        observed = observed._replace(statistic=pooled_ranks(observed.statistic))
    elif maximum == math.inf:
        if method != "band":
            raise ValueError(
                f"method must be 'band' for {name} of numbers, got {method!r}: its "
                "bounds are for values in a known range, and numbers have none."
            )
        statistic, unit = _in_range_seen(observed.statistic)
        observed = observed._replace(statistic=statistic)
    check_shared(options)
    if "measure" in keywords_of(compare_noise) and specification.measure is not None:
        options["measure"] = specification.measure(
            **pick(specification.measure, options)
        )
        options["maximum"] = maximum
    leaves_out = specification.leaves_groups_out
    if not leaves_out and warn_if_undefined(name, observed.statistic):
        return UNDEFINED._replace(maximum=maximum)
    found: Comparisons = compare_noise(observed, method, **pick(compare_noise, options))
    found = found._replace(maximum=maximum)
    return found if unit is None else found.in_unit(unit)


def _in_range_seen(statistic: GroupedScores) -> tuple[GroupedScores, float]:
    """Move numbers to [0, 1], the least and the largest of everyone; and their range.

    Bounds of probabilities then hold in large samples. What they add for small groups
    depends on the range: of skewed numbers, a group shows only part of it.
    """
    scores = statistic.scores
    low, unit = (scores.min(), np.ptp(scores)) if len(scores) else (0.0, 0.0)
    moved = (scores - low) / (unit or 1.0)
    return replace(statistic, scores=moved), float(unit)


def metric_to_dict(metric: Callable[..., float]) -> dict[str, Any]:
    """Return the name and all options of a metric, for `json.dumps`."""
    bounded_metric(metric)
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
    known = {specification.name: one for one, specification in _bounded().items()}
    name, options = data["name"], data["options"]
    if not isinstance(name, str) or name not in known:
        raise ValueError(
            f"metric must be one of {', '.join(known)}, got {brief(name)}."
        )
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
    y_true, y_score, groups = [0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]
    metric(y_true, y_score, sensitive_features=groups)
    compare(metric, observe(metric, y_true, y_score, groups), "anytime")


def _bounded() -> dict[Callable[..., float], Specification]:
    """Metrics whose noise can be bounded.

    Without bounds of its own, that of a seminorm of a gap is at most its largest value
    times the largest gap.
    """
    found = {}
    for metric, known in known_metrics().items():
        if known.compare is not None:
            found[metric] = known
        elif known.measure is not None and known.distance is None:
            found[metric] = replace(
                known, observe=observe_scores, compare=compare_seminorm
            )
    return found


def bounded_metric(metric: Any) -> tuple[Specification, dict[str, Any]]:
    """Find the specification of a metric whose noise can be bounded, and its options.

    It may be a `partial` of another.
    """
    function, options = unwrapped(metric)
    if isinstance(metric, partial) and metric.args:
        raise ValueError(
            f"metric must have its options set by keyword, got {shown(metric)}."
        )
    check_metric(metric)
    bounded = _bounded()
    if function not in bounded:
        names = ", ".join(known.name for known in bounded.values())
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{shown(metric)}. bootstrap_interval takes any metric, and is approximate."
        )
    specification = bounded[function]
    signature_of(function).bind_partial(**options)
    check_no_strata(options)
    by_row = (*specification.inputs, "sensitive_features", "sample_weight")
    for name in by_row:
        if options.pop(name, None) is not None:
            raise ValueError(
                f"{name} must be given beside the metric, not as an option of it: it "
                "has a value for each row."
            )
    for name in ("control_features", "multistratum"):  # strata are compared one by one
        options.pop(name, None)
    users = [specification.observe, specification.compare, specification.measure]
    users = [one for one in users if one is not None]
    check_known(specification, options, *users, what="intervals")
    return specification, options


def observe_bins(
    *rows: Any, scale: Scale = "probability", bandwidth: Any = "auto"
) -> Observed:
    """Scores of each group, or the bins that they are in where that is all it takes."""
    y_true, y_score, groups, weights = rows
    if is_automatic(bandwidth) or scale == "rank" or weights is not None:
        return observe_scores(*rows, scale=scale)
    n_bins = number_of_bins(bandwidth)
    statistic = binned_scores(n_bins, y_true, y_score, groups, weights, scale)
    return observe_scores(None, statistic, None, None)


def observe_scores(
    *rows: Any, scale: AnyScale = "probability", scales: Any = Scale
) -> Observed:
    """Scores of each group, on one of some scales.

    Ranks are not taken yet, so that batches can be added.
    """
    y_true, y_score, groups, weights = rows
    statistic = grouped_scores(
        y_true, y_score, groups, weights, scale, ranked=False, scales=scales
    )
    sizes = effective_sizes(statistic, groups, weights)
    _check_known(sizes)
    return Observed(statistic, sizes)


#: Collects numbers in a unit, too.
observe_numbers = partial(observe_scores, scales=AnyScale)


def observe_errors(change: Callable[[Floats], Floats], *rows: Any) -> Observed:
    """Transform the error of each row by `change`; their means are compared."""
    y_true, y_pred, groups, weights = rows
    errors = change(errors_of(y_true, y_pred))
    return observe_numbers(None, errors, groups, weights, scale="real")


def observe_outcomes(
    *given: Any,
    threshold: float | None = None,
    pos_label: Any = None,
    scale: AnyScale = "probability",
) -> Observed:
    """Scores, numbers or decisions whose means are compared."""
    check_choice("scale", scale, ("probability", "real"))
    if compares_numbers(scale, threshold, pos_label):
        return observe_numbers(*given, scale=scale)
    _, y_score, sensitive_features, sample_weight = given
    if isinstance(y_score, GroupedOutcomes):
        # The mean square of values in [0, 1] is at most their mean.
        return Observed(y_score, y_score.effective_sizes, y_score.means)
    outcomes = parity_outcomes(y_score, threshold, pos_label, scale)
    groups = resolve_groups(sensitive_features, n_samples=len(outcomes))
    rows = {"sensitive_features": groups, "sample_weight": sample_weight}
    statistic = GroupedOutcomes.from_outcomes(outcomes, **rows)
    if sample_weight is None and statistic.counts.sum() == len(groups):
        sums = _sums_of_squares(outcomes, groups.codes, len(statistic.counts))
        squares = sums / np.maximum(statistic.counts, 1)
    else:
        squares = GroupedOutcomes.from_outcomes(outcomes**2, **rows).means
    return Observed(statistic, statistic.effective_sizes, squares)


def _sums_of_squares(outcomes: Floats, codes: Codes, n_groups: int) -> Floats:
    """Sum the squares of each group; few groups are faster one by one."""
    if n_groups > _FEW_GROUPS:
        return np.asarray(np.bincount(codes, outcomes**2, n_groups))
    return np.array([(outcomes * (codes == g)) @ outcomes for g in range(n_groups)])


def observe_confusion(*rows: Any) -> Observed:
    """Confusion matrices; sizes are those of the true classes of each group."""
    y_true, y_pred, sensitive_features, sample_weight = rows
    if isinstance(y_pred, GroupedConfusion):
        _check_known(effective_sizes(y_pred, sensitive_features, sample_weight))
        return Observed(y_pred, y_pred.matrices.sum(axis=2).astype(float))

    groups = resolve_groups(sensitive_features, n_samples=len(y_pred))
    by_row = {"sensitive_features": groups, "sample_weight": sample_weight}
    statistic = GroupedConfusion.from_predictions(y_true, y_pred, **by_row)
    sizes = statistic.matrices.sum(axis=2).astype(float)
    if sample_weight is None:
        return Observed(statistic, sizes)
    codes, classes = encode_classes("y_true", y_true)
    nothing = np.zeros(len(codes))
    for code, at in enumerate(positions_in(statistic.classes, classes)):
        of_class = GroupedOutcomes.from_outcomes(nothing, mask=codes == code, **by_row)
        sizes[:, at] = of_class.effective_sizes
    return Observed(statistic, sizes)


def observe_quality(
    *rows: Any, quality: Any = "selection_rate", pos_label: Any = None
) -> Observed:
    """Outcomes whose rates are compared."""
    y_true, y_pred, groups, weights = rows
    statistic = grouped_quality(y_true, y_pred, groups, quality, pos_label, weights)
    return Observed(statistic, statistic.effective_sizes)


def observe_rate(rate: Rate, *rows: Any, pos_label: Any = None) -> Observed:
    """Outcomes of a rate of errors, whose squares are themselves."""
    y_true, y_pred, groups, weights = rows
    statistic = rate_outcomes(y_true, y_pred, groups, weights, rate, pos_label)
    return Observed(statistic, statistic.effective_sizes, statistic.means)


def _check_known(sizes: Floats) -> None:
    """Raise where a statistic does not tell the effective numbers of rows."""
    if np.isnan(sizes).any():
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, whose squares "
            "it does not keep; pass the rows with their weights."
        )


complete(mcdp, observe=observe_scores, compare=compare_mcdp)
complete(abcc, observe=observe_numbers, compare=compare_abcc)
complete(madd, observe=observe_scores, observe_once=observe_bins, compare=compare_madd)
complete(
    demographic_parity_difference, observe=observe_outcomes, compare=compare_parity
)
complete(
    equalized_odds_difference, observe=observe_confusion, compare=compare_equalized_odds
)
complete(max_gap, observe=observe_quality, compare=compare_max_gap)
complete(cvar_fairness, observe=observe_quality, compare=compare_cvar)
for _metric, _change in (
    (mean_error_difference, np.asarray),
    (mean_absolute_error_difference, np.abs),
):
    complete(_metric, observe=partial(observe_errors, _change), compare=compare_parity)
_OF_RATES: dict[Callable[..., float], Rate] = {
    true_positive_rate_difference: "true_positive_rate",
    false_positive_rate_difference: "false_positive_rate",
    predictive_value_difference: "predictive_value",
}
for _metric, _rate in _OF_RATES.items():
    complete(_metric, observe=partial(observe_rate, _rate), compare=compare_parity)
