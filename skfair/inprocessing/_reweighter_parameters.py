"""What a `MCDPReweighter` is given: parameters, and the groups of rows."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._columns import count_rows
from skfair._fit_inputs import groups_to_compare
from skfair._parameters import check_choice, check_integer, check_real
from skfair.inprocessing._label_weights import FORMS
from skfair.inprocessing._penalised_loss import PenalisedLoss
from skfair.inprocessing._reweighting_rounds import Schedule
from skfair.inprocessing._smooth_gap import OBJECTIVES


def check_parameters(model: Any) -> tuple[PenalisedLoss, Schedule]:
    """Raise unless the parameters of a `MCDPReweighter` are valid.

    Parameters
    ----------
    model : MCDPReweighter

    Returns
    -------
    loss : PenalisedLoss
    schedule : Schedule

    Raises
    ------
    TypeError
        If its estimator has no `predict_proba`.
    ValueError
        On a parameter out of range.
    """
    if not hasattr(model.estimator, "predict_proba"):
        raise TypeError(
            f"estimator must have predict_proba, got {model.estimator!r}. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    check_choice("objective", model.objective, OBJECTIVES)
    check_choice("form", model.form, FORMS)
    for name in ("averaging", "drop_sensitive"):
        check_choice(name, getattr(model, name), (True, False))
    if model.validation_fraction is not None:
        check_real(
            "validation_fraction",
            model.validation_fraction,
            0,
            1,
            closed="neither",
            alternative="None or ",
        )
    loss = PenalisedLoss(
        check_real("strength", model.strength, 0, np.inf, closed="left"),
        check_real("temperature", model.temperature, 0, np.inf, closed="neither"),
        model.objective,
    )
    return loss, Schedule(
        model.form,
        model.averaging,
        check_integer("max_iter", model.max_iter, 2),
        check_real("tol", model.tol, 0, np.inf, closed="left"),
        bool(model.verbose),
    )


def find_groups(
    model: Any, sensitive_features: Any, X: Any, weights: NDArray[Any] | None
) -> tuple[NDArray[np.integer], tuple[Hashable, ...]]:
    """Find the groups between which a `MCDPReweighter` is to close the gap.

    Parameters
    ----------
    model : MCDPReweighter
    sensitive_features : array-like of shape (n_samples,) or None
    X : array-like of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        Position of each row's group in `labels`, -1 for none.
    labels : tuple of length n_groups
        Empty, with a warning, without groups.

    Raises
    ------
    ValueError
        On fewer than two groups with weight, and as `groups_to_compare`.
    """
    n_samples, selector = count_rows(X), model.sensitive_features
    if sensitive_features is None and selector is None:
        if model.strength:
            warnings.warn(
                "MCDPReweighter has no sensitive_features: no gap is penalised.",
                UserWarning,
                stacklevel=4,
            )
        return np.full(n_samples, -1), ()
    groups = groups_to_compare(sensitive_features, X, n_samples, selector)
    if weights is not None:
        weighing = groups[weights > 0]
        groups_to_compare(weighing, None, len(weighing), None)
    return groups.codes, groups.labels
