"""From the arguments of a metric to its statistic, or to why it has no value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows, read_arrays
from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._text import shown
from skfair._utils._validation import (
    ParameterError,
    as_array,
    check_length,
    check_no_missing,
    check_numbers,
    check_scores,
    check_shape,
    check_unmasked,
    check_y_true,
    distinct_labels,
    refuse_scores,
    refuse_tables_elsewhere,
)
from skfair._utils._warnings import warn_user
from skfair.groups import (
    check_kinds_of_labels,
    suggest_edges,
    warn_of_look_alikes,
)
from skfair.metrics._undefined import ADVICE
from skfair.statistics import CountTable
from skfair.statistics._labels import encode_label_pairs

Multigroup = Literal["pairwise", "pooled"]
QualityName: TypeAlias = Literal[
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "accuracy",
    "error_rate",
]
Quality: TypeAlias = QualityName | Callable[..., Any]
#: Rates of which the rows with a positive decision may be the denominator, too.
Rate: TypeAlias = QualityName | Literal["predictive_value"]


def read(
    y_true: Any,
    y_pred: Any,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    *,
    name: str = "y_pred",
    usage: str = "",
    takes_strata: bool = True,
) -> Rows:
    """Read the arguments of a metric, or a table that takes their place.

    Messages call `y_pred` by `name`; `usage` says how to pass groups. A table
    with strata is refused unless the caller compares groups within them.
    """
    columns = {
        "sensitive_features": sensitive_features,
        "control_features": control_features,
        "sample_weight": sample_weight,
        "counts": counts,
        "clusters": clusters,
    }
    table = rows_of_table(y_pred, takes_strata, y_true=y_true, **columns)
    if table is not None:
        return table
    if sensitive_features is None:
        refuse_tables_elsewhere(y_pred, name)
        raise ValueError(
            f"sensitive_features is None, expected the group of each row{usage}."
        )
    return read_arrays(y_true, y_pred, **columns, name=name)


#: What to do in place of giving some arguments by row beside a table.
_INSTEAD = {
    "clusters": "it counts rows, and does not know which of them are of one person; "
    "give the rows themselves",
    "within": "it does not know the values of single rows; make it with "
    "control_features, or give the rows themselves",
}


def rows_of_table(
    table: Any, takes_strata: bool = False, **columns: Any
) -> Rows | None:
    """Return the cells of a table that takes the place of rows; None for rows.

    Raises if any argument by row is given beside it, and if it has strata, within which
    the caller does not compare groups.
    """
    if not isinstance(table, CountTable):
        return None
    names = [name for name, values in columns.items() if values is not None]
    if names:
        advice = _INSTEAD.get(names[0], "make the table with it")
        raise ValueError(
            f"{names[0]} must be None where a table takes the place of the rows: "
            f"{advice}."
        )
    if table._rows.strata is not None and not takes_strata:
        raise ValueError(
            "the table has strata, and groups are compared over all rows here, not "
            "within strata: make the table without control_features."
        )
    return table._rows


def count_hits(rows: Rows, *, weighted: bool = False) -> tuple[Integers, Integers]:
    """Return the number of people in each group, and of people with outcome 1 (hits).

    With weights the number of hits is unknown, and returned as 0.
    """
    if weighted:
        return rows.counts, np.zeros_like(rows.counts)
    if rows.weight is not None:
        raise ValueError(
            "the table must hold people without sample weights, since single people "
            "are counted."
        )
    return rows.counts, np.rint(rows.sums).astype(np.intp)


def labelled_scores(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    pos_label: Hashable,
    name: str = "y_score",
) -> tuple[Floats, Bools]:
    """Check scores with true labels; return them, and whether each is positive."""
    if y_true is None:
        raise ValueError("y_true must be a true label for each row, got None.")
    scores = check_scores(y_score, name)
    true = as_array(y_true, "y_true", len(scores))
    return scores, positive_rows(true, "y_true", pos_label)


def positive_rows(values: NDArray[Any], name: str, pos_label: Hashable) -> Bools:
    """Return whether each class label is the positive one."""
    check_no_missing(values, name)
    if pos_label is None and values.dtype.kind in "biuf":  # faster than pd.unique
        positive = values == 1
        if bool((positive | (values == 0)).all() or (positive | (values == -1)).all()):
            return np.asarray(positive)
    pos_label = positive_class(distinct_labels(values, name).tolist(), name, pos_label)
    return np.asarray(values == pos_label, dtype=bool)


def positive_class(classes: Sequence[Hashable], name: str, pos_label: Hashable) -> Any:
    """Return the class that is `pos_label`, 1 for None where the classes are 0 and 1.

    Classes may also be -1 and 1. True and 1.0 are 1, and are returned as they are
    written in the classes.
    """
    if pos_label is None:
        if set(classes) <= {0, 1} or set(classes) <= {-1, 1}:
            kind: Any = type(classes[0]) if len(classes) else int
            return next((label for label in classes if label == 1), kind(1))
        raise ParameterError(
            "pos_label",
            f"must say which of the labels is positive: {name} holds the labels "
            f"{list(classes[:5])}, got None.",
        )
    if getattr(pos_label, "shape", ()):
        kind = type(pos_label).__name__
        raise ParameterError("pos_label", f"must be one class, got a {kind}.")
    if len(classes) > 2 or (len(classes) == 2 and pos_label not in classes):
        raise ValueError(
            f"{name} must hold at most two labels, {pos_label!r} (pos_label) among "
            f"them, got {list(classes[:5])}."
        )
    check_kinds_of_labels(f"{name} and pos_label", classes, [pos_label])
    warn_of_look_alikes(
        {pos_label: None, **dict.fromkeys(classes)}, f"{name} with pos_label"
    )
    return next((label for label in classes if label == pos_label), pos_label)


def has_text(values: NDArray[Any]) -> bool:
    """Return whether any of the values is a string."""
    return values.dtype.kind in "OUS" and any(isinstance(v, str) for v in values)


def check_numeric(values: Any, name: str, expected: str, tip: str = "") -> Floats:
    """Return numbers of any shape as floats."""
    check_unmasked(values, name)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"got an array of {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {expected}: {error}.{tip}") from error


def check_group_weights(
    values: ArrayLike,
    labels: Sequence[Hashable] | None = None,
    name: str = "group_weights",
) -> Floats:
    """Return the weights of the groups, scaled to sum to one."""
    tip = ""
    if has_text(np.ravel(np.asarray(values, dtype=object))):
        tip = " Of labels count the rows, as table['group'].value_counts() does."
    weights = check_numeric(values, name, "numbers, one for each group", tip)
    n_groups = weights.size if labels is None else len(labels)
    if weights.shape != (n_groups,) or n_groups == 0:
        expected = "n_groups" if labels is None else n_groups
        tip = "" if weights.ndim else " Of two equal groups pass [0.5, 0.5]."
        raise ValueError(
            f"{name} must have shape ({expected},), one weight for each group, "
            f"got {weights.shape}.{tip}"
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        position = int(bad.argmax())
        label = position if labels is None else labels[position]
        raise ValueError(
            f"{name} must be finite and non-negative, got "
            f"{weights[position]} for group {label!r}."
        )
    if not weights.any():
        raise ValueError(f"{name} must have a positive sum, got 0.")
    # By a power of two, which rounds nothing: the sum of huge weights would overflow.
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    return np.asarray(weights / weights.sum())


def outcomes_of(
    y_true: ArrayLike | None, y_pred: ArrayLike, quality: Quality, pos_label: Hashable
) -> tuple[Bools, Bools | None]:
    """Return the outcome of each row, and which rows count, None for all."""
    predicted = as_array(y_pred, "y_pred")
    check_shape(predicted, "y_pred")
    check_quality(quality)
    if callable(quality):
        return _call_quality(quality, y_true, predicted)
    refuse_scores(predicted, "y_pred")
    if quality == "selection_rate":
        check_y_true(y_true, predicted)
        return positive_rows(predicted, "y_pred", pos_label), None
    true = _check_classes(y_true, len(predicted), quality)
    if quality in ("accuracy", "error_rate"):
        correct = _agree(true, predicted)
        return (correct if quality == "accuracy" else ~correct), None
    positive = positive_rows(true, "y_true", pos_label)
    mask = positive if quality == "true_positive_rate" else ~positive
    return positive_rows(predicted, "y_pred", pos_label), mask


def check_quality(quality: Any) -> None:
    """Raise unless a quality is one of the names, or a function."""
    names = get_args(QualityName)
    if not callable(quality) and not (isinstance(quality, str) and quality in names):
        raise ValueError(
            f"quality must be one of {', '.join(map(repr, names))} or a callable, got "
            f"{shown(quality)}."
        )


def outcomes_of_rate(
    y_true: ArrayLike | None, y_pred: ArrayLike, rate: Rate, pos_label: Hashable
) -> tuple[Bools, Bools | None]:
    """Return outcomes of a quality or of a predictive value, and which rows count."""
    if rate != "predictive_value":
        return outcomes_of(y_true, y_pred, rate, pos_label)
    if y_true is None:
        raise ValueError("y_true must be labels for predictive values, got None.")
    # The rows that are chosen count; the outcome is whether they are truly positive.
    chosen, truly = outcomes_of(y_true, y_pred, "true_positive_rate", pos_label)
    assert truly is not None  # the rows that true positive rates are about
    return truly, chosen


def numbers_of(
    quality: Any, rows: Mapping[str, Any], check: Callable[[Any, str], Floats]
) -> tuple[Floats, Bools]:
    """Return the number that a quality has for each row, and which rows count.

    A quality computes these numbers, or is an array of them. `rows` are the true labels
    and the predictions, by argument name. `check` is called with the numbers and their
    name.
    """
    columns = {
        name: None if values is None else as_array(values, name)
        for name, values in rows.items()
    }
    name, mask = "quality", None
    if callable(quality):
        name = f"quality ({getattr(quality, '__name__', repr(quality))})"
        quality = quality(*columns.values())
        if isinstance(quality, tuple):
            quality, mask = quality
    numbers = check(quality, name)
    for column, values in columns.items():
        if values is not None:
            check_length(column, len(values), len(numbers))
    counts = np.ones(len(numbers), dtype=bool)
    if mask is not None:
        counts = check_numbers(mask, f"the mask of {name}") > 0
        check_length(f"the mask of {name}", len(counts), len(numbers))
    return numbers, counts


def _call_quality(
    quality: Callable[..., Any], y_true: ArrayLike | None, y_pred: NDArray[Any]
) -> tuple[Bools, Bools | None]:
    """Return the outcomes and the mask that a callable gives, checked."""
    true = None if y_true is None else _check_classes(y_true, len(y_pred), "a callable")
    result = quality(true, y_pred)
    outcomes, mask = result if isinstance(result, tuple) else (result, None)
    name = getattr(quality, "__name__", repr(quality))
    must = f"quality ({name}) must return"
    outcomes = _check_zero_one(outcomes, len(y_pred), f"{must} outcomes")
    if mask is not None:
        mask = _check_zero_one(mask, len(y_pred), f"{must} a mask")
    return outcomes, mask


def _check_zero_one(values: Any, n_samples: int, must: str) -> Bools:
    """Return 0/1 values as bool, or raise with a message that starts with `must`."""
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise ValueError(f"{must} of shape ({n_samples},), got {array.shape}.")
    zero_one = (array == 0) | (array == 1)
    if not zero_one.all():
        row = int(np.argmin(zero_one))
        raise ValueError(f"{must} of 0 and 1, got {array[row]!r} in row {row}.")
    return np.asarray(array == 1)


def _check_classes(
    y_true: ArrayLike | None, n_samples: int, quality: str
) -> NDArray[Any]:
    """Return the true classes of the rows; raise without them."""
    if y_true is None:
        raise ValueError(
            f"y_true must be labels for quality {shown(quality)}, got None."
        )
    return as_array(y_true, "y_true", n_samples)


def _agree(y_true: NDArray[Any], y_pred: NDArray[Any]) -> Bools:
    """Return whether the predicted class of each row is the true one."""
    cells, classes = encode_label_pairs(y_true, y_pred)
    return np.asarray(cells % (len(classes) + 1) == 0)  # the diagonal of the matrix


#: From so many groups of numbers on, ranges are suggested where a group has few rows.
MANY_NUMBERS = 30
#: Fewer rows than this are few: the rate of so many is mostly noise.
FEW_ROWS = 10
#: So many groups of numbers with fewer rows on average are values, not groups.
_TOO_MANY_NUMBERS, _FEWEST_ROWS = 1000, 2


def advise_on_few_rows(labels: Sequence[Hashable], counts: Integers) -> str:
    """Say what to do where groups of few rows decide a value."""
    noise = f" A value of fewer than {FEW_ROWS} rows is mostly noise."
    tips = [
        f" {len(numbers)} groups{where}, each a number, are compared. {tip}"
        for numbers, _, where, tip in _columns_of_numbers(labels, counts)
    ]
    return noise + ("".join(tips) or ADVICE)


def refuse_groups_of_numbers(labels: Sequence[Hashable], counts: Integers) -> None:
    """Raise where groups are many numbers with hardly any rows each."""
    for numbers, rows, where, tip in _columns_of_numbers(labels, counts):
        n_groups, mean = len(numbers), rows.sum() / len(numbers)
        if n_groups >= _TOO_MANY_NUMBERS and mean < _FEWEST_ROWS:
            raise ValueError(
                f"sensitive_features has {n_groups:,} groups{where}, each a number, "
                f"with {mean:.2g} rows on average. {tip}"
            )


def check_groups_of_numbers(
    name: str, labels: Sequence[Hashable], counts: Integers
) -> None:
    """Warn of many groups that are numbers with few rows, and refuse very many.

    The largest difference between so small groups is noise.
    """
    refuse_groups_of_numbers(labels, counts)
    for numbers, rows, where, tip in _columns_of_numbers(labels, counts):
        warn_user(
            f"{name} compares {len(numbers)} groups{where}, each a number, of which "
            f"{(rows < FEW_ROWS).sum()} have fewer than {FEW_ROWS} rows: their largest "
            f"difference may be noise. {tip}",
            UndefinedMetricWarning,
        )


def _columns_of_numbers(
    labels: Sequence[Hashable], counts: Integers
) -> Iterator[tuple[Sequence[Hashable], Integers, str, str]]:
    """Yield the sensitive columns that have many numeric labels, some with few rows.

    Each comes with its labels, the number of rows of each label, words for its
    position, and a tip.
    """
    if len(labels) < MANY_NUMBERS or counts.min() >= FEW_ROWS:
        return
    columns = [*zip(*labels, strict=True)] if type(labels[0]) is tuple else [labels]
    for position, column in enumerate(columns):
        index = pd.Index(column, dtype=object)
        rows = pd.Series(counts).groupby(index, sort=False).sum()
        numbers, sizes = rows.index.tolist(), rows.to_numpy()
        where = f" in column {position + 1}" if len(columns) > 1 else ""
        if tip := tip_for_numbers(numbers, sizes):
            yield numbers, sizes, where, tip


def tip_for_numbers(labels: Sequence[Hashable], counts: Integers) -> str:
    """Suggest ranges where groups are many numbers, some with few rows.

    Groups with names that are not numbers get no tip.
    """
    if len(labels) < MANY_NUMBERS or counts.min() >= FEW_ROWS:
        return ""
    if not all(type(label) in (int, float) for label in labels):
        return ""
    return (
        f"skfair.groups.encode_groups(..., bins={suggest_edges(labels, counts)}) makes "
        "ranges of them."
    )
