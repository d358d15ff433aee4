"""Permutation test of any fairness metric, and disparities without their noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._results import Result
from skfair._utils._text import shown
from skfair._utils._validation import as_array, check_integer, check_no_missing
from skfair._utils._warnings import warn_user
from skfair.groups import encode_column, intersect, relabel, rows_by_code
from skfair.metrics._as_metric import as_metric
from skfair.metrics._inputs import rows_of_table
from skfair.metrics._metric import Metric, MetricOfPairs
from skfair.metrics._pairs import MAX_PAIRWISE, PairGaps
from skfair.metrics._resampling import (
    VALUE_ROUNDING,
    Reader,
    check_seed,
    exact_pvalue,
    read_and_evaluate,
    read_each,
    unit_of,
    value_of,
)
from skfair.metrics._sample import Sample, SamplePart

#: Up to this many gaps each is standardised by its own moments.
_MAX_GAPS = 1000
#: Standard deviations of gaps below this, in their unit, are rounding.
_NO_DEVIATION = 1e-9
#: Column of a table by which it is sorted.
_ORDER = "standardised"


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTestResult(Result):
    """Result of `permutation_test`.

    Attributes
    ----------
    value : float
        The metric on the data as given.
    pvalue : float in (0, 1]
        Share of permutations, the given order among them, that are at least as large:
        by their largest standardised gap of a pair of groups, or by their value.
    null_mean : float
        Mean of the metric over the permutations for which it is defined. A small group
        may have most of it: what chance gives each pair is in `pairs`.
    n_permutations : int
    null_distribution : ndarray of shape (n_permutations,)
        The metric for each permutation.
    ordered_by : {"pairs", "value"}
        Whether permutations are ordered by the largest standardised gap of a pair of
        groups, or by the value of a metric that is not a largest gap.
    pairs : DataFrame
        One row for each pair of groups, and for each stratum, class of scores, or true
        and predicted class. The row with the largest standardised gap, which decides
        the test, is first. The columns are

        - ``group``, ``other`` : labels of the groups; None for everyone, with whom each
          of more than 64 groups is compared,
        - ``stratum``, ``class``, ``label``, ``prediction`` : where there are any: the
          stratum, the position of the column of scores, the true and the predicted
          class,
        - ``gap`` : the metric of the two groups,
        - ``threshold`` : a score at which the gap is attained, of `mcdp` at epsilon 0,
        - ``by_chance`` : mean of the gap over permutations, nan for more than 1,000
          gaps,
        - ``pvalue`` : p-value of the gap, adjusted for all gaps of the table.

        Empty where permutations are ordered by the value.
    """

    value: float
    pvalue: float
    null_mean: float
    n_permutations: int
    null_distribution: Floats = field(repr=False)
    ordered_by: Literal["pairs", "value"] = "value"
    pairs: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)

    def _table(self) -> pd.DataFrame | None:
        """Return the pair that decides the test."""
        return self.pairs.head(1) if len(self.pairs) else None


def permutation_test(
    metric: Any,
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    within: ArrayLike | Literal["auto"] | None = "auto",
    n_permutations: int = 999,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **options: Any,
) -> PermutationTestResult:
    """Test whether a disparity is larger than with randomly permuted group labels.

    A metric that is the largest gap of several pairs of groups is tested by the largest
    *standardised* gap, so that a small group, whose gaps are large by chance, does not
    hide the gaps of others. Each pair has a p-value, too.

    Under the null hypothesis that a row's group is independent of its label, score and
    weight, group labels can be permuted over rows; for metrics of errors the group is
    independent of the prediction among rows of the same true label, within which
    labels are permuted. The p-value is exact at any sample size, for any metric and
    within any strata. A small p-value says that the disparity is not noise, not that
    it is large or unjust.

    Parameters
    ----------
    metric : callable or str
        A metric of `skfair.metrics` or its name, or a function of your own,
        ``metric(y_true, y_score, sensitive_features=...)``, that returns a number,
        large for a large disparity; with a keyword `sample_weight` if that is given.
        Your function gets an array of labels; labels of several columns are joined to a
        text.
    y_true : array-like of shape (n_samples,) or None
        True labels, handed to the metric.
    y_score : array-like of shape (n_samples,), or CountTable
        Scores or predicted labels, handed to the metric. Or a table of people
        without weights; the other arguments by row are then None. See the notes.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Group of each row; several columns stand for their intersection. None with a
        table.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which the metric compares groups. For a metric
        without this option, the largest value over strata is tested.
    within : "auto", None or array-like of shape (n_samples,), default="auto"
        Group labels are permuted among rows with the same value; None permutes them
        over all rows. "auto" takes `y_true` for metrics of errors, cells of rows with
        similar scores for `calibration_gap`, None for all other metrics, and in any
        case the strata of `control_features`. A function of your own that compares
        errors needs ``within=y_true``.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which stay with the row's score.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, where people have several, of one group and one stratum
        each: visits, loans, months. Groups are permuted among whole people.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``.

    Returns
    -------
    PermutationTestResult
        With nan in place of numbers where the metric is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If `n_permutations` is not a positive integer, if `within` has missing values
        or another number of rows, if a function of your own has a value for
        `sensitive_features` as given, but none for an array of labels, and as the
        metric does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As the metric does.
    UserWarning
        If the metric has the same value, not 0, for all permutations, so that the
        p-value is 1 whatever the groups are. With ``within="auto"``, if it is not known
        whether the metric compares errors.

    See Also
    --------
    bootstrap_interval : How precise the metric is.
    skfair.model_selection.cross_val_fairness : Tests what all folds held out.
    scipy.stats.ks_2samp : The same question for MCDP(0) and two groups, by theory.

    Notes
    -----
    The given order counts as one of the permutations, so that few permutations cost
    power, not exactness [1]_. What equals the given order within rounding counts as
    large. Rows of weight zero keep their group, and rows without a group keep none.

    Each gap is standardised by its mean and standard deviation over all permutations,
    the given order among them. Permutations are ordered by their largest standardised
    gap, then by the sum of all. A gap that is undefined in a permutation is left out
    there. A group of a few rows that alone differs is found less often than by the
    largest raw gap, any other group far more often.

    The p-value of a pair is the share of permutations in which any standardised gap is
    as large as the gap of the pair [2]_, exact if no groups differ, else approximate.
    With more than 1,000 gaps, the largest of each stratum, class and cell is
    standardised, by the sizes of groups. With more than 64 groups, each group is
    compared with everyone, as with ``multigroup="pooled"``, whichever pair has the
    value. With more than two groups, CDFs are compared in permutations at no more than
    4,096 scores.

    Metrics that are not the largest gap of two groups (`dcp`, `cvar_fairness`,
    `max_gap`, means over strata, and functions of your own) order permutations by the
    value. Where it is undefined it counts as large, which makes the p-value
    conservative.

    Equal rows, such as those of decisions, are counted in a table, unless only some of
    the permuted rows count. From this table, or a `CountTable`, numbers of rows are
    drawn as permuted rows would give them, at a cost that depends on distinct scores or
    bins, not on rows. Scores in bins count as rounded down to the edges of bins:
    `value` and the p-value are exact for the rounded scores.

    References
    ----------
    .. [1] Phipson, Smyth. "Permutation P-values Should Never Be Zero". Statistical
       Applications in Genetics and Molecular Biology 9(1), 2010.
    .. [2] Westfall, Young. "Resampling-Based Multiple Testing". Wiley, 1993.
       Algorithm 2.5.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import madd, permutation_test
    >>> y_true, y_score, group = make_biased_scores(400, random_state=0)
    >>> result = permutation_test(
    ...     madd, y_true, y_score, sensitive_features=group,
    ...     n_permutations=99, random_state=0,
    ... )
    >>> result.pvalue
    0.01

    Three groups, of which the third has few rows:

    >>> from skfair.metrics import demographic_parity_difference
    >>> hired = [1] * 80 + [0] * 120 + [1] * 170 + [0] * 130 + [1, 0, 0]
    >>> result = permutation_test(
    ...     demographic_parity_difference, None, hired,
    ...     sensitive_features=["a"] * 200 + ["b"] * 300 + ["c"] * 3, random_state=0,
    ... )
    >>> result.pairs.round(3)
      group other    gap  by_chance  pvalue
    0     a     b  0.167      0.037   0.002
    1     b     c  0.233      0.249   0.591
    2     a     c  0.067      0.252   1.000
    """
    metric = as_metric(metric, **options)
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    generator = check_seed(random_state)
    if not isinstance(within, str):
        rows_of_table(y_score, takes_strata=True, within=within)
    observed, sample = read_and_evaluate(
        metric,
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
        clusters=clusters,
    )
    return permute(
        sample,
        observed,
        within,
        n_permutations,
        generator=generator,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def permute(
    sample: Sample,
    observed: float,
    within: Any,
    n_permutations: int,
    *,
    generator: np.random.Generator,
    **options: Any,
) -> PermutationTestResult:
    """Test a metric whose value is given; `options` go to `read_each`."""
    unit = unit_of(sample.metric, sample.rows)
    sample, blocks = permuted_sample(sample, within)
    draws = ([sample.permuted(generator, blocks)] for _ in range(n_permutations))
    (result,) = permutation_tests(
        [sample],
        draws,
        observed=[observed],
        units=[unit],
        n_permutations=n_permutations,
        **options,
    )
    if result.pvalue == 1:
        _warn_if_constant(observed, result.null_distribution, VALUE_ROUNDING * unit)
    return result


def permutation_tests(
    samples: Sequence[Sample],
    draws: Iterable[Sequence[Sample]],
    *,
    observed: Sequence[float],
    units: Sequence[float],
    n_permutations: int,
    **options: Any,
) -> list[PermutationTestResult]:
    """Test several metrics, whose values are given, on the same permutations.

    Metrics whose value is undefined are not evaluated on permutations. `units` are the
    magnitudes of the numbers of each metric, from which rounding errors follow.
    `options` go to `read_each`.
    """
    undefined = summarise_values(math.nan, np.full(n_permutations, np.nan))
    results = [undefined] * len(samples)
    defined = [i for i, value in enumerate(observed) if not math.isnan(value)]
    if not defined:
        return results
    readers: list[Reader] = [
        GapReader(samples[i], units[i]) if orders_by_pairs(samples[i]) else value_of
        for i in defined
    ]
    shuffled = ([draw[i] for i in defined] for draw in draws)
    numbers = read_each(readers, shuffled, **options)
    for i, reader, drawn in zip(defined, readers, numbers, strict=True):
        if isinstance(reader, GapReader):
            results[i] = reader.summarise(observed[i], samples[i], drawn)
        else:
            results[i] = summarise_values(observed[i], drawn, units[i])
    return results


def orders_by_pairs(sample: Sample) -> bool:
    """Return whether permutations are ordered by the gaps of pairs of groups."""
    metric = sample.metric
    mean = sample.rows.strata is not None and metric.averages_strata
    return isinstance(metric, MetricOfPairs) and not sample.resplits_strata and not mean


class GapReader:
    """Computes the gaps by which permutations are ordered, for all pairs of groups."""

    def __init__(self, sample: Sample, unit: float) -> None:
        self.metric: Any = sample.metric
        self.unit = unit
        leaves_out = self.metric.leaves_groups_out
        self.reduce_largest = np.fmax.reduce if leaves_out else np.maximum.reduce
        sizes = [part.values.size for part in self._gaps(sample)]
        #: Whether gaps are standardised by the sizes of the groups, not each by itself.
        self.by_size = sum(sizes) > _MAX_GAPS

    def _gaps(self, sample: Sample) -> list[PairGaps]:
        """Return the gaps of all pairs of groups, for each stratum and class."""
        return [*map(self._gaps_of, sample.statistics)]

    def _gaps_of(self, statistic: Any) -> PairGaps:
        """Return the gaps of all pairs of groups in one stratum and class."""
        gaps: PairGaps
        pairwise = self.metric.multigroup == "pairwise"
        if not pairwise or statistic.n_groups <= MAX_PAIRWISE:
            gaps = self.metric.gaps(statistic)
            return gaps
        gaps = replace(self.metric, multigroup="pooled").gaps(statistic)
        value = math.nan
        if not np.isnan(self.reduce_largest(gaps.values.ravel())):
            value = self.metric.value(statistic)
        return gaps._replace(metric=value)

    def __call__(self, sample: Sample) -> Floats:
        """Return the metric of one draw, and the gaps to standardise."""
        largest, numbers = [], []
        for gaps in self._gaps(sample):
            value = gaps.metric
            if value is None:
                value = self.reduce_largest(gaps.values.ravel())
            raw = self._select_gaps(gaps)
            largest.append(value)
            numbers.append(np.full(len(raw), np.nan) if np.isnan(value) else raw)
        return np.concatenate([[np.fmax.reduce(largest)], *numbers])

    def _select_gaps(self, gaps: PairGaps) -> Floats:
        """Return all gaps; or, of each cell, the largest gap, scaled by group sizes."""
        if self.by_size:
            return np.asarray(np.fmax.reduce(gaps.scaled, axis=1))
        return gaps.values.ravel()

    def summarise(
        self, observed: float, sample: Sample, drawn: Floats
    ) -> PermutationTestResult:
        """Test the largest standardised gap, and make a table of all gaps.

        Permutations in which the metric is undefined are left out.
        """
        null = drawn[:, 0]
        numbers = np.vstack([self(sample), drawn[~np.isnan(null)]])[:, 1:]
        order = PermutationOrder.from_numbers(numbers, self.unit)
        return PermutationTestResult(
            value=observed,
            pvalue=order.pvalue,
            null_mean=_mean_of_defined(null),
            n_permutations=len(null),
            null_distribution=null,
            ordered_by="pairs",
            pairs=self._table(sample, order),
        )

    def _table(self, sample: Sample, order: PermutationOrder) -> pd.DataFrame:
        """Return the table of pairs, the largest standardised gap first."""
        tables, start = [], 0
        for part, gaps in enumerate(self._gaps(sample)):
            for cell, values in enumerate(gaps.values):
                width = 1 if self.by_size else len(values)
                here = slice(start, start + width)
                start += width
                raw = gaps.scaled[cell] if self.by_size else values
                standardised = order.standardise(raw, here)
                columns: dict[str, Any] = _names_of_pairs(sample.parts[part], gaps)
                columns |= gaps.cells[cell]
                exact = values if gaps.exact is None else gaps.exact()[cell]
                columns["gap"] = exact
                if gaps.place is not None:
                    columns["threshold"] = _places(gaps)
                columns["by_chance"] = (
                    math.nan if self.by_size else order.by_chance[here]
                )
                columns["pvalue"] = order.adjusted(standardised)
                tables.append(pd.DataFrame(columns).assign(**{_ORDER: standardised}))
        table = pd.concat(tables)
        table = table[table["gap"].notna()]
        table = table.sort_values(_ORDER, ascending=False, kind="stable")
        return table.drop(columns=_ORDER).head(_MAX_GAPS).reset_index(drop=True)


def _names_of_pairs(part: SamplePart, gaps: PairGaps) -> dict[str, pd.Series]:
    """Return the labels of both groups of each pair, with its stratum and class."""
    labels = part.rows.labels
    none: list[Any] = [None] * len(gaps.first)
    others = none if gaps.second is None else [labels[i] for i in gaps.second]
    pairs = {"group": [labels[i] for i in gaps.first], "other": others}
    pairs |= {name: [value] * len(none) for name, value in part.names.items()}
    # Objects stay as they are: not all text can be text of an Arrow array.
    return {name: pd.Series(column, dtype=object) for name, column in pairs.items()}


def _places(gaps: PairGaps) -> Floats:
    """Return the score at which each pair of groups has its gap."""
    assert gaps.place is not None
    seconds = [None] * len(gaps.first) if gaps.second is None else gaps.second.tolist()
    pairs = zip(gaps.first.tolist(), seconds, strict=True)
    return np.array([gaps.place(*pair) for pair in pairs])


class PermutationOrder(NamedTuple):
    """Compares the observed groups with permutations by the largest standardised gap.

    Each gap is centred by its mean, and divided by its standard deviation, over the
    observed groups and all permutations. Where the largest gaps are equal, the sum of
    all gaps decides.
    """

    means: Floats
    deviations: Floats
    #: Mean of each gap over permutations.
    by_chance: Floats
    #: Largest standardised gap of the observed groups, then of each permutation.
    largest: Floats
    rounding: float
    pvalue: float

    @classmethod
    def from_numbers(cls, numbers: Floats, unit: float) -> PermutationOrder:
        """Order rows of gaps, first those observed; gaps may be undefined."""
        means, deviations = _moments(numbers)
        deviations[deviations <= _NO_DEVIATION * unit] = math.inf
        smallest = deviations.min(initial=math.inf)
        rounding = VALUE_ROUNDING * unit / smallest
        standardised = (numbers - means) / deviations
        largest = np.fmax.reduce(standardised, axis=1)
        sums = np.nansum(standardised, axis=1)
        tied = np.abs(largest - largest[0]) <= rounding
        lowest = sums[0] - rounding * numbers.shape[1]
        above = np.where(tied, sums >= lowest, largest > largest[0])
        return cls(
            means=means,
            deviations=deviations,
            by_chance=_moments(numbers[1:])[0],
            largest=largest,
            rounding=rounding,
            pvalue=float(above.mean()),
        )

    def standardise(self, gaps: Floats, here: slice) -> Floats:
        """Standardise gaps by the moments of their columns."""
        return np.asarray((gaps - self.means[here]) / self.deviations[here])

    def adjusted(self, standardised: Floats) -> Floats:
        """Return p-values adjusted for all gaps, by the largest gap of each draw.

        The largest observed gap has the p-value of the test.
        """
        ordered = np.sort(self.largest)
        below = np.searchsorted(ordered, standardised - self.rounding)
        shares = (len(ordered) - below) / len(ordered)
        decides = standardised >= self.largest[0] - self.rounding
        return np.where(decides, self.pvalue, shares)


def _moments(numbers: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each column's defined numbers."""
    defined = ~np.isnan(numbers)
    n = defined.sum(axis=0)
    means = quotients(np.where(defined, numbers, 0).sum(axis=0), n, np.nan)
    squares = np.where(defined, (numbers - means) ** 2, 0).sum(axis=0)
    return means, np.sqrt(quotients(squares, n))


def _mean_of_defined(null: Floats) -> float:
    """Return the mean of the values that are defined, nan without any."""
    defined = null[~np.isnan(null)]
    return float(defined.mean()) if len(defined) else math.nan


def permuted_sample(sample: Sample, within: Any) -> tuple[Sample, list[Integers]]:
    """Return the sample to permute, and its exchangeable blocks of positions.

    Where people who are alike make few cells, as decisions do, the sample holds cells
    in place of people: numbers of people are drawn faster than people.
    """
    rows = sample.rows
    blocks = exchangeable_blocks(within, sample.metric, rows)
    strata = rows.people.strata
    if strata is not None:
        codes = strata.codes
        if any(np.ptp(codes[block]) for block in blocks if len(block)):
            sample = replace(sample, resplits_strata=True)
    if rows.n is not None:
        return sample.dealt(blocks)
    single = rows.cluster is None and len(sample.parts) == 1
    if single and orders_by_pairs(sample):
        return sample.count_in_cells(blocks)
    return sample, blocks


def exchangeable_blocks(within: Any, metric: Metric, rows: Rows) -> list[Integers]:
    """Return the positions of the people of each block in which groups are permuted."""
    people, strata = rows.people, []
    positions = people.counted_positions()
    if isinstance(within, str) and within == "auto":
        within = None
        if metric.exchangeable == "same true label":
            within = rows.y_true
        elif metric.exchangeable == "similar scores":
            within = score_cells(rows.average_by_person())
        elif metric.exchangeable == "unknown" and rows.y_true is not None:
            warn_of_errors(metric.name)
        if people.strata is not None:
            strata = [(people.strata.codes[positions], people.strata.labels)]
    if within is not None:
        values = check_strata(within, len(rows))
        codes, _ = encode_column(values, "raise", None, "within")
        codes = rows.encode_people(codes)[positions]
        strata.append((codes, tuple(range(codes.max(initial=-1) + 1))))
    if not strata:
        return [positions]
    codes, _ = intersect(strata)
    return [positions[block] for block in rows_by_code(codes) if len(block)]


def warn_of_errors(name: str) -> None:
    """Warn that a function of the user's own may compare errors."""
    warn_user(
        f"within='auto' permutes groups over all rows, since it is not known "
        f"whether {name} compares errors. Pass within=y_true if it "
        "does, and within=None if it does not.",
        UserWarning,
    )


def score_cells(rows: Rows) -> Integers:
    """Return the cell of each row: about sqrt(n) cells of similar scores.

    All groups weigh the same, so that cells are narrow where a small group has its
    scores. Rows with equal scores are in one cell; rows without a group do not count.
    """
    scores, codes = np.asarray(rows.y_pred, dtype=np.float64), rows.groups.codes
    numbers = np.where(codes >= 0, 1 if rows.n is None else rows.n, 0)
    sizes = np.bincount(np.maximum(codes, 0), numbers, max(rows.n_groups, 1))
    weights = numbers / np.maximum(sizes, 1)[codes]
    order = np.argsort(scores, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    below = sums[np.searchsorted(scores[order], scores)] / max(sums[-1], 1e-300)
    # More than the rounding of the sums.
    cells = np.floor(below * math.ceil(math.sqrt(numbers.sum())) + 1e-9)
    return np.asarray(cells.astype(np.intp))


def check_strata(within: Any, n_samples: int) -> NDArray[Any]:
    """Return the stratum of each row as an array, or raise ValueError."""
    if isinstance(within, str):
        raise ValueError(
            f"within must be 'auto', None or an array, got {shown(within)}."
        )
    values = as_array(within, "within", n_samples)
    check_no_missing(values, "within")
    return values


def _warn_if_constant(observed: float, null: Floats, rounding: float) -> None:
    """Warn if all permutations have the observed value, unless this value is 0."""
    if abs(observed) > rounding and np.abs(null - observed).max() <= rounding:
        warn_user(
            f"The metric is {observed:.6g} for all {len(null)} permutations, as it is "
            "for the given groups, so the p-value is 1 whatever the groups are. This "
            "happens where groups have too few rows for the metric to tell them apart. "
            "Merge small groups, or test a metric that depends on them, such as "
            "max_gap or cvar_fairness with quality='error_rate'.",
            UserWarning,
        )


def summarise_values(
    observed: float, null: Floats, unit: float = 1.0
) -> PermutationTestResult:
    """Test a metric by its values, where gaps of pairs do not order permutations."""
    return PermutationTestResult(
        value=observed,
        pvalue=exact_pvalue(observed, null, unit),
        null_mean=_mean_of_defined(null),
        n_permutations=len(null),
        null_distribution=null,
    )


#: Permutations that estimate the noise: they leave an error of about 4 % of it.
_N_PERMUTATIONS = 40
#: Pairs of groups that are corrected one by one.
_MAX_PAIRS = 45


def subtract_noise(sample: Sample, blocks: list[Integers]) -> float:
    """Subtract the noise from a defined metric, in squares, for each pair of groups.

    The noise of a pair is the mean square of its gap over permutations of all groups.
    The largest gap of several pairs has more noise than a single pair. The ratio of the
    squared gap of a pair to its noise is computed in each permutation: the noise is
    multiplied by the largest ratio, on average over permutations.
    """
    pairs: list[tuple[int, int]] = []
    if sample.metric.largest_of_pairs:
        present = np.flatnonzero(sample.rows.counts)
        pairs = list(combinations(present.tolist(), 2))
    if len(pairs) > _MAX_PAIRS or len(pairs) < 2:
        pairs = []
    generator = check_seed(0)
    drawn = [sample.permuted(generator, blocks) for _ in range(_N_PERMUTATIONS)]
    null = np.array([_values(permuted, pairs) for permuted in drawn]) ** 2
    null = null[~np.isnan(null).any(axis=1)]
    if not len(null):
        return math.nan
    noise = null.mean(axis=0)
    ratios = quotients(null, noise)
    squares = _values(sample, pairs) ** 2 - ratios.max(axis=1).mean() * noise
    return math.sqrt(max(float(squares.max()), 0))


def _values(sample: Sample, pairs: list[tuple[int, int]]) -> Floats:
    """Return the value of each pair of groups, or, without pairs, of all groups."""
    if not pairs:
        return np.array([sample.value])
    rows, labels = sample.rows, sample.rows.labels
    values = []
    for pair in pairs:
        groups = relabel(rows.groups, tuple(labels[i] for i in pair))
        two = replace(rows, groups=groups)[groups.codes >= 0]
        values.append(sample.metric.estimate(two).value)
    return np.array(values)
