"""skfair and its peers side by side: speed and memory, behaviour, mitigation.

    SKFAIR_DATA=<folder of the tables> python benchmarks/peers.py
        [--parts metrics,behaviour,mitigation] [--peers fairlearn,aif360]
        [--tables adult,census] [--seeds 0,1,2] [--n-train 3000] [--largest 10000000]
        [--methods ScoreRepairer,FairWasserstein]

Each peer is installed at the version below into an environment of its own, in the
folder `build/peers`, where it runs beside this checkout. All answers are kept in
`build/peers/answers.jsonl`; answers of parts and peers that are not run again stay.
From them `benchmarks/RESULTS.md` and `docs/images/peers.png` are written.

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
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from fair_models import Point, accuracy, area

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "peers"
ANSWERS = BUILD / "answers.jsonl"
RESULTS = HERE / "RESULTS.md"
PICTURE = HERE.parent / "docs" / "images" / "peers.png"

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
}
NEEDED = ["scikit-learn", "pandas", "narwhals", "lightgbm", "threadpoolctl"]
TABLES = "adult,bank,census,nist,diabetes,oulad"
#: Seconds that one run may take.
LIMIT = 3600
#: Peers without metrics, behaviour of metrics, or mitigators.
LACKING = {
    "metrics": {"skfair"},
    "behaviour": {"fairret"},
    "mitigation": {"maddlib"},
}


def environment(peer: str) -> Path:
    """Return the Python of the environment of a peer, made if it is not there."""
    folder = BUILD / peer
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


def answers(part: str, peer: str, options: Any) -> Iterator[dict[str, Any]]:
    """All answers of a peer in one part."""
    if part == "metrics":
        yield from ask(peer, "_peer_metrics.py", str(options.largest))
    elif part == "behaviour":
        yield from ask(peer, "_peer_behaviour.py")
    else:
        for table in options.tables.split(","):
            for seed in options.seeds.split(","):
                given = (table, seed, str(options.n_train), options.methods)
                yield from ask(peer, "_peer_mitigation.py", *given)


def keep(part: str, peer: str, found: list[dict[str, Any]]) -> None:
    """Put the answers of a peer in one part in the place of those from before."""
    kept = [line for line in read() if (line["part"], line["peer"]) != (part, peer)]
    kept += [{"part": part, **line} for line in found]
    ANSWERS.write_text("".join(json.dumps(line) + "\n" for line in kept))


def read() -> list[dict[str, Any]]:
    if not ANSWERS.exists():
        return []
    return [json.loads(line) for line in ANSWERS.read_text().splitlines()]


def versions() -> Iterator[str]:
    """Name each peer with the version that is installed."""
    for peer in PINS:
        if peer != "skfair":
            code = f"import importlib.metadata as m; print(m.version({peer!r}))"
            run = [environment(peer), "-c", code]
            done = subprocess.run(run, capture_output=True, text=True, check=True)
            yield f"{peer} {done.stdout.strip()}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def metrics_table(found: list[dict[str, Any]]) -> str:
    rows = []
    for line in found:
        ours, theirs = line["seconds"]
        memory = [f"{max(0, value):.0f}" for value in line["megabytes"]]
        same = np.isclose(*line["values"], atol=1e-6)
        rows.append(
            [
                line["peer"],
                line["metric"],
                f"{line['rows']:,}",
                f"{1e3 * ours:.3g}",
                f"{1e3 * theirs:.3g}",
                f"{line['ratio']:.3g}",
                *memory,
                "same" if same else "{:.4f}, {:.4f}".format(*line["values"]),
            ]
        )
    header = ["peer", "metric", "rows", "skfair, ms", "peer, ms", "times faster"]
    return table([*header, "skfair, MB", "peer, MB", "values"], rows)


def behaviour_table(found: list[dict[str, Any]]) -> str:
    outcomes: dict[str, dict[str, str]] = defaultdict(dict)
    for line in found:
        outcome = line["outcome"]
        if outcome.startswith("wrong"):
            outcome = "**wrong**"
        outcomes[line["question"]][line["peer"]] = outcome.split(":")[0]
    peers = list(dict.fromkeys(line["peer"] for line in found))
    rows = [
        [question, *(given.get(peer, "-") for peer in peers)]
        for question, given in outcomes.items()
    ]
    return table(["", *peers], rows)


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def summaries(found: list[dict[str, Any]]) -> dict[Any, dict[str, list[Any]]]:
    """Area, accuracy and cost of each seed, by method and then by table."""
    collected: dict[Any, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for line in found:
        points = [Point(*values) for values in line["points"]]
        plain = Point(*line["plain"])
        scored = points and not np.isnan(points[0].mcdp)
        summary = (
            area(plain, points) if scored else np.nan,
            accuracy(plain, points) if points else np.nan,
            line["fits"],
        )
        method = (line["peer"], line["method"], line["aware"])
        collected[method][line["table"]].append(summary)
    return collected


def mitigation_table(found: list[dict[str, Any]], column: int) -> str:
    """Mean and standard deviation over seeds of one summary, best of a table bold.

    Where a method does not reach the difference with every seed, there is none.
    """
    collected = summaries(found)
    tables = list(dict.fromkeys(line["table"] for line in found))
    means = {
        method: {name: np.mean(values, axis=0)[column] for name, values in by.items()}
        for method, by in collected.items()
    }
    rows = []
    for method, by in collected.items():
        if all(np.isnan(value) for value in means[method].values()):
            continue
        cells = []
        for name in tables:
            values = [summary[column] for summary in by.get(name, [])]
            rivals = [
                other[name]
                for (_, _, aware), other in means.items()
                if name in other and aware == method[2] and not np.isnan(other[name])
            ]
            cell = spread(values) if values and np.isfinite(values).all() else "-"
            best = rivals and means[method].get(name) == max(rivals)
            cells.append(f"**{cell}**" if best else cell)
        costs = [summary[2] for values in by.values() for summary in values]
        group = "at prediction" if method[2] else "in training"
        rows.append([method[0], method[1], group, *cells, f"{np.median(costs):.0f}"])
    rows.sort(key=lambda row: row[2], reverse=True)
    return table(["", "method", "group", *tables, "plain fits"], rows)


def wins(found: list[dict[str, Any]]) -> str:
    """Tables on which the largest area is a peer's, of methods that know as much."""
    best: dict[Any, tuple[float, str, str]] = {}
    for (peer, method, aware), by in summaries(found).items():
        for name, values in by.items():
            mean = np.mean(values, axis=0)[0]
            if mean > best.get((name, aware), (-1, ""))[0]:
                best[name, aware] = mean, peer, method
    when = {True: "at prediction", False: "in training"}
    return "; ".join(
        f"{name}, group {when[aware]}: {method} ({peer})"
        for (name, aware), (_, peer, method) in best.items()
        if peer != "skfair"
    )


def paired_table(found: list[dict[str, Any]]) -> str:
    """Area of each method of skfair less that of each peer's, on the same splits."""
    collected = summaries(found)
    tables = list(dict.fromkeys(line["table"] for line in found))
    rows = []
    for own, rival in itertools.product(collected, repeat=2):
        if own[0] == "skfair" != rival[0] and own[2] == rival[2]:
            cells = []
            for name in tables:
                areas = (np.array(collected[m][name])[:, 0] for m in (own, rival))
                gains = np.subtract(*areas)
                error = gains.std(ddof=1) / np.sqrt(len(gains))
                cells.append(f"{gains.mean():+.3f} ± {error:.3f}")
            rows.append([f"{own[1]} less {rival[1]}", *cells])
    return table(["mean ± standard error", *tables], rows)


def draw(found: list[dict[str, Any]]) -> None:
    """Best share of the plain AP at each share of the plain MCDP, by table."""
    tables = list(dict.fromkeys(line["table"] for line in found))
    figure, grid = plt.subplots(2, 3, figsize=(11, 7.6), sharex=True, sharey=True)
    shares = np.linspace(0, 1, 101)
    curves: dict[Any, list[Any]] = defaultdict(list)
    for line in found:
        points = np.array([p[:2] for p in line["points"] if not np.isnan(p[1])])
        if len(points):
            plain = np.array(line["plain"][:2])
            points = np.vstack([points, plain]) / plain
            points = points[np.argsort(points[:, 1])]
            best = np.maximum.accumulate(points[:, 0])
            curve = np.interp(shares, points[:, 1], best, left=np.nan)
            curves[line["table"], line["peer"], line["method"]].append(curve)
    methods = list(dict.fromkeys(key[1:] for key in curves))
    for axes, name in zip(grid.flat, tables, strict=False):
        for number, method in enumerate(methods):
            values = np.array(curves.get((name, *method), [np.full(101, np.nan)]))
            reached = np.isfinite(values).all(axis=0)
            own = method[0] == "skfair"
            axes.plot(
                shares[reached],
                values[:, reached].mean(axis=0),
                color=plt.get_cmap("tab20")(number),
                linewidth=2.2 if own else 1.4,
                linestyle="-" if own else "--",
                label=f"{method[0]}: {method[1]}",
            )
        axes.set(title=name, ylim=(0.8, 1.02), xlim=(0, 1))
    for axes in grid[1]:
        axes.set_xlabel("MCDP as a share of the plain model's")
    for axes in grid[:, 0]:
        axes.set_ylabel("AP as a share of the plain model's")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="lower center", fontsize=8)
    figure.tight_layout(rect=(0, 0.17, 1, 1))
    figure.savefig(PICTURE, dpi=100)
    plt.close(figure)


def overview(found: dict[str, list[dict[str, Any]]]) -> str:
    """One line for each library: speed, wrong numbers, checks, best mitigator."""
    speeds = {
        line["peer"]: f"{line['ratio']:.3g}"
        for line in found["metrics"]
        if line["metric"] == "demographic parity" and line["rows"] == 10**6
    }
    wrong: dict[str, int] = defaultdict(int)
    asked: dict[str, int] = defaultdict(int)
    checks = {}
    for line in found["behaviour"]:
        peer, outcome = line["peer"], line["outcome"]
        if line["question"] == "check_estimator":
            checks[peer] = "passes" if outcome == "right" else outcome
        elif outcome != "-":
            asked[peer] += 1
            wrong[peer] += outcome.startswith("wrong")
    areas: dict[tuple[str, bool], float] = {}
    for (peer, _, aware), by in summaries(found["mitigation"]).items():
        means = [np.mean(values, axis=0)[0] for values in by.values()]
        if np.isfinite(means).all():
            areas[peer, aware] = max(np.mean(means), areas.get((peer, aware), 0))
    rows = [
        [
            peer,
            "1" if peer == "skfair" else speeds.get(peer, "-"),
            f"{wrong[peer]} of {asked[peer]}" if asked[peer] else "-",
            checks.get(peer, "-"),
            *(
                f"{areas[peer, aware]:.3f}" if (peer, aware) in areas else "-"
                for aware in (False, True)
            ),
        ]
        for peer in PINS
    ]
    header = ["", "time of a parity difference", "wrong numbers", "`check_estimator`"]
    header += ["area, group in training", "area, group at prediction"]
    return table(header, rows)


def write(options: Any) -> None:
    """Write the page and the picture from all answers that are kept."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in read():
        found[line["part"]].append(line)
    for lines in found.values():
        lines.sort(key=lambda line: list(PINS).index(line["peer"]))
    page = (HERE / "_results_page.md").read_text()
    mitigation = found["mitigation"]
    failed = {
        f"{line['method']} on {line['table']} ({line['error']})"
        for line in mitigation
        if line["error"]
    }
    seeds = sorted({line["seed"] for line in mitigation})
    n_rows = max((line["rows"] for line in mitigation), default=0)
    if mitigation:
        draw(mitigation)
    RESULTS.write_text(
        page.format(
            date=datetime.date.today(),
            machine=f"{platform.machine()}, {os.cpu_count()} cores, "
            f"{platform.system()}, Python {platform.python_version()}",
            versions=", ".join(versions()),
            overview=overview(found),
            metrics=metrics_table(found["metrics"]),
            behaviour=behaviour_table(found["behaviour"]),
            seeds=", ".join(map(str, seeds)),
            rows=f"{n_rows:,}",
            area=mitigation_table(mitigation, 0),
            accuracy=mitigation_table(mitigation, 1),
            wins=wins(mitigation) or "nowhere",
            failed="; ".join(sorted(failed)) or "none",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default="metrics,behaviour,mitigation")
    parser.add_argument("--peers", default=",".join(PINS))
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--n-train", type=int, default=3000)
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--methods", default="")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    if options.methods:
        asked = [peer for peer in options.peers.split(",") if peer != "maddlib"]
        found = [
            line for peer in asked for line in answers("mitigation", peer, options)
        ]
        tables = [mitigation_table(found, column) for column in (0, 1)]
        print(*tables, paired_table(found), sep="\n")
        return
    for part in filter(None, options.parts.split(",")):
        for peer in options.peers.split(","):
            if peer not in LACKING[part]:
                print(part, peer, flush=True)
                keep(part, peer, list(answers(part, peer, options)))
    write(options)


if __name__ == "__main__":
    main()
