"""Errors that say what to type: other names, missing packages, class methods."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from inspect import signature
from typing import Any, Self

_RATES = (
    "selection_rate",
    "true_positive_rate",
    "true_negative_rate",
    "false_positive_rate",
    "false_negative_rate",
)
#: How a measure of the groups becomes one number.
_OF_GROUPS = {
    "": "",
    "_difference": ".difference()",
    "_ratio": ".ratio()",
    "_group_min": ".by_group.min()",
    "_group_max": ".by_group.max()",
}
#: What to type for a name, by package and name.
INSTEAD = {
    "skfair.metrics": {
        "MetricFrame": "group_metrics",
        "equal_opportunity_difference": "true_positive_rate_difference",
        "equal_opportunity_ratio": "group_metrics('true_positive_rate', ...).ratio()",
        "demographic_parity_ratio": "impact_ratios",
        "equalized_odds_ratio": "group_metrics('true_positive_rate', ...).ratio()",
        "make_derived_metric": "make_fairness_scorer",
        "statistical_parity_difference": "demographic_parity_difference",
        "disparate_impact_ratio": "impact_ratios",
        "mdss_bias_score": "worst_subgroup",
    },
    "skfair.postprocessing": {
        "ThresholdOptimizer": "MADDPostProcessor(estimator, max_mcdp=...)",
        "RejectOptionClassifier": "MADDPostProcessor(estimator, max_mcdp=...)",
    },
    "skfair.inprocessing": {
        "ExponentiatedGradient": "skfair.postprocessing.UnawarePostProcessor("
        "estimator)",
        "GridSearch": "skfair.postprocessing.UnawarePostProcessor(estimator), whose "
        "path_ has the trade-off",
        "Reweighing": "MCDPReweighter(estimator)",
        "AdversarialDebiasing": "DiffMCDPClassifier()",
        "CorrelationRemover": "skfair.postprocessing.UnawarePostProcessor(estimator)",
    },
    "skfair.frames": {
        "mcdp": "skfair.metrics.mcdp(None, grouped_scores(table, ...)), or "
        "skfair.metrics.metric_bounds(mcdp, grouped_histogram(table, ...))",
    },
}


def other_names(package: str) -> Callable[[str], Any]:
    """Return a function ``__getattr__`` of a package that says what to type instead."""

    def find(name: str) -> Any:
        instead = INSTEAD[package].get(name)
        if instead is None and package == "skfair.metrics":
            instead = _by_group(name)
        if instead is not None:
            raise AttributeError(f"{package} has no {name}: use {instead}.", name=name)
        tip = did_you_mean(name, sys.modules[package].__all__)
        raise AttributeError(f"module {package!r} has no attribute {name!r}.{tip}")

    return find


def _by_group(name: str) -> str | None:
    """Say what to type for a measure of each group, such as ``recall_score_ratio``."""
    for end, call in _OF_GROUPS.items():
        measure = name.removesuffix(end)
        is_measure = measure in _RATES or (
            measure.endswith(("_score", "_loss", "_error"))
            and hasattr(importlib.import_module("sklearn.metrics"), measure)
        )
        if is_measure and name.endswith(end):
            return f"group_metrics({measure!r}, ...){call}"
    return None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Ask for the nearest of some names, if one is near."""
    near = get_close_matches(name, list(names), 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def require(package: str, caller: str, otherwise: str) -> Any:
    """Import a package; if it is missing, raise an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs {package}, which is not installed. Install it with "
            f"'pip install {package.partition('.')[0]}', or {otherwise}."
        ) from error


def extra(name: str) -> str:
    """How to install the packages of one of the extras of the library."""
    return f"with the extra '{name}' of a skfair checkout: pip install -e \".[{name}]\""


class NamesParameters:
    """Base of classes that name their parameters to who passes another one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if args or kwargs:  # neither is given where an object is unpickled
            try:
                signature(cls.__init__).bind(None, *args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{cls._how_to_make()}: {error}.") from None
        return super().__new__(cls)

    @classmethod
    def _how_to_make(cls) -> str:
        """Say what to type."""
        first, *others = list(signature(cls.__init__).parameters)[1:]
        named = ", ".join(f"{name}=" for name in others)
        return f"{cls.__name__} takes {first}, and by name {named[:-1]}"


class MadeByClassMethods(NamesParameters):
    """Base of classes that are called with what their class methods have computed."""

    @classmethod
    def _how_to_make(cls) -> str:
        """Name the class methods, which take rows."""
        return f"{cls.__name__} must be made by {' or '.join(makers_of(cls))}"


def makers_of(cls: type) -> list[str]:
    """Names of the class methods that take rows."""
    names = [name for name in dir(cls) if name.startswith("from_")]
    return [f"{cls.__name__}.{name}" for name in names]
