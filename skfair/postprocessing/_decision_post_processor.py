"""A classifier whose decisions are fair, for any number of classes and groups."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison, warn_of_comparison
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
    mean_of_folds,
    predict_folds,
    route_fit_params,
    tip_to_drop,
    weights_for,
)
from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._text import listed
from skfair._utils._validation import check_choice, check_flag, check_real
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import Selector, encode_groups, resolve_groups
from skfair.model_selection._folds import Split, fit_to_rows
from skfair.postprocessing._decision_rules import (
    FEW_HELD_OUT_ROWS,
    FINAL_MODEL,
    Constraint,
    DecisionRules,
)

_REMEDY = (
    "Look at path_, give more rows, or use a classifier whose probabilities differ "
    "more from row to row"
)


class DecisionPostProcessor(
    PredictsByGroup,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Classifier whose decisions have similar rates, or similar errors, in all groups.

    It takes any number of classes: approve, refer or decline; a diagnosis; a grade. A
    classifier is fitted to all rows, and on folds, where it predicts the probability
    :math:`p_k` of each class for the rows that are held out. The decision is the class
    with the largest

    .. math::
        p_k(x) - \\sum_c \\lambda_{ck} \\, r_c(x),

    where the :math:`r_c` say how much a row counts in the rates of each group. The
    multipliers :math:`\\lambda` are the solution of one convex problem, whose size does
    not depend on the number of rows: the smallest expected loss of accuracy at which
    the rates of groups differ by no more than a limit. Nothing is drawn at random:
    people with the same features, and the same group if it is used, get the same
    decision.

    Parameters
    ----------
    estimator : classifier
        A classifier with `predict_proba`. In a :class:`~sklearn.frozen.FrozenEstimator`
        it is not fitted again, and the multipliers are fitted to the rows given to
        `fit`, on which it must not have been trained.
    constraint : {"demographic_parity", "true_positive_rate", "equalized_odds"}, \
default="demographic_parity"
        What is similar in all groups: the share of each decision; the share of right
        decisions among the rows of a class (equal opportunity: of the second of two
        classes, of each class where there are more); or the share of each decision
        among the rows of each class.
    max_difference : float in [0, 1], default=0.05
        Largest difference of these shares between two groups, in new rows. On held-out
        rows, the difference of the decisions chosen plus its standard error is at most
        this limit. There is a warning where no such decisions are found.
    uses_group : bool, default=False
        Whether decisions may depend on the group of the row. True needs the group in
        prediction, and loses less accuracy: people with the same features get different
        decisions by their group, which the law may forbid. False needs the groups in
        `fit` only, and infers from the features which group a row may belong to.
    cost : array-like of shape (n_classes, n_classes), default=None
        Cost of each decision (column) for each true class (row), in the order of
        `classes_`. None counts errors.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to a method take precedence.
        A column is also a feature, unless `drop_sensitive` is True. In a meta-estimator
        that leaves columns out, such as `BaggingClassifier`, a position names another
        column: route the groups there.
    drop_sensitive : bool, default=False
        Whether classifiers get X without the columns that `sensitive_features` names.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds. None keeps their order.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all rows.
    group_estimator_ : classifier or None
        The classifier of the group, fitted to all rows that have one; None with
        ``uses_group=True``.
    path_ : dict of ndarray
        Decisions from the plain ones to the most similar rates, by the limit of the
        convex problem. It has the columns of the ``cv_results_`` of a search, with the
        metrics ``accuracy`` (``neg_cost`` with `cost`) and ``neg_difference`` on the
        held-out rows, so that `skfair.inspection.TradeOffDisplay.from_cv_results` and
        the rules of `skfair.model_selection` read it, and ``difference_error``. Empty
        if no groups are given; only the plain decisions if no two groups have enough
        rows.
    comparison_ : Comparison or None
        Accuracy (minus the mean cost, with `cost`) and difference of the decisions and
        of the plain ones on held-out rows; for equalized odds also `skfair.metrics.dcp`
        by ``method="local"``, the smallest share of people whose exclusion makes the
        errors of all groups alike. The standard error of the difference is that of the
        new decisions. None if no groups are given.
    groups_ : tuple of length n_groups
        Labels of the groups; empty if no groups are given.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    Warns
    -----
    skfair.exceptions.MitigationWarning
        In `fit`, if held-out rows do not show that `max_difference` is kept, and if a
        group of at most 30 of them (of a class, if errors are compared) is left out of
        the difference. With ``uses_group=True``, people of a group that is left
        out altogether get the plain decision.

    See Also
    --------
    UnawarePostProcessor : Fair scores of two classes, for every threshold at once.
    MADDPostProcessor : Repairs scores by the group of each row predicted.
    skfair.metrics.dcp : How unequal the errors of several classes are.

    Notes
    -----
    With shares :math:`P` of groups and classes, let :math:`r_g = P(g \\mid x) / P(g)`
    for demographic parity, and :math:`r_{gj} = P(g, j \\mid x) / P(g, j)` for errors.
    Probabilities given x come from logistic regressions on the logarithms of predicted
    probabilities of held-out rows. With the group, :math:`P(g \\mid x)` is 0 or 1, and
    the class is predicted within each group; a group with fewer than 20 rows for each
    coefficient keeps its predicted probabilities. Without the group, a clone of the
    classifier predicts it, and :math:`P(g, j \\mid x) = p_j(x) P(g \\mid j, x)`. Here
    the group is predicted again among the rows of class j (for parity, among all rows),
    from the probabilities of classes and groups.

    A pair of groups a and b is compared by a multiplier :math:`\\mu_{ab} \\ge 0`, which
    adds to :math:`\\lambda_a` and is taken from :math:`\\lambda_b`. These minimise

    .. math::
        E \\max_k \\left( p_k - \\sum_c \\lambda_{ck} r_c \\right)
        + d \\sum \\mu,

    whose maximum is smoothed less and less. The constraint is met in expectation under
    these probabilities. So limits d from the plain difference down to a fiftieth of it
    are tried; problems are solved for six limits, and multipliers between them are
    interpolated. Without the group, and for up to eight rates of errors (two in each
    group for equalized odds of two classes), each of the six solutions corrects what
    the previous one misses on held-out rows, as predicted groups are off and rows have
    noise: a miss e with the standard error s is corrected by :math:`e^3 / (e^2 + s^2)`.
    With more than 20 groups, each group is compared with everyone, at half the limit.

    Decisions are measured on held-out rows. Where many rows share a score, the final
    model may decide for all of them as no model of a fold does. So a change is added to
    the rates and the accuracy: the values of the final model minus those of the model
    of a fold, in rows to which both were fitted.

    The largest difference on these rows is not the one to expect of new rows, for two
    reasons. Noise enlarges the largest of several differences, which is subtracted. The
    multipliers have fitted some of the noise, which these rows therefore do not show,
    and which is added. A jackknife over five parts of the rows estimates the share of
    the noise that is fitted. Rules fitted without a part also differ from each other:
    the excess of their average largest difference over that of their average rates is
    added. The standard error is the deviation of the largest difference under normal
    errors of all rates, whose variances include the variance between these rules.

    The rule is chosen among those whose limit is at most `max_difference`, and whose
    difference is below `max_difference` by its standard error: the one with the highest
    accuracy is taken. If there is none, the rule with the smallest sum of difference
    and standard error is taken; there is a warning unless its difference is below
    `max_difference` by a fifth of its standard error. No decision is changed where the
    plain rates of no two groups differ by more than noise (studentized differences of
    all pairs, at a level of 5 %), and where the plain difference is below
    `max_difference` by its standard error.

    Equal errors often require that people with nearly the same score get different
    decisions. Late decimals of a row's probabilities decide which decision it gets:
    they move its scores by a hundredth or two.

    The new decisions have no probabilities: scores that a rule by group has moved do
    not estimate the probability of a class. `decision_function` returns the scores.

    References
    ----------
    .. [1] Xian, Zhao. "A Unified Post-Processing Framework for Group Fairness in
       Classification". 2024. Linear post-processing.
    .. [2] Denis, Elie, Hebiri, Hu. "Fairness guarantees in multi-class classification
       with demographic parity". Journal of Machine Learning Research 25, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.postprocessing import DecisionPostProcessor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1500)
    >>> X = rng.normal(size=(1500, 2)) + [[0, 1]] * sex[:, None]
    >>> y = np.digitize(X.sum(axis=1) + rng.normal(size=1500), [0, 1.5])
    >>> model = DecisionPostProcessor(LogisticRegression(), max_difference=0.05)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> found = model.comparison_
    >>> found.baseline["difference"] > 0.2, found.mitigated["difference"] <= 0.05
    (True, True)
    >>> other = model.with_difference(0.1).comparison_  # fitted once
    >>> other.mitigated["difference"] <= 0.1
    True
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}
    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__decision_function: ClassVar = {"sensitive_features": True}
    estimator_: Any
    group_estimator_: Any

    def __init__(
        self,
        estimator: Any,
        *,
        constraint: Constraint = "demographic_parity",
        max_difference: float = 0.05,
        uses_group: bool = False,
        cost: ArrayLike | None = None,
        cv: Any = 5,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.max_difference = max_difference
        self.uses_group = uses_group
        self.cost = cost
        self.cv = cv
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.random_state = random_state
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
        """Fit classifiers, on folds too, and the multipliers to the rows held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the classifier takes.
        y : array-like of shape (n_samples,)
            Class of each row, of two or more.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` are used to fit the classifier only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, also in the fits of classifiers that take
            them; pipelines pass them to their last step.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it if metadata
            routing is enabled; `groups` to a splitter that is `cv`. Values with
            n_samples entries are indexed like the rows.

        Returns
        -------
        self : DecisionPostProcessor

        Raises
        ------
        ValueError
            If y has one class, if lengths differ, if fewer than two groups have weight,
            if a class has fewer rows than there are folds, and if a parameter is out of
            range.
        TypeError
            If the classifier has no `predict_proba`.

        Warns
        -----
        UserWarning
            If no groups are given: the decisions are the plain ones.
        skfair.exceptions.MitigationWarning
            As the class says.
        """
        self._check_parameters()
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
            several_classes=True,
            without_groups="no decision changes",
        )
        rows = inputs.rows
        self.classes_, self.groups_ = inputs.classes, rows.labels
        self._dropped = inputs.dropped
        shape = len(self.groups_), len(self.classes_)
        rules = DecisionRules(self.constraint, self.cost, self.uses_group, shape)
        routed = route_fit_params(
            self, sensitive_features, fit_params, rows.weight, cv=self.cv
        )
        self._rules, self._chosen, self.path_ = rules, 0, dict[str, Any]()
        self.comparison_: Comparison | None = None
        if not self.groups_:
            params = routed.estimator.fit
            self.estimator_ = fit_all(self.estimator, inputs.X, inputs.target, params)
            self.group_estimator_ = None
            return self
        tasks, splits = Tasks(self), list[Split]()
        if not (isinstance(self.estimator, FrozenEstimator) and self.uses_group):
            splits = make_splits(
                self,
                inputs.X,
                inputs.target,
                cells=rows.groups.codes,
                for_split=routed.splitter.split,
            )
        counts = rules.effective_rows(_rows_held_out(rows, splits))
        compared = rules.groups_to_compare(counts)
        _warn_of_few_rows(self, counts)
        fitted = _fit_classifiers(self, inputs, routed, splits, compared, tasks)
        self.estimator_ = fitted.class_models[FINAL_MODEL]
        self.group_estimator_ = None
        if fitted.group_models:
            self.group_estimator_ = fitted.group_models[FINAL_MODEL]
        rules.fit(fitted.held_out, compared, fitted.predict_training_rows)
        self.path_, self._chosen = rules.table, rules.choose(self.max_difference)
        self.comparison_ = _compare(self)
        tasks.end()
        return self

    def with_difference(self, max_difference: float) -> Self:
        """Copy of the fitted model with another largest difference.

        Nothing is fitted again: another point of `path_` is chosen.

        Parameters
        ----------
        max_difference : float in [0, 1]
            As the parameter of the same name.

        Returns
        -------
        DecisionPostProcessor
            Fitted. It shares the fitted classifiers with this one, which stays as it
            is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If `max_difference` is out of range, or `fit` was given no groups.

        Warns
        -----
        skfair.exceptions.MitigationWarning
            If held-out rows do not show that the difference is kept.
        """
        check_is_fitted(self, "estimator_")
        if not self.groups_:
            raise ValueError(f"max_difference={max_difference!r} needs groups in fit.")
        model = copy.copy(self)
        model.max_difference = max_difference
        model._check_parameters()
        model._chosen = self._rules.choose(max_difference)
        model.comparison_ = _compare(model)
        return model

    def decision_function(
        self, X: Any, *, sensitive_features: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Compute the adjusted score of each class, the largest of which decides.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, if ``uses_group=True``; else it is ignored. Rows without
            a group in a `Groups` get the plain decision.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of the second less that of the first.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If ``uses_group=True`` and there are no groups, or unknown ones.
        """
        scores = self._adjusted_scores(X, sensitive_features)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(
        self, X: Any, *, sensitive_features: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Decide for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            As `decision_function`.
        """
        scores = self._adjusted_scores(X, sensitive_features)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _adjusted_scores(self, X: Any, sensitive_features: ArrayLike | None) -> Floats:
        """Return the score of each class, adjusted by the chosen rule."""
        features, classes = features_to_predict(self, X), self.classes_.tolist()
        predicted = label_probabilities(self.estimator_, features, classes)
        codes: NDArray[np.integer] = np.zeros(len(predicted), dtype=np.intp)
        needed = self.uses_group or sensitive_features is not None
        if self.groups_ and needed:
            column = groups_to_predict(self, X, sensitive_features)
            groups = resolve_groups(column, n_samples=len(predicted))
            if self.uses_group:
                codes = encode_groups(groups, labels=self.groups_).codes
        if not self._chosen:
            return self._rules.baseline_scores(predicted)
        if not self.uses_group:
            labels, model = list(range(len(self.groups_))), self.group_estimator_
            q = label_probabilities(model, features, labels)
            predicted = np.hstack([predicted, q])
        return self._rules(predicted, codes, self._chosen)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_estimator(self)
        check_choice("constraint", self.constraint, get_args(Constraint))
        check_real("max_difference", self.max_difference, 0, 1)
        check_flag("uses_group", self.uses_group)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def _compare(model: DecisionPostProcessor) -> Comparison:
    """Compare the chosen rule with the plain decisions; warn if the limit is missed."""
    rules, limit = model._rules, model.max_difference
    comparison = rules.compare(model._chosen)
    if rules.groups_compared.any() and not rules.shows(model._chosen, limit):
        problem = f"max_difference={limit:g} is not shown to be kept"
        warn_of_comparison(model, comparison, _REMEDY, problem)
    return comparison


def _rows_held_out(rows: Rows, splits: list[Split]) -> Rows:
    """Return the held-out rows that have a group; without splits, all that have one."""
    held_out = np.full(len(rows), not splits)
    for _, test in splits:
        held_out[test] = True
    return rows[held_out].grouped()


def _warn_of_few_rows(model: DecisionPostProcessor, counts: Floats) -> None:
    """Name the groups that are left out of the difference for too few held-out rows.

    `counts` are the effective numbers of rows, by group and set of rows.
    """
    rules = model._rules
    few = rules.has_few_rows(counts)
    if not few.any():
        return
    by_class = len(rules.decisions_compared) > 1
    left_out = [
        f"{model.groups_[group]!r} with {counts[group, label]:.0f} rows"
        + (f" of class {model.classes_[label]}" if by_class else "")
        for group, label in np.argwhere(few)
    ]
    any_compared = rules.groups_to_compare(counts).any()
    warn_user(
        f"{type(model).__name__}: groups of at most {FEW_HELD_OUT_ROWS} held-out "
        f"rows{' of a class' * by_class} are left out of the difference, as their "
        f"rates are not known well enough: {listed(left_out)}."
        + ("" if any_compared else " So no decision is changed."),
        MitigationWarning,
    )


class FittedClassifiers(NamedTuple):
    """Classifiers of the class and of the group, and what they predict.

    The models of the folds come first, and the models of all rows last, at
    `FINAL_MODEL`; `group_models` is empty where nothing predicts the group. The models
    at one position were fitted to the rows at `training_positions` there. `held_out`
    are the rows on which rules are compared; their `y_pred` has the probability of each
    class and group.
    """

    inputs: FitInputs
    class_models: list[Any]
    group_models: list[Any]
    training_positions: list[Integers]
    held_out: Rows

    def predict_training_rows(self, fold: int) -> Rows:
        """Return the training rows of a fold's models, as these models predict them."""
        rows = self.inputs.rows[self.training_positions[fold]].grouped()
        X = take_rows(self.inputs.X, rows.position)
        labels = self.inputs.classes.tolist()
        predicted = label_probabilities(self.class_models[fold], X, labels)
        if self.group_models:
            labels = list(range(rows.n_groups))
            q = label_probabilities(self.group_models[fold], X, labels)
            predicted = np.hstack([predicted, q])
        return replace(rows, y_pred=predicted)


def _fit_classifiers(
    model: DecisionPostProcessor,
    inputs: FitInputs,
    routed: Bunch,
    splits: list[Split],
    groups_compared: NDArray[np.bool_],
    tasks: Tasks,
) -> FittedClassifiers:
    """Fit the classifiers to all rows, and on folds to predict the rows held out."""
    rows, positions = inputs.rows, np.arange(len(inputs.rows))
    estimator, params = model.estimator, routed.estimator.fit
    is_frozen = isinstance(estimator, FrozenEstimator)
    predicts_group = not model.uses_group and bool(groups_compared.any())
    tasks.begin((1 + predicts_group - is_frozen) * (len(splits) + 1))
    group_models: list[Any] = []
    with tip_to_drop(model, inputs.X, estimator):
        class_models, predicted = _fit_on_folds(
            model,
            inputs,
            estimator,
            inputs.target,
            labels=inputs.classes.tolist(),
            splits=splits,
            params=params,
            tasks=tasks,
        )
        if predicts_group:
            if is_frozen or not get_config()["enable_metadata_routing"]:
                estimator = estimator.estimator if is_frozen else estimator
                params = weights_for(estimator, rows.weight)
            # Nothing is asked of a group that is left out: it is not predicted.
            codes, known = rows.groups.codes, np.asarray(groups_compared.any(axis=1))
            codes = np.where(known[codes] & (codes >= 0), codes, -1)
            group_models, q = _fit_on_folds(
                model,
                inputs,
                estimator,
                codes,
                labels=list(range(rows.n_groups)),
                splits=splits,
                params=params,
                tasks=tasks,
            )
            predicted = np.hstack([predicted, q])
    fold = np.zeros(len(rows), dtype=np.intp)
    for number, (_, test) in reversed(list(enumerate(splits))):
        fold[test] = number
    held_out = replace(rows, y_pred=predicted, fold=fold).grouped()
    return FittedClassifiers(
        inputs,
        class_models,
        group_models,
        [*(positions[train] for train, _ in splits), positions],
        held_out[np.isfinite(held_out.y_pred).all(axis=1)],
    )


def _fit_on_folds(
    model: DecisionPostProcessor,
    inputs: FitInputs,
    estimator: Any,
    target: NDArray[Any],
    labels: list[Any],
    splits: list[Split],
    params: dict[str, Any],
    tasks: Tasks,
) -> tuple[list[Any], Floats]:
    """Fit a clone on each fold and one to all rows; predict labels of rows held out.

    A frozen estimator is not fitted again: it is returned in place of each model.
    """
    models, held_out = predict_folds(
        estimator,
        inputs.X,
        inputs.rows,
        target,
        labels=labels,
        splits=splits,
        fit_params=params,
        n_jobs=model.n_jobs,
        done=tasks.done,
    )
    predicted = mean_of_folds(held_out, len(inputs.rows))
    if isinstance(estimator, FrozenEstimator):
        return [estimator] * (len(splits) + 1), predicted
    positions = np.flatnonzero(np.isin(target, labels))
    final = fit_to_rows(clone(estimator), inputs.X, target, positions, params)
    tasks.done("all rows")
    return [*models, final], predicted
