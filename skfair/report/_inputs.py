"""From what a user hands over to an `Audit`, with every check."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._validation import check_scores, check_weights
from skfair.groups import Groups, columns_of, encode_groups, intersect, sort_labels
from skfair.metrics._inputs import positive_class
from skfair.report._audit import Attribute, Audit, Model, Options
from skfair.report._text import CROSS
from skfair.statistics._grouped_confusion import encode_classes

Named = dict[str, Any]
#: Codes of rows, and the labels that they stand for.
Labelled = tuple[NDArray[Any], tuple[Hashable, ...]]

#: Name of a model that has none.
_UNNAMED = "model"


def named_columns(values: Any, argument: str) -> Named:
    """Columns by name: of a mapping, a dataframe, a Series or an array.

    Parameters
    ----------
    values : mapping, dataframe, or array-like of shape (n_samples,), or None
    argument : str
        What it is called, for messages.

    Returns
    -------
    dict of str to array-like of shape (n_samples,)

    Raises
    ------
    ValueError
        On an empty mapping, repeated names, or an unnamed array of several columns.
    """
    if values is None:
        return {}
    if isinstance(values, Mapping):
        names, columns = [str(name) for name in values], list(values.values())
    else:
        found, columns = columns_of(values)
        names = [name or _UNNAMED for name in found]
        if len(columns) > 1 and not any(found):
            raise ValueError(
                f"{argument} must have shape (n_samples,), one value for each row, or "
                f"name its models in a dict or dataframe; got {len(columns)} columns "
                "without names."
            )
    if not columns:
        raise ValueError(f"{argument} has no columns, expected at least one model.")
    _check_distinct(argument, names)
    return dict(zip(names, columns, strict=True))


def make_audit(
    *,
    y_true: ArrayLike | None,
    scores: Named,
    predictions: Named,
    sensitive_features: Any,
    pos_label: Any,
    sample_weight: ArrayLike | None,
    options: Options,
) -> Audit:
    """Check and encode everything that a report is computed from.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
    scores, predictions : dict of str to array-like of shape (n_samples,)
        By the name of the model; one model may have both.
    sensitive_features : array-like, dataframe, Groups or mapping
    pos_label : int, float, bool, str or None
    sample_weight : array-like of shape (n_samples,) or None
    options : Options

    Returns
    -------
    Audit
        Without the rows that weigh nothing.

    Raises
    ------
    ValueError
        Naming the argument, its value and what was expected.
    """
    scored, labelled, n_samples = _encode_models(scores, predictions)
    true = None if y_true is None else encode_classes("y_true", y_true)
    if true is not None:
        _check_length("y_true", len(true[0]), n_samples)
    found = _join([labels for _, labels in labelled.values()], true)
    classes = _classes(found, pos_label, bool(scored))
    weights = check_weights(sample_weight, n_samples)
    kept = np.arange(n_samples) if weights is None else np.flatnonzero(weights)
    if not len(kept):
        raise ValueError("sample_weight is zero in every row, expected positive ones.")
    models = tuple(
        _model(name, scored.get(name), labelled.get(name), classes, kept, options)
        for name in dict.fromkeys([*scored, *labelled])
    )
    return Audit(
        models=models,
        attributes=_attributes(sensitive_features, n_samples, kept, options),
        y_true=None if true is None else _recode(*true, classes)[kept],
        classes=classes,
        sample_weight=None if weights is None else weights[kept],
        n_rows=len(kept),
        options=options,
    )


def _encode_models(
    scores: Named, predictions: Named
) -> tuple[dict[str, NDArray[np.float64]], dict[str, Labelled], int]:
    """Check scores and labels of all models, which have the same rows."""
    if not scores and not predictions:
        raise ValueError("y_score and y_pred are both None, expected at least one.")
    scored = {name: check_scores(y, _of("y_score", name)) for name, y in scores.items()}
    labelled = {
        name: encode_classes(_of("y_pred", name), y) for name, y in predictions.items()
    }
    lengths = [(name, len(y)) for name, y in scored.items()]
    lengths += [(name, len(codes)) for name, (codes, _) in labelled.items()]
    for name, length in lengths:
        _check_length(f"model {name!r}", length, lengths[0][1])
    return scored, labelled, lengths[0][1]


def _model(
    name: str,
    scores: NDArray[np.float64] | None,
    labels: Labelled | None,
    classes: tuple[Hashable, ...],
    kept: NDArray[np.intp],
    options: Options,
) -> Model:
    scores = None if scores is None else scores[kept]
    if labels is not None:
        return Model(name, scores, _recode(*labels, classes)[kept], "as predicted")
    if scores is None or options.threshold is None:
        raise ValueError(f"threshold must be a number for the scores of {name!r}.")
    predicted = (scores >= options.threshold).astype(np.intp)
    return Model(name, scores, predicted, f"score of at least {options.threshold:g}")


def _classes(
    found: tuple[Hashable, ...], pos_label: Any, scored: bool
) -> tuple[Hashable, ...]:
    """Class labels, the positive one last where there are two."""
    if len(found) > 2:
        if scored or pos_label is not None:
            raise ValueError(
                "y_true and y_pred must be binary beside y_score or pos_label, got "
                f"{len(found)} classes: {list(found[:5])}."
            )
        return found
    positive = positive_class(found, "y_true together with y_pred", pos_label)
    absent = 0 if pos_label is None else f"not {pos_label}"
    return next((label for label in found if label != positive), absent), positive


def _attributes(
    sensitive_features: Any, n_samples: int, kept: NDArray[np.intp], options: Options
) -> tuple[Attribute, ...]:
    """Each attribute, and the intersection of all of them where there are several."""
    if sensitive_features is None:
        raise ValueError("sensitive_features is None, expected group labels.")
    if isinstance(sensitive_features, Mapping):
        columns = {str(name): data for name, data in sensitive_features.items()}
    elif isinstance(sensitive_features, Groups):
        columns = {CROSS.join(sensitive_features.names) or "group": sensitive_features}
    else:
        found, data = columns_of(sensitive_features)
        one = len(data) == 1
        names = [
            name or ("group" if one else f"attribute {i + 1}")
            for i, name in enumerate(found)
        ]
        _check_distinct("sensitive_features", names)
        columns = dict(zip(names, data, strict=True))
    if not columns:
        raise ValueError("sensitive_features has no columns, expected at least one.")
    each = {}
    for name, column in columns.items():
        groups = encode_groups(column, min_group_size=options.min_group_size)
        _check_length(f"sensitive_features {name!r}", len(groups), n_samples)
        each[name] = groups[kept]
    if len(each) > 1:
        codes, labels = intersect([(g.codes, g.labels) for g in each.values()])
        smallest = max(g.min_group_size for g in each.values())
        together = Groups(codes, labels, tuple(each), smallest)
        each[CROSS.join(each)] = together
    return tuple(_set_aside(name, groups) for name, groups in each.items())


def _set_aside(name: str, groups: Groups) -> Attribute:
    """Leave out the groups that are too small to be compared, and say which."""
    sizes = groups.sizes()
    large = sizes >= max(groups.min_group_size, 1)
    # The last entry serves the rows without a group, whose code is -1.
    lookup = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)
    labels = tuple(label for label, ok in zip(groups.labels, large, strict=True) if ok)
    aside = tuple(
        (label, int(size))
        for label, size, ok in zip(groups.labels, sizes, large, strict=True)
        if not ok
    )
    compared = replace(groups, codes=lookup[groups.codes], labels=labels)
    return Attribute(name, compared, aside, int(np.count_nonzero(groups.codes < 0)))


def _join(
    predicted: list[tuple[Hashable, ...]], true: tuple[Any, tuple[Hashable, ...]] | None
) -> tuple[Hashable, ...]:
    found = {label for labels in predicted for label in labels}
    return tuple(sort_labels(found | set(() if true is None else true[1])))


def _recode(
    codes: NDArray[Any], labels: tuple[Hashable, ...], classes: tuple[Hashable, ...]
) -> NDArray[np.intp]:
    lookup = np.array([classes.index(label) for label in labels], dtype=np.intp)
    return np.asarray(lookup[codes])


def _of(argument: str, name: str) -> str:
    return argument if name == _UNNAMED else f"{argument}[{name!r}]"


def _check_length(what: str, length: int, expected: int) -> None:
    if length != expected:
        raise ValueError(f"{what} has {length} rows, expected {expected}.")


def _check_distinct(argument: str, names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{argument} must have distinct names, got {repeated} twice.")
