"""The part of a gap that goes with columns, and the part that remains."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skfair._rows import Rows
from skfair._utils._results import TableResult
from skfair._utils._text import listed
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_real,
    check_scores,
)
from skfair._utils._warnings import warn_user, warns_if_reordered
from skfair.groups import columns_of, encode_column, group_index, plain_label
from skfair.inspection import _layout, _style
from skfair.inspection._display import Display
from skfair.inspection._standardisation import (
    as_they_are,
    draw_noise,
    given_columns,
    interval_of_difference,
    interval_of_gap,
    outcomes_of_metric,
    standardise,
)
from skfair.metrics import abcc, demographic_parity_difference, mcdp
from skfair.metrics._resampling import check_seed, evaluate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Metrics whose noise is known under weights that depend on the rows.
_METRICS: dict[str, Callable[..., float]] = {
    "mcdp": mcdp,
    "abcc": abcc,
    "demographic_parity_difference": demographic_parity_difference,
}
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


@warns_if_reordered
def explained_gap(
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    explained_by: Any,
    metric: Literal["mcdp", "abcc", "demographic_parity_difference"] = "mcdp",
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
    metric : {"mcdp", "abcc", "demographic_parity_difference"}, default="mcdp"
        A function of `skfair.metrics`: the largest difference of two groups over all
        thresholds, its mean over thresholds, or the difference of means.
    population : "overlap" or label of a group, default="overlap"
        On whom groups are compared: on people of whose columns all groups have some
        (overlap weights), or on people of one group, whose columns the other groups
        are given by weights; rows without overlap then do not count.
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
        ``effective_size``, that of the group with the least. Numbers are nan where
        groups cannot be compared.

    Raises
    ------
    ValueError
        If `population` is no group, on columns of another length, scores outside
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
    ExplainedGapDisplay : Draws the result.

    Notes
    -----
    With :math:`p_g(z)` the probability of group :math:`g` given the columns
    :math:`z`, a row of the group has the weight :math:`h(z) / p_g(z)`, where :math:`h`
    is :math:`1 / \\sum_k 1 / p_k` for overlap, which is :math:`p (1 - p)` of two
    groups, and :math:`p_r` for the group :math:`r`.

    In cells the signed difference of rates with overlap weights is the weighted mean
    of the differences within cells. Differences of opposite sign cancel there, which
    they do not in metrics with ``control_features``, whose values are at least 0.

    What several sets explain together is not the sum of what they explain alone, and
    what a set adds depends on those before it: compare it with the set alone.

    Intervals draw the noise of all gaps from the covariance of the rows' influence on
    them. It counts that probabilities are estimated, by the linear regression of scores
    on the columns [1]_ [3]_. Where several thresholds may have the largest gap, noise
    makes the value too large, and the interval reaches from the largest noise of all of
    them below it to that of one above. Where nothing may remain, all of the gap may be
    explained, and the interval of ``explained`` contains that of the gap. A classifier
    that misses how groups differ leaves a part of the gap unexplained, and no interval
    shows this.

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
    cv = check_integer("cv", cv, 2)
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    check_choice("metric", metric, tuple(_METRICS))
    rows = Rows.from_arrays(
        None, check_scores(y_score), sensitive_features, sample_weight
    )
    sets = _sets_of_columns(explained_by, len(rows))
    value, lower, upper = evaluate(_METRICS[metric], rows), math.nan, math.nan
    kept = rows.that_count()
    rows, labels = rows[kept], rows.labels
    target = _position_of(population, labels)
    index = pd.Index(sets, name="explained_by")
    table = pd.DataFrame(math.nan, index, list(_COLUMNS))
    sizes = pd.DataFrame(math.nan, index, group_index(labels, rows.groups.names))
    if not math.isnan(value):
        rng, generator = check_random_state(random_state), check_seed(random_state)
        codes, weights = rows.groups.codes.astype(np.intp), rows.weight
        if weights is not None:  # a classifier takes the size of weights for evidence
            weights = weights / weights.mean()
        fit_params = {} if weights is None else {"sample_weight": weights}
        before = as_they_are(codes, np.ones(len(kept)) if weights is None else weights)
        outcomes = outcomes_of_metric(metric, rows.y_pred, len(labels))
        lower, upper = interval_of_gap(
            value, draw_noise([before], outcomes, generator)[0], level
        )
        for i, columns in enumerate(sets.values()):
            part = columns.iloc[kept].reset_index(drop=True)
            given = given_columns(
                part, before, estimator, fit_params, cv=cv, rng=rng, n_jobs=n_jobs
            )
            alike = standardise(before, *given, target)
            sizes.iloc[i] = alike.effective_sizes
            numbers = [math.nan] * 6
            if alike.effective_sizes.all():
                weighted = replace(rows, weight=alike.weights)
                remaining = evaluate(_METRICS[metric], weighted)
                noise = draw_noise([before, alike], outcomes, generator)
                numbers = [
                    remaining,
                    *interval_of_gap(remaining, noise[1], level),
                    value - remaining,
                    *interval_of_difference((value, remaining), noise, level),
                ]
            without = 1 - np.average(alike.overlap, weights=before.weights)
            table.iloc[i] = [*numbers, without, alike.effective_sizes.min()]
    _warn_of_overlap(table)
    return ExplainedGapResult(
        value, lower, upper, table, sizes, population, metric, level
    )


def _position_of(population: Any, labels: tuple[Hashable, ...]) -> int | None:
    """Position of the group whose columns others are given, None for overlap."""
    if isinstance(population, str) and population == "overlap":
        return None
    population = plain_label(population)
    if population not in labels:
        raise ValueError(
            f"population must be 'overlap' or one of the groups {list(labels)}, got "
            f"{population!r}."
        )
    return labels.index(population)


def _sets_of_columns(explained_by: Any, n_samples: int) -> dict[str, pd.DataFrame]:
    """Columns of each set by its name: each alone, then together in their order."""
    if not isinstance(explained_by, Mapping):
        table = _as_table(explained_by, "", n_samples)
        named = any(str(name) for name in table.columns)
        return {listed(list(table.columns)) if named else "explained_by": table}
    if not explained_by:
        raise ValueError("explained_by is an empty dictionary, expected columns.")
    alone = {
        str(name): _as_table(columns, str(name), n_samples)
        for name, columns in explained_by.items()
    }
    found, names, tables = dict(alone), list(alone), list(alone.values())
    for end in range(2, len(names) + 1):
        together = pd.concat(tables[:end], axis=1)
        found[" + ".join(names[:end])] = together.set_axis(
            _numbered(list(together.columns)), axis=1
        )
    return found


def _as_table(data: Any, name: str, n_samples: int) -> pd.DataFrame:
    """Columns of any container as numbers and categories of pandas."""
    names, columns = columns_of(data, "explained_by")
    if not columns or len(columns[0]) != n_samples:
        got = f"{len(columns[0])} rows" if columns else "no columns"
        raise ValueError(
            f"explained_by must have {n_samples} rows, one per sample, got {got}"
            f"{f' in {name!r}' if name else ''}."
        )
    shown = [name if one is None else one for one in names]
    return pd.DataFrame(
        {
            one: _numbers_or_categories(column, one)
            for one, column in zip(_numbered(shown), columns, strict=True)
        }
    )


def _numbered(names: list[str]) -> list[str]:
    """Return names with a number where they occur several times."""
    numbers = [names[:i].count(name) + 1 for i, name in enumerate(names)]
    return [
        f"{name} ({number})".strip() if names.count(name) > 1 else name
        for name, number in zip(names, numbers, strict=True)
    ]


def _numbers_or_categories(column: Any, name: str) -> Any:
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
    """Warn of sets of columns with hardly any overlap of the groups."""
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
    >>> from skfair.inspection import ExplainedGapDisplay, explained_gap
    >>> X, y = load_berkeley_admissions(return_X_y=True)
    >>> result = explained_gap(
    ...     y, sensitive_features=X["sex"], explained_by=X["department"]
    ... )
    >>> display = ExplainedGapDisplay.from_result(result)
    >>> display.total_line_.get_label()
    'As it is: 0.142'
    """

    result: ExplainedGapResult
    name: str | None = None

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes. None stands for the display's own.

        Returns
        -------
        ExplainedGapDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        result, table = self.result, self.result.table
        self._begin(ax, _style.size_of_bars(len(table)))
        level = f"{result.confidence_level:.4g}"
        self.total_line_ = self.ax_.axvline(
            result.value, color=_style.INK, label=f"As it is: {result.value:.3f}"
        )
        self.total_band_ = self.ax_.axvspan(
            result.lower,
            result.upper,
            color=_style.SHADE,
            alpha=0.25,
            linewidth=0,
            label=f"As it is, {level} interval",
        )
        labels = [
            f"{_style.short_label(name)}\n(effective n = {size:,.0f})"
            for name, size in table["effective_size"].items()
        ]
        self.bars_, self.intervals_ = _style.bars_with_intervals(
            self.ax_,
            labels,
            table[["remaining", "remaining_lower", "remaining_upper"]],
            label=f"What remains, {level} intervals",
        )
        self.ax_.set_xlim(left=0)
        self.ax_.set_xlabel(_style.metric_text(result.metric))
        self._write_title(self.ax_, name)
        _layout.legend_outside(self.ax_, None, may_grow=ax is None)
        return self

    @classmethod
    def from_result(
        cls,
        result: ExplainedGapResult,
        *,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw a result.

        Parameters
        ----------
        result : ExplainedGapResult
            Result of `explained_gap`.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes.

        Returns
        -------
        ExplainedGapDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_result")
        return cls(result=result, name=name).plot(ax)
