"""Every message of a report is in every catalogue, with the same braces."""

import ast
import json
import re
import string
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair._cli._command_line import main
from skfair._utils._language import (
    LANGUAGES,
    catalogue,
    figure,
    in_unit,
    number,
    points,
    say,
    speaking,
)
from skfair.groups import CROSS, encode_groups
from skfair.inspection import CDFGapDisplay, GroupGapDisplay, ProxyBoundsDisplay
from skfair.inspection._style import MARK_UNITS, SCORE_LABELS
from skfair.report import FairnessReport, _data_report, _names, _words, markdown_table
from skfair.report._metrics import (
    FURTHER_QUESTIONS,
    MEASURES,
    QUESTIONS,
    QUESTIONS_OF_NUMBERS,
)
from skfair.report._page import _html
from skfair.report._page._markdown import (
    OF_GROUPS,
    OF_METRICS,
    OF_RATIOS,
    OF_STRATA,
    OF_TESTS,
    RATIOS,
    SECTIONS,
)

FOLDER = Path(skfair.__file__).parent
IN_TEMPLATE = re.compile(r"""\b(?:say|marked)\(\s*(?:"([^"]*)"|'([^']*)')""")
NOUNS = "row", "group", "model", "file", "cell", "column"
STATES = "beyond chance", "may be chance", "not asked", "not computable", "not tested"
STATUS = "highest", "compared", "excluded", "unknown"


def messages():
    """Every message of a report, from the code, the templates and the tables."""
    questions = QUESTIONS | QUESTIONS_OF_NUMBERS
    found = {
        *QUESTIONS.values(),
        *FURTHER_QUESTIONS.values(),
        *QUESTIONS_OF_NUMBERS.values(),
        *OF_GROUPS.values(),
        *OF_RATIOS.values(),
        *SECTIONS,
    }
    found |= {
        *RATIOS.values(),
        *OF_METRICS.values(),
        *OF_STRATA.values(),
        *OF_TESTS.values(),
        *STATES,
        *STATUS,
    }
    found |= {*questions, "predictions", *_words._CANNOT_SHOW, _words.DEFAULT_TITLE}
    found |= {_data_report.DEFAULT_TITLE}
    for texts in (
        _words.CONCLUSIONS,
        _words.OF_ATTRIBUTES,
        _words.BESIDE_LIMIT,
        _words.COUNTED_IN_INTERVALS,
    ):
        found |= {*texts.values()}
    found |= {noun + end for noun in NOUNS for end in ("", "s")}
    found |= {
        text
        for one in MEASURES.values()
        for text in (
            one.title,
            one.definition,
            one.definition_of_ranks,
            one.by_chance,
            "" if callable(one.sentence) else one.sentence,
            one.sentence_of_ranks,
        )
    }
    found |= {
        "Date",
        "Input",
        *MARK_UNITS.values(),
        *SCORE_LABELS.values(),
        *_names.NO_NAMES,
    }
    places = "report/**/*.py", "_cli/*.py", "inspection/*.py", "_utils/_language.py"
    for path in (path for place in places for path in FOLDER.glob(place)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "say",
                "Unnamed",
            ):
                found |= {*literals(node.args[0])}
    for path in FOLDER.glob("report/**/*.html"):
        for groups in IN_TEMPLATE.findall(path.read_text("utf-8")):
            found.add("".join(groups))
    return found - {""}


def in_language(report, code):
    with report._in(code) as summary:
        return summary


def literals(node):
    """Every text that an expression may be, as far as it is written out."""
    if isinstance(node, ast.IfExp):
        return [*literals(node.body), *literals(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) else []


def braces(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def tags(text):
    return sorted(re.findall(r"<[^>]+>", text))


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_a_catalogue_has_every_message_and_no_other(language):
    assert set(catalogue(language)) == messages()


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_translations_keep_braces_and_markup(language):
    for message, text in catalogue(language).items():
        assert text.strip()
        assert braces(text) == braces(message), message
        assert tags(text) == tags(message), message


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("report/**/*.html")), ids=lambda path: path.name
)
def test_templates_have_no_words_of_their_own(path):
    text = re.sub(
        r"{{.*?}}|{%.*?%}|{#.*?#}", "", path.read_text("utf-8"), flags=re.DOTALL
    )
    shown = re.sub(r"<[^>]*>", "", text).replace("skfair", "")
    assert re.findall(r"[A-Za-z]{2,}", shown) == []
    labels = re.findall(r'(?:aria-label|data-label|alt|title)="([^"]*)"', text)
    assert re.findall(r"[A-Za-z]{2,}", " ".join(labels)) == []


@pytest.fixture(scope="module")
def pair(make_report, scored):
    """Report in English and in German, with all that a page may leave out.

    There are many groups, small ones, rows without a group or a stratum, strata with
    one group and with small ones, and metrics that are undefined in some or in all.
    """
    y_true, y_score, people = scored
    generator = np.random.default_rng(0)
    towns = generator.choice([f"town {i}" for i in range(12)], 600).astype(object)
    towns[:3], towns[3:5] = "town 99", None
    y_true, sex = y_true.copy(), people["sex"].to_numpy().astype(object)
    y_true[(np.arange(600) < 150) & (sex == sex[0])] = 0
    wards = (np.arange(600) // 150).astype(object)
    wards[450:590], wards[590:595] = 9, None
    sex[450:585] = sex[450]
    groups = {"sex": sex, "Rows": encode_groups(towns, missing="drop")}
    made = {}
    for language in LANGUAGES:
        made[language] = make_report(
            y_true,
            {"Accuracy": y_score},
            sensitive_features=groups,
            group_probabilities=np.where(y_score > 0.5, 0.8, 0.3),
            impact_ratios=True,
            control_features=encode_groups(wards, missing="drop", min_group_size=6),
            metrics=[
                "demographic_parity_difference",
                "mcdp",
                "equalized_odds_difference",
                "dcp",
            ],
            n_resamples=2,
            language=language,
        )
    return made


class Words(HTMLParser):
    """Texts of a page and of its labels, without the style and code."""

    def __init__(self):
        super().__init__()
        self.found, self.silent = [], 0

    def handle_starttag(self, tag, attrs):
        self.silent += tag in ("style", "code")
        self.found += [v for k, v in attrs if k in ("aria-label", "data-label") and v]

    def handle_endtag(self, tag):
        self.silent -= tag in ("style", "code")

    def handle_data(self, data):
        if not self.silent:
            self.found.append(" ".join(data.split()))


#: What a second reading of the German page found: wrong case, number or wording.
NO_GERMAN = re.compile(
    r"\b(von|in|mit|aus) alle zusammen|minus den |[Vv]on den [01] |\b1 Schichten"
    r"|gegeben den|zertifiziert|an jeder Schwelle$|als (der )?Zufall erkl|\bder der\b"
)


def texts_of(summary):
    """All texts in a summary."""
    if isinstance(summary, (dict, list)):
        parts = summary.values() if isinstance(summary, dict) else summary
        return [text for part in parts for text in texts_of(part)]
    return [summary] if isinstance(summary, str) else []


def test_german_sentences_are_german(make_report, scored):
    """Of one and of many groups, strata and tests."""
    y_true, y_score, people = scored
    towns = np.arange(600) % 12
    many = make_report(
        y_true,
        y_score,
        sensitive_features={"Ort": [f"Ort {town}" for town in towns]},
        control_features=["x"] * 600,
        metrics=["mcdp", "abcc", "equalized_odds_difference"],
        language="de",
    )
    one = make_report(
        y_true,
        np.where(people["sex"] == people["sex"][0], 0.9, 0.1) * y_score,
        sensitive_features={"Geschlecht": people["sex"]},
        metrics=["mcdp"],
        language="de",
    )
    found = [*catalogue("de").values(), *texts_of([many.summary, one.summary])]
    text = "\n".join(found)
    assert [part for part in found if NO_GERMAN.search(part)] == []
    for phrase in (
        "Scores an irgendeiner Schwelle",
        "Ergebnis",
        "und zwar stärker, als sich durch Zufall erklären lässt.",
        "hängen stärker von der Gruppe ab, als sich durch Zufall erklären lässt.",
        "nachweislich höchstens ",
        "„alle zusammen“",
        "(Schicht; Anzahl: 1; 600 Zeilen)",
        "Zahl der Tests in diesem Bericht: {n}, davon",
    ):
        assert phrase in text, phrase


LITTLE = re.compile(
    r"\b(the|and|of|is|are|with|without|than|groups?|rows?|each|from|by|only|no|label)\b"
)


def words(page):
    parser = Words()
    parser.feed(page)
    return parser.found


@pytest.mark.slow
def test_no_english_is_left_on_a_german_page(pair):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    english, german = (words(pair[name].to_html()) for name in LANGUAGES)
    assert len(english) == len(german) > 500
    found = [text for text in german if LITTLE.search(text)]
    assert found == []
    assert len([text for text in english if LITTLE.search(text)]) > 50


@pytest.mark.slow
def test_reasons_are_in_the_language_of_the_report(pair):
    """Every text that is the same in both languages is a name or a number."""
    english, german = (pair[name].summary for name in LANGUAGES)
    strata = german["attributes"][0]["results"][0]["strata"]
    assert [(one["label"], one["reason"]) for one in strata["left_out"]] == [
        ("3", "nur 5 Zeilen"),
        ("9", "nur „M“ hat 10 Zeilen oder mehr"),
        ("0", "ohne „M“ mit dem wahren Label „1“ (0)"),
    ]
    assert "innerhalb der Schichten verglichen (Schicht; " in strata["sentence"]
    assert LITTLE.findall(pair["de"].to_markdown()) == []
    same = same_texts(english, german)
    assert same <= {*NAMES, "MCDP(0)", "DCP", "F", "M", "0", "1", "2", "3", "9"}


NAMES = "sex", "Rows", f"sex{CROSS}Rows", "Accuracy"
#: Parts of a summary that are no text of a page, or are translated where it is made.
NO_TEXTS = {"versions", "calls", "key", "metric", "question", "comparison", "kind"}
NO_TEXTS |= {"format", "status", "state", "scale", "call", "shares", "unnamed"}


def same_texts(first, second):
    """Texts of two summaries that are the same, but for names of towns and marks."""
    if isinstance(first, dict):
        parts = (same_texts(first[k], second[k]) for k in first if k not in NO_TEXTS)
        return set().union(*parts)
    if isinstance(first, list):
        return set().union(*map(same_texts, first, second))
    if not isinstance(first, str) or first != second:
        return set()
    return {re.sub(r"([FM], )?town \d+", "", first)} - {""}


def test_names_that_nobody_gave_are_in_the_language_of_the_report(make_report):
    scores, groups = (
        np.linspace(0, 1, 60),
        encode_groups(np.array(["a", "b", None] * 20), missing="group"),
    )
    options = {"language": "de", "metrics": ["max_gap"]}
    report = make_report(None, scores, sensitive_features=groups, **options)
    text = report.to_markdown()
    assert "Gruppe, Modell" in text
    assert "(fehlt)" in text
    columns = np.array([["a", "b"] * 30, ["c", "c", "d"] * 20]).T
    found = make_report(None, scores, sensitive_features=columns, **options)
    assert found.summary["attributes"][0]["name"] == "Attribut 1"
    english = found.to_markdown(language="en")
    assert f"## attribute 1{CROSS}attribute 2, model" in english
    assert "(missing)" in report.to_markdown(language="en")


@pytest.mark.parametrize(
    "name",
    [
        "unnamed",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("several", "columns", "classes", "numbers", "one group")
        ),
    ],
)
def test_a_report_is_written_in_either_language(make_report, scored, name):
    """Whatever a report is made in, it is written as if made in the other."""
    y_true, y_score, people = scored
    groups = encode_groups(np.array(["x", None, "y"] * 200), missing="group")
    given = {
        "unnamed": (y_true, y_score, {"sensitive_features": groups}),
        "several": (
            y_true,
            {"a": y_score, "model": y_score**2},
            {
                "sensitive_features": {"sex": people["sex"], "group": groups},
                "limit": 0.1,
                "impact_ratios": True,
            },
        ),
        "columns": (
            None,
            y_score,
            {"sensitive_features": people.to_numpy()},
        ),
        "classes": (
            y_true + (y_score > 0.8),
            None,
            {"y_pred": y_true, "sensitive_features": people["sex"]},
        ),
        "numbers": (
            y_true,
            y_score,
            {"scale": "real", "sensitive_features": people["sex"]},
        ),
        "one group": (
            y_true,
            y_score,
            {"scale": "rank", "sensitive_features": ["x"] * 595 + ["y"] * 5},
        ),
    }
    true, score, options = given[name]
    light = {"n_permutations": 0, **options}
    if name == "unnamed":
        light |= {"n_permutations": 59, "metrics": ["mcdp", "max_gap"]}
    english, german = (
        make_report(true, score, n_resamples=1, language=language, **light)
        for language in LANGUAGES
    )
    for one, other, code in (english, german, "de"), (german, english, "en"):
        restored = FairnessReport(json.loads(json.dumps(one.summary)))
        assert in_language(restored, code) == other.summary
        assert restored.to_markdown(language=code) == other.to_markdown()
        assert restored.to_markdown() != other.to_markdown()
    with pytest.raises(ValueError, match="language must be"):
        english.to_html(language="xx")


@pytest.mark.slow
def test_all_that_a_page_has_is_written_in_either_language(pair):
    """Strata, a proxy, small groups, and impact ratios."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    english, german = pair["en"], pair["de"]
    before = json.dumps(english.summary)
    assert in_language(english, "de") == german.summary
    assert in_language(german, "en") == english.summary
    assert english.to_html(language="de") == german.to_html()
    assert german.to_html(language="en") == english.to_html()
    assert json.dumps(english.summary) == before


@pytest.mark.slow
def test_numbers_are_the_same_and_labels_stay(pair):
    frames = {language: report.to_frame() for language, report in pair.items()}
    numbers = ["value", "lower", "upper", "null_mean", "pvalue"]
    assert frames["en"][numbers].equals(frames["de"][numbers])
    assert list(frames["de"]["attribute"].unique()) == [
        "sex",
        "Rows",
        f"sex{CROSS}Rows",
    ]
    assert set(frames["de"]["model"]) == {"Accuracy"}
    english, german = (frames[name]["sentence"][0] for name in LANGUAGES)
    shares = re.findall(r"([\d.]+)%", english)
    assert shares == [x.replace(",", ".") for x in re.findall(r"([\d,]+)\xa0%", german)]
    assert "town 3" in pair["de"].to_markdown()


@pytest.mark.slow
def test_a_restored_report_keeps_its_language(pair):
    again = FairnessReport(json.loads(json.dumps(pair["de"].summary)))
    assert again.to_markdown() == pair["de"].to_markdown()
    assert again.to_markdown().startswith("# Fairnessbericht\n\n600 Zeilen.")


@pytest.mark.slow
def test_a_language_ends_with_its_report(pair):
    assert say("Rows") == "Rows"
    with speaking("de"):
        assert (say("Rows"), figure("2,000.5")) == ("Zeilen", "2.000,5")
    assert (say("Rows"), figure("2,000.5")) == ("Rows", "2,000.5")


@pytest.mark.slow
def test_a_page_does_not_depend_on_the_language_of_the_page_before(pair):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    pages = []
    for languages in ("en", "de"), ("de", "en"):
        _html._environment.cache_clear()
        pages.append({name: pair[name].to_html() for name in languages})
    assert pages[0] == pages[1]


def test_unknown_language(make_report, scored):
    y_true, y_score, people = scored
    with pytest.raises(ValueError, match=r"language must be .*'de'.* got 'xx'"):
        make_report(y_true, y_score, sensitive_features=people["sex"], language="xx")


@pytest.mark.slow
def test_command_line(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 2},{i % 7 / 7:.2f},{i % 3}\n" for i in range(80))
    (tmp_path / "t.csv").write_text("y,p,g\n" + rows)
    given = "audit t.csv --y-true y --y-score p --sensitive g --out r.html --quiet"
    few = "--resamples 2 --permutations 59 --language de --bins g=1,2.5"
    assert main([*given.split(), *few.split()]) == 0
    page = (tmp_path / "r.html").read_text("utf-8")
    assert '<html lang="de">' in page
    assert "Was dieser Bericht nicht zeigen kann" in page
    assert "1 bis unter 2,5" in page


def test_small_negative_numbers_are_zeros_without_a_sign():
    assert number(-0.0001) == number(0.0001) == "0.000"
    assert points(-0.0001) == "0.0"
    assert in_unit(-1e-14, width=1.0) == "0.000"
    assert number(-0.0006) == "-0.001"
    table = pd.DataFrame({"value": [-0.0001, 0.5]})
    assert "| 0 | 0.000 |" in markdown_table(table)


def test_pictures_are_in_the_language_that_is_spoken():
    pytest.importorskip("matplotlib")
    groups = np.repeat(["a", "b", "c"], 1200)
    with speaking("de"):
        cdfs = CDFGapDisplay.from_predictions(
            None, np.linspace(0, 1, 3600), sensitive_features=groups
        )
        many = GroupGapDisplay.from_predictions(
            None, np.arange(4500) % 3 > 0, sensitive_features=np.arange(4500) % 45
        )
        bounds = ProxyBoundsDisplay(
            odds_ratio=np.array([1.0, 2.0]),
            lower=np.array([0.2, 0.1]),
            upper=np.array([0.2, 0.4]),
            unbounded=(0.0, 0.75),
            limit=0.1,
            tipping=2.0,
            metric="mcdp",
        ).plot()
        axes = bounds.ax_.xaxis, bounds.ax_.yaxis
        ticks = [t.get_text() for axis in axes for t in axis.get_ticklabels()]
    assert {"1,5", "0,2"} <= {*ticks}
    assert not any("." in tick for tick in ticks)
    *named, mark = (text.get_text() for text in cdfs.ax_.get_legend().get_texts())
    assert named == ["a (n = 1.200)", "b (n = 1.200)", "c (n = 1.200)"]
    assert mark == "MCDP(0) = 1,000, Score 0,333\na und b"
    assert many.ax_.get_ylabel() == "45 Gruppen, größter Abstand zuerst"
    assert many.ax_.get_xlabel() == "Abstand der Auswahlrate vom Durchschnitt"
