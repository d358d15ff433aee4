"""What people look for in a package by the name that it has elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What to type for a name, by package and name.
INSTEAD = {
    "skfair.metrics": {
        "MetricFrame": "group_metrics",
        "selection_rate": "group_metrics('selection_rate', ...)",
        "equal_opportunity_difference": "true_positive_rate_difference",
        "demographic_parity_ratio": "impact_ratios",
        "equalized_odds_ratio": "group_metrics('true_positive_rate', ...).ratio()",
        "make_derived_metric": "make_fairness_scorer",
    },
    "skfair.postprocessing": {
        "ThresholdOptimizer": "MADDPostProcessor(estimator, max_mcdp=...)"
    },
    "skfair.inprocessing": {
        "ExponentiatedGradient": "skfair.postprocessing.UnawarePostProcessor("
        "estimator)",
        "GridSearch": "skfair.postprocessing.UnawarePostProcessor(estimator), whose "
        "path_ has the trade-off",
        "CorrelationRemover": "skfair.postprocessing.UnawarePostProcessor(estimator)",
    },
    "skfair.frames": {
        "mcdp": "mcdp_bounds(table, ...), or skfair.metrics.mcdp(None, "
        "grouped_scores(table, ...))",
    },
}


def other_names(package: str) -> Callable[[str], Any]:
    """Return a function ``__getattr__`` of a package that says what to type instead.

    An ImportError reaches whoever imports such a name or looks it up.
    """

    def find(name: str) -> Any:
        if name in INSTEAD[package]:
            instead = INSTEAD[package][name]
            raise ImportError(f"{package} has no {name}: use {instead}.", name=name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
