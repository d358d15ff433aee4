"""``python -m skfair audit`` and ``verify``: what is typed, said, and written."""

import datetime
import hashlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair._cli._main import main
from skfair.groups import CROSS, encode_groups
from skfair.metrics import impact_ratios, mcdp
from skfair.report import FairnessReport, public_summary, verify_bundle

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

FEW = ["--resamples", "2", "--permutations", "0"]
GOOD = "table.csv --y-true y --y-score p --sensitive sex --out out.html"
# Without a page, which takes as long to draw as all else.
NUMBERS = f"{GOOD} --format json"
LABELS = "table.csv --y-pred label --pos-label yes --sensitive sex"
LABELS_TO_JSON = f"{LABELS} --out out.html --format json"


#: The table has a group "NA".
pytestmark = pytest.mark.filterwarnings("ignore:.*looks like a missing value")


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
            "code": np.where(generator.random(200) < 0.5, "01", "NA"),
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
    ("scores", "attributes"),
    [
        (["p"], ["sex"]),
        pytest.param(["p", "q"], ["sex", "code"], marks=pytest.mark.slow),
    ],
    ids=["one column", "several columns"],
)
@pytest.mark.promise("The command writes the page of the library")
def test_report_is_that_of_the_library(audit, table, scores, attributes):
    code, page, said = audit(
        f"table.csv --y-true y --y-score {','.join(scores)}"
        f" --sensitive {','.join(attributes)} --out out.html --title Audit"
        " --seed 3 --min-group-size 5 --threshold 0.4 --sample-weight w",
        few=["--resamples", "2", "--permutations", "59"],
    )
    assert code == 0
    report = FairnessReport.from_predictions(
        table["y"],
        table[scores],
        sensitive_features=table[attributes],
        sample_weight=table["w"],
        threshold=0.4,
        min_group_size=5,
        n_resamples=2,
        n_permutations=59,
        random_state=3,
        title="Audit",
    )
    assert page == report.to_html(source=source_of("table.csv"))
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
    assert labels == ["01", "NA"]  # as they are written


def test_labels_of_text_and_numbers(audit):
    code, page, said = audit(LABELS_TO_JSON.replace("--pos-label yes", ""))
    assert (code, page) == (2, None)
    assert "--pos-label must say which of the labels" in said.err
    code, page, said = audit(LABELS_TO_JSON.replace("yes", "Yes"))
    assert (code, page) == (2, None)
    assert "--pos-label must be a label of column 'label'" in said.err
    assert "which has 'no' and 'yes', got 'Yes'" in said.err
    assert json.loads(audit(LABELS_TO_JSON)[1])["positive"] == "yes"
    assert json.loads(audit(f"{NUMBERS} --pos-label 0")[1])["positive"] == "0"


def test_a_score_and_a_decision_are_one_model(audit):
    page = audit(f"{LABELS_TO_JSON} --y-score p --y-true truth")[1]
    assert [model["name"] for model in json.loads(page)["models"]] == ["p"]


def test_a_threshold_has_the_unit_of_the_score(audit, table):
    table.assign(p=(1000 * table["p"]).round()).to_csv("table.csv", index=False)
    code, _, said = audit(f"{NUMBERS} --threshold 480")
    assert code == 2
    assert "--threshold must be in [0, 1], as probabilities are, got 480" in said.err
    decided = (table["p"] >= 0.48).groupby(table["sex"]).mean()
    for truth in ("", " --pos-label 0", " --y-true truth --pos-label no"):
        code, page, said = audit(f"{NUMBERS} --threshold 480 --scale rank{truth}")
        assert code == 0, said.err
        groups = json.loads(page)["attributes"][0]["results"][0]["groups"]
        assert [group["selection_rate"] for group in groups] == pytest.approx(
            decided.tolist()
        )


def test_missing_groups(audit, table):
    table.loc[:19, "sex"] = None
    table.to_csv("table.csv", index=False)
    code, page, said = audit(NUMBERS)
    assert (code, page) == (2, None)
    assert "column 'sex' has 20 missing values, the first in line 2 of" in said.err
    page = audit(f"{NUMBERS} --missing drop")[1]
    assert "20 rows (10.0%) without a group" in page
    groups = encode_groups(table["sex"], missing="drop")
    value = mcdp(None, table["p"], sensitive_features=groups)
    measures = json.loads(page)["attributes"][0]["results"][0]["measures"]
    found = [m["value"] for m in measures if m["key"] == "mcdp"]
    assert found == [pytest.approx(value)]
    assert "(missing)" in audit(f"{NUMBERS} --missing group")[1]


@pytest.mark.slow
def test_rows_without_an_outcome_are_left_out_and_named(audit, table, tmp_path):
    table.loc[:19, "y"] = None
    table.to_csv("table.csv", index=False)
    code, page, said = audit(f"{NUMBERS} --missing drop")
    assert code == 0
    assert "20 rows without p, y are left out" in said.err
    summary = json.loads(page)
    assert summary["n_rows"] == 180
    left_out = summary["settings"]["left_out"]
    assert (left_out["n_rows"], left_out["columns"]) == (20, ["p", "y"])
    assert sum(group["n"] for group in left_out["groups"]) % 20 == 0
    text = "20 rows (10.0%) without a value of “p” or “y” are left out of every number."
    assert summary["cautions"][0].startswith(f"{text} Of each group these are: “sex: ")
    code, page, said = audit(f"{GOOD} --missing drop --bundle bundle")
    for shown in (text, "180 rows (20 more left out)"):
        assert shown in page
        assert shown in (tmp_path / "bundle" / "page.html").read_text("utf-8")
    assert verify_bundle(tmp_path / "bundle").ok
    assert audit(f"{GOOD} --missing group")[0] == 2


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


@pytest.mark.slow
def test_ranges_of_numbers(audit, table):
    """Also of strata, and of a column that is the score, too."""
    table["age"] = np.arange(200) % 72
    table.to_csv("table.csv", index=False)
    ages = LABELS_TO_JSON.replace("sex", "age")
    said = audit(f"{ages} --min-group-size 2")[2]
    assert "--bins age=16,33,49 would compare ranges" in said.err
    ranges = ["under 18", "18 to under 36", "36 and over"]
    summary = json.loads(audit(f"{ages} --bins age=18,36")[1])
    assert [group["label"] for group in summary["attributes"][0]["groups"]] == ranges
    page = audit(f"{LABELS_TO_JSON} --control-features code,age --bins age=40")[1]
    assert json.loads(page)["attributes"][0]["results"][0]["strata"]["n_strata"] == 4
    command = "table.csv --y-score p --sensitive p --bins p=0.4 --out out.html"
    summary = json.loads(audit(f"{command} --format json")[1])
    assert len(summary["attributes"][0]["groups"]) == 2
    for bad in ("sex", "weight=3", "age=a", "age=3,2", "age=", "age=inf"):
        code, _, said = audit(f"{ages} --bins {bad}")
        assert code == 2
        assert "--bins must" in said.err


PROXY = "table.csv --y-true y --y-score p --group-probability q --out out.html"


@pytest.mark.slow
def test_bounds_by_a_proxy_are_those_of_the_library(audit, table):
    """Without groups: of cells of two columns, one of them a number in ranges."""
    code, page, said = audit(
        f"{PROXY} --proxy code,w --bins w=1 --limit 0.2 --format json"
    )
    assert code == 0
    found = json.loads(page)["proxy"]
    assert (found["names"], found["n_cells"]) == (CROSS.join(["code", "w"]), 4)
    report = FairnessReport.from_predictions(
        table["y"],
        {"p": table["p"]},
        group_probabilities=table[["q"]],
        cells=table[["code"]].assign(
            w=np.where(table["w"] < 1, "under 1", "1 and over")
        ),
        proxy_limit=0.2,
        n_resamples=2,
        n_permutations=0,
        random_state=0,
    )
    assert found["results"] == report.summary["proxy"]["results"]
    assert found["groups"][0]["label"] == "not q"
    assert f"By the proxy ({CROSS.join(['code', 'w'])})" in said.out


@pytest.mark.slow
def test_missing_proxies_are_an_error_a_cell_or_left_out(audit, table):
    table.loc[:20, "sex"] = None
    table.to_csv("table.csv", index=False)
    given = f"{PROXY} --proxy sex --format json"
    code, _, said = audit(given)
    assert code == 2
    assert "column 'sex' has 21 missing values" in said.err
    for missing, n_cells, n_rows in (("group", 3, 200), ("drop", 2, 179)):
        page = audit(f"{given} --missing {missing}")[1]
        assert json.loads(page)["proxy"]["n_cells"] == n_cells
        assert json.loads(page)["n_rows"] == n_rows


# --- what looks odd


def test_labels_that_look_alike_are_told_and_mended(audit, table):
    table["sex"] = np.where(np.arange(200) % 20 == 0, "f", table["sex"])
    table["label"] = np.where(np.arange(200) % 20 == 0, "YES", table["label"])
    table.loc[5, "sex"] = "F "  # spaces around a cell do not count
    table.to_csv("table.csv", index=False)
    _, page, said = audit(LABELS_TO_JSON)
    assert page is None  # three labels, one of them positive
    assert "column 'sex' has 'f' (10) beside 'F' (" in said.err
    assert "--replace sex:f=F reads them as one" in said.err
    assert "--replace label:YES=yes" in said.err
    mended = f"{LABELS_TO_JSON} --replace sex:f=F --replace label:YES=yes"
    code, page, said = audit(mended)
    assert (code, said.err) == (0, "")
    labels = [group["label"] for group in json.loads(page)["attributes"][0]["groups"]]
    assert labels == ["F", "M"]


@pytest.mark.slow
def test_numbers_that_may_be_missing_are_told_and_mended(audit, table):
    table["age"] = np.arange(200) % 60 + 20
    table.loc[:2, "age"] = [0, 999, 999]
    table.to_csv("table.csv", index=False)
    ages = f"{LABELS_TO_JSON.replace('sex', 'age')} --bins age=40"
    said = audit(ages)[2].err
    assert "column 'age' has 0 (1 row) and 999 (2 rows) beside 20 to 79" in said
    assert "--replace age:0= --replace age:999= makes it missing" in said
    mended = f"{ages} --replace age:0= --replace age:999= --missing drop"
    code, page, said = audit(mended)
    assert (code, said.err) == (0, "")
    assert json.loads(page)["attributes"][0]["n_missing"] == 3


@pytest.mark.slow
def test_repeated_identifiers_are_told_and_left_out(audit, table):
    table["person_id"] = np.arange(200) // 1 - 10 * (np.arange(200) >= 190)
    table.to_csv("table.csv", index=False)
    said = audit(LABELS_TO_JSON)[2].err
    assert "column 'person_id' has 10 values that an earlier row has, too" in said
    _, page, said = audit(f"{LABELS_TO_JSON} --drop-repeated person_id")
    assert json.loads(page)["n_rows"] == 190
    assert "10 rows with a repeated 'person_id' are left out" in said.err
    assert "10 rows with a repeated 'person_id' left out" in json.loads(page)["input"]


def test_columns_that_may_not_be_meant(audit, table):
    table["town"] = [f"town {i}" for i in range(200)]
    table["born"] = pd.date_range("1950-01-01", periods=200).strftime("%d.%m.%Y")
    table.to_csv("table.csv", index=False)
    said = audit(LABELS_TO_JSON.replace("sex", "town,born"))[2].err
    assert "column 'town' has 200 groups, half of them of 1 row at most: is it" in said
    assert "column 'born' has 200 groups, each a date" in said


@pytest.mark.slow
def test_labels_without_one_in_common(audit, table):
    """What stands together more often may mean the same, also of some rows."""
    table["truth"] = np.where(table["y"] == 1, "repaid", "default")
    table.loc[table["label"] == "no", "truth"] = None
    table.to_csv("table.csv", index=False)
    command = f"{LABELS_TO_JSON} --y-true truth --missing drop"
    code, _, said = audit(command)
    assert code == 2
    assert "'truth' ('default' and 'repaid') and 'label' ('no' and 'yes')" in said.err
    typed = "--replace label:no=default --replace label:yes=repaid"
    assert typed in said.err
    code, page, _ = audit(f"{command.replace(' yes ', ' repaid ')} {typed}")
    assert code == 4  # who has an outcome was approved
    assert json.loads(page)["n_rows"] == table["truth"].notna().sum()


# --- what is typed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--y-true y", "--y-true label"), "--pos-label"),
        (("--y-true y", "--y-true age"), "no column 'age'; it has ['y', 'p', 'q',"),
        (("sex", "Sex"), "no column 'Sex'; it has"),
        (("sex", "Sex"), "Is 'sex' meant?"),
        (("sex", "sex,ages,town"), "no column 'ages', 'town'; it has"),
        (
            ("--y-score p", "--y-score sex"),
            "column 'sex' must be numbers, got 'M' in line 2",
        ),
        (("--y-score p", "--y-score w"), "y_score['w'] must lie in [0, 1], got 2"),
        (("--y-score p", ""), "--y-score or --y-pred must name a column"),
        (("--sensitive sex", ""), "--sensitive or --group-probability must name"),
        (("table.csv", "none.csv"), "none.csv does not exist"),
        (("table.csv", "none*.csv"), "none*.csv matches no file"),
        (("table.csv", "table.xls"), "must end in .csv, .tsv,"),
        (("table.csv", "."), ". is a directory, expected a file"),
        (("out.html", "none/out.html"), "none/out.html is in a directory that does"),
        (("out.html", "out.pdf"), "--out out.pdf must end in .html"),
        (("--out out.html", "--out ."), ". is a directory"),
        (("--out out.html", ""), "--out or --bundle must name what is to be written"),
        (("--out", "--threshold -1 --out"), "--threshold must be a number"),
        (("--out", "--min-group-size 0 --out"), "--min-group-size must be"),
        (("--out", "--jobs 0 --out"), "--jobs must be a number of processes"),
        (("--out", "--impact-ratios --min-share 2 --out"), "--min-share must be a num"),
        (("--out", "--replace sex=F --out"), "--replace must be COLUMN:OLD=NEW, got"),
        (("--out", "--proxy code --out"), "--proxy must be given with --group-prob"),
        (("--out", "--min-cell 5 --out"), "--min-cell must be given with --bundle"),
        (("--out", "--date 31.1.2026 --out"), "--date must be a date such as 2026-01"),
        (("--out", "--date table.csv --out"), "or have no value, got 'table.csv'"),
        (("--out", "--limit much --out"), "--limit must be NUMBER or METRIC=NUMBER"),
        (("--out", "--limit 1 --limit 0 --out"), "--limit must have one number"),
        (("--out", "--limit 7 --out"), "--limit must be"),
        (("--out", "--limit mcdp=x --out"), "--limit must be METRIC=NUMBER"),
        (("--out", "--limit mcdp=-1 --out"), "--limit must be"),
        (("--out", "--limit other=1 --out"), "--limit must be"),
        (("--y-score p", "--y-score p --group-probability w"), "must lie in [0, 1]"),
    ],
)
def test_bad_arguments(audit, change, message):
    code, page, said = audit(GOOD.replace(*change))
    assert (code, page) == (2, None)
    assert said.out == ""
    assert said.err.startswith("skfair audit: error: ")
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("audt t.csv", "invalid choice: 'audt'"),
        ("audit --y-true y", "the following arguments are required: table"),
        ("audit t.csv --missing x", "invalid choice: 'x'"),
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


def test_names_may_have_spaces_after_commas(audit):
    arguments = [*LABELS_TO_JSON.split(), "--sensitive", "sex, code"]
    names = [one["name"] for one in json.loads(audit(arguments)[1])["attributes"]]
    assert names[:2] == ["sex", "code"]


def test_help_begins_with_the_cases_of_an_auditor(capsys):
    for command in "audit", "monitor", "verify":
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert "exit codes" in shown
        if command == "audit":
            head = shown.partition("positional arguments")[0]
            cases = "Decisions only", "A score and a decision", "Outcomes of the approv"
            assert [head.index(case) for case in cases] == sorted(
                head.index(case) for case in cases
            )


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
        ("table.csv", ";", "--sep ;", 0, "out.html"),
        ("table.tsv", "\t", "", 0, "out.html"),
        ("table.csv", ",", "--encoding utf-99", 2, "unknown encoding"),
        ("table.xlsx", ",", "", 2, "cannot be read as .xlsx"),
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
    assert "mcdp of p by sex is 0." in said.err
    assert audit(f"{NUMBERS} --limit mcdp=1 --limit madd=2")[0] == 0
    code, page, said = audit(f"{LABELS_TO_JSON} --limit mcdp=1 --limit 0.25")
    assert code == 3
    assert "not computed" in said.err
    assert json.loads(page)["settings"]["limit"] == 0.25


@pytest.mark.parametrize(
    "form",
    [*(pytest.param(form, marks=pytest.mark.slow) for form in ("html", "md")), "json"],
)
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


def test_a_bundle_is_written_and_verified(audit, table, tmp_path, capsys):
    code, _, said = audit(f"{LABELS} --bundle filed --out page.md --min-cell 20")
    assert code == 0
    assert said.out.splitlines()[-2:] == ["page.md", "filed"]
    digest = hashlib.sha256(Path("table.csv").read_bytes()).hexdigest()
    manifest = json.loads(Path("filed/manifest.json").read_text())
    assert manifest["input"] == {"sha256": digest}
    assert main(["verify", "filed"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "numbers computed again" in said[0]
    assert said[-1] == "agrees: page, summary and statistics"
    summary = Path("filed/summary.json")
    assert json.loads(summary.read_text())["settings"]["min_cell"] == 20
    summary.write_text(summary.read_text().replace("0.", "0.1", 1))
    assert main(["verify", "filed"]) == 1
    said = capsys.readouterr()
    assert "differs: summary.json does not have" in said.err
    assert "agrees" not in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--bundle filed --min-cell 1", "--min-cell must be an integer"),
        ("--bundle table.csv", "is a file, expected a directory"),
        ("--bundle .", "holds nothing but a bundle"),
        ("--bundle a/b", "directory that does not exist"),
    ],
)
def test_bad_arguments_of_a_bundle(audit, arguments, message):
    code, _, said = audit(f"{LABELS} {arguments}")
    assert code == 2
    assert message in said.err


@pytest.mark.parametrize("path", ["nothing", "table.csv"])
def test_bundles_that_are_none(table, capsys, path):
    assert main(["verify", path]) == 2
    assert f"{path} is no directory, as `skfair audit --bundle` writes" in (
        capsys.readouterr().err
    )


# --- the public summary of Local Law 144

FIELDS = ["--date", "2026-03-02", "--distribution-date", "2025-11-10"]
FIELDS += ["--source", "Applications | 2025"]
PUBLIC = "table.csv --pos-label yes --sensitive sex,code --public-summary public.md"


@pytest.mark.parametrize(
    ("columns", "rate"),
    [
        (["--y-pred", "label"], "selection"),
        pytest.param(["--y-score", "p"], "scoring", marks=pytest.mark.slow),
    ],
)
def test_public_summary_is_that_of_the_function(audit, table, columns, rate):
    table.loc[5:11, "sex"] = None
    table.to_csv("table.csv", index=False)
    rest = ["--min-group-size", "1", "--missing", "drop"]
    code, page, said = audit([*PUBLIC.split(), *FIELDS, *columns, *rest])
    assert (code, page) == (0, None)
    assert said.out.splitlines()[-1] == "public.md"
    labels = (table["label"] == "yes").astype(int)
    expected = public_summary(
        impact_ratios(
            None,
            labels if rate == "selection" else table["p"],
            sensitive_features=table[["sex", "code"]],
            rate=rate,
        ),
        audit_date="2026-03-02",
        distribution_date="2025-11-10",
        source="Applications | 2025",
        rate=rate,
    )
    found = Path("public.md").read_text()
    for sex in "FM":  # a report writes an intersection with commas
        found = found.replace(f"{sex}, ", f"{sex}{CROSS}")
    assert found == expected + "\n"
    assert "unknown category: 7 by sex; 0 by code; 7 by sex" in found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (FIELDS[2:], "--public-summary must be given with --date."),
        (FIELDS[:2] + FIELDS[4:], "must be given with --distribution-date."),
        ([*FIELDS[:4], "--source", " "], "must be given with --source."),
        ([*FIELDS, "--distribution-date", "May"], "--distribution-date must be a date"),
        ([*FIELDS, "--y-pred", "label,truth"], "must be of one model of classes"),
        ([*FIELDS, "--scale", "real"], "must be of one model of classes"),
        ([*FIELDS, "--public-summary", "table.csv"], "--public-summary table.csv is"),
    ],
)
def test_bad_arguments_of_a_public_summary(audit, arguments, message):
    code, _, said = audit([*PUBLIC.split(), "--y-pred", "label", *arguments])
    assert code == 2
    assert message in said.err
