"""What a reader must know before believing a number."""

from __future__ import annotations

from typing import Any

from skfair.report._text import counted, listed

Summary = dict[str, Any]

#: Rates of groups smaller than this are uncertain by ten points and more.
_SMALL = 100


def cautions(summary: Summary) -> list[str]:
    """List the warnings that matter, each once.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    list of str
    """
    texts: list[str] = []
    smallest = summary["settings"]["min_group_size"]
    for attribute in summary["attributes"]:
        texts += _about_groups(attribute, smallest)
        for result in attribute["results"]:
            texts += _about_measures(summary, attribute, result)
    if summary["settings"]["sample_weight"]:
        texts.append(
            "Rows are weighted. Group sizes count rows, rates and metrics add up "
            "weights, and which groups differ from the others is not tested."
        )
    return list(dict.fromkeys(texts))


def _about_groups(attribute: Summary, smallest: int) -> list[str]:
    name, groups, aside = (attribute[key] for key in ("name", "groups", "aside"))
    texts = []
    if len(groups) < 2:
        texts.append(
            f"{name}: nothing can be compared, since "
            f"{counted(len(groups), 'group')} of {len(groups) + len(aside)} "
            f"{'has' if len(groups) == 1 else 'have'} at least "
            f"{counted(smallest, 'row')}."
        )
    if aside:
        named = [f"“{group['label']}” ({group['n']:,})" for group in aside]
        texts.append(
            f"{name}: {counted(len(aside), 'group')} with fewer than "
            f"{counted(smallest, 'row')} cannot be compared and "
            f"{'is' if len(aside) == 1 else 'are'} left out: {listed(named)}."
        )
    if attribute["n_missing"]:
        texts.append(
            f"{name}: {counted(attribute['n_missing'], 'row')} without a group "
            f"{'is' if attribute['n_missing'] == 1 else 'are'} left out."
        )
    return texts + _about_sizes(name, groups)


def _about_sizes(name: str, groups: list[Summary]) -> list[str]:
    """Warn of small groups."""
    small = sorted((g["n"], f"“{g['label']}” ({g['n']:,})") for g in groups)
    small = [(n, text) for n, text in small if n < _SMALL]
    if not small or len(groups) < 2:
        return []
    error = 98 / small[0][0] ** 0.5
    return [
        f"{name}: {len(small)} of {len(groups)} groups "
        f"{'has' if len(small) == 1 else 'have'} fewer than {_SMALL} rows: "
        f"{listed([text for _, text in small])}. A rate in the smallest is "
        f"uncertain by up to {error:.0f} percentage points either way, and the "
        "largest difference tends to be found where groups are small."
    ]


def _about_measures(summary: Summary, attribute: Summary, result: Summary) -> list[str]:
    if len(attribute["groups"]) < 2:
        return []
    model = f", {result['model']}" if len(summary["models"]) > 1 else ""
    texts = []
    for measure in result["measures"]:
        where = f"{attribute['name']}{model}: {measure['title']}"
        if measure["value"] is None:
            finding = measure["finding"]
            texts.append(f"{where} {finding[0].lower()}{finding[1:]}.")
        elif measure["note"]:
            texts.append(f"{where}: {measure['note']}")
    return texts
