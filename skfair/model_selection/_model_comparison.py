"""Several models beside a baseline: which of them serve as well and divide less."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score

from skfair._utils._arrays import Floats, Integers
from skfair._utils._text import shown
from skfair._utils._validation import (
    as_array,
    check_no_missing,
    check_numbers,
    check_real,
    check_shape,
    check_weights,
    distinct_labels,
)
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import Groups, resolve_groups
from skfair.metrics import mcdp
from skfair.model_selection._paired_tests import (
    N_PLACES,
    Model,
    PairedTest,
    Place,
    changes_by_a_row,
    gap_test,
    holm,
    largest_gap_place,
    performance_test,
    random_parts,
    subsets,
    worst_loss,
)


def models_table(
    models: Mapping[Any, Model],
    groups: Groups,
    classes: Integers,
    weights: Floats,
    *,
    place: Place | None,
    margin: float,
    level: float,
) -> pd.DataFrame:
    """Test every model against the first one; the table of `compare_models`.

    Without the place of the first model's gap it is found on a quarter of the rows, and
    gaps are tested on the others.
    """
    weighted = np.flatnonzero(weights > 0)
    grouped = weighted[groups.codes[weighted] >= 0]
    each = subsets([weighted[part] for part in random_parts(classes[weighted])])
    baseline = next(iter(models.values()))
    options: dict[str, Any] = {"sensitive_features": groups, "sample_weight": weights}
    gaps, values = [], []
    for model in models.values():
        gaps.append(mcdp(None, model.scores, scale="rank", **options))
        values.append(np.array([model.performance(rows, rows) for rows in each]))
    if place is None and not math.isnan(gaps[0]):
        cells = groups.codes[grouped].astype(np.intp)
        finding, *others = random_parts(cells, N_PLACES)
        quarter = grouped[finding]
        place = largest_gap_place(
            baseline.scores[quarter], groups.codes[quarter], weights[quarter]
        )
        grouped = grouped[np.sort(np.concatenate(others))]
    rows = []
    for model, performance, gap in zip(models.values(), values, gaps, strict=True):
        changes = changes_by_a_row(model, classes, weights, weighted)
        if model is baseline:
            of_baseline = changes
        worst = float(worst_loss(changes, of_baseline)[0])
        as_good = performance_test(performance, values[0], worst, margin, level)
        fairer = PairedTest(math.nan, math.nan)
        if place is not None and not math.isnan(gap):
            of_rows = groups.codes[grouped], weights[grouped]
            both = model.scores[grouped], baseline.scores[grouped]
            fairer = gap_test(*both, place, *of_rows, level)
        rows.append(
            {
                "performance": performance[0],
                "disparity": gap,
                "performance_difference": performance[0] - values[0][0],
                "performance_lower": as_good.bound,
                "disparity_difference": gap - gaps[0],
                "disparity_upper": fairer.bound,
                "performance_pvalue": as_good.pvalue,
                "disparity_pvalue": fairer.pvalue,
                "pvalue": np.maximum(as_good.pvalue, fairer.pvalue),
            }
        )
    table = pd.DataFrame(rows, list(models))
    # Nothing is said of the baseline beside itself.
    table.iloc[0, 2:] = math.nan
    table["adjusted_pvalue"] = math.nan
    table.iloc[1:, -1] = holm(table["pvalue"].to_numpy()[1:])
    table["confirmed"] = table["adjusted_pvalue"] <= 1 - level
    return table


def _check_two_labels(y_true: NDArray[Any]) -> None:
    """Raise unless average precision takes one of two labels as the positive one."""
    labels = distinct_labels(y_true, "y_true").tolist()
    if len(labels) != 2 or not any(set(labels) == {other, 1} for other in (0, -1)):
        raise ValueError(
            "y_true must hold 0 and 1, or -1 and 1, for average precision, got "
            f"{labels[:5]}. Pass y_true == the positive label, or a metric."
        )


def _read_scores(y_score: Any, baseline: Any, n_rows: int) -> dict[Hashable, Floats]:
    """Scores of all models by their labels, those of the baseline first."""
    if not isinstance(y_score, Mapping) and not hasattr(y_score, "columns"):
        raise TypeError(
            "y_score must be a mapping of labels to scores, or a DataFrame, got a "
            f"{type(y_score).__name__}."
        )
    labels = list(getattr(y_score, "columns", y_score))
    has_baseline = isinstance(baseline, Hashable) and baseline in labels
    if len(labels) < 2 or not has_baseline:
        raise ValueError(
            "y_score must have the scores of the baseline and of other models, got "
            f"{labels[:5]} and baseline={shown(baseline)}."
        )
    ordered = [baseline, *(label for label in labels if label != baseline)]
    return {
        label: check_numbers(as_array(y_score[label], str(label), n_rows), str(label))
        for label in ordered
    }


@warns_if_reordered
def compare_models(
    y_true: ArrayLike,
    y_score: Mapping[Any, ArrayLike] | pd.DataFrame,
    *,
    baseline: Hashable,
    sensitive_features: Any,
    margin: float,
    metric: Callable[..., float] | None = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> pd.DataFrame:
    """Test which models have a lower MCDP than a baseline and perform as well.

    Each model must pass two tests on the same rows: its performance is lower than the
    baseline's by at most `margin`, and its MCDP(0) is lower. Holm's method corrects for
    the number of models, so that all confirmed statements are true together with the
    probability `confidence_level`. No model may have been fitted to these rows, nor
    chosen by them.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, as `metric` takes them; 0 and 1, or -1 and 1, by default.
    y_score : mapping of labels to array-like of shape (n_samples,), or DataFrame
        Scores of each model, finite numbers of which `mcdp` compares the order. Of
        decisions, 0 or 1, MCDP(0) is the demographic parity difference.
    baseline : label
        Which of the models the others are compared with.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row. Rows of no group count in the performance only.
    margin : float
        Performance that may be lost, at least 0, in the unit of `metric`.
    metric : callable, default=None
        ``metric(y_true, y_score)`` that returns a performance, larger for better; with
        a keyword `sample_weight` if that is given. None is
        :func:`sklearn.metrics.average_precision_score`.
    confidence_level : float in (0, 1), default=0.95
        Probability that all confirmed statements are true together.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    DataFrame
        One row for each model, the baseline first. ``performance`` and ``disparity``;
        their differences from the baseline's, ``performance_difference`` and
        ``disparity_difference``; ``performance_lower`` and ``disparity_upper``, the
        one-sided bounds of these at `confidence_level`, each for one model alone;
        ``performance_pvalue`` and ``disparity_pvalue``; ``pvalue``, the larger of the
        two; ``adjusted_pvalue``, by Holm's method; and ``confirmed``.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If there are fewer than two models or none is the baseline, on lengths that
        differ, on other labels than `metric` takes, and on parameters out of range.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared: then nothing is confirmed.

    See Also
    --------
    LessDiscriminatorySearchCV : Searches for such models, too.

    Notes
    -----
    A difference of performances has the error of a paired jackknife that leaves out one
    of 30 parts of the rows at a time. Models that differ in few rows may differ in more
    rows of the population, and worse. So one row is added in which the baseline is as
    right and the other model as wrong as the true labels and the responses of these
    rows allow, and all rows have uncertain weights, uniform on the simplex: Gaffke's
    bound [2]_, computed from three moments, which of hits and misses is that of Clopper
    and Pearson. Where two models agree in all of n rows, a loss of accuracy of 3 / n is
    just excluded at the level .95. A performance without a bound, such as a log loss,
    may fall further than these rows show. Gaps have the same bounds, of each group, as
    in melded intervals [3]_.

    MCDP is the largest of many gaps, which noise pushes up, the more so the smaller it
    is: the difference of two such values is no basis for a test. Here the baseline's
    gap is measured at the score where a random quarter of the rows finds it, on the
    other rows; there it is at most its MCDP. The candidate's MCDP is lower than that if
    its gap is at every score and between every two groups. Each is a paired comparison
    of shares, and all of them must be significant: an intersection-union test, whose
    level is at most that of each (``benchmarks/less_discriminatory.py``). It is
    conservative where the candidate's gap is about the same at many scores, and where
    groups are small.

    References
    ----------
    .. [1] Berger. "Multiparameter Hypothesis Testing and Acceptance Sampling".
       Technometrics 24(4), 1982. Intersection-union tests.
    .. [2] Gaffke. "Three Test Statistics for a Nonparametric One-Sided Hypothesis on
       the Mean of a Nonnegative Variable". Mathematical Methods of Statistics 14(4),
       2005.
    .. [3] Fay, Proschan, Brittain. "Combining One-Sample Confidence Procedures for
       Inference in the Two-Sample Case". Biometrics 71(1), 2015.
    .. [4] Holm. "A Simple Sequentially Rejective Multiple Test Procedure".
       Scandinavian Journal of Statistics 6(2), 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.model_selection import compare_models
    >>> rng = np.random.default_rng(0)
    >>> y, man = rng.integers(0, 2, (2, 2000))
    >>> merit = y + rng.normal(size=2000)
    >>> table = compare_models(
    ...     y,
    ...     {"old": merit + man, "new": merit + 0.2 * man, "noise": rng.random(2000)},
    ...     baseline="old",
    ...     sensitive_features=np.where(man, "M", "F"),
    ...     margin=0.02,
    ... )
    >>> table["confirmed"]
    old      False
    new       True
    noise    False
    Name: confirmed, dtype: bool
    >>> table.loc[table["confirmed"], "disparity"].idxmin()
    'new'
    """
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    margin = check_real("margin", margin, 0, math.inf, closed="left")
    y = as_array(y_true, "y_true")
    check_shape(y, "y_true")
    check_no_missing(y, "y_true")
    if metric is None:
        metric = average_precision_score
        _check_two_labels(y)
    elif not callable(metric) or hasattr(metric, "_score_func"):
        raise TypeError(
            "metric must be a function of y_true and y_score, such as "
            f"sklearn.metrics.average_precision_score, got {shown(metric)}."
        )
    scores = _read_scores(y_score, baseline, len(y))
    groups = resolve_groups(sensitive_features, n_samples=len(y))
    weights = check_weights(sample_weight, len(y))
    n_rows = len(y) if weights is None else np.count_nonzero(weights)
    if n_rows < 2:
        raise ValueError(f"y_true must have two rows with a weight, got {n_rows}.")

    def measure(own: Floats, labelled: Integers, rows: Integers) -> float:
        options = {} if weights is None else {"sample_weight": weights[labelled]}
        return float(metric(y[labelled], own[rows], **options))

    models = {
        label: Model(partial(measure, own), own, own) for label, own in scores.items()
    }
    return models_table(
        models,
        groups,
        np.unique(y, return_inverse=True)[1],
        np.ones(len(y)) if weights is None else weights.astype(np.float64),
        place=None,
        margin=margin,
        level=level,
    )
