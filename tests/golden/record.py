"""Record what the golden calls return, or compare them with what is recorded.

    python tests/golden/record.py                      record all, and show what changes
    python tests/golden/record.py --only 'mcdp/value'  record some
    python tests/golden/record.py --check --seed 1     compare, with other random draws

What is recorded stands in results.json, one line a call.
"""

import argparse
import json
import os
import re
import sys
import time
import warnings
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from golden_results import differences, plain

RESULTS = Path(__file__).with_name("results.json")
#: Warnings of these say nothing of a result; other versions of a library give others.
OF_VERSIONS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


def outcome(call, seed=0):
    """Run a call: its result or the type of its exception, and kinds of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = {"result": plain(call.run(seed))}
        except Exception as error:
            found = {"error": exception_name(error)}
    kinds = {
        one.category.__name__
        for one in caught
        if not issubclass(one.category, OF_VERSIONS)
    }
    if kinds:
        found["warnings"] = sorted(kinds)
    return found


def exception_name(error):
    """Name the nearest type that Python itself has: subclasses are private."""
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return next(kinds).__name__


def compare(call, found, recorded):
    """Say how the outcome of a call differs from what is recorded."""
    if found.keys() != recorded.keys() or "error" in recorded:
        return (
            []
            if found == recorded
            else [f"recorded {brief(recorded)}, found {brief(found)}"]
        )
    lines = differences(found["result"], recorded["result"], call.tolerance)
    if found.get("warnings") != recorded.get("warnings"):
        before, now = recorded.get("warnings", []), found.get("warnings", [])
        lines.append(f"warnings: recorded {before}, found {now}")
    return lines


def brief(value, length=300):
    text = json.dumps(value)
    return text if len(text) <= length else f"{text[:length]} ..."


def read():
    """Read what is recorded: name -> outcome."""
    return json.loads(RESULTS.read_text())


def write(outcomes):
    """Write one line a call, by name, so that a change is seen as a line."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(outcomes[name], allow_nan=False)}"
        for name in sorted(outcomes)
    )
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", default="", help="regular expression in the names of calls"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare and write nothing"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of random draws, with --check"
    )
    parser.add_argument("--times", action="store_true", help="show how long tests take")
    options = parser.parse_args()
    if options.seed and not options.check:
        parser.error("--seed is for --check: what is recorded has the seed 0")
    from golden_calls import CALLS

    recorded = read() if RESULTS.exists() else {}
    chosen = [call for name, call in CALLS.items() if re.search(options.only, name)]
    found, seconds, n_changed = {}, {}, 0
    for call in chosen:
        if not call.is_possible:
            print(f"{call.name}: left out, {call.needs} is not installed")
            continue
        start = time.process_time()
        found[call.name] = outcome(call, options.seed)
        seconds[call.test] = seconds.get(call.test, 0) + time.process_time() - start
        if call.name not in recorded:
            lines = ["is new"]
        else:
            lines = compare(call, found[call.name], recorded[call.name])
        if lines and (recorded or options.check):
            n_changed += 1
            print(f"{call.name}\n    " + "\n    ".join(lines))
    gone = [name for name in recorded if name not in CALLS]
    for name in gone:
        print(f"{name}\n    is not a call any more")
    print(
        f"{len(chosen)} calls, {n_changed} changed, {len(gone)} gone, "
        f"{sum(seconds.values()):.1f} s"
    )
    if options.times:
        for test, spent in sorted(seconds.items(), key=lambda pair: -pair[1])[:60]:
            print(f"{spent:8.3f} s  {test}")
    if options.check:
        return int(n_changed + len(gone) > 0)
    # Calls that other machines alone can run keep their lines.
    kept = {name: value for name, value in recorded.items() if name in CALLS}
    write(kept | found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
