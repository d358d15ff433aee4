"""Time and size of bundles of a million rows: scores, weighted scores, and numbers.

python benchmarks/bundle.py [scores|weights|numbers]
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from skfair.report import FairnessReport, verify_bundle

N_ROWS = 1_000_000
KINDS = ("scores", "weights", "numbers")


def main() -> None:
    """Print a line for the report of each kind, its bundle, and its verification."""
    for kind in sys.argv[1:] or KINDS:
        rng = np.random.default_rng(0)
        sex, race = rng.choice(["f", "m"], N_ROWS), rng.choice(list("abcde"), N_ROWS)
        y_score = 0.9 * rng.beta(2, 3, N_ROWS) + 0.1 * (sex == "m")
        y_true = (rng.random(N_ROWS) < y_score).astype(int)
        options: dict[str, Any] = {}
        if kind == "weights":
            options = {"sample_weight": rng.lognormal(0, 1, N_ROWS)}
        if kind == "numbers":
            y_score = np.exp(10 + 2 * y_score)
            y_true, options = y_score + rng.normal(0, 1e4, N_ROWS), {"scale": "real"}
        start = time.process_time()
        report = FairnessReport.from_predictions(
            y_true,
            y_score,
            sensitive_features={"sex": sex, "race": race},
            n_permutations=59,
            random_state=0,
            **options,
        )
        measure(kind, report, time.process_time() - start)


def measure(kind: str, report: FairnessReport, seconds: float) -> None:
    """Print what a bundle of a report takes."""
    print(f"{kind}, report: {seconds:.1f} s of processor time")
    with tempfile.TemporaryDirectory() as directory:
        start = time.process_time()
        report.to_bundle(directory)
        size = sum(path.stat().st_size for path in Path(directory).iterdir())
        print(f"  bundle: {time.process_time() - start:.1f} s, {size / 1e6:.2f} MB")
        start = time.process_time()
        found = verify_bundle(directory)
        print(f"  verify: {time.process_time() - start:.1f} s, ok: {found.ok}")
        print(f"  numbers computed again: {found.n_verified:,}", flush=True)


if __name__ == "__main__":
    main()
