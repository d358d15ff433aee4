"""Verdict, tests, intervals, certificate and table of groups never disagree."""

import numpy as np
import pytest

from skfair.report import FairnessReport

NOISE = "This may be noise", "The evidence is weak"
#: What the answers say of each state.
SAID = {
    "chance alone does not explain it": "significant",
    "There are signs that": "weak evidence",
    "There is no evidence that": "no evidence",
}


def draw(seed, largest):
    """Rows of 2 to 30 groups of 5 to `largest` people, some of which differ."""
    rng = np.random.default_rng(seed)
    n_groups = int(rng.choice([2, 3, 4, 7, 12, 30]))
    sizes = np.exp(rng.uniform(np.log(5), np.log(largest), n_groups)).astype(int)
    groups = np.repeat([f"g{i}" for i in range(n_groups)], sizes)
    shifts = rng.choice([0, 0, 0, 0.3, 1], n_groups) * rng.choice([0, 1])
    n = len(groups)
    score = 1 / (1 + np.exp(-rng.normal(np.repeat(shifts, sizes))))
    y_true = (rng.random(n) < score).astype(int)
    if rng.random() < 0.5:
        score = score.round(1)
    strata = rng.integers(0, 2, n) if rng.random() < 0.3 else None
    weights = rng.integers(1, 4, n) if rng.random() < 0.3 else None
    return y_true, score, groups, {"control_features": strata, "sample_weight": weights}


def check(summary):
    """Compare all that a report says of each metric."""
    glance, cautions = summary["verdict"]["glance"], " ".join(summary["cautions"])
    for attribute, row in zip(summary["attributes"], glance, strict=True):
        (result,) = attribute["results"]
        (lead,) = summary["verdict"]["leads"]
        labels = {one["label"] for one in attribute["groups"]}
        for measure in result["measures"]:
            check_measure(measure)
            named = {label for pair in measure["pairs"] for label in pair["pair"]}
            assert named <= labels | {None}
        check_doubts(result, row["cells"])
        check_levels(result, row["cells"])
        states = {cell["state"] for cell in row["cells"]}
        for cell in row["cells"]:
            check_state(cell["measure"], cell["state"], result["groups"])
        for text, state in SAID.items():
            assert (text in lead["text"]) == (state in states)
        small = [one["label"] for one in attribute["groups"] if one["n"] < 100]
        assert ("Small groups can be joined" in cautions) == (len(small) > 0)
        for point in summary["verdict"]["points"]:
            if point["state"] != "significant":
                assert "significant" not in point["text"]
        asked = [cell["measure"] for cell in row["cells"] if cell["measure"]]
        points = summary["verdict"]["points"]
        for measure, point in zip(asked, points, strict=True):
            if measure["pairs"]:
                check_point(measure, point)


def check_doubts(result, cells):
    """No sentence calls noise what the verdict calls significant."""
    for cell in cells:
        for measure in result["measures"] if cell["state"] == "significant" else ():
            if measure["question"] == cell["measure"]["question"]:
                assert NOISE[0] not in measure["sentence"]


def check_levels(result, cells):
    """A metric is significant if Holm's adjustment beside other questions says so."""
    asked = [cell["measure"] for cell in cells if cell["measure"]]
    for measure in result["measures"]:
        if measure["pvalue"] is None:
            continue
        others = [m for m in asked if m["question"] != measure["question"]]
        others = [m["pvalue"] for m in others if m["pvalue"] is not None]
        pvalues = np.sort([measure["pvalue"], *others])
        adjusted = pvalues * np.arange(len(pvalues), 0, -1)
        adjusted = np.maximum.accumulate(adjusted)
        own = adjusted[np.searchsorted(pvalues, measure["pvalue"])]
        small = measure["pvalue"] <= measure["level"] * (1 + 1e-9)
        assert small == (own <= 0.05 * (1 + 1e-9))


def check_point(measure, point):
    """The verdict has the value and the interval of the pair that decides."""
    text = point["text"]
    for label in filter(None, measure["pairs"][0]["pair"]):
        assert label in text
    assert f"{100 * measure['pairs'][0]['gap']:.1f} percentage points" in text
    shown = measure["decided"] or measure
    low, high = (100 * shown[end] for end in ("lower", "upper"))
    ends = f"{low:.1f} to {high:.1f}"
    if point["state"] == "significant" and f"{low:.1f}" == "0.0":
        ends = f"{ends}; the test excludes 0"
    assert f"95% interval {ends}" in text
    assert low <= 100 * measure["pairs"][0]["gap"] <= high


def check_measure(measure):
    """Compare the numbers of a metric with its sentence."""
    value, sentence, pairs = (measure[x] for x in ("value", "sentence", "pairs"))
    if value is None or measure["pvalue"] is None:
        return
    assert measure["lower"] <= value <= measure["upper"]
    if measure["certified"] is not None:
        assert measure["certified"] >= value - 1e-12
    small, above = measure["pvalue"] <= 0.05, measure["lower"] > 0
    less_clear = "By this number alone it is less clear" in sentence
    assert (NOISE[0] in sentence or less_clear) == (not small and not above)
    assert (NOISE[1] in sentence) == (not small and above)
    if pairs:
        assert pairs[0]["pvalue"] == measure["pvalue"]
        assert pairs[0]["null_mean"] == measure["null_mean"]
        assert all(pair["pvalue"] <= 0.05 for pair in pairs[1:])
        assert small == any(pair["pvalue"] <= 0.05 for pair in pairs)
        if small and measure["null_mean"] is not None:
            assert all(pair["gap"] > pair["null_mean"] for pair in pairs)
        if measure["key"] != "madd":
            assert max(pair["gap"] for pair in pairs) <= value + 1e-9
        if measure["decider"]:
            for label in filter(None, pairs[0]["pair"]):
                assert label in measure["decider"]["pair"]
                assert label in sentence
        elif measure["key"] != "madd":
            assert pairs[0]["gap"] == pytest.approx(value, abs=1e-9)
        several, level = measure["n_groups"] > 2, measure["level"]
        significant = [p for p in pairs if p["pvalue"] <= level * (1 + 1e-9)]
        said = "statistically significant" in sentence.lower()
        assert said == (len(significant) > 0 and several)
        alone = "for this question alone" in sentence.lower()
        assert alone == (small and not significant and several)


def check_state(measure, state, groups):
    """Compare the verdict on a question with the numbers of its metric."""
    if measure is None or measure["pvalue"] is None:
        return
    differing = [group["label"] for group in groups if group.get("differs")]
    of_groups = measure["question"] == "decisions" and differing
    if measure["question"] == "errors":
        of_groups = any(group.get("accuracy_differs") for group in groups)
    lower = (measure["decided"] or measure)["lower"]
    if state == "significant":
        assert measure["pvalue"] <= 0.05
        assert not any(text in measure["sentence"] for text in NOISE)
    elif state == "no evidence":
        assert measure["pvalue"] > 0.05
        assert lower <= 0
        assert not of_groups
    else:
        assert state == "weak evidence"
        assert measure["pvalue"] <= 0.05 or lower > 0 or of_groups


def reports(seeds, largest, **options):
    for seed in seeds:
        y_true, score, groups, more = draw(seed, largest)
        yield FairnessReport.from_predictions(
            y_true, score, sensitive_features={"g": groups}, **more, **options,
            n_resamples=20, min_group_size=5, random_state=0,
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rows", "counts"])
def test_a_tiny_group_does_not_switch_the_verdict_off(engine):
    sizes, rates = [6_848, 11_446, 67], [0.459, 0.525, 0.522]
    if engine == "counts":  # from 50,000 rows on counts are drawn
        sizes = [4 * n for n in sizes[:2]] + sizes[2:]
    groups = np.repeat(["A", "B", "C"], sizes)
    selected = [np.arange(n) < round(n * r) for n, r in zip(sizes, rates, strict=True)]
    report = FairnessReport.from_predictions(
        None, y_pred=np.concatenate(selected).astype(int), random_state=0,
        sensitive_features={"group": groups}, n_permutations=299,
        metrics=["demographic_parity_difference"],
    )  # fmt: skip
    summary = report.summary
    assert summary["settings"]["counts_are_drawn"] == (engine == "counts")
    (measure,) = summary["attributes"][0]["results"][0]["measures"]
    assert measure["pvalue"] <= 0.005
    assert measure["null_mean"] < 0.01
    lead = summary["verdict"]["leads"][0]["text"]
    assert lead == "Decisions differ by group; chance alone does not explain it."
    (point,) = summary["verdict"]["points"]
    assert "between “A” and “B” is statistically significant." in point["text"]
    assert "“C” (67)" in summary["cautions"][0]
    assert "--rare merge --min-group-size 100" in report.to_html()
    check(summary)


FEW = ["demographic_parity_difference", "mcdp", "equalized_odds_difference"]
FEW += ["calibration_gap"]


@pytest.mark.slow
@pytest.mark.promise("What a report says of one difference never contradicts itself")
@pytest.mark.parametrize(
    ("seeds", "largest", "options"),
    [
        ((1, 9, 11), 300, {"metrics": FEW, "n_permutations": 59}),
        ((100, 101, 106, 107), 5_000, {"n_permutations": 99}),
    ],
    ids=["few rows", "any sizes"],
)
def test_no_report_contradicts_itself(seeds, largest, options):
    found = set()
    for report in reports(seeds, largest, **options):
        check(report.summary)
        report.to_markdown()
        cells = report.summary["verdict"]["glance"][0]["cells"]
        found |= {cell["state"] for cell in cells}
    assert {*SAID.values()} <= found
