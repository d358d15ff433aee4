"""A classifier whose scores are made fair without the group of the row predicted."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator

from skfair._comparison import PlainComparison, compare_with_plain
from skfair._mitigation import MetaMitigator
from skfair._training_rows import TrainingRows
from skfair.groups import Selector
from skfair.postprocessing._group_predictor import GroupPredictor, weights_for
from skfair.postprocessing._held_out import label_probabilities
from skfair.postprocessing._score_map import Performance, ScoreMap


class UnawarePostProcessor(
    GroupPredictor,
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
    group_estimator : classifier, default=None
        Classifier with `predict_proba` that predicts the group from the same features.
        It is fitted to the positions of the groups in `groups_`. In a
        :class:`~sklearn.frozen.FrozenEstimator` its classes must be the groups. None is
        a clone of `estimator`.
    strength : float or "auto", default="auto"
        Weight :math:`\lambda \geq 0` of the gap; 0 is the plain classifier. It is
        multiplied by the variance of the labels over that of balanced ones, as in
        `MCDPReweighter`, so that it means about the same where positives are rare.
        ``"auto"`` tries strengths at which the gap falls to 0 in 20 steps. It takes the
        least one that, on held-out rows, keeps 95 % of the plain average precision and
        whose MCDP(0) is within one standard error of the least among those. It is 0 if
        the plain MCDP(0) is no larger than groups of one distribution read in 95 % of
        samples.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True: then both classifiers
        see the group, at prediction too.
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
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    estimators_ : list
        The fitted classifiers, one a fold. New scores are averaged over folds.
    group_estimators_ : list
        The fitted classifiers of the group, one a fold; empty if no groups are given.
    strength_ : float
        The strength, given or chosen.
    path_ : DataFrame
        What each strength reaches on held-out rows, by maps that were fitted to other
        held-out rows: for ``"auto"`` all strengths tried, else 0 and `strength`. It has
        the columns of the ``cv_results_`` of a search, with the metrics
        ``average_precision`` and ``neg_mcdp``, and can be given to
        `skfair.inspection.TradeOffDisplay.from_cv_results` and to the rules of
        `skfair.model_selection`. ``mean_test_`` is the value on all held-out rows
        together, ``std_test_`` its standard deviation over folds. Empty if no groups
        are given.
    comparison_ : PlainComparison or None
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
        In `fit`, if the held-out rows show no gain, and if ``strength="auto"`` finds no
        strength that helps although there is a gap.

    See Also
    --------
    MADDPostProcessor : Repairs scores by the group of each row predicted.
    skfair.inprocessing.MCDPReweighter : Trains a classifier in rounds.
    UnawareRegressor : The same of predicted numbers.

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
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex, which is no feature itself
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
    _map: ScoreMap | None
    comparison_: PlainComparison | None

    def __init__(
        self,
        estimator: Any,
        *,
        group_estimator: Any = None,
        strength: float | Literal["auto"] = "auto",
        cv: Any = 5,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.group_estimator = group_estimator
        self.strength = strength
        self.cv = cv
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        """Fit both classifiers on folds, and the map to the rows held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that both classifiers take. With a
            `FrozenEstimator` these are the rows to which the map is fitted.
        y : array-like of shape (n_samples,)
            Class of each row, one of two.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` count in the log-loss only.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. The gap is then the mean of the gaps within strata, by
            the weight of their rows. It takes precedence over the parameter of the same
            name. The true label is a stratum, too; rows without a stratum in a `Groups`
            count in the log-loss only, see the example.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows in the map, and in the fits of classifiers
            that take them.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it if metadata
            routing is enabled. Values with n_samples entries are indexed like the rows.

        Returns
        -------
        self : UnawarePostProcessor

        Raises
        ------
        ValueError
            If y does not have two classes, if lengths differ, if fewer than two groups
            have weight, if a class has fewer rows than there are folds, and if a
            parameter is out of range.
        TypeError
            If a classifier has no `predict_proba`.

        Warns
        -----
        UserWarning
            If no groups are given and `strength` is not 0: the classifier is fitted
            without a map. If strata or groups cannot be compared, and are left out of
            the gap.
        skfair.exceptions.MitigationWarning
            If the held-out rows show no gain. If ``strength="auto"`` finds no strength
            that helps although there is a gap.
        """
        return self._fit(
            X, y, sensitive_features, control_features, sample_weight, fit_params
        )

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
        return model._choose_map()

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
            label_probabilities(one, X, labels)[:, 1] for one in models
        ]
        if self._map is not None:
            # The map was fitted to scores of single models. Those of an average have
            # another distribution.
            groups, models = self._group_classes, self.group_estimators_
            q = [label_probabilities(one, X, groups) for one in models]
            folds = range(max(len(p), len(q)))  # a frozen model goes with all others
            p = [self._map(p[i % len(p)], q[i % len(q)]) for i in folds]
        mean = np.mean(p, axis=0)
        return np.column_stack([1 - mean, mean])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the larger new probability.

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
        return self._second_class_where(self.predict_proba(X)[:, 1] > 0.5)

    def _default_group_model(
        self, rows: TrainingRows, routed: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return a copy of the classifier, not fitted, and its fit parameters."""
        weights = rows.sample_weight
        if isinstance(self.estimator, FrozenEstimator):
            estimator = self.estimator.estimator
            return estimator, weights_for(estimator, weights)
        routing = get_config()["enable_metadata_routing"]
        given = routed.estimator.fit.items() if routing else ()
        params = {name: value for name, value in given if name == "sample_weight"}
        return self.estimator, params or weights_for(self.estimator, weights)

    def _compare(self, scores: ArrayLike) -> PlainComparison:
        """Compare new scores of the held-out rows with the plain ones."""
        return compare_with_plain(self._rows, self._rows.scores, scores)
