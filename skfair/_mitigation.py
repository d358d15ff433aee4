"""What all mitigators share: groups, checks of fit, and parameters by row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    Tags,
    _safe_indexing,
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skfair._utils._columns import drop_columns
from skfair._utils._validation import count_rows
from skfair.groups import Groups, encode_groups, resolve_groups


class Mitigator:
    """Mixin of classifiers that find groups by a keyword or in columns of X."""

    sensitive_features: Any
    drop_sensitive: bool

    def _groups_of(
        self, sensitive_features: Any, X: Any, otherwise: str | None
    ) -> Groups | None:
        """Find the groups of all rows; None, with a warning, where nobody says them.

        It is called by `fit`, whose caller is warned that `otherwise` holds, if given.
        """
        if sensitive_features is None and self.sensitive_features is None:
            if otherwise:
                warnings.warn(
                    f"{type(self).__name__} has no sensitive_features: {otherwise}.",
                    UserWarning,
                    stacklevel=3,
                )
            return None
        return self._resolve_groups(sensitive_features, X)

    def _resolve_groups(self, sensitive_features: Any, X: Any) -> Groups:
        """Find the groups of all rows; raise where nobody says them."""
        return resolve_groups(
            sensitive_features,
            n_samples=count_rows(X),
            X=X,
            selector=self.sensitive_features,
        )

    def _without_sensitive(self, X: Any) -> Any:
        """Return what the model sees of X."""
        return drop_columns(X, self.sensitive_features) if self.drop_sensitive else X


class MetaMitigator(Mitigator):
    """Mixin of binary classifiers around an `estimator`."""

    estimator: Any

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        inner = get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _check_estimator(self) -> None:
        """Raise unless the estimator gives probabilities."""
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have predict_proba, got {self.estimator!r}. Wrap it "
                "in sklearn.calibration.CalibratedClassifierCV."
            )


def check_table(X: Any) -> Any:
    """Return X as rows that can be split, with columns unless they are text.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    list, array, sparse matrix or dataframe

    Raises
    ------
    ValueError
        On an array of numbers that is empty or has not two dimensions.
    """
    X = indexable(X)[0]
    if isinstance(X, np.ndarray) and (X.ndim != 1 or X.dtype.kind in "biufc"):
        check_array(X, dtype=None, ensure_all_finite=False)
    return X


def groups_to_compare(groups: Groups) -> Groups:
    """Keep the labels of groups that have rows, of which there must be two.

    Parameters
    ----------
    groups : Groups

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        On fewer than two groups.
    """
    present = [groups.labels[group] for group in np.flatnonzero(groups.sizes())]
    if len(present) < 2:
        raise ValueError(
            f"sensitive_features has the groups {present}, expected at least two."
        )
    return encode_groups(groups, labels=present)


def params_of_rows(
    params: dict[str, Any], rows: NDArray[np.intp], n_samples: int
) -> dict[str, Any]:
    """Parameters for a fit to some of the rows: what has an entry for each is split.

    Parameters
    ----------
    params : dict
    rows : ndarray of int
    n_samples : int
        Number of all rows.

    Returns
    -------
    dict
    """
    return {
        name: _safe_indexing(value, rows) if _is_by_row(value, n_samples) else value
        for name, value in params.items()
    }


def _is_by_row(value: Any, n_samples: int) -> bool:
    if isinstance(value, (str, bytes, dict)):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n_samples
    return hasattr(value, "__len__") and len(value) == n_samples


def check_labels(
    X: Any, y: Any, estimator: Any, sample_weight: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of two classes, one for each row of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    estimator : classifier
        If frozen, its classes are those of y.
    sample_weight : ndarray of shape (n_samples,) or None
        Classes without any weight do not count.

    Returns
    -------
    y : ndarray of shape (n_samples,)
    classes : ndarray of shape (2,)

    Raises
    ------
    ValueError
        On wrong lengths, and on other than two classes.
    """
    check_consistent_length(X, y)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes = np.unique(y)
    if isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        classes = np.asarray(estimator.classes_)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}, with the classes {classes[:5].tolist()}."
        )
    weighing = y if sample_weight is None else y[sample_weight > 0]
    if not len(weighing):
        raise ValueError(
            "sample_weight is zero in every row, expected positive weights."
        )
    if len(found := np.unique(weighing)) < 2:
        raise ValueError(f"y must have two classes, got 1 class: {found.tolist()}.")
    strange = np.setdiff1d(y, classes)
    if len(strange):
        raise ValueError(
            f"y has the classes {strange.tolist()}, expected those of the fitted "
            f"estimator, {classes.tolist()}."
        )
    return y, classes


def weight_keyword(estimator: Any) -> str:
    """Name of the keyword by which an estimator's `fit` takes sample weights.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    str
        ``"sample_weight"``; for a pipeline without metadata routing preceded by the
        name of its last step, as ``"clf__sample_weight"``.

    Raises
    ------
    TypeError
        If there is none.
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    name = type(estimator).__name__
    if get_config()["enable_metadata_routing"]:
        if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]):
            return "sample_weight"
        raise TypeError(
            f"estimator must take sample_weight in fit, but {name} hands it to nobody. "
            "With metadata routing, call set_fit_request(sample_weight=True) on the "
            "classifier inside, as the last step of a pipeline."
        )
    if isinstance(estimator, Pipeline) and estimator.steps:
        step, last = estimator.steps[-1]
        return f"{step}__{weight_keyword(last)}"
    raise TypeError(
        f"estimator must take sample_weight in fit, which {name} does not; "
        f"got {estimator!r}."
    )


def other_params(
    owner: Any, sensitive_features: Any, fit_params: dict[str, Any]
) -> dict[str, Any]:
    """Parameters of the `fit` of a meta-estimator's estimator, apart from weights.

    Parameters
    ----------
    owner : meta-estimator
    sensitive_features : array-like of shape (n_samples,) or None
    fit_params : dict
        What the `fit` of `owner` was given.

    Returns
    -------
    dict
    """
    if not get_config()["enable_metadata_routing"]:
        return dict(fit_params)
    routed = process_routing(
        owner, "fit", sensitive_features=sensitive_features, **fit_params
    )
    return dict(routed.estimator.fit)


def params_for_others(
    owner: Any,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    fit_params: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Route parameters to the estimator's `fit` and to the splitter's `split`.

    Parameters
    ----------
    owner : meta-estimator
        Its ``estimator`` and ``cv`` are meant.
    sensitive_features : array-like of shape (n_samples,) or None
    sample_weight : array-like of shape (n_samples,) or None
    fit_params : dict

    Returns
    -------
    for_fit, for_split : dict

    Warns
    -----
    UserWarning
        If there are weights that the estimator does not take.
    """
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(
            owner,
            "fit",
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **fit_params,
        )
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    for_fit = dict(fit_params)
    if sample_weight is not None:
        if has_fit_parameter(owner.estimator, "sample_weight"):
            for_fit["sample_weight"] = sample_weight
        else:
            warnings.warn(
                f"{type(owner.estimator).__name__}.fit takes no sample_weight: the "
                "weights count in the repair only. In a Pipeline, enable metadata "
                "routing.",
                UserWarning,
                stacklevel=3,
            )
    return for_fit, {}
