"""Repair of score distributions, group by group."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import logit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._mitigation import ROUTED, LinkedToSite, keep_comparable, labels_text
from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._columns import drop_columns, positions_of, select_columns
from skfair._utils._validation import (
    ParameterError,
    check_choice,
    check_integer,
    check_real,
    check_scores,
    check_weights,
    scores_on,
)
from skfair._utils._warnings import warn_if_reordered, warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import (
    MISSING_LABEL,
    Groups,
    Selector,
    drop_weightless,
    encode_groups,
    recode,
    resolve_groups,
    resolve_strata,
    rows_by_code,
)
from skfair.metrics._inputs import rows_of_table
from skfair.metrics._quantiles import supremum_quantile
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions

#: Samples that are simulated for an expected gap, and scores at which CDFs are then
#: compared.
_N_DRAWS, _N_POINTS = 300, 4000
#: Heights that are held in memory at once, of all groups together.
_MAX_HEIGHTS = 4_000_000
#: Halvings of the interval that holds the lower edge of the band.
_N_HALVINGS = 50
#: A smoothed CDF is used where it is at most so many 1 / sqrt(n) from the exact one.
_LARGEST_CHANGE = 0.7
#: Points of the grid on which a CDF is smoothed, for each standard deviation of the
#: kernel, and standard deviations at which the kernel ends.
_FINENESS, _REACH = 8, 5
#: In the CDF of a group of so many rows everyone's has the same weight as its own. From
#: `MANY_ROWS_OF_GROUP` on, where it would be 1 %, it has none.
_ROWS_OF_EVERYONE, MANY_ROWS_OF_GROUP = 20, 200
#: Quantiles of everyone at which the CDF of a small group is mixed with theirs.
_N_QUANTILES = 1000
#: Changes of heights and scores below this are rounding.
_HEIGHT_ROUNDING = 1e-9
#: Added to an error about scores outside [0, 1].
_TAKES_ANY = " With scale='real' scores may be any finite numbers."
#: Share of the largest gap by which a certified repair aims lower at least, if ties
#: leave too much: one over this number.
_N_AIMS = 20
#: Scores of one group, and their repaired values, between which the map is linear.
Knots: TypeAlias = tuple[Floats, Floats]


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

    With `control_features` each stratum is repaired by itself, such as each department.
    Strata that are known in `fit` only, such as the true label, must be one: its maps
    hold for all rows. With the positives alone, groups get equal rates of true
    positives at every threshold. Without strata no labels are used: error rates are not
    controlled, and nothing tells whether the groups *should* have similar scores.

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
        ``multigroup="pairwise"``, in the rows given to `fit`. New rows show more, by
        the noise of both, see `expected_mcdp`; `MADDPostProcessor` aims lower by that.
        Scores of groups that are nowhere further apart stay as they are; 0 repairs in
        full, to the mean of the groups' quantile functions. None repairs by
        `repair_level`.
    confidence_level : float in (0, 1) or None, default=None
        Probability with which the true gap, that of infinitely many new rows, is at
        most `max_mcdp`: the gap that is aimed at is smaller by the noise of the rows
        given to `fit`. None aims at `max_mcdp` itself, which the true gap exceeds by
        their noise more often than not.
    ties : {"mid", "random"}, default="mid"
        How to repair rows of a group that share a score, such as those in one leaf of a
        tree: ``"mid"`` keeps them together, at the middle of their step in the CDF;
        ``"random"`` draws a height within the step for each row. Only the latter can
        make the distributions of scores with few distinct values alike.
    scale : {"probability", "real"}, default="probability"
        ``"real"`` takes any finite scores. A score below or above all those seen in
        `fit` is then changed by as much as the least or the largest of them.
        ``max_mcdp`` is in the same unit on both scales: a share of rows.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How `transform` treats rows whose group is missing or was absent in `fit`:
        raise, or use the distribution of everyone as theirs, which leaves their scores
        as they are. It may be set after `fit`. Rows with a missing group are never
        refused if `fit` has left such rows out.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of a table of scores with the groups, several for their intersection, or
        a function of the table that returns the groups. The keyword of the methods is
        used in its place if it is given.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``. An int gives the same draws in every call. A service
        that scores rows one at a time, or in small batches, must use None or a
        RandomState instance, whose draws go on from call to call.

    Attributes
    ----------
    repair_level_ : float or None
        Level of repair; None if `max_mcdp` is given.
    certified_mcdp_ : float or None
        What the true gap is at most, with the probability `confidence_level`: more than
        `max_mcdp` where the rows are too few. None without `confidence_level`.
    groups_ : tuple of length n_groups
        Labels of the groups.
    strata_ : tuple of length n_strata
        Labels of the strata that are repaired; empty without `control_features`.
    stratum_repairers_ : dict
        A fitted `ScoreRepairer` for each of several strata; empty for at most one. The
        CDFs below are theirs then, and empty here.
    cdfs_ : tuple of length n_groups
        CDF of each group, as arrays ``scores``, ``low`` and ``high``: at each distinct
        score the CDF rises from ``low`` to ``high``, in between it is linear. That of a
        group of less than 200 rows is in part everyone's, see the notes.
    pooled_cdf_ : tuple of arrays or None
        The CDF of everyone, in the same form; None with several strata.
    repaired_scores_ : tuple of length n_groups
        Repaired value of each score in ``cdfs_[g].scores``, with ``ties="mid"``.

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

    A CDF of few rows is mostly noise: in that of a group of n rows, fewer than 200,
    everyone's has the weight :math:`1 / (1 + (n / 20)^2)`. A single row is thus
    repaired as everyone is, and 20 rows half as everyone.

    With `max_mcdp` the CDF of a group of n rows is smoothed by a normal kernel in the
    log-odds, whose standard deviation is that of the log-odds times
    :math:`n^{-1/3}`, unless that moves it by more than :math:`0.7 / \sqrt{n}`, as
    where many rows share scores. At each score all CDFs are clipped to a band
    ``[u, u + max_mcdp]``, whose lower edge u keeps their mean, by weight, as it was.
    The scores :math:`F_g^{-1}(G_g(x))` of the clipped CDFs :math:`G_g` are repaired to
    one value, their mean by weight: with ``max_mcdp=0`` the barycentre of the groups'
    distributions [2]_.

    Confidence: the difference of the CDFs of two groups of n and m rows is within
    :math:`q \sqrt{1 / n + 1 / m}` of the true one at the level `confidence_level`,
    where :math:`q = \sqrt{\log(2 / \alpha) / 2}` is the bound of Dvoretzky, Kiefer,
    Wolfowitz and Massart and alpha is ``1 - confidence_level``, shared by all pairs of
    groups. An increasing map of each group changes nothing of that. The gap aimed at is
    smaller than `max_mcdp` by this noise of the two smallest groups, and by a row of
    each; CDFs are not smoothed.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Equations 11 to 14.
    .. [2] Chzhen, Denis, Hebiri, Oneto, Pontil. "Fair Regression with Wasserstein
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

    In a pipeline, behind a classifier that was fitted to other rows:

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from skfair.datasets import make_biased_classification
    >>> X, y = make_biased_classification(
    ...     4000, score_shifts={"group": {"b": 1.0}}, random_state=0
    ... )
    >>> def scores_and_groups(X, model):
    ...     scores = model.predict_proba(X.drop(columns="group"))[:, 1]
    ...     return pd.DataFrame({"score": scores, "group": X["group"]})
    >>> model = LogisticRegression().fit(X[:2000].drop(columns="group"), y[:2000])
    >>> fair = make_pipeline(
    ...     FunctionTransformer(scores_and_groups, kw_args={"model": model}),
    ...     ScoreRepairer(sensitive_features="group"),
    ... )
    >>> fair.fit_transform(X[2000:]).shape
    (2000, 1)

    Salaries that a regressor predicts:

    >>> salaries, sex = [30.0, 34.0, 42.0, 50.0] * 50, ["F", "F", "M", "M"] * 50
    >>> repairer = ScoreRepairer(scale="real", max_mcdp=0)
    >>> fair = repairer.fit_transform(salaries, sensitive_features=sex)
    >>> [round(float(salary)) for salary in fair[:4]]
    [36, 42, 36, 42]
    """

    __metadata_request__fit: ClassVar = ROUTED
    __metadata_request__transform: ClassVar = ROUTED

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        max_mcdp: float | None = None,
        confidence_level: float | None = None,
        ties: Literal["mid", "random"] = "mid",
        scale: Literal["probability", "real"] = "probability",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        sensitive_features: Selector | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.repair_level = repair_level
        self.max_mcdp = max_mcdp
        self.confidence_level = confidence_level
        self.ties = ties
        self.scale = scale
        self.unknown_groups = unknown_groups
        self.sensitive_features = sensitive_features
        self.random_state = random_state

    def fit(
        self,
        scores: ArrayLike | CountTable,
        y: Any = None,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the score distributions.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, 1), a dataframe, or \
CountTable
            Probabilities of the positive class, in [0, 1], or with ``scale="real"`` any
            finite numbers, on rows that the model was not trained on: its scores on
            training rows are distributed differently. A dataframe has one column beside
            those that the parameter `sensitive_features` names. A `CountTable` of such
            rows takes the place of all other arguments, which must be None. It gives
            the map that the rows give, and with scores in bins one between whose knots,
            the least and the largest score of each bin and group, scores are taken to
            be spread evenly.
        y : object, default=None
            Ignored.
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
            range, `max_mcdp` beside a level, if no stratum has two groups, or on other
            arguments beside a `CountTable`.

        Warns
        -----
        UserWarning
            If strata without two groups are left out: their scores stay as they are.
        skfair.exceptions.MitigationWarning
            If rows are too few, or share too many scores, for `max_mcdp` to hold with
            the probability `confidence_level`.
        """
        warn_if_reordered(
            scores=scores,
            y=y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        self._check_parameters()
        table = rows_of_table(
            scores,
            takes_strata=True,
            y=y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        if table is not None:
            if not len(table):
                raise ValueError("scores is a table of 0 people, expected some.")
            rows = spread_in_bins(table) if table.n_bins else table
            self._learn_rows(replace(rows, y_pred=self._check_scores(rows.y_pred)))
        else:
            values = self._check_scores(self._scores_in(scores, reset=True))
            groups = resolve_groups(
                sensitive_features,
                n_samples=len(values),
                X=scores,
                selector=self.sensitive_features,
            )
            strata = None
            if control_features is not None:
                strata = resolve_strata(control_features, n_samples=len(values))
            weights = check_weights(sample_weight, len(values))
            if strata is None:
                drop_weightless(values, groups, weights)  # refuses groups of no weight
            rows = Rows(groups, strata, y_pred=values + 0.0, weight=weights)
            self._learn_rows(rows)  # without negative zeros
        self._warn_of_gap(self)
        return self

    def _warn_of_gap(self, repair: Any) -> None:
        """Warn if the gap is not below `max_mcdp` at the level `confidence_level`.

        The warning begins with the name of `repair`, the estimator of the user.
        """
        certified, asked = self.certified_mcdp_, self.max_mcdp
        if certified is not None and asked is not None and certified > asked:
            warn_user(
                f"{type(repair).__name__}: max_mcdp={asked:g} does not hold with "
                f"confidence_level={self.confidence_level:g}: the true gap is at most "
                f"{certified:.3f} with this probability, because rows are "
                "few or share scores. Give more rows, or ties='random' where scores "
                "are shared.",
                MitigationWarning,
            )

    def _learn_rows(self, rows: Rows, warn: bool = True) -> None:
        """Learn from rows; with `warn` tell which strata and groups are left out."""
        left_rows_out, strata = bool((rows.groups.codes < 0).any()), rows.strata
        if strata is None:
            self._learn_statistic(distributions(rows))
        else:
            groups, compared = keep_comparable(rows.groups, strata, rows.weight, warn)
            assert compared is not None
            rows = replace(rows, groups=groups)
            statistics = [
                distributions(rows[own]) for own in rows_by_code(compared.codes)
            ]
            if len(strata.labels) == 1:
                self._learn_statistic(statistics[0]).strata_ = compared.labels
            else:
                self._learn_strata(groups.labels, compared.labels, statistics)
            present = {strata.labels[code] for code in np.flatnonzero(strata.sizes())}
            self._left_out: set[Hashable] = present.difference(self.strata_)
        self._left_rows_out = left_rows_out

    def _learn_statistic(self, statistic: Distributions) -> Self:
        """Learn from the scores of the groups."""
        ends = ends_of(self.scale, statistic.scores)
        # Certificates hold for exact CDFs.
        smooth = self.max_mcdp is not None and self.confidence_level is None
        smooth &= self.scale == "probability"
        return self._learn(
            GroupCDFs.from_statistic(statistic, ends=ends, smooth=smooth)
        )

    def _learn(self, learnt: GroupCDFs) -> Self:
        """Learn from the CDFs of the groups."""
        self.groups_, self._learnt, self._left_rows_out = learnt.labels, learnt, False
        self.strata_: tuple[Hashable, ...] = ()
        self.stratum_repairers_: dict[Hashable, ScoreRepairer] = {}
        self.cdfs_: tuple[LinearCDF, ...] = learnt.cdfs
        self.pooled_cdf_: LinearCDF | None = learnt.pooled
        self.repair_level_ = None
        if self.max_mcdp is None:
            self.repair_level_ = float(self.repair_level)
            self._path = learnt.move_towards_pooled(self.repair_level_)
        else:
            self._path = learnt.clip_to_band(self.max_mcdp)
        self._set_repaired_scores()
        self.certified_mcdp_: float | None = None
        if self.max_mcdp is not None and self.confidence_level is not None:
            self._certify(self.max_mcdp, 1 - self.confidence_level)
        return self

    def _set_repaired_scores(self) -> None:
        """Repair the scores of the knots of each group's CDF."""
        self.repaired_scores_: tuple[Floats, ...] = tuple(
            self._learnt.repaired_at(self._path, group, cdf.middle)
            for group, cdf in enumerate(self.cdfs_)
        )

    def _certify(self, max_mcdp: float, level: float) -> None:
        """Return the aim that leaves room for noise and shared scores.

        Increasing maps keep the heights of the CDFs, so that any of them may be chosen
        by the same rows.
        """
        noise, rows = self._learnt.noise(level)
        aim = max(0.0, max_mcdp - noise - rows)
        while True:
            self._path = self._learnt.clip_to_band(aim)
            self._set_repaired_scores()
            left = float(np.ptp(self._cdfs_after(), axis=0).max())
            excess = left + noise - max_mcdp
            if excess <= 0 or aim == 0:
                break
            aim = max(0.0, aim - max(excess, max_mcdp / _N_AIMS))
        self.certified_mcdp_ = min(1.0, left + noise)

    def _cdfs_after(self) -> Floats:
        """Return CDFs of repaired scores, one row a group, at many scores."""
        own = self._learnt.own
        if self.ties == "random":
            each = zip(own, self.cdfs_, self._learnt.heights(), strict=True)
            return np.stack(
                [
                    thinned(rows.heights_at(cdf, self._path.target(heights)))
                    for rows, cdf, heights in each
                ]
            )
        points = thinned(np.unique(np.concatenate(self.repaired_scores_)))
        heights = []
        every = zip(own, self.cdfs_, self.repaired_scores_, strict=True)
        for rows, cdf, repaired in every:
            places = np.searchsorted(repaired, points, "right")
            heights.append(np.append(0.0, rows.evaluate(cdf.scores))[places])
        return np.stack(heights)

    def _learn_strata(
        self,
        groups: tuple[Hashable, ...],
        strata: tuple[Hashable, ...],
        statistics: list[Distributions],
    ) -> None:
        """Learn from each of several strata by itself."""
        self.groups_, self.strata_, self._left_rows_out = groups, strata, False
        # All strata together have the confidence asked for.
        options: dict[str, Any] = {}
        if self.confidence_level is not None:
            options["confidence_level"] = 1 - (1 - self.confidence_level) / len(strata)
        self.stratum_repairers_ = {
            label: clone(self).set_params(**options)._learn_statistic(own)
            for label, own in zip(strata, statistics, strict=True)
        }
        self.repair_level_ = None if self.max_mcdp is not None else self.repair_level
        self.cdfs_, self.repaired_scores_, self.pooled_cdf_ = (), (), None
        self.certified_mcdp_ = None
        if self.confidence_level is not None:
            repairers = self.stratum_repairers_.values()
            self.certified_mcdp_ = max(own.certified_mcdp_ or 0.0 for own in repairers)

    def _scores_in(self, table: Any, *, reset: bool) -> Any:
        """Return scores, from the column of a table that holds no groups."""
        if not hasattr(table, "shape"):
            table = np.asarray(table)
        if len(table.shape) != 2:
            return table
        validate_data(self, table, reset=reset, skip_check_array=True)
        selector, rest = self.sensitive_features, table
        if selector is not None and not callable(selector):
            rest = drop_columns(table, positions_of(table, selector))
        if rest.shape[1] != 1:
            raise ValueError(
                f"scores has {rest.shape[1]} columns beside those that "
                f"sensitive_features={selector!r} names, expected one column of scores."
            )
        return select_columns(rest, 0, "scores")

    def _check_scores(self, scores: Any) -> Floats:
        """Return scores as floats that are on the scale."""
        if self.scale == "real":
            return scores_on("real", scores, "scores")
        return check_scores(scores, "scores", _TAKES_ANY)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_choice("scale", self.scale, ("probability", "real"))
        level = check_real("repair_level", self.repair_level, 0, 1)
        check_repair_options(self, level, default=1)
        if self.confidence_level is not None:
            name, value = "confidence_level", self.confidence_level
            check_real(name, value, 0, 1, closed="neither", alternative="None or ")
            if self.max_mcdp is None:
                raise ParameterError(
                    name, f"is that of max_mcdp, which is None; got {value!r}."
                )

    def transform(
        self,
        scores: ArrayLike,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> Floats:
        """Repair scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, 1), or a table
            Scores in [0, 1], or any finite ones with ``scale="real"``. A table has one
            column beside those that the parameter `sensitive_features` names.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row, needed if `fit` has repaired several. The maps of a
            single stratum hold for all rows.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, 1) of a column or a table
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
        warn_if_reordered(
            scores=scores,
            sensitive_features=sensitive_features,
            control_features=control_features,
        )
        check_is_fitted(self)
        values = self._check_scores(self._scores_in(scores, reset=False))
        if sensitive_features is None and self.sensitive_features is not None:
            sensitive_features = select_columns(scores, self.sensitive_features)
        groups, strata = self._read_groups(
            sensitive_features, control_features, len(values), self.unknown_groups
        )
        repaired = self._repair(values, groups, strata)
        return repaired if np.ndim(scores) == 1 else repaired[:, None]

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
        fitted: list[tuple[Any, ...]] = [
            ("sensitive_features", "groups", groups, self.groups_, ())
        ]
        if strata is not None and self.stratum_repairers_:
            left_out = tuple(self._left_out)
            entry = ("control_features", "strata", strata, self.strata_, left_out)
            fitted.append(entry)
        for argument, what, codes_of, labels, others in fitted:
            unknown = recode(codes_of.codes, codes_of.labels, labels + others) < 0
            if codes_of is groups and self._left_rows_out:
                unknown &= groups.codes >= 0
            if not unknown.any():
                continue
            every = [*codes_of.labels, MISSING_LABEL]
            named = [every[code] for code in np.unique(codes_of.codes[unknown])]
            rows = np.flatnonzero(unknown)
            more = ", ..." if len(rows) > 5 else ""
            raise ValueError(
                f"{argument} has {what} {named} in {len(rows)} rows "
                f"({', '.join(map(str, rows[:5]))}{more}), expected those seen in fit, "
                f"{list(labels)}. After set_params(unknown_groups='pooled') such rows "
                "keep their scores."
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
                heights = cdf.heights_of(seen, random.uniform(size=len(seen)))
                moved = self._learnt.repaired_at(self._path, group, heights)
            else:
                moved = interpolate(seen, cdf.scores, self.repaired_scores_[group])
            repaired[rows] = moved + (values[rows] - seen)
        if self.scale == "probability":
            np.clip(repaired, 0, 1, out=repaired)
        return repaired

    def fit_transform(
        self,
        scores: ArrayLike,
        y: Any = None,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Floats:
        """Learn the score distributions and repair the same scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, 1), or a table
            Scores in [0, 1], or any finite ones with ``scale="real"``. A table has one
            column beside those that the parameter `sensitive_features` names.
        y : object, default=None
            Ignored.
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
        ndarray of shape (n_samples,), or (n_samples, 1) of a column or a table
            Repaired scores, in [0, 1] for probabilities.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        labels = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
        }
        self.fit(scores, y, **labels, sample_weight=sample_weight)
        return self.transform(scores, **labels)

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
        >>> _, y_score, group = make_biased_scores(2000, random_state=0)
        >>> repairer = ScoreRepairer(max_mcdp=0.1).fit(
        ...     y_score, sensitive_features=group
        ... )
        >>> for n_samples in (400, 4000, 400_000):
        ...     print(round(repairer.expected_mcdp(n_samples), 2))
        0.17
        0.13
        0.13
        """
        check_is_fitted(self)
        self._check_single()
        sizes = self._sizes_of(n_samples)
        heights = self._cdfs_after()
        steps = np.diff(heights, axis=1, prepend=0.0, append=1.0).clip(0)
        scale = np.sqrt(1 / self._learnt.n_rows + 1 / sizes)
        random, gaps = np.random.default_rng(0), []
        for _ in range(_N_DRAWS):
            walk = np.cumsum(np.sqrt(steps) * random.standard_normal(steps.shape), 1)
            bridge = walk[:, :-1] - heights * walk[:, -1:]
            gaps.append(np.ptp(heights + scale[:, None] * bridge, axis=0).max())
        return float(min(1.0, np.mean(gaps)))

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
            score_from) * (repaired_to - repaired_from)``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            With ``ties="random"``, which draws repaired scores, with several strata
            (take `stratum_repairers_`), or if `tol` is out of range.

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
        knots, columns = self._knots(tol), labels_by_column(self.groups_)
        names = [f"group_{i}" for i in range(len(columns))]
        table = pd.DataFrame(
            dict(zip(names if len(names) > 1 else ["group"], columns, strict=True))
        )
        n_pieces = [len(x) - 1 for x, _ in knots]
        table = table.iloc[np.repeat(np.arange(len(knots)), n_pieces)]
        for part, name in enumerate(("score", "repaired")):
            values = [of_group[part] for of_group in knots]
            table[f"{name}_from"] = np.concatenate([ends[:-1] for ends in values])
            table[f"{name}_to"] = np.concatenate([ends[1:] for ends in values])
        return table.reset_index(drop=True)

    def _knots(self, tol: Any) -> list[Knots]:
        """Return scores and repaired scores of each group, as few as `tol` allows."""
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
    check_choice("unknown_groups", repair.unknown_groups, ("raise", "pooled"))
    max_mcdp = repair.max_mcdp
    if max_mcdp is None:
        return
    check_real("max_mcdp", max_mcdp, 0, 1, alternative="None or ")
    if level != default:
        raise ParameterError(
            "max_mcdp",
            f"replaces repair_level, got max_mcdp={max_mcdp!r} and repair_level="
            f"{level!r}: leave one of them at its default, None or {default!r}.",
        )


def thinned(values: Floats) -> Floats:
    """Return 4,000 evenly spaced entries of an array, or all if it has fewer."""
    places = np.linspace(0, len(values) - 1, min(len(values), _N_POINTS))
    return values[places.astype(np.intp)]


def labels_by_column(groups: tuple[Hashable, ...]) -> list[tuple[Any, ...]]:
    """Return the labels by column: those of an intersection are tuples."""
    if all(isinstance(label, tuple) for label in groups):
        return list(zip(*groups, strict=True))
    return [groups]


def thin_knots(scores: Floats, repaired: Floats, tol: float) -> Knots:
    """Leave knots out of an increasing map that then changes by `tol` at most.

    At most ``2 / tol + 1`` pieces are left: two in a row rise by more than `tol`.
    """
    if not tol:
        return scores, repaired
    x, y = scores.tolist(), repaired.tolist()
    knots_left, start, last = [0], 0, len(x) - 1
    while start < last:
        # Slopes of the lines from the start that miss no knot so far by more than tol.
        least, largest = -math.inf, math.inf
        end = knot = start + 1
        while knot <= last and least <= largest:
            width, rise = x[knot] - x[start], y[knot] - y[start]
            if least <= rise / width <= largest:
                end = knot
            least = max(least, (rise - tol) / width)
            largest = min(largest, (rise + tol) / width)
            knot += 1
        knots_left.append(end)
        start = end
    return scores[knots_left], repaired[knots_left]


def strata_to_repair(
    control_features: ArrayLike | None, n_samples: int, learnt: tuple[Hashable, ...]
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


def share_of_own(n_rows: float) -> float:
    """Return the weight of a group's own rows in its mixed CDF."""
    if n_rows >= MANY_ROWS_OF_GROUP:
        return 1.0
    return float(n_rows**2 / (n_rows**2 + _ROWS_OF_EVERYONE**2))


class LinearCDF(NamedTuple):
    """CDF that is piecewise linear between two ends, with a knot at each score.

    It rises from 0 at the lower end to 1 at the upper end, which are 0 and 1 for
    probabilities, else the least and the largest score of everyone. The i-th of n rows,
    in order, has the height (i - 1/2) / n; rows that share a score make a vertical step
    there, from `low` to `high`, which are equal for one row.
    """

    scores: Floats
    low: Floats
    high: Floats

    @classmethod
    def from_statistic(
        cls,
        statistic: Distributions,
        group: int | None,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> Self:
        """Return the CDF of a group that has rows, or of everyone."""
        scores, weights = statistic.select_group(group)
        part = slice(None) if group is None else group
        total = statistic.totals[part].sum()
        count = row_counts(statistic)[part].sum()
        shares = weights / total
        upper = np.cumsum(weights) / total
        half_row = np.minimum(shares, 1 / count) / 2
        high = np.clip(upper - half_row, 0, 1)
        # Rounding must not make a step, up or down, of a single row.
        low = np.where(shares > 2 * half_row, upper - shares + half_row, high)
        low = np.clip(low, 0, high)
        # The half rows at both ends are interpolated up to heights of 0 and 1 there.
        if scores[0] > ends[0]:
            low, high = np.append(0.0, low), np.append(0.0, high)
            scores = np.append(ends[0], scores)
        if scores[-1] < ends[1]:
            low, high = np.append(low, 1.0), np.append(high, 1.0)
            scores = np.append(scores, ends[1])
        return cls(scores, low, high)

    @property
    def middle(self) -> Floats:
        """Mid-distribution: one height for all rows that share a score."""
        return (self.low + self.high) / 2

    @property
    def ends(self) -> Floats:
        """Heights of the lower and the upper end of each step, one after the other."""
        return np.stack([self.low, self.high], axis=1).ravel()

    def evaluate(self, scores: Floats) -> Floats:
        """Return heights of the CDF at scores; at a knot, the upper end of the step."""
        return interpolate(scores, np.repeat(self.scores, 2), self.ends)

    def ends_at(self, scores: Floats, upper: NDArray[np.bool_]) -> Floats:
        """Return heights at scores, of the upper or lower end of a step."""
        heights = self.evaluate(scores)
        knots = np.searchsorted(self.scores, scores)
        lower = (self.scores[knots] == scores) & ~upper
        heights[lower] = self.low[knots[lower]]
        return heights

    def scores_at(self, heights: Floats) -> Floats:
        """Return the scores at which the CDF has some heights."""
        return np.interp(heights, self.ends, np.repeat(self.scores, 2))

    def heights_of(self, scores: Floats, draws: Floats | float | None) -> Floats:
        """Return heights of scores, within a step drawn or in the middle."""
        knots = np.searchsorted(self.scores, scores)
        low, high = self.low[knots], self.high[knots]
        heights = (low + high) / 2 if draws is None else low + draws * (high - low)
        between = np.flatnonzero(self.scores[knots] != scores)
        heights[between] = self.evaluate(scores[between])
        return heights

    def heights_at(self, learnt: LinearCDF, heights: Floats) -> Floats:
        """Return heights of this CDF where a learnt CDF has given heights.

        Rows that share a score are spread over the learnt step.
        """
        if learnt is self:
            return heights
        upper = np.ones(len(self.scores), dtype=bool)
        ends = [learnt.ends_at(self.scores, end) for end in (~upper, upper)]
        return np.interp(heights, np.stack(ends, axis=1).ravel(), self.ends)

    def mixed_with(self, pooled: LinearCDF, share: float) -> LinearCDF:
        """Mix this CDF with that of everyone, at some quantiles."""
        if share == 1:
            return self
        levels = np.linspace(0, 1, _N_QUANTILES + 1)
        kept = np.searchsorted(pooled.high, levels).clip(max=len(pooled.scores) - 1)
        scores = np.union1d(self.scores, pooled.scores[kept])
        low, high = (
            share * self.ends_at(scores, upper)
            + (1 - share) * pooled.ends_at(scores, upper)
            for upper in np.array([[False], [True]])
        )
        return LinearCDF(scores, low, high)

    def heights_at_knots(self, pooled: LinearCDF) -> Floats:
        """Return the heights at the ends of all steps of the CDF of everyone, in order.

        `pooled` must have knots at all scores of `self`.
        """
        high = self.evaluate(pooled.scores)
        low = high.copy()
        low[np.searchsorted(pooled.scores, self.scores)] = self.low
        return np.stack([low, high], axis=1).ravel()

    def smoothed(self, statistic: Distributions, group: int) -> LinearCDF:
        """Return CDF of the same rows, smoothed by a normal kernel in their log-odds.

        The kernel's standard deviation is that of the n log-odds, times n^(-1/3). The
        CDF is returned as it is where smoothing moves it by more than sampling noise:
        then many rows share a score, or the density is too uneven for this kernel.
        """
        scores, weights = statistic.select_group(group)
        log_odds = logit(np.clip(scores, 1e-9, 1 - 1e-9))
        n_rows, shares = row_counts(statistic)[group], weights / weights.sum()
        variance = shares @ (log_odds - shares @ log_odds) ** 2
        step = np.sqrt(variance) * n_rows ** (-1 / 3) / _FINENESS
        if not step > 0:
            return self
        # Each row is split between the two points of the grid that are next to it.
        places = (log_odds - log_odds[0]) / step + _FINENESS * _REACH
        left = np.floor(places).astype(np.intp)
        size = left[-1] + _FINENESS * _REACH + 2
        right_share = shares * (places - left)
        at_points = np.bincount(left, shares - right_share, size)
        at_points += np.bincount(left + 1, right_share, size)
        heights = gaussian_filter1d(
            np.cumsum(at_points) - at_points / 2, _FINENESS, mode="nearest"
        )
        own = np.searchsorted(self.scores, scores)
        smooth = np.clip(np.interp(places, np.arange(size), heights), 0, 1)
        change = np.maximum(smooth - self.low[own], self.high[own] - smooth).max()
        if change > _LARGEST_CHANGE / np.sqrt(n_rows):
            return self
        middle = self.middle
        middle[own] = smooth
        return LinearCDF(self.scores, middle, middle)


class GroupCDFs(NamedTuple):
    """CDFs of the groups that have rows, and of everyone.

    `own` are the CDFs of the groups' rows, of which `cdfs` may be smoothed. `shares`
    are the groups' shares of the weight, `n_rows` their numbers of rows.
    """

    labels: tuple[Hashable, ...]
    cdfs: tuple[LinearCDF, ...]
    own: tuple[LinearCDF, ...]
    pooled: LinearCDF
    shares: Floats
    n_rows: NDArray[Any]

    @classmethod
    def from_statistic(
        cls,
        statistic: Distributions,
        ends: tuple[float, float] = (0.0, 1.0),
        *,
        smooth: bool = False,
        sizes: NDArray[Any] | None = None,
    ) -> Self:
        """Return the CDFs of the groups, smoothed if that is asked for.

        A small group's is mixed with everyone's by its number of rows, or that in
        `sizes`.
        """
        pooled = LinearCDF.from_statistic(statistic, None, ends)
        present = np.flatnonzero(statistic.counts)
        labels, own, cdfs = [], [], []
        n_rows = row_counts(statistic)[present]
        sizes = n_rows if sizes is None else sizes
        for group, size in zip(present.tolist(), sizes.tolist(), strict=True):
            cdf = LinearCDF.from_statistic(statistic, group, ends)
            labels.append(statistic.labels[group])
            own.append(cdf)
            cdf = cdf.smoothed(statistic, group) if smooth else cdf
            cdfs.append(cdf.mixed_with(pooled, share_of_own(size)))
        shares = statistic.totals[present] / statistic.totals.sum()
        return cls(tuple(labels), tuple(cdfs), tuple(own), pooled, shares, n_rows)

    def distances(self) -> Floats:
        """Return the largest distance of each group's own CDF from that of everyone."""
        ends, pooled = self.pooled.ends, self.pooled
        gaps = [np.abs(cdf.heights_at_knots(pooled) - ends).max() for cdf in self.own]
        return np.array(gaps)

    def heights(self) -> Iterator[Floats]:
        """Return heights of each CDF in turn at the knots of the pooled one."""
        return (cdf.heights_at_knots(self.pooled) for cdf in self.cdfs)

    def mean_scores(self, heights: Floats) -> Floats:
        """Return the mean score of the groups at each height, by share."""
        first = self.cdfs[0].scores_at(heights[0])
        mean = first.copy()
        for cdf, share, row in zip(self.cdfs, self.shares, heights, strict=True):
            # The mean of equal scores must not be rounded.
            mean += share * (cdf.scores_at(row) - first)
        return mean

    def noise(self, level: float) -> tuple[float, float]:
        """Return the quantile of the noise of a gap of two groups.

        It is that of the two smallest groups, at a level for all pairs together. The
        second number is the sum of the shares of one row in these two groups.
        """
        inverse_sizes = np.sort(1 / self.n_rows)[-2:]
        n_pairs = max(1, len(self.cdfs) * (len(self.cdfs) - 1) // 2)
        quantile = supremum_quantile(level / n_pairs)
        return float(quantile * np.sqrt(inverse_sizes.sum())), float(
            inverse_sizes.sum()
        )

    def largest_gap(self) -> float:
        """Return the largest distance between the CDFs of two groups."""
        lowest, highest = self.range()
        return float((highest - lowest).max())

    def range(self) -> tuple[Floats, Floats]:
        """Return the least and largest height at each knot of the pooled CDF."""
        lowest = np.full(2 * len(self.pooled.scores), np.inf)
        highest = -lowest
        for heights in self.heights():
            np.minimum(lowest, heights, out=lowest)
            np.maximum(highest, heights, out=highest)
        return lowest, highest

    def move_towards_pooled(self, level: float) -> Path:
        """Return the path of the paper: targets ``(1 - level) * F_g + level * F``."""
        target = partial(mixed, level, self.pooled.ends)
        return Path(target, np.repeat(self.pooled.scores, 2), level != 0)

    def clip_to_band(self, max_mcdp: float) -> Path:
        """Return the targets ``clip(F_g, lowest, lowest + max_mcdp)``.

        Where no CDF is outside of the band, which is then infinitely wide, nothing
        moves.
        """
        lowest, highest = self.range()
        gaps = highest - lowest
        outside = np.flatnonzero(gaps - max_mcdp > _HEIGHT_ROUNDING * gaps)
        widths = np.full(len(gaps), np.inf)
        scores = np.repeat(self.pooled.scores, 2)
        n_parts = 1 + len(self.cdfs) * len(outside) // _MAX_HEIGHTS
        for knots in np.array_split(outside, n_parts):
            every = np.stack([heights[knots] for heights in self.heights()])
            part = self.band_at(scores[knots], every, max_mcdp)
            lowest[knots], scores[knots] = part
            widths[knots] = max_mcdp
        # Rounding must not make the scores fall.
        np.maximum.accumulate(scores, out=scores)
        return Path(partial(clipped, lowest, widths), scores, len(outside) > 0)

    def band_at(
        self, scores: Floats, heights: Floats, max_mcdp: Any
    ) -> tuple[Floats, Floats]:
        """Return lower edge of the band at some scores, and the repaired scores there.

        The CDF of each group has a row of heights. The mean of all targets, by weight,
        is the mean of the CDFs. A repaired score is the mean of the groups' own scores
        at their targets, which is the score where no CDF is clipped.
        """
        lowest = lowest_of_band(heights, self.shares, max_mcdp)
        mean = self.mean_scores(clipped(lowest, max_mcdp, heights))
        # Scores that stay, such as those that rows share, stay to the last digit: they
        # may be thresholds.
        low, high = self.pooled.scores[[0, -1]]
        rounding = _HEIGHT_ROUNDING * np.minimum(scores - low, high - scores)
        stays = np.abs(mean - scores) <= rounding
        return lowest, np.where(stays, scores, mean)

    def repaired_at(self, path: Path, group: int, heights: Floats) -> Floats:
        """Return the scores at which a group's target has given heights."""
        knots = path.target(self.cdfs[group].heights_at_knots(self.pooled))
        # Rounding must not make the target fall.
        np.maximum.accumulate(knots, out=knots)
        return np.interp(heights, knots, path.scores)


class Path(NamedTuple):
    """Repair of each group's CDF at one strength.

    `target` turns its heights at the knots of the CDF of everyone into those of its
    target, which are at `scores`. `moves` says whether any score is changed.
    """

    target: Callable[[Any], Any]
    scores: Floats
    moves: bool


def mixed(level: Any, pooled: Any, heights: Any) -> Any:
    """Return the heights of a target between those of a group and of everyone."""
    return (1 - level) * heights + level * pooled


def clipped(lowest: Any, width: Any, heights: Any) -> Any:
    """Return the heights of a target that stays within a band."""
    return np.clip(heights, lowest, lowest + width)


def lowest_of_band(heights: Floats, shares: Floats, width: Any) -> Floats:
    """Return the lower edge of the band to which CDFs are clipped.

    `heights` has shape (n_groups, n_knots); `width` may differ from knot to knot. The
    mean of the clipped heights, by share, is that of the heights.
    """
    low = fitting = heights.min(axis=0)
    high = heights.max(axis=0) - width
    outside, mean = high > low, shares @ heights
    if len(heights) == 2:
        higher = np.where(heights[0] > heights[1], *shares)
        return np.asarray(np.where(outside, mean - higher * width, fitting))
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        below = shares @ np.clip(heights, middle, middle + width) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(outside, (low + high) / 2, fitting))


def interpolate(scores: Floats, knots: Floats, values: Floats) -> Floats:
    """Interpolate linearly between scores that may be subnormal numbers."""
    # Slopes between them would overflow; scaling by 2**100 is exact.
    return np.interp(scores * 2.0**100, knots * 2.0**100, values)


def ends_of(scale: str, scores: Floats) -> tuple[float, float]:
    """Return the ends of the CDFs of scores; beyond them maps have slope 1."""
    if scale == "probability":
        return 0.0, 1.0
    return float(scores.min()), float(scores.max())


def spread_in_bins(cells: Rows) -> Rows:
    """Spread the people of each bin between its least and largest score.

    One has each of these scores, as far as there are people; all others lie in the
    middle of the two.
    """
    n = np.ones(len(cells), np.int64) if cells.n is None else cells.n
    low, high, weights = cells.low, cells.high, cells.weight
    assert low is not None
    assert high is not None
    several = low < high
    first = np.where(several, 1, n)
    middle = np.where(several & (n > 2), n - 2, 0)
    parts = np.concatenate([first, middle, n - first - middle])
    if weights is not None:
        # Of one person; whole weights stay whole.
        share = weights // n if weights.dtype.kind == "i" else weights / n
        first = np.where(several, share, weights)
        middle = np.where(several & (n > 2), weights - 2 * share, 0)
        weights = np.concatenate([first, middle, weights - first - middle])
    groups = replace(cells.groups, codes=np.tile(cells.groups.codes, 3))
    scores = np.concatenate([low, (low + high) / 2, high])
    rows = Rows(groups, y_pred=scores, n=parts, weight=weights)
    return rows[np.flatnonzero(parts)]


def distributions(rows: Rows) -> Distributions:
    """Return score distributions of groups, from rows with a weight.

    Whole weights count rows in a fit.
    """
    if rows.weight is not None and not rows.weight.all():
        rows = rows[rows.weight > 0]
    statistic = Distributions.from_rows(rows)
    if statistic.weights.dtype.kind == "i":
        statistic = replace(statistic, squares=statistic.totals)
    return statistic


def tied_shares(statistic: Distributions) -> Floats:
    """Return the share of its group that has the score of each entry."""
    shares = statistic.weights / statistic.totals[statistic.codes]
    one_row = 1 / row_counts(statistic)[statistic.codes]
    return np.where(shares > one_row, shares, 0)


def row_counts(statistic: Distributions) -> NDArray[Any]:
    """Return the rows of each group; whole weights count rows."""
    whole = statistic.weights.dtype.kind == "i"
    return statistic.totals if whole else statistic.counts


def has_ties(statistic: Distributions) -> bool:
    """Return whether more rows of a group share a score than sampling noise can hide.

    Such ties displace the group's CDF by their share of its n rows, sampling by about
    ``1 / sqrt(n)``.
    """
    limits = 1 / np.sqrt(np.maximum(row_counts(statistic), 1))
    return bool((tied_shares(statistic) > limits[statistic.codes]).any())
