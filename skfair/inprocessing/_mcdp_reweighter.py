"""A classifier trained on fair scores, by weights of both labels of each row."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metaestimators import available_if

from skfair._comparison import Comparison, compare_classifiers, warn_of_comparison
from skfair._mitigation import (
    MIN_ROWS,
    ClassifierMitigator,
    fit_all,
    make_splits,
    most_groups,
    route_fit_params,
    weight_keyword,
)
from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import count_rows
from skfair._utils._warnings import warn_user
from skfair.model_selection._folds import Split, hold_out, params_of_rows
from skfair.postprocessing._score_map import Performance
from skfair.postprocessing._unaware_post_processor import GroupPredictor

#: Share of the rows that is set aside for the comparison. With a sixth, the scores of
#: the others came from fewer rows, and the model kept less of the average precision.
_SHARE_SET_ASIDE = 0.1
#: Most folds of the classifier of the group, if `cv` is a number. With three the area
#: in `any_tables.py` is larger by .004 (standard error .005).
_MOST_GROUP_FOLDS = 2
_REMEDY = "Choose a smaller strength, or an estimator that follows fair scores"


def _estimator_has(method: str) -> Any:
    """Check for `available_if` whether the classifier inside has a method."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


def _can_compare(rows: Rows) -> bool:
    """Whether rows have weights in both classes, and two groups to compare."""
    rows = rows[rows.weights > 0]
    return len(np.unique(rows.y_true)) == 2 and most_groups(rows) >= 2


class MCDPReweighter(GroupPredictor, ClassifierMitigator):
    r"""Classifier trained on scores that have similar distributions in all groups.

    It computes fair scores of the training rows, as `UnawarePostProcessor` does, and
    fits `estimator` once to reproduce them: to every row twice, with the second class
    and the weight q, and with the first class and the weight 1 - q, where q is the fair
    score of the row. The result is one ordinary classifier, which needs no groups and
    no second model at prediction.

    Fair scores approximate the smallest value of

    .. math::
        \frac{1}{N} \sum_i \ell(q_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    with the log-loss :math:`\ell` and the CDFs F of the groups' scores.

    Groups are needed in `fit` only. A column of X that `sensitive_features` names is a
    feature as well, unless `drop_sensitive` is True: then predictions use the group.

    Parameters
    ----------
    estimator : classifier
        A binary classifier with `predict_proba` whose `fit` takes `sample_weight`, or a
        pipeline that ends with one.
    strength : float or "auto", default="auto"
        Weight of the gap, at least 0; 0 is the plain classifier. :math:`\lambda` is
        `strength` times :math:`4 \pi (1 - \pi)`, with the share :math:`\pi` of rows of
        the second class: for rare positives the log-loss is small, and the same
        `strength` has about the same effect. ``"auto"`` chooses by what the fair scores
        of 20 strengths reach on held-out rows, as in `UnawarePostProcessor`.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True. In a meta-estimator
        that leaves columns out, such as `BaggingClassifier`, a position names another
        column: route the groups there.
    drop_sensitive : bool, default=False
        Whether the columns named by `sensitive_features` are dropped from the features.
        X may then lack them in prediction.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared, several columns
        for their intersection, or a function of X that returns the strata. Strata given
        to `fit` take precedence. None compares groups among all rows. A column stays a
        feature.
    random_state : int, RandomState instance or None, default=None
        Draws the rows set aside, and shuffles the others before they are assigned to
        folds. None draws the same rows each time, and keeps the order of the others.
    group_estimator : classifier, default=None
        Classifier with `predict_proba` that predicts the group from the same features.
        It is fitted to the positions of the groups in `groups_`. In a
        :class:`~sklearn.frozen.FrozenEstimator` its classes must be the groups. None is
        a clone of `estimator`.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. Of an int, a tenth of the rows is set aside for the
        comparison, and the others make that many folds, stratified by class and group;
        `group_estimator` gets no more than two. Otherwise the first test part is set
        aside, and left out of the others.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    verbose : int, default=0
        Whether to print, on the standard error stream, which fit is done.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    sample_weight_ : ndarray of shape (n_samples, 2)
        The weights it was fitted with: of each row with the first and with the second
        of `classes_`, times the weights given to `fit`. 0 for rows that were never held
        out.
    strength_ : float
        The strength, given or chosen.
    path_ : DataFrame
        What the fair scores of each strength reach on held-out rows, apart from those
        set aside: for ``"auto"`` all strengths tried, else 0 and `strength`. It has the
        columns of the
        ``cv_results_`` of a search, with the metrics ``average_precision`` and
        ``neg_mcdp``, as in `UnawarePostProcessor`. Empty if no groups are given.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any) of a classifier
        that was fitted to the fair scores of the other rows, and of the plain
        classifier of the same rows, on those set aside, with standard errors. None if
        no groups are given, if there are fewer than 200 rows, and, with a warning, if
        no rows can be set aside.
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
        In `fit`, if the rows set aside show no gain.

    See Also
    --------
    skfair.postprocessing.UnawarePostProcessor : Predicts the fair scores themselves.
    MCDPBoostingClassifier : A penalty in the training of LightGBM and XGBoost.
    DiffMCDPClassifier : A penalty in the training of a neural network.
    skfair.metrics.mcdp : The metric that becomes small.

    Notes
    -----
    The expected log-loss of rows that have both labels, with weights q and 1 - q, is
    least at q. So the classifier approaches the fair scores as far as its class allows:
    a logistic regression follows them only where they are nearly linear. Fair scores of
    a row are made from predictions by classifiers that were not fitted to the row, so
    that the classifier learns what holds for new rows.

    Without metadata routing, the last step of a pipeline gets the weights, as
    ``clf__sample_weight``; so does that of a nested pipeline. With routing, call
    ``set_fit_request(sample_weight=True)`` on the last step. All steps see every row
    twice, which matters for parameters that count rows, such as `min_samples_leaf`.

    Costs: with ``cv=5`` five fits of `estimator` and two of `group_estimator`, the
    plain fit and one for the comparison, and one for each strength. The last two see
    every row twice.

    The rows set aside give nothing to the classifiers of the others, their fair scores,
    the map or the choice of a strength: a booster would read their labels back from
    fair scores of similar rows. They are in the fit of `estimator_` alone, with fair
    scores by that map.

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
    >>> sex = rng.integers(0, 2, 3000)
    >>> X = rng.normal(size=(3000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex
    >>> y = X.sum(axis=1) + rng.normal(size=3000) > 1
    >>> model = MCDPReweighter(LogisticRegression(), strength=2.0)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> def gap(model):
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(model) < 0.15
    True

    Another strength costs one fit:

    >>> gap(model.with_strength(0, X)) > 0.3
    True

    Equal opportunity at every threshold is a small gap among the positives:

    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y, "positive", None), missing="drop")
    >>> model = model.set_params(strength=0.5)
    >>> model = model.fit(X, y, sensitive_features=sex, control_features=positives)
    >>> model.strata_
    ('positive',)
    """

    _performance: ClassVar[Performance] = "average_precision"
    comparison_: Comparison | None
    #: All rows that were held out, with probabilities of groups, and whether each row
    #: was set aside.
    _held_out: Rows
    _q_held_out: Floats
    _set_aside: NDArray[np.bool_]

    def with_strength(
        self, strength: float | Literal["auto"], X: Any, **fit_params: Any
    ) -> Self:
        """Copy of the fitted model with another strength.

        `estimator` is fitted once more, and once without the rows set aside.

        Parameters
        ----------
        strength : float or "auto"
            As the parameter of the same name.
        X : array-like of shape (n_samples, n_features)
            The training data given to `fit`, rows in the same order.
        **fit_params : dict
            Those given to `fit`.

        Returns
        -------
        MCDPReweighter
            Fitted. This model stays as it is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If the strength is out of range, if X has other rows than in `fit`, or if
            `fit` was given no groups.

        Warns
        -----
        skfair.exceptions.MitigationWarning
            As in `fit`.
        """
        model = self._copy_with(strength=strength)
        if count_rows(X) != len(self._all_rows):
            raise ValueError(
                f"X has n_samples={count_rows(X)}, expected the "
                f"{len(self._all_rows)} rows given to fit."
            )
        X = self._check_predict_input(X, "estimator_")
        weights = self._all_rows.weight
        params = model._route(None, fit_params, weights).estimator.fit
        model._fit_to_fair_scores(X, params)
        return model

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

    def _respond(self, method: str, X: Any) -> NDArray[Any]:
        """Call a method of the fitted classifier."""
        X = self._check_predict_input(X, "estimator_")
        return np.asarray(getattr(self.estimator_, method)(X))

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid, and the estimator takes weights."""
        super()._check_parameters()
        weight_keyword(self.estimator)

    def _route(
        self,
        sensitive_features: Any,
        fit_params: dict[str, Any],
        weights: NDArray[Any] | None,
    ) -> Bunch:
        """Route the metadata given to `fit`; the classifier gets the weights."""
        routed = route_fit_params(self, sensitive_features, fit_params)
        if weights is not None:
            keyword = weight_keyword(self.estimator)
            routed.estimator.fit = {**routed.estimator.fit, keyword: weights}
        return routed

    def _keep_plain(self, estimator: Any, rows: Rows) -> None:
        """Predict with a classifier that was fitted to all rows."""
        self.estimator_ = estimator
        weights = np.column_stack([1 - rows.y_true, rows.y_true])
        self.sample_weight_: Floats = weights * rows.weights[:, None]

    def _use_strength(
        self,
        X: Any,
        rows: Rows,
        params: dict[str, Any],
        models: list[Any],
        group_models: list[Any],
    ) -> None:
        """Fit the classifier to the fair scores of `strength_`."""
        self._all_rows = rows
        self._fit_to_fair_scores(X, params)

    def _make_splits(
        self, X: Any, rows: Rows, target: NDArray[Any], routed: Any
    ) -> tuple[list[Split], list[Split]]:
        """Set rows aside, to which no model of the others is fitted; split the others.

        The first model is fitted to all others. It predicts the rows set aside, and is
        the plain one that the result is compared with.
        """
        if isinstance(self.cv, Integral):
            splits, group_splits, aside = self._split_others(rows, target)
        else:
            columns = X, target, rows.groups.codes, routed.splitter.split
            splits, aside = self._split_by_cv(rows, make_splits(self, *columns))
            group_splits = splits
        self._n_last_fits = 1
        if len(aside):
            self._n_last_fits = 2
            others = np.setdiff1d(np.arange(len(rows)), aside)
            splits = [(others, aside), *splits]
            (train, test), *rest = group_splits
            group_splits = [(train, np.append(test, aside)), *rest]
        return splits, group_splits

    def _split_others(
        self, rows: Rows, target: NDArray[Any]
    ) -> tuple[list[Split], list[Split], Integers]:
        """Draw rows to set aside, and make folds of the others for both models."""
        seed = 0 if self.random_state is None else self.random_state
        others, aside = np.arange(len(rows)), np.arange(0)
        if np.count_nonzero(rows.weights) >= MIN_ROWS:
            try:
                drawn = hold_out(rows, _SHARE_SET_ASIDE, check_random_state(seed))[1]
            except ValueError:  # a class has a single row, of which folds will say more
                drawn = aside
            others = np.setdiff1d(others, drawn)
            if not _can_compare(rows[drawn]) or (
                np.bincount(rows.y_true[others], minlength=2).min() < self.cv
            ):
                others, drawn = np.arange(len(rows)), aside
                self._warn_of_no_comparison(
                    "a tenth of the rows would have a single class or group, or leave "
                    "too few of a class"
                )
            aside = drawn
        y, codes = target[others], rows.groups.codes[others]
        both = []
        for most_folds in (None, _MOST_GROUP_FOLDS):
            splits = make_splits(self, None, y, codes, {}, most_folds)
            both.append([(others[train], others[test]) for train, test in splits])
        return both[0], both[1], aside

    def _split_by_cv(
        self, rows: Rows, splits: list[Split]
    ) -> tuple[list[Split], Integers]:
        """Set the first test part of `cv` aside, and leave it out of the others."""
        everyone = np.arange(len(rows))  # parts may be masks
        splits = [(everyone[train], everyone[test]) for train, test in splits]
        aside = splits[0][1]
        others = [
            (np.setdiff1d(train, aside), np.setdiff1d(test, aside))
            for train, test in splits[1:]
        ]
        if np.count_nonzero(rows.weights) < MIN_ROWS:
            return splits, aside[:0]
        y, codes = rows.y_true, rows.groups.codes
        several = [
            len(np.unique(values[train])) > 1
            for train, _ in others
            for values in (y, codes)
        ]
        if others and all(several) and _can_compare(rows[aside]):
            return others, aside
        self._warn_of_no_comparison(
            "the first test part of cv, or training parts without it, have a single "
            "class or group"
        )
        return splits, aside[:0]

    def _warn_of_no_comparison(self, reason: str) -> None:
        """Tell the user that nothing is compared, and why."""
        warn_user(
            f"{type(self).__name__} sets no rows aside, and comparison_ is None: "
            f"{reason}."
        )

    def _keep_held_out(self, rows: Rows, q: Floats) -> None:
        """Keep the rows set aside apart from those to which the map is fitted."""
        self._held_out, self._q_held_out = rows, q
        self._set_aside = (rows.fold == 0) & (self._n_last_fits > 1)
        others = ~self._set_aside
        super()._keep_held_out(rows[others], q[others])

    def _fit_to_fair_scores(self, X: Any, params: dict[str, Any]) -> None:
        """Fit to fair scores of held-out rows; compare a fit without those set aside.

        Their fair scores come from the map of the others.
        """
        rows, aside = self._held_out, self._set_aside
        plain, positions, tested = rows.y_pred, rows.position, rows[aside]
        assert self._map is not None
        assert positions is not None
        scores = tested.y_pred
        if not self.strength_:
            target = self.classes_[self._all_rows.y_true]
            self._keep_plain(fit_all(self.estimator, X, target, params), self._all_rows)
        else:
            fair = self._map(plain, self._q_held_out, self.strength_).clip(0, 1)
            weights = np.column_stack([1 - fair, fair]) * rows.weights[:, None]
            self.sample_weight_ = np.zeros((len(self._all_rows), 2))
            self.sample_weight_[positions] = weights
            self.estimator_ = self._fit_twice(X, positions, params)
            if len(tested):
                model = self._fit_twice(X, positions[~aside], params)
                of_tested = take_rows(X, positions[aside])
                scores = model.predict_proba(of_tested)[:, 1]
        self.comparison_ = None
        if len(tested):
            self.comparison_ = compare_classifiers(tested, tested.y_pred, scores)
            if self.strength != 0:
                warn_of_comparison(self, self.comparison_, _REMEDY)

    def _fit_twice(self, X: Any, chosen: Integers, params: dict[str, Any]) -> Any:
        """Fit a clone to some rows twice, with each label and its weights."""
        twice = np.tile(chosen, 2)
        keyword = weight_keyword(self.estimator)
        params = params_of_rows(params, twice, len(self._all_rows))
        params[keyword] = self.sample_weight_[chosen].T.ravel()
        y = np.repeat(self.classes_, len(chosen))
        fitted = clone(self.estimator).fit(take_rows(X, twice), y, **params)
        if hasattr(self, "_tasks"):
            self._tasks.done("fit to fair scores")
        return fitted
