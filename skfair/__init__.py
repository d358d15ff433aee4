"""Measure, prove and reduce the unfairness of scikit-learn classifiers."""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

#: Imported when they are first used, as those of scikit-learn are. `skfair.torch` is
#: not part, since it needs an extra, and listing the names of skfair would import it.
_SUBMODULES = [
    "datasets",
    "exceptions",
    "frames",
    "groups",
    "inprocessing",
    "inspection",
    "metrics",
    "model_selection",
    "monitoring",
    "postprocessing",
    "report",
    "sampling",
    "statistics",
]

__all__ = [*_SUBMODULES, "__version__"]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # where any name would count as one of the package

    def __getattr__(name: str) -> object:
        if name in _SUBMODULES:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
