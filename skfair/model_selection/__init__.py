"""Choice between models on performance and fairness, and folds that keep groups."""

from skfair.model_selection._cross_val_fairness import (
    CrossValFairnessResult,
    cross_val_fairness,
)
from skfair.model_selection._folds import GroupStratifiedKFold
from skfair.model_selection._model_comparison import (
    ModelComparisonResult,
    compare_models,
)
from skfair.model_selection._rules import BestUnder, FairestWithin, pareto_front

__all__ = [
    "BestUnder",
    "CrossValFairnessResult",
    "FairestWithin",
    "GroupStratifiedKFold",
    "ModelComparisonResult",
    "compare_models",
    "cross_val_fairness",
    "pareto_front",
]
