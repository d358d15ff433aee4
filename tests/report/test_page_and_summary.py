"""Numbers on the page, and in Markdown, are those of the summary, rounded."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair.report import FairnessReport

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


class Tables(HTMLParser):
    """Rows of the tables of a page by their class, as lists of texts of cells."""

    def __init__(self, page):
        super().__init__()
        self.found, self.in_cell = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.found.append((dict(attrs).get("class", ""), []))
        elif tag == "tr":
            self.found[-1][1].append([])
        elif tag in ("td", "th"):
            self.found[-1][1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag):
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data):
        if self.in_cell:
            row = self.found[-1][1][-1]
            row[-1] = " ".join(f"{row[-1]} {data}".split())

    def of(self, kind, n_cells):
        """Rows of this number of cells, without headings, of tables of a class."""
        return [
            [row for row in rows[1:] if len(row) >= n_cells]
            for name, rows in self.found
            if name == kind
        ]


def numbers(text):
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]


def rounded(values, digits=3):
    return [round(float(value), digits) for value in values if value is not None]


def draw_report(seed, n_groups, n_models=2, **options):
    generator = np.random.default_rng(seed)
    groups = generator.choice([f"g{chr(97 + i)}" for i in range(n_groups)], 240)
    y_score = generator.beta(2 + (groups == "ga"), 3).round(3)
    y_true = (generator.random(240) < y_score).astype(int)
    models = {"one": y_score, "two": np.sqrt(y_score)}
    return FairnessReport.from_predictions(
        y_true,
        dict([*models.items()][:n_models]),
        sensitive_features={"unit": groups},
        n_resamples=2,
        n_permutations=59,
        random_state=seed,
        **options,
    )


def rows_of(measures):
    """Title, numbers and words of the row of a metric, and of a pair that decides."""
    for one in measures:
        ends = [one[name] for name in ("value", "lower", "upper", "certified")]
        test, decider = (one["null_mean"], one["pvalue"]), one["decider"]
        shown = (None, None) if decider else test
        yield one["title"], ends, shown, one["sentence"]
        if decider:
            ends = [decider[name] for name in ("value", "lower", "upper")]
            yield decider["pair"], ends, test, "The groups that decide the test."


def check_page(report):
    """Compare every number of the tables with the summary, in order."""
    tables, (attribute,) = Tables(report.to_html()), report.summary["attributes"]
    results = attribute["results"]
    measures = tables.of("measures", 5)
    parts = [
        [one for one in result["measures"] if one["answers"] == answers]
        for result in results
        for answers in (True, False)
    ]
    for rows, part in zip(measures, filter(None, parts), strict=True):
        expected = [*rows_of(part)]
        for cells, (title, ends, test, words) in zip(rows, expected, strict=True):
            assert cells[0] == title
            found = numbers(cells[1])
            assert found == pytest.approx(rounded(ends)[: len(found)], abs=1e-9)
            assert len(found) >= min(3, len(rounded(ends)))
            assert numbers(cells[2]) == pytest.approx(rounded(test[:1]), abs=1e-9)
            digits = 3 if (test[1] or 0) < 0.1 else 2
            assert numbers(cells[3]) == pytest.approx(
                [p for p in test[1:] if p is not None], abs=0.5 / 10**digits
            )
            assert cells[4].startswith(words)
    of_groups = tables.of("groups", 4)
    for rows, result in zip(of_groups, results, strict=True):
        for row, group in zip(rows, result["groups"], strict=True):
            assert row[0] == group["label"]
            assert numbers(row[1]) == [group["n"]]
            ends = [group[name] for name in ("selection_rate", "lower", "upper")]
            assert numbers(row[2]) == [round(100 * share, 1) for share in ends]
            names = "base_rate", "true_positive_rate", "false_positive_rate", "accuracy"
            shares = [group[name] for name in names]
            expected = [round(100 * share, 1) for share in shares if share is not None]
            assert [x for cell in row[4:8] for x in numbers(cell)] == expected


def check_markdown(report):
    """Compare the tables of metrics in Markdown with the summary."""
    (attribute,) = report.summary["attributes"]
    lines = report.to_markdown().splitlines()
    for result in attribute["results"]:
        start = lines.index(f"## unit, {result['model']}") + 4
        measures = sorted(result["measures"], key=lambda one: not one["answers"])
        rows = [*rows_of(measures)]
        for line, (title, ends, test, _) in zip(lines[start:], rows, strict=False):
            cells = line.split(" | ")
            assert title in cells[0]
            found = [x for cell in cells[1:] for x in numbers(cell)]
            expected = rounded([*ends[:3], *test])
            assert found == pytest.approx(expected, abs=1e-9)


def test_every_number_of_a_page_is_one_of_the_summary():
    few = ["demographic_parity_difference", "equalized_odds_difference"]
    report = draw_report(0, 3, n_models=1, metrics=few)
    check_page(report)
    check_markdown(report)


@pytest.mark.slow
@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), n_groups=st.integers(2, 9))
def test_every_number_of_any_page_is_one_of_the_summary(seed, n_groups):
    report = draw_report(seed, n_groups, metrics="all")
    check_page(report)
    check_markdown(report)


def test_a_forged_version_is_no_markup(small_report):
    summary = json.loads(json.dumps(small_report.summary))
    summary["versions"]["skfair"] = "1](http://x) <script>\n# All is well"
    text = FairnessReport(summary).to_markdown()
    assert "<script>" not in text
    assert not any(line.startswith("# All") for line in text.splitlines())
