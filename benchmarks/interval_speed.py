"""Processor time of `confidence_interval`, over that of the metric; no resampling.

python benchmarks/interval_speed.py [--rows 1000000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from _timing import processor_seconds

from skfair.metrics import (
    abcc,
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    mcdp,
)

METRICS: dict[str, Callable[..., float]] = {
    "MCDP(0)": mcdp,
    "MCDP(.05)": partial(mcdp, epsilon=0.05),
    "ABCC": abcc,
    "MADD of 100 bins": partial(madd, bandwidth=0.01),
    "MADD": madd,
    "DeltaDP": demographic_parity_difference,
    "equalized odds": equalized_odds_difference,
}
TARGET = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 2, n_rows)
    scores = generator.beta(2 + 0.3 * groups, 5)
    y_true = (generator.random(n_rows) < scores).astype(int)
    rows = {"sensitive_features": groups}
    for name, metric in METRICS.items():
        given = (scores > 0.3).astype(int) if name == "equalized odds" else scores
        plain = processor_seconds(lambda m=metric, s=given: m(y_true, s, **rows), 7)
        bounds = processor_seconds(
            lambda m=metric, s=given: confidence_interval(m, y_true, s, **rows), 7
        )
        verdict = "reached" if bounds <= TARGET * plain else "MISSED"
        print(
            f"{name:18s} {1e3 * plain:7.1f} ms, interval {bounds / plain:.2f} x "
            f"(at most {TARGET}: {verdict})",
            flush=True,
        )


if __name__ == "__main__":
    main()
