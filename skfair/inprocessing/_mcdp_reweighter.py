"""A classifier trained for a small gap between groups, by weights of its rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from skfair._comparison import compare_with_plain
from skfair._mitigation import (
    FittedTable,
    MetaMitigator,
    route_fit_params,
    weight_keyword,
)
from skfair._penalty._penalised_loss import PenalisedLoss, check_penalised_loss
from skfair._penalty._smooth_gap import Objective
from skfair._training_rows import (
    TrainingRows,
    check_validation_fraction,
    hold_out_if_possible,
    params_of_rows,
)
from skfair._utils._progress import Progress
from skfair._utils._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_real,
)
from skfair.groups import Selector
from skfair.inprocessing._reweighting import (
    FORMS,
    Form,
    Round,
    WeightedFits,
    choose_round,
    reweighting_rounds,
)

_REMEDY = (
    "Choose a smaller strength, or an estimator whose scores of the rows that it is "
    "fitted to are like those of new rows: regularise it"
)


def _estimator_has(method: str) -> Any:
    """Check for `available_if` whether the classifier inside has a method."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


class MCDPReweighter(
    MetaMitigator,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Classifier trained so that the groups' scores have similar distributions.

    It fits `estimator`, then reweights the rows and fits it again, in rounds. With the
    weights, its log-loss has the gradient of

    .. math::
        \frac{1}{N} \sum_i \ell(p_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    with smooth CDFs F of the groups' scores. It keeps the round with the least loss on
    held-out rows, and compares it there with the plain classifier.

    With `control_features` the gap is the mean of the gaps within strata: departments,
    or the true labels.

    Groups are needed in `fit` only. A column of X that `sensitive_features` names is a
    feature as well, unless `drop_sensitive` is True: then predictions use the group.

    Parameters
    ----------
    estimator : classifier
        A binary classifier with `predict_proba` whose `fit` takes `sample_weight`, or a
        pipeline that ends with one.
    strength : float, default=0.3
        Weight of the gap, at least 0; 0 is the plain classifier. :math:`\lambda` is
        `strength` times :math:`4 \pi (1 - \pi)`, with the share :math:`\pi` of rows of
        the second class: for rare positives the log-loss is small, and the same
        `strength` has about the same effect. On Adult with 0.5 to 50 % positives, 0.3
        reduced MCDP(0) to 27 to 61 % of its value.
    temperature : float, default=50.0
        Steepness of the sigmoids that smooth the CDFs, above 0. The larger it is, the
        closer the smoothed CDFs are to the true ones. Of 5, 10, 20, 50 and 100, the
        values 50 and 100 gave the best trade-offs.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap is penalised: the largest difference of the CDFs, the difference of
        the mean scores, or the area between the CDFs. With more than two groups, it is
        the largest over pairs of groups.
    form : {"two_label", "sample_weight"}, default="two_label"
        With ``"two_label"``, the training data contain every row twice, once with each
        label. With ``"sample_weight"``, every row keeps its label and has one weight
        from 0 to 10, which costs less but leaves a much larger gap.
    max_iter : int, default=10
        Largest number of rounds, at least 2. Each round is a fit, the first one without
        reweighting.
    averaging : bool, default=True
        Whether a round uses the mean of the weights of all rounds so far. With only the
        latest weights, the gap can oscillate.
    validation_fraction : float in (0, 1) or None, default=0.2
        Share of the rows, stratified by group and class, that is held out. The
        reweighted round with the smallest penalised loss on these rows is kept, and
        compared on them with the plain classifier. With None, and of fewer than 200
        rows, none are held out, the last round is kept, and nothing is compared.
    tol : float, default=0.0001
        Training stops after a round that changes the scores by at most this much on
        average.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True.
    drop_sensitive : bool, default=False
        Whether the columns named by `sensitive_features` are dropped from the features.
        X may then lack them in prediction.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared, several columns
        for their intersection, or a function of X that returns the strata. Strata given
        to `fit` take precedence. None compares groups among all rows. A column stays a
        feature.
    random_state : int, RandomState instance or None, default=None
        Random numbers for the rows held out. `estimator` has a `random_state` of its
        own.
    verbose : bool, default=False
        Whether to print a line after each round, to the standard error stream.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier of the round that is kept: the plain one if the comparison
        shows no gain.
    sample_weight_ : ndarray of shape (n_samples, 2)
        The weights it was fitted with: of each row with the first and with the second
        of `classes_`, times the weights given to `fit`. 0 for rows held out.
    history_ : DataFrame of `n_iter_` rows
        Columns ``round``, 0 for the plain fit; on the training rows the mean log-loss
        ``loss``, the ``gap``, the score ``threshold`` where it is largest and the
        ``penalised_loss``, which is the loss plus :math:`\lambda` times the gap; with
        rows held out the same four on these rows, named ``validation_loss`` and so on;
        and ``kept``, True for the round that is kept.
    comparison_ : PlainComparison or None
        Average precision and MCDP(0) (within strata, if there are any) of the
        reweighted and of the plain classifier on the rows held out:
        `average_precision`, `plain_average_precision`, `mcdp`, `plain_mcdp`, the
        standard errors of both differences, and `problems`, what is worse by more than
        noise; `to_frame` makes a table. None if nothing is compared.
    n_iter_ : int
        Number of rounds.
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

    See Also
    --------
    DiffMCDPClassifier : Minimises such a loss with a neural network.
    skfair.postprocessing.MADDPostProcessor : Repairs scores; prediction needs groups.
    skfair.metrics.mcdp : The metric that becomes small.
    MCDPBoostingClassifier : The same penalty, for LightGBM and XGBoost.
    skfair.postprocessing.UnawarePostProcessor : Changes scores, not the training.

    Notes
    -----
    With the residual :math:`r = y - p - s`, where s is the derivative of the penalty in
    the row's log-odds, a row has the weight :math:`h p + \max(r, 0) / (1 - p)` with
    label 1 and :math:`h (1 - p) + \max(-r, 0) / p` with label 0. At the scores p the
    weighted log-loss then has the gradient of the penalised loss. This is true for
    every :math:`h \geq 0`, the weight of a proximal term that keeps new scores near p.
    It grows with :math:`|s|`, which is large in small groups. A fixed point of logistic
    regression without a penalty of its own is a stationary point of the penalised loss.

    MCDP does not change under increasing maps. Scores crowd near 0 where positives are
    rare, so the smooth gap is that of :math:`\mathrm{expit}((\mathrm{logit}(p) - m) /
    b)`, with m and b from the quartiles of the plain classifier's scores (of a stratum,
    for the gap within it). Its maximum
    over thresholds is a soft maximum, which is below MCDP(0). ``"dp"`` and ``"abcc"``
    use the scores themselves.

    Without metadata routing, the last step of a pipeline gets the weights, as
    ``clf__sample_weight``; so does that of a nested pipeline. With routing, call
    ``set_fit_request(sample_weight=True)`` on the last step. With ``"two_label"`` all
    steps see every row twice, which matters for parameters that count rows, such as
    `min_samples_leaf`. Classifiers that reproduce their training labels, such as trees
    of unlimited depth, cannot be reweighted: `fit` keeps the plain one and warns.

    Fitting costs at most `max_iter` fits to the rows that are not held out, all but the
    first of them to every row twice: 15.2 times a plain fit by default.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.inprocessing import MCDPReweighter
    >>> from skfair.metrics import mcdp
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> def gap(strength):
    ...     model = MCDPReweighter(
    ...         LogisticRegression(), strength=strength, random_state=0
    ...     )
    ...     model.fit(X, y, sensitive_features=sex)
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(0) > 0.4, gap(2.0) < 0.2
    (True, True)

    Equal opportunity at every threshold is a small gap among the positives:

    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y, "positive", None), missing="drop")
    >>> model = MCDPReweighter(LogisticRegression(), random_state=0)
    >>> model = model.fit(X, y, sensitive_features=sex, control_features=positives)
    >>> model.strata_
    ('positive',)
    """

    history_ = FittedTable()

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float = 0.3,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        form: Form = "two_label",
        max_iter: int = 10,
        averaging: bool = True,
        validation_fraction: float | None = 0.2,
        tol: float = 1e-4,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.temperature = temperature
        self.objective = objective
        self.form = form
        self.max_iter = max_iter
        self.averaging = averaging
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.verbose = verbose

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
        """Fit the classifier, and reweight and fit it again in rounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that `estimator` takes.
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
            Non-negative weights of the rows in the log-loss and in the CDFs. The
            classifier is fitted with their products with the weights of a round.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it if metadata
            routing is enabled. Values with n_samples entries are indexed like the rows.

        Returns
        -------
        self : MCDPReweighter

        Raises
        ------
        ValueError
            If y does not have two classes, if lengths differ, if fewer than two groups
            have weight (in every stratum), if a parameter is out of range, and if
            scores become NaN.
        TypeError
            If `estimator` has no `predict_proba`, or takes no sample weights.

        Warns
        -----
        UserWarning
            If strata, or groups, cannot be compared and are left out of the gap. If no
            groups are given and `strength` is not 0: the classifier is fitted
            without reweighting. If rows cannot be held out, since a part would have a
            single class or group.
        MitigationWarning
            If the rows held out show no gain: MCDP(0) is not lower than that of the
            plain classifier by half a standard error of the difference.
        """
        self._check_estimator()
        loss = _check_parameters(self)
        keyword = weight_keyword(self.estimator)
        rows = self._prepare(X, y, sensitive_features, control_features, sample_weight)
        params = route_fit_params(self, sensitive_features, fit_params).estimator.fit
        if rows.sample_weight is not None:
            params = {**params, keyword: rows.sample_weight}
        max_iter, parts = self.max_iter, None
        loss = loss.for_labels(rows.y, rows.weights)
        if not (self.strength and self.groups_):
            loss, max_iter = replace(loss, strength=0.0), 1
        elif self.validation_fraction is not None:
            rng = check_random_state(self.random_state)
            parts = hold_out_if_possible(rows, self.validation_fraction, rng)
        self.sample_weight_ = np.zeros((len(rows), 2))
        train, held_out = np.arange(len(rows)), None
        if parts is not None:
            train, held_out = parts[0], rows.take(parts[1])
            params = params_of_rows(params, train, len(rows))
            rows = rows.take(train)
        fits = WeightedFits(
            self.estimator, keyword, params, self.form, rows, self.classes_
        )
        rounds = reweighting_rounds(
            fits, held_out, loss, self.averaging, max_iter, self.tol
        )
        progress = Progress("MCDPReweighter", bool(self.verbose))
        with self._tip_to_drop(X):
            plain, kept, history = choose_round(rounds, progress)
        kept = self._keep_round(plain, kept, held_out)
        self.history_ = history.assign(kept=history["round"] == kept.number)
        self.estimator_, self.n_iter_ = kept.estimator, len(history)
        self.sample_weight_[train] = kept.weights * rows.weights[:, None]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes with the fitted classifier.

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
        return self._respond("predict", X)

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        return self._respond("predict_proba", X)

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision function of the fitted classifier.

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
        return self._respond("decision_function", X)

    def _keep_round(
        self, plain: Round, kept: Round, held_out: TrainingRows | None
    ) -> Round:
        """Compare a round with the plain one on held-out rows, and return it."""
        self.comparison_ = None
        if held_out is None or plain.held_out is None or kept.held_out is None:
            return kept
        self.comparison_ = compare_with_plain(
            held_out, plain.held_out[0], kept.held_out[0]
        )
        self.comparison_.warn(self, _REMEDY)
        return kept

    def _respond(self, method: str, X: Any) -> NDArray[Any]:
        """Call a method of the fitted classifier."""
        X = self._check_predict_input(X, "estimator_")
        return np.asarray(getattr(self.estimator_, method)(X))


def _check_parameters(model: MCDPReweighter) -> PenalisedLoss:
    """Check the parameters, and return the loss."""
    loss = check_penalised_loss(model)
    check_choice("form", model.form, FORMS)
    check_flag("averaging", model.averaging)
    check_validation_fraction(model)
    check_integer("max_iter", model.max_iter, 2)
    check_real("tol", model.tol, 0, math.inf, closed="left")
    return loss
