"""Training of classifiers whose scores do not tell the groups apart.

Predictions of these classifiers need no group.
"""

from skfair.inprocessing._diff_mcdp_classifier import DiffMCDPClassifier
from skfair.inprocessing._mcdp_reweighter import MCDPReweighter

__all__ = ["DiffMCDPClassifier", "MCDPReweighter"]
