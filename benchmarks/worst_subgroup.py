"""What the search for the worst subgroup costs, and how far off it is.

    SKFAIR_DATA=tables python benchmarks/worst_subgroup.py

Prints processor times of 100,000 simulated rows, beside one `mcdp`, and what the worst
subgroups of one half of the test rows of Adult read on the other half.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from _timing import processor_seconds
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.datasets import fetch_adult
from skfair.metrics import mcdp, worst_subgroup

N_ROWS, N_CALLS = 100_000, 3
AGES = {"age": [25, 35, 45, 55, 65]}


def speed() -> None:
    """Time both searches on simulated rows, with and without a disparity."""
    rng = np.random.default_rng(0)
    noise = rng.random(N_ROWS)
    columns = rng.integers(0, 10, (N_ROWS, 5))
    options = {"sensitive_features": columns, "min_group_size": 100, "n_subgroups": 1}
    concerned = (columns[:, 0] == 3) & (columns[:, 2] == 7)
    y_score = np.where(concerned, noise**2, noise)
    y_true = rng.random(N_ROWS) < noise
    for name, quality, response in (
        ("mcdp", "mcdp", y_score),
        ("selection_rate", "selection_rate", y_score > 0.5),
        ("log-loss", -np.log(np.where(y_true, noise, 1 - noise)), y_score),
    ):
        seconds = processor_seconds(
            lambda q=quality, r=response: worst_subgroup(
                y_true, r, quality=q, n_permutations=0, random_state=0, **options
            ),
        )
        print(f"worst_subgroup, five columns of ten values, {name}: {seconds:.2f} s")


def adult(seed: int) -> tuple[pd.DataFrame, Any]:
    """Draw test rows of Adult, and scores by a model without age, sex and race."""
    X, y = fetch_adult(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(X)), test_size=0.3, random_state=seed, stratify=y
    )
    features = X.drop(columns=["sex", "race", "age", "fnlwgt"])
    encode = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_exclude=np.number),
        ),
        remainder=StandardScaler(),
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=300))
    model.fit(features.iloc[train], y.iloc[train])
    people = X.iloc[test][["sex", "race", "age", "workclass"]].copy()
    people["workclass"] = people["workclass"].astype(object).fillna("unknown")
    return people, model.predict_proba(features.iloc[test])[:, 1]


def shrinkage(n_seeds: int) -> None:
    """Compare the worst subgroup of one half of the rows with the other half."""
    drawn = [adult(seed) for seed in range(n_seeds)]
    for min_group_size in (50, 500):
        found, again = [], []
        for seed, (people, y_score) in enumerate(drawn):
            half = np.random.default_rng(seed).random(len(y_score)) < 0.5
            result = worst_subgroup(
                None,
                y_score[half],
                sensitive_features=people[half],
                bins=AGES,
                min_group_size=min_group_size,
                n_permutations=0,
            )
            inside = np.ones(len(people), dtype=bool)
            for name, value in result.conditions[0].items():
                inside &= binned(people)[name].astype(str).to_numpy() == value
            found.append(result.value)
            again.append(mcdp(None, y_score[~half], sensitive_features=inside[~half]))
        print(
            f"Adult, at least {min_group_size} rows: {np.mean(found):.3f} in the half "
            f"searched, {np.mean(again):.3f} in the other ({n_seeds} splits)"
        )


def binned(people: pd.DataFrame) -> pd.DataFrame:
    """Return the people with the texts of bins for their ages."""
    edges = AGES["age"]
    texts = [f"age < {edges[0]}"]
    texts += [f"{a} <= age < {b}" for a, b in pairwise(edges)]
    texts += [f"age >= {edges[-1]}"]
    at = np.searchsorted(edges, people["age"], "right")
    return people.assign(age=np.array(texts)[at])


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    n_seeds = parser.parse_args().seeds
    speed()
    shrinkage(n_seeds)


if __name__ == "__main__":
    main()
