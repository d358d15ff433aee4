"""The options of a report: one record, from which its other lists of options are read.

These are the signatures of `FairnessReport.from_predictions` and its kin, the options
of the command line, the settings of a summary, and the options in a bundle.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar, get_args

import numpy as np
from sklearn.utils import check_random_state

from skfair._utils._hints import did_you_mean
from skfair._utils._text import visible_text
from skfair._utils._validation import (
    AnyScale,
    ParameterError,
    check_choice,
    check_flag,
    check_integer,
    check_real,
)
from skfair.metrics._proxy_bounds import check_odds_ratios

Function = TypeVar("Function", bound=Callable[..., Any])

#: What a report is called unless it is given a title.
DEFAULT_TITLE = "Fairness report"
#: With fewer no p-value is at most 0.05 / 3, the first step of Holm's correction.
FEWEST_PERMUTATIONS = 59
#: Options that change no number and no text of a report.
_SILENT = ("n_jobs", "verbose")


@dataclass(frozen=True)
class Options:
    """Options of a report, checked; `FairnessReport.from_predictions` explains them.

    The seed is drawn where none is given, since a report states it.
    """

    threshold: float | None = None
    scale: AnyScale = "probability"
    metrics: Sequence[str] | None = None
    epsilon: float = 0.05
    alpha: float = 0.9
    n_resamples: int = 500
    n_permutations: int = 199
    confidence_level: float = 0.95
    min_group_size: int = 10
    intersection: bool | None = None
    impact_ratios: bool = False
    min_share: float = 0.0
    odds_ratio: Sequence[float] = (1.0, 1.5, 2.0, math.inf)
    proxy_limit: float = 0.1
    limit: float | None = None
    title: str = DEFAULT_TITLE
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, get_args(AnyScale))
        check_flag("impact_ratios", self.impact_ratios)
        if self.intersection is not None:
            check_flag("intersection", self.intersection)
        if isinstance(self.metrics, str):
            raise ValueError(
                f"metrics must be a sequence of names, got {self.metrics!r}."
            )
        if self.n_jobs == 0:
            raise ParameterError(
                "n_jobs",
                "must be a number of processes, or -1 for all processors, got 0.",
            )
        checked: dict[str, Any] = {
            "threshold": _check_threshold(self.threshold, self.scale),
            "epsilon": check_real("epsilon", self.epsilon, 0, 0.5, closed="right"),
            "alpha": check_real("alpha", self.alpha, 0, 1, closed="left"),
            "n_resamples": check_integer("n_resamples", self.n_resamples, 1),
            "n_permutations": _check_permutations(self.n_permutations),
            "confidence_level": check_real(
                "confidence_level", self.confidence_level, 0, 1, closed="neither"
            ),
            "min_group_size": check_integer("min_group_size", self.min_group_size, 1),
            "min_share": check_real("min_share", self.min_share, 0, 1, closed="left"),
            "odds_ratio": tuple(check_odds_ratios(self.odds_ratio).tolist()),
            "proxy_limit": check_real("proxy_limit", self.proxy_limit, 0, 1),
            "title": visible_text(self.title, 120),
            "random_state": _check_seed(self.random_state),
        }
        if self.limit is not None:
            checked["limit"] = check_real("limit", self.limit, 0, 1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the options on which a report depends, as in JSON."""
        values = {k: v for k, v in vars(self).items() if k not in _SILENT}
        ratios = [None if math.isinf(ratio) else ratio for ratio in self.odds_ratio]
        metrics = None if self.metrics is None else [*self.metrics]
        return {**values, "odds_ratio": ratios, "metrics": metrics}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Options:
        """Read the options that `to_dict` has written."""
        names = {*NAMES} - {*_SILENT}
        if {*values} != names:
            raise ValueError(f"options must be {sorted(names)}, got {sorted(values)}.")
        ratios = [math.inf if x is None else x for x in values["odds_ratio"]]
        return cls(**{**values, "odds_ratio": ratios})


#: Names of all options.
NAMES = tuple(field.name for field in fields(Options))


def takes_options(make: Function) -> Function:
    """Name all options in the signature of a function that takes them as `options`.

    Those that are parameters of the function already stay where they are.
    """
    signature = inspect.signature(make)
    own = [p for p in signature.parameters.values() if p.name != "options"]
    named = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=field.type,
        )
        for field in fields(Options)
        if field.name not in signature.parameters
    ]
    make.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, *named]
    )
    return make


def read_options(known_metrics: Sequence[str], /, **options: Any) -> Options:
    """Check options by name, and that a report has the metrics asked for."""
    for name in options:
        if name not in NAMES:
            raise TypeError(
                f"a report has no option {name!r}.{did_you_mean(name, NAMES)} It takes "
                f"groups as sensitive_features, and the options {', '.join(NAMES)}."
            )
    read = Options(**options)
    for key in read.metrics or ():
        check_choice("metrics", key, tuple(known_metrics))
    return read


def _check_threshold(threshold: float | None, scale: AnyScale) -> float | None:
    """Check a threshold. Probabilities have one by default, ranks and numbers none."""
    if threshold is None:
        return 0.5 if scale == "probability" else None
    if scale == "real":
        raise ParameterError(
            "threshold",
            "must be left at its default with scale='real', which decides nothing, "
            f"got {threshold!r}.",
        )
    return check_real("threshold", threshold, 0, 1)


def _check_seed(seed: Any) -> int:
    """Check a seed, or draw it, so that a report can be computed again."""
    if seed is None or isinstance(seed, np.random.RandomState):
        seed = check_random_state(seed).randint(2**31 - 1)
    return check_integer("random_state", seed, 0, 2**32 - 1)


def _check_permutations(value: Any) -> int:
    """Check that there are no tests, or p-values small enough for the verdict."""
    n_permutations = check_integer("n_permutations", value, 0)
    if 0 < n_permutations < FEWEST_PERMUTATIONS:
        raise ParameterError(
            "n_permutations",
            f"must be 0, or an integer of at least {FEWEST_PERMUTATIONS}, got "
            f"{n_permutations}: the least p-value is 1 / ({n_permutations} + 1), and "
            "the verdict, three tests with Holm's correction at the level 0.05, needs "
            "one of 0.05 / 3 = 1 / 60.",
        )
    return n_permutations
