"""Time and size of a bundle of a million rows.

python benchmarks/bundle.py
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from skfair.report import FairnessReport, verify_bundle

N_ROWS = 1_000_000


def main() -> None:
    """Print a line for a report, its bundle, and its verification."""
    rng = np.random.default_rng(0)
    sex, race = rng.choice(["f", "m"], N_ROWS), rng.choice(list("abcde"), N_ROWS)
    y_score = 0.9 * rng.beta(2, 3, N_ROWS) + 0.1 * (sex == "m")
    y_true = (rng.random(N_ROWS) < y_score).astype(int)
    start = time.process_time()
    report = FairnessReport.from_predictions(
        y_true,
        y_score,
        sensitive_features={"sex": sex, "race": race},
        n_permutations=59,
        random_state=0,
    )
    print(f"report: {time.process_time() - start:.1f} s of processor time")
    with tempfile.TemporaryDirectory() as directory:
        start = time.process_time()
        report.to_bundle(directory)
        size = sum(path.stat().st_size for path in Path(directory).iterdir())
        print(f"bundle: {time.process_time() - start:.1f} s, {size / 1e6:.2f} MB")
        start = time.process_time()
        found = verify_bundle(directory)
        print(f"verify: {time.process_time() - start:.1f} s, ok: {found.ok}")
        print(f"numbers computed again: {found.n_verified:,}")


if __name__ == "__main__":
    main()
