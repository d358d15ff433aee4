"""How often searches find the one subgroup whose scores are not calibrated.

    python -m venv build/mcgrad && build/mcgrad/bin/pip install mcgrad==0.1.5
    PYTHONPATH=. build/mcgrad/bin/python benchmarks/subgroup_calibration.py

`worst_subgroup`, and `MulticalibrationError` of MCGrad with its own settings and with
the subgroups of `worst_subgroup`. People have four columns of three values; in a
subgroup, a value of one column and of another, the odds of scores are wrong by a
factor. A search finds it if its worst subgroup is that one, and it rejects at the
level .05. The p-value of MCGrad does not pay for the search. So its largest sigma is
compared with the quantile that as many calibrated samples exceed as `worst_subgroup`
rejects.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from mcgrad.metrics import MulticalibrationError

from skfair.metrics import worst_subgroup

COLUMNS = ["a", "b", "c", "d"]
PLANTED = {"a": "0", "b": "1"}
#: Number of rows, beta distribution of scores, and factors of the odds.
SETTINGS = {
    "balanced": (2000, (2, 3), (1.7, 0.55)),
    "3 % positive": (10_000, (1, 30), (1.8, 0.4)),
}
PEERS: dict[str, dict[str, Any]] = {
    "MCGrad": {},
    "MCGrad, same subgroups": {
        "max_depth": len(COLUMNS),
        "min_samples_per_segment": 50,
        "max_n_segments": None,
        "precision_dtype": "float64",
    },
}


class Answer(NamedTuple):
    """What a search says of a sample."""

    pvalue: float
    sigma: float
    is_planted: bool


def sample(name: str, factor: float, seed: int) -> pd.DataFrame:
    """People, scores and labels; the odds of scores times a factor in the subgroup."""
    n_rows, shape, _ = SETTINGS[name]
    rng = np.random.default_rng([seed, int(100 * factor)])
    frame = pd.DataFrame(rng.integers(0, 3, (n_rows, 4)).astype(str), columns=COLUMNS)
    score = rng.beta(*shape, n_rows)
    odds = factor * score / (1 - score)
    planted = (frame[list(PLANTED)] == pd.Series(PLANTED)).all(axis=1)
    probability = np.where(planted, odds / (1 + odds), score)
    return frame.assign(score=score, label=(rng.random(n_rows) < probability) * 1)


def ours(rows: pd.DataFrame, seed: int, n_draws: int) -> Answer:
    found = worst_subgroup(
        rows["label"],
        rows["score"],
        sensitive_features=rows[COLUMNS],
        quality="calibration",
        n_permutations=n_draws,
        n_subgroups=1,
        random_state=seed,
    )
    return Answer(found.pvalue, found.value, found.conditions[0] == PLANTED)


def theirs(rows: pd.DataFrame, options: dict[str, Any]) -> Answer:
    error = MulticalibrationError(
        rows, "label", "score", categorical_segment_columns=COLUMNS, **options
    )
    worst = int(np.argmax(error.segments_ecce_sigma))
    _, segments = error._segments  # the names of segments are nowhere else
    own = segments[segments["idx_segment"] == worst]
    conditions = dict(zip(own["segment_column"], own["value"], strict=True))
    return Answer(
        float(error.mce_pvalue), float(error.mce_sigma), conditions == PLANTED
    )


def answers(
    name: str, factor: float, n_samples: int, n_draws: int
) -> dict[str, list[Answer]]:
    """Answers of all searches to the same samples."""
    found: dict[str, list[Answer]] = {"skfair": [], **{peer: [] for peer in PEERS}}
    for seed in range(n_samples):
        rows = sample(name, factor, seed)
        found["skfair"].append(ours(rows, seed, n_draws))
        for peer, options in PEERS.items():
            found[peer].append(theirs(rows, options))
    return found


def compare(n_samples: int, n_calibrated: int, n_draws: int) -> None:
    """Print levels, and how often each search finds the subgroup."""
    for name, (n_rows, _, factors) in SETTINGS.items():
        # The level does not depend on the number of draws, the power does.
        null, critical = answers(name, 1, n_calibrated, 19), {}
        level = np.mean([one.pvalue <= 0.05 for one in null["skfair"]])
        for search, several in null.items():
            critical[search] = np.quantile([one.sigma for one in several], 1 - level)
            share = np.mean([one.pvalue <= 0.05 for one in several])
            print(f"{name}, {n_rows} rows, calibrated: {search}, p <= .05: {share:.3f}")
        for factor in factors:
            given, hits = answers(name, factor, n_samples, n_draws), {}
            for search, several in given.items():
                hits[search] = np.array(
                    [
                        one.is_planted
                        and (
                            one.pvalue <= 0.05
                            if search == "skfair"
                            else one.sigma > critical[search]
                        )
                        for one in several
                    ]
                )
            for search, own in hits.items():
                apart = hits["skfair"] * 1.0 - own
                noise = apart.std() / np.sqrt(n_samples)
                print(
                    f"{name}, odds times {factor}: {search} found {own.mean():.3f}, "
                    f"skfair {apart.mean():+.3f} +- {noise:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--calibrated", type=int, default=300)
    parser.add_argument("--draws", type=int, default=99)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    compare(options.samples, options.calibrated, options.draws)
