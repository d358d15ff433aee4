"""A report on people who have several rows permutes and counts people."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin

from skfair.metrics import (
    calibration_gap,
    confidence_interval,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    group_metrics,
    impact_ratios,
    madd,
    mcdp,
    permutation_test,
)
from skfair.report import FairnessReport

QUICK = {"n_resamples": 20, "n_permutations": 59, "random_state": 0}
FEW = ["mcdp", "demographic_parity_difference", "equalized_odds_difference"]
COLUMNS = {"y_true": "y", "y_score": "p", "sensitive_features": "sex"}


def visits(n_people=60, n_rows=10, seed=0, effect=0.0):
    """A table of visits, whose labels and scores depend on the person."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_rows)
    own = rng.normal(size=n_people)[person] + effect * (person % 2)
    score = 1 / (1 + np.exp(-own - 0.5 * rng.normal(size=len(person))))
    return pd.DataFrame(
        {
            "y": (rng.random(len(person)) < score).astype(int),
            "p": score,
            "sex": np.where(person % 2, "M", "F"),
            "race": np.array(["x", "y", "z"])[person % 3],
            "patient": person,
        }
    )


def measures(report):
    found = report.summary["attributes"][0]["results"][0]["measures"]
    return {measure["key"]: measure for measure in found}


@pytest.mark.slow
@pytest.mark.parametrize("column", ["sex", "race"])
def test_numbers_are_those_of_direct_calls(column, check, check_test):
    table = visits(effect=1)
    rows = {"sensitive_features": table[column], "clusters": table["patient"]}
    keys = [*FEW, "madd", "dcp", "calibration_gap"]
    report = FairnessReport.from_predictions(
        table["y"], table["p"], metrics=keys, **rows, **QUICK
    )
    decided = (table["p"] >= 0.5).astype(int)
    found = measures(report)
    parity, odds = demographic_parity_difference, equalized_odds_difference
    for key, metric, true, values in (
        ("mcdp", mcdp, None, table["p"]),
        ("madd", madd, None, table["p"]),
        (parity.__name__, parity, None, decided),
        (odds.__name__, odds, table["y"], decided),
        ("dcp", dcp, table["y"], decided),
        ("calibration_gap", calibration_gap, table["y"], table["p"]),
    ):
        check(found[key], metric, true, values, **rows)
        check_test(found[key], metric, true, values, **rows)


@pytest.mark.slow
def test_numbers_within_strata_and_of_weighted_rows():
    table = visits(90, effect=1)
    town = np.where(table["patient"] % 4 < 2, "u", "v")
    weight = np.tile([0.5, 1.0, 1.0, 2.0, 0.0], 180)
    rows = {"sensitive_features": table["sex"], "clusters": table["patient"]}
    rows |= {"control_features": town, "sample_weight": weight}
    report = FairnessReport.from_predictions(
        table["y"], table["p"], metrics=["mcdp"], **rows, **QUICK
    )
    within = report.to_frame("strata").iloc[0]
    interval = confidence_interval(mcdp, None, table["p"], **rows)
    assert within[["value", "lower", "upper"]].tolist() == pytest.approx(
        [interval.value, interval.lower, interval.upper]
    )
    options = {"n_permutations": 59, "random_state": 0}
    test = permutation_test(mcdp, None, table["p"], **rows, **options)
    assert within["pvalue"] == pytest.approx(test.pvalue)


@pytest.mark.slow
def test_copies_of_people_have_the_intervals_of_the_people():
    """Whatever is computed of each person once is computed of three equal rows."""
    once = visits(150, 1, effect=1).assign(patient=np.arange(150))
    options = {**COLUMNS, **QUICK, "metrics": FEW, "impact_ratios": True}
    options["n_permutations"] = 0
    single = FairnessReport.from_frame(once, **options)
    copies = once.loc[once.index.repeat(3)]
    clustered = FairnessReport.from_frame(copies, clusters="patient", **options)
    of_metrics = ["value", "lower", "upper", "certified"]
    tables = {"metrics": of_metrics, "groups": ["selection_rate", "lower", "upper"]}
    tables |= {"impact_ratios": ["impact_ratio", "lower", "upper"]}
    for name, columns in tables.items():
        both = [report.to_frame(name)[columns] for report in (clustered, single)]
        assert_allclose(*both, atol=1e-12)
    both = (
        each.to_frame("models").set_index("performance") for each in (clustered, single)
    )
    clustered_models, models = (each[["value", "lower", "upper"]] for each in both)
    smooth = models.index.drop("calibration_error")  # its bins depend on rows
    assert_allclose(clustered_models.loc[smooth], models.loc[smooth], atol=1e-12)
    groups = clustered.to_frame("groups")
    assert (groups["n"] == 3 * groups["n_people"]).all()
    assert groups["differs"].isna().all()


def test_rates_of_groups_are_those_of_group_metrics():
    table = visits(effect=1)
    rows = {"sensitive_features": table["sex"], "clusters": table["patient"]}
    report = FairnessReport.from_frame(
        table, clusters="patient", **COLUMNS, **{**QUICK, "n_permutations": 0}
    )
    decided = (table["p"] >= 0.5).astype(int)
    expected = group_metrics("selection_rate", None, decided, **rows).to_frame()
    groups = report.to_frame("groups")
    assert_allclose(groups["selection_rate"], expected["value"])
    apart = groups[["lower", "upper"]].to_numpy() - expected[["lower", "upper"]]
    assert (np.abs(apart) < 0.06).all(axis=None)  # Wilson's beside Clopper's
    singly = impact_ratios(None, decided, sensitive_features=table["sex"])
    assert groups["upper"].sub(groups["lower"]).min() > 0.2
    assert len(singly) == 2


@pytest.mark.slow
def test_means_of_numbers_count_people():
    once = visits(80, 1, effect=1)
    options = {**QUICK, "scale": "real", "n_permutations": 0}
    tables = []
    for n in 1, 4:
        table = once.loc[once.index.repeat(n)]
        rows = {"sensitive_features": table["sex"], "clusters": table["patient"]}
        report = FairnessReport.from_predictions(
            table["y"] + 0.0, table["p"], **rows, **options
        )
        means = report.to_frame("groups").filter(regex="mean_.*_(lower|upper)$")
        tables.append(means.astype(float))
    assert tables[0].shape == (2, 6)
    assert_allclose(*tables, atol=1e-12)


def test_the_page_says_it_once():
    report = FairnessReport.from_frame(
        visits(), clusters="patient", metrics=FEW, **COLUMNS, **QUICK
    )
    said = "The 600 rows are those of 60 people: people, not rows, were shuffled"
    text = " ".join(report.summary["cautions"])
    assert text.count(said) == 1
    assert "2 of 2 groups have fewer than 100 people: “F” (30) and “M” (30)" in text
    assert "not tested of people with several rows" in text
    markdown = report.to_markdown()
    assert markdown.count(said) == 1
    assert "| Group | Rows | People |" in markdown
    assert report.summary["settings"]["n_people"] == 60
    assert not report.summary["settings"]["notes"]


@pytest.mark.slow
def test_so_does_the_page_in_a_browser():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    report = FairnessReport.from_frame(
        visits(), clusters="patient", metrics=FEW, **COLUMNS, **QUICK
    )
    page = report.to_html()
    assert page.count("people, not rows, were shuffled") == 1
    assert "Rows are taken to be independent" not in page
    assert "assigned to people, with all their rows, at random" in page
    assert "300 of 30 people" in page


@pytest.mark.slow
def test_models_of_people_are_compared_without_an_interval():
    table = visits(effect=1)
    report = FairnessReport.from_predictions(
        table["y"],
        {"plain": table["p"], "flat": np.sqrt(table["p"])},
        sensitive_features=table["sex"],
        clusters=table["patient"],
        metrics=FEW,
        **QUICK,
    )
    assert report.to_frame()["difference"].isna().all()
    assert report.to_frame("models")["difference"].isna().all()
    changes = report.summary["verdict"]["leads"][1]["changes"]
    assert changes
    *changes, reason = [change["text"] for change in changes]
    accuracy = report.to_frame("models").set_index(["performance", "model"])["value"]
    before, after = (accuracy["accuracy", model] for model in ("plain", "flat"))
    assert changes[0] == f"Accuracy was {before:.3f} and is {after:.3f}."
    assert not any("interval" in text for text in changes)
    assert "not computed where people have several rows" in reason


@pytest.mark.slow
def test_sources_of_people_agree():
    table = visits()
    options = {**QUICK, "metrics": ["mcdp"], "n_permutations": 0}
    rows = {"sensitive_features": {"sex": table["sex"]}}
    arrays = FairnessReport.from_predictions(
        table["y"],
        {"p": table["p"]},
        clusters=table["patient"].to_list(),
        **rows,
        **options,
    )
    named = table.assign(patient="patient " + table["patient"].astype(str))
    of_frame = FairnessReport.from_frame(
        named, clusters="patient", **COLUMNS, **options
    )
    assert of_frame.summary == arrays.summary
    estimator = _Scores()
    of_column, of_array = (
        FairnessReport.from_estimator(
            {"p": estimator}, table, table["y"], clusters=clusters, **rows, **options
        )
        for clusters in ("patient", table["patient"].to_numpy())
    )
    assert of_column.summary == of_array.summary
    assert_allclose(of_column.to_frame()["upper"], arrays.to_frame()["upper"])


class _Scores(ClassifierMixin, BaseEstimator):
    """A fitted classifier that knows its probabilities."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X["p"], X["p"]])

    def predict(self, X):
        return (X["p"] >= 0.5).astype(int)


@pytest.mark.slow
def test_many_rows_of_people_are_read():
    table = visits(1_200, 50)
    options = {"metrics": ["mcdp"], **COLUMNS, **QUICK}
    report = FairnessReport.from_frame(table, clusters="patient", **options)
    assert not report.summary["settings"]["counts_are_drawn"]
    rows = {"sensitive_features": table["sex"], "clusters": table["patient"]}
    test = permutation_test(
        mcdp, None, table["p"], n_permutations=59, random_state=0, **rows
    )
    assert report.to_frame().loc[0, "pvalue"] == pytest.approx(test.pvalue)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clusters": "nobody"}, "clusters must name a column of frame, got 'nobody'"),
        ({"clusters": "holes"}, "clusters has 1 missing"),
        (
            {"clusters": "swapped"},
            "sensitive_features 'sex' must be the same in all rows",
        ),
        ({"clusters": "patient", "counts": "y"}, "counts must be None with clusters"),
        (
            {"clusters": "patient", "control_features": "y"},
            "control_features 'y' must be the same in all rows of a cluster",
        ),
    ],
)
def test_errors(change, message):
    table = visits(20, 3)
    table["y"] = np.tile([1, 1, 2], 20)
    table["holes"] = table["patient"].where(table.index > 0).astype(object)
    table["swapped"] = table["patient"].to_numpy()[::-1] // 2
    columns = {"y_pred": "y", "pos_label": 1, "sensitive_features": "sex"}
    with pytest.raises(ValueError, match=message):
        FairnessReport.from_frame(table, **columns, **change, **QUICK)


def test_lengths_are_checked():
    with pytest.raises(ValueError, match=r"clusters must have shape \(4,\)"):
        FairnessReport.from_predictions(
            None, y_pred=[0, 1, 0, 1], sensitive_features=[*"aabb"], clusters=[1, 2]
        )


# --- columns that may be people


def notes(table, **options):
    report = FairnessReport.from_frame(
        table,
        **{**COLUMNS, **QUICK, "n_permutations": 0, "metrics": ["mcdp"], **options},
    )
    return report.summary["settings"]["notes"]


@pytest.mark.slow
def test_a_column_that_repeats_is_named():
    table = visits(60, 4)
    text = "Column 'patient' repeats: 240 rows have 60 values of it."
    (note,) = notes(table)
    assert note.startswith(text)
    assert "clusters='patient' permutes and counts people, not rows" in note
    # Of another name it must have many values.
    other = table.rename(columns={"patient": "visit_of"})
    assert len(notes(other)) == 1
    assert len(notes(visits(12, 20))) == 1
    assert not notes(visits(12, 20).rename(columns={"patient": "visit_of"}))
    # An attribute may change from row to row.
    ages = table.assign(age=np.arange(240) % 2)
    assert len(notes(ages, sensitive_features=["sex", "age"])) == 1
    # Among many columns its name must be that of people.
    wide = table.assign(**{f"x{i}": i for i in range(20)})
    assert len(notes(wide)) == 1
    assert not notes(wide.rename(columns={"patient": "visit_of"}))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.drop(columns="patient"),
        lambda t: t.assign(patient=np.arange(240)),
        lambda t: t.assign(patient=np.arange(240) // 2, sex=[*"FM"] * 120),
        lambda t: t.assign(patient=np.random.default_rng(0).permutation(t["patient"])),
        lambda t: t.assign(patient=t["patient"] / 8),
        lambda t: t.assign(patient=t["patient"].where(t.index > 0)),
        lambda t: t.assign(patient=t["sex"] + t["race"]),
        lambda t: t.assign(patient=np.maximum(np.arange(240), 5)),
    ],
    ids=[
        *("none", "unique", "pairs", "shuffled", "fractions", "missing", "groups"),
        "few",
    ],
)
def test_other_columns_are_not(change):
    assert notes(change(visits(60, 4))) == []


def test_no_note_where_people_are_given_or_counted():
    table = visits(60, 4)
    assert notes(table, clusters="patient") == []
    assert notes(table.assign(n=2), counts="n") == []


@pytest.mark.slow
def test_level():
    """Tests of a report keep their level; without people they reject far too often."""
    options = {**QUICK, "metrics": FEW, "n_resamples": 2, "min_group_size": 5}
    small = {clusters: [] for clusters in ("patient", None)}
    for seed in range(100):
        table = visits(40, 10, seed)
        for clusters, found in small.items():
            report = FairnessReport.from_frame(
                table, clusters=clusters, **COLUMNS, **{**options, "random_state": seed}
            )
            found.append(report.to_frame().set_index("metric")["pvalue"] <= 0.05)
    people, rows = (pd.DataFrame(found).mean() for found in small.values())
    assert (people <= 0.1).all()
    assert rows["demographic_parity_difference"] >= 0.3
    assert rows["mcdp"] >= 0.3
