"""Repair of scores after training: fairer probabilities from any classifier."""

from skfair.postprocessing._decision_post_processor import DecisionPostProcessor
from skfair.postprocessing._madd_post_processor import MADDPostProcessor
from skfair.postprocessing._repaired_classifier import RepairedClassifier
from skfair.postprocessing._repaired_regressor import RepairedRegressor
from skfair.postprocessing._score_repairer import ScoreRepairer
from skfair.postprocessing._unaware_post_processor import UnawarePostProcessor
from skfair.postprocessing._unaware_regressor import UnawareRegressor

__all__ = [
    "DecisionPostProcessor",
    "MADDPostProcessor",
    "RepairedClassifier",
    "RepairedRegressor",
    "ScoreRepairer",
    "UnawarePostProcessor",
    "UnawareRegressor",
]
