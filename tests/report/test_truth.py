"""Every sentence of random pages is one of the list, and true by the rows."""

import re
import string

import numpy as np
import pytest

from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    madd,
    max_gap,
    mcdp,
)
from skfair.report import FairnessReport
from skfair.report._sentences import SENTENCES


def pattern(name):
    """Regular expression of a sentence, whose numbers and names have theirs."""
    parts, seen = [], set()
    for text, field, *_ in string.Formatter().parse(SENTENCES[name][0]):
        parts.append(re.escape(text))
        if field is not None:
            parts.append(f"(?P={field})" if field in seen else f"(?P<{field}>.*?)")
            seen.add(field)
    return "".join(parts)


PATTERNS = {name: pattern(name) for name in SENTENCES}


def named(name, text):
    """Numbers and names of a sentence, None if the text is another one."""
    found = re.fullmatch(PATTERNS[name], text)
    return None if found is None else found.groupdict()


@pytest.mark.parametrize("name", SENTENCES)
def test_every_sentence_has_an_example(name):
    _, example = SENTENCES[name]
    assert named(name, example) is not None


def draw(seed):
    """Rows of 2 to 12 groups, some of which differ, with labels, scores, decisions."""
    rng = np.random.default_rng(seed)
    n_groups = int(rng.choice([2, 2, 3, 5, 12]))
    sizes = rng.integers(12, 150, n_groups)
    groups = np.repeat([f"g{i}" for i in range(n_groups)], sizes)
    shifts = rng.choice([0, 0.5, 1.5], n_groups) * rng.choice([0, 1])
    score = 1 / (1 + np.exp(-rng.normal(np.repeat(shifts, sizes))))
    y_true = np.where(rng.random(len(score)) < score, "good", "bad")
    y_pred = None
    if rng.random() < 0.4:
        good = score + rng.normal(0, 0.2, len(score)) > 0.5
        y_pred = np.where(good, "good", "bad")
    return y_true, score, y_pred, groups


def made(seed):
    y_true, score, y_pred, groups = draw(seed)
    report = FairnessReport.from_predictions(
        y_true, score, y_pred=y_pred, sensitive_features={"g": groups},
        pos_label="good", n_resamples=20, n_permutations=59, random_state=0,
        metrics="all" if seed % 4 == 0 else None,
    )  # fmt: skip
    predicted = np.where(score >= 0.5, "good", "bad") if y_pred is None else y_pred
    return report, (y_true, score, predicted, groups)


def rows_of(name, groups):
    """Rows of a group by its name in quotation marks, or of everyone."""
    if name == "everyone":
        return np.full(len(groups), True)
    return groups == name.strip("“”")


def rows_of_large(groups, of_label):
    """Rows of all groups with ten rows of a true label, which alone have rates."""
    large = [g for g in np.unique(groups) if (of_label & (groups == g)).sum() >= 10]
    return np.isin(groups, large)


def check_shares(said, rows, pairs, hits):
    """Compare percentages with the shares of rows, and their difference."""
    shares = []
    for share, name in pairs:
        own = rows_of(said[name], rows[3])
        shares.append(100 * hits[own].mean())
        assert float(said[share].strip("%")) == pytest.approx(shares[-1], abs=0.051)
    gap = float(said["value"])
    assert gap == pytest.approx(abs(shares[0] - shares[1]), abs=0.051)


def check_finding(name, said, rows):
    """Compute the numbers of a finding again from the rows."""
    y_true, score, predicted, groups = rows
    key = name.removesuffix(" decided")
    if key == "demographic_parity_difference":
        assert said["label"] == "“good”"
        pairs = ("ours", "first"), ("theirs", "second")
        check_shares(said, rows, pairs, predicted == "good")
    elif key == "mcdp":
        # The score is rounded, and rows near it may be on its other side.
        distinct = np.unique(score)
        near = distinct[np.abs(distinct - float(said["score"])) < 6e-4]
        pairs = ("more", "high"), ("less", "low")
        matches = 0
        for at in near:
            try:
                check_shares(said, rows, pairs, score > at)
            except AssertionError:
                continue
            matches += 1
        assert matches
    elif key == "mean_score_difference":
        for mean, group in (("ours", "first"), ("theirs", "second")):
            own = score[rows_of(said[group], groups)].mean()
            assert float(said[mean]) == pytest.approx(own, abs=6e-4)
    elif key == "equalized_odds_difference":
        of_label = y_true == said["true"].strip("“”")
        rates = []
        for share, people in (("ours", "people"), ("theirs", "others")):
            size, group = said[people].split(" in ")
            own = of_label & (
                rows_of_large(groups, of_label)
                if group == "all groups"
                else rows_of(group, groups)
            )
            assert int(size.replace(",", "")) == own.sum()
            rates.append(100 * (predicted[own] == "good").mean())
            assert float(said[share].strip("%")) == pytest.approx(rates[-1], abs=0.051)
        gap = float(said["value"])
        assert gap == pytest.approx(abs(rates[0] - rates[1]), abs=0.051)
    elif key == "calibration_gap" and said["second"] != "everyone":
        excess, sums = (y_true == "good") - score, []
        for points, group in (("ours", "first"), ("theirs", "second")):
            own = rows_of(said[group], groups)
            low = own & (score <= float(said["score"]) + 5e-4)
            sums.append(100 * excess[low].sum() / own.sum())
            number, side = said[points].split()
            found = float(number) * {"more": 1, "fewer": -1}[side]
            # A row may be on the other side of the rounded score.
            assert found == pytest.approx(sums[-1], abs=100 / own.sum() + 0.051)
    elif key == "abcc":
        check_pair(said, rows, abcc, 100, "value")
    elif key == "mcdp_epsilon":
        check_pair(
            said, rows, lambda *a, **b: mcdp(*a, epsilon=0.05, **b), 100, "value"
        )
    elif key == "madd":
        both = [rows_of(said[x], groups) for x in ("first", "second")]
        if "everyone" not in (said["first"], said["second"]):
            own = both[0] | both[1]
            value = madd(None, score[own], sensitive_features=groups[own])
            overlap = float(said["overlap"].strip("%"))
            assert overlap == pytest.approx(100 - 50 * value, abs=0.051)
    elif key == "max_gap":
        value = max_gap(None, predicted == "good", sensitive_features=groups)
        assert float(said["value"]) == pytest.approx(100 * value, abs=0.051)
        rates = {g: (predicted[groups == g] == "good").mean() for g in set(groups)}
        assert float(said["ours"].strip("%")) == pytest.approx(
            100 * rates[said["first"].strip("“”")], abs=0.051
        )
        average = 100 * np.mean(list(rates.values()))
        assert float(said["theirs"].strip("%")) == pytest.approx(average, abs=0.051)
        above = float(said["ours"].strip("%")) > average
        assert said["side"] == ("above" if above else "below")
    else:
        assert key in (
            "cvar_fairness",
            "cvar_fairness of one",
            "dcp",
            "calibration_gap",
        )


def check_pair(said, rows, metric, unit, value):
    """Compute a metric of two groups, unless everyone is one of them."""
    _, score, _, groups = rows
    if "everyone" in (said["first"], said["second"]):
        return
    own = rows_of(said["first"], groups) | rows_of(said["second"], groups)
    found = metric(None, score[own], sensitive_features=groups[own])
    assert float(said[value]) == pytest.approx(unit * found, abs=0.051)


def finding_of(text, rows, key):
    """Check the finding with which a text begins, and return what follows."""
    for name in (f"{key} decided", f"{key} of one", key):
        if name in SENTENCES and (
            found := re.match(PATTERNS[name] + r"(?=$|\.$|\. | \()", text)
        ):
            check_finding(name, found.groupdict(), rows)
            return text[found.end() :]
    raise AssertionError(text)


def check_rest(text, names):
    """Split what follows into sentences, each of which is one of the list."""
    text = text.strip()
    while text:
        for name in names:
            found = re.match(PATTERNS[name] + r"(?=$| [A-Z“])", text)
            if found:
                text = text[found.end() :].strip()
                break
        else:
            raise AssertionError(text)


AFTER = (
    "largest beside chance",
    "may be noise",
    "less clear",
    "interval above, test not",
    "pair differs",
    "pairs differ",
    "groups differ",
    "pair small",
    "pairs small",
    "groups small",
)
AFTER_POINTS = (
    "further apart, too",
    "further apart, less clear",
    "further apart by chance",
    "signs",
    "pair differs",
    "pairs counted",
    "groups counted",
    "groups by another test",
    "error rates differ",
    "no error rate differs",
)
ANSWERS = "significant", "weak evidence", "no evidence", "not tested", "not computable"


def check_report(report, rows):
    """Check the verdict and the sentences of all metrics."""
    summary = report.summary
    (attribute,) = summary["attributes"]
    (result,) = attribute["results"]
    measures = {measure["key"]: measure for measure in result["measures"]}
    cells = {
        c["measure"]["question"]: c for c in summary["verdict"]["glance"][0]["cells"]
    }
    (lead,) = summary["verdict"]["leads"]
    for answer in lead["answers"]:
        state = cells[answer["question"]]["state"]
        said = named(state, answer["text"][0].upper() + answer["text"][1:])
        if state == "significant":
            said = named(state, answer["text"])
        assert said is not None, answer["text"]
        assert said["names"] == "g"
    for point in summary["verdict"]["points"]:
        check_point(point, cells[point["question"]], rows)
    for measure in measures.values():
        if measure["value"] is not None:
            rest = finding_of(measure["sentence"], rows, measure["key"])
            check_rest(rest.removeprefix("."), AFTER)
            several = len(attribute["groups"]) > 2 or measure["question"] == "errors"
            stands_out = "a difference that stands out as much" in rest
            doubted = "of random groupings" in rest
            assert stands_out == (doubted and several and len(measure["pairs"]) > 0)
            for share in re.findall(r"([\d.]+)% of random groupings", rest):
                expected = 100 * measure["pvalue"]
                assert float(share) == pytest.approx(expected, abs=0.051)
    many = attribute["comparison"] == "pooled"
    for point in summary["verdict"]["points"] if many else ():
        if point["question"] == "decisions" and point["state"] == "significant":
            measure = cells["decisions"]["measure"]
            check_marked(point["text"], measure, result)
    pvalues = [m["pvalue"] for m in measures.values() if m["pvalue"] is not None]
    said = named("some tests", summary["verdict"]["tests"]["sentence"])
    if said is not None:
        assert int(said["n"]) == len(pvalues)
        assert int(said["small"]) == sum(p <= 0.05 for p in pvalues)


def check_marked(text, measure, result):
    """Count the groups that the table marks, where the verdict names fewer."""
    marked = {group["label"] for group in result["groups"] if group.get("differs")}
    level = measure["level"] * (1 + 1e-9)
    found = {one["pair"][0] for one in measure["pairs"] if one["pvalue"] <= level}
    pattern = r"in the table of groups, (\d+) differs? from the rest"
    said = re.search(pattern, text)
    assert (said is not None) == (marked > found)
    assert said is None or int(said[1]) == len(marked)


def check_point(point, cell, rows):
    """Check the sentence of the verdict, its interval and what follows."""
    measure = cell["measure"]
    if measure["value"] is None:
        return
    text, shown = point["text"], measure["decided"] or measure
    rest = finding_of(text, rows, measure["key"])
    found = re.match(
        r" \(95% interval ([\d.]+)%? to ([\d.]+)%?(; the test excludes 0)?\)\.", rest
    )
    low, high = 100 * shown["lower"], 100 * shown["upper"]
    assert float(found.group(1)) == pytest.approx(low, abs=0.051)
    assert float(found.group(2)) == pytest.approx(high, abs=0.051)
    if found.group(3):
        assert point["state"] == "significant"
        assert low == pytest.approx(0, abs=0.051)
    check_rest(rest[found.end() :], AFTER_POINTS)
    check_furthest(rest[found.end() :], point["state"], measure, rows)
    if point["question"] == "errors":
        check_error_rates(rest, rows)
    if point["state"] == "no evidence":
        assert measure["pvalue"] > 0.05
        assert low <= 0
    if point["state"] == "significant":
        assert measure["pvalue"] <= 0.05


def check_furthest(text, state, measure, rows):
    """Check the gap that is larger than that of the pair which decides.

    It is called significant, or chance, by a test of its own.
    """
    names = [name for name in AFTER_POINTS if name.startswith("further apart")]
    found = [m for name in names if (m := re.match(PATTERNS[name], text.strip()))]
    decided, value = measure["decided"], measure["value"]
    assert bool(found) == (
        decided is not None and not np.isclose(decided["value"], value)
    )
    for said in found:
        assert said["gap"] == f"{100 * value:.1f} points"
        assert value > decided["value"]
        pvalue = measure["furthest"]["pvalue"]
        assert ("but this may be chance" in said[0]) == (pvalue > 0.05)
        small = pvalue <= measure["level"]
        significant = small and state == "significant"
        assert ("is significant, too" in said[0]) == significant
        if measure["key"] == "demographic_parity_difference":
            selected, pair = rows[2] == "good", said["pair"].split(" and ")
            rates = [selected[rows_of(group, rows[3])].mean() for group in pair]
            assert abs(rates[0] - rates[1]) == pytest.approx(value)


def check_error_rates(text, rows):
    """Check which groups are said to differ in error rate, and their rates."""
    y_true, _, predicted, groups = rows
    n_groups, wrong = len(set(groups)), y_true != predicted
    none = f"none of {n_groups} groups is found to differ in error rate"
    last = text[text.rfind("Over all true labels") :]
    said = re.fullmatch(PATTERNS["error rates differ"], last)
    assert (n_groups > 10) == (said is not None or none in text)
    if said is None:
        return
    assert int(said["of"]) == n_groups
    rates = re.findall(r"“(\w+)” \(([\d.]+)%, others ([\d.]+)%\)", said["groups"])
    assert len(rates) == int(said["n"])
    for group, rate, others in rates:
        own = groups == group
        for share, part in ((rate, own), (others, ~own)):
            expected = 100 * wrong[part].mean()
            assert float(share) == pytest.approx(expected, abs=0.051)


@pytest.mark.promise("Every sentence of a report is true by the rows")
@pytest.mark.parametrize(
    "seeds",
    [(1,), pytest.param((0, *range(2, 40)), marks=pytest.mark.slow)],
    ids=["one page", "all pages"],
)
def test_every_sentence_of_random_pages_is_true(seeds):
    for seed in seeds:
        check_report(*made(seed))


@pytest.mark.slow
def test_decisions_are_predictions_unless_they_are_given():
    texts = set()
    for seed in range(8):
        y_true, score, y_pred, groups = draw(seed)
        report = FairnessReport.from_predictions(
            y_true, score, y_pred=y_pred, sensitive_features=groups, pos_label="good",
            metrics=["demographic_parity_difference"], n_permutations=0,
        )  # fmt: skip
        text = report.to_markdown()
        assert ("are predicted “good”" in text) == (y_pred is None)
        assert ("get the decision “good”" in text) == (y_pred is not None)
        texts.add(y_pred is None)
    assert len(texts) == 2


@pytest.fixture(scope="module")
def changed():
    """Report on a model that differs by group, and one that does not; and the rows."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 400)
    plain = rng.random(800) * np.where(group == "a", 1, 0.5)
    fair = rng.random(800)
    report = FairnessReport.from_predictions(
        rng.integers(0, 2, 800), {"plain": plain, "fair": fair, "same": plain},
        sensitive_features={"g": group}, n_permutations=59, n_resamples=5,
        metrics=["demographic_parity_difference", "mcdp", "equalized_odds_difference"],
    )  # fmt: skip
    return report, plain, fair, group


def test_what_changed_is_said_with_its_interval(changed):
    report, plain, fair, group = changed
    _, fair_lead, same = report.summary["verdict"]["leads"]
    by_question = {c["question"]: c["text"] for c in fair_lead["changes"]}
    said = named("change fell", by_question["decisions"])
    before, after = (
        demographic_parity_difference(None, s >= 0.5, sensitive_features=group)
        for s in (plain, fair)
    )
    assert float(said["before"]) == pytest.approx(100 * before, abs=0.051)
    assert said["after"] == f"{100 * after:.1f} points"
    assert float(said["low"]) < 100 * (before - after) < float(said["high"])
    assert named("change fell", by_question["scores"])
    assert named("change fell", by_question["errors"])
    *changes, bounds = same["changes"]
    for change in changes:
        assert "may be chance" in change["text"]
    assert "intervals" not in by_question
    assert "conservative" in bounds["text"]
    assert bounds["text"] in report.to_markdown()


@pytest.mark.slow
def test_what_changed_stands_above_all_tables(changed):
    page = changed[0].to_html().partition("<h2")[2]
    assert page.index("What changed from “plain” to “fair”") < page.index("<table")
