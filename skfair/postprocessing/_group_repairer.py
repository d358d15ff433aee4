"""What mitigators share that repair predictions by the group of each row."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from skfair._comparison import Comparison
from skfair._mitigation import ROUTED, MetaMitigator
from skfair._training_rows import TrainingRows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._columns import select_columns
from skfair._utils._validation import count_rows
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import Groups
from skfair.model_selection._group_stratified_k_fold import assign_folds
from skfair.postprocessing._held_out import (
    CommonScale,
    cells_to_repair,
    held_out_rows,
    make_splits,
    predict_folds,
    tenths_of,
)
from skfair.postprocessing._score_repairer import (
    ScoreRepairer,
    distributions,
    has_ties,
    tied_shares,
)

#: Parts of the rows that one model scored, each of which is repaired by the others.
_N_PARTS = 5
#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Share of the plain MCDP that ties may add, before the user is warned, to what a level
#: or gap leaves, and that may be left where the level is chosen.
_SHARE_ADDED, _SHARE_LEFT = 0.25, 0.4
#: Rows below which nothing is said of shared scores: there may be few distinct ones.
_FEWEST_ROWS = 50


class GroupRepairer(MetaMitigator):
    """Mixin of mitigators that repair the predictions of the models of folds."""

    estimators_: list[Any]
    repairer_: ScoreRepairer | None
    n_jobs: int | None
    ties: Literal["mid", "random"]
    random_state: Any
    unknown_groups: Literal["raise", "pooled"]
    #: None for a single model, whose predictions are repaired as they are.
    _common_scale: CommonScale | None = None
    _without_groups = "nothing is repaired"
    __metadata_request__predict: ClassVar = ROUTED
    __metadata_request__predict_proba: ClassVar = ROUTED
    __metadata_request__score: ClassVar = ROUTED

    def _score_held_out(
        self,
        X: Any,
        rows: TrainingRows,
        target: NDArray[Any],
        labels: list[Any] | None,
        routed: Any,
    ) -> tuple[TrainingRows, Integers]:
        """Fit the estimator on folds, and return the rows held out with their scores.

        Scores of several models are on the common scale. Also return which part of the
        rows each is in: its fold, or one of five parts of what a frozen model scored.
        """
        splits = []
        if not isinstance(self.estimator, FrozenEstimator):
            cells = cells_to_repair(rows)
            splits = make_splits(self, rows.X, target, cells, routed.splitter.split)
        fit_params = routed.estimator.fit
        with self._tip_to_drop(X):
            folds = predict_folds(
                self.estimator, rows.X, target, labels, splits, fit_params, self.n_jobs
            )
        self.estimators_, self._common_scale = [fold.model for fold in folds], None
        held_out, fold_of_row = held_out_rows(folds, rows)
        if len(folds) == 1:
            classes = held_out.y if labels is not None else tenths_of(held_out.y)
            return held_out, assign_folds(classes, held_out.codes, _N_PARTS, None)
        scale = "real" if labels is None else "probability"
        self._common_scale = CommonScale.of(held_out, fold_of_row, scale)
        draws = self._draws(len(held_out))
        return self._common_scale.rescaled(held_out, fold_of_row, draws), fold_of_row

    def _draws(self, n_samples: int) -> Floats | None:
        """Draw where each row is within the rows that share its score, if ties are."""
        if self.ties == "mid":
            return None
        return np.asarray(check_random_state(self.random_state).uniform(size=n_samples))

    def _repaired(
        self,
        X: Any,
        predicted: list[Floats],
        sensitive_features: Any,
        control_features: Any,
    ) -> Floats:
        """Mean of the predictions of the models, each repaired on the common scale."""
        repairer, scale = self.repairer_, self._common_scale
        if repairer is None:
            return predicted[0]
        given = self._groups_to_repair(X, sensitive_features, control_features)
        if scale is None:
            return repairer._repair(predicted[0], *given)
        draws, repaired = self._draws(len(predicted[0])), []
        for k, scores in enumerate(predicted):
            before = scale.from_model(k, scores, draws)
            after = repairer._repair(before, *given)
            # Scores that stay are not spread.
            own = np.where(after == before, scores, scale.to_model(k, after))
            repaired.append(own)
        return np.asarray(np.mean(repaired, axis=0))

    def _groups_to_repair(
        self, X: Any, sensitive_features: Any, control_features: Any
    ) -> tuple[Groups, Groups | None]:
        """Return the groups and the strata of rows to predict."""
        if sensitive_features is None:
            if self.sensitive_features is None:
                name = type(self).__name__
                raise ValueError(
                    f"{name} needs the group of each row that it predicts, but "
                    "sensitive_features is None: pass it to the method, or construct "
                    f"{name}(..., sensitive_features=<column of X>). If a "
                    "cross-validation or search called this: scikit-learn's scorers "
                    "pass no groups on, score with "
                    "skfair.metrics.make_group_scorer(<scorer>)."
                )
            sensitive_features = select_columns(X, self.sensitive_features)
        strata = self._find_strata(control_features, X)
        assert self.repairer_ is not None
        return self.repairer_._read_groups(
            sensitive_features, strata, count_rows(X), self.unknown_groups
        )


def repair_held_out(
    rows: TrainingRows, part_of_row: Integers, repairer: ScoreRepairer
) -> tuple[TrainingRows, Floats]:
    """Return the rows, and their scores repaired by what other rows tell.

    Each part is repaired as learnt from the rows outside of it. If there are more than
    100,000 rows, a sample of at most as many is held out in place of the parts.
    """
    if len(rows) > _MANY_ROWS:
        sampled = np.arange(len(rows)) % (1 + len(rows) // _MANY_ROWS) == 0
        part_of_row = np.where(sampled, 0, -1)
    repaired = np.array(rows.scores)
    for part in range(int(part_of_row.max()) + 1):
        own = part_of_row == part
        learnt, held_out = clone(repairer), rows.take(own)
        learnt._learn_rows(rows.take(~own), warn=False)
        repaired[own] = learnt._repair(
            held_out.scores, held_out.groups, held_out.strata
        )
    chosen = part_of_row >= 0
    return (rows, repaired) if chosen.all() else (rows.take(chosen), repaired[chosen])


def changes_the_gap(
    comparison: Comparison, rows: TrainingRows, repaired: Floats
) -> bool:
    """Whether the repair changes scores, to a gap that the plain model exceeds."""
    if (repaired == rows.scores).all():
        return False
    asked = comparison.max_mcdp
    return asked is None or max(comparison.plain_mcdp, comparison.mcdp) > asked


def remedy_of(tie_problem: str | None) -> str:
    """Say what a user can do where a repair shows no gain."""
    if tie_problem is not None:
        return "Set ties='random', or take an estimator with more distinct scores"
    return "Take a lower repair_level, a larger max_mcdp or larger groups"


def warn_of_problem(mitigator: Any, problem: str | None) -> None:
    """Warn of what went wrong on held-out rows, if anything did."""
    if problem is not None:
        message = f"{type(mitigator).__name__}, on held-out rows: {problem}."
        warn_user(message, MitigationWarning)


def tie_problem(asked: Any, rows: TrainingRows, comparison: Comparison) -> str | None:
    """Return a warning if rows that share a score keep most of the gap, else None."""
    if asked.ties == "random" or comparison.n_samples < _FEWEST_ROWS:
        return None
    if not comparison.beyond_noise:
        return None
    if asked.max_mcdp is not None:
        share = min(1.0, asked.max_mcdp / comparison.plain_mcdp) + _SHARE_ADDED
    elif asked.repair_level == "auto":
        share = _SHARE_LEFT
    else:
        share = 1 - asked.repair_level + _SHARE_ADDED
    statistic = distributions(rows)
    if comparison.mcdp <= share * comparison.plain_mcdp or not has_ties(statistic):
        return None
    return (
        f"MCDP(0) is {comparison.mcdp:.3f}, the plain model's is "
        f"{comparison.plain_mcdp:.3f}, because rows that share a score stay together "
        f"and up to {tied_shares(statistic).max():.0%} of a group share one. Set "
        "ties='random', which gives such rows different scores, or an estimator with "
        "more distinct scores"
    )
