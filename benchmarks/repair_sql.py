"""What it costs to repair scores where they are, in processor time of DuckDB.

    python benchmarks/repair_sql.py

A million rows of two groups. First how far the map of a histogram is from that of rows;
then the size of a map by `tol`, and the time of its query and of a join with its table.
"""

from __future__ import annotations

import time

import duckdb
import numpy as np
import pandas as pd

from skfair.postprocessing import ScoreRepairer
from skfair.statistics import GroupedHistogram

SEX = np.repeat(["F", "M"], 500_000)
JOIN = """
    SELECT AVG(repaired_from + (score - score_from) / (score_to - score_from)
        * (repaired_to - repaired_from))
    FROM people ASOF JOIN pieces ON sex = "group" AND score >= score_from
"""


def draw(kind: str) -> np.ndarray:
    generator, sizes = np.random.default_rng(0), (500_000, 500_000)
    shapes = {"smooth": ((2, 3), (3, 2)), "crowded near 0": ((0.3, 20), (0.5, 10))}
    parts = [
        generator.beta(*shape, size)
        for shape, size in zip(shapes[kind], sizes, strict=True)
    ]
    return np.concatenate(parts)


def compare_histogram() -> None:
    for kind in ("smooth", "crowded near 0"):
        scores = draw(kind)
        rows = ScoreRepairer().fit_transform(scores, sensitive_features=SEX)
        for n_bins in (2**12, 2**16):
            histogram = GroupedHistogram.from_scores(
                scores, sensitive_features=SEX, n_bins=n_bins
            )
            binned = ScoreRepairer().fit(histogram)
            moved = binned.transform(scores, sensitive_features=SEX)
            print(f"{kind}, {n_bins:6,} bins: {np.abs(moved - rows).max():.1e}")


def seconds(connection: duckdb.DuckDBPyConnection, query: str) -> float:
    start = time.process_time()
    connection.sql(query).fetchall()
    return time.process_time() - start


def time_queries() -> None:
    scores = draw("smooth")
    connection = duckdb.connect()
    people = pd.DataFrame({"score": scores, "sex": SEX}).sample(frac=1, random_state=0)
    connection.register("frame", people)
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    sample = np.random.default_rng(1).permutation(len(scores))[:40_000]
    names = {"y_score": "score", "sensitive_features": "sex"}
    for rows in (sample, slice(None)):
        repairer = ScoreRepairer().fit(scores[rows], sensitive_features=SEX[rows])
        for tol in (0.01, 0.001, 1e-4, 0.0):
            start = time.process_time()
            pieces = repairer.to_frame(tol=tol)
            made = time.process_time() - start
            connection.register("frame", pieces)
            connection.execute("CREATE OR REPLACE TABLE pieces AS SELECT * FROM frame")
            print(
                f"fitted to {len(scores[rows]):,} rows, tol {tol}: {len(pieces):,} "
                f"pieces in {made:.2f} s, join {seconds(connection, JOIN):.2f} s",
                end="",
            )
            if len(pieces) < 5000:
                query = repairer.to_sql("people", **names, tol=tol)
                total = f"SELECT AVG(repaired_score) FROM ({query})"
                print(
                    f", CASE {seconds(connection, total):.2f} s, "
                    f"{len(query) / len(pieces):.0f} characters a piece",
                    end="",
                )
            print(flush=True)


if __name__ == "__main__":
    compare_histogram()
    time_queries()
