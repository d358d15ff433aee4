"""Tables of pages that are computed: all names, what metrics take, all promises.

python docs/_tables.py      # writes them into the pages
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import skfair.metrics
from skfair.metrics._as_metric import METRICS

#: Public packages, by the task that their names serve on the page of the reference.
PACKAGES = {
    "metrics": "Further metrics",
    "sampling": "Plan an audit",
    "model_selection": "Search, and compare models",
    "inprocessing": "Make fairer: train",
    "postprocessing": "Make fairer: repair",
    "inspection": "Look, and explain",
    "report": "Report, and watch",
    "monitoring": "Report, and watch",
    "groups": "Groups",
    "statistics": "Tables of any size",
    "frames": "Tables of any size",
    "datasets": "Data",
    "exceptions": "Warnings",
}
#: Functions and classes of `skfair.metrics` by task; others stand below them.
METRICS_BY_TASK = {
    "Compare groups": [
        "group_metrics",
        "demographic_parity_difference",
        "impact_ratios",
        "impact_ratio_shortfall",
        "equalized_odds_difference",
        "true_positive_rate_difference",
        "false_positive_rate_difference",
        "predictive_value_difference",
        "mean_error_difference",
        "mean_absolute_error_difference",
    ],
    "How far scores are apart": [
        "mcdp",
        "mcdp_curve",
        "abcc",
        "madd",
        "madd_curve",
        "madd_optimal_bandwidth",
        "abroca",
        "calibration_gap",
        "metric_bounds",
    ],
    "How sure: tests, intervals, certificates": [
        "confidence_interval",
        "permutation_test",
        "certify",
        "bootstrap_interval",
    ],
    "Many groups, and subgroups": [
        "cvar_fairness",
        "cvar_fairness_test",
        "cvar_fairness_report",
        "max_gap",
        "max_gap_test",
        "rate_variance",
        "worst_subgroup",
    ],
    "Several classes, and frequencies alone": ["dcp", "dcp_bounds", "min_dcp_bounds"],
    "Groups known by a proxy": ["proxy_bounds"],
    "Strata and classes one by one": ["values_by_stratum", "values_by_class"],
    "Scorers": [
        "get_fairness_scorer",
        "get_fairness_scorer_names",
        "make_fairness_scorer",
        "make_group_scorer",
        "FairnessScorer",
    ],
    "A metric of your own": ["DifferenceOfRates", "GapOfDistributions"],
}
TESTS = Path(__file__).parents[1] / "tests"
#: Public functions of metrics that take a metric, or no rows.
NO_METRICS = {
    "bootstrap_interval",
    "certify",
    "confidence_interval",
    "dcp_bounds",
    "get_fairness_scorer",
    "get_fairness_scorer_names",
    "make_fairness_scorer",
    "make_group_scorer",
    "metric_bounds",
    "min_dcp_bounds",
    "permutation_test",
    "values_by_class",
    "values_by_stratum",
}


def to_markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    rows = [[cell.replace("|", r"\|") for cell in cells] for cells in rows]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def what_metrics_take() -> str:
    """Return a table of the functions that read rows, with what each of them takes."""
    head = "function weights strata classes table bins interval test scorer"
    functions = inspect.getmembers(skfair.metrics, inspect.isfunction)
    rows = [
        what_a_metric_takes(name, function)
        for name, function in functions
        if name in skfair.metrics.__all__ and name not in NO_METRICS
    ]
    return to_markdown(head.split(), rows)


def what_a_metric_takes(name: str, function: object) -> list[str]:
    """Return the row of one function."""
    known = METRICS.get(name)
    parameters = inspect.signature(function).parameters
    table = known or any("CountTable" in str(p.annotation) for p in parameters.values())
    strata = "multistratum" in parameters and "largest or mean"
    strata = strata or ("control_features" in parameters and "largest")
    errors = known and known().exchangeable == "same true label"
    cells = [
        "sample_weight" in parameters and "yes",
        strata,
        known and known.takes_classes and "yes",
        table and "yes",
        known and known.has_range_from_bins and "yes",
        known and known.has_noise_bounds and "yes",
        known and ("within true labels" if errors else "yes"),
        known and f"`neg_{name}`",
    ]
    return [f"`{name}`", *(cell or "no" for cell in cells)]


def public_packages() -> Iterator[str]:
    """Yield the names of public packages that exist."""
    for package in PACKAGES:
        if importlib.util.find_spec(f"skfair.{package}"):
            yield package


def is_result(name: str) -> bool:
    """Whether a class is what a function returns."""
    return bool(re.search(r"(Result|Interval|Bounds)$", name))


def first_line(docstring: str | None) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((docstring or "").partition("\n\n")[0].split())


def all_names() -> str:
    """Return a table of all public names by task, each with a line, results last."""
    order = {name: task for task, names in METRICS_BY_TASK.items() for name in names}
    tasks = dict.fromkeys([*METRICS_BY_TASK, *PACKAGES.values(), "Results"])
    lines: dict[str, dict[str, str]] = {task: {} for task in tasks}
    for package in public_packages():
        module = importlib.import_module(f"skfair.{package}")
        known = [name for name in order if name in module.__all__]
        for name in dict.fromkeys([*known, *sorted(module.__all__)]):
            task = "Results" if is_result(name) else order.get(name, PACKAGES[package])
            docstring = inspect.getdoc(getattr(module, name))
            lines[task][f"{package}.{name}"] = first_line(docstring)
    # PyTorch may be missing.
    tree = ast.parse(Path(skfair.__file__).with_name("torch.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            name = f"skfair.torch.{node.name}"
            lines[PACKAGES["inprocessing"]][name] = first_line(ast.get_docstring(node))
    rows = []
    for task, names in lines.items():
        rows += [["", f"**{task}**"]] * bool(names)
        rows += [[f"`{name}`", line] for name, line in names.items()]
    return to_markdown(["name", "what it does"], rows)


def promises() -> Iterator[tuple[str, str, str, str]]:
    """Yield package, promise, test and run of each test that is marked."""
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.promise(" not in text:
            continue
        tree = ast.parse(text)
        file_is_slow = any(
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "pytestmark"
            and "mark.slow" in ast.unparse(node.value)
            for node in tree.body
        )
        place = path.relative_to(TESTS)
        for function in tree.body:
            for mark in getattr(function, "decorator_list", ()):
                if ast.unparse(mark).startswith("pytest.mark.promise("):
                    marks = {ast.unparse(each) for each in function.decorator_list}
                    is_slow = file_is_slow or "pytest.mark.slow" in marks
                    topic = place.parts[0] if len(place.parts) > 1 else "everywhere"
                    test = f"`{place.as_posix()}::{function.name}`"
                    promise = ast.literal_eval(mark.args[0])
                    yield topic, promise, test, "slow" if is_slow else "quick"


def table_of_promises() -> str:
    """Return the table of all promises, those of one package together."""
    rows = [list(row) for row in promises()]
    return to_markdown(["package", "promised", "held by", "run"], sorted(rows))


#: Pages with computed tables, each between two comments with the name of the table.
PAGES = ("reference.md", "evidence/index.md")
TABLES = {
    "names": all_names,
    "promises": table_of_promises,
    "metrics": what_metrics_take,
}


def fill_tables(text: str) -> str:
    """Return the text of a page with its tables computed again."""
    for name, table in TABLES.items():
        begin, end = f"<!-- table of {name} -->\n", f"<!-- end of {name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            after = rest.partition(end)[2]
            text = f"{before}{begin}\n{table().rstrip()}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    for page in PAGES:
        path = Path(__file__).parent / page
        path.write_text(fill_tables(path.read_text("utf-8")), encoding="utf-8")
