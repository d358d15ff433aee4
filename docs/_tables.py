"""Tables of the site that are computed: what metrics take, and what is promised."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import skfair.metrics
from skfair.metrics._as_metric import METRICS

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
        known and known.bounded_by_bins and "yes",
        known and known.bounded and "yes",
        known and ("within true labels" if errors else "yes"),
        known and f"`neg_{name}`",
    ]
    return [f"`{name}`", *(cell or "no" for cell in cells)]


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


#: What a page has in place of a table, and the function that computes it.
TABLES = {
    "% table of promises": table_of_promises,
    "% table of metrics": what_metrics_take,
}


def fill_tables(text: str) -> str:
    """Return the text of a page with its tables."""
    for place, table in TABLES.items():
        if place in text:
            text = text.replace(place, table())
    return text
