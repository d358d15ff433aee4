"""Repair of a model's predictions by the group of each row; the classifier."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import sem
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skfair._comparison import (
    Comparison,
    Noise,
    PlainComparison,
    RegressorComparison,
    compare_with_plain,
    mean_mcdp,
)
from skfair._mitigation import (
    ROUTED,
    ClassifierMitigator,
    FittedTable,
    MetaMitigator,
    fit_all,
    groups_to_compare,
    label_probabilities,
    labels_text,
    make_splits,
    predict_folds,
    route_fit_params,
    tenths_of,
    within_strata,
)
from skfair._rows import Rows, take_rows, units_of
from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._progress import reports_tasks
from skfair._utils._response import threshold_of
from skfair._utils._validation import (
    check_choice,
    check_real,
    count_rows,
)
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import Groups, Selector, rows_by_code
from skfair.metrics._madd import MADD
from skfair.metrics._mcdp import MCDP
from skfair.metrics._quantiles import supremum_quantile
from skfair.model_selection._folds import assign_folds
from skfair.postprocessing._population_gap import Aim, PopulationGaps
from skfair.postprocessing._score_repairer import (
    GroupCDFs,
    LinearCDF,
    ScoreRepairer,
    check_repair_options,
    clipped,
    distributions,
    ends_of,
    has_ties,
    interpolate,
    mixed,
    row_counts,
    tied_shares,
)
from skfair.statistics import GroupedScores

AnyComparison = TypeVar("AnyComparison", PlainComparison, RegressorComparison)

#: Levels, or largest gaps, whose losses are computed.
_N_LEVELS = 101
#: Share of the average precision above the base rate that a repair may cost before the
#: user is warned, and of all average precision where the level is chosen.
_SHARE_LOST, _SHARE_LOST_BY_CHOICE = 0.5, 0.1
#: With at least this many rows a stratum, strata of one class each are not a
#: coincidence.
_ROWS_OF_LABELS = 10
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
    comparison_: Any
    n_jobs: int | None
    max_mcdp: float | None
    repair_level: Any
    ties: Literal["mid", "random"]
    random_state: Any
    unknown_groups: Literal["raise", "pooled"]
    #: CDF of everyone's predictions by all models together, and that by each of them;
    #: None for a single model, whose predictions are repaired as they are.
    _scales: tuple[LinearCDF, list[LinearCDF]] | None = None
    _without_groups = "nothing is repaired"
    __metadata_request__predict: ClassVar = ROUTED
    __metadata_request__predict_proba: ClassVar = ROUTED
    __metadata_request__score: ClassVar = ROUTED

    @reports_tasks
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator on folds, and learn the repair of its predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any container that `estimator` takes. With a
            `FrozenEstimator` these are the rows on which the repair is learnt.
        y : array-like of shape (n_samples,)
            Class of each row, one of two; for a regressor its target, a number.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, used in place of the columns that the parameter names.
            Of several, each is repaired by itself, all by one level, and predictions
            need the stratum of each row. The maps of a single stratum, with all other
            rows in none (code -1 of a `Groups`), hold for all rows: the positives, for
            instance.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the repair, and in the fit of an estimator that
            takes them; a pipeline passes them to its last step.
        **fit_params : dict
            Passed to the `fit` method of `estimator`, or routed to it where metadata
            routing is enabled; `groups` to a splitter that is `cv`.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If y does not have two classes, or a target is not finite; on wrong lengths,
            fewer than two groups, fewer rows than folds, strata that tell the class,
            and on parameters out of range.
        TypeError
            If a classifier has no `predict_proba`, or `estimator` is of another kind.

        Warns
        -----
        UserWarning
            If no groups are given: the estimator is then fitted without repair. If
            strata or groups cannot be compared, and are left out.
        skfair.exceptions.MitigationWarning
            If held-out rows show no gain, or show that the repair is worse than no
            repair, that it misses `max_mcdp` by more than noise, or that shared
            predictions keep most of the disparity; if they do not show that `max_mcdp`
            is kept for new rows. Of a classifier also if level 0 is
            chosen, if the level chosen costs more than a tenth of average precision, or
            if it or `max_mcdp` costs more than half of what average precision exceeds
            the share of positive rows by.
        """
        self._check_estimator()
        self._check_parameters()
        columns = X, y, sensitive_features, control_features, sample_weight
        features, rows = self._prepare(*columns, all_strata=True)
        routed = route_fit_params(self, sensitive_features, fit_params, rows.weight)
        target = self.classes_[rows.y_true] if is_classifier(self) else rows.y_true
        self.repairer_ = self.comparison_ = None
        if not self.groups_:
            params = routed.estimator.fit
            self.estimators_ = [fit_all(self.estimator, features, target, params)]
            self._leave_plain()
            return self
        if rows.strata is not None and is_classifier(self):
            self._refuse_labels_as_strata(rows, rows.strata)
        held_out = self._score_held_out(X, features, rows, target, routed)
        self._learn_repair(held_out, rows, features)
        return self

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        raise NotImplementedError

    def _learn_repair(self, held_out: Rows, rows: Rows, features: Any) -> None:
        """Learn the repair of held-out rows, of all rows and their features."""
        raise NotImplementedError

    def _leave_plain(self) -> None:
        """Set the attributes of a repair for predictions without one."""

    def _refuse_labels_as_strata(self, rows: Rows, strata: Groups) -> None:
        """Raise if strata tell the class, which is not known at prediction."""
        if len(self.strata_) < 2:
            return
        chosen = strata.codes >= 0
        counts = np.zeros((len(strata.labels), 2), dtype=np.intp)
        np.add.at(counts, (strata.codes[chosen], rows.y_true[chosen]), 1)
        pure = (counts > 0).sum(axis=1) <= 1
        many = counts.sum() >= _ROWS_OF_LABELS * (counts.sum(axis=1) > 0).sum()
        if pure.all() and many and counts.any(axis=0).all():
            raise ValueError(
                "control_features tells the class of each row, of which each stratum "
                "has one: predictions would need the class that they predict. For "
                "equal opportunity give the positives as a single stratum, "
                "encode_groups(np.where(y == "
                f"{self.classes_.tolist()[1]!r}, 'positive', None), missing='drop')."
            )

    def _score_held_out(
        self, X: Any, features: Any, rows: Rows, target: NDArray[Any], routed: Any
    ) -> Rows:
        """Fit the estimator on folds, and return the rows held out with their scores.

        They have a weight and a map. Scores of several models are on a common scale.
        Rows that a single model scored are in five folds.
        """
        labels = self.classes_.tolist() if is_classifier(self) else None
        splits = []
        if not isinstance(self.estimator, FrozenEstimator):
            cells, for_split = _cells_to_repair(rows), routed.splitter.split
            splits = make_splits(self, features, target, cells, for_split)
        self._tasks.begin(len(splits))
        columns, settings = (features, rows, target), (self.n_jobs, self._tasks.done)
        with self._tip_to_drop(X):
            self.estimators_, held_out = predict_folds(
                self.estimator,
                *columns,
                labels,
                splits,
                routed.estimator.fit,
                *settings,
            )
        scores = held_out.y_pred[:, -1] + 0.0  # no negative zeros
        usable = (_cells_to_repair(held_out) >= 0) & (held_out.weights > 0)
        held_out = replace(held_out, y_pred=scores)[usable]
        if len(self.estimators_) == 1:
            self._scales = None
            y: Any = held_out.y_true
            classes = tenths_of(y) if labels is None else y
            folds = assign_folds(classes, held_out.groups.codes, _N_PARTS, None)
            return replace(held_out, fold=folds)
        return self._put_on_common_scale(held_out)

    def _make_repairer(self, **options: Any) -> ScoreRepairer:
        """Return a repair with the parameters that it shares with this estimator."""
        options |= {"ties": self.ties, "unknown_groups": self.unknown_groups}
        return ScoreRepairer(**options, random_state=self.random_state)

    def _repair_held_out(
        self, rows: Rows, cdfs: GroupCDFs | None = None, **options: Any
    ) -> tuple[Rows, Floats, Noise]:
        """Learn the repair of all rows, and repair each by maps learnt from others.

        The CDFs of all rows are given if they are computed already.
        Each fold is repaired as learnt from the rows outside of it. If there are more
        than 100,000 rows, a sample of at most as many is held out in place of the
        folds. Return the rows that were held out, their repaired scores, and what is to
        be done about the noise of their gap: folds show none of what maps learn of it.
        """
        repairer = self._make_repairer(**options)
        fold, scores = rows.fold, rows.y_pred
        if len(rows) > _MANY_ROWS:
            sampled = np.arange(len(rows)) % (1 + len(rows) // _MANY_ROWS) == 0
            fold = np.where(sampled, 0, -1)
        repaired = np.array(scores)
        for part in range(int(fold.max()) + 1):
            own = fold == part
            learnt, tested = clone(repairer), rows[own]
            learnt._learn_rows(rows[~own], warn=False)
            repaired[own] = learnt._repair(scores[own], tested.groups, tested.strata)
        if cdfs is None:
            repairer._learn_rows(rows, warn=False)
        else:
            repairer._learn(cdfs)
        repairer._left_rows_out = self._leaves_rows_out
        self.repairer_ = repairer
        chosen = fold >= 0
        if chosen.all():
            return rows, repaired, Noise.ADDED
        return rows[chosen], repaired[chosen], Noise.TAKEN_OUT

    def _changes_the_gap(self, rows: Rows, repaired: Floats) -> bool:
        """Whether scores change, to a gap that the plain model exceeds."""
        if (repaired == rows.y_pred).all():
            return False
        comparison, asked = self.comparison_, self.comparison_.max_mcdp
        return asked is None or max(comparison.plain_mcdp, comparison.mcdp) > asked

    def _find_aim(
        self, held_out: Rows, rows: Rows, features: Any, **options: Any
    ) -> Aim | None:
        """Find the band that keeps `max_mcdp` for rows of the population.

        Rows that share a score of one model share those of others, which the scores
        that each model gives to its own fold do not show: the mean of all models leaves
        more of the gap then, of the rows that they were fitted to as of new ones.
        """
        limit = options["max_mcdp"]
        if limit is None:
            return None
        # Rows that repeated splits hold out again are no other rows.
        first = np.unique(held_out.position, return_index=True)[1]
        held_out = held_out[np.sort(first)]
        real = options.get("scale") == "real"
        gaps = PopulationGaps(held_out, limit, "real" if real else "probability", self)
        aim = gaps.aim()
        if self._scales is None or not _folds_have_ties(held_out):
            return aim
        self.repairer_ = self._make_repairer(**options | {"max_mcdp": aim.max_mcdp})
        self.repairer_._learn_rows(held_out, warn=False)
        steered = [label in gaps.steered for label in rows.labels]
        left = self._gap_of_mean(rows, features, np.flatnonzero(steered))
        return gaps.aim(max(0.0, left - aim.learnt))

    def _gap_of_mean(self, rows: Rows, features: Any, codes: Integers) -> float:
        """MCDP(0) of the mean of all models, on the rows that they were fitted to.

        It is that of some groups.
        """
        labels = self.classes_.tolist() if is_classifier(self) else None
        compared = np.isin(rows.groups.codes, codes) & (rows.weights > 0)
        rows = rows[compared & (_cells_to_repair(rows) >= 0)]
        models, features = self.estimators_, take_rows(features, rows.position)
        predicted = [label_probabilities(m, features, labels)[:, -1] for m in models]
        scores = self._mean_repaired(predicted, rows.groups, rows.strata)
        return mean_mcdp(replace(rows, y_pred=scores)).value

    def _warn_of_limit(self, aim: Aim | None) -> None:
        """Warn if rows do not show that `max_mcdp` is kept for new rows."""
        limit = self.max_mcdp
        if aim is None or not limit or not aim.misses(limit):
            return
        expected = f"{aim.expected:.3f}"
        if aim.too_small:
            # Of a single row nothing is to be expected.
            more = f", and {expected} with them" if aim.expected > aim.steered else ""
            few = f"groups of too few rows, {labels_text(aim.too_small)}"
            expected = f"{aim.steered:.3f} without {few}{more}"
        self._warn_of_problem(
            f"max_mcdp={limit:g} is not shown to hold for new rows: MCDP(0) to expect "
            f"of their population is {expected}. Give more rows, larger groups, a "
            "larger max_mcdp, or ties='random' where rows share scores"
        )

    def _tie_problem(self, rows: Rows) -> str | None:
        """Return a warning if rows that share a score keep most of the gap."""
        comparison, repairer = self.comparison_, self.repairer_
        assert repairer is not None
        too_few = comparison.n_samples < _FEWEST_ROWS
        if self.ties == "random" or too_few or not comparison.beyond_noise:
            return None
        if comparison.max_mcdp is not None:
            share = min(1.0, comparison.max_mcdp / comparison.plain_mcdp) + _SHARE_ADDED
        elif self.repair_level == "auto":
            share = _SHARE_LEFT
        else:
            share = 1 - repairer.repair_level + _SHARE_ADDED
        statistic = distributions(rows)
        left = max(share * comparison.plain_mcdp, comparison.noise)
        if comparison.mcdp <= left or not has_ties(statistic):
            return None
        return (
            f"MCDP(0) is {comparison.mcdp:.3f}, the plain model's is "
            f"{comparison.plain_mcdp:.3f}, because rows that share a score stay "
            f"together and up to {tied_shares(statistic).max():.0%} of a group share "
            "one. Set ties='random', which gives such rows different scores, or an "
            "estimator with more distinct scores"
        )

    def _warn_of_comparison(self, comparison: Comparison, ties: str | None) -> None:
        """Warn if no gain is shown, and say what to do about it."""
        remedy = "Take a lower repair_level, a larger max_mcdp or larger groups"
        if ties is not None:
            remedy = "Set ties='random', or take an estimator with more distinct scores"
        # 0 is a repair in full, which leaves the noise of its maps.
        limit = comparison.max_mcdp or None
        replace(comparison, max_mcdp=limit).warn(self, remedy)

    def _warn_of_problem(self, problem: str | None) -> None:
        """Warn of what went wrong on held-out rows, if anything did."""
        if problem is not None:
            message = f"{type(self).__name__}, on held-out rows: {problem}."
            warn_user(message, MitigationWarning)

    def _put_on_common_scale(self, rows: Rows) -> Rows:
        """Return rows that models have scored, on the scale that all models share.

        Models of different folds may spread their scores more or less: one map suits
        them all on the scale of everyone's scores together. A score keeps its height.
        """
        scale = "probability" if is_classifier(self) else "real"
        everyone, by_model = _everyone(rows, scale), []
        scores, draws = np.array(rows.y_pred), self._draws(len(rows))
        n_models = len(self.estimators_)
        for model in range(n_models):
            own = rows.fold == model
            cdf = _everyone(rows[own], scale, (model + 0.5) / n_models)
            own_draws = None if draws is None else draws[own]
            scores[own] = _rescale(scores[own], cdf, everyone, own_draws)
            by_model.append(cdf)
        self._scales = everyone, by_model
        return replace(rows, y_pred=scores)

    def _draws(self, n_samples: int) -> Floats | None:
        """Draw where each row is within the rows that share its score, if ties are."""
        if self.ties == "mid":
            return None
        return np.asarray(check_random_state(self.random_state).uniform(size=n_samples))

    def _predict_by_each(self, X: Any) -> list[Floats]:
        """Plain predictions of each model."""
        features = self._check_predict_input(X, "estimators_")
        labels = self.classes_.tolist() if is_classifier(self) else None
        models = self.estimators_
        return [label_probabilities(m, features, labels)[:, -1] for m in models]

    def _repaired(
        self, X: Any, sensitive_features: Any, control_features: Any
    ) -> Floats:
        """Mean of the predictions of the models, each repaired on the common scale."""
        predicted, repairer = self._predict_by_each(X), self.repairer_
        if repairer is None:
            return predicted[0]
        labels = self._groups_to_repair(X, sensitive_features, control_features)
        if self._scales is None:
            return repairer._repair(predicted[0], *labels)
        return self._mean_repaired(predicted, *labels)

    def _mean_repaired(
        self, predicted: list[Floats], groups: Groups, strata: Groups | None
    ) -> Floats:
        """Mean of the predictions of several models, each repaired."""
        assert self._scales is not None
        assert self.repairer_ is not None
        everyone, by_model = self._scales
        draws, repaired = self._draws(len(predicted[0])), []
        for scores, cdf in zip(predicted, by_model, strict=True):
            before = _rescale(scores, cdf, everyone, draws)
            after = self.repairer_._repair(before, groups, strata)
            # Scores that stay are not spread.
            own = np.where(after == before, scores, _rescale(after, everyone, cdf))
            repaired.append(own)
        return np.asarray(np.mean(repaired, axis=0))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
    ) -> float:
        """Accuracy of `predict`, or R2 of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            True classes, or true target.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        sensitive_features, control_features : object, default=None
            As in `predict`.

        Returns
        -------
        float
        """
        labels = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
        }
        metric = accuracy_score if is_classifier(self) else r2_score
        predicted = self.predict(X, **labels)
        return float(metric(y, predicted, sample_weight=sample_weight))

    def _groups_to_repair(
        self, X: Any, sensitive_features: Any, control_features: Any
    ) -> tuple[Groups, Groups | None]:
        """Return the groups and the strata of rows to predict."""
        sensitive_features = self._groups_to_predict(X, sensitive_features)
        strata = self._find_strata(control_features, X)
        assert self.repairer_ is not None
        return self.repairer_._read_groups(
            sensitive_features, strata, count_rows(X), self.unknown_groups
        )


def expected_of(comparison: AnyComparison, aim: Aim | None) -> AnyComparison:
    """State the gap that repairs of halves leave, where a band was found by it.

    It knows of shared scores and of groups of few rows. A repair in full has no band.
    """
    gap = comparison.mcdp
    if aim is None or not comparison.max_mcdp or gap == comparison.plain_mcdp:
        return comparison
    adjusted = comparison.adjusted_mcdp * aim.expected / gap
    return replace(comparison, mcdp=aim.expected, adjusted_mcdp=adjusted)


def _folds_have_ties(rows: Rows) -> bool:
    """Whether rows of a group share a score of one model beyond sampling noise."""
    limits = 1 / np.sqrt(np.maximum(row_counts(distributions(rows)), 1))
    for fold in range(int(rows.fold.max()) + 1):
        statistic = distributions(rows[rows.fold == fold])
        if (tied_shares(statistic) > limits[statistic.codes]).any():
            return True
    return False


def _cells_to_repair(rows: Rows) -> NDArray[np.integer]:
    """Code of each row's group, or with several strata of its stratum and group.

    There is a map for each of these codes, and none for -1. The maps of a single
    stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.cells if several else rows.groups.codes


def _everyone(rows: Rows, scale: str, place: float = 0.5) -> LinearCDF:
    """CDF of everyone.

    Rows of two folds that have different places in [0, 1] share no height, so that they
    do not come to share a score on another scale.
    """
    statistic = distributions(rows)
    cdf = LinearCDF.of(statistic, None, ends_of(scale, statistic.scores))
    if len(cdf.scores) == 1:  # a model that predicts one number, as those of others
        return cdf
    # At most half a row up or down; a whole weight counts as so many rows.
    shift = (2 * place - 1) / row_counts(statistic).sum()
    both = []
    for heights in (cdf.low, cdf.high):
        if scale == "real":
            # Ends correspond to ends, and slopes of 1 beyond them to each other.
            heights[[0, -1]] = 0, 1
        both.append(heights + 2 * shift * heights * (1 - heights))
    return LinearCDF(cdf.scores, *both)


def _rescale(
    scores: Floats, own: LinearCDF, other: LinearCDF, draws: Floats | None = None
) -> Floats:
    """Scores that have the same height in another CDF of everyone.

    Rows that share a score stay together, or are spread over its heights by draws.
    """
    seen = np.clip(scores, own.scores[0], own.scores[-1])
    if draws is None:
        heights = interpolate(seen, own.scores, own.middle)
    else:
        heights = own.heights_of(seen, draws)
    return np.interp(heights, other.middle, other.scores) + (scores - seen)


class MADDPostProcessor(GroupRepairer, ClassifierMitigator):
    r"""Classifier whose scores are repaired, so that groups get similar distributions.

    It fits `estimator`, learns the score distributions of the groups on held-out rows,
    and moves each of them towards the distribution of everyone, see `ScoreRepairer`.
    The level of repair is given, or it is the least whose total loss

    .. math::
        (1 - \theta) \, \mathrm{AccuracyLoss}(\lambda)
        + \theta \, \mathrm{FairnessLoss}(\lambda)

    is within one standard error of the minimum. Or the largest gap between groups is
    given, `max_mcdp`: it holds for the population from which the rows were drawn, in
    expectation over such draws, and `fit` warns where the rows do not show that it
    does. A gap that holds with a probability is that of `ScoreRepairer` with its
    `confidence_level`.

    With `control_features` all of this is within strata, see `ScoreRepairer`: in each
    department, or among the positives, whose maps then hold for all rows.

    Predictions need the group of each row. People with the same features get different
    scores in different groups, by design: check first whether the law allows that.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, for two classes. In a
        :class:`~sklearn.frozen.FrozenEstimator` it is not fitted again, and the repair
        is learnt on the rows given to `fit`, on which it must not have been trained.
    max_mcdp : float in [0, 1] or None, default=None
        Largest MCDP(0) allowed between any two groups of the population, in place of a
        level: the distributions are moved only where they are further apart, see
        `ScoreRepairer`. The repair aims lower by what new rows add, see the notes. 0
        repairs in full. None repairs by `repair_level`.
    repair_level : float in [0, 1] or "auto", default="auto"
        0 leaves scores as they are, 1 gives all groups the same distribution. Leave it
        at ``"auto"`` if `max_mcdp` is given.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several for their intersection, or a function of X
        that returns the groups. The keyword of `fit` and `predict` is used in its place
        if it is given. In a meta-estimator that leaves columns out, such as
        `BaggingClassifier`, a position names another column: route the groups there.
    drop_sensitive : bool, default=False
        Whether `estimator` gets X without the columns named by `sensitive_features`. X
        may then lack them in prediction, where groups are given by keyword.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared and repaired,
        several columns for their intersection, or a function of X that returns the
        strata. The keyword of `fit` and `predict` is used in its place if it is given.
        None compares groups among all rows. A column stays a feature.
    random_state : int, RandomState instance or None, default=None
        Shuffles rows before they are assigned to folds, and seeds ``ties="random"``,
        see `ScoreRepairer`. None keeps the order of the rows.
    threshold : float in [0, 1] or None, default=None
        Least repaired score for which the second class is predicted. None takes the
        threshold of `estimator`, see `threshold_`.
    ties : {"mid", "random"}, default="mid"
        Whether rows that share a score stay together, see `ScoreRepairer`. `fit` warns
        where that keeps most of the disparity.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How predictions treat rows whose group is missing or was absent in `fit`: raise,
        or leave their scores as they are. It may be set after `fit`.
    cv : int, cross-validation generator or iterable, default=5
        How rows are held out. An int makes that many folds, stratified by class and
        group.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    theta : float in [0, 1], default=0.5
        Weight of the fairness loss.
    accuracy_loss : {"zero_one", "log_loss"} or callable, default="zero_one"
        A callable is ``loss(y_true, y_score)``, smaller for better, with classes 0 and
        1, and ``sample_weight=`` if there are weights.
    fairness : {"madd", "mcdp"} or callable, default="madd"
        Fairness loss. ``"madd"`` is MADD / 2, which lies in [0, 1] as the zero-one loss
        does. Groups whose scores differ from all others' by no more than sampling
        noise do not count, see the notes. A callable is
        ``metric(y_true, y_score, sensitive_features=...)``, smaller for fairer, and
        ``sample_weight=`` if there are weights.

    Attributes
    ----------
    estimators_ : list
        The models of the folds, whose scores are repaired and then averaged; a single
        one if it is frozen or no groups are given.
    repairer_ : ScoreRepairer or None
        The repair learnt on all held-out scores, on the common scale of the models, see
        the notes; None without groups. Its `max_mcdp` is the gap that is aimed at.
    threshold_ : float
        The threshold, given or that of the classifier: of a
        :class:`~sklearn.model_selection.FixedThresholdClassifier` or
        :class:`~sklearn.model_selection.TunedThresholdClassifierCV` (also as the last
        step of a pipeline or in a search) its own, of those of the folds the median; of
        any other the least number above 0.5.
    repair_level_ : float or None
        Level of repair, given or chosen; None if `max_mcdp` is given.
    standard_error_ : float or None
        Standard error of the least total loss; None if a level or `max_mcdp` is given.
    losses_ : DataFrame of 101 rows, or None
        Losses at levels from 0 to 1, or at gaps from 0 to the one without repair, in
        the columns ``repair_level`` (``max_mcdp`` if that is given), ``total_loss``,
        ``accuracy_loss`` and ``fairness_loss``; None without groups. Over strata they
        are means by weight.
    comparison_ : PlainComparison or None
        Average precision and MCDP(0) (within strata, if there are any) of repaired and
        of plain scores on held-out rows, with standard errors; None without groups.
        Each row is repaired by a map that is learnt from the other folds, or the other
        fifths of the rows that a frozen model scored. Gaps are those to expect of many
        new rows; with `max_mcdp` that of the repaired scores is the one it is found by.
    groups_ : tuple of length n_groups
        Labels of the groups.
    strata_ : tuple of length n_strata
        Labels of the strata that are repaired; empty without `control_features`.
    classes_ : ndarray of shape (2,)
        Class labels. Scores are probabilities of the second.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if all are strings.

    See Also
    --------
    ScoreRepairer : Repair of scores without a classifier.
    skfair.inspection.BeforeAfterDisplay : Draws the scores before and after.
    RepairedRegressor : The same for predicted numbers.
    UnawarePostProcessor : Needs no group at prediction.
    skfair.inprocessing.MCDPReweighter : Trains one classifier on fair scores.

    Notes
    -----
    ``"auto"`` takes the least level whose total loss is within one standard error of
    the minimum, so that sampling noise does not add to the repair. MADD and MCDP after
    a repair are predicted as ``1 - level`` times their value without it, since their
    values on repaired samples jump, and do not fall below what noise alone yields. With
    `max_mcdp`, or where many rows share scores and `ties` is ``"mid"``, the share of
    MCDP(0) that is left takes the place of ``1 - level``. Groups count in the fairness
    loss if their CDF is further from that of all other rows than noise is at 95 %, by
    the bound of Dvoretzky, Kiefer, Wolfowitz and Massart.

    New rows show a larger gap than those of which the repair is learnt. How much larger
    is estimated by halves of each group, drawn at random: the share of n rows below a
    score varies about that of the population as the share of a half of them does about
    that of all n. The gap of all rows, smoothed as the repair smooths them, after the
    repair of a half is thus that of the population after the repair of all rows. Its
    mean over 20 halves (four, of 25,000 rows or more) is brought to `max_mcdp` by a
    narrower band; where even the narrowest leaves more, the widest is taken that leaves
    at most 5 % more than that. Groups of less than 50 rows do not count in this, nor do
    those of less than 200 which no band brings below `max_mcdp`, so that they do not
    narrow the band of others. If they keep more of the gap, a warning names them, and
    has the gap to expect with and without them; there is one, too, where the gap to
    expect is above 1.15 times `max_mcdp`. Where rows share scores, the gap that the
    mean of all models leaves in the rows of `fit` beyond that of single models is
    added.

    One map is learnt from the rows that all folds held out. Models of different folds
    may be more or less sure of themselves, so it is learnt and applied on the scale on
    which the scores of everyone have the same distribution for each of them. The
    averages of models that differ much from fold to fold, as those of trees do, keep a
    larger gap than `comparison_` tells of each model.

    Repaired scores are not calibrated: a
    `~sklearn.calibration.CalibratedClassifierCV` around the fitted model does that.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Equations 11 to 19.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.metrics import mcdp
    >>> from skfair.postprocessing import MADDPostProcessor
    >>> X, y = make_biased_classification(
    ...     4000, score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> model = MADDPostProcessor(
    ...     LogisticRegression(), sensitive_features="group", drop_sensitive=True
    ... )
    >>> scores = model.fit(X, y).predict_proba(X)[:, 1]
    >>> bool(mcdp(y, scores, sensitive_features=X["group"]) < 0.03)  # 0.28 without
    True

    Equal opportunity: similar distributions of the scores of positives.

    >>> import numpy as np
    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y == 1, "positive", None), missing="drop")
    >>> scores = model.fit(X, y, control_features=positives).predict_proba(X)[:, 1]
    >>> among = {"sensitive_features": X["group"], "control_features": positives}
    >>> bool(mcdp(y, scores, **among) < 0.05)  # 0.20 without
    True
    """

    losses_ = FittedTable()
    threshold_: float
    standard_error_: float | None
    comparison_: PlainComparison | None

    def __init__(
        self,
        estimator: Any,
        *,
        max_mcdp: float | None = None,
        repair_level: float | Literal["auto"] = "auto",
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
        threshold: float | None = None,
        ties: Literal["mid", "random"] = "mid",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        cv: Any = 5,
        n_jobs: int | None = None,
        theta: float = 0.5,
        accuracy_loss: str | Callable[..., float] = "zero_one",
        fairness: str | Callable[..., float] = "madd",
    ) -> None:
        self.estimator = estimator
        self.max_mcdp = max_mcdp
        self.repair_level = repair_level
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.threshold = threshold
        self.ties = ties
        self.unknown_groups = unknown_groups
        self.cv = cv
        self.n_jobs = n_jobs
        self.theta = theta
        self.accuracy_loss = accuracy_loss
        self.fairness = fairness

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        if self.repair_level != "auto":
            check_real(
                "repair_level", self.repair_level, 0, 1, alternative="'auto' or "
            )
        check_repair_options(self, self.repair_level, default="auto")
        check_real("theta", self.theta, 0, 1)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1, alternative="None or ")
        if not callable(self.accuracy_loss):
            check_choice("accuracy_loss", self.accuracy_loss, ("zero_one", "log_loss"))
        if not callable(self.fairness):
            check_choice("fairness", self.fairness, ("madd", "mcdp"))

    def _leave_plain(self) -> None:
        """Set the attributes of a repair for predictions without one."""
        self._set_threshold()
        self.losses_ = self.standard_error_ = None
        self.repair_level_: float | None = 0.0

    def _set_threshold(self) -> None:
        """Set the threshold, that of the fitted classifiers unless it is given."""
        given = self.threshold
        self.threshold_ = threshold_of(self.estimators_) if given is None else given

    def _learn_repair(self, held_out: Rows, rows: Rows, features: Any) -> None:
        """Choose the level by the losses of held-out rows, and learn the repair."""
        self._set_threshold()
        strata = losses_by_stratum(held_out, self)
        self._choose_amount(strata, len(held_out) / len(rows))
        level = 1.0 if self.repair_level_ is None else self.repair_level_
        cdfs = strata[0].cdfs if held_out.strata is None else None
        aim = self._find_aim(held_out, rows, features, max_mcdp=self.max_mcdp)
        width = None if aim is None else aim.max_mcdp
        tested, repaired, noise = self._repair_held_out(
            held_out, cdfs, repair_level=level, max_mcdp=width
        )
        self._compare(strata, tested, repaired, noise, aim)

    def _choose_amount(self, strata: list[StratumLosses], n_held_out: float) -> None:
        """Compute the losses of all levels, and choose one unless it is given.

        Each row was held out so many times on average. Strata are independent.
        """
        self.standard_error_ = self.repair_level_ = None
        steps = np.linspace(0, 1, _N_LEVELS)
        if self.max_mcdp is not None:
            largest = max(part.cdfs.largest_gap() for part in strata)
            self.losses_ = mean_losses(strata, largest * steps, "max_mcdp")
            return
        losses = self.losses_ = mean_losses(strata, steps, "repair_level")
        if self.repair_level != "auto":
            self.repair_level_ = float(self.repair_level)
            return
        total = losses["total_loss"].to_numpy()
        # Rounding must not decide between levels of equal losses.
        least = steps[int((total <= total.min() + 1e-12).argmax())]
        errors = [part.standard_error(least) for part in strata]
        # Repeated splits hold the same rows out again: they do not add rows.
        error = np.linalg.norm(_shares(strata) * errors) * np.sqrt(max(1, n_held_out))
        self.repair_level_ = float(steps[(total <= total.min() + error).argmax()])
        self.standard_error_ = float(error)

    def _compare(
        self,
        strata: list[StratumLosses],
        rows: Rows,
        repaired: Floats,
        noise: Noise,
        aim: Aim | None,
    ) -> None:
        """Compare repaired with plain scores, and warn of what went wrong."""
        differing = strata[0].differing
        options: dict[str, Any] = {"max_mcdp": self.max_mcdp, "noise": noise}
        found = compare_with_plain(rows, rows.y_pred, repaired, **options)
        self.comparison_ = judged = comparison = expected_of(found, aim)
        self._warn_of_limit(aim)
        ties = self._tie_problem(rows)
        if self.repair_level == "auto" and self.repair_level_ == 0:
            self._warn_of_problem(self._nothing_chosen(strata, ties))
        if not self._changes_the_gap(rows, repaired):
            return
        if rows.strata is None and differing.any() and not differing.all():
            # A group of a few rows has a large gap, whatever is done to it.
            part = rows_compared(rows, differing)
            scores = rows_compared(replace(rows, y_pred=repaired), differing).y_pred
            judged = compare_with_plain(part, part.y_pred, scores, **options)
            steered = None if aim is None else aim._replace(expected=aim.steered)
            judged = expected_of(judged, steered)
        if not any(part.differing.any() for part in strata):
            problem = f"no gain is shown: {_no_difference(comparison)}"
            self._warn_of_problem(problem)
        elif not judged.shows_gain:
            self._warn_of_comparison(judged, ties)
        elif ties is not None:
            self._warn_of_problem(ties)
        else:
            self._warn_of_comparison(comparison, ties)
            self._warn_of_problem(self._loss_problem(rows))

    def _nothing_chosen(self, strata: list[StratumLosses], ties: str | None) -> str:
        """Explain why level 0 is chosen, and what to type instead."""
        comparison = self.comparison_
        assert comparison is not None
        if any(part.differing.any() for part in strata):
            reason = (
                "no level lowers the total loss by more than its standard error "
                f"({self.standard_error_:.3f}), MCDP(0) stays "
                f"{comparison.plain_mcdp:.3f}"
            )
        else:
            reason = _no_difference(comparison)
        remedy = "Type repair_level=1, a larger theta or max_mcdp=0.05 to repair "
        return (
            f"repair_level='auto' chooses 0, which leaves scores as they are: {reason}."
            f" {ties or remedy + 'nevertheless'}"
        )

    def _loss_problem(self, rows: Rows) -> str | None:
        """Return a warning if the repair costs much of the model's skill, else None."""
        comparison, level = self.comparison_, self.repair_level_
        assert comparison is not None
        asked = f"max_mcdp={self.max_mcdp}"
        plain = comparison.plain_average_precision
        loss = plain - comparison.average_precision
        gain = plain - np.average(rows.y_true, weights=rows.weight)
        largest = _SHARE_LOST * gain
        if self.max_mcdp is None:
            if self.repair_level != "auto":
                return None
            asked = f"repair_level={level:.3g}"
            largest = min(largest, _SHARE_LOST_BY_CHOICE * plain)
        if not loss > max(largest, 2 * comparison.average_precision_error):
            return None
        reason = ""
        if loss > _SHARE_LOST * gain:
            reason = (
                ": most of what the classifier knows is the difference between the "
                "groups"
            )
        return (
            f"average precision falls from {plain:.3f} to "
            f"{comparison.average_precision:.3f} (by {loss / plain:.0%}) at {asked}, "
            f"MCDP(0) from {comparison.plain_mcdp:.3f} to {comparison.mcdp:.3f}{reason}"
            ". Set a lower theta, a lower repair_level or a larger max_mcdp"
        )

    def expected_mcdp(self, n_samples: int | Mapping[Hashable, int]) -> float:
        """Return the MCDP(0) to expect of a sample of new rows, its noise included.

        Parameters
        ----------
        n_samples : int or dict
            Number of new rows, or the number in each group, see
            `ScoreRepairer.expected_mcdp`.

        Returns
        -------
        float
            Mean of simulated samples; that of several models is on the common scale.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If nothing is repaired, and as in `ScoreRepairer.expected_mcdp`.
        """
        check_is_fitted(self, "estimators_")
        if self.repairer_ is None:
            raise ValueError("The classifier is the plain one: nothing is repaired.")
        return self.repairer_.expected_mcdp(n_samples)

    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> Floats:
        """Predict repaired probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, used in place of the columns that the parameter names.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, needed if `fit` has repaired several; used in place of
            the columns that the parameter names.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Repaired scores of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If no groups are given, on wrong lengths, and on groups that are missing or
            were absent in `fit`, unless `unknown_groups` is ``"pooled"``.
        """
        scores = self._repaired(X, sensitive_features, control_features)
        return np.column_stack([1 - scores, scores])

    def predict(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> NDArray[Any]:
        """Predict classes: the second where its repaired score reaches `threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `predict_proba`.
        sensitive_features, control_features : object, default=None
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.

        Raises
        ------
        ValueError
            As in `predict_proba`.
        """
        scores = self.predict_proba(
            X, sensitive_features=sensitive_features, control_features=control_features
        )[:, 1]
        return self._second_class_where(scores >= self.threshold_)


def _no_difference(comparison: PlainComparison) -> str:
    """Describe that no group differs by more than noise."""
    return (
        "no group differs from all others by more than sampling noise (MCDP(0) is "
        f"{comparison.mcdp:.3f}, the plain classifier's is {comparison.plain_mcdp:.3f},"
        f" sampling noise {comparison.noise:.3f}), so that a repair may widen the gap "
        "of new rows"
    )


class StratumLosses:
    """Losses of repairs of the rows of a stratum, or of all, by any amount.

    An amount is a level, or the largest gap allowed. Distributions and fairness are
    those of the rows that have a stratum, if there are strata.
    """

    def __init__(self, rows: Rows, model: MADDPostProcessor) -> None:
        self.rows, self.model = rows, model
        measured = _measured(rows)
        self.statistic = distributions(measured)
        # They are smoothed as the repair smooths them.
        self.cdfs = GroupCDFs.of(self.statistic, smooth=model.max_mcdp is not None)
        #: Positions of each group's rows in the order of their scores.
        self.members = [
            part[np.argsort(rows.y_pred[part])]
            for part in rows_by_code(rows.groups.codes, rows.n_groups)
        ]
        #: Heights that are repaired, by group: of its knots, or drawn for each row.
        self.heights = [cdf.middle for cdf in self.cdfs.cdfs]
        if model.ties == "random":
            random = check_random_state(model.random_state)
            draws, scores = random.uniform(size=len(rows)), rows.y_pred
            both = zip(self.cdfs.cdfs, self.members, strict=True)
            self.heights = [c.heights_of(scores[own], draws[own]) for c, own in both]
        #: Which groups the fairness loss compares.
        self.differing = _differing(measured, self.cdfs)

    def of(self, amounts: Floats) -> Floats:
        """Total loss, accuracy loss and fairness loss of each amount of repair."""
        all_measured = len(_measured(self.rows)) == len(self.rows)
        # Maps of scores that stay together are lines between the knots of the CDFs.
        by_height = all_measured or self.model.ties == "random"
        if self.model.accuracy_loss == "zero_one" and by_height:
            accuracy = self._error_rates(amounts)
        else:
            accuracy = self._of_repaired(amounts, self._accuracy_loss)
        fairness = self._fairness(amounts)
        for name, losses in {"accuracy_loss": accuracy, "fairness": fairness}.items():
            if not np.isfinite(losses).all():
                raise ValueError(
                    f"{name} gives {losses[~np.isfinite(losses)][0]} on "
                    f"{len(self.rows)} rows of the groups "
                    f"{list(self.rows.labels)}, expected a number."
                )
        return np.stack([self._total(accuracy, fairness), accuracy, fairness])

    def _total(self, accuracy: Any, fairness: Any) -> Any:
        """Weighted sum of both losses."""
        return (1 - self.model.theta) * accuracy + self.model.theta * fairness

    def standard_error(self, amount: float) -> float:
        """Find the standard error of the mean total loss, over the folds of the rows.

        It is 0 if fewer than two folds have a loss.
        """
        rows, losses = replace(self.rows, y_pred=self._repaired(amount)), []
        for fold in range(int(rows.fold.max()) + 1):
            own = rows[rows.fold == fold]
            classes = np.bincount(own.y_true, minlength=2)
            if not (classes.all() and _measured(own).groups.sizes().all()):
                continue
            # A callable may need more rows than a fold has; all rows gave a number.
            with suppress(ValueError):
                loss = self._total(self._accuracy_loss(own), self._fairness_loss(own))
                losses += [loss] if np.isfinite(loss) else []
        return float(sem(losses)) if len(losses) > 1 else 0.0

    def _accuracy_loss(self, rows: Rows) -> float:
        """Accuracy loss of the scores of some rows as they are."""
        loss = self.model.accuracy_loss
        if loss == "zero_one":
            wrong = (rows.y_pred >= self.model.threshold_) != rows.y_true
            return float(np.average(wrong, weights=rows.weight))
        loss = loss if callable(loss) else log_loss
        return float(loss(rows.y_true, rows.y_pred, **_weight_keywords(rows)))

    def _fairness_loss(self, rows: Rows) -> float:
        """Fairness loss of the scores of some rows as they are."""
        loss: Any = self.model.fairness
        if callable(loss):
            rows = _measured(rows)
            # Those of other libraries expect the label of each row.
            labels = pd.Series(list(rows.labels), dtype=object).to_numpy()
            keywords = _weight_keywords(rows)
            keywords["sensitive_features"] = labels[rows.groups.codes]
            return float(loss(rows.y_true, rows.y_pred, **keywords))
        if not self.differing.any():
            return 0.0
        if loss == "mcdp":
            return self._gap(rows)
        return MADD().locate(self._of_compared(rows)).value / 2

    def _gap(self, rows: Rows) -> float:
        """MCDP(0) of the groups that are compared."""
        return MCDP().value(self._of_compared(rows))

    def _of_compared(self, rows: Rows) -> GroupedScores:
        """Score distributions of the groups that are compared."""
        return distributions(rows_compared(_measured(rows), self.differing))

    def _fairness(self, amounts: Floats) -> Floats:
        """Loss of a callable; else that without repair times the share of MCDP left."""
        model = self.model
        if callable(model.fairness):
            return self._of_repaired(amounts, self._fairness_loss)
        loss = self._fairness_loss(self.rows)
        tied = model.ties == "mid" and has_ties(self.statistic)
        if not loss or (not tied and model.max_mcdp is None):
            return np.asarray(loss * (1 - amounts))
        plain = self._gap(self.rows)
        left = np.minimum(amounts, plain)
        if tied:
            left = self._of_repaired(amounts, self._gap)
        return np.asarray(loss * left / plain)

    def _of_repaired(self, amounts: Floats, loss: Callable[[Rows], float]) -> Floats:
        """Loss of the rows repaired by each amount."""
        repaired = map(self._repaired, amounts)
        return np.array([loss(replace(self.rows, y_pred=part)) for part in repaired])

    def _repaired(self, amount: float) -> Floats:
        """Scores of the rows repaired by an amount."""
        cdfs = self.cdfs
        scores: Floats = self.rows.y_pred
        by_gap = self.model.max_mcdp is not None
        repair = cdfs.within_band if by_gap else cdfs.towards_everyone
        path = repair(float(amount))
        if not path.moves:
            return scores
        repaired = np.array(scores)
        for group, members in enumerate(self.members):
            values = cdfs.repaired_at(path, group, self.heights[group])
            if self.model.ties == "mid":
                knots = cdfs.cdfs[group].scores
                values = interpolate(scores[members], knots, values)
            repaired[members] = values
        return np.clip(repaired, 0, 1)

    def _error_rates(self, amounts: Floats) -> Floats:
        """Zero-one loss of all levels, by a look-up in the sorted scores of each group.

        A repaired score reaches the threshold exactly where the height of the score in
        its group reaches that of the threshold in the repaired distribution. With
        random ties it is the expected loss.
        """
        rows, errors = self.rows, np.zeros(len(amounts))
        weights, targets = rows.weights, self._targets_at(amounts)
        draws = (None, None) if self.model.ties == "mid" else (0.0, 1.0)
        for group, members in enumerate(self.members):
            # A row at the least height reaches it, so the weight just below counts.
            just_below = np.nextafter(targets[group], -1)
            for positive in (0, 1):
                own = members[rows.y_true[members] == positive]
                if not len(own):
                    continue
                scores, first = np.unique(rows.y_pred[own], return_index=True)
                running = np.append(0, np.cumsum(weights[own]))
                # From one end of a step to the other the weight below rises in a line.
                cdf = self.cdfs.cdfs[group]
                ends = np.stack([cdf.heights_of(scores, draw) for draw in draws])
                sums = running[[first, np.append(first[1:], len(own))]]
                below = np.interp(just_below, ends.ravel("F"), sums.ravel("F"))
                errors += below if positive else running[-1] - below
        return np.asarray(errors / weights.sum())

    def _targets_at(self, amounts: Floats) -> Floats:
        """Height of each group's target just below the threshold, at each amount.

        Targets and repaired scores are linear between the ends of the steps of the CDF
        of everyone. The first of these at which repaired scores reach the threshold is
        found by bisection, for all amounts at once.
        """
        threshold, n_amounts = self.model.threshold_, len(amounts)
        below = np.full(n_amounts, -1)
        reached = np.full(n_amounts, 2 * len(self.cdfs.pooled.scores) - 1)
        while (reached - below > 1).any():
            middle = np.maximum((below + reached) // 2, 0)
            reaches = self._at_ends(amounts, middle)[0] >= threshold
            below, reached = np.where(reaches, (below, middle), (middle, reached))
        left, lower = self._at_ends(amounts, np.maximum(below, 0))
        right, upper = self._at_ends(amounts, reached)
        rise = np.where(below < 0, 0, right - left)  # no score is below the first end
        share = np.ones(n_amounts)
        np.divide(threshold - left, rise, out=share, where=rise > 0)
        return np.asarray((1 - share) * lower + share * upper)

    def _at_ends(self, amounts: Floats, ends: Integers) -> tuple[Floats, Floats]:
        """For each amount, repaired score and targets at one end of a step."""
        pooled = self.cdfs.pooled
        scores, upper = pooled.scores[ends // 2], ends % 2 == 1
        heights = np.stack([cdf.ends_at(scores, upper) for cdf in self.cdfs.cdfs])
        if self.model.max_mcdp is None:
            return scores, mixed(amounts, pooled.ends_at(scores, upper), heights)
        lowest, repaired = self.cdfs.band_at(scores, heights, amounts)
        return repaired, clipped(lowest, amounts, heights)


def _measured(rows: Rows) -> Rows:
    """Return the rows on which fairness is measured, those that have a stratum."""
    if rows.strata is None or (rows.strata.codes >= 0).all():
        return rows
    return rows[rows.strata.codes >= 0]


def losses_by_stratum(rows: Rows, model: MADDPostProcessor) -> list[StratumLosses]:
    """Return the losses in each stratum that has two groups, or without strata.

    A single stratum is where the maps of all rows are learnt and measured.
    """
    groups, strata = within_strata(rows.groups, rows.strata, rows.weight, warn=False)
    if rows.strata is None:
        return [StratumLosses(rows, model)]
    single, parts = len(rows.strata.labels) == 1, []
    rows = replace(rows, groups=groups, strata=strata)
    for _, own in rows.by_stratum():
        part = rows.grouped() if single else rows[own]
        part = replace(part, groups=groups_to_compare(part.groups))
        parts.append(StratumLosses(part, model))
    return parts


def mean_losses(
    strata: list[StratumLosses], amounts: Floats, name: str
) -> pd.DataFrame:
    """Losses of each amount of repair, equations 15 to 19; and their mean over strata.

    Amounts are levels, or the largest gaps allowed; `name` is that of their column.
    """
    losses = np.stack([part.of(amounts) for part in strata])
    mean = np.tensordot(_shares(strata), losses, 1)
    names = ["total_loss", "accuracy_loss", "fairness_loss"]
    return pd.DataFrame({name: amounts} | dict(zip(names, mean, strict=True)))


def _shares(strata: list[StratumLosses]) -> Floats:
    """Share of each stratum in the weight of all."""
    weights = np.array([part.rows.weights.sum() for part in strata])
    return np.asarray(weights / weights.sum())


def _differing(rows: Rows, groups: GroupCDFs) -> Bools:
    """Whether the scores of each group differ from all others' beyond sampling noise.

    By the bound of Dvoretzky, Kiefer, Wolfowitz and Massart at 95 %, for all groups at
    once.
    """
    # With two groups both tests are the same.
    n_tests = 1 if len(groups.cdfs) == 2 else len(groups.cdfs)
    codes, weights = rows.groups.codes, rows.weights
    sums = np.bincount(codes, weights, len(groups.cdfs))
    squares = np.bincount(codes, weights * units_of(weights), len(groups.cdfs))
    own_rows = sums**2 / squares
    other_rows = (sums.sum() - sums) ** 2 / np.maximum(squares.sum() - squares, 1e-300)
    # Noise of each group's distance from everyone, in units of a Brownian bridge.
    spread = (1 - groups.shares) * np.sqrt(1 / own_rows + 1 / other_rows)
    noise = supremum_quantile(0.05 / n_tests) * spread
    return np.asarray(groups.distances() > noise)


def _weight_keywords(rows: Rows) -> dict[str, Any]:
    """Keyword of the weights for a metric, none without weights."""
    return {} if rows.weight is None else {"sample_weight": rows.weight}


def rows_compared(rows: Rows, differing: Bools) -> Rows:
    """Keep the rows of groups that differ; of a single one also all others together."""
    if differing.all():
        return rows
    labels, codes = tuple(compress(rows.labels, differing)), np.cumsum(differing) - 1
    codes[~differing] = -1 if len(labels) > 1 else 1
    if len(labels) == 1:
        labels = (*labels, ("all others",))
    groups = replace(rows.groups, labels=labels, codes=codes[rows.groups.codes])
    return replace(rows, groups=groups)[groups.codes >= 0]
