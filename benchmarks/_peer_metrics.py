"""Time and memory of a peer's metrics beside skfair's, in the peer's environment.

    python benchmarks/_peer_metrics.py PEER LARGEST

prints JSON lines; `peers.py` calls it. Groups and labels are arrays of 0 and 1, which
suits everybody. Sizes are left out after one at which the peer took ten seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _timing import seconds

from skfair.metrics import (
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    mcdp,
)

SIZES = (10**4, 10**5, 4 * 10**5, 10**6, 10**7)
#: A peer that took so many seconds is not asked for ten times as many rows.
PATIENCE = 10.0


class Rows(NamedTuple):
    """Labels, decisions, scores and groups of made-up people."""

    y: Any
    decisions: Any
    scores: Any
    groups: Any


class Comparison(NamedTuple):
    """A call of skfair and the call of a peer that answers the same question."""

    name: str
    ours: Callable[[], float]
    theirs: Callable[[], float]


def make_rows(n: int) -> Rows:
    generator = np.random.default_rng(0)
    groups = (generator.random(n) < 0.4) * 1
    scores = np.clip(generator.beta(2, 3, n) + 0.1 * groups, 0, 1)
    y = (generator.random(n) < scores) * 1
    return Rows(y, (scores > 0.5) * 1, scores, groups)


def parity(rows: Rows) -> float:
    return demographic_parity_difference(
        None, rows.decisions, sensitive_features=rows.groups
    )


def odds(rows: Rows) -> float:
    return equalized_odds_difference(
        rows.y, rows.decisions, sensitive_features=rows.groups
    )


def fairlearn(rows: Rows) -> Iterator[Comparison]:
    from fairlearn import metrics

    given = {"sensitive_features": rows.groups}
    yield Comparison(
        "demographic parity",
        lambda: parity(rows),
        lambda: metrics.demographic_parity_difference(rows.y, rows.decisions, **given),
    )
    yield Comparison(
        "equalized odds",
        lambda: odds(rows),
        lambda: metrics.equalized_odds_difference(rows.y, rows.decisions, **given),
    )


def aif360(rows: Rows) -> Iterator[Comparison]:
    from aif360.sklearn.metrics import statistical_parity_difference

    given = {"prot_attr": rows.groups, "priv_group": 1}
    yield Comparison(
        "demographic parity",
        lambda: parity(rows),
        lambda: abs(statistical_parity_difference(rows.y, rows.decisions, **given)),
    )


def oxonfair(rows: Rows) -> Iterator[Comparison]:
    from oxonfair.utils import group_metrics

    yield Comparison(
        "demographic parity",
        lambda: parity(rows),
        lambda: group_metrics.demographic_parity(
            rows.y, rows.decisions, rows.groups
        ).item(),
    )
    yield Comparison(
        "equalized odds",
        lambda: odds(rows),
        lambda: group_metrics.equalized_odds_max(
            rows.y, rows.decisions, rows.groups
        ).item(),
    )


def error_parity(rows: Rows) -> Iterator[Comparison]:
    from error_parity.evaluation import evaluate_fairness

    def evaluated(name: str) -> float:
        return evaluate_fairness(rows.y, rows.decisions, rows.groups)[name]

    yield Comparison(
        "demographic parity", lambda: parity(rows), lambda: evaluated("ppr_diff")
    )
    yield Comparison(
        "equalized odds", lambda: odds(rows), lambda: evaluated("equalized_odds_diff")
    )


def equipy(rows: Rows) -> Iterator[Comparison]:
    from equipy.metrics import unfairness

    yield Comparison(
        "gap of score distributions",
        lambda: mcdp(None, rows.scores, sensitive_features=rows.groups),
        lambda: unfairness(rows.scores, pd.DataFrame({"group": rows.groups})),
    )


def maddlib(rows: Rows) -> Iterator[Comparison]:
    from maddlib.evaluation import MADD

    table = pd.DataFrame({"group": rows.groups})
    for bandwidth in ("auto", 0.01):

        def theirs(bandwidth: Any = bandwidth) -> float:
            return MADD(h=bandwidth, X_test=table, pred_proba=rows.scores, sf="group")

        def ours(bandwidth: Any = bandwidth) -> float:
            return madd(
                None, rows.scores, sensitive_features=rows.groups, bandwidth=bandwidth
            )

        yield Comparison(f"MADD, bandwidth {bandwidth}", ours, theirs)


def scikit_lego(rows: Rows) -> Iterator[Comparison]:
    from sklego.metrics import p_percent_score

    class Fixed:
        def predict(self, X: Any) -> Any:
            return rows.decisions

    X = pd.DataFrame({"group": rows.groups})
    yield Comparison(
        "demographic parity",
        lambda: parity(rows),
        lambda: p_percent_score("group")(Fixed(), X, rows.y),
    )


def fairret(rows: Rows) -> Iterator[Comparison]:
    import torch
    from fairret.metric import LinearFractionalParity, gap_abs_max
    from fairret.statistic import PositiveRate

    torch.set_num_threads(1)
    decisions = torch.tensor(rows.decisions[:, None], dtype=torch.float32)
    groups = torch.tensor(np.eye(2, dtype=np.float32)[rows.groups])

    def theirs() -> float:
        metric = LinearFractionalParity(
            PositiveRate(), stat_shape=2, gap_fn=gap_abs_max
        )
        metric.update(decisions, groups)
        return float(metric.compute())

    yield Comparison("demographic parity", lambda: parity(rows), theirs)


PEERS: dict[str, Callable[[Rows], Iterator[Comparison]]] = {
    "fairlearn": fairlearn,
    "aif360": aif360,
    "equipy": equipy,
    "oxonfair": oxonfair,
    "error-parity": error_parity,
    "maddlib": maddlib,
    "scikit-lego": scikit_lego,
    "fairret": fairret,
}


def peak(call: Callable[[], Any]) -> float:
    """Largest memory of the process during a call above that before it, in MB."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = _resident("VmRSS")
    call()
    return (_resident("VmHWM") - before) / 1024


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main() -> None:
    peer, largest = sys.argv[1], int(sys.argv[2])
    too_slow: set[str] = set()
    for size in SIZES:
        if size > largest:
            break
        for name, ours, theirs in PEERS[peer](make_rows(size)):
            if name in too_slow:
                continue
            values = ours(), theirs()
            memory = peak(ours), peak(theirs)
            repeats = 5 if size <= 10**5 else 3
            n_calls = max(1, 10**5 // size)
            times = [(seconds(ours, n_calls), seconds(theirs)) for _ in range(repeats)]
            ratio = median(theirs / ours for ours, theirs in times)
            if max(theirs for _, theirs in times) > PATIENCE:
                too_slow.add(name)
            found = {
                "peer": peer,
                "metric": name,
                "rows": size,
                "seconds": [median(column) for column in zip(*times, strict=True)],
                "ratio": ratio,
                "megabytes": memory,
                "values": values,
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
