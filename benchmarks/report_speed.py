"""Time, memory and size of a report on the test rows of Adult.

    python benchmarks/report_speed.py              # OpenML, or SKFAIR_DATA
    python benchmarks/report_speed.py --jobs 1

15,000 rows, sex, race and their intersection (17 groups), every metric, 500 resamples
and 199 shuffles each. Targets: under 15 s on two cores, a page under 1 MB. Processor
time tells more than wall time on a machine that does other work.
"""

from __future__ import annotations

import argparse
import resource
import time

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfair.datasets import fetch_adult
from skfair.report import FairnessReport

MAX_SECONDS, MAX_BYTES = 15, 1_000_000


def processor_seconds() -> float:
    """Time that this process and those that have ended spent computing."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(
            resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
    )


def verdict(name: str, value: float, unit: str, limit: float | None = None) -> None:
    """Print a figure, and whether it meets its target."""
    target = ""
    if limit is not None:
        target = f"   at most {limit:g}: {'yes' if value <= limit else 'NO'}"
    print(f"{name:34s} {value:8.2f} {unit}{target}", flush=True)


def main() -> None:
    """Fit a model on Adult, and measure a report on it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs

    adult = fetch_adult()
    X, y = adult.data.drop(columns="fnlwgt"), (adult.target == ">50K").astype(int)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=15_000, stratify=y, random_state=0
    )
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=0
    ).fit(X, y)
    y_score = model.predict_proba(X_test)[:, 1]
    groups = X_test[["sex", "race"]]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, busy = time.perf_counter(), processor_seconds()
    report = FairnessReport.from_predictions(
        y_test, y_score, sensitive_features=groups, random_state=0, n_jobs=jobs
    )
    computed = time.perf_counter()
    page = report.to_html()
    end = time.perf_counter()

    print(f"{len(y_test):,} rows, {jobs} processes")
    verdict("computed", computed - start, "s")
    verdict("written", end - computed, "s")
    verdict("together", end - start, "s", MAX_SECONDS)
    if jobs == 1:
        verdict("processor time", processor_seconds() - busy, "s")
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    verdict("more memory of this process", more / 1024, "MiB")
    verdict("page", len(page.encode()) / 1e6, "MB", MAX_BYTES / 1e6)


if __name__ == "__main__":
    main()
