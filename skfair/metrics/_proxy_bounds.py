"""Bounds of a disparity between groups that are known by a proxy only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_random_state

from skfair._pictures._group_dots import GroupDotsDisplay
from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._results import TableResult
from skfair._utils._text import counted
from skfair._utils._validation import (
    ParameterError,
    check_real,
    check_scores,
    check_y_true,
)
from skfair._utils._warnings import warn_if_reordered, warn_user
from skfair.groups import Codes
from skfair.metrics._abcc import ABCC
from skfair.metrics._as_metric import as_metric, changed_options
from skfair.metrics._inputs import rows_of_table
from skfair.metrics._mcdp import MCDP
from skfair.metrics._metric import Metric
from skfair.metrics._pairs import Pair, compared_pairs
from skfair.metrics._parts import undefined_estimate
from skfair.metrics._proxy_cells import (
    DenseCells,
    Kind,
    Missing,
    ProxyRows,
    Rates,
    ScoreCells,
    measure,
    odds_limits,
    read_rows_by_cell,
    read_table_by_cell,
    split_below,
)
from skfair.metrics._rate_intervals import clopper_pearson
from skfair.metrics._rates import DemographicParity, EqualizedOdds, parity_outcomes
from skfair.statistics._labels import encode_label_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Draws of the noise, and numbers that a part of them may hold in memory. Noise needs
#: no more than the seven digits of these numbers.
_N_DRAWS, _MAX_NUMBERS, _SHORT = 499, 2**18, np.float32
_TINY = float(np.finfo(float).tiny)
#: Kinds of rows up to which one that is rare decides a bound.
_FEW_KINDS = 10
#: Known rows of a cell are compared with the cell in this many parts, by score.
_N_PARTS = 4
#: Level of the comparison of known rows with the probabilities, over all of them.
_ALPHA = 0.05


class Noise(NamedTuple):
    """Draws of the noise of masses, and of probabilities."""

    #: Masses of cells, of shape (n_draws, 1 + n_groups, n_cells).
    masses: Floats
    #: Numerator and rest, of shape (n_draws, 1 + n_groups, n_cells, n_points) each.
    parts: tuple[Floats, Floats]
    #: Probabilities, of shape (n_draws, n_cells, n_groups), None if they are exact.
    probabilities: Floats | None


def margins(
    rows: ProxyRows,
    cells: DenseCells,
    odds_ratios: Sequence[float],
    kind: Kind,
    pairs: Sequence[Pair],
    confidence_level: float,
    generator: np.random.RandomState,
) -> Floats:
    """Return by how much noise may make the bounds too narrow, for each odds ratio.

    With few rows in a group, the noise is as wide as Student's t. With few kinds of
    rows, such as pairs of labels, the noise is at least as large as if the rows of each
    cell were drawn from the whole population: otherwise cells without rows of some kind
    would seem to have no noise.
    """
    step = max(1, _MAX_NUMBERS // cells.parts[0].size)
    bits = np.random.SFC64(generator.randint(2**31 - 1))
    draws = np.random.Generator(bits)  # which draws normal numbers faster
    variances = [cells.squares]
    if len(cells.compared_within) <= _FEW_KINDS:
        variances.append(_mixture_squares(cells))
    drawn = np.empty((len(odds_ratios), len(variances), _N_DRAWS))
    for start, (i, squares) in product(range(0, _N_DRAWS, step), enumerate(variances)):
        n_draws = min(step, _N_DRAWS - start)
        noise = _draw_noise(rows, cells, squares, n_draws, draws)
        for draws_at_ratio, odds_ratio in zip(drawn, odds_ratios, strict=True):
            errors = _rate_noise(rows, cells, noise, odds_ratio)
            largest = [
                _largest_error(kind, errors, pair, cells.widths, draws)
                for pair in pairs
            ]
            draws_at_ratio[i, start : start + n_draws] = np.max(largest, axis=0)
    quantiles = np.quantile(drawn, confidence_level, axis=2, method="higher")
    two_sided = (1 + confidence_level) / 2
    freedom = max(_smallest_freedom(cells), 1.0)
    quantiles *= stdtrit(freedom, two_sided) / ndtri(two_sided)
    quantiles *= np.sqrt((freedom + 1) / freedom)
    return np.asarray(np.maximum(quantiles.max(axis=1), 0))


def _smallest_freedom(cells: DenseCells) -> float:
    """Return the smallest of the groups' degrees of freedom by Welch, minus one."""
    masses, squares = (each.sum(axis=-1) for each in (cells.masses, cells.squares))
    counts = quotients(masses**2, squares)
    freedom = []
    for group, cell_shares in enumerate(cells.probabilities.T):
        shares = np.zeros_like(masses)
        shares[0], shares[1 + group : 2 + group] = cell_shares, 1
        noise = squares * shares**2
        freedom.append(noise.sum() ** 2 / (noise**2 / np.maximum(counts, 1)).sum())
    return float(min(freedom)) - 1


def _mixture_squares(cells: DenseCells) -> Floats:
    """Return squared weights by kind, as if all cells had the overall shares."""
    squares = np.zeros_like(cells.squares)
    overall = cells.masses.sum(axis=(0, 1))
    for part in np.unique(cells.compared_within):
        kinds = cells.compared_within == part
        shares = overall[kinds] / max(overall[kinds].sum(), _TINY)
        squares[..., kinds] = cells.squares[..., kinds].sum(-1, keepdims=True) * shares
    return squares


def _largest_error(
    kind: Kind, errors: Rates, pair: Pair, widths: Any, generator: Any
) -> Floats:
    """Return by how much the bounds of a gap are too narrow, for each draw."""
    low, up = errors.gap(pair)
    down = -low
    if kind == "mean":
        return np.asarray(np.maximum(up @ widths, down @ widths))
    if kind == "area":
        return np.asarray(np.maximum(np.maximum(up, down), 0) @ widths)
    if widths is not None:
        up, down = (
            _add_bridges(errors_one_way, generator) for errors_one_way in (up, down)
        )
    return np.asarray(np.maximum(up, down).max(axis=-1))


def _add_bridges(errors: Floats, generator: Any) -> Floats:
    """Draw the largest error between thresholds, as on a Brownian bridge."""
    steps = np.diff(errors, axis=-1, append=0)
    variance = np.mean(steps**2, axis=0)
    logs = generator.standard_exponential(steps.shape, dtype=steps.dtype)
    return np.asarray(errors + (steps + np.sqrt(steps**2 + 2 * variance * logs)) / 2)


def _draw_noise(
    rows: ProxyRows, cells: DenseCells, squares: Floats, n_draws: int, generator: Any
) -> Noise:
    """Draw the noise of the masses of independent rows, and of probabilities."""
    normal = generator.standard_normal((n_draws, *cells.masses.shape), dtype=_SHORT)
    normal *= np.sqrt(squares).astype(_SHORT)
    probabilities = None
    if rows.from_known:
        known_noise = normal[:, 1:].sum(axis=-1)
        total = cells.masses[1:].sum(axis=(0, 2))[:, np.newaxis]
        common = known_noise.sum(axis=1)[..., np.newaxis] * rows.probabilities
        probabilities = ((known_noise.swapaxes(1, 2) - common) / total).astype(_SHORT)
    return Noise(normal.sum(axis=-1), cells.split(normal), probabilities)


def _rate_noise(
    rows: ProxyRows, cells: DenseCells, noise: Noise, odds_ratio: float
) -> Rates:
    """Draw the noise of the bounds of each group's rate, and of the overall rate.

    A lower bound gets the noise of the smallest possible mass, and an upper bound the
    noise of the largest. The shape is (n_groups, n_draws, n_points).
    """
    lows: list[Floats] = []
    highs: list[Floats] = []
    n_groups = len(rows.labels)
    part_noise = [part.sum(axis=(1, 2)) for part in noise.parts]
    pair = rows.fixed and n_groups == 2
    errors = [
        _mass_noise(rows, cells, noise, group, odds_ratio)
        for group in range(pair, n_groups)
    ]
    if pair:  # the first group has what the second has not
        inside, rest = (
            [total - end for end in reversed(ends)]
            for total, ends in zip(part_noise, errors[0], strict=True)
        )
        errors.insert(0, (inside, rest))
    for group, (inside_noise, rest_noise) in enumerate(errors):
        ends = [cells.ends(group, part, odds_ratio) for part in cells.parts]
        for bounds, end in ((lows, 0), (highs, 1)):
            x, y = np.maximum(ends[0][end], 0), np.maximum(ends[1][1 - end], 0)
            bounds.append(_ratio_noise(x, y, inside_noise[end], rest_noise[1 - end]))
    parts = [part.sum(axis=(0, 1)) for part in cells.parts]
    overall = _ratio_noise(*parts, *part_noise)
    return Rates(np.stack(lows), np.stack(highs), (overall, overall))


def _mass_noise(
    rows: ProxyRows, cells: DenseCells, noise: Noise, group: int, odds_ratio: float
) -> tuple[list[Floats], list[Floats]]:
    """Return the noise of the smallest and largest possible mass of a group."""

    def end_noises(part: int) -> list[Floats]:
        return [
            _end_noise(rows, cells, noise, group, part, odds_ratio, end)
            for end in (-1, 1)
        ]

    inside = end_noises(0)
    if not (rows.fixed and cells.split is split_below):
        return inside, end_noises(1)
    # Each score is in the numerator or in the rest, and the group's mass is known.
    mass = noise.masses[:, 0] @ cells.probabilities[:, [group]].astype(_SHORT)
    if len(cells.masses) > 1:
        mass = mass + noise.masses[:, 1 + group].sum(axis=1, keepdims=True)
    return inside, [mass - end for end in reversed(inside)]


def _ratio_noise(x: Floats, y: Floats, x_noise: Floats, y_noise: Floats) -> Floats:
    """Return the noise of x / (x + y) to first order."""
    total = x + y
    rate = np.divide(x, total, out=np.zeros_like(total), where=total > 0)
    scale = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
    by_x, by_y = ((part * scale).astype(_SHORT) for part in (1 - rate, rate))
    return np.asarray(x_noise * by_x - y_noise * by_y)


def _end_noise(
    rows: ProxyRows,
    cells: DenseCells,
    noise: Noise,
    group: int,
    part: int,
    odds_ratio: float,
    end: int,
) -> Floats:
    """Return the noise of the smallest (-1) or largest (1) possible mass of a group.

    In a cell in which the group has a known share, the largest mass is the smaller of
    two linear functions of masses, and the smallest mass is the larger of two. If both
    functions are nearly equal, noise may decide which of them counts: then the worse of
    their noises is taken.
    """
    known_noise = cells.known_part(noise.parts[part], group)
    q = cells.probabilities[:, [group]]
    # The most fills a cell from its highest odds on, the smallest from its lowest.
    first, other = odds_limits(q, odds_ratio)[::-end]
    value, value_noise = cells.parts[part][0], noise.parts[part][:, 0]
    if not rows.fixed:
        errors = np.einsum("dzp,z->dp", value_noise, first[:, 0].astype(_SHORT))
        if noise.probabilities is not None:
            first_slope = _slopes(q, odds_ratio)[::-end][0]
            tilt = (first_slope * value).astype(_SHORT)
            errors += noise.probabilities[..., group] @ tilt
        return np.asarray(errors + known_noise)
    # The functions are first * value and q * total - other * (total - value).
    total = cells.masses[0].sum(axis=-1, keepdims=True)
    apart = end * ((first - other) * value - (q - other) * total)
    spread = abs(first - other) * np.sqrt(cells.squares[0].sum(axis=1))[:, None] / 2
    near = abs(apart) <= np.sqrt(np.log(len(rows.cells) + 1)) * spread
    near &= first != other  # otherwise the functions are one
    is_first = (apart < 0) & ~near
    slopes = np.where(is_first, first, other), np.where(is_first, 0, q - other)
    errors = np.einsum("dzp,zp->dp", value_noise, slopes[0].astype(_SHORT))
    errors += noise.masses[:, 0] @ slopes[1].astype(_SHORT)
    at = np.flatnonzero(near.any(axis=1))
    value_slopes, total_slopes = (
        (near * tilt)[at].astype(_SHORT) for tilt in (first - other, q - other)
    )
    between = value_noise[:, at] * value_slopes
    between -= noise.masses[:, 0, at, np.newaxis] * total_slopes
    between *= end
    errors += end * np.maximum(between, 0, out=between).sum(axis=1)
    return np.asarray(errors + known_noise)


def _slopes(q: Floats, odds_ratio: float) -> tuple[Floats, Floats]:
    """Differentiate `odds_limits` by the probability."""
    inverse = 1 / odds_ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        low = inverse / (q * inverse + 1 - q) ** 2
        high = inverse / (q + (1 - q) * inverse) ** 2
    return np.nan_to_num(low), np.nan_to_num(high)


def compare_known_rows(rows: ProxyRows) -> tuple[Bools, float]:
    """Compare the known rows of each cell with its probabilities.

    Return which cells the known rows contradict, and a lower bound of the factor by
    which the odds at some scores of a cell differ from the odds in the whole cell.
    """
    is_known = (rows.groups >= 0) & (rows.weights > 0)
    if rows.from_known or not is_known.any():
        return np.zeros(rows.n_cells, dtype=bool), np.nan
    cells, groups = (
        rows.cells[is_known].astype(np.intp),
        rows.groups[is_known],
    )
    whole = _separation(rows, cells, groups, np.zeros(len(cells), np.intp), 1)
    parts = _parts_by_score(cells, rows.lows[is_known])
    by_score = _separation(rows, cells, groups, parts, _N_PARTS)
    return np.any(whole > 1, axis=(1, 2)), float(by_score.max())


def _parts_by_score(cells: Integers, scores: Floats) -> Integers:
    """Return the quarter of its cell in which each score lies."""
    order = np.lexsort((scores, cells))
    sizes = np.bincount(cells)
    starts = np.cumsum(sizes) - sizes
    ranks = np.empty(len(cells), np.intp)
    ranks[order] = np.arange(len(cells)) - starts[cells[order]]
    return np.asarray(ranks * _N_PARTS // sizes[cells])


def _separation(
    rows: ProxyRows, cells: Integers, groups: Codes, parts: Integers, n_parts: int
) -> Floats:
    """Return the smallest odds ratio between known shares and probabilities.

    The ratio is 1 where the interval of the share contains the probability. All
    intervals hold at once with probability 0.95.
    """
    shape = rows.n_cells, n_parts, len(rows.labels)
    counts = np.zeros(shape)
    np.add.at(counts, (cells, parts, groups), 1)
    totals = counts.sum(axis=2, keepdims=True)
    q = np.broadcast_to(rows.probabilities[:, np.newaxis], shape)
    n_intervals = 2 * int(np.count_nonzero(totals)) * shape[2]
    tail = _ALPHA / max(1, n_intervals) / 2
    low, high = clopper_pearson(counts, totals, tail)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(low > q, _odds(low) / _odds(q), 1)
        below = np.where(high < q, _odds(q) / _odds(high), 1)
    return np.asarray(np.maximum(above, below))


def _odds(probability: Floats) -> Floats:
    """Return the odds of a probability."""
    return probability / (1 - probability)


#: What is done with the gap of each metric, and the options that it may have.
_KNOWN: dict[type[Metric], tuple[Kind, tuple[str, ...]]] = {
    MCDP: ("largest", ("multigroup",)),
    ABCC: ("area", ("multigroup",)),
    DemographicParity: ("mean", ("threshold", "pos_label", "multigroup")),
    EqualizedOdds: ("largest", ("multigroup",)),
}
#: Thresholds at which the noise is drawn.
_N_POINTS = 128
#: Steps of the search for an odds ratio, on a logarithmic scale up to the largest.
_N_STEPS, _LARGEST = 40, 1e12
#: Odds ratios that are drawn.
_DRAWN = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, math.inf)


@dataclass(frozen=True, eq=False, repr=False)
class ProxyBoundsResult(TableResult):
    """Result of `proxy_bounds`.

    Attributes
    ----------
    metric : str
        Name of the metric.
    odds_ratio : float or ndarray of shape (n_odds_ratios,)
        How far the odds of a group may differ within a cell. The bounds are floats for
        one odds ratio, and arrays for several.
    lower, upper : float or ndarray of shape (n_odds_ratios,)
        The metric lies between them if the odds differ at most by that.
    estimate : float
        The metric where group and score are independent within each cell, which is
        the bounds' value for the odds ratio 1.
    lower_confidence, upper_confidence : float, ndarray or None
        With `confidence_level`, bounds that cover both `lower` and `upper` of the
        population.
    confidence_level : float or None
    shown_odds_ratio : float
        Rows with a known group show that the odds differ at least by this; nan
        without such rows beside probabilities.

    See Also
    --------
    proxy_bounds : The function that returns this.
    skfair.inspection.CDFGapDisplay.from_proxy_bounds : Draws the distributions.

    Examples
    --------
    >>> from skfair.metrics import mcdp, proxy_bounds
    >>> result = proxy_bounds(
    ...     mcdp, None, [0.2, 0.4, 0.6, 0.8], group_probabilities=[0.1, 0.1, 0.9, 0.9],
    ...     odds_ratio=[1, 2],
    ... )
    >>> result.to_frame().round(3)
       odds_ratio  lower  upper  estimate
    0         1.0    0.8    0.8       0.8
    1         2.0    0.8    0.8       0.8
    """

    metric: str
    odds_ratio: Any = field(repr=False)
    lower: Any = field(repr=False)
    upper: Any = field(repr=False)
    estimate: float
    lower_confidence: Any = field(repr=False)
    upper_confidence: Any = field(repr=False)
    confidence_level: float | None
    shown_odds_ratio: float
    _rows: ProxyRows = field(repr=False)
    _cells: ScoreCells | DenseCells = field(repr=False)
    #: Bounds of the metric by odds ratio.
    _bounds: Callable[[float], tuple[float, float]] = field(repr=False)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self._rows.n_cells

    @property
    def labels(self) -> tuple[Any, ...]:
        """The groups."""
        return self._rows.labels

    @property
    def expected_counts(self) -> Integers:
        """Expected weight of each group, rounded: its number of rows if unweighted."""
        return np.rint(self._rows.group_masses()).astype(np.intp)

    def bounds_at(self, odds_ratio: float) -> tuple[float, float]:
        """Bounds at another odds ratio.

        Parameters
        ----------
        odds_ratio : float
            At least 1.

        Returns
        -------
        lower, upper : float
        """
        (ratio,) = check_odds_ratios(odds_ratio)
        return self._bounds(ratio)

    def tipping_odds_ratio(self, at: float = 0.0) -> float:
        """Least odds ratio at which the bounds reach a value.

        Parameters
        ----------
        at : float in [0, 1], default=0.0
            A disparity, such as none, or the largest that is allowed.

        Returns
        -------
        float
            1 where the estimate is `at`, and infinity where no odds ratio, not even
            infinity, explains a disparity of `at`.
        """
        at = check_real("at", at, 0, 1)
        if math.isnan(self.estimate):
            return math.nan

        def reached(log: float) -> bool:
            lower, upper = self._bounds(math.exp(log))
            return lower <= at <= upper

        low, high = 0.0, math.log(_LARGEST)
        if reached(low):
            return 1.0
        if not reached(high):
            return math.inf
        for _ in range(_N_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return math.exp(high)

    def cumulative_bounds(self, odds_ratio: float) -> pd.DataFrame:
        """Bounds of the groups' cumulative distributions.

        Parameters
        ----------
        odds_ratio : float
            At least 1; 1 gives the weighted distributions themselves.

        Returns
        -------
        DataFrame
            Indexed by the score, with the columns ``(label, "lower")`` and ``(label,
            "upper")`` for each group.

        Raises
        ------
        TypeError
            If the metric compares predicted labels.
        """
        cells = self._cells
        if isinstance(cells, DenseCells):
            raise TypeError("labels have no cumulative distributions: pass scores.")
        (ratio,) = check_odds_ratios(odds_ratio)
        rates = cells.rates(ratio, widened=ratio > 1)
        columns = {
            (label, end): bounds[group]
            for group, label in enumerate(self.labels)
            for end, bounds in (("lower", rates.low), ("upper", rates.high))
        }
        index = pd.Index(cells.thresholds, name="score")
        return pd.DataFrame(columns, index=index)

    def to_frame(self) -> pd.DataFrame:
        """Table with one row for each odds ratio.

        Returns
        -------
        DataFrame
        """
        columns = {
            "odds_ratio": np.atleast_1d(self.odds_ratio).astype(float),
            "lower": self.lower,
            "upper": self.upper,
            "estimate": self.estimate,
        }
        if self.confidence_level is not None:
            columns["lower_confidence"] = self.lower_confidence
            columns["upper_confidence"] = self.upper_confidence
        return pd.DataFrame(columns)

    def plot(
        self, ax: Axes | None = None, *, limit: float = 0.0, name: str | None = None
    ) -> GroupDotsDisplay:
        """Draw the bounds at several odds ratios, beside a limit.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        limit : float in [0, 1], default=0.0
            Disparity that is asked about: none, or the largest that is allowed. The
            legend has the smallest odds ratio at which it is possible.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        skfair.inspection.GroupDotsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If the bounds are undefined.

        Examples
        --------
        >>> from skfair.datasets import make_biased_scores
        >>> from skfair.metrics import mcdp, proxy_bounds
        >>> _, y_score, group = make_biased_scores(2000, random_state=0)
        >>> result = proxy_bounds(
        ...     mcdp, None, y_score, group_probabilities=0.1 + 0.8 * group
        ... )
        >>> result.plot(limit=0.1).axes_[0].get_xlabel()
        'mcdp'
        """
        if math.isnan(self.estimate):
            raise ValueError("result must have bounds, got nan: groups are absent.")
        tipping = self.tipping_odds_ratio(limit)
        texts = [f"{ratio:g}" for ratio in _DRAWN[:-1]] + ["any"]
        index = pd.Index(texts, name="odds ratio at most")
        lower, upper = np.array([self.bounds_at(ratio) for ratio in _DRAWN]).T
        table = pd.DataFrame({"lower": lower, "upper": upper}, index)
        table = table.assign(value=self.estimate, reference=limit)
        possible = "never possible"
        if math.isfinite(tipping):
            possible = f"possible with an odds ratio of {tipping:.3g}"
        display = GroupDotsDisplay(
            tables={self.metric: table},
            value="If independent given the proxy",
            interval="Bounds",
            reference=f"Limit {limit:.4g}, {possible}",
            name=name,
        )
        return display.plot(ax)


def proxy_bounds(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    group_probabilities: Any = None,
    cells: Any = None,
    odds_ratio: float | ArrayLike = math.inf,
    sensitive_features: ArrayLike | None = None,
    missing: Missing = "proxy",
    confidence_level: float | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> ProxyBoundsResult:
    """Bound a disparity between groups that are known with a probability only.

    Rows with the same proxy, such as a surname and a place, form a cell. The share of
    each group in a cell is known; which people of the cell belong to the group is
    unknown, and may depend on the score. The bounds contain every value that the metric
    can have.

    Parameters
    ----------
    metric : callable
        `mcdp`, `abcc`, `demographic_parity_difference` (of scores, or of decisions by
        its `threshold`) or `equalized_odds_difference`, or a `functools.partial` that
        sets its `multigroup`.
    y_true : array-like of shape (n_samples,) or None
        True labels, for `equalized_odds_difference` only.
    y_score : array-like of shape (n_samples,), or CountTable
        Scores or predicted labels, as `metric` takes them. Or a table whose groups are
        the cells, as `skfair.frames.count_table` counts them on any engine.
    group_probabilities : array-like of shape (n_samples,) or (n_samples, n_groups), \
or dict, default=None
        Probability of the second of two groups for each row, a column for each
        group, or a dictionary from cells to either. The groups are named as the
        columns are, or 0, 1, ... The probability of a cell is the mean of its rows. May
        be None with ``missing="bounds"``.
    cells : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
        The proxy of each row. None forms cells by probability: each distinct
        probability is a cell if there are at most 20 of them, otherwise the cells are
        20 quantiles of the probability.
    odds_ratio : float or array-like, default=inf
        How far the odds of a group may differ between a row and its cell, at
        least 1: 1 is independence of score and group given the proxy, infinity assumes
        nothing.
    sensitive_features : array-like of shape (n_samples,), default=None
        Groups of the rows of which they are known, None or nan elsewhere.
    missing : {"proxy", "bounds"}, default="proxy"
        ``"proxy"`` assumes that the probabilities are the shares of the groups among
        the rows of a cell whose group is unknown. ``"bounds"`` does not assume this,
        and only compares odds with the probability; without `group_probabilities` this
        is the share among the rows of the cell whose group is known.
    confidence_level : float in (0, 1), default=None
        Level of bounds for the population that the rows were drawn from.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    random_state : int, RandomState or None, default=None
        Seed of the draws of the noise.

    Returns
    -------
    ProxyBoundsResult

    Raises
    ------
    TypeError, ValueError
        On a metric or option that is not known here, probabilities that are none,
        lengths that differ, or cells of single rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups have a positive share.
    UserWarning
        If known rows contradict the probabilities of their cells, or more than 5 % of
        the rows are the only row of their cell.

    See Also
    --------
    ProxyBoundsResult.plot : The bounds by odds ratio.
    confidence_interval : Where the groups are known.

    Notes
    -----
    For two groups the upper bound of `mcdp`, both bounds of
    `demographic_parity_difference`, and the upper bound of `equalized_odds_difference`
    are sharp, that is attained. So are upper bounds for several groups with
    ``multigroup="pooled"``. Valid, but not always sharp, are lower bounds, `abcc`,
    pairs of three or more groups, mean scores with ``missing="bounds"``, and histograms
    within their bins.

    References
    ----------
    .. [1] Kallus, Mao, Zhou. "Assessing Algorithmic Fairness with Unobserved Protected
       Class Using Data Combination". Management Science 2022.
    .. [2] Rosenbaum. "Observational Studies". Springer 2002. The odds ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import mcdp, proxy_bounds
    >>> _, y_score, group = make_biased_scores(2000, random_state=0)
    >>> moved = np.random.default_rng(0).random(2000) < 0.2
    >>> district = np.where(moved, 1 - group, group)
    >>> result = proxy_bounds(
    ...     mcdp, None, y_score, cells=district, group_probabilities={0: 0.2, 1: 0.8}
    ... )
    >>> round(result.lower, 3), round(result.estimate, 3), round(result.upper, 3)
    (0.0, 0.212, 0.752)
    >>> mcdp(None, y_score, sensitive_features=group)  # not known to the auditor
    0.581
    """
    warn_if_reordered(
        y_true=y_true,
        y_score=y_score,
        group_probabilities=group_probabilities,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    ratios = check_odds_ratios(odds_ratio)
    if confidence_level is not None:
        check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    rows, cells_of_rows, kind, pairs = _read(
        metric,
        y_true,
        y_score,
        group_probabilities=group_probabilities,
        cells=cells,
        sensitive_features=sensitive_features,
        missing=missing,
        sample_weight=sample_weight,
    )
    bounds = partial(_bounds, cells_of_rows, kind, pairs)
    defined = not _warn_if_undefined(rows)
    nothing = np.full(len(ratios), math.nan)
    lower = upper = low = high = nothing
    estimate = math.nan
    if defined:
        estimate = float(np.mean(bounds(1.0, widened=False)))
        lower, upper = np.array([bounds(ratio) for ratio in ratios]).T
    if defined and confidence_level is not None:
        margin = margins(
            rows,
            _masses_at_quantiles(cells_of_rows),
            ratios.tolist(),
            kind,
            pairs,
            confidence_level,
            check_random_state(random_state),
        )
        low, high = np.maximum(lower - margin, 0), np.minimum(upper + margin, 1)

    def unpack_single(ends: Floats) -> Any:
        """Return a number where one odds ratio was given."""
        return float(ends[0]) if np.ndim(odds_ratio) == 0 else ends

    return ProxyBoundsResult(
        metric=as_metric(metric).name,
        odds_ratio=unpack_single(ratios),
        lower=unpack_single(lower),
        upper=unpack_single(upper),
        estimate=estimate,
        lower_confidence=None if confidence_level is None else unpack_single(low),
        upper_confidence=None if confidence_level is None else unpack_single(high),
        confidence_level=confidence_level,
        shown_odds_ratio=_warn_if_refuted(rows),
        _rows=rows,
        _cells=cells_of_rows,
        _bounds=bounds,
    )


def check_odds_ratios(odds_ratio: Any) -> Floats:
    """Return one or several odds ratios as an array."""
    try:
        ratios = np.atleast_1d(np.asarray(odds_ratio, dtype=float))
    except (TypeError, ValueError):
        ratios = np.full(1, math.nan)
    if ratios.ndim != 1 or not len(ratios) or not (ratios >= 1).all():
        problem = f"must be a number of at least 1, or several, got {odds_ratio!r}."
        raise ParameterError("odds_ratio", problem)
    return ratios


def _bounds(
    cells: ScoreCells | DenseCells,
    kind: Kind,
    pairs: list[Pair],
    odds_ratio: float,
    *,
    widened: bool = True,
) -> tuple[float, float]:
    """Return the bounds of a metric, by default widened by rounding errors."""
    rates = cells.rates(odds_ratio, widened=widened)
    lower, upper = measure(kind, rates, pairs, cells.widths)
    return min(lower, 1.0), min(upper, 1.0)


def _read(
    metric: Callable[..., float], y_true: Any, y_score: Any, **arguments: Any
) -> tuple[ProxyRows, ScoreCells | DenseCells, Kind, list[Pair]]:
    """Read the arguments; return rows by cell, the cells, the kind, and the pairs.

    The kind is that of the metric; the pairs are the groups to compare.
    """
    checked = as_metric(metric)
    if type(checked) not in _KNOWN:
        names = ", ".join(kind.name for kind in _KNOWN)
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{metric!r}."
        )
    kind, known_options = _KNOWN[type(checked)]
    options = changed_options(checked)
    for name, value in options.items():
        if name not in known_options:
            raise ValueError(
                f"{name} must be left at its default: bounds of {checked.name} "
                f"do not know this option, got {value!r}."
            )
    multigroup = options.pop("multigroup", "pairwise")
    cells: ScoreCells | DenseCells
    if isinstance(checked, EqualizedOdds):
        rows, n_classes = _label_pairs_by_cell(y_true, y_score, arguments)
        kinds = rows.lows.astype(np.intp)
        split = partial(_split_labels, n_classes, np.unique(kinds // n_classes))
        true_classes = np.arange(n_classes**2) // n_classes
        cells = DenseCells.from_rows(rows, kinds, true_classes, split)
    else:
        rows = _read_scores(y_true, y_score, options, kind, arguments)
        cells = ScoreCells(rows)
    pairs = list(compared_pairs(len(rows.labels), multigroup))
    return rows, cells, kind, pairs


def _read_scores(
    y_true: Any,
    y_score: Any,
    options: dict[str, Any],
    kind: Kind,
    arguments: dict[str, Any],
) -> ProxyRows:
    """Read rows by cell with their scores, or with 0 and 1 for decisions."""
    if kind == "mean":
        options = {"threshold": None, "pos_label": None, **options}
        read: Any = partial(parity_outcomes, **options)
    else:
        read = check_scores
    table, arguments = _find_table(y_true, y_score, arguments)
    if table is not None:
        ends = table.low, table.high
        low, high = (table.y_pred if end is None else end for end in ends)
        values = read(low)
        return read_table_by_cell(
            table, (values, values if high is low else read(high)), **arguments
        )
    check_y_true(y_true, y_score)
    return read_rows_by_cell(read(y_score), **arguments)


def _find_table(
    y_true: Any, y_score: Any, arguments: dict[str, Any]
) -> tuple[Rows | None, dict[str, Any]]:
    """Return the table given in place of rows, if any, and the remaining arguments."""
    by_row = ("cells", "sensitive_features", "sample_weight")
    columns = {name: arguments[name] for name in by_row}
    table = rows_of_table(y_score, y_true=y_true, **columns)
    if table is None:
        return None, arguments
    rest = {name: x for name, x in arguments.items() if name not in by_row}
    return table, rest


def _label_pairs_by_cell(
    y_true: Any, y_pred: Any, arguments: dict[str, Any]
) -> tuple[ProxyRows, int]:
    """Read rows by cell, each with the code of its pair of true and predicted label."""
    table, arguments = _find_table(y_true, y_pred, arguments)
    if table is not None:
        kinds, classes = encode_label_pairs(table.y_true, table.y_pred)
        values = kinds.astype(float)
        return read_table_by_cell(table, (values, values), **arguments), len(classes)
    kinds, classes = encode_label_pairs(y_true, y_pred)
    return read_rows_by_cell(kinds.astype(float), **arguments), len(classes)


def _split_labels(
    n_classes: int, true: Integers, masses: Floats
) -> tuple[Floats, Floats]:
    """Return the mass of each pair of labels, and the rest of its true class's mass.

    Of two predicted classes only the second is kept: the rest is the mass of the first.
    """
    pairs = masses.reshape(*masses.shape[:-1], n_classes, n_classes)
    class_masses = pairs[..., true, :]
    rest = class_masses.sum(axis=-1, keepdims=True) - class_masses
    first = int(n_classes == 2)
    flat = *masses.shape[:-1], -1
    return class_masses[..., first:].reshape(flat), rest[..., first:].reshape(flat)


def _warn_if_undefined(rows: ProxyRows) -> bool:
    """Warn if fewer than two groups have rows; return whether this is so."""
    masses = rows.group_masses()
    absent = [label for label, m in zip(rows.labels, masses, strict=True) if m <= 0]
    reason = None
    if len(rows.labels) < 2:
        reason = f"there must be at least two groups, got only {list(rows.labels)}"
    elif absent:
        reason = f"the groups {absent} have the probability 0 in all rows"
    if reason is not None:
        warn_user(
            undefined_estimate("The bound", reason).message, UndefinedMetricWarning
        )
    return reason is not None


def _warn_if_refuted(rows: ProxyRows) -> float:
    """Warn if known rows contradict probabilities; return their odds ratio."""
    refuted, odds_ratio = compare_known_rows(rows)
    n_refuted = int(refuted.sum())
    if n_refuted:
        warn_user(
            f"group_probabilities contradict the known groups of {n_refuted} of "
            f"{counted(rows.n_cells, 'cell')} at the level 0.05: the shares of the "
            "groups are not those of these rows, and the bounds may not hold.",
            UserWarning,
        )
    return odds_ratio


def _masses_at_quantiles(cells: ScoreCells | DenseCells) -> DenseCells:
    """Return the masses of cells between thresholds: all scores, or quantiles if many.

    Only thresholds that no entry straddles are taken, since an entry may be known by
    its bin only.
    """
    if isinstance(cells, DenseCells):
        return cells
    rows, (late, early) = cells.rows, cells.steps
    certain = late.overall == early.overall
    thresholds, overall = cells.thresholds[certain], late.overall[certain]
    if len(thresholds) > _N_POINTS:
        levels = np.arange(1, _N_POINTS) / _N_POINTS * overall[-1]
        positions = np.searchsorted(overall, levels)
        thresholds = thresholds[np.unique(np.append(positions, len(thresholds) - 1))]
    kinds = np.searchsorted(thresholds, rows.highs)
    widths = np.append(np.diff(thresholds), 0.0)
    together = np.zeros(len(thresholds), dtype=np.intp)
    return DenseCells.from_rows(rows, kinds, together, split_below, widths)
