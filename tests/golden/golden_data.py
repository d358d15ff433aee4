"""Rows for the golden calls, made by a seeded generator and exact arithmetic alone.

Only uniform numbers of NumPy's frozen generator, sums, products and quotients enter, so
that the rows are the same bits on every machine and with every version.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class People:
    """Rows: what a model knows and says of each person."""

    y_true: Any  # 0 and 1
    y_pred: Any  # decisions, 0 and 1
    y_score: Any  # in [0, 1], with two decimals
    fine: Any  # in [0, 1], all distinct
    number: Any  # a true number
    predicted: Any  # a predicted number
    animal: Any  # a true class of three
    guess: Any  # a predicted class of three
    shares: Any  # scores of three classes
    codes: Any  # groups
    groups: Any  # what is passed as sensitive_features
    strata: Any = None
    weights: Any = None

    def take(self, rows):
        """Keep some rows, by their positions."""
        parts = {
            name: None if value is None else value[rows]
            for name, value in vars(self).items()
        }
        return People(**parts)

    def but(self, **parts):
        return replace(self, **parts)


@cache
def people(n_groups=2, n_rows=240, seed=0, sizes=None):
    """Make rows of groups with other scores, labels and errors.

    `sizes` are the numbers of rows of the groups; by default they differ by half.
    """
    random = np.random.RandomState(seed)
    if sizes is None:
        codes = np.arange(n_rows) % (2 * n_groups + n_groups // 2) % n_groups
    else:
        codes = np.repeat(np.arange(len(sizes)), sizes)
        n_groups, n_rows = len(sizes), len(codes)
    codes = codes[random.permutation(n_rows)]
    push = codes / n_groups  # what a group's scores are moved by
    uniform = random.random_sample((8, n_rows))
    fine = 0.6 * (0.3 * push + 0.7 * uniform[0]) + 0.4 * uniform[1] * uniform[2]
    y_score = np.round(fine, 2)
    y_true = (uniform[3] < 0.25 + 0.5 * fine).astype(int)
    wrong = uniform[4] < 0.1 + 0.2 * push
    y_pred = np.where(wrong, 1 - y_true, y_true)
    number = np.round(20 * uniform[5] + 4 * push, 1)
    predicted = np.round(number + 6 * (uniform[6] - 0.4) * (1 + push), 1)
    kinds = np.array(["cat", "dog", "eel"])
    kind = (3 * uniform[5]).astype(int)
    other = (kind + wrong * (1 + (uniform[6] < 0.5))) % 3
    parts = 0.1 + np.stack([uniform[0], uniform[1] * (1 + push), uniform[7]], axis=1)
    shares = np.round(parts / parts.sum(axis=1, keepdims=True), 2)
    shares[:, 2] = 1 - shares[:, 0] - shares[:, 1]
    names = np.array([f"g{code:02d}" for code in range(n_groups)])
    return People(
        y_true=y_true,
        y_pred=y_pred,
        y_score=y_score,
        fine=fine,
        number=number,
        predicted=predicted,
        animal=kinds[kind],
        guess=kinds[other],
        shares=np.clip(shares, 0, 1),
        codes=codes,
        groups=names[codes],
    )


def whole(rows, seed=1):
    """Weights from 1 to 4."""
    return np.random.RandomState(seed).randint(1, 5, len(rows.codes))


def fractional(rows, seed=2):
    """Weights that are not whole numbers, some of them 0."""
    return np.random.RandomState(seed).randint(0, 30, len(rows.codes)) / 7


def strata(rows, n_strata, seed=3):
    """Strata of unequal sizes, with each group in each of them where rows are many."""
    random = np.random.RandomState(seed)
    drawn = random.random_sample(len(rows.codes))
    return np.array([f"s{k:02d}" for k in range(n_strata)])[
        (n_strata * drawn * (0.5 + 0.5 * drawn)).astype(int)
    ]


def columns(rows, seed=4):
    """Two columns whose intersections are groups."""
    random = np.random.RandomState(seed)
    drawn = random.random_sample(len(rows.codes))
    race = np.where(drawn < 0.5, "a", np.where(drawn < 0.8, "b", "c"))
    sex = np.where(rows.codes % 2 == 0, "F", "M")
    return pd.DataFrame({"sex": sex, "race": race})


def with_gaps(rows, seed=5):
    """Groups of which a tenth is missing."""
    random = np.random.RandomState(seed)
    groups = rows.groups.astype(object)
    groups[random.random_sample(len(groups)) < 0.1] = None
    return groups
