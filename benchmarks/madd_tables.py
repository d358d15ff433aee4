"""MADD of the MADD paper's four models on OULAD, as published and as it is.

    SKFAIR_DATA=path/to/tables python benchmarks/madd_tables.py

The published tables compare P(y = 1) of the rows with s = 1 with P(y = 0) of the rows
with s = 0. Both readings are printed, the true one beside its mean over permutations of
the group labels, which is what MADD reads from noise alone.
"""

from __future__ import annotations

import numpy as np

from skfair.datasets import fetch_oulad
from skfair.metrics import madd, permutation_test

for course in ("BBB", "FFF"):
    table = fetch_oulad(course=course)
    tested = table.probabilities.notna().all(axis=1)
    print(f"\n{course}, {tested.sum()} test rows: true (noise alone), as published")
    print("| model | gender | poverty | disability |\n|---|---|---|---|")
    for model in ("LR", "KN", "DT", "NB"):
        scores = table.probabilities.loc[tested, f"proba_{model}"].to_numpy()
        cells = []
        for name in ("gender", "poverty", "disability"):
            groups = table.data.loc[tested, name].to_numpy()
            test = permutation_test(
                madd, None, scores, sensitive_features=groups, random_state=0
            )
            mixed = np.where(groups == 1, scores, (1 - scores).round(12)).clip(0, 1)
            published = madd(None, mixed, sensitive_features=groups)
            cells.append(f"{test.value:.2f} ({test.null_mean:.2f}), {published:.2f}")
        print(f"| {model} | {' | '.join(cells)} |", flush=True)
