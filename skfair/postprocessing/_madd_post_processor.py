"""A classifier that repairs the scores of another, inside any pipeline or search."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from skfair._comparison import PlainComparison
from skfair._mitigation import FittedTable, route_fit_params
from skfair._training_rows import TrainingRows
from skfair._utils._types import Floats
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_real,
    check_scores,
)
from skfair.groups import Selector
from skfair.postprocessing._calibration import BetaCalibration
from skfair.postprocessing._group_repairer import GroupRepairer
from skfair.postprocessing._held_out import (
    MeanVote,
    average_repeats,
    fit_all,
    held_out_rows,
    join_rows,
    label_probabilities,
)
from skfair.postprocessing._judgement import judge_classifier, repair_held_out
from skfair.postprocessing._linear_cdf import distributions, tied_shares
from skfair.postprocessing._repair_losses import (
    LossOptions,
    RepairGrid,
    choose_level,
    gap_losses,
    parts_of,
    repair_losses,
)
from skfair.postprocessing._score_repairer import ScoreRepairer, check_repair_options


class MADDPostProcessor(
    GroupRepairer,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Classifier whose scores are repaired, so that groups get like distributions.

    It fits `estimator`, learns the score distributions of the groups on held-out rows,
    and moves each of them towards the distribution of everyone, see `ScoreRepairer`.
    The level of repair is given, or it is the least whose total loss

    .. math::
        (1 - \theta) \, \mathrm{AccuracyLoss}(\lambda)
        + \theta \, \mathrm{FairnessLoss}(\lambda)

    is within one standard error of the minimum. Or the largest gap between groups is
    given, `max_mcdp`.

    With `control_features` all of this is within strata, see `ScoreRepairer`: in each
    department, or among the positives, whose maps then hold for all rows.

    Predictions need the group of each row. People with the same features get different
    scores in different groups, by design: check first whether the law allows that.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, for two classes. In a
        :class:`~sklearn.frozen.FrozenEstimator` it is not fitted again, and the repair
        is learnt on the rows given to `fit`, on which it must not have been trained.
    repair_level : float in [0, 1] or "auto", default="auto"
        0 leaves scores as they are, 1 gives all groups the same distribution. Leave it
        at ``"auto"`` if `max_mcdp` is given.
    max_mcdp : float in [0, 1] or None, default=None
        Largest MCDP(0) allowed between any two groups, in place of a level: the
        distributions are moved only where they are further apart, see `ScoreRepairer`.
        None repairs by `repair_level`.
    confidence : float in (0, 1) or None, default=None
        Probability with which the true gap, that of infinitely many new rows, is at
        most `max_mcdp`, see `ScoreRepairer`. It is `repairer_` that tells what is
        certified. The bound is proven for a `FrozenEstimator`. Averages of the models
        of folds keep it in simulations if these models are alike, as those of logistic
        regression are. It may fail where they differ, as trees do, and of a model
        fitted again to all rows, with ``ensemble=False``.
    theta : float in [0, 1], default=0.5
        Weight of the fairness loss.
    n_levels : int, default=101
        Number of levels, from 0 to 1, at which the losses are computed, or of gaps,
        from 0 to the one without repair, if `max_mcdp` is given.
    bandwidth : float in (0, 1] or "auto", default="auto"
        Bandwidth of MADD, see `skfair.metrics.madd`.
    accuracy_loss : {"zero_one", "log_loss"} or callable, default="zero_one"
        A callable is ``loss(y_true, y_score)``, smaller for better, with classes 0 and
        1, and ``sample_weight=`` if there are weights.
    fairness : {"madd", "mcdp"} or callable, default="madd"
        Fairness loss. ``"madd"`` is MADD / 2, which lies in [0, 1] as the zero-one loss
        does. Groups whose scores differ from all others' by no more than sampling
        noise do not count, see the notes. A callable is
        ``metric(y_true, y_score, sensitive_features=...)``, smaller for fairer, and
        ``sample_weight=`` if there are weights.
    threshold : float in [0, 1], default=0.5
        Least repaired score for which the second class is predicted.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    ensemble : bool or "auto", default="auto"
        Whether to average several models, as described in the notes. ``"auto"`` is
        True, except where more than a fifth of the rows of a group share a score, `cv`
        does not repeat its splits and no `confidence` is asked for.
    ties : {"mid", "random"}, default="mid"
        Whether rows that share a score stay together, see `ScoreRepairer`. `fit` warns
        where that keeps most of the disparity.
    calibrate : bool, default=False
        Whether to turn repaired scores into probabilities, by one increasing map for
        all groups that is fitted to held-out rows, see `ScoreRepairer`. It changes
        neither average precision nor MCDP(0); `threshold` applies to what it returns.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How predictions treat rows whose group is missing or was absent in `fit`: raise,
        or leave their scores as they are, as if they had the distribution of everyone.
        It may be set after `fit`. Rows with a missing group are never refused if `fit`
        has left such rows out, by ``encode_groups(..., missing="drop")``.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several for their intersection, or a function of X
        that returns the groups. The keyword of `fit` and `predict` is used in its
        place if it is given.
    drop_sensitive : bool, default=False
        Whether `estimator` gets X without the columns named by `sensitive_features`. X
        may then lack them in prediction, where groups are given by keyword.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared and repaired,
        several columns for their intersection, or a function of X that returns the
        strata. The keyword of `fit` and `predict` is used in its place if it is given.
        None compares groups among all rows. A column stays a feature.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds, and seeds ``ties="random"``,
        see `ScoreRepairer`. None keeps the order of the rows.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model without repair; for an ensemble, the mean of its models.
    repairer_ : ScoreRepairer or None
        The repair learnt on all held-out scores, for an ensemble on a common scale, see
        the notes; None without groups.
    estimators_ : list
        The models whose scores are repaired and then averaged, a single one without
        ensemble.
    repair_level_ : float or None
        Level of repair, given or chosen; None if `max_mcdp` is given.
    standard_error_ : float or None
        Standard error of the least total loss; None if a level or `max_mcdp` is given.
    losses_ : DataFrame of n_levels rows, or None
        Losses at each level, in the columns ``repair_level`` (``max_mcdp`` if that is
        given), ``total_loss``, ``accuracy_loss`` and ``fairness_loss``; None without
        groups. Of several strata they are means by weight; of a single one the fairness
        loss is that within it.
    calibrator_ : BetaCalibration or None
        The map from repaired scores to probabilities, see `ScoreRepairer`; None
        without `calibrate` or without groups.
    comparison_ : PlainComparison or None
        Average precision and MCDP(0) (within strata, if there are any) of repaired and
        of plain scores on held-out rows, with standard errors; None without groups.
        Those of an ensemble are on the common scale of its models, see the notes.
        Each row is repaired by what the other folds tell, or the other parts of the
        rows that a frozen model scored; of more than 100,000 rows, at most as many are
        held out. The gap of few rows is partly noise, which `expected_mcdp` tells of
        new rows.
    groups_ : tuple of length n_groups
        Labels of the groups.
    strata_ : tuple of length n_strata
        Labels of the strata that are repaired; empty without `control_features`.
    classes_ : ndarray of shape (2,)
        Class labels. Scores are probabilities of the second.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if all are strings.

    See Also
    --------
    ScoreRepairer : Repair of scores without a classifier.
    skfair.inspection.RepairDisplay : Plot of the losses and of the repair.
    RepairedRegressor : The same of predicted numbers.
    UnawarePostProcessor : Needs no group at prediction.
    skfair.inprocessing.MCDPReweighter : Trains with a penalty instead.

    Notes
    -----
    Choice of the level: ``"auto"`` takes the least level whose total loss is within one
    standard error of the minimum, so that sampling noise does not add to the repair.
    The standard error is that of a mean over the folds, or over five equal parts of
    the rows that a single model scored. The level is at most ``1 - 1.5 (m / D)**2``,
    rounded to one of the levels, where D is the distance of the CDFs of a group and
    all other rows, and m the mean of this distance between samples of one distribution
    (the group with the least ``m / D`` counts). A gap of few rows is partly noise, and
    a repair of that noise is a gap of new rows.

    Prediction of the fairness loss: repaired scores of group g follow
    ``(1 - level) * F_g + level * F``, so MADD and MCDP are predicted as ``1 - level``
    times their value without repair. Their values on repaired samples are not used,
    because they jump from level to level and do not fall below what sampling noise
    alone yields, see `skfair.metrics.permutation_test`. The prediction does not hold
    where ties are larger than sampling noise, as in a tree, and `ties` is ``"mid"``:
    there ``1 - level`` is replaced by the share of MCDP(0) that is left in the scores
    repaired at each level, since MADD jumps where shared scores cross the edge of a
    bin. With `max_mcdp` the share left is that of MCDP(0), too. A callable is computed
    on the scores repaired at each level.

    Sampling noise: MADD and MCDP compare the groups whose CDFs are further from that
    of all other rows than the bound of Dvoretzky, Kiefer, Wolfowitz and Massart, at
    95 % for all groups at once (a single such group with all other rows, which two
    groups are anyway). If there is none, the fairness loss is 0.

    Ensembles: ``ensemble=True`` keeps the model of every fold, repairs the scores of
    each by the one map learnt on the rows that all folds held out, and averages the
    repaired scores. Models of different folds may be more or less sure of themselves:
    the map is learnt and applied on the scale on which the scores of everyone have the
    same distribution for each of them. If more than a
    fifth of the rows of a group share a score and `cv` repeats its splits, as
    `RepeatedStratifiedKFold` does, it keeps one model of each repeat, averages their
    scores, and learns one repair on averages of as many held-out scores.
    ``ensemble=False`` fits one model to all rows and repairs it by the held-out scores
    of the models of the folds, whose distribution differs a little. MCDP(0) of the
    ensemble and of the refitted model after full repair: boosting 0.032 and 0.040 on
    Adult, 0.078 and 0.097 on Bank. Models whose rows share scores, such as trees,
    forests and neighbours, need repeated splits and ``ties="random"``: forests 0.020 on
    Adult and 0.056 on Bank; refitted forests 0.024 and 0.050, but less accurate.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Equations 11 to 19.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.metrics import mcdp
    >>> from skfair.postprocessing import MADDPostProcessor
    >>> X, y = make_biased_classification(
    ...     4000, score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> model = MADDPostProcessor(
    ...     LogisticRegression(), sensitive_features="group", drop_sensitive=True
    ... )
    >>> scores = model.fit(X, y).predict_proba(X)[:, 1]
    >>> bool(mcdp(y, scores, sensitive_features=X["group"]) < 0.03)  # 0.28 without
    True

    Equal opportunity: like distributions of the scores of positives.

    >>> import numpy as np
    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y == 1, "positive", None), missing="drop")
    >>> scores = model.fit(X, y, control_features=positives).predict_proba(X)[:, 1]
    >>> among = {"sensitive_features": X["group"], "control_features": positives}
    >>> bool(mcdp(y, scores, **among) < 0.05)  # 0.20 without
    True
    """

    losses_ = FittedTable()

    def __init__(
        self,
        estimator: Any,
        *,
        repair_level: float | Literal["auto"] = "auto",
        max_mcdp: float | None = None,
        confidence: float | None = None,
        theta: float = 0.5,
        n_levels: int = 101,
        bandwidth: float | Literal["auto"] = "auto",
        accuracy_loss: str | Callable[..., float] = "zero_one",
        fairness: str | Callable[..., float] = "madd",
        threshold: float = 0.5,
        cv: Any = 5,
        ensemble: bool | Literal["auto"] = "auto",
        ties: Literal["mid", "random"] = "mid",
        calibrate: bool = False,
        unknown_groups: Literal["raise", "pooled"] = "raise",
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.repair_level = repair_level
        self.max_mcdp = max_mcdp
        self.confidence = confidence
        self.theta = theta
        self.n_levels = n_levels
        self.bandwidth = bandwidth
        self.accuracy_loss = accuracy_loss
        self.fairness = fairness
        self.threshold = threshold
        self.cv = cv
        self.ensemble = ensemble
        self.ties = ties
        self.calibrate = calibrate
        self.unknown_groups = unknown_groups
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
        """Fit the classifier, and learn the repair of its scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that `estimator` takes. With a `FrozenEstimator`
            these are the rows on which the repair is learnt.
        y : array-like of shape (n_samples,)
            Class labels of two classes.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, used in place of the columns that the parameter names.
            Of several, each is repaired by itself, all by one level, and predictions
            need the stratum of each row. The maps of a single stratum, with all other
            rows in none (code -1 of a `Groups`), hold for all rows: the positives, for
            instance.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the repair, and in the fit of an estimator that
            takes them.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it where metadata
            routing is enabled.

        Returns
        -------
        self : MADDPostProcessor

        Raises
        ------
        ValueError
            If y does not have two classes, on wrong lengths, on fewer than two groups,
            and on parameters out of range.
        TypeError
            If `estimator` has no `predict_proba`.

        Warns
        -----
        UserWarning
            If no groups are given: the classifier is then fitted without repair. If
            strata or groups cannot be compared, and are left out.
        skfair.exceptions.MitigationWarning
            If held-out rows show no gain, or show that the repair is worse than no
            repair, that it misses `max_mcdp` by more than noise, that `max_mcdp` does
            not hold with the probability `confidence`, that shared scores keep most of
            the disparity, or that the level chosen or `max_mcdp` costs more than half
            of what average precision exceeds the share of positive rows by.
        """
        self._check_estimator()
        self._check_parameters()
        given = X, y, sensitive_features, control_features, sample_weight
        rows = self._prepare(*given, all_strata=True)
        routed = route_fit_params(
            self, sensitive_features, fit_params, rows.sample_weight
        )
        for_fit, labels = routed.estimator.fit, self.classes_[rows.y]
        if not self.groups_:
            return self._keep_plain(fit_all(self.estimator, rows.X, labels, for_fit))
        folds = self._predict_held_out(X, rows, labels, self.classes_.tolist(), routed)
        held_out = [held_out_rows(fold, rows) for fold in folds]
        averages = self.ensemble
        if averages and len(folds) > 1 and share_scores(held_out):
            folds = average_repeats(folds, len(rows))
            held_out = [held_out_rows(fold, rows) for fold in folds]
            # A refit has scores of its own, of which held-out rows tell little.
            averages = averages is True or self.confidence is not None
        self.estimators_ = [fold.model for fold in folds]
        if len(folds) > 1 and not averages:
            self.estimators_ = [fit_all(self.estimator, rows.X, labels, for_fit)]
        self._learn_repair(held_out, len(rows))
        return self

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        if self.repair_level != "auto":
            check_real(
                "repair_level", self.repair_level, 0, 1, alternative="'auto' or "
            )
        check_repair_options(self, self.repair_level, default="auto")
        check_real("theta", self.theta, 0, 1)
        check_real("threshold", self.threshold, 0, 1)
        check_integer("n_levels", self.n_levels, 2)
        if not callable(self.accuracy_loss):
            check_choice("accuracy_loss", self.accuracy_loss, ("zero_one", "log_loss"))
        if not callable(self.fairness):
            check_choice("fairness", self.fairness, ("madd", "mcdp"))
        check_choice("ensemble", self.ensemble, (True, False, "auto"))

    def _keep_plain(self, estimator: Any) -> Self:
        """Predict with one fitted classifier, without repair."""
        self.estimator_, self.estimators_ = estimator, [estimator]
        self.repairer_ = None
        self.losses_ = None
        self.standard_error_: float | None = None
        self.repair_level_: float | None = 0.0
        self.calibrator_: BetaCalibration | None = None
        self.comparison_: PlainComparison | None = None
        return self

    def _learn_repair(self, folds: list[TrainingRows], n_samples: int) -> None:
        """Learn the level and the repair, one for the models of all folds."""
        folds = self._put_on_common_scale(folds, "probability")
        rows, parts = join_rows(folds), parts_of(folds)
        options = LossOptions(*(getattr(self, name) for name in LossOptions._fields))
        grids = RepairGrid.by_stratum(rows, options)
        self._choose_amount(grids, parts, n_samples, options)
        repairer = ScoreRepairer(
            1.0 if self.repair_level_ is None else self.repair_level_,
            max_mcdp=self.max_mcdp,
            confidence=self.confidence,
            ties=self.ties,
            unknown_groups=self.unknown_groups,
            random_state=self.random_state,
        )
        held_out, repaired = repair_held_out(rows, parts, repairer)
        self.calibrator_ = None
        if self.calibrate:
            self.calibrator_ = BetaCalibration.fit(
                repaired, held_out.y == 1, held_out.sample_weight
            )
        self.repairer_ = repairer
        if rows.strata is None:
            repairer._learn(grids[0].groups)
        else:
            repairer._learn_rows(rows, warn=False)
        repairer._left_rows_out = self._leaves_rows_out
        self.estimator_ = self.estimators_[0]
        if len(self.estimators_) > 1:
            self.estimator_ = MeanVote(self.estimators_)
        self.comparison_ = judge_classifier(self, grids, held_out, repaired)
        repairer._warn_of_gap(self)

    def _choose_amount(
        self,
        grids: list[RepairGrid],
        parts: list[NDArray[np.intp]],
        n_samples: int,
        options: LossOptions,
    ) -> None:
        """Compute the losses of all levels, and choose one unless it is given."""
        self.standard_error_ = None
        if self.max_mcdp is not None:
            self.losses_ = gap_losses(grids, self.n_levels, options)
            self.repair_level_ = None
            return
        levels = np.arange(self.n_levels) / (self.n_levels - 1)
        self.losses_ = repair_losses(grids, levels, options)
        if self.repair_level == "auto":
            choice = choose_level(self.losses_, grids, parts, n_samples, options)
            self.repair_level_, self.standard_error_ = choice
        else:
            self.repair_level_ = float(self.repair_level)

    def expected_mcdp(self, n_samples: int | Mapping[Hashable, int]) -> float:
        """Return the MCDP(0) to expect of a sample of new rows, its noise included.

        Parameters
        ----------
        n_samples : int or dict
            Number of new rows, or the number in each group, see
            `ScoreRepairer.expected_mcdp`.

        Returns
        -------
        float
            Mean of simulated samples; that of an ensemble is on the common scale.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If nothing is repaired, and as in `ScoreRepairer.expected_mcdp`.
        """
        check_is_fitted(self, "estimator_")
        if self.repairer_ is None:
            raise ValueError("The classifier is the plain one: nothing is repaired.")
        return self.repairer_.expected_mcdp(n_samples)

    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> Floats:
        """Predict repaired probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, needed if `fit` has repaired several; used in place of
            the columns that the parameter names.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Repaired scores of `classes_`, which are probabilities if `calibrate`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If no groups are given, on wrong lengths, and on groups that are missing or
            were absent in `fit`, unless `unknown_groups` is ``"pooled"``.
        """
        features = self._check_predict_input(X, "estimator_")
        labels = self.classes_.tolist()
        predicted = [
            check_scores(label_probabilities(model, features, labels)[:, 1], "scores")
            for model in self.estimators_
        ]
        scores = self._repaired(X, predicted, sensitive_features, control_features)
        if self.calibrator_ is not None:
            scores = self.calibrator_(scores)
        return np.column_stack([1 - scores, scores])

    def predict(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> NDArray[Any]:
        """Predict classes: the second where its repaired score reaches `threshold`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, needed if `fit` has repaired several; used in place of
            the columns that the parameter names.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.

        Raises
        ------
        ValueError
            As in `predict_proba`.
        """
        scores = self.predict_proba(
            X, sensitive_features=sensitive_features, control_features=control_features
        )[:, 1]
        return self._second_class_where(scores >= self.threshold)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
    ) -> float:
        """Accuracy of `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, needed if `fit` has repaired several; used in place of
            the columns that the parameter names.

        Returns
        -------
        float
            Share of rows predicted correctly.

        Raises
        ------
        ValueError
            As in `predict_proba`.
        """
        predicted = self.predict(
            X, sensitive_features=sensitive_features, control_features=control_features
        )
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def share_scores(parts: list[TrainingRows]) -> bool:
    """Whether more than a fifth of the rows of a group share a score.

    Averages of several models then have another distribution than each model's scores.
    """
    # Measured on Adult and Bank: below 0.14 (boosting, shallow trees) the ensemble is
    # fairer, above 0.24 (forests, neighbours) a refit with ties at random is.
    return bool((tied_shares(distributions(join_rows(parts))) > 0.2).any())
