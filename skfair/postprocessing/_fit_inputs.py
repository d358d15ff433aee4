"""What a meta-estimator is given: parameters, labels, groups, and what others get."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from skfair._parameters import check_choice, check_integer, check_real


def check_parameters(model: Any) -> None:
    """Raise unless the parameters of a `MADDPostProcessor` are valid.

    Parameters
    ----------
    model : MADDPostProcessor

    Raises
    ------
    ValueError
        On a parameter out of range.
    """
    if model.repair_level != "auto":
        check_real("repair_level", model.repair_level, 0, 1, alternative="'auto' or ")
    check_real("theta", model.theta, 0, 1)
    check_real("threshold", model.threshold, 0, 1)
    check_integer("n_levels", model.n_levels, 2)
    if isinstance(model.cv, numbers.Integral):
        check_integer("cv", model.cv, 2)
    choices = {
        "accuracy_loss": ("zero_one", "log_loss"),
        "fairness": ("madd", "mcdp"),
        "ensemble": (True, False, "auto"),
        "drop_sensitive": (True, False),
        "ties": ("mid", "random"),
        "unknown_groups": ("raise", "pooled"),
    }
    for name, allowed in choices.items():
        value = getattr(model, name)
        if not (callable(value) and name in ("accuracy_loss", "fairness")):
            check_choice(name, value, allowed)


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
