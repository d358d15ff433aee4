"""Warnings that name the line of the user."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import joblib
import sklearn

#: Directories whose lines are not the user's: scikit-learn and joblib call skfair back.
_DIRECTORIES = (
    str(Path(__file__).parents[1]),
    *(str(Path(package.__file__).parent) for package in (sklearn, joblib)),
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line, outside of skfair and scikit-learn, that has led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(_DIRECTORIES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
