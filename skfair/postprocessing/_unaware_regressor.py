"""A regressor whose predictions are made fair without the group of the row."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skfair._comparison import RegressorComparison, compare_regressors
from skfair._mitigation import RegressorMitigator, mean_probabilities
from skfair._rows import Rows, weights_in_rows
from skfair._utils._arrays import Floats
from skfair._utils._validation import ParameterError, check_real
from skfair.groups import Selector
from skfair.postprocessing._score_map import Performance
from skfair.postprocessing._unaware_post_processor import GroupPredictor, weights_for


class UnawareRegressor(
    GroupPredictor,
    RegressorMitigator,
    MetaEstimatorMixin,  # type: ignore[misc]
    RegressorMixin,  # type: ignore[misc]
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
        the group, at prediction too.
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
    comparison_ : RegressorComparison or None
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
    comparison_: RegressorComparison | None

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

    def _compare(self, scores: ArrayLike) -> RegressorComparison:
        """Compare new predictions of the held-out rows with the plain ones."""
        rows = self._rows
        return compare_regressors(rows, rows.y_pred, scores, max_mcdp=self.max_mcdp)


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
