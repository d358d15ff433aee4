"""Choice between models on performance and fairness, and folds that keep groups."""

from skfair.model_selection._best_under import BestUnder
from skfair.model_selection._fairest_within import FairestWithin
from skfair.model_selection._group_stratified_k_fold import GroupStratifiedKFold
from skfair.model_selection._pareto_front import pareto_front

__all__ = ["BestUnder", "FairestWithin", "GroupStratifiedKFold", "pareto_front"]
