"""Repair of scores after training: fairer probabilities from any classifier."""

from typing import TYPE_CHECKING

from skfair._utils._hints import other_names
from skfair.postprocessing._decision_post_processor import DecisionPostProcessor
from skfair.postprocessing._madd_post_processor import MADDPostProcessor
from skfair.postprocessing._repaired_regressor import RepairedRegressor
from skfair.postprocessing._score_repairer import ScoreRepairer
from skfair.postprocessing._unaware_post_processor import (
    UnawarePostProcessor,
    UnawareRegressor,
)

__all__ = [
    "DecisionPostProcessor",
    "MADDPostProcessor",
    "RepairedRegressor",
    "ScoreRepairer",
    "UnawarePostProcessor",
    "UnawareRegressor",
]

if not TYPE_CHECKING:  # where any name would count as one of the package
    __getattr__ = other_names(__name__)
