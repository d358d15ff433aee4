"""From an `Audit` to a plain dict, which holds all that a report says."""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy
import sklearn
from sklearn.exceptions import UndefinedMetricWarning

import skfair
from skfair.metrics import DCPResult
from skfair.metrics._distribution._score_grid import ScoreGrid
from skfair.report._audit import Attribute, Audit, Model
from skfair.report._cautions import cautions
from skfair.report._groups import group_rows
from skfair.report._intervals import Draws, draw_all, summarize_draws
from skfair.report._measures import MEASURES, Measure, applicable, fill
from skfair.report._performance import performance
from skfair.report._sample import Sample, observed_rows
from skfair.report._sentences import Sentences, with_chance
from skfair.report._shapes import cdf_shapes
from skfair.report._text import counted, label_text, or_none, percent, plain_text
from skfair.report._verdict import verdict

#: Seconds after which the search for a certificate of DCP ends.
_DCP_SECONDS = 20.0

Summary = dict[str, Any]


def summarize(
    audit: Audit, title: str, progress: Callable[[int, int], None] | None = None
) -> Summary:
    """Compute a report.

    Parameters
    ----------
    audit : Audit
    title : str
    progress : callable, default=None
        Called with the number of draws done, and of all.

    Returns
    -------
    dict
        Of strings, numbers, None, lists and dicts: it can be written as JSON.
    """
    grids = [
        None if model.y_score is None else ScoreGrid(model.y_score, audit.sample_weight)
        for model in audit.models
    ]
    samples = [
        Sample(model, attribute, audit, applicable(audit, model, attribute), grid)
        for attribute in audit.attributes
        for model, grid in zip(audit.models, grids, strict=True)
    ]
    draws = draw_all(samples, progress)
    results = [
        _result(sample, drawn) for sample, drawn in zip(samples, draws, strict=True)
    ]
    n_models = len(audit.models)
    summary: Summary = {
        "title": plain_text(title, 120),
        "n_rows": audit.n_rows,
        "classes": [plain_text(label) for label in audit.classes],
        "positive": plain_text(audit.classes[1]) if audit.binary else None,
        "models": [_model(audit, model) for model in audit.models],
        "attributes": [
            {**_attribute(attribute), "results": results[i * n_models :][:n_models]}
            for i, attribute in enumerate(audit.attributes)
        ],
        "settings": _settings(audit),
        "versions": _versions(),
    }
    return {**summary, "verdict": verdict(summary), "cautions": cautions(summary)}


def _model(audit: Audit, model: Model) -> Summary:
    return {
        "name": plain_text(model.name),
        "scores": model.y_score is not None,
        "decided_by": model.decided_by,
        "performance": performance(
            audit.y_true,
            model.y_pred,
            model.y_score,
            len(audit.classes),
            audit.sample_weight,
        ),
    }


def _attribute(attribute: Attribute) -> Summary:
    sizes = attribute.groups.sizes().tolist()
    return {
        "name": plain_text(attribute.name),
        "comparison": attribute.comparison,
        "groups": [
            {"label": label_text(label), "n": size}
            for label, size in zip(attribute.groups.labels, sizes, strict=True)
        ],
        "aside": [
            {"label": label_text(label), "n": size} for label, size in attribute.aside
        ],
        "n_missing": attribute.n_missing,
    }


def _result(sample: Sample, draws: Draws) -> Summary:
    """Everything about one model and one attribute."""
    result: Summary = {"model": plain_text(sample.model.name)}
    if len(sample.attribute.groups.labels) < 2:
        measures = [_undefined(sample, measure) for measure in _measures(sample)]
        return {**result, "measures": measures, "groups": group_rows(sample)}
    sentences = Sentences(sample)
    measures = [
        _measure(sample, sentences, measure, draws) for measure in _measures(sample)
    ]
    return {
        **result,
        "measures": measures,
        "groups": group_rows(sample),
        "cdf": cdf_shapes(sentences),
    }


def _measures(sample: Sample) -> list[Measure]:
    return [measure for measure in MEASURES if measure.key in sample.keys]


def _measure(
    sample: Sample, sentences: Sentences, measure: Measure, draws: Draws
) -> Summary:
    value, note = _observed(sample, measure.key, sentences)
    found = {
        **_named(sample, measure),
        "value": or_none(value),
        **summarize_draws(value, measure.key, draws, sample.audit.options),
    }
    notes = [text for text in (note, found.pop("note")) if text]
    if found["value"] is None:
        finding = f"Cannot be computed: {_reason(note)}"
    else:
        finding = sentences.describe(measure.key, value)
    if measure.key == "dcp" and "dcp" not in draws.bootstrap:
        notes.append("No interval and no test: the search takes too long to repeat.")
    return {
        **found,
        "note": " ".join(notes),
        "finding": finding,
        "sentence": with_chance(finding, found),
    }


def _named(sample: Sample, measure: Measure) -> Summary:
    options, sizes = sample.audit.options, sample.attribute.groups.sizes()
    return {
        "key": measure.key,
        "title": fill(measure.title, options),
        "question": measure.question,
        "maximum": measure.maximum,
        "n": int(sizes.sum()),
        "n_groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
    }


def _undefined(sample: Sample, measure: Measure) -> Summary:
    labels = [label_text(label) for label in sample.attribute.groups.labels]
    reason = f"only “{labels[0]}” has" if labels else "no group has"
    smallest = sample.audit.options.min_group_size
    finding = (
        "Cannot be computed: there must be at least two groups, and "
        f"{reason} {counted(smallest, 'row')} or more"
    )
    nothing = dict.fromkeys(("value", "lower", "upper", "null", "pvalue"))
    texts = {"note": "", "finding": finding, "sentence": f"{finding}."}
    return {**_named(sample, measure), **nothing, **texts}


def _observed(sample: Sample, key: str, sentences: Sentences) -> tuple[float, str]:
    """Value of a metric, and what is to be said about it."""
    if key == "dcp":
        result = DCPResult.from_predictions(
            None, sentences.confusion, time_limit=_DCP_SECONDS
        )
        if result.optimal:
            return result.upper, ""
        return result.upper, (
            f"Certified to lie between {percent(result.lower)} and "
            f"{percent(result.upper)}; the search ended after {_DCP_SECONDS:g} s."
        )
    if key in sentences.found:
        return sentences.found[key].value, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UndefinedMetricWarning)
        value = sample.values(observed_rows(sample), (key,))[key]
    return value, " ".join(plain_text(w.message, 400) for w in caught)


def _reason(note: str) -> str:
    """Reason that a warning gives, after its name of the metric."""
    return note.rpartition("set to nan: ")[2].rstrip(".") or "it is undefined here"


def _settings(audit: Audit) -> Summary:
    options = audit.options
    return {
        "positive label": plain_text(audit.classes[1]) if audit.binary else None,
        "decisions": {plain_text(m.name): m.decided_by for m in audit.models},
        "epsilon": options.epsilon,
        "alpha": options.alpha,
        "n_bootstrap": options.n_bootstrap,
        "n_permutations": options.n_permutations,
        "confidence_level": options.confidence_level,
        "min_group_size": options.min_group_size,
        "random_state": options.seed,
        "sample_weight": audit.sample_weight is not None,
        "calls": {
            measure.key: fill(measure.call, options)
            for measure in MEASURES
            if any(measure.key in applicable(audit, model) for model in audit.models)
        },
    }


def _versions() -> dict[str, str]:
    return {
        "skfair": skfair.__version__,
        "scikit-learn": sklearn.__version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "pandas": pd.__version__,
        "Python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
    }
