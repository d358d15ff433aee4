"""What mitigators share: the start of `fit` and `predict`, groups, routing."""

from __future__ import annotations

import copy
import math
import numbers
import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import (
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    Bunch,
    Tags,
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._columns import (
    absent_columns,
    drop_columns,
    find_positions,
    names_positions,
    select_columns,
)
from skfair._utils._progress import CallbackSupportMixin, Tasks
from skfair._utils._text import shown
from skfair._utils._validation import (
    check_flag,
    check_integer,
    check_numbers,
    check_real,
    check_weights,
    count_rows,
)
from skfair._utils._versions import Versioned
from skfair._utils._warnings import warn_user
from skfair.groups import (
    Groups,
    Selector,
    keep_labels,
    n_columns_of,
    resolve_groups,
    resolve_strata,
)
from skfair.model_selection._folds import Split, cross_fit, hold_out, stratified_splits

#: With fewer rows than this, those held out would be too few to compare classifiers.
MIN_ROWS = 200
#: At least this many groups, of fewer than two rows on average, are refused.
_MANY_GROUPS = 20
#: Most values of a column that is named by its position: others are numbers.
_MOST_BY_POSITION = 64
#: Metadata that mitigators request wherever they need groups.
ROUTED = {"sensitive_features": True, "control_features": True}


class Mitigator(Protocol):
    """The attributes of a mitigator that functions of this module read.

    `_dropped` are the positions of the columns of X that the estimator does not get.
    """

    sensitive_features: Selector | None
    drop_sensitive: bool
    n_features_in_: int
    _dropped: list[int]


class FoldMitigator(Protocol):
    """The attributes of a mitigator around an estimator that is fitted on folds."""

    estimator: Any
    cv: Any
    random_state: int | np.random.RandomState | None
    n_jobs: int | None


class LinkedToSite(Versioned):
    """Mixin of estimators that link to their page of the site and know their version.

    Scikit-learn's own estimators do both.
    """

    _doc_link_module = "skfair"

    @property
    def _doc_link_template(self) -> str:
        """Address of an estimator on the site that SKFAIR_DOCS names, or no link."""
        site = os.environ.get("SKFAIR_DOCS", "").rstrip("/")
        page = "/generated/{estimator_module}.{estimator_name}.html"
        return site and site + page


class MetaMitigator(LinkedToSite, CallbackSupportMixin):  # type: ignore[misc]
    """Mixin of mitigators around another estimator: tags, and routing of metadata."""

    estimator: Any

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata to `estimator`, and to `cv` if there is one.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        parameters = self.get_params(deep=False)
        for parameter, name, callee in (
            ("estimator", "estimator", "fit"),
            ("group_estimator", "group_estimator", "fit"),
            ("cv", "splitter", "split"),
        ):
            target = parameters.get(parameter)
            if target is not None:
                mapping = MethodMapping().add(caller="fit", callee=callee)
                router.add(method_mapping=mapping, **{name: target})
        return router


class PredictsByGroup(MetaMitigator):
    """Mixin of mitigators whose predictions need the group of each row."""

    predict: Callable[..., NDArray[Any]]
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy of `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        sensitive_features : object, default=None
            As in `predict`.

        Returns
        -------
        float
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


class PredictsWithinStrata(MetaMitigator):
    """Mixin of mitigators whose predictions may need groups and strata."""

    predict: Callable[..., NDArray[Any]]
    __metadata_request__score: ClassVar = ROUTED

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy of `predict`, or R2 of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            True classes, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        sensitive_features, control_features : object, default=None
            As in `predict`.

        Returns
        -------
        float
        """
        predicted = self.predict(
            X, sensitive_features=sensitive_features, control_features=control_features
        )
        metric = r2_score if is_regressor(self) else accuracy_score
        return float(metric(y, predicted, sample_weight=sample_weight))


def check_estimator(mitigator: FoldMitigator) -> None:
    """Raise unless the estimator predicts probabilities, or numbers for a regressor."""
    estimator = mitigator.estimator
    if is_regressor(mitigator):
        if not hasattr(estimator, "predict") or is_classifier(estimator):
            raise TypeError(f"estimator must be a regressor, got {estimator!r}.")
        return
    if not hasattr(estimator, "predict_proba"):
        advice = "Wrap it in sklearn.calibration.CalibratedClassifierCV."
        if hasattr(estimator, "get_params") and is_regressor(estimator):
            advice = (
                "RepairedRegressor and UnawareRegressor of skfair.postprocessing "
                "take regressors."
            )
        raise TypeError(
            f"estimator must have predict_proba, got {shown(estimator)}. {advice}"
        )


class FitInputs(NamedTuple):
    """Checked arguments of `fit`.

    `X` are the features that the estimator gets, `target` their classes or numbers. The
    true labels in `rows` are positions in `classes`; regressors have no classes.
    `strata` are the labels of the strata that are compared, `dropped` the positions of
    the columns that were taken out of X. `ungrouped` says whether some rows have no
    group.
    """

    X: Any
    target: NDArray[Any]
    rows: Rows
    classes: NDArray[Any]
    strata: tuple[Hashable, ...]
    dropped: list[int]
    ungrouped: bool


def check_fit_inputs(
    mitigator: Mitigator,
    X: Any,
    y: ArrayLike,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    estimator: Any = None,
    stratum_selector: Selector | None = None,
    all_strata: bool = False,
    several_classes: bool = False,
    warns_without_groups: bool = True,
    without_groups: str = "no gap is penalised",
) -> FitInputs:
    """Check the arguments of `fit`, and find classes and groups.

    A frozen `estimator` defines the classes. Strata come from `control_features`, or
    from the columns of X that `stratum_selector` names. Strata that cannot be compared
    are left out, unless `all_strata` is True. If no groups are given, a warning says
    what happens `without_groups`; `warns_without_groups` is False where groups would
    change nothing.
    """
    check_flag("drop_sensitive", mitigator.drop_sensitive)
    weights = check_weights(sample_weight, count_rows(X))
    target = _check_target(X, y)
    classes, codes = np.empty(0), target
    if is_regressor(mitigator):
        codes = target = _check_numbers_to_fit(target, weights)
    else:
        classes = _find_classes(target, estimator, weights, several_classes)
        codes = np.searchsorted(classes, target).astype(np.intp)
    groups, strata, compared = Groups(np.full(len(target), -1), ()), None, None
    ungrouped = False
    selector, names = mitigator.sensitive_features, _feature_names(mitigator)
    if sensitive_features is not None or selector is not None:
        groups = resolve_groups(
            sensitive_features, n_samples=count_rows(X), X=X, selector=selector
        )
        columns = selector if sensitive_features is None else None
        _refuse_numbers("sensitive_features", groups, X, columns, names)
        ungrouped = bool((groups.codes < 0).any())
        strata = read_strata(stratum_selector, X, control_features)
        if strata is not None and control_features is None:
            _refuse_numbers("control_features", strata, X, stratum_selector, names)
        groups, compared = keep_comparable(groups, strata, weights)
    elif warns_without_groups:
        name = type(mitigator).__name__
        warn_user(
            f"{name} has no sensitive_features: {without_groups}. Pass them to fit, or "
            f"name columns of X in {name}(..., sensitive_features=<column of X>)."
        )
    dropped = find_positions(X, selector) if mitigator.drop_sensitive else []
    features = drop_columns(X, dropped) if dropped else X
    labels = () if compared is None else compared.labels
    strata = strata if all_strata else compared
    rows = Rows(groups, strata, y_true=codes, weight=weights)
    return FitInputs(features, target, rows, classes, labels, dropped, ungrouped)


def read_strata(
    selector: Selector | None, X: Any, control_features: ArrayLike | None
) -> Groups | None:
    """Return the stratum of each row, from labels or from columns of X, or None."""
    if control_features is None and selector is None:
        return None
    return resolve_strata(
        control_features, n_samples=count_rows(X), X=X, selector=selector
    )


def _feature_names(estimator: Any) -> NDArray[Any] | None:
    """Return the names of the features seen in `fit`, or None.

    As in scikit-learn, an estimator has the attribute only if the features have names.
    """
    names: NDArray[Any] | None = getattr(estimator, "feature_names_in_", None)
    return names


def _refuse_numbers(
    argument: str,
    groups: Groups,
    X: Any,
    selector: Selector | None,
    names: NDArray[Any] | None,
) -> None:
    """Raise if the groups or strata of an argument come from a column of numbers.

    This is so if nearly every row is a group of its own, or if the `selector` names a
    column of X by its position and the column has many values. Labels that are not
    columns of X have no selector. `names` are the names of the columns.
    """
    labels = keep_labels(groups, groups.sizes() > 0).labels
    many = _MANY_GROUPS if argument == "sensitive_features" else math.inf
    if len(labels) >= many and 2 * len(labels) > len(groups):
        expected = "groups of several rows"
    elif names_positions(selector) and _most_values(labels) > _MOST_BY_POSITION:
        expected = f"at most {_MOST_BY_POSITION} values of a column by its position"
    else:
        return
    title = argument
    if selector is not None and not callable(selector):
        title += f"={selector!r}"
        if names is not None:
            positions = find_positions(X, selector)
            title += f" (of X {[str(names[i]) for i in positions]})"
    raise ValueError(
        f"{title} has {len(labels):,} groups in {len(groups):,} rows, expected "
        f"{expected}. A position names another column of X where columns are left "
        "out before, as in BaggingClassifier(max_features=...), RFECV or "
        f"SequentialFeatureSelector: pass {argument} to fit there, by metadata "
        "routing; elsewhere name columns of a DataFrame. encode_groups(..., "
        "bins=...) makes ranges of numbers."
    )


def features_to_predict(mitigator: Mitigator, X: Any) -> Any:
    """Return the features that the estimator gets, in a container of rows.

    X has the features seen in `fit`; those that the estimator does not get may be
    absent.
    """
    check_is_fitted(mitigator, "groups_")
    X, dropped = as_table(X), mitigator._dropped
    if not dropped:
        validate_data(mitigator, X, reset=False, skip_check_array=True)
        return X
    n_features = mitigator.n_features_in_
    names = _feature_names(mitigator)
    absent = absent_columns(X, names, n_features, dropped)
    expected: Any = copy.copy(mitigator)
    expected.n_features_in_ = n_features - len(absent)
    if names is not None:
        expected.feature_names_in_ = np.delete(names, absent)
    validate_data(expected, X, reset=False, skip_check_array=True)
    columns = np.delete(np.arange(n_features), absent)
    return drop_columns(X, np.flatnonzero(np.isin(columns, dropped)).tolist())


def groups_to_predict(
    mitigator: Mitigator, X: Any, sensitive_features: ArrayLike | None
) -> Any:
    """Return the groups of rows to predict: labels that are passed, or columns of X."""
    if sensitive_features is not None:
        return sensitive_features
    if mitigator.sensitive_features is None:
        name = type(mitigator).__name__
        raise ValueError(
            f"{name} needs the group of each row that it predicts, but "
            "sensitive_features is None: pass it to the method, or construct "
            f"{name}(..., sensitive_features=<column of X>). If a "
            "cross-validation or search called this: scikit-learn's scorers "
            "pass no groups on, score with "
            "skfair.metrics.make_group_scorer(<scorer>)."
        )
    return select_columns(X, mitigator.sensitive_features)


@contextmanager
def tip_to_drop(mitigator: Mitigator, X: Any, estimator: Any = None) -> Iterator[None]:
    """Name `drop_sensitive` where a classifier cannot read sensitive columns of X.

    The columns hold text, or an `estimator` was fitted before, without the columns.
    """
    try:
        yield
    except ValueError as error:
        selector = mitigator.sensitive_features
        if mitigator.drop_sensitive or selector is None or callable(selector):
            raise
        columns = selector if isinstance(selector, (list, tuple)) else [selector]
        names = _feature_names(estimator)
        has_columns = names is None or set(names) >= set(columns)
        is_text = np.asarray(select_columns(X, selector)).dtype.kind in "OUS"
        if has_columns and not (is_text and _ABOUT_TEXT.search(str(error))):
            raise
        raise ValueError(
            f"{error}\nThe sensitive columns of X, {selector!r}, are features unless "
            "drop_sensitive=True: set it if the classifier cannot take them."
        ) from error


#: Words of the errors of classifiers that cannot make numbers of text.
_ABOUT_TEXT = re.compile(r"\b(strings?|dtypes?)\b")
#: Error where all weights are zero.
_WEIGHTLESS = "sample_weight is zero in every row, expected positive weights."


def as_table(X: Any) -> Any:
    """Return X in a container whose rows can be indexed; numbers must be 2-D."""
    is_row = isinstance(X, Mapping) and not hasattr(X, "shape")  # no sparse matrix
    if is_row or isinstance(X, pd.Series):
        row = "pandas.DataFrame([row])" if is_row else "X.iloc[[0]]"
        raise ValueError(
            f"X must be a table with a row for each person, got a {type(X).__name__}. "
            f"Pass one row as {row}."
        )
    X = indexable(X)[0]
    empty = isinstance(X, list) and not X  # of which nobody can count the columns
    numbers = isinstance(X, np.ndarray) and (X.ndim != 1 or X.dtype.kind in "biufc")
    if empty or numbers:
        check_array(X, dtype=None, ensure_all_finite=False)
    return X


def _check_target(X: Any, y: Any) -> NDArray[Any]:
    """Return y as an array; raise unless it has one value for each row of X."""
    check_consistent_length(X, y)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    return np.asarray(y)


def _check_numbers_to_fit(y: NDArray[Any], weights: NDArray[Any] | None) -> Floats:
    """Return the target of a regressor as floats."""
    if len(y) < 2:
        raise ValueError(f"y has n_samples={len(y)}, expected at least two rows.")
    if weights is not None and not weights.any():
        raise ValueError(_WEIGHTLESS)
    return np.asarray(y, dtype=np.float64)


def _find_classes(
    y: NDArray[Any],
    estimator: Any,
    sample_weight: NDArray[Any] | None,
    several: bool,
) -> NDArray[Any]:
    """Return the classes of y, or of a frozen model; raise unless their number fits."""
    check_classification_targets(y)
    classes = present = weighted = np.unique(y)
    if isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        classes = np.asarray(estimator.classes_)
    if len(classes) > 2 and not several:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}, with the classes {classes[:5].tolist()}. "
            "skfair.postprocessing.DecisionPostProcessor decides among several classes."
        )
    if sample_weight is not None:
        weighted = np.unique(y[sample_weight > 0])
    if not len(weighted):
        raise ValueError(_WEIGHTLESS)
    if len(weighted) < 2:
        expected = "at least two" if several else "two"
        raise ValueError(
            f"y must have {expected} classes, got 1 class: {weighted.tolist()}."
        )
    unknown = np.setdiff1d(present, classes)
    if len(unknown):
        raise ValueError(
            f"y has the classes {unknown.tolist()}, expected those of the fitted "
            f"estimator, {classes.tolist()}."
        )
    return classes


def _most_values(labels: Sequence[Any]) -> int:
    """Return the largest number of distinct values in a column."""
    columns = zip(*labels, strict=True) if n_columns_of(labels) > 1 else [labels]
    return max(len(set(column)) for column in columns)


def groups_to_compare(groups: Groups) -> Groups:
    """Keep the labels of groups that have rows; raise if there are fewer than two."""
    groups = keep_labels(groups, groups.sizes() > 0)
    if len(groups.labels) < 2:
        raise ValueError(
            f"sensitive_features has the groups {[*groups.labels]}, expected at least "
            "two."
        )
    return groups


def keep_comparable(
    groups: Groups,
    strata: Groups | None,
    weights: NDArray[Any] | None = None,
    warn: bool = True,
) -> tuple[Groups, Groups | None]:
    """Keep the groups and strata that can be compared, by the rows that have weight.

    Strata with fewer than two groups, or with fewer rows than their `min_group_size`,
    are left out (code -1). Groups that are in none of the other strata are left out,
    too. With `warn`, a warning names them.
    """
    weighted = np.ones(len(groups), dtype=bool) if weights is None else weights > 0
    weighted_sizes = groups[weighted].sizes()
    present = groups_to_compare(keep_labels(groups, weighted_sizes > 0))
    if strata is None:
        return present, None
    groups, n_groups, n_strata = present, len(present.labels), len(strata.labels)
    used = weighted & (groups.codes >= 0) & (strata.codes >= 0)
    cells = strata.codes[used].astype(np.int64) * n_groups + groups.codes[used]
    sizes = np.bincount(cells, minlength=n_strata * n_groups)
    sizes = sizes.reshape(n_strata, n_groups)
    several = (sizes > 0).sum(axis=1) >= 2
    several &= sizes.sum(axis=1) >= strata.min_group_size
    if not several.any():
        raise ValueError(
            f"control_features has no stratum with rows of two groups, of "
            f"{labels_text(strata.labels)}."
        )
    compared = (sizes[several] > 0).any(axis=0)
    if warn:
        _warn_left_out("strata", strata, ~several & (strata.sizes() > 0))
        _warn_left_out("groups", groups, ~compared)
    return keep_labels(groups, compared), keep_labels(strata, several)


def _warn_left_out(what: str, groups: Groups, left_out: NDArray[np.bool_]) -> None:
    """Warn the user of groups or strata that are not compared."""
    if left_out.any():
        named = [groups.labels[code] for code in np.flatnonzero(left_out)]
        reason = {
            "strata": "they have too few rows, or rows of fewer than two groups",
            "groups": "no stratum that is compared has rows of them",
        }
        warn_user(
            f"The {what} {labels_text(named)} are left out of the gap: {reason[what]}."
        )


def labels_text(labels: Sequence[Any]) -> str:
    """Write labels, the first five of many."""
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    return f"{list(labels[:5])}{more}"


def weight_keyword(estimator: Any) -> str:
    """Return the keyword by which the `fit` of an estimator takes sample weights.

    In a pipeline without metadata routing, the name of the last step comes first:
    ``"clf__sample_weight"``.
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    name = type(estimator).__name__
    if get_config()["enable_metadata_routing"]:
        if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]):
            return "sample_weight"
        raise TypeError(
            f"estimator must take sample_weight in fit, but {name} routes it to no "
            "step. Call set_fit_request(sample_weight=True) on the classifier inside, "
            "the last step of a pipeline."
        )
    if isinstance(estimator, Pipeline) and estimator.steps:
        step, last = estimator.steps[-1]
        return f"{step}__{weight_keyword(last)}"
    raise TypeError(
        f"estimator must take sample_weight in fit, which {name} does not; "
        f"got {estimator!r}."
    )


def route_fit_params(
    mitigator: MetaMitigator,
    sensitive_features: ArrayLike | None,
    fit_params: dict[str, Any],
    sample_weight: NDArray[Any] | None = None,
    *,
    cv: Any = 0,
) -> Bunch:
    """Route the metadata passed to `fit` to the mitigator's estimator and splitter.

    Without metadata routing, a splitter given as `cv` gets `groups`. The estimator gets
    all other `fit_params`. It also gets the weights if it takes weights, or the last
    step of a pipeline does; if neither does, there is a warning.
    """
    if get_config()["enable_metadata_routing"]:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return process_routing(
            mitigator,
            "fit",
            sensitive_features=sensitive_features,
            **weights,
            **fit_params,
        )
    estimator, for_fit, for_split = mitigator.estimator, dict(fit_params), {}
    # A number of folds is stratified, and leaves the argument to the estimator.
    if not isinstance(cv, numbers.Integral) and "groups" in for_fit:
        for_split["groups"] = for_fit.pop("groups")
    weights = weights_for(estimator, sample_weight)
    is_frozen = isinstance(estimator, FrozenEstimator)
    if not is_frozen and sample_weight is not None and not weights:
        warn_user(
            f"{type(estimator).__name__}.fit takes no sample_weight: it is fitted "
            "without weights."
        )
    for_fit = weights | for_fit
    return Bunch(estimator=Bunch(fit=for_fit), splitter=Bunch(split=for_split))


def weights_for(estimator: Any, weights: NDArray[Any] | None) -> dict[str, Any]:
    """Return the keyword of the weights for `fit`, if the estimator takes any."""
    if weights is None:
        return {}
    try:
        return {weight_keyword(estimator): weights}
    except TypeError:
        return {}


def make_splits(
    mitigator: FoldMitigator,
    X: Any,
    y: NDArray[Any],
    cells: NDArray[np.integer],
    for_split: dict[str, Any],
    most_folds: int | None = None,
) -> list[Split]:
    """Return training and test rows by `cv`; a number makes folds that are stratified.

    The folds are stratified by class and cell, and each class needs a row for each
    fold. For a regressor, the tenths of the rows in the order of the target take the
    place of classes. A number makes at most `most_folds` folds.
    """
    cv, seed = mitigator.cv, mitigator.random_state
    regressor = is_regressor(mitigator)
    if not isinstance(cv, numbers.Integral):
        return list(check_cv(cv, y, classifier=not regressor).split(X, y, **for_split))
    cv = check_integer("cv", cv, 2)
    cv = cv if most_folds is None else min(cv, most_folds)
    random = None if seed is None else check_random_state(seed)
    if regressor:
        if len(y) < cv:
            raise ValueError(f"cv={cv} needs as many rows, got n_samples={len(y)}.")
        return list(stratified_splits(tenths_of(y), cells, cv, random))
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < cv:
        raise ValueError(
            f"cv={cv} needs as many rows of each class, got {counts.min()} of "
            f"class {classes.tolist()[counts.argmin()]!r}."
        )
    return list(stratified_splits(codes, cells, cv, random))


def tenths_of(y: Floats) -> Integers:
    """Return the tenth (0 to 9) of each row, in the order of the target."""
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return np.asarray(ranks * 10 // len(y))


def predict_targets(
    mitigator: FoldMitigator,
    inputs: FitInputs,
    splits: list[Split],
    routed: Bunch,
    tasks: Tasks,
) -> tuple[list[Any], Rows]:
    """Fit a mitigator's estimator on folds, and predict the targets of held-out rows.

    `predict_folds` describes what is returned.
    """
    return predict_folds(
        mitigator.estimator,
        inputs.X,
        inputs.rows,
        inputs.target,
        inputs.classes.tolist() if is_classifier(mitigator) else None,
        splits,
        routed.estimator.fit,
        mitigator.n_jobs,
        tasks.done,
    )


def predict_folds(
    estimator: Any,
    X: Any,
    rows: Rows,
    target: NDArray[Any],
    labels: list[Any] | None,
    splits: list[Split],
    fit_params: dict[str, Any],
    n_jobs: int | None,
    done: Callable[[str], None] = lambda name: None,
) -> tuple[list[Any], Rows]:
    """Fit a clone to the training part of each split, and predict the rows left out.

    The models are returned with the rows they held out, ordered by model. In these rows
    `fold` is the position of the model, and `y_pred` has a column for the probability
    of each label; a regressor has no labels, and one column of predictions. Rows whose
    target is not among the labels are predicted, but no model is fitted to them. A
    frozen estimator predicts all rows, since it was fitted to none of them. `done` is
    called after each fit.
    """
    positions = np.arange(len(target))
    if isinstance(estimator, FrozenEstimator):
        models, parts = [estimator], [positions]
        predicted = [label_probabilities(estimator, X, labels)]
    else:
        usable = np.isin(target, labels) if labels else np.ones(len(target), bool)
        splits = [  # which may be masks
            (positions[train][usable[train]], positions[test]) for train, test in splits
        ]
        if labels is not None:
            _check_training_parts(rows, target, labels, splits)
        fitted = cross_fit(
            estimator,
            X,
            target,
            splits,
            fit_params,
            partial(_model_and_predictions, labels=labels),
            done,
            n_jobs=n_jobs,
        )
        models, predicted = map(list, zip(*fitted, strict=True))
        parts = [test for _, test in splits]
    fold = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    held_out = rows[np.concatenate(parts)]
    return models, replace(held_out, y_pred=np.concatenate(predicted), fold=fold)


def _check_training_parts(
    rows: Rows, target: NDArray[Any], labels: list[Any], splits: list[Split]
) -> None:
    """Raise if the training rows of a classifier are all of one class, or one group."""
    for train, _ in splits:
        values = target[train]
        if len(values) and (values != values[0]).any():
            continue
        what = "classes"
        present = set(values.tolist())
        absent = [label for label in labels if label not in present]
        if target is rows.groups.codes:
            what, absent = "groups", [rows.labels[code] for code in absent]
        raise ValueError(
            f"A fold of cv holds out all rows of the {what} {labels_text(absent)}, "
            f"expected rows of two {what} in every training part."
        )


def _model_and_predictions(
    model: Any, X: Any, positions: Integers, labels: list[Any] | None
) -> tuple[Any, Floats]:
    """Return a fitted model, and its predictions for held-out rows."""
    return model, label_probabilities(model, X, labels)


def label_probabilities(model: Any, X: Any, labels: list[Any] | None) -> Floats:
    """Return the probability of each label; 0 for labels a classifier has not seen.

    A regressor has no labels: the only column is its predictions.
    """
    if labels is None:
        predicted = column_or_1d(model.predict(X))
        predicted = check_numbers(predicted, f"{type(model).__name__}.predict")
        # Predictions of equal rows differ by rounding, which a repair would take for
        # two scores: they are rounded to 40 binary digits.
        digits, exponents = np.frexp(predicted)
        rounded = np.ldexp(np.rint(np.ldexp(digits, 40)), exponents - 40)
        return np.asarray(rounded[:, None])
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes = np.asarray(model.classes_).tolist()
    shape = probabilities.shape
    if len(shape) != 2 or shape[1] != len(classes) or len(classes) < 2:
        raise ValueError(
            f"{type(model).__name__} gives probabilities of shape {shape} for "
            f"the classes {classes[:5]}, expected a column for each of at least two: "
            "every training part of cv needs rows of two classes and of two groups."
        )
    if not np.isfinite(probabilities).all():
        check_numbers(probabilities.ravel(), f"{type(model).__name__}.predict_proba")
    columns = [classes.index(label) if label in classes else -1 for label in labels]
    padded = np.column_stack([probabilities, np.zeros(len(probabilities))])
    return np.clip(padded[:, columns], 0, 1)


def mean_probabilities(models: list[Any], X: Any, labels: list[Any] | None) -> Floats:
    """Return the probability of each label, averaged over fitted models."""
    predicted = [label_probabilities(model, X, labels) for model in models]
    return np.asarray(np.mean(predicted, axis=0))


def mean_of_folds(held_out: Rows, n_samples: int) -> Floats:
    """Average the predictions of each row over the folds that held it out."""
    total = np.zeros((n_samples, held_out.y_pred.shape[1]))
    np.add.at(total, held_out.position, held_out.y_pred)
    counts = np.bincount(held_out.position, minlength=n_samples)
    return quotients(total, counts[:, None], math.nan)


def fit_all(estimator: Any, X: Any, y: ArrayLike, fit_params: dict[str, Any]) -> Any:
    """Fit a clone to all rows; a frozen classifier is returned as it is."""
    if isinstance(estimator, FrozenEstimator):
        return estimator
    return clone(estimator).fit(X, y, **fit_params)


def check_validation_fraction(
    fraction: Any, needed: bool = False, automatic: str = ""
) -> None:
    """Raise unless a `validation_fraction` is valid.

    None is valid unless the fraction is `needed`. `automatic` is the value, if there is
    one, by which the model chooses the fraction.
    """
    if fraction == automatic or (fraction is None and not needed):
        return
    others = [repr(automatic)] * bool(automatic) + ["None"] * (not needed)
    either = "".join(f"{other} or " for other in others)
    check_real(
        "validation_fraction", fraction, 0, 1, closed="neither", alternative=either
    )


def hold_out_if_possible(
    rows: Rows, validation_fraction: float, rng: np.random.RandomState
) -> tuple[Integers, Integers] | None:
    """Draw positions as `hold_out` does, for a comparison with the plain classifier.

    Returns None for fewer than 200 rows. It also returns None, with a warning, if one
    part would lack two classes or two groups.
    """
    if np.count_nonzero(rows.weights) < MIN_ROWS:
        return None
    try:
        parts = hold_out(rows, validation_fraction, rng)
    except ValueError as error:
        problem = str(error).partition(",")[0]
    else:
        n_groups = min(most_groups(rows[part]) for part in parts)
        if n_groups >= 2 or (rows.groups.codes < 0).all():
            return parts
        problem = (
            f"validation_fraction={validation_fraction!r} leaves {n_groups} group to "
            "train on or to hold out"
        )
    warn_user(
        f"{problem}: no rows are held out, and no comparison is made with the plain "
        "classifier. Set validation_fraction=None if this is intended."
    )
    return None


def most_groups(rows: Rows) -> int:
    """Return the number of groups in the stratum that has the most."""
    cells = np.unique(rows.stratum_group_codes)
    strata = cells[cells >= 0] // max(1, rows.n_groups)
    return int(np.bincount(strata, minlength=1).max())
