"""A classifier whose decisions are fair, for any number of classes and groups."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._comparison import Comparison, warn_of_comparison
from skfair._mitigation import (
    MetaMitigator,
    as_table,
    begin_fit,
    begin_predict,
    check_estimator,
    fit_all,
    groups_to_predict,
    label_probabilities,
    make_splits,
    mean_of_folds,
    predict_folds,
    route_fit_params,
    tip_to_drop,
    weights_for,
)
from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._progress import Tasks, with_callbacks
from skfair._utils._text import listed
from skfair._utils._validation import check_choice, check_flag, check_real
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import Selector, encode_groups, resolve_groups
from skfair.metrics import dcp
from skfair.model_selection._folds import assign_folds, fit_to_rows

Constraint = Literal["demographic_parity", "true_positive_rate", "equalized_odds"]

#: Limits that are solved for, as shares of the difference of the plain decisions.
_SHARES = (1.0, 0.7, 0.4, 0.2, 0.08, 0.02)
#: Points of the path: three steps from one of these limits to the next.
_STEPS = np.linspace(0, 1, 3 * len(_SHARES) - 2)
#: Widths by which the largest score is smoothed, one after the other. The solution for
#: the limit before is near enough to start with the last one.
_WIDTHS = (0.05, 0.01)
#: A limit of 0 would leave multipliers without a bound.
_LEAST_LIMIT = 1e-4
#: Each pair of groups is compared, or with more groups each with everyone.
_MOST_GROUPS_IN_PAIRS = 20
#: Correcting errors of more rates than this fits noise.
_MOST_CORRECTED = 8
#: Decimals of a row's probabilities from this one on decide how ties are broken.
_FIRST_DECIMAL = 1e4
#: Logistic regressions of so many coefficients take a solver without their Hessian.
_MANY_COEFFICIENTS = 200
#: A group of fewer rows for each coefficient keeps its probabilities of classes.
_ROWS_BY_COEFFICIENT = 20
#: Probabilities below this count as this in logarithms.
_LEAST_PROBABILITY = 1e-6
#: Groups of no more rows, or of a class whose errors are compared, are left out.
_FEW_ROWS = 30
#: Multipliers that judge a part of the rows are fitted to the other parts.
_N_PARTS = 5
#: A rule is chosen if its difference is below the limit by so many standard errors.
_N_ERRORS_CHOSEN = 1.0
#: There is a warning unless it is below by so many.
_N_ERRORS_SHOWN = 0.2
_REMEDY = (
    "Look at path_, give more rows, or use a classifier whose probabilities differ "
    "more from row to row"
)
#: Level of the test of the plain difference.
_LEVEL = 0.05
#: Simulated errors of the rates, of the same numbers in each fit.
_N_DRAWS = 300


class _Rules(NamedTuple):
    """Rules of a path, and what they are applied with.

    `calibrations` are by set of rows or by group, `shares` are those of the cells, and
    `multipliers` have the shape (n_rules, n_cells, n_classes).
    """

    calibrations: dict[int, Any]
    shares: Floats
    multipliers: Floats


class DecisionPostProcessor(
    MetaMitigator,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Classifier whose decisions have similar rates, or similar errors, in all groups.

    It takes any number of classes: approve, refer or decline; a diagnosis; a grade. A
    classifier is fitted to all rows, and on folds, where it predicts the probability
    :math:`p_k` of each class for the rows that are held out. The decision is the class
    with the largest

    .. math::
        p_k(x) - \\sum_c \\lambda_{ck} \\, r_c(x),

    where the :math:`r_c` say how much a row counts in the rates of each group. The
    multipliers :math:`\\lambda` are the solution of one convex problem, whose size does
    not depend on the number of rows: the least expected loss of accuracy at which the
    rates of groups differ by no more than a limit. Nothing is drawn at random: people
    with the same features, and the same group if it is used, get the same decision.

    Parameters
    ----------
    estimator : classifier
        A classifier with `predict_proba`. In a :class:`~sklearn.frozen.FrozenEstimator`
        it is not fitted again, and the multipliers are fitted to the rows given to
        `fit`, on which it must not have been trained.
    constraint : {"demographic_parity", "true_positive_rate", "equalized_odds"}, \
default="demographic_parity"
        What is similar in all groups: the share of each decision; the share of right
        decisions among the rows of a class (equal opportunity: of the second of two
        classes, of each class where there are more); or the share of each decision
        among the rows of each class.
    max_difference : float in [0, 1], default=0.05
        Largest difference of these shares between two groups, in new rows. Decisions
        are chosen whose difference and its standard error add up to no more on held-out
        rows. There is a warning where no such decisions are found.
    uses_group : bool, default=False
        Whether decisions may depend on the group of the row. True needs the group in
        prediction, and loses less accuracy: people with the same features get different
        decisions by their group, which the law may forbid. False needs the groups in
        `fit` only, and infers from the features which group a row may belong to.
    cost : array-like of shape (n_classes, n_classes), default=None
        Cost of each decision (column) for each true class (row), in the order of
        `classes_`. None counts errors.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to a method take precedence.
        A column is also a feature, unless `drop_sensitive` is True. In a meta-estimator
        that leaves columns out, such as `BaggingClassifier`, a position names another
        column: route the groups there.
    drop_sensitive : bool, default=False
        Whether classifiers get X without the columns that `sensitive_features` names.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds. None keeps their order.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all rows.
    group_estimator_ : classifier or None
        The classifier of the group, fitted to all rows that have one; None with
        ``uses_group=True``.
    path_ : dict of ndarray
        Decisions from the plain ones to the most similar rates, by the limit of the
        convex problem. It has the columns of the ``cv_results_`` of a search, with the
        metrics ``accuracy`` (``neg_cost`` with `cost`) and ``neg_difference`` on the
        held-out rows, so that `skfair.inspection.TradeOffDisplay.from_cv_results` and
        the rules of `skfair.model_selection` read it, and ``difference_error``. Empty
        if no groups are given; only the plain decisions if no two groups have enough
        rows.
    comparison_ : Comparison or None
        Accuracy (minus the mean cost, with `cost`) and difference of the decisions and
        of the plain ones on held-out rows; for equalized odds also `skfair.metrics.dcp`
        by ``method="local"``, the least share of people whose exclusion makes the
        errors of all groups alike. The standard error of the difference is that of the
        new decisions. None if no groups are given.
    groups_ : tuple of length n_groups
        Labels of the groups; empty if no groups are given.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    Warns
    -----
    skfair.exceptions.MitigationWarning
        In `fit`, if held-out rows do not show that `max_difference` is kept, and if a
        group of at most 30 of them (of a class, if errors are compared) is left out of
        the difference. With ``uses_group=True``, people of a group that is left
        out altogether get the plain decision.

    See Also
    --------
    UnawarePostProcessor : Fair scores of two classes, for every threshold at once.
    MADDPostProcessor : Repairs scores by the group of each row predicted.
    skfair.metrics.dcp : How unequal the errors of several classes are.

    Notes
    -----
    With shares :math:`P` of groups and classes, :math:`r_g = P(g \\mid x) / P(g)` for
    demographic parity, and :math:`r_{gj} = P(g, j \\mid x) / P(g, j)` for errors. Both
    come from logistic regressions of the logarithms of predicted probabilities on
    held-out rows. With the group, :math:`P(g \\mid x)` is 0 or 1, and the class is
    predicted within each group; a group with fewer than 20 rows for each coefficient
    keeps its probabilities. Without it, a clone of the classifier predicts the group,
    and :math:`P(g, j \\mid x) = p_j(x) P(g \\mid j, x)`, where the group is predicted
    again among the rows of class j (for parity, among all rows) from the probabilities
    of classes and groups.

    A pair of groups a and b is compared by a multiplier :math:`\\mu_{ab} \\ge 0`, which
    adds to :math:`\\lambda_a` and is taken from :math:`\\lambda_b`. These minimise

    .. math::
        E \\max_k \\left( p_k - \\sum_c \\lambda_{ck} r_c \\right)
        + d \\sum \\mu,

    whose maximum is smoothed less and less. The constraint is met in expectation under
    these probabilities. So limits d from the plain difference down to a fiftieth of it
    are tried; multipliers between six of them are interpolated. Without the group, and
    for up to eight rates of errors (two in each group for equalized odds of two
    classes), each of the six corrects what the solution before misses on held-out rows:
    a miss e with the standard error s by :math:`e^3 / (e^2 + s^2)`, as predicted groups
    are off and rows have noise. More than 20 groups are each compared with everyone, at
    half the limit.

    Decisions are measured in five parts of the held-out rows, by calibrations and
    multipliers that are fitted to the other four. Their largest difference is not that
    in new rows. Noise adds to the largest of several differences; but multipliers are
    also fitted to noise, which cancels that of the rows left out. How much is told by a
    jackknife over the parts, and taken out or added by normal errors of the rates.
    Where the parts' rules differ, their mean hides what one of them may do: what the
    rules differ by on all rows, in the mean, beyond the difference of their mean rates
    is added. The standard error is that of the largest difference with errors of all
    rates and the variance between rules. Of the rules whose limit is at most
    `max_difference`, and whose difference is below it by its standard error, the one
    with the highest accuracy is taken; if there is none, that with the smallest sum of
    both, and a warning unless its difference is below by a fifth of its error. Where
    the plain rates of no two groups differ by more than noise (studentized differences
    of all pairs, at a level of 5 %), and where the plain difference is below by its
    error, no decision is changed.

    Equal errors often need that some of the people with nearly the same score get one
    decision, and some another. Late decimals of a row's probabilities decide which:
    they move its scores by a hundredth or two.

    There are no probabilities of the new decisions: scores that a rule by group has
    moved are no estimates of a class. `decision_function` has the scores.

    References
    ----------
    .. [1] Xian, Zhao. "A Unified Post-Processing Framework for Group Fairness in
       Classification". 2024. Linear post-processing.
    .. [2] Denis, Elie, Hebiri, Hu. "Fairness guarantees in multi-class classification
       with demographic parity". Journal of Machine Learning Research 25, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.postprocessing import DecisionPostProcessor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 3000)
    >>> X = rng.normal(size=(3000, 2)) + [[0, 1]] * sex[:, None]
    >>> y = np.digitize(X.sum(axis=1) + rng.normal(size=3000), [0, 1.5])
    >>> model = DecisionPostProcessor(LogisticRegression(), max_difference=0.05)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> found = model.comparison_
    >>> found.baseline["difference"] > 0.2, found.mitigated["difference"] <= 0.05
    (True, True)
    >>> other = model.with_difference(0.1).comparison_  # fitted once
    >>> other.mitigated["difference"] <= 0.1
    True
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}
    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__decision_function: ClassVar = {"sensitive_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True}
    estimator_: Any
    group_estimator_: Any

    def __init__(
        self,
        estimator: Any,
        *,
        constraint: Constraint = "demographic_parity",
        max_difference: float = 0.05,
        uses_group: bool = False,
        cost: ArrayLike | None = None,
        cv: Any = 5,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.max_difference = max_difference
        self.uses_group = uses_group
        self.cost = cost
        self.cv = cv
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit classifiers, on folds too, and the multipliers to the rows held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the classifier takes.
        y : array-like of shape (n_samples,)
            Class of each row, of two or more.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` are used to fit the classifier only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, also in the fits of classifiers that take
            them; pipelines pass them to their last step.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it if metadata
            routing is enabled; `groups` to a splitter that is `cv`. Values with
            n_samples entries are indexed like the rows.

        Returns
        -------
        self : DecisionPostProcessor

        Raises
        ------
        ValueError
            If y has one class, if lengths differ, if fewer than two groups have weight,
            if a class has fewer rows than there are folds, and if a parameter is out of
            range.
        TypeError
            If the classifier has no `predict_proba`.

        Warns
        -----
        UserWarning
            If no groups are given: the decisions are the plain ones.
        skfair.exceptions.MitigationWarning
            As the class says.
        """
        self._check_parameters()
        X = as_table(X)
        validate_data(self, X, y, skip_check_array=True)
        given = begin_fit(
            self,
            *(X, y, sensitive_features, None, sample_weight),
            several_classes=True,
            without_groups="no decision changes",
        )
        self.classes_, self.groups_ = given.classes, given.rows.labels
        self._dropped, features, rows = given.dropped, given.X, given.rows
        self._compared = self._decisions_compared()
        self._read_cost()
        self._performance = "accuracy" if self.cost is None else "neg_cost"
        routed = route_fit_params(self, sensitive_features, fit_params, rows.weight)
        target = self.classes_[rows.y_true]
        if not self.groups_:
            plain = fit_all(self.estimator, features, target, routed.estimator.fit)
            self.estimator_, self.group_estimator_ = plain, None
            self.path_ = dict[str, Any]()
            self.comparison_: Comparison | None = None
            return self
        tasks = Tasks(self)
        self._fit_classifiers(X, features, rows, target, routed, tasks)
        self._fit_path()
        self._choose()
        tasks.end()
        return self

    def with_difference(self, max_difference: float) -> Self:
        """Copy of the fitted model with another largest difference.

        Nothing is fitted again: another point of `path_` is chosen.

        Parameters
        ----------
        max_difference : float in [0, 1]
            As the parameter of the same name.

        Returns
        -------
        DecisionPostProcessor
            Fitted. It shares the fitted classifiers with this one, which stays as it
            is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If `max_difference` is out of range, or `fit` was given no groups.

        Warns
        -----
        skfair.exceptions.MitigationWarning
            If held-out rows do not show that the difference is kept.
        """
        check_is_fitted(self, "estimator_")
        if not self.groups_:
            raise ValueError(f"max_difference={max_difference!r} needs groups in fit.")
        model = copy.copy(self)
        model.max_difference = max_difference
        model._check_parameters()
        return model._choose()

    def decision_function(
        self, X: Any, *, sensitive_features: Any = None
    ) -> NDArray[np.float64]:
        """Compute the adjusted score of each class, the largest of which decides.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, if ``uses_group=True``; else it is ignored. Rows without
            a group in a `Groups` get the plain decision.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of the second less that of the first.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If ``uses_group=True`` and there are no groups, or unknown ones.
        """
        scores = self._adjusted_scores(X, sensitive_features)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Decide for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            As `decision_function`.
        """
        scores = self._adjusted_scores(X, sensitive_features)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
    ) -> float:
        """Accuracy of the decisions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            As in `decision_function`.

        Returns
        -------
        float in [0, 1]
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_estimator(self)
        check_choice("constraint", self.constraint, get_args(Constraint))
        check_real("max_difference", self.max_difference, 0, 1)
        check_flag("uses_group", self.uses_group)

    def _read_cost(self) -> None:
        """Set the cost of each class and decision, errors where none is given."""
        n_classes = len(self.classes_)
        errors = 1 - np.eye(n_classes)
        try:
            cost = np.asarray(errors if self.cost is None else self.cost, np.float64)
        except (TypeError, ValueError):  # no numbers, or rows of different lengths
            cost = np.zeros(0)
        if cost.shape != (n_classes, n_classes) or not np.isfinite(cost).all():
            raise ValueError(
                f"cost must be finite numbers of shape ({n_classes}, {n_classes}), "
                f"classes by decisions in the order of classes_, got {self.cost!r}."
            )
        self._unit = float(np.ptp(cost)) or 1.0
        self._cost = cost / self._unit

    def _fit_classifiers(
        self,
        X: Any,
        features: Any,
        rows: Rows,
        target: NDArray[Any],
        routed: Any,
        tasks: Tasks,
    ) -> None:
        """Fit the classifiers to all rows, and on folds to predict those held out.

        Set the held-out rows that are compared, with the probability of each class,
        and without the group of each group.
        """
        estimator, codes, splits = self.estimator, rows.groups.codes, []
        frozen, params = isinstance(estimator, FrozenEstimator), routed.estimator.fit
        if not (frozen and self.uses_group):
            splits = make_splits(self, features, target, codes, routed.splitter.split)
        self._find_kept(rows, [test for _, test in splits])
        fits = [(estimator, target, self.classes_.tolist(), params)]
        if not self.uses_group and self._kept.any():
            if frozen or not get_config()["enable_metadata_routing"]:
                estimator = estimator.estimator if frozen else estimator
                params = weights_for(estimator, rows.weight)
            # Nothing is asked of a group that is left out: it is not predicted.
            known = np.asarray(self._kept.any(axis=1))
            codes = np.where(known[codes] & (codes >= 0), codes, -1)
            fits.append((estimator, codes, list(range(len(self.groups_))), params))
        tasks.begin((len(fits) - frozen) * (len(splits) + 1))
        fitted, predicted, settings = [], [], (self.n_jobs, tasks.done)
        with tip_to_drop(self, X):
            for model, values, labels, params in fits:
                held_out = predict_folds(
                    model, features, rows, values, labels, splits, params, *settings
                )[1]
                predicted.append(mean_of_folds(held_out, len(rows)))
                if not isinstance(model, FrozenEstimator):
                    own = np.flatnonzero(np.isin(values, labels))
                    model = fit_to_rows(clone(model), features, values, own, params)
                    tasks.done("all rows")
                fitted.append(model)
        self.estimator_, self.group_estimator_ = (*fitted, None)[:2]
        rows = replace(rows, y_pred=np.hstack(predicted))
        used = (rows.groups.codes >= 0) & (rows.weights > 0)
        self._rows = rows[used & np.isfinite(rows.y_pred).all(axis=1)]
        self._cells = self._cells_of(self._rows)
        self._parts = assign_folds(
            self._rows.y_true, self._rows.groups.codes, _N_PARTS, None
        )

    def _find_kept(self, rows: Rows, tests: list[NDArray[Any]]) -> None:
        """Set which groups are compared in each set of rows, and name the others.

        Groups with too few held-out rows are left out.
        """
        used = (rows.groups.codes >= 0) & (rows.weights > 0)
        held_out = np.zeros(len(rows), dtype=bool)
        for test in tests:
            held_out[test] = True
        used &= held_out | (not tests)
        self._shape = len(self.groups_), len(self._compared)
        counts = self._effective_rows(rows[used])
        few = (counts <= _FEW_ROWS) & self._compared.any(axis=1)
        self._kept = ~few & self._compared.any(axis=1)
        self._kept &= self._kept.sum(axis=0) > 1
        if not few.any():
            return
        several = len(self._compared) > 1
        named = [
            f"{self.groups_[group]!r}"
            + f" with {counts[group, label]:.0f} rows"
            + (f" of class {self.classes_[label]}" if several else "")
            for group, label in np.argwhere(few)
        ]
        nothing = "" if self._kept.any() else " So no decision is changed."
        warn_user(
            f"{type(self).__name__}: groups of at most {_FEW_ROWS} held-out "
            f"rows{' of a class' * several} are left out of the difference, as their "
            f"rates are not known well enough: {listed(named)}.{nothing}",
            MitigationWarning,
        )

    def _decisions_compared(self) -> NDArray[np.bool_]:
        """Which decisions (columns) are compared in each set of rows.

        The sets are all rows, or those of each class.
        """
        n_classes = len(self.classes_)
        compared = np.ones((n_classes, n_classes), dtype=bool)
        if self.constraint == "demographic_parity":
            compared = compared[:1]
        elif self.constraint == "true_positive_rate":
            compared = np.eye(n_classes, dtype=bool)
        if n_classes == 2:  # rates of the first class are 1 minus those of the second
            compared[:, 0] = False
        return compared

    def _cells_of(self, rows: Rows) -> Integers:
        """Return the number of the group and set of rows of each row together."""
        conditions = rows.y_true * (len(self._compared) > 1)
        codes = rows.groups.codes.astype(np.intp)
        return np.asarray(np.ravel_multi_index((codes, conditions), self._shape))

    def _effective_rows(self, rows: Rows) -> Floats:
        """Return how many rows of equal weight know as much, by group and set."""
        cells, weights = self._cells_of(rows), rows.weights
        totals, squares = (
            np.bincount(cells, values, math.prod(self._shape))
            for values in (weights, weights**2)
        )
        return quotients(totals**2, squares).reshape(self._shape)

    def _rates(self, decisions: Integers, used: Any = slice(None)) -> Floats:
        """Rates of decisions in each cell, of all held-out rows or of some."""
        shape = *self._shape, len(self.classes_)
        cells = shape[2] * self._cells[used] + decisions[used]
        sums = np.bincount(cells, self._rows.weights[used], math.prod(shape))
        sums = sums.reshape(shape)
        return quotients(sums, sums.sum(axis=2, keepdims=True))

    def _fit_path(self) -> None:
        """Solve for limits from the plain difference down to 0, and measure each.

        What is measured of a part of the rows are rules fitted to the other parts.
        """
        rows = self._rows
        p = rows.y_pred[:, : len(self.classes_)]
        plain = (-p @ self._cost).argmax(axis=1)
        units = quotients(1, self._effective_rows(rows), 1.0)[:, :, np.newaxis]
        noise = _RateNoise(self._kept[:, :, np.newaxis] & self._compared, units)
        rates = self._rates(plain)
        self._beyond_noise = self._kept.any() and noise.is_exceeded(rates)
        self._held_out = plain[np.newaxis]
        limits, measured = np.ones(1), [noise.measure(rates)]
        if self._kept.any():
            of_path = np.multiply(_SHARES, noise.largest(rates))
            of_path = np.maximum(of_path, _LEAST_LIMIT)
            self._rules = self._fit_rules(rows, of_path)
            parts = [self._measure_part(part, of_path) for part in range(_N_PARTS)]
            held_out = np.empty((len(_STEPS), len(rows)), dtype=np.intp)
            for part, (decisions, _) in enumerate(parts):
                held_out[:, self._parts == part] = decisions
            of_parts = np.array([rates for _, rates in parts]).swapaxes(0, 2)
            rates = np.array([self._rates(decisions) for decisions in held_out])
            measured += noise.measure_path(rates, of_parts[:, 0], of_parts[:, 1])
            self._held_out = np.concatenate([self._held_out, held_out])
            # No difference is above 1, the limit of the plain decisions.
            between = np.interp(_STEPS, np.linspace(0, 1, len(of_path)), of_path)
            limits = np.concatenate([limits, between])
        gains = [self._gain(decisions) for decisions in self._held_out]
        differences, errors = np.transpose(measured)
        self.path_ = {
            "params": [{"limit": limit} for limit in limits.tolist()],
            "limit": limits,
            f"mean_test_{self._performance}": np.array(gains),
            "mean_test_neg_difference": -differences,
            "difference_error": errors,
        }

    def _measure_part(self, part: int, limits: Floats) -> tuple[Integers, Floats]:
        """Decide for a part of the rows by rules that are fitted to the other parts.

        Return also the rates of these rules on all rows, and on those other parts.
        """
        rows, others = self._rows, self._parts != part
        rules = self._fit_rules(rows[others], limits)
        decisions = self._decide(rules, rows.y_pred, rows.groups.codes)
        rates = [
            [self._rates(each, used) for each in decisions]
            for used in (slice(None), others)
        ]
        return decisions[:, ~others], np.array(rates)

    def _fit_rules(self, rows: Rows, limits: Floats) -> _Rules:
        """Calibrate, and solve for limits; interpolate multipliers between them."""
        calibrations, kept = self._calibrate(rows), np.where(self._kept, 1.0, 0.0)
        rules = _Rules(calibrations, kept, np.zeros(0))
        values, ratios = self._values_and_ratios(rules, rows.y_pred, rows.groups.codes)
        shares = (rows.weights / rows.weights.sum()) @ ratios
        rules = rules._replace(shares=shares.reshape(self._shape))
        ratios = quotients(ratios, shares)
        solved = self._solve(rows, rules.shares, values, ratios, limits)
        path = make_interp_spline(np.linspace(0, 1, len(limits)), solved, k=1)(_STEPS)
        return rules._replace(multipliers=path)

    def _decide(self, rules: _Rules, predicted: Floats, codes: Any) -> Integers:
        """Decisions of each rule of a path."""
        plain, values, ratios = self._scores_and_ratios(rules, predicted, codes)
        counted = ratios.any(axis=1)
        return np.array(
            [
                np.where(
                    counted,
                    (values - ratios @ multipliers).argmax(axis=1),
                    plain.argmax(axis=1),
                )
                for multipliers in rules.multipliers
            ]
        )

    def _scores_and_ratios(
        self, rules: _Rules, predicted: Floats, codes: Any
    ) -> tuple[Floats, Floats, Floats]:
        """Plain scores, those that multipliers adjust, and ratios of the cells."""
        p = predicted[:, : len(self.classes_)]
        values, ratios = self._values_and_ratios(rules, predicted, codes)
        return np.asarray(1 - p @ self._cost), 1 + values + _noise(p), ratios

    def _calibrate(self, rows: Rows) -> dict[int, Any]:
        """Fit logistic regressions to logarithms of the predicted probabilities.

        With the group they predict the class in each group, without it the group in
        each set of rows.
        """
        rows = rows[np.asarray(self._kept.any(axis=1))[rows.groups.codes]]
        conditions = self._cells_of(rows) % len(self._compared)
        labels: Integers = rows.groups.codes.astype(np.intp)
        if self.uses_group:
            conditions, labels = labels, rows.y_true
        logs = _logs(rows.y_pred)
        n_coefficients = (logs.shape[1] + 1) * (labels.max() + 1)
        solver = "newton-cholesky" if n_coefficients < _MANY_COEFFICIENTS else "lbfgs"
        calibrations = {}
        for condition in np.unique(conditions).tolist():
            own = conditions == condition
            if self.uses_group and own.sum() < _ROWS_BY_COEFFICIENT * n_coefficients:
                continue
            weights = rows.weights[own] / rows.weights[own].mean()
            # Where all rows have the same label, it is certain.
            model = LogisticRegression(solver=solver, max_iter=500)
            model = model if np.ptp(labels[own]) else DummyClassifier()
            model.fit(logs[own], labels[own], sample_weight=weights)
            calibrations[condition] = model
        return calibrations

    def _solve(
        self,
        rows: Rows,
        of_cells: Floats,
        values: Floats,
        ratios: Floats,
        limits: Floats,
    ) -> list[Floats]:
        """Multipliers of the least expected loss under each limit, one after the other.

        There is a multiplier for each cell (row) and decision (column). They join those
        of comparisons of groups, which start from the solution of the limit before. If
        groups are predicted, errors in comparing few rates are corrected, the more so
        the larger they are beside their noise.
        """
        # Half the digits take half the time, and are more than a rate needs.
        values = np.ascontiguousarray(values.T, dtype=np.float32)
        ratios = np.ascontiguousarray(ratios.T, dtype=np.float32)
        shape = *self._shape, len(values)
        conditions, decisions = np.nonzero(self._compared)
        comparisons, price = _comparisons(of_cells)
        comparisons = comparisons[conditions]
        corrected = not self.uses_group and self.constraint != "demographic_parity"
        corrected &= self._compared.sum() * len(self.groups_) <= _MOST_CORRECTED
        # Corrected rates may allow no solution: a miss of d then costs 2 d at most.
        bounds = (0, 2 if corrected else None)
        weights = rows.weights / rows.weights.sum()
        own = np.arange(len(ratios))[:, np.newaxis] == self._cells_of(rows)
        missed = quotients(own, own @ weights[:, np.newaxis]) - ratios

        def join(parts: Floats) -> Floats:
            multipliers = np.zeros(shape)
            joined = comparisons @ parts.reshape(len(comparisons), -1, 1)
            multipliers[:, conditions, decisions] = joined[:, :, 0].T
            return multipliers.reshape(-1, shape[-1])

        def decide(parts: Floats, width: float) -> tuple[Floats, float]:
            logits = values - join(parts).T.astype(np.float32) @ ratios
            logits /= np.float32(width)
            largest = logits.max(axis=0)
            chances = np.exp(logits - largest)
            sums = chances.sum(axis=0)
            chances *= (weights / sums).astype(np.float32)
            return chances, width * float(weights @ (largest + np.log(sums)))

        def compare(ratio: Floats, chances: Floats, by: Floats = comparisons) -> Floats:
            rates = (ratio @ chances.T).reshape(shape)[:, conditions, decisions].T
            return (rates[:, np.newaxis].astype(np.float64) @ by).ravel()

        def objective(parts: Floats, width: float, prices: Floats) -> tuple[Any, Any]:
            chances, smoothed = decide(parts, width)
            return smoothed + prices @ parts, prices - compare(ratios, chances)

        path: list[Floats] = []
        parts = errors = np.zeros(comparisons[:, 0].size)
        for limit in limits:
            for width in _WIDTHS[bool(path) :]:
                parts = minimize(
                    objective,
                    parts,
                    args=(width, limit * price - errors),
                    jac=True,
                    method="L-BFGS-B",
                    bounds=[bounds] * len(parts),
                    options={"maxiter": 500, "ftol": 1e-7, "gtol": 3e-4},
                ).x
            if corrected:
                chances = decide(parts, _WIDTHS[-1])[0]
                errors = compare(missed, chances)
                noise = compare(missed**2, chances**2, comparisons**2)
                errors *= quotients(errors**2, errors**2 + noise)
            path.append(join(parts))
        return path

    def _gain(self, decisions: Integers) -> float:
        """Accuracy of decisions for the held-out rows, or minus their mean cost."""
        costs = self._cost[self._rows.y_true, decisions]
        cost = np.average(costs, weights=self._rows.weights)
        return float(1 - cost if self.cost is None else -cost * self._unit)

    def _choose(self) -> Self:
        """Take the best rule of the path whose difference is shown to be kept.

        Where none is, that with the smallest sum of difference and error is taken.
        """
        path, largest = self.path_, self.max_difference
        gains = path[f"mean_test_{self._performance}"]
        differences = -path["mean_test_neg_difference"]
        errors = path["difference_error"]
        # A difference that is expected to be larger was measured by luck.
        below = _is_below(differences, errors, largest, _N_ERRORS_CHOSEN)
        allowed = below & (path["limit"] <= largest)
        if below[0] or not self._beyond_noise:
            chosen = 0
        elif allowed.any():
            chosen = int(np.where(allowed, gains, -math.inf).argmax())
        else:
            chosen = int((differences + errors).argmin())
        self._chosen = chosen
        self.comparison_ = self._compare(chosen)
        shown = _is_below(differences[chosen], errors[chosen], largest, _N_ERRORS_SHOWN)
        if self._kept.any() and not shown:
            problem = f"max_difference={largest:g} is not shown to be kept"
            warn_of_comparison(self, self.comparison_, _REMEDY, problem)
        return self

    def _compare(self, chosen: int) -> Comparison:
        """Compare the decisions of a rule with the plain ones, on held-out rows."""
        path, rows, columns = self.path_, self._rows, list[dict[str, float]]()
        weights = rows.weights / rows.weights.sum()
        costs = [self._cost[rows.y_true, self._held_out[i]] for i in (0, chosen)]
        change = (costs[1] - costs[0]) * self._unit
        error = float(np.linalg.norm(weights * (change - weights @ change)))
        people: Any = {"sensitive_features": rows.groups, "sample_weight": rows.weights}
        for i in (0, chosen):
            values = {self._performance: path[f"mean_test_{self._performance}"][i]}
            if self.constraint == "equalized_odds":
                decisions = self._held_out[i]
                values["dcp"] = dcp(rows.y_true, decisions, **people, method="local")
            values["difference"] = -path["mean_test_neg_difference"][i]
            columns.append({name: float(value) for name, value in values.items()})
        errors = dict.fromkeys(columns[0], math.nan) | {self._performance: error}
        errors["difference"] = float(path["difference_error"][chosen])
        sizes = dict(zip(self.groups_, rows.groups.sizes().tolist(), strict=True))
        return Comparison(len(rows), columns[0], columns[1], errors, sizes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _values_and_ratios(
        self, rules: _Rules, predicted: Floats, codes: NDArray[np.integer]
    ) -> tuple[Floats, Floats]:
        """Value of each decision, and how much each row counts in the rates of a cell.

        A row without a group counts in none.
        """
        n_groups, n_conditions = self._shape
        of_groups = np.zeros((len(codes), n_groups, n_conditions))
        if self.uses_group:
            of_groups += (codes[:, np.newaxis] == np.arange(n_groups))[:, :, np.newaxis]
        of_classes, logs = predicted[:, : len(self.classes_)].copy(), _logs(predicted)
        for condition, model in rules.calibrations.items():
            fitted = model.predict_proba(logs)
            if self.uses_group:
                own = codes == condition
                of_classes[own] = 0
                of_classes[np.ix_(own, model.classes_)] = fitted[own]
            else:
                of_groups[:, model.classes_, condition] = fitted
        if n_conditions > 1:
            of_groups *= of_classes[:, np.newaxis]
        ratios = quotients(of_groups.reshape(len(codes), -1), rules.shares.ravel())
        return -of_classes @ self._cost, ratios

    def _adjusted_scores(self, X: Any, sensitive_features: Any) -> Floats:
        """Score of each class, 1 minus expected cost moved by the multipliers."""
        table, X = X, begin_predict(self, X)
        classes = self.classes_.tolist()
        predicted = label_probabilities(self.estimator_, X, classes)
        plain = np.asarray(1 - predicted @ self._cost)
        if not self.groups_:
            return plain
        codes: NDArray[np.integer] = np.zeros(len(plain), dtype=np.intp)
        if self.uses_group or sensitive_features is not None:
            column = groups_to_predict(self, table, sensitive_features)
            groups = resolve_groups(column, n_samples=len(plain))
            if self.uses_group:
                codes = encode_groups(groups, labels=self.groups_).codes
        if not self._chosen:
            return plain
        if not self.uses_group:
            labels, model = list(range(len(self.groups_))), self.group_estimator_
            predicted = np.hstack([predicted, label_probabilities(model, X, labels)])
        rules = self._rules
        plain, values, ratios = self._scores_and_ratios(rules, predicted, codes)
        scores = values - ratios @ rules.multipliers[self._chosen - 1]
        return np.where(ratios.any(axis=1, keepdims=True), scores, plain)


class _RateNoise:
    """Noise of the rates of cells, and of the largest difference of two groups.

    `compared` says which rates are, of shape (n_groups, n_conditions, n_classes), and
    `units` has the inverse number of rows of each cell.
    """

    def __init__(self, compared: NDArray[np.bool_], units: Floats) -> None:
        self.compared, self.units = compared, units
        generator = np.random.default_rng(0)
        self._draws = generator.standard_normal((_N_DRAWS, *compared.shape))

    def largest(self, rates: Floats) -> Floats:
        """Largest difference between two groups."""
        highest = np.where(self.compared, rates, -math.inf).max(axis=-3)
        lowest = np.where(self.compared, rates, math.inf).min(axis=-3)
        return np.asarray((highest - lowest).max(axis=(-2, -1)))

    def measure(
        self, rates: Floats, fitted: float = -1.0, fits: Floats | None = None
    ) -> tuple[float, float]:
        """Largest difference expected for new rows, and its standard error.

        Noise adds to the largest difference of rates, and that of a rule that is given
        is subtracted. What is `fitted` is the share of the variance of this noise that
        new rows have more than these. Rates of parts come from several `fits`, of which
        any one may differ more than their mean; theirs are less the mean of all groups.
        """
        if not self.compared.any():
            return math.nan, math.nan
        fits = rates[np.newaxis] if fits is None else fits
        variances = self._noise_of(rates)
        all_variances = variances + fits.var(axis=0) * self.compared
        hidden = fitted * variances
        more, less, all_noise = (
            self.largest(rates + self._draws * np.sqrt(np.maximum(each, 0)))
            for each in (hidden, -hidden, all_variances)
        )
        of_one = self.largest(fits).mean() - self.largest(fits.mean(axis=0))
        expected = self.largest(rates) + more.mean() - less.mean() + of_one
        return max(0.0, float(expected)), float(all_noise.std())

    def measure_path(
        self, rates: Floats, on_all: Floats, on_others: Floats
    ) -> list[tuple[float, float]]:
        """Measure the rules of a path, which were fitted to other rows than these.

        Multipliers are fitted to noise in part. New rows do not have it, and in these
        rates it is hidden: it cancels the noise of the rows left out. It is told by the
        rates without each part, `on_all` rows and on those fitted to: the former vary
        by what is fitted, and the latter by what is not. A line along the path smooths
        this share.
        """
        sizes, shares, fits = self.compared / self.units, [], []
        weights = quotients(sizes, sizes.sum(axis=0))
        # By the jackknife, the variance without one part is less by this factor.
        factor = (_N_PARTS - 1) ** 2 / _N_PARTS
        for rule, *both in zip(rates, on_all, on_others, strict=True):
            relative = [
                each - (each * weights).sum(axis=1, keepdims=True) for each in both
            ]
            of_fit, of_rest = (each.var(axis=0, ddof=1) for each in relative)
            variances = self._noise_of(rule)
            excess = factor * ((of_fit - of_rest) * sizes).sum()
            shares.append(excess / (variances * sizes * (1 - weights)).sum())
            fits.append(relative[0])
        line = np.polynomial.Polynomial.fit(_STEPS, shares, 1)(_STEPS)
        fitted = np.clip(line, -1, 1).tolist()
        return [self.measure(*each) for each in zip(rates, fitted, fits, strict=True)]

    def _noise_of(self, rates: Floats) -> Floats:
        """Variances of rates, with a row of each decision more: 0 has an error."""
        shrunk = (rates + self.units) / (1 + 2 * self.units)
        return np.where(self.compared, shrunk * (1 - shrunk) * self.units, 0)

    def is_exceeded(self, rates: Floats) -> bool:
        """Test whether any two groups differ, each pair by its standard error."""
        sizes = self.compared / self.units
        mean = quotients((sizes * rates).sum(axis=0), sizes.sum(axis=0))
        errors = np.sqrt(mean * (1 - mean) * self.units)
        noisy = self._largest_ratio(errors * self._draws, errors)
        critical = np.quantile(noisy, 1 - _LEVEL)
        return bool(self._largest_ratio(rates, errors) > critical)

    def _largest_ratio(self, rates: Floats, errors: Floats) -> Floats:
        """Largest difference of two groups beside its standard error."""
        largest = np.zeros(rates.shape[:-3])
        for first, second in itertools.combinations(range(len(errors)), 2):
            both = self.compared[first] & self.compared[second]
            error = np.hypot(errors[first], errors[second])
            difference = np.abs(rates[..., first, :, :] - rates[..., second, :, :])
            ratios = quotients(difference, error)[..., both]
            largest = np.maximum(largest, ratios.max(axis=-1, initial=0))
        return largest


def _is_below(difference: Any, error: Any, limit: float, n_errors: float) -> Any:
    """Whether differences are below a limit by standard errors; none is above 1."""
    return np.minimum(difference + n_errors * error, 1) <= limit


def _comparisons(shares: Floats) -> tuple[Floats, float]:
    """Return the comparisons of groups in each set of rows, and their price.

    They are of shape (n_conditions, n_groups, n_comparisons): 1 for a group, and -1 for
    another, or minus the shares of all. Groups without rows are in none. If each group
    differs from everyone by half a limit, no two groups differ by more than the limit.
    """
    n_groups = len(shares)
    unit, present = np.eye(n_groups), (shares > 0).T
    if n_groups <= _MOST_GROUPS_IN_PAIRS:
        first, second = np.nonzero(1 - unit)
        joined = np.tile(unit[first].T - unit[second].T, (shares.shape[1], 1, 1))
        joined *= (present[:, first] & present[:, second])[:, np.newaxis]
        return joined, 1.0
    everyone = quotients(shares, shares.sum(axis=0)).T[:, :, np.newaxis]
    joined = (unit - everyone) * present[:, np.newaxis]
    return np.concatenate([joined, -joined], axis=2), 0.5


def _noise(probabilities: Floats) -> Floats:
    """Gumbel numbers by which near ties are broken, the same for equal probabilities.

    Their largest sum with scores is a class drawn as the smoothed problem assumes. They
    are made of late decimals of the probabilities, times numbers of which none is a
    fraction of others.
    """
    n_classes = probabilities.shape[1]
    digits = _FIRST_DECIMAL * (probabilities @ np.sqrt(np.arange(2, n_classes + 2)))
    uniform = digits[:, np.newaxis] * np.exp(np.arange(n_classes) / n_classes) % 1
    gumbel = -np.log(-np.log(np.clip(uniform, 1e-6, 1 - 1e-6)))
    return np.asarray(_WIDTHS[-1] * gumbel)


def _logs(probabilities: Floats) -> Floats:
    """Logarithms of probabilities, none of which is infinite."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))
