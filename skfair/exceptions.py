"""Warnings of skfair."""

from __future__ import annotations

from sklearn import exceptions


class MitigationWarning(UserWarning):
    """A mitigator is worse than the plain classifier, or misses the gap it was given.

    It has its own class, so that a search over many strengths, some of them too large,
    can silence it, like a :class:`~sklearn.exceptions.ConvergenceWarning`.

    See Also
    --------
    skfair.inprocessing.MCDPReweighter : Its `comparison_` holds the figures.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import MitigationWarning
    >>> warnings.simplefilter("ignore", MitigationWarning)
    """


class InconsistentVersionWarning(exceptions.InconsistentVersionWarning):  # type: ignore[misc]
    """The object was pickled by another version of skfair.

    A filter for scikit-learn's class of the same name also applies to this class.

    Parameters
    ----------
    estimator_name : str
        Name of the class of the object.
    current_skfair_version, original_skfair_version : str
        Version that unpickles the object, and the one that pickled it; ``"unknown"`` if
        the pickle does not say.

    See Also
    --------
    MitigationWarning : Another warning of skfair.

    Examples
    --------
    Refuse models of another version:

    >>> import warnings
    >>> from skfair.exceptions import InconsistentVersionWarning
    >>> warnings.simplefilter("error", InconsistentVersionWarning)
    """

    def __init__(
        self,
        *,
        estimator_name: str,
        current_skfair_version: str,
        original_skfair_version: str,
    ) -> None:
        self.estimator_name = estimator_name
        self.current_skfair_version = current_skfair_version
        self.original_skfair_version = original_skfair_version

    def __str__(self) -> str:
        return (
            f"{self.estimator_name} was pickled by the version "
            f"{self.original_skfair_version} of skfair, and is unpickled by the "
            f"version {self.current_skfair_version}: it may fail, or give other "
            "results. Load it with the version that pickled it, or make it again."
        )


__all__ = ["InconsistentVersionWarning", "MitigationWarning"]
