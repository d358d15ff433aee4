"""What is printed of long computations."""

import pytest

from skfair._utils import _progress
from skfair._utils._progress import Progress, check_verbose


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


@pytest.mark.parametrize("verbose", [0, 1, 10, True, False])
def test_verbosity_is_a_number_or_a_bool(verbose):
    assert check_verbose(verbose) == int(verbose)


@pytest.mark.parametrize("verbose", [-1, 0.5, "yes", None])
def test_other_verbosities_are_errors(verbose):
    with pytest.raises(ValueError, match="verbose must be an integer"):
        check_verbose(verbose)
