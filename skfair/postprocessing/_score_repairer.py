"""Repair of score distributions, group by group."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair._mitigation import ROUTED, LinkedToSite
from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._columns import drop_columns, find_positions, select_columns
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
    Selector,
    check_groups_have_weight,
    resolve_groups,
    resolve_strata,
)
from skfair.metrics._inputs import rows_of_table
from skfair.postprocessing._repair_map import (
    RepairMap,
    check_max_mcdp,
    check_ties_and_unknown_groups,
    labels_by_column,
)
from skfair.postprocessing._stratum_map import StratumMap
from skfair.statistics import CountTable

#: Added to an error about scores outside [0, 1].
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

    With `max_mcdp` the distance between CDFs is limited instead: the nearer two CDFs
    are, the less they move, see the notes. The largest distance between two groups,
    MCDP(0), then is `max_mcdp` up to sampling noise, at a smaller loss of performance
    than by a level.

    With `control_features` each stratum, such as each department, is repaired by
    itself. If strata are known in `fit` only, as true labels are, there must be a
    single stratum, whose maps hold for all rows. With the positives alone, groups get
    equal rates of true positives at every threshold. Without strata no labels are used:
    error rates are not controlled, and nothing tells whether the groups *should* have
    similar scores.

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
        ``multigroup="pairwise"``, in the rows given to `fit`. New rows show a larger
        distance, by the noise of both sets of rows, see `expected_mcdp`;
        `MADDPostProcessor` aims lower by that. Scores of groups that are nowhere
        further apart stay as they are; 0 repairs in full, to the mean of the groups'
        quantile functions. None repairs by `repair_level`.
    confidence_level : float in (0, 1) or None, default=None
        Probability with which the true gap, of infinitely many new rows, is at most
        `max_mcdp`: the gap that is aimed at is smaller by the noise of the rows given
        to `fit`. None aims at `max_mcdp` itself, which the true gap then exceeds more
        often than not, by the noise of these rows.
    ties : {"mid", "random"}, default="mid"
        How to repair rows of a group that share a score, such as those in one leaf of a
        tree: ``"mid"`` keeps them together, at the middle of their step in the CDF;
        ``"random"`` draws a height within the step for each row. Only the latter can
        make the distributions of scores with few distinct values alike.
    scale : {"probability", "real"}, default="probability"
        ``"real"`` takes any finite scores. A score below or above all those seen in
        `fit` is then changed by as much as the smallest or the largest of them.
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
        Upper bound of the true gap with the probability `confidence_level`, in large
        samples: more than `max_mcdp` where the rows are too few. None without
        `confidence_level`.
    groups_ : tuple of length n_groups
        Labels of the groups.
    strata_ : tuple of length n_strata
        Labels of the strata that are repaired; empty without `control_features`.
    stratum_repairers_ : dict
        A fitted `ScoreRepairer` for each of several strata; empty for at most one. The
        CDFs below are theirs then, and empty here.
    cdfs_ : tuple of length n_groups
        CDF of each group, as arrays ``scores``, ``low`` and ``high``: at each distinct
        score the CDF rises from ``low`` to ``high``, in between it is linear. The CDF
        of a group of fewer than 200 rows is in part everyone's, see the notes.
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

    A CDF of few rows is mostly noise: where a group has n rows, fewer than 200,
    everyone's CDF has the weight :math:`1 / (1 + (n / 20)^2)`. A single row is thus
    repaired as everyone is, and 20 rows half as everyone.

    With `max_mcdp` the CDF of a group of n rows is smoothed by a normal kernel in the
    log-odds, whose standard deviation is :math:`n^{-1/3}` times that of the log-odds. A
    CDF that this would move by more than :math:`0.7 / \sqrt{n}` is not smoothed, as
    where many rows share scores. At each score the CDFs are then clipped to a band
    ``[u, u + max_mcdp]``, whose lower edge u keeps their weighted mean as it was. With
    the clipped CDFs :math:`G_g`, the scores :math:`F_g^{-1}(G_g(x))` are repaired to
    one value, their weighted mean: with ``max_mcdp=0`` the barycentre of the groups'
    distributions [2]_.

    Confidence: at the level `confidence_level`, and in large samples, the difference of
    the CDFs of two groups of n and m rows is within :math:`q \sqrt{1 / n + 1 / m}` of
    the true difference. Here :math:`q = \sqrt{\log(2 / \alpha) / 2}` bounds the largest
    value of a Brownian bridge, and alpha is ``1 - confidence_level``, shared by all
    pairs of groups. Increasing maps of the groups do not change this. The gap aimed at
    is smaller than `max_mcdp` by this noise of the two smallest groups, and by a row of
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
            the smallest and the largest score of each bin and group, scores are taken
            to be spread evenly.
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
        columns: dict[str, Any] = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
        }
        table = rows_of_table(scores, takes_strata=True, y=y, **columns)
        if table is not None:
            rows = self._check_table(table)
        else:
            rows = self._read_rows(scores, **columns)
        repair_map = RepairMap(
            self.repair_level,
            max_mcdp=self.max_mcdp,
            confidence_level=self.confidence_level,
            ties=self.ties,
            scale=self.scale,
        )
        self._set_map(repair_map.learn(rows))
        self._warn_of_certificate()
        return self

    def _set_map(self, repair_map: RepairMap) -> Self:
        """Set the map, and the attributes that show what it has learnt."""
        self._map, single = repair_map, repair_map.single_map
        self.groups_, self.strata_ = repair_map.groups, repair_map.strata
        self.repair_level_: float | None = None
        if repair_map.max_mcdp is None:
            self.repair_level_ = float(repair_map.repair_level)
        self.certified_mcdp_ = repair_map.certified_mcdp
        self.cdfs_ = () if single is None else single.cdfs.cdfs
        self.pooled_cdf_ = None if single is None else single.cdfs.pooled
        self.repaired_scores_ = () if single is None else single.repaired_scores
        self.stratum_repairers_: dict[Hashable, ScoreRepairer] = {}
        for label, part in repair_map.maps_by_stratum.items():
            repairer = clone(self).set_params(confidence_level=part.confidence_level)
            self.stratum_repairers_[label] = repairer._set_map(part)
        return self

    def _check_table(self, table: Rows) -> Rows:
        """Check the scores of a table of counts, and spread people over their bins."""
        if not len(table):
            raise ValueError("scores is a table of 0 people, expected some.")
        rows = spread_in_bins(table) if table.n_bins else table
        return replace(rows, y_pred=self._check_scores(rows.y_pred))

    def _read_rows(
        self,
        scores: Any,
        sensitive_features: ArrayLike | None,
        control_features: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> Rows:
        """Read and check the rows of `fit`."""
        values = self._check_scores(self._select_scores(scores, reset=True))
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
            check_groups_have_weight(groups, weights)
        values = values + 0.0  # without negative zeros
        return Rows(groups, strata, y_pred=values, weight=weights)

    def _warn_of_certificate(self) -> None:
        """Warn unless the true gap is certified to be at most `max_mcdp`."""
        certified, limit = self.certified_mcdp_, self.max_mcdp
        if certified is not None and limit is not None and certified > limit:
            warn_user(
                f"{type(self).__name__}: max_mcdp={limit:g} does not hold with "
                f"confidence_level={self.confidence_level:g}: the true gap is at most "
                f"{certified:.3f} with this probability, because rows are "
                "few or share scores. Give more rows, or ties='random' where scores "
                "are shared.",
                MitigationWarning,
            )

    def _select_scores(self, table: Any, *, reset: bool) -> Any:
        """Return the one column of a table that does not hold groups."""
        if not hasattr(table, "shape"):
            table = np.asarray(table)
        if len(table.shape) != 2:
            return table
        validate_data(self, table, reset=reset, skip_check_array=True)
        selector, rest = self.sensitive_features, table
        if selector is not None and not callable(selector):
            rest = drop_columns(table, find_positions(table, selector))
        if rest.shape[1] != 1:
            raise ValueError(
                f"scores has {rest.shape[1]} columns beside those that "
                f"sensitive_features={selector!r} names, expected one column of scores."
            )
        return select_columns(rest, 0, "scores")

    def _check_scores(self, scores: Any) -> Floats:
        """Return scores as floats; raise if any is not on the scale."""
        if self.scale == "real":
            return scores_on("real", scores, "scores")
        return check_scores(scores, "scores", _TAKES_ANY)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        check_choice("scale", self.scale, ("probability", "real"))
        level = check_real("repair_level", self.repair_level, 0, 1)
        check_ties_and_unknown_groups(self)
        check_max_mcdp(self.max_mcdp, level, default=1)
        if self.confidence_level is not None:
            name, value = "confidence_level", self.confidence_level
            check_real(name, value, 0, 1, closed="neither", alternative="None or ")
            if self.max_mcdp is None:
                raise ParameterError(
                    name, f"needs max_mcdp, which is None; got {value!r}."
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
        values = self._check_scores(self._select_scores(scores, reset=False))
        if sensitive_features is None and self.sensitive_features is not None:
            sensitive_features = select_columns(scores, self.sensitive_features)
        groups, strata = self._map.read_groups(
            sensitive_features, control_features, len(values), self.unknown_groups
        )
        repaired = self._map.repair(values, groups, strata, self.random_state)
        return repaired if np.ndim(scores) == 1 else repaired[:, None]

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
        single = self._map_of_all_rows()
        return single.simulate_gap(self._count_new_rows(n_samples, single.cdfs.shares))

    def _count_new_rows(self, n_samples: Any, shares: Floats) -> Floats:
        """Check `n_samples`, and return the number of new rows of each group."""
        if not isinstance(n_samples, Mapping):
            check_integer("n_samples", n_samples, 1)
            sizes = n_samples * shares
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
            are changed by as much as the smallest and the largest one. In between, the
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
        check_is_fitted(self)
        largest = math.inf if self.scale == "real" else 1
        tol = check_real("tol", tol, 0, largest)
        knots = self._map_of_all_rows().find_knots(tol)
        columns = labels_by_column(self.groups_)
        names = [f"group_{i}" for i in range(len(columns))]
        table = pd.DataFrame(
            dict(zip(names if len(names) > 1 else ["group"], columns, strict=True))
        )
        n_pieces = [len(ends) - 1 for ends, _ in knots]
        table = table.iloc[np.repeat(np.arange(len(knots)), n_pieces)]
        scores, repaired = zip(*knots, strict=True)
        for name, by_group in {"score": scores, "repaired": repaired}.items():
            table[f"{name}_from"] = np.concatenate([ends[:-1] for ends in by_group])
            table[f"{name}_to"] = np.concatenate([ends[1:] for ends in by_group])
        return table.reset_index(drop=True)

    def _map_of_all_rows(self) -> StratumMap:
        """Return the map; raise if there are several, one for each stratum."""
        if self._map.single_map is None:
            raise ValueError(
                "There is a map for each stratum: take those of "
                "stratum_repairers_[stratum]."
            )
        return self._map.single_map

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


def make_repairer(
    repair_map: RepairMap, unknown_groups: Any, random_state: Any
) -> ScoreRepairer:
    """Return a fitted repairer with a given map, and options of a mitigator."""
    repairer = ScoreRepairer(
        repair_map.repair_level,
        max_mcdp=repair_map.max_mcdp,
        confidence_level=repair_map.confidence_level,
        ties=repair_map.ties,
        scale=repair_map.scale,
        unknown_groups=unknown_groups,
        random_state=random_state,
    )
    return repairer._set_map(repair_map)


def spread_in_bins(cells: Rows) -> Rows:
    """Spread the people of each bin between its smallest and largest score.

    One person gets the smallest score of the bin, one the largest, and all other people
    their middle.
    """
    n_people = np.ones(len(cells), np.int64) if cells.n is None else cells.n
    low, high, weights = cells.low, cells.high, cells.weight
    assert low is not None
    assert high is not None
    has_width = low < high
    first = np.where(has_width, 1, n_people)
    middle = np.where(has_width & (n_people > 2), n_people - 2, 0)
    counts = np.concatenate([first, middle, n_people - first - middle])
    if weights is not None:
        # Of one person; whole weights stay whole.
        whole = weights.dtype.kind == "i"
        person_weight = weights // n_people if whole else weights / n_people
        first = np.where(has_width, person_weight, weights)
        middle = np.where(has_width & (n_people > 2), weights - 2 * person_weight, 0)
        weights = np.concatenate([first, middle, weights - first - middle])
    groups = replace(cells.groups, codes=np.tile(cells.groups.codes, 3))
    scores = np.concatenate([low, (low + high) / 2, high])
    rows = Rows(groups, y_pred=scores, n=counts, weight=weights)
    return rows[np.flatnonzero(counts)]
