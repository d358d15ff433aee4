"""A classifier trained on fair scores, by weights of both labels of each row."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from skfair._comparison import Comparison, compare_classifiers, warn_of_comparison
from skfair._mitigation import (
    MIN_ROWS,
    ROUTED,
    FitInputs,
    MetaMitigator,
    as_table,
    check_fit_inputs,
    features_to_predict,
    fit_all,
    make_splits,
    most_groups,
    route_fit_params,
    weight_keyword,
)
from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._validation import count_rows
from skfair._utils._warnings import warn_user
from skfair.groups import Selector
from skfair.model_selection._folds import Split, hold_out, params_of_rows
from skfair.postprocessing._group_prediction import (
    check_parameters,
    copy_with,
    predict_held_out,
)
from skfair.postprocessing._score_map import StrengthMaps

#: Share of the rows that is set aside for the comparison. With a sixth, the scores of
#: the others came from fewer rows, and the model kept less of the average precision.
_SHARE_SET_ASIDE = 0.1
#: Most folds of the classifier of the group, if `cv` is a number. With three the area
#: in `any_tables.py` is larger by .004 (standard error .005).
_MOST_GROUP_FOLDS = 2
_REMEDY = "Choose a smaller strength, or an estimator that follows fair scores"


def _estimator_has(method: str) -> Any:
    """Check for `available_if` whether the wrapped classifier has a method."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


def _can_compare(rows: Rows) -> bool:
    """Return whether both classes, and two groups, have rows with weight."""
    rows = rows[rows.weights > 0]
    return len(np.unique(rows.y_true)) == 2 and most_groups(rows) >= 2


class MCDPReweighter(
    MetaMitigator,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Classifier trained on scores that have similar distributions in all groups.

    It computes fair scores of the training rows, as `UnawarePostProcessor` does, and
    fits `estimator` once to reproduce them: to every row twice, with the second class
    and the weight q, and with the first class and the weight 1 - q, where q is the fair
    score of the row. The result is one ordinary classifier, which needs no groups and
    no second model at prediction.

    Fair scores approximate the smallest value of

    .. math::
        \frac{1}{N} \sum_i \ell(q_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    with the log-loss :math:`\ell` and the CDFs F of the groups' scores.

    Groups are needed in `fit` only. A column of X that `sensitive_features` names is a
    feature as well, unless `drop_sensitive` is True: then predictions use the group.

    Parameters
    ----------
    estimator : classifier
        A binary classifier with `predict_proba` whose `fit` takes `sample_weight`, or a
        pipeline that ends with one.
    strength : float or "auto", default="auto"
        Weight of the gap, at least 0; 0 is the plain classifier. :math:`\lambda` is
        `strength` times :math:`4 \pi (1 - \pi)`, with the share :math:`\pi` of rows of
        the second class: for rare positives the log-loss is small, and the same
        `strength` has about the same effect. ``"auto"`` chooses by what the fair scores
        of 20 strengths reach on held-out rows, as in `UnawarePostProcessor`.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True. In a meta-estimator
        that leaves columns out, such as `BaggingClassifier`, a position names another
        column: route the groups there.
    drop_sensitive : bool, default=False
        Whether the columns named by `sensitive_features` are dropped from the features.
        X may then lack them in prediction.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared, several columns
        for their intersection, or a function of X that returns the strata. Strata given
        to `fit` take precedence. None compares groups among all rows. A column stays a
        feature.
    random_state : int, RandomState instance or None, default=None
        Draws the rows set aside, and shuffles the others before they are assigned to
        folds. None draws the same rows each time, and keeps the order of the others.
    group_estimator : classifier, default=None
        Classifier with `predict_proba` that predicts the group from the same features.
        It is fitted to the positions of the groups in `groups_`. In a
        :class:`~sklearn.frozen.FrozenEstimator` its classes must be the groups. None is
        a clone of `estimator`.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. With an int, a tenth of the rows is set aside for the
        comparison, and the other rows form that many folds, stratified by class and
        group; `group_estimator` gets no more than two folds. Otherwise the first test
        part is set aside, and its rows are left out of the other parts.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    verbose : int, default=0
        Whether to print, on the standard error stream, which fit is done.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    sample_weight_ : ndarray of shape (n_samples, 2)
        The weights it was fitted with: of each row with the first and with the second
        of `classes_`, times the weights given to `fit`. 0 for rows that were never held
        out.
    strength_ : float
        The strength, given or chosen.
    path_ : dict of ndarray
        What the fair scores of each strength reach on held-out rows, apart from those
        set aside: for ``"auto"`` all strengths tried, else 0 and `strength`. It has the
        columns of the
        ``cv_results_`` of a search, with the metrics ``average_precision`` and
        ``neg_mcdp``, as in `UnawarePostProcessor`. Empty if no groups are given.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any), with standard
        errors, on the rows set aside: of a classifier fitted to the fair scores of the
        other rows, and of the plain classifier fitted to the same rows. None if no
        groups are given, if there are fewer than 200 rows, and, with a warning, if no
        rows can be set aside.
    groups_ : tuple of length n_groups
        Labels of the groups; empty if no groups are given.
    strata_ : tuple of length n_strata
        Labels of the strata within which groups are compared; empty without
        `control_features`.
    classes_ : ndarray of shape (2,)
        Classes. Scores are probabilities of the second class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    Warns
    -----
    skfair.exceptions.MitigationWarning
        In `fit`, if the rows set aside show no gain.

    See Also
    --------
    skfair.postprocessing.UnawarePostProcessor : Predicts the fair scores themselves.
    MCDPBoostingClassifier : A penalty in the training of LightGBM and XGBoost.
    DiffMCDPClassifier : A penalty in the training of a neural network.
    skfair.metrics.mcdp : The metric that becomes small.

    Notes
    -----
    A row that has both labels, with weights q and 1 - q, has the smallest expected
    log-loss at the score q. So the classifier approaches the fair scores as far as its
    class of models allows: a logistic regression follows them only where they are
    nearly linear. The fair score of a row is computed from predictions by classifiers
    that were not fitted to the row, so that the classifier learns what holds for new
    rows.

    Without metadata routing, the last step of a pipeline gets the weights, as
    ``clf__sample_weight``; so does the last step of a nested pipeline. With routing,
    call ``set_fit_request(sample_weight=True)`` on the last step. All steps see every
    row twice, which matters for parameters that count rows, such as `min_samples_leaf`.

    Costs: with ``cv=5`` five fits of `estimator` and two of `group_estimator`, the
    plain fit, one fit for the comparison, and one for each strength. The fits for
    comparison and strengths see every row twice.

    The rows set aside do not influence the classifiers of the other rows, their fair
    scores, the map or the strength: a booster would otherwise recover the labels of the
    rows set aside from the fair scores of similar rows. Only `estimator_` is also
    fitted to them, with fair scores by the same map.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.inprocessing import MCDPReweighter
    >>> from skfair.metrics import mcdp
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> model = MCDPReweighter(LogisticRegression(), strength=2.0)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> def gap(model):
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(model) < 0.15
    True

    Another strength costs one fit:

    >>> gap(model.with_strength(0, X)) > 0.3
    True

    Equal opportunity at every threshold is a small gap among the positives:

    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y, "positive", None), missing="drop")
    >>> model = model.set_params(strength=0.5)
    >>> model = model.fit(X, y, sensitive_features=sex, control_features=positives)
    >>> model.strata_
    ('positive',)
    """

    __metadata_request__fit: ClassVar = ROUTED

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float | Literal["auto"] = "auto",
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: int | np.random.RandomState | None = None,
        group_estimator: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.group_estimator = group_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit both models on folds, and the classifier to the fair scores of its rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that both models take.
        y : array-like of shape (n_samples,)
            Class of each row, one of two.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` count in the loss only.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. The gap is then the mean of the gaps within strata, by
            the weight of their rows. It takes precedence over the parameter of the same
            name. The true label is a stratum, too; rows without a
            stratum in a `Groups` count in the loss only, see the example.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows in the map and in the fits of models;
            pipelines pass them to their last step.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it if metadata
            routing is enabled; `groups` to a splitter that is `cv`. Values with
            n_samples entries are indexed like the rows.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If y does not have two classes, if lengths differ, if fewer than two groups
            have weight, if a class has fewer rows than there are folds, and if a
            parameter is out of range.
        TypeError
            If a classifier has no `predict_proba`, or `estimator` takes no weights.

        Warns
        -----
        UserWarning
            If no groups are given and `strength` is not 0: the plain model is fitted.
            If strata or groups cannot be compared, and are left out of the gap.
        skfair.exceptions.MitigationWarning
            If the rows set aside show no gain.
        """
        check_parameters(self)
        weight_keyword(self.estimator)
        X = as_table(X)
        validate_data(self, X, y, skip_check_array=True)
        inputs = check_fit_inputs(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            estimator=self.estimator,
            stratum_selector=self.control_features,
            warns_without_groups=self.strength != 0,
        )
        self.classes_, self.groups_ = inputs.classes, inputs.rows.labels
        self.strata_, self._dropped = inputs.strata, inputs.dropped
        self._all_rows = inputs.rows
        routed = _route(self, sensitive_features, fit_params, inputs.rows.weight)
        params = routed.estimator.fit
        if not inputs.rows.labels:
            self.strength_, self.path_ = 0.0, dict[str, NDArray[Any]]()
            fitted = fit_plain(self, inputs.X, params)
        else:
            tasks = Tasks(self)
            splits = split_with_rows_aside(self, inputs, routed)
            predicted = predict_held_out(
                self,
                inputs,
                routed,
                splits=splits.for_estimator,
                group_splits=splits.for_groups,
                tasks=tasks,
                n_last_fits=1 + splits.sets_aside,
            )
            self._set_aside = (predicted.rows.fold == 0) & splits.sets_aside
            self._held_out, self._q_held_out = predicted.rows, predicted.q
            others = ~self._set_aside
            maps = StrengthMaps("average_precision")
            self._maps = maps.fit(predicted.rows[others], predicted.q[others])
            self.strength_, self.path_ = maps.choose(self.strength)
            fitted = fit_to_fair_scores(self, inputs.X, params, tasks.done)
            tasks.end()
        self.estimator_, self.sample_weight_, self.comparison_ = fitted
        return self

    def with_strength(
        self, strength: float | Literal["auto"], X: Any, **fit_params: Any
    ) -> Self:
        """Copy of the fitted model with another strength.

        `estimator` is fitted once more, and once without the rows set aside.

        Parameters
        ----------
        strength : float or "auto"
            As the parameter of the same name.
        X : array-like of shape (n_samples, n_features)
            The training data given to `fit`, rows in the same order.
        **fit_params : dict
            Those given to `fit`.

        Returns
        -------
        MCDPReweighter
            Fitted. This model stays as it is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If the strength is out of range, if X has other rows than in `fit`, or if
            `fit` was given no groups.

        Warns
        -----
        skfair.exceptions.MitigationWarning
            As in `fit`.
        """
        model = copy_with(self, strength=strength)
        if count_rows(X) != len(self._all_rows):
            raise ValueError(
                f"X has n_samples={count_rows(X)}, expected the "
                f"{len(self._all_rows)} rows given to fit."
            )
        X = features_to_predict(self, X)
        params = _route(model, None, fit_params, self._all_rows.weight).estimator.fit
        model.strength_, model.path_ = self._maps.choose(strength)
        fitted = fit_to_fair_scores(model, X, params)
        model.estimator_, model.sample_weight_, model.comparison_ = fitted
        return model

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes with the fitted classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = features_to_predict(self, X)
        return np.asarray(self.estimator_.predict(X))

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = features_to_predict(self, X)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision function of the fitted classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = features_to_predict(self, X)
        return np.asarray(self.estimator_.decision_function(X))


def _route(
    mitigator: MCDPReweighter,
    sensitive_features: ArrayLike | None,
    fit_params: dict[str, Any],
    weights: NDArray[Any] | None,
) -> Bunch:
    """Route the metadata passed to `fit`; the classifier also gets the weights."""
    routed = route_fit_params(
        mitigator, sensitive_features, fit_params, cv=mitigator.cv
    )
    if weights is not None:
        keyword = weight_keyword(mitigator.estimator)
        routed.estimator.fit = {**routed.estimator.fit, keyword: weights}
    return routed


class Fitted(NamedTuple):
    """A fitted classifier, weights of each row for both labels, and the comparison."""

    estimator: Any
    sample_weight: Floats
    comparison: Comparison | None


def fit_plain(mitigator: MCDPReweighter, X: Any, params: dict[str, Any]) -> Fitted:
    """Fit the classifier to all rows as they are."""
    rows = mitigator._all_rows
    target = mitigator.classes_[rows.y_true]
    weights = np.column_stack([1 - rows.y_true, rows.y_true]) * rows.weights[:, None]
    return Fitted(fit_all(mitigator.estimator, X, target, params), weights, None)


def fit_to_fair_scores(
    mitigator: MCDPReweighter,
    X: Any,
    params: dict[str, Any],
    done: Callable[[str], None] = lambda name: None,
) -> Fitted:
    """Fit to fair scores of held-out rows, and compare on the rows set aside.

    The fair scores of the rows set aside come from the map that was fitted to the other
    rows. `done` is called after each fit.
    """
    rows, aside = mitigator._held_out, mitigator._set_aside
    tested, strength = rows[aside], mitigator.strength_
    scores = tested.y_pred
    if not strength:
        fitted = fit_plain(mitigator, X, params)
    else:
        fair = mitigator._maps(rows.y_pred, mitigator._q_held_out, strength).clip(0, 1)
        weights = np.zeros((len(mitigator._all_rows), 2))
        weights[rows.position] = np.column_stack([1 - fair, fair])
        weights[rows.position] *= rows.weights[:, None]
        model = _fit_twice(mitigator, X, rows.position, weights, params)
        done("fit to fair scores")
        fitted = Fitted(model, weights, None)
        if len(tested):
            others = rows.position[~aside]
            model = _fit_twice(mitigator, X, others, weights, params)
            done("fit to fair scores")
            scores = model.predict_proba(take_rows(X, tested.position))[:, 1]
    if not len(tested):
        return fitted
    comparison = compare_classifiers(tested, tested.y_pred, scores)
    if mitigator.strength != 0:
        warn_of_comparison(mitigator, comparison, _REMEDY)
    return fitted._replace(comparison=comparison)


def _fit_twice(
    mitigator: MCDPReweighter,
    X: Any,
    positions: Integers,
    weights: Floats,
    params: dict[str, Any],
) -> Any:
    """Fit one clone to all rows twice: with each label, by the weights of the label."""
    twice = np.tile(positions, 2)
    params = params_of_rows(params, twice, len(weights))
    params[weight_keyword(mitigator.estimator)] = weights[positions].T.ravel()
    y = np.repeat(mitigator.classes_, len(positions))
    return clone(mitigator.estimator).fit(take_rows(X, twice), y, **params)


class Splits(NamedTuple):
    """Splits for the model of the class, and for the model of the group.

    If rows are set aside, the first split holds them out.
    """

    for_estimator: list[Split]
    for_groups: list[Split]
    sets_aside: bool


def split_with_rows_aside(
    mitigator: MCDPReweighter, inputs: FitInputs, routed: Bunch
) -> Splits:
    """Set rows aside, and split the others into folds.

    The model of the first split is fitted to all other rows and predicts the rows set
    aside. The fitted reweighter is compared with this model.
    """
    rows, target = inputs.rows, inputs.target
    all_rows = np.arange(len(rows))
    if isinstance(mitigator.cv, Integral):
        aside = _draw_rows_aside(mitigator, rows)
        others = np.setdiff1d(all_rows, aside)
        y, codes = target[others], rows.groups.codes[others]
        splits, group_splits = (
            [
                (others[train], others[test])
                for train, test in make_splits(mitigator, None, y, codes, {}, most)
            ]
            for most in (None, _MOST_GROUP_FOLDS)
        )
    else:
        splits = make_splits(
            mitigator,
            inputs.X,
            target,
            cells=rows.groups.codes,
            for_split=routed.splitter.split,
        )
        # A splitter may return masks.
        splits = [(all_rows[train], all_rows[test]) for train, test in splits]
        aside = _first_test_part(mitigator, rows, splits)
        if len(aside):
            splits = [_without(split, aside) for split in splits[1:]]
        group_splits = splits
    if not len(aside):
        return Splits(splits, group_splits, False)
    others = np.setdiff1d(all_rows, aside)
    (train, test), *rest = group_splits
    group_splits = [(train, np.append(test, aside)), *rest]
    return Splits([(others, aside), *splits], group_splits, True)


def _draw_rows_aside(mitigator: MCDPReweighter, rows: Rows) -> Integers:
    """Draw rows to set aside; none if rows are few, or cannot be compared."""
    nothing = np.arange(0)
    if np.count_nonzero(rows.weights) < MIN_ROWS:
        return nothing
    seed = 0 if mitigator.random_state is None else mitigator.random_state
    try:
        aside = hold_out(rows, _SHARE_SET_ASIDE, check_random_state(seed))[1]
    except ValueError:  # a class has a single row, of which folds will say more
        aside = nothing
    others = np.setdiff1d(np.arange(len(rows)), aside)
    smallest_class = np.bincount(rows.y_true[others], minlength=2).min()
    if _can_compare(rows[aside]) and smallest_class >= mitigator.cv:
        return aside
    _warn_of_no_comparison(
        mitigator,
        "a tenth of the rows would have a single class or group, or leave too few of a "
        "class",
    )
    return nothing


def _first_test_part(
    mitigator: MCDPReweighter, rows: Rows, splits: list[Split]
) -> Integers:
    """Return the first test part of `cv`; no rows if they are too few to compare."""
    aside = splits[0][1]
    nothing = aside[:0]
    if np.count_nonzero(rows.weights) < MIN_ROWS:
        return nothing
    others = [_without(split, aside) for split in splits[1:]]
    several = [
        len(np.unique(values[train])) > 1
        for train, _ in others
        for values in (rows.y_true, rows.groups.codes)
    ]
    if others and all(several) and _can_compare(rows[aside]):
        return aside
    _warn_of_no_comparison(
        mitigator,
        "the first test part of cv, or training parts without it, have a single class "
        "or group",
    )
    return nothing


def _without(split: Split, positions: Integers) -> Split:
    """Leave some rows out of both parts of a split."""
    train, test = split
    return np.setdiff1d(train, positions), np.setdiff1d(test, positions)


def _warn_of_no_comparison(mitigator: MCDPReweighter, reason: str) -> None:
    """Warn that no comparison is made, and say why."""
    warn_user(
        f"{type(mitigator).__name__} sets no rows aside, and comparison_ is None: "
        f"{reason}."
    )
