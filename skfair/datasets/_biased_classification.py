"""A classification problem whose bias is chosen."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils import check_random_state, check_scalar

from skfair._utils._arrays import Floats
from skfair._utils._validation import check_real

Setting = Mapping[str, Mapping[Hashable, float]]
Values = dict[str, Floats]


def make_biased_classification(
    n_samples: int = 1000,
    *,
    n_features: int = 5,
    group_sizes: Setting | None = None,
    base_rates: Setting | None = None,
    score_shifts: Setting | None = None,
    class_sep: float = 1.0,
    random_state: Any = None,
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Generate a binary classification problem with groups and a chosen bias.

    There are two sources of bias, which can be combined: groups that differ in their
    share of positives, and groups whose features are shifted, independently of the
    label, so that a model of the features favours one of them.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=5
        Number of numeric features.
    group_sizes : mapping of str to mapping of label to float, default=None
        For each sensitive attribute the share of each of its labels, summing to 1.
        Attributes are drawn independently of each other. By default one attribute,
        ``{"group": {"a": 0.5, "b": 0.5}}``.
    base_rates : mapping of str to mapping of label to float, default=None
        For attributes of `group_sizes`, the probability of y = 1 for each label;
        0.5 for labels that are not named.
    score_shifts : mapping of str to mapping of label to float, default=None
        For attributes of `group_sizes`, how far each label's features are moved
        towards class 1 (or class 0, if negative), in standard deviations of the
        noise, independently of y; 0 for labels that are not named. Shifts of several
        attributes add up.
    class_sep : float, default=1.0
        Half the distance between the classes, in standard deviations of the noise.
        With 0 the features have no information on y.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible output.

    Returns
    -------
    X : DataFrame of shape (n_samples, n_features + n_attributes)
        Numeric features x0, x1, ... and one categorical column per attribute, its
        categories in the order of `group_sizes`. Rows are in random order.
    y : ndarray of shape (n_samples,)
        Labels, 0 or 1.

    Raises
    ------
    TypeError
        If `n_samples` or `n_features` is not an integer, `class_sep` is not a number,
        or another argument is not a mapping.
    ValueError
        If `n_samples` or `n_features` is less than 1, `class_sep` is negative, shares
        are not positive or do not sum to 1, a rate is not between 0 and 1, a shift is
        not finite, an attribute or label is unknown, or an attribute has the name of
        a feature.

    See Also
    --------
    make_biased_scores : Scores whose disparity is known, without features.

    Notes
    -----
    With rates for one attribute, each of its labels has exactly that probability of
    y = 1. With rates for several they are combined on the log-odds scale: the odds
    ratio between two labels of an attribute is that of their rates, whatever the
    other attributes, and the level is the mean, over the attributes with rates, of
    their average log-odds. The overall rate of a label then differs in general
    from the one given.

    Features are standard normal noise plus ``class_sep * (2 * y - 1)`` plus the
    shifts, along the direction in which all features grow alike. A model fitted
    without shifts would raise the log-odds of a row by ``2 * class_sep * shift``. A
    model that is given the attributes too can learn to undo a shift.

    Examples
    --------
    >>> from skfair.datasets import make_biased_classification
    >>> X, y = make_biased_classification(
    ...     n_features=2,
    ...     group_sizes={"sex": {"F": 0.4, "M": 0.6}},
    ...     base_rates={"sex": {"F": 0.2, "M": 0.7}},
    ...     random_state=0,
    ... )
    >>> X.columns.tolist()
    ['x0', 'x1', 'sex']
    >>> bool(y[X["sex"] == "M"].mean() > y[X["sex"] == "F"].mean())
    True
    """
    if group_sizes is None:
        group_sizes = {"group": {"a": 0.5, "b": 0.5}}
    check_scalar(n_samples, "n_samples", Integral, min_val=1, max_val=sys.maxsize)
    check_scalar(n_features, "n_features", Integral, min_val=1, max_val=sys.maxsize)
    check_scalar(class_sep, "class_sep", Real, min_val=0)
    names = [f"x{i}" for i in range(n_features)]
    _check_group_sizes(group_sizes, names)
    rates = _in_order_of_labels("base_rates", base_rates, group_sizes, 0.5, (0, 1))
    limits = -math.inf, math.inf
    shifts = _in_order_of_labels("score_shifts", score_shifts, group_sizes, 0.0, limits)

    random = check_random_state(random_state)
    shares = {
        name: np.array(list(labels.values())) / math.fsum(labels.values())
        for name, labels in group_sizes.items()
    }
    codes = {
        name: random.choice(len(share), size=n_samples, p=share)
        for name, share in shares.items()
    }
    y = random.uniform(size=n_samples) < expit(_log_odds(rates, shares, codes))
    position = class_sep * (2.0 * y - 1)
    for name, shift in shifts.items():
        position += shift[codes[name]]
    table = pd.DataFrame(
        random.normal(size=(n_samples, n_features))
        + position[:, np.newaxis] / np.sqrt(n_features),
        columns=names,
    )
    for name, labels in group_sizes.items():
        # Left alone, pandas would make levels of labels that are tuples.
        categories = pd.Index(list(labels), tupleize_cols=False)
        table[name] = pd.Categorical.from_codes(codes[name], categories)
    return table, y.astype(np.int64)


def _log_odds(rates: Values, shares: Values, codes: dict[str, Any]) -> Any:
    """Log-odds of y = 1 per row; 0 where no attribute has rates."""
    if not rates:
        return np.zeros(len(next(iter(codes.values()))))
    levels = {name: shares[name] @ logit(rate) for name, rate in rates.items()}
    deviations = [
        (logit(rate) - levels[name])[codes[name]] for name, rate in rates.items()
    ]
    return np.mean(list(levels.values())) + np.sum(deviations, axis=0)


def _in_order_of_labels(
    argument: str,
    setting: Setting | None,
    group_sizes: Setting,
    default: float,
    limits: tuple[float, float],
) -> Values:
    """Values in the order of the labels, for each attribute of the setting."""
    values: Values = {}
    _check_nested(argument, {} if setting is None else setting)
    for name, given in (setting or {}).items():
        if name not in group_sizes:
            raise ValueError(
                f"{argument} has the unknown attribute {name!r}, expected one of "
                f"{list(group_sizes)}, the attributes of group_sizes."
            )
        for label, value in given.items():
            if label not in group_sizes[name]:
                raise ValueError(
                    f"{argument}[{name!r}] has the unknown label {label!r}, expected "
                    f"one of {list(group_sizes[name])}, the labels in group_sizes."
                )
            where = f"{argument}[{name!r}][{label!r}]"
            check_real(where, value, *limits, closed="neither")
        values[name] = np.array(
            [given.get(label, default) for label in group_sizes[name]], dtype=float
        )
    return values


def _check_nested(argument: str, setting: Any) -> None:
    """Raise unless it maps attributes to mappings of labels to numbers."""
    if not isinstance(setting, Mapping):
        raise TypeError(
            f"{argument} must be a mapping of attribute to a mapping of label to "
            f"number, got {type(setting).__name__}."
        )
    for name, given in setting.items():
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{argument}[{name!r}] must be a mapping of label to number, got "
                f"{type(given).__name__}."
            )


def _check_group_sizes(group_sizes: Setting, feature_names: list[str]) -> None:
    _check_nested("group_sizes", group_sizes)
    if not group_sizes:
        raise ValueError("group_sizes must have at least one attribute, got none.")
    for name, labels in group_sizes.items():
        if name in feature_names:
            raise ValueError(
                f"group_sizes has the attribute {name!r}, which is the name of a "
                "feature; expected another name."
            )
        shares = [
            check_real(f"group_sizes[{name!r}][{label!r}]", share, -math.inf, math.inf)
            for label, share in labels.items()
        ]
        total = sum(shares)  # fsum would raise where it overflows
        if not all(share > 0 for share in shares) or not math.isclose(total, 1):
            raise ValueError(
                f"group_sizes[{name!r}] must be positive shares that sum to 1, got "
                f"{dict(labels)!r} with the sum {total:g}."
            )
