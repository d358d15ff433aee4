"""A classifier that repairs the scores of another, inside any pipeline or search."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from skfair._mitigation import (
    groups_to_compare,
    route_fit_params,
)
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_real,
)
from skfair.groups import Selector
from skfair.postprocessing._held_out import fit_all, held_out_scores, make_splits
from skfair.postprocessing._mean_vote import average_repeats
from skfair.postprocessing._repaired_prediction import RepairedPrediction
from skfair.postprocessing._scored_rows import ScoredRows, makes_ensemble, share_scores


class MADDPostProcessor(
    RepairedPrediction,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Classifier whose scores are repaired, so that groups get like distributions.

    It fits `estimator`, learns the distributions of held-out scores, and moves each
    group's towards everyone's, see `ScoreRepairer`. The level of repair is given, or
    it is the least that minimises, within a standard error,

    .. math::
        (1 - \theta) \, \mathrm{AccuracyLoss}(\lambda)
        + \theta \, \mathrm{FairnessLoss}(\lambda)

    Predictions need the group of each row: people with like features get different
    scores in different groups, on purpose. Ask first whether that is allowed.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, for two classes. In a
        :class:`~sklearn.frozen.FrozenEstimator` it stays as it is, and the rows given
        to `fit`, which it must not have seen, are those on which the repair is learnt.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X that says the group, several for their intersection, or a function
        of X. None leaves it to the keyword of `fit` and `predict`, which always wins.
    repair_level : float in [0, 1] or "auto", default="auto"
        0 repairs nothing, 1 everything.
    theta : float in [0, 1], default=0.5
        Weight of the fairness loss.
    n_levels : int, default=101
        Number of levels, from 0 to 1, at which the objective is computed.
    bandwidth : float in (0, 1] or "auto", default="auto"
        Of MADD, see `skfair.metrics.madd`.
    accuracy_loss : {"zero_one", "log_loss"} or callable, default="zero_one"
        A callable is ``loss(y_true, y_score)``, smaller for better, with labels 0 and
        1, and ``sample_weight=`` if there are weights.
    fairness : {"madd", "mcdp"} or callable, default="madd"
        ``"madd"`` is MADD / 2, to be as large as the zero-one loss at most. A callable
        is ``metric(y_true, y_score, sensitive_features=...)``, smaller for fairer.
    threshold : float in [0, 1], default=0.5
        Least repaired score for which the second class is predicted.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int deals each class of each group evenly.
    ensemble : bool or "auto", default="auto"
        True keeps the model of every fold, with the repair learnt on its own held-out
        rows, and averages the repaired scores. Where a fifth of a group shares a score
        and `cv` repeats its splits, as `RepeatedStratifiedKFold` does, it keeps one
        model of each repeat, averages their scores, and repairs the means as means
        of held-out scores require. False learns one repair on all held-out scores and
        fits the model again on all rows. ``"auto"`` is False where a fifth of a group
        shares a score and nothing is repeated, and where a fold holds out no row of a
        group.
    drop_sensitive : bool, default=False
        Whether `estimator` gets X without the columns named by `sensitive_features`.
    ties : {"mid", "random"}, default="mid"
        Whether rows that share a score stay together, see `ScoreRepairer`.
    unknown_groups : {"raise", "pooled"}, default="raise"
        What to do in prediction with groups that were absent in `fit`: raise, or leave
        their scores as they are, as if they had the distribution of everyone.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are dealt to folds, which None does in their order,
        and seeds ``ties="random"``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model without repair; of an ensemble, the mean of its members.
    repairer_ : ScoreRepairer or None
        The repair learnt on all held-out scores; None without groups.
    estimators_, repairers_ : list
        The models whose repaired scores are averaged, one unless it is an ensemble,
        and the repair of each.
    repair_level_ : float
        Level of repair, given or chosen.
    standard_error_ : float or None
        Of the least total of the objective; None if the level is given.
    objective_ : DataFrame of n_levels rows, or None
        Columns ``level``, ``total``, ``accuracy_loss`` and ``fairness_loss``.
    groups_ : tuple of length n_groups
        Labels of the groups.
    classes_ : ndarray of shape (2,)
        Class labels. Scores are probabilities of the second.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    ScoreRepairer : Repair of scores without a classifier.
    skfair.inspection.RepairDisplay : Picture of the objective and of the repair.

    Notes
    -----
    Sampling noise must not choose the level: ``"auto"`` is the least level whose total
    is within one standard error of the least total, over the folds, or over five equal
    parts of the rows that a single model scored. And repaired scores of group g follow
    ``(1 - level) * F_g + level * F``, so MADD and MCDP are predicted as ``1 - level``
    times what they are without repair, a line. Those of repaired samples jump, and end
    on what noise alone makes of them, on new rows too (see
    `skfair.metrics.permutation_test`). Where more rows of a group share a score than
    noise hides, as in a tree, and `ties` is ``"mid"``, the line does not hold: there
    they are computed on the scores repaired at each level, like any callable.

    A repair learnt on the scores of fold models does not quite fit a model refitted on
    all rows. MCDP(0) after full repair, ensemble against refit, on Adult and on Bank:
    boosting 0.032, 0.040 and 0.073, 0.097. Means of models that share scores, as trees,
    forests and neighbours, need repeats and ``ties="random"``: forests 0.020 and 0.056,
    refitted 0.024 and 0.050 but less accurate.

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
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}

    def __init__(
        self,
        estimator: Any,
        *,
        sensitive_features: Selector | None = None,
        repair_level: float | Literal["auto"] = "auto",
        theta: float = 0.5,
        n_levels: int = 101,
        bandwidth: float | Literal["auto"] = "auto",
        accuracy_loss: str | Callable[..., float] = "zero_one",
        fairness: str | Callable[..., float] = "madd",
        threshold: float = 0.5,
        cv: Any = 5,
        ensemble: bool | Literal["auto"] = "auto",
        drop_sensitive: bool = False,
        ties: Literal["mid", "random"] = "mid",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sensitive_features = sensitive_features
        self.repair_level = repair_level
        self.theta = theta
        self.n_levels = n_levels
        self.bandwidth = bandwidth
        self.accuracy_loss = accuracy_loss
        self.fairness = fairness
        self.threshold = threshold
        self.cv = cv
        self.ensemble = ensemble
        self.drop_sensitive = drop_sensitive
        self.ties = ties
        self.unknown_groups = unknown_groups
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
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
            Labels of two classes.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, which wins over the column that the parameter names.
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
            If y has other than two classes, on wrong lengths, on fewer than two
            groups, a fold that a group is missing from, and parameters out of range.
        TypeError
            If `estimator` has no `predict_proba`.

        Warns
        -----
        UserWarning
            If there are no groups: the classifier is then fitted without repair.
        """
        self._check_estimator()
        _check_parameters(self)
        X, y, self.classes_, weights = self._check_fit_inputs(X, y, sample_weight)
        routed = route_fit_params(self, sensitive_features, fit_params, weights)
        for_fit, for_split = routed.estimator.fit, routed.splitter.split
        groups = self._find_groups_if_given(
            sensitive_features, X, "nothing is repaired"
        )
        if groups is None:
            return self._keep_plain(fit_all(self.estimator, X, y, for_fit))
        groups = groups_to_compare(groups)
        self.groups_ = groups.labels
        X = self._without_sensitive(X)
        splits = make_splits(self.cv, X, y, groups, self.random_state, for_split)
        held_out = held_out_scores(self.estimator, X, y, splits, for_fit, self.n_jobs)
        positive = y == self.classes_[1]
        rows = [ScoredRows.of(part, positive, groups, weights) for part in held_out]
        averages = self.ensemble is not False and len(rows) > 1
        shared = averages and share_scores(rows)
        if shared:
            held_out = average_repeats(held_out, len(y))
            rows = [ScoredRows.of(part, positive, groups, weights) for part in held_out]
        estimators = [part.estimator for part in held_out]
        if len(estimators) > 1 and not makes_ensemble(self.ensemble, rows, shared):
            estimators = [fit_all(self.estimator, X, y, for_fit)]
        return self._keep_repaired(estimators, rows, len(y))

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn which metadata goes where.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=mapping)
            .add(splitter=self.cv, method_mapping=splitting)
        )


def _check_parameters(model: Any) -> None:
    """Raise unless the parameters of a `MADDPostProcessor` are valid.

    Parameters
    ----------
    model : MADDPostProcessor

    Raises
    ------
    ValueError
        On a parameter out of range.
    """
    if model.repair_level != "auto":
        check_real("repair_level", model.repair_level, 0, 1, alternative="'auto' or ")
    check_real("theta", model.theta, 0, 1)
    check_real("threshold", model.threshold, 0, 1)
    check_integer("n_levels", model.n_levels, 2)
    if isinstance(model.cv, numbers.Integral):
        check_integer("cv", model.cv, 2)
    choices = {
        "accuracy_loss": ("zero_one", "log_loss"),
        "fairness": ("madd", "mcdp"),
        "ensemble": (True, False, "auto"),
        "drop_sensitive": (True, False),
        "ties": ("mid", "random"),
        "unknown_groups": ("raise", "pooled"),
    }
    for name, allowed in choices.items():
        value = getattr(model, name)
        if not (callable(value) and name in ("accuracy_loss", "fairness")):
            check_choice(name, value, allowed)
