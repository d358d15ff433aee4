"""Time, memory and width of an audit of a Parquet file that DuckDB reads.

    python benchmarks/any_size.py                # 10^8 rows, 1.8 GB, deleted after
    python benchmarks/any_size.py --rows 10000000 --directory /tmp

Scores are generated: smooth, crowded near 0 (median 0.0025), or tied (thousandths);
groups are two, or an intersection of ten. The audit is a histogram of 65,536 bins, and
from it MCDP(0), ABCC, DeltaDP and MADD of 64 bins. It is compared with the time in
which DuckDB reads the same columns and computes their averages, in processor time. Then
a test and an interval from counts are timed beside those from 10^5 rows, which have
nearly all of 16,384 scores, or about half of 65,536.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from skfair.frames import count_table
from skfair.metrics import (
    abcc,
    bootstrap_interval,
    confidence_interval,
    demographic_parity_difference,
    madd,
    mcdp,
    metric_bounds,
    permutation_test,
)
from skfair.statistics import CountTable

MAX_COST = 2
MAX_BYTES, MAX_RATIO, MAX_WIDTH = 2e9, 3, 1e-3
SCORES = ("smooth", "crowded", "tied")
_CHUNK = 1_000_000


def generate(path: Path, n_rows: int) -> None:
    """Write rows in chunks, so that memory stays small."""
    rng = np.random.default_rng(0)
    schema = pa.schema(
        [(name, pa.float64()) for name in SCORES] + [("sex", "i1"), ("age", "i1")]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, _CHUNK):
            n = min(_CHUNK, n_rows - start)
            sex, age = rng.integers(0, 2, n), rng.integers(0, 5, n)
            logit = rng.normal(0.2 * sex + 0.05 * age)
            smooth = 1 / (1 + np.exp(-logit))
            columns = [smooth, np.exp(2 * logit - 6).clip(0, 1), smooth.round(3)]
            writer.write_table(pa.table([*columns, sex, age], schema=schema))


def processor_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Time that all threads spent on a call, and what it returned."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def verdict(name: str, value: float, limit: float) -> None:
    print(f"  {name:48s} {value:10.3g}   at most {limit:g}: ", end="")
    print("yes" if value <= limit else "NO", flush=True)


def audit(frame: Any, score: str, groups: str | list[str]) -> Any:
    """Bounds of metrics by name, from one histogram."""
    histogram = count_table(
        frame, y_pred=score, sensitive_features=groups, n_bins=2**16
    )
    return {
        "MCDP(0)": metric_bounds(mcdp, histogram),
        "ABCC": metric_bounds(abcc, histogram),
        "DeltaDP": metric_bounds(demographic_parity_difference, histogram),
        "MADD": metric_bounds(madd, histogram, bandwidth=1 / 64),
    }


def measure(path: Path, score: str, groups: list[str], repeats: int) -> None:
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '1GB'")
    frame = connection.read_parquet(str(path))
    averages = ", ".join(f"AVG({column})" for column in [score, *groups])
    ours, theirs = [], []
    for _ in range(repeats):
        query = f"SELECT {averages} FROM frame"
        theirs.append(processor_seconds(connection.sql(query).fetchall)[0])
        taken, bounds = processor_seconds(lambda: audit(frame, score, groups))
        ours.append(taken)
    print(f"{score} scores, groups of {' x '.join(groups)}: {bounds['MCDP(0)']}")
    for name, found in bounds.items():
        verdict(f"width of {name}", found.width, MAX_WIDTH)
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    verdict("audit, in times of reading and averaging", ratio, MAX_RATIO)
    print(f"  {'seconds: averages, audit':48s} {min(theirs):.2f}, {min(ours):.2f}")


def count(n_rows: int, n_scores: int) -> CountTable:
    """Count many rows of smooth scores, none of which is drawn."""
    rng = np.random.default_rng(0)
    scores = (np.arange(n_scores) + 0.5) / n_scores
    shares = [scores**power * (1 - scores) for power in (1, 1.02)]
    counts = [rng.multinomial(n_rows // 2, part / part.sum()) for part in shares]
    return CountTable.from_rows(
        None,
        np.tile(scores, 2),
        sensitive_features=np.repeat(["a", "b"], n_scores),
        counts=np.concatenate(counts),
    )


def resample(n_rows: int, n_scores: int, repeats: int) -> None:
    """Compare the cost of a test and of intervals with that from 10^5 rows."""
    calls = {
        "permutation_test": partial(permutation_test, n_permutations=99),
        "bootstrap_interval": partial(bootstrap_interval, n_resamples=99),
        "confidence_interval": confidence_interval,
    }
    few, many = (count(n, n_scores) for n in (10**5, n_rows))
    print(f"tables of {n_rows:,} rows with {len(many):,} pairs of score and")
    print(f"group, beside 100,000 rows with {len(few):,}")
    for name, call in calls.items():
        taken = [
            [processor_seconds(partial(call, mcdp, None, s))[0] for s in (many, few)]
            for _ in range(repeats)
        ]
        ratio = median(ours / theirs for ours, theirs in taken)
        verdict(f"{name}, in times of 10^5 rows", ratio, MAX_COST)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--directory", help="where the file is written and deleted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = Path(directory) / "predictions.parquet"
        generate(path, options.rows)
        print(f"{options.rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB")
        for score in SCORES:
            for groups in (["sex"], ["sex", "age"]):
                measure(path, score, groups, options.repeats)
    for n_scores in (2**14, 2**16):
        resample(options.rows, n_scores, options.repeats)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    verdict("peak memory in bytes", peak, MAX_BYTES)


if __name__ == "__main__":
    main()
