"""Displays of predictions: from arrays, an estimator or the rows it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from skfair._pictures._display import Display
from skfair._utils._arrays import Floats, Integers
from skfair._utils._response import (
    RANKED_METHODS,
    check_fitted,
    find_score_method,
    respond,
    tip_for_unknown_columns,
)
from skfair._utils._text import label_text, listed
from skfair._utils._validation import (
    AnyScale,
    Scale,
    check_choice,
    check_integer,
    count_rows,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import (
    CROSS,
    Groups,
    labels_and_groups,
    resolve_groups,
    resolve_strata,
)
from skfair.metrics import permutation_test
from skfair.metrics._abcc import ABCC
from skfair.metrics._as_metric import as_metric
from skfair.metrics._undefined import why_undefined
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions


class PredictionsDisplay(Display):
    """Base of the displays of scores that ``from_predictions`` makes."""

    from_predictions: ClassVar[Callable[..., Any]]
    #: Whether true labels are compared, of which one is positive.
    _compares_labels: ClassVar[bool] = False

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: ArrayLike | None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the predictions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier or regressor. Scores are its `predict_proba` for the
            positive class, by default the second of two; with ``scale="rank"`` or
            ``scale="real"`` also its `decision_function`, or its `predict` if it is not
            a classifier. Groups and strata that are given beside X are passed to its
            methods if these take them.
        X : array-like of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,), default=None
            True labels, where the display compares predictions with them.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable
            Group of each row, or the columns of X that hold it: a str, an int, a
            callable of X, or a list of str or int whose length is not n_samples.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable, default=None
            Stratum of each row, likewise.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        name : str, default=None
            Name of the model, its class name by default; of a pipeline, that of its
            last step.
        **options : dict
            Other keywords of `from_predictions`, such as `ax`.

        Returns
        -------
        Display
            An instance of this class.

        Raises
        ------
        ImportError, sklearn.exceptions.NotFittedError
            Without matplotlib, or with an estimator that is not fitted.
        ValueError
            As in `from_predictions`; also if the estimator is not a binary classifier
            with the method that is needed, or X lacks a named column.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skfair.datasets import make_biased_classification
        >>> from skfair.inspection import CDFGapDisplay
        >>> X, y = make_biased_classification(
        ...     group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
        ... )
        >>> model = LogisticRegression().fit(X, y)
        >>> display = CDFGapDisplay.from_estimator(model, X, sensitive_features="sex")
        >>> display.ax_.get_title()
        'LogisticRegression'
        """
        check_fitted(estimator)
        columns = sensitive_features, control_features, sample_weight
        return cls._draw_models([(estimator, None)], X, y, *columns, name, options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: dict[str, Any],
        X: Any,
        y: Any = None,
        *,
        sensitive_features: ArrayLike | None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the held-out rows of a cross-validation, all folds together.

        Each row is predicted by the model that was not fitted to it.

        Parameters
        ----------
        cv_results : dict
            Result of :func:`sklearn.model_selection.cross_validate` with
            ``return_estimator=True`` and ``return_indices=True``. Each row is held out
            at most once.
        X : array-like of shape (n_samples, n_features)
            Input values, those of the cross-validation.
        y : array-like of shape (n_samples,), default=None
            True labels, where the display compares predictions with them.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable
            Group of each row, or the columns of X that hold it, as in
            `from_estimator`.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), str, int, list of str, list of int, or callable, default=None
            Stratum of each row, likewise.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        name : str, default=None
            Name of the model, its class name by default.
        **options : dict
            Other keywords of `from_predictions`, such as `ax`.

        Returns
        -------
        Display
            An instance of this class.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            As in `from_estimator`; also if `cv_results` lacks the estimators or the
            indices, if X has another number of rows than were split, and if a row is
            held out several times.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.model_selection import cross_validate
        >>> from skfair.datasets import make_biased_classification
        >>> from skfair.inspection import CDFGapDisplay
        >>> X, y = make_biased_classification(
        ...     group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
        ... )
        >>> cv_results = cross_validate(
        ...     LogisticRegression(), X, y, return_estimator=True, return_indices=True
        ... )
        >>> display = CDFGapDisplay.from_cv_results(
        ...     cv_results, X, sensitive_features="sex"
        ... )
        >>> int(display.counts.sum())
        1000
        """
        models = _fold_models(cv_results, count_rows(X))
        columns = sensitive_features, control_features, sample_weight
        return cls._draw_models(models, X, y, *columns, name, options)

    @classmethod
    def _draw_models(
        cls,
        models: Sequence[tuple[Any, Integers | None]],
        X: Any,
        y: ArrayLike,
        sensitive_features: ArrayLike | None,
        control_features: ArrayLike | None,
        sample_weight: ArrayLike | None,
        name: str | None,
        options: dict[str, Any],
    ) -> Self:
        """Draw the responses of each model to its rows of X; None means all rows."""
        warn_if_reordered(X=X, y=y)
        estimator = models[0][0]
        classes: Any = getattr(estimator, "classes_", ())
        if cls._compares_labels and len(classes) == 2:
            options = {"pos_label": classes[1]} | options
        responses, groups, strata = predict_responses(
            models,
            X,
            sensitive_features,
            score_method(estimator, cls._scale(options)),
            options.get("pos_label"),
            control_features,
        )
        rows = models[0][1]
        if rows is not None:
            rows = np.concatenate([held_out for _, held_out in models])
        row_arguments = {"control_features": strata, "sample_weight": sample_weight}
        options |= {
            argument: _select_rows(values, rows)
            for argument, values in row_arguments.items()
            if values is not None
        }
        drawn: Self = cls.from_predictions(
            y if y is None else _select_rows(y, rows),
            responses,
            **options,
            sensitive_features=_select_rows(groups, rows),
            name=model_name(estimator) if name is None else name,
        )
        return drawn

    @classmethod
    def _scale(cls, options: dict[str, Any]) -> AnyScale:
        """Say which scores of an estimator are drawn."""
        scale: AnyScale = options.get("scale", "probability")
        return scale


def model_name(estimator: Any) -> str:
    """Return the class name of an estimator, or of the last step of a pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    return type(estimator).__name__


def _fold_models(cv_results: Any, n_samples: int) -> list[tuple[Any, Integers]]:
    """Return the fitted models of a cross-validation with their test rows."""
    if "estimator" not in cv_results or "indices" not in cv_results:
        raise ValueError(
            "cv_results must have the fitted estimators and the indices of their rows, "
            f"got {sorted(map(str, cv_results))}. Pass return_estimator=True and "
            "return_indices=True to cross_validate."
        )
    held_out = cv_results["indices"]["test"]
    n_split = len(held_out[0]) + len(cv_results["indices"]["train"][0])
    if n_split != n_samples:
        raise ValueError(
            f"X must have the {n_split} rows of the cross-validation, got {n_samples}."
        )
    rows = np.concatenate(held_out)
    if len(np.unique(rows)) < len(rows):
        raise ValueError(
            "cv_results must hold out each row at most once, got "
            f"{len(rows) - len(np.unique(rows))} repetitions. Draw the folds of one "
            "repetition."
        )
    return list(zip(cv_results["estimator"], held_out, strict=True))


def _select_rows(values: Any, rows: Integers | None) -> Any:
    """Return some rows of labels, groups or weights; None means all rows."""
    return values if rows is None else _safe_indexing(values, rows)


def predict_responses(
    models: Sequence[tuple[Any, Integers | None]],
    X: Any,
    sensitive_features: ArrayLike | None,
    method: str,
    pos_label: Hashable = None,
    control_features: ArrayLike | None = None,
) -> tuple[NDArray[Any], Groups, Groups | None]:
    """Return the responses of each model to its rows of X, and groups and strata.

    Groups and strata that are not columns of X are passed to the method if it takes
    them.
    """
    labels, selector, groups = labels_and_groups(resolve_groups, sensitive_features, X)
    beside, strata, parts = {"sensitive_features": labels}, None, []
    if control_features is not None:
        stratum_labels, _, strata = labels_and_groups(
            resolve_strata, control_features, X
        )
        beside["control_features"] = stratum_labels
    beside = {name: values for name, values in beside.items() if values is not None}
    for estimator, rows in models:
        with tip_for_unknown_columns(estimator, X, selector):
            metadata = {name: _select_rows(beside[name], rows) for name in beside}
            features = _select_rows(X, rows)
            parts.append(respond(estimator, method, features, pos_label, **metadata))
    return np.concatenate(parts), groups, strata


def score_method(estimator: Any, scale: AnyScale) -> str:
    """Return the method that gives one score for each row, or raise ValueError."""
    name = type(estimator).__name__
    ranked = scale in ("rank", "real")
    methods: Any = RANKED_METHODS if ranked else "predict_proba"
    method = find_score_method(estimator, methods)
    classes = list(getattr(estimator, "classes_", ()))
    if method != "predict" and classes and len(classes) != 2:
        raise ValueError(
            f"{name} must be a binary classifier, it was fitted on {len(classes)} "
            f"classes: {classes}. Pass the scores of one class to from_predictions; "
            "skfair.metrics.values_by_class says in which the gap is largest."
        )
    return method


#: True classes, scores, groups and weights of rows.
RowsToDraw: TypeAlias = tuple[Any, Any, Any, Any]


def select_stratum(
    metric: Any,
    rows: RowsToDraw,
    control_features: ArrayLike | None,
    name: str | None,
) -> tuple[RowsToDraw, str | None]:
    """Select the stratum with the largest value; return its rows and its name.

    Without strata, return `rows` and `name` unchanged. Raise ValueError if the groups
    can be compared in no stratum.
    """
    if control_features is None:
        return rows, name
    y_true, y_score, groups, weights = rows
    metric = as_metric(metric)
    table = metric.read(y_true, y_score, groups, control_features, weights)
    parts = metric.split(table)
    strata = parts.strata or []
    estimates = parts.evaluate_strata(metric.estimate_part, metric.join_estimates)
    compared = [i for i, estimate in enumerate(estimates) if estimate.defined]
    if parts.reason or not compared:
        pairs = zip(strata, estimates, strict=True)
        why = parts.reason or listed([f"{s.label!r} ({e.reason})" for s, e in pairs])
        raise ValueError(f"control_features leave nothing to compare: {why}.")
    parts.join(estimates, metric.join_estimates).warn()
    largest = strata[max(compared, key=lambda i: estimates[i].value)]
    assert table.strata is not None
    text = f"{CROSS.join(table.strata.names) or 'stratum'} {label_text(largest.label)}"
    part = table[largest.rows]
    columns = part.y_true, part.y_pred, largest.groups, part.weight
    return columns, text if name is None else f"{name}, {text}"


def prepare_scores(
    metric: Any,
    rows: RowsToDraw,
    control_features: ArrayLike | None,
    scale: AnyScale,
    name: str | None,
    scales: Any = Scale,
) -> tuple[Distributions, dict[str, Any]]:
    """Return the statistic of the stratum to draw, and fields of its display."""
    rows, name = select_stratum(metric, rows, control_features, name)
    statistic = tabulate_scores(*rows, scale, scales)
    fields = {
        "labels": statistic.labels,
        "counts": statistic.counts,
        "effective_sizes": statistic.effective_sizes,
        "sensitive_names": statistic.names,
        "scale": scale,
        "name": name,
    }
    return statistic, fields


def tabulate_scores(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    sensitive_features: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    scale: AnyScale = "probability",
    scales: Any = Scale,
) -> Distributions:
    """Return the groups' distributions; raise ValueError if they cannot be compared."""
    check_choice("scale", scale, get_args(scales))
    metric = ABCC(scale=scale)
    rows = y_true, y_score, sensitive_features, sample_weight
    statistic = metric.read_statistic(*rows)
    reason = why_undefined(statistic.labels, statistic.counts, statistic.min_group_size)
    if reason is not None:
        raise ValueError(f"sensitive_features leave nothing to compare: {reason}.")
    scaled: Distributions = metric.rescale(statistic)
    return scaled


def permute_metric(
    metric: Any,
    rows: RowsToDraw,
    n_permutations: Any,
    random_state: int | np.random.RandomState | None,
) -> Floats | None:
    """Return values of a metric of scores under random permutations of groups."""
    _, y_score, groups, weights = rows
    n_permutations = check_integer("n_permutations", n_permutations, 0)
    if not n_permutations:
        return None
    return permutation_test(
        metric,
        None,
        y_score,
        sensitive_features=groups,
        n_permutations=n_permutations,
        sample_weight=weights,
        random_state=random_state,
    ).null_distribution
