"""Small faults in the source, and whether the quick tests notice them.

    python benchmarks/mutants.py skfair/statistics --number 20 --seed 0

A mutant is the source with one small fault: another operator, comparison or constant,
a negated condition, the other side or axis. It dies if a quick test or an example of a
docstring that reaches its lines fails, or takes too long. The script draws mutants at
random and prints those that survive: each is a test that is missing, or a change that
makes no difference.

With ``--tests`` some of the test files are run; what survives there may die elsewhere.

The first run records which lines each test reaches, which takes as long as to run
``--tests`` once. It is kept in ``build/mutants.json``; a test file is recorded again if
it or the source has changed. A test that fails without a fault is left out. Lines that
an earlier result in a cache hides are not seen to be reached. Processes are forked,
which Windows cannot.
"""

# ruff: noqa: D102, N815 (methods that ast and pytest call have their names)

from __future__ import annotations

import argparse
import ast
import difflib
import faulthandler
import hashlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "build" / "mutants.json"
PYTEST = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
#: Modules that each test process has loaded when it begins.
LOADED = "numpy pandas scipy.stats scipy.optimize sklearn.ensemble sklearn.linear_model"
#: Test files that are run before all others: those named like the source.
N_FIRST = 6
#: Test files that are recorded before the record is written.
N_AT_ONCE = 20
#: More lines than any source has.
MAX_LINES = 10_000

#: Every operator, with those that replace it.
OPERATORS = {
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "//": ["/"],
    "**": ["*"],
    "%": ["*"],
    "&": ["|"],
    "|": ["&"],
    "<<": [">>"],
    ">>": ["<<"],
    "<": ["<=", ">"],
    "<=": ["<", ">="],
    ">": [">=", "<"],
    ">=": [">", "<="],
    "==": ["!="],
    "!=": ["=="],
    "is": ["is not"],
    "is not": ["is"],
    "in": ["not in"],
    "not in": ["in"],
    "and": ["or"],
    "or": ["and"],
}
NAMES = {
    "min": "max",
    "minimum": "maximum",
    "argmin": "argmax",
    "floor": "ceil",
    "any": "all",
}
NAMES |= {value: key for key, value in NAMES.items()}
WORDS = {"left": "right", "right": "left"}
#: Keywords that guard, or that change the speed but no result.
UNTOUCHED = {"strict", "copy", "stacklevel", "assume_unique", "maxsize"}
#: Functions that return numbers, whose sign is changed.
NUMERIC = {"float", "int", "abs", "sum", "max", "min", "np", "math"}

#: Each test, with its seconds and, for each source, a number whose bits are the lines
#: that it reaches.
Tests = dict[str, tuple[float, dict[str, str]]]


class Mutant(NamedTuple):
    """A replacement of one part of a file."""

    path: str
    # Lines of the statement that the part belongs to; None: it runs on import, or once.
    lines: tuple[int, int] | None
    begin: int
    end: int
    text: str


# From a source to its mutants


class Finder(ast.NodeVisitor):
    """Find the mutants of a file."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source.encode()
        lengths = [len(line) for line in self.source.splitlines(keepends=True)]
        self.starts = [sum(lengths[:row]) for row in range(len(lengths))]
        self.lines: tuple[int, int] | None = None
        self.in_function = False
        self.found: list[Mutant] = []

    def begin(self, node: Any) -> int:
        return self.starts[node.lineno - 1] + int(node.col_offset)

    def end(self, node: Any) -> int:
        return self.starts[node.end_lineno - 1] + int(node.end_col_offset)

    def add(self, begin: int, end: int, text: str) -> None:
        self.found.append(Mutant(self.path, self.lines, begin, end, text))

    def swap(self, left: ast.AST, right: ast.AST) -> None:
        """Replace the operator between two operands."""
        begin = self.end(left)
        between = self.source[begin : self.begin(right)].decode()
        between = re.sub("#.*", lambda match: " " * len(match[0]), between)
        match = re.search(r"\w[\w\s]*\w|[^\w\s()\\=]+=?|==", between)
        if match:
            operator = " ".join(match[0].split())
            kept = "=" if operator not in OPERATORS and operator[-1] == "=" else ""
            for other in OPERATORS.get(operator.removesuffix(kept), []):
                self.add(begin + match.start(), begin + match.end(), other + kept)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and self.in_function:
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            self.lines = node.lineno, max(node.lineno, last)
        super().visit(node)

    def ignore(self, node: ast.AST) -> None:
        """Leave a node as it is."""

    visit_Import = visit_ImportFrom = visit_Raise = visit_JoinedStr = ignore

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        decorators = " ".join(ast.unparse(each) for each in node.decorator_list)
        if "overload" in decorators:
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default:
                self.visit(default)
        before = self.in_function, self.lines
        self.in_function, self.lines = "cache" not in decorators, None
        for statement in node.body:
            self.visit(statement)
        self.in_function, self.lines = before

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        if ast.unparse(node.targets[0]) != "__all__":
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value and "TypeAlias" not in ast.unparse(node.annotation):
            self.visit(node.value)

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.negate(node.test)
            self.generic_visit(node)

    visit_While = visit_IfExp = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.negate(test)
        self.generic_visit(node)

    def negate(self, test: ast.expr) -> None:
        # A single comparison, or not, has a mutant of the same effect.
        single = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not single and not isinstance(test, ast.UnaryOp | ast.Constant):
            text = self.source[self.begin(test) : self.end(test)].decode()
            self.add(self.begin(test), self.end(test), f"(not ({text}))")

    def visit_Return(self, node: ast.Return) -> None:
        value = node.value
        called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
        if isinstance(value, ast.BinOp) or called.split(".")[0] in NUMERIC:
            text = self.source[self.begin(value) : self.end(value)].decode()
            self.add(self.begin(value), self.end(value), f"-({text})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = (ast.JoinedStr, ast.Constant)
        sides = [s for s in (node.left, node.right) if isinstance(s, texts)]
        if not any(isinstance(getattr(s, "value", ""), str) for s in sides):
            self.swap(node.left, node.right)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.swap(node.target, node.value)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, right in pairwise(operands):
            self.swap(left, right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in pairwise(node.values):
            self.swap(left, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.add(self.begin(node), self.begin(node.operand), "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func).split(".")[-1]
        if name in {"warn", "cast", "TypeVar"}:
            return
        if name in NAMES:
            end = self.end(node.func)
            self.add(end - len(name), end, NAMES[name])
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and value.value in WORDS:
            self.add(self.begin(value), self.end(value), f'"{WORDS[value.value]}"')
        elif node.arg == "axis" and isinstance(value, ast.Constant):
            self.add(self.begin(value), self.end(value), str(int(value.value == 0)))
        elif node.arg not in UNTOUCHED:
            self.visit(value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value, text = node.value, self.source[self.begin(node) : self.end(node)]
        others: list[str] = []
        if isinstance(value, bool):
            others = [str(not value)]
        elif isinstance(value, int):
            others = [str(value + 1)]
        elif isinstance(value, float):
            others = [f"({text.decode()} * 2)", f"({text.decode()} / 2)"]
            others = others if value else ["1.0"]
        for other in others:
            self.add(self.begin(node), self.end(node), other)


def mutants_of(path: str) -> list[Mutant]:
    source = (ROOT / path).read_text()
    finder = Finder(path, source)
    finder.visit(ast.parse(source))
    return [each for each in finder.found if is_python(mutated(each, source))]


def mutated(mutant: Mutant, source: str) -> str:
    encoded = source.encode()
    parts = encoded[: mutant.begin], mutant.text.encode(), encoded[mutant.end :]
    return b"".join(parts).decode()


def is_python(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


# Which tests reach which lines


class Recorder:
    """Plugin of pytest that notes the lines, seconds and failures of each test.

    Lines that a shared fixture or a test file runs once belong to all its tests.
    """

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured, self.context = measured, ""
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self.failed: set[str] = set()

    def within(self, context: str) -> Generator[None, Any, Any]:
        outer, self.context = self.context, context
        self.measured.switch_context(context)
        try:
            return (yield)
        finally:
            self.context = outer
            self.measured.switch_context(outer)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        return (yield from self.within(f"file {collector.path}"))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        return (yield from self.within(f"fixture {fixturedef.argname}"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        start = time.perf_counter()
        result = yield from self.within(item.nodeid)
        fixtures = [f"fixture {name}" for name in getattr(item, "fixturenames", [])]
        contexts = [item.nodeid, f"file {item.path}", *fixtures]
        self.tests[item.nodeid] = time.perf_counter() - start, contexts
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


class Chosen:
    """Plugin of pytest that runs some tests, and ends if one takes too long."""

    def __init__(self, seconds: dict[str, float], timeout: float) -> None:
        self.seconds, self.timeout = seconds, timeout

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self.seconds]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        limit = self.timeout + 10 * self.seconds[nodeid]
        faulthandler.dump_traceback_later(limit, exit=True)


def in_process(tree: Path, run: Callable[[], int]) -> int:
    """Exit code of a function that runs in a process of its own, in a tree."""

    def target() -> None:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.chdir(tree)
        os.environ["PYTHONPATH"] = str(tree)
        sys.path.insert(0, str(tree))
        sys.dont_write_bytecode = True  # that of one mutant would serve the next
        spec = importlib.util.find_spec("skfair")
        if spec is None or not str(spec.origin).startswith(str(tree)):
            os._exit(99)
        os._exit(run())

    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    process.join()
    return process.exitcode or 0


def record(tree: Path, files: list[str], output: Path) -> int:
    """Write which lines of skfair each test of the files reaches."""
    measured = coverage.Coverage(data_file=None, include="skfair/*", config_file=False)
    recorder = Recorder(measured)
    measured.start()
    pytest.main([*PYTEST, *files], plugins=[recorder])
    measured.stop()
    data = measured.get_data()
    lines: dict[str, dict[str, int]] = {}
    for path in data.measured_files():
        source = str(Path(path).relative_to(tree))
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in contexts:
                reached = lines.setdefault(context, {})
                reached[source] = reached.get(source, 0) | 1 << line
    tests: dict[str, Any] = {file: {} for file in files}
    for test, (seconds, contexts) in recorder.tests.items():
        if test not in recorder.failed:
            reach: dict[str, int] = {}
            for context in contexts:
                for source, bits in lines.get(context, {}).items():
                    reach[source] = reach.get(source, 0) | bits
            entry = seconds, {source: hex(bits) for source, bits in reach.items()}
            tests[test.split("::")[0]][test] = entry
    output.write_text(json.dumps([tests, sorted(recorder.failed)]))
    return 0


def digests_of(files: list[str]) -> dict[str, str]:
    read = {file: (ROOT / file).read_bytes() for file in files}
    return {file: hashlib.sha256(each).hexdigest() for file, each in read.items()}


def reach_of_tests(sources: list[str], files: list[str], tree: Path) -> Tests:
    """Read, or record, the lines that each test reaches."""
    wanted, digests = digests_of(sources), digests_of(files)
    everything = digests_of(files_below(["skfair"], "*.py"))

    def is_known(file: str) -> bool:
        test_file, code, _ = known.get(file, ("", {}, {}))
        return test_file == digests[file] and wanted.items() <= code.items()

    known = read_record()
    changed = [file for file in files if not is_known(file)]
    if changed:
        print(f"Recording what the tests of {len(changed)} files reach.", flush=True)
    output = tree / "record.json"
    for first in range(0, len(changed), N_AT_ONCE):
        part = changed[first : first + N_AT_ONCE]
        if in_process(tree, lambda part=part: record(tree, part, output)):
            raise RuntimeError(f"The tests of {part} could not be recorded.")
        tests, failed = json.loads(output.read_text())
        found = {file: (digests[file], everything, tests[file]) for file in part}
        known |= read_record() | found
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(json.dumps(known))
        for test in failed:
            print(f"{test} fails without a fault, and is left out.", flush=True)
    return {test: entry for f in files for test, entry in known[f][2].items()}


def read_record() -> dict[str, Any]:
    return dict(json.loads(RECORD.read_text())) if RECORD.exists() else {}


# What each mutant does to the tests


def seconds_of_tests(mutant: Mutant, tests: Tests) -> dict[str, float]:
    """Find the tests that reach a mutant, and how long each takes without it."""
    first, last = mutant.lines or (1, MAX_LINES)
    bits = (1 << last + 1) - (1 << first)
    return {
        test: seconds
        for test, (seconds, reach) in tests.items()
        if int(reach.get(mutant.path, "0"), 16) & bits
    }


def stages(path: str, seconds: dict[str, float]) -> list[list[str]]:
    """Order test files: those named like the source, then those that take less time."""

    def words(name: str) -> set[str]:
        return set(re.findall("[a-z]+", name.lower())) - {"test", "tests", "py"}

    cost: dict[str, float] = {}
    for test, each in seconds.items():
        file = test.split("::")[0]
        cost[file] = cost.get(file, 0) + each
    order = sorted(cost, key=lambda f: (-len(words(f) & words(path)), cost[f]))
    return [part for part in (order[:N_FIRST], order[N_FIRST:]) if part]


def dies(mutant: Mutant, tests: Tests, tree: Path, timeout: float) -> bool:
    """Whether a test fails, or hangs, where the tree has the fault."""
    seconds = seconds_of_tests(mutant, tests)
    file = tree / mutant.path
    original = file.read_text()
    file.write_text(mutated(mutant, original))
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)

    def run(files: list[str]) -> int:
        faulthandler.dump_traceback_later(4 * timeout, exit=True)
        return int(pytest.main([*PYTEST, "-x", *files], [Chosen(seconds, timeout)]))

    try:
        for files in stages(mutant.path, seconds):
            if in_process(tree, lambda files=files: run(files)):
                return True
    finally:
        file.write_text(original)
    return False


def show(mutant: Mutant, tree: Path) -> str:
    """Location, original lines and mutated lines."""
    source = (tree / mutant.path).read_text()
    lines = source.splitlines(), mutated(mutant, source).splitlines()
    differing = [line for line in difflib.ndiff(*lines) if line[:2] in ("- ", "+ ")]
    row = source.encode()[: mutant.begin].count(b"\n") + 1
    return "\n".join([f"{mutant.path}:{row}", *(f"    {line}" for line in differing)])


def lane(
    mutants: list[Mutant], tests: Tests, tree: Path, timeout: float, results: Any
) -> None:
    """Try mutants one after the other, in a tree of their own."""
    for mutant in mutants:
        start = time.perf_counter()
        died = dies(mutant, tests, tree, timeout)
        seconds = time.perf_counter() - start
        results.put((died, seconds, "" if died else show(mutant, tree)))


def files_below(paths: list[str], pattern: str) -> list[str]:
    found = set()
    for path in paths:
        below = [ROOT / path] if path.endswith(".py") else (ROOT / path).rglob(pattern)
        found |= {str(each.relative_to(ROOT)) for each in below}
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+", help="files or folders of skfair")
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument("--timeout", type=float, default=60, help="seconds for a test")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    sources = files_below(arguments.sources, "*.py")
    found = [mutant for source in sources for mutant in mutants_of(source)]
    number = min(arguments.number, len(found))
    drawn = random.Random(arguments.seed).sample(found, number)
    for name in LOADED.split():
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as directory:
        trees = [Path(directory, str(i), "skfair") for i in range(arguments.processes)]
        for tree in trees:
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "build"))
        files = [*sources, *files_below(arguments.tests, "test_*.py")]
        tests = reach_of_tests(sources, files, trees[0])
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        for i, tree in enumerate(trees):
            part = drawn[i :: len(trees)]
            given = part, tests, tree, arguments.timeout, results
            context.Process(target=lane, args=given).start()
        seconds, n_died = [], 0
        for _ in drawn:
            died, each, text = results.get()
            n_died += died
            seconds.append(each)
            if not died:
                print(text, flush=True)
    print(
        f"{n_died} of {number} mutants died ({len(found)} could be made); "
        f"seconds for one: median {statistics.median(seconds):.1f}, "
        f"largest {max(seconds):.1f}."
    )


if __name__ == "__main__":
    main()
