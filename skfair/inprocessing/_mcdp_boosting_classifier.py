"""Boosted trees trained for a small gap between groups, and their objective."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison, compare_classifiers, warn_of_comparison
from skfair._mitigation import (
    ROUTED,
    MetaMitigator,
    as_table,
    begin_fit,
    begin_predict,
    check_validation_fraction,
    hold_out_if_possible,
    route_fit_params,
    tip_to_drop,
    within_strata,
)
from skfair._penalty import Objective, PenalisedLoss, check_penalised_loss
from skfair._rows import Rows, take_rows, weights_in_rows
from skfair._utils._arrays import Floats, quotients
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._text import shown
from skfair._utils._validation import check_weights
from skfair.groups import Groups, Selector, encode_groups, resolve_strata
from skfair.model_selection._folds import params_of_rows

#: The gradient of the penalty is computed for every tree of so many: it changes slowly.
_INTERVAL = 2
#: Least share of the latest of these gradients in their running mean.
_MIN_SHARE = 0.5
_MIN_HESSIAN = 1e-6


class MCDPObjective:
    """Objective for gradient boosting: log-loss plus a penalty on the groups' gap.

    A boosting library calls it once for each tree, with the labels and the log-odds
    predicted so far, and gets the gradient and the Hessian by row of

    .. math::
        \\sum_i w_i \\, \\ell(p_i, y_i)
        + \\lambda \\sum_i w_i \\, \\max_{t, g, h} \\left| F_g(t) - F_h(t) \\right|

    with smooth CDFs F of the groups' scores. `MCDPBoostingClassifier` does the rest: it
    starts from the base rate, estimates the probabilities of the groups, and turns
    log-odds into probabilities.

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each training row, in the order of the training data, or a `Groups`,
        whose rows without a group count in the log-loss only.
    strength : float, default=0.3
        Weight of the gap, at least 0. :math:`\\lambda` is `strength` times
        :math:`4 \\pi (1 - \\pi)`, with the share :math:`\\pi` of rows with label 1.
    temperature : float, default=50.0
        Steepness of the sigmoids that smooth the CDFs, above 0.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap is penalised: the largest difference of the CDFs, the difference of
        the mean scores, or the area between the CDFs. With more than two groups, it is
        the largest over pairs of groups.
    group_probabilities : array-like of shape (n_samples, n_groups), default=None
        Probability of each group given the features of a row, by a classifier that was
        not fitted to this row, columns in the sorted order of the groups. Each row then
        counts in all groups, with these probabilities. On a few thousand rows trees
        otherwise learn which of their own training rows belong to which group, and the
        gap closes on the training rows only. With `control_features` also of shape
        (n_samples, n_strata, n_groups): each row then counts in all strata and groups,
        with the joint probabilities, whose sum is less than 1 if a row may be in none.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
or Groups, default=None
        Stratum of each training row. The gap is then the mean of the gaps within
        strata, by weight; rows without a stratum in a `Groups` count in the log-loss
        only.

    See Also
    --------
    MCDPBoostingClassifier : Classifier that is fitted with this objective.

    Notes
    -----
    With the penalty's gradient s in the log-odds of a row, the gradient is
    :math:`p - y + s` and the Hessian :math:`p (1 - p) + |s|`. s is a running mean
    over every second tree, so that signs that change from tree to tree cancel. The gap
    ``"mcdp"`` is that of rescaled scores, whose quartiles are those of uniform scores:
    smooth CDFs of scores that crowd near 0 would hide it.

    A fit begins when all predictions are equal: the running mean is then forgotten, and
    the penalty left out. Use one object for one set of rows.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMClassifier
    >>> from skfair.inprocessing import MCDPObjective
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2)) + [0, 1] * sex[:, None]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> objective = MCDPObjective(sex, strength=1.0)
    >>> model = LGBMClassifier(
    ...     n_estimators=10, objective=objective, n_jobs=1, verbose=-1
    ... )
    >>> model.fit(X, y).predict(X[:3], raw_score=True).shape  # log-odds
    (3,)
    """

    def __init__(
        self,
        sensitive_features: Any,
        *,
        strength: float = 0.3,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        group_probabilities: ArrayLike | None = None,
        control_features: Any = None,
    ) -> None:
        self.strength = strength
        self.temperature = temperature
        self.objective = objective
        self._loss = check_penalised_loss(self)
        groups = encode_groups(sensitive_features)
        strata = None
        if control_features is not None:
            strata = resolve_strata(control_features, n_samples=len(groups))
        groups, strata = within_strata(groups, strata)
        self._codes = groups.codes
        self._parts = _parts_of(groups, strata, group_probabilities)
        self._mean_gradient, self._n_trees = np.zeros(len(self._codes)), 0

    def __call__(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the gradient and the Hessian, as scikit-learn's interfaces want them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Label of each row, 0 or 1.
        y_pred : array-like of shape (n_samples,)
            Log-odds of class 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        gradient, hessian : ndarray of shape (n_samples,)
            Derivatives of the penalised loss in the log-odds of each row.

        Raises
        ------
        ValueError
            If the rows are not as many as the groups.
        """
        y, log_odds = np.asarray(y_true, float), np.asarray(y_pred, float)
        n_samples = len(self._codes)
        for name, values in (("y_true", y), ("y_pred", log_odds)):
            if values.shape != (n_samples,):
                raise ValueError(
                    f"{name} has the shape {values.shape}, expected ({n_samples},), a "
                    "number for each row of sensitive_features."
                )
        checked = check_weights(sample_weight, n_samples)
        weights = np.ones(n_samples) if checked is None else checked.astype(np.float64)
        p = expit(log_odds)
        loss = self._loss.for_labels(y, weights)
        penalty = self._update_mean(loss, log_odds, weights)
        # Where the penalty dominates, no tree moves log-odds by more than its rate.
        hessian = p * (1 - p)
        hessian += np.abs(penalty)
        np.maximum(hessian, _MIN_HESSIAN, out=hessian)
        gradient = p - y
        gradient += penalty
        if checked is None:
            return gradient, hessian
        return weights * gradient, weights * hessian

    def for_train(self, y_pred: Floats, dataset: Any) -> tuple[Floats, Floats]:
        """Return the same for `lightgbm.train` and `xgboost.train`.

        Parameters
        ----------
        y_pred : ndarray of shape (n_samples,)
            Log-odds of class 1.
        dataset : lightgbm.Dataset or xgboost.DMatrix
            The training data, with labels and weights.

        Returns
        -------
        gradient, hessian : ndarray of shape (n_samples,)
        """
        weights = dataset.get_weight()
        empty = weights is None or len(weights) == 0
        return self(dataset.get_label(), y_pred, None if empty else weights)

    def _update_mean(
        self, loss: PenalisedLoss, log_odds: Floats, weights: Floats
    ) -> Floats:
        """Return the running mean of the penalty's gradient, with that of now."""
        if np.ptp(log_odds) == 0:  # a fit begins; equal scores have no gap
            self._mean_gradient, self._n_trees = np.zeros(len(log_odds)), 0
            return self._mean_gradient
        if self._loss.strength and self._n_trees % _INTERVAL == 0:
            # The first gradient has a share of 1.
            share = max(2 / (self._n_trees // _INTERVAL + 2), _MIN_SHARE)
            latest = self._penalty_gradient(loss, log_odds, weights)
            self._mean_gradient += share * (latest - self._mean_gradient)
        self._n_trees += 1
        return self._mean_gradient

    def _penalty_gradient(
        self, loss: PenalisedLoss, log_odds: Floats, weights: Floats
    ) -> Floats:
        """Gradient of the penalty in the log-odds, for a weight of one."""
        rows, shares, strata, probabilities = self._parts
        part_weights = weights[rows] * shares
        loss = loss.rescaled(log_odds[rows], part_weights, strata)
        groups = self._codes if probabilities is None else probabilities
        gap = loss.gap(log_odds[rows], groups, part_weights, strata)
        slopes: Floats = loss.strength * part_weights.sum() * gap.gradient
        if isinstance(rows, slice):
            return slopes
        expected = np.bincount(rows, shares * slopes, len(log_odds))
        return np.asarray(expected * (weights.sum() / part_weights.sum()))


#: Rows, each of which may be in several strata with some share: positions (a slice if
#: all rows are in one stratum each), shares, codes of strata, and probabilities of the
#: groups of shape (n_groups, n_parts), None where each row belongs to its own group.
_Parts: TypeAlias = tuple[Any, Floats | float, Any, Floats | None]


def _parts_of(
    groups: Groups, strata: Groups | None, probabilities: ArrayLike | None
) -> _Parts:
    """Return all rows once, or once for each stratum they may be in."""
    n_samples, n_groups = len(groups), len(groups.labels)
    codes = None if strata is None else strata.codes
    if probabilities is None:
        return slice(None), 1.0, codes, None
    of_groups: Floats = np.asarray(probabilities, dtype=np.float64)
    if strata is None or of_groups.ndim != 3:
        checked = _check_probabilities(of_groups, (n_samples, n_groups))
        return slice(None), 1.0, codes, checked.T.copy()
    n_strata = len(strata.labels)
    joint = _check_probabilities(of_groups, (n_samples, n_strata, n_groups))
    shares = joint.sum(axis=2).T.ravel()
    rows = np.tile(np.arange(n_samples), n_strata)
    within = quotients(joint.transpose(2, 1, 0).reshape(n_groups, -1), shares)
    return rows, shares, np.repeat(np.arange(n_strata), n_samples), within


def _check_probabilities(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return the probabilities of the groups, one for each row and group.

    Those of strata and groups may sum to less than 1.
    """
    if values.shape != shape:
        raise ValueError(
            f"group_probabilities has the shape {values.shape}, expected "
            f"{shape}, one for each row and group."
        )
    sums = values.reshape(len(values), -1).sum(axis=1)
    at_most = "at most " if len(shape) == 3 else ""
    too_small = not at_most and sums.min() < 1 - 1e-6
    if too_small or sums.max() > 1 + 1e-6 or not (values >= 0).all():
        raise ValueError(
            f"group_probabilities must be non-negative and sum to {at_most}1 in each "
            f"row, got sums from {sums.min()} to {sums.max()}."
        )
    return values


#: With more groups, or fewer rows, the gradient takes the groups themselves: a
#: classifier of many groups has many trees, and half of few rows teach it nothing.
_MAX_GROUPS, _MIN_ROWS = 10, 100
#: Rows held out by default: a share of all, and a number that tells enough.
_SHARE_HELD_OUT, _MOST_HELD_OUT = 0.1, 500
_REMEDY = (
    "Choose a smaller strength, or smaller trees: they may have learned the groups of "
    "the training rows"
)


class MCDPBoostingClassifier(
    MetaMitigator,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Boosted trees whose scores have similar distributions in all groups.

    It fits a classifier of LightGBM or XGBoost once, with the gradient of

    .. math::
        \frac{1}{N} \sum_i \ell(p_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    where :math:`\ell` is the log-loss and F are smooth CDFs of the groups' scores.
    With `control_features` the gap is the mean of the gaps within strata: departments,
    or the true labels.

    Groups are given to `fit` only. Predictions depend on them where a column named by
    `sensitive_features` stays a feature.

    Parameters
    ----------
    estimator : LGBMClassifier or XGBClassifier
        The classifier, with the objective of the log-loss, which is its default. It
        takes categorical and missing features as its library does.
    strength : float, default=0.3
        Weight of the gap, at least 0; 0 is the plain classifier. :math:`\lambda` is
        `strength` times :math:`4 \pi (1 - \pi)`, with the share :math:`\pi` of rows of
        the second class, so that the same `strength` has about the same effect for rare
        positives.
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
        Random numbers for the rows held out, and for the halves by which probabilities
        of groups are estimated. `estimator` has a `random_state` of its own.
    validation_fraction : float in (0, 1), "auto" or None, default="auto"
        Share of the rows, stratified by group and class, that is held out from
        training. The plain classifier is fitted to the same rows, and both are compared
        on those held out. ``"auto"`` is a tenth of the rows, and at most 500 rows.
        With None, and of fewer than 200 rows, none are held out, and nothing is
        compared.
    temperature : float, default=50.0
        Steepness of the sigmoids that smooth the CDFs, above 0.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap is penalised: the largest difference of the CDFs, the difference of
        the mean scores, or the area between the CDFs. With more than two groups, it is
        the largest over pairs of groups.

    Attributes
    ----------
    estimator_ : LGBMClassifier or XGBClassifier
        The fitted classifier; it predicts the same probabilities.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any) of this and of
        the plain classifier on the rows held out, with standard errors. None if nothing
        is compared.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Importances of the features as `estimator` computes them; without those of
        sensitive columns that are dropped.
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

    See Also
    --------
    MCDPObjective : The objective alone, for `lightgbm.train` and `xgboost.train`.
    MCDPReweighter : Trains any classifier on fair scores.
    skfair.metrics.mcdp : The metric that becomes small.

    Notes
    -----
    Trees learn the expected gradient of the loss given the features. Of the penalty,
    whose gradient has opposite signs in two groups, this is the mean over groups with
    their probabilities given the features. These are estimated first, for each half of
    the rows by a clone of `estimator` fitted to the groups of the other half, and
    calibrated. A row's own group counts a tenth beside them. With the groups alone,
    trees would learn which of a few thousand training rows belong to which group, and
    close the gap of these rows only. With more
    than 10 groups or fewer than 100 rows it takes the groups themselves nevertheless.
    With `control_features` probabilities are those of stratum and group together, where
    there are at most 10 of these, so that the gap among positives is learnt from all
    rows; with more, those of the groups, and rows count in their own stratum.

    A fit takes as long as one of the plain classifier, two to the groups of half the
    rows, one that is compared with (none with ``validation_fraction=None``), and the
    gradients.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.

    Examples
    --------
    >>> from lightgbm import LGBMClassifier
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.inprocessing import MCDPBoostingClassifier
    >>> X, y = make_biased_classification(
    ...     2_000, base_rates={"group": {"a": 0.1, "b": 0.7}}, random_state=0
    ... )
    >>> model = MCDPBoostingClassifier(
    ...     LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1),
    ...     strength=3.0,
    ...     sensitive_features="group",
    ...     drop_sensitive=True,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> model.predict_proba(X).shape
    (2000, 2)
    >>> round(model.comparison_.difference["mcdp"], 2)
    -0.2

    Equal opportunity at every threshold is a small gap among the positives:

    >>> import numpy as np
    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y == 1, "positive", None), missing="drop")
    >>> model = model.set_params(strength=0.1, validation_fraction=None)
    >>> model = model.fit(X, y, control_features=positives)
    >>> model.strata_
    ('positive',)
    """

    __metadata_request__fit: ClassVar = ROUTED

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float = 0.3,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        validation_fraction: float | Literal["auto"] | None = "auto",
        temperature: float = 50.0,
        objective: Objective = "mcdp",
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.validation_fraction = validation_fraction
        self.temperature = temperature
        self.objective = objective

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that `estimator` takes.
        y : array-like of shape (n_samples,)
            Class of each row, one of two.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` count in the log-loss, and in the gap
            with the probabilities of their groups.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. The gap is then the mean of the gaps within strata, by
            the weight of their rows. It takes precedence over the parameter of the same
            name. The true label is a stratum, too; rows without a stratum in a `Groups`
            count in the log-loss only, see the example.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows in the log-loss and in the CDFs.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it if metadata
            routing is enabled. Values with n_samples entries are indexed like the rows.

        Returns
        -------
        self : MCDPBoostingClassifier

        Raises
        ------
        ValueError
            If y does not have two classes, if lengths differ, if fewer than two groups
            have weight (in every stratum), if a parameter is out of range, and if
            `estimator` has another objective or stops early by itself.
        TypeError
            If `estimator` is of another class.

        Warns
        -----
        UserWarning
            If strata, or groups, cannot be compared and are left out of the gap. If no
            groups are given and `strength` is not 0: the classifier is fitted
            without a penalty. If rows cannot be held out, since a part would have a
            single class or group.
        MitigationWarning
            If the rows held out show no gain: MCDP(0) is not lower than that of the
            plain classifier by half a standard error of the difference.
        """
        find_library(self.estimator)
        loss = check_penalised_loss(self)
        check_validation_fraction(self, automatic="auto")
        X = as_table(X)
        validate_data(self, X, y, skip_check_array=True)
        columns = X, y, sensitive_features, control_features, sample_weight
        given = begin_fit(self, *columns)
        self.classes_, self.groups_ = given.classes, given.rows.labels
        self.strata_, self._dropped = given.strata, given.dropped
        features, rows = given.X, given.rows
        params = route_fit_params(self, sensitive_features, fit_params).estimator.fit
        check_boosting(self.estimator, params)
        features = to_table(features)
        rng = check_random_state(self.random_state)
        train, held_out = np.flatnonzero(rows.weights), np.arange(0)
        penalised = bool(loss.strength and self.groups_)
        if penalised and self.validation_fraction is not None:
            share = self.validation_fraction
            if share == "auto":
                share = min(_SHARE_HELD_OUT, _MOST_HELD_OUT / len(train))
            parts = hold_out_if_possible(rows, float(share), rng)
            train, held_out = parts or (train, held_out)
        params = params_of_rows(params, train, len(rows))
        self.comparison_: Comparison | None = None
        train_on = take_rows(features, train), rows[train]
        with tip_to_drop(self, X):
            if not penalised:
                self.estimator_ = fit_plain(self.estimator, *train_on, params)
                return self
            tasks = Tasks(self)
            tasks.begin(3 if len(held_out) else 2)
            objective = self._make_objective(*train_on, params, rng)
            tasks.done("probabilities of groups")
            self.estimator_ = fit_penalised(
                self.estimator, *train_on, params, objective
            )
            tasks.done("fit")
            if len(held_out):
                plain = fit_plain(self.estimator, *train_on, params)
                tasks.done("plain fit")
                X_held_out = take_rows(features, held_out)
                self.comparison_ = compare_classifiers(
                    rows[held_out],
                    plain.predict_proba(X_held_out)[:, 1],
                    self.estimator_.predict_proba(X_held_out)[:, 1],
                )
                warn_of_comparison(self, self.comparison_, _REMEDY)
            tasks.end()
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

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
        second = self.predict_proba(X)[:, 1] > 0.5
        return np.asarray(self.classes_[second.astype(np.intp)])

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
        X = begin_predict(self, X)
        return np.asarray(self.estimator_.predict_proba(to_table(X)), dtype=np.float64)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importances of the features, as `estimator` computes them."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.feature_importances_)

    def _make_objective(
        self, X: Any, rows: Rows, params: dict[str, Any], rng: np.random.RandomState
    ) -> MCDPObjective:
        """Return the objective for the rows to train on."""
        groups, strata = within_strata(
            rows.groups, rows.strata, rows.weights, warn=False
        )
        fits = partial(
            group_probabilities, self.estimator, X, rows, params=params, rng=rng
        )
        n_cells = len(groups.labels) * (1 if strata is None else len(strata.labels))
        probabilities = None
        if len(rows) >= _MIN_ROWS and len(groups.labels) <= _MAX_GROUPS:
            if strata is None or n_cells > _MAX_GROUPS:
                probabilities = fits(groups.codes)
            else:
                probabilities = joint_probabilities(fits, groups, strata)
            probabilities = with_own_group(probabilities, groups.codes)
        return MCDPObjective(
            groups,
            strength=self.strength,
            temperature=self.temperature,
            objective=self.objective,
            group_probabilities=probabilities,
            control_features=strata,
        )


#: Parameters of `fit` that say from where trees start or when they stop.
_RESERVED = (
    *("eval_set", "eval_X", "eval_y", "eval_names", "eval_metric", "init_score"),
    *("eval_sample_weight", "eval_class_weight", "eval_init_score", "init_model"),
    *("base_margin", "xgb_model", "sample_weight_eval_set", "base_margin_eval_set"),
)
#: Values of parameters that go with a penalised loss, and what to do instead.
_ALLOWED: dict[str, tuple[tuple[Any, ...], str]] = {
    "objective": ((None, "binary", "binary:logistic"), "leave out"),
    "early_stopping_round": ((None, 0), "leave out"),
    "early_stopping_rounds": ((None, 0), "leave out"),
    "is_unbalance": ((None, False), "give sample_weight to fit and leave out"),
    "scale_pos_weight": ((None, 1), "give sample_weight to fit and leave out"),
    "boosting_type": (("gbdt", "dart"), "leave out"),
    "linear_tree": ((None, False), "leave out"),
}


def find_library(estimator: Any) -> Literal["lightgbm", "xgboost"]:
    """Return the library of a classifier, or raise if it is not one of the two."""
    # Whoever has an instance has imported its library.
    lightgbm, xgboost = sys.modules.get("lightgbm"), sys.modules.get("xgboost")
    if lightgbm is not None and isinstance(estimator, lightgbm.LGBMClassifier):
        return "lightgbm"
    if xgboost is not None and isinstance(estimator, xgboost.XGBClassifier):
        is_forest = isinstance(estimator, xgboost.XGBRFClassifier)
        if not is_forest:
            return "xgboost"
    raise TypeError(
        "estimator must be an LGBMClassifier or an XGBClassifier, neither frozen nor "
        f"in a pipeline, got {shown(estimator)}. MCDPBoostingClassifier can "
        "itself be a step of a pipeline; UnawarePostProcessor takes other classifiers."
    )


def check_boosting(estimator: Any, fit_params: dict[str, Any]) -> None:
    """Raise if parameters of an estimator, or of its `fit`, contradict the penalty."""
    params = estimator.get_params()
    for name, (values, advice) in _ALLOWED.items():
        value = params.get(name, values[0])
        if not isinstance(value, (str, float, int)) and value is not None:
            value = repr(value)  # a callable, for instance
        if value not in values:
            raise ValueError(
                f"estimator has {name}={value!r}, which the penalised loss does not "
                f"allow: {advice} {name}."
            )
    for name in _RESERVED:
        if fit_params.get(name) is not None:
            raise ValueError(
                f"fit takes no {name}: trees start from the base rate, and they do not "
                "stop early."
            )


def to_table(X: Any) -> Any:
    """Return X in a container that both libraries read in all places."""
    if issparse(X):
        return csr_matrix(X)  # LightGBM reads no sparse arrays
    return np.asarray(X) if isinstance(X, (list, tuple)) else X


def fit_plain(estimator: Any, X: Any, rows: Rows, params: dict[str, Any]) -> Any:
    """Fit a clone of a classifier as it is."""
    return clone(estimator).fit(X, rows.y_true, **_with_weights(params, rows))


def fit_penalised(
    estimator: Any, X: Any, rows: Rows, params: dict[str, Any], objective: Any
) -> Any:
    """Fit a clone of a classifier, to labels 0 and 1, with an objective of log-odds.

    Trees start from the base rate. The fitted classifier predicts probabilities.
    """
    base_rate = float(np.average(rows.y_true, weights=rows.weights))
    model = clone(estimator).set_params(objective=objective)
    unweighted, params = params, _with_weights(params, rows)
    if find_library(model) == "xgboost":
        if model.base_score is None:
            model.set_params(base_score=base_rate)
        model.fit(X, rows.y_true, **params)
        return model.set_params(objective=estimator.objective)
    start = float(logit(base_rate))
    params["init_score"] = np.full(len(rows), start)
    try:
        return _as_binary(model.fit(X, rows.y_true, **params), start)
    except sys.modules["lightgbm"].basic.LightGBMError as error:
        if "num_features" not in str(error):
            raise
        # No feature can be split, so scores are equal, and no gap is to be closed.
        return fit_plain(estimator, X, rows, unweighted)


def _with_weights(params: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """Parameters of `fit` with the weights of the rows, if there are any."""
    weighted = rows.weight is not None
    return params | ({"sample_weight": rows.weights} if weighted else {})


def _as_binary(model: Any, start: float) -> Any:
    """Make a model with an objective of its own predict as one of the log-loss.

    LightGBM does not keep the log-odds from which such trees start, and predicts no
    probabilities by them. The start is added to the leaves of the first tree.
    """
    booster = model.booster_
    text = booster.model_to_string(num_iteration=1)
    n_leaves = int(text.split("\nnum_leaves=", 1)[1].split("\n", 1)[0])
    for leaf in range(n_leaves):
        booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + start)
    head, tail = booster.model_to_string().split("\nfeature_names=", 1)
    booster.model_from_string(
        f"{head}\nobjective=binary sigmoid:1\nfeature_names={tail}"
    )
    return model.set_params(objective="binary")


#: Parameters of a classifier of the label that one of the groups does not share.
_ABOUT_LABELS = ("class_weight", "monotone_constraints", "base_score")
#: Trees of XGBoost where `n_estimators` is None.
_N_TREES = 100
#: What a row's own group adds to the probabilities: half the trees on half the rows
#: leave out some of what the features tell. More of it would close gaps of the training
#: rows only. On census 0.1 was better than 0 and 0.2, on OULAD 0.2 was better still.
_OWN_SHARE = 0.1
#: Probabilities are clipped to this before they are calibrated.
_LEAST = 1e-4


def group_probabilities(
    estimator: Any,
    X: Any,
    rows: Rows,
    codes: NDArray[np.integer],
    params: dict[str, Any],
    rng: np.random.RandomState,
) -> Floats:
    """Probability of each group given X, by a fit to the other half of the rows.

    The groups are the codes from 0 on. The halves have equally many rows of each group.
    Rows without a group (code -1) have probabilities, too.
    """
    rows = replace(rows, weight=weights_in_rows(rows.weight))
    order = np.lexsort((rng.permutation(len(codes)), codes))
    halves = np.sort(order[::2]), np.sort(order[1::2])
    probabilities = np.zeros((len(codes), int(codes.max()) + 1))
    for other, own in (halves, halves[::-1]):
        grouped = other[codes[other] >= 0]
        groups, labels = np.unique(codes[grouped], return_inverse=True)
        if len(groups) == 1:
            probabilities[np.ix_(own, groups)] = 1
            continue
        model = fit_plain(
            _classifier_of_groups(estimator),
            take_rows(X, grouped),
            replace(rows[grouped], y_true=labels),
            params_of_rows(params, grouped, len(codes)),
        )
        probabilities[np.ix_(own, groups)] = model.predict_proba(take_rows(X, own))
    return _calibrate(probabilities, codes, rows.weight)


def with_own_group(probabilities: Floats, codes: NDArray[np.integer]) -> Floats:
    """Mean of the probabilities and of the group itself, which counts a tenth.

    Those of strata, shape (n_samples, n_strata, n_groups), stay as they are; rows
    without a group (code -1) keep their probabilities.
    """
    *_, n_groups = probabilities.shape
    by_stratum = probabilities.reshape(len(codes), -1, n_groups)
    own = (codes[:, None] == np.arange(n_groups))[:, None]
    shares = np.where(codes < 0, 0.0, _OWN_SHARE)[:, None, None]
    own_group = by_stratum.sum(axis=2, keepdims=True) * own
    mixed = by_stratum + shares * (own_group - by_stratum)
    return np.asarray(mixed.reshape(probabilities.shape))


def joint_probabilities(
    probabilities_of: Callable[[NDArray[np.integer]], Floats],
    groups: Groups,
    strata: Groups,
) -> Floats:
    """Probability of each stratum and group together, for each row.

    `probabilities_of` takes one code for each row and predicts the probability of each
    code. The result has shape (n_samples, n_strata, n_groups); the sum of a row is less
    than 1 where rows may be in no stratum.
    """
    n_strata, n_groups = len(strata.labels), len(groups.labels)
    cells = strata.codes.astype(np.intp) * n_groups + groups.codes
    cells[groups.codes < 0] = -1
    cells[strata.codes < 0] = n_strata * n_groups
    present = np.unique(cells[cells >= 0])
    codes = np.where(cells < 0, -1, np.searchsorted(present, cells))
    joint = np.zeros((len(cells), n_strata * n_groups + 1))
    joint[:, present] = probabilities_of(codes)
    return joint[:, :-1].reshape(-1, n_strata, n_groups)


def _classifier_of_groups(estimator: Any) -> Any:
    """Return a clone that predicts groups, with half the trees.

    Options that are about labels are left out. From half of the rows, fewer trees can
    learn what also holds for new rows.
    """
    params = estimator.get_params()
    n_trees = params["n_estimators"] or _N_TREES
    names = [name for name in _ABOUT_LABELS if name in params]
    if find_library(estimator) == "lightgbm":
        names.append("objective")  # XGBoost changes its own for several groups
    n_estimators = max(1, n_trees // 2)
    return clone(estimator).set_params(
        **dict.fromkeys(names), n_estimators=n_estimators
    )


def _calibrate(
    probabilities: Floats, codes: NDArray[np.integer], weights: Floats | None
) -> Floats:
    """Calibrate probabilities, so that their sum is the weight of each group."""
    grouped = codes >= 0
    log_probabilities = np.log(np.clip(probabilities, _LEAST, 1))
    own_weights = None if weights is None else weights[grouped]
    calibration = LogisticRegression(max_iter=10_000)
    calibration.fit(
        log_probabilities[grouped], codes[grouped], sample_weight=own_weights
    )
    return np.asarray(calibration.predict_proba(log_probabilities))
