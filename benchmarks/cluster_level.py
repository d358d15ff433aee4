"""Measures tests and intervals of people who have several rows.

    python benchmarks/cluster_level.py [metric]

Twenty layouts at parity: numbers of rows a person (always 2, 10 or 50, or 1 to 50),
their correlation (0, .5 or 1), and shares of the groups. Metrics other than the
difference of selection rates are measured in six of them. It prints, over samples, how
often a test of level .05 rejects and how often the 95 % interval excludes 0, the band
(nan where a metric has none) and the bootstrap, with `clusters` and, of the same rows,
without.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np

from skfair import metrics
from skfair.metrics import bootstrap_interval, confidence_interval, permutation_test

N_SAMPLES, N_PERMUTATIONS, N_RESAMPLES = 200, 99, 99
LAYOUTS: list[tuple[int, Any, float, int]] = [
    *(
        (100, rows, correlation, 1)
        for rows, correlation in itertools.product((2, 10, 50, "1 to 50"), (0, 0.5, 1))
    ),
    *(
        (404, rows, correlation, 100)
        for rows, correlation in itertools.product((2, "1 to 50"), (0.5, 1))
    ),
    *(
        (60, rows, correlation, 3)
        for rows, correlation in itertools.product((20, "1 to 50"), (0.5, 1))
    ),
]
PARITY = "demographic_parity_difference"
SCORED = "mcdp", "abcc", "madd", "abroca", "calibration_gap"
#: Layouts in which other metrics are measured.
FEW = [LAYOUTS[i] for i in (1, 5, 10, 12, 17, 18)]


def draw(
    generator: np.random.Generator,
    n_people: int,
    rows: Any,
    correlation: float,
    odds: int,
) -> dict[str, Any]:
    """Draw labels and scores that do not depend on the group."""
    n_rows = (
        np.full(n_people, rows)
        if isinstance(rows, int)
        else (generator.geometric(0.12, n_people).clip(1, 50))
    )
    person = np.repeat(np.arange(n_people), n_rows)
    own = generator.normal(size=n_people)[person]
    latent = np.sqrt(correlation) * own
    latent += np.sqrt(1 - correlation) * generator.normal(size=len(person))
    group = generator.permutation(np.arange(n_people) % (odds + 1) == 0)[person]
    true = own + generator.normal(size=len(person)) > 0
    return {
        "y_true": true.astype(int),
        "latent": latent,
        "sensitive_features": group,
        "clusters": person,
    }


def share_of_errors(name: str, layout: tuple[int, Any, float, int]) -> list[float]:
    """Share of samples with a rejection, and with an interval without 0."""
    metric = getattr(metrics, name)
    found = []
    for seed in range(N_SAMPLES):
        rows = draw(np.random.default_rng(seed), *layout)
        true, latent = rows.pop("y_true"), rows.pop("latent")
        predicted: Any = (latent > 0).astype(int)
        if name in SCORED:
            predicted = 1 / (1 + np.exp(-latent))
        own = []
        for clusters in (rows["clusters"], None):
            columns = {**rows, "clusters": clusters}
            arguments = metric, true, predicted
            test = permutation_test(
                *arguments, n_permutations=N_PERMUTATIONS, random_state=seed, **columns
            )
            band = np.nan
            if name not in ("abroca", "calibration_gap"):
                band = confidence_interval(*arguments, **columns).lower
            basic = bootstrap_interval(
                *arguments, n_resamples=N_RESAMPLES, random_state=seed, **columns
            )
            excluded = np.nan if np.isnan(band) else band > 0
            own += [test.pvalue <= 0.05, excluded, basic.lower > 0]
        found.append(own)
    return np.mean(found, axis=0).tolist()


def main(name: str) -> None:
    warnings.simplefilter("ignore")
    print(f"{name}: test, band, bootstrap with clusters; the same without")
    worst = np.zeros(6)
    for layout in LAYOUTS if name == PARITY else FEW:
        errors = share_of_errors(name, layout)
        worst = np.maximum(worst, errors)
        n_people, rows, correlation, odds = layout
        label = f"{n_people} people, 1:{odds}, {rows} rows, correlation {correlation}"
        print(f"{label:50s}" + "".join(f"{each:7.3f}" for each in errors), flush=True)
    print(f"{'largest':50s}" + "".join(f"{each:7.3f}" for each in worst))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else PARITY)
