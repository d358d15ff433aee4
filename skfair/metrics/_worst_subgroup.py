"""The subgroup that is treated most differently: a search over conjunctions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._results import TableResult
from skfair._utils._text import all_digits
from skfair._utils._validation import (
    LARGEST_NUMBER,
    Scale,
    check_choice,
    check_integer,
    check_numbers,
    check_y_true,
    scores_on,
)
from skfair._utils._warnings import warn_if_reordered, warn_user
from skfair.groups import (
    Groups,
    columns_of,
    cut_into_ranges,
    encode_column,
    resolve_strata,
)
from skfair.metrics._inputs import (
    Quality,
    QualityName,
    numbers_of,
    outcomes_of,
)
from skfair.metrics._parts import undefined_estimate
from skfair.metrics._resampling import check_seed, exact_pvalue
from skfair.metrics._strata import split_strata
from skfair.metrics._subgroup_search import (
    Entries,
    Subgroup,
    compare_with_others,
    largest_value,
    search_subgroups,
    sort_by_score,
)
from skfair.metrics._undefined import describe_strata

#: A numeric column with more values than this needs bins.
_MAX_VALUES = 20


@dataclass(frozen=True, eq=False, repr=False)
class WorstSubgroupResult(TableResult):
    """Result of `worst_subgroup`; ``print(result)`` shows the table.

    Attributes
    ----------
    value : float
        Largest absolute difference between a subgroup and everyone else, in [0, 1], or
        in the unit of the numbers of a `quality` of the user's own. nan if no subgroup
        can be compared.
    subgroup : str
        The subgroup, as text; "" if there is none.
    pvalue : float in (0, 1]
        Share of permutations, the given order among them, in which the search finds a
        value at least as large. nan without permutations.
    conditions : tuple of dict
        For each row of `table`, the value of each column of the conjunction. Of a
        column with bins the value is a text.
    table : DataFrame
        The subgroups of the largest values, see `worst_subgroup`.
    null_distribution : ndarray of shape (n_permutations,)
        Largest value that the search has in each permutation.
    stratum : object
        Label of the stratum of the first subgroup; None without strata.
    """

    value: float
    subgroup: str
    pvalue: float
    conditions: tuple[dict[str, Any], ...] = field(repr=False)
    table: pd.DataFrame = field(repr=False)
    null_distribution: Floats = field(repr=False)
    stratum: Hashable = field(default=None, repr=False)


def worst_subgroup(
    y_true: ArrayLike | None,
    y_score: ArrayLike | None,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    quality: Literal["mcdp"] | Quality | ArrayLike = "mcdp",
    scale: Scale = "probability",
    pos_label: Hashable = None,
    bins: Mapping[Any, Sequence[float]] | None = None,
    min_group_size: int = 50,
    n_subgroups: int = 10,
    n_permutations: int = 99,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> WorstSubgroupResult:
    """Find the subgroup that differs most from everyone else.

    Subgroups are all conjunctions of values of the columns, such as ``sex = F and
    race = B`` or ``sex = F`` alone, that leave a minimum number of rows in them and
    outside. Each is compared with all other rows. It is the question of an auditor who
    does not know beforehand which intersection to look at. `max_gap` compares the
    intersections of all columns only, with their average.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels, where the quality needs them.
    y_score : array-like of shape (n_samples,), or None
        Probabilities of the positive class for "mcdp", or any finite numbers with
        ``scale="rank"``; predicted labels otherwise, and whatever a callable `quality`
        takes. None where `quality` is an array.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
or Groups
        Columns whose values are combined. Missing values raise ValueError, unless a
        `Groups` leaves these rows out or makes them a value of their own.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        subgroups are compared with all other rows; the value is the largest over
        strata. Strata without a subgroup are left out, with a warning that names them.
    quality : {"mcdp", "selection_rate", "true_positive_rate", \
"false_positive_rate", "accuracy", "error_rate"}, callable, or array-like of shape \
(n_samples,), default="mcdp"
        What is compared: "mcdp" is the largest difference, over all thresholds, between
        the shares of scores above the threshold. The other names are rates, see
        `max_gap`. An array has a number for each row, such as its log-loss. A callable
        ``quality(y_true, y_score)`` returns such an array, or a tuple of the array and
        a mask of the rows that count. Means of these numbers are compared.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` is for scores of "mcdp" that are not probabilities, such as predicted
        numbers or their errors. Ranks do not change the value, and thresholds of the
        table are in the unit of the scores.
    pos_label : int, float, bool or str, default=None
        The positive class of a rate, see `max_gap`.
    bins : mapping of column to increasing numbers, default=None
        Edges of the bins of numeric columns, by name (or position, for an array): 30
        and 50 give "age < 30", "30 <= age < 50" and "age >= 50", the ranges of
        `skfair.groups.encode_groups`. A numeric column with more than 20 values must
        have bins.
    min_group_size : int, default=50
        Least number of rows that count in a subgroup, and outside it. Small subgroups
        have large differences by chance, and hide larger ones that have smaller, real
        differences.
    n_subgroups : int, default=10
        Number of subgroups in the table.
    n_permutations : int, default=99
        Number of permutations for p-values, each a search of its own; 0 for none.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.

    Returns
    -------
    WorstSubgroupResult
        Its `table` has a row for each subgroup, the furthest first, indexed by its
        conjunction: ``stratum``, if there are strata, ``n_rows``, ``rate`` and
        ``rate_of_others``, ``difference`` of the two, ``pvalue``. For "mcdp" the rates
        are shares of scores above ``score``, the threshold at which they differ most.
        For an array or a callable the columns are ``mean`` and ``mean_of_others``. A
        subgroup that can be described in several ways has one row, with the fewest
        conditions.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If a numeric column has many values and no bins, if bins do not increase or
        name no column, and on invalid scores, labels, numbers, lengths or parameters.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no subgroup has enough rows in it and outside.

    See Also
    --------
    max_gap : Largest distance of an intersection from the average.
    cvar_fairness_report : Intersections chosen before, with a p-value of each.

    Notes
    -----
    The difference of the subgroup that a search has chosen is biased upward: in new
    data it is smaller as a rule. The p-values pay for the search: scores or outcomes
    are permuted over the rows that count, and each value is compared with the largest
    that a search finds in a permutation. So the probability that any subgroup of the
    table has a p-value of at most alpha is at most alpha if nobody is treated
    differently. Where one subgroup differs, those that overlap it have small p-values,
    too. For true and false positive rates only rows of one true label count, so that
    groups may differ in their base rates.

    The search examines refinements of a subgroup only if they can exceed the best
    found. Its bound supposes that a refinement consists of the most extreme rows of the
    subgroup. The result is the same as by enumeration.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfair.metrics import worst_subgroup
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame(
    ...     {"sex": rng.choice(["F", "M"], 1000), "race": rng.choice(list("abc"), 1000)}
    ... )
    >>> concerned = (people["sex"] == "F") & (people["race"] == "b")
    >>> y_score = rng.beta(np.where(concerned, 2, 4), 4)
    >>> result = worst_subgroup(
    ...     None, y_score, sensitive_features=people, random_state=0
    ... )
    >>> result.subgroup, round(result.value, 2), result.pvalue
    ('sex = F and race = b', 0.43, 0.01)

    For whom is the model worst? Any loss is compared, here the absolute error:

    >>> y_true = rng.random(1000) < 0.5
    >>> result = worst_subgroup(
    ...     y_true, y_score, sensitive_features=people, random_state=0,
    ...     quality=lambda y_true, y_score: abs(y_true - y_score),
    ... )
    >>> result.pvalue > 0.05
    True
    """
    warn_if_reordered(
        y_true=y_true,
        y_score=y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
    )
    min_group_size = check_integer("min_group_size", min_group_size, 1)
    n_subgroups = check_integer("n_subgroups", n_subgroups, 1)
    n_permutations = check_integer("n_permutations", n_permutations, 0)
    generator = check_seed(random_state)
    compared = _read_quality(y_true, y_score, quality, pos_label, scale)
    counts = compared.counts
    columns = _encode_columns(sensitive_features, bins, len(counts))
    if isinstance(sensitive_features, Groups):
        counts &= sensitive_features.codes >= 0
        min_group_size = max(min_group_size, sensitive_features.min_group_size)
    codes = np.array([column.codes for column in columns])
    stratum_rows, reasons = _split_strata(counts, control_features)
    numbers, compares_means = compared.numbers, compared.compares_means
    parts = {
        label: sort_by_score(
            numbers[rows], codes[:, rows], compares_means=compares_means
        )
        for label, rows in stratum_rows.items()
    }
    entries = {
        label: make_entries(cells) for label, (cells, make_entries) in parts.items()
    }
    best = {
        label: search_subgroups(part, min_group_size, n_subgroups)
        for label, part in entries.items()
    }
    reasons |= {
        label: f"no conjunction has at least {min_group_size} of the {part.n_rows} "
        "rows that count in it, and as many outside (min_group_size)"
        for label, part in entries.items()
        if not best[label]
    }
    _warn_of_strata(reasons, best)
    searched = [part for label, part in parts.items() if best[label]]
    null = np.full(n_permutations, np.nan)
    if searched and n_permutations:
        permuted = (
            [
                make_entries(generator.permutation(cells))
                for cells, make_entries in searched
            ]
            for _ in range(n_permutations)
        )
        search = delayed(largest_value)
        tasks = (search(strata, min_group_size) for strata in permuted)
        null = np.array(Parallel(n_jobs=n_jobs, verbose=verbose)(tasks))
    subgroups = [
        (label, subgroup) for label, several in best.items() for subgroup in several
    ]
    subgroups = sorted(subgroups, key=lambda pair: -pair[1].value)[:n_subgroups]
    result = _result(subgroups, entries, columns, null, compared)
    return result if control_features is None else _add_strata(result, subgroups)


def _warn_of_strata(
    reasons: Mapping[Hashable, str], best: Mapping[Hashable, list[Subgroup]]
) -> None:
    """Warn of strata without subgroups, or that there is no subgroup at all."""
    any_found = any(best.values())
    if None in best:  # all rows, without strata
        text = reasons[None] if not any_found else ""
    else:
        text = describe_strata(reasons, undefined=not any_found)
    if not any_found:
        text = undefined_estimate("worst_subgroup", text).message
    elif text:
        text = f"worst_subgroup {text}."
    if text:
        warn_user(text, UndefinedMetricWarning)


def _add_strata(
    result: WorstSubgroupResult, subgroups: list[tuple[Hashable, Subgroup]]
) -> WorstSubgroupResult:
    """Add the stratum of each subgroup to the table."""
    labels = [label for label, _ in subgroups]
    result.table.insert(0, "stratum", pd.Series(labels, result.table.index, object))
    return replace(result, stratum=labels[0] if labels else None)


def _split_strata(
    counts: Bools, control_features: ArrayLike | None
) -> tuple[dict[Hashable, Integers], dict[Hashable, str]]:
    """Return the rows that count in each stratum, and why strata are left out."""
    if control_features is None:
        return {None: np.flatnonzero(counts)}, {}
    one_group = Groups(np.where(counts, 0, -1), ("everyone",))
    control = resolve_strata(control_features, n_samples=len(counts))
    strata, _ = split_strata(Rows(one_group, control), leaves_groups_out=True)
    rows = {
        stratum.label: stratum.rows for stratum in strata if stratum.groups is not None
    }
    return rows, {stratum.label: stratum.reason for stratum in strata if stratum.reason}


class Column(NamedTuple):
    """A column of groups: its name, and the code of each row."""

    name: str
    codes: NDArray[np.integer]
    #: The label of each code, and a text that names it as a condition.
    labels: tuple[Any, ...]
    texts: tuple[str, ...]


class _Compared(NamedTuple):
    """Numbers of rows, of which subgroups' distributions or means are compared."""

    #: Scores, or numbers in [0, 1].
    numbers: Floats
    #: Which rows count.
    counts: Bools
    #: Whether means are compared, in place of distributions.
    compares_means: bool
    #: Names of the columns of the table, for the subgroup and for all others.
    names: tuple[str, str] = ("rate", "rate_of_others")
    #: A number of the user is `origin` plus `unit` times that in [0, 1].
    origin: float = 0.0
    unit: float = 1.0


def _read_quality(
    y_true: ArrayLike | None,
    response: Any,
    quality: Any,
    pos_label: Hashable,
    scale: Scale,
) -> _Compared:
    """Check the quality; return the scores, outcomes or numbers of rows."""
    if isinstance(quality, str):
        check_choice("quality", quality, ("mcdp", *get_args(QualityName)))
    check_choice("scale", scale, get_args(Scale))
    if isinstance(quality, str) and quality == "mcdp":
        scores = scores_on(scale, response, "y_score")
        check_y_true(y_true, scores, scale)
        return _Compared(scores, np.ones(len(scores), dtype=bool), compares_means=False)
    if scale != "probability":
        raise ValueError(
            f"scale must be 'probability' unless quality is 'mcdp', got {scale!r}."
        )
    if not isinstance(quality, str):
        return _read_numbers(y_true, response, quality)
    rate: Any = quality
    outcomes, mask = outcomes_of(y_true, response, rate, pos_label)
    counts = np.ones(len(outcomes), dtype=bool) if mask is None else mask
    return _Compared(outcomes.astype(np.float64), counts, compares_means=True)


def _read_numbers(
    y_true: ArrayLike | None, response: ArrayLike | None, quality: Any
) -> _Compared:
    """Check numbers, or the result of a callable, and scale them to [0, 1]."""
    rows = {"y_true": y_true, "y_score": response}
    check = partial(check_numbers, largest=LARGEST_NUMBER)
    numbers, counts = numbers_of(quality, rows, check)
    low, high = 0.0, 0.0
    if counts.any():
        low, high = float(numbers[counts].min()), float(numbers[counts].max())
    unit = high - low or 1.0
    scaled = np.where(counts, (numbers - low) / unit, 0.0)
    return _Compared(scaled, counts, True, ("mean", "mean_of_others"), low, unit)


def _encode_columns(data: Any, bins: Any, n_samples: int) -> list[Column]:
    """Encode the columns; columns with edges are encoded by their bins."""
    if bins is not None and not isinstance(bins, Mapping):
        kind = type(bins).__name__
        raise TypeError(f"bins must be a mapping of column to edges, got a {kind}.")
    if data is None:
        raise ValueError(
            "sensitive_features is None, expected columns of shape "
            f"({n_samples}, n_columns)."
        )
    names, series = _group_columns(data) or columns_of(data)
    named = [i if name is None else name for i, name in enumerate(names)]
    repeated = [name for name in named if named.count(name) > 1]
    if repeated:
        raise ValueError(f"sensitive_features has two columns named {repeated[0]!r}.")
    edges = {str(name): values for name, values in (bins or {}).items()}
    unknown = set(edges) - set(map(str, named))
    if unknown:
        raise ValueError(f"bins has {min(unknown)!r}, expected columns among {named}.")
    if not series:
        raise ValueError("sensitive_features has no columns, expected at least one.")
    if len(series[0]) != n_samples:
        raise ValueError(
            f"sensitive_features has {len(series[0])} rows, expected {n_samples}, one "
            "per sample."
        )
    return [
        _encode_column(name, column, edges.get(str(name)))
        for name, column in zip(named, series, strict=True)
    ]


def _encode_column(name: Any, column: Any, edges: Any) -> Column:
    """Encode a column by its labels, or by its bins if there are edges."""
    shown = name if isinstance(name, str) else f"column {name}"
    if edges is not None:
        name_ranges = partial(_write_ranges, shown)
        column = cut_into_ranges(column, edges, f" of {shown!r}", name_ranges)
        codes, labels = encode_column(column, "raise", str(name))
        return Column(shown, codes, labels, tuple(map(str, labels)))
    codes, labels = encode_column(column, "raise", str(name))
    if len(labels) > _MAX_VALUES and all(map(_is_number, labels)):
        raise ValueError(
            f"bins must have edges for {shown!r}, a column of numbers with "
            f"{len(labels)} values, more than {_MAX_VALUES}: pass "
            f"bins={{{name!r}: {_suggest_edges(labels)}}}, for example."
        )
    texts = tuple(f"{shown} = {label}" for label in labels)
    return Column(shown, codes, labels, texts)


def _suggest_edges(labels: Any) -> list[float]:
    """Round the quartiles of the values to two digits."""
    edges = np.quantile(np.array(labels, dtype=float), [0.25, 0.5, 0.75])
    rounded = [float(f"{edge:.2g}") for edge in edges]
    return sorted({int(edge) if edge == int(edge) else edge for edge in rounded})


def _write_ranges(name: str, edges: list[float]) -> list[str]:
    """Write the ranges of a column of numbers as conditions."""
    at = [all_digits(edge) for edge in edges]
    between = [f"{low} <= {name} < {high}" for low, high in pairwise(at)]
    return [f"{name} < {at[0]}", *between, f"{name} >= {at[-1]}"]


def _group_columns(data: Any) -> tuple[list[str | None], list[Any]] | None:
    """Return the columns of a `Groups` that is an intersection; None for other input.

    Rows without a group, which do not count, get an arbitrary value.
    """
    if not isinstance(data, Groups):
        return None
    labels: list[Any] = list(data.labels) or [""]
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    if len(lengths) > 1 or lengths == {0}:
        labels = [(label,) for label in labels]
    n_columns = len(labels[0])
    names = data.names if len(data.names) == n_columns else [None] * n_columns
    columns = []
    for position in range(n_columns):
        values = np.empty(len(labels), dtype=object)
        values[:] = [label[position] for label in labels]
        columns.append(values[data.codes])
    return list(names), columns


def _is_number(label: Any) -> bool:
    """Return whether a label is a finite number."""
    return isinstance(label, int | float) and math.isfinite(label)


def _result(
    subgroups: list[tuple[Hashable, Subgroup]],
    entries: Mapping[Hashable, Entries],
    columns: list[Column],
    null: Floats,
    compared: _Compared,
) -> WorstSubgroupResult:
    """Tabulate the subgroups, with p-values that account for the search."""
    origin, unit = compared.origin, compared.unit
    names = ["n_rows", "score", *compared.names, "difference", "pvalue"]
    lines, texts, conditions = [], [], []
    for stratum, subgroup in subgroups:
        chosen = [(columns[i], code) for i, code in subgroup.conditions]
        texts.append(" and ".join(column.texts[code] for column, code in chosen))
        conditions.append({column.name: column.labels[code] for column, code in chosen})
        pvalue = exact_pvalue(subgroup.value, null) if len(null) else math.nan
        score, number, others = compare_with_others(subgroup, entries[stratum])
        number, others = origin + unit * number, origin + unit * others
        difference = number - others
        lines.append((subgroup.size, score, number, others, difference, pvalue))
    table = pd.DataFrame(lines, pd.Index(texts, name="subgroup", dtype=object), names)
    types = {name: "int64" if name == "n_rows" else "float64" for name in names}
    table = table.astype(types)  # also without rows
    if any(part.compares_means for part in entries.values()):
        table = table.drop(columns="score")
    return WorstSubgroupResult(
        unit * subgroups[0][1].value if subgroups else math.nan,
        texts[0] if subgroups else "",
        float(table["pvalue"].iloc[0]) if subgroups else math.nan,
        tuple(conditions),
        table,
        unit * null,
    )
