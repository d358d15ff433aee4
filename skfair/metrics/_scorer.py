"""Fairness metrics as scikit-learn scorers, and scorers that pass groups on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, make_scorer

from skfair._utils._columns import check_selector, select_columns
from skfair._utils._hints import did_you_mean
from skfair._utils._response import (
    RANKED_METHODS,
    accepted_metadata,
    find_score_method,
    respond,
    tip_for_unknown_columns,
)
from skfair._utils._text import shown
from skfair._utils._validation import count_rows
from skfair.groups import (
    Selector,
    check_expected,
    relabel_expected,
    resolve_groups,
    resolve_strata,
)
from skfair.metrics._as_metric import METRICS, UserMetric, as_metric
from skfair.metrics._metric import Metric

#: scikit-learn's consumers treat only instances of this class as scorers.
_Scorer: Any = type(make_scorer(accuracy_score))

#: Prefix of scorer names before the metric's name, since disparities are negated.
_NEGATED = "neg_"


class GroupScorer(_Scorer):  # type: ignore[misc]
    """Scorer that passes routed groups to the predict methods that take them.

    Made by `make_group_scorer`; not meant to be constructed directly.
    """

    _sensitive_features: Selector | None = None

    def __repr__(self) -> str:
        return f"make_group_scorer({super().__repr__()})"

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y_true: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        **kwargs: Any,
    ) -> float:
        """Score an estimator.

        Parameters
        ----------
        estimator : object
            Fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Test data.
        y_true : array-like of shape (n_samples,)
            True labels.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Groups, which take precedence over columns of X that the scorer or the
            estimator names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Strata, likewise.
        **kwargs : dict
            `sample_weight`, and other metadata under metadata routing.

        Returns
        -------
        float
            The score, larger for better; a disparity is negated.
        """
        if sensitive_features is None and control_features is None:
            return float(super().__call__(estimator, X, y_true, **kwargs))
        return self._score(
            respond,
            estimator,
            X,
            y_true,
            sensitive_features=sensitive_features,
            control_features=control_features,
            **kwargs,
        )

    def _score(
        self,
        method_caller: Callable[..., Any],
        estimator: Any,
        X: Any,
        y_true: Any,
        sensitive_features: Any = None,
        control_features: Any = None,
        **kwargs: Any,
    ) -> float:
        routed = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
        }
        method_caller = partial(_forward, method_caller, routed)
        kwargs = self._metric_options(estimator, X, y_true, routed) | kwargs
        scorer = self._set_positive_label(estimator)
        with tip_for_unknown_columns(estimator, X, self._sensitive_features):
            return float(
                super(GroupScorer, scorer)._score(
                    method_caller, estimator, X, y_true, **kwargs
                )
            )

    def _set_positive_label(self, estimator: Any) -> GroupScorer:
        """Return a scorer for which the second of two labels other than 1 is positive.

        scikit-learn's metrics of a positive label would look for the label 1.
        """
        classes = np.asarray(getattr(estimator, "classes_", ())).tolist()
        if len(classes) != 2 or 1 in classes or not needs_pos_label(self):
            return self
        told = copy(self)
        told._kwargs = {**self._kwargs, "pos_label": classes[1]}
        return told

    def _metric_options(
        self, estimator: Any, X: Any, y_true: Any, routed: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the keywords of the metric that depend on estimator and rows."""
        return {}

    def get_metadata_routing(self) -> Any:
        """Request groups and strata unless the user has decided about them.

        Returns
        -------
        MetadataRequest
            See `sklearn.utils.metadata_routing`.
        """
        request = super().get_metadata_routing()
        for name in ("sensitive_features", "control_features"):
            if request.score.requests.get(name) is None:
                request.score.add_request(param=name, alias=True)
        return request


@dataclass(frozen=True)
class _Scored:
    """Metric in the form that scorers call."""

    metric: Any

    @property
    def __name__(self) -> str:
        """Return the name of the scorer, for tools that show the metric's name."""
        return f"{_NEGATED}{as_metric(self.metric).name}"

    def __call__(
        self,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        groups_as_given: Any = None,
        **options: Any,
    ) -> float:
        metric = as_metric(self.metric, **options)
        if sensitive_features is None:
            raise ValueError(
                f"sensitive_features is None: the scorer of {metric.name} was "
                "called without X, where its groups are. Route them, with metadata "
                "routing, or give a function to what takes one, such as a report: def "
                f"{self.__name__}(estimator, X, y): return scorer(estimator, X, y)."
            )
        columns = sensitive_features, control_features, sample_weight
        rows = metric.read(y_true, y_score, *columns)
        return float(metric.evaluate(rows, groups_as_given))


class FairnessScorer(GroupScorer):
    """Scorer of a fairness metric, with the groups from X or from routed metadata.

    Made by `make_fairness_scorer` and `get_fairness_scorer`; not meant to be
    constructed directly.
    """

    def __init__(
        self,
        score_func: Callable[..., float],
        sign: int,
        kwargs: dict[str, Any],
        response_method: str | tuple[str, ...],
        sensitive_features: Selector | None = None,
        control_features: Selector | None = None,
        groups: tuple[Hashable, ...] | None = None,
    ) -> None:
        scored: Callable[..., float] = _Scored(score_func)
        self._made = make_metric(score_func, kwargs)
        if _decides(self._made) and response_method != "predict":
            scored = partial(_evaluate_scores, scored)
        super().__init__(scored, sign, kwargs, response_method)
        self._metric = score_func
        self._sensitive_features = sensitive_features
        self._control_features = control_features
        self._groups = groups

    def __repr__(self) -> str:
        may_be_none = {
            "control_features": self._control_features,
            "groups": None if self._groups is None else [*self._groups],
        }
        fixed_columns = {
            name: value for name, value in may_be_none.items() if value is not None
        }
        options = {
            "sensitive_features": self._sensitive_features,
            **fixed_columns,
            "response_method": self._response_method,
            **self._kwargs,
        }
        listed = "".join(f", {name}={value!r}" for name, value in options.items())
        return f"make_fairness_scorer({as_metric(self._metric).name}{listed})"

    def _set_positive_label(self, estimator: Any) -> GroupScorer:
        return self  # told by `_metric_options`

    def _get_pos_label(self) -> Any:
        """Return the class of the scores, if the user or the metric names a class."""
        default = self._made.options.get("pos_label")
        return self._kwargs.get("pos_label", default)

    def _metric_options(
        self, estimator: Any, X: Any, y_true: Any, routed: dict[str, Any]
    ) -> dict[str, Any]:
        groups, strata = routed["sensitive_features"], routed["control_features"]
        if groups is None and self._sensitive_features is None:
            name = self._made.name
            raise ValueError(
                f"The scorer of {name} was given no groups: make it "
                "with sensitive_features=<column of X>, or enable metadata routing and "
                "pass sensitive_features to the search or cross-validation."
            )
        n_samples = count_rows(X)
        labels = groups
        if labels is None:
            selector = _positions_in_array(self._sensitive_features, estimator, X)
            labels = select_columns(X, selector)
        # Each fold would warn of the same words.
        groups = resolve_groups(labels, n_samples=n_samples, X=X, missing_values=())
        if self._groups is not None:
            groups = relabel_expected(groups, self._groups)
        options = {"sensitive_features": groups, "groups_as_given": labels}
        if strata is None and self._control_features == "y_true":
            strata = y_true
        if strata is not None or self._control_features is not None:
            selector = _positions_in_array(self._control_features, estimator, X)
            options["control_features"] = resolve_strata(
                strata,
                n_samples=n_samples,
                X=X,
                selector=selector,
                missing_values=(),
            )
        find_score_method(estimator, self._response_method)
        classes = getattr(estimator, "classes_", ())
        return options | positive_label(self._made, self._response_method, classes)


def make_group_scorer(scoring: Any) -> GroupScorer:
    """Make a scorer that passes groups to the classifier that it scores.

    A classifier such as `skfair.postprocessing.MADDPostProcessor` needs the groups of
    the rows that it predicts. Where they are a column of X, every scorer works. Where
    they are routed instead, scikit-learn's own scorers call ``predict(X)`` without
    them, and the score is nan. The scorer made here computes the same score from
    ``predict(X, sensitive_features=...)``. It requests `sensitive_features` by
    default, no ``set_score_request`` needed; a classifier that does not need groups is
    scored as before. Strata, `control_features`, are passed on in the same way. Of two
    classes without the label 1, such as text, the second is the positive one.

    Parameters
    ----------
    scoring : str or scorer
        Name of a scorer, see :func:`sklearn.metrics.get_scorer_names`, or a scorer
        made by :func:`sklearn.metrics.make_scorer`.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sensitive_features=...)``, for every scikit-learn
        function with `scoring`, under metadata routing.

    Raises
    ------
    ValueError
        If scikit-learn has no scorer of that name, and if `scoring` is anything else,
        such as a metric.

    See Also
    --------
    make_fairness_scorer : Scorers of disparities, which pass groups on, too.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.metrics import make_group_scorer
    >>> from skfair.postprocessing import MADDPostProcessor
    >>> X, y = make_biased_classification(
    ...     group_sizes={"sex": {0: 0.4, 1: 0.6}},
    ...     score_shifts={"sex": {1: 1.0}},
    ...     random_state=0,
    ... )
    >>> sex = X.pop("sex")
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_val_score(
    ...         MADDPostProcessor(LogisticRegression(), cv=2),
    ...         X,
    ...         y,
    ...         cv=3,
    ...         scoring=make_group_scorer("average_precision"),
    ...         params={"sensitive_features": sex},
    ...         error_score="raise",
    ...     )
    >>> scores.shape
    (3,)
    """
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise ValueError(
            "scoring must be a name that sklearn.metrics.get_scorer_names returns, got "
            f"{scoring!r}.{did_you_mean(scoring, get_scorer_names())}"
        )
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if not isinstance(scorer, _Scorer):
        raise ValueError(
            "scoring must be the name of a scorer or a scorer made by "
            f"sklearn.metrics.make_scorer, got {shown(scoring)}."
        )
    if isinstance(scorer, GroupScorer):
        return scorer
    made = GroupScorer(
        scorer._score_func, scorer._sign, scorer._kwargs, scorer._response_method
    )
    # Requests such as that for sample_weight hold for the new scorer, too.
    requests = scorer.get_metadata_routing().score.requests
    decided = {name: alias for name, alias in requests.items() if alias is not None}
    if decided:
        with config_context(enable_metadata_routing=True):
            made.set_score_request(**decided)
    return made


def make_fairness_scorer(
    metric: Callable[..., float],
    *,
    sensitive_features: Selector | None = None,
    control_features: Selector | None = None,
    groups: Sequence[Hashable] | None = None,
    response_method: str | tuple[str, ...] = "auto",
    **kwargs: Any,
) -> FairnessScorer:
    """Make a scorer from a fairness metric.

    The scorer returns the negated metric, so that larger is fairer. It takes groups
    from columns of X, where `sensitive_features` names them, or from an array that is
    routed to it: it requests `sensitive_features` by default, no ``set_score_request``
    needed. A routed array takes precedence, and is passed to the estimator's predict
    method where that requests it.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, *, sensitive_features, **kwargs)`` that returns a
        disparity, smaller for fairer. A function of your own gets an array of labels;
        labels of several columns are joined to a text.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Columns of X that hold the group, several for their intersection, or a
        function of X that returns group labels. With None groups must be routed.
    control_features : str, int, list of str, list of int, or callable, default=None
        Columns of X that hold the stratum, within which groups are compared, or a
        function of X; ``"y_true"`` stands for the true labels. A routed array takes
        precedence here, too. Of a metric without `control_features` the largest value
        over strata is taken.
    groups : sequence of length n_groups, default=None
        The groups expected in every fold, tuples of labels for several columns. With
        None they are those that a fold shows, see the notes.
    response_method : {"auto", "predict_proba", "predict"} or tuple, default="auto"
        Method of the estimator whose response is scored. ``"auto"`` is
        ``"predict_proba"`` for a metric whose second parameter is called ``y_score``,
        or that is given a `threshold`, else ``"predict"``. On another scale it is
        the first of ``predict_proba``, ``decision_function`` and ``predict`` that the
        estimator has; the last only if it is not a classifier, such as a regressor or a
        ranker.
    **kwargs : dict
        Options of the metric, such as ``epsilon=0.05``.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)``, for every scikit-learn function with `scoring`.

    Raises
    ------
    TypeError
        If the metric has no such option, `sensitive_features` holds labels, or `groups`
        is not a list.
    ValueError
        If `groups` are not distinct; when called, if rows have another group.

    See Also
    --------
    get_fairness_scorer : Scorers by name.
    make_group_scorer : Scorers of performance that pass groups on.
    skfair.model_selection.cross_val_fairness : The metric of all folds together.
    sklearn.metrics.make_scorer : Takes the metrics too, under metadata routing.

    Notes
    -----
    A fold without an expected group scores nan, with a warning. Groups are expected if
    they are named by `groups`, by a routed `skfair.groups.Groups` of all rows, or by
    the type of a column that lists its levels, such as a pandas categorical. A column
    of text or numbers does not show which groups a fold lacks: the score then compares
    the other groups, without a warning. Categories of several columns do not show an
    absent combination, if each of its levels has rows.
    `sklearn.model_selection.TunedThresholdClassifierCV` passes no X to its metric:
    there the groups must be routed.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.metrics import make_fairness_scorer, mcdp
    >>> X, y = make_biased_classification(
    ...     group_sizes={"sex": {0: 0.4, 1: 0.6}},
    ...     score_shifts={"sex": {1: 1.0}},
    ...     random_state=0,
    ... )
    >>> scorer = make_fairness_scorer(mcdp, sensitive_features="sex", epsilon=0.05)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer).shape
    (5,)

    Scores that are not probabilities, here of a regressor:

    >>> from sklearn.linear_model import Ridge
    >>> scorer = make_fairness_scorer(
    ...     mcdp, sensitive_features="sex", epsilon=0.05, scale="rank"
    ... )
    >>> cross_val_score(Ridge(), X, 100 * X["x0"] + y, scoring=scorer).shape
    (5,)
    """
    check_selector("sensitive_features", sensitive_features)
    check_selector("control_features", control_features)
    expected = None if groups is None else check_expected("groups", groups)
    method = choose_response_method(make_metric(metric, kwargs), response_method)
    return FairnessScorer(
        metric, -1, kwargs, method, sensitive_features, control_features, expected
    )


def get_fairness_scorer(
    scoring: str,
    *,
    sensitive_features: Selector | None = None,
    control_features: Selector | None = None,
    groups: Sequence[Hashable] | None = None,
    **kwargs: Any,
) -> FairnessScorer:
    """Get a fairness scorer by name.

    Parameters
    ----------
    scoring : str
        A name that `get_fairness_scorer_names` returns.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Columns of X that hold the group, see `make_fairness_scorer`.
    control_features : str, int, list of str, list of int, or callable, default=None
        Columns of X that hold the stratum, or ``"y_true"``, see `make_fairness_scorer`.
    groups : sequence of length n_groups, default=None
        The groups expected in every fold, see `make_fairness_scorer`.
    **kwargs : dict
        Options of the metric, such as ``method="local"`` for ``"neg_dcp"``, and
        `response_method` of `make_fairness_scorer`.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)``; larger is fairer, 0 is parity.

    Raises
    ------
    ValueError
        If there is no scorer of that name.
    TypeError
        If the metric has no such option, or `groups` is not a list.

    See Also
    --------
    make_fairness_scorer : Scorers of any other metric.

    Examples
    --------
    >>> from skfair.metrics import get_fairness_scorer
    >>> get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    make_fairness_scorer(mcdp, sensitive_features='sex', ...)
    """
    names = get_fairness_scorer_names()
    if not isinstance(scoring, str) or scoring not in names:
        name = _NEGATED + str(scoring).removeprefix(_NEGATED)
        raise ValueError(
            f"scoring must be one of {names}, got {shown(scoring)}."
            f"{did_you_mean(name, names)}"
        )
    kind: Any = METRICS[scoring.removeprefix(_NEGATED)]
    return make_fairness_scorer(
        kind.function,
        sensitive_features=sensitive_features,
        control_features=control_features,
        groups=groups,
        **kwargs,
    )


def get_fairness_scorer_names() -> list[str]:
    """Names that `get_fairness_scorer` knows.

    Returns
    -------
    list of str

    See Also
    --------
    get_fairness_scorer : Makes the scorer of a name.

    Examples
    --------
    >>> from skfair.metrics import get_fairness_scorer_names
    >>> get_fairness_scorer_names()[0]
    'neg_abcc'
    """
    return sorted(_NEGATED + name for name in METRICS)


def _positions_in_array(selector: Any, estimator: Any, X: Any) -> Any:
    """Return the positions in an array of the columns that the estimator knows by name.

    `sklearn.callback.ScoringMonitor` turns its tables into arrays before scoring.
    """
    names = np.asarray(getattr(estimator, "feature_names_in_", ())).tolist()
    if not isinstance(X, np.ndarray) or X.shape[1:] != (len(names),):
        return selector
    if isinstance(selector, (list, tuple)):
        return [_positions_in_array(name, estimator, X) for name in selector]
    is_known = isinstance(selector, str) and selector in names
    return names.index(selector) if is_known else selector


def _forward(
    method_caller: Callable[..., Any],
    routed: dict[str, Any],
    estimator: Any,
    method: str,
    X: Any,
    pos_label: Any = None,
) -> Any:
    """Pass routed groups and strata to a predict method that takes them.

    scikit-learn passes no metadata to predict, and caches responses by method, which
    would mix responses with and without groups.
    """
    if not accepted_metadata(estimator, method, routed):
        return method_caller(estimator, method, X, pos_label=pos_label)
    return respond(estimator, method, X, pos_label, **routed)


def make_metric(metric: Any, options: dict[str, Any]) -> Metric:
    """Make the metric of a scorer.

    If the metric decides by a threshold, `pos_label` is not its option, but the class
    whose scores it receives.
    """
    rest = {name: value for name, value in options.items() if name != "pos_label"}
    made = as_metric(metric, **rest)
    return made if _decides(made) else as_metric(metric, **options)


def choose_response_method(
    metric: Metric, response_method: str | tuple[str, ...]
) -> str | tuple[str, ...]:
    """Return the response method, and replace "auto" by what the metric takes."""
    if not isinstance(response_method, str) or response_method != "auto":
        return response_method
    if metric.inputs[1] != "y_score" and not _decides(metric):
        return "predict"
    scale = metric.options.get("scale", getattr(metric, "scale", "probability"))
    return "predict_proba" if scale == "probability" else RANKED_METHODS


def needs_pos_label(scorer: Any) -> bool:
    """Return whether a scorer's metric needs a positive label."""
    options = scorer._kwargs
    if "pos_label" in options or options.get("average", "binary") != "binary":
        return False
    return "pos_label" in inspect.signature(scorer._score_func).parameters


def positive_label(
    metric: Metric, response_method: str | tuple[str, ...], classes: Any
) -> dict[str, Any]:
    """Return the keyword of the positive class of two, for a metric of labels.

    Return no keyword if the metric has no such option, if the user has set it, or if
    scores become decisions.
    """
    options = metric.options
    if len(classes) != 2 or "pos_label" not in options:
        return {}
    typed_options = metric.keywords if isinstance(metric, UserMetric) else options
    is_default = options["pos_label"] in np.asarray(classes).tolist()
    if is_default or typed_options.get("pos_label") is not None:
        return {}
    if response_method == "predict":
        return {} if _decides(metric) else {"pos_label": classes[1]}
    return {"pos_label": classes[1]} if metric.inputs[1] == "y_score" else {}


def _decides(metric: Metric) -> bool:
    """Return whether a metric turns scores into decisions, by a threshold."""
    return metric.options.get("threshold") is not None


def _evaluate_scores(
    metric: Callable[..., float],
    y_true: Any,
    y_score: Any,
    pos_label: Any = None,
    **options: Any,
) -> float:
    """Evaluate a metric of the positive label's scores, which scikit-learn selects."""
    return metric(y_true, y_score, **options)
