"""Checks of disparities for the reports of skore."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from skfair._utils._text import number
from skfair._utils._validation import check_real
from skfair.groups import Selector
from skfair.report._fairness_report import FairnessReport

#: Code and title of the check of each metric.
_CHECKS = {
    "demographic_parity_difference": ("SKF001", "Decisions differ between groups"),
    "mcdp": ("SKF002", "Scores differ between groups"),
    "equalized_odds_difference": ("SKF003", "Error rates differ between groups"),
}


@dataclass
class _Check:
    """A check as skore's protocol `Check` describes it."""

    metric: str
    code: str
    title: str
    sensitive_features: Any
    limit: float
    report_types: list[str] = field(default_factory=lambda: ["estimator"])
    severity: str = "issue"
    slow: bool = False

    @property
    def docs_url(self) -> str | None:
        """Page of the checks on the site that SKFAIR_DOCS names, if it names one."""
        site = os.environ.get("SKFAIR_DOCS", "").rstrip("/")
        return f"{site}/howto/tracking.html#checks-in-skore" if site else None

    def check_function(self, report: Any) -> str | None:
        """Say what was found where the disparity is above the limit, else None."""
        measure = self._measure(report)
        if measure["value"] <= self.limit:
            return None
        text = f"{measure['title']} is {number(measure['value'])}"
        if measure["lower"] is not None:
            low, high = number(measure["lower"]), number(measure["upper"])
            text += f" (95% interval {low} to {high})"
        return f"{text}, above the limit of {self.limit:g}. {measure['sentence']}"

    def _measure(self, report: Any) -> dict[str, Any]:
        """Numbers and sentence of the metric on the test rows of a report."""
        if "classification" not in report.ml_task:
            raise _not_applicable(f"The task is no classification: {report.ml_task}.")
        if report.X_test is None or report.y_test is None:
            raise _not_applicable("There are no test rows.")
        try:
            found = FairnessReport.from_estimator(
                report.estimator_,
                report.X_test,
                report.y_test,
                sensitive_features=self.sensitive_features,
                pos_label=report.pos_label,
                metrics=[self.metric],
                n_permutations=59,
                random_state=0,
            )
        except (TypeError, ValueError) as error:
            raise _not_applicable(str(error)) from error
        result = found.summary["attributes"][-1]["results"][0]
        measure: dict[str, Any] = result["measures"][0]
        if measure["value"] is None:
            raise _not_applicable(measure["finding"])
        return measure


def _not_applicable(reason: str) -> Exception:
    """Make the exception by which a check tells skore that it does not apply."""
    from skore import CheckNotApplicable

    return CheckNotApplicable(reason)  # type: ignore[no-any-return]


def skore_checks(sensitive_features: Selector, *, limit: float = 0.1) -> list[Any]:
    """Make checks of disparities for the reports of skore.

    Each check reports an issue where a disparity of the test rows is above `limit`,
    with its interval and the groups in which it was found:

    - SKF001, the difference of selection rates (`demographic_parity_difference`),
    - SKF002, the largest difference at any threshold (`mcdp`),
    - SKF003, the difference of error rates (`equalized_odds_difference`).

    A check that passes does not show that a model is fair: the interval of few rows
    may reach far beyond the limit.

    Parameters
    ----------
    sensitive_features : str, int, list of str, list of int, or callable
        Columns of X that hold the group, several for their intersection, or a function
        of X that returns group labels.
    limit : float in [0, 1], default=0.1
        Largest disparity that is no issue.

    Returns
    -------
    list of skore.Check
        For ``report.checks.add(...)`` of a `skore.EstimatorReport`. A check does not
        apply to regressors, to rows that cannot be compared, and to classifiers without
        what its metric needs, such as scores.

    Raises
    ------
    ValueError
        If `limit` is not in [0, 1].

    See Also
    --------
    skfair.metrics.get_fairness_scorer : Scorers, for the metrics of such a report.

    Examples
    --------
    >>> from skfair.report import skore_checks
    >>> [check.code for check in skore_checks("sex", limit=0.2)]
    ['SKF001', 'SKF002', 'SKF003']
    """
    limit = check_real("limit", limit, 0, 1, closed="both")
    return [
        _Check(metric, code, title, sensitive_features, limit)
        for metric, (code, title) in _CHECKS.items()
    ]
