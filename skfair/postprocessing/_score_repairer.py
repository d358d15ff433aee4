"""Repair of score distributions, group by group."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skfair._utils._validation import check_choice, check_real, check_scores
from skfair.groups import Groups, resolve_groups
from skfair.postprocessing._repair_map import curve_of, heights_of, invert
from skfair.statistics import GroupedScores


class ScoreRepairer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Move each group's score distribution towards the distribution of everyone.

    A score p of group g becomes

    .. math::
        \left( (1 - \lambda) F_g + \lambda F \right)^{-1} \left( F_g(p) \right)

    where :math:`F_g` is the CDF of the group, F that of all groups together and
    :math:`\lambda` the level of repair. The repaired scores of group g follow
    :math:`(1 - \lambda) F_g + \lambda F`: every distance between groups' CDFs or
    histograms, as MCDP and MADD, falls to :math:`1 - \lambda` of what it was, and the
    order of scores within a group stays.

    It makes distributions alike. It does not look at labels, so it says nothing about
    errors, and whether groups *should* have like scores is for its user to decide.

    Parameters
    ----------
    repair_level : float in [0, 1], default=1.0
        The paper's lambda. 0 returns scores as they are, 1 gives all groups the same
        distribution, up to sampling.
    ties : {"mid", "random"}, default="mid"
        What becomes of rows of a group that share a score, as those in the leaf of a
        tree: ``"mid"`` keeps them together, at the middle of the step that they make
        in the CDF; ``"random"`` spreads them over the step, which alone can make the
        distributions of scores with few distinct values alike.
    unknown_groups : {"raise", "pooled"}, default="raise"
        What to do in `transform` with groups that were absent in `fit`: raise, or take
        the distribution of everyone for theirs, which leaves their scores as they are.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``. An int gives the same result at every call.

    Attributes
    ----------
    level_ : float
        Level of repair.
    groups_ : tuple of length n_groups
        Labels of the groups.
    cdfs_ : tuple of length n_groups
        CDF of each group, as arrays ``scores``, ``low`` and ``high``: at each distinct
        score the CDF rises from ``low`` to ``high``, in between it is linear.
    pooled_cdf_ : tuple of arrays
        The same for everyone.
    repaired_scores_ : tuple of length n_groups
        What each of ``cdfs_[g].scores`` becomes, with ``ties="mid"``.

    See Also
    --------
    MADDPostProcessor : A classifier that repairs its own scores.
    skfair.metrics.madd : The distance of distributions that the level scales.

    Notes
    -----
    The i-th of the n rows of a group, in order, stands at the height (i - 1/2) / n of
    its CDF, and CDFs are linear in between. They start at (0, 0) and end at (1, 1), so
    that scores beyond those seen in `fit` stay in order, and within [0, 1]. With
    ``ties="mid"`` a score that was not seen is repaired linearly between its
    neighbours.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Equations 11 to 14.

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
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}
    __metadata_request__transform: ClassVar = {"sensitive_features": True}

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        ties: Literal["mid", "random"] = "mid",
        unknown_groups: Literal["raise", "pooled"] = "raise",
        random_state: Any = None,
    ) -> None:
        self.repair_level = repair_level
        self.ties = ties
        self.unknown_groups = unknown_groups
        self.random_state = random_state

    def fit(
        self,
        scores: ArrayLike,
        y: Any = None,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the distributions.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Probabilities of the positive class, in [0, 1], on rows that the model was
            not trained on: its scores on training rows are distributed otherwise.
        y : object, default=None
            Ignored.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        self : ScoreRepairer

        Raises
        ------
        ValueError
            On scores outside [0, 1], wrong lengths, missing groups, or parameters out
            of range.
        """
        level = check_real("repair_level", self.repair_level, 0, 1)
        check_choice("ties", self.ties, ("mid", "random"))
        check_choice("unknown_groups", self.unknown_groups, ("raise", "pooled"))
        statistic = GroupedScores.from_scores(
            scores, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        present = np.flatnonzero(statistic.counts)
        self.level_ = level
        self.groups_ = tuple(statistic.labels[group] for group in present)
        self.pooled_cdf_ = curve_of(statistic, None)
        self.cdfs_ = tuple(curve_of(statistic, group) for group in present.tolist())
        self.repaired_scores_ = tuple(
            invert(cdf, self.pooled_cdf_, level, cdf.middle) for cdf in self.cdfs_
        )
        return self

    def transform(
        self, scores: ArrayLike, *, sensitive_features: Any
    ) -> NDArray[np.float64]:
        """Repair scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores in [0, 1].
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired scores in [0, 1]; a DataFrame of one column if `set_output` asks
            for it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            On scores outside [0, 1], wrong lengths, missing groups, and on groups that
            were absent in `fit`, unless `unknown_groups` is ``"pooled"``.
        """
        check_is_fitted(self)
        values = check_scores(scores, "scores")
        codes = self._codes(resolve_groups(sensitive_features, n_samples=len(values)))
        repaired = np.array(values)
        if self.level_ == 0:
            return repaired
        random = check_random_state(self.random_state)
        # Rows of one group after the other; those of unknown groups come first.
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(self.groups_) + 1))
        for group, cdf in enumerate(self.cdfs_):
            rows = order[starts[group] : starts[group + 1]]
            # Sorted look-ups spare cache misses, which cost more than the sort.
            rows = rows[np.argsort(values[rows])]
            if self.ties == "random":
                heights = heights_of(cdf, values[rows], random)
                moved = invert(cdf, self.pooled_cdf_, self.level_, heights)
            else:
                moved = np.interp(
                    values[rows], cdf.scores, self.repaired_scores_[group]
                )
            repaired[rows] = moved
        return np.clip(repaired, 0, 1, out=repaired)

    def fit_transform(
        self,
        scores: ArrayLike,
        y: Any = None,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Learn the distributions and repair the same scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores in [0, 1].
        y : object, default=None
            Ignored.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired scores in [0, 1].

        Raises
        ------
        ValueError
            As in `fit`.
        """
        self.fit(
            scores, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        return self.transform(scores, sensitive_features=sensitive_features)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name of the column that `set_output` makes.

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
        tags.input_tags.positive_only = True
        return tags

    def _codes(self, groups: Groups) -> NDArray[np.intp]:
        """Position of each row's group in `groups_`, -1 for an unknown one."""
        position = {label: i for i, label in enumerate(self.groups_)}
        # The last entry serves rows that `Groups` leaves out, whose code is -1.
        lookup = np.array([position.get(label, -1) for label in groups.labels] + [-1])
        codes = np.asarray(lookup[groups.codes])
        unknown = groups.codes[codes < 0]
        if len(unknown) and self.unknown_groups == "raise":
            labels: list[Hashable] = [*groups.labels, "(left out)"]
            named = [labels[code] for code in np.unique(unknown)]
            raise ValueError(
                f"sensitive_features has groups {named} in {len(unknown)} rows, "
                f"expected those seen in fit, {list(self.groups_)}. With "
                "unknown_groups='pooled' other rows keep their scores."
            )
        return codes
