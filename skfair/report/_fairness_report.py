"""The report: numbers, what they say, and a page to hand over."""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self, get_args

import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._files import write_text
from skfair._utils._validation import AnyScale, Scale, check_choice
from skfair.report._inputs import estimator_inputs, make_audit, read_frame
from skfair.report._markdown import card_sections, record_of, render_markdown
from skfair.report._options import DEFAULT_TITLE, Options
from skfair.report._page import render
from skfair.report._summary import summarize, tell_predicted

#: Columns of tables, by what they are called in a summary.
_RENAMED = {
    "results.model": "model",
    "name": "attribute",
    "key": "metric",
    "label": "group",
    "results.impact_ratios.kind": "kind",
    "beside_first.value": "difference",
    "beside_first.lower": "difference_lower",
    "beside_first.upper": "difference_upper",
}
#: Columns of the table of metrics, and those of them that are numbers.
_NUMBERS = [
    *("value", "lower", "upper", "certified", "null_mean", "pvalue", "difference"),
    *("difference_lower", "difference_upper"),
]
_OF_METRICS = [
    *("model", "attribute", "comparison", "metric", *_NUMBERS, "tested", "n"),
    *("n_groups", "smallest_group", "sentence", "note"),
]
#: Where the rows of tables are in a result, and what names them beside its model.
_PATHS: dict[str, tuple[list[str], list[Any]]] = {
    "metrics": (["measures"], ["comparison"]),
    "groups": (["groups"], []),
    "impact_ratios": (
        ["impact_ratios", "rows"],
        [["results", "impact_ratios", "kind"]],
    ),
    "strata": (["strata", "rows"], []),
    "pooled": (["pooled", "rows"], []),
}
#: Parameters of a report that some tables need.
_NEEDED = {
    "strata": "control_features",
    "impact_ratios": "impact_ratios=True",
    "pooled": "intersection=True, decisions and several attributes",
}
#: Tables of a report.
Table = Literal["metrics", "models", "groups", "impact_ratios", "strata", "pooled"]


class FairnessReport:
    """Report of all applicable metrics, with their uncertainty, in numbers and words.

    It is made by `from_estimator`, `from_predictions` or `from_frame`, for one or
    several models.
    Several sensitive attributes are reported one by one, and two also as their
    intersection.

    Parameters
    ----------
    summary : dict
        All numbers and texts of the report, kept as the attribute of this name, which
        JSON can hold.

    See Also
    --------
    skfair.metrics.confidence_interval : The intervals.
    skfair.metrics.permutation_test : The p-values, and the values under chance.

    Notes
    -----
    Numbers are those that `skfair.metrics` returns for the same rows and
    `random_state`; the page lists the calls. From 50,000 rows on, p-values without
    `clusters` come from draws of counts, whose distribution is the same, in a time that
    hardly grows with the rows. For these draws, close scores count as one where more
    than 16,384 are distinct. Rows are counted by weight, too: close weights count as
    one where more than 32 are distinct, and scores are joined to 16,384 cells of score
    and weight. Up to ten groups are compared in pairs. Each of more than ten groups is
    compared with everyone (``multigroup="pooled"``), and MADD and the calibration gap
    are left out unless `metrics` names them. DCP of more than 64 groups has no interval
    and no test. For the p-values of equalized odds and DCP, groups are permuted among
    the rows of each true label. Undefined metrics are None in the summary and nan in
    the frame; the report says why, without a warning.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.report import FairnessReport
    >>> y_true, y_score, group = make_biased_scores(400, random_state=0)
    >>> report = FairnessReport.from_predictions(
    ...     y_true, y_score, sensitive_features={"sex": group},
    ...     n_resamples=20, n_permutations=99, random_state=0,
    ... )
    >>> report.to_frame().loc[3, ["metric", "value", "pvalue"]]
    metric       mcdp
    value       0.595
    pvalue       0.01
    Name: 3, dtype: object
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        clusters: str | int | ArrayLike | None = None,
        threshold: float | None = None,
        pos_label: Any = None,
        scale: AnyScale = "probability",
        **options: Any,
    ) -> Self:
        """Report on fitted classifiers or, with ``scale="real"``, regressors.

        Parameters
        ----------
        estimator : estimator, or mapping of str to estimator
            Fitted classifiers of the same classes, by name; with ``scale="rank"`` also
            estimators that are not classifiers, with ``scale="real"`` regressors.
        X : array-like of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,), default=None
            True labels or numbers. Without them errors are not reported.
        sensitive_features : str, int, list of str, list of int, callable, array-like, \
dataframe, Groups, or mapping of str to array-like, default=None
            Columns of X that hold the groups, or the groups themselves as in
            `from_predictions`. Groups that are not a mapping are passed on to predict
            methods that take `sensitive_features`.
        control_features : str, int, list of str, list of int, callable, array-like, \
dataframe or Groups, default=None
            Columns of X that hold the strata, or the strata themselves, as in
            `from_predictions`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        counts : array-like of shape (n_samples,), default=None
            How many people each row stands for, as in `from_predictions`.
        clusters : str, int or array-like of shape (n_samples,), default=None
            Column of X with the person of each row, or these people, as in
            `from_predictions`.
        threshold : float, default=None
            Smallest score that counts as a positive decision. By default decisions
            are those of the `predict` method of classifiers.
        pos_label : int, float, bool or str, default=None
            The positive class, by default the second of two.
        scale : {"probability", "rank", "real"}, default="probability"
            ``"rank"`` compares ranks of the first of `predict_proba` and
            `decision_function` that a classifier has, or of what `predict` of another
            estimator returns. ``"real"`` compares the numbers that regressors predict,
            as in `from_predictions`.
        **options : dict
            Other parameters of `from_predictions`: `metrics`, `n_resamples`,
            `n_permutations`, `confidence_level`, `min_group_size`, `intersection`,
            `impact_ratios`, `limit`, `title`, `random_state`, `n_jobs` and `verbose`.

        Returns
        -------
        FairnessReport

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If an estimator is not fitted.
        ValueError
            As `from_predictions`, and if X has no such column.
        """
        columns = sensitive_features, control_features, clusters
        report = cls.from_predictions(
            y,
            sample_weight=sample_weight,
            counts=counts,
            threshold=threshold,
            scale=scale,
            **estimator_inputs(estimator, X, *columns, pos_label, threshold, scale),
            **options,
        )
        report.summary = tell_predicted(report.summary)
        return report

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_score: Any = None,
        *,
        y_pred: Any = None,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        threshold: float | None = None,
        pos_label: Any = None,
        scale: AnyScale = "probability",
        metrics: Sequence[str] | Literal["all"] | None = None,
        n_resamples: int = 500,
        n_permutations: int = 199,
        confidence_level: float = 0.95,
        min_group_size: int = 10,
        intersection: bool | None = None,
        impact_ratios: bool = False,
        limit: float | Mapping[str, float] | None = None,
        title: str = DEFAULT_TITLE,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Self:
        """Report on given scores or labels.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels, or with ``scale="real"`` true numbers. Without them errors are
            not reported.
        y_score : array-like of shape (n_samples,), dataframe, or mapping of str to \
array-like, default=None
            Probabilities of the positive class, in [0, 1], or any finite numbers with
            ``scale="rank"`` or ``scale="real"``; several models by name.
        y_pred : array-like of shape (n_samples,), dataframe, or mapping of str to \
array-like, default=None
            Predicted labels, of any number of classes if there are no scores. For a
            model with scores they replace the decisions by the threshold: one column
            of each belongs to one model, and mappings are matched by name. With
            ``scale="real"`` predicted numbers, which may also be given as `y_score`.
        sensitive_features : array-like, dataframe, Groups, or mapping of str to \
array-like, default=None
            One attribute, or several as columns or by name. Missing values raise an
            error unless a `Groups` defines how they are treated, see
            `skfair.groups.encode_groups`.
        control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
or Groups, default=None
            Stratum of each row, such as its department or its true label. The report
            then also has each metric within strata, where `confidence_interval` knows
            it: the largest value, the stratum in which it is attained, and the mean.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights. Rows of weight 0 are left out.
        counts : array-like of shape (n_samples,), default=None
            How many people each row stands for, by default one: the report of a
            published table is that of its people. A weight is that of each of them.
        clusters : array-like of shape (n_samples,), default=None
            Person of each row, where people have several, of one group each: visits,
            loans, months. People are permuted and drawn with all their rows, and
            intervals count people. Sizes of groups, `min_group_size` among them, are
            numbers of rows, and models have no interval of their difference.
        threshold : float, default=None
            Smallest score that counts as a positive decision; with ``scale="rank"`` the
            smallest rank. None is 0.5 of probabilities. Of ranks nothing is decided
            then, and the report is on scores alone, unless there is `y_pred`. Left at
            its default with ``scale="real"``, as is `pos_label`.
        pos_label : int, float, bool or str, default=None
            The label that counts as positive. None stands for 1 if labels are
            numbers; text labels require it.
        scale : {"probability", "rank", "real"}, default="probability"
            ``"rank"`` is for scores that are not probabilities, such as decision
            functions or predictions of regressors: metrics of distributions are those
            of `skfair.metrics` with ``scale="rank"``. Log loss, calibration and the
            difference of mean scores need probabilities, and are left out. ``"real"``
            is for predicted numbers, such as salaries: the report has no decisions, and
            is in the unit of the target. It has the Wasserstein distance, MCDP(0), and
            the differences of mean predictions, mean errors and mean absolute errors,
            with these means and R2 by group.
        metrics : sequence of str or "all", default=None
            Metrics to report and to test, named as in `to_frame`. None reports all that
            apply, each with its interval, and tests those that answer a question, and
            the calibration gap; ``"all"`` tests all of them, which takes longer.
        n_resamples : int, default=500
            Number of resamples for the intervals of DCP and of the calibration gap; all
            other intervals need none.
        n_permutations : int, default=199
            Number of permutations for each p-value, at least 59; 0 for a report
            without tests, which takes a fraction of the time, and says so.
        confidence_level : float in (0, 1), default=0.95
            Level of the intervals.
        min_group_size : int, default=10
            Smallest number of rows of a group that is compared. The report names the
            groups that are left out.
        intersection : bool, default=None
            Whether to compare the groups of all attributes together, such as black
            women, beside those of each. None does so for two attributes; groups of
            three or more are small. True also adds their pooled rates, as of
            `skfair.metrics.group_metrics`, groups that are too small among them.
        impact_ratios : bool, default=False
            Whether to add tables of `skfair.metrics.impact_ratios`: of decisions and,
            where there are scores, of scores above their median.
        limit : float in [0, 1] or dict of str to float, default=None
            Disparity that you accept. The verdict then says which metrics are certified
            to be at most this, above it, or neither, and the chart of rates shows it.
            Or the largest value of each metric that has a limit, named as in
            `to_frame`, and the smallest of ``"impact_ratio"``, the smallest ratio of
            two rates: ``{"impact_ratio": 0.8}`` is the four-fifths rule. The verdict
            then has the value of each with its interval, and whether it keeps its
            limit.
        title : str, default="Fairness report"
            Title of the page.
        random_state : int, RandomState instance or None, default=None
            Seed of resamples and permutations. The report states it.
        n_jobs : int, default=None
            Number of processes.
        verbose : int, default=0
            0 is silent; above it the standard error stream shows how many resamples
            and permutations are done, and about how long the others will take.

        Returns
        -------
        FairnessReport

        Raises
        ------
        ValueError
            On no rows, lengths that differ, scores outside [0, 1], or that are not
            finite with ``scale="rank"``, counts that are not whole numbers, text labels
            without `pos_label`, missing groups, people who are missing, have several
            groups or stand beside counts, and parameters out of range.
        """
        audit = make_audit(
            y_true=y_true,
            y_score=y_score,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            control_features=control_features,
            pos_label=pos_label,
            sample_weight=sample_weight,
            counts=counts,
            clusters=clusters,
            options=Options(
                threshold=threshold,
                scale=scale,
                metrics=metrics,
                n_resamples=n_resamples,
                n_permutations=n_permutations,
                confidence_level=confidence_level,
                min_group_size=min_group_size,
                intersection=intersection,
                impact_ratios=impact_ratios,
                limit=limit,
                title=title,
                random_state=random_state,
                n_jobs=n_jobs,
                verbose=verbose,
            ),
        )
        return cls(summarize([audit]))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str | None = None,
        y_score: Any = None,
        y_pred: Any = None,
        sensitive_features: str | list[str],
        control_features: str | list[str] | None = None,
        sample_weight: str | None = None,
        counts: str | None = None,
        clusters: str | None = None,
        pos_label: Any = None,
        scale: Scale = "probability",
        **options: Any,
    ) -> Self:
        """Report on a table of any size, whose rows stay where they are.

        Fewer than 50,000 rows are read, and the report is that of `from_predictions`.
        More rows are counted by the engine that holds them, by groups, classes and
        scores: only the counts are moved, some ten megabytes. See the notes.

        Parameters
        ----------
        frame : table
            Of any library that narwhals reads: pandas, Polars (eager or lazy), PyArrow,
            DuckDB, Ibis, PySpark, SQLFrame, or Dask where narwhals supports it.
        y_true : str, default=None
            Name of the column of true labels. Without it errors are not reported.
        y_score : str, list of str, or mapping of str to str, default=None
            Name of the column of probabilities of the positive class, or of any finite
            numbers with ``scale="rank"``; several models by the names of their columns,
            or columns by the names of models.
        y_pred : str, list of str, or mapping of str to str, default=None
            Name of the column of predicted labels; several as for `y_score`. One
            column of each belongs to one model, several are matched by name.
        sensitive_features : str or list of str
            Name of the column of an attribute, or of several.
        control_features : str or list of str, default=None
            Name of the column of strata, as in `from_predictions`; several stand for
            their intersection. They are further keys of the same aggregation.
        sample_weight : str, default=None
            Name of the column of non-negative sample weights.
        counts : str, default=None
            Name of the column that says how many people each row stands for, as in
            `from_predictions`. The rows of a table with counts are read, however many
            they are.
        clusters : str, default=None
            Name of the column of the person of each row, as in `from_predictions`.
            These rows, too, are read, however many they are.
        threshold : float, default=None
            Smallest score that counts as a positive decision, or smallest rank, as in
            `from_predictions`.
        pos_label : int, float, bool or str, default=None
            The label that counts as positive, as in `from_predictions`.
        scale : {"probability", "rank"}, default="probability"
            ``"rank"`` compares ranks of scores, as in `from_predictions`, which alone
            takes predicted numbers.
        title : str, default="Fairness report"
            Title of the page.
        **options : dict
            Other parameters of `from_predictions`: `metrics`, `n_resamples`,
            `n_permutations`, `confidence_level`, `min_group_size`, `intersection`,
            `impact_ratios`, `limit`, `random_state`, `n_jobs` and `verbose`.

        Returns
        -------
        FairnessReport

        Raises
        ------
        ValueError
            If a column is missing, if there are no rows, and with their numbers if
            scores are missing or outside [0, 1], if labels, groups or strata are
            missing, if weights are negative or not finite; as `from_predictions`.
        TypeError
            If `frame` is not a table, or if scores, weights or counts are not numbers.

        See Also
        --------
        skfair.frames.count_table : Counts rows for metrics, and for bounds of them.
        skfair.metrics.proxy_bounds : Where groups are known by a proxy only, from a
            histogram by cell of the proxy.

        Notes
        -----
        Up to 1,048,576 rows are counted by score, and all numbers are those of
        `from_predictions`. More are counted in bins, 65,536 of them unless groups are
        many. Decisions, errors and sizes stay exact. The rows of a bin count as having
        the middle of the smallest and the largest score in it; the report states how
        far this may move the metrics of scores. Scores of ``scale="rank"`` are moved to
        [0, 1] for this, by one more query for the smallest and the largest. Weights
        that differ by at most 9 % count as their mean, in intervals and draws alone.

        Examples
        --------
        >>> import polars as pl
        >>> from skfair.datasets import make_biased_scores
        >>> from skfair.report import FairnessReport
        >>> y, p, sex = make_biased_scores(400, random_state=0)
        >>> table = pl.LazyFrame({"y": y, "p": p, "sex": sex})
        >>> report = FairnessReport.from_frame(
        ...     table, y_true="y", y_score="p", sensitive_features="sex",
        ...     n_resamples=20, n_permutations=99, random_state=0,
        ... )
        >>> report.to_frame().loc[3, ["metric", "value", "pvalue"]]
        metric       mcdp
        value       0.595
        pvalue       0.01
        Name: 3, dtype: object
        """
        check_choice("scale", scale, get_args(Scale))
        audits = read_frame(
            frame,
            y_true=y_true,
            y_score=y_score,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            counts=counts,
            clusters=clusters,
            pos_label=pos_label,
            options=Options(scale=scale, **options),
        )
        return cls(summarize(audits))

    def to_frame(self, table: Table = "metrics") -> pd.DataFrame:
        """Numbers of the report as a table.

        Parameters
        ----------
        table : {"metrics", "models", "groups", "impact_ratios", "strata", "pooled"}, \
default="metrics"
            Which numbers: of the metrics, of the performance of each model, of each
            group, the impact ratios, which only a report with ``impact_ratios=True``
            has, of the metrics within strata, which only one with `control_features`
            has, or the pooled rates, which one with ``intersection=True`` has.

        Returns
        -------
        DataFrame
            With a row for each model, attribute and metric: ``model``, ``attribute``,
            ``comparison`` ("pairwise" or "pooled"),
            ``metric``, ``value``, ``lower`` and ``upper`` ends of the interval,
            ``certified`` (the smallest value that the rows certify, see
            `skfair.metrics.certify`), ``null_mean`` (mean under shuffled groups),
            ``pvalue``, ``difference``, ``difference_lower`` and ``difference_upper``,
            ``n`` rows, ``n_groups``, ``smallest_group``, ``sentence`` and ``note``. The
            difference is that to the first model on the same rows, of the difference of
            selection rates and of MCDP(0); nan where rows were counted for each model.

            Or with a row for each ``model`` and ``performance``, such as accuracy:
            ``value``, ``lower``, ``upper``, and the difference to the first model.

            Or with a row for each model, attribute and group: ``model``,
            ``attribute``, ``group``, ``n`` rows, with `clusters` ``n_people``, and the
            rates and the quality of its predictions,
            ``score_excess`` (mean score minus share of positives) and
            ``calibration_error`` among them; of numbers ``mean_prediction``,
            ``mean_error`` and ``mean_absolute_error`` with their intervals, and ``r2``.
            Impact ratios have for each ``kind`` of
            rate, "selection" or "scoring", the columns of
            `skfair.metrics.impact_ratios`. Strata have for each ``metric`` the value of
            ``everyone``, the largest ``value`` within a stratum, that ``stratum``, the
            ``mean`` by total weight, ``lower``, ``upper``, ``null_mean``, ``pvalue``.
            Pooled rates have for each ``rate`` of a group of the intersection its ``n``
            rows that count, ``value``, ``pooled``, ``pooled_lower`` and
            ``pooled_upper``.

        Raises
        ------
        ValueError
            If the report has no such table, or `table` is none of these.
        """
        check_choice("table", table, get_args(Table))
        if table == "models":
            rows = [row for model in self.summary["models"] for row in _figures(model)]
            frame = pd.DataFrame(rows)
            return frame.astype(dict.fromkeys(frame.columns[2:], "float64"))
        path, named = _PATHS[table]
        attributes = self.summary["attributes"]
        if table in _NEEDED:
            attributes = [*_having(table, attributes)]
        frame = pd.json_normalize(
            attributes,
            ["results", *path],
            ["name", ["results", "model"], *named],
            max_level=None if table == "metrics" else 0,
        )
        frame = frame.rename(columns=_RENAMED)
        if table == "metrics":
            frame = frame.reindex(columns=_OF_METRICS)
            return frame.astype(dict.fromkeys(_NUMBERS, "float64"))
        first = ["model", "attribute", *(["kind"] if table == "impact_ratios" else [])]
        frame = frame.drop(columns="title", errors="ignore")
        return frame[[*first, *frame.columns.difference(first, sort=False)]]

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        date: str | datetime.date | None = None,
        source: str | None = None,
    ) -> str:
        """Write one self-contained page: no script, nothing loaded from elsewhere.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write, in UTF-8. If that fails, a file that was there is unchanged.
        date : str or date, default=None
            Date to write at the head of the page. By default there is none, so that
            the same report gives the same bytes every day.
        source : str, default=None
            Where the rows come from, for the head of the page: the name of a file and
            its hash, for instance.

        Returns
        -------
        str

        Raises
        ------
        ImportError
            Without jinja2 or matplotlib.
        OSError
            If the file cannot be written; it names the path.
        """
        page = render(self.summary, record_of(date, source))
        if path is not None:
            write_text(path, page)
        return page

    def to_markdown(
        self,
        path: str | PathLike[str] | None = None,
        *,
        date: str | datetime.date | None = None,
        source: str | None = None,
    ) -> str:
        """Write the report as Markdown, as for a model card.

        It has notes on the data, the verdict, a table of the metrics, in words, too,
        and of the groups of each attribute and model, impact ratios and pooled rates if
        the report has them, cautions, the method in short, and what such numbers cannot
        show; no pictures, definitions or settings.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write, in UTF-8. If that fails, a file that was there is unchanged.
        date : str or date, default=None
            Date to write at the head, by default none.
        source : str, default=None
            Where the rows come from, for the head.

        Returns
        -------
        str

        Raises
        ------
        OSError
            If the file cannot be written; it names the path.
        """
        text = render_markdown(self.summary, record_of(date, source))
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_model_card(
        self,
        card: Any,
        *,
        section: str = "Fairness",
        date: str | datetime.date | None = None,
        source: str | None = None,
    ) -> Any:
        """Add the report to a model card of skops, as a section with subsections.

        The section has the verdict, and a subsection for each attribute and model with
        the metrics and their intervals; below it are the groups with their sizes, rates
        and intervals, and other tables that the report has. Cautions and what such
        numbers cannot show are the last subsections.

        Parameters
        ----------
        card : skops.card.Card
            The model card, to which sections are added.
        section : str, default="Fairness"
            Name of the section; ``"A/B"`` is the section B within A.
        date : str or date, default=None
            Date to write in the section, by default none.
        source : str, default=None
            Where the rows come from, for the section.

        Returns
        -------
        skops.card.Card
            `card` itself.

        Raises
        ------
        TypeError
            If `card` is not a model card.
        """
        if not callable(getattr(card, "add", None)) or not hasattr(card, "select"):
            raise TypeError(f"card must be a skops.card.Card, got {type(card)}.")
        record = record_of(date, source)
        for path, text in card_sections(self.summary, section, record):
            card.add(**{path: text})
        return card

    def _repr_html_(self) -> str:
        """Show the page in a frame: its styles and the notebook's do not mix."""
        style = "width: 100%; height: 40rem; border: 0"
        title = html.escape(DEFAULT_TITLE)
        return (
            f'<iframe title="{title}" sandbox style="{style}" '
            f'srcdoc="{html.escape(self.to_html())}"></iframe>'
        )

    def __repr__(self) -> str:
        leads = self.summary["verdict"]["leads"]
        lines = [f"{lead['model']}: {lead['text']}" for lead in leads]
        return "\n".join([f"FairnessReport({self.summary['rows']})", *lines])


def _having(
    table: str, attributes: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield attributes with the results that have a table; raise if none has it."""
    found = False
    for attribute in attributes:
        results = [each for each in attribute["results"] if each.get(table) is not None]
        found = found or bool(results)
        yield {**attribute, "results": results}
    if not found:
        raise ValueError(f"table={table!r} needs a report made with {_NEEDED[table]}.")


def _figures(model: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each performance of a model, with the change from the first."""
    numbers, beside = model["performance"], model.get("beside_first") or {}
    for name in (n for n in numbers if not n.endswith(("_lower", "_upper"))):
        difference = beside.get(name) or {}
        yield {
            "model": model["name"],
            "performance": name,
            "value": numbers[name],
            "lower": numbers.get(f"{name}_lower"),
            "upper": numbers.get(f"{name}_upper"),
            "difference": difference.get("value"),
            "difference_lower": difference.get("lower"),
            "difference_upper": difference.get("upper"),
        }
