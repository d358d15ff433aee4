"""Regressor whose predictions are repaired by the group of each row."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison
from skfair._mitigation import (
    ROUTED,
    PredictsWithinStrata,
    as_table,
    check_estimator,
    check_fit_inputs,
    fit_all,
    route_fit_params,
)
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._validation import ParameterError, check_real
from skfair.groups import Selector
from skfair.postprocessing._fold_repair import (
    MeanRepair,
    learn_repair,
    repair_predictions,
    score_held_out,
)
from skfair.postprocessing._repair_map import (
    RepairMap,
    check_max_mcdp,
    check_ties_and_unknown_groups,
)
from skfair.postprocessing._score_repairer import ScoreRepairer, make_repairer


class RepairedRegressor(
    PredictsWithinStrata,
    RegressorMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Regressor whose predictions are repaired to similar distributions of all groups.

    It fits `estimator` on folds, learns the distributions of the groups' predictions on
    the rows held out, and moves them towards each other, see `ScoreRepairer`. By
    default groups get the same distribution, the one that changes predictions least:
    the mean of the groups' quantile functions [1]_. Predictions keep the unit of the
    target.

    Predictions need the group of each row. People with the same features get different
    predictions in different groups, by design: check first whether the law allows that.

    Parameters
    ----------
    estimator : regressor
        In a :class:`~sklearn.frozen.FrozenEstimator` it is not fitted again, and the
        repair is learnt on the rows given to `fit`, on which it must not have been
        trained.
    max_mcdp : float in [0, 1], default=0.0
        Largest distance allowed between the CDFs of any two groups' predictions, as
        `skfair.metrics.mcdp` measures it with ``epsilon=0`` and ``scale="rank"``: the
        largest difference of the shares of two groups above any threshold. It holds for
        the population, in expectation, or `fit` warns, as in `MADDPostProcessor`. 0
        repairs in full.
    repair_level : float in [0, 1] or None, default=None
        Level of repair in place of `max_mcdp`, which then has its default: 0 leaves
        predictions as they are, 1 gives all groups the distribution of everyone.
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
    ties : {"mid", "random"}, default="mid"
        Whether rows that share a prediction stay together, see `ScoreRepairer`.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How `predict` treats rows whose group is missing or was absent in `fit`: raise,
        or leave their predictions as they are. It may be set after `fit`.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by group and
        target.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    estimators_ : list
        The fitted regressors, one for each fold, whose repaired predictions are
        averaged; a single one if it is frozen or no groups are given.
    repairer_ : ScoreRepairer or None
        The repair learnt on all held-out predictions; None without groups. Its
        `max_mcdp` is the gap that is aimed at.
    comparison_ : Comparison or None
        Squared error, R2 and MCDP(0) (within strata, if there are any) of the repaired
        and of the plain predictions on held-out rows, with standard errors; None
        without groups. Each row is repaired by a map that is learnt from the other
        folds. Gaps are as in `MADDPostProcessor`.
    groups_ : tuple of length n_groups
        Labels of the groups.
    strata_ : tuple of length n_strata
        Labels of the strata that are repaired; empty without `control_features`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if all are strings.

    See Also
    --------
    ScoreRepairer : Repair of predictions without a regressor.
    MADDPostProcessor : The same for classifiers.
    UnawareRegressor : Needs no group at prediction.

    Notes
    -----
    One map is learnt from the rows that all folds held out, and repairs the predictions
    of each regressor, which are then averaged. For rows that share predictions see the
    notes of `MADDPostProcessor`.

    A new prediction below or above all held-out ones is changed by as much as the
    smallest or the largest of them.

    References
    ----------
    .. [1] Chzhen, Denis, Hebiri, Oneto, Pontil. "Fair Regression with Wasserstein
       Barycenters". NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfair.metrics import mcdp
    >>> from skfair.postprocessing import RepairedRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["F", "M"], 2000)
    >>> X = rng.normal(size=(2000, 2)) + (sex == "M")[:, None]
    >>> salary = 40_000 + 5_000 * X.sum(axis=1) + rng.normal(size=2000) * 5_000
    >>> model = RepairedRegressor(LinearRegression(), max_mcdp=0.1)
    >>> model = model.fit(X, salary, sensitive_features=sex)
    >>> predicted = model.predict(X, sensitive_features=sex)
    >>> round(mcdp(None, predicted, sensitive_features=sex, scale="rank"), 1)
    0.1
    >>> table = model.comparison_.to_frame().round(2)
    >>> table.loc[["r2", "mcdp"], ["baseline", "mitigated"]]
          baseline  mitigated
    r2        0.75       0.61
    mcdp      0.51       0.10
    """

    __metadata_request__fit: ClassVar = ROUTED
    __metadata_request__predict: ClassVar = ROUTED

    def __init__(
        self,
        estimator: Any,
        *,
        max_mcdp: float = 0.0,
        repair_level: float | None = None,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: int | np.random.RandomState | None = None,
        ties: Literal["mid", "random"] = "mid",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.max_mcdp = max_mcdp
        self.repair_level = repair_level
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.ties = ties
        self.unknown_groups = unknown_groups
        self.cv = cv
        self.n_jobs = n_jobs

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
            Target of each row, a number.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, used in place of the columns that the parameter names.
            Of several, each is repaired by itself, all by one level, and predictions
            need the stratum of each row. The maps of a single stratum, with all other
            rows in none (code -1 of a `Groups`), hold for all rows.
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
            If a target is not finite, on wrong lengths, fewer than two groups, fewer
            rows than folds, and on parameters out of range.
        TypeError
            If `estimator` is not a regressor.

        Warns
        -----
        UserWarning
            If no groups are given: the estimator is then fitted without repair. If
            strata or groups cannot be compared, and are left out.
        skfair.exceptions.MitigationWarning
            If held-out rows show no gain, or do not show that `max_mcdp` is kept for
            new rows.
        """
        repair_map = self._make_map()
        check_estimator(self)
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
        rows, weights = inputs.rows, inputs.rows.weight
        self.groups_, self.strata_ = rows.labels, inputs.strata
        self._dropped = inputs.dropped
        routed = route_fit_params(
            self, sensitive_features, fit_params, weights, cv=self.cv
        )
        self._repair: MeanRepair | None = None
        self.repairer_: ScoreRepairer | None = None
        self.comparison_: Comparison | None = None
        if not rows.labels:
            params = routed.estimator.fit
            model = fit_all(self.estimator, inputs.X, inputs.target, params)
            self.estimators_ = [model]
            return self
        tasks = Tasks(self)
        held_out = score_held_out(self, inputs, routed, tasks)
        self.estimators_ = held_out.models
        self._repair, self.comparison_ = learn_repair(
            self, inputs, held_out, repair_map
        )
        self.repairer_ = make_repairer(
            self._repair.map, self.unknown_groups, self.random_state
        )
        tasks.end()
        return self

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> Floats:
        """Predict the target, repaired by the group of each row.

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
            Repaired predictions, in the unit of the target.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If no groups are given, on wrong lengths, and on groups that are missing or
            were absent in `fit`, unless `unknown_groups` is ``"pooled"``.
        """
        check_is_fitted(self, "estimators_")
        return repair_predictions(
            self, self._repair, X, sensitive_features, control_features
        )

    def _make_map(self) -> RepairMap:
        """Check the parameters of the repair, and return the map to be learnt."""
        if self.repair_level is not None and self.max_mcdp != 0:
            raise ParameterError(
                "repair_level",
                f"replaces max_mcdp, got repair_level={self.repair_level!r} and "
                f"max_mcdp={self.max_mcdp!r}: leave one of them at its default, None "
                "or 0.0.",
            )
        check_ties_and_unknown_groups(self)
        options: dict[str, Any] = {"ties": self.ties, "scale": "real"}
        if self.repair_level is None:
            check_max_mcdp(self.max_mcdp, level=1.0, default=1)
            return RepairMap(max_mcdp=self.max_mcdp, **options)
        level = check_real("repair_level", self.repair_level, 0, 1)
        return RepairMap(level, **options)
