"""A bundle is verified without rows, and whatever is changed in it is found."""

import datetime
import hashlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.inspection import explained_gap
from skfair.report import FairnessReport, _bundle, verify_bundle

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

LIGHT = ["mcdp", "demographic_parity_difference", "equalized_odds_difference"]
SHA = hashlib.sha256(b"rows").hexdigest()


@pytest.fixture(scope="module")
def light(make_report, scored):
    """Report on one model, an attribute and three metrics."""
    y_true, y_score, people = scored
    return make_report(
        y_true, y_score, sensitive_features={"sex": people["sex"]}, metrics=LIGHT
    )


@pytest.fixture(scope="module")
def files(light, tmp_path_factory):
    """The files of its bundle."""
    folder = tmp_path_factory.mktemp("bundle") / "report"
    light.to_bundle(folder, date="2026-01-31", source="rows.csv", sha256=SHA)
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def verify(tmp_path):
    """Write files, and verify them."""

    written = {}

    def check(files, *, hashed=False):
        files = dict(files)
        if hashed:
            manifest = json.loads(files["manifest.json"])
            manifest["files"] = {
                name: hashlib.sha256(files[name].encode()).hexdigest()
                for name in manifest["files"]
            }
            files["manifest.json"] = _bundle._dump(manifest)
        for name, text in files.items():
            if written.get(name) != text or not (tmp_path / name).exists():
                data = text.encode("utf-8", "surrogateescape")
                (tmp_path / name).write_bytes(data)
                written[name] = text
        return verify_bundle(tmp_path)

    return check


def round_trip(report, folder, **options):
    """Bundle of a report: what verifying it finds, and its summary."""
    report.to_bundle(folder, **options)
    found = verify_bundle(folder)
    return found, json.loads((folder / "summary.json").read_text())


def forged(folder, summary):
    """What verifying finds where the summary and its hash are replaced."""
    text = _bundle._dump(summary)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["summary.json"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "summary.json").write_text(text)
    (folder / "manifest.json").write_text(_bundle._dump(manifest))
    return verify_bundle(folder)


def assert_same(first, second):
    assert [*_bundle._differences("summary", first, second)] == []


def test_a_bundle_is_verified_and_has_the_report(light, files, verify):
    found, summary = verify(files), json.loads(files["summary.json"])
    assert found.ok
    assert found.problems == ()
    assert found.n_verified > 200
    names = {"null_mean", "pvalue", "without_test", "pairs"}
    n_drawn = sum(1 for path in numbers(summary["attributes"]) if names & {*path})
    assert f"draws of the rows ({n_drawn} numbers)" in found.not_verified[0]
    assert_same(light.summary, summary)
    assert f"SHA-256 {SHA}" in files["page.html"]


def cases(scored):
    """Arguments of reports of every kind."""
    y_true, y_score, people = scored
    rng = np.random.default_rng(0)
    names = np.array(["no", "yes"])
    some = np.where(rng.random(len(y_true)) < 0.1, None, people["sex"])
    missing = encode_groups(some, missing="drop")
    place = rng.choice(["north", "south"], len(y_true))
    classes = rng.integers(0, 3, len(y_true))
    many = rng.integers(0, 14, len(y_true)).astype(str)
    born = np.array([datetime.date(1990, 1, 1), datetime.date(2000, 1, 1)])
    one = {"sensitive_features": {"sex": people["sex"]}}
    n, real = len(y_true), {"scale": "real", **one}
    predicted = np.exp(9 + 2 * y_score + rng.normal(0, 0.3, n)).round()
    salary = predicted + rng.normal(0, 3_000, n)
    return {
        "labels": (y_true, None, {"y_pred": y_score > 0.4, **one}),
        "text labels": (
            names[y_true],
            None,
            {"y_pred": names[(y_score > 0.4) * 1], "pos_label": "yes", **one},
        ),
        "no true labels": (None, y_score, one),
        "decisions only": (None, None, {"y_pred": (y_score > 0.4) * 1, **one}),
        "several classes": (classes, None, {"y_pred": rng.permutation(classes), **one}),
        "ranks": (y_true, 5 * y_score - 2, {"scale": "rank", **one}),
        "whole weights": (
            y_true,
            y_score,
            {"sample_weight": rng.integers(0, 3, len(y_true)), **one},
        ),
        "weights": (y_true, y_score, {"sample_weight": rng.random(len(y_true)), **one}),
        "missing groups": (
            y_true,
            y_score,
            {"sensitive_features": {"sex": missing}, "impact_ratios": True},
        ),
        "strata": (y_true, y_score, {"control_features": place, **one}),
        "many groups": (y_true, y_score, {"sensitive_features": many}),
        "dates": (y_true, y_score, {"sensitive_features": born[y_true]}),
        "several models": (
            y_true,
            {"plain": y_score, "flat": np.sqrt(y_score)},
            {
                "y_pred": {"labels": (y_score > 0.3) * 1},
                "sensitive_features": people["race"],
            },
        ),
        "proxy": (y_true, y_score, {"group_probabilities": y_score.round(1)}),
        "numbers": (salary, predicted, {**real, "control_features": place}),
        "numbers alone": (None, predicted, {**real, "sensitive_features": missing}),
        "weighted numbers": (
            salary,
            {"one": predicted, "other": predicted.round(-3)},
            {**real, "sensitive_features": people, "sample_weight": rng.random(n)},
        ),
        "numbers by weights": (
            salary,
            predicted,
            {**real, "sample_weight": rng.integers(0, 3, n)},
        ),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("index", range(18))
def test_every_kind_of_report(index, make_report, scored, schema, tmp_path):
    """It is verified, with small cells and without, and conforms to the schema."""
    y_true, y_score, options = [*cases(scored).values()][index]
    report = make_report(y_true, y_score, **{"metrics": None} | options)
    found, summary = round_trip(report, tmp_path / "all")
    assert found.problems == ()
    assert_same(report.summary, summary)
    assert conforms(summary, schema, schema["$defs"])
    found, summary = round_trip(report, tmp_path / "new", min_cell=4)
    assert found.problems == ()
    assert summary["settings"]["min_cell"] == 4
    assert summary["n_rows"] <= report.summary["n_rows"]
    for rows in cells_of(tmp_path / "new"):
        assert rows.min() >= 4
    if summary["proxy"] is not None:
        assert summary["proxy"]["smallest_cell"] >= 4


@pytest.mark.slow
def test_rows_that_an_engine_counts_are_verified(make_scored_people, tmp_path):
    y_true, y_score, people = make_scored_people(60_000)
    report = FairnessReport.from_frame(
        people.assign(y=y_true, p=y_score, q=y_score**2),
        y_true="y",
        y_score=["p", "q"],
        sensitive_features=["sex", "race"],
        metrics=LIGHT,
        n_permutations=59,
        random_state=0,
    )
    found, summary = round_trip(report, tmp_path)
    assert found.problems == ()
    assert_same(report.summary, summary)


def mutate(text, rng):
    """Change a digit, a letter, or the order of two parts of a text."""
    at = int(rng.integers(len(text)))
    kind = rng.integers(3)
    digits = [i for i in range(at, len(text)) if text[i].isdigit()]
    if kind == 0 and digits:
        i = digits[0]
        return (
            text[:i]
            + str((int(text[i]) + int(rng.integers(1, 10))) % 10)
            + text[i + 1 :]
        )
    if kind == 1:
        return text[:at] + chr((ord(text[at]) + 1) % 128) + text[at + 1 :]
    return text[:at] + text[at + 1 :]


@pytest.mark.parametrize(
    "n", [10, pytest.param(200, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_mutations_are_found(n, files, verify):
    assert_mutations_are_found(files, verify, n)


def assert_mutations_are_found(files, verify, n):
    rng = np.random.default_rng(n)
    names = sorted(files)
    for i in range(n):
        name = names[i % len(names)]
        changed = {**files, name: mutate(files[name], rng)}
        if i % 10 == 0:  # two files are swapped
            other = names[(i // 10) % (len(names) - 1)]
            changed = {**files, names[-1]: files[other], other: files[names[-1]]}
        assert changed != files
        assert not verify(changed).ok, (i, name)


def numbers(value, path=()):
    """Paths to all numbers of JSON."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from numbers(one, (*path, key))
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from numbers(one, (*path, i))
    elif type(value) in (int, float):
        yield path


def is_stated(path):
    """Whether a number is one that statistics do not determine."""
    stated = {"null_mean", "pvalue", "pairs", "without_test", "r2_lower", "r2_upper"}
    return (
        path[-1] in stated or "beside_first" in path or path[0] in ("settings", "title")
    )


def with_number(summary, path, change):
    """Copy of a summary in which one number is changed."""
    changed = json.loads(json.dumps(summary))
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = change(at[path[-1]])
    return changed


def assert_forgeries_are_found(files, verify, n):
    summary, rng = json.loads(files["summary.json"]), np.random.default_rng(1)
    paths = [path for path in numbers(summary) if not is_stated(path)]
    for i in rng.choice(len(paths), n, replace=False):

        def change(value):
            return value + 1 if type(value) is int else value * (1 + 1e-7) + 1e-7

        forged = with_number(summary, paths[i], change)
        found = verify({**files, "summary.json": _bundle._dump(forged)}, hashed=True)
        assert any("the statistics give" in text for text in found.problems), paths[i]


def test_a_forged_number_is_found_though_its_hash_is_forged(files, verify):
    assert verify(files, hashed=True).ok
    assert_forgeries_are_found(files, verify, 2)


@pytest.mark.slow
@pytest.mark.promise("Every forged number of a bundle is found")
def test_forged_numbers_are_found(files, verify):
    # Were 2 % of all numbers believed, one of them would be among these in 95 %.
    assert_forgeries_are_found(files, verify, 150)


@pytest.mark.slow
def test_a_forged_text_group_count_and_page_are_found(files, verify):
    summary = json.loads(files["summary.json"])
    verdict = json.loads(files["summary.json"])
    verdict["verdict"]["leads"][0]["text"] = "All is well."
    label = json.loads(files["summary.json"])
    label["attributes"][0]["groups"][0]["label"] += "x"
    short = {**summary, "cautions": ["None."]}
    for forged in (verdict, label, short):
        changed = {**files, "summary.json": _bundle._dump(forged)}
        assert not verify(changed, hashed=True).ok
    page = files["page.html"].replace("2026-01-31", "2026-01-30")
    found = verify({**files, "page.html": page}, hashed=True)
    assert found.problems == ("page.html is not the page of summary.json.",)
    statistics = json.loads(files["statistics.json"])
    statistics["models"][0]["n"][0] += 1
    found = verify({**files, "statistics.json": _bundle._dump(statistics)}, hashed=True)
    assert not found.ok


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("summary.json", "[" * 100_000 + "]" * 100_000 + "\n"),
        ("summary.json", '{"a":' * 100_000 + "1" + "}" * 100_000 + "\n"),
        ("statistics.json", '{"models":[]}\n'),
        ("statistics.json", '{"models":[{"type":"counted"}]}\n'),
        ("statistics.json", '{"models":1e999}\n'),
        ("statistics.json", "{}\n"),
        ("call.json", '{"options":{}}\n'),
        ("call.json", '{"options":{"threshold":NaN}}\n'),
        ("call.json", '{"options":1,"options":1}\n'),
        ("summary.json", "1" * 100_000 + "\n"),
        ("summary.json", "\udcff"),
    ],
)
def test_strange_json_is_a_problem_and_no_error(name, text, files, verify):
    assert not verify({**files, name: text}, hashed=text.isascii()).ok


def test_what_is_no_part_of_a_bundle_is_refused(files, verify, tmp_path, monkeypatch):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "more.txt").write_text("more")
    assert "more.txt" in verify_bundle(tmp_path).problems[0]
    (tmp_path / "more.txt").unlink()
    manifest = json.loads(files["manifest.json"])
    manifest["files"]["../page.html"] = manifest["files"].pop("page.html")
    changed = {**files, "manifest.json": _bundle._dump(manifest)}
    assert "and nothing else" in verify(changed).problems[0]
    (tmp_path / "page.html").unlink()
    assert "no page.html" in verify_bundle(tmp_path).problems[0]
    (tmp_path / "page.html").mkdir()
    assert "must be a file" in verify_bundle(tmp_path).problems[0]
    (tmp_path / "page.html").rmdir()
    monkeypatch.setattr(_bundle, "_MOST_BYTES", 1000)
    assert "bytes" in verify(files).problems[0]


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_links_are_refused(files, verify, light, tmp_path, tmp_path_factory):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    target = tmp_path_factory.mktemp("other") / "page.html"
    (tmp_path / "page.html").rename(target)
    (tmp_path / "page.html").symlink_to(target)
    assert "not a link" in verify_bundle(tmp_path).problems[0]
    with pytest.raises(FileExistsError, match=r"page\.html"):
        light.to_bundle(tmp_path)


@pytest.mark.slow
@pytest.mark.promise("With `min_cell` no count of a bundle is smaller")
def test_no_count_is_below_min_cell(light, tmp_path):
    found, summary = round_trip(light, tmp_path / "new", min_cell=10)
    assert found.ok
    data = json.loads((tmp_path / "new" / "statistics.json").read_text())
    assert min(data["models"][0]["n"]) >= 10
    assert summary["settings"]["min_cell"] == 10
    assert summary["n_rows"] <= light.summary["n_rows"]
    page = (tmp_path / "new" / "page.html").read_text()
    assert "No number tells of fewer than 10 people" in page
    texts = [path.read_text() for path in (tmp_path / "new").iterdir()]
    assert not any('"n_withheld":3' in text for text in texts)
    with pytest.raises(ValueError, match="min_cell is 100000"):
        light.to_bundle(tmp_path / "other", min_cell=100_000)
    assert not (tmp_path / "other").exists()


def cells_of(folder):
    """Number of rows of each cell of each model."""
    data = json.loads((folder / "statistics.json").read_text())
    return [np.array(model["n"]) for model in data["models"]]


@pytest.fixture(scope="module")
def salaries(make_report):
    """Report on regressors, and a table of true and predicted numbers with tails."""
    rng, n = np.random.default_rng(0), 2_000
    group = rng.choice(["F", "M"], n)
    predicted = np.exp(rng.normal(10, 1, n) + 0.3 * (group == "M"))
    true = predicted * np.exp(rng.normal(0, 0.5, n))
    options = {"sensitive_features": group, "scale": "real"}
    return make_report(true, predicted, **options), true, predicted


@pytest.mark.slow
def test_numbers_are_verified_and_have_no_small_cell(salaries, tmp_path):
    report, *_ = salaries
    found, summary = round_trip(report, tmp_path / "all")
    assert found.problems == ()
    assert_same(report.summary, summary)
    assert found.n_verified > 50
    summary["models"][0]["performance"]["r2"] += 1e-6
    assert "performance.r2" in forged(tmp_path / "all", summary).problems[0]
    found, summary = round_trip(report, tmp_path / "new", min_cell=10)
    assert found.problems == ()
    assert min(map(min, cells_of(tmp_path / "new"))) >= 10
    assert_moved_at_most(report, summary)
    assert "predictions and errors were joined" in summary["cautions"][-2]


def assert_moved_at_most(report, summary):
    """Numbers that joining moves stay within what the summary states."""
    of_mcdp, length = summary["settings"]["blur"]
    before, after = (
        one.to_frame().set_index("metric")["value"]
        for one in (report, FairnessReport(summary))
    )
    moved = (before - after).abs()
    assert 0 < moved.pop("mcdp") <= of_mcdp < 0.5
    assert (moved <= length).all()
    assert length > 0
    # Joined numbers keep their variance, so that no interval is too narrow.
    ends = ["mean_error_lower", "mean_error_upper", "mean_prediction_upper"]
    before, after = (
        [one["models"][0]["performance"][name] for name in ends]
        for one in (report.summary, summary)
    )
    np.testing.assert_allclose(before, after, 1e-3)


@pytest.mark.slow
def test_many_numbers_are_joined(salaries, tmp_path, monkeypatch):
    report, *_ = salaries
    monkeypatch.setattr(_bundle, "_MOST_ENTRIES", 900)
    found, summary = round_trip(report, tmp_path)
    assert found.problems == ()
    assert all(len(rows) <= 300 for rows in cells_of(tmp_path))
    assert_moved_at_most(report, summary)


@pytest.mark.slow
def test_any_weights_are_added_up(make_report, scored, tmp_path, monkeypatch):
    y_true, y_score, people = scored
    report = make_report(
        y_true,
        y_score,
        sensitive_features=people["sex"],
        sample_weight=np.random.default_rng(0).random(len(y_true)) + 0.1,
        metrics=LIGHT,
    )
    monkeypatch.setattr(_bundle, "_MOST_ENTRIES", 800)
    found, summary = round_trip(report, tmp_path, min_cell=10)
    assert found.problems == ()
    for options in ({"metrics": LIGHT}, {"scale": "real"}):
        skewed = make_report(
            y_true,
            y_score,
            sensitive_features=people["sex"],
            sample_weight=np.random.default_rng(0).lognormal(0, 8, len(y_true)),
            **options,
        )
        assert round_trip(skewed, tmp_path)[0].problems == ()
    rates = (
        FairnessReport(one).to_frame().set_index("metric")
        for one in (report.summary, summary)
    )
    before, after = (one.loc[LIGHT[1:], ["value", "lower", "upper"]] for one in rates)
    np.testing.assert_allclose(before, after, rtol=1e-9)


def test_models_that_differ_in_few_rows_are_counted_without_them(
    make_report, scored, tmp_path
):
    y_true, y_score, people = scored
    decided = (y_score > 0.5).astype(int)
    other = decided.copy()
    other[np.flatnonzero(people["sex"] == "F")[:3]] ^= 1
    report = make_report(
        y_true,
        y_pred={"one": decided, "other": other},
        sensitive_features=people["sex"],
        metrics=["demographic_parity_difference"],
    )
    found, summary = round_trip(report, tmp_path, min_cell=5)
    assert found.problems == ()
    assert summary["n_rows"] == (people["sex"] == "M").sum()
    for result in summary["attributes"][0]["results"]:
        assert [group["label"] for group in result["groups"]] == ["M"]


def test_what_min_cell_cannot_withhold_is_refused(salaries, light, tmp_path):
    _, true, predicted = salaries
    frame = pd.DataFrame({"y": true > 2e4, "p": predicted > 2e4, "sex": "F"})
    counted = FairnessReport.from_frame(
        pd.concat([frame] * 130),
        y_true="y",
        y_pred=["p", "y"],
        sensitive_features="sex",
        n_permutations=0,
    )
    with pytest.raises(ValueError, match="from_frame has counted for each of several"):
        counted.to_bundle(tmp_path / "new", min_cell=5)
    explained = light.with_explanations()
    with pytest.raises(ValueError, match=r"with_explanations has added .* got 5"):
        explained.to_bundle(tmp_path / "new", min_cell=5)
    with pytest.raises(ValueError, match="min_cell must be an integer of at least 2"):
        light.to_bundle(tmp_path / "new", min_cell=1)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_sections_on_what_a_gap_goes_with_are_in_the_bundle(
    light, scored, schema, tmp_path
):
    _, y_score, people = scored
    given = {"sensitive_features": people["sex"], "random_state": 0}
    result = explained_gap(y_score, explained_by=people[["race"]], **given)
    report = light.with_explanations(result)
    found, summary = round_trip(report, tmp_path / "new")
    assert found.problems == ()
    assert summary["why"] == report.summary["why"]
    assert conforms(summary, schema, schema["$defs"])
    assert any("what a gap goes with" in text for text in found.not_verified)
    page = (tmp_path / "new" / "page.html").read_text()
    assert report.summary["why"][0]["rows"][0][1] in page
    for why in ([{"title": "All is well"}], [1], "well"):
        assert not forged(tmp_path / "new", {**summary, "why": why}).ok


def test_a_report_without_rows_has_no_bundle(light, tmp_path):
    for again in (FairnessReport(light.summary), pickle.loads(pickle.dumps(light))):
        with pytest.raises(ValueError, match="restored from its summary"):
            again.to_bundle(tmp_path / "new")


def test_other_files_are_not_replaced(light, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        light.to_bundle(tmp_path)
    with pytest.raises(NotADirectoryError, match="directory"):
        light.to_bundle(tmp_path / "notes.txt")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        light.to_bundle(tmp_path / "a" / "b")


@pytest.mark.slow
@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_no_part_of_a_bundle(exists, light, files, tmp_path):
    """The second file does not fit: a bundle that was there stays as it was."""
    resource = pytest.importorskip("resource", reason="needs limits of file sizes")
    folder = tmp_path / "bundle"
    if exists:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        with pytest.raises(OSError, match="bundle"):
            light.to_bundle(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if exists:
        assert {p.name: p.read_text() for p in folder.iterdir()} == files
    else:
        assert not folder.exists()


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
TYPES |= {"null": type(None), "integer": int, "number": (int, float)}


def conforms(value, schema, defs):
    """Whether JSON conforms to a schema, of the words that this schema uses."""
    if "$ref" in schema:
        return conforms(value, defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return any(conforms(value, one, defs) for one in schema["anyOf"])
    words = {"type", "properties", "required", "additionalProperties", "items"}
    words |= {"const", "enum", "description", "title", "$schema", "$defs", "$id"}
    assert {*schema} <= words, schema
    if value != schema.get("const", value) or value not in schema.get("enum", [value]):
        return False
    kinds = np.atleast_1d(schema.get("type", [*TYPES])).tolist()
    if isinstance(value, bool) and "boolean" not in kinds:
        return False
    if not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        rest = schema.get("additionalProperties", {})
        if not {*schema.get("required", ())} <= {*value}:
            return False
        if rest is False and not {*value} <= {*properties}:
            return False
        return all(conforms(v, properties.get(k, rest), defs) for k, v in value.items())
    if isinstance(value, list):
        return all(conforms(one, schema.get("items", {}), defs) for one in value)
    return True


@pytest.fixture(scope="module")
def schema():
    folder = Path(_bundle.__file__).parent
    return json.loads((folder / "summary.schema.json").read_text())


def test_summaries_conform_to_their_schema(light, schema):
    assert conforms(light.summary, schema, schema["$defs"])
    broken = {**light.summary, "n_rows": "many"}
    assert not conforms(broken, schema, schema["$defs"])
    broken = {**light.summary, "more": 1}
    assert not conforms(broken, schema, schema["$defs"])
