"""Classifier whose scores are repaired by the group of each row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison
from skfair._mitigation import (
    ROUTED,
    FitInputs,
    PredictsWithinStrata,
    as_table,
    check_estimator,
    check_fit_inputs,
    fit_all,
    route_fit_params,
)
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._response import decision_threshold
from skfair._utils._validation import check_choice, check_real
from skfair.groups import Selector
from skfair.postprocessing._fold_repair import (
    MeanRepair,
    learn_repair,
    repair_predictions,
    score_held_out,
)
from skfair.postprocessing._repair_losses import choose_amount, losses_by_stratum
from skfair.postprocessing._repair_map import (
    RepairMap,
    check_max_mcdp,
    check_ties_and_unknown_groups,
)
from skfair.postprocessing._score_repairer import ScoreRepairer, make_repairer

#: With at least this many rows a stratum, strata of one class each are not a
#: coincidence.
_ROWS_OF_LABELS = 10


class MADDPostProcessor(
    PredictsWithinStrata,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Classifier whose scores are repaired, so that groups get similar distributions.

    It fits `estimator`, learns the score distributions of the groups on held-out rows,
    and moves each of them towards the distribution of everyone, see `ScoreRepairer`.
    The level of repair is given, or it is the smallest whose total loss

    .. math::
        (1 - \theta) \, \mathrm{AccuracyLoss}(\lambda)
        + \theta \, \mathrm{FairnessLoss}(\lambda)

    is within one standard error of the minimum. Or the largest gap between groups is
    given, `max_mcdp`: it holds for the population from which the rows were drawn, in
    expectation over such draws, and `fit` warns where the rows do not show that it
    does. A gap that holds with a probability is that of `ScoreRepairer` with its
    `confidence_level`.

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
    max_mcdp : float in [0, 1] or None, default=None
        Largest MCDP(0) allowed between any two groups of the population, in place of a
        level: the distributions are moved only where they are further apart, see
        `ScoreRepairer`. The repair aims lower by what new rows add, see the notes. 0
        repairs in full. None repairs by `repair_level`.
    repair_level : float in [0, 1] or "auto", default="auto"
        0 leaves scores as they are, 1 gives all groups the same distribution. Leave it
        at ``"auto"`` if `max_mcdp` is given.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several for their intersection, or a function of X
        that returns the groups. The keyword of `fit` and `predict` is used in its place
        if it is given. In a meta-estimator that leaves columns out, such as
        `BaggingClassifier`, a position names another column: route the groups there.
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
    threshold : float in [0, 1] or None, default=None
        Least repaired score for which the second class is predicted. None takes the
        threshold of `estimator`, see `threshold_`.
    ties : {"mid", "random"}, default="mid"
        Whether rows that share a score stay together, see `ScoreRepairer`: together
        they keep much of the disparity of few distinct scores.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How predictions treat rows whose group is missing or was absent in `fit`: raise,
        or leave their scores as they are. It may be set after `fit`.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    theta : float in [0, 1], default=0.5
        Weight of the fairness loss.
    accuracy_loss : {"zero_one", "log_loss"} or callable, default="zero_one"
        A callable is ``loss(y_true, y_score)``, smaller for better, with classes 0 and
        1, and ``sample_weight=`` if there are weights.
    fairness : {"madd", "mcdp"} or callable, default="madd"
        Fairness loss. ``"madd"`` is MADD / 2, which lies in [0, 1] as the zero-one loss
        does. Groups whose scores differ from all others' by no more than sampling
        noise do not count, see the notes. A callable is
        ``metric(y_true, y_score, sensitive_features=...)``, smaller for fairer, and
        ``sample_weight=`` if there are weights.

    Attributes
    ----------
    estimators_ : list
        The models of the folds, whose scores are repaired and then averaged; a single
        one if it is frozen or no groups are given.
    repairer_ : ScoreRepairer or None
        The repair learnt on all held-out scores; None without groups. Its `max_mcdp` is
        the gap that is aimed at.
    threshold_ : float
        The `threshold` given, or else the threshold of the classifier.
        :class:`~sklearn.model_selection.FixedThresholdClassifier` and
        :class:`~sklearn.model_selection.TunedThresholdClassifierCV` have their own
        (also as the last step of a pipeline or in a search), of which the median over
        folds is taken. For any other classifier it is the smallest number above 0.5.
    repair_level_ : float or None
        Level of repair, given or chosen; None if `max_mcdp` is given.
    standard_error_ : float or None
        Standard error of the smallest total loss; None if a level or `max_mcdp` is
        given.
    losses_ : dict of ndarray of shape (101,), or None
        Losses at levels from 0 to 1, or at gaps from 0 to the one without repair, in
        the columns ``repair_level`` (``max_mcdp`` if that is given), ``total_loss``,
        ``accuracy_loss`` and ``fairness_loss``; None without groups. Over strata they
        are means by weight.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any) of repaired and
        of plain scores on held-out rows, with standard errors; None without groups.
        Each row is repaired by a map that is learnt from the other folds, or the other
        fifths of the rows that a frozen model scored. Gaps are those to expect in many
        new rows; with `max_mcdp`, the gap of the repaired scores is the one by which
        the repair was found.
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
    skfair.inspection.BeforeAfterDisplay : Draws the scores before and after.
    RepairedRegressor : The same for predicted numbers.
    UnawarePostProcessor : Needs no group at prediction.
    skfair.inprocessing.MCDPReweighter : Trains one classifier on fair scores.

    Notes
    -----
    ``"auto"`` takes the smallest level whose total loss is within one standard error of
    the minimum, so that sampling noise does not add to the repair. MADD and MCDP after
    a repair are predicted as ``1 - level`` times their value without it. Their values
    on repaired samples would jump, and would not fall below what noise alone yields.
    With `max_mcdp`, or where many rows share scores and `ties` is ``"mid"``, the share
    of MCDP(0) that is left takes the place of ``1 - level``. A group counts in the
    fairness loss if its CDF is further from the CDF of all other rows than noise
    reaches in 95 % of large samples, by the bound of a Brownian bridge.

    New rows show a larger gap than the rows from which the repair is learnt. Random
    halves of each group tell how much larger, since a half varies about all rows as all
    rows vary about the population. So a repair is learnt from a half, and the gap that
    it leaves in all rows, smoothed as the repair smooths them, stands for the gap in
    the population after the repair learnt from all rows. A narrower band brings the
    mean of this gap over 20 halves (four, of 25,000 rows or more) to `max_mcdp`. Where
    even the narrowest band leaves more, the widest band that leaves at most 5 % more
    than the narrowest is taken. Groups of fewer than 50 rows do not narrow the band of
    others, nor do groups of fewer than 200 rows that no band brings below `max_mcdp`.
    If such groups keep more of the gap, a warning names them, and has the gap to expect
    with and without them. Another warning tells where the gap to expect is above 1.15
    times `max_mcdp`. Where rows share scores, repairs of halves are applied to the
    predictions of all models for the rows of `fit`, and the mean of the repaired
    predictions is measured.

    One map is learnt from the rows that all folds held out. It repairs the scores of
    each model, whose mean is predicted. The map is learnt from scores of single models:
    where rows share scores, as around trees, the mean of all models may have a larger
    gap in the rows of `fit`, and `comparison_` adds the excess to both gaps. With
    ``ties="random"`` rows that share a score of one of several models are spread over
    the scores of everyone at their heights.

    Repaired scores are not calibrated: a
    `~sklearn.calibration.CalibratedClassifierCV` around the fitted model does that.

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
    ...     2000, score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> model = MADDPostProcessor(
    ...     LogisticRegression(), sensitive_features="group", drop_sensitive=True
    ... )
    >>> scores = model.fit(X, y).predict_proba(X)[:, 1]
    >>> bool(mcdp(y, scores, sensitive_features=X["group"]) < 0.03)  # 0.28 without
    True

    Equal opportunity: similar distributions of the scores of positives.

    >>> import numpy as np
    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y == 1, "positive", None), missing="drop")
    >>> scores = model.fit(X, y, control_features=positives).predict_proba(X)[:, 1]
    >>> among = {"sensitive_features": X["group"], "control_features": positives}
    >>> bool(mcdp(y, scores, **among) < 0.05)  # 0.20 without
    True
    """

    __metadata_request__fit: ClassVar = ROUTED
    __metadata_request__predict: ClassVar = ROUTED
    __metadata_request__predict_proba: ClassVar = ROUTED

    def __init__(
        self,
        estimator: Any,
        *,
        max_mcdp: float | None = None,
        repair_level: float | Literal["auto"] = "auto",
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: int | np.random.RandomState | None = None,
        threshold: float | None = None,
        ties: Literal["mid", "random"] = "mid",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        cv: Any = 5,
        n_jobs: int | None = None,
        theta: float = 0.5,
        accuracy_loss: str | Callable[..., float] = "zero_one",
        fairness: str | Callable[..., float] = "madd",
    ) -> None:
        self.estimator = estimator
        self.max_mcdp = max_mcdp
        self.repair_level = repair_level
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.threshold = threshold
        self.ties = ties
        self.unknown_groups = unknown_groups
        self.cv = cv
        self.n_jobs = n_jobs
        self.theta = theta
        self.accuracy_loss = accuracy_loss
        self.fairness = fairness

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
        """Fit the estimator on folds, and learn the repair of its predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that `estimator` takes. With a
            `FrozenEstimator` these are the rows on which the repair is learnt.
        y : array-like of shape (n_samples,)
            Class of each row, one of two; for a regressor its target, a number.
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
            takes them; a pipeline passes them to its last step.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it where metadata
            routing is enabled; `groups` to a splitter that is `cv`.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If y does not have two classes, or a target is not finite; on wrong lengths,
            fewer than two groups, fewer rows than folds, strata that tell the class,
            and on parameters out of range.
        TypeError
            If a classifier has no `predict_proba`, or `estimator` is of another kind.

        Warns
        -----
        UserWarning
            If no groups are given: the estimator is then fitted without repair. If
            strata or groups cannot be compared, and are left out.
        skfair.exceptions.MitigationWarning
            If held-out rows show no gain, or do not show that `max_mcdp` is kept for
            new rows.
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
            all_strata=True,
            without_groups="nothing is repaired",
        )
        refuse_labels_as_strata(inputs)
        rows, weights = inputs.rows, inputs.rows.weight
        self.classes_, self.groups_ = inputs.classes, rows.labels
        self.strata_, self._dropped = inputs.strata, inputs.dropped
        routed = route_fit_params(
            self, sensitive_features, fit_params, weights, cv=self.cv
        )
        self._repair: MeanRepair | None = None
        self.repairer_: ScoreRepairer | None = None
        self.comparison_: Comparison | None = None
        self.repair_level_: float | None = 0.0
        self.standard_error_: float | None = None
        self.losses_: dict[str, Floats] | None = None
        if not rows.labels:
            params = routed.estimator.fit
            model = fit_all(self.estimator, inputs.X, inputs.target, params)
            self.estimators_, self.threshold_ = [model], self._find_threshold([model])
            return self
        tasks = Tasks(self)
        held_out = score_held_out(self, inputs, routed, tasks)
        self.estimators_ = held_out.models
        self.threshold_ = self._find_threshold(held_out.models)
        losses = losses_by_stratum(held_out.rows, self)
        amount = choose_amount(losses, self, len(held_out.rows) / len(rows))
        self.repair_level_, self.losses_ = amount.level, amount.losses
        self.standard_error_ = amount.standard_error
        level = 1.0 if amount.level is None else amount.level
        repair_map = RepairMap(level, max_mcdp=self.max_mcdp, ties=self.ties)
        self._repair, self.comparison_ = learn_repair(
            self, inputs, held_out, repair_map
        )
        self.repairer_ = make_repairer(
            self._repair.map, self.unknown_groups, self.random_state
        )
        tasks.end()
        return self

    def predict_proba(
        self,
        X: Any,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
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
            Repaired scores of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If no groups are given, on wrong lengths, and on groups that are missing or
            were absent in `fit`, unless `unknown_groups` is ``"pooled"``.
        """
        check_is_fitted(self, "estimators_")
        scores = repair_predictions(
            self, self._repair, X, sensitive_features, control_features
        )
        return np.column_stack([1 - scores, scores])

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Predict classes: the second where its repaired score reaches `threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `predict_proba`.
        sensitive_features, control_features : object, default=None
            As in `predict_proba`.

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
        return np.asarray(self.classes_[(scores >= self.threshold_).astype(np.intp)])

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
            Mean of simulated samples, with scores of one model each.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If nothing is repaired, and as in `ScoreRepairer.expected_mcdp`.
        """
        check_is_fitted(self, "estimators_")
        if self.repairer_ is None:
            raise ValueError("The classifier is the plain one: nothing is repaired.")
        return self.repairer_.expected_mcdp(n_samples)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_estimator(self)
        if self.repair_level != "auto":
            check_real(
                "repair_level", self.repair_level, 0, 1, alternative="'auto' or "
            )
        check_ties_and_unknown_groups(self)
        check_max_mcdp(self.max_mcdp, self.repair_level, default="auto")
        check_real("theta", self.theta, 0, 1)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1, alternative="None or ")
        if not callable(self.accuracy_loss):
            check_choice("accuracy_loss", self.accuracy_loss, ("zero_one", "log_loss"))
        if not callable(self.fairness):
            check_choice("fairness", self.fairness, ("madd", "mcdp"))

    def _find_threshold(self, models: list[Any]) -> float:
        """Return the given threshold, or by default that of fitted classifiers."""
        return decision_threshold(models) if self.threshold is None else self.threshold


def refuse_labels_as_strata(inputs: FitInputs) -> None:
    """Raise if the strata reveal the class, which is not known at prediction."""
    rows, strata = inputs.rows, inputs.rows.strata
    if strata is None or len(inputs.strata) < 2:
        return
    chosen = strata.codes >= 0
    counts = np.zeros((len(strata.labels), 2), dtype=np.intp)
    np.add.at(counts, (strata.codes[chosen], rows.y_true[chosen]), 1)
    pure = (counts > 0).sum(axis=1) <= 1
    many = counts.sum() >= _ROWS_OF_LABELS * (counts.sum(axis=1) > 0).sum()
    if pure.all() and many and counts.any(axis=0).all():
        raise ValueError(
            "control_features tells the class of each row, of which each stratum "
            "has one: predictions would need the class that they predict. For "
            "equal opportunity give the positives as a single stratum, "
            "encode_groups(np.where(y == "
            f"{inputs.classes.tolist()[1]!r}, 'positive', None), missing='drop')."
        )
