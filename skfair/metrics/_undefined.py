"""What is undefined, and why: the sentences that results and warnings state.

The table of all cases is in the documentation, in ``concepts.md``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._text import counted, listed

#: What to do about groups that are too small.
ADVICE = (
    " skfair.groups.encode_groups(..., rare='merge', min_group_size=...) makes one "
    "group of such groups, and rare='drop' leaves them out, as a merged group that is "
    "still too small."
)


def why_undefined(
    labels: Sequence[Hashable], counts: Integers, min_group_size: int = 1
) -> str | None:
    """Say why groups of these sizes cannot be compared; None if they can."""
    smallest = max(min_group_size, 1)
    small = np.flatnonzero(counts < smallest)
    if len(small):
        sizes = zip(small.tolist(), counts[small].tolist(), strict=True)
        named = listed([f"{labels[i]!r} has {counted(n, 'row')}" for i, n in sizes])
        return f"each group needs at least {counted(smallest, 'row')}, but {named}"
    if len(labels) < 2:
        return f"there must be at least two groups, got only {list(labels)}"
    return None


def comparable_groups(
    labels: Sequence[Hashable], sizes: Integers, smallest: int
) -> tuple[Integers, str]:
    """Return positions of groups with enough rows, and why others are left out."""
    needed = max(smallest, 1)
    large, small = np.flatnonzero(sizes >= needed), np.flatnonzero(sizes < needed)
    if len(large) < 2:
        single = [f"only the group {labels[i]!r}" for i in large.tolist()]
        whose = "".join(single) or "no group"
        rows = "rows" if needed == 1 else f"at least {needed} rows"
        return large[:0], f"{whose} has {rows}"
    few = listed([f"{labels[i]!r}: {counted(sizes[i], 'row')}" for i in small.tolist()])
    return large, f"without {few}" if few else ""


def lacks_labels(
    labels: Sequence[Hashable],
    classes: Sequence[Hashable],
    label_counts: Integers,
    min_group_size: int,
) -> tuple[str, str]:
    """Say which groups have too few rows of a true label; "" if none.

    `label_counts` has shape (n_groups, n_classes).
    """
    smallest = max(min_group_size, 1)
    few = [
        f"{labels[i]!r} has {counted(label_counts[i, j], 'row')} of {classes[j]!r}"
        for i, j in np.argwhere(label_counts < smallest)
    ]
    if not few:
        return "", ""
    needed = f"each group needs at least {counted(smallest, 'row')} of each true label"
    return f"{needed}, but {listed(few)}", ADVICE


def why_none_compared(
    labels: Sequence[Hashable], compared: Bools, weights: Floats, smallest: int
) -> str:
    """Say why no groups are compared with their average; "" if two are."""
    if len(labels) < 2:
        return f"there must be at least two groups, got {list(labels)}"
    if compared.sum() < 2:
        rows = "rows" if smallest == 1 else f"at least {smallest} rows"
        return f"fewer than two groups have {rows} that count"
    return "" if weights.any() else "all groups with rows have weight 0"


def describe_left_out(
    labels: Sequence[Hashable], n_groups: int, smallest: int, which: str = " that count"
) -> str:
    """Return the number and names of the groups left out; "" if there are none.

    `which` names the rows of which these groups have too few.
    """
    if not labels:
        return ""
    named = listed([repr(label) for label in labels])
    rows = "no rows" if smallest == 1 else f"fewer than {smallest} rows"
    return f"{len(labels)} of {n_groups} groups have {rows}{which} ({named})"


def describe_strata(reasons: Mapping[Hashable, str], *, undefined: bool) -> str:
    """Name the strata that are left out in whole or in part, with the reason for each.

    The reason is "" for a stratum whose groups are all compared.
    """
    texts = [f"{label!r} ({reason})" for label, reason in reasons.items() if reason]
    if undefined:
        why = f": {listed(texts)}" if texts else ""
        return f"no stratum has two groups that can be compared{why}"
    if not texts:
        return ""
    return f"leaves out strata, or groups within strata: {listed(texts)}"


def join_reasons(*reasons: str) -> str:
    """Join the reasons that there are."""
    return "; ".join(filter(None, reasons))
