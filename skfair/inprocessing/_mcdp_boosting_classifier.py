"""Boosted trees trained for a small gap between groups."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison, compare_classifiers, warn_of_comparison
from skfair._mitigation import (
    ROUTED,
    MetaMitigator,
    as_table,
    check_fit_inputs,
    check_validation_fraction,
    features_to_predict,
    hold_out_if_possible,
    keep_comparable,
    route_fit_params,
    tip_to_drop,
)
from skfair._penalty import Objective, check_penalised_loss
from skfair._rows import Rows, take_rows
from skfair._utils._progress import Tasks, with_callbacks
from skfair.groups import Selector
from skfair.inprocessing._boosting import (
    check_boosting,
    find_library,
    fit_penalised,
    fit_plain,
    group_probabilities,
    joint_probabilities,
    mix_own_group,
    to_table,
)
from skfair.inprocessing._mcdp_objective import MCDPObjective
from skfair.model_selection._folds import params_of_rows

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
    Trees learn the expected gradient of the loss given the features. The gradient of
    the penalty has opposite signs in two groups; its expectation is the mean over
    groups, weighted by their probabilities given the features. These probabilities are
    estimated first, for each half of the rows by a clone of `estimator` fitted to the
    groups of the other half, and calibrated. A row's own group counts a tenth beside
    them. With the groups alone, trees would learn which of a few thousand training rows
    belong to which group, and close the gap of these rows only. With more than 10
    groups or fewer than 100 rows the groups themselves are used nevertheless. With
    `control_features` the probabilities are those of stratum and group together, if
    there are at most 10 such combinations, so that the gap among positives is learnt
    from all rows. With more combinations, the probabilities are those of the groups,
    and each row counts in its own stratum.

    A fit costs one fit of the plain classifier, two fits to the groups of half the
    rows, another plain fit for the comparison (none with ``validation_fraction=None``),
    and the gradients.

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
        random_state: int | np.random.RandomState | None = None,
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
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
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
        loss = check_penalised_loss(self.strength, self.temperature, self.objective)
        check_validation_fraction(self.validation_fraction, automatic="auto")
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
        features, rows = inputs.X, inputs.rows
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
        with tip_to_drop(self, X, self.estimator):
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
        X = features_to_predict(self, X)
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
        groups, strata = keep_comparable(
            rows.groups, rows.strata, rows.weights, warn=False
        )
        predict_codes = partial(
            group_probabilities, self.estimator, X, rows, params=params, rng=rng
        )
        n_cells = len(groups.labels) * (1 if strata is None else len(strata.labels))
        probabilities = None
        if len(rows) >= _MIN_ROWS and len(groups.labels) <= _MAX_GROUPS:
            if strata is None or n_cells > _MAX_GROUPS:
                probabilities = predict_codes(groups.codes)
            else:
                probabilities = joint_probabilities(predict_codes, groups, strata)
            probabilities = mix_own_group(probabilities, groups.codes)
        return MCDPObjective(
            groups,
            strength=self.strength,
            temperature=self.temperature,
            objective=self.objective,
            group_probabilities=probabilities,
            control_features=strata,
        )
