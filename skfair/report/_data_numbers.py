"""Numbers of a table before any model: groups, base rates, missing values, proxies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from skfair._utils._arithmetic import quotients
from skfair._utils._text import or_none
from skfair._utils._types import Bools, Floats, Integers
from skfair.groups import Groups, sum_by_code
from skfair.metrics import confidence_interval, mcdp
from skfair.metrics._rate_intervals import wilson_interval
from skfair.report._inputs import Attribute
from skfair.report._names import name_of
from skfair.sampling import rows_to_certify

Numbers = dict[str, Any]

#: Columns of more distinct numbers are split in as many intervals of equal weight.
_MOST_CELLS = 20


class Column(NamedTuple):
    """A feature: codes of its cells, missing values, and its numbers, if it has any."""

    name: str
    cells: Integers
    missing: Bools
    numbers: Floats | None


def read_column(name: str, values: Any) -> Column:
    """Encode a feature; a missing value is a cell of its own."""
    column = pd.Series(np.asarray(values, dtype=object))
    missing = column.isna().to_numpy()
    numbers = None
    known = column[~missing]
    if len(known) and not any(isinstance(v, (str, bool, np.bool_)) for v in known):
        found = pd.to_numeric(known, errors="coerce")
        if np.isfinite(found.to_numpy(float)).all():
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(float)
    if numbers is not None and known.nunique() > _MOST_CELLS:
        edges = np.unique(np.nanquantile(numbers, np.arange(1, 20) / 20))
        cells: Integers = np.searchsorted(edges, numbers, side="left").astype(np.intp)
        cells[missing] = len(edges) + 1
    else:
        text = column.map(str).where(~missing, None)
        cells = pd.factorize(text, use_na_sentinel=False)[0].astype(np.intp)
    return Column(name, cells, missing, numbers)


def group_rows(
    attribute: Attribute, positive: Bools | None, limit: float, level: float
) -> list[Numbers]:
    """Size, share and base rate of each group, and the rows that an audit needs."""
    every = attribute.every
    sizes = every.sizes().astype(float)
    rates = np.full(len(sizes), math.nan)
    if positive is not None:
        hits = sum_by_code(every.codes, positive, len(sizes))
        rates = quotients(hits, sizes, math.nan)
    ends = wilson_interval(rates, sizes, level)
    total, rows = sizes.sum(), []
    for label, n, *rate in zip(every.labels, sizes, rates, *ends, strict=True):
        share, needed = float(n / total if total else 0.0), None
        if 0 < share < 1:
            needed = rows_to_certify(limit, [share, 1 - share], confidence_level=level)
        base_rate, lower, upper = map(or_none, rate)
        rows.append(
            {
                "label": name_of(label),
                "n": int(n),
                "share": share,
                "base_rate": base_rate,
                "lower": lower,
                "upper": upper,
                "n_needed": needed,
                "own_needed": None if needed is None else math.ceil(needed * share),
            }
        )
    return rows


def missing_rows(attribute: Attribute, columns: list[Column]) -> Iterator[Numbers]:
    """Share of missing values of each column that has any, and of which groups."""
    groups, labels = attribute.groups, attribute.groups.labels
    sizes = groups.sizes()
    for column in columns:
        if not column.missing.any() or not len(labels):
            continue
        shares = sum_by_code(groups.codes, column.missing, len(labels)) / sizes
        most, least = int(shares.argmax()), int(shares.argmin())
        yield {
            "column": column.name,
            "everyone": float(column.missing.mean()),
            "most": float(shares[most]),
            "most_in": name_of(labels[most]),
            "least": float(shares[least]),
            "least_in": name_of(labels[least]),
        }


def proxy_rows(
    attribute: Attribute, columns: list[Column], level: float, seed: int
) -> list[Numbers]:
    """AUC of each column for the group that it tells best, largest first."""
    groups = attribute.groups
    if len(groups.labels) < 2:
        return []
    targets = range(len(groups.labels)) if len(groups.labels) > 2 else [0]
    # The largest of several: each interval has a part of the probability of error.
    of_each = 1 - (1 - level) / len(targets)
    rows = []
    for column in columns:
        found = {i: _auc(groups, i, column.cells, seed) for i in targets}
        best = max(found, key=lambda i: found[i][0])
        auc, fewest = np.array([found[best]]).T
        # The variance of an AUC is at most that of a share of the smaller group.
        lower, upper = wilson_interval(auc, fewest, of_each)
        rows.append(
            {
                "column": column.name,
                "group": name_of(groups.labels[best]),
                "auc": float(auc[0]),
                "lower": float(lower[0]),
                "upper": float(upper[0]),
            }
        )
    return sorted(rows, key=lambda row: -row["auc"])


def _auc(groups: Groups, group: int, cells: Integers, seed: int) -> tuple[float, int]:
    """How often a row of a group has a cell with a larger share of it than another row.

    Shares are learnt on one half of the rows, and rows of the other half are compared.
    Also the number of rows of the smaller side among these.
    """
    known = np.flatnonzero(groups.codes >= 0)
    inside, cells = groups.codes[known] == group, cells[known]
    order = np.random.default_rng(seed).permutation(len(known))
    here = np.zeros(len(known), dtype=bool)
    for value in (False, True):  # the same share of the group in both halves
        part = order[inside[order] == value]
        here[part[: (len(part) + 1) // 2]] = True
    n_cells, share = int(cells.max()) + 1, inside.mean()
    hits = np.bincount(cells[~here], inside[~here], n_cells)
    sizes = np.bincount(cells[~here], minlength=n_cells)
    # One more row of the share of all, so that a cell without rows has it.
    scores = ((hits + share) / (sizes + 1))[cells[here]]
    n_in, n_all = int(inside[here].sum()), int(here.sum())
    ranks = float(rankdata(scores)[inside[here]].sum())
    auc = (ranks - n_in * (n_in + 1) / 2) / (n_in * (n_all - n_in))
    return auc, min(n_in, n_all - n_in)


def distance_rows(
    attribute: Attribute, columns: list[Column], level: float
) -> list[Numbers]:
    """MCDP(0) of each column of numbers between groups, largest first."""
    if len(attribute.groups.labels) < 2:
        return []
    rows = []
    metric = partial(mcdp, scale="rank", multigroup=attribute.comparison)
    for column in columns:
        if column.numbers is None:
            continue
        kept = np.flatnonzero(~column.missing)
        groups = attribute.groups[kept]
        if (groups.sizes() < groups.min_group_size).any():
            continue
        given: Numbers = {"sensitive_features": groups, "confidence_level": level}
        found = confidence_interval(metric, None, column.numbers[kept], **given)
        numbers = {k: float(getattr(found, k)) for k in ("value", "lower", "upper")}
        rows.append({"column": column.name, **numbers})
    return sorted(rows, key=lambda row: -row["value"])
