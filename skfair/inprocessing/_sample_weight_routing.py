"""How sample weights and other parameters reach the fit of an estimator."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import has_fit_parameter


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
