"""The value of rows: in each stratum the largest over classes, then over strata."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._warnings import warn_user
from skfair.metrics._quantiles import Comparisons
from skfair.metrics._strata import Stratum
from skfair.metrics._undefined import describe_strata, join_reasons


class Estimate(NamedTuple):
    """Value of a metric, with what is left out of it, or why it is undefined."""

    value: Any
    #: Why there is no value, or which groups are left out; "" if none is.
    reason: str = ""
    #: Warning to the user who asks for the value; "" if there is none.
    message: str = ""
    #: Whether the groups can be compared.
    defined: bool = True
    #: Groups of few rows that decide the value, in words; "" if there are none.
    small_groups: str = ""

    def warn(self) -> Any:
        """Warn the user of what the estimate leaves out, and return its value."""
        if self.message:
            warn_user(self.message, UndefinedMetricWarning)
        return self.value


def undefined_estimate(
    name: str, reason: str, advice: str = "", value: Any = math.nan
) -> Estimate:
    """Return the estimate of a metric whose groups cannot be compared."""
    message = f"{name} is undefined and set to nan: {reason}.{advice}"
    return Estimate(value, reason, message, defined=False)


Item = TypeVar("Item")
Result = TypeVar("Result", Estimate, Comparisons)
#: Joins the results of classes, or, with their strata, of strata. Without results it
#: returns an undefined one.
Join: TypeAlias = Callable[[Sequence[Result], Sequence[Stratum]], Result]


def evaluate_classes(
    classes: Sequence[Item],
    evaluate: Callable[[Item], Result],
    join_results: Join[Result],
) -> Result:
    """Evaluate each class, and join the results; undefined if any class is."""
    results = []
    for item in classes:
        result = evaluate(item)
        if not result.defined:
            return result
        results.append(result)
    return results[0] if len(results) == 1 else join_results(results, ())


class Parts(NamedTuple):
    """Checked rows of each class, and the strata within which groups are compared."""

    #: Name of the metric in messages.
    name: str
    classes: list[Rows]
    #: None where all rows are compared together.
    strata: list[Stratum] | None = None
    #: Why no groups can be compared in any stratum; "" if they can.
    reason: str = ""

    def evaluate(
        self, evaluate_part: Callable[[Rows], Result], join_results: Join[Result]
    ) -> Result:
        """Evaluate the rows of each class in each stratum, and join the results."""
        if self.strata is None:
            return evaluate_classes(self.classes, evaluate_part, join_results)
        results = []
        if not self.reason:
            results = self.evaluate_strata(evaluate_part, join_results)
        return self.join(results, join_results)

    def evaluate_strata(
        self, evaluate_part: Callable[[Rows], Result], join_results: Join[Result]
    ) -> list[Result]:
        """Return the result of each stratum, with the reason for what it leaves out."""
        results = []
        for stratum in self.strata or ():
            result = evaluate_classes(self.take(stratum), evaluate_part, join_results)
            reason = join_reasons(stratum.reason, result.reason)
            results.append(result._replace(reason=reason, message=""))
        return results

    def take(self, stratum: Stratum) -> list[Rows]:
        """Take a stratum's rows of each class; none if no groups can be compared."""
        if stratum.groups is None:
            return []
        return [
            replace(rows[stratum.rows], groups=stratum.groups, strata=None)
            for rows in self.classes
        ]

    def join(self, results: Sequence[Result], join_results: Join[Result]) -> Result:
        """Join the results of strata, and say which strata are left out, and why."""
        pairs = [*zip(self.strata or (), results, strict=False)]
        defined = [] if self.reason else [pair for pair in pairs if pair[1].defined]
        strata, found = zip(*defined, strict=True) if defined else ((), ())
        joined = join_results(found, strata)
        reasons = {stratum.label: result.reason for stratum, result in pairs}
        text = self.reason or describe_strata(reasons, undefined=not defined)
        if not defined:
            message = undefined_estimate(self.name, text).message
        else:
            message = f"{self.name} {text}." if text else ""
        return joined._replace(reason=text, message=message)
