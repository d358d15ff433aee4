"""Classifier whose held-out scores teach a repair of any kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import validate_data

from skfair._comparison import Comparison, compare_classifiers, warn_of_comparison
from skfair._mitigation import (
    FitInputs,
    PredictsByGroup,
    as_table,
    check_estimator,
    check_fit_inputs,
    features_to_predict,
    fit_all,
    groups_to_predict,
    label_probabilities,
    make_splits,
    predict_targets,
    route_fit_params,
    tip_to_drop,
)
from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._response import decision_threshold
from skfair.groups import Codes, Groups, Selector, encode_groups, resolve_groups
from skfair.model_selection._folds import Split, assign_folds

#: Parts of the rows that a frozen classifier scored, each repaired by the others.
_N_PARTS = 5
_REMEDY = "Take another repair, or the classifier as it is"


class Repair(Protocol):
    """Map of scores by group."""

    def fit(self, rows: Rows) -> Any:
        """Learn from held-out rows."""

    def __call__(self, scores: Floats, groups: Codes) -> ArrayLike:
        """Repair scores; groups are positions in the labels of the rows of `fit`."""


class RepairedClassifier(
    PredictsByGroup,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Classifier whose scores are changed by a repair of one's own.

    It fits the repair to held-out scores, fits `estimator` to all rows, and repairs the
    predictions of the estimator. On the rows of each fold, a repair fitted to the other
    folds is compared with no repair.

    Predictions need the group of each row.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, for two classes. In a
        :class:`~sklearn.frozen.FrozenEstimator` it is not fitted again, and the repair
        is learnt on the rows given to `fit`, on which it must not have been trained.
    repair : object
        It has a method ``fit(rows)``. `rows` have the attributes `y_pred`, the scores,
        `y_true`, 0 or 1, `weights`, and `groups`, whose `codes` are positions in its
        `labels`; a fold may lack a group of few rows. Called with scores and the codes
        of their groups, it returns new scores in [0, 1]. It is copied before it is
        fitted.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several for their intersection, or a function of X
        that returns the groups. The keyword of `fit` and `predict` is used in its place
        if it is given.
    drop_sensitive : bool, default=False
        Whether `estimator` gets X without the columns named by `sensitive_features`.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds. None keeps their order.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        The classifier that is fitted to all rows.
    repair_ : object or None
        The repair that was taught by all held-out scores; None without groups.
    threshold_ : float
        Least score for which the second class is predicted, that of the classifier, as
        in `MADDPostProcessor`.
    comparison_ : Comparison or None
        Average precision and MCDP(0) of repaired and of plain scores on held-out rows,
        with standard errors; None without groups.
    groups_ : tuple of length n_groups
        Labels of the groups.
    classes_ : ndarray of shape (2,)
        Class labels. Scores are probabilities of the second.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if all are strings.

    Warns
    -----
    skfair.exceptions.MitigationWarning
        In `fit`, if held-out rows show no gain.

    See Also
    --------
    MADDPostProcessor : Repairs towards the distribution of everyone, to a given gap.
    ScoreRepairer : Its repair, of scores alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.postprocessing import RepairedClassifier
    >>> class EqualMeans:
    ...     def fit(self, rows):
    ...         codes, n_groups = rows.groups.codes, len(rows.groups.labels)
    ...         totals = np.bincount(codes, rows.weights, n_groups)
    ...         sums = np.bincount(codes, rows.weights * rows.y_pred, n_groups)
    ...         excess = sums - totals * sums.sum() / totals.sum()
    ...         self.shifts_ = -excess / np.where(totals > 0, totals, 1)
    ...         return self
    ...     def __call__(self, scores, groups):
    ...         return (scores + self.shifts_[groups]).clip(0, 1)
    >>> X, y = make_biased_classification(
    ...     4000, score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> model = RepairedClassifier(
    ...     LogisticRegression(),
    ...     EqualMeans(),
    ...     sensitive_features="group",
    ...     drop_sensitive=True,
    ... )
    >>> model.fit(X, y).comparison_.to_frame().round(2)
                       baseline  mitigated  difference  standard_error
    average_precision      0.90       0.92        0.02            0.00
    mcdp                   0.28       0.20       -0.07            0.02
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}
    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar = {"sensitive_features": True}

    def __init__(
        self,
        estimator: Any,
        repair: Any,
        *,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        random_state: int | np.random.RandomState | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.repair = repair
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.random_state = random_state
        self.cv = cv
        self.n_jobs = n_jobs

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the classifier, on folds too, and teach the repair the scores held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that `estimator` takes.
        y : array-like of shape (n_samples,)
            Class of each row, one of two.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the repair, and in the fit of an estimator that
            takes them.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it where metadata
            routing is enabled; `groups` to a splitter that is `cv`.

        Returns
        -------
        self : RepairedClassifier

        Raises
        ------
        ValueError
            If y does not have two classes, on wrong lengths, fewer than two groups, and
            fewer rows than folds; if the repair returns other than a number for each
            score.
        TypeError
            If the classifier has no `predict_proba`, or the repair no `fit` and call.

        Warns
        -----
        UserWarning
            If no groups are given: the classifier is then fitted without repair.
        skfair.exceptions.MitigationWarning
            If held-out rows show no gain.
        """
        check_estimator(self)
        if not (hasattr(self.repair, "fit") and callable(self.repair)):
            raise TypeError(
                f"repair must have fit and be callable, got {self.repair!r}."
            )
        X = as_table(X)
        validate_data(self, X, y, skip_check_array=True)
        inputs = check_fit_inputs(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            control_features=None,
            sample_weight=sample_weight,
            estimator=self.estimator,
            without_groups="nothing is repaired",
        )
        rows, target = inputs.rows, inputs.target
        self.classes_, self.groups_ = inputs.classes, rows.labels
        self._dropped = inputs.dropped
        routed = route_fit_params(
            self, sensitive_features, fit_params, rows.weight, cv=self.cv
        )
        params = routed.estimator.fit
        self.repair_, self.comparison_ = None, None
        tasks = Tasks(self)
        with tip_to_drop(self, X, self.estimator):
            if rows.labels:
                held_out = _score_held_out(self, inputs, routed, tasks)
                self.repair_ = clone(self.repair, safe=False).fit(held_out)
                self.comparison_ = _compare_folds(self, held_out)
            self.estimator_ = fit_all(self.estimator, inputs.X, target, params)
        self.threshold_ = decision_threshold([self.estimator_])
        tasks.end()
        return self

    def predict_proba(
        self, X: Any, *, sensitive_features: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predict repaired probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
            Rows without a group in a `Groups` keep their scores.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Repaired scores of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If no groups are given, on wrong lengths, and on groups that were absent in
            `fit`.
        """
        features, classes = features_to_predict(self, X), self.classes_.tolist()
        scores = label_probabilities(self.estimator_, features, classes)[:, 1]
        if self.repair_ is not None:
            labels = groups_to_predict(self, X, sensitive_features)
            groups = resolve_groups(labels, n_samples=len(scores))
            groups = encode_groups(groups, labels=self.groups_)
            scores = _repair(self.repair_, scores, groups)
        return np.column_stack([1 - scores, scores])

    def predict(
        self, X: Any, *, sensitive_features: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Predict classes: the second where its repaired score reaches `threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `predict_proba`.
        sensitive_features : object, default=None
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            As in `predict_proba`.
        """
        scores = self.predict_proba(X, sensitive_features=sensitive_features)[:, 1]
        return np.asarray(self.classes_[(scores >= self.threshold_).astype(np.intp)])


def _score_held_out(
    model: RepairedClassifier, inputs: FitInputs, routed: Any, tasks: Tasks
) -> Rows:
    """Score held-out rows that have a group and a weight, by models of folds."""
    splits = list[Split]()
    if not isinstance(model.estimator, FrozenEstimator):
        splits = make_splits(
            model,
            inputs.X,
            inputs.target,
            cells=inputs.rows.groups.codes,
            for_split=routed.splitter.split,
        )
    tasks.begin(len(splits))
    models, held_out = predict_targets(model, inputs, splits, routed, tasks)
    held_out = replace(held_out, y_pred=held_out.y_pred[:, 1]).grouped()
    if len(models) == 1:
        y, codes = held_out.y_true, held_out.groups.codes
        held_out = replace(held_out, fold=assign_folds(y, codes, _N_PARTS, None))
    return held_out


def _compare_folds(model: RepairedClassifier, rows: Rows) -> Comparison:
    """Compare repaired with plain scores of each fold; warn if no gain is shown."""
    repaired = np.array(rows.y_pred)
    for fold in np.unique(rows.fold):
        in_fold = rows.fold == fold
        repair = clone(model.repair, safe=False).fit(rows[~in_fold])
        repaired[in_fold] = _repair(repair, rows.y_pred[in_fold], rows.groups[in_fold])
    comparison = compare_classifiers(rows, rows.y_pred, repaired, cross_fitted=True)
    warn_of_comparison(model, comparison, _REMEDY)
    return comparison


def _repair(repair: Repair, scores: Floats, groups: Groups) -> Floats:
    """Repair the scores of rows that have a group; other scores stay."""
    known, repaired = groups.codes >= 0, np.array(scores)
    changed = np.asarray(repair(scores[known], groups.codes[known]), dtype=np.float64)
    if changed.shape != scores[known].shape:
        raise ValueError(
            f"repair returns an array of shape {changed.shape} for {known.sum()} "
            "scores, expected one score for each."
        )
    if not np.isfinite(changed).all():
        row = int(np.isfinite(changed).argmin())
        label = groups.labels[groups.codes[known][row]]
        raise ValueError(
            f"repair must return finite scores, got {changed[row]} for a row of the "
            f"group {label!r}. The rows that it learns from may lack a group of few "
            "rows: all groups are in `rows.groups.labels`."
        )
    repaired[known] = np.clip(changed, 0, 1)
    return repaired
