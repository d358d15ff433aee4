"""What the parameters of a `MCDPReweighter` may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfair._utils._validation import check_choice, check_integer, check_real
from skfair.inprocessing._label_weights import FORMS
from skfair.inprocessing._penalised_loss import PenalisedLoss
from skfair.inprocessing._reweighting_rounds import Schedule
from skfair.inprocessing._training_parameters import check_penalty


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
    ValueError
        On a parameter out of range.
    """
    penalty = check_penalty(model)
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
    loss = PenalisedLoss(penalty.strength, penalty.temperature, penalty.objective)
    return loss, Schedule(
        model.form,
        model.averaging,
        check_integer("max_iter", model.max_iter, 2),
        check_real("tol", model.tol, 0, np.inf, closed="left"),
        bool(model.verbose),
    )
