"""The metrics of a report, and the questions that they answer."""

from __future__ import annotations

from dataclasses import dataclass

from skfair.report._audit import Attribute, Audit, Model, Options


@dataclass(frozen=True)
class Measure:
    """One metric of a report.

    Attributes
    ----------
    key : str
        Its name in tables.
    title : str
        Its name on the page; ``{}`` stands for the parameter.
    question : {"decisions", "scores", "errors"}
    maximum : int
        Largest value possible.
    call : str
        The function of `skfair.metrics` that gives it, and its options.
    definition : str
        What it says, in a sentence.
    """

    key: str
    title: str
    question: str
    maximum: int
    call: str
    definition: str


#: Questions in the order of the page, and what they need to be answered.
QUESTIONS = {
    "decisions": "Who gets the positive decision?",
    "scores": "How do scores differ, whatever the threshold?",
    "errors": "Are people with the same true label treated alike?",
}

MEASURES = (
    Measure(
        "demographic_parity_difference",
        "Difference of selection rates",
        "decisions",
        1,
        "demographic_parity_difference(None, y_pred)",
        "Difference between groups of the share that gets the positive decision.",
    ),
    Measure(
        "max_gap",
        "Largest gap to the average group",
        "decisions",
        1,
        "max_gap(None, y_pred)",
        "Distance of the group furthest from the mean selection rate of all groups, "
        "in which every group counts the same.",
    ),
    Measure(
        "cvar_fairness",
        "CVaR fairness ({alpha:g})",
        "decisions",
        1,
        "cvar_fairness(None, y_pred, alpha={alpha:g})",
        "Mean distance from the average group over the share 1 - alpha of groups that "
        "are furthest from it.",
    ),
    Measure(
        "mcdp",
        "MCDP(0)",
        "scores",
        1,
        "mcdp(None, y_score)",
        "Largest difference, over all thresholds, between groups of the share above "
        "the threshold: the Kolmogorov-Smirnov distance of their scores.",
    ),
    Measure(
        "mcdp_epsilon",
        "MCDP({epsilon:g})",
        "scores",
        1,
        "mcdp(None, y_score, epsilon={epsilon:g})",
        "The largest such difference that lasts over a whole window of thresholds, 2 "
        "epsilon long.",
    ),
    Measure(
        "abcc",
        "ABCC",
        "scores",
        1,
        "abcc(None, y_score)",
        "That difference averaged over all thresholds from 0 to 1: the area between "
        "the cumulative curves.",
    ),
    Measure(
        "mean_score_difference",
        "Difference of mean scores",
        "scores",
        1,
        "demographic_parity_difference(None, y_score)",
        "Difference between groups of the mean score. Opposite gaps cancel in it.",
    ),
    Measure(
        "madd",
        "MADD",
        "scores",
        2,
        "madd(None, y_score)",
        "Distance between the score histograms of groups, from 0 to 2, averaged over "
        "the bin widths in which it is most stable. Noise alone makes it positive.",
    ),
    Measure(
        "equalized_odds_difference",
        "Equalized odds difference",
        "errors",
        1,
        "equalized_odds_difference(y_true, y_pred)",
        "Largest difference between groups in how often a prediction is made for "
        "people of one true label.",
    ),
    Measure(
        "dcp",
        "DCP",
        "errors",
        1,
        "dcp(y_true, y_pred)",
        "Least share of people whose predictions would have to be set aside for the "
        "error rates of all groups to agree.",
    ),
)

KEYS = tuple(measure.key for measure in MEASURES)
OF_SCORES = tuple(m.key for m in MEASURES if m.question == "scores")
OF_ERRORS = tuple(m.key for m in MEASURES if m.question == "errors")


def applicable(
    audit: Audit, model: Model, attribute: Attribute | None = None
) -> tuple[str, ...]:
    """Metrics that can be computed for a model.

    Parameters
    ----------
    audit : Audit
    model : Model
    attribute : Attribute, default=None
        Of which MADD is left out where groups are many, unless it was asked for: it
        takes a second for hundreds of groups, and mostly reads the noise of small ones.

    Returns
    -------
    tuple of str
    """
    pooled = attribute is not None and attribute.comparison == "pooled"
    able = {
        "decisions": audit.binary,
        "scores": model.y_score is not None,
        "errors": audit.y_true is not None,
    }
    wanted = audit.options.metrics
    return tuple(
        measure.key
        for measure in MEASURES
        if able[measure.question]
        and (measure.key in wanted if wanted else measure.key != "madd" or not pooled)
    )


def check_metrics(audit: Audit) -> None:
    """Raise if a metric that was asked for cannot be computed for any model.

    Parameters
    ----------
    audit : Audit

    Raises
    ------
    ValueError
    """
    possible = {key for model in audit.models for key in applicable(audit, model)}
    for key in audit.options.metrics or ():
        if key not in possible:
            needs = {
                "decisions": "two classes",
                "scores": "y_score",
                "errors": "y_true",
            }[next(m.question for m in MEASURES if m.key == key)]
            raise ValueError(f"metrics has {key!r}, which needs {needs}.")
    if not possible:
        raise ValueError(
            "y_true is None, expected true labels: with more than two classes every "
            "metric needs them."
        )


def fill(text: str, options: Options) -> str:
    """Put the parameters into a title or a call.

    Parameters
    ----------
    text : str
    options : Options

    Returns
    -------
    str
    """
    return text.format(alpha=options.alpha, epsilon=options.epsilon)
