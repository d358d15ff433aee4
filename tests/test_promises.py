"""The page of promises lists the tests that are marked, and says when they run."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
TABLES = runpy.run_path(str(DOCS / "_tables.py"))


@pytest.mark.slow
def test_promises_are_read_from_marks():
    rows = list(TABLES["promises"]())
    topics, texts, tests, runs = zip(*rows, strict=True)
    assert len(set(texts)) == len(set(tests)) == len(rows) >= 60
    assert {"metrics", "report", "everywhere"} <= set(topics)
    by_test = dict(zip(tests, runs, strict=True))
    assert (
        by_test["`metrics/test_uncertainty.py::test_permutations_by_hand`"] == "quick"
    )
    assert by_test["`metrics/test_confidence_interval.py::test_coverage`"] == "slow"


@pytest.mark.parametrize("page", TABLES["PAGES"])
def test_tables_of_pages_are_up_to_date(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.count("\n| ") > 20
    assert TABLES["fill_tables"](text) == text, "run python docs/_tables.py"


def test_the_table_of_metrics_says_what_they_take():
    rows = TABLES["what_metrics_take"]().splitlines()
    cells = {row.split(" | ")[0].strip("|` "): row.split(" | ")[1:] for row in rows}
    scorer = "`neg_mcdp` |"
    both = ["yes", "largest or mean", "yes", "yes", "yes", "yes", "yes", scorer]
    assert cells["mcdp"] == both
    assert cells["dcp"][6] == "within true labels"
    assert "permutation_test" not in cells
