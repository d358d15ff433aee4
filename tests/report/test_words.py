"""Sentences, verdict and cautions: right about direction, honest about noise."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair._utils._text import label_text, listed, visible_text
from skfair.metrics import confidence_interval, demographic_parity_difference
from skfair.report import FairnessReport
from skfair.report._metrics import MEASURES
from skfair.report._words import states

PERCENT = r"([\d.]+)%"
SETTINGS = {"scale": "probability", "decides": True}


def sentences(report, attribute=0, model=0):
    result = report.summary["attributes"][attribute]["results"][model]
    return {measure["key"]: measure["sentence"] for measure in result["measures"]}


ALIKE = {
    "score": (None, 0.5),
    "decision": (None, None),
    "true label": (1, None),
    "prediction": (None, 3.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ALIKE)
def test_rows_that_are_alike_leave_nothing_to_compare(make_report, scored, what):
    y_true, y_score, people = scored
    label, score = ALIKE[what]
    given = {"sensitive_features": people["sex"]}
    if what != "prediction":
        given["metrics"] = ["max_gap", "equalized_odds_difference"]
    if label is not None:
        y_true = np.full(600, label)
    if score is not None:
        y_score = np.full(600, score)
    if what == "decision":
        y_score, given["y_pred"] = None, np.ones(600)
    if what == "prediction":
        given["scale"] = "real"
    summary = make_report(y_true, y_score, **given).summary
    (lead,) = summary["verdict"]["leads"]
    predictions = " predictions with" if what == "true label" else ""
    expected = f"There is nothing to compare{predictions}: all 600 rows have the same "
    assert lead["text"].startswith(f"{expected}{what}.")
    if what != "true label":
        assert lead["text"] == f"{expected}{what}."
        assert lead["further"] == []
    other = make_report(scored[0], scored[1], **given | {"y_pred": None}).summary
    assert "nothing to compare" not in other["verdict"]["leads"][0]["text"]


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 5)
@given(seed=st.integers(0, 1000), n_groups=st.integers(2, 4))
def test_directions(make_report, seed, n_groups):
    """Every share that a sentence states is that of the group it names."""
    generator = np.random.default_rng(seed)
    group = np.array(list("abcd"))[np.arange(200) % n_groups]
    y_score = generator.beta(2 + 3 * (group == generator.choice(list("ab"))), 3)
    y_true = np.append([0, 1] * 4, generator.integers(0, 2, 192))
    report = make_report(
        y_true,
        y_score,
        sensitive_features=group,
        n_resamples=1,
        metrics=[
            "demographic_parity_difference",
            "mcdp",
            "mean_score_difference",
            "equalized_odds_difference",
        ],
    )
    found = sentences(report)
    y_pred = y_score >= 0.5

    text = found["demographic_parity_difference"]
    first, high, low, second = re.match(
        rf"{PERCENT} of “(\w)” and {PERCENT} of “(\w)” are predicted “1”", text
    ).group(2, 1, 3, 4)
    assert float(high) == pytest.approx(100 * y_pred[group == first].mean(), abs=0.051)
    assert float(low) == pytest.approx(100 * y_pred[group == second].mean(), abs=0.051)
    assert float(high) >= float(low)

    text = found["mcdp"]
    high, first, low, second, score = re.match(
        rf"{PERCENT} of “(\w)” and {PERCENT} of “(\w)” have a score above ([\d.]+):",
        text,
    ).groups()
    for share, name in ((low, second), (high, first)):
        # The threshold is rounded, so a few rows may be on its other side.
        above = (y_score[group == name] > float(score)).mean()
        assert float(share) == pytest.approx(100 * above, abs=4)
    assert float(high) >= float(low)

    text = found["mean_score_difference"]
    one, first, two, second = re.match(
        r".* is ([\d.]+) for “(\w)” and ([\d.]+) for “(\w)”", text
    ).groups()
    for mean, name in ((one, first), (two, second)):
        assert float(mean) == pytest.approx(y_score[group == name].mean(), abs=1e-3)

    text = found["equalized_odds_difference"]
    label = int(re.search("true label “(.)”", text)[1])
    pairs = re.findall(rf"(\d+) in “(\w)”.*?, {PERCENT}", text)
    assert len(pairs) == 2
    for size, name, share in pairs:
        of_label = (group == name) & (y_true == label)
        assert int(size) == of_label.sum()
        assert float(share) == pytest.approx(100 * y_pred[of_label].mean(), abs=0.051)


@pytest.mark.slow
def test_pooled_sentences_speak_of_everyone(make_report, scored):
    y_true, y_score, _ = scored
    group = np.arange(600) % 12
    y_score = np.where(group == 7, 0.9, y_score)
    report = make_report(y_true, y_score, sensitive_features=group, metrics=None)
    found = sentences(report)
    everyone = 100 * (y_score >= 0.5).mean()
    assert found["demographic_parity_difference"].startswith(
        f"100.0% of “7” and {everyone:.1f}% of everyone are predicted “1”"
    )
    assert "“7”" in found["mcdp"]
    assert "everyone" in found["mcdp"]
    assert "“7” is furthest from the average group" in found["max_gap"]
    assert "above" in found["max_gap"]
    assert "(2 of 12)" in found["cvar_fairness"]


@pytest.mark.slow
def test_chance_is_told(report):
    frame = report.to_frame()
    small = frame["pvalue"] <= 0.05
    assert small.any()
    assert (~small).any()
    doubts = "This may be noise|The evidence is weak|By this number alone it is less"
    assert (frame["sentence"].str.contains(doubts) == ~small).all()
    for row in frame.itertuples():
        shares = re.findall(r"([\d.]+)% of random groupings", row.sentence)
        assert shares == ([f"{100 * row.pvalue:.1f}"] if row.pvalue > 0.05 else [])
    named = frame["sentence"].str.contains("statistically significant")
    pairs = ~frame["metric"].isin(["max_gap", "cvar_fairness", "dcp"])
    assert (named == (small & pairs & (frame["n_groups"] > 2))).all()


@pytest.mark.slow
def test_multiclass_sentence(make_report):
    y_true = ["cat", "cat", "dog", "emu"] * 20
    y_pred = ["cat", "dog", "dog", "emu"] * 10 + ["cat", "cat", "dog", "emu"] * 10
    group = ["a"] * 40 + ["b"] * 40
    report = make_report(y_true, y_pred=y_pred, sensitive_features=group)
    assert sentences(report)["equalized_odds_difference"].startswith(
        "Of 20 in “b” with the true label “cat”, 100.0% get the decision “cat”; of 20 "
        "in “a”, 50.0%: 50.0 percentage points apart"
    )


@pytest.mark.slow
def test_verdict_names_what_differs(make_report):
    generator = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 400)
    other = generator.integers(0, 2, 800)
    y_score = generator.random(800) * np.where(group == "a", 1, 0.6)
    y_true = (generator.random(800) < 0.5).astype(int)
    people = pd.DataFrame({"unfair": group, "fair": other})
    metrics = ["demographic_parity_difference", "mcdp", "equalized_odds_difference"]
    report = make_report(
        y_true, {"m": y_score}, sensitive_features=people, metrics=metrics
    )
    lead = report.summary["verdict"]["leads"][0]["text"]
    assert lead.startswith("Predictions differ by unfair")
    assert "There is no evidence that predictions differ by fair" in lead
    point = report.summary["verdict"]["points"][0]
    assert point["state"] == "significant"
    assert "95% interval" in point["text"]
    assert " of “a” and " in point["text"]
    points = {
        (one["attribute"], one["question"]): one
        for one in report.summary["verdict"]["points"]
    }
    assert len(points) == 3 * 3
    assert points["fair", "decisions"]["state"] == "no evidence"
    assert "is fair" not in lead
    assert repr(report).splitlines()[1] == f"m: {lead}"


def measure(key, pvalue, value=0.1):
    return {
        "key": key,
        "question": MEASURES[key].question,
        "value": value,
        "pvalue": pvalue,
        "lower": None,
        "decided": None,
    }


def of(*pvalues):
    keys = "demographic_parity_difference", "mcdp", "equalized_odds_difference"
    found = [measure(key, p) for key, p in zip(keys, pvalues, strict=False)]
    return [text for _, text in states({"measures": found}, SETTINGS)]


def test_verdict_adjusts_for_three_questions():
    beyond, may_be = "significant", "no evidence"
    assert of(0.04, 0.04, 0.04) == ["weak evidence"] * 3
    assert of(0.016, 0.024, 0.049) == [beyond] * 3
    assert of(0.016, 0.026, 0.01) == [beyond] * 3
    assert of(0.016, 0.9, 0.026) == [beyond, may_be, "weak evidence"]
    assert of(0.05) == [beyond, "not asked", "not asked"]
    assert of(None, 0.05, 0.02) == ["not tested", beyond, beyond]


def test_undefined_errors_are_judged_by_their_stand_in():
    found = [
        measure("equalized_odds_difference", None, value=None),
        measure("dcp", 0.01),
    ]
    assert [text for _, text in states({"measures": found}, SETTINGS)][
        2
    ] == "significant"
    found[1] = measure("dcp", None, value=None)
    assert [text for _, text in states({"measures": found}, SETTINGS)][
        2
    ] == "not computable"


def test_one_group(make_report, scored):
    y_true, y_score, _ = scored
    report = make_report(y_true, y_score, sensitive_features={"sex": ["F"] * 600})
    frame = report.to_frame()
    assert len(frame) == len(report.summary["settings"]["calls"])
    assert frame["value"].isna().all()
    assert "there must be at least two groups" in frame.loc[0, "sentence"]
    assert "Nothing can be said" in repr(report)
    assert "nothing can be compared" in report.summary["cautions"][0]


@pytest.mark.slow
def test_small_groups_are_left_out_and_named(make_report, scored):
    y_true, y_score, people = scored
    group = people["race"].where(np.arange(600) > 3, "rare")
    report = make_report(
        y_true, y_score, sensitive_features={"race": group}, metrics=["mcdp"]
    )
    without = make_report(
        y_true[4:],
        y_score[4:],
        sensitive_features={"race": group[4:]},
        metrics=["mcdp"],
        n_resamples=1,
    )
    assert report.to_frame().loc[0, "n"] == 596
    assert report.to_frame().loc[0, "value"] == pytest.approx(
        without.to_frame().loc[0, "value"]
    )
    assert "“rare” (4)" in report.summary["cautions"][0]
    kept = make_report(
        y_true, y_score, sensitive_features=group, metrics=["mcdp"], min_group_size=4
    )
    assert kept.to_frame().loc[0, "smallest_group"] == 4
    assert "uncertain by up to 49 percentage points" in kept.summary["cautions"][0]


def test_undefined_values_are_told_not_warned_of(make_report, scored):
    y_true, y_score = np.array([0, 1] * 300), scored[1]
    groups = np.array(["a", "b"] * 300)
    report = make_report(
        y_true,
        y_score,
        sensitive_features={"race": groups},
        metrics=["equalized_odds_difference", "dcp"],
    )
    frame = report.to_frame().set_index("metric")
    assert np.isnan(frame.loc["equalized_odds_difference", "value"])
    assert not np.isnan(frame.loc["dcp", "value"])
    text = " ".join(report.summary["cautions"])
    assert "Equalized odds difference cannot be computed: no two groups have " in text
    assert "10 rows or more of one true label" in text
    assert "“a” with the true label “1” (0)" in text


def test_visible_text():
    assert visible_text("a\x00b\x1b[1m") == "a\ufffdb\ufffd[1m"
    assert visible_text("\u202eevil\ud800") == "\ufffdevil\ufffd"
    assert visible_text(" a \n b\t") == "a b"
    for name in (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\u0915\u094d\u200d\u0937 \u0930\u094d\u200d",  # Hindi
        "\U0001f469\U0001f3fd\u200d\U0001f52c",  # a woman who is a scientist
    ):
        assert visible_text(name) == name
    # Joiners that join nothing, and that make two names look the same.
    assert visible_text("F\u200d") == "F\ufffd"
    assert visible_text("\u200cF\u200dM") == "\ufffdF\ufffdM"
    assert visible_text("\u0645\u200c\u200c\u0645") == "\u0645\ufffd\ufffd\u0645"
    assert visible_text("") == "(empty)"
    assert len(visible_text("x" * 1000)) == 60
    assert label_text(("a", 1)) == "a, 1"
    assert listed(["a"]) == "a"
    assert listed(list("abc")) == "a, b and c"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 more"


@pytest.mark.slow
@pytest.mark.promise("Few verdicts find a difference where there is none")
@pytest.mark.parametrize("n_groups", [2, 12])
def test_verdicts_and_intervals_on_forty_tables_without_differences(
    make_report, n_groups
):
    """At most 5 % of verdicts find a difference, and no value leaves its interval."""
    n_wrong = n_outside = n_above = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        y_score = generator.beta(2, 3, 60 * n_groups)
        report = make_report(
            generator.random(len(y_score)) < y_score,
            y_score,
            sensitive_features=np.arange(len(y_score)) % n_groups,
            metrics=[
                "demographic_parity_difference",
                "mcdp",
                "abcc",
                "equalized_odds_difference",
            ],
            n_permutations=59,
            random_state=seed,
        )
        (lead,) = report.summary["verdict"]["leads"]
        n_wrong += "chance alone does not" in lead["text"]
        frame = report.to_frame()
        inside = frame["value"].between(frame["lower"], frame["upper"])
        n_outside += int((~inside).sum())
        n_above += (frame["lower"] > 0).to_numpy()
    assert n_wrong <= 6  # of 40 at a level of 5 %: exceeded once in 300 times
    assert max(n_above) <= 6
    assert n_outside == 0


def test_the_value_of_the_table_is_in_the_verdict_where_others_decide(make_report):
    """A small group is furthest apart by chance; both numbers stand in one sentence."""
    groups = np.repeat([*"abc"], [1_000, 1_000, 40])
    y_pred = np.concatenate(
        [np.arange(1_000) < 500, np.arange(1_000) < 380, np.arange(40) < 22]
    )
    report = make_report(
        None, y_pred=y_pred.astype(int), pos_label=1, sensitive_features={"g": groups}
    )
    (point,) = report.summary["verdict"]["points"]
    assert "12.0 percentage points apart" in point["text"]
    assert "“c” and “b” are further apart, by 17.0 points, but this" in point["text"]
    text = report.to_markdown()
    assert "| Difference of selection rates | 0.170 |" in text
    assert "- Difference of selection rates: 55.0% of “c” and 38.0% of “b” get" in text


@pytest.mark.slow
def test_markdown_says_what_the_page_says(make_report, scored):
    y_true, y_score, people = scored
    report = make_report(y_true, y_score, sensitive_features=people)
    text = report.to_markdown()
    for attribute in report.summary["attributes"]:
        (result,) = attribute["results"]
        for measure in result["measures"]:
            assert f"- {measure['title']}: {measure['sentence']}" in text
    assert "| Differs from the rest |" in text
    method = text.partition("## Method")[2]
    assert "Rows are taken to be independent" in method
    assert "199 times" in method or "59 times" in method
    assert "Differs from the rest" in method


def test_the_one_group_that_differs_is_one(make_report):
    groups = np.repeat([f"g{i:02}" for i in range(12)], 40)
    y_pred = np.tile([0, 1], 240)
    y_pred[:40] = 1
    report = make_report(
        None, y_pred=y_pred, pos_label=1, sensitive_features={"g": groups}
    )
    (point,) = report.summary["verdict"]["points"]
    expected = "Of 12 groups, 1 differs significantly from everyone: “g00” (40)."
    assert expected in point["text"]


def test_the_verdict_leads_with_a_group_that_differs_significantly(make_report):
    """Of many groups a tiny one is furthest from everyone by chance."""
    sizes, rates = [200] * 11 + [14, 60], [0.35] * 11 + [0.07, 0.1]
    groups = np.repeat([f"g{i:02}" for i in range(13)], sizes)
    y_pred = np.concatenate(
        [np.arange(n) < round(n * r) for n, r in zip(sizes, rates, strict=True)]
    )
    report = make_report(
        None, y_pred=y_pred.astype(int), pos_label=1, sensitive_features={"g": groups}
    )
    (point,) = report.summary["verdict"]["points"]
    overall = 100 * y_pred.mean()
    expected = f"10.0% of “g12” and {overall:.1f}% of everyone get the decision “1”"
    assert point["text"].startswith(expected)
    assert "“g11” and everyone are further apart" in point["text"]
    assert "but this may be chance" in point["text"]
    found = re.search(r"interval ([\d.]+) to ([\d.]+)", point["text"])
    beside_others = confidence_interval(
        demographic_parity_difference,
        None,
        y_pred,
        sensitive_features=np.where(groups == "g12", "g12", "others"),
        confidence_level=1 - 0.05 / 13,
    )
    share = (groups != "g12").mean()  # by which everyone is nearer than all others
    for end, text in zip(("lower", "upper"), found.groups(), strict=True):
        expected = 100 * share * getattr(beside_others, end)
        assert float(text) == pytest.approx(expected, abs=0.051)
    row = re.search(r"^\| .*: “g12” and everyone \|.*$", report.to_markdown(), re.M)[0]
    assert f"{overall / 100 - 0.1:.3f} | " in row


def test_groups_that_are_as_far_apart_are_not_further(make_report):
    groups = np.repeat([*"abc"], [200, 200, 40])
    y_pred = np.concatenate([np.arange(200) < 100] * 2 + [np.arange(40) < 4])
    report = make_report(None, y_pred=y_pred.astype(int), sensitive_features=groups)
    (point,) = report.summary["verdict"]["points"]
    assert "40.0 percentage points apart" in point["text"]
    assert "further" not in point["text"]


def test_cvar_fairness_is_no_second_row_of_the_largest_gap(make_report, scored):
    """Where its tail is one group; what is asked for by name is shown."""
    people, y_pred = scored[2]["sex"], (scored[1] >= 0.5).astype(int)
    report = make_report(None, y_pred=y_pred, sensitive_features=people)
    assert "cvar_fairness" in set(report.to_frame()["metric"])
    for page in (report.to_html(), report.to_markdown()):
        assert "CVaR" not in page
        assert "Largest gap to the average group" in page
    asked = make_report(
        None,
        y_pred=y_pred,
        sensitive_features=people,
        metrics=["max_gap", "cvar_fairness"],
    )
    assert "so this is the largest gap" in asked.to_markdown()


@pytest.mark.parametrize(("n_chosen", "is_near"), [(18, True), (24, False)])
def test_a_verdict_that_depends_on_the_seed_is_told(n_chosen, is_near):
    """Of 60 people of each group, 30 and fewer are selected."""
    groups, n_fewer = np.repeat(["a", "b"], 60), 28 - n_chosen // 2
    decisions = np.repeat([1, 0, 1, 0], [30, 30, n_fewer, 60 - n_fewer])
    pvalues = []
    for seed in range(4):
        report = FairnessReport.from_predictions(
            None,
            y_pred=decisions,
            sensitive_features={"sex": groups},
            random_state=seed,
        )
        pvalues.append(report.to_frame()["pvalue"].min())
        said = "random groupings, is near its limit of 0.050" in str(report.summary)
        assert said == is_near
    assert (min(pvalues) <= 0.05 < max(pvalues)) == is_near
