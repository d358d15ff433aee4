"""A search for models that serve as well as a baseline and divide less."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV, check_cv
from sklearn.utils import Bunch, check_random_state, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed

from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._columns import Selector
from skfair._utils._response import asked_of
from skfair._utils._validation import (
    as_array,
    check_choice,
    check_integer,
    check_no_missing,
    check_real,
    check_weights,
)
from skfair._utils._warnings import warn_user
from skfair.groups import Groups, resolve_groups
from skfair.metrics import get_fairness_scorer, make_group_scorer
from skfair.model_selection._folds import (
    GroupStratifiedKFold,
    Split,
    cross_fit,
    fit_to_rows,
    hold_out,
    params_of_rows,
)
from skfair.model_selection._model_comparison import (
    Model,
    Place,
    largest_gap_place,
    models_table,
)
from skfair.model_selection._rules import folds_of, non_dominated

#: Disparities that can be confirmed.
_DISPARITIES = ("mcdp", "demographic_parity_difference")
_RESPONSES = ("predict_proba", "decision_function", "predict")


class LessDiscriminatorySearchCV(RandomizedSearchCV):  # type: ignore[misc]
    """Search for a model that performs as well as a baseline and divides less.

    Candidates are drawn and evaluated by cross-validation on one part of the rows. A
    few of them are then tested on the other part, which had no say in their choice:
    their performance is not lower than the baseline's by more than `margin`, and their
    disparity is lower. Holm's method corrects for their number. The best of those that
    are confirmed is the model of the search; without any, the baseline is.

    Parameters
    ----------
    estimator : classifier
        Classifier of two classes, or a pipeline, as it is without an alternative.
    param_distributions : dict or list of dicts
        As in :class:`sklearn.model_selection.RandomizedSearchCV`. A seed is a parameter
        as any other, a step of a pipeline may be another estimator, and lists of dicts
        draw from different mitigators or feature sets.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Columns of X that hold the group, several for their intersection, or a function
        of X. With None, groups are routed: ``fit(X, y, sensitive_features=...)`` under
        metadata routing.
    scoring : str or callable, default="average_precision"
        Performance, larger for better. It may use the responses of the estimator and
        the true labels, not X.
    disparity : {"mcdp", "demographic_parity_difference"}, default="mcdp"
        Disparity of the probabilities at every threshold, or of the predicted labels.
    margin : float, default=0.01
        Performance that may be lost, in the unit of `scoring`.
    baseline : dict, default=None
        Parameters of the estimator that is to be replaced; None is `estimator` as it
        is.
    n_iter : int, default=50
        Number of candidates that are drawn.
    cv : int, splitter or iterable of splits, default=5
        Folds of the rows of the search; a number is stratified by class and group.
    confirm_size : float in (0, 1), default=0.3
        Share of the rows on which candidates are confirmed.
    n_confirm : int, default=5
        Largest number of candidates that are taken to confirmation.
    confidence_level : float in (0, 1), default=0.95
        Probability that all confirmed statements are true together.
    n_jobs : int, default=None
        Number of processes. The result does not depend on it.
    error_score : "raise" or number, default=nan
        Score of a candidate whose fit fails, see `RandomizedSearchCV`.
    random_state : int, RandomState instance or None, default=None
        Seed of the split into search and confirmation, and of the candidates.

    Attributes
    ----------
    best_estimator_ : classifier
        The confirmed model with the smallest disparity on the rows of confirmation, or
        the baseline; fitted to the rows of the search.
    best_params_ : dict
        Its parameters among those that were drawn.
    best_index_ : int
        Its position in `cv_results_`; 0 is the baseline.
    best_score_ : float
        Its mean performance over the folds of the search.
    baseline_ : classifier
        The baseline, fitted to the same rows.
    alternatives_ : DataFrame
        A row for the baseline and for each candidate: ``params``, with its seed if that
        was drawn; ``search_performance`` and ``search_disparity``, means over folds;
        ``eligible``, whether it performs well enough there; ``taken``, whether it was
        taken to confirmation; and the columns of the table of `compare_models`.
    cv_results_ : dict
        Results on the rows of the search, for `FairestWithin` and `pareto_front`.
    scorer_ : callable
        Scorer of the performance.
    n_splits_ : int
        Number of folds.
    multimetric_ : bool
        False: the search returns one score, the performance.
    classes_ : ndarray of shape (2,)
        Classes; the second is the positive one.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    Raises
    ------
    ValueError
        On parameters out of range, if y has not two classes, and if the baseline cannot
        be scored.

    Warns
    -----
    UserWarning
        If no alternative is confirmed.

    See Also
    --------
    compare_models : The same test for scores of models that exist.
    FairestWithin : A rule of choice for any search, without confirmation.

    Notes
    -----
    A candidate is eligible if its mean performance over folds is lower than the
    baseline's by at most `margin` less one standard error of the difference. Taken to
    confirmation are eligible candidates whose mean disparity is lower than the
    baseline's by more than one standard error, and that no other of these exceeds in
    both; of more than `n_confirm`, some that are evenly spaced in the order of their
    disparity, the smallest among them. Only rows of the search decide this. The tests
    are those of `compare_models`; the score at which the baseline's gap is measured
    comes from the rows of the search, predicted by models of other folds.

    Rows of one person should not be on both sides of the split: give one row each.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skfair.model_selection import LessDiscriminatorySearchCV
    >>> rng = np.random.default_rng(0)
    >>> man, skill, noise = rng.integers(0, 2, 6000), *rng.normal(size=(2, 6000))
    >>> X = pd.DataFrame({"sex": man, "skill": skill, "proxy": 3 * man + noise})
    >>> y = (skill + 0.7 * man + rng.normal(size=6000) > 0).astype(int)
    >>> kept = [[("kept", "passthrough", [name])] for name in ("skill", "proxy")]
    >>> search = LessDiscriminatorySearchCV(
    ...     make_pipeline(
    ...         make_column_transformer(("passthrough", ["skill", "proxy"])),
    ...         LogisticRegression(),
    ...     ),
    ...     {"columntransformer__transformers": kept},
    ...     sensitive_features="sex",
    ...     margin=0.05,
    ...     n_iter=2,
    ...     cv=2,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'columntransformer__transformers': [('kept', 'passthrough', ['skill'])]}
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        sensitive_features: Selector | None = None,
        scoring: Any = "average_precision",
        disparity: Literal["mcdp", "demographic_parity_difference"] = "mcdp",
        margin: float = 0.01,
        baseline: dict[str, Any] | None = None,
        n_iter: int = 50,
        cv: Any = 5,
        confirm_size: float = 0.3,
        n_confirm: int = 5,
        confidence_level: float = 0.95,
        n_jobs: int | None = None,
        error_score: Any = math.nan,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            cv=cv,
            random_state=random_state,
            error_score=error_score,
        )
        self.sensitive_features = sensitive_features
        self.disparity = disparity
        self.margin = margin
        self.baseline = baseline
        self.confirm_size = confirm_size
        self.n_confirm = n_confirm
        self.confidence_level = confidence_level

    def fit(self, X: Any, y: Any, **params: Any) -> LessDiscriminatorySearchCV:
        """Search on one part of the rows, and confirm on the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels of two classes, the second of which is positive.
        **params : dict
            Parameters of `fit` of the estimator; under metadata routing also
            `sensitive_features`, and what the scorer and the splitter request.
            A `sample_weight` counts in the confirmation, too.

        Returns
        -------
        LessDiscriminatorySearchCV
        """
        self._check()
        X, y = indexable(X, as_array(y, "y"))
        check_no_missing(y, "y")
        classes, binary = np.unique(y, return_inverse=True)
        if len(classes) != 2:
            raise ValueError(f"y must have two classes, got {len(classes)}.")
        groups = resolve_groups(
            params.get("sensitive_features"),
            n_samples=len(y),
            X=X,
            selector=self.sensitive_features,
        )
        routed = self._route(params)
        weights = check_weights(params.get("sample_weight"), len(y))
        rng = check_random_state(self.random_state)
        rows = Rows(groups, y_true=binary, weight=weights)
        self.scorer_ = self._scorer()
        search, confirm = hold_out(rows, self.confirm_size, rng, "confirm_size")
        splits = self._splits(X, y, groups, search, routed.splitter.split)
        self._search(X, y, params, splits, rng)
        taken, fit_params = self._taken(), routed.estimator.fit
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_to_rows)(self._candidate(i), X, y, search, fit_params)
            for i in taken
        )
        names = {"sensitive_features", "control_features"}
        labels = {name: params[name] for name in names & params.keys()}
        place = self._place(X, y, rows, splits, fit_params, labels)
        fitted = dict(zip(taken, models, strict=True))
        answers = {
            i: _Answers(model, X, confirm, labels) for i, model in fitted.items()
        }
        self._confirm(answers, y[confirm], rows[confirm], place)
        self._conclude(fitted)
        return self

    def _check(self) -> None:
        """Raise on parameters out of range."""
        check_choice("disparity", self.disparity, _DISPARITIES)
        check_real("margin", self.margin, 0, math.inf, closed="left")
        check_real("confirm_size", self.confirm_size, 0, 1, closed="neither")
        check_real("confidence_level", self.confidence_level, 0, 1, closed="neither")
        check_integer("n_iter", self.n_iter, 1)
        check_integer("n_confirm", self.n_confirm, 1)
        if self.baseline is not None and not isinstance(self.baseline, dict):
            raise TypeError(
                "baseline must be a dict of parameters of the estimator, or None, got "
                f"{self.baseline!r}."
            )
        if (
            self.sensitive_features is None
            and not get_config()["enable_metadata_routing"]
        ):
            raise ValueError(
                "sensitive_features must name columns of X, got None. Groups that are "
                "no column of X are routed: sklearn.set_config("
                "enable_metadata_routing=True), and pass sensitive_features to fit."
            )

    def _scorer(self) -> Any:
        """Scorer of the performance, which passes groups on."""
        if isinstance(self.scoring, str) or hasattr(self.scoring, "_score_func"):
            return make_group_scorer(self.scoring)
        if not callable(self.scoring):
            raise ValueError(
                "scoring must be the name of a scorer or a scorer, got "
                f"{self.scoring!r}."
            )
        return self.scoring

    def _scoring(self) -> dict[str, Any]:
        """Scorers of the search, by their names in `cv_results_`."""
        name = self.scoring if isinstance(self.scoring, str) else "performance"
        fairness = f"neg_{self.disparity}"
        return {
            name: self._scorer(),
            fairness: get_fairness_scorer(
                fairness, sensitive_features=self.sensitive_features
            ),
        }

    def get_metadata_routing(self) -> MetadataRouter:
        """Say what the estimator, the splitter and the scorers request.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self)
        performance, disparity = self._scoring().values()
        for name, target, callee in (
            ("estimator", self.estimator, "fit"),
            ("splitter", self.cv, "split"),
            ("scorer", performance, "score"),
            ("disparity", disparity, "score"),
        ):
            mapping = MethodMapping().add(caller="fit", callee=callee)
            if name == "scorer":
                mapping.add(caller="score", callee="score")
            router.add(method_mapping=mapping, **{name: target})
        return router

    def _route(self, params: dict[str, Any]) -> Bunch:
        """Parameters of the estimator and of the splitter."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params)
        fit = {name: value for name, value in params.items() if name != "groups"}
        split = {name: value for name, value in params.items() if name == "groups"}
        return Bunch(estimator=Bunch(fit=fit), splitter=Bunch(split=split))

    def _splits(
        self, X: Any, y: Any, groups: Groups, search: Integers, split: dict[str, Any]
    ) -> list[Split]:
        """Folds of the search; of a number they are stratified by class and group."""
        if self.cv is None or isinstance(self.cv, numbers.Integral):
            n_splits = 5 if self.cv is None else check_integer("cv", self.cv, 2)
            splitter, split = GroupStratifiedKFold(n_splits), {"groups": groups}
        else:
            splitter = check_cv(self.cv, y[search], classifier=True)
        split = params_of_rows(split, search, len(y))
        folds = splitter.split(take_rows(X, search), y[search], **split)
        return [(search[train], search[test]) for train, test in folds]

    def _search(
        self, X: Any, y: Any, params: dict[str, Any], splits: list[Split], rng: Any
    ) -> None:
        """Evaluate the baseline and the candidates."""
        search = _Candidates(
            self.estimator,
            self.param_distributions,
            n_iter=self.n_iter,
            scoring=self._scoring(),
            refit=False,
            cv=splits,
            n_jobs=self.n_jobs,
            error_score=self.error_score,
            random_state=rng,
        )
        search.baseline = {} if self.baseline is None else self.baseline
        if get_config()["enable_metadata_routing"]:
            names = search.get_metadata_routing().consumes("fit", params)
            params = {name: params[name] for name in names}
        search.fit(X, y, **params)
        self.cv_results_, self.n_splits_ = search.cv_results_, search.n_splits_
        self.multimetric_ = False
        performance, fairness = self._scoring()
        performances = self.cv_results_[f"mean_test_{performance}"]
        disparities = -self.cv_results_[f"mean_test_{fairness}"]
        if not np.isfinite([performances[0], disparities[0]]).all():
            raise ValueError(
                f"The baseline has {performance} {performances[0]} and "
                f"{self.disparity} {disparities[0]} in the search, expected finite "
                "numbers. error_score='raise' shows why a fit or a score failed."
            )
        eligible = _less_one_error(self.cv_results_, performance) >= -self.margin
        eligible[0] = False  # the baseline
        self.alternatives_ = pd.DataFrame(
            {
                "params": self.cv_results_["params"],
                "search_performance": performances,
                "search_disparity": disparities,
                "eligible": eligible,
            }
        ).rename_axis("candidate")

    def _taken(self) -> list[int]:
        """Take the baseline and some candidates that may be confirmed."""
        table, (_, fairness) = self.alternatives_, self._scoring()
        lower = _less_one_error(self.cv_results_, fairness) > 0
        able = table[table["eligible"] & lower]
        points = able[["search_performance", "search_disparity"]].to_numpy() * [1, -1]
        front = able[non_dominated(points)].sort_values("search_disparity")
        # Of equal candidates the first is enough.
        front = front.drop_duplicates(["search_performance", "search_disparity"])
        n_taken = min(self.n_confirm, len(front))
        places = np.linspace(0, len(front) - 1, n_taken).round().astype(int)
        return [0, *map(int, front.index[places])]

    def _candidate(self, i: int) -> Any:
        """Return the estimator with the parameters of a candidate, not fitted."""
        params = clone(self.alternatives_["params"][i], safe=False)
        return clone(self.estimator).set_params(**params)

    def _place(
        self,
        X: Any,
        y: Any,
        rows: Rows,
        splits: list[Split],
        fit_params: dict[str, Any],
        labels: dict[str, Any],
    ) -> Place:
        """Score where the baseline's gap is largest, on the rows of the search."""
        folds = cross_fit(
            self._candidate(0),
            X,
            y,
            splits,
            fit_params,
            partial(_held_out_scores, labels=labels, disparity=self.disparity),
            n_jobs=self.n_jobs,
        )
        held_out, scores = (np.concatenate(both) for both in zip(*folds, strict=True))
        rows = replace(rows[held_out], y_pred=scores).grouped()
        return largest_gap_place(rows.y_pred, rows.groups.codes, rows.weights)

    def _confirm(
        self, answers: dict[int, _Answers], y: Any, rows: Rows, place: Place
    ) -> None:
        """Test candidates on rows that chose nothing, and complete the table."""
        models = {
            i: Model(
                partial(_performance, self.scorer_, answer, y, rows.weight),
                answer.scores(self.disparity),
                answer.finest(),
            )
            for i, answer in answers.items()
        }
        tests = models_table(
            models,
            rows.groups,
            rows.y_true,
            rows.weights,
            place=place,
            margin=self.margin,
            level=self.confidence_level,
        )
        _, *alternatives = answers
        table = self.alternatives_.assign(
            taken=self.alternatives_.index.isin(alternatives)
        ).join(tests)
        # Undecided ones are not confirmed.
        self.alternatives_ = table.assign(confirmed=table["confirmed"].eq(True))

    def _conclude(self, fitted: dict[int, Any]) -> None:
        """Set the attributes of the choice, and warn if it is the baseline."""
        table = self.alternatives_
        confirmed = table.loc[table["confirmed"], "disparity"]
        self.best_index_ = best = 0 if confirmed.empty else int(confirmed.idxmin())
        self.best_params_ = table["params"][best]
        self.best_score_ = float(table["search_performance"][best])
        self.baseline_ = fitted[0]
        self.best_estimator_ = fitted[best]
        if hasattr(fitted[best], "feature_names_in_"):
            self.feature_names_in_ = fitted[best].feature_names_in_
        if best == 0:
            warn_user(
                f"No alternative is confirmed: {int(table['taken'].sum())} of "
                f"{len(table) - 1} candidates were taken to confirmation. The best "
                "model is the baseline."
            )


class _Candidates(RandomizedSearchCV):  # type: ignore[misc]
    """Evaluates the baseline, then the candidates."""

    baseline: dict[str, Any]

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        sampler = ParameterSampler(
            self.param_distributions, self.n_iter, random_state=self.random_state
        )
        evaluate_candidates([self.baseline, *sampler])


def _less_one_error(results: dict[str, Any], metric: str) -> Floats:
    """Score of each candidate minus that of the baseline, less one standard error.

    Both are over folds; of one fold the error is 0.
    """
    folds = np.array(folds_of(results, metric))
    differences = folds - folds[:, :1]
    if len(folds) == 1:
        return np.asarray(differences[0])
    error = differences.std(axis=0, ddof=1) / math.sqrt(len(folds))
    return np.asarray(differences.mean(axis=0) - error)


class _Answers:
    """A fitted model whose responses to some rows are computed once.

    Scorers are given positions of these rows as X.
    """

    def __init__(
        self, estimator: Any, X: Any, rows: Integers, labels: dict[str, Any]
    ) -> None:
        self._estimator, self._X = estimator, take_rows(X, rows)
        self._labels = {name: take_rows(labels[name], rows) for name in labels}
        self._responses: dict[str, NDArray[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._estimator, name)
        if name not in _RESPONSES:
            return attribute
        if name not in self._responses:
            labels = asked_of(self._estimator, name, self._labels)
            self._responses[name] = np.asarray(attribute(self._X, **labels))

        def response(rows: Any) -> NDArray[Any]:
            return np.asarray(self._responses[name][rows])

        response.__name__ = name  # which scikit-learn reads
        return response

    def scores(self, disparity: str) -> Floats:
        """Probabilities, or decisions, whose largest gap is the disparity."""
        if disparity == "mcdp":
            return np.asarray(self.predict_proba(slice(None))[:, 1], dtype=float)
        decisions = self.predict(slice(None)) == self.classes_[1]
        return np.asarray(decisions, dtype=float)

    def finest(self) -> Floats:
        """Numbers in the order of the responses, the finest that the model has."""
        if hasattr(self, "predict_proba"):
            return self.scores("mcdp")
        if hasattr(self, "decision_function"):
            return np.asarray(self.decision_function(slice(None)), dtype=float)
        return self.scores("demographic_parity_difference")


def _performance(
    scorer: Any,
    answers: _Answers,
    y: NDArray[Any],
    weights: Any,
    labelled: Integers,
    rows: Integers,
) -> float:
    """Score the responses to some rows by the true labels of others."""
    options = {} if weights is None else {"sample_weight": weights[labelled]}
    return float(scorer(answers, rows, y[labelled], **options))


def _held_out_scores(
    estimator: Any, X: Any, rows: Integers, labels: dict[str, Any], disparity: str
) -> tuple[Integers, Floats]:
    """Positions of the rows of a fold, and their scores."""
    labels = {name: take_rows(values, rows) for name, values in labels.items()}
    answers = _Answers(estimator, X, np.arange(len(rows)), labels)
    return rows, answers.scores(disparity)
