"""skfair and its peers side by side: speed, behaviour, mitigation.

    SKFAIR_DATA=<folder of the tables> python benchmarks/peers.py
        [--parts metrics,behaviour,mitigation,newer] [--peers fairlearn,aif360]
        [--tables adult,census] [--seeds 0,1,2]
        [--methods ScoreRepairer,FairWasserstein]

Each peer is installed at the version below into an environment of its own, in the
folder `build/peers`, where it runs beside this checkout. All answers are kept in
`build/peers/answers.jsonl`; answers of parts and peers that are not run again stay.
From them `benchmarks/RESULTS.md` is written.

With `--methods` only the mitigators whose names begin so are run. Their tables are
printed, with the paired differences between skfair and each peer, and nothing is kept.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import platform
import subprocess
import sys
import venv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fair_models import Point, accuracy, area

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "peers"
ANSWERS = BUILD / "answers.jsonl"
RESULTS = HERE / "RESULTS.md"

#: What is installed for each peer, beside what skfair and the tables need.
PINS = {
    "skfair": [],
    "fairlearn": ["fairlearn==0.15.0"],
    "aif360": ["aif360==0.6.1", "fairlearn==0.15.0"],
    "equipy": ["equipy==0.0.11a0.dev0"],
    "oxonfair": ["oxonfair==0.3"],
    "error-parity": ["error-parity==0.3.12"],
    "maddlib": ["maddlib==1.1.0"],
    "scikit-lego": ["scikit-lego==0.9.10", "cvxpy"],
    "fairret": ["fairret==0.1.3", "torchmetrics", "torch"],
    "LinearPost": [],  # has no package
    "mcgrad": ["mcgrad==0.1.5"],
    "fairaudit": ["fairaudit==0.0.1"],
}
NEEDED = ["scikit-learn", "pandas", "narwhals", "lightgbm", "threadpoolctl"]
TABLES = "adult,bank,census,nist,diabetes,oulad"
#: Rows that models are trained on, and as many that repairs are fitted to.
N_TRAIN = "3000"
#: Seconds that one run may take.
LIMIT = 3600
#: Peers with another task, at which they are measured.
OTHER_TASKS = {"mcgrad", "fairaudit"}
#: Peers that are not asked in a part.
LACKING = {
    "metrics": {"skfair", "LinearPost"} | OTHER_TASKS,
    "behaviour": {"fairret", "LinearPost"} | OTHER_TASKS,
    "mitigation": {"maddlib"} | OTHER_TASKS,
    "newer": set(PINS) - OTHER_TASKS,
}


def environment(peer: str) -> Path:
    """Return the Python of the environment of a peer, made if it is not there.

    A peer without a package runs in that of skfair.
    """
    folder = BUILD / (peer if PINS[peer] else "skfair")
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {peer}", flush=True)
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", *NEEDED, *PINS[peer]]
        subprocess.run(install, check=True)
    return python


def ask(peer: str, script: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """Run a script in the environment of a peer, and read its JSON lines."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    settings = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [environment(peer), HERE / script, peer, *arguments],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    if done.returncode:
        print(f"{peer} {script}: {done.stderr[-2000:]}", file=sys.stderr)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def answers(part: str, peer: str, options: Any) -> Iterator[list[dict[str, Any]]]:
    """Answers of a peer in one part, of each table and seed for mitigators."""
    if part == "metrics":
        yield list(ask(peer, "_peer_metrics.py"))
    elif part == "behaviour":
        yield list(ask(peer, "_peer_behaviour.py"))
    elif part == "newer":
        given = (options.tables, options.seeds, N_TRAIN)
        yield list(ask(peer, "_peer_newer.py", *given))
    else:
        tables, seeds = options.tables.split(","), options.seeds.split(",")
        for seed, table in itertools.product(seeds, tables):
            given = (table, seed, N_TRAIN, options.methods)
            yield list(ask(peer, "_peer_mitigation.py", *given))


def keep(part: str, found: list[dict[str, Any]]) -> None:
    """Put the answers of a run in the place of those from before."""

    def run(line: dict[str, Any]) -> tuple[Any, ...]:
        return line["part"], line["peer"], line.get("table"), line.get("seed")

    found = [{"part": part, **line} for line in found]
    replaced = {run(line) for line in found}
    kept = [line for line in read() if run(line) not in replaced] + found
    ANSWERS.write_text("".join(json.dumps(line) + "\n" for line in kept))


def read() -> list[dict[str, Any]]:
    if not ANSWERS.exists():
        return []
    return [json.loads(line) for line in ANSWERS.read_text().splitlines()]


def versions() -> Iterator[str]:
    """Name each peer with the version that is installed."""
    for peer, packages in PINS.items():
        if packages:
            code = f"import importlib.metadata as m; print(m.version({peer!r}))"
            run = [environment(peer), "-c", code]
            done = subprocess.run(run, capture_output=True, text=True, check=True)
            yield f"{peer} {done.stdout.strip()}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ratio(line: dict[str, Any]) -> float:
    """Return the least time of a peer over that of skfair."""
    ours, theirs = line["seconds"]
    return theirs / ours


def metrics_table(lines: list[dict[str, Any]]) -> str:
    """Return times of metrics, those first at which peers are fast."""
    header = ["peer", "metric", "rows", "skfair, ms", "peer, ms", "peer / skfair"]
    rows = [
        [
            line["peer"],
            line["metric"],
            f"{line['rows']:,}",
            *(f"{1e3 * seconds:.3g}" for seconds in line["seconds"]),
            f"{ratio(line):.3g}",
        ]
        for line in sorted(lines, key=ratio)
    ]
    return table(header, rows)


def behaviour_table(lines: list[dict[str, Any]]) -> str:
    outcomes: dict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        outcome = line["outcome"]
        if outcome.startswith("wrong"):
            outcome = "**wrong**"
        outcomes[line["question"]][line["peer"]] = outcome.split(":")[0]
    peers = list(dict.fromkeys(line["peer"] for line in lines))
    rows = [
        [question, *(by_peer.get(peer, "-") for peer in peers)]
        for question, by_peer in outcomes.items()
    ]
    return table(["", *peers], rows)


class Method(NamedTuple):
    """A mitigator with its areas, accuracies and costs, by table and then by seed."""

    peer: str
    name: str
    aware: bool
    areas: dict[str, list[float]]
    accuracies: dict[str, list[float]]
    costs: list[float]

    def cost(self) -> float:
        """Return the median of all runs."""
        return float(np.median(self.costs))

    def means(self, column: str) -> dict[str, float]:
        """Return the mean over seeds of each table, where every seed has a value."""
        means = {k: round(np.mean(v), 3) for k, v in getattr(self, column).items()}
        return {name: mean for name, mean in means.items() if not np.isnan(mean)}


def methods(lines: list[dict[str, Any]]) -> list[Method]:
    """Return all mitigators, the cheapest first."""
    by_name: dict[Any, Method] = {}
    for line in lines:
        key = line["peer"], line["method"], line["aware"]
        lists = defaultdict(list), defaultdict(list)
        method = by_name.setdefault(key, Method(*key, *lists, []))
        points = [Point(*values) for values in line["points"]]
        plain = Point(*line["plain"])
        scored = points and not np.isnan(points[0].mcdp)
        method.areas[line["table"]].append(area(plain, points) if scored else np.nan)
        method.accuracies[line["table"]].append(
            accuracy(plain, points) if points else np.nan
        )
        method.costs.append(line["fits"])
    return sorted(by_name.values(), key=Method.cost)


def mitigation_table(ranked: list[Method], aware: bool, column: str) -> str:
    """Mean and standard deviation over seeds, the best of a table in bold."""
    ranked = [each for each in ranked if each.aware == aware and each.means(column)]
    names = list(ranked[0].areas) if ranked else []
    best = {
        name: max(method.means(column).get(name, -np.inf) for method in ranked)
        for name in names
    }
    rows = []
    for method in ranked:
        cells = []
        for name in names:
            values = getattr(method, column)[name]
            mean = method.means(column).get(name)
            cell = "-" if mean is None else f"{mean:.3f}"
            if mean is not None and len(values) > 1:
                cell += f" ± {np.std(values):.3f}"
            cells.append(f"**{cell}**" if mean == best[name] else cell)
        rows.append([method.peer, method.name, f"{method.cost():.0f}", *cells])
    return table(["", "method", "plain fits", *names], rows)


def wins(ranked: list[Method], aware: bool, column: str) -> str:
    """Where a peer's method is better than all of skfair's at most at its cost."""
    best = []
    for method in ranked:
        if method.peer == "skfair" or method.aware != aware:
            continue
        rivals = [
            other.means(column)
            for other in ranked
            if other.peer == "skfair"
            and other.aware == aware
            and other.cost() <= method.cost()
        ]
        names = [
            name
            for name, value in method.means(column).items()
            if value > max((rival.get(name, -np.inf) for rival in rivals), default=-1)
        ]
        if names:
            best.append(f"{method.name} ({method.peer}) on {', '.join(names)}")
    return "; ".join(best) or "nowhere"


def paired_table(ranked: list[Method]) -> str:
    """Area of each method of skfair less that of each peer's, on the same splits."""
    rows = []
    for own, rival in itertools.product(ranked, repeat=2):
        if own.peer == "skfair" != rival.peer and own.aware == rival.aware:
            cells = []
            for name in own.areas:
                gains = np.subtract(own.areas[name], rival.areas[name])
                error = gains.std(ddof=1) / np.sqrt(len(gains))
                cells.append(f"{gains.mean():+.3f} ± {error:.3f}")
            rows.append([f"{own.name} less {rival.name}", *cells])
    return table(["mean ± standard error", *(ranked[0].areas if ranked else [])], rows)


def overview(lines: dict[str, list[dict[str, Any]]]) -> str:
    """One line a library: wrong numbers, checks, speed, best mitigators and cost."""
    asked: dict[str, list[bool]] = defaultdict(list)
    cells: dict[tuple[str, str], str] = {("skfair", "speed"): "1"}
    for line in lines["behaviour"]:
        peer, outcome = line["peer"], line["outcome"]
        if line["question"] == "check_estimator":
            cells[peer, "checks"] = "passes" if outcome == "right" else outcome
        elif outcome != "-":
            asked[peer].append(outcome.startswith("wrong"))
    for line in lines["metrics"]:
        if line["metric"] == "demographic parity" and line["rows"] == 10**6:
            cells[line["peer"], "speed"] = f"{ratio(line):.3g}"
    best: dict[tuple[str, bool], float] = {}
    for method in methods(lines["mitigation"]):
        means = list(method.means("areas").values()) or [0.0]
        if (mean := float(np.mean(means))) > best.get((method.peer, method.aware), 0):
            best[method.peer, method.aware] = mean
            text = f"{mean:.3f}: {method.name}, {method.cost():.0f} fits"
            cells[method.peer, f"aware {method.aware}"] = text
    for peer, is_wrong in asked.items():
        cells[peer, "wrong"] = f"{sum(is_wrong)} of {len(is_wrong)}"
    named = [peer for peer in PINS if any(peer == each for each, _ in cells)]
    keys = ["wrong", "checks", "speed", "aware False", "aware True"]
    header = ["wrong numbers without a warning", "scikit-learn's checks"]
    header += ["time of a parity difference"]
    header += [f"best area, group {when}" for when in ("in training", "at prediction")]
    rows = [[peer, *(cells.get((peer, key), "-") for key in keys)] for peer in named]
    return table(["", *header], rows)


def newer_table(lines: list[dict[str, Any]]) -> str:
    keys = ["peer", "measure", "value", "beside"]
    rows = [[line[key] for key in keys] for line in lines]
    return table(["peer", "measured", "peer's", "beside it"], rows)


def describe_splits(lines: list[dict[str, Any]]) -> str:
    """Name the options of the run, and what stands in a cell."""
    tables = ",".join(dict.fromkeys(line["table"] for line in lines))
    seeds = sorted({line["seed"] for line in lines})
    options = f"`--tables {tables} --seeds {','.join(map(str, seeds))}`"
    if len(seeds) == 1:
        return f"one split of each table ({options})"
    return f"mean and standard deviation of splits ({options})"


def write() -> None:
    """Write the page from all answers that are kept."""
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in read():
        lines[line["part"]].append(line)
    for part in lines.values():
        part.sort(key=lambda line: list(PINS).index(line["peer"]))
    ranked = methods(lines["mitigation"])
    tables = {
        f"{kind}{column}_{when}": function(ranked, aware, column)
        for kind, function in {"": mitigation_table, "wins_": wins}.items()
        for column in ("areas", "accuracies")
        for when, aware in {"training": False, "prediction": True}.items()
    }
    page = (HERE / "_results_page.md").read_text()
    RESULTS.write_text(
        page.format(
            date=datetime.date.today(),
            machine=f"{platform.machine()}, {os.cpu_count()} cores, "
            f"{platform.system()}, Python {platform.python_version()}",
            versions=", ".join(versions()),
            overview=overview(lines),
            metrics=metrics_table(lines["metrics"]),
            behaviour=behaviour_table(lines["behaviour"]),
            newer=newer_table(lines["newer"]),
            splits=describe_splits(lines["mitigation"]),
            **tables,
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default="metrics,behaviour,mitigation,newer")
    parser.add_argument("--peers", default=",".join(PINS))
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--methods", default="")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    if options.methods:
        lines = [
            line
            for peer in options.peers.split(",")
            if peer not in LACKING["mitigation"]
            for found in answers("mitigation", peer, options)
            for line in found
        ]
        ranked = methods(lines)
        print(*(mitigation_table(ranked, aware, "areas") for aware in (False, True)))
        print(paired_table(ranked))
        return
    for part in filter(None, options.parts.split(",")):
        for peer in options.peers.split(","):
            if peer not in LACKING[part]:
                print(part, peer, flush=True)
                for found in answers(part, peer, options):
                    keep(part, found)
    write()


if __name__ == "__main__":
    main()
