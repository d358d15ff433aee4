"""The part of a gap that goes with columns, and the part that remains."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from skfair._pictures import _drawing
from skfair._pictures._display import Display
from skfair._rows import read_arrays
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._results import TableResult
from skfair._utils._text import listed
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_real,
    check_scores,
)
from skfair._utils._warnings import warn_if_reordered, warn_user
from skfair.groups import columns_of, encode_column, group_index, python_label
from skfair.metrics._as_metric import METRICS
from skfair.metrics._resampling import check_seed
from skfair.model_selection._folds import cross_fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Metrics whose noise is known under weights that depend on the rows.
_METRICS = ("mcdp", "demographic_parity_difference")
_COLUMNS = (
    "remaining",
    "remaining_lower",
    "remaining_upper",
    "explained",
    "explained_lower",
    "explained_upper",
    "no_overlap",
    "effective_size",
)
#: A larger share without overlap, or a smaller effective size, is warned of.
_MOST_WITHOUT, _LEAST_SIZE = 0.5, 50
#: Cells of equal rows take the place of a classifier if so many rows share each.
_ROWS_PER_CELL = 20
#: A group does not occur where it is this many times as rare as among everyone.
_OVERLAP = 0.05
#: Probabilities by a classifier are at least this.
_LEAST_PROBABILITY = 1e-6
#: Thresholds at which the noise of CDFs is drawn, of all groups together and of each.
_N_THRESHOLDS, _LEAST_THRESHOLDS = 200, 10
#: Draws of the noise, and most numbers that they hold.
_N_DRAWS, _MOST_NUMBERS = 2000, 10**8
#: Where a gap may be the largest: within so many standard errors of the largest.
_NEAR = 4.0
#: By how many standard deviations of its steps the largest value of a Brownian motion
#: exceeds that at the steps: Siegmund's correction, -zeta(1/2) / sqrt(2 pi).
_BETWEEN = 0.5826
#: Rows whose influence is computed at once.
_BLOCK = 2**16
#: Relative to the largest entry, what is added to the diagonal of normal equations.
_RIDGE = 1e-8

#: Regresses outcomes, shape (n_samples, n_outcomes), on the columns, by weighted rows;
#: returns what predicts the rows of a slice.
Regression: TypeAlias = Callable[[Floats, Floats], Callable[[slice], Floats]]


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedGapResult(TableResult):
    """Result of `explained_gap`; ``print(result)`` shows the table.

    Attributes
    ----------
    value : float
        The gap between the groups as they are.
    lower, upper : float
        Ends of its interval.
    table : DataFrame
        One row for each set of columns, with ``remaining``, ``explained`` and the ends
        of their intervals, ``no_overlap`` and ``effective_size``.
    effective_sizes : DataFrame
        Effective number of rows of each group under the weights of each set.
    population : object
        ``"overlap"``, or the label of the group whose columns the others are given.
    metric : str
        Name of the metric.
    confidence_level : float
    """

    value: float
    lower: float
    upper: float
    table: pd.DataFrame = field(repr=False)
    effective_sizes: pd.DataFrame = field(repr=False)
    population: Hashable
    metric: str
    confidence_level: float

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None
    ) -> ExplainedGapDisplay:
        """Draw what remains of the gap with each set of columns.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        ExplainedGapDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        return ExplainedGapDisplay(result=self, name=name).plot(ax)


def explained_gap(
    y_score: ArrayLike,
    *,
    sensitive_features: ArrayLike | None,
    explained_by: Any,
    metric: Literal["mcdp", "demographic_parity_difference"] = "mcdp",
    population: Hashable = "overlap",
    estimator: Any = None,
    cv: int = 5,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> ExplainedGapResult:
    """Divide a gap into what goes with some columns and what remains.

    The gap is measured as it is, and again with weights under which all groups have
    the same distribution of the columns `explained_by`, such as hours of work and
    occupation (direct standardisation). What is left is the gap that remains between
    people who are alike in these columns; the difference goes with the columns.

    Neither number is a cause or an excuse. Columns may carry an injustice themselves,
    such as a job that a group was kept from, and groups may differ in columns that
    nobody has recorded.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores in [0, 1], or decisions of 0 and 1.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    explained_by : array-like or dataframe of shape (n_samples,) or \
(n_samples, n_columns), or dict of name -> these
        Columns in which groups are made alike, numbers without bins or categories;
        missing values are a value of their own. Several sets in a dictionary are taken
        each alone, and then together in their order.
    metric : {"mcdp", "demographic_parity_difference"}, default="mcdp"
        A function of `skfair.metrics`: the largest difference of two groups over all
        thresholds, or the difference of means.
    population : "overlap" or label of a group, default="overlap"
        Population on which groups are compared: people whose columns occur in all
        groups (overlap weights), or the people of one group, to whose columns the other
        groups are weighted; rows without overlap then do not count.
    estimator : classifier, default=None
        Predicts the group from the columns, which it is given as a pandas DataFrame
        where what is not a number is categorical. None counts the groups in cells of
        equal rows if there are at least 20 rows for each cell, and takes
        `HistGradientBoostingClassifier` otherwise. Every row is predicted by a clone
        that was fitted to other rows.
    cv : int, default=5
        Number of folds of the cross-fit.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals, each for itself.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, of the classifier and of the noise that is drawn.
    n_jobs : int, default=None
        Number of processes for the cross-fits.

    Returns
    -------
    ExplainedGapResult
        Its `table` has a row for each set of columns: ``remaining`` and ``explained``,
        which add up to `value`; ``no_overlap``, the share of rows whose columns are
        more than 20 times rarer in some group than among everyone; and
        ``effective_size``, the smallest effective size of a group. Numbers are nan
        where groups cannot be compared.

    Raises
    ------
    ValueError
        If `population` is not a group, on columns of another length, scores outside
        [0, 1], missing groups, or parameters out of range.

    Warns
    -----
    UserWarning
        If more than half of the rows are without overlap, or a group's effective size
        is below 50.
    sklearn.exceptions.UndefinedMetricWarning
        As the metric does.

    See Also
    --------
    skfair.metrics.values_by_stratum : The metric within each stratum.
    sklearn.inspection.permutation_importance : With a fairness scorer, by how much a
        disparity falls if one feature of a model is shuffled.
    ExplainedGapResult.plot : Draws the result.

    Notes
    -----
    With :math:`p_g(z)` the probability of group :math:`g` given the columns
    :math:`z`, a row of the group has the weight :math:`h(z) / p_g(z)`, where :math:`h`
    is :math:`1 / \\sum_k 1 / p_k` for overlap, which is :math:`p (1 - p)` of two
    groups, and :math:`p_r` for the group :math:`r`.

    In cells, the signed difference of rates with overlap weights is the weighted mean
    of the differences within cells, in which differences of opposite sign cancel. In
    metrics with ``control_features`` they do not cancel, since values within strata are
    at least 0.

    Several sets together do not explain the sum of what each explains alone, and what a
    set adds depends on the sets before it: compare it with the set alone.

    Intervals draw the noise of all gaps from the covariance of the rows' influence on
    the gaps. They include the estimation of the probabilities, by the linear regression
    of scores on the columns [1]_ [3]_. Where several thresholds may have the largest
    gap, noise makes the value too large: the interval then extends below the value by
    the largest noise of all these thresholds, and above it by the noise of one. Where
    nothing may remain, all of the gap may be explained, and the interval of
    ``explained`` contains the interval of the gap. A classifier that misses how groups
    differ leaves a part of the gap unexplained, and no interval shows this.

    References
    ----------
    .. [1] Li, Morgan, Zaslavsky. "Balancing Covariates via Propensity Score Weighting".
       Journal of the American Statistical Association 113, 2018.
    .. [2] Li, Li. "Propensity Score Weighting for Causal Inference with Multiple
       Treatments". Annals of Applied Statistics 13, 2019.
    .. [3] Hirano, Imbens, Ridder. "Efficient Estimation of Average Treatment Effects
       Using the Estimated Propensity Score". Econometrica 71, 2003.

    Examples
    --------
    Fewer women than men were admitted at Berkeley, and hardly more or fewer within
    departments:

    >>> from skfair.datasets import load_berkeley_admissions
    >>> from skfair.inspection import explained_gap
    >>> X, y = load_berkeley_admissions(return_X_y=True)
    >>> result = explained_gap(
    ...     y,
    ...     sensitive_features=X["sex"],
    ...     explained_by=X["department"],
    ...     metric="demographic_parity_difference",
    ...     random_state=0,
    ... )
    >>> round(result.value, 3)
    0.142
    >>> result.table.loc["department", ["remaining", "explained"]].round(3).to_dict()
    {'remaining': 0.018, 'explained': 0.123}
    """
    warn_if_reordered(
        y_score=y_score,
        sensitive_features=sensitive_features,
        explained_by=explained_by,
        sample_weight=sample_weight,
    )
    cv = check_integer("cv", cv, 2)
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    check_choice("metric", metric, _METRICS)
    rows = read_arrays(
        None,
        check_scores(y_score),
        sensitive_features,
        sample_weight=sample_weight,
    )
    sets = _name_column_sets(explained_by, len(rows))
    compared = METRICS[metric]()
    value, lower, upper = compared.evaluate(rows), math.nan, math.nan
    counting = rows.counted_positions()
    rows, labels = rows[counting], rows.labels
    target = _target_position(population, labels)
    index = pd.Index(sets, name="explained_by")
    table = pd.DataFrame(math.nan, index, list(_COLUMNS))
    sizes = pd.DataFrame(math.nan, index, group_index(labels, rows.groups.names))
    if not math.isnan(value):
        rng, generator = check_random_state(random_state), check_seed(random_state)
        codes, weights = rows.groups.codes.astype(np.intp), rows.weight
        if weights is not None:  # a classifier takes the size of weights for evidence
            weights = weights / weights.mean()
        fit_params = {} if weights is None else {"sample_weight": weights}
        base = np.ones(len(codes)) if weights is None else weights.astype(np.float64)
        before = Standardised(codes, base, base)
        noise_of = partial(draw_noise, metric=metric, scores=rows.y_pred, rng=generator)
        lower, upper = gap_interval(value, noise_of([before])[0], confidence_level)
        for i, columns in enumerate(sets.values()):
            part = columns.iloc[counting].reset_index(drop=True)
            predicted = estimate_probabilities(
                part, before, estimator, fit_params, cv=cv, rng=rng, n_jobs=n_jobs
            )
            alike = standardise(before, *predicted, target)
            sizes.iloc[i] = alike.effective_sizes
            numbers = [math.nan] * 6
            if alike.effective_sizes.all():
                weighted = replace(rows, weight=alike.weights)
                remaining = compared.evaluate(weighted)
                noise = noise_of([before, alike])
                numbers = [
                    remaining,
                    *gap_interval(remaining, noise[1], confidence_level),
                    value - remaining,
                    *difference_interval((value, remaining), noise, confidence_level),
                ]
            without = 1 - np.average(alike.overlap, weights=before.weights)
            table.iloc[i] = [*numbers, without, alike.effective_sizes.min()]
    _warn_of_overlap(table)
    return ExplainedGapResult(
        value, lower, upper, table, sizes, population, metric, confidence_level
    )


def _target_position(population: Any, labels: tuple[Hashable, ...]) -> int | None:
    """Return the position of the target group, None for the overlap population."""
    if isinstance(population, str) and population == "overlap":
        return None
    population = python_label(population)
    if population not in labels:
        raise ValueError(
            f"population must be 'overlap' or one of the groups {list(labels)}, got "
            f"{population!r}."
        )
    return labels.index(population)


def _name_column_sets(explained_by: Any, n_samples: int) -> dict[str, pd.DataFrame]:
    """Return sets of columns by name: each set alone, and unions in the given order."""
    if not isinstance(explained_by, Mapping):
        table = _read_columns(explained_by, "", n_samples)
        named = any(str(name) for name in table.columns)
        return {listed(list(table.columns)) if named else "explained_by": table}
    if not explained_by:
        raise ValueError("explained_by is an empty dictionary, expected columns.")
    alone = {
        str(name): _read_columns(columns, str(name), n_samples)
        for name, columns in explained_by.items()
    }
    sets, names, tables = dict(alone), list(alone), list(alone.values())
    for end in range(2, len(names) + 1):
        together = pd.concat(tables[:end], axis=1)
        sets[" + ".join(names[:end])] = together.set_axis(
            _number_duplicates(list(together.columns)), axis=1
        )
    return sets


def _read_columns(data: Any, name: str, n_samples: int) -> pd.DataFrame:
    """Return columns of any container as a dataframe of numbers and categories."""
    names, columns = columns_of(data, "explained_by")
    if not columns or len(columns[0]) != n_samples:
        got = f"{len(columns[0])} rows" if columns else "no columns"
        raise ValueError(
            f"explained_by must have {n_samples} rows, one per sample, got {got}"
            f"{f' in {name!r}' if name else ''}."
        )
    shown = [name if label is None else label for label in names]
    return pd.DataFrame(
        {
            label: _convert_column(column, label)
            for label, column in zip(_number_duplicates(shown), columns, strict=True)
        }
    )


def _number_duplicates(names: list[str]) -> list[str]:
    """Append a number to names that occur several times."""
    numbers = [names[:i].count(name) + 1 for i, name in enumerate(names)]
    return [
        f"{name} ({number})".strip() if names.count(name) > 1 else name
        for name, number in zip(names, numbers, strict=True)
    ]


def _convert_column(column: Any, name: str) -> Any:
    """Return a column as floats if it holds numbers only, else as categories."""
    values = pd.Series(np.asarray(column)).infer_objects()
    if values.dtype.kind in "biuf" and not isinstance(
        getattr(column, "dtype", None), pd.CategoricalDtype
    ):
        return values.to_numpy(np.float64)
    codes, labels = encode_column(column, "drop", name, "explained_by")
    categories = pd.Index(list(labels), tupleize_cols=False)
    return pd.Categorical.from_codes(codes, categories)


def _warn_of_overlap(table: pd.DataFrame) -> None:
    """Warn of sets of columns on which the groups hardly overlap."""
    few = table[
        (table["no_overlap"] > _MOST_WITHOUT) | (table["effective_size"] < _LEAST_SIZE)
    ]
    if len(few):
        texts = [
            f"{name!r} ({row.no_overlap:.0%} of the rows are without overlap, least "
            f"effective size {row.effective_size:.0f})"
            for name, row in few.iterrows()
        ]
        warn_user(
            f"Groups hardly overlap in {listed(texts)}: what remains is a comparison "
            "of few people, who may be unlike all others."
        )


class Standardised(NamedTuple):
    """Rows whose groups are compared, with weights that may standardise the groups.

    `influence` is what a row adds to the weight of its columns in the population on
    which groups are compared.
    """

    codes: Integers
    sample_weight: Floats
    weights: Floats
    influence: Any = None
    overlap: Any = None
    regress: Regression | None = None

    @property
    def effective_sizes(self) -> Floats:
        """Kish's effective number of rows of each group."""
        sums = np.bincount(self.codes, self.weights)
        squares = np.bincount(self.codes, self.weights**2)
        return quotients(sums**2, squares)


def estimate_probabilities(
    columns: pd.DataFrame,
    rows: Standardised,
    estimator: Any,
    fit_params: dict[str, Any],
    *,
    cv: int,
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> tuple[Floats, Regression]:
    """Estimate the probability of each group given the columns.

    Groups are counted in cells of equal rows if there is no estimator and the cells are
    few; otherwise cross-fitted classifiers predict the groups. Return also a regression
    of outcomes on the columns.
    """
    codes, n_groups = rows.codes, int(rows.codes.max()) + 1
    if estimator is None:
        cells = np.zeros(len(columns), dtype=np.int64)
        for name in columns:
            values, distinct = pd.factorize(columns[name], use_na_sentinel=False)
            cells = pd.factorize(cells * len(distinct) + values)[0]
        if len(cells) >= _ROWS_PER_CELL * (cells.max() + 1):
            members = (codes[:, None] == np.arange(n_groups)).astype(np.float64)
            shares = _cell_means(cells, members, rows.weights)(slice(None))
            return shares, partial(_cell_means, cells)
        from sklearn.ensemble import HistGradientBoostingClassifier

        estimator = HistGradientBoostingClassifier(
            categorical_features="from_dtype", random_state=rng.randint(2**31 - 1)
        )
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            "estimator must be a classifier with predict_proba, which predicts the "
            f"group from the columns, got {estimator!r}."
        )
    if (smallest := np.bincount(codes).min()) < cv:
        raise ValueError(
            f"cv must be at most {smallest}, the number of rows of the smallest group, "
            f"got {cv}: each part of the rows needs every group."
        )
    splits = StratifiedKFold(cv, shuffle=True, random_state=rng).split(columns, codes)
    parts = cross_fit(
        estimator, columns, codes, splits, fit_params, _predict, n_jobs=n_jobs
    )
    fitted = np.full((len(codes), n_groups), _LEAST_PROBABILITY)
    for test, groups, predicted in parts:
        fitted[np.ix_(test, groups)] = np.maximum(predicted, _LEAST_PROBABILITY)
    return fitted, partial(_least_squares, _design(columns))


def _predict(
    fitted: Any, X: Any, test: Integers
) -> tuple[Integers, NDArray[Any], Floats]:
    """Predict the group probabilities of the rows that were left out of a fit."""
    return test, fitted.classes_, fitted.predict_proba(X)


def _cell_means(
    cells: Integers, outcomes: Floats, weights: NDArray[Any]
) -> Callable[[slice], Floats]:
    """Regress outcomes by their weighted mean in each cell, 0 without weight."""
    shape = int(cells.max()) + 1, len(cells)
    sums = csr_array((weights, (cells, np.arange(len(cells)))), shape) @ outcomes
    totals = np.bincount(cells, weights)[:, None]
    means = quotients(sums, totals)
    return lambda rows: means[cells[rows]]


def _least_squares(
    design: Floats, outcomes: Floats, weights: NDArray[Any]
) -> Callable[[slice], Floats]:
    """Regress outcomes in [0, 1] by weighted least squares."""
    weighted = design * weights[:, None]
    normal = weighted.T @ design
    normal[np.diag_indices_from(normal)] += _RIDGE * normal.max()
    coefficients = np.linalg.solve(normal, weighted.T @ outcomes)
    return lambda rows: np.clip(design[rows] @ coefficients, 0, 1)


def _design(columns: pd.DataFrame) -> Floats:
    """Return a design of numbers, squares, and indicators of missing and categories."""
    parts = [np.ones((len(columns), 1))]
    for name in columns:
        column = columns[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            parts.append(pd.get_dummies(column, dtype=float).to_numpy())
            continue
        values = column.to_numpy()
        finite = np.isfinite(values)
        spread = np.std(values[finite]) if finite.any() else 0.0
        centre = np.mean(values[finite]) if finite.any() else 0.0
        scaled = np.where(finite, values - centre, 0) / (spread or 1.0)
        parts.append(np.column_stack([scaled, scaled**2, ~finite]))
    return np.hstack(parts)


def standardise(
    rows: Standardised,
    probabilities: Floats,
    regress: Regression,
    target: int | None,
) -> Standardised:
    """Weight rows so that all groups have the columns of one group or overlap.

    The probabilities and the regression come from `estimate_probabilities`. A row whose
    group has the probability `p` has the weight ``h / p``. Its influence is h plus the
    derivative of h in the probabilities times their error. The sum is ``(h / p) ** 2``
    for overlap; for a target group it is 1 in this group.
    """
    codes, sample_weight = rows.codes, rows.weights
    shares = np.bincount(codes, sample_weight) / sample_weight.sum()
    overlap = (probabilities >= _OVERLAP * shares).all(axis=1)
    group_probability = np.take_along_axis(probabilities, codes[:, None], axis=1)[:, 0]
    if target is None:
        with np.errstate(divide="ignore"):
            relative = 1 / (1 / probabilities).sum(axis=1) / group_probability
        influence = relative**2
    else:
        relative = np.where(overlap, probabilities[:, target], 0) / group_probability
        influence = overlap * (codes == target)
    return Standardised(
        codes,
        sample_weight,
        sample_weight * relative,
        sample_weight * influence,
        overlap,
        regress,
    )


def cdf_thresholds(scores: Floats, n_groups: int) -> tuple[Floats, bool]:
    """Return the thresholds of CDFs, and whether scores lie between thresholds."""
    n_thresholds = max(_LEAST_THRESHOLDS, _N_THRESHOLDS // n_groups)
    thresholds = np.unique(scores)
    if len(thresholds) <= n_thresholds:
        return thresholds, False
    probabilities = (np.arange(n_thresholds) + 0.5) / n_thresholds
    return np.unique(np.quantile(scores, probabilities, method="inverted_cdf")), True


class Noise(NamedTuple):
    """Draws of bounds for the error of an estimated gap.

    The error is at most `above`, of shape (n_draws,), and at least one of the columns
    of `below`, of shape (n_draws, n_columns); it is unknown which column. `again`, of
    shape (n_draws,), is the error if the true gaps equal the estimates.
    """

    above: Floats
    below: Floats
    again: Floats


def draw_noise(
    several: Sequence[Standardised],
    metric: str,
    scores: Floats,
    rng: np.random.Generator,
) -> list[Noise]:
    """Draw errors of gaps jointly, from the covariance of the influence of rows.

    The largest of several estimated gaps exceeds the largest true gap by at most the
    largest error of all gaps that may be the largest, and by at least the error of the
    gap that is truly the largest.
    """
    n_samples, n_groups = len(several[0].codes), int(several[0].codes.max()) + 1
    thresholds, between = cdf_thresholds(scores, n_groups)
    compares_means = metric == "demographic_parity_difference"

    def outcomes(rows: slice) -> Floats:
        """Return outcomes to compare: a number, or scores at each threshold."""
        if compares_means:
            return scores[rows, None]
        return (scores[rows, None] <= thresholds).astype(np.float64)

    estimates = [_weighted_means(rows, outcomes, n_groups) for rows in several]
    covariance = np.zeros((1, 1))
    for start in range(0, n_samples, _BLOCK):
        rows = slice(start, start + _BLOCK)
        influence = np.hstack([influence_of(rows) for _, influence_of in estimates])
        covariance = covariance + influence.T @ influence
    pairs = np.array(list(permutations(range(n_groups), 2)))
    n_numbers = len(pairs) * estimates[0][0].shape[1]
    n_draws = int(np.clip(_MOST_NUMBERS // n_numbers, 200, _N_DRAWS))
    values, vectors = np.linalg.eigh(covariance)
    normal = rng.standard_normal((n_draws, len(values)))
    drawn = normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
    smallest = min(float(rows.effective_sizes.min()) for rows in several)
    freedom = max(smallest - 1, 1.0)  # Student's: a small group's variance is estimated
    drawn *= np.sqrt((freedom + 1) / rng.chisquare(freedom, (n_draws, 1)))
    noises = []
    parts = np.split(drawn, len(several), axis=1)
    for (means, _), part in zip(estimates, parts, strict=True):
        errors = part.reshape(n_draws, n_groups, -1)
        errors = errors[:, pairs[:, 0]] - errors[:, pairs[:, 1]]
        gaps = means[pairs[:, 0]] - means[pairs[:, 1]]
        noise = _largest_noise(gaps.ravel(), errors.reshape(n_draws, -1))
        if between and not compares_means:
            missed = np.diff(errors).std(axis=0).mean()
            noise = noise._replace(above=noise.above + _BETWEEN * missed)
        noises.append(noise)
    return noises


def _weighted_means(
    rows: Standardised, outcomes: Callable[[slice], Floats], n_groups: int
) -> tuple[Floats, Callable[[slice], Floats]]:
    """Return weighted mean outcomes of groups, and a function for the rows' influence.

    The influence of a row is what it adds to the mean of each group, group by group.
    """
    values = outcomes(slice(None))
    members = rows.codes[:, None] == np.arange(n_groups)
    totals: Floats = np.bincount(rows.codes, rows.weights).astype(np.float64)
    means = (members * rows.weights[:, None]).T @ values / totals[:, None]
    predict = []
    if rows.regress is not None:
        for member in members.T:
            predict.append(rows.regress(values, rows.sample_weight * member))

    def influence(part: slice) -> Floats:
        values, parts = outcomes(part), []
        codes, weights = rows.codes[part], rows.weights[part]
        for group, mean in enumerate(means):
            expected = predict[group](part) if predict else mean
            deviations = (weights * (codes == group))[:, None] * (values - expected)
            if predict:
                deviations += rows.influence[part, None] * (expected - mean)
            parts.append(deviations / totals[group])
        return np.hstack(parts)

    return means, influence


def _largest_noise(gaps: Floats, errors: Floats) -> Noise:
    """Return the noise of the largest of several gaps."""
    best = int(gaps.argmax())
    apart = np.std(errors - errors[:, [best]], axis=0)
    near = gaps >= gaps[best] - _NEAR * apart
    errors, short = errors[:, near], gaps[near] - gaps[best]
    return Noise(errors.max(axis=1), errors, (errors + short).max(axis=1))


def gap_interval(
    value: float, noise: Noise, confidence_level: float
) -> tuple[float, float]:
    """Return the confidence interval of a gap, from draws of its noise."""
    tail = (1 - confidence_level) / 2
    lower = value - float(np.quantile(noise.above, 1 - tail))
    upper = value - float(np.quantile(noise.below, tail, axis=0).min())
    return max(0.0, lower), min(1.0, upper)


def difference_interval(
    values: tuple[float, float], noises: Sequence[Noise], confidence_level: float
) -> tuple[float, float]:
    """Return an interval of the difference of two gaps, from draws of noise.

    It is unknown which of several gaps is truly the largest. The interval contains two
    intervals: one for gaps as far apart as estimated, and one for equal gaps among all
    that may be the largest. If the second gap may be 0, it also contains the interval
    of the first gap. If the first gap may be 0, it also contains the negative interval
    of the second gap.
    """
    first, second = noises
    tail, difference = (1 - confidence_level) / 2, values[0] - values[1]
    errors = [first.again - second.again, first.above - second.above]
    low, high = np.quantile(errors, [tail, 1 - tail], axis=1)
    lower, upper = difference - float(high.max()), difference - float(low.min())
    first_interval, second_interval = (
        gap_interval(*estimate, confidence_level)
        for estimate in zip(values, noises, strict=True)
    )
    if second_interval[0] == 0:
        lower, upper = min(lower, first_interval[0]), max(upper, first_interval[1])
    if first_interval[0] == 0:
        lower, upper = min(lower, -second_interval[1]), max(upper, -second_interval[0])
    return lower, upper


@dataclass(kw_only=True, eq=False, repr=False)
class ExplainedGapDisplay(Display):
    """What remains of a gap with each set of columns, as bars with intervals.

    Parameters
    ----------
    result : ExplainedGapResult
        Result of `explained_gap`.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        What remains with each set of columns.
    intervals_ : matplotlib LineCollection
        Intervals of what remains.
    total_line_ : matplotlib Line2D
        The gap as it is.
    total_band_ : matplotlib artist
        Its interval.

    See Also
    --------
    explained_gap : The numbers behind the picture.

    Examples
    --------
    >>> from skfair.datasets import load_berkeley_admissions
    >>> from skfair.inspection import explained_gap
    >>> X, y = load_berkeley_admissions(return_X_y=True)
    >>> result = explained_gap(
    ...     y, sensitive_features=X["sex"], explained_by=X["department"]
    ... )
    >>> display = result.plot()
    >>> display.total_line_.get_label()
    'As it is: 0.142'
    """

    result: ExplainedGapResult
    name: str | None = None

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure in inches."""
        return 7.5, 1.6 + 0.5 * len(self.result.table)

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        result, table = self.result, self.result.table
        level = f"{result.confidence_level:.4g}"
        self.total_line_ = self.ax_.axvline(
            result.value, color=_drawing.INK, label=f"As it is: {result.value:.3f}"
        )
        ends, text = (result.lower, result.upper), f"As it is, {level} interval"
        style = _drawing.band_style(None, 0.25)
        self.total_band_ = self.ax_.axvspan(*ends, **style, label=text)
        labels = [
            f"{_drawing.short_label(name)}\n(effective n = {size:,.0f})"
            for name, size in table["effective_size"].items()
        ]
        ranks = np.arange(len(table))
        look: dict[str, Any] = {"color": _drawing.COLORS[0], "alpha": 0.6}
        text = f"What remains, {level} intervals"
        self.bars_ = self.ax_.barh(ranks, table["remaining"], 0.6, **look, label=text)
        ends = table["remaining_lower"], table["remaining_upper"]
        look = {"color": _drawing.INK, "linewidth": 1.8}
        self.intervals_ = self.ax_.hlines(ranks, *ends, **look)
        self.ax_.set_yticks(ranks, labels)
        self.ax_.set_ylim(len(table) - 0.5, -0.5)
        self.ax_.set_xlim(left=0)
        self.ax_.set_xlabel(_drawing.metric_text(result.metric))
        return self.ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend outside the axes, since bars leave no corner free."""
        _drawing.legend_outside(self.ax_, None, may_grow=may_grow)
