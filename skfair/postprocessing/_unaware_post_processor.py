"""Models whose predictions are made fair without the group of the row predicted."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skfair._comparison import (
    Comparison,
    compare_classifiers,
    compare_regressors,
    exceeds_noise,
    limit_missed,
    warn_of_comparison,
)
from skfair._mitigation import (
    ClassifierMitigator,
    FittedTable,
    Mitigator,
    RegressorMitigator,
    fit_all,
    label_probabilities,
    make_splits,
    mean_of_folds,
    mean_probabilities,
    predict_folds,
    route_fit_params,
    weights_for,
)
from skfair._rows import Rows, weights_in_rows
from skfair._utils._arrays import Floats
from skfair._utils._progress import reports_tasks
from skfair._utils._response import threshold_of
from skfair._utils._validation import ParameterError, check_real
from skfair.groups import Selector
from skfair.model_selection._folds import Split
from skfair.postprocessing._score_map import (
    Performance,
    ScoreMap,
    choose_strength,
    fit_maps,
    folds_of_maps,
    held_out_scores,
    path_table,
    state_path,
)


class GroupPredictor(Mitigator):
    """Mixin of mitigators that map predictions of a target and of the group.

    Both are predicted by models that were not fitted to the row. The group of a row is
    needed in `fit` alone.
    """

    max_mcdp: float | None = None
    estimators_: list[Any]
    group_estimators_: list[Any]
    strength_: float
    comparison_: Any
    path_ = FittedTable()
    _performance: ClassVar[Performance]
    #: Number of fits after those of the folds.
    _n_last_fits = 0
    #: Rows held out, with their predictions, and the probabilities of their groups.
    _rows: Rows
    _q: Floats
    #: Map of all these rows, None for the plain model, and those without a fold.
    _map: ScoreMap | None
    _maps_of_others: list[ScoreMap]

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float | Literal["auto"] = "auto",
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
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

    @reports_tasks
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
        """Fit both models on folds, and the map to the rows held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that both models take. With a
            `FrozenEstimator` these are the rows to which the map is fitted.
        y : array-like of shape (n_samples,)
            Class of each row, one of two; for a regressor its target, a number.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` count in the loss only.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. The gap is then the mean of the gaps within strata, by
            the weight of their rows. It takes precedence over the parameter of the same
            name. The true label of a classifier is a stratum, too; rows without a
            stratum in a `Groups` count in the loss only, see the example.
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
            If y does not have two classes, or a target is not finite; if lengths
            differ, if fewer than two groups have weight, if there are fewer rows (of a
            class) than folds, and if a parameter is out of range.
        TypeError
            If a classifier has no `predict_proba`, or `estimator` is of another kind.

        Warns
        -----
        UserWarning
            If no groups are given and `strength` is not 0: the plain model is fitted.
            If strata or groups cannot be compared, and are left out of the gap.
        skfair.exceptions.MitigationWarning
            If the held-out rows show no gain, and if a regressor misses `max_mcdp` by
            more than noise.
        """
        self._check_parameters()
        columns = X, y, sensitive_features, control_features, sample_weight
        features, rows = self._prepare(*columns)
        routed = self._route(sensitive_features, fit_params, rows.weight)
        target = rows.y_true
        if is_classifier(self):
            target = self.classes_[target]
        params = routed.estimator.fit
        self.comparison_, self.strength_, self.path_ = None, 0.0, pd.DataFrame()
        if not self.groups_:
            self._map = None
            self._keep_plain(fit_all(self.estimator, features, target, params), rows)
            return self
        models = self._predict_held_out(X, features, rows, target, routed)
        self._map, self._maps_of_others = fit_maps(
            self._rows, self._q, self._performance
        )
        self._choose_strength()
        self._use_strength(features, rows, params, *models)
        return self

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        self._check_estimator()
        estimator = self.group_estimator
        if estimator is not None and not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"group_estimator must have predict_proba, got {estimator!r}."
            )
        if self.strength != "auto":
            limits: dict[str, Any] = {"closed": "left", "alternative": "'auto' or "}
            check_real("strength", self.strength, 0, math.inf, **limits)

    def _route(
        self,
        sensitive_features: Any,
        fit_params: dict[str, Any],
        weights: NDArray[Any] | None,
    ) -> Bunch:
        """Route the metadata given to `fit`."""
        return route_fit_params(self, sensitive_features, fit_params, weights)

    def _keep_plain(self, estimator: Any, rows: Rows) -> None:
        """Predict with a model that was fitted to all rows."""
        self.estimators_, self.group_estimators_ = [estimator], []

    def _use_strength(
        self,
        X: Any,
        rows: Rows,
        params: dict[str, Any],
        models: list[Any],
        group_models: list[Any],
    ) -> None:
        """Predict with the models of the folds, and the map at `strength_`."""
        self.estimators_, self.group_estimators_ = models, group_models
        self._use_map()

    def _use_map(self) -> None:
        """Compare the map at `strength_` with the plain model, on held-out rows."""
        (scores,) = held_out_scores(
            self._maps_of_others, self._rows, self._q, [self.strength_]
        )
        rows, limit = self._rows, self.max_mcdp
        compare = compare_classifiers if is_classifier(self) else compare_regressors
        found = compare(rows, rows.y_pred, scores, cross_fitted=True)
        self.comparison_ = found
        if self.strength == 0:
            return
        missed = "" if limit is None else limit_missed(rows, found, limit)
        kept = limit is not None and list(found.baseline.values())[-1] <= limit
        if missed or not kept:
            warn_of_comparison(
                self, found, "Lower strength, or use a better group_estimator", missed
            )

    def _copy_with(self, **parameters: Any) -> Self:
        """Copy of the fitted model with other parameters of its map."""
        check_is_fitted(self, "strength_")
        if not self.groups_:
            raise ValueError(
                f"strength={parameters['strength']!r} needs groups, but fit was given "
                "none."
            )
        model = copy.copy(self)
        for name, value in parameters.items():
            setattr(model, name, value)
        model._check_parameters()
        model._choose_strength()
        return model

    def _choose_strength(self) -> None:
        """Set `strength_`, given or chosen by what strengths reach on held-out rows."""
        assert self._map is not None
        strengths = self._map.strengths
        if self.strength != "auto":
            self.strength_ = float(self.strength)
            strengths = (0.0, self.strength_)
        table = path_table(
            self._maps_of_others, self._rows, self._q, strengths, self._performance
        )
        stated = self.path_ = state_path(table, self._rows, self._maps_of_others)
        if self.strength != "auto":
            return
        # Noise makes gaps more alike, of which the fairest is sought; not the limit.
        chosen = (
            choose_strength(table, self._performance)
            if self.max_mcdp is None
            else choose_strength(stated, self._performance, self.max_mcdp)
        )
        # A map fitted to noise makes no gap of new rows smaller.
        fits = exceeds_noise(self._rows)
        self.strength_ = float(table["strength"][chosen]) if fits else 0.0

    def _predict_held_out(
        self, X: Any, features: Any, rows: Rows, target: NDArray[Any], routed: Any
    ) -> tuple[list[Any], list[Any]]:
        """Fit both models on folds, predict the rows held out, and return the models.

        A row that several folds hold out has its mean predictions, and the first fold.
        """
        splits, group_splits = self._make_splits(features, rows, target, routed)
        classes = self.classes_.tolist() if is_classifier(self) else None
        both = (self.estimator, splits), (self.group_estimator, group_splits)
        n_fits = [len(s) for model, s in both if not isinstance(model, FrozenEstimator)]
        self._tasks.begin(sum(n_fits) + self._n_last_fits)
        training, settings = (features, rows, target), (self.n_jobs, self._tasks.done)
        params = routed.estimator.fit
        with self._tip_to_drop(X):
            models, held_out = predict_folds(
                self.estimator, *training, classes, splits, params, *settings
            )
            group_models, of_groups = self._predict_groups(
                features, rows, group_splits, routed
            )
        fold = np.full(len(rows), -1)
        for number, (_, test) in reversed(list(enumerate(splits))):
            fold[test] = number
        used = np.flatnonzero((fold >= 0) & (rows.weights > 0))
        predicted = mean_of_folds(held_out, len(rows))[:, -1]
        rows = replace(rows, y_pred=predicted, fold=fold)[used]
        self._keep_held_out(rows, mean_of_folds(of_groups, len(predicted))[used])
        return models, group_models

    def _make_splits(
        self, X: Any, rows: Rows, target: NDArray[Any], routed: Any
    ) -> tuple[list[Split], list[Split]]:
        """Training and test rows, of the estimator and of that of the group."""
        splits = make_splits(self, X, target, rows.groups.codes, routed.splitter.split)
        return splits, splits

    def _keep_held_out(self, rows: Rows, q: Floats) -> None:
        """Keep the rows to which the map is fitted, with its folds."""
        self._rows, self._q = replace(rows, fold=folds_of_maps(rows)), q

    def _predict_groups(
        self, X: Any, rows: Rows, splits: list[Split], routed: Any
    ) -> tuple[list[Any], Rows]:
        """Predict the group of each row by models that were not fitted to it."""
        (estimator, params), done = self._group_model(X, rows, routed), self._tasks.done
        self._group_classes: list[Any] = list(range(len(self.groups_)))
        if isinstance(estimator, FrozenEstimator):
            self._group_classes = list(self.groups_)
            classes = np.asarray(estimator.classes_).tolist()
            if set(classes) != set(self.groups_):
                raise ValueError(
                    f"group_estimator is frozen and has the classes {classes}, "
                    f"expected the groups {list(self.groups_)}."
                )
        try:
            columns, settings = (X, rows, rows.groups.codes), (self.n_jobs, done)
            return predict_folds(
                estimator, *columns, self._group_classes, splits, params, *settings
            )
        except ValueError as error:
            if estimator is not self.estimator:
                raise
            raise ValueError(
                f"{error}\nWithout a group_estimator a clone of estimator is fitted to "
                "the groups: give one if it cannot be."
            ) from error

    def _group_model(
        self, X: Any, rows: Rows, routed: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the classifier of the group, not fitted, and its fit parameters."""
        estimator = self.group_estimator
        if estimator is None:
            return self._default_group_model(X, rows)
        if get_config()["enable_metadata_routing"]:
            return estimator, routed.group_estimator.fit
        return estimator, weights_for(estimator, rows.weight)

    def _default_group_model(self, X: Any, rows: Rows) -> tuple[Any, dict[str, Any]]:
        """Return a copy of the classifier, not fitted, and its fit parameters."""
        estimator = self.estimator
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        return estimator, weights_for(estimator, rows.weight)


class UnawarePostProcessor(GroupPredictor, ClassifierMitigator):
    r"""Classifier whose scores are made fair without the group of the row predicted.

    It fits two classifiers on folds: `estimator` predicts p, the probability of the
    second class, and `group_estimator` predicts q, the probability of each group. A
    map from p and q to a new score is then fitted to held-out rows. It approximates
    the map with the smallest value of

    .. math::
        \frac{1}{N} \sum_i \ell(s_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    with the log-loss :math:`\ell` and the CDFs F of the groups' new scores s. The
    groups are needed in `fit` only, and a new strength :math:`\lambda` needs no
    classifier to be fitted again. Each of the two classifiers is fitted once a fold.

    The map lowers or raises scores of people who look like members of a group, whether
    they belong to it or not. See the notes on what that implies.

    Parameters
    ----------
    estimator : classifier
        A binary classifier with `predict_proba`. In a
        :class:`~sklearn.frozen.FrozenEstimator` it is not fitted again, and the map is
        fitted to the rows given to `fit`, on which it must not have been trained.
    strength : float or "auto", default="auto"
        Weight :math:`\lambda \geq 0` of the gap; 0 is the plain classifier. It is
        multiplied by the variance of the labels over that of balanced ones, as in
        `MCDPReweighter`, so that it means about the same where positives are rare.
        ``"auto"`` tries strengths at which the gap falls to 0 in 20 steps. It takes the
        least one that, on held-out rows, keeps 95 % of the plain average precision and
        whose MCDP(0) is within one standard error of the least among those. It is 0,
        with a warning, if no two groups differ by more than those of one distribution
        do in 95 % of samples. With more than two groups MCDP(0) is adjusted for their
        sizes, so that a group of a few rows does not decide.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True: then both classifiers
        see the group, at prediction too. In a meta-estimator that leaves columns out,
        such as `BaggingClassifier`, a position names another column: route the groups
        there.
    drop_sensitive : bool, default=False
        Whether both classifiers get X without the columns that `sensitive_features`
        names. X may then lack them in prediction.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared, several columns
        for their intersection, or a function of X that returns the strata. Strata given
        to `fit` take precedence. None compares groups among all rows. A column stays a
        feature.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds. None keeps their order.
    threshold : float in [0, 1] or None, default=None
        Least new score for which the second class is predicted. None takes the
        threshold of `estimator`, see `threshold_`.
    group_estimator : classifier, default=None
        Classifier with `predict_proba` that predicts the group from the same features.
        It is fitted to the positions of the groups in `groups_`. In a
        :class:`~sklearn.frozen.FrozenEstimator` its classes must be the groups. None is
        a clone of `estimator`.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    verbose : int, default=0
        Whether to print, on the standard error stream, which fold is done.

    Attributes
    ----------
    estimators_ : list
        The fitted classifiers, one for each fold. New scores are averaged over folds.
    group_estimators_ : list
        The fitted classifiers of the group, one for each fold; empty if no groups are
        given.
    threshold_ : float
        The threshold, given or that of the classifier, as in `MADDPostProcessor`.
    strength_ : float
        The strength, given or chosen.
    path_ : DataFrame
        What each strength reaches on held-out rows, by maps that were fitted to other
        held-out rows: for ``"auto"`` all strengths tried, else 0 and `strength`. It has
        the columns of the ``cv_results_`` of a search, with the metrics
        ``average_precision`` and ``neg_mcdp`` (and with more than two groups
        ``neg_adjusted_mcdp``, see `comparison_`), and can be given to
        `skfair.inspection.TradeOffDisplay.from_cv_results` and to the rules of
        `skfair.model_selection`. ``mean_test_`` is the value on all held-out rows
        together, of MCDP(0) that to expect on new rows, as in `comparison_`;
        ``std_test_`` is its standard deviation over folds. Empty if no groups are
        given.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any) of the new and
        of the plain scores on held-out rows; None if no groups are given.
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
        In `fit`, if the held-out rows show no gain.

    See Also
    --------
    MADDPostProcessor : Repairs scores by the group of each row predicted.
    skfair.inprocessing.MCDPReweighter : Trains one classifier on the fair scores.
    UnawareRegressor : The same for predicted numbers.

    Notes
    -----
    Form of the map: of all functions of the features, the minimiser is one of p and q
    alone. Where the derivative of the penalty in the CDFs has the density w, setting
    the derivative of the expected loss in the score of a row to zero gives

    .. math::
        s = p - \lambda \, w(s)
        \left( \frac{q_g}{\pi_g} - \frac{q_h}{\pi_h} \right)

    for the groups g and h that differ, with shares :math:`\pi`. So a decision at each
    threshold t compares p minus a sum over groups, of a factor that depends on t alone
    times :math:`q_g / \pi_g`, with t. The new score is as high as the thresholds that
    a row passes. The map has factors at 40 thresholds, and lines between them.

    Fit: the smallest penalised loss is the smallest log-loss under some limit of the
    gap, and the log-loss is an integral of the losses of decisions over thresholds. So
    each threshold is a problem of its own, of one number for two groups: the factor at
    which the groups' rates differ by no more than the limit. Newton steps find it. The
    limits are 0.95, 0.9, and so on to 0 times the plain gap; the strength of a limit is
    the sum of its Lagrange multipliers. Between two of these strengths factors are
    interpolated, and beyond the largest one, which closes the gap, nothing changes. p
    is first calibrated to the labels, by a line of log-odds. Rows with nearly the same
    p and q are joined. In prediction the map takes p and q of one fold at a time, and
    new scores are averaged over folds.

    What can remain: if p and q are the true probabilities, no function of the features
    predicts better with the same gaps, and the gap at a threshold t is the mean of
    :math:`(q_g / \pi_g - q_h / \pi_h) \, 1[s \leq t]` over everyone. The map is fitted
    to the gap between the groups themselves, so estimates in place of q cost
    performance first: where q tells nothing of a group that p differs for, its scores
    can only be made alike by making everyone's scores alike. On new rows the gap is
    that of the held-out rows up to sampling noise (`comparison_`), as long as the
    features tell the group as they did in `fit`.

    Individuals: the group is used in training only, but q is an inference about the
    group, made for everyone who is scored. Two people with the same features get the
    same score. Members of a group whose features are typical of another one are treated
    as the other one's. Where inferring a protected attribute is itself restricted, or
    where an inferred attribute counts as the attribute, this method is, too.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.
    .. [2] Menon, Williamson. "The Cost of Fairness in Binary Classification". FAT*
       2018. With known p and q, the fairest decisions threshold a sum of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.metrics import mcdp
    >>> from skfair.postprocessing import UnawarePostProcessor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex, which is not a feature itself
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> model = UnawarePostProcessor(LogisticRegression(), strength=2.0)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> def gap(model):
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(model.with_strength(0)) > 0.4, gap(model) < 0.2  # fitted once
    (True, True)

    Equal opportunity at every threshold is a small gap among the positives:

    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y, "positive", None), missing="drop")
    >>> model = model.fit(X, y, sensitive_features=sex, control_features=positives)
    >>> model.strata_
    ('positive',)
    """

    _performance: ClassVar[Performance] = "average_precision"
    threshold_: float
    comparison_: Comparison | None

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float | Literal["auto"] = "auto",
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        threshold: float | None = None,
        group_estimator: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            strength=strength,
            sensitive_features=sensitive_features,
            drop_sensitive=drop_sensitive,
            control_features=control_features,
            random_state=random_state,
            group_estimator=group_estimator,
            cv=cv,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.threshold = threshold

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        super()._check_parameters()
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1, alternative="None or ")

    def _keep_plain(self, estimator: Any, rows: Rows) -> None:
        """Predict with a classifier that was fitted to all rows."""
        super()._keep_plain(estimator, rows)
        self._set_threshold()

    def _use_strength(self, *fitted: Any) -> None:
        """Predict with the models of the folds, and the map at `strength_`."""
        super()._use_strength(*fitted)
        self._set_threshold()

    def _set_threshold(self) -> None:
        """Set the threshold, that of the fitted classifiers unless it is given."""
        given = self.threshold
        self.threshold_ = threshold_of(self.estimators_) if given is None else given

    def with_strength(self, strength: float | Literal["auto"]) -> Self:
        """Copy of the fitted model with another strength.

        Nothing is fitted again. At a strength of `path_` the copy is the model with the
        figures stated there, also if they show no gain.

        Parameters
        ----------
        strength : float or "auto"
            As the parameter of the same name.

        Returns
        -------
        UnawarePostProcessor
            Fitted. It shares the fitted classifiers with this one, which stays as it
            is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If the strength is out of range, or if `fit` was given no groups.

        Warns
        -----
        skfair.exceptions.MitigationWarning
            If the new scores are worse than the plain ones by more than noise; for
            ``"auto"`` as in `fit`.
        """
        model = self._copy_with(strength=strength)
        model._use_map()
        return model

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            New probabilities in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = self._check_predict_input(X, "estimators_")
        labels, models = self.classes_.tolist(), self.estimators_
        p: list[NDArray[Any]] = [
            label_probabilities(model, X, labels)[:, 1] for model in models
        ]
        if self._map is not None:
            # The map was fitted to scores of single models. Those of an average have
            # another distribution.
            groups, models = self._group_classes, self.group_estimators_
            q = [label_probabilities(model, X, groups) for model in models]
            folds = range(max(len(p), len(q)))  # a frozen model goes with all others
            strength = self.strength_
            p = [self._map(p[i % len(p)], q[i % len(q)], strength) for i in folds]
        mean = np.mean(p, axis=0)
        return np.column_stack([1 - mean, mean])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes: the second where its new probability reaches `threshold_`.

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
        return self._second_class_where(self.predict_proba(X)[:, 1] >= self.threshold_)


class UnawareRegressor(GroupPredictor, RegressorMitigator):
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
        tries strengths at which the gap falls to 0 in 20 steps. It takes the least one
        that, on held-out rows, keeps 80 % of the plain R2 and whose MCDP(0) is within
        one standard error of the least among those; or by `max_mcdp`. It is 0, with a
        warning, if no two groups differ by more than those of one distribution do in
        95 % of samples. With more than two groups MCDP(0) is adjusted for their sizes,
        as in `UnawarePostProcessor`.
    max_mcdp : float in [0, 1] or None, default=None
        Largest MCDP(0): ``strength="auto"`` then takes the least strength whose MCDP(0)
        on held-out rows is at most this, or else the fairest, with a warning where that
        misses it by more than noise.
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
    path_ : DataFrame
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
    The map is that of `UnawarePostProcessor`: a row passes a threshold if its
    prediction is above it by a factor of the threshold times the probability of the
    group over its share, and the new prediction is as high as the thresholds passed.
    The minimiser has this form: the squared error is a mean over thresholds of the cost
    of decisions, so that each threshold has its own problem, and its own factor.
    Predictions are first moved to the line of least squares.

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
    >>> model = UnawareRegressor(LinearRegression(), strength=2.0)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> def gap(model):
    ...     return mcdp(None, model.predict(X), sensitive_features=sex, scale="rank")
    >>> gap(model.with_strength(0)) > 0.3, gap(model) < 0.15  # fitted once
    (True, True)
    """

    _performance: ClassVar[Performance] = "r2"
    comparison_: Comparison | None

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float | Literal["auto"] = "auto",
        max_mcdp: float | None = None,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        group_estimator: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            group_estimator=group_estimator,
            strength=strength,
            cv=cv,
            sensitive_features=sensitive_features,
            drop_sensitive=drop_sensitive,
            control_features=control_features,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.max_mcdp = max_mcdp

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
        model = self._copy_with(strength=strength, max_mcdp=max_mcdp)
        model._use_map()
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
        X = self._check_predict_input(X, "estimators_")
        predicted: Floats = mean_probabilities(self.estimators_, X, None)[:, 0]
        if self._map is None:
            return predicted
        q = mean_probabilities(self.group_estimators_, X, self._group_classes)
        return np.asarray(self._map(predicted, q, self.strength_), dtype=np.float64)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        super()._check_parameters()
        if self.max_mcdp is None:
            return
        check_real("max_mcdp", self.max_mcdp, 0, 1, alternative="None or ")
        if self.strength != "auto":
            raise ParameterError(
                "max_mcdp",
                f"chooses the strength, got max_mcdp={self.max_mcdp!r} and strength="
                f"{self.strength!r}: leave one of them at its default, None or 'auto'.",
            )

    def _default_group_model(self, X: Any, rows: Rows) -> tuple[Any, dict[str, Any]]:
        """Return a classifier of the group, not fitted, and its fit parameters."""
        estimator = default_group_estimator(self.estimator, X)
        weights = weights_in_rows(rows.weight)
        return estimator, weights_for(estimator, weights)


def default_group_estimator(estimator: Any, X: Any) -> Any:
    """Gradient boosting, behind the steps before the classifier if it is a pipeline.

    It is regularised more than scikit-learn's default, which was overconfident on 3,000
    rows of Adult and of Bank. Without early stopping no rows are drawn at random.
    """
    boosting = HistGradientBoostingClassifier(
        max_iter=80,
        learning_rate=0.08,
        max_leaf_nodes=12,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
    )
    if get_config()["enable_metadata_routing"]:
        boosting.set_fit_request(sample_weight=True)
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    piped = isinstance(inner, Pipeline)
    if not piped and not issparse(X):
        return boosting
    before = inner.steps[:-1] if piped else []
    dense = FunctionTransformer(_to_dense, accept_sparse=True)
    steps = [(name, clone(step, safe=False)) for name, step in before]
    kind = type(inner) if piped else Pipeline
    return kind([*steps, ("to_dense", dense), ("group_boosting", boosting)])


def _to_dense(X: Any) -> Any:
    """Return an array in place of a sparse matrix, which boosting does not take."""
    return X.toarray() if issparse(X) else X
