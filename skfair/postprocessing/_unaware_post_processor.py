"""Classifier whose scores are made fair without the group of the row predicted."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import validate_data

from skfair._comparison import Comparison
from skfair._mitigation import (
    ROUTED,
    MetaMitigator,
    as_table,
    check_fit_inputs,
    features_to_predict,
    fit_all,
    label_probabilities,
    make_splits,
    route_fit_params,
)
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._response import decision_threshold
from skfair._utils._validation import check_real
from skfair.groups import Selector
from skfair.postprocessing._group_prediction import (
    check_parameters,
    compare_strength,
    copy_with,
    predict_held_out,
)
from skfair.postprocessing._score_map import StrengthMaps


class UnawarePostProcessor(
    MetaMitigator,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
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
        Weight :math:`\lambda \geq 0` of the gap; 0 is the plain classifier. The weight
        is multiplied by the variance of the labels over the variance of balanced
        labels, as in `MCDPReweighter`, so that it means about the same where positives
        are rare. ``"auto"`` tries strengths at which the gap falls to 0 in 20 steps. Of
        those that keep 95 % of the plain average precision on held-out rows, it takes
        the smallest whose MCDP(0) is within one standard error of the smallest among
        them. It takes 0 if no two groups differ by more than groups with one
        distribution do in 95 % of samples. With more than two groups MCDP(0) is
        adjusted for their sizes, so that a group of a few rows does not decide.
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
    path_ : dict of ndarray
        What each strength reaches on held-out rows, by maps that were fitted to other
        held-out rows: for ``"auto"`` all strengths tried, else 0 and `strength`. It has
        the columns of the ``cv_results_`` of a search, with the metrics
        ``average_precision`` and ``neg_mcdp`` (and with more than two groups
        ``neg_adjusted_mcdp``, see `comparison_`), and can be given to
        `skfair.inspection.TradeOffDisplay.from_cv_results` and to the rules of
        `skfair.model_selection`. ``mean_test_`` is the value on all held-out rows
        together, for MCDP(0) the value to expect on new rows, as in `comparison_`;
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
    Form of the map: of all functions of the features, the minimiser is a function of p
    and q alone. Let w be the density of the derivative of the penalty in the CDFs.
    Setting the derivative of the expected loss in the score of a row to zero gives

    .. math::
        s = p - \lambda \, w(s)
        \left( \frac{q_g}{\pi_g} - \frac{q_h}{\pi_h} \right)

    for the groups g and h that differ, with shares :math:`\pi`. So the decision at a
    threshold t compares t with p minus a sum over groups: a factor that depends on t
    alone, times :math:`q_g / \pi_g`. The new score is as high as the thresholds that a
    row passes. The map has factors at 40 thresholds, and is linear between them.

    Fit: the smallest penalised loss is the smallest log-loss under some limit of the
    gap, and the log-loss is an integral of the losses of decisions over thresholds. So
    each threshold is a separate problem, with one unknown for two groups: the factor at
    which the groups' rates differ by no more than the limit. Newton steps find it. The
    limits are 0.95, 0.9, and so on to 0 times the plain gap; the strength of a limit is
    the sum of its Lagrange multipliers. Factors are interpolated between these
    strengths; beyond the largest strength, which closes the gap, nothing changes. First
    p is calibrated to the labels, by a line of log-odds, and rows with nearly the same
    p and q are joined. In prediction the map takes p and q of one fold at a time, and
    new scores are averaged over folds.

    What can remain: if p and q are the true probabilities, no function of the features
    predicts better with the same gaps, and the gap at a threshold t is the mean of
    :math:`(q_g / \pi_g - q_h / \pi_h) \, 1[s \leq t]` over everyone. The map is fitted
    to the gap between the groups themselves, so an inexact q costs performance first:
    if p differs for a group about which q tells nothing, the scores of this group can
    be made alike only by making everyone's scores alike. On new rows the gap is that of
    the held-out rows up to sampling noise (`comparison_`), as long as the features tell
    the group as they did in `fit`.

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
    >>> model = UnawarePostProcessor(LogisticRegression(), strength=2.0, cv=2)
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
        threshold: float | None = None,
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
        self.threshold = threshold
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
            Class of each row, one of two.
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
            If y does not have two classes, if lengths differ, if fewer than two groups
            have weight, if a class has fewer rows than there are folds, and if a
            parameter is out of range.
        TypeError
            If a model has no `predict_proba`.

        Warns
        -----
        UserWarning
            If no groups are given and `strength` is not 0: the plain model is fitted.
            If strata or groups cannot be compared, and are left out of the gap.
        skfair.exceptions.MitigationWarning
            If the held-out rows show no gain.
        """
        self._check_parameters()
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
        self.classes_, self.groups_ = inputs.classes, rows.labels
        self.strata_, self._dropped = inputs.strata, inputs.dropped
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
            self.threshold_ = self._threshold_of([model])
            return self
        tasks = Tasks(self)
        to_split = inputs.X, inputs.target, rows.groups.codes
        splits = make_splits(self, *to_split, routed.splitter.split)
        predicted = predict_held_out(self, inputs, routed, splits, splits, tasks)
        self.estimators_ = predicted.models
        self.group_estimators_ = predicted.group_models
        self._group_classes = predicted.group_classes
        self.threshold_ = self._threshold_of(predicted.models)
        maps = StrengthMaps("average_precision").fit(predicted.rows, predicted.q)
        self._maps = maps
        self.strength_, self.path_ = maps.choose(self.strength)
        self.comparison_ = compare_strength(self, maps, self.strength_)
        tasks.end()
        return self

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
        model = copy_with(self, strength=strength)
        assert model._maps is not None
        model.strength_, model.path_ = model._maps.choose(strength)
        model.comparison_ = compare_strength(model, model._maps, model.strength_)
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
        X = features_to_predict(self, X)
        labels, models = self.classes_.tolist(), self.estimators_
        p = [label_probabilities(model, X, labels)[:, 1] for model in models]
        if self._maps is not None:
            # The map was fitted to scores of single models, whose distribution is not
            # that of an average.
            groups, models = self._group_classes, self.group_estimators_
            q = [label_probabilities(model, X, groups) for model in models]
            folds = range(max(len(p), len(q)))  # a frozen model goes with all others
            p = [
                self._maps(p[i % len(p)], q[i % len(q)], self.strength_) for i in folds
            ]
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
        reached = self.predict_proba(X)[:, 1] >= self.threshold_
        return np.asarray(self.classes_[reached.astype(np.intp)])

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_parameters(self)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1, alternative="None or ")

    def _threshold_of(self, models: list[Any]) -> float:
        """Return the parameter `threshold`, by default that of fitted classifiers."""
        return decision_threshold(models) if self.threshold is None else self.threshold
