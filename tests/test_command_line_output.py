"""What ``python -m skfair audit`` writes is whole, and never replaces its input."""

import errno
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from skfair._cli._main import main
from skfair._utils import _files
from skfair.report import FairnessReport

ROWS = "\n".join(f"{i % 2},{i % 7 / 7:.2f},{'FM'[i // 2 % 2]}" for i in range(40))
TABLE = f"y,p,sex\n{ROWS}\n"
OPTIONS = "--y-true y --y-score p --sensitive sex --permutations 0 --resamples 1"


@pytest.fixture
def audit(tmp_path, monkeypatch, capsys):
    """Audit a table, by default as JSON, and return the exit code and what was said."""
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE)

    def run(table, out, *options):
        given = ["--out", str(out), "--format", "json", *options]
        code = main(["audit", table, *OPTIONS.split(), *given])
        return code, capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def report():
    return FairnessReport.from_predictions(
        [0, 1] * 10,
        [0.2, 0.4, 0.6, 0.8] * 5,
        sensitive_features=["a", "a", "b", "b"] * 5,
        n_resamples=1,
        n_permutations=0,
    )


def files():
    """Contents of all files of the folder, by name."""
    return {path.name: path.read_text() for path in Path().iterdir() if path.is_file()}


INPUTS = {
    "the same name": ("table.csv", "table.csv"),
    "another spelling": ("table.csv", "./folder/../table.csv"),
    "a symbolic link to the input": ("table.csv", "link.csv"),
    "a symbolic link as the input": ("link.csv", "table.csv"),
    "a hard link": ("table.csv", "hard.csv"),
    "a file of the pattern": ("t*.csv", "table.csv"),
    "a link to a file of the pattern": ("t*.csv", "link.csv"),
    "a new file that matches the pattern": ("t*.csv", "t_out.csv"),
    "a new file in a folder of the pattern": ("*/*.csv", "folder/out.csv"),
}


@pytest.mark.parametrize(("table", "out"), INPUTS.values(), ids=INPUTS)
def test_output_that_is_an_input_is_refused(audit, table, out):
    Path("folder").mkdir()
    Path("folder/part.csv").write_text(TABLE)
    Path("link.csv").symlink_to("table.csv")
    os.link("table.csv", "hard.csv")
    before = files()
    code, said = audit(table, out)
    assert code == 2
    assert said.err.startswith(f"skfair audit: error: --out {Path(out)} is ")
    assert said.err.count("\n") == 1
    assert files() == before


WRITERS = [
    pytest.param(FairnessReport.to_html, marks=pytest.mark.slow),
    FairnessReport.to_markdown,
    lambda report, path: _files.write_text(path, repr(report)),
]


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITERS)
def test_permissions(report, tmp_path, write):
    usual, new, old = (tmp_path / name for name in ("usual", "new", "old"))
    usual.write_text("")
    old.write_text("old")
    old.chmod(0o604)
    write(report, new)
    write(report, old)
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o604
    assert old.read_text() == new.read_text() != ""


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("fails", ["write", "replace"])
@pytest.mark.promise("An output is written whole or not at all")
def test_failed_write_changes_nothing(report, tmp_path, monkeypatch, write, fails):
    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, text):
            self.file.write(text[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

    def no_replace(path, target):
        raise OSError(errno.EIO, "Input/output error", str(path))

    path = tmp_path / "page"
    path.write_bytes(b"old")
    if fails == "replace":
        monkeypatch.setattr(Path, "replace", no_replace)
    else:
        opened = Path.open

        def limited(path, mode="r", **options):
            file = opened(path, mode, **options)
            return Full(file) if mode == "x" else file

        monkeypatch.setattr(Path, "open", limited)
    with pytest.raises(OSError, match=r"page'$"):
        write(report, path)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["page"]
    assert path.read_text() == "old"


def test_symbolic_links_stay(report, tmp_path):
    (tmp_path / "folder").mkdir()
    for name, target in {"link": "folder/page", "dangling": "folder/new"}.items():
        (tmp_path / name).symlink_to(target)
    (tmp_path / "folder" / "page").write_text("old")
    for name in "link", "dangling":
        text = report.to_markdown(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_text() == text + "\n"
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == ["new", "page"]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("folder", "is a directory"),
        ("none/page", "is in a directory that does not exist"),
        ("table.csv/page", "Not a directory"),
        ("loop", "symbolic links"),
        ("x" * 300, "name too long"),
    ],
)
def test_targets_that_cannot_be_written(report, audit, out, message):
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    before = files()
    with pytest.raises(OSError, match=message) as caught:
        report.to_markdown(out)
    assert out in str(caught.value)
    code, said = audit("table.csv", out)
    assert code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
    assert files() == before


@pytest.mark.parametrize("name", ["page", "folder"])
def test_read_only(report, audit, monkeypatch, name):
    Path("folder").mkdir()
    path = Path("folder/page")
    path.write_text("old")
    # Permissions themselves hold for every user but one.
    refused = os.path.realpath(path if name == "page" else "folder")
    monkeypatch.setattr(os, "access", lambda p, mode: os.path.realpath(p) != refused)
    with pytest.raises(PermissionError, match="read-only"):
        report.to_markdown(path)
    assert audit("table.csv", path)[0] == 2
    assert path.read_text() == "old"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("redirected", ["pipe", "appended"])
def test_standard_output(tmp_path, redirected):
    """The page alone is written to it; what is said of the page goes elsewhere."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "out").write_text("old\n")
    arguments = f"audit table.csv {OPTIONS} --format md --out /dev/stdout"
    command = [sys.executable, "-m", "skfair", *arguments.split()]
    with (tmp_path / "out").open("a" if redirected == "appended" else "w") as file:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE if redirected == "pipe" else file,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=True,
        )
    written = done.stdout or (tmp_path / "out").read_text()
    expected = "old\n" if redirected == "appended" else ""
    assert written.startswith(f"{expected}# Fairness report\n")
    assert written.count("# Fairness report") == 1
    assert "/dev/stdout" in done.stderr
    assert "/dev/stdout" not in written


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    _files.write_text(path, "page\n")
    assert os.read(reader, 100) == b"page\n"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_nothing_else_writes_files():
    package = Path(_files.__file__).parents[1]
    writing = re.compile(r"""\.write_(text|bytes)\(|open\([^)]*["'][wax]|\.to_csv\(""")
    sources = {path.name: path.read_text("utf-8") for path in package.rglob("*.py")}
    assert [name for name in sources if writing.search(sources[name])] == ["_files.py"]


def test_the_name_of_the_output_says_its_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE)
    audit = ["audit", "table.csv", "--y-pred", "y", "--sensitive", "sex"]
    audit += ["--permutations", "0", "--out"]
    for out, start in {"page.json": "{", "page.MD": "# "}.items():
        assert main([*audit, out]) == 0
        assert Path(out).read_text(encoding="utf-8").startswith(start)
    assert main([*audit, "page.MD", "--format", "json"]) == 0
    assert Path("page.MD").read_text(encoding="utf-8").startswith("{")
