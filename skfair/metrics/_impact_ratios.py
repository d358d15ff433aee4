"""Impact ratios: the rate of each group over the highest rate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows, add_people
from skfair._utils._arrays import Bools, Floats
from skfair._utils._text import shown
from skfair._utils._validation import (
    as_array,
    check_choice,
    check_numbers,
    check_real,
    check_shape,
    check_y_true,
)
from skfair._utils._warnings import warn_if_reordered, warn_user
from skfair.groups import (
    CROSS,
    Groups,
    columns_of,
    encode_column,
    intersect,
    n_columns_of,
    positions_in,
    resolve_groups,
    sort_labels,
    warn_of_missing_words,
)
from skfair.metrics._inputs import positive_rows, rows_of_table
from skfair.metrics._rate_intervals import ratio_ends
from skfair.statistics import CountTable

#: Label of the rows without a group.
UNKNOWN = "(unknown)"


class Attribute(NamedTuple):
    """A sensitive attribute, or an intersection, with the outcomes of its groups."""

    name: str
    #: Outcomes of the people who have a group.
    outcomes: Rows
    #: Number of people without a group.
    n_unknown: int


def impact_ratios(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    rate: Literal["selection", "scoring"] = "selection",
    pos_label: Hashable = None,
    min_share: float = 0.0,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> pd.DataFrame:
    """Rate of each group over the highest rate, by attribute and intersection.

    The table that New York City's Local Law 144 asks for: numbers, selection or
    scoring rates and impact ratios, for each sensitive attribute and for their
    intersection. It says how the rates compare, and passes no judgement: the law sets
    no threshold, and the four-fifths rule is a rule of thumb of US agencies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_pred : array-like of shape (n_samples,), or CountTable
        Decisions, labels of two classes, for ``rate="selection"``; any finite scores
        for ``rate="scoring"``. A table of decisions takes the place of all
        rows; then the other arguments by row are None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row. Several columns give a table each, and one of their
        intersection; so do the intersections of a `Groups` or a table. Rows
        whose value is missing are counted as unknown.
    rate : {"selection", "scoring"}, default="selection"
        The selection rate is the share of positive decisions. The scoring rate is
        the share of scores above the median of all scores, rows of unknown group
        included.
    pos_label : int, float, bool or str, default=None
        The decision that counts as positive. None stands for 1 where labels are
        numbers; text labels need it.
    min_share : float in [0, 1), default=0.0
        Groups with a smaller share of the rows of known group get no ratio, and their
        rate is not compared with others. Local Law 144 permits 0.02, with
        a justification. So do groups smaller than the `min_group_size` of a `Groups`,
        and groups without rows.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals of the ratios.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    DataFrame
        Indexed by ``attribute`` and ``group``, with the columns

        - ``n`` : number of rows,
        - ``share`` : share of the rows of known group, by weight,
        - ``selected`` : number of rows that are selected, or have a score above the
          median; their weight where rows are weighted,
        - ``rate`` : share of selected rows in the group, in [0, 1],
        - ``impact_ratio`` : rate over the highest rate, in [0, 1],
        - ``lower``, ``upper`` : interval of the ratio, in [0, 1],
        - ``status`` : ``"highest"``, ``"compared"``, ``"excluded"`` for groups that
          are too small, or ``"unknown"`` for the rows without a group, of which only
          the number is given.

        Numbers that do not exist are nan.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On labels of more than two classes, text labels without `pos_label`, scores
        that are not finite, lengths that differ, or parameters out of range.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups of an attribute can be compared, or nobody in them is
        selected: then there are no ratios.

    See Also
    --------
    demographic_parity_difference : Largest difference of the rates, in place of ratios.
    cvar_fairness_report : Rates of many groups, with intervals of the rates.
    skfair.report.FairnessReport : Has these tables with ``impact_ratios=True``.
    impact_ratio_shortfall : One number, as a metric with a scorer.
    skfair.report.public_summary : The summary that New York's rules ask for.

    Notes
    -----
    An interval covers the true ratio: the rate of the group in the population over the
    highest rate there, whichever group has the highest. The ratio to each other group
    has an interval derived from the Clopper-Pearson intervals of both rates [2]_. The
    lower end is the smallest of these lower ends, so that it holds for the group whose
    rate is truly highest. The upper end is the smallest of the upper ends, each at a
    level that keeps all their errors together below (1 - `confidence_level`) / 2. Each
    interval holds for its own group, not all intervals at once. The level is not
    proved, but was computed exactly for 1,944 pairs of groups (5 to 200 rows, rates of
    .002 to .98): nominal 95 % intervals covered the ratio with a probability of .957 to
    1. With sample weights the intervals use Kish's effective number of rows, and are
    approximate.

    References
    ----------
    .. [1] Rules of the City of New York, Title 6, sections 5-300 to 5-304.
    .. [2] Newcombe. "MOVER-R Confidence Intervals for Ratios and Products of Two
       Independent Quantities". Statistical Methods in Medical Research 25(5), 2016.

    Examples
    --------
    >>> from skfair.metrics import impact_ratios
    >>> hired = [1, 1, 1, 0, 1, 0, 0, 0, 1]
    >>> sex = ["F", "F", "F", "F", "M", "M", "M", "M", None]
    >>> table = impact_ratios(None, hired, sensitive_features=sex)
    >>> table[["n", "rate", "impact_ratio", "lower", "upper", "status"]].round(2)
                         n  rate  impact_ratio  lower  upper    status
    attribute group
    group     F          4  0.75          1.00   0.51    1.0   highest
              M          4  0.25          0.33   0.01    1.0  compared
              (unknown)  1   NaN           NaN    NaN    NaN   unknown
    """
    warn_if_reordered(
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        counts=counts,
    )
    check_choice("rate", rate, ("selection", "scoring"))
    min_share = check_real("min_share", min_share, 0, 1, closed="left")
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    people: dict[str, Any] = {"sample_weight": sample_weight, "counts": counts}
    columns: dict[str, Any] = {"y_true": y_true}
    columns |= {"sensitive_features": sensitive_features}
    table = rows_of_table(y_pred, **columns, **people)
    if table is not None:
        outcomes = are_selected(table.y_pred, rate, pos_label, table.mass)
        selected = replace(table, y_pred=outcomes.astype(np.float64))
        attributes = _split_by_attribute(selected, 0)
    else:
        check_y_true(y_true, y_pred, name="y_pred")
        predicted = as_array(y_pred, "y_pred")
        one_group = Groups(np.zeros(len(predicted), np.int8), (None,))
        rows = add_people(Rows(one_group, y_pred=predicted), **people)
        outcomes = are_selected(predicted, rate, pos_label, rows.mass)
        attributes = _count_by_attribute(outcomes, sensitive_features, people)
    tables = [
        tabulate_ratios(attribute, min_share, confidence_level)
        for attribute in attributes
    ]
    for attribute, table in zip(attributes, tables, strict=True):
        if table["impact_ratio"].isna().all():
            _warn_of_no_ratios(attribute, min_share)
    return pd.concat(tables)


def are_selected(
    values: ArrayLike, rate: str, pos_label: Hashable, weights: NDArray[Any] | None
) -> Bools:
    """Return which rows are selected, or have a score above everyone's median."""
    name = "y_pred"
    if rate == "selection":
        decisions = as_array(values, name)
        check_shape(decisions, name)
        if decisions.dtype.kind == "f" and not np.array_equal(
            decisions, np.rint(decisions)
        ):
            raise ValueError(
                f"{name} must be decisions of two classes for rate='selection', got "
                f"{decisions[np.argmax(decisions != np.rint(decisions))]}. Compare "
                "scores with a threshold, or use rate='scoring'."
            )
        return positive_rows(decisions, name, pos_label)
    if pos_label is not None:
        raise ValueError(f"pos_label must be None for scores, got {shown(pos_label)}.")
    scores = check_numbers(values, name)
    order = np.argsort(scores)
    below = np.cumsum(np.ones(len(scores)) if weights is None else weights[order])
    # Where half of the rows lie below a gap, all numbers in it are medians, and the
    # same scores are above each. Half a sum of weights may be rounded.
    middle = np.searchsorted(below, below[-1] / 2 * (1 - 1e-12))
    return np.asarray(scores > scores[order[middle]])


def _count_by_attribute(
    outcomes: Bools, sensitive_features: ArrayLike | None, people: dict[str, Any]
) -> list[Attribute]:
    """Add up the outcomes by each attribute, and by the intersection of all."""
    if sensitive_features is None or isinstance(sensitive_features, Groups):
        groups = resolve_groups(sensitive_features, n_samples=len(outcomes))
        attribute = _count_outcomes("", outcomes, groups, people)
        return _split_by_attribute(attribute.outcomes, attribute.n_unknown)
    column_names, columns = columns_of(sensitive_features)
    names = [name or f"attribute {i + 1}" for i, name in enumerate(column_names)]
    if len(columns) == 1:
        names = [column_names[0] or "group"]
    encoded = [
        encode_column(column, "drop", name)
        for name, column in zip(names, columns, strict=True)
    ]
    warn_of_missing_words(encoded)
    if len(encoded) > 1:
        encoded.append(intersect(encoded))
        names.append(CROSS.join(names))
    return [
        _count_outcomes(name, outcomes, Groups(codes, labels), people)
        for name, (codes, labels) in zip(names, encoded, strict=True)
    ]


def _count_outcomes(
    name: str, outcomes: Bools, groups: Groups, people: dict[str, Any]
) -> Attribute:
    """Keep the outcomes of people who have a group, and count the other people."""
    groups = resolve_groups(groups, n_samples=len(outcomes))
    rows = add_people(Rows(groups, y_pred=outcomes.astype(np.float64)), **people)
    unknown = (groups.codes < 0) & (rows.weights > 0)
    return Attribute(name, rows.grouped(), rows[unknown].n_people)


def _split_by_attribute(statistic: Rows, n_unknown: int) -> list[Attribute]:
    """Return each attribute of an intersection, and last the intersection itself."""
    labels, names = statistic.labels, list(statistic.names)
    n_columns = n_columns_of(labels)
    if n_columns == 1:
        return [Attribute(CROSS.join(names) or "group", statistic, n_unknown)]
    if len(names) != n_columns:
        names = [f"attribute {i + 1}" for i in range(n_columns)]
    columns: Any = zip(*labels, strict=True)
    margins = [_margin(statistic, values) for values in columns]
    names.append(CROSS.join(names))
    return [
        Attribute(name, outcomes, n_unknown)
        for name, outcomes in zip(names, [*margins, statistic], strict=True)
    ]


def _margin(statistic: Rows, values: Sequence[Any]) -> Rows:
    """Join the groups that have the same value of an attribute."""
    labels = tuple(sort_labels(dict.fromkeys(values)))
    codes = positions_in(labels, tuple(values))[statistic.groups.codes]
    groups = replace(statistic.groups, codes=codes, labels=labels, names=())
    return statistic.replace_groups(groups)


def tabulate_ratios(
    attribute: Attribute, min_share: float, confidence_level: float
) -> pd.DataFrame:
    """Return the table of rates, ratios and intervals of the groups of an attribute."""
    name, statistic, n_unknown = attribute
    totals, rates = statistic.totals, statistic.means
    shares = totals / max(totals.sum(), 1e-300)
    compared = _compared_groups(statistic, min_share)
    highest = rates[compared].max(initial=0)
    ratios, lower, upper = np.full((3, len(rates)), np.nan)
    if compared.sum() > 1 and highest > 0:
        ratios[compared] = rates[compared] / highest
        lower[compared], upper[compared] = _intervals(
            rates[compared], statistic.effective_sizes[compared], confidence_level
        )
    status = np.where(compared, "compared", "excluded").astype(object)
    status[ratios == 1] = "highest"
    columns = {
        "n": statistic.counts,
        "share": shares,
        "selected": statistic.sums.astype(float),
        "rate": rates,
        "impact_ratio": ratios,
        "lower": lower,
        "upper": upper,
        "status": status,
    }
    labels = [
        CROSS.join(map(str, label)) if isinstance(label, tuple) else label
        for label in statistic.labels
    ]
    table = pd.DataFrame(columns)
    if n_unknown:
        table.loc[len(table), ["n", "status"]] = [n_unknown, "unknown"]
        labels.append(UNKNOWN)
    index = [pd.Index([name] * len(labels)), pd.Index(labels, tupleize_cols=False)]
    table.index = pd.MultiIndex.from_arrays(index, names=["attribute", "group"])
    return table.astype({"n": int})


def _compared_groups(statistic: Rows, min_share: float) -> Bools:
    """Return whether each group is large enough to be compared."""
    shares = statistic.totals / max(statistic.totals.sum(), 1e-300)
    large = statistic.counts >= max(statistic.min_group_size, 1)
    return np.asarray(large & (shares >= min_share))


def _warn_of_no_ratios(attribute: Attribute, min_share: float) -> None:
    """Warn that an attribute has no ratios, and say why."""
    compared = _compared_groups(attribute.outcomes, min_share)
    labels = [attribute.outcomes.labels[i] for i in np.flatnonzero(compared)]
    reason = f"nobody in the groups {labels[:5]} is selected"
    if len(labels) < 2:
        reason = f"at least two groups must be large enough, got {labels}"
    warn_user(
        f"Impact ratios by {attribute.name} are undefined and set to nan: {reason}.",
        UndefinedMetricWarning,
    )


def _intervals(
    rates: Floats, sizes: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return the interval of the ratio of each true rate to the highest true rate.

    The true ratio is the smallest of the ratios to all groups. So the smallest of the
    lower ends is valid if the lower end of the ratio to the truly highest group is. The
    upper ends must all hold at once, so that each gets its part of the error.
    """
    tail = (1 - confidence_level) / 2
    lower, upper = ratio_ends(rates, sizes, tail, tail / (len(rates) - 1))
    return lower.min(axis=1), upper.min(axis=1)
