"""Generators of data with a chosen bias."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit
from sklearn.utils import check_random_state, check_scalar

from skfair._utils._arrays import Floats
from skfair._utils._text import shown
from skfair._utils._validation import check_real

Setting = Mapping[str, Mapping[Hashable, float]]
Values = dict[str, Floats]
# Of group 0 and group 1, before they are cut to [0, 1].
DISTRIBUTIONS = (stats.gamma(4, scale=1 / 11), stats.norm(0.55, 0.1))


def make_biased_classification(
    n_samples: int = 1000,
    *,
    n_features: int = 5,
    group_sizes: Setting | None = None,
    base_rates: Setting | None = None,
    score_shifts: Setting | None = None,
    class_sep: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
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
    With rates for one attribute, each of its labels has exactly the given probability
    of y = 1. Rates of several attributes are combined on the log-odds scale. The odds
    ratio between two labels of an attribute is the odds ratio of their rates, whatever
    the other attributes are. The overall level is the mean, over the attributes with
    rates, of their average log-odds. The overall rate of a label then generally differs
    from the given rate.

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
    rates = _order_by_labels("base_rates", base_rates, group_sizes, 0.5, (0, 1))
    limits = -math.inf, math.inf
    shifts = _order_by_labels("score_shifts", score_shifts, group_sizes, 0.0, limits)

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
    """Return the log-odds of y = 1 of each row, 0 if no attribute has rates."""
    if not rates:
        return np.zeros(len(next(iter(codes.values()))))
    levels = {name: shares[name] @ logit(rate) for name, rate in rates.items()}
    deviations = [
        (logit(rate) - levels[name])[codes[name]] for name, rate in rates.items()
    ]
    return np.mean(list(levels.values())) + np.sum(deviations, axis=0)


def _order_by_labels(
    argument: str,
    setting: Setting | None,
    group_sizes: Setting,
    default: float,
    limits: tuple[float, float],
) -> Values:
    """Sort the values of a setting by label, for each attribute."""
    values: Values = {}
    _check_nested(argument, {} if setting is None else setting)
    for name, numbers in (setting or {}).items():
        if name not in group_sizes:
            raise ValueError(
                f"{argument} has the unknown attribute {name!r}, expected one of "
                f"{list(group_sizes)}, the attributes of group_sizes."
            )
        for label, value in numbers.items():
            if label not in group_sizes[name]:
                raise ValueError(
                    f"{argument}[{name!r}] has the unknown label {label!r}, expected "
                    f"one of {list(group_sizes[name])}, the labels in group_sizes."
                )
            where = f"{argument}[{name!r}][{label!r}]"
            check_real(where, value, *limits, closed="neither")
        values[name] = np.array(
            [numbers.get(label, default) for label in group_sizes[name]], dtype=float
        )
    return values


def _check_nested(argument: str, setting: Any) -> None:
    """Raise unless a setting maps attributes to mappings of labels to numbers."""
    if not isinstance(setting, Mapping):
        raise TypeError(
            f"{argument} must be a mapping of attribute to a mapping of label to "
            f"number, got {type(setting).__name__}."
        )
    for name, numbers in setting.items():
        if not isinstance(numbers, Mapping):
            raise TypeError(
                f"{argument}[{name!r}] must be a mapping of label to number, got "
                f"{type(numbers).__name__}."
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


def make_biased_scores(
    n_samples: int | Sequence[int] = 20000,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Draw the scores of a model that prefers group 1 to group 0.

    This is the simulation of [1]_, section 4.4.1: scores of group 0 follow a gamma
    distribution of shape 4 and scale 1/11, those of group 1 a normal
    distribution of mean 0.55 and standard deviation 0.1, both truncated to [0, 1].
    The L1 distance of the two densities, which MADD estimates, is 1.195. Labels are
    drawn with the score as their probability: the scores are calibrated in both
    groups.

    Parameters
    ----------
    n_samples : int or pair of int, default=20000
        How many rows in all, half of them (rounded down) in group 0; or the sizes of
        group 0 and group 1.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible output.

    Returns
    -------
    y_true : ndarray of shape (n_samples,)
        Labels, 0 or 1.
    y_score : ndarray of shape (n_samples,)
        Scores in [0, 1].
    sensitive_features : ndarray of shape (n_samples,)
        Groups, 0 or 1. Rows are in random order.

    Raises
    ------
    ValueError
        If a group would be empty, or `n_samples` is neither an int nor two.

    See Also
    --------
    make_biased_classification : Features and labels to train on.

    Notes
    -----
    Equation 9 of [1]_ evaluates the density of N(0.55, 1) at ten times the score. The
    distance of 1.19 that the paper reports belongs to N(0.55, 0.1), which is used here.
    Taken literally, the equation puts group 1 near 0, at a distance of 1.43.

    References
    ----------
    .. [1] Verger M., Fan C., Lalle S., Bouchet F., Luengo V. (2024). A Comprehensive
       Study on Evaluating and Mitigating Algorithmic Unfairness with the MADD Metric.
       Journal of Educational Data Mining 16(1).

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> y_score.shape
    (1000,)
    >>> bool(y_score[group == 1].mean() > y_score[group == 0].mean())
    True
    """
    sizes = _group_sizes(n_samples)
    random = check_random_state(random_state)
    groups = random.permutation(np.repeat([0, 1], sizes))
    y_score = np.empty(len(groups))
    for group, distribution in enumerate(DISTRIBUTIONS):
        low, high = distribution.cdf([0, 1])
        quantiles = random.uniform(low, high, size=sizes[group])
        # A quantile may come back from its probability a rounding error outside.
        y_score[groups == group] = np.clip(distribution.ppf(quantiles), 0, 1)
    y_true = random.uniform(size=len(groups)) < y_score
    return y_true.astype(np.int64), y_score, groups.astype(np.int64)


def _group_sizes(n_samples: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(n_samples, Integral):
        sizes: Any = (n_samples // 2, n_samples - n_samples // 2)
    else:
        sizes = n_samples
    whole = np.shape(sizes) == (2,) and all(isinstance(n, Integral) for n in sizes)
    if not whole or min(sizes) < 1 or max(sizes) > np.iinfo(np.intp).max:
        raise ValueError(
            "n_samples must be an int of at least 2, or a pair of ints of at least 1, "
            f"got {shown(n_samples)}."
        )
    return int(sizes[0]), int(sizes[1])
