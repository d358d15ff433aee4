"""What is printed of long computations."""

from skfair._utils import _progress
from skfair._utils._progress import Progress


def test_nothing_is_printed_unasked(capsys):
    progress = Progress("fit", 0)
    progress.update("1 of 2")
    progress.line("done")
    assert capsys.readouterr() == ("", "")


def test_updates_are_replaced_and_lines_stay(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_INTERVAL", 0.0)
    progress = Progress("fit", 1)
    progress.line("begun")
    progress.update("1 of 200")
    progress.update("2 of 2")
    progress.line("done")
    progress.line("again")
    expected = "fit: begun\nfit: 1 of 200\rfit: 2 of 2  \rfit: done  \nfit: again\n"
    assert capsys.readouterr() == ("", expected)


def test_updates_that_follow_too_soon_are_left_out(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_INTERVAL", 3600.0)
    progress = Progress("fit", 1)
    for number in range(9):
        progress.update(f"{number} of 9")
    assert capsys.readouterr().err == "fit: 0 of 9"
