"""Every technical term of a page is explained, and linked where it first stands."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

#: How each technical term is written on a page, and the entry that explains it. Terms
#: that no page has yet are among them: a page that begins to use one must explain it.
TERMS = {
    r"certified at most": "certified",
    r"\binterval(?! arithmetic)": "interval",
    r"chance alone|by chance|\bnoise\b": "chance",
    r"[Ss]ignificant|may be chance|\bHolm\b": "significant",
    r"p.values?\b|\bshuffles?\b|unadjusted": "pvalue",
    r"percentage points?|\bselected\b|selection rate|positive decision": "selected",
    r"\bthresholds?\b|\bscores? of at least": "threshold",
    r"truly|true label|\berrors\b": "label",
    r"average group|from the average": "average",
    r"[Cc]umulative|histogram": "distribution",
    r"[Aa]ccuracy": "accuracy",
    r"[Aa]verage precision|[Ll]og.loss": "quality",
    r"[Cc]alibrat|[Ss]core minus outcome": "calibration",
    r"\bstrat(a|um)\b": "stratum",
    r"[Ii]mpact ratio|[Ss]coring rate|\bmedian\b": "ratio",
    r"(?<![Ee]qualized )\bodds\b|[Bb]ounds by": "odds",
    r"\branks?\b": "rank",
    r"[Pp]ooled rate|\bmargins?\b": "pooled",
    r"\bseed\b": "seed",
    r"[Bb]ootstrap|\bresampl|\bWilson\b": "resample",
    r"\bMCDP\(0\)": "metric-mcdp",
    r"\bMCDP\(0\.\d+\)": "metric-mcdp_epsilon",
    r"\bABCC\b": "metric-abcc",
    r"\bMADD\b": "metric-madd",
    r"\bDCP\b": "metric-dcp",
    r"\bCVaR\b": "metric-cvar_fairness",
    r"[Ee]qualized odds": "metric-equalized_odds_difference",
    r"[Ee]ffective (sample )?(size|rows)": "effective",
    r"[Cc]hance level": "level",
    r"(?<!_)[Pp]ermutation": "permutation",
    r"[Ss]tandard error|\bvariance\b": "error",
    r"\bquantile|\bpercentile": "quantile",
    r"\bAUC\b|\bROC\b": "auc",
    r"[Kk]olmogorov": "metric-mcdp",
}
ACRONYM = re.compile(r"\b[A-Z]{2}[A-Za-z]*\b|\b[A-Z][a-z]?[A-Z]\w+")


class Page(HTMLParser):
    """Texts of a page with their place, entries, and links by place.

    A place is what has a heading of the second level, from that on; the head of the
    page belongs to the first.
    """

    def __init__(self, page):
        super().__init__()
        self.place, self.texts, self.links = "verdict", [], {}
        self.entries, self.entry, self.silent = {}, None, 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.silent += tag in ("style", "code", "svg", "title")
        if tag == "h2":
            self.place = given["id"]
        if tag == "a" and given["href"].startswith("#"):
            self.links.setdefault(self.place, set()).add(given["href"][1:])
        if tag == "dt" and "id" in given:
            self.entry = given["id"]
            self.links.setdefault(self.place, set()).add(self.entry)  # it is here
        if tag == "dd" and self.entry:
            self.entries[self.entry] = ""

    def handle_endtag(self, tag):
        self.silent -= tag in ("style", "code", "svg", "title")
        if tag == "dd":
            self.entry = None

    def handle_data(self, data):
        if self.silent:
            return
        text = " ".join(data.split())
        self.texts.append((self.place, text))
        if self.entry in self.entries:
            self.entries[self.entry] += text


def key_of(name):
    """Anchor of an entry."""
    return name if name.startswith("metric-") else f"word-{name}"


def missing(page):
    """Terms of a page without an entry, or without a link at their first place."""
    found = Page(page)
    for term, name in TERMS.items():
        places = [place for place, text in found.texts if re.search(term, text)]
        if places and len(found.entries.get(key_of(name), "").split()) < 4:
            yield term, "is not explained"
        elif places and key_of(name) not in found.links.get(places[0], ()):
            yield term, f"is not linked in {places[0]}"
    known = "|".join(TERMS)
    for _, text in found.texts:
        for acronym in ACRONYM.findall(re.sub(known, "", text)):
            yield acronym, "is an acronym without an entry"


def simulated(n_rows, shares, *, seed):
    """True labels, scores, decisions and two attributes with unequal groups."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {name: rng.choice(list(p), n_rows, p=list(p.values())) for name, p in shares}
    )
    shift = people.iloc[:, 0].ne(people.iloc[0, 0])
    score = rng.beta(2 + shift, 4).round(4)
    return (rng.random(n_rows) < score).astype(int), score, people


def adult_like(make_report):
    """Income of adults by sex and race, with impact ratios."""
    race = {"White": 0.8, "Black": 0.1, "Asian": 0.09, "Other": 0.01}
    shares = [("sex", {"Female": 0.33, "Male": 0.67}), ("race", race)]
    y_true, score, people = simulated(300, shares, seed=0)
    metrics = ["demographic_parity_difference", "mcdp", "mcdp_epsilon", "abcc", "madd"]
    return make_report(
        y_true,
        score,
        sensitive_features=people,
        impact_ratios=True,
        intersection=True,
        metrics=[*metrics, "equalized_odds_difference"],
    )


def compas_like(make_report):
    """Risk of 400 defendants on a scale that is not a probability, within strata."""
    race = {"African-American": 0.5, "Caucasian": 0.35, "Hispanic": 0.15}
    y_true, score, people = simulated(400, [("race", race)], seed=1)
    metrics = ["demographic_parity_difference", "mcdp", "abcc", "max_gap"]
    return make_report(
        y_true,
        np.ceil(10 * score),
        scale="rank",
        threshold=0.5,
        sensitive_features=people,
        control_features=np.where(np.arange(400) % 2, "felony", "misdemeanour"),
        metrics=[*metrics, "cvar_fairness", "equalized_odds_difference"],
    )


@pytest.fixture(scope="module")
def short_page(make_report):
    """Page on decisions alone, of two groups."""
    shares = [("sex", {"Female": 0.4, "Male": 0.6})]
    y_true, score, people = simulated(200, shares, seed=3)
    report = make_report(
        y_true,
        y_pred=(score > 0.3).astype(int),
        sensitive_features=people,
        metrics=["demographic_parity_difference", "equalized_odds_difference"],
    )
    return report.to_html()


@pytest.mark.promise("Every technical term of a page is explained on it")
def test_every_term_of_a_short_page_is_explained(short_page):
    assert list(missing(short_page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("table", [adult_like, compas_like])
def test_every_term_of_a_page_is_explained(make_report, table):
    page = table(make_report).to_html()
    assert list(missing(page)) == []
    found = Page(page)
    assert len(found.entries) > 15
    targets = set().union(*found.links.values())
    assert targets <= {*found.entries}
