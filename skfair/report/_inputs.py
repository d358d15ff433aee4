"""What a report is about: rows, groups and models, from the arguments of a user."""

from __future__ import annotations

import sys
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows, check_clusters, find_distinct
from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._columns import names_columns, read_floats, select_columns
from skfair._utils._progress import Progress
from skfair._utils._response import (
    RANKED_METHODS,
    check_fitted,
    respond,
    tip_for_unknown_columns,
)
from skfair._utils._validation import (
    SCORE_ROUNDING,
    ParameterError,
    as_array,
    check_counts,
    check_length,
    check_numbers,
    check_weights,
    count_rows,
    scores_on,
)
from skfair._utils._warnings import (
    warn_if_reordered,
    warn_user,
)
from skfair.frames._query import (
    RowCounts,
    Table,
    count_rows_by,
    group_names,
    open_table,
    stratum_names,
)
from skfair.groups import (
    CROSS,
    Groups,
    check_kinds_of_labels,
    columns_of,
    encode_groups,
    intersect,
    keep_labels,
    positions_in,
    resolve_strata,
    sort_labels,
    sum_by_code,
    tip_about_length,
)
from skfair.metrics._inputs import (
    Multigroup,
    positive_class,
    tip_for_numbers,
)
from skfair.report._options import Options
from skfair.report._repeats import PEOPLE, columns_of_people, tell_people
from skfair.statistics._distributions import mid_ranks as mid_ranks
from skfair.statistics._labels import encode_classes

#: Columns by name: of models, or of attributes.
Named = dict[str, Any]
Classes = tuple[Hashable, ...]
#: Codes of rows, and the labels that they stand for.
Encoded = tuple[NDArray[np.integer], Classes]

#: Name of the one model whose scores and labels have none.
UNNAMED = "model"

Read = TypeVar("Read")
Labels = TypeVar("Labels")

#: From this number of rows on, counts are drawn.
MANY_ROWS = 50_000
#: More rows than these are counted in bins of their scores.
_MAX_SCORES = 2**20
#: Cells of groups, classes and bins, unless there are then too few bins.
_MAX_CELLS = 2**20
_FEWEST_BINS, _MOST_BINS = 2**10, 2**16
#: Weights whose logarithms to the base 2 share an interval of this length are alike.
_WEIGHT_STEP = 1 / 8
#: With more groups than this each is compared with everyone instead of in pairs.
MAX_PAIRWISE = 10
#: A p-value of at most this is called more than chance.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class ReportModel:
    """Scores and predicted classes of a model, as positions in `Audit.classes`.

    Scores lie in [0, 1], unless the scale of the report is "rank" or "real". A decision
    is positive if the score is at least the `threshold`, which is None where decisions
    are given. If the model `decides` nothing (as with predicted numbers, and ranks),
    the threshold is None, too, and `y_pred` is 0.
    """

    name: str
    y_score: Floats | None
    y_pred: Integers
    threshold: float | None
    decides: bool = True

    def take(self, entries: Any) -> ReportModel:
        """Return the model of some entries."""
        scores = None if self.y_score is None else self.y_score[entries]
        return replace(self, y_score=scores, y_pred=self.y_pred[entries])


@dataclass(frozen=True, eq=False)
class Audit:
    """Everything that a report is computed from; of two classes 1 is positive.

    `rows` have true labels or numbers, numbers of people and weights, which all models
    and attributes share. An entry is a row, or stands for people who agree in groups,
    classes and weight, and nearly in score. `blur` is how far the differences of their
    scores may move MCDP(0) (first), and ABCC and differences of means (second). Reports
    on numbers have no classes. `attributes` are the groups of each attribute, including
    those that are too small; `notes` say what looks odd in the data.
    """

    models: tuple[ReportModel, ...]
    attributes: dict[str, Groups]
    rows: Rows
    options: Options
    blur: tuple[float, float] = (0.0, 0.0)
    strata: Groups | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def every(self) -> dict[str, Groups]:
        """Groups by attribute; of two, or where asked for, also the intersection."""
        each, asked = self.attributes, self.options.intersection
        if len(each) < 2 or not (len(each) == 2 if asked is None else asked):
            return each
        codes, labels = intersect([(g.codes, g.labels) for g in each.values()])
        smallest = max(groups.min_group_size for groups in each.values())
        return each | {CROSS.join(each): Groups(codes, labels, tuple(each), smallest)}

    @property
    def y_true(self) -> Any:
        """True classes or numbers, None where they are not known."""
        return self.rows.y_true

    @property
    def classes(self) -> Classes:
        """Labels of the classes."""
        return self.rows.classes

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return self.count(slice(None))

    def count(self, entries: Any) -> int:
        """Count the rows of some entries."""
        return int(self.entry_rows[entries].sum())

    @property
    def pairs_models(self) -> bool:
        """Whether models are compared row by row, each row being another person."""
        return self.rows.n is None and self.rows.cluster is None

    def count_people(self, entries: Any) -> int | None:
        """Count the people of some entries; None where each row is one person."""
        if self.rows.cluster is None:
            return None
        return len(np.unique(self.rows.cluster[entries]))

    def effective_size(self, entries: Any = slice(None)) -> float:
        """Kish's effective number of rows, or of people, of some entries."""
        return float(self.rows[entries].effective_sizes[0])

    def squared_sums(self, values: Floats, parts: Integers) -> Floats:
        """Estimate the square of the noise of the weighted sum of values in each part.

        The values have mean 0. The values of one person are added before they are
        squared.
        """
        if self.rows.cluster is None:
            return np.asarray(np.bincount(parts, self.entry_squares * values**2))
        first, cells = find_distinct([parts, self.rows.cluster])
        sums = np.bincount(cells, self.entry_weights * values)
        return np.asarray(np.bincount(parts[first], sums**2))

    def take(self, entries: Any, *models: ReportModel) -> Audit:
        """Restrict the audit to some entries and to models of these entries.

        The result has no attributes or strata.
        """
        rows = self.rows[entries]
        return replace(self, models=models, rows=rows, attributes={}, strata=None)

    @cached_property
    def entry_rows(self) -> Integers:
        """Number of rows of each entry."""
        return np.ones(len(self.rows), np.int64) if self.rows.n is None else self.rows.n

    @property
    def entry_weights(self) -> NDArray[Any]:
        """Total weight of each entry."""
        return self.entry_rows if self.rows.weight is None else self.rows.weight

    @property
    def entry_squares(self) -> NDArray[Any]:
        """Sum of the squared weights of each entry."""
        return self.entry_rows if self.rows.squares is None else self.rows.squares

    @property
    def weighted(self) -> bool:
        """Whether each row has a weight of its own."""
        return self.rows.weight is not None

    def errors_of(self, model: ReportModel) -> Floats:
        """Return the predicted minus true numbers."""
        return np.asarray(model.y_score - self.y_true)

    @property
    def counts_are_drawn(self) -> bool:
        """Whether resamples draw counts of cells, not rows, since there are many rows.

        Where people have several rows, people are drawn with all their rows.
        """
        if self.rows.cluster is not None:
            return False
        return self.rows.n is not None or len(self.rows) >= MANY_ROWS

    @property
    def compares_numbers(self) -> bool:
        """Whether the models predict numbers, which decide nothing."""
        return self.options.scale == "real"

    @property
    def binary(self) -> bool:
        """Whether there are two classes, one of them positive."""
        return len(self.classes) == 2


def rows_of(y_true: Any, size: int, classes: Classes, each: Any, n: Any = None) -> Rows:
    """Make a table of rows, or of entries for `n` rows that each weigh `each`."""
    weight = squares = None
    if each is not None:
        weight, squares = each, np.square(each, dtype=float)
        if n is not None:
            weight, squares = each * n, squares * n
    everyone = Groups(np.zeros(size, np.int8), ("everyone",))
    columns: dict[str, Any] = {"weight": weight, "n": n, "squares": squares}
    each = None if n is None else each
    return Rows(everyone, y_true=y_true, **columns, person_weight=each, classes=classes)


def make_audit(
    *,
    y_true: ArrayLike | None,
    y_score: Any,
    y_pred: Any,
    sensitive_features: Any,
    pos_label: Any,
    sample_weight: ArrayLike | None,
    options: Options,
    control_features: Any = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> Audit:
    """Check and encode the arguments; leave out rows of weight or count zero.

    A row that stands for several people is repeated, unless they are many.
    """
    warn_if_reordered(
        y_true=y_true,
        y_score=y_score,
        y_pred=y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        counts=counts,
        control_features=control_features,
        clusters=clusters,
    )
    compares_numbers = options.scale == "real"
    if compares_numbers:
        _refuse_with_numbers(y_score, y_pred, pos_label)
        y_score, y_pred = y_pred if y_score is None else y_score, None
    else:
        y_score = _positive_column(y_true, y_score, pos_label)
    scores, predicted, n_samples = _read_models(y_score, y_pred, options)
    true, classes = _read_true(
        y_true, predicted, pos_label, bool(scores), compares_numbers
    )
    if true is not None:
        check_length("y_true", len(true), n_samples)
    weights = check_weights(sample_weight, n_samples)
    people = check_counts(counts, n_samples)
    positions = _positions_that_count(weights, people, n_samples)
    if people is not None:
        people = people[positions]
        # Models are compared row by row.
        if people.sum() < MANY_ROWS or len({*scores, *predicted}) > 1:
            positions, people = np.repeat(positions, people), None
    weights = None if weights is None else weights[positions]
    true = None if true is None else true[positions]
    rows = rows_of(true, len(positions), classes, weights, people)
    models = _make_models(scores, predicted, rows, positions, options)
    attributes = _groups_by_name(sensitive_features, n_samples, positions, options)
    strata = None
    if control_features is not None:
        strata = resolve_strata(control_features, n_samples=n_samples)[positions]
    if clusters is not None:
        of_rows = as_array(clusters, "clusters", n_samples)[positions]
        for name, groups in attributes.items():
            named = replace(groups, names=(name,))
            cluster = check_clusters(of_rows, named, strata, counts)
        rows = replace(rows, cluster=cluster)
    audit = Audit(
        models=models,
        attributes=attributes,
        rows=rows,
        options=options,
        strata=strata,
    )
    _tell_numbers(audit)
    return audit


def _positions_that_count(
    weights: Floats | None, people: Integers | None, n_samples: int
) -> Integers:
    """Return positions of the rows whose weight and number of people are above zero."""
    counting = np.ones(n_samples, bool)
    for name, values in ("sample_weight", weights), ("counts", people):
        if values is not None:
            counting &= values > 0
            if not counting.any():
                raise ValueError(
                    f"{name} is zero in every row that counts, expected positive ones."
                )
    return np.flatnonzero(counting)


def _refuse_with_numbers(y_score: Any, y_pred: Any, pos_label: Any) -> None:
    """Raise if an argument does not go with predicted numbers."""
    if y_score is not None and y_pred is not None:
        raise ValueError(
            "y_pred must be None beside y_score with scale='real': both are the "
            "predicted numbers."
        )
    if pos_label is not None:
        raise ParameterError(
            "pos_label", f"must be None with scale='real', got {pos_label!r}."
        )


def _read_true(
    y_true: Any, predicted: dict[str, Encoded], pos_label: Any, scored: bool, real: bool
) -> tuple[Any, Classes]:
    """Return true numbers, or true labels as positions in classes; and the classes."""
    if real:
        return None if y_true is None else check_numbers(y_true, "y_true"), ()
    true = None if y_true is None else encode_classes("y_true", y_true)
    encoded = [*predicted.values(), *([] if true is None else [true])]
    for _, labels in encoded:
        check_kinds_of_labels("y_true and y_pred", encoded[-1][1], labels)
    all_labels = sort_labels({label for _, labels in encoded for label in labels})
    present = {"y_true": true is not None, "y_pred": bool(predicted)}
    where = " together with ".join(name for name in present if present[name])
    classes = _classes(tuple(all_labels), where, pos_label, scored)
    return None if true is None else _recode(true, classes), classes


def _positive_column(y_true: Any, y_score: Any, pos_label: Any) -> Any:
    """Return scores of the positive class from a table of two columns."""
    if isinstance(y_score, Groups) or not hasattr(type(y_score), "columns"):
        return y_score
    names, columns = columns_of(y_score, "y_score")
    if len(names) != 2 or not _add_up_to_one(*columns):
        return y_score
    labels = () if y_true is None else encode_classes("y_true", y_true)[1]
    if {*names} == {str(label) for label in labels}:
        pos_label = positive_class(labels, "y_true", pos_label)
    if str(pos_label) not in names:
        raise ValueError(
            f"y_score must have a column for each model; its columns {names} add up to "
            "1, so that they are the probabilities of two classes. Pass that of the "
            f"positive one, as table[{names[1]!r}]."
        )
    return columns[names.index(str(pos_label))]


def _add_up_to_one(first: Any, second: Any) -> bool:
    """Return whether two columns of numbers add up to 1 in each row."""
    try:
        totals = np.asarray(first, np.float64) + np.asarray(second, np.float64)
    except (TypeError, ValueError):
        return False
    return bool((np.abs(totals - 1) < 1e-6).all())


def _read_models(
    y_score: Any, y_pred: Any, options: Options
) -> tuple[dict[str, Floats], dict[str, Encoded], int]:
    """Return scores and predicted classes by model, and the number of rows."""
    scores = _models(
        "y_score", y_score, lambda name, y: scores_on(options.scale, y, name)
    )
    predicted = _models("y_pred", y_pred, encode_classes)
    if not (isinstance(y_score, Mapping) and isinstance(y_pred, Mapping)):
        scores, predicted = name_single_model(scores, predicted)
    lengths = [(name, len(values)) for name, values in scores.items()]
    lengths += [(name, len(codes)) for name, (codes, _) in predicted.items()]
    if not lengths:
        raise ValueError("y_score and y_pred are both None, expected at least one.")
    for name, length in lengths:
        check_length(f"model {name!r}", length, lengths[0][1])
    return scores, predicted, lengths[0][1]


def _make_models(
    scores: dict[str, Floats],
    predicted: dict[str, Encoded],
    rows: Rows,
    positions: Integers,
    options: Options,
) -> tuple[ReportModel, ...]:
    """Combine scores and predicted classes of the rows that count, by name."""
    models = []
    for name in dict.fromkeys([*scores, *predicted]):
        own = scores[name][positions] if name in scores else None
        if name in predicted:
            labels = _recode(predicted[name], rows.classes)[positions]
            models.append(ReportModel(name, own, labels, threshold=None))
        else:
            models.append(_decide(name, own, rows.mass, options))
    return tuple(models)


def _decide(
    name: str, scores: Any, weights: NDArray[Any] | None, options: Options
) -> ReportModel:
    """Return a model that decides by the threshold, or nothing without a threshold."""
    if options.threshold is None:
        nobody = np.zeros(len(scores), np.intp)
        return ReportModel(name, scores, nobody, None, decides=False)
    ranks = mid_ranks(scores, weights) if options.scale == "rank" else scores
    selected = ranks >= options.threshold
    return ReportModel(name, scores, selected.astype(np.intp), options.threshold)


def _recode(encoded: Encoded, classes: Classes) -> Integers:
    codes, labels = encoded
    return np.asarray(positions_in(classes, labels)[codes])


def _models(
    argument: str, values: Any, read: Callable[[str, Any], Read]
) -> dict[str, Read]:
    """Read the column of each model, given by the argument for scores or labels."""
    if values is None:
        return {}
    return {
        name: read(argument if name == UNNAMED else f"{argument}[{name!r}]", column)
        for name, column in named_columns(argument, values, UNNAMED).items()
    }


def name_single_model(
    scores: dict[str, Read], predicted: dict[str, Labels]
) -> tuple[dict[str, Read], dict[str, Labels]]:
    """Give a single column of scores and of labels the same name."""
    if len(scores) != 1 or len(predicted) != 1:
        return scores, predicted
    names = [*scores, *predicted]
    name = next((name for name in names if name != UNNAMED), names[0])
    return {name: scores[names[0]]}, {name: predicted[names[1]]}


def named_columns(
    argument: str, values: Any, unnamed: str, numbered: str = ""
) -> Named:
    """Return the columns of a mapping, a table or an array by name.

    A single column without a name is called `unnamed`. Several columns without names
    are called `numbered` with a number each; if that is empty, they are an error.
    """
    names: list[str | None]
    if isinstance(values, Mapping):
        names, columns = [str(name) for name in values], list(values.values())
    elif isinstance(values, Groups):
        names, columns = [CROSS.join(values.names)], [values]
    else:
        names, columns = columns_of(values, argument)
    if not columns:
        raise ValueError(f"{argument} has no columns, expected at least one.")
    if len(columns) > 1 and not any(names):
        if not numbered:
            raise ValueError(
                f"{argument} must have shape (n_samples,), one value for each row, or "
                f"name its models in a dict or dataframe; got {len(columns)} columns "
                "without names. Of the probabilities of two classes pass the column of "
                "the positive one."
            )
        names = [f"{numbered} {i + 1}" for i in range(len(columns))]
    named = [name or unnamed for name in names]
    repeated = sorted({name for name in named if named.count(name) > 1})
    if repeated:
        raise ValueError(f"{argument} must have distinct names, got {repeated} twice.")
    return dict(zip(named, columns, strict=True))


def _classes(labels: Classes, where: str, pos_label: Any, scored: bool) -> Classes:
    """Return class labels, the positive one last where there are two."""
    if len(labels) > 2:
        if scored or pos_label is not None:
            raise ValueError(
                f"{where} must be binary beside y_score or pos_label, got "
                f"{len(labels)} classes: {list(labels[:5])}. Pass predicted labels as "
                "y_pred alone: the report then compares the errors of all classes."
            )
        return labels
    positive = positive_class(labels, where, pos_label)
    absent = type(positive)(0) if pos_label is None else f"not {pos_label}"
    return next((label for label in labels if label != positive), absent), positive


def _groups_by_name(
    sensitive_features: Any, n_samples: int, positions: Integers, options: Options
) -> dict[str, Groups]:
    """Encode the groups of each attribute, by its name."""
    if sensitive_features is None:
        raise ValueError(
            "sensitive_features is None, expected group labels. Where groups are known "
            "by a proxy only, skfair.metrics.proxy_bounds bounds a metric."
        )
    columns = named_columns(
        "sensitive_features", sensitive_features, "group", "attribute"
    )
    each = {}
    for name, column in columns.items():
        groups = encode_groups(column, min_group_size=options.min_group_size)
        tip = tip_about_length(sensitive_features, n_samples)
        check_length(f"sensitive_features {name!r}", len(groups), n_samples, tip)
        each[name] = groups[positions]
    return each


def sizes_of(groups: Groups, n_alike: Integers | None) -> Integers:
    """Count the rows of each group."""
    if n_alike is None:
        return groups.sizes()
    sizes = sum_by_code(groups.codes, n_alike, len(groups.labels))
    return np.asarray(sizes.astype(np.intp))


def large_groups(groups: Groups, n_alike: Integers | None) -> Groups:
    """Leave out groups that are too small to be compared."""
    enough = sizes_of(groups, n_alike) >= max(groups.min_group_size, 1)
    return keep_labels(groups, enough)


def comparison_of(groups: Groups) -> Multigroup:
    """Return ``"pairwise"``, or ``"pooled"`` where pairs would be too many."""
    return "pairwise" if len(groups.labels) <= MAX_PAIRWISE else "pooled"


def _tell_numbers(audit: Audit) -> None:
    """Warn of attributes whose groups are numbers, and suggest ranges."""
    for name, groups in audit.every.items():
        if tip := tip_for_numbers(groups.labels, sizes_of(groups, audit.rows.n)):
            warn_user(
                f"{name} has {len(groups.labels):,} groups, each a number, and the "
                f"report leaves small ones out. {tip}",
                UndefinedMetricWarning,
            )


def estimator_inputs(
    estimator: Any,
    X: Any,
    sensitive_features: Any,
    control_features: Any,
    clusters: Any,
    pos_label: Any,
    threshold: float | None,
    scale: str,
) -> Named:
    """Return the arguments of `from_predictions` for fitted estimators.

    They are scores and predictions by model, groups, strata, people and the positive
    class. Decisions are those of `predict`, unless a threshold of the scores is given.
    """
    if not isinstance(estimator, Mapping):
        estimator = {type(estimator).__name__: estimator}
    if not estimator:
        raise ValueError("estimator has no models, expected at least one.")
    groups, named = columns_of_table(X, sensitive_features, "sensitive_features")
    strata, in_table = columns_of_table(X, control_features, "control_features")
    own = None if in_table else control_features
    classes = _common_classes(estimator, scale)
    methods = _score_methods(scale, bool(classes))
    if len(classes) == 2:
        pos_label = classes[1] if pos_label is None else pos_label
        if pos_label not in classes:
            raise ValueError(
                f"pos_label must be one of the classes {classes}, got {pos_label!r}."
            )
    routed = None if named or isinstance(groups, Mapping) else groups
    beside = {"sensitive_features": routed, "control_features": own}
    scores, predictions = {}, {}
    for name, model in estimator.items():
        name = str(name)
        with tip_for_unknown_columns(model, X, sensitive_features if named else None):
            of_scores = [method for method in methods if hasattr(model, method)]
            if of_scores and len(classes) in (0, 2):
                scores[name] = respond(model, of_scores[0], X, pos_label, **beside)
            if classes and (threshold is None or name not in scores):
                predictions[name] = respond(model, "predict", X, **beside)
    return {
        "y_score": scores or None,
        "y_pred": predictions or None,
        "sensitive_features": groups,
        "control_features": strata,
        "clusters": columns_of_table(X, clusters, "clusters")[0],
        "pos_label": pos_label,
    }


def _score_methods(scale: str, of_classes: bool) -> tuple[str, ...]:
    """Return methods that may give scores on a scale, the best first."""
    if scale == "real":
        return ("predict",)
    if scale == "probability":
        return ("predict_proba",)
    return tuple(m for m in RANKED_METHODS if not (of_classes and m == "predict"))


def columns_of_table(X: Any, columns: Any, argument: str) -> tuple[Any, bool]:
    """Return the named columns of X, or the values given; say whether X had them."""
    if columns is None or not names_columns(columns, count_rows(X)):
        return columns, False
    return select_columns(X, columns, argument), True


def _common_classes(estimators: Mapping[Any, Any], scale: str) -> list[Any]:
    """Return the classes of fitted classifiers; raise unless they are the same.

    There are no classes if regressors predict numbers, or if ranks of the predictions
    of other estimators are compared.
    """
    for name, model in estimators.items():
        check_fitted(model)
        if scale == "real" and hasattr(model, "classes_"):
            raise ValueError(
                f"estimator {name!r} is a {type(model).__name__} with classes_, "
                "expected a fitted regressor with scale='real'."
            )
    if scale == "real":
        return []
    if scale == "rank" and not any(hasattr(m, "classes_") for m in estimators.values()):
        return []
    for name, model in estimators.items():
        if not hasattr(model, "classes_"):
            raise ValueError(
                f"estimator {name!r} is a {type(model).__name__} without classes_, "
                "expected a fitted classifier. With scale='real' the report compares "
                "the numbers that regressors predict, with scale='rank' the ranks of "
                "what any estimator predicts."
            )
    by_name = [(name, list(model.classes_)) for name, model in estimators.items()]
    first, classes = by_name[0]
    for name, others in by_name:
        if others != classes:
            raise ValueError(
                f"estimator must hold models of the same classes, got {classes} for "
                f"{first!r} and {others} for {name!r}."
            )
    return classes


#: Of more unused columns than this only those are read that are named as people.
_MANY_COLUMNS = 12
#: Columns of scores and of predictions of each model, by its name.
_Models = dict[str, tuple[str | None, str | None]]


def read_frame(
    frame: Any,
    *,
    y_true: str | None,
    y_score: Any,
    y_pred: Any,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: str | None,
    counts: str | None,
    clusters: str | None,
    pos_label: Any,
    options: Options,
) -> list[Audit]:
    """Read a table; if it has many rows, count them by model, otherwise keep rows."""
    columns = {
        "y_true": y_true,
        "sensitive_features": group_names(sensitive_features),
        "control_features": stratum_names(control_features),
        "sample_weight": sample_weight,
        "counts": counts,
        "clusters": clusters,
    }
    models = _columns_of_models(y_score, y_pred)
    table = _open(frame, columns, models)
    n_rows = int(_collected(table.select(nw.len().alias("n")))["n"][0])
    make = partial(make_audit, pos_label=pos_label, options=options)
    if n_rows < MANY_ROWS or counts is not None or clusters is not None:
        return [_read_rows(table, columns, models, make)]
    audits = [
        _count_rows(table, columns, name, *models[name], n_rows, options, make)
        for name in models
    ]
    if len({audit.classes for audit in audits}) > 1:
        raise ValueError(
            "y_pred must have the same labels for all models, got "
            f"{[list(audit.classes) for audit in audits]}; report on them one by one."
        )
    return audits


def _columns_of_models(y_score: Any, y_pred: Any) -> _Models:
    """Return the columns of each model; models are matched by name."""
    scores, predicted = _named("y_score", y_score), _named("y_pred", y_pred)
    if not (isinstance(y_score, Mapping) and isinstance(y_pred, Mapping)):
        scores, predicted = name_single_model(scores, predicted)
    if not scores and not predicted:
        raise ValueError("y_score and y_pred are both None, expected at least one.")
    names = dict.fromkeys([*scores, *predicted])
    return {name: (scores.get(name), predicted.get(name)) for name in names}


def _named(argument: str, columns: Any) -> dict[str, str]:
    """Return names of columns by model."""
    if columns is None:
        return {}
    if isinstance(columns, str):
        columns = [columns]
    if not isinstance(columns, Mapping):
        columns = {name: name for name in columns}
    for name in columns.values():
        if not isinstance(name, str):
            raise TypeError(f"{argument} must name a column, got {name!r}.")
    return {str(model): name for model, name in columns.items()}


def _open(frame: Any, columns: Named, models: _Models) -> Any:
    """Check that a table has the columns, and that scores are numbers."""
    table: Any = None
    for score, predicted in models.values():
        named = {"y_score": score, "y_pred": predicted}
        named |= {name: columns[name] for name in ("y_true", "counts", "clusters")}
        table = open_table(
            frame,
            columns["sensitive_features"],
            columns["sample_weight"],
            columns["control_features"] or None,
            **{name: column for name, column in named.items() if column is not None},
        )
    return table


def _collected(table: Any) -> nw.DataFrame[Any]:
    """Return the result of a query, which is run unless the engine has run it."""
    return table.collect() if isinstance(table, nw.LazyFrame) else table


def _read_rows(
    table: Any, columns: Named, models: _Models, make: Callable[..., Audit]
) -> Audit:
    """Make an audit of the rows themselves."""
    columns = {name: of for name, of in columns.items() if of not in (None, [])}
    every = [str(name) for of in columns.values() for name in np.ravel(of)]
    every += [name for model in models.values() for name in model if name is not None]
    people = [] if {*columns} & {"counts", "clusters"} else _may_be_people(table, every)
    rows = _collected(table.select(*dict.fromkeys(every), *people)).to_pandas()
    scores = {m: rows[s] for m, (s, _) in models.items() if s is not None}
    predicted = {m: rows[p] for m, (_, p) in models.items() if p is not None}
    audit = make(
        y_score=scores or None,
        y_pred=predicted or None,
        **{"y_true": None, "sample_weight": None}
        | {name: rows[of] for name, of in columns.items()},
    )
    if not people:
        return audit
    by = columns["sensitive_features"]
    found = columns_of_people(rows[people], [rows[name] for name in by])
    notes = tell_people(found, len(rows), "clusters={!r}".format)
    return replace(audit, notes=tuple(notes))


def _may_be_people(table: Any, used: Sequence[str]) -> list[str]:
    """Name unused columns that may hold people; if many, those named as people."""
    schema = table.collect_schema()
    kinds = nw.String, nw.Categorical
    others = [
        name
        for name, kind in schema.items()
        if name not in used and (kind.is_integer() or kind in kinds)
    ]
    if len(others) > _MANY_COLUMNS:
        others = [name for name in others if PEOPLE.search(name)]
    return others


def _count_rows(
    table: Any,
    columns: Named,
    name: str,
    score: str | None,
    predicted: str | None,
    n_rows: int,
    options: Options,
    make: Callable[..., Audit],
) -> Audit:
    """Count the rows of a model by groups, classes and scores."""
    added: dict[str, Any] = {}
    sensitive, weight = columns["sensitive_features"], columns["sample_weight"]
    names = table.collect_schema().names()
    classes = [label for label in (columns["y_true"], predicted) if label is not None]
    if score is not None and predicted is None and options.scale == "probability":
        least = options.threshold or -SCORE_ROUNDING
        added[_unused("decision", names)] = read_floats(table, score) >= least
    if weight is not None:
        weights = read_floats(table, weight)
        level = (weights.log(2) / _WEIGHT_STEP).floor()
        steps = nw.when(weights > 0).then(level).otherwise(nw.lit(0.0))
        added[_unused("step of weight", names)] = steps
    by = Table(
        table.with_columns(**added) if added else table,
        sensitive,
        weight,
        score,
        (*classes, *added),
        control=columns["control_features"],
        scale="rank" if options.scale == "rank" else "probability",
    )
    Progress("FairnessReport", options.verbose).line(f"counting {n_rows:,} rows")
    entries = _count_scores(by, n_rows)
    if weight is None:
        entries = _split_pairs(entries)
    values = dict(zip(classes, entries.classes, strict=False))
    middles = entries.lows + (entries.highs - entries.lows) / 2
    audit = make(
        y_true=values.get(columns["y_true"]),
        y_score=None if score is None else {name: middles},
        y_pred=None if predicted is None else {name: values[predicted]},
        sensitive_features=dict(zip(sensitive, entries.attributes, strict=True)),
        control_features=entries.strata,
        sample_weight=None if weight is None else entries.weights / entries.counts,
        counts=entries.counts,
    )
    if score is None or not (entries.lows < entries.highs).any():
        return audit
    return replace(audit, blur=blur_of(audit, entries.lows, entries.highs))


def _unused(name: str, names: Iterable[str]) -> str:
    """Return a name for a new column; engines may ignore the case of letters."""
    taken = {other.lower() for other in names}
    while name in taken:
        name += " "
    return name


def _count_scores(table: Table, n_rows: int) -> RowCounts:
    """Count rows by score, or in bins of scores."""
    if table.score is None or n_rows <= _MAX_SCORES:
        return count_rows_by(table, None)
    if table.scale == "rank":
        table = _move_to_unit_interval(table)
    n_kinds = len(count_rows_by(replace(table, score=None), None).counts)
    n_bins = 1 << max(0, (_MAX_CELLS // n_kinds).bit_length() - 1)
    n_bins = min(max(n_bins, _FEWEST_BINS), _MOST_BINS)
    return count_rows_by(replace(table, narrow_ends=True), n_bins)


def _split_pairs(entries: RowCounts) -> RowCounts:
    """Make two entries of each bin of two rows, since both scores are known."""
    pairs = (entries.counts == 2) & (entries.lows < entries.highs)
    order = np.repeat(np.arange(len(pairs)), np.where(pairs, 2, 1))
    second, pairs = np.diff(order, prepend=-1) == 0, pairs[order]
    counts = entries.counts[order] // np.where(pairs, 2, 1)
    lows, highs = entries.lows[order], entries.highs[order]
    return replace(
        entries,
        attributes=[groups[order] for groups in entries.attributes],
        classes=[labels[order] for labels in entries.classes],
        keys=entries.keys[order],
        counts=counts,
        weights=counts,
        lows=np.where(second, highs, lows),
        highs=np.where(pairs & ~second, lows, highs),
        strata=None if entries.strata is None else entries.strata[order],
    )


def _move_to_unit_interval(table: Table) -> Table:
    """Move scores to [0, 1], so that bins can hold them; no rank changes."""
    assert table.score is not None
    score, most = read_floats(table.frame, table.score), sys.float_info.max
    finite = table.frame.filter((score >= -most) & (score <= most))
    ends = finite.select(score.min().alias("low"), score.max().alias("high"))
    row = _collected(ends)
    # Without a finite score there is nothing to move, and the query finds the fault.
    low, high = (float(row[name][0] or 0) for name in ("low", "high"))
    moved = (score - low) / ((high - low) or 1.0)
    rows = table.frame.with_columns(moved.alias(table.score))
    return replace(table, frame=rows, scale="probability")


def blur_of(audit: Audit, lows: Floats, highs: Floats) -> tuple[float, float]:
    """Return how far bins of scores may move MCDP(0) and ABCC.

    The score of a row may lie anywhere in the interval of its bin. At each threshold
    the share of a group can move by at most the share of its rows whose interval
    contains the threshold; a rank by at most the share of all rows whose interval
    overlaps.
    """
    weights, width, share = audit.entry_weights, 0.0, 0.0
    for groups in groups_compared(audit):
        shares = (_most_within(lows[own], highs[own], weights[own]) for own in groups)
        width = max(width, sum_of_two_largest(shares))
        everyone = np.logical_or.reduce(groups)
        share = max(
            share, _largest_overlap(*(x[everyone] for x in (lows, highs, weights)))
        )
    if audit.options.scale == "rank":
        return width, 2 * share
    return width, float((highs - lows).max())


def groups_compared(audit: Audit) -> Iterator[list[Bools]]:
    """Yield the masks of the compared groups, for each attribute and stratum."""
    strata = audit.strata
    parts: list[Any] = [True]
    if strata is not None:
        parts += [strata.codes == i for i in range(len(strata.labels))]
    for every in audit.every.values():
        groups = large_groups(every, audit.rows.n)
        for part in parts:
            masks = [(groups.codes == i) & part for i in range(len(groups.labels))]
            masks = [mask for mask in masks if mask.any()]
            if len(masks) > 1:
                yield masks


def sum_of_two_largest(numbers: Iterator[float]) -> float:
    """Return the sum of the two largest numbers."""
    return sum(sorted(numbers)[-2:])


def _most_within(lows: Floats, highs: Floats, weights: Floats) -> float:
    """Return the largest share of weight in intervals that share an inner score."""
    edges = np.unique(np.concatenate([lows, highs]))
    middles = (edges[1:] + edges[:-1]) / 2
    inside = _total(lows, weights, middles) - _total(highs, weights, middles)
    return float(inside.max() / weights.sum())


def _largest_overlap(lows: Floats, highs: Floats, weights: Floats) -> float:
    """Return the largest share of weight whose intervals overlap a row's interval."""
    below, above = _total(highs, weights, lows), _total(-lows, weights, -highs)
    return float(1 - ((below + above) / weights.sum()).min())


def _total(values: Floats, weights: Floats, at: Floats) -> Floats:
    """Return the total weight of the values up to each number of `at`."""
    order = np.argsort(values, kind="stable")
    sums = np.append(0.0, np.cumsum(weights[order]))
    return sums[np.searchsorted(values[order], at, side="right")]
