"""The page in a real browser: it is drawn, silent, and stays at home."""

import json
import re
import subprocess

import numpy as np
import pytest

#: Says something on the console, and asks for a picture.
CONTROL = (
    "<!DOCTYPE html><title>x</title><p>text<img src='http://127.0.0.1:9/x.png'>"
    "<script>console.error('heard')</script>"
)


def browse(browser, path, folder, *flags):
    """Open a file, and return the screenshot, the console and the page's requests."""
    image = pytest.importorskip("PIL.Image")
    picture, log = folder / "page.png", folder / "net.json"
    done = browser(
        path,
        folder,
        "--enable-logging=stderr",
        "--window-size=1000,1600",
        f"--log-net-log={log}",
        f"--screenshot={picture}",
        *flags,
    )
    if done.returncode or not picture.exists():
        return None
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return np.asarray(image.open(picture).convert("RGB")), console, requests(log)


def requests(log):
    """Addresses that the page asked for; the browser's own errands have no origin."""
    events = json.loads(log.read_text())["events"]
    asked = [event["params"] for event in events if "url" in event.get("params", {})]
    return {
        params["url"]
        for params in asked
        if params.get("initiator", "not an origin") != "not an origin"
    }


@pytest.fixture(scope="module")
def chromium(browser, tmp_path_factory):
    """A browser in which a bad page is noticed."""
    folder = tmp_path_factory.mktemp("control")
    control = folder / "control.html"
    control.write_text(CONTROL)
    try:
        found = browse(browser, control, folder)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        found = None
    _, console, asked = found or (None, [], set())
    heard = any("heard" in line for line in console)
    if not heard or "http://127.0.0.1:9/x.png" not in asked:
        pytest.skip("the browser does not tell here what a page says and asks for")
    return browser


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_in_a_browser(chromium, report, tmp_path, scheme):
    path = tmp_path / "report.html"
    report.to_html(path)
    dark = "--blink-settings=preferredColorScheme=0"
    pixels, console, asked = browse(
        chromium, path, tmp_path, *([dark] if scheme == "dark" else [])
    )
    assert console == []
    assert asked == set()
    paper = pixels[5, 5]
    ink = (np.abs(pixels.astype(int) - paper).sum(axis=2) > 100).mean()
    assert 0.01 < ink < 0.5
    assert (paper.mean() > 200) == (scheme == "light")
    # Text from the top to the bottom.
    rows = (np.abs(pixels.astype(int) - paper).sum(axis=2) > 100).any(axis=1)
    assert all(part.any() for part in np.array_split(rows, 8))


@pytest.mark.slow
def test_hostile_page_is_silent(chromium, make_report, scored, tmp_path):
    y_true, y_score, _ = scored
    hostile = [
        "<script>console.error(1)</script>",
        "\"><img src='http://127.0.0.1:9/x.png' onerror='console.error(2)'>",
        "</text></svg><script>console.error(3)</script>",
    ]
    report = make_report(
        y_true,
        dict.fromkeys(hostile, y_score),
        sensitive_features={hostile[0]: np.array(hostile)[np.arange(600) % 3]},
        title=hostile[1],
        metrics=["mcdp", "max_gap"],
        n_resamples=1,
    )
    path = tmp_path / "report.html"
    report.to_html(path)
    _, console, asked = browse(chromium, path, tmp_path)
    assert console == []
    assert asked == set()


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [3, 30])
def test_nothing_scrolls_sideways(
    wider_than_their_place, make_report, scored, tmp_path, n_groups
):
    y_true, y_score, _ = scored
    names = [f"{i} is a group with a name of forty letters."[:40] for i in range(30)]
    codes = np.arange(600) % n_groups
    report = make_report(
        y_true,
        {"A model with a name of forty characters.": y_score, "other": y_score**2},
        sensitive_features={
            "a_sensitive_column_with_a_name_of_40_chr": np.array(names)[codes],
            "age": np.where(codes % 2, "old", "young"),
        },
        n_resamples=1,
    )
    page = report.to_html(source="0123456789abcdef" * 12)
    assert wider_than_their_place(page, tmp_path / "wide", 1200) == []
    for width in (375, 390):
        assert wider_than_their_place(page, tmp_path / str(width), width) == []


@pytest.mark.slow
@pytest.mark.parametrize(("n_attributes", "most"), [(2, 6), (4, 20)])
def test_few_pages_are_printed(browser, make_report, tmp_path, n_attributes, most):
    pdfium = pytest.importorskip("pypdfium2")
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 2, 600), rng.random(600)
    names = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]
    groups = {
        f"attribute {i}": rng.choice(names[i % 2 :], 600) for i in range(n_attributes)
    }
    report = make_report(y_true, y_score, sensitive_features=groups, n_resamples=1)
    path, printed = tmp_path / "report.html", tmp_path / "report.pdf"
    report.to_html(path)
    browser(path, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    with pdfium.PdfDocument(printed) as pages:
        assert len(pages) <= most


#: Tells how high a page is.
HEIGHT = "<script>document.title = document.documentElement.scrollHeight</script>"


@pytest.mark.slow
def test_the_page_of_five_models_is_short(browser, make_report, tmp_path):
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 2, 600), rng.random(600)
    report = make_report(
        y_true,
        {f"model {i}": y_score ** (1 + i / 5) for i in range(5)},
        sensitive_features={
            "sex": rng.choice(["Female", "Male"], 600),
            "race": rng.choice(["Amer-Indian-Eskimo", "Asian", "Black", "W"], 600),
        },
        limit=0.1,
        n_resamples=1,
    )
    path = tmp_path / "report.html"
    page = report.to_html()
    path.write_text(page.replace("</body>", f"{HEIGHT}</body>"), encoding="utf-8")
    window = "--window-size=1200,900"
    shown = browser(path, tmp_path, window, "--dump-dom").stdout
    assert 2_000 < int(re.search(r"<title>(\d+)</title>", shown)[1]) <= 9_000
