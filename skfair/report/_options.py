"""What a report can be asked for: its metrics, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

import numpy as np
from sklearn.utils import check_random_state

from skfair._utils._validation import (
    ParameterError,
    Scale,
    check_choice,
    check_integer,
    check_real,
)
from skfair.report._language import LANGUAGES, figure, say

#: The questions that metrics answer, in the order of the page.
QUESTIONS = {
    "decisions": "Who gets the positive decision?",
    "scores": "How do scores differ, whatever the threshold?",
    "errors": "Are people with the same true label treated alike?",
}


@dataclass(frozen=True)
class Measure:
    """One metric of a report; `call` is the function that computes it.

    In `title` and `call`, ``{alpha}`` and ``{epsilon}`` stand for the parameters.
    Titles and definitions are messages of the catalogue.
    """

    key: str
    title: str
    question: str
    call: str
    definition: str
    maximum: int = 1
    definition_of_ranks: str = ""

    def call_of(self, settings: Mapping[str, Any]) -> str:
        """Call of the function that computes the metric."""
        call = self.call.format(**settings)
        if self.question == "scores" and settings["scale"] == "rank":
            call = call[:-1] + ', scale="rank")'
        return call

    def definition_on(self, scale: str) -> str:
        """Definition of the metric, of scores or of their ranks."""
        of_ranks = self.definition_of_ranks if scale == "rank" else ""
        return say(of_ranks or self.definition)

    def title_of(self, settings: Mapping[str, Any]) -> str:
        """Title of the metric with its parameters, in the language of the report."""
        values = {key: figure(f"{settings[key]:g}") for key in ("alpha", "epsilon")}
        return say(self.title).format(**values)


MEASURES = (
    Measure(
        "demographic_parity_difference",
        "Difference of selection rates",
        "decisions",
        "demographic_parity_difference(None, y_pred)",
        "Difference between groups in the share of positive decisions.",
    ),
    Measure(
        "max_gap",
        "Largest gap to the average group",
        "decisions",
        "max_gap(None, y_pred)",
        "Largest distance of a group's selection rate from the mean over groups, in "
        "which every group has the same weight.",
    ),
    Measure(
        "cvar_fairness",
        "CVaR fairness ({alpha})",
        "decisions",
        "cvar_fairness(None, y_pred, alpha={alpha:g})",
        "Mean distance from the average group over the share 1 - alpha of groups that "
        "are furthest from it.",
    ),
    Measure(
        "mcdp",
        "MCDP(0)",
        "scores",
        "mcdp(None, y_score)",
        "Largest difference, over all thresholds, between groups of the share above "
        "the threshold: the Kolmogorov-Smirnov distance of their scores.",
    ),
    Measure(
        "mcdp_epsilon",
        "MCDP({epsilon})",
        "scores",
        "mcdp(None, y_score, epsilon={epsilon:g})",
        "The largest difference that is reached at every threshold of a window 2 "
        "epsilon long.",
        definition_of_ranks="The largest difference that is reached at every threshold "
        "of a window that holds the share 2 epsilon of everyone.",
    ),
    Measure(
        "abcc",
        "ABCC",
        "scores",
        "abcc(None, y_score)",
        "That difference averaged over all thresholds from 0 to 1: the area between "
        "the cumulative curves.",
        definition_of_ranks="That difference averaged over thresholds at the scores of "
        "everyone: the area between the cumulative curves of ranks.",
    ),
    Measure(
        "mean_score_difference",
        "Difference of mean scores",
        "scores",
        "demographic_parity_difference(None, y_score)",
        "Difference between groups of the mean score. Differences of opposite sign at "
        "different thresholds cancel.",
    ),
    Measure(
        "madd",
        "MADD",
        "scores",
        "madd(None, y_score)",
        "Distance between the score histograms of groups, from 0 to 2, averaged over "
        "the bin widths in which it is most stable. Noise alone makes it positive.",
        maximum=2,
        definition_of_ranks="Distance between the histograms of the ranks of groups, "
        "from 0 to 2, averaged over the bin widths in which it is most stable. Noise "
        "alone makes it positive.",
    ),
    Measure(
        "equalized_odds_difference",
        "Equalized odds difference",
        "errors",
        "equalized_odds_difference(y_true, y_pred)",
        "Largest difference between groups in how often people of one true label "
        "receive one prediction.",
    ),
    Measure(
        "dcp",
        "DCP",
        "errors",
        "dcp(y_true, y_pred)",
        "Least share of people whose predictions would have to be set aside for the "
        "error rates of all groups to agree.",
    ),
)

KEYS = tuple(measure.key for measure in MEASURES)
OF_DECISIONS = tuple(m.key for m in MEASURES if m.question == "decisions")
OF_SCORES = tuple(m.key for m in MEASURES if m.question == "scores")
#: Metrics that need probabilities: a mean of ranks has no unit of its own.
OF_PROBABILITIES = ("mean_score_difference",)
#: Metrics without a bound on their noise.
UNBOUNDED = ("dcp",)
#: Among permutations of one equalized odds difference it tells which are larger.
TIES = "ties_of_equalized_odds_difference"
OF_ERRORS = (*(m.key for m in MEASURES if m.question == "errors"), TIES)


Part = TypeVar("Part")


def part_of(parts: Mapping[str, Part], key: str, what: str) -> Part:
    """Return what a report needs of a metric; raise if nobody has written it."""
    if key not in parts:
        raise NotImplementedError(f"{what} of the metric {key!r} is missing.")
    return parts[key]


#: With fewer no p-value is at most 0.05 / 3, the first step of Holm's correction.
FEWEST_PERMUTATIONS = 59


@dataclass(frozen=True)
class Options:
    """Parameters of `FairnessReport.from_predictions`, checked; the seed is drawn."""

    threshold: float = 0.5
    scale: Scale = "probability"
    epsilon: float = 0.05
    alpha: float = 0.9
    metrics: Sequence[str] | None = None
    n_resamples: int = 500
    n_permutations: int = 199
    confidence_level: float = 0.95
    min_group_size: int = 10
    impact_ratios: bool = False
    min_share: float = 0.0
    random_state: Any = None
    language: str = "en"
    n_jobs: int | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        seed = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):
            # A report states its seed, so that it can be computed again.
            seed = check_random_state(seed).randint(2**31 - 1)
        if isinstance(self.metrics, str):
            raise ValueError(
                f"metrics must be a sequence of names, got {self.metrics!r}."
            )
        check_choice("impact_ratios", self.impact_ratios, (True, False))
        check_choice("scale", self.scale, get_args(Scale))
        check_choice("language", self.language, LANGUAGES)
        for key in () if self.metrics is None else self.metrics:
            check_choice("metrics", key, KEYS)
        checked = {
            "threshold": check_real("threshold", self.threshold, 0, 1),
            "epsilon": check_real("epsilon", self.epsilon, 0, 0.5, closed="right"),
            "alpha": check_real("alpha", self.alpha, 0, 1, closed="left"),
            "n_resamples": check_integer("n_resamples", self.n_resamples, 1),
            "n_permutations": _check_permutations(self.n_permutations),
            "confidence_level": check_real(
                "confidence_level", self.confidence_level, 0, 1, closed="neither"
            ),
            "min_group_size": check_integer("min_group_size", self.min_group_size, 1),
            "min_share": check_real("min_share", self.min_share, 0, 1, closed="left"),
            "random_state": check_integer("random_state", seed, 0, 2**32 - 1),
        }
        if self.n_jobs == 0:
            raise ParameterError(
                "n_jobs",
                "must be a number of processes, or -1 for all processors, got 0.",
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def _check_permutations(value: Any) -> int:
    """Check that a p-value can be small enough for the verdict."""
    n_permutations = check_integer("n_permutations", value, 1)
    if n_permutations < FEWEST_PERMUTATIONS:
        raise ParameterError(
            "n_permutations",
            f"must be an integer of at least {FEWEST_PERMUTATIONS}, got "
            f"{n_permutations}: the least p-value is 1 / ({n_permutations} + 1), and "
            "the verdict, three tests with Holm's correction at the level 0.05, needs "
            "one of 0.05 / 3 = 1 / 60.",
        )
    return n_permutations
