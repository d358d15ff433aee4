"""A fairness metric of all rows that cross-validation holds out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from skfair._rows import Rows, check_clusters, take_rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._columns import Selector
from skfair._utils._response import find_score_method, respond
from skfair._utils._results import Result
from skfair._utils._validation import (
    as_array,
    check_integer,
    check_real,
    check_weights,
)
from skfair._utils._warnings import warn_user
from skfair.groups import (
    Groups,
    encode_column,
    intersect,
    labels_and_groups,
    resolve_groups,
    resolve_strata,
)
from skfair.metrics import (
    BootstrapResult,
    PermutationTestResult,
    make_fairness_scorer,
    mcdp,
)
from skfair.metrics._as_metric import as_metric
from skfair.metrics._metric import Metric
from skfair.metrics._permutation import (
    check_strata,
    exchangeable_blocks,
    permute,
    subtract_noise,
    warn_of_errors,
)
from skfair.metrics._resampling import check_seed, resample
from skfair.metrics._sample import Sample
from skfair.metrics._scorer import choose_response_method, positive_label
from skfair.model_selection._folds import GroupStratifiedKFold, cross_fit


@dataclass(frozen=True, eq=False, repr=False)
class CrossValFairnessResult(Result):
    """Result of `cross_val_fairness`.

    Attributes
    ----------
    value : float
        The metric of all held-out rows together.
    lower, upper : float
        Ends of an interval for the disparity, on new rows, of the model fitted to all
        rows; `value` lies in it.
    pvalue : float in (0, 1]
        Share of permutations of the groups, the given order among them, with a value
        at least as large.
    null_mean : float
        Mean of the metric over permutations: what noise alone would give.
    corrected : float
        The value without most of what noise adds: of its square the mean square of 40
        permutations is subtracted; of several groups, that of each pair.
    confidence_level : float
    n_splits : int
        Number of folds.
    n_rows : int
        Number of rows that were held out at least once.
    group_sizes : dict of {label: int}
        How many of them each group has.
    fold_values : ndarray of shape (n_splits,)
        The metric of each fold alone, nan where it is undefined. Noise pushes it up,
        the more so the smaller the groups are in a fold.
    """

    value: float
    lower: float
    upper: float
    pvalue: float
    null_mean: float
    corrected: float
    confidence_level: float
    n_splits: int
    n_rows: int
    group_sizes: dict[Hashable, int] = field(repr=False)
    fold_values: Floats = field(repr=False)

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.lower, self.upper


def cross_val_fairness(
    metric: Callable[..., float],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    cv: Any = 5,
    params: dict[str, Any] | None = None,
    response_method: str | tuple[str, ...] = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    within: ArrayLike | Literal["auto"] | None = "auto",
    n_permutations: int = 999,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **options: Any,
) -> CrossValFairnessResult:
    """Measure a disparity by cross-validation, with an interval and a p-value.

    Each row is predicted by a model that was not fitted to it. The metric is computed
    once, from all of these rows together, and not as the mean over folds. Noise only
    adds to a disparity, so the value of each fold is too large, and so is their mean.
    The groups of all rows together are as many times larger as there are folds.

    Parameters
    ----------
    metric : callable or str
        A metric of `skfair.metrics` or its name, or a function of your own,
        ``metric(y_true, y_score, sensitive_features=...)``, that returns a disparity;
        with a keyword `sample_weight` if that is given.
    estimator : estimator
        Classifier, or, for a metric with ``scale="rank"`` or of predictions, any
        estimator; or a pipeline. It is cloned for each fold.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        True labels.
    sensitive_features : str, int, list of str, list of int, callable, or array-like \
of shape (n_samples,) or (n_samples, n_columns)
        Columns of X that hold the group, several for their intersection, a function of
        X that returns group labels, or the labels. Labels are also passed to the `fit`
        and predict methods and to the splitter that ask for them: by metadata routing
        where it is enabled, else where their signature has `sensitive_features`.
    control_features : str, int, list of str, list of int, callable, or array-like \
of shape (n_samples,) or (n_samples, n_columns), default=None
        Strata within which groups are compared, likewise; `y` for the true labels.
    groups : array-like of shape (n_samples,), default=None
        Passed to the splitter, as in :func:`sklearn.model_selection.cross_validate`:
        rows that `GroupKFold` keeps in one fold. Under metadata routing use `params`.
    cv : int, splitter or iterable of splits, default=5
        How rows are held out. An integer is a number of folds, stratified by class and
        group as by `GroupStratifiedKFold`, without shuffling; by group alone if the
        estimator is not a classifier.
    params : dict, default=None
        Parameters of the estimator's `fit`, or, under metadata routing, metadata of
        the estimator and the splitter. Those with one entry for each row are split.
    response_method : {"auto", "predict_proba", "predict"} or tuple, default="auto"
        As in `skfair.metrics.make_fairness_scorer`.
    confidence_level : float in (0, 1), default=0.95
        Nominal probability that the interval covers the disparity of new rows, see the
        notes.
    n_resamples : int, default=999
        Number of bootstrap resamples.
    within : "auto", None or array-like of shape (n_samples,), default="auto"
        Strata within which groups are permuted, as in
        `skfair.metrics.permutation_test`; "auto" are those of `control_features`, too.
    n_permutations : int, default=999
        Number of permutations.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the metric. Under metadata routing `fit` gets them too
        where it requests them; otherwise pass those of `fit` in `params`.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, where people have several, of one group each: whole people
        are permuted and drawn. Keep them in one fold by `groups`.
    random_state : int, RandomState instance or None, default=None
        Seed of resamples and permutations.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``.

    Returns
    -------
    CrossValFairnessResult
        With `value`, `interval` and `pvalue`; nan where the metric is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On lengths that differ, on parameters out of range, if models of different folds
        have seen different classes, and as the metric does. Errors of `fit` and
        predict are not caught: without a fold the result would be of other rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If the metric is undefined for all rows together, or for single folds.

    See Also
    --------
    sklearn.model_selection.cross_validate : Scores of each fold.
    skfair.metrics.make_fairness_scorer : Scorers, of each fold alone.

    Notes
    -----
    The value estimates the disparity of new rows, each scored by one of the models,
    drawn at random. These models are fitted to fewer rows than a final model, and their
    scores are compared as if one model had made them. For `mcdp` at epsilon 0, `madd`,
    `abcc` and `demographic_parity_difference` this disparity is at most the mean of the
    disparities of the single models, since differences of opposite sign cancel.

    The interval is for the disparity, on new rows, of the model fitted to all rows. Its
    lower end is the value minus the quantile of the permutations, since with many small
    groups the value is mostly noise; or the lower end of the basic bootstrap interval,
    if that is smaller. The upper end is the value plus the spread of the resamples
    below their mean. The interval is approximate, since the models are kept: what
    another training sample would change is left out, except that the noise of the
    held-out rows is counted as if it were all in one direction. At level .95 the
    interval covered that disparity in .97 of samples for `mcdp` and .95 for parity of
    decisions (means of 12 cells, ``benchmarks/cross_val_fairness.py``).

    The correction subtracts squares, since squares of independent deviations add up.
    Where a metric is the largest over pairs of groups, each pair is corrected by its
    own noise times a factor: the mean over permutations of the largest ratio of a
    pair's square to its noise. Beyond ten groups, and with ``scale="rank"``, the metric
    is corrected as a whole. Near parity the corrected value is still too large.

    The p-value permutes held-out rows and keeps the models. It is exact if the models
    and the folds do not depend on the groups, and approximate otherwise.

    Models that learn from the groups themselves, such as
    `skfair.postprocessing.MADDPostProcessor`, can be measured too favourably: a fold
    deviates by chance, models of the other folds repair the opposite deviation, and
    over all folds both cancel. Measure such models on rows that no fold has used.

    A row that several folds hold out counts with each prediction, and is resampled and
    permuted with all of them. Rows never held out do not count.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.metrics import mcdp
    >>> from skfair.model_selection import cross_val_fairness
    >>> X, y = make_biased_classification(
    ...     400,
    ...     group_sizes={"sex": {0: 0.4, 1: 0.6}},
    ...     base_rates={"sex": {0: 0.3, 1: 0.5}},
    ...     random_state=0,
    ... )
    >>> result = cross_val_fairness(
    ...     mcdp,
    ...     LogisticRegression(),
    ...     X,
    ...     y,
    ...     sensitive_features="sex",
    ...     n_resamples=99,
    ...     n_permutations=99,
    ...     random_state=0,
    ... )
    >>> result.lower < result.value < result.upper, result.pvalue
    (True, 0.01)
    >>> result.group_sizes
    {0: 163, 1: 237}
    """
    metric = as_metric(metric, **options)
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    check_integer("n_resamples", n_resamples, 1)
    check_integer("n_permutations", n_permutations, 1)
    X, y = indexable(X, as_array(y, "y"))
    rows, selector, labels = _read_rows(
        X, y, sensitive_features, control_features, sample_weight, clusters
    )
    within = _permuted_within(within, metric, y, rows.strata)
    splitter = _make_splitter(cv, groups, selector, y, is_classifier(estimator))
    method = choose_response_method(metric, response_method)
    metadata = {**labels, "sample_weight": sample_weight}
    routed = _route(estimator, splitter, metadata, groups, params or {})
    jobs: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    respond_to = partial(_respond, labels=labels, response_method=method)
    folds = _cross_predict(estimator, X, y, splitter, routed, respond_to, jobs)
    classes = _common_classes([fold.classes for fold in folds])
    metric = as_metric(metric, **positive_label(metric, method, classes))
    held_out, owners = _join_folds(rows, folds)
    within = None if within is None else within[owners]
    value = metric.evaluate(held_out)
    sample = Sample.from_rows(metric, replace(held_out, fold=None))
    generator = check_seed(random_state)
    resampled = resample(sample, value, level, n_resamples, generator=generator, **jobs)
    generator = check_seed(random_state)
    test = permute(sample, value, within, n_permutations, generator=generator, **jobs)
    fold_values = _values_of_folds(metric, held_out, len(folds))
    _warn_of_undefined_folds(fold_values, value)
    _, first = np.unique(owners, return_index=True)
    sizes = held_out[first].groups.sizes().tolist()
    lower, upper = _interval(resampled, test)
    corrected = math.nan
    if not math.isnan(value):
        blocks = exchangeable_blocks(within, metric, held_out)
        corrected = subtract_noise(sample, blocks)
    return CrossValFairnessResult(
        value=value,
        lower=lower,
        upper=upper,
        pvalue=test.pvalue,
        null_mean=test.null_mean,
        corrected=corrected,
        confidence_level=level,
        n_splits=len(folds),
        n_rows=len(first),
        group_sizes=dict(zip(held_out.labels, sizes, strict=True)),
        fold_values=fold_values,
    )


def _read_rows(
    X: Any,
    y: NDArray[Any],
    sensitive_features: Any,
    control_features: Any,
    sample_weight: ArrayLike | None,
    clusters: ArrayLike | None,
) -> tuple[Rows, Selector | None, dict[str, Any]]:
    """Return the rows, the columns of X that have groups, and labels for an estimator.

    The labels are None if groups or strata are columns of X.
    """
    weights = check_weights(sample_weight, len(y))
    group_labels, selector, groups = labels_and_groups(
        resolve_groups, sensitive_features, X
    )
    stratum_labels, strata = None, None
    if control_features is not None:
        stratum_labels, _, strata = labels_and_groups(
            resolve_strata, control_features, X
        )
    people = None if clusters is None else check_clusters(clusters, groups, strata)
    rows = Rows(groups, strata, y_true=y, weight=weights, cluster=people)
    labels = {"sensitive_features": group_labels, "control_features": stratum_labels}
    return rows, selector, labels


class HeldOutFold(NamedTuple):
    """Positions of the rows that a fold holds out, and the responses of its model.

    `classes` are the classes that the model knows.
    """

    positions: Integers
    responses: NDArray[Any]
    classes: list[Any]


def _cross_predict(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splitter: Any,
    routed: Bunch,
    respond_to: Callable[..., HeldOutFold],
    jobs: dict[str, Any],
) -> list[HeldOutFold]:
    """Predict held-out rows by clones fitted to the training part of each split.

    Returns, for each split, the responses of the clone to the rows held out.
    """
    # Folds of a regression are stratified by group alone.
    by_group = isinstance(splitter, GroupStratifiedKFold)
    by_group = by_group and not is_classifier(estimator)
    classes = np.zeros(len(y), dtype=np.intp) if by_group else y
    splits = list(splitter.split(X, classes, **routed.splitter.split))
    return cross_fit(estimator, X, y, splits, routed.estimator.fit, respond_to, **jobs)


def _permuted_within(
    within: Any, metric: Any, y: NDArray[Any], strata: Groups | None
) -> NDArray[Any] | None:
    """Return the strata within which groups are permuted; None to permute all rows."""
    if not (isinstance(within, str) and within == "auto"):
        return None if within is None else check_strata(within, len(y))
    if metric.exchangeable == "similar scores":
        raise ValueError(
            "within must be None or an array for a metric whose groups are permuted "
            "among similar scores, such as calibration_gap, got 'auto': folds differ "
            "in their scores."
        )
    parts = [] if strata is None else [(strata.codes, strata.labels)]
    if metric.exchangeable == "unknown":
        warn_of_errors(metric.name)
    elif metric.exchangeable == "same true label":
        parts.append(encode_column(check_strata(y, len(y)), "raise", None, "y"))
    return intersect(parts)[0] if parts else None


def _make_splitter(
    cv: Any, groups: Any, selector: Selector | None, y: ArrayLike, classifier: bool
) -> Any:
    """Return the splitter `cv`; for a number of folds, one that stratifies by group."""
    if cv is not None and not isinstance(cv, numbers.Integral):
        return check_cv(cv, y, classifier=classifier)
    if groups is not None:
        raise ValueError(
            "groups need a splitter that takes them, such as cv=GroupKFold(5), got "
            f"cv={cv!r}."
        )
    n_splits = 5 if cv is None else check_integer("cv", cv, 2)
    return GroupStratifiedKFold(n_splits, sensitive_features=selector)


def _route(
    estimator: Any,
    splitter: Any,
    metadata: dict[str, Any],
    groups: Any,
    params: dict[str, Any],
) -> Bunch:
    """Route metadata as `cross_validate` does; labels of groups are always routed."""
    passed = {name: value for name, value in metadata.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        if groups is not None:
            raise ValueError(
                "groups must be None under metadata routing: pass params={'groups': "
                "...} to the splitter."
            )
        scorer = make_fairness_scorer(mcdp)  # stands for the metric, which takes both
        scorer.set_score_request(sample_weight=True)
        router = MetadataRouter(owner="cross_val_fairness")
        for name, target, callee in (
            ("splitter", splitter, "split"),
            ("estimator", estimator, "fit"),
            ("scorer", scorer, "score"),
        ):
            mapping = MethodMapping().add(caller="fit", callee=callee)
            router.add(method_mapping=mapping, **{name: target})
        return process_routing(router, "fit", **passed, **params)
    passed.pop("sample_weight", None)
    fit = {name: passed[name] for name in passed if has_fit_parameter(estimator, name)}
    if groups is not None:
        split = {"groups": groups}
    else:
        taken = signature(splitter.split).parameters
        split = {name: passed[name] for name in passed if name in taken}
    return Bunch(estimator=Bunch(fit={**fit, **params}), splitter=Bunch(split=split))


def _respond(
    estimator: Any,
    X: Any,
    positions: Integers,
    labels: dict[str, Any],
    response_method: str | tuple[str, ...],
) -> HeldOutFold:
    """Return the responses of a fitted model to the rows held out.

    The estimator also gets the groups of these rows if it takes them.
    """
    labels = {
        name: take_rows(values, positions)
        for name, values in labels.items()
        if values is not None
    }
    method = find_score_method(estimator, response_method)
    responses = respond(estimator, method, X, **labels)
    return HeldOutFold(positions, responses, list(getattr(estimator, "classes_", ())))


def _values_of_folds(metric: Metric, held_out: Rows, n_folds: int) -> Floats:
    """Return the value of the metric in each fold alone, nan where it is undefined."""
    values = np.full(n_folds, math.nan)
    for fold in np.unique(held_out.fold):
        values[fold] = metric.estimate(held_out[held_out.fold == fold]).value
    return values


def _common_classes(classes_of_folds: Sequence[list[Any]]) -> list[Any]:
    """Return the classes that the models of all folds know."""
    first = classes_of_folds[0]
    for position, classes in enumerate(classes_of_folds):
        if classes != first:
            raise ValueError(
                "y must have all classes in the training rows of every fold, but the "
                f"model of fold 0 knows {first} and that of fold {position} "
                f"{classes}. Use fewer folds, or a splitter that stratifies."
            )
    return first


def _join_folds(rows: Rows, folds: Sequence[HeldOutFold]) -> tuple[Rows, Integers]:
    """Return one entry for each response in all folds, and the position of its row.

    The entries are in the order of the rows; rows without weight have no entry. A row
    that several folds hold out has several entries, which are drawn and permuted
    together.
    """
    owners = np.concatenate([fold.positions for fold in folds])
    responses = np.concatenate([fold.responses for fold in folds])
    numbers = np.repeat(np.arange(len(folds)), [len(fold.positions) for fold in folds])
    joined = replace(rows[owners], y_pred=responses, fold=numbers)
    order = np.argsort(owners, kind="stable")
    joined, owners = joined[order], owners[order]
    if rows.weight is not None:
        has_weight = joined.weights > 0
        joined, owners = joined[has_weight], owners[has_weight]
    if not len(joined):
        raise ValueError(
            "sample_weight is zero for every row that cv holds out, expected a "
            "positive weight in each group."
            if numbers.size
            else "cv holds out no row, expected at least one in each group."
        )
    repeated = bool((owners[1:] == owners[:-1]).any())
    cluster = joined.cluster
    if cluster is None and repeated:
        cluster = owners
    return replace(joined, position=None, cluster=cluster), owners


def _warn_of_undefined_folds(values: Floats, value: float) -> None:
    """Warn once if the metric is undefined in some folds.

    If it is undefined for all rows together, too, there has been a warning before.
    """
    n_undefined = int(np.isnan(values).sum())
    if n_undefined and not math.isnan(value):
        warn_user(
            f"The metric is undefined for {n_undefined} of {len(values)} folds alone, "
            "whose fold_values are nan: groups are absent there, or too small. It is "
            "computed from all held-out rows together.",
            UndefinedMetricWarning,
        )


def _interval(
    resampled: BootstrapResult, test: PermutationTestResult
) -> tuple[float, float]:
    """Return an interval for the true value, with the rule for parity of all intervals.

    The value exceeds the true value by at most the largest noise of all comparisons,
    whose distribution is known from permutations. The true value belongs to one
    comparison, and exceeds the value by at most the noise of this comparison.
    """
    value, tail = test.value, (1 - resampled.confidence_level) / 2
    noise = test.null_distribution[~np.isnan(test.null_distribution)]
    if math.isnan(resampled.lower) or not len(noise):
        return math.nan, math.nan
    values = resampled.distribution[~np.isnan(resampled.distribution)]
    low = min(resampled.lower, value - float(np.quantile(noise, 1 - tail)))
    spread = float(values.mean() - np.quantile(values, tail))
    # No disparity is larger than its largest possible value, which is not known here.
    high = min(value + spread, max(value, float(values.max())))
    return max(0.0, low), high
