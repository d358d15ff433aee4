"""Repair of score distributions, group by group."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import (
    Tags,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.validation import check_is_fitted

from skfair._mitigation import ROUTED, LinkedToSite, labels_text, within_strata
from skfair._training_rows import TrainingRows
from skfair._utils._types import Floats
from skfair._utils._validation import (
    ParameterError,
    check_choice,
    check_flag,
    check_integer,
    check_real,
    check_scores,
    check_weights,
    scores_on,
)
from skfair._utils._warnings import warn_user, warns_if_reordered
from skfair.exceptions import MitigationWarning
from skfair.frames._to_sql import check_names
from skfair.groups import (
    MISSING_LABEL,
    Groups,
    encode_groups,
    recode,
    resolve_groups,
    resolve_strata,
    rows_by_code,
)
from skfair.metrics._inputs import in_place_of_rows
from skfair.postprocessing._calibration import BetaCalibration
from skfair.postprocessing._linear_cdf import (
    GroupCDFs,
    LinearCDF,
    Mixture,
    Path,
    TargetBand,
    distributions,
    ends_of,
    interpolate,
    repaired_at,
    spread_in_bins,
    takes_smooth,
)
from skfair.postprocessing._repair_sql import (
    Knots,
    labels_by_column,
    table_of_pieces,
    thin_knots,
    write_map,
    write_query,
)
from skfair.statistics import GroupedHistogram, GroupedScores
from skfair.statistics._grouped_scores import check_probabilities

#: Samples that are simulated for an expected gap, and scores at which CDFs are then
#: compared.
_N_DRAWS, _N_POINTS = 300, 4000
#: What an error about scores that are no probabilities adds.
_TAKES_ANY = " With scale='real' scores may be any finite numbers."


class ScoreRepairer(
    LinkedToSite,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Move each group's score distribution towards the distribution of everyone.

    A score p of group g becomes

    .. math::
        \left( (1 - \lambda) F_g + \lambda F \right)^{-1} \left( F_g(p) \right)

    where :math:`F_g` is the CDF of the group, F that of all groups together and
    :math:`\lambda` the level of repair. The repaired scores of group g follow
    :math:`(1 - \lambda) F_g + \lambda F`: every distance between the CDFs or histograms
    of groups, such as MCDP and MADD, becomes :math:`1 - \lambda` times what it was. The
    order of scores within a group does not change.

    With `max_mcdp` the CDFs are limited instead: they move the less, the nearer two of
    them are, see the notes. The largest distance between two groups, MCDP(0), then is
    `max_mcdp` up to sampling noise, at a smaller loss of performance than by a level.

    With `control_features` each stratum is repaired by itself, so that groups get like
    distributions in each department, for instance. Strata that are known in `fit` only,
    such as the true label, must be one: its maps hold for all rows. With the positives
    alone, groups get equal rates of true positives at every threshold.

    Without them it makes the distributions of everyone alike. It then uses no labels,
    so it does not control error rates, and it cannot tell whether the groups *should*
    have like scores.

    Scores are probabilities, or with ``scale="real"`` any numbers, such as the salaries
    that a regressor predicts.

    Parameters
    ----------
    repair_level : float in [0, 1], default=1.0
        The paper's lambda. 0 returns scores as they are, 1 gives all groups the same
        distribution, up to sampling. Leave it at 1 if `max_mcdp` is given.
    max_mcdp : float in [0, 1] or None, default=None
        Largest distance left between the CDFs of any two groups, as
        `skfair.metrics.mcdp` measures it with ``epsilon=0`` and
        ``multigroup="pairwise"``. Samples of new rows show more, by their noise, see
        `expected_mcdp`. Scores of groups that are nowhere further apart stay as they
        are; 0 repairs in full, to the mean of the groups' quantile functions. None
        repairs by `repair_level`.
    confidence : float in (0, 1) or None, default=None
        Probability with which the true gap, that of infinitely many new rows, is at
        most `max_mcdp`: the gap that is aimed at is smaller by the noise of the rows
        given to `fit`. None aims at `max_mcdp` itself, which the true gap exceeds by
        their noise more often than not.
    ties : {"mid", "random"}, default="mid"
        How to repair rows of a group that share a score, such as those in one leaf of a
        tree: ``"mid"`` keeps them together, at the middle of their step in the CDF;
        ``"random"`` draws a height within the step for each row. Only the latter can
        make the distributions of scores with few distinct values alike.
    calibrate : bool, default=False
        Whether to turn the repaired scores into probabilities, by one increasing map
        for all groups that is fitted to the labels given to `fit`. It changes neither
        the order of scores nor MCDP(0).
    scale : {"probability", "real"}, default="probability"
        ``"real"`` takes any finite scores. A score below or above all those seen in
        `fit` is then changed by as much as the least or the largest of them.
        ``max_mcdp`` is in the same unit on both scales: a share of rows.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How `transform` treats rows whose group is missing or was absent in `fit`:
        raise, or use the distribution of everyone as theirs, which leaves their scores
        as they are (`calibrate` maps them as all others). It may be set after `fit`.
        Rows with a missing group are never refused if `fit` has left such rows out.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``. An int gives the same result at every call, and so
        the same draw to every row that is scored in a call of its own: rows that share
        a score then stay together. A service that scores rows one at a time, or in
        small batches, must use None or a RandomState instance, whose draws go on from
        call to call.

    Attributes
    ----------
    repair_level_ : float or None
        Level of repair; None if `max_mcdp` is given.
    certified_mcdp_ : float or None
        What the true gap is at most, with the probability `confidence`: more than
        `max_mcdp` where the rows are too few. None without `confidence`.
    groups_ : tuple of length n_groups
        Labels of the groups.
    strata_ : tuple of length n_strata
        Labels of the strata that are repaired; empty without `control_features`.
    stratum_repairers_ : dict
        A fitted `ScoreRepairer` for each of several strata; empty for at most one. The
        CDFs below are theirs then, and empty here.
    cdfs_ : tuple of length n_groups
        CDF of each group, as arrays ``scores``, ``low`` and ``high``: at each distinct
        score the CDF rises from ``low`` to ``high``, in between it is linear. CDFs of
        small groups are shrunk to that of everyone, see the notes.
    pooled_cdf_ : tuple of arrays or None
        The CDF of everyone, in the same form; None with several strata.
    repaired_scores_ : tuple of length n_groups
        Repaired value of each score in ``cdfs_[g].scores``, with ``ties="mid"``.
    calibrator_ : BetaCalibration or None
        The map to probabilities, a function of an array of repaired scores, with its
        ``slope_0``, ``slope_1`` and ``intercept``; None without `calibrate`.

    See Also
    --------
    MADDPostProcessor : A classifier that repairs its own scores.
    skfair.metrics.madd : The distance of distributions that repair reduces.
    RepairedRegressor : Repairs the predictions of a regressor.

    Notes
    -----
    The i-th of the n rows of a group, in order, has the height (i - 1/2) / n in its
    CDF, and CDFs are linear in between. They start at (0, 0) and end at (1, 1), so
    that scores beyond those seen in `fit` keep their order and stay within [0, 1]. With
    ``scale="real"`` they start at the least and end at the largest score of everyone.
    With ``ties="mid"`` a score that was not seen in `fit` is repaired by linear
    interpolation between its neighbours.

    Small groups: for a group of n rows, at most 100, :math:`F_g` is replaced by
    :math:`w F_g + (1 - w) F`, where :math:`w = e n / (n + 10)`, as if ten rows of
    everyone were added. The evidence e is 0 where the distance of the group's CDF from
    that of all other rows is at most the mean distance of samples of one distribution,
    1 where it is what 5 % of such samples exceed or more, and linear in between. So 20
    rows that differ no more than samples of one distribution do in the mean keep their
    scores, and 20 rows that differ clearly are moved by two thirds of the way. Between
    100 and 200 rows w rises to 1.

    Largest gap: the CDF of a group of n rows is smoothed by a normal kernel in the
    log-odds, whose standard deviation is that of the log-odds times
    :math:`n^{-1/3}`. Where this moves it by more than :math:`0.7 / \sqrt{n}`, many
    rows share scores, and the exact CDF is taken. At each score x let S be the largest
    distance between two of these CDFs. All of them are clipped to the band ``[u, u +
    b]``, whose lower edge u keeps the mean of the CDFs, by weight, as it was. Its width
    is

    .. math:: b = S / (1 + (S / c)^k)^{1 / k}

    with c such that b is `max_mcdp` where S is largest. With m the mean of the largest
    distance between samples of one distribution (Kolmogorov's), k is the largest S
    divided by 2 m, and at least 1. So many rows are clipped to
    nearly ``min(S, max_mcdp)``. With few rows smaller gaps shrink, too: of many
    thresholds at the limit, noise would lift some above it. For groups of few rows the
    band is narrower by what shrinking may leave (at most ``b / 2`` on either side). If
    S is nowhere above `max_mcdp`, scores stay as they are.

    All clipped CDFs :math:`G_g` increase. The scores :math:`F_g^{-1}(G_g(x))` of all
    groups are repaired to one value, their mean by weight. With ``max_mcdp=0`` this is
    the barycentre of the groups' distributions [3]_. If scores are the probabilities
    of each group, and there are two large groups, hardly any other thresholds of the
    groups whose selection rates differ by at most `max_mcdp` decide better than one
    threshold of the repaired scores, whatever the costs of a false positive and a false
    negative.

    Confidence: the CDFs of two groups of n and m rows differ from the true ones, one
    minus the other, by at most :math:`q \sqrt{1 / n + 1 / m}` with the probability
    `confidence`, where :math:`q = \sqrt{\log(2 / \alpha) / 2}` is the bound of
    Dvoretzky, Kiefer, Wolfowitz and Massart and alpha is ``1 - confidence``, shared by
    all pairs of groups. An increasing map of each group keeps heights, so it changes
    nothing of that. The gap aimed at is smaller than `max_mcdp` by this noise of the
    two smallest groups, and by a row of each; CDFs are not smoothed.

    Probabilities: with a and b positive, fitted by log-loss,
    ``logit(q) = a * log(p) - b * log(1 - p) + c`` [2]_.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Equations 11 to 14.
    .. [2] Kull, Silva Filho, Flach. "Beta calibration: a well-founded and easily
       implemented improvement on logistic calibration for binary classifiers".
       AISTATS 2017.
    .. [3] Chzhen, Denis, Hebiri, Oneto, Pontil. "Fair Regression with Wasserstein
       Barycenters". NeurIPS 2020.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import mcdp
    >>> from skfair.postprocessing import ScoreRepairer
    >>> _, y_score, group = make_biased_scores(random_state=0)
    >>> round(mcdp(None, y_score, sensitive_features=group), 2)
    0.58
    >>> repairer = ScoreRepairer(repair_level=0.5)
    >>> halfway = repairer.fit_transform(y_score, sensitive_features=group)
    >>> round(mcdp(None, halfway, sensitive_features=group), 2)
    0.29
    >>> clipped = ScoreRepairer(max_mcdp=0.1).fit_transform(
    ...     y_score, sensitive_features=group
    ... )
    >>> round(mcdp(None, clipped, sensitive_features=group), 2)
    0.1

    Equal opportunity: like distributions of the scores of positives.

    >>> import numpy as np
    >>> from skfair.groups import encode_groups
    >>> y_true, y_score, group = make_biased_scores(random_state=0)
    >>> positives = encode_groups(
    ...     np.where(y_true == 1, "positive", None), missing="drop"
    ... )
    >>> fair = ScoreRepairer().fit_transform(
    ...     y_score, sensitive_features=group, control_features=positives
    ... )
    >>> for scores in (y_score, fair):
    ...     among_positives = mcdp(
    ...         None, scores, sensitive_features=group, control_features=positives
    ...     )
    ...     print(round(among_positives, 2))
    0.44
    0.0

    Salaries that a regressor predicts:

    >>> salaries, sex = [30.0, 34.0, 42.0, 50.0] * 50, ["F", "F", "M", "M"] * 50
    >>> repairer = ScoreRepairer(scale="real", max_mcdp=0)
    >>> fair = repairer.fit_transform(salaries, sensitive_features=sex)
    >>> [round(float(salary)) for salary in fair[:4]]
    [36, 42, 36, 42]
    """

    __metadata_request__fit: ClassVar = ROUTED
    __metadata_request__transform: ClassVar = ROUTED

    calibrator_: BetaCalibration | None

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        max_mcdp: float | None = None,
        confidence: float | None = None,
        ties: Literal["mid", "random"] = "mid",
        calibrate: bool = False,
        scale: Literal["probability", "real"] = "probability",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        random_state: Any = None,
    ) -> None:
        self.repair_level = repair_level
        self.max_mcdp = max_mcdp
        self.confidence = confidence
        self.ties = ties
        self.calibrate = calibrate
        self.scale = scale
        self.unknown_groups = unknown_groups
        self.random_state = random_state

    @warns_if_reordered
    def fit(
        self,
        scores: ArrayLike | GroupedScores | GroupedHistogram,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the score distributions.

        Parameters
        ----------
        scores : array-like of shape (n_samples,), GroupedScores or GroupedHistogram
            Probabilities of the positive class, in [0, 1], or with ``scale="real"`` any
            finite numbers, on rows that the model was not trained on: its scores on
            training rows are distributed differently. A statistic of such rows takes
            the place of all other arguments, which must be None: `GroupedScores` gives
            the map that the rows give, and `GroupedHistogram` one between whose knots,
            the least and the largest score of each bin and group, scores are taken to
            be spread evenly.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes; scores are probabilities of the second, in sorted
            order. Only `calibrate` uses them.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. Of several, each is repaired by itself, and
            `transform` needs the stratum of each row. Of a single one, with all other
            rows in none (code -1 of a `Groups`), the maps hold for all rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        self : ScoreRepairer

        Raises
        ------
        ValueError
            On scores outside [0, 1], wrong lengths, missing groups, parameters out of
            range, `max_mcdp` beside a level, `calibrate` without labels of two classes,
            if no stratum has two groups, or on other arguments beside a statistic.

        Warns
        -----
        UserWarning
            If strata without two groups are left out: their scores stay as they are.
        skfair.exceptions.MitigationWarning
            If rows are too few, or share too many scores, for `max_mcdp` to hold with
            the probability `confidence`.
        """
        self._check_parameters()
        if isinstance(scores, GroupedScores | GroupedHistogram):
            given = in_place_of_rows(
                scores,
                y=y,
                sensitive_features=sensitive_features,
                control_features=control_features,
                sample_weight=sample_weight,
            )
            self._learn_statistic(self._check_statistic(given))
        else:
            values = self._check_scores(scores)
            groups = resolve_groups(sensitive_features, n_samples=len(values))
            strata = None
            if control_features is not None:
                strata = resolve_strata(control_features, n_samples=len(values))
            weights = check_weights(sample_weight, len(values))
            rows = TrainingRows(None, y, groups, weights, strata, values)
            rows = self._learn_rows(rows)
            if self.calibrate:
                self.calibrator_ = self._fit_calibrator(rows)
        self._warn_of_gap(self)
        return self

    def _warn_of_gap(self, repair: Any) -> None:
        """Warn if the gap is not below `max_mcdp` with the probability `confidence`.

        The warning begins with the name of `repair`, the estimator of the user.
        """
        certified, asked = self.certified_mcdp_, self.max_mcdp
        if certified is not None and asked is not None and certified > asked:
            warn_user(
                f"{type(repair).__name__}: max_mcdp={asked:g} does not hold "
                f"with confidence={self.confidence:g}: the true gap is at most "
                f"{certified:.3f} with this probability, because rows are "
                "few or share scores. Give more rows, or ties='random' where scores "
                "are shared.",
                MitigationWarning,
            )

    def _learn_rows(self, rows: TrainingRows, warn: bool = True) -> TrainingRows:
        """Learn from rows, and return them with the code -1 where groups are left out.

        With `warn` the user is told which strata and groups are left out.
        """
        left_rows_out, strata = bool((rows.codes < 0).any()), rows.strata
        if strata is None:
            self._learn_statistic(distributions(rows))
        else:
            groups, kept = within_strata(rows.groups, strata, rows.sample_weight, warn)
            assert kept is not None
            rows = replace(rows, groups=groups)
            bare = replace(rows, y=None, strata=None)
            weighted = np.where(rows.weights > 0, kept.codes, -1)
            found = [distributions(bare.take(part)) for part in rows_by_code(weighted)]
            if len(strata.labels) == 1:
                self._learn_statistic(found[0]).strata_ = kept.labels
            else:
                self._learn_strata(groups.labels, kept.labels, found)
            present = {strata.labels[code] for code in np.flatnonzero(strata.sizes())}
            self._left_out: set[Hashable] = present.difference(self.strata_)
        self._left_rows_out = left_rows_out
        return rows

    def _learn_statistic(self, statistic: GroupedScores) -> Self:
        """Learn from the scores of the groups."""
        ends = ends_of(self.scale, statistic.scores)
        smooth = self.scale == "probability"
        smooth &= takes_smooth(self.max_mcdp, self.confidence)
        return self._learn(GroupCDFs.of(statistic, ends=ends, smooth=smooth))

    def _learn(self, learnt: GroupCDFs) -> Self:
        """Learn from the CDFs of the groups."""
        self.groups_, self._learnt, self._left_rows_out = learnt.labels, learnt, False
        self.strata_: tuple[Hashable, ...] = ()
        self.stratum_repairers_: dict[Hashable, ScoreRepairer] = {}
        self.calibrator_ = None
        self.cdfs_: tuple[LinearCDF, ...] = learnt.cdfs
        self.pooled_cdf_: LinearCDF | None = learnt.pooled
        self.repair_level_ = None
        if self.max_mcdp is None:
            self.repair_level_ = float(self.repair_level)
            self._path: Path = Mixture(self.repair_level_, learnt.pooled.ends)
        else:
            noise, rows = 0.0, 0.0
            if self.confidence is not None:
                noise, rows = learnt.noise(1 - self.confidence)
            aim = max(0.0, self.max_mcdp - noise - rows)
            self._path = TargetBand.within(learnt, aim)
        self.repaired_scores_: tuple[Floats, ...] = tuple(
            repaired_at(learnt, self._path, group, cdf.middle)
            for group, cdf in enumerate(self.cdfs_)
        )
        self.certified_mcdp_: float | None = None
        if self.max_mcdp is not None and self.confidence is not None:
            left = float(np.ptp(self._cdfs_after(), axis=0).max())
            self.certified_mcdp_ = min(1.0, left + noise)
        return self

    def _cdfs_after(self) -> Floats:
        """Heights of the CDFs of the repaired rows, one row a group, at many scores."""
        if self.ties == "random":
            heights = self._learnt.heights()
            targets = (self._path.target(row, i) for i, row in enumerate(heights))
            return np.stack(list(thinned(targets)))
        points = next(thinned([np.unique(np.concatenate(self.repaired_scores_))]))
        return np.stack(
            [
                np.append(0.0, cdf.high)[np.searchsorted(repaired, points, "right")]
                for cdf, repaired in zip(
                    self._learnt.own, self.repaired_scores_, strict=True
                )
            ]
        )

    def _learn_strata(
        self,
        groups: tuple[Hashable, ...],
        strata: tuple[Hashable, ...],
        statistics: list[GroupedScores],
    ) -> None:
        """Learn from each of several strata by itself."""
        self.groups_, self.strata_, self._left_rows_out = groups, strata, False
        # All strata together have the confidence asked for.
        options: dict[str, Any] = {"calibrate": False}
        if self.confidence is not None:
            options["confidence"] = 1 - (1 - self.confidence) / len(strata)
        self.stratum_repairers_ = {
            label: clone(self).set_params(**options)._learn_statistic(own)
            for label, own in zip(strata, statistics, strict=True)
        }
        self.repair_level_ = None if self.max_mcdp is not None else self.repair_level
        self.cdfs_, self.repaired_scores_, self.pooled_cdf_ = (), (), None
        self.calibrator_, self.certified_mcdp_ = None, None
        if self.confidence is not None:
            repairers = self.stratum_repairers_.values()
            self.certified_mcdp_ = max(own.certified_mcdp_ or 0.0 for own in repairers)

    def _check_statistic(
        self, statistic: GroupedScores | GroupedHistogram
    ) -> GroupedScores:
        """Return a statistic that is given in place of rows as one of scores."""
        if self.calibrate:
            raise ValueError(
                "calibrate=True needs the labels of rows, which a statistic has not."
            )
        if not statistic.counts.any():
            raise ValueError("scores is a statistic of 0 rows, expected at least one.")
        if isinstance(statistic, GroupedHistogram):
            return spread_in_bins(statistic)
        if self.scale == "probability":
            check_probabilities(statistic, "scores", _TAKES_ANY)
        return statistic

    def _check_scores(self, scores: Any) -> Floats:
        """Return scores as floats that are on the scale."""
        if self.scale == "real":
            return scores_on("real", scores, "scores")
        return check_scores(scores, "scores", _TAKES_ANY)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_choice("scale", self.scale, ("probability", "real"))
        if self.scale == "real" and self.calibrate:
            raise ParameterError(
                "calibrate",
                f"must be False with scale='real', got {self.calibrate!r}: it makes "
                "probabilities.",
            )
        level = check_real("repair_level", self.repair_level, 0, 1)
        check_repair_options(self, level, default=1)

    def _fit_calibrator(self, rows: TrainingRows) -> BetaCalibration:
        """Fit the map from repaired scores to probabilities by rows with weight."""
        if rows.y is None:
            raise ValueError("calibrate=True needs labels: y is None.")
        check_consistent_length(rows.scores, rows.y)
        chosen = (rows.codes >= 0) & (rows.weights > 0)
        if rows.strata is not None and self.stratum_repairers_:
            chosen &= rows.strata.codes >= 0
        rows = replace(rows, y=column_or_1d(rows.y)).take(chosen)
        classes = np.unique(rows.y)
        if len(classes) != 2:
            raise ValueError(
                f"calibrate=True needs labels of two classes, got y with "
                f"{len(classes)}: {classes[:5].tolist()}."
            )
        repaired = self._repair(rows.scores, rows.groups, rows.strata)
        return BetaCalibration.fit(repaired, rows.y == classes[1], rows.sample_weight)

    @warns_if_reordered
    def transform(
        self,
        scores: ArrayLike,
        *,
        sensitive_features: Any,
        control_features: Any = None,
    ) -> Floats:
        """Repair scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores in [0, 1], or any finite ones with ``scale="real"``.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, needed if `fit` has repaired several. The maps of a
            single stratum hold for all rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired scores, in [0, 1] for probabilities; a DataFrame of one column if
            `set_output` asks for it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            On scores outside [0, 1], wrong lengths, missing strata, and on groups that
            are missing, or groups or strata that were absent in `fit`, unless
            `unknown_groups` is ``"pooled"``.
        """
        check_is_fitted(self)
        values = self._check_scores(scores)
        groups, strata = self._read_groups(
            sensitive_features, control_features, len(values), self.unknown_groups
        )
        repaired = self._repair(values, groups, strata)
        return repaired if self.calibrator_ is None else self.calibrator_(repaired)

    def _read_groups(
        self, groups: Any, strata: Any, n_samples: int, unknown_groups: str
    ) -> tuple[Groups, Groups | None]:
        """Check the groups and the strata of rows to repair."""
        if groups is not None:
            columns = labels_by_column(self.groups_)
            is_group = any(MISSING_LABEL in labels for labels in columns)
            groups = encode_groups(groups, missing="group" if is_group else "drop")
        groups = resolve_groups(groups, n_samples=n_samples)
        if strata is not None or self.stratum_repairers_:
            strata = strata_to_repair(strata, n_samples, self.strata_)
        if unknown_groups == "raise":
            self._check_known(groups, strata)
        return groups, strata

    def _check_known(self, groups: Groups, strata: Groups | None) -> None:
        """Raise if `fit` has not seen the groups, or the strata, of some rows."""
        unknown = recode(groups.codes, groups.labels, self.groups_) < 0
        if self._left_rows_out:
            unknown &= groups.codes >= 0
        check_known_groups(
            "sensitive_features", "groups", groups, unknown, self.groups_
        )
        if strata is not None and self.stratum_repairers_:
            known = (*self.strata_, *self._left_out)
            unknown = recode(strata.codes, strata.labels, known) < 0
            check_known_groups(
                "control_features", "strata", strata, unknown, self.strata_
            )

    def _repair(self, values: Floats, groups: Groups, strata: Groups | None) -> Floats:
        """Repair scores of known groups within known strata; all others stay."""
        if strata is None or not self.stratum_repairers_:
            return self._repair_stratum(values, groups)
        repaired = np.array(values)
        for label, rows in zip(strata.labels, rows_by_code(strata.codes), strict=False):
            if label in self.stratum_repairers_:
                own = self.stratum_repairers_[label]
                repaired[rows] = own._repair_stratum(values[rows], groups[rows])
        return repaired

    def _repair_stratum(self, values: Floats, groups: Groups) -> Floats:
        """Repair scores of one stratum."""
        codes = recode(groups.codes, groups.labels, self.groups_)
        repaired = np.array(values)
        if not self._path.moves:
            return repaired
        random = check_random_state(self.random_state)
        for group, rows in enumerate(rows_by_code(codes, len(self.groups_))):
            cdf = self.cdfs_[group]
            # Sorted look-ups spare cache misses, which cost more than the sort.
            rows = rows[np.argsort(values[rows])]
            seen = np.clip(values[rows], cdf.scores[0], cdf.scores[-1])
            if self.ties == "random":
                heights = cdf.heights_of(seen, random)
                found = repaired_at(self._learnt, self._path, group, heights)
            else:
                found = interpolate(seen, cdf.scores, self.repaired_scores_[group])
            repaired[rows] = found + (values[rows] - seen)
        if self.scale == "probability":
            np.clip(repaired, 0, 1, out=repaired)
        return repaired

    def fit_transform(
        self,
        scores: ArrayLike,
        y: Any = None,
        *,
        sensitive_features: Any,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Floats:
        """Learn the score distributions and repair the same scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores in [0, 1], or any finite ones with ``scale="real"``.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes; scores are probabilities of the second, in sorted
            order. Only `calibrate` uses them.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired scores, in [0, 1] for probabilities.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        self.fit(
            scores,
            y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        return self.transform(
            scores,
            sensitive_features=sensitive_features,
            control_features=control_features,
        )

    def expected_mcdp(self, n_samples: int | Mapping[Hashable, int]) -> float:
        """Return the MCDP(0) to expect of a sample of new rows, its noise included.

        Parameters
        ----------
        n_samples : int or dict
            Number of new rows, of which each group has its share in `fit`, or the
            number in each group.

        Returns
        -------
        float
            Mean over 300 simulated samples, the same at every call, of the largest gap
            between two groups. To the gap that is left in the rows given to `fit` is
            added the noise of these rows and that of the new ones, each as a Brownian
            bridge.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            With several strata (take `stratum_repairers_`), or if `n_samples` leaves a
            group without rows, or names other groups than `fit`.

        Examples
        --------
        >>> from skfair.datasets import make_biased_scores
        >>> from skfair.postprocessing import ScoreRepairer
        >>> _, y_score, group = make_biased_scores(4000, random_state=0)
        >>> repairer = ScoreRepairer(max_mcdp=0.1).fit(
        ...     y_score, sensitive_features=group
        ... )
        >>> for n_samples in (400, 4000, 400_000):
        ...     print(round(repairer.expected_mcdp(n_samples), 2))
        0.17
        0.13
        0.12
        """
        check_is_fitted(self)
        self._check_single()
        sizes = self._sizes_of(n_samples)
        heights = self._cdfs_after()
        steps = np.diff(heights, axis=1, prepend=0.0, append=1.0).clip(0)
        scale = np.sqrt(1 / self._learnt.n_rows + 1 / sizes)
        random, found = np.random.default_rng(0), []
        for _ in range(_N_DRAWS):
            walk = np.cumsum(np.sqrt(steps) * random.standard_normal(steps.shape), 1)
            bridge = walk[:, :-1] - heights * walk[:, -1:]
            found.append(np.ptp(heights + scale[:, None] * bridge, axis=0).max())
        return float(min(1.0, np.mean(found)))

    def _sizes_of(self, n_samples: Any) -> Floats:
        """Check how many new rows each group has."""
        if not isinstance(n_samples, Mapping):
            check_integer("n_samples", n_samples, 1)
            sizes = n_samples * self._learnt.shares
        elif set(n_samples) == set(self.groups_):
            sizes = np.array([n_samples[label] for label in self.groups_], dtype=float)
        else:
            raise ValueError(
                f"n_samples has the groups {list(n_samples)}, expected those seen in "
                f"fit, {list(self.groups_)}."
            )
        if not (sizes >= 1).all():
            raise ValueError(
                f"n_samples={n_samples!r} leaves the groups {list(self.groups_)} "
                f"{sizes.round(2).tolist()} rows, expected at least one each."
            )
        return np.asarray(sizes)

    def to_frame(self, *, tol: float = 0.0) -> pd.DataFrame:
        """Return the map as a table of linear pieces.

        To repair scores where they are, join them with it: a row belongs to the piece
        of its group with the largest ``score_from`` that is not above its score.

        Parameters
        ----------
        tol : float in [0, 1], default=0.0
            How far the map may be from that of `transform`, with ``scale="real"`` any
            number in the unit of the scores. With 0 there is one piece
            between any two scores seen in `fit` that follow each other; otherwise there
            are at most ``2 / tol + 1`` for each group (times the range of the scores),
            and fewer where the map is smooth.

        Returns
        -------
        DataFrame
            One row for each piece, sorted by group and score: ``group`` (``group_0``,
            ``group_1``, ... for an intersection), ``score_from``, ``score_to``,
            ``repaired_from`` and ``repaired_to``. Pieces of a group cover [0, 1], or
            with ``scale="real"`` the scores seen in `fit`: below and above them, scores
            are changed by as much as the least and the largest one. In between, the
            repaired score is ``repaired_from + (score - score_from) / (score_to -
            score_from) * (repaired_to - repaired_from)``, without the map to
            probabilities of `calibrator_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            With ``ties="random"``, which is no map, with several strata (take
            `stratum_repairers_`), or if `tol` is out of range.

        Examples
        --------
        >>> from skfair.postprocessing import ScoreRepairer
        >>> repairer = ScoreRepairer()
        >>> scores, sex = [0.2, 0.6, 0.4, 0.8], ["F", "F", "M", "M"]
        >>> repairer.fit(scores * 200, sensitive_features=sex * 200).to_frame()
          group  score_from  score_to  repaired_from  repaired_to
        0     F         0.0       0.2            0.0          0.3
        1     F         0.2       0.6            0.3          0.7
        2     F         0.6       1.0            0.7          1.0
        3     M         0.0       0.4            0.0          0.3
        4     M         0.4       0.8            0.3          0.7
        5     M         0.8       1.0            0.7          1.0
        """
        return table_of_pieces(self.groups_, self._knots(tol))

    def to_sql(
        self,
        table: str,
        *,
        y_score: str,
        sensitive_features: str | list[str],
        name: str = "repaired_score",
        tol: float = 0.0,
        quote: Literal['"', "`"] = '"',
    ) -> str:
        """Write a SQL query that repairs the scores of a table where they are.

        Parameters
        ----------
        table : str
            Table to read, as it is written in SQL: ``sales.predictions``, or for
            DuckDB ``'predictions/*.parquet'`` in quotation marks.
        y_score : str
            Name of the column of scores, of floats.
        sensitive_features : str or list of str
            Name of the column of groups; for an intersection several, in the order
            given to `fit`.
        name : str, default="repaired_score"
            Name of the column of repaired scores.
        tol : float in [0, 1], default=0.0
            How far the map may be from that of `transform`, as in `to_frame`. Each of
            its linear pieces is a branch of a ``CASE`` of about 160 characters, and
            engines evaluate one branch after the other: choose 0.001 or so for more
            than a few hundred pieces, or join the table of `to_frame`.
        quote : {'"', "`"}, default='"'
            Quotation mark of names of columns: a double one in standard SQL, a
            backtick in BigQuery, Spark, Databricks and MySQL.

        Returns
        -------
        str
            A query of all columns of the table and of the repaired scores, which are
            those of `transform` up to rounding and `tol`. They are NULL where
            `transform` raises: where a score is NULL, NaN, infinite, or no probability
            by more than rounding if it should be one, or, with
            ``unknown_groups="raise"``, a group is NULL or was absent in `fit`. With
            `calibrate`, scores before it are a column, too, with ``uncalibrated_``
            before its name. Labels are written so that no text of theirs is read as
            SQL.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        TypeError
            If names are no text.
        ValueError
            With ``ties="random"``, which is no map, with several strata (take
            `stratum_repairers_`), if `tol` or `quote` is out of range, if groups are
            intersections of another number of columns, and for labels that are neither
            text, numbers nor booleans.

        Examples
        --------
        >>> from skfair.postprocessing import ScoreRepairer
        >>> repairer = ScoreRepairer(0).fit([0.2, 0.6], sensitive_features=["F", "F"])
        >>> print(repairer.to_sql("loans", y_score="p", sensitive_features="sex"))
        SELECT
          *,
          CASE WHEN "p" >= -1.0e-12 AND "p" <= 1.000000000001e+00 THEN CASE
            WHEN "sex" = 'F' THEN CASE
              WHEN "p" <= 0 THEN 0.0e+00
              WHEN "p" < 1.0e+00 THEN 0.0e+00 + 1.0e+00 * (("p" - 0.0e+00) / 1.0e+00)
              ELSE 1.0e+00
            END
          END END AS "repaired_score"
        FROM loans
        """
        check_choice("quote", quote, ('"', "`"))
        check_names(table, y_score, name)
        expression = write_map(
            self.groups_,
            self._knots(tol),
            y_score,
            sensitive_features,
            quote,
            self.unknown_groups == "pooled",
            self._left_rows_out,
            real=self.scale == "real",
        )
        return write_query(table, name, quote, expression, self.calibrator_)

    def _knots(self, tol: Any) -> list[Knots]:
        """Scores and repaired scores of each group, as few as `tol` allows."""
        check_is_fitted(self)
        real = self.scale == "real"
        tol = check_real("tol", tol, 0, math.inf if real else 1)
        self._check_single()
        if not self._path.moves:
            ends = self._learnt.pooled.scores[[0, -1]]
            return [(ends, ends)] * len(self.groups_)
        if self.ties == "random":
            raise ParameterError(
                "ties", "must be 'mid': 'random' draws repaired scores."
            )
        return [
            thin_knots(cdf.scores, repaired if real else np.clip(repaired, 0, 1), tol)
            for cdf, repaired in zip(self.cdfs_, self.repaired_scores_, strict=True)
        ]

    def _check_single(self) -> None:
        """Raise if there is a map for each of several strata."""
        if self.stratum_repairers_:
            raise ValueError(
                "There is a map for each stratum: take those of "
                "stratum_repairers_[stratum]."
            )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the name of the column that `set_output` makes.

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        ndarray of shape (1,)
            ``["repaired_score"]``.
        """
        return np.array(["repaired_score"], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.positive_only = self.scale == "probability"
        return tags


def check_repair_options(repair: Any, level: Any, default: Any) -> None:
    """Raise unless the parameters that all repairs of scores have are valid.

    `max_mcdp` is None, or given while the level has its default.
    """
    check_choice("ties", repair.ties, ("mid", "random"))
    check_flag("calibrate", repair.calibrate)
    check_choice("unknown_groups", repair.unknown_groups, ("raise", "pooled"))
    max_mcdp, confidence = repair.max_mcdp, repair.confidence
    if confidence is not None:
        check_real(
            "confidence",
            confidence,
            0,
            1,
            closed="neither",
            alternative="None or ",
        )
    if max_mcdp is None:
        if confidence is not None:
            raise ParameterError(
                "confidence", f"is that of max_mcdp, which is None; got {confidence!r}."
            )
        return
    check_real("max_mcdp", max_mcdp, 0, 1, alternative="None or ")
    if level != default:
        raise ParameterError(
            "max_mcdp",
            f"replaces repair_level, got max_mcdp={max_mcdp!r} and repair_level="
            f"{level!r}: leave one of them at its default, None or {default!r}.",
        )


def thinned(arrays: Iterable[Floats]) -> Iterator[Floats]:
    """Yield 4,000 evenly spaced entries of each array, or all if it has fewer."""
    for array in arrays:
        places = np.linspace(0, len(array) - 1, min(len(array), _N_POINTS))
        yield array[places.astype(np.intp)]


def strata_to_repair(
    control_features: Any, n_samples: int, learnt: tuple[Hashable, ...]
) -> Groups:
    """Return the strata of rows to repair, where `fit` has learnt from several."""
    if control_features is None:
        raise ValueError(
            f"control_features is None, expected the stratum of each row: fit has "
            f"repaired several, {labels_text(learnt)}. Strata that are not known "
            "of new rows, such as the true label, must be one in fit, with all "
            "other rows in none: encode_groups(..., missing='drop')."
        )
    return resolve_strata(control_features, n_samples=n_samples)


def check_known_groups(
    argument: str,
    what: str,
    groups: Groups,
    unknown: NDArray[np.bool_],
    known: tuple[Hashable, ...],
) -> None:
    """Raise if the groups or strata of some rows were absent in `fit`."""
    if unknown.any():
        labels: list[Hashable] = [*groups.labels, MISSING_LABEL]
        named, rows = np.unique(groups.codes[unknown]), np.flatnonzero(unknown)
        more = ", ..." if len(rows) > 5 else ""
        raise ValueError(
            f"{argument} has {what} {[labels[code] for code in named]} in {len(rows)} "
            f"rows ({', '.join(map(str, rows[:5]))}{more}), expected those seen in "
            f"fit, {list(known)}. After set_params(unknown_groups='pooled') such rows "
            "keep their scores."
        )
