"""Regressor whose predictions are made fair without the group of the row predicted."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from skfair._comparison import Comparison
from skfair._mitigation import (
    ROUTED,
    MetaMitigator,
    as_table,
    check_fit_inputs,
    features_to_predict,
    fit_all,
    make_splits,
    mean_probabilities,
    route_fit_params,
)
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._validation import ParameterError, check_real
from skfair.groups import Selector
from skfair.postprocessing._group_prediction import (
    check_parameters,
    compare_strength,
    copy_with,
    predict_held_out,
)
from skfair.postprocessing._score_map import StrengthMaps


class UnawareRegressor(
    MetaMitigator,
    RegressorMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Regressor whose predictions are made fair without the group of the row.

    It fits two models on folds: `estimator` predicts the target, and `group_estimator`
    the probability of each group. A map from both to a new prediction is then fitted to
    held-out rows. For predictions of standard deviation 1 it approximates the map with
    the smallest value of

    .. math::
        \frac{1}{2 N} \sum_i (s_i - y_i)^2
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    with CDFs F of the groups' new predictions s. The groups are needed in `fit`
    only, and a new strength :math:`\lambda` needs no model to be fitted again.

    The map lowers or raises predictions for people who look like members of a group,
    whether they belong to it or not: see the notes of `UnawarePostProcessor` on what
    that implies.

    Parameters
    ----------
    estimator : regressor
        In a :class:`~sklearn.frozen.FrozenEstimator` it is not fitted again, and the
        map is fitted to the rows given to `fit`, on which it must not have been
        trained.
    strength : float or "auto", default="auto"
        Weight :math:`\lambda \geq 0` of the gap; 0 is the plain regressor. ``"auto"``
        tries strengths at which the gap falls to 0 in 20 steps. Of those that keep 80 %
        of the plain R2 on held-out rows, it takes the smallest whose MCDP(0) is within
        one standard error of the smallest among them; or it chooses by `max_mcdp`. It
        takes 0 if no two groups differ by more than groups with one distribution do in
        95 % of samples. With more than two groups MCDP(0) is adjusted for their sizes,
        as in `UnawarePostProcessor`.
    max_mcdp : float in [0, 1] or None, default=None
        Largest MCDP(0): ``strength="auto"`` then takes the smallest strength whose
        MCDP(0) on held-out rows is at most this, or else the fairest, with a warning
        where that misses it by more than noise.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True: then both models see
        the group, at prediction too. In a meta-estimator that leaves columns out, such
        as `BaggingClassifier`, a position names another column: route the groups there.
    drop_sensitive : bool, default=False
        Whether both models get X without the columns that `sensitive_features` names. X
        may then lack them in prediction.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared, several columns
        for their intersection, or a function of X that returns the strata. Strata given
        to `fit` take precedence. None compares groups among all rows. A column stays a
        feature.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds. None keeps their order.
    group_estimator : classifier, default=None
        Classifier with `predict_proba` that predicts the group from the same features,
        as in `UnawarePostProcessor`. None is a small gradient boosting, behind the
        steps before the regressor if `estimator` is a pipeline.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by group and
        target.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    verbose : int, default=0
        Whether to print, on the standard error stream, which fold is done.

    Attributes
    ----------
    estimators_ : list
        The fitted regressors, one for each fold, whose predictions are averaged.
    group_estimators_ : list
        The fitted classifiers of the group, whose probabilities are averaged; empty if
        no groups are given.
    strength_ : float
        The strength, given or chosen.
    path_ : dict of ndarray
        What each strength reaches on held-out rows, by maps that were fitted to other
        held-out rows: for ``"auto"`` all strengths tried, else 0 and `strength`. It has
        the columns of the ``cv_results_`` of a search, with the metrics ``r2`` and
        ``neg_mcdp``, so that the rules of `skfair.model_selection` choose from it.
        Empty if no groups are given.
    comparison_ : Comparison or None
        Squared error, R2 and MCDP(0) (within strata, if there are any) of the new and
        of the plain predictions on held-out rows; None if no groups are given.
    groups_ : tuple of length n_groups
        Labels of the groups; empty if no groups are given.
    strata_ : tuple of length n_strata
        Labels of the strata within which groups are compared; empty without
        `control_features`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    See Also
    --------
    RepairedRegressor : Repairs predictions by the group of each row.
    UnawarePostProcessor : The same for classifiers.

    Notes
    -----
    The map is that of `UnawarePostProcessor`. A row passes a threshold if its
    prediction exceeds the threshold by a factor times the probability of the group over
    its share; each threshold has its own factor. The new prediction is as high as the
    thresholds passed. The minimiser has this form since the squared error is a mean
    over thresholds of the cost of decisions, so that each threshold is a separate
    problem. Predictions are first moved to the line of least squares.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfair.metrics import mcdp
    >>> from skfair.postprocessing import UnawareRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex, which is not a feature itself
    >>> y = X.sum(axis=1) + rng.normal(size=1000)
    >>> model = UnawareRegressor(LinearRegression(), strength=2.0, cv=2)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> def gap(model):
    ...     return mcdp(None, model.predict(X), sensitive_features=sex, scale="rank")
    >>> gap(model.with_strength(0)) > 0.3, gap(model) < 0.15  # fitted once
    (True, True)
    """

    __metadata_request__fit: ClassVar = ROUTED

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float | Literal["auto"] = "auto",
        max_mcdp: float | None = None,
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
        self.max_mcdp = max_mcdp
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
        """Fit both models on folds, and the map to the rows held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that both models take. With a
            `FrozenEstimator` these are the rows to which the map is fitted.
        y : array-like of shape (n_samples,)
            Target of each row, a number.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` count in the loss only.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. The gap is then the mean of the gaps within strata, by
            the weight of their rows. It takes precedence over the parameter of the same
            name. Rows without a stratum in a `Groups` count in the loss only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows in the map, and in the fits of models that
            take them; pipelines pass them to their last step.
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
            If a target is not finite, if lengths differ, if fewer than two groups have
            weight, if there are fewer rows than folds, and if a parameter is out of
            range.
        TypeError
            If `estimator` is not a regressor, or `group_estimator` has no
            `predict_proba`.

        Warns
        -----
        UserWarning
            If no groups are given and `strength` is not 0: the plain model is fitted.
            If strata or groups cannot be compared, and are left out of the gap.
        skfair.exceptions.MitigationWarning
            If the held-out rows show no gain, and if `max_mcdp` is missed by more than
            noise.
        """
        check_parameters(self)
        self._check_limit()
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
        rows = inputs.rows
        self.groups_, self.strata_ = rows.labels, inputs.strata
        self._dropped = inputs.dropped
        routed = route_fit_params(
            self, sensitive_features, fit_params, rows.weight, cv=self.cv
        )
        self._maps: StrengthMaps | None = None
        self.strength_, self.path_ = 0.0, dict[str, NDArray[Any]]()
        self.comparison_: Comparison | None = None
        if not rows.labels:
            params = routed.estimator.fit
            model = fit_all(self.estimator, inputs.X, inputs.target, params)
            self.estimators_, self.group_estimators_ = [model], list[Any]()
            return self
        tasks = Tasks(self)
        to_split = inputs.X, inputs.target, rows.groups.codes
        splits = make_splits(self, *to_split, routed.splitter.split)
        predicted = predict_held_out(self, inputs, routed, splits, splits, tasks)
        self.estimators_ = predicted.models
        self.group_estimators_ = predicted.group_models
        self._group_classes = predicted.group_classes
        maps = self._maps = StrengthMaps("r2").fit(predicted.rows, predicted.q)
        self.strength_, self.path_ = maps.choose(self.strength, self.max_mcdp)
        limit = self.max_mcdp
        self.comparison_ = compare_strength(self, maps, self.strength_, limit)
        tasks.end()
        return self

    def with_strength(
        self, strength: float | Literal["auto"], *, max_mcdp: float | None = None
    ) -> Self:
        """Copy of the fitted model with another strength.

        Nothing is fitted again. At a strength of `path_` the copy is the model with the
        figures stated there.

        Parameters
        ----------
        strength : float or "auto"
            As the parameter of the same name.
        max_mcdp : float in [0, 1] or None, default=None
            As the parameter of the same name.

        Returns
        -------
        UnawareRegressor
            Fitted. It shares the fitted models with this one, which stays as it is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If a parameter is out of range, or if `fit` was given no groups.

        Warns
        -----
        skfair.exceptions.MitigationWarning
            As in `fit`.
        """
        model = copy_with(self, strength=strength, max_mcdp=max_mcdp)
        model._check_limit()
        assert model._maps is not None
        model.strength_, model.path_ = model._maps.choose(strength, max_mcdp)
        model.comparison_ = compare_strength(
            model, model._maps, model.strength_, max_mcdp
        )
        return model

    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            New predictions, in the unit of the target.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = features_to_predict(self, X)
        predicted: Floats = mean_probabilities(self.estimators_, X, None)[:, 0]
        if self._maps is None:
            return predicted
        q = mean_probabilities(self.group_estimators_, X, self._group_classes)
        return self._maps(predicted, q, self.strength_)

    def _check_limit(self) -> None:
        """Raise unless `max_mcdp` is valid, and the strength is left to it."""
        if self.max_mcdp is None:
            return
        check_real("max_mcdp", self.max_mcdp, 0, 1, alternative="None or ")
        if self.strength != "auto":
            raise ParameterError(
                "max_mcdp",
                f"chooses the strength, got max_mcdp={self.max_mcdp!r} and strength="
                f"{self.strength!r}: leave one of them at its default, None or 'auto'.",
            )
