"""Classifier whose scores are repaired by the group of each row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import sem
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.metrics import log_loss
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison
from skfair._mitigation import (
    ROUTED,
    Given,
    PredictsWithinStrata,
    as_table,
    begin_fit,
    check_estimator,
    fit_all,
    groups_to_compare,
    keep_comparable,
    route_fit_params,
)
from skfair._rows import Rows, squares_by_group
from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._response import threshold_of
from skfair._utils._validation import check_choice, check_real
from skfair.groups import Selector, rows_by_code
from skfair.metrics._madd import MADD
from skfair.metrics._mcdp import MCDP
from skfair.metrics._quantiles import supremum_quantile
from skfair.postprocessing._fold_repair import (
    compare_repair,
    find_aim,
    make_repairer,
    predict_fitted,
    repair_predictions,
    score_held_out,
    spread_ties,
)
from skfair.postprocessing._score_repairer import (
    GroupCDFs,
    ScoreRepairer,
    check_repair_options,
    clipped,
    distributions,
    has_ties,
    interpolate,
    mixed,
)
from skfair.statistics._distributions import Distributions

#: Levels, or largest gaps, whose losses are computed.
_N_LEVELS = 101
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
    The level of repair is given, or it is the least whose total loss

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
        The threshold, given or that of the classifier: of a
        :class:`~sklearn.model_selection.FixedThresholdClassifier` or
        :class:`~sklearn.model_selection.TunedThresholdClassifierCV` (also as the last
        step of a pipeline or in a search) its own, of those of the folds the median; of
        any other the least number above 0.5.
    repair_level_ : float or None
        Level of repair, given or chosen; None if `max_mcdp` is given.
    standard_error_ : float or None
        Standard error of the least total loss; None if a level or `max_mcdp` is given.
    losses_ : dict of ndarray of shape (101,), or None
        Losses at levels from 0 to 1, or at gaps from 0 to the one without repair, in
        the columns ``repair_level`` (``max_mcdp`` if that is given), ``total_loss``,
        ``accuracy_loss`` and ``fairness_loss``; None without groups. Over strata they
        are means by weight.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any) of repaired and
        of plain scores on held-out rows, with standard errors; None without groups.
        Each row is repaired by a map that is learnt from the other folds, or the other
        fifths of the rows that a frozen model scored. Gaps are those to expect of many
        new rows; with `max_mcdp` that of the repaired scores is the one it is found by.
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
    ``"auto"`` takes the least level whose total loss is within one standard error of
    the minimum, so that sampling noise does not add to the repair. MADD and MCDP after
    a repair are predicted as ``1 - level`` times their value without it, since their
    values on repaired samples jump, and do not fall below what noise alone yields. With
    `max_mcdp`, or where many rows share scores and `ties` is ``"mid"``, the share of
    MCDP(0) that is left takes the place of ``1 - level``. Groups count in the fairness
    loss if their CDF is further from that of all other rows than noise is at 95 %, by
    the bound of Dvoretzky, Kiefer, Wolfowitz and Massart.

    New rows show a larger gap than those of which the repair is learnt. How much larger
    is estimated by halves of each group, drawn at random: the share of n rows below a
    score varies about that of the population as the share of a half of them does about
    that of all n. The gap of all rows, smoothed as the repair smooths them, after the
    repair of a half is thus that of the population after the repair of all rows. Its
    mean over 20 halves (four, of 25,000 rows or more) is brought to `max_mcdp` by a
    narrower band; where even the narrowest leaves more, the widest is taken that leaves
    at most 5 % more than that. Groups of less than 50 rows do not count in this, nor do
    those of less than 200 which no band brings below `max_mcdp`, so that they do not
    narrow the band of others. If they keep more of the gap, a warning names them, and
    has the gap to expect with and without them; there is one, too, where the gap to
    expect is above 1.15 times `max_mcdp`. Where rows share scores, repairs of halves
    are applied to what all models predict of the rows of `fit`, and their mean is
    measured.

    One map is learnt from the rows that all folds held out, and repairs the scores of
    each model, whose mean is predicted. It knows scores of single models: where rows
    share scores, as around trees, `comparison_` adds to both gaps what the mean of all
    models has more in the rows of `fit`. With ``ties="random"`` rows that share a score
    of one of several models are spread over the scores of everyone at their heights.

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
        columns = X, y, sensitive_features, control_features, sample_weight
        given = begin_fit(
            self, *columns, all_strata=True, without_groups="nothing is repaired"
        )
        refuse_labels_as_strata(given)
        rows, weights = given.rows, given.rows.weight
        self.classes_, self.groups_ = given.classes, rows.labels
        self.strata_, self._dropped = given.strata, given.dropped
        routed = route_fit_params(self, sensitive_features, fit_params, weights)
        self.repairer_: ScoreRepairer | None = None
        self.comparison_: Comparison | None = None
        self.repair_level_: float | None = 0.0
        self.standard_error_: float | None = None
        self.losses_: dict[str, Floats] | None = None
        if not rows.labels:
            params = routed.estimator.fit
            model = fit_all(self.estimator, given.X, given.target, params)
            self.estimators_, self.threshold_ = [model], self._threshold_of([model])
            return self
        tasks = Tasks(self)
        models, scored = score_held_out(self, given, routed, tasks)
        held_out, self._spread = spread_ties(self, scored, len(models))
        self.estimators_, self.threshold_ = models, self._threshold_of(models)
        strata = losses_by_stratum(held_out, self)
        amount = choose_amount(strata, self, len(held_out) / len(rows))
        self.repair_level_, self.standard_error_, self.losses_ = amount
        level = 1.0 if amount.level is None else amount.level
        options = {"repair_level": level, "max_mcdp": self.max_mcdp}
        fitted = predict_fitted(self, models, given, held_out, self._spread)
        aim = find_aim(self, held_out, fitted, options)
        if aim is not None:
            options["max_mcdp"] = aim.max_mcdp
        self.repairer_ = make_repairer(self, **options)
        self.repairer_._learn_rows(held_out, warn=False)
        self.repairer_._left_rows_out = given.ungrouped
        self.comparison_ = compare_repair(self, self.repairer_, held_out, fitted, aim)
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
        scores = repair_predictions(self, X, sensitive_features, control_features)
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
        check_repair_options(self, self.repair_level, default="auto")
        check_real("theta", self.theta, 0, 1)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1, alternative="None or ")
        if not callable(self.accuracy_loss):
            check_choice("accuracy_loss", self.accuracy_loss, ("zero_one", "log_loss"))
        if not callable(self.fairness):
            check_choice("fairness", self.fairness, ("madd", "mcdp"))

    def _threshold_of(self, models: list[Any]) -> float:
        """Return the threshold, that of fitted classifiers unless it is given."""
        return threshold_of(models) if self.threshold is None else self.threshold


def refuse_labels_as_strata(given: Given) -> None:
    """Raise if strata tell the class, which is not known at prediction."""
    rows, strata = given.rows, given.rows.strata
    if strata is None or len(given.strata) < 2:
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
            f"{given.classes.tolist()[1]!r}, 'positive', None), missing='drop')."
        )


class Amount(NamedTuple):
    """How much is repaired: a level that is given or chosen, None with `max_mcdp`.

    `error` is the standard error of the least total loss, None of a level that is
    given. `losses` are those of all amounts.
    """

    level: float | None
    error: float | None
    losses: dict[str, Floats]


def choose_amount(
    strata: list[StratumLosses], model: MADDPostProcessor, n_held_out: float
) -> Amount:
    """Compute the losses of all levels, and choose one unless it is given.

    Each row was held out so many times on average. Strata are independent.
    """
    steps = np.linspace(0, 1, _N_LEVELS)
    if model.max_mcdp is not None:
        largest = max(part.cdfs.largest_gap() for part in strata)
        return Amount(None, None, mean_losses(strata, largest * steps, "max_mcdp"))
    losses = mean_losses(strata, steps, "repair_level")
    if model.repair_level != "auto":
        return Amount(float(model.repair_level), None, losses)
    total = losses["total_loss"]
    # Rounding must not decide between levels of equal losses.
    least = steps[int((total <= total.min() + 1e-12).argmax())]
    errors = [part.standard_error(least) for part in strata]
    # Repeated splits hold the same rows out again: they do not add rows.
    error = np.linalg.norm(_shares(strata) * errors) * np.sqrt(max(1, n_held_out))
    level = float(steps[(total <= total.min() + error).argmax()])
    return Amount(level, float(error), losses)


class StratumLosses:
    """Losses of repairs of the rows of a stratum, or of all, by any amount.

    An amount is a level, or the largest gap allowed. Distributions and fairness are
    those of the rows that have a stratum, if there are strata.
    """

    def __init__(self, rows: Rows, model: MADDPostProcessor) -> None:
        self.rows, self.model = rows, model
        measured = _measured(rows)
        self.statistic = distributions(measured)
        # They are smoothed as the repair smooths them.
        self.cdfs = GroupCDFs.from_statistic(
            self.statistic, smooth=model.max_mcdp is not None
        )
        #: Positions of each group's rows in the order of their scores.
        self.members = [
            part[np.argsort(rows.y_pred[part])]
            for part in rows_by_code(rows.groups.codes, rows.n_groups)
        ]
        #: Heights that are repaired, by group: of its knots, or drawn for each row.
        self.heights = [cdf.middle for cdf in self.cdfs.cdfs]
        if model.ties == "random":
            random = check_random_state(model.random_state)
            draws, scores = random.uniform(size=len(rows)), rows.y_pred
            both = zip(self.cdfs.cdfs, self.members, strict=True)
            self.heights = [c.heights_of(scores[own], draws[own]) for c, own in both]
        #: Which groups the fairness loss compares.
        self.differing = _differing(measured, self.cdfs)

    def evaluate(self, amounts: Floats) -> Floats:
        """Return total, accuracy and fairness loss of each amount of repair."""
        all_measured = len(_measured(self.rows)) == len(self.rows)
        # Maps of scores that stay together are lines between the knots of the CDFs.
        by_height = all_measured or self.model.ties == "random"
        if self.model.accuracy_loss == "zero_one" and by_height:
            accuracy = self._error_rates(amounts)
        else:
            accuracy = self._repaired_losses(amounts, self._accuracy_loss)
        fairness = self._fairness(amounts)
        for name, losses in {"accuracy_loss": accuracy, "fairness": fairness}.items():
            if not np.isfinite(losses).all():
                raise ValueError(
                    f"{name} gives {losses[~np.isfinite(losses)][0]} on "
                    f"{len(self.rows)} rows of the groups "
                    f"{list(self.rows.labels)}, expected a number."
                )
        return np.stack([self._total(accuracy, fairness), accuracy, fairness])

    def _total(self, accuracy: Any, fairness: Any) -> Any:
        """Return the weighted sum of both losses."""
        return (1 - self.model.theta) * accuracy + self.model.theta * fairness

    def standard_error(self, amount: float) -> float:
        """Find the standard error of the mean total loss, over the folds of the rows.

        It is 0 if fewer than two folds have a loss.
        """
        rows, losses = replace(self.rows, y_pred=self._repaired(amount)), []
        for fold in range(int(rows.fold.max()) + 1):
            own = rows[rows.fold == fold]
            classes = np.bincount(own.y_true, minlength=2)
            if not (classes.all() and _measured(own).groups.sizes().all()):
                continue
            # A callable may need more rows than a fold has; all rows gave a number.
            with suppress(ValueError):
                loss = self._total(self._accuracy_loss(own), self._fairness_loss(own))
                losses += [loss] if np.isfinite(loss) else []
        return float(sem(losses)) if len(losses) > 1 else 0.0

    def _accuracy_loss(self, rows: Rows) -> float:
        """Return the accuracy loss of the scores of some rows as they are."""
        loss = self.model.accuracy_loss
        if loss == "zero_one":
            wrong = (rows.y_pred >= self.model.threshold_) != rows.y_true
            return float(np.average(wrong, weights=rows.weight))
        loss = loss if callable(loss) else log_loss
        return float(loss(rows.y_true, rows.y_pred, **_weight_keywords(rows)))

    def _fairness_loss(self, rows: Rows) -> float:
        """Return the fairness loss of the scores of some rows as they are."""
        loss: Any = self.model.fairness
        if callable(loss):
            rows = _measured(rows)
            # Those of other libraries expect the label of each row.
            labels = pd.Series(list(rows.labels), dtype=object).to_numpy()
            keywords = _weight_keywords(rows)
            keywords["sensitive_features"] = labels[rows.groups.codes]
            return float(loss(rows.y_true, rows.y_pred, **keywords))
        if not self.differing.any():
            return 0.0
        if loss == "mcdp":
            return self._gap(rows)
        return MADD().locate(self._compared_distributions(rows)).value / 2

    def _gap(self, rows: Rows) -> float:
        """Return MCDP(0) of the groups that are compared."""
        return MCDP().find_pair(self._compared_distributions(rows)).value

    def _compared_distributions(self, rows: Rows) -> Distributions:
        """Return score distributions of the groups that are compared."""
        return distributions(rows_compared(_measured(rows), self.differing))

    def _fairness(self, amounts: Floats) -> Floats:
        """Return the fairness loss of each amount of repair."""
        model = self.model
        if callable(model.fairness):
            return self._repaired_losses(amounts, self._fairness_loss)
        loss = self._fairness_loss(self.rows)
        tied = model.ties == "mid" and has_ties(self.statistic)
        if not loss or (not tied and model.max_mcdp is None):
            return np.asarray(loss * (1 - amounts))
        plain = self._gap(self.rows)
        left = np.minimum(amounts, plain)
        if tied:
            left = self._repaired_losses(amounts, self._gap)
        return np.asarray(loss * left / plain)

    def _repaired_losses(
        self, amounts: Floats, loss: Callable[[Rows], float]
    ) -> Floats:
        """Return the loss of the rows repaired by each amount."""
        repaired = map(self._repaired, amounts)
        return np.array([loss(replace(self.rows, y_pred=part)) for part in repaired])

    def _repaired(self, amount: float) -> Floats:
        """Return the scores of the rows repaired by an amount."""
        cdfs = self.cdfs
        scores: Floats = self.rows.y_pred
        by_gap = self.model.max_mcdp is not None
        repair = cdfs.clip_to_band if by_gap else cdfs.move_towards_pooled
        path = repair(float(amount))
        if not path.moves:
            return scores
        repaired = np.array(scores)
        for group, members in enumerate(self.members):
            values = cdfs.repaired_at(path, group, self.heights[group])
            if self.model.ties == "mid":
                knots = cdfs.cdfs[group].scores
                values = interpolate(scores[members], knots, values)
            repaired[members] = values
        return np.clip(repaired, 0, 1)

    def _error_rates(self, amounts: Floats) -> Floats:
        """Return the zero-one loss of each amount of repair.

        A repaired score reaches the threshold exactly where the height of the score in
        its group reaches that of the threshold in the repaired distribution. With
        random ties it is the expected loss.
        """
        rows, errors = self.rows, np.zeros(len(amounts))
        weights, targets = rows.weights, self._targets_at(amounts)
        draws = (None, None) if self.model.ties == "mid" else (0.0, 1.0)
        for group, members in enumerate(self.members):
            # A row at the least height reaches it, so the weight just below counts.
            just_below = np.nextafter(targets[group], -1)
            for positive in (0, 1):
                own = members[rows.y_true[members] == positive]
                if not len(own):
                    continue
                scores, first = np.unique(rows.y_pred[own], return_index=True)
                running = np.append(0, np.cumsum(weights[own]))
                # From one end of a step to the other the weight below rises in a line.
                cdf = self.cdfs.cdfs[group]
                ends = np.stack([cdf.heights_of(scores, draw) for draw in draws])
                sums = running[[first, np.append(first[1:], len(own))]]
                below = np.interp(just_below, ends.ravel("F"), sums.ravel("F"))
                errors += below if positive else running[-1] - below
        return np.asarray(errors / weights.sum())

    def _targets_at(self, amounts: Floats) -> Floats:
        """Return the height of each group's target at the threshold.

        Targets and repaired scores are linear between the ends of the steps of the CDF
        of everyone. The first of these at which repaired scores reach the threshold is
        found by bisection, for all amounts at once.
        """
        threshold, n_amounts = self.model.threshold_, len(amounts)
        below = np.full(n_amounts, -1)
        reached = np.full(n_amounts, 2 * len(self.cdfs.pooled.scores) - 1)
        while (reached - below > 1).any():
            middle = np.maximum((below + reached) // 2, 0)
            reaches = self._evaluate_at_ends(amounts, middle)[0] >= threshold
            below, reached = np.where(reaches, (below, middle), (middle, reached))
        left, lower = self._evaluate_at_ends(amounts, np.maximum(below, 0))
        right, upper = self._evaluate_at_ends(amounts, reached)
        rise = np.where(below < 0, 0, right - left)  # no score is below the first end
        share = np.ones(n_amounts)
        np.divide(threshold - left, rise, out=share, where=rise > 0)
        return np.asarray((1 - share) * lower + share * upper)

    def _evaluate_at_ends(
        self, amounts: Floats, ends: Integers
    ) -> tuple[Floats, Floats]:
        """Return repaired scores and targets at one end of a step."""
        pooled = self.cdfs.pooled
        scores, upper = pooled.scores[ends // 2], ends % 2 == 1
        heights = np.stack([cdf.ends_at(scores, upper) for cdf in self.cdfs.cdfs])
        if self.model.max_mcdp is None:
            return scores, mixed(amounts, pooled.ends_at(scores, upper), heights)
        lowest, repaired = self.cdfs.band_at(scores, heights, amounts)
        return repaired, clipped(lowest, amounts, heights)


def _measured(rows: Rows) -> Rows:
    """Return the rows with a stratum, on which fairness is measured."""
    if rows.strata is None or (rows.strata.codes >= 0).all():
        return rows
    return rows[rows.strata.codes >= 0]


def losses_by_stratum(rows: Rows, model: MADDPostProcessor) -> list[StratumLosses]:
    """Return the losses in each stratum that has two groups, or without strata.

    A single stratum is where the maps of all rows are learnt and measured.
    """
    groups, strata = keep_comparable(rows.groups, rows.strata, rows.weight, warn=False)
    if rows.strata is None:
        return [StratumLosses(rows, model)]
    single, parts = len(rows.strata.labels) == 1, []
    rows = replace(rows, groups=groups, strata=strata)
    for _, own in rows.split_by_stratum():
        part = rows.grouped() if single else rows[own]
        part = replace(part, groups=groups_to_compare(part.groups))
        parts.append(StratumLosses(part, model))
    return parts


def mean_losses(
    strata: list[StratumLosses], amounts: Floats, name: str
) -> dict[str, Floats]:
    """Return losses of each amount of repair (equations 15 to 19).

    Amounts are levels, or the largest gaps allowed; `name` is that of their column.
    """
    losses = np.stack([part.evaluate(amounts) for part in strata])
    mean = np.tensordot(_shares(strata), losses, 1)
    names = ["total_loss", "accuracy_loss", "fairness_loss"]
    return {name: amounts} | dict(zip(names, mean, strict=True))


def _shares(strata: list[StratumLosses]) -> Floats:
    """Return the share of each stratum in the weight of all."""
    weights = np.array([part.rows.weights.sum() for part in strata])
    return np.asarray(weights / weights.sum())


def _differing(rows: Rows, groups: GroupCDFs) -> Bools:
    """Return whether scores of groups differ beyond sampling noise.

    By the bound of Dvoretzky, Kiefer, Wolfowitz and Massart at 95 %, for all groups at
    once.
    """
    # With two groups both tests are the same.
    n_tests = 1 if len(groups.cdfs) == 2 else len(groups.cdfs)
    codes, weights = rows.groups.codes, rows.weights
    sums = np.bincount(codes, weights, len(groups.cdfs))
    squares = squares_by_group(codes, weights, len(groups.cdfs))
    own_rows = sums**2 / squares
    other_rows = (sums.sum() - sums) ** 2 / np.maximum(squares.sum() - squares, 1e-300)
    # Noise of each group's distance from everyone, in units of a Brownian bridge.
    spread = (1 - groups.shares) * np.sqrt(1 / own_rows + 1 / other_rows)
    noise = supremum_quantile(0.05 / n_tests) * spread
    return np.asarray(groups.distances() > noise)


def _weight_keywords(rows: Rows) -> dict[str, Any]:
    """Return the keyword of the weights for a metric, none without weights."""
    return {} if rows.weight is None else {"sample_weight": rows.weight}


def rows_compared(rows: Rows, differing: Bools) -> Rows:
    """Keep the rows of groups that differ from the others."""
    if differing.all():
        return rows
    labels, codes = tuple(compress(rows.labels, differing)), np.cumsum(differing) - 1
    codes[~differing] = -1 if len(labels) > 1 else 1
    if len(labels) == 1:
        labels = (*labels, ("all others",))
    groups = replace(rows.groups, labels=labels, codes=codes[rows.groups.codes])
    return replace(rows, groups=groups)[groups.codes >= 0]
