"""``python -m skfair audit``: what is typed, said, and written."""

import datetime
import hashlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair.__main__ import main
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.report import FairnessReport

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

FEW = ["--resamples", "2", "--permutations", "0"]
GOOD = "table.csv --y-true y --y-score p --sensitive sex --out out.html"
# Without a page, which takes as long to draw as all else.
NUMBERS = f"{GOOD} --format json"
LABELS = "table.csv --y-pred label --pos-label yes --sensitive sex"
LABELS_TO_JSON = f"{LABELS} --out out.html --format json"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(200) < 0.4, "F", "M")
    p = generator.beta(2 + (sex == "M"), 3).round(3)
    table = pd.DataFrame(
        {
            "y": (generator.random(200) < p).astype(int),
            "p": p,
            "q": p**2,
            "label": np.where(p > 0.5, "yes", "no"),
            "truth": np.where(generator.random(200) < p, "yes", "no"),
            "sex": sex,
            "code": np.where(generator.random(200) < 0.5, "01", "B"),
            "w": generator.integers(0, 3, 200),
        }
    )
    table.to_csv("table.csv", index=False)
    return table


@pytest.fixture
def audit(table, tmp_path, capsys):
    """Run the command on the table, and return the code, the page and what it said."""

    def run(arguments, few=FEW):
        arguments = arguments if isinstance(arguments, list) else arguments.split()
        code = main(["audit", *arguments, *few])
        said = capsys.readouterr()
        page = tmp_path / "out.html"
        return code, page.read_text("utf-8") if page.exists() else None, said

    return run


def source_of(path):
    """What the page says about its input."""
    return f"{path}, SHA-256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}"


# --- the report


@pytest.mark.parametrize(
    ("scores", "attributes", "form"),
    [
        (["p"], ["sex"], "md"),
        # Pictures take longer to draw than all else.
        pytest.param(["p", "q"], ["sex", "code"], "html", marks=pytest.mark.slow),
    ],
    ids=["one column", "several columns"],
)
@pytest.mark.promise("The command writes the page of the library")
def test_report_is_that_of_the_library(audit, table, scores, attributes, form):
    code, page, said = audit(
        f"table.csv --y-true y --y-score {','.join(scores)}"
        f" --sensitive {','.join(attributes)} --out out.html --title Audit"
        " --seed 3 --min-group-size 5 --threshold 0.4 --sample-weight w",
        few=["--resamples", "2", "--permutations", "59", "--format", form],
    )
    assert code == 0
    report = FairnessReport.from_predictions(
        table["y"].map(str),
        table[scores],
        pos_label="1",
        sensitive_features=table[attributes],
        sample_weight=table["w"],
        threshold=0.4,
        min_group_size=5,
        n_resamples=2,
        n_permutations=59,
        random_state=3,
        title="Audit",
    )
    write = report.to_html if form == "html" else report.to_markdown
    write("expected", source=source_of("table.csv"))
    assert page == Path("expected").read_text("utf-8")
    assert said.out.splitlines()[-1] == "out.html"
    assert said.err == ""  # no progress where there is no terminal


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet", ".xlsx"])
def test_other_files(audit, table, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet("table.parquet")
    elif suffix == ".xlsx":
        table.to_excel("table.xlsx", index=False)
    else:
        table.to_csv("table.csv.gz", index=False)
    command = NUMBERS.replace("sex", "code")
    expected, found = (
        json.loads(audit(command.replace(".csv", end))[1]) for end in (".csv", suffix)
    )
    assert f"{found['input']}, SHA-256 {found['sha256']}" == source_of(f"table{suffix}")
    for summary in (expected, found):
        del summary["input"], summary["sha256"]
    assert found == expected
    labels = [group["label"] for group in found["attributes"][0]["groups"]]
    assert labels == ["01", "B"]  # as they are written


def test_labels_of_text_and_numbers(audit):
    code, page, said = audit(LABELS_TO_JSON.replace("--pos-label yes", ""))
    assert (code, page) == (2, None)
    assert "must say which label of column 'label' ('no' and 'yes') is" in said.err
    code, page, said = audit(LABELS_TO_JSON.replace("yes", "Yes"))
    assert (code, page) == (2, None)
    assert "('no' and 'yes') is positive, got 'Yes'." in said.err
    assert said.err.endswith("--permutations 0 --pos-label yes\n")
    assert json.loads(audit(LABELS_TO_JSON)[1])["positive"] == "yes"
    assert json.loads(audit(f"{NUMBERS} --pos-label 0")[1])["positive"] == "0"


@pytest.mark.slow
def test_a_score_and_a_decision_are_one_model(audit):
    page = audit(f"{LABELS_TO_JSON} --y-score p --y-true truth")[1]
    assert [model["name"] for model in json.loads(page)["models"]] == ["p"]


def test_a_threshold_has_the_unit_of_the_score(audit, table):
    table.assign(p=(1000 * table["p"]).round()).to_csv("table.csv", index=False)
    code, _, said = audit(f"{NUMBERS} --threshold 480")
    assert code == 2
    assert "--threshold must be in [0, 1], as probabilities are, got 480" in said.err
    decided = (table["p"] >= 0.48).groupby(table["sex"]).mean()
    for truth in ("", " --y-true truth --pos-label no"):
        code, page, said = audit(f"{NUMBERS} --threshold 480 --scale rank{truth}")
        assert code == 0, said.err
        groups = json.loads(page)["attributes"][0]["results"][0]["groups"]
        assert [group["selection_rate"] for group in groups] == pytest.approx(
            decided.tolist()
        )
        assert json.loads(page)["models"][0]["threshold"] == 480
        assert json.loads(page)["models"][0]["decided_by"] == "score of at least 480"


@pytest.mark.slow
def test_missing_groups(audit, table):
    table.loc[:19, "sex"] = None
    table.to_csv("table.csv", index=False)
    code, page, said = audit(NUMBERS)
    assert (code, page) == (2, None)
    assert "column 'sex' has 20 missing values, the first in row 1 of" in said.err
    page = audit(f"{NUMBERS} --missing-groups drop")[1]
    assert "20 rows (10.0%) without a group" in page
    groups = encode_groups(table["sex"], missing="drop")
    value = mcdp(None, table["p"], sensitive_features=groups)
    measures = json.loads(page)["attributes"][0]["results"][0]["measures"]
    found = [m["value"] for m in measures if m["key"] == "mcdp"]
    assert found == [pytest.approx(value)]
    assert "(missing)" in audit(f"{NUMBERS} --missing-groups group")[1]


@pytest.mark.slow
def test_rows_without_an_outcome_are_left_out_and_named(audit, table):
    table.loc[:19, "y"] = None
    table.to_csv("table.csv", index=False)
    code, page, said = audit(f"{NUMBERS} --missing-values drop")
    assert (code, said.err) == (0, "")
    summary = json.loads(page)
    assert summary["n_rows"] == 180
    left_out = summary["settings"]["left_out"]
    assert (left_out["n_rows"], left_out["columns"]) == (20, ["p", "y"])
    assert sum(group["n"] for group in left_out["groups"]) % 20 == 0
    text = "20 rows (10.0%) without a value of “p” or “y” are left out of every number."
    assert summary["cautions"][0] == text
    page = audit(f"{GOOD} --missing-values drop")[1]
    for shown in (text, "180 rows, 20 more left out"):
        assert shown in page
    assert audit(f"{GOOD} --missing-groups group")[0] == 2


# --- people who have several rows


@pytest.fixture
def visits(table):
    """Two rows for each of 100 people, some of them of no weight."""
    person = np.repeat([f"p{i}" for i in range(100)], 2)
    sex = np.repeat(table["sex"].to_numpy()[:100], 2)
    visits = table.assign(patient=person, sex=sex, other=np.arange(200))
    visits.to_csv("visits.csv", index=False)
    return visits


VISITS = "visits.csv --y-true y --y-score p --sensitive sex --out out.html"


@pytest.mark.slow
def test_people_of_several_rows_have_the_report_of_the_library(audit, visits):
    few = ["--resamples", "2", "--permutations", "59", "--format", "json"]
    code, page, said = audit(f"{VISITS} --cluster patient --sample-weight w", few)
    assert code == 0
    report = FairnessReport.from_predictions(
        visits["y"].astype(str),
        {"p": visits["p"]},
        sensitive_features={"sex": visits["sex"]},
        sample_weight=visits["w"],
        clusters=visits["patient"],
        pos_label="1",
        n_resamples=2,
        n_permutations=59,
        random_state=0,
    )
    found = json.loads(page)
    assert found["attributes"] == json.loads(json.dumps(report.summary["attributes"]))
    assert found["cautions"] == report.summary["cautions"]
    assert "people: people, not rows, were shuffled" in " ".join(found["cautions"])
    assert "repeats" not in said.err


@pytest.mark.slow
def test_a_column_that_may_name_people_is_told(audit, visits):
    code, page, said = audit(f"{VISITS} --format json")
    note = "column 'patient' repeats: 200 rows have 100 values of it."
    assert code == 0
    assert f"note: {note}" in said.err
    assert "--cluster patient permutes and counts people, not rows; oth" in said.err
    assert note[1:] in " ".join(json.loads(page)["settings"]["notes"])
    assert said.err.count("repeats") == 1


@pytest.mark.parametrize(
    ("name", "n_each", "form"),
    [
        ("patient_id", 2, "md"),
        pytest.param("patient_id", 2, "html", marks=pytest.mark.slow),
        pytest.param("patient", 10, "md", marks=pytest.mark.slow),
        pytest.param("Patient ID", 2, "md", marks=pytest.mark.slow),
        pytest.param("Patient ID", 10, "html", marks=pytest.mark.slow),
    ],
)
def test_people_who_repeat_are_told_beside_the_verdict(audit, name, n_each, form):
    rng = np.random.default_rng(n_each)
    person = np.repeat(np.arange(60), n_each)
    visits = pd.DataFrame(
        {
            name: person,
            "sex": rng.choice(["F", "M"], 60)[person],
            "age": rng.choice(["old", "young"], len(person)),  # changes within people
            "p": rng.random(60)[person],
        }
    )
    visits.loc[0, name] = None
    visits.to_csv("visits.csv", index=False)
    command = "visits.csv --y-score p --threshold 0.5 --sensitive sex,age"
    code, page, _ = audit(f"{command} --out out.html --format {form}")
    assert code == 0
    assert page.index("repeats: ") < page.index("Who is predicted")
    if form == "md":
        note = f"Column '{name}' repeats: ".replace("_", "\\_")
        assert note in page.partition("**Who is predicted")[0]
        assert "- Rows are taken to be independent: where people have several" in page


@pytest.mark.slow
def test_people_whose_group_changes_are_told(audit, visits):
    """Also of a person with several groups, whom --cluster would refuse."""
    visits["age"] = np.repeat(np.arange(100) % 5, 2).astype(str)
    visits.loc[1::20, "age"] = "9"
    visits = visits.drop(columns="sex").rename(columns={"age": "sex"})
    visits.to_csv("visits.csv", index=False)
    said = audit(f"{VISITS} --format json")[2].err
    assert "column 'patient' repeats: 200 rows have 100 values" in said
    assert "It takes one group a person, but people have several: 10 by 'sex'." in said


def test_outcomes_keep_their_names(audit, table):
    """Beside decisions with names of their own."""
    table["decision"] = np.where(table["p"] > 0.5, "flag", "pass")
    table.to_csv("table.csv", index=False)
    command = "table.csv --y-pred decision --y-true truth --sensitive sex --pos-label"
    page = audit(f"{command} flag --pos-label yes --out out.html --format md")[1]
    finding = "with the true label “(yes|no)”, .*% get the decision “flag”"
    assert re.search(finding, page)
    assert "true label “flag”" not in page
    assert "not flag" not in page


@pytest.mark.slow
def test_people_of_several_groups_are_counted_with_a_way_out(audit, visits):
    first = visits["sex"][0]
    visits.loc[[1, 3, 5], "sex"] = "other"
    visits["site"] = np.repeat(["north", "south"], 100)
    visits.to_csv("visits.csv", index=False)
    code, _, said = audit(f"{VISITS} --cluster patient")
    assert code == 2
    text = f"'p0' has both {first!r} and 'other', and 3 of 100 people ('p0', 'p1' and"
    assert text in said.err
    assert "leave 'sex' out of --sensitive, or take the first of each" in said.err
    assert "try: " not in said.err
    said = audit(f"{VISITS} --sensitive site --cluster patient")[2]
    assert said.err.rstrip().endswith(" --sensitive site")
    made = "table['sex'] = table.groupby('patient')['sex'].transform('first')"
    assert made in said.err
    visits["sex"] = visits.groupby("patient")["sex"].transform("first")
    visits.to_csv("visits.csv", index=False)
    assert audit(f"{VISITS} --cluster patient --format json")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--cluster patien", "has no column 'patien'. Is 'patient' meant?"),
        ("--cluster patient --count w", "--cluster must be left out with --count"),
        pytest.param(
            "--cluster code",
            "column 'sex' must be the same in all rows of a person",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "--cluster gap",
            "column 'gap' has 1 missing value, the first in row 4 of",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_people_that_are_refused(audit, visits, arguments, message):
    visits["gap"] = visits["patient"].where(visits.index != 3)
    visits.to_csv("visits.csv", index=False)
    code, page, said = audit(f"{VISITS} {arguments}")
    assert code == 2
    assert page is None
    assert message in said.err
    if "gap" in arguments:
        assert "--missing-values drop" in said.err


@pytest.mark.slow
@pytest.mark.parametrize("column", ["y", "p"])
def test_rows_that_are_alike(audit, table, column):
    table[column] = 1
    table.to_csv("table.csv", index=False)
    code, page, _ = audit(NUMBERS)
    first = json.loads(page)["verdict"]["leads"][0]["text"].split(".")[0]
    assert first.startswith("There is nothing to compare")
    assert code == (4 if column == "p" else 0)


@pytest.mark.slow
def test_rare_groups(audit, table):
    table["sex"] = np.where(np.arange(200) % 50 == 0, "X", table["sex"])
    table.loc[:2, "sex"] = "Y"
    table.to_csv("table.csv", index=False)

    def sizes(options):
        code, written, said = audit(f"{LABELS_TO_JSON} --min-group-size 5 {options}")
        assert code == 0, said.err
        groups = json.loads(written)["attributes"][0]["groups"]
        return {group["label"]: group["n"] for group in groups}

    kept, dropped, merged = (
        sizes(f"--rare {how}") for how in ("keep", "drop", "merge")
    )
    assert merged == {**dropped, "(other)": 200 - sum(dropped.values())}
    assert set(dropped) == {"F", "M"} == set(kept)
    said = audit(f"{LABELS_TO_JSON} --rare merge --min-group-size 1")[2]
    assert "--min-group-size must be above 1" in said.err


# --- what looks odd


def test_columns_that_may_not_be_meant(audit, table):
    table["town"] = [f"town {i}" for i in range(200)]
    table.to_csv("table.csv", index=False)
    said = audit(LABELS_TO_JSON.replace("sex", "town"))[2].err
    assert "column 'town' has 200 groups, half of them of 1 row at most: is it" in said


def test_odd_values_are_told(audit, table):
    table["sex"] = np.where(np.arange(200) % 20 == 0, "f", table["sex"])
    table.loc[5, "sex"] = "F "  # spaces around a cell do not count
    table.loc[:1, "code"] = "N/A"
    table.loc[2:4, "code"] = "Code Not Available"
    table["age"] = np.arange(200) % 60 + 20
    table.loc[:2, "age"] = [0, 999, 999]
    table["person_id"] = np.arange(200) - 10 * (np.arange(200) >= 190)
    table["band"] = np.tile(["<25", "25-34", "8888", ">34"], 50)
    table.to_csv("table.csv", index=False)
    command = LABELS_TO_JSON.replace("sex", "sex,age,code,band")
    _, page, said = audit(f"{command} --min-group-size 1")
    for text in (
        "column 'sex' has 'f' (10) beside 'F' (",
        "column 'code' has 'Code Not Available' (3 rows) and 'N/A' (2 rows), which may "
        "stand for missing values; --na-values 'Code Not Available,N/A' makes them",
        "column 'age' has 0 (1 row) and 999 (2 rows) beside 20 to 79",
        "column 'band' has '8888' (50 rows) among ranges, which may stand for missing",
        " groups, each a number; ranges that begin at ",
        "column 'person_id' has 10 values that an earlier row has, too",
        "have several rows, --cluster person_id permutes and counts people",
    ):
        assert text in said.err
    notes = json.loads(page)["settings"]["notes"]
    assert any("beside 20 to 79" in text for text in notes)
    made = f"{LABELS_TO_JSON} --sensitive code --na-values N/A --missing-groups group"
    groups = json.loads(audit(made)[1])["attributes"][1]
    assert [group["label"] for group in groups["aside"]] == [
        "Code Not Available",
        "(missing)",
    ]


@pytest.mark.slow
def test_spellings_are_told_with_how_to_replace_them(audit, table):
    table["sex"] = np.tile(["F", "F", "f", "Female", "M"], 40)
    table["race"] = np.tile(["B", "Black", "Brown", "W", "W"], 40)
    table["size"] = np.tile(["1", "10", "2", "2", "3"], 40)
    table.to_csv("table.csv", index=False)
    said = audit(LABELS_TO_JSON.replace("sex", "sex,race,size"))[2].err
    assert "column 'sex' has 'Female' (40) beside 'F' (80) and 'f' (40) beside" in said
    replaced = re.search(r"table\['sex'\]\.replace\((.*?)\)", said)[1]
    assert replaced == "{'Female': 'F', 'f': 'F'}"
    assert "column 'race'" not in said  # B begins two labels
    assert "column 'size'" not in said


# --- labels


@pytest.mark.slow
def test_one_decision_of_several_is_compared_with_the_others(audit, table):
    rng = np.random.default_rng(1)
    table["stage"] = rng.choice(["advance", "hold", "reject", "N/A"], 200)
    table.to_csv("table.csv", index=False)
    command = LABELS_TO_JSON.replace("label --pos-label yes", "stage")
    assert "try: python -m skfair audit" in audit(command)[2].err
    code, page, said = audit(f"{command} --pos-label advance")
    assert code == 0
    assert (
        "'advance' counts as positive, and 'N/A', 'hold' and 'reject' as neg"
        in said.err
    )
    rates = (table["stage"] == "advance").groupby(table["sex"]).mean()
    groups = json.loads(page)["attributes"][0]["results"][0]["groups"]
    assert [group["selection_rate"] for group in groups] == rates.tolist()


def test_labels_without_one_in_common(audit, table):
    """What stands together more often may mean the same, also of some rows."""
    table["truth"] = np.where(table["y"] == 1, "repaid", "default")
    table.loc[table["label"] == "no", "truth"] = None
    table.to_csv("table.csv", index=False)
    command = f"{LABELS_TO_JSON} --y-true truth --missing-values drop"
    code, _, said = audit(command)
    assert code == 2
    assert "'label' ('no' and 'yes') and 'truth' ('default' and 'repaid')" in said.err
    corrected = said.err.partition("try: python -m skfair audit ")[2].split()
    assert corrected[-4:] == ["--pos-label", "repaid", "--pos-label", "yes"]
    code, page, _ = audit(corrected, few=[])
    assert code == 4  # who has an outcome was approved
    assert json.loads(page)["n_rows"] == table["truth"].notna().sum()
    rate = (table["truth"] == "repaid").groupby(table["sex"]).sum()
    rate /= table["truth"].notna().groupby(table["sex"]).sum()
    groups = json.loads(page)["attributes"][0]["results"][0]["groups"]
    assert [group["base_rate"] for group in groups] == pytest.approx(rate.tolist())


@pytest.mark.slow
def test_labels_that_look_like_the_positive_one(audit, table):
    table["label"] = np.where(np.arange(200) % 20 == 0, "YES", table["label"])
    table.to_csv("table.csv", index=False)
    code, page, said = audit(LABELS_TO_JSON)
    assert (code, page) == (2, None)
    assert "label 'YES' looks like the positive label 'yes'" in said.err
    typed = said.err.partition("audit table.csv ")[2].split()
    code, page, _ = audit(["table.csv", *typed], few=[])
    positive = table["label"].isin(["yes", "YES"]).mean()
    rates = json.loads(page)["attributes"][0]["results"][0]["groups"]
    mean = sum(group["selection_rate"] * group["n"] for group in rates) / 200
    assert mean == pytest.approx(positive)


@pytest.mark.slow
def test_words_for_missing_among_two_labels(audit, table):
    table["y"] = table["y"].astype(object)
    table.loc[7, "y"] = "NA"
    table.loc[8, "sex"] = "NA"
    table.to_csv("table.csv", index=False)
    code, page, said = audit(NUMBERS)
    assert (code, page) == (2, None)
    assert "column 'y' has 'NA' in 1 row, the first in row 8 of table.csv" in said.err
    typed = said.err.partition("try: python -m skfair audit ")[2].split()
    code, page, said = audit(typed, few=[])
    assert code == 0, said.err
    assert json.loads(page)["n_rows"] == 199


def test_all_faults_are_told_at_once_with_the_command_without_them(audit, table):
    table["p"] = table["p"].map(lambda p: f"{p}".replace(".", ","))
    table.loc[:3, "truth"] = None
    table.loc[4:6, "sex"] = None
    table.to_csv("table.csv", sep=";", index=False)
    command = "table.csv --y-score p --y-true Truth --sensitive sex"
    code, page, said = audit(command)
    assert (code, page) == (2, None)
    *faults, corrected = said.err.splitlines()
    for fault, text in zip(
        faults,
        (
            "--out must name the file",
            "no column 'Truth'",
            "column 'p' must be numbers, got '0,",
            "label of column 'truth' ('no' and 'yes') is positive",
            "column 'truth' has 4 missing values, the first in row 1",
            "column 'sex' has 3 missing values, the first in row 5",
        ),
        strict=True,
    ):
        assert text in fault
    typed = shlex.split(corrected.partition("try: python -m skfair audit ")[2])
    code, _, said = audit([*typed, "--format", "json"])
    assert code == 0, said.err
    assert json.loads(Path("report.html").read_text("utf-8"))["n_rows"] == 196


# --- what is typed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--y-true y", "--y-true label"), "--pos-label"),
        pytest.param(
            ("--y-true y", "--y-true age"),
            "has the columns 'y', 'p', 'q',",
            marks=pytest.mark.slow,
        ),
        (("sex", "Sex"), "table.csv has no column 'Sex'. Is 'sex' meant?"),
        (("sex", "sex,ages,town"), "no column 'town'."),
        (
            ("--y-score p", "--y-score sex"),
            "column 'sex' must be numbers, got 'M' in row 1",
        ),
        pytest.param(
            ("--y-score p", "--y-score w"),
            "'w' must have probabilities, in [0, 1]",
            marks=pytest.mark.slow,
        ),
        (("--y-score p", ""), "--y-pred must name the column of decisions, or --y-"),
        (("--sensitive sex", ""), "--sensitive must name the columns of groups"),
        pytest.param(
            ("--sensitive sex", ""),
            "table.csv has the columns 'y', 'p', 'q', 'label',",
            marks=pytest.mark.slow,
        ),
        (("table.csv", "none.csv"), "none.csv does not exist"),
        (("table.csv", "none*.csv"), "none*.csv matches no file"),
        (("table.csv", "."), ". is a directory, expected a file"),
        pytest.param(
            ("out.html", "none/out.html"),
            "none/out.html is in a directory that does",
            marks=pytest.mark.slow,
        ),
        (("out.html", "out.pdf"), "--out out.pdf must end in .html"),
        (("--out out.html", "--out ."), ". is a directory"),
        (("--out out.html", ""), "--out must name the file to write"),
        pytest.param(
            ("--out", "--threshold -1 --out"),
            "--threshold must be in [0, 1]",
            marks=pytest.mark.slow,
        ),
        (("--out", "--min-group-size 0 --out"), "--min-group-size must be"),
        (("--out", "--jobs 0 --out"), "--jobs must be a number of processes"),
        (("--out", "--decimal , --thousands , --out"), "--thousands must differ fr"),
        (("--out", "--date 31.1.2026 --out"), "--date must be a date such as 2026-01"),
        pytest.param(
            ("--out", "--date table.csv --out"),
            "or have no value, got 'table.csv'",
            marks=pytest.mark.slow,
        ),
        (("--out", "--limit much --out"), "--limit must be NUMBER or METRIC=NUMBER"),
        (("--out", "--limit 1 --limit 0 --out"), "--limit must be one number, or M"),
        pytest.param(
            ("--out", "--limit 1 --limit mcdp=0 --out"),
            "--limit must be one number",
            marks=pytest.mark.slow,
        ),
        (("--out", "--limit 7 --out"), "--limit must be"),
        pytest.param(
            ("--out", "--limit mcdp=x --out"),
            "--limit must be NUMBER or METRIC=NUMBER",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("--out", "--limit mcdp=-1 --out"),
            "--limit must be",
            marks=pytest.mark.slow,
        ),
        (("--out", "--limit other=1 --out"), "--limit must be"),
    ],
)
def test_bad_arguments(audit, change, message):
    code, page, said = audit(GOOD.replace(*change))
    assert (code, page) == (2, None)
    assert said.out == ""
    assert said.err.startswith("skfair audit: error: ")
    assert message in said.err
    lines = said.err.splitlines()
    assert all(line.startswith("skfair audit: ") for line in lines)


def test_without_arguments_there_is_help(capsys):
    assert main([]) == 0
    assert "audit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("audt t.csv", "invalid choice: 'audt'"),
        ("audit --y-true y", "the following arguments are required: TABLE"),
        ("audit t.csv --missing-groups x", "invalid choice: 'x'"),
        ("audit t.csv --y_true y", "unrecognized arguments: --y_true y. Is --y-true m"),
        ("audit t.csv --sensitve sex", "Is --sensitive meant? skfair audit --help"),
        ("audit t.csv --sensitive sex, race", "commas and no spaces between them: --s"),
        ("audit t.csv --sensitive", "--sensitive: expected one argument"),
        ("audit t.csv --threshold 50%", "threshold: invalid float value: '50%'"),
        ("audit t.csv --sep ::", "must be one character or tab, got '::'"),
    ],
)
def test_misspelt_arguments_are_told_in_one_line(capsys, arguments, says):
    with pytest.raises(SystemExit) as caught:
        main(arguments.split())
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.startswith("skfair")
    assert " --help lists all options.\n" in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_names_may_have_spaces_after_commas(audit):
    arguments = [*LABELS_TO_JSON.split(), "--sensitive", "sex, code"]
    names = [one["name"] for one in json.loads(audit(arguments)[1])["attributes"]]
    assert names[:2] == ["sex", "code"]


def test_the_example_of_the_help_is_a_command(audit, table, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["audit", "--help"])
    example = capsys.readouterr().out.partition("\nexample:\n")[2]
    typed = shlex.split(example.replace("\\\n", " "))
    assert typed[:4] == ["python", "-m", "skfair", "audit"]
    table["decision"] = np.where(table["label"] == "yes", "approved", "denied")
    table["race"] = table["code"]
    table.to_csv("loans.csv", index=False)
    assert audit([*typed[4:], "--out", "out.json"])[0] == 0


def test_interrupted(audit, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(FairnessReport, "from_predictions", interrupt)
    assert audit(GOOD)[0] == 130


@pytest.mark.slow
def test_progress_on_a_terminal(audit, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    last = audit(NUMBERS)[2].err.split("\r")[-1].rstrip()
    assert re.fullmatch(r"FairnessReport: (\d+) of \1 draws", last)


@pytest.mark.parametrize(
    ("name", "sep", "options", "code", "says"),
    [
        pytest.param(
            "table.csv", ";", "--sep ;", 0, "out.html", marks=pytest.mark.slow
        ),
        ("table.csv", ";", "", 0, "out.html"),
        pytest.param("table.csv", "|", "", 0, "out.html", marks=pytest.mark.slow),
        pytest.param("table.tsv", "\t", "", 0, "out.html", marks=pytest.mark.slow),
        ("table.csv", ",", "--encoding utf-99", 2, "unknown encoding"),
        pytest.param(
            *("table.xlsx", ",", "", 2, "table.xlsx cannot be read"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_separators_and_encodings(audit, table, name, sep, options, code, says):
    table.to_csv(name, sep=sep, index=False)
    found, page, said = audit(f"{NUMBERS.replace('table.csv', name)} {options}")
    assert (found, page is None) == (code, code == 2)
    assert says in said.out + said.err


@pytest.mark.slow
def test_console_that_is_not_utf8(audit, table, monkeypatch):
    table.rename(columns={"sex": "\u05de\u05d9\u05df"}).to_csv("names.csv")
    console = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", console)
    arguments = NUMBERS.replace("table.csv", "names.csv")
    code, _, said = audit(arguments.replace(" sex ", " \u05de\u05d9\u05df "))
    console.flush()
    assert code == 0, said.err
    assert console.buffer.getvalue().split()[-1] == b"out.html"
    assert b"\\u05de" in console.buffer.getvalue()


# --- what is written


@pytest.mark.slow
@pytest.mark.promise("Exit code 3 says that a limit is exceeded")
def test_limits(audit):
    code, page, said = audit(f"{NUMBERS} --limit mcdp=0.001")
    assert code == 3
    assert page
    assert "limit: By sex, MCDP(0) is 0." in said.err
    assert "MCDP(0) is 0." in page
    assert audit(f"{NUMBERS} --limit mcdp=1 --limit madd=2")[0] == 0
    code, _, said = audit(f"{LABELS_TO_JSON} --limit mcdp=1")
    assert code == 3
    why = "it needs y_score; demographic_parity_difference compares decisions."
    assert f"mcdp was not computed, so not compared with 1: {why}" in said.err
    refused = audit(f"{LABELS_TO_JSON} --limit foo=1")[2].err
    assert "--limit must be 'impact_ratio', 'demo" in refused
    page = audit(f"{LABELS_TO_JSON} --limit 0.25")[1]
    assert json.loads(page)["settings"]["limit"] == 0.25


def test_the_four_fifths_rule(audit, table):
    rates = (table["label"] == "yes").groupby(table["sex"]).mean().sort_values()
    ratio = rates.iloc[0] / rates.iloc[1]
    for limit, code in ((ratio + 0.01, 3), (ratio - 0.01, 0)):
        found, page, said = audit(f"{LABELS_TO_JSON} --limit impact_ratio={limit}")
        assert found == code
        (text,) = json.loads(page)["verdict"]["leads"][0]["further"]
        side = "below" if code else "at least"
        assert f"is {ratio:.3f} times the highest, {rates.iloc[1]:.1%}" in text
        assert f"{side} the limit {limit:g}." in text
        assert (text in said.err) == (code == 3)
    groups = ["--sensitive", "label"]  # in which nobody, or everyone, is selected
    assert (
        audit([*LABELS_TO_JSON.split(), *groups, "--limit", "impact_ratio=0"])[0] == 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_record_of_input_and_date(audit, tmp_path, form):
    (tmp_path / "folder").mkdir()
    (tmp_path / "table.csv").rename(tmp_path / "folder" / "ta_b&le.csv")
    rest = LABELS.partition(" ")[2]
    arguments = f"folder/ta_b&le.csv {rest} --out out.html --format {form}"
    page, again = audit(arguments)[1], audit(arguments)[1]
    assert page == again
    names = {
        "html": "ta_b&amp;le.csv",
        "md": "ta\\_b&amp;le.csv",
        "json": "ta_b&le.csv",
    }
    content = (tmp_path / "folder" / "ta_b&le.csv").read_bytes()
    assert names[form] in page
    assert hashlib.sha256(content).hexdigest() in page
    assert "folder" not in page
    assert f"skfair {skfair.__version__}, seed 0" in page or form == "json"
    assert "Date" not in page
    assert "2026-01-31" in audit(f"{arguments} --date 2026-01-31")[1]
    if form == "json":
        today = datetime.date.today()
        dates = {json.loads(audit(f"{arguments} --date")[1])["date"]}
        assert dates <= {str(today), str(datetime.date.today())}
