"""Training of classifiers whose scores have similar distributions in all groups.

Predictions of these classifiers need no groups.
"""

from skfair.inprocessing._diff_mcdp_classifier import DiffMCDPClassifier
from skfair.inprocessing._mcdp_boosting_classifier import MCDPBoostingClassifier
from skfair.inprocessing._mcdp_objective import MCDPObjective
from skfair.inprocessing._mcdp_reweighter import MCDPReweighter

__all__ = [
    "DiffMCDPClassifier",
    "MCDPBoostingClassifier",
    "MCDPObjective",
    "MCDPReweighter",
]
