"""DiffMCDPClassifier trained on small parts of the rows, beside `fit` on all of them.

    SKFAIR_DATA=<folder of the tables> python benchmarks/partial_fit.py [table ...]

Average precision and MCDP(0) on test rows, of 6,000 training rows in a new order in
each pass, with 60,000 rows in all; `alone` compares the groups within each part only,
without averages over parts. The number of rows in the averages was chosen on Adult and
Bank.
"""

from __future__ import annotations

import sys

import numpy as np
from _paper_protocol import Split
from _tables import split_table
from sklearn.metrics import average_precision_score

from skfair._penalty import _smooth_gap
from skfair.inprocessing import DiffMCDPClassifier
from skfair.metrics import mcdp

N_ROWS = 60_000
STRENGTHS = {"adult": 0.3, "bank": 0.2, "census": 0.2, "nist": 0.3}


def make(strength: float) -> DiffMCDPClassifier:
    return DiffMCDPClassifier(
        hidden_layer_sizes=64,
        strength=strength,
        max_iter=400,
        validation_fraction=None,
        random_state=0,
    )


def fit_parts(rows: Split, strength: float, n_in_part: int) -> DiffMCDPClassifier:
    X, y, groups = rows.train.X.to_numpy(np.float32), rows.train.y, rows.train.groups
    model, rng = make(strength), np.random.default_rng(1)
    for _ in range(N_ROWS // len(y)):
        for part in np.array_split(rng.permutation(len(y)), len(y) // n_in_part):
            model.partial_fit(
                X[part], y[part], classes=[0, 1], sensitive_features=groups[part]
            )
    return model


def show(name: str, rows: Split, model: DiffMCDPClassifier) -> None:
    scores = model.predict_proba(rows.test.X.to_numpy(np.float32))[:, 1]
    precision = average_precision_score(rows.test.y, scores)
    gap = mcdp(None, scores, sensitive_features=rows.test.groups)
    print(f"  {name:22s} AP {precision:.3f}  MCDP(0) {gap:.3f}", flush=True)


def run(table: str, seed: int) -> None:
    rows, strength = split_table(table, seed, 6000), STRENGTHS[table]
    train = rows.train.X.to_numpy(np.float32), rows.train.y
    print(f"{table}, seed {seed}, strength {strength}")
    for name, value in (("plain", 0.0), ("fit", strength)):
        model = make(value).fit(*train, sensitive_features=rows.train.groups)
        show(name, rows, model)
    memory = _smooth_gap._MEMORY
    for n_in_part in (50, 500):
        show(f"parts of {n_in_part}", rows, fit_parts(rows, strength, n_in_part))
        _smooth_gap._MEMORY = 1e-9
        show(f"parts of {n_in_part}, alone", rows, fit_parts(rows, strength, n_in_part))
        _smooth_gap._MEMORY = memory


if __name__ == "__main__":
    for table in sys.argv[1:] or STRENGTHS:
        for seed in (0, 1):
            run(table, seed)
