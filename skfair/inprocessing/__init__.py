"""Training of classifiers whose scores have similar distributions in all groups.

Groups are needed in `fit` only. A column of X that holds them is a feature as well,
unless `drop_sensitive` is True.
"""

from skfair.inprocessing._diff_mcdp_classifier import DiffMCDPClassifier
from skfair.inprocessing._mcdp_boosting_classifier import MCDPBoostingClassifier
from skfair.inprocessing._mcdp_objective import MCDPObjective
from skfair.inprocessing._mcdp_reweighter import MCDPReweighter
from skfair.inprocessing._reweighing import reweighing_weights

__all__ = [
    "DiffMCDPClassifier",
    "MCDPBoostingClassifier",
    "MCDPObjective",
    "MCDPReweighter",
    "reweighing_weights",
]
