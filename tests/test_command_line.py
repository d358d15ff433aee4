"""``python -m skfair audit``, on good files and bad ones."""

import datetime
import hashlib
import importlib.util
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair._cli._command_line import main
from skfair.groups import CROSS, encode_groups
from skfair.metrics import mcdp
from skfair.report import FairnessReport, verify_bundle

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

_SPEC = importlib.util.spec_from_file_location(
    "hostile_files", Path(__file__).with_name("hostile_files.py")
)
_FILES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_FILES)
HOSTILE = _FILES.HOSTILE

FEW = ["--resamples", "2", "--permutations", "0"]


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(200) < 0.4, "F", "M")
    p = generator.beta(2 + (sex == "M"), 3).round(3)
    return pd.DataFrame(
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


@pytest.fixture
def audit(table, tmp_path, monkeypatch, capsys):
    """Run the command on the table, and return the code, the page and what it said."""
    monkeypatch.chdir(tmp_path)
    table.to_csv("table.csv", index=False)

    def run(arguments, few=FEW):
        code = main(["audit", *arguments.split(), *few])
        said = capsys.readouterr()
        page = tmp_path / "out.html"
        return code, page.read_text("utf-8") if page.exists() else None, said

    return run


def source_of(path):
    """What the page says about its input."""
    return f"{path}, SHA-256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}"


GOOD = "table.csv --y-true y --y-score p --sensitive sex --out out.html"
# Without a page, which takes as long to draw as all else.
NUMBERS = f"{GOOD} --format json"


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
def test_labels_are_kept_as_written(audit):
    _, page, _ = audit(NUMBERS.replace("sex", "code"))
    assert "“01”" in page
    assert "“NA”" in page


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
    expected, found = (
        json.loads(audit(NUMBERS.replace(".csv", end))[1]) for end in (".csv", suffix)
    )
    assert f"{found['input']}, SHA-256 {found['sha256']}" == source_of(f"table{suffix}")
    for summary in (expected, found):
        del summary["input"], summary["sha256"]
    assert found == expected


def test_text_labels(audit):
    arguments = "table.csv --y-true truth --y-pred label --sensitive sex --out out.html"
    code, page, said = audit(arguments)
    assert (code, page) == (2, None)
    assert "--pos-label must say which of the labels" in said.err
    code, page, _ = audit(f"{arguments} --pos-label yes")
    assert code == 0
    assert "positive decision: “yes”" in page


@pytest.mark.slow
def test_numeric_pos_label(audit):
    written = audit(f"{NUMBERS} --pos-label 0")[1]
    assert json.loads(written)["positive"] == "0"


@pytest.mark.slow
def test_missing_groups(audit, table):
    table.loc[:19, "sex"] = None
    table.to_csv("table.csv", index=False)
    code, page, said = audit(NUMBERS)
    assert (code, page) == (2, None)
    assert "column 'sex' has 20 missing values, the first in line 2 of" in said.err
    page = audit(f"{NUMBERS} --missing drop")[1]
    assert "20 rows without a group" in page
    groups = encode_groups(table["sex"], missing="drop")
    value = mcdp(None, table["p"], sensitive_features=groups)
    measures = json.loads(page)["attributes"][0]["results"][0]["measures"]
    found = [m["value"] for m in measures if m["key"] == "mcdp"]
    assert found == [pytest.approx(value)]
    assert "(missing)" in audit(f"{NUMBERS} --missing group")[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--y-true y", "--y-true label"), "--pos-label"),
        (("--y-true y", "--y-true age"), "no column 'age'; it has ['y', 'p', 'q',"),
        (("sex", "sex,age,town"), "no column 'age', 'town'; it has"),
        (
            ("--y-score p", "--y-score sex"),
            "column 'sex' must be numbers, got 'M' in line 2",
        ),
        (("--y-score p", "--y-score w"), "y_score['w'] must lie in [0, 1], got 2"),
        (("--y-score p", ""), "--y-score or --y-pred must name a column"),
        (("table.csv", "none.csv"), "none.csv does not exist"),
        (("table.csv", "table.xls"), "must end in .csv, .tsv,"),
        (("out.html", "none/out.html"), "none/out.html is in a directory that does"),
        (("--out out.html", "--out ."), ". is a directory"),
        (("--sensitive", "--threshold 2 --sensitive"), "--threshold must be a number"),
        (("--sensitive", "--min-group-size 0 --sensitive"), "--min-group-size must be"),
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
    ("content", "message"),
    [
        (b"", "table.csv is empty, expected the names of columns"),
        (b"y,p,sex\n", "table.csv has 0 rows"),
        (b"y;p;sex\n1;0.5;F\n", "try --sep ';'"),
        (b"y,p,sex\n1,.5,F\n0,.5,M,x\n", "cannot be read as CSV"),
        (b"y,p,sex\n1,.5,F,x\n0,.5,M,x\n", "cannot be read as CSV"),
        (b"y,p,sex,p\n1,.5,F,1\n", "several columns 'p'"),
        (b"y,p,sex\n1,.5,\xff\n", "is not text in utf-8"),
        (
            b"y,p,sex\n1,,F\n0,.5,M\n",
            "column 'p' has 1 missing values, the first in line 2 of table.csv",
        ),
        (
            b"y,p,sex\n1,?,F\n0,.5,M\n",
            "must be numbers, got '?' in line 2",
        ),
        (b"y,p,sex\n,.5,F\n0,.5,M\n", "column 'y' has 1 missing"),
        (b"y,p,sex\n1,.5,F\n2,.5,M\n3,.5,M\n", "must be binary"),
    ],
)
def test_bad_files(audit, tmp_path, content, message):
    (tmp_path / "table.csv").write_bytes(content)
    code, page, said = audit(GOOD)
    assert (code, page) == (2, None)
    assert message in said.err
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err


def test_broken_parquet(audit, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "table.parquet").write_bytes(b"no table")
    code, _, said = audit(GOOD.replace(".csv", ".parquet"))
    assert code == 2
    assert said.err.startswith("skfair audit: error: ")


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["audit", "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert "python -m skfair audit predictions.csv --y-true y --y-score p" in shown
    assert "exit codes" in shown


def test_usage_errors_exit_with_2(audit, capsys):
    for arguments in ([], ["audit"], ["audit", "t.csv", "--missing", "x"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert " --help lists all options.\n" in capsys.readouterr().err


@pytest.mark.slow
def test_progress_on_a_terminal(audit, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = audit(NUMBERS)[2]
    last = said.err.split("\r")[-1].rstrip()
    assert re.fullmatch(r"FairnessReport: (\d+) of \1 draws", last)
    assert audit(f"{NUMBERS} --quiet")[2].err == ""


def test_interrupted(audit, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(FairnessReport, "from_predictions", interrupt)
    assert audit(GOOD)[0] == 130


@pytest.mark.slow
def test_same_seed_same_bytes(audit):
    assert audit(GOOD)[1] == audit(GOOD)[1]


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"skfair {skfair.__version__}"


@pytest.mark.slow
def test_as_a_module(audit, tmp_path):
    made = subprocess.run(
        [sys.executable, "-m", "skfair", "audit", *NUMBERS.split(), *FEW],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert made.returncode == 0
    assert (tmp_path / "out.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(audit, tmp_path, name):
    file = HOSTILE[name]
    (tmp_path / name).write_bytes(file.content)
    good = GOOD if "<" in file.content.decode("latin-1") else NUMBERS
    if "--sensitive" in file.options:
        good = good.replace("--sensitive sex ", "")
    arguments = f"{good.replace('table.csv', name)} {file.options}"
    code, page, said = audit(arguments)
    assert code == file.code, said.err
    assert (page is None) == (code == 2)
    assert file.message in said.out + said.err
    assert "<img" not in (page or "")


@pytest.mark.slow
def test_console_that_is_not_utf8(audit, tmp_path, monkeypatch):
    (tmp_path / "names.csv").write_bytes(HOSTILE["names.csv"].content)
    console = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", console)
    arguments = NUMBERS.replace("table.csv", "names.csv")
    code, _, said = audit(arguments.replace(" sex ", " \u05de\u05d9\u05df "))
    console.flush()
    assert code == 0, said.err
    assert console.buffer.getvalue().split()[-1] == b"out.html"
    assert b"\\u05de" in console.buffer.getvalue()


@pytest.mark.promise("Exit code 3 says that a limit is exceeded")
def test_limits(audit):
    code, page, said = audit(f"{NUMBERS} --limit mcdp=0.001")
    assert code == 3
    assert page
    assert "mcdp of p by sex is 0." in said.err
    assert audit(f"{NUMBERS} --limit mcdp=1 --limit madd=2")[0] == 0
    for bad in ("mcdp", "mcdp=x", "mcdp=-1", "other=1"):
        code, _, said = audit(f"{GOOD} --limit {bad}")
        assert code == 2
        assert "--limit must be" in said.err
    no_scores = NUMBERS.replace("--y-score p", "--y-pred y")
    code, _, said = audit(f"{no_scores} --limit mcdp=1")
    assert code == 3
    assert "not computed" in said.err


@pytest.mark.slow
def test_formats(audit, tmp_path):
    assert json.loads(audit(f"{GOOD} --format json")[1])["n_rows"] == 200
    page = audit(f"{GOOD} --format md --title <b>|x")[1]
    assert page.startswith("# &lt;b>\\|x\n")
    assert "| MCDP(0) | 0." in page
    assert "Impact ratio" not in page
    ratios = "--impact-ratios --min-share 0.02"
    page = audit(f"{GOOD} --format md {ratios}")[1]
    assert "### Impact ratios of scoring rates: " in page
    page = audit(f"{GOOD} --format md --control-features y")[1]
    assert "within each y, of which there are 2" in page
    code, _, said = audit(f"{GOOD} --impact-ratios --min-share 2")
    assert code == 2
    assert "--min-share must be a number in [0, 1), got 2.0" in said.err
    code, _, said = audit(f"{GOOD} --no-overwrite")
    assert code == 2
    assert "exists already" in said.err


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_record_of_input_and_date(audit, tmp_path, form):
    (tmp_path / "folder").mkdir()
    (tmp_path / "table.csv").rename(tmp_path / "folder" / "ta_b&le.csv")
    arguments = f"folder/ta_b&le.csv {GOOD.partition(' ')[2]} --format {form}"
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
    dated = audit(f"{arguments} --date 2026-01-31")[1]
    assert "2026-01-31" in dated
    today = datetime.date.today().isoformat()
    assert today in audit(f"{arguments} --date")[1] or today != str(
        datetime.date.today()
    )
    if form == "json":
        summary = json.loads(dated)
        assert summary["date"] == "2026-01-31"
        assert (
            FairnessReport(summary).to_html()
            == FairnessReport(json.loads(page)).to_html()
        )


@pytest.mark.parametrize("date", ["table.csv", "31.1.2026", "2026-02-30"])
def test_dates_that_are_none(audit, date):
    code, page, said = audit(f"{GOOD} --date {date}")
    assert (code, page) == (2, None)
    assert (
        f"--date must be a date such as 2026-01-31, or have no value, got '{date}'"
        in (said.err)
    )


def test_rows_without_an_outcome_are_left_out_and_named(audit, table, tmp_path):
    table.loc[:19, "y"] = None
    table.to_csv(tmp_path / "table.csv", index=False)
    code, page, said = audit(f"{NUMBERS} --missing drop --permutations 0")
    assert code == 0
    assert "20 rows without p, y are left out" in said.err
    summary = json.loads(page)
    assert summary["n_rows"] == 180
    assert summary["settings"]["left_out"] == {"n_rows": 20, "columns": ["p", "y"]}
    text = "20 rows without a value of “p” or “y” are left out of every number."
    assert summary["cautions"][0] == text
    command = f"{GOOD} --missing drop --permutations 0 --bundle bundle"
    code, page, said = audit(command)
    for shown in (text, "180 rows (20 more left out)"):
        assert shown in page
        assert shown in (tmp_path / "bundle" / "page.html").read_text("utf-8")
    assert verify_bundle(tmp_path / "bundle").ok
    code, page, said = audit(command.replace("out.html", "out.md"))
    assert "180 rows, 20 more left out." in (tmp_path / "out.md").read_text("utf-8")
    assert audit(f"{GOOD} --missing group")[0] == 2


@pytest.mark.parametrize("column", ["y", "p"])
def test_rows_that_are_alike(audit, table, tmp_path, column):
    table[column] = 1
    table.to_csv(tmp_path / "table.csv", index=False)
    code, page, _ = audit(f"{NUMBERS} --permutations 0")
    first = json.loads(page)["verdict"]["leads"][0]["text"].split(".")[0]
    assert first.startswith("There is nothing to compare")
    assert code == (4 if column == "p" else 0)


def test_lines_of_messages_are_those_of_the_file(audit, tmp_path):
    content = b'y,p,sex\n\n1,.5,"F\nF"\n0,2,M\n'
    (tmp_path / "table.csv").write_bytes(content)
    assert "in line 5 of table.csv" in audit(GOOD)[2].err


def test_few_permutations(audit):
    said = audit(f"{GOOD} --permutations 19", few=[])[2]
    assert "--permutations must be 0, or an integer of at least 59, got 19" in said.err
    assert "Holm" in said.err


@pytest.mark.slow
def test_bins(audit, tmp_path, table):
    table["sex"] = np.arange(200) % 72
    table.to_csv(tmp_path / "table.csv", index=False)
    code, _, said = audit(f"{NUMBERS} --min-group-size 2")
    assert code == 0
    assert "--bins sex=16,33,49 would compare ranges" in said.err
    code, page, _ = audit(f"{NUMBERS} --bins sex=18,36")
    assert code == 0
    for text in ("under 18", "18 to under 36", "36 and over"):
        assert text in page
    for bad in ("sex", "age=3", "sex=a", "sex=3,2", "sex=", "sex=inf"):
        code, _, said = audit(f"{GOOD} --bins {bad}")
        assert code == 2
        assert "--bins must" in said.err


PROXY = "table.csv --y-true y --y-score p --group-probability q --out out.html"


def test_bounds_by_a_proxy_are_those_of_the_library(audit, table):
    """Without groups: of cells of two columns, one of them a number in ranges."""
    code, page, said = audit(
        f"{PROXY} --proxy code,w --bins w=1 --odds-ratio 1,3,inf --proxy-limit 0.2"
        " --format json"
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
        odds_ratio=[1, 3, np.inf],
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
        code, page, _ = audit(f"{given} --missing {missing}")
        assert code == 0
        assert json.loads(page)["proxy"]["n_cells"] == n_cells
        assert json.loads(page)["n_rows"] == n_rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PROXY.replace("--group-probability q", ""), "--sensitive or --group-prob"),
        (f"{GOOD} --proxy code", "--proxy must be given with --group-probability"),
        (f"{PROXY} --odds-ratio 0.5", "--odds-ratio must be a number of at least 1"),
        (f"{PROXY} --proxy-limit 2", "--proxy-limit must"),
        (PROXY.replace(" q ", " w "), "group_probabilities must lie in [0, 1]"),
        (f"{PROXY} --engine duckdb", "--group-probability needs --engine pandas"),
    ],
)
def test_bad_options_of_a_proxy_are_named(audit, arguments, message):
    code, page, said = audit(arguments)
    assert (code, page) == (2, None)
    assert message in said.err


def test_odds_ratios_that_are_no_numbers_are_refused(audit, capsys):
    with pytest.raises(SystemExit) as stopped:
        audit(f"{PROXY} --odds-ratio 1,two")
    assert stopped.value.code == 2
    assert "must be numbers such as 1,1.5,inf, got '1,two'" in capsys.readouterr().err


def test_bounds_that_are_undefined_say_nothing(audit, table):
    table.assign(q=0.0).to_csv("table.csv", index=False)
    code, _, said = audit(f"{PROXY} --format json")
    assert code == 4
    assert "nothing could be compared" in said.err


@pytest.mark.slow
def test_rare_groups(audit, table):
    table["sex"] = np.where(np.arange(200) % 50 == 0, "X", table["sex"])
    table.loc[:2, "sex"] = "Y"
    table.to_csv("table.csv", index=False)

    def sizes(options):
        code, written, said = audit(f"{NUMBERS} --min-group-size 5 {options}")
        assert code == 0, said.err
        groups = json.loads(written)["attributes"][0]["groups"]
        return {group["label"]: group["n"] for group in groups}

    kept, dropped, merged = (
        sizes(f"--rare {how}") for how in ("keep", "drop", "merge")
    )
    assert merged == {**dropped, "(other)": 200 - sum(dropped.values())}
    assert set(dropped) == {"F", "M"} == set(kept)
