"""What each number says, in one sentence about the groups that it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution._gap import Pair
from skfair.metrics._groupwise._tail import tail_shares
from skfair.report._sample import Sample, observed_rows, outcomes
from skfair.report._text import label_text, percent, plain_text, points, quoted

#: A p-value up to this is called more than chance.
LEVEL = 0.05


class Sentences:
    """Says what the metrics of one model and one attribute found.

    Parameters
    ----------
    sample : Sample
    """

    def __init__(self, sample: Sample) -> None:
        self.sample, self.options = sample, sample.audit.options
        self.labels = [label_text(label) for label in sample.attribute.groups.labels]
        rows = observed_rows(sample)
        self.confusion = sample.confusion(rows)
        self.rates = outcomes(self.confusion).means
        self.found = sample.score_disparities(rows, sample.keys)
        self.parts = np.split(rows, np.cumsum(sample.attribute.groups.sizes())[:-1])

    def describe(self, key: str, value: float) -> str:
        """Describe a value, chance left aside.

        Parameters
        ----------
        key : str
        value : float

        Returns
        -------
        str
            One sentence without its full stop.
        """
        tellers: dict[str, Callable[[float], str]] = {
            "demographic_parity_difference": self._selection,
            "max_gap": self._max_gap,
            "cvar_fairness": self._cvar,
            "mcdp": self._mcdp,
            "mcdp_epsilon": self._sustained,
            "abcc": self._abcc,
            "mean_score_difference": self._means,
            "madd": self._madd,
            "equalized_odds_difference": self._equalized_odds,
            "dcp": self._dcp,
        }
        return tellers[key](value)

    def furthest(self, rates: NDArray[np.float64]) -> Pair:
        """Find the groups with the highest and the lowest rate, or far from everyone.

        Parameters
        ----------
        rates : ndarray of shape (n_groups,)

        Returns
        -------
        tuple of int, and int or None
        """
        if self.sample.attribute.comparison == "pairwise":
            return int(rates.argmax()), int(rates.argmin())
        totals = self.confusion.totals
        return int(np.abs(rates - rates @ totals / totals.sum()).argmax()), None

    def _selection(self, value: float) -> str:
        first, second = self.furthest(self.rates)
        totals = self.confusion.totals
        others = self.rates @ totals / totals.sum()
        other = others if second is None else self.rates[second]
        return (
            f"{quoted(self.labels, first)} gets the positive decision in "
            f"{percent(self.rates[first])} of cases, {quoted(self.labels, second)} in "
            f"{percent(other)}: {points(value)} percentage points apart"
        )

    def _max_gap(self, value: float) -> str:
        mean = self.rates.mean()
        group = int(np.abs(self.rates - mean).argmax())
        side = "above" if self.rates[group] > mean else "below"
        return (
            f"Of all groups {quoted(self.labels, group)} is furthest from the average "
            f"group: {points(value)} points {side} its selection rate of "
            f"{percent(float(mean))}"
        )

    def _cvar(self, value: float) -> str:
        gaps = np.abs(self.rates - self.rates.mean())
        weights = np.full(len(gaps), 1 / len(gaps))
        alpha = self.options.alpha
        tail = np.flatnonzero(tail_shares(gaps, weights, alpha, fractional=True))
        which = f"The {100 * (1 - alpha):.4g}% of groups furthest from the average"
        if len(tail) == 1:
            return f"{which} is one group here: this is the largest gap again"
        return (
            f"{which} ({len(tail)} of {len(gaps)}) are {points(value)} points from the "
            "average group's selection rate, on average"
        )

    def _mcdp(self, value: float) -> str:
        first: int | None
        first, second = self.found["mcdp"].pair
        score, ours, theirs = self._above()
        if theirs > ours:
            first, second, ours, theirs = second, first, theirs, ours
        low, high = (quoted(self.labels, group) for group in (second, first))
        return (
            f"At a threshold just above {score:.3f}, {percent(theirs)} of {low} are "
            f"selected and {percent(ours)} of {high}: {points(value)} percentage "
            "points apart, the most at any threshold"
        )

    def _above(self) -> tuple[float, float, float]:
        """Score at which two groups are furthest apart, and their shares above it."""
        grid, found = self.sample.grid, self.found["mcdp"]
        assert grid is not None
        where = np.searchsorted(grid.scores, found.score)
        ours, theirs = (1 - self.cdf(group)[where] for group in found.pair)
        return found.score, ours, theirs

    def cdf(self, group: int | None) -> NDArray[np.float64]:
        """Cumulative distribution of the scores of a group, or of everyone.

        Parameters
        ----------
        group : int or None

        Returns
        -------
        ndarray of shape (n_distinct,)
        """
        grid = self.sample.grid
        assert grid is not None
        rows = np.concatenate(self.parts) if group is None else self.parts[group]
        return grid.cdf(rows)[0]

    def _sustained(self, value: float) -> str:
        return (
            f"Throughout some range of thresholds {2 * self.options.epsilon:g} long, "
            f"{self._both('mcdp_epsilon')} are at least {points(value)} points apart"
        )

    def _abcc(self, value: float) -> str:
        return (
            f"Averaged over all thresholds, {points(value)} points lie between the "
            f"shares of {self._both('abcc')} that are selected"
        )

    def _means(self, value: float) -> str:
        first, second = self.found["mean_score_difference"].pair
        grid = self.sample.grid
        assert grid is not None
        ours, theirs = (
            float(np.diff(self.cdf(group), prepend=0) @ grid.scores)
            for group in (first, second)
        )
        return (
            f"The mean score is {ours:.3f} for {quoted(self.labels, first)} and "
            f"{theirs:.3f} for {quoted(self.labels, second)}"
        )

    def _madd(self, value: float) -> str:
        return (
            f"For the score histograms of {self._both('madd')} to agree, about "
            f"{percent(value / 2)} of each would need another score"
        )

    def _both(self, key: str) -> str:
        pair = self.found[key].pair
        first, second = (quoted(self.labels, group) for group in pair)
        return f"{first} and {second}"

    def _equalized_odds(self, value: float) -> str:
        true, predicted, (first, second) = self._odds()
        rates = self.confusion.confusion[:, true, predicted]
        pooled = self.confusion.matrices[:, true].sum(axis=0)
        other = pooled[predicted] / pooled.sum() if second is None else rates[second]
        ours, theirs = (
            f"{percent(rate)} of {self._counted(true, group)}"
            for rate, group in ((rates[first], first), (other, second))
        )
        label = plain_text(self.confusion.classes[true])
        if self.sample.audit.binary:
            positive = true == 1
            whom = (
                "people who are truly positive"
                if positive
                else ("people who are not truly positive")
            )
            what = "the positive decision"
        else:
            whom = f"people who are truly “{label}”"
            what = f"the prediction “{plain_text(self.confusion.classes[predicted])}”"
        return (
            f"Among {whom}, {what} goes to {ours} and {theirs}: {points(value)} "
            "percentage points apart"
        )

    def _counted(self, true: int, group: int | None) -> str:
        """How many people of a true label there are in a group, where rows count."""
        matrices = self.confusion.matrices[:, true].sum(axis=1)
        n = matrices.sum() if group is None else matrices[group]
        weighted = self.sample.audit.sample_weight is not None
        size = "" if weighted else f"{int(n):,} in "
        return f"{size}{quoted(self.labels, group)}"

    def _odds(self) -> tuple[int, int, Pair]:
        """Find the true and predicted class, and groups, of the largest difference."""
        best: tuple[float, int, int, Pair] = (-1.0, 0, 0, (0, None))
        rates = self.confusion.confusion
        pooled: Any = self.confusion.matrices.sum(axis=0)
        # Of two classes the rates of the second say it all.
        for true, predicted in np.ndindex(*pooled.shape):
            if pooled[true].sum() == 0 or (len(pooled) == 2 and predicted == 0):
                continue
            column = rates[:, true, predicted]
            everyone = pooled[true, predicted] / pooled[true].sum()
            if self.sample.attribute.comparison == "pairwise":
                pair: Pair = int(column.argmax()), int(column.argmin())
                gap = float(np.ptp(column))
            else:
                pair = int(np.abs(column - everyone).argmax()), None
                gap = abs(float(column[pair[0]] - everyone))
            if gap > best[0]:
                best = gap, true, predicted, pair
        return best[1:]

    def _dcp(self, value: float) -> str:
        return (
            f"Predictions of {percent(value)} of people would have to be set aside for "
            "the error rates of all groups to agree"
        )


def with_chance(sentence: str, measure: dict[str, Any]) -> str:
    """Add what chance alone gives.

    Parameters
    ----------
    sentence : str
        Without its full stop.
    measure : dict
        With "key", "null" and "pvalue".

    Returns
    -------
    str
    """
    null, pvalue = measure["null"], measure["pvalue"]
    if null is None or pvalue is None:
        return sentence + "."
    text = chance_text(measure["key"], null)
    if pvalue <= LEVEL:
        return f"{sentence}; chance alone would give {text}."
    often = percent(pvalue)
    return (
        f"{sentence}. This may be noise: chance alone would give {text}, and as "
        f"much as this in {often} of shuffles."
    )


def chance_text(key: str, null: float) -> str:
    """Mean of a metric over shuffled groups, in the unit of its sentence.

    Parameters
    ----------
    key : str
    null : float

    Returns
    -------
    str
    """
    if key == "madd":
        return f"about {percent(null / 2)}"
    if key == "mean_score_difference":
        return f"a difference of about {null:.3f}"
    return f"about {percent(null)}" if key == "dcp" else f"about {points(null)} points"
