"""A repair written as SQL or as a table is that of `transform`."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skfair.frames import grouped_scores
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer
from skfair.postprocessing._repair_sql import thin_knots

duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
sqlglot = pytest.importorskip("sqlglot", reason="comes with SQLFrame")
CONNECTION = duckdb.connect()

HOSTILE = [
    "it's",
    "''",
    "\\",
    "\\' OR 1=1 --",
    "'; DROP TABLE people; --",
    'a "b" `c`',
    "x || y",
    "/* x",
    "F\nM",
    "",
    "Ünïcødé 语",
    "%s {0}",
]


def run(repairer, people, sensitive_features="sex", **options):
    """Repaired scores of a table, computed by DuckDB."""
    query = repairer.to_sql(
        "people", y_score="score", sensitive_features=sensitive_features, **options
    )
    CONNECTION.register("people", pl.DataFrame(people).to_arrow())
    return CONNECTION.sql(query).pl()


def draw(n=100, seed=0, labels=("F", "M")):
    """Scores with ties and both ends, of groups that differ."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % len(labels)
    scores = rng.beta(1 + codes, 3)
    scores[::3] = scores[::3].round(1)
    scores[:4] = [0, 1, 0, 1]
    return scores, [labels[code] for code in codes]


def assert_same_as_transform(repairer, labels, seed=1):
    """Compare on other scores, knots, the ends, and beyond them by rounding."""
    knots = np.concatenate([cdf.scores for cdf in repairer.cdfs_])
    scores = np.random.default_rng(seed).random(200)
    scores = np.concatenate([scores, knots, [0, 1, -1e-13, 1 + 1e-13, 5e-324]])
    scores = np.repeat(scores, len(labels))
    groups = list(labels) * (len(scores) // len(labels))
    found = run(repairer, {"score": scores, "sex": groups})
    expected = repairer.transform(scores, sensitive_features=groups)
    assert_allclose(found["repaired_score"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"repair_level": 0.4},
        {"repair_level": 0, "ties": "random"},
        {"max_mcdp": 0.1},
        {"calibrate": True},
    ],
    ids=str,
)
def test_sql_is_transform(options):
    scores, sex = draw()
    y = np.random.default_rng(0).random(len(scores)) < scores
    repairer = ScoreRepairer(**options).fit(scores, y, sensitive_features=sex)
    assert_same_as_transform(repairer, ["F", "M"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels",
    [HOSTILE, [3, -1, 2**40], [True, False], [0.1, 1.0]],
    ids=["text", "integers", "booleans", "floats"],
)
def test_labels(labels):
    scores, groups = draw(30 * len(labels), labels=labels)
    repairer = ScoreRepairer(0.7).fit(scores, sensitive_features=groups)
    assert_same_as_transform(repairer, labels)


LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(LABELS, min_size=2, max_size=3, unique=True))
def test_no_label_is_read_as_sql(labels):
    scores, groups = draw(60, labels=labels)
    repairer = ScoreRepairer().fit(scores, sensitive_features=groups)
    found = run(repairer, {"score": scores, "sex": groups})
    expected = repairer.transform(scores, sensitive_features=groups)
    assert_allclose(found["repaired_score"], expected, rtol=0, atol=1e-12)


@st.composite
def fitted_repairers(draw):
    """A fitted repairer with the labels of its groups: ties, levels, hostile labels."""
    labels = draw(
        st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=3, unique=True)
    )
    n_rows = draw(st.integers(2, 30)) * len(labels)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    decimals = draw(st.sampled_from([1, 2, 17]))
    scores = rng.beta(*rng.uniform(0.3, 3, 2), n_rows).round(decimals)
    groups = np.array(labels, dtype=object)[np.arange(n_rows) % len(labels)]
    y = np.arange(n_rows) // len(labels) % 2
    amount = draw(
        st.one_of(
            st.builds(lambda level: {"repair_level": level}, st.floats(0, 1)),
            st.builds(lambda gap: {"max_mcdp": gap}, st.floats(0, 1)),
        )
    )
    repairer = ScoreRepairer(**amount, calibrate=draw(st.booleans()))
    weights = rng.integers(1, 4, n_rows) if draw(st.booleans()) else None
    repairer.fit(scores, y, sensitive_features=groups, sample_weight=weights)
    return repairer, labels


@pytest.mark.slow
@settings(max_examples=100)
@given(fitted_repairers())
def test_any_map_in_sql_is_transform(fitted):
    assert_same_as_transform(*fitted)


@pytest.mark.slow
@given(fitted_repairers())
def test_any_map_as_a_table_is_transform(fitted):
    repairer, labels = fitted
    table = repairer.to_frame()
    for label in labels:
        pieces = table[table["group"] == label]
        assert pieces["score_from"].iloc[0] == 0
        assert pieces["score_to"].iloc[-1] == 1
        assert_array_equal(pieces["score_from"][1:], pieces["score_to"][:-1])
        inner = pieces["score_from"] + 0.3 * (pieces["score_to"] - pieces["score_from"])
        expected = pieces["repaired_from"] + 0.3 * (
            pieces["repaired_to"] - pieces["repaired_from"]
        )
        groups = np.full(len(pieces), label, dtype=object)
        found = repairer.transform(inner, sensitive_features=groups)
        if repairer.calibrator_ is not None:
            expected = repairer.calibrator_(expected.to_numpy())
        assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("dialect", "quote"),
    [
        ("postgres", '"'),
        ("snowflake", '"'),
        ("redshift", '"'),
        ("bigquery", "`"),
        ("spark", "`"),
        ("databricks", "`"),
        ("mysql", "`"),
    ],
)
def test_labels_are_literals_in_every_dialect(dialect, quote):
    labels = sorted({start + label for label in HOSTILE for start in ("", "'", "\\")})
    repairer = ScoreRepairer(0)
    repairer.fit(np.full(len(labels), 0.5), sensitive_features=labels)
    query = repairer.to_sql(
        "people", y_score="score", sensitive_features="sex", quote=quote
    )
    expressions = sqlglot.parse(query, dialect=dialect)
    assert len(expressions) == 1
    tests = [
        equality.expression
        for equality in expressions[0].find_all(sqlglot.exp.EQ)
        if equality.this.name == "sex"
    ]
    found = ["".join(read_text(test)) for test in tests]
    assert sorted(found) == labels


def read_text(expression):
    """Parts of a text that may be joined from literals and characters by code."""
    if isinstance(expression, sqlglot.exp.Literal):
        yield expression.this
    elif isinstance(expression, sqlglot.exp.Chr):
        yield chr(int(expression.expressions[0].this))
    else:
        assert isinstance(
            expression, sqlglot.exp.Paren | sqlglot.exp.DPipe | sqlglot.exp.Concat
        )
        for part in expression.args.values():
            for one in part if isinstance(part, list) else [part]:
                if isinstance(one, sqlglot.exp.Expression):
                    yield from read_text(one)


def test_names_are_quoted():
    scores, sex = draw(labels=['s"x', "M"])
    repairer = ScoreRepairer().fit(scores, sensitive_features=sex)
    query = repairer.to_sql(
        "people", y_score='a"b', sensitive_features="group", name="the `new` one"
    )
    people = pl.DataFrame({'a"b': scores, "group": sex})
    CONNECTION.register("people", people.to_arrow())
    found = CONNECTION.sql(query).pl()
    assert found.columns == ['a"b', "group", "the `new` one"]
    expected = repairer.transform(scores, sensitive_features=sex)
    assert_allclose(found["the `new` one"], expected, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_intersections():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 600), "old": rng.random(600) < 0.5}
    )
    scores = rng.beta(1 + people["old"] + (people["sex"] == "F"), 3)
    repairer = ScoreRepairer().fit(scores, sensitive_features=people)
    table = {"score": scores, "sex": people["sex"], "old": people["old"]}
    found = run(repairer, table, ["sex", "old"])["repaired_score"]
    expected = repairer.transform(scores, sensitive_features=people)
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert list(repairer.to_frame())[:2] == ["group_0", "group_1"]
    with pytest.raises(ValueError, match="must name 2 columns"):
        run(repairer, table, "sex")


ODD = {
    "score": [None, float("nan"), -0.1, 1.1, float("inf"), 0.5, 0.5, 0.5],
    "sex": ["F", "F", "F", "F", "F", None, "X", "F"],
}


def test_what_cannot_be_repaired_is_null():
    scores, sex = draw()
    fitted = ScoreRepairer().fit(scores, sensitive_features=sex)
    found = run(fitted, ODD)["repaired_score"].is_null()
    assert found.to_list() == [True] * 7 + [False]


def test_unknown_groups_keep_their_scores_if_pooled():
    scores, sex = draw()
    pooled = ScoreRepairer(unknown_groups="pooled").fit(scores, sensitive_features=sex)
    found = run(pooled, ODD)["repaired_score"]
    assert found.is_null().to_list() == [True] * 5 + [False] * 3
    assert found[5] == found[6] == 0.5


def test_missing_groups_keep_their_scores_where_fit_has_left_rows_out():
    scores, sex = draw()
    groups = encode_groups([None, *sex[1:]], missing="drop")
    fitted = ScoreRepairer().fit(scores, sensitive_features=groups)
    found = run(fitted, ODD)["repaired_score"]
    assert found.is_null().to_list() == [True] * 5 + [False, True, False]
    assert found[5] == 0.5


@pytest.mark.parametrize("labels", [("F", "M"), (1, 2)])
def test_null_is_the_group_of_missing_values(labels):
    scores, groups = draw(labels=[*labels, None])
    encoded = encode_groups(groups, missing="group")
    repairer = ScoreRepairer().fit(scores, sensitive_features=encoded)
    found = run(repairer, {"score": scores, "sex": groups})["repaired_score"]
    expected = repairer.transform(scores, sensitive_features=encoded)
    assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_table_joined_is_transform():
    scores, sex = draw(5000)
    repairer = ScoreRepairer(0.8).fit(scores, sensitive_features=sex)
    people = pl.DataFrame({"score": scores, "sex": sex})
    query = """
        SELECT score, sex, repaired_from + (score - score_from)
            / (score_to - score_from) * (repaired_to - repaired_from) AS repaired
        FROM people ASOF JOIN pieces
        ON sex = "group" AND score >= score_from
    """
    CONNECTION.register("people", people.to_arrow())
    CONNECTION.register("pieces", pl.DataFrame(repairer.to_frame()).to_arrow())
    found = CONNECTION.sql(query).pl()
    assert len(found) == len(scores)
    expected = repairer.transform(found["score"], sensitive_features=found["sex"])
    assert_allclose(found["repaired"], expected, rtol=0, atol=1e-12)


def test_scores_are_learnt_from_and_repaired_where_they_are():
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 5000)
    people = pl.DataFrame({"score": rng.beta(2 + (sex == "F"), 3), "sex": sex})
    CONNECTION.register("people", people.to_arrow())
    names = {"y_score": "score", "sensitive_features": "sex"}
    repairer = ScoreRepairer(max_mcdp=0.05)
    repairer.fit(grouped_scores(CONNECTION.table("people"), **names))
    repaired = CONNECTION.sql(repairer.to_sql("people", **names, tol=0.001))
    names["y_score"] = "repaired_score"
    assert mcdp(None, grouped_scores(repaired, **names)) == pytest.approx(
        0.05, abs=0.015
    )


def test_strata_have_maps_of_their_own():
    scores, sex = draw(400)
    tall = np.arange(400) % 4 < 2
    repairer = ScoreRepairer()
    repairer.fit(scores, sensitive_features=sex, control_features=tall)
    with pytest.raises(ValueError, match="stratum_repairers_"):
        repairer.to_frame()
    of_first = repairer.stratum_repairers_[0]
    found = run(of_first, {"score": scores[~tall], "sex": np.array(sex)[~tall]})
    expected = repairer.transform(
        scores[~tall],
        sensitive_features=np.array(sex)[~tall],
        control_features=tall[~tall],
    )
    assert_allclose(found["repaired_score"], expected, rtol=0, atol=1e-12)


# --- fewer pieces


@st.composite
def increasing_knots(draw):
    n = draw(st.integers(2, 30))
    steps = st.lists(st.floats(0, 1), min_size=n, max_size=n)
    x = np.cumsum(np.array(draw(steps)) + 5e-324)
    y = np.cumsum(draw(steps))
    return x, y / max(y[-1], 1)


@pytest.mark.slow
@given(increasing_knots(), st.floats(1e-6, 1))
def test_thin_knots_stay_within_the_tolerance(knots, tol):
    x, y = knots
    x, first = np.unique(x, return_index=True)
    y = y[first]
    thin_x, thin_y = thin_knots(x, y, tol)
    assert (thin_x[0], thin_x[-1]) == (x[0], x[-1])
    scaled = [values * 2.0**100 for values in (x, thin_x)]  # slopes are finite
    assert np.abs(np.interp(*scaled, thin_y) - y).max() <= tol + 1e-12
    assert len(thin_x) - 1 <= 2 / tol + 1
    assert_array_equal(thin_knots(x, y, 0.0), [x, y])


def test_a_tolerance_bounds_the_size():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.beta(2, 3, 20_000), rng.beta(3, 2, 20_000)])
    sex = np.repeat(["F", "M"], 20_000)
    repairer = ScoreRepairer().fit(scores, sensitive_features=sex)
    assert len(repairer.to_frame()) > 39_000
    for tol in (0.01, 0.001):
        table = repairer.to_frame(tol=tol)
        assert len(table) < 0.5 / tol
        for label, part in table.groupby("group"):
            new = np.linspace(0, 1, 5001)
            groups = np.full(len(new), label)
            expected = repairer.transform(new, sensitive_features=groups)
            knots = (
                np.append(part["score_from"], 1),
                np.append(part["repaired_from"], 1),
            )
            assert np.abs(np.interp(new, *knots) - expected).max() <= tol
    query = repairer.to_sql("x", y_score="s", sensitive_features="g", tol=0.01)
    assert len(query) < 170 * len(repairer.to_frame(tol=0.01)) + 400


# --- errors


def test_errors():
    scores, sex = draw()
    names = {"y_score": "score", "sensitive_features": "sex"}
    random = ScoreRepairer(ties="random").fit(scores, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"ties must be 'mid'"):
        random.to_frame()
    fitted = ScoreRepairer().fit(scores, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"tol must be a number in \[0, 1\]"):
        fitted.to_sql("x", **names, tol=-1)
    with pytest.raises(ValueError, match="quote must be"):
        fitted.to_sql("x", **names, quote="'")
    with pytest.raises(TypeError, match="must be text, got 3"):
        fitted.to_sql("x", **names | {"y_score": 3})
    for label in ("a\0b", pd.Timestamp(0), float("inf")):
        dated = ScoreRepairer().fit([0.1, 0.2], sensitive_features=[label] * 2)
        with pytest.raises(ValueError, match="which SQL cannot hold"):
            dated.to_sql("x", **names)
