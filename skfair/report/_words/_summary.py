"""The summary of a report: a plain dict of all that it says."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

import skfair
from skfair.report._inputs import Attribute, Audit, Model
from skfair.report._numbers._draws import (
    Drawn,
    counts_are_drawn,
    draw_all,
    uncertainty,
)
from skfair.report._numbers._groups import group_numbers, performance
from skfair.report._numbers._sample import (
    Finding,
    Sample,
    cdf_curves,
    make_samples,
    observe,
)
from skfair.report._options import MEASURES, Measure
from skfair.report._words._sentences import describe, note, with_chance
from skfair.report._words._text import label_text, or_none, visible_text
from skfair.report._words._verdict import Summary, cautions, verdict


def summarize(audit: Audit, title: str) -> Summary:
    """Compute a report, of strings, numbers, None, lists and dicts as in JSON."""
    samples = make_samples(audit)
    results = [
        _result(sample, draws)
        for sample, draws in zip(samples, draw_all(samples), strict=True)
    ]
    n_models = len(audit.models)
    summary: Summary = {
        "title": visible_text(title, 120),
        "n_rows": audit.n_rows,
        "classes": [visible_text(label) for label in audit.classes],
        "positive": _positive(audit),
        "models": [_model(audit, model) for model in audit.models],
        "attributes": [
            {**_attribute(attribute), "results": results[i * n_models :][:n_models]}
            for i, attribute in enumerate(audit.attributes)
        ],
        "settings": _settings(audit),
        "versions": _versions(),
    }
    return {**summary, "verdict": verdict(summary), "cautions": cautions(summary)}


def _positive(audit: Audit) -> str | None:
    return visible_text(audit.classes[1]) if audit.binary else None


def _model(audit: Audit, model: Model) -> Summary:
    return {
        "name": visible_text(model.name),
        "scores": model.y_score is not None,
        "decided_by": model.decided_by,
        "performance": performance(audit, model),
    }


def _attribute(attribute: Attribute) -> Summary:
    groups = attribute.groups
    sizes = zip(groups.labels, groups.sizes().tolist(), strict=True)
    return {
        "name": visible_text(attribute.name),
        "comparison": attribute.comparison,
        "groups": [{"label": label_text(label), "n": size} for label, size in sizes],
        "aside": [
            {"label": label_text(label), "n": size} for label, size in attribute.aside
        ],
        "n_missing": attribute.n_missing,
    }


def _result(sample: Sample, draws: Drawn) -> Summary:
    """Everything about one model and one attribute."""
    found = observe(sample)
    return {
        "model": visible_text(sample.model.name),
        "measures": [
            _measure(sample, measure, found[measure.key], draws)
            for measure in MEASURES
            if measure.key in found
        ],
        "groups": _groups(sample),
        "cdf": _cdf(sample, found.get("mcdp")),
    }


def _measure(sample: Sample, measure: Measure, found: Finding, draws: Drawn) -> Summary:
    options, sizes = sample.audit.options, sample.attribute.groups.sizes()
    drawn = uncertainty(found.value, measure.key, draws, options.confidence_level)
    finding = describe(sample, measure.key, found)
    return {
        "key": measure.key,
        "title": measure.title.format(**vars(options)),
        "question": measure.question,
        "maximum": measure.maximum,
        "n": int(sizes.sum()),
        "n_groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
        "value": or_none(found.value),
        "lower": drawn.lower,
        "upper": drawn.upper,
        "null": drawn.null,
        "pvalue": drawn.pvalue,
        "note": note(measure.key, found, drawn),
        "finding": finding,
        "sentence": with_chance(measure.key, finding, drawn),
    }


def _groups(sample: Sample) -> list[Summary]:
    """Numbers of each group; of many groups the furthest from the average first."""
    labels = [label_text(label) for label in sample.attribute.groups.labels]
    rows = [
        {"label": label, **numbers}
        for label, numbers in zip(labels, group_numbers(sample), strict=True)
    ]
    if sample.audit.binary and sample.attribute.comparison == "pooled":
        rows.sort(key=lambda row: -abs(row["difference"]))
    return rows


def _cdf(sample: Sample, found: Finding | None) -> Summary | None:
    """Curves of the score distributions and their largest gap, for a picture."""
    few = sample.comparable and sample.attribute.comparison == "pairwise"
    if found is None or not few:
        return None
    return {
        "curves": cdf_curves(sample),
        "gap": {
            "value": found.value,
            "pair": list(found.pair),
            "score": found.score,
            "shares": list(found.figures),
        },
    }


def _settings(audit: Audit) -> Summary:
    options = audit.options
    stated = ["epsilon", "alpha", "n_bootstrap", "n_permutations", "confidence_level"]
    stated += ["min_group_size", "random_state"]
    possible = {key for model in audit.models for key in audit.keys(model)}
    return {
        "positive label": _positive(audit),
        "decisions": {visible_text(m.name): m.decided_by for m in audit.models},
        **{name: getattr(options, name) for name in stated},
        "sample_weight": audit.sample_weight is not None,
        "counts_are_drawn": counts_are_drawn(audit),
        "calls": {
            measure.key: measure.call.format(**vars(options))
            for measure in MEASURES
            if measure.key in possible
        },
    }


def _versions() -> dict[str, str]:
    packages = "scikit-learn", "NumPy", "SciPy", "pandas"
    return {
        "skfair": skfair.__version__,
        **{name: version(name) for name in packages},
        "Python": platform.python_version(),
        "system": f"{sys.platform} {platform.machine()}",
    }
