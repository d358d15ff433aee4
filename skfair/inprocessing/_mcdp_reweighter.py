"""A classifier trained for a small gap between groups, by weights of its rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin

from skfair._mitigation import route_fit_params, weight_keyword
from skfair.groups import Selector
from skfair.inprocessing._label_weights import Form
from skfair.inprocessing._penalised_loss import PenalisedLoss
from skfair.inprocessing._reweighted_prediction import ReweightedPrediction
from skfair.inprocessing._reweighter_parameters import check_parameters
from skfair.inprocessing._reweighting_rounds import (
    Schedule,
    ScoredPart,
    reweight,
    split_rows,
)
from skfair.inprocessing._smooth_gap import Objective
from skfair.inprocessing._training_rows import TrainingRows, codes_to_compare
from skfair.inprocessing._weighted_fits import WeightedFits


class MCDPReweighter(
    ReweightedPrediction,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Any classifier, trained so that its scores do not tell the groups apart.

    It fits `estimator`, then reweights the rows and fits it again, in rounds. The
    weights make the gradient of its log-loss that of

    .. math::
        \frac{1}{N} \sum_i \ell(p_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    with smooth CDFs F of the groups' scores. Predictions need no group.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, for two classes, whose `fit` takes `sample_weight`; or a
        pipeline that ends with one.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X that says the group in `fit`, several for their intersection, or a
        function of X. None leaves it to the keyword of `fit`, which always wins. The
        column is a feature too, unless `drop_sensitive`.
    strength : float, default=0.3
        Weight :math:`\lambda \geq 0` of the gap; 0 is the plain classifier. On Adult
        and Bank 0.3 left 96 to 98 % of average precision, 30 to 41 % of MCDP(0).
    temperature : float, default=50.0
        Of the sigmoids that smooth the CDFs, above 0: the larger, the closer to the
        true CDFs. Of 5, 10, 20, 50 and 100, 50 and 100 gave the best trade-offs.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        The gap: the largest difference of the CDFs, the difference of the mean scores,
        or the area between the CDFs. With more than two groups, the largest over pairs.
    form : {"two_label", "sample_weight"}, default="two_label"
        ``"two_label"`` fits to every row twice, once with each label. With
        ``"sample_weight"`` every row keeps its label and gets one weight, from 0 to 10,
        which costs less but stops at a much larger gap.
    max_iter : int, default=10
        Most rounds, each a fit; the first is the plain one.
    averaging : bool, default=True
        Fit to the mean of all rounds' weights: with the latest alone rounds can swing.
    validation_fraction : float in (0, 1) or None, default=None
        Share of the rows, stratified by group and label, that is held out to keep the
        round whose objective is least there. None holds out none and keeps the last.
    tol : float, default=0.0001
        Stop after a round that changes scores by less than this on average.
    random_state : int, RandomState instance or None, default=None
        Draws the rows held out. `estimator` has its own.
    drop_sensitive : bool, default=False
        Whether `estimator` gets X without the columns named by `sensitive_features`.
    verbose : bool, default=False
        Print a line after each round.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier of the round that is kept.
    sample_weight_ : ndarray of shape (n_samples, 2)
        The weights it was fitted with: of each row with the first and with the second
        of `classes_`, given weights included. 0 for rows held out.
    history_ : DataFrame of n_iter_ rows
        ``round``, 0 for the plain fit; of the scores of the rows fitted to, the mean
        log-loss ``loss``, the ``gap``, the score ``threshold`` where it is largest, and
        the ``objective``, also with ``validation_`` before it, of rows held out; and
        whether the round is ``kept``.
    n_iter_ : int
        Number of rounds.
    groups_ : tuple of length n_groups
        Labels of the groups; empty without groups.
    classes_ : ndarray of shape (2,)
        Class labels. Scores are probabilities of the second.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    DiffMCDPClassifier : A network trained directly on such an objective.
    skfair.postprocessing.MADDPostProcessor : Repair of scores, which needs groups.
    skfair.metrics.mcdp : What it makes small.

    Notes
    -----
    With the residual :math:`r = y - p - s`, where s is the derivative of the penalty in
    the row's log-odds, a row weighs :math:`h p + \max(r, 0) / (1 - p)` with label 1 and
    :math:`h (1 - p) + \max(-r, 0) / p` with label 0. At the scores p the weighted
    log-loss then has the gradient of the objective, for every h, which holds new scores
    near p: the larger :math:`|s|` is, as in small groups, the firmer. A fixed point
    of logistic regression without penalty is a stationary point of the objective.

    MCDP does not change under increasing maps. Scores crowd near 0 where positives are
    rare, so its smooth gap is taken of
    :math:`\mathrm{expit}((\mathrm{logit}(p) - m) / b)`, with m and b from the quartiles
    of the plain model's scores, and its maximum over thresholds is a soft one, which
    lies below MCDP(0). ``"dp"`` and ``"abcc"`` are taken of the scores themselves.

    Without metadata routing, the last step of a pipeline gets the weights, as
    ``clf__sample_weight``, nested pipelines included. With it, call
    ``set_fit_request(sample_weight=True)`` on the last step. All steps
    see every row twice, and so do limits that count rows, as `min_samples_leaf`. Models
    that repeat their training labels, as trees without limits, cannot be reweighted.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5, whose gradient these weights carry.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skfair.inprocessing import MCDPReweighter
    >>> from skfair.metrics import mcdp
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex
    >>> y = X.sum(axis=1) + rng.normal(size=2000) > 1
    >>> def gap(strength):
    ...     model = MCDPReweighter(
    ...         HistGradientBoostingClassifier(max_iter=20), strength=strength
    ...     ).fit(X, y, sensitive_features=sex)
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(0) > 0.35, gap(1.0) < 0.2
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}

    estimator_: Any
    sample_weight_: NDArray[np.float64]
    history_: pd.DataFrame
    groups_: tuple[Hashable, ...]
    classes_: NDArray[Any]
    n_iter_: int
    n_features_in_: int

    def __init__(
        self,
        estimator: Any,
        *,
        sensitive_features: Selector | None = None,
        strength: float = 0.3,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        form: Form = "two_label",
        max_iter: int = 10,
        averaging: bool = True,
        validation_fraction: float | None = None,
        tol: float = 1e-4,
        random_state: Any = None,
        drop_sensitive: bool = False,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.sensitive_features = sensitive_features
        self.strength = strength
        self.temperature = temperature
        self.objective = objective
        self.form = form
        self.max_iter = max_iter
        self.averaging = averaging
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state
        self.drop_sensitive = drop_sensitive
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the classifier, and reweight and fit it again in rounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that `estimator` takes.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, which wins over the column that the parameter names.
            Rows that a `Groups` leaves out count in the log-loss only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the log-loss and in the CDFs. They multiply the
            weights that are found.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it where metadata
            routing is enabled. What has n_samples entries goes with the rows.

        Returns
        -------
        self : MCDPReweighter

        Raises
        ------
        ValueError
            If y has other than two classes, on wrong lengths, on fewer than two groups
            with weight, parameters out of range, and if scores turn NaN.
        TypeError
            If `estimator` has no `predict_proba`, or takes no sample weights.

        Warns
        -----
        UserWarning
            If there are no groups and `strength` is not 0: the classifier is then
            fitted plainly.
        """
        self._check_estimator()
        loss, schedule = check_parameters(self)
        keyword = weight_keyword(self.estimator)
        X, y, self.classes_, weights = self._check_fit_inputs(X, y, sample_weight)
        params = route_fit_params(self, sensitive_features, fit_params).estimator.fit
        consequence = "no gap is penalised" if self.strength else None
        groups = self._find_groups_if_given(sensitive_features, X, consequence)
        codes, self.groups_ = codes_to_compare(groups, len(y), weights)
        X = self._without_sensitive(X)
        fits = WeightedFits(
            self.estimator, keyword, X, y, self.classes_, weights, params
        )
        weighing = np.ones(len(y)) if weights is None else weights + 0.0
        positive = (y == self.classes_[1]) + 0.0
        rows = TrainingRows(np.arange(len(y)), positive, codes, weighing)
        return self._fit_rounds(fits, rows, loss, schedule)

    def _fit_rounds(
        self,
        fits: WeightedFits,
        rows: TrainingRows,
        loss: PenalisedLoss,
        schedule: Schedule,
    ) -> Self:
        if not (self.strength and self.groups_):
            # The plain classifier, fitted to all rows.
            loss, schedule = replace(loss, strength=0.0), replace(schedule, max_iter=1)
        train, held_out = ScoredPart(fits, rows), None
        if schedule.max_iter > 1 and self.validation_fraction is not None:
            train, held_out = split_rows(
                train, self.validation_fraction, self.random_state
            )
        found = reweight(train, held_out, loss, schedule)
        self.estimator_, self.history_ = found.estimator, found.history
        self.n_iter_ = len(found.history)
        self.sample_weight_ = np.zeros((len(rows.y), 2))
        used = train.rows
        self.sample_weight_[used.X] = found.weights * used.weights[:, None]
        return self
