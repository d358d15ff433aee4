"""Repair of score distributions, group by group."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skfair._utils._validation import check_choice, check_real, check_scores
from skfair.groups import Groups, resolve_groups
from skfair.statistics import GroupedScores

Floats: TypeAlias = NDArray[np.float64]


class ScoreRepairer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Move each group's score distribution towards the distribution of everyone.

    A score p of group g becomes

    .. math::
        \left( (1 - \lambda) F_g + \lambda F \right)^{-1} \left( F_g(p) \right)

    where :math:`F_g` is the CDF of the group, F that of all groups together and
    :math:`\lambda` the level of repair. The repaired scores of group g follow
    :math:`(1 - \lambda) F_g + \lambda F`: every distance between the CDFs or histograms
    of groups, such as MCDP and MADD, becomes :math:`1 - \lambda` times what it was. The
    order of scores within a group does not change.

    It makes score distributions alike. It does not use labels, so it does not control
    error rates, and it cannot tell whether the groups *should* have like scores.

    Parameters
    ----------
    repair_level : float in [0, 1], default=1.0
        The paper's lambda. 0 returns scores as they are, 1 gives all groups the same
        distribution, up to sampling.
    ties : {"mid", "random"}, default="mid"
        How to repair rows of a group that share a score, such as those in one leaf of a
        tree: ``"mid"`` keeps them together, at the middle of their step in the CDF;
        ``"random"`` draws a height within the step for each row. Only the latter can
        make the distributions of scores with few distinct values alike.
    unknown_groups : {"raise", "pooled"}, default="raise"
        How `transform` treats groups that were absent in `fit`: raise, or use the
        distribution of everyone as theirs, which leaves their scores as they are.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``. An int gives the same result at every call, and so
        the same draw to every row that is scored in a call of its own: rows that share
        a score then stay together. A service that scores rows one at a time, or in
        small batches, must use None or a RandomState instance, whose draws go on from
        call to call.

    Attributes
    ----------
    repair_level_ : float
        Level of repair.
    groups_ : tuple of length n_groups
        Labels of the groups.
    cdfs_ : tuple of length n_groups
        CDF of each group, as arrays ``scores``, ``low`` and ``high``: at each distinct
        score the CDF rises from ``low`` to ``high``, in between it is linear.
    pooled_cdf_ : tuple of arrays
        The CDF of everyone, in the same form.
    repaired_scores_ : tuple of length n_groups
        Repaired value of each score in ``cdfs_[g].scores``, with ``ties="mid"``.

    See Also
    --------
    MADDPostProcessor : A classifier that repairs its own scores.
    skfair.metrics.madd : The distance of distributions that repair reduces.

    Notes
    -----
    The i-th of the n rows of a group, in order, has the height (i - 1/2) / n in its
    CDF, and CDFs are linear in between. They start at (0, 0) and end at (1, 1), so
    that scores beyond those seen in `fit` keep their order and stay within [0, 1].
    With ``ties="mid"`` a score that was not seen in `fit` is repaired by linear
    interpolation between its neighbours.

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
        """Learn the score distributions.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Probabilities of the positive class, in [0, 1], on rows that the model was
            not trained on: its scores on training rows are distributed differently.
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
        self.repair_level_ = check_real("repair_level", self.repair_level, 0, 1)
        check_choice("ties", self.ties, ("mid", "random"))
        check_choice("unknown_groups", self.unknown_groups, ("raise", "pooled"))
        statistic = GroupedScores.from_scores(
            scores, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        present = np.flatnonzero(statistic.counts)
        self.groups_ = tuple(statistic.labels[group] for group in present)
        self.pooled_cdf_ = LinearCDF.of(statistic, None)
        self.cdfs_ = tuple(LinearCDF.of(statistic, group) for group in present.tolist())
        self.repaired_scores_ = tuple(
            cdf.invert_mixture(self.pooled_cdf_, self.repair_level_, cdf.middle)
            for cdf in self.cdfs_
        )
        return self

    def transform(self, scores: ArrayLike, *, sensitive_features: Any) -> Floats:
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
        if self.repair_level_ == 0:
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
                heights = cdf.heights_of(values[rows], random)
                repaired[rows] = cdf.invert_mixture(
                    self.pooled_cdf_, self.repair_level_, heights
                )
            else:
                repaired[rows] = interpolate(
                    values[rows], cdf.scores, self.repaired_scores_[group]
                )
        return np.clip(repaired, 0, 1, out=repaired)

    def fit_transform(
        self,
        scores: ArrayLike,
        y: Any = None,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
    ) -> Floats:
        """Learn the score distributions and repair the same scores.

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
                "unknown_groups='pooled' their rows keep their scores."
            )
        return codes


class LinearCDF(NamedTuple):
    """CDF that is piecewise linear from (0, 0) to (1, 1), with a knot at each score.

    The i-th of n rows, in order, has the height (i - 1/2) / n; rows that share a score
    make a vertical step there, from `low` to `high`, which are equal for one row.
    """

    scores: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, statistic: GroupedScores, group: int | None) -> Self:
        """CDF of a group that has rows, or of everyone."""
        scores, weights = statistic.of_group(group)
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
        # The half rows at both ends are interpolated up to (0, 0) and (1, 1).
        if scores[0] > 0:
            scores, low, high = (np.append(0.0, part) for part in (scores, low, high))
        if scores[-1] < 1:
            scores, low, high = (np.append(part, 1.0) for part in (scores, low, high))
        return cls(scores, low, high)

    @property
    def middle(self) -> Floats:
        """Mid-distribution: one height for all rows that share a score."""
        return (self.low + self.high) / 2

    @property
    def ends(self) -> Floats:
        """Heights of the lower and the upper end of each step, one after the other."""
        return np.stack([self.low, self.high], axis=1).ravel()

    def at(self, scores: Floats) -> Floats:
        """Heights of the CDF at scores; at a knot, the upper end of the step."""
        return interpolate(scores, np.repeat(self.scores, 2), self.ends)

    def below(self, score: float) -> float:
        """Height of the CDF at a score; at a knot, the lower end of the step."""
        knot = int(np.searchsorted(self.scores, score))
        if self.scores[knot] == score:
            return float(self.low[knot])
        return float(self.at(np.array([score]))[0])

    def heights_of(self, scores: Floats, random: RandomState | None) -> Floats:
        """Heights of scores: within a step they are random, or else its middle."""
        heights = self.at(scores)
        knots = np.searchsorted(self.scores, scores)
        at_knot = self.scores[knots] == scores
        knots = knots[at_knot]
        if random is None:
            heights[at_knot] = self.middle[knots]
        else:
            heights[at_knot] = random.uniform(self.low[knots], self.high[knots])
        return heights

    def invert_mixture(
        self, pooled: LinearCDF, level: float, heights: Floats
    ) -> Floats:
        """Scores at some heights of the CDF ``(1 - level) * self + level * pooled``.

        `pooled` must have knots at all scores of `self`. Sorted heights are fastest.
        """
        high = self.at(pooled.scores)
        low = high.copy()
        low[np.searchsorted(pooled.scores, self.scores)] = self.low
        knots = np.empty(2 * len(high))
        knots[0::2] = (1 - level) * low + level * pooled.low
        knots[1::2] = (1 - level) * high + level * pooled.high
        return np.interp(heights, knots, np.repeat(pooled.scores, 2))


def interpolate(scores: Floats, knots: Floats, values: Floats) -> Floats:
    """Interpolate linearly between scores in [0, 1] that may be subnormal numbers."""
    # Slopes between them would overflow; scaling by 2**100 is exact.
    return np.interp(scores * 2.0**100, knots * 2.0**100, values)


def tied_shares(statistic: GroupedScores) -> Floats:
    """Share of its group that the rows of each entry have; 0 for a single row."""
    shares = statistic.weights / statistic.totals[statistic.codes]
    one_row = 1 / row_counts(statistic)[statistic.codes]
    return np.where(shares > one_row, shares, 0)


def row_counts(statistic: GroupedScores) -> NDArray[Any]:
    """Rows of each group; whole weights count rows."""
    whole = statistic.weights.dtype.kind == "i"
    return statistic.totals if whole else statistic.counts
