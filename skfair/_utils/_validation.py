"""Checks of arguments: parameters, scores, sample weights."""

from __future__ import annotations

import math
import numbers
import re
import sys
from decimal import Decimal
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats
from skfair._utils._text import counted, shown

#: What scores are: probabilities, or numbers of which only the order counts.
Scale = Literal["probability", "rank"]
#: Or numbers in a unit, in which the metric is.
AnyScale = Literal["probability", "rank", "real"]
#: What an error about scores that are not probabilities adds.
TAKES_ANY = " With scale='rank' scores may be any finite numbers."
#: What an error about a missing number adds.
_LEAVE_OUT = " Leave the rows without a number out of all arguments."


class ParameterError(ValueError):
    """Error about a parameter, which another interface may show by another name."""

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(parameter, problem)
        self.parameter, self.problem = parameter, problem

    def __str__(self) -> str:
        return f"{self.parameter} {self.problem}"


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return an integer parameter in [low, high].

    Without `high` the largest size of an array is the limit.
    """
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    highest = sys.maxsize if high is None else high
    if not integral or not low <= value <= highest:
        unbounded = high is None and not (integral and value > low)
        bounds = f"of at least {low}" if unbounded else f"in [{low}, {highest}]"
        raise ParameterError(name, f"must be an integer {bounds}, got {shown(value)}.")
    return int(value)


def check_real(
    name: str,
    value: Any,
    low: float,
    high: float,
    *,
    closed: Literal["both", "left", "right", "neither"] = "both",
    alternative: str = "",
) -> float:
    """Return a real parameter in an interval; raise ValueError for others and nan.

    `closed` says which ends belong to the interval. `alternative` names other values
    of the parameter in the message.
    """
    includes_low = closed in ("both", "left")
    includes_high = closed in ("both", "right")
    inside = isinstance(value, numbers.Real) and not isinstance(value, bool)
    inside = inside and (low < value or (includes_low and low == value))
    inside = inside and (value < high or (includes_high and high == value))
    if not inside:
        opening, closing = "[" if includes_low else "(", "]" if includes_high else ")"
        interval = f"{opening}{low}, {high}{closing}"
        raise ParameterError(
            name, f"must be {alternative}a number in {interval}, got {shown(value)}."
        )
    return float(value)


def check_choice(
    name: str, value: Any, choices: tuple[Any, ...], hint: str = ""
) -> None:
    """Raise unless a parameter is one of its values, of the same type or NumPy's."""
    if isinstance(value, np.generic):  # of a grid of parameters that is an array
        value = value.item()
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return
    *others, last = map(repr, choices)
    raise ParameterError(
        name, f"must be {', '.join(others)} or {last}, got {shown(value)}.{hint}"
    )


def check_flag(name: str, value: Any) -> None:
    """Raise unless a parameter is True or False, of Python or of NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, f"must be True or False, got {shown(value)}.")


def check_unmasked(values: Any, name: str) -> None:
    """Raise if entries of a masked array are masked, which means missing."""
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        raise ValueError(
            f"{name} has {np.count_nonzero(values.mask)} masked values, expected none."
        )


def as_array(values: Any, name: str, n_samples: int | None = None) -> NDArray[Any]:
    """Return one value for each row as an array; raise where entries are masked.

    An array of one column is flattened, since some libraries predict labels so. With
    `n_samples` the array must have one axis of that length.
    """
    if type(values) is np.ndarray:
        array = values
    else:
        check_unmasked(values, name)
        refuse_tables_elsewhere(values, name)
        try:
            array = np.asarray(values)
        except ValueError as error:
            must = f"{name} must have the shape of an array"
            raise ValueError(f"{must}: {error}") from error
    if not array.dtype.isnative:  # pandas knows no other order of bytes
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "T":  # pandas knows no strings of variable length
        array = array.astype(object)
    elif array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # [nan, "F"] became ["nan", "F"]
    if array.ndim == 0:
        hint = ""
        if isinstance(values, str):
            hint = f" Pass the values of the column, as table[{values!r}]."
            if name in ("sensitive_features", "control_features"):
                hint += " Scorers of skfair.metrics.get_fairness_scorer take its name."
        raise ValueError(
            f"{name} must have shape (n_samples,), one value for each row, got a "
            f"single {type(values).__name__}.{hint}"
        )
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype == object and array.ndim == 2 and hasattr(values, "columns"):
        raise ValueError(
            f"{name} must be the values of rows, got a table with the columns "
            f"{list(values.columns)[:5]}. Pass one of them, as "
            f"table[{values.columns[0]!r}]."
        )
    if n_samples is not None and array.shape != (n_samples,):
        raise ValueError(
            f"{name} must have shape ({n_samples},), one value for each row, got "
            f"{array.shape}."
        )
    return array


def check_length(name: str, length: int, expected: int, tip: str = "") -> None:
    """Raise unless an argument has as many rows as the others."""
    if length != expected:
        raise ValueError(
            f"{name} has {length} rows, expected {expected}, one per sample.{tip}"
        )


class RowError(ValueError):
    """Error about a row, which may be a line of a file.

    `tip` is advice that names parameters; interfaces with other names leave it out.
    """

    def __init__(self, problem: str, row: int, more: str = ".", tip: str = "") -> None:
        super().__init__(problem, row, more, tip)
        self.problem, self.row, self.more, self.tip = problem, row, more, tip

    def __str__(self) -> str:
        return f"{self.describe_in(f'row {self.row}')}{self.tip}"

    def describe_in(self, place: str) -> str:
        """Write the message with another text for the place, and without the tip."""
        return f"{self.problem} in {place}{self.more}"


def refuse_tables_elsewhere(values: Any, name: str) -> None:
    """Raise on tables whose rows are not in memory, such as those of DuckDB."""
    if isinstance(values, np.ndarray) or not hasattr(type(values), "columns"):
        return
    if isinstance(nw.from_native(values, pass_through=True), nw.LazyFrame):
        raise TypeError(
            f"{name} must be the values of rows, got a table whose rows are elsewhere "
            f"({type(values).__name__}). skfair.frames counts it where it is: "
            "skfair.frames.count_table(table, y_pred='<column>', "
            "sensitive_features='<column>') returns what metrics take in place of "
            "rows, with n_bins for tables of any size, and "
            "skfair.report.FairnessReport.from_frame reports on a table."
        )


#: Bit pattern of 1.0: larger patterns are above 1, negative, infinite or NaN.
_ONE_BITS = np.float64(1.0).view(np.uint64)
#: Weighted averages of probabilities leave [0, 1] by rounding, at most by this.
SCORE_ROUNDING = 1e-12
#: Weights between these can be squared, summed and divided without over- or underflow.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-150, 1e150
#: Numbers up to this, times weights, can be added up without overflow.
LARGEST_NUMBER = 1e150
#: Whole weights are summed as integers while their sum stays below this.
MAX_EXACT_SUM = 2**53


def check_scores(y_score: ArrayLike, name: str = "y_score", tip: str = "") -> Floats:
    """Return scores as floats in [0, 1]; clip those outside by rounding errors."""
    scores = as_array(y_score, name)
    check_shape(scores, name)
    if scores.dtype != np.float64:
        scores = _to_numbers(scores, name)
    scores = np.ascontiguousarray(scores)
    if not lie_in_unit_interval(scores):
        bad = ~((scores >= -SCORE_ROUNDING) & (scores <= 1 + SCORE_ROUNDING))
        if bad.any():
            row = int(bad.argmax())
            percentages = ((scores >= 0) & (scores <= 100)).all()
            more = " Divide percentages by 100." if percentages else ""
            raise RowError(
                f"{name} must lie in [0, 1], got {scores[row]}",
                row,
                f" ({int(bad.sum())} such rows).{more}",
                _LEAVE_OUT if np.isnan(scores[row]) else tip,
            )
        scores = np.clip(scores, 0, 1) + 0.0  # turns -0.0 into 0.0
    return scores


def scores_on(scale: Any, y_score: ArrayLike, name: str = "y_score") -> Floats:
    """Check scores of a scale; return them as floats, probabilities in [0, 1]."""
    if isinstance(scale, str) and scale == "probability":
        return check_scores(y_score, name, TAKES_ANY)
    check_choice("scale", scale, get_args(AnyScale))
    largest = LARGEST_NUMBER if scale == "real" else math.inf
    return check_numbers(y_score, name, largest) + 0.0  # turns -0.0 into 0.0


def lie_in_unit_interval(scores: Floats) -> bool:
    """Return whether all scores lie in [0, 1], and none is a negative zero."""
    return not len(scores) or bool(scores.view(np.uint64).max() <= _ONE_BITS)


def check_numbers(values: ArrayLike, name: str, largest: float = math.inf) -> Floats:
    """Return finite numbers as floats, one for each row, or raise ValueError.

    Numbers that are added up are at most `LARGEST_NUMBER` in magnitude.
    """
    array = as_array(values, name)
    check_shape(array, name)
    floats = _to_numbers(array, name)
    bad = ~(np.isfinite(floats) & (np.abs(floats) <= largest))
    if bad.any():
        row = int(bad.argmax())
        must = "be finite"
        if np.isfinite(floats[row]):
            must = f"lie between {-largest:g} and {largest:g}"
        problem = f"{name} must {must}, got {floats[row]}"
        tip = _LEAVE_OUT if np.isnan(floats[row]) else ""
        raise RowError(problem, row, f" ({int(bad.sum())} such rows).", tip)
    _check_exact(array, floats, name)
    return floats


def _check_exact(array: NDArray[Any], floats: Floats, name: str) -> None:
    """Raise on whole numbers that floats cannot represent exactly."""
    if array.dtype.kind not in "iuO":
        return
    for row in np.flatnonzero(np.abs(floats) > MAX_EXACT_SUM):
        value = array[row]
        if isinstance(value, numbers.Integral) and int(value) != int(floats[row]):
            raise RowError(
                f"{name} must be numbers that a float of 64 bits can be, got {value}",
                int(row),
                ". Subtract the same number from all, or round them to floats.",
            )


def refuse_scores(values: NDArray[Any], name: str) -> None:
    """Raise on numbers that are not class labels but scores."""
    if values.dtype.kind != "f":
        return
    whole = np.isfinite(values) & (values == np.floor(values))
    broken = values[~(whole | np.isnan(values))]
    if len(broken):
        raise ValueError(
            f"{name} must be class labels, got the continuous value {broken[0]}. Turn "
            f"scores into decisions first, as {name} >= 0.5."
        )


def check_shape(values: NDArray[Any], name: str) -> None:
    """Raise unless there is one value for each row, and at least one row."""
    if values.ndim != 1:
        hint = ""
        if values.ndim == 2 and values.shape[1] > 1:
            several = values.shape[1] > 2
            hint = f" Pass {'one' if several else 'the'} column"
            hint += "." if several else " of the positive class."
        raise ValueError(
            f"{name} must have shape (n_samples,), one value of a binary classifier "
            f"for each row; got shape {values.shape}.{hint}"
        )
    if values.size == 0:
        raise ValueError(f"{name} has 0 rows, expected at least one.")


def check_y_true(
    y_true: ArrayLike | None,
    y_score: Any,
    scale: AnyScale = "probability",
    name: str = "y_score",
) -> None:
    """Raise unless `y_true` is None, or binary and of the length of `y_score`.

    Scores that are not probabilities may be predictions of any target. `name` names
    the argument of the scores.
    """
    if y_true is None:
        return
    scores = as_array(y_score, name)
    values = as_array(y_true, "y_true", len(scores))
    if len(values) == 0:
        return
    if values.dtype.kind not in "biu":
        check_no_missing(values, "y_true")
    if scale != "probability":
        return
    if values.dtype.kind in "biuf":
        low, high = values.min(), values.max()
        if bool(((values == low) | (values == high)).all()):
            return
    classes = distinct_labels(values, "y_true")
    if len(classes) > 2:
        compares_numbers = values.dtype.kind == "f" and scores.ndim == 1
        swapped = compares_numbers and len(pd.unique(scores)) < 3
        tip = " Are y_true and the scores in the wrong order?" if swapped else ""
        raise ValueError(
            f"y_true must be binary, got {len(classes)} classes: "
            f"{classes[:5].tolist()}{'...' if len(classes) > 5 else ''}. This metric "
            f"does not read true labels: pass None.{tip}"
        )


def distinct_labels(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the distinct labels of rows in the order of their first rows."""
    try:
        return np.asarray(pd.unique(values))
    except TypeError as error:
        raise TypeError(
            f"{name} must hold text, numbers, dates or other hashable labels: {error}."
        ) from error


def check_no_missing(values: NDArray[Any], name: str) -> None:
    """Raise if any class label is NaN, None or another null."""
    n_missing = int(np.count_nonzero(pd.isna(values)))
    if n_missing:
        n_labels = counted(n_missing, "missing label")
        raise ValueError(f"{name} has {n_labels}, expected none.")


def check_weights(
    sample_weight: ArrayLike | None, n_samples: int, name: str = "sample_weight"
) -> Any:
    """Return weights as int64 if all are whole numbers, else as float64."""
    if sample_weight is None:
        return None
    weights = as_array(sample_weight, name, n_samples)
    weights = _to_numbers(weights, name)
    usable = (weights > SMALLEST_WEIGHT) & (weights < LARGEST_WEIGHT)
    bad = ~(usable | (weights == 0))
    if bad.any():
        row = int(bad.argmax())
        raise RowError(
            f"{name} must be finite and non-negative, 0 or between "
            f"{SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, got {weights[row]}",
            row,
            ". Multiply all weights by the same number if some are too small or too "
            "large.",
        )
    whole = np.array_equal(weights, np.rint(weights))
    exact = whole and weights.sum() < MAX_EXACT_SUM
    return weights.astype(np.int64) if exact else weights


def check_counts(counts: ArrayLike | None, n_samples: int) -> NDArray[np.int64] | None:
    """Return the number of people for whom each row stands, as whole numbers."""
    if counts is None:
        return None
    people = _to_numbers(as_array(counts, "counts", n_samples), "counts")
    whole = np.isfinite(people) & (people >= 0)
    whole &= people == np.rint(people)
    if not whole.all():
        row = int(whole.argmin())
        raise RowError(
            f"counts must be whole numbers of people, 0 or more, got {people[row]:g}",
            row,
        )
    total = people.sum()
    if total >= MAX_EXACT_SUM:
        raise ValueError(f"counts must add up to less than 2**53, got {total:g}.")
    return people.astype(np.int64)


def _to_numbers(values: NDArray[Any], name: str) -> Floats:
    if values.dtype.kind == "O":
        real = [isinstance(v, numbers.Real | np.bool_ | Decimal) for v in values]
    else:
        real = [values.dtype.kind in "biuf"]
    if not all(real):
        row = real.index(False)
        value = values[row : row + 1].tolist()[0]  # not as np.str_('a')
        more = "."
        if isinstance(value, str) and re.fullmatch(r"[\d.,%\s+-]*\d[.%\s]*", value):
            more = ". Turn text into numbers first, as pandas.to_numeric does."
        elif isinstance(value, str) and name in ("y_score", "scores"):
            more = (
                ". Pass the probabilities of the positive label, or decisions, as "
                f"{name} == {value!r} if that is the positive label."
            )
        raise RowError(f"{name} must be numbers, got {shown(value)}", row, more)
    try:
        return values.astype(np.float64, copy=False)
    except OverflowError as error:  # of an integer of more than 308 digits
        raise ValueError(f"{name} must be finite: {error}.") from error


def count_rows(X: Any) -> int:
    """Return the number of rows of a list, array, sparse matrix or dataframe."""
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if not shape:
        raise ValueError(f"X must have rows, got a single {type(X).__name__}.")
    return int(shape[0])
