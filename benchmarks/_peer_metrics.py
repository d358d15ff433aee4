"""Time of a peer's metric beside skfair's, in the peer's environment.

    python benchmarks/_peer_metrics.py PEER

prints JSON lines; `peers.py` calls it. Groups and labels are arrays of 0 and 1, which
suits everybody. Both calls alternate, in processor time, and the ratio is that of the
least times.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from skfair.metrics import demographic_parity_difference, madd, mcdp

SIZES = (10**4, 10**6)
#: Seconds of a peer's call above which it is called three times alone.
PATIENCE = 5.0


def make_rows(n: int) -> dict[str, Any]:
    """Labels, decisions, scores and groups of made-up people."""
    generator = np.random.default_rng(0)
    groups = (generator.random(n) < 0.4) * 1
    scores = np.clip(generator.beta(2, 3, n) + 0.1 * groups, 0, 1)
    y = (generator.random(n) < scores) * 1
    return {"y": y, "decisions": (scores > 0.5) * 1, "scores": scores, "groups": groups}


def fairlearn(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from fairlearn.metrics import demographic_parity_difference

    return partial(
        demographic_parity_difference, y, decisions, sensitive_features=groups
    )


def aif360(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from aif360.sklearn.metrics import statistical_parity_difference

    return partial(
        statistical_parity_difference, y, decisions, prot_attr=groups, priv_group=1
    )


def oxonfair(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from oxonfair.utils import group_metrics

    return partial(group_metrics.demographic_parity, y, decisions, groups)


def error_parity(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from error_parity.evaluation import evaluate_fairness

    return lambda: evaluate_fairness(y, decisions, groups)["ppr_diff"]


def equipy(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from equipy.metrics import unfairness

    return partial(unfairness, scores, pd.DataFrame({"group": groups}))


def maddlib(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from maddlib.evaluation import MADD

    table = pd.DataFrame({"group": groups})
    return partial(MADD, h="auto", X_test=table, pred_proba=scores, sf="group")


def scikit_lego(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    from sklego.metrics import p_percent_score

    class Fixed:
        def predict(self, X: Any) -> Any:
            return decisions

    return partial(p_percent_score("group"), Fixed(), pd.DataFrame({"group": groups}))


def fairret(y: Any, decisions: Any, scores: Any, groups: Any) -> Any:
    import torch
    from fairret.metric import LinearFractionalParity, gap_abs_max
    from fairret.statistic import PositiveRate

    torch.set_num_threads(1)
    given = torch.tensor(decisions[:, None], dtype=torch.float32)
    one_hot = torch.tensor(np.eye(2, dtype=np.float32)[groups])

    def theirs() -> float:
        metric = LinearFractionalParity(
            PositiveRate(), stat_shape=2, gap_fn=gap_abs_max
        )
        metric.update(given, one_hot)
        return float(metric.compute())

    return theirs


#: What each peer measures, and what skfair is asked for.
METRICS = {
    "fairlearn": ("demographic parity", fairlearn),
    "aif360": ("demographic parity", aif360),
    "equipy": ("gap of score distributions", equipy),
    "oxonfair": ("demographic parity", oxonfair),
    "error-parity": ("demographic parity", error_parity),
    "maddlib": ("MADD, bandwidth auto", maddlib),
    "scikit-lego": ("demographic parity", scikit_lego),
    "fairret": ("demographic parity", fairret),
}


def ours(metric: str, decisions: Any, scores: Any, groups: Any) -> Callable[[], float]:
    """Return the call of skfair that answers the same question."""
    if metric == "demographic parity":
        call = partial(demographic_parity_difference, None, decisions)
    else:
        call = partial(mcdp if metric.startswith("gap") else madd, None, scores)
    return partial(call, sensitive_features=groups)


def least_seconds(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Least processor time of each call, in alternation."""
    best = [np.inf] * len(calls)
    for repeat in range(repeats):
        for position, call in enumerate(calls):
            start = time.process_time()
            call()
            best[position] = min(best[position], time.process_time() - start)
        if best[-1] > PATIENCE and repeat == 2:
            break
    return best


def main() -> None:
    """Print one line for each number of rows."""
    peer = sys.argv[1]
    metric, of_peer = METRICS[peer]
    for size in SIZES:
        rows = make_rows(size)
        theirs = of_peer(**rows)
        del rows["y"]
        seconds = least_seconds([ours(metric, **rows), theirs], 15)
        line = {"peer": peer, "metric": metric, "rows": size, "seconds": seconds}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
